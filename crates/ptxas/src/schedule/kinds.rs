//! What instructions are to scheduling: which pipe computes them, how long their results take, what they wait for.

use super::{head, name};
use crate::code::{Instruction, Operand};

/// The integer pipe. Comparisons and moves belong to it.
const INTEGER: &[&str] = &[
    "IADD3", "LOP3", "SHF", "MOV", "SEL", "VIMNMX", "PRMT", "LEA", "IABS", "SGXT", "FMNMX", "FSEL", "ISETP",
    "FSETP", "HSETP2", "PLOP3", "I2FP",
];
/// The pipe of products and floats.
const PRODUCTS: &[&str] = &["IMAD", "IDP", "FADD", "FMUL", "FFMA", "VIADD"];
/// Pairs of halves, and what packs them.
const HALVES: &[&str] = &["HADD2", "HMUL2", "HFMA2", "F2FP"];
/// Of 64-bit floats.
const DOUBLES: &[&str] = &["DADD", "DMUL", "DFMA", "DSETP"];
/// Variable, with a result that depends on registers alone.
const UNITS: &[&str] =
    &["DMMA", "LDC", "MUFU", "POPC", "FLO", "BREV", "I2F", "F2I", "F2F", "FRND", "FCHK", "S2R"];
const LOADS: &[&str] = &["LDG", "LD", "LDS", "LDL", "LDSM"];
const ATOMICS: &[&str] = &["ATOM", "ATOMG", "ATOMS", "RED", "REDG"];
const STORES: &[&str] = &["STG", "ST", "STS", "STL"];
/// What a lane is given by another one. Where lanes meet for it, what they wait for in front and behind keeps its place.
const SHUFFLE: &str = "SHFL";
/// Copies by threads, and objects in shared memory. They keep their order among all others.
const ASIDE: &[&str] = &["LDGSTS", "SYNCS"];
/// They hold the first scoreboard until the copies before them are done.
const GROUPS: &[&str] = &["LDGDEPBAR", "UTMACMDFLUSH"];
/// An access to shared memory that nobody carries out, as ptxas has it in front of copies.
pub(crate) const NOBODYS_LOAD: &str = "@!PT LDS";
/// They read no register and write none: lanes of a warp, or warps, wait for one another.
const MEETINGS: &[&str] = &["WARPSYNC", "BAR", "YIELD", "NOP", "BSSY", "BSYNC", "DEPBAR"];

/// Which instructions forward results to one another sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pipe {
    Integer,
    Products,
    /// 32-bit factors to 64 bits, whose halves come at different times.
    Wide,
    Halves,
    Doubles,
    /// Products of matrices, and the cycles that ptxas leaves until another pipe reads one.
    Matrices(u8),
}

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
        Operand::Text(text) => text.contains("UR") && text != "URZ" || text.contains("UP"),
        _ => false,
    };
    // What the text alone names is not followed.
    let hidden = |operand: &Operand| matches!(operand, Operand::Text(text) if !["RZ", "PT", "!PT", "URZ"].contains(&text.as_str()));
    let head = head(&one.name);
    match head {
        "BRA" if name(&one.name) == "BRA" => Latency::Branch,
        "EXIT" => Latency::Branch,
        "R2UR" if one.written == 1 => Latency::Uniform,
        "WARPGROUP" => Latency::Products,
        _ if head.ends_with("GMMA") => Latency::Product,
        _ if GROUPS.contains(&head) => Latency::Group,
        _ if one.name == NOBODYS_LOAD => Latency::Fixed(Pipe::Integer),
        _ if one.operands.iter().any(uniform) || one.operands[..one.written].iter().any(hidden) => {
            Latency::Serial
        }
        _ if name(&one.name).starts_with("IMAD.WIDE") => Latency::Fixed(Pipe::Wide),
        _ if INTEGER.contains(&head) => Latency::Fixed(Pipe::Integer),
        _ if PRODUCTS.contains(&head) => Latency::Fixed(Pipe::Products),
        _ if HALVES.contains(&head) => Latency::Fixed(Pipe::Halves),
        _ if DOUBLES.contains(&head) => Latency::Fixed(Pipe::Doubles),
        "HMMA" | "IMMA" | "BMMA" => {
            product(one).map_or(Latency::Serial, |cycles| Latency::Fixed(Pipe::Matrices(cycles)))
        }
        SHUFFLE => Latency::Variable { result: true },
        _ if [UNITS, LOADS].iter().any(|list| list.contains(&head)) => Latency::Variable { result: true },
        _ if ATOMICS.contains(&head) || ASIDE.contains(&head) => {
            let result = one.operands[..one.written].iter().any(|it| it.register().is_some());
            Latency::Variable { result }
        }
        _ if STORES.contains(&head) => Latency::Variable { result: false },
        _ if MEETINGS.contains(&head)
            && one.operands.iter().all(|it| it.register().is_none())
            && !one.name.contains("COLLECTIVE") =>
        {
            Latency::Meeting
        }
        _ => Latency::Serial,
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
            Latency::Variable { .. } => UNITS.contains(&head(&one.name)),
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
    let head = head(&one.name);
    if ASIDE.contains(&head) || one.name == NOBODYS_LOAD {
        return None;
    }
    let cycles = match latency(one) {
        Latency::Fixed(Pipe::Doubles) => 8,
        Latency::Fixed(Pipe::Matrices(cycles)) => cycles.into(),
        Latency::Fixed(_) => 5,
        Latency::Variable { .. } if one.name.contains(".STRONG") || ATOMICS.contains(&head) => return None,
        Latency::Variable { result: false } => 1,
        Latency::Variable { result: true } => match head {
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
