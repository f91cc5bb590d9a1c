//! Short branches as guards. What a branch jumps over is executed under the opposite of its guard, if that is little; a branch to where
//! the kernel ends becomes a guarded end.

use super::values::remove;
use crate::allocate::{Units, blocks};
use crate::code::{Code, Instruction, Line, Operand, Reg};
use crate::schedule::{is_pure, weight};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use smol_str::format_smolstr;

/// Replaces branches over so many instructions at most.
pub(crate) fn predicate(code: &mut Code, most: usize) {
    ends(code);
    // Each round may bring others together.
    for _ in 0..4 {
        if !skips(code, most) {
            return;
        }
        super::branches::without_unnamed(code);
    }
}

/// Branches to an end.
fn ends(code: &mut Code) {
    let mut ending = HashSet::default();
    for (at, line) in code.lines.iter().enumerate() {
        let Line::Label(label) = line else { continue };
        let first = code.lines[at..].iter().find_map(|line| match line {
            Line::Instruction(one) => Some(one),
            Line::Label(_) => None,
        });
        if first.is_some_and(|one| one.name == "EXIT" && one.guard.is_none()) {
            ending.insert(*label);
        }
    }
    for line in &mut code.lines {
        let Line::Instruction(one) = line else { continue };
        if one.name == "BRA"
            && matches!(one.operands.last(), Some(Operand::Target(to)) if ending.contains(to))
        {
            one.name = "EXIT".into();
            one.operands.clear();
        }
    }
}

/// Branches over a few instructions. Whether there were some.
fn skips(code: &mut Code, most: usize) -> bool {
    let all = blocks(code);
    let units = Units::new(code);
    // Between which lines each register stands.
    let mut spans: HashMap<Reg, (usize, usize)> = HashMap::default();
    for (at, line) in code.lines.iter().enumerate() {
        let Line::Instruction(one) = line else { continue };
        let named = one.operands.iter().filter_map(|it| it.register().map(|(reg, ..)| reg));
        for reg in named.chain(one.guard.map(|(reg, _)| reg)) {
            let span = spans.entry(reg).or_insert((at, at));
            span.1 = at;
        }
    }
    let mut gone = Vec::new();
    for (index, block) in all.iter().enumerate() {
        let Some(body) = all.get(index + 1) else { continue };
        let branch = block.lines.end - 1;
        let Line::Instruction(last) = &code.lines[branch] else { continue };
        let (Some((reg, not)), "BRA", Some(Operand::Target(to))) =
            (last.guard, last.name.as_str(), last.operands.last())
        else {
            continue;
        };
        // Where it leads is behind what it jumps over, or that goes there itself.
        let goes = |line: Option<&Line>| {
            matches!(line, Some(Line::Instruction(one))
                if one.name == "BRA" && one.guard.is_none() && one.operands == [Operand::Target(*to)])
        };
        let returns = goes(code.lines[body.lines.clone()].last());
        let body = body.lines.start..body.lines.end - usize::from(returns);
        let mut behind = code.lines[body.end..].iter().map_while(|line| match line {
            Line::Label(label) => Some(label),
            Line::Instruction(_) => None,
        });
        let leads = returns || behind.any(|label| label == to);
        let flag = units.first[reg.0 as usize];
        let within = |inner: Reg| {
            spans.get(&inner).is_some_and(|&(first, last)| first >= body.start && last < body.end)
        };
        let inner = inner_guards(&code.lines[body.clone()]);
        let simple = code.lines[body.clone()].iter().all(|line| match line {
            Line::Label(_) => false,
            Line::Instruction(one) => {
                let mut own = true;
                units.writes(one, &mut |unit| own &= unit != flag);
                let guard = one.guard.is_none_or(|(it, _)| inner.contains_key(&it) && within(it));
                own && guard && weight(one).is_some()
            }
        });
        if !leads
            || !simple
            || body.len() > most
            || gone.last().is_some_and(|&it| it + 1 >= block.lines.start)
        {
            continue;
        }
        gone.push(branch);
        // What is read before it is written has come from an earlier round.
        let (mut written, mut earlier) = (HashSet::default(), HashSet::default());
        for line in &code.lines[body.clone()] {
            let Line::Instruction(one) = line else { continue };
            units.reads(code, one, &mut |unit| {
                if !written.contains(&unit) {
                    earlier.insert(unit);
                }
            });
            units.writes(one, &mut |unit| {
                written.insert(unit);
            });
        }
        for at in body.clone() {
            let Line::Instruction(one) = &mut code.lines[at] else { continue };
            if let Some(&negated) = written_flag(one).and_then(|it| inner.get(&it)) {
                both(one, (reg, !not), negated);
            }
            let written: Vec<Reg> = one.operands[..one.written]
                .iter()
                .filter_map(|it| it.register().map(|(reg, ..)| reg))
                .collect();
            let inside = |reg: &Reg| {
                let mut parts = one.operands[..one.written].iter().flat_map(|it| units.of(it));
                parts.all(|unit| !earlier.contains(&unit))
                    && spans.get(reg).is_some_and(|&(first, last)| first >= body.start && last < body.end)
            };
            let own = written.iter().all(inside);
            // What nobody else reads may be computed for nothing, if nothing is loaded for it.
            let loads = one.operands.iter().any(|it| matches!(it, Operand::Address { .. }));
            if own && !loads && is_pure(one) {
                // Nor is it what a register of PTX has, for who looks for that.
                one.mark = 0;
                continue;
            }
            match one.guard {
                Some(_) => {}
                None => one.guard = Some((reg, !not)),
            }
            if own {
                written.iter().for_each(|reg| code.registers[reg.0 as usize].temporary = true);
            }
        }
    }
    remove(code, &gone);
    !gone.is_empty()
}

/// The predicate that a comparison alone writes which could take in another one.
fn written_flag(one: &Instruction) -> Option<Reg> {
    let joins =
        (one.name.starts_with("ISETP.") || one.name.starts_with("FSETP.")) && one.name.ends_with(".AND");
    match one.operands.as_slice() {
        [Operand::Predicate(flag, false), second, .., with]
            if joins
                && one.guard.is_none()
                && [second, with].iter().all(|it| **it == Operand::always(false)) =>
        {
            Some(*flag)
        }
        _ => None,
    }
}

/// Of what a branch jumps over, the predicates that one such comparison writes, and which behind it are guards alone, all alike; whether
/// their opposite counts.
fn inner_guards(body: &[Line]) -> HashMap<Reg, bool> {
    let mut found: HashMap<Reg, Option<bool>> = HashMap::default();
    let mut made: HashSet<Reg> = HashSet::default();
    for line in body {
        let Line::Instruction(one) = line else { continue };
        if let Some((flag, not)) = one.guard {
            let known = found.entry(flag).or_insert(Some(not));
            if *known != Some(not) || !made.contains(&flag) {
                *known = None;
            }
        }
        let flag = written_flag(one).filter(|flag| !found.contains_key(flag) && made.insert(*flag));
        for (reg, ..) in one.operands.iter().filter_map(Operand::register) {
            if flag != Some(reg) && made.contains(&reg) {
                found.insert(reg, None);
            }
        }
    }
    found.into_iter().filter_map(|(flag, not)| Some((flag, not?))).collect()
}

/// Lets a comparison say whether its own condition and an outer one hold; where the opposite of its result counts, whether that is so.
fn both(one: &mut Instruction, (outer, not): (Reg, bool), negated: bool) {
    if negated && let Some(head) = one.name.strip_suffix(".AND") {
        one.name = format_smolstr!("{head}.OR").into();
    }
    if let Some(with) = one.operands.last_mut() {
        *with = Operand::Predicate(outer, not != negated);
    }
}
