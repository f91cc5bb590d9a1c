//! Floats of 16 bits, one or two in a register (PTX ISA, "Half Precision Floating-Point Instructions").

use super::{Done, Refusal, Select};
use crate::code::Operand;
use ir::Op;
use ir::instruction::AddFloatRnd;
use ir::operand::{Def, Value};
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
            Op::SetpHalf(op) if op.ty.bits() == 16 => {
                let ftz = if op.ftz { ".FTZ" } else { "" };
                let name = super::float::comparison(op.cmp, ftz, op.combine);
                let (a, b) = match (self.word(&op.a), self.word(&op.b)) {
                    (Ok(a), Ok(b)) => (a, b),
                    (Err(why), _) | (_, Err(why)) => return Some(Err(why)),
                };
                let with = match self.predicate_operand(op.c.as_ref()) {
                    Ok(with) => with,
                    Err(why) => return Some(Err(why)),
                };
                let to = self.flag();
                let written = vec![Operand::Predicate(to, false), Operand::always(false)];
                let read = vec![lanes(a, op.ty), lanes(b, op.ty), with];
                self.code.push(None, format!("HSETP2{}{name}", kind(op.ty)), written, read);
                self.set_flag(op.p, to);
                Ok(())
            }
            _ => return None,
        })
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
