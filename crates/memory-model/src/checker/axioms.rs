//! The axioms of every model once more, as operations on bit matrices. Nothing is shared with the model's text, nor with the
//! relations of the search.

use crate::event::{Event, Kind, Order, Proxy, Scope};
use crate::language::Version;
use crate::layout::Cell;
use crate::model::Family;

/// A relation of events: for each the set of those that it is related to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rel(pub(crate) Vec<u128>);

impl Rel {
    pub(crate) fn of(n: usize, test: impl Fn(usize, usize) -> bool) -> Self {
        Self((0..n).map(|a| (0..n).fold(0, |row, b| row | u128::from(test(a, b)) << b)).collect())
    }
    pub(crate) fn from_pairs(n: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut rel = Self(vec![0; n]);
        pairs.into_iter().for_each(|(a, b)| rel.0[a] |= 1 << b);
        rel
    }
    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 != 0
    }
    pub(crate) fn is_in(&self, other: &Self) -> bool {
        self.and(other) == *self
    }
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }
    fn then(&self, other: &Self) -> Self {
        let next =
            |row: &u128| (0..self.0.len()).filter(|b| row >> b & 1 != 0).fold(0, |all, b| all | other.0[b]);
        Self(self.0.iter().map(next).collect())
    }
    fn maybe(&self) -> Self {
        Self(self.0.iter().enumerate().map(|(a, row)| row | 1 << a).collect())
    }
    pub(crate) fn plus(&self) -> Self {
        let mut all = self.clone();
        for m in 0..all.0.len() {
            let through = all.0[m];
            all.0.iter_mut().filter(|row| **row >> m & 1 != 0).for_each(|row| *row |= through);
        }
        all
    }
    pub(crate) fn loops(&self) -> bool {
        (0..self.0.len()).any(|a| self.has(a, a))
    }
}

/// An execution with its base relations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) events: Vec<Event>,
    pub(crate) po: Rel,
    pub(crate) rmw: Rel,
    pub(crate) dependencies: Rel,
    pub(crate) copies: Rel,
    pub(crate) bar: Rel,
    pub(crate) scf: Rel,
    /// The write that each cell of a read takes: read, write, cell.
    pub(crate) sources: Vec<(usize, usize, Cell)>,
}

/// What is derived of a graph before coherence.
pub(crate) struct Derived {
    ms: Rel,
    cause: Rel,
    location: Rel,
    near: Rel,
    rf: Rel,
    /// Base causality, or what Dartagnan has in its place, between fences of order sc.
    pub(crate) fences: Rel,
    /// Writes that coherence must relate.
    pub(crate) coherent: Rel,
    strict: bool,
    isa: bool,
}

/// Whether the scope of each includes the thread of the other.
fn scopes_meet(a: &Event, b: &Event) -> bool {
    let includes = |x: &Event, y: &Event| x.scope.is_some_and(|scope| x.placement.shares(y.placement, scope));
    a.thread.is_some() && b.thread.is_some() && includes(a, b) && includes(b, a)
}

pub(crate) fn is_sc_pair(graph: &Graph, a: usize, b: usize) -> bool {
    let sc = |event: &Event| event.kind == Kind::Fence && event.order == Order::Sc;
    let (x, y) = (&graph.events[a], &graph.events[b]);
    sc(x) && sc(y) && scopes_meet(x, y)
}

impl Derived {
    pub(crate) fn new(graph: &Graph, family: Family, version: Version) -> Self {
        let (e, n, po) = (&graph.events, graph.events.len(), &graph.po);
        let (late, isa) = (version >= Version(7, 5), family == Family::Isa);
        let fence = |a: usize| e[a].kind == Kind::Fence;
        let memory = |a: usize| e[a].bytes().is_some();
        let strong = |a: usize| (fence(a) || memory(a)) && e[a].order != Order::Weak;
        let proxy = |a: usize| match e[a].kind {
            Kind::ProxyFence(proxy) => Some(proxy),
            _ if fence(a) || memory(a) => Some(e[a].proxy),
            _ => None,
        };
        let one_proxy = |a: usize, b: usize| proxy(a).is_some() && proxy(a) == proxy(b);
        let threads = |a: usize, b: usize| e[a].thread.is_some() && e[b].thread.is_some();
        let one_cta = |a: usize, b: usize| threads(a, b) && e[a].placement.shares(e[b].placement, Scope::Cta);
        let both = |a: usize, b: usize| e[a].bytes().zip(e[b].bytes());
        let location = Rel::of(n, |a, b| both(a, b).is_some_and(|(x, y)| x.overlap(y)));
        let address =
            Rel::of(n, |a, b| both(a, b).is_some_and(|(x, y)| x.overlap(y) && x.address == y.address));
        let ms = Rel::of(n, |a, b| {
            let scoped = a != b && strong(a) && strong(b) && scopes_meet(&e[a], &e[b]);
            let related = po.has(a, b) || po.has(b, a) || scoped;
            related && both(a, b).is_none_or(|(x, y)| x == y) && (!late || one_proxy(a, b))
        });
        let rf = Rel::from_pairs(n, graph.sources.iter().map(|&(read, write, _)| (write, read)));
        let near = if late { &address } else { &location };
        // Observation: morally strong reads, and on through atomics.
        let strong_rf = ms.and(&rf);
        let observation = strong_rf.or(&strong_rf.then(&graph.rmw.then(&strong_rf).plus()));
        let pattern = |a: usize, one_way: Order| {
            fence(a)
                && (e[a].order == Order::AcqRel
                    || (isa && (e[a].order == Order::Sc || e[a].order == one_way)))
        };
        let local = |a: usize, b: usize| a == b || (po.has(a, b) && near.has(a, b));
        let release = Rel::of(n, |a, b| {
            let by_write = e[a].is_write() && e[a].order == Order::Release && local(a, b);
            e[b].is_write() && strong(b) && (by_write || (pattern(a, Order::Release) && po.has(a, b)))
        });
        let acquire = Rel::of(n, |a, b| {
            let by_read = e[b].is_read() && e[b].order == Order::Acquire && local(a, b);
            let seen = e[a].is_read() && strong(a) && !(isa && e[a].unobserved);
            seen && (by_read || (pattern(b, Order::Acquire) && po.has(a, b)))
        });
        let sync = ms.and(&release.then(&observation).then(&acquire));
        let edges = sync.or(&graph.scf).or(&graph.bar).or(&graph.copies);
        let through = po.maybe().then(&edges.then(&po.maybe()).plus());
        let cb = if late { through.or(po) } else { through };
        let cause = if late {
            // Each side is a generic access as it is, or any access past the fence of its proxy in its CTA.
            let serves = |access: usize, f: usize| {
                let proxying = fence(f) || matches!(e[f].kind, Kind::ProxyFence(_));
                memory(access) && proxying && one_proxy(access, f) && one_cta(access, f)
            };
            let generic = |a: usize| memory(a) && e[a].proxy == Proxy::Generic;
            let from = Rel::of(n, |a, f| (a == f && generic(a)) || (cb.has(a, f) && serves(a, f)));
            let to = Rel::of(n, |f, b| (b == f && generic(b)) || (cb.has(f, b) && serves(b, f)));
            let alias = Rel::of(n, |a, b| a == b && e[a].kind == Kind::AliasFence);
            let same_way = Rel::of(n, |a, b| memory(a) && memory(b) && one_proxy(a, b) && one_cta(a, b));
            let direct = from.then(&cb).then(&to).or(&same_way.and(&cb));
            let renamed = from.then(&cb).then(&alias).then(&cb).then(&to);
            let preserved = address.and(&direct).or(&location.and(&renamed));
            let first = if isa { observation } else { strong_rf.or(&graph.rmw) };
            first.maybe().then(&preserved)
        } else {
            cb.or(&observation.then(&cb.or(&po.and(&location))))
        };
        let order = if isa { &cb } else { &cause };
        let fences = Rel::of(n, |a, b| order.has(a, b) && is_sc_pair(graph, a, b));
        let writes = |a: usize, b: usize| e[a].is_write() && e[b].is_write() && location.has(a, b);
        let coherent = Rel::of(n, |a, b| writes(a, b) && ms.has(a, b));
        let near = near.clone();
        Self { ms, cause, location, near, rf, fences, coherent, strict: isa || !late, isa }
    }

    /// What coherence contains at least, closed: initial writes first, causality, and what was decided.
    pub(crate) fn least_coherence(&self, graph: &Graph, decided: &Rel) -> Rel {
        let e = &graph.events;
        let least = Rel::of(e.len(), |a, b| {
            let first = e[a].thread.is_none() && e[b].thread.is_some();
            e[a].is_write() && e[b].is_write() && self.location.has(a, b) && (first || self.cause.has(a, b))
        });
        least.or(decided).plus()
    }

    /// The axiom that a coherence order (closed) violates with the rest of the execution, if there is one.
    pub(crate) fn violated(&self, graph: &Graph, co: &Rel) -> Option<&'static str> {
        let (e, n) = (&graph.events, graph.events.len());
        let later = |&(read, write, cell): &(usize, usize, Cell)| {
            let covers =
                move |&b: &usize| co.has(write, b) && e[b].bytes().is_some_and(|bytes| cell.is_in(bytes));
            (0..n).filter(covers).map(move |b| (read, b))
        };
        let fr = Rel::from_pairs(n, graph.sources.iter().flat_map(later));
        let (po, ms, rf) = (&graph.po, &self.ms, &self.rf);
        let torn = Rel::of(n, |a, b| self.isa && ms.has(a, b) && rf.has(b, a));
        let dependent = rf.or(&graph.dependencies);
        let dependent = if self.isa { dependent.or(&graph.rmw) } else { dependent };
        let near = po.and(&self.near);
        let axioms = [
            ("coherence", co.loops()),
            ("fence-sc", graph.scf.plus().loops() || !self.fences.is_in(&graph.scf)),
            (
                "atomicity",
                ms.and(&fr)
                    .then(&ms.and(co))
                    .and(&graph.rmw)
                    .or(&torn.and(&fr))
                    .0
                    .iter()
                    .any(|row| *row != 0),
            ),
            ("no-thin-air", dependent.plus().loops()),
            ("sc-per-location", self.strict && ms.and(&rf.or(co).or(&fr)).or(&near).plus().loops()),
            ("causality", rf.or(&fr).then(&self.cause).loops()),
        ];
        axioms.into_iter().find(|(_, violated)| *violated).map(|(axiom, _)| axiom)
    }
}
