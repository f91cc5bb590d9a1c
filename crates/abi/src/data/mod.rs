//! Data representation (PTX Writer's Guide to Interoperability, chapter 2): what a C type is, how large, and where its
//! members lie.

pub mod layout;
pub mod picture;
mod record;
pub mod svg;
pub mod types;

pub use layout::{Layout, Place};
pub use record::{Attributes, Kind, Member, Record};
pub use types::{Host, Scalar, Side, Target, Type};
