//! Dot products side by side, one a lane: what [`dot`](super::dot) computes one by one, for the instructions that most kernels
//! use. Loops over lanes become vector code.
//!
//! An [`Arithmetic`] decodes elements of A and B once, 32 of one shift a call, and adds up products of what it has decoded. What
//! lies where is the machine's affair.

mod float;
mod integer;
#[cfg(test)]
mod tests;

pub use float::Floats;
pub use integer::Integers;

use super::{Accumulator, Config, Operand, Unit};
use std::fmt::Debug;

/// How many dot products are computed side by side.
pub const LANES: usize = 32;

/// How dot products are computed side by side.
pub trait Arithmetic: Debug + 'static {
    /// So many decoded elements of A or B.
    type Factors<const N: usize>: Copy + Debug;

    /// Elements of A or B that are zero.
    fn zeros<const N: usize>() -> Self::Factors<N>;

    /// Decodes the elements that begin at bit `shift` of words.
    fn decode<const N: usize>(operand: Operand, words: &[u32; N], shift: u32) -> Self::Factors<N>;

    /// Those at other indices.
    fn at<const N: usize, const M: usize>(
        factors: &Self::Factors<N>,
        index: impl Fn(usize) -> usize,
    ) -> Self::Factors<M>;

    /// `P` dot products in each lane: of the elements of A that it has, one for each k, with those of `P` columns of B, and of
    /// `c`. Of the elements of B at one k, lane `l` has the `l % (N / P)`-th of each of `P` parts. `None` if the results are not
    /// among those that are computed here.
    fn sums<const N: usize, const P: usize>(
        config: &Config,
        a: &[Self::Factors<LANES>],
        b: &[Self::Factors<N>],
        c: [&[u32; LANES]; P],
    ) -> Option<[[u32; LANES]; P]>;
}

/// Which arithmetic computes the dot products of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Floats`].
    Floats,
    /// [`Integers`].
    Integers,
}

impl Kind {
    /// That of an instruction whose dot products have `k` elements, if there is one.
    pub fn of(config: &Config, k: usize) -> Option<Self> {
        use Operand::{Bf16, F16, S4, S8, Tf32, U4, U8};
        let of_floats = match (config.a, config.b, config.unit) {
            // `m8n8k4` has no such sum.
            (F16, F16, Unit::Mma | Unit::Wmma | Unit::Wgmma) => k > 4,
            (Bf16, Bf16, Unit::Mma | Unit::Wmma | Unit::Wgmma) => true,
            // `wmma` has a sum for four elements each.
            (Tf32, Tf32, Unit::Mma | Unit::Wgmma) => true,
            _ => false,
        };
        let of_integers = matches!(config.a, S8 | U8 | S4 | U4)
            && config.unit != Unit::SparseMma
            && config.unit != Unit::SparseWgmma;
        match (config.c, config.d) {
            (Accumulator::F32, Accumulator::F32) if of_floats && k <= float::TERMS => Some(Self::Floats),
            (Accumulator::S32, Accumulator::S32) if of_integers && k <= integer::TERMS => {
                Some(Self::Integers)
            }
            _ => None,
        }
    }
}

/// What lane `l` has of one of `P` parts of some elements, `part`: the element of index `l % (N / P)`.
#[inline(always)]
fn spread<T: Copy + Default, const N: usize, const P: usize>(elements: &[T; N], part: usize) -> [T; LANES] {
    let mut lanes = [T::default(); LANES];
    for (l, lane) in lanes.iter_mut().enumerate() {
        *lane = elements[part * (N / P) + l % (N / P)];
    }
    lanes
}
