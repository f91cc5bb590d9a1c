//! What a function needs of a multiprocessor: registers and barriers, counted from its instructions.

use super::effects::{Registers, effects};
use sass::{Instruction, Name};

/// What the instructions so far need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    named: Registers,
    pub(crate) barriers: u32,
}

/// Registers that a function takes beyond those that it names.
const MORE: u32 = 2;
/// The barriers of a CTA.
const ALL_BARRIERS: u32 = 16;

impl Counts {
    /// Takes an instruction into account.
    pub(crate) fn add(&mut self, text: &str) {
        let text = text.split_once(sass::RESIDUE).map_or(text, |(text, _)| text).trim_end();
        let effects = effects(text);
        self.named = self.named.union(effects.reads).union(effects.writes);
        let head = Instruction::head(text);
        if head == "BAR" || head.starts_with("BAR.") {
            self.barriers = self.barriers.max(barriers(text, head));
        }
    }

    /// The number of registers that the function must be given: ptxas takes two more than the highest number asks for.
    pub(crate) fn registers(self) -> u32 {
        match self.named.vector_count() {
            0 => 0,
            count => count + MORE,
        }
    }
}

/// The barriers up to the one that an instruction names; all if a register names it.
fn barriers(text: &str, head: &str) -> u32 {
    let operands = text.split_once(head).map_or("", |(_, rest)| rest).trim();
    // The result of a reduction comes before the barrier.
    let skipped = usize::from(head.contains(".RED"));
    let operand = operands.split(',').nth(skipped).unwrap_or("").trim();
    if let Some(digits) = operand.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).map_or(ALL_BARRIERS, |number| number.saturating_add(1));
    }
    let register =
        Instruction::operands(text).any(|found| matches!(found.name, Name::Register(_) | Name::Uniform(_)));
    if register { ALL_BARRIERS } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_barriers_are_counted() {
        let mut counts = Counts::default();
        for text in ["LDG.E.128 R4, desc[UR4][R2.64]", "BAR.SYNC.DEFER_BLOCKING 0x1", "EXIT"] {
            counts.add(text);
        }
        assert_eq!((counts.registers(), counts.barriers), (10, 2));
        counts.add("BAR.SYNC 0x1 &residue=0x8000");
        assert_eq!(counts.barriers, 2);
        counts.add("BAR.SYNC R3, R4");
        assert_eq!(counts.barriers, 16);
    }
}
