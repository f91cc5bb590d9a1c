//! Texture and surface instructions (PTX ISA, "Texture Instructions", "Surface Instructions").

use super::decoder::{Decoded, Decoder, Missing};
use super::operand::plane_bits;
use crate::image::places::Home;
use crate::image::texture::{LookupSite, ObjectName, QuerySite, SurfaceAction, SurfaceSite};
use crate::lanes::{Operand, PlaneId};
use crate::operation::ObjectKind;
use crate::operation::kinds::{AccessSurface, IsType, LookUp, QueryObject};
use crate::texture::lookup::{Geometry, Lookup, Mip, Results};
use crate::texture::query::Query;
use ir::instruction::{self, Clamp, Istypep, Suld, Suq, Sured, Sust, SustComp, Tex, TexGeom, Tld4, Txq};
use ir::operand::{self, Def, Value};
use ptx::module::Symbol;
use ptx::types::ScalarType;

fn words(d: &mut Decoder<'_>, values: &[Value]) -> Result<Vec<Operand>, Missing> {
    values.iter().map(|value| d.read(value, 32)).collect()
}

/// An opaque variable, or a register with a handle or the address of one.
fn object(d: &mut Decoder<'_>, value: &Value) -> Result<ObjectName, Missing> {
    match *value {
        Value::Register(register) => match d.home(register) {
            Home::Plane(plane) if plane.bits() == 64 => Ok(ObjectName::Register(plane.into())),
            Home::Scalar(scalar) => Ok(ObjectName::Register(scalar.into())),
            _ => Err(format!("register {} as an object", d.register_name(register))),
        },
        Value::Symbol { symbol: Symbol::Variable(id), offset } => {
            Ok(ObjectName::Address(d.global_address(id)?.wrapping_add_signed(offset)))
        }
        other => Err(format!("{other:?} as an object")),
    }
}

/// What `tex` and `tld4` have both.
fn lookup(
    d: &mut Decoder<'_>,
    kind: Lookup,
    results: (&[Def], Option<Def>),
    texture: &operand::Lookup,
    offsets: Option<&[Value]>,
) -> Result<LookupSite, Missing> {
    let bits = if kind.results == Results::Halves { 16 } else { 32 };
    let offsets = words(d, offsets.unwrap_or_default())?;
    // ptxas takes one offset alone for any geometry.
    if !offsets.is_empty() && (kind.geometry.cube || offsets.len() < kind.geometry.dimensions) {
        return Err("a texture offset of fewer dimensions than the texture".to_owned());
    }
    Ok(LookupSite {
        kind,
        texture: object(d, &texture.object)?,
        sampler: texture.sampler.as_ref().map(|sampler| object(d, sampler)).transpose()?,
        coordinates: words(d, &texture.coordinates)?,
        lod: None,
        gradients: [Vec::new(), Vec::new()],
        offsets,
        destinations: d.write_planes(results.0, bits)?,
        resident: d.write_predicate(results.1)?,
    })
}

/// `tex`. The depth to compare with, `f`, changes nothing: no texture is one of depths.
pub(super) fn tex(d: &mut Decoder<'_>, tex: &Tex) -> Decoded {
    let geometry = Geometry::from(tex.geom);
    let mip = match tex.mip {
        None | Some(instruction::Mip::Base) => Mip::Base,
        Some(instruction::Mip::Level) => Mip::Level,
        Some(instruction::Mip::Grad) if geometry.dimensions == 3 || tex.f.is_some() => Mip::Steps,
        Some(instruction::Mip::Grad) => Mip::Gradient,
    };
    let results = match tex.dtype {
        None => Results::Packed,
        Some(ScalarType::F16) => Results::Halves,
        Some(_) => Results::Words,
    };
    let integer = tex.ctype == ScalarType::S32;
    let kind = Lookup { geometry, integer, mip, gather: None, results };
    let site = lookup(d, kind, (&tex.d, tex.p), &tex.t, tex.e.as_deref())?;
    let lod = tex.lod.as_ref().map(|lod| d.read(lod, 32)).transpose()?;
    let [dx, dy] = [&tex.d_pdx, &tex.d_pdy].map(|along| along.as_deref().unwrap_or_default());
    let gradients = [words(d, dx)?, words(d, dy)?];
    let site = LookupSite { lod, gradients, ..site };
    let site = d.site(site);
    d.emit(LookUp { site })
}

/// `tld4`.
pub(super) fn gather(d: &mut Decoder<'_>, tld4: &Tld4) -> Decoded {
    let gather = Some(match tld4.comp {
        instruction::Tld4Comp::R => 0,
        instruction::Tld4Comp::G => 1,
        instruction::Tld4Comp::B => 2,
        instruction::Tld4Comp::A => 3,
    });
    let geometry = Geometry::from(TexGeom::from(tld4.geom));
    let kind = Lookup { geometry, integer: false, mip: Mip::Base, gather, results: Results::Words };
    let site = lookup(d, kind, (&tld4.d, tld4.p), &tld4.t, tld4.e.as_deref())?;
    let site = d.site(site);
    d.emit(LookUp { site })
}

/// `txq`.
pub(super) fn query_texture(d: &mut Decoder<'_>, txq: &Txq) -> Decoded {
    query(d, txq.query.into(), txq.d, &txq.a, txq.lod.as_ref())
}

/// `suq`.
pub(super) fn query_surface(d: &mut Decoder<'_>, suq: &Suq) -> Decoded {
    query(d, suq.query.into(), suq.d, &suq.a, None)
}

fn query(d: &mut Decoder<'_>, query: Query, to: Def, of: &Value, lod: Option<&Value>) -> Decoded {
    let (destination, object) = (d.write_plane(to, 32)?, object(d, of)?);
    let lod = lod.map(|lod| d.read(lod, 32)).transpose()?;
    let site = d.site(QuerySite { query, object, lod, destination });
    d.emit(QueryObject { site })
}

/// `istypep`.
pub(super) fn is_type(d: &mut Decoder<'_>, istypep: &Istypep) -> Decoded {
    let object = match istypep.ty {
        ScalarType::SamplerRef => ObjectKind::Sampler,
        ScalarType::SurfRef => ObjectKind::Surface,
        _ => ObjectKind::Texture,
    };
    let (to, a) = (d.write_predicate_somewhere(Some(istypep.p))?, d.read_plane(&istypep.a, 64)?);
    d.emit(IsType { d: to, a, object })
}

/// `suld`.
pub(super) fn load(d: &mut Decoder<'_>, suld: &Suld) -> Decoded {
    let data = d.write_planes(&suld.d, plane_bits(suld.dtype.bits()))?;
    let how = (SurfaceAction::Load, suld.dtype, SustComp::B, suld.clamp);
    surface(d, how, suld.geom.into(), &suld.a, data)
}

/// `sust`.
pub(super) fn store(d: &mut Decoder<'_>, sust: &Sust) -> Decoded {
    let data = d.read_planes(&sust.b, plane_bits(sust.ctype.bits()))?.into_iter().map(Some).collect();
    let how = (SurfaceAction::Store, sust.ctype, sust.comp, sust.clamp);
    surface(d, how, sust.geom.into(), &sust.a, data)
}

/// `sured`.
pub(super) fn reduce(d: &mut Decoder<'_>, sured: &Sured) -> Decoded {
    let data = vec![Some(d.read_plane(&sured.b, plane_bits(sured.ctype.bits()))?)];
    let how = (SurfaceAction::Reduce(sured.op), sured.ctype, sured.comp, sured.clamp);
    surface(d, how, sured.geom.into(), &sured.a, data)
}

fn surface(
    d: &mut Decoder<'_>,
    (action, ty, comp, clamp): (SurfaceAction, ScalarType, SustComp, Clamp),
    geom: TexGeom,
    place: &operand::Lookup,
    data: Vec<Option<PlaneId>>,
) -> Decoded {
    let (geometry, formatted, beyond) = (geom.into(), comp == SustComp::P, clamp.into());
    let (surface, coordinates) = (object(d, &place.object)?, words(d, &place.coordinates)?);
    let site = d.site(SurfaceSite { action, ty, formatted, beyond, geometry, surface, coordinates, data });
    d.emit(AccessSurface { site })
}
