//! `libgpuocelot.so`: the one function by which tinygrad's mock of a GPU (`DEV=MOCK+CUDA:PTX`, `DEV=MOCK+NV`) runs a kernel.
//!
//! gpuocelot's function takes PTX, arguments and a grid. The pointers among the arguments are the program's own memory: the mock
//! allocates on the host. Ours loads the text into the CUDA driver, registers that memory there, launches, waits, and takes the
//! registration back, so that engines, checks and reports are those of every other program.
//!
//! | place | what it alone knows |
//! | --- | --- |
//! | `mock` | how long the mock's buffers are |
//! | `reach` | which of the program's memory a kernel may use |
//! | `launch` | modules that are loaded, and the launch |
//! | `api` | the function |
//!
//! A kernel reaches the buffers that its arguments point into, and nothing else: what is outside is an illegal address, as always. The
//! call itself does not say how long a buffer is. The mock of CUDA has a table of them, which is read; for others, as the mock of NVIDIA's
//! kernel driver (`NV`), whose buffers have mappings of their own, a buffer ends with its mapping.

mod api;
mod launch;
mod mock;
mod reach;
