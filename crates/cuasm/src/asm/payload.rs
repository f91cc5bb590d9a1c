//! What attributes of nv.info hold: numbers and labels as they are written, lists and counts as they follow from the code.

use super::attributes::{List, exits, list, offset_labels, width};
use super::draft::Draft;
use super::evaluate::Names;
use crate::codes::{self, Findings};
use crate::flow::counts::Counts;
use crate::syntax::{Argument, Expression};
use crate::{defaults, info};
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;

/// The payload of an attribute of any size.
pub(super) fn payload(
    names: &Names<'_>,
    section: &str,
    attribute: u8,
    arguments: &[Argument],
    findings: &mut Findings,
) -> Vec<u8> {
    match list(arguments) {
        Some(List::Exits) => exits(names.draft, section)
            .flat_map(|(code, item)| (names.places.offsets[code][item] as u32).to_le_bytes())
            .collect(),
        Some(List::Offsets) => offset_labels(names.draft, section, attribute)
            .iter()
            .flat_map(|&label| (names.places.offset(label) as u32).to_le_bytes())
            .collect(),
        None => {
            let mut bytes = Vec::new();
            for argument in arguments {
                let width = width(argument);
                let inner = match &argument.expression {
                    Expression::Function(name, inner) if name == "byte" || name == "half" => {
                        &Argument { expression: (**inner).clone(), span: argument.span }
                    }
                    _ => argument,
                };
                let automatic = matches!(&inner.expression, Expression::Name(name) if name == "auto");
                let number = match automatic && attribute == info::REGISTERS {
                    true => registers(names, arguments, argument.span, findings),
                    false => names.number(inner, findings).unwrap_or(0),
                };
                if attribute == info::REGISTERS && bytes.len() == 4 {
                    enough_registers(names, arguments, argument.span, number, findings);
                }
                let bits = 8 * width as u32;
                if number < -(1 << (bits - 1)) || number >= 1 << bits {
                    findings.error(codes::RANGE, argument.span, format!("this does not fit {bits} bits"));
                }
                bytes.extend(&number.to_le_bytes()[..width]);
            }
            bytes
        }
    }
}

/// The value of an attribute of formats 1 to 3.
pub(super) fn small(
    names: &Names<'_>,
    section: &str,
    attribute: u8,
    argument: &Argument,
    findings: &mut Findings,
) -> u16 {
    let automatic = matches!(&argument.expression, Expression::Name(name) if name == "auto");
    let number = match automatic && attribute == info::BARRIERS {
        true => code_of(names.draft, section).map_or(0, |code| counts(names.draft, code).barriers.into()),
        false => names.number(argument, findings).unwrap_or(0),
    };
    u16::try_from(number).unwrap_or_else(|_| {
        findings.error(codes::RANGE, argument.span, "this does not fit 16 bits");
        0
    })
}

/// The code of the function that a section is about.
fn code_of(draft: &Draft, section: &str) -> Option<usize> {
    defaults::function(section).and_then(|name| draft.section(&format!(".text{name}")))
}

/// What a section of code needs. Code becomes words before attributes are written.
fn counts(draft: &Draft, code: usize) -> Counts {
    draft.sections[code].counts.get().copied().unwrap_or_default()
}

/// The code of the symbol that an attribute is about.
fn code_of_symbol(draft: &Draft, arguments: &[Argument]) -> Option<usize> {
    let Expression::Function(function, inner) = &arguments.first()?.expression else { return None };
    let label = draft.labels.get(inner.name().filter(|_| function == "index")?)?;
    draft.sections[label.section].is_code().then_some(label.section)
}

/// The registers that a function needs.
fn registers(names: &Names<'_>, arguments: &[Argument], span: Span, findings: &mut Findings) -> i128 {
    match code_of_symbol(names.draft, arguments) {
        Some(code) => {
            let counts = counts(names.draft, code);
            if counts.unknown {
                findings.push(
                    Diagnostic::warning(
                        codes::REGISTERS,
                        span,
                        "not every word of the code is known, so it may need more registers",
                    )
                    .hint("a number in place of `auto` is taken as it is"),
                );
            }
            counts.registers().into()
        }
        None => {
            findings.error(codes::EXPRESSION, span, "`auto` needs a function of this file in front of it");
            0
        }
    }
}

fn enough_registers(
    names: &Names<'_>,
    arguments: &[Argument],
    span: Span,
    number: i128,
    findings: &mut Findings,
) {
    let needed = code_of_symbol(names.draft, arguments).map(|code| counts(names.draft, code).registers());
    if let Some(needed) = needed.filter(|&needed| i128::from(needed) > number) {
        findings.push(
            Diagnostic::error(codes::REGISTERS, span, format!("the code needs {needed} registers"))
                .hint("`auto` counts them"),
        );
    }
}
