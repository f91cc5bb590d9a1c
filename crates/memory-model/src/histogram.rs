//! How often a real GPU was seen to end a test in each way, as text.
//!
//! ```text
//! # NVIDIA H200, driver of CUDA 13.0
//! st.weak x, 1; st.release.gpu y, 1 | ld.acquire.gpu r0, y; ld.weak r1, x
//!   0.0.0 1.0.0: 0011=52311 0111=7 1111=2911
//! ```
//!
//! A program stands on a line of its own, a thread a column; then the places that it ran in ([`ThreadPosition`]), with the ways to
//! end that were seen and how often. A way is a digit for each of [`crate::kernel::terms`], or `great` for a value that no
//! digit has.

use crate::catalogue::{self, Columns, ThreadPosition};
use crate::program::Program;
use std::collections::BTreeMap;
use std::fmt;

/// What was seen of one program in one choice of places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// For each way to end, its values and how often it was seen. None stands for a value that is too great.
    pub ways: BTreeMap<Option<Vec<i64>>, u64>,
}

/// What was seen of many programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histograms {
    /// What it was seen on.
    pub remarks: Vec<String>,
    /// By program and places.
    pub tests: BTreeMap<Columns, BTreeMap<Vec<ThreadPosition>, Seen>>,
}

impl Seen {
    /// Notes that a way was seen.
    pub fn add(&mut self, way: Option<Vec<i64>>, count: u64) {
        *self.ways.entry(way).or_default() += count;
    }

    /// How many instances ran.
    pub fn instances(&self) -> u64 {
        self.ways.values().sum()
    }
}

impl Histograms {
    /// Reads them.
    ///
    /// # Errors
    /// The line that is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut read = Self::default();
        let mut columns = None;
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = || format!("line {number}: `{line}`");
            if let Some(remark) = line.strip_prefix("# ") {
                read.remarks.push(remark.to_owned());
            } else if let Some(line) = line.strip_prefix("  ") {
                let (places, ways) = line.split_once(": ").ok_or_else(wrong)?;
                let places: Result<Vec<ThreadPosition>, _> = places.split(' ').map(str::parse).collect();
                let mut seen = Seen::default();
                for way in ways.split(' ') {
                    let (values, count) = way.split_once('=').ok_or_else(wrong)?;
                    let digits: Option<Vec<i64>> =
                        values.chars().map(|digit| digit.to_digit(10).map(i64::from)).collect();
                    let values = if values == "great" { None } else { Some(digits.ok_or_else(wrong)?) };
                    seen.add(values, count.parse().map_err(|_| wrong())?);
                }
                let (of, places): (&Columns, _) =
                    (columns.as_ref().ok_or_else(wrong)?, places.map_err(|_| wrong())?);
                if places.len() != of.len() {
                    return Err(wrong());
                }
                read.tests.entry(of.clone()).or_default().insert(places, seen);
            } else if !line.is_empty() {
                columns = Some(line.split(" | ").map(str::to_owned).collect());
            }
        }
        Ok(read)
    }

    /// Every test with what was seen of it.
    ///
    /// # Errors
    /// The program that is not understood.
    pub fn programs(&self) -> impl Iterator<Item = Result<(Program, &[ThreadPosition], &Seen), String>> {
        self.tests.iter().flat_map(|(columns, by_places)| {
            by_places.iter().map(move |(places, seen)| {
                let name = columns.join(" | ");
                let program = catalogue::program("recorded", columns, places);
                Ok((program.map_err(|problem| format!("{name}: {problem}"))?, &places[..], seen))
            })
        })
    }
}

impl fmt::Display for Histograms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for remark in &self.remarks {
            writeln!(f, "# {remark}")?;
        }
        for (columns, by_places) in &self.tests {
            writeln!(f, "{}", columns.join(" | "))?;
            for (places, seen) in by_places {
                let places: Vec<String> = places.iter().map(ThreadPosition::to_string).collect();
                write!(f, "  {}:", places.join(" "))?;
                for (way, count) in &seen.ways {
                    match way {
                        Some(values) => {
                            let digits: String = values.iter().map(i64::to_string).collect();
                            write!(f, " {digits}={count}")?;
                        }
                        None => write!(f, " great={count}")?,
                    }
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_as_it_is_read() {
        let text = "# a device\nst.weak x, 1 | ld.weak r0, x\n  0.0.0 1.0.0: great=1 01=7 11=9\n";
        let read = Histograms::parse(text).unwrap();
        assert_eq!(read.to_string(), text);
        let (program, places, seen) = read.programs().next().unwrap().unwrap();
        assert_eq!((program.threads.len(), places.len(), seen.instances()), (2, 2, 17));
        assert!(Histograms::parse("  0.0.0: 1=1").is_err());
        assert!(Histograms::parse("st.weak x, 1\n  0.0.0 1.0.0: 1=1").is_err());
        assert!(Histograms::parse("a\n  0.0.0: 1=many").is_err());
    }
}
