//! Approximations of `.f32` for the lanes of a row: functions of ours that compiled code calls.
//!
//! As LLVM's text, the sums of 64 bits in them took longer to compile than the rest of a kernel together, and would be a second description of
//! what [`numerics::special`] says.

use machine::lanes::simd::{self, Baseline, Level, Simd};
use numerics::special::lookup::Lookup;
use numerics::special::{self, Approximation, Ex2, Lg2, Rcp, Rsqrt, Sine, Sqrt, Tanh};

/// Computes in place: the first of lists of 32-bit words that lie behind one another is the first operand, and then the result.
pub(crate) type Function = unsafe extern "C" fn(*mut u32);

/// An approximation; some with `.ftz` or without.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Special {
    Rcp(bool),
    Sqrt(bool),
    Rsqrt(bool),
    Ex2(bool),
    Lg2(bool),
    DivApprox(bool),
    DivFull(bool),
    Sin,
    Cos,
    Tanh,
}

/// How many there are, and for how many lanes.
const COUNT: usize = 17;
const LANES: [usize; 3] = [1, 16, 32];

impl Special {
    /// Its place in [`functions`], for so many lanes.
    pub(crate) fn index(self, lanes: usize) -> usize {
        let (pair, is_second) = match self {
            Self::Rcp(ftz) => (0, ftz),
            Self::Sqrt(ftz) => (1, ftz),
            Self::Rsqrt(ftz) => (2, ftz),
            Self::Ex2(ftz) => (3, ftz),
            Self::Lg2(ftz) => (4, ftz),
            Self::DivApprox(ftz) => (5, ftz),
            Self::DivFull(ftz) => (6, ftz),
            Self::Sin => (7, false),
            Self::Cos => (7, true),
            Self::Tanh => (8, false),
        };
        let which = LANES.iter().position(|&some| some == lanes).unwrap_or(LANES.len() - 1);
        which * COUNT + 2 * pair + usize::from(is_second)
    }
}

/// All of them, for 1, for 16 and for 32 lanes, as this host computes them.
pub(crate) fn functions() -> &'static [Function] {
    match Level::detect() {
        Level::Baseline => baseline::FUNCTIONS.as_flattened(),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::FUNCTIONS.as_flattened(),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::FUNCTIONS.as_flattened(),
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => baseline::FUNCTIONS.as_flattened(),
    }
}

/// The functions of a level of vectors: each is called by the code itself, without anything between.
macro_rules! level {
    ($name:ident, $level:ty, $on_level:path) => {
        mod $name {
            use super::*;

            pub(super) static FUNCTIONS: [[Function; COUNT]; LANES.len()] =
                [of::<1>(), of::<16>(), of::<32>()];

            const fn of<const L: usize>() -> [Function; COUNT] {
                [
                    one::<Rcp<false>, L>,
                    one::<Rcp<true>, L>,
                    one::<Sqrt<false>, L>,
                    one::<Sqrt<true>, L>,
                    one::<Rsqrt<false>, L>,
                    one::<Rsqrt<true>, L>,
                    one::<Ex2<false>, L>,
                    one::<Ex2<true>, L>,
                    one::<Lg2<false>, L>,
                    one::<Lg2<true>, L>,
                    two::<Approximate<false>, L>,
                    two::<Approximate<true>, L>,
                    two::<Full<false>, L>,
                    two::<Full<true>, L>,
                    one::<Sine<0>, L>,
                    one::<Sine<1>, L>,
                    one::<Tanh, L>,
                ]
            }

            $on_level! {
                unsafe extern "C" fn one<F: Approximation, const L: usize>(list: *mut u32) {
                    // SAFETY: the code hands over a list of so many words in its own frame, which nobody else sees meanwhile.
                    let list = unsafe { &mut *list.cast::<[u32; L]>() };
                    *list = F::lanes(<$level>::vectors(), list);
                }
            }

            $on_level! {
                unsafe extern "C" fn two<F: Quotient, const L: usize>(lists: *mut u32) {
                    // SAFETY: the same of two lists.
                    let [a, b] = unsafe { &mut *lists.cast::<[[u32; L]; 2]>() };
                    *a = F::lanes(<$level>::vectors(), a, b);
                }
            }
        }
    };
}

/// A function as it stands.
macro_rules! on_every_host {
    ($($function:tt)*) => { $($function)* };
}

level!(baseline, Baseline, on_every_host);
#[cfg(target_arch = "x86_64")]
level!(avx2, simd::Avx2, machine::on_avx2);
#[cfg(target_arch = "x86_64")]
level!(avx512, simd::Avx512, machine::on_avx512);

/// A quotient.
trait Quotient {
    fn lanes<V: Lookup, const L: usize>(v: V, a: &[u32; L], b: &[u32; L]) -> [u32; L];
}

struct Approximate<const FTZ: bool>;
impl<const FTZ: bool> Quotient for Approximate<FTZ> {
    #[inline(always)]
    fn lanes<V: Lookup, const L: usize>(v: V, a: &[u32; L], b: &[u32; L]) -> [u32; L] {
        special::div_approx_lanes::<FTZ, V, L>(v, a, b)
    }
}

struct Full<const FTZ: bool>;
impl<const FTZ: bool> Quotient for Full<FTZ> {
    #[inline(always)]
    fn lanes<V: Lookup, const L: usize>(v: V, a: &[u32; L], b: &[u32; L]) -> [u32; L] {
        special::div_full_lanes::<FTZ, V, L>(v, a, b)
    }
}
