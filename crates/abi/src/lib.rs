//! How C and C++ data and calls stand in PTX (NVIDIA's "PTX Writer's Guide to Interoperability").
//!
//! ```text
//! C declarations --c--> data::Type, Record --layout--> offsets, bits --picture, svg--> drawings
//! ```

pub mod atomics;
pub mod c;
pub mod data;
