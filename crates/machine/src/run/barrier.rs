//! CTA barriers: bar and barrier, .sync, .arrive and .red (PTX ISA, "Parallel Synchronization and Communication").
//!
//! A barrier counts warps, 32 threads each: a warp counts when all of its lanes that have not exited have arrived. With
//! a thread count the barrier completes when that many threads have; without, when every warp with a living lane has.

use super::pack::{Group, Pack, Wait};
use crate::exec::{Grid, LaneTrap};
use crate::fault::Trap;
use crate::image::Image;
use crate::image::control::{BarrierKind, BarrierSite, Reduction};
use crate::lanes::{EMPTY, Files, LANES};
use crate::observe::{Happening, Lanes};
use crate::ops::barrier::{BARRIERS, store_reduction, votes};

/// The barriers of a CTA.
#[derive(Debug, Default)]
pub(crate) struct Barriers([Barrier; BARRIERS]);

/// One of them.
#[derive(Debug, Default)]
struct Barrier {
    /// Lanes that wait, a word a warp of the CTA. No words while nobody has ever arrived.
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
    /// Somebody arrives, of a CTA of so many warps.
    fn open(&mut self, threads: Option<u32>, warps: usize) {
        if self.threads.is_none() {
            self.threads = Some(threads);
            self.waiting.resize(warps, 0);
            self.arriving.resize(warps, 0);
        }
    }

    /// Nobody has arrived.
    fn clear(&mut self) {
        self.waiting.fill(0);
        self.arriving.fill(0);
        (self.arrived_warps, self.threads) = (0, None);
        (self.held, self.voted) = (0, 0);
    }

    /// Whether the barrier is complete, given the living lanes of every warp of the CTA.
    fn is_complete(&mut self, live: impl Iterator<Item = u32> + Clone) -> bool {
        let Some(threads) = self.threads else { return false };
        for (arriving, live) in self.arriving.iter_mut().zip(live.clone()) {
            if *arriving != 0 && *arriving & live == live {
                *arriving = 0;
                self.arrived_warps += 1;
            }
        }
        let whole = self
            .waiting
            .iter()
            .zip(live.clone())
            .filter(|&(&waiting, live)| live != 0 && waiting & live == live);
        let complete = whole.count() as u32 + self.arrived_warps;
        let needed = match threads {
            Some(threads) => threads / LANES as u32,
            None => live.filter(|&l| l != 0).count() as u32,
        };
        complete >= needed
    }

    fn result(&self, op: Reduction) -> u32 {
        op.result(self.held, self.voted)
    }
}

/// What a warp of a group asks of a barrier, or why that is not allowed.
fn arrival(files: &Files, site: &BarrierSite, warp: usize, mask: u32) -> Result<Arrival, String> {
    let lane = mask.trailing_zeros() as usize;
    let barrier = files.read(site.barrier, warp, lane) as u32;
    if barrier as usize >= BARRIERS {
        return Err(format!("barrier {barrier}; a CTA has barriers 0 to 15"));
    }
    let threads = site.threads.map(|threads| files.read(threads, warp, lane) as u32);
    match threads {
        Some(n) if n == 0 || n % LANES as u32 != 0 => {
            Err(format!("a count of {n} threads, which is not a positive multiple of 32"))
        }
        _ => Ok(Arrival { barrier: barrier as usize, threads }),
    }
}

impl Barriers {
    /// Nobody has arrived at any.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().filter(|barrier| barrier.threads.is_some()).for_each(Barrier::clear);
    }

    /// Counts the groups of a pack that have arrived since the last count.
    pub(super) fn count_arrivals(&mut self, pack: &mut Pack, grid: &Grid<'_>) -> Result<(), (LaneTrap, u32)> {
        let mut arrivals = std::mem::take(&mut pack.arrivals);
        let counted = arrivals.drain(..).try_for_each(|group| self.count(pack, &group, grid));
        pack.arrivals = arrivals;
        counted
    }

    /// Counts a group.
    fn count(&mut self, pack: &mut Pack, group: &Group, grid: &Grid<'_>) -> Result<(), (LaneTrap, u32)> {
        let Wait::Barrier { site: index, .. } = group.wait else { return Ok(()) };
        let image = grid.image;
        let site = image.site(index);
        let mut parts = [EMPTY; BARRIERS];
        for warp in (0..image.warps).filter(|&w| group.mask[w] != 0) {
            let mask = group.mask[warp];
            let fault = |why| {
                let lane = Some((warp, mask.trailing_zeros() as usize));
                (LaneTrap { trap: Trap::InvalidBarrier(why), lane }, group.pc - 1)
            };
            let files = &pack.frames[group.frame].files;
            let Arrival { barrier: number, threads } = arrival(files, site, warp, mask).map_err(fault)?;
            let barrier = &mut self.0[number];
            barrier.open(threads, grid.warps());
            if let Some(first) = barrier.threads.filter(|&first| first != threads) {
                let count = |n: Option<u32>| n.map_or("all".to_owned(), |n| n.to_string());
                let (now, first) = (count(threads), count(first));
                return Err(fault(format!(
                    "barrier {number} counts {now} threads here, but {first} where others wait"
                )));
            }
            let cta_warp = pack.threads.first_warp as usize + warp;
            let side = match site.kind {
                BarrierKind::Arrive => &mut barrier.arriving,
                BarrierKind::Sync | BarrierKind::Reduce { .. } => &mut barrier.waiting,
            };
            side[cta_warp] |= mask;
            if let Some(observer) = grid.observer {
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
            parts[number][warp] = mask;
        }
        for (number, &mask) in parts.iter().enumerate().filter(|(_, m)| **m != EMPTY) {
            let (held, voted) = votes(&pack.frames[group.frame].files, site.kind, &mask);
            self.0[number].held += held;
            self.0[number].voted += voted;
            let wait = match site.kind {
                BarrierKind::Arrive => Wait::Ready,
                BarrierKind::Sync | BarrierKind::Reduce { .. } => Wait::Barrier { number, site: index },
            };
            pack.groups.push(Group { mask, wait, ..group.clone() });
        }
        Ok(())
    }

    /// Releases every complete barrier. Returns whether there was one.
    pub(super) fn release_complete(&mut self, packs: &mut [Pack], grid: &Grid<'_>) -> bool {
        let mut any = false;
        for (number, barrier) in self.0.iter_mut().enumerate() {
            if !barrier.is_complete(living(packs)) {
                continue;
            }
            any = true;
            if let (Some(observer), [pack, ..]) = (grid.observer, &*packs) {
                observer.happening(&Happening::BarrierCompleted { block: pack.threads.ctaid, number });
            }
            for pack in packs.iter_mut() {
                release(pack, number, barrier, grid.image);
            }
            barrier.clear();
        }
        any
    }

    /// The trap of threads that wait at a barrier that nobody can complete.
    pub(super) fn never_complete(&self, packs: &[Pack]) -> Option<(usize, LaneTrap, u32)> {
        let live: u32 = living(packs).map(u32::count_ones).sum();
        packs.iter().enumerate().find_map(|(index, pack)| {
            let group = pack.groups.iter().find(|g| matches!(g.wait, Wait::Barrier { .. }))?;
            let Wait::Barrier { number, .. } = group.wait else { return None };
            let barrier = &self.0[number];
            let waiting: u32 = barrier.waiting.iter().map(|m| m.count_ones()).sum();
            let expected = barrier.threads.flatten().map_or("all".to_owned(), |n| n.to_string());
            let why = format!(
                "barrier {number} waits for {expected} threads, but only {waiting} of {live} can ever arrive"
            );
            let lane = crate::exec::lanes_of(group.mask).next();
            Some((index, LaneTrap { trap: Trap::InvalidBarrier(why), lane }, group.pc - 1))
        })
    }
}

fn release(pack: &mut Pack, number: usize, barrier: &Barrier, image: &Image) {
    let mut woken = 0;
    for group in &mut pack.groups {
        let Wait::Barrier { number: n, site } = group.wait else { continue };
        if n != number {
            continue;
        }
        group.wait = Wait::Ready;
        woken += 1;
        let kind = image.site(site).kind;
        if let BarrierKind::Reduce { op, .. } = kind {
            store_reduction(&mut pack.frames[group.frame].files, &group.mask, kind, barrier.result(op));
        }
    }
    if woken > 1 {
        pack.coalesce();
    }
}

/// The living lanes of every warp of the CTA.
fn living(packs: &[Pack]) -> impl Iterator<Item = u32> + Clone {
    packs.iter().flat_map(|pack| pack.threads.live[..pack.threads.warps].iter().copied())
}
