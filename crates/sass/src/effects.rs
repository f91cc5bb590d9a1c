//! Which registers an instruction reads and writes, one by one, as the table of its architecture has them.

use crate::{Access, Instruction, Name, Operand};

/// Registers, uniform registers, predicates and uniform predicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    vector: [u64; 4],
    uniform: u128,
    predicates: u16,
}

/// One of them. Numbers that mean RZ, URZ, PT or UPT stand for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Register {
    /// `R5`.
    Vector(u8),
    /// `UR5`.
    Uniform(u8),
    /// `P2`.
    Predicate(u8),
    /// `UP2`.
    UniformPredicate(u8),
}

impl std::fmt::Display for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vector(number) => write!(f, "R{number}"),
            Self::Uniform(number) => write!(f, "UR{number}"),
            Self::Predicate(number) => write!(f, "P{number}"),
            Self::UniformPredicate(number) => write!(f, "UP{number}"),
        }
    }
}

/// The bits of a set, one after the other.
fn bits(mut set: u128) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let at = set.trailing_zeros();
        let found = (set != 0).then_some(at as u8);
        set &= set.wrapping_sub(1);
        found
    })
}

impl Registers {
    /// Adds one.
    pub fn insert(&mut self, register: Register) {
        match register {
            // The last number is RZ, URZ, PT.
            Register::Vector(255) | Register::Predicate(7..) | Register::UniformPredicate(7..) => {}
            Register::Vector(number) => self.vector[usize::from(number / 64)] |= 1 << (number % 64),
            Register::Uniform(number) => self.uniform |= 1_u128.checked_shl(number.into()).unwrap_or(0),
            Register::Predicate(number) => self.predicates |= 1 << number,
            Register::UniformPredicate(number) => self.predicates |= 1 << (8 + number),
        }
    }

    /// Whether one is among them.
    pub fn contains(self, register: Register) -> bool {
        let mut one = Self::default();
        one.insert(register);
        self.union(one) == self && !one.is_empty()
    }

    fn remove(&mut self, register: Register) {
        let mut one = Self::default();
        one.insert(register);
        self.vector.iter_mut().zip(one.vector).for_each(|(own, other)| *own &= !other);
        self.uniform &= !one.uniform;
        self.predicates &= !one.predicates;
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = Register> {
        let vector = self.vector.into_iter().zip([0, 64, 128, 192]);
        let vector = vector.flat_map(|(word, first)| bits(word.into()).map(move |at| first + at));
        let predicates = bits(u128::from(self.predicates)).map(|at| match at {
            0..8 => Register::Predicate(at),
            _ => Register::UniformPredicate(at - 8),
        });
        vector.map(Register::Vector).chain(bits(self.uniform).map(Register::Uniform)).chain(predicates)
    }

    /// Those of both.
    pub fn union(self, other: Self) -> Self {
        let mut vector = self.vector;
        vector.iter_mut().zip(other.vector).for_each(|(one, other)| *one |= other);
        Self { vector, uniform: self.uniform | other.uniform, predicates: self.predicates | other.predicates }
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The least number of vector registers that holds all of them.
    pub fn vector_count(self) -> u32 {
        let highest = (0..4).rev().find(|&at| self.vector[at] != 0);
        highest.map_or(0, |at| at as u32 * 64 + 64 - self.vector[at].leading_zeros())
    }
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// What it reads, its guard included.
    pub reads: Registers,
    /// What it writes.
    pub writes: Registers,
    /// Of those that are read, the upper half of an addend of 64 bits.
    pub late: Registers,
}

/// The operand of which the upper half may be read late.
const ADDEND: &str = "c";

impl Register {
    /// The register that a name stands for, if it does.
    pub fn named(name: Name) -> Option<Self> {
        Some(match name {
            Name::Register(number) => Self::Vector(number),
            Name::Uniform(number) => Self::Uniform(number),
            Name::Predicate(number) => Self::Predicate(number),
            Name::UniformPredicate(number) => Self::UniformPredicate(number),
            Name::Convergence(_) | Name::Scoreboard(_) | Name::Barrier(_) | Name::Constant(_) => return None,
        })
    }
}

impl FromIterator<Register> for Registers {
    fn from_iter<T: IntoIterator<Item = Register>>(registers: T) -> Self {
        let mut all = Self::default();
        registers.into_iter().for_each(|register| all.insert(register));
        all
    }
}

/// The registers of an operand.
fn of(operand: Operand) -> impl Iterator<Item = Register> {
    operand.names().filter_map(Register::named)
}

impl Effects {
    /// What an instruction does.
    pub fn of(instruction: &Instruction) -> Self {
        Self::of_operands(&instruction.operands().collect::<Vec<_>>())
    }

    /// What an instruction with these operands does.
    pub fn of_operands(operands: &[Operand]) -> Self {
        let mut effects = Self::default();
        let mut early = Registers::default();
        for &operand in operands {
            let registers: Registers = of(operand).collect();
            if operand.access != Access::Read {
                effects.writes = effects.writes.union(registers);
            }
            if operand.access == Access::Write {
                continue;
            }
            effects.reads = effects.reads.union(registers);
            // Uniform registers are read when it is issued.
            let is_general = matches!(Register::named(operand.name), Some(Register::Vector(_)));
            if operand.role == ADDEND && operand.count == 2 && is_general {
                effects.late = of(operand).skip(1).collect();
                early = early.union(of(operand).take(1).collect());
            } else {
                early = early.union(registers);
            }
        }
        // What is a factor too is read early.
        early.iter().for_each(|register| effects.late.remove(register));
        effects
    }

    /// The registers that an instruction with these operands asks to be kept for the next one.
    pub(crate) fn reused(operands: &[Operand]) -> Registers {
        operands.iter().filter(|operand| operand.reused).copied().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, Control, NoSymbols, parse};

    fn names(registers: Registers) -> String {
        registers.iter().map(|register| register.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_instructions_read_and_write() {
        for (arch, text, reads, writes) in [
            (Arch::Sm90, "IADD3 R0, R0, R7, RZ", "R0 R7", "R0"),
            (Arch::Sm90, "@!P1 IADD3 R6, P0, R6, UR6, RZ", "R6 UR6 P1", "R6 P0"),
            (Arch::Sm90, "IADD3.X R7, RZ, UR7, RZ, P0, !PT", "UR7 P0", "R7"),
            (Arch::Sm90, "ISETP.GE.AND P0, PT, R8, 0x1, P3", "R8 P3", "P0"),
            (Arch::Sm90, "LDG.E.64 R0, desc[UR4][R2.64+0x8]", "R2 R3 UR4 UR5", "R0 R1"),
            (Arch::Sm90, "STG.E desc[UR4][R2.64], R9", "R2 R3 R9 UR4 UR5", ""),
            (Arch::Sm90, "STS.128 [R17+UR6], R12", "R12 R13 R14 R15 R17 UR6", ""),
            (Arch::Sm90, "IMAD.WIDE.U32 R2, R7, 0x4, R2", "R2 R3 R7", "R2 R3"),
            (Arch::Sm90, "SHFL.UP PT, R9, R0, 0x1, RZ", "R0", "R9"),
            (Arch::Sm90, "LOP3.LUT P0, RZ, R2, 0x1, RZ, 0xc0, !PT", "R2", "P0"),
            (Arch::Sm90, "VOTEU.ANY UR4, UPT, P2", "P2", "UR4"),
            (Arch::Sm90, "LDC.64 R2, c[0x0][0x220]", "", "R2 R3"),
            (Arch::Sm75, "LDG.E.SYS R0, [R2]", "R2 R3", "R0"),
            (
                Arch::Sm90,
                "HMMA.16816.F32 R4, R8, R12, R4",
                "R4 R5 R6 R7 R8 R9 R10 R11 R12 R13",
                "R4 R5 R6 R7",
            ),
            (Arch::Sm90, "F2F.F64.F32 R2, R5", "R5", "R2 R3"),
            (Arch::Sm90, "F2F.F32.F64 R2, R4", "R4 R5", "R2"),
            (Arch::Sm90, "ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64], R7", "R2 R3 R7 UR4 UR5", "R5"),
            (Arch::Sm90, "BSSY B0, 0x100", "", ""),
            (Arch::Sm90, "RET.REL.NODEC R12 0x0", "R12 R13", ""),
            (Arch::Sm90, "CS2R R2, SR_CLOCKLO", "", "R2 R3"),
            (Arch::Sm90, "LDSM.16.MT88.4 R12, [R30]", "R30", "R12 R13 R14 R15"),
            (Arch::Sm90, "P2R R24, PR, RZ, 0x9", "P0 P3", "R24"),
            (Arch::Sm90, "R2P PR, R0.B1, 0x3", "R0", "P0 P1"),
        ] {
            let instruction = parse(arch, text, Control::default(), 0, &mut NoSymbols).expect(text);
            let found = Effects::of(&instruction);
            assert_eq!(
                (names(found.reads).as_str(), names(found.writes).as_str()),
                (reads, writes),
                "{text}"
            );
        }
    }
}
