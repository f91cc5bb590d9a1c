//! Memory and events that other processes of the machine use.
//!
//! A handle names a file that this process has open, by which the other one finds it in `/proc`: so it works as long as
//! this process runs, between processes that may look at one another's files.

use crate::border::api;
use crate::pointers::put;
use crate::state::{EVENTS, current};
use crate::sys::*;
use driver::event::Event;
use driver::{Error, Result};
use machine::memory::shared::{Shared, identity};
use std::ffi::c_char;
use std::fs::File;
use std::os::fd::OwnedFd;

/// Bytes of a handle.
const BYTES: usize = 64;
/// What handles begin with.
const MEMORY: &[u8; 8] = b"wl-memor";
const EVENT: &[u8; 8] = b"wl-event";

/// A shared file as a handle names it.
struct Named {
    process: u32,
    shared: Shared,
}

impl Named {
    fn of_here(shared: Shared) -> Self {
        Self { process: std::process::id(), shared }
    }

    fn encode(&self, kind: &[u8; 8]) -> [c_char; BYTES] {
        let Shared { descriptor, identity, bytes } = self.shared;
        let numbers = [u64::from(self.process), descriptor as u64, identity, bytes];
        let mut handle = [0; BYTES];
        let text = kind.iter().copied().chain(numbers.into_iter().flat_map(u64::to_le_bytes));
        for (place, byte) in handle.iter_mut().zip(text) {
            *place = byte as c_char;
        }
        handle
    }

    fn decode(handle: &[c_char; BYTES], kind: &[u8; 8]) -> Result<Self> {
        let bytes = handle.map(|byte| byte as u8);
        let (words, _) = bytes.as_chunks::<8>();
        let [process, descriptor, identity, size] = [1, 2, 3, 4].map(|i: usize| u64::from_le_bytes(words[i]));
        match (u32::try_from(process), i32::try_from(descriptor)) {
            (Ok(process), Ok(descriptor)) if &words[0] == kind && size > 0 => {
                Ok(Self { process, shared: Shared { descriptor, identity, bytes: size } })
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

api! {
    fn cuIpcGetMemHandle(out: *mut CUipcMemHandle, address: CUdeviceptr) {
        let shared = current()?.export_memory(address)?;
        put(out, CUipcMemHandle { reserved: Named::of_here(shared).encode(MEMORY) })
    }

    fn cuIpcOpenMemHandle_v2(out: *mut CUdeviceptr, handle: CUipcMemHandle, flags: std::ffi::c_uint) {
        if out.is_null() || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS {
            return Err(Error::InvalidValue);
        }
        let context = current()?;
        let named = Named::decode(&handle.reserved, MEMORY)?;
        // A process does not open what is its own.
        if named.process == std::process::id() {
            return Err(Error::InvalidContext);
        }
        put(out, context.import_memory(named.open()?, named.shared.bytes)?)
    }

    fn cuIpcCloseMemHandle(address: CUdeviceptr) {
        current()?.close_imported(address)
    }

    fn cuIpcGetEventHandle(out: *mut CUipcEventHandle, event: CUevent) {
        let shared = EVENTS.get(event)?.export()?;
        put(out, CUipcEventHandle { reserved: Named::of_here(shared).encode(EVENT) })
    }

    fn cuIpcOpenEventHandle(out: *mut CUevent, handle: CUipcEventHandle) {
        if out.is_null() {
            return Err(Error::InvalidValue);
        }
        let context = current()?;
        let event = Event::open(&context, Named::decode(&handle.reserved, EVENT)?.open()?)?;
        put(out, EVENTS.insert(event.id(), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_say_what_they_name() {
        let shared = Shared { descriptor: 9, identity: 1 << 40, bytes: 4096 };
        let handle = Named { process: 77, shared }.encode(MEMORY);
        let found = Named::decode(&handle, MEMORY).unwrap();
        assert_eq!((found.process, found.shared), (77, shared));
        assert!(Named::decode(&handle, EVENT).is_err());
        assert!(Named::decode(&[0; BYTES], MEMORY).is_err());
        assert!(Named::decode(&[-1; BYTES], MEMORY).is_err());
    }
}
