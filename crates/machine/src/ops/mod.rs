//! What a decoded operation does to a pack: one file for each kind.
//!
//! An [`Op`] is a function pointer and the indices it works on. The function is a loop over the warps of the pack and,
//! inside, over 32 lanes; it is compiled once for each host vector level ([`select`]). All indices are into the files
//! of [`crate::lanes`], already multiplied by the pack's number of warps, so an operand is one addition away.
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
//! | `warp` | shuffles, votes, matches, reductions |
//! | `mbarrier` | mbarrier objects |
//! | `cluster` | ranks in a cluster, the cluster barrier |
//! | `control` | branches, calls, barriers, everything that ends a straight run |
//! | `width` | values between registers of different widths |
//! | `special` | special registers |
//! | `texture` | textures and surfaces |

pub(crate) mod address;
pub(crate) mod atomic;
pub(crate) mod bulk;
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
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod time;
pub(crate) mod video;
pub(crate) mod warp;
pub(crate) mod width;

use crate::exec::Exec;
use crate::lanes::simd::{Baseline, Level, Simd};

/// Executes one operation and says where to go on: the next operation, or one of [`event`].
///
/// It is `unsafe` to call because it may need host features; [`select`] hands out only what the host has.
pub(crate) type Execute = unsafe fn(&mut Exec<'_>, &Op, u32) -> u32;

/// A decoded operation. What the fields mean depends on the operation; the usual reading is in their names.
#[derive(Clone, Copy)]
pub(crate) struct Op {
    /// What to do.
    pub(crate) execute: Execute,
    /// Destination.
    pub(crate) d: u32,
    /// First source.
    pub(crate) a: u32,
    /// Second source.
    pub(crate) b: u32,
    /// Third source.
    pub(crate) c: u32,
    /// Further index or flags.
    pub(crate) x: u32,
    /// Further index or flags.
    pub(crate) y: u32,
    /// An immediate.
    pub(crate) imm: u64,
}

/// Stands for an operand that is not there.
pub(crate) const NONE: u32 = u32::MAX;

/// What an operation returns instead of the next program counter when the run loop must act.
pub(crate) mod event {
    /// Values from here on are events.
    pub(crate) const FIRST: u32 = 0xffff_ff00;
    /// A branch split the group: `Exec::taken` goes to `Op::a`.
    pub(crate) const DIVERGE: u32 = FIRST;
    /// The group reached its reconvergence point.
    pub(crate) const JOIN: u32 = FIRST + 1;
    /// An indexed branch or indirect call with several targets.
    pub(crate) const SCATTER: u32 = FIRST + 2;
    /// Arrived at a CTA barrier.
    pub(crate) const BARRIER: u32 = FIRST + 3;
    /// Lanes named by a member mask are elsewhere.
    pub(crate) const CONVERGE: u32 = FIRST + 4;
    /// A call.
    pub(crate) const CALL: u32 = FIRST + 5;
    /// A return.
    pub(crate) const RETURN: u32 = FIRST + 6;
    /// The active lanes are done.
    pub(crate) const EXIT: u32 = FIRST + 7;
    /// `Exec::trap` says what went wrong.
    pub(crate) const FAULT: u32 = FIRST + 8;
    /// The time slice is used up; `Exec::resume` is where to go on.
    pub(crate) const YIELD: u32 = FIRST + 9;
    /// The operation waits for what `Exec::awaited` says, and is to be executed again.
    pub(crate) const WAIT: u32 = FIRST + 10;
    /// As [`CONVERGE`], but the lanes may also be at another operation that returns this.
    pub(crate) const MEET: u32 = FIRST + 11;
}

/// A loop over lanes that may be compiled for each vector level.
pub(crate) trait Body: 'static {
    /// Executes the operation.
    fn run<S: Simd>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32;
}

/// The body compiled for a level.
pub(crate) fn select<B: Body>(level: Level) -> Execute {
    match level {
        Level::Baseline => plain::<B>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::<B>,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::<B>,
        #[cfg(not(target_arch = "x86_64"))]
        _ => plain::<B>,
    }
}

/// The body for any host: for operations too rare to be worth a copy for each level.
pub(crate) fn plain<B: Body>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    B::run::<Baseline>(x, op, pc)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<B: Body>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    B::run::<crate::lanes::simd::Avx2>(x, op, pc)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx512<B: Body>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    B::run::<crate::lanes::simd::Avx512>(x, op, pc)
}
