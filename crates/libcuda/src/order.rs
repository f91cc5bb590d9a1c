//! What a function looks at before it does anything, in this order: the first that is wrong is the call's error.
//!
//! Functions of the API say it above themselves, `#[order(given(out), initialised, context)]`, where the order is not the one
//! in which their work would come upon a mistake. It was recorded on an H200 (`tests/answers`).
//!
//! | step | what must be | otherwise |
//! | --- | --- | --- |
//! | `initialised` | `cuInit` was called | `NOT_INITIALIZED` |
//! | `given(x)` | `x` is not null | `INVALID_VALUE` |
//! | `needed(x, bytes)` | `x` is not null, if there are any bytes | `INVALID_VALUE` |
//! | `handle(x)` | `x` is not null | `INVALID_HANDLE` |
//! | `context` | there is a current context, and it can be used | `INVALID_CONTEXT`, or what is wrong with it |
//! | `usable` | the current context can be used, if there is one | what is wrong with it |
//! | `without(x)` | the flags `x` are zero: there are none | `INVALID_VALUE` |
//! | `no_capture` | no capture forbids what might wait in secret | `STREAM_CAPTURE_UNSUPPORTED`, and the capture is over |
//! | `not_legacy(x)` | the stream `x` is not the legacy default stream | `INVALID_VALUE` |
//! | `uncaptured(x)` | the stream `x` is not captured | the same |

use crate::pointers::{Array, In, Out, Room};
use crate::state::{current, driver, is_legacy, stream};
use crate::sys;
use driver::{Error, Result, current};

/// What an argument may lack.
pub(crate) trait Given {
    fn is_given(&self) -> bool;
}

impl<T> Given for In<T> {
    fn is_given(&self) -> bool {
        !self.is_null()
    }
}

impl<T> Given for Out<T> {
    fn is_given(&self) -> bool {
        !self.is_null()
    }
}

impl<T> Given for Array<T> {
    fn is_given(&self) -> bool {
        !self.is_null()
    }
}

impl<T> Given for Room<T> {
    fn is_given(&self) -> bool {
        !self.is_null()
    }
}

/// Handles.
impl<T> Given for *mut T {
    fn is_given(&self) -> bool {
        !self.is_null()
    }
}

/// Addresses and handles that are numbers.
impl Given for u64 {
    fn is_given(&self) -> bool {
        *self != 0
    }
}

/// Functions of the program's.
impl<T> Given for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

/// Flags of a function that has none yet.
pub(crate) trait Flags {
    fn are_none(&self) -> bool;
}

impl Flags for u32 {
    fn are_none(&self) -> bool {
        *self == 0
    }
}

impl Flags for u64 {
    fn are_none(&self) -> bool {
        *self == 0
    }
}

pub(crate) fn initialised() -> Result<()> {
    driver().map(drop)
}

pub(crate) fn given(argument: &impl Given) -> Result<()> {
    if argument.is_given() { Ok(()) } else { Err(Error::InvalidValue) }
}

pub(crate) fn needed(argument: &impl Given, bytes: usize) -> Result<()> {
    if bytes == 0 { Ok(()) } else { given(argument) }
}

pub(crate) fn handle(argument: &impl Given) -> Result<()> {
    if argument.is_given() { Ok(()) } else { Err(Error::InvalidHandle) }
}

pub(crate) fn without(flags: &impl Flags) -> Result<()> {
    if flags.are_none() { Ok(()) } else { Err(Error::InvalidValue) }
}

pub(crate) fn context() -> Result<()> {
    current().map(drop)
}

pub(crate) fn usable() -> Result<()> {
    driver()?;
    current::context().map_or(Ok(()), |context| context.usable())
}

pub(crate) fn no_capture() -> Result<()> {
    driver()?.permit_unsafe()
}

pub(crate) fn not_legacy(on: &sys::CUstream) -> Result<()> {
    if is_legacy(*on) { Err(Error::InvalidValue) } else { Ok(()) }
}

pub(crate) fn uncaptured(on: &sys::CUstream) -> Result<()> {
    let (context, stream) = stream(*on)?;
    context.refuse_capture(&stream)
}
