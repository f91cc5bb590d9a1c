//! Latency tables: how many cycles after an instruction another may read its result.
//!
//! A table is data with its evidence, a line each:
//!
//! ```text
//! class NAME MNEMONIC...              these instructions have a fixed latency and belong together
//! variable QUEUE UNIT MNEMONIC...     these need a scoreboard; a unit ends its instructions in their order, and units of one
//!                                     queue take operands in their order
//! unguarded MNEMONIC...               their results need a scoreboard, but ptxas relies on some that have none
//! latency PRODUCER CONSUMER CYCLES HOW  from the issue of the one to that of the other: `measured`, `recorded` as a hazard, the
//!                                     `least` of what was measured for this producer, or what `ptxas` leaves, or `assumed`,
//!                                     where nothing was seen
//! asks MNEMONIC...                    they read a predicate that is an operand as guards are read
//! upper MNEMONIC...                   the upper half of its result is there two cycles later than the lower one
//! takes CYCLES HOW MNEMONIC...        from issue to result where no scoreboard is waited for, if nothing is in the way
//! late MNEMONIC CYCLES                it reads the upper half of its addend so much later
//! ```
//!
//! A consumer is a class, `guard` (a predicate before an instruction), `predicate` (one as an operand), `variable`, or `any`
//! other. A mnemonic is a name with
//! as many modifiers as matter: `IMAD.WIDE` is asked before `IMAD`. `#` begins a comment.

use rustc_hash::FxHashMap;

/// A table that has been read.
#[derive(Debug, Default)]
pub struct Latencies {
    classes: FxHashMap<&'static str, Class>,
    names: Vec<&'static str>,
    units: Vec<(&'static str, &'static str)>,
    cycles: FxHashMap<(u16, u16), u32>,
    late: FxHashMap<&'static str, u32>,
    takes: FxHashMap<&'static str, u32>,
    upper: Vec<&'static str>,
    asks: Vec<&'static str>,
    unguarded: Vec<&'static str>,
}

/// What a mnemonic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Its result is there after a number of cycles that depends on who reads it.
    Fixed(u16),
    /// Its result is there when a scoreboard says so.
    Variable(Unit),
}

/// How a number is known.
const HOW: [&str; 5] = ["measured", "recorded", "least", "ptxas", "assumed"];

/// What carries out an instruction of variable latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Where it waits for its operands to be taken.
    pub(crate) queue: u16,
    number: u16,
}

/// The numbers of the consumers that are no classes.
const ANY: u16 = u16::MAX;
const GUARD: u16 = u16::MAX - 1;
const VARIABLE: u16 = u16::MAX - 2;
const PREDICATE: u16 = u16::MAX - 3;

/// Who reads a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// An instruction of a class, as an operand.
    Class(Option<Class>),
    /// An instruction of a class, as a predicate that is an operand.
    Predicate(Option<Class>),
    /// Any instruction, as its guard.
    Guard,
}

/// What a table says of a mnemonic with its modifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) class: Option<Class>,
    /// How many cycles later than its other operands it reads the upper half of its addend.
    pub(crate) late: u32,
    /// Cycles to a result of variable latency, at least.
    pub(crate) takes: u32,
    /// The upper half of a result is there later than the lower one.
    pub(crate) has_late_half: bool,
    /// A predicate among its operands is read as a guard is.
    pub(crate) asks: bool,
    /// A result without a scoreboard is no mistake.
    pub(crate) may_be_unguarded: bool,
    /// Lanes wait for one another there, or control goes elsewhere and comes back.
    pub(crate) turns: bool,
}

/// Where lanes wait for one another, or control goes elsewhere and comes back.
const TURNS: [&str; 3] = ["BSYNC", "CALL", "WARPSYNC"];

/// The devices that have a table, and these.
const TABLES: [(u32, &str); 6] = [
    (80, include_str!("../latencies/sm_80.latency")),
    (86, include_str!("../latencies/sm_86.latency")),
    (89, include_str!("../latencies/sm_89.latency")),
    (90, include_str!("../latencies/sm_90.latency")),
    (100, include_str!("../latencies/sm_100.latency")),
    (120, include_str!("../latencies/sm_120.latency")),
];

/// The table of a device; none if nothing is known of it.
pub fn table(sm: u32) -> Option<&'static Latencies> {
    static READ: [std::sync::OnceLock<Latencies>; TABLES.len()] =
        [const { std::sync::OnceLock::new() }; TABLES.len()];
    let at = TABLES.iter().position(|it| it.0 == sm)?;
    Some(READ[at].get_or_init(|| match Latencies::read(TABLES[at].1) {
        Ok(table) => table,
        Err(line) => panic!("line {line} of the committed latencies of sm_{sm} is not understood"),
    }))
}

impl Latencies {
    /// Reads a table.
    ///
    /// # Errors
    /// The number of the first line that is wrong.
    pub fn read(text: &'static str) -> Result<Self, usize> {
        let mut table = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            table.line(line.split_ascii_whitespace()).ok_or(index + 1)?;
        }
        Ok(table)
    }

    fn line(&mut self, mut words: impl Iterator<Item = &'static str>) -> Option<()> {
        match words.next() {
            None => {}
            Some("class") => {
                let class = Class::Fixed(self.names.len() as u16);
                self.names.push(words.next()?);
                self.classes.extend(words.map(|name| (name, class)));
            }
            Some("variable") => {
                let queue = words.next()?;
                let number = self.units.len();
                self.units.push((queue, words.next()?));
                let queue = self.units.iter().position(|unit| unit.0 == queue)? as u16;
                let class = Class::Variable(Unit { queue, number: number as u16 });
                self.classes.extend(words.map(|name| (name, class)));
            }
            Some("upper") => self.upper.extend(words),
            Some("asks") => self.asks.extend(words),
            Some("unguarded") => self.unguarded.extend(words),
            Some("takes") => {
                let cycles = words.next()?.parse().ok()?;
                words.next().filter(|how| HOW.contains(how))?;
                self.takes.extend(words.map(|name| (name, cycles)));
            }
            Some("late") => {
                let name = words.next()?;
                self.late.insert(name, words.next()?.parse().ok()?);
            }
            Some("latency") => {
                let producer = self.number(words.next()?)?;
                let consumer = match words.next()? {
                    "any" => ANY,
                    "guard" => GUARD,
                    "variable" => VARIABLE,
                    "predicate" => PREDICATE,
                    name => self.number(name)?,
                };
                self.cycles.insert((producer, consumer), words.next()?.parse().ok()?);
                words.next().filter(|how| HOW.contains(how))?;
            }
            Some(_) => return None,
        }
        Some(())
    }

    fn number(&self, name: &str) -> Option<u16> {
        self.names.iter().position(|known| *known == name).map(|at| at as u16)
    }

    /// What a class is called; nothing, if its latency is variable.
    pub fn name(&self, class: Class) -> Option<&'static str> {
        match class {
            Class::Fixed(number) => self.names.get(usize::from(number)).copied(),
            Class::Variable(_) => None,
        }
    }

    /// What an instruction is, by its name with modifiers.
    pub fn class(&self, head: &str) -> Option<Class> {
        find(&self.classes, head)
    }

    /// All that is said of an instruction, by its name with modifiers.
    pub(crate) fn facts(&self, head: &str) -> Facts {
        let mnemonic = head.split('.').next().unwrap_or(head);
        Facts {
            class: self.class(head),
            late: self.late(head),
            takes: find(&self.takes, head).unwrap_or(0),
            has_late_half: self.upper.iter().any(|name| head.starts_with(name)),
            asks: self.asks.contains(&mnemonic),
            may_be_unguarded: self.unguarded.contains(&mnemonic),
            turns: TURNS.contains(&mnemonic),
        }
    }

    /// How many cycles later than its other operands an instruction reads the upper half of its addend.
    pub fn late(&self, head: &str) -> u32 {
        find(&self.late, head).unwrap_or(0)
    }

    /// Cycles from the issue of a producer to that of a consumer; none if nothing has been measured.
    pub fn cycles(&self, producer: Class, consumer: Consumer) -> Option<u32> {
        let Class::Fixed(producer) = producer else { return None };
        let class = |class| match class {
            Some(Class::Fixed(class)) => class,
            Some(Class::Variable(_)) => VARIABLE,
            None => ANY,
        };
        let (first, second) = match consumer {
            Consumer::Guard => (GUARD, ANY),
            Consumer::Class(found) => (class(found), ANY),
            Consumer::Predicate(found) => (PREDICATE, class(found)),
        };
        [first, second, ANY].iter().find_map(|&consumer| self.cycles.get(&(producer, consumer))).copied()
    }

    /// The most cycles from the issue of a producer to that of any consumer.
    pub fn longest(&self, producer: Class) -> Option<u32> {
        let Class::Fixed(producer) = producer else { return None };
        self.cycles.iter().filter(|((found, _), _)| *found == producer).map(|(_, &cycles)| cycles).max()
    }
}

/// What is said of a name with modifiers, or with as many of the first of them as anything is said of.
fn find<T: Copy>(table: &FxHashMap<&'static str, T>, head: &str) -> Option<T> {
    let mut name = head;
    loop {
        if let Some(&found) = table.get(name) {
            return Some(found);
        }
        name = name.rsplit_once('.')?.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const TABLE: &str = include_str!("../latencies/sm_90.latency");
    const RESULTS: &str = include_str!("../../cuasm/silicon/sm_90.results");

    /// `latency/PRODUCER/CONSUMER 4 ok ...` or `... at most 1 ok ...`: the classes' numbers, and the cycles.
    fn result(table: &Latencies, line: &str) -> Option<((u16, u16), u32)> {
        let mut words = line.strip_prefix("latency/")?.split(' ');
        let (producer, consumer) = words.next()?.split_once('/')?;
        let Class::Fixed(producer) = table.class(producer)? else { return None };
        let consumer = match consumer {
            "guard" => GUARD,
            name => match table.class(name)? {
                Class::Fixed(class) => class,
                Class::Variable(_) => VARIABLE,
            },
        };
        let cycles = words.find_map(|word| word.parse().ok())?;
        Some(((producer, consumer), cycles))
    }

    #[test]
    fn what_is_called_measured_was_measured() {
        let table = Latencies::read(TABLE).expect("a table");
        let mut largest: BTreeMap<(u16, u16), u32> = BTreeMap::new();
        for (pair, cycles) in RESULTS.lines().filter_map(|line| result(&table, line)) {
            let kept = largest.entry(pair).or_default();
            *kept = cycles.max(*kept);
        }
        let mut rows = 0;
        for line in TABLE.lines().filter(|line| line.ends_with(" measured")) {
            let words: Vec<&str> = line.split(' ').collect();
            let producer = table.number(words[1]).expect("a class");
            let consumer = match words[2] {
                "guard" => GUARD,
                "variable" => VARIABLE,
                name => table.number(name).expect("a class"),
            };
            let cycles = words[3].parse().expect("a number");
            assert_eq!(largest.get(&(producer, consumer)), Some(&cycles), "{line}");
            rows += 1;
        }
        assert!(rows > 40, "{rows}");
    }
}
