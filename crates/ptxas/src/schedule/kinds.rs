//! What instructions are to scheduling: which pipe computes them, how long their results take, what they wait for.

use crate::code::{Instruction, Operand};
use crate::opcode::Kind;
pub(crate) use crate::opcode::Pipe;

/// An access to shared memory that nobody carries out, as ptxas has it in front of copies.
pub(crate) const NOBODYS_LOAD: &str = "@!PT LDS";

/// Cycles until a predicate that a pipe computed is read as a guard.
pub(crate) fn guard_cycles(pipe: Pipe) -> u32 {
    if pipe == Pipe::Doubles { 14 } else { 13 }
}

/// How long an instruction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latency {
    Fixed(Pipe),
    /// A scoreboard says, where there is a result.
    Variable {
        result: bool,
    },
    Branch,
    /// It touches no register.
    Meeting,
    /// A value that all lanes have alike goes to the uniform registers, which are not followed: serial instructions alone read them.
    Uniform,
    /// A product of warpgroups, of which a wait tells when its registers are free.
    Product,
    /// Where products of warpgroups may begin, or are waited for. It waits for no scoreboard.
    Products,
    /// It holds a scoreboard of its own, which a wait counts.
    Group,
    /// It waits for everything, and everything waits for it.
    Serial,
}

pub(crate) fn latency(one: &Instruction) -> Latency {
    let uniform = |operand: &Operand| match operand {
        Operand::Text(text) if text.bytes().any(|letter| letter == b'U') => {
            text.contains("UR") && text != "URZ" || text.contains("UP") && !text.ends_with("UPT")
        }
        _ => false,
    };
    // What the text alone names is not followed.
    let hidden = |operand: &Operand| matches!(operand, Operand::Text(text) if !matches!(text.as_str(), "RZ" | "PT" | "!PT" | "URZ" | "UPT" | "!UPT"));
    let kind = one.name.kind();
    match kind {
        Kind::Branch if one.name.spelled() == "BRA" => return Latency::Branch,
        Kind::End if one.name.head() == "EXIT" => return Latency::Branch,
        Kind::Group => return Latency::Group,
        Kind::Other => match one.name.head() {
            "R2UR" if one.written == 1 => return Latency::Uniform,
            "WARPGROUP" => return Latency::Products,
            head if head.ends_with("GMMA") => return Latency::Product,
            _ if one.name == NOBODYS_LOAD => return Latency::Fixed(Pipe::Integer),
            _ => return Latency::Serial,
        },
        _ => {}
    }
    if one.operands.iter().any(uniform) || one.operands[..one.written].iter().any(hidden) {
        return Latency::Serial;
    }
    match kind {
        Kind::Pipe(pipe) => Latency::Fixed(pipe),
        Kind::Matrices => {
            product(one).map_or(Latency::Serial, |cycles| Latency::Fixed(Pipe::Matrices(cycles)))
        }
        Kind::Shuffle | Kind::Unit | Kind::Load => Latency::Variable { result: true },
        Kind::Atomic | Kind::Aside => {
            let result = one.operands[..one.written].iter().any(|it| it.register().is_some());
            Latency::Variable { result }
        }
        Kind::Store => Latency::Variable { result: false },
        Kind::Meeting
            if one.operands.iter().all(|it| it.register().is_none()) && !one.name.contains("COLLECTIVE") =>
        {
            Latency::Meeting
        }
        Kind::Meeting | Kind::Group | Kind::Branch | Kind::End | Kind::Call | Kind::Other => Latency::Serial,
    }
}

/// The cycles that ptxas leaves a product of matrices, by the registers of its first matrix.
fn product(one: &Instruction) -> Option<u8> {
    match one.operands.get(one.written)?.register()? {
        (_, _, 4) => Some(24),
        (_, _, 2) => Some(16),
        (_, _, 1) => Some(13),
        _ => None,
    }
}

/// Whether an instruction computes registers that all are followed, and does nothing else.
pub(crate) fn is_pure(one: &Instruction) -> bool {
    one.written > 0
        && match latency(one) {
            Latency::Fixed(_) => true,
            Latency::Variable { .. } => one.name.kind() == Kind::Unit,
            Latency::Branch
            | Latency::Meeting
            | Latency::Uniform
            | Latency::Product
            | Latency::Products
            | Latency::Group
            | Latency::Serial => false,
        }
}

/// Cycles until a result is there, as far as an order can count on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight(pub(crate) u32);

/// That of an instruction that may change places with others; none if it may not.
pub(crate) fn weight(one: &Instruction) -> Option<Weight> {
    let kind = one.name.kind();
    if kind == Kind::Aside || one.name == NOBODYS_LOAD {
        return None;
    }
    let cycles = match latency(one) {
        Latency::Fixed(Pipe::Doubles) => 8,
        Latency::Fixed(Pipe::UniformLoad) => 2,
        Latency::Fixed(Pipe::Matrices(cycles)) => cycles.into(),
        Latency::Fixed(_) => 5,
        Latency::Variable { .. } if one.name.contains(".STRONG") || kind == Kind::Atomic => {
            return None;
        }
        Latency::Variable { result: false } => 1,
        Latency::Variable { result: true } => match one.name.head() {
            "LDG" | "LD" | "LDL" => 200,
            "LDS" | "LDSM" => 30,
            _ => 24,
        },
        Latency::Branch
        | Latency::Meeting
        | Latency::Uniform
        | Latency::Product
        | Latency::Products
        | Latency::Group
        | Latency::Serial => return None,
    };
    Some(Weight(cycles))
}
