//! Fetches and accesses by handles, lane by lane: operands to what the texture unit of [`machine`] is asked, and its answers to registers.

use crate::access::nth;
use crate::fault::FaultKind;
use crate::memory::{Local, Reach};
use crate::registers::{Registers, lanes};
use crate::step::{Fetch, OnSurface, Place, Space, Texel, Way};
use machine::texture::{Coordinates, Geometry, Lookup, Mip, Request, Results, Target, Unit};

/// The level below every other, for a fetch that names none.
const NO_LEVEL: u32 = 0xc200_0000;

/// Carries it out for the active lanes.
pub(crate) fn perform(
    registers: &mut Registers,
    texel: &Texel,
    active: u32,
    reach: &mut Reach<'_>,
) -> Result<(), FaultKind> {
    let unit = unit(reach)?;
    for lane in lanes(active) {
        match texel {
            Texel::Fetch(fetch) => look_up(registers, fetch, unit, lane)?,
            Texel::Extent { to, level, axis, handle } => {
                let level = registers.plane(*level)[lane];
                let handle = u64::from(registers.uniform(*handle));
                let extent = unit.extent(handle, *axis, level).map_err(FaultKind::Object)?;
                registers.set_word(*to, lane, extent);
            }
            Texel::Surface(access) => on_surface(registers, access, (unit, reach), lane)?,
        }
    }
    Ok(())
}

fn unit<'a>(reach: &Reach<'a>) -> Result<&'a Unit<'a>, FaultKind> {
    reach.textures.ok_or_else(|| FaultKind::Object("there are no textures here".to_owned()))
}

/// A function of the driver that fetches by derivatives, along three axes or where a depth is compared, which changes nothing, as no texture is one of
/// depths. It takes a handle in R4 and R5, coordinates from R8, one row of derivatives from R12 and the other at the end of the stack, offsets 16
/// bytes above that; it says in R4 whether texels are there, and gives channels from R5 on, two halves a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByDerivatives {
    lookup: Lookup,
    has_offsets: bool,
}

impl ByDerivatives {
    const HANDLE: u8 = 4;
    const COORDINATES: u8 = 8;
    const ALONG_X: u8 = 12;
    const RESIDENT: u8 = 4;
    const STACK: u8 = 1;

    /// `[pred_]geometry_v4_type_coordinates[_offset][_depth_compare]`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_prefix("pred_").unwrap_or(name);
        let name = name.strip_suffix("_depth_compare").unwrap_or(name);
        let (name, has_offsets) = name.strip_suffix("_offset").map_or((name, false), |name| (name, true));
        let mut parts = name.split('_');
        let (dimensions, layered, cube) = match parts.next()? {
            "1d" => (1, false, false),
            "a1d" => (1, true, false),
            "2d" => (2, false, false),
            "a2d" => (2, true, false),
            "3d" => (3, false, false),
            "cube" => (3, false, true),
            "acube" => (3, true, true),
            _ => return None,
        };
        let geometry = Geometry { dimensions, layered, cube, multisample: false };
        let (Some("v4"), Some(ty), Some("f32" | "s32"), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let results = match ty {
            "f32" | "s32" | "u32" => Results::Words,
            "f16" => Results::Packed,
            _ => return None,
        };
        // Integers as coordinates are read as the floats that their bits are.
        let lookup = Lookup { geometry, integer: false, mip: Mip::Steps, gather: None, results };
        Some(Self { lookup, has_offsets })
    }

    /// Fetches for the active lanes.
    pub(crate) fn perform(
        &self,
        registers: &mut Registers,
        local: &Local,
        reach: &Reach<'_>,
        active: u32,
    ) -> Result<(), FaultKind> {
        let unit = unit(reach)?;
        for lane in lanes(active) {
            let row = |first: u8, by: usize| registers.plane(nth(first, by as u8))[lane];
            let on_stack = |word: usize| {
                let mut bytes = [0; 4];
                let at = u64::from(row(Self::STACK, 0)) + 4 * word as u64;
                local.load(reach, Space::Local, at, lane, &mut bytes).map(|()| u32::from_le_bytes(bytes))
            };
            let mut request = Request::default();
            let Geometry { dimensions, layered, .. } = self.lookup.geometry;
            for (by, coordinate) in
                request.coordinates.iter_mut().enumerate().take(usize::from(layered) + dimensions)
            {
                *coordinate = row(Self::COORDINATES, by);
            }
            for axis in 0..dimensions {
                request.gradients[0][axis] = row(Self::ALONG_X, axis);
                request.gradients[1][axis] = on_stack(axis)?;
                if self.has_offsets {
                    request.offsets[axis] = on_stack(4 + axis)? as i32;
                }
            }
            let handle = registers.general(Self::HANDLE, true, lane);
            let channels = unit.look_up(handle, &self.lookup, &request).map_err(FaultKind::Object)?;
            let count = if self.lookup.results == Results::Packed { 2 } else { 4 };
            for (by, word) in (0..).zip([1].into_iter().chain(channels.into_iter().take(count))) {
                registers.set_word(nth(Self::RESIDENT, by), lane, word);
            }
        }
        Ok(())
    }
}

/// So many bits of a number from a bit on, which have a sign.
fn field(word: u32, at: u32, bits: u32) -> i32 {
    (word << (32 - at - bits)) as i32 >> (32 - bits)
}

fn look_up(registers: &mut Registers, fetch: &Fetch, unit: &Unit<'_>, lane: usize) -> Result<(), FaultKind> {
    let handle = u64::from(registers.uniform(fetch.handle));
    let row = |first: u8, by: usize| registers.plane(nth(first, by as u8))[lane];
    let mut lookup = fetch.lookup;
    let Geometry { dimensions, layered, .. } = lookup.geometry;
    // Code scales directions itself.
    let mut request = Request { projected: true, ..Request::default() };
    let derives = lookup.mip == Mip::Gradient;
    // A layer stands in front, but behind them where there are derivatives.
    let (first, layer) = match (layered, derives) {
        (false, _) => (0, None),
        (true, false) => (1, Some(row(fetch.at, 0))),
        (true, true) => (0, Some(row(fetch.at, dimensions) & 0xffff)),
    };
    let mut places = request.coordinates.iter_mut();
    if let Some(layer) = layer
        && let Some(place) = places.next()
    {
        *place = layer;
    }
    for (place, axis) in places.zip(0..dimensions) {
        *place = row(fetch.at, first + axis);
    }
    let mut more = (0..).map_while(|by| fetch.more.map(|more| row(more, by)));
    let (mut spread, mut bits) = (4, 4);
    let mut offsets = None;
    if derives {
        for axis in 0..dimensions {
            for gradient in &mut request.gradients {
                gradient[axis] = more.next().unwrap_or(0);
            }
        }
        offsets = fetch.has_offsets.then(|| row(fetch.at, dimensions) >> 16);
    } else {
        if lookup.mip == Mip::Level {
            request.lod = more.next().unwrap_or(0);
        }
        if fetch.has_offsets {
            offsets = more.next();
        }
        if lookup.gather.is_some() {
            (spread, bits) = (8, 6);
        }
    }
    if let Some(offsets) = offsets {
        for (offset, axis) in request.offsets.iter_mut().zip(0..dimensions as u32) {
            *offset = field(offsets, axis * spread, bits);
        }
    }
    if lookup.mip == Mip::Level && !lookup.integer && request.lod == NO_LEVEL {
        lookup.mip = Mip::Base;
    }
    // A texture of one row is looked up as one of two axes, unless coordinates count texels.
    if !lookup.integer && dimensions == 2 && !layered && unit.is_row(handle) {
        lookup = Lookup { geometry: Geometry { dimensions: 1, ..lookup.geometry }, ..lookup };
    }
    let channels = unit.look_up(handle, &lookup, &request).map_err(FaultKind::Object)?;
    for (index, channel) in channels.into_iter().enumerate() {
        registers.set_word(nth(fetch.to[index / 2], index as u8 % 2), lane, channel);
    }
    if let Some(absent) = fetch.absent {
        // Every texel is resident.
        registers.write(Place::Predicate(absent), 0, lane);
    }
    Ok(())
}

fn on_surface(
    registers: &mut Registers,
    access: &OnSurface,
    (unit, reach): (&Unit<'_>, &mut Reach<'_>),
    lane: usize,
) -> Result<(), FaultKind> {
    let surface = unit.surface(u64::from(registers.uniform(access.handle))).map_err(FaultKind::Object)?;
    let row = |registers: &Registers, first: u8, by: usize| registers.plane(nth(first, by as u8))[lane];
    let mut along = [0; 3];
    for (axis, place) in along.iter_mut().enumerate().take(access.dimensions) {
        *place = row(registers, access.at, axis) as i32;
    }
    let layer = access.layered.then(|| row(registers, access.at, access.dimensions));
    let formatted = access.formatted;
    let at = Coordinates { along, dimensions: access.dimensions, layer, formatted };
    let stores_texels = formatted && matches!(access.way, Way::Store { .. });
    let bytes = if stores_texels { surface.texel_bytes() } else { u32::from(access.bytes) };
    let address = match surface.target(&at, bytes, access.beyond) {
        Target::Address(address) => Some(address),
        Target::Nowhere => None,
        Target::Outside => return Err(FaultKind::Object("a surface access beyond its edge".to_owned())),
    };
    let bytes = bytes as usize;
    if let Some(address) = address.filter(|address| !address.is_multiple_of(bytes.next_power_of_two() as u64))
    {
        return Err(FaultKind::Misaligned { address, bytes: bytes as u32 });
    }
    let outside = |address| FaultKind::Address { space: "global", address, bytes: bytes as u32 };
    let words: [u32; 4] = std::array::from_fn(|by| row(registers, access.data, by));
    match &access.way {
        Way::Load => {
            let mut texel = [0; 16];
            if let Some(address) = address {
                reach.global.read(address, &mut texel[..bytes]).map_err(|_| outside(address))?;
            }
            let (words, _) = texel.as_chunks::<4>();
            for (by, word) in words.iter().enumerate().take(bytes.div_ceil(4)) {
                registers.set_word(nth(access.data, by as u8), lane, u32::from_le_bytes(*word));
            }
        }
        Way::Store { channels } => {
            let Some(address) = address else { return Ok(()) };
            let mut texel = [0; 16];
            let mut length = bytes;
            if formatted {
                let given: [u32; 4] = std::array::from_fn(|by| if by < *channels { words[by] } else { 0 });
                (texel, length) = surface.encode(given);
            } else {
                for (into, word) in texel.chunks_exact_mut(4).zip(words) {
                    into.copy_from_slice(&word.to_le_bytes());
                }
            }
            reach.global.write(address, &texel[..length]).map_err(|_| outside(address))?;
        }
        Way::Reduce(updates) => {
            let Some(address) = address else { return Ok(()) };
            let mut old = [0; 16];
            reach.global.read(address, &mut old[..bytes]).map_err(|_| outside(address))?;
            let value = u128::from(words[0]) | if bytes == 8 { u128::from(words[1]) << 32 } else { 0 };
            let new = updates[usize::from(surface.is_signed())](u128::from_le_bytes(old), value, 0);
            reach.global.write(address, &new.to_le_bytes()[..bytes]).map_err(|_| outside(address))?;
        }
    }
    Ok(())
}
