//! A word to what it does, by its text: mnemonic, modifiers, operands. A modifier that no row here knows makes an instruction one
//! that is not executed.

mod asynchronous;
mod control;
mod convert;
mod float;
mod half;
mod integer;
mod matrix;
mod memory;
mod predicate;
mod tensor;
mod texture;
mod together;
mod update;

use crate::lanes;
use crate::operand::{Half, Operand, Sign};
use crate::registers::RZ;
use crate::step::{Action, Compute, Input, Kind, MOST_PLACES, MOST_SOURCES, Place, Source, Step};
use sass::{Arch, Instruction, Name};

pub(crate) use update::updating_in_bulk;

/// Bytes of an instruction.
pub(crate) const WORD: usize = 16;

/// Uniform instructions that do what the one without the `U` does, once for a warp.
const UNIFORM: [&str; 15] = [
    "MOV", "IADD3", "IMAD", "LEA", "LOP3", "PLOP3", "SHF", "SEL", "PRMT", "SGXT", "BMSK", "POPC", "BREV",
    "FLO", "ISETP",
];

/// The text of an instruction, in pieces.
struct Given<'t> {
    /// The mnemonic up to its first modifier, without the `U` of a uniform instruction.
    opcode: &'t str,
    modifiers: Vec<&'t str>,
    operands: Vec<Operand>,
    /// The address that it branches to.
    target: Option<u64>,
    address: u64,
}

/// The instruction that a word at this address is.
pub(crate) fn step(arch: Arch, word: u128, address: u64) -> Step {
    let Some(instruction) = sass::decode(arch, word) else {
        return Step { guard: None, action: Action::NoInstruction(word) };
    };
    let mut text = String::new();
    instruction.print(address, &mut text);
    let unknown = || Action::NotExecuted(text.clone());
    let flag = |operand| Some(Source { operand, kind: Kind::Flag });
    let guard = match instruction.guard() {
        None => None,
        Some(guard) => match guard.name {
            Some(Name::Predicate(number)) => flag(Operand::Predicate { number, negated: guard.negated }),
            Some(Name::UniformPredicate(number)) => {
                flag(Operand::UniformPredicate { number, negated: guard.negated })
            }
            // `@!PT`: never.
            None if guard.negated => return Step { guard: None, action: Action::Nothing },
            None => None,
            Some(_) => return Step { guard: None, action: unknown() },
        },
    };
    let action = action(&instruction, &text, address).unwrap_or_else(unknown);
    Step { guard, action }
}

/// Whether a text is a floating-point number.
fn is_float(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    !digits.starts_with("0x")
        && (digits.starts_with(|it: char| it.is_ascii_digit()) || ["INF", "QNAN", "SNAN"].contains(&digits))
}

/// The operands, without the target. Immediate floats stand in the word's second quarter, as one word, also two halves.
fn operands(rest: &str, opcode: &str, word: u128) -> Option<Vec<Operand>> {
    let floats = opcode.starts_with(['D', 'H'])
        || opcode.starts_with('F') && opcode != "FLO"
        || ["MUFU", "F2FP"].contains(&opcode);
    let mut operands = Vec::new();
    let mut halves = 0;
    for text in rest.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        if floats && is_float(text) {
            halves += 1;
            if halves == 1 {
                operands.push(Operand::Immediate((word >> 32) as u32));
            }
        } else {
            operands.push(Operand::parse(text)?);
        }
    }
    Some(operands)
}

fn action(instruction: &Instruction, text: &str, address: u64) -> Option<Action> {
    let head = Instruction::head(text);
    let mut rest = &text[text.find(head)? + head.len()..];
    let mut modifiers = head.split('.');
    let opcode = modifiers.next()?;
    let opcode = opcode.strip_prefix('U').filter(|it| UNIFORM.contains(it)).unwrap_or(opcode);
    let target = instruction.target(address);
    if target.is_some() {
        // It stands last, behind a comma or a blank.
        rest = rest.rsplit_once([',', ' ']).map_or("", |it| it.0);
    }
    let operands = operands(rest, opcode, instruction.word())?;
    let given = Given { opcode, modifiers: modifiers.collect(), operands, target, address };
    [
        integer::action,
        float::action,
        half::action,
        convert::action,
        memory::action,
        asynchronous::action,
        tensor::action,
        texture::action,
        together::action,
        predicate::action,
        matrix::action,
        control::action,
    ]
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
        let fits = match operand {
            Operand::Predicate { .. } | Operand::UniformPredicate { .. } => kind == Kind::Flag,
            Operand::Register { half, .. } => {
                kind != Kind::Flag && (half == Half::Both || matches!(kind, Kind::Packed | Kind::Word))
            }
            Operand::Uniform { .. } | Operand::Immediate(_) | Operand::Constant { .. } => kind != Kind::Flag,
            Operand::Address { .. }
            | Operand::Special(_)
            | Operand::Convergence(_)
            | Operand::Descriptors { .. }
            | Operand::Shape(_)
            | Operand::Other => false,
        };
        fits.then_some(Source { operand, kind })
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
            Operand::UniformPredicate { number, .. } => Some(Place::UniformPredicate(number)),
            _ => None,
        }
    }

    /// The number of a register.
    fn register(&self, at: usize) -> Option<u8> {
        match *self.operands.get(at)? {
            Operand::Register { number, .. } => Some(number),
            _ => None,
        }
    }

    fn is_predicate(&self, at: usize) -> bool {
        matches!(self.operands.get(at), Some(Operand::Predicate { .. } | Operand::UniformPredicate { .. }))
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

/// What reads as zero.
const NOTHING: Source = Source {
    operand: Operand::Register {
        number: RZ,
        sign: Sign { negated: false, inverted: false, absolute: false },
        half: Half::Both,
    },
    kind: Kind::Word,
};

/// Results of so many registers, computed from sources; of both there are as many as there can be, and those that are not used mean nothing.
fn compute(
    places: Vec<Place>,
    sources: Vec<Source>,
    function: impl Fn(&[u64; MOST_SOURCES], &mut [u64; MOST_PLACES]) + Send + Sync + 'static,
) -> Action {
    Action::Compute(Compute::Lanes { sources, places, function: lanes::lanes(function) })
}

/// One result.
fn one(
    place: Place,
    sources: Vec<Source>,
    function: impl Fn(&[u64; MOST_SOURCES]) -> u64 + Send + Sync + 'static,
) -> Action {
    compute(vec![place], sources, move |from, to| to[0] = function(from))
}

/// A word of up to three words, which are the operands from the second on: what is computed most.
fn words(
    given: &Given<'_>,
    kinds: &[Kind],
    function: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static,
) -> Option<Action> {
    chosen_words(given, given.sources(1, kinds)?, function)
}

/// The same of these sources.
fn chosen_words(
    given: &Given<'_>,
    sources: Vec<Source>,
    function: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static,
) -> Option<Action> {
    let mut all = [NOTHING; 3];
    (sources.len() <= all.len()).then_some(())?;
    all[..sources.len()].copy_from_slice(&sources);
    Some(Action::Compute(Compute::Words {
        sources: all.map(Input::from),
        place: given.registers(0, 1)?,
        function: lanes::words(function),
    }))
}

/// `op.bool p, q, a, b, c`: what holds of two words, and its opposite, joined with a third truth.
fn test(
    given: &Given<'_>,
    kind: Kind,
    holds: impl Fn(u32, u32) -> bool + Send + Sync + 'static,
) -> Option<Action> {
    let [a, b, with] = given.sources(2, &[kind, kind, Kind::Flag])?.try_into().ok()?;
    let function = lanes::test(holds);
    let places = [given.flag(0)?, given.flag(1)?];
    Some(Action::Compute(Compute::Test {
        sources: [a.into(), b.into()],
        places,
        with,
        join: joined(given)?,
        function,
    }))
}

/// How truths of lanes become one: `.AND`, `.OR`, `.XOR`.
fn joined(given: &Given<'_>) -> Option<fn(u32, u32) -> u32> {
    Some(match *given.modifiers.iter().find(|it| ["AND", "OR", "XOR"].contains(it))? {
        "AND" => |a, b| a & b,
        "OR" => |a, b| a | b,
        _ => |a, b| a ^ b,
    })
}
