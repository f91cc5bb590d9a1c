//! Loads from shared memory that lie side by side become one of 64 or 128 bits, where the address is known to be aligned for it.
//! Alignment is found for all registers together: what an instruction writes is as aligned as its operands let it be, and a register
//! as the least of what is written to it.

use super::slots;
use crate::allocate::Units;
use crate::code::{Class, Code, Instruction, Line, Operand, Reg};
use crate::schedule::weight;
use rustc_hash::FxHashMap as HashMap;
use smol_str::format_smolstr;
use std::collections::BTreeMap;

/// Most zeros below an address that matter: those of 16 bytes.
const MOST_ZEROS: u32 = 4;

/// Joins what is loaded within each block.
pub(crate) fn join(code: &mut Code) {
    let units = Units::new(code);
    let zeros = zeros(code, &units);
    let mut rows = Vec::new();
    for block in crate::allocate::blocks(code) {
        let mut open = Open::default();
        for at in block.lines.clone() {
            let Line::Instruction(one) = &code.lines[at] else { continue };
            if may_write(one) {
                open.close(&mut rows);
            } else if let Some(load) = open.load(one, at, &units, &zeros) {
                open.loads.entry(load.0).or_default().entry(load.1.offset).or_insert(load.1);
            }
            units.writes(one, &mut |unit| *open.versions.entry(unit).or_default() += 1);
        }
        open.close(&mut rows);
    }
    write(code, rows);
}

/// A load of 4 or 8 bytes.
#[derive(Clone, Copy)]
struct Load {
    line: usize,
    offset: i64,
    to: (Reg, u8),
}

/// The register of an address, how often it had been written, and how many bytes are loaded.
type Base = (u32, usize, u8);

/// Loads that no store has come behind.
#[derive(Default)]
struct Open {
    loads: BTreeMap<(Base, u32), BTreeMap<i64, Load>>,
    versions: HashMap<u32, usize>,
}

impl Open {
    fn load(
        &self,
        one: &Instruction,
        at: usize,
        units: &Units,
        zeros: &[u32],
    ) -> Option<((Base, u32), Load)> {
        let bytes = match one.name.as_str() {
            "LDS" => 4,
            "LDS.64" => 8,
            _ => return None,
        };
        let (Operand::General { reg, part, width, before: "", after: "" }, from) =
            (one.operands.first()?.clone(), one.operands.get(1)?)
        else {
            return None;
        };
        let &Operand::Address { before: "", reg: base, width: 1, beside: "", offset } = from else {
            return None;
        };
        if one.guard.is_some() || width * 4 != bytes {
            return None;
        }
        let unit = units.first[base.0 as usize];
        let version = self.versions.get(&unit).copied().unwrap_or(0);
        let load = Load { line: at, offset, to: (reg, part) };
        Some((((unit, version, bytes), zeros[unit as usize]), load))
    }

    /// Chooses rows among what was loaded.
    fn close(&mut self, rows: &mut Vec<(Vec<Load>, u8)>) {
        for (((_, _, bytes), zeros), loads) in std::mem::take(&mut self.loads) {
            let mut starts: Vec<i64> = loads.keys().copied().collect();
            for size in [16, 8] {
                let count = size / i64::from(bytes);
                if count < 2 || size > 1 << zeros {
                    continue;
                }
                let mut taken = Vec::new();
                for &start in starts.iter().filter(|start| start.rem_euclid(size) == 0) {
                    let row: Vec<Load> = (0..count)
                        .map_while(|index| loads.get(&(start + index * i64::from(bytes))).copied())
                        .collect();
                    if row.len() as i64 == count && !taken.contains(&start) {
                        taken.extend(row.iter().map(|load| load.offset));
                        rows.push((row, bytes));
                    }
                }
                starts.retain(|start| !taken.contains(start));
            }
        }
    }
}

/// Whether what is in shared memory may be another behind an instruction.
fn may_write(one: &Instruction) -> bool {
    let store = ["STS", "ST"].contains(&one.name.head());
    store || weight(one).is_none()
}

/// Writes the rows in place of the first load of each, and copies where the others were.
fn write(code: &mut Code, rows: Vec<(Vec<Load>, u8)>) {
    let mut front: HashMap<usize, Instruction> = HashMap::default();
    let mut instead: HashMap<usize, Vec<Instruction>> = HashMap::default();
    for (row, bytes) in rows {
        let words = bytes / 4;
        let width = row.len() as u8 * words;
        let wide = code.register(Class::General(width), false);
        let first = row.iter().map(|load| load.line).min().unwrap_or_default();
        if let Some(Line::Instruction(one)) = code.lines.get(first) {
            let mut all = one.clone();
            all.name = format_smolstr!("LDS.{}", u32::from(width) * 32).into();
            all.operands[0] = Operand::wide(wide, width);
            if let Operand::Address { offset, .. } = &mut all.operands[1] {
                *offset = row[0].offset;
            }
            front.insert(first, all);
        }
        for (index, load) in row.iter().enumerate() {
            let origin = match &code.lines[load.line] {
                Line::Instruction(one) => one.origin,
                Line::Label(_) => None,
            };
            let part = |word: u8| {
                let from = Operand::part(wide, index as u8 * words + word);
                let operands = vec![Operand::part(load.to.0, load.to.1 + word), from];
                Instruction { name: "MOV".into(), operands, written: 1, origin, ..Instruction::default() }
            };
            instead.insert(load.line, (0..words).map(part).collect());
        }
    }
    for (at, line) in std::mem::take(&mut code.lines).into_iter().enumerate() {
        code.lines.extend(front.remove(&at).map(Line::Instruction));
        match instead.remove(&at) {
            Some(copies) => code.lines.extend(copies.into_iter().map(Line::Instruction)),
            None => code.lines.push(line),
        }
    }
}

/// How many zeros each part of a register has below, at least.
fn zeros(code: &Code, units: &Units) -> Vec<u32> {
    let mut zeros = vec![MOST_ZEROS; units.count];
    let (written, _) = units.counts(code);
    zeros.iter_mut().zip(written).for_each(|(zeros, times)| *zeros = if times == 0 { 0 } else { *zeros });
    loop {
        let mut changed = false;
        for line in &code.lines {
            let Line::Instruction(one) = line else { continue };
            let low = of_result(one, units, &zeros);
            let mut first = true;
            units.writes(one, &mut |unit| {
                let new = if first { low } else { 0 };
                first = false;
                if new < zeros[unit as usize] {
                    zeros[unit as usize] = new;
                    changed = true;
                }
            });
        }
        if !changed {
            return zeros;
        }
    }
}

/// The zeros below the first word that an instruction writes.
fn of_result(one: &Instruction, units: &Units, zeros: &[u32]) -> u32 {
    let of = |slot: usize| {
        let operand = one.operands.get(one.written + slot);
        match operand {
            Some(Operand::General { before: "" | "-", after: "", .. }) => {
                operand.and_then(|it| units.of(it).next()).map_or(0, |unit| zeros[unit as usize])
            }
            Some(Operand::Text(_)) => {
                operand.and_then(slots::constant).map_or(0, |bits| bits.trailing_zeros().min(MOST_ZEROS))
            }
            _ => 0,
        }
    };
    let number = |slot: usize| one.operands.get(one.written + slot).and_then(slots::constant);
    let sum = |a: u32, b: u32| a.saturating_add(b).min(MOST_ZEROS);
    match one.name.as_str() {
        "MOV" => of(0),
        "IADD3" => of(0).min(of(1)).min(of(2)),
        "SEL" => of(0).min(of(1)),
        "LEA" => sum(of(0), number(2).unwrap_or(0)).min(of(1)),
        "SHF.L.U32" => sum(of(0), number(1).unwrap_or(0)),
        "IMAD" | "IMAD.WIDE" | "IMAD.WIDE.U32" => sum(of(0), of(1)).min(of(2)),
        "LOP3.LUT" if number(2) == Some(0) => match number(3) {
            Some(0xc0) => of(0).max(of(1)),
            Some(0xfc | 0x3c) => of(0).min(of(1)),
            _ => 0,
        },
        _ => 0,
    }
}
