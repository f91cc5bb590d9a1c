//! Headers: of the file, of sections, of segments.

use super::plan::{Content, Plan};
use crate::defaults::{self, Facts, Reference};
use crate::names::{self, Kind};
use crate::syntax::{quoted, string};
use cubin::elf::section as kind;
use cubin::elf::{Covers, Placement, Segment};
use std::fmt::Write;

/// The file header: what it says beyond what a header of ptxas 13 for the same device says.
pub(super) fn file(plan: &Plan<'_>, out: &mut String) {
    let header = &plan.elf.header;
    let usual = crate::target::header(plan.sm);
    let _ = writeln!(out, "\t.target\tsm_{}", plan.sm);
    let _ = writeln!(out, "\t.elftype\t{}", names::argument(Kind::File, header.kind.into()));
    let rows = [
        (".headerflags", u64::from(header.flags), u64::from(usual.flags)),
        (".__elf_ident_version", header.ident_version.into(), usual.ident_version.into()),
        (".__elf_ident_osabi", header.os_abi.into(), usual.os_abi.into()),
        (".__elf_ident_abiversion", header.abi_version.into(), usual.abi_version.into()),
        (".__elf_machine", header.machine.into(), usual.machine.into()),
        (".__elf_version", header.version.into(), usual.version.into()),
        (".__elf_entry", header.entry, usual.entry),
        (".__elf_ehsize", header.header_size.into(), usual.header_size.into()),
        (".__elf_phentsize", header.segment_entry_size.into(), usual.segment_entry_size.into()),
        (".__elf_shentsize", header.section_entry_size.into(), usual.section_entry_size.into()),
    ];
    for (directive, value, usual) in rows {
        if value != usual {
            let _ = writeln!(out, "\t{directive}\t{value:#x}");
        }
    }
    if header.padding != usual.padding {
        let bytes = header.padding.map(|byte| format!("{byte:#04x}"));
        let _ = writeln!(out, "\t.__elf_ident_padding\t{}", bytes.join(", "));
    }
    let name = plan.section(header.names);
    if name != ".shstrtab" {
        let _ = writeln!(out, "\t.__elf_shstrndx\t{name}");
    }
    if plan.elf.gap != 0 && !plan.stated {
        let _ = writeln!(out, "\t.__elf_shgap\t{:#x}", plan.elf.gap);
    }
    if plan.stated {
        out.push_str(
            "\t// The offsets of this file follow no rule: they are as written, and do not follow an edit.\n",
        );
        let _ = writeln!(out, "\t.__elf_shoff\t{:#x}", header.section_table);
        let _ = writeln!(out, "\t.__elf_phoff\t{:#x}", header.segment_table);
        for filler in &plan.elf.filler {
            let bytes: Vec<_> = filler.data.iter().map(|byte| format!("{byte:#04x}")).collect();
            let _ = writeln!(out, "\t.__elf_filler\t{:#x}, {}", filler.offset, bytes.join(", "));
        }
    }
}

/// A section's header: what does not follow from its name, type and flags.
pub(super) fn section(plan: &Plan<'_>, index: usize, out: &mut String) {
    let section = &plan.elf.sections[index];
    let name = &plan.names.sections[index];
    let code = section.flags & kind::EXECUTE != 0;
    let (flags, barriers) = if code { defaults::split_barriers(section.flags) } else { (section.flags, 0) };
    let letters = names::flag_letters(flags);
    let kind_name = names::argument(Kind::Section, section.kind);
    let _ =
        writeln!(out, "\t.section\t{},\"{}\",{kind_name}", quoted(name), letters.as_deref().unwrap_or(""));
    if letters.is_none() {
        let _ = writeln!(out, "\t.__section_flags\t{flags:#x}");
    }
    if barriers != 0 {
        let _ = writeln!(out, "\t.sectionflags\t@\"SHF_BARRIERS={barriers}\"");
    }
    let bytes = plan.elf.section_name(index as u32).unwrap_or_default();
    let real = crate::strings::latin1(bytes);
    if real != *name {
        let _ = writeln!(out, "\t.__section_name\t{}", string(&real));
    }
    if plan.section_strings.get(bytes) != Some(&section.name) {
        let _ = writeln!(out, "\t.__section_name_offset\t{:#x}", section.name);
    }
    if section.address != 0 {
        let _ = writeln!(out, "\t.__section_addr\t{:#x}", section.address);
    }
    references(plan, index, Facts { name, kind: section.kind, flags }, out);
    if section.entry_size != 0 {
        let _ = writeln!(out, "\t.sectionentsize\t{}", section.entry_size);
    }
    match section.align {
        0 => {}
        align if align.is_power_of_two() && align <= 1 << 20 => {
            let _ = writeln!(out, "\t.align\t{align}");
        }
        align => {
            let _ = writeln!(out, "\t.__section_align\t{align:#x}");
        }
    }
    if plan.stated {
        let _ = writeln!(out, "\t.__section_offset\t{:#x}", section.offset);
    } else if let Placement::Behind { gap } = section.place
        && gap != 0
    {
        let _ = writeln!(out, "\t.__section_gap\t{gap:#x}");
    }
    if kind::reserves(section.kind) || !matches!(plan.contents[index], Content::Data) {
        return;
    }
    if describes_code(name) {
        out.push_str(
            "\t// Describes code by numbers that are copied verbatim: they do not follow an edit.\n",
        );
    }
}

/// Whether a section's plain bytes have offsets of instructions in them.
fn describes_code(name: &str) -> bool {
    name.starts_with(".debug_")
        || name.starts_with(".nv_debug")
        || name.starts_with(".nv.merc.")
        || name.starts_with(".nv.capmerc")
}

/// `sh_link` and `sh_info`, where they are not what the section's name lets expect.
fn references(plan: &Plan<'_>, index: usize, facts: Facts<'_>, out: &mut String) {
    let section = &plan.elf.sections[index];
    let number = |reference: &Reference| match reference {
        Reference::Number(number) => Some(*number),
        Reference::Section(name) => plan.section_numbers.get(name).copied(),
        Reference::Symbol(name) => plan.symbol_numbers.get(name).copied(),
        Reference::SymbolCount => u32::try_from(plan.symbols.len()).ok(),
    };
    let link = defaults::link(facts);
    if number(&link) != Some(section.link) {
        let _ = writeln!(out, "\t.__section_link\t{}", plan.section(section.link));
    }
    let info = defaults::info(facts);
    let code = section.flags & kind::EXECUTE != 0;
    let (low, registers) = match code {
        true => (section.info & ((1 << defaults::SYMBOL_BITS) - 1), section.info >> defaults::SYMBOL_BITS),
        false => (section.info, 0),
    };
    if number(&info) != Some(low) {
        let known = (low as usize) < plan.symbols.len();
        let is_section =
            section.flags & kind::INFO_LINK != 0 || matches!(section.kind, kind::REL | kind::RELA);
        let text = match info {
            Reference::Symbol(_) if known => format!("index@({})", plan.symbol(low)),
            _ if is_section => plan.section(low),
            _ => format!("{low:#x}"),
        };
        let _ = writeln!(out, "\t.__section_info\t{text}");
    }
    if registers != 0 {
        let _ = writeln!(out, "\t.sectioninfo\t@\"SHI_REGISTERS={registers}\"");
    }
}

/// The segments, if they are not those that the sections let expect.
pub(super) fn segments(plan: &Plan<'_>, out: &mut String) {
    let executable = plan.elf.header.kind == defaults::EXECUTABLE && !plan.stated;
    if plan.elf.segments.is_empty() {
        if executable {
            out.push_str("\n\t.__without_segments\n");
        }
        return;
    }
    // Offsets and sizes follow from what a segment covers.
    let said = |segment: &Segment| Segment { offset: 0, file_size: 0, memory_size: 0, ..*segment };
    let usual = defaults::segments(&plan.elf.sections);
    if executable && plan.elf.segments.iter().map(said).eq(usual.iter().map(said)) {
        return;
    }
    out.push_str("\n//--------------------- segments --------------------------\n");
    for segment in &plan.elf.segments {
        let kind_name = names::argument(Kind::Segment, segment.kind);
        let _ = writeln!(out, "\t.__segment\t{kind_name}, {:#x}", segment.flags);
        match segment.covers {
            Covers::Sections { first, last } if !plan.stated => {
                let _ = writeln!(out, "\t.__segment_startsection\t{}", plan.section(first));
                let _ = writeln!(out, "\t.__segment_endsection\t{}", plan.section(last));
            }
            Covers::Table if !plan.stated => out.push_str("\t.__segment_startsection\t@segments\n"),
            _ => {
                let _ = writeln!(out, "\t.__segment_offset\t{:#x}", segment.offset);
                let _ = writeln!(out, "\t.__segment_filesz\t{:#x}", segment.file_size);
                let _ = writeln!(out, "\t.__segment_memsz\t{:#x}", segment.memory_size);
            }
        }
        let rows = [
            (".__segment_vaddr", segment.virtual_address, 0),
            (".__segment_paddr", segment.physical_address, 0),
            (".__segment_align", segment.align, 8),
        ];
        for (directive, value, usual) in rows {
            if value != usual {
                let _ = writeln!(out, "\t{directive}\t{value:#x}");
            }
        }
    }
}
