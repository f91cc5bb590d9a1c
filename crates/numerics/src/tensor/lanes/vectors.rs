//! Vectors of the host with 32 lanes of 32 or 16 bits.
//!
//! What [`super`] computes is written once, in terms of [`Vectors`], which each vector level of a host implements. Loops over lanes
//! that a compiler makes vectors of would be shorter; these ones it often unrolls instead, and then computes lane by lane (measured: four
//! times slower).

/// How many lanes a vector has.
pub const LANES: usize = 32;

/// Lines of a block: of eight rows, or columns.
pub const LINES: usize = 8;

/// The vectors of a level of the host: a value of the type is a proof that the host has that level.
///
/// Vectors have one of two orders. Registers lie in memory as lanes count. Of a block of D, eight rows by eight columns, a vector has
/// the four rows of a parity, lane by lane as suits the host.
pub trait Vectors: Copy + 'static {
    /// 32 words.
    type W: Copy;

    /// From memory.
    fn load(self, from: &[u32; LANES]) -> Self::W;
    /// To memory.
    fn store(self, x: Self::W, to: &mut [u32; LANES]);
    /// The same in all lanes.
    fn splat(self, x: u32) -> Self::W;
    /// In lane `8 * u + 4 * p + c` what lane `4 * (2 * c + p) + u` has, `u` and `c` below 4: of eight lines of four words each, the
    /// `u`-th words of the even ones, then of the odd ones.
    fn transpose(self, x: Self::W) -> Self::W;

    /// In the lanes of each row of a parity its word: they are four from `at` on.
    fn rows(self, from: &[u32; LANES], at: usize) -> Self::W;
    /// In the lanes of each column its word: they are eight from `at` on, the even columns', then the odd ones'.
    fn columns(self, from: &[u32; LANES], at: usize) -> Self::W;
    /// The rows of each parity of what two registers hold of a block of D.
    fn parts(self, registers: [&[u32; LANES]; 2]) -> [Self::W; 2];
    /// Puts into registers what these are the parts of.
    fn registers(self, parts: [Self::W; 2], registers: &mut [[u32; LANES]; 2]);

    /// `a + b`, wrapping.
    fn add(self, a: Self::W, b: Self::W) -> Self::W;
    /// `a - b`, wrapping.
    fn sub(self, a: Self::W, b: Self::W) -> Self::W;
    /// `a & b`.
    fn and(self, a: Self::W, b: Self::W) -> Self::W;
    /// `a & !b`.
    fn and_not(self, a: Self::W, b: Self::W) -> Self::W;
    /// `a | b`.
    fn or(self, a: Self::W, b: Self::W) -> Self::W;
    /// `a ^ b`.
    fn xor(self, a: Self::W, b: Self::W) -> Self::W;
    /// The greater one, with signs.
    fn max(self, a: Self::W, b: Self::W) -> Self::W;
    /// `a << N`.
    fn shl<const N: u32>(self, a: Self::W) -> Self::W;
    /// `a >> N`, without a sign.
    fn shr<const N: u32>(self, a: Self::W) -> Self::W;
    /// `a << n`.
    fn shift_left(self, a: Self::W, n: u32) -> Self::W;
    /// `a >> n`, without a sign.
    fn shift_right(self, a: Self::W, n: u32) -> Self::W;
    /// `a >> N`, with a sign.
    fn sar<const N: u32>(self, a: Self::W) -> Self::W;
    /// `of_zero` where `a` is zero, else `other`.
    fn select_zero(self, a: Self::W, of_zero: Self::W, other: Self::W) -> Self::W;
    /// Whether the top bit is set in any lane.
    fn any_negative(self, a: Self::W) -> bool;

    /// `a * b` as `.f32`, to nearest.
    fn multiply(self, a: Self::W, b: Self::W) -> Self::W;
    /// The integer below an `.f32`, towards zero; any where none of 32 bits is.
    fn cut(self, a: Self::W) -> Self::W;
    /// The `.f32` of a signed integer, towards zero.
    fn float(self, a: Self::W) -> Self::W;

    /// Each word's half words shifted left.
    fn shl_halves<const N: u32>(self, a: Self::W) -> Self::W;
    /// Each word's half words shifted right, without a sign.
    fn shr_halves<const N: u32>(self, a: Self::W) -> Self::W;
    /// Each word's half words shifted right, with a sign.
    fn sar_halves<const N: u32>(self, a: Self::W) -> Self::W;
    /// The sum of the two products of half words with signs.
    fn multiply_pairs(self, a: Self::W, b: Self::W) -> Self::W;

    /// The half words with signs, the lower ones.
    #[inline(always)]
    fn lower(self, a: Self::W) -> Self::W {
        self.sar::<16>(self.shl::<16>(a))
    }
    /// Each word's half words, `a + b`, wrapping.
    fn add_halves(self, a: Self::W, b: Self::W) -> Self::W;
    /// Each word's half words, the greater one, with signs.
    fn max_halves(self, a: Self::W, b: Self::W) -> Self::W;
    /// Each word's half words: `of_zero` where `a` is zero, else `other`.
    fn select_zero_halves(self, a: Self::W, of_zero: Self::W, other: Self::W) -> Self::W;
}

/// The lane whose word [`Vectors::transpose`] brings to a lane.
const fn transposed(lane: usize) -> usize {
    let (u, p, c) = (lane / 8, lane / 4 % 2, lane % 4);
    4 * (2 * c + p) + u
}

/// [`transposed`] of each lane.
pub(super) const TRANSPOSED: [u32; LANES] = {
    let mut lanes = [0; LANES];
    let mut l = 0;
    while l < LANES {
        lanes[l] = transposed(l) as u32;
        l += 1;
    }
    lanes
};

/// Whatever the target guarantees: arrays.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

/// Lane by lane.
#[inline(always)]
fn each<T: Copy + Default>(f: impl Fn(usize) -> T) -> [T; LANES] {
    let mut lanes = [T::default(); LANES];
    for (l, lane) in lanes.iter_mut().enumerate() {
        *lane = f(l);
    }
    lanes
}

/// Both half words of a word.
#[inline(always)]
fn halves(a: u32, f: impl Fn(u16) -> u16) -> u32 {
    u32::from(f(a as u16)) | u32::from(f((a >> 16) as u16)) << 16
}

/// Both half words of two words, with signs.
#[inline(always)]
fn pairs(a: u32, b: u32, f: impl Fn(i16, i16) -> i16) -> u32 {
    let low = f(a as i16, b as i16);
    let high = f((a >> 16) as i16, (b >> 16) as i16);
    u32::from(low as u16) | u32::from(high as u16) << 16
}

/// The lane of the registers where a lane of a part, row by row, lies: see [`Vectors::parts`].
#[inline(always)]
fn of_register(lane: usize, parity: usize) -> usize {
    4 * (2 * (lane / LINES) + parity) + lane % 4
}

macro_rules! lanes {
    ($l:ident => $e:expr) => {
        each(|$l: usize| $e)
    };
}

impl Vectors for Portable {
    type W = [u32; LANES];

    #[inline(always)]
    fn load(self, from: &[u32; LANES]) -> Self::W {
        *from
    }
    #[inline(always)]
    fn store(self, x: Self::W, to: &mut [u32; LANES]) {
        *to = x;
    }
    #[inline(always)]
    fn splat(self, x: u32) -> Self::W {
        [x; LANES]
    }
    #[inline(always)]
    fn transpose(self, x: Self::W) -> Self::W {
        lanes!(l => x[transposed(l)])
    }
    #[inline(always)]
    fn rows(self, from: &[u32; LANES], at: usize) -> Self::W {
        lanes!(l => from[at + l / LINES])
    }
    #[inline(always)]
    fn columns(self, from: &[u32; LANES], at: usize) -> Self::W {
        lanes!(l => from[at + l % LINES])
    }
    #[inline(always)]
    fn parts(self, registers: [&[u32; LANES]; 2]) -> [Self::W; 2] {
        [0, 1].map(|parity| lanes!(l => registers[l % LINES / 4][of_register(l, parity)]))
    }
    #[inline(always)]
    fn registers(self, parts: [Self::W; 2], registers: &mut [[u32; LANES]; 2]) {
        for (parity, part) in parts.into_iter().enumerate() {
            for (l, word) in part.into_iter().enumerate() {
                registers[l % LINES / 4][of_register(l, parity)] = word;
            }
        }
    }
    #[inline(always)]
    fn add(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => a[l].wrapping_add(b[l]))
    }
    #[inline(always)]
    fn sub(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => a[l].wrapping_sub(b[l]))
    }
    #[inline(always)]
    fn and(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => a[l] & b[l])
    }
    #[inline(always)]
    fn and_not(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => a[l] & !b[l])
    }
    #[inline(always)]
    fn or(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => a[l] | b[l])
    }
    #[inline(always)]
    fn xor(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => a[l] ^ b[l])
    }
    #[inline(always)]
    fn max(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => (a[l] as i32).max(b[l] as i32) as u32)
    }
    #[inline(always)]
    fn shl<const N: u32>(self, a: Self::W) -> Self::W {
        lanes!(l => a[l] << N)
    }
    #[inline(always)]
    fn shr<const N: u32>(self, a: Self::W) -> Self::W {
        lanes!(l => a[l] >> N)
    }
    #[inline(always)]
    fn shift_left(self, a: Self::W, n: u32) -> Self::W {
        lanes!(l => a[l] << (n & 31))
    }
    #[inline(always)]
    fn shift_right(self, a: Self::W, n: u32) -> Self::W {
        lanes!(l => a[l] >> (n & 31))
    }
    #[inline(always)]
    fn sar<const N: u32>(self, a: Self::W) -> Self::W {
        lanes!(l => (a[l] as i32 >> N) as u32)
    }
    #[inline(always)]
    fn select_zero(self, a: Self::W, of_zero: Self::W, other: Self::W) -> Self::W {
        lanes!(l => if a[l] == 0 { of_zero[l] } else { other[l] })
    }
    #[inline(always)]
    fn any_negative(self, a: Self::W) -> bool {
        a.iter().fold(0, |any, lane| any | lane) >> 31 != 0
    }
    #[inline(always)]
    fn multiply(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => (f32::from_bits(a[l]) * f32::from_bits(b[l])).to_bits())
    }
    #[inline(always)]
    fn cut(self, a: Self::W) -> Self::W {
        lanes!(l => f32::from_bits(a[l]) as i32 as u32)
    }
    #[inline(always)]
    fn float(self, a: Self::W) -> Self::W {
        // Without the first of the bits that do not fit, what is left of them is rounded down.
        let kept = |magnitude: u32| (magnitude & !(magnitude >> f32::MANTISSA_DIGITS)) as f32;
        lanes!(l => kept((a[l] as i32).unsigned_abs()).to_bits() | a[l] & 1 << 31)
    }
    #[inline(always)]
    fn shl_halves<const N: u32>(self, a: Self::W) -> Self::W {
        lanes!(l => halves(a[l], |half| half << N))
    }
    #[inline(always)]
    fn shr_halves<const N: u32>(self, a: Self::W) -> Self::W {
        lanes!(l => halves(a[l], |half| half >> N))
    }
    #[inline(always)]
    fn sar_halves<const N: u32>(self, a: Self::W) -> Self::W {
        lanes!(l => halves(a[l], |half| (half as i16 >> N) as u16))
    }
    #[inline(always)]
    fn multiply_pairs(self, a: Self::W, b: Self::W) -> Self::W {
        let product = |a: u32, b: u32| i32::from(a as i16) * i32::from(b as i16);
        lanes!(l => product(a[l], b[l]).wrapping_add(product(a[l] >> 16, b[l] >> 16)) as u32)
    }
    #[inline(always)]
    fn add_halves(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => pairs(a[l], b[l], i16::wrapping_add))
    }
    #[inline(always)]
    fn max_halves(self, a: Self::W, b: Self::W) -> Self::W {
        lanes!(l => pairs(a[l], b[l], i16::max))
    }
    #[inline(always)]
    fn select_zero_halves(self, a: Self::W, of_zero: Self::W, other: Self::W) -> Self::W {
        let mask = |a: u32| halves(a, |half| if half == 0 { u16::MAX } else { 0 });
        lanes!(l => of_zero[l] & mask(a[l]) | other[l] & !mask(a[l]))
    }
}
