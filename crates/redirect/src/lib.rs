//! An auditor for the dynamic linker (`rtld-audit(7)`): CUDA's libraries come from Warploom's folder, wherever a program
//! looks for them.
//!
//! Python's wheels carry NVIDIA's `libcudart` and tell the linker where it is by `DT_RPATH`, which goes before
//! `LD_LIBRARY_PATH`; others load it by its full path. With this library in `LD_AUDIT` the linker asks [`la_objsearch`]
//! first, for every library that the program links or loads. Where the last part of the name is that of a file in the folder
//! in which this library lies, that file is the answer. So that folder is the list of what is redirected, and must hold
//! nothing else. Processes that the program starts inherit the variable.
//!
//! The linker loads an auditor into a namespace of its own, where a C library would be a second copy with thread-local
//! storage of which there is little. This one needs none: it links nothing, has no thread-local storage, allocates nothing and
//! does not panic. `std` is there for the compiler's sake alone (the machinery of panics); no part of it is linked.

#![no_std]
// Else loops become calls of `memcpy` and `strlen`, which a C library has.
#![no_builtins]

extern crate std as _;

mod system;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_uint};
use core::ptr;

/// The file's name, by which it finds itself in `LD_AUDIT`.
const NAME: &[u8] = b"libwarploom_redirect.so";
/// The variable, as it stands in the environment.
const VARIABLE: &[u8] = b"LD_AUDIT=";
/// The newest version of the interface that is known: glibc 2.35's. What is used of it is the same in version 1.
const VERSION: c_uint = 2;
/// `LA_SER_ORIG`: the name as the program gave it, before any folder is searched.
const ORIGINAL: c_uint = 1;
/// The most bytes of a path, with the zero at its end (`PATH_MAX`).
const LONGEST: usize = 4096;

/// The folder's path with a slash at its end, behind which the names of files are put.
struct Folder {
    path: UnsafeCell<[u8; LONGEST]>,
    folder: UnsafeCell<usize>,
}

// SAFETY: the linker calls an auditor while it holds its lock, and the constructor before there is another thread.
unsafe impl Sync for Folder {}

static FOLDER: Folder = Folder { path: UnsafeCell::new([0; LONGEST]), folder: UnsafeCell::new(0) };

/// Puts bytes into a path at a place, with a zero behind them; where they end, if they fit.
fn put(path: &mut [u8; LONGEST], at: usize, bytes: &[u8]) -> Option<usize> {
    let room = path.get_mut(at..)?;
    if room.len() <= bytes.len() {
        return None;
    }
    let ended = bytes.iter().chain([&0]);
    room.iter_mut().zip(ended).for_each(|(to, from)| *to = *from);
    Some(at.wrapping_add(bytes.len()))
}

/// The bytes of a text of C's, without the zero.
///
/// # Safety
/// The text stays as it is.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    let mut length = 0_usize;
    // SAFETY: a text ends with a zero, and nothing behind that is read.
    unsafe {
        while *text.add(length) != 0 {
            length = length.wrapping_add(1);
        }
        core::slice::from_raw_parts(text.cast(), length)
    }
}

/// What stands behind the beginning of a text. (Comparing slices would be a call of `memcmp`.)
fn behind<'a>(text: &'a [u8], beginning: &[u8]) -> Option<&'a [u8]> {
    let (first, rest) = text.split_at_checked(beginning.len())?;
    first.iter().eq(beginning).then_some(rest)
}

/// The folder, with its slash, in a list of auditors that has this one with its path.
fn folder(auditors: &[u8]) -> Option<&[u8]> {
    auditors.split(|&byte| byte == b':').find_map(|path| {
        let (folder, name) = path.split_at_checked(path.len().checked_sub(NAME.len())?)?;
        (behind(name, NAME).is_some() && folder.last() == Some(&b'/')).then_some(folder)
    })
}

/// What the linker calls with the arguments of `main` when it has loaded the library: a C library's `getenv` is what there is
/// not.
extern "C" fn constructor(_: c_int, _: *const *const c_char, environment: *const *const c_char) {
    let mut variable = environment;
    // SAFETY: the list ends with a null pointer, and nobody changes it or its texts so early; there is no other thread.
    unsafe {
        while !variable.is_null() && !(*variable).is_null() {
            if let Some(folder) = behind(bytes(*variable), VARIABLE).and_then(folder) {
                // Copied, because programs write into their first environment to change what `ps` shows.
                *FOLDER.folder.get() = put(&mut *FOLDER.path.get(), 0, folder).unwrap_or(0);
                return;
            }
            variable = variable.add(1);
        }
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = constructor;

/// The version of the interface that is spoken; 0 sends the auditor away, for want of a folder.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(offered: c_uint) -> c_uint {
    // SAFETY: as for `Folder`.
    let known = unsafe { *FOLDER.folder.get() } != 0;
    if known { offered.min(VERSION) } else { 0 }
}

/// Where the linker shall look for a library: in our folder, if it is there, else where the program says.
///
/// # Safety
/// The linker calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objsearch(
    name: *const c_char,
    _cookie: *mut usize,
    stage: c_uint,
) -> *const c_char {
    if stage != ORIGINAL || name.is_null() {
        return name;
    }
    // SAFETY: the linker's text; the linker's lock, and it has made its copy of the last answer.
    unsafe {
        let path = &mut *FOLDER.path.get();
        match replaced(bytes(name), path, *FOLDER.folder.get()) {
            true => ptr::from_ref(path).cast(),
            false => name,
        }
    }
}

/// Makes a path out of the folder in it and a library's name; whether there is such a file.
fn replaced(name: &[u8], path: &mut [u8; LONGEST], folder: usize) -> bool {
    let Some(base) = name.rsplit(|&byte| byte == b'/').next().filter(|base| !base.is_empty()) else {
        return false;
    };
    let Some(path) = put(path, folder, base).and_then(|end| path.get(..=end)) else { return false };
    // SAFETY: neither the folder nor the name has a zero, as they were C's texts; `put` has written the one at the end.
    let path = unsafe { CStr::from_bytes_with_nul_unchecked(path) };
    system::readable(path)
}
