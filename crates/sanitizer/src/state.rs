//! Threads as the detector sees them: what lanes know, what they have fenced, read and copied; CTAs and launches.

use crate::begun::Begun;
use crate::clock::{AGENTS, Clock, Time};
use crate::detector::lanes_of;
use crate::interval::{Interval, Intervals};
use crate::knowledge::Knowledge;
use crate::observed::Thread;
use crate::products::Products;
use crate::release::{Home, Released};
use crate::report::Host;
use crate::row::{ROW, Row};
use crate::site::{Queue, SiteId};
use machine::observe::{Lanes, Placed};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Lanes of a warp that know the same.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) mask: u32,
    pub(crate) knowledge: Knowledge,
}

/// Why a read of a flag did not synchronise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// What was read carried no release.
    NoRelease,
    /// The scopes do not contain one another's threads.
    Scope,
}

/// A read of a flag that did not synchronise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) why: Reason,
    /// Whether who wrote the flag is of the reader's own CTA, which says nothing of what other CTAs have done.
    pub(crate) inside: bool,
}

/// A compare-and-swap of lanes.
#[derive(Clone, Debug)]
pub(crate) struct Swap {
    pub(crate) site: SiteId,
    pub(crate) places: Places,
    pub(crate) mask: u32,
    pub(crate) bytes: u32,
}

/// Generic addresses: of the only lane, or of each.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    Alone(u64),
    Each(Box<[u64; 32]>),
}

impl Swap {
    /// Its lanes, and their addresses.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (u32, u64)> {
        lanes_of(self.mask).map(|lane| match &self.places {
            Places::Alone(address) => (lane, *address),
            Places::Each(addresses) => (lane, addresses[lane as usize]),
        })
    }
}

/// A warp.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub(crate) groups: Vec<Group>,
    /// Of lanes that have begun a pattern; each is in one at most.
    pub(crate) begun: Vec<Begun>,
    /// Ends of groups, by what they are of.
    pub(crate) commits: [Commits; 3],
    /// The CTA barrier that it waited at last, and when.
    pub(crate) barrier: Option<(usize, Time)>,
    /// The last reads of flags that did not synchronise: of what other CTAs have written, and of what this one has.
    failures: [Option<(SiteId, Failure)>; 2],
    /// The compare-and-swap that has been announced and not yet decided.
    pub(crate) swap: Option<Swap>,
    /// Where the last `cp.async` reads from.
    pub(crate) source: Vec<u64>,
    /// Its products of matrices.
    pub(crate) products: Products,
}

/// Ends of groups of copies: when, and of which lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commits {
    last: VecDeque<(Time, u32)>,
    /// The latest of the forgotten ones, and the lanes of all of them.
    forgotten: (Time, u32),
}

/// Commits that are remembered. An earlier group counts as done whenever the latest of the forgotten ones is.
const COMMITS: usize = 64;

impl Warp {
    fn new(knowledge: &Knowledge) -> Self {
        let group = Group { mask: !0, knowledge: knowledge.clone() };
        Self {
            groups: vec![group],
            begun: Vec::new(),
            commits: Default::default(),
            barrier: None,
            failures: [None; 2],
            swap: None,
            source: Vec::new(),
            products: Products::default(),
        }
    }

    /// Threads begin that know the same as those of the first warp of their CTA, or so much.
    fn begin(&mut self, knowledge: Option<&Knowledge>) {
        self.groups.truncate(1);
        self.begun.clear();
        let Group { mask, knowledge: known } = &mut self.groups[0];
        if let Some(knowledge) = knowledge {
            *known = knowledge.clone();
        }
        *mask = !0;
        for commits in &mut self.commits {
            commits.last.clear();
            commits.forgotten = (0, 0);
        }
        (self.barrier, self.failures, self.swap) = (None, [None; 2], None);
        self.source.clear();
        self.products = Products::default();
    }

    /// A read of a flag does not synchronise.
    pub(crate) fn fails(&mut self, read: SiteId, failure: Failure) {
        self.failures[usize::from(failure.inside)] = Some((read, failure));
    }

    /// The last read of a flag that did not synchronise, by whether its own CTA had written that.
    pub(crate) fn failure(&self, inside: bool) -> Option<(SiteId, Failure)> {
        self.failures[usize::from(inside)]
    }

    /// A read of a flag of another CTA synchronises.
    pub(crate) fn succeeds(&mut self) {
        self.failures = [None; 2];
    }

    /// The group of a lane.
    pub(crate) fn group(&self, lane: u32) -> &Group {
        let has = |group: &&Group| group.mask >> lane & 1 != 0;
        self.groups.iter().find(has).expect("every lane is in a group")
    }

    /// What lanes know, by group.
    pub(crate) fn known(&self, mask: u32) -> impl Iterator<Item = &Knowledge> {
        self.groups.iter().filter(move |group| group.mask & mask != 0).map(|group| &group.knowledge)
    }

    /// What lanes know together.
    pub(crate) fn knowledge(&self, mask: u32) -> Knowledge {
        let mut known = self.known(mask);
        let mut all = known.next().cloned().unwrap_or_default();
        known.for_each(|known| all.join(known));
        all
    }

    /// Changes what lanes know; groups that they are only a part of are divided.
    pub(crate) fn update(&mut self, mask: u32, mut change: impl FnMut(&mut Group)) {
        for at in 0..self.groups.len() {
            let group = &mut self.groups[at];
            let inside = group.mask & mask;
            if inside == group.mask {
                change(group);
            } else if inside != 0 {
                let mut part = Group { mask: inside, ..group.clone() };
                group.mask &= !inside;
                change(&mut part);
                self.groups.push(part);
            }
        }
    }

    /// Makes groups that know the same one.
    pub(crate) fn merge(&mut self) {
        if self.groups.len() == 1 {
            return;
        }
        let mut kept = 0;
        for at in 0..self.groups.len() {
            let (merged, [group, ..]) = self.groups.split_at_mut(at) else { break };
            let same = |other: &&mut Group| other.knowledge.same(&group.knowledge);
            match merged[..kept].iter_mut().find(same) {
                Some(other) => other.mask |= group.mask,
                None => {
                    self.groups.swap(kept, at);
                    kept += 1;
                }
            }
        }
        self.groups.truncate(kept);
    }

    /// A group of copies ends.
    pub(crate) fn commit(&mut self, of: Queue, time: Time, mask: u32) {
        let commits = &mut self.commits[of as usize];
        commits.last.push_back((time, mask));
        if commits.last.len() > COMMITS
            && let Some((time, mask)) = commits.last.pop_front()
        {
            commits.forgotten = (time, commits.forgotten.1 | mask);
        }
    }

    /// When the last group of a lane ended that is done if all but `but` are; 0 if there is none.
    pub(crate) fn done(&self, of: Queue, lane: u32, but: u32) -> Time {
        let of_lane = |&&(_, mask): &&(Time, u32)| mask >> lane & 1 != 0;
        let commits = &self.commits[of as usize];
        let forgotten = || Some(&commits.forgotten).filter(of_lane);
        let mut all = commits.last.iter().rev().filter(of_lane);
        all.nth(but as usize).or_else(forgotten).map_or(0, |&(time, _)| time)
    }
}

/// Lanes that have arrived at a CTA barrier.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) warp: u16,
    pub(crate) mask: u32,
    pub(crate) waits: bool,
    pub(crate) site: SiteId,
    pub(crate) threads: Option<u32>,
    /// What they know, unless they wait, and when they came: that, and their own accesses until then, is what they release.
    pub(crate) known: Option<Knowledge>,
    pub(crate) time: Time,
    pub(crate) lanes: machine::observe::Lanes,
}

/// An mbarrier object.
#[derive(Debug, Default)]
pub(crate) struct Mbarrier {
    /// Who has initialised it, and when.
    pub(crate) initialised: Option<(Lanes, Thread, Time)>,
    /// What was released in the current phase.
    pub(crate) current: Released,
    /// What was released in the last phase of each parity.
    pub(crate) over: [Released; 2],
}

/// A CTA that has not exited.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) home: Home,
    pub(crate) warps: Vec<Warp>,
    /// Whether all threads know the same, which then is what the first warp knows: from a barrier of all of them until one of the
    /// warps is changed.
    pub(crate) alike: bool,
    /// What all knew when that ended: each of them knows that, or more.
    common: Knowledge,
    pub(crate) shared: Vec<Row>,
    pub(crate) interval: Interval,
    pub(crate) barriers: FxHashMap<usize, Vec<Arrival>>,
    pub(crate) mbarriers: FxHashMap<u64, Mbarrier>,
    /// Bytes that mbarrier objects have still to be told of, and who has changed that last.
    pub(crate) bytes: FxHashMap<u64, (i64, Lanes)>,
    /// The agents of bulk copies, by the address of the mbarrier that they tell; 0 for bulk groups.
    agents: Vec<u64>,
}

/// Warps of a CTA, at most.
pub(crate) const WARPS: usize = AGENTS as usize;

/// The agents of `cp.async` have numbers from [`AGENTS`] on, one a warp. Those of bulk copies follow.
const BULK_AGENTS: u16 = AGENTS + 32;

/// The CTAs that have not exited. Those that have keep their memory for the next ones.
#[derive(Default)]
pub(crate) struct Blocks {
    all: Vec<Block>,
    /// By number.
    places: FxHashMap<u32, usize>,
    /// The number and the place of that which was asked for last.
    latest: Option<(u32, usize)>,
    spare: Vec<usize>,
}

/// CTAs whose memory is kept, at most.
const SPARE: usize = 8;

impl Blocks {
    #[inline(always)]
    fn place(&self, cta: u32) -> Option<usize> {
        match self.latest {
            Some((latest, place)) if latest == cta => Some(place),
            _ => self.places.get(&cta).copied(),
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, cta: u32) -> Option<&Block> {
        self.place(cta).map(|place| &self.all[place])
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, cta: u32) -> Option<&mut Block> {
        let place = self.place(cta)?;
        self.latest = Some((cta, place));
        Some(&mut self.all[place])
    }

    /// One of a launch.
    #[inline(always)]
    pub(crate) fn of(&mut self, home: Home, launch: &Launch) -> &mut Block {
        let place = self.place(home.cta).unwrap_or_else(|| self.begin(home, launch));
        self.latest = Some((home.cta, place));
        &mut self.all[place]
    }

    /// One of which only the number is known; its launch must be under way.
    #[inline(always)]
    pub(crate) fn of_number(&mut self, cta: u32, launches: &[Launch]) -> &mut Block {
        let place = self.place(cta).unwrap_or_else(|| {
            let at = launches.partition_point(|launch| launch.first <= cta).saturating_sub(1);
            let launch = &launches[at];
            self.begin(launch.home(launch.block_of(cta)), launch)
        });
        self.latest = Some((cta, place));
        &mut self.all[place]
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, home: Home, launch: &Launch) -> usize {
        let place = self.spare.pop().unwrap_or_else(|| {
            self.all.push(Block::new(home));
            self.all.len() - 1
        });
        self.all[place].begin(home, launch);
        self.places.insert(home.cta, place);
        place
    }

    /// The numbers of some.
    pub(crate) fn among(&self, first: u32, count: u32) -> Vec<u32> {
        self.places.keys().copied().filter(|&cta| cta >= first && cta - first < count).collect()
    }

    /// All of them.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = &Block> {
        self.places.values().map(|&place| &self.all[place])
    }

    /// One is over, and takes what its rows have out of use.
    pub(crate) fn end(&mut self, cta: u32, release: impl FnMut(&mut Row)) {
        self.latest = None;
        let Some(place) = self.places.remove(&cta) else { return };
        let block = &mut self.all[place];
        block.shared.iter_mut().for_each(release);
        if self.spare.len() >= SPARE {
            *block = Block::new(block.home);
        }
        self.spare.push(place);
    }
}

impl Block {
    fn new(home: Home) -> Self {
        Self {
            home,
            warps: Vec::new(),
            alike: true,
            common: Knowledge::default(),
            shared: Vec::new(),
            interval: Interval::default(),
            barriers: FxHashMap::default(),
            mbarriers: FxHashMap::default(),
            bytes: FxHashMap::default(),
            agents: Vec::new(),
        }
    }

    /// The threads of a launch begin. Nothing is left of those that were here before.
    fn begin(&mut self, home: Home, launch: &Launch) {
        let Self { warps, shared, interval, barriers, mbarriers, bytes, agents, .. } = self;
        let Launch { threads, ref knowledge, .. } = *launch;
        warps.truncate(threads.div_ceil(32) as usize);
        for (number, warp) in (0..).zip(&mut *warps) {
            // What all know the first one knows for the others.
            warp.begin(if number == 0 { Some(knowledge) } else { None });
        }
        warps.resize_with(threads.div_ceil(32) as usize, || Warp::new(knowledge));
        if let (Some(last), part @ 1..) = (warps.last_mut(), threads % 32) {
            last.groups[0].mask = (1 << part) - 1;
        }
        shared.clear();
        interval.clear();
        if launch.has_intervals() {
            interval.begin();
        }
        barriers.values_mut().for_each(Vec::clear);
        mbarriers.clear();
        bytes.clear();
        agents.clear();
        (self.home, self.alike) = (home, true);
    }

    /// Tells each warp what it knows, if one has known it for all.
    pub(crate) fn tell_apart(&mut self) {
        if std::mem::take(&mut self.alike)
            && let [first, others @ ..] = &mut self.warps[..]
        {
            let common = &first.groups[0].knowledge;
            others.iter_mut().for_each(|warp| warp.groups[0].knowledge = common.clone());
            self.common = common.clone();
        }
    }

    /// What a thread knows.
    pub(crate) fn knowledge(&self, warp: u16, lane: u32) -> &Knowledge {
        match self.alike {
            true => &self.warps[0].groups[0].knowledge,
            false => &self.warps[usize::from(warp)].group(lane).knowledge,
        }
    }

    /// All threads meet at a barrier: each knows what all knew, and what they have done.
    pub(crate) fn meet_all(&mut self, time: Time) {
        let Self { warps, alike, common, home, .. } = self;
        if !std::mem::replace(alike, true) {
            let mut all: Option<Knowledge> = None;
            for warp in &mut *warps {
                let mut mask = 0;
                for Group { mask: lanes, knowledge } in warp.groups.drain(..) {
                    mask |= lanes;
                    // Who has learned something knows what all knew, too; most have learned the same.
                    match &mut all {
                        _ if knowledge.same(common) => {}
                        Some(all) if knowledge.same(all) => {}
                        Some(all) => all.join(&knowledge),
                        None => all = Some(knowledge),
                    }
                }
                // What all know the first one knows for the others.
                warp.groups.push(Group { mask, knowledge: common.clone() });
            }
            if let Some(all) = all {
                warps[0].groups[0].knowledge = all;
            }
        }
        warps[0].groups[0].knowledge.learn_cta(home.cta, time);
    }

    /// A barrier lets some threads go: who waited knows what all knew that arrived, and their accesses.
    pub(crate) fn meet(&mut self, arrivals: &[Arrival]) {
        self.tell_apart();
        let cta = self.home.cta;
        let (mut all, mut last): (Option<Knowledge>, Option<&Knowledge>) = (None, None);
        for arrival in arrivals {
            let warp = &self.warps[usize::from(arrival.warp)];
            let of_waiting = warp.known(if arrival.known.is_none() { arrival.mask } else { 0 });
            for known in arrival.known.iter().chain(of_waiting) {
                // Most know what the one before them knows.
                if last.is_some_and(|last| last.same(known)) {
                    continue;
                }
                match &mut all {
                    Some(all) => all.join(known),
                    None => all = Some(known.clone()),
                }
                last = Some(known);
            }
        }
        let Some(mut all) = all else { return };
        arrivals.iter().for_each(|arrival| all.learn(cta, arrival.warp, arrival.mask, arrival.time));
        for arrival in arrivals.iter().filter(|arrival| arrival.waits) {
            let warp = &mut self.warps[usize::from(arrival.warp)];
            warp.update(arrival.mask, |group| group.knowledge = all.clone());
            warp.merge();
        }
    }

    /// The agent that does the `cp.async` of a warp.
    pub(crate) fn copier(warp: u16) -> u16 {
        AGENTS + warp
    }

    /// The agent of bulk copies that tell an mbarrier; for address 0 that of bulk groups.
    pub(crate) fn agent(&mut self, mbarrier: u64) -> u16 {
        let known = self.agents.iter().position(|&a| a == mbarrier);
        let at = known.unwrap_or_else(|| {
            self.agents.push(mbarrier);
            self.agents.len() - 1
        });
        BULK_AGENTS + at as u16
    }

    /// The lanes that a warp began with.
    pub(crate) fn lanes_of(threads: u32, warp: u16) -> u32 {
        match threads.saturating_sub(u32::from(warp) * 32) {
            32.. => !0,
            rest => (1 << rest) - 1,
        }
    }

    /// The rows of shared memory between two offsets.
    pub(crate) fn rows(&mut self, start: u64, end: u64) -> &mut [Row] {
        let (first, behind) = ((start / ROW) as usize, end.div_ceil(ROW) as usize);
        if behind > self.shared.len() {
            Self::grow(&mut self.shared, behind);
        }
        &mut self.shared[first..behind]
    }

    /// Makes the rows of shared memory so many.
    #[cold]
    pub(crate) fn grow(shared: &mut Vec<Row>, rows: usize) {
        shared.resize(rows.next_multiple_of(64), Row::new(true));
    }
}

/// A launch.
#[derive(Clone, Default)]
pub(crate) struct Launch {
    pub(crate) kernel: String,
    pub(crate) module: u32,
    pub(crate) grid: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) block: [u32; 3],
    pub(crate) cluster: [u32; 3],
    /// The number of its first CTA, and of its first cluster.
    pub(crate) first: u32,
    /// What its threads know when they begin.
    pub(crate) knowledge: Knowledge,
    /// Whether it may have begun before the launch before it was over.
    pub(crate) early: bool,
    /// What is known to be complete behind `griddepcontrol.wait`, once some thread has waited.
    pub(crate) complete: Option<Arc<Clock>>,
    /// Where on the host it was asked for.
    pub(crate) host: Option<Host>,
    /// Where the variables are that its code can name.
    pub(crate) variables: Vec<Placed>,
    /// When it began.
    pub(crate) began: Time,
    /// Whether it has done what threads elsewhere could learn of it by.
    pub(crate) talks: bool,
    /// When it was over.
    pub(crate) ended: Option<Time>,
    pub(crate) intervals: Intervals,
}

impl Launch {
    /// Whether another [interval](crate::interval) is to begin.
    pub(crate) fn has_intervals(&self) -> bool {
        self.cluster == [1; 3] && self.intervals.begin()
    }

    /// How many CTAs it has.
    pub(crate) fn ctas(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Where the threads of a block are.
    pub(crate) fn home(&self, [x, y, z]: [u32; 3]) -> Home {
        let [gx, gy, _] = self.grid;
        let cta = self.first + x + gx * (y + gy * z);
        if self.cluster == [1; 3] {
            return Home { cta, cluster: cta };
        }
        let [cx, cy, cz] = [x / self.cluster[0], y / self.cluster[1], z / self.cluster[2]];
        let cluster = self.first + cx + gx / self.cluster[0] * (cy + gy / self.cluster[1] * cz);
        Home { cta, cluster }
    }

    /// The block with a number.
    pub(crate) fn block_of(&self, cta: u32) -> [u32; 3] {
        let index = cta - self.first;
        let [gx, gy, _] = self.grid;
        [index % gx, index / gx % gy, index / (gx * gy)]
    }

    /// The block of the cluster of another that has a rank in it.
    pub(crate) fn peer(&self, block: [u32; 3], rank: u32) -> [u32; 3] {
        let [nx, ny, _] = self.cluster;
        let first: [u32; 3] = std::array::from_fn(|i| block[i] / self.cluster[i] * self.cluster[i]);
        [first[0] + rank % nx, first[1] + rank / nx % ny, first[2] + rank / (nx * ny)]
    }

    /// `%tid` of a lane.
    pub(crate) fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        let index = warp * 32 + lane;
        let [bx, by, _] = self.block;
        [index % bx, index / bx % by, index / (bx * by)]
    }
}

/// A clock that also knows some lanes' own accesses.
pub(crate) fn with_own(knowledge: &Knowledge, cta: u32, warp: u16, mask: u32, time: Time) -> Knowledge {
    let mut own = knowledge.clone();
    own.learn(cta, warp, mask, time);
    own
}

/// The launch that a CTA belongs to.
pub(crate) fn launch_of(launches: &[Launch], cta: u32) -> Option<&Launch> {
    let behind = launches.partition_point(|launch| launch.first <= cta);
    launches[..behind].last()
}

/// Where a CTA is.
pub(crate) fn home_of(launches: &[Launch], cta: u32) -> Option<Home> {
    launch_of(launches, cta).map(|launch| launch.home(launch.block_of(cta)))
}
