//! What the compiler guesses: numbers by which the code of a kernel differs and what it does not. Which are best follows from a launch:
//! how many warps there are, and what they wait for. Whoever can tell what code costs at one, a model or a GPU, finds them with [`descend`].

use std::fmt;
use std::str::FromStr;

/// What is guessed of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// Rounds of a loop that come one behind the other, at most; with 1 every loop stays as it is.
    pub rounds: u32,
    /// Warps that share the time of a scheduler: the fewer there are, the more it matters how long instructions wait for one another.
    pub warps: u32,
    /// How far in front of the oldest instruction that is left others of its block may come; 0 tries several distances, and takes
    /// what `warps` say is best.
    pub ahead: usize,
    /// Registers that a new order of a block may take beyond those of the old one.
    pub more: u32,
    /// Most instructions that are guarded instead of jumped over.
    pub guarded: usize,
    /// General registers of a thread, at most; 0 says nothing.
    pub registers: u32,
}

impl Tuning {
    /// What the compiler guesses where nobody knows better.
    pub const GUESSED: Self = Self { rounds: 4, warps: 4, ahead: 0, more: 6, guarded: 7, registers: 0 };
}

impl Default for Tuning {
    fn default() -> Self {
        Self::GUESSED
    }
}

/// One of the numbers.
struct Number {
    name: &'static str,
    /// The largest that makes sense.
    most: u32,
    get: fn(&Tuning) -> u32,
    set: fn(&mut Tuning, u32),
    /// What is tried, for code that takes so many registers.
    tried: fn(u32) -> Vec<u32>,
}

/// All of them, in the order in which they are tried: the first ones change most.
const NUMBERS: [Number; 6] = [
    Number {
        name: "rounds",
        most: 64,
        get: |of| of.rounds,
        set: |of, to| of.rounds = to.max(1),
        tried: |_| vec![1, 2, 4, 8, 16],
    },
    Number {
        name: "warps",
        most: 16,
        get: |of| of.warps,
        set: |of, to| of.warps = to.max(1),
        tried: |_| vec![1, 2, 4, 8, 16],
    },
    Number {
        name: "ahead",
        most: 4096,
        get: |of| of.ahead as u32,
        set: |of, to| of.ahead = to as usize,
        tried: |_| vec![0, 1, 8, 16, 32, 64],
    },
    Number {
        name: "more",
        most: 255,
        get: |of| of.more,
        set: |of, to| of.more = to,
        tried: |_| vec![0, 6, 12, 24],
    },
    Number {
        name: "guarded",
        most: 64,
        get: |of| of.guarded as u32,
        set: |of, to| of.guarded = to as usize,
        tried: |_| vec![0, 3, 7, 14],
    },
    Number {
        name: "registers",
        most: 255,
        get: |of| of.registers,
        set: |of, to| of.registers = to,
        // Fewer let more warps be there together.
        tried: |used| {
            let step = crate::registers::GRANULE;
            let fewer = (1..=3).map(|steps| (used.next_multiple_of(step)).saturating_sub(steps * step));
            std::iter::once(0).chain(fewer.filter(|&it| it >= crate::registers::LEAST)).collect()
        },
    },
];

/// What code that was compiled with a tuning costs, and the registers that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Cycles, or whatever is measured: less is better.
    pub cycles: u64,
    /// General registers of a thread.
    pub registers: u32,
}

/// A change has to spare this part of the cycles to stay: what costs a little less by a model may cost more in truth (`docs/sim.md`, "Tuning").
const WORTH: u64 = 100;

/// The best tuning that is found by changing one number after the other, from what the compiler guesses on: each that makes it better
/// stays, until none does. `cost` is asked for nothing twice; where it is none, that tuning cannot be used.
///
/// # Errors
/// What `cost` failed with.
pub fn descend<E>(
    mut cost: impl FnMut(Tuning) -> Result<Option<Cost>, E>,
) -> Result<Option<(Tuning, Cost)>, E> {
    let mut asked = vec![Tuning::default()];
    let Some(first) = cost(Tuning::default())? else { return Ok(None) };
    let mut best = (Tuning::default(), first);
    loop {
        let before = best.0;
        for number in &NUMBERS {
            let around = best;
            for value in (number.tried)(around.1.registers) {
                let mut next = around.0;
                (number.set)(&mut next, value);
                if asked.contains(&next) {
                    continue;
                }
                asked.push(next);
                if let Some(found) =
                    cost(next)?.filter(|found| found.cycles + best.1.cycles / WORTH < best.1.cycles)
                {
                    best = (next, found);
                }
            }
        }
        if best.0 == before {
            return Ok(Some(best));
        }
    }
}

impl fmt::Display for Tuning {
    /// The numbers that are not what is guessed: `rounds=8,warps=1`; nothing if all are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guessed = Self::default();
        let others = NUMBERS.iter().filter(|number| (number.get)(self) != (number.get)(&guessed));
        for (i, number) in others.enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{}={}", number.name, (number.get)(self))?;
        }
        Ok(())
    }
}

impl FromStr for Tuning {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut tuning = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let names = || NUMBERS.map(|number| number.name).join(", ");
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` is no number of a tuning, as in rounds=8,warps=1"))?;
            let number = NUMBERS.iter().find(|number| number.name == name);
            let number = number.ok_or_else(|| format!("`{name}` is none of {}", names()))?;
            let value = value.parse().ok().filter(|&value: &u32| value <= number.most);
            let value = value.ok_or_else(|| format!("`{name}` is a number up to {}", number.most))?;
            (number.set)(&mut tuning, value);
        }
        Ok(tuning)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, Tuning, descend};

    #[test]
    fn a_tuning_is_read_as_it_is_written() {
        for text in ["", "rounds=8", "warps=1,ahead=32,registers=40", "rounds=1,guarded=0"] {
            assert_eq!(text.parse::<Tuning>().unwrap().to_string(), text);
        }
        assert_eq!("rounds=4".parse::<Tuning>().unwrap().to_string(), "");
        for text in ["rounds", "rounds=", "rounds=-1", "rounds=65", "turns=2", "warps=1;ahead=2"] {
            assert!(text.parse::<Tuning>().is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_that_help_together_are_found_one_after_the_other() {
        let mut asked = Vec::new();
        let best = descend(|tuning| {
            assert!(!asked.contains(&tuning), "{tuning:?} is asked for twice");
            asked.push(tuning);
            // Registers help only if loops are unrolled further, which helps by itself; without guards there is no code.
            let fewer = u64::from(tuning.registers == 48 && tuning.rounds == 8);
            let cycles = 100 + u64::from(tuning.rounds.abs_diff(8)) - 10 * fewer;
            Ok::<_, ()>((tuning.guarded > 0).then_some(Cost { cycles, registers: 60 }))
        });
        let (tuning, cost) = best.unwrap().unwrap();
        assert_eq!((tuning.to_string().as_str(), cost.cycles), ("rounds=8,registers=48", 90));
        assert_eq!(descend(|_| Err(())), Err(()));
        assert_eq!(descend(|_| Ok::<_, ()>(None)), Ok(None));
    }
}
