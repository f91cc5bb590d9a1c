//! The memories of a thread: the device's, its CTA's, its own, and which of them an address is in.

use crate::cluster::Member;
use crate::fault::FaultKind;
use crate::mbarrier::Completion;
use crate::registers::{LANES, lanes};
use crate::step::{Scratch, Space};
use crate::touched::Memory;
use machine::memory::{Buffers, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use machine::texture::Unit;
use std::sync::MutexGuard;

/// Bytes of local memory that a thread may have; the stack begins at its end.
pub(crate) const LOCAL: u64 = 512 << 10;

/// The local memory of a warp's lanes, from its end backwards: byte `LOCAL - 1` first.
pub(crate) struct Local(Vec<Vec<u8>>);

/// The memories that all lanes of a CTA reach.
pub(crate) struct Reach<'a> {
    pub(crate) global: &'a dyn Buffers,
    pub(crate) shared: &'a mut [u8],
    pub(crate) scratch: &'a mut Scratch,
    /// Where copies are noted that are done when somebody says so; those of nobody are done at once.
    pub(crate) copies: Option<&'a mut Vec<Completion>>,
    /// The CTA's place in its cluster, if it is in one.
    pub(crate) member: Option<&'a Member>,
    pub(crate) textures: Option<&'a Unit<'a>>,
}

/// The memory of another CTA, or none, and a place there or in the CTA's own.
type Elsewhere<'m> = (Option<MutexGuard<'m, Vec<u8>>>, u64);

impl<'a> Reach<'a> {
    /// Where an address of shared memory leads in a cluster.
    fn elsewhere(&self, address: u64) -> Result<Elsewhere<'a>, FaultKind> {
        let Some(member) = self.member else { return Ok((None, address)) };
        match member.elsewhere(address)? {
            Some((memory, at)) => Ok((Some(memory), at)),
            None => Ok((None, member.own(address))),
        }
    }
}

impl Reach<'_> {
    /// Looks at shared memory where an address leads in a cluster: that of the CTA or of another, and the place there.
    pub(crate) fn shared_at<T>(
        &mut self,
        address: u64,
        with: impl FnOnce(&mut [u8], u64) -> T,
    ) -> Result<T, FaultKind> {
        let (mut elsewhere, at) = self.elsewhere(address)?;
        let shared = elsewhere.as_mut().map_or(&mut *self.shared, |memory| &mut memory[..]);
        Ok(with(shared, at))
    }
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

/// Lanes whose places are no farther apart, in bytes, are served with one look at memory.
const NEAR: usize = 1024;

/// The same for all of so many bytes, if they are in one memory that lanes have together.
fn shared_spot(space: Space, address: u64, bytes: usize, member: Option<&Member>) -> Option<Spot> {
    let last = address.checked_add(bytes as u64 - 1)?;
    match (spot(space, address), spot(space, last)) {
        (Spot::Global(at), Spot::Global(_)) => Some(Spot::Global(at)),
        (Spot::Shared(at), Spot::Shared(_)) => match member {
            None => Some(Spot::Shared(at)),
            Some(member) => member.is_own(at).then(|| Spot::Shared(member.own(at))),
        },
        _ => None,
    }
}

/// Which memory an address leads to for a CTA, and where in it.
pub(crate) fn place(space: Space, address: u64, member: Option<&Member>) -> (Memory, u64) {
    match spot(space, address) {
        Spot::Global(at) => (Memory::Global, at),
        Spot::Shared(at) => match member {
            Some(member) if !member.is_own(at) => (Memory::Cluster, at),
            Some(member) => (Memory::Shared, member.own(at)),
            None => (Memory::Shared, at),
        },
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

    /// A byte of a lane's; zero where nothing was written.
    pub(crate) fn byte(&self, lane: usize, address: u64) -> u8 {
        let from_end = LOCAL.checked_sub(address + 1);
        from_end.and_then(|at| self.0[lane].get(at as usize)).copied().unwrap_or(0)
    }

    /// Reads bytes in a row that several lanes have asked for; `false` if some are not there, or not in one memory that lanes share.
    pub(crate) fn load_row(&self, reach: &Reach<'_>, space: Space, address: u64, into: &mut [u8]) -> bool {
        match shared_spot(space, address, into.len(), reach.member) {
            Some(Spot::Global(at)) => reach.global.read(at, into).is_ok(),
            Some(Spot::Shared(at)) => {
                let from = usize::try_from(at).ok().and_then(|at| reach.shared.get(at..)?.get(..into.len()));
                from.map(|from| into.copy_from_slice(from)).is_some()
            }
            Some(Spot::Local(_)) | None => false,
        }
    }

    /// Reads what lanes ask for, so many bytes each, if all of it lies near and is there.
    pub(crate) fn load_near(
        &self,
        reach: &Reach<'_>,
        space: Space,
        places: &[u64; LANES],
        bytes: usize,
        active: u32,
        into: &mut [u8],
    ) -> bool {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for lane in lanes(active) {
            (low, high, bits) = (low.min(places[lane]), high.max(places[lane]), bits | places[lane]);
        }
        let length = high.saturating_sub(low).min(u64::from(u32::MAX)) as usize + bytes;
        let is_aligned = bits.is_multiple_of(bytes as u64);
        let mut copy = [0; NEAR];
        let near: &[u8] = match shared_spot(space, low, length, reach.member) {
            Some(Spot::Shared(at)) if is_aligned => {
                let found = usize::try_from(at).ok().and_then(|at| reach.shared.get(at..)?.get(..length));
                let Some(found) = found else { return false };
                found
            }
            Some(Spot::Global(at)) if is_aligned && length <= NEAR => {
                if reach.global.read(at, &mut copy[..length]).is_err() {
                    return false;
                }
                &copy
            }
            Some(Spot::Shared(_) | Spot::Global(_) | Spot::Local(_)) | None => return false,
        };
        for lane in lanes(active) {
            let from = &near[(places[lane] - low) as usize..][..bytes];
            into[lane * bytes..][..bytes].copy_from_slice(from);
        }
        true
    }

    /// Writes bytes in a row that several lanes have stored; `false`, and nothing written, where [`Local::load_row`] would say so.
    pub(crate) fn store_row(
        &mut self,
        reach: &mut Reach<'_>,
        space: Space,
        address: u64,
        from: &[u8],
    ) -> bool {
        match shared_spot(space, address, from.len(), reach.member) {
            Some(Spot::Global(at)) => reach.global.write(at, from).is_ok(),
            Some(Spot::Shared(at)) => {
                let start = usize::try_from(at).ok();
                let into = start.and_then(|at| reach.shared.get_mut(at..)?.get_mut(..from.len()));
                into.map(|into| into.copy_from_slice(from)).is_some()
            }
            Some(Spot::Local(_)) | None => false,
        }
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
                let (elsewhere, at) = reach.elsewhere(at)?;
                let shared = elsewhere.as_ref().map_or(&*reach.shared, |memory| &memory[..]);
                let from = usize::try_from(at).ok().and_then(|at| shared.get(at..)?.get(..into.len()));
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
                let (mut elsewhere, at) = reach.elsewhere(at)?;
                let shared = elsewhere.as_mut().map_or(&mut *reach.shared, |memory| &mut memory[..]);
                let start = usize::try_from(at).ok();
                let into = start.and_then(|at| shared.get_mut(at..)?.get_mut(..from.len()));
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
