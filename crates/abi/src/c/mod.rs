//! C declarations, as CUDA headers have them: types, variables and function prototypes.
//!
//! ```text
//! text --prepare--> plain C, attributes by place --lang-c--> syntax tree --declarations--> Types, Records, Functions
//! ```
//!
//! `lang-c` knows C11 and parts of GNU C. What CUDA adds to C (`__align__`, `__global__`, vector types) and attributes,
//! which its tree has no place for everywhere, are taken out of the text first and joined again by their offsets. Nothing
//! is preprocessed but plain constants and `#ifdef`: what needs more is to be given as a compiler's `-E` prints it.

mod constant;
mod declarations;
mod names;
mod prepare;
mod specifiers;
mod tokens;

pub use declarations::{Declarations, Function, Parameter, parse};
pub use names::vectors;
use std::fmt;

/// Why a text cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in bytes.
    pub column: usize,
    /// One sentence, lower case, no full stop.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Problem {}

/// A problem at a byte of a text, before the text is known.
#[derive(Clone, Debug)]
struct Located {
    offset: usize,
    message: String,
}

impl Located {
    fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }

    fn within(self, text: &str) -> Problem {
        let mut offset = self.offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = offset - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        Problem { line, column, message: self.message }
    }
}
