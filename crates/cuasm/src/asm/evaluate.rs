//! What expressions mean: numbers, or a symbol and an addend.

use super::draft::Draft;
use super::sizes::Offsets;
use crate::codes::{self, Findings};
use crate::syntax::{Argument, Expression};
use ptx::source::Span;

/// What an expression means where a relocation may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Number(i128),
    /// The number of a symbol in the draft, and what is added to its address.
    Symbol(usize, i128),
}

/// The number of a symbol, in whose table it is.
pub(super) struct Names<'a> {
    pub(super) draft: &'a Draft,
    pub(super) places: &'a Offsets,
    /// For each symbol of the draft its number in the symbol table.
    pub(super) indices: &'a [u32],
}

/// A number, with the section that it is an offset in.
#[derive(Clone, Copy)]
struct Value {
    number: i128,
    /// How often the offset of a label of a section is in it.
    section: Option<usize>,
    count: i32,
}

impl Names<'_> {
    /// A number: labels are offsets in their section.
    pub(super) fn number(&self, argument: &Argument, findings: &mut Findings) -> Option<i128> {
        let value = self.value(&argument.expression, argument.span, findings)?;
        if !(0..=1).contains(&value.count) {
            findings.error(codes::EXPRESSION, argument.span, "labels can be subtracted, not added");
            return None;
        }
        Some(value.number)
    }

    fn value(&self, expression: &Expression, span: Span, findings: &mut Findings) -> Option<Value> {
        match expression {
            Expression::Number(number) => Some(Value { number: *number, section: None, count: 0 }),
            Expression::Name(name) | Expression::Text(name) => {
                let Some(&label) = self.draft.labels.get(name) else {
                    findings.error(codes::UNKNOWN, span, format!("there is no label `{name}`"));
                    return None;
                };
                let number = i128::from(self.places.offset(label));
                Some(Value { number, section: Some(label.section), count: 1 })
            }
            Expression::Function(name, inner) if name == "index" => {
                let symbol = inner.name().and_then(|name| self.draft.symbol(name));
                let Some(symbol) = symbol else {
                    findings.error(codes::UNKNOWN, span, "there is no such symbol");
                    return None;
                };
                Some(Value { number: self.indices[symbol].into(), section: None, count: 0 })
            }
            Expression::Sum(terms) => {
                let mut sum = Value { number: 0, section: None, count: 0 };
                for (negative, term) in terms {
                    let value = self.value(term, span, findings)?;
                    if let (Some(one), Some(other)) = (sum.section, value.section)
                        && one != other
                    {
                        findings.error(codes::EXPRESSION, span, "these labels are in different sections");
                        return None;
                    }
                    sum.section = sum.section.or(value.section);
                    let sign = if *negative { -1 } else { 1 };
                    sum.number += i128::from(sign) * value.number;
                    sum.count += sign * value.count;
                }
                Some(sum)
            }
            Expression::At(_) | Expression::Function(..) => {
                findings.error(codes::EXPRESSION, span, "this has no value here");
                None
            }
        }
    }

    /// A symbol's address if one is named alone or with an addend, else a number.
    pub(super) fn meaning(&self, argument: &Argument, findings: &mut Findings) -> Option<Meaning> {
        match symbol_in(self.draft, &argument.expression) {
            Some((symbol, addend)) => Some(Meaning::Symbol(symbol, addend)),
            None => self.number(argument, findings).map(Meaning::Number),
        }
    }
}

/// The symbol whose address an expression is, and what is added to it.
pub(super) fn symbol_in(draft: &Draft, expression: &Expression) -> Option<(usize, i128)> {
    match expression {
        Expression::Name(name) | Expression::Text(name) => draft.symbol(name).map(|symbol| (symbol, 0)),
        Expression::Sum(terms) => {
            let mut symbol = None;
            let mut addend = 0;
            for (negative, term) in terms {
                match term {
                    Expression::Number(number) => addend += if *negative { -number } else { *number },
                    _ if *negative || symbol.is_some() => return None,
                    _ => {
                        let (found, inner) = symbol_in(draft, term)?;
                        symbol = Some(found);
                        addend += inner;
                    }
                }
            }
            symbol.map(|symbol| (symbol, addend))
        }
        _ => None,
    }
}
