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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Sites;
    use machine::lanes::Plane;

    /// A leader with its followers: instructions, how much further on these read, and how many bytes.
    type Found = (u32, Vec<(u32, i64, u32)>);

    /// The teams of a kernel with a body.
    fn teams(body: &str) -> Vec<Found> {
        let text = format!(
            ".version 8.0
            .target sm_90
            .address_size 64
            .visible .entry k()
            {{
                .reg .pred %p<3>;
                .reg .b16 %h<3>;
                .reg .b32 %r<9>;
                .reg .b64 %d<3>;
                {body}
                ret;
            }}"
        );
        let source = ptx::source::Source::new("together.ptx", text);
        let (module, _) = ptx::compile(&source).into_result().expect("the text is correct");
        let mut sites = Sites::default();
        let number = sites.add(&module);
        let count = module.functions[0].body.as_ref().map_or(0, |body| body.instructions.len());
        let followers = |at: u32| {
            let followers = sites.get(sites.id(number, FuncId(0), at)).followers;
            let of = |of: &Follower| (at + of.behind, of.further, of.bytes);
            (at, sites.followers()[followers.range()].iter().map(of).collect::<Vec<_>>())
        };
        let all: Vec<_> =
            (0..count as u32).map(followers).filter(|(_, followers)| !followers.is_empty()).collect();
        let mut follow: Vec<u32> = all.iter().flat_map(|(_, all)| all.iter().map(|(at, ..)| *at)).collect();
        follow.sort_unstable();
        let told = |at: &u32| sites.get(sites.id(number, FuncId(0), *at)).follows;
        assert_eq!((0..count as u32).filter(told).collect::<Vec<_>>(), follow);
        all
    }

    #[test]
    fn loads_of_one_base_follow_the_first() {
        let found = teams(
            "ld.shared.u32 %r0, [%r7+8];
            ld.global.u32 %r1, [%d0];
            add.u32 %r2, %r0, %r1;
            ld.shared.v2.u32 {%r3, %r4}, [%r7];
            ld.shared.u16 %h0, [%r7+24];
            ld.global.u32 %r1, [%d0+-4];
            ld.global.u32 %r1, [%d1];",
        );
        assert_eq!(found, [(0, vec![(3, -8, 8), (4, 16, 2)]), (1, vec![(5, -4, 4)])]);
    }

    #[test]
    fn nothing_follows_over_what_others_notice_or_what_changes_where_it_reads() {
        let load = "ld.shared.u32 %r0, [%r7];\n";
        let guarded = "@%p0 ld.shared.u32 %r0, [%r7];\n";
        let between = [
            "st.shared.u32 [%r6], %r0;",
            "bar.sync 0;",
            "bar.warp.sync -1;",
            "fence.acq_rel.gpu;",
            "ld.acquire.gpu.global.u32 %r1, [%d0];",
            "ld.volatile.global.u32 %r1, [%d0];",
            "atom.global.add.u32 %r1, [%d0], 1;",
            "red.shared.add.u32 [%r6], 1;",
            "add.u32 %r7, %r7, 4;",
            "ld.shared.v2.u32 {%r6, %r7}, [%r5];",
            "@%p1 mov.u32 %r7, 0;",
            "nanosleep.u32 20;",
            "here:",
            "@%p1 bra there; there:",
            "@%p1 ret;",
        ];
        for between in between {
            assert_eq!(teams(&format!("{load}{between}\n{load}")), [], "{between}");
        }
        for between in ["", "setp.eq.u32 %p1, %r0, 0;", "ld.global.u32 %r1, [%d0];", "shl.b32 %r1, %r0, 2;"] {
            assert_eq!(teams(&format!("{load}{between}\n{load}")).len(), 1, "{between}");
        }
        assert_eq!(teams(&format!("{guarded}{guarded}")).len(), 1);
        assert_eq!(teams(&format!("{guarded}setp.eq.u32 %p0, %r0, 0;\n{guarded}")), []);
        assert_eq!(teams(&format!("{guarded}{load}@!%p0 {load}")), []);
    }

    #[test]
    fn moved_addresses_are_those_of_followers() {
        let wide = [Plane([0x1000; 32])];
        let narrow = [Plane([0x40; 32])];
        assert_eq!(moved(PackAddresses::Wide(&wide, 8), -16).lanes(0), [0xff8; 32]);
        assert_eq!(moved(PackAddresses::Narrow(&narrow, 4), -8).lanes(0), [0x3c; 32]);
        assert_eq!(moved(PackAddresses::Uniform(0x80), 0x10).lanes(0), [0x90; 32]);
    }
}
