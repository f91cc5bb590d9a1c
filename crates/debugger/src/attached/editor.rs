//! An adapter at the end of a stream: see [`crate::dap`].

use super::Talk;
use crate::dap::{Adapter, Attachment, Inbox};
use crate::{Console, Sources};
use std::io::{BufRead, Result, Write};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module.
pub(super) struct Editor<S: Sources> {
    inbox: Inbox,
    adapter: Adapter<Attachment<S>>,
}

impl<S: Sources> Editor<S> {
    pub(super) fn new(
        from: impl BufRead + Send + 'static,
        to: impl Write + Send + 'static,
        (interrupt, alone): (Arc<AtomicBool>, Arc<AtomicBool>),
    ) -> Result<Self> {
        let inbox = Inbox::open(from, move || alone.store(true, Ordering::Relaxed))?;
        inbox.interrupt.set(interrupt);
        let adapter = Adapter::new(to, Attachment(PhantomData), inbox.interrupt.clone());
        Ok(Self { inbox, adapter })
    }
}

impl<S: Sources + Send> Talk<S> for Editor<S> {
    fn talk(&mut self, console: Console<S>, number: u64, about: &str) -> Option<Console<S>> {
        self.adapter.attach(console);
        // Who does not listen any more says nothing either.
        let mut open = number == 1 || self.adapter.begin_next(number, about).is_ok();
        while open && !self.adapter.is_done_with() {
            open = match self.inbox.next() {
                Some(message) => self.adapter.handle(message).unwrap_or(false),
                None => false,
            };
        }
        self.adapter.detach()
    }
}
