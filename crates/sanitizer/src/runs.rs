//! The lanes of a warp's access, put together into runs.

use crate::places::{HALF, narrow_steps, wide_steps};
use crate::row::{Pattern, ROW, is_aligned};
use machine::lanes::Plane;
use machine::memory::{LOCAL_WINDOW, SpaceKind};
use machine::observe::{PackAccess, PackAddresses};

/// Elements that lanes access one after the other: the first one by `lanes`, the next one by the lanes after those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) address: u64,
    pub(crate) lanes: u32,
    pub(crate) count: u64,
    /// Bytes of an element.
    pub(crate) bytes: u64,
}

impl Run {
    /// One range that lanes access together.
    pub(crate) fn of_range(address: u64, bytes: u64, lanes: u32) -> Self {
        Self { address, lanes, count: 1, bytes }
    }

    pub(crate) fn end(&self) -> u64 {
        self.address + self.count * self.bytes
    }

    /// What of it is before a multiple of a power of two that is no smaller than an element, and the rest.
    pub(crate) fn cut(self, at: u64) -> (Self, Option<Self>) {
        if self.end() <= at {
            return (self, None);
        }
        if self.count == 1 {
            let first = Self { bytes: at - self.address, ..self };
            return (first, Some(Self { address: at, bytes: self.bytes - first.bytes, ..self }));
        }
        // An element that lies across is misaligned: the access will fault.
        let count = ((at - self.address) / self.bytes).max(1);
        let address = self.address + count * self.bytes;
        let rest =
            Self { address, lanes: self.lanes_of(count), count: self.count - count, bytes: self.bytes };
        (Self { count, ..self }, Some(rest).filter(|rest| rest.count > 0))
    }

    /// The elements: who accesses them, and where.
    pub(crate) fn elements(self) -> impl Iterator<Item = (u32, u64)> {
        (0..self.count).map(move |element| (self.lanes_of(element), self.address + element * self.bytes))
    }

    /// Who accesses an element.
    pub(crate) fn lanes_of(&self, element: u64) -> u32 {
        self.lanes.unbounded_shl(element as u32)
    }

    /// Who accesses a whole row that begins at an address, if it consists of whole elements.
    #[inline(always)]
    pub(crate) fn pattern_at(&self, address: u64) -> Option<(u32, u8)> {
        if self.count == 1 {
            return Some((self.lanes, Pattern::ALIKE));
        }
        let shift = self.bytes.trailing_zeros();
        let whole = self.bytes.is_power_of_two() && self.bytes <= ROW && is_aligned(self.address, self.bytes);
        whole.then(|| (self.lanes_of((address - self.address) >> shift), shift as u8))
    }
}

/// Runs of whole halves of a warp: none, one or two of so many elements each.
#[derive(Clone, Copy, Default)]
pub(crate) struct HalfWarps {
    pub(crate) runs: usize,
    pub(crate) count: u64,
    addresses: [u64; 2],
    lanes: [u32; 2],
}

impl HalfWarps {
    /// The lanes and the address of a run.
    #[inline(always)]
    pub(crate) fn element(&self, at: usize) -> (u32, u64) {
        (self.lanes[at], self.addresses[at])
    }

    /// Where all lanes begin, if each accesses what is behind the element of the one before it.
    #[inline(always)]
    pub(crate) fn whole(&self) -> Option<u64> {
        (self.runs == 1 && self.count == 32).then_some(self.addresses[0])
    }

    #[inline(always)]
    pub(crate) fn run(&self, at: usize, bytes: u64) -> Run {
        let (lanes, address) = self.element(at);
        Run { address, lanes, count: self.count, bytes }
    }
}

/// Runs of lanes that have no simple pattern. Those that access one element after the other are a run; where lanes may
/// be taken together (reads), so are those that access the same one, and the halves of a warp if they access the same.
pub(crate) struct Scattered {
    addresses: [u64; 32],
    bytes: u64,
    rest: u32,
    together: bool,
    /// Whether the upper half of the warp accesses what the lower one does.
    low_as_high: bool,
}

/// The runs of a whole warp of a pack, if it has a simple pattern.
#[inline(always)]
pub(crate) fn half_warps_of(
    PackAccess { addresses, step: told, .. }: &PackAccess<'_>,
    warp: usize,
    bytes: u64,
    together: bool,
) -> HalfWarps {
    let simple = |step: u64| step == bytes || step == 0 && together;
    let (ends, step) = match *addresses {
        PackAddresses::Uniform(address) => ([address; 2], Some(0)),
        PackAddresses::Narrow(planes, offset) => {
            let lanes = &planes[warp].0;
            let ends = [lanes[0], lanes[HALF]].map(|address| address.wrapping_add(offset));
            let (reach, step) = (HALF as u32 * bytes as u32, lanes[1].wrapping_sub(lanes[0]));
            let goes_round = ends[0].checked_add(reach).is_none() || ends[1].checked_add(reach).is_none();
            let step = if simple(step.into()) && !goes_round { narrow_steps(lanes, !0, *told) } else { None };
            (ends.map(u64::from), step.map(u64::from))
        }
        PackAddresses::Wide(planes, offset) => {
            let lanes = &planes[warp].0;
            let step = lanes[1].wrapping_sub(lanes[0]);
            let ends = [lanes[0], lanes[HALF]].map(|address| address.wrapping_add(offset));
            (ends, if simple(step) { wide_steps(lanes, !0, *told) } else { None })
        }
    };
    match step {
        Some(step) if simple(step) => of_halves(ends, step != 0, bytes, together),
        _ => HalfWarps::default(),
    }
}

/// Runs of a whole warp, from where each half begins and whether lanes access one element after the other, or the same.
#[inline(always)]
fn of_halves(addresses @ [low, high]: [u64; 2], rise: bool, bytes: u64, together: bool) -> HalfWarps {
    let equal = together && low == high;
    let (runs, count, lanes) = if !rise {
        if equal { (1, 1, [!0; 2]) } else { (2, 1, [0xffff, 0xffff_0000]) }
    } else {
        match low.wrapping_add(16 * bytes) == high {
            true => (1, 32, [1, 0]),
            false if equal => (1, 16, [0x0001_0001, 0]),
            false => (2, 16, [1, 0x0001_0000]),
        }
    };
    HalfWarps { runs, count, addresses, lanes }
}

/// The address of a lane of a warp.
#[inline(always)]
pub(crate) fn address_of(addresses: &PackAddresses<'_>, warp: usize, lane: usize) -> u64 {
    match *addresses {
        PackAddresses::Uniform(address) => address,
        PackAddresses::Narrow(planes, offset) => planes[warp].0[lane].wrapping_add(offset).into(),
        PackAddresses::Wide(planes, offset) => planes[warp].0[lane].wrapping_add(offset),
    }
}

/// Whether lanes access memory of their own alone, by addresses that might have led elsewhere.
#[inline(always)]
pub(crate) fn are_private(access: &PackAccess<'_>, masks: &[u32]) -> bool {
    if access.space != SpaceKind::Generic {
        return false;
    }
    match access.addresses {
        PackAddresses::Uniform(address) => address >= LOCAL_WINDOW,
        PackAddresses::Narrow(..) => false,
        PackAddresses::Wide(planes, offset) => {
            let private = |address: u64| address.wrapping_add(offset) >= LOCAL_WINDOW;
            planes.iter().zip(masks).all(|(Plane(lanes), &mask)| match mask {
                // All of them at once, unless one tells it.
                u32::MAX => private(lanes[0]) && lanes.iter().fold(true, |all, &lane| all & private(lane)),
                _ => each_lane(lanes, mask).all(|(_, address)| private(address)),
            })
        }
    }
}

/// The warp and the lane, if there is one alone.
pub(crate) fn lane_alone(masks: &[u32]) -> Option<(usize, usize)> {
    let mut active = masks.iter().enumerate().filter(|(_, mask)| **mask != 0);
    let (Some((warp, mask)), None) = (active.next(), active.next()) else { return None };
    mask.is_power_of_two().then(|| (warp, mask.trailing_zeros() as usize))
}

/// Whether the accesses of two warps are the same.
#[inline(always)]
pub(crate) fn are_alike(addresses: &PackAddresses<'_>, a: usize, b: usize) -> bool {
    let ends = match addresses {
        PackAddresses::Uniform(_) => true,
        PackAddresses::Narrow(planes, _) => planes[a].0[0] == planes[b].0[0],
        PackAddresses::Wide(planes, _) => planes[a].0[0] == planes[b].0[0],
    };
    ends && addresses.alike(a, b)
}

/// The lanes of a mask one by one, and their addresses.
#[inline(always)]
pub(crate) fn each_lane(addresses: &[u64; 32], mask: u32) -> impl Iterator<Item = (u32, u64)> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest & rest.wrapping_neg();
        let address = addresses[rest.trailing_zeros() as usize % 32];
        rest &= !lane;
        (lane != 0).then_some((lane, address))
    })
}

/// Whether lanes side by side seem to access one element after the other.
#[inline(always)]
pub(crate) fn is_dense(addresses: &[u64; 32], bytes: u64, mask: u32) -> bool {
    let (first, last) = (mask.trailing_zeros(), mask.ilog2());
    let (reach, lanes) = (u64::from(last - first), mask >> first);
    let end = addresses[first as usize].wrapping_add(reach * bytes);
    reach > 0 && lanes & lanes.wrapping_add(1) == 0 && addresses[last as usize] == end
}

impl Scattered {
    pub(crate) fn new(addresses: [u64; 32], bytes: u64, mask: u32, together: bool) -> Self {
        let (low, high) = addresses.split_at(16);
        let low_as_high = together && mask == !0 && low == high;
        let rest = if low_as_high { 0xffff } else { mask };
        Self { addresses, bytes, rest, together, low_as_high }
    }
}

impl Iterator for Scattered {
    type Item = Run;

    #[inline(always)]
    fn next(&mut self) -> Option<Run> {
        if self.rest == 0 {
            return None;
        }
        let first = self.rest.trailing_zeros() as usize;
        let address = self.addresses[first];
        // Lanes of the mask from the first one on.
        let reach = first + (self.rest >> first).trailing_ones() as usize;
        let others = &self.addresses[first + 1..reach];
        let (mut count, mut lanes) = (1, 1 << first);
        let mut taken = lanes;
        match others.first() {
            Some(&next) if next == address && self.together => {
                for (lane, &other) in (first + 1..).zip(others) {
                    if other != address {
                        break;
                    }
                    lanes |= 1 << lane;
                }
                taken = lanes;
            }
            Some(&next) if next == address.wrapping_add(self.bytes) => {
                let mut expected = next;
                for &other in others {
                    if other != expected {
                        break;
                    }
                    expected = expected.wrapping_add(self.bytes);
                    count += 1;
                }
                taken = (((1_u64 << count) - 1) << first) as u32;
            }
            _ => {}
        }
        self.rest &= !taken;
        if self.low_as_high {
            lanes |= lanes << 16;
        }
        Some(Run { address, lanes, count, bytes: self.bytes })
    }
}

/// The lanes of a warp by address, in the order of the first lane at each.
pub(crate) struct Gathered {
    all: [(u32, u64); 32],
    count: usize,
}

impl Gathered {
    #[inline(always)]
    pub(crate) fn new(addresses: &[u64; 32], mask: u32) -> Self {
        let mut gathered = Self { all: [(0, 0); 32], count: 0 };
        // Where lanes of some address were put last. Others in its place only make more parts of the lanes of one.
        let mut latest = [u8::MAX; 64];
        for (lane, address) in each_lane(addresses, mask) {
            let place = &mut latest[(address / 4 % 64) as usize];
            match gathered.all.get_mut(usize::from(*place)) {
                Some((lanes, known)) if *known == address => *lanes |= lane,
                _ => {
                    *place = gathered.count as u8;
                    gathered.all[gathered.count] = (lane, address);
                    gathered.count += 1;
                }
            }
        }
        gathered
    }

    /// Lanes and their address.
    pub(crate) fn all(&self) -> &[(u32, u64)] {
        &self.all[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::fault::Access;

    /// The runs, which are the same whether halves are looked at first or not.
    fn runs(places: [u64; 32], mask: u32, together: bool) -> Vec<(u64, u32, u64)> {
        let of = |run: Run| (run.address, run.lanes, run.count);
        let lanes: Vec<_> = Scattered::new(places, 4, mask, together).map(of).collect();
        let wide = [Plane(places)];
        let narrow = [Plane(places.map(|address| address as u32 - 8))];
        for addresses in [PackAddresses::Wide(&wide, 0), PackAddresses::Narrow(&narrow, 8)] {
            let (space, access) = (SpaceKind::Global, Access::Load);
            let told = PackAccess { space, access, bytes: 4, addresses, step: None };
            let halves = half_warps_of(&told, 0, 4, together);
            if mask == !0 && halves.runs > 0 {
                let halves: Vec<_> = (0..halves.runs).map(|at| of(halves.run(at, 4))).collect();
                assert_eq!(halves, lanes);
            }
        }
        lanes
    }

    #[test]
    fn lanes_are_put_together() {
        let rows: [u64; 32] = std::array::from_fn(|lane| 0x100 + 4 * lane as u64);
        assert_eq!(runs(rows, !0, false), [(0x100, 1, 32)]);
        assert_eq!(runs(rows, 0xf0f, true), [(0x100, 1, 4), (0x120, 0x100, 4)]);
        let halves: [u64; 32] = std::array::from_fn(|lane| 0x100 + 4 * (lane as u64 % 16));
        assert_eq!(runs(halves, !0, true), [(0x100, 0x0001_0001, 16)]);
        assert_eq!(runs(halves, !0, false), [(0x100, 1, 16), (0x100, 0x10000, 16)]);
        let pairs: [u64; 32] = std::array::from_fn(|lane| 0x100 + 4 * (lane as u64 / 16));
        assert_eq!(runs(pairs, !0, true), [(0x100, 0xffff, 1), (0x104, 0xffff_0000, 1)]);
        assert_eq!(runs([0x80; 32], 0b1011, true), [(0x80, 0b11, 1), (0x80, 0b1000, 1)]);
        assert_eq!(runs([0x80; 32], 0b1011, false).len(), 3);
        assert_eq!(runs([0x80; 32], !0, true), [(0x80, !0, 1)]);
    }

    #[test]
    fn lanes_are_gathered_by_address() {
        let mut addresses = [0x100; 32];
        (addresses[1], addresses[3], addresses[5], addresses[6]) = (0x104, 0x104, 0x200, 0x200);
        // The first and the last address share a place: their lanes keep their order.
        let gathered = Gathered::new(&addresses, 0xff);
        assert_eq!(gathered.all(), [(0b1_0101, 0x100), (0b1010, 0x104), (0b110_0000, 0x200), (0x80, 0x100)]);
    }
}
