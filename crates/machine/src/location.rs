//! Where an instruction stands, for people.

use crate::fault::Place;
use ptx::module::{FuncId, Module};

/// Where an instruction stands, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The PTX line.
    pub ptx: Option<Place>,
    /// The instruction's text.
    pub text: Option<String>,
    /// The source line, where `.loc` tells it.
    pub source: Option<Place>,
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
            Place { file, line: loc.line, column: loc.column }
        });
        Self {
            ptx: Some(Place { file: module.source.name().to_owned(), line, column }),
            text: Some(module.source.slice(instruction.span).to_owned()),
            source,
        }
    }
}
