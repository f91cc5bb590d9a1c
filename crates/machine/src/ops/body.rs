//! How a function of an operation's fields becomes one that an image can call.

use crate::exec::Exec;
use crate::image::Function;
use crate::lanes::simd::{Baseline, Level, Simd};
use crate::operation::{Fields, Operation};

/// A loop over lanes that may be compiled for each vector level.
pub(crate) trait Body: 'static {
    /// The kind of operations that it executes.
    type Fields: Fields;
    /// Executes the operation.
    fn run<S: Simd>(x: &mut Exec<'_>, op: &Self::Fields, pc: u32) -> u32;
}

/// The body compiled for a level.
pub(crate) fn select<B: Body>(level: Level) -> Function<B::Fields> {
    match level {
        Level::Baseline => plain::<B>(),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => Function::new(avx2::<B>),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => Function::new(avx512::<B>),
        #[cfg(not(target_arch = "x86_64"))]
        _ => plain::<B>(),
    }
}

/// The body for any host: for operations too rare to be worth a copy for each level.
pub(crate) fn plain<B: Body>() -> Function<B::Fields> {
    Function::new(|x, op, pc| B::run::<Baseline>(x, B::Fields::of(op), pc))
}

#[cfg(target_arch = "x86_64")]
crate::on_avx2! {
    fn avx2<B: Body>(x: &mut Exec<'_>, op: &Operation, pc: u32) -> u32 {
        B::run::<crate::lanes::simd::Avx2>(x, B::Fields::of(op), pc)
    }
}

#[cfg(target_arch = "x86_64")]
crate::on_avx512! {
    fn avx512<B: Body>(x: &mut Exec<'_>, op: &Operation, pc: u32) -> u32 {
        B::run::<crate::lanes::simd::Avx512>(x, B::Fields::of(op), pc)
    }
}

/// A function of the fields of one kind, as one of operations: `function!(warp::vote)`.
macro_rules! function {
    ($f:expr) => {
        $crate::ops::body::of_fields($f, |x, op, pc| $f(x, $crate::operation::Fields::of(op), pc))
    };
}
pub(crate) use function;

/// The second function, which does what the first one does with an operation's fields.
pub(crate) fn of_fields<F: Fields>(
    _: fn(&mut Exec<'_>, &F, u32) -> u32,
    execute: fn(&mut Exec<'_>, &Operation, u32) -> u32,
) -> Function<F> {
    Function::new(execute)
}
