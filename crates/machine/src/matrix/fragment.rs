//! The registers of a warp that hold a matrix.

use super::layout::Layout;
use crate::lanes::{Files, LANES, PlaneId};
use numerics::tensor::{Element, Operand};

/// Registers that hold a matrix, and where their elements go.
#[derive(Debug)]
pub(crate) struct Fragment {
    /// Planes of 32 bits, or of 64 for `.f64`.
    planes: Vec<PlaneId>,
    /// Bits of an element.
    bits: u32,
    /// Where each element belongs in an array of the matrix: register by register, lane by lane, from the low bits up.
    positions: Vec<u16>,
}

impl Fragment {
    /// A fragment of `bits` an element in these planes.
    pub(crate) fn new(layout: Layout, planes: Vec<PlaneId>, bits: u32) -> Self {
        let held = Self::held(bits);
        let mut positions = Vec::with_capacity(planes.len() * LANES * held as usize);
        for register in 0..planes.len() as u32 {
            for lane in 0..LANES as u32 {
                positions.extend((0..held).map(|j| layout.position(lane, register * held + j) as u16));
            }
        }
        Self { planes, bits, positions }
    }

    /// The same with nothing but the first of the registers that hold the same: the others do not count.
    pub(crate) fn distinct(layout: Layout, mut planes: Vec<PlaneId>, bits: u32) -> Self {
        planes.truncate((layout.elements() / Self::held(bits)) as usize);
        Self::new(layout, planes, bits)
    }

    /// Elements that a register holds.
    fn held(bits: u32) -> u32 {
        if bits == 64 { 1 } else { 32 / bits }
    }

    /// Elements of the matrix.
    pub(crate) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Its registers.
    pub(crate) fn planes(&self) -> &[PlaneId] {
        &self.planes
    }

    /// Registers, lane by lane, as words.
    fn words<'a>(&'a self, files: &'a Files, warp: usize) -> impl Iterator<Item = u64> + 'a {
        self.planes.iter().flat_map(move |&plane| {
            let index = plane.index() + warp;
            (0..LANES).map(move |lane| match self.bits {
                64 => files.d[index].0[lane],
                _ => u64::from(files.w[index].0[lane]),
            })
        })
    }

    /// Reads the matrix: the bits of its elements.
    pub(crate) fn read(&self, files: &Files, warp: usize, matrix: &mut Vec<u64>) {
        matrix.clear();
        matrix.resize(self.len(), 0);
        let held = Self::held(self.bits) as usize;
        let mask = u64::MAX >> (64 - self.bits);
        for (mut word, positions) in self.words(files, warp).zip(self.positions.chunks_exact(held)) {
            for &position in positions {
                matrix[position as usize] = word & mask;
                word = word.checked_shr(self.bits).unwrap_or(0);
            }
        }
    }

    /// Reads the matrix as a factor.
    pub(crate) fn decode(&self, files: &Files, warp: usize, operand: Operand, matrix: &mut Vec<Element>) {
        matrix.clear();
        matrix.resize(self.len(), operand.decode(0));
        let held = Self::held(self.bits) as usize;
        for (mut word, positions) in self.words(files, warp).zip(self.positions.chunks_exact(held)) {
            for &position in positions {
                matrix[position as usize] = operand.decode(word);
                word = word.checked_shr(self.bits).unwrap_or(0);
            }
        }
    }

    /// Writes the matrix into all lanes of a warp.
    pub(crate) fn write(&self, files: &mut Files, warp: usize, matrix: &[u64]) {
        let held = Self::held(self.bits) as usize;
        let mut elements = self.positions.iter().map(|&position| matrix[position as usize]);
        for &plane in &self.planes {
            let index = plane.index() + warp;
            for lane in 0..LANES {
                let mut word = 0;
                for j in 0..held {
                    word |= elements.next().unwrap_or(0) << (j as u32 * self.bits);
                }
                match self.bits {
                    64 => files.d[index].0[lane] = word,
                    _ => files.w[index].0[lane] = word as u32,
                }
            }
        }
    }
}
