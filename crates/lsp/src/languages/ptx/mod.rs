//! PTX: everything comes from the instruction table, the tree, the checked module and what `ir` knows of it.

mod complete;
mod facts;
mod fixes;
mod hover;
mod names;

use crate::analysis::{Analysis, Color, Fix, Proposals, Signature};
use crate::config::Hints;
use crate::index::{Index, Kind, Occurrence};
use facts::Facts;
use ptx::ast;
use ptx::diagnostic::{Diagnostic, Severity};
use ptx::isa::SpecialRegister;
use ptx::module::{Body, Checked, FuncId, Instruction, Module};
use ptx::source::{Source, Span};
use ptx::syntax::{Token, TokenKind};
use std::sync::Arc;

/// A PTX text.
pub(crate) struct Ptx {
    source: Arc<Source>,
    tokens: Vec<Token>,
    tree: ast::Module,
    /// Whether the tree is all of the text.
    complete: bool,
    module: Option<Checked<Module>>,
    diagnostics: Vec<Diagnostic>,
    index: Index,
    facts: Facts,
}

impl Ptx {
    /// Looks at a text.
    pub(crate) fn new(source: Arc<Source>) -> Self {
        let tokens = ptx::syntax::tokens(source.text());
        let parsed = ptx::syntax::parse(&source);
        let compiled = ptx::check(&parsed.module);
        let complete = !parsed.diagnostics.iter().any(|d| d.severity == Severity::Error);
        let module = compiled.module.filter(|_| complete);
        let mut diagnostics = compiled.diagnostics;
        diagnostics.extend(parsed.diagnostics);
        diagnostics.sort_by_key(|d| (d.span.start, d.span.end));
        let index = names::index(&parsed.module, &tokens);
        let facts = Facts::new(module.as_ref().map_or(0, |module| module.functions.len()));
        Self { source, tokens, tree: parsed.module, complete, module, diagnostics, index, facts }
    }

    /// The token that an offset is in, or that ends there.
    fn token(&self, offset: u32) -> Option<Token> {
        let behind = self.tokens.partition_point(|token| token.span.start <= offset);
        let all = self.tokens[..behind].iter().rev().take(2);
        all.copied().find(|token| token.span.end >= offset && token.kind != TokenKind::Punctuation)
    }

    /// The functions of the checked module with code within a span.
    fn bodies(&self, within: Span) -> impl Iterator<Item = (&Module, FuncId, &Body)> {
        let module = self.module.as_deref();
        let all = module.into_iter().flat_map(|module| {
            (0..).map(FuncId).zip(&module.functions).map(move |(id, function)| (module, id, function))
        });
        all.filter_map(move |(module, id, function)| {
            let body = function.body.as_ref()?;
            let (first, last) = (body.instructions.first()?, body.instructions.last()?);
            (first.span.start <= within.end && within.start <= last.span.end).then_some((module, id, body))
        })
    }

    /// The checked instruction around an offset.
    fn instruction(&self, offset: u32) -> Option<(&Module, FuncId, u32, &Instruction)> {
        let (module, id, body) = self.bodies(Span::new(offset, offset)).next()?;
        let at = body.instructions.partition_point(|one| one.span.end < offset);
        let one = body.instructions.get(at)?;
        (one.span.start <= offset).then_some((module, id, at as u32, one))
    }

    /// The version and the target that the text has, as far as it says so.
    fn target(&self) -> Option<(ptx::types::Version, ptx::types::Arch)> {
        self.module.as_ref().map(|module| (module.version, module.arch))
    }

    fn color(&self, token: Token, name: Option<&Occurrence>) -> Option<Color> {
        Some(match token.kind {
            TokenKind::Comment => Color::Comment,
            TokenKind::Opcode => Color::Mnemonic,
            TokenKind::Dotted => Color::Directive,
            TokenKind::Number => Color::Number,
            TokenKind::Text => Color::Text,
            TokenKind::Punctuation => return None,
            TokenKind::Name => match name.map(|name| self.index.symbol(name).kind) {
                Some(Kind::Register) => Color::Register,
                Some(Kind::Label | Kind::Prototype | Kind::Section | Kind::Thread) => Color::Label,
                Some(Kind::Kernel | Kind::Function) => Color::Function,
                Some(Kind::Variable) => Color::Variable,
                Some(Kind::Parameter) => Color::Parameter,
                None => {
                    SpecialRegister::from_text(self.source.slice(token.span))?;
                    Color::Special
                }
            },
        })
    }
}

impl Analysis for Ptx {
    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn index(&self) -> &Index {
        &self.index
    }

    fn explain(&self, code: &str) -> Option<&'static str> {
        ptx::explain(code)
    }

    fn hover(&self, offset: u32) -> Option<(Span, String)> {
        hover::hover(self, offset)
    }

    fn complete(&self, offset: u32) -> Proposals {
        complete::complete(self, offset)
    }

    fn signatures(&self, offset: u32) -> (Vec<Signature>, u32) {
        complete::signatures(self, offset)
    }

    fn fixes(&self, diagnostic: &Diagnostic) -> Vec<Fix> {
        fixes::fixes(self, diagnostic)
    }

    fn hints(&self, within: Span, wanted: &Hints) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        for (module, id, body) in self.bodies(within) {
            let facts = self.facts.of(module, id);
            let first = body.instructions.partition_point(|one| one.span.end < within.start);
            let shown = (first..).zip(&body.instructions[first..]);
            for (at, instruction) in shown.take_while(|(_, one)| one.span.start <= within.end) {
                let mut parts = Vec::new();
                if wanted.types {
                    let names =
                        self.index.occurrences.partition_point(|one| one.span.start < instruction.span.start);
                    let here = self.index.occurrences[names..].iter();
                    let here = here.take_while(|one| one.span.start < instruction.span.end && one.written);
                    parts.extend(here.map(|one| {
                        let ty = self.index.symbol(one).detail.trim_start_matches(".reg ").to_owned();
                        format!("{}: {ty}", self.source.slice(one.span))
                    }));
                }
                let Some(facts) = facts else { continue };
                if wanted.shapes {
                    let name = |register: ptx::module::RegId| {
                        module.text(body.registers[register.index()].name).to_owned()
                    };
                    parts.extend(facts.notes(at as u32).iter().map(|note| note.text(name)));
                }
                if wanted.live
                    && let Some(pressure) = facts.pressure.get(at)
                {
                    let predicates = match pressure.predicates {
                        0 => String::new(),
                        number => format!(" + {number}p"),
                    };
                    parts.push(format!("live {}{predicates}", pressure.bits / 32));
                }
                if !parts.is_empty() {
                    found.push((instruction.span.end, parts.join(" · ")));
                }
            }
        }
        found
    }

    fn colors(&self) -> Vec<(Span, Color)> {
        let mut names = self.index.occurrences.iter().peekable();
        let mut found = Vec::with_capacity(self.tokens.len());
        for token in &self.tokens {
            while names.next_if(|name| name.span.start < token.span.start).is_some() {}
            let name = names.peek().copied().filter(|name| name.span == token.span);
            found.extend(self.color(*token, name).map(|color| (token.span, color)));
        }
        found
    }

    fn folds(&self) -> Vec<Span> {
        let mut open = Vec::new();
        let mut found = Vec::new();
        for token in &self.tokens {
            match (token.kind, self.source.slice(token.span)) {
                (TokenKind::Comment, _) => found.push(token.span),
                (TokenKind::Punctuation, "{") => open.push(token.span),
                (TokenKind::Punctuation, "}") => {
                    found.extend(open.pop().map(|from: Span| from.to(token.span)))
                }
                _ => {}
            }
        }
        found
    }

    fn statement(&self, offset: u32) -> Option<Span> {
        let at = self.tree.statements.partition_point(|statement| statement.span.end < offset);
        let statement = self.tree.statements.get(at).filter(|statement| statement.span.start <= offset);
        statement.map(|statement| statement.span)
    }

    fn format(&self) -> Result<String, String> {
        if !self.complete {
            return Err("the text has syntax errors".into());
        }
        let comments = self.tokens.iter().filter(|token| token.kind == TokenKind::Comment).count();
        if comments > 0 {
            return Err(format!("the canonical form has no comments: {comments} would be lost"));
        }
        Ok(ptx::print::print(&self.tree))
    }

    fn renamable(&self, occurrence: &Occurrence, name: Option<&str>) -> Result<(), String> {
        let symbol = self.index.symbol(occurrence);
        if !self.complete {
            return Err("the text has syntax errors, so that not all uses are known".into());
        }
        let Some(name) = name else { return Ok(()) };
        let only_name = match &ptx::syntax::tokens(name)[..] {
            [token] => {
                matches!(token.kind, TokenKind::Name | TokenKind::Opcode)
                    && name != "_"
                    && !name.contains('.')
            }
            _ => false,
        };
        if !only_name {
            return Err(format!("`{name}` is not a name of PTX"));
        }
        if SpecialRegister::from_text(name).is_some() {
            return Err(format!("`{name}` is a special register"));
        }
        let old = self.source.slice(occurrence.span);
        let elsewhere = self.tokens.iter().find(|token| {
            let span = token.span;
            token.kind == TokenKind::Name
                && self.source.slice(span) == old
                && self.index.occurrences.binary_search_by_key(&span.start, |one| one.span.start).is_err()
        });
        if let Some(token) = elsewhere {
            let line = self.source.line_column(token.span.start).0;
            return Err(format!("`{old}` also stands in line {line}, outside of its scope"));
        }
        // A set takes all names that begin so and end in a number.
        let taken = self.index.symbols.iter().find(|other| {
            let overlap = other.scope.start < symbol.scope.end && symbol.scope.start < other.scope.end;
            let numbered = |set: &str, one: &str| {
                one.strip_prefix(set).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
            };
            let same = other.name == name
                || other.count.is_some() && numbered(&other.name, name)
                || symbol.count.is_some() && numbered(name, &other.name);
            overlap && same && *other != symbol
        });
        taken.map_or(Ok(()), |taken| {
            Err(format!("`{name}` is taken: `{}` is declared as `{}`", taken.name, taken.detail))
        })
    }

    fn lenses(&self) -> Vec<(Span, String)> {
        let Some(module) = &self.module else { return Vec::new() };
        let kernels = self.index.symbols.iter().filter(|symbol| symbol.kind == Kind::Kernel);
        kernels
            .filter_map(|symbol| {
                let function = &module.functions[module.function(&symbol.name)?.index()];
                let body = function.body.as_ref()?;
                let number = body.instructions.len();
                let without =
                    body.instructions.iter().filter(|one| module.opcode(one).sem().is_none()).count();
                let missing = match without {
                    0 => String::new(),
                    number => format!(", {number} of them not executed by the machine"),
                };
                let parameters = function.params.len();
                Some((symbol.declared, format!("{parameters} parameters, {number} instructions{missing}")))
            })
            .collect()
    }
}
