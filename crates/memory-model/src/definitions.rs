//! The model's definitions, asked about one operation or two: for engines that see an execution operation by operation.
//!
//! The sanitizer's vector clocks and the search for executions are two evaluations of one text: the files in `model/`. The
//! search evaluates relations over whole executions. Here the same relations are evaluated once, over traces of two or three
//! operations, for every order, scope and distance there is; the answers are tables, which cost nothing to ask.

use crate::answer::base_stages;
use crate::event::{Bytes, Event, Kind, Order, Placement, Proxy, Scope};
use crate::facts::{Base, Facts};
use crate::model::{Family, Model};
use crate::plan::Values;
use crate::relation::Relation;
use std::sync::LazyLock;

const ORDERS: [Order; 6] =
    [Order::Weak, Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::Sc];

/// What the model says of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definitions {
    strong: [bool; 6],
    releases: [[bool; 6]; 2],
    acquires: [[bool; 6]; 2],
    observes: [bool; 2],
    common: [[Scope; 4]; 4],
    proxies: [[[bool; 6]; 5]; 5],
}

/// The definitions of the ISA's newest text.
pub static NEWEST: LazyLock<Definitions> = LazyLock::new(|| {
    let version = Family::Isa.versions().last().copied();
    let model = version.and_then(|version| Model::new(Family::Isa, version));
    Definitions::of(&model.expect("the newest version has a model"))
});

/// Operations one after the other in a thread.
fn in_order(events: &[Event]) -> Facts {
    let mut facts = Facts::default();
    for event in events {
        let new = facts.push(*event);
        (0..new).for_each(|old| facts.base_mut(Base::Po).insert(old, new));
    }
    facts
}

/// A relation of the model over a trace.
fn relation(model: &Model, facts: &Facts, name: &str) -> Relation {
    let mut values = Values::default();
    base_stages(facts, model, &mut values);
    model.plan.named(name, &values).cloned().unwrap_or_else(|| Relation::empty(facts.len()))
}

const WORD: Bytes = Bytes { object: 0, address: 0, start: 0, len: 4 };

fn operation(thread: usize, near: Scope, kind: Kind, order: Order, scope: Scope) -> Event {
    let apart = |of: Scope| u32::from(thread > 0 && near == of);
    let placement =
        Placement { cta: apart(Scope::Cluster), cluster: apart(Scope::Gpu), gpu: apart(Scope::Sys) };
    let scope = (order != Order::Weak).then_some(scope);
    Event { order, scope, ..Event::new(thread, 0, placement, kind) }
}

impl Definitions {
    /// What a model says.
    pub fn of(model: &Model) -> Self {
        let one = |kind, order| operation(0, Scope::Cta, kind, order, Scope::Gpu);
        let (read, write) = (Kind::Read(WORD), Kind::Write(WORD));
        let (seen, carried) = (one(read, Order::Relaxed), one(write, Order::Relaxed));
        let ends = |name: &str, events: &[Event]| {
            relation(model, &in_order(events), name).contains(0, events.len() - 1)
        };
        let meet = |a: Scope, b: Scope, near: Scope, order: Order| {
            let mut facts = Facts::default();
            facts.push(operation(0, near, write, order, a));
            facts.push(operation(1, near, write, order, b));
            relation(model, &facts, "ms").contains(0, 1)
        };
        let strong = ORDERS.map(|order| meet(Scope::Gpu, Scope::Gpu, Scope::Cta, order));
        let releases = [
            ORDERS.map(|order| ends("rel", &[one(Kind::Fence, order), carried])),
            ORDERS.map(|order| ends("rel", &[one(write, order.of_write())])),
        ];
        let acquires = [
            ORDERS.map(|order| ends("acq", &[seen, one(Kind::Fence, order)])),
            ORDERS.map(|order| ends("acq", &[one(read, order.of_read())])),
        ];
        let fence = one(Kind::Fence, Order::AcqRel);
        let observes =
            [false, true].map(|returns| ends("acq", &[Event { unobserved: !returns, ..seen }, fence]));
        let common = Scope::ALL.map(|a| {
            Scope::ALL.map(|b| {
                let widest = Scope::ALL.into_iter().rev().find(|&near| meet(a, b, near, Order::Relaxed));
                widest.unwrap_or(Scope::Cta)
            })
        });
        let fences = Proxy::ALL.map(|proxy| Event { proxy, ..one(Kind::ProxyFence(proxy), Order::Weak) });
        let proxies = Proxy::ALL.map(|first| {
            Proxy::ALL.map(|second| {
                let first = Event { proxy: first, ..one(write, Order::Weak) };
                let second = Event { proxy: second, ..one(read, Order::Weak) };
                let with = |index: usize| match fences.get(index) {
                    Some(fence) => ends("cause", &[first, *fence, second]),
                    None => ends("cause", &[first, second]),
                };
                std::array::from_fn(with)
            })
        });
        Self { strong, releases, acquires, observes, common, proxies }
    }

    /// Whether accesses of an order are strong.
    pub fn is_strong(&self, order: Order) -> bool {
        self.strong[order as usize]
    }

    /// Whether a fence of an order begins release patterns, with a strong write behind it.
    pub fn fence_releases(&self, order: Order) -> bool {
        self.releases[0][order as usize]
    }

    /// Whether a fence of an order ends acquire patterns, with a strong read before it.
    pub fn fence_acquires(&self, order: Order) -> bool {
        self.acquires[0][order as usize]
    }

    /// Whether the write of an access of an order is a release pattern by itself.
    pub fn write_releases(&self, order: Order) -> bool {
        self.releases[1][order as usize]
    }

    /// Whether the read of an access of an order is an acquire pattern by itself.
    pub fn read_acquires(&self, order: Order) -> bool {
        self.acquires[1][order as usize]
    }

    /// Whether the read of an atomic may begin an acquire pattern, if the atomic returns what it read or not.
    pub fn read_is_seen(&self, returns: bool) -> bool {
        self.observes[usize::from(returns)]
    }

    /// The scope of which both threads must be in one instance, if strong operations of these scopes are to be morally
    /// strong to one another.
    pub fn common_scope(&self, a: Scope, b: Scope) -> Scope {
        self.common[a as usize][b as usize]
    }

    /// Whether a write through one proxy precedes a later read of its thread through another, with a proxy fence between
    /// them or without.
    pub fn proxy_keeps(&self, first: Proxy, fence: Option<Proxy>, second: Proxy) -> bool {
        let fence = fence.map_or(Proxy::ALL.len(), |proxy| proxy as usize);
        self.proxies[first as usize][second as usize][fence]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Version;

    #[test]
    fn the_tables_say_what_the_manual_does() {
        let of = &*NEWEST;
        let chosen =
            |test: &dyn Fn(Order) -> bool| ORDERS.into_iter().filter(|&o| test(o)).collect::<Vec<_>>();
        assert_eq!(chosen(&|order| of.is_strong(order)), ORDERS[1..]);
        assert_eq!(chosen(&|order| of.fence_releases(order)), [Order::Release, Order::AcqRel, Order::Sc]);
        assert_eq!(chosen(&|order| of.fence_acquires(order)), [Order::Acquire, Order::AcqRel, Order::Sc]);
        assert_eq!(chosen(&|order| of.write_releases(order)), [Order::Release, Order::AcqRel, Order::Sc]);
        assert_eq!(chosen(&|order| of.read_acquires(order)), [Order::Acquire, Order::AcqRel, Order::Sc]);
        assert!(of.read_is_seen(true) && !of.read_is_seen(false));
        for a in Scope::ALL {
            for b in Scope::ALL {
                assert_eq!(of.common_scope(a, b), a.min(b));
            }
        }
        let (generic, other) = (Proxy::Generic, Proxy::Async);
        assert!(of.proxy_keeps(generic, None, generic) && of.proxy_keeps(other, None, other));
        assert!(!of.proxy_keeps(generic, None, other) && of.proxy_keeps(generic, Some(other), other));
        assert!(!of.proxy_keeps(generic, Some(Proxy::Texture), other));
    }

    #[test]
    fn another_text_gives_other_tables() {
        let text = crate::model::text();
        let changed = text.replace("let sr = includes & includes^-1", "let sr = includes | includes^-1");
        let model = Model::from_text(Family::Isa, Version(8, 6), &changed).unwrap();
        assert_eq!(Definitions::of(&model).common_scope(Scope::Cta, Scope::Gpu), Scope::Gpu);
        let dartagnan = Definitions::of(&Model::new(Family::Dartagnan, Version(7, 5)).unwrap());
        assert!(!dartagnan.fence_releases(Order::Sc) && dartagnan.read_is_seen(false));
    }
}
