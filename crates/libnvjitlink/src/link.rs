//! A link: its inputs, the driver that joins them, what came of it.

use crate::options::Options;
use crate::result::Error;
use cubin::carrier::{self, Purpose};
use cubin::fatbin::{self, Reach};
use cubin::read::{CudaInfo, ToolInfo};
use driver_api::{cu, sys};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;

/// What an input is: `nvJitLinkInputType`.
pub(crate) mod input {
    pub(crate) const CUBIN: u32 = 1;
    pub(crate) const PTX: u32 = 2;
    pub(crate) const LTOIR: u32 = 3;
    pub(crate) const FATBIN: u32 = 4;
    pub(crate) const OBJECT: u32 = 5;
    pub(crate) const LIBRARY: u32 = 6;
    pub(crate) const INDEX: u32 = 7;
    pub(crate) const ANY: u32 = 10;
}

/// Bytes of a log of the driver's.
const LOG: usize = 16 << 10;

/// A link under way.
pub(crate) struct Link {
    options: Options,
    inputs: Vec<(u32, Vec<u8>, CString)>,
    /// What is wrong, and what is suspicious.
    pub(crate) errors: String,
    pub(crate) remarks: String,
    /// The cubin, once it is complete.
    pub(crate) cubin: Option<Vec<u8>>,
}

impl Link {
    pub(crate) fn new(options: Options) -> Self {
        Self { options, inputs: Vec::new(), errors: String::new(), remarks: String::new(), cubin: None }
    }

    /// Takes an input.
    pub(crate) fn add(&mut self, kind: u32, bytes: &[u8], name: &str) -> Result<(), Error> {
        let kind = match kind {
            input::CUBIN => sys::CU_JIT_INPUT_CUBIN,
            input::PTX => sys::CU_JIT_INPUT_PTX,
            input::FATBIN => sys::CU_JIT_INPUT_FATBINARY,
            input::OBJECT => sys::CU_JIT_INPUT_OBJECT,
            input::LIBRARY => sys::CU_JIT_INPUT_LIBRARY,
            input::ANY => guessed(bytes),
            input::LTOIR | input::INDEX if !self.options.lto => return Err(Error::LTO_NOT_ENABLED),
            input::LTOIR | input::INDEX => {
                self.errors = format!(
                    "{name} is NVVM's intermediate representation, which is not read: compile to PTX, without -lto\n"
                );
                return Err(Error::NVVM_COMPILE);
            }
            _ => return Err(Error::INVALID_INPUT),
        };
        let name = CString::new(name).map_err(|_| Error::INVALID_INPUT)?;
        let mut bytes = bytes.to_vec();
        // The driver's PTX ends with a zero byte, which this library's need not.
        if kind == sys::CU_JIT_INPUT_PTX && bytes.last() != Some(&0) {
            bytes.push(0);
        }
        self.inputs.push((kind, bytes, name));
        Ok(())
    }

    /// Has the driver join the inputs.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        let (mut errors, mut remarks) = (vec![0_u8; LOG], vec![0_u8; LOG]);
        let joined = with_context(|| joined(&mut self.inputs, &mut errors, &mut remarks));
        (self.errors, self.remarks) = (text(&errors), text(&remarks));
        let joined = joined.map_err(|error| {
            if self.errors.is_empty() {
                self.errors = format!("the driver does not link: error {}\n", error.0);
            }
            Error::PTX_COMPILE
        })?;
        self.cubin = Some(match joined.starts_with(b"\x7fELF") {
            // Another driver's.
            true => joined,
            false => self.carrier(joined.strip_suffix(&[0]).unwrap_or(&joined))?,
        });
        Ok(())
    }

    /// A cubin that carries a text.
    fn carrier(&mut self, text: &[u8]) -> Result<Vec<u8>, Error> {
        let Options { sm, specific, .. } = self.options;
        let text = String::from_utf8_lossy(text);
        let reach = if specific { Reach::Specific } else { Reach::Base };
        let fatbin = fatbin::pack_ptx(&text, version(&text), sm.into(), reach);
        let purpose = Purpose {
            sm,
            specific,
            relocatable: false,
            cuda: CudaInfo { version: NOTES, virtual_sm: sm, toolkit: TOOLKIT },
            tool: ToolInfo {
                version: NOTES.into(),
                object: String::new(),
                tool: "nvJitLink".to_owned(),
                tool_version: String::new(),
                branch: format!("Warploom {}", env!("CARGO_PKG_VERSION")),
                arguments: String::new(),
            },
        };
        carrier::write(&[fatbin], &purpose).map_err(|error| {
            self.errors = error.to_string();
            Error::INTERNAL
        })
    }
}

/// The version of the notes in a cubin, and the toolkit that they name: CUDA 13.0's.
const NOTES: u16 = 2;
const TOOLKIT: u16 = 130;

/// The version that PTX says it is of.
fn version(text: &str) -> (u16, u16) {
    let words = text.split_once(".version").and_then(|(_, rest)| rest.split_whitespace().next());
    let numbers = words.and_then(|version| version.split_once('.'));
    numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))).unwrap_or((9, 0))
}

/// What the bytes of an input are.
fn guessed(bytes: &[u8]) -> u32 {
    const EM_CUDA: [u8; 2] = 190_u16.to_le_bytes();
    match bytes {
        _ if bytes.starts_with(b"!<arch>") => sys::CU_JIT_INPUT_LIBRARY,
        _ if bytes.starts_with(b"\x7fELF") && bytes.get(18..20) == Some(&EM_CUDA) => sys::CU_JIT_INPUT_CUBIN,
        _ if bytes.starts_with(b"\x7fELF") => sys::CU_JIT_INPUT_OBJECT,
        _ if bytes.starts_with(&0xba55_ed50_u32.to_le_bytes()) => sys::CU_JIT_INPUT_FATBINARY,
        _ => sys::CU_JIT_INPUT_PTX,
    }
}

/// Does work in the thread's context, or in the first device's primary one if it has none.
fn with_context<T>(work: impl FnOnce() -> driver_api::Result<T>) -> driver_api::Result<T> {
    let mut context = null_mut();
    // SAFETY: places of ours; what is retained and pushed is popped and released once.
    unsafe {
        cu::cuInit(0)?;
        cu::cuCtxGetCurrent(&raw mut context)?;
        if !context.is_null() {
            return work();
        }
        cu::cuDevicePrimaryCtxRetain(&raw mut context, 0)?;
        let result = cu::cuCtxPushCurrent_v2(context).and_then(|()| {
            let result = work();
            cu::cuCtxPopCurrent_v2(&raw mut context)?;
            result
        });
        cu::cuDevicePrimaryCtxRelease_v2(0)?;
        result
    }
}

/// What the driver makes of inputs.
fn joined(
    inputs: &mut [(u32, Vec<u8>, CString)],
    errors: &mut [u8],
    remarks: &mut [u8],
) -> driver_api::Result<Vec<u8>> {
    let mut options = [
        sys::CU_JIT_ERROR_LOG_BUFFER,
        sys::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        sys::CU_JIT_INFO_LOG_BUFFER,
        sys::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
    ];
    // Numbers stand where pointers would.
    let size = |log: &[u8]| std::ptr::without_provenance_mut::<c_void>(log.len());
    let mut values: [*mut c_void; 4] =
        [errors.as_mut_ptr().cast(), size(errors), remarks.as_mut_ptr().cast(), size(remarks)];
    let mut state = null_mut();
    // SAFETY: the logs outlive the link, and are as large as is said; inputs are as long as is said; the result is copied
    // before the link that holds it is destroyed.
    unsafe {
        cu::cuLinkCreate_v2(4, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut state)?;
        let result = (|| {
            for (kind, bytes, name) in inputs {
                let (data, size) = (bytes.as_mut_ptr().cast(), bytes.len());
                cu::cuLinkAddData_v2(state, *kind, data, size, name.as_ptr(), 0, null_mut(), null_mut())?;
            }
            let (mut whole, mut size) = (null_mut(), 0);
            cu::cuLinkComplete(state, &raw mut whole, &raw mut size)?;
            Ok(std::slice::from_raw_parts(whole.cast::<u8>(), size).to_vec())
        })();
        cu::cuLinkDestroy(state)?;
        result
    }
}

/// A log up to its zero.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).into_owned()
}
