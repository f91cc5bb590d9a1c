//! Which kernels have CTAs that work apart: they share global memory, and have no means to tell one another of it. So nothing orders
//! what two of them do, whoever comes first, and whatever they do can be undone by putting memory back.
//!
//! Relaxed atomics whose results nobody reads are no such means: they order nothing, and no thread knows what they have found. (With
//! results a thread may do one thing or another, by who has come first; what is found would depend on the host's threads.)

use crate::site::{Action, Site, Sites};
use ir::{Access as Use, Function as LoweredFunction};
use memory_model::event::{Order, Scope};
use ptx::isa::{Access, Effects, Flow, Footprint, Meeting, Proxy};
use ptx::module::{FuncId, FunctionKind, Instruction, Module, Param, RegId};
use ptx::types::StateSpace;
use rustc_hash::FxHashSet;
use std::cell::LazyCell;

/// Whether the CTAs of a kernel do; its module has a number. If it calls anything, that may be every function of the module.
pub(crate) fn works_apart(sites: &Sites, (number, module): (u32, &Module), kernel: FuncId) -> bool {
    let stays = |function: FuncId| {
        let Some(body) = &module.functions[function.index()].body else { return false };
        let results = LazyCell::new(|| Results::new(module, function));
        (0..).zip(&body.instructions).all(|(at, instruction)| {
            let site = sites.get(sites.id(number, function, at));
            let followed = matches!(
                site.action,
                Action::None | Action::Access(_) | Action::CompareAndSwap | Action::Rows { .. }
            );
            let counts = || site.counts() && results.as_ref().is_some_and(|results| results.are_unread(at));
            followed && stays_inside(module, instruction, site.strong, counts)
        })
    };
    let calls = |instruction: &Instruction| {
        let effects = module.opcode(instruction).sem().map(|sem| sem.effects());
        effects.is_none_or(|effects| effects.flow == Flow::Call)
    };
    let calls = module.functions[kernel.index()].body.iter().flat_map(|body| &body.instructions).any(calls);
    let mut others = (0..).map(FuncId).zip(&module.functions);
    stays(kernel) && (!calls || others.all(|(at, other)| other.kind == FunctionKind::Entry || stays(at)))
}

impl Site {
    /// Whether it is morally strong to whatever other CTAs do so to the same element, and orders nothing.
    fn counts(&self) -> bool {
        self.order == Order::Relaxed && self.scope >= Scope::Gpu && matches!(self.element, 4 | 8)
    }
}

/// The registers of a function that some instruction reads. (A guard leaves a register as it was, which is no use of what it has.)
struct Results<'m> {
    function: LoweredFunction<'m>,
    read: FxHashSet<RegId>,
}

impl<'m> Results<'m> {
    /// `None` if some instruction is not known.
    fn new(module: &'m Module, function: FuncId) -> Option<Self> {
        let declared = &module.functions[function.index()];
        let lowered = LoweredFunction::lower(module, function)?;
        let mut read = FxHashSet::default();
        for at in 0..declared.body.as_ref()?.instructions.len() as u32 {
            let instruction = lowered.instruction(at)?;
            instruction.registers(&mut |register, access| match access {
                Use::ReadWrite if instruction.guard.is_some() => {}
                Use::Read | Use::ReadWrite => _ = read.insert(register),
                Use::Write => {}
            });
        }
        for param in &declared.returns {
            if let Param::Register(register) = param {
                read.insert(*register);
            }
        }
        Some(Self { function: lowered, read })
    }

    /// Whether nobody reads what an instruction writes.
    fn are_unread(&self, at: u32) -> bool {
        let Some(instruction) = self.function.instruction(at) else { return false };
        let mut unread = true;
        instruction.registers(&mut |register, access| match access {
            Use::Read => {}
            Use::Write | Use::ReadWrite => unread &= !self.read.contains(&register),
        });
        unread
    }
}

/// Whether an instruction does nothing that is noticed outside of its CTA but weak loads and stores, and atomics that count.
fn stays_inside(module: &Module, instruction: &Instruction, strong: bool, counts: impl Fn() -> bool) -> bool {
    /// Spaces that no other CTA has, or that nobody writes.
    const INSIDE: [StateSpace; 5] = [
        StateSpace::Shared,
        StateSpace::Local,
        StateSpace::ParamEntry,
        StateSpace::ParamFunc,
        StateSpace::Const,
    ];
    let opcode = module.opcode(instruction);
    let Some(sem) = opcode.sem() else { return false };
    let Effects { barrier, memory, asynchronous, groups, state, .. } = sem.effects();
    let spaces = || (0..opcode.data().operands.len()).filter_map(|at| opcode.operand_space(at));
    let inside = spaces().next().is_some() && spaces().all(|space| INSIDE.contains(&space));
    let simple = barrier.is_none_or(|barrier| barrier.of == Meeting::Cta)
        && asynchronous.is_none()
        && groups.is_none()
        && !state.outside;
    simple
        && memory.iter().all(|effect| {
            let by_lane = effect.proxy == Proxy::Generic && effect.footprint == Footprint::Lane;
            let rows = effect.proxy == Proxy::Generic && effect.footprint == Footprint::Rows && inside;
            match effect.access {
                Access::Load | Access::Store => rows || by_lane && (inside || !strong),
                Access::Atomic | Access::Reduce => by_lane && (inside || counts()),
                Access::CompareAndSwap => by_lane && inside,
                Access::Mbarrier(_) => false,
            }
        })
}
