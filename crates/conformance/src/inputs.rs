//! The inputs of a case: one row of operands a thread.
//!
//! Where operands are few, every edge of one meets every edge of the others; then come random rows, rows of operands
//! that are related (equal, neighbours, opposite, with products at the bottom of the range), and for instructions of a
//! whole warp, warps of a few different values. Instructions with one operand of 16 bits see every value.

use crate::domain::{Domain, Format, elements};
use crate::random::Random;
use ptx::types::ScalarType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Threads of a CTA.
pub(crate) const THREADS: usize = 128;

/// The most rows of crossed edges.
const CROSSED: usize = 4096;

/// Random rows.
const RANDOM: usize = 1024;

/// Rows of related operands.
const RELATED: usize = 1024;

/// Lanes of a warp.
const LANES: usize = 32;

/// What the rows of a case are made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inputs {
    /// A domain for each word of a row.
    pub domains: Vec<Domain>,
    /// Whether the lanes of a warp matter to one another.
    pub together: bool,
    /// CTAs of a cluster.
    pub cluster: usize,
}

impl Inputs {
    /// Words of a row.
    pub fn words(&self) -> usize {
        self.domains.len()
    }

    /// All rows, one after the other. The same on every host.
    pub fn rows(&self) -> Vec<u64> {
        let mut random = Random::new(self.seed());
        let rows = match () {
            () if self.domains.is_empty() => Vec::new(),
            () if self.domains.iter().any(|domain| matches!(domain, Domain::Elements(_))) => {
                self.matrices(&mut random)
            }
            () if self.together => self.warps(&mut random),
            () => self.threads(&mut random),
        };
        self.padded(rows, &mut random)
    }

    fn seed(&self) -> u64 {
        // Of a text, so that it is the same on every host.
        let Self { domains, together, .. } = self;
        format!("Inputs {{ domains: {domains:?}, together: {together} }}")
            .bytes()
            .fold(0, |seed, byte| seed * 31 % 0xffff_ffff_ffff + u64::from(byte))
    }

    fn threads(&self, random: &mut Random) -> Vec<u64> {
        let wide = self.domains.iter().map(|domain| domain.bits()).sum::<u32>();
        if let [Domain::Of(ty)] = self.domains[..]
            && (wide <= 16 || ty.bits() == 32 && matches!(Format::of(ty), Some((_, 2))))
        {
            // Every value of 16 bits; of two halves, every value in either of them.
            let all = 0..1 << wide.min(16);
            return all.map(|x| if wide > 16 { x | ((x * 40503 + 77) % 65536) << 16 } else { x }).collect();
        }
        let mut rows = self.crossed();
        for _ in 0..if self.domains.len() == 1 { 4 * RANDOM } else { RANDOM } {
            rows.extend(self.domains.iter().map(|domain| domain.random(random)));
        }
        if self.domains.len() > 1 {
            let edges: Vec<_> = self.domains.iter().map(|domain| domain.edges()).collect();
            (0..RELATED).for_each(|_| rows.extend(self.related(&edges, random)));
        }
        rows
    }

    /// As many edges of every operand as can be crossed.
    fn crossed(&self) -> Vec<u64> {
        let mut edges: Vec<_> = self.domains.iter().map(|domain| domain.edges()).collect();
        let rows =
            |edges: &[Vec<u64>]| edges.iter().fold(1_usize, |rows, edges| rows.saturating_mul(edges.len()));
        while rows(&edges) > CROSSED {
            // Of the longest list the least telling value; the first operand keeps most.
            let longest = edges.iter_mut().rev().max_by_key(|edges| edges.len());
            longest.map(Vec::pop);
        }
        let count = rows(&edges);
        let mut rows = Vec::new();
        for mut index in 0..count {
            for edges in &edges {
                rows.push(edges[index % edges.len()]);
                index /= edges.len();
            }
        }
        rows
    }

    /// A row whose operands have to do with one another.
    fn related(&self, edges: &[Vec<u64>], random: &mut Random) -> Vec<u64> {
        let value = |(domain, edges): (&Domain, &Vec<u64>), random: &mut Random| match random.one_in(2) {
            true => random.pick(edges),
            false => domain.random(random),
        };
        let mut row: Vec<u64> = self.domains.iter().zip(edges).map(|both| value(both, random)).collect();
        let format = match self.domains[0] {
            Domain::Of(ty) if self.domains[1] == self.domains[0] => Format::of(ty).filter(|(_, n)| *n == 1),
            _ => None,
        };
        match random.below(if format.is_some() { 8 } else { 4 }) {
            0 => row[1] = row[0],
            1 => row[1] = row[0].wrapping_add(random.below(5)).wrapping_sub(2),
            2 => row[1] = row[0] ^ 1 << (self.domains[0].bits() - 1),
            3 => row[1] = !row[0],
            kind => {
                if let Some((format, _)) = format {
                    products(format, kind, &mut row, random);
                }
            }
        }
        for (word, domain) in row.iter_mut().zip(&self.domains) {
            *word &= u64::MAX >> (64 - domain.bits());
            if !domain.permits(*word) {
                *word = domain.random(random);
            }
        }
        row
    }

    /// Warps of few and of many different values.
    fn warps(&self, random: &mut Random) -> Vec<u64> {
        let mut rows = Vec::new();
        for warp in 0..2 * RANDOM / LANES {
            let few = [1, 2, 4, 32][warp % 4];
            let palettes: Vec<Vec<u64>> = self
                .domains
                .iter()
                .map(|domain| {
                    let edges = domain.edges();
                    let value = |random: &mut Random| match random.one_in(2) && !edges.is_empty() {
                        true => random.pick(&edges),
                        false => domain.random(random),
                    };
                    (0..few).map(|_| value(random)).collect()
                })
                .collect();
            for _ in 0..LANES {
                rows.extend(palettes.iter().map(|palette| random.pick(palette)));
            }
        }
        rows
    }

    /// CTAs whose matrices are all of one kind.
    fn matrices(&self, random: &mut Random) -> Vec<u64> {
        let mut rows = Vec::new();
        for row in 0..RANDOM {
            let mode = (row / THREADS % 4) as u64;
            rows.extend(self.domains.iter().map(|domain| match domain {
                Domain::Elements(element) => elements(*element, mode, random),
                // Accumulators: of the size of the products.
                Domain::Of(ScalarType::F32) if mode < 2 => elements(ptx::isa::Modifier::F32, mode, random),
                other => other.random(random),
            }));
        }
        rows
    }

    /// Rows for whole clusters of CTAs.
    fn padded(&self, mut rows: Vec<u64>, random: &mut Random) -> Vec<u64> {
        let words = self.words();
        while !rows.len().is_multiple_of(words.max(1) * THREADS * self.cluster) {
            let index = rows.len() % words;
            rows.push(self.domains[index].random(random));
        }
        rows
    }

    /// How many rows there are.
    pub fn count(&self, rows: &[u64]) -> usize {
        if self.domains.is_empty() { THREADS * self.cluster } else { rows.len() / self.words() }
    }
}

/// Inputs that have been made, for the many cases that share them.
#[derive(Debug, Default)]
pub struct Made(Mutex<HashMap<Inputs, Arc<Vec<u64>>>>);

impl Made {
    /// The rows of some inputs.
    pub fn rows(&self, inputs: &Inputs) -> Arc<Vec<u64>> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = lock().get(inputs) {
            return Arc::clone(rows);
        }
        let rows = Arc::new(inputs.rows());
        lock().insert(inputs.clone(), Arc::clone(&rows));
        rows
    }
}

/// Operands whose product or quotient lies where rounding and the bottom of the range meet.
fn products(format: Format, kind: u64, row: &mut [u64], random: &mut Random) {
    let bias = format.bias();
    let sign = random.next() & 1 << (format.bits() - 1);
    let fraction = random.next() & ((1 << format.fraction) - 1);
    let one = 1_u128 << format.fraction;
    // The significand whose product with the other is next to two, at the bottom of a binade.
    let other = ((2 * one * one) / (one + u128::from(fraction))) as u64;
    let other = other.wrapping_add(random.below(3)).wrapping_sub(1) & ((1 << format.fraction) - 1);
    let exponent = 1 + random.below(bias - 1);
    match kind {
        4 | 5 => {
            row[0] = format.number(exponent, fraction) | sign;
            row[1] = format.number(bias - exponent, other);
            if let Some(third) = row.get_mut(2).filter(|_| kind == 5) {
                *third = random.pick(&[0, 1, 2, 3]) | random.next() & 1 << (format.bits() - 1);
            }
        }
        // A quotient at the bottom of the range.
        6 => {
            let exponent = bias + random.below(bias - 2);
            row[1] = format.number(exponent, fraction);
            row[0] = (format.number(exponent + 1 - bias, fraction) | sign).wrapping_sub(random.below(3));
        }
        // A product near one.
        _ => {
            row[0] = format.number(bias, fraction) | sign;
            row[1] = format.number(bias - 1, other);
            if let Some(third) = row.get_mut(2) {
                *third = format.number(bias, 0) | (!sign & 1 << (format.bits() - 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(types: &[ScalarType], together: bool) -> Inputs {
        Inputs { domains: types.iter().map(|&ty| Domain::Of(ty)).collect(), together, cluster: 1 }
    }

    #[test]
    fn operands_of_16_bits_take_every_value() {
        let mut rows = inputs(&[ScalarType::F16], false).rows();
        rows.sort_unstable();
        assert!(rows.into_iter().eq(0..1 << 16));
        let rows = inputs(&[ScalarType::F16x2], false).rows();
        for shift in [0, 16] {
            let mut halves: Vec<u64> = rows.iter().map(|row| row >> shift & 0xffff).collect();
            halves.sort_unstable();
            assert!(halves.into_iter().eq(0..1 << 16));
        }
    }

    #[test]
    fn edges_meet_and_a_thousand_rows_are_random() {
        let rows = inputs(&[ScalarType::F32; 2], false).rows();
        let (negative, quiet, signalling) = (0x8000_0000, 0x7fc0_0000, 0x7f80_0001);
        for pair in [[0, negative], [0x7f80_0000, 0xff80_0000], [quiet, signalling], [1, 0x7f7f_ffff]] {
            assert!(rows.chunks(2).any(|row| row == pair), "{pair:x?}");
        }
        assert!(rows.len() / 2 >= CROSSED * 3 / 4 + RANDOM + RELATED);
        let rows = inputs(&[ScalarType::B64, ScalarType::U32], false).rows();
        for count in [0, 31, 32, 33, 63, 64, 255, 0xffff_ffff] {
            assert!(rows.chunks(2).any(|row| row == [u64::MAX, count]), "a shift by {count}");
        }
    }

    #[test]
    fn rows_fill_whole_blocks() {
        for together in [false, true] {
            let inputs = inputs(&[ScalarType::B32, ScalarType::U32, ScalarType::U32], together);
            let rows = inputs.rows();
            assert_eq!((rows.len() % 3, inputs.count(&rows) % THREADS), (0, 0));
            assert!(inputs.count(&rows) > 1000);
        }
    }
}
