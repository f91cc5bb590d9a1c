//! Dot products side by side, one a lane: what [`dot`](super::dot) computes one by one, for the instructions that most kernels
//! use, with [vectors of the host](Vectors).
//!
//! An [`Arithmetic`] decodes 32 words of A or B once, and adds up products of what it has decoded, for blocks of D of eight rows and eight
//! columns. How fragments lie in registers is the machine's affair, but for this: the four lanes of a quad have a line of A or B, one word
//! each of every four words along k, and columns 2 * (l % 4) and the next of D are lane l's.

mod float;
mod integer;
#[cfg(test)]
mod tests;
mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use float::Floats;
pub use integer::Integers;
pub use vectors::{LANES, LINES, Portable, Vectors};
#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

use super::{Accumulator, Config, Operand, Unit};
use std::fmt::Debug;

/// Lanes that have a line of A or B.
pub const QUAD: usize = 4;

/// How dot products are computed side by side.
pub trait Arithmetic: Debug + 'static {
    /// What a register holds of eight lines of a factor, decoded.
    type Factors: Copy + Debug;

    /// Elements that are zero.
    const ZERO: Self::Factors;

    /// Decodes the words of a register, [transposed](Vectors::transpose).
    fn decode<V: Vectors>(v: V, operand: Operand, words: V::W, factors: &mut Self::Factors);

    /// Computes two registers of D: the dot products of eight rows of A with the even columns of eight of B, and with the odd ones.
    /// `rows` and `columns` have what meets at equal places. `false` if the results are not among those that are computed here.
    fn sums<V: Vectors>(
        v: V,
        config: &Config,
        rows: &[Self::Factors],
        columns: &[Self::Factors],
        c: [&[u32; LANES]; 2],
        d: &mut [[u32; LANES]; 2],
    ) -> bool;
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
