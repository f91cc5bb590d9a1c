//! Floats of 32 and 64 bits (PTX ISA, "Floating-Point Instructions").

use super::integer::combination;
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Def, Value};
use ptx::types::ScalarType;

/// 2^-126, the least normal number.
const LEAST_NORMAL: u32 = 0x0080_0000;
/// 2^24, 2^-12, 2^12.
const UP: u32 = 0x4b80_0000;
const DOWN_ROOT: u32 = 0x3980_0000;
const UP_ROOT: u32 = 0x4580_0000;

/// Rounding as a modifier; nothing is to nearest.
pub(super) fn rounding(rnd: Option<i::AddFloatRnd>) -> &'static str {
    match rnd {
        None | Some(i::AddFloatRnd::Rn) => "",
        Some(i::AddFloatRnd::Rz) => ".RZ",
        Some(i::AddFloatRnd::Rm) => ".RM",
        Some(i::AddFloatRnd::Rp) => ".RP",
    }
}

pub(super) fn flag(is: bool, text: &'static str) -> &'static str {
    if is { text } else { "" }
}

impl Select<'_> {
    pub(super) fn floats(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::AddFloat(op) => {
                self.arithmetic("ADD", (op.rnd, op.ftz, op.sat, op.ty), op.d, &[&op.a, &op.b], false)
            }
            Op::SubFloat(op) => {
                self.arithmetic("ADD", (op.rnd, op.ftz, op.sat, op.ty), op.d, &[&op.a, &op.b], true)
            }
            Op::MulFloat(op) => {
                self.arithmetic("MUL", (op.rnd, op.ftz, op.sat, op.ty), op.d, &[&op.a, &op.b], false)
            }
            Op::FmaFloat(op) => {
                self.arithmetic("FMA", (op.rnd, op.ftz, op.sat, op.ty), op.d, &[&op.a, &op.b, &op.c], false)
            }
            Op::AddF32x2(op) => self.two_singles("FADD", (op.rnd, op.ftz), op.d, &[&op.a, &op.b], false),
            Op::SubF32x2(op) => self.two_singles("FADD", (op.rnd, op.ftz), op.d, &[&op.a, &op.b], true),
            Op::MulF32x2(op) => self.two_singles("FMUL", (op.rnd, op.ftz), op.d, &[&op.a, &op.b], false),
            Op::FmaF32x2(op) => {
                self.two_singles("FFMA", (Some(op.rnd), op.ftz), op.d, &[&op.a, &op.b, &op.c], false)
            }
            Op::NegFloat(op) => self.sign(op.ty, op.ftz, op.d, &op.a, "-"),
            Op::AbsFloat(op) => self.sign(op.ty, op.ftz, op.d, &op.a, "|"),
            Op::MinFloat(op) if op.ty == ScalarType::F64 => self.extreme_double(op.d, &op.a, &op.b, false),
            Op::MaxFloat(op) if op.ty == ScalarType::F64 => self.extreme_double(op.d, &op.a, &op.b, true),
            Op::MinFloat(op) => {
                let kind = extreme_of(op.ftz, op.nan, op.xorsign);
                self.float_extreme("FMNMX", &kind, None, op.d, [&op.a, &op.b], false)
            }
            Op::MaxFloat(op) => {
                let kind = extreme_of(op.ftz, op.nan, op.xorsign);
                self.float_extreme("FMNMX", &kind, None, op.d, [&op.a, &op.b], true)
            }
            Op::Min3Float(op) => {
                self.extreme_of_three((op.ftz, op.nan, op.abs), op.d, [&op.a, &op.b, &op.c], false)
            }
            Op::Max3Float(op) => {
                self.extreme_of_three((op.ftz, op.nan, op.abs), op.d, [&op.a, &op.b, &op.c], true)
            }
            Op::Copysign(op) => self.copysign(op),
            Op::Sin(op) => self.wave("MUFU.SIN", op.ftz, op.d, &op.a),
            Op::Cos(op) => self.wave("MUFU.COS", op.ftz, op.d, &op.a),
            Op::TanhFloat(op) => self.function("MUFU.TANH", op.d, &op.a),
            Op::Ex2Float(op) => self.exponential(op),
            Op::Lg2(op) => {
                self.scaled("MUFU.LG2", op.ftz, op.d, &op.a, Some(("FADD", (-24.0_f32).to_bits())))
            }
            Op::SqrtApprox(op) => self.scaled("MUFU.SQRT", op.ftz, op.d, &op.a, Some(("FMUL", DOWN_ROOT))),
            Op::RsqrtApprox(op) if op.ty == ScalarType::F32 => {
                self.scaled("MUFU.RSQ", op.ftz, op.d, &op.a, Some(("FMUL", UP_ROOT)))
            }
            Op::RcpApprox(op) if op.ty == ScalarType::F32 && op.ftz => self.function("MUFU.RCP", op.d, &op.a),
            Op::RcpApprox(op) if op.ty == ScalarType::F32 => self.reciprocal(op),
            Op::RcpApprox(op) => self.upper("MUFU.RCP64H", op.d, &op.a),
            Op::RsqrtApprox(op) if op.ftz => self.upper("MUFU.RSQ64H", op.d, &op.a),
            Op::RsqrtApprox(op) => self.inverse_root_double(op.d, &op.a),
            Op::DivFloatApprox(op) => self.quotient(op.d, &op.a, &op.b, op.ftz, false),
            Op::DivFloatFull(op) => self.quotient(op.d, &op.a, &op.b, op.ftz, true),
            Op::DivFloat(op) if op.ty == ScalarType::F32 => {
                self.divide_float(op.d, &op.a, &op.b, op.ftz, op.rnd)
            }
            Op::DivFloat(op) => self.divide_double(op.d, &op.a, &op.b, op.rnd),
            Op::Rcp(op) if op.ty == ScalarType::F32 => {
                self.divide_float(op.d, &Value::Constant(0x3f80_0000), &op.a, op.ftz, op.rnd)
            }
            Op::Rcp(op) => self.divide_double(op.d, &Value::Constant(1.0_f64.to_bits()), &op.a, op.rnd),
            Op::Sqrt(op) if op.ty == ScalarType::F32 => self.root(op),
            Op::Sqrt(op) => self.root_double(op.d, &op.a, op.rnd),
            Op::SetpFloat(op) => self.setp_float(op),
            Op::SetFloat(op) => self.set_float(op),
            _ => return None,
        })
    }

    fn arithmetic(
        &mut self,
        name: &str,
        (rnd, ftz, sat, ty): (Option<i::AddFloatRnd>, bool, bool, ScalarType),
        d: Def,
        values: &[&Value],
        minus: bool,
    ) -> Done {
        let double = ty == ScalarType::F64;
        let prefix = if double { "D" } else { "F" };
        let name = format!("{prefix}{name}{}{}{}", flag(ftz, ".FTZ"), rounding(rnd), flag(sat, ".SAT"));
        let mut operands = Vec::new();
        for value in values {
            operands.push(if double { Operand::wide(self.double(value)?, 2) } else { self.word(value)? });
        }
        if minus && let Some(last) = operands.pop() {
            operands.push(last.signed("-"));
        }
        let result = if double { self.pair(name, operands) } else { self.one(name, operands) };
        self.set(d, result);
        Ok(())
    }

    /// Two sums or products of singles, one after the other, as ptxas makes them for sm_120.
    fn two_singles(
        &mut self,
        name: &str,
        (rnd, ftz): (Option<i::AddFloatRnd>, bool),
        d: Def,
        values: &[&Value],
        minus: bool,
    ) -> Done {
        let name = format!("{name}{}{}", flag(ftz, ".FTZ"), rounding(rnd));
        let pairs = values.iter().map(|value| self.double(value)).collect::<Result<Vec<_>, _>>()?;
        let result = self.temporary(2);
        for part in 0..2 {
            let mut read: Vec<_> = pairs.iter().map(|&pair| Operand::part(pair, part)).collect();
            if minus && let Some(last) = read.pop() {
                read.push(last.signed("-"));
            }
            self.code.push(None, name.as_str(), vec![Operand::part(result, part)], read);
        }
        self.set(d, result);
        Ok(())
    }

    /// The least or greatest of three, or of their magnitudes: that of two, and of it and the third.
    fn extreme_of_three(
        &mut self,
        (ftz, nan, abs): (bool, bool, bool),
        d: Def,
        values: [&Value; 3],
        max: bool,
    ) -> Done {
        let name = format!("FMNMX{}{}", flag(ftz, ".FTZ"), flag(nan, ".NAN"));
        let mut read = Vec::new();
        for value in values {
            let word = self.word(value)?;
            read.push(if abs { word.signed("|") } else { word });
        }
        let [a, b, c] = <[Operand; 3]>::try_from(read).map_err(|_| "of three")?;
        let two = self.one(name.as_str(), vec![a, b, Operand::always(max)]);
        let result = self.one(name.as_str(), vec![Operand::low(two), c, Operand::always(max)]);
        self.set(d, result);
        Ok(())
    }

    fn sign(&mut self, ty: ScalarType, ftz: bool, d: Def, a: &Value, sign: &'static str) -> Done {
        let result = if ty == ScalarType::F64 {
            // A NaN becomes quiet.
            let a = Operand::wide(self.double(a)?, 2).signed(sign);
            self.pair("DADD", vec![Operand::Text("-RZ".into()), a])
        } else {
            let a = self.word(a)?;
            self.one(format!("FADD{}", flag(ftz, ".FTZ")), vec![Operand::Text("-RZ".into()), a.signed(sign)])
        };
        self.set(d, result);
        Ok(())
    }

    /// The least or greatest of two words, or of two pairs of halves if they are `halves`.
    pub(super) fn float_extreme(
        &mut self,
        name: &str,
        (kind, sign): &(String, &'static str),
        halves: Option<ScalarType>,
        d: Def,
        values: [&Value; 2],
        max: bool,
    ) -> Done {
        let mut read = Vec::new();
        for value in values {
            let mut operand = self.word(value)?;
            if !sign.is_empty() {
                operand = operand.signed(sign);
            }
            read.push(halves.map_or(operand.clone(), |ty| super::half::lanes(operand, ty)));
        }
        read.push(Operand::always(max));
        let result = self.one(format!("{name}{kind}"), read);
        self.set(d, result);
        Ok(())
    }

    fn extreme_double(&mut self, d: Def, a: &Value, b: &Value, max: bool) -> Done {
        let (a, b) = (self.double(a)?, self.double(b)?);
        let (first, quiet) = (self.flag(), self.flag());
        let written = vec![Operand::Predicate(first, false), Operand::Predicate(quiet, false)];
        let name = if max { "DSETP.MAX.AND" } else { "DSETP.MIN.AND" };
        self.code.push(
            None,
            name,
            written,
            vec![Operand::wide(a, 2), Operand::wide(b, 2), Operand::always(false)],
        );
        let to = self.temporary(2);
        for part in 0..2 {
            let read = vec![Operand::part(a, part), Operand::part(b, part), Operand::Predicate(first, false)];
            self.code.push(None, "SEL", vec![Operand::part(to, part)], read);
        }
        // Of a NaN the quiet form is taken.
        let read = vec![
            Operand::part(b, 1),
            Operand::number(0x80000),
            Operand::zero(),
            Operand::number(0xfc),
            Operand::always(true),
        ];
        let quieted = self.one("LOP3.LUT", read);
        let high = self.select_word(Operand::low(quieted), Operand::part(to, 1), quiet, false);
        let result = self.join(Operand::part(to, 0), Operand::low(high));
        self.set(d, result);
        Ok(())
    }

    fn copysign(&mut self, op: &i::Copysign) -> Done {
        let table = |this: &mut Self, sign: Operand, value: Operand| {
            this.one(
                "LOP3.LUT",
                vec![value, Operand::number(0x8000_0000), sign, Operand::number(0xb8), Operand::always(true)],
            )
        };
        let result = if op.ty == ScalarType::F64 {
            let (a, b) = (self.double(&op.a)?, self.double(&op.b)?);
            let high = table(self, Operand::part(a, 1), Operand::part(b, 1));
            self.join(Operand::part(b, 0), Operand::low(high))
        } else {
            let (a, b) = (self.word(&op.a)?, self.word(&op.b)?);
            table(self, a, b)
        };
        self.set(op.d, result);
        Ok(())
    }

    fn function(&mut self, name: &str, d: Def, a: &Value) -> Done {
        let a = self.word(a)?;
        let result = self.one(name, vec![a]);
        self.set(d, result);
        Ok(())
    }

    /// Of the upper half of a double, with zeros below.
    fn upper(&mut self, name: &str, d: Def, a: &Value) -> Done {
        let a = self.double(a)?;
        let high = self.one(name, vec![Operand::part(a, 1)]);
        let result = self.join(Operand::zero(), Operand::low(high));
        self.set(d, result);
        Ok(())
    }

    /// Sine and cosine take their argument in turns.
    fn wave(&mut self, name: &str, ftz: bool, d: Def, a: &Value) -> Done {
        let a = self.word(a)?;
        let turns = self.one("MOV", vec![Operand::number(0x3e22_f983)]);
        let a = self.one(format!("FMUL{}.RZ", flag(ftz, ".FTZ")), vec![a, Operand::low(turns)]);
        let result = self.one(name, vec![Operand::low(a)]);
        self.set(d, result);
        Ok(())
    }

    fn exponential(&mut self, op: &i::Ex2Float) -> Done {
        if op.ftz {
            return self.function("MUFU.EX2", op.d, &op.a);
        }
        let a = self.word(&op.a)?;
        let bound = self.constant((-126.0_f32).to_bits());
        let normal = self.compare("FSETP.GEU.AND", a.clone(), bound);
        let half = self.constant(0.5_f32.to_bits());
        let argument = self.unless(normal, "FMUL", a, Some(half));
        let power = self.one("MUFU.EX2", vec![Operand::low(argument)]);
        let result = self.unless(normal, "FMUL", Operand::low(power), None);
        self.set(op.d, result);
        Ok(())
    }

    /// The unit takes a subnormal for zero: scaled by 2^24, and the result set right.
    fn scaled(&mut self, name: &str, ftz: bool, d: Def, a: &Value, back: Option<(&str, u32)>) -> Done {
        let Some((undo, by)) = back.filter(|_| !ftz) else { return self.function(name, d, a) };
        let a = self.word(a)?;
        let normal = self.is_normal(a.clone());
        let up = self.constant(UP);
        let argument = self.unless(normal, "FMUL", a, Some(up));
        let value = self.one(name, vec![Operand::low(argument)]);
        let by = self.constant(by);
        let result = self.unless(normal, undo, Operand::low(value), Some(by));
        self.set(d, result);
        Ok(())
    }

    fn is_normal(&mut self, a: Operand) -> Reg {
        let least = self.constant(LEAST_NORMAL);
        self.compare("FSETP.GEU.AND", a.signed("|"), least)
    }

    fn reciprocal(&mut self, op: &i::RcpApprox) -> Done {
        let a = self.word(&op.a)?;
        let scale = self.scale(a.clone());
        let argument = self.one("FMUL", vec![Operand::low(scale), a]);
        let value = self.one("MUFU.RCP", vec![Operand::low(argument)]);
        let result = self.one("FMUL", vec![Operand::low(scale), Operand::low(value)]);
        self.set(op.d, result);
        Ok(())
    }

    /// What brings a divisor to where its reciprocal is normal: 2^24 for subnormals, 1/4 above 2^126.
    fn scale(&mut self, a: Operand) -> Reg {
        let normal = self.is_normal(a.clone());
        let bound = self.constant(0x7e80_0000);
        let large = self.compare("FSETP.GT.AND", a.signed("|"), bound);
        let (one, up, down) = (self.constant(0x3f80_0000), self.constant(UP), self.constant(0x3e80_0000));
        let first = self.select_word(one, up, normal, false);
        self.select_word(down, Operand::low(first), large, false)
    }

    fn quotient(&mut self, d: Def, a: &Value, b: &Value, ftz: bool, full: bool) -> Done {
        let (a, b) = (self.word(a)?, self.word(b)?);
        let mul = if ftz { "FMUL.FTZ" } else { "FMUL" };
        let (a, b) = if ftz && !full {
            (a, b)
        } else {
            let scale = if full {
                self.scale(b.clone())
            } else {
                let normal = self.is_normal(b.clone());
                let (one, up) = (self.constant(0x3f80_0000), self.constant(UP));
                self.select_word(one, up, normal, false)
            };
            let a = self.one(mul, vec![a, Operand::low(scale)]);
            let b = self.one(mul, vec![b, Operand::low(scale)]);
            (Operand::low(a), Operand::low(b))
        };
        let reciprocal = self.one("MUFU.RCP", vec![b]);
        let result = self.one(mul, vec![Operand::low(reciprocal), a]);
        self.set(d, result);
        Ok(())
    }

    fn compare_float(
        &mut self,
        name: String,
        ty: ScalarType,
        a: &Value,
        b: &Value,
        with: Operand,
    ) -> Result<(Reg, Reg), Refusal> {
        let (to, opposite) = (self.flag(), self.flag());
        let written = vec![Operand::Predicate(to, false), Operand::Predicate(opposite, false)];
        let (prefix, a, b) = match ty {
            ScalarType::F64 => ("D", Operand::wide(self.double(a)?, 2), Operand::wide(self.double(b)?, 2)),
            _ => ("F", self.word(a)?, self.word(b)?),
        };
        self.code.push(None, format!("{prefix}SETP{name}"), written, vec![a, b, with]);
        Ok((to, opposite))
    }

    fn setp_float(&mut self, op: &i::SetpFloat) -> Done {
        let name = comparison(op.cmp, flag(op.ftz, ".FTZ"), op.combine);
        let with = self.predicate_operand(op.c.as_ref())?;
        let (to, opposite) = self.compare_float(name, op.ty, &op.a, &op.b, with)?;
        self.set_flags(op.p, op.q, to, opposite);
        Ok(())
    }

    fn set_float(&mut self, op: &i::SetFloat) -> Done {
        let name = comparison(op.cmp, flag(op.ftz, ".FTZ"), op.combine);
        let with = self.predicate_operand(op.c.as_ref())?;
        let (to, _) = self.compare_float(name, op.stype, &op.a, &op.b, with)?;
        self.truth(op.d, op.dtype, to)
    }
}

/// The modifiers of a minimum or maximum, and the sign in front of its operands: with `.xorsign` magnitudes are compared.
pub(super) fn extreme_of(ftz: bool, nan: bool, xorsign: bool) -> (String, &'static str) {
    let kind = [flag(ftz, ".FTZ"), flag(nan, ".NAN"), flag(xorsign, ".XORSIGN")].concat();
    (kind, flag(xorsign, "|"))
}

/// `.LT.FTZ.AND`.
pub(super) fn comparison(cmp: i::SetFloatCmp, ftz: &str, combine: Option<i::SetIntBool>) -> String {
    format!("{}{ftz}.{}", cmp.modifier().text().to_uppercase(), combination(combine))
}
