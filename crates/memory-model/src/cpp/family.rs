//! Small tests of C++ atomics: shapes of two and three threads, with every choice of orders, scopes and fences.

use crate::event::{Bytes, Order, Placement, Proxy, Scope};
use crate::program::{
    Access, Arithmetic, Comparison, Condition, Instruction, Location, Operand, Program, Quantifier, Term,
    Thread, Update,
};

/// What a thread does to memory: reads, writes and exchanges, of the locations 0, 1 and so on.
type Shape = &'static [&'static [(char, u32)]];

/// The shapes, by name.
const SHAPES: [(&str, Shape); 11] = [
    ("MP", &[&[('W', 0), ('W', 1)], &[('R', 1), ('R', 0)]]),
    ("SB", &[&[('W', 0), ('R', 1)], &[('W', 1), ('R', 0)]]),
    ("LB", &[&[('R', 0), ('W', 1)], &[('R', 1), ('W', 0)]]),
    ("S", &[&[('W', 0), ('W', 1)], &[('R', 1), ('W', 0)]]),
    ("R", &[&[('W', 0), ('W', 1)], &[('W', 1), ('R', 0)]]),
    ("2+2W", &[&[('W', 0), ('W', 1)], &[('W', 1), ('W', 0)]]),
    ("CoRR", &[&[('W', 0), ('W', 0)], &[('R', 0), ('R', 0)]]),
    ("MP+X", &[&[('W', 0), ('X', 1)], &[('X', 1), ('R', 0)]]),
    ("SB+X", &[&[('X', 0), ('R', 1)], &[('X', 1), ('R', 0)]]),
    ("WRC", &[&[('W', 0)], &[('R', 0), ('W', 1)], &[('R', 1), ('R', 0)]]),
    ("ISA2+X", &[&[('W', 0), ('W', 1)], &[('X', 1)], &[('R', 1), ('R', 0)]]),
];

/// How many tests there are.
pub fn count() -> u64 {
    SHAPES.iter().map(|(_, shape)| variants(shape)).sum()
}

/// The choices of an access, of what is between two, and of a scope with the places of threads.
fn choices(shape: Shape) -> Vec<u64> {
    let accesses = shape.iter().flat_map(|thread| thread.iter()).map(|(kind, _)| orders(*kind).len() as u64);
    let between = shape.iter().filter(|thread| thread.len() > 1).map(|_| FENCES.len() as u64);
    accesses.chain(between).chain([SCOPES.len() as u64]).collect()
}

fn variants(shape: Shape) -> u64 {
    choices(shape).iter().product()
}

fn orders(kind: char) -> &'static [Order] {
    match kind {
        'R' => &[Order::Relaxed, Order::Acquire, Order::Sc, Order::Weak],
        'W' => &[Order::Relaxed, Order::Release, Order::Sc, Order::Weak],
        _ => &[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::Sc],
    }
}

const FENCES: [Option<Order>; 5] =
    [None, Some(Order::Acquire), Some(Order::Release), Some(Order::AcqRel), Some(Order::Sc)];

/// The scope of the first thread's operations, of the others', and whether all are in one block.
const SCOPES: [(Scope, Scope, bool); 4] = [
    (Scope::Gpu, Scope::Gpu, false),
    (Scope::Cta, Scope::Cta, true),
    (Scope::Cta, Scope::Gpu, false),
    (Scope::Sys, Scope::Gpu, false),
];

/// A test by its number.
pub fn test(mut number: u64) -> Option<Program> {
    let (name, shape) = SHAPES.iter().find(|(_, shape)| {
        let here = number < variants(shape);
        if !here {
            number -= variants(shape);
        }
        here
    })?;
    let mut take = |count: usize| {
        let chosen = number % count as u64;
        number /= count as u64;
        chosen as usize
    };
    let (first, others, together) = SCOPES[take(SCOPES.len())];
    let locations = 1 + shape.iter().flat_map(|thread| thread.iter()).map(|(_, at)| *at).max().unwrap_or(0);
    let mut value = 0;
    let mut threads = Vec::new();
    for (index, accesses) in shape.iter().enumerate() {
        let scope = if index == 0 { first } else { others };
        let cta = if together { 0 } else { index as u32 };
        let placement = Placement { cta, cluster: cta, gpu: 0 };
        let mut thread = Thread { name: format!("P{index}"), placement, ..Thread::default() };
        for (place, &(kind, location)) in accesses.iter().enumerate() {
            if place == 1
                && let Some(order) = FENCES[take(FENCES.len())]
            {
                thread.code.push(Instruction::Fence { order, scope });
            }
            let order = orders(kind)[take(orders(kind).len())];
            let bytes = Bytes { object: location, address: location, start: 0, len: 8 };
            let scope = (order != Order::Weak).then_some(scope);
            let access = Access { bytes, proxy: Proxy::Generic, order, scope };
            let register = thread.registers.len();
            if kind != 'W' {
                thread.registers.push(format!("r{register}"));
                thread.initial.push(0);
            }
            if kind != 'R' {
                value += 1;
            }
            let written = Operand::Constant(value);
            thread.code.push(match kind {
                'R' => Instruction::Load { destinations: vec![register], access },
                'W' => Instruction::Store { values: vec![written], access },
                _ => Instruction::Atomic {
                    destination: Some(register),
                    update: Update::Combine(Arithmetic::Second, written),
                    access,
                },
            });
        }
        thread.texts = thread.code.iter().map(|instruction| format!("{instruction:?}")).collect();
        threads.push(thread);
    }
    let named = |object: u32| Location {
        name: format!("x{object}"),
        bytes: Bytes { object, address: object, start: 0, len: 8 },
    };
    let zero = Term::Constant(0);
    Some(Program {
        name: (*name).to_owned(),
        threads,
        locations: (0..locations).map(named).collect(),
        objects: vec![vec![0; 8]; locations as usize],
        filter: None,
        quantifier: Quantifier::Exists,
        condition: Condition::Compare(Comparison::Eq, zero, zero),
        assertion: String::new(),
    })
}
