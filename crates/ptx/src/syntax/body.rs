//! Statements (PTX ISA, "Statements", "Control Flow Directives").
//!
//! Nested blocks are read by the same loop as the body that they are in: no recursion.

use super::DEPTH_LIMIT;
use super::codes;
use super::declaration::{begins_declaration, linkage};
use super::lexer::{Excerpt, Tok};
use super::parser::{Failed, Parser, Read};
use crate::ast::{
    Body, Guard, Instruction, Name, OpcodeId, OpcodeText, Prototype, PrototypeId, Spanned, StatementKind,
    StatementList, Target, TargetKind, TargetList, TargetListId,
};
use crate::isa;
use crate::source::Span;

/// The longest opcode text that is worth looking up: several times the longest that exists.
const LONGEST_OPCODE: usize = 256;

impl Parser<'_> {
    /// `{ statements }`. What is wrong inside is reported and left out.
    pub(super) fn body(&mut self) -> Body {
        let open = self.span();
        self.advance();
        let start = self.module.statements.len() as u32;
        let mut blocks = Vec::new();
        let closed = self.statements(&mut blocks);
        if !closed {
            let place = blocks.last().copied().unwrap_or(open);
            self.error(codes::UNCLOSED_BLOCK, place, "this `{` is never closed", |d| {
                d.label("no `}` for this").hint("add `}`")
            });
            for _ in &blocks {
                let end = Span::new(self.previous_end, self.previous_end);
                self.module.statements.push(Spanned::new(StatementKind::BlockEnd, end));
            }
        }
        let statements = StatementList { start, end: self.module.statements.len() as u32 };
        Body { statements, span: self.since(open.start) }
    }

    /// Statements up to the `}` that closes the body; false if it does not come. `blocks` are the places of the open
    /// inner braces.
    fn statements(&mut self, blocks: &mut Vec<Span>) -> bool {
        loop {
            let result = match self.kind() {
                Tok::Identifier => self.instruction_or_label(None),
                Tok::At => self.guarded(),
                Tok::Dot if self.begins_function() => return false,
                Tok::Dot => self.directive_in_body(),
                Tok::BraceOpen => {
                    if blocks.len() as u32 == DEPTH_LIMIT {
                        let _: Read<()> = self.too_deep();
                    }
                    blocks.push(self.span());
                    self.brace(StatementKind::BlockBegin);
                    Ok(())
                }
                Tok::BraceClose if blocks.pop().is_some() => {
                    self.brace(StatementKind::BlockEnd);
                    Ok(())
                }
                Tok::BraceClose => {
                    self.advance();
                    return true;
                }
                Tok::Semicolon => {
                    self.empty_statement(self.span());
                    self.advance();
                    Ok(())
                }
                Tok::End => return false,
                _ => self.expected("an instruction, a label or a directive"),
            };
            if let Err(Failed) = result {
                self.skip_statement();
            }
        }
    }

    #[inline]
    fn push(&mut self, kind: StatementKind, start: u32) {
        let span = self.since(start);
        self.module.statements.push(Spanned::new(kind, span));
    }

    fn brace(&mut self, kind: StatementKind) {
        let start = self.lexer.start;
        self.advance();
        self.push(kind, start);
    }

    /// Whether a function begins here, so that the `}` of the current one is missing.
    fn begins_function(&mut self) -> bool {
        let text = self.text();
        if matches!(text, ".entry" | ".func" | ".version" | ".target" | ".address_size" | ".section") {
            return true;
        }
        if linkage(text).is_none() {
            return false;
        }
        let start = self.lexer.start;
        while self.kind() == Tok::Dot && linkage(self.text()).is_some() {
            self.lexer.advance();
        }
        let begins = self.kind() == Tok::Dot && matches!(self.text(), ".entry" | ".func");
        self.lexer.rewind(start);
        begins
    }

    /// `@p` or `@!p` and what is guarded.
    fn guarded(&mut self) -> Read<()> {
        let start = self.lexer.start;
        self.advance();
        let negated = self.eat(Tok::Not);
        if self.kind() != Tok::Identifier {
            return self.expected("a predicate");
        }
        let register = self.name_here();
        self.advance();
        let guard = Spanned::new(Guard { register, negated }, self.since(start));
        if self.kind() != Tok::Identifier {
            return self.guarded_other(guard.span);
        }
        self.instruction_or_label(Some(guard))
    }

    #[cold]
    fn guarded_other(&mut self, guard: Span) -> Read<()> {
        if !matches!(self.kind(), Tok::BraceOpen | Tok::Dot) {
            return self.expected("an instruction after the guard");
        }
        self.misplaced_guard(guard);
        Ok(())
    }

    #[cold]
    fn misplaced_guard(&mut self, guard: Span) {
        self.error(codes::MISPLACED_GUARD, guard, "only an instruction can be guarded", |d| {
            d.label("this guards no instruction").hint("branch around it: `@!p bra after;`")
        });
    }

    #[inline]
    fn instruction_or_label(&mut self, guard: Option<Spanned<Guard>>) -> Read<()> {
        let word = self.span();
        let text = {
            self.lexer.opcode();
            self.text()
        };
        let span = self.span();
        self.advance();
        let opcode = match self.kind() {
            Tok::Colon if span == word => {
                if let Some(guard) = guard {
                    self.misplaced_guard(guard.span);
                }
                return self.label(text, span);
            }
            Tok::Dot => self.spaced_opcode(text, span),
            _ => Spanned::new(self.opcode(text, span), span),
        };
        let operands = self.operand_list()?;
        self.semicolon()?;
        let start = guard.map_or(span.start, |guard| guard.span.start);
        self.push(StatementKind::Instruction(Instruction { guard, opcode, operands }), start);
        Ok(())
    }

    /// An opcode with white space before some of its modifiers, which ptxas takes too.
    #[cold]
    fn spaced_opcode(&mut self, first: &str, span: Span) -> Spanned<OpcodeId> {
        let mut text = first.to_string();
        while self.kind() == Tok::Dot {
            self.lexer.opcode();
            text.push_str(self.text());
            self.advance();
        }
        let span = self.since(span.start);
        Spanned::new(self.opcode(&text, span), span)
    }

    /// The number of an opcode text. One that the instruction table lacks is reported where it is first used: a module
    /// for another version of PTX uses few such, but each of them often.
    #[inline]
    fn opcode(&mut self, text: &str, span: Span) -> OpcodeId {
        let Name(index) = self.opcode_names.intern(text);
        if index as usize == self.module.opcodes.len() {
            self.new_opcode(text, span);
        }
        self.in_call = text.starts_with("call");
        OpcodeId(index)
    }

    #[cold]
    fn new_opcode(&mut self, text: &str, span: Span) {
        let candidates = if text.len() > LONGEST_OPCODE {
            let message = format!("unknown instruction `{}`", Excerpt(text));
            self.error(codes::UNKNOWN_INSTRUCTION, span, message, |d| d.label("longer than any opcode"));
            Vec::new()
        } else if self.lexer.report.is_full() {
            Vec::new()
        } else {
            isa::lookup(text).unwrap_or_else(|error| {
                let contiguous = text.len() as u32 == span.end - span.start;
                let place = if contiguous {
                    Span::new(span.start + error.span.start as u32, span.start + error.span.end as u32)
                } else {
                    span
                };
                self.error(codes::UNKNOWN_INSTRUCTION, place, error.message(text), |d| d);
                Vec::new()
            })
        };
        self.module.opcodes.push(OpcodeText { text: text.into(), candidates });
    }

    /// The rest of `name:`, and what such names are given to besides instructions.
    fn label(&mut self, text: &str, span: Span) -> Read<()> {
        let name = Spanned::new(self.module.names.intern(text), span);
        self.advance();
        if self.kind() == Tok::Dot {
            match self.text() {
                ".callprototype" => return self.prototype(name),
                ".branchtargets" => return self.targets(name, TargetKind::Branch),
                ".calltargets" => return self.targets(name, TargetKind::Call),
                _ => {}
            }
        }
        self.module.statements.push(Spanned::new(StatementKind::Label(name.value), span));
        Ok(())
    }

    /// `.callprototype (returns) _ (params) .noreturn;`
    fn prototype(&mut self, name: Spanned<Name>) -> Read<()> {
        self.advance();
        let returns = self.parameters()?;
        match self.kind() {
            Tok::Underscore | Tok::Identifier => self.advance(),
            _ => return self.expected("`_`"),
        }
        let params = self.parameters()?;
        let mut directives = Vec::new();
        self.function_directives(&mut directives);
        self.semicolon()?;
        let id = PrototypeId(self.module.prototypes.len() as u32);
        self.module.prototypes.push(Prototype { name, returns, params, directives });
        self.push(StatementKind::Prototype(id), name.span.start);
        Ok(())
    }

    /// `.branchtargets a, b<4>;` or `.calltargets f, g;`
    fn targets(&mut self, name: Spanned<Name>, kind: TargetKind) -> Read<()> {
        self.advance();
        let targets = self.comma_list(|p| {
            let target = p.identifier("a target")?;
            let count = p.count()?;
            Ok(Spanned::new(Target { name: target.value, count }, p.since(target.span.start)))
        })?;
        self.semicolon()?;
        let id = TargetListId(self.module.target_lists.len() as u32);
        self.module.target_lists.push(TargetList { name, kind, targets });
        self.push(StatementKind::Targets(id), name.span.start);
        Ok(())
    }

    fn directive_in_body(&mut self) -> Read<()> {
        let (text, span) = (self.text(), self.span());
        let kind = match text {
            ".loc" => StatementKind::Loc(self.loc()?),
            ".pragma" => StatementKind::Pragma(self.pragma()?.into_boxed_slice()),
            ".callprototype" | ".branchtargets" | ".calltargets" => {
                self.advance();
                return self.misplaced(text, span, "after its label: `name: .callprototype ...`");
            }
            ".file" | ".alias" => {
                self.advance();
                return self.misplaced(text, span, "outside functions");
            }
            _ if begins_declaration(text) => {
                let linkage = self.linkage();
                StatementKind::Variable(self.declaration(linkage)?)
            }
            _ => return self.unknown_directive("a state space, `.loc` or `.pragma`"),
        };
        self.push(kind, span.start);
        Ok(())
    }
}
