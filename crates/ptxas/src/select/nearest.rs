//! Quotients and roots of 32 bits, rounded as asked (PTX ISA, "div", "rcp" and "sqrt" with a rounding).
//!
//! To nearest, a guess of the special function unit and a few fused steps are right where nothing on the way leaves the normal range. For
//! reciprocals and roots that was computed for all fractions; a quotient by a right reciprocal and its exact rest is right by Markstein's
//! theorem. What else there is goes through doubles, as do other roundings.

use super::float::rounding;
use super::{Done, Refusal, Select};
use crate::code::{Class, Operand, Reg};
use ir::instruction as i;
use ir::operand::{Def, Value};
use smol_str::format_smolstr;

const ONE: u64 = 0x3f80_0000;
const HALF: u32 = 0x3f00_0000;
/// 2^-101: the rest of a root is above the least number, 2^-149, as it has at most 48 bits.
const LEAST_ROOTED: u32 = 0x0d00_0000;
const MOST_FINITE: u32 = 0x7f7f_ffff;

impl Select<'_> {
    fn doubled(&mut self, a: Operand) -> Reg {
        self.pair("F2F.F64.F32", vec![a])
    }

    fn nearest_quotient(&mut self, x: Reg, y: Reg) -> Reg {
        let guess = self.one("MUFU.RCP64H", vec![Operand::part(y, 1)]);
        let (x, y) = (Operand::wide(x, 2), Operand::wide(y, 2));
        let mut reciprocal = Operand::wide(self.join(Operand::number(1), Operand::low(guess)), 2);
        let unit = Operand::wide(self.constant64(1.0_f64.to_bits()), 2);
        for _ in 0..3 {
            let error = self.pair("DFMA", vec![reciprocal.clone().signed("-"), y.clone(), unit.clone()]);
            reciprocal = Operand::wide(
                self.pair("DFMA", vec![reciprocal.clone(), Operand::wide(error, 2), reciprocal]),
                2,
            );
        }
        let first = self.pair("DMUL", vec![x.clone(), reciprocal.clone()]);
        let rest = self.pair("DFMA", vec![Operand::wide(first, 2).signed("-"), y, x]);
        let exact = self.pair("DFMA", vec![Operand::wide(rest, 2), reciprocal, Operand::wide(first, 2)]);
        self.one("F2F.F32.F64", vec![Operand::wide(exact, 2)])
    }

    /// `a / b` of 32 bits.
    pub(super) fn divide_float(
        &mut self,
        d: Def,
        a: &Value,
        b: &Value,
        ftz: bool,
        rnd: i::AddFloatRnd,
    ) -> Done {
        if rnd != i::AddFloatRnd::Rn {
            let (a, b) = (self.word(a)?, self.word(b)?);
            let result = self.any_quotient(a, b, ftz, rnd)?;
            self.set(d, result);
            return Ok(());
        }
        self.behind_guard(|this| {
            let inverts = matches!(a, Value::Constant(ONE));
            let (a, b) = (this.word(a)?, this.word(b)?);
            let one = this.constant(ONE as u32);
            let special = this.flag();
            this.code.push(
                None,
                "FCHK",
                vec![Operand::Predicate(special, false)],
                vec![a.clone(), b.clone()],
            );
            let to = this.code.register(Class::General(1), false);
            let minus = b.clone().signed("-");
            let guess = Operand::low(this.one("MUFU.RCP", vec![b.clone()]));
            let error = this.one("FFMA", vec![minus.clone(), guess.clone(), one]);
            let read = vec![guess.clone(), Operand::low(error), guess];
            if inverts {
                this.code.push(None, "FFMA", vec![Operand::low(to)], read);
            } else {
                let inverse = Operand::low(this.one("FFMA", read));
                let first = this.one("FFMA", vec![a.clone(), inverse.clone(), Operand::zero()]);
                let rest = this.one("FFMA", vec![minus, Operand::low(first), a.clone()]);
                let read = vec![inverse, Operand::low(rest), Operand::low(first)];
                this.code.push(None, "FFMA", vec![Operand::low(to)], read);
            }
            this.where_special(special, to, |this| this.any_quotient(a, b, ftz, rnd))?;
            this.set(d, to);
            Ok(())
        })
    }

    /// Puts something else into a result where a flag holds, which it seldom does: the code for that is out of the way.
    fn where_special(
        &mut self,
        special: Reg,
        to: Reg,
        act: impl FnOnce(&mut Self) -> Result<Reg, Refusal>,
    ) -> Done {
        let (aside, back) = (self.code.label(), self.code.label());
        self.branch(Some((special, false)), aside);
        let from = self.code.lines.len();
        self.code.place(aside);
        let other = act(self)?;
        self.code.push(None, "MOV", vec![Operand::low(to)], vec![Operand::low(other)]);
        self.branch(None, back);
        self.code.put_aside(from);
        self.code.place(back);
        Ok(())
    }

    /// Of all operands, through doubles: a quotient of 53 bits, rounded once more to 24, is the rounded quotient, since 53 >= 2 * 24 + 2.
    /// Zeros, infinities and NaNs go another way: their quotient by a divisor of the same sign and 1.
    fn any_quotient(
        &mut self,
        mut a: Operand,
        mut b: Operand,
        ftz: bool,
        rnd: i::AddFloatRnd,
    ) -> Result<Reg, Refusal> {
        if ftz {
            for value in [&mut a, &mut b] {
                *value = Operand::low(self.one("FADD.FTZ", vec![Operand::Text("-RZ".into()), value.clone()]));
            }
        }
        let one = self.constant(ONE as u32);
        let (x, y) = (self.doubled(a.clone()), self.doubled(b.clone()));
        let usual = if rnd == i::AddFloatRnd::Rn {
            self.nearest_quotient(x, y)
        } else {
            self.quotient_rounded(x, y, ftz, rounding(Some(rnd)))?
        };
        // What of the divisor matters if an operand is none of the usual numbers.
        let read =
            vec![b.clone(), Operand::number(0x8000_0000), one, Operand::number(0xe2), Operand::always(true)];
        let unit = self.one("LOP3.LUT", read);
        let plain = self.is_usual(b.clone());
        let divisor = self.select_word(Operand::low(unit), b, plain, false);
        let inverse = self.one("MUFU.RCP", vec![Operand::low(divisor)]);
        let other = self.one("FMUL", vec![a.clone(), Operand::low(inverse)]);
        let both = self.flag();
        let whole = self.is_usual(a);
        self.plop(None, both, Operand::Predicate(plain, false), Operand::Predicate(whole, false), 0xc0);
        let mut result = self.select_word(Operand::low(usual), Operand::low(other), both, false);
        if ftz {
            result = self.one("FADD.FTZ", vec![Operand::Text("-RZ".into()), Operand::low(result)]);
        }
        Ok(result)
    }

    /// Whether a float is neither zero, nor infinite, nor NaN.
    fn is_usual(&mut self, a: Operand) -> Reg {
        let (usual, finite) = (self.flag(), self.compare_infinite(a.clone()));
        let written = vec![Operand::Predicate(usual, false), Operand::always(false)];
        let read = vec![a.signed("|"), Operand::zero(), Operand::Predicate(finite, false)];
        self.code.push(None, "FSETP.GT.AND", written, read);
        usual
    }

    fn compare_infinite(&mut self, a: Operand) -> Reg {
        let infinity = self.constant(0x7f80_0000);
        self.compare("FSETP.LT.AND", a.signed("|"), infinity)
    }

    fn nearest_root(&mut self, x: Reg) -> Reg {
        let high = Operand::part(x, 1);
        let x = Operand::wide(x, 2);
        let guess = self.one("MUFU.RSQ64H", vec![high]);
        let mut inverse = Operand::wide(self.join(Operand::zero(), Operand::low(guess)), 2);
        let unit = Operand::wide(self.constant64(1.0_f64.to_bits()), 2);
        let half = Operand::wide(self.constant64(0.5_f64.to_bits()), 2);
        for _ in 0..3 {
            let square = self.pair("DMUL", vec![inverse.clone(), inverse.clone()]);
            let error =
                self.pair("DFMA", vec![x.clone().signed("-"), Operand::wide(square, 2), unit.clone()]);
            let part = self.pair("DMUL", vec![inverse.clone(), half.clone()]);
            inverse = Operand::wide(
                self.pair("DFMA", vec![Operand::wide(error, 2), Operand::wide(part, 2), inverse]),
                2,
            );
        }
        let first = self.pair("DMUL", vec![x.clone(), inverse.clone()]);
        let rest = self.pair("DFMA", vec![Operand::wide(first, 2).signed("-"), Operand::wide(first, 2), x]);
        let part = self.pair("DMUL", vec![inverse, half]);
        let exact =
            self.pair("DFMA", vec![Operand::wide(rest, 2), Operand::wide(part, 2), Operand::wide(first, 2)]);
        self.one("F2F.F32.F64", vec![Operand::wide(exact, 2)])
    }

    /// The root of 32 bits.
    pub(super) fn root(&mut self, op: &i::Sqrt) -> Done {
        if op.rnd != i::AddFloatRnd::Rn {
            let a = self.word(&op.a)?;
            let result = self.any_root(a, op);
            self.set(op.d, result);
            return Ok(());
        }
        self.behind_guard(|this| {
            let a = this.word(&op.a)?;
            let above = this.add(a.clone(), Operand::Text(format_smolstr!("-{LEAST_ROOTED:#x}")));
            let special = this.compare(
                "ISETP.GT.U32.AND",
                Operand::low(above),
                Operand::number(MOST_FINITE - LEAST_ROOTED),
            );
            let to = this.code.register(Class::General(1), false);
            let half = this.constant(HALF);
            let guess = Operand::low(this.one("MUFU.RSQ", vec![a.clone()]));
            let first = Operand::low(this.one("FMUL", vec![a.clone(), guess.clone()]));
            let part = this.one("FMUL", vec![guess, half]);
            let rest = this.one("FFMA", vec![first.clone().signed("-"), first.clone(), a.clone()]);
            this.code.push(
                None,
                "FFMA",
                vec![Operand::low(to)],
                vec![Operand::low(rest), Operand::low(part), first],
            );
            this.where_special(special, to, |this| Ok(this.any_root(a, op)))?;
            this.set(op.d, to);
            Ok(())
        })
    }

    /// Of all operands, through doubles, as a quotient.
    fn any_root(&mut self, mut a: Operand, op: &i::Sqrt) -> Reg {
        if op.ftz {
            a = Operand::low(self.one("FADD.FTZ", vec![Operand::Text("-RZ".into()), a]));
        }
        let x = self.doubled(a.clone());
        let usual = if op.rnd == i::AddFloatRnd::Rn {
            self.nearest_root(x)
        } else {
            self.root_rounded(x, rounding(Some(op.rnd)))
        };
        let other = self.one("MUFU.SQRT", vec![a.clone()]);
        // The unit takes a negative subnormal for zero.
        let negative = self.compare("FSETP.LT.AND", a.clone(), Operand::zero());
        let nan = self.constant(0x7fff_ffff);
        let other = self.select_word(nan, Operand::low(other), negative, false);
        let plain = self.is_usual(a.clone());
        let positive = self.flag();
        let written = vec![Operand::Predicate(positive, false), Operand::always(false)];
        self.code.push(
            None,
            "FSETP.GT.AND",
            written,
            vec![a, Operand::zero(), Operand::Predicate(plain, false)],
        );
        self.select_word(Operand::low(usual), Operand::low(other), positive, false)
    }
}
