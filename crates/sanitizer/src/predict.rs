//! Accesses that only locks keep apart: whether a race of a reordering of this run can be told of them, or that they keep no
//! discipline, or neither.
//!
//! A reordering has the same operations of each thread, as far as it goes, and every read reads what it has read; critical
//! sections of a lock may come in another order. What is unordered by the [forced](crate::knowledge::ByLocks) order, and is the
//! first such pair of a launch, is a race of a reordering, or there is one that does not end (Kini, Mathur, Viswanathan, theorem
//! 1); which needs a thread that holds two locks, so of launches that have one nothing is predicted.
//!
//! Accesses that even the end of one section and the begin of the next do not order, and that have no lock in common although
//! one of them is made under one, keep no discipline (Savage and others: Eraser, 1997; O'Callahan and Choi: Hybrid dynamic data
//! race detection, 2003). That proves nothing: what a section has read may have told that the other one is over.

use crate::accessor::Accessor;
use crate::candidates::Candidate;
use crate::detector::{Detector, Target, Who, lanes_of};
use crate::diagnose;
use crate::locks::{Locks, Section};
use crate::observed::Thread;
use crate::race::{Class, Conflict};
use crate::report::{PREDICTED, Report, UNDISCIPLINED};
use crate::shadow::Entry;
use std::collections::BTreeSet;

impl Locks {
    /// What an access is to an earlier one that conflicts with it and is not ordered before it without locks, and a thread
    /// of the earlier one of which that is true; `None` if locks keep them apart.
    pub(crate) fn class(&self, entry: &Entry, by: &Accessor<'_>) -> Option<(Class, Thread)> {
        let Some(known) = by.knowledge else {
            return Some((Class::Happened, first_of(entry, |_| true)?));
        };
        let here = entry.cta == by.home.cta && entry.is_of_threads() && by.entry.is_of_threads();
        let own = |(_, warp, lane): Thread| here && warp == by.warp && by.lanes == 1 << lane;
        let behind = |clock: &crate::clock::Clock, thread: Thread| {
            clock.lane(thread.0, thread.1, thread.2) < entry.time && !own(thread)
        };
        let mine = || self.sections((by.home.cta, by.warp, by.lanes.trailing_zeros()));
        let mine = || mine().filter(|section| section.to == u32::MAX);
        // Whether they have no lock in common, and whether one has any.
        let apart = |thread: Thread| {
            let theirs = self.sections_at(thread, entry.time)?;
            let common = theirs.clone().any(|a| mine().any(|b| a.lock == b.lock));
            (!common).then(|| theirs.chain(mine()).next().is_some())
        };
        let happened = |thread| behind(known.happened(), thread);
        let predicted = |thread| behind(known.forced(), thread) && apart(thread).is_some();
        let undisciplined = |thread| behind(&known.generic, thread) && apart(thread) == Some(true);
        if entry.surely_has(happened) {
            Some((Class::Happened, first_of(entry, happened)?))
        } else if entry.surely_has(predicted) {
            Some((Class::Predicted, first_of(entry, predicted)?))
        } else if entry.surely_has(undisciplined) {
            Some((Class::Undisciplined, first_of(entry, undisciplined)?))
        } else {
            None
        }
    }
}

/// The first of those that an entry may stand for that has a property.
fn first_of(entry: &Entry, property: impl Fn(Thread) -> bool) -> Option<Thread> {
    let warps: Vec<u16> = match entry.agent() {
        Some(agent) => vec![agent],
        None => lanes_of(entry.warps).map(|warp| warp as u16).collect(),
    };
    let threads =
        warps.into_iter().flat_map(|warp| lanes_of(entry.lanes).map(move |lane| (entry.cta, warp, lane)));
    threads.into_iter().find(|thread| property(*thread))
}

impl Detector {
    /// Two accesses that no order but that of sections keeps apart.
    pub(crate) fn suspect(&mut self, who: Who, conflict: &Conflict, target: Target, bytes: u64) {
        let (launch, decided) = (who.launch, self.candidates.is_decided(who.launch));
        let class = match conflict.class {
            // It may keep no discipline, too.
            Class::Predicted if decided || !self.checks.predict => Class::Undisciplined,
            class => class,
        };
        if class == Class::Undisciplined && !self.checks.locks {
            return;
        }
        let conflict = &Conflict { class, ..*conflict };
        let sites = (conflict.later.site(), conflict.earlier.site());
        if class <= Class::Predicted {
            // What comes behind a race may not come at all in another order.
            self.candidates.decide(launch);
        }
        if class != Class::Happened && self.candidates.is_new(launch, class, sites) {
            let candidate = self.candidate(who, conflict, (target, bytes));
            self.candidates.add(candidate);
        }
    }

    fn candidate(&self, who: Who, conflict: &Conflict, (target, bytes): (Target, u64)) -> Option<Candidate> {
        let locks = self.locks.as_deref()?;
        let (class, sites) = (conflict.class, (conflict.later.site(), conflict.earlier.site()));
        let thread = |entry: &Entry| {
            let warp = entry.agent().unwrap_or(entry.warps.trailing_zeros() as u16);
            (entry.cta, warp, entry.lanes.trailing_zeros())
        };
        let (theirs, mine) = (thread(&conflict.earlier), thread(&conflict.later));
        let at = |thread, time| {
            locks.sections_at(thread, time).map_or_else(Vec::new, |all| all.cloned().collect())
        };
        let (under, over) = (at(theirs, conflict.earlier.time), at(mine, conflict.later.time));
        let held = under.iter().chain(&over).map(|section| section.lock);
        let mut all: BTreeSet<u64> = held.collect();
        if class == Class::Undisciplined && all.is_empty() {
            return None;
        }
        let text = match class {
            Class::Predicted => {
                let handed = handed_over(locks, theirs, mine, conflict.earlier.time);
                all.extend(handed.iter().map(|(earlier, _)| earlier.lock));
                self.reordering(handed)
            }
            Class::Happened | Class::Undisciplined => self.discipline(&under, &over),
        };
        let (kind, missing) = match class {
            Class::Predicted => (PREDICTED, "order-of-sections"),
            Class::Happened | Class::Undisciplined => (UNDISCIPLINED, "common-lock"),
        };
        let report = diagnose::pair(self, kind, conflict, (target, bytes), (missing, text));
        Some(Candidate { launch: who.launch, class, sites, report, count: 1, locks: all })
    }

    /// How the run is to be reordered.
    fn reordering(&self, handed: Option<(&Section, &Section)>) -> String {
        let behind = "nothing that they access makes them come in this order; the other way round nothing orders the two accesses";
        match handed {
            Some((earlier, later)) => format!(
                "an order that does not depend on who takes the lock in {} first: here the section from {} to {} came before that from {}, and {behind}",
                place_of(earlier.lock),
                self.line(earlier.took),
                self.line(earlier.gave),
                self.line(later.took),
            ),
            None => format!("an order that does not depend on whose critical sections come first: {behind}"),
        }
    }

    fn discipline(&self, theirs: &[Section], mine: &[Section]) -> String {
        let held = |sections: &[Section]| match sections.first() {
            Some(section) => {
                format!("holds the lock in {}, taken at {}", place_of(section.lock), self.line(section.took))
            }
            None => "holds no lock".to_owned(),
        };
        format!(
            "a lock for both: the later one {}, the earlier one {}; this is a rule of thumb, not a proof",
            held(mine),
            held(theirs)
        )
    }

    fn line(&self, site: u32) -> String {
        diagnose::line_of(self, site)
            .map_or_else(|| "an unknown line".to_owned(), |line| format!("line {line}"))
    }

    /// What is to be told of a launch that is over; nobody of it comes to a lock any more.
    pub(crate) fn foreseen(&mut self, launch: usize) -> Vec<((u32, u32), u64, Report)> {
        let of = &self.launches[launch];
        let (ctas, alone) =
            (of.first..of.first + of.ctas(), self.launches.iter().all(|of| of.ended.is_some()));
        let Some(locks) = self.locks.as_deref_mut() else { return Vec::new() };
        // Where something was taken for a lock that is none, what was ordered by values was not seen to be.
        let sound = locks.mistaken.is_empty();
        let predicts = sound && !locks.nested.contains(&launch);
        let holds = |candidate: &Candidate| match candidate.class {
            Class::Predicted => predicts,
            Class::Happened => false,
            Class::Undisciplined => sound && candidate.locks.iter().any(|lock| locks.is_shared(*lock)),
        };
        let kept = self.candidates.take(launch).into_iter().filter(holds);
        let told = kept.map(|candidate| (candidate.sites, candidate.count, candidate.report)).collect();
        locks.launch_done(ctas, alone);
        told
    }
}

/// The sections by which one thread came before another one: that which the one has ended first behind a time, and that
/// of the same lock which the other one has begun first after that.
fn handed_over(locks: &Locks, from: Thread, to: Thread, since: u32) -> Option<(&Section, &Section)> {
    let mut ended = locks.sections(from).filter(|section| section.to != u32::MAX && section.to >= since);
    ended.find_map(|earlier| {
        let mut later =
            locks.sections(to).filter(|later| later.lock == earlier.lock && later.from > earlier.to);
        Some((earlier, later.next()?))
    })
}

fn place_of(lock: u64) -> String {
    diagnose::place(Target::of_key(lock))
}
