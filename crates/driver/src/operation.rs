//! What a stream runs, whatever it is. Each kind of work says in its own file how it is done.

use crate::health::Health;
use machine::Neighbours;

/// Something to be done at its place in a stream's order. What is to be done later than it waits until it has been run.
pub trait Operation: Send {
    /// What traces call it.
    fn name(&self) -> &'static str;

    /// Whether it may begin before the operation before it has ended, if that lets it.
    fn overlaps(&self) -> bool {
        false
    }

    /// Whether it does nothing but note what is known to what comes behind it: it orders no work.
    fn only_notes(&self) -> bool {
        false
    }

    /// Whether it must be left to the stream's own thread, also when a thread of the program waits for it: the program's
    /// functions may need what the waiting thread holds.
    fn needs_own_thread(&self) -> bool {
        false
    }

    /// Whether it happens in a context that has failed, too, because others wait for it.
    fn happens_always(&self) -> bool {
        false
    }

    /// Runs it to its end; `neighbours` are those in its stream, if it is run by one.
    fn run(self: Box<Self>, health: &Health, neighbours: Option<Neighbours<'_>>);
}

impl dyn Operation {
    /// Runs it, unless it is to be left out because the context has failed.
    pub(crate) fn carry_out(self: Box<Self>, health: &Health, neighbours: Option<Neighbours<'_>>) {
        if self.happens_always() || health.error().is_none() {
            self.run(health, neighbours);
        }
    }
}

impl std::fmt::Debug for dyn Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
