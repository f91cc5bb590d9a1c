//! Addresses between the state spaces (PTX ISA, "isspacep", "cvta", "mapa", "getctarank").

use super::decoder::decoders;
use super::movement::copy;
use crate::memory::SpaceKind;
use crate::operation::kinds::IsInSpace;
use crate::ops::shape::{Cold, Hot};
use crate::ops::space::{Map32, Map64, Rank32, Rank64, Relocate};
use ir::operand::{Space, Value};

decoders! { d, op:
    Isspacep => {
        // An address of 32 bits has zeros above them.
        let (to, a) = (d.write_predicate_somewhere(Some(op.p))?, d.read_plane(&op.a, 64)?);
        d.emit(IsInSpace { d: to, a, space: op.space })
    };
    Cvta => {
        if op.ty.bits() != 64 {
            return Err("32-bit generic addresses".to_owned());
        }
        let space = match op.space {
            // Parameters whose address is taken are the kernel's own.
            Space::ParamFunc => SpaceKind::Param,
            space => d.space_of(space),
        };
        let window = match (space.window(), op.to) {
            (0, _) => return copy(d, op.d, op.a, 64),
            (window, true) => window.wrapping_neg(),
            (window, false) => window,
        };
        d.lanewise::<Relocate, 2, Hot>(op.d, [op.a, Value::Constant(window)])
    };
    Mapa => match op.ty.bits() {
        32 => d.lanewise::<Map32, 2, Cold>(op.d, [op.a, op.b]),
        _ => d.lanewise::<Map64, 2, Cold>(op.d, [op.a, op.b]),
    };
    Getctarank => match op.ty.bits() {
        32 => d.lanewise::<Rank32, 1, Cold>(op.d, [op.a]),
        _ => d.lanewise::<Rank64, 1, Cold>(op.d, [op.a]),
    };
}
