//! What a cubin means: for which device it is, which functions it has and what they take, who calls whom, who made it.
//!
//! A [`Program`] looks at an [`Elf`] and never fails as a whole: what is damaged or missing is missing in the answers. What
//! is attached to a function is found as loaders find it: `.nv.info.<function>` by `sh_info`, which is the code's section,
//! and what `.nv.info` says by the function's symbol.

mod calls;
mod notes;

pub use calls::{Call, Calls, calls, prototypes};
pub use notes::{CudaInfo, Note, ToolInfo, notes};

use crate::elf::section::{CUDA_COMPAT_INFO, CUDA_INFO, Section};
use crate::elf::{Elf, Symbol};
use crate::info::{self, Attribute, Parameter, Payload, Value, table};
use std::collections::HashMap;

/// `STT_FUNC`.
const FUNCTION: u8 = object::elf::STT_FUNC;
/// `STO_CUDA_ENTRY`, in a symbol's `st_other`.
const ENTRY: u8 = 0x10;
/// `EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET`.
const ACCELERATOR: u8 = 9;

/// For which devices a cubin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// Compute capability times ten.
    pub sm: u32,
    /// Whether it runs on that architecture alone (`sm_90a`); not known for ABI 8 without `.nv.compat`.
    pub specific: Option<bool>,
}

/// A cubin as what it means.
#[derive(Clone, Debug)]
pub struct Program<'e> {
    elf: &'e Elf,
    symbols: Vec<Symbol>,
}

/// A function with code: a kernel, or one that kernels call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The number of its symbol.
    pub symbol: u32,
    /// The number of the section with its code.
    pub section: u32,
    /// Whether it can be launched.
    pub entry: bool,
    /// Bytes of its code.
    pub size: u64,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Barriers of a CTA.
    pub barriers: u32,
    /// Bytes of shared memory that it declares, with what the system reserves.
    pub shared: u64,
    /// Bytes of local memory of its own frame.
    pub frame: Option<u32>,
    /// Bytes of local memory that it needs with all it calls.
    pub stack: Option<u32>,
    /// Bytes of its bank of constants: what the driver puts there, then the parameters.
    pub constants: u64,
    /// The parameters of a kernel, in order.
    pub parameters: Vec<Parameter>,
    /// All that its `.nv.info.<function>` says.
    pub attributes: Vec<Attribute>,
}

impl<'e> Program<'e> {
    /// Looks at an ELF file.
    #[must_use]
    pub fn new(elf: &'e Elf) -> Self {
        Self { elf, symbols: elf.symbols().unwrap_or_default() }
    }

    /// For which devices it is.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        let flags = self.elf.header.flags;
        if self.elf.header.abi_version < 8 {
            return Architecture { sm: flags & 0xff, specific: Some(flags & 0x800 != 0) };
        }
        let compatibility = self.compatibility();
        let accelerator = compatibility.iter().find(|attribute| attribute.code == ACCELERATOR);
        let specific = accelerator.map(|attribute| matches!(attribute.value, Value::Byte(1, _)));
        Architecture { sm: flags >> 8 & 0xff, specific }
    }

    /// What `.nv.compat` says; nothing if there is none, or a damaged one.
    #[must_use]
    pub fn compatibility(&self) -> Vec<Attribute> {
        let section = self.elf.sections.iter().find(|section| section.kind == CUDA_COMPAT_INFO);
        section.and_then(|section| info::decode(section.data()).ok()).unwrap_or_default()
    }

    /// What `.nv.info` says about the file and its functions.
    #[must_use]
    pub fn attributes(&self) -> Vec<Attribute> {
        let found = self.elf.find(".nv.info").and_then(|number| self.elf.section(number).ok());
        found.and_then(|section| info::decode(section.data()).ok()).unwrap_or_default()
    }

    /// The name of a symbol by number; empty if it has none.
    #[must_use]
    pub fn symbol_name(&self, number: u32) -> String {
        self.symbols.get(number as usize).map(|symbol| self.name(symbol)).unwrap_or_default()
    }

    fn name(&self, symbol: &Symbol) -> String {
        let name = self.elf.symbol_name(symbol).unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }

    /// The functions with code, in the order of their symbols. Those that lie in another's code, as `$kernel$function` does,
    /// are part of it.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        let about = About::new(&self.attributes());
        let attached = Attached::new(self.elf);
        let mut functions = Vec::new();
        for (number, symbol) in (0..).zip(&self.symbols) {
            let section = self.elf.symbol_section(number, symbol);
            let Ok(code) = self.elf.section(section) else { continue };
            let starts = symbol.kind() == FUNCTION && symbol.value == 0 && section != 0;
            if !starts || code.data().is_empty() {
                continue;
            }
            let name = self.name(symbol);
            let attributes = attached.attributes(section);
            let mut parameters: Vec<Parameter> = attributes.iter().filter_map(parameter).collect();
            parameters.sort_by_key(|parameter| parameter.ordinal);
            // Up to sm_89 both stand in the code's section header.
            let in_header = (code.info >> 24 != 0).then_some(code.info >> 24);
            let barriers = attributes.iter().find_map(|attribute| small(attribute, "EIATTR_NUM_BARRIERS"));
            functions.push(Function {
                symbol: number,
                section,
                entry: symbol.other & ENTRY != 0,
                size: symbol.size,
                registers: about.get(REGISTERS, number).or(in_header),
                barriers: barriers.map_or((code.flags >> 20 & 0x7f) as u32, u32::from),
                shared: attached.size(".nv.shared.", section),
                frame: about.get(FRAME, number),
                stack: about.get(STACK, number),
                constants: attached.size(".nv.constant0.", section),
                parameters,
                attributes,
                name,
            });
        }
        functions
    }
}

const REGISTERS: &str = "EIATTR_REGCOUNT";
const FRAME: &str = "EIATTR_FRAME_SIZE";
const STACK: &str = "EIATTR_MIN_STACK_SIZE";

/// What `.nv.info` says about functions, by attribute and symbol.
struct About(HashMap<(u8, u32), u32>);

impl About {
    fn new(attributes: &[Attribute]) -> Self {
        let said = attributes.iter().filter_map(|attribute| match attribute.payload() {
            Payload::SymbolNumber { symbol, number } => Some(((attribute.code, symbol), number)),
            _ => None,
        });
        Self(said.collect())
    }

    fn get(&self, name: &str, symbol: u32) -> Option<u32> {
        self.0.get(&(table::code(name)?, symbol)).copied()
    }
}

/// Sections by the code's section that they belong to, which their `sh_info` names.
struct Attached<'e>(HashMap<u32, Vec<(&'e [u8], &'e Section)>>);

impl<'e> Attached<'e> {
    fn new(elf: &'e Elf) -> Self {
        let mut attached = HashMap::<_, Vec<_>>::new();
        for (number, section) in (0..).zip(&elf.sections) {
            if section.info != 0
                && let Ok(name) = elf.section_name(number)
            {
                attached.entry(section.info).or_default().push((name, section));
            }
        }
        Self(attached)
    }

    fn of(&self, code: u32) -> &[(&'e [u8], &'e Section)] {
        self.0.get(&code).map_or(&[], Vec::as_slice)
    }

    fn size(&self, prefix: &str, code: u32) -> u64 {
        let found = self.of(code).iter().find(|(name, _)| name.starts_with(prefix.as_bytes()));
        found.map_or(0, |(_, section)| section.size())
    }

    fn attributes(&self, code: u32) -> Vec<Attribute> {
        let found = self.of(code).iter().find(|(_, section)| section.kind == CUDA_INFO);
        found.and_then(|(_, section)| info::decode(section.data()).ok()).unwrap_or_default()
    }
}

fn parameter(attribute: &Attribute) -> Option<Parameter> {
    match attribute.payload() {
        Payload::Parameter(parameter) => Some(parameter),
        _ => None,
    }
}

/// The value of an attribute of this name that is one small number.
fn small(attribute: &Attribute, name: &str) -> Option<u16> {
    match attribute.payload() {
        Payload::Number(number) if attribute.name() == Some(name) => Some(number),
        _ => None,
    }
}
