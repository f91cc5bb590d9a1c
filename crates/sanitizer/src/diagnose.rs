//! From two accesses that race to what a person is told: who they are, and what is missing between them.

use crate::begun::{Begun, Seen};
use crate::clock::Time;
use crate::detector::{Detector, Target, Who};
use crate::knowledge::Knowledge;
use crate::litmus;
use crate::products::Lack;
use crate::race::{Conflict, Why};
use crate::report::{Actor, Allocation, Misuse, Report};
use crate::shadow::Entry;
use crate::site::{Action, DRIVER, Pipe, Site, SiteId};
use crate::state::{Reason, home_of, launch_of};
use abi::names::demangled;
use machine::Location;
use machine::fault::Access;
use machine::memory::{TENSOR_COLUMNS, TENSOR_MEMORY};
use machine::observe::{Lanes, Placed};
use memory_model::event::{Order, Scope};
use std::sync::Arc;

/// What is missing between two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Lanes of one instruction access the same bytes.
    SameInstruction,
    /// Lanes of one warp, and no `bar.warp.sync`.
    WarpSync,
    /// Warps of one CTA, and no barrier or release and acquire.
    Barrier,
    /// They waited, but at different barriers.
    DifferentBarrier(usize, usize),
    /// The flag that was read carries no release.
    Release,
    /// The flag was read by a relaxed operation, and no fence came before the access.
    Acquire,
    /// Scopes that do not contain the other thread.
    Scope,
    /// Strong operations of different sizes.
    MixedSize,
    /// A fence between the generic and the async proxy.
    ProxyFence,
    /// A launch of its own for lookups.
    TextureProxy,
    /// Waiting for an asynchronous copy.
    CopyWait,
    /// CTAs of a launch, with nothing between them.
    Synchronisation,
    /// Launches that nothing orders.
    LaunchOrder,
    /// The later launch may begin before the earlier one is over.
    GridWait,
}

impl Missing {
    fn name(self) -> &'static str {
        match self {
            Self::SameInstruction => "same-instruction",
            Self::WarpSync => "warp-sync",
            Self::Barrier => "barrier",
            Self::DifferentBarrier(..) => "different-barrier",
            Self::Release => "release",
            Self::Acquire => "acquire",
            Self::Scope => "scope",
            Self::MixedSize => "mixed-size",
            Self::ProxyFence => "proxy-fence",
            Self::TextureProxy => "texture-proxy",
            Self::CopyWait => "copy-wait",
            Self::Synchronisation => "synchronisation",
            Self::LaunchOrder => "launch-order",
            Self::GridWait => "grid-wait",
        }
    }

    fn sentence(self, flag: Option<u32>) -> String {
        let read = flag.map_or(String::new(), |line| format!(" at line {line}"));
        match self {
            Self::SameInstruction => "lanes of one instruction have no order; let one lane do it, use an atomic, or different addresses".into(),
            Self::WarpSync => "bar.warp.sync (__syncwarp) between the lanes; shfl, vote and match do not order memory".into(),
            Self::Barrier => "a barrier of the CTA, or a release and an acquire, between them".into(),
            Self::DifferentBarrier(a, b) => format!("a barrier for both: the one waited at barrier {a}, the other at barrier {b}"),
            Self::Release => format!("a release before the write that the read{read} takes its value from: st.release, or a fence before it"),
            Self::Acquire => format!("an acquire: the read{read} is relaxed, and no fence stands between it and this access"),
            Self::Scope => "a wider scope: that of one operation does not contain the other's thread".into(),
            Self::MixedSize => "operations of equal size: strong operations that overlap in part are no exception".into(),
            Self::ProxyFence => "fence.proxy.async between the access through the generic proxy and the asynchronous one".into(),
            Self::TextureProxy => "a launch between them: texture lookups need not see what their own kernel has written".into(),
            Self::CopyWait => "waiting for the asynchronous operation: cp.async.wait_group or wait_all, the mbarrier that it tells, cp.async.bulk.wait_group, wgmma.wait_group, the mbarrier of tcgen05.commit, or tcgen05.wait, and then a barrier for other threads".into(),
            Self::Synchronisation => "synchronisation between the CTAs: a release and an acquire of .gpu scope, or another launch".into(),
            Self::GridWait => "griddepcontrol.wait (cudaGridDependencySynchronize) before the access: the kernel may begin before the one before it has ended".into(),
            Self::LaunchOrder => "an order of the two launches or copies: the same stream, an event, or a synchronisation of the host".into(),
        }
    }
}

fn first_lane(mask: u32) -> u32 {
    mask.trailing_zeros().min(31)
}

/// The warp and lane of an entry that is told of: the first of its threads that is not known to who comes later.
fn thread_of(detector: &mut Detector, who: Who, entry: &Entry, lane: u32) -> (u16, u32) {
    let first = (first_lane(entry.warps) as u16, first_lane(entry.lanes));
    if !entry.is_of_threads() {
        return first;
    }
    let clock = detector.warp(who).group(lane).knowledge.generic.clone();
    let threads = (0..32u16).filter(|warp| entry.warps >> warp & 1 != 0).flat_map(|warp| {
        (0..32u32).filter(|lane| entry.lanes >> lane & 1 != 0).map(move |lane| (warp, lane))
    });
    let own = |(warp, of): (u16, u32)| entry.cta == who.home.cta && (warp, of) == (who.warp, lane);
    let mut unknown =
        threads.filter(|&(warp, of)| clock.lane(entry.cta, warp, of) < entry.time && !own((warp, of)));
    unknown.next().unwrap_or(first)
}

/// The thread of an entry that is told of.
fn actor(detector: &Detector, entry: &Entry, what: String) -> Actor {
    let site = detector.sites.get(entry.site());
    let location = location_of(detector, site);
    let launch = launch_of(&detector.launches, entry.cta);
    let warp = match entry.agent() {
        Some(agent) if agent < 64 => u32::from(agent) - 32,
        Some(_) => 0,
        None => first_lane(entry.warps),
    };
    Actor {
        what,
        kernel: launch.map_or_else(String::new, |launch| launch.kernel.clone()),
        location,
        block: launch.map_or([0; 3], |launch| launch.block_of(entry.cta)),
        thread: launch.map_or([0; 3], |launch| launch.thread(warp, first_lane(entry.lanes))),
        host: launch.and_then(|launch| launch.host.as_ref()).map_or_else(Vec::new, |host| host()),
    }
}

/// A lane that executes an instruction now.
pub(crate) fn actor_at(detector: &Detector, who: Who, lanes: u32, what: String) -> Actor {
    actor(detector, &Entry::of_lanes(1, who.home.cta, who.warp, lanes, who.site), what)
}

fn verb(site: &Site, access: Access) -> &'static str {
    match (site.action, access) {
        (Action::Texture, _) => "texture lookup",
        (Action::Copy | Action::None | Action::Product | Action::Tensor(_), Access::Load) => {
            "asynchronous read"
        }
        (Action::Copy | Action::None | Action::Product | Action::Tensor(_) | Action::AsyncAccess(_), _) => {
            "asynchronous write"
        }
        (_, Access::Load) => "read",
        (_, Access::Store) => "write",
        (_, Access::Atomic) => "atomic operation",
    }
}

fn described(site: &Site, access: Access, bytes: Option<u64>) -> String {
    let order = match site.order {
        Order::Weak => String::new(),
        order => format!(", {}.{}", order.name(), site.scope.name()),
    };
    match bytes {
        Some(bytes) => format!("{} of {bytes} bytes{order}", verb(site, access)),
        None => format!("{}{order}", verb(site, access)),
    }
}

fn access_of(site: &Site) -> Access {
    match site.action {
        Action::Access(access)
        | Action::Rows { access, .. }
        | Action::AsyncAccess(access)
        | Action::Told(access) => access,
        Action::Texture | Action::Product | Action::Tensor(Pipe::Loads) => Access::Load,
        Action::CompareAndSwap => Access::Atomic,
        _ => Access::Store,
    }
}

pub(crate) fn line_of(detector: &Detector, site: u32) -> Option<u32> {
    Some(location_of(detector, detector.sites.get(site)).ptx?.line)
}

fn location_of(detector: &Detector, site: &Site) -> Location {
    match detector.modules.get(site.module as usize) {
        Some(module) => Location::of(module, site.function, site.instruction),
        // A copy that the program asked the driver for.
        None => Location::default(),
    }
}

/// What is missing, and the line of the flag's read if one is to blame.
fn missing(detector: &mut Detector, who: Who, conflict: &Conflict) -> (Missing, Option<u32>) {
    let (earlier, later) = (&conflict.earlier, &conflict.later);
    let (a, b) = (*detector.sites.get(earlier.site()), *detector.sites.get(later.site()));
    if conflict.why == Why::Proxy && b.action == Action::Texture {
        return (Missing::TextureProxy, None);
    }
    if conflict.why == Why::Proxy {
        return (Missing::ProxyFence, None);
    }
    if earlier.agent().is_some() {
        return (Missing::CopyWait, None);
    }
    let same_cta = earlier.cta == later.cta;
    if a.is_strong() && b.is_strong() {
        return (if a.element != b.element { Missing::MixedSize } else { Missing::Scope }, None);
    }
    let mut launches = [earlier, later].map(|entry| launch_of(&detector.launches, entry.cta));
    launches.sort_by_key(|launch| launch.map(|launch| launch.first));
    if let [Some(first), Some(second)] = launches
        && first.first != second.first
    {
        return (if second.early { Missing::GridWait } else { Missing::LaunchOrder }, None);
    }
    let same_warp = same_cta && later.is_of_threads() && earlier.warps == later.warps;
    if same_warp && earlier.time == later.time && earlier.site() == later.site() {
        return (Missing::SameInstruction, None);
    }
    // A flag that was read, and did not help: before all others one that carried what is not known.
    let lane = first_lane(later.lanes);
    if let Some((site, fenced)) = lost(detector, who, lane, earlier) {
        return (if fenced { Missing::Scope } else { Missing::Acquire }, line_of(detector, site));
    }
    let warp = detector.warp(who);
    let (failure, barrier) = (warp.failure(same_cta), warp.barrier);
    let seen = warp.begun_by(lane).and_then(|begun| begun.seen.iter().rev().find(|seen| !seen.acquired));
    if let Some((site, fenced)) = seen.map(|seen| (seen.site, seen.fenced)) {
        return (if fenced { Missing::Scope } else { Missing::Acquire }, line_of(detector, site));
    }
    if let Some((site, failure)) = failure.filter(|_| !same_warp) {
        let missing = if failure.why == Reason::Scope { Missing::Scope } else { Missing::Release };
        return (missing, line_of(detector, site));
    }
    if same_warp {
        return (Missing::WarpSync, None);
    }
    if same_cta {
        let index = who.block;
        let theirs = detector.block(who.launch, index).warps.get(first_lane(earlier.warps) as usize);
        let theirs = theirs.and_then(|warp| warp.barrier);
        // Only if both have waited since.
        let since = |waited: Option<(usize, Time)>| waited.filter(|(_, time)| *time >= earlier.time);
        return match (since(theirs), since(barrier)) {
            (Some((a, _)), Some((b, _))) if a != b => (Missing::DifferentBarrier(a, b), None),
            _ => (Missing::Barrier, None),
        };
    }
    (Missing::Synchronisation, None)
}

/// A read of a flag that carried an earlier access, and did not pass it on to a lane: its own, or that of a thread of its CTA that
/// it has heard of since, as where thread 0 reads a counter and a barrier follows. With it whether a fence follows, which then is
/// of too narrow a scope.
fn lost(detector: &mut Detector, who: Who, lane: u32, earlier: &Entry) -> Option<(SiteId, bool)> {
    let (warp, of) = thread_of(detector, who, earlier, lane);
    let clock = Arc::clone(&detector.warp(who).group(lane).knowledge.generic);
    let carried = |seen: &&Seen| {
        let mut knowledge = Knowledge::default();
        seen.released.acquire(who.home, Scope::Sys, &mut knowledge);
        !seen.acquired && knowledge.generic.lane(earlier.cta, warp, of) >= earlier.time
    };
    let of = |begun: &Begun| begun.seen.iter().rev().find(carried).map(|seen| (seen.site, seen.fenced));
    let block = detector.block(who.launch, who.block);
    let own = block.warps[usize::from(who.warp)].begun_by(lane).and_then(of);
    let others = || {
        block.warps.iter().enumerate().flat_map(|(warp, of)| of.begun.iter().map(move |begun| (warp, begun)))
    };
    let heard = |&(warp, begun): &(usize, &Begun)| {
        clock.lane(who.home.cta, warp as u16, first_lane(begun.mask)) >= earlier.time
    };
    own.or_else(|| others().filter(heard).find_map(|(_, begun)| of(begun)))
}

pub(crate) fn place(target: Target) -> String {
    match target {
        Target::Global(address) => format!("global memory at {address:#x}"),
        Target::Shared(_, place) if place >= TENSOR_MEMORY => {
            let (cell, columns) = ((place - TENSOR_MEMORY) / 4, u64::from(TENSOR_COLUMNS));
            format!("tensor memory at lane {}, column {}", cell / columns, cell % columns)
        }
        Target::Shared(_, place) => format!("shared memory at {place:#x}"),
        Target::Private => "memory".to_owned(),
    }
}

/// What an access of a CTA's threads is in: a variable that its code can name, or memory that was allocated.
fn allocation(detector: &Detector, cta: u32, target: Target) -> Option<Allocation> {
    let (shared, address) = match target {
        Target::Global(address) => (false, address),
        Target::Shared(_, place) if place >= TENSOR_MEMORY => return None,
        Target::Shared(_, place) => (true, place),
        Target::Private => return None,
    };
    let of = launch_of(&detector.launches, cta)?;
    let module = detector.modules.get(of.module as usize);
    let declared = |placed: &Placed| Some(&module?.variables[placed.variable.index()]);
    let around = |placed: &&Placed| {
        let bytes = declared(placed).map_or(0, |variable| variable.size);
        // What has no size goes on to the end.
        let inside = |offset| bytes == 0 || offset < bytes;
        placed.shared == shared && address.checked_sub(placed.start).is_some_and(inside)
    };
    let placed = of.variables.iter().filter(around).max_by_key(|placed| placed.start);
    if let Some((placed, variable)) = placed.and_then(|placed| Some((placed, declared(placed)?))) {
        let (name, start, bytes) = (demangled(&variable.name), placed.start, variable.size);
        return Some(Allocation { variable: Some(name), start, bytes, offset: address - start });
    }
    let (start, bytes) = detector.reports.allocation_of(address).filter(|_| !shared)?;
    Some(Allocation { variable: None, start, bytes, offset: address - start })
}

/// Reports a race.
pub(crate) fn race(detector: &mut Detector, who: Who, conflict: &Conflict, target: Target, bytes: u64) {
    let key = ("race", conflict.earlier.site(), conflict.later.site());
    if detector.reports.knows(key) {
        detector.reports.add(key, || unreachable!("it is known"));
        return;
    }
    let (missing, flag) = missing(detector, who, conflict);
    let (a, b) = (*detector.sites.get(conflict.earlier.site()), *detector.sites.get(conflict.later.site()));
    let later = described(&b, conflict.later_access, Some(bytes));
    let earlier = described(&a, access_of(&a), None);
    let title = format!("{} and earlier {} of {}", later, verb(&a, access_of(&a)), place(target));
    let mut actors = vec![
        actor(detector, &conflict.later, later),
        actor(detector, &conflict.earlier, format!("earlier {earlier}")),
    ];
    if missing == Missing::SameInstruction {
        actors[1].what = "another lane".into();
    }
    let of_kernels = a.module != DRIVER && b.module != DRIVER;
    let lane = first_lane(conflict.later.lanes);
    let (since, of) = (conflict.earlier.time, (conflict.earlier.cta, conflict.later.cta));
    let (warp, other) = thread_of(detector, who, &conflict.earlier, lane);
    let trails = detector.steps([(of.0, warp, other), (of.1, who.warp, lane)], since);
    let shared = matches!(target, Target::Shared(..));
    let homes = [of.0, of.1].map(|cta| home_of(&detector.launches, cta));
    let one_cluster = matches!(homes, [Some(a), Some(b)] if a.shares(b, Scope::Cluster));
    let race = litmus::Race { actors: &actors, sites: (&a, &b), shared, one_cluster, trails };
    let litmus = of_kernels.then(|| litmus::of_race(&race, &detector.sites));
    let (missing, allocation) =
        (Some((missing.name(), missing.sentence(flag))), allocation(detector, conflict.later.cta, target));
    let litmus = litmus.flatten();
    let report = Report { missing, allocation, litmus, ..Report::new("race", title, actors) };
    detector.reports.add(key, || report);
}

/// Reports a read of bytes that nobody wrote.
pub(crate) fn unwritten(detector: &mut Detector, who: Who, lanes: u32, target: Target, bytes: u64) {
    let key = ("unwritten", who.site, who.site);
    let site = *detector.sites.get(who.site);
    let actor = actor_at(detector, who, lanes, described(&site, Access::Load, Some(bytes)));
    let allocation = allocation(detector, who.home.cta, target);
    let title = format!("read of {bytes} bytes of {} that nobody has written", place(target));
    detector.reports.add(key, || Report { allocation, ..Report::new("unwritten", title, vec![actor]) });
}

/// Reports a misuse of a barrier or a `.sync` instruction.
pub(crate) fn misuse(detector: &mut Detector, launch: usize, lanes: &[Lanes], misuse: Misuse) {
    if !detector.checks.sync {
        return;
    }
    let (kind, title) = match misuse {
        Misuse::Divergent { number } => (
            "barrier-divergent",
            format!("lanes of one warp meet at barrier {number} by different instructions"),
        ),
        Misuse::Count { number, count, came } => {
            ("barrier-count", format!("{came} threads come to barrier {number}, which counts {count}"))
        }
        Misuse::Exited { number, missing } => (
            "barrier-exited",
            format!("barrier {number} is for all threads of the CTA, of which {missing} have exited"),
        ),
        Misuse::Product(Lack::Fence) => (
            "wgmma-fence",
            "wgmma of registers that threads have written: wgmma.fence is missing between".to_owned(),
        ),
        Misuse::Product(Lack::Commit) => (
            "wgmma-commit",
            "registers of a wgmma are used that was in no group at the wait: wgmma.commit_group is missing before"
                .to_owned(),
        ),
        Misuse::Product(Lack::Wait) => (
            "wgmma-wait",
            "registers of a wgmma are used before it is done: wgmma.wait_group is missing between".to_owned(),
        ),
        Misuse::Product(Lack::WaitLd) => (
            "tcgen05-wait",
            "registers of a tcgen05.ld are used before it is done: tcgen05.wait::ld is missing between".to_owned(),
        ),
        Misuse::Initialised => (
            "mbarrier-init",
            "an mbarrier is used that another thread has initialised, and nothing orders the two: a barrier is missing between, or fence.mbarrier_init before a relaxed arrival at the cluster's"
                .to_owned(),
        ),
        Misuse::Bytes { bytes } => (
            "mbarrier-bytes",
            format!("an mbarrier was told of {bytes} bytes more than its expect_tx announced, so that its phase ends too early"),
        ),
        Misuse::Shuffle => {
            ("shuffle-outside", "shfl.sync reads the register of a lane that takes no part in it".to_owned())
        }
    };
    let mut actors = Vec::new();
    let mut sites = [0; 2];
    for (i, lanes) in lanes.iter().take(8).enumerate() {
        let who = detector.who(launch, lanes.block, lanes.warp, lanes.place);
        if i < 2 {
            sites[i] = who.site;
        }
        let described = format!("lanes {:#010x} of warp {}", lanes.mask, lanes.warp);
        actors.push(actor_at(detector, who, lanes.mask, described));
    }
    let report = Report::new(kind, title, actors);
    detector.reports.add((kind, sites[0], sites[1]), || report);
}

/// What is told of two accesses of which locks have shown something.
pub(crate) fn pair(
    detector: &Detector,
    kind: &'static str,
    conflict: &Conflict,
    (target, bytes): (Target, u64),
    missing: (&'static str, String),
) -> Report {
    let [a, b] = [&conflict.earlier, &conflict.later].map(|entry| *detector.sites.get(entry.site()));
    let later = described(&b, conflict.later_access, Some(bytes));
    let earlier = format!("earlier {}", described(&a, access_of(&a), None));
    let title = format!("{later} and {} of {}", earlier, place(target));
    let actors = vec![actor(detector, &conflict.later, later), actor(detector, &conflict.earlier, earlier)];
    let (missing, allocation) = (Some(missing), allocation(detector, conflict.later.cta, target));
    Report { missing, allocation, ..Report::new(kind, title, actors) }
}
