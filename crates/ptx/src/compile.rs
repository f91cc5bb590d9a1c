//! From text to a checked module in one call.

use crate::diagnostic::{Diagnostic, Severity};
use crate::module::{Checked, Module};
use crate::source::Source;
use crate::{ast, resolve, syntax};
use std::sync::Arc;

/// What became of a text.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The module, if no diagnostic is an error.
    pub module: Option<Checked<Module>>,
    /// Everything that was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Compiled {
    /// The module with its warnings, or all diagnostics.
    ///
    /// # Errors
    /// If a diagnostic is an error.
    pub fn into_result(self) -> Result<(Checked<Module>, Vec<Diagnostic>), Vec<Diagnostic>> {
        match self.module {
            Some(module) => Ok((module, self.diagnostics)),
            None => Err(self.diagnostics),
        }
    }
}

/// Parses, resolves and checks a PTX file.
pub fn compile(source: &Arc<Source>) -> Compiled {
    let parsed = syntax::parse(source);
    let mut compiled = check(&parsed.module);
    if !parsed.diagnostics.is_empty() {
        compiled.diagnostics.extend(parsed.diagnostics);
        compiled.diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
        compiled.drop_if_wrong();
    }
    compiled
}

/// Resolves and checks a tree. What the parser reported about it is for the caller to add.
pub fn check(module: &ast::Module) -> Compiled {
    let (module, diagnostics) = resolve::resolve(module);
    let mut compiled = Compiled { module: Some(Checked::new(module)), diagnostics };
    compiled.drop_if_wrong();
    compiled
}

impl Compiled {
    fn drop_if_wrong(&mut self) {
        if self.diagnostics.iter().any(|d| d.severity == Severity::Error) {
            self.module = None;
        }
    }
}

/// The explanation of a diagnostic code.
pub fn explain(code: &str) -> Option<&'static str> {
    let catalogues = [syntax::codes::CATALOGUE, resolve::codes::CATALOGUE, crate::check::codes::CATALOGUE];
    catalogues.into_iter().flatten().find(|(known, _)| *known == code).map(|(_, explanation)| *explanation)
}
