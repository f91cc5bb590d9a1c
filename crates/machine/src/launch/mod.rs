//! Launching: devices, loaded modules, kernels, and what stands between a request and a running grid.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `device`, `textures` | devices: their memory, arrays, textures, samplers and surfaces |
//! | `module` | modules whose variables have addresses; the code of their kernels |
//! | `inlined` | modules as they are executed where nobody observes calls |
//! | `kernel` | kernels: parameters, what they need |
//! | `request` | requests, and what comes of them |
//! | `check` | what is refused; how a grid is divided |
//! | `session` | what all grids of a launch share |
//! | `family` | a grid and those that it launches |

mod check;
mod device;
mod family;
mod inlined;
mod kernel;
mod module;
mod request;
mod session;
mod textures;

pub use device::{Device, DeviceOptions};
pub(crate) use inlined::Inlined;
pub use kernel::{Kernel, ParameterLayout, Usage, VariablePlace, Variables, parameter_layout};
pub use module::{LoadError, LoadedModule};
pub use request::{Launch, LaunchError, LaunchOptions, LaunchReport};
