//! `libnvJitLink.so.13` and `libnvJitLink.so.12`: NVIDIA's library that links device code at run time.
//!
//! NVIDIA's makes machine code, which the virtual GPU does not execute. Ours gives what it gets to the driver's own linker (`cuLink*`) and
//! packs the PTX that comes back into a [cubin that carries it](cubin::carrier), which the driver takes like any other. Numba, CuPy and
//! `cuda.core` prefer this library to the driver where it is installed.
//!
//! There is no `nvJitLinkVersion`. It came with 12.3, and clients take a library without it for one that is too old for LTO-IR: Numba and `cuda.core`
//! then use the driver's linker, which is ours, and PTX. With it, Numba asks for link-time optimisation of all kernels.
//!
//! | place | what it alone knows |
//! | --- | --- |
//! | `options` | the options of a link |
//! | `link` | inputs, the driver, what came of them |
//! | `result` | results of functions |
//! | `api` | the functions of `nvJitLink.h` |
//!
//! What needs NVVM's intermediate representation (`-lto`) is refused: `NVJITLINK_ERROR_NVVM_COMPILE`, with the reason in the error log.

mod api;
mod link;
mod options;
mod result;
