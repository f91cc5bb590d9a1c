//! A word to what it does, by its text: mnemonic, modifiers, operands. A modifier that no row here knows makes an instruction one
//! that is not executed.

mod control;
mod float;
mod integer;
mod memory;
mod together;

use crate::operand::Operand;
use crate::step::{Action, Compute, Kind, Place, Source, Step};
use sass::{Arch, Instruction, Name};

/// Bytes of an instruction.
pub(crate) const WORD: usize = 16;

/// The text of an instruction, in pieces.
struct Given<'t> {
    /// The mnemonic up to its first modifier.
    opcode: &'t str,
    modifiers: Vec<&'t str>,
    operands: Vec<Operand>,
    /// The number of the instruction that it branches to.
    target: Option<usize>,
}

/// The instruction that a word at this address is.
pub(crate) fn step(word: u128, address: u64) -> Step {
    let Some(instruction) = sass::decode(Arch::Sm90, word) else {
        return Step { guard: None, action: Action::NoInstruction(word) };
    };
    let mut text = String::new();
    instruction.print(address, &mut text);
    let unknown = || Action::NotExecuted(text.clone());
    let guard = match instruction.guard() {
        None => None,
        Some(guard) => match guard.name {
            Some(Name::Predicate(number)) => Some((number, guard.negated)),
            // `@!PT`: never.
            None if guard.negated => return Step { guard: None, action: Action::Nothing },
            None => None,
            Some(_) => return Step { guard: None, action: unknown() },
        },
    };
    let action = action(&instruction, &text, address).unwrap_or_else(unknown);
    Step { guard, action }
}

fn action(instruction: &Instruction, text: &str, address: u64) -> Option<Action> {
    let head = Instruction::head(text);
    let rest = &text[text.find(head)? + head.len()..];
    let mut modifiers = head.split('.');
    let opcode = modifiers.next()?;
    let target = instruction.target(address).map(|at| at as usize / WORD);
    let operands: Option<Vec<_>> = match target {
        // The last operand is the target.
        Some(_) => Some(Vec::new()),
        None => rest.split(',').map(str::trim).filter(|it| !it.is_empty()).map(Operand::parse).collect(),
    };
    let given = Given { opcode, modifiers: modifiers.collect(), operands: operands?, target };
    [integer::action, float::action, memory::action, together::action, control::action]
        .iter()
        .find_map(|chapter| chapter(&given))
}

impl Given<'_> {
    fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// That it has no other modifiers than these.
    fn only(&self, known: &[&str]) -> Option<()> {
        self.modifiers.iter().all(|modifier| known.contains(modifier)).then_some(())
    }

    /// The operand at a place, as a source.
    fn source(&self, at: usize, kind: Kind) -> Option<Source> {
        let operand = *self.operands.get(at)?;
        let flag = matches!(operand, Operand::Predicate { .. });
        let value = matches!(
            operand,
            Operand::Register { .. }
                | Operand::Uniform { .. }
                | Operand::Immediate(_)
                | Operand::Constant { .. }
        );
        (if kind == Kind::Flag { flag } else { value }).then_some(Source { operand, kind })
    }

    /// The operand at a place, as so many registers that are written.
    fn registers(&self, at: usize, count: u8) -> Option<Place> {
        match *self.operands.get(at)? {
            Operand::Register { number, .. } => Some(Place::Registers(number, count)),
            Operand::Uniform { number, .. } => Some(Place::Uniform(number, count)),
            _ => None,
        }
    }

    /// The operand at a place, as a predicate that is written.
    fn flag(&self, at: usize) -> Option<Place> {
        match *self.operands.get(at)? {
            Operand::Predicate { number, .. } => Some(Place::Predicate(number)),
            _ => None,
        }
    }

    /// The number of a register.
    fn register(&self, at: usize) -> Option<Option<u8>> {
        match *self.operands.get(at)? {
            Operand::Register { number, .. } => Some(number),
            _ => None,
        }
    }

    fn is_predicate(&self, at: usize) -> bool {
        matches!(self.operands.get(at), Some(Operand::Predicate { .. }))
    }

    fn immediate(&self, at: usize) -> Option<u32> {
        match *self.operands.get(at)? {
            Operand::Immediate(value) => Some(value),
            _ => None,
        }
    }

    /// Sources of these kinds from a place on; no more may follow.
    fn sources(&self, from: usize, kinds: &[Kind]) -> Option<Vec<Source>> {
        let sources = (from..).zip(kinds).map(|(at, &kind)| self.source(at, kind)).collect::<Option<_>>()?;
        (self.operands.len() == from + kinds.len()).then_some(sources)
    }
}

/// A result of so many registers, computed from sources.
fn compute(
    places: Vec<Place>,
    sources: Vec<Source>,
    function: impl Fn(&[u64], &mut [u64]) + Send + Sync + 'static,
) -> Action {
    Action::Compute(Compute { sources, places, function: Box::new(function) })
}

/// One result.
fn one(
    place: Place,
    sources: Vec<Source>,
    function: impl Fn(&[u64]) -> u64 + Send + Sync + 'static,
) -> Action {
    compute(vec![place], sources, move |from, to| to[0] = function(from))
}

/// How two truths become one: `.AND`, `.OR`, `.XOR`.
fn joined(given: &Given<'_>) -> Option<fn(bool, bool) -> bool> {
    Some(match *given.modifiers.iter().find(|it| ["AND", "OR", "XOR"].contains(it))? {
        "AND" => |a, b| a & b,
        "OR" => |a, b| a | b,
        _ => |a, b| a ^ b,
    })
}
