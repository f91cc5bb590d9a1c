//! What a debugger reads of a cubin: which variables are in sight at an address, and where they are.

use cubin::elf::Elf;
use debug_info::machine_code::registers::{self, Entry, REGISTERS};
use gimli::{AttributeValue, EndianSlice, LittleEndian, Reader as _, constants as dw};
use std::collections::BTreeMap;

type Reader<'a> = EndianSlice<'a, LittleEndian>;
type Node<'a> = gimli::DebuggingInformationEntry<Reader<'a>>;

/// Code of a kernel lies at a multiple of this, variables in constant memory above all of it.
const APART: u64 = 1 << 40;
pub(crate) const CONSTANTS: u64 = 1 << 60;

/// A cubin that has been loaded.
pub(crate) struct Cubin {
    sections: BTreeMap<String, Vec<u8>>,
    kernels: BTreeMap<String, u64>,
    registers: BTreeMap<String, Vec<Entry>>,
    /// Constant bank 3.
    pub(crate) constants: Vec<u8>,
}

/// Where a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Register(String),
    /// An address, in the memory of a class.
    Memory(u64, Option<u64>),
    /// Bytes from where the frame begins.
    Frame(i64),
    /// Nowhere, but it has this value.
    Value(u64),
    /// In pieces of so many bytes.
    Pieces(Vec<(Place, u64)>),
    Nowhere,
}

/// A variable in sight.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) size: Option<u64>,
    pub(crate) place: Place,
}

impl Cubin {
    /// `address` is that of a variable in global memory.
    pub(crate) fn load(bytes: &[u8], address: impl Fn(&str) -> Option<u64>) -> Self {
        let elf = Elf::parse(bytes).expect("a cubin");
        let table = elf.symbol_table().expect("symbols");
        let symbols = elf.symbols().expect("symbols");
        let name =
            |number: u32| String::from_utf8_lossy(elf.section_name(number).expect("a name")).into_owned();
        let mut kernels = BTreeMap::new();
        let mut bases = Vec::new();
        for symbol in &symbols {
            let own = String::from_utf8_lossy(elf.symbol_name(symbol).expect("a name")).into_owned();
            let section = elf.symbol_section(table, symbol);
            let within = (section > 0 && section < elf.sections.len() as u32).then(|| name(section));
            bases.push(match within {
                Some(section) if section.starts_with(".text.") => {
                    let next = (kernels.len() as u64 + 1) * APART;
                    Some(*kernels.entry(own).or_insert(next))
                }
                Some(section) if section.starts_with(".nv.constant3") => Some(CONSTANTS + symbol.value),
                _ => address(&own),
            });
        }
        let mut sections = BTreeMap::new();
        for number in 1..elf.sections.len() as u32 {
            sections.insert(name(number), elf.sections[number as usize].data().to_vec());
        }
        for number in 1..elf.sections.len() as u32 {
            let Some(of) = name(number).strip_prefix(".rela").map(str::to_owned) else { continue };
            let Some(bytes) = sections.get_mut(&of).filter(|_| of.contains("debug")) else { continue };
            for relocation in elf.relocations(number).expect("relocations") {
                let base = bases[relocation.symbol as usize].expect("a symbol with an address");
                let value = base.wrapping_add_signed(relocation.addend.expect("an addend"));
                let at = relocation.offset as usize;
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        let registers = registers::read(&sections[REGISTERS]);
        let constants = sections.get(".nv.constant3").cloned().unwrap_or_default();
        Self { sections, kernels, registers, constants }
    }

    fn dwarf(&self) -> gimli::Dwarf<Reader<'_>> {
        let section = |id: gimli::SectionId| {
            let bytes = self.sections.get(id.name()).map_or(&[][..], Vec::as_slice);
            Ok::<_, std::convert::Infallible>(EndianSlice::new(bytes, LittleEndian))
        };
        let Ok(dwarf) = gimli::Dwarf::load(section);
        dwarf
    }

    /// The variables in sight in front of an instruction of a kernel, each with its function: those of inner blocks and of functions that
    /// were inlined, by whomever, come first, those of the unit last.
    pub(crate) fn in_sight(&self, kernel: &str, offset: u64) -> Vec<(String, Variable)> {
        let at = self.kernels[kernel] + offset;
        let dwarf = self.dwarf();
        let mut scopes: Vec<(String, Vec<Variable>)> = Vec::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().expect("a unit") {
            let unit = dwarf.unit(header).expect("a unit");
            let mut tree = unit.entries_tree(None).expect("entries");
            let root = tree.root().expect("a root");
            let mut own = Vec::new();
            let mut children = root.children();
            let mut found = false;
            while let Some(child) = children.next().expect("entries") {
                match child.entry().tag() {
                    dw::DW_TAG_variable => own.push(variable(&dwarf, &unit, child.entry(), at)),
                    _ => found |= visit(&dwarf, &unit, child, at, &mut scopes),
                }
            }
            if found {
                scopes.insert(0, (String::new(), own));
            }
        }
        let of = |(name, all): (String, Vec<Variable>)| all.into_iter().map(move |one| (name.clone(), one));
        scopes.into_iter().rev().flat_map(of).collect()
    }

    /// The entries but for calls that were inlined: depth, tag, name, and which places a variable has, but not from where to where.
    pub(crate) fn outline(&self) -> String {
        let dwarf = self.dwarf();
        let mut lines = String::new();
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().expect("a unit") {
            let unit = dwarf.unit(header).expect("a unit");
            let mut entries = unit.entries();
            let mut within = None;
            while let Some(entry) = entries.next_dfs().expect("entries") {
                let depth = entry.depth();
                if within.is_some_and(|outer| depth > outer) {
                    continue;
                }
                within = (entry.tag() == dw::DW_TAG_inlined_subroutine).then_some(depth);
                if within.is_none() {
                    let indent = usize::try_from(depth).expect("no less than none") * 2;
                    let places = self.places(&dwarf, &unit, entry);
                    let line =
                        format!("{:indent$}{} {} {places}", "", entry.tag(), name(&dwarf, &unit, entry));
                    lines += line.trim_end();
                    lines.push('\n');
                }
            }
        }
        lines
    }

    fn places<'a>(
        &self,
        dwarf: &gimli::Dwarf<Reader<'a>>,
        unit: &gimli::Unit<Reader<'a>>,
        entry: &Node<'a>,
    ) -> String {
        let class = entry.attr_value(dw::DW_AT_address_class).and_then(|value| match value {
            AttributeValue::AddressClass(class) => Some(class.0),
            value => value.udata_value(),
        });
        let Some(value) = entry.attr_value(dw::DW_AT_location) else { return String::new() };
        let mut places = Vec::new();
        match value.exprloc_value() {
            Some(expression) => places.push(evaluate(expression.0, class)),
            None => {
                let mut list = dwarf.attr_locations(unit, value).expect("a list").expect("a list");
                while let Some(entry) = list.next().expect("an entry") {
                    places.push(evaluate(entry.data.0, class));
                }
            }
        }
        // Where in the frame a variable is, and where symbols are, is everybody's own affair.
        let text = |place: &Place| match place {
            Place::Register(name) => name.clone(),
            Place::Memory(address, class) if *address < APART => format!("{address:#x} class {class:?}"),
            Place::Memory(_, class) => format!("symbol class {class:?}"),
            Place::Frame(_) => "frame".to_owned(),
            other => format!("{other:?}"),
        };
        let mut texts: Vec<String> = places.iter().map(text).collect();
        texts.sort();
        texts.dedup();
        texts.join(", ")
    }

    /// Where the parts of a register are in front of an instruction; nothing if one is nowhere.
    pub(crate) fn parts(&self, kernel: &str, offset: u64, register: &str) -> Option<Vec<Vec<&Entry>>> {
        let named: Vec<_> =
            self.registers.get(kernel)?.iter().filter(|entry| entry.register == register).collect();
        let count = named.iter().map(|entry| entry.part).max()? + 1;
        let here = |entry: &&&Entry| entry.addresses.contains(&(offset as u32));
        let of = |part| named.iter().filter(here).filter(|e| e.part == part).copied().collect();
        let parts: Vec<Vec<&Entry>> = (0..count).map(of).collect();
        parts.iter().all(|places| !places.is_empty()).then_some(parts)
    }

    /// How far above R1 the frame begins.
    pub(crate) fn frame(&self, kernel: &str, offset: u64) -> u64 {
        let at = self.kernels[kernel] + offset;
        let section = &self.sections[".debug_frame"];
        let word = |at: usize| u64::from_le_bytes(section[at..at + 8].try_into().expect("eight bytes"));
        let mut next = 0;
        while next < section.len() {
            assert_eq!(section[next..next + 4], [0xff; 4], "a length of 64 bits");
            let (begin, end) = (next + 12, next + 12 + word(next + 4) as usize);
            next = end;
            let (first, bytes) = (word(begin + 8), word(begin + 16));
            if word(begin) == u64::MAX || !(first..first + bytes).contains(&at) {
                continue;
            }
            let mut rest = EndianSlice::new(&section[begin + 24..end], LittleEndian);
            let (mut cfa, mut place) = (0, first);
            while let Ok(opcode) = rest.read_u8() {
                match gimli::DwCfa(opcode) {
                    dw::DW_CFA_nop => {}
                    dw::DW_CFA_advance_loc4 => place += u64::from(rest.read_u32().expect("a delta")) * 4,
                    dw::DW_CFA_def_cfa => {
                        assert_eq!(rest.read_uleb128(), Ok(0x0500_0001), "R1");
                        let bytes = rest.read_uleb128().expect("an offset");
                        if place <= at {
                            cfa = bytes;
                        }
                    }
                    other => panic!("{other}"),
                }
            }
            return cfa;
        }
        panic!("no frame at {offset:#x} of {kernel}");
    }
}

/// Goes into an entry if it is about an address.
fn visit<'a>(
    dwarf: &gimli::Dwarf<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    node: gimli::EntriesTreeNode<'_, '_, Reader<'a>>,
    at: u64,
    scopes: &mut Vec<(String, Vec<Variable>)>,
) -> bool {
    let entry = node.entry();
    let is_function = matches!(entry.tag(), dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine);
    if !is_function && entry.tag() != dw::DW_TAG_lexical_block {
        return false;
    }
    let mut ranges = dwarf.die_ranges(unit, entry).expect("ranges");
    let mut covers = false;
    while let Some(range) = ranges.next().expect("a range") {
        covers |= (range.begin..range.end).contains(&at);
    }
    if !covers {
        return false;
    }
    let function = match (is_function, scopes.last()) {
        (false, Some((around, _))) => around.clone(),
        _ => name(dwarf, unit, entry),
    };
    let scope = scopes.len();
    scopes.push((function, Vec::new()));
    let mut children = node.children();
    while let Some(child) = children.next().expect("entries") {
        match child.entry().tag() {
            dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                let found = variable(dwarf, unit, child.entry(), at);
                scopes[scope].1.push(found);
            }
            _ => {
                visit(dwarf, unit, child, at, scopes);
            }
        }
    }
    true
}

/// The name of an entry, or of what it refers to.
fn name<'a>(dwarf: &gimli::Dwarf<Reader<'a>>, unit: &gimli::Unit<Reader<'a>>, entry: &Node<'a>) -> String {
    if let Some(value) = entry.attr_value(dw::DW_AT_name) {
        return dwarf.attr_string(unit, value).expect("a string").to_string_lossy().into_owned();
    }
    for refers in [dw::DW_AT_abstract_origin, dw::DW_AT_specification] {
        if let Some(AttributeValue::UnitRef(offset)) = entry.attr_value(refers) {
            return name(dwarf, unit, &unit.entry(offset).expect("an entry"));
        }
    }
    String::new()
}

fn variable<'a>(
    dwarf: &gimli::Dwarf<Reader<'a>>,
    unit: &gimli::Unit<Reader<'a>>,
    entry: &Node<'a>,
    at: u64,
) -> Variable {
    let class = match entry.attr_value(dw::DW_AT_address_class) {
        Some(AttributeValue::AddressClass(class)) => Some(class.0),
        other => other.and_then(|value| value.udata_value()),
    };
    let expression = entry.attr_value(dw::DW_AT_location).and_then(|value| match value.exprloc_value() {
        Some(expression) => Some(expression),
        None => {
            let mut list = dwarf.attr_locations(unit, value).expect("a list")?;
            while let Some(entry) = list.next().expect("an entry") {
                if (entry.range.begin..entry.range.end).contains(&at) {
                    return Some(entry.data);
                }
            }
            None
        }
    });
    let constant = entry
        .attr_value(dw::DW_AT_const_value)
        .and_then(|value| value.sdata_value().map(i64::cast_unsigned).or_else(|| value.udata_value()));
    let place = match constant {
        Some(value) => Place::Value(value),
        None => expression.map_or(Place::Nowhere, |expression| evaluate(expression.0, class)),
    };
    Variable { name: name(dwarf, unit, entry), size: size(unit, ty(unit, entry)), place }
}

fn evaluate(mut bytes: Reader<'_>, class: Option<u64>) -> Place {
    let (mut place, mut pieces) = (Place::Nowhere, Vec::new());
    while let Ok(opcode) = bytes.read_u8() {
        place = match (gimli::DwOp(opcode), place) {
            (dw::DW_OP_addr, Place::Nowhere) => Place::Memory(bytes.read_u64().expect("an address"), class),
            (dw::DW_OP_regx, Place::Nowhere) => {
                let number = bytes.read_uleb128().expect("a number").to_be_bytes();
                let name = number.iter().skip_while(|&&byte| byte == 0).map(|&byte| char::from(byte));
                Place::Register(name.collect())
            }
            (dw::DW_OP_fbreg, Place::Nowhere) => {
                assert_eq!(class, Some(6), "the frame is in local memory");
                Place::Frame(bytes.read_sleb128().expect("an offset"))
            }
            (dw::DW_OP_plus_uconst, place) => {
                let more = bytes.read_uleb128().expect("an offset");
                match place {
                    Place::Memory(address, class) => Place::Memory(address + more, class),
                    Place::Frame(offset) => Place::Frame(offset + more.cast_signed()),
                    other => panic!("{other:?} and {more}"),
                }
            }
            (gimli::DwOp(number @ 0x30..=0x4f), Place::Nowhere) => {
                Place::Memory(u64::from(number) - 0x30, class)
            }
            (dw::DW_OP_constu, Place::Nowhere) => {
                Place::Memory(bytes.read_uleb128().expect("a number"), class)
            }
            (dw::DW_OP_consts, Place::Nowhere) => {
                Place::Memory(bytes.read_sleb128().expect("a number").cast_unsigned(), class)
            }
            (dw::DW_OP_stack_value, Place::Memory(value, _)) => Place::Value(value),
            (dw::DW_OP_nop, place) => place,
            (dw::DW_OP_piece, place) => {
                pieces.push((place, bytes.read_uleb128().expect("a size")));
                Place::Nowhere
            }
            (other, place) => panic!("{other} behind {place:?}"),
        };
    }
    if pieces.is_empty() { place } else { Place::Pieces(pieces) }
}

fn ty<'a>(unit: &gimli::Unit<Reader<'a>>, entry: &Node<'a>) -> Option<Node<'a>> {
    match entry.attr_value(dw::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => unit.entry(offset).ok(),
        _ => None,
    }
}

/// Bytes of a type.
fn size<'a>(unit: &gimli::Unit<Reader<'a>>, of: Option<Node<'a>>) -> Option<u64> {
    let of = of?;
    if let Some(size) = of.attr_value(dw::DW_AT_byte_size).and_then(|value| value.udata_value()) {
        return Some(size);
    }
    match of.tag() {
        dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => Some(8),
        dw::DW_TAG_array_type => {
            let mut tree = unit.entries_tree(Some(of.offset())).ok()?;
            let mut children = tree.root().ok()?.children();
            let mut all = size(unit, ty(unit, &of))?;
            while let Some(child) = children.next().ok()? {
                let count = child.entry().attr_value(dw::DW_AT_count).and_then(|value| value.udata_value());
                let last = child.entry().attr_value(dw::DW_AT_upper_bound);
                all *= count.or_else(|| Some(last?.udata_value()? + 1))?;
            }
            Some(all)
        }
        _ => size(unit, ty(unit, &of)),
    }
}
