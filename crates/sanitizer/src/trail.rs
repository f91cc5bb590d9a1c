//! What threads did to synchronise, step by step, for the litmus tests that reports come with. Nothing is recorded unless
//! it is asked for ([`crate::Checks`]).
//!
//! A step is of the time at which it was made, which goes on with releases, fences and barriers. So it is known which of these
//! came behind a weak access of the thread; of a relaxed access it may not be, which orders nothing by itself.

use crate::clock::Time;
use crate::site::SiteId;
use machine::fault::Access;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A strong access of a location.
    Access { key: u64, access: Access },
    /// A fence.
    Fence,
    /// It came to a barrier of its CTA.
    Barrier(usize),
}

/// A step with its instruction and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) step: Step,
    pub(crate) site: SiteId,
    pub(crate) time: Time,
    lanes: u32,
}

/// The last steps of all warps, by CTA and warp.
#[derive(Debug, Default)]
pub(crate) struct Trails(FxHashMap<(u32, u16), VecDeque<Record>>);

/// Steps of a warp that are remembered.
const STEPS: usize = 256;

impl Trails {
    /// Lanes of a warp do something.
    pub(crate) fn record(
        &mut self,
        (cta, warp, lanes): (u32, u16, u32),
        site: SiteId,
        step: Step,
        time: Time,
    ) {
        let steps = self.0.entry((cta, warp)).or_default();
        if steps.len() == STEPS {
            steps.pop_front();
        }
        steps.push_back(Record { step, site, time, lanes });
    }

    /// Whether others than two threads have stored to a location since a time: who reads it then need not have read what these wrote.
    pub(crate) fn stored(&self, key: u64, since: Time, but: [(u32, u16, u32); 2]) -> bool {
        let is_store = |record: &Record| record.step == Step::Access { key, access: Access::Store };
        self.0.iter().any(|(&(cta, warp), steps)| {
            let own = but.iter().filter(|thread| (thread.0, thread.1) == (cta, warp));
            let others = !own.fold(0, |lanes, thread| lanes | 1 << thread.2);
            steps.iter().any(|record| is_store(record) && record.time >= since && record.lanes & others != 0)
        })
    }

    /// What a thread has done since a time, in order.
    pub(crate) fn since(&self, (cta, warp, lane): (u32, u16, u32), time: Time) -> Vec<Record> {
        let steps = self.0.get(&(cta, warp)).into_iter().flatten();
        steps.filter(|record| record.lanes >> lane & 1 != 0 && record.time >= time).copied().collect()
    }
}
