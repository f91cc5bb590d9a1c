//! Comparisons that are made again. Predicates are few: where more would be held than there are, the one that is wanted last is compared
//! once more in front of its next reader, if what it is of is still there.

use crate::allocate::{MOST_WORDS, Units, blocks, live_out};
use crate::code::{Class, Code, Instruction, Line, Operand, Reg};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Predicates that may be held at once.
const MOST: usize = 6;

/// Lets each block hold fewer predicates.
pub(crate) fn compare_again(code: &mut Code) {
    let units = Units::new(code);
    let all = blocks(code);
    if units.count.div_ceil(64) * all.len() > MOST_WORDS {
        return;
    }
    let known = comparisons(code, &units);
    if known.is_empty() {
        return;
    }
    let out = live_out(code, &units, &all);
    let mut lines = Vec::with_capacity(code.lines.len());
    for (block, out) in all.iter().zip(out) {
        let is_live = |reg: Reg| {
            let unit = units.first.get(reg.0 as usize).map_or(0, |&it| it as usize);
            units.first.len() > reg.0 as usize && out[unit / 64] >> (unit % 64) & 1 == 1
        };
        let mut body: Vec<Line> = code.lines[block.lines.clone()].to_vec();
        spread_out(code, &mut body, &known, &is_live);
        lines.append(&mut body);
    }
    code.lines = lines;
}

/// The comparisons that give the same wherever they stand, by what they write.
fn comparisons(code: &Code, units: &Units) -> HashMap<Reg, Instruction> {
    let (written, _) = units.counts(code);
    let stays = |operand: &Operand| units.of(operand).all(|unit| written[unit as usize] == 1);
    let of = |line: &Line| {
        let Line::Instruction(one) = line else { return None };
        let [to @ Operand::Predicate(reg, false), second, a, b, with] = one.operands.as_slice() else {
            return None;
        };
        let is_plain =
            one.guard.is_none() && *second == Operand::always(false) && *with == Operand::always(false);
        let compares = one.name.starts_with("ISETP.") || one.name.starts_with("FSETP.");
        (is_plain && compares && [to, a, b].iter().all(|it| stays(it))).then(|| (*reg, one.clone()))
    };
    code.lines.iter().filter_map(of).collect()
}

fn spread_out(
    code: &mut Code,
    body: &mut Vec<Line>,
    known: &HashMap<Reg, Instruction>,
    is_live_behind: &dyn Fn(Reg) -> bool,
) {
    let mut known = known.clone();
    let mut at = 0;
    while at < body.len() {
        let defines = predicates(&body[at], true).next().is_some();
        if !defines {
            at += 1;
            continue;
        }
        // Who is read behind this line, and where first; what is written before that has another value there.
        let mut next: HashMap<Reg, usize> = HashMap::default();
        let mut over: HashSet<Reg> = HashSet::default();
        for (place, line) in body.iter().enumerate().skip(at + 1) {
            for reg in predicates(line, false) {
                if !over.contains(&reg) {
                    next.entry(reg).or_insert(place);
                }
            }
            let Line::Instruction(one) = line else { continue };
            if one.guard.is_none() {
                over.extend(predicates(line, true));
            }
        }
        let through =
            body[..=at].iter().flat_map(|line| predicates(line, true)).filter(|it| is_live_behind(*it));
        let through: HashSet<Reg> = through.filter(|it| !next.contains_key(it)).collect();
        if next.len() + through.len() <= MOST {
            at += 1;
            continue;
        }
        let own: Vec<Reg> = predicates(&body[at], true).collect();
        let far = next.iter().filter(|(reg, place)| {
            known.contains_key(reg) && !own.contains(reg) && !is_live_behind(**reg) && **place > at + 1
        });
        let Some((&old, &place)) = far.max_by_key(|&(reg, place)| (*place, *reg)) else {
            at += 1;
            continue;
        };
        let new = code.register(Class::Predicate, false);
        let mut again = known[&old].clone();
        again.operands[0] = Operand::Predicate(new, false);
        known.insert(new, again.clone());
        for line in &mut body[place..] {
            let Line::Instruction(one) = line else { continue };
            one.exchange(old, new);
        }
        body.insert(place, Line::Instruction(again));
    }
}

/// The predicates that a line writes, or that it reads.
fn predicates(line: &Line, written: bool) -> impl Iterator<Item = Reg> {
    let (operands, guard) = match line {
        Line::Instruction(one) => {
            let (writes, reads) = one.operands.split_at(one.written);
            (if written { writes } else { reads }, one.guard.filter(|_| !written))
        }
        Line::Label(_) => (&[][..], None),
    };
    let named = operands.iter().filter_map(|it| match it {
        Operand::Predicate(reg, _) => Some(*reg),
        Operand::General { .. }
        | Operand::Uniform { .. }
        | Operand::Address { .. }
        | Operand::Target(_)
        | Operand::Text(_) => None,
    });
    named.chain(guard.map(|(reg, _)| reg))
}
