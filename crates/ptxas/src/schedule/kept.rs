//! Operands that stay in their places for the next instruction (`.reuse`), so that the banks of registers need not give them again: where an
//! operand is the same register as that in the same place of the instruction in front.
//!
//! A place keeps its operand until another one of the same bank comes through it, or a branch: what the next instruction does not take there may
//! be taken much later, when the register holds something else. One with a guard, which may not come, keeps and takes none; nor
//! does one keep what it writes, nor one that stalls for so long that the bits of the flags mean something else.

use super::Issue;
use crate::allocate::{Allocation, operand_units};
use crate::code::{Class, Code, Instruction, Line, Operand, Reg};

/// Places for operands.
const PLACES: usize = 3;

/// The place that a source of an instruction comes through, by its number among the sources: a sum's second one is the addend of a product.
pub(crate) fn place(head: &str, source: usize) -> usize {
    match (head, source) {
        ("FADD", 1) => 2,
        _ => source,
    }
}

/// Sets the flags.
pub(super) fn keep(code: &Code, allocation: &Allocation, issues: &mut [Issue]) {
    let general = |(reg, part): (Reg, u8)| {
        let is_general = matches!(code.registers[reg.0 as usize].class, Class::General(_));
        is_general.then(|| allocation.of(reg) + u32::from(part))
    };
    for (lines, issue) in code.lines.windows(2).zip(issues) {
        let [Line::Instruction(one), Line::Instruction(next)] = lines else { continue };
        let is_short = issue.pauses.is_empty() && !issue.control.yield_flag;
        if !is_short || [one, next].iter().any(|it| it.guard.is_some() || !has_places(it.name.head())) {
            continue;
        }
        for place in 0..PLACES {
            let Some(kept) = source(one, place).and_then(general) else { continue };
            let is_read = source(next, place).and_then(general) == Some(kept);
            let mut written = one.operands[..one.written].iter().flat_map(operand_units).filter_map(general);
            if is_read && written.all(|it| it != kept) {
                issue.control.reuse |= 1 << place;
            }
        }
    }
}

/// The register of 32 bits that comes through a place.
fn source(one: &Instruction, through: usize) -> Option<(Reg, u8)> {
    let number = (0..PLACES).find(|&source| place(one.name.head(), source) == through)?;
    match *one.operands.get(one.written + number)? {
        Operand::General { reg, part, width: 1, after: "", .. } => Some((reg, part)),
        _ => None,
    }
}

/// Whether operands of an instruction come through such places.
fn has_places(head: &str) -> bool {
    matches!(
        head.as_bytes(),
        b"FFMA"
            | b"FADD"
            | b"FMUL"
            | b"IMAD"
            | b"IADD3"
            | b"LOP3"
            | b"LEA"
            | b"SHF"
            | b"SEL"
            | b"FSEL"
            | b"FMNMX"
            | b"ISETP"
            | b"FSETP"
            | b"PRMT"
            | b"VIADD"
            | b"VIMNMX"
            | b"VIADDMNMX"
    )
}

#[cfg(test)]
mod tests {
    use super::{has_places, keep, place};
    use crate::allocate::allocate;
    use crate::code::{Class, Code, Operand, Reg};
    use crate::schedule::Issue;
    use sass::Control;

    /// The flags of the first of two products, `a`, `b` and `c` of each; the first writes `to`, or what it reads first.
    fn flags(first: [usize; 3], second: [usize; 3], in_place: bool, control: Control) -> u8 {
        let mut code = Code::default();
        let values: Vec<Reg> = (0..6).map(|_| code.register(Class::General(1), false)).collect();
        for &value in &values {
            code.push(None, "LDS", vec![Operand::low(value)], vec![Operand::Text("[0x400]".into())]);
        }
        let to = if in_place { values[first[0]] } else { values[5] };
        for (to, read) in [(to, first), (values[5], second)] {
            let read = read.map(|at| Operand::low(values[at])).to_vec();
            code.push(None, "FFMA", vec![Operand::low(to)], read);
        }
        for &value in &values {
            code.push(None, "STS", vec![], vec![Operand::address(values[0]), Operand::low(value)]);
        }
        let allocation = allocate(&code, 100, &|_, _| None).expect("there are enough");
        let mut issues = vec![Issue { control, pauses: Vec::new() }; code.lines.len()];
        keep(&code, &allocation, &mut issues);
        issues[6].control.reuse
    }

    #[test]
    fn an_operand_stays_for_one_that_takes_it_in_the_same_place() {
        let short = Control { stall: 1, ..Control::default() };
        let long = Control { stall: 12, yield_flag: true, ..Control::default() };
        assert_eq!(flags([0, 1, 2], [0, 3, 4], false, short), 1);
        assert_eq!(flags([0, 1, 2], [3, 1, 2], false, short), 6);
        assert_eq!(flags([0, 1, 2], [1, 0, 3], false, short), 0);
        assert_eq!(flags([0, 1, 2], [0, 1, 4], true, short), 2);
        assert_eq!(flags([0, 1, 2], [0, 1, 2], false, long), 0);
    }

    /// The places are those whose flags the encoding has for the operands.
    #[test]
    fn sources_come_through_the_places_of_their_flags() {
        let control = Control { stall: 1, ..Control::default() };
        for text in [
            "FFMA R1, R2, R3, R4",
            "FADD R1, R2, R3",
            "FMUL R1, R2, R3",
            "IMAD R1, R2, R3, R4",
            "IMAD.WIDE R2, R4, R5, R6",
            "IADD3 R1, R2, R3, R4",
            "LOP3.LUT R1, R2, R3, R4, 0xe2, !PT",
            "LEA R1, R2, R3, 0x2",
            "LEA.HI R1, R2, R3, R4, 0x2",
            "SHF.R.U64 R1, R2, R3, R4",
            "SEL R1, R2, R3, P0",
            "FSEL R1, R2, R3, P0",
            "FMNMX R1, R2, R3, PT",
            "ISETP.EQ.U32.AND P0, PT, R2, R3, PT",
            "FSETP.LT.AND P0, PT, R2, R3, PT",
            "PRMT R1, R2, R3, R4",
            "VIADD R1, R2, R3",
            "VIMNMX R1, R2, R3, PT",
            "VIADDMNMX R1, R2, R3, R4, PT",
        ] {
            let head = text.split(['.', ' ']).next().unwrap();
            assert!(has_places(head), "{head}");
            let one = sass::parse(sass::Arch::Sm90, text, control, 0, &mut sass::NoSymbols);
            let one = one.unwrap_or_else(|error| panic!("{text}: {}", error.message));
            let slots: Vec<usize> =
                one.operands().filter_map(|operand| Some(usize::from(operand.slot?))).collect();
            let places: Vec<usize> = (0..slots.len()).map(|number| place(head, number)).collect();
            assert_eq!(places, slots, "{text}");
        }
    }
}
