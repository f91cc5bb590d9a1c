//! `tcgen05.alloc`, `tcgen05.dealloc` and `tcgen05.relinquish_alloc_permit` (PTX ISA, "Tensor Memory Allocation and
//! Management Instructions").
//!
//! A warp asks; what it asks for is granted when there is room, and with `.cta_group::2` when a warp of the peer has asked for
//! the same, in both memories at the same columns. Until then it waits, and is executed again.

use super::group;
use crate::exec::{Awaited, Exec, event};
use crate::fault::{Access, Trap};
use crate::image::tensor_core::{Allocation, Either};
use crate::memory::{SHARED_WINDOW, SpaceKind, TENSOR_COLUMNS};
use crate::operation::kinds::{AllocateTensorMemory, RelinquishTensorMemory};
use crate::ops::address::{Generic, Shared, Space, lane_address};
use crate::ops::matrix::assemble;
use crate::tensor_core::memory::{GRANULE, Place, TensorMemory, Wish};

/// `tcgen05.alloc` and `tcgen05.dealloc`.
pub(crate) fn allocate(x: &mut Exec<'_>, op: &AllocateTensorMemory, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    x.communicated = true;
    let site = *x.grid.image.site(op.site);
    let warps: Vec<usize> = (0..x.warps).filter(|&warp| x.mask[warp] != 0).collect();
    let mut granted = Vec::new();
    for &warp in &warps {
        match site.ask(x, warp) {
            Ok(start) => granted.extend(start),
            Err(trap) => return x.raise(warp, 0, trap),
        }
    }
    let own = x.threads.rank as usize;
    if granted.len() < warps.len() {
        let free = x.tensor[own].free_columns();
        x.awaited = Some(Awaited::TensorMemory { free, lane: (warps[0], 0) });
        return event::WAIT;
    }
    for (warp, start) in warps.into_iter().zip(granted) {
        x.tensor[own].forget(x.threads.first_warp + warp as u32);
        if let Either::Allocate { to, space } = site.place {
            let to = lane_address(x, to, warp, 0);
            let stored = match space {
                SpaceKind::Shared => Shared::store::<u32>(x, warp, 0, to, start),
                _ => Generic::store::<u32>(x, warp, 0, to, start),
            };
            let window = if space == SpaceKind::Shared { SHARED_WINDOW } else { 0 };
            let to = to.wrapping_add(window);
            if stored.is_none() {
                let trap = x.bad_access(to, 4, Access::Store);
                return x.raise(warp, 0, trap);
            }
            // The lanes store together, once.
            x.tell_access_of(pc, (warp, 0), to, 4, Access::Store);
        }
    }
    pc + 1
}

impl Allocation {
    /// The first column, if what a warp asks for can be done now.
    fn ask(&self, x: &mut Exec<'_>, warp: usize) -> Result<Option<u32>, Trap> {
        let (own, number) = (x.threads.rank as usize, x.threads.first_warp + warp as u32);
        let columns = x.files.w[self.columns.index() + warp].0[0];
        let what = match self.place {
            Either::Allocate { .. } => Wish::Allocate { columns },
            Either::Free { address } => {
                let Place { column: start, .. } = Place::of(x.files.w[address.index() + warp].0[0]);
                Wish::Free { start, columns }
            }
        };
        let illegal = |why: String| Err(Trap::IllegalInstruction(why));
        let allocates = matches!(what, Wish::Allocate { .. });
        if !columns.is_power_of_two() || !(GRANULE..=TENSOR_COLUMNS).contains(&columns) {
            return illegal(format!("{columns} columns of tensor memory, not 32, 64, 128, 256 or 512"));
        }
        if allocates && x.tensor[own].has_relinquished() {
            return illegal("tcgen05.alloc after tcgen05.relinquish_alloc_permit".to_owned());
        }
        let request = x.tensor[own].ask(number, what);
        if request.granted.is_some() {
            // The peer may have exited since.
            return Ok(request.granted);
        }
        let ranks = group(x, self.ctas)?;
        let peers: Vec<usize> = ranks.iter().copied().filter(|&rank| rank != own).collect();
        for &peer in &peers {
            match x.tensor[peer].open_request(allocates) {
                Some(other) if other.what == what => {}
                Some(other) => {
                    return illegal(format!("CTAs of a pair that ask for {:?} and {what:?}", other.what));
                }
                None => return Ok(None),
            }
        }
        let start = match what {
            Wish::Allocate { columns } => {
                let memories: Vec<&TensorMemory> = ranks.iter().map(|&rank| &x.tensor[rank]).collect();
                let Some(start) = TensorMemory::vacancy(&memories, columns) else { return Ok(None) };
                let at = x.at;
                ranks.iter().for_each(|&rank| x.tensor[rank].allocate(start, columns, at));
                start
            }
            Wish::Free { start, columns } => {
                if !ranks.iter().all(|&rank| x.tensor[rank].free(start, columns)) {
                    return illegal(format!(
                        "no allocation of {columns} columns of tensor memory begins at {start}"
                    ));
                }
                start
            }
        };
        for &peer in &peers {
            if let Some(other) = x.tensor[peer].open_request(allocates) {
                other.granted = Some(start);
            }
        }
        if let Some(request) = x.tensor[own].request_of(number) {
            request.granted = Some(start);
        }
        Ok(Some(start))
    }
}

/// `tcgen05.relinquish_alloc_permit`.
pub(crate) fn relinquish(x: &mut Exec<'_>, _: &RelinquishTensorMemory, pc: u32) -> u32 {
    if let Some(next) = assemble(x, 1) {
        return next;
    }
    let own = x.threads.rank as usize;
    x.tensor[own].relinquish();
    pc + 1
}
