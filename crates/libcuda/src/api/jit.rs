//! The program's image and its buffers for logs.

use crate::pointers::{In, Out, Room, get, put_if, put_text};
use crate::sys::*;
use driver::Error;
use driver::Result;
use driver::image::{CONTAINER_HEADER, CUBIN_HEADER, Image, LoadFailure};
use machine::Profile;
use std::ffi::{CStr, c_void};
use std::time::Instant;

/// What an ELF file starts with.
const ELF: u8 = 0x7f;

/// The image at an address: PTX text that ends with a zero, a fatbin, its wrapper, or a cubin.
///
/// # Safety
/// The pointer is null or points to such an image.
pub(crate) unsafe fn image(pointer: In<c_void>) -> Result<Image> {
    // SAFETY: by contract there is an image; each kind is read no further than it says that it reaches, and the first
    // bytes one by one, since text may be shorter than a magic number.
    unsafe {
        let first: u8 = get(pointer.cast())?;
        let start = pointer.raw();
        if first == ELF {
            return Ok(Image::Elf(cubin(pointer)));
        }
        let starts = |magic: u32| {
            magic.to_le_bytes().iter().enumerate().all(|(i, &byte)| *start.cast::<u8>().add(i) == byte)
        };
        if starts(driver::image::WRAPPER_MAGIC) {
            let container = start.byte_add(driver::image::WRAPPER_ADDRESS).cast::<*const c_void>();
            return fatbin(In::new(get(In::new(container))?));
        }
        if starts(driver::image::CONTAINER_MAGIC) {
            return fatbin(pointer);
        }
        let text = CStr::from_ptr(start.cast());
        Ok(Image::Ptx(String::from_utf8_lossy(text.to_bytes()).into_owned()))
    }
}

/// # Safety
/// The pointer is null or points to a fatbin.
unsafe fn fatbin(pointer: In<c_void>) -> Result<Image> {
    // SAFETY: by contract; the header says how long it is.
    unsafe {
        let header: [u8; CONTAINER_HEADER] = get(pointer.cast())?;
        let size = driver::image::fatbin_size(&header)?;
        let size = usize::try_from(size).map_err(|_| Error::InvalidImage)?;
        Ok(Image::Fatbin(std::slice::from_raw_parts(pointer.raw().cast::<u8>(), size).to_vec()))
    }
}

/// The bytes of a cubin; none if it is no ELF file for CUDA devices.
///
/// # Safety
/// The pointer points to such a file, or to something that does not begin like one.
unsafe fn cubin(pointer: In<c_void>) -> Vec<u8> {
    const BEGINNING: [u8; 7] = *b"\x7fELF\x02\x01\x01";
    let bytes = pointer.raw().cast::<u8>();
    // SAFETY: by contract; what is shorter than a header differs from the beginning of one.
    unsafe {
        if !BEGINNING.iter().enumerate().all(|(at, &byte)| *bytes.add(at) == byte) {
            return Vec::new();
        }
        let header: [u8; CUBIN_HEADER as usize] =
            bytes.cast::<[u8; CUBIN_HEADER as usize]>().read_unaligned();
        let size = driver::image::cubin_size(&header).and_then(|size| usize::try_from(size).ok());
        size.map_or_else(Vec::new, |size| std::slice::from_raw_parts(bytes, size).to_vec())
    }
}

/// The image in a slice.
pub(crate) fn image_of(bytes: &[u8]) -> Image {
    match bytes {
        [ELF, ..] => Image::Elf(bytes.to_vec()),
        _ if bytes.starts_with(&driver::image::CONTAINER_MAGIC.to_le_bytes()) => {
            Image::Fatbin(bytes.to_vec())
        }
        _ => {
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            Image::Ptx(String::from_utf8_lossy(&bytes[..end]).into_owned())
        }
    }
}

/// What a program says about compiling: where it wants to have logs, and more.
pub(crate) struct Logs {
    information: Buffer,
    errors: Buffer,
    /// The most registers of a kernel.
    registers: Option<u32>,
    /// The element of the program's array that becomes the time in milliseconds.
    time: Out<*mut c_void>,
}

impl Default for Logs {
    fn default() -> Self {
        let (information, errors) = (Buffer::default(), Buffer::default());
        Self { information, errors, registers: None, time: Out::none() }
    }
}

/// A buffer of the program's, and where it wants to know how much was written.
struct Buffer {
    start: *mut c_void,
    size: usize,
    /// The element of the program's array that held the size.
    written: Out<*mut c_void>,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { start: std::ptr::null_mut(), size: 0, written: Out::none() }
    }
}

// SAFETY: the pointers are the program's, used only within calls that it makes.
unsafe impl Send for Logs {}

impl Logs {
    /// # Safety
    /// Both arrays, and the buffers that they name, can be written as long as this lives.
    pub(crate) unsafe fn new(options: Room<CUjit_option>, values: Room<*mut c_void>) -> Result<Self> {
        let mut logs = Self::default();
        for index in 0..options.count() {
            let (option, place) = (get(options.at(index))?, values.at(index));
            let value = get(place)?;
            match option {
                CU_JIT_INFO_LOG_BUFFER => logs.information.start = value,
                CU_JIT_ERROR_LOG_BUFFER => logs.errors.start = value,
                // A size stands in the lower half of the pointer.
                CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => {
                    logs.information.size = value.addr() as u32 as usize;
                    logs.information.written = place;
                }
                CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => {
                    logs.errors.size = value.addr() as u32 as usize;
                    logs.errors.written = place;
                }
                CU_JIT_WALL_TIME => logs.time = place,
                CU_JIT_MAX_REGISTERS => logs.registers = Some(value.addr() as u32).filter(|&n| n > 0),
                // The others ask for speed, for debugging, or for what PTX says itself.
                other if other < CU_JIT_NUM_OPTIONS => {}
                _ => return Err(Error::InvalidValue),
            }
        }
        Ok(logs)
    }

    /// The same, but nobody is told how much was written. For links: `cuda.h` wants the program's array to live as long as
    /// the link, but clients (cuda.core) let go of it as soon as the link is made. The buffers hold text that ends itself.
    pub(crate) fn without_sizes(mut self) -> Self {
        self.information.written = Out::none();
        self.errors.written = Out::none();
        self
    }

    /// An image as it is to be compiled.
    pub(crate) fn apply(&self, image: Image, profile: &Profile) -> Result<Image> {
        match self.registers {
            Some(most) => image.limit_registers(most, profile).map_err(|failure| self.failure(&failure)),
            None => Ok(image),
        }
    }

    /// Takes the time of work.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = work();
        // SAFETY: by the contract of `Logs::new`: an element of the array holds a pointer, so a float, too.
        put_if(unsafe { self.time.cast::<f32>() }, started.elapsed().as_secs_f32() * 1e3);
        result
    }

    pub(crate) fn information(&self, text: &str) {
        self.information.write(text);
    }

    /// Writes what is wrong; the error.
    pub(crate) fn failure(&self, failure: &LoadFailure) -> Error {
        self.errors.write(&failure.log);
        log::warn!("{}: {}", failure.error.name(), failure.log.trim_end());
        failure.error
    }
}

impl Buffer {
    fn write(&self, text: &str) {
        // SAFETY: by the contract of `Logs::new`. A program that wants no log gives no buffer.
        let buffer = unsafe { Room::new(self.start.cast(), self.size) };
        let _ = put_text(buffer, text);
        if !self.start.is_null() {
            let written = text.len().min(self.size.saturating_sub(1));
            put_if(self.written, std::ptr::without_provenance_mut(written));
        }
    }
}
