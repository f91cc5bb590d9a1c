//! Memory that is watched: what it was, who may have changed it, and who accesses it.

use crate::engine::{Issued, Reason};
use crate::plan::{Owner, Watch};
use machine::inspect::State;
use machine::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, SpaceKind};
use machine::observe::PackAccess;
use std::collections::HashMap;

/// See the module. All of it by the number of the watchpoint.
#[derive(Default)]
pub(crate) struct Watched {
    values: HashMap<u32, Vec<u8>>,
    /// The last instruction that was issued of those that reach the memory.
    writers: HashMap<u32, Issued>,
}

impl Watched {
    /// Other memory is watched from now on.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }

    /// Reads memory, as threads see it after an instruction.
    pub(crate) fn note(&mut self, watches: &[Watch], look: &dyn State, last: Option<Issued>) {
        for (watch, last) in watches.iter().zip(last.into_iter().cycle()) {
            if let Some(now) = value(watch, look, &last) {
                self.values.insert(watch.number, now);
            }
        }
    }

    /// Whether memory has another value than before.
    pub(crate) fn changed(&mut self, watch: &Watch, new: Vec<u8>) -> Option<Reason> {
        let old = self.values.insert(watch.number, new.clone())?;
        let by = self.writers.get(&watch.number).copied().filter(|by| watch.reaches(by));
        (old != new).then_some(Reason::Changed { number: watch.number, old, new, by })
    }

    /// An instruction is issued now.
    pub(crate) fn issued(&mut self, watches: &[Watch], issued: Issued) {
        for watch in watches.iter().filter(|watch| watch.reaches(&issued)) {
            self.writers.insert(watch.number, issued);
        }
    }
}

impl Watch {
    /// Whether an instruction can reach the memory.
    fn reaches(&self, issued: &Issued) -> bool {
        self.of.is_none_or(|Owner { grid, block, thread }| {
            (grid, block) == (issued.grid, issued.block) && thread.is_none_or(|(warp, _)| warp == issued.warp)
        })
    }
}

/// The bytes of watched memory, if the threads at an instruction have it.
pub(crate) fn value(watch: &Watch, look: &dyn State, at: &Issued) -> Option<Vec<u8>> {
    let mut bytes = vec![0; watch.bytes];
    let (warp, lane) = watch.of.and_then(|of| of.thread).unwrap_or((at.warp, 0));
    (watch.reaches(at) && look.read(warp, lane, watch.address, &mut bytes)).then_some(bytes)
}

/// The lanes of an access that reach watched memory.
pub(crate) fn accessing(watch: &Watch, access: &PackAccess<'_>, at: &Issued, first_warp: u32) -> u32 {
    if !watch.reaches(at) {
        return 0;
    }
    let window = match access.space {
        SpaceKind::Global | SpaceKind::Generic => 0,
        SpaceKind::Shared | SpaceKind::Cluster => SHARED_WINDOW,
        SpaceKind::Local => LOCAL_WINDOW,
        SpaceKind::Param => PARAM_WINDOW,
    };
    let addresses = access.addresses.lanes((at.warp - first_warp) as usize);
    let own = watch.of.and_then(|of| of.thread).map_or(!0, |(_, lane)| 1 << lane);
    let overlaps = |lane: &usize| {
        let first = window.wrapping_add(addresses[*lane]);
        first < watch.address.saturating_add(watch.bytes as u64)
            && watch.address < first.saturating_add(access.bytes.into())
    };
    (0..32)
        .filter(|lane| (at.mask & own) >> lane & 1 != 0)
        .filter(overlaps)
        .fold(0, |lanes, lane| lanes | 1 << lane)
}

/// The position of who has changed watched memory.
pub(crate) fn writer_of(reason: &Reason) -> Option<u64> {
    match reason {
        Reason::Changed { by: Some(by), .. } => Some(by.position),
        _ => None,
    }
}
