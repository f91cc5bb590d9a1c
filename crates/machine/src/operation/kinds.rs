//! The kinds of operations, by what they do.

use super::field::{Address, CarryIn, Combine, Immediate, List, ObjectKind, Pattern, Run, Site, Target};
use super::print::{self, Names, field};
use crate::image::asynchronous::Completes;
use crate::image::control::{BarrierSite, CallSite};
use crate::image::copy::{AsyncCopy, Bulk, Cancellation, Multimem, Replacement, TensorCopy};
use crate::image::matrix::{Product, Stored};
use crate::image::tensor_core;
use crate::image::texture::{LookupSite, QuerySite, SurfaceSite};
use crate::lanes::{Condition, Operand, PlaneId, PredicateId, ScalarId};
use crate::matrix::packing::Packing;
use ir::instruction::{ShflMode, VoteMode};
use ir::operand::Space;
use ptx::isa::{Group, SpecialRegister};
use ptx::module::FuncId;
use std::fmt::{Display, Formatter, Result};

/// Defines a struct for each kind, and the enum of them.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $text:literal $kind:ident { $($(#[$about:meta])* $name:ident: $ty:ty),* $(,)? }
    )+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) struct $kind { $($(#[$about])* pub(crate) $name: $ty,)* }

            impl From<$kind> for Operation {
                fn from(fields: $kind) -> Self {
                    Self::$kind(fields)
                }
            }

            impl Fields for $kind {
                #[inline(always)]
                fn of(operation: &Operation) -> &Self {
                    match operation {
                        Operation::$kind(fields) => fields,
                        _ => of_another_kind(operation),
                    }
                }
            }
        )+

        /// An operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Operation { $($(#[$doc])* $kind($kind),)+ }

        impl Operation {
            /// Writes it with the names that its places have.
            pub(super) fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
                match self {
                    $(Self::$kind(kind) => {
                        let &$kind { $($name),* } = kind;
                        f.write_str($text)?;
                        $(field(f, names, stringify!($name), &$name)?;)*
                        Ok(())
                    })+
                }
            }
        }
    };
}

/// The fields of one kind of operation.
pub(crate) trait Fields: Copy + Into<Operation> + 'static {
    /// Those of an operation that is known to be of this kind.
    fn of(operation: &Operation) -> &Self;
}

/// No names but those of files and indices.
struct Nameless;

impl Names for Nameless {
    fn operand(&self, _: Operand) -> Option<String> {
        None
    }
    fn predicate(&self, _: PredicateId) -> Option<String> {
        None
    }
}

/// An operation whose places have names.
pub(crate) struct Printed<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) names: &'a dyn Names,
}

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.operation.write(f, self.names)
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.write(f, &Nameless)
    }
}

/// Cannot happen: an [`Op`](crate::image::Op) pairs fields with a function that takes them.
#[cold]
fn of_another_kind(operation: &Operation) -> ! {
    unreachable!("the function of another kind of operation: {operation}")
}

/// Where the result of a comparison goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Gets the result.
    pub(crate) p: Option<PredicateId>,
    /// Gets its complement.
    pub(crate) q: Option<PredicateId>,
    /// What both are combined with, if `combine` says how.
    pub(crate) with: Option<Condition>,
    pub(crate) combine: Option<Combine>,
}

operations! {
    // Lane by lane.

    /// `d` = a function of `a`.
    "unary" Unary { d: Operand, a: Operand }
    /// `d` = a function of `a` and `b`.
    "binary" Binary { d: Operand, a: Operand, b: Operand }
    /// `d` = a function of `a`, `b` and `c`.
    "ternary" Ternary { d: Operand, a: Operand, b: Operand, c: Operand }
    /// `d` = a function of `a`, `b`, `c` and `e`.
    "quaternary" Quaternary { d: Operand, a: Operand, b: Operand, c: Operand, e: Operand }
    /// `d` = a function of `a`, `b`, `c`, `e` and `f`.
    "quinary" Quinary { d: Operand, a: Operand, b: Operand, c: Operand, e: Operand, f: Operand }
    /// A relation of `a` and `b`.
    "compare" Compare { a: Operand, b: Operand, outcome: Outcome }
    /// Whether `a` is not zero.
    "nonzero" Nonzero { a: PlaneId, outcome: Outcome }
    /// `d` = `a` where the predicate holds, `b` elsewhere.
    "select" Select { d: PlaneId, a: Operand, b: Operand, predicate: PredicateId }
    /// `d` = `a` in every lane.
    "splat" Splat { d: PlaneId, a: ScalarId }
    /// `d` = a function of `a`, `b`, `c` and a carry; an operation of two has its first in the place of `c`.
    "carry" Carry {
        d: PlaneId, a: PlaneId, b: PlaneId, c: PlaneId, carry_in: CarryIn,
        /// Gets the carry out.
        carry_out: Option<PredicateId>,
    }
    /// `lop3`.
    "lop3" Lop3 { d: PlaneId, a: PlaneId, b: PlaneId, c: PlaneId, table: u8 }
    /// A video instruction.
    "video" Video { d: PlaneId, a: PlaneId, b: PlaneId, c: PlaneId, site: Site<numerics::video::Instruction> }
    /// Element `a` of so many bits becomes a part of `d`, from bit `at` on.
    "element.insert" InsertElement {
        d: PlaneId, a: PlaneId, at: u8, bits: u8,
        /// What else `d` had is lost.
        whole: bool,
    }
    /// `d` = the element of so many bits of `a` that begins at bit `at`.
    "element.extract" ExtractElement { d: PlaneId, a: PlaneId, at: u8, bits: u8 }
    /// `d` = `a` + `offset`: an address, of which only the launch knows the base.
    "offset" AddOffset { d: ScalarId, a: ScalarId, offset: Immediate }
    /// Reads a special register.
    "special" ReadSpecial { d: Operand, register: SpecialRegister, component: u8 }
    /// Behind a read of the clock.
    "clock" ClockRead {}

    // Predicates.

    /// `d` = `a` combined with `b`.
    "predicate" CombinePredicates { d: Option<PredicateId>, a: Condition, b: Condition, combine: Combine }
    /// `d` = `a`.
    "predicate.move" MovePredicate { d: Option<PredicateId>, a: Condition }
    /// `d` = a constant.
    "predicate.set" SetPredicate { d: Option<PredicateId>, value: bool }
    /// `d` = whether `a` is not zero.
    "predicate.scalar" PredicateFromScalar { d: PredicateId, a: ScalarId }
    /// `isspacep`: whether generic address `a` is in a state space.
    "isspacep" IsInSpace { d: PredicateId, a: PlaneId, space: Space }
    /// `istypep`: whether `a` is the address of an opaque variable.
    "istypep" IsType { d: PredicateId, a: PlaneId, object: ObjectKind }

    // Memory.

    /// `ld` of one element.
    "load" Load { d: PlaneId, pattern: Pattern, address: Address }
    /// `ld` of a vector, into the planes of a list.
    "load.vector" LoadVector { d: List, pattern: Pattern, address: Address }
    /// `ld.b128`.
    "load.pair" LoadPair { low: PlaneId, high: PlaneId, address: Address }
    /// `ld.param`, the same for all threads.
    "load.parameter" LoadParameter { d: ScalarId, address: Address }
    /// `st` of one element.
    "store" Store { a: PlaneId, pattern: Pattern, in_turn: bool, address: Address }
    /// `st` of a vector, from the planes of a list.
    "store.vector" StoreVector { a: List, pattern: Pattern, in_turn: bool, address: Address }
    /// `st.b128`.
    "store.pair" StorePair { low: PlaneId, high: PlaneId, address: Address }
    /// `st.bulk`, which stores zeros.
    "store.zeros" StoreZeros { address: Address, bytes: PlaneId }
    /// `atom` and `red`.
    "atomic" Atomic { d: Option<PlaneId>, b: PlaneId, c: PlaneId, address: Address }
    /// `atom` and `red` on vectors. The list names the planes of the destination, of which any may be missing, then those of
    /// the operand.
    "atomic.vector" AtomicVector { planes: List, address: Address }
    /// `atom` of 128 bits. The list names the low and the high planes of the destination, of the second operand and of the
    /// third.
    "atomic.pair" AtomicPair { planes: List, address: Address }
    /// `cp.async`.
    "copy.async" CopyAsync { source: Address, site: Site<AsyncCopy> }
    /// `cp.async.bulk` and its relatives.
    "copy.bulk" CopyBulk { site: Site<Bulk> }
    /// `tensormap.cp_fenceproxy`.
    "copy.tensormap" CopyTensorMap { site: Site<Bulk> }
    /// `clusterlaunchcontrol.try_cancel`.
    "cancel" CancelCluster { site: Site<Cancellation> }
    /// `cp.async.bulk.tensor` and its relatives.
    "copy.tensor" CopyTensor { site: Site<TensorCopy> }
    /// `tensormap.replace`.
    "tensormap.replace" ReplaceField { site: Site<Replacement> }
    /// `multimem.ld_reduce`.
    "multimem.load" LoadMultimem { address: Address, site: Site<Multimem> }
    /// `multimem.st` and `multimem.red`.
    "multimem.store" StoreMultimem { address: Address, site: Site<Multimem> }
    /// `alloca`: `d` = the stack pointer, raised to the alignment.
    "alloca" Allocate { d: PlaneId, size: PlaneId, function: FuncId, align: Immediate }
    /// `stacksave`.
    "stacksave" SaveStack { d: PlaneId, function: FuncId }
    /// `stackrestore`.
    "stackrestore" RestoreStack { a: PlaneId, function: FuncId }
    /// `tex`, `tld4`.
    "texture" LookUp { site: Site<LookupSite> }
    /// `txq`, `suq`.
    "texture.query" QueryObject { site: Site<QuerySite> }
    /// `suld`, `sust`, `sured`.
    "surface" AccessSurface { site: Site<SurfaceSite> }

    // mbarrier objects.

    /// `mbarrier.init`, `.inval`, `.expect_tx` and `.complete_tx`.
    "mbarrier" ChangeMbarrier { count: Option<PlaneId>, address: Address }
    /// `mbarrier.arrive` and `.arrive_drop`.
    "mbarrier.arrive" ArriveMbarrier {
        d: Option<PlaneId>, count: Option<PlaneId>, drop: bool,
        /// The count is of bytes, and one thread arrives.
        expect: bool,
        /// One lane after the other (`.noComplete`).
        in_turn: bool,
        address: Address,
    }
    /// `mbarrier.test_wait` and `.try_wait`.
    "mbarrier.wait" WaitMbarrier {
        d: PredicateId,
        /// A parity of 32 bits, or a state of 64.
        phase: PlaneId,
        /// Until it succeeds, or its time is over (`.try_wait`).
        suspend: bool,
        address: Address,
    }

    // Between the lanes of a warp. The members of the `.sync` forms are a mask.

    /// `shfl`.
    "shuffle" Shuffle {
        d: Option<PlaneId>, p: Option<PredicateId>, a: PlaneId, b: PlaneId, c: PlaneId, mode: ShflMode,
        members: Option<Operand>,
    }
    /// `vote.all`, `.any` and `.uni`.
    "vote" Vote { d: PredicateId, a: Condition, mode: VoteMode, members: Option<Operand> }
    /// `vote.ballot`.
    "vote.ballot" Ballot { d: PlaneId, a: Condition, members: Option<Operand> }
    /// `match.sync`.
    "match" Match { d: Option<PlaneId>, p: Option<PredicateId>, a: PlaneId, members: Operand }
    /// `redux.sync`.
    "redux" Redux { d: PlaneId, a: PlaneId, members: Operand }
    /// `activemask`.
    "activemask" ActiveMask { d: PlaneId }
    /// `elect.sync`.
    "elect" Elect { d: Option<PlaneId>, p: PredicateId, members: Operand }
    /// `bar.warp.sync`.
    "barrier.warp" WarpBarrier { members: Operand }

    // Matrices.

    /// `ldmatrix`: lanes 8i to 8i+7 have the addresses of the rows of matrix i.
    "matrix.load_rows" LoadRows { d: List, transposed: bool, packing: Packing, generic: bool, address: Address }
    /// `ldmatrix` of 16x16 bytes: lanes 16i to 16i+15 have the addresses of the rows of matrix i.
    "matrix.load_squares" LoadSquares { d: List, packing: Packing, generic: bool, address: Address }
    /// `stmatrix`.
    "matrix.store_rows" StoreRows { a: List, transposed: bool, generic: bool, address: Address }
    /// `stmatrix` of bytes, of which columns are in registers.
    "matrix.store_columns" StoreColumns { a: List, generic: bool, address: Address }
    /// `movmatrix`.
    "matrix.transpose" TransposeMatrix { d: PlaneId, a: PlaneId }
    /// `wmma.load`.
    "matrix.load" LoadMatrix { address: Address, site: Site<Stored> }
    /// `wmma.store`.
    "matrix.store" StoreMatrix { address: Address, site: Site<Stored> }
    /// `mma`, `wmma.mma` and `wgmma.mma_async`, of so many warps together.
    "matrix.multiply" MultiplyMatrices { site: Site<Product>, warps: u8 }

    // The 5th-generation tensor core.

    /// `tcgen05.alloc` and `tcgen05.dealloc`.
    "tensor_memory.allocate" AllocateTensorMemory { site: Site<tensor_core::Allocation> }
    /// `tcgen05.relinquish_alloc_permit`.
    "tensor_memory.relinquish" RelinquishTensorMemory {}
    /// `tcgen05.ld`.
    "tensor_memory.load" LoadTensorMemory { site: Site<tensor_core::Transfer> }
    /// `tcgen05.st`.
    "tensor_memory.store" StoreTensorMemory { site: Site<tensor_core::Transfer> }
    /// `tcgen05.cp`.
    "tensor_memory.copy" CopyToTensorMemory { site: Site<tensor_core::Copy> }
    /// `tcgen05.shift`, in the memory of so many CTAs.
    "tensor_memory.shift" ShiftTensorMemory { address: Address, ctas: u8 }
    /// `tcgen05.mma`.
    "tensor.multiply" MultiplyTensors { site: Site<tensor_core::Product> }
    /// `tcgen05.commit`.
    "tensor.commit" CommitTensorCore { site: Site<tensor_core::Commit> }
    // Asynchronous operations that are performed later than they are issued.

    /// So many operations behind it are issued.
    "postpone" Postpone { operations: u8, site: Site<Completes> }
    /// `commit_group`.
    "groups.commit" CommitGroup { group: Group }
    /// `wait_group`, for all groups but the last ones.
    "groups.await" AwaitGroups {
        group: Group, but: u32,
        /// Until they have read their sources.
        reads: bool,
        /// Also for what is in no group yet.
        uncommitted: bool,
    }
    /// `wgmma.fence`.
    "fragments.show" ShowFragments {}
    /// `fence.proxy.async`.
    "memory.show" ShowMemory {}

    // Control.

    /// `bra`.
    "jump" Jump { target: Target, run: Run }
    /// `bra` where a condition is met; lanes meet again where `meet` says.
    "branch" Branch {
        condition: Condition, target: Target, meet: Option<Target>, run: Run,
        /// Whether it leads around a few operations that do nothing but compute and access memory.
        around: bool,
    }
    /// `brx.idx`: the targets are a list.
    "branch.indexed" BranchIndexed { index: PlaneId, targets: List, meet: Option<Target>, run: Run }
    /// Executes the next operation where a condition is met.
    "guard" Guard { condition: Condition }
    /// Where branches reconverge.
    "join" Join {}
    /// Ends a straight run that falls through.
    "account" Account { run: Run }
    /// `exit`, and `ret` of an entry.
    "exit" Exit { run: Run }
    /// `ret` of a device function.
    "return" Return { run: Run }
    /// `call`.
    "call" Call { site: Site<CallSite>, run: Run }
    /// `call` through an address.
    "call.indirect" CallIndirect { site: Site<CallSite>, address: Operand, run: Run }
    /// `bar.sync`, `bar.arrive` and `bar.red`.
    "barrier" Barrier { site: Site<BarrierSite>, run: Run }
    /// `trap`.
    "trap" Trap { run: Run }
    /// `brkpt`.
    "breakpoint" Breakpoint { run: Run }
    /// `griddepcontrol.wait`.
    "wait_for_grids" WaitForGrids { run: Run }
    /// `griddepcontrol.launch_dependents`.
    "launch_dependents" LaunchDependents { run: Run }
    /// `barrier.cluster.arrive`.
    "barrier.cluster.arrive" ArriveCluster {}
    /// `barrier.cluster.wait`.
    "barrier.cluster.wait" WaitCluster {}
    /// What the next operation does takes a launch with clusters.
    "cluster launch" ClusterLaunch {}
    /// Orders memory.
    "fence" Fence {}
    /// Others get a turn soon.
    "pause" Pause {}
    /// A hint, or a wait for what is done when it is issued.
    "nothing" Nothing {}
    /// Behind an operation that looks at what others change: it saw a plane.
    "look" Look { a: PlaneId }
    /// `nanosleep`, first half: `until` gets the time at which lanes go on.
    "sleep.begin" BeginSleep { until: PlaneId, a: PlaneId }
    /// `nanosleep`, second half.
    "sleep" Sleep { until: PlaneId }
}

impl print::Field for Outcome {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        f.write_str("(")?;
        field(f, names, "p", &self.p)?;
        field(f, names, "q", &self.q)?;
        if let (Some(with), Some(combine)) = (self.with, self.combine) {
            write!(f, " {combine:?} ")?;
            print::Field::write(&with, f, names)?;
        }
        f.write_str(" )")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_fits_in_32_bytes() {
        assert_eq!((size_of::<Operation>(), align_of::<Operation>()), (32, 4));
    }

    #[test]
    fn an_operation_names_its_fields() {
        let address = Address::new(PlaneId::new(64, 8), 16);
        let load = Load { d: PlaneId::new(32, 3), pattern: Pattern::Any, address };
        assert_eq!(Operation::from(load).to_string(), "load d=w3 address=[d8+0x10]");
        let store = Store { a: PlaneId::new(16, 0), pattern: Pattern::Contiguous, in_turn: true, address };
        assert_eq!(
            Operation::from(store).to_string(),
            "store a=h0 pattern=Contiguous in_turn address=[d8+0x10]"
        );
        let p = PredicateId::new(0);
        let guard = Guard { condition: p.is(true) };
        assert_eq!(Operation::from(guard).to_string(), "guard condition=!p0");
    }
}
