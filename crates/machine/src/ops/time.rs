//! Time: what `%clock` counts, and `nanosleep` (PTX ISA, "Special Registers", "nanosleep").
//!
//! With [`Time::Host`] a clock goes as the device's would while the host's time passes, and who sleeps waits for it; so
//! a program that spins on `clock()`, or sleeps, takes about as long as on a GPU, and its events measure it. With
//! [`Time::Counted`] the clock counts the warp instructions of a pack, and what it slept: the same in each run. Nobody
//! waits then, and who only looks at the clock again and again is moved ahead.

use super::{Op, event};
use crate::exec::{Awaited, Exec};
use crate::lanes::LANES;
use crate::lanes::simd::Baseline;
use std::time::Duration;

/// What clocks and sleeps go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Instructions; a run is repeated exactly.
    #[default]
    Counted,
    /// The host's time.
    Host,
}

/// The longest sleep, as on an H200.
const LONGEST: u64 = 1_000_000;

/// Nanoseconds that are over before others had a turn: no use in waiting for them.
const SHORT: u64 = 10_000;

/// How long the host sleeps at a time when no thread of a cluster can move; then other clusters have a turn.
const NAP: Duration = Duration::from_micros(50);

/// Reads of the clock at one place, this close to one another in warp instructions, after which a loop is taken to do
/// nothing else.
const READS: u32 = 16;
const CLOSE: u64 = 512;

/// How far the clock of such a loop goes ahead with each read, in cycles.
const AHEAD: u64 = 1 << 14;

/// What a pack has seen of its clock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// Cycles that passed besides its instructions, if instructions are counted.
    passed: u64,
    /// Where and when it was read last, and how often it was so before.
    read: (u32, u64),
    again: u32,
}

impl Clock {
    /// Notes a read. Returns whether a loop does nothing else.
    fn spins(&mut self, pc: u32, issued: u64) -> bool {
        let (place, before) = std::mem::replace(&mut self.read, (pc, issued));
        self.again = if place == pc && issued - before < CLOSE { self.again + 1 } else { 0 };
        self.again >= READS
    }
}

fn cycles(x: &Exec<'_>, nanoseconds: u64) -> u64 {
    (u128::from(nanoseconds) * u128::from(x.grid.clock_khz) / 1_000_000) as u64
}

/// Nanoseconds since the launch: kernels only ever take differences.
pub(crate) fn elapsed(x: &Exec<'_>) -> u64 {
    x.grid.started.elapsed().as_nanos() as u64
}

/// `%clock64`.
pub(crate) fn clock(x: &Exec<'_>) -> u64 {
    match x.grid.time {
        Time::Counted => x.issued + x.threads.clock.passed,
        Time::Host => cycles(x, elapsed(x)),
    }
}

/// Behind a read of the clock.
pub(crate) fn clock_was_read(x: &mut Exec<'_>, _: &Op, pc: u32) -> u32 {
    if x.threads.clock.spins(pc, x.issued) {
        match x.grid.time {
            // Who waits for others too must not run out of time before they had theirs.
            Time::Counted if x.communicated => {}
            Time::Counted => x.threads.clock.passed += AHEAD,
            Time::Host => {
                x.communicated = true;
                x.fuel = -1;
            }
        }
    }
    pc + 1
}

/// `nanosleep`, first half: plane `d` gets the time at which lanes go on, plane `a` has the nanoseconds that they sleep.
pub(crate) fn begin_sleep(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    let now = elapsed(x);
    let mut longest = 0;
    for warp in 0..x.warps {
        let wanted = x.files.w[op.a as usize + warp].0.map(|time| u64::from(time).min(LONGEST));
        let mask = x.mask[warp];
        longest =
            (0..LANES).filter(|l| mask >> l & 1 != 0).fold(longest, |longest, l| longest.max(wanted[l]));
        let until = wanted.map(|time| if time < SHORT { 0 } else { now + time });
        x.store_plane::<Baseline, u64>(op.d, warp, until);
    }
    if x.grid.time == Time::Counted {
        x.threads.clock.passed += cycles(x, longest);
    }
    pc + 1
}

/// Second half: waits until the time in plane `a` has come.
pub(crate) fn sleep(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    let until = x.active_lanes().map(|(warp, lane)| x.files.d[op.a as usize + warp].0[lane]).max();
    let until = until.unwrap_or(0);
    let rest = until.saturating_sub(elapsed(x));
    if x.grid.time == Time::Counted || rest == 0 {
        return pc + 1;
    }
    if x.expired {
        std::thread::sleep(NAP.min(Duration::from_nanos(rest)));
    }
    x.awaited = Some(Awaited::Time { until });
    event::WAIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_loop_around_the_clock_spins() {
        let mut clock = Clock::default();
        assert!(!(0..100).any(|i| clock.spins(7, i * 1000)), "there is work between the reads");
        assert!(
            !(0..100).any(|i| clock.spins(i % 2, 100_000 + u64::from(i))),
            "two places are no loop around one"
        );
        assert_eq!((1..100).find(|&i| clock.spins(7, 200_000 + i * 5)), Some(u64::from(READS) + 1));
    }
}
