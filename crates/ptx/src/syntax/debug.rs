//! Debugging directives (PTX ISA, "Debugging Directives").

use super::lexer::Tok;
use super::parser::{Failed, Parser, Read};
use crate::ast::{
    File, Initialiser, InitialiserKind, Inlined, ItemKind, Loc, LocId, LocPlace, Section, SectionId,
    SectionLine, Spanned,
};

impl Parser<'_> {
    /// `.file index "name" [, timestamp, size]`.
    pub(super) fn debug_file(&mut self) -> Read<ItemKind> {
        self.advance();
        let index = self.integer("the index of the file")?;
        let name = self.string()?;
        let mut stamp = None;
        if self.eat(Tok::Comma) {
            let time = self.integer("the time stamp of the file")?;
            self.expect(Tok::Comma, "`,` and the size of the file")?;
            let size = self.integer("the size of the file")?;
            stamp = Some((time.value, size.value));
        }
        Ok(ItemKind::File(File { index, name, stamp }))
    }

    /// `.loc file line column [, function_name label[+offset], inlined_at file line column]`.
    pub(super) fn loc(&mut self) -> Read<LocId> {
        self.advance();
        let place = self.loc_place()?;
        let inlined = if self.eat(Tok::Comma) { Some(self.inlined()?) } else { None };
        self.module.locs.push(Loc { place, inlined });
        Ok(LocId(self.module.locs.len() as u32 - 1))
    }

    fn loc_place(&mut self) -> Read<LocPlace> {
        Ok(LocPlace {
            file: self.integer("the index of a file")?,
            line: self.integer("a line")?,
            column: self.integer("a column")?,
        })
    }

    fn inlined(&mut self) -> Read<Inlined> {
        self.keyword("function_name")?;
        let function_name = self.identifier("a label in `.debug_str`")?;
        let offset = self.offset()?;
        self.expect(Tok::Comma, "`,` and `inlined_at`")?;
        self.keyword("inlined_at")?;
        Ok(Inlined { function_name, offset, at: self.loc_place()? })
    }

    fn keyword(&mut self, word: &str) -> Read<()> {
        if self.kind() == Tok::Identifier && self.text() == word {
            self.advance();
            return Ok(());
        }
        self.expected(&format!("`{word}`"))
    }

    /// `.section .name { lines }`.
    pub(super) fn section(&mut self) -> Read<ItemKind> {
        self.advance();
        if self.kind() != Tok::Dot {
            return self.expected("the name of a section, such as `.debug_info`");
        }
        let name = Spanned::new(self.name_here(), self.span());
        self.advance();
        self.expect(Tok::BraceOpen, "`{`")?;
        let mut lines = Vec::new();
        while !matches!(self.kind(), Tok::BraceClose | Tok::End) {
            match self.section_line() {
                Ok(line) => lines.push(line),
                Err(Failed) => self.skip_line(),
            }
        }
        self.expect(Tok::BraceClose, "`}` at the end of the section")?;
        self.module.sections.push(Section { name, lines });
        Ok(ItemKind::Section(SectionId(self.module.sections.len() as u32 - 1)))
    }

    /// Skips a broken line of a section.
    #[cold]
    fn skip_line(&mut self) {
        self.initialisers.clear();
        loop {
            self.advance();
            if self.lexer.at_line_start() || matches!(self.kind(), Tok::BraceClose | Tok::End) {
                return;
            }
        }
    }

    fn section_line(&mut self) -> Read<SectionLine> {
        if self.kind() == Tok::Identifier {
            let name = self.identifier("a label")?;
            self.expect(Tok::Colon, "`:` after the label")?;
            return Ok(SectionLine::Label(name));
        }
        let bits = match self.text() {
            ".b8" => 8,
            ".b16" => 16,
            ".b32" => 32,
            ".b64" => 64,
            _ => return self.expected("`.b8`, `.b16`, `.b32`, `.b64` or a label"),
        };
        self.advance();
        let base = self.initialisers.len();
        loop {
            let value = self.section_value()?;
            self.initialisers.push(value);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok(SectionLine::Data { bits, values: self.pool_initialisers(base) })
    }

    /// An integer, `label`, `label+4`, `.section`, `.section+4` or `label-label`.
    fn section_value(&mut self) -> Read<Initialiser> {
        let start = self.lexer.start;
        let kind = match self.kind() {
            Tok::Number => InitialiserKind::Constant(self.literal()),
            Tok::Identifier | Tok::Dot => {
                let symbol = self.name_here();
                self.advance();
                if self.eat(Tok::Minus) {
                    let right = self.identifier("the label to subtract")?;
                    InitialiserKind::Difference { left: symbol, right: right.value }
                } else {
                    InitialiserKind::Address { symbol, generic: false, offset: self.offset()? }
                }
            }
            _ => InitialiserKind::Constant(self.expression()?),
        };
        Ok(Spanned::new(kind, self.since(start)))
    }
}
