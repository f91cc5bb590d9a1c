//! How many registers hold a thread's part of a matrix (PTX ISA, "Matrix Fragments").
//!
//! A fragment spreads its matrix evenly over the threads that execute the instruction, packed into 32-bit registers
//! (64-bit ones for `.f64`). Three kinds of instruction deviate: `wmma` holds each `.f16` element of A and B twice,
//! `mma.m8n8k4` on `.f16` works on four matrices at once, and sparse instructions store half of A.

use super::form::Fragment;
use super::{Mnemonic, Modifier, Opcode, Slot};

impl Opcode {
    /// The number of registers of a matrix fragment.
    pub(super) fn fragment_length(&self, matrix: Fragment) -> Option<u32> {
        let shape = self.get(Slot::Shape)?.text();
        let numbers = numbers(shape);
        if self.mnemonic() == Mnemonic::Tcgen05 {
            // `.16x64b`: lanes by bits, of which a warp of 32 lanes holds 32 bits a register; `.x4` times over.
            let bits = if shape == ".16x32bx2" { 32 * 32 } else { numbers.first()? * numbers.get(1)? };
            return Some((bits / (32 * 32)).max(1) * self.get(Slot::Vec)?.vector_length()?);
        }
        let (&m, &n) = (numbers.first()?, numbers.get(1)?);
        if self.mnemonic() == Mnemonic::Ldmatrix {
            return Some(m * n * 8 * self.get(Slot::Vec)?.vector_length()? / (32 * 32));
        }
        let &k = numbers.get(2)?;
        let (slot, elements) = match matrix {
            Fragment::A if self.get(Slot::Sparse).is_some() => (Slot::Atype, m * k / 2),
            Fragment::A => (Slot::Atype, m * k),
            Fragment::B => (Slot::Btype, k * n),
            Fragment::C => (Slot::Ctype, m * n),
            Fragment::D => (Slot::Dtype, m * n),
        };
        // `wmma.mma` on `.f16` does not spell the types of A and B.
        let element = self.get(slot).unwrap_or(Modifier::F16);
        let is_factor = matches!(matrix, Fragment::A | Fragment::B);
        if self.mnemonic() == Mnemonic::Wmma && is_factor && element == Modifier::F16 {
            return Some(8);
        }
        let bits = self.element_bits(element);
        let threads = if self.mnemonic() == Mnemonic::Wgmma { 128 } else { 32 };
        let four = if shape == ".m8n8k4" && self.get(Slot::Atype) == Some(Modifier::F16) { 4 } else { 1 };
        Some((four * elements * bits / (threads * bits.max(32))).max(1))
    }

    /// M, N and K of a matrix multiplication.
    pub fn matrix_shape(&self) -> Option<[u32; 3]> {
        self.get(Slot::Shape)?.matrix_shape()
    }

    /// The bits that a matrix element takes in a register.
    fn element_bits(&self, element: Modifier) -> u32 {
        match element {
            Modifier::B1 => 1,
            Modifier::S4 | Modifier::U4 => 4,
            Modifier::E2m1 if self.has(Modifier::KindMxf4) || self.has(Modifier::KindMxf4nvf4) => 4,
            Modifier::E2m1 | Modifier::E2m3 | Modifier::E3m2 => 8,
            _ => element.scalar_type().map_or(32, |ty| ty.bits()),
        }
    }
}

/// The numbers in a text: 16, 8, 32 of `.m16n8k32`.
fn numbers(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

impl Modifier {
    /// The sizes that `.m16n8k16` names: rows of A, columns of B, and what they have in common.
    pub fn matrix_shape(self) -> Option<[u32; 3]> {
        numbers(self.text()).try_into().ok()
    }
}
