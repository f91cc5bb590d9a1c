//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions"): their modifiers and selectors
//! as the values that [`numerics::video`] computes with.

use super::emit::op;
use super::function::Decoder;
use super::operand::Destination;
use super::{Decoded, Missing};
use crate::exec::Exec;
use crate::lanes::LANES;
use crate::lanes::simd::Baseline;
use crate::ops::Op;
use numerics::video::{
    Comparison, Instruction, MultiplyAdd, Operation, Packed, Part, Scalar, Secondary, Source,
};
use ptx::ast::Selector;
use ptx::isa::{Modifier, Sem, Slot};
use ptx::module::Operand;
use ptx::types::ScalarType;

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    let instruction = match sem {
        Sem::VideoMad => multiply_add(d)?,
        Sem::VideoAdd => scalar(d, Operation::Add)?,
        Sem::VideoSub => scalar(d, Operation::Sub)?,
        Sem::VideoAbsdiff => scalar(d, Operation::AbsoluteDifference)?,
        Sem::VideoMin => scalar(d, Operation::Min)?,
        Sem::VideoMax => scalar(d, Operation::Max)?,
        Sem::VideoShl => scalar(d, Operation::ShiftLeft { wrap: d.opcode.has(Modifier::Wrap) })?,
        Sem::VideoShr => scalar(d, Operation::ShiftRight { wrap: d.opcode.has(Modifier::Wrap) })?,
        Sem::VideoSet => scalar(d, Operation::Set(comparison(d)?))?,
        Sem::VideoAdd2 => packed(d, 2, Operation::Add)?,
        Sem::VideoSub2 => packed(d, 2, Operation::Sub)?,
        Sem::VideoAvrg2 => packed(d, 2, Operation::Average)?,
        Sem::VideoAbsdiff2 => packed(d, 2, Operation::AbsoluteDifference)?,
        Sem::VideoMin2 => packed(d, 2, Operation::Min)?,
        Sem::VideoMax2 => packed(d, 2, Operation::Max)?,
        Sem::VideoSet2 => packed(d, 2, Operation::Set(comparison(d)?))?,
        Sem::VideoAdd4 => packed(d, 4, Operation::Add)?,
        Sem::VideoSub4 => packed(d, 4, Operation::Sub)?,
        Sem::VideoAvrg4 => packed(d, 4, Operation::Average)?,
        Sem::VideoAbsdiff4 => packed(d, 4, Operation::AbsoluteDifference)?,
        Sem::VideoMin4 => packed(d, 4, Operation::Min)?,
        Sem::VideoMax4 => packed(d, 4, Operation::Max)?,
        Sem::VideoSet4 => packed(d, 4, Operation::Set(comparison(d)?))?,
        other => return Err(format!("{other:?} among the video instructions")),
    };
    let whole = |operand| match operand {
        Operand::Part { register, .. } => Operand::Register(register),
        whole => whole,
    };
    let Destination::Plane(destination) = d.destination_of(whole(d.operand(0)), 32)? else {
        return Err("a video instruction on values that are the same for all threads".to_owned());
    };
    let mut sources = [0; 3];
    for (i, source) in sources.iter_mut().enumerate() {
        let value = d.value(whole(d.operand(i + 1)), 32)?;
        *source = d.plane_of(value, 32);
    }
    let [a, b, c] = sources;
    let imm = d.image.videos.len() as u64;
    d.image.videos.push(instruction);
    d.emit(Op { d: destination, a, b, c, imm, ..op(compute) });
    Ok(())
}

/// `d = video instruction imm of (a, b, c)`.
fn compute(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    let instruction = x.grid.image.videos[op.imm as usize];
    for warp in 0..x.warps {
        let plane = |index: u32| &x.files.w[index as usize + warp].0;
        let (a, b, c) = (plane(op.a), plane(op.b), plane(op.c));
        let mut result = [0; LANES];
        for l in 0..LANES {
            result[l] = instruction.compute(a[l], b[l], c[l]);
        }
        x.store_plane::<Baseline, u32>(op.d, warp, result);
    }
    pc + 1
}

fn scalar(d: &Decoder<'_>, operation: Operation) -> Result<Instruction, Missing> {
    let secondary = match d.opcode.get(Slot::Op2) {
        Some(Modifier::Add) => Secondary::Add,
        Some(Modifier::Min) => Secondary::Min,
        Some(Modifier::Max) => Secondary::Max,
        _ => match d.operand(0) {
            Operand::Part { selector: Some(selector), .. } => Secondary::Merge(part(selector)?),
            _ => Secondary::None,
        },
    };
    Ok(Instruction::Scalar(Scalar {
        operation,
        a: source(d, 1, Slot::Atype)?,
        b: source(d, 2, Slot::Btype)?,
        signed: signed(d, if matches!(operation, Operation::Set(_)) { Slot::Atype } else { Slot::Dtype }),
        saturate: d.opcode.has(Modifier::Sat),
        secondary,
    }))
}

fn multiply_add(d: &Decoder<'_>) -> Result<Instruction, Missing> {
    let negated = |i| matches!(d.operand(i), Operand::Part { negated: true, .. });
    Ok(Instruction::MultiplyAdd(MultiplyAdd {
        a: source(d, 1, Slot::Atype)?,
        b: source(d, 2, Slot::Btype)?,
        negate_product: negated(1) != negated(2),
        negate_c: negated(3),
        plus_one: d.opcode.has(Modifier::Po),
        shift: match d.opcode.get(Slot::Scale) {
            Some(Modifier::Shr7) => 7,
            Some(Modifier::Shr15) => 15,
            _ => 0,
        },
        saturate: d.opcode.has(Modifier::Sat),
    }))
}

fn packed(d: &Decoder<'_>, elements: u8, operation: Operation) -> Result<Instruction, Missing> {
    let digits = |i| match d.operand(i) {
        Operand::Part { selector: Some(Selector::Bytes(digits) | Selector::Halves(digits)), .. } => {
            Some(digits)
        }
        _ => None,
    };
    // By default the elements of `a` and those of `b`; selectors are written highest element first.
    let elements_of = |i: usize| {
        let mut chosen = [0, 1, 2, 3].map(|e| e + (i as u8 - 1) * elements);
        if let Some(digits) = digits(i) {
            for (chosen, &digit) in chosen.iter_mut().zip(digits.as_slice().iter().rev()) {
                *chosen = digit;
            }
        }
        chosen
    };
    let mask = match digits(0) {
        Some(digits) => digits.as_slice().iter().fold(0, |mask, digit| mask | 1 << digit),
        None => (1 << elements) - 1,
    };
    Ok(Instruction::Packed(Packed {
        operation,
        elements,
        a_signed: signed(d, Slot::Atype),
        b_signed: signed(d, Slot::Btype),
        a: elements_of(1),
        b: elements_of(2),
        signed: signed(d, Slot::Dtype),
        saturate: d.opcode.has(Modifier::Sat),
        mask,
        accumulate: d.opcode.has(Modifier::Add),
    }))
}

fn source(d: &Decoder<'_>, i: usize, ty: Slot) -> Result<Source, Missing> {
    let part = match d.operand(i) {
        Operand::Part { selector: Some(selector), .. } => part(selector)?,
        _ => Part::Word,
    };
    Ok(Source { signed: signed(d, ty), part })
}

/// The part that a selector of one digit names.
fn part(selector: Selector) -> Result<Part, Missing> {
    match selector {
        Selector::Bytes(digits) if digits.as_slice().len() == 1 => Ok(Part::Byte(digits.as_slice()[0])),
        Selector::Halves(digits) if digits.as_slice().len() == 1 => Ok(Part::Half(digits.as_slice()[0])),
        _ => Err("a selector of several parts in a scalar video instruction".to_owned()),
    }
}

fn signed(d: &Decoder<'_>, slot: Slot) -> bool {
    d.opcode.ty(slot) == Some(ScalarType::S32)
}

fn comparison(d: &Decoder<'_>) -> Result<Comparison, Missing> {
    Ok(match d.opcode.get(Slot::Cmp) {
        Some(Modifier::Eq) => Comparison::Eq,
        Some(Modifier::Ne) => Comparison::Ne,
        Some(Modifier::Lt) => Comparison::Lt,
        Some(Modifier::Le) => Comparison::Le,
        Some(Modifier::Gt) => Comparison::Gt,
        Some(Modifier::Ge) => Comparison::Ge,
        other => return Err(format!("comparison {other:?}")),
    })
}
