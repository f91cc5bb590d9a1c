//! Quotients and roots, rounded as asked (PTX ISA, "div", "rcp", "sqrt" with a rounding).
//!
//! Of both the first 53 bits are found with the rest cut off, and corrected by what is left: `x - q * y` and `x - s * s` are exact.
//! That says whether the next bit is set and whether anything follows it, so that any rounding is exact:
//!
//! - of 64 bits, exponents are taken off first, and put back by integers, which knows subnormals and overflow;
//! - of 32 bits, the last of the 53 bits is set if anything was cut off ("round to odd"), and the conversion rounds that: right,
//!   as 53 >= 24 + 2.

use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::instruction::AddFloatRnd;
use ir::operand::{Def, Value};

/// Bits of a significand below its highest.
const FRACTION: u32 = 52;
/// The exponent's place in the upper half of a double.
const EXPONENT_AT: u32 = 20;
const EXPONENTS: u32 = 0x7ff;
const BIAS: u32 = 1023;
const SIGN: u32 = 0x8000_0000;
/// The least normal number of 32 bits is 2 to the power of minus this.
const LEAST_EXPONENT: u32 = 126;
/// What a subnormal is multiplied by: 2^54.
const LIFT: u32 = 54;
/// That as a double, and its root.
const TWO_54: u64 = ((BIAS + LIFT) as u64) << FRACTION;
const TWO_27: u64 = ((BIAS + LIFT / 2) as u64) << FRACTION;

/// A positive result cut off behind its 53rd bit.
struct Cut {
    value: Reg,
    /// Whether the next bit is set.
    half: Reg,
    /// Whether anything is left behind that.
    more: Reg,
}

fn double(reg: Reg) -> Operand {
    Operand::wide(reg, 2)
}

impl Select<'_> {
    fn compare_double(&mut self, cmp: &str, a: Operand, b: Operand) -> Reg {
        self.compare(&format!("DSETP.{cmp}.AND"), a, b)
    }

    fn fused(&mut self, rounding: &str, a: Operand, b: Operand, c: Operand) -> Reg {
        self.pair(format!("DFMA{rounding}"), vec![a, b, c])
    }

    /// One unit of the last place of a normal number.
    fn unit_of(&mut self, value: Reg) -> Reg {
        let exponent = self.lop(Operand::part(value, 1), Operand::number(EXPONENTS << EXPONENT_AT), 0xc0);
        let lower = self.constant(FRACTION << EXPONENT_AT);
        let high = self.add(Operand::low(exponent), lower.signed("-"));
        self.join(Operand::zero(), Operand::low(high))
    }

    /// The number whose bits are one more, or one less, where a predicate holds.
    fn step(&mut self, value: Reg, up: bool, flag: Reg) -> Reg {
        let one = self.constant64(1);
        let next = self.sum64(value, one, !up);
        self.select_double(next, value, flag, false)
    }

    /// `x / y` of positive numbers.
    fn cut_quotient(&mut self, x: Reg, y: Reg) -> Cut {
        let guess = self.one("MUFU.RCP64H", vec![Operand::part(y, 1)]);
        let mut reciprocal = self.join(Operand::number(1), Operand::low(guess));
        let unit = self.constant64(1.0_f64.to_bits());
        for _ in 0..3 {
            let error = self.fused("", double(reciprocal).signed("-"), double(y), double(unit));
            reciprocal = self.fused("", double(reciprocal), double(error), double(reciprocal));
        }
        let first = self.pair("DMUL", vec![double(x), double(reciprocal)]);
        let rest = self.fused("", double(first).signed("-"), double(y), double(x));
        let mut value = self.fused(".RZ", double(rest), double(reciprocal), double(first));
        let left =
            |this: &mut Self, value: Reg| this.fused("", double(value).signed("-"), double(y), double(x));
        let rest = left(self, value);
        let above = self.compare_double("LT", double(rest), Operand::zero());
        value = self.step(value, false, above);
        let rest = left(self, value);
        let unit = self.unit_of(value);
        let next = self.pair("DMUL", vec![double(unit), double(y)]);
        let below = self.compare_double("GE", double(rest), double(next));
        value = self.step(value, true, below);
        let rest = left(self, value);
        let unit = self.unit_of(value);
        let next = self.pair("DMUL", vec![double(unit), double(y)]);
        let twice = self.pair("DADD", vec![double(rest), double(rest)]);
        let half = self.compare_double("GE", double(twice), double(next));
        let some = self.compare_double("GT", double(rest), Operand::zero());
        let more = self.flag();
        let written = vec![Operand::Predicate(more, false), Operand::always(false)];
        let read = vec![double(twice), double(next), Operand::Predicate(some, false)];
        self.code.push(None, "DSETP.NE.AND", written, read);
        Cut { value, half, more }
    }

    /// The root of a positive number.
    fn cut_root(&mut self, x: Reg) -> Cut {
        let guess = self.one("MUFU.RSQ64H", vec![Operand::part(x, 1)]);
        let mut inverse = self.join(Operand::zero(), Operand::low(guess));
        let unit = self.constant64(1.0_f64.to_bits());
        let half = self.constant64(0.5_f64.to_bits());
        for _ in 0..3 {
            let square = self.pair("DMUL", vec![double(inverse), double(inverse)]);
            let error = self.fused("", double(x).signed("-"), double(square), double(unit));
            let part = self.pair("DMUL", vec![double(inverse), double(half)]);
            inverse = self.fused("", double(error), double(part), double(inverse));
        }
        let first = self.pair("DMUL", vec![double(x), double(inverse)]);
        let rest = self.fused("", double(first).signed("-"), double(first), double(x));
        let part = self.pair("DMUL", vec![double(inverse), double(half)]);
        let mut value = self.fused(".RZ", double(rest), double(part), double(first));
        let left =
            |this: &mut Self, value: Reg| this.fused("", double(value).signed("-"), double(value), double(x));
        let rest = left(self, value);
        let above = self.compare_double("LT", double(rest), Operand::zero());
        value = self.step(value, false, above);
        let rest = left(self, value);
        // (s + u)^2 is s^2 + 2su and u^2, which is less than what rests differ by.
        let unit = self.unit_of(value);
        let next = self.pair("DMUL", vec![double(unit), double(value)]);
        let twice = self.pair("DADD", vec![double(next), double(next)]);
        let below = self.compare_double("GT", double(rest), double(twice));
        value = self.step(value, true, below);
        let rest = left(self, value);
        let unit = self.unit_of(value);
        let next = self.pair("DMUL", vec![double(unit), double(value)]);
        let half = self.compare_double("GT", double(rest), double(next));
        let more = self.compare_double("GT", double(rest), Operand::zero());
        Cut { value, half, more }
    }

    /// A number that is neither zero nor infinite nor NaN, as one from 1 to 2 and its exponent with the bias.
    fn taken_apart(&mut self, a: Reg) -> (Reg, Reg) {
        let field = |this: &mut Self, value: Reg| {
            let read = vec![Operand::zero(), Operand::number(EXPONENT_AT), Operand::part(value, 1)];
            let moved = this.one("SHF.R.U32.HI", read);
            this.lop(Operand::low(moved), Operand::number(EXPONENTS), 0xc0)
        };
        let exponent = field(self, a);
        let subnormal = self.compare("ISETP.EQ.U32.AND", Operand::low(exponent), Operand::zero());
        let lift = self.constant64(TWO_54);
        let lifted = self.pair("DMUL", vec![double(a), double(lift)]);
        let higher = field(self, lifted);
        let by = self.constant(LIFT);
        let lower = self.add(Operand::low(higher), by.signed("-"));
        let value = self.select_double(lifted, a, subnormal, false);
        let exponent = self.select_word(Operand::low(lower), Operand::low(exponent), subnormal, false);
        let fraction = self.lop(Operand::part(value, 1), Operand::number((1 << EXPONENT_AT) - 1), 0xc0);
        let high = self.lop(Operand::low(fraction), Operand::number(BIAS << EXPONENT_AT), 0xfc);
        (self.join(Operand::part(value, 0), Operand::low(high)), exponent)
    }

    /// The double that a cut result is, times a power of two, with a sign, rounded.
    fn put_together(&mut self, cut: &Cut, exponent: Reg, sign: Operand, rnd: AddFloatRnd) -> Reg {
        let Cut { value, half, more } = *cut;
        let own = self.one(
            "SHF.R.U32.HI",
            vec![Operand::zero(), Operand::number(EXPONENT_AT), Operand::part(value, 1)],
        );
        let bias = self.constant(BIAS);
        let own = self.add(Operand::low(own), bias.signed("-"));
        let exponent = self.add(Operand::low(exponent), Operand::low(own));
        // The significand with two bits more: the next, and whether anything follows.
        let fraction = self.lop(Operand::part(value, 1), Operand::number((1 << EXPONENT_AT) - 1), 0xc0);
        let high = self.lop(Operand::low(fraction), Operand::number(1 << EXPONENT_AT), 0xfc);
        let significand = self.join(Operand::part(value, 0), Operand::low(high));
        let wide = self.shift64(significand, Operand::number(2), true, false);
        let (two, one) = (self.constant(2), self.constant(1));
        let half = self.select_word(two, Operand::zero(), half, false);
        let more = self.select_word(one, Operand::zero(), more, false);
        let read = vec![
            Operand::part(wide, 0),
            Operand::low(half),
            Operand::low(more),
            Operand::number(0xfe),
            Operand::always(true),
        ];
        let low = self.one("LOP3.LUT", read);
        let wide = self.join(Operand::low(low), Operand::part(wide, 1));
        // A subnormal has fewer bits.
        let one = self.constant(1);
        let missing = self.add(one.clone(), Operand::low(exponent).signed("-"));
        let missing = self.one("VIMNMX", vec![Operand::low(missing), Operand::zero(), Operand::always(true)]);
        let most = self.constant(63);
        let missing =
            Operand::low(self.one("VIMNMX", vec![Operand::low(missing), most, Operand::always(false)]));
        let kept = self.shift64(wide, missing.clone(), false, false);
        let back = self.shift64(kept, missing, true, false);
        let lost = self.compare64("NE", false, back, wide, Operand::always(false), "AND").0;
        let lost = self.select_word(one.clone(), Operand::zero(), lost, false);
        let low = self.lop(Operand::part(kept, 0), Operand::low(lost), 0xfc);
        let last = self.lop(Operand::low(low), Operand::number(7), 0xc0);
        let kept = self.join(Operand::low(low), Operand::part(kept, 1));
        let cut = self.shift64(kept, Operand::number(2), false, false);
        // Whether one is added, by the last bit that stays and the two behind it.
        let (to_even, up) = (0xc8, 0xee);
        let negative = self.compare("ISETP.LT.AND", sign.clone(), Operand::zero());
        let table = match rnd {
            AddFloatRnd::Rn => self.constant(to_even),
            AddFloatRnd::Rz => Operand::zero(),
            AddFloatRnd::Rm | AddFloatRnd::Rp => {
                let up = self.constant(up);
                let not = rnd == AddFloatRnd::Rp;
                Operand::low(self.select_word(up, Operand::zero(), negative, not))
            }
        };
        let bit = self.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::low(last), table]);
        let bit = self.lop(Operand::low(bit), one.clone(), 0xc0);
        let bit = self.join(Operand::low(bit), Operand::zero());
        let rounded = self.add64(cut, bit);
        // The highest bit of a normal number adds one to the exponent.
        let base = self.one("VIMNMX", vec![Operand::low(exponent), one.clone(), Operand::always(true)]);
        let most = self.constant(EXPONENTS);
        let base = self.one("VIMNMX", vec![Operand::low(base), most, Operand::always(false)]);
        let base = self.add(Operand::low(base), one.signed("-"));
        let base =
            self.one("SHF.L.U32", vec![Operand::low(base), Operand::number(EXPONENT_AT), Operand::zero()]);
        let high = self.add(Operand::part(rounded, 1), Operand::low(base));
        let result = self.join(Operand::part(rounded, 0), Operand::low(high));
        let infinite = f64::INFINITY.to_bits();
        let bound = self.constant((infinite >> 32) as u32);
        let over = self.compare("ISETP.GE.U32.AND", Operand::low(high), bound);
        let (infinite, most) = (self.constant64(infinite), self.constant64(f64::MAX.to_bits()));
        let extreme = match rnd {
            AddFloatRnd::Rn => infinite,
            AddFloatRnd::Rz => most,
            AddFloatRnd::Rm => self.select_double(infinite, most, negative, false),
            AddFloatRnd::Rp => self.select_double(most, infinite, negative, false),
        };
        let result = self.select_double(extreme, result, over, false);
        let high = self.lop(Operand::part(result, 1), sign, 0xfc);
        self.join(Operand::part(result, 0), Operand::low(high))
    }

    /// Whether a double is neither zero nor infinite nor NaN.
    fn is_usual_double(&mut self, a: Reg) -> Reg {
        let infinite = self.constant64(f64::INFINITY.to_bits());
        let finite = self.compare_double("LT", double(a).signed("|"), double(infinite));
        let usual = self.flag();
        let written = vec![Operand::Predicate(usual, false), Operand::always(false)];
        let read = vec![double(a).signed("|"), Operand::zero(), Operand::Predicate(finite, false)];
        self.code.push(None, "DSETP.GT.AND", written, read);
        usual
    }

    /// `a / b` of 64 bits.
    pub(super) fn divide_double(&mut self, d: Def, a: &Value, b: &Value, rnd: AddFloatRnd) -> Done {
        let (a, b) = (self.double(a)?, self.double(b)?);
        let ((x, from), (y, by)) = (self.taken_apart(a), self.taken_apart(b));
        let cut = self.cut_quotient(x, y);
        let exponent = self.add(Operand::low(from), Operand::low(by).signed("-"));
        let exponent = self.add(Operand::low(exponent), Operand::number(BIAS));
        let signs = self.lop(Operand::part(a, 1), Operand::part(b, 1), 0x3c);
        let sign = Operand::low(self.lop(Operand::low(signs), Operand::number(SIGN), 0xc0));
        let usual = self.put_together(&cut, exponent, sign, rnd);
        // Of other operands the reciprocal is exact; that of a usual divisor is as good as 1 with its sign.
        let plain = self.is_usual_double(b);
        let one = self.constant((1.0_f64.to_bits() >> 32) as u32);
        let read = vec![
            Operand::part(b, 1),
            Operand::number(SIGN),
            one,
            Operand::number(0xe2),
            Operand::always(true),
        ];
        let unit = self.one("LOP3.LUT", read);
        let high = self.one("MUFU.RCP64H", vec![Operand::part(b, 1)]);
        let inverse = self.select_word(Operand::low(unit), Operand::low(high), plain, false);
        let inverse = self.join(Operand::zero(), Operand::low(inverse));
        let other = self.pair("DMUL", vec![double(a), double(inverse)]);
        let unordered = self.compare_double("NAN", double(b), double(b));
        // Of two NaNs the dividend is handed on, and the last operand of a sum.
        let quiet = self.pair("DADD", vec![double(b), double(a)]);
        let other = self.select_double(quiet, other, unordered, false);
        let whole = self.is_usual_double(a);
        let both = self.flag();
        self.plop(None, both, Operand::Predicate(plain, false), Operand::Predicate(whole, false), 0xc0);
        let result = self.select_double(usual, other, both, false);
        self.set(d, result);
        Ok(())
    }

    /// The root of 64 bits.
    pub(super) fn root_double(&mut self, d: Def, a: &Value, rnd: AddFloatRnd) -> Done {
        let a = self.double(a)?;
        let (x, exponent) = self.taken_apart(a);
        // An odd exponent gives one to the number; with the bias, which is odd, that is an even one.
        let one = self.constant(1);
        let odd = self.lop(Operand::low(exponent), one.clone(), 0xc0);
        let even = self.compare("ISETP.EQ.U32.AND", Operand::low(odd), Operand::zero());
        let twice = self.pair("DADD", vec![double(x), double(x)]);
        let x = self.select_double(twice, x, even, false);
        let cut = self.cut_root(x);
        let sum = self.add(Operand::low(exponent), Operand::number(BIAS));
        let halved = self.one("SHF.R.S32.HI", vec![Operand::zero(), one, Operand::low(sum)]);
        let usual = self.put_together(&cut, halved, Operand::zero(), rnd);
        // Zeros, infinity and NaN stay; of what is negative there is no root.
        let same = self.pair("DADD", vec![double(a), double(a)]);
        let infinite = self.constant64(f64::INFINITY.to_bits());
        let nothing = self.pair("DADD", vec![double(infinite), double(infinite).signed("-")]);
        let negative = self.compare_double("LT", double(a), Operand::zero());
        let other = self.select_double(nothing, same, negative, false);
        let plain = self.is_usual_double(a);
        let positive = self.flag();
        self.plop(
            None,
            positive,
            Operand::Predicate(plain, false),
            Operand::Predicate(negative, false),
            0x30,
        );
        let result = self.select_double(usual, other, positive, false);
        self.set(d, result);
        Ok(())
    }

    /// About 50 bits of the inverse root: one step from the unit's, of a subnormal scaled.
    pub(super) fn inverse_root_double(&mut self, d: Def, a: &Value) -> Done {
        let a = self.double(a)?;
        let (up, back) = (self.constant64(TWO_54), self.constant64(TWO_27));
        let exponent = self.lop(Operand::part(a, 1), Operand::number(EXPONENTS << EXPONENT_AT), 0xc0);
        let tiny = self.compare("ISETP.EQ.U32.AND", Operand::low(exponent), Operand::zero());
        let scaled = self.pair("DMUL", vec![double(a), double(up)]);
        let x = self.select_double(scaled, a, tiny, false);
        let guess = self.one("MUFU.RSQ64H", vec![Operand::part(x, 1)]);
        let root = self.join(Operand::zero(), Operand::low(guess));
        // With e = 1 - x * root^2 it is root * (1 + e/2 + 3/8 * e^2 ...).
        let square = self.pair("DMUL", vec![double(root), double(root)]);
        let unit = self.constant64(1.0_f64.to_bits());
        let error = self.fused("", double(square).signed("-"), double(x), double(unit));
        let (eighths, half) = (self.constant64(0.375_f64.to_bits()), self.constant64(0.5_f64.to_bits()));
        let factor = self.fused("", double(error), double(eighths), double(half));
        let part = self.pair("DMUL", vec![double(root), double(error)]);
        let better = self.fused("", double(factor), double(part), double(root));
        let scaled = self.pair("DMUL", vec![double(better), double(back)]);
        let usual = self.select_double(scaled, better, tiny, false);
        let infinity = self.constant64(f64::INFINITY.to_bits());
        let infinite = self.compare_double("EQ", double(a), double(infinity));
        let nothing = self.constant64(0);
        let result = self.select_double(nothing, usual, infinite, false);
        let negative = self.compare_double("LT", double(a), Operand::zero());
        let invalid = self.pair("DADD", vec![double(infinity), double(infinity).signed("-")]);
        let result = self.select_double(invalid, result, negative, false);
        let zero = self.compare_double("EQ", double(a), Operand::zero());
        let high = self.lop(Operand::part(a, 1), Operand::number(EXPONENTS << EXPONENT_AT), 0xfc);
        let pole = self.join(Operand::zero(), Operand::low(high));
        let result = self.select_double(pole, result, zero, false);
        let unordered = self.compare_double("NAN", double(a), double(a));
        let quiet = self.pair("DADD", vec![double(a), double(a)]);
        let result = self.select_double(quiet, result, unordered, false);
        self.set(d, result);
        Ok(())
    }

    /// A cut result of 32 bits, as double: the last bit is set if anything was cut off, for a conversion to round.
    fn rounded_to_odd(&mut self, cut: &Cut, sign: Operand) -> Reg {
        let any = self.flag();
        self.plop(None, any, Operand::Predicate(cut.half, false), Operand::Predicate(cut.more, false), 0xfc);
        let one = self.constant(1);
        let last = self.select_word(one, Operand::zero(), any, false);
        let low = self.lop(Operand::part(cut.value, 0), Operand::low(last), 0xfc);
        let high = self.lop(Operand::part(cut.value, 1), sign, 0xfc);
        self.join(Operand::low(low), Operand::low(high))
    }

    /// `a / b` of 32 bits for operands that are neither zero nor infinite nor NaN.
    pub(super) fn quotient_rounded(&mut self, x: Reg, y: Reg, ftz: bool, rnd: &str) -> Result<Reg, Refusal> {
        let magnitude = |this: &mut Self, value: Reg| {
            let high = this.lop(Operand::part(value, 1), Operand::number(!SIGN), 0xc0);
            this.join(Operand::part(value, 0), Operand::low(high))
        };
        let (positive, by) = (magnitude(self, x), magnitude(self, y));
        let cut = self.cut_quotient(positive, by);
        let signs = self.lop(Operand::part(x, 1), Operand::part(y, 1), 0x3c);
        let sign = self.lop(Operand::low(signs), Operand::number(SIGN), 0xc0);
        let odd = self.rounded_to_odd(&cut, Operand::low(sign));
        let rounded = self.one(format!("F2F.F32.F64{rnd}"), vec![double(odd)]);
        if !ftz {
            return Ok(rounded);
        }
        // What is below the least normal number is flushed, also where it would be rounded to that, which F2F.FTZ leaves.
        let least = self.constant64(u64::from(BIAS - LEAST_EXPONENT) << FRACTION);
        let tiny = self.compare_double("LT", double(odd).signed("|"), double(least));
        Ok(self.select_word(Operand::low(sign), Operand::low(rounded), tiny, false))
    }

    /// The root of 32 bits of a positive finite number.
    pub(super) fn root_rounded(&mut self, x: Reg, rnd: &str) -> Reg {
        let cut = self.cut_root(x);
        let odd = self.rounded_to_odd(&cut, Operand::zero());
        self.one(format!("F2F.F32.F64{rnd}"), vec![double(odd)])
    }
}
