//! CTA barriers: what is live waits in the row's frame until all rows are there.

use super::text::Kind;
use super::{Emitter, context};
use crate::Refusal;
use crate::class::Class;
use crate::divergence::Bits;
use crate::order::successors;
use ir::instruction::Op;
use ir::operand::Value;
use ir::{Access, BlockId};
use ptx::module::RegId;

/// Barriers of a CTA.
const BARRIERS: u64 = 16;

impl Emitter<'_> {
    /// Whether a barrier is the same at all sites: rows of a CTA may then stand at different ones.
    pub(super) fn is_only_barrier(&self, barrier: Value) -> bool {
        let others = self.function.instructions.iter().flatten();
        let mut others = others.filter_map(|i| match &i.op {
            Op::BarSync(bar) => Some(bar.a),
            _ => None,
        });
        matches!(barrier, Value::Constant(number) if number < BARRIERS)
            && others.all(|other| other == barrier)
    }

    /// The row waits here for all others.
    pub(super) fn barrier(&mut self, index: u32) -> Result<(), Refusal> {
        self.barriers += 1;
        let number = self.barriers;
        let live = self.live_behind(index);
        let mask = self.text.int(1, Kind::Vector);
        let width = self.rows.width;
        let mut at = 0;
        let mut parts: Vec<(String, String, usize)> = Vec::new();
        let mut place = |name: String, ty: String, bytes: usize| {
            at = usize::next_multiple_of(at, bytes.min(64));
            parts.push((name, ty, at));
            at += bytes;
        };
        if self.kills || !self.full {
            place("%live".to_owned(), mask, (width / 8) as usize);
        }
        for register in live {
            let (bits, name) = (self.bits_of(register), format!("%r{}", register.index()));
            let vector = self.text.int(bits, Kind::Vector);
            let bytes = (bits as usize).div_ceil(8);
            let whole = (bits * width) as usize / 8;
            match self.class_of(register) {
                Class::Affine(_) => place(name, format!("i{bits}"), bytes),
                Class::Bent { .. } => {
                    place(format!("{name}.last"), "i32".to_owned(), 4);
                    place(name, format!("i{bits}"), bytes);
                }
                Class::Varying | Class::Unknown => place(name, vector, whole),
            }
        }
        self.frame = self.frame.max(at);
        for (name, ty, at) in &parts {
            let value = self.text.value(&format!("load {ty}, ptr {name}"));
            let to = self.text.value(&format!("getelementptr i8, ptr %frame, i64 {at}"));
            self.text.line(&format!("store {ty} {value}, ptr {to}, align {}", align(ty)));
        }
        let place = self.field(context::FUEL);
        let fuel = self.text.value("load i64, ptr %fuel");
        self.text.line(&format!("store i64 {fuel}, ptr {place}"));
        self.text.line(&format!("ret i32 {number}"));
        self.text.begin(&format!("resume{number}"));
        for (name, ty, at) in &parts {
            let from = self.text.value(&format!("getelementptr i8, ptr %frame, i64 {at}"));
            let value = self.text.value(&format!("load {ty}, ptr {from}, align {}", align(ty)));
            self.text.line(&format!("store {ty} {value}, ptr {name}"));
        }
        self.take_mask(self.block);
        Ok(())
    }

    /// The registers whose values matter behind an instruction of the current block.
    fn live_behind(&self, index: u32) -> Vec<RegId> {
        let count = self.function.body.registers.len();
        let mut live = Bits::new(count);
        for to in successors(self.cfg, self.block) {
            self.live.live_in(BlockId(to as u32)).for_each(|register| live.add(register.index()));
        }
        let mut alive: Vec<bool> = (0..count).map(|register| live.has(register)).collect();
        for at in (index + 1..self.cfg.blocks[self.block].end).rev() {
            let mut read = Vec::new();
            self.function.registers(at, &mut |register, access| match access {
                Access::Write => alive[register.index()] = false,
                Access::Read | Access::ReadWrite => read.push(register),
            });
            read.iter().for_each(|register| alive[register.index()] = true);
        }
        (0..count as u32).map(RegId).filter(|register| alive[register.index()]).collect()
    }
}

/// The alignment of a type in a frame.
fn align(ty: &str) -> u32 {
    match ty {
        "i1" | "i8" => 1,
        "i16" => 2,
        "i32" => 4,
        "i64" => 8,
        _ => 4,
    }
}
