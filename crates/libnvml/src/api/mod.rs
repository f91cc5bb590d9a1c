//! The functions.

pub(crate) mod board;
pub(crate) mod device;
pub(crate) mod sensors;
pub(crate) mod system;
