//! Whether an access races with one that a cell remembers, and what the cell remembers afterwards.
//!
//! Two accesses race if they conflict, neither is ordered before the other by causality, and they are not morally strong
//! (PTX ISA, "Data-race freedom"). An earlier access is forgotten only when every later one that would race with it races
//! with its successor too.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::shadow::{Cell, Entry, Extra, Kind, ONLY_READS, WHOLE};
use crate::state::home_of;
use machine::fault::Access;
use memory_model::definitions::NEWEST;
use memory_model::event::Scope;

/// Strong operations of a cell that are remembered: at least so many of the last ones. A race with a forgotten one is missed.
pub(crate) const STRONG: usize = 16;

/// Why two accesses race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Nothing orders them.
    Unordered,
    /// They are ordered, but a proxy fence is missing.
    Proxy,
}

/// What two conflicting accesses are that are not ordered without locks, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Nothing orders them: a race of this run.
    Happened,
    /// A race of a reordering of this run.
    Predicted,
    /// They have no lock in common.
    Undisciplined,
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    pub(crate) earlier: Entry,
    pub(crate) later: Entry,
    pub(crate) later_access: Access,
    pub(crate) why: Why,
    /// Of an analysis of locks what it is to them; else it happened.
    pub(crate) class: Class,
}

impl Checker<'_> {
    #[cold]
    #[inline(never)]
    pub(crate) fn slowly(&mut self, cell: &mut Cell, by: &Accessor<'_>) {
        if by.site.is_strong() && self.like_others(cell, by) {
            return;
        }
        // Its bytes are not told apart.
        cell.shifts = [WHOLE; 2];
        let writes = by.access != Access::Load;
        self.compare(&cell.write, true, by);
        if writes {
            self.compare(&cell.read, false, by);
        }
        if writes {
            let readers = *self.extras.reads(cell.extra);
            readers.as_slice().iter().for_each(|entry| self.compare(entry, false, by));
        }
        if cell.extra != 0 && cell.extra & ONLY_READS == 0 {
            let mut extra = std::mem::take(self.extras.get_mut(cell.extra));
            extra.steady = None;
            if writes {
                extra.polls.clear();
            }
            // Those of one kind are morally strong among themselves.
            let alike = extra.kind.is_some() && extra.kind == kind_of(by);
            if !alike {
                extra.strong_writes.iter().for_each(|entry| self.compare_strong(entry, &extra, by));
            }
            if !alike && by.site.is_strong() && by.site.scope < Scope::Gpu {
                let behind = extra.behind.iter().filter(|(_, wrote)| *wrote || writes);
                let unseen =
                    behind.filter(|(entry, wrote)| !wrote || !extra.has_observers(entry, by, self.sites));
                unseen.for_each(|(entry, wrote)| self.compare(entry, *wrote, by));
            }
            if writes && !alike {
                extra.strong_reads.iter().for_each(|entry| self.compare(entry, false, by));
            }
            *self.extras.get_mut(cell.extra) = extra;
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

    /// Makes a strong access to a cell on which all strong operations were of its kind, if weak ones are plainly before.
    fn like_others(&mut self, cell: &mut Cell, by: &Accessor<'_>) -> bool {
        if cell.extra == 0 || cell.extra & ONLY_READS != 0 {
            return false;
        }
        let writes = by.access != Access::Load;
        let extra = self.extras.get_mut(cell.extra);
        let alike = extra.kind.is_some() && extra.kind == kind_of(by) && extra.reads == 0;
        if !alike || !by.plainly_after(&cell.write) || writes && !by.plainly_after(&cell.read) {
            return false;
        }
        cell.shifts = [WHOLE; 2];
        if writes {
            extra.polls.clear();
            cell.unwritten = 0;
        }
        self.remember_strong(cell, by, writes);
        true
    }

    /// Whether an earlier strong write races with this access, which may come after one that observed it.
    fn compare_strong(&mut self, entry: &Entry, extra: &Extra, by: &Accessor<'_>) {
        let before = self.conflict;
        self.compare(entry, true, by);
        let found = self.conflict.filter(|_| before.is_none());
        if found.is_some_and(|(found, _)| found.why == Why::Unordered) && extra.is_past(entry, by, self.sites)
        {
            self.conflict = None;
        }
    }

    /// Whether an earlier access races with this one. The first of an instruction is enough.
    fn compare(&mut self, entry: &Entry, wrote: bool, by: &Accessor<'_>) {
        let known = self.conflict.map(|(conflict, _)| conflict.class);
        if !entry.exists() || known == Some(Class::Happened) || is_same_copy(entry, &by.entry) {
            return;
        }
        // Through another proxy only what its fences have passed on is ordered before; agents are of the async proxy
        // themselves, and readers of other proxies need no fence.
        let why = match by.proxied {
            // That is looked at first which is told fastest.
            None if entry.time <= by.everyone || self.is_morally_strong(entry, by) => return,
            None if !by.surely_races_with(entry, by.clock, true) => return,
            Some(proxied) => {
                let generic = !by.surely_races_with(entry, by.clock, true);
                let passed = || entry.agent().is_some() || !by.surely_races_with(entry, proxied, false);
                match generic && (!wrote || passed()) {
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
        let (mut earlier, later) = by.two_threads(entry);
        let mut class = Class::Happened;
        if let Some(locks) = self.locks {
            let Some((of_locks, (_, warp, lane))) = locks.class(entry, by) else { return };
            if known.is_some_and(|known| known <= of_locks) {
                return;
            }
            if earlier.is_of_threads() {
                (earlier.warps, earlier.lanes) = (1 << warp, 1 << lane);
            }
            class = of_locks;
        }
        let conflict = Conflict { earlier, later, later_access: by.access, why, class };
        self.conflict = Some((conflict, self.element));
    }

    fn is_morally_strong(&self, entry: &Entry, by: &Accessor<'_>) -> bool {
        let site = self.sites.get(entry.site());
        let scope = NEWEST.common_scope(site.scope, by.site.scope);
        let home = home_of(self.launches, entry.cta);
        site.is_strong()
            && by.site.is_strong()
            && site.element == by.site.element
            && entry.agent().is_some() == by.proxied.is_some()
            && home.is_some_and(|home| home.shares(by.home, scope))
    }

    #[cold]
    #[inline(never)]
    fn remember_read(&mut self, cell: &mut Cell, by: &Accessor<'_>) {
        let over = |entry: &Entry| by.reads_over(entry, by.lanes);
        if cell.read.merge(&by.entry) || cell.read == by.entry {
            return;
        }
        // The latest stands in the cell: the same threads will often read again.
        let earlier = std::mem::replace(&mut cell.read, by.entry);
        if earlier.exists() && !over(&earlier) {
            self.extras.keep_read(&mut cell.extra, earlier, over);
        }
    }

    pub(crate) fn remember_strong(&mut self, cell: &mut Cell, by: &Accessor<'_>, wrote: bool) {
        let sites = self.sites;
        let extra = self.extras.of(cell);
        let kind = kind_of(by);
        let first = extra.strong_writes.is_empty() && extra.strong_reads.is_empty();
        extra.kind = kind.filter(|_| first || extra.kind == kind);
        let list = if wrote { &mut extra.strong_writes } else { &mut extra.strong_reads };
        let same = |entry: &Entry| {
            let site = sites.get(entry.site());
            site.scope == by.site.scope && site.element == by.site.element
        };
        if wrote && list.iter().any(|entry| entry.is_again(&by.entry)) {
            extra.repeated = by.entry.time;
        }
        if list.iter_mut().any(|entry| entry.time == by.entry.time && same(entry) && entry.merge(&by.entry)) {
            return;
        }
        list.push(by.entry);
        if list.len() < 2 * STRONG {
            return;
        }
        // Who is morally strong to this access is so to the earlier one; if it is of another CTA, only with a wide scope.
        let wide = by.site.scope >= Scope::Gpu;
        let behind = &mut extra.behind;
        list.retain(|entry| {
            let site = sites.get(entry.site());
            let covers = site.scope >= by.site.scope && site.element == by.site.element;
            let over = *entry != by.entry
                && covers
                && (entry.cta == by.home.cta || wide)
                && by.is_after(entry, by.clock, true);
            if over {
                if behind.len() == STRONG {
                    behind.remove(0);
                }
                behind.push((*entry, wrote));
            }
            !over
        });
        list.drain(..list.len().saturating_sub(STRONG));
    }
}

/// The kind of a strong operation. Agents are through another proxy, and ranges of CTAs may have threads that do not share a scope.
fn kind_of(by: &Accessor<'_>) -> Option<Kind> {
    let strong = by.site.is_strong() && by.entry.is_of_threads() && by.proxied.is_none();
    strong.then(|| Kind::of(by.site, by.home))
}

/// Whether both are parts of one asynchronous copy.
fn is_same_copy(a: &Entry, b: &Entry) -> bool {
    a.agent().is_some()
        && (a.time, a.cta, a.warps, a.lanes, a.site) == (b.time, b.cta, b.warps, b.lanes, b.site)
}
