//! When asynchronous operations are performed (PTX ISA, "Asynchronous operations"): what has been issued and is not done.
//!
//! By default an operation is performed where it is issued, which is one of the times that PTX allows. A program that
//! forgets to wait is right then, and wrong on a GPU. So under every other [`Asynchrony`] it becomes a [`Record`] of
//! [`Pending`], with the registers as they were, and is performed when something that the program does makes it: a wait for
//! its group, or for the phase of the mbarrier object that it tells. How, [`crate::ops::asynchronous`] knows; the same
//! functions are called then as would have been at once.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `pending` | what has been issued, and what forces it |
//! | `proxy` | shared memory as the async proxy sees it |
//! | `fragments` | registers as `wgmma` sees them |

pub(crate) mod fragments;
pub(crate) mod pending;
pub(crate) mod proxy;

use std::fmt;
use std::str::FromStr;

/// When asynchronous operations are performed: `eager`, `late`, `random:SEED` or `adversarial`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asynchrony {
    /// Where they are issued.
    #[default]
    Eager,
    /// When something forces them.
    Late,
    /// At random times until then.
    Random {
        /// What the times follow from.
        seed: u64,
    },
    /// When something forces them, the last one issued first where PTX orders none; they do not see what no fence has shown
    /// them, and what nobody has waited for reads memory that is gone when its CTA has exited.
    Adversarial,
}

impl fmt::Display for Asynchrony {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eager => f.write_str("eager"),
            Self::Late => f.write_str("late"),
            Self::Random { seed } => write!(f, "random:{seed}"),
            Self::Adversarial => f.write_str("adversarial"),
        }
    }
}

impl FromStr for Asynchrony {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "eager" => Ok(Self::Eager),
            None if text == "late" => Ok(Self::Late),
            None if text == "adversarial" => Ok(Self::Adversarial),
            Some(("random", seed)) => seed
                .parse()
                .map(|seed| Self::Random { seed })
                .map_err(|_| format!("`{seed}` is not a seed: a number from 0 to 2^64-1")),
            _ => Err(format!(
                "`{text}` is no time for asynchronous operations: eager, late, random:SEED or adversarial"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for kind in
            [Asynchrony::Eager, Asynchrony::Late, Asynchrony::Random { seed: 42 }, Asynchrony::Adversarial]
        {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("random".parse::<Asynchrony>().is_err());
        assert!("random:-1".parse::<Asynchrony>().is_err());
    }
}
