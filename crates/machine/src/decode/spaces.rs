//! Addresses between the state spaces (PTX ISA, "isspacep", "cvta", "mapa", "getctarank").

use super::decoder::{Decoded, Decoder};
use super::movement::copy;
use crate::memory::SpaceKind;
use crate::operation::kinds::IsInSpace;
use crate::ops::shape::{COLD, HOT};
use crate::ops::space::{Map32, Map64, Rank32, Rank64, Relocate};
use ir::instruction::{Cvta, Getctarank, Isspacep, Mapa};
use ir::operand::{Space, Value};

/// `isspacep`.
pub(super) fn is_in(d: &mut Decoder<'_>, isspacep: &Isspacep) -> Decoded {
    let (to, a) = (d.write_predicate_somewhere(Some(isspacep.p))?, d.read_plane(&isspacep.a, 64)?);
    d.emit(IsInSpace { d: to, a, space: isspacep.space })
}

/// `cvta`.
pub(super) fn convert(d: &mut Decoder<'_>, cvta: &Cvta) -> Decoded {
    if cvta.ty.bits() != 64 {
        return Err("32-bit generic addresses".to_owned());
    }
    let window = match cvta.space {
        // Parameters whose address is taken are the kernel's own.
        Space::ParamFunc => SpaceKind::Param,
        space => d.space_of(space),
    }
    .window();
    if window == 0 {
        return copy(d, cvta.d, &cvta.a, 64);
    }
    let window = Value::Constant(if cvta.to { window.wrapping_neg() } else { window });
    d.lanewise::<Relocate, 2, HOT>(cvta.d, [&cvta.a, &window])
}

/// `mapa`.
pub(super) fn map(d: &mut Decoder<'_>, mapa: &Mapa) -> Decoded {
    match mapa.ty.bits() {
        32 => d.lanewise::<Map32, 2, COLD>(mapa.d, [&mapa.a, &mapa.b]),
        _ => d.lanewise::<Map64, 2, COLD>(mapa.d, [&mapa.a, &mapa.b]),
    }
}

/// `getctarank`.
pub(super) fn rank(d: &mut Decoder<'_>, getctarank: &Getctarank) -> Decoded {
    match getctarank.ty.bits() {
        32 => d.lanewise::<Rank32, 1, COLD>(getctarank.d, [&getctarank.a]),
        _ => d.lanewise::<Rank64, 1, COLD>(getctarank.d, [&getctarank.a]),
    }
}
