//! Bulk copies (PTX ISA, "Non-tensor copy instructions" of "Asynchronous copy": cp.async.bulk, cp.reduce.async.bulk).
//!
//! A copy is done when it is executed: unless somebody asks otherwise ([`crate::asynchrony`]) that is when it is issued, which
//! is one of the orders that the manual allows. An mbarrier object gets its bytes at once. Each active lane copies in turn.

use super::address::{Cluster, Generic, Global, Shared, Space, lane_address};
use super::body::function;
use super::mbarrier;
use crate::asynchrony::pending::Write;
use crate::exec::Exec;
use crate::fault::{Access, Trap};
use crate::image::Function;
use crate::image::copy::{Bulk, End, Reduction};
use crate::lanes::PlaneId;
use crate::memory::{Members, RANK_SHIFT, SHARED_WINDOW, SpaceKind};
use crate::observe::Happening;
use crate::operation::kinds::{CopyBulk, CopyTensorMap, StoreZeros};

/// Bytes that are moved at a time.
const PIECE: usize = 1024;

/// What the addresses and the size of a bulk copy must be multiples of.
const GRANULE: u64 = 16;

impl End {
    fn window(self) -> u64 {
        match self {
            Self::Global => 0,
            Self::Shared => SHARED_WINDOW,
        }
    }

    /// Reads bytes, at most a page.
    pub(crate) fn read(self, x: &Exec<'_>, address: u64, into: &mut [u8]) -> Result<(), Trap> {
        self.tell(x, address, into.len(), Access::Load);
        let done = match self {
            Self::Global => Global::load_block::<u8>(x, address, into),
            Self::Shared => Cluster::load_block::<u8>(x, address, into),
        };
        if done { Ok(()) } else { Err(self.unreachable(x, address, into.len(), Access::Load)) }
    }

    /// Reads bytes as the async proxy sees them.
    pub(crate) fn read_by_proxy(self, x: &Exec<'_>, address: u64, into: &mut [u8]) -> Result<(), Trap> {
        self.read(x, address, into)?;
        if self == Self::Shared {
            x.pending.proxy.read(in_memory(x, address), into);
        }
        Ok(())
    }

    /// Writes bytes, at most a page.
    pub(crate) fn write(self, x: &mut Exec<'_>, address: u64, from: &[u8]) -> Result<(), Trap> {
        if let Some(held) = &mut x.pending.held {
            held.push(Write { end: self, address, bytes: from.to_vec(), reduction: None });
            return Ok(());
        }
        self.tell(x, address, from.len(), Access::Store);
        let done = match self {
            Self::Global => Global::store_block::<u8>(x, address, from),
            Self::Shared => Cluster::store_block::<u8>(x, address, from),
        };
        if let (Self::Shared, true) = (self, x.pending.proxy.is_apart()) {
            x.pending.proxy.write(in_memory(x, address), from);
        }
        if done { Ok(()) } else { Err(self.unreachable(x, address, from.len(), Access::Store)) }
    }

    /// Combines what is at an address with elements.
    pub(crate) fn combine(
        self,
        x: &mut Exec<'_>,
        address: u64,
        from: &[u8],
        how: &Reduction,
    ) -> Result<(), Trap> {
        if let Some(held) = &mut x.pending.held {
            held.push(Write { end: self, address, bytes: from.to_vec(), reduction: Some(*how) });
            return Ok(());
        }
        self.tell(x, address, from.len(), Access::Atomic);
        for (i, element) in from.chunks_exact(how.bytes).enumerate() {
            let at = address + (i * how.bytes) as u64;
            let done = match self {
                Self::Global => how.update::<Global>(x, at, element),
                Self::Shared => how.update::<Cluster>(x, at, element),
            };
            if !done {
                return Err(self.unreachable(x, at, how.bytes, Access::Atomic));
            }
        }
        if let (Self::Shared, true) = (self, x.pending.proxy.is_apart()) {
            let mut sums = vec![0; from.len()];
            Cluster::load_block::<u8>(x, address, &mut sums);
            x.pending.proxy.write(in_memory(x, address), &sums);
        }
        Ok(())
    }

    /// Whether there is a byte at an address.
    pub(crate) fn is_there(self, x: &Exec<'_>, address: u64) -> bool {
        match self {
            Self::Global => Global::load::<u8>(x, 0, 0, address).is_some(),
            Self::Shared => Cluster::load::<u8>(x, 0, 0, address).is_some(),
        }
    }

    fn tell(self, x: &Exec<'_>, address: u64, bytes: usize, access: Access) {
        let address = self.window().wrapping_add(address);
        x.tell(|_| Happening::BulkAccess { address, bytes: bytes as u64, access });
    }

    /// The trap for the first granule that is not there.
    #[cold]
    fn unreachable(self, x: &Exec<'_>, address: u64, count: usize, access: Access) -> Trap {
        let first = (0..count as u64).find(|&i| !self.is_there(x, address.wrapping_add(i))).unwrap_or(0);
        x.bad_access(self.window().wrapping_add(address).wrapping_add(first), 1, access)
    }
}

/// The rank and the place of an address of shared memory.
fn in_memory(x: &Exec<'_>, address: u64) -> (usize, usize) {
    let place = address & ((1 << RANK_SHIFT) - 1);
    ((address >> RANK_SHIFT) as usize, place.wrapping_sub(x.grid.shared_start.into()) as usize)
}

/// Refuses an address that is not aligned, with the operand's name.
pub(crate) fn aligned(operand: &'static str, address: u64, alignment: u64) -> Result<(), Trap> {
    match address.is_multiple_of(alignment) {
        true => Ok(()),
        false => Err(Trap::MisalignedOperand { operand, address, alignment }),
    }
}

/// The CTAs of a `ctaMask`; the address of each one's copy of what is at `address`.
pub(crate) fn in_ranks(mask: u16, address: u64) -> impl Iterator<Item = u64> {
    let place = address & ((1 << RANK_SHIFT) - 1);
    (0..16).filter(move |rank| mask >> rank & 1 != 0).map(move |rank| rank << RANK_SHIFT | place)
}

/// The address of the mbarrier object that is told of what a CTA got: the one at the place of that named, of the CTA, or of the
/// one in its pair whose rank is even or odd as that of the object named.
pub(crate) fn told(object: u64, rank: u64, by_pairs: bool) -> u64 {
    let (place, named) = (object & ((1 << RANK_SHIFT) - 1), object >> RANK_SHIFT);
    let rank = if by_pairs { rank & !1 | named & 1 } else { rank };
    rank << RANK_SHIFT | place
}

/// Where the data of a bulk copy go.
enum Copies {
    /// To the destination.
    One,
    /// To the same place in each CTA of a mask.
    Ranks(u16),
    /// To all that a multicast address stands for.
    Members(Members),
}

/// A lane's mask of 16 bits, if there is one.
pub(crate) fn mask_of(x: &Exec<'_>, plane: Option<PlaneId>, warp: usize, lane: usize) -> Option<u16> {
    plane.map(|plane| x.files.h[plane.index() + warp].0[lane])
}

/// Executes what communicates for each active lane in turn.
pub(crate) fn in_turn(
    x: &mut Exec<'_>,
    pc: u32,
    mut perform: impl FnMut(&mut Exec<'_>, usize, usize) -> Result<(), Trap>,
) -> u32 {
    x.communicated = true;
    for (warp, lane) in x.active_lanes() {
        if let Err(trap) = perform(x, warp, lane) {
            return x.raise(warp, lane, trap);
        }
    }
    pc + 1
}

/// The same of copies in bulk, each of which is told.
pub(crate) fn copy_in_turn(
    x: &mut Exec<'_>,
    pc: u32,
    mut perform: impl FnMut(&mut Exec<'_>, usize, usize) -> Result<(), Trap>,
) -> u32 {
    in_turn(x, pc, |x, warp, lane| {
        x.tell(|x| Happening::BulkCopy(x.lanes_at(pc, warp, 1 << lane)));
        perform(x, warp, lane)
    })
}

/// A bulk copy or prefetch.
pub(crate) fn bulk(x: &mut Exec<'_>, op: &CopyBulk, pc: u32) -> u32 {
    let copy = *x.grid.image.site(op.site);
    copy_in_turn(x, pc, |x, warp, lane| copy.execute(x, warp, lane))
}

impl Bulk {
    fn execute(&self, x: &mut Exec<'_>, warp: usize, lane: usize) -> Result<(), Trap> {
        let size = x.files.w[self.size.index() + warp].0[lane];
        let (source, from) = self.from;
        let from = lane_address(x, from, warp, lane);
        aligned("source", from, GRANULE)?;
        let Some((target, to)) = self.to else {
            return whole(size);
        };
        let to = lane_address(x, to, warp, lane);
        aligned("destination", to, GRANULE)?;
        whole(size)?;
        let barrier = self.barrier.map(|barrier| lane_address(x, barrier, warp, lane));
        if let Some(barrier) = barrier {
            aligned("mbarrier", barrier, 8)?;
        }
        let mask = mask_of(x, self.ranks.map(|ranks| ranks.mask), warp, lane);
        let kept = mask_of(x, self.byte_mask, warp, lane);
        let bytes = u64::from(size);
        let copies = match (mask, self.multicast) {
            (Some(mask), _) => Copies::Ranks(mask),
            (None, true) => {
                let members = x.grid.memory.multicast_members(to, bytes);
                Copies::Members(members.ok_or(Trap::NotMulticast { address: to, bytes })?)
            }
            (None, false) => Copies::One,
        };
        let mut piece = [0; PIECE];
        for start in (0..bytes).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min((bytes - start) as usize)];
            source.read_by_proxy(x, from + start, piece)?;
            let mut put = |to| match (self.reduction, kept) {
                (Some(how), _) => target.combine(x, to + start, piece, &how),
                (None, None) => target.write(x, to + start, piece),
                (None, Some(kept)) => write_some(x, target, to + start, piece, kept),
            };
            match &copies {
                Copies::One => put(to)?,
                Copies::Ranks(mask) => in_ranks(*mask, to).try_for_each(put)?,
                Copies::Members(members) => members.addresses().try_for_each(put)?,
            }
        }
        barrier.map_or(Ok(()), |barrier| complete(x, (warp, lane), barrier, (mask, false), bytes))
    }
}

/// Writes those bytes of every 16 that a mask names; the piece begins with the first of 16.
fn write_some(x: &mut Exec<'_>, target: End, to: u64, piece: &[u8], kept: u16) -> Result<(), Trap> {
    for (at, byte) in (to..).zip(piece.chunks(1)) {
        if kept >> ((at - to) % GRANULE) & 1 != 0 {
            target.write(x, at, byte)?;
        }
    }
    Ok(())
}

/// Refuses a size that is not a whole number of granules. An H200 copies fewer bytes then; the manual leaves it open.
fn whole(size: u32) -> Result<(), Trap> {
    match u64::from(size).is_multiple_of(GRANULE) {
        true => Ok(()),
        false => {
            Err(Trap::IllegalInstruction(format!("size {size} of a bulk copy is no multiple of {GRANULE}")))
        }
    }
}

/// Tells an mbarrier object, or that at the same place in every CTA of a mask, that so many bytes have come.
pub(crate) fn complete(
    x: &mut Exec<'_>,
    (warp, lane): (usize, usize),
    barrier: u64,
    (mask, by_pairs): (Option<u16>, bool),
    bytes: u64,
) -> Result<(), Trap> {
    let Some(mask) = mask else { return mbarrier::complete::<Cluster>(x, warp, lane, barrier, bytes) };
    (0..16).filter(|rank| mask >> rank & 1 != 0).try_for_each(|rank| {
        mbarrier::complete::<Cluster>(x, warp, lane, told(barrier, rank, by_pairs), bytes)
    })
}

/// The most bytes that `st.bulk` stores (PTX ISA, "st.bulk").
const MOST_ZEROS: u64 = 16_777_216;

/// `st.bulk` by addresses of a space.
pub(crate) fn store_zeros(space: SpaceKind) -> Function<StoreZeros> {
    match space {
        SpaceKind::Shared => function!(store_zeros_in::<Shared>),
        _ => function!(store_zeros_in::<Generic>),
    }
}

fn store_zeros_in<P: Space>(x: &mut Exec<'_>, op: &StoreZeros, pc: u32) -> u32 {
    for (warp, lane) in x.active_lanes() {
        let address = lane_address(x, op.address, warp, lane).wrapping_add(P::WINDOW);
        let bytes = x.files.d[op.bytes.index() + warp].0[lane];
        if let Err(trap) = zeros(x, address, bytes) {
            return x.raise(warp, lane, trap);
        }
        if x.grid.observer.is_some() {
            x.tell_access_of(pc, (warp, lane), address, bytes, Access::Store);
        }
    }
    pc + 1
}

/// Stores zeros in shared memory, which a generic address is of.
fn zeros(x: &mut Exec<'_>, address: u64, bytes: u64) -> Result<(), Trap> {
    aligned("destination", address, 8)?;
    if !bytes.is_multiple_of(8) || bytes > MOST_ZEROS {
        return Err(Trap::IllegalInstruction(format!(
            "size {bytes} of st.bulk is no multiple of 8, or more than {MOST_ZEROS}"
        )));
    }
    let start = address.wrapping_sub(SHARED_WINDOW);
    for at in (0..bytes).step_by(PIECE) {
        let piece = &[0; PIECE][..PIECE.min((bytes - at) as usize)];
        let offset = start.wrapping_add(at);
        if !Shared::store_block::<u8>(x, offset, piece) {
            return Err(End::Shared.unreachable(x, offset, piece.len(), Access::Store));
        }
    }
    Ok(())
}

/// `tensormap.cp_fenceproxy`: a tensor map from shared to global memory.
/// All lanes of a warp name the same addresses, and the first one copies.
pub(crate) fn copy_tensor_map(x: &mut Exec<'_>, op: &CopyTensorMap, pc: u32) -> u32 {
    x.communicated = true;
    let copy = *x.grid.image.site(op.site);
    for warp in 0..x.warps {
        if x.mask[warp] == 0 {
            continue;
        }
        let lane = x.mask[warp].trailing_zeros() as usize;
        match copy.move_tensor_map(x, warp, lane) {
            Ok(ends) if x.grid.observer.is_some() => {
                for (address, access) in ends {
                    x.tell_access_of(pc, (warp, lane), address, crate::tensormap::BYTES as u64, access);
                }
            }
            Ok(_) => {}
            Err(trap) => return x.raise(warp, lane, trap),
        }
    }
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    pc + 1
}

impl Bulk {
    /// Copies a tensor map. What it has accessed, by generic addresses.
    fn move_tensor_map(
        &self,
        x: &mut Exec<'_>,
        warp: usize,
        lane: usize,
    ) -> Result<Vec<(u64, Access)>, Trap> {
        let (source, from) = self.from;
        let from = lane_address(x, from, warp, lane);
        aligned("source", from, crate::tensormap::BYTES as u64)?;
        let Some((target, to)) = self.to else { return Ok(Vec::new()) };
        let to = lane_address(x, to, warp, lane);
        aligned("destination", to, crate::tensormap::BYTES as u64)?;
        let mut map = [0; crate::tensormap::BYTES];
        source.read(x, from, &mut map)?;
        target.write(x, to, &map)?;
        let ends = [(source, from, Access::Load), (target, to, Access::Store)];
        Ok(ends.map(|(end, at, access)| (end.window().wrapping_add(at), access)).to_vec())
    }
}

/// Reads a tensor map through a generic address.
pub(crate) fn tensor_map(
    x: &Exec<'_>,
    warp: usize,
    lane: usize,
    address: u64,
) -> Result<crate::tensormap::TensorMap, Trap> {
    let mut bytes = [0; crate::tensormap::BYTES];
    for (i, word) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let at = address + 8 * i as u64;
        let value = Generic::load::<u64>(x, warp, lane, at);
        *word = value.ok_or_else(|| x.bad_access(at, 8, Access::Load))?.to_le_bytes();
    }
    Ok(crate::tensormap::TensorMap::from_bytes(&bytes))
}
