//! A real GPU, as an engine: the same module, launch and buffers as on the machine, run by NVIDIA's driver.
//!
//! ```text
//! libcuda.so.1 --driver-api--> cu::* --Gpu::open--> Gpu --load--> Module --launch--> memory
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `driver` | what the driver answers: errors with their names |
//! | `gpu` | devices, memory, modules and launches, as safe values |
//! | `texture` | arrays, textures and surfaces |
//! | `tensor_map` | tensor maps as the driver encodes them |
//!
//! The driver is opened when it is asked for and not before: a program that uses this crate starts on any machine. The
//! interface, names and structures as `cuda.h` has them, is the crate `driver-api`'s; some forty entry points of it
//! suffice to load a module, fill memory and launch. Nothing here is shared with the machine but the trait
//! [`machine::memory::Buffers`] and the descriptors of textures: the GPU is the machine's judge.

mod driver;
mod gpu;
mod tensor_map;
mod texture;

pub use driver::Error;
pub use gpu::{Gpu, Launch, Module};
pub use tensor_map::{TensorMap, TensorMode};
pub use texture::{Array, Texels, Use, View};
