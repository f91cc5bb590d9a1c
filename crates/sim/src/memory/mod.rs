//! The memory behind the SMs: L1 of each, what carries requests and sectors, L2, DRAM.
//!
//! Nothing here is simulated cycle by cycle. Everything that takes its time is a [`Rate`], which knows when it is free again; a request asks
//! one after the other and is told at once when its sectors will be there. Requests come in the order of time, up to the few cycles that
//! the SM's unit for memory is ahead.

mod cache;
mod coalesce;
mod rate;

use crate::counters::Counters;
use crate::device::Parameters;
pub(crate) use cache::LINE;
use cache::{Cache, SECTOR, SECTORS};
pub(crate) use coalesce::{Touch, lines, on_one_word, rounds};
pub(crate) use rate::Rate;
use sass_machine::Way;
use std::collections::VecDeque;

/// What the whole device shares.
pub(crate) struct Shared {
    l2: Cache,
    slices: Vec<Rate>,
    /// What of a slice's time stores take, atomic operations, and those of several lanes on one word.
    stores: Vec<Rate>,
    atomics: Vec<Rate>,
    same: Vec<Rate>,
    channels: Vec<Rate>,
    /// Cycles there and back; of those, how many until a slice is asked.
    latency: u64,
    dram: u64,
    granule: usize,
}

/// An SM's way to memory.
pub(crate) struct Private {
    l1: Cache,
    tags: Rate,
    data: Rate,
    requests: Rate,
    responses: Rate,
    /// When the sectors come that are waited for.
    outstanding: VecDeque<u64>,
    most: usize,
}

/// An access that the unit for memory begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) way: Way,
    /// It goes around the L1.
    pub(crate) is_strong: bool,
    pub(crate) is_local: bool,
    /// Cycles to a result that the L1 has.
    pub(crate) hit: u64,
    /// Lanes at the word that most are at.
    pub(crate) same: u64,
}

/// Which of so many a line belongs to: all bits of its number matter, as neighbours and powers of two shall not meet.
fn spread(line: u64, count: usize) -> usize {
    let mixed = line.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (((mixed >> 32) * count as u64) >> 32) as usize
}

impl Shared {
    pub(crate) fn new(of: &Parameters) -> Self {
        let rates = |count: u64, rate: u64| vec![Rate::new(rate); count as usize];
        Self {
            l2: Cache::new(of.l2_size, of.l2_ways),
            slices: rates(of.slices, of.slice_rate),
            stores: rates(of.slices, of.write_rate),
            atomics: rates(of.slices, of.atomic_rate),
            same: rates(of.slices, of.same_rate),
            channels: rates(of.channels, of.channel_rate),
            latency: of.l2,
            dram: of.dram,
            granule: (of.granule as usize).min(SECTORS),
        }
    }

    /// The channel takes sectors of a line, to be read or written.
    fn channel(&mut self, line: u64, now: u64, sectors: u64) -> u64 {
        let channel = spread(line / 8, self.channels.len());
        self.channels[channel].serve(now, sectors)
    }

    /// A sector that an SM asks for at a cycle; when it has passed the slice.
    fn read(&mut self, line: u64, sector: usize, now: u64, counters: &mut Counters) -> u64 {
        let slice = spread(line, self.slices.len());
        let served = self.slices[slice].serve(now + self.latency / 2, 1);
        counters.l2_read += 1;
        if let Some(ready) = self.l2.find(line, sector) {
            counters.l2_read_hit += 1;
            return served.max(ready);
        }
        // Neighbours come along.
        let first = sector / self.granule * self.granule;
        let ready = self.channel(line, served, self.granule as u64) + self.dram;
        counters.dram_read += self.granule as u64;
        for sector in first..(first + self.granule).min(SECTORS) {
            self.place(line, sector, ready, false, counters);
        }
        ready
    }

    fn place(&mut self, line: u64, sector: usize, ready: u64, is_dirty: bool, counters: &mut Counters) {
        let left = u64::from(self.l2.fill(line, sector, ready, is_dirty));
        if left > 0 {
            counters.dram_write += left;
            self.channel(line, ready, left);
        }
    }

    /// A sector that an SM writes; when it has passed the slice.
    fn write(&mut self, line: u64, sector: usize, now: u64, counters: &mut Counters) -> u64 {
        let slice = spread(line, self.stores.len());
        let served = self.stores[slice].serve(now + self.latency / 2, 1);
        counters.l2_write += 1;
        let ready = self.l2.find(line, sector).map_or(served, |ready| served.max(ready));
        self.place(line, sector, ready, true, counters);
        served
    }

    /// A sector that atomic operations change, so many of them on one word, one after the other.
    fn change(&mut self, line: u64, sector: usize, now: u64, same: u64, counters: &mut Counters) -> u64 {
        let there = self.read(line, sector, now, counters);
        let slice = spread(line, self.atomics.len());
        let done = self.atomics[slice].serve(there, 1).max(self.same[slice].serve(there, same));
        counters.l2_atomic += 1;
        self.place(line, sector, there, true, counters);
        done
    }
}

impl Private {
    /// An SM whose CTAs leave so many bytes to the L1.
    pub(crate) fn new(of: &Parameters, l1: u64) -> Self {
        Self {
            l1: Cache::new(l1, of.l1_ways),
            tags: Rate::new(of.tags),
            data: Rate::new(of.l1_width.saturating_mul(1000)),
            requests: Rate::new(of.requests),
            responses: Rate::new(of.responses),
            outstanding: VecDeque::new(),
            most: of.outstanding as usize,
        }
    }

    /// Waits until one more sector may be waited for.
    fn room(&mut self, now: u64) -> u64 {
        let mut now = now;
        while let Some(&first) = self.outstanding.front() {
            if first > now && self.outstanding.len() < self.most {
                break;
            }
            now = now.max(first);
            self.outstanding.pop_front();
        }
        now
    }

    /// Asks the L2 for a sector, once there is room for one more; when the question is on its way.
    fn ask(&mut self, begun: &mut u64) -> u64 {
        *begun = self.room(*begun);
        self.requests.serve(*begun, 1)
    }

    /// When a sector is here that the L2 has at a cycle.
    fn answer(&mut self, shared: &Shared, there: u64) -> u64 {
        self.responses.serve(there + shared.latency - shared.latency / 2, 1)
    }

    fn wait_for(&mut self, ready: u64) {
        // Nearly in order: what comes earlier than one before it is counted as long as that.
        let last = self.outstanding.back().copied().unwrap_or(0);
        self.outstanding.push_back(ready.max(last));
    }

    /// An access to lines that begins at a cycle; when the next one may begin, and when the last of its results is there.
    pub(crate) fn access(
        &mut self,
        shared: &mut Shared,
        request: Request,
        touches: &[Touch],
        now: u64,
        counters: &mut Counters,
    ) -> (u64, u64) {
        let looked_up = self.tags.serve(now, touches.len() as u64);
        let sectors: u64 = touches.iter().map(|touch| u64::from(touch.sectors.count_ones())).sum();
        let mut begun = self.data.serve(now, sectors * SECTOR).max(looked_up);
        let mut ends = begun + request.hit;
        for touch in touches {
            for sector in (0..SECTORS).filter(|sector| touch.sectors >> sector & 1 == 1) {
                counters.l1(request.way, request.is_local);
                let ready = match request.way {
                    Way::Load => {
                        let found = (!request.is_strong).then(|| self.l1.find(touch.line, sector)).flatten();
                        if let Some(ready) = found {
                            counters.l1_hit += 1;
                            ready
                        } else {
                            let asked = self.ask(&mut begun);
                            let there = shared.read(touch.line, sector, asked, counters);
                            let ready = self.answer(shared, there);
                            self.wait_for(ready);
                            if !request.is_strong {
                                self.l1.fill(touch.line, sector, ready, false);
                            }
                            ready + request.hit
                        }
                    }
                    Way::Store => {
                        let asked = self.ask(&mut begun);
                        let there = shared.write(touch.line, sector, asked, counters);
                        self.wait_for(there);
                        there
                    }
                    Way::Atomic | Way::Reduction => {
                        let asked = self.ask(&mut begun);
                        let there = shared.change(touch.line, sector, asked, request.same, counters);
                        let ready = match request.way {
                            Way::Atomic => self.answer(shared, there),
                            Way::Load | Way::Store | Way::Reduction => there,
                        };
                        self.wait_for(ready);
                        ready + request.hit
                    }
                };
                ends = ends.max(ready);
            }
        }
        (begun.max(self.tags.free()), ends)
    }
}
