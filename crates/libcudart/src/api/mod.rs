//! The functions, a file a chapter of the runtime's manual. The build script makes those that stand in no file.

pub(crate) mod array;
pub(crate) mod device;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod execution;
pub(crate) mod general;
pub(crate) mod graph;
pub(crate) mod memory;
pub(crate) mod occupancy;
pub(crate) mod older;
pub(crate) mod pointer;
pub(crate) mod register;
pub(crate) mod texture;
pub(crate) mod transfer;
