//! What the statements say, before anything has a place.

use super::arguments::Arguments;
use crate::codes::{self, Findings};
use crate::flow::counts::Counts;
use crate::isa::Isa;
use crate::names::{self, Kind};
use crate::syntax::{Argument, Instruction, Line, Statement};
use cubin::elf::section as kind;
use cubin::elf::{Filler, Header};
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;
use std::cell::OnceCell;
use std::collections::HashMap;

/// A section as it is written.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) span: Span,
    /// The name in the file, if it is another.
    pub(super) real_name: Option<String>,
    pub(super) name_offset: Option<u32>,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) barriers: u64,
    pub(super) registers: u32,
    pub(super) address: u64,
    pub(super) link: Option<Argument>,
    pub(super) info: Option<Argument>,
    pub(super) entry_size: u64,
    pub(super) align: u64,
    pub(super) gap: u64,
    /// Where it stands, if it does not follow the rule.
    pub(super) offset: Option<u64>,
    /// The section whose bytes it shares.
    pub(super) overlay: Option<Argument>,
    pub(super) items: Vec<Item>,
    /// How its relocations are ordered; none for the usual order.
    pub(super) order: Option<Order>,
    /// What its code needs, and whether that is all that it needs, once it was counted.
    pub(super) counts: OnceCell<(Counts, bool)>,
}

impl Section {
    /// Whether it holds instructions.
    pub(super) fn is_code(&self) -> bool {
        self.kind == kind::PROGBITS && self.flags & kind::EXECUTE != 0
    }
}

/// The order of a table of relocations.
#[derive(Debug)]
pub(super) enum Order {
    Ascending,
    /// Numbers of places in the order of the text. Others follow behind.
    Numbers(Vec<u64>),
}

/// A piece of a section.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) body: Body,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum Body {
    /// So many zeros.
    Zeros(u64),
    /// Zeros up to a multiple.
    Align(u64),
    Bytes(Vec<u8>),
    /// Numbers of so many bytes.
    Values(u64, Vec<Argument>),
    Instruction(Box<Instruction>),
    /// An attribute of formats 1 to 3: format, attribute and value.
    SmallAttribute(u8, u8, Argument),
    /// An attribute of any size.
    Attribute(u8, Vec<Argument>),
    /// A relocation of what comes next: type, symbol and addend.
    Relocation(u32, Argument),
    /// An entry of this table of relocations: place, type, symbol and addend.
    Entry(Argument, u32, Argument),
}

/// A symbol as it is written.
#[derive(Debug, Default)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) real_name: Option<String>,
    pub(super) name_offset: Option<u32>,
    pub(super) kind: u8,
    pub(super) binding: u8,
    pub(super) other: u8,
    /// Section, value and size of a symbol that is no label.
    pub(super) place: Option<(Argument, u64)>,
    pub(super) size: Option<Argument>,
    /// Its position in the symbol table, if the table names it.
    pub(super) listed: Option<usize>,
}

/// A segment as it is written.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) header: cubin::elf::Segment,
    pub(super) first: Option<Argument>,
    pub(super) last: Option<Argument>,
}

/// A place in the text's order: in front of an item of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LabelPlace {
    pub(super) section: usize,
    pub(super) item: usize,
    pub(super) span: Span,
}

/// Everything that the statements say.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) sm: u32,
    pub(super) isa: Option<Isa>,
    pub(super) header: Option<Header>,
    pub(super) names: Option<Argument>,
    /// Whether offsets are written down.
    pub(super) stated: bool,
    /// Bytes in front of the table of sections that alignment does not ask for.
    pub(super) gap: u64,
    pub(super) filler: Vec<Filler>,
    pub(super) sections: Vec<Section>,
    pub(super) symbols: Vec<Symbol>,
    pub(super) segments: Vec<Segment>,
    pub(super) labels: HashMap<String, LabelPlace>,
    /// For a function and an attribute the instructions whose offsets the attribute lists.
    pub(super) offset_labels: HashMap<(String, String), Vec<LabelPlace>>,
    /// Whether the text has begun a section.
    opened: bool,
    /// Whether the symbol table does not begin with the null symbol.
    pub(super) without_null: bool,
    /// An executable has no segments, not even those that it would get.
    pub(super) without_segments: bool,
    /// The symbols that the symbol table names, in its order.
    listed: Vec<usize>,
    section_numbers: HashMap<String, usize>,
    symbol_numbers: HashMap<String, usize>,
}

/// Reading and writing `.CUASM_OFFSET_LABEL.function.EIATTR_NAME.#`.
const OFFSET_LABEL: &str = ".CUASM_OFFSET_LABEL.";

impl Draft {
    pub(super) fn read(&mut self, lines: Vec<Line>, findings: &mut Findings) {
        for line in lines {
            match line.statement {
                Statement::Label(name) => self.label(name, line.span, findings),
                Statement::Instruction(instruction) => {
                    self.item(Body::Instruction(instruction), line.span, findings);
                }
                Statement::Directive { name, arguments } => {
                    self.directive(&name, &arguments, line.span, findings);
                }
            }
        }
    }

    /// The device that the code is for.
    pub(super) fn target(&self) -> u32 {
        if self.sm == 0 { super::file::USUAL_TARGET } else { self.sm }
    }

    /// A section by the name that the text calls it.
    pub(super) fn section(&self, name: &str) -> Option<usize> {
        self.section_numbers.get(name).copied()
    }

    /// A symbol by the name that the text calls it.
    pub(super) fn symbol(&self, name: &str) -> Option<usize> {
        self.symbol_numbers.get(name).copied()
    }

    /// Adds a section. Returns its number.
    pub(super) fn add_section(&mut self, section: Section) -> usize {
        self.section_numbers.insert(section.name.clone(), self.sections.len());
        self.sections.push(section);
        self.sections.len() - 1
    }

    fn last_listed(&mut self) -> Option<&mut Symbol> {
        self.listed.last().map(|&number| &mut self.symbols[number])
    }

    /// The symbol of a name, made if there is none.
    pub(super) fn symbol_mut(&mut self, name: &str, span: Span) -> &mut Symbol {
        let number = *self.symbol_numbers.entry(name.to_owned()).or_insert(self.symbols.len());
        if number == self.symbols.len() {
            self.symbols.push(Symbol { name: name.to_owned(), span, ..Symbol::default() });
        }
        &mut self.symbols[number]
    }

    fn item(&mut self, body: Body, span: Span, findings: &mut Findings) {
        match self.sections.last_mut().filter(|_| self.opened) {
            Some(section) => section.items.push(Item { body, span }),
            None => findings.error(codes::OUTSIDE, span, "there is no section yet for this to stand in"),
        }
    }

    fn label(&mut self, name: String, span: Span, findings: &mut Findings) {
        let Some(section) = self.sections.len().checked_sub(1).filter(|_| self.opened) else {
            findings.error(codes::OUTSIDE, span, "there is no section yet for this label to stand in");
            return;
        };
        let place = LabelPlace { section, item: self.sections[section].items.len(), span };
        if let Some(rest) = name.strip_prefix(OFFSET_LABEL) {
            match rest.strip_suffix(".#").and_then(|rest| rest.rsplit_once('.')) {
                Some((function, attribute)) => {
                    let key = (function.to_owned(), attribute.to_owned());
                    self.offset_labels.entry(key).or_default().push(place);
                }
                None => {
                    let message = format!("not of the form `{OFFSET_LABEL}function.EIATTR_NAME.#`");
                    findings.error(codes::SYNTAX, span, message);
                }
            }
            return;
        }
        if let Some(first) = self.labels.insert(name.clone(), place) {
            findings.push(
                Diagnostic::error(codes::DUPLICATE, span, format!("the label `{name}` is defined twice"))
                    .related(first.span, "first here"),
            );
        }
    }

    fn directive(&mut self, name: &str, list: &[Argument], span: Span, findings: &mut Findings) {
        if super::file::directive(self, name, list, span, findings) {
            return;
        }
        let mut arguments = Arguments::new(list, span, findings);
        let done = match name {
            ".section" => return self.open_section(list, span, findings),
            ".kernel" => return super::kernel::open(self, list, span, findings),
            ".__symtab_without_null" => {
                self.without_null = true;
                Some(())
            }
            ".__without_segments" => {
                self.without_segments = true;
                Some(())
            }
            ".global" | ".weak" | ".local" => arguments.name("a symbol").map(|(symbol, span)| {
                self.symbol_mut(symbol, span).binding =
                    names::number(Kind::Binding, &name[1..]).unwrap_or_default() as u8;
            }),
            ".type" => arguments.name("a symbol").and_then(|(symbol, span)| {
                let kind = arguments.named(Kind::Symbol, "a symbol type such as `@function`", 15)?;
                self.symbol_mut(symbol, span).kind = kind as u8;
                Some(())
            }),
            ".other" => arguments.name("a symbol").and_then(|(symbol, span)| {
                let other = arguments.named(Kind::Other, "a number such as `@\"STV_DEFAULT\"`", 0xff)?;
                self.symbol_mut(symbol, span).other = other as u8;
                Some(())
            }),
            ".size" => arguments.name("a symbol").and_then(|(symbol, span)| {
                let size = arguments.next("a size")?;
                self.symbol_mut(symbol, span).size = Some(size.clone());
                Some(())
            }),
            ".symbol" => return self.list_symbol(list, span, findings),
            ".__symbol_name" => arguments.text("the name in the file").and_then(|text| {
                let symbol = self.last_listed()?;
                symbol.real_name = Some(text.to_owned());
                Some(())
            }),
            ".__symbol_name_offset" => arguments.number("an offset", u32::MAX.into()).and_then(|offset| {
                let symbol = self.last_listed()?;
                symbol.name_offset = u32::try_from(offset).ok();
                Some(())
            }),
            _ => return self.content(name, list, span, findings),
        };
        if done.is_some() {
            arguments.end();
        }
    }

    fn open_section(&mut self, list: &[Argument], span: Span, findings: &mut Findings) {
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
            findings.push(Diagnostic::error(codes::ARGUMENT, span, "a letter that stands for no flag").hint(
                "`a` in memory, `w` written, `x` executed, `I` about a section; or `.__section_flags`",
            ));
        }
        section.entry_size = match section.kind {
            kind::SYMTAB | kind::RELA => 24,
            kind::REL => 16,
            kind::CUDA_CALLGRAPH => 8,
            _ => 0,
        };
        if let Some(&first) = self.section_numbers.get(name) {
            findings.push(
                Diagnostic::error(
                    codes::DUPLICATE,
                    name_span,
                    format!("the section `{name}` is there twice"),
                )
                .related(self.sections[first].span, "first here")
                .hint("give it another name and say the name in the file with `.__section_name`"),
            );
        }
        self.opened = true;
        self.add_section(section);
    }

    /// `.symbol name` or `.symbol name, type, binding, other, section, value, size`.
    fn list_symbol(&mut self, list: &[Argument], span: Span, findings: &mut Findings) {
        let mut arguments = Arguments::new(list, span, findings);
        let Some((name, name_span)) = arguments.name("a symbol") else { return };
        let twice = self.symbol(name).is_some_and(|number| self.symbols[number].listed.is_some());
        let position = self.listed.len();
        let symbol = self.symbol_mut(name, name_span);
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
        if let Some(number) = self.symbol(name) {
            self.listed.push(number);
        }
        if twice {
            findings.error(codes::DUPLICATE, name_span, format!("the symbol `{name}` is listed twice"));
        }
    }

    /// Directives about the section that is open.
    fn content(&mut self, name: &str, list: &[Argument], span: Span, findings: &mut Findings) {
        let Some(section) = self.sections.last_mut().filter(|_| self.opened) else {
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
            ".string" => arguments.text("a string").map(|text| Body::Bytes(bytes(text, true))),
            ".ascii" => arguments.text("a string").map(|text| Body::Bytes(bytes(text, false))),
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
            ".attr" => {
                attribute(&mut arguments).map(|number| Body::Attribute(number, arguments.rest().to_vec()))
            }
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
            _ => return super::file::section(section, &mut self.stated, name, list, span, findings),
        };
        if let Some(body) = body {
            arguments.end();
            section.items.push(Item { body, span });
        }
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

/// Characters as bytes of the same numbers.
pub(super) fn bytes(text: &str, terminated: bool) -> Vec<u8> {
    text.chars().map(|letter| letter as u8).chain(terminated.then_some(0)).collect()
}
