//! Every entry of `.debug_info` with its attributes, for people.

use crate::location::{self, Address, AddressClass, Base, Location};
use crate::{DebugInfo, Place, Reader};
use gimli::{AttributeValue, constants as dw};
use ptx::module::Module;

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its offset in `.debug_info`.
    pub offset: u64,
    /// How many are around it.
    pub depth: usize,
    /// `DW_TAG_subprogram` ...
    pub tag: String,
    /// Its attributes, in their order.
    pub attributes: Vec<Attribute>,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// `DW_AT_name` ...
    pub name: String,
    /// Its value.
    pub value: String,
}

/// All entries that can be read; why reading has ended early stands in [`DebugInfo::problems`].
pub(crate) fn entries(info: &DebugInfo, module: &Module) -> Vec<Entry> {
    let dwarf = info.dwarf();
    let mut found = Vec::new();
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let Some(offset) = entry.offset().to_debug_info_offset(&unit.header) else { continue };
            let text = Text { info, module, dwarf: &dwarf, unit: &unit };
            found.push(Entry {
                offset: offset.0 as u64,
                depth: usize::try_from(entry.depth()).unwrap_or(0),
                tag: entry.tag().to_string(),
                attributes: entry.attrs().iter().map(|attribute| text.attribute(attribute)).collect(),
            });
        }
    }
    found
}

struct Text<'d, 'a> {
    info: &'d DebugInfo,
    module: &'d Module,
    dwarf: &'d gimli::Dwarf<Reader<'a>>,
    unit: &'d gimli::Unit<Reader<'a>>,
}

impl<'a> Text<'_, 'a> {
    fn attribute(&self, attribute: &gimli::Attribute<Reader<'a>>) -> Attribute {
        let name = match attribute.name() {
            dw::DW_AT_MIPS_linkage_name => "DW_AT_MIPS_linkage_name".to_owned(),
            name => name.to_string(),
        };
        Attribute { name, value: self.value(attribute) }
    }

    fn value(&self, attribute: &gimli::Attribute<Reader<'a>>) -> String {
        let value = attribute.value();
        if let Ok(text) = self.dwarf.attr_string(self.unit, value) {
            return format!("\"{}\"", text.to_string_lossy().escape_debug());
        }
        if let (dw::DW_AT_location | dw::DW_AT_frame_base, Some(expression)) =
            (attribute.name(), value.exprloc_value())
        {
            let (encoding, addresses) = (self.unit.encoding(), &self.info.addresses);
            let place = location::evaluate(expression.0.slice(), None, encoding, addresses);
            return self.info.location_text(self.module, &place);
        }
        match value {
            AttributeValue::Addr(address) => self.info.address_text(self.module, address),
            AttributeValue::UnitRef(offset) => match offset.to_debug_info_offset(&self.unit.header) {
                Some(offset) => format!("<{:#x}>", offset.0),
                None => "<outside of its unit>".to_owned(),
            },
            AttributeValue::DebugInfoRef(offset) => format!("<{:#x}>", offset.0),
            AttributeValue::AddressClass(class) => match AddressClass::of_code(class.0) {
                Some(known) => format!("{} ({})", class.0, known.name()),
                None => class.0.to_string(),
            },
            AttributeValue::Language(language) => language.to_string(),
            AttributeValue::Encoding(encoding) => encoding.to_string(),
            AttributeValue::Inline(inline) => inline.to_string(),
            AttributeValue::FileIndex(index) => match u32::try_from(index) {
                Ok(index) if self.module.files.contains_key(&index) => {
                    format!("{index} ({})", self.module.file_name(index))
                }
                _ => index.to_string(),
            },
            AttributeValue::Flag(flag) => flag.to_string(),
            AttributeValue::LocationListsRef(offset) => format!(".debug_loc+{:#x}", offset.0),
            AttributeValue::DebugLineRef(offset) => format!(".debug_line+{:#x}", offset.0),
            AttributeValue::RangeListsRef(offset) => format!(".debug_ranges+{:#x}", offset.0),
            AttributeValue::Exprloc(expression) => bytes(expression.0.slice()),
            AttributeValue::Block(block) => bytes(block.slice()),
            other => match other.udata_value() {
                Some(number) => number.to_string(),
                None => match other.sdata_value() {
                    Some(number) => number.to_string(),
                    None => format!("{other:?}"),
                },
            },
        }
    }
}

fn bytes(bytes: &[u8]) -> String {
    let bytes: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

impl DebugInfo {
    /// An address by what it stands for: `_Z3fooii+2`, the number of an instruction behind a function's name, or `table+8`.
    pub fn address_text(&self, module: &Module, address: u64) -> String {
        match self.addresses.place(address) {
            Some(place) => place_text(module, place),
            None => format!("{address:#x}"),
        }
    }

    /// A location for people: `%r1`, `[__local_depot2+8]`.
    pub fn location_text(&self, module: &Module, location: &Location) -> String {
        match location {
            Location::Register(name) => name.clone(),
            Location::Memory(address) => format!("[{}]", symbolic(module, address)),
            Location::Value(address) => symbolic(module, address),
            Location::Bytes(value) => bytes(value),
            Location::Pieces(pieces) => {
                let piece = |(place, size): &(Option<Location>, u64)| {
                    let place = place.as_ref().unwrap_or(&Location::Nowhere);
                    format!("{}: {size} bytes", self.location_text(module, place))
                };
                pieces.iter().map(piece).collect::<Vec<_>>().join(", ")
            }
            Location::Nowhere => "optimized out".to_owned(),
            Location::Unknown(why) => format!("not understood: {why}"),
        }
    }
}

fn place_text(module: &Module, place: Place) -> String {
    let (name, offset) = match place {
        Place::Code { function, instruction } => {
            (&module.functions[function.index()].name, u64::from(instruction))
        }
        Place::Variable { variable, offset } => (&module.variables[variable.index()].name, offset),
    };
    match offset {
        0 => name.clone(),
        _ => format!("{name}+{offset}"),
    }
}

fn symbolic(module: &Module, address: &Address) -> String {
    let base = match &address.base {
        Base::Absolute => return format!("{:#x}", address.offset),
        Base::Symbol(place) => place_text(module, *place),
        Base::Register(name) => name.clone(),
        Base::Frame => "frame".to_owned(),
    };
    match address.offset {
        0 => base,
        offset => format!("{base}{offset:+}"),
    }
}
