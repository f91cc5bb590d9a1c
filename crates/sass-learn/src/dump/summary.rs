//! What a repository knows of a key, for people.

use std::fmt;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

use super::encoder::{Encoder, Immediates, Model, Modifiers};
use super::repository::Repository;
use super::system::whole;

/// The weight of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The samples do not determine it by itself; sums in which it occurs may be known.
    Open,
    /// It is this number.
    Known(Box<BigRational>),
}

/// A key, as far as its samples determine it.
#[derive(Clone, Debug)]
pub struct KeySummary<'a> {
    /// The key: `FADD R, R, R`.
    pub key: &'a str,
    /// How many samples are kept.
    pub samples: usize,
    /// How many features there are, and how many independent equations.
    pub features: usize,
    /// See `features`.
    pub rank: usize,
    /// How texts become values.
    pub model: String,
    /// No model explains the samples: the key says nothing.
    pub unexplained: bool,
    /// Bits that the text does not determine.
    pub hidden: u128,
    /// The features and their weights: `opcode`, `guard`, `@!` for its negation, `#2` the second number, `.FTZ` a modifier, `-2` the sign before the
    /// second number, `2.64` a modifier behind it, `2=SR_TID.X` a name in its place, `2<0` that it is negative.
    pub weights: Vec<(&'a str, Weight)>,
}

impl Repository {
    /// Its keys, in alphabetical order.
    pub fn keys(&self) -> impl Iterator<Item = KeySummary<'_>> {
        self.keys.iter().map(|(key, encoder)| encoder.summary(key))
    }
}

impl Encoder {
    pub(super) fn summary<'a>(&'a self, key: &'a str) -> KeySummary<'a> {
        let weights: Vec<_> = self
            .weights()
            .into_iter()
            .map(|(name, weight)| {
                (name, weight.map_or(Weight::Open, |it| Weight::Known(Box::new(it.clone()))))
            })
            .collect();
        KeySummary {
            key,
            samples: self.samples.len(),
            features: weights.len(),
            rank: self.rank(),
            model: self.model().map_or_else(|| "unexplained".to_string(), |it| it.to_string()),
            unexplained: self.unexplained,
            hidden: self.hidden,
            weights,
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.modifiers {
            Modifiers::Apart => "modifiers apart",
            Modifiers::Placed => "modifiers by place",
            Modifiers::Head => "modifiers of the mnemonic together",
            Modifiers::All => "all modifiers together",
        })?;
        f.write_str(match self.immediates {
            Immediates::Whole => "",
            Immediates::Bits => ", immediates bit by bit",
            Immediates::Named => ", immediates by name",
        })?;
        f.write_str(if self.relative { ", relative to the next instruction" } else { "" })
    }
}

/// `bit 16`, `bits 16, 24`, or a number.
impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Weight::Known(weight) = self else { return f.write_str("open") };
        let Some(number) = whole(weight) else { return write!(f, "{weight}") };
        let magnitude = number.magnitude();
        if number.is_negative() || magnitude.count_ones() == 0 || magnitude.count_ones() > 3 {
            let sign = if number.is_negative() { "-" } else { "" };
            return write!(f, "{sign}{magnitude:#x}");
        }
        let bits: Vec<String> =
            (0..magnitude.bits()).filter(|&it| magnitude.bit(it)).map(|it| it.to_string()).collect();
        write!(f, "{} {}", if bits.len() == 1 { "bit" } else { "bits" }, bits.join(", "))
    }
}

impl Weight {
    /// The whole number that it is.
    pub fn number(&self) -> Option<&BigInt> {
        match self {
            Weight::Open => None,
            Weight::Known(weight) => whole(weight),
        }
    }
}
