//! C++ atomics with scopes: tests in herd's C dialect, what scoped RC11 says of them, and what PTX does once they are
//! compiled.
//!
//! The compiler's mapping is right if PTX allows no outcome that C++ forbids, of programs without a data race.

pub mod family;
mod reader;

use crate::answer::{Options, Question, Race, Undecided};
use crate::event::Order;
use crate::model::{Family, Model};
use crate::program::{Comparison, Condition, Instruction, Program, Quantifier, Term};
use abi::atomics::{self, Edition, Operation, Step};
pub use reader::parse;
use std::collections::BTreeSet;

/// Scoped RC11. Threads run as those of the ISA do: a compare-and-swap that fails writes nothing.
///
/// # Panics
/// Never: a test compiles the text.
pub fn scoped_rc11() -> Model {
    let version = Family::Isa.versions()[Family::Isa.versions().len() - 1];
    let model = Model::from_text(Family::Isa, version, TEXT);
    Model { sc_atomics: true, ..model.unwrap_or_else(|error| panic!("scoped-rc11: {error}")) }
}

/// The model's file.
const TEXT: &str = include_str!("../../model/scoped-rc11.model");

/// How C++ is compiled: by the table of an edition of the PTX ABI, by one of the choices that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The table.
    pub edition: &'static Edition,
    /// Which sequence of each row; the last one where there are fewer.
    pub choice: usize,
}

impl Mapping {
    /// What is recommended.
    pub const GUIDE: Self = Self { edition: &atomics::CUDA_13, choice: 0 };
    /// The other choice that the guide leaves.
    pub const GUIDE_FENCED: Self = Self { edition: &atomics::CUDA_13, choice: 1 };
    /// The guide of CUDA 12.8.
    pub const GUIDE_12_8: Self = Self { edition: &atomics::CUDA_12_8, choice: 0 };
    /// What an edition of it had for loads: it is too weak.
    pub const RELAXED_LOAD: Self = Self { edition: &atomics::CUDA_12_9, choice: 0 };

    fn sequence(self, operation: Operation, order: atomics::Order) -> Option<&'static [Step]> {
        let sequences = self.edition.row(operation, order)?.sequences;
        sequences.get(self.choice).or(sequences.last()).copied()
    }
}

/// A test of C++ as one of PTX.
pub fn compile(program: &Program, mapping: Mapping) -> Program {
    let mut compiled = program.clone();
    for thread in &mut compiled.threads {
        let (mut code, mut texts, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (instruction, text) in std::mem::take(&mut thread.code).into_iter().zip(&thread.texts) {
            places.push(code.len());
            let made = instructions(instruction, mapping);
            texts.extend(made.iter().map(|_| text.clone()));
            code.extend(made);
        }
        places.push(code.len());
        for instruction in &mut code {
            if let Instruction::Branch { target, .. } | Instruction::Jump(target) = instruction {
                *target = places[*target];
            }
        }
        (thread.code, thread.texts) = (code, texts);
    }
    compiled
}

fn instructions(instruction: Instruction, mapping: Mapping) -> Vec<Instruction> {
    let (operation, order, scope) = match &instruction {
        Instruction::Load { access, .. } => (Operation::Load, access.order, access.scope),
        Instruction::Store { access, .. } => (Operation::Store, access.order, access.scope),
        Instruction::Atomic { access, .. } => (Operation::ReadModifyWrite, access.order, access.scope),
        Instruction::Fence { order, scope } => (Operation::Fence, *order, Some(*scope)),
        _ => return vec![instruction],
    };
    // What is not atomic has no scope, and stays as it is.
    let sequence = cpp_order(order).and_then(|order| mapping.sequence(operation, order));
    let (Some(sequence), Some(scope)) = (sequence, scope) else { return vec![instruction] };
    let step = |step: &Step| match step {
        Step::Fence(order) => Instruction::Fence { order: ptx_order(*order), scope },
        Step::Access(order) => with_order(instruction.clone(), ptx_order(*order)),
    };
    sequence.iter().map(step).collect()
}

fn cpp_order(order: Order) -> Option<atomics::Order> {
    match order {
        Order::Weak => None,
        Order::Relaxed => Some(atomics::Order::Relaxed),
        Order::Acquire => Some(atomics::Order::Acquire),
        Order::Release => Some(atomics::Order::Release),
        Order::AcqRel => Some(atomics::Order::AcqRel),
        Order::Sc => Some(atomics::Order::SeqCst),
    }
}

fn ptx_order(order: atomics::Order) -> Order {
    match order {
        atomics::Order::Relaxed => Order::Relaxed,
        atomics::Order::Acquire => Order::Acquire,
        atomics::Order::Release => Order::Release,
        atomics::Order::AcqRel => Order::AcqRel,
        atomics::Order::SeqCst => Order::Sc,
    }
}

fn with_order(mut instruction: Instruction, order: Order) -> Instruction {
    if let Instruction::Load { access, .. }
    | Instruction::Store { access, .. }
    | Instruction::Atomic { access, .. } = &mut instruction
    {
        access.order = order;
    }
    instruction
}

/// What C++ says of a test and what PTX says of the same, compiled.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// A data race of the C++ program, which leaves it without meaning.
    pub race: Option<Race>,
    /// What outcomes are values of: all registers and all locations.
    pub terms: Vec<Term>,
    /// The outcomes that C++ allows, if the program has a meaning.
    pub cpp: BTreeSet<Vec<i64>>,
    /// The outcomes that PTX allows.
    pub ptx: BTreeSet<Vec<i64>>,
}

impl Verdicts {
    /// The outcomes that PTX allows and C++ forbids.
    pub fn excess(&self) -> Vec<&Vec<i64>> {
        match self.race {
            Some(_) => Vec::new(),
            None => self.ptx.difference(&self.cpp).collect(),
        }
    }
}

/// Compares the models on a test.
pub fn compare(
    program: &Program,
    compiled: &Program,
    cpp: &Model,
    ptx: &Model,
    options: Options,
) -> Result<Verdicts, Undecided> {
    let race = Question::new(program, cpp, options).race()?;
    let outcomes = |program: &Program, model: &Model| {
        let whole = asking_all(program);
        let outcomes = Question::new(&whole, model, options).outcomes()?;
        let values = outcomes.list.into_iter().map(|outcome| outcome.values).collect::<BTreeSet<_>>();
        Ok::<_, Undecided>((outcomes.terms, values))
    };
    let (terms, of_cpp) = match race {
        Some(_) => (Vec::new(), BTreeSet::new()),
        None => outcomes(program, cpp)?,
    };
    let (of_compiled, of_ptx) = outcomes(compiled, ptx)?;
    let terms = if terms.is_empty() { of_compiled } else { terms };
    Ok(Verdicts { race, terms, cpp: of_cpp, ptx: of_ptx })
}

/// The same test with a condition on all registers and locations.
fn asking_all(program: &Program) -> Program {
    let registers = program.threads.iter().enumerate();
    let registers = registers
        .flat_map(|(thread, text)| (0..text.registers.len()).map(move |r| Term::Register(thread, r)));
    let locations = (0..program.locations.len()).map(Term::Memory);
    let same = |term| Condition::Compare(Comparison::Eq, term, term);
    let all = registers.chain(locations).map(same).reduce(|a, b| Condition::And(Box::new(a), Box::new(b)));
    let condition = all.unwrap_or_else(|| program.condition.clone());
    Program { condition, filter: None, quantifier: Quantifier::Exists, ..program.clone() }
}
