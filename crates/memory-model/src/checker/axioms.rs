//! The axioms of every model once more, by sets of pairs, for checking and for trying everything. Nothing is shared with
//! the model's text or the relations of the search.

use crate::event::{Event, Kind, Order, Proxy, Scope};
use crate::language::Version;
use crate::model::Family;
use std::collections::BTreeSet;

/// A relation as its pairs.
pub(crate) type Pairs = BTreeSet<(usize, usize)>;

/// An execution with its base relations. `fr` and `co` are given apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) events: Vec<Event>,
    pub(crate) po: Pairs,
    pub(crate) rmw: Pairs,
    pub(crate) dependencies: Pairs,
    pub(crate) copies: Pairs,
    pub(crate) bar: Pairs,
    /// For each byte that a read takes: the read, the write, the object and the byte.
    pub(crate) bytes_read: Vec<(usize, usize, u32, u32)>,
    pub(crate) scf: Pairs,
}

/// A matrix of the same.
type Table = Vec<Vec<bool>>;

fn table(n: usize, pairs: &Pairs) -> Table {
    let mut table = vec![vec![false; n]; n];
    pairs.iter().for_each(|&(a, b)| table[a][b] = true);
    table
}

fn of(n: usize, test: impl Fn(usize, usize) -> bool) -> Table {
    (0..n).map(|a| (0..n).map(|b| test(a, b)).collect()).collect()
}

fn seq(x: &Table, y: &Table) -> Table {
    let n = x.len();
    let mut out = vec![vec![false; n]; n];
    for a in 0..n {
        for m in (0..n).filter(|&m| x[a][m]) {
            for b in 0..n {
                out[a][b] |= y[m][b];
            }
        }
    }
    out
}

fn or(x: &Table, y: &Table) -> Table {
    of(x.len(), |a, b| x[a][b] || y[a][b])
}

fn and(x: &Table, y: &Table) -> Table {
    of(x.len(), |a, b| x[a][b] && y[a][b])
}

fn maybe(x: &Table) -> Table {
    of(x.len(), |a, b| a == b || x[a][b])
}

fn plus(x: &Table) -> Table {
    let mut out = x.clone();
    let n = x.len();
    for m in 0..n {
        for a in 0..n {
            for b in 0..n {
                out[a][b] |= out[a][m] && out[m][b];
            }
        }
    }
    out
}

fn loops(x: &Table) -> bool {
    (0..x.len()).any(|a| x[a][a])
}

fn proxy(event: &Event) -> Option<Proxy> {
    match event.kind {
        Kind::Init(_) | Kind::Read(_) | Kind::Write(_) | Kind::Fence => Some(event.proxy),
        Kind::ProxyFence(proxy) => Some(proxy),
        _ => None,
    }
}

/// What is derived of a graph before coherence.
pub(crate) struct Derived {
    ms: Table,
    pub(crate) cause: Table,
    cb: Table,
    location: Table,
    address: Table,
    rf: Table,
    after_75: bool,
    family: Family,
}

impl Derived {
    pub(crate) fn new(graph: &Graph, family: Family, version: Version) -> Self {
        let e = &graph.events;
        let n = e.len();
        let after_75 = version >= Version(7, 5);
        let isa = family == Family::Isa;
        let fence = |a: usize| matches!(e[a].kind, Kind::Fence);
        let strong = |a: usize| (fence(a) || e[a].bytes().is_some()) && e[a].order != Order::Weak;
        let po = table(n, &graph.po);
        let includes = |a: usize, b: usize| {
            let both = e[a].thread.is_some() && e[b].thread.is_some();
            both && match e[a].scope {
                None => false,
                Some(Scope::Cta) => e[a].placement == e[b].placement,
                Some(Scope::Cluster) => {
                    (e[a].placement.gpu, e[a].placement.cluster)
                        == (e[b].placement.gpu, e[b].placement.cluster)
                }
                Some(Scope::Gpu) => e[a].placement.gpu == e[b].placement.gpu,
                Some(Scope::Sys) => true,
            }
        };
        let location = of(n, |a, b| match (e[a].bytes(), e[b].bytes()) {
            (Some(x), Some(y)) => {
                x.object == y.object && x.start.max(y.start) < (x.start + x.len).min(y.start + y.len)
            }
            _ => false,
        });
        let virtually =
            |a: usize, b: usize| e[a].bytes().map(|x| x.address) == e[b].bytes().map(|y| y.address);
        let address = of(n, |a, b| location[a][b] && virtually(a, b));
        let one_proxy = |a: usize, b: usize| proxy(&e[a]).is_some() && proxy(&e[a]) == proxy(&e[b]);
        let one_cta = |a: usize, b: usize| {
            e[a].thread.is_some() && e[b].thread.is_some() && e[a].placement == e[b].placement
        };
        let ms = of(n, |a, b| {
            let scoped = a != b && strong(a) && strong(b) && includes(a, b) && includes(b, a);
            let whole = e[a].bytes().is_none() || e[b].bytes().is_none() || e[a].bytes() == e[b].bytes();
            (po[a][b] || po[b][a] || scoped) && whole && (!after_75 || one_proxy(a, b))
        });
        let rf = table(n, &graph.bytes_read.iter().map(|&(read, write, ..)| (write, read)).collect());
        let strong_rf = and(&ms, &rf);
        let rmw = table(n, &graph.rmw);
        // All observation: morally strong reads, and on through atomics.
        let observed = plus(&or(&strong_rf, &seq(&rmw, &strong_rf)));
        let observation = of(n, |a, b| observed[a][b] && e[a].is_write());
        let releasing = |a: usize| {
            fence(a)
                && match e[a].order {
                    Order::AcqRel => true,
                    Order::Sc | Order::Release => isa,
                    _ => false,
                }
        };
        let acquiring = |a: usize| {
            fence(a)
                && match e[a].order {
                    Order::AcqRel => true,
                    Order::Sc | Order::Acquire => isa,
                    _ => false,
                }
        };
        let near = |a: usize, b: usize| if after_75 { address[a][b] } else { location[a][b] };
        let release = of(n, |a, b| {
            let to = e[b].is_write() && strong(b);
            let by_write =
                e[a].is_write() && e[a].order == Order::Release && (a == b || (po[a][b] && near(a, b)));
            to && (by_write || (releasing(a) && po[a][b]))
        });
        let acquire = of(n, |a, b| {
            let from = e[a].is_read() && strong(a) && !(isa && e[a].unobserved);
            let by_read =
                e[b].is_read() && e[b].order == Order::Acquire && (a == b || (po[a][b] && near(a, b)));
            from && (by_read || (acquiring(b) && po[a][b]))
        });
        let sync = and(&ms, &seq(&seq(&release, &observation), &acquire));
        let edges =
            or(&or(&sync, &table(n, &graph.scf)), &or(&table(n, &graph.bar), &table(n, &graph.copies)));
        let through = seq(&maybe(&po), &plus(&seq(&edges, &maybe(&po))));
        let cb = if after_75 { or(&through, &po) } else { through };
        let cause = if after_75 {
            let generic = |a: usize| e[a].bytes().is_some() && e[a].proxy == Proxy::Generic;
            let memory = |a: usize| e[a].bytes().is_some();
            let proxying = |a: usize| fence(a) || matches!(e[a].kind, Kind::ProxyFence(_));
            // Sides: a generic access as it is, or any access past the fence of its proxy in its CTA.
            let serves = |access: usize, f: usize| {
                memory(access) && proxying(f) && one_proxy(access, f) && one_cta(access, f)
            };
            let from = of(n, |a, f| (a == f && generic(a)) || (serves(a, f) && cb[a][f]));
            let to = of(n, |f, b| (b == f && generic(b)) || (serves(b, f) && cb[f][b]));
            let alias = of(n, |a, b| a == b && matches!(e[a].kind, Kind::AliasFence));
            let direct = seq(&seq(&from, &cb), &to);
            let renamed = seq(&seq(&seq(&seq(&from, &cb), &alias), &cb), &to);
            let preserved = of(n, |a, b| {
                let same_way = memory(a) && memory(b) && one_proxy(a, b) && one_cta(a, b) && cb[a][b];
                (address[a][b] && (direct[a][b] || same_way)) || (location[a][b] && renamed[a][b])
            });
            let first = if isa { observation } else { or(&strong_rf, &rmw) };
            seq(&maybe(&first), &preserved)
        } else {
            or(&cb, &seq(&observation, &or(&cb, &and(&po, &location))))
        };
        Self { ms, cause, cb, location, address, rf, after_75, family }
    }

    /// Pairs of writes that coherence must relate.
    pub(crate) fn must_be_coherent(&self, graph: &Graph, a: usize, b: usize) -> bool {
        graph.events[a].is_write() && graph.events[b].is_write() && self.ms[a][b] && self.location[a][b]
    }

    /// Pairs of fences that causality orders, which Fence-SC must order alike.
    pub(crate) fn forced_fences(&self, graph: &Graph) -> Pairs {
        let e = &graph.events;
        let sc = |a: usize| matches!(e[a].kind, Kind::Fence) && e[a].order == Order::Sc;
        let order = if self.family == Family::Isa { &self.cb } else { &self.cause };
        let n = e.len();
        let forced = |&(a, b): &(usize, usize)| order[a][b] && sc(a) && sc(b) && scopes_meet(&e[a], &e[b]);
        (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(forced).collect()
    }

    /// What coherence contains at least, closed: initial writes first, causality, and what was decided.
    pub(crate) fn least_coherence(&self, graph: &Graph, decided: &Pairs) -> Pairs {
        let e = &graph.events;
        let n = e.len();
        let co = of(n, |a, b| {
            let writes = e[a].is_write() && e[b].is_write() && self.location[a][b];
            let first = e[a].thread.is_none() && e[b].thread.is_some();
            writes && (first || self.cause[a][b]) || decided.contains(&(a, b))
        });
        let co = plus(&co);
        (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|&(a, b)| co[a][b]).collect()
    }

    /// The axiom that a coherence order (closed) violates with the rest of the execution, if there is one.
    pub(crate) fn violated(&self, graph: &Graph, co: &Pairs) -> Option<&'static str> {
        let e = &graph.events;
        let n = e.len();
        let isa = self.family == Family::Isa;
        let co = table(n, co);
        let po = table(n, &graph.po);
        let mut fr = vec![vec![false; n]; n];
        for &(read, write, object, byte) in &graph.bytes_read {
            for later in (0..n).filter(|&later| co[write][later]) {
                let has =
                    |b: crate::event::Bytes| b.object == object && b.start <= byte && byte < b.start + b.len;
                fr[read][later] |= e[later].bytes().is_some_and(has);
            }
        }
        if loops(&co) {
            return Some("coherence");
        }
        let scf = table(n, &graph.scf);
        if loops(&plus(&scf)) || !self.forced_fences(graph).is_subset(&graph.scf) {
            return Some("fence-sc");
        }
        let between = seq(&and(&self.ms, &fr), &and(&self.ms, &co));
        let torn = |a: usize, b: usize| isa && self.ms[a][b] && self.rf[b][a] && fr[a][b];
        if graph.rmw.iter().any(|&(a, b)| between[a][b]) || (0..n).any(|a| (0..n).any(|b| torn(a, b))) {
            return Some("atomicity");
        }
        let mut dependencies = or(&self.rf, &table(n, &graph.dependencies));
        if isa {
            dependencies = or(&dependencies, &table(n, &graph.rmw));
        }
        if loops(&plus(&dependencies)) {
            return Some("no-thin-air");
        }
        if isa || !self.after_75 {
            let near = if self.after_75 { &self.address } else { &self.location };
            let communication = and(&self.ms, &or(&self.rf, &or(&co, &fr)));
            if loops(&plus(&or(&communication, &and(&po, near)))) {
                return Some("sc-per-location");
            }
        }
        loops(&seq(&or(&self.rf, &fr), &self.cause)).then_some("causality")
    }
}

/// Whether the scope of each includes the thread of the other.
pub(crate) fn scopes_meet(a: &Event, b: &Event) -> bool {
    let has = |x: &Event, y: &Event| match x.scope {
        Some(Scope::Cta) => x.placement == y.placement,
        Some(Scope::Cluster) => {
            (x.placement.gpu, x.placement.cluster) == (y.placement.gpu, y.placement.cluster)
        }
        Some(Scope::Gpu) => x.placement.gpu == y.placement.gpu,
        Some(Scope::Sys) => true,
        None => false,
    };
    a.thread.is_some() && b.thread.is_some() && has(a, b) && has(b, a)
}
