//! Whether an allocation keeps every value until it is read, found the other way round than the allocator does it: forwards, by
//! what each hardware register holds.

use crate::allocate::{Allocation, blocks, operand_units};
use crate::code::{Class, Code, Line, Operand, Reg};
use crate::opcode::Kind;

/// What a hardware register may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Holds {
    /// A part of a virtual register: its number, and which part.
    part: Option<(Reg, u8)>,
    /// Different ones on different ways here.
    mixed: bool,
}

impl Holds {
    fn meet(self, other: Self) -> Self {
        match (self.part, other.part) {
            (Some(a), Some(b)) if a != b => Self { part: Some(a), mixed: true },
            (part, more) => Self { part: part.or(more), mixed: self.mixed || other.mixed },
        }
    }
}

/// General registers, then predicates, then uniform registers.
const PLACES: usize = UNIFORM + 64;
const UNIFORM: usize = 256 + 8;

/// The lines that read a register which something else has been written to.
pub(crate) fn clashes(code: &Code, allocation: &Allocation) -> Vec<usize> {
    let place = |reg: Reg, part: u8| match code.registers[reg.0 as usize].class {
        Class::General(_) => allocation.of(reg) as usize + usize::from(part),
        Class::Predicate => 256 + allocation.of(reg) as usize,
        Class::Uniform(_) => UNIFORM + allocation.of(reg) as usize + usize::from(part),
    };
    let blocks = blocks(code);
    let mut before: Vec<Option<[Holds; PLACES]>> = vec![None; blocks.len()];
    let begins = |index: &usize| {
        let first = code.lines.get(blocks[*index].lines.start);
        *index == 0 || first.is_some_and(|line| code.is_routine(line))
    };
    let mut pending: Vec<usize> = (0..blocks.len()).filter(begins).collect();
    for &index in &pending {
        before[index] = Some([Holds::default(); PLACES]);
    }
    let mut found = Vec::new();
    while let Some(index) = pending.pop() {
        let Some(mut state) = before.get(index).copied().flatten() else { continue };
        for at in blocks[index].lines.clone() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            let guard = one.guard.map(|(reg, not)| Operand::Predicate(reg, not));
            for operand in one.operands[one.written..].iter().chain(&guard) {
                let wrong = |(reg, part)| {
                    let holds = state[place(reg, part)];
                    holds.mixed || holds.part.is_some_and(|held| held != (reg, part))
                };
                if operand_units(operand).any(wrong) {
                    found.push(at);
                }
            }
            if one.name.kind() == Kind::Call {
                // What the callee does with registers is its own affair; to uniform ones it does nothing.
                state[..UNIFORM].fill(Holds { part: None, mixed: true });
            }
            for operand in &one.operands[..one.written] {
                for (reg, part) in operand_units(operand) {
                    state[place(reg, part)] = Holds { part: Some((reg, part)), mixed: false };
                }
            }
        }
        for &next in &blocks[index].successors {
            let merged = match &before[next] {
                None => state,
                Some(known) => std::array::from_fn(|place| known[place].meet(state[place])),
            };
            if before[next] != Some(merged) {
                before[next] = Some(merged);
                pending.push(next);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::clashes;
    use crate::allocate::{GENERAL, allocate};
    use crate::code::{Class, Code, Operand};

    /// Two values that live at once and one that comes later.
    fn code() -> Code {
        let mut code = Code::default();
        let [a, b, c] = [false; 3].map(|temporary| code.register(Class::General(1), temporary));
        for (reg, number) in [(a, 1), (b, 2)] {
            code.push(None, "MOV", vec![Operand::low(reg)], vec![Operand::number(number)]);
        }
        code.push(
            None,
            "IADD3",
            vec![Operand::low(c)],
            vec![Operand::low(a), Operand::low(b), Operand::zero()],
        );
        code.push(None, "STS", vec![], vec![Operand::low(c), Operand::low(c)]);
        code
    }

    #[test]
    fn what_lives_at_once_is_apart() {
        let code = code();
        let allocation = allocate(&code, GENERAL, &|_, _| None).expect("three registers");
        assert_eq!(clashes(&code, &allocation), []);
    }

    #[test]
    fn a_register_for_two_values_is_found() {
        let mut code = code();
        let allocation = allocate(&code, GENERAL, &|_, _| None).expect("three registers");
        // A fourth value is written to the place of the first while that is still read.
        let taken = allocation.of(crate::code::Reg(0));
        let late = code.register(Class::General(1), false);
        let allocation = allocation.with(late, taken);
        code.push(None, "MOV", vec![Operand::low(late)], vec![Operand::zero()]);
        let last = code.lines.pop().expect("a line");
        code.lines.insert(2, last);
        assert_eq!(clashes(&code, &allocation), [3]);
    }
}
