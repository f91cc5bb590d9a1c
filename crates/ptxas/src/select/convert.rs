//! Conversions (PTX ISA, "cvt").

use super::float::rounding;
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::Value;
use ptx::types::{ScalarType, TypeKind};
use smol_str::format_smolstr;

fn signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}

/// A format of 16 bits in nvdisasm's spelling.
fn half_format(ty: ScalarType) -> &'static str {
    if ty == ScalarType::Bf16 { "BF16" } else { "F16" }
}

impl Select<'_> {
    pub(super) fn conversions(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::CvtInt(op) => self.integer_to_integer(op),
            Op::CvtIntToFloat(op) => self.integer_to_float(op),
            Op::CvtFloatToInt(op) => self.float_to_integer(op),
            Op::CvtFloat(op) => self.float_to_float(op),
            Op::CvtPackFloat(op) => self.two_floats(op),
            Op::CvtFloatX2(op) => self.pair_to_pair(op),
            _ => return None,
        })
    }

    fn integer_to_integer(&mut self, op: &i::CvtInt) -> Done {
        if op.sat {
            if op.atype.bits() == 64 || op.dtype.bits() >= 32 {
                return self.saturated_integer(op);
            }
            let a = self.extended(&op.a, op.atype)?;
            let result = self.clamp(a, signed(op.atype), op.dtype);
            self.set_extended(op.d, result, op.dtype);
            return Ok(());
        }
        if op.dtype.bits() == 64 && op.atype.bits() < 64 {
            let low = self.extended(&op.a, op.atype)?;
            let high = match signed(op.atype) {
                true => Operand::low(
                    self.one("SHF.R.S32.HI", vec![Operand::zero(), Operand::number(31), low.clone()]),
                ),
                false => Operand::zero(),
            };
            let result = self.join(low, high);
            self.set(op.d, result);
            return Ok(());
        }
        if op.dtype.bits() == 64 {
            let a = self.double(&op.a)?;
            let result = self.join(Operand::part(a, 0), Operand::part(a, 1));
            self.set(op.d, result);
            return Ok(());
        }
        let low = match op.atype.bits() {
            64 => Operand::part(self.double(&op.a)?, 0),
            bits if bits < op.dtype.bits() => self.extended(&op.a, op.atype)?,
            _ => self.word(&op.a)?,
        };
        let result = self.one("MOV", vec![low]);
        self.set_extended(op.d, result, op.dtype);
        Ok(())
    }

    /// The nearest number of the type, by way of 64 bits.
    fn saturated_integer(&mut self, op: &i::CvtInt) -> Done {
        let is_signed = signed(op.atype);
        let mut value = match op.atype.bits() {
            64 => self.double(&op.a)?,
            _ => {
                let word = self.extended(&op.a, op.atype)?;
                self.widened(word, is_signed)
            }
        };
        // What has no sign has its bits; that of the greatest has none.
        let bits = op.dtype.bits() - u32::from(signed(op.dtype));
        if bits < 63 || !is_signed && signed(op.dtype) {
            let most = self.constant64(u64::MAX >> (64 - bits));
            value = self.chosen64("LT", is_signed, value, most);
        }
        if is_signed {
            let least = if signed(op.dtype) { i64::MIN >> (63 - bits) } else { 0 };
            let least = self.constant64(least as u64);
            value = self.chosen64("GT", true, value, least);
        }
        let result = match op.dtype.bits() {
            64 => value,
            _ => self.one("MOV", vec![Operand::part(value, 0)]),
        };
        self.set_extended(op.d, result, op.dtype);
        Ok(())
    }

    /// A number of 32 bits at its nearest among those of a narrower type.
    fn clamp(&mut self, a: Operand, is_signed: bool, ty: ScalarType) -> Reg {
        let (least, most): (i64, i64) = match signed(ty) {
            true => (-(1 << (ty.bits() - 1)), (1 << (ty.bits() - 1)) - 1),
            false => (0, (1 << ty.bits()) - 1),
        };
        let kind = if is_signed { "" } else { ".U32" };
        let most = self.constant(most as u32);
        let below = self.one(format!("VIMNMX{kind}"), vec![a, most, Operand::always(false)]);
        if !is_signed {
            return below;
        }
        let least = self.constant(least as u32);
        self.one("VIMNMX", vec![Operand::low(below), least, Operand::always(true)])
    }

    fn integer_to_float(&mut self, op: &i::CvtIntToFloat) -> Done {
        let kind = match (signed(op.atype), op.atype.bits()) {
            (true, 64) => ".S64",
            (false, 64) => ".U64",
            (true, _) => "",
            (false, _) => ".U32",
        };
        let a = match op.atype.bits() {
            64 => Operand::wide(self.double(&op.a)?, 2),
            _ => self.extended(&op.a, op.atype)?,
        };
        let rnd = rounding(Some(op.rnd));
        let result = match op.dtype {
            ScalarType::F64 => self.pair(format!("I2F.F64{kind}{rnd}"), vec![a]),
            // The integer pipe has the usual ones.
            ScalarType::F32
                if op.atype.bits() < 64 && matches!(op.rnd, i::AddFloatRnd::Rn | i::AddFloatRnd::Rz) =>
            {
                let kind = if signed(op.atype) { ".S32" } else { ".U32" };
                self.one(format!("I2FP.F32{kind}{rnd}"), vec![a])
            }
            ScalarType::F32 => self.one(format!("I2F{kind}{rnd}"), vec![a]),
            ScalarType::F16 => self.one(format!("I2F.F16{kind}{rnd}"), vec![a]),
            ScalarType::Bf16 => self.one(format!("I2F.BF16{kind}{rnd}"), vec![a]),
            _ => return Err("to this type".to_owned()),
        };
        let result = if op.sat { self.saturated_float(result, op.dtype)? } else { result };
        self.set(op.d, result);
        Ok(())
    }

    fn float_to_integer(&mut self, op: &i::CvtFloatToInt) -> Done {
        use i::CvtFloatToIntRnd::{Rmi, Rni, Rpi, Rzi};
        let rnd = match op.rnd {
            Rni => "",
            Rzi => ".TRUNC",
            Rmi => ".FLOOR",
            Rpi => ".CEIL",
        };
        // From 64 bits a NaN has a pattern in each type, so that those have conversions of their own.
        let narrow = op.dtype.bits() < 32 && op.atype != ScalarType::F64;
        let kind = match (signed(op.dtype) || narrow, op.dtype.bits()) {
            (true, 64) => ".S64",
            (false, 64) => ".U64",
            (true, 16) if !narrow => ".S16",
            (false, 16) => ".U16",
            (true, 8) if !narrow => ".S8",
            (false, 8) => ".U8",
            (true, _) => "",
            (false, _) => ".U32",
        };
        let (source, a) = match op.atype {
            ScalarType::F64 => (".F64", Operand::wide(self.double(&op.a)?, 2)),
            ScalarType::F32 => ("", self.word(&op.a)?),
            ScalarType::F16 => (".F16", self.word(&op.a)?),
            ScalarType::Bf16 => (".BF16", self.word(&op.a)?),
            _ => return Err("from this type".to_owned()),
        };
        let ftz = if op.ftz { ".FTZ" } else { "" };
        let ntz = if op.dtype.bits() == 64 || op.atype == ScalarType::F64 { "" } else { ".NTZ" };
        let name = format!("F2I{ftz}{kind}{source}{rnd}{ntz}");
        let result = if op.dtype.bits() == 64 { self.pair(name, vec![a]) } else { self.one(name, vec![a]) };
        let result = if narrow { self.clamp(Operand::low(result), true, op.dtype) } else { result };
        self.set_extended(op.d, result, op.dtype);
        Ok(())
    }

    fn float_to_float(&mut self, op: &i::CvtFloat) -> Done {
        use ScalarType::{Bf16, F16, F32, F64, Tf32};
        use i::CvtFloatRnd::{Rm, Rmi, Rn, Rna, Rni, Rp, Rpi, Rz, Rzi};
        let ftz = if op.ftz { ".FTZ" } else { "" };
        let a = match op.atype {
            F64 => Operand::wide(self.double(&op.a)?, 2),
            _ => self.word(&op.a)?,
        };
        if op.dtype == Tf32 {
            return self.rounded_to_tf32(op);
        }
        if (op.relu || op.satfinite) && (op.atype != F32 || !matches!(op.dtype, F16 | Bf16)) {
            return Err("with such modifiers".to_owned());
        }
        let integral = match op.rnd {
            Some(Rni) => Some(""),
            Some(Rzi) => Some(".TRUNC"),
            Some(Rmi) => Some(".FLOOR"),
            Some(Rpi) => Some(".CEIL"),
            Some(Rm | Rn | Rna | Rp | Rz) | None => None,
        };
        let directed = match op.rnd {
            Some(Rz) => ".RZ",
            Some(Rm) => ".RM",
            Some(Rp) => ".RP",
            _ => "",
        };
        let result = match (op.atype, op.dtype, integral) {
            (F32, F32, Some(rnd)) => self.one(format!("FRND{ftz}{rnd}"), vec![a]),
            (F64, F64, Some(rnd)) => self.pair(format!("FRND.F64{rnd}"), vec![a]),
            (F16, F16, Some(rnd)) => self.one(format!("FRND.F16{rnd}"), vec![a]),
            (Bf16, Bf16, Some(rnd)) => self.one(format!("FRND.BF16{rnd}"), vec![a]),
            (F32, F64, None) if op.ftz => {
                // With a NaN of its own, as in all arithmetic that flushes.
                let flushed = self.one("FADD.FTZ", vec![Operand::Text("-RZ".into()), a]);
                self.pair("F2F.F64.F32", vec![Operand::low(flushed)])
            }
            (F32, F64, None) => self.pair("F2F.F64.F32", vec![a]),
            (F64, F32, None) if op.ftz => self.flushed_single(&op.a, directed)?,
            (F64, F32, None) => self.one(format!("F2F.F32.F64{directed}"), vec![a]),
            // To half precision `.ftz` does nothing: what it flushes is less than half of the least number.
            (F32, F16 | Bf16, None) if matches!(directed, "" | ".RZ") && !(op.ftz && op.dtype == Bf16) => {
                let flags = [(op.satfinite, ".SATFINITE"), (op.relu, ".RELU")];
                let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, text)| *text).collect();
                let name = format!("F2FP{flags}.{}.F32.PACK_AB{directed}", half_format(op.dtype));
                self.one(name, vec![Operand::zero(), a])
            }
            (F32, F16, None) if !op.relu && !op.satfinite => {
                self.one(format!("F2F.F16.F32{directed}"), vec![a])
            }
            (F32, Bf16, None) if !op.relu && !op.satfinite => {
                self.one(format!("F2F{ftz}.BF16.F32{directed}"), vec![a])
            }
            (F16, F32, None) => {
                self.one("HADD2.F32", vec![Operand::Text("-RZ".into()), a.suffixed(".H0_H0")])
            }
            (Bf16, F32, None) => {
                let copied = self.one("SHF.L.U32", vec![a, Operand::number(16), Operand::zero()]);
                match op.ftz {
                    false => copied,
                    true => self.one("FADD.FTZ", vec![Operand::Text("-RZ".into()), Operand::low(copied)]),
                }
            }
            (F16 | Bf16, F64, None) => self.pair(format!("F2F.F64.{}", half_format(op.atype)), vec![a]),
            (F64 | F16 | Bf16, F16 | Bf16, None) if op.atype != op.dtype => {
                let from = if op.atype == F64 { "F64" } else { half_format(op.atype) };
                self.one(format!("F2F.{}.{from}{directed}", half_format(op.dtype)), vec![a])
            }
            (F32, F32, None) if op.ftz => self.one("FADD.FTZ", vec![Operand::Text("-RZ".into()), a]),
            // A NaN stays what it is.
            (F32, F32, None) => self.one("MOV", vec![a]),
            // One of a half becomes that of arithmetic.
            (F16 | Bf16, F16 | Bf16, None) => {
                let kind = if op.dtype == Bf16 { ".BF16_V2" } else { "" };
                let minus_zero = Operand::Text("-RZ".into()).suffixed(".H0_H0");
                self.one(format!("HADD2{kind}"), vec![a.suffixed(".H0_H0"), minus_zero])
            }
            (F64, F64, None) => {
                let a = self.double(&op.a)?;
                self.join(Operand::part(a, 0), Operand::part(a, 1))
            }
            _ => return Err("between these types, or so rounded".to_owned()),
        };
        let result = if op.sat { self.saturated_float(result, op.dtype)? } else { result };
        self.set(op.d, result);
        Ok(())
    }

    /// A double as a single float, flushed if it would be less than the least normal number at the precision of 24 bits. `F2F.FTZ` flushes
    /// what is less at the coarser steps of subnormal numbers.
    fn flushed_single(&mut self, a: &Value, rnd: &str) -> Result<Reg, Refusal> {
        // The first number of each sign that is not flushed, as it is rounded to the least normal one or is that.
        let least = u64::from(1023_u32 - 126) << 52;
        let (half_step, step) = (least - (1 << 28), least - (1 << 29) + 1);
        let (positive, negative) = match rnd {
            ".RZ" => (least, least),
            ".RM" => (least, step),
            ".RP" => (step, least),
            _ => (half_step, half_step),
        };
        let a = self.double(a)?;
        let rounded = self.one(format!("F2F.F32.F64{rnd}"), vec![Operand::wide(a, 2)]);
        let mut limit = self.constant64(positive);
        if positive != negative {
            let other = self.constant64(negative);
            let below = self.compare("ISETP.LT.AND", Operand::part(a, 1), Operand::zero());
            limit = self.select_double(other, limit, below, false);
        }
        let magnitude = Operand::wide(a, 2).signed("|");
        let tiny = self.compare("DSETP.LT.AND", magnitude, Operand::wide(limit, 2));
        let sign = self.lop(Operand::part(a, 1), Operand::number(1 << 31), 0xc0);
        Ok(self.select_word(Operand::low(sign), Operand::low(rounded), tiny, false))
    }

    /// A float cut off at 0 and 1; a NaN is 0.
    fn saturated_float(&mut self, value: Reg, ty: ScalarType) -> Result<Reg, Refusal> {
        let minus_zero = Operand::Text("-RZ".into());
        Ok(match ty {
            ScalarType::F32 => self.one("FADD.SAT", vec![minus_zero, Operand::low(value)]),
            ScalarType::F16 => {
                let read = vec![Operand::low(value).suffixed(".H0_H0"), minus_zero.suffixed(".H0_H0")];
                self.one("HADD2.SAT", read)
            }
            ScalarType::F64 => self.between_zero_and_one(value),
            _ => return Err("with .sat to this type".to_owned()),
        })
    }

    /// The same of a double, for which no instruction does it.
    fn between_zero_and_one(&mut self, value: Reg) -> Reg {
        let zero = self.constant64(0);
        let is_more = self.compare("DSETP.GT.AND", Operand::wide(value, 2), Operand::wide(zero, 2));
        let value = self.select_double(value, zero, is_more, false);
        let one = self.constant64(1.0_f64.to_bits());
        let is_less = self.compare("DSETP.LT.AND", Operand::wide(value, 2), Operand::wide(one, 2));
        self.select_double(value, one, is_less, false)
    }

    /// A float without the bits that a factor of a product has not.
    fn rounded_to_tf32(&mut self, op: &i::CvtFloat) -> Done {
        let a = self.word(&op.a)?;
        let rnd = match op.rnd {
            Some(i::CvtFloatRnd::Rna) => return self.tf32_away_from_zero(op, a),
            Some(i::CvtFloatRnd::Rz) => ".RZ",
            _ => "",
        };
        if op.satfinite {
            return Err("with this modifier, which sm_90 does not have".to_owned());
        }
        let relu = if op.relu { ".RELU" } else { "" };
        let result = self.one(format!("F2FP{relu}.TF32.F32.PACK_B{rnd}{NO_OTHERS}"), vec![a]);
        self.set(op.d, result);
        Ok(())
    }

    /// Halfway cases go away from zero: half of the last bit is added to what is no infinity and no NaN, and the bits behind it go.
    fn tf32_away_from_zero(&mut self, op: &i::CvtFloat, a: Operand) -> Done {
        let a = Operand::low(self.one("MOV", vec![a]));
        let infinite = |this: &mut Self, value: Operand| {
            let infinity = this.constant(f32::INFINITY.to_bits());
            this.compare("FSETP.GEU.AND", value.signed("|"), infinity)
        };
        let is_none = infinite(self, a.clone());
        let raised = self.add(a.clone(), Operand::number(TF32_LAST / 2));
        let rounded = self.select_word(a, Operand::low(raised), is_none, false);
        let mask = Operand::number(TF32_LAST.wrapping_neg());
        let mut result = self.lop(Operand::low(rounded), mask, 0xc0);
        if op.satfinite {
            let beyond = infinite(self, Operand::low(result));
            let greatest = self.add(Operand::low(result), Operand::Text(format_smolstr!("-{TF32_LAST:#x}")));
            result = self.select_word(Operand::low(greatest), Operand::low(result), beyond, false);
        }
        self.set(op.d, result);
        Ok(())
    }

    /// Two floats as a pair of narrower ones, the second in the lower part.
    fn two_floats(&mut self, op: &i::CvtPackFloat) -> Done {
        let relu = if op.relu { ".RELU" } else { "" };
        let finite = if op.satfinite { ".SATFINITE" } else { "" };
        let rnd = match op.rnd {
            i::CvtPackFloatRnd::Rn => "",
            i::CvtPackFloatRnd::Rz => ".RZ",
        };
        let (a, b) = (self.word(&op.a)?, self.word(&op.b)?);
        let result = match op.dtype {
            ScalarType::F16x2 => self.one(format!("F2FP{finite}{relu}.F16.F32.PACK_AB{rnd}"), vec![a, b]),
            ScalarType::Bf16x2 => self.one(format!("F2FP{finite}{relu}.BF16.F32.PACK_AB{rnd}"), vec![a, b]),
            ScalarType::E4m3x2 | ScalarType::E5m2x2 => self.bytes(op.dtype, op.relu, a, b),
            _ => return Err("to this type".to_owned()),
        };
        self.set(op.d, result);
        Ok(())
    }

    /// Two floats as floats of 8 bits.
    fn bytes(&mut self, ty: ScalarType, relu: bool, high: Operand, low: Operand) -> Reg {
        let relu = if relu { ".RELU" } else { "" };
        let name = format!("F2FP.SATFINITE{relu}.{}.F32.PACK_AB_MERGE_C", byte_format(ty));
        self.one(name, vec![high, low, Operand::zero()])
    }

    /// Between pairs of halves and of floats of 8 bits.
    fn pair_to_pair(&mut self, op: &i::CvtFloatX2) -> Done {
        use ScalarType::{E4m3x2, E5m2x2, F16x2};
        let a = self.word(&op.a)?;
        let result = match (op.atype, op.dtype) {
            (E4m3x2 | E5m2x2, F16x2) => {
                let relu = if op.relu { ".RELU" } else { "" };
                self.one(format!("F2FP{relu}.F16.{}.UNPACK_B{NO_OTHERS}", byte_format(op.atype)), vec![a])
            }
            (F16x2, E4m3x2 | E5m2x2) => {
                // A half is a single float exactly.
                let minus_zero = || Operand::Text("-RZ".into());
                let high = self.one("HADD2.F32", vec![minus_zero(), a.clone().suffixed(".H1_H1")]);
                let low = self.one("HADD2.F32", vec![minus_zero(), a.suffixed(".H0_H0")]);
                self.bytes(op.dtype, op.relu, Operand::low(high), Operand::low(low))
            }
            _ => return Err("between these types".to_owned()),
        };
        self.set(op.d, result);
        Ok(())
    }
}

/// The last bit that a factor of a product has.
const TF32_LAST: u32 = 1 << 13;
/// RZ in the fields of the two operands that such an instruction does not have, as ptxas leaves them; with R0 there an H100 called it illegal.
pub(super) const NO_OTHERS: &str = " &residue=0xff00000000ff000000";

/// A format of 8 bits in nvdisasm's spelling.
fn byte_format(ty: ScalarType) -> &'static str {
    if ty == ScalarType::E5m2x2 { "E5M2" } else { "E4M3" }
}
