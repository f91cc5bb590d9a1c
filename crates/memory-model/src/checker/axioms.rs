//! The axioms of every model once more, as operations on bit matrices. Nothing is shared with the model's text, nor with the
//! relations of the search.

use crate::event::{Cell, Event, Kind, Order, Proxy, Scope};
use crate::language::Version;
use crate::model::Family;

pub(crate) fn members(set: u128) -> impl Iterator<Item = usize> {
    (0..128).filter(move |event| set >> event & 1 != 0)
}

/// A relation of events: for each the set of those that it is related to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rel(pub(crate) Vec<u128>);

impl Default for Rel {
    fn default() -> Self {
        Self(vec![0; 128])
    }
}

impl Rel {
    pub(crate) fn of(n: usize, test: impl Fn(usize, usize) -> bool) -> Self {
        Self((0..n).map(|a| (0..n).fold(0, |row, b| row | u128::from(test(a, b)) << b)).collect())
    }
    pub(crate) fn link(&mut self, from: u128, to: usize) {
        members(from).for_each(|a| self.0[a] |= 1 << to);
    }
    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.0[a] >> b & 1 != 0
    }
    pub(crate) fn is_in(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }
    fn then(&self, other: &Self) -> Self {
        Self(self.0.iter().map(|row| members(*row).fold(0, |all, b| all | other.0[b])).collect())
    }
    pub(crate) fn plus(&self) -> Self {
        let mut all = self.clone();
        for m in 0..all.0.len() {
            let through = all.0[m];
            all.0.iter_mut().filter(|row| **row >> m & 1 != 0).for_each(|row| *row |= through);
        }
        all
    }
    pub(crate) fn is_cyclic(&self) -> bool {
        self.plus().0.iter().enumerate().any(|(a, row)| row >> a & 1 != 0)
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
#[derive(Default)]
pub(crate) struct Derived {
    ms: Rel,
    cause: Rel,
    rf: Rel,
    /// Program order among accesses of a location, or from 7.5 of an address.
    po_loc: Rel,
    /// Base causality, or what Dartagnan has in its place, between fences of order sc.
    pub(crate) fences: Rel,
    /// Writes that coherence must relate.
    pub(crate) coherent: Rel,
}

/// Whether the scope of each includes the thread of the other.
fn scopes_meet(a: &Event, b: &Event) -> bool {
    let includes = |x: &Event, y: &Event| x.scope.is_some_and(|scope| x.placement.shares(y.placement, scope));
    a.thread.is_some() && b.thread.is_some() && includes(a, b) && includes(b, a)
}

pub(crate) fn is_sc_pair(graph: &Graph, a: usize, b: usize) -> bool {
    let sc = |event: &Event| event.kind == Kind::Fence && event.order == Order::Sc;
    let (x, y) = (&graph.events[a], &graph.events[b]);
    a != b && sc(x) && sc(y) && scopes_meet(x, y)
}

pub(crate) fn overlap(e: &[Event], a: usize, b: usize) -> bool {
    e[a].bytes().zip(e[b].bytes()).is_some_and(|(x, y)| x.overlap(y))
}

impl Derived {
    pub(crate) fn new(graph: &Graph, (family, version): (Family, Version)) -> Self {
        let Graph { events: e, po, rmw, scf, bar, copies, .. } = graph;
        let (n, late, isa) = (e.len(), version >= Version(7, 5), family == Family::Isa);
        let fence = |a: usize| e[a].kind == Kind::Fence;
        let memory = |a: usize| e[a].bytes().is_some();
        let strong = |a: usize| (fence(a) || memory(a)) && e[a].order != Order::Weak;
        let proxy = |a: usize| match e[a].kind {
            Kind::ProxyFence(proxy) => Some(proxy),
            _ if fence(a) || memory(a) => Some(e[a].proxy),
            _ => None,
        };
        let one_proxy = |a: usize, b: usize| proxy(a).is_some() && proxy(a) == proxy(b);
        let one_cta = |a: usize, b: usize| {
            e[a].thread.and(e[b].thread).is_some() && e[a].placement.shares(e[b].placement, Scope::Cta)
        };
        let both = |a: usize, b: usize| e[a].bytes().zip(e[b].bytes());
        let one_address = |a: usize, b: usize| both(a, b).is_some_and(|(x, y)| x.overlap_virtually(y));
        let po_loc =
            Rel::of(n, |a, b| po.has(a, b) && if late { one_address(a, b) } else { overlap(e, a, b) });
        let ms = Rel::of(n, |a, b| {
            let scoped = a != b && strong(a) && strong(b) && scopes_meet(&e[a], &e[b]);
            let related = po.has(a, b) || po.has(b, a) || scoped;
            related && both(a, b).is_none_or(|(x, y)| x == y) && (!late || one_proxy(a, b))
        });
        let mut rf = Rel(vec![0; n]);
        graph.sources.iter().for_each(|&(read, write, _)| rf.link(1 << write, read));
        // Observation: morally strong reads, and on through atomics.
        let strong_rf = Rel::of(n, |a, b| ms.has(a, b) && rf.has(a, b));
        let onwards = strong_rf.then(&rmw.then(&strong_rf).plus());
        let observed = Rel::of(n, |a, b| strong_rf.has(a, b) || onwards.has(a, b));
        let pattern = |a: usize, one_way: Order| {
            let also = isa && (e[a].order == Order::Sc || e[a].order == one_way);
            fence(a) && (e[a].order == Order::AcqRel || also)
        };
        let local = |a: usize, b: usize| a == b || po_loc.has(a, b);
        let release = Rel::of(n, |a, b| {
            let by_write = e[a].is_write() && e[a].order == Order::Release && local(a, b);
            e[b].is_write() && strong(b) && (by_write || (pattern(a, Order::Release) && po.has(a, b)))
        });
        let acquire = Rel::of(n, |a, b| {
            let by_read = e[b].is_read() && e[b].order == Order::Acquire && local(a, b);
            let seen = e[a].is_read() && strong(a) && !(isa && e[a].unobserved);
            seen && (by_read || (pattern(b, Order::Acquire) && po.has(a, b)))
        });
        let patterns = release.then(&observed).then(&acquire);
        let synchronised = |a: usize, b: usize| {
            ms.has(a, b) && patterns.has(a, b) || scf.has(a, b) || bar.has(a, b) || copies.has(a, b)
        };
        let maybe_po = Rel::of(n, |a, b| a == b || po.has(a, b));
        let through = maybe_po.then(&Rel::of(n, synchronised).then(&maybe_po).plus());
        let cb = Rel::of(n, |a, b| through.has(a, b) || late && po.has(a, b));
        let cause = if late {
            // Each side is a generic access as it is, or any access past the fence of its proxy in its CTA.
            let serves = |access: usize, f: usize| {
                let proxying = fence(f) || matches!(e[f].kind, Kind::ProxyFence(_));
                memory(access) && proxying && one_proxy(access, f) && one_cta(access, f)
            };
            let generic = |a: usize| memory(a) && e[a].proxy == Proxy::Generic;
            let from = Rel::of(n, |a, f| (a == f && generic(a)) || (cb.has(a, f) && serves(a, f)));
            let to = Rel::of(n, |f, b| (b == f && generic(b)) || (cb.has(f, b) && serves(b, f)));
            let alias = Rel::of(n, |a, b| cb.has(a, b) && e[b].kind == Kind::AliasFence);
            let direct = from.then(&cb).then(&to);
            let renamed = from.then(&alias).then(&cb).then(&to);
            let preserved = Rel::of(n, |a, b| {
                let same_way = memory(a) && memory(b) && one_proxy(a, b) && one_cta(a, b) && cb.has(a, b);
                one_address(a, b) && (direct.has(a, b) || same_way) || overlap(e, a, b) && renamed.has(a, b)
            });
            let first = |a: usize, b: usize| if isa { &observed } else { &strong_rf }.has(a, b);
            Rel::of(n, |a, b| a == b || first(a, b) || !isa && rmw.has(a, b)).then(&preserved)
        } else {
            let seen = observed.then(&Rel::of(n, |a, b| cb.has(a, b) || po_loc.has(a, b)));
            Rel::of(n, |a, b| cb.has(a, b) || seen.has(a, b))
        };
        let fences = Rel::of(n, |a, b| if isa { &cb } else { &cause }.has(a, b) && is_sc_pair(graph, a, b));
        let writes = |a: usize, b: usize| a != b && e[a].is_write() && e[b].is_write() && overlap(e, a, b);
        let coherent = Rel::of(n, |a, b| writes(a, b) && ms.has(a, b));
        Self { ms, cause, rf, po_loc, fences, coherent }
    }

    /// What coherence contains at least, closed: initial writes first, causality, and what was decided.
    pub(crate) fn least_coherence(&self, graph: &Graph, decided: &Rel) -> Rel {
        let e = &graph.events;
        let least = |a: usize, b: usize| {
            let first = e[a].thread.is_none() && e[b].thread.is_some();
            e[a].is_write() && e[b].is_write() && overlap(e, a, b) && (first || self.cause.has(a, b))
        };
        Rel::of(e.len(), |a, b| least(a, b) || decided.has(a, b)).plus()
    }

    /// The axioms that a coherence order (closed) violates with the rest of the execution.
    pub(crate) fn violated(&self, graph: &Graph, co: &Rel, model: (Family, Version)) -> Vec<&str> {
        let (Graph { events: e, rmw, dependencies, scf, .. }, Self { ms, rf, .. }) = (graph, self);
        let (n, isa) = (e.len(), model.0 == Family::Isa);
        let mut fr = Rel(vec![0; n]);
        for &(read, write, cell) in &graph.sources {
            members(co.0[write]).filter(|&b| e[b].covers(cell)).for_each(|b| fr.link(1 << read, b));
        }
        let strong_fr = Rel::of(n, |a, b| ms.has(a, b) && fr.has(a, b));
        let between = strong_fr.then(&Rel::of(n, |a, b| ms.has(a, b) && co.has(a, b)));
        let torn = |a: usize, b: usize| isa && ms.has(a, b) && rf.has(b, a) && fr.has(a, b);
        let broken = Rel::of(n, |a, b| between.has(a, b) && rmw.has(a, b) || torn(a, b));
        let thin = |a: usize, b: usize| rf.has(a, b) || dependencies.has(a, b) || isa && rmw.has(a, b);
        let communication = |a: usize, b: usize| rf.has(a, b) || co.has(a, b) || fr.has(a, b);
        let local = |a: usize, b: usize| ms.has(a, b) && communication(a, b) || self.po_loc.has(a, b);
        let read = Rel::of(n, |a, b| rf.has(a, b) || fr.has(a, b)).then(&self.cause);
        let axioms = [
            ("coherence", co.is_cyclic()),
            ("fence-sc", scf.is_cyclic() || !self.fences.is_in(scf)),
            ("atomicity", broken != Rel(vec![0; n])),
            ("no-thin-air", Rel::of(n, thin).is_cyclic()),
            ("sc-per-location", (isa || model.1 < Version(7, 5)) && Rel::of(n, local).is_cyclic()),
            ("causality", (0..n).any(|a| read.has(a, a))),
        ];
        axioms.into_iter().filter(|(_, violated)| *violated).map(|(axiom, _)| axiom).collect()
    }
}
