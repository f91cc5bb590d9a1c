//! The samples.

use debug_info::{DebugInfo, Scope, ScopeId, Variable};
use ptx::module::{Checked, FuncId, Module};
use ptx::source::Source;
use std::path::PathBuf;

/// A sample's module and its debug information.
pub(crate) struct Sample {
    pub(crate) module: Checked<Module>,
    pub(crate) info: DebugInfo,
}

impl Sample {
    pub(crate) fn read(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name);
        let text = std::fs::read_to_string(&path).expect("the sample is there");
        let compiled = ptx::compile(&Source::new(name, text));
        let module = compiled.module.unwrap_or_else(|| panic!("{name}: {:?}", compiled.diagnostics));
        let info = DebugInfo::new(&module);
        Self { module, info }
    }

    pub(crate) fn function(&self, name: &str) -> FuncId {
        self.module.function(name).unwrap_or_else(|| panic!("{name}"))
    }

    /// The first instruction of a function whose text begins so, from some number on.
    pub(crate) fn instruction(&self, function: FuncId, text: &str, from: u32) -> u32 {
        let body = self.module.functions[function.index()].body.as_ref().expect("a body");
        let found = body.instructions.iter().enumerate().skip(from as usize).find(|(_, instruction)| {
            let words: Vec<_> = self.module.source.slice(instruction.span).split_whitespace().collect();
            words.join(" ").starts_with(text)
        });
        found.unwrap_or_else(|| panic!("no {text}")).0 as u32
    }

    /// A variable in sight at an instruction.
    pub(crate) fn variable(&self, function: FuncId, at: u32, name: &str) -> (ScopeId, &Scope, &Variable) {
        let scopes = self.info.scopes_at(function, at);
        let found = scopes.iter().find_map(|&id| {
            let scope = self.info.scope(id);
            Some((id, scope, scope.variables.iter().find(|variable| variable.name == name)?))
        });
        found.unwrap_or_else(|| panic!("{name} is not in sight"))
    }

    /// Where it is there, as text.
    pub(crate) fn place(&self, function: FuncId, at: u32, name: &str) -> String {
        let (id, _, variable) = self.variable(function, at, name);
        let pc = self.info.addresses.of(function, at).expect("a place");
        self.info.location_text(&self.module, &self.info.location(id, variable, pc))
    }

    /// Its type, as text.
    pub(crate) fn ty(&self, function: FuncId, at: u32, name: &str) -> String {
        self.info.type_name(self.variable(function, at, name).2.ty)
    }
}
