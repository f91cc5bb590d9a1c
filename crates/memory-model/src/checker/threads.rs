//! Running threads on given values of their reads, without symbols and from the beginning each time.

use crate::event::{Barrier, Event, Kind, Order, Proxy};
use crate::layout::Layout;
use crate::model::Family;
use crate::program::{Access, Arithmetic, Instruction, Operand, Program, Thread, Update, elements};
use std::collections::BTreeMap;

/// An event by its thread and its place among the thread's events; initial writes are of no thread, by object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The thread; none for initial writes.
    pub thread: Option<usize>,
    /// The place among the thread's events, or the object.
    pub index: usize,
}

/// How far a thread came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    Ended,
    /// At a branch whose direction is open, or at a compare-and-swap: its read.
    Undecided(Option<usize>),
    Repeating,
    #[default]
    TooLong,
}

/// A value, if it is known, and the reads that it depends on.
pub(crate) type Word = (Option<i64>, u128);

/// A barrier event with its instruction, and the resource and quorum it was called with: if at all, and if known.
pub(crate) type Call = (usize, usize, [Option<Option<i64>>; 2]);

/// What a thread does, as far as the given values tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) events: Vec<Event>,
    pub(crate) written: BTreeMap<usize, Option<i64>>,
    pub(crate) order: Vec<(usize, usize)>,
    pub(crate) rmw: Vec<(usize, usize)>,
    pub(crate) dependencies: Vec<(usize, usize)>,
    pub(crate) copies: Vec<(usize, usize)>,
    pub(crate) barriers: Vec<Call>,
    pub(crate) registers: Vec<Word>,
    pub(crate) progress: Progress,
    /// Whether an assumption about a compare-and-swap is wrong.
    pub(crate) refuted: bool,
    /// Events before all that follows, reads that decided branches, and copies that nobody has waited for.
    passed: u128,
    control: u128,
    pending: u128,
}

fn members(set: u128) -> impl Iterator<Item = usize> {
    (0..128).filter(move |event| set >> event & 1 != 0)
}

impl Run {
    fn word(&self, operand: Operand) -> Word {
        match operand {
            Operand::Register(register) => self.registers[register],
            Operand::Constant(value) => (Some(value), 0),
        }
    }

    /// An event in program order and under control of the branches passed.
    fn emit(&mut self, event: Event) -> usize {
        let new = self.events.len();
        self.events.push(event);
        self.order.extend(members(self.passed).map(|old| (old, new)));
        self.dependencies.extend(members(self.control).map(|read| (read, new)));
        new
    }

    fn store(&mut self, write: usize, (value, reads): Word) {
        self.written.insert(write, value);
        self.dependencies.extend(members(reads).map(|read| (read, write)));
    }
}

/// The longest run.
const MAX_STEPS: usize = 20_000;

/// What threads are run for.
pub(crate) type Context<'a> = (&'a Program, &'a Layout, Family, u32);

/// Runs a thread. `values` are of its reads, by event; `swaps` are assumptions on compare-and-swaps, by their reads.
pub(crate) fn run(
    context: Context,
    thread: usize,
    values: &BTreeMap<usize, i64>,
    swaps: &BTreeMap<Name, bool>,
) -> Run {
    let (program, layout, family, bound) = context;
    let text = &program.threads[thread];
    let registers = text.initial.iter().map(|&value| (Some(value), 0)).collect();
    let mut out = Run { registers, ..Run::default() };
    let mut visits: BTreeMap<usize, (Vec<Word>, usize, u32)> = BTreeMap::new();
    let mut at = 0;
    for _ in 0..MAX_STEPS {
        visits.entry(at).or_insert_with(|| (out.registers.clone(), out.events.len(), 1));
        let before = out.events.len();
        if at >= text.code.len() || before > 120 {
            out.progress = if before > 120 { Progress::TooLong } else { Progress::Ended };
            break;
        }
        let next = match step(&mut out, text, (thread, at), family, values, swaps) {
            Ok(next) => next,
            Err(progress) => {
                out.progress = progress;
                break;
            }
        };
        if !matches!(text.code[at], Instruction::CopyAsync { .. }) {
            out.passed |= (before..out.events.len()).fold(0, |set, event| set | 1 << event);
        }
        if next <= at {
            // An iteration ended. It repeats itself if it only read, and left all that is used later as it was.
            let Some((old, first, count)) = visits.remove(&next) else { break };
            let kept = |(r, live): (usize, &bool)| {
                let (old, new) = (old[r], out.registers[r]);
                !live || old == new || (old.0.is_some() && old.0 == new.0)
            };
            let effect = |event: usize| match out.events[event].kind {
                Kind::Read(_) | Kind::Fence | Kind::ProxyFence(_) | Kind::AliasFence => false,
                Kind::Write(_) => {
                    let of = out.rmw.iter().find(|pair| pair.1 == event);
                    let old = of.and_then(|pair| values.get(&pair.0)).copied();
                    old.is_none() || old != out.written[&event]
                }
                _ => true,
            };
            let mut iteration = first..out.events.len();
            let count = count + u32::from(iteration.clone().any(|event| out.events[event].bytes().is_some()));
            let same = layout.live[thread][next].iter().enumerate().all(kept);
            if (same && !iteration.any(effect)) || count > bound {
                out.progress = Progress::Repeating;
                break;
            }
            visits.insert(next, (out.registers.clone(), out.events.len(), count));
        }
        at = next;
    }
    out
}

/// One instruction; the place of the next, or why there is none.
fn step(
    out: &mut Run,
    text: &Thread,
    (thread, at): (usize, usize),
    family: Family,
    values: &BTreeMap<usize, i64>,
    swaps: &BTreeMap<Name, bool>,
) -> Result<usize, Progress> {
    let (placement, instruction) = (text.placement, at as u32);
    let event = |kind, order, scope, proxy| Event {
        thread: Some(thread as u32),
        instruction,
        placement,
        kind,
        order,
        scope,
        proxy,
        unobserved: false,
    };
    let plain = |kind| event(kind, Order::Weak, None, Proxy::Generic);
    let access = |kind, order, access: &Access| event(kind, order, access.scope, access.proxy);
    let read = |event: usize| (values.get(&event).copied(), 1 << event);
    match &text.code[at] {
        Instruction::Load { destinations, access: a } => {
            for (&register, bytes) in destinations.iter().zip(elements(a.bytes, destinations.len())) {
                out.registers[register] = read(out.emit(access(Kind::Read(bytes), a.order, a)));
            }
        }
        Instruction::Store { values: stored, access: a } => {
            for (&value, bytes) in stored.iter().zip(elements(a.bytes, stored.len())) {
                let write = out.emit(access(Kind::Write(bytes), a.order, a));
                out.store(write, out.word(value));
            }
        }
        Instruction::Atomic { destination, update, access: a } => {
            let half = access(Kind::Read(a.bytes), a.order.of_read(), a);
            let first = out.emit(Event { unobserved: destination.is_none(), ..half });
            let old = read(first);
            let new = match *update {
                Update::Combine(Arithmetic::Second, value) => Some(out.word(value)),
                Update::Combine(operation, value) => {
                    let (value, reads) = out.word(value);
                    Some((old.0.zip(value).map(|(old, value)| operation.apply(old, value)), reads | old.1))
                }
                Update::CompareAndSwap { expected, new } => {
                    let ((expected, reads), new) = (out.word(expected), out.word(new));
                    let equal = old.0.zip(expected).map(|(old, expected)| old == expected);
                    if family == Family::Dartagnan {
                        // One that fails writes what it read.
                        let value = equal.and_then(|equal| if equal { new.0 } else { old.0 });
                        Some((value, new.1 | reads | old.1))
                    } else {
                        let assumed = swaps.get(&Name { thread: Some(thread), index: first }).copied();
                        out.refuted |= equal.zip(assumed).is_some_and(|(equal, assumed)| equal != assumed);
                        let succeeds = assumed.or(equal).ok_or(Progress::Undecided(Some(first)))?;
                        succeeds.then_some(new)
                    }
                }
            };
            if let Some(new) = new {
                let second = out.emit(access(Kind::Write(a.bytes), a.order.of_write(), a));
                out.order.push((first, second));
                out.rmw.push((first, second));
                out.store(second, new);
            }
            destination.iter().for_each(|&register| out.registers[register] = old);
        }
        Instruction::Fence { order, scope } => {
            out.emit(event(Kind::Fence, *order, Some(*scope), Proxy::Generic));
        }
        Instruction::ProxyFence(proxy) => {
            out.emit(event(Kind::ProxyFence(*proxy), Order::Weak, None, *proxy));
        }
        Instruction::AliasFence => {
            out.emit(plain(Kind::AliasFence));
        }
        Instruction::Barrier { instance, part, scope, resource, quorum } => {
            let barrier = Barrier { instance: *instance, part: *part, scope: *scope };
            let event = out.emit(plain(Kind::Barrier(barrier)));
            let called = [resource, quorum].map(|with| with.map(|operand| out.word(operand).0));
            out.barriers.push((event, at, called));
        }
        Instruction::CopyAsync { to, from, proxy } => {
            let source = out.events.len();
            for kind in [Kind::Read(*from), Kind::Write(*to)] {
                let copy = out.events.len();
                out.events.push(event(kind, Order::Weak, None, *proxy));
                out.copies.extend(members(out.passed).map(|event| (event, copy)));
                out.pending |= 1 << copy;
            }
            out.store(source + 1, read(source));
        }
        Instruction::WaitAsync => {
            let wait = out.emit(plain(Kind::Wait));
            out.copies.extend(members(std::mem::take(&mut out.pending)).map(|copy| (copy, wait)));
        }
        Instruction::Set { destination, operation, a, b } => {
            let (a, b) = (out.word(*a), out.word(*b));
            let combined = (a.0.zip(b.0).map(|(a, b)| operation.apply(a, b)), a.1 | b.1);
            out.registers[*destination] = if *operation == Arithmetic::Second { b } else { combined };
        }
        Instruction::Branch { comparison, a, b, target } => {
            let (a, b) = (out.word(*a), out.word(*b));
            let (left, right) = a.0.zip(b.0).ok_or(Progress::Undecided(None))?;
            out.control |= a.1 | b.1;
            return Ok(if comparison.holds(left, right) { *target } else { at + 1 });
        }
        Instruction::Jump(target) => return Ok(*target),
    }
    Ok(at + 1)
}
