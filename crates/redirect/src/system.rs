//! The one question to the kernel. Crates that ask it without a C library check their results with assertions, which can panic.

use core::arch::asm;
use core::ffi::CStr;

/// `R_OK` of `access(2)`.
const READ: usize = 4;

/// Whether there is a file that can be read.
#[cfg(target_arch = "x86_64")]
pub(crate) fn readable(path: &CStr) -> bool {
    const ACCESS: isize = 21;
    let result: isize;
    // SAFETY: the kernel reads the path and writes nothing; registers are as its calling convention has them.
    unsafe {
        asm!("syscall", inlateout("rax") ACCESS => result, in("rdi") path.as_ptr(), in("rsi") READ,
            lateout("rcx") _, lateout("r11") _, options(nostack, readonly));
    }
    result == 0
}

/// Whether there is a file that can be read.
#[cfg(target_arch = "aarch64")]
pub(crate) fn readable(path: &CStr) -> bool {
    const FACCESSAT: usize = 48;
    const CURRENT_FOLDER: isize = -100;
    let result: isize;
    // SAFETY: as above.
    unsafe {
        asm!("svc 0", in("x8") FACCESSAT, inlateout("x0") CURRENT_FOLDER => result, in("x1") path.as_ptr(),
            in("x2") READ, options(nostack, readonly));
    }
    result == 0
}

/// Elsewhere nothing is redirected: `LD_LIBRARY_PATH` alone says where our libraries are.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn readable(_: &CStr) -> bool {
    false
}
