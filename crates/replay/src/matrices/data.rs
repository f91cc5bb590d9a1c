//! Contents of registers and memory, by type of element.

use ptx::isa::Modifier;

/// A stream of numbers that anybody can compute again (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: &str) -> Self {
        Random(
            seed.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Which values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Small integers, whose sums are exact in every order.
    Small,
    /// Finite, of similar size.
    Near,
    /// Finite, of any size.
    Wide,
    /// Any bits.
    Any,
}

/// The parts of a floating-point type: bits, fraction bits.
fn float(ty: Modifier) -> Option<(u32, u32)> {
    Some(match ty {
        Modifier::F16 => (16, 10),
        Modifier::Bf16 => (16, 7),
        Modifier::Tf32 | Modifier::F32 => (32, 23),
        Modifier::E4m3 => (8, 3),
        Modifier::E5m2 => (8, 2),
        Modifier::F64 => (64, 52),
        _ => return None,
    })
}

/// Bits of an element in memory and registers.
pub(super) fn bits(ty: Modifier) -> u32 {
    match ty {
        Modifier::S8 | Modifier::U8 => 8,
        Modifier::S4 | Modifier::U4 => 4,
        Modifier::B1 => 1,
        ty => float(ty).map_or(32, |(bits, _)| bits),
    }
}

fn element(random: &mut Random, ty: Modifier, kind: Kind) -> u64 {
    let any = random.next();
    let Some((bits, fraction)) = float(ty) else {
        let small = match ty {
            Modifier::U8 | Modifier::U4 | Modifier::B1 => any % 4,
            _ => (any % 7).wrapping_sub(3),
        };
        return if kind == Kind::Small { small } else { any };
    };
    let exponents = (1 << (bits - 1 - fraction)) - 1;
    let bias = exponents / 2;
    let sign = any & 1 << (bits - 1);
    let mantissa = any & ((1 << fraction) - 1);
    match kind {
        Kind::Small => {
            // 0, 1, 2, 3 or 4, and a sign.
            let (exponent, half) =
                [(0, 0), (bias, 0), (bias + 1, 0), (bias + 1, 1), (bias + 2, 0)][(any >> 8) as usize % 5];
            sign | exponent << fraction | half << (fraction - 1)
        }
        Kind::Near => sign | (bias + random.below(1 + bias / 4) - bias / 8) << fraction | mantissa,
        Kind::Wide => sign | random.below(exponents) << fraction | mantissa,
        Kind::Any => any,
    }
}

/// `bytes` of elements, a multiple of 8.
pub(super) fn fill(random: &mut Random, ty: Modifier, kind: Kind, bytes: usize) -> Vec<u8> {
    let bits = bits(ty);
    let mut filled = Vec::with_capacity(bytes);
    while filled.len() < bytes {
        let mut word = 0;
        for at in (0..64).step_by(bits as usize) {
            word |= (element(random, ty, kind) & u64::MAX >> (64 - bits)) << at;
        }
        filled.extend(word.to_le_bytes());
    }
    filled
}

/// `words` of metadata for sparse factors: of four, two in ascending order; for `.tf32`, one of two.
pub(super) fn metadata(random: &mut Random, ty: Modifier, words: usize) -> Vec<u8> {
    const PAIRS: [u32; 6] = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110];
    let mut filled = Vec::with_capacity(words * 4);
    for _ in 0..words {
        let mut word = 0;
        for nibble in 0..8 {
            let pair = match ty {
                Modifier::Tf32 => [0b0100, 0b1110][random.below(2) as usize],
                _ => PAIRS[random.below(6) as usize],
            };
            word |= pair << (4 * nibble);
        }
        filled.extend(word.to_le_bytes());
    }
    filled
}
