//! The linker: one PTX module from several (PTX ISA, "Linking Directives").
//!
//! ```text
//! Source ──Input::new──▶ tree + checked module ─┐
//! Source ──Input::new──▶ tree + checked module ─┼─ header, symbols ──▶ order ──▶ text of one module
//! Source ──Input::new──▶ tree + checked module ─┘
//! ```
//!
//! NVIDIA's tools link machine code; here PTX itself is joined, so that whatever runs PTX runs the result. What is
//! `.visible`, `.weak`, `.common` or `.extern` is one symbol in all modules. What has no linkage belongs to its module,
//! and gets another name where that name is taken. Entries are visible without saying so, since programs find them by
//! name.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `header` | which version, target and address size the whole has |
//! | `symbols` | which definition a name means, and what contradicts what |
//! | `order` | an order in which every variable follows those that its initialiser names |
//! | `text` | writing the result |
//! | [`codes`] | what can be wrong |
//!
//! PTX wants a declaration before each use, and lets functions be declared apart from their definitions but not
//! variables. So the result has declarations of all functions first, then variables in their order, then bodies.
//! Lines (`.loc`, `.file`) stay; DWARF sections, whose offsets count from the beginning of a section, are left out.

pub mod codes;
mod header;
mod order;
mod symbols;
mod text;

pub use codes::explain;
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::module::{Checked, Function, Module, Symbol};
use ptx::source::{Source, Span};
use ptx::{ast, syntax};
use std::collections::HashMap;
use std::sync::Arc;

/// A module to be linked.
#[derive(Debug)]
pub struct Input {
    source: Arc<Source>,
    tree: ast::Module,
    module: Checked<Module>,
    symbols: HashMap<String, Symbol>,
    warnings: Vec<Diagnostic>,
}

impl Input {
    /// Parses and checks a module.
    ///
    /// # Errors
    /// If the module alone is wrong: all that was found.
    pub fn new(source: &Arc<Source>) -> Result<Self, Vec<Diagnostic>> {
        let parsed = syntax::parse(source);
        let compiled = ptx::check(&parsed.module);
        let mut found = compiled.diagnostics;
        let broken = parsed.diagnostics.iter().any(|d| d.severity == Severity::Error);
        found.extend(parsed.diagnostics);
        found.sort_by_key(|d| (d.span.start, d.span.end));
        match compiled.module {
            Some(module) if !broken => {
                let (source, tree, symbols) = (Arc::clone(source), parsed.module, symbols::index(&module));
                Ok(Self { source, tree, module, symbols, warnings: found })
            }
            _ => Err(found),
        }
    }

    /// Its text.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The function called `name`.
    fn function(&self, name: &str) -> Option<&Function> {
        match self.symbols.get(name) {
            Some(Symbol::Function(id)) => Some(&self.module.functions[id.index()]),
            _ => None,
        }
    }

    /// Whether it declares a function without a body that `other` defines.
    pub fn wants_of(&self, other: &Self) -> bool {
        let open = self.module.functions.iter().filter(|function| function.body.is_none());
        open.into_iter().any(|function| other.function(&function.name).is_some_and(|f| f.body.is_some()))
    }

    /// What is suspicious in it.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }
}

/// A place in one of the modules, with a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Which module, by its position.
    pub input: usize,
    /// Where in it.
    pub span: Span,
    /// What is there.
    pub label: String,
}

/// Why modules cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One of [`codes`].
    pub code: &'static str,
    /// One sentence, lower case, no full stop.
    pub message: String,
    /// The offending place, then others that explain it.
    pub places: Vec<SourceLocation>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), places: Vec::new(), hint: None }
    }

    fn at(mut self, input: usize, span: Span, label: impl Into<String>) -> Self {
        self.places.push(SourceLocation { input, span, label: label.into() });
        self
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The text of one module that is all of these. `provided` says which functions the system has: they stay `.extern`.
/// A module alone is not written anew, only looked through for what is undefined.
///
/// # Errors
/// Everything that stands against it.
pub fn link(inputs: &[Input], provided: &dyn Fn(&str) -> bool) -> Result<String, Vec<Problem>> {
    let mut problems = Vec::new();
    if inputs.is_empty() {
        return Err(vec![Problem::new(codes::NOTHING, "nothing to link")]);
    }
    let header = header::join(inputs, &mut problems);
    let resolution = symbols::resolve(inputs, provided, &mut problems);
    let order = order::variables(inputs, &resolution, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    match inputs {
        [alone] => Ok(alone.source.text().to_owned()),
        _ => Ok(text::write(inputs, &header, &resolution, &order)),
    }
}
