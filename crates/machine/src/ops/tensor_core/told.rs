//! What instructions of the tensor core access, for who watches ([`Happening::TensorCore`]): in shared memory and in tensor
//! memory, as ranges of bytes.

use crate::exec::Exec;
use crate::fault::Access;
use crate::memory::{RANK_SHIFT, SHARED_WINDOW, TENSOR_COLUMNS, TENSOR_MEMORY};
use crate::observe::Happening;
use crate::tensor_core::memory::Place;

/// What one execution has accessed so far; nothing, if nobody watches.
pub(super) struct Accesses {
    watched: bool,
    ranges: Vec<(u64, u64, Access)>,
}

impl Accesses {
    pub(super) fn new(x: &Exec<'_>) -> Self {
        Self { watched: x.grid.observer.is_some(), ranges: Vec::new() }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watched
    }

    fn add(&mut self, rank: usize, offset: u64, bytes: u64, access: Access) {
        if !self.watched {
            return;
        }
        let address = SHARED_WINDOW + ((rank as u64) << RANK_SHIFT) + offset;
        match self.ranges.last_mut() {
            Some((start, length, of)) if *of == access && *start + *length == address => *length += bytes,
            _ => self.ranges.push((address, bytes, access)),
        }
    }

    /// Shared memory of a CTA is read.
    pub(super) fn read_shared(&mut self, rank: usize, address: u32, bytes: u64) {
        self.add(rank, address.into(), bytes, Access::Load);
    }

    /// So many columns of a lane of a CTA's tensor memory are accessed.
    pub(super) fn tensor(&mut self, rank: usize, at: Place, columns: u32, access: Access) {
        let cell = u64::from(at.lane) * u64::from(TENSOR_COLUMNS) + u64::from(at.column);
        self.add(rank, TENSOR_MEMORY + cell * 4, u64::from(columns) * 4, access);
    }

    /// Tells of all of it, as what lanes of a warp do at an operation. Neighbours that were not met one after the other are one
    /// range all the same.
    pub(super) fn tell(mut self, x: &Exec<'_>, pc: u32, warp: usize, mask: u32) {
        self.ranges
            .sort_unstable_by_key(|&(address, bytes, access)| (access != Access::Load, address, bytes));
        let mut ranges: Vec<(u64, u64, Access)> = Vec::new();
        for (address, bytes, access) in self.ranges {
            match ranges.last_mut() {
                Some((start, length, of)) if *of == access && address <= *start + *length => {
                    *length = (*length).max(address + bytes - *start);
                }
                _ => ranges.push((address, bytes, access)),
            }
        }
        if !ranges.is_empty() {
            x.tell(|x| Happening::TensorCore { lanes: x.lanes_at(pc, warp, mask), ranges: &ranges });
        }
    }
}
