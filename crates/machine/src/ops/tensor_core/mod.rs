//! Instructions of the 5th-generation tensor core (PTX ISA, "TensorCore 5th Generation Family Instructions").
//!
//! | file | what it knows |
//! | --- | --- |
//! | `allocate` | allocations of tensor memory, by a CTA or a pair |
//! | `transfer` | tensor memory from and to registers, from shared memory, within itself |
//! | `product` | `D = A * B + D` |
//! | `told` | what observers are told |
//!
//! What tensor memory, descriptors and layouts are, [`crate::tensor_core`] knows. Unless somebody asks otherwise
//! ([`crate::asynchrony`]), copies, shifts and products are done when they are issued (`perform`), which is one of the orders
//! that PTX allows: a `wait` or a fence has nothing to wait for, and a commit arrives at once.

pub(crate) mod allocate;
pub(crate) mod product;
mod told;
pub(crate) mod transfer;

use super::address::{Cluster, lane_address};
use super::bulk::{aligned, in_ranks, in_turn, mask_of};
use super::mbarrier;
use crate::exec::Exec;
use crate::fault::Trap;
use crate::image::tensor_core::Commit;
use crate::operation::Address;
use crate::operation::kinds::{CommitTensorCore, CopyToTensorMemory, MultiplyTensors, ShiftTensorMemory};
use crate::tensor_core::memory::{LANES, Place};
use told::Accesses;

/// What an operand names in tensor memory.
fn place(x: &Exec<'_>, address: Address, warp: usize, lane: usize) -> Place {
    Place::of(lane_address(x, address, warp, lane) as u32)
}

/// Refuses columns that are not allocated in the memory of a CTA, or lanes that it does not have.
fn checked(
    x: &Exec<'_>,
    rank: usize,
    what: &str,
    Place { lane, column }: Place,
    (lanes, columns): (u32, u32),
) -> Result<(), Trap> {
    let illegal = |why: String| Err(Trap::IllegalInstruction(why));
    if lane.saturating_add(lanes) > LANES as u32 {
        return illegal(format!("{what}: lane {lane} of tensor memory with {lanes} lanes from there on"));
    }
    match x.tensor.get(rank) {
        Some(memory) if memory.has(column, columns) => Ok(()),
        _ => illegal(format!(
            "{what}: columns {column} to {} of the tensor memory of the CTA with rank {rank} are not allocated",
            column.saturating_add(columns).saturating_sub(1)
        )),
    }
}

/// The rank of the CTA whose instruction it is: what is performed later may be so by threads of another one.
fn own_rank(x: &Exec<'_>) -> usize {
    x.pending.performed_for.unwrap_or(x.threads.rank) as usize
}

/// The ranks of the CTAs whose memories an instruction accesses: its own, or the pair's, the even one first.
fn group(x: &Exec<'_>, ctas: u32) -> Result<Vec<usize>, Trap> {
    let own = own_rank(x);
    if ctas == 1 {
        return Ok(vec![own]);
    }
    let even = own & !1;
    let runs = x.threads.rank as usize;
    let is_there = |rank: usize| rank == runs || x.peers.get(rank).is_some_and(|memory| !memory.is_empty());
    match x.tensor.len() > even + 1 && is_there(even) && is_there(even + 1) {
        true => Ok(vec![even, even + 1]),
        false => Err(Trap::IllegalInstruction(
            "`.cta_group::2` in a CTA that has no peer, or whose peer has exited".to_owned(),
        )),
    }
}

/// 16 bytes of the shared memory of a CTA, or the address that is not valid.
fn chunk(x: &Exec<'_>, rank: usize, address: u32) -> Result<[u8; 16], u32> {
    let start = address.checked_sub(x.grid.shared_start).ok_or(address)? as usize;
    let memory =
        if rank == x.threads.rank as usize { &*x.shared } else { x.peers.get(rank).ok_or(address)? };
    let bytes = memory.get(start..start + 16).ok_or(address)?;
    let mut chunk = bytes.try_into().unwrap_or([0; 16]);
    x.pending.proxy.read((rank, start), &mut chunk);
    Ok(chunk)
}

/// Performs something for each active lane, and tells what it accesses.
fn watched_in_turn(
    x: &mut Exec<'_>,
    pc: u32,
    mut perform: impl FnMut(&mut Exec<'_>, usize, usize, &mut Accesses) -> Result<(), Trap>,
) -> u32 {
    in_turn(x, pc, |x, warp, lane| {
        let mut told = Accesses::new(x);
        perform(x, warp, lane, &mut told)?;
        told.tell(x, pc, warp, 1 << lane);
        Ok(())
    })
}

/// `tcgen05.cp`.
pub(crate) fn copy(x: &mut Exec<'_>, op: &CopyToTensorMemory, pc: u32) -> u32 {
    let copy = *x.grid.image.site(op.site);
    watched_in_turn(x, pc, |x, warp, lane, told| copy.perform(x, (warp, lane), told))
}

/// `tcgen05.shift`.
pub(crate) fn shift(x: &mut Exec<'_>, op: &ShiftTensorMemory, pc: u32) -> u32 {
    watched_in_turn(x, pc, |x, warp, lane, told| transfer::shift(x, op, (warp, lane), told))
}

/// `tcgen05.mma`.
pub(crate) fn multiply(x: &mut Exec<'_>, op: &MultiplyTensors, pc: u32) -> u32 {
    let product = *x.grid.image.site(op.site);
    watched_in_turn(x, pc, |x, warp, lane, told| product.perform(x, (warp, lane), told))
}

/// `tcgen05.commit`: what was issued before is done.
pub(crate) fn commit(x: &mut Exec<'_>, op: &CommitTensorCore, pc: u32) -> u32 {
    let commit = *x.grid.image.site(op.site);
    in_turn(x, pc, |x, warp, lane| commit.arrive(x, pc, warp, lane))
}

impl Commit {
    /// Arrives at the mbarrier object, or at that at the same place in every CTA of a mask.
    fn arrive(&self, x: &mut Exec<'_>, pc: u32, warp: usize, lane: usize) -> Result<(), Trap> {
        let barrier = lane_address(x, self.barrier, warp, lane);
        aligned("mbarrier", barrier, 8)?;
        match mask_of(x, self.ranks, warp, lane) {
            None => mbarrier::arrive_once::<Cluster>(x, pc, (warp, lane), barrier),
            Some(mask) => {
                let mut objects = in_ranks(mask, barrier);
                objects.try_for_each(|at| mbarrier::arrive_once::<Cluster>(x, pc, (warp, lane), at))
            }
        }
    }
}
