//! From text to syntax tree: lexer and parser (PTX ISA, "Syntax").
//!
//! [`parse`] accepts any text. What it cannot make sense of it reports and skips, up to the next `;`, `}` or directive,
//! so one run finds all errors; what is left is a well-formed tree of the rest. Time and memory are linear in the
//! text, and recursion is bounded by [`DEPTH_LIMIT`].
//!
//! | file | what it reads |
//! | --- | --- |
//! | `lexer` | tokens |
//! | `parser` | the machinery: looking, expecting, failing, going on after an error |
//! | `file` | the top level: `.version`, `.target`, `.pragma`, `.alias` ... |
//! | `declaration` | variables, parameters |
//! | `initialiser` | what follows a variable's `=` |
//! | `function` | `.entry` and `.func` with their directives |
//! | `body` | statements |
//! | `operand` | operands of instructions |
//! | `expression` | constant expressions |
//! | `debug` | `.file`, `.loc`, `.section` |
//! | `tokens` | the tokens alone, with the comments, for editors |
//! | `codes` | the catalogue of diagnostics |

mod body;
pub mod codes;
mod debug;
mod declaration;
mod expression;
mod file;
mod function;
mod initialiser;
mod lexer;
mod operand;
mod parser;
mod report;
mod tokens;

pub use tokens::{Token, TokenKind, tokens};

use crate::ast::Module;
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};
use std::sync::Arc;

/// How deep blocks, braces, brackets and constant expressions may nest.
pub const DEPTH_LIMIT: u32 = 200;

/// What [`parse`] makes of a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What could be read.
    pub module: Module,
    /// What could not, in the order of the text. If any is an error, parts of the text are missing in the module.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a PTX file.
pub fn parse(source: &Arc<Source>) -> Parsed {
    if u32::try_from(source.text().len()).is_err() {
        let error = Diagnostic::error(codes::SOURCE_TOO_LARGE, Span::default(), "the source is too large")
            .label("PTX files are limited to 4 GiB");
        return Parsed { module: Module::empty(Arc::clone(source)), diagnostics: vec![error] };
    }
    parser::Parser::new(source).file()
}
