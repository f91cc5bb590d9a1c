//! Which registers hold the same value. Every value has a number, given along the dominator tree: a copy has that of its source, and a
//! pure instruction with the operands of an earlier one has that one's. Readers then read what held the value first, or a constant
//! where one may stand, and what nobody reads any more goes.
//!
//! A register that is written once has its number wherever its definition dominates, as in SSA form. The numbers of others are
//! known within a block, and in one that only that block leads to.
//!
//! What lanes execute that meet names the same registers everywhere and is left alone.

use super::graph::Flow;
use super::slots::{self, Fixed};
use crate::Target;
use crate::allocate::{Units, dead_lines};
use crate::code::{Code, Instruction, Line, Operand, Reg};
use crate::opcode::Name;
use crate::schedule::is_pure;
use rustc_hash::FxHashMap as HashMap;
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// A value.
pub(crate) type Number = u32;
/// The values of an operand's parts.
pub(crate) type Parts = SmallVec<[Number; 4]>;
/// Those of several operands.
type Numbers = SmallVec<[Parts; 4]>;

/// An instruction whose results have numbers, as it read then.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) line: usize,
    pub(crate) name: Name,
    pub(crate) read: Vec<Operand>,
    /// The values of the operands' parts.
    pub(crate) numbers: Numbers,
    /// How many parts it writes.
    pub(crate) written: usize,
}

/// What is known of a value.
#[derive(Clone, Debug)]
enum Known {
    Nothing,
    Fixed(Fixed),
    /// A result of an instruction: which of the parts that it writes.
    Result(Rc<Made>, usize),
}

/// Results of an instruction that was met.
struct Found {
    block: usize,
    results: SmallVec<[(u32, Number); 2]>,
}

/// Numbers, while blocks are visited.
pub(crate) struct Values<'a> {
    /// The device.
    pub(crate) target: Target,
    flow: &'a Flow,
    units: &'a Units,
    stage: Stage,
    regs: Vec<(Reg, u8)>,
    /// Units with one definition.
    single: Vec<bool>,
    /// How often each unit is read.
    pub(crate) uses: Vec<u32>,
    global: Vec<Option<(Number, usize)>>,
    local: HashMap<u32, Number>,
    block: usize,
    /// The stack pointer is not the same everywhere.
    moves_stack: bool,
    known: Vec<Known>,
    holders: Vec<Holders>,
    fixed: HashMap<(bool, u32), Number>,
    /// By what [`Values::describe`] says of an instruction.
    table: HashMap<Box<[u8]>, SmallVec<[Found; 1]>>,
    described: Vec<u8>,
    /// Carries, to the lower half of the sum that they are of.
    pub(crate) carries: HashMap<Number, Number>,
    /// Sums of 64 bits: the halves of the sum, to those of its two operands.
    pub(crate) sums: HashMap<(Number, Number), ([Number; 2], [Number; 2])>,
}

/// What a walk does. Each leaves the code as it is for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Copies are followed within a block alone, and nothing is shared.
    Within,
    /// Copies are followed, which hide how often a value is read.
    Copies,
    /// Instructions that one can do become one.
    Fusing,
}

/// Units that remember a value, of those that hold it.
const HOLDERS: usize = 6;

/// The units that hold a value, the first that did first.
#[derive(Clone, Copy, Default)]
struct Holders {
    units: [u32; HOLDERS],
    count: u8,
}

impl Holders {
    fn all(&self) -> &[u32] {
        &self.units[..usize::from(self.count)]
    }

    fn add(&mut self, unit: u32) {
        let count = usize::from(self.count);
        if count < HOLDERS && !self.all().contains(&unit) {
            self.units[count] = unit;
            self.count += 1;
        }
    }
}

/// Gives numbers, lets readers read what came first, and takes out what nobody reads.
pub(crate) fn number(code: &mut Code, flow: &Flow, stage: Stage) {
    let units = Units::new(code);
    let mut values = Values::new(code, flow, &units, stage);
    let mut ends: HashMap<usize, HashMap<u32, Number>> = HashMap::default();
    let mut gone: Vec<usize> = Vec::new();
    for block in flow.order() {
        values.block = block;
        values.local = match flow.predecessors[block].as_slice() {
            [before] if *before != block && stage != Stage::Within => {
                ends.get(before).cloned().unwrap_or_default()
            }
            _ => HashMap::default(),
        };
        let mut meeting = false;
        for at in flow.blocks[block].lines.clone() {
            let Line::Instruction(one) = &mut code.lines[at] else { continue };
            meeting |= one.name.starts_with("WARPSYNC.COLLECTIVE");
            if meeting {
                values.write_anew(one);
                meeting &= one.name != "ENDCOLLECTIVE";
                continue;
            }
            for operand in &one.operands[one.written..] {
                for unit in units.of(operand) {
                    values.read(unit);
                }
            }
            values.improve(one);
            if stage == Stage::Fusing && super::fuse::fuse(one, at, &mut values) {
                gone.extend(at.checked_sub(1));
            }
            values.write(one, at);
        }
        let inherits = |&next: &usize| flow.predecessors[next].len() == 1;
        if flow.blocks[block].successors.iter().any(inherits) && values.local.len() < 4096 {
            ends.insert(block, values.local.clone());
        }
    }
    remove(code, &gone);
    let dead = dead_lines(code, &is_pure);
    remove(code, &dead);
}

/// Takes out lines, given in order.
pub(crate) fn remove(code: &mut Code, lines: &[usize]) {
    if lines.is_empty() {
        return;
    }
    let mut lines = lines.to_vec();
    lines.sort_unstable();
    lines.dedup();
    let mut next = lines.into_iter().peekable();
    let mut at = 0;
    code.lines.retain(|_| {
        at += 1;
        next.next_if_eq(&(at - 1)).is_none()
    });
}

impl<'a> Values<'a> {
    fn new(code: &Code, flow: &'a Flow, units: &'a Units, stage: Stage) -> Self {
        let mut regs = Vec::with_capacity(units.count);
        for (index, &first) in units.first.iter().enumerate() {
            let end = units.first.get(index + 1).map_or(units.count, |&next| next as usize);
            regs.extend((0..end - first as usize).map(|part| (Reg(index as u32), part as u8)));
        }
        let (written, uses) = units.counts(code);
        Self {
            target: code.target,
            flow,
            units,
            stage,
            regs,
            single: written.iter().map(|&times| times == 1).collect(),
            uses,
            global: vec![None; units.count],
            local: HashMap::default(),
            block: 0,
            moves_stack: code.has_routines(),
            known: Vec::with_capacity(2 * code.lines.len()),
            holders: Vec::with_capacity(2 * code.lines.len()),
            fixed: HashMap::default(),
            table: HashMap::with_capacity_and_hasher(code.lines.len(), Default::default()),
            described: Vec::new(),
            carries: HashMap::default(),
            sums: HashMap::default(),
        }
    }

    fn fresh(&mut self, known: Known) -> Number {
        self.known.push(known);
        self.holders.push(Holders::default());
        self.known.len() as Number - 1
    }

    /// What a unit holds here.
    pub(crate) fn now(&self, unit: u32) -> Option<Number> {
        if self.single[unit as usize] {
            let (number, block) = self.global[unit as usize]?;
            let reaches = match self.stage {
                Stage::Within => block == self.block,
                Stage::Copies | Stage::Fusing => self.flow.dominates(block, self.block),
            };
            return reaches.then_some(number);
        }
        self.local.get(&unit).copied()
    }

    fn set(&mut self, unit: u32, number: Number) {
        if self.single[unit as usize] {
            self.global[unit as usize] = Some((number, self.block));
        } else {
            self.local.insert(unit, number);
        }
        self.holders[number as usize].add(unit);
    }

    /// What a unit holds here; a value of its own if nothing is known.
    fn read(&mut self, unit: u32) -> Number {
        if let Some(number) = self.now(unit) {
            return number;
        }
        let number = self.fresh(Known::Nothing);
        // Where its one definition has not come by, it may hold that of an earlier round.
        if !self.single[unit as usize] {
            self.set(unit, number);
        }
        number
    }

    fn fixed_number(&mut self, value: Fixed) -> Number {
        let key = match value {
            Fixed::Constant(bits) => (false, bits),
            Fixed::Bank(offset) => (true, offset),
        };
        if let Some(&number) = self.fixed.get(&key) {
            return number;
        }
        let number = self.fresh(Known::Fixed(value));
        self.fixed.insert(key, number);
        number
    }

    /// The constant or word of bank 0 that a value is.
    pub(crate) fn is_fixed(&self, number: Number) -> Option<Fixed> {
        match self.known[number as usize] {
            Known::Fixed(value) => Some(value),
            Known::Nothing | Known::Result(..) => None,
        }
    }

    pub(crate) fn is_constant(&self, number: Number) -> Option<u32> {
        match self.is_fixed(number)? {
            Fixed::Constant(bits) => Some(bits),
            Fixed::Bank(_) => None,
        }
    }

    /// The instruction whose result a value is, and which part of its results.
    pub(crate) fn made(&self, number: Number) -> Option<(&Rc<Made>, usize)> {
        match &self.known[number as usize] {
            Known::Result(made, index) => Some((made, *index)),
            Known::Nothing | Known::Fixed(_) => None,
        }
    }

    /// Whether an instruction stands in the block that is being visited.
    pub(crate) fn is_here(&self, made: &Made) -> bool {
        self.flow.blocks[self.block].lines.contains(&made.line)
    }

    /// The numbers of an operand's parts, if all are known.
    pub(crate) fn numbers(&self, operand: &Operand) -> Option<Parts> {
        self.units.of(operand).map(|unit| self.now(unit)).collect()
    }

    /// The only number of an operand of one part.
    pub(crate) fn of(&self, operand: &Operand) -> Option<Number> {
        let mut units = self.units.of(operand);
        let first = self.now(units.next()?)?;
        units.next().is_none().then_some(first)
    }

    /// The value of a register of one part, of a constant or of a word of bank 0.
    pub(crate) fn value(&self, operand: &Operand) -> Option<Number> {
        match operand {
            Operand::Text(_) => {
                let constant = slots::constant(operand).map(|bits| (false, bits));
                self.fixed.get(&constant.or(slots::bank(operand).map(|offset| (true, offset)))?).copied()
            }
            _ => self.of(operand),
        }
    }

    /// Lets a register hold something of which nothing is known.
    pub(crate) fn forget(&mut self, operand: &Operand) {
        for unit in self.units.of(operand) {
            let number = self.fresh(Known::Nothing);
            self.set(unit, number);
        }
    }

    /// How often a register's parts are read.
    pub(crate) fn reads_of(&self, operand: &Operand) -> u32 {
        self.units.of(operand).map(|unit| self.uses[unit as usize]).max().unwrap_or(0)
    }

    /// A register that holds a value here.
    fn holder(&self, number: Number) -> Option<(Reg, u8)> {
        let held = |&&unit: &&u32| self.now(unit) == Some(number);
        self.holders[number as usize].all().iter().find(held).map(|&unit| self.regs[unit as usize])
    }

    /// Parts of one register that hold these values, the first at a multiple of their number.
    pub(crate) fn row(&self, numbers: &[Number]) -> Option<(Reg, u8)> {
        let width = numbers.len() as u8;
        self.holders[*numbers.first()? as usize].all().iter().map(|&unit| self.regs[unit as usize]).find(
            |&(reg, first)| {
                let start = self.units.first[reg.0 as usize] + u32::from(first);
                let end = self.units.first.get(reg.0 as usize + 1).map_or(self.units.count as u32, |&it| it);
                first.is_multiple_of(width)
                    && start + u32::from(width) <= end
                    && (start..).zip(numbers).all(|(unit, &number)| self.now(unit) == Some(number))
            },
        )
    }

    /// A past operand as it can be read now, if its value still is somewhere.
    pub(crate) fn again(&self, operand: &Operand, numbers: &[Number]) -> Option<Operand> {
        match operand {
            Operand::Text(_) => Some(operand.clone()),
            &Operand::General { width, before, after, .. } => {
                let (reg, part) = if width == 1 { self.holder(numbers[0])? } else { self.row(numbers)? };
                Some(Operand::General { reg, part, width, before, after })
            }
            &Operand::Predicate(_, not) => Some(Operand::Predicate(self.holder(numbers[0])?.0, not)),
            Operand::Uniform { .. } | Operand::Address { .. } | Operand::Target(_) => None,
        }
    }

    /// Lets an instruction read what came first.
    fn improve(&mut self, one: &mut Instruction) {
        if let Some((reg, not)) = one.guard
            && let Some(guard) = self.better_predicate(reg, not)
        {
            one.guard = Some(guard);
        }
        // A constant stands second; the register there comes to the front.
        let source = |slot: usize| {
            let operand = one.operands.get(one.written + slot);
            operand.filter(|it| matches!(it, Operand::General { width: 1, .. }))
        };
        let fixed = |it: &Operand| self.of(it).and_then(|it| self.is_constant(it)).filter(|&it| it != 0);
        let is_fixed = |slot: usize| source(slot).is_some_and(|it| fixed(it).is_some());
        let is_free = source(1).is_some_and(|it| fixed(it).is_none())
            || one.operands.get(one.written + 1) == Some(&Operand::zero());
        let is_third = one.name.head() == "LOP3" && is_fixed(2);
        if is_free && is_fixed(0) {
            slots::swap(one);
        } else if is_free && is_third {
            slots::swap_later(one);
        }
        for index in one.written..one.operands.len() {
            if let Some(better) = self.better(one, index) {
                one.operands[index] = better;
            }
        }
        super::fuse::address(one, self);
    }

    fn better(&self, one: &Instruction, index: usize) -> Option<Operand> {
        match &one.operands[index] {
            &Operand::General { width: 1, before, after, .. } => {
                let operand = &one.operands[index];
                let number = self.of(operand)?;
                if let Some(bits) = self.is_constant(number) {
                    if bits == 0 && takes_zero(one, index) && before.is_empty() && after.is_empty() {
                        return Some(Operand::zero());
                    }
                    if let Some(fixed) = slots::fixed(one, index, bits) {
                        return Some(fixed);
                    }
                }
                let (reg, part) = self.holder(number)?;
                Some(Operand::General { reg, part, width: 1, before, after })
            }
            &Operand::General { width, before, after, .. } => {
                let numbers = self.numbers(&one.operands[index])?;
                if let [lower, upper] = numbers.as_slice()
                    && self.is_constant(*lower) == Some(0)
                    && let Some(upper) = self.is_constant(*upper)
                    && let Some(fixed) = slots::fixed_double(one, index, upper)
                {
                    return Some(fixed);
                }
                let (reg, part) = self.row(&numbers)?;
                Some(Operand::General { reg, part, width, before, after })
            }
            &Operand::Address { before, width, beside, offset, .. } => {
                let numbers = self.numbers(&one.operands[index])?;
                let (reg, 0) = self.row(&numbers)? else { return None };
                Some(Operand::Address { before, reg, width, beside, offset })
            }
            &Operand::Predicate(reg, not) => {
                self.better_predicate(reg, not).map(|(reg, not)| Operand::Predicate(reg, not))
            }
            Operand::Uniform { .. } | Operand::Target(_) | Operand::Text(_) => None,
        }
    }

    /// The predicate that came first, or that of which this one is the opposite.
    fn better_predicate(&self, reg: Reg, not: bool) -> Option<(Reg, bool)> {
        let number = self.now(self.units.first[reg.0 as usize])?;
        if let Some((made, _)) = self.made(number)
            && made.name == "PLOP3.LUT"
            && let [Operand::Predicate(_, true), rest @ ..] = made.read.as_slice()
            && slots::is_copy_table(rest)
            && let Some((first, _)) = self.holder(made.numbers[0][0])
        {
            return Some((first, !not));
        }
        self.holder(number).map(|(first, _)| (first, not))
    }

    /// What an instruction writes gets values of which nothing is known.
    fn write_anew(&mut self, one: &Instruction) {
        let units = self.units;
        for operand in &one.operands[..one.written] {
            for unit in units.of(operand) {
                let number = self.fresh(Known::Nothing);
                self.set(unit, number);
            }
        }
    }

    /// Whether an instruction writes a later one of its results without an earlier one: results are known by how many stand before them.
    fn lacks_an_earlier_result(&self, one: &Instruction) -> bool {
        let mut results = one.operands[..one.written].iter().map(|it| self.units.of(it).next().is_some());
        results.any(|is_written| !is_written) && results.any(|is_written| is_written)
    }

    /// What an instruction writes gets its numbers.
    fn write(&mut self, one: &Instruction, at: usize) {
        let hidden = |it: &Operand| matches!(it, Operand::Text(text) if text.contains("UR") || text == "R1");
        if one.guard.is_some()
            || !is_pure(one)
            || one.operands[..one.written].iter().any(hidden)
            || one.operands.iter().any(Operand::is_hardware)
            || self.lacks_an_earlier_result(one)
            || self.moves_stack && one.operands.contains(&Operand::Text("R1".into()))
        {
            return self.write_anew(one);
        }
        let mut written: SmallVec<[u32; 4]> = SmallVec::new();
        one.operands[..one.written].iter().for_each(|it| written.extend(self.units.of(it)));
        if let Some(values) = self.copied(one) {
            for (unit, number) in written.into_iter().zip(values) {
                self.set(unit, number);
            }
            return;
        }
        let read = &one.operands[one.written..];
        let numbers: Numbers =
            read.iter().map(|it| self.units.of(it).map(|unit| self.read(unit)).collect()).collect();
        let mut key = std::mem::take(&mut self.described);
        describe(one, written.len(), &numbers, &mut key);
        let predicates = one.operands[..one.written].iter().any(|it| matches!(it, Operand::Predicate(..)));
        let shared = self.table.get(key.as_slice()).filter(|_| self.stage != Stage::Within);
        let earlier = shared.into_iter().flatten().rev().find(|found| {
            let near = if predicates {
                found.block == self.block
            } else {
                self.flow.dominates(found.block, self.block)
            };
            near && found.results.iter().all(|&(unit, number)| self.now(unit) == Some(number))
        });
        if let Some(found) = earlier {
            let results: Parts = found.results.iter().map(|&(_, number)| number).collect();
            written.into_iter().zip(results).for_each(|(unit, number)| self.set(unit, number));
        } else {
            let (name, read) = (one.name.clone(), read.to_vec());
            let made = Rc::new(Made { line: at, name, read, numbers, written: written.len() });
            let mut results = SmallVec::new();
            for (index, &unit) in written.iter().enumerate() {
                let number = self.fresh(Known::Result(Rc::clone(&made), index));
                self.set(unit, number);
                results.push((unit, number));
            }
            let found = Found { block: self.block, results };
            match self.table.get_mut(key.as_slice()) {
                Some(known) => known.push(found),
                None => {
                    self.table.insert(key.as_slice().into(), smallvec![found]);
                }
            }
        }
        self.described = key;
        super::fuse::remember_sum(one, self);
    }

    /// The values of what only copies: a register, a constant, words of bank 0.
    fn copied(&mut self, one: &Instruction) -> Option<Parts> {
        if let Some(Operand::Predicate(from, false)) = slots::copied_predicate(one) {
            return Some(smallvec![self.read(self.units.first[from.0 as usize])]);
        }
        let from = one.operands.last().filter(|_| one.operands.len() == 2 && one.written == 1)?;
        match (one.name.as_str(), from) {
            ("MOV", Operand::General { width: 1, before: "", after: "", .. }) => {
                Some(self.units.of(from).map(|unit| self.read(unit)).collect())
            }
            ("MOV", Operand::Text(_)) => {
                let value =
                    slots::constant(from).map(Fixed::Constant).or(slots::bank(from).map(Fixed::Bank))?;
                Some(smallvec![self.fixed_number(value)])
            }
            ("LDC" | "LDC.64", Operand::Text(_)) => {
                let offset = slots::bank(from)?;
                let words = if one.name == "LDC" { 1 } else { 2 };
                Some((0..words).map(|word| self.fixed_number(Fixed::Bank(offset + word * 4))).collect())
            }
            _ => None,
        }
    }
}

/// Writes what instructions have in common that compute the same, if what they read has these numbers: every part ends with what stands
/// in no name, so that no two are written alike.
fn describe(one: &Instruction, written: usize, numbers: &[Parts], out: &mut Vec<u8>) {
    fn text(out: &mut Vec<u8>, text: &str) {
        out.extend(text.as_bytes());
        out.push(0);
    }
    out.clear();
    text(out, &one.name);
    out.push(written as u8);
    for operand in &one.operands[..one.written] {
        text(out, if let Operand::Text(name) = operand { name } else { "" });
    }
    for (operand, numbers) in one.operands[one.written..].iter().zip(numbers) {
        match operand {
            Operand::General { width, before, after, .. } => {
                out.extend([1, *width]);
                text(out, before);
                text(out, after);
            }
            Operand::Uniform { width, before, .. } => {
                out.extend([6, *width]);
                text(out, before);
            }
            Operand::Predicate(_, not) => out.extend([2, u8::from(*not)]),
            Operand::Address { before, width, beside, offset, .. } => {
                out.extend([3, *width]);
                text(out, before);
                text(out, beside);
                out.extend(offset.to_le_bytes());
            }
            Operand::Target(label) => {
                out.push(4);
                out.extend(label.0.to_le_bytes());
            }
            Operand::Text(name) => {
                out.push(5);
                text(out, name);
            }
        }
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
    }
}

/// Whether the register that is always zero may stand there.
fn takes_zero(one: &Instruction, index: usize) -> bool {
    let slot = index - one.written;
    match one.name.head() {
        "IADD3" | "LOP3" | "SHF" | "SEL" | "ISETP" | "PRMT" | "FFMA" | "SHFL" | "VIADDMNMX" => slot < 3,
        "MOV" | "FADD" | "FMUL" | "FSETP" | "FMNMX" => slot < 2,
        "IMAD" => slot == 2 && !one.name.starts_with("IMAD.WIDE"),
        "STG" | "STS" | "ST" | "STL" => slot == 1,
        _ => false,
    }
}
