//! Values worth trying: for every type its edges, most telling first, and random ones where operands meet.

use crate::random::Random;
use ptx::isa::Modifier;
use ptx::types::{ScalarType, TypeKind};

/// What an input of an instruction can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// A value of a type.
    Of(ScalarType),
    /// A predicate: 0 or 1.
    Flag,
    /// A register of a matrix: elements of this format, packed.
    Elements(Modifier),
    /// The indices of a sparse matrix: in each four bits two different positions, ascending.
    Positions,
    /// The indices of a sparse matrix of 32-bit elements: each four bits name one half of a pair or the other.
    Halves,
    /// An integer from `low` to `high` by steps, and no other.
    Range {
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
        /// From one to the next.
        step: i64,
    },
    /// An integer coordinate of a texture, or its layer.
    Texel {
        /// Texels along the axis.
        extent: u32,
    },
    /// A coordinate of a texture in `.f32`.
    Coordinate {
        /// Texels along the axis.
        extent: u32,
        /// Whether it counts textures, and not texels.
        normalized: bool,
    },
    /// A normalized coordinate in or next to a texture, and no other.
    Nearby {
        /// Texels along the axis.
        extent: u32,
    },
    /// A component of a direction into a cube map.
    Direction,
    /// One of a direction whose components are about equal.
    Heading,
    /// A level of detail.
    Level,
    /// A derivative of a coordinate: a power of two.
    Slope,
}

/// A binary floating-point format: bits of exponent and of fraction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    pub(crate) exponent: u32,
    pub(crate) fraction: u32,
}

impl Format {
    /// The format of a type's elements, and how many of them a value has.
    pub(crate) fn of(ty: ScalarType) -> Option<(Self, u32)> {
        use ScalarType::*;
        let format = |exponent, fraction| Self { exponent, fraction };
        match ty {
            F32 | Tf32 => Some((format(8, 23), 1)),
            F32x2 => Some((format(8, 23), 2)),
            F64 => Some((format(11, 52), 1)),
            F16 => Some((format(5, 10), 1)),
            F16x2 => Some((format(5, 10), 2)),
            Bf16 => Some((format(8, 7), 1)),
            Bf16x2 => Some((format(8, 7), 2)),
            E4m3 => Some((format(4, 3), 1)),
            E4m3x2 => Some((format(4, 3), 2)),
            E5m2 => Some((format(5, 2), 1)),
            E5m2x2 => Some((format(5, 2), 2)),
            _ => None,
        }
    }

    pub(crate) fn bits(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    pub(crate) fn bias(self) -> u64 {
        (1 << (self.exponent - 1)) - 1
    }

    pub(crate) fn number(self, exponent: u64, fraction: u64) -> u64 {
        let most = (1 << self.exponent) - 1;
        exponent.min(most) << self.fraction | fraction & ((1 << self.fraction) - 1)
    }

    fn infinity(self) -> u64 {
        self.number(u64::MAX, 0)
    }

    /// Zeros, subnormals, extremes, infinities, NaNs quiet and signalling with payloads, powers of two with their
    /// neighbours, values halfway between integers, and those at the limits of integer types and narrower formats.
    fn edges(self) -> Vec<u64> {
        let (one, quiet) = (self.number(self.bias(), 0), 1 << (self.fraction - 1));
        let least = self.number(1, 0);
        let infinity = self.infinity();
        let mut both = vec![0, one, infinity, least, least - 1, infinity - 1, 1];
        let mut edges: Vec<u64> = both.drain(..).flat_map(|x| [x, x | self.sign()]).collect();
        edges.extend([
            infinity | quiet,
            infinity | 1,
            infinity | quiet | self.sign() | 1,
            infinity | self.sign() | (quiet >> 1),
        ]);
        let mut more =
            vec![one - 1, one + 1, one | quiet, one | quiet | 1, least + 1, 2, infinity - 2, quiet];
        for power in [-1_i64, 1, 2, 7, 8, 15, 16, 23, 24, 31, 32, 53, 63, 64] {
            let exponent = self.bias() as i64 + power;
            if exponent > 0 && exponent < (1 << self.exponent) - 1 {
                let value = self.number(exponent as u64, 0);
                more.extend([value, value - 1, value + 1, value | quiet]);
                // Halfway between the integers around it, where the format has such numbers.
                if (0..i64::from(self.fraction)).contains(&power) {
                    more.push(value | 1 << (i64::from(self.fraction) - power - 1));
                    more.push((value - 1) & !0 << (i64::from(self.fraction) - power));
                }
            }
        }
        // The least and greatest numbers of the narrower formats, and what rounds to them.
        for (exponent, fraction) in [(5, 10), (8, 7), (4, 3), (5, 2), (8, 10), (8, 23)] {
            let narrow = Self { exponent, fraction };
            if self.exponent < exponent || self.fraction <= fraction {
                continue;
            }
            let drop = self.fraction - fraction;
            let low = self.bias() - narrow.bias() + 1;
            let high = self.bias() + narrow.bias();
            let greatest = self.number(high, !0 << drop);
            more.extend([self.number(low, 0), self.number(low, 0) - 1, greatest]);
            more.extend([greatest + (1 << (drop - 1)) - 1, greatest + (1 << (drop - 1))]);
            more.extend([one | 1 << (drop - 1), one | 3 << (drop - 1), one | 1 << (drop - 1) | 1]);
            if low > u64::from(fraction) + 1 {
                let smallest = self.number(low - u64::from(fraction), 0);
                let half = self.number(low - u64::from(fraction) - 1, 0);
                more.extend([smallest, half, half + 1, half - 1]);
            }
        }
        edges.extend(more.into_iter().flat_map(|x| [x, x | self.sign()]));
        edges.extend([infinity | quiet | (quiet - 1), infinity | self.sign() | (quiet - 1)]);
        distinct(edges, self.bits())
    }

    fn random(self, random: &mut Random) -> u64 {
        let fraction = random.next();
        let exponent = match random.below(8) {
            // Any exponent; near one, where operands meet; at the bottom; at the top.
            0..3 => random.next() & ((1 << self.exponent) - 1),
            3..6 => (self.bias() + random.below(13)).saturating_sub(6),
            6 => random.below(3),
            _ => ((1 << self.exponent) - 2) - random.below(3),
        };
        let fraction = if random.one_in(4) { fraction & !0 << (self.fraction / 2) } else { fraction };
        let sign = if random.one_in(2) { self.sign() } else { 0 };
        self.number(exponent, fraction) | sign
    }
}

/// The edges of integers: of their own width, of narrower ones, and counts on either side of every register width.
fn integer_edges(bits: u32) -> Vec<u64> {
    let top = u64::MAX >> (64 - bits);
    let middle = top / 2;
    let mut edges =
        vec![0, 1, top, middle + 1, middle, 31, 32, 33, 7, 8, middle + 2, top - 1, 63, 64, 255, 256, 16, 2];
    edges.extend([
        0x55 * (top / 255),
        3,
        15,
        17,
        24,
        65,
        127,
        128,
        129,
        257,
        top / 3,
        0x7fff,
        0x8000,
        0x8001,
        0xffff,
    ]);
    edges.extend([
        0x1_0000, 0xff_ffff, 0x100_0000, 0x100_0001, 0x100_0003, 0x7f_ffff, 0x80_0000, 2048, 2049, 65519,
        65520,
    ]);
    edges.extend([
        0x1234_5678,
        0x9abc_def0,
        0x7fff_ff80,
        0x7fff_ffbf,
        0x7fff_ffc0,
        0x8000_0000,
        0xffff_ffff,
        1 << 32,
    ]);
    edges.extend([
        0u64.wrapping_sub(128),
        0u64.wrapping_sub(129),
        0u64.wrapping_sub(32768),
        0u64.wrapping_sub(32769),
    ]);
    if bits > 32 {
        edges.extend([
            1 << 53,
            (1 << 53) + 1,
            (1 << 53) + 3,
            (1 << 54) + 2,
            (1 << 62) + 1,
            0x1234_5678_9abc_def0,
        ]);
        edges.extend([0u64.wrapping_sub(1 << 31), 0u64.wrapping_sub((1 << 31) + 1), 0x8000_0080_0000_0000]);
        edges.extend([
            0x8000_0080_0000_0001,
            0x7fff_ffff_ffff_fc00,
            0x7fff_ffff_ffff_fdff,
            0xffff_ffff_ffff_fbff,
        ]);
    }
    // What does not fit would repeat small numbers.
    edges.retain(|&edge| edge <= top || edge > u64::MAX / 2);
    distinct(edges, bits)
}

fn distinct(values: Vec<u64>, bits: u32) -> Vec<u64> {
    let mut kept = Vec::new();
    for value in values.into_iter().map(|value| value & u64::MAX >> (64 - bits)) {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

impl Domain {
    /// Bits of a value; of 128-bit types, of each half.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Of(ty) => ty.bits().clamp(8, 64),
            Self::Flag => 1,
            Self::Range { high, .. } if high > u32::MAX.into() => 64,
            Self::Elements(_) | Self::Positions | Self::Halves | Self::Range { .. } => 32,
            Self::Texel { .. } | Self::Coordinate { .. } | Self::Nearby { .. } => 32,
            Self::Direction | Self::Heading | Self::Level | Self::Slope => 32,
        }
    }

    /// Whether a value may be an input: some domains exclude what instructions do not take.
    pub(crate) fn permits(self, value: u64) -> bool {
        match self {
            Self::Range { low, high, .. } if self.bits() == 32 => {
                (low..=high).contains(&i64::from(value as u32 as i32))
                    || (low..=high).contains(&i64::from(value as u32)) && low >= 0
            }
            Self::Range { low, high, step } => {
                (low..=high).contains(&(value as i64)) && (value as i64 - low) % step == 0
            }
            // No direction is without a normal component.
            Self::Direction => f32::from_bits(value as u32).is_normal(),
            Self::Heading => (0.25..1.5).contains(&f32::from_bits(value as u32).abs()),
            Self::Nearby { .. } => f32::from_bits(value as u32).abs() < 4.0,
            Self::Slope => value << 41 == 0 && (116..128).contains(&(value >> 23 & 255)) || value << 33 == 0,
            _ => true,
        }
    }

    /// Values to be crossed with those of the other operands, most telling first.
    pub fn edges(self) -> Vec<u64> {
        match self {
            Self::Flag => vec![0, 1],
            Self::Elements(_) | Self::Positions | Self::Halves => Vec::new(),
            Self::Range { low, high, step } => {
                let middle = low + (high - low) / step / 2 * step;
                let edges = [low, high, low + step, high - step, middle].map(|edge| edge as u64);
                distinct(edges.to_vec(), self.bits())
            }
            Self::Texel { extent } => {
                let extent = u64::from(extent);
                let edges = [0, extent - 1, extent, u64::MAX, 1, extent + 1, 1 << 31, (1 << 31) - 1, 1 << 16];
                distinct(edges.to_vec(), 32)
            }
            Self::Coordinate { extent, normalized } => {
                let scale = if normalized { extent as f32 } else { 1.0 };
                distinct(coordinates(extent as f32).into_iter().map(|x| float(x / scale)).collect(), 32)
            }
            Self::Direction => {
                let edges = [1.0, -1.0, 0.5, 1e-20, -0.5, -1e-20, 0.25, 0.999, -0.75, 3.0];
                edges.into_iter().map(float).collect()
            }
            Self::Nearby { extent } => {
                let edges = coordinates(extent as f32).into_iter().map(|x| float(x / extent as f32));
                distinct(edges.filter(|&edge| self.permits(edge)).collect(), 32)
            }
            Self::Heading => [1.0, -1.0, 0.5, -0.5, 0.25, 0.999, -0.75].into_iter().map(float).collect(),
            Self::Level => {
                let edges = [0.0, 0.5, 1.0, 1.5, 2.996, 3.0, -1.0, 0.498, 7.0, f32::INFINITY, f32::NAN];
                edges.into_iter().map(float).collect()
            }
            Self::Slope => [0.0, 0.25, -0.125, 1.0, 0.0078125].into_iter().map(float).collect(),
            Self::Of(ty) => match (Format::of(ty), ty) {
                (Some((format, 1)), _) => format.edges(),
                (Some((format, _)), _) => pairs(&format.edges(), format.bits()),
                (None, ScalarType::U16x2 | ScalarType::S16x2) => pairs(&integer_edges(16), 16),
                (None, _) => integer_edges(self.bits()),
            },
        }
    }

    /// A random value.
    pub(crate) fn random(self, random: &mut Random) -> u64 {
        match self {
            Self::Flag => random.below(2),
            Self::Positions => {
                (0..8).fold(0, |bits, _| bits << 4 | random.pick(&[0x4, 0x8, 0xc, 0x9, 0xd, 0xe]))
            }
            Self::Halves => (0..8).fold(0, |bits, _| bits << 4 | random.pick(&[0x4, 0xe])),
            Self::Elements(element) => elements(element, random.below(4), random),
            Self::Range { low, high, step } => {
                let steps = ((high - low) / step) as u64 + 1;
                (low + random.below(steps) as i64 * step) as u64 & u64::MAX >> (64 - self.bits())
            }
            Self::Texel { extent } => match random.below(16) {
                0 => random.next() & 0xffff_ffff,
                _ => u64::from((random.below(3 * u64::from(extent)) as u32).wrapping_sub(extent)),
            },
            Self::Coordinate { extent, normalized } => {
                let extent = extent as f32;
                let scale = if normalized { extent } else { 1.0 };
                let texel = (unit(random) * 4.0 - 1.5) * extent;
                match random.below(16) {
                    0 => random.next() & 0xffff_ffff,
                    // Next to where texels, and weights, change.
                    1..4 => near((texel * 512.0).floor() / 512.0 / scale, random),
                    4..6 => near((texel.floor() + 0.5) / scale, random),
                    _ => float(texel / scale),
                }
            }
            Self::Direction => match unit(random) * 3.0 - 1.5 {
                x if x.is_normal() => float(x),
                _ => float(1.0),
            },
            Self::Nearby { extent } => {
                let texel = (unit(random) * 4.0 - 1.5) * extent as f32;
                match random.below(4) {
                    0 => near((texel.floor() + 0.5) / extent as f32, random),
                    _ => float(texel / extent as f32),
                }
            }
            Self::Heading => {
                let sign = random.below(2) << 31;
                float(unit(random) + 0.25) | sign
            }
            Self::Level => match random.below(8) {
                0 => random.next() & 0xffff_ffff,
                1 => near((unit(random) * 1280.0).floor() / 256.0, random),
                _ => float(unit(random) * 11.0 - 2.0),
            },
            Self::Slope => match random.below(24) {
                0 => float(0.0),
                // 2^-11 to 1.
                power => (116 + power / 2) << 23 | (power & 1) << 31,
            },
            Self::Of(ty) => match Format::of(ty) {
                Some((format, count)) => (0..count)
                    .fold(0, |bits: u64, _| bits.unbounded_shl(format.bits()) | format.random(random)),
                None if matches!(ty.kind(), TypeKind::Untyped) && random.one_in(4) => {
                    random.next() & u64::MAX >> (64 - self.bits())
                }
                None => {
                    let value = random.next() >> (64 - self.bits());
                    // Half of them of all magnitudes, of either sign.
                    match random.below(4) {
                        0 => value >> random.below(u64::from(self.bits())),
                        1 => {
                            !(value >> random.below(u64::from(self.bits()))) & u64::MAX >> (64 - self.bits())
                        }
                        _ => value,
                    }
                }
            },
        }
    }
}

fn float(value: f32) -> u64 {
    value.to_bits().into()
}

/// A number from 0 to 1.
fn unit(random: &mut Random) -> f32 {
    (random.next() >> 40) as f32 / (1_u64 << 24) as f32
}

/// A float a few places from another.
fn near(value: f32, random: &mut Random) -> u64 {
    value.to_bits().wrapping_add(random.below(7) as u32).wrapping_sub(3).into()
}

/// Coordinates that tell, in texels.
fn coordinates(extent: f32) -> Vec<f32> {
    let inner =
        [0.5, 0.0, extent - 0.5, extent, extent / 2.0, -0.5, 1.0, extent + 0.5, -extent, 2.0 * extent];
    let outer = [0.25, 0.998_046_9, 0.501_953_1, 1.5, -1.0, -0.0, 1e-40, 8_388_608.0, 3e38];
    let beyond = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    inner.into_iter().chain(beyond).chain(outer).collect()
}

/// Each value once in either half, against others.
fn pairs(values: &[u64], bits: u32) -> Vec<u64> {
    let other = |i: usize| values[(i * 7 + 3) % values.len()];
    values
        .iter()
        .enumerate()
        .flat_map(|(i, &value)| [value | other(i) << bits, other(i) << bits | value])
        .collect()
}

/// A register of matrix elements. `mode` 0 is small integers, whose products and sums are exact; 1 is numbers near one;
/// 2 is finite numbers of all magnitudes; 3 is all bits.
pub(crate) fn elements(element: Modifier, mode: u64, random: &mut Random) -> u64 {
    let text = &element.text()[1..];
    let format = match text {
        "tf32" | "f32" => Some(Format { exponent: 8, fraction: 23 }),
        "e2m1" => Some(Format { exponent: 2, fraction: 1 }),
        "e2m3" => Some(Format { exponent: 2, fraction: 3 }),
        "e3m2" => Some(Format { exponent: 3, fraction: 2 }),
        _ => ScalarType::from_name(text).and_then(Format::of).map(|(format, _)| format),
    };
    let Some(format) = format else { return random.next() & 0xffff_ffff };
    let bits = format.bits().next_power_of_two();
    let element = |random: &mut Random| match mode {
        0 => {
            let sign = if random.one_in(2) { format.sign() } else { 0 };
            // 0, 1, 2, 3 and their negatives.
            let top = 1 << (format.fraction - 1);
            let bias = format.bias();
            let small = [0, format.number(bias, 0), format.number(bias + 1, 0), format.number(bias + 1, top)];
            random.pick(&small) | sign
        }
        1 => {
            let exponent = format.bias() + random.below(3) - 1;
            let sign = if random.one_in(2) { format.sign() } else { 0 };
            format.number(exponent, random.next()) | sign
        }
        2 => {
            let value = format.random(random);
            if value & format.infinity() == format.infinity() { value ^ 1 << format.fraction } else { value }
        }
        _ => random.next() & u64::MAX >> (64 - format.bits()),
    };
    (0..32 / bits.min(32)).fold(0, |word, _| word << (bits % 32) | element(random))
}
