//! Allocating and freeing memory at a place in a stream's order.

use super::reserve::Pool;
use crate::allocation::{Allocation, MemoryKind};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Task;
use crate::graph::memory::GraphAllocation;
use crate::health::Health;
use crate::lock;
use crate::operation::Operation;
use crate::stream::{Stream, Wait};
use machine::Neighbours;
use machine::fault::Access;
use std::sync::Arc;

/// Frees memory, which for the checks is a write: whoever uses it must come before or after.
struct Free<F> {
    allocation: Allocation,
    free: F,
}

impl<F: FnOnce() + Send> Operation for Free<F> {
    fn name(&self) -> &'static str {
        "free"
    }

    fn happens_always(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, health: &Health, _: Option<Neighbours<'_>>) {
        let Allocation { kind, address, bytes, .. } = self.allocation;
        if let Some(checking) = health.checking().filter(|_| kind == MemoryKind::Device) {
            checking.copied("a free", &[(address, bytes, Access::Store)]);
        }
        (self.free)();
    }
}

impl Context {
    /// Allocates memory at a place in a stream's order, from a pool or from the device's current one. In a captured
    /// stream it becomes memory of the graph. No bytes have the address 0.
    pub fn allocate_async(&self, pool: Option<&Arc<Pool>>, bytes: u64, stream: &Arc<Stream>) -> Result<u64> {
        self.usable()?;
        let captured = self.capture_of(stream)?.is_some();
        if bytes == 0 {
            return Ok(0);
        }
        if captured {
            let allocation = GraphAllocation::new(self, MemoryKind::Device, bytes)?;
            let address = allocation.address();
            self.capture_task(stream, Task::Allocate(allocation))?;
            return Ok(address);
        }
        let pool = pool.map_or_else(|| self.device().current_pool(), |pool| Ok(Arc::clone(pool)))?;
        let (address, bytes, wait) = pool.take(bytes, stream)?;
        if let Some(marker) = wait {
            self.submit_now(stream, Wait(marker))?;
        }
        let process = self.device().process();
        process.checking().iter().for_each(|checking| checking.taken(address, bytes));
        process.note_pooled(&pool, self.allocation(pool.kind(), address, bytes, 0));
        Ok(address)
    }

    /// Frees memory at a place in a stream's order. Its address is unknown to the context from now on.
    pub fn free_async(&self, address: u64, stream: &Arc<Stream>) -> Result<()> {
        self.usable()?;
        if self.capture_of(stream)?.is_some() {
            let known = self.capture_info(stream).is_some_and(|info| info.graph.allocates(address));
            if !known {
                return Err(Error::InvalidValue);
            }
            return self.capture_task(stream, Task::Free(address)).map(drop);
        }
        let process = Arc::clone(self.device().process());
        let imported = self.pool_of(address).is_some_and(|pool| pool.sharing().imported());
        if imported && !process.imports().close(address).ok_or(Error::InvalidValue)? {
            return Ok(());
        }
        let mut allocations = lock(&process.allocations);
        let known = allocations.get(&address).cloned().filter(Allocation::owned);
        if known.is_some() {
            allocations.remove(&address);
        }
        drop(allocations);
        let Some(allocation) = known else {
            return if self.device().graph_memory().free(address, stream.marker())? {
                Ok(())
            } else {
                Err(Error::InvalidValue)
            };
        };
        if let Some(pool) = process.disown(address) {
            let bytes = allocation.bytes;
            let times = process.checking().map_or(0, |checking| checking.times_taken(address));
            let free = move || {
                process.checking().iter().for_each(|checking| checking.gave_back(address, bytes, times));
            };
            let freed = self.submit_now(stream, Free { allocation, free })?;
            self.give_back(&pool, address, bytes, freed);
            return Ok(());
        }
        let free = move || {
            // The allocation was in the list, so its memory has it.
            let _ = process.free(address);
            process.checking().iter().for_each(|checking| checking.freed(address));
        };
        self.submit_now(stream, Free { allocation, free }).map(drop)
    }
}
