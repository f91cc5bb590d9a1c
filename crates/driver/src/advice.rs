//! Advice about managed memory: where a program gives it and asks for it.

use crate::allocation::{Allocation, MemoryKind};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::managed::{Advice, Location, Pages, Wishes};
use std::sync::Arc;

impl Context {
    /// The pages of a range, all of which must be managed, and its offsets in them.
    fn pages(&self, address: u64, bytes: u64) -> Result<(Arc<Pages>, u64, u64)> {
        self.usable()?;
        let known: Allocation = self.allocation_of(address).ok_or(Error::InvalidValue)?;
        let start = address - known.address;
        let end = start.checked_add(bytes).filter(|&end| bytes > 0 && end <= known.bytes);
        match (known.kind, known.pages, end) {
            (MemoryKind::Managed, Some(pages), Some(end)) => Ok((pages, start, end)),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Notes advice; about memory of pools there is none.
    pub fn advise(&self, address: u64, bytes: u64, advice: Advice) -> Result<()> {
        let (pages, start, end) = self.pages(address, bytes)?;
        let pooled = self.allocation_of(address).and_then(|known| self.pool_of(known.address)).is_some();
        if pooled {
            return Err(Error::NotSupported);
        }
        pages.change(start, end, |wishes| match advice {
            Advice::ReadMostly(is) => wishes.read_mostly = is,
            Advice::Preferred(location) => wishes.preferred = location,
            Advice::AccessedBy(location, true) => {
                wishes.accessed_by.insert(location);
            }
            Advice::AccessedBy(location, false) => {
                wishes.accessed_by.remove(&location);
            }
        });
        Ok(())
    }

    /// Notes a prefetch.
    pub fn prefetch(&self, address: u64, bytes: u64, to: Location) -> Result<()> {
        let (pages, start, end) = self.pages(address, bytes)?;
        pages.change(start, end, |wishes| wishes.prefetched = Some(to));
        Ok(())
    }

    /// What has been said of the pages of a range; pages of which the same was said stand once.
    pub fn wishes(&self, address: u64, bytes: u64) -> Result<Vec<Wishes>> {
        let (pages, start, end) = self.pages(address, bytes)?;
        Ok(pages.of(start, end))
    }
}
