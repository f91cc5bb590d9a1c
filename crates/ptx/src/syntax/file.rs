//! The top level of a file (PTX ISA, "PTX Module Directives", "Linking Directives").

use super::Parsed;
use super::codes;
use super::declaration::Linked;
use super::lexer::Tok;
use super::parser::{Failed, Parser, Read};
use crate::ast::{ItemKind, Name, Spanned};
use crate::source::Span;
use crate::types::Version;

impl Parser<'_> {
    /// The whole file.
    pub(super) fn file(mut self) -> Parsed {
        while self.kind() != Tok::End {
            let start = self.lexer.start;
            match self.item() {
                Ok(kind) => {
                    let span = self.since(start);
                    self.module.items.push(Spanned::new(kind, span));
                }
                Err(Failed) => self.skip_item(),
            }
        }
        Parsed { module: self.module, diagnostics: self.lexer.report.finish() }
    }

    /// One item. It takes at least one token unless it fails at one that `skip_item` takes.
    fn item(&mut self) -> Read<ItemKind> {
        match self.kind() {
            Tok::Dot => self.directive(),
            Tok::Dwarf => {
                let text = self.text();
                let words = text.strip_prefix("@@DWARF").unwrap_or(text).trim();
                let name = Spanned::new(self.module.names.intern(words), self.span());
                self.advance();
                Ok(ItemKind::Dwarf(name))
            }
            _ => self.not_an_item(),
        }
    }

    fn directive(&mut self) -> Read<ItemKind> {
        let (text, span) = (self.text(), self.span());
        match text {
            ".version" => {
                self.advance();
                self.version()
            }
            ".target" => {
                self.advance();
                Ok(ItemKind::Target(self.comma_list(|p| p.identifier("a target such as `sm_80`"))?))
            }
            ".address_size" => {
                self.advance();
                Ok(ItemKind::AddressSize(self.integer("32 or 64")?))
            }
            ".alias" => {
                self.advance();
                let name = self.identifier("the name of the alias")?;
                self.expect(Tok::Comma, "`,` and the function that the alias stands for")?;
                let aliasee = self.identifier("the function that the alias stands for")?;
                self.semicolon()?;
                Ok(ItemKind::Alias { name, aliasee })
            }
            ".pragma" => Ok(ItemKind::Pragma(self.pragma()?)),
            ".file" => self.debug_file(),
            ".section" => self.section(),
            ".loc" | ".branchtargets" | ".calltargets" | ".callprototype" => {
                self.advance();
                self.misplaced(text, span, "inside a function")
            }
            _ => match self.linked()? {
                Linked::Variable(id) => Ok(ItemKind::Variable(id)),
                Linked::Function(id) => Ok(ItemKind::Function(id)),
            },
        }
    }

    /// Fails because a directive stands at the wrong level.
    #[cold]
    pub(super) fn misplaced<T>(&mut self, directive: &str, span: Span, place: &str) -> Read<T> {
        self.error(codes::MISPLACED_DIRECTIVE, span, format!("`{directive}` is not allowed here"), |d| {
            d.label(format!("only allowed {place}"))
        });
        Err(Failed)
    }

    #[cold]
    fn not_an_item(&mut self) -> Read<ItemKind> {
        let span = self.span();
        match self.kind() {
            Tok::BraceClose => self.error(codes::STRAY_BRACE, span, "unexpected `}`", |d| {
                d.label("nothing is open that this could close")
            }),
            Tok::Semicolon => self.empty_statement(span),
            Tok::Identifier | Tok::At => {
                let message = format!("expected a directive, found {}", self.found());
                self.error(codes::OUTSIDE_FUNCTION, span, message, |d| {
                    d.label("instructions and labels stand inside functions only")
                });
            }
            _ => return self.expected("a directive"),
        }
        Err(Failed)
    }

    #[cold]
    pub(super) fn empty_statement(&mut self, span: Span) {
        self.error(codes::EMPTY_STATEMENT, span, "empty statement", |d| {
            d.label("nothing stands before this `;`").hint("remove the `;`")
        });
    }

    fn version(&mut self) -> Read<ItemKind> {
        let (text, span) = (self.text(), self.span());
        if self.kind() != Tok::Number {
            return self.expected("a version such as `8.3`");
        }
        self.advance();
        let parts = text.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
        let Some((Ok(major), Ok(minor))) = parts else {
            self.error(codes::MALFORMED_VERSION, span, format!("malformed version `{text}`"), |d| {
                d.label("expected a version such as `8.3`")
            });
            return Err(Failed);
        };
        Ok(ItemKind::Version(Spanned::new(Version { major, minor }, span)))
    }

    /// `.pragma "string", ...;`
    pub(super) fn pragma(&mut self) -> Read<Vec<Spanned<Name>>> {
        self.advance();
        let strings = self.comma_list(Self::string)?;
        self.semicolon()?;
        Ok(strings)
    }
}
