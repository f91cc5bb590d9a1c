//! Linear equations with exact coefficients, solved as they come in.
//!
//! An equation says that features, each as often as it occurs, add up to a code. The equations are kept reduced: each has
//! a feature of its own, its pivot, and beside it only features that are no pivots, which are the free ones. So a sum is
//! known if reducing it leaves no free feature, whether or not the weights of its features are known one by one.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

/// A feature's number.
pub(super) type Feature = usize;
/// How often each feature occurs.
pub(super) type Vector = BTreeMap<Feature, i128>;

/// pivot + Σ `free` = `code`.
#[derive(Clone, Debug)]
struct Row {
    free: BTreeMap<Feature, BigRational>,
    code: BigRational,
    /// The weight, if it is known by itself, whole and not large: most are, and sums of those need no fractions.
    plain: Option<i128>,
}

impl Row {
    fn new(free: BTreeMap<Feature, BigRational>, code: BigRational) -> Row {
        let plain = whole(&code).filter(|_| free.is_empty()).and_then(BigInt::to_i128);
        Row { free, code, plain }
    }
}

/// Equations in reduced form.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    rows: BTreeMap<Feature, Row>,
}

/// What the equations say of a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    /// It is this word.
    Known(u128),
    /// It is known and no word: negative, too large or a fraction.
    NoWord,
    /// It depends on features whose weights are open.
    Open,
}

impl System {
    /// What the sum must be.
    pub(super) fn sum(&self, vector: &Vector) -> Sum {
        let plain = vector.iter().try_fold(0i128, |sum, (feature, &times)| {
            sum.checked_add(self.rows.get(feature)?.plain?.checked_mul(times)?)
        });
        if let Some(word) = plain {
            return u128::try_from(word).map_or(Sum::NoWord, Sum::Known);
        }
        let (left, code) = self.reduce(vector);
        if !left.is_empty() {
            return Sum::Open;
        }
        whole(&code).and_then(BigInt::to_u128).map_or(Sum::NoWord, Sum::Known)
    }

    /// The features that keep a sum from being known.
    pub(super) fn open(&self, vector: &Vector) -> Vec<Feature> {
        self.reduce(vector).0.into_keys().collect()
    }

    /// What remains of a vector beside the pivots, and the code of what went.
    fn reduce(&self, vector: &Vector) -> (BTreeMap<Feature, BigRational>, BigRational) {
        let mut left: BTreeMap<Feature, BigRational> = BTreeMap::new();
        let mut code = BigRational::zero();
        for (&feature, &times) in vector {
            let times = BigRational::from_integer(BigInt::from(times));
            match self.rows.get(&feature) {
                Some(row) => {
                    for (&other, factor) in &row.free {
                        *left.entry(other).or_default() -= &times * factor;
                    }
                    code += times * &row.code;
                }
                None => *left.entry(feature).or_default() += times,
            }
        }
        left.retain(|_, it| !it.is_zero());
        (left, code)
    }

    /// Adds an equation. If the sum was known already, nothing changes, and the answer is whether it was this code.
    pub(super) fn add(&mut self, vector: &Vector, code: u128) -> bool {
        let (mut left, known) = self.reduce(vector);
        let code = BigRational::from_integer(BigInt::from(code)) - known;
        let Some((pivot, factor)) = left.pop_first() else { return code.is_zero() };
        let factor = factor.recip();
        let row =
            Row::new(left.into_iter().map(|(it, times)| (it, times * &factor)).collect(), code * &factor);
        for other in self.rows.values_mut() {
            let Some(times) = other.free.remove(&pivot) else { continue };
            for (&feature, factor) in &row.free {
                *other.free.entry(feature).or_default() -= &times * factor;
            }
            other.free.retain(|_, it| !it.is_zero());
            other.code -= times * &row.code;
            *other = Row::new(std::mem::take(&mut other.free), std::mem::take(&mut other.code));
        }
        self.rows.insert(pivot, row);
        true
    }

    /// A feature's weight, if it is known by itself.
    pub(super) fn weight(&self, feature: Feature) -> Option<&BigRational> {
        self.rows.get(&feature).filter(|it| it.free.is_empty()).map(|it| &it.code)
    }

    /// How many equations are independent.
    pub(super) fn rank(&self) -> usize {
        self.rows.len()
    }
}

/// The whole number that it is, if it is one.
pub(super) fn whole(code: &BigRational) -> Option<&BigInt> {
    code.denom().is_one().then(|| code.numer())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(entries: &[(Feature, i128)]) -> Vector {
        entries.iter().copied().collect()
    }

    #[test]
    fn sums_are_known_before_weights_are() {
        // x + 3y = 7, x + 5y = 11, and z only together with w.
        let mut system = System::default();
        assert!(system.add(&vector(&[(0, 1), (1, 3)]), 7));
        assert_eq!(system.sum(&vector(&[(0, 1), (1, 4)])), Sum::Open);
        assert_eq!(system.sum(&vector(&[(0, 2), (1, 6)])), Sum::Known(14));
        assert!(system.add(&vector(&[(0, 1), (1, 5)]), 11));
        assert_eq!(system.sum(&vector(&[(0, 1), (1, 100)])), Sum::Known(201));
        assert!(system.add(&vector(&[(2, 1), (3, 1)]), 10));
        assert_eq!(system.sum(&vector(&[(0, 1), (2, 2), (3, 2)])), Sum::Known(21));
        assert_eq!(system.open(&vector(&[(2, 1)])), [3]);
        assert_eq!(system.weight(1).and_then(whole), Some(&BigInt::from(2)));
        assert_eq!(system.weight(2), None);
        assert_eq!(system.sum(&vector(&[(0, -2), (1, 1)])), Sum::Known(0));
        assert_eq!(system.sum(&vector(&[(0, -3), (1, 1)])), Sum::NoWord);
        assert_eq!(system.rank(), 3);
        // What contradicts is noticed and changes nothing.
        assert!(!system.add(&vector(&[(0, 1), (1, 1)]), 4));
        assert!(system.add(&vector(&[(0, 1), (1, 1)]), 3));
    }

    #[test]
    fn fractions_are_exact() {
        let mut system = System::default();
        assert!(system.add(&vector(&[(0, 3), (1, 1)]), 1 << 127));
        assert!(system.add(&vector(&[(0, 7), (1, 1)]), (1 << 127) + 1));
        let quarter = system.weight(0).unwrap();
        assert_eq!((quarter.numer(), quarter.denom()), (&BigInt::from(1), &BigInt::from(4)));
        assert_eq!(whole(quarter), None);
        assert_eq!(system.sum(&vector(&[(0, 11), (1, 1)])), Sum::Known((1 << 127) + 2));
    }
}
