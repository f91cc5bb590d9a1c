//! What all lanes of a warp have alike for as long as a kernel runs, in uniform registers: what it is given, the numbers of its CTA, and what
//! is computed of such alone. A warp has one set of them, so that no general register of its lanes holds such a value. An instruction takes
//! one in the place of a general register, if it has no constant besides.
//!
//! The uniform datapath computes once for the lanes that are there, and the others find the result in the same register. As the value is the
//! same whenever and wherever it is computed, it does not matter which lanes these are; that the register holds nothing else in between,
//! [allocation](crate::allocate) sees to. What changes, as counters of loops do, stays in general registers.

use super::slots;
use crate::allocate::UNIFORM;
use crate::code::{Class, Code, Instruction, Label, Line, Operand, Reg, alignment};
use crate::opcode::Kind;
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

/// In how many loops a line stands, as branches back tell.
fn depths(code: &Code) -> Vec<u32> {
    let mut labels: HashMap<Label, usize> = HashMap::default();
    let mut depths = vec![0; code.lines.len()];
    for (at, line) in code.lines.iter().enumerate() {
        match line {
            Line::Label(label) => drop(labels.insert(*label, at)),
            Line::Instruction(one) if one.name.kind() == Kind::Branch => {
                if let Some(Operand::Target(label)) = one.operands.last()
                    && let Some(&head) = labels.get(label)
                {
                    depths[head..=at].iter_mut().for_each(|depth| *depth += 1);
                }
            }
            Line::Instruction(_) => {}
        }
    }
    depths
}

/// Which candidates to choose; or one that is computed, but for which there is no use.
fn plan(code: &Code, candidates: &[Candidate], depth: &[u32]) -> Result<Vec<Chosen>, usize> {
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
    let reached = |reach: &[u32], line: usize| match computed.get(&line) {
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
    let mut next = UNIFORM.start;
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
        let first = next.next_multiple_of(alignment(it.width));
        let pays = match deepest(false) {
            None => true,
            // The others go on reading the general register, up to which it is needed.
            Some(others) => it.is_loaded && deepest(true).is_some_and(|depth| depth > others),
        };
        if !pays || first + u32::from(it.width) > UNIFORM.end {
            let reader = it.readers.iter().find_map(|(line, _)| computed.get(line));
            match if it.is_loaded { reader } else { Some(&place) } {
                Some(&gone) => return Err(gone),
                None => continue,
            }
        }
        next = first + u32::from(it.width);
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
            let Line::Instruction(one) = &mut code.lines[line] else { continue };
            if *how == Taking::BesideConstant
                && let Some((at, bits)) = constant_beside(one, index)
            {
                let info = crate::code::Info { class: Class::General(1), temporary: false };
                let (first, reg) = constants.entry(bits).or_insert_with(|| {
                    code.registers.push(info);
                    (it.line, Reg(code.registers.len() as u32 - 1))
                });
                *first = (*first).min(it.line);
                one.operands[at] = Operand::low(*reg);
            }
            if matches!(how, Taking::Stands | Taking::BesideConstant)
                && let Some(changed) = slots::with_uniform(one, index, names[&it.reg])
            {
                *one = changed;
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
