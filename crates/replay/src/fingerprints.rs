//! What an H200 computed for the approximate functions, as fingerprints (`approximate.gz` in the tests of
//! `numerics`, written by `approximate.cu`), and the fingerprints of what `numerics` computes.
//!
//! A line of the file is a name, the binary logarithm of the size of a chunk, and a fingerprint for each chunk of
//! consecutive indices from 0: the wrapping sum of a hash of index and result. The index is the operand itself, or
//! operands are made from it as [`fingerprint`] says.

use numerics::format::{Bf16, F16};
use numerics::rounding::{Rn, Rp, Rz};
use numerics::{float, special};
use std::io::Read;
use std::ops::Range;

/// One instruction's fingerprints.
pub struct Fingerprints {
    /// The instruction.
    pub name: String,
    /// Indices in a chunk.
    pub chunk: u64,
    /// The fingerprint of each chunk.
    pub recorded: Vec<u64>,
}

impl Fingerprints {
    /// The indices of a chunk.
    pub fn indices(&self, chunk: usize) -> Range<u64> {
        let first = chunk as u64 * self.chunk;
        first..first + self.chunk
    }
}

/// All that a recording has.
///
/// # Panics
/// If it is none.
pub fn fingerprints(file: &[u8]) -> Vec<Fingerprints> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("the recording is text");
    let line = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        let bits: u32 = words.next().and_then(|word| word.parse().ok()).expect("the size of a chunk");
        let recorded = words.map(|word| u64::from_str_radix(word, 16).expect("hexadecimal")).collect();
        Fingerprints { name, chunk: 1 << bits, recorded }
    };
    text.lines().map(line).collect()
}

/// splitmix64, whose steps are taken from outside.
#[inline(always)]
fn mix(v: u64) -> u64 {
    let v = v.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}

/// Dividend and divisor: any bits, and at odd indices exponents at most 16 apart.
#[inline(always)]
fn dividend_and_divisor(index: u64) -> (u32, u32) {
    let bits = mix(index);
    let (a, b) = (bits as u32, (bits >> 32) as u32);
    let exponent = ((a >> 23) & 0xff).wrapping_add((b >> 23) & 0x1f).wrapping_sub(16) & 0xff;
    (a, if index & 1 == 0 { b } else { (b & 0x807f_ffff) | (exponent << 23) })
}

/// Any bits, seven of eight times with the sign clear.
#[inline(always)]
fn mostly_positive(index: u64) -> u64 {
    let bits = mix(index);
    if index & 7 == 0 { bits } else { bits & (u64::MAX >> 1) }
}

/// The fingerprint of the results at these indices, or `None` if this does not know the instruction.
pub fn fingerprint(name: &str, indices: Range<u64>) -> Option<u64> {
    // A macro, so that every function has its own loop.
    macro_rules! sum {
        (|$i:ident| $hash:expr) => {{
            let mut sum = 0_u64;
            for $i in indices {
                sum = sum.wrapping_add(mix($hash));
            }
            sum
        }};
    }
    macro_rules! single {
        ($f:expr) => {
            sum!(|i| (i << 32) | u64::from($f(i as u32)))
        };
    }
    macro_rules! half {
        ($f:expr) => {
            sum!(|i| (i << 32) | u64::from($f(i as u16)))
        };
    }
    // The operand's upper word is the index; what counts is the result's upper word, and that the lower is zero.
    macro_rules! upper_word {
        ($f:expr) => {
            sum!(|i| {
                let result: u64 = $f(i << 32);
                (i << 32) | ((result >> 32) ^ (result & 0xffff_ffff))
            })
        };
    }
    macro_rules! quotient {
        ($f:expr) => {
            sum!(|i| {
                let (a, b) = dividend_and_divisor(i);
                (i << 32) | u64::from($f(a, b))
            })
        };
    }
    Some(match name {
        "rcp.approx.f32" => single!(special::rcp_approx_f32::<false>),
        "rcp.approx.ftz.f32" => single!(special::rcp_approx_f32::<true>),
        "sqrt.approx.f32" => single!(special::sqrt_approx_f32::<false>),
        "sqrt.approx.ftz.f32" => single!(special::sqrt_approx_f32::<true>),
        "rsqrt.approx.f32" => single!(special::rsqrt_approx_f32::<false>),
        "rsqrt.approx.ftz.f32" => single!(special::rsqrt_approx_f32::<true>),
        "sin.approx.f32" | "sin.approx.ftz.f32" => single!(special::sin_approx_f32),
        "cos.approx.f32" | "cos.approx.ftz.f32" => single!(special::cos_approx_f32),
        "lg2.approx.f32" => single!(special::lg2_approx_f32::<false>),
        "lg2.approx.ftz.f32" => single!(special::lg2_approx_f32::<true>),
        "ex2.approx.f32" => single!(special::ex2_approx_f32::<false>),
        "ex2.approx.ftz.f32" => single!(special::ex2_approx_f32::<true>),
        "tanh.approx.f32" => single!(special::tanh_approx_f32),
        "rcp.rn.f32" => single!(float::rcp_f32::<Rn, false>),
        "sqrt.rn.f32" => single!(float::sqrt_f32::<Rn, false>),
        "rcp.rz.ftz.f32" => single!(float::rcp_f32::<Rz, true>),
        "sqrt.rp.f32" => single!(float::sqrt_f32::<Rp, false>),
        "rcp.approx.ftz.f64" => upper_word!(special::rcp_approx_ftz_f64),
        "rsqrt.approx.ftz.f64" => upper_word!(special::rsqrt_approx_ftz_f64),
        "rsqrt.approx.f64" => sum!(|i| mix(i) ^ special::rsqrt_approx_f64(mostly_positive(i))),
        "div.approx.f32" => quotient!(special::div_approx_f32::<false>),
        "div.approx.ftz.f32" => quotient!(special::div_approx_f32::<true>),
        "div.full.f32" => quotient!(special::div_full_f32::<false>),
        "div.full.ftz.f32" => quotient!(special::div_full_f32::<true>),
        "tanh.approx.f16" => half!(special::tanh_approx_half::<F16>),
        "tanh.approx.bf16" => half!(special::tanh_approx_half::<Bf16>),
        "ex2.approx.f16" => half!(special::ex2_approx_half::<F16, false>),
        "ex2.approx.ftz.bf16" => half!(special::ex2_approx_half::<Bf16, true>),
        _ => return None,
    })
}
