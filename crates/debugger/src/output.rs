//! What the kernel prints: once, however often it is executed.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// A sink for [`machine::output::Output`] that lets through what was not printed before.
#[derive(Clone)]
pub struct Printed(Arc<Mutex<State>>);

struct State {
    sink: Box<dyn Write + Send>,
    /// Bytes printed since the kernel began, in this execution, and the most in any.
    now: u64,
    most: u64,
    muted: bool,
}

impl std::fmt::Debug for Printed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Printed")
    }
}

impl Printed {
    /// Lets text through to a sink.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(State { sink: Box::new(sink), now: 0, most: 0, muted: false })))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the launch prints from now on it has not printed before.
    pub(crate) fn fork(&self) {
        let mut state = self.state();
        state.most = state.now;
    }

    /// Another launch begins, whose text is new.
    pub(crate) fn renew(&self) {
        let mut state = self.state();
        (state.now, state.most, state.muted) = (0, 0, false);
    }

    /// The kernel is executed from a moment on at which it had printed so much.
    pub(crate) fn begin(&self, printed: u64) {
        let mut state = self.state();
        (state.now, state.muted) = (printed, false);
    }

    /// Nothing that it prints from now on counts.
    pub(crate) fn mute(&self) {
        self.state().muted = true;
    }

    /// Bytes printed so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.state().now
    }
}

impl Write for Printed {
    fn write(&mut self, text: &[u8]) -> Result<usize> {
        let mut state = self.state();
        if !state.muted {
            let known = usize::try_from(state.most - state.now.min(state.most)).unwrap_or(usize::MAX);
            state.now += text.len() as u64;
            state.most = state.most.max(state.now);
            let fresh = text.get(known..).unwrap_or_default();
            state.sink.write_all(fresh)?;
            state.sink.flush()?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.state().sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_printed_once() {
        #[derive(Clone, Default)]
        struct Sink(Arc<Mutex<Vec<u8>>>);
        impl Write for Sink {
            fn write(&mut self, bytes: &[u8]) -> Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }
            fn flush(&mut self) -> Result<()> {
                Ok(())
            }
        }
        let sink = Sink::default();
        let mut printed = Printed::new(sink.clone());
        let text = || String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        printed.write_all(b"one ").unwrap();
        let after_one = printed.bytes();
        printed.write_all(b"two ").unwrap();
        printed.mute();
        printed.write_all(b"lost").unwrap();
        printed.begin(after_one);
        printed.write_all(b"two three ").unwrap();
        assert_eq!(text(), "one two three ");
        printed.begin(0);
        printed.write_all(b"one two three four").unwrap();
        assert_eq!(text(), "one two three four");
    }
}
