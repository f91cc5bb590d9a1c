//! Where an instruction stands, for people.

use ptx::module::{FuncId, Module};
use std::fmt;

/// A line of a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// File name as the module has it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Where an instruction stands, for people. It is written as lines below a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The PTX line.
    pub ptx: Option<SourceLocation>,
    /// The instruction's text.
    pub text: Option<String>,
    /// The source line, where `.loc` tells it.
    pub source: Option<SourceLocation>,
}

impl Location {
    /// The place of an instruction of a function's body.
    pub fn of(module: &Module, function: FuncId, instruction: u32) -> Self {
        let function = &module.functions[function.index()];
        let Some(body) = &function.body else { return Self::default() };
        let Some(instruction) = body.instructions.get(instruction as usize) else { return Self::default() };
        let (line, column) = module.source.line_column(instruction.span.start);
        let source = instruction.loc.map(|index| {
            let loc = &body.locs[index as usize];
            let file =
                module.files.get(&loc.file).map_or_else(|| format!("file {}", loc.file), String::clone);
            SourceLocation { file, line: loc.line, column: loc.column }
        });
        Self {
            ptx: Some(SourceLocation { file: module.source.name().to_owned(), line, column }),
            text: Some(module.source.slice(instruction.span).to_owned()),
            source,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ptx) = &self.ptx {
            write!(f, "\n  at {ptx}")?;
            if let Some(text) = &self.text {
                write!(f, ": {text}")?;
            }
        }
        match &self.source {
            Some(source) => write!(f, "\n  source {source}"),
            None => Ok(()),
        }
    }
}
