//! Floats of 16 bits, one or two in a register (PTX ISA, "Half Precision Floating-Point Instructions").

use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction::{AddFloatRnd, SetFloatCmp, SetHalf, SetIntBool, SetpHalf};
use ir::operand::{Def, Predicate, Value};
use ptx::types::ScalarType;

/// A value with what its type is to the instruction.
fn lanes(operand: Operand, ty: ScalarType) -> Operand {
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
            Op::FmaHalf(op) if !op.oob && !op.relu && op.rnd == AddFloatRnd::Rn => {
                self.half("HFMA2", op.ty, op.ftz, op.sat, op.d, &[&op.a, &op.b, &op.c], false)
            }
            Op::NegHalf(op) if !op.ftz => self.half_sign(op.ty, op.d, &op.a, 0x8000, 0x3c),
            Op::AbsHalf(op) if !op.ftz => self.half_sign(op.ty, op.d, &op.a, 0x7fff, 0xc0),
            Op::MinHalf(op) if !op.xorsign => {
                self.half_extreme(op.ty, op.ftz, op.nan, op.d, &op.a, &op.b, false)
            }
            Op::MaxHalf(op) if !op.xorsign => {
                self.half_extreme(op.ty, op.ftz, op.nan, op.d, &op.a, &op.b, true)
            }
            Op::TanhHalf(op) if op.ty.bits() == 16 => self.half_function("TANH", op.ty, op.d, &op.a),
            Op::Ex2Half(op) if op.ty.bits() == 16 => self.half_function("EX2", op.ty, op.d, &op.a),
            Op::SetpHalf(op) => self.setp_half(op),
            Op::SetHalf(op) => self.set_half(op),
            _ => return None,
        })
    }

    fn setp_half(&mut self, op: &SetpHalf) -> Done {
        let how = (op.cmp, op.ftz, op.combine);
        let (lower, upper) = self.compare_halves(op.ty, how, (&op.a, &op.b, op.c.as_ref()))?;
        let Some(q @ Def(Some(_))) = op.q else {
            self.set_flag(op.p, lower);
            return Ok(());
        };
        let other = match (op.ty.bits(), op.combine) {
            (32, _) => upper,
            (_, None) => {
                let opposite = self.flag();
                self.plop(None, opposite, Operand::Predicate(lower, false), Operand::always(false), 0x0f);
                opposite
            }
            (_, Some(_)) => return Err("with the opposite of what is combined".to_owned()),
        };
        self.set_flag(op.p, lower);
        self.set_flag(q, other);
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

    fn half_sign(&mut self, ty: ScalarType, d: Def, a: &Value, mask: u32, table: u32) -> Done {
        let a = self.word(a)?;
        let mask = if ty.bits() == 32 { mask << 16 | mask } else { mask };
        let result = self.lop(a, Operand::number(mask), table);
        self.set(d, result);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn half_extreme(
        &mut self,
        ty: ScalarType,
        ftz: bool,
        nan: bool,
        d: Def,
        a: &Value,
        b: &Value,
        max: bool,
    ) -> Done {
        let (a, b) = (self.word(a)?, self.word(b)?);
        let name =
            format!("HMNMX2{}{}{}", kind(ty), if ftz { ".FTZ" } else { "" }, if nan { ".NAN" } else { "" });
        let result = self.one(name, vec![lanes(a, ty), lanes(b, ty), Operand::always(max)]);
        self.set(d, result);
        Ok(())
    }

    fn half_function(&mut self, name: &str, ty: ScalarType, d: Def, a: &Value) -> Result<(), Refusal> {
        let a = self.word(a)?;
        let kind = if ty == ScalarType::Bf16 { "BF16" } else { "F16" };
        let result = self.one(format!("MUFU.{name}.{kind}"), vec![a]);
        self.set(d, result);
        Ok(())
    }
}
