//! Variables and parameters (PTX ISA, "Variables").

use super::codes;
use super::lexer::Tok;
use super::parser::{Failed, Parser, Read};
use crate::ast::{
    Attribute, Declarator, DeclaratorList, Dimension, DimensionList, ExprId, FunctionId, FunctionKind,
    Linkage, Pointer, Space, Spanned, Variable, VariableId, VariableList,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::types::ScalarType;

/// What may follow a linkage directive.
pub(super) enum Linked {
    Variable(VariableId),
    Function(FunctionId),
}

/// The part of a declaration before the names, as far as it has been read.
#[derive(Default)]
struct Specifiers {
    space: Option<Spanned<Space>>,
    align: Option<ExprId>,
    attributes: Vec<Spanned<Attribute>>,
    vector: Option<Spanned<u8>>,
    ty: Option<Spanned<ScalarType>>,
    pointer: Option<Spanned<Pointer>>,
}

/// The directive of a linkage.
pub(super) fn linkage(text: &str) -> Option<Linkage> {
    Some(match text {
        ".visible" => Linkage::Visible,
        ".extern" => Linkage::Extern,
        ".weak" => Linkage::Weak,
        ".common" => Linkage::Common,
        _ => return None,
    })
}

fn space(text: &str) -> Option<Space> {
    Some(match text {
        ".reg" => Space::Reg,
        ".param" => Space::Param,
        ".shared" => Space::Shared,
        ".global" => Space::Global,
        ".local" => Space::Local,
        ".const" => Space::Const { bank: None },
        ".tex" => Space::Tex,
        ".sreg" => Space::Sreg,
        _ => return None,
    })
}

fn vector(text: &str) -> Option<u8> {
    match text {
        ".v2" => Some(2),
        ".v4" => Some(4),
        ".v8" => Some(8),
        _ => None,
    }
}

/// Whether a declaration can begin with this.
pub(super) fn begins_declaration(text: &str) -> bool {
    matches!(text, ".align" | ".attribute")
        || space(text).is_some()
        || linkage(text).is_some()
        || vector(text).is_some()
        || ScalarType::from_name(&text[1..]).is_some()
}

impl Parser<'_> {
    /// A variable or a function with its linkage.
    pub(super) fn linked(&mut self) -> Read<Linked> {
        let linkage = self.linkage();
        let kind = match self.text() {
            ".entry" => FunctionKind::Entry,
            ".func" => FunctionKind::Func,
            _ => return Ok(Linked::Variable(self.declaration(linkage)?)),
        };
        let kind = Spanned::new(kind, self.span());
        self.advance();
        Ok(Linked::Function(self.function(linkage, kind)?))
    }

    /// An optional linkage directive. Its span is empty if there is none.
    pub(super) fn linkage(&mut self) -> Spanned<Linkage> {
        let here = Span::new(self.lexer.start, self.lexer.start);
        let mut found = Spanned::new(Linkage::Internal, here);
        while self.kind() == Tok::Dot {
            let Some(value) = linkage(self.text()) else { break };
            let next = Spanned::new(value, self.span());
            if found.value == Linkage::Internal {
                found = next;
            } else {
                self.duplicate("linkage", next.span, Some(found.span));
            }
            self.advance();
        }
        found
    }

    #[cold]
    fn duplicate(&mut self, what: &str, span: Span, first: Option<Span>) {
        self.error(codes::DUPLICATE_SPECIFIER, span, format!("{what} is given twice"), |d| {
            let d = d.label("the second time");
            match first {
                Some(first) => d.related(first, "the first time"),
                None => d,
            }
        });
    }

    /// A variable declaration with its semicolon; its linkage has been read.
    pub(super) fn declaration(&mut self, linkage: Spanned<Linkage>) -> Read<VariableId> {
        let specifiers = self.specifiers()?;
        let start = self.module.declarators.len() as u32;
        loop {
            let declarator = self.declarator()?;
            self.module.declarators.push(declarator);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.semicolon()?;
        let declarators = DeclaratorList { start, end: self.module.declarators.len() as u32 };
        Ok(self.variable(linkage, specifiers, declarators))
    }

    /// Puts a declaration with complete specifiers into the pool.
    fn variable(
        &mut self,
        linkage: Spanned<Linkage>,
        specifiers: (Spanned<Space>, Spanned<ScalarType>, Specifiers),
        declarators: DeclaratorList,
    ) -> VariableId {
        let (space, ty, rest) = specifiers;
        let Specifiers { align, attributes, vector, pointer, .. } = rest;
        let variable = Variable { linkage, space, align, attributes, vector, ty, pointer, declarators };
        self.module.variables.push(variable);
        VariableId(self.module.variables.len() as u32 - 1)
    }

    /// `( parameter, ... )`, if there is one.
    pub(super) fn parameters(&mut self) -> Read<VariableList> {
        let start = self.module.variables.len() as u32;
        if self.eat(Tok::ParenOpen) && !self.eat(Tok::ParenClose) {
            loop {
                self.parameter()?;
                if !self.eat(Tok::Comma) {
                    break;
                }
                if self.kind() == Tok::ParenClose {
                    self.trailing_comma();
                    break;
                }
            }
            self.expect(Tok::ParenClose, "`)` or `,`")?;
        }
        Ok(VariableList { start, end: self.module.variables.len() as u32 })
    }

    #[cold]
    pub(super) fn trailing_comma(&mut self) {
        let span = Span::new(self.previous_end - 1, self.previous_end);
        self.error(codes::TRAILING_COMMA, span, "nothing follows the comma", |d| {
            d.label("the last comma").hint("remove the comma")
        });
    }

    fn parameter(&mut self) -> Read<()> {
        let linkage = Spanned::new(Linkage::Internal, Span::new(self.lexer.start, self.lexer.start));
        let specifiers = self.specifiers()?;
        let start = self.module.declarators.len() as u32;
        let declarator = if self.kind() == Tok::Underscore {
            self.advance();
            let dimensions = self.dimensions()?;
            Declarator { name: None, count: None, dimensions, initialiser: None }
        } else {
            let name = Some(self.identifier("the name of the parameter, or `_`")?);
            let dimensions = self.dimensions()?;
            Declarator { name, count: None, dimensions, initialiser: None }
        };
        self.module.declarators.push(declarator);
        self.variable(linkage, specifiers, DeclaratorList { start, end: start + 1 });
        Ok(())
    }

    /// State space, alignment, attributes, vector size and type, which comes last.
    fn specifiers(&mut self) -> Read<(Spanned<Space>, Spanned<ScalarType>, Specifiers)> {
        let start = self.lexer.start;
        let mut found = Specifiers::default();
        while self.kind() == Tok::Dot {
            self.specifier(&mut found)?;
        }
        match (found.space, found.ty) {
            (Some(space), Some(ty)) => Ok((space, ty, found)),
            (space, _) => {
                let what = if space.is_none() { "a state space" } else { "a type" };
                let example = if space.is_none() { ".reg`, `.global" } else { ".b32`, `.f64" };
                // A declaration may also fail before its first specifier.
                let place = if self.previous_end > start { self.since(start) } else { self.span() };
                self.error(codes::MISSING_SPECIFIER, place, format!("the declaration lacks {what}"), |d| {
                    d.label(format!("expected {what} such as `{example}`"))
                });
                Err(Failed)
            }
        }
    }

    fn specifier(&mut self, found: &mut Specifiers) -> Read<()> {
        let (text, span) = (self.text(), self.span());
        if let Some(ty) = ScalarType::from_name(&text[1..]) {
            self.advance();
            if let Some(first) = found.ty {
                self.duplicate("the type", span, Some(first.span));
            }
            found.ty = Some(Spanned::new(ty, span));
            return Ok(());
        }
        if found.ty.is_some() && text != ".ptr" {
            self.misordered(text, span);
        }
        if let Some(space) = space(text) {
            self.advance();
            if let Some(first) = found.space {
                self.duplicate("the state space", span, Some(first.span));
            }
            let space = if text == ".const" { Space::Const { bank: self.bank()? } } else { space };
            found.space = Some(Spanned::new(space, self.since(span.start)));
            return Ok(());
        }
        if let Some(lanes) = vector(text) {
            self.advance();
            if let Some(first) = found.vector {
                self.duplicate("the vector size", span, Some(first.span));
            }
            found.vector = Some(Spanned::new(lanes, span));
            return Ok(());
        }
        match text {
            ".align" => {
                self.advance();
                if found.align.is_some() {
                    self.duplicate("the alignment", span, None);
                }
                found.align = Some(self.literal_only("the alignment in bytes")?);
            }
            ".attribute" => found.attributes.extend(self.attributes()?),
            ".ptr" => {
                self.advance();
                if let Some(first) = found.pointer {
                    self.duplicate("`.ptr`", span, Some(first.span));
                }
                found.pointer = Some(self.pointer(span)?);
            }
            _ if linkage(text).is_some() => {
                self.advance();
                let message = format!("`{text}` must come first");
                self.error(codes::MISORDERED_SPECIFIER, span, message, |d| {
                    d.label("linkage stands before the state space")
                });
            }
            _ => return self.unknown_directive("a state space or a type such as `.b32`"),
        }
        Ok(())
    }

    #[cold]
    fn misordered(&mut self, text: &str, span: Span) {
        self.error(codes::MISORDERED_SPECIFIER, span, format!("`{text}` must come before the type"), |d| {
            d.label("after the type").hint("the order is: state space, alignment, vector size, type, name")
        });
    }

    /// Fails at a directive that is none.
    #[cold]
    pub(super) fn unknown_directive<T>(&mut self, what: &str) -> Read<T> {
        let (text, span) = (self.text(), self.span());
        let message = format!("unknown directive `{}`", super::lexer::Excerpt(text));
        self.error(codes::UNKNOWN_DIRECTIVE, span, message, |d: Diagnostic| {
            d.label(format!("expected {what}"))
        });
        self.advance();
        Err(Failed)
    }

    /// `[2]` after `.const`.
    fn bank(&mut self) -> Read<Option<u32>> {
        if !self.eat(Tok::BracketOpen) {
            return Ok(None);
        }
        let bank = self.integer("the number of a constant bank")?;
        self.expect(Tok::BracketClose, "`]`")?;
        match u32::try_from(bank.value) {
            Ok(bank) => Ok(Some(bank)),
            Err(_) => {
                self.error(codes::NUMBER_OUT_OF_RANGE, bank.span, "no such constant bank", |d| {
                    d.label("banks are 0 to 10")
                });
                Ok(None)
            }
        }
    }

    /// The rest of `.ptr .space .align N`.
    fn pointer(&mut self, at: Span) -> Read<Spanned<Pointer>> {
        let mut pointer = Pointer { space: None, align: None };
        if self.kind() == Tok::Dot
            && let Some(space) = space(self.text())
        {
            pointer.space = Some(Spanned::new(space, self.span()));
            self.advance();
        }
        if self.kind() == Tok::Dot && self.text() == ".align" {
            self.advance();
            pointer.align = Some(self.literal_only("the alignment in bytes")?);
        }
        Ok(Spanned::new(pointer, self.since(at.start)))
    }

    /// `.attribute(.managed, .unified(1, 2))`.
    pub(super) fn attributes(&mut self) -> Read<Vec<Spanned<Attribute>>> {
        self.advance();
        self.expect(Tok::ParenOpen, "`(` and attributes")?;
        let attributes = self.comma_list(Self::attribute)?;
        self.expect(Tok::ParenClose, "`)` or `,`")?;
        Ok(attributes)
    }

    fn attribute(&mut self) -> Read<Spanned<Attribute>> {
        let (text, span) = (self.text(), self.span());
        match (self.kind(), text) {
            (Tok::Dot, ".managed") => {
                self.advance();
                Ok(Spanned::new(Attribute::Managed, span))
            }
            (Tok::Dot, ".unified") => {
                self.advance();
                self.expect(Tok::ParenOpen, "`(` and two numbers")?;
                let upper = self.integer("the upper 64 bits")?;
                self.expect(Tok::Comma, "`,` and the lower 64 bits")?;
                let lower = self.integer("the lower 64 bits")?;
                self.expect(Tok::ParenClose, "`)`")?;
                Ok(Spanned::new(Attribute::Unified(upper.value, lower.value), self.since(span.start)))
            }
            _ => self.fail(codes::UNKNOWN_ATTRIBUTE, "`.managed` or `.unified(upper, lower)`"),
        }
    }

    /// `name`, `name<100>`, `name[4][8]`, each perhaps with an initialiser.
    fn declarator(&mut self) -> Read<Declarator> {
        let name = Some(self.identifier("the name of the variable")?);
        let count = self.count()?;
        let dimensions = self.dimensions()?;
        let initialiser = if self.eat(Tok::Equal) { Some(self.initialiser_of_variable()?) } else { None };
        Ok(Declarator { name, count, dimensions, initialiser })
    }

    /// `<100>` of a parameterised name, if there is one.
    pub(super) fn count(&mut self) -> Read<Option<ExprId>> {
        if !self.eat(Tok::Less) {
            return Ok(None);
        }
        let count = self.literal_only("how many names there are")?;
        self.expect(Tok::Greater, "`>`")?;
        Ok(Some(count))
    }

    fn dimensions(&mut self) -> Read<DimensionList> {
        let start = self.module.dimensions.len() as u32;
        while self.kind() == Tok::BracketOpen {
            let at = self.lexer.start;
            self.advance();
            let size = if self.kind() == Tok::BracketClose { None } else { Some(self.expression()?) };
            self.expect(Tok::BracketClose, "`]` after the size of the array")?;
            let dimension: Dimension = Spanned::new(size, self.since(at));
            self.module.dimensions.push(dimension);
        }
        Ok(DimensionList { start, end: self.module.dimensions.len() as u32 })
    }
}
