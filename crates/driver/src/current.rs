//! The contexts of each host thread: a stack, the top of which is current.
//!
//! A stack outlives what Rust destroys when a thread ends, as [`thread`](crate::thread) says.

use crate::context::Context;
use crate::error::{Error, Result};
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

thread_local! {
    static STACK: ManuallyDrop<RefCell<Vec<Arc<Context>>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Works on the calling thread's stack of contexts, whose last one is current.
fn with_contexts<T>(work: impl FnOnce(&mut Vec<Arc<Context>>) -> T) -> T {
    STACK.with(|stack| work(&mut stack.borrow_mut()))
}

/// The current context of this thread.
pub fn context() -> Option<Arc<Context>> {
    with_contexts(|stack| stack.last().cloned())
}

/// The current context, which must be usable.
pub fn usable_context() -> Result<Arc<Context>> {
    let context = context().ok_or(Error::InvalidContext)?;
    context.usable()?;
    Ok(context)
}

/// Makes a context current above the present one.
pub fn push(context: Arc<Context>) {
    with_contexts(|stack| stack.push(context));
}

/// Takes the current context off the stack.
pub fn pop() -> Option<Arc<Context>> {
    with_contexts(Vec::pop)
}

/// Puts a context in the place of the current one; `None` only takes that away.
pub fn set(context: Option<Arc<Context>>) {
    with_contexts(|stack| {
        stack.pop();
        stack.extend(context);
    });
}
