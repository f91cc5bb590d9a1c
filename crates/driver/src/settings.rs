//! What a program may want otherwise than usual.

use crate::check::Checking;
use crate::debug::Debugging;
use machine::compiled::Engine;
use machine::memory::Bounds;
use machine::{Asynchrony, Masks, Profile};
use std::fmt::Display;
use std::sync::Arc;

/// Told of every kernel that stopped with a fault, of those that cannot be run at all, and of what they do that a GPU would
/// not have noticed.
pub type Report = dyn Fn(&dyn Display) + Send + Sync;

/// An attribute of the device with this profile and ordinal, numbered as `cudaDeviceAttr` numbers them.
pub type AttributeOf = fn(&Profile, usize, u32) -> Option<i32>;

/// Told of a text.
pub type ToldText = dyn Fn(&str) + Send + Sync;

/// Whether kernels run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// They do.
    #[default]
    Full,
    /// Launches are checked and keep their order, but nothing is executed: a test of a program that passes all the same
    /// does not test the execution.
    Skipped,
}

/// What a program may want otherwise.
#[derive(Clone, Default)]
pub struct Settings {
    /// Whether kernels run.
    pub execution: Execution,
    /// The most bytes of global memory that each device may have.
    pub memory_limit: Option<u64>,
    /// Who watches kernels, if somebody does.
    pub checking: Option<Arc<Checking>>,
    /// Who debugs launches, if somebody does.
    pub debugging: Option<Arc<dyn Debugging>>,
    /// Told of the text of every module that is loaded.
    pub loaded: Option<Arc<ToldText>>,
    /// Where memory ends for kernels.
    pub bounds: Bounds,
    /// What is done with lanes that execute a `.sync` operation whose member mask leaves them out.
    pub masks: Masks,
    /// When asynchronous operations of kernels are done.
    pub asynchrony: Asynchrony,
    /// What compiles kernels; `None` if all are interpreted.
    pub engine: Option<Arc<dyn Engine>>,
    /// The attributes of devices, for kernels that ask.
    pub attribute: Option<AttributeOf>,
}
