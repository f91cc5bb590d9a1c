//! Where the lanes of a warp access shared memory: mostly each half of them at steps from one place on, which a few numbers say.

use crate::detector::lanes_of;
use crate::shadow::GRANULE;
use machine::lanes::simd::{Simd, Work, on_host};
use machine::lanes::{LANES, Plane};
use machine::observe::PackAddresses;
use std::ops::Range;

/// Lanes of half a warp.
pub(crate) const HALF: usize = LANES / 2;

/// The places of some lanes of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfWarp {
    pub(crate) mask: u32,
    pub(crate) places: Places,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// That of the first lane of each half, and how far each next one is.
    Steps { first: [u32; 2], step: u32 },
    /// They are in a plane with this number.
    Plane(usize),
}

/// Lanes side by side: the number of the first one, how many there are, and where the first one accesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) lane: u32,
    pub(crate) count: usize,
    pub(crate) place: u32,
}

impl Side {
    /// The same of a warp with a number, among the lanes of all.
    #[inline(always)]
    pub(crate) fn of_warp(self, number: u32) -> Self {
        Self { lane: number * LANES as u32 + self.lane, ..self }
    }

    /// Takes one that follows it into it, where elements are so far apart. If it does not follow, it is the next, and what was there
    /// before is done.
    #[inline(always)]
    pub(crate) fn join(joined: &mut Option<Self>, next: Self, apart: u32) -> Option<Self> {
        match joined {
            Some(Self { lane, count, place })
                if *lane + *count as u32 == next.lane
                    && place.wrapping_add(*count as u32 * apart) == next.place =>
            {
                *count += next.count;
                None
            }
            _ => joined.replace(next),
        }
    }
}

impl OfWarp {
    /// If lanes side by side access elements that are so far apart, and no others do, those of each half that there are.
    #[inline(always)]
    pub(crate) fn sides(&self, apart: u32) -> Option<[Option<Side>; 2]> {
        let Places::Steps { first, step } = self.places else { return None };
        let mut sides = [None; 2];
        for (half, side) in sides.iter_mut().enumerate() {
            let mask = self.mask >> (HALF * half) & 0xffff;
            if mask == 0 {
                continue;
            }
            let low = mask.trailing_zeros();
            let lanes = mask >> low;
            if lanes & (lanes + 1) != 0 {
                return None;
            }
            let (lane, count) = ((HALF * half) as u32 + low, lanes.count_ones() as usize);
            *side = Some(Side { lane, count, place: first[half].wrapping_add(step.wrapping_mul(low)) });
        }
        (step == apart).then_some(sides)
    }

    /// If all lanes of each half access one place, the places and lanes.
    #[inline(always)]
    pub(crate) fn alike(&self) -> Option<[(u32, u32); 2]> {
        let Places::Steps { first: [low, high], step: 0 } = self.places else { return None };
        Some(match low == high {
            true => [(low, self.mask), (0, 0)],
            false => [(low, self.mask & 0xffff), (high, self.mask & 0xffff_0000)],
        })
    }

    /// If all lanes are there and their places are at steps, that of the first of each half, and the step.
    #[inline(always)]
    pub(crate) fn all_at_steps(&self) -> Option<([u32; 2], u32)> {
        match self.places {
            Places::Steps { first, step } if self.mask == !0 => Some((first, step)),
            _ => None,
        }
    }

    /// Each lane's place.
    #[inline(always)]
    pub(crate) fn each(self, planes: &[Plane<u32>]) -> impl Iterator<Item = (u32, u32)> {
        lanes_of(self.mask).map(move |lane| (lane, self.places.of(lane, planes)))
    }
}

impl OfWarp {
    /// The same so much further on, if its places are at steps.
    #[inline(always)]
    pub(crate) fn moved(self, further: u32) -> Self {
        match self.places {
            Places::Steps { first, step } => {
                let first = first.map(|place| place.wrapping_add(further));
                Self { places: Places::Steps { first, step }, ..self }
            }
            Places::Plane(_) => self,
        }
    }

    pub(crate) fn is_at_steps(&self) -> bool {
        matches!(self.places, Places::Steps { .. })
    }
}

impl Places {
    /// That of a lane.
    #[inline(always)]
    fn of(self, lane: u32, planes: &[Plane<u32>]) -> u32 {
        match self {
            Self::Steps { first, step } => {
                let steps = lane % HALF as u32;
                first[lane as usize / HALF].wrapping_add(step.wrapping_mul(steps))
            }
            Self::Plane(plane) => planes[plane].0[lane as usize],
        }
    }

    /// Those of all lanes.
    pub(crate) fn plane(self, planes: &[Plane<u32>]) -> Plane<u32> {
        Plane(std::array::from_fn(|lane| self.of(lane as u32, planes)))
    }
}

/// What the places of an access have in common: bits of some of them and of the steps between, of which the least and the greatest
/// tell how all are aligned and how far they go; and the least and the greatest place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reach {
    pub(crate) some: u64,
    pub(crate) least: u64,
    pub(crate) greatest: u64,
}

impl Reach {
    const NOTHING: Self = Self { some: 0, least: u64::MAX, greatest: 0 };

    /// The same so much further on, unless that goes round.
    #[inline(always)]
    pub(crate) fn moved(&self, further: i64) -> Option<Self> {
        let [least, greatest] = [self.least, self.greatest].map(|place| place.wrapping_add_signed(further));
        let some = self.some | further.unsigned_abs() | greatest;
        (least <= greatest).then_some(Self { some, least, greatest })
    }

    #[inline(always)]
    fn add(&mut self, place: u64) {
        self.some |= place;
        self.least = self.least.min(place);
        self.greatest = self.greatest.max(place);
    }

    /// The words of accesses of so many bytes.
    pub(crate) fn words(&self, bytes: u64) -> Range<usize> {
        match self.least <= self.greatest {
            true => (self.least / GRANULE) as usize..(self.greatest + bytes).div_ceil(GRANULE) as usize,
            false => 0..0,
        }
    }
}

/// Puts the places of the warps of a pack into lists, of addresses that begin somewhere.
pub(crate) struct Placing<'a> {
    pub(crate) addresses: &'a PackAddresses<'a>,
    /// See [`PackAccess::step`](machine::observe::PackAccess::step).
    pub(crate) step: Option<i64>,
    pub(crate) begin: u64,
    pub(crate) masks: &'a [u32],
    pub(crate) warps: &'a mut Vec<OfWarp>,
    pub(crate) planes: &'a mut Vec<Plane<u32>>,
}

impl Placing<'_> {
    #[inline(always)]
    pub(crate) fn place(self) -> Reach {
        on_host(self)
    }
}

impl Work for Placing<'_> {
    type Output = Reach;

    #[inline(always)]
    fn run<S: Simd>(self) -> Reach {
        let Self { addresses, step, begin, masks, warps, planes } = self;
        let mut reach = Reach::NOTHING;
        match *addresses {
            PackAddresses::Uniform(address) => {
                let place = address.wrapping_sub(begin);
                reach.add(place);
                let places = Places::Steps { first: [place as u32; 2], step: 0 };
                warps.extend(masks.iter().map(|&mask| OfWarp { mask, places }));
            }
            PackAddresses::Narrow(of, offset) => {
                for (plane, &mask) in of.iter().zip(masks) {
                    let place = |address: u32| u64::from(address.wrapping_add(offset)).wrapping_sub(begin);
                    let places = match narrow_steps(&plane.0, mask, step) {
                        Some(step) => halves(&plane.0, i64::from(step as i32), mask, &mut reach, place),
                        None => lane_by_lane(&plane.0, mask, &mut reach, planes, place),
                    };
                    warps.push(OfWarp { mask, places });
                }
            }
            PackAddresses::Wide(of, offset) => {
                for (plane, &mask) in of.iter().zip(masks) {
                    let place = |address: u64| address.wrapping_add(offset).wrapping_sub(begin);
                    let places = match wide_steps(&plane.0, mask, step) {
                        Some(step) => halves(&plane.0, step as i64, mask, &mut reach, place),
                        None => lane_by_lane(&plane.0, mask, &mut reach, planes, place),
                    };
                    warps.push(OfWarp { mask, places });
                }
            }
        }
        reach
    }
}

/// Whether lanes of a mask are so far apart that the first and the last one of each half show it.
#[inline(always)]
fn ends_are_apart(mask: u32, are_apart: impl Fn(usize, usize) -> bool) -> bool {
    if mask == !0 {
        return are_apart(0, HALF - 1) & are_apart(HALF, LANES - 1);
    }
    [mask & 0xffff, mask & 0xffff_0000]
        .into_iter()
        .all(|half| half == 0 || are_apart(half.trailing_zeros() as usize, half.ilog2() as usize))
}

/// The step between the lanes of a mask in each half, if there is one. If the program's text tells it, it is enough to look at some.
#[inline(always)]
pub(crate) fn narrow_steps(lanes: &[u32; LANES], mask: u32, told: Option<i64>) -> Option<u32> {
    let told = told.map(|step| step as u32).filter(|&step| {
        ends_are_apart(mask, |from, to| {
            lanes[to].wrapping_sub(lanes[from]) == step.wrapping_mul((to - from) as u32)
        })
    });
    told.or_else(|| found_narrow(lanes))
}

#[inline(always)]
pub(crate) fn wide_steps(lanes: &[u64; LANES], mask: u32, told: Option<i64>) -> Option<u64> {
    let told = told.map(|step| step as u64).filter(|&step| {
        ends_are_apart(mask, |from, to| {
            lanes[to].wrapping_sub(lanes[from]) == step.wrapping_mul((to - from) as u64)
        })
    });
    told.or_else(|| found_wide(lanes))
}

/// The step between all lanes of each half. What is expected of lanes side by side is an array of its own, since that becomes a vector.
#[inline(always)]
fn found_narrow(lanes: &[u32; LANES]) -> Option<u32> {
    let step = lanes[1].wrapping_sub(lanes[0]);
    let mut differs = [0; 8];
    for half in lanes.as_chunks::<HALF>().0 {
        let mut expected: [u32; 8] =
            std::array::from_fn(|at| half[0].wrapping_add(step.wrapping_mul(at as u32)));
        for lanes in half.as_chunks::<8>().0 {
            for at in 0..8 {
                differs[at] |= lanes[at] ^ expected[at];
                expected[at] = expected[at].wrapping_add(step.wrapping_mul(8));
            }
        }
    }
    (differs.iter().fold(0, |all, differs| all | differs) == 0).then_some(step)
}

#[inline(always)]
fn found_wide(lanes: &[u64; LANES]) -> Option<u64> {
    let step = lanes[1].wrapping_sub(lanes[0]);
    let mut differs = [0; 4];
    for half in lanes.as_chunks::<HALF>().0 {
        let mut expected: [u64; 4] =
            std::array::from_fn(|at| half[0].wrapping_add(step.wrapping_mul(at as u64)));
        for lanes in half.as_chunks::<4>().0 {
            for at in 0..4 {
                differs[at] |= lanes[at] ^ expected[at];
                expected[at] = expected[at].wrapping_add(step.wrapping_mul(4));
            }
        }
    }
    (differs.iter().fold(0, |all, differs| all | differs) == 0).then_some(step)
}

/// The places of lanes at steps. Only those of the mask count: if the first and the last one and the step between them are within
/// reach, so are all others.
#[inline(always)]
fn halves<T: Copy>(
    lanes: &[T; LANES],
    step: i64,
    mask: u32,
    reach: &mut Reach,
    place: impl Fn(T) -> u64,
) -> Places {
    let mut begin = [0, HALF].map(|lane| place(lanes[lane]) as u32);
    if mask == !0 {
        [0, HALF - 1, HALF, LANES - 1].into_iter().for_each(|lane| reach.add(place(lanes[lane])));
        reach.some |= step.unsigned_abs();
        return Places::Steps { first: begin, step: step as u32 };
    }
    for (half, begin) in begin.iter_mut().enumerate() {
        let mask = mask >> (HALF * half) & 0xffff;
        if mask != 0 {
            let (first, last) = (mask.trailing_zeros(), mask.ilog2());
            let from = place(lanes[HALF * half + first as usize]);
            reach.add(from);
            reach.add(place(lanes[HALF * half + last as usize]));
            reach.some |= if first == last { 0 } else { step.unsigned_abs() };
            // Of the others it is not known that they are at steps.
            *begin = (from as u32).wrapping_sub((step as u32).wrapping_mul(first));
        }
    }
    Places::Steps { first: begin, step: step as u32 }
}

/// The places of the lanes of a mask, of which that of the first one stands for the others.
#[inline(always)]
fn lane_by_lane<T: Copy>(
    lanes: &[T; LANES],
    mask: u32,
    reach: &mut Reach,
    planes: &mut Vec<Plane<u32>>,
    place: impl Fn(T) -> u64,
) -> Places {
    let mut places = [0; LANES];
    if mask == !0 {
        let mut own = Reach::NOTHING;
        for (to, &lane) in places.iter_mut().zip(lanes) {
            let at = place(lane);
            own.add(at);
            *to = at as u32;
        }
        reach.some |= own.some;
        reach.least = reach.least.min(own.least);
        reach.greatest = reach.greatest.max(own.greatest);
    } else if mask != 0 {
        places = [place(lanes[mask.trailing_zeros() as usize]) as u32; LANES];
        for lane in lanes_of(mask) {
            let at = place(lanes[lane as usize]);
            reach.add(at);
            places[lane as usize] = at as u32;
        }
    }
    planes.push(Plane(places));
    Places::Plane(planes.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: u64 = 0x100_0000;

    /// The places of a warp whose lanes are so far from the begin, given as addresses of either width.
    fn check(places: [i64; LANES], mask: u32) {
        if lanes_of(mask).any(|lane| places[lane as usize] < 0) {
            return;
        }
        let wide = [Plane(places.map(|place| BEGIN.wrapping_add_signed(place - 8)))];
        let narrow = [Plane(wide[0].0.map(|address| address as u32))];
        // A step that the program's text tells is one of the active lanes alone.
        let told = lanes_of(mask).zip(lanes_of(mask & (mask - 1))).next();
        let told =
            told.map(|(lane, next)| (places[next as usize] - places[lane as usize]) / i64::from(next - lane));
        let apart = |(lane, next): (u32, u32)| {
            lane / 16 != next / 16
                || told.is_some_and(|step| {
                    places[next as usize] - places[lane as usize] == step * i64::from(next - lane)
                })
        };
        let told = told.filter(|_| lanes_of(mask).zip(lanes_of(mask & (mask - 1))).all(apart));
        let all = [PackAddresses::Wide(&wide, 8), PackAddresses::Narrow(&narrow, 8)];
        for (addresses, step) in all.into_iter().flat_map(|of| [None, Some(4), told].map(|step| (of, step))) {
            let (mut warps, mut planes) = (Vec::new(), Vec::new());
            let placing = Placing {
                addresses: &addresses,
                step,
                begin: BEGIN,
                masks: &[mask],
                warps: &mut warps,
                planes: &mut planes,
            };
            let reach = placing.place();
            let expected: Vec<_> = lanes_of(mask).map(|lane| (lane, places[lane as usize] as u32)).collect();
            let [of] = warps[..] else { panic!("one warp") };
            assert_eq!(of.each(&planes).collect::<Vec<_>>(), expected);
            let of_lanes = || expected.iter().map(|(_, place)| u64::from(*place));
            assert_eq!(Some(reach.least), of_lanes().min());
            assert_eq!(Some(reach.greatest), of_lanes().max());
            let all = of_lanes().fold(0, |all, place| all | place);
            assert!(reach.some.trailing_zeros() <= all.trailing_zeros() && reach.some.ilog2() >= all.ilog2());
            let plane = of.places.plane(&planes);
            assert!(expected.iter().all(|(lane, place)| plane.0[*lane as usize] == *place));
            if let Some(sides) = of.sides(4) {
                let lane = |side: Side, i: u32| (side.lane + i, side.place + 4 * i);
                let sides = sides.into_iter().flatten();
                let told: Vec<_> =
                    sides.flat_map(|side| (0..side.count as u32).map(move |i| lane(side, i))).collect();
                assert_eq!(told, expected);
            }
            if let Some(alike) = of.alike() {
                let told =
                    alike.into_iter().flat_map(|(place, mask)| lanes_of(mask).map(move |l| (l, place)));
                assert_eq!(told.collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn places_are_those_of_the_addresses() {
        let of = |place: fn(i64) -> i64| std::array::from_fn(|lane| place(lane as i64));
        let shapes: [[i64; LANES]; 8] = [
            of(|_| 64),
            of(|lane| 4 * lane),
            of(|lane| 4 * (lane % 16)),
            of(|lane| 64 * (lane / 16)),
            of(|lane| 4096 - 8 * lane),
            // Lanes that are not in the mask lead out of what is followed.
            of(|lane| 4 * (lane - 8)),
            of(|lane| 4 * (lane * lane % 37)),
            of(|lane| if lane < 30 { 512 * lane } else { 4 }),
        ];
        for shape in shapes {
            for mask in [!0, 0xffff_ff00, 0x0fff_0000, 0x8000_0100, 1 << 31, 0x5555_5500] {
                check(shape, mask);
            }
        }
    }

    #[test]
    fn lanes_side_by_side_are_one_side() {
        let of = |mask, step| OfWarp { mask, places: Places::Steps { first: [0, 64], step } };
        assert!(of(!0, 4).sides(4).is_some_and(|sides| sides.iter().flatten().count() == 2));
        assert!(of(0xff00, 4).sides(4).is_some_and(|sides| sides.iter().flatten().count() == 1));
        assert!(of(0xff0f, 4).sides(4).is_none() && of(!0, 8).sides(4).is_none());
        assert_eq!(of(0xf000_000f, 0).alike(), Some([(0, 0xf), (64, 0xf000_0000)]));
    }
}
