//! Arguments of directives, and operands that are labels or relocations.

use super::words::{Token, Word};
use super::{Argument, Expression};
use crate::codes::{self, Findings};
use ptx::source::Span;

/// Deeper parentheses are an error.
const DEPTH: u32 = 32;

pub(crate) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    /// The end of the text, for what is missing there.
    end: Span,
    findings: &'a mut Findings,
}

/// The arguments between commas.
pub(crate) fn arguments(tokens: &[Token], end: Span, findings: &mut Findings) -> Vec<Argument> {
    let mut parser = Parser { tokens, at: 0, end, findings };
    let mut arguments = Vec::new();
    while parser.at < tokens.len() {
        let Some(argument) = parser.argument() else { break };
        arguments.push(argument);
        if parser.at == tokens.len() {
            break;
        }
        if !parser.take(b',') {
            let span = parser.span();
            parser.findings.error(codes::SYNTAX, span, "a comma is missing here");
            break;
        }
        if parser.at == tokens.len() {
            parser.findings.error(codes::SYNTAX, end, "an argument is missing behind the comma");
        }
    }
    arguments
}

impl Parser<'_> {
    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |token| token.span)
    }

    fn word(&self) -> Option<&Word> {
        self.tokens.get(self.at).map(|token| &token.word)
    }

    fn take(&mut self, mark: u8) -> bool {
        let found = self.word() == Some(&Word::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn argument(&mut self) -> Option<Argument> {
        let start = self.span();
        let expression = self.sum(0)?;
        let last = self.tokens.get(self.at.wrapping_sub(1)).map_or(start, |token| token.span);
        Some(Argument { expression, span: start.to(last) })
    }

    fn sum(&mut self, depth: u32) -> Option<Expression> {
        if depth > DEPTH {
            let span = self.span();
            self.findings.error(codes::DEPTH, span, "too many parentheses inside one another");
            return None;
        }
        let negative = self.take(b'-');
        let first = self.term(depth)?;
        let mut terms = vec![(negative, first)];
        loop {
            let negative = self.word() == Some(&Word::Mark(b'-'));
            if !negative && self.word() != Some(&Word::Mark(b'+')) {
                break;
            }
            self.at += 1;
            terms.push((negative, self.term(depth)?));
        }
        Some(match &mut terms[..] {
            [(false, _)] => terms.swap_remove(0).1,
            [(true, Expression::Number(number))] => Expression::Number(-*number),
            _ => Expression::Sum(terms),
        })
    }

    fn term(&mut self, depth: u32) -> Option<Expression> {
        let span = self.span();
        let word = self.word().cloned();
        self.at += usize::from(word.is_some());
        match word {
            Some(Word::Mark(b'(')) => {
                let inner = self.sum(depth + 1)?;
                self.close().then_some(inner)
            }
            Some(Word::Mark(b'@')) => {
                let (Some(Word::Name(name)) | Some(Word::Text(name))) = self.word().cloned() else {
                    let span = self.span();
                    self.findings.error(codes::SYNTAX, span, "a word is missing behind the `@`");
                    return None;
                };
                self.at += 1;
                Some(Expression::At(name))
            }
            Some(Word::Number(number)) if self.word() == Some(&Word::Mark(b'@')) => {
                self.at += 1;
                let Some(Word::Name(part)) = self.word().cloned() else {
                    let span = self.span();
                    self.findings.error(codes::SYNTAX, span, "a word such as `lo` is missing behind the `@`");
                    return None;
                };
                self.at += 1;
                self.function(format!("{number}@{part}"), depth)
            }
            Some(Word::Number(number)) => Some(Expression::Number(i128::from(number))),
            Some(Word::Text(text)) => Some(Expression::Text(text)),
            Some(Word::Name(name)) if self.word() == Some(&Word::Mark(b'@')) => {
                self.at += 1;
                match self.word().cloned() {
                    Some(Word::Mark(b'(')) => self.function(name, depth),
                    // What `@srel` says of a label, its offset in its section, is what a label means anyway.
                    Some(Word::Name(kind)) if kind == "srel" => {
                        self.at += 1;
                        Some(Expression::Name(name))
                    }
                    Some(Word::Name(kind)) => {
                        self.at += 1;
                        self.function(format!("{name}@{kind}"), depth)
                    }
                    _ => {
                        let span = self.span();
                        self.findings.error(codes::SYNTAX, span, "`(` or `srel` is missing behind the `@`");
                        None
                    }
                }
            }
            Some(Word::Name(name)) => Some(Expression::Name(name)),
            _ => {
                self.findings.error(codes::SYNTAX, span, "a value is missing here");
                None
            }
        }
    }

    fn function(&mut self, name: String, depth: u32) -> Option<Expression> {
        if !self.take(b'(') {
            let span = self.span();
            self.findings.error(codes::SYNTAX, span, "`(` is missing here");
            return None;
        }
        let inner = self.sum(depth + 1)?;
        self.close().then(|| Expression::Function(name, Box::new(inner)))
    }

    fn close(&mut self) -> bool {
        let closed = self.take(b')');
        if !closed {
            let span = self.span();
            self.findings.error(codes::SYNTAX, span, "`)` is missing here");
        }
        closed
    }
}
