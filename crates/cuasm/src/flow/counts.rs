//! What a function needs of a multiprocessor: registers and barriers, counted from its instructions.

use sass::{Name, Operand};

/// What the instructions so far need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The number behind the highest register that is named.
    named: u32,
    pub(crate) barriers: u32,
    /// Whether there are words of which nobody knows what they need.
    pub(crate) unknown: bool,
}

/// Registers that a function takes beyond those that it names.
const MORE: u32 = 2;
/// The barriers of a CTA.
const ALL_BARRIERS: u32 = 16;
/// The operand that says which barrier is meant.
const BARRIER: &str = "barrier";

impl Counts {
    /// Takes an instruction into account, by its operands.
    pub(crate) fn add(&mut self, operands: impl IntoIterator<Item = Operand>) {
        for operand in operands {
            if let Some(Name::Register(last)) = operand.names().last() {
                self.named = self.named.max(u32::from(last) + 1);
            }
            if operand.role == BARRIER {
                let needed = match operand.name {
                    Name::Barrier(number) => u32::from(number) + 1,
                    // A register says which.
                    _ => ALL_BARRIERS,
                };
                self.barriers = self.barriers.max(needed);
            }
        }
    }

    /// The number of registers that the function must be given: ptxas takes two more than the highest number asks for.
    pub(crate) fn registers(self) -> u32 {
        match self.named {
            0 => 0,
            count => count + MORE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sass::{Arch, Control, NoSymbols, parse};

    #[test]
    fn registers_and_barriers_are_counted() {
        let mut counts = Counts::default();
        let mut add = |text: &str| {
            let instruction = parse(Arch::Sm90, text, Control::default(), 0, &mut NoSymbols).expect(text);
            counts.add(instruction.operands());
            (counts.registers(), counts.barriers)
        };
        add("LDG.E.128 R4, desc[UR4][R2.64]");
        assert_eq!(add("BAR.SYNC.DEFER_BLOCKING 0x1"), (10, 2));
        assert_eq!(add("EXIT"), (10, 2));
        assert_eq!(add("BAR.SYNC.DEFER_BLOCKING R3").1, 16);
    }
}
