//! Types and constants for what an instruction says: the functions of `numerics` are generic in them, so that none of them
//! tests a modifier.

use ptx::types::{ScalarType, TypeKind};

/// A function of operands by their names: `lanes!(op, (a: u32, b: i32) -> u32 { body })` computes `op.d` from `op.a` and
/// `op.b`.
macro_rules! lanes {
    ($op:ident, ($($x:ident: $t:ty),+) -> $r:ty $body:block) => {
        lanes!($op.d, $op, ($($x: $t),+) -> $r $body)
    };
    ($d:expr, $op:ident, ($($x:ident: $t:ty),+) -> $r:ty $body:block) => {
        Some($crate::lanewise::Lanewise::from_function::<$r, _>(
            $d,
            [$($crate::lanewise::Read::read(&$op.$x, <$t as $crate::lanewise::Word>::BITS)),+],
            Box::new(move |words| {
                let [$($x,)+ ..] = *words;
                $(let $x = <$t as $crate::lanewise::Word>::from_word($x);)+
                let result: $r = $body;
                $crate::lanewise::Word::to_word(result)
            }),
        ))
    };
}

/// The same for the integer type `op.ty`, in the body `T`; operands and the result are of this type unless stated:
/// `integers!(op, (a, b: u32) { bits::shl::<T>(a, b) })`.
macro_rules! integers {
    ($op:ident, ($($x:ident $(: $t:ty)?),+) $(-> $r:ty)? $body:block) => {
        $crate::lanewise::choose::by_type!($op.ty, T => $crate::lanewise::choose::lanes!(
            $op,
            ($($x: $crate::lanewise::choose::stated!(T $(, $t)?)),+)
                -> $crate::lanewise::choose::stated!(T $(, $r)?) $body
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

/// Evaluates an expression with `T` standing for the Rust integer of a scalar type, or for what is listed.
macro_rules! by_type {
    ($ty:expr, $t:ident in [$($($name:ident)|+: $rust:ty),+] => $e:expr) => {
        match $ty {
            $($(ptx::types::ScalarType::$name)|+ => { type $t = $rust; $e })+
            _ => None,
        }
    };
    ($ty:expr, $t:ident => $e:expr) => {
        $crate::lanewise::choose::by_type!($ty, $t in [
            U8 | B8: u8, S8: i8, U16 | B16: u16, S16: i16, U32 | B32: u32, S32: i32, U64 | B64: u64, S64: i64
        ] => $e)
    };
}

/// Evaluates an expression with a type standing for the format of halves, one or two in a register.
macro_rules! by_half {
    ($ty:expr, $h:ident => $e:expr) => {
        $crate::lanewise::choose::by_type!($ty, $h in [
            F16 | F16x2: numerics::format::F16, Bf16 | Bf16x2: numerics::format::Bf16
        ] => $e)
    };
}

/// Evaluates an expression with constants standing for conditions: `by_flags!(op.ftz as FTZ => e)`.
macro_rules! by_flags {
    (=> $e:expr) => { $e };
    ($base:ident $(.$field:ident)? as $flag:ident
        $(, $more:ident $(.$more_field:ident)? as $more_flag:ident)* => $e:expr
    ) => {
        if $base $(.$field)? {
            const $flag: bool = true;
            $crate::lanewise::choose::by_flags!($($more $(.$more_field)? as $more_flag),* => $e)
        } else {
            const $flag: bool = false;
            $crate::lanewise::choose::by_flags!($($more $(.$more_field)? as $more_flag),* => $e)
        }
    };
}

/// Evaluates an expression with a type standing for a rounding modifier.
macro_rules! by_rounding {
    ($modifier:expr, $r:ident => $e:expr) => {
        match $crate::Rounds::mode($modifier) {
            numerics::rounding::Mode::NearestEven => {
                type $r = numerics::rounding::Rn;
                $e
            }
            numerics::rounding::Mode::TowardZero => {
                type $r = numerics::rounding::Rz;
                $e
            }
            numerics::rounding::Mode::Down => {
                type $r = numerics::rounding::Rm;
                $e
            }
            numerics::rounding::Mode::Up => {
                type $r = numerics::rounding::Rp;
                $e
            }
            // `.rna` is of `cvt` to `.tf32` alone, which asks for it by name.
            numerics::rounding::Mode::NearestAway => None,
        }
    };
}

/// Evaluates an expression with a type standing for what becomes of amounts that are too great.
macro_rules! by_excess {
    ($mode:expr, $m:ident => $e:expr) => {
        match $mode {
            $crate::instruction::SzextMode::Clamp => {
                type $m = numerics::bits::Clamp;
                $e
            }
            $crate::instruction::SzextMode::Wrap => {
                type $m = numerics::bits::Wrap;
                $e
            }
        }
    };
}

pub(super) use {by_excess, by_flags, by_half, by_rounding, by_type, integers, lanes, stated};

pub(super) fn is_signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}

/// Whether there are two elements in a register.
pub(super) fn is_pair(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2)
}
