//! Changes that make an opcode one that the table has.

use super::Ptx;
use crate::analysis::Fix;
use ptx::diagnostic::Diagnostic;
use ptx::isa::{Modifier, OpcodeErrorKind, lookup};
use ptx::source::Span;
use ptx::syntax::TokenKind;

/// Modifiers that are offered, at most.
const MOST: usize = 6;

pub(super) fn fixes(ptx: &Ptx, diagnostic: &Diagnostic) -> Vec<Fix> {
    let Some(token) = ptx.token(diagnostic.span.start).filter(|token| token.kind != TokenKind::Comment)
    else {
        return Vec::new();
    };
    // A name that is no instruction's is not an opcode to the lexer either.
    let word = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
    let rest = &ptx.source.text()[token.span.start as usize..];
    let text = &rest[..rest.find(|c| !word(c)).unwrap_or(rest.len())].trim_end_matches([':', '.']);
    let at = ptx.tree.statements.partition_point(|statement| statement.span.end <= token.span.start);
    let begins = ptx.tree.statements.get(at).is_none_or(|one| one.span.start <= token.span.start);
    let Err(error) = lookup(text) else { return Vec::new() };
    if !begins {
        return Vec::new();
    }
    let start = token.span.start;
    let span = Span::new(start + error.span.start as u32, start + error.span.end as u32);
    let replace = |with: &str, preferred: bool| Fix {
        title: format!("write `{with}`"),
        span,
        with: with.to_owned(),
        preferred,
    };
    let each = |modifiers: &[Modifier]| -> Vec<Fix> {
        let one = modifiers.len() == 1;
        modifiers.iter().take(MOST).map(|modifier| replace(modifier.text(), one)).collect()
    };
    match &error.kind {
        OpcodeErrorKind::UnknownInstruction { similar } => {
            similar.iter().map(|similar| replace(similar.text(), true)).collect()
        }
        OpcodeErrorKind::UnknownModifier { similar } => {
            similar.iter().map(|similar| replace(similar.text(), true)).collect()
        }
        OpcodeErrorKind::NotAllowed { allowed } if allowed.is_empty() => {
            let part = text.get(error.span.clone()).unwrap_or_default();
            vec![Fix { title: format!("remove `{part}`"), span, with: String::new(), preferred: true }]
        }
        OpcodeErrorKind::NotAllowed { allowed } => each(allowed),
        OpcodeErrorKind::Conflict { allowed, .. } => each(allowed),
        OpcodeErrorKind::Missing { allowed, .. } => allowed
            .iter()
            .filter(|modifier| lookup(&format!("{text}{}", modifier.text())).is_ok())
            .take(MOST)
            .map(|modifier| {
                let end = start + text.len() as u32;
                let title = format!("write `{text}{}`", modifier.text());
                Fix {
                    title,
                    span: Span::new(end, end),
                    with: modifier.text().to_owned(),
                    preferred: allowed.len() == 1,
                }
            })
            .collect(),
        OpcodeErrorKind::Order { .. } => Vec::new(),
    }
}
