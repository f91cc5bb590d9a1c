//! Launches whose CTAs several host threads run, each of which judges those that it runs.
//!
//! Every host thread has a detector of its own, a *part* of the launch, which begins with nothing remembered. Where CTAs [work
//! apart](crate::apart), what two of them do races if one changes what the other one accesses, unless both count, and
//! nothing else that is found needs both. So at the end it is asked whether a word that one part has changed was accessed by another one.
//! Where they talk, parts have what is remembered of global memory [in common](crate::shards), and there is nothing to ask.
//!
//! If anything is found, by a part or then, what the launch has written is undone, and it runs once more, on one host thread: so
//! reports are always those of that order, and here it is enough to see that there is something. Else
//! [everybody remembers](crate::absorb) what the parts do.

use crate::Watch;
use crate::absorb::{OfPart, by_page};
use crate::apart::{Manner, manner_of};
use crate::before::Before;
use crate::clock::Time;
use crate::detector::Detector;
use crate::detectors::Detectors;
use crate::footprint::Footprint;
use crate::global::{Global, PAGE, bits};
use crate::looks::Looks;
use crate::report::Checks;
use crate::row::ROW;
use crate::runs::{are_private, each_lane};
use crate::shadow::{Extras, GRANULE};
use crate::shards::{self, Shard, Shards};
use crate::shared_out::on_threads;
use crate::site::Sites;
use crate::state;
use crate::suppress::Suppressions;
use crate::talking::Talk;
use machine::Device;
use machine::fault::Access;
use machine::memory::{SHARED_WINDOW, SpaceKind};
use machine::observe::{Happening, Issue, Observer, PackAccess};
use ptx::module::{Checked, FuncId, Function, FunctionKind, Module};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a page had before anybody wrote to it. Bytes that are not there are zeros, and nobody has written them.
type Saved = FxHashMap<u64, Box<[u8; PAGE as usize]>>;

/// Bytes in allocations of a device, at most: as many may be saved. Times parts they may be shadowed so often.
const MOST: u64 = 1 << 30;
const MOST_SHADOWED: u64 = 1 << 34;

/// Whether what a launch may do to a device's memory can be undone.
pub(crate) fn has_room(device: &Device) -> bool {
    device.memory().used() <= MOST
}

/// How many parts there may be for so many host threads. Some share one if that is less.
fn parts(device: &Device, threads: usize) -> usize {
    let most = MOST_SHADOWED / device.memory().used().max(1);
    threads.min(usize::try_from(most).unwrap_or(usize::MAX))
}

/// CTAs of a launch that talk, at least, and host threads for them: where there are fewer, one that runs the kernel and one that judges are fast enough.
const TALKING: u32 = 32;
const LISTENING: usize = 4;

/// Saved pages stand in so many lists, so that host threads seldom wait for one another.
const LISTS: usize = 16;

/// By the last digits of its number a page that is known to be saved.
const KNOWN: usize = 1024;

/// See the module.
pub struct Spread<'a> {
    watch: &'a Watch<'a>,
    device: &'a Device,
    /// Which launch it is, among all of the process.
    number: u64,
    parts: Vec<Place>,
    /// What parts know of global memory if its CTAs talk.
    shards: Option<Shards>,
    /// Whether some part has found something, so that the rest matters no more.
    found: AtomicBool,
    begin: Begin,
    /// Host threads that have come.
    threads: AtomicUsize,
    saved: [Mutex<Saved>; LISTS],
}

struct Part {
    detector: Detector,
    /// What it does if its CTAs talk.
    talk: Talk,
    known: [u64; KNOWN],
}

/// Where a part is. No other one is on its lines of the host's cache, since each is locked again and again.
#[derive(Default)]
#[repr(align(128))]
struct Place(Mutex<Option<Box<Part>>>);

/// What parts begin with.
struct Begin {
    manner: Manner,
    checks: Checks,
    sites: Arc<Sites>,
    modules: Vec<Arc<Checked<Module>>>,
    launch: Mutex<state::Launch>,
    time: Time,
    suppressions: Suppressions,
    refused: Vec<bool>,
    /// Whether there may be anything that nobody has written.
    unwritten: bool,
}

impl Begin {
    /// One that judges a part of the launch; it has no other.
    fn part(&self, before: Option<Before>) -> Detector {
        let mut part = Detector::new(self.checks);
        part.sites = Arc::clone(&self.sites);
        part.modules.clone_from(&self.modules);
        part.launches.push(lock(&self.launch).clone());
        part.time = self.time;
        part.reports.suppressions = self.suppressions.clone();
        part.finds = (self.manner != Manner::Apart).then_some(false);
        part.global.before = before;
        part.global.listed.refuse_as(&self.refused);
        part
    }
}

thread_local! {
    /// The launch that this host thread has run CTAs of last, and which part of it they are.
    static PART: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Spread<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spread").field("launch", &self.watch.launch).finish_non_exhaustive()
    }
}

impl Detector {
    /// How CTAs work of launches of a kernel of a module if so many host threads can have these, of so many CTAs, clusters of which have such a
    /// shape, by who knows everything so far.
    pub(crate) fn spreads(
        &mut self,
        (module, name): (u32, &str),
        (ctas, cluster): (u32, [u32; 3]),
        threads: usize,
    ) -> Option<Manner> {
        let simple = self.locks.is_none() && self.forgives == 0;
        if !simple || self.registers_change || !self.pooled.is_empty() || cluster != [1; 3] {
            return None;
        }
        let manner = self.manner(module, name);
        let least = match manner {
            Manner::Apart => (2, 2),
            Manner::Signalling => (TALKING, LISTENING),
            Manner::Talking if self.shares => (TALKING, LISTENING),
            Manner::Talking | Manner::InOrder => return None,
        };
        (ctas >= least.0 && threads >= least.1).then_some(manner)
    }

    fn manner(&mut self, module: u32, name: &str) -> Manner {
        let of_module = self.manners.entry(module).or_default();
        if let Some(manner) = of_module.get(name) {
            return *manner;
        }
        let manner = self.modules.get(module as usize).and_then(|known| {
            let is = |function: &Function| function.kind == FunctionKind::Entry && function.name == name;
            let kernel = known.functions.iter().position(is)?;
            Some(manner_of(&self.sites, (module, known), FuncId(kernel as u32)))
        });
        *of_module.entry(name.to_owned()).or_insert(manner.unwrap_or(Manner::InOrder))
    }

    /// The same of a launch that has begun.
    fn may_be_spread(&mut self, launch: usize, threads: usize) -> Option<Manner> {
        let of = &self.launches[launch];
        let knows_all = of.knowledge.generic.everyone() >= of.began.saturating_sub(1);
        let (module, ctas, cluster, name) = (of.module, of.ctas(), of.cluster, of.kernel.clone());
        if of.early || !knows_all { None } else { self.spreads((module, &name), (ctas, cluster), threads) }
    }

    /// What parts of a launch begin with, if it may be spread.
    fn begin_parts(&mut self, launch: usize, threads: usize) -> Option<Begin> {
        self.may_be_spread(launch, threads).map(|manner| Begin {
            manner,
            checks: Checks { litmus: false, ..self.checks },
            sites: Arc::clone(&self.sites),
            modules: self.modules.clone(),
            launch: Mutex::new(self.launches[launch].clone()),
            time: self.time,
            suppressions: self.reports.suppressions.clone(),
            refused: self.global.listed.refused().to_vec(),
            unwritten: self.checks.init && self.global.knows_any(),
        })
    }
}

impl Watch<'_> {
    /// Lets the launch run: `run` is told who observes it, and on how many host threads at most. It may be called again after what the
    /// launch has done was undone.
    pub fn run<T, E>(
        &self,
        device: &Device,
        threads: usize,
        mut run: impl FnMut(&dyn Observer, usize) -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(spread) = self.spread(device, threads) {
            let result = run(&spread, threads);
            if spread.settle(result.is_ok()) {
                return result;
            }
        }
        run(self, 1)
    }

    /// Who observes the launch on several host threads, if that is possible.
    pub fn spread<'w>(&'w self, device: &'w Device, threads: usize) -> Option<Spread<'w>> {
        static SPREADS: AtomicU64 = AtomicU64::new(1);
        if !has_room(device) || self.whole.is_some() {
            return None;
        }
        let begin = self.sanitizer.detectors().of_run.begin_parts(self.launch, threads)?;
        let shards = (begin.manner != Manner::Apart).then(|| self.shards(begin.unwritten));
        let parts = if shards.is_some() { threads } else { parts(device, threads) };
        Some(Spread {
            watch: self,
            device,
            number: SPREADS.fetch_add(1, Ordering::Relaxed),
            parts: (0..parts).map(|_| Place::default()).collect(),
            shards,
            found: AtomicBool::new(false),
            begin,
            threads: AtomicUsize::new(0),
            saved: Default::default(),
        })
    }

    /// Where there may be something that nobody has written, or not.
    fn shards(&self, unwritten: bool) -> Shards {
        let all = Arc::clone(&self.sanitizer.detectors);
        Shards::new(move || {
            let mut shard = Shard::default();
            shard.global.before = unwritten.then(|| before(&all, shards::unwritten));
            shard
        })
    }
}

/// What was written before a launch. Pages that are asked for by their numbers are of some address space.
fn before(all: &Arc<Mutex<Detectors>>, of_page: fn(u64, &dyn Fn(u64) -> u64) -> u64) -> Before {
    let all = Arc::clone(all);
    Before::new(move |numbers| {
        let of_run = &lock(&all).of_run;
        let unwritten = |number| of_run.global.unwritten(&of_run.extras, number);
        numbers.map(|number| of_page(number, &unwritten)).collect()
    })
}

impl Spread<'_> {
    /// Does something with the part of the calling host thread.
    #[inline(always)]
    fn with_part<T>(&self, act: impl FnOnce(&mut Part) -> T) -> T {
        let (number, at) = PART.get();
        let at = if number == self.number { at } else { self.come() };
        let mut part = lock(&self.parts[at].0);
        act(part.get_or_insert_with(|| self.part()))
    }

    /// A host thread comes. CTAs stay with the thread that has begun them.
    #[cold]
    fn come(&self) -> usize {
        let at = self.threads.fetch_add(1, Ordering::Relaxed) % self.parts.len();
        PART.set((self.number, at));
        at
    }

    #[cold]
    fn part(&self) -> Box<Part> {
        let own = self.begin.unwritten && self.shards.is_none();
        let before = own.then(|| before(&self.watch.sanitizer.detectors, |number, of_page| of_page(number)));
        let detector = self.begin.part(before);
        let looking = detector.sites.looking(detector.launches[0].module);
        let talk = Talk::new(self.shards.as_ref().and_then(|_| Looks::new(looking)));
        Box::new(Part { detector, talk, known: [u64::MAX; KNOWN] })
    }

    /// What a store or an atomic is about to change is saved.
    #[inline(always)]
    fn save(&self, known: &mut [u64; KNOWN], access: &PackAccess<'_>, masks: &[u32]) {
        if !matches!(access.space, SpaceKind::Global | SpaceKind::Generic) {
            return;
        }
        let mut save = |first: u64| {
            let last = first.saturating_add(u64::from(access.bytes.max(1)) - 1);
            for number in [Global::page_of(first), Global::page_of(last)] {
                if first < SHARED_WINDOW && known[number as usize % KNOWN] != number {
                    self.save_page(number);
                    known[number as usize % KNOWN] = number;
                }
            }
        };
        for (warp, &mask) in masks.iter().enumerate().filter(|(_, mask)| **mask != 0) {
            let addresses = access.addresses.lanes(warp);
            let ends = addresses.iter().fold((u64::MAX, 0), |(low, high), &at| (at.min(low), at.max(high)));
            // Lanes between are on the pages of these two.
            if mask == !0 && ends.1 - ends.0 < PAGE {
                [ends.0, ends.1].into_iter().for_each(&mut save);
            } else {
                each_lane(&addresses, mask).for_each(|(_, at)| save(at));
            }
        }
    }

    #[cold]
    fn save_page(&self, number: u64) {
        let mut saved = lock(&self.saved[number as usize % LISTS]);
        saved.entry(number).or_insert_with(|| {
            let mut page = Box::new([0; PAGE as usize]);
            read(self.device, number * PAGE, &mut page[..]);
            page
        });
    }

    /// If a part has found something the launch may end.
    fn look_for_finds(&self, part: &Detector) {
        if part.finds == Some(true) {
            self.found.store(true, Ordering::Relaxed);
        }
    }

    /// The launch has run, to its end or not. Whether that is all; else it is as if it had not.
    pub fn settle(self, done: bool) -> bool {
        let Self { watch, device, parts, shards, saved, .. } = self;
        let inner = |Place(part)| part.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut parts: Vec<Detector> =
            parts.into_iter().filter_map(inner).map(|part| part.detector).collect();
        let talk = shards.is_some();
        let mut shards = shards.map_or_else(Vec::new, Shards::into_all);
        let clean = done && !parts.iter().any(finds) && (talk || do_not_meet(&mut parts));
        let of_run = &mut watch.sanitizer.detectors().of_run;
        if clean {
            of_run.absorb(watch.launch, parts);
            shards.iter_mut().for_each(|shard| of_run.absorb_shard(watch.launch, shard));
            return true;
        }
        // Where something was found there will be more.
        let state::Launch { module, ref kernel, .. } = of_run.launches[watch.launch];
        of_run.manners.entry(module).or_default().insert(kernel.clone(), Manner::InOrder);
        let saved = saved.map(|saved| saved.into_inner().unwrap_or_else(PoisonError::into_inner));
        for part in &parts {
            undo(device, (&part.global, &part.extras), |address| address, &saved);
            undo_undecided(device, part, &saved);
        }
        shards.iter().for_each(|shard| undo(device, (&shard.global, &shard.extras), shards::outside, &saved));
        false
    }
}

/// Whether a part has found something.
fn finds(part: &Detector) -> bool {
    part.finds == Some(true) || part.reports.pairs() > 0
}

/// Whether no part has changed what another one has accessed, but for what both count.
fn do_not_meet(parts: &mut [Detector]) -> bool {
    let mut known = by_page(parts);
    // What is read there by some is listed, and what others have in rows may have been written.
    let meets = |part: &Detector| {
        part.global.listed.pages().iter().any(|at| part.global.has_listed(*at) && known.contains_key(at))
    };
    let listed: Vec<usize> = (0..).zip(&*parts).filter(|(_, part)| meets(part)).map(|(at, _)| at).collect();
    if !listed.is_empty() {
        drop(known);
        listed.iter().for_each(|&at| parts[at].unlist_everything());
        known = by_page(parts);
    }
    // Mostly no row was accessed by several.
    let mut pages: Vec<_> = known.into_values().filter(|of_page| shared_rows(of_page) != 0).collect();
    let extras: Vec<&Extras> = parts.iter().map(|part| &*part.extras).collect();
    let apart = |pages: &mut [Vec<OfPart<'_>>]| pages.iter().all(|of_page| is_apart(of_page, &extras));
    on_threads(parts.len(), &mut pages, apart).into_iter().all(|apart| apart)
}

/// The rows of a page that several parts may have accessed, by bit.
fn shared_rows(of_page: &[OfPart<'_>]) -> u64 {
    let (mut once, mut several) = (0, 0);
    for (_, _, accessed) in of_page {
        several |= once & accessed;
        once |= accessed;
    }
    several
}

/// The same of a page.
fn is_apart(of_page: &[OfPart<'_>], extras: &[&Extras]) -> bool {
    bits(shared_rows(of_page)).all(|at| {
        let mut known = Footprint::default();
        let rows = of_page.iter().map(|&(part, rows, _)| (&rows[at], extras[part]));
        rows.filter(|(row, _)| !row.is_untouched()).map(|(row, extras)| extras.footprint(row)).all(|own| {
            let meets = known.meets(own);
            known = known.join(own);
            !meets
        })
    })
}

/// Puts back what words had that have been changed by what a shadow says, whose addresses are of other ones.
fn undo(
    device: &Device,
    (global, extras): (&Global, &Extras),
    address_of: impl Fn(u64) -> u64,
    saved: &[Saved; LISTS],
) {
    for number in global.numbers() {
        let Some((rows, accessed)) = global.rows_of(number) else { continue };
        for at in bits(accessed).filter(|&at| !rows[at].is_untouched()) {
            let changed = extras.footprint(&rows[at]).changed();
            let row = address_of(number * PAGE + at as u64 * ROW);
            let words = (0..ROW / GRANULE).filter(|word| changed >> word & 1 != 0);
            words.for_each(|word| put_back(device, row + word * GRANULE, saved));
        }
    }
}

/// The same of what compare-and-swaps may have changed that were not decided when the launch ended.
fn undo_undecided(device: &Device, part: &Detector, saved: &[Saved; LISTS]) {
    for swap in part.blocks.under_way().flat_map(|block| &block.warps).filter_map(|warp| warp.swap.as_ref()) {
        for (_, inside) in swap.lanes().filter(|(_, at)| *at < SHARED_WINDOW) {
            let first = shards::outside(inside);
            let words = (first..first.saturating_add(swap.bytes.into())).step_by(GRANULE as usize);
            words.for_each(|address| put_back(device, address, saved));
        }
    }
}

/// Puts back what the word at an address had when its page was saved.
fn put_back(device: &Device, address: u64, saved: &[Saved; LISTS]) {
    let (number, at) = (Global::page_of(address), (address % PAGE / GRANULE * GRANULE) as usize);
    if let Some(page) = saved[number as usize % LISTS].get(&number) {
        write(device, number * PAGE + at as u64, &page[at..][..GRANULE as usize]);
    }
}

/// Reads what there is of a range.
fn read(device: &Device, address: u64, into: &mut [u8]) {
    if !device.read(address, into) {
        for Range { start, end } in parts_of(device, address..address + into.len() as u64) {
            device.read(start, &mut into[(start - address) as usize..(end - address) as usize]);
        }
    }
}

/// Writes to what there is of a range.
fn write(device: &Device, address: u64, from: &[u8]) {
    if !device.write(address, from) {
        for Range { start, end } in parts_of(device, address..address + from.len() as u64) {
            device.write(start, &from[(start - address) as usize..(end - address) as usize]);
        }
    }
}

/// What there is of a range.
fn parts_of(device: &Device, range: Range<u64>) -> Vec<Range<u64>> {
    let inside = |start: u64, end: u64| start.max(range.start)..end.min(range.end);
    let mut parts = Vec::new();
    let others = device.reach().memories();
    for memory in others.iter().map(|memory| &**memory).chain([device.memory()]) {
        let mut behind = range.end;
        while behind > range.start
            && let Some((start, bytes)) = memory.nearest_below(behind - 1)
        {
            parts.push(inside(start, start.saturating_add(bytes)));
            behind = start;
        }
    }
    parts.extend(device.reach().host_ranges().iter().map(|host| inside(host.start(), host.end())));
    parts.retain(|part| part.start < part.end);
    parts
}

impl Observer for Spread<'_> {
    fn issue(&self, issue: &Issue<'_>) {
        let private = issue.access.is_some_and(|access| are_private(&access, issue.masks));
        if private || issue.masks.iter().all(|mask| *mask == 0) {
            return;
        }
        self.with_part(|Part { detector, talk, known }| {
            if let Some(access) = issue.access.as_ref().filter(|access| access.access != Access::Load) {
                self.save(known, access, issue.masks);
            }
            match &self.shards {
                Some(shards) => {
                    detector.each_of_team(0, issue, |detector, issue| talk.issue(detector, shards, issue));
                    self.look_for_finds(detector);
                }
                None => detector.issue(0, issue),
            }
        });
    }

    fn watches(&self, function: FuncId, instruction: u32) -> bool {
        self.watch.watches(function, instruction)
    }

    fn follows(&self, function: FuncId, instruction: u32) -> bool {
        self.shards.is_some() && self.watch.interest(function, instruction).is_some_and(|of| of.held)
    }

    fn executed(&self) {
        if let Some(shards) = &self.shards {
            self.with_part(|part| part.talk.executed(shards));
        }
    }

    fn gives_up(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    fn happening(&self, happening: &Happening<'_>) {
        match (happening, &self.shards) {
            // What parts begin with.
            (Happening::Began { .. }, _) => self.watch.happening(happening),
            (Happening::Swapped(lanes), Some(shards)) => self.with_part(|part| {
                part.talk.swapped(&mut part.detector, shards, lanes);
                self.look_for_finds(&part.detector);
            }),
            _ => self.with_part(|part| {
                part.talk.happens(happening);
                part.detector.happening(0, happening);
            }),
        }
    }
}
