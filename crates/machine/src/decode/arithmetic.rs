//! What the decoders of arithmetic share: registers as typed integers, lane functions over them, and the choice of a
//! type by name.

pub(crate) use crate::lanes::Register;

/// Emits an integer operation for the type in a slot. The body is an expression over `T`, the Rust integer of the
/// type; operands are of type `T` unless stated, and so is the result.
///
/// `integers!(d, ty, HOT, Binary |a, b| integer::mul_lo::<T>(a, b))`,
/// `integers!(d, ty, HOT, Unary |a| -> u32 { bits::popc::<T>(a) })`.
macro_rules! integers {
    ($d:expr, $ty:expr, $heat:ident, Unary |$a:ident| $body:expr) => {
        integers!($d, $ty, $heat, Unary |$a| -> T { $body })
    };
    ($d:expr, $ty:expr, $heat:ident, Unary |$a:ident| -> $r:ty { $body:expr }) => {{
        struct F<T>(std::marker::PhantomData<T>);
        impl<T: $crate::decode::arithmetic::Register> $crate::ops::shape::Unary for F<T> {
            type A = T::L;
            type R = <$r as $crate::decode::arithmetic::Register>::L;
            #[inline(always)]
            fn lane(a: Self::A) -> Self::R {
                let $a = T::from_lane(a);
                let result: $r = $body;
                $crate::decode::arithmetic::Register::to_lane(result)
            }
        }
        $crate::decode::arithmetic::by_type!($ty, T => $d.unary::<F<T>, { $crate::ops::shape::$heat }>())
    }};
    ($d:expr, $ty:expr, $heat:ident, Binary |$a:ident, $b:ident $(: $tb:ty)?| $body:expr) => {{
        struct F<T>(std::marker::PhantomData<T>);
        impl<T: $crate::decode::arithmetic::Register> $crate::ops::shape::Binary for F<T> {
            type A = T::L;
            type B = $crate::decode::arithmetic::lane_of!(T $(, $tb)?);
            type R = T::L;
            #[inline(always)]
            fn lane(a: Self::A, b: Self::B) -> Self::R {
                let $a = T::from_lane(a);
                let $b = $crate::decode::arithmetic::typed!(b, T $(, $tb)?);
                let result: T = $body;
                result.to_lane()
            }
        }
        $crate::decode::arithmetic::by_type!($ty, T => $d.binary::<F<T>, { $crate::ops::shape::$heat }>())
    }};
    ($d:expr, $ty:expr, $heat:ident, Ternary |$a:ident, $b:ident $(: $tb:ty)?, $c:ident $(: $tc:ty)?| $body:expr) => {{
        struct F<T>(std::marker::PhantomData<T>);
        impl<T: $crate::decode::arithmetic::Register> $crate::ops::shape::Ternary for F<T> {
            type A = T::L;
            type B = $crate::decode::arithmetic::lane_of!(T $(, $tb)?);
            type C = $crate::decode::arithmetic::lane_of!(T $(, $tc)?);
            type R = T::L;
            #[inline(always)]
            fn lane(a: Self::A, b: Self::B, c: Self::C) -> Self::R {
                let $a = T::from_lane(a);
                let $b = $crate::decode::arithmetic::typed!(b, T $(, $tb)?);
                let $c = $crate::decode::arithmetic::typed!(c, T $(, $tc)?);
                let result: T = $body;
                result.to_lane()
            }
        }
        $crate::decode::arithmetic::by_type!($ty, T => $d.ternary::<F<T>, { $crate::ops::shape::$heat }>())
    }};
}

/// The lane type of an operand: that of the stated type, or of `T`.
macro_rules! lane_of {
    ($t:ty) => {
        <$t as $crate::decode::arithmetic::Register>::L
    };
    ($t:ty, $stated:ty) => {
        <$stated as $crate::decode::arithmetic::Register>::L
    };
}

/// An operand's lane as the stated type, or as `T`.
macro_rules! typed {
    ($value:ident, $t:ty) => {
        <$t as $crate::decode::arithmetic::Register>::from_lane($value)
    };
    ($value:ident, $t:ty, $stated:ty) => {
        <$stated as $crate::decode::arithmetic::Register>::from_lane($value)
    };
}

/// Evaluates an expression with `T` standing for the Rust integer of a scalar type of 16, 32 or 64 bits.
macro_rules! by_type {
    ($ty:expr, $t:ident => $e:expr) => {{
        use ptx::types::ScalarType as Ty;
        match $ty {
            Ty::U16 | Ty::B16 => {
                type $t = u16;
                $e
            }
            Ty::S16 => {
                type $t = i16;
                $e
            }
            Ty::U32 | Ty::B32 => {
                type $t = u32;
                $e
            }
            Ty::S32 => {
                type $t = i32;
                $e
            }
            Ty::U64 | Ty::B64 => {
                type $t = u64;
                $e
            }
            Ty::S64 => {
                type $t = i64;
                $e
            }
            other => Err(format!("type {other} here")),
        }
    }};
}

/// Emits an operation whose lane function is written where it is used:
/// `lanes!(d, HOT, Binary(a: u32, b: u32) -> u32 { float::add_f32::<R, FTZ, SAT>(a, b) })`.
macro_rules! lanes {
    ($d:expr, $heat:expr, Unary $($function:tt)+) => {{
        $crate::ops::shape::lane_fn!(LaneFn: Unary $($function)+);
        $d.unary::<LaneFn, { $heat }>()
    }};
    ($d:expr, $heat:expr, Binary $($function:tt)+) => {{
        $crate::ops::shape::lane_fn!(LaneFn: Binary $($function)+);
        $d.binary::<LaneFn, { $heat }>()
    }};
    ($d:expr, $heat:expr, Ternary $($function:tt)+) => {{
        $crate::ops::shape::lane_fn!(LaneFn: Ternary $($function)+);
        $d.ternary::<LaneFn, { $heat }>()
    }};
}

/// Evaluates an expression with constants standing for conditions that decoding knows: `by_flags!(ftz as FTZ => e)`.
macro_rules! by_flags {
    (=> $e:expr) => { $e };
    ($condition:ident as $flag:ident $(, $more:ident as $more_flag:ident)* => $e:expr) => {
        if $condition {
            const $flag: bool = true;
            $crate::decode::arithmetic::by_flags!($($more as $more_flag),* => $e)
        } else {
            const $flag: bool = false;
            $crate::decode::arithmetic::by_flags!($($more as $more_flag),* => $e)
        }
    };
}

/// Evaluates an expression with a type standing for a rounding modifier; without one it is to nearest even.
macro_rules! by_rounding {
    ($modifier:expr, $r:ident => $e:expr) => {{
        use numerics::rounding;
        use ptx::isa::Modifier as M;
        match $modifier {
            None | Some(M::Rn | M::Rni) => {
                type $r = rounding::Rn;
                $e
            }
            Some(M::Rz | M::Rzi) => {
                type $r = rounding::Rz;
                $e
            }
            Some(M::Rm | M::Rmi) => {
                type $r = rounding::Rm;
                $e
            }
            Some(M::Rp | M::Rpi) => {
                type $r = rounding::Rp;
                $e
            }
            Some(other) => Err(format!("rounding {}", other.text())),
        }
    }};
}

pub(crate) use crate::ops::width::resize;
pub(crate) use {by_flags, by_rounding, by_type, integers, lane_of, lanes, typed};

/// Whether a rounding is to nearest even, as nearly every instruction has it.
pub(crate) const fn is_nearest<R: numerics::rounding::Rounding>() -> bool {
    matches!(R::MODE, numerics::rounding::Mode::NearestEven)
}
