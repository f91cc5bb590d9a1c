//! The header of the whole: the newest version, and a target that runs everything.

use crate::{Input, Problem, codes};
use ptx::ast::ItemKind;
use ptx::source::Span;
use ptx::types::{Arch, ArchVariant, Version};

/// `.version`, `.target` and `.address_size`.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) version: Version,
    pub(crate) arch: Arch,
    /// The words of `.target` behind the architecture.
    pub(crate) options: Vec<&'static str>,
    pub(crate) address_size: u32,
}

/// Where an input's target stands.
fn target_span(input: &Input) -> Span {
    let target = input.tree.items.iter().find(|item| matches!(item.value, ItemKind::Target(_)));
    target.map_or(Span::default(), |item| item.span)
}

fn address_span(input: &Input) -> Span {
    let stated = input.tree.items.iter().find_map(|item| match &item.value {
        ItemKind::AddressSize(size) => Some(size.span),
        _ => None,
    });
    stated.unwrap_or_else(|| target_span(input))
}

fn has(input: &Input, option: &str) -> bool {
    input.tree.items.iter().any(|item| match &item.value {
        ItemKind::Target(words) => words.iter().any(|word| input.tree.text(word.value) == option),
        _ => false,
    })
}

pub(crate) fn join(inputs: &[Input], problems: &mut Vec<Problem>) -> Header {
    let first = &inputs[0];
    let independent = has(first, "texmode_independent");
    for (i, input) in inputs.iter().enumerate().skip(1) {
        let (one, other) = (first.module.address_size, input.module.address_size);
        if one != other {
            problems.push(
                Problem::new(codes::ADDRESS_SIZE, format!("addresses of {other} bits and of {one} bits"))
                    .at(i, address_span(input), format!("{other} bits here"))
                    .at(0, address_span(first), format!("{one} bits here")),
            );
        }
        if has(input, "texmode_independent") != independent {
            problems.push(
                Problem::new(codes::TEXTURE_MODE, "different texture modes")
                    .at(i, target_span(input), "this module has one mode")
                    .at(0, target_span(first), "this one has the other"),
            );
        }
    }
    let mut arch = first.module.arch;
    let mut from = 0;
    for (i, input) in inputs.iter().enumerate().skip(1) {
        match both(arch, input.module.arch) {
            Some(joined) => {
                if joined != arch {
                    from = i;
                }
                arch = joined;
            }
            None => {
                let other = input.module.arch;
                problems.push(
                    Problem::new(codes::TARGET, format!("no device runs both {other} and {arch}"))
                        .at(i, target_span(input), format!("needs {other}"))
                        .at(from, target_span(&inputs[from]), format!("needs {arch}")),
                );
            }
        }
    }
    let mut options = Vec::new();
    if independent {
        options.push("texmode_independent");
    }
    if inputs.iter().any(|input| has(input, "debug")) {
        options.push("debug");
    }
    let versions = inputs.iter().map(|input| input.module.version);
    Header {
        version: versions.max().unwrap_or(first.module.version),
        arch,
        options,
        address_size: first.module.address_size,
    }
}

/// The least target that runs what either target runs.
fn both(a: Arch, b: Arch) -> Option<Arch> {
    let (low, high) = if (a.sm, a.variant) <= (b.sm, b.variant) { (a, b) } else { (b, a) };
    let same_family = low.sm / 10 == high.sm / 10;
    let variant = match (low.variant, high.variant) {
        (ArchVariant::Base, variant) => variant,
        (ArchVariant::Specific, _) if low.sm != high.sm => return None,
        (ArchVariant::Specific, _) => ArchVariant::Specific,
        (ArchVariant::Family, _) if !same_family => return None,
        (ArchVariant::Family, ArchVariant::Specific) => ArchVariant::Specific,
        (ArchVariant::Family, _) => ArchVariant::Family,
    };
    Some(Arch { sm: high.sm, variant })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(text: &str) -> Arch {
        let variant = match text.as_bytes()[text.len() - 1] {
            b'a' => ArchVariant::Specific,
            b'f' => ArchVariant::Family,
            _ => ArchVariant::Base,
        };
        Arch { sm: text.trim_end_matches(['a', 'f']).parse().unwrap(), variant }
    }

    #[test]
    fn a_target_runs_both() {
        for (a, b, expected) in [
            ("70", "80", Some("80")),
            ("80", "90a", Some("90a")),
            ("90a", "90", Some("90a")),
            ("90a", "100", None),
            ("90a", "100a", None),
            ("100f", "103", Some("103f")),
            ("100f", "120", None),
            ("100f", "103a", Some("103a")),
            ("100a", "100f", Some("100a")),
            ("100a", "103f", None),
        ] {
            let expected = expected.map(arch);
            assert_eq!(both(arch(a), arch(b)), expected, "{a} and {b}");
            assert_eq!(both(arch(b), arch(a)), expected, "{b} and {a}");
        }
    }
}
