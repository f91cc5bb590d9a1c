//! CTA barriers: what is live waits in the row's frame until all rows are there.
//!
//! Each register has one place in the frame. It is written at a barrier only if the register may have changed since the
//! row was last at one, and what nothing reads before the next barrier is not even read. A constant does not wait: it is
//! written anew behind the barrier.
//!
//! A barrier that an order of rows stands for is none here ([`crate::phases`]).
//!
//! Rows may come to a barrier at different places. Where there are several barriers, the host sees whether all rows are at one, and
//! describes the fault if they are not. A reduction is the sum of what the rows have counted.

use super::text::Kind;
use super::values::Lanes;
use super::{Emitter, context};
use crate::Refusal;
use crate::class::Class;
use crate::constants::State;
use crate::divergence::Bits;
use crate::llvm::has_masks;
use crate::order::successors;
use crate::phases::live_behind;
use ir::Access;
use ir::instruction::{BarRedOp, Op};
use ir::operand::{Def, Value};
use ptx::module::RegId;

/// A place where rows wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    /// Which barrier of the CTA it is.
    pub(crate) number: u32,
    pub(crate) instruction: u32,
}

/// Barriers of a CTA.
const BARRIERS: u64 = 16;

impl Emitter<'_> {
    /// A barrier of all threads, at which all lanes of a row are together.
    pub(super) fn barrier(&mut self, op: &Op) -> Result<(), Refusal> {
        let (barrier, threads) = match op {
            Op::BarSync(bar) => (bar.a, bar.b),
            Op::BarRed(bar) => (bar.a, bar.b),
            _ => return Err(Refusal::Barrier),
        };
        let together = self.guard.is_none() && !self.divergence.divergent[self.block];
        let number = match barrier {
            Value::Constant(number) if number < BARRIERS && threads.is_none() && together => number as u32,
            _ => return Err(Refusal::Barrier),
        };
        if self.phases.passes(self.index) {
            return Ok(());
        }
        // A row that is alone waits for nobody.
        let is_alone = self.rows.are_one();
        if !is_alone {
            self.barriers.push(Barrier { number, instruction: self.index });
        }
        // Which threads a row has is in its frame; the host counts whole rows.
        if self.kills && self.barriers.iter().any(|other| other.number != number) {
            return Err(Refusal::Barrier);
        }
        let Op::BarRed(red) = op else { return if is_alone { Ok(()) } else { self.wait_for_rows() } };
        let votes = self.predicate(&red.c)?;
        let (bit, mask, votes) = (self.text.int(1, Kind::Vector), self.mask.clone(), self.vector(&votes));
        let votes = self.text.value(&format!("and {bit} {votes}, {mask}"));
        self.intrinsic("declare i32 @llvm.ctpop.i32(i32)");
        let [votes, voters] = [votes, mask].map(|lanes| {
            let lanes = self.text.mask_bits(&lanes);
            self.text.value(&format!("call i32 @llvm.ctpop.i32(i32 {lanes})"))
        });
        let [votes, voters] = match is_alone {
            true => [votes, voters],
            false => self.counted_by_all(votes, voters)?,
        };
        let result = match red.op {
            None => Lanes::uniform(32, votes),
            Some(BarRedOp::And) => {
                Lanes::uniform(1, self.text.value(&format!("icmp eq i32 {votes}, {voters}")))
            }
            Some(BarRedOp::Or) => Lanes::uniform(1, self.text.value(&format!("icmp ne i32 {votes}, 0"))),
        };
        self.write(red.d.or(red.p).unwrap_or(Def(None)), result, false)
    }

    /// The sums over all rows of what each has counted, once all are there.
    fn counted_by_all(&mut self, votes: String, voters: String) -> Result<[String; 2], Refusal> {
        self.counts_votes = true;
        for (count, field) in [(votes, context::VOTES), (voters, context::VOTERS)] {
            let place = self.field(field);
            let before = self.text.value(&format!("load i32, ptr {place}"));
            let all = self.text.value(&format!("add i32 {before}, {count}"));
            self.text.line(&format!("store i32 {all}, ptr {place}"));
        }
        self.wait_for_rows()?;
        Ok([context::ALL_VOTES, context::ALL_VOTERS].map(|field| {
            let place = self.field(field);
            self.text.value(&format!("load i32, ptr {place}"))
        }))
    }

    /// The row waits here for all others.
    fn wait_for_rows(&mut self) -> Result<(), Refusal> {
        let (index, number) = (self.index, self.barriers.len());
        let (live, changed) = (self.live_behind(index), self.changed_before(index));
        // Name, type, place, and whether it is to be stored.
        let mut parts: Vec<(String, String, usize, bool)> = Vec::new();
        if self.kills || !self.full {
            let mask = self.text.int(1, Kind::Vector);
            parts.push(("%live".to_owned(), mask, self.home("%live", self.rows.width), true));
        }
        let state = self.constants_before(index);
        let mut constants = Vec::new();
        for register in live {
            if let Some(value) = self.waits_nowhere(&state, register) {
                constants.push((register, value));
                continue;
            }
            let is_stored = changed.has(register.index());
            for (name, ty, bytes) in self.slots_of(register) {
                let home = self.home(&name, bytes);
                parts.push((name, ty, home, is_stored));
            }
        }
        for (name, ty, at, _) in parts.iter().filter(|(.., is_stored)| *is_stored) {
            let value = self.text.value(&format!("load {ty}, ptr {name}"));
            self.store_home(*at, ty, value);
        }
        self.text.end_turn(number as i32);
        self.text.begin(&super::turns::start(number));
        for (name, ty, at, _) in &parts {
            let value = self.load_home(*at, ty);
            self.text.line(&format!("store {ty} {value}, ptr {name}"));
        }
        for (register, value) in constants {
            let bits = self.bits_of(register);
            let (ty, value) =
                (self.text.int(bits, Kind::Vector), self.text.constant(value, bits, Kind::Vector));
            self.text.line(&format!("store {ty} {value}, ptr %r{}", register.index()));
        }
        self.take_mask(self.block);
        Ok(())
    }

    /// Stores a slot's value in the frame: masks as a byte a lane where the host has no registers for bits, since taking bits apart is an
    /// instruction or two a lane there.
    fn store_home(&mut self, at: usize, ty: &str, mut value: String) {
        let (mut stored, bytes) = (ty.to_owned(), self.text.int(8, Kind::Vector));
        if self.is_spread(ty) {
            value = self.text.value(&format!("sext {ty} {value} to {bytes}"));
            stored = bytes;
        }
        let to = self.text.value(&format!("getelementptr i8, ptr %frame, i64 {at}"));
        self.text.line(&format!("store {stored} {value}, ptr {to}, align {}", align(&stored)));
    }

    /// What [`Self::store_home`] has stored.
    fn load_home(&mut self, at: usize, ty: &str) -> String {
        let bytes = self.text.int(8, Kind::Vector);
        let stored = if self.is_spread(ty) { &bytes } else { ty };
        let from = self.text.value(&format!("getelementptr i8, ptr %frame, i64 {at}"));
        let value = self.text.value(&format!("load {stored}, ptr {from}, align {}", align(stored)));
        match self.is_spread(ty) {
            true => self.text.value(&format!("icmp slt {bytes} {value}, zeroinitializer")),
            false => value,
        }
    }

    /// Whether values of a type are masks that take a byte a lane in the frame.
    fn is_spread(&self, ty: &str) -> bool {
        !has_masks() && ty == self.text.int(1, Kind::Vector)
    }

    /// The place of a slot in the frame.
    fn home(&mut self, slot: &str, bytes: u32) -> usize {
        let bytes = (bytes as usize).next_power_of_two();
        if let Some(&home) = self.homes.get(slot) {
            return home;
        }
        let home = self.frame.next_multiple_of(bytes.min(64));
        self.frame = home + bytes;
        self.homes.insert(slot.to_owned(), home);
        home
    }

    /// The registers that may have changed since the row was last at a barrier, before an instruction of the current block.
    fn changed_before(&mut self, index: u32) -> Bits {
        if self.changed.is_empty() {
            self.changed = self.changed_in();
        }
        let mut changed = self.changed[self.block].clone();
        self.change(&mut changed, self.block, index);
        changed
    }

    /// The same where blocks begin.
    fn changed_in(&self) -> Vec<Bits> {
        let registers = self.function.body.registers.len();
        let mut changed = vec![Bits::new(registers); self.cfg.blocks.len()];
        (0..registers).for_each(|register| changed[0].add(register));
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for &block in &self.order.blocks {
                let mut out = changed[block].clone();
                self.change(&mut out, block, self.cfg.blocks[block].end);
                for to in successors(self.cfg, block) {
                    let before = changed[to].clone();
                    changed[to].extend(&out);
                    goes_on |= changed[to] != before;
                }
            }
        }
        changed
    }

    /// From the start of a block to an instruction of it. What has not been written at a barrier may have changed.
    fn change(&self, changed: &mut Bits, block: usize, end: u32) {
        let mut state = self.constants().enter(block);
        for index in self.cfg.blocks[block].first..end {
            let Some(instruction) = self.function.instruction(index) else { continue };
            if instruction.op.effects().barrier.is_some() && !self.phases.passes(index) {
                let registers = self.function.body.registers.len();
                *changed = Bits::new(registers);
                let unwritten = |&register: &RegId| self.waits_nowhere(&state, register).is_some();
                let unwritten = (0..registers as u32).map(RegId).filter(unwritten);
                unwritten.for_each(|register| changed.add(register.index()));
            }
            state.follow(self.function, instruction);
            instruction.registers(&mut |register, access| {
                if access != Access::Read {
                    changed.add(register.index());
                }
            });
        }
    }

    /// The constant of a register that takes a vector, if it is one.
    fn waits_nowhere(&self, state: &State, register: RegId) -> Option<i64> {
        let value = state.of(register).map(|value| value as i64);
        let bits = self.bits_of(register);
        let is_vector = matches!(self.class_of(register), Class::Varying | Class::Unknown);
        value.filter(|_| is_vector && matches!(bits, 8 | 16 | 32 | 64))
    }

    /// The registers with slots whose values matter behind an instruction of the current block.
    fn live_behind(&self, index: u32) -> Vec<RegId> {
        let alive = live_behind(self.function, self.cfg, self.live, (self.block, index));
        let is_kept = |id: &RegId| !self.linears.has(*id);
        alive.iter().map(|register| RegId(register as u32)).filter(is_kept).collect()
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
