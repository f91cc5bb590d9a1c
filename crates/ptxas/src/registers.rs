//! How many registers a kernel may have, and that it gets along with them.

use crate::allocate::{Allocation, GENERAL, Shortage, allocate, live_across_calls};
use crate::code::{Class, Reg};
use crate::select::Selected;
use crate::spill::{Costs, Traffic, spill};
use ptx::module::LaunchBounds;
use rustc_hash::FxHashSet as HashSet;

/// The registers of an SM; a warp gets them by this many for each of its lanes.
const OF_AN_SM: u32 = 65536;
pub(crate) const GRANULE: u32 = 8;
const WARP: u32 = 32;
/// Bytes that frames are multiples of.
const FRAME: u64 = 16;
/// What a thread has beside those that its code names: NVIDIA's compiler counts two more, and with R254 a launch was refused on an H100.
pub(crate) const RESERVED: u32 = 2;
/// No kernel is held to less than this, as ptxas says of sm_90: calls need as many.
pub(crate) const LEAST: u32 = 24;

/// Warps that an SM has place for.
pub(crate) const WARPS: u32 = 64;

/// Warps that are on an SM together, if each lane has so many registers.
pub(crate) fn warps_together(registers: u32) -> u32 {
    (OF_AN_SM / (registers.max(1).next_multiple_of(GRANULE) * WARP)).min(WARPS)
}

/// The registers that a kernel may name: as it says, else as many as let the CTAs that it speaks of be there together, else what
/// the caller says. In any case no more than it is tuned for, if that is a number.
pub(crate) fn limit(bounds: &LaunchBounds, most: Option<u32>, tuned: u32) -> u32 {
    let threads =
        bounds.req_ntid.or(bounds.max_ntid).map(|axes| axes.iter().fold(1, |a: u32, &b| a.saturating_mul(b)));
    let by_launches = threads.map(|threads| {
        let warps = threads.div_ceil(WARP).max(1).saturating_mul(bounds.min_nctapersm.unwrap_or(1).max(1));
        OF_AN_SM / warps.saturating_mul(WARP) / GRANULE * GRANULE
    });
    let asked = match (bounds.max_nreg, by_launches) {
        (Some(most), _) => most,
        (None, Some(by_launches)) => by_launches,
        (None, None) => most.unwrap_or(GENERAL + RESERVED),
    };
    let tuned = if tuned == 0 { u32::MAX } else { tuned };
    asked.min(tuned).clamp(LEAST, GENERAL + RESERVED) - RESERVED
}

/// Gives a kernel its registers. No register keeps its value in a call; then, round by round, those go that are too many.
pub(crate) fn give(selected: &mut Selected, limit: u32) -> Result<(Allocation, Traffic), Shortage> {
    let mut made = HashSet::default();
    let mut traffic = Traffic::default();
    let mut to_frame = |selected: &mut Selected, victims: &HashSet<Reg>, made: &mut HashSet<Reg>| {
        let more = spill(&mut selected.code, victims, &mut selected.frames, made);
        traffic.stores += more.stores;
        traffic.loads += more.loads;
    };
    if selected.code.has_calls() {
        let victims = live_across_calls(&selected.code);
        let is_predicate = |reg: &Reg| selected.code.registers[reg.0 as usize].class == Class::Predicate;
        if victims.iter().any(is_predicate) {
            return Err(Shortage::Predicates);
        }
        to_frame(selected, &victims, &mut made);
    }
    let allocation = loop {
        let costs = Costs::new(&selected.code, &made);
        let victims = match allocate(&selected.code, limit, &|reg, range| costs.of(reg, range)) {
            Ok(allocation) => break allocation,
            Err(Shortage::General(victims)) if !victims.is_empty() => victims.into_iter().collect(),
            Err(shortage) => return Err(shortage),
        };
        to_frame(selected, &victims, &mut made);
    };
    selected.frames.iter_mut().for_each(|frame| *frame = frame.next_multiple_of(FRAME));
    Ok((allocation, traffic))
}
