//! Anchors: accesses of shared memory whose addresses are those of another one and a constant more, for every thread. What was found out
//! about the lanes of the one is known of the other's: unrolled loops over tiles have one such value for dozens of accesses.
//!
//! An anchor is a value of the kernel's SSA form. While its definition is not executed again, its accesses tell the same. Where
//! the definition stands in no loop that is so for good. Elsewhere one access *begins* what is known: one without a guard that
//! dominates the others. No thread comes from the definition to one of those but through it.

use crate::places::Reach;
use ir::instruction::{AddInt, Mov, Op};
use ir::loops::Loops;
use ir::operand::{Space, Value};
use ir::ssa::{Definitions, Ssa};
use ir::{BlockId, Cfg, Function, Liveness};
use machine::lanes::Mask;
use ptx::isa::Order;
use ptx::module::{AddressBase, FuncId, FunctionKind, Module, RegId};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Values of a kernel that are followed, at most.
pub(crate) const ANCHORS: usize = 32;

/// What the addresses of an access are computed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// Which of the kernel's values.
    pub(crate) value: u8,
    /// What is added to it.
    pub(crate) offset: i64,
    /// Whether what was known of the value before is of an earlier one.
    pub(crate) begins: bool,
}

/// The accesses of a kernel that have anchors, by instruction.
pub(crate) fn anchors(module: &Module, function: FuncId) -> Vec<(u32, Anchor)> {
    let declared = &module.functions[function.index()];
    // What is called may be called again before it is done, with other values; a kernel is not.
    if declared.kind != FunctionKind::Entry {
        return Vec::new();
    }
    let Some(function) = Function::lower(module, function) else { return Vec::new() };
    let cfg = Cfg::new(&function);
    let loops = Loops::new(&cfg);
    let liveness = Liveness::new(&function, &cfg);
    if loops.irreducible {
        return Vec::new();
    }
    let Ok(ssa) = Ssa::new(&function, cfg, &liveness) else { return Vec::new() };
    of_values(&ssa, &loops)
}

/// An access by a value of the SSA form and what is added.
struct Access {
    block: BlockId,
    origin: u32,
    offset: i64,
    guarded: bool,
}

impl Access {
    /// Whether whoever comes to another one has come by this one since the value was defined.
    fn is_before(&self, other: &Self, ssa: &Ssa<'_>) -> bool {
        match self.block == other.block {
            true => self.origin < other.origin,
            false => ssa.dominates(self.block, other.block),
        }
    }
}

fn of_values(ssa: &Ssa<'_>, loops: &Loops) -> Vec<(u32, Anchor)> {
    let definitions = Definitions::new(ssa);
    let mut values: FxHashMap<(RegId, Space), Vec<Access>> = FxHashMap::default();
    let mut defined = vec![BlockId(0); ssa.values.len()];
    for block in ssa.order() {
        let ir::ssa::Block { parameters, instructions, .. } = &ssa.blocks[block.index()];
        parameters.iter().for_each(|value| defined[value.index()] = block);
        for instruction in instructions {
            instruction.writes(&mut |value| defined[value.index()] = block);
            let (order, address) = if let Op::Ld(load) = &instruction.typed.op {
                (load.order, &load.a)
            } else if let Op::St(store) = &instruction.typed.op {
                (store.order, &store.a)
            } else {
                continue;
            };
            let of_cta = matches!(address.space, Space::Shared | Space::SharedCta | Space::Generic);
            if let (AddressBase::Register(base), Order::Weak, true) = (address.base, order, of_cta) {
                let (value, added) = root(ssa, &definitions, base);
                let access = Access {
                    block,
                    origin: instruction.origin,
                    offset: added.wrapping_add(address.offset),
                    guarded: instruction.typed.guard.is_some(),
                };
                values.entry((value, address.space)).or_default().push(access);
            }
        }
    }
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_unstable_by_key(|(_, accesses)| (Reverse(accesses.len()), accesses[0].origin));
    let mut all = Vec::new();
    for (number, ((value, _), accesses)) in (0..).zip(values).take(ANCHORS) {
        let lasts = loops.of(defined[value.index()]).is_none();
        let mut beginning: Vec<Access> = Vec::new();
        for access in accesses {
            let known = lasts || beginning.iter().any(|begins| begins.is_before(&access, ssa));
            if known || !access.guarded {
                all.push((access.origin, Anchor { value: number, offset: access.offset, begins: !known }));
            }
            if !known && !access.guarded {
                beginning.push(access);
            }
        }
    }
    all
}

/// The value that another one is a copy of, or a constant more than, and that constant.
fn root(ssa: &Ssa<'_>, definitions: &Definitions, value: RegId) -> (RegId, i64) {
    let (mut value, mut added) = (value, 0_i64);
    // A definition dominates its uses, so that this ends.
    while let Some(instruction) = definitions.of(ssa, value).filter(|of| of.typed.guard.is_none()) {
        let (from, more) = if let Op::Mov(Mov { a: Value::Register(from), .. }) = &instruction.typed.op {
            (*from, 0)
        } else if let Op::AddInt(AddInt { sat: false, a, b, .. }) = &instruction.typed.op
            && let (Value::Register(from), Value::Constant(more))
            | (Value::Constant(more), Value::Register(from)) = (a, b)
        {
            (*from, *more)
        } else {
            break;
        };
        let bits = ssa.values[value.index()].ty.bits();
        if !matches!(bits, 32 | 64) || ssa.values[from.index()].ty.bits() != bits {
            break;
        }
        let unused = 64 - bits;
        (value, added) = (from, added.wrapping_add(((more << unused) as i64) >> unused));
    }
    (value, added)
}

/// What an [interval](crate::interval) has of the values of its kernel, by the first warp of a pack and the value.
#[derive(Debug, Default)]
pub(crate) struct Anchored(Vec<Found>);

/// Where an interval lists the places of the warps of a pack for a value, and what was added to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    /// The interval; nothing is known if it is another one.
    pub(crate) interval: i32,
    pub(crate) masks: Mask,
    pub(crate) begin: u64,
    pub(crate) offset: i64,
    pub(crate) reach: Reach,
    /// The first of the warps.
    pub(crate) at: usize,
}

impl Anchored {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn place(first_warp: u16, anchor: Anchor) -> usize {
        usize::from(first_warp) * ANCHORS + usize::from(anchor.value)
    }

    #[inline(always)]
    pub(crate) fn find(&self, first_warp: u16, anchor: Anchor) -> Option<&Found> {
        self.0.get(Self::place(first_warp, anchor)).filter(|_| !anchor.begins)
    }

    pub(crate) fn note(&mut self, first_warp: u16, anchor: Anchor, found: Found) {
        let place = Self::place(first_warp, anchor);
        if place >= self.0.len() {
            self.0.resize(place + 1, Found::default());
        }
        self.0[place] = found;
    }

    /// The value is another one.
    pub(crate) fn forget(&mut self, first_warp: u16, anchor: Anchor) {
        if let Some(found) = self.0.get_mut(Self::place(first_warp, anchor)) {
            *found = Found::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_have_the_anchors_of_their_addresses() {
        let text = "
            .version 8.0
            .target sm_90
            .address_size 64
            .visible .entry k(.param .u32 count)
            {
                .reg .pred %p<3>;
                .reg .b32 %r<12>;
                .shared .align 4 .b8 tile[4096];
                ld.param.u32 %r0, [count];
                mov.u32 %r1, %tid.x;
                shl.b32 %r2, %r1, 2;
                mov.u32 %r3, tile;
                add.u32 %r4, %r3, %r2;
                mov.u32 %r5, 0;
                setp.gt.u32 %p1, %r1, 3;
            again:
                st.shared.u32 [%r4+8], %r5;
                @%p1 ld.shared.u32 %r8, [%r4];
                add.u32 %r6, %r4, %r5;
                @%p1 ld.shared.u32 %r8, [%r6];
                ld.shared.u32 %r8, [%r6+4];
                add.u32 %r7, %r6, 12;
                @%p1 ld.shared.u32 %r8, [%r7];
                add.u32 %r5, %r5, 4;
                setp.lt.u32 %p0, %r5, %r0;
                @%p0 bra again;
                ret;
            }";
        let source = ptx::source::Source::new("anchors.ptx", text);
        let (module, _) = ptx::compile(&source).into_result().expect("the text is correct");
        let mut found: Vec<_> = anchors(&module, FuncId(0))
            .into_iter()
            .map(|(at, Anchor { value, offset, begins })| (at, value, offset, begins))
            .collect();
        found.sort_unstable();
        // That of the loop's value begins with the first access that all lanes make, and has nothing to say of the one before.
        assert_eq!(found, [(7, 1, 8, false), (8, 1, 0, false), (11, 0, 4, true), (13, 0, 12, false)]);
    }
}
