//! Types and constants for what an instruction says.
//!
//! The functions of `numerics` are generic in types, formats, roundings and flags, so that none of them tests a modifier. These
//! macros evaluate an expression once for each choice, with a name for it; where an instruction says something that is
//! none, the value is that of [`NoChoice`].

use ptx::types::{ScalarType, TypeKind};

/// What an expression is where there is nothing to choose.
pub trait NoChoice {
    /// With the reason.
    fn no_choice(why: String) -> Self;
}

impl<T> NoChoice for Option<T> {
    fn no_choice(_: String) -> Self {
        None
    }
}

impl<T> NoChoice for Result<T, String> {
    fn no_choice(why: String) -> Self {
        Err(why)
    }
}

/// Evaluates an expression with a name standing for the Rust type that is listed for a scalar type.
#[macro_export]
macro_rules! by_listed_type {
    ($ty:expr, $t:ident in [$($($name:ident)|+: $rust:ty),+] => $e:expr) => {
        match $ty {
            $($(ptx::types::ScalarType::$name)|+ => { type $t = $rust; $e })+
            other => $crate::choice::NoChoice::no_choice(format!("type {other} here")),
        }
    };
}

/// Evaluates an expression with a type standing for the format of halves, one or two in a register.
macro_rules! by_half {
    ($ty:expr, $h:ident => $e:expr) => {
        $crate::by_listed_type!($ty, $h in [
            F16 | F16x2: numerics::format::F16, Bf16 | Bf16x2: numerics::format::Bf16
        ] => $e)
    };
}

/// Evaluates an expression with constants standing for conditions: `by_flags!(op.ftz as FTZ => e)`.
#[macro_export]
macro_rules! by_flags {
    (=> $e:expr) => { $e };
    ($base:ident $(.$field:ident)? as $flag:ident
        $(, $more:ident $(.$more_field:ident)? as $more_flag:ident)* => $e:expr
    ) => {
        if $base $(.$field)? {
            const $flag: bool = true;
            $crate::by_flags!($($more $(.$more_field)? as $more_flag),* => $e)
        } else {
            const $flag: bool = false;
            $crate::by_flags!($($more $(.$more_field)? as $more_flag),* => $e)
        }
    };
}

/// Evaluates an expression with a type standing for a rounding modifier. `.rna` is of `cvt` to `.tf32` alone, which asks for it
/// by name.
macro_rules! by_rounding {
    ($modifier:expr, $r:ident => $e:expr) => {
        match $crate::Rounds::mode($modifier) {
            numerics::rounding::Mode::NearestEven => { type $r = numerics::rounding::Rn; $e }
            numerics::rounding::Mode::TowardZero => { type $r = numerics::rounding::Rz; $e }
            numerics::rounding::Mode::Down => { type $r = numerics::rounding::Rm; $e }
            numerics::rounding::Mode::Up => { type $r = numerics::rounding::Rp; $e }
            numerics::rounding::Mode::NearestAway => {
                $crate::choice::NoChoice::no_choice("rounding halves away from zero here".to_owned())
            }
        }
    };
}

/// Evaluates an expression with `H` standing for the format of halves, and constants for the flags that only `.f16` has.
macro_rules! by_format {
    ($op:ident, $h:ident $(, $flag:ident as $FLAG:ident)* => $e:expr) => {
        if $crate::choice::is_bf16($op.ty) {
            type $h = numerics::format::Bf16;
            $(const $FLAG: bool = false;)*
            $e
        } else {
            type $h = numerics::format::F16;
            $crate::by_flags!($($op.$flag as $FLAG),* => $e)
        }
    };
}

pub(crate) use {by_format, by_half, by_rounding};

/// Whether numbers of this type have a sign bit.
pub fn is_signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}

/// Whether a register has two halves of this type.
pub fn is_packed(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2)
}

/// Whether values, one or two, are `.bf16`.
pub fn is_bf16(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2)
}
