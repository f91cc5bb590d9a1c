//! Which kernels have CTAs that work apart: they share global memory, and have no means to tell one another of it. So nothing orders
//! what two of them do, whoever comes first. Relaxed atomics whose results nobody reads are no such means: they order nothing, and no
//! thread knows what they have found.
//!
//! And which have CTAs that talk by strong operations on global memory and fences alone, each of which is done at one time. Of both, whatever
//! they do can be undone by putting memory back.

use crate::site::{Action, Site, Sites};
use memory_model::event::{Order, Scope};
use ptx::isa::{Access, Effects, Flow, Footprint, Meeting, Proxy, Role};
use ptx::module::{
    AddressBase, Body, FuncId, Function, FunctionKind, Instruction, Module, Operand, Param, RegId,
};
use ptx::types::StateSpace;
use std::cell::LazyCell;

/// How CTAs of a kernel work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Apart,
    /// They talk by strong loads and stores alone.
    Signalling,
    /// By atomics as well.
    Talking,
    /// In a way that is followed in one order of everything alone.
    InOrder,
}

/// How those of a kernel do; its module has a number. If it calls anything, that may be every function of the module.
pub(crate) fn manner_of(sites: &Sites, (number, module): (u32, &Module), kernel: FuncId) -> Manner {
    let stays = |function: FuncId, manner: Manner| {
        let Some(body) = &module.functions[function.index()].body else { return false };
        let results = LazyCell::new(|| Results::new(module, function));
        (0..).zip(&body.instructions).all(|(at, instruction)| {
            let site = sites.get(sites.id(number, function, at));
            let followed = match site.action {
                Action::None | Action::Access(_) | Action::CompareAndSwap | Action::Rows { .. } => true,
                Action::Fence => manner != Manner::Apart,
                _ => false,
            };
            let counts =
                || site.counts() && results.as_ref().is_some_and(|results| results.are_unread(instruction));
            let outside = match manner {
                Manner::Apart => Outside::Weak { strong: site.strong, counts: &counts },
                Manner::Signalling => Outside::LoadsAndStores,
                Manner::Talking | Manner::InOrder => Outside::Everything,
            };
            followed && stays_inside(module, instruction, outside)
        })
    };
    let calls = |instruction: &Instruction| {
        let effects = module.opcode(instruction).sem().map(|sem| sem.effects());
        effects.is_none_or(|effects| effects.flow == Flow::Call)
    };
    let calls = module.functions[kernel.index()].body.iter().flat_map(|body| &body.instructions).any(calls);
    let all = |manner: &Manner| {
        let mut others = (0..).map(FuncId).zip(&module.functions);
        let stay = |(at, other): (FuncId, &Function)| other.kind == FunctionKind::Entry || stays(at, *manner);
        stays(kernel, *manner) && (!calls || others.all(stay))
    };
    [Manner::Apart, Manner::Signalling, Manner::Talking].into_iter().find(all).unwrap_or(Manner::InOrder)
}

impl Site {
    /// Whether it is morally strong to whatever other CTAs do so to the same element, and orders nothing.
    fn counts(&self) -> bool {
        self.order == Order::Relaxed && self.scope >= Scope::Gpu && matches!(self.element, 4 | 8)
    }
}

/// The registers of a function, and which of them some instruction reads.
struct Results<'m> {
    module: &'m Module,
    body: &'m Body,
    read: Vec<bool>,
}

impl<'m> Results<'m> {
    fn new(module: &'m Module, function: FuncId) -> Option<Self> {
        let declared = &module.functions[function.index()];
        let body = declared.body.as_ref()?;
        let mut read = vec![false; body.registers.len()];
        let mut reads = |RegId(register)| read[register as usize] = true;
        for instruction in &body.instructions {
            instruction.guard.iter().for_each(|guard| reads(guard.register));
            for (role, operand) in operands(module, body, instruction) {
                each_register(body, operand, &mut |register, of_address| {
                    if of_address || role != Role::Write {
                        reads(register);
                    }
                });
            }
        }
        for param in &declared.returns {
            if let Param::Register(register) = param {
                reads(*register);
            }
        }
        Some(Self { module, body, read })
    }

    /// Whether nobody reads what an instruction writes.
    fn are_unread(&self, instruction: &Instruction) -> bool {
        let mut unread = true;
        for (_, operand) in
            operands(self.module, self.body, instruction).filter(|(role, _)| *role != Role::Read)
        {
            each_register(self.body, operand, &mut |RegId(register), _| {
                unread &= !self.read[register as usize]
            });
        }
        unread
    }
}

/// The operands of an instruction, and what it does with them.
pub(crate) fn operands<'m>(
    module: &'m Module,
    body: &'m Body,
    instruction: &Instruction,
) -> impl Iterator<Item = (Role, &'m Operand)> {
    let specs = module.opcode(instruction).data().operands;
    specs.iter().map(|spec| spec.role).zip(body.operands(instruction))
}

/// Visits the registers in an operand, and tells whether they are of addresses.
pub(crate) fn each_register(body: &Body, operand: &Operand, visit: &mut dyn FnMut(RegId, bool)) {
    match operand {
        Operand::Register(register) | Operand::NotPredicate(register) | Operand::Part { register, .. } => {
            visit(*register, false);
        }
        Operand::Address { base: AddressBase::Register(register), .. } => visit(*register, true),
        Operand::Vector(list) => {
            body.elements(list).iter().for_each(|element| each_register(body, element, visit));
        }
        Operand::Absent
        | Operand::Sink
        | Operand::Immediate(_)
        | Operand::Special { .. }
        | Operand::SymbolAddress { .. }
        | Operand::Address { .. }
        | Operand::Label(_)
        | Operand::Function(_)
        | Operand::Prototype(_)
        | Operand::Table(_) => {}
    }
}

/// What an instruction may do outside of its CTA to single elements.
#[derive(Clone, Copy)]
enum Outside<'a> {
    /// Weak loads and stores, unless it is strong, and atomics that count.
    Weak {
        strong: bool,
        counts: &'a dyn Fn() -> bool,
    },
    LoadsAndStores,
    Everything,
}

/// Whether an instruction does nothing else that is noticed outside of its CTA.
fn stays_inside(module: &Module, instruction: &Instruction, outside: Outside<'_>) -> bool {
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
            let goes = match (effect.access, outside) {
                (Access::Mbarrier(_), _) => return false,
                (_, Outside::Everything) => true,
                (Access::Load | Access::Store, Outside::Weak { strong, .. }) => !strong,
                (Access::Atomic | Access::Reduce, Outside::Weak { counts, .. }) => counts(),
                (Access::Load | Access::Store, Outside::LoadsAndStores) => true,
                (Access::CompareAndSwap, Outside::Weak { .. }) | (_, Outside::LoadsAndStores) => false,
            };
            rows && matches!(effect.access, Access::Load | Access::Store) || by_lane && (inside || goes)
        })
}
