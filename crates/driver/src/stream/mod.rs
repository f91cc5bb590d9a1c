//! Streams: work in order, each stream on a thread of its own.
//!
//! A stream is a queue and two counters: operations submitted and operations done. A [`Marker`] names a place in that
//! order, so "wait until what is there now is done" is a comparison of numbers. The thread is started with the first
//! operation and sleeps when there is none, after looking for some microseconds: a program that launches one kernel
//! after another then pays no wake-up for each.
//!
//! What an operation does is none of a stream's business: it is an [`Operation`](crate::operation::Operation).
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `queue` | one stream: its order, the threads that run it |
//! | `marker` | places in that order, and how to wait for them |
//! | `streams` | the streams of a context, the rules of the default streams |
//!
//! **Default streams** (CUDA's programming guide, "Default Stream"). The legacy default stream waits for all work of
//! the context's blocking streams, and they wait for it; `Streams` adds those waits when work is submitted. The
//! per-thread default stream is a blocking stream of the host thread. Non-blocking streams take no part.
//!
//! **Kernels that overlap** (programming guide, "Programmatic Dependent Launch"). A kernel that is launched so may begin
//! when the one right before it lets it (`griddepcontrol.launch_dependents`), on a thread of its own. It counts as done
//! after that one, whichever ends first; so what comes behind it, and `griddepcontrol.wait`, need only look at the
//! counters.

mod marker;
mod queue;
mod streams;
#[cfg(test)]
mod tests;

pub use marker::Marker;
pub(crate) use marker::{Point, Wait};
pub use queue::{Kind, Stream};
pub(crate) use streams::Streams;
