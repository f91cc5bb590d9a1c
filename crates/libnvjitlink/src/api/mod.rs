//! The functions of `nvJitLink.h`, in its order.

use crate::link::Link;
use crate::options::Options;
use crate::result::{Error, define};
use pointers::{In, Out, Room, bytes, element, get, put, text};
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

mod pointers {
    ffi::pointers! { crate::result::Error, crate::result::Error::NULL_INPUT }
}

/// The links of this process. A handle is a number that is never used again.
#[derive(Default)]
struct Links {
    last: usize,
    open: HashMap<usize, Link>,
}

fn links() -> MutexGuard<'static, Links> {
    static LINKS: OnceLock<Mutex<Links>> = OnceLock::new();
    LINKS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks a link something.
fn with<T>(handle: usize, work: impl FnOnce(&mut Link) -> Result<T, Error>) -> Result<T, Error> {
    work(links().open.get_mut(&handle).ok_or(Error::INVALID_INPUT)?)
}

/// Writes a log's size, with the zero at its end.
fn put_size(out: Out<usize>, log: &str) -> Result<(), Error> {
    put(out, if log.is_empty() { 0 } else { log.len() + 1 })
}

/// Writes a log into room that the program has asked the size of.
fn put_log(out: Out<c_char>, log: &str) -> Result<(), Error> {
    if log.is_empty() {
        return Ok(());
    }
    let ended: Vec<c_char> = log.bytes().chain([0]).map(|byte| byte as c_char).collect();
    write(out, ended.into_iter())
}

/// Writes elements one behind the other.
fn write<T>(out: Out<T>, elements: impl ExactSizeIterator<Item = T>) -> Result<(), Error> {
    // SAFETY: the program promises room for as many as it was told that there are.
    let room = unsafe { Room::new(out.raw(), elements.len()) };
    if room.is_null() {
        return Err(Error::NULL_INPUT);
    }
    for (index, value) in elements.enumerate() {
        room.at(index).write(value);
    }
    Ok(())
}

define! {
    fn nvJitLinkCreate(handle: *mut usize, count: u32, #[elements(count)] options: *const *const c_char) {
        let words: Result<Vec<String>, Error> = (0..count as usize)
            .map(|index| {
                // SAFETY: each option is a text, as the manual asks.
                let word = unsafe { In::new(element(options, index)?) };
                text(word).map(str::to_owned)
            })
            .collect();
        let options = Options::read(words?.iter().map(String::as_str))?;
        let mut links = links();
        links.last += 1;
        let number = links.last;
        links.open.insert(number, Link::new(options));
        put(handle, number)
    }

    fn nvJitLinkDestroy(handle: *mut usize) {
        let number = get(handle)?;
        links().open.remove(&number).ok_or(Error::INVALID_INPUT)?;
        put(handle, 0)
    }

    fn nvJitLinkAddData(
        handle: usize,
        kind: u32,
        #[elements(size)] data: *const c_void,
        size: usize,
        name: *const c_char,
    ) {
        let name = if name.is_null() { "" } else { text(name)? };
        let data = bytes(data)?;
        with(handle, |link| link.add(kind, data, name))
    }

    fn nvJitLinkAddFile(handle: usize, kind: u32, name: *const c_char) {
        let name = text(name)?;
        let data = std::fs::read(name).map_err(|_| Error::INVALID_INPUT)?;
        with(handle, |link| link.add(kind, &data, name))
    }

    fn nvJitLinkComplete(handle: usize) {
        with(handle, Link::complete)
    }

    fn nvJitLinkGetLinkedCubinSize(handle: usize, size: *mut usize) {
        with(handle, |link| put(size, link.cubin.as_ref().ok_or(Error::INVALID_INPUT)?.len()))
    }

    fn nvJitLinkGetLinkedCubin(handle: usize, cubin: *mut u8) {
        with(handle, |link| write(cubin, link.cubin.as_ref().ok_or(Error::INVALID_INPUT)?.iter().copied()))
    }

    fn nvJitLinkGetLinkedPtxSize(handle: usize, _size: *mut usize) {
        with(handle, |_| Err(Error::LTO_NOT_ENABLED))
    }

    fn nvJitLinkGetLinkedPtx(handle: usize, _ptx: *mut c_char) {
        with(handle, |_| Err(Error::LTO_NOT_ENABLED))
    }

    fn nvJitLinkGetLinkedLTOIRSize(handle: usize, _size: *mut usize) {
        with(handle, |_| Err(Error::LTO_NOT_ENABLED))
    }

    fn nvJitLinkGetLinkedLTOIR(handle: usize, _code: *mut c_char) {
        with(handle, |_| Err(Error::LTO_NOT_ENABLED))
    }

    fn nvJitLinkGetErrorLogSize(handle: usize, size: *mut usize) {
        with(handle, |link| put_size(size, &link.errors))
    }

    fn nvJitLinkGetErrorLog(handle: usize, log: *mut c_char) {
        with(handle, |link| put_log(log, &link.errors))
    }

    fn nvJitLinkGetInfoLogSize(handle: usize, size: *mut usize) {
        with(handle, |link| put_size(size, &link.remarks))
    }

    fn nvJitLinkGetInfoLog(handle: usize, log: *mut c_char) {
        with(handle, |link| put_log(log, &link.remarks))
    }
}
