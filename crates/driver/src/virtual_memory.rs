//! Virtual memory management: addresses, memory and access, each by itself.
//!
//! Addresses are reserved in the range that kernels of all devices reach. So access is a property of a mapping: once one
//! device may use it, kernels of the others are not kept out. What each was given is remembered and can be asked for.

use crate::device::Driver;
use crate::error::{Error, Result};
use crate::{Id, lock};
use machine::memory::mapped::Backing;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Sizes and addresses are multiples of this.
pub const GRANULARITY: u64 = 2 << 20;

/// Memory of a device without an address.
#[derive(Debug)]
pub struct Physical {
    id: Id,
    ordinal: usize,
    exportable: bool,
    backing: Arc<Backing>,
    /// How often the program holds it.
    handles: AtomicUsize,
}

impl Physical {
    /// Its identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The device that it is on.
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// Whether it may be given to other processes.
    pub fn exportable(&self) -> bool {
        self.exportable
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.backing.bytes()
    }

    /// The program holds it once more.
    pub fn retain(&self) {
        self.handles.fetch_add(1, Ordering::AcqRel);
    }

    /// The program holds it again, after it had given it up while it was mapped.
    pub fn revive(&self) {
        self.handles.store(1, Ordering::Release);
    }

    /// The program holds it once less; whether that was the last time. Mappings keep it.
    pub fn release(&self) -> bool {
        self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// A file that another process can [`Driver::import_physical`].
    pub fn export(&self) -> Result<OwnedFd> {
        if !self.exportable {
            return Err(Error::InvalidValue);
        }
        self.backing.file().try_clone_to_owned().map_err(|_| Error::OperatingSystem)
    }
}

/// Memory at an address.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Where it begins.
    pub start: u64,
    /// The reserved addresses that it lies in: the first, and how many.
    pub reserved: (u64, u64),
    /// The memory.
    pub physical: Arc<Physical>,
    /// Devices that were given access.
    pub access: BTreeSet<usize>,
}

/// What is mapped, by address.
#[derive(Debug, Default)]
struct Mappings(Mutex<BTreeMap<u64, Mapping>>);

#[derive(Debug)]
struct Mapping {
    physical: Arc<Physical>,
    /// Devices that were given access.
    access: BTreeSet<usize>,
}

fn whole(bytes: u64) -> Result<()> {
    if bytes == 0 || !bytes.is_multiple_of(GRANULARITY) { Err(Error::InvalidValue) } else { Ok(()) }
}

impl Driver {
    fn mappings(&self) -> Arc<Mappings> {
        self.process().extensions.get()
    }

    /// Reserves addresses, aligned to a power of two or, for 0, to the granularity.
    pub fn reserve_addresses(&self, bytes: u64, align: u64) -> Result<u64> {
        whole(bytes)?;
        if align != 0 && !align.is_power_of_two() {
            return Err(Error::InvalidValue);
        }
        Ok(self.process().common()?.reserve(bytes, align.max(GRANULARITY))?)
    }

    /// Gives them back; nothing may be mapped there.
    pub fn free_addresses(&self, address: u64, bytes: u64) -> Result<()> {
        Ok(self.process().common()?.unreserve(address, bytes)?)
    }

    fn physical(&self, ordinal: usize, exportable: bool, backing: Arc<Backing>) -> Arc<Physical> {
        Arc::new(Physical { id: Id::next(), ordinal, exportable, backing, handles: AtomicUsize::new(1) })
    }

    /// Memory of a device.
    pub fn create_physical(&self, ordinal: i32, bytes: u64, exportable: bool) -> Result<Arc<Physical>> {
        whole(bytes)?;
        let device = self.device(ordinal)?;
        let backing = Backing::new(device.machine()?.shared_memory(), bytes)?;
        Ok(self.physical(device.ordinal(), exportable, backing))
    }

    /// Memory that another process has exported. It counts for a device of this one.
    pub fn import_physical(&self, ordinal: usize, file: OwnedFd) -> Result<Arc<Physical>> {
        let device = self.devices().get(ordinal).ok_or(Error::InvalidDevice)?;
        let backing =
            Backing::import(device.machine()?.shared_memory(), file).map_err(|_| Error::InvalidValue)?;
        Ok(self.physical(ordinal, true, backing))
    }

    /// Maps memory at reserved addresses.
    pub fn map(&self, address: u64, bytes: u64, physical: &Arc<Physical>) -> Result<()> {
        if bytes != physical.bytes() || !address.is_multiple_of(GRANULARITY) {
            return Err(Error::InvalidValue);
        }
        let mappings = self.mappings();
        let mut mappings = lock(&mappings.0);
        self.process().common()?.map(address, &physical.backing)?;
        mappings.insert(address, Mapping { physical: Arc::clone(physical), access: BTreeSet::new() });
        Ok(())
    }

    /// Undoes [`Driver::map`] for all that is mapped in a range.
    pub fn unmap(&self, address: u64, bytes: u64) -> Result<()> {
        whole(bytes)?;
        let mappings = self.mappings();
        let mut mappings = lock(&mappings.0);
        self.process().common()?.unmap(address, bytes)?;
        mappings.retain(|&at, _| at < address || at - address >= bytes);
        Ok(())
    }

    /// Gives a device access to what is mapped in a range, or takes it away.
    pub fn set_access(&self, address: u64, bytes: u64, ordinal: i32, usable: bool) -> Result<()> {
        whole(bytes)?;
        let ordinal = self.device(ordinal)?.ordinal();
        let end = address.checked_add(bytes).ok_or(Error::InvalidValue)?;
        let mappings = self.mappings();
        let mut mappings = lock(&mappings.0);
        // All of the range must be mapped, and nothing only partly in it.
        let mut at = address;
        for (&start, mapping) in mappings.range(address..end) {
            if start != at {
                return Err(Error::InvalidValue);
            }
            at += mapping.physical.bytes();
        }
        if at != end {
            return Err(Error::InvalidValue);
        }
        for (&start, mapping) in mappings.range_mut(address..end) {
            if usable {
                mapping.access.insert(ordinal);
            } else {
                mapping.access.remove(&ordinal);
            }
            let usable = !mapping.access.is_empty();
            self.process().common()?.set_usable(start, mapping.physical.bytes(), usable)?;
        }
        Ok(())
    }

    /// The memory that is mapped around an address.
    pub fn mapped_at(&self, address: u64) -> Result<Mapped> {
        let mappings = self.mappings();
        let mappings = lock(&mappings.0);
        let (&start, mapping) = mappings.range(..=address).next_back().ok_or(Error::InvalidValue)?;
        if address - start >= mapping.physical.bytes() {
            return Err(Error::InvalidValue);
        }
        let (physical, access) = (Arc::clone(&mapping.physical), mapping.access.clone());
        let reserved = self.process().common()?.reservation_of(address).ok_or(Error::InvalidValue)?;
        Ok(Mapped { start, reserved, physical, access })
    }
}
