//! Multicast memory (PTX ISA, "multimem"): an address that stands for the same place in several ranges of memory.
//!
//! The host makes such an object with [`crate::memory::DeviceMemory::bind_multicast`]. Members are visited in the order
//! in which they were bound, each element in one step.

use super::address::{Global, Space, lane_address};
use super::bulk::aligned;
use super::combine::reduction;
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::image::copy::{End, Multimem, Narrow, Sum};
use crate::memory::Members;
use crate::operation::Address;
use crate::operation::kinds::{LoadMultimem, StoreMultimem};
use ir::instruction::MultimemLoadOp;
use numerics::convert::{f32_to_half, half_to_f32};
use numerics::format::{Bf16, E4m3, E5m2, F16, Format};
use numerics::rounding::Rn;
use numerics::{float, fp8, half};
use ptx::types::ScalarType;

impl Sum {
    /// Of a type by an `.op`, in `.f32` or in the type itself, if there is one.
    pub(crate) fn new(by: MultimemLoadOp, ty: ScalarType, in_f32: bool) -> Option<Self> {
        // Packed types are two elements.
        let element = match ty {
            ScalarType::F16x2 => ScalarType::F16,
            ScalarType::Bf16x2 => ScalarType::Bf16,
            other => other,
        };
        match (in_f32, element) {
            (true, ScalarType::F16) => Some(Self::HalfInF32),
            (true, _) => Some(Self::Bf16InF32),
            (false, _) => reduction(by.into(), element, false).map(Self::Each),
        }
    }
}

/// The most elements that a register has: halves in 64 bits.
const MOST_PARTS: usize = 4;

impl Sum {
    /// Bits of the elements that are added up, in a register of so many bytes.
    fn bits(&self, bytes: u32) -> u32 {
        match self {
            Self::None => bytes * 8,
            Self::Each(how) => how.bytes as u32 * 8,
            Self::HalfInF32 | Self::Bf16InF32 => 16,
            Self::E4m3(_) | Self::E5m2(_) => 8,
        }
    }

    /// An element in the type that it is added up in.
    fn widen(&self, element: u64) -> u64 {
        match self {
            Self::None | Self::Each(_) => element,
            Self::HalfInF32 => half_to_f32::<F16, false, false>(element as u16).into(),
            Self::Bf16InF32 => half_to_f32::<Bf16, false, false>(element as u16).into(),
            // A half holds each value of both.
            Self::E4m3(_) => fp8::to_half::<E4m3, F16, false>(element as u8).into(),
            Self::E5m2(_) => fp8::to_half::<E5m2, F16, false>(element as u8).into(),
        }
    }

    fn join(&self, sum: u64, element: u64) -> u64 {
        match self {
            Self::None => sum,
            Self::Each(how) => (how.function)(sum, element),
            Self::HalfInF32 | Self::Bf16InF32 => {
                float::add_f32::<Rn, false, false>(sum as u32, element as u32).into()
            }
            Self::E4m3(how) => join_narrow::<E4m3>(*how, sum as u16, element as u16).into(),
            Self::E5m2(how) => join_narrow::<E5m2>(*how, sum as u16, element as u16).into(),
        }
    }

    /// A sum in the element's type.
    fn narrow(&self, sum: u64) -> u64 {
        match self {
            Self::None | Self::Each(_) => sum,
            Self::HalfInF32 => f32_to_half::<F16, Rn, false, false, false, false>(sum as u32).into(),
            Self::Bf16InF32 => f32_to_half::<Bf16, Rn, false, false, false, false>(sum as u32).into(),
            Self::E4m3(_) => narrowed::<E4m3>(sum as u16).into(),
            Self::E5m2(_) => narrowed::<E5m2>(sum as u16).into(),
        }
    }
}

/// A half as an element of 8 bits.
fn narrowed<F: Format>(half: u16) -> u8 {
    fp8::from_f32::<F, false>(half_to_f32::<F16, false, false>(half))
}

/// Two elements of 8 bits, or a sum and one, as halves. The sum of two elements is not always a half: it is rounded from `.f32`,
/// which holds it.
fn join_narrow<F: Format>(how: Narrow, sum: u16, element: u16) -> u16 {
    match how {
        Narrow::Add => {
            let [sum, element] = [sum, element].map(half_to_f32::<F16, false, false>);
            let rounded = fp8::from_f32::<F, false>(float::add_f32::<Rn, false, false>(sum, element));
            fp8::to_half::<F, F16, false>(rounded)
        }
        Narrow::AddInF16 => half::add::<F16, false, false>(sum, element),
        Narrow::Min => half::min::<F16, false, false, false>(sum, element),
        Narrow::Max => half::max::<F16, false, false, false>(sum, element),
    }
}

impl Multimem {
    /// The members' addresses of what a lane accesses.
    fn members(&self, x: &Exec<'_>, at: Address, warp: usize, lane: usize) -> Result<Members, Trap> {
        let address = lane_address(x, at, warp, lane);
        let bytes = u64::from(self.bytes * self.planes.count);
        aligned("address", address, bytes)?;
        x.grid.memory.multicast_members(address, bytes).ok_or(Trap::NotMulticast { address, bytes })
    }

    /// What the members hold at one place, as one.
    fn gather(&self, x: &Exec<'_>, places: impl Iterator<Item = u64>) -> Result<u64, Trap> {
        let bits = self.sum.bits(self.bytes);
        let (count, mask) = ((self.bytes * 8 / bits) as usize, u64::MAX >> (64 - bits));
        let mut sums: Option<[u64; MOST_PARTS]> = None;
        for place in places {
            let mut bytes = [0; 8];
            End::Global.read(x, place, &mut bytes[..self.bytes as usize])?;
            let value = u64::from_le_bytes(bytes);
            let mut parts = [0; MOST_PARTS];
            for (i, part) in (0..).zip(&mut parts[..count]) {
                *part = self.sum.widen(value >> (i * bits) & mask);
            }
            if let Some(sums) = sums {
                for (part, sum) in parts.iter_mut().zip(sums) {
                    *part = self.sum.join(sum, *part);
                }
            }
            sums = Some(parts);
        }
        let sums = sums.unwrap_or_default();
        Ok((0..)
            .zip(&sums[..count])
            .fold(0, |value, (i, &sum)| value | (self.sum.narrow(sum) & mask) << (i * bits)))
    }
}

/// The most elements of a vector.
const MAX_ELEMENTS: usize = 8;

/// `multimem.ld_reduce`.
pub(crate) fn load(x: &mut Exec<'_>, op: &LoadMultimem, pc: u32) -> u32 {
    x.communicated = true;
    let site = *x.grid.image.site(op.site);
    let planes = x.grid.image.planes(site.planes);
    for (warp, lane) in x.active_lanes() {
        // The address may be in a register that is written.
        let mut values = [0; MAX_ELEMENTS];
        if let Err(trap) = gather(x, op.address, &site, (warp, lane), &mut values[..planes.len()]) {
            return x.raise(warp, lane, trap);
        }
        if x.grid.observer.is_some() {
            tell(x, op.address, &site, (pc, warp, lane), Access::Load);
        }
        for (plane, value) in planes.iter().zip(values) {
            if let Some(plane) = *plane {
                x.files.write(plane, warp, lane, value);
            }
        }
    }
    pc + 1
}

fn gather(
    x: &Exec<'_>,
    at: Address,
    site: &Multimem,
    (warp, lane): (usize, usize),
    values: &mut [u64],
) -> Result<(), Trap> {
    let members = site.members(x, at, warp, lane)?;
    for (i, value) in (0..).zip(values) {
        *value = site.gather(x, members.addresses().map(|at| at + i * u64::from(site.bytes)))?;
    }
    Ok(())
}

/// Tells of what a lane has accessed: the same bytes of each member.
#[cold]
fn tell(x: &Exec<'_>, at: Address, site: &Multimem, (pc, warp, lane): (u32, usize, usize), access: Access) {
    let bytes = u64::from(site.bytes * site.planes.count);
    let members = site.members(x, at, warp, lane).into_iter();
    for member in members.flat_map(|members| members.addresses().collect::<Vec<_>>()) {
        x.tell_access_of(pc, (warp, lane), member, bytes, access);
    }
}

/// `multimem.st` and `multimem.red`.
pub(crate) fn store(x: &mut Exec<'_>, op: &StoreMultimem, pc: u32) -> u32 {
    x.communicated = true;
    let site = *x.grid.image.site(op.site);
    for (warp, lane) in x.active_lanes() {
        if let Err(trap) = scatter(x, op.address, &site, warp, lane) {
            return x.raise(warp, lane, trap);
        }
        if x.grid.observer.is_some() {
            let access = if matches!(site.sum, Sum::Each(_)) { Access::Atomic } else { Access::Store };
            tell(x, op.address, &site, (pc, warp, lane), access);
        }
    }
    pc + 1
}

fn scatter(x: &mut Exec<'_>, at: Address, site: &Multimem, warp: usize, lane: usize) -> Result<(), Trap> {
    let members = site.members(x, at, warp, lane)?;
    for (i, plane) in (0..).zip(x.grid.image.planes(site.planes)) {
        let value = plane.map_or(0, |plane| x.files.read(plane, warp, lane)).to_le_bytes();
        let value = &value[..site.bytes as usize];
        for member in members.addresses() {
            let at = member + i * u64::from(site.bytes);
            match site.sum {
                Sum::Each(how) => End::Global.combine(x, at, value, &how)?,
                Sum::None | Sum::HalfInF32 | Sum::Bf16InF32 | Sum::E4m3(_) | Sum::E5m2(_) => {
                    whole(x, at, value)?
                }
            }
        }
    }
    Ok(())
}

/// Stores an element in one step.
fn whole(x: &mut Exec<'_>, at: u64, value: &[u8]) -> Result<(), Trap> {
    let stored = match value.len() {
        1 => Global::store(x, 0, 0, at, value[0]),
        2 => Global::store(x, 0, 0, at, u16::from_le_bytes([value[0], value[1]])),
        4 => Global::store(x, 0, 0, at, bytemuck::pod_read_unaligned::<u32>(value)),
        _ => Global::store(x, 0, 0, at, bytemuck::pod_read_unaligned::<u64>(value)),
    };
    stored.ok_or_else(|| x.bad_access(at, value.len() as u64, Access::Store))
}
