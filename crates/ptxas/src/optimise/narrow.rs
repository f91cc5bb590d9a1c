//! Results that nobody reads are not written: carries, the opposites of predicates, the upper half of a product, and what an atomic
//! operation found.

use super::slots;
use crate::allocate::{MOST_WORDS, Units, blocks, live_out};
use crate::code::{Code, Instruction, Line, Operand, Reg};
use rustc_hash::FxHashMap as HashMap;
use smol_str::format_smolstr;

/// Takes such results out of instructions.
pub(crate) fn narrow(code: &mut Code) {
    let units = Units::new(code);
    let blocks = blocks(code);
    if units.count.div_ceil(64) * blocks.len() > MOST_WORDS {
        return;
    }
    let constants = constants(code);
    for (block, out) in blocks.iter().zip(live_out(code, &units, &blocks)) {
        let mut live = out;
        let mut meeting = false;
        for at in block.lines.clone().rev() {
            let Line::Instruction(one) = &mut code.lines[at] else { continue };
            // What lanes execute that meet names the same registers everywhere.
            meeting |= one.name == "ENDCOLLECTIVE";
            if !meeting {
                let is_live = |unit: u32| live[unit as usize / 64] >> (unit % 64) & 1 == 1;
                without_unread(
                    one,
                    &constants,
                    |operand| units.of(operand).any(is_live),
                    |operand| units.of(operand).nth(1).is_some_and(is_live),
                );
            }
            meeting &= !one.name.starts_with("WARPSYNC.COLLECTIVE");
            let Line::Instruction(one) = &code.lines[at] else { continue };
            units.writes(one, &mut |unit| live[unit as usize / 64] &= !(1 << (unit % 64)));
            units.reads(code, one, &mut |unit| live[unit as usize / 64] |= 1 << (unit % 64));
        }
    }
}

/// The registers of one part that one instruction writes, a copy of a constant.
fn constants(code: &Code) -> HashMap<Reg, Option<u32>> {
    let mut found: HashMap<Reg, Option<u32>> = HashMap::default();
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        for operand in &one.operands[..one.written] {
            let Some((reg, ..)) = operand.register() else { continue };
            let constant =
                (one.name == "MOV" && one.guard.is_none()).then(|| slots::constant(&one.operands[1]));
            found.entry(reg).and_modify(|it| *it = None).or_insert(constant.flatten());
        }
    }
    found
}

/// `is_read`: whether any part of an operand matters; `upper`: whether its second part does.
fn without_unread(
    one: &mut Instruction,
    constants: &HashMap<Reg, Option<u32>>,
    is_read: impl Fn(&Operand) -> bool,
    upper: impl Fn(&Operand) -> bool,
) {
    match one.name.head() {
        "IADD3" if one.written == 2 && !is_read(&one.operands[1]) => {
            one.operands.remove(1);
            one.written = 1;
        }
        "ISETP" | "FSETP" | "DSETP" | "HSETP2" | "PLOP3" | "SHFL" => {
            for operand in &mut one.operands[..one.written] {
                if matches!(operand, Operand::Predicate(..)) && !is_read(operand) {
                    *operand = Operand::always(false);
                }
            }
        }
        "IMAD" if one.name.starts_with("IMAD.WIDE") && !upper(&one.operands[0]) => lower_product(one),
        "SYNCS" if one.written == 1 && one.name.contains(".ARRIVE.") && !is_read(&one.operands[0]) => {
            one.operands[0] = Operand::zero();
        }
        "ATOMS" => {
            let [found, at, value] = one.operands.as_slice() else { return };
            if is_read(found) {
                return;
            }
            let is_one = |it: &Operand| {
                it.register().and_then(|(reg, ..)| constants.get(&reg).copied().flatten()) == Some(1)
            };
            match at {
                &Operand::Address { reg, offset, .. } if one.name == "ATOMS.ADD" && is_one(value) => {
                    let at = Operand::Address { before: "", reg, width: 1, beside: "+URZ", offset };
                    one.name = "ATOMS.POPC.INC.32".into();
                    one.operands = vec![Operand::zero(), at];
                }
                _ => one.operands[0] = Operand::zero(),
            }
        }
        "ATOMG" if one.written == 2 && one.operands.len() == 4 && !is_read(&one.operands[1]) => {
            let mut parts = one.name.split('.').skip(2);
            if parts.next().is_some_and(|it| !["EXCH", "CAS"].contains(&it)) {
                one.name = format_smolstr!("REDG{}", &one.name["ATOMG".len()..]).into();
                one.operands.drain(..2);
                one.written = 0;
            }
        }
        _ => {}
    }
}

/// The lower half of a product of 64 bits.
fn lower_product(one: &mut Instruction) {
    let [Operand::General { reg, part, .. }, a, b, c] = one.operands.as_slice() else { return };
    let plain = |it: &Operand| matches!(it, Operand::General { before: "", after: "", .. });
    let c = match c {
        &Operand::General { reg, part, before: "", after: "", .. } => Operand::part(reg, part),
        zero if *zero == Operand::zero() => zero.clone(),
        _ => return,
    };
    let to = Operand::part(*reg, *part);
    let shift = slots::constant(b).filter(|it| it.is_power_of_two()).map(u32::trailing_zeros);
    let (name, read) = match shift {
        _ if !plain(a) => return,
        Some(0) => return,
        Some(by) if c == Operand::zero() => {
            ("SHF.L.U32", vec![a.clone(), Operand::number(by), Operand::zero()])
        }
        Some(by) if by < 31 => ("LEA", vec![a.clone(), c, Operand::number(by)]),
        Some(_) => return,
        None if *b == Operand::zero() => return,
        None => ("IMAD", vec![a.clone(), b.clone(), c]),
    };
    one.name = name.into();
    one.operands = [vec![to], read].concat();
}
