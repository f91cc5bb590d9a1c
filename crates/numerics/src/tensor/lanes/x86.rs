//! The vector levels of x86-64.
//!
//! The intrinsics are sound to call because a value of [`Avx2`] or [`Avx512`] exists only where its maker has vouched for the features.

use super::vectors::{COLUMNS, LANES, TRANSPOSED, Vectors};
use std::arch::x86_64::*;

/// AVX2.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx2 {
    /// The vectors.
    ///
    /// # Safety
    /// The host has AVX2.
    #[inline(always)]
    pub unsafe fn of_host() -> Self {
        Self(())
    }
}

impl Avx512 {
    /// The vectors.
    ///
    /// # Safety
    /// The host has AVX-512 F, BW, DQ and VL.
    #[inline(always)]
    pub unsafe fn of_host() -> Self {
        Self(())
    }
}

/// The bytes of the `u`-th half word of each four, within 16 bytes.
const fn quad_bytes(u: usize) -> [u8; 64] {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        bytes[i] = (i % 16 / 8 * 8 + 2 * u + i % 2) as u8;
        i += 1;
    }
    bytes
}

const QUAD_BYTES: [[u8; 64]; 4] = [quad_bytes(0), quad_bytes(1), quad_bytes(2), quad_bytes(3)];

/// What both levels do chunk by chunk, by the same intrinsics of other widths.
macro_rules! by_chunks {
    ($chunk:ty, $n:literal, $halves:literal) => {
        type W = [$chunk; $n];
        type H = [$chunk; $halves];

        #[inline(always)]
        fn load(self, from: &[u32; LANES]) -> Self::W {
            // SAFETY: of the same size, and of any bits.
            unsafe { std::mem::transmute(*from) }
        }
        #[inline(always)]
        fn store(self, x: Self::W, to: &mut [u32; LANES]) {
            // SAFETY: of the same size, and of any bits.
            *to = unsafe { std::mem::transmute::<Self::W, [u32; LANES]>(x) };
        }
        #[inline(always)]
        fn load_halves(self, from: &[i16; LANES]) -> Self::H {
            // SAFETY: of the same size, and of any bits.
            unsafe { std::mem::transmute(*from) }
        }
        #[inline(always)]
        fn store_halves(self, x: Self::H, to: &mut [i16; LANES]) {
            // SAFETY: of the same size, and of any bits.
            *to = unsafe { std::mem::transmute::<Self::H, [i16; LANES]>(x) };
        }
    };
}

/// The chunks of a result, an expression each: a closure would be a function of its own, without the features.
macro_rules! chunks {
    ([$($i:literal)*] $operands:tt $e:expr) => {
        [$(chunk!($i $operands $e)),*]
    };
}

/// One of them.
macro_rules! chunk {
    ($i:literal ($($x:ident),*) $e:expr) => {{
        $(let $x = $x[$i];)*
        // SAFETY: the host has the level, of which `self` is the proof.
        unsafe { $e }
    }};
}

/// Methods of words, or of half words, by an intrinsic for a chunk, some with a constant number of bits.
macro_rules! chunkwise {
    ($i:tt $of:ident $($name:ident $(<$n:ident>)? ($($x:ident),*) = $e:expr;)*) => {$(
        #[inline(always)]
        fn $name$(<const $n: u32>)?(self, $($x: Self::$of),*) -> Self::$of {
            chunks!($i ($($x),*) $e)
        }
    )*};
}

/// Words chosen among four, as [`Vectors::quad`] does.
macro_rules! quad {
    ($i:tt $shuffle:ident) => {
        #[inline(always)]
        fn quad<const U: usize>(self, x: Self::W) -> Self::W {
            match U {
                0 => chunks!($i (x) $shuffle::<0>(x)),
                1 => chunks!($i (x) $shuffle::<0x55>(x)),
                2 => chunks!($i (x) $shuffle::<0xaa>(x)),
                _ => chunks!($i (x) $shuffle::<0xff>(x)),
            }
        }
    };
}

/// Shifts by a number of bits that is none of the instruction's.
macro_rules! variable_shifts {
    ($i:tt $left:ident $right:ident) => {
        #[inline(always)]
        fn shift_left(self, x: Self::W, n: u32) -> Self::W {
            chunks!($i (x) $left(x, _mm_cvtsi32_si128(n as i32)))
        }
        #[inline(always)]
        fn shift_right(self, x: Self::W, n: u32) -> Self::W {
            chunks!($i (x) $right(x, _mm_cvtsi32_si128(n as i32)))
        }
    };
}

impl Vectors for Avx512 {
    by_chunks!(__m512i, 2, 1);

    #[inline(always)]
    fn splat(self, x: u32) -> Self::W {
        // SAFETY: the host has the level.
        [unsafe { _mm512_set1_epi32(x as i32) }; 2]
    }
    #[inline(always)]
    fn splat_halves(self, x: i16) -> Self::H {
        // SAFETY: the host has the level.
        [unsafe { _mm512_set1_epi16(x) }]
    }
    #[inline(always)]
    fn repeat(self, from: &[u32; COLUMNS], at: usize) -> Self::W {
        let four: &[u32; 4] = from[at..at + 4].try_into().unwrap_or(&[0; 4]);
        // SAFETY: four words of memory; the host has the level.
        [unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(four.as_ptr().cast())) }; 2]
    }
    #[inline(always)]
    fn repeat_halves(self, from: &[i16; COLUMNS], at: usize) -> Self::H {
        let four: &[i16; 4] = from[at..at + 4].try_into().unwrap_or(&[0; 4]);
        // SAFETY: four half words of memory; the host has the level.
        [unsafe { _mm512_broadcastq_epi64(_mm_loadl_epi64(four.as_ptr().cast())) }]
    }
    quad!([0 1] _mm512_shuffle_epi32);
    #[inline(always)]
    fn quad_halves<const U: usize>(self, [x]: Self::H) -> Self::H {
        // SAFETY: of the same size, and of any bits; the host has the level.
        [unsafe { _mm512_shuffle_epi8(x, std::mem::transmute::<[u8; 64], __m512i>(QUAD_BYTES[U])) }]
    }
    #[inline(always)]
    fn transpose(self, x: Self::W) -> Self::W {
        let [low, high] = x;
        let order = self.load(&TRANSPOSED);
        chunks!([0 1] (order) _mm512_permutex2var_epi32(low, order, high))
    }
    chunkwise! { [0 1] W
        add(a, b) = _mm512_add_epi32(a, b);
        sub(a, b) = _mm512_sub_epi32(a, b);
        and(a, b) = _mm512_and_si512(a, b);
        and_not(a, b) = _mm512_andnot_si512(b, a);
        or(a, b) = _mm512_or_si512(a, b);
        xor(a, b) = _mm512_xor_si512(a, b);
        max(a, b) = _mm512_max_epi32(a, b);
        abs(a) = _mm512_abs_epi32(a);
        multiply(a, b) = _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
        cut(a) = _mm512_cvttps_epi32(_mm512_castsi512_ps(a));
        float(a) = _mm512_castps_si512(_mm512_cvtepi32_ps(a));
        multiply_pairs(a, b) = _mm512_madd_epi16(a, b);
    }
    chunkwise! { [0 1] W
        shl<N>(a) = _mm512_slli_epi32::<N>(a);
        shr<N>(a) = _mm512_srli_epi32::<N>(a);
        sar<N>(a) = _mm512_srai_epi32::<N>(a);
        shl_halves<N>(a) = _mm512_slli_epi16::<N>(a);
        shr_halves<N>(a) = _mm512_srli_epi16::<N>(a);
        sar_halves<N>(a) = _mm512_srai_epi16::<N>(a);
    }
    variable_shifts!([0 1] _mm512_sll_epi32 _mm512_srl_epi32);
    #[inline(always)]
    fn select_zero(self, x: Self::W, of_zero: Self::W, other: Self::W) -> Self::W {
        chunks!([0 1] (x, of_zero, other) {
            _mm512_mask_blend_epi32(_mm512_testn_epi32_mask(x, x), other, of_zero)
        })
    }
    #[inline(always)]
    fn any_negative(self, a: Self::W) -> bool {
        // SAFETY: the host has the level.
        unsafe { _mm512_movepi32_mask(_mm512_or_si512(a[0], a[1])) != 0 }
    }
    #[inline(always)]
    fn narrow(self, [low, high]: Self::W) -> Self::H {
        // SAFETY: the host has the level.
        unsafe {
            let low = _mm512_castsi256_si512(_mm512_cvtepi32_epi16(low));
            [_mm512_inserti64x4::<1>(low, _mm512_cvtepi32_epi16(high))]
        }
    }
    #[inline(always)]
    fn widen(self, [x]: Self::H) -> Self::W {
        // SAFETY: the host has the level.
        unsafe {
            let (low, high) = (_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64::<1>(x));
            [_mm512_cvtepi16_epi32(low), _mm512_cvtepi16_epi32(high)]
        }
    }
    chunkwise! { [0] H
        add_halves(a, b) = _mm512_add_epi16(a, b);
        max_halves(a, b) = _mm512_max_epi16(a, b);
    }
}

impl Vectors for Avx2 {
    by_chunks!(__m256i, 4, 2);

    #[inline(always)]
    fn splat(self, x: u32) -> Self::W {
        // SAFETY: the host has the level.
        [unsafe { _mm256_set1_epi32(x as i32) }; 4]
    }
    #[inline(always)]
    fn splat_halves(self, x: i16) -> Self::H {
        // SAFETY: the host has the level.
        [unsafe { _mm256_set1_epi16(x) }; 2]
    }
    #[inline(always)]
    fn repeat(self, from: &[u32; COLUMNS], at: usize) -> Self::W {
        let four: &[u32; 4] = from[at..at + 4].try_into().unwrap_or(&[0; 4]);
        // SAFETY: four words of memory; the host has the level.
        [unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(four.as_ptr().cast())) }; 4]
    }
    #[inline(always)]
    fn repeat_halves(self, from: &[i16; COLUMNS], at: usize) -> Self::H {
        let four: &[i16; 4] = from[at..at + 4].try_into().unwrap_or(&[0; 4]);
        // SAFETY: four half words of memory; the host has the level.
        [unsafe { _mm256_broadcastq_epi64(_mm_loadl_epi64(four.as_ptr().cast())) }; 2]
    }
    quad!([0 1 2 3] _mm256_shuffle_epi32);
    #[inline(always)]
    fn quad_halves<const U: usize>(self, x: Self::H) -> Self::H {
        let (bytes, _) = QUAD_BYTES[U].split_at(32);
        let bytes: &[u8; 32] = bytes.try_into().unwrap_or(&[0; 32]);
        chunks!([0 1] (x) _mm256_shuffle_epi8(x, _mm256_loadu_si256(bytes.as_ptr().cast())))
    }
    #[inline(always)]
    fn transpose(self, x: Self::W) -> Self::W {
        let (mut words, mut transposed) = ([0; LANES], [0; LANES]);
        self.store(x, &mut words);
        for (word, lane) in transposed.iter_mut().zip(TRANSPOSED) {
            *word = words[lane as usize];
        }
        self.load(&transposed)
    }
    chunkwise! { [0 1 2 3] W
        add(a, b) = _mm256_add_epi32(a, b);
        sub(a, b) = _mm256_sub_epi32(a, b);
        and(a, b) = _mm256_and_si256(a, b);
        and_not(a, b) = _mm256_andnot_si256(b, a);
        or(a, b) = _mm256_or_si256(a, b);
        xor(a, b) = _mm256_xor_si256(a, b);
        max(a, b) = _mm256_max_epi32(a, b);
        abs(a) = _mm256_abs_epi32(a);
        multiply(a, b) = _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
        cut(a) = _mm256_cvttps_epi32(_mm256_castsi256_ps(a));
        float(a) = _mm256_castps_si256(_mm256_cvtepi32_ps(a));
        multiply_pairs(a, b) = _mm256_madd_epi16(a, b);
    }
    chunkwise! { [0 1 2 3] W
        shl<N>(a) = _mm256_sllv_epi32(a, _mm256_set1_epi32(N as i32));
        shr<N>(a) = _mm256_srlv_epi32(a, _mm256_set1_epi32(N as i32));
        sar<N>(a) = _mm256_srav_epi32(a, _mm256_set1_epi32(N as i32));
        shl_halves<N>(a) = _mm256_sll_epi16(a, _mm_cvtsi32_si128(N as i32));
        shr_halves<N>(a) = _mm256_srl_epi16(a, _mm_cvtsi32_si128(N as i32));
        sar_halves<N>(a) = _mm256_sra_epi16(a, _mm_cvtsi32_si128(N as i32));
    }
    variable_shifts!([0 1 2 3] _mm256_sll_epi32 _mm256_srl_epi32);
    #[inline(always)]
    fn select_zero(self, x: Self::W, of_zero: Self::W, other: Self::W) -> Self::W {
        chunks!([0 1 2 3] (x, of_zero, other) {
            _mm256_blendv_epi8(other, of_zero, _mm256_cmpeq_epi32(x, _mm256_setzero_si256()))
        })
    }
    #[inline(always)]
    fn any_negative(self, a: Self::W) -> bool {
        // SAFETY: the host has the level.
        unsafe {
            let any = _mm256_or_si256(_mm256_or_si256(a[0], a[1]), _mm256_or_si256(a[2], a[3]));
            _mm256_movemask_ps(_mm256_castsi256_ps(any)) != 0
        }
    }
    #[inline(always)]
    fn narrow(self, x: Self::W) -> Self::H {
        // Low half words, not saturated ones: their signs are brought along.
        let [a, b, c, d] = chunks!([0 1 2 3] (x) _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(x)));
        let packed = [(a, b), (c, d)];
        chunks!([0 1] (packed) {
            _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(packed.0, packed.1))
        })
    }
    #[inline(always)]
    fn widen(self, x: Self::H) -> Self::W {
        let low = chunks!([0 1] (x) _mm256_cvtepi16_epi32(_mm256_castsi256_si128(x)));
        let high = chunks!([0 1] (x) _mm256_cvtepi16_epi32(_mm256_extracti128_si256::<1>(x)));
        [low[0], high[0], low[1], high[1]]
    }
    chunkwise! { [0 1] H
        add_halves(a, b) = _mm256_add_epi16(a, b);
        max_halves(a, b) = _mm256_max_epi16(a, b);
    }
}
