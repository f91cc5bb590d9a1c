//! Rows of tables for lanes side by side, as each level of the host's vectors finds them fastest.

use crate::tensor::lanes::Portable;
#[cfg(target_arch = "x86_64")]
use crate::tensor::lanes::{Avx2, Avx512};
use std::hint::black_box;

/// Rows of two words, as many as a power of two says.
pub struct Rows<const N: usize> {
    /// The two words of each side by side.
    pairs: [[u32; 2]; N],
    /// And of all rows the first words, and the second ones.
    words: [[u32; N]; 2],
}

impl<const N: usize> Rows<N> {
    pub(super) const fn new(pairs: [[u32; 2]; N]) -> Self {
        let mut words = [[0; N]; 2];
        let mut i = 0;
        while i < N {
            (words[0][i], words[1][i]) = (pairs[i][0], pairs[i][1]);
            i += 1;
        }
        Self { pairs, words }
    }

    /// A row; numbers beyond the last one go round.
    #[inline(always)]
    pub(super) fn row(&self, number: u32) -> [u32; 2] {
        self.pairs[number as usize & (N - 1)]
    }

    /// Numbers that go round. They stand in memory, from where one by one is read: to take them out of a vector takes longer, so the compiler is told not to.
    #[inline(always)]
    fn in_memory<const L: usize>(numbers: &[u32; L]) -> [u32; L] {
        let mut within = [0; L];
        for l in 0..L {
            within[l] = numbers[l] & (N - 1) as u32;
        }
        black_box(within)
    }
}

/// Finds rows: a value of the type is a proof that the host has the level's vectors.
pub trait Lookup: Copy {
    /// Of the row of each number the first word, and the second one. Numbers beyond the last go round.
    fn rows<const N: usize, const L: usize>(self, rows: &Rows<N>, numbers: &[u32; L]) -> [[u32; L]; 2];
}

impl Lookup for Portable {
    #[inline(always)]
    fn rows<const N: usize, const L: usize>(self, rows: &Rows<N>, numbers: &[u32; L]) -> [[u32; L]; 2] {
        let numbers = Rows::<N>::in_memory(numbers);
        let (mut pairs, mut words) = ([[0; 2]; L], [[0; L]; 2]);
        for l in 0..L {
            pairs[l] = rows.row(numbers[l]);
        }
        let pairs = black_box(pairs);
        for l in 0..L {
            [words[0][l], words[1][l]] = pairs[l];
        }
        words
    }
}

/// Functions, as intrinsics in closures become calls.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Avx2, Avx512, Lookup, Portable, Rows};
    use std::arch::x86_64::*;

    /// Two pairs of words.
    ///
    /// # Safety
    /// The host has AVX2.
    #[inline(always)]
    unsafe fn two([a, b]: [&[u32; 2]; 2]) -> __m128d {
        // SAFETY: a pair is eight bytes.
        unsafe {
            let low = _mm_load_sd((&raw const *a).cast());
            _mm_loadh_pd(low, (&raw const *b).cast())
        }
    }

    /// Four pairs.
    ///
    /// # Safety
    /// The host has AVX2.
    #[inline(always)]
    unsafe fn four([a, b, c, d]: [&[u32; 2]; 4]) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_castpd_ps(_mm256_set_m128d(two([c, d]), two([a, b]))) }
    }

    impl Lookup for Avx2 {
        /// Pairs are loaded one by one into halves of vectors.
        #[inline(always)]
        fn rows<const N: usize, const L: usize>(self, rows: &Rows<N>, numbers: &[u32; L]) -> [[u32; L]; 2] {
            const LANES: usize = 8;
            if !L.is_multiple_of(LANES) {
                return Portable.rows(rows, numbers);
            }
            let numbers = Rows::<N>::in_memory(numbers);
            let mut words = [[0; L]; 2];
            for first in (0..L).step_by(LANES) {
                let mut pairs = [&rows.pairs[0]; LANES];
                for l in 0..LANES {
                    pairs[l] = &rows.pairs[numbers[first + l] as usize & (N - 1)];
                }
                let [a, b, c, d, e, f, g, h] = pairs;
                let [mut low, mut high] = [[0_u32; LANES]; 2];
                // SAFETY: AVX2 is present (the type's contract); the pointers are to eight words.
                unsafe {
                    let (even, odd) = (four([a, b, e, f]), four([c, d, g, h]));
                    _mm256_storeu_ps(low.as_mut_ptr().cast(), _mm256_shuffle_ps(even, odd, 0b10_00_10_00));
                    _mm256_storeu_ps(high.as_mut_ptr().cast(), _mm256_shuffle_ps(even, odd, 0b11_01_11_01));
                }
                words[0][first..][..LANES].copy_from_slice(&low);
                words[1][first..][..LANES].copy_from_slice(&high);
            }
            words
        }
    }

    /// Words from `from` on, by their numbers among 32 of them.
    ///
    /// # Safety
    /// The host has AVX-512.
    #[inline(always)]
    unsafe fn of_32<const N: usize>(words: &[u32; N], from: usize, numbers: __m512i) -> __m512i {
        let (first, second) = (&words[from..][..16], &words[from + 16..][..16]);
        // SAFETY: each pointer is to 16 words.
        unsafe {
            let (first, second) =
                (_mm512_loadu_si512(first.as_ptr().cast()), _mm512_loadu_si512(second.as_ptr().cast()));
            _mm512_permutex2var_epi32(first, numbers, second)
        }
    }

    /// The same of 64.
    ///
    /// # Safety
    /// The host has AVX-512.
    #[inline(always)]
    unsafe fn of_64<const N: usize>(words: &[u32; N], from: usize, numbers: __m512i) -> __m512i {
        // SAFETY: the caller's.
        unsafe {
            let is_in_second = _mm512_test_epi32_mask(numbers, _mm512_set1_epi32(32));
            let (first, second) = (of_32(words, from, numbers), of_32(words, from + 32, numbers));
            _mm512_mask_blend_epi32(is_in_second, first, second)
        }
    }

    impl Lookup for Avx512 {
        /// The whole table is in vectors, of which each permutation takes 32 rows.
        #[inline(always)]
        fn rows<const N: usize, const L: usize>(self, rows: &Rows<N>, numbers: &[u32; L]) -> [[u32; L]; 2] {
            const LANES: usize = 16;
            if !L.is_multiple_of(LANES) || !(N == 64 || N == 128) {
                return Portable.rows(rows, numbers);
            }
            let mut found = [[0; L]; 2];
            for first in (0..L).step_by(LANES) {
                for (words, found) in rows.words.iter().zip(&mut found) {
                    let (numbers, found) = (&numbers[first..][..LANES], &mut found[first..][..LANES]);
                    // SAFETY: AVX-512 is present (the type's contract); each pointer is to 16 words.
                    unsafe {
                        let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
                        let mut all = of_64(words, 0, numbers);
                        if N == 128 {
                            let is_in_second = _mm512_test_epi32_mask(numbers, _mm512_set1_epi32(64));
                            all = _mm512_mask_blend_epi32(is_in_second, all, of_64(words, 64, numbers));
                        }
                        _mm512_storeu_si512(found.as_mut_ptr().cast(), all);
                    }
                }
            }
            found
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<V: Lookup, const N: usize, const L: usize>(v: V) {
        let rows = Rows::<N>::new(std::array::from_fn(|i| [3 * i as u32 + 1, 0xffff_ffff - i as u32]));
        for start in 0..2 * N as u32 {
            let numbers: [u32; L] = std::array::from_fn(|l| start + 7 * l as u32);
            let [low, high] = v.rows(&rows, &numbers);
            for l in 0..L {
                let number = numbers[l] % N as u32;
                assert_eq!(
                    [low[l], high[l]],
                    [3 * number + 1, 0xffff_ffff - number],
                    "lane {l} of {numbers:?}"
                );
            }
        }
    }

    fn check_all(v: impl Lookup) {
        check::<_, 64, 32>(v);
        check::<_, 128, 32>(v);
        check::<_, 128, 16>(v);
        check::<_, 128, 1>(v);
        check::<_, 32, 16>(v);
    }

    #[test]
    fn every_level_finds_the_rows() {
        check_all(Portable);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: it has been detected.
                check_all(unsafe { Avx2::of_host() });
            }
            let avx512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            if avx512 && is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl") {
                // SAFETY: it has been detected.
                check_all(unsafe { Avx512::of_host() });
            }
        }
    }
}
