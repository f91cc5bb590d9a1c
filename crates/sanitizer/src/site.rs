//! What every instruction of a module is to the memory model: order, scope, proxy, bytes.

use machine::fault::Access;
use memory_model::event::{Order, Scope};
use ptx::isa::{Modifier, Opcode, Sem, Slot};
use ptx::module::{FuncId, Module};

/// An instruction of a loaded module: its index in [`Sites`].
pub(crate) type SiteId = u32;

/// What an instruction does that the sanitizer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    None,
    /// Each lane accesses memory: `ld`, `st`, `atom`, `red`.
    Access(Access),
    /// The same, but memory changes only where the comparison holds.
    CompareAndSwap,
    /// Rows of 8 elements, one address for each of the first lanes.
    Rows { access: Access, lanes: u32 },
    /// `wmma.store` and others whose bytes are not followed: what they reach counts as written.
    Unfollowed,
    /// `fence`, `membar`.
    Fence,
    /// `fence.proxy.async`.
    ProxyFence,
    /// `cp.async`.
    Copy,
    /// `cp.async.mbarrier.arrive`.
    CopyArrive,
    /// `cp.async.commit_group`; of bulk copies.
    Commit { bulk: bool },
    /// `cp.async.wait_group`, `wait_all`: all but so many groups are done.
    Wait { bulk: bool, but: Option<u32>, reads: bool },
    /// `mbarrier.init`.
    MbarrierInit,
    /// `st.async`, `red.async`.
    AsyncAccess(Access),
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) action: Action,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    /// Bytes of an element: vectors are accesses of their elements.
    pub(crate) element: u32,
    /// The module, function and index.
    pub(crate) module: u32,
    pub(crate) function: FuncId,
    pub(crate) instruction: u32,
}

impl Site {
    /// Whether it is a strong operation.
    pub(crate) fn is_strong(&self) -> bool {
        self.order != Order::Weak
    }
}

/// The order and scope that modifiers say. Atomics without them are relaxed, at `.gpu` scope.
fn order_of(opcode: &Opcode, sem: Sem) -> (Order, Scope) {
    let reduces = matches!(sem, Sem::CpAsyncBulk | Sem::CpAsyncBulkTensor) && opcode.get(Slot::Op).is_some();
    let atomic = reduces
        || matches!(
            sem,
            Sem::Atom | Sem::AtomCas | Sem::AtomVector | Sem::Red | Sem::RedVector | Sem::RedAsync
        );
    let order = match opcode.get(Slot::Sem) {
        Some(Modifier::Volatile | Modifier::Relaxed) => Order::Relaxed,
        Some(Modifier::Acquire) => Order::Acquire,
        Some(Modifier::Release) => Order::Release,
        Some(Modifier::AcqRel) => Order::AcqRel,
        Some(Modifier::Sc) => Order::Sc,
        _ if atomic => Order::Relaxed,
        _ if matches!(sem, Sem::MbarrierArrive | Sem::MbarrierCompleteTx | Sem::BarClusterArrive) => {
            Order::Release
        }
        _ if matches!(sem, Sem::MbarrierWait | Sem::BarClusterWait) => Order::Acquire,
        _ => Order::Weak,
    };
    let scope = match opcode.get(Slot::Scope) {
        Some(Modifier::Cta) => Scope::Cta,
        Some(Modifier::Cluster) => Scope::Cluster,
        Some(Modifier::Gpu | Modifier::Gl) => Scope::Gpu,
        Some(Modifier::Sys) => Scope::Sys,
        // `.volatile` has the order of relaxed at system scope.
        _ if opcode.get(Slot::Sem) == Some(Modifier::Volatile) => Scope::Sys,
        _ if matches!(sem, Sem::MbarrierArrive | Sem::MbarrierWait) => Scope::Cta,
        _ => Scope::Gpu,
    };
    (order, scope)
}

fn action_of(opcode: &Opcode, sem: Sem, count: Option<u32>) -> Action {
    let bulk = opcode.has(Modifier::Bulk);
    match sem {
        Sem::Ld => Action::Access(Access::Load),
        Sem::St => Action::Access(Access::Store),
        Sem::Atom | Sem::AtomVector | Sem::Red | Sem::RedVector => Action::Access(Access::Atomic),
        Sem::AtomCas => Action::CompareAndSwap,
        Sem::Ldmatrix | Sem::Stmatrix => {
            let access = if sem == Sem::Ldmatrix { Access::Load } else { Access::Store };
            let matrices = opcode.get(Slot::Vec).and_then(matrices).unwrap_or(4);
            Action::Rows { access, lanes: if matrices >= 4 { !0 } else { (1 << (8 * matrices)) - 1 } }
        }
        Sem::WmmaStore | Sem::MultimemStore | Sem::MultimemReduce => Action::Unfollowed,
        Sem::Fence => Action::Fence,
        Sem::FenceProxy => match opcode.get(Slot::ProxyKind) {
            Some(Modifier::Async | Modifier::AsyncGeneric) => Action::ProxyFence,
            _ => Action::None,
        },
        Sem::MbarrierInit => Action::MbarrierInit,
        Sem::CpAsync => Action::Copy,
        Sem::CpAsyncMbarrierArrive => Action::CopyArrive,
        Sem::CpAsyncCommitGroup => Action::Commit { bulk },
        Sem::CpAsyncWaitGroup => {
            Action::Wait { bulk, but: Some(count.unwrap_or(0)), reads: opcode.has(Modifier::Read) }
        }
        Sem::CpAsyncWaitAll => Action::Wait { bulk: false, but: None, reads: false },
        Sem::StAsync => Action::AsyncAccess(Access::Store),
        Sem::RedAsync => Action::AsyncAccess(Access::Atomic),
        _ => Action::None,
    }
}

fn matrices(modifier: Modifier) -> Option<u32> {
    match modifier {
        Modifier::X1 => Some(1),
        Modifier::X2 => Some(2),
        Modifier::X4 => Some(4),
        _ => None,
    }
}

/// The module of sites that are no instructions: copies and fills that the program asks the driver for.
pub(crate) const DRIVER: u32 = u32::MAX;

/// The sites of the driver's reads and writes.
pub(crate) const DRIVER_READ: SiteId = 0;
pub(crate) const DRIVER_WRITE: SiteId = 1;

/// The instructions of all modules that were launched from.
#[derive(Debug)]
pub(crate) struct Sites {
    sites: Vec<Site>,
    /// For each module, where each function begins in `sites`.
    starts: Vec<Vec<SiteId>>,
}

impl Default for Sites {
    fn default() -> Self {
        let of_driver = |access| Site {
            action: Action::Access(access),
            order: Order::Weak,
            scope: Scope::Sys,
            element: 1,
            module: DRIVER,
            function: FuncId(0),
            instruction: 0,
        };
        let sites = vec![of_driver(Access::Load), of_driver(Access::Store)];
        Self { sites, starts: Vec::new() }
    }
}

impl Sites {
    /// Adds a module; its number.
    pub(crate) fn add(&mut self, module: &Module) -> u32 {
        let number = self.starts.len() as u32;
        let mut starts = Vec::with_capacity(module.functions.len());
        for (index, function) in module.functions.iter().enumerate() {
            starts.push(self.sites.len() as SiteId);
            let Some(body) = &function.body else { continue };
            for (place, instruction) in body.instructions.iter().enumerate() {
                let opcode = module.opcode(instruction);
                let sem = opcode.sem();
                let count = body.operands(instruction).iter().find_map(|operand| match operand {
                    ptx::module::Operand::Immediate(value) => Some(*value as u32),
                    _ => None,
                });
                let (order, scope) = sem.map_or((Order::Weak, Scope::Gpu), |sem| order_of(opcode, sem));
                let order = match (sem, opcode.get(Slot::Sem)) {
                    (Some(Sem::Fence), None) => fence_order(opcode),
                    _ => order,
                };
                self.sites.push(Site {
                    action: sem.map_or(Action::None, |sem| action_of(opcode, sem, count)),
                    order,
                    scope,
                    element: opcode.ty(Slot::Type).map_or(16, |ty| ty.bytes()).max(1),
                    module: number,
                    function: FuncId(index as u32),
                    instruction: place as u32,
                });
            }
        }
        self.starts.push(starts);
        number
    }

    /// The site of an instruction.
    pub(crate) fn id(&self, module: u32, function: FuncId, instruction: u32) -> SiteId {
        self.starts[module as usize][function.index()] + instruction
    }

    pub(crate) fn get(&self, site: SiteId) -> &Site {
        &self.sites[site as usize]
    }
}

/// `membar.gl` is `fence.sc.gpu`; `fence.gpu` is `fence.acq_rel.gpu`.
fn fence_order(opcode: &Opcode) -> Order {
    match opcode.mnemonic() {
        ptx::isa::Mnemonic::Membar => Order::Sc,
        _ => Order::AcqRel,
    }
}
