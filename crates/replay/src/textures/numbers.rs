//! Contents of textures and coordinates, made from seeds.

/// Floats that break things.
const SPECIAL_FLOATS: [u32; 32] = [
    0x0000_0000,
    0x8000_0000,
    0x3f00_0000,
    0xbf00_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x4000_0000,
    0xc000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0000,
    0x7f80_0001,
    0x0000_0001,
    0x8000_0001,
    0x0080_0000,
    0x4b00_0000,
    0xcb00_0000,
    0x4b80_0000,
    0x4f00_0000,
    0xcf00_0000,
    0x4e80_0000,
    0xce80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x3eff_ffff,
    0x3f7f_ffff,
    0xb300_0000,
    0x3300_0000,
    0x46ff_fe00,
    0xc6ff_fe00,
    0x4780_0000,
];
/// Integers that break things.
const SPECIAL_INTEGERS: [u32; 8] =
    [0, 0xffff_ffff, 1, 0x7fff_ffff, 0x8000_0000, 0x1_0000, 0xffff_0000, 0x7fff];

/// SplitMix64's finaliser of a counter.
pub(super) fn mix(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A digest of words.
pub fn digest(words: &[u32]) -> u64 {
    let one = |(i, &w): (usize, &u32)| mix(u64::from(w).wrapping_add((i as u64) << 32));
    words.iter().enumerate().map(one).fold(0, u64::wrapping_add)
}

/// The word that a recipe gives for a thread; `k` is the word's place among the thread's 16.
pub(super) fn word(recipe: &str, seed: u64, k: u64, thread: u64) -> u32 {
    let (kind, rest) = recipe.split_at(1);
    let h = mix((seed << 32).wrapping_add(thread * 16 + k));
    let unit = (h >> 11) as f64 * f64::exp2(-53.0);
    let low = h >> 4;
    let select = h & 15;
    let float = |i: usize| rest.split(':').nth(i).and_then(|n| n.parse::<f64>().ok()).expect("a number");
    let integer = |i: usize| rest.split(':').nth(i).and_then(|n| n.parse::<i64>().ok()).expect("a number");
    let bits = |v: f64| (v as f32).to_bits();
    match kind {
        "0" => 0,
        "c" => u32::from_str_radix(rest, 16).expect("hexadecimal"),
        "t" => ((thread as i64 / integer(0)) % integer(1) * integer(2) + integer(3)) as u32,
        "r" => (h >> 32) as u32,
        "x" => SPECIAL_FLOATS[(thread as i64 / integer(0) % 32) as usize],
        "e" => {
            let exponent = 127 + integer(0) + (unit * (integer(1) - integer(0)) as f64).floor() as i64;
            (h as u32 >> 23 & 1) << 31 | (exponent as u32) << 23 | h as u32 & 0x7f_ffff
        }
        "i" | "j" => {
            let (lo, hi) = (integer(0), integer(1));
            match (kind, select) {
                ("i", 13) => (h >> 32) as u32,
                ("i", 14) => SPECIAL_INTEGERS[(low & 7) as usize],
                ("i", 15) => {
                    let edge = if low & 1 == 0 { lo } else { hi };
                    (edge + (h >> 5 & 1) as i64) as u32
                }
                _ => (lo + (unit * (hi - lo) as f64).floor() as i64) as u32,
            }
        }
        "u" | "f" => {
            let (lo, hi) = (float(0), float(1));
            let v = lo + unit * (hi - lo);
            let near = |v: f64| bits(v).wrapping_add((low & 7) as u32).wrapping_sub(3);
            match (kind, select) {
                ("u", _) | (_, 0..=8) => bits(v),
                (_, 9 | 10) => near((v * float(2) * 512.0).floor() / (512.0 * float(2))),
                (_, 11) => SPECIAL_FLOATS[(low & 31) as usize],
                (_, 12) => (h >> 32) as u32,
                (_, 13) => ((low & 1) << 31 | (107 + (h >> 5 & 63)) << 23 | h >> 41 & 0x7f_ffff) as u32,
                (_, 14) => near(v.floor()),
                _ => near(((v * float(2)).floor() + 0.5) / float(2)),
            }
        }
        _ => panic!("no recipe {recipe}"),
    }
}

/// What an array's texels hold.
pub(super) struct Contents<'a> {
    /// How they are made.
    pub(super) mode: &'a str,
    pub(super) seed: u64,
    /// `f16`, `f32`, or an integer format.
    pub(super) format: &'a str,
    pub(super) channels: usize,
    /// Bytes of a channel.
    pub(super) bytes: usize,
}

impl Contents<'_> {
    /// The bytes of a level.
    pub(super) fn level(&self, extents: [u32; 3], level: u64) -> Vec<u8> {
        let [w, h, d] = extents.map(|e| e.max(1) as usize);
        let count = w * h * d * self.channels;
        if matches!(self.mode, "bits" | "real" | "wide") {
            let size = count * self.bytes;
            let word = |i: u64| mix(((self.seed + level) << 32).wrapping_add(i)).to_le_bytes();
            let mut raw: Vec<u8> = (0..size.div_ceil(8) as u64).flat_map(word).collect();
            raw.truncate(size);
            match self.mode {
                "real" => self.make_ordinary(&mut raw),
                "wide" => self.make_wide(&mut raw),
                _ => {}
            }
            return raw;
        }
        let mut all = Vec::with_capacity(count * self.bytes);
        for i in 0..count {
            let (texel, channel) = (i / self.channels, i % self.channels);
            let (x, y, z) = (texel % w, texel / w % h, texel / (w * h));
            let slice = if d > 1 { 64 * z } else { 0 };
            let ones = (1u64 << (8 * self.bytes)) - 1;
            let is_float = matches!(self.format, "f16" | "f32");
            let value = match self.mode {
                "iota" => texel as u64 + channel as u64 * self.seed,
                "rampx" => (x + slice) as u64,
                "rampy" => (y + slice) as u64,
                "rampz" => z as u64,
                "level" => level,
                "hot" if texel as u64 != self.seed => 0,
                "hot" => {
                    if is_float {
                        1
                    } else {
                        ones
                    }
                }
                other => panic!("no contents {other}"),
            };
            let bits = match self.format {
                "f32" if self.mode != "iota" => u64::from((value as f32).to_bits()),
                "f16" if self.mode != "iota" => u64::from(half_of_integer(value)),
                _ => value,
            };
            all.extend_from_slice(&bits.to_le_bytes()[..self.bytes]);
        }
        all
    }

    /// Makes floats of moderate size of random bits.
    fn make_ordinary(&self, raw: &mut [u8]) {
        match self.format {
            "f16" => each::<2>(raw, |v| v & 0x83ff | (11 + (v >> 10 & 3)) << 10),
            "f32" => each::<4>(raw, |v| v & 0x807f_ffff | (122 + (v >> 23 & 7)) << 23),
            _ => {}
        }
    }

    /// Makes finite floats with many exponents of random bits, and some zeros.
    fn make_wide(&self, raw: &mut [u8]) {
        match self.format {
            "f16" => each::<2>(raw, |v| if v & 0x7c00 == 0x7c00 { 0 } else { v }),
            "f32" => each::<4>(raw, |v| match v >> 28 & 3 {
                0 => 0,
                _ => v & 0x807f_ffff | (112 + (v >> 23 & 31)) << 23,
            }),
            _ => {}
        }
    }
}

/// Changes each number of `N` bytes.
fn each<const N: usize>(raw: &mut [u8], change: impl Fn(u32) -> u32) {
    for chunk in raw.chunks_exact_mut(N) {
        let mut word = [0; 4];
        word[..N].copy_from_slice(chunk);
        chunk.copy_from_slice(&change(u32::from_le_bytes(word)).to_le_bytes()[..N]);
    }
}

/// An integer below 2048 as `.f16`.
fn half_of_integer(value: u64) -> u16 {
    match value {
        0 => 0,
        _ => {
            let exponent = 63 - value.leading_zeros();
            let mantissa = (value << (10 - exponent)) & 0x3ff;
            ((15 + exponent as u64) << 10 | mantissa) as u16
        }
    }
}
