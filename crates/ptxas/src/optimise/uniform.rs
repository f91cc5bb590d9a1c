//! What a kernel is given, and the numbers of its CTA, in uniform registers: of these a warp has one set, so that no general register of
//! its lanes holds them. An instruction takes one in the place of a general register, if it has no constant besides.
//!
//! Such a value is the same whenever and wherever it is loaded, so that it does not matter which lanes are there: the uniform datapath
//! computes once for those that are, and for the others the register holds the same. That it holds nothing else in between,
//! [allocation](crate::allocate) sees to.

use super::slots;
use crate::allocate::UNIFORM;
use crate::code::{Class, Code, Instruction, Line, Operand, Reg, alignment};
use rustc_hash::FxHashMap as HashMap;

/// Special registers that all lanes of a warp have alike, whenever they ask.
const ALIKE: [&str; 3] = ["SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z"];

/// The lines that write and read a register.
#[derive(Default)]
struct Named {
    writers: Vec<usize>,
    /// Those that read it, and as which operand.
    readers: Vec<(usize, usize)>,
}

/// Chooses such values, and names uniform registers for them.
pub(crate) fn choose(code: &mut Code) {
    let mut named: HashMap<Reg, Named> = HashMap::default();
    let mut loaded: Vec<(Reg, usize)> = Vec::new();
    for (at, line) in code.lines.iter().enumerate() {
        let Line::Instruction(one) = line else { continue };
        if let Some(reg) = uniform_load(one).map(|_| one.operands[0].register()).and_then(|it| Some(it?.0)) {
            loaded.push((reg, at));
        }
        for (index, operand) in one.operands.iter().enumerate() {
            let Some((reg, ..)) = operand.register() else { continue };
            let named = named.entry(reg).or_default();
            match index < one.written {
                true => named.writers.push(at),
                false => named.readers.push((at, index)),
            }
        }
    }
    let mut next = UNIFORM.start;
    for (reg, at) in loaded {
        let Named { writers, readers } = &named[&reg];
        let width = code.registers[reg.0 as usize].class.width();
        let Line::Instruction(load) = &code.lines[at] else { continue };
        let whole = load.operands[0] == Operand::wide(reg, width);
        let place = next.next_multiple_of(alignment(width));
        let is_twice = readers.windows(2).any(|two| two[0].0 == two[1].0);
        if *writers != [at]
            || !whole
            || is_twice
            || readers.is_empty()
            || place + u32::from(width) > UNIFORM.end
        {
            continue;
        }
        let uniform = Reg(code.registers.len() as u32);
        let changed: Option<Vec<_>> = readers
            .iter()
            .map(|&(at, index)| {
                let Line::Instruction(one) = &code.lines[at] else { return None };
                Some((at, slots::with_uniform(one, index, uniform)?))
            })
            .collect();
        let Some(changed) = changed else { continue };
        let name = uniform_load(load);
        code.register(Class::Uniform(width), false);
        next = place + u32::from(width);
        for (at, one) in changed {
            code.lines[at] = Line::Instruction(one);
        }
        if let (Line::Instruction(load), Some(name)) = (&mut code.lines[at], name) {
            load.name = name.into();
            load.operands[0] = Operand::Uniform { reg: uniform, part: 0, width, before: "" };
        }
    }
}

/// The name of the instruction that loads a uniform register with what this one loads a general one with.
fn uniform_load(one: &Instruction) -> Option<&'static str> {
    let [Operand::General { part: 0, .. }, from] = one.operands.as_slice() else { return None };
    if one.guard.is_some() || one.written != 1 {
        return None;
    }
    match one.name.as_str() {
        "LDC" if slots::bank(from).is_some() => Some("ULDC"),
        "LDC.64" if slots::bank(from).is_some() => Some("ULDC.64"),
        "S2R" if matches!(from, Operand::Text(text) if ALIKE.contains(&text.as_str())) => Some("S2UR"),
        _ => None,
    }
}
