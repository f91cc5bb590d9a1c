//! Texture and surface operations: lane by lane, as each is a calculation of its own.

use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::image::Image;
use crate::image::texture::{LookupSite, ObjectName, SurfaceAction, SurfaceSite};
use crate::lanes::simd::Baseline;
use crate::lanes::{LANES, Operand};
use crate::operation::ObjectKind;
use crate::operation::kinds::{AccessSurface, IsType, LookUp, QueryObject};
use crate::ops::order::in_store_order;
use crate::texture::lookup::{Failure, Request, Results};
use crate::texture::object::{Sampler, Surface, Texture};
use crate::texture::query;
use crate::texture::surface::{Coordinates, Target};
use crate::texture::table::Object;
use ir::instruction::SuredOp;
use ptx::types::{ScalarType, TypeKind};
use std::sync::Arc;

/// A lane's value of a 32-bit operand.
fn word(x: &Exec<'_>, operand: Operand, warp: usize, lane: usize) -> u32 {
    x.files.read(operand, warp, lane) as u32
}

/// The number by which a lane names an object: its handle, or the address of a variable.
fn number(x: &Exec<'_>, name: ObjectName, warp: usize, lane: usize) -> u64 {
    match name {
        ObjectName::Address(address) => address,
        ObjectName::Register(operand) => x.files.read(operand, warp, lane),
    }
}

/// The type of the opaque variable at an address.
fn opaque(x: &Exec<'_>, address: u64) -> Option<ScalarType> {
    let variables = x.grid.opaque;
    let at = variables.binary_search_by_key(&address, |&(address, _)| address).ok()?;
    Some(variables[at].1)
}

/// The object that a lane names.
fn object<'a>(x: &Exec<'a>, name: ObjectName, warp: usize, lane: usize) -> Result<&'a Object, Trap> {
    let number = number(x, name, warp, lane);
    let handle = match opaque(x, number) {
        None => number,
        Some(ty) => match x.grid.memory.cell::<u64>(number).map(crate::memory::AtomicCell::load_relaxed) {
            Some(handle) if handle != 0 => handle,
            _ => return Err(Trap::InvalidObject(format!("nothing is bound to the .{ty} variable"))),
        },
    };
    let unknown = || Trap::InvalidObject(format!("{handle:#x} is no texture, sampler or surface object"));
    x.grid.objects.get(&handle).ok_or_else(unknown)
}

fn wrong(found: &Object, wanted: &str) -> Trap {
    let what = match found {
        Object::Array(_) => "an array",
        Object::Texture(_) => "a texture object",
        Object::Sampler(_) => "a sampler object",
        Object::Surface(_) => "a surface object",
    };
    Trap::InvalidObject(format!("{what} where {wanted} is needed"))
}

fn texture<'a>(x: &Exec<'a>, name: ObjectName, warp: usize, lane: usize) -> Result<&'a Arc<Texture>, Trap> {
    match object(x, name, warp, lane)? {
        Object::Texture(texture) => Ok(texture),
        other => Err(wrong(other, "a texture object")),
    }
}

/// A sampler: of its own, or that of a texture object.
fn sampler<'a>(x: &Exec<'a>, name: ObjectName, warp: usize, lane: usize) -> Result<&'a Sampler, Trap> {
    match object(x, name, warp, lane)? {
        Object::Sampler(sampler) => Ok(sampler),
        Object::Texture(texture) => Ok(&texture.sampler),
        other => Err(wrong(other, "a sampler")),
    }
}

/// `tex`, `tld4`.
pub(crate) fn lookup(x: &mut Exec<'_>, op: &LookUp, pc: u32) -> u32 {
    let image: &Image = x.grid.image;
    let site = image.site(op.site);
    for warp in 0..x.warps {
        let mut results = [[0u32; LANES]; 4];
        let mut rest = x.mask[warp];
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            match look(x, site, (pc, warp, lane)) {
                Ok(values) => {
                    for (plane, value) in results.iter_mut().zip(values) {
                        plane[lane] = value;
                    }
                }
                Err(trap) => return x.raise(warp, lane, trap),
            }
        }
        for (values, &d) in results.iter().zip(&site.destinations) {
            let Some(d) = d else { continue };
            match site.kind.results {
                Results::Halves => x.store_plane::<Baseline, u16>(d, warp, values.map(|v| v as u16)),
                Results::Words | Results::Packed => x.store_plane::<Baseline, u32>(d, warp, *values),
            }
        }
        if let Some(resident) = site.resident {
            // There is no sparse texture: every texel is resident.
            x.files.write_predicate(resident, warp, x.mask[warp], !0);
        }
    }
    pc + 1
}

fn look(x: &Exec<'_>, site: &LookupSite, (pc, warp, lane): (u32, usize, usize)) -> Result<[u32; 4], Trap> {
    let texture = texture(x, site.texture, warp, lane)?;
    let sampler = match site.sampler {
        Some(name) => sampler(x, name, warp, lane)?,
        None => &texture.sampler,
    };
    let mut request = Request::default();
    let fill = |into: &mut [u32], from: &[Operand]| {
        for (into, &value) in into.iter_mut().zip(from) {
            *into = word(x, value, warp, lane);
        }
    };
    fill(&mut request.coordinates, &site.coordinates);
    for (gradient, values) in request.gradients.iter_mut().zip(&site.gradients) {
        fill(gradient, values);
    }
    for (offset, &value) in request.offsets.iter_mut().zip(&site.offsets) {
        *offset = word(x, value, warp, lane) as i32;
    }
    request.lod = site.lod.map_or(0, |value| word(x, value, warp, lane));
    let tell = |address, bytes| x.tell_access_of(pc, (warp, lane), address, bytes, Access::Load);
    let seen: Option<&dyn Fn(u64, u64)> = if x.grid.observer.is_some() { Some(&tell) } else { None };
    site.kind.run((&x.grid.memory, seen), &texture.texels, sampler, &request).map_err(|failure| match failure
    {
        Failure::Mismatch(why) => Trap::InvalidObject(why),
        Failure::Address(address) => {
            x.bad_access(address, u64::from(texture.texels.format.texel_bytes()), Access::Load)
        }
    })
}

/// `txq`, `suq`.
pub(crate) fn query(x: &mut Exec<'_>, op: &QueryObject, pc: u32) -> u32 {
    let image: &Image = x.grid.image;
    let site = image.site(op.site);
    for (warp, lane) in x.active_lanes() {
        let lod = site.lod.map_or(0, |value| word(x, value, warp, lane));
        let answer = match object(x, site.object, warp, lane) {
            Ok(Object::Texture(texture)) => {
                query::of_texels(&texture.texels, &texture.sampler, site.query, lod)
            }
            Ok(Object::Sampler(sampler)) => query::of_sampler(sampler, site.query),
            Ok(Object::Surface(surface)) => query::of_surface(surface, site.query),
            Ok(other @ Object::Array(_)) => {
                return x.raise(warp, lane, wrong(other, "a texture, sampler or surface"));
            }
            Err(trap) => return x.raise(warp, lane, trap),
        };
        let Some(answer) = answer else {
            let why = format!("the object has no attribute {:?}", site.query);
            return x.raise(warp, lane, Trap::InvalidObject(why));
        };
        x.files.w[site.destination.index() + warp].0[lane] = answer;
    }
    pc + 1
}

/// `istypep`. On hardware the address of an opaque variable has a bit of its own, and the instruction asks for nothing else.
pub(crate) fn is_type(x: &mut Exec<'_>, op: &IsType, pc: u32) -> u32 {
    for (warp, lane) in x.active_lanes() {
        let address = x.files.d[op.a.index() + warp].0[lane];
        let object = match opaque(x, address) {
            Some(ScalarType::TexRef) => Some(ObjectKind::Texture),
            Some(ScalarType::SamplerRef) => Some(ObjectKind::Sampler),
            Some(ScalarType::SurfRef) => Some(ObjectKind::Surface),
            _ => None,
        };
        let is = object == Some(op.object) || address >> (61 + op.object as u32) & 1 == 1;
        x.files.write_predicate(op.d, warp, 1 << lane, if is { !0 } else { 0 });
    }
    pc + 1
}

/// `suld`, `sust`, `sured`.
pub(crate) fn surface(x: &mut Exec<'_>, op: &AccessSurface, pc: u32) -> u32 {
    let image: &Image = x.grid.image;
    let site = image.site(op.site);
    x.communicated |= matches!(site.action, SurfaceAction::Reduce(_));
    for warp in 0..x.warps {
        let mask = x.mask[warp];
        let bytes = u64::from(site.ty.bytes()) * site.data.len() as u64;
        let done = match site.action {
            SurfaceAction::Store => {
                in_store_order(mask, bytes).all(|lane| access(x, site, (pc, warp, lane)).is_ok())
            }
            _ => false,
        };
        // Also for the lowest lane that cannot store.
        if !done {
            for lane in (0..LANES).filter(|l| mask >> l & 1 != 0) {
                if let Err(trap) = access(x, site, (pc, warp, lane)) {
                    return x.raise(warp, lane, trap);
                }
            }
        }
    }
    pc + 1
}

fn access(x: &mut Exec<'_>, site: &SurfaceSite, (pc, warp, lane): (u32, usize, usize)) -> Result<(), Trap> {
    let surface = match object(x, site.surface, warp, lane)? {
        Object::Surface(surface) => Arc::clone(surface),
        other => return Err(wrong(other, "a surface object")),
    };
    let mut values = site.coordinates.iter().map(|&value| word(x, value, warp, lane));
    let mut at = Coordinates {
        along: [0; 3],
        dimensions: site.geometry.dimensions,
        layer: site.geometry.layered.then(|| values.next().unwrap_or(0)),
        formatted: site.formatted,
    };
    for (along, value) in at.along.iter_mut().zip(values) {
        *along = value as i32;
    }
    let element = site.ty.bytes() as usize;
    let bytes = match site.formatted && site.action == SurfaceAction::Store {
        true => surface.format.texel_bytes(),
        false => element as u32 * site.data.len() as u32,
    };
    let address = match surface.target(&at, bytes, site.beyond) {
        Target::Address(address) => Some(address),
        Target::Nowhere => None,
        Target::Outside => {
            return Err(Trap::InvalidObject("a surface access beyond its edge, by .trap".to_owned()));
        }
    };
    if let Some(address) = address.filter(|_| x.grid.observer.is_some()) {
        let access = match site.action {
            SurfaceAction::Load => Access::Load,
            SurfaceAction::Store => Access::Store,
            SurfaceAction::Reduce(_) => Access::Atomic,
        };
        x.tell_access_of(pc, (warp, lane), address, bytes.into(), access);
    }
    match site.action {
        SurfaceAction::Load => load(x, site, warp, lane, address),
        SurfaceAction::Store => {
            let Some(address) = address else { return Ok(()) };
            let (buffer, length) = stored(x, site, &surface, warp, lane);
            match is_aligned(address, length) && x.grid.memory.write_block(address, &buffer[..length]) {
                true => Ok(()),
                false => Err(x.bad_access(address, length as u64, Access::Store)),
            }
        }
        SurfaceAction::Reduce(by) => {
            let Some(address) = address else { return Ok(()) };
            reduce(x, site, by, &surface, warp, lane, address)
        }
    }
}

fn is_aligned(address: u64, bytes: usize) -> bool {
    address.is_multiple_of((bytes as u64).next_power_of_two())
}

/// A lane of the `i`th register of data, zero-extended.
fn register(x: &Exec<'_>, site: &SurfaceSite, i: usize, warp: usize, lane: usize) -> u64 {
    site.data[i].map_or(0, |plane| x.files.read(plane, warp, lane))
}

fn load(
    x: &mut Exec<'_>,
    site: &SurfaceSite,
    warp: usize,
    lane: usize,
    address: Option<u64>,
) -> Result<(), Trap> {
    let element = site.ty.bytes() as usize;
    let bytes = element * site.data.len();
    let mut buffer = [0; 16];
    if let Some(address) = address
        && !(is_aligned(address, bytes) && x.grid.memory.read_block(address, &mut buffer[..bytes]))
    {
        return Err(x.bad_access(address, bytes as u64, Access::Load));
    }
    for (&plane, stored) in site.data.iter().zip(buffer.chunks_exact(element)) {
        let Some(plane) = plane else { continue };
        let mut word = [0; 8];
        word[..element].copy_from_slice(stored);
        x.files.write(plane, warp, lane, u64::from_le_bytes(word));
    }
    Ok(())
}

/// The bytes that a store writes.
fn stored(
    x: &Exec<'_>,
    site: &SurfaceSite,
    surface: &Surface,
    warp: usize,
    lane: usize,
) -> ([u8; 16], usize) {
    if site.formatted {
        let mut words = [0; 4];
        for (i, word) in words.iter_mut().enumerate().take(site.data.len()) {
            *word = register(x, site, i, warp, lane) as u32;
        }
        return surface.encode(words);
    }
    let element = site.ty.bytes() as usize;
    let mut buffer = [0; 16];
    for (i, chunk) in buffer.chunks_exact_mut(element).enumerate().take(site.data.len()) {
        chunk.copy_from_slice(&register(x, site, i, warp, lane).to_le_bytes()[..element]);
    }
    (buffer, element * site.data.len())
}

fn reduce(
    x: &Exec<'_>,
    site: &SurfaceSite,
    by: SuredOp,
    surface: &Surface,
    warp: usize,
    lane: usize,
    address: u64,
) -> Result<(), Trap> {
    let wide = site.ty.bits() == 64;
    let signed = if site.formatted { surface.is_signed() } else { site.ty.kind() == TypeKind::Signed };
    let operand = register(x, site, 0, warp, lane);
    let done = match wide {
        true => update::<u64>(x, address, |old| combine(by, old, operand, signed)),
        false => update::<u32>(x, address, |old| {
            let extend = |v: u64| if signed { v as u32 as i32 as i64 as u64 } else { u64::from(v as u32) };
            combine(by, extend(old.into()), extend(operand), signed) as u32
        }),
    };
    done.ok_or_else(|| x.bad_access(address, u64::from(site.ty.bytes()), Access::Atomic))
}

fn combine(by: SuredOp, old: u64, operand: u64, signed: bool) -> u64 {
    match (by, signed) {
        (SuredOp::Add, _) => old.wrapping_add(operand),
        (SuredOp::And, _) => old & operand,
        (SuredOp::Or, _) => old | operand,
        (SuredOp::Min, false) => old.min(operand),
        (SuredOp::Max, false) => old.max(operand),
        (SuredOp::Min, true) => (old as i64).min(operand as i64) as u64,
        (SuredOp::Max, true) => (old as i64).max(operand as i64) as u64,
    }
}

/// Replaces a cell in one indivisible step.
fn update<M: crate::memory::Cell>(x: &Exec<'_>, address: u64, new: impl Fn(M) -> M) -> Option<()> {
    use crate::memory::AtomicCell;
    let cell = x.grid.memory.cell::<M>(address)?;
    let mut old = cell.load_relaxed();
    while let Err(now) = cell.compare_exchange_seq(old, new(old)) {
        old = now;
    }
    Some(())
}
