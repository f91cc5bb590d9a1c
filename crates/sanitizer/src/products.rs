//! Registers of `wgmma` (PTX ISA, "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group"): a product reads its fragments of A
//! and D and writes D at any time until its group has been waited for, and sees of what threads write to them what a fence
//! has shown it. And those of `tcgen05.ld`, which are written at any time until `tcgen05.wait::ld`.

use ir::instruction::Wgmma;
use ir::{Access, Op};
use machine::observe::Lanes;
use ptx::isa::{Group, GroupEffect};
use ptx::module::{FuncId, Module, RegId};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// What an instruction is to the products of its function.
#[derive(Debug)]
pub(crate) enum Step {
    /// `wgmma.mma_async`: the registers of A and of D.
    Multiply { a: Vec<RegId>, d: Vec<RegId> },
    /// `wgmma.fence`.
    Fence,
    /// `wgmma.commit_group`.
    Commit,
    /// `wgmma.wait_group`: for all groups but the last ones.
    Wait { but: u32 },
    /// `tcgen05.ld`.
    Load { d: Vec<RegId> },
    /// `tcgen05.wait::ld`.
    WaitLd,
    /// Anything else, which reads registers and writes some.
    Other { reads: Vec<RegId>, writes: Vec<RegId> },
}

/// The steps of a function, by instruction; `None` if it has neither products nor loads.
pub(crate) fn steps(module: &Module, function: FuncId) -> Option<Arc<[Step]>> {
    let body = module.functions[function.index()].body.as_ref()?;
    let of_groups = |instruction: &ptx::module::Instruction| {
        let group = module.opcode(instruction).sem().and_then(|sem| sem.effects().asynchronous);
        matches!(group, Some(Group::Wgmma | Group::TensorLoad))
    };
    if !body.instructions.iter().any(of_groups) {
        return None;
    }
    let lowered = ir::Function::lower(module, function)?;
    Some((0..body.instructions.len() as u32).map(|index| step(&lowered, index)).collect())
}

/// Groups of what is neither.
macro_rules! other {
    () => {
        Group::Copy | Group::Bulk | Group::Mbarrier | Group::TensorCore | Group::TensorStore
    };
}

fn step(function: &ir::Function<'_>, index: u32) -> Step {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let Some(instruction) = function.instruction(index) else { return Step::Other { reads, writes } };
    if let Op::Wgmma(product) = &instruction.op {
        return multiply(product);
    }
    if let Op::Tcgen05Ld(load) = &instruction.op {
        return Step::Load { d: load.d.iter().filter_map(|d| d.0).collect() };
    }
    match instruction.op.effects().groups {
        Some(GroupEffect::Wait(Group::TensorLoad)) => return Step::WaitLd,
        Some(GroupEffect::Commit(Group::Wgmma)) => return Step::Commit,
        Some(GroupEffect::Order(Group::Wgmma)) => return Step::Fence,
        Some(GroupEffect::Wait(Group::Wgmma)) => {
            if let Op::WgmmaWaitGroup(wait) = &instruction.op {
                return Step::Wait { but: wait.n as u32 };
            }
        }
        Some(
            GroupEffect::Commit(Group::TensorLoad | other!())
            | GroupEffect::Wait(other!())
            | GroupEffect::Order(Group::TensorLoad | other!())
            | GroupEffect::Arrive(Group::Wgmma | Group::TensorLoad | other!()),
        )
        | None => {}
    }
    instruction.registers(&mut |register, access| match access {
        Access::Read => reads.push(register),
        Access::Write | Access::ReadWrite => writes.push(register),
    });
    Step::Other { reads, writes }
}

fn multiply(product: &Wgmma) -> Step {
    let registers = |values: &[ir::operand::Value]| {
        let of_value = |value: &ir::operand::Value| match value {
            ir::operand::Value::Register(register) => Some(*register),
            _ => None,
        };
        values.iter().filter_map(of_value).collect()
    };
    let a = product.a.as_deref().map_or_else(Vec::new, registers);
    Step::Multiply { a, d: product.d.iter().filter_map(|d| d.0).collect() }
}

/// What is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// `wgmma.fence` between the writes of registers and a product of them.
    Fence,
    /// `wgmma.commit_group` before the wait.
    Commit,
    /// `wgmma.wait_group`.
    Wait,
    /// `tcgen05.wait::ld`.
    WaitLd,
}

/// Products, and loads, of a warp that are remembered. One that is forgotten counts as waited for.
const PRODUCTS: usize = 256;

/// A product that was issued.
#[derive(Clone, Copy, Debug)]
struct Issued {
    lanes: Lanes,
    /// Groups that were committed since its own was; `None` if it is in none.
    younger: Option<u32>,
    /// Whether there was a wait while it was in none.
    waited: bool,
}

/// What a warp has issued and written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Products {
    /// Whose registers these are.
    function: Option<FuncId>,
    /// What threads have written since the last fence.
    written: FxHashSet<RegId>,
    pending: Vec<Issued>,
    /// Loads that nobody has waited for.
    loads: Vec<Lanes>,
}

impl Products {
    /// The next step of the warp. What is missing before it, and the product or load that misses it.
    pub(crate) fn step(&mut self, steps: &[Step], lanes: Lanes) -> Option<(Lack, Lanes)> {
        let (function, instruction) = lanes.place;
        // A call waits for what its function has issued.
        if self.function != Some(function) {
            *self = Self { function: Some(function), ..Self::default() };
        }
        match steps.get(instruction as usize)? {
            Step::Multiply { a, d } => {
                let unseen = a.iter().chain(d).any(|register| self.written.contains(register));
                if self.pending.len() == PRODUCTS {
                    self.pending.remove(0);
                }
                self.pending.push(Issued { lanes, younger: None, waited: false });
                unseen.then_some((Lack::Fence, lanes))
            }
            Step::Fence => {
                self.written.clear();
                None
            }
            Step::Commit => {
                for product in &mut self.pending {
                    product.younger = Some(product.younger.map_or(0, |younger| younger.saturating_add(1)));
                }
                None
            }
            Step::Wait { but } => {
                self.pending.retain(|product| product.younger.is_none_or(|younger| younger < *but));
                for product in self.pending.iter_mut().filter(|product| product.younger.is_none()) {
                    product.waited = true;
                }
                None
            }
            Step::Load { .. } => {
                if self.loads.len() == PRODUCTS {
                    self.loads.remove(0);
                }
                self.loads.push(lanes);
                None
            }
            Step::WaitLd => {
                self.loads.clear();
                None
            }
            Step::Other { reads, writes } => {
                let loaded = |load: &&Lanes| match steps.get(load.place.1 as usize) {
                    Some(Step::Load { d }) => reads.iter().chain(writes).any(|register| d.contains(register)),
                    _ => false,
                };
                if let Some(at) = self.loads.iter().position(|load| loaded(&load)) {
                    // Who uses them again has the same mistake.
                    return Some((Lack::WaitLd, self.loads.remove(at)));
                }
                self.written.extend(writes);
                if self.pending.is_empty() {
                    return None;
                }
                let meets = |product: &&Issued| match steps.get(product.lanes.place.1 as usize) {
                    Some(Step::Multiply { a, d }) => {
                        let writes_d = writes.iter().any(|register| d.contains(register));
                        let writes_a = writes.iter().any(|register| a.contains(register));
                        writes_d || writes_a || reads.iter().any(|register| d.contains(register))
                    }
                    _ => false,
                };
                let product = self.pending.iter().find(meets)?;
                let lack =
                    if product.younger.is_none() && product.waited { Lack::Commit } else { Lack::Wait };
                Some((lack, product.lanes))
            }
        }
    }
}
