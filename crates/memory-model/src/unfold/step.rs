//! One instruction of a thread.

use super::{Arrival, Context, Source, State, Status, Symbol, TooLarge, Value};
use crate::event::{Barrier, Bytes, Event, Kind, Order, Part};
use crate::facts::Base;
use crate::model::Family;
use crate::program::{Access, Arithmetic, Instruction, Update, elements};
use crate::relation::{EventId, Set};

impl State {
    pub(super) fn step(&mut self, context: &Context, thread: usize) -> Result<(), TooLarge> {
        let program = &context.program.threads[thread];
        let at = self.threads[thread].at;
        if context.layout.heads[thread][at] && self.threads[thread].heads[at].is_none() {
            self.enter(thread, at, 1);
        }
        let Some(instruction) = program.code.get(at) else {
            self.threads[thread].status = Status::Ended;
            return Ok(());
        };
        let base = Event::new(thread, at, program.placement, Kind::Fence);
        match instruction {
            Instruction::Load { destinations, access } => {
                let mut made = Set::default();
                for (&register, bytes) in destinations.iter().zip(elements(access.bytes, destinations.len()))
                {
                    let kind = Kind::Read(bytes);
                    let (proxy, order, scope) = (access.proxy, access.order, access.scope);
                    let read = self.event(thread, Event { kind, order, scope, proxy, ..base })?;
                    made.insert(read);
                    self.threads[thread].registers[register] = self.read(context, read, bytes);
                }
                self.pass(thread, made);
            }
            Instruction::Store { values, access } => {
                let mut made = Set::default();
                for (&value, bytes) in values.iter().zip(elements(access.bytes, values.len())) {
                    let kind = Kind::Write(bytes);
                    let (proxy, order, scope) = (access.proxy, access.order, access.scope);
                    let write = self.event(thread, Event { kind, order, scope, proxy, ..base })?;
                    let value = self.operand(thread, value);
                    self.write(write, value);
                    made.insert(write);
                }
                self.pass(thread, made);
            }
            Instruction::Atomic { update: Update::CompareAndSwap { .. }, .. }
                if context.family == Family::Isa =>
            {
                return self.compare_and_swap(context, thread, base, None);
            }
            Instruction::Atomic { destination, update, access } => {
                let (read_order, write_order) = context.halves(access.order);
                let read = half(access, read_order, Kind::Read, base);
                let read = self.event(thread, Event { unobserved: destination.is_none(), ..read })?;
                self.pass(thread, Set::of(read));
                let old = self.read(context, read, access.bytes);
                let new = match *update {
                    Update::Combine(Arithmetic::Second, operand) => self.operand(thread, operand),
                    Update::Combine(operation, operand) => {
                        let operand = self.operand(thread, operand);
                        self.symbol(Value::Combined(operation, old, operand))
                    }
                    Update::CompareAndSwap { expected, new } => {
                        let (expected, new) = (self.operand(thread, expected), self.operand(thread, new));
                        self.symbol(Value::Swapped(old, expected, new))
                    }
                };
                self.write_behind(thread, (read, half(access, write_order, Kind::Write, base)), new)?;
                if let Some(register) = *destination {
                    self.threads[thread].registers[register] = old;
                }
            }
            Instruction::Fence { order, scope } => {
                let fence = self.event(thread, Event { order: *order, scope: Some(*scope), ..base })?;
                self.pass(thread, Set::of(fence));
            }
            Instruction::ProxyFence(proxy) => {
                let fence =
                    self.event(thread, Event { kind: Kind::ProxyFence(*proxy), proxy: *proxy, ..base })?;
                self.pass(thread, Set::of(fence));
            }
            Instruction::AliasFence => {
                let fence = self.event(thread, Event { kind: Kind::AliasFence, ..base })?;
                self.pass(thread, Set::of(fence));
            }
            Instruction::Barrier { instance, part, scope, resource, quorum } => {
                let kind = Kind::Barrier(Barrier { instance: *instance, part: *part, scope: *scope });
                let event = self.event(thread, Event { kind, ..base })?;
                let resource = resource.map(|operand| self.operand(thread, operand));
                let quorum = quorum.map(|operand| self.operand(thread, operand));
                self.arrivals.push(Arrival { event, thread, instruction: at, resource, quorum });
                self.pass(thread, Set::of(event));
                let waits = *part != Part::Arrive || context.family == Family::Dartagnan;
                if context.blocking && waits {
                    self.threads[thread].status = Status::Waiting(event);
                }
            }
            Instruction::CopyAsync { to, from, proxy } => {
                let before = self.threads[thread].before;
                let read = self.push(Event { kind: Kind::Read(*from), proxy: *proxy, ..base })?;
                let write = self.push(Event { kind: Kind::Write(*to), proxy: *proxy, ..base })?;
                let value = self.read(context, read, *from);
                self.write(write, value);
                for event in before.iter() {
                    self.facts.base_mut(Base::Async).insert(event, read);
                    self.facts.base_mut(Base::Async).insert(event, write);
                }
                self.threads[thread].copies =
                    self.threads[thread].copies.or(Set::of(read)).or(Set::of(write));
            }
            Instruction::WaitAsync => {
                let wait = self.event(thread, Event { kind: Kind::Wait, ..base })?;
                for copy in std::mem::take(&mut self.threads[thread].copies).iter() {
                    self.facts.base_mut(Base::Async).insert(copy, wait);
                }
                self.pass(thread, Set::of(wait));
            }
            Instruction::Set { destination, operation, a, b } => {
                let (a, b) = (self.operand(thread, *a), self.operand(thread, *b));
                let value = if *operation == Arithmetic::Second {
                    b
                } else {
                    self.symbol(Value::Combined(*operation, a, b))
                };
                self.threads[thread].registers[*destination] = value;
            }
            Instruction::Branch { comparison, a, b, target } => {
                return self.branch(context, thread, *comparison, *a, *b, *target);
            }
            Instruction::Jump(target) => return self.go(context, thread, *target),
        }
        self.threads[thread].at = at + 1;
        Ok(())
    }

    /// An event in program order and under control of the branches passed.
    fn event(&mut self, thread: usize, event: Event) -> Result<EventId, TooLarge> {
        let new = self.push(event)?;
        let (before, control) = (self.threads[thread].before, self.threads[thread].control);
        for old in before.iter() {
            self.facts.base_mut(Base::Po).insert(old, new);
        }
        for read in control.iter() {
            self.facts.base_mut(Base::Ctrl).insert(read, new);
        }
        Ok(new)
    }

    /// Puts events before all that comes later in the thread.
    fn pass(&mut self, thread: usize, events: Set) {
        self.threads[thread].before = self.threads[thread].before.or(events);
    }

    fn read(&mut self, context: &Context, read: EventId, bytes: Bytes) -> Symbol {
        for cell in context.layout.cells_of(bytes) {
            self.sources.push(Source { read, cell, write: None, after: 0 });
        }
        let symbol = self.symbol(Value::Read(read));
        self.returned[read] = Some(symbol);
        symbol
    }

    fn write(&mut self, write: EventId, value: Symbol) {
        self.written[write] = Some(value);
        for read in self.reads_in(value).iter() {
            self.facts.base_mut(Base::Data).insert(read, write);
        }
    }

    /// The write of an atomic operation that has read.
    fn write_behind(
        &mut self,
        thread: usize,
        (read, write): (EventId, Event),
        value: Symbol,
    ) -> Result<(), TooLarge> {
        let write = self.event(thread, write)?;
        self.write(write, value);
        self.facts.base_mut(Base::Rmw).insert(read, write);
        self.pass(thread, Set::of(write));
        Ok(())
    }

    /// Goes on at a compare-and-swap, whose write exists only if it succeeds.
    pub(super) fn compare_and_swap(
        &mut self,
        context: &Context,
        thread: usize,
        base: Event,
        assumed: Option<bool>,
    ) -> Result<(), TooLarge> {
        let at = self.threads[thread].at;
        let Instruction::Atomic { destination, update: Update::CompareAndSwap { expected, new }, access } =
            &context.program.threads[thread].code[at]
        else {
            return Ok(());
        };
        let (read_order, write_order) = context.halves(access.order);
        let read = match self.threads[thread].swap {
            Some(read) => read,
            None => {
                let read = self.event(thread, half(access, read_order, Kind::Read, base))?;
                self.pass(thread, Set::of(read));
                self.read(context, read, access.bytes);
                self.threads[thread].swap = Some(read);
                read
            }
        };
        let Some(old) = self.returned[read] else { return Ok(()) };
        let (expected, new) = (self.operand(thread, *expected), self.operand(thread, *new));
        let success = match (self.known[old], self.known[expected], assumed) {
            (Some(old), Some(expected), _) => old == expected,
            (_, _, Some(assumed)) => {
                self.assumptions.push((old, expected, assumed));
                self.swaps.push((read, assumed));
                assumed
            }
            _ => {
                self.threads[thread].status = Status::Undecided;
                return Ok(());
            }
        };
        if success {
            self.write_behind(thread, (read, half(access, write_order, Kind::Write, base)), new)?;
        }
        if let Some(register) = *destination {
            self.threads[thread].registers[register] = old;
        }
        self.threads[thread].at = at + 1;
        self.threads[thread].swap = None;
        self.threads[thread].status = Status::Running;
        Ok(())
    }
}

/// The read or the write of an atomic operation.
fn half(access: &Access, order: Order, kind: fn(Bytes) -> Kind, base: Event) -> Event {
    Event { kind: kind(access.bytes), order, scope: access.scope, proxy: access.proxy, ..base }
}
