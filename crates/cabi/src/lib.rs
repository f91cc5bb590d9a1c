//! What making a C library takes besides its code: build scripts and tools use this, no library does.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`header`] | types and functions of a C header, from the source of a crate that was generated from it |
//! | [`source`] | which functions our own source defines, and how |
//! | [`link`] | a shared library with a name, a version for its symbols, and no other symbols |

pub mod header;
pub mod link;
pub mod source;
