//! Decoded code: what the run loop reads.
//!
//! An [`Image`] holds a kernel and every function it may call as one array of operations, specialised for the number
//! of warps in a pack and for how lanes lie in the block. It is made by [`crate::build`] and never changes.

pub(crate) mod asynchronous;
pub(crate) mod builtin;
pub(crate) mod control;
pub(crate) mod copy;
pub(crate) mod matrix;
pub(crate) mod places;
pub(crate) mod tensor_core;
pub(crate) mod texture;

use crate::exec::Exec;
use crate::fault::Access;
use crate::lanes::{FileSizes, PlaneId, ScalarId};
use crate::memory::{CODE_WINDOW, SpaceKind};
use crate::operation::kinds::Branch;
use crate::operation::{Address, Fields, List, Operation, Site, Target};
use asynchronous::Completes;
use builtin::{Builtin, RuntimeCall};
use control::{BarrierKind, BarrierSite, CallSite, Callee, ParameterLocation};
use copy::{AsyncCopy, Bulk, Cancellation, Multimem, Replacement, TensorCopy};
use matrix::{Product, Stored};
use places::Places;
use ptx::module::FuncId;
use std::marker::PhantomData;
use std::ops::Range;
use texture::{LookupSite, QuerySite, SurfaceSite};

/// Scalars that every frame has: where its locals start in local memory.
pub(crate) const LOCAL_BASE: ScalarId = ScalarId::new(0);
/// The constant zero.
pub(crate) const ZERO: ScalarId = ScalarId::new(1);
/// How many there are of these.
pub(crate) const OWN_SCALARS: usize = 2;

/// Executes one operation and says where to go on: the next operation, or one of [`event`](crate::exec::event).
///
/// It is `unsafe` to call because it may need host features; [`select`](crate::ops::body::select) hands out only what the host has.
pub(crate) type Execute = unsafe fn(&mut Exec<'_>, &Operation, u32) -> u32;

/// A function that executes operations of one kind.
pub(crate) struct Function<F>(Execute, PhantomData<fn(&F)>);

impl<F> Clone for Function<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Function<F> {}

impl<F: Fields> Function<F> {
    /// A function that takes the fields of this kind out of the operation that it gets.
    pub(crate) fn new(execute: Execute) -> Self {
        Self(execute, PhantomData)
    }

    /// The operation that it is to execute.
    pub(crate) fn with(self, fields: F) -> Op {
        Op { execute: self.0, operation: fields.into() }
    }
}

/// An operation and its function, which takes fields of that kind: there is no other way to make one.
#[derive(Clone, Copy)]
pub(crate) struct Op {
    pub(crate) execute: Execute,
    operation: Operation,
}

impl Op {
    /// The operation.
    #[inline(always)]
    pub(crate) fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Whether it goes on at the next operation, or faults, and is for each lane alone: computes, or accesses memory in no
    /// particular order.
    fn only_works(&self) -> bool {
        use Operation as O;
        matches!(
            self.operation,
            O::Unary(_)
                | O::Binary(_)
                | O::Ternary(_)
                | O::Quaternary(_)
                | O::Quinary(_)
                | O::Lop3(_)
                | O::Compare(_)
                | O::Nonzero(_)
                | O::Select(_)
                | O::Splat(_)
                | O::AddOffset(_)
                | O::CombinePredicates(_)
                | O::MovePredicate(_)
                | O::SetPredicate(_)
                | O::PredicateFromScalar(_)
                | O::LoadParameter(_)
                | O::Load(_)
                | O::LoadVector(_)
                | O::Store(_)
                | O::StoreVector(_)
                | O::Account(_)
        )
    }

    /// Lets a jump or branch lead to a place.
    pub(crate) fn set_target(&mut self, to: Target) {
        match &mut self.operation {
            Operation::Jump(jump) => jump.target = to,
            Operation::Branch(branch) => branch.target = to,
            other => unreachable!("a target of {other}"),
        }
    }

    /// Lets the lanes of a branch meet at a place.
    pub(crate) fn set_meet(&mut self, at: Target) {
        match &mut self.operation {
            Operation::Branch(branch) => branch.meet = Some(at),
            Operation::BranchIndexed(branch) => branch.meet = Some(at),
            other => unreachable!("a reconvergence point of {other}"),
        }
    }
}

/// The most operations that a branch leads around without the run loop: lanes that wait do not wait long.
const SHORT: usize = 64;

impl Image {
    /// Marks the branches, among the operations from a place on, that lead around what [`Op::only_works`].
    pub(crate) fn find_ways_around(&mut self, first: usize) {
        for pc in first..self.ops.len() {
            let Operation::Branch(Branch { target, meet, .. }) = self.ops[pc].operation else { continue };
            let between = pc + 1..target.0 as usize;
            let around = meet == Some(target)
                && (1..=SHORT).contains(&between.len())
                && self.ops[between].iter().all(Op::only_works);
            if let Operation::Branch(branch) = &mut self.ops[pc].operation {
                branch.around = around;
            }
        }
    }
}

/// What code is for besides running as fast as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Purpose {
    /// A debugger: nothing is known of registers, and every warp is dispatched on its own.
    pub(crate) debug: bool,
    /// Asynchronous operations are performed later than they are issued.
    pub(crate) late: bool,
    /// Functions are called where the source calls them, and not put in place: somebody observes instructions.
    pub(crate) calls: bool,
}

impl Purpose {
    /// Whether every register has a place of its own, and keeps its value until its function ends.
    pub(crate) fn keeps_registers(self) -> bool {
        self.debug || self.late
    }
}

/// Decoded code of a kernel and its callees.
pub(crate) struct Image {
    /// Warps in a pack.
    pub(crate) warps: usize,
    /// What it is for.
    pub(crate) purpose: Purpose,
    /// The kernel.
    pub(crate) kernel: FuncId,
    /// All operations.
    pub(crate) ops: Vec<Op>,
    /// The instruction that each operation comes from.
    pub(crate) origins: Vec<Origin>,
    /// What each operation is to an observer.
    pub(crate) metas: Vec<Meta>,
    /// Lists of planes, some of which may be missing.
    planes: Vec<Option<PlaneId>>,
    /// Lists of branch targets.
    targets: Vec<Target>,
    /// Functions by [`FuncId`]; `None` if this kernel cannot reach it.
    pub(crate) functions: Vec<Option<Code>>,
    /// What operations need to know besides their fields.
    sites: Sites,
    /// Bytes of local memory that module-scope `.local` variables take, below every frame.
    pub(crate) module_local: u32,
    /// Bytes of static shared memory.
    pub(crate) static_shared: u32,
    /// Bytes of local memory of the deepest chain of calls, where that is known.
    pub(crate) frame_bytes: Option<u32>,
    /// Whether some function allocates stack at run time.
    pub(crate) allocates: bool,
}

impl Image {
    /// An image without code.
    pub(crate) fn empty(functions: usize, kernel: FuncId, warps: usize) -> Self {
        Self {
            warps,
            purpose: Purpose::default(),
            kernel,
            ops: Vec::new(),
            origins: Vec::new(),
            metas: Vec::new(),
            planes: Vec::new(),
            targets: Vec::new(),
            functions: (0..functions).map(|_| None).collect(),
            sites: Sites::default(),
            module_local: 0,
            static_shared: 0,
            frame_bytes: None,
            allocates: false,
        }
    }

    /// Adds what an operation needs to know.
    pub(crate) fn add<T: Tabled>(&mut self, site: T) -> Site<T> {
        let table = T::table_mut(&mut self.sites);
        table.push(site);
        Site::new(table.len() - 1)
    }

    /// What an operation needs to know.
    #[inline]
    pub(crate) fn site<T: Tabled>(&self, site: Site<T>) -> &T {
        &T::table(&self.sites)[site.0 as usize]
    }

    /// Adds a list of planes.
    pub(crate) fn add_planes(&mut self, planes: impl IntoIterator<Item = Option<PlaneId>>) -> List {
        let start = self.planes.len();
        self.planes.extend(planes);
        List { start: start as u32, count: (self.planes.len() - start) as u32 }
    }

    /// A list of planes.
    #[inline]
    pub(crate) fn planes(&self, list: List) -> &[Option<PlaneId>] {
        &self.planes[list.start as usize..][..list.count as usize]
    }

    /// Adds a list of so many targets.
    pub(crate) fn add_targets(&mut self, count: usize) -> List {
        let start = self.targets.len();
        self.targets.resize(start + count, Target(0));
        List { start: start as u32, count: count as u32 }
    }

    /// A list of targets.
    pub(crate) fn targets(&self, list: List) -> &[Target] {
        &self.targets[list.start as usize..][..list.count as usize]
    }

    /// The same to be filled in.
    pub(crate) fn targets_mut(&mut self, list: List) -> &mut [Target] {
        &mut self.targets[list.start as usize..][..list.count as usize]
    }

    /// Bytes of local memory of a thread; `stack` is what it gets where the code does not tell what it needs.
    pub(crate) fn local_bytes(&self, stack: u32) -> u32 {
        let open = if self.allocates { stack } else { 0 };
        (self.module_local + self.frame_bytes.unwrap_or(stack) + open).next_multiple_of(16)
    }

    /// A function that the kernel can reach.
    pub(crate) fn code(&self, function: FuncId) -> &Code {
        self.functions[function.index()]
            .as_ref()
            .expect("an image holds every function that its kernel can reach")
    }

    /// The operations of an instruction of the kernel's body, and what ends a function or begins a block behind it.
    pub(crate) fn operations(&self, instruction: u32) -> Range<u32> {
        self.first_operation(instruction)..self.first_operation(instruction + 1)
    }

    /// The first of them.
    pub(crate) fn first_operation(&self, instruction: u32) -> u32 {
        let first = self.code(self.kernel).entry;
        let kernel = &self.origins[first as usize..];
        let before = kernel
            .partition_point(|origin| origin.function == self.kernel && origin.instruction < instruction);
        before as u32 + first
    }

    /// Whether all CTA barriers are for all threads of a CTA, which wait at them.
    pub(crate) fn barriers_are_whole(&self) -> bool {
        self.sites.barriers.iter().all(|site| site.threads.is_none() && site.kind != BarrierKind::Arrive)
    }

    /// Whether it asks the device runtime for anything, such as to launch a grid.
    pub(crate) fn launches_grids(&self) -> bool {
        self.sites.calls.iter().any(|call| matches!(call.callee, Callee::Builtin(Builtin::Runtime(_))))
    }

    /// Whether it has asynchronous operations that are performed later than they are issued.
    pub(crate) fn postpones(&self) -> bool {
        !self.sites.completions.is_empty()
    }

    /// Whether it can launch graphs.
    pub(crate) fn launches_graphs(&self) -> bool {
        let launch = Callee::Builtin(Builtin::Runtime(RuntimeCall::GraphLaunch));
        self.sites.calls.iter().any(|call| call.callee == launch)
    }

    /// Whether it calls through addresses.
    pub(crate) fn calls_addresses(&self) -> bool {
        self.sites.calls.iter().any(|call| call.callee == Callee::Indirect)
    }

    /// The function at a code address.
    pub(crate) fn function_at(&self, address: u64) -> Option<FuncId> {
        let index = address.checked_sub(CODE_WINDOW)? / 16;
        let known = self.functions.get(usize::try_from(index).ok()?)?.is_some();
        (known && address.is_multiple_of(16)).then_some(FuncId(index as u32))
    }
}

/// The tables of an image.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    calls: Vec<CallSite>,
    barriers: Vec<BarrierSite>,
    videos: Vec<numerics::video::Instruction>,
    products: Vec<Product>,
    matrices: Vec<Stored>,
    async_copies: Vec<AsyncCopy>,
    bulks: Vec<Bulk>,
    tensor_copies: Vec<TensorCopy>,
    cancellations: Vec<Cancellation>,
    replacements: Vec<Replacement>,
    multimems: Vec<Multimem>,
    lookups: Vec<LookupSite>,
    surfaces: Vec<SurfaceSite>,
    queries: Vec<QuerySite>,
    tensor_allocations: Vec<tensor_core::Allocation>,
    tensor_transfers: Vec<tensor_core::Transfer>,
    shared_to_tensor: Vec<tensor_core::Copy>,
    tensor_products: Vec<tensor_core::Product>,
    tensor_commits: Vec<tensor_core::Commit>,
    completions: Vec<Completes>,
}

/// What stands in a table of an image.
pub(crate) trait Tabled: Sized {
    /// Its table.
    fn table(sites: &Sites) -> &Vec<Self>;
    /// Its table, to be added to.
    fn table_mut(sites: &mut Sites) -> &mut Vec<Self>;
}

macro_rules! tabled {
    ($($table:ident: $site:ty),+ $(,)?) => {$(
        impl Tabled for $site {
            fn table(sites: &Sites) -> &Vec<Self> {
                &sites.$table
            }
            fn table_mut(sites: &mut Sites) -> &mut Vec<Self> {
                &mut sites.$table
            }
        }
    )+};
}
tabled! {
    calls: CallSite, barriers: BarrierSite, videos: numerics::video::Instruction, products: Product, matrices: Stored,
    async_copies: AsyncCopy, bulks: Bulk, tensor_copies: TensorCopy, cancellations: Cancellation, replacements: Replacement, multimems: Multimem,
    lookups: LookupSite, surfaces: SurfaceSite, queries: QuerySite, tensor_allocations: tensor_core::Allocation,
    tensor_transfers: tensor_core::Transfer, shared_to_tensor: tensor_core::Copy, tensor_products: tensor_core::Product,
    tensor_commits: tensor_core::Commit,
    completions: Completes,
}

/// What an operation is to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meta {
    /// Prepares operands for the operation that stands for the instruction.
    Part,
    /// Stands for the instruction, or guards the next operation, which does.
    Plain,
    /// A memory instruction; see [`PackAccess`](crate::observe::PackAccess).
    Memory { space: SpaceKind, access: Access, bytes: u32, address: Address, step: Option<i64> },
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image of {} operations", self.ops.len())
    }
}

/// The instruction that an operation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) function: FuncId,
    pub(crate) instruction: u32,
}

/// A function of an image.
#[derive(Debug)]
pub(crate) struct Code {
    /// Its first operation.
    pub(crate) entry: u32,
    /// The first operation of each block.
    pub(crate) blocks: Vec<u32>,
    /// What a frame needs.
    pub(crate) sizes: FileSizes,
    /// Where its registers are.
    pub(crate) places: Places,
    /// Planes that a thread may read before it has written them.
    pub(crate) exposed: Vec<PlaneId>,
    /// What the scalars of a frame start as.
    pub(crate) scalars: Vec<u64>,
    /// Those that hold offsets in shared memory, to which the address of its first byte is to be added.
    pub(crate) shared_addresses: Vec<ScalarId>,
    /// Bytes of local memory of a frame: formal parameters, call-site parameters, `.local` variables.
    pub(crate) frame: u32,
    /// Formal input parameters.
    pub(crate) params: Vec<ParameterLocation>,
    /// Whether the last of them is an array without a size, for which a call may pass nothing.
    pub(crate) variadic: bool,
    /// Formal return parameters.
    pub(crate) returns: Vec<ParameterLocation>,
}
