//! Loops over lanes, compiled for the vectors of this host beside those that every host has. What an instruction computes is a function of
//! one lane's words; the loop around it stands here.

use crate::registers::{LANES, Plane};
use crate::step::{Given, Lanes, MOST_PLACES, MOST_SOURCES, Results, Sum, Test, Words};
#[cfg(target_arch = "x86_64")]
use machine::lanes::simd::{Avx2, Avx512};
use machine::lanes::simd::{Baseline, Level, Simd};

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

/// A loop that is compiled for each level of vectors.
trait Body: Send + Sync + 'static {
    /// What it reads and writes.
    type Over<'x>;
    type Result;
    fn run<S: Simd>(&self, over: Self::Over<'_>) -> Self::Result;
}

/// Such a loop, as it is compiled for this host.
type Boxed<B> = Box<dyn for<'x> Fn(<B as Body>::Over<'x>) -> <B as Body>::Result + Send + Sync>;

fn boxed<B: Body>(body: B) -> Boxed<B> {
    match Level::detect() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level says that this host has what the closure is compiled for.
        Level::Avx2 => unsafe { on_avx2(body) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the same.
        Level::Avx512 => unsafe { on_avx512(body) },
        _ => Box::new(move |over: B::Over<'_>| body.run::<Baseline>(over)),
    }
}

// A closure is compiled for what the function has in which it stands.

#[cfg(target_arch = "x86_64")]
machine::on_avx2! {
    fn on_avx2<B: Body>(body: B) -> Boxed<B> {
        Box::new(move |over: B::Over<'_>| body.run::<Avx2>(over))
    }
}

#[cfg(target_arch = "x86_64")]
machine::on_avx512! {
    fn on_avx512<B: Body>(body: B) -> Boxed<B> {
        Box::new(move |over: B::Over<'_>| body.run::<Avx512>(over))
    }
}

/// The lanes in which something holds.
#[inline(always)]
fn mask<S: Simd>(holds: impl Fn(usize) -> bool) -> u32 {
    let mut all = [0; LANES];
    for lane in 0..LANES {
        all[lane] = u32::from(holds(lane)).wrapping_neg();
    }
    S::bits32(all)
}

/// Writes a word in each lane. It is written apart first: where the result lies, nobody else reads, but the compiler does not know it.
#[inline(always)]
fn each(to: &mut Plane, mut word: impl FnMut(usize) -> u32) {
    let mut words = [0; LANES];
    for lane in 0..LANES {
        words[lane] = word(lane);
    }
    *to = words;
}

struct EachWord<F>(F);

impl<F: Fn(u32, u32, u32) -> u32 + Send + Sync + 'static> Body for EachWord<F> {
    type Over<'x> = ([&'x Plane; 3], &'x mut Plane);
    type Result = ();

    #[inline(always)]
    fn run<S: Simd>(&self, ([a, b, c], to): Self::Over<'_>) {
        each(to, |lane| (self.0)(a[lane], b[lane], c[lane]));
    }
}

/// Three words to one, in all lanes.
pub(crate) fn words(function: impl Fn(u32, u32, u32) -> u32 + Send + Sync + 'static) -> Words {
    boxed(EachWord(function))
}

struct EachTest<F>(F);

impl<F: Fn(u32, u32) -> bool + Send + Sync + 'static> Body for EachTest<F> {
    type Over<'x> = [&'x Plane; 2];
    type Result = u32;

    #[inline(always)]
    fn run<S: Simd>(&self, [a, b]: Self::Over<'_>) -> u32 {
        mask::<S>(|lane| (self.0)(a[lane], b[lane]))
    }
}

/// The lanes in which something holds of two words.
pub(crate) fn test(holds: impl Fn(u32, u32) -> bool + Send + Sync + 'static) -> Test {
    boxed(EachTest(holds))
}

struct EachSum<F>(F);

impl<F: Fn([u32; 3], [u32; 2]) -> (u32, u32) + Send + Sync + 'static> Body for EachSum<F> {
    type Over<'x> = ([&'x Plane; 3], [u32; 2], &'x mut Plane);
    type Result = [u32; 2];

    #[inline(always)]
    fn run<S: Simd>(&self, ([a, b, c], [x, y], to): Self::Over<'_>) -> [u32; 2] {
        let mut carried = [0; LANES];
        each(to, |lane| {
            let carries = [spread(x, lane) & 1, spread(y, lane) & 1];
            let (sum, over) = (self.0)([a[lane], b[lane], c[lane]], carries);
            carried[lane] = over;
            sum
        });
        [mask::<S>(|lane| carried[lane] >= 1), mask::<S>(|lane| carried[lane] >= 2)]
    }
}

/// Three words and two carries to a word, and how often that carries.
pub(crate) fn sum(function: impl Fn([u32; 3], [u32; 2]) -> (u32, u32) + Send + Sync + 'static) -> Sum {
    boxed(EachSum(function))
}

struct EachLane<F>(F);

impl<F: Fn(&[u64; MOST_SOURCES], &mut [u64; MOST_PLACES]) + Send + Sync + 'static> Body for EachLane<F> {
    type Over<'x> = (&'x Given, &'x mut Results);
    type Result = ();

    #[inline(always)]
    fn run<S: Simd>(&self, (given, results): Self::Over<'_>) {
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
    boxed(EachLane(function))
}
