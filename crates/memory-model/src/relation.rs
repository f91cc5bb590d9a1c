//! Sets and relations over the events of one execution, as bits.
//!
//! An execution has at most [`MAX_EVENTS`] events, so that a set is one machine word of 128 bits and a relation one such
//! word an event: row `a` holds the events that `a` is related to. All operators of the relational notation are loops
//! over rows.

/// The most events of an execution, initial writes included.
pub const MAX_EVENTS: usize = 128;

/// An event's place in its execution.
pub type EventId = usize;

/// A set of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Set(pub u128);

impl Set {
    /// The set of one event.
    pub const fn of(event: EventId) -> Self {
        Self(1 << event)
    }

    /// The first `n` events.
    pub const fn first(n: usize) -> Self {
        if n >= MAX_EVENTS { Self(u128::MAX) } else { Self((1 << n) - 1) }
    }

    /// Whether the event is a member.
    pub const fn contains(self, event: EventId) -> bool {
        self.0 >> event & 1 != 0
    }

    /// Adds an event.
    pub const fn insert(&mut self, event: EventId) {
        self.0 |= 1 << event;
    }

    /// Whether there is no member.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many members there are.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The members of both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The members of either.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members of this set that the other lacks.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The members, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = EventId> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let event = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(event)
        })
    }
}

impl FromIterator<EventId> for Set {
    fn from_iter<I: IntoIterator<Item = EventId>>(events: I) -> Self {
        let mut set = Self::default();
        for event in events {
            set.insert(event);
        }
        set
    }
}

/// A relation between events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    rows: Vec<Set>,
}

impl Relation {
    /// The empty relation over `n` events.
    pub fn empty(n: usize) -> Self {
        Self { rows: vec![Set::default(); n] }
    }

    /// The number of events it is over.
    pub fn size(&self) -> usize {
        self.rows.len()
    }

    /// Makes it the empty relation over `n` events.
    pub fn clear(&mut self, n: usize) {
        self.rows.clear();
        self.rows.resize(n, Set::default());
    }

    /// Makes it a copy of another, keeping its storage.
    pub fn copy(&mut self, other: &Self) {
        self.rows.clear();
        self.rows.extend_from_slice(&other.rows);
    }

    /// Extends it to `n` events; the new ones are unrelated.
    pub fn grow(&mut self, n: usize) {
        self.rows.resize(n, Set::default());
    }

    /// Adds a pair.
    pub fn insert(&mut self, from: EventId, to: EventId) {
        self.rows[from].insert(to);
    }

    /// Whether the pair is related.
    pub fn contains(&self, from: EventId, to: EventId) -> bool {
        self.rows.get(from).is_some_and(|row| row.contains(to))
    }

    /// The events that one is related to.
    pub fn row(&self, from: EventId) -> Set {
        self.rows[from]
    }

    /// Changes the events that one is related to.
    pub fn row_mut(&mut self, from: EventId) -> &mut Set {
        &mut self.rows[from]
    }

    /// Whether nothing is related.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| row.is_empty())
    }

    /// All pairs, in ascending order.
    pub fn pairs(&self) -> impl Iterator<Item = (EventId, EventId)> + '_ {
        self.rows.iter().enumerate().flat_map(|(from, row)| row.iter().map(move |to| (from, to)))
    }

    /// The identity on a set.
    pub fn set_identity(&mut self, n: usize, set: Set) {
        self.clear(n);
        for event in set.iter() {
            self.rows[event] = Set::of(event);
        }
    }

    /// All pairs of a member of one set and a member of another.
    pub fn set_product(&mut self, n: usize, from: Set, to: Set) {
        self.clear(n);
        for event in from.iter() {
            self.rows[event] = to;
        }
    }

    /// `self := self | other`.
    pub fn unite(&mut self, other: &Self) {
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            *row = row.or(*more);
        }
    }

    /// `self := self & other`.
    pub fn intersect(&mut self, other: &Self) {
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            *row = row.and(*more);
        }
    }

    /// `self := self \ other`.
    pub fn subtract(&mut self, other: &Self) {
        for (row, less) in self.rows.iter_mut().zip(&other.rows) {
            *row = row.minus(*less);
        }
    }

    /// `self := [set]; self`.
    pub fn restrict_from(&mut self, set: Set) {
        for (event, row) in self.rows.iter_mut().enumerate() {
            if !set.contains(event) {
                *row = Set::default();
            }
        }
    }

    /// `self := self; [set]`.
    pub fn restrict_to(&mut self, set: Set) {
        for row in &mut self.rows {
            *row = row.and(set);
        }
    }

    /// `self := self?`.
    pub fn reflex(&mut self) {
        for (event, row) in self.rows.iter_mut().enumerate() {
            row.insert(event);
        }
    }

    /// `self := first; second`.
    pub fn set_composition(&mut self, first: &Self, second: &Self) {
        self.clear(first.size());
        for (row, mids) in self.rows.iter_mut().zip(&first.rows) {
            let mut reached = Set::default();
            for mid in mids.iter() {
                reached = reached.or(second.rows[mid]);
            }
            *row = reached;
        }
    }

    /// `self := other^-1`.
    pub fn set_inverse(&mut self, other: &Self) {
        self.clear(other.size());
        for (from, to) in other.pairs() {
            self.rows[to].insert(from);
        }
    }

    /// `self := self+`.
    pub fn close(&mut self) {
        for mid in 0..self.rows.len() {
            let through = self.rows[mid];
            if through.is_empty() {
                continue;
            }
            for row in &mut self.rows {
                if row.contains(mid) {
                    *row = row.or(through);
                }
            }
        }
    }

    /// Whether no event is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        self.rows.iter().enumerate().all(|(event, row)| !row.contains(event))
    }

    /// Whether the transitive closure is irreflexive: events without a remaining successor are taken away until none is
    /// left.
    pub fn is_acyclic(&self) -> bool {
        let mut left = Set::first(self.rows.len());
        loop {
            let kept: Set = left.iter().filter(|&event| !self.rows[event].and(left).is_empty()).collect();
            if kept.is_empty() {
                return true;
            }
            if kept == left {
                return false;
            }
            left = kept;
        }
    }

    /// A shortest way from one event to another, both ends included; from an event to itself it is a cycle.
    pub fn path(&self, from: EventId, to: EventId) -> Option<Vec<EventId>> {
        let mut parent = vec![None; self.rows.len()];
        let mut seen = Set::default();
        let mut layer = vec![from];
        while !layer.is_empty() {
            let mut next = Vec::new();
            for event in layer {
                if self.rows[event].contains(to) {
                    let mut path = vec![to, event];
                    let mut at = event;
                    while let Some(before) = parent[at] {
                        path.push(before);
                        at = before;
                    }
                    path.reverse();
                    return Some(path);
                }
                for reached in self.rows[event].minus(seen).iter() {
                    if reached != from {
                        parent[reached] = Some(event);
                        next.push(reached);
                    }
                    seen.insert(reached);
                }
            }
            layer = next;
        }
        None
    }

    /// A shortest cycle, first event repeated at the end.
    pub fn cycle(&self) -> Option<Vec<EventId>> {
        (0..self.rows.len()).filter_map(|event| self.path(event, event)).min_by_key(Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(n: usize, pairs: &[(usize, usize)]) -> Relation {
        let mut relation = Relation::empty(n);
        for &(a, b) in pairs {
            relation.insert(a, b);
        }
        relation
    }

    #[test]
    fn closure_and_cycles() {
        let mut chain = relation(4, &[(0, 1), (1, 2), (2, 3)]);
        assert!(chain.is_acyclic() && chain.cycle().is_none());
        chain.close();
        assert!(chain.contains(0, 3) && chain.is_irreflexive());
        let ring = relation(4, &[(0, 1), (1, 2), (2, 1)]);
        assert!(!ring.is_acyclic());
        assert_eq!(ring.cycle(), Some(vec![1, 2, 1]));
        assert_eq!(ring.path(0, 2), Some(vec![0, 1, 2]));
    }

    #[test]
    fn composition_and_inverse() {
        let first = relation(3, &[(0, 1)]);
        let second = relation(3, &[(1, 2)]);
        let mut both = Relation::default();
        both.set_composition(&first, &second);
        assert_eq!(both.pairs().collect::<Vec<_>>(), [(0, 2)]);
        let mut back = Relation::default();
        back.set_inverse(&both);
        assert_eq!(back.pairs().collect::<Vec<_>>(), [(2, 0)]);
    }
}
