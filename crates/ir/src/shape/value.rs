//! What the analysis knows of a value, and how arithmetic changes it.
//!
//! A value of `width` bits is held zero-extended to 64; bits from the width on count as known zeros.
//!
//! Claims are about **groups** of lanes, of 32 or fewer, that start at a multiple of their size. For an affine value
//! `v(l) = v(0) + s*l` in groups of `n`, where `v(0)` is the value in a group's first lane and the stride is not negative,
//! let `a` be least such that `(n-1)*s < 2^a`. If the low `a` bits of `v(0)` are zero, no lane carries beyond them: the
//! bits from `a` on are the same in the group, and the low `a` bits are `s*l`. Such a value is called *separable* below;
//! `%tid.x` is, with `2^a = n`.

use super::threads::Threads;
use super::{Group, Shape};
use ptx::module::RegId;

/// The register whose extension may have gone wrong, and whether it was signed.
pub(super) type Extended = (RegId, bool);

/// The lanes of a warp.
pub(super) const WARP: u32 = 32;

/// A value in all lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    shape: Shape,
    /// The size of the groups of lanes in which it has that shape, a power of two.
    lanes: u32,
    /// What it is, if that is known; then it is invariant.
    constant: Option<u64>,
    /// Bits that are zero in every lane.
    zeros: u64,
    /// Bits that are zero in the first lane of every group.
    base_zeros: u64,
    /// The extension on whose not wrapping the shape depends.
    extended: Option<Extended>,
    /// What it is in terms of thread numbers.
    threads: Option<Threads>,
}

/// The low `width` bits.
pub(super) fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

pub(super) fn sign_extend(value: u64, width: u32) -> i64 {
    let unused = 64 - width.clamp(1, 64);
    ((value << unused) as i64) >> unused
}

impl Value {
    /// A value of which nothing is known.
    pub(super) fn unknown(width: u32) -> Self {
        Self::new(Shape::Varying, !mask(width), !mask(width))
    }

    fn new(shape: Shape, zeros: u64, base_zeros: u64) -> Self {
        let base_zeros = base_zeros | zeros;
        Self { shape, lanes: WARP, constant: None, zeros, base_zeros, extended: None, threads: None }
    }

    /// The same constant in all lanes.
    pub(super) fn constant(value: u64, width: u32) -> Self {
        let value = value & mask(width);
        let threads = Some(Threads::uniform(Group::Grid));
        Self { constant: Some(value), threads, ..Self::new(Shape::Invariant, !value, !value) }
    }

    /// An unknown value, the same for the whole CTA, that is at most `limit`.
    pub(super) fn invariant(limit: u64) -> Self {
        let zeros = !bound(limit);
        Self { threads: Some(Threads::uniform(Group::Cta)), ..Self::new(Shape::Invariant, zeros, zeros) }
    }

    /// An unknown value of at most `limit` that advances by `stride` in groups of `lanes`, the first of each having a
    /// multiple of `aligned`, a power of two.
    pub(super) fn affine(stride: i64, lanes: u32, limit: u64, aligned: u64) -> Self {
        Self { lanes, ..Self::new(Shape::Affine { stride }, !bound(limit), aligned - 1) }
    }

    /// The same, if it is known in terms of thread numbers.
    pub(super) fn with_threads(self, threads: Threads) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// What it is in terms of thread numbers.
    pub(super) fn threads(&self) -> Option<Threads> {
        self.threads
    }

    /// The threads for which it is the same, if it is for any group.
    pub(super) fn group(&self) -> Option<Group> {
        let by_lanes = match self.shape {
            Shape::Invariant => Some(Group::Cta),
            Shape::Affine { stride: 0 } if self.lanes == WARP => Some(Group::Warp),
            Shape::Affine { .. } | Shape::Varying => None,
        };
        self.threads.filter(Threads::is_uniform).map(|threads| threads.of).max(by_lanes)
    }

    /// A value that is the same for a group of threads, and of which nothing else is known.
    pub(super) fn same_for(group: Group, width: u32) -> Self {
        let shape = match group {
            Group::Warp => Shape::Affine { stride: 0 },
            Group::Cta | Group::Grid => Shape::Invariant,
        };
        Self { shape, threads: Some(Threads::uniform(group)), ..Self::unknown(width) }
    }

    /// The low bits that are zero in all lanes.
    pub(super) fn alignment(&self) -> u32 {
        self.zeros.trailing_ones()
    }

    /// Whether it holds its shape only if a number of fewer bits did not wrap.
    pub(super) fn is_hint(&self) -> bool {
        self.extended.is_some()
    }

    /// What holds of either of two values, where all threads of a group choose alike, or each thread for itself. With
    /// `few_bits`, only low bits are remembered: those that alternate would take many rounds to settle.
    pub(super) fn join(&self, other: &Self, choose_alike: Option<Group>, width: u32, few_bits: bool) -> Self {
        if self.constant.is_some() && self.constant == other.constant {
            return *self;
        }
        let (a, b) = self.common(other);
        let kept = |zeros: u64| match few_bits {
            true => mask(zeros.trailing_ones()) | !mask(width),
            false => zeros,
        };
        let bits = Self::new(Shape::Varying, kept(a.zeros & b.zeros), kept(a.base_zeros & b.base_zeros));
        let Some(group) = choose_alike else { return bits };
        let shape = match (a.shape, b.shape) {
            (Shape::Invariant, Shape::Invariant) if group >= Group::Cta => Shape::Invariant,
            _ => match (a.stride(), b.stride()) {
                (Some(a), Some(b)) if a == b => Shape::Affine { stride: a },
                _ => Shape::Varying,
            },
        };
        let (extended, agree) = match (a.extended, b.extended) {
            (Some(a), Some(b)) => (Some(a), a == b),
            (a, b) => (a.or(b), true),
        };
        let threads = a.threads.zip(b.threads).and_then(|(a, b)| Threads::join(a, b, group));
        let known = Self { threads, ..bits };
        if agree { Self { shape, lanes: a.lanes, extended, ..known } } else { known }
    }

    /// What is left of it where a group of threads, or each thread for itself, can hold it from different rounds of a loop.
    pub(super) fn of_different_rounds(&self, together: Option<Group>) -> Self {
        match self.constant {
            Some(_) => *self,
            None => self.join(self, together, 64, false),
        }
    }

    /// An unknown value of at most `limit`.
    pub(super) fn varying(limit: u64) -> Self {
        Self::new(Shape::Varying, !bound(limit), 0)
    }

    /// What holds of it in groups of `lanes`, where those are smaller.
    fn in_groups(&self, lanes: u32) -> Self {
        if lanes >= self.lanes {
            return *self;
        }
        let base_zeros = match self.stride() {
            None => self.zeros,
            Some(0) => self.base_zeros,
            Some(stride) => {
                let step = stride.wrapping_mul(i64::from(lanes));
                mask(self.base_zeros.trailing_ones().min(step.trailing_zeros())) | self.zeros
            }
        };
        Self { lanes, base_zeros, ..*self }
    }

    /// Both in the same groups.
    fn common(&self, other: &Self) -> (Self, Self) {
        (self.in_groups(other.lanes), other.in_groups(self.lanes))
    }

    /// The same with some more bits known to be zero in all lanes.
    pub(super) fn with_zeros(self, zeros: u64) -> Self {
        Self { zeros: self.zeros | zeros, base_zeros: self.base_zeros | zeros, ..self }
    }

    /// The size of the groups in which it has its shape.
    pub(super) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// How its lanes relate.
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// What it is, if it is a known constant.
    pub(super) fn known(&self) -> Option<u64> {
        self.constant
    }

    /// Whether it is a non-negative number if it is read as a signed one.
    pub(super) fn is_non_negative(&self, width: u32) -> bool {
        self.zeros & sign(width) != 0
    }

    fn stride(&self) -> Option<i64> {
        match self.shape {
            Shape::Invariant => Some(0),
            Shape::Affine { stride } => Some(stride),
            Shape::Varying => None,
        }
    }

    /// Whether all lanes of a group have the same value.
    fn is_uniform(&self) -> bool {
        self.stride() == Some(0)
    }

    /// If it is separable: the `a` of the module's documentation, 0 if it is uniform.
    fn split(&self, width: u32) -> Option<u32> {
        let stride = u64::try_from(self.stride()?).ok()?;
        let reach = stride.checked_mul(u64::from(self.lanes - 1))?;
        let low = 64 - reach.leading_zeros();
        let aligned = self.base_zeros & mask(low) == mask(low);
        (aligned && low <= width && self.extended.is_none()).then_some(low)
    }

    /// The result of any pure function of the operands, nothing else known of it.
    pub(super) fn of_function<'a>(operands: impl IntoIterator<Item = &'a Value>, width: u32) -> Self {
        let (mut shape, mut lanes) = (Shape::Invariant, WARP);
        let mut threads = Some(Threads::uniform(Group::Grid));
        for operand in operands {
            lanes = lanes.min(operand.lanes);
            let of = operand.group();
            threads = threads.zip(of).map(|(all, of)| Threads::uniform(all.of.min(of)));
            shape = match operand.shape {
                Shape::Invariant => shape,
                Shape::Affine { stride: 0 } if shape != Shape::Varying => Shape::Affine { stride: 0 },
                Shape::Affine { .. } | Shape::Varying => Shape::Varying,
            };
        }
        Self { shape, lanes, threads, ..Self::unknown(width) }
    }

    /// `a op b` for a linear operation, both in the same groups.
    fn linear(a: &Self, b: &Self, width: u32, op: fn(u64, u64) -> u64) -> Self {
        let constant = a.constant.zip(b.constant).map(|(a, b)| op(a, b));
        if let Some(constant) = constant {
            return Self::constant(constant, width);
        }
        let threads = a.threads.zip(b.threads).and_then(|(a, b)| Threads::linear(a, b, width, op));
        let result = Self { threads, ..Self::unknown(width) };
        if a.shape == Shape::Invariant && b.shape == Shape::Invariant {
            return Self { shape: Shape::Invariant, ..result };
        }
        let extended = match (a.extended, b.extended) {
            (Some(a), Some(b)) if a != b => return result,
            (a, b) => a.or(b),
        };
        let (Some(from_a), Some(from_b)) = (a.stride(), b.stride()) else {
            return result;
        };
        let stride = sign_extend(op(from_a as u64, from_b as u64), width);
        if stride == 0 && extended.is_some() {
            return result;
        }
        Self { shape: Shape::Affine { stride }, lanes: a.lanes, extended, ..result }
    }

    /// `a + b`
    pub(super) fn add(&self, other: &Self, width: u32) -> Self {
        let sum = |a: u64, b: u64| {
            if !a & !b == 0 {
                return a & b;
            }
            let high = (!a).checked_add(!b).map_or(0, |most| !bound(most));
            let low = mask(a.trailing_ones().min(b.trailing_ones()));
            // A sum that may wrap has its low bits only.
            if high | mask(width) == u64::MAX { high | low } else { low }
        };
        let (a, b) = self.common(other);
        let result = Self::linear(&a, &b, width, u64::wrapping_add);
        result.with_bits(sum(a.zeros, b.zeros), sum(a.base_zeros, b.base_zeros))
    }

    /// `a - b`
    pub(super) fn sub(&self, other: &Self, width: u32) -> Self {
        let low = |a: u64, b: u64| mask(a.trailing_ones().min(b.trailing_ones()));
        let (a, b) = self.common(other);
        let result = Self::linear(&a, &b, width, u64::wrapping_sub);
        result.with_bits(low(a.zeros, b.zeros), low(a.base_zeros, b.base_zeros))
    }

    fn with_bits(self, zeros: u64, base_zeros: u64) -> Self {
        let zeros = self.zeros | zeros;
        Self { zeros, base_zeros: self.base_zeros | base_zeros | zeros, ..self }
    }

    /// The low half of `a * b`.
    pub(super) fn mul(&self, other: &Self, width: u32) -> Self {
        let product = |a: u64, b: u64| {
            let high = (!a).checked_mul(!b).map_or(0, |most| !bound(most));
            let low = mask((a.trailing_ones() + b.trailing_ones()).min(64));
            if high | mask(width) == u64::MAX { high | low } else { low }
        };
        let (a, b) = self.common(other);
        let result = match (a.constant, b.constant) {
            (Some(a), Some(b)) => return Self::constant(a.wrapping_mul(b), width),
            (None, Some(factor)) => a.scale(factor, width),
            (Some(factor), None) => b.scale(factor, width),
            (None, None) => Self::of_function([&a, &b], width),
        };
        result.with_bits(product(a.zeros, b.zeros), product(a.base_zeros, b.base_zeros))
    }

    /// The shape of the product with a known factor.
    fn scale(&self, factor: u64, width: u32) -> Self {
        let threads = self.threads.and_then(|threads| threads.scale(factor, width));
        let unknown = Self { threads, ..Self::unknown(width) };
        match self.shape {
            Shape::Invariant => Self { shape: Shape::Invariant, ..unknown },
            Shape::Varying => unknown,
            Shape::Affine { stride } => {
                let stride = sign_extend((stride as u64).wrapping_mul(factor), width);
                if stride == 0 && self.extended.is_some() {
                    return unknown;
                }
                Self {
                    shape: Shape::Affine { stride },
                    lanes: self.lanes,
                    extended: self.extended,
                    ..unknown
                }
            }
        }
    }

    /// `a << by`, zero if `by` is the width or more.
    pub(super) fn shift_left(&self, by: u64, width: u32) -> Self {
        if by >= u64::from(width) {
            return Self::constant(0, width);
        }
        self.mul(&Self::constant(1 << by, width), width)
    }

    /// `a >> by`; a signed shift fills with the sign.
    pub(super) fn shift_right(&self, by: u64, width: u32, signed: bool) -> Self {
        let signed = signed && self.zeros & sign(width) == 0;
        let by = u32::try_from(by).unwrap_or(u32::MAX).min(width);
        if let Some(value) = self.constant {
            let shifted = if signed {
                (sign_extend(value, width) >> by.min(63)) as u64
            } else {
                value.checked_shr(by).unwrap_or(0)
            };
            return Self::constant(shifted, width);
        }
        let filled = |zeros: u64| {
            let shifted = zeros.checked_shr(by).unwrap_or(0);
            let top = !mask(width - by);
            if signed { shifted & mask(width - by) } else { shifted | top }
        };
        let result = match (self.shape, self.split(width)) {
            (Shape::Affine { stride }, Some(low)) => {
                // A sign bit that differs between lanes is not `s*l` shifted.
                let same_sign = low < width || !signed;
                let shape = if same_sign && by >= low {
                    Shape::Affine { stride: 0 }
                } else if same_sign && self.zeros & mask(by) == mask(by) {
                    Shape::Affine { stride: stride >> by }
                } else {
                    Shape::Varying
                };
                let threads = Self::of_function([self], width).threads;
                Self { shape, lanes: self.lanes, threads, ..Self::unknown(width) }
            }
            _ => Self::of_function([self], width),
        };
        result.with_bits(filled(self.zeros), filled(self.base_zeros))
    }

    /// `a & b`
    pub(super) fn and(&self, other: &Self, width: u32) -> Self {
        if let (Some(a), Some(b)) = (self.constant, other.constant) {
            return Self::constant(a & b, width);
        }
        let (a, b) = self.common(other);
        let result = match (a.is_uniform(), b.is_uniform()) {
            (true, false) => b.and_uniform(&a, width),
            (false, true) => a.and_uniform(&b, width),
            _ => Self::of_function([&a, &b], width),
        };
        // Nothing is taken away if all bits that can be set are kept.
        let keeps = |value: &Self, kept: &Self| kept.constant.is_some_and(|kept| !value.zeros & !kept == 0);
        let threads = match () {
            () if keeps(&a, &b) => a.threads,
            () if keeps(&b, &a) => b.threads,
            () => Self::of_function([&a, &b], width).threads,
        };
        Self { threads, ..result.with_bits(a.zeros | b.zeros, a.base_zeros | b.base_zeros) }
    }

    /// The shape of `a & b` for a uniform `b`.
    fn and_uniform(&self, uniform: &Self, width: u32) -> Self {
        let unknown = Self::unknown(width);
        let Some(low) = self.split(width) else { return unknown };
        // Bits of `s*l` that `b` may let through, and those that it surely does.
        let varying = mask(low) & !self.zeros;
        if varying & !uniform.zeros == 0 {
            return Self { shape: Shape::Affine { stride: 0 }, lanes: self.lanes, ..unknown };
        }
        if uniform.constant.is_some_and(|kept| varying & !kept == 0) {
            return Self { shape: self.shape, lanes: self.lanes, ..unknown };
        }
        unknown
    }

    /// `a | b`, and also `a ^ b` where no bit can be set in both; `op` says which for constants.
    pub(super) fn or(&self, other: &Self, width: u32, op: fn(u64, u64) -> u64) -> Self {
        if let (Some(a), Some(b)) = (self.constant, other.constant) {
            return Self::constant(op(a, b), width);
        }
        let (a, b) = self.common(other);
        let above = |value: &Self, uniform: &Self| {
            let low = mask(value.split(width)?) & !value.zeros;
            (uniform.is_uniform() && low & !uniform.zeros == 0).then(|| Self {
                shape: value.shape,
                lanes: value.lanes,
                ..Self::unknown(width)
            })
        };
        let result = if !a.zeros & !b.zeros == 0 {
            a.add(&b, width)
        } else if a.is_uniform() && b.is_uniform() {
            Self::of_function([&a, &b], width)
        } else {
            above(&a, &b).or_else(|| above(&b, &a)).unwrap_or(Self::unknown(width))
        };
        result.with_bits(a.zeros & b.zeros, a.base_zeros & b.base_zeros)
    }

    /// Its low bits.
    pub(super) fn truncate(&self, width: u32) -> Self {
        let high = !mask(width);
        let shape = match self.shape {
            Shape::Affine { stride } => Shape::Affine { stride: sign_extend(stride as u64, width) },
            shape => shape,
        };
        let threads = self.threads.and_then(|threads| threads.truncate(width));
        if self.extended.is_some() && shape == (Shape::Affine { stride: 0 }) {
            return Self { threads, ..Self::unknown(width) };
        }
        Self { shape, constant: self.constant.map(|c| c & !high), threads, ..*self }.with_zeros(high)
    }

    /// Its extension from `from` to more bits; `source` is the register it comes from.
    pub(super) fn extend(&self, from: u32, to: u32, signed: bool, source: Option<RegId>) -> Self {
        if let Some(value) = self.constant {
            let extended = if signed { sign_extend(value, from) as u64 } else { value };
            return Self::constant(extended, to);
        }
        let known_sign = !signed || self.zeros & sign(from) != 0;
        let kept = if known_sign { u64::MAX } else { mask(from - 1) | !mask(to) };
        let base_sign = !signed || self.base_zeros & sign(from) != 0;
        let base_kept = if base_sign { u64::MAX } else { mask(from - 1) | !mask(to) };
        let bits = Self::new(self.shape, self.zeros & kept, self.base_zeros & base_kept);
        let stays_low = self.zeros & sign(from) != 0;
        let threads = self.threads.map(|threads| threads.extend(from, stays_low));
        let result = Self { lanes: self.lanes, threads, ..bits };
        let Shape::Affine { stride } = self.shape else { return result };
        let Some(reach) = stride.unsigned_abs().checked_mul(u64::from(self.lanes)) else {
            return Self { shape: Shape::Varying, ..result };
        };
        // No carry out of the low bits, or all lanes in the lower half with a step that cannot leave and come back.
        let separable = self.split(from).is_some_and(|low| low < from || !signed);
        let bounded = self.zeros & sign(from) != 0 && reach <= sign(from);
        if stride == 0 || (self.extended.is_none() && (separable || bounded)) {
            return result;
        }
        match source {
            Some(source) if self.extended.is_none() && reach <= mask(from) => {
                Self { extended: Some((source, signed)), ..result }
            }
            _ => Self { shape: Shape::Varying, ..result },
        }
    }
}

/// All bits that a number of at most `limit` can have.
fn bound(limit: u64) -> u64 {
    mask(64 - limit.leading_zeros())
}

/// The sign bit.
fn sign(width: u32) -> u64 {
    1 << (width.clamp(1, 64) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: usize = 32;
    type Lanes = [u64; LANES];

    /// Numbers that look random, and often near the ends of their range.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn below(&mut self, limit: u64) -> u64 {
            self.next() % limit
        }

        fn number(&mut self, width: u32) -> u64 {
            let number = match self.below(5) {
                0 => self.below(64),
                1 => 0_u64.wrapping_sub(self.below(64)),
                2 => sign(width).wrapping_sub(self.below(64)),
                3 => 1 << self.below(u64::from(width)),
                _ => self.next(),
            };
            number & mask(width)
        }
    }

    /// An expression's values in the lanes of one warp, and what the analysis says of them.
    #[derive(Clone)]
    struct Sample {
        lanes: Lanes,
        value: Value,
        width: u32,
    }

    /// Asserts everything that `value` claims. An affine claim that rests on an extension is only checked where the first
    /// and the last lane of a group confirm it; then it must hold for those between.
    fn check(sample: &Sample) {
        let Sample { lanes, value, width } = sample;
        for &lane in lanes {
            assert_eq!(lane & value.zeros, 0, "known zeros {sample:?}");
        }
        assert!(
            value.constant.is_none_or(|constant| lanes.iter().all(|&lane| lane == constant)),
            "{sample:?}"
        );
        for group in lanes.chunks(value.lanes as usize) {
            let step = |lane: usize, stride: i64| {
                group[0].wrapping_add((stride as u64).wrapping_mul(lane as u64)) & mask(*width)
            };
            assert_eq!(group[0] & value.base_zeros, 0, "known zeros of first lanes {sample:?}");
            let last = group.len() - 1;
            match value.shape {
                Shape::Invariant => assert!(lanes.iter().all(|&lane| lane == lanes[0]), "{sample:?}"),
                Shape::Affine { stride } if value.extended.is_none() || group[last] == step(last, stride) => {
                    (0..=last).for_each(|lane| assert_eq!(group[lane], step(lane, stride), "{sample:?}"));
                }
                Shape::Affine { stride } => assert_ne!(stride, 0, "{sample:?}"),
                Shape::Varying => {}
            }
        }
    }

    impl std::fmt::Debug for Sample {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{:?} of {} bits: {:x?}", self.value, self.width, self.lanes)
        }
    }

    /// A leaf: a constant, an invariant, `%laneid`, `%tid.x`, `%tid.y`, an affine value that may wrap, or anything. A row of
    /// threads has `row` lanes.
    fn leaf(random: &mut Random, row: u32) -> Sample {
        let width = 32;
        let number = random.number(width);
        let (lanes, value): (Lanes, Value) = match random.below(7) {
            0 => ([number; LANES], Value::constant(number, width)),
            1 => ([number; LANES], Value::invariant(mask(width))),
            2 => (std::array::from_fn(|lane| lane as u64), Value::affine(1, 32, 31, 32)),
            3 => {
                let starts: Lanes =
                    std::array::from_fn(|_| u64::from(row) * random.below(1024 / u64::from(row)));
                let lanes =
                    std::array::from_fn(|lane| starts[lane / row as usize] + lane as u64 % u64::from(row));
                (lanes, Value::affine(1, row, 1023, u64::from(row)))
            }
            4 => {
                let rows: Lanes = std::array::from_fn(|_| random.below(1024));
                (std::array::from_fn(|lane| rows[lane / row as usize]), Value::affine(0, row, 1023, 1))
            }
            5 => {
                let stride = sign_extend(random.number(width), width);
                let lanes = std::array::from_fn(|lane| {
                    number.wrapping_add((stride as u64).wrapping_mul(lane as u64)) & mask(width)
                });
                (lanes, Value::affine(stride, 32, mask(width), 1))
            }
            _ => (std::array::from_fn(|_| random.number(width)), Value::unknown(width)),
        };
        Sample { lanes, value, width }
    }

    fn apply(lanes: &Lanes, width: u32, f: impl Fn(u64) -> u64) -> Lanes {
        lanes.map(|lane| f(lane) & mask(width))
    }

    fn zip(a: &Lanes, b: &Lanes, width: u32, f: impl Fn(u64, u64) -> u64) -> Lanes {
        std::array::from_fn(|lane| f(a[lane], b[lane]) & mask(width))
    }

    /// A random operation on earlier samples; `register` is the number of the first operand.
    fn operation(random: &mut Random, a: (usize, &Sample), b: &Sample) -> Sample {
        let (register, a) = a;
        let width = a.width;
        let constant = random.below(u64::from(width));
        let kept = mask(constant as u32 + 1);
        let signed = random.below(2) == 0;
        let same = a.width == b.width;
        let (lanes, value, width) = match random.below(12) {
            0 if same => {
                (zip(&a.lanes, &b.lanes, width, u64::wrapping_add), a.value.add(&b.value, width), width)
            }
            1 if same => {
                (zip(&a.lanes, &b.lanes, width, u64::wrapping_sub), a.value.sub(&b.value, width), width)
            }
            2 if same => {
                (zip(&a.lanes, &b.lanes, width, u64::wrapping_mul), a.value.mul(&b.value, width), width)
            }
            3 if same => (zip(&a.lanes, &b.lanes, width, |a, b| a & b), a.value.and(&b.value, width), width),
            4 if same => (
                zip(&a.lanes, &b.lanes, width, |a, b| a | b),
                a.value.or(&b.value, width, |a, b| a | b),
                width,
            ),
            5 if same => (
                zip(&a.lanes, &b.lanes, width, |a, b| a ^ b),
                a.value.or(&b.value, width, |a, b| a ^ b),
                width,
            ),
            6 => (apply(&a.lanes, width, |a| a << constant), a.value.shift_left(constant, width), width),
            7 | 8 => {
                let by = if random.below(16) == 0 { u64::from(width) } else { constant };
                let shift = |lane: u64| match (signed, by == u64::from(width)) {
                    (true, _) => (sign_extend(lane, width) >> by.min(63)) as u64,
                    (false, true) => 0,
                    (false, false) => lane >> by,
                };
                (apply(&a.lanes, width, shift), a.value.shift_right(by, width, signed), width)
            }
            9 => {
                let mask_value = Value::constant(kept, width);
                (apply(&a.lanes, width, |a| a & kept), a.value.and(&mask_value, width), width)
            }
            10 if width == 32 => {
                let extend = |lane: u64| if signed { sign_extend(lane, 32) as u64 } else { lane };
                let value = a.value.extend(32, 64, signed, Some(RegId(register as u32)));
                (apply(&a.lanes, 64, extend), value, 64)
            }
            _ => (apply(&a.lanes, 32, |a| a), a.value.truncate(32), 32),
        };
        Sample { lanes, value, width }
    }

    #[test]
    fn what_is_claimed_of_random_expressions_holds() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let (mut affine, mut separable, mut hints) = (0, 0, 0);
        for _ in 0..30_000 {
            let row = 1 << (1 + random.below(5));
            let mut samples: Vec<Sample> = (0..6).map(|_| leaf(&mut random, row)).collect();
            for _ in 0..12 {
                let a = random.below(samples.len() as u64) as usize;
                let b = random.below(samples.len() as u64) as usize;
                let sample = operation(&mut random, (a, &samples[a]), &samples[b]);
                check(&sample);
                affine += u32::from(sample.value.stride().is_some_and(|stride| stride != 0));
                separable += u32::from(sample.value.split(sample.width).is_some_and(|low| low != 0));
                hints += u32::from(sample.value.extended.is_some());
                samples.push(sample);
            }
        }
        // The test would say nothing if such values did not come up.
        assert!(affine > 10_000 && separable > 1_000 && hints > 1_000, "{affine} {separable} {hints}");
    }

    #[test]
    fn strides_that_wrap_more_than_once_in_a_warp_are_not_extended() {
        let extend =
            |stride| Value::affine(stride, 32, mask(32), 1).extend(32, 64, false, Some(RegId(0))).shape();
        assert_eq!(extend(1 << 26), Shape::Affine { stride: 1 << 26 });
        assert_eq!(extend(1 << 27), Shape::Varying);
        assert_eq!(extend(-(1 << 27)), Shape::Varying);
    }

    #[test]
    fn errors_of_two_extensions_are_not_added() {
        // Both wrap, at different lanes, and the errors cancel in the last lane.
        let value = Value::affine(1, 32, mask(32), 1);
        let [a, b] = [RegId(0), RegId(1)].map(|register| value.extend(32, 64, false, Some(register)));
        assert_eq!(a.shape(), Shape::Affine { stride: 1 });
        assert_eq!(a.add(&b, 64).shape(), Shape::Varying);
        assert_eq!(a.add(&a, 64).shape(), Shape::Affine { stride: 2 });
    }
}
