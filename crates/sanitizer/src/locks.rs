//! Locks: locations that threads take and give back, and the critical sections between.
//!
//! A location is a lock for as long as all that is done to it looks like one: a thread that finds it free changes it by a
//! compare-and-swap or an exchange; until the same thread puts the value of a free lock back, whoever else tries leaves it as it
//! is. A word that tells whose turn it is, is one for those who have drawn [tickets](crate::tickets): it is taken by who reads its own
//! number there. What was found there tells; of an operation that has not been executed yet the next one at the location tells. A thread
//! that has tried in vain may do nothing but try again, else what it does depends on who had the lock. Locations that are no locks,
//! and those that are found to be none, order their threads as values do: who reads comes after who wrote.
//!
//! What a section passes on to the next one is of two kinds ([`crate::knowledge::ByLocks`]). All that *happened* before its end
//! happened before the next one in this run. *Forced* is only what must be so in every order of the sections in which all reads
//! read what they have read: the relation weak-causally-precedes (Kini, Mathur, Viswanathan: Dynamic race prediction in linear time,
//! PLDI 2017). It has three rules: the end of a section comes before what a later section of the lock does to a location that both
//! access, one of them writing; if anything in one section comes before anything in a later one, so do their ends; and what comes
//! before something that happened before comes before.

use crate::clock::{Clock, Time, join};
use crate::knowledge::Knowledge;
use crate::observed::Thread;
use crate::site::SiteId;
use crate::tickets::Step;
use machine::fault::Access;
use ptx::module::FuncId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;

/// Locations that are told apart. What is done to more orders as if it were done to one.
const LOCATIONS: usize = 1 << 16;
/// Words that sections of a lock access, of a section and of all: if there are more, any two count as accessing the same.
const WORDS: usize = 1 << 12;
/// Sections of a lock whose ends may have to be ordered. Earlier ones count as forced.
const PAST: usize = 32;
/// Sections of a thread that are remembered. Whether it held a lock before them is not known.
const SECTIONS: usize = 64;
/// Readers of a location since it was written.
const READERS: usize = 64;

/// Writes of a location that are told apart: who comes behind more of them comes behind everything.
const WRITES: u32 = 1 << 10;

/// What a thread does to a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Load,
    Store,
    /// A compare-and-swap, and whether it has changed the location.
    Swap(bool),
    Exchange,
    /// An addition that draws a [ticket](crate::tickets), as far as the text tells.
    Draw,
    /// Any other atomic operation.
    Atomic,
}

impl Deed {
    /// What the machine calls it.
    pub(crate) fn access(self) -> Access {
        match self {
            Self::Load | Self::Swap(false) => Access::Load,
            Self::Store => Access::Store,
            Self::Swap(true) | Self::Exchange | Self::Draw | Self::Atomic => Access::Atomic,
        }
    }
}

/// What that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It took the lock, or gave it back.
    Took,
    Gave,
    /// It found the lock taken, or looked whether it is.
    Tried,
    /// It has the lock, and looked at it.
    Looked,
    /// It drew a ticket.
    Drew,
    /// The location is no lock.
    Plain,
}

/// A critical section of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) lock: u64,
    /// When it began and ended: while it lasts at the end of time.
    pub(crate) from: Time,
    pub(crate) to: Time,
    pub(crate) took: SiteId,
    pub(crate) gave: SiteId,
    /// Words that it has read and written; if there are too many, all.
    read: FxHashSet<u64>,
    written: FxHashSet<u64>,
    overflows: bool,
}

/// What the ends of sections that have accessed something had behind them.
#[derive(Clone, Debug, Default)]
struct Ends {
    read: Arc<Clock>,
    written: Arc<Clock>,
}

/// A section that is over, for the rule of ends.
#[derive(Clone, Debug)]
struct Past {
    thread: Thread,
    from: Time,
    end: Arc<Clock>,
}

/// What the value must be that is found next.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Any,
    Is(u64),
    IsNot(u64),
}

/// A location that has behaved like a lock so far.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    free: Option<u64>,
    expected: Expected,
    holder: Option<Thread>,
    /// Where the tickets are drawn from, of a lock that goes by these.
    counter: Option<u64>,
    released: Knowledge,
    /// By word, and of sections that have accessed too many.
    ends: FxHashMap<u64, Ends>,
    others: Ends,
    past: VecDeque<Past>,
    forgotten: Arc<Clock>,
    /// How often it was given back, and by which two threads.
    given: u32,
    first: Option<Thread>,
    shared: bool,
}

/// A ticket that a thread has drawn, and whose turn has not come.
#[derive(Clone, Copy, Debug)]
struct Ticket {
    counter: u64,
    number: u64,
}

/// A location that strong operations access.
#[derive(Clone, Debug, Default)]
struct Location {
    /// What those know who have written there, and who have read since: threads, when, and what they knew.
    written: Knowledge,
    readers: Vec<((u32, u16, u32), Time, Knowledge)>,
    writes: u32,
    /// `None` until the first operation.
    lock: Option<Box<Lock>>,
    plain: bool,
    /// How many tickets were drawn from it, if that is all that was done to it, and where its turns are told.
    drawn: u32,
    turns: Option<u64>,
}

/// All locks, and who holds them.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    locations: FxHashMap<u64, Location>,
    held: FxHashMap<Thread, Vec<Section>>,
    /// Lanes of warps that hold any.
    holders: FxHashMap<(u32, u16), u32>,
    over: FxHashMap<Thread, VecDeque<Section>>,
    /// Who has tried in vain, or looked, and done nothing since.
    tries: FxHashMap<Thread, u64>,
    /// Who has drawn a ticket, and waits.
    tickets: FxHashMap<Thread, Ticket>,
    /// By module and function the instructions that draw tickets.
    pub(crate) draws: FxHashMap<(u32, FuncId), Vec<(u32, Step)>>,
    /// What compare-and-swaps have found that are not decided yet.
    pub(crate) found: FxHashMap<(u32, u16), Box<[Option<u64>; 32]>>,
    /// Launches in which a thread has held two locks at once.
    pub(crate) nested: FxHashSet<usize>,
    /// Locations that were no locks after all, but had been taken for ones for more than a section.
    pub(crate) mistaken: FxHashSet<u64>,
}

impl Lock {
    fn new() -> Self {
        Self {
            free: None,
            expected: Expected::Any,
            holder: None,
            counter: None,
            released: Knowledge::default(),
            ends: FxHashMap::default(),
            others: Ends::default(),
            past: VecDeque::new(),
            forgotten: Arc::default(),
            given: 0,
            first: None,
            shared: false,
        }
    }

    /// What a thread does to it that finds a value there, if that is known; `None` if no lock is treated so.
    fn deed(
        &mut self,
        thread: Thread,
        (deed, found): (Deed, Option<u64>),
        ticket: Option<Ticket>,
    ) -> Option<Outcome> {
        if let Some(found) = found {
            let right = match self.expected {
                Expected::Any => true,
                Expected::Is(value) => found == value,
                Expected::IsNot(value) => found != value,
            };
            if !right {
                return None;
            }
            self.expected = Expected::Is(found);
        }
        let own = self.holder == Some(thread);
        match (self.holder, deed) {
            (None, Deed::Load) if ticket.is_some_and(|ticket| found == Some(ticket.number)) => {
                if self.free.is_some() {
                    return None;
                }
                self.counter = ticket.map(|ticket| ticket.counter);
                self.holder = Some(thread);
                Some(Outcome::Took)
            }
            (None, Deed::Swap(true) | Deed::Exchange) if self.counter.is_none() => {
                let found = found?;
                if self.free.is_some_and(|free| free != found) {
                    return None;
                }
                (self.free, self.expected) = (Some(found), Expected::IsNot(found));
                self.holder = Some(thread);
                Some(Outcome::Took)
            }
            (Some(_), Deed::Store | Deed::Swap(true) | Deed::Exchange | Deed::Atomic) if own => {
                self.expected = match (self.counter, found) {
                    (Some(_), Some(turn)) => Expected::Is(turn.wrapping_add(1)),
                    (Some(_), None) => return None,
                    (None, _) => self.free.map_or(Expected::Any, Expected::Is),
                };
                self.holder = None;
                Some(Outcome::Gave)
            }
            (Some(_), Deed::Load | Deed::Swap(false)) if own => Some(Outcome::Looked),
            (_, Deed::Load | Deed::Swap(false)) | (Some(_), Deed::Exchange) => Some(Outcome::Tried),
            (None, Deed::Store | Deed::Atomic | Deed::Swap(true) | Deed::Exchange)
            | (Some(_), Deed::Store | Deed::Swap(true) | Deed::Atomic)
            | (_, Deed::Draw) => None,
        }
    }

    /// What the ends of earlier sections had behind them that come before an access to a word.
    fn ends_before(&self, word: u64, writes: bool) -> impl Iterator<Item = &Arc<Clock>> {
        let of_word = self.ends.get(&word).into_iter().chain([&self.others]);
        of_word.flat_map(move |ends| {
            let read = writes.then_some(&ends.read);
            [Some(&ends.written), read].into_iter().flatten()
        })
    }

    fn add_ends(&mut self, section: &Section, end: &Arc<Clock>) {
        if section.overflows || self.ends.len() >= WORDS {
            join(&mut self.others.read, end);
            join(&mut self.others.written, end);
            return;
        }
        for word in &section.read {
            join(&mut self.ends.entry(*word).or_default().read, end);
        }
        for word in &section.written {
            join(&mut self.ends.entry(*word).or_default().written, end);
        }
    }

    /// Whether at least two threads have taken it and given it back.
    fn is_shared(&self) -> bool {
        self.shared
    }
}

impl Location {
    /// What whoever comes to it must come after: those who have written, and for who writes those who have read.
    fn learn(&self, writes: bool, into: &mut Knowledge) {
        into.join(&self.written);
        if writes {
            for ((cta, warp, lanes), time, knowledge) in &self.readers {
                let mut read = knowledge.of_all_that_happened();
                read.learn(*cta, *warp, *lanes, *time);
                into.join(&read);
            }
        }
    }

    /// Lanes have read.
    fn note_reader(&mut self, who: (u32, u16, u32), time: Time, knowledge: &Knowledge) {
        let known = self.readers.iter().position(|(reader, ..)| *reader == who);
        let at = known.unwrap_or(self.readers.len());
        let reader = (who, time, knowledge.clone());
        match self.readers.get_mut(at) {
            Some(known) => *known = reader,
            None if at < READERS => self.readers.push(reader),
            // It counts as a write: those who read next come behind it, too.
            None => {
                let mut read = knowledge.of_all_that_happened();
                read.learn(who.0, who.1, who.2, time);
                self.written.join(&read);
            }
        }
    }

    /// Lanes have written. Those who add where others add do not come after one another, so what they know is added.
    fn note_writer(&mut self, (cta, warp, lanes): (u32, u16, u32), time: Time, knowledge: &Knowledge) {
        self.readers.clear();
        self.writes = self.writes.saturating_add(1);
        if self.writes > WRITES {
            self.written = Knowledge::all_until(time);
            return;
        }
        let mut written = knowledge.of_all_that_happened();
        written.learn(cta, warp, lanes, time);
        self.written.join(&written);
    }
}

impl Locks {
    fn location(&mut self, key: u64) -> &mut Location {
        let full = self.locations.len() >= LOCATIONS;
        let key = if full && !self.locations.contains_key(&key) { u64::MAX } else { key };
        let location = self.locations.entry(key).or_default();
        location.plain |= key == u64::MAX;
        location
    }

    /// A thread does something to a location, of which the value is known that it finds: what that is. A location that turns
    /// out to be no lock counts as written by everybody.
    pub(crate) fn deed(
        &mut self,
        key: u64,
        thread: Thread,
        (deed, found): (Deed, Option<u64>),
        now: Time,
    ) -> Outcome {
        let ticket = self.ticket(thread, key);
        let location = self.location(key);
        if location.plain {
            return Outcome::Plain;
        }
        if location.drawn > 0 || deed == Deed::Draw {
            return self.draw(key, thread, (deed, found), now);
        }
        let lock = location.lock.get_or_insert_with(|| Box::new(Lock::new()));
        match lock.deed(thread, (deed, found), ticket) {
            Some(Outcome::Took) if deed == Deed::Load => {
                if let Some(Ticket { counter, .. }) = self.tickets.remove(&thread) {
                    self.location(counter).turns = Some(key);
                }
                Outcome::Took
            }
            Some(outcome) => outcome,
            None => {
                self.is_no_lock(key, now);
                Outcome::Plain
            }
        }
    }

    /// The ticket of a thread, if its turn may be told at a location.
    fn ticket(&mut self, thread: Thread, key: u64) -> Option<Ticket> {
        let ticket = *self.tickets.get(&thread)?;
        let turns = self.location(ticket.counter).turns;
        turns.is_none_or(|turns| turns == key).then_some(ticket)
    }

    /// A thread does something to a location from which tickets are drawn, or draws the first one.
    fn draw(&mut self, key: u64, thread: Thread, (deed, found): (Deed, Option<u64>), now: Time) -> Outcome {
        let location = self.location(key);
        match found {
            Some(number)
                if deed == Deed::Draw && location.lock.is_none() && !self.tickets.contains_key(&thread) =>
            {
                self.location(key).drawn += 1;
                self.tickets.insert(thread, Ticket { counter: key, number });
                Outcome::Drew
            }
            _ => {
                self.is_no_counter(key, now);
                Outcome::Plain
            }
        }
    }

    /// Not all that draw from a location wait for their turns.
    fn is_no_counter(&mut self, key: u64, now: Time) {
        let location = self.location(key);
        location.plain = true;
        if std::mem::take(&mut location.drawn) > 0 {
            location.written = Knowledge::all_until(now);
            let turns = location.turns.take();
            self.tickets.retain(|_, ticket| ticket.counter != key);
            self.mistaken.insert(key);
            turns.into_iter().for_each(|turns| self.is_no_lock(turns, now));
        }
        self.is_no_lock(key, now);
    }

    /// A location is found to be no lock.
    fn is_no_lock(&mut self, key: u64, now: Time) {
        let location = self.location(key);
        location.plain = true;
        let Some(lock) = location.lock.take() else { return };
        if lock.free.is_some() || lock.counter.is_some() {
            // What was done to it as to a lock is not remembered as what is done to a value.
            location.written = Knowledge::all_until(now);
        }
        if lock.given > 0 {
            self.mistaken.insert(key);
        }
        if let Some(holder) = lock.holder {
            self.drop_section(holder, key);
        }
        if let Some(counter) = lock.counter {
            self.is_no_counter(counter, now);
        }
    }

    fn drop_section(&mut self, thread: Thread, key: u64) -> Option<Section> {
        let held = self.held.get_mut(&thread)?;
        let at = held.iter().position(|section| section.lock == key)?;
        let section = held.remove(at);
        if held.is_empty() {
            self.held.remove(&thread);
            let warp = (thread.0, thread.1);
            if let Some(lanes) = self.holders.get_mut(&warp) {
                *lanes &= !(1 << thread.2);
                if *lanes == 0 {
                    self.holders.remove(&warp);
                }
            }
        }
        Some(section)
    }

    /// A thread has taken a lock: what it learns. Its section begins at a time.
    pub(crate) fn take(
        &mut self,
        key: u64,
        thread: Thread,
        (took, from): (SiteId, Time),
        into: &mut Knowledge,
    ) -> bool {
        let Some(lock) = &self.location(key).lock else { return false };
        into.join(&lock.released);
        if lock.given > 0 {
            join(&mut into.by_locks().forced, &lock.forgotten);
        }
        let (read, written) = Default::default();
        let held = self.held.entry(thread).or_default();
        held.push(Section {
            lock: key,
            from,
            to: Time::MAX,
            took,
            gave: took,
            read,
            written,
            overflows: false,
        });
        let nested = held.len() > 1;
        *self.holders.entry((thread.0, thread.1)).or_default() |= 1 << thread.2;
        nested
    }

    /// A thread gives a lock back, and knows what it knows then.
    pub(crate) fn give(
        &mut self,
        key: u64,
        thread: Thread,
        (gave, now): (SiteId, Time),
        known: &mut Knowledge,
    ) {
        let Some(mut section) = self.drop_section(thread, key) else { return };
        let Some(lock) = &mut self.location(key).lock else { return };
        // If anything in an earlier section comes before anything in this one, its end comes before this one's.
        let before = |past: &&Past| {
            let (cta, warp, lane) = past.thread;
            past.thread != thread && known.forced().lane(cta, warp, lane) >= past.from
        };
        if let Some(end) = lock.past.iter().rev().find(before).map(|past| Arc::clone(&past.end)) {
            join(&mut known.by_locks().forced, &end);
        }
        let mut released = known.clone();
        let (cta, warp, lane) = thread;
        Arc::make_mut(&mut released.by_locks().happened).learn(cta, warp, 1 << lane, now);
        let end = Arc::clone(released.happened());
        lock.released = released;
        lock.add_ends(&section, &end);
        lock.past.push_back(Past { thread, from: section.from, end });
        if lock.past.len() > PAST
            && let Some(past) = lock.past.pop_front()
        {
            join(&mut lock.forgotten, &past.end);
        }
        lock.given += 1;
        lock.shared |= lock.first.is_some_and(|first| first != thread);
        lock.first.get_or_insert(thread);
        (section.to, section.gave) = (now, gave);
        let over = self.over.entry(thread).or_default();
        if over.len() == SECTIONS {
            over.pop_front();
        }
        over.push_back(section);
    }

    /// A thread that holds locks accesses words: what it learns from sections that have accessed the same.
    pub(crate) fn access(
        &mut self,
        thread: Thread,
        words: impl Iterator<Item = u64> + Clone,
        writes: bool,
        into: &mut Knowledge,
    ) {
        for section in self.held.get_mut(&thread).into_iter().flatten() {
            let lock = self.locations.get(&section.lock).and_then(|location| location.lock.as_deref());
            for word in words.clone() {
                let list = if writes { &mut section.written } else { &mut section.read };
                if list.len() < WORDS {
                    list.insert(word);
                } else {
                    section.overflows |= !list.contains(&word);
                }
                let before = lock.into_iter().flat_map(|lock| lock.ends_before(word, writes));
                before.for_each(|end| join(&mut into.by_locks().forced, end));
            }
        }
    }

    /// A thread reads, or writes, a location that is no lock: what it learns.
    pub(crate) fn come_to(&mut self, key: u64, deed: Deed, into: &mut Knowledge) {
        let writes = deed.access() != Access::Load;
        self.location(key).learn(writes, into);
    }

    /// Lanes have done so, and knew so much then.
    pub(crate) fn leave(
        &mut self,
        key: u64,
        deed: Deed,
        who: (u32, u16, u32),
        time: Time,
        known: &Knowledge,
    ) {
        let location = self.location(key);
        match deed.access() {
            Access::Load => location.note_reader(who, time, known),
            Access::Store | Access::Atomic => location.note_writer(who, time, known),
        }
    }

    /// A thread has tried to take a lock, or looked at it.
    pub(crate) fn has_tried(&mut self, thread: Thread, key: u64) {
        self.tries.insert(thread, key);
    }

    /// Lanes of a warp do something at a location, or something else: those that had tried to take another lock have not
    /// waited for it. Whether what they do next depends on values that others wrote.
    pub(crate) fn go_on(&mut self, thread: Thread, key: Option<u64>, now: Time) -> bool {
        let tried = self.tries.remove(&thread);
        let gave_up = tried.filter(|tried| key != Some(*tried));
        if let Some(lock) = gave_up {
            self.is_no_lock(lock, now);
        }
        gave_up.is_some()
    }

    /// Whether anybody has tried in vain.
    pub(crate) fn has_tries(&self) -> bool {
        !self.tries.is_empty()
    }

    /// The lanes of a warp that hold locks.
    #[inline(always)]
    pub(crate) fn holders(&self, cta: u32, warp: u16) -> u32 {
        if self.holders.is_empty() {
            return 0;
        }
        self.holders.get(&(cta, warp)).copied().unwrap_or(0)
    }

    /// The sections that a thread was in at a time; `None` if that is forgotten.
    pub(crate) fn sections_at(
        &self,
        thread: Thread,
        time: Time,
    ) -> Option<impl Iterator<Item = &Section> + Clone> {
        let over = self.over.get(&thread);
        let forgotten = over.filter(|over| over.len() == SECTIONS).is_some_and(|over| time <= over[0].to);
        let all = over.into_iter().flatten().chain(self.held.get(&thread).into_iter().flatten());
        (!forgotten).then(|| all.filter(move |section| section.from <= time && time <= section.to))
    }

    /// All sections of a thread that are remembered, in order.
    pub(crate) fn sections(&self, thread: Thread) -> impl Iterator<Item = &Section> {
        self.over.get(&thread).into_iter().flatten().chain(self.held.get(&thread).into_iter().flatten())
    }

    /// Whether a location has been a lock for several threads.
    pub(crate) fn is_shared(&self, key: u64) -> bool {
        let lock = self.locations.get(&key).and_then(|location| location.lock.as_ref());
        lock.is_some_and(|lock| lock.is_shared())
    }

    /// A CTA is over: nobody of it holds anything any more.
    pub(crate) fn cta_done(&mut self, cta: u32, now: Time) {
        let left: Vec<Thread> = self.tries.keys().copied().filter(|thread| thread.0 == cta).collect();
        for thread in left {
            self.go_on(thread, None, now);
        }
        let drawn =
            self.tickets.iter().filter(|(thread, _)| thread.0 == cta).map(|(_, ticket)| ticket.counter);
        let drawn: FxHashSet<u64> = drawn.collect();
        drawn.into_iter().for_each(|counter| self.is_no_counter(counter, now));
    }

    /// A launch of these CTAs is over, and whether others are under way.
    pub(crate) fn launch_done(&mut self, ctas: std::ops::Range<u32>, alone: bool) {
        self.over.retain(|thread, _| !ctas.contains(&thread.0));
        self.found.retain(|(cta, _), _| !ctas.contains(cta));
        if alone {
            *self = Self { draws: std::mem::take(&mut self.draws), ..Self::default() };
        }
    }
}
