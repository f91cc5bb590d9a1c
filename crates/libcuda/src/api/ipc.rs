//! Memory, pools and events that other processes of the machine use.
//!
//! A handle names a file that this process has open, by which the other one finds it in `/proc`: so it works as long as
//! this process runs, between processes that may look at one another's files. A pool's handle is a file that says whose
//! memory the pool has; what it is good for is that the other process may then be told of the pool's allocations.

use crate::api::virtual_memory::{POSIX_FILE, handed};
use crate::ffi::api;
use crate::pointers::{get, put};
use crate::state::{EVENTS, POOLS, current, driver};
use crate::sys::*;
use driver::event::Event;
use driver::pool::{Home, Origin, Pool, Sharing};
use driver::{Error, Id, Result};
use machine::memory::shared::{Shared, identity};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{c_char, c_int, c_ulonglong, c_void};
use std::fs::File;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Bytes of a handle.
const BYTES: usize = 64;
/// What handles begin with.
const MEMORY: &[u8; 8] = b"wl-memor";
const EVENT: &[u8; 8] = b"wl-event";
const POOLED: &[u8; 8] = b"wl-poold";
/// What a pool's file begins with.
const POOL: &[u8; 8] = b"wl-pool\0";

/// A shared file as a handle names it.
struct Named {
    process: u32,
    shared: Shared,
    /// The pool of that process that the allocation is of; 0 for those of none.
    pool: u64,
}

impl Named {
    fn of_here(shared: Shared) -> Self {
        Self { process: std::process::id(), shared, pool: 0 }
    }

    fn encode(&self, kind: &[u8; 8]) -> [u8; BYTES] {
        let Shared { descriptor, identity, bytes } = self.shared;
        let numbers = [u64::from(self.process), descriptor as u64, identity, bytes, self.pool];
        let mut handle = [0; BYTES];
        let text = kind.iter().copied().chain(numbers.into_iter().flat_map(u64::to_le_bytes));
        for (place, byte) in handle.iter_mut().zip(text) {
            *place = byte;
        }
        handle
    }

    fn decode(handle: [u8; BYTES], kind: &[u8; 8]) -> Result<Self> {
        let (words, _) = handle.as_chunks::<8>();
        let number = |i: usize| u64::from_le_bytes(words[i]);
        let [process, descriptor, identity, size, pool] = [1, 2, 3, 4, 5].map(number);
        match (u32::try_from(process), i32::try_from(descriptor)) {
            (Ok(process), Ok(descriptor)) if &words[0] == kind && size > 0 => {
                Ok(Self { process, shared: Shared { descriptor, identity, bytes: size }, pool })
            }
            _ => Err(Error::InvalidValue),
        }
    }

    /// Opens the file, if it is still the one that was meant.
    fn open(&self) -> Result<OwnedFd> {
        let path = format!("/proc/{}/fd/{}", self.process, self.shared.descriptor);
        let file = File::options().read(true).write(true).open(&path).map_err(|error| {
            log::warn!("memory of process {}: {path}: {error}", self.process);
            Error::InvalidHandle
        })?;
        let file = OwnedFd::from(file);
        match identity(&file) {
            Ok(found) if found == self.shared.identity => Ok(file),
            _ => Err(Error::InvalidHandle),
        }
    }
}

/// Handles of the older functions are characters.
fn characters(handle: [u8; BYTES]) -> [c_char; BYTES] {
    handle.map(|byte| byte as c_char)
}

fn bytes(handle: [c_char; BYTES]) -> [u8; BYTES] {
    handle.map(|character| character as u8)
}

/// A file that says of a pool which it is, and whose memory it has.
fn file_of(pool: &Pool) -> Result<OwnedFd> {
    let [kind, number] = match pool.home() {
        Home::Device(ordinal) => [0, ordinal as u64],
        Home::Host(None) => [1, 0],
        Home::Host(Some(node)) => [2, node as u64],
        Home::Managed(_) => return Err(Error::NotSupported),
    };
    let numbers = [u64::from(std::process::id()), pool.id().0, kind, number];
    let file =
        File::from(memfd_create("warploom-pool", MemfdFlags::CLOEXEC).map_err(|_| Error::OperatingSystem)?);
    let text: Vec<u8> = POOL.iter().copied().chain(numbers.into_iter().flat_map(u64::to_le_bytes)).collect();
    file.write_all_at(&text, 0).map_err(|_| Error::OperatingSystem)?;
    Ok(file.into())
}

/// The pool that a file is of, and whose memory it has.
fn pool_in(file: &File) -> Result<(Origin, Home)> {
    let mut text = [0; 40];
    file.read_exact_at(&mut text, 0).map_err(|_| Error::InvalidValue)?;
    let (words, _) = text.as_chunks::<8>();
    let [process, pool, kind, number] = [1, 2, 3, 4].map(|i: usize| u64::from_le_bytes(words[i]));
    if &words[0] != POOL {
        return Err(Error::InvalidValue);
    }
    let number = i32::try_from(number).map_err(|_| Error::InvalidValue)?;
    let home = match kind {
        0 => Home::Device(number as usize),
        1 => Home::Host(None),
        2 => Home::Host(Some(number)),
        _ => return Err(Error::InvalidValue),
    };
    let process = u32::try_from(process).map_err(|_| Error::InvalidValue)?;
    Ok((Origin { process, id: Id(pool) }, home))
}

api! {
    #[order(initialised, no_capture)]
    fn cuMemPoolExportToShareableHandle(
        out: *mut c_void,
        pool: CUmemoryPool,
        kind: CUmemAllocationHandleType,
        flags: c_ulonglong,
    ) {
        let pool = POOLS.get(pool)?;
        if kind != POSIX_FILE || flags != 0 || pool.sharing() != Sharing::Exported || out.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: for a file it is a descriptor. The caller's to close.
        put(unsafe { out.cast::<c_int>() }, file_of(&pool)?.into_raw_fd())
    }

    #[order(initialised, given(out), given(handle), no_capture)]
    fn cuMemPoolImportFromShareableHandle(
        out: *mut CUmemoryPool,
        handle: *mut c_void,
        kind: CUmemAllocationHandleType,
        flags: c_ulonglong,
    ) {
        if kind != POSIX_FILE || flags != 0 || out.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: the program has it open.
        let file = unsafe { handed(handle)? };
        let (origin, home) = pool_in(&File::from(file))?;
        let pool = driver()?.create_pool(home, Sharing::Imported(origin), 0)?;
        put(out, POOLS.insert(pool.id(), pool))
    }

    #[order(initialised, no_capture)]
    fn cuMemPoolExportPointer(out: *mut CUmemPoolPtrExportData, address: CUdeviceptr) {
        // No context has to be current.
        let (shared, pool) = driver()?.export_pooled(address)?;
        let named = Named { pool: pool.0, ..Named::of_here(shared) };
        put(out, CUmemPoolPtrExportData { reserved: named.encode(POOLED) })
    }

    #[order(initialised, no_capture)]
    fn cuMemPoolImportPointer(
        out: *mut CUdeviceptr,
        pool: CUmemoryPool,
        exported: *mut CUmemPoolPtrExportData,
    ) {
        let named = Named::decode(get(exported)?.reserved, POOLED)?;
        let origin = Origin { process: named.process, id: Id(named.pool) };
        let (file, bytes) = (named.open()?, named.shared.bytes);
        put(out, driver()?.import_pooled(&POOLS.get(pool)?, origin, file, bytes)?)
    }

    #[order(given(address), initialised, given(out), context)]
    fn cuIpcGetMemHandle(out: *mut CUipcMemHandle, address: CUdeviceptr) {
        let shared = current()?.export_memory(address)?;
        put(out, CUipcMemHandle { reserved: characters(Named::of_here(shared).encode(MEMORY)) })
    }

    fn cuIpcOpenMemHandle_v2(out: *mut CUdeviceptr, handle: CUipcMemHandle, flags: std::ffi::c_uint) {
        if out.is_null() || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS {
            return Err(Error::InvalidValue);
        }
        let context = current()?;
        let named = Named::decode(bytes(handle.reserved), MEMORY)?;
        // A process does not open what is its own.
        if named.process == std::process::id() {
            return Err(Error::InvalidContext);
        }
        put(out, context.import_memory(named.open()?, named.shared.bytes)?)
    }

    fn cuIpcCloseMemHandle(address: CUdeviceptr) {
        current()?.close_imported(address)
    }

    #[order(given(event), initialised, given(out), context)]
    fn cuIpcGetEventHandle(out: *mut CUipcEventHandle, event: CUevent) {
        let shared = EVENTS.get(event)?.export()?;
        put(out, CUipcEventHandle { reserved: characters(Named::of_here(shared).encode(EVENT)) })
    }

    #[order(initialised, given(out), context)]
    fn cuIpcOpenEventHandle(out: *mut CUevent, handle: CUipcEventHandle) {
        if out.is_null() {
            return Err(Error::InvalidValue);
        }
        let context = current()?;
        let named = Named::decode(bytes(handle.reserved), EVENT).map_err(|_| Error::MapFailed)?;
        let event = Event::open(&context, named.open()?)?;
        put(out, EVENTS.insert(event.id(), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_say_what_they_name() {
        let shared = Shared { descriptor: 9, identity: 1 << 40, bytes: 4096 };
        let handle = Named { process: 77, shared, pool: 3 }.encode(MEMORY);
        let found = Named::decode(handle, MEMORY).unwrap();
        assert_eq!((found.process, found.shared, found.pool), (77, shared, 3));
        assert!(Named::decode(handle, EVENT).is_err());
        assert!(Named::decode([0; BYTES], MEMORY).is_err());
        assert_eq!(bytes(characters(handle)), handle);
        assert!(Named::decode([255; BYTES], MEMORY).is_err());
    }
}
