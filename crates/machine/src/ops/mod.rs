//! What a decoded operation does to a pack: one file for each kind.
//!
//! A function takes the fields of one kind of operations ([`crate::operation`]). It is a loop over the warps of the pack and,
//! inside, over 32 lanes, compiled once for each host vector level where that pays ([`body`]). Many kinds have one function
//! ([`Executed`]); of the others it is chosen by the lane function, the state space or the widths of operands.
//!
//! | file | operations |
//! | --- | --- |
//! | `shape` | the loops: unary, binary, ternary, compare, select, over any lane function |
//! | `carry`, `logic`, `video` | arithmetic that is no lane function of up to three operands |
//! | `predicate` | predicates from predicates, constants and scalars |
//! | `element` | elements of a register, taken apart and put together |
//! | `memory`, `address`, `atomic` | loads, stores, atomics in every state space |
//! | `combine` | what atomics and reductions do to an element |
//! | `space`, `stack` | addresses between the state spaces; the stack in local memory |
//! | `copy_async`, `bulk`, `tensor`, `tensor_map`, `multimem` | copies of a few bytes, of whole blocks and tiles; multicast memory |
//! | `asynchronous` | operations that are performed later than they are issued |
//! | `warp` | shuffles, votes, matches, reductions |
//! | `mbarrier` | mbarrier objects |
//! | `tensor_core` | the 5th-generation tensor core and its memory |
//! | `cluster` | ranks in a cluster, the cluster barrier |
//! | `control`, `barrier` | branches, calls, barriers, everything that ends a straight run |
//! | `width` | values between registers of different widths |
//! | `special` | special registers |
//! | `texture` | textures and surfaces |

pub(crate) mod address;
pub(crate) mod asynchronous;
pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod body;
pub(crate) mod bulk;
pub(crate) mod cancel;
pub(crate) mod carry;
pub(crate) mod cluster;
pub(crate) mod combine;
pub(crate) mod control;
pub(crate) mod copy_async;
pub(crate) mod element;
pub(crate) mod logic;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod multimem;
pub(crate) mod order;
pub(crate) mod predicate;
pub(crate) mod shape;
pub(crate) mod space;
pub(crate) mod special;
pub(crate) mod stack;
pub(crate) mod tensor;
pub(crate) mod tensor_core;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod time;
pub(crate) mod video;
pub(crate) mod warp;
pub(crate) mod width;

use crate::image::{Function, Op};
use crate::operation::Fields;
use crate::operation::kinds::*;
use body::function;

/// A kind of operations that one function executes, whatever their fields.
pub(crate) trait Executed: Fields {
    /// That function.
    fn function() -> Function<Self>;
}

impl<F: Executed> From<F> for Op {
    fn from(fields: F) -> Self {
        F::function().with(fields)
    }
}

macro_rules! executed {
    ($($kind:ident => $f:expr;)+) => {$(
        impl Executed for $kind {
            fn function() -> Function<Self> {
                function!($f)
            }
        }
    )+};
}

executed! {
    Nonzero => logic::nonzero;
    Video => video::compute;
    AddOffset => address::add_offset;
    ClockRead => time::clock_was_read;
    CombinePredicates => predicate::combine;
    MovePredicate => predicate::copy;
    SetPredicate => predicate::set;
    PredicateFromScalar => predicate::from_scalar;
    IsInSpace => space::is_in_space;
    IsType => texture::is_type;
    CopyAsync => copy_async::copy;
    CopyBulk => bulk::bulk;
    CopyTensorMap => bulk::copy_tensor_map;
    CopyTensor => tensor::tensor;
    CancelCluster => cancel::try_cancel;
    ReplaceField => tensor_map::replace;
    LoadMultimem => multimem::load;
    StoreMultimem => multimem::store;
    Allocate => stack::allocate;
    SaveStack => stack::save;
    RestoreStack => stack::restore;
    LookUp => texture::lookup;
    QueryObject => texture::query;
    AccessSurface => texture::surface;
    Shuffle => warp::shuffle;
    Vote => warp::vote;
    Ballot => warp::ballot;
    ActiveMask => warp::active_mask;
    Elect => warp::elect;
    WarpBarrier => warp::barrier;
    LoadRows => matrix::transfer::load_rows;
    LoadSquares => matrix::transfer::load_squares;
    StoreRows => matrix::transfer::store_rows;
    StoreColumns => matrix::transfer::store_columns;
    TransposeMatrix => matrix::transfer::transpose;
    LoadMatrix => matrix::transfer::load_matrix;
    StoreMatrix => matrix::transfer::store_matrix;
    AllocateTensorMemory => tensor_core::allocate::allocate;
    RelinquishTensorMemory => tensor_core::allocate::relinquish;
    LoadTensorMemory => tensor_core::transfer::load;
    StoreTensorMemory => tensor_core::transfer::store;
    CopyToTensorMemory => tensor_core::copy;
    ShiftTensorMemory => tensor_core::shift;
    MultiplyTensors => tensor_core::multiply;
    CommitTensorCore => tensor_core::commit;
    Jump => control::jump;
    Branch => control::branch;
    BranchIndexed => control::branch_indexed;
    Guard => control::guard;
    Join => control::join;
    Account => control::account;
    Exit => control::exit;
    Return => control::ret;
    Call => control::call;
    CallIndirect => control::call_indirect;
    Barrier => control::barrier;
    Trap => control::trap;
    Breakpoint => control::breakpoint;
    WaitForGrids => control::wait_for_grids;
    LaunchDependents => control::launch_dependents;
    ArriveCluster => cluster::arrive;
    WaitCluster => cluster::wait;
    ClusterLaunch => cluster::launched_with;
    Fence => control::fence;
    Postpone => asynchronous::postpone;
    CommitGroup => asynchronous::commit;
    AwaitGroups => asynchronous::wait;
    ShowFragments => asynchronous::show_fragments;
    ShowMemory => asynchronous::show_memory;
    Pause => control::pause;
    Nothing => control::nothing;
    Look => control::look;
    BeginSleep => time::begin_sleep;
    Sleep => time::sleep;
}
