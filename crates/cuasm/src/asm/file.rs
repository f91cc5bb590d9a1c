//! Headers: of the file, of sections, of segments; and what is made if the text does not mention it.

use super::arguments::Arguments;
use super::draft::{Body, Draft, Item, Order, Section, Segment};
use super::relocations;
use crate::codes::{self, Findings};
use crate::isa::Isa;
use crate::names::Kind;
use crate::syntax::{Argument, Expression, Line, Statement};
use crate::{defaults, target};
use cubin::elf::section as kind;
use cubin::elf::{Filler, Header};
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;

/// Takes a directive about the file or a segment. Whether it was one.
pub(super) fn directive(
    draft: &mut Draft,
    name: &str,
    list: &[Argument],
    span: Span,
    findings: &mut Findings,
) -> bool {
    let mut arguments = Arguments::new(list, span, findings);
    let done = match name {
        ".target" => return set_target(draft, list, span, findings),
        ".__segment" => segment(draft, &mut arguments),
        _ if name.starts_with(".__segment_") => return segment_field(draft, name, list, span, findings),
        ".elftype" => arguments
            .named(Kind::File, "a type such as `@\"ET_EXEC\"`", u16::MAX.into())
            .map(|kind| header(draft).kind = kind as u16),
        ".headerflags" => {
            arguments.number("flags", u32::MAX.into()).map(|flags| header(draft).flags = flags as u32)
        }
        ".__elf_shstrndx" => arguments.next("a section").map(|name| draft.names = Some(name.clone())),
        ".__elf_shgap" => arguments.number("bytes", u64::MAX).map(|gap| draft.gap = gap),
        ".__elf_filler" => filler(draft, &mut arguments),
        ".__elf_ident_padding" => padding(draft, &mut arguments),
        _ if name.starts_with(".__elf_") => {
            return header_field(draft, &name[".__elf_".len()..], list, span, findings);
        }
        _ => return false,
    };
    if done.is_some() {
        arguments.end();
    }
    true
}

/// The header, made if there is none yet.
fn header(draft: &mut Draft) -> &mut Header {
    let sm = draft.target();
    draft.header.get_or_insert_with(|| target::header(sm))
}

fn set_target(draft: &mut Draft, list: &[Argument], span: Span, findings: &mut Findings) -> bool {
    let mut arguments = Arguments::new(list, span, findings);
    let Some((name, name_span)) = arguments.name("a device such as `sm_90`") else { return true };
    arguments.end();
    // `a` and `f` are no part of the header.
    let digits = name.strip_prefix("sm_").map(|rest| rest.trim_end_matches(['a', 'f']));
    match digits.and_then(|digits| digits.parse().ok()).filter(|sm| (1..=0xff).contains(sm)) {
        Some(sm) => {
            draft.sm = sm;
            draft.isa = Isa::of(sm);
            let kept = draft.header.take();
            let fresh = header(draft);
            // What has been said before stays.
            if let Some(kept) = kept {
                *fresh = kept;
            }
        }
        None => findings.error(codes::TARGET, name_span, "not a device such as `sm_90`"),
    }
    true
}

fn header_field(
    draft: &mut Draft,
    field: &str,
    list: &[Argument],
    span: Span,
    findings: &mut Findings,
) -> bool {
    let most: u64 = match field {
        "ident_version" | "ident_osabi" | "ident_abiversion" => 0xff,
        "version" => u32::MAX.into(),
        "entry" | "shoff" | "phoff" => u64::MAX,
        "machine" | "ehsize" | "phentsize" | "shentsize" => u16::MAX.into(),
        _ => return false,
    };
    let mut arguments = Arguments::new(list, span, findings);
    let Some(value) = arguments.number("a value", most) else { return true };
    arguments.end();
    draft.stated |= matches!(field, "shoff" | "phoff");
    let header = header(draft);
    match field {
        "ident_version" => header.ident_version = value as u8,
        "ident_osabi" => header.os_abi = value as u8,
        "ident_abiversion" => header.abi_version = value as u8,
        "version" => header.version = value as u32,
        "entry" => header.entry = value,
        "shoff" => header.section_table = value,
        "phoff" => header.segment_table = value,
        "machine" => header.machine = value as u16,
        "ehsize" => header.header_size = value as u16,
        "phentsize" => header.segment_entry_size = value as u16,
        _ => header.section_entry_size = value as u16,
    }
    true
}

fn numbers(arguments: &mut Arguments<'_, '_>) -> Option<Vec<u8>> {
    let list = arguments.rest();
    let byte = |argument: &Argument| match argument.expression {
        Expression::Number(number) => u8::try_from(number).ok(),
        _ => None,
    };
    list.iter().map(byte).collect()
}

fn filler(draft: &mut Draft, arguments: &mut Arguments<'_, '_>) -> Option<()> {
    let offset = arguments.number("an offset", u64::MAX)?;
    let data = numbers(arguments)?;
    draft.filler.push(Filler { offset, data });
    Some(())
}

fn padding(draft: &mut Draft, arguments: &mut Arguments<'_, '_>) -> Option<()> {
    let bytes = numbers(arguments)?;
    header(draft).padding = bytes.try_into().ok()?;
    Some(())
}

fn segment(draft: &mut Draft, arguments: &mut Arguments<'_, '_>) -> Option<()> {
    let kind = arguments.named(Kind::Segment, "a type such as `@\"PT_LOAD\"`", u32::MAX.into())?;
    let flags = arguments.number("flags", u32::MAX.into())? as u32;
    let header = cubin::elf::Segment { kind, flags, align: 8, ..cubin::elf::Segment::default() };
    draft.segments.push(Segment { header, ..Segment::default() });
    Some(())
}

fn segment_field(
    draft: &mut Draft,
    name: &str,
    list: &[Argument],
    span: Span,
    findings: &mut Findings,
) -> bool {
    let Some(segment) = draft.segments.last_mut() else {
        findings.error(codes::OUTSIDE, span, "there is no segment yet for this to be about");
        return true;
    };
    let mut arguments = Arguments::new(list, span, findings);
    let done = match name {
        ".__segment_startsection" => {
            arguments.next("a section").map(|first| segment.first = Some(first.clone()))
        }
        ".__segment_endsection" => arguments.next("a section").map(|last| segment.last = Some(last.clone())),
        _ => {
            let header = &mut segment.header;
            let field = match name {
                ".__segment_offset" => &mut header.offset,
                ".__segment_vaddr" => &mut header.virtual_address,
                ".__segment_paddr" => &mut header.physical_address,
                ".__segment_filesz" => &mut header.file_size,
                ".__segment_memsz" => &mut header.memory_size,
                ".__segment_align" => &mut header.align,
                _ => return false,
            };
            arguments.number("a value", u64::MAX).map(|value| *field = value)
        }
    };
    if done.is_some() {
        arguments.end();
    }
    true
}

/// Takes a directive about a section's header.
pub(super) fn section(
    section: &mut Section,
    stated: &mut bool,
    name: &str,
    list: &[Argument],
    span: Span,
    findings: &mut Findings,
) {
    let mut arguments = Arguments::new(list, span, findings);
    let most = u64::MAX;
    let done = match name {
        ".__section_flags" => arguments.number("flags", most).map(|flags| section.flags = flags),
        ".__section_name" => {
            arguments.text("the name in the file").map(|name| section.real_name = Some(name.to_owned()))
        }
        ".__section_name_offset" => arguments
            .number("an offset", u32::MAX.into())
            .map(|offset| section.name_offset = u32::try_from(offset).ok()),
        ".__section_addr" => arguments.number("an address", most).map(|address| section.address = address),
        ".__section_link" => arguments.next("a section").map(|link| section.link = Some(link.clone())),
        ".__section_info" => {
            arguments.next("a section or symbol").map(|info| section.info = Some(info.clone()))
        }
        ".__section_align" => arguments.number("an alignment", most).map(|align| section.align = align),
        ".__section_gap" => arguments.number("bytes", most).map(|gap| section.gap = gap),
        ".__section_offset" => arguments.number("an offset", most).map(|offset| {
            section.offset = Some(offset);
            *stated = true;
        }),
        ".__section_overlay" => {
            arguments.next("a section").map(|other| section.overlay = Some(other.clone()))
        }
        ".sectionentsize" => arguments.number("a size", most).map(|size| section.entry_size = size),
        ".sectioninfo" => {
            arguments.assignment("SHI_REGISTERS", 0xff).map(|registers| section.registers = registers)
        }
        ".sectionflags" => {
            arguments.assignment("SHF_BARRIERS", 0x7f).map(|barriers| section.barriers = u64::from(barriers))
        }
        ".__reloc_order" => order(section, &mut arguments),
        _ => {
            findings.push(
                Diagnostic::error(codes::DIRECTIVE, span, format!("there is no directive `{name}`"))
                    .hint("docs/cuasm.md lists all of them"),
            );
            return;
        }
    };
    if done.is_some() {
        arguments.end();
    }
}

fn order(section: &mut Section, arguments: &mut Arguments<'_, '_>) -> Option<()> {
    let list = arguments.rest();
    if let [Argument { expression: Expression::Name(name), .. }] = list
        && name == "ascending"
    {
        section.order = Some(Order::Ascending);
        return Some(());
    }
    let number = |argument: &Argument| match argument.expression {
        Expression::Number(number) => u64::try_from(number).ok(),
        _ => None,
    };
    let numbers: Vec<u64> = list.iter().filter_map(number).collect();
    match &mut section.order {
        Some(Order::Numbers(before)) => before.extend(numbers),
        order => *order = Some(Order::Numbers(numbers)),
    }
    Some(())
}

/// Puts the tables that every cubin has, and that the text leaves out, in front of all other sections.
pub(super) fn begin(draft: &mut Draft, lines: &[Line]) {
    let directives = || {
        lines.iter().filter_map(|line| match &line.statement {
            Statement::Directive { name, arguments } => Some((name.as_str(), arguments)),
            _ => None,
        })
    };
    let sections: Vec<&str> = directives()
        .filter(|(name, _)| *name == ".section")
        .filter_map(|(_, arguments)| arguments.first()?.expression.name())
        .collect();
    let names_given =
        directives().any(|(name, _)| name == ".__elf_shstrndx") || sections.contains(&".shstrtab");
    let symbols = directives().any(|(name, _)| SYMBOLIC.contains(&name));
    if !names_given {
        table(draft, ".shstrtab", kind::STRTAB, 1);
    }
    if symbols && !sections.contains(&".symtab") {
        table(draft, ".strtab", kind::STRTAB, 1);
        table(draft, ".symtab", kind::SYMTAB, 8);
    }
}

/// Directives that make symbols.
const SYMBOLIC: [&str; 9] =
    [".kernel", ".function", ".global", ".local", ".weak", ".type", ".size", ".other", ".symbol"];

/// Adds what follows from the sections and the text left out: symbols of sections, tables of relocations.
pub(super) fn complete(draft: &mut Draft) {
    if draft.sm == 0 {
        draft.sm = draft.header.as_ref().map_or(target::USUAL, target::sm);
        draft.isa = Isa::of(draft.sm);
    }
    header(draft);
    section_symbols(draft);
    let with_addends = draft.sm >= 90 && !draft.sections.iter().any(|section| section.kind == kind::REL);
    let (prefix, kind) = if with_addends { (".rela", kind::RELA) } else { (".rel", kind::REL) };
    for number in 0..draft.sections.len() {
        let section = &draft.sections[number];
        let relocated = relocations::are_in(draft, section);
        let known = |table: &Section| {
            matches!(table.kind, kind::REL | kind::RELA)
                && match table.info.as_ref().map(|info| &info.expression) {
                    Some(info) => info.name() == Some(&section.name),
                    None => {
                        defaults::info(table.facts()) == defaults::Reference::Section(section.name.clone())
                    }
                }
        };
        if relocated && !draft.sections.iter().any(known) {
            let name = format!("{prefix}{}", section.name);
            let table = table(draft, &name, kind, 8);
            table.flags = kind::INFO_LINK;
            table.entry_size = if with_addends { 24 } else { 16 };
        }
    }
}

/// Adds the symbols of sections that attributes name.
fn section_symbols(draft: &mut Draft) {
    let mut wanted = Vec::new();
    for item in draft.sections.iter().flat_map(|section| &section.items) {
        if let Body::Attribute(_, arguments) = &item.body {
            for argument in arguments {
                if let Expression::Function(function, inner) = &argument.expression
                    && function == "index"
                    && let Some(name) = inner.name()
                    && draft.symbol(name).is_none()
                    && draft.section(name).is_some()
                {
                    wanted.push((name.to_owned(), argument.span));
                }
            }
        }
    }
    for (name, span) in wanted {
        let symbol = draft.symbol_mut(&name, span);
        symbol.kind = 3;
        symbol.place = Some((Argument { expression: Expression::Name(name), span }, 0));
    }
}

fn table<'a>(draft: &'a mut Draft, name: &str, kind: u32, align: u64) -> &'a mut Section {
    let number = draft.section(name).unwrap_or_else(|| {
        let entry_size = if kind == kind::SYMTAB { 24 } else { 0 };
        let items: Vec<Item> = Vec::new();
        draft.add_section(Section {
            name: name.to_owned(),
            kind,
            align,
            entry_size,
            items,
            ..Section::default()
        })
    });
    &mut draft.sections[number]
}
