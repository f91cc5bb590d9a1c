//! Where a field stands in the word: up to a dozen runs of bits, lowest first.

use std::fmt;

/// The most runs that one field may have.
const RUNS: usize = 16;

/// The places of a field's bits in the 128-bit word, the field's lowest bit first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Bits {
    runs: [(u8, u8); RUNS],
    count: u8,
    width: u8,
    /// All of them, over the word.
    mask: u128,
}

impl Bits {
    /// The runs, lowest first: first bit and how many. For tables that are compiled in, which come from a table that was read.
    #[must_use]
    pub const fn of_runs(runs: &[(u8, u8)]) -> Bits {
        let mut bits = Bits { runs: [(0, 0); RUNS], count: runs.len() as u8, width: 0, mask: 0 };
        let mut at = 0;
        while at < runs.len() {
            let (low, len) = runs[at];
            bits.mask |= ones(len as u32) << low;
            bits.runs[at] = runs[at];
            bits.width += len;
            at += 1;
        }
        bits
    }

    /// The bits of the mask, in ascending order. `None` if they form too many runs.
    pub fn of_mask(mask: u128) -> Option<Bits> {
        let mut bits = Bits::default();
        let mut left = mask;
        while left != 0 {
            let low = left.trailing_zeros();
            let len = (left >> low).trailing_ones();
            bits.push(low as u8, len as u8)?;
            left &= !(ones(len) << low);
        }
        Some(bits)
    }

    /// Adds a run above the present ones.
    pub fn push(&mut self, low: u8, len: u8) -> Option<()> {
        if u32::from(low) + u32::from(len) > 128
            || usize::from(self.count) == RUNS
            || self.width.checked_add(len)? > 64
        {
            return None;
        }
        self.mask |= if len == 0 { 0 } else { ones(len.into()) << low };
        self.runs[usize::from(self.count)] = (low, len);
        self.count += 1;
        self.width += len;
        Some(())
    }

    /// A field with the bits of another above its own. `None` if they are too many.
    pub fn and_then(mut self, other: Bits) -> Option<Bits> {
        other.runs().iter().try_for_each(|&(low, len)| self.push(low, len))?;
        Some(self)
    }

    /// The lowest bits of the field, as many as are wanted.
    #[must_use]
    pub fn low(&self, wanted: u8) -> Bits {
        let mut bits = Bits::default();
        for &(low, len) in self.runs() {
            // A part of what there is has room.
            let _ = bits.push(low, len.min(wanted - bits.width.min(wanted)));
        }
        bits.count = bits.runs().iter().take_while(|it| it.1 > 0).count() as u8;
        bits
    }

    /// How many bits the field has.
    pub fn width(&self) -> u32 {
        u32::from(self.width)
    }

    /// Its runs: lowest bit and length.
    pub fn runs(&self) -> &[(u8, u8)] {
        &self.runs[..usize::from(self.count)]
    }

    /// The bits as a mask over the word.
    #[inline]
    pub fn mask(&self) -> u128 {
        self.mask
    }

    /// The field's value in the word.
    #[inline]
    pub fn get(&self, word: u128) -> u64 {
        let (low, len) = self.runs[0];
        let mut value = (word >> low) as u64 & ones64(len);
        if self.count > 1 {
            let mut at = len;
            for &(low, len) in &self.runs[1..usize::from(self.count)] {
                value |= ((word >> low) as u64 & ones64(len)) << at;
                at += len;
            }
        }
        value
    }

    /// The field's value, sign-extended.
    pub fn signed(&self, word: u128) -> i64 {
        let unused = 64 - self.width();
        (self.get(word) << unused) as i64 >> unused
    }

    /// The field's value in the word; 0 for a field without bits.
    pub fn get_or_zero(&self, word: u128) -> u64 {
        if self.count == 0 { 0 } else { self.get(word) }
    }

    /// The word with this value in the field.
    #[inline]
    pub fn put(&self, word: u128, value: u64) -> u128 {
        word & !self.mask() | self.spread(value)
    }

    /// The value in its places, and nothing elsewhere.
    #[inline]
    pub fn spread(&self, value: u64) -> u128 {
        let mut word = 0;
        let mut at = 0;
        for &(low, len) in self.runs() {
            word |= u128::from(value >> at & ones64(len)) << low;
            at += len;
        }
        word
    }
}

const fn ones(len: u32) -> u128 {
    if len >= 128 { u128::MAX } else { (1 << len) - 1 }
}

fn ones64(len: u8) -> u64 {
    if len >= 64 { u64::MAX } else { (1 << len) - 1 }
}

/// `16+8` for eight bits from bit 16; runs are joined by commas.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (low, len)) in self.runs().iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            write!(f, "{low}")?;
            if *len > 1 {
                write!(f, "+{len}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Bits {
    type Err = ();

    fn from_str(text: &str) -> Result<Bits, ()> {
        let mut bits = Bits::default();
        for run in text.split(',') {
            let (low, len) = run.split_once('+').unwrap_or((run, "1"));
            let len: u8 = len.parse().map_err(|_| ())?;
            bits.push(low.parse().map_err(|_| ())?, len).filter(|()| len > 0).ok_or(())?;
        }
        Ok(bits)
    }
}
