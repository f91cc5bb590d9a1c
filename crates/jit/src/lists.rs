//! The arguments of a call of the host: values of lanes as vectors have them in memory ([`crate::sites`]).

use crate::sites::{Access, Action, list_bytes};
use ptx::module::RegId;

/// Lanes of a row, at most.
const LANES: usize = 32;

/// Lists that are read and written one after the other.
pub(crate) struct Lists<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) width: u32,
    /// Where the next one is.
    pub(crate) at: usize,
}

/// Bytes of all lists of an action.
pub(crate) fn bytes(action: &Action, width: u32) -> usize {
    let all = |bits: &mut dyn Iterator<Item = u32>| bits.map(|bits| list_bytes(bits, width)).sum();
    let listed = |access: &Access| access.steps.is_none().then_some(64);
    match action {
        Action::Load(access) | Action::Store(access) => {
            let elements = std::iter::repeat_n(access.bytes * 8, access.elements);
            all(&mut listed(access).into_iter().chain(elements))
        }
        Action::Update { access, .. } => {
            all(&mut listed(access).into_iter().chain(std::iter::repeat_n(access.bytes * 8, 3)))
        }
        Action::Interpret { reads, writes, .. } => {
            all(&mut reads.iter().chain(writes).map(|&(_, bits)| bits))
        }
        Action::Trap => 0,
    }
}

/// Registers, and whether they have 128 bits.
pub(crate) fn wide(registers: &[(RegId, u32)]) -> Vec<(RegId, bool)> {
    registers.iter().map(|&(register, bits)| (register, bits > 64)).collect()
}

impl Lists<'_> {
    /// Values of 64 bits that a list becomes: those of 128 bits have their upper halves in a second list.
    pub(crate) fn lanes(&self, bits: u32) -> usize {
        self.width as usize * if bits > 64 { 2 } else { 1 }
    }

    fn next(&mut self, bits: u32) -> &mut [u8] {
        let (at, length) = (self.at, (bits * self.width).div_ceil(8) as usize);
        self.at += list_bytes(bits, self.width);
        &mut self.bytes[at..at + length]
    }

    /// Reads a list.
    pub(crate) fn take(&mut self, bits: u32, into: &mut Vec<u64>) {
        let width = self.width as usize;
        let list = self.next(bits);
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        match bits {
            1 => into.extend((0..width).map(|l| u64::from(list[l / 8] >> (l % 8) & 1))),
            32 => into.extend(list.as_chunks::<4>().0.iter().map(|&b| u64::from(u32::from_le_bytes(b)))),
            64 => into.extend(list.as_chunks::<8>().0.iter().map(|&b| u64::from_le_bytes(b))),
            128 => [0, 8].iter().for_each(|&half| {
                into.extend(list.chunks(16).map(|lane| word(&lane[half..half + 8])));
            }),
            bits => into.extend(list.chunks(bits as usize / 8).map(word)),
        }
    }

    /// Writes a list; the values behind it.
    pub(crate) fn put<'v>(&mut self, bits: u32, values: &'v [u64]) -> &'v [u64] {
        let (own, rest) = values.split_at(self.lanes(bits));
        let width = self.width as usize;
        let list = self.next(bits);
        match bits {
            1 => {
                list.fill(0);
                own.iter().enumerate().for_each(|(l, value)| list[l / 8] |= ((value & 1) as u8) << (l % 8));
            }
            128 => {
                for (lane, place) in list.chunks_mut(16).enumerate() {
                    place[..8].copy_from_slice(&own[lane].to_le_bytes());
                    place[8..].copy_from_slice(&own[width + lane].to_le_bytes());
                }
            }
            bits => {
                let bytes = bits as usize / 8;
                for (place, value) in list.chunks_mut(bytes).zip(own) {
                    place.copy_from_slice(&value.to_le_bytes()[..bytes]);
                }
            }
        }
        rest
    }

    /// The addresses of an access.
    pub(crate) fn addresses(&mut self, access: &Access, first: u64, last: u32) -> [u64; LANES] {
        let mut addresses = [0; LANES];
        match access.steps {
            Some(steps) => {
                for (lane, address) in (0..).zip(&mut addresses) {
                    let more = if lane > last { steps.more } else { 0 };
                    let step = steps.stride.wrapping_mul(i64::from(lane)).wrapping_add(more);
                    *address = first.wrapping_add_signed(step);
                }
            }
            None => {
                let mut list = Vec::with_capacity(LANES);
                self.take(64, &mut list);
                addresses[..list.len()].copy_from_slice(&list);
            }
        }
        addresses
    }
}
