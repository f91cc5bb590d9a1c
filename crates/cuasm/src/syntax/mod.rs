//! Text to statements: a line is a label, a directive or an instruction.
//!
//! The parser takes any text, reports what it cannot read and goes on with the next line. Names are bytes, as in ELF
//! files; here each byte is a character of the same number, so that any name can be written, in quotes if need be.

mod expression;
mod line;
mod words;

pub(crate) use line::{instruction, parse};
pub(crate) use words::{quoted, text as string};

use ptx::source::Span;
use sass::Control;

/// A directive's argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    pub(crate) expression: Expression,
    pub(crate) span: Span,
}

/// A value as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// `0x10`, `-3`.
    Number(i128),
    /// A symbol, a label, a section, or a word such as `auto`.
    Name(String),
    /// `"text"`; also a name that needs quotes.
    Text(String),
    /// `@progbits`, `@"SHT_CUDA_INFO"`.
    At(String),
    /// Terms, each with whether it is subtracted.
    Sum(Vec<(bool, Expression)>),
    /// `index@(name)`, `32@lo(name + 4)`: what comes before the parenthesis, and what is in it.
    Function(String, Box<Expression>),
}

impl Expression {
    /// The name that this is.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) | Self::Text(name) => Some(name),
            _ => None,
        }
    }
}

/// An instruction's text, with places in it that only the assembler knows the values of.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) control: Control,
    pub(crate) control_span: Span,
    /// From the guard to the semicolon, without it.
    pub(crate) text: String,
    /// Where the text stands.
    pub(crate) span: Span,
    /// Operands that are labels or relocations.
    pub(crate) holes: Vec<Hole>,
    /// The whole word except for its control code, in place of a text.
    pub(crate) raw: Option<u128>,
}

/// An operand that is written as a label or a relocation: `` `(label) ``, `32@lo(symbol)`.
#[derive(Clone, Debug)]
pub(crate) struct Hole {
    /// The bytes of the instruction's text that it takes.
    pub(crate) at: std::ops::Range<usize>,
    pub(crate) expression: Expression,
    pub(crate) span: Span,
}

/// What a line says.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// `name:`
    Label(String),
    /// `.name argument, argument`
    Directive {
        /// With its full stop.
        name: String,
        arguments: Vec<Argument>,
    },
    /// `[B------:R-:W-:-:S01] NOP ;`
    Instruction(Box<Instruction>),
}

/// A statement with its place: for a directive the directive's name.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) statement: Statement,
    pub(crate) span: Span,
}
