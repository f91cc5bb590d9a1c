//! What device code prints.

use std::io::Write;
use std::sync::Mutex;

/// The sink of `vprintf`, shared by all threads of a launch.
pub struct Output {
    sink: Mutex<Box<dyn Write + Send>>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}

impl Output {
    /// Everything printed goes to `sink`.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self { sink: Mutex::new(Box::new(sink)) }
    }

    /// Writes the text of one `printf`, unmixed with that of others.
    pub fn write(&self, text: &[u8]) {
        let mut sink = self.sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A sink that refuses loses output, as a full FIFO does on a device; it does not stop the kernel.
        let _ = sink.write_all(text);
    }
}

impl Default for Output {
    /// Prints to the process's standard output.
    fn default() -> Self {
        Self::new(std::io::stdout())
    }
}
