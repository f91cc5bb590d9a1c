//! What kernels do wrong without a GPU noticing ([`machine::misuse`]): told once for each kernel and instruction, when
//! the kernel has ended.

use crate::lock;
use machine::Misuse;
use std::collections::HashSet;
use std::sync::Mutex;

/// A kernel, and a line and column of its module's text.
type SourceLocation = (String, String, u32, u32);

/// What the program has been told of.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<HashSet<SourceLocation>>);

impl Warnings {
    /// Whether it is the first of its kernel and instruction.
    pub(crate) fn is_new(&self, misuse: &Misuse) -> bool {
        let ptx = misuse.location.ptx.as_ref();
        let (file, line, column) =
            ptx.map_or((String::new(), 0, 0), |place| (place.file.clone(), place.line, place.column));
        lock(&self.0).insert((misuse.kernel.clone(), file, line, column))
    }
}
