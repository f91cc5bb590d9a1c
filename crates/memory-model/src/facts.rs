//! The base sets and relations of an execution: what the model's names mean before any definition.

use crate::event::{Barrier, Event, Kind, Order, Part, Proxy};
use crate::plan::Stage;
use crate::relation::{EventId, Relation, Set};

macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type { $($(#[$variant_doc])* $variant,)* }

        impl $type {
            /// All of them, in the order of their storage.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The one of this name in the notation.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// Its name in the notation.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

names! {
    /// Base sets.
    Sort {
        /// Accesses of memory.
        Memory = "M",
        /// Reads.
        Read = "R",
        /// Writes, initial ones too.
        Write = "W",
        /// Fences of memory operations.
        Fence = "F",
        /// Fences between proxies.
        ProxyFence = "PF",
        /// Fences between addresses.
        AliasFence = "AF",
        /// Operations of order relaxed.
        Relaxed = "relaxed",
        /// Of order acquire.
        Acquire = "acquire",
        /// Of order release.
        Release = "release",
        /// Of order acq_rel.
        AcqRel = "acq_rel",
        /// Of order sc.
        Sc = "sc",
        /// Events of the generic proxy.
        Generic = "generic",
        /// Reads of reductions.
        Reduction = "red",
    }
}

names! {
    /// Base relations.
    Base {
        /// Program order.
        Po = "po",
        /// An atomic's read to its write.
        Rmw = "rmw",
        /// A read to an access whose address it gives.
        Addr = "addr",
        /// A read to a write whose value it gives.
        Data = "data",
        /// A read to what comes behind a branch that it decides.
        Ctrl = "ctrl",
        /// An event's scope includes the thread of another.
        Includes = "includes",
        /// Threads of one CTA.
        SameCta = "scta",
        /// Accesses that overlap in memory.
        Location = "loc",
        /// Accesses that overlap, through the same virtual address.
        Address = "vloc",
        /// The same bytes through the same address, if both are accesses.
        Same = "same",
        /// The same proxy.
        SameProxy = "sameproxy",
        /// An operation to an asynchronous one that it starts, and that to what waits for it.
        Async = "async",
        /// Reads-from.
        Rf = "rf",
        /// Fence-SC order.
        Scf = "scf",
        /// Barriers that meet.
        Bar = "bar",
        /// Coherence order.
        Co = "co",
        /// From-reads: a read to a write that overwrites what it read.
        Fr = "fr",
    }
}

impl Base {
    pub(crate) fn stage(self) -> Stage {
        match self {
            Self::Rf | Self::Scf | Self::Bar => Stage::Choices,
            Self::Co | Self::Fr => Stage::Coherence,
            _ => Stage::Events,
        }
    }
}

/// The base sets and relations of one execution.
#[derive(Clone, Debug)]
pub struct Facts {
    events: Vec<Event>,
    sets: Vec<Set>,
    relations: Vec<Relation>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            sets: vec![Set::default(); Sort::ALL.len()],
            relations: vec![Relation::default(); Base::ALL.len()],
        }
    }
}

impl Facts {
    /// The number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// A base set.
    pub fn set(&self, sort: Sort) -> Set {
        self.sets[sort as usize]
    }

    /// A base relation.
    pub fn base(&self, base: Base) -> &Relation {
        &self.relations[base as usize]
    }

    /// A base relation, to be chosen.
    pub fn base_mut(&mut self, base: Base) -> &mut Relation {
        &mut self.relations[base as usize]
    }

    /// Adds an event, and relates it to the others by scope, place, proxy and bytes.
    pub fn push(&mut self, event: Event) -> EventId {
        let new = self.events.len();
        self.events.push(event);
        for relation in &mut self.relations {
            relation.grow(new + 1);
        }
        for sort in Sort::ALL {
            if belongs(&event, *sort) {
                self.sets[*sort as usize].insert(new);
            }
        }
        for old in 0..=new {
            let other = self.events[old];
            let mut both = |base: Base| {
                self.relations[base as usize].insert(old, new);
                self.relations[base as usize].insert(new, old);
            };
            let threads = event.thread.is_some() && other.thread.is_some();
            if threads && event.placement.shares(other.placement, crate::event::Scope::Cta) {
                both(Base::SameCta);
            }
            if same_proxy(&event, &other) {
                both(Base::SameProxy);
            }
            match (event.bytes(), other.bytes()) {
                (Some(a), Some(b)) => {
                    if a.overlap(b) {
                        both(Base::Location);
                    }
                    if a.overlap_virtually(b) {
                        both(Base::Address);
                    }
                    if a.same(b) {
                        both(Base::Same);
                    }
                }
                _ => both(Base::Same),
            }
            for (a, from, b, to) in [(old, &other, new, &event), (new, &event, old, &other)] {
                if threads && a != b && includes(from, to) {
                    self.relations[Base::Includes as usize].insert(a, b);
                }
            }
        }
        new
    }
}

fn belongs(event: &Event, sort: Sort) -> bool {
    match sort {
        Sort::Memory => event.bytes().is_some(),
        Sort::Read => event.is_read(),
        Sort::Write => event.is_write(),
        Sort::Fence => matches!(event.kind, Kind::Fence),
        Sort::ProxyFence => matches!(event.kind, Kind::ProxyFence(_)),
        Sort::AliasFence => matches!(event.kind, Kind::AliasFence),
        Sort::Relaxed => event.order == Order::Relaxed,
        Sort::Acquire => event.order == Order::Acquire,
        Sort::Release => event.order == Order::Release,
        Sort::AcqRel => event.order == Order::AcqRel,
        Sort::Sc => event.order == Order::Sc,
        Sort::Generic => proxy(event) == Some(Proxy::Generic),
        Sort::Reduction => event.unobserved,
    }
}

fn includes(from: &Event, to: &Event) -> bool {
    from.scope.is_some_and(|scope| from.placement.shares(to.placement, scope))
}

fn proxy(event: &Event) -> Option<Proxy> {
    match event.kind {
        Kind::Init(_) | Kind::Read(_) | Kind::Write(_) | Kind::Fence => Some(event.proxy),
        Kind::ProxyFence(proxy) => Some(proxy),
        Kind::AliasFence | Kind::Barrier(_) | Kind::Wait => None,
    }
}

fn same_proxy(a: &Event, b: &Event) -> bool {
    proxy(a).is_some_and(|proxy_of_a| proxy(b) == Some(proxy_of_a))
}

/// Whether two barrier events may meet, the first releasing the second.
pub(crate) fn may_meet(a: &Event, b: &Event) -> bool {
    let (Kind::Barrier(from), Kind::Barrier(to)) = (a.kind, b.kind) else { return false };
    let Barrier { instance, scope, .. } = from;
    instance == to.instance
        && scope == to.scope
        && a.placement.shares(b.placement, scope)
        && from.part != Part::Wait
        && to.part != Part::Arrive
}
