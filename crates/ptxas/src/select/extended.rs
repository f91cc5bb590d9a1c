//! Integer instructions that are rare: saturating sums, products of 24 bits, fields of 64 bits, multiplication with carry.

use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Def, Value};
use ptx::types::{ScalarType, TypeKind};

fn signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}

impl Select<'_> {
    pub(super) fn rare_integers(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::AddInt(op) => self.saturating(op.d, &op.a, &op.b, false),
            Op::SubInt(op) => self.saturating(op.d, &op.a, &op.b, true),
            Op::MadInt(op) => self.saturating_product(op),
            Op::Mul24(op) => self.product24(op.mode, op.ty, (op.d, &op.a, &op.b), None),
            Op::Mad24(op) => self.product24(op.mode, op.ty, (op.d, &op.a, &op.b), Some((&op.c, op.sat))),
            Op::Slct(op) => self.slct(op),
            Op::Cnot(op) => self.cnot(op),
            Op::MadCarryOut(op) => {
                self.carried_product((op.mode, op.ty), op.d, [&op.a, &op.b, &op.c], false, true)
            }
            Op::MadCarryIn(op) => {
                self.carried_product((op.mode, op.ty), op.d, [&op.a, &op.b, &op.c], true, op.cc)
            }
            Op::Dp2a(op) => self.dot_of_halves(op),
            Op::Bmsk(op) => self.mask(op),
            Op::Szext(op) => self.sign_extend(op),
            Op::Bfe(op) => self.extract64(op),
            Op::Bfi(op) => self.insert64(op),
            Op::Testp(op) => self.testp(op),
            Op::Sad(op) => self.sad64(op),
            Op::Fns(op) => self.find_nth_set(op),
            _ => return None,
        })
    }

    fn saturating(&mut self, d: Def, a: &Value, b: &Value, minus: bool) -> Done {
        let (a, b) = (self.word(a)?, self.word(b)?);
        let result = self.saturated_sum(a, b, minus);
        self.set(d, result);
        Ok(())
    }

    /// A sum whose sign is wrong becomes the extreme on the side of `a`.
    pub(super) fn saturated_sum(&mut self, a: Operand, b: Operand, minus: bool) -> Reg {
        let sum = self.add(a.clone(), if minus { b.clone().signed("-") } else { b.clone() });
        let changed = self.lop(a.clone(), Operand::low(sum), 0x3c);
        let with = if minus { a.clone() } else { Operand::low(sum) };
        let other = self.lop(with, b, 0x3c);
        let wrong = self.lop(Operand::low(changed), Operand::low(other), 0xc0);
        let overflow = self.compare("ISETP.LT.AND", Operand::low(wrong), Operand::zero());
        let sign = self.one("SHF.R.S32.HI", vec![Operand::zero(), Operand::number(31), a]);
        let extreme = self.lop(Operand::low(sign), Operand::number(0x7fff_ffff), 0x3c);
        self.select_word(Operand::low(extreme), Operand::low(sum), overflow, false)
    }

    fn saturating_product(&mut self, op: &i::MadInt) -> Done {
        let (a, b, c) = (self.word(&op.a)?, self.word(&op.b)?, self.word(&op.c)?);
        let high = self.one("IMAD.HI", vec![a, b, Operand::zero()]);
        let result = self.saturated_sum(Operand::low(high), c, false);
        self.set(op.d, result);
        Ok(())
    }

    fn product24(
        &mut self,
        mode: i::Mul24Mode,
        ty: ScalarType,
        (d, a, b): (Def, &Value, &Value),
        c: Option<(&Value, bool)>,
    ) -> Done {
        let kind = if signed(ty) { "" } else { ".U32" };
        let mut factor = |value: &Value| -> Result<Operand, Refusal> {
            let word = self.word(value)?;
            Ok(Operand::low(self.one(format!("SGXT{kind}"), vec![word, Operand::number(24)])))
        };
        let (a, b) = (factor(a)?, factor(b)?);
        let product = match mode {
            i::Mul24Mode::Lo => self.mad(a, b, Operand::zero()),
            i::Mul24Mode::Hi => {
                let both = self.pair(format!("IMAD.WIDE{kind}"), vec![a, b, Operand::zero()]);
                let read = vec![Operand::part(both, 0), Operand::number(16), Operand::part(both, 1)];
                self.one("SHF.R.U32", read)
            }
        };
        let result = match c {
            None => product,
            Some((c, saturates)) => {
                let c = self.word(c)?;
                if saturates {
                    self.saturated_sum(Operand::low(product), c, false)
                } else {
                    self.add(Operand::low(product), c)
                }
            }
        };
        self.set(d, result);
        Ok(())
    }

    /// The low or high half of a product, as a term of a sum with carry.
    fn carried_product(
        &mut self,
        (mode, ty): (i::Mul24Mode, ScalarType),
        d: Def,
        [a, b, c]: [&Value; 3],
        takes: bool,
        gives: bool,
    ) -> Done {
        let low = mode == i::Mul24Mode::Lo;
        if ty.bits() == 64 {
            let (a, b, c) = (self.double(a)?, self.double(b)?, self.double(c)?);
            let product = if low { self.multiply64(a, b) } else { self.high64(a, b, signed(ty)) };
            return self.carried_sum(d, Operand::wide(product, 2), Operand::wide(c, 2), takes, gives);
        }
        let (a, b, c) = (self.extended(a, ty)?, self.extended(b, ty)?, self.word(c)?);
        let kind = if signed(ty) { "" } else { ".U32" };
        let name = if low { "IMAD".to_owned() } else { format!("IMAD.HI{kind}") };
        let product = self.one(name, vec![a, b, Operand::zero()]);
        self.carried_sum(d, Operand::low(product), c, takes, gives)
    }

    fn dot_of_halves(&mut self, op: &i::Dp2a) -> Done {
        let (a, b, c) = (self.word(&op.a)?, self.word(&op.b)?, self.word(&op.c)?);
        let letter = |ty| if signed(ty) { "S" } else { "U" };
        let half = if op.mode == i::Mul24Mode::Lo { "LO" } else { "HI" };
        let name = format!("IDP.2A.{half}.{}16.{}8", letter(op.atype), letter(op.btype));
        let result = self.one(name, vec![a, b, c]);
        self.set(op.d, result);
        Ok(())
    }

    fn slct(&mut self, op: &i::Slct) -> Done {
        let c = self.word(&op.c)?;
        let positive = match op.ctype {
            ScalarType::F32 => {
                let name = if op.ftz { "FSETP.GE.FTZ.AND" } else { "FSETP.GE.AND" };
                self.compare(name, c, Operand::zero())
            }
            _ => self.compare("ISETP.GE.AND", c, Operand::zero()),
        };
        let result = if op.dtype.bits() == 64 {
            let (a, b) = (self.double(&op.a)?, self.double(&op.b)?);
            self.select_double(a, b, positive, false)
        } else {
            let (a, b) = (self.word(&op.a)?, self.word(&op.b)?);
            self.select_word(a, b, positive, false)
        };
        self.set(op.d, result);
        Ok(())
    }

    fn cnot(&mut self, op: &i::Cnot) -> Done {
        let bits = match op.ty.bits() {
            64 => {
                let a = self.double(&op.a)?;
                Operand::low(self.lop(Operand::part(a, 0), Operand::part(a, 1), 0xfc))
            }
            _ => self.extended(&op.a, op.ty)?,
        };
        let none = self.compare("ISETP.EQ.U32.AND", bits, Operand::zero());
        let one = self.constant(1);
        let low = self.select_word(one, Operand::zero(), none, false);
        let result = if op.ty.bits() == 64 { self.join(Operand::low(low), Operand::zero()) } else { low };
        self.set(op.d, result);
        Ok(())
    }

    fn mask(&mut self, op: &i::Bmsk) -> Done {
        let (a, b) = (self.word(&op.a)?, self.word(&op.b)?);
        let name = if op.mode == i::SzextMode::Wrap { "BMSK.W" } else { "BMSK" };
        let result = self.one(name, vec![a, b]);
        self.set(op.d, result);
        Ok(())
    }

    fn sign_extend(&mut self, op: &i::Szext) -> Done {
        let (a, b) = (self.word(&op.a)?, self.word(&op.b)?);
        let wrap = if op.mode == i::SzextMode::Wrap { ".W" } else { "" };
        let kind = if signed(op.ty) { "" } else { ".U32" };
        let result = self.one(format!("SGXT{wrap}{kind}"), vec![a, b]);
        self.set(op.d, result);
        Ok(())
    }

    /// Shifted up so that the field's highest bit stands at the top, and down again. What is above the number is its sign.
    /// Unlike those of 32 bits, an H200 takes all of position and length, not their lowest bytes.
    fn extract64(&mut self, op: &i::Bfe) -> Done {
        let a = self.double(&op.a)?;
        let (position, length) = (self.word(&op.b)?, self.word(&op.c)?);
        let moved = self.shift64(a, position, false, signed(op.ty));
        let limit = self.constant(64);
        let length = self.one("VIMNMX.U32", vec![length, limit.clone(), Operand::always(false)]);
        let rest = self.add(limit, Operand::low(length).signed("-"));
        let top = self.shift64(moved, Operand::low(rest), true, false);
        let field = self.shift64(top, Operand::low(rest), false, signed(op.ty));
        let empty = self.compare("ISETP.EQ.U32.AND", Operand::low(length), Operand::zero());
        let nothing = self.constant64(0);
        let result = self.select_double(nothing, field, empty, false);
        self.set(op.d, result);
        Ok(())
    }

    fn insert64(&mut self, op: &i::Bfi) -> Done {
        let (a, b) = (self.double(&op.a)?, self.double(&op.b)?);
        let (position, length) = (self.word(&op.c)?, self.word(&op.e)?);
        let ones = self.constant64(u64::MAX);
        let above = self.shift64(ones, length, true, false);
        let low = self.lop(Operand::part(above, 0), Operand::zero(), 0x0f);
        let high = self.lop(Operand::part(above, 1), Operand::zero(), 0x0f);
        let field = self.join(Operand::low(low), Operand::low(high));
        let mask = self.shift64(field, position.clone(), true, false);
        let moved = self.shift64(a, position, true, false);
        let mut half = |part| {
            let read = vec![
                Operand::part(moved, part),
                Operand::part(mask, part),
                Operand::part(b, part),
                Operand::number(0xe2),
                Operand::always(true),
            ];
            Operand::low(self.one("LOP3.LUT", read))
        };
        let (low, high) = (half(0), half(1));
        let result = self.join(low, high);
        self.set(op.d, result);
        Ok(())
    }

    fn sad64(&mut self, op: &i::Sad) -> Done {
        let (a, b, c) = (self.double(&op.a)?, self.double(&op.b)?, self.double(&op.c)?);
        let less = self.compare64("LT", signed(op.ty), a, b, Operand::always(false), "AND").0;
        let (above, below) = (self.sum64(a, b, true), self.sum64(b, a, true));
        let difference = self.select_double(below, above, less, false);
        let result = self.add64(difference, c);
        self.set(op.d, result);
        Ok(())
    }

    /// The bits from the base on, downwards in the reversed mask: by halves, into whichever the bit of that number falls.
    fn find_nth_set(&mut self, op: &i::Fns) -> Done {
        let (mask, base, offset) = (self.word(&op.mask)?, self.word(&op.base)?, self.word(&op.offset)?);
        let down = self.compare("ISETP.LT.AND", offset.clone(), Operand::zero());
        let none = self.compare("ISETP.EQ.AND", offset.clone(), Operand::zero());
        let (one, all, last) = (self.constant(1), self.constant(u32::MAX), self.constant(31));
        let reversed = self.one("BREV", vec![mask.clone()]);
        let mask = Operand::low(self.select_word(Operand::low(reversed), mask, down, false));
        let from_top = self.add(last.clone(), base.clone().signed("-"));
        let base = self.select_word(Operand::low(from_top), base, down, false);
        let number = self.one("IABS", vec![offset]);
        let number = self.select_word(one.clone(), Operand::low(number), none, false);
        // Only the bit at the base, or all from there; of a base that is no place nothing is left.
        let pattern = self.select_word(one, all.clone(), none, false);
        let window = self.one("SHF.L.U32", vec![Operand::low(pattern), Operand::low(base), Operand::zero()]);
        let mut rest = self.lop(mask, Operand::low(window), 0xc0);
        let count = self.one("POPC", vec![Operand::low(rest)]);
        let missing = self.compare("ISETP.LT.AND", Operand::low(count), Operand::low(number));
        let mut left = number;
        let mut place = self.one("MOV", vec![Operand::zero()]);
        for width in [16, 8, 4, 2, 1] {
            let half = self.lop(Operand::low(rest), Operand::number((1 << width) - 1), 0xc0);
            let count = self.one("POPC", vec![Operand::low(half)]);
            let above = self.compare("ISETP.LT.U32.AND", Operand::low(count), Operand::low(left));
            let read = vec![Operand::zero(), Operand::number(width), Operand::low(rest)];
            let upper = self.one("SHF.R.U32.HI", read);
            rest = self.select_word(Operand::low(upper), Operand::low(rest), above, false);
            let fewer = self.add(Operand::low(left), Operand::low(count).signed("-"));
            left = self.select_word(Operand::low(fewer), Operand::low(left), above, false);
            let higher = self.add(Operand::low(place), Operand::number(width));
            place = self.select_word(Operand::low(higher), Operand::low(place), above, false);
        }
        let from_top = self.add(last, Operand::low(place).signed("-"));
        let place = self.select_word(Operand::low(from_top), Operand::low(place), down, false);
        let result = self.select_word(all, Operand::low(place), missing, false);
        self.set(op.d, result);
        Ok(())
    }

    /// By the magnitude's bits: zero, subnormal, normal, infinite, NaN in this order. Of a double those are the upper half's, with the
    /// lowest one set if anything is below.
    fn testp(&mut self, op: &i::Testp) -> Done {
        use i::TestpOp::{Finite, Infinite, Normal, Notanumber, Number, Subnormal};
        let is_double = op.ty == ScalarType::F64;
        let (a, below) = match is_double {
            true => {
                let (a, one) = (self.double(&op.a)?, self.constant(1));
                let read = vec![Operand::part(a, 0), one, Operand::always(false)];
                (Operand::part(a, 1), Operand::low(self.one("VIMNMX.U32", read)))
            }
            false => (self.word(&op.a)?, Operand::zero()),
        };
        let read = vec![a, Operand::number(0x7fff_ffff), below, Operand::number(0xea), Operand::always(true)];
        let magnitude = Operand::low(self.one("LOP3.LUT", read));
        let bound = |this: &mut Self, name: &str, of: &Operand, bits: u32, with: Operand| {
            let (to, bits) = (this.flag(), this.constant(bits));
            let written = vec![Operand::Predicate(to, false), Operand::always(false)];
            this.code.push(None, name, written, vec![of.clone(), bits, with]);
            to
        };
        let (infinite, least) =
            if is_double { (0x7ff0_0000, 0x0010_0000) } else { (0x7f80_0000, 0x0080_0000) };
        let always = Operand::always(false);
        let flag = match op.op {
            Finite => bound(self, "ISETP.LT.U32.AND", &magnitude, infinite, always),
            Infinite => bound(self, "ISETP.EQ.U32.AND", &magnitude, infinite, always),
            Number => bound(self, "ISETP.LE.U32.AND", &magnitude, infinite, always),
            Notanumber => bound(self, "ISETP.GT.U32.AND", &magnitude, infinite, always),
            Normal => {
                // Zero is a normal number (PTX ISA, "testp"): one less is as great as the greatest subnormal, or greater, for it too.
                let finite = bound(self, "ISETP.LT.U32.AND", &magnitude, infinite, always);
                let less = Operand::low(self.add(magnitude.clone(), Operand::ones()));
                bound(self, "ISETP.GE.U32.AND", &less, least - 1, Operand::Predicate(finite, false))
            }
            Subnormal => {
                let small = bound(self, "ISETP.LT.U32.AND", &magnitude, least, always);
                bound(self, "ISETP.NE.U32.AND", &magnitude, 0, Operand::Predicate(small, false))
            }
        };
        self.set_flag(op.p, flag);
        Ok(())
    }
}
