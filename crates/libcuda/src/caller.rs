//! Which library of the program's a call comes from.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;

/// What `dladdr(3)` tells of an address.
#[repr(C)]
struct Found {
    file: *const c_char,
    base: *mut c_void,
    name: *const c_char,
    address: *mut c_void,
}

type Frame = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
    fn _Unwind_Backtrace(each: Frame, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
}

/// The most frames that lie between a function of the API and its caller.
const FRAMES: usize = 64;

/// The addresses of the innermost frames.
struct Stack {
    frames: [usize; FRAMES],
    count: usize,
}

/// Notes a frame; anything but 0 ends the walk.
unsafe extern "C" fn note(frame: *mut c_void, stack: *mut c_void) -> c_int {
    // SAFETY: the pointer is `object`'s, which waits for the walk to end, and the frame is the unwinder's.
    let (stack, address) = unsafe { (&mut *stack.cast::<Stack>(), _Unwind_GetIP(frame)) };
    let Some(place) = stack.frames.get_mut(stack.count) else { return 1 };
    *place = address;
    stack.count += 1;
    0
}

/// The loaded file that an address lies in, and where it begins.
fn file(address: usize) -> Option<(PathBuf, usize)> {
    let none = std::ptr::null_mut();
    let mut found = Found { file: std::ptr::null(), base: none, name: std::ptr::null(), address: none };
    // SAFETY: any address may be asked about; the name is the dynamic linker's, who keeps it while the library is loaded,
    // as it is that called us.
    unsafe {
        if dladdr(std::ptr::without_provenance(address), &raw mut found) == 0 || found.file.is_null() {
            return None;
        }
        Some((CStr::from_ptr(found.file).to_string_lossy().into_owned().into(), found.base.addr()))
    }
}

/// The file of the library, or of the program, that has called a function of ours: the innermost frame outside of this library.
pub(crate) fn object() -> Option<PathBuf> {
    let mut stack = Stack { frames: [0; FRAMES], count: 0 };
    // SAFETY: the callback takes what is given here.
    unsafe { _Unwind_Backtrace(note, (&raw mut stack).cast()) };
    let (_, ours) = file(note as Frame as usize)?;
    let frames = stack.frames[..stack.count].iter();
    frames.filter_map(|&address| file(address)).find(|(_, base)| *base != ours).map(|(file, _)| file)
}
