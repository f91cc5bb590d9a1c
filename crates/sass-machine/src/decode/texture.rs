//! Textures and surfaces: a handle stands in a uniform register, coordinates in one row of registers, what else there is in another.

use super::Given;
use super::update::updating;
use crate::operand::Operand;
use crate::registers::{PT, RZ};
use crate::step::{Action, Fetch, OnSurface, Place, Texel, Way};
use machine::texture::{Beyond, Geometry, Lookup, Mip, Results};

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match given.opcode {
        "TEX" | "TLD" | "TLD4" | "TXD" => fetch(given),
        "TXQ" => query(given),
        "SULD" | "SUST" | "SURED" => surface(given),
        _ => None,
    }
    .map(Action::Texel)
}

/// What a fetch's last operand names.
fn geometry(name: &str) -> Option<Geometry> {
    let (dimensions, layered, cube) = match name {
        "1D" => (1, false, false),
        "2D" => (2, false, false),
        "3D" => (3, false, false),
        "ARRAY_1D" => (1, true, false),
        "ARRAY_2D" => (2, true, false),
        "CUBE" => (3, false, true),
        "ARRAY_CUBE" => (3, true, true),
        _ => return None,
    };
    Some(Geometry { dimensions, layered, cube, multisample: false })
}

/// The uniform register with a handle.
fn handle(given: &Given<'_>, at: usize) -> Option<u8> {
    match *given.operands.get(at)? {
        Operand::Uniform { number, .. } => Some(number),
        _ => None,
    }
}

/// `TEX.LL[.AOFFI][.DC] [p,] d2, d, at, more, UR[, 0x0], shape`, `TLD.LZ`, `TLD.LL`, `TLD4.channel`, `TXD`: two pairs of channels; the level, offsets and
/// the depth stand in the second row, or the derivatives.
fn fetch(given: &Given<'_>) -> Option<Texel> {
    given.only(&["LL", "LZ", "CL", "AOFFI", "DC", "R", "G", "B", "A"])?;
    let absent = given.is_predicate(0).then(|| given.flag(0));
    let absent = match absent {
        None => None,
        Some(Some(Place::Predicate(number))) => Some(number).filter(|&number| number != PT),
        Some(_) => return None,
    };
    let first = usize::from(given.is_predicate(0));
    let [high, low, at] = [0, 1, 2].map(|index| given.register(first + index));
    let more = given.register(first + 3);
    let after = first + if more.is_some() { 4 } else { 3 };
    let handle = handle(given, after)?;
    // Some devices name nothing behind the handle.
    let (Operand::Shape(shape), 2 | 3) = (*given.operands.last()?, given.operands.len() - after) else {
        return None;
    };
    let geometry = geometry(shape)?;
    let gather = match given.opcode {
        "TLD4" => ["R", "G", "B", "A"].iter().position(|channel| given.has(channel)),
        _ => None,
    };
    (gather.is_some() == (given.opcode == "TLD4")).then_some(())?;
    let mip = match given.opcode {
        "TXD" => Mip::Gradient,
        _ if given.has("LL") => Mip::Level,
        _ => Mip::Base,
    };
    let integer = given.opcode == "TLD";
    let lookup = Lookup { geometry, integer, mip, gather, results: Results::Words };
    Some(Texel::Fetch(Fetch {
        lookup,
        to: [low?, high?],
        absent,
        at: at?,
        more,
        has_offsets: given.has("AOFFI"),
        handle,
    }))
}

/// `TXQ d2, d, level, TEX_HEADER_DIMENSION, UR, 0x0, mask`.
fn query(given: &Given<'_>) -> Option<Texel> {
    given.only(&[])?;
    let (RZ, to, level) = (given.register(0)?, given.register(1)?, given.register(2)?) else { return None };
    let Operand::Shape("TEX_HEADER_DIMENSION") = *given.operands.get(3)? else { return None };
    let axis = match given.immediate(6)? {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => return None,
    };
    Some(Texel::Extent { to, level, axis, handle: handle(given, 4)? })
}

/// `SULD.D.BA.shape.size.order.beyond d, [at], UR[, 0x0]`, `SUST [at], a, UR[, 0x0]`, `SURED.op.type [at], a, UR[, 0x0]`. Without `.BA` the first coordinate
/// counts texels.
fn surface(given: &Given<'_>) -> Option<Texel> {
    let mut beyond = Beyond::Clamp;
    let (mut axes, mut bytes, mut formatted) = (None, 4, true);
    let mut channels = 4;
    let mut rest = Vec::new();
    for modifier in &given.modifiers {
        match *modifier {
            "D" | "P" | "STRONG" | "SM" | "SYS" | "GPU" | "EF" => {}
            "BA" => formatted = false,
            "1D" => axes = Some((1, false)),
            "2D" => axes = Some((2, false)),
            "3D" => axes = Some((3, false)),
            "1D_ARRAY" => axes = Some((1, true)),
            "2D_ARRAY" => axes = Some((2, true)),
            "TRAP" => beyond = Beyond::Trap,
            "IGN" => beyond = Beyond::Zero,
            "U8" => bytes = 1,
            "U16" => bytes = 2,
            "64" => bytes = 8,
            "128" => bytes = 16,
            "R" => channels = 1,
            "RG" => channels = 2,
            other => rest.push(other),
        }
    }
    let (dimensions, layered) = axes?;
    let store = given.opcode != "SULD";
    let [data, at] = if store { [1, 0] } else { [0, 1] };
    let Operand::Address { register: at, .. } = *given.operands.get(at)? else { return None };
    let data = given.register(data)?;
    let way = match (given.opcode, &rest[..]) {
        ("SULD", []) => Way::Load,
        ("SUST", []) => Way::Store { channels },
        ("SURED", [operation, kind @ ..]) => {
            let signed = match (kind, *operation) {
                (["SD32" | "SD64"], "MIN" | "MAX") => None,
                (["S32" | "S64"], _) => Some(true),
                _ => Some(false),
            };
            let wide = matches!(kind, ["S64" | "U64" | "SD64"]);
            bytes = if wide { 8 } else { 4 };
            let update = |signed: bool| {
                let kind: &[&str] = match (wide, signed) {
                    (false, false) => &[],
                    (false, true) => &["S32"],
                    (true, false) => &["U64"],
                    (true, true) => &["S64"],
                };
                updating(operation, kind).map(|(update, _)| update)
            };
            // Where the surface says whether elements have a sign, there is one for each answer.
            Way::Reduce([update(signed.unwrap_or(false))?, update(signed.unwrap_or(true))?])
        }
        _ => return None,
    };
    let handle = handle(given, 2)?;
    Some(Texel::Surface(OnSurface { way, dimensions, layered, formatted, bytes, beyond, at, data, handle }))
}
