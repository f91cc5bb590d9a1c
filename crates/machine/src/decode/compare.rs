//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions" and "Half Precision Comparison
//! Instructions").
//!
//! A comparison writes predicates. `set`, which writes a register, compares into the scratch predicate and then
//! selects between two constants. `a > b` is decoded as `b < a`, so that half of the comparisons need no code.

use super::arithmetic::{Register, by_flags, by_type, lanes};
use super::emit::op;
use super::function::Decoder;
use super::operand::Source;
use super::{Decoded, Missing};
use crate::ops::shape::{COLD, Combine, HOT, Relation, lane_fn, select_by_predicate};
use crate::ops::{NONE, Op};
use crate::program::{Meta, ZERO};
use numerics::compare::{self, Comparison};
use numerics::{format, packed};
use ptx::isa::{Modifier, Role, Sem, Slot};
use ptx::types::ScalarType;
use std::marker::PhantomData;

pub(super) fn decode(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::SetpInt | Sem::SetpFloat | Sem::SetpHalf => setp(d),
        Sem::SetInt | Sem::SetFloat | Sem::SetHalf => set(d),
        Sem::Selp => selp(d),
        Sem::Slct => slct(d),
        other => Err(format!("{other:?} among the comparisons")),
    }
}

/// Evaluates an expression with a type standing for one of the named comparisons.
macro_rules! by_comparison {
    ($comparison:expr, $c:ident in [$($name:ident),+] => $e:expr) => {
        match $comparison {
            $(Modifier::$name => { type $c = compare::$name; $e })+
            other => Err(format!("comparison {}", other.text())),
        }
    };
}

struct Integers<C, T>(PhantomData<(C, T)>);
impl<C: Comparison, T: Register> Relation for Integers<C, T> {
    type T = T::L;
    #[inline(always)]
    fn lane(a: T::L, b: T::L) -> bool {
        compare::setp_int::<C, T>(T::from_lane(a), T::from_lane(b))
    }
}

/// Which value of a register is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The only one, or the lower half of an `x2` type.
    Low,
    /// The upper half of an `x2` type.
    High,
}

/// A comparison of two sources, combined with a predicate.
struct Test {
    comparison: Modifier,
    ty: ScalarType,
    ftz: bool,
    sources: [Source; 2],
    /// The predicate to combine with, or [`NONE`].
    c: u32,
    /// How: [`Op::y`] of a comparison.
    combine: u32,
}

impl Test {
    /// The comparison that an opcode names, of operands `first` and the next, combined with the third.
    fn new(d: &mut Decoder<'_>, ty: Slot, first: usize) -> Result<Self, Missing> {
        let opcode = d.opcode;
        let ty = opcode.ty(ty).ok_or("a comparison without a type")?;
        let written = opcode.get(Slot::Cmp).ok_or("a comparison without an operator")?;
        let (comparison, swapped) = match written {
            Modifier::Lo => (Modifier::Lt, false),
            Modifier::Ls => (Modifier::Le, false),
            Modifier::Gt | Modifier::Hi => (Modifier::Lt, true),
            Modifier::Ge | Modifier::Hs => (Modifier::Le, true),
            Modifier::Gtu => (Modifier::Ltu, true),
            Modifier::Geu => (Modifier::Leu, true),
            same => (same, false),
        };
        let combine = match opcode.get(Slot::Bool) {
            Some(Modifier::And) => Combine::And,
            Some(Modifier::Or) => Combine::Or,
            Some(Modifier::Xor) => Combine::Xor,
            _ => Combine::None,
        };
        let (a, b) = (d.source(first, ty.bits())?, d.source(first + 1, ty.bits())?);
        let (c, negate) = d.predicate(first + 2)?;
        Ok(Self {
            comparison,
            ty,
            ftz: opcode.has(Modifier::Ftz),
            sources: if swapped { [b, a] } else { [a, b] },
            c,
            combine: combine as u32 | negate,
        })
    }

    fn is_packed(&self) -> bool {
        matches!(self.ty, ScalarType::F16x2 | ScalarType::Bf16x2)
    }

    /// Emits it: the result goes to predicate `p`, that of the complement to `q`.
    fn emit(&self, d: &mut Decoder<'_>, [p, q]: [u32; 2], part: Part, meta: Meta) -> Decoded {
        let &Self { comparison, ftz, sources, c, combine, .. } = self;
        macro_rules! relation {
            ($f:ty, $heat:expr) => {{
                d.relation_as::<$f, { $heat }>([p, q, c], combine, sources, meta);
                Ok(())
            }};
        }
        macro_rules! floats {
            ($c:ident => $e:expr) => {
                by_comparison!(comparison, $c in [Eq, Ne, Lt, Le, Equ, Neu, Ltu, Leu, Num, Nan] => $e)
            };
        }
        // An instruction on format `$h`, one value or two in a register.
        macro_rules! halves {
            ($h:ty, $ftz:expr) => {
                floats!(C => match (self.is_packed(), part) {
                    (false, _) => {
                        lane_fn!(Single: Relation(a, b: u16) { compare::setp_half::<C, $h, $ftz>(a, b) });
                        relation!(Single, COLD)
                    }
                    (true, Part::Low) => {
                        lane_fn!(Low: Relation(a, b: u32) {
                            compare::setp_half::<C, $h, $ftz>(packed::unpack(a).0, packed::unpack(b).0)
                        });
                        relation!(Low, COLD)
                    }
                    (true, Part::High) => {
                        lane_fn!(High: Relation(a, b: u32) {
                            compare::setp_half::<C, $h, $ftz>(packed::unpack(a).1, packed::unpack(b).1)
                        });
                        relation!(High, COLD)
                    }
                })
            };
        }
        match self.ty {
            ScalarType::F32 => floats!(C => by_flags!(ftz as FTZ => {
                lane_fn!(Single: Relation(a, b: u32) { compare::setp_f32::<C, FTZ>(a, b) });
                relation!(Single, HOT)
            })),
            ScalarType::F64 => floats!(C => {
                lane_fn!(Double: Relation(a, b: u64) { compare::setp_f64::<C>(a, b) });
                relation!(Double, HOT)
            }),
            ScalarType::F16 | ScalarType::F16x2 => by_flags!(ftz as FTZ => halves!(format::F16, FTZ)),
            ScalarType::Bf16 | ScalarType::Bf16x2 => halves!(format::Bf16, false),
            ty => by_comparison!(comparison, C in [Eq, Ne, Lt, Le] => by_type!(ty, T => {
                relation!(Integers<C, T>, T::BITS > 16)
            })),
        }
    }
}

fn setp(d: &mut Decoder<'_>) -> Decoded {
    // Not every form has a second result.
    let results = d.opcode.data().operands.iter().filter(|operand| operand.role == Role::Write).count();
    let p = d.predicate_destination(0)?;
    let q = if results == 2 { d.predicate_destination(1)? } else { NONE };
    let test = Test::new(d, Slot::Type, results)?;
    if !test.is_packed() {
        return test.emit(d, [p, q], Part::Low, Meta::Plain);
    }
    // One result for each half. The first to be written must not be what the other is combined with.
    let mut results = [(p, Part::Low), (q, Part::High)];
    if test.c == p {
        results.reverse();
    }
    results.into_iter().try_for_each(|(p, part)| test.emit(d, [p, NONE], part, Meta::Plain))
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

fn set(d: &mut Decoder<'_>) -> Decoded {
    let dtype = d.opcode.ty(Slot::Dtype).ok_or("set without a type")?;
    let test = Test::new(d, Slot::Stype, 1)?;
    let bits = dtype.bits();
    let to = d.destination_plane(0, bits)?;
    let truth = truth(dtype, test.is_packed())?;
    let p = d.scratch_predicate();
    let low = Source::Scalar(d.constant(truth));
    let zero = Source::Scalar(ZERO);
    test.emit(d, [p, NONE], Part::Low, Meta::Part)?;
    if !test.is_packed() {
        select(d, to, [low, zero], p, bits, Meta::Plain);
        return Ok(());
    }
    // The lower half decides between the results for either outcome of the upper half.
    let high = Source::Scalar(d.constant(truth << 16));
    let both = Source::Scalar(d.constant(truth << 16 | truth));
    let [with, without] = [d.temporary(bits), d.temporary(bits)];
    select(d, with, [both, high], p, bits, Meta::Part);
    select(d, without, [low, zero], p, bits, Meta::Part);
    test.emit(d, [p, NONE], Part::High, Meta::Part)?;
    select(d, to, [Source::Plane(with), Source::Plane(without)], p, bits, Meta::Plain);
    Ok(())
}

/// Emits plane `to` = predicate `c` ? `a` : `b`.
fn select(d: &mut Decoder<'_>, to: u32, [a, b]: [Source; 2], c: u32, bits: u32, meta: Meta) {
    let members = match bits {
        16 => select_by_predicate::<u16>(d.level),
        32 => select_by_predicate::<u32>(d.level),
        _ => select_by_predicate::<u64>(d.level),
    };
    let is_scalar = |source| usize::from(matches!(source, Source::Scalar(_)));
    let execute = members[is_scalar(a) | is_scalar(b) << 1];
    d.emit_as(Op { d: to, a: a.index(), b: b.index(), c, ..op(execute) }, meta);
}

fn selp(d: &mut Decoder<'_>) -> Decoded {
    let bits = d.opcode.ty(Slot::Type).ok_or("selp without a type")?.bits();
    let to = d.destination_plane(0, bits)?;
    let (a, b) = (d.source(1, bits)?, d.source(2, bits)?);
    let (c, negate) = d.predicate(3)?;
    select(d, to, if negate == 0 { [a, b] } else { [b, a] }, c, bits, Meta::Plain);
    Ok(())
}

fn slct(d: &mut Decoder<'_>) -> Decoded {
    let opcode = d.opcode;
    let by_float = opcode.ty(Slot::Ctype) == Some(ScalarType::F32);
    let ftz = opcode.has(Modifier::Ftz);
    macro_rules! slct {
        ($t:ty) => {
            if by_float {
                by_flags!(ftz as FTZ => lanes!(d, COLD, Ternary(a: $t, b: $t, c: u32) -> $t {
                    compare::slct_f32::<$t, FTZ>(a, b, c)
                }))
            } else {
                lanes!(d, COLD, Ternary(a: $t, b: $t, c: u32) -> $t {
                    compare::slct_s32::<$t>(a, b, c as i32)
                })
            }
        };
    }
    match opcode.ty(Slot::Dtype).ok_or("slct without a type")?.bits() {
        16 => slct!(u16),
        32 => slct!(u32),
        _ => slct!(u64),
    }
}
