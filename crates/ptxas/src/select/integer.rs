//! Integer arithmetic, comparison, logic and shifts (PTX ISA, "Integer Arithmetic Instructions" and the chapters behind it).

use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Def, Predicate, Value};
use ptx::types::{ScalarType, TypeKind};

fn signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}

impl Select<'_> {
    pub(super) fn integer(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::AddInt(op) if !op.sat => self.sum(op.ty, op.d, &op.a, &op.b, false),
            Op::SubInt(op) if !op.sat => self.sum(op.ty, op.d, &op.a, &op.b, true),
            Op::MulInt(op) => self.product(op.mode, op.ty, op.d, &op.a, &op.b, None),
            Op::MadInt(op) if !op.sat => self.product(op.mode, op.ty, op.d, &op.a, &op.b, Some(&op.c)),
            Op::NegInt(op) => self.sum(op.ty, op.d, &Value::Constant(0), &op.a, true),
            Op::AbsInt(op) => self.absolute(op),
            Op::MinInt(op) => self.extreme(op.ty, op.relu, op.d, &op.a, &op.b, "PT"),
            Op::MaxInt(op) => self.extreme(op.ty, op.relu, op.d, &op.a, &op.b, "!PT"),
            Op::DivInt(op) => self.divide(op.ty, op.d, &op.a, &op.b, false),
            Op::RemInt(op) => self.divide(op.ty, op.d, &op.a, &op.b, true),
            Op::Popc(op) => self.popc(op),
            Op::Clz(op) => self.leading(op.ty, op.d, &op.a, true, false),
            Op::Bfind(op) => self.leading(op.ty, op.d, &op.a, false, op.shiftamt),
            Op::Brev(op) => self.brev(op),
            Op::Bfe(op) if op.ty.bits() == 32 => self.extract(op),
            Op::Bfi(op) if op.ty.bits() == 32 => self.insert(op),
            Op::Sad(op) if op.ty.bits() < 64 => self.sad(op),
            Op::AddCarryOut(op) => self.carried(op.ty, op.d, &op.a, &op.b, false, false, true),
            Op::AddCarryIn(op) => self.carried(op.ty, op.d, &op.a, &op.b, false, true, op.cc),
            Op::SubBorrowOut(op) => self.carried(op.ty, op.d, &op.a, &op.b, true, false, true),
            Op::SubBorrowIn(op) => self.carried(op.ty, op.d, &op.a, &op.b, true, true, op.cc),
            Op::SetpInt(op) => self.setp_int(op),
            Op::SetInt(op) => self.set_int(op),
            Op::Selp(op) => self.selp(op.ty, op.d, &op.a, &op.b, &op.c),
            Op::Dp4a(op) => self.dot(op),
            _ => return None,
        })
    }

    pub(super) fn add64(&mut self, a: Reg, b: Reg) -> Reg {
        self.sum64(a, b, false)
    }

    pub(super) fn sum64(&mut self, a: Reg, b: Reg, minus: bool) -> Reg {
        let (to, carry) = (self.temporary(2), self.flag());
        let sign = |operand: Operand, sign| if minus { operand.signed(sign) } else { operand };
        let low = sign(Operand::part(b, 0), "-");
        let high = sign(Operand::part(b, 1), "~");
        let written = vec![Operand::part(to, 0), Operand::Predicate(carry, false)];
        self.code.push(None, "IADD3", written, vec![Operand::part(a, 0), low, Operand::zero()]);
        let read = vec![
            Operand::part(a, 1),
            high,
            Operand::zero(),
            Operand::Predicate(carry, false),
            Operand::always(true),
        ];
        self.code.push(None, "IADD3.X", vec![Operand::part(to, 1)], read);
        to
    }

    pub(super) fn add(&mut self, a: Operand, b: Operand) -> Reg {
        self.one("IADD3", vec![a, b, Operand::zero()])
    }

    /// `a * b + c`. Of a product with zero the table of machine code has no row.
    pub(super) fn mad(&mut self, a: Operand, b: Operand, c: Operand) -> Reg {
        match [&a, &b].contains(&&Operand::zero()) {
            true => self.add(Operand::zero(), c),
            false => self.one("IMAD", vec![a, b, c]),
        }
    }

    fn sum(&mut self, ty: ScalarType, d: Def, a: &Value, b: &Value, minus: bool) -> Done {
        let result = if ty.bits() == 64 {
            let (a, b) = (self.double(a)?, self.double(b)?);
            self.sum64(a, b, minus)
        } else {
            let (a, b) = (self.word(a)?, self.word(b)?);
            self.add(a, if minus { b.signed("-") } else { b })
        };
        self.set(d, result);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn carried(
        &mut self,
        ty: ScalarType,
        d: Def,
        a: &Value,
        b: &Value,
        minus: bool,
        takes: bool,
        gives: bool,
    ) -> Done {
        let (a, b) = match ty.bits() {
            64 => (Operand::wide(self.double(a)?, 2), Operand::wide(self.double(b)?, 2)),
            // Sums of 16 bits only take a carry, and bits above them mean nothing.
            _ => (self.word(a)?, self.word(b)?),
        };
        self.with_carry(d, (a, b), minus, takes, gives, (ty.bits() / 32).max(1) as u8)
    }

    /// A sum with carry of words or pairs.
    pub(super) fn carried_sum(&mut self, d: Def, a: Operand, b: Operand, takes: bool, gives: bool) -> Done {
        let width = match a {
            Operand::General { width, .. } => width,
            _ => 1,
        };
        self.with_carry(d, (a, b), false, takes, gives, width)
    }

    fn with_carry(
        &mut self,
        d: Def,
        (a, b): (Operand, Operand),
        minus: bool,
        takes: bool,
        gives: bool,
        width: u8,
    ) -> Done {
        let half = |operand: &Operand, part| match operand {
            Operand::General { reg, part: first, .. } => Operand::part(*reg, first + part),
            other => other.clone(),
        };
        let code = &mut self.code;
        // The carry is the adder's: behind a subtraction it is set where nothing is borrowed.
        let home = *self.at.carry.get_or_insert_with(|| code.register(crate::code::Class::Predicate, false));
        let to = self.temporary(width);
        let mut before = takes.then_some(Operand::Predicate(home, false));
        for part in 0..width {
            let other = if minus { half(&b, part).signed("~") } else { half(&b, part) };
            // -b is ~b and a carry.
            let given = before.take().unwrap_or(Operand::always(!minus));
            let out = self.flag();
            let read = vec![half(&a, part), other, Operand::zero(), given, Operand::always(true)];
            self.code.push(
                None,
                "IADD3.X",
                vec![Operand::part(to, part), Operand::Predicate(out, false)],
                read,
            );
            before = Some(Operand::Predicate(out, false));
        }
        if let (true, Some(out)) = (gives, before) {
            self.plop(self.guard, home, out, Operand::always(false), 0xf0);
        }
        self.set(d, to);
        Ok(())
    }

    fn product(
        &mut self,
        mode: i::MulIntMode,
        ty: ScalarType,
        d: Def,
        a: &Value,
        b: &Value,
        c: Option<&Value>,
    ) -> Done {
        use i::MulIntMode::{Hi, Lo, Wide};
        let kind = if signed(ty) { "" } else { ".U32" };
        let wide = |this: &mut Self, a: Operand, b: Operand, c: Operand| {
            this.pair(format!("IMAD.WIDE{kind}"), vec![a, b, c])
        };
        let result = match (mode, ty.bits()) {
            (Lo, 64) => {
                let (a, b) = (self.double(a)?, self.double(b)?);
                let low = self.multiply64(a, b);
                self.plus64(low, c)?
            }
            (Hi, 64) => {
                let (a, b) = (self.double(a)?, self.double(b)?);
                let high = self.high64(a, b, signed(ty));
                self.plus64(high, c)?
            }
            (Wide, 32) => {
                let (a, b) = (self.word(a)?, self.word(b)?);
                let c = match c {
                    Some(c) => Operand::wide(self.double(c)?, 2),
                    None => Operand::zero(),
                };
                wide(self, a, b, c)
            }
            (Hi, 32) => {
                let (a, b) = (self.word(a)?, self.word(b)?);
                let high = self.one(format!("IMAD.HI{kind}"), vec![a, b, Operand::zero()]);
                match c {
                    Some(c) => {
                        let c = self.word(c)?;
                        self.add(Operand::low(high), c)
                    }
                    None => high,
                }
            }
            (Lo, 32) => {
                let (a, b) = (self.word(a)?, self.word(b)?);
                let c = c.map_or(Ok(Operand::zero()), |c| self.word(c))?;
                let b = self.factor(b);
                self.mad(a, b, c)
            }
            (mode, _) => {
                let (a, b) = (self.extended(a, ty)?, self.extended(b, ty)?);
                let b = self.factor(b);
                let c = c.map_or(Ok(Operand::zero()), |c| self.word(c))?;
                match mode {
                    Hi => {
                        let all = self.mad(a, b, Operand::zero());
                        let high = self.one(
                            "SHF.R.U32.HI",
                            vec![Operand::zero(), Operand::number(16), Operand::low(all)],
                        );
                        self.add(Operand::low(high), c)
                    }
                    Lo | Wide => self.mad(a, b, c),
                }
            }
        };
        self.set(d, result);
        Ok(())
    }

    /// A second factor, which has no form for the register that is always zero.
    fn factor(&mut self, b: Operand) -> Operand {
        if b == Operand::zero() { Operand::low(self.one("MOV", vec![b])) } else { b }
    }

    fn plus64(&mut self, a: Reg, c: Option<&Value>) -> Result<Reg, Refusal> {
        Ok(match c {
            Some(c) => {
                let c = self.double(c)?;
                self.add64(a, c)
            }
            None => a,
        })
    }

    pub(super) fn multiply64(&mut self, a: Reg, b: Reg) -> Reg {
        let low = self.pair("IMAD.WIDE.U32", vec![Operand::part(a, 0), Operand::part(b, 0), Operand::zero()]);
        let cross = self.mad(Operand::part(a, 0), Operand::part(b, 1), Operand::part(low, 1));
        let high = self.mad(Operand::part(a, 1), Operand::part(b, 0), Operand::low(cross));
        self.join(Operand::part(low, 0), Operand::low(high))
    }

    pub(super) fn high64(&mut self, a: Reg, b: Reg, signed: bool) -> Reg {
        let wide = |this: &mut Self, x: u8, y: u8, c: Operand| {
            this.pair("IMAD.WIDE.U32", vec![Operand::part(a, x), Operand::part(b, y), c])
        };
        let low = wide(self, 0, 0, Operand::zero());
        let carry = self.join(Operand::part(low, 1), Operand::zero());
        let first = wide(self, 1, 0, Operand::wide(carry, 2));
        let rest = self.join(Operand::part(first, 0), Operand::zero());
        let second = wide(self, 0, 1, Operand::wide(rest, 2));
        let above = self.join(Operand::part(first, 1), Operand::zero());
        let high = wide(self, 1, 1, Operand::wide(above, 2));
        let more = self.join(Operand::part(second, 1), Operand::zero());
        let mut high = self.add64(high, more);
        if signed {
            for (factor, other) in [(a, b), (b, a)] {
                let negative = self.compare("ISETP.LT.AND", Operand::part(factor, 1), Operand::zero());
                let less = self.sum64(high, other, true);
                high = self.select_double(less, high, negative, false);
            }
        }
        high
    }

    fn absolute(&mut self, op: &i::AbsInt) -> Done {
        let result = match op.ty.bits() {
            64 => {
                let a = self.double(&op.a)?;
                self.magnitude64(a)
            }
            _ => {
                let a = self.extended(&op.a, op.ty)?;
                self.one("IABS", vec![a])
            }
        };
        self.set(op.d, result);
        Ok(())
    }

    pub(super) fn magnitude64(&mut self, a: Reg) -> Reg {
        let zero = self.constant64(0);
        let minus = self.sum64(zero, a, true);
        let negative = self.compare("ISETP.LT.AND", Operand::part(a, 1), Operand::zero());
        self.select_double(minus, a, negative, false)
    }

    fn extreme(&mut self, ty: ScalarType, relu: bool, d: Def, a: &Value, b: &Value, which: &str) -> Done {
        let kind = if signed(ty) { "" } else { ".U32" };
        let result = if ty.bits() == 64 {
            let (a, b) = (self.double(a)?, self.double(b)?);
            let less = self.compare64("LT", signed(ty), a, b, Operand::always(false), "AND").0;
            self.select_double(a, b, less, which != "PT")
        } else {
            let (a, b) = (self.extended(a, ty)?, self.extended(b, ty)?);
            let which = Operand::Text(which.into());
            let found = self.one(format!("VIMNMX{kind}"), vec![a, b, which]);
            if relu {
                self.one("VIMNMX", vec![Operand::low(found), Operand::zero(), Operand::always(true)])
            } else {
                found
            }
        };
        self.set(d, result);
        Ok(())
    }

    /// Compares 64 bits: the result, and that of the opposite.
    pub(super) fn compare64(
        &mut self,
        cmp: &str,
        signed: bool,
        a: Reg,
        b: Reg,
        with: Operand,
        how: &str,
    ) -> (Reg, Reg) {
        let low = self.compare(&format!("ISETP.{cmp}.U32.AND"), Operand::part(a, 0), Operand::part(b, 0));
        let (to, opposite) = (self.flag(), self.flag());
        let kind = if signed { "" } else { ".U32" };
        let read = vec![Operand::part(a, 1), Operand::part(b, 1), with, Operand::Predicate(low, false)];
        let written = vec![Operand::Predicate(to, false), Operand::Predicate(opposite, false)];
        self.code.push(None, format!("ISETP.{cmp}{kind}.{how}.EX"), written, read);
        (to, opposite)
    }

    fn popc(&mut self, op: &i::Popc) -> Done {
        let result = if op.ty.bits() == 64 {
            let a = self.double(&op.a)?;
            let low = self.one("POPC", vec![Operand::part(a, 0)]);
            let high = self.one("POPC", vec![Operand::part(a, 1)]);
            self.add(Operand::low(low), Operand::low(high))
        } else {
            let a = self.word(&op.a)?;
            self.one("POPC", vec![a])
        };
        self.set(op.d, result);
        Ok(())
    }

    /// The highest bit that differs from the sign, or how many zeros stand above it.
    fn leading(&mut self, ty: ScalarType, d: Def, a: &Value, zeros: bool, shift: bool) -> Done {
        let none = Operand::ones();
        let flo = if signed(ty) && !zeros { "FLO" } else { "FLO.U32" };
        let found = if ty.bits() == 64 {
            let mut a = self.double(a)?;
            if signed(ty) && !zeros {
                let sign =
                    self.one("SHF.R.S32.HI", vec![Operand::zero(), Operand::number(31), Operand::part(a, 1)]);
                let low = self.lop(Operand::part(a, 0), Operand::low(sign), 0x3c);
                let high = self.lop(Operand::part(a, 1), Operand::low(sign), 0x3c);
                a = self.join(Operand::low(low), Operand::low(high));
            }
            let low = self.one("FLO.U32", vec![Operand::part(a, 0)]);
            let high = self.one("FLO.U32", vec![Operand::part(a, 1)]);
            let above = self.add(Operand::low(high), Operand::number(32));
            let empty = self.compare("ISETP.EQ.U32.AND", Operand::part(a, 1), Operand::zero());
            self.select_word(Operand::low(low), Operand::low(above), empty, false)
        } else {
            let a = self.extended(a, ty)?;
            self.one(flo, vec![a])
        };
        let top = Operand::number(ty.bits() - 1);
        let result = if zeros || shift {
            // Of zero FLO gives -1: there are as many zeros as bits, and no amount to shift by.
            let amount = self.add(Operand::low(found).signed("-"), top);
            if shift {
                let nothing = self.compare("ISETP.EQ.U32.AND", Operand::low(found), none);
                let all = self.one("MOV", vec![Operand::number(u32::MAX)]);
                self.select_word(Operand::low(all), Operand::low(amount), nothing, false)
            } else {
                amount
            }
        } else {
            found
        };
        self.set(d, result);
        Ok(())
    }

    fn brev(&mut self, op: &i::Brev) -> Done {
        let result = if op.ty.bits() == 64 {
            let a = self.double(&op.a)?;
            let low = self.one("BREV", vec![Operand::part(a, 1)]);
            let high = self.one("BREV", vec![Operand::part(a, 0)]);
            self.join(Operand::low(low), Operand::low(high))
        } else {
            let a = self.word(&op.a)?;
            self.one("BREV", vec![a])
        };
        self.set(op.d, result);
        Ok(())
    }

    /// The low bytes of a position and a length, as numbers.
    fn field_of(&mut self, position: &Value, length: &Value) -> Result<(Operand, Operand), Refusal> {
        let mut byte = |value: &Value| -> Result<Operand, Refusal> {
            let word = self.word(value)?;
            Ok(Operand::low(self.lop(word, Operand::number(0xff), 0xc0)))
        };
        Ok((byte(position)?, byte(length)?))
    }

    fn extract(&mut self, op: &i::Bfe) -> Done {
        let a = self.word(&op.a)?;
        if let (&Value::Constant(from), &Value::Constant(bits)) = (&op.b, &op.c) {
            let result = self.field_within(a, (from & 0xff, bits & 0xff), signed(op.ty));
            self.set(op.d, result);
            return Ok(());
        }
        let (position, length) = self.field_of(&op.b, &op.c)?;
        let (shift, extend) =
            if signed(op.ty) { ("SHF.R.S32.HI", "SGXT") } else { ("SHF.R.U32.HI", "SGXT.U32") };
        let moved = self.one(shift, vec![Operand::zero(), position, a]);
        let result = self.one(extend, vec![Operand::low(moved), length]);
        self.set(op.d, result);
        Ok(())
    }

    /// The field of a word from a bit on. Above the word its sign goes on, or zeros.
    fn field_within(&mut self, a: Operand, (from, bits): (u64, u64), signed: bool) -> Reg {
        let shift = |to: &str| format!("SHF.{to}");
        let (from, bits) = (from as u32, bits as u32);
        let right = |this: &mut Self, a: Operand, by: u32| {
            let name = shift(if signed { "R.S32.HI" } else { "R.U32.HI" });
            this.one(name, vec![Operand::zero(), Operand::number(by), a])
        };
        match (from, bits) {
            (_, 0) => self.one("MOV", vec![Operand::zero()]),
            (32.., _) if !signed => self.one("MOV", vec![Operand::zero()]),
            (31.., _) if signed => right(self, a, 31),
            (0, 32..) => self.one("MOV", vec![a]),
            (from, bits) if from + bits >= 32 => right(self, a, from),
            (from, bits) if !signed => {
                let moved = if from == 0 { a } else { Operand::low(right(self, a, from)) };
                self.lop(moved, Operand::number((1 << bits) - 1), 0xc0)
            }
            (from, bits) => {
                let read = vec![a, Operand::number(32 - from - bits), Operand::zero()];
                let top = self.one(shift("L.U32"), read);
                right(self, Operand::low(top), 32 - bits)
            }
        }
    }

    fn insert(&mut self, op: &i::Bfi) -> Done {
        let (a, b) = (self.word(&op.a)?, self.word(&op.b)?);
        let (position, length) = self.field_of(&op.c, &op.e)?;
        let moved = self.one("SHF.L.U32", vec![a, position.clone(), Operand::zero()]);
        let mask = self.one("BMSK", vec![position, length]);
        let read =
            vec![Operand::low(moved), Operand::low(mask), b, Operand::number(0xe2), Operand::always(true)];
        let result = self.one("LOP3.LUT", read);
        self.set(op.d, result);
        Ok(())
    }

    fn sad(&mut self, op: &i::Sad) -> Done {
        let (a, b) = (self.extended(&op.a, op.ty)?, self.extended(&op.b, op.ty)?);
        let c = self.word(&op.c)?;
        let name = if signed(op.ty) { "VABSDIFF" } else { "VABSDIFF.U32" };
        let result = self.one(name, vec![a, b, c]);
        self.set(op.d, result);
        Ok(())
    }

    fn dot(&mut self, op: &i::Dp4a) -> Done {
        let (a, b, c) = (self.word(&op.a)?, self.word(&op.b)?, self.word(&op.c)?);
        let kind = |ty| if signed(ty) { "S8" } else { "U8" };
        let result = self.one(format!("IDP.4A.{}.{}", kind(op.atype), kind(op.btype)), vec![a, b, c]);
        self.set(op.d, result);
        Ok(())
    }

    fn selp(&mut self, ty: ScalarType, d: Def, a: &Value, b: &Value, c: &Predicate) -> Done {
        let (flag, not) = self.predicate(c)?;
        let result = if ty.bits() == 64 {
            let (a, b) = (self.double(a)?, self.double(b)?);
            self.select_double(a, b, flag, not)
        } else {
            let (a, b) = (self.word(a)?, self.word(b)?);
            self.select_word(a, b, flag, not)
        };
        self.set(d, result);
        Ok(())
    }

    fn compare_int(
        &mut self,
        cmp: i::SetIntCmp,
        ty: ScalarType,
        combine: Option<i::SetIntBool>,
        (a, b, c): (&Value, &Value, Option<&Predicate>),
    ) -> Result<(Reg, Reg), Refusal> {
        use i::SetIntCmp::*;
        let (name, unsigned) = match cmp {
            Eq => ("EQ", false),
            Ne => ("NE", false),
            Lt => ("LT", false),
            Le => ("LE", false),
            Gt => ("GT", false),
            Ge => ("GE", false),
            Lo => ("LT", true),
            Ls => ("LE", true),
            Hi => ("GT", true),
            Hs => ("GE", true),
        };
        let is_signed = signed(ty) && !unsigned;
        let how = combination(combine);
        let with = self.predicate_operand(c)?;
        if ty.bits() == 64 {
            let (a, b) = (self.double(a)?, self.double(b)?);
            return Ok(self.compare64(name, is_signed, a, b, with, how));
        }
        let (a, b) = (self.extended(a, ty)?, self.extended(b, ty)?);
        let (to, opposite) = (self.flag(), self.flag());
        let kind = if is_signed { "" } else { ".U32" };
        let written = vec![Operand::Predicate(to, false), Operand::Predicate(opposite, false)];
        self.code.push(None, format!("ISETP.{name}{kind}.{how}"), written, vec![a, b, with]);
        Ok((to, opposite))
    }

    fn setp_int(&mut self, op: &i::SetpInt) -> Done {
        let (to, opposite) = self.compare_int(op.cmp, op.ty, op.combine, (&op.a, &op.b, op.c.as_ref()))?;
        self.set_flags(op.p, op.q, to, opposite);
        Ok(())
    }

    /// Writes a predicate and its opposite.
    pub(super) fn set_flags(&mut self, p: Def, q: Option<Def>, to: Reg, opposite: Reg) {
        match q {
            Some(q) if q.0.is_some() => {
                self.set_flag(p, to);
                self.set_flag(q, opposite);
            }
            _ => self.set_flag(p, to),
        }
    }

    fn set_int(&mut self, op: &i::SetInt) -> Done {
        let (flag, _) = self.compare_int(op.cmp, op.stype, op.combine, (&op.a, &op.b, op.c.as_ref()))?;
        self.truth(op.d, op.dtype, flag)
    }

    /// What `set` makes of a comparison.
    pub(super) fn truth(&mut self, d: Def, ty: ScalarType, flag: Reg) -> Done {
        let one = self.constant(one_of(ty)?);
        let result = self.select_word(one, Operand::zero(), flag, false);
        self.set(d, result);
        Ok(())
    }

    pub(super) fn logic(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::And(op) => self.bitwise(op.ty, op.d, &op.a, &op.b, 0xc0),
            Op::Or(op) => self.bitwise(op.ty, op.d, &op.a, &op.b, 0xfc),
            Op::Xor(op) => self.bitwise(op.ty, op.d, &op.a, &op.b, 0x3c),
            Op::Not(op) => self.bitwise(op.ty, op.d, &op.a, &Value::Constant(0), 0x0f),
            Op::AndPred(op) => self.logic_of(op.d, &op.a, Some(&op.b), 0xc0),
            Op::OrPred(op) => self.logic_of(op.d, &op.a, Some(&op.b), 0xfc),
            Op::XorPred(op) => self.logic_of(op.d, &op.a, Some(&op.b), 0x3c),
            Op::NotPred(op) => self.logic_of(op.d, &op.a, None, 0x0f),
            Op::Lop3(op) => self.lop3(op),
            Op::Shl(op) => self.shift(op.ty, op.d, &op.a, &op.b, true),
            Op::Shr(op) => self.shift(op.ty, op.d, &op.a, &op.b, false),
            Op::Shf(op) => self.funnel(op),
            Op::Prmt(op) => self.prmt(op),
            _ => return None,
        })
    }

    fn bitwise(&mut self, ty: ScalarType, d: Def, a: &Value, b: &Value, table: u32) -> Done {
        let result = if ty.bits() == 64 {
            let (a, b) = (self.double(a)?, self.double(b)?);
            let low = self.lop(Operand::part(a, 0), Operand::part(b, 0), table);
            let high = self.lop(Operand::part(a, 1), Operand::part(b, 1), table);
            self.join(Operand::low(low), Operand::low(high))
        } else {
            let (a, b) = (self.word(a)?, self.word(b)?);
            self.lop(a, b, table)
        };
        self.set(d, result);
        Ok(())
    }

    fn logic_of(&mut self, d: Def, a: &Predicate, b: Option<&Predicate>, table: u32) -> Done {
        let (a, b) = (self.predicate_operand(Some(a))?, self.predicate_operand(b)?);
        let to = self.flag();
        self.plop(None, to, a, b, table);
        self.set_flag(d, to);
        Ok(())
    }

    /// A predicate may say whether any bit is set, with another one taken in.
    fn lop3(&mut self, op: &i::Lop3) -> Done {
        let table = Operand::number(op.imm_lut as u32 & 0xff);
        let (a, b, c) = (self.word(&op.a)?, self.word(&op.b)?, self.word(&op.c)?);
        let other = self.predicate_operand(op.q.as_ref())?;
        let result = self.one("LOP3.LUT", vec![a, b, c, table, Operand::always(true)]);
        let any = op.p.map(|p| {
            let how = if op.combine == Some(i::Lop3Bool::And) { "AND" } else { "OR" };
            let any = self.flag();
            let written = vec![Operand::Predicate(any, false), Operand::always(false)];
            let read = vec![Operand::low(result), Operand::zero(), other];
            self.code.push(None, format!("ISETP.NE.U32.{how}"), written, read);
            (p, any)
        });
        self.set(op.d, result);
        if let Some((p, any)) = any {
            self.set_flag(p, any);
        }
        Ok(())
    }

    fn shift(&mut self, ty: ScalarType, d: Def, a: &Value, b: &Value, left: bool) -> Done {
        let by = self.word(b)?;
        let result = if ty.bits() == 64 {
            let a = self.double(a)?;
            self.shift64(a, by, left, signed(ty))
        } else if left {
            let a = self.word(a)?;
            self.one("SHF.L.U32", vec![a, by, Operand::zero()])
        } else {
            let a = self.extended(a, ty)?;
            let name = if signed(ty) { "SHF.R.S32.HI" } else { "SHF.R.U32.HI" };
            self.one(name, vec![Operand::zero(), by, a])
        };
        self.set(d, result);
        Ok(())
    }

    pub(super) fn shift64(&mut self, a: Reg, by: Operand, left: bool, signed: bool) -> Reg {
        let (low, high) = (Operand::part(a, 0), Operand::part(a, 1));
        let (low, high) = if left {
            let below = self.one("SHF.L.U32", vec![low.clone(), by.clone(), Operand::zero()]);
            (below, self.one("SHF.L.U64.HI", vec![low, by, high]))
        } else {
            let kind = if signed { "S" } else { "U" };
            let below = self.one(format!("SHF.R.{kind}64"), vec![low, by.clone(), high.clone()]);
            (below, self.one(format!("SHF.R.{kind}32.HI"), vec![Operand::zero(), by, high]))
        };
        self.join(Operand::low(low), Operand::low(high))
    }

    fn funnel(&mut self, op: &i::Shf) -> Done {
        let (a, b, c) = (self.word(&op.a)?, self.word(&op.b)?, self.word(&op.c)?);
        let wrap = if op.mode == i::SzextMode::Wrap { ".W" } else { "" };
        let left = op.direction == i::Direction::L;
        let name = if left { format!("SHF.L{wrap}.U32.HI") } else { format!("SHF.R{wrap}.U32") };
        let result = self.one(name, vec![a, c, b]);
        self.set(op.d, result);
        Ok(())
    }

    fn prmt(&mut self, op: &i::Prmt) -> Done {
        let (a, b, c) = (self.word(&op.a)?, self.word(&op.b)?, self.word(&op.c)?);
        let name = match op.mode {
            None => "PRMT".to_owned(),
            Some(mode) => format!("PRMT{}", mode.modifier().text().to_uppercase()),
        };
        let result = self.one(name, vec![a, c, b]);
        self.set(op.d, result);
        Ok(())
    }
}

/// How a comparison is combined with a predicate.
pub(super) fn combination(combine: Option<i::SetIntBool>) -> &'static str {
    match combine {
        None | Some(i::SetIntBool::And) => "AND",
        Some(i::SetIntBool::Or) => "OR",
        Some(i::SetIntBool::Xor) => "XOR",
    }
}

/// What `set` writes where a comparison holds: all ones, or 1.0.
pub(super) fn one_of(ty: ScalarType) -> Result<u32, Refusal> {
    Ok(match (ty, ty.kind()) {
        (ScalarType::F32, _) => 0x3f80_0000,
        (ScalarType::F16 | ScalarType::F16x2, _) => 0x3c00,
        (ScalarType::Bf16 | ScalarType::Bf16x2, _) => 0x3f80,
        (_, TypeKind::Float) => return Err("with this type of result".to_owned()),
        _ => u32::MAX,
    })
}
