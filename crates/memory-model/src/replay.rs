//! What the threads of a test do, given what has been chosen: each runs on the values that its reads take, from the
//! beginning each time, until these no longer change. For [`crate::checker`] and [`crate::judge`]; the search runs threads
//! in its own way ([`crate::unfold`]), and shares nothing with this one.

use crate::certificate::{Choices, Name, Pairs, Reader};
use crate::checker::axioms::{Derived, Graph, Rel};
use crate::checker::{Arrival, Checker};
use crate::event::{Bytes, Cell, Event, Kind};
use crate::model::Family;
use crate::program::{Access, Arithmetic, Instruction, Operand, Term, Thread, Update, elements};
use std::collections::BTreeMap;

/// A value, if it is known, and the reads that it depends on.
pub(crate) type Word = (Option<i64>, u128);

/// Why a thread does not go on: at its end; at a branch, or at a compare-and-swap, that waits for a value; in a loop that
/// repeats itself, or has gone round as often as is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Ended,
    Branch,
    Swap(Name),
    Loop,
}

/// What reads return, as far as it is known.
pub(crate) type Values = BTreeMap<Name, i64>;

/// An execution as far as it follows from what was chosen.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) values: Values,
    pub(crate) names: Vec<Name>,
    pub(crate) graph: Graph,
    pub(crate) derived: Derived,
    pub(crate) co: Rel,
    written: BTreeMap<usize, Option<i64>>,
    pub(crate) threads: Vec<(Stop, Vec<Word>)>,
    pub(crate) arrivals: Vec<Arrival>,
    /// The cells of reads, and in the end of final values, whose writes are not chosen.
    pub(crate) open: Vec<Reader>,
    /// Whether an assumption about a compare-and-swap is wrong.
    pub(crate) refuted: bool,
}

/// A thread on its way: its first event, those before all that follows, reads that decided branches, open copies.
#[derive(Default)]
struct Walk {
    thread: usize,
    at: usize,
    first: usize,
    registers: Vec<Word>,
    passed: u128,
    control: u128,
    copies: u128,
}

pub(crate) fn word(registers: &[Word], operand: Operand) -> Word {
    match operand {
        Operand::Register(register) => registers[register],
        Operand::Constant(value) => (Some(value), 0),
    }
}

impl World {
    fn push(&mut self, name: Name, event: Event) -> usize {
        self.names.push(name);
        self.graph.events.push(event);
        self.names.len() - 1
    }

    /// An event in program order and under control of the branches passed.
    fn emit(&mut self, walk: &Walk, event: Event) -> usize {
        let new = self.names.len();
        self.graph.po.link(walk.passed, new);
        self.graph.dependencies.link(walk.control, new);
        self.push(Name { thread: Some(walk.thread), index: new - walk.first }, event)
    }

    fn store(&mut self, write: usize, (value, reads): Word) {
        self.written.insert(write, value);
        self.graph.dependencies.link(reads, write);
    }

    pub(crate) fn place(&self, name: &Name) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.threads.iter().all(|(stop, _)| *stop == Stop::Ended)
    }
}

impl Checker<'_> {
    /// The cells of some bytes.
    pub(crate) fn cells(&self, Bytes { object, start, len, .. }: Bytes) -> impl Iterator<Item = Cell> {
        let cuts = self.cuts.range((object, start)..=(object, start + len));
        let ends = cuts.clone().skip(1);
        cuts.zip(ends).map(|(from, to)| Cell { object: from.0, start: from.1, len: to.1 - from.1 })
    }

    /// What follows from the choices; nothing if that is too much. `known` are values that follow from fewer of them.
    pub(crate) fn world(&self, chosen: &Choices, known: &Values) -> Option<World> {
        let mut values = known.clone();
        let mut world = loop {
            let mut world = World::default();
            for (index, bytes) in self.program.objects.iter().enumerate().take(100) {
                world.push(Name { thread: None, index }, Event::initial(index, bytes.len()));
            }
            for thread in 0..self.program.threads.len() {
                let stopped = self.run(thread, &mut world, &values, chosen)?;
                world.threads.push(stopped);
            }
            let reads = world.names.iter().zip(&world.graph.events).filter(|(_, event)| event.is_read());
            let value = |(name, event): (&Name, &Event)| {
                Some((*name, self.taken(&world, chosen, *name, event.bytes()?)?))
            };
            let now: Values = reads.filter_map(value).collect();
            if now == values {
                world.values = now;
                break world;
            }
            values = now;
        };
        let n = world.names.len();
        for read in (0..n).filter(|&read| world.graph.events[read].is_read()) {
            for cell in world.graph.events[read].bytes().into_iter().flat_map(|bytes| self.cells(bytes)) {
                match self.source(&world, chosen, (world.names[read], cell)) {
                    Some(write) => world.graph.sources.push((read, write, cell)),
                    None => world.open.push((world.names[read], cell)),
                }
            }
        }
        if world.has_ended() && world.open.is_empty() {
            world.open =
                self.finals().filter(|reader| self.source(&world, chosen, *reader).is_none()).collect();
        }
        let lookup = |pairs: &Pairs| {
            let mut rel = Rel::default();
            let known = pairs.iter().filter_map(|(a, b)| Some((world.place(a)?, world.place(b)?)));
            known.for_each(|(a, b)| rel.link(1 << a, b));
            rel
        };
        let (scf, decided) = (lookup(&chosen.fences), lookup(&chosen.coherence));
        (world.graph.bar, world.graph.scf) =
            (lookup(chosen.barriers.as_ref().unwrap_or(&self.certain(&world))), scf);
        loop {
            world.derived = Derived::new(&world.graph, self.model);
            if world.derived.fences.is_in(&world.graph.scf) {
                break;
            }
            (0..n).for_each(|a| world.graph.scf.0[a] |= world.derived.fences.0[a]);
        }
        world.co = world.derived.least_coherence(&world.graph, &decided);
        Some(world)
    }

    /// Whether a reader may take a write: one of its cell, and of an atomic not its own.
    pub(crate) fn fits(&self, world: &World, (reader, cell): Reader, write: usize) -> bool {
        let own = world.place(&reader).is_some_and(|read| world.graph.rmw.has(read, write));
        world.graph.events[write].is_write() && world.graph.events[write].covers(cell) && !own
    }

    pub(crate) fn source(&self, world: &World, chosen: &Choices, reader: Reader) -> Option<usize> {
        let write = world.place(chosen.sources.get(&reader)?)?;
        self.fits(world, reader, write).then_some(write)
    }

    /// The value that a reader of some bytes takes, if it is known.
    pub(crate) fn taken(&self, world: &World, chosen: &Choices, by: Name, bytes: Bytes) -> Option<i64> {
        let part = |cell: Cell| {
            let write = self.source(world, chosen, (by, cell))?;
            let (place, event) = (world.names[write], world.graph.events[write].bytes()?);
            let value = match place.thread {
                Some(_) => (*world.written.get(&write)?)? as u64 >> ((cell.start - event.start) * 8),
                None => {
                    let own = self.program.objects[place.index].iter().skip(cell.start as usize).take(8);
                    own.rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
                }
            };
            Some((value & u64::MAX >> (64 - 8 * cell.len.min(8))) << ((cell.start - bytes.start) * 8))
        };
        self.cells(bytes).map(part).sum::<Option<u64>>().map(|value| value as i64)
    }

    /// Runs a thread; nothing if it does not stop.
    fn run(
        &self,
        thread: usize,
        world: &mut World,
        values: &BTreeMap<Name, i64>,
        chosen: &Choices,
    ) -> Option<(Stop, Vec<Word>)> {
        let text = &self.program.threads[thread];
        let registers = text.initial.iter().map(|&value| (Some(value), 0)).collect();
        let mut walk = Walk { thread, first: world.names.len(), registers, ..Walk::default() };
        // Where iterations began: with which registers and event, and how many have accessed memory.
        let mut begun: BTreeMap<usize, (Vec<Word>, usize, u32)> = BTreeMap::new();
        for _ in 0..20_000 {
            let (at, before) = (walk.at, world.names.len());
            begun.entry(at).or_insert_with(|| (walk.registers.clone(), before, 1));
            if at >= text.code.len() {
                return Some((Stop::Ended, walk.registers));
            }
            if before > 112 {
                return None;
            }
            if let Err(stop) = self.step(text, &mut walk, world, values, chosen) {
                return Some((stop, walk.registers));
            }
            if !matches!(text.code[at], Instruction::CopyAsync { .. }) {
                (before..world.names.len()).for_each(|event| walk.passed |= 1 << event);
            }
            if walk.at <= at {
                // An iteration ended. It repeats itself if it only read, and left what may be used later as it was.
                let Some((old, first, count)) = begun.remove(&walk.at) else { continue };
                // Loops within this one begin anew.
                begun.retain(|&head, _| head < walk.at || head > at);
                let known = |r: usize| old[r].0.is_some() && old[r].0 == walk.registers[r].0;
                let kept = |r| old[r] == walk.registers[r] || known(r) || !self.is_used(thread, walk.at, r);
                let without_effect = |event: usize| match world.graph.events[event].kind {
                    Kind::Read(_) | Kind::Fence | Kind::ProxyFence(_) | Kind::AliasFence => true,
                    Kind::Write(_) => {
                        (first..event).filter(|&read| world.graph.rmw.has(read, event)).any(|read| {
                            let value = values.get(&world.names[read]);
                            value.is_some() && value == world.written[&event].as_ref()
                        })
                    }
                    _ => false,
                };
                let mut iteration = first..world.names.len();
                let accesses = |event: usize| world.graph.events[event].bytes().is_some();
                let count = count + u32::from(iteration.clone().any(accesses));
                if iteration.all(without_effect) && (0..old.len()).all(kept) || count > self.bound {
                    return Some((Stop::Loop, walk.registers));
                }
                begun.insert(walk.at, (walk.registers.clone(), world.names.len(), count));
            }
        }
        None
    }

    /// Whether a register's value may be used from an instruction on, or is asked for at the end.
    fn is_used(&self, thread: usize, at: usize, register: usize) -> bool {
        let text = &self.program.threads[thread];
        let (mut ahead, mut seen) = (vec![at], vec![false; text.code.len()]);
        while let Some(at) = ahead.pop() {
            if at >= text.code.len() {
                if self.terms.contains(&Term::Register(thread, register)) {
                    return true;
                }
            } else if !std::mem::replace(&mut seen[at], true) {
                let (written, read) = text.code[at].registers();
                if read.contains(&register) {
                    return true;
                }
                if !written.contains(&register) {
                    ahead.extend(text.successors(at));
                }
            }
        }
        false
    }

    /// One instruction.
    fn step(
        &self,
        text: &Thread,
        walk: &mut Walk,
        world: &mut World,
        values: &BTreeMap<Name, i64>,
        chosen: &Choices,
    ) -> Result<(), Stop> {
        let at = walk.at;
        walk.at += 1;
        let plain = |kind| Event::new(walk.thread, at, text.placement, kind);
        let of = |kind, order, a: &Access| Event { order, scope: a.scope, proxy: a.proxy, ..plain(kind) };
        let read = |world: &World, event: usize| (values.get(&world.names[event]).copied(), 1 << event);
        match &text.code[at] {
            Instruction::Load { destinations, access: a } => {
                for (&register, bytes) in destinations.iter().zip(elements(a.bytes, destinations.len())) {
                    let event = world.emit(walk, of(Kind::Read(bytes), a.order, a));
                    walk.registers[register] = read(world, event);
                }
            }
            Instruction::Store { values: stored, access: a } => {
                for (&value, bytes) in stored.iter().zip(elements(a.bytes, stored.len())) {
                    let event = world.emit(walk, of(Kind::Write(bytes), a.order, a));
                    world.store(event, word(&walk.registers, value));
                }
            }
            Instruction::Atomic { destination, update, access: a } => {
                let half = of(Kind::Read(a.bytes), a.order.of_read(), a);
                let first = world.emit(walk, Event { unobserved: destination.is_none(), ..half });
                let old = read(world, first);
                let new = match *update {
                    Update::Combine(Arithmetic::Second, value) => Some(word(&walk.registers, value)),
                    Update::Combine(operation, value) => {
                        let (value, reads) = word(&walk.registers, value);
                        let combined = old.0.zip(value).map(|(old, value)| operation.apply(old, value));
                        Some((combined, reads | old.1))
                    }
                    Update::CompareAndSwap { expected, new } => {
                        let [expected, new] = [expected, new].map(|value| word(&walk.registers, value));
                        let equal = old.0.zip(expected.0).map(|(old, expected)| old == expected);
                        if self.model.0 == Family::Dartagnan {
                            // One that fails writes what it read.
                            let value = equal.and_then(|equal| if equal { new.0 } else { old.0 });
                            Some((value, new.1 | expected.1 | old.1))
                        } else {
                            let assumed = chosen.swaps.get(&world.names[first]).copied();
                            world.refuted |=
                                equal.zip(assumed).is_some_and(|(equal, assumed)| equal != assumed);
                            let succeeds = assumed.or(equal).ok_or(Stop::Swap(world.names[first]))?;
                            succeeds.then_some(new)
                        }
                    }
                };
                if let Some(new) = new {
                    let second = world.emit(walk, of(Kind::Write(a.bytes), a.order.of_write(), a));
                    world.graph.po.link(1 << first, second);
                    world.graph.rmw.link(1 << first, second);
                    world.store(second, new);
                }
                destination.iter().for_each(|&register| walk.registers[register] = old);
            }
            Instruction::Fence { order, scope } => {
                world.emit(walk, Event { order: *order, scope: Some(*scope), ..plain(Kind::Fence) });
            }
            Instruction::ProxyFence(proxy) => {
                world.emit(walk, Event { proxy: *proxy, ..plain(Kind::ProxyFence(*proxy)) });
            }
            Instruction::AliasFence => _ = world.emit(walk, plain(Kind::AliasFence)),
            Instruction::Barrier { .. } => {
                let name = Name { thread: Some(walk.thread), index: world.names.len() - walk.first };
                if let Some((arrival, barrier)) = Arrival::new(text, at, &walk.registers, name) {
                    world.emit(walk, plain(Kind::Barrier(barrier)));
                    let in_phases = self.model.0 == Family::Isa;
                    let arrival = if in_phases { arrival.behind(&world.arrivals) } else { arrival };
                    world.arrivals.push(arrival);
                }
            }
            Instruction::CopyAsync { to, from, proxy } => {
                for kind in [Kind::Read(*from), Kind::Write(*to)] {
                    let index = world.names.len() - walk.first;
                    let name = Name { thread: Some(walk.thread), index };
                    let copy = world.push(name, Event { proxy: *proxy, ..plain(kind) });
                    world.graph.copies.link(walk.passed, copy);
                    walk.copies |= 1 << copy;
                }
                let write = world.names.len() - 1;
                world.store(write, read(world, write - 1));
            }
            Instruction::WaitAsync => {
                let wait = world.emit(walk, plain(Kind::Wait));
                world.graph.copies.link(std::mem::take(&mut walk.copies), wait);
            }
            Instruction::Set { destination, operation, a, b } => {
                let [a, b] = [*a, *b].map(|value| word(&walk.registers, value));
                let combined = (a.0.zip(b.0).map(|(a, b)| operation.apply(a, b)), a.1 | b.1);
                walk.registers[*destination] = if *operation == Arithmetic::Second { b } else { combined };
            }
            Instruction::Branch { comparison, a, b, target } => {
                let [a, b] = [*a, *b].map(|value| word(&walk.registers, value));
                let (left, right) = a.0.zip(b.0).ok_or(Stop::Branch)?;
                walk.control |= a.1 | b.1;
                walk.at = if comparison.holds(left, right) { *target } else { at + 1 };
            }
            Instruction::Jump(target) => walk.at = *target,
        }
        Ok(())
    }
}
