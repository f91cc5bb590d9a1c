//! Tensor memory: 128 lanes by 512 columns of 32 bits for each CTA (PTX ISA, "Tensor Memory").
//!
//! An address has the lane in its upper half and the column in its lower one. Columns are allocated, all lanes of each;
//! what is not allocated cannot be accessed. On hardware the CTAs of a multiprocessor share one memory of this size; here each
//! has its own, so that an allocation waits for other warps of its CTA alone, or of its pair.

use crate::memory::TENSOR_COLUMNS;

/// Lanes, the rows of the memory.
pub(crate) const LANES: usize = 128;
/// Columns of the smallest allocation.
pub(crate) const GRANULE: u32 = 32;

/// A place in tensor memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) lane: u32,
    pub(crate) column: u32,
}

impl Place {
    /// What an address says.
    pub(crate) fn of(address: u32) -> Self {
        Self { lane: address >> 16, column: address & 0xffff }
    }
}

/// Columns that are allocated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Allocation {
    start: u32,
    columns: u32,
    /// The operation that allocated them.
    at: u32,
}

/// What a warp asks for until it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The warp's number in its CTA.
    pub(crate) warp: u32,
    pub(crate) what: Wish,
    /// The first column, once it is granted.
    pub(crate) granted: Option<u32>,
}

/// An allocation or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Allocate { columns: u32 },
    Free { start: u32, columns: u32 },
}

/// The tensor memory of a CTA.
#[derive(Debug, Default)]
pub(crate) struct TensorMemory {
    /// Lane by lane; nothing until the first allocation.
    cells: Vec<u32>,
    allocations: Vec<Allocation>,
    /// Whether the CTA has given up allocating.
    relinquished: bool,
    /// Of warps that have not gone on yet.
    requests: Vec<Request>,
}

impl TensorMemory {
    /// Gives it to another CTA.
    #[inline]
    pub(crate) fn begin(&mut self) {
        let is_untouched = self.cells.is_empty() && self.requests.is_empty() && !self.relinquished;
        if is_untouched {
            return;
        }
        self.cells.fill(0);
        self.allocations.clear();
        self.relinquished = false;
        self.requests.clear();
    }

    /// The columns of an allocation that has not ended, and the operation that made it.
    pub(crate) fn leak(&self) -> Option<(u32, u32)> {
        self.allocations.first().map(|allocation| (allocation.columns, allocation.at))
    }

    /// Whether the CTA has given up allocating.
    pub(crate) fn has_relinquished(&self) -> bool {
        self.relinquished
    }

    /// The CTA gives up allocating.
    pub(crate) fn relinquish(&mut self) {
        self.relinquished = true;
    }

    /// Columns that are not allocated.
    pub(crate) fn free_columns(&self) -> u32 {
        TENSOR_COLUMNS - self.allocations.iter().map(|allocation| allocation.columns).sum::<u32>()
    }

    /// Whether so many columns from one on are allocated to nobody.
    fn is_vacant(&self, start: u32, columns: u32) -> bool {
        self.allocations.iter().all(|a| start + columns <= a.start || a.start + a.columns <= start)
    }

    /// The first of so many columns that are allocated to nobody, here and in the memories of others.
    pub(crate) fn vacancy(memories: &[&Self], columns: u32) -> Option<u32> {
        let mut starts = (0..=TENSOR_COLUMNS - columns).step_by(GRANULE as usize);
        starts.find(|&start| memories.iter().all(|memory| memory.is_vacant(start, columns)))
    }

    /// Allocates columns that are vacant, for an operation.
    pub(crate) fn allocate(&mut self, start: u32, columns: u32, at: u32) {
        if self.cells.is_empty() {
            self.cells = vec![0; LANES * TENSOR_COLUMNS as usize];
        }
        self.allocations.push(Allocation { start, columns, at });
    }

    /// Ends an allocation: whether there was one.
    pub(crate) fn free(&mut self, start: u32, columns: u32) -> bool {
        let index = self.allocations.iter().position(|a| (a.start, a.columns) == (start, columns));
        index.map(|index| self.allocations.swap_remove(index)).is_some()
    }

    /// What a warp has asked for.
    pub(crate) fn request_of(&mut self, warp: u32) -> Option<&mut Request> {
        self.requests.iter_mut().find(|request| request.warp == warp)
    }

    /// The same, or what it asks for from now on.
    pub(crate) fn ask(&mut self, warp: u32, what: Wish) -> Request {
        match self.request_of(warp) {
            Some(request) => *request,
            None => {
                let request = Request { warp, what, granted: None };
                self.requests.push(request);
                request
            }
        }
    }

    /// The first that is not granted yet, of those that ask for an allocation or of those that end one.
    pub(crate) fn open_request(&mut self, allocates: bool) -> Option<&mut Request> {
        self.requests.iter_mut().find(|request| {
            request.granted.is_none() && matches!(request.what, Wish::Allocate { .. }) == allocates
        })
    }

    /// A warp goes on.
    pub(crate) fn forget(&mut self, warp: u32) {
        self.requests.retain(|request| request.warp != warp);
    }

    /// Whether so many columns from one on are allocated, maybe by several allocations.
    pub(crate) fn has(&self, column: u32, columns: u32) -> bool {
        let allocated =
            |column| self.allocations.iter().any(|a| (a.start..a.start + a.columns).contains(&column));
        column.checked_add(columns).is_some_and(|end| (column..end).all(allocated))
    }

    /// The word of a cell that is allocated.
    pub(crate) fn word(&self, lane: u32, column: u32) -> u32 {
        self.cells[Self::index(lane, column)]
    }

    /// The same, to change it.
    pub(crate) fn word_mut(&mut self, lane: u32, column: u32) -> &mut u32 {
        &mut self.cells[Self::index(lane, column)]
    }

    fn index(lane: u32, column: u32) -> usize {
        (lane * TENSOR_COLUMNS + column) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_allocated_where_nobody_has_them() {
        let mut memory = TensorMemory::default();
        let allocate = |memory: &mut TensorMemory, columns| {
            let start = TensorMemory::vacancy(&[memory], columns);
            start.inspect(|&start| memory.allocate(start, columns, 0))
        };
        assert_eq!(allocate(&mut memory, 256), Some(0));
        assert_eq!(allocate(&mut memory, 128), Some(256));
        assert_eq!(allocate(&mut memory, 256), None);
        assert!(memory.free(0, 256) && !memory.free(0, 256));
        assert_eq!(allocate(&mut memory, 32), Some(0));
        assert_eq!(allocate(&mut memory, 256), None);
        assert!(memory.has(256, 128) && !memory.has(255, 2) && !memory.has(u32::MAX, 2));
        assert_eq!(memory.free_columns(), 512 - 160);
        let mut other = TensorMemory::default();
        other.allocate(32, 64, 0);
        assert_eq!(TensorMemory::vacancy(&[&memory, &other], 32), Some(96));
    }
}
