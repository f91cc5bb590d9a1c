//! The functions, a file a chapter of the driver's manual. What the functions of a file are called is what their
//! manual calls them; the build script makes those that stand in no file.

pub(crate) mod array;
pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod execution;
pub(crate) mod general;
pub(crate) mod jit;
pub(crate) mod library;
pub(crate) mod managed;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod occupancy;
pub(crate) mod pointer;
pub(crate) mod profiler;
pub(crate) mod reference;
pub(crate) mod stream;
pub(crate) mod texture;
pub(crate) mod transfer;

pub(crate) use array::*;
pub(crate) use context::*;
pub(crate) use device::*;
pub(crate) use event::*;
pub(crate) use execution::*;
pub(crate) use general::*;
pub(crate) use library::*;
pub(crate) use managed::*;
pub(crate) use memory::*;
pub(crate) use module::*;
pub(crate) use occupancy::*;
pub(crate) use pointer::*;
pub(crate) use profiler::*;
pub(crate) use reference::*;
pub(crate) use stream::*;
pub(crate) use texture::*;
pub(crate) use transfer::*;
