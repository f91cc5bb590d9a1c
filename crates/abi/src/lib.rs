//! How C and C++ data and calls stand in PTX (NVIDIA's "PTX Writer's Guide to Interoperability").
//!
//! ```text
//! C declarations --c--> data::Type, Record --layout--> offsets, bits --picture, svg--> drawings
//!                   └─> c::Function --call--> declarations and sequences in PTX
//! ptx::module::Module --call::fitting--> C types
//!                     --check--> what is against the ABI
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`data`] | sizes, alignments, offsets and bits of C's types (guide, chapter 2) |
//! | [`c`] | C's syntax |
//! | [`call`] | how values are passed (chapter 3) |
//! | [`check`] | what breaks the ABI (chapters 2 to 4, 7) |
//! | [`atomics`] | the instructions of C++ atomics |
//! | [`names`] | C++'s mangled names |

pub mod atomics;
pub mod c;
pub mod call;
pub mod check;
pub mod data;
pub mod names;
