//! Where the elements of a product are in tensor memory (PTX ISA, "Data Path Layout Organization").
//!
//! Each of 128 lanes computes the part of one row that is in it, from the row of A, the scale factors and the metadata that are
//! in its own lane or in its quarter of the lanes. What several lanes need, programs have put into each of them.

/// How the rows of a CTA are spread over the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datapath {
    /// Row i in lane i: layouts A and D.
    Whole,
    /// 16 rows in each quarter, half of its lanes: layouts C and F.
    Half,
    /// 64 rows, twice, with half of the columns each: layouts B and E.
    TwoByTwo,
    /// 32 rows, four times, with a quarter of the columns each: layout G.
    OneByFour,
}

/// The part of a row that a lane computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) lane: u32,
    /// The row, of those that the CTA has.
    pub(crate) row: u32,
    /// The first column of D that the lane has.
    pub(crate) first: u32,
    /// How many it has.
    pub(crate) columns: u32,
}

impl Datapath {
    /// Of a product of `m` rows, which so many CTAs compute together.
    pub(crate) fn new(m: u32, ctas: u32, sparse: bool, stationary: bool) -> Self {
        match (m, ctas) {
            (32, _) => Self::OneByFour,
            (64, _) if stationary => Self::TwoByTwo,
            (64, _) => Self::Half,
            (128, 2) if sparse => Self::Half,
            (128, 2) => Self::TwoByTwo,
            _ => Self::Whole,
        }
    }

    /// How many shares of the columns there are.
    pub(crate) fn shares(self) -> u32 {
        match self {
            Self::Whole | Self::Half => 1,
            Self::TwoByTwo => 2,
            Self::OneByFour => 4,
        }
    }

    /// The lane in which the memory of a product may begin, counted in half quarters.
    pub(crate) fn may_begin_at(self, lane: u32) -> bool {
        lane == 0 || self == Self::Half && lane == 16
    }

    /// What each lane computes of `n` columns; `base` is the lane of the address.
    pub(crate) fn parts(self, base: u32, n: u32) -> impl Iterator<Item = Part> {
        let columns = n / self.shares();
        (0..if self == Self::Half { 64 } else { 128 }).map(move |i| match self {
            Self::Whole => Part { lane: i, row: i, first: 0, columns },
            Self::Half => Part { lane: base + i / 16 * 32 + i % 16, row: i, first: 0, columns },
            Self::TwoByTwo => Part { lane: i, row: i % 64, first: i / 64 * columns, columns },
            Self::OneByFour => Part { lane: i, row: i % 32, first: i / 32 * columns, columns },
        })
    }
}
