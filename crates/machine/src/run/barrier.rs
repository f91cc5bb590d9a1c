//! CTA barriers: bar and barrier, .sync, .arrive and .red (PTX ISA, "Parallel Synchronization and Communication").
//!
//! A barrier counts warps, 32 threads each: a warp counts when all of its lanes that have not exited have arrived. With
//! a thread count the barrier completes when that many threads have; without, when every warp with a living lane has.

use super::pack::{Frame, Group, Pack, Wait};
use crate::exec::{Grid, LaneTrap};
use crate::fault::Trap;
use crate::lanes::{EMPTY, LANES, Mask};
use crate::observe::{Happening, Lanes};
use crate::program::{BarrierKind, BarrierSite, Image, Reduction, Value};

/// Barriers of a CTA.
pub(crate) const BARRIERS: usize = 16;

/// One of a CTA's barriers.
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    /// Lanes that wait, a word a warp of the CTA.
    waiting: Vec<u32>,
    /// Lanes that arrived without waiting, until their warp is complete.
    arriving: Vec<u32>,
    /// Warps counted through `.arrive`.
    arrived_warps: u32,
    /// The thread count that the first arrival named; `None` while nobody has arrived.
    threads: Option<Option<u32>>,
    /// Threads whose `.red` predicate held.
    held: u32,
    /// Threads that took part in a `.red`.
    voted: u32,
}

/// A warp's part in an arrival.
struct Arrival {
    barrier: usize,
    threads: Option<u32>,
}

impl Barrier {
    pub(crate) fn new(warps: usize) -> Self {
        Self {
            waiting: vec![0; warps],
            arriving: vec![0; warps],
            arrived_warps: 0,
            threads: None,
            held: 0,
            voted: 0,
        }
    }

    /// Whether the barrier is complete, given the living lanes of every warp of the CTA.
    fn is_complete(&mut self, live: &[u32]) -> bool {
        for (arriving, &live) in self.arriving.iter_mut().zip(live) {
            if *arriving != 0 && *arriving & live == live {
                *arriving = 0;
                self.arrived_warps += 1;
            }
        }
        let Some(threads) = self.threads else { return false };
        let whole =
            self.waiting.iter().zip(live).filter(|&(&waiting, &live)| live != 0 && waiting & live == live);
        let complete = whole.count() as u32 + self.arrived_warps;
        let needed = match threads {
            Some(threads) => threads / LANES as u32,
            None => live.iter().filter(|&&l| l != 0).count() as u32,
        };
        complete >= needed
    }

    fn reduction(&self, op: Reduction) -> u32 {
        match op {
            Reduction::Popc => self.held,
            Reduction::And => u32::from(self.held == self.voted),
            Reduction::Or => u32::from(self.held != 0),
        }
    }
}

fn read(frame: &Frame, value: Value, warp: usize, lane: usize) -> u32 {
    match value {
        Value::Scalar(index) => frame.files.s[index as usize] as u32,
        Value::Plane(index) => frame.files.w[index as usize + warp].0[lane],
    }
}

/// What a warp of a group asks of a barrier, or why that is not allowed.
fn arrival(frame: &Frame, site: &BarrierSite, warp: usize, mask: u32) -> Result<Arrival, String> {
    let lane = mask.trailing_zeros() as usize;
    let barrier = read(frame, site.barrier, warp, lane);
    if barrier as usize >= BARRIERS {
        return Err(format!("barrier {barrier}; a CTA has barriers 0 to 15"));
    }
    let threads = site.threads.map(|value| read(frame, value, warp, lane));
    match threads {
        Some(n) if n == 0 || n % LANES as u32 != 0 => {
            Err(format!("a count of {n} threads, which is not a positive multiple of 32"))
        }
        _ => Ok(Arrival { barrier: barrier as usize, threads }),
    }
}

/// Counts the groups of a pack that have arrived since the last count.
pub(crate) fn count_arrivals(
    pack: &mut Pack,
    barriers: &mut [Barrier],
    Grid { image, observer, .. }: &Grid<'_>,
) -> Result<(), (LaneTrap, u32)> {
    for group in std::mem::take(&mut pack.arrivals) {
        let Wait::Barrier { site: index, .. } = group.wait else { continue };
        let site = &image.barriers[index];
        let mut parts = [EMPTY; BARRIERS];
        for warp in (0..image.warps).filter(|&w| group.mask[w] != 0) {
            let mask = group.mask[warp];
            let fault = |why| {
                let lane = Some((warp, mask.trailing_zeros() as usize));
                (LaneTrap { trap: Trap::InvalidBarrier(why), lane }, group.pc - 1)
            };
            let frame = &pack.frames[group.frame];
            let Arrival { barrier: number, threads } = arrival(frame, site, warp, mask).map_err(fault)?;
            let barrier = &mut barriers[number];
            match barrier.threads {
                Some(first) if first != threads => {
                    let count = |n: Option<u32>| n.map_or("all".to_owned(), |n| n.to_string());
                    let (now, first) = (count(threads), count(first));
                    return Err(fault(format!(
                        "barrier {number} counts {now} threads here, but {first} where others wait"
                    )));
                }
                _ => barrier.threads = Some(threads),
            }
            let cta_warp = pack.threads.first_warp as usize + warp;
            let side = match site.kind {
                BarrierKind::Arrive => &mut barrier.arriving,
                BarrierKind::Sync | BarrierKind::Reduce { .. } => &mut barrier.waiting,
            };
            side[cta_warp] |= mask;
            if let Some(observer) = observer {
                let origin = image.origins[group.pc as usize - 1];
                observer.happening(&Happening::BarrierArrived {
                    lanes: Lanes {
                        block: pack.threads.ctaid,
                        warp: cta_warp as u32,
                        mask,
                        place: (origin.function, origin.instruction),
                    },
                    number,
                    waits: site.kind != BarrierKind::Arrive,
                    threads,
                    live: pack.threads.live[warp],
                });
            }
            if let BarrierKind::Reduce { predicate, negated, .. } = site.kind {
                let p = frame.files.p[predicate as usize + warp] ^ if negated { !0 } else { 0 };
                barrier.held += (p & mask).count_ones();
                barrier.voted += mask.count_ones();
            }
            parts[number][warp] = mask;
        }
        for (number, &mask) in parts.iter().enumerate().filter(|(_, m)| **m != EMPTY) {
            let wait = match site.kind {
                BarrierKind::Arrive => Wait::Ready,
                BarrierKind::Sync | BarrierKind::Reduce { .. } => Wait::Barrier { number, site: index },
            };
            pack.groups.push(Group { mask, wait, ..group.clone() });
        }
    }
    Ok(())
}

/// Releases every complete barrier. Returns whether there was one.
pub(crate) fn release_complete(packs: &mut [Pack], barriers: &mut [Barrier], grid: &Grid<'_>) -> bool {
    let live = living(packs);
    let mut any = false;
    for (number, barrier) in barriers.iter_mut().enumerate() {
        if barrier.threads.is_none() || !barrier.is_complete(&live) {
            continue;
        }
        any = true;
        if let (Some(observer), [pack, ..]) = (grid.observer, &*packs) {
            observer.happening(&Happening::BarrierCompleted { block: pack.threads.ctaid, number });
        }
        for pack in packs.iter_mut() {
            release(pack, number, barrier, grid.image);
        }
        *barrier = Barrier::new(barrier.waiting.len());
    }
    any
}

fn release(pack: &mut Pack, number: usize, barrier: &Barrier, image: &Image) {
    let mut woken = Vec::new();
    for group in &mut pack.groups {
        if let Wait::Barrier { number: n, site } = group.wait
            && n == number
        {
            group.wait = Wait::Ready;
            woken.push((group.clone(), image.barriers[site].kind));
        }
    }
    for (group, kind) in &woken {
        if let BarrierKind::Reduce { op, .. } = *kind {
            pack.store_reduction(group, *kind, barrier.reduction(op));
        }
    }
    if woken.len() > 1 {
        pack.coalesce();
    }
}

/// The living lanes of every warp of the CTA.
fn living(packs: &[Pack]) -> Vec<u32> {
    let mut live = Vec::new();
    for pack in packs {
        let mask: Mask = pack.threads.live;
        live.extend_from_slice(&mask[..pack.threads.warps]);
    }
    live
}

/// The trap of threads that wait at a barrier that nobody can complete.
pub(crate) fn never_complete(packs: &[Pack], barriers: &[Barrier]) -> Option<(usize, LaneTrap, u32)> {
    let live: u32 = living(packs).iter().map(|m| m.count_ones()).sum();
    packs.iter().enumerate().find_map(|(index, pack)| {
        let group = pack.groups.iter().find(|g| matches!(g.wait, Wait::Barrier { .. }))?;
        let Wait::Barrier { number, .. } = group.wait else { return None };
        let waiting: u32 = barriers[number].waiting.iter().map(|m| m.count_ones()).sum();
        let expected = barriers[number].threads.flatten().map_or("all".to_owned(), |n| n.to_string());
        let why = format!(
            "barrier {number} waits for {expected} threads, but only {waiting} of {live} can ever arrive"
        );
        let lane = crate::exec::lanes_of(group.mask).next();
        Some((index, LaneTrap { trap: Trap::InvalidBarrier(why), lane }, group.pc - 1))
    })
}
