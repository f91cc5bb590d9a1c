//! What the C headers of CUDA declare, as Rust: the one place where their facts stand.
//!
//! | module | header |
//! | --- | --- |
//! | [`cuda`] | `cuda.h` and `cudaProfiler.h` 13.0: the driver |
//! | [`cuda_runtime_api`] | `cuda_runtime_api.h` and `cuda_profiler_api.h` 13.0: the runtime |
//! | [`cuda_runtime_api_12`] | what the same headers of 12.9 declare otherwise |
//! | [`nvml`] | `nvml.h` 13.0: management |
//!
//! `cargo xtask headers` makes these files from NVIDIA's packages; nobody edits them, and who uses this crate needs no
//! header. They hold names, values, layouts and signatures, and none of the headers' words: what a function does, its
//! manual says. Older forms of functions and structures, which programs of older CUDA call, are there too; twins for
//! the per-thread default stream (`_ptds`, `_ptsz`) are not, since they have the types of their originals.
//!
//! An enumeration is an integer with constants: a program may pass any number. A function is a type in the module
//! `functions`, with which a library compares its own function of that name, and a row of `FUNCTIONS`, from which build
//! scripts make functions that need no hand.

/// A function, as its header declares it.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its symbol.
    pub name: &'static str,
    /// The names and types of its parameters, in order; the types are names of the same module and of `core::ffi`.
    pub parameters: &'static [(&'static str, &'static str)],
}

impl Function {
    /// Its parameters as a function's definition lists them: `flags: c_uint, `.
    pub fn typed_parameters(&self) -> String {
        self.parameters.iter().map(|(name, ty)| format!("{name}: {ty}, ")).collect()
    }
}

/// An enumeration, as its header declares it.
#[derive(Clone, Copy, Debug)]
pub struct Enumeration {
    /// The name behind `enum`, or that of its typedef.
    pub name: &'static str,
    /// Its constants, in order.
    pub constants: &'static [&'static str],
}

/// The functions of a header: their types, and the table of them.
macro_rules! functions {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        /// The type of every function.
        pub mod functions {
            use super::*;
            $(pub type $name = unsafe extern "C" fn($($type),*) $(-> $result)?;)*
        }

        /// Every function.
        pub static FUNCTIONS: &[crate::Function] = &[$(crate::Function {
            name: stringify!($name),
            parameters: &[$((stringify!($parameter), stringify!($type))),*],
        }),*];
    };
}

/// The enumerations of a header: integers, their constants, and the table of them.
macro_rules! enumerations {
    ($(enum $name:ident: $integer:ty { $($constant:ident = $value:literal,)* })*) => {
        $(
            pub type $name = $integer;
            $(pub const $constant: $integer = $value;)*
        )*

        /// Every enumeration.
        pub static ENUMERATIONS: &[crate::Enumeration] = &[$(crate::Enumeration {
            name: stringify!($name),
            constants: &[$(stringify!($constant)),*],
        }),*];
    };
}

// Behind the macros that they are written with.
pub mod cuda;
pub mod cuda_runtime_api;
pub mod cuda_runtime_api_12;
pub mod nvml;
