//! The memory behind the SMs: L1 of each, what carries requests and sectors, L2, DRAM.
//!
//! Nothing here is simulated cycle by cycle. Everything that takes its time is a [`Rate`], which knows when it is free again; a request asks
//! one after the other and is told at once when its sectors will be there. Requests come in the order of time, up to the few cycles that
//! the SM's unit for memory is ahead.

mod cache;
mod coalesce;
mod leaving;
mod rate;

use crate::counters::Counters;
use crate::device::Parameters;
pub(crate) use cache::LINE;
use cache::{Cache, SECTORS};
pub(crate) use coalesce::{Touch, count_crowds, lines, rounds};
use leaving::Leaving;
pub(crate) use rate::Rate;
use sass_machine::Way;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// What the whole device shares.
pub(crate) struct Shared {
    l2: Cache,
    /// A slice gives, takes and fills one after the other.
    slices: Vec<Rate>,
    /// Over how many of them a page is spread.
    of_page: usize,
    /// How long it takes a sector, in thousandths of what it takes to give one.
    taking: u64,
    /// How long it takes to look up a request, in the same.
    lookup: u64,
    /// What SMs whose requests go one way have asked for, how many of them one request serves, and for how long it takes others in.
    groups: Vec<Group>,
    together: u64,
    window: u64,
    /// The way of all atomic operations, and what those that answer take of it, in thousandths of the others.
    changes: Rate,
    answering: u64,
    /// What of a slice's time atomic operations take, and those of several lanes on one word.
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
    /// Lines that stores bring, and those that have not left; how long a store's wait for others, and how much longer for each of them, in
    /// thousandths of a cycle.
    store_lines: Rate,
    leaving: Leaving,
    store: u64,
    store_line: u64,
    /// How much later an atomic operation's answer is there for each of its lines, in the same.
    atomic_line: u64,
    /// The SMs whose requests go the same way.
    group: usize,
    /// Lines that the L1 looks up in a thousand cycles, and bytes that it gives in one.
    tags: u64,
    width: u64,
    requests: Rate,
    responses: Rate,
    /// Lines that copies in bulk ask for.
    lines: Rate,
    /// When the sectors come that are waited for.
    outstanding: VecDeque<u64>,
    most: usize,
    /// When reductions are done.
    reductions: VecDeque<u64>,
    most_reductions: usize,
    /// By when all that threads have stored or changed has passed a slice; copies in bulk are waited for by threads.
    settled: u64,
}

/// An access that the unit for memory begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) way: Way,
    /// It goes around the L1.
    pub(crate) is_strong: bool,
    pub(crate) is_local: bool,
    /// What it stores stays in the L1.
    pub(crate) stays: bool,
    /// Cycles to a result that the L1 has.
    pub(crate) hit: u64,
}

/// A request for a sector.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// When it passes its slice.
    ready: u64,
    /// How many SMs wait for it.
    count: u64,
    /// Until when it takes others in.
    until: u64,
}

/// Lines of a page, and its bytes: what lies in a few slices together.
const PAGE_LINES: u64 = 32;
pub(crate) const PAGE: u64 = PAGE_LINES * LINE;

/// A sector, and all those of its line that a request is for: only requests for the same ones are made together.
type Wanted = (u64, usize, u8);

/// Mixes numbers that nobody has chosen to meet.
#[derive(Clone, Copy, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Requests of SMs that go one way.
#[derive(Clone, Debug, Default)]
struct Group {
    under_way: HashMap<Wanted, Asked, BuildHasherDefault<Mixed>>,
    /// With so many of them those are forgotten that take nobody in any more.
    most: usize,
}

impl Group {
    /// When a sector passes its slice that another SM has asked for a little before a cycle, if no more than so many wait for it with this one.
    fn share(&mut self, wanted: Wanted, now: u64, together: u64) -> Option<u64> {
        let asked = self.under_way.get_mut(&wanted)?;
        if asked.until < now || asked.count >= together {
            return None;
        }
        asked.count += 1;
        Some(asked.ready)
    }

    /// An SM has asked for a sector at a cycle.
    fn asked(&mut self, wanted: Wanted, now: u64, asked: Asked) {
        if self.under_way.len() >= self.most {
            self.under_way.retain(|_, asked| asked.until >= now);
            self.most = 2 * self.under_way.len() + 1024;
        }
        self.under_way.insert(wanted, asked);
    }
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
            of_page: of.page_slices as usize,
            lookup: of.slice_rate.saturating_mul(1000) / of.lookup_rate,
            taking: of.slice_rate.saturating_mul(1000) / of.write_rate,
            groups: vec![Group::default(); of.sms.div_ceil(of.group) as usize],
            together: of.together,
            window: of.window,
            changes: Rate::new(of.changes),
            answering: of.changes.saturating_mul(1000) / of.answers,
            atomics: rates(of.slices, of.atomic_rate),
            same: rates(of.slices, of.same_rate),
            channels: rates(of.channels, of.channel_rate),
            latency: of.l2,
            dram: of.dram,
            granule: (of.granule as usize).min(SECTORS),
        }
    }

    /// The slice of a line. A page of 32 lines lies in a few slices: two lines behind one another in one of them, four lines on again in that
    /// one, as far as there are fewer than sixteen.
    fn slice(&self, line: u64) -> usize {
        let (page, pair, count) = (line / PAGE_LINES, line as usize / 2 % 16, self.slices.len());
        let order = pair & 1 | pair >> 1 & 6 | pair << 2 & 8;
        (spread(page, count) + order % self.of_page * count / self.of_page) % count
    }

    /// The channel takes sectors of a line, to be read or written.
    fn channel(&mut self, line: u64, now: u64, sectors: u64) -> u64 {
        let channel = spread(line / 8, self.channels.len());
        self.channels[channel].serve(now, sectors)
    }

    /// A sector that an SM asks for at a cycle; when it has passed the slice. What another SM of its group has asked for a little before is not
    /// asked for again.
    fn read(
        &mut self,
        wanted @ (line, sector, _): Wanted,
        extra: u64,
        now: u64,
        group: usize,
        counters: &mut Counters,
    ) -> u64 {
        if let Some(ready) = self.groups[group].share(wanted, now, self.together) {
            return ready;
        }
        counters.l2_read += 1;
        let slice = self.slice(line);
        self.slices[slice].serve_parts(now + self.latency / 2, extra);
        let ready = self.fetch(line, sector, now, counters);
        let asked = Asked { ready, count: 1, until: now + self.window };
        self.groups[group].asked(wanted, now, asked);
        ready
    }

    /// When a slice has a sector, and has given it.
    fn fetch(&mut self, line: u64, sector: usize, now: u64, counters: &mut Counters) -> u64 {
        let slice = self.slice(line);
        let found = self.l2.find(line, sector);
        let served = self.slices[slice].serve(now + self.latency / 2, 1);
        if let Some(ready) = found {
            counters.l2_read_hit += 1;
            return served.max(ready);
        }
        // What comes from memory has to be taken, too.
        self.slices[slice].serve_parts(served, self.taking * self.granule as u64);
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
        let slice = self.slice(line);
        let served = self.slices[slice].serve_parts(now + self.latency / 2, self.taking);
        counters.l2_write += 1;
        let ready = self.l2.find(line, sector).map_or(served, |ready| served.max(ready));
        self.place(line, sector, ready, true, counters);
        served
    }

    /// A sector that atomic operations change, which answer or do not: those on one word one after the other.
    fn change(
        &mut self,
        touch: &Touch,
        sector: usize,
        now: u64,
        answers: bool,
        counters: &mut Counters,
    ) -> u64 {
        let (line, same) = (touch.line, u64::from(touch.crowds[sector].max(1)));
        let hits = counters.l2_read_hit;
        let passed = self.changes.serve_parts(now, if answers { self.answering } else { 1000 });
        let there = self.fetch(line, sector, passed, counters);
        counters.l2_read_hit = hits;
        let slice = self.slice(line);
        let done = self.atomics[slice].serve(there, 1).max(self.same[slice].serve(there, same));
        counters.l2_atomic += 1;
        self.place(line, sector, there, true, counters);
        done
    }
}

/// Waits until one more may be waited for beside those whose ends stand in a row.
fn room(ends: &mut VecDeque<u64>, most: usize, mut now: u64) -> u64 {
    while let Some(&first) = ends.front() {
        if first > now && ends.len() < most {
            break;
        }
        now = now.max(first);
        ends.pop_front();
    }
    now
}

impl Shared {
    /// What a request for so many sectors of a line takes a slice more than they do themselves.
    fn extra(&self, sectors: u8) -> u64 {
        self.lookup.saturating_sub(1000 * u64::from(sectors.count_ones()))
    }
}

impl Private {
    /// An SM of a group whose CTAs leave so many bytes to the L1.
    pub(crate) fn new(of: &Parameters, group: usize, l1: u64) -> Self {
        Self {
            l1: Cache::new(l1, of.l1_ways),
            store_lines: Rate::new(of.store_lines),
            leaving: Leaving::new(of.store_queue),
            store: of.store,
            store_line: of.store_line,
            atomic_line: of.atomic_line,
            group,
            tags: of.tags.max(1),
            width: of.l1_width.max(1),
            requests: Rate::new(of.requests),
            responses: Rate::new(of.responses),
            lines: Rate::new(of.bulk_rate),
            outstanding: VecDeque::new(),
            most: of.outstanding as usize,
            reductions: VecDeque::new(),
            most_reductions: of.reductions as usize,
            settled: 0,
        }
    }

    /// By when the L2 has all that threads have stored or changed so far: a grid does not end before.
    pub(crate) fn settled(&self) -> u64 {
        self.settled
    }

    /// Asks the L2 for a sector, once there is room for one more; when the question is on its way.
    fn ask(&mut self, begun: &mut u64) -> u64 {
        *begun = room(&mut self.outstanding, self.most, *begun);
        self.requests.serve(*begun, 1)
    }

    /// When a sector is here that the L2 has at a cycle.
    fn answer(&mut self, shared: &Shared, there: u64) -> u64 {
        self.responses.serve(there + shared.latency - shared.latency / 2, 1)
    }

    /// A copy in bulk between shared memory and lines, which goes around the L1; when the last of them is there.
    pub(crate) fn bulk(
        &mut self,
        shared: &mut Shared,
        way: Way,
        touches: &[Touch],
        now: u64,
        counters: &mut Counters,
    ) -> u64 {
        let mut ends = now;
        for touch in touches {
            let asked = self.lines.serve(now, 1);
            for sector in (0..SECTORS).filter(|sector| touch.sectors >> sector & 1 == 1) {
                let ready = match way {
                    Way::Load => {
                        let there =
                            shared.read((touch.line, sector, touch.sectors), 0, asked, self.group, counters);
                        self.answer(shared, there)
                    }
                    Way::Store | Way::Atomic | Way::Reduction => {
                        shared.write(touch.line, sector, asked, counters)
                    }
                };
                ends = ends.max(ready);
            }
        }
        ends
    }

    fn wait_for(&mut self, ready: u64) {
        // Nearly in order: what comes earlier than one before it is counted as long as that.
        let last = self.outstanding.back().copied().unwrap_or(0);
        self.outstanding.push_back(ready.max(last));
    }

    /// For how many cycles the L1 is busy with an access of so many rounds of the banks, or with looking up its lines.
    pub(crate) fn cycles(&self, rounds: u64, touches: &[Touch]) -> u64 {
        let lookups = (1000 * touches.len() as u64).div_ceil(self.tags);
        (rounds * LINE).div_ceil(self.width).max(lookups).max(1)
    }

    /// An access to lines whose last round or lookup is in a cycle; before which one no other may begin, and when the last of its results is
    /// there.
    pub(crate) fn access(
        &mut self,
        shared: &mut Shared,
        request: Request,
        touches: &[Touch],
        mut begun: u64,
        counters: &mut Counters,
    ) -> (u64, u64) {
        let mut ends = begun + request.hit;
        let lines = touches.len() as u64;
        let arrived = if request.way == Way::Store { self.store_lines.serve(begun, lines) } else { begun };
        let wait = self.store + self.store_line * lines / 1000;
        for touch in touches {
            let mut extra = shared.extra(touch.sectors);
            let mut along = 0;
            if request.way == Way::Store {
                let brought = self.leaving.bring(touch.line, touch.sectors, arrived, wait);
                along = brought.along;
                begun = begun.max(brought.begin);
            }
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
                            let extra = std::mem::take(&mut extra);
                            let wanted = (touch.line, sector, touch.sectors);
                            let there = shared.read(wanted, extra, asked, self.group, counters);
                            let ready = self.answer(shared, there);
                            self.wait_for(ready);
                            if !request.is_strong {
                                self.l1.fill(touch.line, sector, ready, false);
                            }
                            ready + request.hit
                        }
                    }
                    Way::Store => {
                        if request.stays {
                            self.l1.fill(touch.line, sector, begun, false);
                        }
                        if along >> sector & 1 == 1 {
                            begun
                        } else {
                            let asked = self.ask(&mut arrived.max(begun));
                            self.leaving.send(touch.line, asked);
                            let there = shared.write(touch.line, sector, asked, counters);
                            self.settled = self.settled.max(there);
                            self.wait_for(there);
                            there
                        }
                    }
                    Way::Atomic | Way::Reduction => {
                        if request.way == Way::Reduction {
                            begun = room(&mut self.reductions, self.most_reductions, begun);
                        }
                        let asked = self.ask(&mut begun);
                        let there = shared.change(touch, sector, asked, request.way == Way::Atomic, counters);
                        self.settled = self.settled.max(there);
                        let ready = match request.way {
                            Way::Atomic => self.answer(shared, there) + self.atomic_line * lines / 1000,
                            Way::Load | Way::Store | Way::Reduction => {
                                self.reductions.push_back(there);
                                there
                            }
                        };
                        self.wait_for(ready);
                        ready + request.hit
                    }
                };
                ends = ends.max(ready);
            }
        }
        (begun, ends)
    }
}
