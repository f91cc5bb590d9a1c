//! Debug information in PTX: which source line and function an instruction belongs to, which calls were inlined there, and
//! the DWARF of a module with its types, scopes and variables (PTX ISA, "Debugging Directives"; PTX Writer's Guide to
//! Interoperability, "Debug Information").
//!
//! ```text
//! .section .debug_* ──sections──▶ bytes, labels and symbols filled in ──read, gimli──▶ units, scopes, variables, types
//!        ▲                                     ▲                                                │
//!   addresses: program counters, variables   .debug_line                                    location: where a
//!        ▲                                     │                                            variable is at a place
//! .file, .loc ─────────────────────────────▶ write ──▶ an ELF file with .debug_line, .debug_frame
//! ```
//!
//! | file | what it knows |
//! | --- | --- |
//! | `addresses` | the addresses that DWARF speaks of: instructions and variables |
//! | `sections` | DWARF sections with labels and symbols filled in |
//! | `read` | units, scopes and variables |
//! | `types` | types, their names and sizes |
//! | `location` | location expressions; virtual registers; address classes |
//! | `dump` | every entry with its attributes, for people |
//! | `machine_code` | lines of machine code, as cubins have them |
//! | `write` | `.debug_line` and `.debug_frame` of the virtual machine; an ELF file of all |
//!
//! A producer writes `.debug_info` and what it refers to; `.debug_line` and `.debug_frame` are a back end's, and
//! [`write`] makes those of the virtual machine, whose program counter is 16 times the number of an instruction in the
//! module. Damaged sections never panic: what cannot be read is a [`Problem`], and what was read before it stays.

mod addresses;
mod dump;
pub mod location;
pub mod machine_code;
mod read;
mod sections;
pub mod types;
mod write;

pub use addresses::{Addresses, INSTRUCTION_BYTES, Place};
pub use dump::{Attribute, Entry};
pub use machine_code::Origin;
pub use read::{Declared, Scope, ScopeId, ScopeKind, Unit, Variable};
pub use sections::Sections;
pub use write::WriteError;

use gimli::{EndianSlice, LittleEndian};
use ptx::module::{FuncId, Module};
use std::collections::HashMap;
use std::ops::Range;
use types::{Type, TypeId};

/// How sections are read.
type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// Something in a section that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The section.
    pub section: String,
    /// Where in it, in bytes, if that is known.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.section)?;
        if let Some(offset) = self.offset {
            write!(f, " at {offset:#x}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Problem {}

/// The debug information of a module.
#[derive(Debug)]
pub struct DebugInfo {
    /// What addresses stand for.
    pub addresses: Addresses,
    /// The sections.
    pub sections: Sections,
    /// Compilation units.
    pub units: Vec<Unit>,
    /// Functions, inlined calls and blocks: an outer one stands before those within it.
    pub scopes: Vec<Scope>,
    /// Types by their offset in `.debug_info`.
    pub types: HashMap<TypeId, Type>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl DebugInfo {
    /// Reads the debug information of a module.
    pub fn new(module: &Module) -> Self {
        let addresses = Addresses::new(module);
        let sections = Sections::of(module, &addresses);
        Self::of_sections(module, addresses, sections)
    }

    /// Reads sections whose labels and symbols are filled in.
    pub fn of_sections(module: &Module, addresses: Addresses, mut sections: Sections) -> Self {
        let mut problems = std::mem::take(&mut sections.problems);
        match write::lines(module, &addresses) {
            Ok(lines) => sections.replace(".debug_line", lines),
            Err(error) => problems.push(Problem {
                section: ".debug_line".to_owned(),
                offset: None,
                message: error.to_string(),
            }),
        }
        let mut info = Self {
            addresses,
            sections,
            units: Vec::new(),
            scopes: Vec::new(),
            types: HashMap::new(),
            problems,
        };
        read::read(module, &mut info);
        info
    }

    /// Whether there is DWARF besides lines.
    pub fn has_entries(&self) -> bool {
        !self.units.is_empty()
    }

    /// The scope of a function as a whole.
    pub fn function(&self, function: FuncId) -> Option<ScopeId> {
        let range = self.addresses.function(function)?;
        let is_function = |scope: &Scope| {
            matches!(scope.kind, ScopeKind::Function) && scope.ranges.iter().any(|r| range.contains(&r.start))
        };
        self.scopes.iter().position(is_function).map(ScopeId)
    }

    /// The scopes that an instruction is in, the innermost first, the unit's own last.
    pub fn scopes_at(&self, function: FuncId, instruction: u32) -> Vec<ScopeId> {
        let Some(pc) = self.addresses.of(function, instruction) else { return Vec::new() };
        let covers = |scope: &Scope| scope.ranges.iter().any(|range| range.contains(&pc));
        let inner = (0..self.scopes.len()).rev().find(|&index| covers(&self.scopes[index]));
        let inner = inner.or_else(|| self.scopes.iter().position(|scope| scope.parent.is_none()));
        std::iter::successors(inner.map(ScopeId), |scope| self.scopes[scope.0].parent).collect()
    }

    /// A scope.
    pub fn scope(&self, scope: ScopeId) -> &Scope {
        &self.scopes[scope.0]
    }

    /// The addresses of a function's instructions.
    pub fn pcs(&self, function: FuncId) -> Option<Range<u64>> {
        self.addresses.function(function)
    }

    /// Every entry of `.debug_info` with its attributes.
    pub fn entries(&self, module: &Module) -> Vec<Entry> {
        dump::entries(self, module)
    }

    /// An ELF file with all sections and the virtual machine's own.
    ///
    /// # Errors
    /// If a section cannot be written.
    pub fn elf(&self, module: &Module) -> Result<Vec<u8>, WriteError> {
        write::elf(self, module)
    }

    /// The sections as `gimli` reads them.
    fn dwarf(&self) -> gimli::Dwarf<Reader<'_>> {
        let section = |id: gimli::SectionId| {
            let bytes = self.sections.bytes(id.name()).unwrap_or_default();
            Ok::<_, std::convert::Infallible>(EndianSlice::new(bytes, LittleEndian))
        };
        let Ok(dwarf) = gimli::Dwarf::load(section);
        dwarf
    }
}
