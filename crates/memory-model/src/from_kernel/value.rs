//! What is known of a register before the kernel runs.

/// The values that a register may have: from `low` to `high` in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Range {
    pub(super) low: u64,
    pub(super) high: u64,
    /// A power of two.
    pub(super) step: u64,
}

impl Range {
    /// All values of so many bits.
    pub(super) fn bits(bits: u32) -> Self {
        Self { low: 0, high: mask(bits), step: 1 }
    }

    /// The values, if there are at most so many.
    pub(super) fn values(self, most: u64) -> Option<impl Iterator<Item = u64>> {
        let count = (self.high - self.low) / self.step;
        (count < most).then(|| (0..=count).map(move |index| self.low + index * self.step))
    }

    /// Both ranges, and what is between.
    pub(super) fn join(self, other: Self) -> Self {
        let apart = self.low.abs_diff(other.low);
        let step = [self.step, other.step, 1 << apart.trailing_zeros().min(63)];
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            step: step.into_iter().min().unwrap_or(1),
        }
    }

    fn add(self, other: Self) -> Option<Self> {
        let (low, high) = (self.low.checked_add(other.low)?, self.high.checked_add(other.high)?);
        Some(Self { low, high, step: self.step.min(other.step) })
    }

    /// Multiplied by a number.
    fn times(self, by: u64) -> Option<Self> {
        let (low, high) = (self.low.checked_mul(by)?, self.high.checked_mul(by)?);
        Some(Self { low, high, step: self.step.checked_mul(1 << by.trailing_zeros().min(63))? })
    }
}

/// The greatest number of so many bits.
pub(super) fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Known {
    /// It does not matter any more.
    Dead,
    /// It is this number, in every execution.
    Number(u64),
    /// It depends on what is read: the thread's register of the same number has it.
    Open(Range),
}

impl Known {
    /// The range that it is in.
    pub(super) fn range(self) -> Range {
        match self {
            Self::Dead => Range::bits(64),
            Self::Number(value) => Range { low: value, high: value, step: 1 << 63 },
            Self::Open(range) => range,
        }
    }
}

/// The range of a sum of 64 bits.
pub(super) fn sum(a: Range, b: Range) -> Range {
    // The address of an element before another is a sum with a number that is greater than any address.
    let back = b.low.wrapping_neg();
    if b.low == b.high && back <= a.low {
        return Range { low: a.low - back, high: a.high - back, step: a.step };
    }
    a.add(b).unwrap_or(Range::bits(64))
}

/// The range of a product of 64 bits.
pub(super) fn product(a: Range, b: Range) -> Range {
    let by = |a: Range, b: Range| if b.low == b.high { a.times(b.low) } else { None };
    by(a, b).or_else(|| by(b, a)).unwrap_or(Range::bits(64))
}

/// The range of `a & b`.
pub(super) fn common(a: Range, b: Range) -> Range {
    let by = |a: Range, b: Range| {
        if b.low != b.high {
            return None;
        }
        // What a mask that ends in ones leaves of smaller numbers is all of them.
        if b.low.wrapping_add(1).is_power_of_two() && a.high <= b.low {
            return Some(a);
        }
        Some(Range { low: 0, high: b.low, step: 1 << b.low.trailing_zeros().min(63) })
    };
    by(a, b).or_else(|| by(b, a)).unwrap_or(Range { low: 0, high: a.high.min(b.high), step: 1 })
}
