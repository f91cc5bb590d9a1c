//! What making a C library takes besides its code: build scripts and tools use this, no library does.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`source`] | lists of symbols, and which of them our own source defines |
//! | [`libraries`] | the table of our libraries; building them and putting them together |
//! | [`link`] | a shared library with a name, a version for its symbols, and no other symbols |

pub mod libraries;
pub mod link;
pub mod source;
