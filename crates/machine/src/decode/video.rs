//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions"): their modifiers and selectors
//! as the values that [`numerics::video`] computes with.

use super::arithmetic::{decoders, is_signed};
use super::decoder::{Decoded, Decoder, Missing};
use crate::operation::kinds::Video;
use ir::instruction::{Op2, Scale, SzextMode, VideoSetCmp};
use ir::operand::{Def, Part, PartDef, Value};
use numerics::video::{self, Comparison, Instruction, MultiplyAdd, Operation, Packed, Secondary, Source};
use ptx::ast::Selector;
use ptx::types::ScalarType;

/// A scalar instruction; `$signed` is the type that says whether the result is.
macro_rules! scalar {
    ($d:ident, $op:ident, $operation:expr, $btype:expr, $signed:expr, $saturate:expr) => {{
        let scalar = video::Scalar {
            operation: $operation,
            a: source(&$op.a, $op.atype)?,
            b: source(&$op.b, $btype)?,
            signed: is_signed($signed),
            saturate: $saturate,
            secondary: secondary($op.op2, &$op.d)?,
        };
        let c = $op.c.unwrap_or(Value::Unused);
        emit($d, Instruction::Scalar(scalar), $op.d.register, [$op.a.value, $op.b.value, c])
    }};
    ($d:ident, $op:ident, $operation:expr) => {
        scalar!($d, $op, $operation, $op.btype, $op.dtype, $op.sat)
    };
}

/// A SIMD instruction on so many elements.
macro_rules! packed {
    ($d:ident, $op:ident, $elements:literal, $operation:expr, $signed:expr, $saturate:expr) => {{
        let packed = Packed {
            operation: $operation,
            elements: $elements,
            a_signed: is_signed($op.atype),
            b_signed: is_signed($op.btype),
            a: elements(&$op.a, 0),
            b: elements(&$op.b, $elements),
            signed: $signed,
            saturate: $saturate,
            mask: mask(&$op.d, $elements),
            accumulate: $op.op,
        };
        emit($d, Instruction::Packed(packed), $op.d.register, [$op.a.value, $op.b.value, $op.c])
    }};
    ($d:ident, $op:ident, $elements:literal, $operation:expr) => {
        packed!($d, $op, $elements, $operation, is_signed($op.dtype), $op.sat)
    };
}

decoders! { d, op:
    add(VideoAdd) => scalar!(d, op, Operation::Add);
    sub(VideoSub) => scalar!(d, op, Operation::Sub);
    absdiff(VideoAbsdiff) => scalar!(d, op, Operation::AbsoluteDifference);
    min(VideoMin) => scalar!(d, op, Operation::Min);
    max(VideoMax) => scalar!(d, op, Operation::Max);
    shl(VideoShl) => {
        let wrap = op.mode == SzextMode::Wrap;
        scalar!(d, op, Operation::ShiftLeft { wrap }, ScalarType::U32, op.dtype, op.sat)
    };
    shr(VideoShr) => {
        let wrap = op.mode == SzextMode::Wrap;
        scalar!(d, op, Operation::ShiftRight { wrap }, ScalarType::U32, op.dtype, op.sat)
    };
    set(VideoSet) => scalar!(d, op, Operation::Set(comparison(op.cmp)), op.btype, op.atype, false);
    mad(VideoMad) => {
        let mad = MultiplyAdd {
            a: source(&op.a, op.atype)?,
            b: source(&op.b, op.btype)?,
            negate_product: op.a.negated != op.b.negated,
            negate_c: op.c.negated,
            plus_one: op.po,
            shift: match op.scale {
                None => 0,
                Some(Scale::Shr7) => 7,
                Some(Scale::Shr15) => 15,
            },
            saturate: op.sat,
        };
        emit(d, Instruction::MultiplyAdd(mad), op.d, [op.a.value, op.b.value, op.c.value])
    };
    add2(VideoAdd2) => packed!(d, op, 2, Operation::Add);
    sub2(VideoSub2) => packed!(d, op, 2, Operation::Sub);
    avrg2(VideoAvrg2) => packed!(d, op, 2, Operation::Average);
    absdiff2(VideoAbsdiff2) => packed!(d, op, 2, Operation::AbsoluteDifference);
    min2(VideoMin2) => packed!(d, op, 2, Operation::Min);
    max2(VideoMax2) => packed!(d, op, 2, Operation::Max);
    set2(VideoSet2) => packed!(d, op, 2, Operation::Set(comparison(op.cmp)), false, false);
    add4(VideoAdd4) => packed!(d, op, 4, Operation::Add);
    sub4(VideoSub4) => packed!(d, op, 4, Operation::Sub);
    avrg4(VideoAvrg4) => packed!(d, op, 4, Operation::Average);
    absdiff4(VideoAbsdiff4) => packed!(d, op, 4, Operation::AbsoluteDifference);
    min4(VideoMin4) => packed!(d, op, 4, Operation::Min);
    max4(VideoMax4) => packed!(d, op, 4, Operation::Max);
    set4(VideoSet4) => packed!(d, op, 4, Operation::Set(comparison(op.cmp)), false, false);
}

fn emit(d: &mut Decoder<'_>, instruction: Instruction, to: Def, [a, b, c]: [Value; 3]) -> Decoded {
    let to = d.write_plane(to, 32)?;
    let [a, b, c] = [d.read_plane(&a, 32)?, d.read_plane(&b, 32)?, d.read_plane(&c, 32)?];
    let site = d.site(instruction);
    d.emit(Video { d: to, a, b, c, site })
}

fn source(operand: &Part, ty: ScalarType) -> Result<Source, Missing> {
    let part = operand.selector.map_or(Ok(video::Part::Word), part)?;
    Ok(Source { signed: is_signed(ty), part })
}

/// The part that a selector of one digit names.
fn part(selector: Selector) -> Result<video::Part, Missing> {
    match selector {
        Selector::Bytes(digits) if digits.as_slice().len() == 1 => {
            Ok(video::Part::Byte(digits.as_slice()[0]))
        }
        Selector::Halves(digits) if digits.as_slice().len() == 1 => {
            Ok(video::Part::Half(digits.as_slice()[0]))
        }
        _ => Err("a selector of several parts in a scalar video instruction".to_owned()),
    }
}

fn secondary(op2: Option<Op2>, to: &PartDef) -> Result<Secondary, Missing> {
    Ok(match (op2, to.selector) {
        (Some(Op2::Add), _) => Secondary::Add,
        (Some(Op2::Min), _) => Secondary::Min,
        (Some(Op2::Max), _) => Secondary::Max,
        (None, Some(selector)) => Secondary::Merge(part(selector)?),
        (None, None) => Secondary::None,
    })
}

/// The elements that a selector of a SIMD instruction names.
fn digits(selector: &Option<Selector>) -> Option<&[u8]> {
    match selector {
        Some(Selector::Bytes(digits) | Selector::Halves(digits)) => Some(digits.as_slice()),
        _ => None,
    }
}

/// The elements of a source, by default all of its own. Selectors are written highest element first.
fn elements(operand: &Part, first: u8) -> [u8; 4] {
    let mut chosen = [0, 1, 2, 3].map(|element| element + first);
    let digits = digits(&operand.selector).unwrap_or_default();
    for (chosen, &digit) in chosen.iter_mut().zip(digits.iter().rev()) {
        *chosen = digit;
    }
    chosen
}

/// The elements of the result that count, by default all.
fn mask(to: &PartDef, elements: u8) -> u8 {
    let all = || (1 << elements) - 1;
    digits(&to.selector).map_or_else(all, |digits| digits.iter().fold(0, |mask, digit| mask | 1 << digit))
}

fn comparison(cmp: VideoSetCmp) -> Comparison {
    match cmp {
        VideoSetCmp::Eq => Comparison::Eq,
        VideoSetCmp::Ne => Comparison::Ne,
        VideoSetCmp::Lt => Comparison::Lt,
        VideoSetCmp::Le => Comparison::Le,
        VideoSetCmp::Gt => Comparison::Gt,
        VideoSetCmp::Ge => Comparison::Ge,
    }
}
