//! Control codes where an instruction waits for what it needs and no longer. The order stays that of selection.
//!
//! - One of fixed latency says nothing; who reads its result is issued that many cycles later, which the stall count of the
//!   instruction in front of the reader sees to. The numbers are those that [an H200 gave](../../../sass/latencies/sm_90.latency), of all
//!   readers the largest; a guard is read early and so waits longest.
//! - One of variable latency names a scoreboard, four of which are for results and two for operands that are still to be read, in
//!   turns. Who reads or writes what a scoreboard guards waits for it.
//! - All others are serial: they wait for everything, and everything waits for them. Uniform registers, barriers and matrices are among
//!   them.
//!
//! Blocks do not look at one another: the last instruction of one stalls until what has a fixed latency is there, and the first of the
//! next waits for all scoreboards.

use super::{head, name, serial};
use crate::allocate::{Allocation, blocks, operand_units};
use crate::code::{Class, Code, Instruction, Line, Operand, Reg};
use std::collections::HashMap;

/// Instructions of the integer pipe and of that for products and floats: their results are there after 4 or 5 cycles.
const SIMPLE: &[&str] = &[
    "IADD3", "LOP3", "SHF", "MOV", "SEL", "VIMNMX", "PRMT", "LEA", "IABS", "SGXT", "FMNMX", "FSEL", "ISETP",
    "FSETP", "HSETP2", "PLOP3", "IMAD", "IDP", "FADD", "FMUL", "FFMA",
];
/// Of 64-bit floats.
const DOUBLE: &[&str] = &["DADD", "DMUL", "DFMA", "DSETP"];

/// Cycles until a result is read. Of doubles ptxas leaves 10 where other units read them.
const SIMPLE_CYCLES: u64 = 5;
const DOUBLE_CYCLES: u64 = 10;
/// More, if units for 64-bit floats or of variable latency read it: ptxas leaves 6 altogether, and with 5 an H100 read old values.
const MORE_CYCLES: u64 = 1;
/// Until a predicate is read as a guard.
const GUARD_CYCLES: u64 = 14;
/// The most that a stall count can say.
const MOST: u64 = 15;
/// Behind a branch, as ptxas has it.
const BRANCH_STALL: u64 = 5;
/// Between one that sets a scoreboard and who waits for it.
const SCOREBOARD_STALL: u64 = 2;

const RESULT_BOARDS: [usize; 4] = [0, 1, 2, 3];
const OPERAND_BOARDS: [usize; 2] = [4, 5];
const BOARDS: usize = 6;

/// A general register, or from 256 on a predicate.
type Unit = u32;

/// How long an instruction takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Latency {
    Fixed(u64),
    /// A scoreboard says, where there is a result.
    Variable {
        result: bool,
    },
    Branch,
    Serial,
}

fn latency(one: &Instruction) -> Latency {
    let uniform = |operand: &Operand| match operand {
        Operand::Text(text) => text.contains("UR") && text != "URZ" || text.contains("UP"),
        _ => false,
    };
    // What the text alone names is not followed.
    let hidden = |operand: &Operand| matches!(operand, Operand::Text(text) if !["RZ", "PT", "!PT", "URZ"].contains(&text.as_str()));
    let head = head(&one.name);
    match head {
        "BRA" if name(&one.name) == "BRA" => Latency::Branch,
        "EXIT" => Latency::Branch,
        _ if one.operands.iter().any(uniform) || one.operands[..one.written].iter().any(hidden) => {
            Latency::Serial
        }
        _ if SIMPLE.contains(&head) => Latency::Fixed(SIMPLE_CYCLES),
        _ if DOUBLE.contains(&head) => Latency::Fixed(DOUBLE_CYCLES),
        "LDG" | "LD" | "LDS" | "LDL" | "LDC" | "ATOM" | "ATOMG" | "ATOMS" | "MUFU" | "POPC" | "FLO"
        | "BREV" | "I2F" | "F2I" | "F2F" | "FRND" | "S2R" => Latency::Variable { result: true },
        "STG" | "ST" | "STS" | "STL" => Latency::Variable { result: false },
        _ => Latency::Serial,
    }
}

/// Whether an instruction computes registers that all are followed, and does nothing else.
pub(super) fn is_pure(one: &Instruction) -> bool {
    match latency(one) {
        Latency::Fixed(_) => true,
        Latency::Variable { result } => {
            result && !matches!(head(&one.name), "LDG" | "LD" | "LDS" | "LDL" | "ATOM" | "ATOMG" | "ATOMS")
        }
        Latency::Branch | Latency::Serial => false,
    }
}

/// What is still under way, in a block.
#[derive(Default)]
struct Pending {
    now: u64,
    /// When a result of fixed latency can be read, as an operand and as a guard.
    ready: HashMap<Unit, (u64, u64)>,
    /// What each scoreboard guards: results, or operands.
    boards: [Vec<Unit>; BOARDS],
    /// Scoreboards that guard everything.
    all: u8,
    next: (usize, usize),
}

impl Pending {
    /// The scoreboards that a reader of some registers and writer of others waits for.
    fn waits(&mut self, reads: &[Unit], writes: &[Unit]) -> u8 {
        let mut mask = std::mem::take(&mut self.all);
        for (board, guarded) in self.boards.iter_mut().enumerate() {
            let results = RESULT_BOARDS.contains(&board);
            let touched = |unit: &Unit| writes.contains(unit) || results && reads.contains(unit);
            if guarded.iter().any(touched) {
                mask |= 1 << board;
            }
            if mask >> board & 1 == 1 {
                guarded.clear();
            }
        }
        mask
    }

    fn result_board(&mut self) -> usize {
        self.next.0 = (self.next.0 + 1) % RESULT_BOARDS.len();
        RESULT_BOARDS[self.next.0]
    }

    fn operand_board(&mut self) -> usize {
        self.next.1 = (self.next.1 + 1) % OPERAND_BOARDS.len();
        OPERAND_BOARDS[self.next.1]
    }
}

/// A control code while it is made.
#[derive(Clone, Copy)]
struct Control {
    waits: u8,
    operands: Option<usize>,
    results: Option<usize>,
    stall: u64,
}

impl Control {
    fn text(self) -> String {
        let boards: String = (0..BOARDS)
            .map(|board| if self.waits >> board & 1 == 1 { (b'0' + board as u8) as char } else { '-' })
            .collect();
        let board = |board: Option<usize>| board.map_or("-".to_owned(), |board| board.to_string());
        // A long stall needs the bit for it to be 0.
        let long = if self.stall > 11 { "Y" } else { "-" };
        format!("[B{boards}:R{}:W{}:{long}:S{:02}]", board(self.operands), board(self.results), self.stall)
    }
}

/// The control codes of a kernel's lines.
pub(super) fn controls(code: &Code, allocation: &Allocation) -> Vec<String> {
    let unit = |(reg, part): (Reg, u8)| match code.registers[reg.0 as usize].class {
        Class::General(_) => allocation.of(reg) + u32::from(part),
        Class::Predicate => 256 + allocation.of(reg),
    };
    let units =
        |operands: &[Operand]| -> Vec<Unit> { operands.iter().flat_map(operand_units).map(unit).collect() };
    let mut out = vec![String::new(); code.lines.len()];
    for block in blocks(code) {
        let mut pending = Pending { all: 0x3f, ..Pending::default() };
        let mut last: Option<(usize, Control)> = None;
        for at in block.lines.clone() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            let latency = latency(one);
            let guard = one.guard.map(|(reg, _)| unit((reg, 0)));
            let (reads, writes) = (units(&one.operands[one.written..]), units(&one.operands[..one.written]));
            // When its operands are there.
            let mut due = pending.now + 1;
            if latency == Latency::Serial {
                due = pending.ready.values().fold(due, |due, &(_, guard)| due.max(guard));
            }
            let far = DOUBLE.contains(&head(&one.name)) || matches!(latency, Latency::Variable { .. });
            let more = if far { MORE_CYCLES } else { 0 };
            for unit in reads.iter().chain(&writes) {
                due = pending.ready.get(unit).map_or(due, |&(ready, _)| due.max(ready + more));
            }
            if let Some(guard) = guard {
                due = pending.ready.get(&guard).map_or(due, |&(_, ready)| due.max(ready));
            }
            if let Some((before, control)) = &mut last {
                control.stall = control.stall.max(due - pending.now).min(MOST);
                pending.now += control.stall;
                out[*before] = control.text();
            }
            let now = pending.now;
            pending.ready.retain(|_, &mut (_, guard)| guard > now);
            if latency == Latency::Serial {
                let text = serial::control(name(&one.name));
                // It waits for all, and all that follows waits for it.
                let waits = if text.starts_with("[B------") { "[B------" } else { "[B012345" };
                out[at] = format!("{waits}{}", &text[8..]);
                pending.boards.iter_mut().for_each(Vec::clear);
                pending.all = 0x3f;
                pending.ready.clear();
                pending.now = now + MOST;
                last = None;
                continue;
            }
            // Scoreboards guard no guard that has been read: it is among the operands of whoever writes it.
            let asked: Vec<Unit> = reads.iter().copied().chain(guard).collect();
            let mut control =
                Control { waits: pending.waits(&asked, &writes), operands: None, results: None, stall: 1 };
            match latency {
                Latency::Fixed(cycles) => {
                    for &unit in &writes {
                        let guard = if unit >= 256 { now + GUARD_CYCLES } else { now + cycles };
                        pending.ready.insert(unit, (now + cycles, guard));
                    }
                }
                Latency::Variable { result } => {
                    control.stall = SCOREBOARD_STALL;
                    if result && !writes.is_empty() {
                        let board = pending.result_board();
                        pending.boards[board].extend(&writes);
                        control.results = Some(board);
                    } else if result {
                        // Without a result it is followed all the same.
                        control.results = Some(pending.result_board());
                    }
                    if !reads.is_empty() {
                        let board = pending.operand_board();
                        pending.boards[board].extend(&reads);
                        control.operands = Some(board);
                    }
                }
                Latency::Branch => control.stall = BRANCH_STALL,
                Latency::Serial => {}
            }
            last = Some((at, control));
        }
        if let Some((at, mut control)) = last {
            // What is under way must be there for the next block, whichever that is.
            let due = pending.ready.values().map(|&(_, guard)| guard).max().unwrap_or(0);
            control.stall = control.stall.max(due.saturating_sub(pending.now)).min(MOST);
            out[at] = control.text();
        }
    }
    out
}
