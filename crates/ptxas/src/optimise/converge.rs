//! Lanes that a branch parts come together where all ways from it meet: `BSSY` in front of the branch says who, `BSYNC` there waits for
//! them. Branches that all lanes of a warp take alike need neither.
//!
//! Where no branch has parted the lanes of a warp, those of a full mask need not wait for one another to do something together.
//!
//! A lane that waits there must not be waited for by another: where lanes or threads meet otherwise between the two, nothing is done, nor
//! in kernels that may spin.

use super::graph::Flow;
use super::slots;
use crate::allocate::Units;
use crate::code::{Code, Instruction, Label, Line, Operand, Reg};
use crate::opcode::Kind;
use crate::schedule::{Latency, latency};
use smol_str::format_smolstr;
use std::collections::{BTreeMap, BTreeSet};

/// A thread has so many barriers for this, of which a few are left.
const BARRIERS: usize = 12;
/// Special registers that all lanes of a warp have alike.
const UNIFORM: &[&str] =
    &["SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_CgaCtaId", "SR_SWINHI", "SR_VIRTCFG", "SR_SMEMSZ"];

/// What gives lanes different results for the same operands.
const OWN: &[&str] = &["LDL", "LD", "LDGMC", "ATOM", "ATOMG", "ATOMS", "SYNCS", "SHFL"];

/// Where lanes part and meet.
struct Region {
    blocks: BTreeSet<usize>,
    /// The line in front of which `BSSY` stands.
    at: usize,
    join: usize,
}

/// Lets lanes meet again, and spares what waits for those that are not apart.
pub(crate) fn converge(code: &mut Code) {
    let flow = Flow::new(code);
    let after = flow.post_dominators();
    let branches = divergent(code, &flow, &after);
    let mut regions: Vec<Region> = Vec::new();
    // Branches behind which lanes stay apart.
    let mut open: Vec<usize> = Vec::new();
    // Those that let lanes end.
    let mut ending: Vec<usize> = Vec::new();
    let loops = flow.loops();
    let mut headers = BTreeSet::new();
    for branch in branches {
        let within = reached(&flow, &flow.blocks[branch].successors, after[branch]);
        let found = if within.contains(&branch) {
            // The innermost loop that it may leave.
            let around =
                loops.iter().filter(|it| it.blocks.contains(&branch)).min_by_key(|it| it.blocks.len());
            match around {
                Some(around) if !headers.insert(around.header) => continue,
                Some(around) => of_loop(code, &flow, &after, around.header),
                None => None,
            }
        } else {
            after[branch].map(|join| Region { blocks: within, at: flow.blocks[branch].lines.end - 1, join })
        };
        let leaves = after[branch].is_none();
        match found.filter(|region| fits(code, &flow, branch, region)) {
            Some(region) => regions.push(region),
            // One side ends; nobody is waited for.
            None if leaves && ends_apart(&flow, branch) => ending.push(branch),
            None => open.push(branch),
        }
    }
    // In the arms of those nobody waits either, if threads of the kernel meet otherwise: a random one with a barrier in a loop, to which lanes
    // came apart, hung on an H100 where some of them had met by `BSYNC` on the way. Why is not known; without it, and with a `YIELD` in the loop,
    // it ended. Where nobody meets, lanes that stay apart cost several times as much (`sort_rows` of `tests/clang`, whose function calls itself).
    let parted: &[usize] = if !open.is_empty() && meets(code) { &open } else { &[] };
    for &branch in parted {
        let arms = reached(&flow, &flow.blocks[branch].successors, after[branch]);
        regions.retain(|it| it.blocks.contains(&branch) || it.blocks.is_disjoint(&arms));
    }
    let (numbered, mut left) = numbered(code, &flow, regions);
    // Within another region lanes come together at its end.
    let is_within = |block: usize| numbered.iter().any(|(_, it)| it.blocks.contains(&block));
    open.retain(|&branch| !is_within(branch));
    left.retain(|region| region.blocks.iter().any(|&it| !is_within(it)));
    let mut apart: BTreeSet<usize> = numbered.iter().flat_map(|(_, it)| it.blocks.iter().copied()).collect();
    let behind = left.iter().flat_map(|it| it.blocks.iter().copied()).collect::<Vec<_>>();
    apart.extend(reached(&flow, &behind, None));
    open.iter().for_each(|&it| apart.extend(reached(&flow, &flow.blocks[it].successors, None)));
    let sides = ending.iter().flat_map(|&it| flow.blocks[it].successors.iter().copied());
    apart.extend(sides.filter(|&it| flow.blocks[it].successors.is_empty()));
    let settled = open.is_empty() && left.is_empty();
    let spared = spared(code, &flow, &apart, settled);
    write(code, &flow, &numbered, &spared);
}

/// Whether threads of a kernel may wait for others, where it is not by what this writes. Of what is not known they may.
fn meets(code: &Code) -> bool {
    code.lines.iter().any(|line| match line {
        Line::Instruction(one) => match one.name.kind() {
            Kind::Meeting => !["YIELD", "NOP"].contains(&one.name.as_str()),
            Kind::Group => true,
            Kind::Other => !["ULDC", "R2UR", "CS2R"].contains(&one.name.head()),
            Kind::Pipe(_)
            | Kind::Matrices
            | Kind::Shuffle
            | Kind::Unit
            | Kind::Load
            | Kind::Store
            | Kind::Atomic
            | Kind::Aside
            | Kind::Branch
            | Kind::End
            | Kind::Call => false,
        },
        Line::Label(_) => false,
    })
}

/// The lines at which lanes need not wait for one another; `settled`: none are ever apart but for what one branch decides.
fn spared(code: &Code, flow: &Flow, apart: &BTreeSet<usize>, settled: bool) -> BTreeSet<usize> {
    let masks = full_masks(code);
    let mut spared = BTreeSet::new();
    // Where the lanes of a collective stand, if they are not apart, and whether there are some that are.
    let (mut within, mut meets) = (false, false);
    for (index, block) in flow.blocks.iter().enumerate() {
        for at in block.lines.clone() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            match one.name.as_str() {
                "WARPSYNC.COLLECTIVE" | "WARPSYNC.COLLECTIVE.ALL" => {
                    let is_full = match one.operands.first().and_then(Operand::register) {
                        Some((mask, ..)) => masks.contains(&mask),
                        None => true,
                    };
                    within = is_full && !apart.contains(&index);
                    meets |= !within;
                    if within {
                        spared.insert(at);
                    }
                }
                "ENDCOLLECTIVE" if within => {
                    spared.insert(at);
                    within = false;
                }
                _ => {}
            }
        }
    }
    if settled && !meets {
        let waits = |line: &Line| matches!(line, Line::Instruction(one) if one.name == "WARPSYNC.ALL");
        spared.extend(code.lines.iter().enumerate().filter(|(_, line)| waits(line)).map(|(at, _)| at));
    }
    spared
}

/// The registers that never hold anything but a mask of all lanes, or a copy of one.
fn full_masks(code: &Code) -> BTreeSet<Reg> {
    let mut writes: Vec<(Reg, Option<Reg>, bool)> = Vec::new();
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        let from = one.operands.last().filter(|_| one.name == "MOV");
        let copied = from.and_then(Operand::register).map(|(reg, ..)| reg);
        let is_full = from.and_then(slots::constant) == Some(u32::MAX);
        let written = one.operands[..one.written].iter().filter_map(Operand::register);
        writes.extend(written.map(|(reg, ..)| (reg, copied, is_full)));
    }
    // Copies may go round, so it begins with all that are written.
    let mut full: BTreeSet<Reg> = writes.iter().map(|it| it.0).collect();
    loop {
        let before = full.len();
        for &(reg, copied, is_full) in &writes {
            if !is_full && !copied.is_some_and(|from| full.contains(&from)) {
                full.remove(&reg);
            }
        }
        if full.len() == before {
            return full;
        }
    }
}

/// A branch one side of which only ends.
fn ends_apart(flow: &Flow, branch: usize) -> bool {
    flow.blocks[branch].successors.iter().any(|&next| flow.blocks[next].successors.is_empty())
}

fn reached(flow: &Flow, from: &[usize], without: Option<usize>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut pending = from.to_vec();
    while let Some(block) = pending.pop() {
        if Some(block) != without && found.insert(block) {
            pending.extend(&flow.blocks[block].successors);
        }
    }
    found
}

fn of_loop(code: &Code, flow: &Flow, after: &[Option<usize>], header: usize) -> Option<Region> {
    let join = after[header]?;
    let blocks = reached(flow, &[header], Some(join));
    // The only way in is from the block above, which falls into it.
    let start = flow.blocks[header].lines.start;
    let above = header.checked_sub(1)?;
    let outside: Vec<_> = flow.predecessors[header].iter().filter(|it| !blocks.contains(it)).collect();
    let falls = match code.lines[flow.blocks[above].lines.clone()].last() {
        Some(Line::Instruction(last)) if last.name == "BRA" => {
            last.guard.is_some() && !targets(last, &code.lines[start])
        }
        Some(Line::Instruction(last)) => last.name != "EXIT" || last.guard.is_some(),
        Some(Line::Label(_)) | None => true,
    };
    (outside == [&above] && falls && !blocks.contains(&above)).then_some(Region { blocks, at: start, join })
}

fn targets(branch: &Instruction, line: &Line) -> bool {
    matches!((branch.operands.last(), line), (Some(Operand::Target(to)), Line::Label(label)) if to == label)
}

/// Whether every lane that comes into a region comes to its end, and waits for nobody on the way.
fn fits(code: &Code, flow: &Flow, branch: usize, region: &Region) -> bool {
    let join = region.join;
    if !flow.is_reachable(join) || region.blocks.contains(&join) {
        return false;
    }
    let cyclic = region.blocks.iter().any(|&block| {
        flow.blocks[block]
            .successors
            .iter()
            .any(|next| region.blocks.contains(next) && flow.dominates(*next, block))
    });
    let alone = |one: &Instruction| match latency(one) {
        Latency::Fixed(_) | Latency::Branch => true,
        Latency::Variable { .. } => {
            let tells = one.operands[..one.written].iter().any(|it| it.register().is_some());
            !cyclic || !tells || !(one.name.starts_with("ATOM") || one.name.contains(".STRONG"))
        }
        Latency::Meeting => one.name == "YIELD" || one.name == "NOP",
        Latency::Uniform | Latency::Product | Latency::Products | Latency::Group => false,
        Latency::Serial => one.name.head() == "CS2R" && !cyclic,
    };
    let lines = region.blocks.iter().flat_map(|&block| code.lines[flow.blocks[block].lines.clone()].iter());
    let mut instructions = lines.filter_map(|line| match line {
        Line::Instruction(one) => Some(one),
        Line::Label(_) => None,
    });
    // Nobody comes into it from elsewhere.
    let entered = region.blocks.iter().all(|&block| {
        flow.predecessors[block].iter().all(|it| {
            region.blocks.contains(it) || *it == branch || flow.blocks[block].lines.start == region.at
        })
    });
    entered && instructions.all(alone)
}

/// Branches at which lanes of a warp may part.
fn divergent(code: &Code, flow: &Flow, after: &[Option<usize>]) -> Vec<usize> {
    let units = Units::new(code);
    let (written, _) = units.counts(code);
    let mut varying = vec![false; units.count];
    let mut parted: BTreeSet<usize> = BTreeSet::new();
    let mut branches: BTreeSet<usize> = BTreeSet::new();
    loop {
        let mut changed = false;
        for (index, block) in flow.blocks.iter().enumerate() {
            for line in &code.lines[block.lines.clone()] {
                let Line::Instruction(one) = line else { continue };
                let mut differs = !is_alike(one);
                units.reads(code, one, &mut |unit| differs |= varying[unit as usize]);
                if one.name == "BRA" && differs && one.guard.is_some() && branches.insert(index) {
                    changed = true;
                    parted.extend(reached(flow, &block.successors, after[index]));
                }
                let apart = parted.contains(&index);
                units.writes(one, &mut |unit| {
                    if (differs || apart && written[unit as usize] > 1) && !varying[unit as usize] {
                        varying[unit as usize] = true;
                        changed = true;
                    }
                });
            }
        }
        if !changed {
            return branches.into_iter().collect();
        }
    }
}

/// Whether an instruction gives all lanes the same for the same operands.
fn is_alike(one: &Instruction) -> bool {
    let special = |it: &Operand| matches!(it, Operand::Text(text) if text.starts_with("SR_") && !UNIFORM.contains(&text.as_str()));
    match latency(one) {
        // Each lane has local memory of its own, which a generic address may lead to.
        Latency::Variable { .. } if OWN.contains(&one.name.head()) => false,
        Latency::Variable { .. } => !one.operands.iter().any(special),
        Latency::Fixed(_) | Latency::Branch | Latency::Meeting => true,
        Latency::Uniform | Latency::Product | Latency::Products | Latency::Group | Latency::Serial => {
            one.written == 0
        }
    }
}

/// The regions with barriers of their own, and those for which there is none.
fn numbered(code: &Code, flow: &Flow, mut regions: Vec<Region>) -> (Vec<(usize, Region)>, Vec<Region>) {
    regions.sort_by_key(|region| std::cmp::Reverse(region.blocks.len()));
    let mut numbered: Vec<(usize, Region)> = Vec::new();
    let mut left = Vec::new();
    for region in regions {
        let touches = |other: &Region| {
            other.join == region.join
                || other.blocks.contains(&region.join)
                || !other.blocks.is_disjoint(&region.blocks)
        };
        let used: BTreeSet<usize> =
            numbered.iter().filter(|(_, other)| touches(other)).map(|&(number, _)| number).collect();
        match (0..BARRIERS).find(|number| !used.contains(number)) {
            Some(number) if falls_rightly(code, flow, &region) => numbered.push((number, region)),
            _ => left.push(region),
        }
    }
    (numbered, left)
}

/// Writes what regions need, without the lines that are spared.
fn write(code: &mut Code, flow: &Flow, numbered: &[(usize, Region)], spared: &BTreeSet<usize>) {
    // What stands in front of each line; outer regions are opened first and closed last.
    let mut front: BTreeMap<usize, Vec<Line>> = BTreeMap::new();
    let mut closes: BTreeMap<usize, Vec<Line>> = BTreeMap::new();
    let mut meetings = Vec::new();
    let text = |number: usize| Operand::Text(format_smolstr!("B{number}"));
    for (number, region) in numbered {
        let meeting = code.label();
        let join = flow.blocks[region.join].lines.start;
        meetings.push(meeting);
        // Both are for the branch.
        let origin = match &code.lines[region.at] {
            Line::Instruction(branch) => branch.origin,
            Line::Label(_) => None,
        };
        let instruction = |name: &str, operands| {
            Line::Instruction(Instruction { name: name.into(), operands, origin, ..Instruction::default() })
        };
        let bssy = instruction("BSSY", vec![text(*number), Operand::Target(meeting)]);
        let bsync = instruction("BSYNC", vec![text(*number)]);
        front.entry(region.at).or_default().push(bssy);
        let close = closes.entry(join).or_default();
        close.splice(0..0, [Line::Label(meeting), bsync]);
    }
    // Those of a region lead to where it ends, the inner ones first.
    for ((_, region), &meeting) in numbered.iter().zip(&meetings).rev() {
        if let Line::Label(old) = code.lines[flow.blocks[region.join].lines.start] {
            retarget(code, flow, region, old, meeting);
        }
    }
    let lines = std::mem::take(&mut code.lines);
    for (at, line) in lines.into_iter().enumerate() {
        code.lines.extend(closes.remove(&at).into_iter().flatten());
        code.lines.extend(front.remove(&at).into_iter().flatten());
        if !spared.contains(&at) {
            code.lines.push(line);
        }
    }
}

/// Whether the block above the end of a region falls into that from within, or not at all.
fn falls_rightly(code: &Code, flow: &Flow, region: &Region) -> bool {
    let Some(above) = region.join.checked_sub(1) else { return false };
    let falls = match code.lines[flow.blocks[above].lines.clone()].last() {
        Some(Line::Instruction(last)) if ["BRA", "EXIT"].contains(&last.name.as_str()) => {
            last.guard.is_some()
        }
        _ => true,
    };
    let opens = flow.blocks[above].lines.end == region.at + 1;
    !falls || region.blocks.contains(&above) || opens
}

/// Lets branches of a region, and the one that opens it, lead to its end.
fn retarget(code: &mut Code, flow: &Flow, region: &Region, old: Label, new: Label) {
    let inside = region.blocks.iter().flat_map(|&block| flow.blocks[block].lines.clone());
    for at in inside.chain([region.at]).collect::<Vec<_>>() {
        if let Line::Instruction(one) = &mut code.lines[at] {
            for operand in &mut one.operands {
                if *operand == Operand::Target(old) && one.name == "BRA" {
                    *operand = Operand::Target(new);
                }
            }
        }
    }
}
