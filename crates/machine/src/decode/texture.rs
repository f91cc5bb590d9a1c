//! Texture and surface instructions (PTX ISA, "Texture Instructions", "Surface Instructions").

use super::decoder::{Decode, Decoded, Decoder, Missing, decoders};
use super::operand::plane_bits;
use crate::image::places::Home;
use crate::image::texture::{LookupSite, ObjectName, QuerySite, SurfaceAction, SurfaceSite};
use crate::lanes::{Operand, PlaneId};
use crate::operation::ObjectKind;
use crate::operation::kinds::{AccessSurface, IsType, LookUp, QueryObject};
use crate::texture::lookup::{Geometry, Lookup, Mip, Results};
use crate::texture::query::Query;
use ir::instruction::{self, Clamp, SustComp, TexGeom};
use ir::operand::{self, Def, Value};
use ptx::module::Symbol;
use ptx::types::ScalarType;

decoders! { d, op:
    Tld4 => {
        let gather = Some(match op.comp {
            instruction::Tld4Comp::R => 0,
            instruction::Tld4Comp::G => 1,
            instruction::Tld4Comp::B => 2,
            instruction::Tld4Comp::A => 3,
        });
        let geometry = Geometry::from(TexGeom::from(op.geom));
        let kind = Lookup { geometry, integer: false, mip: Mip::Base, gather, results: Results::Words };
        let site = lookup(d, kind, (&op.d, op.p), &op.t, op.e.as_deref())?;
        d.emit_with(site, |site| LookUp { site })
    };
    Txq => query(d, op.query.into(), op.d, &op.a, op.lod.as_ref());
    Suq => query(d, op.query.into(), op.d, &op.a, None);
    Istypep => {
        let object = match op.ty {
            ScalarType::SamplerRef => ObjectKind::Sampler,
            ScalarType::SurfRef => ObjectKind::Surface,
            _ => ObjectKind::Texture,
        };
        let (to, a) = (d.write_predicate_somewhere(Some(op.p))?, d.read_plane(&op.a, 64)?);
        d.emit(IsType { d: to, a, object })
    };
    Suld => {
        let data = d.write_planes(&op.d, plane_bits(op.dtype.bits()))?;
        let how = (SurfaceAction::Load, op.dtype, SustComp::B, op.clamp);
        surface(d, how, op.geom.into(), &op.a, data)
    };
    Sust => {
        let data = d.read_planes(&op.b, plane_bits(op.ctype.bits()))?.into_iter().map(Some).collect();
        let how = (SurfaceAction::Store, op.ctype, op.comp, op.clamp);
        surface(d, how, op.geom.into(), &op.a, data)
    };
    Sured => {
        let data = vec![Some(d.read_plane(&op.b, plane_bits(op.ctype.bits()))?)];
        let how = (SurfaceAction::Reduce(op.op), op.ctype, op.comp, op.clamp);
        surface(d, how, op.geom.into(), &op.a, data)
    };
}

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

/// The depth to compare with, `f`, changes nothing: no texture is one of depths.
impl Decode for instruction::Tex {
    fn decode(&self, d: &mut Decoder<'_>) -> Decoded {
        let geometry = Geometry::from(self.geom);
        let mip = match self.mip {
            None | Some(instruction::Mip::Base) => Mip::Base,
            Some(instruction::Mip::Level) => Mip::Level,
            Some(instruction::Mip::Grad) if geometry.dimensions == 3 || self.f.is_some() => Mip::Steps,
            Some(instruction::Mip::Grad) => Mip::Gradient,
        };
        let results = match self.dtype {
            None => Results::Packed,
            Some(ScalarType::F16) => Results::Halves,
            Some(_) => Results::Words,
        };
        // With gradients, whose instruction has no integers, the bits are a number.
        let integer = self.ctype == ScalarType::S32 && matches!(mip, Mip::Base | Mip::Level);
        let kind = Lookup { geometry, integer, mip, gather: None, results };
        let site = lookup(d, kind, (&self.d, self.p), &self.t, self.e.as_deref())?;
        let lod = self.lod.as_ref().map(|lod| d.read(lod, 32)).transpose()?;
        let [dx, dy] = [&self.d_pdx, &self.d_pdy].map(|along| along.as_deref().unwrap_or_default());
        let gradients = [words(d, dx)?, words(d, dy)?];
        d.emit_with(LookupSite { lod, gradients, ..site }, |site| LookUp { site })
    }
}

fn query(d: &mut Decoder<'_>, query: Query, to: Def, of: &Value, lod: Option<&Value>) -> Decoded {
    let (destination, object) = (d.write_plane(to, 32)?, object(d, of)?);
    let lod = lod.map(|lod| d.read(lod, 32)).transpose()?;
    d.emit_with(QuerySite { query, object, lod, destination }, |site| QueryObject { site })
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
    let access = SurfaceSite { action, ty, formatted, beyond, geometry, surface, coordinates, data };
    d.emit_with(access, |site| AccessSurface { site })
}
