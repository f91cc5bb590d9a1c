//! Modules from text.

use ptx::module::{Checked, Module};
use ptx::source::Source;

/// Compiles a file that has nothing wrong.
pub(crate) fn compile(name: &str, text: &str) -> Checked<Module> {
    let source = Source::new(name, text);
    match ptx::compile(&source).into_result() {
        Ok((module, _)) => module,
        Err(diagnostics) => {
            let lines: Vec<String> = diagnostics
                .iter()
                .map(|d| format!("{name}:{}: {} {}", source.line_column(d.span.start).0, d.code, d.message))
                .collect();
            panic!("{}\n{text}", lines.join("\n"));
        }
    }
}

/// A module with one function of that text.
pub(crate) fn module(function: &str) -> Checked<Module> {
    compile("test.ptx", &format!(".version 8.3\n.target sm_80\n.address_size 64\n{function}"))
}
