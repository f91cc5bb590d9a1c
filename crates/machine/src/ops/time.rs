//! Time: what `%clock` counts, and `nanosleep` (PTX ISA, "Special Registers", "nanosleep").
//!
//! With [`Time::Host`] a clock goes as the device's would while the host's time passes, and who sleeps waits for it; so
//! a program that spins on `clock()`, or sleeps, takes about as long as on a GPU, and its events measure it. With
//! [`Time::Counted`] the clock counts the warp instructions of a pack, and what it slept: the same in each run. Nobody
//! waits then, and who only looks at the clock again and again is moved ahead.

use crate::exec::{Awaited, Exec, event};
use crate::lanes::LANES;
use crate::lanes::simd::Baseline;
use crate::operation::kinds::{BeginSleep, ClockRead, Sleep};
use crate::time::Time;
use std::time::Duration;

/// The longest sleep, as on an H200.
const LONGEST: u64 = 1_000_000;

/// Nanoseconds that are over before others had a turn: no use in waiting for them.
const SHORT: u64 = 10_000;

/// How long the host sleeps at a time when no thread of a cluster can move; then other clusters have a turn.
const NAP: Duration = Duration::from_micros(50);

/// How far the clock of a loop goes ahead with each read that does nothing but read it, in cycles.
const AHEAD: u64 = 1 << 14;

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
pub(crate) fn clock_was_read(x: &mut Exec<'_>, _: &ClockRead, pc: u32) -> u32 {
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

/// `nanosleep`, first half, for so many nanoseconds.
pub(crate) fn begin_sleep(x: &mut Exec<'_>, op: &BeginSleep, pc: u32) -> u32 {
    x.communicated = true;
    let now = elapsed(x);
    let mut longest = 0;
    for warp in 0..x.warps {
        let wanted = x.files.w[op.a.index() + warp].0.map(|time| u64::from(time).min(LONGEST));
        let mask = x.mask[warp];
        longest =
            (0..LANES).filter(|l| mask >> l & 1 != 0).fold(longest, |longest, l| longest.max(wanted[l]));
        let until = wanted.map(|time| if time < SHORT { 0 } else { now + time });
        x.store_plane::<Baseline, u64>(op.until, warp, until);
    }
    if x.grid.time == Time::Counted {
        x.threads.clock.passed += cycles(x, longest);
    }
    pc + 1
}

/// Second half: waits until the time has come.
pub(crate) fn sleep(x: &mut Exec<'_>, op: &Sleep, pc: u32) -> u32 {
    x.communicated = true;
    let until = x.active_lanes().map(|(warp, lane)| x.files.d[op.until.index() + warp].0[lane]).max();
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
