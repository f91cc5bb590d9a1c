//! Floats of 16 bits, one or two in a register (PTX ISA, "Half Precision Floating-Point Instructions").

use super::float::extreme_of;
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction::{AddFloatRnd, FmaHalf, SetFloatCmp, SetHalf, SetIntBool, SetpHalf};
use ir::operand::{Def, Predicate, Value};
use ptx::types::ScalarType;

/// A value with what its type is to the instruction.
pub(super) fn lanes(operand: Operand, ty: ScalarType) -> Operand {
    if ty.bits() == 16 { operand.suffixed(".H0_H0") } else { operand }
}

fn kind(ty: ScalarType) -> &'static str {
    if matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2) { ".BF16_V2" } else { "" }
}

impl Select<'_> {
    pub(super) fn halves(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::AddHalf(op) => self.half("HADD2", op.ty, op.ftz, op.sat, op.d, &[&op.a, &op.b], false),
            Op::SubHalf(op) => self.half("HADD2", op.ty, op.ftz, op.sat, op.d, &[&op.a, &op.b], true),
            Op::MulHalf(op) => self.half("HMUL2", op.ty, op.ftz, op.sat, op.d, &[&op.a, &op.b], false),
            // Of two values at once, ptxas rounds all to nearest.
            Op::FmaHalf(op) if op.rnd == AddFloatRnd::Rn || op.ty.bits() == 32 => self.fused_half(op),
            Op::FmaHalf(op) => self.fused_as_single(op),
            Op::NegHalf(op) => self.half_sign(op.ty, op.ftz, op.d, &op.a, "-"),
            Op::AbsHalf(op) => self.half_sign(op.ty, op.ftz, op.d, &op.a, "|"),
            Op::MinHalf(op) => {
                let modifiers = extreme_of(op.ftz, op.nan, op.xorsign);
                let name = format!("HMNMX2{}", kind(op.ty));
                self.float_extreme(&name, &modifiers, Some(op.ty), op.d, [&op.a, &op.b], false)
            }
            Op::MaxHalf(op) => {
                let modifiers = extreme_of(op.ftz, op.nan, op.xorsign);
                let name = format!("HMNMX2{}", kind(op.ty));
                self.float_extreme(&name, &modifiers, Some(op.ty), op.d, [&op.a, &op.b], true)
            }
            Op::TanhHalf(op) => self.half_function("TANH", op.ty, op.d, &op.a),
            Op::Ex2Half(op) => self.half_function("EX2", op.ty, op.d, &op.a),
            Op::SetpHalf(op) => self.setp_half(op),
            Op::SetHalf(op) => self.set_half(op),
            _ => return None,
        })
    }

    fn setp_half(&mut self, op: &SetpHalf) -> Done {
        let opposite = op.q.filter(|q| q.0.is_some());
        // Of one half the opposite is joined on its own.
        let apart = opposite.is_some() && op.ty.bits() == 16;
        let how = (op.cmp, op.ftz, if apart { None } else { op.combine });
        let with = op.c.as_ref().filter(|_| !apart);
        let (lower, upper) = self.compare_halves(op.ty, how, (&op.a, &op.b, with))?;
        let Some(q) = opposite.filter(|_| apart) else {
            self.set_flag(op.p, lower);
            if let Some(q) = opposite {
                self.set_flag(q, upper);
            }
            return Ok(());
        };
        // With the predicate as 0xcc; without one it holds.
        let with = self.predicate_operand(op.c.as_ref())?;
        let (own, other) = match op.combine {
            None | Some(SetIntBool::And) => (0xc0, 0x0c),
            Some(SetIntBool::Or) => (0xfc, 0xcf),
            Some(SetIntBool::Xor) => (0x3c, 0xc3),
        };
        let (p, not) = (self.flag(), self.flag());
        self.plop(None, p, Operand::Predicate(lower, false), with.clone(), own);
        self.plop(None, not, Operand::Predicate(lower, false), with, other);
        self.set_flag(op.p, p);
        self.set_flag(q, not);
        Ok(())
    }

    /// A comparison of halves: whether it holds for the lower ones, and for the upper ones.
    fn compare_halves(
        &mut self,
        ty: ScalarType,
        (cmp, ftz, combine): (SetFloatCmp, bool, Option<SetIntBool>),
        (a, b, c): (&Value, &Value, Option<&Predicate>),
    ) -> Result<(Reg, Reg), Refusal> {
        let name = super::float::comparison(cmp, if ftz { ".FTZ" } else { "" }, combine);
        let (a, b, with) = (self.word(a)?, self.word(b)?, self.predicate_operand(c)?);
        let (lower, upper) = (self.flag(), self.flag());
        let written = vec![Operand::Predicate(lower, false), Operand::Predicate(upper, false)];
        let read = vec![lanes(a, ty), lanes(b, ty), with];
        self.code.push(None, format!("HSETP2{}{name}", kind(ty)), written, read);
        Ok((lower, upper))
    }

    fn set_half(&mut self, op: &SetHalf) -> Done {
        let how = (op.cmp, op.ftz, op.combine);
        let (lower, upper) = self.compare_halves(op.stype, how, (&op.a, &op.b, op.c.as_ref()))?;
        if op.stype.bits() == 16 {
            return self.truth(op.d, op.dtype, lower);
        }
        let one = super::integer::one_of(op.dtype)? & 0xffff;
        let (below, above) = (self.constant(one), self.constant(one << 16));
        let below = self.select_word(below, Operand::zero(), lower, false);
        let above = self.select_word(above, Operand::zero(), upper, false);
        let result = self.lop(Operand::low(below), Operand::low(above), 0xfc);
        self.set(op.d, result);
        Ok(())
    }

    fn fused_half(&mut self, op: &FmaHalf) -> Done {
        if op.oob && op.ftz {
            return Err("with these modifiers together".to_owned());
        }
        let name = if op.oob { "HFMA2.OOB" } else { "HFMA2" };
        let mut read = Vec::new();
        for value in [&op.a, &op.b, &op.c] {
            let word = self.word(value)?;
            read.push(lanes(word, op.ty));
        }
        let (name, kind) = (name.split_at("HFMA2".len()), kind(op.ty));
        let flags = [(op.ftz, ".FTZ"), (op.sat, ".SAT"), (op.relu, ".RELU")];
        let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, text)| *text).collect();
        let result = self.one(format!("{}{kind}{}{flags}", name.0, name.1), read);
        self.set(op.d, result);
        Ok(())
    }

    /// Rounded otherwise, a bfloat16 is taken for half precision, as ptxas has it: the sum as a single, rounded once more to nearest.
    fn fused_as_single(&mut self, op: &FmaHalf) -> Done {
        let mut wide = Vec::new();
        for value in [&op.a, &op.b, &op.c] {
            let word = self.word(value)?.suffixed(".H0_H0");
            wide.push(Operand::low(self.one("HADD2.F32", vec![Operand::Text("-RZ".into()), word])));
        }
        let sum = self.one(format!("FFMA{}", super::float::rounding(Some(op.rnd))), wide);
        let result = self.one("F2FP.F16.F32.PACK_AB", vec![Operand::zero(), Operand::low(sum)]);
        self.set(op.d, result);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn half(
        &mut self,
        name: &str,
        ty: ScalarType,
        ftz: bool,
        sat: bool,
        d: Def,
        values: &[&Value],
        minus: bool,
    ) -> Done {
        let mut read = Vec::new();
        for value in values {
            let word = self.word(value)?;
            read.push(lanes(word, ty));
        }
        if minus && let Some(last) = read.pop() {
            read.push(last.signed("-"));
        }
        let name =
            format!("{name}{}{}{}", kind(ty), if ftz { ".FTZ" } else { "" }, if sat { ".SAT" } else { "" });
        let result = self.one(name, read);
        self.set(d, result);
        Ok(())
    }

    /// A sum with -0, which makes every NaN the one that arithmetic gives.
    fn half_sign(&mut self, ty: ScalarType, ftz: bool, d: Def, a: &Value, sign: &'static str) -> Done {
        let a = lanes(self.word(a)?.signed(sign), ty);
        let name = format!("HADD2{}{}", kind(ty), if ftz { ".FTZ" } else { "" });
        let result = self.one(name, vec![a, Operand::Text("-RZ".into())]);
        self.set(d, result);
        Ok(())
    }

    /// Of each half, the upper one moved down first.
    fn half_function(&mut self, name: &str, ty: ScalarType, d: Def, a: &Value) -> Done {
        let a = self.word(a)?;
        let kind = if matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2) { "BF16" } else { "F16" };
        let name = format!("MUFU.{name}.{kind}");
        let mut result = self.one(name.clone(), vec![a.clone()]);
        if ty.bits() == 32 {
            let upper = self.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::number(16), a]);
            let upper = self.one(name, vec![Operand::low(upper)]);
            let read = vec![Operand::low(result), Operand::number(0x5410), Operand::low(upper)];
            result = self.one("PRMT", read);
        }
        self.set(d, result);
        Ok(())
    }
}
