//! A lane function's operands, words, result and type, by what an instruction says.

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

/// Evaluates an expression with `T` standing for the Rust integer of a scalar type.
macro_rules! by_type {
    ($ty:expr, $t:ident => $e:expr) => {
        $crate::by_listed_type!($ty, $t in [
            U8 | B8: u8, S8: i8, U16 | B16: u16, S16: i16, U32 | B32: u32, S32: i32, U64 | B64: u64, S64: i64
        ] => $e)
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

pub(super) use {by_excess, by_type, integers, lanes, stated};
