//! Which kernels have CTAs that work apart: they share global memory, and have no means to tell one another of it. So nothing orders
//! what two of them do, whoever comes first, and whatever they do can be undone by putting memory back.

use crate::site::{Action, Sites};
use ptx::isa::{Access, Effects, Flow, Footprint, Meeting, Proxy};
use ptx::module::{FuncId, Instruction, Module};
use ptx::types::StateSpace;

/// Whether the CTAs of a kernel do; its module has a number.
pub(crate) fn works_apart(sites: &Sites, (number, module): (u32, &Module), kernel: FuncId) -> bool {
    let Some(body) = &module.functions[kernel.index()].body else { return false };
    (0..).zip(&body.instructions).all(|(at, instruction)| {
        let action = sites.get(sites.id(number, kernel, at)).action;
        let followed =
            matches!(action, Action::None | Action::Access(_) | Action::CompareAndSwap | Action::Rows { .. });
        followed && stays_inside(module, instruction, sites.get(sites.id(number, kernel, at)).strong)
    })
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
    let Effects { flow, barrier, memory, asynchronous, groups, state, .. } = sem.effects();
    let spaces = || (0..opcode.data().operands.len()).filter_map(|at| opcode.operand_space(at));
    let inside = spaces().next().is_some() && spaces().all(|space| INSIDE.contains(&space));
    let simple = *flow != Flow::Call
        && barrier.is_none_or(|barrier| barrier.of == Meeting::Cta)
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
