//! Vectors of the host with 32 lanes of 32 or 16 bits.
//!
//! What [`super`] computes is written once, in terms of [`Vectors`], which each vector level of a host implements. Loops over lanes
//! that a compiler makes vectors of would be shorter; these ones it often unrolls instead, and then computes lane by lane (measured: four
//! times slower).

/// How many lanes a vector has.
pub const LANES: usize = 32;

/// Columns of a block of B.
pub const COLUMNS: usize = 8;

/// The vectors of a level of the host: a value of the type is a proof that the host has that level.
pub trait Vectors: Copy + 'static {
    /// 32 words.
    type W: Copy;
    /// 32 half words.
    type H: Copy;

    /// From memory.
    fn load(self, from: &[u32; LANES]) -> Self::W;
    /// To memory.
    fn store(self, x: Self::W, to: &mut [u32; LANES]);
    /// From memory.
    fn load_halves(self, from: &[i16; LANES]) -> Self::H;
    /// To memory.
    fn store_halves(self, x: Self::H, to: &mut [i16; LANES]);
    /// The same in all lanes.
    fn splat(self, x: u32) -> Self::W;
    /// The same in all lanes.
    fn splat_halves(self, x: i16) -> Self::H;
    /// The four words from `at` on, over and over.
    fn repeat(self, from: &[u32; COLUMNS], at: usize) -> Self::W;
    /// The four half words from `at` on, over and over.
    fn repeat_halves(self, from: &[i16; COLUMNS], at: usize) -> Self::H;
    /// In each lane what the `U`-th of its four lanes has.
    fn quad<const U: usize>(self, x: Self::W) -> Self::W;
    /// In each lane what the `U`-th of its four lanes has.
    fn quad_halves<const U: usize>(self, x: Self::H) -> Self::H;
    /// In lane `8 * u + 4 * p + c` what lane `4 * (2 * c + p) + u` has, `u` and `c` below 4.
    fn transpose(self, x: Self::W) -> Self::W;

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
    /// The magnitude, that of the least integer as it is.
    fn abs(self, a: Self::W) -> Self::W;
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
    /// The `.f32` of a signed integer, to nearest.
    fn float(self, a: Self::W) -> Self::W;

    /// Each word's half words shifted left.
    fn shl_halves<const N: u32>(self, a: Self::W) -> Self::W;
    /// Each word's half words shifted right, without a sign.
    fn shr_halves<const N: u32>(self, a: Self::W) -> Self::W;
    /// Each word's half words shifted right, with a sign.
    fn sar_halves<const N: u32>(self, a: Self::W) -> Self::W;
    /// The sum of the two products of half words with signs.
    fn multiply_pairs(self, a: Self::W, b: Self::W) -> Self::W;

    /// The low half words.
    fn narrow(self, a: Self::W) -> Self::H;
    /// With signs.
    fn widen(self, a: Self::H) -> Self::W;
    /// `a + b`, wrapping.
    fn add_halves(self, a: Self::H, b: Self::H) -> Self::H;
    /// The greater one, with signs.
    fn max_halves(self, a: Self::H, b: Self::H) -> Self::H;
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

macro_rules! lanes {
    ($l:ident => $e:expr) => {
        each(|$l: usize| $e)
    };
}

impl Vectors for Portable {
    type W = [u32; LANES];
    type H = [i16; LANES];

    #[inline(always)]
    fn load(self, from: &[u32; LANES]) -> Self::W {
        *from
    }
    #[inline(always)]
    fn store(self, x: Self::W, to: &mut [u32; LANES]) {
        *to = x;
    }
    #[inline(always)]
    fn load_halves(self, from: &[i16; LANES]) -> Self::H {
        *from
    }
    #[inline(always)]
    fn store_halves(self, x: Self::H, to: &mut [i16; LANES]) {
        *to = x;
    }
    #[inline(always)]
    fn splat(self, x: u32) -> Self::W {
        [x; LANES]
    }
    #[inline(always)]
    fn splat_halves(self, x: i16) -> Self::H {
        [x; LANES]
    }
    #[inline(always)]
    fn repeat(self, from: &[u32; COLUMNS], at: usize) -> Self::W {
        lanes!(l => from[at + l % 4])
    }
    #[inline(always)]
    fn repeat_halves(self, from: &[i16; COLUMNS], at: usize) -> Self::H {
        lanes!(l => from[at + l % 4])
    }
    #[inline(always)]
    fn quad<const U: usize>(self, x: Self::W) -> Self::W {
        lanes!(l => x[l / 4 * 4 + U])
    }
    #[inline(always)]
    fn quad_halves<const U: usize>(self, x: Self::H) -> Self::H {
        lanes!(l => x[l / 4 * 4 + U])
    }
    #[inline(always)]
    fn transpose(self, x: Self::W) -> Self::W {
        lanes!(l => x[transposed(l)])
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
    fn abs(self, a: Self::W) -> Self::W {
        lanes!(l => (a[l] as i32).unsigned_abs())
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
        lanes!(l => (a[l] as i32 as f32).to_bits())
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
    fn narrow(self, a: Self::W) -> Self::H {
        lanes!(l => a[l] as i16)
    }
    #[inline(always)]
    fn widen(self, a: Self::H) -> Self::W {
        lanes!(l => i32::from(a[l]) as u32)
    }
    #[inline(always)]
    fn add_halves(self, a: Self::H, b: Self::H) -> Self::H {
        lanes!(l => a[l].wrapping_add(b[l]))
    }
    #[inline(always)]
    fn max_halves(self, a: Self::H, b: Self::H) -> Self::H {
        lanes!(l => a[l].max(b[l]))
    }
}
