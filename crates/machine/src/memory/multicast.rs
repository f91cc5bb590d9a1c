//! Multicast objects: ranges of addresses that stand for several ranges of memory (`cuMulticastCreate` and its relatives
//! bind them on a system of several devices; here all members are in one device's memory).
//!
//! Only multimem instructions reach them. Nothing else is there: an ordinary access faults.

use super::bounds::Footprint;
use super::{DeviceMemory, MemoryError, Retired};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Objects by the offset of their range.
#[derive(Debug, Default)]
pub(super) struct Objects(RwLock<BTreeMap<u64, Object>>);

#[derive(Debug)]
struct Object {
    bytes: u64,
    members: Arc<[u64]>,
}

/// The places that an address of a multicast object stands for.
#[derive(Clone, Debug)]
pub(crate) struct Members {
    starts: Arc<[u64]>,
    within: u64,
}

impl Members {
    /// Each of them, in the order in which they were bound.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.starts.iter().map(|start| start + self.within)
    }
}

impl DeviceMemory {
    /// Makes a multicast object of `bytes` for the ranges that begin at `members`, and returns its address.
    ///
    /// # Errors
    /// If a member is not inside an allocation, or there are no addresses left.
    pub fn bind_multicast(&self, members: &[u64], bytes: u64) -> Result<u64, MemoryError> {
        for &member in members {
            self.inside(member, bytes)?;
        }
        let mut allocator = self.allocator();
        let full = MemoryError::OutOfMemory { requested: bytes, free: 0, limit: self.limit };
        let offset = allocator.take(Footprint::of_reserved(bytes), self.region.base()).ok_or(full)?;
        let mut objects = self.multicast.0.write().unwrap_or_else(PoisonError::into_inner);
        objects.insert(offset, Object { bytes, members: members.into() });
        Ok(self.region.base() + offset)
    }

    /// Ends a multicast object; its members stay.
    ///
    /// # Errors
    /// If there is no object at the address.
    pub fn unbind_multicast(&self, address: u64) -> Result<(), MemoryError> {
        let offset = address.wrapping_sub(self.region.base());
        let mut allocator = self.allocator();
        let mut objects = self.multicast.0.write().unwrap_or_else(PoisonError::into_inner);
        let object = objects.remove(&offset).ok_or(MemoryError::NotAnAllocation { address })?;
        drop(objects);
        allocator.retired.push(Retired::reserved(offset, object.bytes));
        self.reclaim(&mut allocator)
    }

    /// The places that `bytes` at an address of a multicast object stand for; `None` if they are not all in one.
    pub(crate) fn multicast_members(&self, address: u64, bytes: u64) -> Option<Members> {
        let offset = address.checked_sub(self.region.base())?;
        let objects = self.multicast.0.read().unwrap_or_else(PoisonError::into_inner);
        let (start, object) = objects.range(..=offset).next_back()?;
        let within = offset - start;
        let fits = bytes <= object.bytes && within <= object.bytes - bytes;
        fits.then(|| Members { starts: Arc::clone(&object.members), within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_stands_for_its_members_and_for_nothing_else() {
        let memory = DeviceMemory::new(1 << 20, 1 << 20).unwrap();
        let (a, b) = (memory.allocate(64).unwrap(), memory.allocate(64).unwrap());
        let object = memory.bind_multicast(&[a, b + 16], 48).unwrap();
        let members = |address, bytes| {
            memory.multicast_members(address, bytes).map(|members| members.addresses().collect::<Vec<_>>())
        };
        assert_eq!(members(object + 8, 40), Some(vec![a + 8, b + 24]));
        assert_eq!(members(object + 8, 41), None);
        assert_eq!(members(a, 4), None);
        assert!(!memory.is_valid(object, 1));
        assert!(memory.bind_multicast(&[a + 32], 48).is_err());
        memory.unbind_multicast(object).unwrap();
        assert_eq!(members(object, 4), None);
        assert!(memory.unbind_multicast(object).is_err());
    }
}
