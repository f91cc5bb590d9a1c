//! Where a value stands in the files of a frame: names of planes, scalars and predicates.
//!
//! Each is one word, also where it may be missing: the low bits say in which file it is, and are never zero. An index counts
//! planes, so that of a register is a multiple of the pack's warps, and a warp's plane is one addition away.

use super::{Files, LANES, Lane};
use std::fmt::{Display, Formatter, Result};
use std::num::NonZeroU32;

/// Bits that say in which file an [`Operand`] is.
const FILE_BITS: u32 = 3;

/// The files that an [`Operand`] can be in, as their number.
const SCALARS: u32 = 1;
const PLANES_16: u32 = 2;
const PLANES_32: u32 = 3;
const PLANES_64: u32 = 4;

/// A word with an index above so many bits that are not zero.
const fn word(index: u32, below: u32, bits: u32) -> NonZeroU32 {
    match NonZeroU32::new(index << bits | below) {
        Some(word) => word,
        None => panic!("the bits below an index say what it is one of"),
    }
}

/// A plane or a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand(NonZeroU32);

/// The planes of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneId(NonZeroU32);

/// A value of the scalar file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScalarId(NonZeroU32);

/// The masks of a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredicateId(NonZeroU32);

/// A predicate that holds, or one that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition(NonZeroU32);

/// What an [`Operand`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The same for all threads.
    Scalar(ScalarId),
    /// A value a lane.
    Plane(PlaneId),
}

impl PlaneId {
    /// A plane of 16, 32 or 64 bits.
    pub const fn new(bits: u32, index: u32) -> Self {
        let file = match bits {
            16 => PLANES_16,
            32 => PLANES_32,
            _ => PLANES_64,
        };
        Self(word(index, file, FILE_BITS))
    }

    /// Which plane of its file it is.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0.get() >> FILE_BITS) as usize
    }

    /// 16, 32 or 64.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        4 << (self.0.get() & ((1 << FILE_BITS) - 1))
    }
}

impl ScalarId {
    /// A scalar.
    pub const fn new(index: u32) -> Self {
        Self(word(index, SCALARS, FILE_BITS))
    }

    /// Which of the scalar file it is.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0.get() >> FILE_BITS) as usize
    }
}

impl Operand {
    /// Its index, whichever file it is in: for who knows that already.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0.get() >> FILE_BITS) as usize
    }

    /// Which file it is in.
    #[inline(always)]
    pub const fn source(self) -> Source {
        match self.0.get() & ((1 << FILE_BITS) - 1) {
            SCALARS => Source::Scalar(ScalarId(self.0)),
            _ => Source::Plane(PlaneId(self.0)),
        }
    }

    /// The scalar that it is, if it is one.
    pub const fn as_scalar(self) -> Option<ScalarId> {
        match self.source() {
            Source::Scalar(scalar) => Some(scalar),
            Source::Plane(_) => None,
        }
    }

    /// Whether it is a scalar.
    pub const fn is_scalar(self) -> bool {
        matches!(self.source(), Source::Scalar(_))
    }
}

impl From<PlaneId> for Operand {
    fn from(plane: PlaneId) -> Self {
        Self(plane.0)
    }
}

impl From<ScalarId> for Operand {
    fn from(scalar: ScalarId) -> Self {
        Self(scalar.0)
    }
}

impl PredicateId {
    /// A predicate.
    pub const fn new(index: u32) -> Self {
        Self(word(index, 1, 1))
    }

    /// Which of the file it is.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0.get() >> 1) as usize
    }

    /// That it holds; if `negated`, that it does not.
    pub const fn is(self, negated: bool) -> Condition {
        Condition(word(self.index() as u32, if negated { 0b11 } else { 0b01 }, 2))
    }
}

impl Condition {
    /// Its predicate.
    #[inline(always)]
    pub const fn predicate(self) -> PredicateId {
        PredicateId::new(self.0.get() >> 2)
    }

    /// Which of the file of predicates it asks.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0.get() >> 2) as usize
    }

    /// Whether it asks that the predicate does not hold.
    #[inline(always)]
    pub const fn negated(self) -> bool {
        self.0.get() & 0b10 != 0
    }

    /// What turns the predicate's mask into the lanes where it is met: all bits, or none.
    #[inline(always)]
    pub const fn flip(self) -> u32 {
        if self.negated() { !0 } else { 0 }
    }
}

impl std::ops::Not for Condition {
    type Output = Self;
    fn not(self) -> Self {
        self.predicate().is(!self.negated())
    }
}

impl Files {
    /// A lane's value of an operand, zero-extended.
    #[inline]
    pub fn read(&self, operand: impl Into<Operand>, warp: usize, lane: usize) -> u64 {
        fn get<T: Lane>(files: &Files, index: usize, lane: usize) -> u64 {
            T::planes(files)[index].0[lane % LANES].to_scalar()
        }
        match operand.into().source() {
            Source::Scalar(scalar) => self.s[scalar.index()],
            Source::Plane(plane) => match plane.bits() {
                16 => get::<u16>(self, plane.index() + warp, lane),
                32 => get::<u32>(self, plane.index() + warp, lane),
                _ => get::<u64>(self, plane.index() + warp, lane),
            },
        }
    }

    /// Sets a lane of a plane to the low bits of a value.
    #[inline]
    pub fn write(&mut self, plane: PlaneId, warp: usize, lane: usize, value: u64) {
        fn set<T: Lane>(files: &mut Files, index: usize, lane: usize, value: u64) {
            T::planes_mut(files)[index].0[lane % LANES] = T::from_scalar(value);
        }
        let index = plane.index() + warp;
        match plane.bits() {
            16 => set::<u16>(self, index, lane, value),
            32 => set::<u32>(self, index, lane, value),
            _ => set::<u64>(self, index, lane, value),
        }
    }

    /// Sets a predicate in the lanes of a mask.
    #[inline(always)]
    pub fn write_predicate(&mut self, predicate: PredicateId, warp: usize, mask: u32, holds: u32) {
        let p = &mut self.p[predicate.index() + warp];
        *p = (*p & !mask) | (holds & mask);
    }
}

impl Display for PlaneId {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let file = match self.bits() {
            16 => 'h',
            32 => 'w',
            _ => 'd',
        };
        write!(f, "{file}{}", self.index())
    }
}

impl Display for ScalarId {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "s{}", self.index())
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.source() {
            Source::Scalar(scalar) => scalar.fmt(f),
            Source::Plane(plane) => plane.fmt(f),
        }
    }
}

impl Display for PredicateId {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "p{}", self.index())
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}{}", if self.negated() { "!" } else { "" }, self.predicate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_one_word_and_so_is_one_that_may_be_missing() {
        assert_eq!(size_of::<Option<Operand>>(), 4);
        assert_eq!(size_of::<Option<PlaneId>>(), 4);
        assert_eq!(size_of::<Option<PredicateId>>(), 4);
        assert_eq!(size_of::<Option<Condition>>(), 4);
    }

    #[test]
    fn a_place_knows_its_file() {
        for bits in [16, 32, 64] {
            let plane = PlaneId::new(bits, 24);
            assert_eq!((plane.bits(), plane.index()), (bits, 24));
            assert_eq!(Operand::from(plane).source(), Source::Plane(plane));
        }
        assert_eq!(Operand::from(ScalarId::new(0)).source(), Source::Scalar(ScalarId::new(0)));
        let holds = PredicateId::new(8).is(false);
        assert_eq!((holds.flip(), (!holds).flip(), !!holds), (0, !0, holds));
        assert_eq!([holds.to_string(), (!holds).to_string()], ["p8", "!p8"]);
    }
}
