//! Running the threads of a program into events, as far as what they have read allows.
//!
//! Registers hold symbolic values over reads, so that a thread goes on past a load whose value is open; it stops at a
//! branch that such a value decides. A read gets its value when its sources are chosen. Dependencies fall out: the reads
//! in a stored value are its data dependencies, those in the branches passed are control dependencies.

mod step;

use crate::event::{Cell, Event, Kind, Order};
use crate::facts::{Base, Facts};
use crate::layout::Layout;
use crate::model::Family;
use crate::program::{Arithmetic, Comparison, Instruction, Operand, Program, Register};
use crate::relation::{EventId, MAX_EVENTS, Set};

/// A symbolic value's place among the values of its execution.
type Symbol = usize;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Constant(i64),
    Read(EventId),
    Combined(Arithmetic, Symbol, Symbol),
    /// The third if the first two are equal, otherwise the first.
    Swapped(Symbol, Symbol, Symbol),
}

/// One cell that a read takes from a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The read.
    pub(crate) read: EventId,
    /// The cell.
    pub(crate) cell: Cell,
    /// The write, once chosen.
    pub(crate) write: Option<EventId>,
    /// Writes before this event were put off: the read takes none of them.
    pub(crate) after: EventId,
}

/// Why a thread does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It can run.
    Running,
    /// A branch or a compare-and-swap waits for a value.
    Undecided,
    /// It has ended.
    Ended,
    /// It is in a loop that would repeat itself; the iteration began with this event.
    Spinning(EventId),
    /// It waits at a barrier.
    Waiting(EventId),
    /// A loop with effects was left after as many iterations as were asked for.
    Cut,
}

#[derive(Clone, Debug)]
struct Head {
    registers: Vec<Symbol>,
    first_event: EventId,
    iterations: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct ThreadState {
    at: usize,
    registers: Vec<Symbol>,
    /// The reads that decided the branches passed.
    control: Set,
    /// The events before the next in program order.
    before: Set,
    /// Copies that were started and not waited for.
    copies: Set,
    heads: Vec<Option<Head>>,
    /// The read of a compare-and-swap whose outcome is open.
    swap: Option<EventId>,
    pub(crate) status: Status,
}

/// A barrier event with what it was called with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) event: EventId,
    pub(crate) thread: usize,
    pub(crate) instruction: usize,
    pub(crate) resource: Option<Symbol>,
    pub(crate) quorum: Option<Symbol>,
}

/// What stays the same while a program is searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) program: &'a Program,
    pub(crate) layout: &'a Layout,
    pub(crate) family: Family,
    /// Whether both halves of an atomic can be sequentially consistent.
    pub(crate) sc_atomics: bool,
    /// The most iterations of a loop with effects.
    pub(crate) bound: u32,
    /// Whether threads stop at barriers until they are released.
    pub(crate) blocking: bool,
}

impl Context<'_> {
    /// The orders of the read and the write of an atomic.
    fn halves(&self, order: Order) -> (Order, Order) {
        match order {
            Order::Sc if self.sc_atomics => (order, order),
            _ => (order.of_read(), order.of_write()),
        }
    }
}

/// Too many events or steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// The most instructions that a thread executes without an event.
const MAX_STEPS: usize = 10_000;

/// A partial execution.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) facts: Facts,
    values: Vec<Value>,
    known: Vec<Option<i64>>,
    /// The value that each write writes.
    written: Vec<Option<Symbol>>,
    /// The value that each read returned.
    returned: Vec<Option<Symbol>>,
    pub(crate) sources: Vec<Source>,
    pub(crate) threads: Vec<ThreadState>,
    pub(crate) arrivals: Vec<Arrival>,
    /// Pairs of values that were assumed to be equal, or not.
    assumptions: Vec<(Symbol, Symbol, bool)>,
    /// Whether compare-and-swaps, by their reads, were assumed to succeed.
    pub(crate) swaps: Vec<(EventId, bool)>,
}

impl State {
    /// The beginning: memory has its first values, no thread has run.
    pub(crate) fn new(context: &Context) -> Result<Self, TooLarge> {
        let mut state = Self {
            facts: Facts::default(),
            values: Vec::new(),
            known: Vec::new(),
            written: Vec::new(),
            returned: Vec::new(),
            sources: Vec::new(),
            threads: Vec::new(),
            arrivals: Vec::new(),
            assumptions: Vec::new(),
            swaps: Vec::new(),
        };
        for (object, bytes) in context.program.objects.iter().enumerate() {
            state.push(Event::initial(object, bytes.len()))?;
        }
        for thread in &context.program.threads {
            let registers =
                thread.initial.iter().map(|&value| state.symbol(Value::Constant(value))).collect();
            state.threads.push(ThreadState {
                at: 0,
                registers,
                control: Set::default(),
                before: Set::default(),
                copies: Set::default(),
                heads: vec![None; thread.code.len() + 1],
                swap: None,
                status: Status::Running,
            });
        }
        Ok(state)
    }

    fn push(&mut self, event: Event) -> Result<EventId, TooLarge> {
        if self.facts.len() >= MAX_EVENTS {
            return Err(TooLarge);
        }
        self.written.push(None);
        self.returned.push(None);
        Ok(self.facts.push(event))
    }

    fn symbol(&mut self, value: Value) -> Symbol {
        let known = self.compute(value);
        self.values.push(value);
        self.known.push(known);
        self.values.len() - 1
    }

    fn compute(&self, value: Value) -> Option<i64> {
        match value {
            Value::Constant(value) => Some(value),
            Value::Read(_) => None,
            Value::Combined(operation, a, b) => Some(operation.apply(self.known[a]?, self.known[b]?)),
            Value::Swapped(old, expected, new) => {
                if self.known[old]? == self.known[expected]? {
                    self.known[new]
                } else {
                    self.known[old]
                }
            }
        }
    }

    /// The reads that a value depends on.
    fn reads_in(&self, symbol: Symbol) -> Set {
        let mut found = Set::default();
        let mut seen = vec![false; symbol + 1];
        let mut open = vec![symbol];
        while let Some(symbol) = open.pop() {
            if std::mem::replace(&mut seen[symbol], true) {
                continue;
            }
            match self.values[symbol] {
                Value::Constant(_) => {}
                Value::Read(event) => found.insert(event),
                Value::Combined(_, a, b) => open.extend([a, b]),
                Value::Swapped(a, b, c) => open.extend([a, b, c]),
            }
        }
        found
    }

    fn operand(&mut self, thread: usize, operand: Operand) -> Symbol {
        match operand {
            Operand::Register(register) => self.threads[thread].registers[register],
            Operand::Constant(value) => self.symbol(Value::Constant(value)),
        }
    }

    /// The value of a register, where it is known.
    pub(crate) fn register(&self, thread: usize, register: Register) -> Option<i64> {
        self.known[self.threads[thread].registers[register]]
    }

    /// Reads, and those on which the values depend that they take from writes.
    pub(crate) fn reads_behind(&self, reads: Set) -> Set {
        let (mut found, mut open) = (reads, reads);
        while !open.is_empty() {
            let taken = self.sources.iter().filter(|source| open.contains(source.read));
            let values = taken.filter_map(|source| self.written[source.write?]);
            let behind = values.fold(Set::default(), |all, value| all.or(self.reads_in(value)));
            open = behind.minus(found);
            found = found.or(behind);
        }
        found
    }

    /// The reads that a register's value depends on.
    pub(crate) fn reads_of(&self, thread: usize, register: Register) -> Set {
        self.reads_in(self.threads[thread].registers[register])
    }

    /// A value, where it is known.
    pub(crate) fn known(&self, symbol: Symbol) -> Option<i64> {
        self.known[symbol]
    }

    /// What a write writes, or a read returned.
    pub(crate) fn value_of(&self, event: EventId) -> Option<i64> {
        self.known[self.written[event].or(self.returned[event])?]
    }

    /// The bytes that a write gives to a cell, little-endian.
    pub(crate) fn cell_value(&self, context: &Context, write: EventId, cell: Cell) -> Option<u64> {
        let event = &self.facts.events()[write];
        let bytes = event.bytes()?;
        let mask = if cell.len >= 8 { u64::MAX } else { (1 << (cell.len * 8)) - 1 };
        if let Kind::Init(_) = event.kind {
            let initial = context.program.objects[cell.object as usize].get(cell.start as usize..)?;
            let take = initial.len().min(cell.len as usize).min(8);
            let mut word = [0; 8];
            word[..take].copy_from_slice(&initial[..take]);
            return Some(u64::from_le_bytes(word) & mask);
        }
        let value = self.known[self.written[write]?]? as u64;
        Some(value >> ((cell.start - bytes.start) * 8) & mask)
    }

    /// Works out the values that follow from the sources chosen so far.
    pub(crate) fn settle(&mut self, context: &Context) {
        loop {
            let mut changed = false;
            for symbol in 0..self.values.len() {
                if self.known[symbol].is_some() {
                    continue;
                }
                let known = match self.values[symbol] {
                    Value::Read(event) => self.read_value(context, event),
                    value => self.compute(value),
                };
                if known.is_some() {
                    self.known[symbol] = known;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    fn read_value(&self, context: &Context, read: EventId) -> Option<i64> {
        let bytes = self.facts.events()[read].bytes()?;
        let mut value = 0;
        for source in self.sources.iter().filter(|source| source.read == read) {
            let part = self.cell_value(context, source.write?, source.cell)?;
            value |= part << ((source.cell.start - bytes.start) * 8);
        }
        Some(value as i64)
    }

    /// Whether an assumption turned out to be wrong.
    pub(crate) fn is_refuted(&self) -> bool {
        self.assumptions.iter().any(|&(a, b, equal)| {
            matches!((self.known[a], self.known[b]), (Some(a), Some(b)) if (a == b) != equal)
        })
    }

    /// Runs all threads as far as they go.
    pub(crate) fn run(&mut self, context: &Context) -> Result<(), TooLarge> {
        loop {
            for thread in 0..self.threads.len() {
                if self.threads[thread].status == Status::Undecided {
                    self.threads[thread].status = Status::Running;
                }
                let mut steps = 0;
                while self.threads[thread].status == Status::Running {
                    self.step(context, thread)?;
                    steps += 1;
                    if steps > MAX_STEPS {
                        return Err(TooLarge);
                    }
                }
            }
            if !(context.blocking && self.release(context)) {
                return Ok(());
            }
        }
    }

    /// A thread at a compare-and-swap whose outcome is open, and its read: both outcomes have to be tried.
    pub(crate) fn open_swap(&self) -> Option<(usize, EventId)> {
        self.threads.iter().enumerate().find_map(|(thread, state)| Some((thread, state.swap?)))
    }

    /// The reads that the branches depend on at which threads have stopped.
    pub(crate) fn awaited(&self, context: &Context) -> Set {
        let mut awaited = Set::default();
        for (thread, state) in self.threads.iter().enumerate() {
            if state.status == Status::Undecided
                && let Instruction::Branch { a, b, .. } = context.program.threads[thread].code[state.at]
            {
                for operand in [a, b] {
                    if let Operand::Register(register) = operand {
                        awaited = awaited.or(self.reads_in(state.registers[register]));
                    }
                }
            }
        }
        awaited
    }

    /// Supposes how an open compare-and-swap ends.
    pub(crate) fn assume(&mut self, context: &Context, thread: usize, success: bool) -> Result<(), TooLarge> {
        let at = self.threads[thread].at;
        let base = Event::new(thread, at, context.program.threads[thread].placement, Kind::Fence);
        self.compare_and_swap(context, thread, base, Some(success))
    }

    fn branch(
        &mut self,
        context: &Context,
        thread: usize,
        comparison: Comparison,
        a: Operand,
        b: Operand,
        target: usize,
    ) -> Result<(), TooLarge> {
        let (a, b) = (self.operand(thread, a), self.operand(thread, b));
        let (Some(left), Some(right)) = (self.known[a], self.known[b]) else {
            self.threads[thread].status = Status::Undecided;
            return Ok(());
        };
        let deciding = self.reads_in(a).or(self.reads_in(b));
        self.threads[thread].control = self.threads[thread].control.or(deciding);
        if comparison.holds(left, right) {
            return self.go(context, thread, target);
        }
        self.threads[thread].at += 1;
        Ok(())
    }

    fn enter(&mut self, thread: usize, at: usize, iterations: u32) {
        let (registers, first_event) = (self.threads[thread].registers.clone(), self.facts.len());
        self.threads[thread].heads[at] = Some(Head { registers, first_event, iterations });
    }

    /// Goes to an instruction. Going back ends an iteration of a loop: one that would repeat itself is not repeated, for
    /// what a repetition adds to an execution only forbids more.
    fn go(&mut self, context: &Context, thread: usize, target: usize) -> Result<(), TooLarge> {
        let head = self.threads[thread].heads[target].take();
        let at = self.threads[thread].at;
        let back = target <= at;
        if back {
            // Loops within this one begin anew.
            self.threads[thread].heads[target + 1..=at].fill(None);
        }
        self.threads[thread].at = target;
        let (true, Some(head)) = (back, head) else { return Ok(()) };
        let live = &context.layout.live[thread][target];
        let same = |register: usize| {
            let (before, now) = (head.registers[register], self.threads[thread].registers[register]);
            before == now || (self.known[before].is_some() && self.known[before] == self.known[now])
        };
        let repeats = (0..live.len()).all(|register| !live[register] || same(register));
        let events = head.first_event..self.facts.len();
        let mut own =
            events.clone().filter(|&event| self.facts.events()[event].thread == Some(thread as u32));
        if repeats && own.clone().all(|event| self.is_without_effect(event)) {
            self.threads[thread].status = Status::Spinning(head.first_event);
            return Ok(());
        }
        // A loop that depends on no memory ends by itself, or after the most steps.
        let counted = u32::from(own.any(|event| self.facts.events()[event].bytes().is_some()));
        if head.iterations + counted > context.bound {
            self.threads[thread].status = Status::Cut;
            return Ok(());
        }
        self.enter(thread, target, head.iterations + counted);
        Ok(())
    }

    fn is_without_effect(&self, event: EventId) -> bool {
        match self.facts.events()[event].kind {
            Kind::Read(_) | Kind::Fence | Kind::ProxyFence(_) | Kind::AliasFence => true,
            Kind::Write(_) => {
                // An atomic that wrote what it read changes nothing.
                let mut reads = (0..event).filter(|&read| self.facts.base(Base::Rmw).contains(read, event));
                let written = self.value_of(event);
                reads.next().is_some_and(|read| written.is_some() && self.value_of(read) == written)
            }
            Kind::Init(_) | Kind::Barrier(_) | Kind::Wait => false,
        }
    }

    /// Lets threads go on whose barrier is complete; whether there were any.
    fn release(&mut self, context: &Context) -> bool {
        let complete: Vec<usize> = (0..self.threads.len())
            .filter(|&thread| {
                let Status::Waiting(event) = self.threads[thread].status else { return false };
                let arrival = self.arrivals.iter().find(|arrival| arrival.event == event);
                arrival.is_some_and(|arrival| crate::barrier::is_complete(self, context, arrival))
            })
            .collect();
        for &thread in &complete {
            self.threads[thread].status = Status::Running;
        }
        !complete.is_empty()
    }
}
