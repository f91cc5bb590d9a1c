//! Loops over lanes, compiled for the vectors of this host beside those that every host has. What an instruction computes is a function of
//! one lane's words; the loop around it stands here.

use crate::registers::{LANES, Plane};
use crate::step::{Given, Lanes, MOST_PLACES, MOST_SOURCES, Results, Sum, Test, Words};
use machine::lanes::simd::Level;

/// The bit of each lane in a mask.
const BITS: Plane = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// All bits where a lane is in a mask, none where it is not.
#[inline(always)]
pub(crate) fn spread(mask: u32, lane: usize) -> u32 {
    u32::from(mask & BITS[lane] != 0).wrapping_neg()
}

/// The lanes in which something holds.
#[inline(always)]
pub(crate) fn mask(holds: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |mask, lane| mask | u32::from(holds(lane)).wrapping_neg() & BITS[lane])
}

/// A loop that is compiled for each level of vectors.
trait Body {
    /// What it reads and writes.
    type Over<'x>;
    type Result;
    fn run(&self, over: Self::Over<'_>) -> Self::Result;
}

/// Executes a loop as it is compiled for every host.
fn plain<B: Body>(body: &B, over: B::Over<'_>) -> B::Result {
    body.run(over)
}

/// The same, as it is compiled for hosts that have these.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn vectors<B: Body>(body: &B, over: B::Over<'_>) -> B::Result {
    body.run(over)
}

/// A body as a boxed function of what stands between the bars, compiled for this host.
macro_rules! boxed {
    ($body:expr, |$($given:ident),*| $over:expr) => {{
        let body = $body;
        #[cfg(target_arch = "x86_64")]
        if Level::detect() != Level::Baseline {
            // SAFETY: the level says that this host has what `vectors` is compiled for.
            return Box::new(move |$($given),*| unsafe { vectors(&body, $over) });
        }
        Box::new(move |$($given),*| plain(&body, $over))
    }};
}

struct EachWord<F>(F);

impl<F: Fn(u32, u32, u32) -> u32> Body for EachWord<F> {
    type Over<'x> = ([&'x Plane; 3], &'x mut Plane);
    type Result = ();

    #[inline(always)]
    fn run(&self, ([a, b, c], to): Self::Over<'_>) {
        for lane in 0..LANES {
            to[lane] = (self.0)(a[lane], b[lane], c[lane]);
        }
    }
}

/// Three words to one, in all lanes.
pub(crate) fn words(function: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static) -> Words {
    boxed!(EachWord(function), |given, to| (given, to))
}

struct EachTest<F>(F);

impl<F: Fn(u32, u32) -> bool> Body for EachTest<F> {
    type Over<'x> = [&'x Plane; 2];
    type Result = u32;

    #[inline(always)]
    fn run(&self, [a, b]: Self::Over<'_>) -> u32 {
        mask(|lane| (self.0)(a[lane], b[lane]))
    }
}

/// The lanes in which something holds of two words.
pub(crate) fn test(holds: impl Fn(u32, u32) -> bool + Send + Sync + 'static) -> Test {
    boxed!(EachTest(holds), |given| given)
}

struct EachSum<F>(F);

impl<F: Fn([u32; 3], [u32; 2]) -> (u32, u32)> Body for EachSum<F> {
    type Over<'x> = ([&'x Plane; 3], [u32; 2], &'x mut Plane);
    type Result = [u32; 2];

    #[inline(always)]
    fn run(&self, ([a, b, c], [x, y], to): Self::Over<'_>) -> [u32; 2] {
        let mut carried = [0; LANES];
        for lane in 0..LANES {
            let carries = [spread(x, lane) & 1, spread(y, lane) & 1];
            (to[lane], carried[lane]) = (self.0)([a[lane], b[lane], c[lane]], carries);
        }
        [mask(|lane| carried[lane] >= 1), mask(|lane| carried[lane] >= 2)]
    }
}

/// Three words and two carries to a word, and how often that carries.
pub(crate) fn sum(function: impl Fn([u32; 3], [u32; 2]) -> (u32, u32) + Send + Sync + 'static) -> Sum {
    boxed!(EachSum(function), |given, carries, to| (given, carries, to))
}

struct EachLane<F>(F);

impl<F: Fn(&[u64; MOST_SOURCES], &mut [u64; MOST_PLACES])> Body for EachLane<F> {
    type Over<'x> = (&'x Given, &'x mut Results);
    type Result = ();

    #[inline(always)]
    fn run(&self, (given, results): Self::Over<'_>) {
        for lane in 0..LANES {
            let (mut from, mut to) = ([0; MOST_SOURCES], [0; MOST_PLACES]);
            for (value, plane) in from.iter_mut().zip(given) {
                *value = plane[lane];
            }
            (self.0)(&from, &mut to);
            for (plane, value) in results.iter_mut().zip(to) {
                plane[lane] = value;
            }
        }
    }
}

/// Sources of a lane to its results.
pub(crate) fn lanes(
    function: impl Fn(&[u64; MOST_SOURCES], &mut [u64; MOST_PLACES]) + Send + Sync + 'static,
) -> Lanes {
    boxed!(EachLane(function), |given, results| (given, results))
}
