//! Which kernels have CTAs that work apart: they share global memory, and have no means to tell one another of it. So nothing orders
//! what two of them do, whoever comes first, and whatever they do can be undone by putting memory back.

use crate::site::{Action, Site, Sites};
use ptx::isa::{Access, Effects, Flow, Footprint, Meeting, Proxy};
use ptx::module::{FuncId, FunctionKind, Instruction, Module};
use ptx::types::StateSpace;

/// Whether the CTAs of a kernel do; its module has a number. If it calls anything, that may be every function of the module.
pub(crate) fn works_apart(sites: &Sites, (number, module): (u32, &Module), kernel: FuncId) -> bool {
    let stays = |function: FuncId| {
        let Some(body) = &module.functions[function.index()].body else { return false };
        (0..).zip(&body.instructions).all(|(at, instruction)| {
            let Site { action, strong, .. } = *sites.get(sites.id(number, function, at));
            let followed = matches!(
                action,
                Action::None | Action::Access(_) | Action::CompareAndSwap | Action::Rows { .. }
            );
            followed && stays_inside(module, instruction, strong)
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

/// Whether an instruction does nothing that is noticed outside of its CTA but weak loads and stores.
fn stays_inside(module: &Module, instruction: &Instruction, strong: bool) -> bool {
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
                Access::Atomic | Access::CompareAndSwap | Access::Reduce => by_lane && inside,
                Access::Mbarrier(_) => false,
            }
        })
}
