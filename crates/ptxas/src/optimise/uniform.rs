//! What all lanes of a warp have alike for as long as a kernel runs, in uniform registers: what it is given, the numbers of its CTA, and what
//! is computed of such alone. A warp has one set of them, so that no general register of its lanes holds such a value. An instruction takes
//! one in the place of a general register, if it has no constant besides.
//!
//! The uniform datapath computes once for the lanes that are there, and the others find the result in the same register. As the value is the
//! same whenever and wherever it is computed, it does not matter which lanes these are; that the register holds nothing else in between,
//! [allocation](crate::allocate) sees to. What changes, as counters of loops do, stays in general registers.

use super::slots;
use crate::allocate::UNIFORM;
use crate::code::{Class, Code, Instruction, Line, Operand, Reg};
use crate::spill::depths;
use rustc_hash::FxHashMap as HashMap;
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeMap;

/// Special registers that all lanes of a warp have alike, whenever they ask.
const ALIKE: [&str; 4] = ["SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_CgaCtaId"];

/// A value that may stand in uniform registers.
struct Candidate {
    reg: Reg,
    /// The line that computes it, and no other does.
    line: usize,
    width: u8,
    /// It is loaded, and not computed of other such values.
    is_loaded: bool,
    /// The lines that read it, and as which operand.
    readers: Vec<(usize, usize)>,
}

/// How a reader takes it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taking {
    /// It computes another such value.
    Computes,
    /// In the place of a general register.
    Stands,
    /// Beside a constant, which then needs a register.
    BesideConstant,
    /// Not at all.
    No,
}

/// A candidate that was chosen, with how its readers take it.
struct Chosen {
    candidate: usize,
    takings: Vec<Taking>,
}

/// Chooses such values, and names uniform registers for them.
pub(crate) fn choose(code: &mut Code) {
    let mut candidates = candidates(code);
    if candidates.is_empty() {
        return;
    }
    let depth = depths(code);
    loop {
        match plan(code, &candidates, &depth) {
            Ok(chosen) => return apply(code, &candidates, &chosen),
            Err(gone) => remove(&mut candidates, gone),
        }
    }
}

/// Takes out a candidate, and what is computed of it.
fn remove(candidates: &mut Vec<Candidate>, gone: usize) {
    let mut pending = vec![candidates.remove(gone)];
    while let Some(it) = pending.pop() {
        let reads = |line: usize| it.readers.iter().any(|reader| reader.0 == line);
        pending.extend(candidates.extract_if(.., |other| !other.is_loaded && reads(other.line)));
    }
}

/// All values that are alike, in the order of their lines.
fn candidates(code: &Code) -> Vec<Candidate> {
    let mut writers = vec![0_u32; code.registers.len()];
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        for (reg, ..) in one.operands[..one.written].iter().filter_map(Operand::register) {
            writers[reg.0 as usize] += 1;
        }
    }
    let mut found: Vec<Candidate> = Vec::new();
    let mut places: HashMap<Reg, usize> = HashMap::default();
    for (line, instruction) in code.lines.iter().enumerate() {
        let Line::Instruction(one) = instruction else { continue };
        let [Operand::General { reg, part: 0, width, before: "", after: "" }, ..] = one.operands[..] else {
            continue;
        };
        let is_whole = code.registers[reg.0 as usize].class == Class::General(width);
        if one.guard.is_some() || one.written != 1 || !is_whole || writers[reg.0 as usize] != 1 {
            continue;
        }
        let is_loaded = uniform_load(one).is_some();
        if is_loaded || uniform_computation(one, |reg| places.contains_key(&reg)).is_some() {
            places.insert(reg, found.len());
            found.push(Candidate { reg, line, width, is_loaded, readers: Vec::new() });
        }
    }
    if found.is_empty() {
        return found;
    }
    for (line, instruction) in code.lines.iter().enumerate() {
        let Line::Instruction(one) = instruction else { continue };
        for (index, operand) in one.operands.iter().enumerate().skip(one.written) {
            if let Some(&place) = operand.register().and_then(|(reg, ..)| places.get(&reg)) {
                found[place].readers.push((line, index));
            }
        }
    }
    found.retain(|it| !it.readers.is_empty());
    found
}

/// Which candidates to choose; or one that is computed, but for which there is no use.
fn plan(code: &Code, candidates: &[Candidate], depth: &[i32]) -> Result<Vec<Chosen>, usize> {
    let computed: HashMap<usize, usize> = candidates
        .iter()
        .enumerate()
        .filter(|(_, it)| !it.is_loaded)
        .map(|(place, it)| (it.line, place))
        .collect();
    let entry = code.lines.iter().position(|line| match line {
        Line::Label(_) => true,
        Line::Instruction(one) => one.name.leaves(),
    });
    // In how many loops each is read, or what is computed of it; who reads comes later.
    let mut reach = vec![0; candidates.len()];
    let reached = |reach: &[i32], line: usize| match computed.get(&line) {
        Some(&place) => reach[place],
        None => depth[line],
    };
    for (place, it) in candidates.iter().enumerate().rev() {
        reach[place] = it.readers.iter().map(|&(line, _)| reached(&reach, line)).max().unwrap_or(0);
    }
    // An instruction takes one of them: that which is read in more loops.
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&place| {
        let it = &candidates[place];
        (std::cmp::Reverse((reach[place], it.width)), it.line)
    });
    let mut taken: HashMap<usize, Reg> = HashMap::default();
    let mut chosen = Vec::new();
    let mut left = UNIFORM.len();
    for place in order {
        let it = &candidates[place];
        // A constant beside gets a register for all loops.
        let beside = |&(line, index): &(usize, usize)| match &code.lines[line] {
            Line::Instruction(one) => constant_beside(one, index).map(|(_, bits)| bits),
            Line::Label(_) => None,
        };
        let in_loops = it.readers.iter().filter(|reader| depth[reader.0] > depth[it.line]);
        let constants: Vec<u32> = match entry.is_none_or(|entry| it.line < entry) {
            true => in_loops.filter_map(beside).collect(),
            false => Vec::new(),
        };
        let taking = |&(line, index): &(usize, usize)| {
            let Line::Instruction(one) = &code.lines[line] else { return Taking::No };
            if computed.contains_key(&line) {
                return Taking::Computes;
            }
            let is_twice = it.readers.iter().filter(|reader| reader.0 == line).count() > 1;
            if taken.contains_key(&line) || is_twice {
                Taking::No
            } else if slots::with_uniform(one, index, it.reg).is_some() {
                Taking::Stands
            } else if beside(&(line, index)).is_some_and(|bits| constants.contains(&bits)) {
                Taking::BesideConstant
            } else {
                Taking::No
            }
        };
        let takings: Vec<Taking> = it.readers.iter().map(taking).collect();
        let deepest = |takes: bool| {
            let readers = it.readers.iter().zip(&takings).filter(|(_, how)| (**how != Taking::No) == takes);
            readers.map(|(&(line, _), _)| reached(&reach, line)).max()
        };
        let pays = match deepest(false) {
            None => true,
            // The others go on reading the general register, up to which it is needed.
            Some(others) => it.is_loaded && deepest(true).is_some_and(|depth| depth > others),
        };
        if !pays || usize::from(it.width) > left {
            let reader = it.readers.iter().find_map(|(line, _)| computed.get(line));
            match if it.is_loaded { reader } else { Some(&place) } {
                Some(&gone) => return Err(gone),
                None => continue,
            }
        }
        left -= usize::from(it.width);
        for (&(line, _), how) in it.readers.iter().zip(&takings) {
            if matches!(how, Taking::Stands | Taking::BesideConstant) {
                taken.insert(line, it.reg);
            }
        }
        chosen.push(Chosen { candidate: place, takings });
    }
    Ok(chosen)
}

fn apply(code: &mut Code, candidates: &[Candidate], chosen: &[Chosen]) {
    let mut names: HashMap<Reg, Reg> = HashMap::default();
    for Chosen { candidate, .. } in chosen {
        let it = &candidates[*candidate];
        names.insert(it.reg, code.register(Class::Uniform(it.width), false));
    }
    let mut more: BTreeMap<usize, Vec<Line>> = BTreeMap::new();
    let mut constants: BTreeMap<u32, (usize, Reg)> = BTreeMap::new();
    for Chosen { candidate, takings } in chosen {
        let it = &candidates[*candidate];
        for (&(line, index), how) in it.readers.iter().zip(takings) {
            if !matches!(how, Taking::Stands | Taking::BesideConstant) {
                continue;
            }
            let Line::Instruction(one) = &code.lines[line] else { continue };
            let mut one = one.clone();
            if let (Taking::BesideConstant, Some((at, bits))) = (how, constant_beside(&one, index)) {
                let (first, reg) = constants
                    .entry(bits)
                    .or_insert_with(|| (it.line, code.register(Class::General(1), false)));
                *first = (*first).min(it.line);
                one.operands[at] = Operand::low(*reg);
            }
            if let Some(changed) = slots::with_uniform(&one, index, names[&it.reg]) {
                code.lines[line] = Line::Instruction(changed);
            }
        }
        let Line::Instruction(one) = &mut code.lines[it.line] else { continue };
        let mut changed = match uniform_load(one) {
            Some(name) => Instruction { name: name.into(), ..one.clone() },
            None => match uniform_computation(one, |reg| names.contains_key(&reg)) {
                Some(name) => computed(one, name, &names),
                None => continue,
            },
        };
        changed.operands[0] = Operand::Uniform { reg: names[&it.reg], part: 0, width: it.width, before: "" };
        if takings.contains(&Taking::No) {
            more.entry(it.line).or_default().push(Line::Instruction(changed));
        } else {
            *one = changed;
        }
    }
    for (bits, (line, reg)) in constants {
        let Line::Instruction(one) = &code.lines[line] else { continue };
        let operands = vec![Operand::low(reg), Operand::number(bits)];
        let made = Instruction { name: "MOV".into(), operands, written: 1, guard: None, ..one.clone() };
        more.entry(line).or_default().push(Line::Instruction(made));
    }
    if !more.is_empty() {
        let lines = std::mem::take(&mut code.lines);
        for (at, line) in lines.into_iter().enumerate() {
            code.lines.extend(more.remove(&at).unwrap_or_default());
            code.lines.push(line);
        }
    }
}

/// The name of the instruction that loads a uniform register with what this one loads a general one with.
fn uniform_load(one: &Instruction) -> Option<&'static str> {
    let [_, from] = one.operands.as_slice() else { return None };
    match one.name.as_str() {
        "LDC" if slots::bank(from).is_some() => Some("ULDC"),
        "LDC.64" if slots::bank(from).is_some() => Some("ULDC.64"),
        "S2R" if matches!(from, Operand::Text(text) if ALIKE.contains(&text.as_str())) => Some("S2UR"),
        _ => None,
    }
}

/// The name of the uniform instruction that computes the same, if all that is read is uniform or constant.
fn uniform_computation(one: &Instruction, is_uniform: impl Fn(Reg) -> bool) -> Option<SmolStr> {
    let sources = match one.name.as_str() {
        "IADD3" | "IMAD" | "IMAD.WIDE" | "IMAD.WIDE.U32" | "LOP3.LUT" => 3,
        "LEA" => 2,
        "MOV" => 1,
        name if name.starts_with("SHF.") => 3,
        _ => return None,
    };
    for operand in one.operands[1..].iter().take(sources) {
        match operand {
            Operand::General { reg, after: "", .. } if is_uniform(*reg) => {}
            _ if slots::constant(operand).is_some() => {}
            _ => return None,
        }
    }
    Some(format_smolstr!("U{}", one.name.as_str()))
}

/// That instruction, with the names of uniform registers for what it reads.
fn computed(one: &Instruction, name: SmolStr, names: &HashMap<Reg, Reg>) -> Instruction {
    let mut changed = Instruction { name: name.into(), ..one.clone() };
    for operand in &mut changed.operands[1..] {
        match operand {
            Operand::General { reg, part, width, before, .. } => {
                *operand = Operand::Uniform { reg: names[reg], part: *part, width: *width, before };
            }
            Operand::Text(text) if ["RZ", "PT", "!PT"].contains(&text.as_str()) => {
                *text = text.replace("RZ", "URZ").replace("PT", "UPT").into();
            }
            _ => {}
        }
    }
    changed
}

/// The constant factor of a product of 64 bits, and where it stands, if the operand is what is added.
fn constant_beside(one: &Instruction, index: usize) -> Option<(usize, u32)> {
    let factor = one.written + 1;
    let is_addend = one.name.starts_with("IMAD.WIDE") && index == one.written + 2;
    let bits = one.operands.get(factor).and_then(slots::constant).filter(|&bits| bits != 0)?;
    is_addend.then_some((factor, bits))
}

#[cfg(test)]
mod tests {
    use super::choose;
    use crate::code::{Class, Code, Line, Operand, Reg};

    fn load(code: &mut Code, width: u8, offset: u32) -> Reg {
        let reg = code.register(Class::General(width), false);
        let name = if width == 2 { "LDC.64" } else { "LDC" };
        code.push(None, name, vec![Operand::wide(reg, width)], vec![Operand::bank0(offset)]);
        reg
    }

    fn compute(code: &mut Code, name: &str, width: u8, read: Vec<Operand>) -> Reg {
        let reg = code.register(Class::General(width), false);
        code.push(None, name, vec![Operand::wide(reg, width)], read);
        reg
    }

    fn store(code: &mut Code, value: Reg) {
        code.push(None, "STS", vec![], vec![Operand::address(value), Operand::low(value)]);
    }

    /// A loop around some code.
    fn again(code: &mut Code, inside: impl FnOnce(&mut Code)) {
        let (head, more) = (code.label(), code.register(Class::Predicate, false));
        code.place(head);
        inside(code);
        code.push(Some((more, false)), "BRA", vec![], vec![Operand::Target(head)]);
    }

    /// The mnemonics, and of each how many uniform registers it names.
    fn shown(code: &Code) -> Vec<(&str, usize)> {
        let is_uniform = |it: &&Operand| matches!(it, Operand::Uniform { .. });
        let instructions = code.lines.iter().filter_map(|line| match line {
            Line::Instruction(one) => Some(one),
            Line::Label(_) => None,
        });
        instructions.map(|one| (one.name.as_str(), one.operands.iter().filter(is_uniform).count())).collect()
    }

    #[test]
    fn an_instruction_takes_one_uniform_register() {
        let mut code = Code::default();
        let [x, y] = [0x210, 0x214].map(|at| load(&mut code, 1, at));
        let tid = compute(&mut code, "S2R", 1, vec![Operand::Text("SR_TID.X".into())]);
        let read = [tid, x, y].map(Operand::low).to_vec();
        let product = compute(&mut code, "IMAD", 1, read);
        store(&mut code, product);
        choose(&mut code);
        assert_eq!(shown(&code), [("ULDC", 1), ("LDC", 0), ("S2R", 0), ("IMAD", 1), ("STS", 0)]);
    }

    #[test]
    fn what_is_computed_of_such_alone_is_such() {
        let mut code = Code::default();
        let [x, y] = [0x210, 0x214].map(|at| load(&mut code, 1, at));
        let product = compute(&mut code, "IMAD", 1, vec![Operand::low(x), Operand::low(y), Operand::zero()]);
        let tid = compute(&mut code, "S2R", 1, vec![Operand::Text("SR_TID.X".into())]);
        let read = vec![Operand::low(product), Operand::low(tid), Operand::zero()];
        let sum = compute(&mut code, "IADD3", 1, read);
        store(&mut code, sum);
        choose(&mut code);
        let expected = [("ULDC", 1), ("ULDC", 1), ("UIMAD", 3), ("S2R", 0), ("IADD3", 1), ("STS", 0)];
        assert_eq!(shown(&code), expected);
        // The sum takes it in the second place.
        let Some(Line::Instruction(sum)) = code.lines.get(4) else { panic!("{code:?}") };
        assert!(matches!(sum.operands[2], Operand::Uniform { .. }), "{sum:?}");
    }

    #[test]
    fn what_is_stored_is_in_general_registers() {
        let mut code = Code::default();
        let x = load(&mut code, 1, 0x210);
        let read = vec![Operand::low(x), Operand::low(x), Operand::zero()];
        let square = compute(&mut code, "IMAD", 1, read);
        store(&mut code, square);
        choose(&mut code);
        assert_eq!(shown(&code), [("LDC", 0), ("IMAD", 0), ("STS", 0)]);
    }

    #[test]
    fn a_loop_has_its_bases_in_uniform_registers_and_one_constant_for_them() {
        let mut code = Code::default();
        let bases = [0x210, 0x218].map(|at| load(&mut code, 2, at));
        let tid = compute(&mut code, "S2R", 1, vec![Operand::Text("SR_TID.X".into())]);
        let address = |code: &mut Code, base: Reg| {
            let read = vec![Operand::low(tid), Operand::number(4), Operand::wide(base, 2)];
            let address = compute(code, "IMAD.WIDE", 2, read);
            store(code, address);
        };
        // Outside of a loop the constant stands where it is.
        address(&mut code, bases[0]);
        again(&mut code, |code| bases.into_iter().for_each(|base| address(code, base)));
        choose(&mut code);
        let products: Vec<usize> =
            shown(&code).iter().filter(|it| it.0 == "IMAD.WIDE").map(|it| it.1).collect();
        assert_eq!(products, [1, 1, 1]);
        let count = |name| shown(&code).iter().filter(|it| it.0 == name).count();
        assert_eq!([count("ULDC.64"), count("LDC.64"), count("MOV")], [2, 0, 1]);
    }

    #[test]
    fn a_comparison_with_one_is_one_with_zero() {
        let mut code = Code::default();
        let n = load(&mut code, 1, 0x210);
        let flag = code.register(Class::Predicate, false);
        let written = vec![Operand::Predicate(flag, false), Operand::always(false)];
        let read = vec![Operand::low(n), Operand::number(1), Operand::always(false)];
        code.push(None, "ISETP.LT.AND", written, read);
        choose(&mut code);
        // n < 1 is 0 >= n.
        assert_eq!(shown(&code), [("ULDC", 1), ("ISETP.GE.AND", 1)]);
    }
}
