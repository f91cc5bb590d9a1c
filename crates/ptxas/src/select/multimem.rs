//! Memory that several devices have at one address (PTX ISA, "multimem"): a load reduces what all of them have, what is stored or added goes to
//! each. The address itself is what makes a store or a `RED` do so; only loads have an instruction of their own.

use super::memory::{Place, Window, strength};
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction::{self as i, MultimemLoadOp};
use ir::operand::Address;
use ptx::isa::Order;
use ptx::types::{ScalarType, TypeKind};

impl Select<'_> {
    pub(super) fn multimem(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::MultimemLoad(op) => self.load_reduced(op),
            Op::MultimemStore(op) => self.store_everywhere(op),
            Op::MultimemReduce(op) => self.reduce_everywhere(op),
            _ => return None,
        })
    }

    /// A generic address leads to global memory, or the program is wrong.
    fn in_global(&mut self, address: &Address) -> Result<Reg, Refusal> {
        let place = self.place(address)?;
        self.wide_address_of(&place)
    }

    fn load_reduced(&mut self, op: &i::MultimemLoad) -> Done {
        let at = self.in_global(&op.a)?;
        let words = (op.ty.bits() as usize * op.d.len() / 32).max(1) as u8;
        let kind = match (op.ty.kind(), op.ty.bits()) {
            (TypeKind::Float, _) => float_kind(op.ty, words)? + ".RN",
            (TypeKind::Signed, bits) if is_extreme(op.op) => format!("S{bits}"),
            (_, bits) => bits.to_string(),
        };
        let wider = if op.accumulator { "F32" } else { "" };
        let to = self.temporary(words);
        let from = Operand::Address { before: "", reg: at, width: 2, beside: ".64+URZ", offset: 0 };
        let name = format!("LDGMC.E.{wider}{}.{kind}.STRONG.SYS", operation(op.op));
        self.effect(name, vec![Operand::wide(to, words)], vec![from]);
        self.acquired(op.order, op.scope);
        self.give_elements(&op.d, op.ty, to);
        Ok(())
    }

    fn store_everywhere(&mut self, op: &i::MultimemStore) -> Done {
        let at = self.in_global(&op.a)?;
        let (value, words) = self.elements(&op.b, op.ty)?;
        if op.order == Order::Release
            && let Some(scope) = op.scope
        {
            self.membar("ALL", scope);
        }
        let size = match words {
            4 => ".128",
            2 => ".64",
            _ => "",
        };
        let name = format!("STG.E{size}{}", strength(op.order, op.scope));
        let to = Place::wide(Window::Global, at).operand(0);
        self.effect(name, vec![], vec![to, Operand::wide(value, words)]);
        Ok(())
    }

    fn reduce_everywhere(&mut self, op: &i::MultimemReduce) -> Done {
        let at = self.in_global(&op.a)?;
        let (value, words) = self.elements(&op.b, op.ty)?;
        let kind = match (op.ty.kind(), op.ty.bits()) {
            (TypeKind::Float, _) if op.ty == ScalarType::F32 => float_kind(op.ty, words)? + ".FTZ.RN",
            (TypeKind::Float, _) => float_kind(op.ty, words)? + ".RN",
            (TypeKind::Signed, bits) if is_extreme(op.op) => format!("S{bits}"),
            (_, bits) => bits.to_string(),
        };
        // 32 bits are what no modifier says.
        let kind = if kind == "32" { String::new() } else { format!(".{kind}") };
        self.released(op.order, op.scope);
        let strong = strength(Order::Relaxed, Some(op.scope));
        let to = Place::wide(Window::Global, at).operand(0);
        let name = format!("REDG.E.{}{kind}{strong}", operation(op.op));
        self.effect(name, vec![], vec![to, Operand::wide(value, words)]);
        Ok(())
    }
}

fn is_extreme(op: MultimemLoadOp) -> bool {
    matches!(op, MultimemLoadOp::Min | MultimemLoadOp::Max)
}

fn operation(op: MultimemLoadOp) -> &'static str {
    match op {
        MultimemLoadOp::Add => "ADD",
        MultimemLoadOp::Min => "MIN",
        MultimemLoadOp::Max => "MAX",
        MultimemLoadOp::And => "AND",
        MultimemLoadOp::Or => "OR",
        MultimemLoadOp::Xor => "XOR",
    }
}

/// Floats that fill so many words, as instructions name them.
pub(super) fn float_kind(ty: ScalarType, words: u8) -> Result<String, Refusal> {
    Ok(match (ty, words) {
        (ScalarType::F32, 1) => "F32".to_owned(),
        (ScalarType::F32, _) => format!("F32x{words}"),
        (ScalarType::F64, 2) => "F64".to_owned(),
        (ScalarType::F16 | ScalarType::F16x2, _) => format!("F16x{}", words * 2),
        (ScalarType::Bf16 | ScalarType::Bf16x2, _) => format!("BF16x{}", words * 2),
        _ => return Err("of this type".to_owned()),
    })
}
