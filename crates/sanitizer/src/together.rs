//! Loads side by side in the text that have one base register: whoever is told of the first of them knows what all of them access. An
//! unrolled loop over a tile has dozens, of which nobody needs to be told one by one.
//!
//! Between the first, which *leads*, and one that *follows* there is nothing by which threads learn anything, or tell it, and no change of memory
//! that others have; lanes, base and guard stay what they are. So it makes no difference to a race whether the load is judged then or when its turn
//! comes, but that what another thread has stored meanwhile counts as the later one of both.

use crate::apart::{each_register, operands};
use crate::detector::Detector;
use crate::site::{Action, Site};
use machine::fault::Access;
use machine::observe::{Issue, PackAccess, PackAddresses};
use ptx::isa::{self, Convergence, Effects, Flow, Modifier, Proxy, Role, Slot};
use ptx::module::{AddressBase, Body, FuncId, Guard, Instruction, Module, Operand, RegId};
use ptx::types::StateSpace;
use std::ops::Range;

/// A load that follows another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Follower {
    /// How many instructions behind that, and how much further on it accesses memory.
    pub(crate) behind: u32,
    pub(crate) further: i64,
    /// Bytes a lane.
    pub(crate) bytes: u32,
}

/// Followers of an instruction, in the list of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Followers {
    first: u32,
    count: u32,
}

impl Followers {
    pub(crate) fn is_empty(self) -> bool {
        self.count == 0
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Puts some behind all that are known.
    pub(crate) fn added(all: &mut Vec<Follower>, new: &[Follower]) -> Self {
        let first = all.len() as u32;
        all.extend_from_slice(new);
        Self { first, count: new.len() as u32 }
    }
}

/// Loads that have been side by side so far.
struct Team {
    leader: u32,
    base: RegId,
    space: StateSpace,
    guard: Option<Guard>,
    offset: i64,
    followers: Vec<Follower>,
}

/// The teams of a function, one instruction after the other.
pub(crate) struct Teams<'m> {
    module: &'m Module,
    body: &'m Body,
    /// Where labels are, the last ones first.
    labels: Vec<u32>,
    open: Vec<Team>,
    done: Vec<(u32, Vec<Follower>)>,
}

impl<'m> Teams<'m> {
    pub(crate) fn new(module: &'m Module, function: FuncId) -> Option<Self> {
        let body = module.functions[function.index()].body.as_ref()?;
        let mut labels: Vec<u32> = body.labels.iter().map(|label| label.target).collect();
        labels.sort_unstable_by(|a, b| b.cmp(a));
        Some(Self { module, body, labels, open: Vec::new(), done: Vec::new() })
    }

    /// The next instruction, what it is, and its effects as far as they are known.
    pub(crate) fn add(&mut self, instruction: &Instruction, site: &Site, effects: Option<&Effects>) {
        let at = site.instruction;
        while self.labels.last().is_some_and(|label| *label <= at) {
            self.labels.pop();
            self.end(|_| true);
        }
        let load = self.load(instruction, site);
        if load.is_none() && !effects.is_some_and(|effects| is_silent(site, effects)) {
            return self.end(|_| true);
        }
        if let Some((base, space, offset, bytes)) = load {
            let guard = instruction.guard;
            let same = |team: &&mut Team| (team.base, team.space, team.guard) == (base, space, guard);
            match self.open.iter_mut().find(same) {
                Some(team) => {
                    let further = offset.wrapping_sub(team.offset);
                    team.followers.push(Follower { behind: at - team.leader, further, bytes });
                }
                None => {
                    self.open.push(Team { leader: at, base, space, guard, offset, followers: Vec::new() });
                }
            }
        }
        if self.open.is_empty() {
            return;
        }
        let (mut written, body) = (Vec::new(), self.body);
        for (_, operand) in operands(self.module, body, instruction).filter(|(role, _)| *role != Role::Read) {
            each_register(body, operand, &mut |register, of_address| {
                if !of_address {
                    written.push(register);
                }
            });
        }
        self.end(|team| {
            let depends = |register: &RegId| {
                team.base == *register || team.guard.is_some_and(|guard| guard.register == *register)
            };
            written.iter().any(depends)
        });
    }

    /// The leaders with their followers.
    pub(crate) fn finish(mut self) -> Vec<(u32, Vec<Follower>)> {
        self.end(|_| true);
        self.done
    }

    /// No more loads belong to some.
    fn end(&mut self, ends: impl FnMut(&mut Team) -> bool) {
        if self.open.is_empty() {
            return;
        }
        let over = self.open.extract_if(.., ends).filter(|team| !team.followers.is_empty());
        self.done.extend(over.map(|team| (team.leader, team.followers)));
    }

    /// What a load of each lane has as its base, in which space, what it adds, and how many bytes it reads; if it is weak.
    fn load(&self, instruction: &Instruction, site: &Site) -> Option<(RegId, StateSpace, i64, u32)> {
        if site.action != Action::Access(Access::Load) || site.is_strong() || site.own {
            return None;
        }
        let opcode = self.module.opcode(instruction);
        let elements = opcode.get(Slot::Vec).map_or(Some(1), Modifier::vector_length)?;
        let bytes = opcode.ty(Slot::Type)?.bytes() * elements;
        let mut addresses =
            (0..).zip(self.body.operands(instruction)).filter_map(|(at, operand)| match operand {
                Operand::Address { base: AddressBase::Register(base), offset } => {
                    Some((*base, opcode.operand_space(at)?, *offset, bytes))
                }
                _ => None,
            });
        addresses.next()
    }
}

/// Whether nobody notices that a thread executes an instruction, and that takes no other lanes; it may read what others have.
fn is_silent(site: &Site, effects: &Effects) -> bool {
    let Effects { flow, convergence, barrier, memory, fence, asynchronous, groups, state, waits, .. } =
        effects;
    let reads = |effect: &isa::MemoryEffect| {
        effect.proxy == Proxy::Generic && effect.access == isa::Access::Load && !site.is_strong()
    };
    *flow == Flow::Next
        && *convergence == Convergence::Thread
        && barrier.is_none()
        && fence.is_none()
        && asynchronous.is_none()
        && groups.is_none()
        && !state.outside
        && !waits
        && (site.own && !site.is_strong() || memory.iter().all(reads))
}

/// The same addresses so much further on.
pub(crate) fn moved(addresses: PackAddresses<'_>, further: i64) -> PackAddresses<'_> {
    match addresses {
        PackAddresses::Uniform(address) => PackAddresses::Uniform(address.wrapping_add_signed(further)),
        PackAddresses::Narrow(planes, offset) => {
            PackAddresses::Narrow(planes, offset.wrapping_add(further as u32))
        }
        PackAddresses::Wide(planes, offset) => {
            PackAddresses::Wide(planes, offset.wrapping_add_signed(further))
        }
    }
}

impl Detector {
    /// Whether it is told of followers with their leaders: not if something may happen between them, or is of interest there.
    pub(crate) fn is_told_together(&self) -> bool {
        let by_locks = self.checks.locks || self.checks.predict;
        !by_locks && !self.registers_change && self.forgives == 0
    }

    /// Calls for an instruction and for those that follow it.
    pub(crate) fn each_of_team(
        &mut self,
        launch: usize,
        issue: &Issue<'_>,
        mut act: impl FnMut(&mut Self, &Issue<'_>),
    ) {
        let followers = self.site_of(launch, issue).followers;
        act(self, issue);
        let Some(access) = issue.access.filter(|_| !followers.is_empty() && self.is_told_together()) else {
            return;
        };
        for at in followers.range() {
            let Follower { behind, further, bytes } = self.sites.followers()[at];
            let access = PackAccess { bytes, addresses: moved(access.addresses, further), ..access };
            let instruction = issue.instruction + behind;
            act(self, &Issue { instruction, access: Some(access), ..*issue });
        }
    }
}
