//! What could be written next, and the operands of the instruction that is being written.

use super::{Ptx, hover};
use crate::analysis::{Proposal, ProposalKind, Proposals, Signature};
use crate::index::Kind;
use ptx::isa::{FormId, Mnemonic, Opcode, OperandKind, SpecialRegister, continuations, lookup};
use ptx::source::Span;

/// Names of a set that are proposed, at most.
const MOST_OF_A_SET: u64 = 64;

/// Forms that a signature shows, at most.
const MOST_FORMS: usize = 8;

/// Directives of statements and of the top level.
const DIRECTIVES: [&str; 34] = [
    ".version",
    ".target",
    ".address_size",
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".weak",
    ".common",
    ".reg",
    ".local",
    ".shared",
    ".global",
    ".const",
    ".param",
    ".align",
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnreg",
    ".maxnctapersm",
    ".noreturn",
    ".pragma",
    ".file",
    ".loc",
    ".section",
    ".alias",
    ".branchtargets",
    ".calltargets",
    ".callprototype",
    ".explicitcluster",
    ".reqnctapercluster",
    ".maxclusterrank",
    ".attribute",
];

/// The statement that is being written: what stands between its beginning and an offset.
struct Begun<'a> {
    /// The opcode, or what has been written of it.
    opcode: &'a str,
    /// What stands behind it.
    operands: Option<&'a str>,
}

fn begun(ptx: &Ptx, offset: u32) -> Begun<'_> {
    let before = &ptx.source.text()[..offset as usize];
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let mut rest = line.rsplit(';').next().unwrap_or(line).trim_start();
    // A brace opens a block only where a statement can begin.
    while let Some(inner) = rest.strip_prefix(['{', '}']) {
        rest = inner.trim_start();
    }
    if let Some(guarded) = rest.strip_prefix('@') {
        let guarded = guarded.trim_start_matches(['!', ' ']);
        rest = guarded.split_once([' ', '\t']).map_or("", |(_, rest)| rest.trim_start());
    } else if let Some((label, behind)) = rest.split_once(':')
        && !behind.starts_with(':')
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$%".contains(&byte))
    {
        rest = behind.trim_start();
    }
    match rest.find([' ', '\t', '(', '[']) {
        Some(at) => Begun { opcode: &rest[..at], operands: Some(&rest[at..]) },
        None => Begun { opcode: rest, operands: None },
    }
}

/// How many operands stand before the end of a text: commas that are in no bracket.
fn operand_number(text: &str) -> usize {
    let mut depth = 0_i32;
    let mut number = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => number += 1,
            _ => {}
        }
    }
    number
}

/// The place of an operand among those of a form: one that `|` joins to the one before is written with it.
fn place(opcode: &Opcode, number: usize) -> usize {
    let separate = opcode.data().operands.iter().enumerate().filter(|(_, spec)| !spec.joined);
    separate.map(|(i, _)| i).nth(number).unwrap_or(usize::MAX)
}

pub(super) fn complete(ptx: &Ptx, offset: u32) -> Proposals {
    let in_comment = |token: &ptx::syntax::Token| {
        let inner = token.span.start < offset && offset <= token.span.end;
        inner && matches!(token.kind, ptx::syntax::TokenKind::Comment | ptx::syntax::TokenKind::Text)
    };
    let behind = ptx.tokens.partition_point(|token| token.span.start < offset);
    if ptx.tokens[..behind].last().is_some_and(in_comment)
        && ptx.source.slice(ptx.tokens[behind - 1].span).starts_with(['/', '"'])
    {
        return Proposals::default();
    }
    let begun = begun(ptx, offset);
    match begun.operands {
        None if begun.opcode.starts_with('.') => directives(begun.opcode, offset),
        None => opcodes(ptx, begun.opcode, offset),
        Some(_) if begun.opcode.starts_with('.') => directives_within(ptx, offset),
        Some(operands) => names(ptx, &begun, operands, offset),
    }
}

fn directives(begun: &str, offset: u32) -> Proposals {
    let list = DIRECTIVES.iter().map(|text| proposal(text, ProposalKind::Directive, "directive", 0));
    Proposals { replace: Span::new(offset - begun.len() as u32, offset), list: list.collect() }
}

/// Types and the like within a declaration.
fn directives_within(ptx: &Ptx, offset: u32) -> Proposals {
    let before = &ptx.source.text()[..offset as usize];
    let from = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(0);
    if !before[from..].starts_with('.') {
        return Proposals::default();
    }
    let types = ptx::types::ScalarType::ALL.into_iter().map(|(_, name)| format!(".{name}"));
    let list = types.map(|text| proposal(&text, ProposalKind::Directive, "type", 0));
    Proposals { replace: Span::new(from as u32, offset), list: list.collect() }
}

fn proposal(text: &str, kind: ProposalKind, detail: &str, rank: u8) -> Proposal {
    Proposal { text: text.to_owned(), kind, detail: detail.to_owned(), rank }
}

/// The instructions, or the modifiers that the table allows behind what has been written.
fn opcodes(ptx: &Ptx, begun: &str, offset: u32) -> Proposals {
    let Some(dot) = begun.rfind('.') else {
        let list = Mnemonic::ALL.into_iter().map(|mnemonic| {
            let form = FormId::of(mnemonic).next().map(FormId::data);
            let detail = form.map_or("", |form| form.section_title());
            proposal(mnemonic.text(), ProposalKind::Instruction, detail, 0)
        });
        return Proposals { replace: Span::new(offset - begun.len() as u32, offset), list: list.collect() };
    };
    let (written, typed) = begun.split_at(dot);
    let list = continuations(written).into_iter().map(|next| {
        let gate = next.form.data().gate;
        let fits = ptx
            .target()
            .is_none_or(|(version, arch)| gate.permits(version, arch) && next.gate.permits(version, arch));
        let end = if next.completes { "completes it" } else { "needs more" };
        let detail = if fits { end.to_owned() } else { format!("{end}; needs {}, {}", gate, next.gate) };
        proposal(next.modifier.text(), ProposalKind::Modifier, &detail, if fits { 0 } else { 1 })
    });
    Proposals { replace: Span::new(offset - typed.len() as u32, offset), list: list.collect() }
}

fn names(ptx: &Ptx, begun: &Begun<'_>, operands: &str, offset: u32) -> Proposals {
    let candidates = lookup(begun.opcode).unwrap_or_default();
    let number = operand_number(operands);
    let specs: Vec<_> = candidates
        .iter()
        .filter_map(|opcode| {
            let place = place(opcode, number);
            Some((opcode.data().operands.get(place)?.kind, opcode.operand_type(place)))
        })
        .collect();
    let wants = |test: fn(OperandKind) -> bool| specs.iter().any(|(kind, _)| test(*kind));
    let before = &ptx.source.text()[..offset as usize];
    let length = before.bytes().rev().take_while(|b| b.is_ascii_alphanumeric() || b"_$%".contains(b)).count();
    let mut list = Vec::new();
    for (number, symbol) in ptx.index.visible(offset) {
        let fits = match symbol.kind {
            Kind::Register => {
                let ty = symbol.detail.rsplit('.').next().and_then(ptx::types::ScalarType::from_name);
                let exact = specs.iter().any(|(_, wanted)| {
                    wanted.is_none_or(|wanted| ty.is_some_and(|ty| ptx::isa::compatible(wanted, ty, false)))
                });
                exact && !wants(|kind| kind == OperandKind::Label)
            }
            Kind::Label => wants(|kind| kind == OperandKind::Label),
            Kind::Kernel | Kind::Function => {
                wants(|kind| matches!(kind, OperandKind::Function | OperandKind::Value { .. }))
            }
            Kind::Variable | Kind::Parameter => wants(|kind| {
                !matches!(kind, OperandKind::Label | OperandKind::Function | OperandKind::Predicate { .. })
            }),
            Kind::Prototype | Kind::Section | Kind::Thread => {
                wants(|kind| matches!(kind, OperandKind::BranchTargets | OperandKind::CallTargets))
            }
        };
        let rank = if fits { 0 } else { 2 };
        let kind = ProposalKind::Name(symbol.kind);
        let Some(count) = symbol.count else {
            list.push(proposal(&symbol.name, kind, &symbol.detail, rank));
            continue;
        };
        // The names of a set that are in use, and the next one.
        let used = ptx
            .index
            .occurrences
            .iter()
            .filter(|one| one.symbol == number)
            .filter_map(|one| one.member)
            .max();
        let end = used.map_or(1, |most| most + 2).min(count).min(MOST_OF_A_SET);
        list.extend(
            (0..end).map(|member| proposal(&format!("{}{member}", symbol.name), kind, &symbol.detail, rank)),
        );
    }
    if wants(|kind| {
        matches!(kind, OperandKind::Value { special: true } | OperandKind::Vector { special: true, .. })
    }) {
        list.extend(SpecialRegister::ALL.into_iter().map(|register| {
            proposal(
                register.text(),
                ProposalKind::Special,
                &format!(".{}, since {}", register.ty().name(), register.gate()),
                1,
            )
        }));
    }
    Proposals { replace: Span::new(offset - length as u32, offset), list }
}

pub(super) fn signatures(ptx: &Ptx, offset: u32) -> (Vec<Signature>, u32) {
    let begun = begun(ptx, offset);
    let Some(operands) = begun.operands else { return (Vec::new(), 0) };
    let Ok(candidates) = lookup(begun.opcode) else { return (Vec::new(), 0) };
    let number = operand_number(operands);
    let active = candidates.first().map_or(number, |opcode| place(opcode, number));
    let signatures = candidates.iter().take(MOST_FORMS).map(|opcode| {
        let mut text = opcode.text();
        let mut parts = Vec::new();
        for (i, spec) in opcode.data().operands.iter().enumerate() {
            text.push_str(if spec.joined {
                "|"
            } else if i == 0 {
                " "
            } else {
                ", "
            });
            let from = text.len();
            text.push_str(spec.name);
            let ty = hover::type_of(opcode, i, spec);
            parts.push((from..text.len(), format!("{} {ty}", hover::kind(spec.kind)).trim_end().to_owned()));
        }
        Signature { text, operands: parts, detail: format!("manual {}", opcode.data().section) }
    });
    (signatures.collect(), active as u32)
}
