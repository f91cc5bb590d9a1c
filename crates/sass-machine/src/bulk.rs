//! Copies and reductions in bulk, and stores that tell an object of their bytes: what goes on beside the threads here is done at once.

use crate::access;
use crate::cluster::in_each;
use crate::fault::FaultKind;
use crate::mbarrier::{Completion, Mbarrier};
use crate::memory::{Local, Reach};
use crate::registers::{Banks, Registers, lanes};
use crate::step::{Bulk, Space, Told, Transfer, Update};
use crate::touched::{Memory, Touched, Way};

/// Bytes of a unit of a copy in bulk.
const UNIT: usize = 16;

/// What a copy goes by: two places, bytes, its object.
struct Bulky {
    shared: u64,
    /// In global memory, or the second place in shared memory.
    other: u64,
    bytes: usize,
    mbarrier: u64,
    /// The CTAs of the cluster that get it, if it is not for one.
    mask: Option<u16>,
}

impl Bulky {
    fn of(registers: &Registers, bulk: &Bulk) -> Self {
        Self {
            shared: u64::from(registers.uniform(bulk.shared)),
            other: match bulk.transfer {
                Transfer::Between => u64::from(registers.uniform(bulk.other)),
                Transfer::ToShared | Transfer::FromShared => registers.uniform_pair(bulk.other),
            },
            bytes: (registers.uniform(bulk.size) & 0xffff) as usize * UNIT,
            mask: bulk.many.then(|| (registers.uniform(bulk.size) >> 16) as u16),
            mbarrier: u64::from(registers.uniform(bulk.shared.saturating_add(1))),
        }
    }
}

/// Says which memory outside of the SM a copy touches.
pub(crate) fn touches(registers: &Registers, bulk: &Bulk, touched: &mut Touched) {
    let Bulky { other, bytes, .. } = Bulky::of(registers, bulk);
    let way = match bulk.transfer {
        Transfer::ToShared => Way::Load,
        Transfer::FromShared if bulk.update.is_some() => Way::Reduction,
        Transfer::FromShared => Way::Store,
        Transfer::Between => return,
    };
    touched.begin(way, Memory::Global, bytes as u32, 1);
    touched.addresses[0] = other;
}

/// Bytes in a row of the CTA's shared memory or another's.
fn row<T>(
    reach: &mut Reach<'_>,
    address: u64,
    bytes: usize,
    with: impl FnOnce(&mut [u8]) -> T,
) -> Result<T, FaultKind> {
    reach.shared_at(address, |shared, at| {
        let row = usize::try_from(at).ok().and_then(|at| shared.get_mut(at..)?.get_mut(..bytes));
        let row = row.ok_or(FaultKind::Address { space: "shared", address, bytes: bytes as u32 })?;
        Ok(with(row))
    })?
}

/// What elements in memory become.
pub(crate) fn combine(update: Option<&(Update, u8)>, into: &mut [u8], from: &[u8]) {
    let Some((update, size)) = update else { return into.copy_from_slice(from) };
    let size = usize::from(*size);
    let number =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |value: u128, &byte| value << 8 | u128::from(byte));
    for (into, from) in into.chunks_mut(size).zip(from.chunks(size)) {
        let new = update(number(into), number(from), 0).to_le_bytes();
        into.copy_from_slice(&new[..into.len()]);
    }
}

/// Carries out a copy; what is left to do when its bytes have come.
pub(crate) fn perform(
    registers: &Registers,
    bulk: &Bulk,
    reach: &mut Reach<'_>,
) -> Result<Vec<Completion>, FaultKind> {
    let Bulky { shared, other, bytes, mbarrier, mask } = Bulky::of(registers, bulk);
    for address in [shared, other] {
        if !address.is_multiple_of(UNIT as u64) {
            return Err(FaultKind::Misaligned { address, bytes: UNIT as u32 });
        }
    }
    let outside = |_| FaultKind::Address { space: "global", address: other, bytes: bytes as u32 };
    let mut from = vec![0; bytes];
    match bulk.transfer {
        Transfer::ToShared => {
            reach.global.read(other, &mut from).map_err(outside)?;
            for shared in in_each(shared, mask) {
                row(reach, shared, bytes, |into| combine(bulk.update.as_ref(), into, &from))?;
            }
        }
        Transfer::Between => {
            row(reach, other, bytes, |row| from.copy_from_slice(row))?;
            row(reach, shared, bytes, |into| combine(bulk.update.as_ref(), into, &from))?;
        }
        Transfer::FromShared => {
            row(reach, shared, bytes, |row| from.copy_from_slice(row))?;
            let mut into = vec![0; bytes];
            if bulk.update.is_some() {
                reach.global.read(other, &mut into).map_err(outside)?;
            }
            combine(bulk.update.as_ref(), &mut into, &from);
            reach.global.write(other, &into).map_err(outside)?;
            return Ok(Vec::new());
        }
    }
    let told = in_each(mbarrier, mask);
    Ok(told.map(|mbarrier| Completion::of(mbarrier, bytes as u64)).collect())
}

/// Stores, or updates, of lanes in shared memory whose objects are told of the bytes; whether that ended a phase.
pub(crate) fn tell(
    registers: &Registers,
    local: &mut Local,
    told: &Told,
    active: u32,
    banks: &Banks,
    reach: &mut Reach<'_>,
) -> Result<bool, FaultKind> {
    let mut has_ended = false;
    for lane in lanes(active) {
        let pair = access::place_of(registers, &told.address, lane);
        let (to, mbarrier) = (pair & u64::from(u32::MAX), pair >> 32);
        let mut new = access::datum(registers, &told.from, banks, lane)?;
        let size = usize::from(told.bytes);
        if let Some(update) = &told.update {
            let mut old = [0; 16];
            local.load(reach, Space::Shared, to, lane, &mut old[..size])?;
            new = update(u128::from_le_bytes(old), new, 0);
        }
        local.store(reach, Space::Shared, to, lane, &new.to_le_bytes()[..size])?;
        let bytes = -i64::from(told.bytes);
        let arrive = |shared: &mut [u8], at| Mbarrier::arrive(shared, at, 0, bytes, false);
        has_ended |= reach.shared_at(mbarrier, arrive)??.1;
    }
    Ok(has_ended)
}
