//! Factors of `wgmma` in shared memory.

use crate::exec::Exec;
use crate::lanes::LANES;
use crate::matrix::descriptor::Descriptor;
use numerics::tensor::{Element, Operand};

/// A matrix in shared memory.
pub(super) struct Tile {
    descriptor: Descriptor,
    transposed: bool,
    operand: Operand,
    /// Bytes of an element.
    bytes: u32,
}

impl Tile {
    /// The matrix that the bits of a descriptor say.
    #[inline]
    pub(super) fn new(bits: u64, transposed: bool, operand: Operand) -> Self {
        Self { descriptor: Descriptor::new(bits), transposed, operand, bytes: bytes_of(operand) }
    }

    /// Reads the elements line by line, `lines` of `length` elements from `first` on, or tells the address that is not valid.
    pub(super) fn read(
        &self,
        x: &Exec<'_>,
        (first, lines, length): (u32, u32, u32),
        elements: &mut Vec<Element>,
    ) -> Result<(), u32> {
        elements.clear();
        elements.resize((lines * length) as usize, self.operand.decode(0));
        let held = 16 / self.bytes;
        let mut put = |line: u32, along: u32, bits: u64| {
            elements[(line * length + along) as usize] = self.operand.decode(bits);
        };
        if self.transposed {
            for line in (0..lines).step_by(8) {
                for k in 0..length {
                    let chunk = chunk(x, self.descriptor.across_lines(first + line, k))?;
                    (0..8).for_each(|j| put(line + j, k, bits_of(&chunk, j, 2)));
                }
            }
        } else {
            for line in 0..lines {
                for along in (0..length).step_by(held as usize) {
                    let from = self.descriptor.along_line(first + line, along * self.bytes);
                    let chunk = chunk(x, from)?;
                    (0..held).for_each(|j| put(line, along + j, bits_of(&chunk, j, self.bytes)));
                }
            }
        }
        Ok(())
    }

    /// The address of each 16 bytes that so many lines of so many elements lie in, from `first` on.
    pub(super) fn places(&self, (first, lines, length): (u32, u32, u32)) -> Vec<u32> {
        let Self { descriptor, bytes, .. } = self;
        match self.transposed {
            true => (0..lines)
                .step_by(8)
                .flat_map(|line| (0..length).map(move |k| descriptor.across_lines(first + line, k)))
                .collect(),
            false => (0..lines)
                .flat_map(|line| {
                    let along = (0..length * bytes).step_by(CHUNK);
                    along.map(move |along| descriptor.along_line(first + line, along))
                })
                .collect(),
        }
    }

    /// The `i`-th 16 bytes along k of eight lines from `first` on as a register would hold them: four lanes have a line. Or
    /// the address that is not valid.
    #[inline(always)]
    pub(super) fn words(&self, x: &Exec<'_>, first: u32, i: u32) -> Result<[u32; LANES], u32> {
        let mut words = [0; LANES];
        if self.transposed {
            for k in 0..8 {
                let chunk = chunk(x, self.descriptor.across_lines(first, 8 * i + k))?;
                for line in 0..8 {
                    let bits = u32::from(chunk[2 * line]) | u32::from(chunk[2 * line + 1]) << 8;
                    words[4 * line + k as usize / 2] |= bits << (16 * (k % 2));
                }
            }
        } else {
            for (line, words) in words.chunks_exact_mut(4).enumerate() {
                let chunk = chunk(x, self.descriptor.along_line(first + line as u32, 16 * i))?;
                for (word, bytes) in words.iter_mut().zip(chunk.chunks_exact(4)) {
                    *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                }
            }
        }
        Ok(words)
    }
}

/// Bytes that lie side by side whatever the descriptor says.
pub(super) const CHUNK: usize = 16;

/// Bytes of shared memory that lie side by side, as the async proxy sees them.
fn chunk(x: &Exec<'_>, address: u32) -> Result<[u8; CHUNK], u32> {
    let start = address.checked_sub(x.grid.shared_start).ok_or(address)? as usize;
    let bytes = x.shared.get(start..start + CHUNK).ok_or(address)?;
    let mut chunk = bytes.try_into().unwrap_or([0; CHUNK]);
    x.pending.proxy.read((x.threads.rank as usize, start), &mut chunk);
    Ok(chunk)
}

/// Element `index` of `bytes` each.
fn bits_of(chunk: &[u8; 16], index: u32, bytes: u32) -> u64 {
    let start = (index * bytes) as usize;
    let mut word = [0; 8];
    word[..bytes as usize].copy_from_slice(&chunk[start..start + bytes as usize]);
    u64::from_le_bytes(word)
}

/// The bytes that an element takes in shared memory.
fn bytes_of(operand: Operand) -> u32 {
    operand.bits().div_ceil(8)
}
