//! Code that is put together from several images (`cuLink`).

use crate::error::Error;
use crate::module::{Image, LoadFailure, log};
use link::{Input, Problem};
use machine::Profile;
use ptx::source::Source;
use std::fmt::Write;

/// Images on their way to be one.
#[derive(Debug, Default)]
pub struct Link {
    inputs: Vec<Input>,
}

impl Link {
    /// Adds an image, which messages call by `name`.
    ///
    /// # Errors
    /// If it holds no PTX for the device, or PTX that is wrong.
    pub fn add(&mut self, image: &Image, name: &str, profile: &Profile) -> Result<(), LoadFailure> {
        let name = if name.is_empty() { format!("input {}", self.inputs.len() + 1) } else { name.to_owned() };
        let source = Source::new(name, image.text(profile)?);
        let input =
            Input::new(&source).map_err(|found| LoadFailure::new(Error::InvalidPtx, log(&source, &found)))?;
        self.inputs.push(input);
        Ok(())
    }

    /// What is suspicious in the images.
    pub fn warnings(&self) -> String {
        self.inputs.iter().map(|input| log(input.source(), input.warnings())).collect()
    }

    /// The text of the whole, which [`crate::module::Module::load`] takes.
    ///
    /// # Errors
    /// If symbols are missing, or contradict one another.
    pub fn complete(&self) -> Result<String, LoadFailure> {
        let text = link::link(&self.inputs, &machine::provides).map_err(|problems| {
            let lines: String = problems.iter().map(|problem| self.lines(problem)).collect();
            LoadFailure::new(Error::InvalidPtx, lines)
        })?;
        // A version or target that all have together may forbid what one had alone.
        let source = Source::new("linked PTX", text);
        match ptx::compile(&source).into_result() {
            Ok(_) => Ok(source.text().to_owned()),
            Err(found) => Err(LoadFailure::new(Error::InvalidPtx, log(&source, &found))),
        }
    }

    /// A problem and its places, a line each.
    fn lines(&self, problem: &Problem) -> String {
        let mut text = format!("error {}: {}\n", problem.code, problem.message);
        for place in &problem.places {
            let source = self.inputs[place.input].source();
            let (line, column) = source.line_column(place.span.start);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {}, line {line}, column {column}: {}", source.name(), place.label);
        }
        text
    }
}
