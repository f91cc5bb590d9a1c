//! The vector levels of x86-64.
//!
//! The intrinsics are sound to call because a value of [`Avx2`] or [`Avx512`] exists only where its maker has vouched for the features.

use super::vectors::{LANES, LINES, TRANSPOSED, Vectors};
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

/// Eight words, each twice.
const TWICE: [i32; 16] = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7];

/// Of four rows of two registers, four words each, those of a parity: their words in turn, column by column.
const IN_TURN: [[i32; 16]; 2] = [
    [0, 8, 1, 9, 2, 10, 3, 11, 16, 24, 17, 25, 18, 26, 19, 27],
    [4, 12, 5, 13, 6, 14, 7, 15, 20, 28, 21, 29, 22, 30, 23, 31],
];
/// The four rows of each register from those of both parities.
const APART: [[i32; 16]; 2] = [
    [0, 2, 4, 6, 16, 18, 20, 22, 1, 3, 5, 7, 17, 19, 21, 23],
    [8, 10, 12, 14, 24, 26, 28, 30, 9, 11, 13, 15, 25, 27, 29, 31],
];

const TOWARDS_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

/// What both levels do chunk by chunk, by the same intrinsics of other widths.
macro_rules! by_chunks {
    ($chunk:ty, $n:literal) => {
        type W = [$chunk; $n];

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

/// The words of two vectors that an order names.
///
/// # Safety
/// The host has AVX-512 F.
#[inline(always)]
unsafe fn exchanged(a: __m512i, b: __m512i, order: &[i32; 16]) -> __m512i {
    // SAFETY: 16 words of memory; the host has the level.
    unsafe { _mm512_permutex2var_epi32(a, _mm512_loadu_si512(order.as_ptr().cast()), b) }
}

impl Vectors for Avx512 {
    by_chunks!(__m512i, 2);

    #[inline(always)]
    fn splat(self, x: u32) -> Self::W {
        // SAFETY: the host has the level.
        [unsafe { _mm512_set1_epi32(x as i32) }; 2]
    }
    #[inline(always)]
    fn transpose(self, x: Self::W) -> Self::W {
        let [low, high] = x;
        let order = self.load(&TRANSPOSED);
        chunks!([0 1] (order) _mm512_permutex2var_epi32(low, order, high))
    }
    // Of a part's rows 2i and 2i + 1, chunk i has the words in turn, column by column.
    #[inline(always)]
    fn rows(self, from: &[u32; LANES], at: usize) -> Self::W {
        let rows = from[at..at + 4].as_ptr().cast::<i64>();
        // SAFETY: two words of memory each; the host has the level.
        unsafe { [_mm512_set1_epi64(rows.read_unaligned()), _mm512_set1_epi64(rows.add(1).read_unaligned())] }
    }
    #[inline(always)]
    fn columns(self, from: &[u32; LANES], at: usize) -> Self::W {
        let eight = from[at..at + LINES].as_ptr();
        // SAFETY: eight words of memory; the host has the level.
        unsafe {
            let eight = _mm512_castsi256_si512(_mm256_loadu_si256(eight.cast()));
            [_mm512_permutexvar_epi32(_mm512_loadu_si512(TWICE.as_ptr().cast()), eight); 2]
        }
    }
    #[inline(always)]
    fn parts(self, registers: [&[u32; LANES]; 2]) -> [Self::W; 2] {
        let (even, odd) = (self.load(registers[0]), self.load(registers[1]));
        let [first, second] = IN_TURN;
        [
            chunks!([0 1] (even, odd) exchanged(even, odd, &first)),
            chunks!([0 1] (even, odd) exchanged(even, odd, &second)),
        ]
    }
    #[inline(always)]
    fn registers(self, parts: [Self::W; 2], registers: &mut [[u32; LANES]; 2]) {
        let [even, odd] = parts;
        let [first, second] = APART;
        self.store(chunks!([0 1] (even, odd) exchanged(even, odd, &first)), &mut registers[0]);
        self.store(chunks!([0 1] (even, odd) exchanged(even, odd, &second)), &mut registers[1]);
    }
    chunkwise! { [0 1] W
        add(a, b) = _mm512_add_epi32(a, b);
        sub(a, b) = _mm512_sub_epi32(a, b);
        and(a, b) = _mm512_and_si512(a, b);
        and_not(a, b) = _mm512_andnot_si512(b, a);
        or(a, b) = _mm512_or_si512(a, b);
        xor(a, b) = _mm512_xor_si512(a, b);
        max(a, b) = _mm512_max_epi32(a, b);
        multiply(a, b) = _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
        cut(a) = _mm512_cvttps_epi32(_mm512_castsi512_ps(a));
        float(a) = _mm512_castps_si512(_mm512_cvt_roundepi32_ps::<TOWARDS_ZERO>(a));
        multiply_pairs(a, b) = _mm512_madd_epi16(a, b);
        add_halves(a, b) = _mm512_add_epi16(a, b);
        max_halves(a, b) = _mm512_max_epi16(a, b);
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
    fn select_zero_halves(self, x: Self::W, of_zero: Self::W, other: Self::W) -> Self::W {
        chunks!([0 1] (x, of_zero, other) {
            _mm512_mask_blend_epi16(_mm512_testn_epi16_mask(x, x), other, of_zero)
        })
    }
}

impl Vectors for Avx2 {
    by_chunks!(__m256i, 4);

    #[inline(always)]
    fn splat(self, x: u32) -> Self::W {
        // SAFETY: the host has the level.
        [unsafe { _mm256_set1_epi32(x as i32) }; 4]
    }
    #[inline(always)]
    fn transpose(self, x: Self::W) -> Self::W {
        // Of lines 2c and 2c + 1, chunk c has the words, in its lower and its upper half.
        let [a, b, c, d] = x;
        // SAFETY: the host has the level.
        unsafe {
            let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
            let (ab_above, cd_above) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
            [
                _mm256_unpacklo_epi64(ab, cd),
                _mm256_unpackhi_epi64(ab, cd),
                _mm256_unpacklo_epi64(ab_above, cd_above),
                _mm256_unpackhi_epi64(ab_above, cd_above),
            ]
        }
    }
    // A chunk is a row of a part.
    #[inline(always)]
    fn rows(self, from: &[u32; LANES], at: usize) -> Self::W {
        let rows: [u32; 4] = [0, 1, 2, 3].map(|row| from[at + row]);
        chunks!([0 1 2 3] (rows) _mm256_set1_epi32(rows as i32))
    }
    #[inline(always)]
    fn columns(self, from: &[u32; LANES], at: usize) -> Self::W {
        let eight = from[at..at + LINES].as_ptr();
        // SAFETY: eight words of memory; the host has the level.
        [unsafe { _mm256_loadu_si256(eight.cast()) }; 4]
    }
    #[inline(always)]
    fn parts(self, registers: [&[u32; LANES]; 2]) -> [Self::W; 2] {
        let [even, odd] = registers;
        let row = |row: usize| (even[4 * row..][..4].as_ptr().cast(), odd[4 * row..][..4].as_ptr().cast());
        let parts = [[row(0), row(2), row(4), row(6)], [row(1), row(3), row(5), row(7)]];
        let [first, second] = parts;
        [
            chunks!([0 1 2 3] (first) _mm256_loadu2_m128i(first.1, first.0)),
            chunks!([0 1 2 3] (second) _mm256_loadu2_m128i(second.1, second.0)),
        ]
    }
    #[inline(always)]
    fn registers(self, parts: [Self::W; 2], [even, odd]: &mut [[u32; LANES]; 2]) {
        for (parity, part) in parts.into_iter().enumerate() {
            for (row, x) in part.into_iter().enumerate() {
                let at = 4 * (2 * row + parity);
                let (even, odd) = (&mut even[at..at + 4], &mut odd[at..at + 4]);
                // SAFETY: four words of memory each; the host has the level.
                unsafe { _mm256_storeu2_m128i(odd.as_mut_ptr().cast(), even.as_mut_ptr().cast(), x) };
            }
        }
    }
    chunkwise! { [0 1 2 3] W
        add(a, b) = _mm256_add_epi32(a, b);
        sub(a, b) = _mm256_sub_epi32(a, b);
        and(a, b) = _mm256_and_si256(a, b);
        and_not(a, b) = _mm256_andnot_si256(b, a);
        or(a, b) = _mm256_or_si256(a, b);
        xor(a, b) = _mm256_xor_si256(a, b);
        max(a, b) = _mm256_max_epi32(a, b);
        multiply(a, b) = _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
        cut(a) = _mm256_cvttps_epi32(_mm256_castsi256_ps(a));
        float(a) = {
            let magnitude = _mm256_abs_epi32(a);
            // Without the first of the bits that do not fit, what is left of them is rounded down.
            let kept = _mm256_andnot_si256(_mm256_srli_epi32::<{ f32::MANTISSA_DIGITS as i32 }>(magnitude), magnitude);
            // The least integer is its own magnitude, which here has a sign.
            let sign = _mm256_and_si256(a, _mm256_set1_epi32(i32::MIN));
            _mm256_or_si256(_mm256_castps_si256(_mm256_cvtepi32_ps(kept)), sign)
        };
        multiply_pairs(a, b) = _mm256_madd_epi16(a, b);
        add_halves(a, b) = _mm256_add_epi16(a, b);
        max_halves(a, b) = _mm256_max_epi16(a, b);
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
    fn select_zero_halves(self, x: Self::W, of_zero: Self::W, other: Self::W) -> Self::W {
        chunks!([0 1 2 3] (x, of_zero, other) {
            _mm256_blendv_epi8(other, of_zero, _mm256_cmpeq_epi16(x, _mm256_setzero_si256()))
        })
    }
}
