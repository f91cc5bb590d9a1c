//! From the tree to the resolved module: names become handles, constants become bits, declarations get their layout.
//!
//! One pass over the items, in order, because PTX declares before use; only labels may be used first, and a body's are
//! collected when it begins. Every instruction is handed, with its operands resolved, to [`crate::check`], which picks
//! its form and checks it. Nothing stops at an error: what cannot be resolved becomes an operand that every later
//! check accepts, so that one mistake is reported once.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `scope` | what a name means here |
//! | `header` | `.version`, `.target`, `.address_size` |
//! | `constant` | the bits of a constant as a type |
//! | `variable` | size, alignment and place of a declaration |
//! | `initialiser` | initial bytes and relocations |
//! | `function` | signatures, declarations and definitions, aliases |
//! | `body` | statements: registers, labels, tables, line information |
//! | `operand` | what an operand refers to |
//! | `codes` | the catalogue |

pub(crate) mod body;
pub mod codes;
pub(crate) mod constant;
pub(crate) mod function;
mod header;
mod initialiser;
pub(crate) mod operand;
pub(crate) mod scope;
pub(crate) mod variable;

use crate::ast::{self, ExprId, ItemKind, Name, Names, Spanned};
use crate::check::plan::Plans;
use crate::diagnostic::{Diagnostic, Severity};
use crate::isa::{SpecialRegister, edit_distance};
use crate::module::{FuncId, Module, Prototype, VarId};
use crate::section::Layout;
use crate::source::Span;
use crate::types::{Arch, ArchVariant, Version};
use body::BodyBuilder;
use rustc_hash::FxHashMap;
use scope::{Binding, Found, Scopes};
use std::collections::HashMap;
use std::sync::Arc;

/// Findings worth keeping.
const MOST_FINDINGS: usize = 1000;
/// Unknown names that a similar one is looked for.
const MOST_SUGGESTIONS: usize = 20;
/// Names that are compared with an unknown one.
const MOST_COMPARED: usize = 20_000;

/// The module being resolved, and everything that is known at the present place of it.
pub(crate) struct Resolver<'a> {
    pub(crate) ast: &'a ast::Module,
    pub(crate) names: Names,
    pub(crate) findings: Vec<Diagnostic>,
    pub(crate) module: Module,
    pub(crate) scopes: Scopes,
    pub(crate) body: BodyBuilder,
    pub(crate) plans: Plans,
    /// Uses of unknown names beyond the first, by finding.
    further_uses: FxHashMap<u32, u32>,
    suggestions: usize,
    /// Texture modes.
    options: header::Options,
    /// Bytes of `.const` variables so far.
    constant_bytes: u64,
    /// `.debug_str`, once somebody asks for it.
    strings: Option<Layout>,
    /// The signature of each function.
    pub(crate) signatures: Vec<Prototype>,
    /// Each alias and what it stands for.
    alias_ids: FxHashMap<FuncId, FuncId>,
}

/// Resolves and checks a tree. The module is meaningful only if no finding is an error.
pub(crate) fn resolve(ast: &ast::Module) -> (Module, Vec<Diagnostic>) {
    let mut resolver = Resolver {
        ast,
        names: ast.names.clone(),
        findings: Vec::new(),
        module: Module {
            source: Arc::clone(&ast.source),
            version: Version { major: 9, minor: 0 },
            arch: Arch { sm: 90, variant: ArchVariant::Base },
            address_size: 64,
            names: Names::default(),
            variables: Vec::new(),
            functions: Vec::new(),
            opcodes: Vec::new(),
            files: HashMap::new(),
            aliases: Vec::new(),
        },
        scopes: Scopes::new(ast.names.len()),
        body: BodyBuilder::default(),
        plans: Plans::new(ast.opcodes.len()),
        further_uses: FxHashMap::default(),
        suggestions: 0,
        options: header::Options::default(),
        constant_bytes: 0,
        strings: None,
        signatures: Vec::new(),
        alias_ids: FxHashMap::default(),
    };
    resolver.items();
    resolver.finish()
}

impl<'a> Resolver<'a> {
    fn items(&mut self) {
        let ast = self.ast;
        self.header();
        // Files may be named after their first use.
        for item in &ast.items {
            if let ItemKind::File(file) = &item.value {
                let name = ast.text(file.name.value).to_owned();
                if let Ok(index) = u32::try_from(file.index.value) {
                    self.module.files.insert(index, name);
                }
            }
        }
        for item in &ast.items {
            match &item.value {
                ItemKind::Variable(id) => self.module_variable(*id),
                ItemKind::Function(id) => self.function(*id),
                ItemKind::Alias { name, aliasee } => self.alias(*name, *aliasee),
                ItemKind::Pragma(_)
                | ItemKind::File(_)
                | ItemKind::Section(_)
                | ItemKind::Dwarf(_)
                | ItemKind::Version(_)
                | ItemKind::Target(_)
                | ItemKind::AddressSize(_) => {}
            }
        }
    }

    fn finish(mut self) -> (Module, Vec<Diagnostic>) {
        self.check_defined();
        self.redirect_aliases();
        for (finding, uses) in &self.further_uses {
            let times = if *uses == 1 { "once more".to_owned() } else { format!("{uses} more times") };
            if let Some(diagnostic) = self.findings.get_mut(*finding as usize) {
                diagnostic.label.push_str(&format!(" (and used {times})"));
            }
        }
        self.findings.sort_by_key(|d| (d.span.start, d.span.end));
        self.module.names = self.names;
        (self.module, self.findings)
    }

    /// Keeps a finding and gives its number.
    #[cold]
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) -> u32 {
        let number = self.findings.len() as u32;
        // An error is never dropped for the warnings before it.
        let room = self.findings.len() < MOST_FINDINGS
            || (diagnostic.severity == Severity::Error && self.findings.len() == MOST_FINDINGS);
        if room {
            self.findings.push(diagnostic);
        }
        number
    }

    /// Keeps an error.
    #[cold]
    pub(crate) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    /// The text of a name.
    pub(crate) fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// What a name means here; an unknown one is reported the first time.
    #[inline]
    pub(crate) fn lookup(&mut self, name: Name, span: Span) -> Binding {
        match self.scopes.find(&self.names, name) {
            Found::Binding(Binding::Unbound) => self.special_or_unknown(name, span),
            Found::Binding(Binding::Unknown(finding)) => {
                *self.further_uses.entry(finding).or_default() += 1;
                Binding::Unknown(finding)
            }
            Found::Binding(binding) => binding,
            Found::Member(family) => self.member(name, &family),
        }
    }

    /// What a name means here, if anything, without a report.
    pub(crate) fn lookup_quietly(&mut self, name: Name) -> Binding {
        match self.scopes.find(&self.names, name) {
            Found::Binding(Binding::Unbound) => match SpecialRegister::from_text(self.text(name)) {
                Some(register) => Binding::Special(register),
                None => Binding::Unbound,
            },
            Found::Binding(binding) => binding,
            Found::Member(family) => self.member(name, &family),
        }
    }

    #[cold]
    fn special_or_unknown(&mut self, name: Name, span: Span) -> Binding {
        let text = self.names.text(name);
        if text.starts_with('%')
            && let Some(register) = SpecialRegister::from_text(text)
        {
            self.check_special_gate(register, span);
            self.scopes.bind(name, Binding::Special(register), 0, Span::default());
            return Binding::Special(register);
        }
        let diagnostic = self.unknown(name, span);
        let binding = Binding::Unknown(self.report(diagnostic));
        self.scopes.bind(name, binding, self.scopes.depth().min(1), span);
        binding
    }

    /// The finding for an unknown name, with the nearest name or the reason why it is not a member of a family.
    fn unknown(&mut self, name: Name, span: Span) -> Diagnostic {
        let text = self.names.text(name);
        let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, span, format!("`{text}` is not declared"))
            .label("not declared here");
        for (prefix, _) in scope::split(text) {
            if let Some(family) = self.names.get(prefix).and_then(|prefix| self.scopes.family(prefix)) {
                let members = match family.count {
                    0 => format!("`{prefix}<0>` declares no register"),
                    n => format!("`{prefix}<{n}>` declares `{prefix}0` to `{prefix}{}`", n - 1),
                };
                return diagnostic.related(family.span, members);
            }
        }
        self.suggestions += 1;
        if self.suggestions > MOST_SUGGESTIONS || text.len() > 64 {
            return diagnostic;
        }
        let near = |name: Name| {
            let other = self.names.text(name);
            let furthest = text.len().max(other.len()).div_ceil(4);
            let distance = if text.len().abs_diff(other.len()) <= furthest {
                edit_distance(text.as_bytes(), other.as_bytes())
            } else {
                usize::MAX
            };
            (distance <= furthest).then_some((distance, name))
        };
        let nearest = self.scopes.visible().take(MOST_COMPARED).filter_map(|(name, _)| near(name)).min();
        match nearest {
            Some((_, name)) => diagnostic
                .hint(format!("did you mean `{}`?", self.names.text(name)))
                .related(self.scopes.declared_at(name), "a similar name is declared here"),
            None => diagnostic,
        }
    }

    /// Declares a name in the innermost scope; a second declaration is reported.
    pub(crate) fn declare(&mut self, name: Spanned<Name>, binding: Binding) -> bool {
        match self.scopes.declare(&self.names, name.value, binding, name.span) {
            Ok(()) => true,
            Err(previous) => {
                self.duplicate(name, previous);
                false
            }
        }
    }

    pub(crate) fn duplicate(&mut self, name: Spanned<Name>, previous: Span) {
        let message = format!("`{}` is declared twice", self.text(name.value));
        self.report(
            Diagnostic::error(codes::DUPLICATE_NAME, name.span, message)
                .label("declared again")
                .related(previous, "first declared here"),
        );
    }

    /// The value of an integer constant expression; an error is reported and gives `None`.
    pub(crate) fn integer(&mut self, expr: ExprId) -> Option<i64> {
        match self.ast.evaluate(expr) {
            Ok(constant) => match constant.as_integer() {
                Some(value) => Some(value as i64),
                None => {
                    let span = self.ast[expr].span;
                    self.error(codes::EXPECTED_INTEGER, span, "an integer is needed here");
                    None
                }
            },
            Err(error) => {
                self.constant_error(error);
                None
            }
        }
    }

    /// A variable of the module under construction.
    pub(crate) fn variable(&self, id: VarId) -> &crate::module::Variable {
        &self.module.variables[id.index()]
    }
}
