//! The contents of generated buffers: what each element is follows from its index alone.

use super::element::Element;

/// What fills a buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fill {
    Zeros,
    /// The same value everywhere.
    Constant(u64),
    /// `start`, `start + step`, ...
    Range {
        start: u64,
        step: u64,
    },
    /// Uniformly distributed: see [`Fill::random`].
    Random {
        seed: u64,
        bounds: Bounds,
    },
    /// These values.
    List(Vec<u64>),
}

/// The range of random values: `lo` inclusive, `hi` exclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bounds {
    Integer { lo: i128, hi: i128 },
    Float { lo: f64, hi: f64 },
}

impl Fill {
    pub(crate) fn range(element: Element, start: Option<&str>, step: Option<&str>) -> Result<Self, String> {
        let number = |text: Option<&str>, default| element.parse(text.unwrap_or(default));
        Ok(Self::Range { start: number(start, "0")?, step: number(step, "1")? })
    }

    /// Random values from `lo` (inclusive) to `hi` (exclusive): by default all values of an integer type, and 0 to 1 of
    /// a floating-point type. Element `i` comes from draw `i` of the generator SplitMix64, whose state starts as `seed`:
    /// an integer is `lo + draw mod (hi - lo)`; a floating-point value is `lo + (hi - lo) * (draw >> 11) / 2^53`,
    /// computed in f64 and rounded to the type.
    pub(crate) fn random(
        element: Element,
        seed: Option<&str>,
        lo: Option<&str>,
        hi: Option<&str>,
    ) -> Result<Self, String> {
        let seed = seed.unwrap_or("0");
        let seed = seed.parse().map_err(|_| format!("`{seed}` is not a seed: a number from 0 to 2^64-1"))?;
        let wrong = || "lo must be below hi".to_owned();
        let bounds = if element.is_float() {
            let bound = |text: Option<&str>, default: f64| {
                text.map_or(Ok(default), |text| element.parse(text).map(|bits| element.to_f64(bits)))
            };
            let (lo, hi) = (bound(lo, 0.0)?, bound(hi, 1.0)?);
            // NaN and infinite bounds have no finite difference.
            if lo >= hi || !(hi - lo).is_finite() {
                return Err(wrong());
            }
            Bounds::Float { lo, hi }
        } else {
            let bits = element.bytes() as u32 * 8;
            let signed = element.to_integer(1 << (bits - 1)) < 0;
            let (least, end) = if signed { (-(1 << (bits - 1)), 1 << (bits - 1)) } else { (0, 1 << bits) };
            let bound = |text: Option<&str>, default| {
                // `hi` is exclusive, and so may be one more than the greatest value.
                text.map_or(Ok(default), |text| match text.parse() {
                    Ok(bound) if (least..=end).contains(&bound) => Ok(bound),
                    _ => element.parse(text).map(|bits| element.to_integer(bits)),
                })
            };
            let (lo, hi) = (bound(lo, least)?, bound(hi, end)?);
            if lo >= hi {
                return Err(wrong());
            }
            Bounds::Integer { lo, hi }
        };
        Ok(Self::Random { seed, bounds })
    }

    /// Element `index`.
    pub(crate) fn at(&self, element: Element, index: u64) -> u64 {
        match self {
            Self::Zeros => 0,
            Self::Constant(bits) => *bits,
            Self::Range { start, step } => element.sequence(*start, *step, index),
            Self::Random { seed, bounds } => {
                let draw = split_mix(*seed, index);
                match *bounds {
                    Bounds::Integer { lo, hi } => {
                        // Of all 2^64 values a draw is one; a division of 128 bits takes ten times as long.
                        let within = u64::try_from(hi - lo).map_or(draw, |count| draw % count);
                        let value = lo + i128::from(within);
                        value as u64 & (u64::MAX >> (64 - element.bytes() * 8))
                    }
                    Bounds::Float { lo, hi } => {
                        let unit = (draw >> 11) as f64 / (1_u64 << 53) as f64;
                        element.nearest(lo + (hi - lo) * unit)
                    }
                }
            }
            Self::List(values) => {
                usize::try_from(index).ok().and_then(|i| values.get(i)).copied().unwrap_or(0)
            }
        }
    }
}

/// Draw `index` of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators").
fn split_mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(name: &str) -> Element {
        Element::from_name(name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn the_generator_is_split_mix() {
        // The published first outputs for seed 1234567.
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431];
        assert_eq!([0, 1, 2, 3].map(|i| split_mix(1_234_567, i)), expected);
    }

    #[test]
    fn random_values_stay_in_their_range_and_reach_its_ends() {
        let fill = Fill::random(element("s8"), Some("3"), Some("-3"), Some("4")).unwrap();
        let values: Vec<_> = (0..1000).map(|i| element("s8").to_integer(fill.at(element("s8"), i))).collect();
        assert_eq!((values.iter().min(), values.iter().max()), (Some(&-3), Some(&3)));
        let fill = Fill::random(element("f32"), None, None, None).unwrap();
        let values: Vec<_> = (0..10_000).map(|i| element("f32").to_f64(fill.at(element("f32"), i))).collect();
        assert!(values.iter().all(|v| (0.0..=1.0).contains(v)));
        let mean = values.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
    }

    #[test]
    fn whole_types_can_be_drawn() {
        let fill = Fill::random(element("u64"), None, None, None).unwrap();
        assert_eq!(fill.at(element("u64"), 5), split_mix(0, 5));
        let fill = Fill::random(element("s32"), None, None, None).unwrap();
        assert!((0..100).any(|i| element("s32").to_integer(fill.at(element("s32"), i)) < 0));
        assert!(Fill::random(element("u8"), None, None, Some("256")).is_ok());
        assert!(Fill::random(element("u8"), None, None, Some("257")).is_err());
        assert!(Fill::random(element("f64"), None, Some("nan"), None).is_err());
    }
}
