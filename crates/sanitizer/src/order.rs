//! What orders threads besides strong accesses: fences, barriers, mbarriers, the completion of copies.

use crate::begun::Seen;
use crate::detector::{Detector, Who, lanes_of};
use crate::diagnose;
use crate::knowledge::Knowledge;
use crate::release::{Home, Released};
use crate::report::Misuse;
use crate::site::{Action, Pipe, Queue, Site};
use crate::state::{Arrival, Block, WARPS, with_own};
use crate::told::{pipe_of, products_of};
use crate::trail::Step;
use machine::memory::mbarrier::Mbarrier;
use machine::observe::{Happening, Lanes, MbarrierEvent};
use memory_model::event::{Order, Scope};
use ptx::module::FuncId;
use std::sync::Arc;

impl Detector {
    /// An instruction without an access of its own.
    pub(crate) fn instruction(&mut self, who: Who, mask: u32) {
        let site = *self.sites.get(who.site);
        match site.action {
            Action::Fence => self.fence(who, mask, &site),
            Action::ProxyFence => {
                let (time, cta) = (self.time, who.home.cta);
                self.warp(who).update(mask, |group| {
                    // Every lane passes on what the lanes of this warp did that execute the fence.
                    let own = with_own(&group.knowledge, cta, who.warp, group.mask, time);
                    group.knowledge.proxied = own.generic;
                });
                self.tick();
            }
            Action::Commit(of) => {
                let time = self.time;
                self.warp_beside(who).commit(of, time, mask);
                self.tick();
            }
            Action::Wait { of, but, reads } => self.wait_for_groups(who, mask, of, but, reads),
            Action::TensorWait(pipe) => {
                let (time, cta) = (self.time, who.home.cta);
                let agent = self.block(who.launch, who.block).agent(pipe_of(pipe, who.warp));
                self.warp(who).update(mask, |group| group.knowledge.learn(cta, agent, !0, time));
                self.tick();
            }
            _ => {}
        }
    }

    /// A fence. The order that Fence-SC gives two `fence.sc` is not taken for one that excuses a race: which of them comes
    /// first is the schedule's choice, unless values force it.
    fn fence(&mut self, who: Who, mask: u32, site: &Site) {
        self.step(who, mask, Step::Fence, self.time);
        self.launches[who.launch].talks |= site.scope >= Scope::Gpu;
        let (time, home, scope) = (self.time, who.home, site.scope);
        let warp = self.warp(who);
        if site.acquires {
            warp.fence_acquires(mask, home, scope);
        }
        if site.releases {
            warp.fence_releases(mask, scope, time);
        }
        self.tick();
    }

    /// `cp.async.wait_group` and its kin: the executing lanes know of their own operations that are done, of those of a
    /// warpgroup for all of its lanes.
    fn wait_for_groups(&mut self, who: Who, mask: u32, of: Queue, but: Option<u32>, reads: bool) {
        let (now, cta) = (self.time, who.home.cta);
        let block = self.block(who.launch, who.block);
        let agents = match of {
            Queue::Copies => vec![Block::copier(who.warp)],
            Queue::Bulk => {
                let (read, written) = (block.agent(BULK_READS), block.agent(BULK_WRITES));
                if reads { vec![read] } else { vec![read, written] }
            }
            Queue::Products => vec![block.agent(products_of(who.warp))],
        };
        let warp = self.warp(who);
        let mut rest = mask;
        while rest != 0 {
            let done = |lane: u32| but.map_or(now, |but| warp.done(of, lane, but));
            let time = done(rest.trailing_zeros());
            let same = lanes_of(rest).filter(|&lane| done(lane) == time);
            let team = same.fold(0, |team, lane| team | 1 << lane);
            rest &= !team;
            if time != 0 {
                for lane in lanes_of(team) {
                    warp.update(1 << lane, |group| {
                        for &agent in &agents {
                            // Bulk agents are the CTA's: their lane is the thread's number.
                            let lanes = if of == Queue::Products { !0 } else { 1 << lane };
                            group.knowledge.learn(cta, agent, lanes, time);
                        }
                    });
                }
            }
        }
        self.tick();
    }

    /// What the machine tells besides instructions.
    pub(crate) fn happening(&mut self, launch: usize, happening: &Happening<'_>) {
        if self.locks.is_some()
            && let Happening::BarrierArrived { lanes, .. }
            | Happening::ClusterArrived { lanes, .. }
            | Happening::Exited(lanes) = happening
        {
            let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
            self.go_on(who, lanes.mask, None);
        }
        match *happening {
            Happening::Began { variables, grid, block, cluster, .. } => {
                let launch = &mut self.launches[launch];
                launch.variables = variables.to_vec();
                (launch.grid, launch.block, launch.cluster) = (grid, block, cluster);
                launch.threads = block.iter().product();
            }
            Happening::WarpBarrier(lanes) => self.warp_barrier(launch, lanes),
            Happening::BarrierArrived { lanes, number, waits, threads, .. } => {
                self.arrived(launch, lanes, (number, threads), waits);
            }
            Happening::BarrierCompleted { block, number } => self.completed(launch, block, number),
            Happening::BarrierPassed { block, number, place, masks } => {
                self.passed(launch, block, number, (place, masks));
            }
            Happening::ClusterArrived { lanes, phase } => self.cluster_arrived(launch, lanes, phase),
            Happening::ClusterWaited { lanes, odd } => self.cluster_waited(launch, lanes, odd),
            Happening::Mbarrier { lanes, address, event } => self.mbarrier(launch, lanes, address, event),
            Happening::CopiedAsync { lanes, to, bytes, read } => {
                self.copied(launch, lanes, (to, bytes), read)
            }
            Happening::BulkCopy(lanes) => {
                let copy = crate::detector::BulkCopy { lanes, accesses: Vec::new(), agent: 0, time: 0 };
                self.copies.insert(launch, copy);
            }
            Happening::BulkAccess { address, bytes, access } => {
                if let Some(copy) = self.copies.get_mut(&launch) {
                    copy.accesses.push((address, bytes, access));
                }
            }
            Happening::Accessed { lanes, addresses, bytes, access } => {
                self.accessed(launch, lanes, (addresses, bytes), access);
            }
            Happening::TensorCore { lanes, ranges } => self.tensor_core(launch, lanes, ranges),
            Happening::Swapped(lanes) => self.swapped(launch, &lanes),
            Happening::ShuffledFromOutside(lanes) => {
                diagnose::misuse(self, launch, &[lanes], Misuse::Shuffle);
            }
            Happening::Heap { lanes, address, bytes } => {
                let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
                self.heap(who, lanes.mask, address, bytes);
            }
            // What is before the launch, who watches it knows.
            Happening::GridsComplete(_) => {}
            // What they have done stays, and barriers tell of who came.
            Happening::Exited(_) => {}
            Happening::BlockDone { block } => {
                let cta = self.launches[launch].home(block).cta;
                self.judge_bytes(launch, cta);
                self.block_done(cta);
            }
        }
    }

    /// Lanes have waited for the grids before their launch.
    pub(crate) fn grids_complete(&mut self, launch: usize, lanes: Lanes, knowledge: &Knowledge) {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        self.launches[launch].complete = Some(Arc::clone(&knowledge.generic));
        let warp = self.warp(who);
        warp.update(lanes.mask, |group| group.knowledge.join(knowledge));
        warp.merge();
    }

    /// What lanes release now: what each of them knows, and their own accesses.
    pub(crate) fn released(&mut self, who: Who, mask: u32) -> Knowledge {
        let (time, cta) = (self.time, who.home.cta);
        let mut all = self.warp(who).knowledge(mask);
        all.learn(cta, who.warp, mask, time);
        all
    }

    /// What relaxed arrivals of lanes release: what their fences before have, by scope.
    fn fenced(&mut self, who: Who, mask: u32) -> Vec<(Scope, Knowledge)> {
        let (cta, warp) = (who.home.cta, who.warp);
        let fences = self.warp(who).fenced(mask);
        fences.map(|(lanes, scope, known, time)| (scope, with_own(known, cta, warp, lanes, time))).collect()
    }

    fn warp_barrier(&mut self, launch: usize, lanes: Lanes) {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let all = self.released(who, lanes.mask);
        let warp = self.warp(who);
        warp.update(lanes.mask, |group| group.knowledge = all.clone());
        warp.merge();
        self.tick();
    }

    fn arrived(&mut self, launch: usize, lanes: Lanes, (number, threads): (usize, Option<u32>), waits: bool) {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        self.step(who, lanes.mask, Step::Barrier(number), self.time);
        let time = self.time;
        let block = self.block(launch, lanes.block);
        if !waits {
            block.tell_apart();
        }
        let warp = &mut block.warps[usize::from(who.warp)];
        // Those who wait do nothing before they are let go, and learn nothing.
        let known = (!waits).then(|| warp.knowledge(lanes.mask));
        if waits {
            warp.barrier = Some((number, time));
        }
        let arrival =
            Arrival { warp: who.warp, mask: lanes.mask, waits, site: who.site, threads, known, time, lanes };
        block.barriers.entry(number).or_default().push(arrival);
        if !waits {
            self.tick();
        }
    }

    /// A CTA barrier lets its threads go: whoever waited knows what all did before.
    fn completed(&mut self, launch: usize, index: [u32; 3], number: usize) {
        let (time, threads) = (self.time, self.launches[launch].threads);
        let block = self.block(launch, index);
        let mut arrivals = std::mem::take(block.barriers.entry(number).or_default());
        let mut masks = [0; WARPS];
        for arrival in &arrivals {
            masks[usize::from(arrival.warp)] |= arrival.mask;
        }
        let masks = &masks[..block.warps.len()];
        let everyone = masks.iter().enumerate().all(|(w, &mask)| mask == Block::lanes_of(threads, w as u16));
        let everyone = everyone && arrivals.iter().all(|arrival| arrival.waits);
        match everyone {
            true => block.meet_all(time),
            false => block.meet(&arrivals),
        }
        let alike = block.alike;
        self.tick();
        if alike && self.launches[launch].has_intervals() {
            self.block(launch, index).interval.begin();
        }
        if self.checks.sync {
            self.judge_barrier(launch, number, &arrivals, masks);
        }
        // The next ones to come need no new memory.
        arrivals.clear();
        self.block(launch, index).barriers.insert(number, arrivals);
    }

    /// All threads that a CTA has left meet at a barrier, and go on.
    fn passed(
        &mut self,
        launch: usize,
        index: [u32; 3],
        number: usize,
        (place, masks): ((FuncId, u32), &[u32]),
    ) {
        if self.locks.is_none() && !self.records_steps() {
            let Self { blocks, launches, time, .. } = self;
            let launch = &launches[launch];
            let home = launch.home(index);
            let block = blocks.of(home, launch);
            // What is behind it races with nothing before it: nobody will ask which barriers threads were at until then.
            let all: u32 = masks.iter().map(|mask| mask.count_ones()).sum();
            if launch.threads == all {
                block.meet_all(*time);
                if launch.has_intervals() {
                    block.interval.begin();
                }
                return self.tick();
            }
        }
        for (warp, &mask) in (0..).zip(masks).filter(|(_, mask)| **mask != 0) {
            let lanes = Lanes { block: index, warp, mask, place };
            let arrived = Happening::BarrierArrived { lanes, number, waits: true, threads: None, live: mask };
            self.happening(launch, &arrived);
        }
        self.completed(launch, index, number);
    }

    fn judge_barrier(&mut self, launch: usize, number: usize, arrivals: &[Arrival], masks: &[u32]) {
        let threads = self.launches[launch].threads;
        let place = |arrival: &Arrival| arrival.lanes;
        // Lanes of one warp at different instructions.
        let alike = arrivals.iter().all(|arrival| arrival.site == arrivals[0].site);
        for (i, a) in arrivals.iter().enumerate().filter(|_| !alike) {
            let other = arrivals[..i].iter().find(|b| b.warp == a.warp && b.site != a.site);
            if let Some(b) = other {
                diagnose::misuse(self, launch, &[place(b), place(a)], Misuse::Divergent { number });
            }
        }
        let counted = arrivals.iter().find_map(|arrival| arrival.threads);
        let came: u32 = masks.iter().map(|mask| mask.count_ones()).sum();
        match counted {
            // Warps count whole.
            Some(count) => {
                let warps = masks.iter().filter(|mask| **mask != 0).count() as u32;
                if warps * 32 > count {
                    let lanes: Vec<_> = arrivals.iter().map(place).collect();
                    diagnose::misuse(self, launch, &lanes, Misuse::Count { number, count, came: warps * 32 });
                }
            }
            None if came < threads => {
                let lanes = [place(&arrivals[0])];
                diagnose::misuse(self, launch, &lanes, Misuse::Exited { number, missing: threads - came });
            }
            None => {}
        }
    }

    fn cluster_arrived(&mut self, launch: usize, lanes: Lanes, phase: bool) {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let all = match self.sites.get(who.site).releases {
            true => vec![(Scope::Cluster, self.released(who, lanes.mask))],
            false => self.fenced(who, lanes.mask),
        };
        let (current, phases) =
            self.clusters.entry(who.home.cluster).or_insert_with(|| (phase, <[Released; 2]>::default()));
        let of_phase = &mut phases[usize::from(phase)];
        if *current != phase {
            (*current, *of_phase) = (phase, Released::default());
        }
        for (scope, released) in all {
            of_phase.release(who.home, scope, released);
        }
        self.tick();
    }

    fn cluster_waited(&mut self, launch: usize, lanes: Lanes, odd: u32) {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let Some((_, phases)) = self.clusters.get(&who.home.cluster).cloned() else { return };
        let warp = self.warp(who);
        for (phase, mask) in [lanes.mask & !odd, odd].into_iter().enumerate() {
            warp.update(mask, |group| {
                phases[phase].acquire(who.home, Scope::Cluster, &mut group.knowledge);
            });
        }
        warp.merge();
    }

    fn mbarrier(&mut self, launch: usize, lanes: Lanes, address: u64, event: MbarrierEvent) {
        let mut who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let target = self.generic_target(who, address);
        let key = target.key();
        let owner = match target {
            crate::detector::Target::Shared(cta, _) => cta,
            _ => return,
        };
        if let MbarrierEvent::Changed { after, .. } | MbarrierEvent::Completed { after, .. } = event
            && self.checks.sync
        {
            let lanes = self.last_copy(launch, &event).unwrap_or(lanes);
            self.block_of(owner).bytes.insert(key, (after.outstanding(), lanes));
        }
        self.judge_initialised(who, lanes, (owner, key), &event);
        // What a copy completes, whoever waits there sees: the copy is as of the object's own CTA.
        let owner_home = self.block_of(owner).home;
        match event {
            MbarrierEvent::Changed { before, after } => {
                let site = *self.sites.get(who.site);
                let mut knowledge = self.released(who, lanes.mask);
                match site.action {
                    Action::CopyArrive => {
                        // Only the copies are released, and only those of these lanes.
                        let (time, cta) = (self.time, who.home.cta);
                        knowledge = Knowledge::default();
                        knowledge.learn(cta, Block::copier(who.warp), lanes.mask, time);
                    }
                    Action::AsyncAccess(_) => {
                        let (time, cta) = (self.time, who.home.cta);
                        let agent = self.block(launch, lanes.block).agent(ASYNC_STORES);
                        knowledge.learn(cta, agent, lanes.mask, time);
                    }
                    Action::TensorCommit => {
                        let (time, cta) = (self.time, who.home.cta);
                        let agent = self.block(launch, lanes.block).agent(pipe_of(Pipe::Products, who.warp));
                        knowledge.learn(cta, agent, lanes.mask, time);
                    }
                    Action::MbarrierInit => {
                        let thread = (who.home.cta, who.warp, lanes.mask.trailing_zeros());
                        let initialised = Some((lanes, thread, self.time));
                        let object = crate::state::Mbarrier { initialised, ..Default::default() };
                        self.block_of(owner).mbarriers.insert(key, object);
                        self.initialised(target);
                        self.tick();
                        return;
                    }
                    _ => {}
                }
                let completes = matches!(site.action, Action::AsyncAccess(_));
                if completes || site.order != Order::Relaxed {
                    let scope = if completes { Scope::Cluster } else { site.scope.min(Scope::Cluster) };
                    let home = if completes { owner_home } else { who.home };
                    self.release_to_mbarrier((owner, key), home, vec![(scope, knowledge)], (before, after));
                } else {
                    let fenced = self.fenced(who, lanes.mask);
                    self.release_to_mbarrier((owner, key), who.home, fenced, (before, after));
                }
                self.tick();
            }
            MbarrierEvent::Completed { before, after } => {
                let (agent, time) = self.finish_copy(launch, Some(key));
                let Some(copy) = self.last_copies.get(&launch) else { return };
                who = self.who(launch, copy.lanes.block, copy.lanes.warp, copy.lanes.place);
                let mut knowledge = Knowledge::default();
                knowledge.learn(who.home.cta, agent, copy.lanes.mask, time);
                let released = vec![(Scope::Cluster, knowledge)];
                self.release_to_mbarrier((owner, key), owner_home, released, (before, after));
                self.tick();
            }
            MbarrierEvent::Waited { parity } => {
                let site = *self.sites.get(who.site);
                let home = who.home;
                let Some(object) = self.block_of(owner).mbarriers.get(&key) else { return };
                let over = object.over[usize::from(parity)].clone();
                if site.order != Order::Relaxed {
                    let scope = site.scope.min(Scope::Cluster);
                    self.warp(who)
                        .update(lanes.mask, |group| over.acquire(home, scope, &mut group.knowledge));
                } else {
                    // A fence may follow.
                    let (released, site) = (Arc::new(over), who.site);
                    let seen = Seen { address: key, released, site, acquired: false, fenced: false };
                    self.warp(who).see(lanes.mask, home, &seen);
                }
            }
        }
    }

    /// Whoever uses an object must know that it was initialised. Of lanes that do so together the first is asked.
    fn judge_initialised(&mut self, who: Who, lanes: Lanes, (owner, key): (u32, u64), event: &MbarrierEvent) {
        let initialises = self.sites.get(who.site).action == Action::MbarrierInit;
        // What a copy completes it does through another proxy; who has issued it was asked then.
        if !self.checks.sync || initialises || matches!(event, MbarrierEvent::Completed { .. }) {
            return;
        }
        let object = self.block_of(owner).mbarriers.get(&key);
        let Some((by, thread, time)) = object.and_then(|object| object.initialised) else { return };
        let lane = lanes.mask.trailing_zeros().min(31);
        let (cta, warp, of) = thread;
        let clock = Arc::clone(&self.warp(who).group(lane).knowledge.generic);
        if thread != (who.home.cta, who.warp, lane) && clock.lane(cta, warp, of) < time {
            diagnose::misuse(self, who.launch, &[lanes, by], Misuse::Initialised);
        }
    }

    fn release_to_mbarrier(
        &mut self,
        (owner, key): (u32, u64),
        home: Home,
        released: Vec<(Scope, Knowledge)>,
        (before, after): (Mbarrier, Mbarrier),
    ) {
        let object = self.block_of(owner).mbarriers.entry(key).or_default();
        for (scope, knowledge) in released {
            object.current.release(home, scope, knowledge);
        }
        if before.phase() != after.phase() {
            object.over[usize::from(before.phase())] = std::mem::take(&mut object.current);
        }
    }
}

/// The agents of bulk groups, in the place of the address of an mbarrier.
pub(crate) const BULK_READS: u64 = 1;
pub(crate) const BULK_WRITES: u64 = 2;
/// The agent of `st.async` and `red.async`.
pub(crate) const ASYNC_STORES: u64 = 3;
