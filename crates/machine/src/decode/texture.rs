//! Texture and surface instructions (PTX ISA, "Texture Instructions", "Surface Instructions").

use super::emit::op;
use super::function::{Decoder, Home};
use super::operand::Source;
use super::{Decoded, Missing};
use crate::ops::texture::{self, ObjectKind};
use crate::ops::{NONE, Op};
use crate::program::{LookupSite, ObjectName, QuerySite, SurfaceAction, SurfaceSite, Value};
use crate::texture::lookup::{Geometry, Lookup, Mip, Results};
use crate::texture::query::Query;
use crate::texture::surface::Beyond;
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::{AddressBase, Operand, Symbol};
use ptx::types::{ScalarType, TypeKind};

/// The shape that `.geom` names.
fn geometry(d: &Decoder<'_>) -> Geometry {
    let text = d.opcode.get(Slot::Geom).map_or("", Modifier::text);
    let cube = text.ends_with("cube");
    let dimensions = match text.trim_start_matches(".a").trim_start_matches('.').as_bytes().first() {
        Some(b'1') => 1,
        Some(b'2') => 2,
        _ => 3,
    };
    Geometry { dimensions, layered: text.starts_with(".a"), cube, multisample: text.ends_with("ms") }
}

/// The operand that the table calls `name`, if it is written.
fn named(d: &Decoder<'_>, name: &str) -> Operand {
    let position = d.opcode.data().operands.iter().position(|operand| operand.name == name);
    position.map_or(Operand::Absent, |i| d.operand(i))
}

/// A 32-bit operand.
fn word(d: &mut Decoder<'_>, operand: Operand) -> Result<Value, Missing> {
    Ok(match d.value(operand, 32)? {
        Source::Plane(plane) => Value::Plane(plane),
        Source::Scalar(scalar) => Value::Scalar(scalar),
    })
}

/// The elements of a vector operand; a lone one is a vector of one, an absent one is empty.
fn words(d: &mut Decoder<'_>, operand: Operand) -> Result<Vec<Value>, Missing> {
    match operand {
        Operand::Absent => Ok(Vec::new()),
        Operand::Vector(list) => {
            let elements = d.body.elements(&list).to_vec();
            elements.into_iter().map(|element| word(d, element)).collect()
        }
        alone => Ok(vec![word(d, alone)?]),
    }
}

/// Whether what stands in place of an offset is the depth to compare with: an H200 takes a lone register that is no
/// integer for that.
fn may_be_depth(d: &Decoder<'_>, operand: Operand) -> bool {
    let has_depth = d.opcode.data().operands.iter().any(|operand| operand.name == "f");
    match operand {
        Operand::Register(register) => {
            let kind = d.body.registers[register.index()].ty.kind();
            has_depth && !matches!(kind, TypeKind::Signed | TypeKind::Unsigned)
        }
        _ => false,
    }
}

fn only(d: &mut Decoder<'_>, operand: Operand) -> Result<Option<Value>, Missing> {
    match operand {
        Operand::Absent => Ok(None),
        operand => word(d, operand).map(Some),
    }
}

/// An opaque variable, or a register with a handle or the address of one.
fn object(d: &mut Decoder<'_>, operand: Operand) -> Result<ObjectName, Missing> {
    let register = |d: &Decoder<'_>, register| match d.home(register) {
        Home::Plane { index, bits: 64 } => Ok(ObjectName::Plane(index)),
        Home::Scalar(index) => Ok(ObjectName::Scalar(index)),
        _ => Err(format!("register {} as an object", d.register_name(register))),
    };
    let variable = |d: &Decoder<'_>, id, offset: i64| {
        let name = || format!("variable {}", d.module.variables[ptx::module::VarId::index(id)].name);
        let address = d.loaded.address(id).ok_or_else(name)?;
        Ok(ObjectName::Address(address.wrapping_add_signed(offset)))
    };
    match operand {
        Operand::Register(r) | Operand::Address { base: AddressBase::Register(r), offset: 0 } => {
            register(d, r)
        }
        Operand::SymbolAddress { symbol: Symbol::Variable(id), offset }
        | Operand::Address { base: AddressBase::Variable(id), offset } => variable(d, id, offset),
        other => Err(format!("operand {other:?} as an object")),
    }
}

/// The parts of `[object, sampler, coordinates]`.
fn bracket(
    d: &mut Decoder<'_>,
    operand: Operand,
) -> Result<(ObjectName, Option<ObjectName>, Vec<Value>), Missing> {
    let Operand::Vector(list) = operand else {
        return Err(format!("operand {operand:?} as an object and coordinates"));
    };
    let parts = d.body.elements(&list).to_vec();
    let (object_part, sampler, coordinates) = match parts[..] {
        [object, coordinates] => (object, None, coordinates),
        [object, sampler, coordinates] => (object, Some(sampler), coordinates),
        _ => return Err("an object without coordinates".to_owned()),
    };
    let sampler = sampler.map(|sampler| object(d, sampler)).transpose()?;
    Ok((object(d, object_part)?, sampler, words(d, coordinates)?))
}

/// Destination planes of `bits` for the elements of operand `i`, [`NONE`] for one that is dropped.
fn destinations(d: &mut Decoder<'_>, i: usize, bits: u32) -> Result<Vec<u32>, Missing> {
    let elements = match d.operand(i) {
        Operand::Vector(list) => d.body.elements(&list).to_vec(),
        alone => vec![alone],
    };
    let mut planes = Vec::with_capacity(elements.len());
    for element in elements {
        planes.push(match element {
            Operand::Sink | Operand::Absent => NONE,
            element => match d.destination_of(element, bits)? {
                super::operand::Destination::Plane(plane) => plane,
                super::operand::Destination::Scalar(_) => {
                    return Err("a result that is the same for all threads".to_owned());
                }
            },
        });
    }
    Ok(planes)
}

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::Tex | Sem::Tld4 => lookup(d),
        Sem::Txq | Sem::Suq => query(d),
        Sem::Istypep => {
            let p = d.predicate_destination(0)?;
            let p = if p == NONE { d.scratch_predicate() } else { p };
            let kind = match d.opcode.ty(Slot::Type) {
                Some(ScalarType::SamplerRef) => ObjectKind::Sampler,
                Some(ScalarType::SurfRef) => ObjectKind::Surface,
                _ => ObjectKind::Texture,
            };
            let value = d.source(1, 64)?;
            let a = d.plane_of(value, 64);
            d.emit(Op { d: p, a, x: kind as u32, ..op(texture::istypep) });
            Ok(())
        }
        Sem::Suld | Sem::Sust | Sem::Sured => surface(d, sem),
        other => Err(format!("{other:?} among the texture instructions")),
    }
}

fn lookup(d: &mut Decoder<'_>) -> Decoded {
    let opcode = d.opcode;
    let geometry = geometry(d);
    let offsets = named(d, "e");
    let depth_in_its_place = may_be_depth(d, offsets);
    let compares = depth_in_its_place || named(d, "f") != Operand::Absent;
    let mip = match opcode.get(Slot::Mip) {
        Some(Modifier::Level) => Mip::Level,
        Some(Modifier::Grad) if geometry.dimensions == 3 || compares => Mip::Steps,
        Some(Modifier::Grad) => Mip::Gradient,
        _ => Mip::Base,
    };
    let channels = [Modifier::R, Modifier::G, Modifier::B, Modifier::A];
    let results = match opcode.operand_type(0) {
        Some(ScalarType::F16) => Results::Halves,
        Some(ScalarType::F16x2) => Results::Packed,
        _ => Results::Words,
    };
    let coordinates_are = opcode.operand_type(2);
    let kind = Lookup {
        geometry,
        integer: coordinates_are == Some(ScalarType::S32),
        mip,
        gather: opcode.get(Slot::Comp).and_then(|comp| channels.iter().position(|&c| c == comp)),
        results,
    };
    let bits = if results == Results::Halves { 16 } else { 32 };
    let destinations = destinations(d, 0, bits)?;
    let resident = d.predicate_destination(1)?;
    let (texture, sampler, coordinates) = bracket(d, d.operand(2))?;
    // The depth to compare with, `f`, changes nothing: no texture is one of depths.
    let lod = named(d, "lod");
    let gradients = [named(d, "dPdx"), named(d, "dPdy")];
    let gradients = [words(d, gradients[0])?, words(d, gradients[1])?];
    let offsets = if depth_in_its_place { Vec::new() } else { words(d, offsets)? };
    // ptxas takes one offset alone for any geometry.
    if !offsets.is_empty() && (kind.geometry.cube || offsets.len() < kind.geometry.dimensions) {
        return Err("a texture offset of fewer dimensions than the texture".to_owned());
    }
    let site = LookupSite {
        kind,
        texture,
        sampler,
        coordinates,
        lod: only(d, lod)?,
        gradients,
        offsets,
        destinations,
        resident,
    };
    let x = d.image.lookups.len() as u32;
    d.image.lookups.push(site);
    d.emit(Op { x, ..op(texture::lookup) });
    Ok(())
}

fn query(d: &mut Decoder<'_>) -> Decoded {
    let query = match d.opcode.get(Slot::Query) {
        Some(Modifier::Width) => Query::Width,
        Some(Modifier::Height) => Query::Height,
        Some(Modifier::Depth) => Query::Depth,
        Some(Modifier::ChannelDataType) => Query::ChannelDataType,
        Some(Modifier::ChannelOrder) => Query::ChannelOrder,
        Some(Modifier::NormalizedCoords) => Query::NormalizedCoords,
        Some(Modifier::ArraySize) => Query::ArraySize,
        Some(Modifier::NumMipmapLevels) => Query::NumMipmapLevels,
        Some(Modifier::NumSamples) => Query::NumSamples,
        Some(Modifier::ForceUnnormalizedCoords) => Query::ForceUnnormalizedCoords,
        Some(Modifier::FilterMode) => Query::FilterMode,
        Some(Modifier::AddrMode0) => Query::AddrMode(0),
        Some(Modifier::AddrMode1) => Query::AddrMode(1),
        Some(Modifier::AddrMode2) => Query::AddrMode(2),
        Some(Modifier::MemoryLayout) => Query::MemoryLayout,
        other => return Err(format!("query {other:?}")),
    };
    let destination = d.destination_plane(0, 32)?;
    let object = object(d, d.operand(1))?;
    let lod = named(d, "lod");
    let site = QuerySite { query, object, lod: only(d, lod)?, destination };
    let x = d.image.queries.len() as u32;
    d.image.queries.push(site);
    d.emit(Op { x, ..op(texture::query) });
    Ok(())
}

fn surface(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let opcode = d.opcode;
    let formatted = opcode.has(Modifier::P);
    let loads = sem == Sem::Suld;
    let (data, place) = if loads { (0, 1) } else { (1, 0) };
    let ty = opcode.operand_type(data).ok_or("a surface access without a type")?;
    let bits = ty.bits().max(16);
    let planes = match d.operand(data) {
        _ if loads => destinations(d, data, bits)?,
        Operand::Vector(list) => {
            let elements = d.body.elements(&list).to_vec();
            let mut planes = Vec::with_capacity(elements.len());
            for element in elements {
                let source = d.value(element, bits)?;
                planes.push(d.plane_of(source, bits));
            }
            planes
        }
        alone => {
            let source = d.value(alone, bits)?;
            vec![d.plane_of(source, bits)]
        }
    };
    if opcode.operand_length(data).is_some_and(|length| planes.len() != length as usize) {
        return Err("a vector in place of a register".to_owned());
    }
    let action = match (sem, opcode.get(Slot::Op)) {
        (Sem::Suld, _) => SurfaceAction::Load,
        (Sem::Sust, _) => SurfaceAction::Store,
        (_, Some(Modifier::Add)) => SurfaceAction::Add,
        (_, Some(Modifier::Min)) => SurfaceAction::Min,
        (_, Some(Modifier::Max)) => SurfaceAction::Max,
        (_, Some(Modifier::And)) => SurfaceAction::And,
        (_, Some(Modifier::Or)) => SurfaceAction::Or,
        (_, other) => return Err(format!("reduction {other:?}")),
    };
    let beyond = match opcode.get(Slot::Clamp) {
        Some(Modifier::Clamp) => Beyond::Clamp,
        Some(Modifier::Zero) => Beyond::Zero,
        _ => Beyond::Trap,
    };
    let (surface, _, coordinates) = bracket(d, d.operand(place))?;
    let geometry = geometry(d);
    let site = SurfaceSite { action, ty, formatted, beyond, geometry, surface, coordinates, data: planes };
    let x = d.image.surfaces.len() as u32;
    d.image.surfaces.push(site);
    d.emit(Op { x, ..op(texture::surface) });
    Ok(())
}
