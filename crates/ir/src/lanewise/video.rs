//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions"): their modifiers and selectors
//! as the values that [`numerics::video`] computes with.

use super::choose::lanewise;
use crate::choice::{NoChoice, is_signed};
use crate::instruction::{Op2, Scale, SzextMode, VideoSetCmp};
use crate::operand::{Def, Part, PartDef, Value};
use numerics::video::{self, Comparison, Instruction, MultiplyAdd, Operation, Packed, Secondary, Source};
use ptx::ast::Selector;
use ptx::types::ScalarType;

/// A video instruction: what it computes, where to, and of which registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Video {
    /// What it computes.
    pub instruction: Instruction,
    /// Where the result goes.
    pub d: Def,
    /// What it reads; a third operand that it has not is `Unused`.
    pub sources: [Value; 3],
}

/// A scalar instruction; `$signed` is the type that says whether the result is.
macro_rules! scalar {
    ($op:ident, $operation:expr, $btype:expr, $signed:expr, $saturate:expr) => {{
        let scalar = video::Scalar {
            operation: $operation,
            a: source(&$op.a, $op.atype)?,
            b: source(&$op.b, $btype)?,
            signed: is_signed($signed),
            saturate: $saturate,
            secondary: secondary($op.op2, &$op.d)?,
        };
        let c = $op.c.unwrap_or(Value::Unused);
        (Instruction::Scalar(scalar), $op.d.register, [$op.a.value, $op.b.value, c])
    }};
    ($op:ident, $operation:expr) => {
        scalar!($op, $operation, $op.btype, $op.dtype, $op.sat)
    };
}

/// A SIMD instruction on so many elements.
macro_rules! packed {
    ($op:ident, $elements:literal, $operation:expr, $signed:expr, $saturate:expr) => {{
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
        (Instruction::Packed(packed), $op.d.register, [$op.a.value, $op.b.value, $op.c])
    }};
    ($op:ident, $elements:literal, $operation:expr) => {
        packed!($op, $elements, $operation, is_signed($op.dtype), $op.sat)
    };
}

/// Says what each instruction computes: an [`Instruction`], where to, and of what, over `op`, the typed instruction.
macro_rules! videos {
    ($op:ident: $($of:ident => $body:expr;)+) => {
        lanewise! { to, $op: $($of => {
            let video = || {
                let (instruction, d, sources) = $body;
                Some(Video { instruction, d, sources })
            };
            match video() {
                Some(video) => to.video(video),
                None => NoChoice::no_choice("a selector of several parts in a scalar video instruction".to_owned()),
            }
        };)+ }
    };
}

videos! { op:
    VideoAdd => scalar!(op, Operation::Add);
    VideoSub => scalar!(op, Operation::Sub);
    VideoAbsdiff => scalar!(op, Operation::AbsoluteDifference);
    VideoMin => scalar!(op, Operation::Min);
    VideoMax => scalar!(op, Operation::Max);
    VideoShl => {
        let wrap = op.mode == SzextMode::Wrap;
        scalar!(op, Operation::ShiftLeft { wrap }, ScalarType::U32, op.dtype, op.sat)
    };
    VideoShr => {
        let wrap = op.mode == SzextMode::Wrap;
        scalar!(op, Operation::ShiftRight { wrap }, ScalarType::U32, op.dtype, op.sat)
    };
    VideoSet => scalar!(op, Operation::Set(comparison(op.cmp)), op.btype, op.atype, false);
    VideoMad => {
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
        (Instruction::MultiplyAdd(mad), op.d, [op.a.value, op.b.value, op.c.value])
    };
    VideoAdd2 => packed!(op, 2, Operation::Add);
    VideoSub2 => packed!(op, 2, Operation::Sub);
    VideoAvrg2 => packed!(op, 2, Operation::Average);
    VideoAbsdiff2 => packed!(op, 2, Operation::AbsoluteDifference);
    VideoMin2 => packed!(op, 2, Operation::Min);
    VideoMax2 => packed!(op, 2, Operation::Max);
    VideoSet2 => packed!(op, 2, Operation::Set(comparison(op.cmp)), false, false);
    VideoAdd4 => packed!(op, 4, Operation::Add);
    VideoSub4 => packed!(op, 4, Operation::Sub);
    VideoAvrg4 => packed!(op, 4, Operation::Average);
    VideoAbsdiff4 => packed!(op, 4, Operation::AbsoluteDifference);
    VideoMin4 => packed!(op, 4, Operation::Min);
    VideoMax4 => packed!(op, 4, Operation::Max);
    VideoSet4 => packed!(op, 4, Operation::Set(comparison(op.cmp)), false, false);
}

fn source(operand: &Part, ty: ScalarType) -> Option<Source> {
    let part = operand.selector.map_or(Some(video::Part::Word), part)?;
    Some(Source { signed: is_signed(ty), part })
}

/// The part that a selector of one digit names.
fn part(selector: Selector) -> Option<video::Part> {
    match selector {
        Selector::Bytes(digits) if digits.as_slice().len() == 1 => {
            Some(video::Part::Byte(digits.as_slice()[0]))
        }
        Selector::Halves(digits) if digits.as_slice().len() == 1 => {
            Some(video::Part::Half(digits.as_slice()[0]))
        }
        // Several parts are of SIMD instructions.
        _ => None,
    }
}

fn secondary(op2: Option<Op2>, to: &PartDef) -> Option<Secondary> {
    Some(match (op2, to.selector) {
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
