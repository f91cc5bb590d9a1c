//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison
//! Instructions").
//!
//! A comparison writes predicates. `set`, which writes a register, compares into the scratch predicate and then
//! selects between two constants. `a > b` is decoded as `b < a`, so that half of the comparisons need no code.

use super::arithmetic::{by_type, lanes};
use super::decoder::{Decoded, Decoder, Missing, decoders};
use crate::image::{Meta, ZERO};
use crate::lanes::{Condition, Operand, PredicateId};
use crate::operation::Combine;
use crate::operation::kinds::Outcome;
use crate::ops::shape::{COLD, HOT, lane_fn};
use ir::choice::is_packed;
use ir::instruction::{SetFloatCmp, SetIntBool, SetIntCmp};
use ir::operand::{Def, Predicate, Value};
use ir::{by_flags, by_half, by_listed_type};
use numerics::compare;
use numerics::{format, packed};
use ptx::types::ScalarType;

/// Which value of a register is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The only one, or the lower half of an `x2` type.
    Low,
    /// The upper half of an `x2` type.
    High,
}

/// How values are compared.
#[derive(Clone, Copy)]
enum Comparison {
    Int(SetIntCmp),
    Float { cmp: SetFloatCmp, ftz: bool },
}

impl Comparison {
    /// Whether the sources change places: `a > b` is `b < a`.
    fn swaps(self) -> bool {
        use {SetFloatCmp as Float, SetIntCmp as Int};
        match self {
            Self::Int(cmp) => matches!(cmp, Int::Gt | Int::Ge | Int::Hi | Int::Hs),
            Self::Float { cmp, .. } => matches!(cmp, Float::Gt | Float::Ge | Float::Gtu | Float::Geu),
        }
    }
}

/// A comparison of two sources, combined with a predicate.
struct Test {
    comparison: Comparison,
    ty: ScalarType,
    sources: [Operand; 2],
    /// What to combine with, and how.
    with: Option<Condition>,
    combine: Option<Combine>,
}

impl Test {
    fn new(
        d: &mut Decoder<'_>,
        comparison: Comparison,
        ty: ScalarType,
        [a, b]: [&Value; 2],
        combine: Option<SetIntBool>,
        c: Option<&Predicate>,
    ) -> Result<Self, Missing> {
        let (a, b) = (d.read(a, ty.bits())?, d.read(b, ty.bits())?);
        let with = c.map(|c| d.read_predicate(c)).transpose()?;
        let sources = if comparison.swaps() { [b, a] } else { [a, b] };
        Ok(Self { comparison, ty, sources, with, combine: combine.map(Combine::from) })
    }

    /// Emits it: the result goes to predicate `p`, that of the complement to `q`.
    fn emit(&self, d: &mut Decoder<'_>, [p, q]: [Option<PredicateId>; 2], part: Part, meta: Meta) -> Decoded {
        let &Self { comparison, sources, with, combine, .. } = self;
        let outcome = Outcome { p, q, with, combine };
        macro_rules! relation {
            ($heat:expr, |$a:ident, $b:ident: $t:ty| $body:expr) => {{
                lane_fn!(Test: Relation($a, $b: $t) { $body });
                d.relation::<Test, { $heat }>(outcome, sources, meta)
            }};
        }
        macro_rules! by_comparison {
            ($cmp:expr, $of:ident [$($($name:ident)|+ => $as:ident),+], $c:ident => $e:expr) => {
                match $cmp {
                    $($($of::$name)|+ => { type $c = compare::$as; $e })+
                }
            };
        }
        match comparison {
            Comparison::Int(cmp) => by_comparison!(
                cmp, SetIntCmp [Eq => Eq, Ne => Ne, Lt | Lo | Gt | Hi => Lt, Le | Ls | Ge | Hs => Le],
                C => by_type!(self.ty, T => {
                    relation!(T::BITS > 16, |a, b: T| compare::setp_int::<C, T>(a, b))
                })
            ),
            Comparison::Float { cmp, ftz } => by_comparison!(
                cmp, SetFloatCmp [
                    Eq => Eq, Ne => Ne, Lt | Gt => Lt, Le | Ge => Le, Equ => Equ, Neu => Neu,
                    Ltu | Gtu => Ltu, Leu | Geu => Leu, Num => Num, Nan => Nan
                ],
                C => match self.ty {
                    ScalarType::F64 => relation!(HOT, |a, b: u64| compare::setp_f64::<C>(a, b)),
                    ScalarType::F32 => by_flags!(ftz as FTZ => {
                        relation!(HOT, |a, b: u32| compare::setp_f32::<C, FTZ>(a, b))
                    }),
                    // One value, or two in a register.
                    _ => by_half!(self.ty, H => by_flags!(ftz as FTZ => match (is_packed(self.ty), part) {
                        (false, _) => relation!(COLD, |a, b: u16| compare::setp_half::<C, H, FTZ>(a, b)),
                        (true, Part::Low) => relation!(COLD, |a, b: u32| {
                            compare::setp_half::<C, H, FTZ>(packed::unpack(a).0, packed::unpack(b).0)
                        }),
                        (true, Part::High) => relation!(COLD, |a, b: u32| {
                            compare::setp_half::<C, H, FTZ>(packed::unpack(a).1, packed::unpack(b).1)
                        }),
                    })),
                }
            ),
        }
    }
}

/// What an instruction compares, in values of a type.
macro_rules! test {
    ($d:ident, $op:ident, $ty:ident, $comparison:expr) => {
        Test::new($d, $comparison, $op.$ty, [&$op.a, &$op.b], $op.combine, $op.c.as_ref())?
    };
}

decoders! { d, op:
    SetpInt => test!(d, op, ty, Comparison::Int(op.cmp)).setp(d, op.p, op.q);
    SetpFloat => test!(d, op, ty, Comparison::Float { cmp: op.cmp, ftz: op.ftz }).setp(d, op.p, op.q);
    SetpHalf => test!(d, op, ty, Comparison::Float { cmp: op.cmp, ftz: op.ftz }).setp(d, op.p, op.q);
    SetInt => test!(d, op, stype, Comparison::Int(op.cmp)).set(d, op.d, op.dtype);
    SetFloat => test!(d, op, stype, Comparison::Float { cmp: op.cmp, ftz: op.ftz }).set(d, op.d, op.dtype);
    SetHalf => test!(d, op, stype, Comparison::Float { cmp: op.cmp, ftz: op.ftz }).set(d, op.d, op.dtype);
    Selp => {
        let bits = op.ty.bits();
        let to = d.write_plane(op.d, bits)?;
        let (a, b) = (d.read(&op.a, bits)?, d.read(&op.b, bits)?);
        let c = d.read_predicate(&op.c)?;
        d.select(to, if c.negated() { [b, a] } else { [a, b] }, c.predicate(), Meta::Plain);
        Ok(())
    };
    Slct => by_listed_type!(op.dtype, T in [
        B16 | U16 | S16: u16, B32 | U32 | S32 | F32: u32, B64 | U64 | S64 | F64: u64
    ] => match op.ctype {
        ScalarType::F32 => by_flags!(op.ftz as FTZ => {
            lanes!(d, op, COLD, (a: T, b: T, c: u32) -> T { compare::slct_f32::<T, FTZ>(a, b, c) })
        }),
        _ => lanes!(d, op, COLD, (a: T, b: T, c: i32) -> T { compare::slct_s32::<T>(a, b, c) }),
    });
}

impl Test {
    fn setp(&self, d: &mut Decoder<'_>, p: Def, q: Option<Def>) -> Decoded {
        let (p, q) = (d.write_predicate(Some(p))?, d.write_predicate(q)?);
        if !is_packed(self.ty) {
            return self.emit(d, [p, q], Part::Low, Meta::Plain);
        }
        // One result for each half. The first to be written must not be what the other is combined with.
        let mut results = [(p, Part::Low), (q, Part::High)];
        if p.is_some() && self.with.map(Condition::predicate) == p {
            results.reverse();
        }
        results.into_iter().try_for_each(|(p, part)| self.emit(d, [p, None], part, Meta::Plain))
    }

    fn set(&self, d: &mut Decoder<'_>, to: Def, dtype: ScalarType) -> Decoded {
        let bits = dtype.bits();
        let to = d.write_plane(to, bits)?;
        let truth = truth(dtype, is_packed(self.ty))?;
        let p = d.frame.scratch_predicate();
        let (low, zero) = (d.constant(truth), ZERO.into());
        self.emit(d, [Some(p), None], Part::Low, Meta::Part)?;
        if !is_packed(self.ty) {
            d.select(to, [low, zero], p, Meta::Plain);
            return Ok(());
        }
        // The lower half decides between the results for either outcome of the upper half.
        let (high, both) = (d.constant(truth << 16), d.constant(truth << 16 | truth));
        let [with, without] = [d.frame.temporary(bits), d.frame.temporary(bits)];
        d.select(with, [both, high], p, Meta::Part);
        d.select(without, [low, zero], p, Meta::Part);
        self.emit(d, [Some(p), None], Part::High, Meta::Part)?;
        d.select(to, [with.into(), without.into()], p, Meta::Plain);
        Ok(())
    }
}

/// What `set` writes for true into one value.
fn truth(dtype: ScalarType, packed: bool) -> Result<u64, Missing> {
    use ScalarType as Ty;
    Ok(match dtype {
        Ty::F32 => compare::set_float::<format::F32>(true),
        Ty::F16 | Ty::F16x2 => compare::set_float::<format::F16>(true),
        Ty::Bf16 | Ty::Bf16x2 => compare::set_float::<format::Bf16>(true),
        Ty::U16 | Ty::S16 => compare::set_int::<u16>(true).into(),
        Ty::U32 | Ty::S32 if packed => compare::set_int::<u16>(true).into(),
        Ty::U32 | Ty::S32 => compare::set_int::<u32>(true).into(),
        other => return Err(format!("set into {other}")),
    })
}
