//! Registers that are too many: their values stand in the frame. Whoever writes one stores it, whoever reads one loads it, each through a
//! register of its own that lives no longer than that. What is a constant, or a special register that never changes, is made anew
//! where it is read.
//!
//! A value that has just been loaded or stored is read again from its register for a few lines ([`NEAR`]), within a block.

use crate::allocate::{Range, ranges};
use crate::code::{Class, Code, Instruction, Line, Operand, Reg, alignment};
use crate::opcode::Kind;
use debug_info::Origin;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use smol_str::format_smolstr;

/// For how many lines a loaded value is kept.
const NEAR: usize = 6;
/// How much more a round of a loop counts than what is around it.
const PER_LOOP: f64 = 8.0;
/// More loops around one another count no more.
const MOST_NESTED: i32 = 8;
/// Special registers that hold one value as long as a thread lives.
const STEADY: &[&str] = &[
    "SR_TID.X",
    "SR_TID.Y",
    "SR_TID.Z",
    "SR_CTAID.X",
    "SR_CTAID.Y",
    "SR_CTAID.Z",
    "SR_LANEID",
    "SR_CgaCtaId",
];

/// Bytes that are stored and loaded because of this, by the code as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// By stores.
    pub stores: u64,
    /// By loads.
    pub loads: u64,
}

/// Which registers may be spilled, and what that costs.
#[derive(Debug)]
pub(crate) struct Costs(Vec<Option<f64>>);

impl Costs {
    /// Of a kernel's registers, beside those that an earlier round has `made`.
    pub(crate) fn new(code: &Code, made: &HashSet<Reg>) -> Self {
        let fixed = fixed(code);
        let steady = steady(code);
        let depths = depths(code);
        let mut costs: Vec<Option<f64>> = (0..code.registers.len() as u32)
            .map(Reg)
            .map(|reg| {
                (is_general(code, reg) && !fixed.contains(&reg) && !made.contains(&reg)).then_some(0.0)
            })
            .collect();
        for (line, depth) in code.lines.iter().zip(depths) {
            let Line::Instruction(one) = line else { continue };
            for (reg, _, width) in one.operands.iter().filter_map(Operand::register) {
                // Making a constant anew needs no memory.
                let each = if steady.contains_key(&reg) { 0.25 } else { 1.0 };
                if let Some(cost) = &mut costs[reg.0 as usize] {
                    *cost += each * f64::from(width) * PER_LOOP.powi(depth.min(MOST_NESTED));
                }
            }
        }
        Self(costs)
    }

    /// What it costs to spill a register that lives so long: little, where it is seldom named in a long life.
    pub(crate) fn of(&self, reg: Reg, range: Range) -> Option<f64> {
        self.0[reg.0 as usize].map(|cost| cost / f64::from(range.end - range.start + 1))
    }
}

fn is_general(code: &Code, reg: Reg) -> bool {
    matches!(code.registers[reg.0 as usize].class, Class::General(_))
}

/// Registers that must stay what they are: those that are pinned, those that [lanes that meet](crate::select) have in common, and operands of products of
/// warpgroups, beside which no other instruction may stand.
fn fixed(code: &Code) -> HashSet<Reg> {
    let mut fixed = code.pinned().clone();
    let mut meeting = false;
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        meeting |= one.name.starts_with("WARPSYNC.COLLECTIVE");
        let head = one.name.head();
        if meeting || head.ends_with("GMMA") {
            fixed.extend(one.operands.iter().filter_map(Operand::register).map(|(reg, ..)| reg));
        }
        meeting &= one.name != "ENDCOLLECTIVE";
    }
    fixed
}

/// In how many loops each line stands: a branch back closes one.
pub(crate) fn depths(code: &Code) -> Vec<i32> {
    let mut change = vec![0; code.lines.len() + 1];
    let mut placed = HashMap::default();
    for (at, line) in code.lines.iter().enumerate() {
        match line {
            Line::Label(label) => {
                placed.insert(*label, at);
            }
            Line::Instruction(one) if one.name.kind() == Kind::Branch => {
                if let Some(Operand::Target(label)) = one.operands.last()
                    && let Some(&head) = placed.get(label)
                {
                    change[head] += 1;
                    change[at + 1] -= 1;
                }
            }
            Line::Instruction(_) => {}
        }
    }
    let mut depth = 0;
    let mut sum = |change| {
        depth += change;
        depth
    };
    change[..code.lines.len()].iter().map(|&change| sum(change)).collect()
}

/// The registers that always hold the same, and the instructions that write them.
fn steady(code: &Code) -> HashMap<Reg, Vec<Instruction>> {
    let mut writers: HashMap<Reg, Vec<Instruction>> = HashMap::default();
    let mut others = HashSet::default();
    for line in &code.lines {
        let Line::Instruction(one) = line else { continue };
        for (reg, ..) in one.operands[..one.written].iter().filter_map(Operand::register) {
            match is_steady(one) {
                true => writers.entry(reg).or_default().push(one.clone()),
                false => {
                    others.insert(reg);
                }
            }
        }
    }
    writers.retain(|reg, all| {
        let mut parts: Vec<u8> = Vec::new();
        for (_, first, width) in all.iter().filter_map(|one| one.operands[0].register()) {
            parts.extend(first..first + width);
        }
        let count = parts.len();
        parts.sort_unstable();
        parts.dedup();
        !others.contains(reg) && parts.len() == count
    });
    writers
}

fn is_steady(one: &Instruction) -> bool {
    let [_, Operand::Text(from)] = one.operands.as_slice() else { return false };
    let known = match one.name.as_str() {
        "MOV" => from == "RZ" || from.starts_with("0x") || from.starts_with("32@"),
        "S2R" => STEADY.contains(&from.as_str()),
        "LDC" | "LDC.64" => from.starts_with("c[0x0][0x"),
        _ => false,
    };
    known && one.guard.is_none() && one.written == 1
}

/// A part of a spilled register.
type Piece = (Reg, u8, u8);

/// The guard of an instruction, and what it is for.
type Writer = (Option<(Reg, bool)>, Option<Origin>);

/// The code while it is written anew.
struct Spill<'a> {
    code: &'a mut Code,
    lines: Vec<Line>,
    slots: HashMap<Reg, u64>,
    steady: HashMap<Reg, Vec<Instruction>>,
    /// Registers that hold a piece, and since which line.
    near: HashMap<Piece, (Reg, usize)>,
    made: &'a mut HashSet<Reg>,
    traffic: Traffic,
}

/// Puts registers into the frames of their routines, behind what is there. Says which are new, and what is stored and loaded.
pub(crate) fn spill(
    code: &mut Code,
    victims: &HashSet<Reg>,
    frames: &mut [u64],
    made: &mut HashSet<Reg>,
) -> Traffic {
    let mut steady = steady(code);
    steady.retain(|reg, _| victims.contains(reg));
    let slots = slots(code, victims.iter().copied().filter(|reg| !steady.contains_key(reg)), frames);
    if let Some(notes) = &mut code.notes {
        notes.slots.extend(slots.iter().map(|(&reg, &at)| (reg, at)));
    }
    let lines = std::mem::take(&mut code.lines);
    let mut spill = Spill {
        code,
        lines: Vec::new(),
        slots,
        steady,
        near: HashMap::default(),
        made,
        traffic: Traffic::default(),
    };
    for line in lines {
        match line {
            Line::Label(_) => {
                spill.near.clear();
                spill.lines.push(line);
            }
            Line::Instruction(one) => spill.instruction(one),
        }
    }
    spill.code.lines = spill.lines;
    spill.traffic
}

/// A place in its routine's frame for each register; those that live apart may have one together.
fn slots(code: &Code, victims: impl Iterator<Item = Reg>, frames: &mut [u64]) -> HashMap<Reg, u64> {
    let ranges = ranges(code);
    let mut routine = 0;
    let mut of_line = |line| {
        routine += usize::from(code.is_routine(line));
        routine
    };
    let routines: Vec<usize> = code.lines.iter().map(&mut of_line).collect();
    let mut order: Vec<(Range, Reg)> =
        victims.filter_map(|reg| Some((ranges[reg.0 as usize]?, reg))).collect();
    order.sort_unstable_by_key(|(range, reg)| (range.start, reg.0));
    // Until where each place is taken, by routine and size.
    let mut taken: HashMap<(usize, u64), Vec<(u64, u32)>> = HashMap::default();
    let mut slots = HashMap::default();
    for (range, reg) in order {
        let Class::General(width) = code.registers[reg.0 as usize].class else { continue };
        let size = 4 * u64::from(width);
        let routine = routines[range.start as usize / 2];
        let places = taken.entry((routine, size)).or_default();
        let at = match places.iter_mut().find(|(_, end)| *end < range.start) {
            Some((at, end)) => {
                *end = range.end;
                *at
            }
            None => {
                let frame = &mut frames[routine];
                let at = frame.next_multiple_of(4 * u64::from(alignment(width)).min(4));
                *frame = at + size;
                places.push((at, range.end));
                at
            }
        };
        slots.insert(reg, at);
    }
    slots
}

impl Spill<'_> {
    fn is_victim(&self, reg: Reg) -> bool {
        self.slots.contains_key(&reg) || self.steady.contains_key(&reg)
    }

    fn register(&mut self, width: u8) -> Reg {
        let reg = self.code.register(Class::General(width), true);
        self.made.insert(reg);
        reg
    }

    fn instruction(&mut self, mut one: Instruction) {
        let named = |one: &Instruction, written: bool| -> Vec<Piece> {
            let (first, last) = if written { (0, one.written) } else { (one.written, one.operands.len()) };
            one.operands[first..last].iter().filter_map(Operand::register).collect()
        };
        let reads: Vec<Piece> =
            named(&one, false).into_iter().filter(|(reg, ..)| self.is_victim(*reg)).collect();
        let writes: Vec<Piece> =
            named(&one, true).into_iter().filter(|(reg, ..)| self.is_victim(*reg)).collect();
        // What writes a constant is not needed any more: it stands where that is read.
        if writes.iter().any(|(reg, ..)| self.steady.contains_key(reg)) {
            return;
        }
        let mut instead: HashMap<Piece, Reg> = HashMap::default();
        for piece in reads {
            instead.entry(piece).or_insert_with(|| self.loaded(piece, one.origin));
        }
        for &(reg, part, width) in &writes {
            instead.entry((reg, part, width)).or_insert_with(|| self.register(width));
        }
        for operand in &mut one.operands {
            if let Some(to) = operand.register().and_then(|piece| instead.get(&piece)) {
                operand.rename(*to);
            }
        }
        let (guard, origin, ends) =
            (one.guard, one.origin, matches!(one.name.kind(), Kind::Branch | Kind::Call));
        self.lines.push(Line::Instruction(one));
        for piece in writes {
            let (reg, part, width) = piece;
            self.near.retain(|&(known, first, count), _| {
                known != reg || first + count <= part || part + width <= first
            });
            let from = instead[&piece];
            self.store((guard, origin), piece, from);
            if guard.is_none() {
                self.near.insert(piece, (from, self.lines.len()));
            }
        }
        if ends {
            self.near.clear();
        }
    }

    /// A register with a piece, for an instruction that reads it.
    fn loaded(&mut self, piece: Piece, origin: Option<Origin>) -> Reg {
        if let Some(&(reg, since)) = self.near.get(&piece)
            && self.lines.len() - since <= NEAR
        {
            return reg;
        }
        let (reg, part, width) = piece;
        let to = self.register(width);
        if let Some(writers) = self.steady.get(&reg) {
            for mut one in writers.clone() {
                let Some((_, first, count)) = one.operands[0].register() else { continue };
                one.origin = origin;
                if (first, count) == (part, width) {
                    one.operands[0] = Operand::wide(to, width);
                } else if part <= first && first + count <= part + width {
                    one.operands[0] = Operand::row(to, first - part, count);
                } else if first <= part && part + width <= first + count {
                    // All of a pair is made, for one part of it.
                    let all = self.register(count);
                    one.operands[0] = Operand::wide(all, count);
                    self.lines.push(Line::Instruction(one));
                    one = mov(Operand::wide(to, width), Operand::part(all, part - first));
                    one.origin = origin;
                } else {
                    continue;
                }
                self.lines.push(Line::Instruction(one));
            }
        } else {
            for (first, count) in rows(width, self.slots[&reg] + 4 * u64::from(part)) {
                self.traffic.loads += 4 * u64::from(count);
                let from = self.place(reg, part + first);
                let line = Instruction {
                    guard: None,
                    name: format_smolstr!("LDL{}", size(count)).into(),
                    operands: vec![Operand::row(to, first, count), from],
                    written: 1,
                    origin,
                    spills: Some((reg, part + first, count)),
                    mark: 0,
                };
                self.lines.push(Line::Instruction(line));
            }
        }
        self.near.insert(piece, (to, self.lines.len()));
        to
    }

    /// Stores a piece behind what has written it, under its guard.
    fn store(&mut self, (guard, origin): Writer, (reg, part, width): Piece, from: Reg) {
        for (first, count) in rows(width, self.slots[&reg] + 4 * u64::from(part)) {
            self.traffic.stores += 4 * u64::from(count);
            let to = self.place(reg, part + first);
            let line = Instruction {
                guard,
                name: format_smolstr!("STL{}", size(count)).into(),
                operands: vec![to, Operand::row(from, first, count)],
                written: 0,
                origin,
                spills: Some((reg, part + first, count)),
                mark: 0,
            };
            self.lines.push(Line::Instruction(line));
        }
    }

    fn place(&self, reg: Reg, part: u8) -> Operand {
        Operand::in_frame((self.slots[&reg] + 4 * u64::from(part)) as i64)
    }
}

fn mov(to: Operand, from: Operand) -> Instruction {
    let operands = vec![to, from];
    Instruction { name: "MOV".into(), operands, written: 1, ..Instruction::default() }
}

/// The modifier of an access to so many registers.
fn size(count: u8) -> &'static str {
    match count {
        1 => "",
        2 => ".64",
        _ => ".128",
    }
}

/// The rows of a register, and of a place in memory, that one access can move: the first part and how many.
fn rows(width: u8, at: u64) -> Vec<(u8, u8)> {
    let mut rows = Vec::new();
    let mut first = 0;
    while first < width {
        let fits = |count: &u8| {
            first + count <= width
                && first % count == 0
                && (at + 4 * u64::from(first)).is_multiple_of(4 * u64::from(*count))
        };
        let count = [4, 2, 1].into_iter().find(fits).unwrap_or(1);
        rows.push((first, count));
        first += count;
    }
    rows
}
