//! The few lane primitives that the compiler's vectoriser does not find by itself, once for each host vector level.
//!
//! Everything else in [`crate::ops`] is a plain loop over 32 lanes, compiled once for each level through
//! `#[target_feature]` wrappers over one `#[inline(always)]` body. Two steps resist that: turning 32 lane results into
//! a predicate mask, and keeping the old value in the lanes that a mask leaves out. Products of matrices have vectors of their
//! own, [`numerics::tensor::lanes::Vectors`].

use numerics::special::lookup::Lookup;
use numerics::tensor::lanes;

/// A host vector level, chosen once when the process starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Whatever the target guarantees.
    Baseline,
    /// x86-64 with AVX2, FMA and BMI.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL besides.
    Avx512,
}

impl Level {
    /// The best level of this host; `WARPLOOM_SIMD=baseline|avx2|avx512` may ask for a lower one.
    pub fn detect() -> Self {
        static LEVEL: std::sync::OnceLock<Level> = std::sync::OnceLock::new();
        *LEVEL.get_or_init(|| {
            let best = Self::best();
            match std::env::var("WARPLOOM_SIMD").as_deref() {
                Ok("baseline") => Self::Baseline,
                Ok("avx2") if best != Self::Baseline => Self::Avx2,
                _ => best,
            }
        })
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn best() -> Self {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (avx2, avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            (false, _) => Self::Baseline,
        }
    }

    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    fn best() -> Self {
        Self::Baseline
    }
}

/// A function that is compiled for [`Level::Avx2`](crate::lanes::simd::Level).
#[macro_export]
macro_rules! on_avx2 {
    ($($function:tt)*) => {
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        $($function)*
    };
}

/// A function that is compiled for [`Level::Avx512`](crate::lanes::simd::Level).
#[macro_export]
macro_rules! on_avx512 {
    ($($function:tt)*) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        $($function)*
    };
}

/// What is compiled for each level, beside operations (`ops::body`).
pub trait Work {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<S: Simd>(self) -> Self::Output;
}

/// Does it with the vectors of this host.
pub fn on_host<W: Work>(work: W) -> W::Output {
    match Level::detect() {
        Level::Baseline => work.run::<Baseline>(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level was found on this host.
        Level::Avx2 => unsafe { x86::on_avx2(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the same.
        Level::Avx512 => unsafe { x86::on_avx512(work) },
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => work.run::<Baseline>(),
    }
}

/// Keeps the compiler from vectorising the loop over warps that this stands in.
///
/// The loop over lanes inside it is what shall become vectors. Once that is unrolled, LLVM may take the loop over warps
/// for a better one, and gathers and scatters lanes that lie side by side (measured: 10 times slower).
#[inline(always)]
pub fn warp_by_warp() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: no instruction, no operand, no effect.
    unsafe {
        std::arch::asm!("", options(nomem, nostack, preserves_flags));
    }
}

/// The primitives of one level. Masks have bit `l` for lane `l`.
pub trait Simd: 'static {
    /// What products of matrices and approximations are computed with.
    type Vectors: lanes::Vectors + Lookup;
    /// Those of this level.
    fn vectors() -> Self::Vectors;
    /// `new` in the lanes of `mask`, `old` elsewhere.
    fn blend16(mask: u32, new: [u16; 32], old: [u16; 32]) -> [u16; 32];
    /// `new` in the lanes of `mask`, `old` elsewhere.
    fn blend32(mask: u32, new: [u32; 32], old: [u32; 32]) -> [u32; 32];
    /// `new` in the lanes of `mask`, `old` elsewhere.
    fn blend64(mask: u32, new: [u64; 32], old: [u64; 32]) -> [u64; 32];
    /// The mask of the lanes whose top bit is set.
    fn bits16(lanes: [u16; 32]) -> u32;
    /// The mask of the lanes whose top bit is set.
    fn bits32(lanes: [u32; 32]) -> u32;
    /// The mask of the lanes whose top bit is set.
    fn bits64(lanes: [u64; 32]) -> u32;
}

/// Level [`Level::Baseline`]: safe code only.
pub struct Baseline;

macro_rules! baseline_blend {
    ($name:ident, $t:ty) => {
        #[inline(always)]
        fn $name(mask: u32, new: [$t; 32], old: [$t; 32]) -> [$t; 32] {
            let mut result = old;
            for l in 0..32 {
                let select = (0 as $t).wrapping_sub((mask >> l & 1) as $t);
                result[l] = (new[l] & select) | (old[l] & !select);
            }
            result
        }
    };
}

macro_rules! baseline_bits {
    ($name:ident, $t:ty) => {
        #[inline(always)]
        fn $name(lanes: [$t; 32]) -> u32 {
            let mut mask = 0;
            for l in 0..32 {
                mask |= ((lanes[l] >> (<$t>::BITS - 1)) as u32) << l;
            }
            mask
        }
    };
}

impl Simd for Baseline {
    type Vectors = lanes::Portable;
    #[inline(always)]
    fn vectors() -> Self::Vectors {
        lanes::Portable
    }
    baseline_blend!(blend16, u16);
    baseline_blend!(blend32, u32);
    baseline_blend!(blend64, u64);
    baseline_bits!(bits16, u16);
    baseline_bits!(bits32, u32);
    baseline_bits!(bits64, u64);
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

/// The x86-64 levels.
///
/// The bodies use intrinsics of features that the level stands for. They are sound because a [`Level`] other than
/// `Baseline` exists only where [`Level::detect`] found those features, and only functions that were selected by that
/// level are instantiated with these types (see [`crate::ops::body::select`] and [`on_host`]).
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Simd, Work, lanes};
    use std::arch::x86_64::*;
    use std::mem::transmute;

    /// Level `Avx2`.
    pub struct Avx2;
    /// Level `Avx512`.
    pub struct Avx512;

    crate::on_avx2! {
        pub(super) fn on_avx2<W: Work>(work: W) -> W::Output {
            work.run::<Avx2>()
        }
    }

    crate::on_avx512! {
        pub(super) fn on_avx512<W: Work>(work: W) -> W::Output {
            work.run::<Avx512>()
        }
    }

    const fn lane_bits<const N: usize>() -> [u32; N] {
        let mut bits = [0; N];
        let mut l = 0;
        while l < N {
            bits[l] = 1 << l;
            l += 1;
        }
        bits
    }
    const BITS32: [u32; 32] = lane_bits();

    impl Simd for Avx2 {
        type Vectors = lanes::Avx2;
        #[inline(always)]
        fn vectors() -> Self::Vectors {
            // SAFETY: the level is present (module contract).
            unsafe { lanes::Avx2::of_host() }
        }
        #[inline(always)]
        fn blend16(mask: u32, new: [u16; 32], old: [u16; 32]) -> [u16; 32] {
            super::Baseline::blend16(mask, new, old)
        }
        #[inline(always)]
        fn blend32(mask: u32, new: [u32; 32], old: [u32; 32]) -> [u32; 32] {
            // SAFETY: AVX2 is present (module contract); the transmutes are between plain bits of equal size.
            unsafe {
                let new: [__m256i; 4] = transmute(new);
                let old: [__m256i; 4] = transmute(old);
                let bits: [__m256i; 4] = transmute(BITS32);
                let mask = _mm256_set1_epi32(mask as i32);
                let mut result = old;
                for i in 0..4 {
                    let select = _mm256_cmpeq_epi32(_mm256_and_si256(mask, bits[i]), bits[i]);
                    result[i] = _mm256_blendv_epi8(old[i], new[i], select);
                }
                transmute(result)
            }
        }
        #[inline(always)]
        fn blend64(mask: u32, new: [u64; 32], old: [u64; 32]) -> [u64; 32] {
            // SAFETY: AVX2 is present (module contract); the transmutes are between plain bits of equal size.
            unsafe {
                let new: [__m256i; 8] = transmute(new);
                let old: [__m256i; 8] = transmute(old);
                let mut result = old;
                for i in 0..8 {
                    let bits = _mm256_set_epi64x(8 << (4 * i), 4 << (4 * i), 2 << (4 * i), 1 << (4 * i));
                    let mask = _mm256_set1_epi64x(mask as i64);
                    let select = _mm256_cmpeq_epi64(_mm256_and_si256(mask, bits), bits);
                    result[i] = _mm256_blendv_epi8(old[i], new[i], select);
                }
                transmute(result)
            }
        }
        #[inline(always)]
        fn bits16(lanes: [u16; 32]) -> u32 {
            // SAFETY: AVX2 is present (module contract); the transmute is between plain bits of equal size.
            unsafe {
                let v: [__m256i; 2] = transmute(lanes);
                let sign = [_mm256_srai_epi16(v[0], 15), _mm256_srai_epi16(v[1], 15)];
                let bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(sign[0], sign[1]), 0b11_01_10_00);
                _mm256_movemask_epi8(bytes) as u32
            }
        }
        #[inline(always)]
        fn bits32(lanes: [u32; 32]) -> u32 {
            // SAFETY: AVX2 is present (module contract); the transmute is between plain bits of equal size.
            unsafe {
                let v: [__m256; 4] = transmute(lanes);
                (0..4).fold(0, |mask, i| mask | (_mm256_movemask_ps(v[i]) as u32) << (8 * i))
            }
        }
        #[inline(always)]
        fn bits64(lanes: [u64; 32]) -> u32 {
            // SAFETY: AVX2 is present (module contract); the transmute is between plain bits of equal size.
            unsafe {
                let v: [__m256d; 8] = transmute(lanes);
                (0..8).fold(0, |mask, i| mask | (_mm256_movemask_pd(v[i]) as u32) << (4 * i))
            }
        }
    }

    impl Simd for Avx512 {
        type Vectors = lanes::Avx512;
        #[inline(always)]
        fn vectors() -> Self::Vectors {
            // SAFETY: the level is present (module contract).
            unsafe { lanes::Avx512::of_host() }
        }
        #[inline(always)]
        fn blend16(mask: u32, new: [u16; 32], old: [u16; 32]) -> [u16; 32] {
            // SAFETY: AVX-512 BW is present (module contract); the transmutes are between plain bits of equal size.
            unsafe {
                let new: __m512i = transmute(new);
                let old: __m512i = transmute(old);
                transmute(_mm512_mask_blend_epi16(mask, old, new))
            }
        }
        #[inline(always)]
        fn blend32(mask: u32, new: [u32; 32], old: [u32; 32]) -> [u32; 32] {
            // SAFETY: AVX-512 F is present (module contract); the transmutes are between plain bits of equal size.
            unsafe {
                let new: [__m512i; 2] = transmute(new);
                let old: [__m512i; 2] = transmute(old);
                transmute([
                    _mm512_mask_blend_epi32(mask as u16, old[0], new[0]),
                    _mm512_mask_blend_epi32((mask >> 16) as u16, old[1], new[1]),
                ])
            }
        }
        #[inline(always)]
        fn blend64(mask: u32, new: [u64; 32], old: [u64; 32]) -> [u64; 32] {
            // SAFETY: AVX-512 F is present (module contract); the transmutes are between plain bits of equal size.
            unsafe {
                let new: [__m512i; 4] = transmute(new);
                let old: [__m512i; 4] = transmute(old);
                transmute([
                    _mm512_mask_blend_epi64(mask as u8, old[0], new[0]),
                    _mm512_mask_blend_epi64((mask >> 8) as u8, old[1], new[1]),
                    _mm512_mask_blend_epi64((mask >> 16) as u8, old[2], new[2]),
                    _mm512_mask_blend_epi64((mask >> 24) as u8, old[3], new[3]),
                ])
            }
        }
        #[inline(always)]
        fn bits16(lanes: [u16; 32]) -> u32 {
            // SAFETY: AVX-512 BW is present (module contract); the transmute is between plain bits of equal size.
            unsafe { _mm512_movepi16_mask(transmute::<[u16; 32], __m512i>(lanes)) }
        }
        #[inline(always)]
        fn bits32(lanes: [u32; 32]) -> u32 {
            // SAFETY: AVX-512 DQ is present (module contract); the transmute is between plain bits of equal size.
            unsafe {
                let v: [__m512i; 2] = transmute(lanes);
                _mm512_movepi32_mask(v[0]) as u32 | (_mm512_movepi32_mask(v[1]) as u32) << 16
            }
        }
        #[inline(always)]
        fn bits64(lanes: [u64; 32]) -> u32 {
            // SAFETY: AVX-512 DQ is present (module contract); the transmute is between plain bits of equal size.
            unsafe {
                let v: [__m512i; 4] = transmute(lanes);
                (0..4).fold(0, |mask, i| mask | (_mm512_movepi64_mask(v[i]) as u32) << (8 * i))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<S: Simd>() {
        for mask in [0, 1, 0x8000_0000, 0xffff_ffff, 0xdead_beef, 0x0f0f_3355] {
            let lane = |l: usize, v: u64| v.wrapping_mul(l as u64 * 2 + 1);
            let n16 = std::array::from_fn(|l| lane(l, 0x9e37) as u16);
            let o16 = std::array::from_fn(|l| lane(l, 0x79b9) as u16);
            let n32 = std::array::from_fn(|l| lane(l, 0x9e37_79b9) as u32);
            let o32 = std::array::from_fn(|l| lane(l, 0x7f4a_7c15) as u32);
            let n64 = std::array::from_fn(|l| lane(l, 0x9e37_79b9_7f4a_7c15));
            let o64 = std::array::from_fn(|l| lane(l, 0xbf58_476d_1ce4_e5b9));
            for l in 0..32 {
                let taken = mask >> l & 1 != 0;
                assert_eq!(S::blend16(mask, n16, o16)[l], if taken { n16[l] } else { o16[l] });
                assert_eq!(S::blend32(mask, n32, o32)[l], if taken { n32[l] } else { o32[l] });
                assert_eq!(S::blend64(mask, n64, o64)[l], if taken { n64[l] } else { o64[l] });
            }
            let lanes = |top: u64| move |l: usize| if mask >> l & 1 != 0 { top } else { 1 };
            assert_eq!(S::bits16(std::array::from_fn(|l| lanes(1 << 15)(l) as u16)), mask);
            assert_eq!(S::bits32(std::array::from_fn(|l| lanes(1 << 31)(l) as u32)), mask);
            assert_eq!(S::bits64(std::array::from_fn(|l| lanes(1 << 63)(l))), mask);
        }
    }

    #[test]
    fn every_level_agrees_with_the_definition() {
        check::<Baseline>();
        #[cfg(target_arch = "x86_64")]
        match Level::best() {
            Level::Baseline => {}
            Level::Avx2 => check::<Avx2>(),
            Level::Avx512 => {
                check::<Avx2>();
                check::<Avx512>();
            }
        }
    }
}
