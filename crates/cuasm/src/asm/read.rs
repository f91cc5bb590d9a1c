//! Statements, as the draft has them.

use super::arguments::Arguments;
use super::draft::{Body, Draft, Item, LabelPosition, Section};
use super::{file, kernel};
use crate::codes::{self, Findings};
use crate::names::{self, Kind};
use crate::strings::bytes;
use crate::syntax::{Argument, Line, Statement};
use cubin::elf::section as kind;
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;

/// Reading and writing `.CUASM_OFFSET_LABEL.function.EIATTR_NAME.#`.
const OFFSET_LABEL: &str = ".CUASM_OFFSET_LABEL.";

/// Adds what the statements say.
pub(super) fn read(draft: &mut Draft, lines: Vec<Line>, findings: &mut Findings) {
    for line in lines {
        match line.statement {
            Statement::Label(name) => label(draft, name, line.span, findings),
            Statement::Instruction(instruction) => {
                item(draft, Body::Instruction(instruction), line.span, findings);
            }
            Statement::Directive { name, arguments } => {
                directive(draft, &name, &arguments, line.span, findings);
            }
        }
    }
}

fn item(draft: &mut Draft, body: Body, span: Span, findings: &mut Findings) {
    match draft.sections.last_mut().filter(|_| draft.opened) {
        Some(section) => section.items.push(Item { body, span }),
        None => findings.error(codes::OUTSIDE, span, "there is no section yet for this to stand in"),
    }
}

fn label(draft: &mut Draft, name: String, span: Span, findings: &mut Findings) {
    let Some(section) = draft.sections.len().checked_sub(1).filter(|_| draft.opened) else {
        findings.error(codes::OUTSIDE, span, "there is no section yet for this label to stand in");
        return;
    };
    let place = LabelPosition { section, item: draft.sections[section].items.len(), span };
    if let Some(rest) = name.strip_prefix(OFFSET_LABEL) {
        match rest.strip_suffix(".#").and_then(|rest| rest.rsplit_once('.')) {
            Some((function, attribute)) => {
                let key = (function.to_owned(), attribute.to_owned());
                draft.offset_labels.entry(key).or_default().push(place);
            }
            None => {
                let message = format!("not of the form `{OFFSET_LABEL}function.EIATTR_NAME.#`");
                findings.error(codes::SYNTAX, span, message);
            }
        }
        return;
    }
    if let Some(first) = draft.labels.insert(name.clone(), place) {
        findings.push(
            Diagnostic::error(codes::DUPLICATE, span, format!("the label `{name}` is defined twice"))
                .related(first.span, "first here"),
        );
    }
}

fn directive(draft: &mut Draft, name: &str, list: &[Argument], span: Span, findings: &mut Findings) {
    if file::directive(draft, name, list, span, findings) {
        return;
    }
    let mut arguments = Arguments::new(list, span, findings);
    let done = match name {
        ".section" => return open_section(draft, list, span, findings),
        ".kernel" | ".function" => {
            if let Some(lines) = kernel::open(draft, name == ".kernel", list, span, findings) {
                read(draft, lines, findings);
            }
            return;
        }
        ".__symtab_without_null" => {
            draft.without_null = true;
            Some(())
        }
        ".__without_segments" => {
            draft.without_segments = true;
            Some(())
        }
        ".global" | ".weak" | ".local" => arguments.name("a symbol").map(|(symbol, span)| {
            draft.symbol_mut(symbol, span).binding =
                names::number(Kind::Binding, &name[1..]).unwrap_or_default() as u8;
        }),
        ".type" => arguments.name("a symbol").and_then(|(symbol, span)| {
            let kind = arguments.named(Kind::Symbol, "a symbol type such as `@function`", 15)?;
            draft.symbol_mut(symbol, span).kind = kind as u8;
            Some(())
        }),
        ".other" => arguments.name("a symbol").and_then(|(symbol, span)| {
            let other = arguments.named(Kind::Other, "a number such as `@\"STV_DEFAULT\"`", 0xff)?;
            draft.symbol_mut(symbol, span).other = other as u8;
            Some(())
        }),
        ".size" => arguments.name("a symbol").and_then(|(symbol, span)| {
            let size = arguments.next("a size")?;
            draft.symbol_mut(symbol, span).size = Some(size.clone());
            Some(())
        }),
        ".symbol" => return list_symbol(draft, list, span, findings),
        ".__symbol_name" => arguments.text("the name in the file").and_then(|text| {
            let symbol = draft.last_listed()?;
            symbol.real_name = Some(text.to_owned());
            Some(())
        }),
        ".__symbol_name_offset" => arguments.number("an offset", u32::MAX.into()).and_then(|offset| {
            let symbol = draft.last_listed()?;
            symbol.name_offset = u32::try_from(offset).ok();
            Some(())
        }),
        _ => return content(draft, name, list, span, findings),
    };
    if done.is_some() {
        arguments.end();
    }
}

fn open_section(draft: &mut Draft, list: &[Argument], span: Span, findings: &mut Findings) {
    let mut arguments = Arguments::new(list, span, findings);
    let Some((name, name_span)) = arguments.name("a section's name") else { return };
    let mut section = Section { name: name.to_owned(), span: name_span, ..Section::default() };
    let letters = arguments.text("flags such as \"ax\"");
    let flags = letters.map(names::flag_bits);
    section.flags = flags.flatten().unwrap_or_default();
    let kind = arguments.named(Kind::Section, "a type such as `@progbits`", u32::MAX.into());
    section.kind = kind.unwrap_or_default();
    if kind.is_some() {
        arguments.end();
    }
    if flags == Some(None) {
        let span = list.get(1).map_or(name_span, |flags| flags.span);
        findings
            .push(Diagnostic::error(codes::ARGUMENT, span, "a letter that stands for no flag").hint(
                "`a` in memory, `w` written, `x` executed, `I` about a section; or `.__section_flags`",
            ));
    }
    section.entry_size = match section.kind {
        kind::SYMTAB | kind::RELA => 24,
        kind::REL => 16,
        kind::CUDA_CALLGRAPH => 8,
        _ => 0,
    };
    if let Some(first) = draft.section(name) {
        findings.push(
            Diagnostic::error(codes::DUPLICATE, name_span, format!("the section `{name}` is there twice"))
                .related(draft.sections[first].span, "first here")
                .hint("give it another name and say the name in the file with `.__section_name`"),
        );
    }
    draft.opened = true;
    draft.add_section(section);
}

/// `.symbol name` or `.symbol name, type, binding, other, section, value, size`.
fn list_symbol(draft: &mut Draft, list: &[Argument], span: Span, findings: &mut Findings) {
    let mut arguments = Arguments::new(list, span, findings);
    let Some((name, name_span)) = arguments.name("a symbol") else { return };
    let twice = draft.symbol(name).is_some_and(|number| draft.symbols[number].listed.is_some());
    let position = draft.listed.len();
    let symbol = draft.symbol_mut(name, name_span);
    symbol.listed = Some(position);
    if list.len() > 1 {
        let kind = arguments.named(Kind::Symbol, "a symbol type such as `@function`", 15);
        let binding = arguments.named(Kind::Binding, "a binding such as `@global`", 15);
        let other = arguments.named(Kind::Other, "a number such as `@\"STV_DEFAULT\"`", 0xff);
        let section = arguments.next("a section");
        let value = arguments.number("a value", u64::MAX);
        let size = arguments.next("a size");
        if let (Some(kind), Some(binding), Some(other), Some(section), Some(value), Some(size)) =
            (kind, binding, other, section, value, size)
        {
            (symbol.kind, symbol.binding, symbol.other) = (kind as u8, binding as u8, other as u8);
            symbol.place = Some((section.clone(), value));
            symbol.size = Some(size.clone());
            arguments.end();
        }
    }
    if let Some(number) = draft.symbol(name) {
        draft.listed.push(number);
    }
    if twice {
        findings.error(codes::DUPLICATE, name_span, format!("the symbol `{name}` is listed twice"));
    }
}

/// Directives about the section that is open.
fn content(draft: &mut Draft, name: &str, list: &[Argument], span: Span, findings: &mut Findings) {
    let Some(section) = draft.sections.last_mut().filter(|_| draft.opened) else {
        findings.error(codes::OUTSIDE, span, "there is no section yet for this to be about");
        return;
    };
    let mut arguments = Arguments::new(list, span, findings);
    let most = u64::MAX;
    let body = match name {
        ".byte" => Some(Body::Values(1, arguments.rest().to_vec())),
        ".short" => Some(Body::Values(2, arguments.rest().to_vec())),
        ".word" => Some(Body::Values(4, arguments.rest().to_vec())),
        ".dword" => Some(Body::Values(8, arguments.rest().to_vec())),
        ".zero" => arguments.number("how many", most).map(Body::Zeros),
        ".string" => arguments.text("a string").map(|text| Body::Bytes(bytes(text).chain([0]).collect())),
        ".ascii" => arguments.text("a string").map(|text| Body::Bytes(bytes(text).collect())),
        ".align" => match arguments.number("an alignment", 1 << 20) {
            Some(align) if align.is_power_of_two() => {
                section.align = section.align.max(align);
                Some(Body::Align(align))
            }
            Some(_) => {
                findings.error(codes::RANGE, list[0].span, "an alignment is a power of two");
                return;
            }
            None => None,
        },
        ".attr" => attribute(&mut arguments).map(|number| Body::Attribute(number, arguments.rest().to_vec())),
        ".attr.none" | ".attr.byte" | ".attr.half" => attribute(&mut arguments).and_then(|number| {
            let format = crate::info::SMALL.iter().find(|row| row.1 == name)?.0;
            Some(Body::SmallAttribute(format, number, arguments.next("a value")?.clone()))
        }),
        ".reloc" if list.len() == 3 => arguments.next("a place").and_then(|place| {
            let kind = relocation(&mut arguments)?;
            Some(Body::Entry(place.clone(), kind, arguments.next("a symbol")?.clone()))
        }),
        ".reloc" => relocation(&mut arguments)
            .and_then(|kind| Some(Body::Relocation(kind, arguments.next("a symbol")?.clone()))),
        _ => return file::section(section, &mut draft.stated, name, list, span, findings),
    };
    if let Some(body) = body {
        arguments.end();
        section.items.push(Item { body, span });
    }
}

/// An attribute's name or number.
fn attribute(arguments: &mut Arguments<'_, '_>) -> Option<u8> {
    let argument = arguments.next("an attribute")?;
    arguments.lookup(argument, "an attribute such as `EIATTR_REGCOUNT`", crate::info::number)
}

/// A relocation type's name or number.
fn relocation(arguments: &mut Arguments<'_, '_>) -> Option<u32> {
    let argument = arguments.next("a relocation type")?;
    arguments.lookup(argument, "a relocation type such as `R_CUDA_64`", names::relocation_number)
}
