//! `libcuda.so.1`: the C ABI of the CUDA driver, over [`driver`].
//!
//! Only conversion happens here: numbers and pointers of C become values of the driver's, and its errors `CUresult`s.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `ffi` | what every function does around its work: panics, tracing |
//! | `order` | what a function looks at before it does anything |
//! | `state` | the process's driver, and which handle means what |
//! | `pointers` | reading and writing through the program's pointers |
//! | `checks`, `engine` | who watches kernels; what compiles them |
//! | `modelled` | launches in the model in cycles, beside what executes them |
//! | `caller` | which library of the program's a call comes from |
//! | `symbols` | all symbols: those that are not implemented, and looking them up by name and version |
//! | `api` | the functions, a file a chapter of the driver's manual |
//!
//! A handle is a number that stands in a table, never an address of ours: one that is stale or made up is an error,
//! not a crash. Enumerations come as integers and are compared with constants. A function that is not implemented is
//! exported all the same, returns `CUDA_ERROR_NOT_SUPPORTED` and names itself on standard error, once.
//!
//! The environment:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `WARPLOOM_DEVICES` | the devices: `h200:4`, or `h100,l40s:2` |
//! | `CUDA_VISIBLE_DEVICES` | which of them the program sees, in which order: `1,0` |
//! | `WARPLOOM_MEMORY` | the most global memory that each device may have: `512M`, `2G` |
//! | `WARPLOOM_ENGINE` | what runs kernels: `interp`, `jit` or `auto`; see [`jit::Choice`] |
//! | `WARPLOOM_LLVM`, `WARPLOOM_CACHE`, `WARPLOOM_CACHE_DIR` | with which LLVM they are compiled; whether that is kept, and where |
//! | `WARPLOOM_STRICT` | `1` stops kernels for what a GPU would not notice: accesses behind an allocation, wrong member masks |
//! | `WARPLOOM_ASYNC` | when asynchronous operations are done: `eager`, `late`, `random:SEED` or `adversarial` |
//! | `WARPLOOM_LOG` | what is logged, and where to; see [`ffi::journal`] |
//! | `WARPLOOM_TRACE` | `api` logs every call with its arguments, its result and what it has written for the program |
//! | `WARPLOOM_CHECK` | what the sanitizer looks for: `race,memory,init,sync` or `all`, `predict`, `locks`; `WARPLOOM_CHECK_SUPPRESS` names a file |
//! | | with what it leaves out, `WARPLOOM_CHECK_REPORT` one that gets its reports as lines of JSON |
//! | `WARPLOOM_CHECK_SCHEDULES`, `WARPLOOM_CHECK_KEEP_GOING` | schedules that short launches run under; bad accesses after which kernels go on |
//! | `WARPLOOM_CHECK_API_ERRORS` | `1` tells of errors that the program does not ask about: see [`ffi::failures`] |
//! | `WARPLOOM_SIM`, `WARPLOOM_SIM_REPORT` | the device in whose model each launch runs too; the file that gets what it costs as lines of JSON |
//! | `WARPLOOM_STUB` | `1` executes no kernel, to find out which tests of a program need that |

mod api;
mod caller;
mod checks;
mod debug;
mod engine;
mod ffi;
mod modelled;
mod order;
mod pointers;
mod saved;
mod state;
mod symbols;

use cuda_headers::cuda as sys;
