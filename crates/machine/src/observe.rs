//! Observers: who wants to know what a launch does. They cost nothing when absent: the dispatch loop is compiled twice.

use crate::exec::Exec;
use crate::fault::Access;
use crate::lanes::LANES;
use crate::memory::SpaceKind;
use crate::ops::address::addresses;
use crate::ops::shape::NEGATE;
use crate::program::{Image, Meta};
use ptx::module::FuncId;

/// One warp is about to execute one instruction.
#[derive(Debug)]
pub struct Event<'a> {
    /// The function.
    pub function: FuncId,
    /// Index in the function's body.
    pub instruction: u32,
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%warpid`.
    pub warp: u32,
    /// Lanes that execute it: active, and their guard holds.
    pub mask: u32,
    /// Lanes that are active, whether their guard holds or not.
    pub active: u32,
    /// What it accesses, if it is a memory instruction.
    pub access: Option<MemoryAccess<'a>>,
    /// The lanes that take it, if it is a conditional branch.
    pub taken: Option<u32>,
}

/// The memory that a warp's instruction accesses.
#[derive(Debug)]
pub struct MemoryAccess<'a> {
    /// The state space that the instruction names.
    pub space: SpaceKind,
    /// Load, store or atomic.
    pub access: Access,
    /// Bytes a lane.
    pub bytes: u32,
    /// The address of every lane; meaningless for lanes outside the mask.
    pub addresses: &'a [u64; LANES],
}

/// Watches a launch. Host threads call it concurrently.
pub trait Observer: Sync {
    /// Called before a warp executes an instruction.
    fn instruction(&self, event: &Event<'_>);
}

/// What the dispatch loop is compiled for: with an observer or without.
pub(crate) trait Watch {
    const ACTIVE: bool;
    fn before(&mut self, x: &Exec<'_>, pc: u32);
}

/// Nobody watches.
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    const ACTIVE: bool = false;
    fn before(&mut self, _: &Exec<'_>, _: u32) {}
}

/// Somebody does.
pub(crate) struct Watched<'a> {
    pub(crate) observer: &'a dyn Observer,
    pub(crate) image: &'a Image,
}

impl Watch for Watched<'_> {
    const ACTIVE: bool = true;

    fn before(&mut self, x: &Exec<'_>, pc: u32) {
        let mut meta = self.image.metas[pc as usize];
        let mut op = &self.image.ops[pc as usize];
        let guard = (meta == Meta::Guard).then_some((op.b, op.y & NEGATE != 0));
        if guard.is_some() {
            meta = self.image.metas[pc as usize + 1];
            op = &self.image.ops[pc as usize + 1];
        }
        if meta == Meta::Part {
            return;
        }
        let origin = self.image.origins[pc as usize];
        for warp in (0..x.warps).filter(|&w| x.mask[w] != 0) {
            let active = x.mask[warp];
            let holds = |p: u32, negated: bool| x.files.p[p as usize + warp] ^ if negated { !0 } else { 0 };
            let mask = guard.map_or(active, |(p, negated)| active & holds(p, negated));
            let lanes = match meta {
                Meta::Memory { .. } => addresses(x, op, warp).lanes(),
                Meta::Part | Meta::Plain | Meta::Guard | Meta::Branch => [0; LANES],
            };
            let access = match meta {
                Meta::Memory { space, access, bytes } => {
                    Some(MemoryAccess { space, access, bytes, addresses: &lanes })
                }
                Meta::Part | Meta::Plain | Meta::Guard | Meta::Branch => None,
            };
            self.observer.instruction(&Event {
                function: origin.function,
                instruction: origin.instruction,
                block: x.threads.ctaid,
                warp: x.threads.first_warp + warp as u32,
                mask,
                active,
                access,
                taken: (meta == Meta::Branch).then(|| active & holds(op.b, op.y & NEGATE != 0)),
            });
        }
    }
}
