//! Arithmetic of a kernel. What follows from numbers is computed by the functions of `numerics`, as folding does; for
//! values that are read there is arithmetic of the test, in whose registers they stand without sign.

use super::memory::window;
use super::specialise::{Builder, Word};
use super::value::{self, Range, mask};
use crate::program::{Arithmetic, Comparison};
use ir::Op;
use ir::choice::is_signed;
use ir::exchange::OperandMut;
use ir::instruction::{MulIntMode, SetIntBool, SetIntCmp, SetpInt};
use ir::lanewise::WordFunction;
use ir::operand::{Def, Value};
use ptx::types::ScalarType;

impl Builder<'_, '_> {
    /// An instruction that only computes.
    pub(super) fn compute(&mut self, op: &Op) -> Result<(), String> {
        if let Some((to, value)) = self.folded(op) {
            return self.assign(to, Word::Number(value));
        }
        match op {
            Op::Mov(mov) => {
                let value = self.word(&mov.a)?;
                self.assign(mov.d, value)
            }
            Op::MovPred(mov) => {
                let value = self.word(&mov.a)?;
                self.assign(mov.d, value)
            }
            Op::Cvta(cvta) => {
                let (a, by) = (self.word(&cvta.a)?, window(cvta.space));
                let by = Word::Number(if cvta.to { by.wrapping_neg() } else { by });
                let value = self.add(a, by, 64)?;
                self.assign(cvta.d, value)
            }
            Op::MovPack(mov) => {
                let bits = mov.ty.bits() / mov.a.len().max(1) as u32;
                let mut all = Word::Number(0);
                for (index, part) in mov.a.iter().enumerate() {
                    let part = self.word(part)?;
                    let part = self.shifted_left(part, index as u32 * bits)?;
                    let range = Range::bits(bits * (index as u32 + 1));
                    all = self.arithmetic(Arithmetic::Or, all, part, range)?;
                }
                self.assign(mov.d, all)
            }
            Op::MovUnpack(mov) => {
                let (bits, whole) = (mov.ty.bits() / mov.d.len().max(1) as u32, self.word(&mov.a)?);
                let mut parts = Vec::new();
                for index in 0..mov.d.len() as u32 {
                    let part = self.shifted_right(whole, index * bits)?;
                    parts.push(self.cut(part, bits)?);
                }
                mov.d.iter().zip(parts).try_for_each(|(to, part)| self.assign(*to, part))
            }
            Op::AddInt(add) if !add.sat => {
                let (a, b) = (self.word(&add.a)?, self.word(&add.b)?);
                let value = self.add(a, b, add.ty.bits())?;
                self.assign(add.d, value)
            }
            Op::SubInt(sub) if !sub.sat => {
                let (a, b) = (self.word(&sub.a)?, self.word(&sub.b)?);
                let value = self.subtract(a, b, sub.ty.bits())?;
                self.assign(sub.d, value)
            }
            Op::NegInt(neg) => {
                let a = self.word(&neg.a)?;
                let value = self.subtract(Word::Number(0), a, neg.ty.bits())?;
                self.assign(neg.d, value)
            }
            Op::MulInt(mul) => {
                let (a, b) = (self.word(&mul.a)?, self.word(&mul.b)?);
                let value = self.multiplied(mul.mode, mul.ty, a, b)?;
                self.assign(mul.d, value)
            }
            Op::MadInt(mad) if !mad.sat => {
                let (a, b, c) = (self.word(&mad.a)?, self.word(&mad.b)?, self.word(&mad.c)?);
                let product = self.multiplied(mad.mode, mad.ty, a, b)?;
                let wide = if mad.mode == MulIntMode::Wide { 2 } else { 1 };
                let value = self.add(product, c, mad.ty.bits() * wide)?;
                self.assign(mad.d, value)
            }
            Op::DivInt(div) => {
                let (a, b) = (self.word(&div.a)?, self.word(&div.b)?);
                let value = self.divided(Arithmetic::DivUnsigned, div.ty, a, b)?;
                self.assign(div.d, value)
            }
            Op::RemInt(rem) => {
                let (a, b) = (self.word(&rem.a)?, self.word(&rem.b)?);
                let value = self.divided(Arithmetic::RemUnsigned, rem.ty, a, b)?;
                self.assign(rem.d, value)
            }
            Op::And(and) => self.bitwise(Arithmetic::And, and.d, [&and.a, &and.b], and.ty),
            Op::Or(or) => self.bitwise(Arithmetic::Or, or.d, [&or.a, &or.b], or.ty),
            Op::Xor(xor) => self.bitwise(Arithmetic::Xor, xor.d, [&xor.a, &xor.b], xor.ty),
            Op::Not(not) => {
                let (a, bits) = (self.word(&not.a)?, not.ty.bits());
                let value =
                    self.arithmetic(Arithmetic::Xor, a, Word::Number(mask(bits)), Range::bits(bits))?;
                self.assign(not.d, value)
            }
            Op::AndPred(and) => self.connected(Arithmetic::And, and.d, [&and.a, &and.b]),
            Op::OrPred(or) => self.connected(Arithmetic::Or, or.d, [&or.a, &or.b]),
            Op::XorPred(xor) => self.connected(Arithmetic::Xor, xor.d, [&xor.a, &xor.b]),
            Op::NotPred(not) => {
                let a = self.predicate(&not.a)?;
                let value = self.logical(Arithmetic::Xor, a, Word::Number(1))?;
                self.assign(not.d, value)
            }
            Op::Shl(shl) => {
                let (a, by) = (self.word(&shl.a)?, self.amount(&shl.b)?);
                let shifted = self.shifted_left(a, by)?;
                let value = self.cut(shifted, shl.ty.bits())?;
                self.assign(shl.d, value)
            }
            Op::Shr(shr) => {
                let (a, by, bits) = (self.word(&shr.a)?, self.amount(&shr.b)?, shr.ty.bits());
                let value = if is_signed(shr.ty) {
                    let (wide, by) = (self.signed(a, bits)?, Word::Number(u64::from(by.min(63))));
                    let shifted = self.arithmetic(Arithmetic::ShiftRightSigned, wide, by, Range::bits(64))?;
                    self.cut(shifted, bits)?
                } else {
                    self.shifted_right(a, by)?
                };
                self.assign(shr.d, value)
            }
            Op::MinInt(min) if !min.relu => self.extreme(Arithmetic::Min, min.d, [&min.a, &min.b], min.ty),
            Op::MaxInt(max) if !max.relu => self.extreme(Arithmetic::Max, max.d, [&max.a, &max.b], max.ty),
            Op::SetpInt(setp) => self.compare(setp),
            Op::Selp(selp) => {
                let (a, b, c) = (self.word(&selp.a)?, self.word(&selp.b)?, self.predicate(&selp.c)?);
                let value = self.selected(a, b, c, selp.ty.bits())?;
                self.assign(selp.d, value)
            }
            Op::CvtInt(cvt) if !cvt.sat => {
                let a = self.word(&cvt.a)?;
                let (from, to) = (cvt.atype.bits(), cvt.dtype.bits());
                let a = self.cut(a, from)?;
                let value = if is_signed(cvt.atype) && to > from {
                    self.sign_extended(a, from, to)?
                } else {
                    self.cut(a, to)?
                };
                // A wider register gets the result's sign.
                let register = cvt.d.0.map_or(to, |register| self.bits(register));
                let signed = is_signed(cvt.dtype) && register > to;
                let value = if signed { self.sign_extended(value, to, register)? } else { value };
                self.assign(cvt.d, value)
            }
            Op::AddFloat(add) if add.ty == ScalarType::F32 && !add.sat && add.rnd.is_none_or(is_nearest) => {
                let (a, b) = (self.word(&add.a)?, self.word(&add.b)?);
                let value = self.arithmetic(Arithmetic::AddF32, a, b, Range::bits(32))?;
                self.assign(add.d, value)
            }
            op => Err(format!("`{}` of values that are read is not understood", op.sem().text())),
        }
    }

    /// What an instruction computes of numbers alone.
    fn folded(&self, op: &Op) -> Option<(Def, u64)> {
        let mut known = ir::Instruction { guard: None, op: op.clone() };
        known.operands_mut(&mut |operand| {
            if let OperandMut::Read(value) = operand
                && let Ok(Word::Number(bits)) = self.word(value)
            {
                *value = Value::Constant(bits);
            }
        });
        let function = WordFunction::of(&known.op)?;
        let register = function.d.0?;
        Some((function.d, function.of_constants(self.bits(register))?))
    }

    /// The low bits.
    fn cut(&mut self, value: Word, bits: u32) -> Result<Word, String> {
        let range = value.range();
        if range.high <= mask(bits) {
            return Ok(value);
        }
        let by = Word::Number(mask(bits));
        self.arithmetic(Arithmetic::And, value, by, value::common(range, by.range()))
    }

    fn add(&mut self, a: Word, b: Word, bits: u32) -> Result<Word, String> {
        match (a, b) {
            (a, Word::Number(0)) | (Word::Number(0), a) => return Ok(a),
            // A number with a sign is taken away.
            (Word::Number(number), a) | (a, Word::Number(number))
                if number > mask(bits - 1) && mask(bits) - number < a.range().low =>
            {
                return self.subtract(a, Word::Number(mask(bits) - number + 1), bits);
            }
            _ => {}
        }
        let sum = self.arithmetic(Arithmetic::Add, a, b, value::sum(a.range(), b.range()))?;
        self.cut(sum, bits)
    }

    fn subtract(&mut self, a: Word, b: Word, bits: u32) -> Result<Word, String> {
        let (from, by) = (a.range(), b.range());
        let range = match from.low >= by.high {
            true => Range { low: from.low - by.high, high: from.high - by.low, step: from.step.min(by.step) },
            false => Range::bits(64),
        };
        let difference = self.arithmetic(Arithmetic::Sub, a, b, range)?;
        self.cut(difference, bits)
    }

    fn multiplied(&mut self, mode: MulIntMode, ty: ScalarType, a: Word, b: Word) -> Result<Word, String> {
        let bits = ty.bits();
        match mode {
            MulIntMode::Hi => {
                Err("the upper half of a product is not understood of values that are read".into())
            }
            MulIntMode::Lo => {
                let product = self.arithmetic(Arithmetic::Mul, a, b, value::product(a.range(), b.range()))?;
                self.cut(product, bits)
            }
            MulIntMode::Wide => {
                let (a, b) = match is_signed(ty) {
                    true => (self.signed(a, bits)?, self.signed(b, bits)?),
                    false => (a, b),
                };
                let product = self.arithmetic(Arithmetic::Mul, a, b, value::product(a.range(), b.range()))?;
                self.cut(product, bits * 2)
            }
        }
    }

    fn divided(&mut self, operation: Arithmetic, ty: ScalarType, a: Word, b: Word) -> Result<Word, String> {
        let sign = mask(ty.bits() - 1);
        if is_signed(ty) && (a.range().high > sign || b.range().high > sign) {
            return Err("a quotient of values that may be negative is not understood".into());
        }
        let range = match (operation, b) {
            (Arithmetic::RemUnsigned, Word::Number(by)) if by > 0 => Range { low: 0, high: by - 1, step: 1 },
            (Arithmetic::DivUnsigned, Word::Number(by)) if by > 0 => {
                Range { low: a.range().low / by, high: a.range().high / by, step: 1 }
            }
            _ => Range::bits(ty.bits()),
        };
        self.arithmetic(operation, a, b, range)
    }

    fn connected(
        &mut self,
        operation: Arithmetic,
        to: Def,
        [a, b]: [&ir::operand::Predicate; 2],
    ) -> Result<(), String> {
        let (a, b) = (self.predicate(a)?, self.predicate(b)?);
        let value = self.logical(operation, a, b)?;
        self.assign(to, value)
    }

    fn bitwise(
        &mut self,
        operation: Arithmetic,
        to: Def,
        [a, b]: [&Value; 2],
        ty: ScalarType,
    ) -> Result<(), String> {
        let (a, b) = (self.word(a)?, self.word(b)?);
        let range = match operation {
            Arithmetic::And => value::common(a.range(), b.range()),
            _ => Range::bits(64 - a.range().high.max(b.range().high).leading_zeros().min(63)),
        };
        let range = Range { high: range.high.min(mask(ty.bits())), ..range };
        let value = self.arithmetic(operation, a, b, range)?;
        self.assign(to, value)
    }

    fn logical(&mut self, operation: Arithmetic, a: Word, b: Word) -> Result<Word, String> {
        match (operation, a, b) {
            (Arithmetic::And, Word::Number(0), _) | (Arithmetic::And, _, Word::Number(0)) => {
                Ok(Word::Number(0))
            }
            (Arithmetic::Or, Word::Number(1), _) | (Arithmetic::Or, _, Word::Number(1)) => {
                Ok(Word::Number(1))
            }
            _ => self.arithmetic(operation, a, b, Range::bits(1)),
        }
    }

    /// A number of bits to shift by.
    fn amount(&self, value: &Value) -> Result<u32, String> {
        match self.word(value)? {
            Word::Number(by) => Ok((by & mask(32)).min(64) as u32),
            Word::Open(..) => Err("a shift by a value that is read is not understood".into()),
        }
    }

    fn shifted_left(&mut self, value: Word, by: u32) -> Result<Word, String> {
        if by == 0 {
            return Ok(value);
        }
        let range = match 1u64.checked_shl(by) {
            Some(factor) => value::product(value.range(), Word::Number(factor).range()),
            None => Range { low: 0, high: 0, step: 1 },
        };
        self.arithmetic(Arithmetic::ShiftLeft, value, Word::Number(u64::from(by)), range)
    }

    fn shifted_right(&mut self, value: Word, by: u32) -> Result<Word, String> {
        if by == 0 {
            return Ok(value);
        }
        let part = |bound: u64| bound.checked_shr(by).unwrap_or(0);
        let range = Range { low: part(value.range().low), high: part(value.range().high), step: 1 };
        self.arithmetic(Arithmetic::ShiftRight, value, Word::Number(u64::from(by)), range)
    }

    /// A value of some bits as a number of 64 bits with a sign.
    fn signed(&mut self, value: Word, bits: u32) -> Result<Word, String> {
        if bits >= 64 || value.range().high <= mask(bits - 1) {
            return Ok(value);
        }
        let by = Word::Number(u64::from(64 - bits));
        let up = self.arithmetic(Arithmetic::ShiftLeft, value, by, Range::bits(64))?;
        self.arithmetic(Arithmetic::ShiftRightSigned, up, by, Range::bits(64))
    }

    /// A value of some bits, with its sign in more.
    pub(super) fn sign_extended(&mut self, value: Word, from: u32, to: u32) -> Result<Word, String> {
        let wide = self.signed(value, from)?;
        self.cut(wide, to)
    }

    /// The smaller or greater of two.
    fn extreme(
        &mut self,
        operation: Arithmetic,
        to: Def,
        [a, b]: [&Value; 2],
        ty: ScalarType,
    ) -> Result<(), String> {
        let bits = ty.bits();
        let (a, b) = (self.word(a)?, self.word(b)?);
        let (a, b) = self.comparable(a, b, bits, is_signed(ty))?;
        if !is_signed(ty) && bits == 64 && (a.range().high.max(b.range().high) > mask(63)) {
            return Err("the greater of numbers of 64 bits without sign is not understood".into());
        }
        let value = self.arithmetic(operation, a, b, a.range().join(b.range()))?;
        let value = self.cut(value, bits)?;
        self.assign(to, value)
    }

    /// Two values as numbers with a sign, which compare in the same way.
    fn comparable(&mut self, a: Word, b: Word, bits: u32, signed: bool) -> Result<(Word, Word), String> {
        if signed {
            return Ok((self.signed(a, bits)?, self.signed(b, bits)?));
        }
        Ok((a, b))
    }

    fn compare(&mut self, setp: &SetpInt) -> Result<(), String> {
        let (a, b, bits) = (self.word(&setp.a)?, self.word(&setp.b)?, setp.ty.bits());
        let (comparison, signed) = match setp.cmp {
            SetIntCmp::Eq => (Comparison::Eq, false),
            SetIntCmp::Ne => (Comparison::Ne, false),
            SetIntCmp::Lt => (Comparison::Lt, is_signed(setp.ty)),
            SetIntCmp::Le => (Comparison::Le, is_signed(setp.ty)),
            SetIntCmp::Gt => (Comparison::Gt, is_signed(setp.ty)),
            SetIntCmp::Ge => (Comparison::Ge, is_signed(setp.ty)),
            SetIntCmp::Lo => (Comparison::Lt, false),
            SetIntCmp::Ls => (Comparison::Le, false),
            SetIntCmp::Hi => (Comparison::Gt, false),
            SetIntCmp::Hs => (Comparison::Ge, false),
        };
        let (mut a, mut b) = self.comparable(a, b, bits, signed)?;
        let is_order = !matches!(comparison, Comparison::Eq | Comparison::Ne);
        if is_order && !signed && a.range().high.max(b.range().high) > mask(63) {
            let sign = Word::Number(1 << 63);
            a = self.arithmetic(Arithmetic::Xor, a, sign, Range::bits(64))?;
            b = self.arithmetic(Arithmetic::Xor, b, sign, Range::bits(64))?;
        }
        let (low, high) = (a.range(), b.range());
        let apart = low.high < high.low || high.high < low.low;
        let holds = match comparison {
            Comparison::Eq if apart => Word::Number(0),
            Comparison::Ne if apart => Word::Number(1),
            _ => self.arithmetic(Arithmetic::Compare(comparison), a, b, Range::bits(1))?,
        };
        let other = self.logical(Arithmetic::Xor, holds, Word::Number(1))?;
        let (mut p, mut q) = (holds, other);
        if let Some(by) = setp.combine {
            let c = setp.c.as_ref().ok_or("a comparison combined with nothing")?;
            let c = self.predicate(c)?;
            let by = match by {
                SetIntBool::And => Arithmetic::And,
                SetIntBool::Or => Arithmetic::Or,
                SetIntBool::Xor => Arithmetic::Xor,
            };
            (p, q) = (self.logical(by, p, c)?, self.logical(by, q, c)?);
        }
        self.assign(setp.p, p)?;
        setp.q.map_or(Ok(()), |to| self.assign(to, q))
    }

    fn selected(&mut self, a: Word, b: Word, c: Word, bits: u32) -> Result<Word, String> {
        match c {
            Word::Number(0) => return Ok(b),
            Word::Number(_) => return Ok(a),
            Word::Open(..) if a == b => return Ok(a),
            Word::Open(..) => {}
        }
        // `b ^ ((a ^ b) & -c)`: no branch, for none depends on it.
        let all = self.arithmetic(Arithmetic::Sub, Word::Number(0), c, Range::bits(64))?;
        let differ = self.arithmetic(Arithmetic::Xor, a, b, Range::bits(bits))?;
        let change = self.arithmetic(Arithmetic::And, differ, all, Range::bits(bits))?;
        self.arithmetic(Arithmetic::Xor, b, change, a.range().join(b.range()))
    }
}

fn is_nearest(rounding: ir::instruction::AddFloatRnd) -> bool {
    rounding == ir::instruction::AddFloatRnd::Rn
}
