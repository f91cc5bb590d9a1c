//! The arguments of a call of the host: values of lanes as vectors have them in memory ([`crate::sites`]).

use crate::sites::{Access, Action, list_bytes};

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

impl Lists<'_> {
    fn next(&mut self, bits: u32) -> &mut [u8] {
        let (at, length) = (self.at, (bits * self.width).div_ceil(8) as usize);
        self.at += list_bytes(bits, self.width);
        &mut self.bytes[at..at + length]
    }

    /// Reads a list of numbers of up to 64 bits.
    pub(crate) fn take(&mut self, bits: u32, into: &mut Vec<u64>) {
        fn take<const BYTES: usize>(list: &[u8], into: &mut Vec<u64>) {
            into.extend(list.as_chunks::<BYTES>().0.iter().map(|bytes| {
                let mut word = [0; 8];
                word[..BYTES].copy_from_slice(bytes);
                u64::from_le_bytes(word)
            }));
        }
        let list = self.next(bits);
        match bits {
            8 => take::<1>(list, into),
            16 => take::<2>(list, into),
            32 => take::<4>(list, into),
            _ => take::<8>(list, into),
        }
    }

    /// Writes a list; the values behind it.
    pub(crate) fn put<'v>(&mut self, bits: u32, values: &'v [u64]) -> &'v [u64] {
        fn put<const BYTES: usize>(list: &mut [u8], values: &[u64]) {
            for (bytes, value) in list.as_chunks_mut::<BYTES>().0.iter_mut().zip(values) {
                bytes.copy_from_slice(&value.to_le_bytes()[..BYTES]);
            }
        }
        let (own, rest) = values.split_at(self.width as usize);
        let list = self.next(bits);
        match bits {
            8 => put::<1>(list, own),
            16 => put::<2>(list, own),
            32 => put::<4>(list, own),
            _ => put::<8>(list, own),
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
