//! The pools of a process, and the pool that an allocation is of.

use super::reserve::{Home, Pool, Sharing};
use crate::allocation::Allocation;
use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::managed::Location;
use crate::process::Process;
use crate::stream::Marker;
use crate::{Driver, lock};
use machine::memory::DeviceMemory;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, Weak};

/// The pools of a process.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    by_home: Mutex<BTreeMap<Home, HomePools>>,
    all: Mutex<Vec<Weak<Pool>>>,
    /// The pools that allocations are from, by address.
    pooled: Mutex<HashMap<u64, Arc<Pool>>>,
}

/// The pools for memory of one kind and place.
#[derive(Debug)]
struct HomePools {
    /// The one that is there from the beginning.
    default: Arc<Pool>,
    /// The one that is used where none is named.
    current: Arc<Pool>,
}

impl Pools {
    /// The program has waited for something: pools give back what they need not keep.
    pub(crate) fn settle(&self) {
        let pools: Vec<Arc<Pool>> = lock(&self.all).iter().filter_map(Weak::upgrade).collect();
        pools.iter().for_each(|pool| pool.settle());
    }

    fn make(&self, home: Home, sharing: Sharing, memory: Arc<DeviceMemory>, most: u64) -> Arc<Pool> {
        let pool = Pool::new(home, sharing, memory, most);
        let mut all = lock(&self.all);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&pool));
        pool
    }

    /// The pools of a home; its memory is asked for if nothing has been there.
    fn at<T>(
        &self,
        home: Home,
        memory: impl FnOnce() -> Result<Arc<DeviceMemory>>,
        use_: impl FnOnce(&mut HomePools) -> T,
    ) -> Result<T> {
        let mut by_home = lock(&self.by_home);
        if let Some(pools) = by_home.get_mut(&home) {
            return Ok(use_(pools));
        }
        let default = self.make(home, Sharing::Private, memory()?, 0);
        let mut pools = HomePools { current: Arc::clone(&default), default };
        let used = use_(&mut pools);
        by_home.insert(home, pools);
        Ok(used)
    }
}

impl Process {
    pub(crate) fn pools(&self) -> Arc<Pools> {
        self.extensions.get()
    }

    /// The pool that an allocation is of.
    pub(crate) fn pool_of(&self, address: u64) -> Option<Arc<Pool>> {
        lock(&self.pools().pooled).get(&address).cloned()
    }

    /// Notes an allocation of a pool.
    pub(crate) fn note_pooled(&self, pool: &Arc<Pool>, allocation: Allocation) {
        if let (Some(pages), Home::Managed(Some(best))) = (&allocation.pages, pool.home) {
            pages.prefer(best);
        }
        lock(&self.pools().pooled).insert(allocation.address, Arc::clone(pool));
        lock(&self.allocations).insert(allocation.address, allocation);
    }

    /// The pool that an allocation is of, which no longer is.
    pub(crate) fn disown(&self, address: u64) -> Option<Arc<Pool>> {
        lock(&self.pools().pooled).remove(&address)
    }
}

impl Context {
    /// Memory that was freed at a place goes back to its pool.
    pub(crate) fn give_back(&self, pool: &Pool, address: u64, bytes: u64, freed: Marker) {
        pool.give_back(address, bytes, freed, self.pending());
    }

    /// The pool that an allocation is of.
    pub fn pool_of(&self, address: u64) -> Option<Arc<Pool>> {
        self.device().process().pool_of(address)
    }
}

impl Device {
    /// The pool that allocations are from which name none.
    pub(super) fn current_pool(&self) -> Result<Arc<Pool>> {
        let memory = || Ok(Arc::clone(self.machine()?.shared_memory()));
        self.process().pools().at(Home::Device(self.ordinal()), memory, |pools| Arc::clone(&pools.current))
    }
}

impl Driver {
    /// The memory that pools at a place take theirs from.
    fn memory_at(&self, home: Home) -> Result<Arc<DeviceMemory>> {
        let device = |ordinal: usize| self.devices().get(ordinal).ok_or(Error::InvalidDevice);
        match home {
            Home::Device(ordinal) => Ok(Arc::clone(device(ordinal)?.machine()?.shared_memory())),
            // The host is taken to have one node.
            Home::Host(Some(node)) | Home::Managed(Some(Location::Node(node))) if node != 0 => {
                Err(Error::InvalidValue)
            }
            Home::Managed(Some(Location::Device(ordinal))) if device(ordinal).is_err() => {
                Err(Error::InvalidValue)
            }
            Home::Host(_) | Home::Managed(_) => Ok(Arc::clone(self.process().common()?)),
        }
    }

    fn at<T>(&self, home: Home, use_: impl FnOnce(&mut HomePools) -> T) -> Result<T> {
        self.process().pools().at(home, || self.memory_at(home), use_)
    }

    /// A new pool, of no more than `most` bytes if that is not 0.
    pub fn create_pool(&self, home: Home, sharing: Sharing, most: u64) -> Result<Arc<Pool>> {
        Ok(self.process().pools().make(home, sharing, self.memory_at(home)?, most))
    }

    /// The pool that is there from the beginning.
    pub fn default_pool(&self, home: Home) -> Result<Arc<Pool>> {
        self.at(home, |pools| Arc::clone(&pools.default))
    }

    /// The pool that is used where none is named.
    pub fn current_pool(&self, home: Home) -> Result<Arc<Pool>> {
        self.at(home, |pools| Arc::clone(&pools.current))
    }

    /// Sets it.
    pub fn set_current_pool(&self, home: Home, pool: &Arc<Pool>) -> Result<()> {
        if pool.home != home || pool.sharing().imported() {
            return Err(Error::InvalidValue);
        }
        self.at(home, |pools| pools.current = Arc::clone(pool))
    }

    /// The pool that an allocation is of.
    pub fn pool_of(&self, address: u64) -> Option<Arc<Pool>> {
        self.process().pool_of(address)
    }

    /// A pool is to be used no more, except for what is allocated from it.
    pub fn forget_pool(&self, pool: &Pool) -> Result<()> {
        if let Some(pools) = lock(&self.process().pools().by_home).get_mut(&pool.home) {
            if pools.default.id == pool.id {
                return Err(Error::InvalidValue);
            }
            if pools.current.id == pool.id {
                pools.current = Arc::clone(&pools.default);
            }
        }
        pool.trim(0);
        Ok(())
    }
}
