//! Registers that are written anew within a block are others from there on, so that neither order nor numbers of values are bound by a
//! name that was used again: in unrolled rounds, and where lanes no longer meet.

use crate::allocate::{Units, blocks};
use crate::code::{Code, Line, Operand, Reg};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Registers of more parts are mostly sums that products of matrices go on with in place.
const WIDEST: u8 = 2;

/// Gives every value of a register that another one follows in its block a register of its own.
pub(crate) fn rename(code: &mut Code) {
    let units = Units::new(code);
    let (written, _) = units.counts(code);
    let kept = kept(code);
    let mut fresh: Vec<(Reg, Vec<usize>)> = Vec::new();
    for block in blocks(code) {
        // The lines that name the value that a register has now, the first of which writes it.
        let mut open: HashMap<Reg, Vec<usize>> = HashMap::default();
        for at in block.lines {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            let named = || {
                let operands = one.operands.iter().filter_map(|it| it.register().map(|(reg, ..)| reg));
                operands.chain(one.guard.map(|(reg, _)| reg))
            };
            let mut begins: Vec<Reg> = Vec::new();
            for operand in &one.operands[..one.written] {
                let Some((reg, 0, parts)) = operand.register() else { continue };
                let width = code.registers[reg.0 as usize].class.width();
                let again = written[units.first[reg.0 as usize] as usize] > 1;
                let names = named().filter(|it| *it == reg).count();
                if again
                    && one.guard.is_none()
                    && parts == width
                    && width <= WIDEST
                    && names == 1
                    && !kept.contains(&reg)
                {
                    begins.push(reg);
                }
            }
            for reg in begins {
                if let Some(lines) = open.insert(reg, vec![at]) {
                    fresh.push((reg, lines));
                }
            }
            for reg in named() {
                if let Some(lines) = open.get_mut(&reg).filter(|lines| lines.last() != Some(&at)) {
                    lines.push(at);
                }
            }
        }
    }
    for (old, lines) in fresh {
        let info = code.registers[old.0 as usize];
        let new = code.register(info.class, info.temporary);
        for at in lines {
            let Line::Instruction(one) = &mut code.lines[at] else { continue };
            one.exchange(old, new);
        }
    }
}

/// Registers that stay what they are: those with which lanes meet.
fn kept(code: &Code) -> HashSet<Reg> {
    let mut meets = false;
    let mut kept: HashSet<Reg> = code.pinned().clone();
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        meets |= one.name.starts_with("WARPSYNC.COLLECTIVE");
        if meets {
            kept.extend(one.operands.iter().filter_map(Operand::register).map(|(reg, ..)| reg));
        }
        meets &= one.name != "ENDCOLLECTIVE";
    }
    kept
}
