//! Managed memory: advice, prefetches, streams that it is attached to.

use crate::ffi::api;
use crate::pointers::{Array, Room, element, get, put};
use crate::state::{current, device, stream};
use crate::sys::*;
use driver::managed::{Advice, Location, Wishes};
use driver::memory::MemoryKind;
use driver::{Error, Result};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

/// The processor, where a device is asked for.
const PROCESSOR: c_int = -1;
/// No place, or not one.
const NOWHERE: c_int = -2;

/// The device with this number, or the processor.
fn place(number: c_int) -> Result<Location> {
    match number {
        PROCESSOR => Ok(Location::Host),
        ordinal => device(ordinal).map(|device| Location::Device(device.ordinal())),
    }
}

/// As the program says it since CUDA 12.2.
pub(crate) fn location(location: CUmemLocation) -> Result<Location> {
    match location.type_ {
        CU_MEM_LOCATION_TYPE_DEVICE => place(location.id),
        CU_MEM_LOCATION_TYPE_HOST | CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(Location::Host),
        CU_MEM_LOCATION_TYPE_HOST_NUMA if location.id >= 0 => Ok(Location::Node(location.id)),
        _ => Err(Error::InvalidValue),
    }
}

/// `of` tells the place; some advice needs none.
fn advise(at: u64, bytes: usize, advice: CUmem_advise, of: impl Fn() -> Result<Location>) -> Result<()> {
    let advice = match advice {
        CU_MEM_ADVISE_SET_READ_MOSTLY => Advice::ReadMostly(true),
        CU_MEM_ADVISE_UNSET_READ_MOSTLY => Advice::ReadMostly(false),
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION => Advice::Preferred(Some(of()?)),
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => Advice::Preferred(None),
        CU_MEM_ADVISE_SET_ACCESSED_BY => Advice::AccessedBy(of()?, true),
        CU_MEM_ADVISE_UNSET_ACCESSED_BY => Advice::AccessedBy(of()?, false),
        _ => return Err(Error::InvalidValue),
    };
    current()?.advise(at, bytes as u64, advice)
}

fn prefetch(at: u64, bytes: usize, to: Location, on: CUstream) -> Result<()> {
    stream(on)?.0.prefetch(at, bytes as u64, to)
}

fn number(location: Location) -> c_int {
    match location {
        Location::Host | Location::Node(_) => PROCESSOR,
        Location::Device(ordinal) => ordinal as c_int,
    }
}

/// What all pages say alike.
fn common<T: PartialEq>(wishes: &[Wishes], of: impl Fn(&Wishes) -> T) -> Option<T> {
    let first = of(wishes.first()?);
    wishes.iter().all(|wish| of(wish) == first).then_some(first)
}

/// Writes an attribute of a range.
fn range_attribute(out: Room<c_void>, which: CUmem_range_attribute, at: u64, bytes: usize) -> Result<()> {
    let wishes = current()?.wishes(at, bytes as u64)?;
    let place = |of: fn(&Wishes) -> Option<Location>| common(&wishes, of).flatten();
    let kind = |place: Option<Location>| match place {
        None => CU_MEM_LOCATION_TYPE_INVALID,
        Some(Location::Host) => CU_MEM_LOCATION_TYPE_HOST,
        Some(Location::Node(_)) => CU_MEM_LOCATION_TYPE_HOST_NUMA,
        Some(Location::Device(_)) => CU_MEM_LOCATION_TYPE_DEVICE,
    };
    let id = |place: Option<Location>| match place {
        Some(Location::Device(ordinal)) => ordinal as c_int,
        Some(Location::Node(node)) => node,
        Some(Location::Host) | None => 0,
    };
    let (preferred, prefetched) = (place(|w| w.preferred), place(|w| w.prefetched));
    let (size, out) = (out.count(), out.of::<c_int>());
    let value = match which {
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => c_int::from(common(&wishes, |w| w.read_mostly) == Some(true)),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION => preferred.map_or(NOWHERE, number),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION => prefetched.map_or(NOWHERE, number),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE => kind(preferred) as c_int,
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID => id(preferred),
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE => kind(prefetched) as c_int,
        CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => id(prefetched),
        CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY => {
            // As many as there is room for, and then none.
            let every = |location: &&Location| wishes.iter().all(|w| w.accessed_by.contains(location));
            let known: Vec<c_int> =
                wishes[0].accessed_by.iter().filter(every).map(|&location| number(location)).collect();
            if size == 0 || !size.is_multiple_of(size_of::<c_int>()) {
                return Err(Error::InvalidValue);
            }
            return (0..out.count())
                .try_for_each(|index| put(out.at(index), known.get(index).copied().unwrap_or(NOWHERE)));
        }
        _ => return Err(Error::InvalidValue),
    };
    if size != size_of::<c_int>() {
        return Err(Error::InvalidValue);
    }
    put(out.at(0), value)
}

/// Where each range of a batch is to go: the place with index `i` is meant from the range `first[i]` on.
fn batch_places(
    count: usize,
    (places, first): (Array<CUmemLocation>, Array<usize>),
    flags: c_ulonglong,
) -> Result<Vec<Location>> {
    if flags != 0 || count == 0 {
        return Err(Error::InvalidValue);
    }
    let mut to: Vec<Location> = Vec::new();
    for index in 0..places.count() {
        let (place, first) = (location(element(places, index)?)?, element(first, index)?);
        let ascending = if index == 0 { first == 0 } else { first >= to.len() };
        if !ascending || first >= count {
            return Err(Error::InvalidValue);
        }
        let before = to.last().copied().unwrap_or(place);
        to.resize(first, before);
        to.push(place);
    }
    let last = to.last().copied().ok_or(Error::InvalidValue)?;
    to.resize(count, last);
    Ok(to)
}

fn prefetch_batch(at: Array<CUdeviceptr>, bytes: Array<usize>, to: &[Location], on: CUstream) -> Result<()> {
    to.iter().enumerate().try_for_each(|(index, &to)| {
        let (at, bytes) = (element(at, index)?, element(bytes, index)?);
        prefetch(at, bytes, to, on)
    })
}

api! {
    #[order(initialised, context, no_capture)]
    fn cuMemAdvise(at: CUdeviceptr, bytes: usize, advice: CUmem_advise, dev: CUdevice) {
        advise(at, bytes, advice, || place(dev))
    }

    #[order(initialised, context, no_capture)]
    fn cuMemAdvise_v2(at: CUdeviceptr, bytes: usize, advice: CUmem_advise, of: CUmemLocation) {
        advise(at, bytes, advice, || location(of))
    }

    #[order(initialised, uncaptured(on))]
    fn cuMemPrefetchAsync(at: CUdeviceptr, bytes: usize, to: CUdevice, on: CUstream) {
        prefetch(at, bytes, place(to)?, on)
    }

    #[order(initialised, uncaptured(on))]
    fn cuMemPrefetchAsync_v2(at: CUdeviceptr, bytes: usize, to: CUmemLocation, flags: c_uint, on: CUstream) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        prefetch(at, bytes, location(to)?, on)
    }

    #[order(not_legacy(on), uncaptured(on))]
    fn cuMemPrefetchBatchAsync(
        #[elements(count)] at: *mut CUdeviceptr,
        #[elements(count)] bytes: *mut usize,
        count: usize,
        #[elements(place_count)] places: *mut CUmemLocation,
        #[elements(place_count)] first: *mut usize,
        place_count: usize,
        flags: c_ulonglong,
        on: CUstream,
    ) {
        let to = batch_places(count, (places.input(), first.input()), flags)?;
        prefetch_batch(at.input(), bytes.input(), &to, on)
    }

    // What is discarded may keep its bytes.
    #[order(not_legacy(on), uncaptured(on))]
    fn cuMemDiscardBatchAsync(
        #[elements(count)] at: *mut CUdeviceptr,
        #[elements(count)] bytes: *mut usize,
        count: usize,
        flags: c_ulonglong,
        on: CUstream,
    ) {
        if flags != 0 || count == 0 {
            return Err(Error::InvalidValue);
        }
        stream(on)?;
        for index in 0..count {
            current()?.wishes(get(at.at(index))?, get(bytes.at(index))? as u64)?;
        }
        Ok(())
    }

    #[order(not_legacy(on), uncaptured(on))]
    fn cuMemDiscardAndPrefetchBatchAsync(
        #[elements(count)] at: *mut CUdeviceptr,
        #[elements(count)] bytes: *mut usize,
        count: usize,
        #[elements(place_count)] places: *mut CUmemLocation,
        #[elements(place_count)] first: *mut usize,
        place_count: usize,
        flags: c_ulonglong,
        on: CUstream,
    ) {
        let to = batch_places(count, (places.input(), first.input()), flags)?;
        prefetch_batch(at.input(), bytes.input(), &to, on)
    }

    fn cuMemRangeGetAttribute(
        #[elements(size)] out: *mut c_void,
        size: usize,
        which: CUmem_range_attribute,
        at: CUdeviceptr,
        bytes: usize,
    ) {
        range_attribute(out, which, at, bytes)
    }

    #[order(initialised, context)]
    fn cuMemRangeGetAttributes(
        #[elements(count)] out: *mut *mut c_void,
        #[elements(count)] sizes: *mut usize,
        #[elements(count)] which: *mut CUmem_range_attribute,
        count: usize,
        at: CUdeviceptr,
        bytes: usize,
    ) {
        for index in 0..count {
            let (out, size, which) = (get(out.at(index))?, get(sizes.at(index))?, get(which.at(index))?);
            // SAFETY: there is as much room as is said.
            range_attribute(unsafe { Room::new(out, size) }, which, at, bytes)?;
        }
        if count == 0 { Err(Error::InvalidValue) } else { Ok(()) }
    }

    #[order(initialised, uncaptured(on))]
    fn cuStreamAttachMemAsync(on: CUstream, at: CUdeviceptr, bytes: usize, flags: c_uint) {
        let (context, _) = stream(on)?;
        let known = context.allocation_of(at).filter(|known| known.kind == MemoryKind::Managed);
        let known = known.ok_or(Error::InvalidValue)?;
        if context.pool_of(known.address).is_some() {
            return Err(Error::InvalidValue);
        }
        let whole = at == known.address && (bytes == 0 || bytes as u64 == known.bytes);
        // Devices and program may use it at the same time in any case.
        match flags {
            CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST | CU_MEM_ATTACH_SINGLE if whole => Ok(()),
            _ => Err(Error::InvalidValue),
        }
    }
}
