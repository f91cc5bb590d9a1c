//! What the decoders of arithmetic share: the choice of a lane function by what an instruction says.
//!
//! A lane function's parameters are the instruction's operands, by name; what modifiers say are types and constants, so
//! that no lane tests one.

use numerics::rounding::{Mode, Rounding};

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

/// Evaluates an expression with `T` standing for the Rust integer of a scalar type of 16, 32 or 64 bits.
macro_rules! by_type {
    ($ty:expr, $t:ident => $e:expr) => {
        ir::by_listed_type!($ty, $t in [
            U16 | B16: u16, S16: i16, U32 | B32: u32, S32: i32, U64 | B64: u64, S64: i64
        ] => $e)
    };
}

pub(crate) use {by_type, integers, lanes, stated};

/// Whether a rounding is to nearest even, as nearly every instruction has it.
pub(crate) const fn is_nearest<R: Rounding>() -> bool {
    matches!(R::MODE, Mode::NearestEven)
}
