//! Extended-precision integer arithmetic: sums and products that take in the carry of those before them, and give out their own.
//!
//! The carry of each lane is in a slot. It is one only within a block: a compiler writes chains, and what they are made of stands
//! together. Where an instruction takes in what none before it in its block has given out, or a barrier is between, all
//! such instructions of the kernel are the machine's, which has the carry bit in its frame.

use super::Emitter;
use super::integer::product;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use ir::instruction::{Mul24Mode, MulIntMode, Op};
use ir::operand::{Def, Value};
use ir::{Cfg, Function};
use ptx::types::ScalarType;

/// The slot.
pub(super) const SLOT: &str = "%carry";

/// An instruction with a carry in or out: `d` = what is made of the operands, and the carry.
struct Extended<'a> {
    d: Def,
    ty: ScalarType,
    a: &'a Value,
    b: &'a Value,
    how: How<'a>,
    /// What is taken in, if that is known: else what is in the slot.
    first: Option<bool>,
    /// Whether the carry is given out.
    out: bool,
}

/// What is added up.
enum How<'a> {
    /// `a + b`.
    Sum,
    /// `a` and the complement of `b`: the carry is set where nothing is borrowed.
    Difference,
    /// A half of `a * b`, and another value.
    Product(Mul24Mode, &'a Value),
}

fn extended(op: &Op) -> Option<Extended<'_>> {
    use How::{Difference, Product, Sum};
    Some(match op {
        Op::AddCarryOut(i) => {
            Extended { d: i.d, ty: i.ty, a: &i.a, b: &i.b, how: Sum, first: Some(false), out: true }
        }
        Op::AddCarryIn(i) => {
            Extended { d: i.d, ty: i.ty, a: &i.a, b: &i.b, how: Sum, first: None, out: i.cc }
        }
        Op::SubBorrowOut(i) => {
            Extended { d: i.d, ty: i.ty, a: &i.a, b: &i.b, how: Difference, first: Some(true), out: true }
        }
        Op::SubBorrowIn(i) => {
            Extended { d: i.d, ty: i.ty, a: &i.a, b: &i.b, how: Difference, first: None, out: i.cc }
        }
        Op::MadCarryOut(i) => {
            let how = Product(i.mode, &i.c);
            Extended { d: i.d, ty: i.ty, a: &i.a, b: &i.b, how, first: Some(false), out: true }
        }
        Op::MadCarryIn(i) => {
            let how = Product(i.mode, &i.c);
            Extended { d: i.d, ty: i.ty, a: &i.a, b: &i.b, how, first: None, out: i.cc }
        }
        _ => return None,
    })
}

/// Whether every carry that is taken in was given out before it in its block, by instructions that all have code here.
pub(super) fn has_chains(function: &Function<'_>, cfg: &Cfg) -> bool {
    cfg.blocks.iter().all(|block| {
        let mut given = false;
        (block.first..block.end).filter_map(|index| function.instruction(index)).all(|instruction| {
            let effects = instruction.op.effects();
            if effects.barrier.is_some() {
                given = false;
            }
            let Some(extended) = extended(&instruction.op) else { return true };
            let is_known = !effects.state.reads_carry || given;
            given |= effects.state.writes_carry;
            is_known && extended.ty.bits() >= 32
        })
    })
}

impl Emitter<'_> {
    /// An instruction of this chapter; `false` if it is not, or is the machine's.
    pub(super) fn carry(&mut self, op: &Op) -> Result<bool, Refusal> {
        let Some(extended) = extended(op).filter(|_| self.has_chains) else { return Ok(false) };
        let Extended { d, ty, a, b, how, first, out } = extended;
        let bits = ty.bits();
        let (int, bit) = (self.text.int(bits, Kind::Vector), self.text.int(1, Kind::Vector));
        let source = |e: &mut Self, value: &Value| -> Result<String, Refusal> {
            let lanes = e.read(value, bits)?;
            Ok(e.vector(&lanes))
        };
        let (mut x, mut y) = (source(self, a)?, source(self, b)?);
        match how {
            How::Sum => {}
            How::Difference => {
                let ones = self.text.constant(-1, bits, Kind::Vector);
                y = self.text.value(&format!("xor {int} {y}, {ones}"));
            }
            How::Product(mode, addend) => {
                let half = match mode {
                    Mul24Mode::Lo => MulIntMode::Lo,
                    Mul24Mode::Hi => MulIntMode::Hi,
                };
                x = product(self, Kind::Vector, half, ty, &x, &y);
                y = source(self, addend)?;
            }
        }
        let mut sum = self.text.value(&format!("add {int} {x}, {y}"));
        let mut over = self.text.value(&format!("icmp ult {int} {sum}, {x}"));
        let old = (first.is_none() || self.guard.is_some())
            .then(|| self.text.value(&format!("load {bit}, ptr {SLOT}")));
        let taken = match first {
            Some(false) => None,
            Some(true) => Some(self.text.constant(1, bits, Kind::Vector)),
            None => old.as_ref().map(|old| self.text.value(&format!("zext {bit} {old} to {int}"))),
        };
        if let Some(taken) = taken {
            let more = self.text.value(&format!("add {int} {sum}, {taken}"));
            let over_again = self.text.value(&format!("icmp ult {int} {more}, {sum}"));
            over = self.text.value(&format!("or {bit} {over}, {over_again}"));
            sum = more;
        }
        if out {
            // Where the guard does not hold, it stays what it was.
            if let (Some(guard), Some(old)) = (self.guard.clone(), old) {
                let guard = self.vector(&guard);
                over = self.text.value(&format!("select {bit} {guard}, {bit} {over}, {bit} {old}"));
            }
            self.text.line(&format!("store {bit} {over}, ptr {SLOT}"));
        }
        self.write(d, Lanes::varying(bits, sum), false)?;
        Ok(true)
    }
}
