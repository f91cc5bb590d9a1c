//! What instructions are to scheduling: which pipe computes them, how long their results take, what they wait for.

use super::{head, name};
use crate::code::{Instruction, Operand};

/// What a mnemonic is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Computed by a pipe. Comparisons and moves belong to the integer pipe; pairs of halves, and what packs them, have one of their own.
    Pipe(Pipe),
    /// A product of matrices.
    Matrices,
    /// Variable, with a result that depends on registers alone.
    Unit,
    Load,
    Atomic,
    Store,
    /// What a lane is given by another one. Where lanes meet for it, what they wait for in front and behind keeps its place.
    Shuffle,
    /// Copies by threads, and objects in shared memory. They keep their order among all others.
    Aside,
    /// They hold the first scoreboard until the copies before them are done.
    Group,
    /// They read no register and write none: lanes of a warp, or warps, wait for one another.
    Meeting,
    Other,
}

impl Kind {
    fn of(head: &str) -> Self {
        // Bytes, as a comparison of strings asks each name of the same length.
        match head.as_bytes() {
            b"IADD3" | b"LOP3" | b"SHF" | b"MOV" | b"SEL" | b"VIMNMX" | b"PRMT" | b"LEA" | b"IABS"
            | b"SGXT" | b"FMNMX" | b"FSEL" | b"ISETP" | b"FSETP" | b"HSETP2" | b"PLOP3" | b"I2FP" => {
                Self::Pipe(Pipe::Integer)
            }
            b"IMAD" | b"IDP" | b"FADD" | b"FMUL" | b"FFMA" | b"VIADD" => Self::Pipe(Pipe::Products),
            b"HADD2" | b"HMUL2" | b"HFMA2" | b"F2FP" => Self::Pipe(Pipe::Halves),
            b"DADD" | b"DMUL" | b"DFMA" | b"DSETP" => Self::Pipe(Pipe::Doubles),
            b"HMMA" | b"IMMA" | b"BMMA" => Self::Matrices,
            b"DMMA" | b"LDC" | b"MUFU" | b"POPC" | b"FLO" | b"BREV" | b"I2F" | b"F2I" | b"F2F" | b"FRND"
            | b"FCHK" | b"S2R" => Self::Unit,
            b"LDG" | b"LD" | b"LDS" | b"LDL" | b"LDSM" | b"LDGMC" => Self::Load,
            b"ATOM" | b"ATOMG" | b"ATOMS" | b"RED" | b"REDG" => Self::Atomic,
            b"STG" | b"ST" | b"STS" | b"STL" => Self::Store,
            b"SHFL" => Self::Shuffle,
            b"LDGSTS" | b"SYNCS" => Self::Aside,
            b"LDGDEPBAR" | b"UTMACMDFLUSH" => Self::Group,
            b"WARPSYNC" | b"BAR" | b"YIELD" | b"NOP" | b"BSSY" | b"BSYNC" | b"DEPBAR" => Self::Meeting,
            _ => Self::Other,
        }
    }
}

/// An access to shared memory that nobody carries out, as ptxas has it in front of copies.
pub(crate) const NOBODYS_LOAD: &str = "@!PT LDS";
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
        Operand::Text(text) if text.bytes().any(|letter| letter == b'U') => {
            text.contains("UR") && text != "URZ" || text.contains("UP")
        }
        _ => false,
    };
    // What the text alone names is not followed.
    let hidden = |operand: &Operand| matches!(operand, Operand::Text(text) if !matches!(text.as_str(), "RZ" | "PT" | "!PT" | "URZ"));
    let head = head(&one.name);
    match head {
        "BRA" if name(&one.name) == "BRA" => return Latency::Branch,
        "EXIT" => return Latency::Branch,
        "R2UR" if one.written == 1 => return Latency::Uniform,
        "WARPGROUP" => return Latency::Products,
        _ if head.ends_with("GMMA") => return Latency::Product,
        _ if one.name == NOBODYS_LOAD => return Latency::Fixed(Pipe::Integer),
        _ => {}
    }
    let kind = Kind::of(head);
    if kind == Kind::Group {
        return Latency::Group;
    }
    if one.operands.iter().any(uniform) || one.operands[..one.written].iter().any(hidden) {
        return Latency::Serial;
    }
    match kind {
        Kind::Pipe(Pipe::Products) if name(&one.name).starts_with("IMAD.WIDE") => Latency::Fixed(Pipe::Wide),
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
        Kind::Meeting | Kind::Group | Kind::Other => Latency::Serial,
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
            Latency::Variable { .. } => Kind::of(head(&one.name)) == Kind::Unit,
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
    if Kind::of(head) == Kind::Aside || one.name == NOBODYS_LOAD {
        return None;
    }
    let cycles = match latency(one) {
        Latency::Fixed(Pipe::Doubles) => 8,
        Latency::Fixed(Pipe::Matrices(cycles)) => cycles.into(),
        Latency::Fixed(_) => 5,
        Latency::Variable { .. } if one.name.contains(".STRONG") || Kind::of(head) == Kind::Atomic => {
            return None;
        }
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
