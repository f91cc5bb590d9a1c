//! Multicast memory (PTX ISA, "multimem"): an address that stands for the same place in several ranges of memory.
//!
//! The host makes such an object with [`crate::memory::DeviceMemory::bind_multicast`]. Members are visited in the order
//! in which they were bound, each element in one step.

use super::address::{Global, Space, lane_address};
use super::bulk::{End, aligned};
use super::combine::{Combine, combine};
use super::{NONE, Op};
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use ir::instruction::MultimemLoadOp;
use numerics::convert::{f32_to_half, half_to_f32};
use numerics::float;
use numerics::format::{Bf16, F16, Format};
use numerics::rounding::Rn;
use ptx::types::ScalarType;

/// How elements of several members become one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sum {
    /// They do not: a store.
    None,
    /// One after the other.
    Each(Combine),
    /// `.f16`, added in `.f32`.
    HalfInF32,
    /// `.bf16`, added in `.f32`.
    Bf16InF32,
}

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
            (false, _) => combine(by.into(), element, false).map(Self::Each),
        }
    }
}

/// A multimem instruction; [`Op::x`] is its index in the image. The operation has the address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multimem {
    /// The planes of the vector, in the image's lists; those of a load may be [`NONE`].
    pub(crate) list: u32,
    pub(crate) count: u32,
    /// Bits of a plane.
    pub(crate) width: u32,
    /// Bytes of what one plane holds.
    pub(crate) bytes: u32,
    pub(crate) sum: Sum,
}

impl Multimem {
    /// The members' addresses of what a lane accesses.
    fn members(&self, x: &Exec<'_>, op: &Op, warp: usize, lane: usize) -> Result<Vec<u64>, Trap> {
        let address = lane_address(x, op, warp, lane);
        let bytes = u64::from(self.bytes * self.count);
        aligned("address", address, bytes)?;
        x.grid.memory.multicast_members(address, bytes).ok_or(Trap::NotMulticast { address, bytes })
    }

    fn plane(&self, x: &Exec<'_>, i: u32) -> u32 {
        x.grid.image.lists[(self.list + i) as usize]
    }

    /// What the members hold at one place, as one.
    fn gather(&self, x: &Exec<'_>, places: impl Iterator<Item = u64>) -> Result<u64, Trap> {
        let mut values = Vec::new();
        for place in places {
            let mut bytes = [0; 8];
            End::Global.read(x, place, &mut bytes[..self.bytes as usize])?;
            values.push(u64::from_le_bytes(bytes));
        }
        Ok(match self.sum {
            Sum::None => values.first().copied().unwrap_or(0),
            Sum::Each(how) => {
                let bits = how.bytes as u32 * 8;
                by_parts(self.bytes, bits, |part| fold(values.iter().map(|&v| part(v)), how.function))
            }
            Sum::HalfInF32 => by_parts(self.bytes, 16, |part| in_f32::<F16>(values.iter().map(|&v| part(v)))),
            Sum::Bf16InF32 => {
                by_parts(self.bytes, 16, |part| in_f32::<Bf16>(values.iter().map(|&v| part(v))))
            }
        })
    }
}

/// A value of `bytes` made of parts of `bits`, each computed from a function that picks it out of a value.
fn by_parts(bytes: u32, bits: u32, compute: impl Fn(&dyn Fn(u64) -> u64) -> u64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    (0..bytes * 8).step_by(bits as usize).fold(0, |value, from| {
        let part = move |value: u64| value >> from & mask;
        value | (compute(&part) & mask) << from
    })
}

fn fold(values: impl Iterator<Item = u64>, function: fn(u64, u64) -> u64) -> u64 {
    values.reduce(function).unwrap_or(0)
}

fn in_f32<F: Format>(values: impl Iterator<Item = u64>) -> u64 {
    let wide = values.map(|value| half_to_f32::<F, false, false>(value as u16));
    let sum = wide.reduce(float::add_f32::<Rn, false, false>).unwrap_or(0);
    u64::from(f32_to_half::<F, Rn, false, false, false, false>(sum))
}

/// `multimem.ld_reduce`.
pub(crate) fn load(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    let site = x.grid.image.multimems[op.x as usize];
    for (warp, lane) in x.active_lanes() {
        let members = match site.members(x, op, warp, lane) {
            Ok(members) => members,
            Err(trap) => return x.raise(warp, lane, trap),
        };
        let gathered: Result<Vec<u64>, Trap> = (0..site.count)
            .map(|i| site.gather(x, members.iter().map(|at| at + u64::from(i * site.bytes))))
            .collect();
        let values = match gathered {
            Ok(values) => values,
            Err(trap) => return x.raise(warp, lane, trap),
        };
        for (i, value) in (0..site.count).zip(values) {
            let plane = site.plane(x, i);
            if plane != NONE {
                crate::run::frame::write_register(&mut x.files, plane, site.width, warp, lane, value);
            }
        }
    }
    pc + 1
}

/// `multimem.st` and `multimem.red`.
pub(crate) fn store(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    let site = x.grid.image.multimems[op.x as usize];
    for (warp, lane) in x.active_lanes() {
        if let Err(trap) = scatter(x, op, &site, warp, lane) {
            return x.raise(warp, lane, trap);
        }
    }
    pc + 1
}

fn scatter(x: &mut Exec<'_>, op: &Op, site: &Multimem, warp: usize, lane: usize) -> Result<(), Trap> {
    let members = site.members(x, op, warp, lane)?;
    for i in 0..site.count {
        let plane = site.plane(x, i);
        let value = crate::run::frame::read_register(&x.files, plane, site.width, warp, lane).to_le_bytes();
        let value = &value[..site.bytes as usize];
        for member in &members {
            let at = member + u64::from(i * site.bytes);
            match site.sum {
                Sum::Each(how) => End::Global.combine(x, at, value, &how)?,
                Sum::None | Sum::HalfInF32 | Sum::Bf16InF32 => whole(x, at, value)?,
            }
        }
    }
    Ok(())
}

/// Stores an element in one step.
fn whole(x: &mut Exec<'_>, at: u64, value: &[u8]) -> Result<(), Trap> {
    let stored = match value.len() {
        2 => Global::store(x, 0, 0, at, u16::from_le_bytes([value[0], value[1]])),
        4 => Global::store(x, 0, 0, at, bytemuck::pod_read_unaligned::<u32>(value)),
        _ => Global::store(x, 0, 0, at, bytemuck::pod_read_unaligned::<u64>(value)),
    };
    stored.ok_or_else(|| x.bad_access(at, value.len() as u64, Access::Store))
}
