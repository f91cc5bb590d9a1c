//! `.debug_info`: the entries of the PTX, with places in machine code in place of those in PTX. A call that was inlined gets an entry in
//! the block that it stands in, with a copy of what its function's entry has.

use super::abbreviations::{Abbreviations, Shape};
use super::expression::{Aliases, Context};
use super::forms::{block_as, number_as};
use super::lists::Lists;
use super::variables::{Home, Placed, Variables};
use super::{BYTES, MachineCode, Section, Symbol, names};
use crate::location::AddressClass;
use crate::{DebugInfo, Place, Reader};
use gimli::leb128::write::Leb128;
use gimli::{AttributeValue, DwAt, DwForm, constants as dw};
use ptx::module::{FuncId, Module, VarId};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Where the head of a unit, up to DWARF 4, has the place of its abbreviations.
const ABBREVIATIONS_AT: usize = 6;
/// The last version of DWARF whose units are written.
const LAST_VERSION: u16 = 4;

/// Entries within entries: the sections may be damaged.
const DEEPEST: usize = 256;

/// Sections that are the PTX's own.
const KEPT: [&str; 1] = [".debug_macinfo"];
/// Names, and the entries that they are of.
const NAMES: [&str; 2] = [".debug_pubnames", ".debug_pubtypes"];

/// An attribute of the PTX.
struct Attribute<'a> {
    name: DwAt,
    form: DwForm,
    /// Its bytes, and what they say.
    bytes: &'a [u8],
    value: AttributeValue<Reader<'a>>,
}

/// An entry of the PTX.
struct Entry<'a> {
    /// Where it is in its unit.
    offset: usize,
    shape: Shape,
    attributes: Vec<Attribute<'a>>,
    children: Vec<usize>,
}

impl<'a> Entry<'a> {
    fn value(&self, name: DwAt) -> Option<AttributeValue<Reader<'a>>> {
        Some(self.attributes.iter().find(|attribute| attribute.name == name)?.value)
    }
}

/// The code that an entry is about.
#[derive(Clone, Copy)]
struct Within<'a> {
    placed: &'a Placed<'a>,
    kernel: &'a str,
    variables: &'a Variables,
    call: u32,
}

impl Within<'_> {
    /// The kernel.
    fn id(&self) -> FuncId {
        self.placed.code.kernel
    }

    /// The function.
    fn function(&self) -> FuncId {
        self.variables.calls[self.call as usize].function
    }

    /// The machine code of some of its instructions.
    fn runs(&self, instructions: &Range<u32>) -> Vec<Range<u64>> {
        self.placed.runs(self.call, instructions)
    }
}

/// A unit that is written.
struct Unit<'d, 'a> {
    module: &'d Module,
    info: &'d DebugInfo,
    dwarf: &'d gimli::Dwarf<Reader<'a>>,
    unit: gimli::Unit<Reader<'a>>,
    entries: Vec<Entry<'a>>,
    /// The entry of each function.
    functions: HashMap<FuncId, usize>,
    aliases: &'d Aliases,
    /// Variables that are at one place for all kernels.
    statics: &'d Variables,
    files: &'d [u32],
    begin: usize,
    /// Where entries have gone to, in the unit.
    moved: HashMap<usize, usize>,
    /// Where an entry is referred to by its place in the unit.
    references: Vec<(usize, usize)>,
    /// Calls of the kernel that have an entry.
    called: HashSet<u32>,
}

/// All that is written.
struct Out {
    info: Section,
    abbreviations: Abbreviations,
    locations: Lists,
    ranges: Lists,
}

/// The sections that have entries.
pub(super) fn sections(
    module: &Module,
    info: &DebugInfo,
    code: &[MachineCode<'_>],
    aliases: &Aliases,
) -> Vec<Section> {
    let dwarf = info.dwarf();
    let mut out = Out {
        info: Section::named(".debug_info"),
        abbreviations: Abbreviations::default(),
        locations: Lists::new(".debug_loc"),
        ranges: Lists::new(".debug_ranges"),
    };
    let mut files: Vec<u32> = module.files.keys().copied().collect();
    files.sort_unstable();
    let statics = statics(code);
    let placed: Vec<Placed<'_>> = code.iter().filter_map(Placed::new).collect();
    // Where entries of the PTX have gone to, in the section; and where each unit begins.
    let mut moved = HashMap::new();
    let mut units = HashMap::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Some(from) = header.debug_info_offset().map(|offset| offset.0) else { break };
        // What is damaged has no entries, as does what is of a form that nobody writes in PTX.
        let Ok(unit) = dwarf.unit(header) else { break };
        if header.version() > LAST_VERSION || header.format() != gimli::Format::Dwarf32 {
            break;
        }
        let Some(entries) = read(info, &header, &unit, from) else { break };
        let begin = out.info.bytes.len();
        let mut unit = Unit {
            module,
            info,
            dwarf: &dwarf,
            unit,
            functions: functions(info, &entries),
            entries,
            aliases,
            statics: &statics,
            files: &files,
            begin,
            moved: HashMap::new(),
            references: Vec::new(),
            called: HashSet::new(),
        };
        let bytes = info.sections.bytes(".debug_info").unwrap_or_default();
        out.info.bytes.extend(&bytes[from..from + header.size_of_header()]);
        let at = begin + ABBREVIATIONS_AT;
        let table = out.abbreviations.bytes.len() as u32;
        out.info.bytes[at..at + 4].copy_from_slice(&table.to_le_bytes());
        unit.entry(0, None, &placed, &mut out);
        out.abbreviations.end();
        let length = (out.info.bytes.len() - begin - 4) as u32;
        out.info.bytes[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
        for (place, target) in &unit.references {
            let target = unit.moved.get(target).map_or(0, |&offset| offset as u32);
            out.info.bytes[*place..place + 4].copy_from_slice(&target.to_le_bytes());
        }
        moved.extend(unit.moved.iter().map(|(old, new)| ((from, *old), *new)));
        units.insert(from, (begin, out.info.bytes.len() - begin));
    }
    if out.info.bytes.is_empty() {
        return Vec::new();
    }
    let abbreviations = Section { bytes: out.abbreviations.bytes, ..Section::named(".debug_abbrev") };
    let mut sections = vec![abbreviations, out.info];
    sections.extend([out.locations.0, out.ranges.0].into_iter().filter(|section| !section.bytes.is_empty()));
    for name in KEPT {
        let bytes = info.sections.bytes(name);
        sections.extend(bytes.map(|bytes| Section { bytes: bytes.to_vec(), ..Section::named(name) }));
    }
    for name in NAMES {
        let bytes = info.sections.bytes(name).and_then(|bytes| names::moved(bytes, &moved, &units));
        sections.extend(bytes.map(|bytes| Section { bytes, ..Section::named(name) }));
    }
    sections
}

/// The entries of a unit, the outermost first.
fn read<'a>(
    info: &'a DebugInfo,
    header: &gimli::UnitHeader<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    begin: usize,
) -> Option<Vec<Entry<'a>>> {
    let section = info.sections.bytes(".debug_info")?;
    let mut raw = header.entries_raw(&unit.abbreviations, None).ok()?;
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let mut around: Vec<usize> = Vec::new();
    while !raw.is_empty() {
        let offset = raw.next_offset().0;
        let Some(abbreviation) = raw.read_abbreviation().ok()? else {
            around.pop();
            if around.is_empty() {
                break;
            }
            continue;
        };
        let mut attributes = Vec::new();
        for &specification in abbreviation.attributes() {
            let from = raw.next_offset().0;
            let attribute = raw.read_attribute(specification).ok()?;
            let bytes = section.get(begin + from..begin + raw.next_offset().0)?;
            attributes.push(Attribute {
                name: attribute.name(),
                form: specification.form(),
                bytes,
                value: attribute.value(),
            });
        }
        let index = entries.len();
        if let Some(&outer) = around.last() {
            entries[outer].children.push(index);
        }
        let shape = Shape {
            tag: abbreviation.tag(),
            has_children: abbreviation.has_children(),
            attributes: attributes.iter().map(|attribute| (attribute.name, attribute.form)).collect(),
        };
        if shape.has_children {
            around.push(index);
        }
        if around.len() > DEEPEST {
            return None;
        }
        entries.push(Entry { offset, shape, attributes, children: Vec::new() });
        if around.is_empty() {
            break;
        }
    }
    (!entries.is_empty()).then_some(entries)
}

/// The entries of functions that have code in PTX.
fn functions(info: &DebugInfo, entries: &[Entry<'_>]) -> HashMap<FuncId, usize> {
    let of = |(index, entry): (usize, &Entry<'_>)| {
        let Some(AttributeValue::Addr(low)) = entry.value(dw::DW_AT_low_pc) else { return None };
        match info.addresses.place(low)? {
            Place::Code { function, .. } if entry.shape.tag == dw::DW_TAG_subprogram => {
                Some((function, index))
            }
            _ => None,
        }
    };
    entries.iter().enumerate().filter_map(of).collect()
}

/// The variables that are at one place for all kernels.
fn statics(code: &[MachineCode<'_>]) -> Variables {
    let mut homes: HashMap<(u32, VarId), Option<Home>> = HashMap::new();
    for variables in code.iter().filter_map(|code| code.variables) {
        for (&key, &home) in &variables.homes {
            let known = homes.entry(key).or_insert(Some(home));
            *known = known.filter(|known| *known == home && !matches!(home, Home::Frame(_)));
        }
    }
    let homes = homes.into_iter().filter_map(|(key, home)| Some((key, home?))).collect();
    Variables { homes, ..Variables::default() }
}

/// How an entry says which code it is about.
enum Scope {
    /// None of it.
    Nothing,
    /// All of a run of a kernel.
    Run(FuncId, Range<u64>),
    /// Several.
    Runs(FuncId, Vec<Range<u64>>),
}

impl Scope {
    fn new(kernel: FuncId, mut runs: Vec<Range<u64>>) -> Self {
        match runs.len() {
            0 => Self::Nothing,
            1 => Self::Run(kernel, runs.remove(0)),
            _ => Self::Runs(kernel, runs),
        }
    }
}

impl<'d> Unit<'d, '_> {
    /// Writes an entry and those within it. `within` is the code that the entry around it is about.
    fn entry<'c>(&mut self, index: usize, within: Option<Within<'c>>, all: &'c [Placed<'c>], out: &mut Out)
    where
        'd: 'c,
    {
        let place = out.info.bytes.len() - self.begin;
        // A copy is not what others refer to.
        self.moved.entry(self.entries[index].offset).or_insert(place);
        let own = self.entries[index].shape.tag == dw::DW_TAG_subprogram;
        let within = match within {
            None if own => self.kernel(index, all),
            other => other,
        };
        let instructions = self.instructions(index, within);
        let scope = match (within, &instructions) {
            (Some(within), _) if own => {
                let bytes = match u64::from(within.variables.own) == within.placed.code.origins.len() as u64 {
                    true => within.placed.code.bytes,
                    false => u64::from(within.variables.own) * BYTES,
                };
                Scope::Run(within.id(), 0..bytes)
            }
            (Some(within), Some(instructions)) => {
                let runs = within.runs(instructions);
                Scope::new(within.id(), runs)
            }
            _ => Scope::Nothing,
        };
        // A kernel's entry has those of its calls, if nothing else.
        let has_calls = own && within.is_some_and(|within| within.variables.calls.len() > 1);
        let mut shape = self.entries[index].shape.clone();
        shape.has_children |= has_calls;
        let has_children = shape.has_children;
        let sibling = self.attributes(index, shape, within, &scope, out);
        if has_children {
            for child in self.entries[index].children.clone() {
                self.entry(child, within, all, out);
            }
            if let (Some(within), Some(instructions)) = (within, instructions) {
                self.calls(within, &instructions, all, out);
            }
            out.info.bytes.push(0);
        }
        if let Some(place) = sibling {
            let next = (out.info.bytes.len() - self.begin) as u32;
            out.info.bytes[place..place + 4].copy_from_slice(&next.to_le_bytes());
        }
    }

    /// The kernel that an entry is of.
    fn kernel<'c>(&mut self, index: usize, all: &'c [Placed<'c>]) -> Option<Within<'c>>
    where
        'd: 'c,
    {
        let (function, _) = self.functions.iter().find(|(_, entry)| **entry == index)?;
        let placed = all.iter().find(|placed| placed.code.kernel == *function)?;
        self.called.clear();
        let kernel = &self.module.functions[function.index()].name;
        Some(Within { placed, kernel, variables: placed.variables, call: 0 })
    }

    /// The instructions of PTX that an entry is about, if it is about some of them in a row.
    fn instructions(&self, index: usize, within: Option<Within<'_>>) -> Option<Range<u32>> {
        let entry = &self.entries[index];
        let function = within?.function();
        let Some(AttributeValue::Addr(low)) = entry.value(dw::DW_AT_low_pc) else { return None };
        let high = match entry.value(dw::DW_AT_high_pc)? {
            AttributeValue::Addr(high) => high,
            value => low.checked_add(value.udata_value()?)?,
        };
        self.of_addresses(function, low..high)
    }

    fn of_addresses(&self, of: FuncId, range: Range<u64>) -> Option<Range<u32>> {
        let at = |address| match self.info.addresses.place(address)? {
            Place::Code { function, instruction } if function == of => Some(instruction),
            _ => None,
        };
        Some(at(range.start)?..at(range.end)?)
    }

    /// The entries of calls that stand in some instructions and have none yet.
    fn calls<'c>(
        &mut self,
        within: Within<'c>,
        instructions: &Range<u32>,
        all: &'c [Placed<'c>],
        out: &mut Out,
    ) where
        'd: 'c,
    {
        for (call, of) in (0..).zip(&within.variables.calls) {
            let Some((outer, site)) = of.site else { continue };
            if outer != within.call || !instructions.contains(&site) || !self.called.insert(call) {
                continue;
            }
            let Some(&index) = self.functions.get(&of.function) else { continue };
            let caller = within.variables.calls[outer as usize].function;
            let whole = 0..u32::MAX;
            let within = Within { call, ..within };
            let runs = within.runs(&whole);
            self.inlined(index, (caller, site), &Scope::new(within.id(), runs), out);
            for child in self.entries[index].children.clone() {
                self.entry(child, Some(within), all, out);
            }
            self.calls(within, &whole, all, out);
            out.info.bytes.push(0);
        }
    }

    /// The entry of a call that was inlined.
    fn inlined(&mut self, index: usize, (caller, site): (FuncId, u32), scope: &Scope, out: &mut Out) {
        let loc = self.module.loc(caller, site);
        let mut attributes = vec![(dw::DW_AT_abstract_origin, dw::DW_FORM_ref4)];
        attributes.extend(scope_attributes(scope));
        if loc.is_some() {
            attributes
                .extend([dw::DW_AT_call_file, dw::DW_AT_call_line].map(|name| (name, dw::DW_FORM_udata)));
        }
        let shape = Shape { tag: dw::DW_TAG_inlined_subroutine, has_children: true, attributes };
        let code = out.abbreviations.code(shape);
        out.info.bytes.extend(Leb128::unsigned(code).bytes());
        self.references.push((out.info.bytes.len(), self.entries[index].offset));
        out.info.bytes.extend([0; 4]);
        write_scope(scope, out);
        if let Some(loc) = loc {
            for number in [self.file(loc.file.into()), loc.line.into()] {
                out.info.bytes.extend(Leb128::unsigned(number).bytes());
            }
        }
    }

    /// The form of the place of a list.
    fn list_form(&self) -> DwForm {
        if self.unit.header.version() < LAST_VERSION { dw::DW_FORM_data4 } else { dw::DW_FORM_sec_offset }
    }

    /// The number of a file in the table of lines.
    fn file(&self, of_ptx: u64) -> u64 {
        let place = u32::try_from(of_ptx).ok().and_then(|file| self.files.binary_search(&file).ok());
        place.map_or(of_ptx, |index| index as u64 + 1)
    }

    /// The code of an entry's shape, and its attributes. Says where the place of the next entry is to be written, if it has one.
    fn attributes(
        &mut self,
        index: usize,
        mut shape: Shape,
        within: Option<Within<'_>>,
        scope: &Scope,
        out: &mut Out,
    ) -> Option<usize> {
        let mut sibling = None;
        let is_unit = shape.tag == dw::DW_TAG_compile_unit || shape.tag == dw::DW_TAG_partial_unit;
        let is_range = |name| name == dw::DW_AT_low_pc || name == dw::DW_AT_high_pc;
        let has_range = [dw::DW_AT_low_pc, dw::DW_AT_high_pc]
            .iter()
            .all(|name| shape.attributes.iter().any(|(known, _)| known == name));
        // Of code in pieces all that follows stands in a list.
        let in_pieces = has_range && matches!(scope, Scope::Runs(..));
        if in_pieces {
            shape.attributes.retain(|(name, _)| !is_range(*name));
            shape.attributes.extend(scope_attributes(scope));
        }
        let location = self.entries[index].value(dw::DW_AT_location);
        let located = location.map(|value| self.location(value, within, out));
        let in_frame = matches!(
            located,
            Some(Located::Expression { in_frame: true, .. } | Located::Settled { in_frame: true, .. })
        );
        if matches!(located, Some(Located::Settled { .. })) {
            let form = shape.attributes.iter_mut().find(|(name, _)| *name == dw::DW_AT_location);
            form.into_iter().for_each(|(_, form)| *form = self.list_form());
        }
        // Of a copy readers are told of what, or they take both for entries of the call.
        let is_copy = within.is_some_and(|within| within.call != 0)
            && !shape.attributes.iter().any(|(name, _)| *name == dw::DW_AT_abstract_origin);
        if is_copy {
            shape.attributes.insert(0, (dw::DW_AT_abstract_origin, dw::DW_FORM_ref4));
        }
        let code = out.abbreviations.code(shape);
        out.info.bytes.extend(Leb128::unsigned(code).bytes());
        if is_copy {
            self.references.push((out.info.bytes.len(), self.entries[index].offset));
            out.info.bytes.extend([0; 4]);
        }
        for number in 0..self.entries[index].attributes.len() {
            let attribute = &self.entries[index].attributes[number];
            let (name, form, bytes, value) =
                (attribute.name, attribute.form, attribute.bytes, attribute.value);
            match (name, &located) {
                (name, _) if is_range(name) && in_pieces => {}
                (name, _) if is_range(name) => {
                    let bounds = match scope {
                        Scope::Run(kernel, run) if has_range => Some((*kernel, run.clone())),
                        _ => None,
                    };
                    let label = || self.label(value, within);
                    let at = match (bounds, name == dw::DW_AT_low_pc) {
                        (Some((kernel, run)), true) => Some((kernel, run.start)),
                        (Some((kernel, run)), false) if form == dw::DW_FORM_addr => Some((kernel, run.end)),
                        (Some((_, run)), false) => {
                            number_as(form, run.end - run.start, &mut out.info.bytes);
                            continue;
                        }
                        (None, _) if has_range || is_unit => None,
                        (None, _) => label(),
                    };
                    match at {
                        Some((kernel, at)) => out.info.address(Symbol::Kernel(kernel), at),
                        None => out.info.bytes.extend(bytes.iter().map(|_| 0)),
                    }
                }
                (dw::DW_AT_ranges, _) => {
                    let list = self.ranges(value, within, out);
                    number_as(form, list.into(), &mut out.info.bytes);
                }
                (dw::DW_AT_location, Some(Located::Expression { code, .. })) => {
                    block_as(form, code, &mut out.info);
                }
                (dw::DW_AT_location, Some(Located::Settled { list, .. })) => {
                    number_as(self.list_form(), (*list).into(), &mut out.info.bytes);
                }
                (dw::DW_AT_location, Some(Located::List(list))) => {
                    number_as(form, (*list).into(), &mut out.info.bytes);
                }
                (dw::DW_AT_address_class, _) if in_frame => {
                    number_as(form, AddressClass::Local.code(), &mut out.info.bytes);
                }
                (dw::DW_AT_decl_file | dw::DW_AT_call_file, _) => match value.udata_value() {
                    Some(file) => number_as(form, self.file(file), &mut out.info.bytes),
                    None => match value {
                        AttributeValue::FileIndex(file) => {
                            number_as(form, self.file(file), &mut out.info.bytes);
                        }
                        _ => out.info.bytes.extend(bytes),
                    },
                },
                (dw::DW_AT_sibling, _) if form == dw::DW_FORM_ref4 => {
                    sibling = Some(out.info.bytes.len());
                    out.info.bytes.extend([0; 4]);
                }
                _ => match value {
                    AttributeValue::UnitRef(target) if form == dw::DW_FORM_ref4 => {
                        self.references.push((out.info.bytes.len(), target.0));
                        out.info.bytes.extend([0; 4]);
                    }
                    _ => out.info.bytes.extend(bytes),
                },
            }
        }
        if in_pieces {
            write_scope(scope, out);
        }
        sibling
    }

    /// The machine code of a place in PTX.
    fn label(&self, value: AttributeValue<Reader<'_>>, within: Option<Within<'_>>) -> Option<(FuncId, u64)> {
        let within = within?;
        let AttributeValue::Addr(address) = value else { return None };
        let function = within.function();
        match self.info.addresses.place(address)? {
            Place::Code { function: of, instruction } if of == function => {
                let behind = instruction..u32::MAX;
                let runs = within.runs(&behind);
                Some((within.id(), runs.first()?.start))
            }
            _ => None,
        }
    }

    /// A list of ranges, if an entry has one.
    fn ranges(&self, value: AttributeValue<Reader<'_>>, within: Option<Within<'_>>, out: &mut Out) -> u32 {
        let list = out.ranges.next();
        let mut all = Vec::new();
        if let Some(within) = within
            && let Some(offset) = value.offset_value()
            && let Ok(mut ranges) = self.dwarf.ranges(&self.unit, gimli::RangeListsOffset(offset))
        {
            let function = within.function();
            while let Ok(Some(range)) = ranges.next() {
                if let Some(instructions) = self.of_addresses(function, range.begin..range.end) {
                    all.extend(within.runs(&instructions));
                }
            }
            all.iter().for_each(|run| out.ranges.range(within.id(), run));
        }
        out.ranges.end();
        list
    }

    /// Where a variable is.
    fn location(
        &self,
        value: AttributeValue<Reader<'_>>,
        within: Option<Within<'_>>,
        out: &mut Out,
    ) -> Located {
        let (kernel, variables, call) = match within {
            Some(within) => (within.kernel, within.variables, within.call),
            None => ("", self.statics, 0),
        };
        let context = Context {
            addresses: &self.info.addresses,
            encoding: self.unit.encoding(),
            aliases: self.aliases,
            kernel,
            variables,
            call,
        };
        if let Some(expression) = value.exprloc_value() {
            let written = context.rewrite(expression.0.slice()).unwrap_or_default();
            let settled = variables.settled.as_ref().filter(|_| written.varies);
            let Some((within, settled)) = within.zip(settled) else {
                return Located::Expression { code: written.code, in_frame: written.in_frame };
            };
            let list = out.locations.next();
            for run in settled {
                let bytes = u64::from(run.start) * BYTES..u64::from(run.end) * BYTES;
                out.locations.location(within.id(), &bytes, &written.code);
            }
            out.locations.end();
            return Located::Settled { list, in_frame: written.in_frame };
        }
        let list = out.locations.next();
        if let Some(within) = within
            && let Ok(Some(mut all)) = self.dwarf.attr_locations(&self.unit, value)
        {
            let function = within.function();
            while let Ok(Some(entry)) = all.next() {
                let instructions = self.of_addresses(function, entry.range.begin..entry.range.end);
                let written = context.rewrite(entry.data.0.slice());
                let Some((instructions, written)) = instructions.zip(written) else { continue };
                for run in within.runs(&instructions) {
                    out.locations.location(within.id(), &run, &written.code);
                }
            }
        }
        out.locations.end();
        Located::List(list)
    }
}

/// Where a variable is, as it is written.
enum Located {
    /// At one place, and whether that is counted from the frame. If it is nowhere, the expression is empty.
    Expression { code: Section, in_frame: bool },
    /// By a list of `.debug_loc`, where there was one.
    List(u32),
    /// By such a list in place of an expression, as memory is not always what it should be.
    Settled { list: u32, in_frame: bool },
}

/// The attributes that say which code an entry is about.
fn scope_attributes(scope: &Scope) -> Vec<(DwAt, DwForm)> {
    match scope {
        Scope::Runs(..) => vec![(dw::DW_AT_ranges, dw::DW_FORM_data4)],
        Scope::Nothing | Scope::Run(..) => {
            [dw::DW_AT_low_pc, dw::DW_AT_high_pc].map(|name| (name, dw::DW_FORM_addr)).to_vec()
        }
    }
}

/// The values of these.
fn write_scope(scope: &Scope, out: &mut Out) {
    match scope {
        Scope::Nothing => out.info.bytes.extend([0; 16]),
        Scope::Run(kernel, run) => {
            out.info.address(Symbol::Kernel(*kernel), run.start);
            out.info.address(Symbol::Kernel(*kernel), run.end);
        }
        Scope::Runs(kernel, runs) => {
            out.info.bytes.extend(out.ranges.next().to_le_bytes());
            runs.iter().for_each(|run| out.ranges.range(*kernel, run));
            out.ranges.end();
        }
    }
}
