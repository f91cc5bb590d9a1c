//! A library that `warploom exec` preloads (`LD_PRELOAD`, `ld.so(8)`): whoever asks whether `/dev/nvidia0` or `/dev/nvidiactl` is
//! there hears yes.
//!
//! JAX takes a host without these files for one without a GPU, and goes on with the CPU without a word
//! (`jax/_src/hardware_utils.py`); no setting tells it otherwise. Questions about the two names are answered as for `/dev/zero`,
//! another device that anybody may read and write. All other names, and everything but questions, go to the C library as ever: there is
//! nothing that could be opened.
//!
//! The library is in every process that the program starts, so it is small: it links the C library alone, allocates nothing
//! and does not panic. `std` is there for the compiler's sake (the machinery of panics); no part of it is linked.

#![no_std]

extern crate std as _;

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NEXT`: the definition behind this one, which is the C library's.
const NEXT: *mut c_void = ptr::without_provenance_mut(usize::MAX);
/// What is returned where the C library lacks the function, so that nobody can have been linked with it.
const MISSING: c_int = -1;

/// The files that a GPU of NVIDIA's always has: the first device, and what manages all.
const NAMES: [&CStr; 2] = [c"/dev/nvidia0", c"/dev/nvidiactl"];
/// What is asked about instead.
const INSTEAD: &CStr = c"/dev/zero";

/// Whether two texts are the same. (Comparing slices would read the whole of a path that only has to differ somewhere.)
///
/// # Safety
/// The first is a text of C's.
unsafe fn same(text: *const c_char, name: &CStr) -> bool {
    let bytes = name.to_bytes_with_nul();
    // SAFETY: it is read up to the first difference, so not behind its end.
    bytes.iter().enumerate().all(|(at, &byte)| unsafe { *text.add(at) } as u8 == byte)
}

/// The path that is asked about for this one.
///
/// # Safety
/// It is null or a text of C's.
unsafe fn instead(path: *const c_char) -> *const c_char {
    // SAFETY: by contract.
    let ours = !path.is_null() && NAMES.iter().any(|name| unsafe { same(path, name) });
    if ours { INSTEAD.as_ptr() } else { path }
}

/// Questions about a path, under all names that glibc has had for them: the C library answers, about another path for ours.
macro_rules! questions {
    ($($symbol:literal fn $name:ident($($before:ident: $first:ty),*) path ($($after:ident: $last:ty),*);)*) => {$(
        /// As the C library has it.
        ///
        /// # Safety
        /// What its manual asks.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($before: $first,)* path: *const c_char $(, $after: $last)*) -> c_int {
            type Function = unsafe extern "C" fn($($first,)* *const c_char $(, $last)*) -> c_int;
            static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
            let mut real = REAL.load(Ordering::Relaxed);
            // SAFETY: the symbol has this type in every version of glibc; the rest by contract.
            unsafe {
                if real.is_null() {
                    real = dlsym(NEXT, $symbol.as_ptr());
                    REAL.store(real, Ordering::Relaxed);
                }
                if real.is_null() {
                    return MISSING;
                }
                transmute::<*mut c_void, Function>(real)($($before,)* instead(path) $(, $after)*)
            }
        }
    )*};
}

questions! {
    c"stat" fn stat() path (found: *mut c_void);
    c"stat64" fn stat64() path (found: *mut c_void);
    c"__xstat" fn __xstat(version: c_int) path (found: *mut c_void);
    c"__xstat64" fn __xstat64(version: c_int) path (found: *mut c_void);
    c"lstat" fn lstat() path (found: *mut c_void);
    c"lstat64" fn lstat64() path (found: *mut c_void);
    c"__lxstat" fn __lxstat(version: c_int) path (found: *mut c_void);
    c"__lxstat64" fn __lxstat64(version: c_int) path (found: *mut c_void);
    c"fstatat" fn fstatat(folder: c_int) path (found: *mut c_void, flags: c_int);
    c"fstatat64" fn fstatat64(folder: c_int) path (found: *mut c_void, flags: c_int);
    c"__fxstatat" fn __fxstatat(version: c_int, folder: c_int) path (found: *mut c_void, flags: c_int);
    c"__fxstatat64" fn __fxstatat64(version: c_int, folder: c_int) path (found: *mut c_void, flags: c_int);
    c"statx" fn statx(folder: c_int) path (flags: c_int, mask: c_uint, found: *mut c_void);
    c"access" fn access() path (mode: c_int);
    c"faccessat" fn faccessat(folder: c_int) path (mode: c_int, flags: c_int);
}
