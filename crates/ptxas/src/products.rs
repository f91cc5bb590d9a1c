//! Products of warpgroups (`wgmma`) go on beside the threads until a wait: meanwhile nobody may touch what they write, nor write what they
//! read. PTX asks that of its registers; which hardware registers those are, and what else comes to stand there, is known behind the
//! allocation.
//!
//! As in ptxas' code `WARPGROUP.ARRIVE` stands in front of the first of some products, only the last of a group holds `gsb0`, and
//! `WARPGROUP.DEPBAR.LE` waits until so many groups at most are left. Where something else would touch a register that is under way, a wait
//! for all comes in front of it. If the groups of a kernel do not begin and end within blocks, each product is waited for where it stands.

use crate::allocate::{Allocation, Block, blocks, operand_units};
use crate::code::{Class, Code, Instruction, Line, Operand};
use std::collections::BTreeSet;

/// Where a group ends; no machine instruction.
pub(crate) const COMMIT: &str = "WARPGROUP.COMMIT";
pub(crate) const WAIT: &str = "WARPGROUP.DEPBAR.LE";
pub(crate) const ARRIVE: &str = "WARPGROUP.ARRIVE";
/// Most groups that are told apart: a wait can leave no more.
pub(crate) const MOST_GROUPS: u32 = 7;

type Registers = BTreeSet<u32>;

/// Products that are under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Group {
    sums: Registers,
    /// What they read beside those.
    factors: Registers,
}

impl Group {
    fn extend(&mut self, other: &Self) {
        self.sums.extend(&other.sums);
        self.factors.extend(&other.factors);
    }
}

/// Groups that are under way, the newest first.
type Groups = Vec<Group>;

/// Says where products begin and are waited for.
pub(crate) fn settle(code: &mut Code, allocation: &Allocation) {
    let is_any = |line: &Line| matches!(line, Line::Instruction(one) if is_product(one) || one.name.starts_with("WARPGROUP"));
    if !code.lines.iter().any(is_any) {
        return;
    }
    let blocks = blocks(code);
    let settler = Settler { code, allocation };
    let lines = match blocks.iter().all(|block| settler.is_whole(block)) && !code.has_calls() {
        true => settler.grouped(&blocks),
        false => settler.one_by_one(),
    };
    code.lines = lines;
}

fn is_product(one: &Instruction) -> bool {
    one.name.split('.').next().is_some_and(|head| head.ends_with("GMMA"))
}

fn line(name: &str, read: Vec<Operand>, like: &Instruction) -> Line {
    Line::Instruction(Instruction {
        name: name.into(),
        operands: read,
        origin: like.origin,
        ..Instruction::default()
    })
}

fn scoreboard() -> Operand {
    Operand::Text("gsb0".into())
}

fn wait(left: u32, like: &Instruction) -> Line {
    line(WAIT, vec![scoreboard(), Operand::number(left)], like)
}

struct Settler<'a> {
    code: &'a Code,
    allocation: &'a Allocation,
}

/// What is done with a block's lines while they are gone through.
#[derive(Default)]
struct Pass {
    groups: Groups,
    /// Products since the last group ended.
    open: Group,
    /// The last of them among the lines that have been written.
    last: Option<usize>,
    /// Whether products may begin, and what has been written since.
    has_arrived: bool,
    written: Registers,
    lines: Vec<Line>,
}

impl Pass {
    /// Ends the open group.
    fn commit(&mut self) {
        if let Some(Line::Instruction(product)) = self.last.take().and_then(|at| self.lines.get_mut(at)) {
            product.operands.push(scoreboard());
            self.groups.insert(0, std::mem::take(&mut self.open));
        }
    }

    fn wait(&mut self, left: u32, like: &Instruction) {
        self.groups.truncate(left as usize);
        self.lines.push(wait(left, like));
        self.has_arrived = false;
    }

    /// What is under way, open or not.
    fn any(&self, test: impl Fn(&Group) -> bool) -> bool {
        self.groups.iter().chain([&self.open]).any(test)
    }
}

impl Settler<'_> {
    fn registers<'o>(&self, operands: impl IntoIterator<Item = &'o Operand>) -> Registers {
        let units = operands.into_iter().flat_map(operand_units);
        let general =
            units.filter(|(reg, _)| matches!(self.code.registers[reg.0 as usize].class, Class::General(_)));
        general.map(|(reg, part)| self.allocation.of(reg) + u32::from(part)).collect()
    }

    /// What a product writes, and what it reads beside that.
    fn of_product(&self, one: &Instruction) -> Group {
        let sums = self.registers(&one.operands[..one.written]);
        let read = self.registers(&one.operands[one.written..]);
        let factors = read.difference(&sums).copied().collect();
        Group { sums, factors }
    }

    /// Whether every group ends in the block in which it begins, and is one.
    fn is_whole(&self, block: &Block) -> bool {
        let mut count = 0;
        for line in &self.code.lines[block.lines.clone()] {
            match line {
                Line::Instruction(one) if is_product(one) => count += 1,
                Line::Instruction(one) if one.name == COMMIT && count == 0 => return false,
                Line::Instruction(one) if one.name == COMMIT => count = 0,
                Line::Instruction(_) | Line::Label(_) => {}
            }
        }
        count == 0
    }

    fn one_by_one(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for it in &self.code.lines {
            match it {
                Line::Instruction(one) if is_product(one) => {
                    let mut product = one.clone();
                    product.operands.push(scoreboard());
                    lines.extend([line(ARRIVE, vec![], one), Line::Instruction(product), wait(0, one)]);
                }
                Line::Instruction(one) if one.name.starts_with("WARPGROUP") => {}
                Line::Instruction(_) | Line::Label(_) => lines.push(it.clone()),
            }
        }
        lines
    }

    fn grouped(&self, blocks: &[Block]) -> Vec<Line> {
        let mut entering: Vec<Groups> = vec![Groups::new(); blocks.len()];
        let mut pending: Vec<usize> = (0..blocks.len()).rev().collect();
        // What enters a block only grows, and is of registers that are few.
        while let Some(at) = pending.pop() {
            let left = self.block(&blocks[at], entering[at].clone()).groups;
            for &next in &blocks[at].successors {
                if join(&mut entering[next], &left) && !pending.contains(&next) {
                    pending.push(next);
                }
            }
        }
        let passes = blocks.iter().zip(entering).map(|(block, groups)| self.block(block, groups));
        passes.flat_map(|pass| pass.lines).collect()
    }

    fn block(&self, block: &Block, groups: Groups) -> Pass {
        let mut pass = Pass { groups, ..Pass::default() };
        for it in &self.code.lines[block.lines.clone()] {
            let Line::Instruction(one) = it else {
                pass.lines.push(it.clone());
                continue;
            };
            match one.name.as_str() {
                ARRIVE => pass.has_arrived = false,
                COMMIT => pass.commit(),
                WAIT => {
                    let left = one.operands.last().and_then(|left| match left {
                        Operand::Text(text) => u32::from_str_radix(text.strip_prefix("0x")?, 16).ok(),
                        _ => None,
                    });
                    pass.wait(left.unwrap_or(0), one);
                }
                _ => self.other(one, &mut pass),
            }
        }
        pass
    }

    /// A product, or what has nothing to do with them.
    fn other(&self, one: &Instruction, pass: &mut Pass) {
        let product = is_product(one).then(|| self.of_product(one));
        let clashes = match &product {
            // Sums may be added to while they are under way, as long as they are the same.
            Some(product) => pass.any(|group| {
                let common = group.sums.intersection(&product.sums).count();
                common != 0 && common != product.sums.len()
                    || !group.factors.is_disjoint(&product.sums)
                    || !group.sums.is_disjoint(&product.factors)
            }),
            None => {
                let touched = self.registers(&one.operands);
                let written = self.registers(&one.operands[..one.written]);
                let clashes = pass
                    .any(|group| !group.sums.is_disjoint(&touched) || !group.factors.is_disjoint(&written));
                pass.written.extend(written);
                clashes
            }
        };
        if clashes {
            pass.commit();
            pass.wait(0, one);
        }
        if let Some(product) = product {
            let touches = |registers: &Registers| !registers.is_disjoint(&pass.written);
            if !pass.has_arrived || touches(&product.sums) || touches(&product.factors) {
                pass.lines.push(line(ARRIVE, vec![], one));
                pass.has_arrived = true;
                pass.written.clear();
            }
            pass.open.extend(&product);
            pass.last = Some(pass.lines.len());
        }
        pass.lines.push(Line::Instruction(one.clone()));
    }
}

/// Takes in what comes from another block; whether that is new. Of more groups than a wait can leave the oldest are one.
fn join(own: &mut Groups, more: &Groups) -> bool {
    let before = own.clone();
    for (age, group) in more.iter().enumerate() {
        let age = age.min(MOST_GROUPS as usize);
        if own.len() <= age {
            own.resize(age + 1, Group::default());
        }
        own[age].extend(group);
    }
    *own != before
}
