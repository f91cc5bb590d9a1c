//! A pack: up to eight warps that share a dispatch while they agree.
//!
//! The lanes of a pack form *groups*, each with a program counter. A branch whose lanes disagree splits a group in two;
//! both then reconverge at the branch's immediate post-dominator, where a [`Join`] collects them. Joins nest through
//! `parent`, one chain a group, so that an exiting lane can be taken out of every join that expects it.

use super::frame::{Caller, Frames};
use super::watch::{Around, Others, Watch};
use crate::common::{Common, shared_base};
use crate::exec::{Awaited, Exec, Grid, LaneTrap, Threads, event};
use crate::fault::Trap;
use crate::image::control::{BarrierSite, CallSite, Callee, ParameterLocation};
use crate::image::{Image, Op};
use crate::lanes::{EMPTY, LANES, Mask};
use crate::observe::{Happening, Lanes, Observer};
use crate::operation::kinds::{Barrier, Call, CallIndirect};
use crate::operation::{Operation, Site, Target};

use crate::schedule::Scheduler;
use ptx::module::FuncId;
use slab::Slab;

/// Turns after which the longest waiting is chosen whatever the scheduler says.
pub(super) const FAIR_TURNS: u32 = 1024;

/// Operations that a group may run while others wait for it at a join, if it communicates meanwhile; a program that
/// waits for those others must communicate to do so. Every hand-over of a spin lock between lanes of a warp takes this
/// long.
const PATIENCE: i64 = 4_000;

/// The same for a group that does not communicate, in case it waits in a way that does not look like it.
const LONG_PATIENCE: i64 = 5_000_000;

/// Operations that a group runs between two looks at what it waits for, at most.
const LOOKS_BUSY: i64 = 1_000;

/// Where a CTA is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// `%ctaid`.
    pub(crate) ctaid: [u32; 3],
    /// `%cluster_ctarank`.
    pub(crate) rank: u32,
    /// The place in residency, from which `%smid` follows.
    pub(crate) slot: u32,
}

/// Where lanes that went different ways meet again.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) pc: u32,
    pub(crate) frame: usize,
    pub(crate) expected: Mask,
    pub(crate) arrived: Mask,
    pub(crate) parent: Option<usize>,
}

/// Why a group does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It does.
    Ready,
    /// At the barrier with this number, of this site of the image.
    Barrier { number: usize, site: Site<BarrierSite> },
    /// For lanes named by the member mask of the operation at its program counter.
    Members,
    /// For what the operation at its program counter asks for; it has asked so often in vain.
    Event { asked: u32, awaited: Awaited },
}

/// Lanes at one program counter.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) pc: u32,
    pub(crate) frame: usize,
    pub(crate) mask: Mask,
    pub(crate) join: Option<usize>,
    pub(crate) wait: Wait,
}

/// What a pack's turn ended with.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nobody in the pack can run.
    Blocked,
    /// The time slice is over.
    Yielded,
    /// A group reached CTA barriers: the CTA must count them.
    Barrier,
    /// All threads have exited.
    Done,
    /// A trap, and the operation that raised it.
    Fault(LaneTrap, u32),
}

/// Up to eight warps.
pub(crate) struct Pack {
    pub(crate) threads: Threads,
    pub(crate) frames: Frames,
    pub(crate) joins: Slab<Join>,
    /// The longest waiting first.
    pub(crate) groups: Vec<Group>,
    /// Groups that arrived at a barrier and have not been counted.
    pub(crate) arrivals: Vec<Group>,
    pub(crate) issued: u64,
    /// Whether it communicated with other threads in its last turn.
    pub(crate) communicated: bool,
    /// What its last group to run waits for or has looked for in vain.
    pub(crate) awaited: Option<(Awaited, u32)>,
    /// Operations run by lanes that others wait for, since somebody last arrived.
    impatience: i64,
    turns: u32,
}

/// The result of one straight run of a group.
pub(super) enum Step {
    /// The group goes on in a later turn.
    Yield,
    /// The group is gone or waits.
    Next,
    Fault(LaneTrap, u32),
}

fn remove(from: &mut Mask, lanes: &Mask) {
    for (f, l) in from.iter_mut().zip(lanes) {
        *f &= !l;
    }
}

fn add(to: &mut Mask, lanes: &Mask) {
    for (t, l) in to.iter_mut().zip(lanes) {
        *t |= l;
    }
}

impl Pack {
    /// The storage of the pack that begins with a warp of its CTA. No thread is in it yet.
    pub(crate) fn new(grid: &Grid<'_>, first_warp: usize) -> Self {
        Self {
            threads: Threads::new(grid, first_warp),
            frames: Frames::default(),
            joins: Slab::new(),
            groups: Vec::new(),
            arrivals: Vec::new(),
            issued: 0,
            communicated: false,
            awaited: None,
            impatience: 0,
            turns: 0,
        }
    }

    /// Puts the threads of a CTA at the kernel's entry. Nothing is left of those that were here before.
    pub(crate) fn begin(&mut self, grid: &Grid<'_>, position: Position) {
        let image = grid.image;
        self.threads.begin(grid, position);
        self.frames.clear();
        self.joins.clear();
        self.groups.clear();
        self.arrivals.clear();
        (self.issued, self.communicated, self.awaited) = (0, false, None);
        (self.impatience, self.turns) = (0, 0);
        let live = self.threads.live;
        let bases = (image.module_local, shared_base(position.rank, grid.shared_start));
        let frame = self.frames.enter(image, image.kernel, bases, live, None);
        let entry = image.code(image.kernel).entry;
        self.groups.push(Group { pc: entry, frame, mask: live, join: None, wait: Wait::Ready });
    }

    /// Runs groups until the turn is over.
    pub(crate) fn run<W: Watch>(
        &mut self,
        grid: &Grid<'_>,
        common: &mut Common,
        scheduler: &mut dyn Scheduler,
        watch: &mut W,
        others: &mut Others<'_>,
        quantum: i64,
    ) -> Outcome {
        let mut fuel = quantum;
        self.communicated = false;
        if let Err((trap, pc)) = self.ask_again(grid, common) {
            return Outcome::Fault(trap, pc);
        }
        loop {
            if self.threads.live == EMPTY {
                return Outcome::Done;
            }
            let ready = self.groups.iter().filter(|g| g.wait == Wait::Ready).count();
            if ready == 0 {
                return match self.arrivals.is_empty() {
                    false => Outcome::Barrier,
                    // What ran may have given others of the pack what they wait for.
                    true if fuel < quantum && self.awaits_events() => Outcome::Yielded,
                    true => Outcome::Blocked,
                };
            }
            if fuel <= 0 {
                return if self.arrivals.is_empty() { Outcome::Yielded } else { Outcome::Barrier };
            }
            self.turns = self.turns.wrapping_add(1);
            let nth = match ready {
                1 => 0,
                _ if self.turns.is_multiple_of(FAIR_TURNS) => 0,
                _ => scheduler.pick(ready),
            };
            let mut indices = self.groups.iter().enumerate().filter(|(_, g)| g.wait == Wait::Ready);
            let chosen = indices.nth(nth).map_or(0, |(i, _)| i);
            let group = self.groups.remove(chosen);
            match self.step(group, grid, common, watch, others, &mut fuel) {
                Step::Yield | Step::Next => {}
                Step::Fault(trap, pc) => return Outcome::Fault(trap, pc),
            }
        }
    }

    /// Runs one group until something happens that needs a decision.
    pub(super) fn step<W: Watch>(
        &mut self,
        mut group: Group,
        grid: &Grid<'_>,
        common: &mut Common,
        watch: &mut W,
        others: &mut Others<'_>,
        fuel: &mut i64,
    ) -> Step {
        let frame = &mut self.frames[group.frame];
        let (files, local_base) = (std::mem::take(&mut frame.files), frame.local_base);
        let mut x = Exec::new(files, grid, &mut self.threads, common);
        x.local_base = local_base;
        x.stack = std::mem::take(&mut frame.stack);
        x.issued = self.issued;
        let mut slice = slice_of(&group, *fuel);
        x.fuel = slice;
        x.set_mask(group.mask);
        let ops = grid.image.ops.as_slice();
        let mut pc = group.pc;
        let outcome = loop {
            x.join_pc = match group.join {
                Some(join) if self.joins[join].frame == group.frame => self.joins[join].pc,
                _ => u32::MAX,
            };
            let mut around = Around {
                frames: &mut self.frames,
                joins: &self.joins,
                groups: &self.groups,
                frame: group.frame,
                others,
            };
            let event = interpret(&mut x, ops, &mut pc, watch, &mut around);
            // If nobody else can run, who completes a join goes on at once, as in a turn of its own.
            if event == event::JOIN
                && self.groups.is_empty()
                && *fuel + x.fuel > slice
                && let Some(whole) = completed(&mut self.joins, &group)
            {
                let spent = slice - x.fuel;
                *fuel -= spent;
                self.impatience = 0;
                if spent > LOOKS_BUSY {
                    self.awaited = None;
                }
                group = whole;
                x.set_mask(group.mask);
                slice = slice_of(&group, *fuel);
                x.fuel = slice;
                continue;
            }
            match event {
                event::DIVERGE => {
                    // The branch is at `pc`; both sides become groups, and one of them goes on here.
                    let Operation::Branch(branch) = ops[pc as usize].operation() else { break event };
                    let mut rest = group.mask;
                    remove(&mut rest, &x.taken);
                    let join = join_at(&mut self.joins, &group, branch.meet);
                    let mut sides = [(branch.target, x.taken), (Target(pc + 1), rest)];
                    // The side that is at the reconvergence point already only waits there.
                    if let Some(j) = join.filter(|&j| self.joins[j].frame == group.frame)
                        && let Some(meet) = branch.meet
                        && let Some(at) = sides.iter().position(|&(target, _)| target == meet)
                    {
                        add(&mut self.joins[j].arrived, &sides[at].1);
                        sides.swap(0, at);
                    } else {
                        let (Target(pc), mask) = sides[0];
                        self.groups.push(Group { pc, mask, join, ..group.clone() });
                    }
                    (group.pc, group.mask) = (sides[1].0.0, sides[1].1);
                    group.join = join;
                    pc = group.pc;
                    x.set_mask(group.mask);
                    if x.fuel < 0 {
                        break event::YIELD;
                    }
                }
                event::SCATTER => {
                    if let Operation::BranchIndexed(branch) = ops[pc as usize].operation() {
                        let join = join_at(&mut self.joins, &group, branch.meet);
                        let mut rest = group.mask;
                        while let Some((target, mask)) = take_target(&x.threads.targets, &mut rest) {
                            let part = Group { pc: target as u32, mask, join, ..group.clone() };
                            self.groups.push(part);
                        }
                    }
                    break event::SCATTER;
                }
                event::YIELD => {
                    group.pc = x.resume;
                    break event::YIELD;
                }
                other => {
                    group.pc = pc;
                    break other;
                }
            }
        };
        // Give the registers back before anything else looks at the frame.
        let spent = slice - x.fuel;
        *fuel -= spent;
        self.issued = x.issued;
        self.communicated |= x.communicated;
        if x.awaited.is_some() || spent > LOOKS_BUSY {
            self.awaited = x.awaited.map(|awaited| (awaited, pc));
        }
        let (trap, trap_at) = (x.trap.take(), x.trap_at);
        let frame = &mut self.frames[group.frame];
        (frame.files, frame.stack) = (x.files, x.stack);
        self.impatience += spent;
        match outcome {
            event::YIELD => {
                self.groups.push(group);
                if self.awaited.is_some() {
                    *fuel = 0;
                }
                if self.impatience > if self.communicated { PATIENCE } else { LONG_PATIENCE } {
                    self.release_join();
                }
                return Step::Yield;
            }
            event::JOIN => self.arrive(group),
            event::EXIT => self.exit(group, grid, common),
            event::RETURN => self.return_from(group, grid.image),
            event::CALL => {
                let pc = group.pc;
                if let Err(trap) = self.call(group, grid, common) {
                    return Step::Fault(trap, pc);
                }
            }
            event::BARRIER => {
                if let &Operation::Barrier(Barrier { site, .. }) = ops[group.pc as usize].operation() {
                    group.pc += 1;
                    group.wait = Wait::Barrier { number: 0, site };
                    self.arrivals.push(group);
                }
            }
            event::CONVERGE | event::MEET => {
                group.wait = Wait::Members;
                self.groups.push(group);
                if let Err((trap, pc)) = self.converge(grid, common) {
                    return Step::Fault(trap, pc);
                }
            }
            event::WAIT => {
                if let Some((awaited, _)) = self.awaited {
                    group.wait = Wait::Event { asked: 0, awaited };
                }
                self.groups.push(group);
            }
            event::FAULT => {
                let trap = trap.unwrap_or(LaneTrap { trap: Trap::Trap, lane: None });
                return Step::Fault(trap, trap_at.unwrap_or(group.pc));
            }
            _ => {}
        }
        Step::Next
    }

    /// Lanes reached their reconvergence point.
    fn arrive(&mut self, group: Group) {
        self.impatience = 0;
        let Some(index) = group.join else {
            self.groups.push(group);
            return;
        };
        add(&mut self.joins[index].arrived, &group.mask);
        self.complete_join(index);
    }

    /// If everyone expected has arrived, they go on together.
    fn complete_join(&mut self, index: usize) {
        let join = &self.joins[index];
        if join.arrived != join.expected {
            return;
        }
        let join = self.joins.remove(index);
        if join.expected != EMPTY {
            let Join { pc, frame, arrived, parent, .. } = join;
            self.groups.push(Group { pc, frame, mask: arrived, join: parent, wait: Wait::Ready });
        }
    }

    /// Lets the lanes that wait at the innermost incomplete join go on without the others. Returns whether any did.
    pub(crate) fn release_join(&mut self) -> bool {
        self.impatience = 0;
        // The youngest first: its lanes hold the most recent work, such as a lock that the others spin on.
        let waiting = self.joins.iter().filter(|(_, j)| j.arrived != EMPTY).map(|(i, _)| i).next_back();
        let Some(index) = waiting else { return false };
        let join = &mut self.joins[index];
        let mask = std::mem::replace(&mut join.arrived, EMPTY);
        remove(&mut join.expected, &mask);
        let group = Group { pc: join.pc, frame: join.frame, mask, join: join.parent, wait: Wait::Ready };
        if join.expected == EMPTY {
            self.joins.remove(index);
        }
        self.groups.push(group);
        true
    }

    /// The lanes of a group end.
    fn exit(&mut self, group: Group, grid: &Grid<'_>, common: &mut Common) {
        self.impatience = 0;
        if let Some(observer) = grid.observer {
            tell_exit(observer, grid.image, &self.threads, &group);
        }
        self.exit_cluster(&group.mask, common);
        remove(&mut self.threads.live, &group.mask);
        let mut join = group.join;
        while let Some(index) = join {
            join = self.joins[index].parent;
            remove(&mut self.joins[index].expected, &group.mask);
            self.complete_join(index);
        }
        let mut frame = Some(group.frame);
        while let Some(index) = frame {
            frame = self.frames[index].caller.map(|c| c.frame);
            self.frames.leave(index, &group.mask);
        }
        // Lanes that waited for these need not any more. A trap here was raised by another group, which will raise it
        // again in its own turn.
        let _ = self.converge(grid, common);
    }

    /// Lanes that exit are not waited for at the cluster barrier.
    fn exit_cluster(&self, lanes: &Mask, common: &mut Common) {
        let phase = if common.barrier.phase() { !0 } else { 0 };
        let (mut exiting, mut arrived) = (0, 0);
        for (warp, &lanes) in lanes.iter().enumerate() {
            let here = lanes & self.threads.at_cluster_barrier[warp];
            exiting += lanes.count_ones();
            arrived += (here & !(self.threads.cluster_phase[warp] ^ phase)).count_ones();
        }
        common.barrier.exit(exiting, arrived);
    }

    /// Enters a function.
    pub(super) fn call(
        &mut self,
        group: Group,
        grid: &Grid<'_>,
        common: &mut Common,
    ) -> Result<(), LaneTrap> {
        let image = grid.image;
        let call = match *image.ops[group.pc as usize].operation() {
            Operation::Call(Call { site, .. }) | Operation::CallIndirect(CallIndirect { site, .. }) => site,
            _ => return Ok(()),
        };
        let function = match image.site(call).callee {
            Callee::Function(function) => function,
            Callee::Builtin(builtin) => {
                self.call_builtin(builtin, image.site(call), &group, grid, common)?;
                self.groups.push(Group { pc: group.pc + 1, ..group });
                return Ok(());
            }
            Callee::Indirect => {
                let mut rest = group.mask;
                let (target, together) =
                    take_target(&self.threads.targets, &mut rest).unwrap_or((0, group.mask));
                if rest != EMPTY {
                    // Each target in a turn of its own; they meet again behind the call.
                    let join = self.joins.insert(Join {
                        pc: group.pc + 1,
                        frame: group.frame,
                        expected: group.mask,
                        arrived: EMPTY,
                        parent: group.join,
                    });
                    let mut rest = group.mask;
                    while let Some((target, mask)) = take_target(&self.threads.targets, &mut rest) {
                        let part = Group { mask, join: Some(join), ..group.clone() };
                        self.enter(part, call, indirect_target(image, target, &mask)?, grid)?;
                    }
                    return Ok(());
                }
                indirect_target(image, target, &together)?
            }
        };
        self.enter(group, call, function, grid)
    }

    fn enter(
        &mut self,
        group: Group,
        call: Site<CallSite>,
        function: FuncId,
        grid: &Grid<'_>,
    ) -> Result<(), LaneTrap> {
        let image = grid.image;
        let (code, site) = (image.code(function), image.site(call));
        let lane = crate::exec::lanes_of(group.mask).next();
        let takes = code.params.len() - usize::from(code.variadic)..=code.params.len();
        if !takes.contains(&site.args.len()) || code.returns.len() != site.returns.len() {
            let name = format!("function #{} takes other parameters than this call passes", function.index());
            return Err(LaneTrap { trap: Trap::InvalidCall(name), lane });
        }
        let caller = &self.frames[group.frame];
        let allocated = crate::exec::lanes_of(group.mask).map(|(w, l)| caller.stack[w][l]).max().unwrap_or(0);
        let base = caller.local_base + image.code(caller.function).frame + allocated.next_multiple_of(16);
        if u64::from(base) + u64::from(code.frame) > u64::from(grid.local) {
            let trap = Trap::StackOverflow { limit: u64::from(grid.local) };
            return Err(LaneTrap { trap, lane });
        }
        let join = self.joins.insert(Join {
            pc: group.pc + 1,
            frame: group.frame,
            expected: group.mask,
            arrived: EMPTY,
            parent: group.join,
        });
        let caller = Caller { frame: group.frame, call, join };
        let bases = (base, shared_base(self.threads.rank, grid.shared_start));
        let callee = self.frames.enter(image, function, bases, group.mask, Some(caller));
        for (&from, &to) in site.args.iter().zip(&code.params) {
            self.copy_between((group.frame, from), (callee, to), &group.mask);
        }
        self.groups.push(Group { pc: code.entry, frame: callee, join: Some(join), ..group });
        Ok(())
    }

    /// The lanes of a group return to their caller.
    fn return_from(&mut self, group: Group, image: &Image) {
        self.impatience = 0;
        let frame = &self.frames[group.frame];
        let Some(caller) = frame.caller else { return };
        let (code, site) = (image.code(frame.function), image.site(caller.call));
        for (&from, &to) in code.returns.iter().zip(&site.returns) {
            self.copy_between((group.frame, from), (caller.frame, to), &group.mask);
        }
        // Lanes that were let go from inner joins may still be expected there.
        let mut join = group.join;
        while let Some(index) = join.filter(|&j| j != caller.join) {
            join = self.joins[index].parent;
            remove(&mut self.joins[index].expected, &group.mask);
            self.complete_join(index);
        }
        self.frames.leave(group.frame, &group.mask);
        // Lanes that have not returned are expected at the return join, so it is still there.
        add(&mut self.joins[caller.join].arrived, &group.mask);
        self.complete_join(caller.join);
    }

    /// Copies a parameter from one frame to another, lane by lane.
    fn copy_between(
        &mut self,
        (from, source): (usize, ParameterLocation),
        (to, target): (usize, ParameterLocation),
        lanes: &Mask,
    ) {
        let size = self.threads.local.len() / (self.frames[from].stack.len() * LANES).max(1);
        let bases = (self.frames[from].local_base, self.frames[to].local_base);
        for (warp, lane) in crate::exec::lanes_of(*lanes) {
            let thread = (warp * LANES + lane) * size;
            match (source, target) {
                (
                    ParameterLocation::Memory { offset: a, bytes: n },
                    ParameterLocation::Memory { offset: b, bytes: m },
                ) => {
                    let start = thread + (bases.0 + a) as usize;
                    self.threads
                        .local
                        .copy_within(start..start + n.min(m) as usize, thread + (bases.1 + b) as usize);
                }
                (ParameterLocation::Register(a), ParameterLocation::Register(b)) => {
                    let value = self.frames[from].files.read(a, warp, lane);
                    self.frames[to].files.write(b, warp, lane, value);
                }
                (ParameterLocation::Predicate(a), ParameterLocation::Predicate(b)) => {
                    let holds = self.frames[from].files.p[a.index() + warp];
                    self.frames[to].files.write_predicate(b, warp, 1 << lane, holds);
                }
                // A predicate that all threads have alike is a number.
                (ParameterLocation::Register(a), ParameterLocation::Predicate(b)) => {
                    let holds = self.frames[from].files.read(a, warp, lane) != 0;
                    self.frames[to].files.write_predicate(b, warp, 1 << lane, if holds { !0 } else { 0 });
                }
                // The checker refuses calls that mix the kinds; what nobody reads is no bytes of memory.
                _ => {}
            }
        }
    }

    /// Groups at the same place that nothing keeps apart become one.
    pub(crate) fn coalesce(&mut self) {
        let mut kept = 0;
        for i in 0..self.groups.len() {
            let (merged, rest) = self.groups.split_at_mut(kept);
            let group = &rest[i - kept];
            let same = |g: &&mut Group| {
                g.wait == Wait::Ready
                    && group.wait == Wait::Ready
                    && (g.pc, g.frame, g.join) == (group.pc, group.frame, group.join)
            };
            match merged.iter_mut().find(same) {
                Some(g) => add(&mut g.mask, &group.mask),
                None => {
                    self.groups.swap(kept, i);
                    kept += 1;
                }
            }
        }
        self.groups.truncate(kept);
    }
}

#[cold]
fn tell_exit(observer: &dyn Observer, image: &Image, threads: &Threads, group: &Group) {
    let origin = image.origins[group.pc as usize];
    for (warp, &mask) in group.mask.iter().enumerate().filter(|(_, m)| **m != 0) {
        observer.happening(&Happening::Exited(Lanes {
            block: threads.ctaid,
            warp: threads.first_warp + warp as u32,
            mask,
            place: (origin.function, origin.instruction),
        }));
    }
}

fn indirect_target(image: &Image, address: u64, lanes: &Mask) -> Result<FuncId, LaneTrap> {
    image.function_at(address).ok_or_else(|| LaneTrap {
        trap: Trap::InvalidCall(format!("{address:#x} is not the address of a function")),
        lane: crate::exec::lanes_of(*lanes).next(),
    })
}

/// The join of a split whose lanes meet at a place: the group's own if it meets there anyway, a new one otherwise. If they
/// meet only where the function ends, there is no place.
fn join_at(joins: &mut Slab<Join>, group: &Group, meet: Option<Target>) -> Option<usize> {
    let Some(Target(pc)) = meet else { return group.join };
    let here = |j: usize| joins[j].pc == pc && joins[j].frame == group.frame;
    if group.join.is_some_and(here) {
        return group.join;
    }
    let join = Join { pc, frame: group.frame, expected: group.mask, arrived: EMPTY, parent: group.join };
    Some(joins.insert(join))
}

/// The group that goes on at a join at which this one arrives, if it is the last.
fn completed(joins: &mut Slab<Join>, group: &Group) -> Option<Group> {
    let index = group.join?;
    let &Join { pc, frame, expected, mut arrived, parent } = &joins[index];
    add(&mut arrived, &group.mask);
    if arrived != expected {
        return None;
    }
    joins.remove(index);
    Some(Group { pc, frame, mask: arrived, join: parent, wait: Wait::Ready })
}

/// How many operations a group may run before others are looked at, in what is left of a turn.
fn slice_of(group: &Group, fuel: i64) -> i64 {
    if group.join.is_some() { PATIENCE.min(fuel) } else { fuel }
}

/// Takes from the lanes that are left the first one and all that go where it goes.
fn take_target(targets: &[[u64; LANES]], rest: &mut Mask) -> Option<(u64, Mask)> {
    let (warp, lane) = crate::exec::lanes_of(*rest).next()?;
    let target = targets[warp][lane];
    let mut mask = EMPTY;
    for (warp, lane) in crate::exec::lanes_of(*rest) {
        mask[warp] |= u32::from(targets[warp][lane] == target) << lane;
    }
    for (left, taken) in rest.iter_mut().zip(mask) {
        *left &= !taken;
    }
    Some((target, mask))
}

/// The dispatch loop: runs operations from `pc` until one returns an event, and leaves `pc` at that operation.
#[inline(always)]
fn interpret<W: Watch>(
    x: &mut Exec<'_>,
    ops: &[Op],
    pc: &mut u32,
    watch: &mut W,
    around: &mut Around<'_, '_>,
) -> u32 {
    let mut at = *pc;
    loop {
        let op = &ops[at as usize];
        if W::ACTIVE {
            watch.before(x, at, around);
        }
        x.at = at;
        // SAFETY: operations of an image were selected for this host (see `ops::select`).
        let step = |x: &mut Exec<'_>| unsafe { (op.execute)(x, op.operation(), at) };
        let next = watch.execute(x, at, step);
        if next >= event::FIRST {
            *pc = at;
            return next;
        }
        at = next;
    }
}
