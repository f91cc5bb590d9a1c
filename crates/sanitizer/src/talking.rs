//! A part of a launch whose CTAs talk: where what they do leads in the [shadow that all parts share](crate::shards).
//!
//! What is not global memory a part knows alone, as its CTAs do. Lanes of an instruction whose words are in several shards are told of shard
//! by shard. A strong operation holds all of them until it has been executed; whoever takes several does so in one order.

use crate::detector::Detector;
use crate::looks::Looks;
use crate::runs::each_lane;
use crate::shards::{Shard, Shards, inside, shard_of, words_of};
use crate::site::{Action, Site};
use crate::state::Swap;
use machine::fault::Access;
use machine::lanes::{EMPTY, Mask, Plane};
use machine::memory::SpaceKind;
use machine::observe::{Happening, Issue, Lanes, PackAccess, PackAddresses};
use rustc_hash::FxHashMap;

/// Where lanes of a pack access memory.
struct Places {
    planes: Vec<Plane<u64>>,
    /// Of all lanes alike.
    uniform: Option<u64>,
    /// Shards, by bit, and whether some lanes access something else.
    shards: u64,
    elsewhere: bool,
}

impl Places {
    fn find(&mut self, access: &PackAccess<'_>, masks: &[u32]) {
        (self.shards, self.elsewhere, self.uniform) = (0, false, None);
        let mut add = |at: u64| match shard_of(at) {
            Some(shard) => self.shards |= 1 << shard,
            None => self.elsewhere = true,
        };
        if let PackAddresses::Uniform(address) = access.addresses {
            self.uniform = Some(inside(address));
            return add(inside(address));
        }
        self.planes.resize(masks.len(), Plane([0; 32]));
        for ((warp, &mask), plane) in masks.iter().enumerate().zip(&mut self.planes) {
            if mask != 0 {
                plane.0 = access.addresses.lanes(warp).map(inside);
                each_lane(&plane.0, mask).for_each(|(_, at)| add(at));
            }
        }
    }

    /// Those of the lanes that are in a shard, or in none.
    fn masks_in(&self, shard: Option<usize>, masks: &[u32]) -> Mask {
        let mut inside = EMPTY;
        for ((inside, &mask), warp) in inside.iter_mut().zip(masks).zip(0..) {
            *inside = match self.uniform {
                Some(_) => mask,
                None => {
                    let here = each_lane(&self.planes[warp].0, mask).filter(|(_, at)| shard_of(*at) == shard);
                    here.fold(0, |all, (lane, _)| all | lane)
                }
            };
        }
        inside
    }

    /// The words of a shard that lanes access.
    fn words_in(&self, shard: usize, masks: &[u32], bytes: u32) -> u16 {
        if let Some(address) = self.uniform {
            return words_of(address, bytes);
        }
        let lanes = masks.iter().zip(&self.planes).flat_map(|(&mask, plane)| each_lane(&plane.0, mask));
        let here = lanes.filter(|(_, at)| shard_of(*at) == Some(shard));
        here.fold(0, |all, (_, at)| all | words_of(at, bytes))
    }

    fn addresses(&self) -> PackAddresses<'_> {
        self.uniform.map_or(PackAddresses::Wide(&self.planes, 0), PackAddresses::Uniform)
    }
}

/// See the module.
pub(crate) struct Talk {
    places: Places,
    looks: Option<Looks>,
    /// How much was told besides looks, of CTAs by their numbers.
    others: FxHashMap<[u32; 3], u64>,
    /// Shards of the strong operation that is under way, and that at whose memory a look does.
    held: Vec<(usize, Box<Shard>)>,
    looking: Option<usize>,
}

impl Talk {
    pub(crate) fn new(looks: Option<Looks>) -> Self {
        let places = Places { planes: Vec::new(), uniform: None, shards: 0, elsewhere: false };
        Self { places, looks, others: FxHashMap::default(), held: Vec::new(), looking: None }
    }

    /// The warps of a pack execute an instruction.
    pub(crate) fn issue(&mut self, detector: &mut Detector, shards: &Shards, issue: &Issue<'_>) {
        let of_global =
            |access: &PackAccess<'_>| matches!(access.space, SpaceKind::Global | SpaceKind::Generic);
        let Some(access) = issue.access.filter(of_global) else { return self.tell(detector, issue) };
        let Self { places, looks, others, held, looking } = self;
        places.find(&access, issue.masks);
        if places.shards == 0 {
            return self.tell(detector, issue);
        }
        match looks.as_ref().and_then(|looks| Some((looks, looks.look(issue)?))) {
            Some((looks, look)) => {
                let shard = places.shards.trailing_zeros() as usize;
                let told = *others.entry(issue.block).or_insert(1);
                let repeats = |version| looks.repeats(look, version + told);
                if shards.look(shard, words_of(inside(look.address()), access.bytes), repeats) {
                    *looking = Some(shard);
                    return;
                }
            }
            None => *others.entry(issue.block).or_insert(1) += 1,
        }
        let _together = shards.panic_together();
        let site = *detector.site_of(0, issue);
        let changes = access.access != Access::Load;
        let take = |number| {
            let changed = if changes { places.words_in(number, issue.masks, access.bytes) } else { 0 };
            shards.take(number, changed)
        };
        if is_held(&site) {
            held.extend(each_of(places.shards).map(|number| (number, take(number))));
        }
        // That is decided when it is executed.
        let whole = site.action == Action::CompareAndSwap;
        let told = |detector: &mut Detector, masks: &[u32]| {
            let access = PackAccess { addresses: places.addresses(), step: None, ..access };
            detector.issue_alone(0, &Issue { masks, access: Some(access), ..*issue });
        };
        if whole {
            return told(detector, issue.masks);
        }
        if places.elsewhere {
            told(detector, &places.masks_in(None, issue.masks)[..issue.masks.len()]);
        }
        let alone = !places.elsewhere && places.shards.is_power_of_two();
        for (at, number) in each_of(places.shards).enumerate() {
            let some = if alone { EMPTY } else { places.masks_in(Some(number), issue.masks) };
            let masks = if alone { issue.masks } else { &some[..issue.masks.len()] };
            match held.get_mut(at) {
                Some((_, shard)) => shard.lend(detector, |detector| told(detector, masks)),
                None => {
                    let mut shard = take(number);
                    shard.lend(detector, |detector| told(detector, masks));
                    shards.give_back(number, shard);
                }
            }
        }
    }

    /// The same of one that is no business of others.
    fn tell(&mut self, detector: &mut Detector, issue: &Issue<'_>) {
        self.happens_to(issue.block);
        detector.issue_alone(0, issue);
    }

    /// A compare-and-swap has been decided.
    pub(crate) fn swapped(&mut self, detector: &mut Detector, shards: &Shards, lanes: &Lanes) {
        let _together = shards.panic_together();
        let who = detector.who(0, lanes.block, lanes.warp, lanes.place);
        let Some(swap) = detector.warp_beside(who).swap.take() else { return };
        let mut left = swap.mask;
        while left != 0 {
            let lanes_left = || swap.lanes().filter(|(lane, _)| left >> lane & 1 != 0);
            let Some(shard) = lanes_left().map(|(_, at)| shard_of(at)).next() else { break };
            let here = lanes_left().filter(|(_, at)| shard_of(*at) == shard);
            let mask = here.fold(0, |all, (lane, _)| all | 1 << lane);
            left &= !mask;
            detector.warp_beside(who).swap = Some(Swap { mask, ..swap.clone() });
            match self.held.iter_mut().find(|(number, _)| Some(*number) == shard) {
                Some((_, shard)) => shard.lend(detector, |detector| detector.swapped(0, lanes)),
                None => detector.swapped(0, lanes),
            }
        }
    }

    /// Something happens to threads of a CTA, or to whom is not told.
    pub(crate) fn happens(&mut self, happening: &Happening<'_>) {
        match happening {
            Happening::WarpBarrier(Lanes { block, .. })
            | Happening::BarrierArrived { lanes: Lanes { block, .. }, .. }
            | Happening::BarrierCompleted { block, .. }
            | Happening::BarrierPassed { block, .. }
            | Happening::Exited(Lanes { block, .. })
            | Happening::BlockDone { block } => self.happens_to(*block),
            _ => self.others.values_mut().for_each(|others| *others += 1),
        }
    }

    fn happens_to(&mut self, block: [u32; 3]) {
        *self.others.entry(block).or_insert(1) += 1;
    }

    /// An instruction that this part was told of has been executed.
    pub(crate) fn executed(&mut self, shards: &Shards) {
        self.held.drain(..).for_each(|(number, shard)| shards.give_back(number, shard));
        if let Some(number) = self.looking.take() {
            shards.end_look(number);
        }
    }
}

/// Whether what an instruction does is to be judged and done at one time.
pub(crate) fn is_held(site: &Site) -> bool {
    let accesses = matches!(site.action, Action::Access(_) | Action::CompareAndSwap);
    site.is_strong() && accesses && !site.own
}

/// The numbers of a set of shards, the lowest first.
fn each_of(shards: u64) -> impl Iterator<Item = usize> {
    crate::global::bits(shards)
}
