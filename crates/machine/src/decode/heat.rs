//! How often lanewise instructions occur, which decides how many loops their functions get.
//!
//! Which function an instruction is, [`ir::lanewise`] says, and by what it was chosen. A row says which of the functions of some
//! instructions are hot: get loops for scalar operands and for each vector level. All others are cold: a single loop. Be
//! sparing: each hot function is many loops. Where the first two operands may change places, bit for bit, brackets say so: then no loop
//! with the first one in the scalar file is needed.

use super::decoder::{Decode, Decoded, Decoder};
use super::families::{Families, Rule};
use crate::ops::shape::Heat;
use ir::lanewise::{Function, Lanewise};
use numerics::rounding::Mode;
use std::marker::PhantomData;

macro_rules! lanewise {
    ($choice:ident: $($($of:ident)|+ $([commutes: $commutes:expr])? => $hot:expr;)+) => {$(
        const _: () = {
            struct Row;
            struct Of<F>(PhantomData<F>);
            impl Rule for Row {
                type Of<F: Function> = Of<F>;
            }
            impl<F: Function> Heat for Of<F> {
                const HOT: bool = {
                    #[allow(unused_variables)] // Some instructions are as hot whatever they say.
                    let $choice = F::CHOICE;
                    $hot
                };
                $(const COMMUTES: bool = {
                    #[allow(unused_variables)] // Some instructions commute whatever they say.
                    let $choice = F::CHOICE;
                    $commutes
                };)?
            }
            $(impl Decode for ir::instruction::$of {
                fn decode(&self, d: &mut Decoder<'_>) -> Decoded {
                    self.visit(Families::<Row>::new(d))
                }
            })+
        };
    )+};
}

lanewise! { choice:
    AddInt [commutes: true] => !choice.sat;
    SubInt => !choice.sat;
    MinInt | MaxInt [commutes: true] => !choice.relu;
    MadInt [commutes: true] => !choice.hi;
    MulInt [commutes: true] => true;
    AbsInt | NegInt | AddIntX2 | MinIntX2 | MaxIntX2 | Dp4a => true;
    Mul24 | Mad24 | Sad | DivInt | RemInt | Dp2a => false;

    And | Or | Xor [commutes: true] => true;
    Not | Shl | Shr | Shf | Popc | Clz | Bfe | Bfi => true;
    Prmt => !choice.permute;
    Cnot | Bfind | Brev | Szext | Bmsk | Fns => false;

    // Of two NaN in `.f64` the first one decides.
    AddFloat | MulFloat | FmaFloat [commutes: choice.operand == 32] => choice.is_nearest() && !choice.sat;
    SubFloat => choice.is_nearest() && !choice.sat;
    DivFloat | Rcp | Sqrt => choice.is_nearest();
    MinFloat | MaxFloat => !choice.nan && !choice.xorsign;
    RcpApprox | RsqrtApprox => choice.operand == 32;
    NegFloat | AbsFloat | DivFloatApprox | DivFloatFull | SqrtApprox | Ex2Float | Lg2 | Sin | Cos => true;
    AddMixed | SubMixed | FmaMixed | Min3Float | Max3Float => false;
    AddF32x2 | SubF32x2 | MulF32x2 | FmaF32x2 | TanhFloat | Copysign | Testp => false;

    AddHalf | SubHalf | MulHalf | FmaHalf => {
        choice.is_nearest() && !choice.ftz && !choice.sat && !choice.relu && !choice.oob
    };
    NegHalf | AbsHalf | MinHalf | MaxHalf | TanhHalf | Ex2Half => false;

    SetpInt | SetInt => choice.operand > 16;
    SetpFloat | SetFloat => true;
    SetpHalf | SetHalf | Slct => false;

    // As compilers write for `rint` and casts.
    CvtFloatToInt => {
        choice.operand > 16 && choice.result > 16 && matches!(choice.rounding, Mode::NearestEven | Mode::TowardZero)
    };
    CvtIntToFloat => choice.result > 16 && choice.is_nearest() && !choice.sat;
    CvtPackFloat => choice.result == 32 && choice.is_nearest() && !choice.relu && !choice.satfinite;
    CvtFloat => !choice.relu && !choice.satfinite && match (choice.operand, choice.result) {
        // `floor` and the like are conversions that round.
        (32, 32) => !choice.sat || choice.is_nearest(),
        (64, 64) | (16, 32) | (32, 64) => !choice.sat,
        (64, 32) => choice.is_nearest() && !choice.sat,
        (32, 16) => choice.is_nearest() && !choice.sat && !choice.ftz,
        _ => false,
    };
    CvtInt | CvtFloatX2 | CvtPackInt => false;
    CvtPackNarrow | CvtNarrowX2 | CvtPackScale | CvtScaleX2 | CvtFromScale => false;
    CvtStochasticX2 | CvtStochasticX4 => false;

    // These have operations of their own.
    AndPred | OrPred | XorPred | NotPred | Lop3 | MovPack | Selp => false;
    VideoAdd | VideoSub | VideoAbsdiff | VideoMin | VideoMax | VideoShl | VideoShr | VideoSet | VideoMad => false;
    VideoAdd2 | VideoSub2 | VideoAvrg2 | VideoAbsdiff2 | VideoMin2 | VideoMax2 | VideoSet2 => false;
    VideoAdd4 | VideoSub4 | VideoAvrg4 | VideoAbsdiff4 | VideoMin4 | VideoMax4 | VideoSet4 => false;
}
