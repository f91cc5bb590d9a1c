//! Running threads on given values of their reads, without symbols and from the beginning each time.

use crate::event::{Barrier, Event, Kind, Order, Proxy};
use crate::layout::Layout;
use crate::model::Family;
use crate::program::{Arithmetic, Instruction, Operand, Program, Update, elements};
use std::collections::{BTreeMap, BTreeSet};

/// An event by its thread and its place among the thread's events; initial writes are of no thread, by object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The thread; none for initial writes.
    pub thread: Option<usize>,
    /// The place among the thread's events, or the object.
    pub index: usize,
}

/// How far a thread came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Ended,
    Undecided,
    /// At a compare-and-swap whose outcome is open: its read.
    Swapping(usize),
    Repeating,
}

/// A value, if it is known, and the reads that it depends on.
type Word = (Option<i64>, BTreeSet<usize>);

/// A barrier's instruction, resource and quorum; an operand that is there may be unknown.
type Call = (usize, Option<Option<i64>>, Option<Option<i64>>);

/// What a thread does, as far as the given values tell.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) events: Vec<Event>,
    pub(crate) written: BTreeMap<usize, Option<i64>>,
    pub(crate) order: BTreeSet<(usize, usize)>,
    pub(crate) rmw: BTreeSet<(usize, usize)>,
    pub(crate) dependencies: BTreeSet<(usize, usize)>,
    pub(crate) copies: BTreeSet<(usize, usize)>,
    /// The barrier events with what they were called with.
    pub(crate) barriers: BTreeMap<usize, Call>,
    pub(crate) registers: Vec<Option<i64>>,
    pub(crate) progress: Progress,
    /// Whether an assumption about a compare-and-swap is wrong.
    pub(crate) refuted: bool,
}

/// The longest run.
const MAX_STEPS: usize = 20_000;

/// Runs a thread. `values` are of its reads, by event; `swaps` are assumptions on compare-and-swaps, by their reads.
pub(crate) fn run(
    (program, layout, family, bound): (&Program, &Layout, Family, u32),
    thread: usize,
    values: &BTreeMap<usize, i64>,
    swaps: &BTreeMap<usize, bool>,
) -> Run {
    let text = &program.threads[thread];
    let mut out = Run {
        events: Vec::new(),
        written: BTreeMap::new(),
        order: BTreeSet::new(),
        rmw: BTreeSet::new(),
        dependencies: BTreeSet::new(),
        copies: BTreeSet::new(),
        barriers: BTreeMap::new(),
        registers: Vec::new(),
        progress: Progress::Repeating,
        refuted: false,
    };
    let mut registers: Vec<Word> = text.initial.iter().map(|&value| (Some(value), BTreeSet::new())).collect();
    let mut passed: BTreeSet<usize> = BTreeSet::new();
    let mut control: BTreeSet<usize> = BTreeSet::new();
    let mut pending: Vec<usize> = Vec::new();
    let mut visits: BTreeMap<usize, (Vec<Word>, usize, u32)> = BTreeMap::new();
    let word = |registers: &[Word], operand: Operand| match operand {
        Operand::Register(register) => registers[register].clone(),
        Operand::Constant(value) => (Some(value), BTreeSet::new()),
    };
    let mut at = 0;
    for _ in 0..MAX_STEPS {
        visits.entry(at).or_insert_with(|| (registers.clone(), out.events.len(), 1));
        let Some(instruction) = text.code.get(at) else {
            out.progress = Progress::Ended;
            break;
        };
        let plain = Event {
            thread: Some(thread as u32),
            instruction: at as u32,
            placement: text.placement,
            kind: Kind::Fence,
            order: Order::Weak,
            scope: None,
            proxy: Proxy::Generic,
            unobserved: false,
        };
        let mut made = Vec::new();
        let mut emit = |out: &mut Run, event: Event, in_order: bool| {
            let new = out.events.len();
            out.events.push(event);
            if in_order {
                out.order.extend(passed.iter().map(|&old| (old, new)));
                out.dependencies.extend(control.iter().map(|&read| (read, new)));
                made.push(new);
            }
            new
        };
        let store = |out: &mut Run, write: usize, (value, reads): Word| {
            out.written.insert(write, value);
            out.dependencies.extend(reads.iter().map(|&read| (read, write)));
        };
        let read = |event: usize| (values.get(&event).copied(), BTreeSet::from([event]));
        let mut next = at + 1;
        match instruction {
            Instruction::Load { destinations, access: a } => {
                for (&register, bytes) in destinations.iter().zip(elements(a.bytes, destinations.len())) {
                    let event = Event {
                        kind: Kind::Read(bytes),
                        order: a.order,
                        scope: a.scope,
                        proxy: a.proxy,
                        ..plain
                    };
                    registers[register] = read(emit(&mut out, event, true));
                }
            }
            Instruction::Store { values: stored, access: a } => {
                for (&value, bytes) in stored.iter().zip(elements(a.bytes, stored.len())) {
                    let event = Event {
                        kind: Kind::Write(bytes),
                        order: a.order,
                        scope: a.scope,
                        proxy: a.proxy,
                        ..plain
                    };
                    let write = emit(&mut out, event, true);
                    store(&mut out, write, word(&registers, value));
                }
            }
            Instruction::Atomic { destination, update, access: a } => {
                let swap = matches!(update, Update::CompareAndSwap { .. }) && family == Family::Isa;
                let half = Event { scope: a.scope, proxy: a.proxy, ..plain };
                let unobserved = destination.is_none();
                let first = Event { kind: Kind::Read(a.bytes), order: a.order.of_read(), unobserved, ..half };
                let first = emit(&mut out, first, true);
                let old = read(first);
                let mut success = true;
                let new = match *update {
                    Update::Combine(Arithmetic::Second, value) => word(&registers, value),
                    Update::Combine(operation, value) => {
                        let (value, mut reads) = word(&registers, value);
                        reads.insert(first);
                        (old.0.zip(value).map(|(old, value)| operation.apply(old, value)), reads)
                    }
                    Update::CompareAndSwap { expected, new } => {
                        let (expected, expected_reads) = word(&registers, expected);
                        let (new, mut reads) = word(&registers, new);
                        let equal = old.0.zip(expected).map(|(old, expected)| old == expected);
                        if swap {
                            match (equal, swaps.get(&first)) {
                                (None, None) => {
                                    out.progress = Progress::Swapping(first);
                                    break;
                                }
                                (Some(equal), Some(&assumed)) => out.refuted |= equal != assumed,
                                _ => {}
                            }
                            success = swaps.get(&first).copied().or(equal).unwrap_or(true);
                            (new, reads)
                        } else {
                            reads.extend(expected_reads);
                            reads.insert(first);
                            (equal.and_then(|equal| if equal { new } else { old.0 }), reads)
                        }
                    }
                };
                if success {
                    let second = emit(
                        &mut out,
                        Event { kind: Kind::Write(a.bytes), order: a.order.of_write(), ..half },
                        true,
                    );
                    out.order.insert((first, second));
                    out.rmw.insert((first, second));
                    store(&mut out, second, new);
                }
                if let Some(register) = *destination {
                    registers[register] = old;
                }
            }
            Instruction::Fence { order, scope } => {
                emit(&mut out, Event { order: *order, scope: Some(*scope), ..plain }, true);
            }
            Instruction::ProxyFence(proxy) => {
                emit(&mut out, Event { kind: Kind::ProxyFence(*proxy), proxy: *proxy, ..plain }, true);
            }
            Instruction::AliasFence => {
                emit(&mut out, Event { kind: Kind::AliasFence, ..plain }, true);
            }
            Instruction::Barrier { instance, part, scope, resource, quorum } => {
                let kind = Kind::Barrier(Barrier { instance: *instance, part: *part, scope: *scope });
                let event = emit(&mut out, Event { kind, ..plain }, true);
                let value = |operand: &Option<Operand>| operand.map(|operand| word(&registers, operand).0);
                out.barriers.insert(event, (at, value(resource), value(quorum)));
            }
            Instruction::CopyAsync { to, from, proxy } => {
                let source = emit(&mut out, Event { kind: Kind::Read(*from), proxy: *proxy, ..plain }, false);
                let target = emit(&mut out, Event { kind: Kind::Write(*to), proxy: *proxy, ..plain }, false);
                store(&mut out, target, read(source));
                out.copies.extend(passed.iter().flat_map(|&event| [(event, source), (event, target)]));
                pending.extend([source, target]);
            }
            Instruction::WaitAsync => {
                let wait = emit(&mut out, Event { kind: Kind::Wait, ..plain }, true);
                out.copies.extend(pending.drain(..).map(|copy| (copy, wait)));
            }
            Instruction::Set { destination, operation, a, b } => {
                let (a, b) = (word(&registers, *a), word(&registers, *b));
                registers[*destination] = if *operation == Arithmetic::Second {
                    b
                } else {
                    (a.0.zip(b.0).map(|(a, b)| operation.apply(a, b)), a.1.union(&b.1).copied().collect())
                };
            }
            Instruction::Branch { comparison, a, b, target } => {
                let (a, b) = (word(&registers, *a), word(&registers, *b));
                let (Some(left), Some(right)) = (a.0, b.0) else {
                    out.progress = Progress::Undecided;
                    break;
                };
                control.extend(a.1.union(&b.1));
                if comparison.holds(left, right) {
                    next = *target;
                }
            }
            Instruction::Jump(target) => next = *target,
        }
        passed.extend(made);
        if next <= at {
            // An iteration ended. It repeats itself if it only read, and left all that is used later as it was.
            let Some((before, first, count)) = visits.remove(&next) else { break };
            let live = &layout.live[thread][next];
            let kept = (0..registers.len()).all(|r| {
                !live[r]
                    || before[r] == registers[r]
                    || (before[r].0.is_some() && before[r].0 == registers[r].0)
            });
            let iteration = first..out.events.len();
            let effect = |event: usize| match out.events[event].kind {
                Kind::Read(_) | Kind::Fence | Kind::ProxyFence(_) | Kind::AliasFence => false,
                Kind::Write(_) => {
                    let of = out.rmw.iter().find(|pair| pair.1 == event);
                    let old = of.and_then(|pair| values.get(&pair.0));
                    old.is_none() || old.copied() != out.written[&event]
                }
                _ => true,
            };
            let accessed = iteration.clone().any(|event| out.events[event].bytes().is_some());
            let count = count + u32::from(accessed);
            if (kept && !iteration.clone().any(effect)) || count > bound {
                break;
            }
            visits.insert(next, (registers.clone(), out.events.len(), count));
        }
        at = next;
    }
    out.registers = registers.into_iter().map(|(value, _)| value).collect();
    out
}
