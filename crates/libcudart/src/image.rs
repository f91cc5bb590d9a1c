//! What a wrapper of device code holds, and how the driver gets it.
//!
//! ```text
//! version 1   magic, 1, address of a fat binary                                     a file's code
//! version 2   magic, 2, address of a fat binary, address of a list of fat binaries  separately compiled files
//! ```
//!
//! The fat binary of the second form has what nvlink made of the files for one device: SASS, which is not executed. The
//! list, which ends with null, has the files themselves, with their PTX if it was kept; the driver links those.

use crate::error::{Error, Result};
use crate::ffi::pointers::{In, get};
use driver_api::cu;
use driver_api::sys::{self, CUjit_option, CUlibrary, CUlinkState};
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

/// The version whose wrapper has a list of files.
const OF_FILES: u32 = 2;
/// Where the version and the list stand in a wrapper.
const VERSION: usize = 4;
const LIST: usize = 16;
/// The most files of a list, so that one without an end is an error.
const MOST_FILES: usize = 1 << 16;
/// Where a fat binary says how long its header and its entries are.
const HEADER_SIZE: usize = 6;
const ENTRIES_SIZE: usize = 8;
/// Bytes of the driver's log that are kept.
const LOG: usize = 4096;

/// Why code cannot be loaded.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) log: String,
}

/// A log that the driver writes, and the options that ask for it.
struct Log {
    text: Vec<u8>,
    options: [CUjit_option; 2],
    values: [*mut c_void; 2],
}

impl Log {
    fn new() -> Self {
        let mut text = vec![0; LOG];
        let values = [text.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG)];
        Self {
            text,
            options: [sys::CU_JIT_ERROR_LOG_BUFFER, sys::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES],
            values,
        }
    }

    fn failure(&self, error: impl Into<Error>) -> Failure {
        let text = CStr::from_bytes_until_nul(&self.text).unwrap_or_default();
        Failure { error: error.into(), log: text.to_string_lossy().trim_end().to_owned() }
    }
}

/// Loads what a wrapper holds.
///
/// # Safety
/// The address is null or that of a wrapper.
pub(crate) unsafe fn load(wrapper: *const c_void) -> std::result::Result<CUlibrary, Failure> {
    // SAFETY: by contract.
    unsafe {
        let files = files(wrapper).map_err(|error| Log::new().failure(error))?;
        if files.is_empty() { library(wrapper) } else { linked(&files) }
    }
}

/// Makes a library of code.
///
/// # Safety
/// The pointer is that of code in one of the forms that the driver takes.
unsafe fn library(code: *const c_void) -> std::result::Result<CUlibrary, Failure> {
    let (mut log, mut library) = (Log::new(), null_mut());
    let count = log.options.len() as u32;
    let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
    // SAFETY: by contract, and the arrays have as many elements as is said.
    let loaded = unsafe {
        cu::cuLibraryLoadData(&raw mut library, code, options, values, count, null_mut(), null_mut(), 0)
    };
    loaded.map(|()| library).map_err(|error| log.failure(error))
}

/// The files of a wrapper's list.
///
/// # Safety
/// As [`load`].
unsafe fn files(wrapper: *const c_void) -> Result<Vec<*const c_void>> {
    let mut files = Vec::new();
    // SAFETY: by contract; the list is read to its end.
    unsafe {
        get(In::new(wrapper.cast::<u8>()))?;
        let list: *const *const c_void = get(In::new(wrapper.byte_add(LIST).cast()))?;
        if get(In::new(wrapper.byte_add(VERSION).cast::<u32>()))? != OF_FILES || list.is_null() {
            return Ok(files);
        }
        for index in 0..MOST_FILES {
            let file = get(In::new(list.add(index)))?;
            if file.is_null() {
                return Ok(files);
            }
            files.push(file);
        }
    }
    Err(Error::INVALID_VALUE)
}

/// Makes a library of several files.
///
/// # Safety
/// The addresses are those of fat binaries.
unsafe fn linked(files: &[*const c_void]) -> std::result::Result<CUlibrary, Failure> {
    let (mut log, mut state) = (Log::new(), null_mut());
    let count = log.options.len() as u32;
    let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
    // SAFETY: the arrays have as many elements as is said, and they and the log stay until the link is destroyed; its
    // code stays until then, too, and a library keeps nothing of it.
    unsafe {
        let created = cu::cuLinkCreate_v2(count, options, values, &raw mut state);
        created.map_err(|error| log.failure(error))?;
        let library = match join(state, files) {
            Ok(code) => library(code),
            Err(error) => Err(log.failure(error)),
        };
        cu::cuLinkDestroy(state).map_err(|error| log.failure(error))?;
        library
    }
}

/// Adds files to a link; the code that they become.
///
/// # Safety
/// The addresses are those of fat binaries, and where the link was told to write can be written.
unsafe fn join(state: CUlinkState, files: &[*const c_void]) -> Result<*const c_void> {
    let (mut code, mut size) = (null_mut(), 0);
    let kind = sys::CU_JIT_INPUT_FATBINARY;
    let mut without_code: Option<Error> = None;
    // SAFETY: by contract; a fat binary says how long it is.
    unsafe {
        for &file in files {
            let header: u16 = get(In::new(file.byte_add(HEADER_SIZE).cast()))?;
            let entries: u64 = get(In::new(file.byte_add(ENTRIES_SIZE).cast()))?;
            let bytes = usize::from(header) + entries as usize;
            let data = file.cast_mut();
            match cu::cuLinkAddData_v2(state, kind, data, bytes, null(), 0, null_mut(), null_mut()) {
                // A file that is not needed may have none; if it is needed, the linker misses it by name.
                Err(error) if error.0 == Error::NO_KERNEL_IMAGE.0 => without_code = Some(error.into()),
                result => result?,
            }
        }
        let linked = cu::cuLinkComplete(state, &raw mut code, &raw mut size);
        linked.map_err(|error| without_code.unwrap_or_else(|| error.into()))?;
    }
    Ok(code.cast_const())
}
