//! The memories of a thread: the device's, its CTA's, its own, and which of them an address is in.

use crate::fault::FaultKind;
use crate::registers::LANES;
use crate::step::Space;
use crate::touched::Memory;
use machine::memory::{Buffers, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE};

/// Bytes of local memory that a thread may have; the stack begins at its end.
pub(crate) const LOCAL: u64 = 512 << 10;

/// The local memory of a warp's lanes, from its end backwards: byte `LOCAL - 1` first.
pub(crate) struct Local(Vec<Vec<u8>>);

/// The memories that all lanes of a CTA reach.
pub(crate) struct Reach<'a> {
    pub(crate) global: &'a dyn Buffers,
    pub(crate) shared: &'a mut [u8],
}

/// A place in one of them.
enum Spot {
    Global(u64),
    Shared(u64),
    Local(u64),
}

fn spot(space: Space, address: u64) -> Spot {
    let within = |window: u64| (window..window + WINDOW_SIZE).contains(&address);
    match space {
        Space::Shared => Spot::Shared(address),
        Space::Local => Spot::Local(address),
        Space::Generic if within(SHARED_WINDOW) => Spot::Shared(address - SHARED_WINDOW),
        Space::Generic if within(LOCAL_WINDOW) => Spot::Local(address - LOCAL_WINDOW),
        Space::Generic | Space::Global => Spot::Global(address),
    }
}

/// Which memory an address leads to, and where in it.
pub(crate) fn place(space: Space, address: u64) -> (Memory, u64) {
    match spot(space, address) {
        Spot::Global(at) => (Memory::Global, at),
        Spot::Shared(at) => (Memory::Shared, at),
        Spot::Local(at) => (Memory::Local, at),
    }
}

/// Whether a generic address is in a space.
pub(crate) fn is_in(space: Space, address: u64) -> bool {
    matches!(
        (space, spot(Space::Generic, address)),
        (Space::Shared, Spot::Shared(_)) | (Space::Local, Spot::Local(_)) | (Space::Global, Spot::Global(_))
    )
}

fn outside(space: &'static str, address: u64, bytes: usize) -> FaultKind {
    FaultKind::Address { space, address, bytes: bytes as u32 }
}

fn aligned(address: u64, bytes: usize) -> Result<(), FaultKind> {
    if address.is_multiple_of(bytes as u64) {
        return Ok(());
    }
    Err(FaultKind::Misaligned { address, bytes: bytes as u32 })
}

impl Local {
    pub(crate) fn new() -> Self {
        Self(vec![Vec::new(); LANES])
    }

    /// Reads memory for a lane.
    pub(crate) fn load(
        &self,
        reach: &Reach<'_>,
        space: Space,
        address: u64,
        lane: usize,
        into: &mut [u8],
    ) -> Result<(), FaultKind> {
        aligned(address, into.len())?;
        match spot(space, address) {
            Spot::Global(at) => reach.global.read(at, into).map_err(|_| outside("global", at, into.len())),
            Spot::Shared(at) => {
                let from = usize::try_from(at).ok().and_then(|at| reach.shared.get(at..)?.get(..into.len()));
                into.copy_from_slice(from.ok_or_else(|| outside("shared", at, into.len()))?);
                Ok(())
            }
            Spot::Local(at) => {
                let end = LOCAL.checked_sub(at).ok_or_else(|| outside("local", at, into.len()))?;
                if end < into.len() as u64 {
                    return Err(outside("local", at, into.len()));
                }
                for (byte, place) in into.iter_mut().zip((0..end as usize).rev()) {
                    *byte = self.0[lane].get(place).copied().unwrap_or(0);
                }
                Ok(())
            }
        }
    }

    /// Writes memory for a lane.
    pub(crate) fn store(
        &mut self,
        reach: &mut Reach<'_>,
        space: Space,
        address: u64,
        lane: usize,
        from: &[u8],
    ) -> Result<(), FaultKind> {
        aligned(address, from.len())?;
        match spot(space, address) {
            Spot::Global(at) => reach.global.write(at, from).map_err(|_| outside("global", at, from.len())),
            Spot::Shared(at) => {
                let start = usize::try_from(at).ok();
                let into = start.and_then(|at| reach.shared.get_mut(at..)?.get_mut(..from.len()));
                into.ok_or_else(|| outside("shared", at, from.len()))?.copy_from_slice(from);
                Ok(())
            }
            Spot::Local(at) => {
                let end = LOCAL.checked_sub(at).ok_or_else(|| outside("local", at, from.len()))?;
                if end < from.len() as u64 {
                    return Err(outside("local", at, from.len()));
                }
                let memory = &mut self.0[lane];
                if memory.len() < end as usize {
                    memory.resize(end as usize, 0);
                }
                for (byte, place) in from.iter().zip((0..end as usize).rev()) {
                    memory[place] = *byte;
                }
                Ok(())
            }
        }
    }
}
