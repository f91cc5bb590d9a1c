//! Waiting for work, and asking whether it is done. None of it may be done to what is captured.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::stream::Stream;
use std::sync::Arc;

impl Context {
    /// Waits for a stream.
    pub fn synchronize_stream(&self, stream: &Arc<Stream>) -> Result<()> {
        self.usable()?;
        self.refuse_capture(stream)?;
        self.streams().settle(stream);
        self.device().process().pools().settle();
        self.usable()
    }

    /// Whether all work of a stream is done.
    pub fn query_stream(&self, stream: &Arc<Stream>) -> Result<()> {
        self.usable()?;
        self.refuse_capture(stream)?;
        if stream.marker().passed() { Ok(()) } else { Err(Error::NotReady) }
    }

    /// Waits for all work of the context.
    pub fn synchronize(&self) -> Result<()> {
        self.usable()?;
        self.nothing_captured()?;
        self.drain()?;
        self.device().process().pools().settle();
        self.usable()
    }
}

impl Event {
    /// Whether all before it is done, as its context allows to ask.
    pub fn query(&self) -> Result<()> {
        let context = self.context()?;
        context.usable()?;
        self.usable()?;
        context.permit_unsafe()?;
        if self.reached() { Ok(()) } else { Err(Error::NotReady) }
    }
}
