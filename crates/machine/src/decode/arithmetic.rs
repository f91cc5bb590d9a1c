//! What the decoders of arithmetic share: the choice of a lane function by what an instruction says.
//!
//! A lane function's parameters are the instruction's operands, by name; what modifiers say are types and constants, so
//! that no lane tests one.

use numerics::rounding::{Mode, Rounding};
use ptx::types::ScalarType;

/// Emits an operation: `lanes!(d, op, HOT, (a: u32, b: i32) -> u32 { body })` computes `op.d` from `op.a` and `op.b`.
macro_rules! lanes {
    (@ $arity:ident, $d:ident, $op:ident, $heat:expr, ($($x:ident: $t:ty),+), $r:ty, $body:block) => {{
        $crate::ops::shape::lane_fn!(LaneFn: $arity($($x: $t),+) -> $r $body);
        $d.lanewise::<LaneFn, _, { $heat }>($op.d, [$(&$op.$x),+])
    }};
    ($d:ident, $op:ident, $heat:expr, ($a:ident: $ta:ty) -> $r:ty $body:block) => {
        lanes!(@ Unary, $d, $op, $heat, ($a: $ta), $r, $body)
    };
    ($d:ident, $op:ident, $heat:expr, ($a:ident: $ta:ty, $b:ident: $tb:ty) -> $r:ty $body:block) => {
        lanes!(@ Binary, $d, $op, $heat, ($a: $ta, $b: $tb), $r, $body)
    };
    ($d:ident, $op:ident, $heat:expr, ($a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty) -> $r:ty $body:block) => {
        lanes!(@ Ternary, $d, $op, $heat, ($a: $ta, $b: $tb, $c: $tc), $r, $body)
    };
}

/// The same for the integer type `op.ty`, in the body `T`; operands and the result are of this type unless stated:
/// `integers!(d, op, HOT, (a, b: u32) { bits::shl::<T>(a, b) })`.
macro_rules! integers {
    ($d:ident, $op:ident, $heat:expr, ($($x:ident $(: $t:ty)?),+) $(-> $r:ty)? $body:block) => {
        $crate::decode::arithmetic::by_type!($op.ty, T => $crate::decode::arithmetic::lanes!(
            $d, $op, $heat,
            ($($x: $crate::decode::arithmetic::stated!(T $(, $t)?)),+)
                -> $crate::decode::arithmetic::stated!(T $(, $r)?) $body
        ))
    };
}

/// The stated type, if there is one.
macro_rules! stated {
    ($t:ty) => {
        $t
    };
    ($t:ty, $stated:ty) => {
        $stated
    };
}

/// Evaluates an expression with `T` standing for the Rust integer of a scalar type of 16, 32 or 64 bits, or for what is
/// listed.
macro_rules! by_type {
    ($ty:expr, $t:ident in [$($($name:ident)|+: $rust:ty),+] => $e:expr) => {
        match $ty {
            $($(ptx::types::ScalarType::$name)|+ => { type $t = $rust; $e })+
            other => Err(format!("type {other} here")),
        }
    };
    ($ty:expr, $t:ident => $e:expr) => {
        $crate::decode::arithmetic::by_type!($ty, $t in [
            U16 | B16: u16, S16: i16, U32 | B32: u32, S32: i32, U64 | B64: u64, S64: i64
        ] => $e)
    };
}

/// Evaluates an expression with a type standing for the format of halves, one or two in a register.
macro_rules! by_half {
    ($ty:expr, $h:ident => $e:expr) => {
        $crate::decode::arithmetic::by_type!($ty, $h in [
            F16 | F16x2: numerics::format::F16, Bf16 | Bf16x2: numerics::format::Bf16
        ] => $e)
    };
}

/// Evaluates an expression with constants standing for conditions that decoding knows: `by_flags!(op.ftz as FTZ => e)`.
macro_rules! by_flags {
    (=> $e:expr) => { $e };
    ($base:ident $(.$field:ident)? as $flag:ident
        $(, $more:ident $(.$more_field:ident)? as $more_flag:ident)* => $e:expr
    ) => {
        if $base $(.$field)? {
            const $flag: bool = true;
            $crate::decode::arithmetic::by_flags!($($more $(.$more_field)? as $more_flag),* => $e)
        } else {
            const $flag: bool = false;
            $crate::decode::arithmetic::by_flags!($($more $(.$more_field)? as $more_flag),* => $e)
        }
    };
}

/// Evaluates an expression with a type standing for a rounding modifier.
macro_rules! by_rounding {
    ($modifier:expr, $r:ident => $e:expr) => {
        match ir::Rounds::mode($modifier) {
            numerics::rounding::Mode::NearestEven => { type $r = numerics::rounding::Rn; $e }
            numerics::rounding::Mode::TowardZero => { type $r = numerics::rounding::Rz; $e }
            numerics::rounding::Mode::Down => { type $r = numerics::rounding::Rm; $e }
            numerics::rounding::Mode::Up => { type $r = numerics::rounding::Rp; $e }
            numerics::rounding::Mode::NearestAway => Err("rounding halves away from zero here".to_owned()),
        }
    };
}

pub(crate) use {by_flags, by_half, by_rounding, by_type, integers, lanes, stated};

/// Whether a rounding is to nearest even, as nearly every instruction has it.
pub(crate) const fn is_nearest<R: Rounding>() -> bool {
    matches!(R::MODE, Mode::NearestEven)
}

pub(crate) fn is_signed(ty: ScalarType) -> bool {
    ty.kind() == ptx::types::TypeKind::Signed
}

/// Whether a register has two halves of this type.
pub(crate) fn is_packed(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2)
}
