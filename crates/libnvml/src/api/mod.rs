//! The functions.

pub(crate) mod device;
pub(crate) mod system;
