//! Anisotropic filtering: a footprint that is longer than wide is read by probes along its longer axis, each a lookup of the
//! level that its width asks for (CUDA driver API, "Texture Object Management": `maxAnisotropy`).
//!
//! Probes lie on both sides of the middle, half a texel from it and then a texel apart. Their weights come from the ratio by
//! a table, the last one of a side has what is left. All of it was measured on an H200.

use super::footprint::{exponent, power};

/// Most probes of a lookup.
pub const MOST: usize = 16;

/// What a sampler's greatest ratio is rounded down to, 1, 2, 4, 6, 8, 10, 12 or 16, as a logarithm in units of 1/256.
pub fn greatest_ratio(most: u32) -> i32 {
    match most {
        0..=1 => 0,
        2..=3 => 256,
        4..=5 => 512,
        6..=7 => 656,
        8..=9 => 768,
        10..=11 => 848,
        12..=15 => 912,
        _ => 1024,
    }
}

/// A lookup of its own near the coordinates of another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// How far it lies from them along both axes, in units of 1/256 texel.
    pub shift: [i32; 2],
    /// Its weight, at most 256.
    pub weight: u32,
}

impl Probe {
    /// The probe in one of two levels that are blended, of which the coarser has `weight`: what a step is in texels grows from one of
    /// the finer level to one of the coarser. (How the unit rounds it is not known.)
    pub fn between(self, weight: u32, coarser: bool) -> Self {
        if weight == 0 {
            return self;
        }
        let step = i32::from(RECIPROCAL[(256 - weight) as usize]);
        let unit = if coarser { 256 } else { 128 };
        Self { shift: self.shift.map(|s| (s * step + s.signum() * unit / 2) / unit), ..self }
    }
}

/// The probes of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probes {
    list: [Probe; MOST],
    count: usize,
    /// Their weights add up to 2 to the power of this.
    pub bits: u32,
}

/// 256 * 2^(-i/256), rounded: what ratios divide by.
const RECIPROCAL: [u16; 256] = reciprocals();

const fn reciprocals() -> [u16; 256] {
    // 2^(-1/256) with 62 fraction bits.
    const STEP: u128 = 4_599_216_278_082_138_665;
    let (mut table, mut value, mut i) = ([0; 256], 1u128 << 62, 0);
    while i < 256 {
        table[i] = ((value + (1 << 53)) >> 54) as u16;
        value = (value * STEP) >> 62;
        i += 1;
    }
    table
}

/// The direction of an axis as the unit has it, of 64: both components are cut to eighths of the power of two below the greater
/// one, and looked up in the middle of these cells; less than a quarter of a cell is nothing.
fn direction(axis: [f64; 2]) -> [i32; 2] {
    let greater = axis[0].abs().max(axis[1].abs());
    if greater == 0.0 {
        return [0; 2];
    }
    let cell = |x: f64| match x.abs() / power(exponent(greater) - 3) {
        cells if cells < 0.25 => 0.0,
        cells => cells.floor() + 0.5,
    };
    let [x, y] = axis.map(cell);
    // Halves below sixteen: the sum of their squares is exact.
    let unit = 64.0 / (x * x + y * y).sqrt();
    let rounded = |cells: f64, of: f64| (cells * unit + 0.5).floor().copysign(of) as i32;
    [rounded(x, axis[0]), rounded(y, axis[1])]
}

impl Probes {
    /// A lookup that is its own probe.
    pub const ONE: Self = {
        let mut list = [Probe { shift: [0; 2], weight: 0 }; MOST];
        list[0].weight = 256;
        Self { list, count: 1, bits: 8 }
    };

    /// Those of a footprint of a ratio, a logarithm in units of 1/256, along an axis.
    pub fn along(axis: [f64; 2], ratio: i32) -> Self {
        if ratio <= 0 {
            return Self::ONE;
        }
        let direction = direction(axis);
        let (octave, part) = match (ratio >> 8, u32::from(RECIPROCAL[(ratio & 255) as usize])) {
            // What is rounded to a half is one of the next octave.
            (octave, 128) => (octave + 1, 256),
            found => found,
        };
        let mut probes =
            Self { list: [Probe::default(); MOST], count: 0, bits: if octave > 1 { 10 } else { 9 } };
        if octave == 0 {
            // Two: the ratio moves them instead of weighting them. Halves go up.
            let shift = direction.map(|d| (((256 - part as i32) * d + 64) >> 7) * 2);
            probes.pair(shift, 256);
            return probes;
        }
        let mut left = 1 << (probes.bits - 1);
        let each = if octave > 1 { (part * 4) >> octave } else { part };
        for odd in (1..).step_by(2) {
            let weight = each.min(left);
            probes.pair(direction.map(|d| 2 * odd * d), weight);
            left -= weight;
            if left == 0 || probes.count == MOST {
                break;
            }
        }
        probes
    }

    /// Two, on both sides of the middle.
    fn pair(&mut self, shift: [i32; 2], weight: u32) {
        for shift in [shift, shift.map(|s| -s)] {
            self.list[self.count] = Probe { shift, weight };
            self.count += 1;
        }
    }

    /// All of them.
    pub fn list(&self) -> &[Probe] {
        &self.list[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up() {
        for ratio in 0..=1024 {
            let probes = Probes::along([3.0, -1.0], ratio);
            let sum: u32 = probes.list().iter().map(|probe| probe.weight).sum();
            assert_eq!(sum, 1 << probes.bits, "{ratio}");
            assert!(probes.list().iter().all(|probe| (1..=256).contains(&probe.weight)), "{ratio}");
        }
    }

    /// What an H200 answered about a column of ones among zeros.
    #[test]
    fn probes_of_a_ratio_of_two_and_a_half() {
        let probes = Probes::along([2.5, 0.0], 339);
        let found: Vec<_> = probes.list().iter().map(|probe| (probe.shift[0], probe.weight)).collect();
        assert_eq!(found, [(128, 204), (-128, 204), (384, 52), (-384, 52)]);
    }

    #[test]
    fn reciprocals_are_those_of_powers_of_two() {
        for (i, &found) in RECIPROCAL.iter().enumerate() {
            assert_eq!(found, (256.0 * (-(i as f64) / 256.0).exp2()).round() as u16, "{i}");
        }
    }
}
