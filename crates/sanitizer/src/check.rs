//! Whether an access races with those that the shadow remembers, and what the shadow remembers afterwards.
//!
//! Two accesses race if they conflict, neither is ordered before the other by causality, and they are not morally strong
//! (PTX ISA, "Data-race freedom"). An earlier access is forgotten only when every later one that would race with it races
//! with its successor too.

use crate::clock::{Clock, Time};
use crate::observed::Thread;
use crate::release::Home;
use crate::shadow::{Cell, Entry, Extra, Extras, GRANULE};
use crate::site::{Site, Sites};
use crate::state::Launch;
use machine::fault::Access;
use memory_model::definitions::NEWEST;
use memory_model::event::Scope;

/// Readers of a cell that are kept apart. More become a range of CTAs.
const READERS: usize = 4;
/// The same for strong operations.
const STRONG: usize = 16;

/// An access that is about to be made to some cells.
#[derive(Clone, Copy)]
pub(crate) struct Accessor<'a> {
    pub(crate) home: Home,
    /// The issuing lanes; of an agent nobody's program order counts if `apart`.
    pub(crate) warp: u16,
    pub(crate) lanes: u32,
    /// What is known when it happens.
    pub(crate) clock: &'a Clock,
    /// For an access through the async proxy: what its fences have passed on.
    pub(crate) proxied: Option<&'a Clock>,
    /// What is remembered of it.
    pub(crate) entry: Entry,
    pub(crate) site: &'a Site,
    pub(crate) access: Access,
    everyone: Time,
    threads: Time,
}

impl<'a> Accessor<'a> {
    pub(crate) fn new(
        home: Home,
        (warp, lanes): (u16, u32),
        clock: &'a Clock,
        entry: Entry,
        (site, access): (&'a Site, Access),
    ) -> Self {
        let (everyone, threads) = (clock.everyone(), clock.threads_of(home.cta));
        Self { home, warp, lanes, clock, proxied: None, entry, site, access, everyone, threads }
    }

    /// The same by other lanes.
    pub(crate) fn by_lanes(mut self, lanes: u32) -> Self {
        self.lanes = lanes;
        self.entry.lanes = lanes;
        self
    }

    /// Whether an entry is ordered before by a barrier of the CTA or by the launch.
    #[inline(always)]
    fn plainly_after(&self, entry: &Entry) -> bool {
        entry.time <= self.everyone
            || entry.cta == self.home.cta && entry.time <= self.threads && entry.is_of_threads()
    }

    /// Whether an entry is of this very thread.
    #[inline(always)]
    fn is_own(&self, entry: &Entry) -> bool {
        entry.cta == self.home.cta
            && entry.warps == 1 << self.warp
            && entry.lanes == self.lanes
            && self.lanes.is_power_of_two()
            && entry.is_of_threads()
    }

    /// Whether what a thread did until a time is known to whoever accesses, or done by them.
    pub(crate) fn knows(&self, (cta, warp, lane): Thread, time: Time) -> bool {
        self.clock.lane(cta, warp, lane) >= time || self.is_among(cta, warp, 1 << lane)
    }

    /// Whether it is lanes of a warp that access.
    pub(crate) fn is_among(&self, cta: u32, warp: u16, lanes: u32) -> bool {
        cta == self.home.cta && warp == self.warp && self.lanes & !lanes == 0 && self.entry.is_of_threads()
    }

    /// Whether everything that an entry stands for happens before.
    pub(crate) fn is_after(&self, entry: &Entry, clock: &Clock, own: bool) -> bool {
        if entry.time <= clock.everyone() {
            return true;
        }
        if let Some((first, last)) = entry.range() {
            return clock.covers(first, last, entry.time);
        }
        let lanes = || (0..32u32).filter(|lane| entry.lanes >> lane & 1 != 0);
        if let Some(agent) = entry.agent() {
            return lanes().all(|lane| clock.lane(entry.cta, agent, lane) >= entry.time);
        }
        if clock.threads_of(entry.cta) >= entry.time {
            return true;
        }
        let here = own && entry.cta == self.home.cta;
        (0..32u16).filter(|warp| entry.warps >> warp & 1 != 0).all(|warp| {
            lanes().all(|lane| {
                clock.lane(entry.cta, warp, lane) >= entry.time
                    || here && warp == self.warp && self.lanes == 1 << lane
            })
        })
    }
}

/// Why two accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Nothing orders them.
    Unordered,
    /// They are ordered, but a proxy fence is missing.
    Proxy,
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    pub(crate) earlier: Entry,
    pub(crate) later: Entry,
    pub(crate) later_access: Access,
    pub(crate) why: Why,
}

/// What checks work with.
pub(crate) struct Checker<'a> {
    pub(crate) extras: &'a mut Extras,
    pub(crate) sites: &'a Sites,
    pub(crate) launches: &'a [Launch],
    pub(crate) conflict: Option<Conflict>,
    /// Whether bytes were read that nobody has written.
    pub(crate) unwritten: bool,
}

impl Checker<'_> {
    /// An access to `bytes` from `address` on; the first cell is that of the address.
    #[inline(always)]
    pub(crate) fn range(&mut self, cells: &mut [Cell], address: u64, bytes: u64, by: &Accessor<'_>) {
        let offset = address % GRANULE;
        if offset == 0 && bytes.is_multiple_of(GRANULE) {
            for cell in &mut cells[..(bytes / GRANULE) as usize] {
                self.access(cell, 0xf, by);
            }
            return;
        }
        let (mut at, end) = (offset, offset + bytes);
        for cell in cells {
            if at >= end {
                break;
            }
            let next = (at / GRANULE + 1) * GRANULE;
            let mask = (at..next.min(end)).fold(0u8, |mask, byte| mask | 1 << (byte % GRANULE));
            self.access(cell, mask, by);
            at = next;
        }
    }

    /// An access to some bytes of a cell.
    #[inline(always)]
    pub(crate) fn access(&mut self, cell: &mut Cell, bytes: u8, by: &Accessor<'_>) {
        if by.access != Access::Store && cell.unwritten & bytes != 0 {
            self.unwritten = true;
        }
        if bytes == 0xf && !self.extras.is_split(cell) {
            return self.whole(cell, by);
        }
        self.single(cell, bytes, by);
    }

    #[cold]
    #[inline(never)]
    fn single(&mut self, cell: &mut Cell, bytes: u8, by: &Accessor<'_>) {
        if by.access != Access::Load {
            cell.unwritten &= !bytes;
        }
        let mut parts = *self.extras.bytes_of(cell);
        for (place, part) in parts.iter_mut().enumerate() {
            if bytes >> place & 1 != 0 {
                self.whole(part, by);
            }
        }
        *self.extras.bytes_of(cell) = parts;
    }

    #[inline(always)]
    fn whole(&mut self, cell: &mut Cell, by: &Accessor<'_>) {
        let plain = cell.extra == 0 && by.proxied.is_none() && !by.site.is_strong();
        let after_write = by.plainly_after(&cell.write) || by.is_own(&cell.write);
        match by.access {
            Access::Load if plain && after_write => {
                if by.plainly_after(&cell.read) {
                    cell.read = by.entry;
                } else if !cell.read.merge(&by.entry) {
                    self.remember_read(cell, by);
                }
            }
            Access::Store
                if plain && after_write && (by.plainly_after(&cell.read) || by.is_own(&cell.read)) =>
            {
                cell.unwritten = 0;
                cell.write = by.entry;
                cell.read = Entry::default();
            }
            _ => self.slowly(cell, by),
        }
    }

    #[cold]
    #[inline(never)]
    fn slowly(&mut self, cell: &mut Cell, by: &Accessor<'_>) {
        let writes = by.access != Access::Load;
        self.compare(&cell.write, true, by);
        if writes {
            self.compare(&cell.read, false, by);
        }
        if cell.extra != 0 {
            let extra = std::mem::take(self.extras.of(cell));
            extra.strong_writes.iter().for_each(|entry| self.compare_strong(entry, &extra, by));
            if by.site.is_strong() && by.site.scope < Scope::Gpu {
                let behind = extra.behind.iter().filter(|(_, wrote)| *wrote || writes);
                let unseen = behind.filter(|(entry, wrote)| !wrote || !extra.has_observers(entry, by));
                unseen.for_each(|(entry, wrote)| self.compare(entry, *wrote, by));
            }
            if writes {
                let reads = extra.reads.iter().chain(&extra.strong_reads);
                reads.for_each(|entry| self.compare(entry, false, by));
            }
            *self.extras.of(cell) = extra;
        }
        match (writes, by.site.is_strong()) {
            (true, false) => {
                self.extras.release(cell);
                (cell.unwritten, cell.write, cell.read) = (0, by.entry, Entry::default());
            }
            (true, true) => {
                cell.unwritten = 0;
                self.remember_strong(cell, by, true);
            }
            (false, true) => self.remember_strong(cell, by, false),
            (false, false) => self.remember_read(cell, by),
        }
    }

    /// Whether an earlier strong write races with this access, which may come after one that observed it.
    fn compare_strong(&mut self, entry: &Entry, extra: &Extra, by: &Accessor<'_>) {
        let before = self.conflict;
        self.compare(entry, true, by);
        let found = self.conflict.filter(|_| before.is_none());
        if found.is_some_and(|found| found.why == Why::Unordered) && extra.is_past(entry, by) {
            self.conflict = None;
        }
    }

    /// Whether an earlier access races with this one. The first of an instruction is enough.
    fn compare(&mut self, entry: &Entry, wrote: bool, by: &Accessor<'_>) {
        if !entry.exists() || self.conflict.is_some() || is_same_copy(entry, &by.entry) {
            return;
        }
        // Through another proxy only what its fences have passed on is ordered before; agents are of the async proxy
        // themselves, and readers of other proxies need no fence.
        let why = match by.proxied {
            None if by.is_after(entry, by.clock, true) => return,
            Some(proxied) => {
                let generic = by.is_after(entry, by.clock, true);
                match generic && (!wrote || entry.agent().is_some() || by.is_after(entry, proxied, false)) {
                    true => return,
                    false if generic => Why::Proxy,
                    false => Why::Unordered,
                }
            }
            None => Why::Unordered,
        };
        if why == Why::Unordered && self.is_morally_strong(entry, by) {
            return;
        }
        self.conflict = Some(Conflict { earlier: *entry, later: by.entry, later_access: by.access, why });
    }

    fn is_morally_strong(&self, entry: &Entry, by: &Accessor<'_>) -> bool {
        let site = self.sites.get(entry.site());
        let scope = NEWEST.common_scope(site.scope, by.site.scope);
        let home = match entry.range() {
            Some(_) if scope < Scope::Gpu => return false,
            _ => home_of(self.launches, entry.cta),
        };
        site.is_strong()
            && by.site.is_strong()
            && site.element == by.site.element
            && entry.agent().is_some() == by.proxied.is_some()
            && home.is_some_and(|home| home.shares(by.home, scope))
    }

    #[cold]
    #[inline(never)]
    fn remember_read(&mut self, cell: &mut Cell, by: &Accessor<'_>) {
        // The same lanes again, or more of the warp: in program order after themselves.
        let repeated = |entry: &Entry| {
            entry.is_of_threads()
                && entry.cta == by.home.cta
                && entry.warps == 1 << by.warp
                && entry.lanes & !by.lanes == 0
        };
        let over =
            |entry: &Entry| by.plainly_after(entry) || repeated(entry) || by.is_after(entry, by.clock, true);
        if by.entry.is_of_threads() && (!cell.read.exists() || over(&cell.read)) || cell.read == by.entry {
            cell.read = by.entry;
            return;
        }
        if cell.read.merge(&by.entry) {
            return;
        }
        let extra = self.extras.of(cell);
        extra.reads.retain(|entry| !over(entry));
        if extra.reads.iter_mut().any(|entry| entry.merge(&by.entry)) {
            return;
        }
        extra.reads.push(by.entry);
        if extra.reads.len() > READERS {
            let wide = widen(&mut extra.reads);
            extra.reads.extend(wide);
        }
    }

    fn remember_strong(&mut self, cell: &mut Cell, by: &Accessor<'_>, wrote: bool) {
        let sites = self.sites;
        let extra = self.extras.of(cell);
        let list = if wrote { &mut extra.strong_writes } else { &mut extra.strong_reads };
        let same = |entry: &Entry| {
            let site = sites.get(entry.site());
            site.scope == by.site.scope && site.element == by.site.element
        };
        let again = |entry: &Entry| {
            let (warps, lanes) = (entry.warps & by.entry.warps, entry.lanes & by.entry.lanes);
            entry.time == by.entry.time && entry.cta == by.entry.cta && warps != 0 && lanes != 0
        };
        if wrote && list.iter().any(again) {
            extra.repeated = by.entry.time;
        }
        if list.iter_mut().any(|entry| same(entry) && entry.merge(&by.entry)) {
            return;
        }
        // Who is morally strong to this access is so to the earlier one; if it is of another CTA, only with a wide scope.
        let wide = by.site.scope >= Scope::Gpu;
        let behind = &mut extra.behind;
        list.retain(|entry| {
            let site = sites.get(entry.site());
            let covers = site.scope >= by.site.scope && site.element == by.site.element;
            let near = entry.range().is_none() && entry.cta == by.home.cta;
            let over = covers && (near || wide) && by.is_after(entry, by.clock, true);
            if over {
                if behind.len() == STRONG {
                    behind.remove(0);
                }
                behind.push((*entry, wrote));
            }
            !over
        });
        list.push(by.entry);
        if list.len() > STRONG {
            let (mut alike, others): (Vec<Entry>, Vec<Entry>) = list.iter().partition(|entry| same(entry));
            if alike.len() > STRONG {
                let wide = widen(&mut alike);
                *list = others.into_iter().chain(alike).chain(wide).collect();
            }
        }
    }
}

/// Whether both are parts of one asynchronous copy.
fn is_same_copy(a: &Entry, b: &Entry) -> bool {
    a.agent().is_some()
        && (a.time, a.cta, a.warps, a.lanes, a.site) == (b.time, b.cta, b.warps, b.lanes, b.site)
}

/// Takes entries of threads out of a list, and gives one that stands for all of them.
fn widen(list: &mut Vec<Entry>) -> Option<Entry> {
    let mut wide: Option<Entry> = None;
    list.retain(|entry| {
        if entry.agent().is_some() {
            return true;
        }
        wide = Some(match wide {
            Some(wide) => wide.widened(entry),
            None => entry.widened(entry),
        });
        false
    });
    wide
}

/// The launch that a CTA belongs to.
pub(crate) fn launch_of(launches: &[Launch], cta: u32) -> Option<&Launch> {
    let behind = launches.partition_point(|launch| launch.first <= cta);
    launches[..behind].last()
}

/// Where a CTA is.
pub(crate) fn home_of(launches: &[Launch], cta: u32) -> Option<Home> {
    launch_of(launches, cta).map(|launch| launch.home(launch.block_of(cta)))
}
