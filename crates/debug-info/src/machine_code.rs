//! Lines and variables of machine code: what compilers of PTX write of them into cubins, in the form that ptxas 13.0 gives them, and how
//! that is read.
//!
//! | section | what it has | file |
//! | --- | --- | --- |
//! | `.debug_line` | the source line of each machine instruction, by `.loc`, with the calls that were inlined there | `program`, `read` |
//! | `.debug_str` | the PTX's own, and the names of functions that were inlined | |
//! | `.nv_debug_line_sass` | the line of the PTX, of a file that has no name | `program`, `read` |
//! | `.nv_debug_ptx_txt` | the PTX, a zero behind each line | |
//! | `.debug_info`, `.debug_abbrev` | the PTX's own, with addresses of machine code, and an entry for each call that was inlined | `entries`, `abbreviations`, `forms` |
//! | `.debug_loc`, `.debug_ranges` | the PTX's own, with addresses of machine code | `lists` |
//! | `.debug_pubnames`, `.debug_pubtypes` | the PTX's own, with the places of these entries | `names` |
//! | `.nv_debug_info_reg_sass` | in which registers of the hardware those of PTX are | `registers` |
//! | `.nv_debug_info_reg_type` | their types | `registers` |
//! | `.debug_frame` | where a thread's stack frame begins | `frames` |
//!
//! Variables are in registers of PTX, in the machine's entries too: the table of registers says where those are. [`variables`] is what a
//! compiler has to tell for all of that.
//!
//! Both tables of lines are line programs of DWARF 2. One thing DWARF does not have: a row may name the row of its sequence that called it, and the
//! function that was inlined there, by an extended opcode. Rows of callers stand in front of those of what they call, at the same address.
//! Addresses are relocations by the kernel's symbol.

mod abbreviations;
mod entries;
mod expression;
mod forms;
mod frames;
mod lists;
mod names;
mod program;
mod read;
pub mod registers;
pub mod variables;

pub use read::{Line, LineTable};

use crate::DebugInfo;
use program::{Caller, Program, Row};
use ptx::module::{FuncId, Loc, Module, VarId};
use std::collections::BTreeMap;
use variables::Variables;

/// Bytes of a machine instruction.
const BYTES: u64 = 16;

/// The extended opcode of line programs by which a row has a caller: the number of a row of its sequence from 1, or 0; a place in
/// `.debug_str`.
const INLINED_CALL: u8 = 0x90;

/// The tables by source and by PTX, and the PTX itself.
pub const SOURCE_LINES: &str = ".debug_line";
/// See the module.
pub const PTX_LINES: &str = ".nv_debug_line_sass";
/// See the module.
pub const PTX_TEXT: &str = ".nv_debug_ptx_txt";
/// See the module.
const NAMES: &str = ".debug_str";

/// An instruction of a module's PTX, which others were made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// The function.
    pub function: FuncId,
    /// Its place in the body.
    pub instruction: u32,
    /// In which of the calls that were inlined it is, by [`Variables::calls`]; 0 outside of them.
    pub call: u32,
}

impl Origin {
    /// The line of the PTX, from 1.
    pub fn line(self, module: &Module) -> Option<u32> {
        let body = module.functions.get(self.function.index())?.body.as_ref()?;
        let span = body.instructions.get(self.instruction as usize)?.span;
        Some(module.source.line_column(span.start).0)
    }

    /// Where it comes from, if `.loc` says so.
    pub fn loc(self, module: &Module) -> Option<&Loc> {
        module.loc(self.function, self.instruction)
    }
}

/// A kernel's machine code.
#[derive(Clone, Copy, Debug)]
pub struct MachineCode<'a> {
    /// The kernel.
    pub kernel: FuncId,
    /// What each machine instruction is for; none, if it is for the kernel as a whole.
    pub origins: &'a [Option<Origin>],
    /// Bytes of the code, with what fills it up.
    pub bytes: u64,
    /// Where variables are, if that is to be said.
    pub variables: Option<&'a Variables>,
}

/// A section to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Where in it addresses of 64 bits stand, in their order.
    pub addresses: Vec<Address>,
}

/// An address that is known when the cubin is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Where in its section it stands.
    pub place: usize,
    /// What it is of.
    pub symbol: Symbol,
    /// Bytes from there.
    pub offset: u64,
}

/// What has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// A kernel.
    Kernel(FuncId),
    /// A variable in global or constant memory.
    Variable(VarId),
}

impl Section {
    fn named(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Others' bytes, with their addresses.
    fn append(&mut self, other: &Self) {
        let begin = self.bytes.len();
        self.bytes.extend(&other.bytes);
        self.addresses.extend(
            other.addresses.iter().map(|address| Address { place: begin + address.place, ..*address }),
        );
    }

    /// An address at the end.
    fn address(&mut self, symbol: Symbol, offset: u64) {
        self.addresses.push(Address { place: self.bytes.len(), symbol, offset });
        self.bytes.extend([0; 8]);
    }
}

/// The sections about the machine code of a module's kernels.
pub fn sections(module: &Module, code: &[MachineCode<'_>]) -> Vec<Section> {
    let with_variables = code.iter().any(|of| of.variables.is_some());
    let info = with_variables.then(|| DebugInfo::new(module));
    sections_with(module, code, info.as_ref())
}

/// The same with what is known of the module's own debug information, if variables are wanted.
pub fn sections_with(module: &Module, code: &[MachineCode<'_>], info: Option<&DebugInfo>) -> Vec<Section> {
    let mut sections = Vec::new();
    // Entries name strings by their places.
    let strings = info.and_then(|info| info.sections.bytes(NAMES)).unwrap_or_default();
    let mut names = Names { bytes: strings.to_vec(), ..Names::default() };
    let mut files: Vec<u32> = module.files.keys().copied().collect();
    files.sort_unstable();
    let paths: Vec<String> = files.iter().map(|&index| module.file_name(index)).collect();
    let is_inlined = |origin: &Option<Origin>| {
        origin.and_then(|origin| origin.loc(module)).is_some_and(|loc| loc.chain().count() > 1)
    };
    let has_callers = code.iter().any(|of| of.origins.iter().any(is_inlined));
    let mut sources = Program::new(&paths, has_callers);
    for of in code {
        let rows = source_rows(module, of, &files, &mut names);
        // Without `.loc` there is nothing to say.
        if !rows.is_empty() {
            sources.sequence(of.kernel, &rows, of.bytes);
        }
    }
    if !sources.is_empty() {
        sections.push(sources.finish(SOURCE_LINES));
    }
    if !names.bytes.is_empty() {
        sections.push(Section { bytes: names.bytes, ..Section::named(NAMES) });
    }
    let mut ptx = Program::new(&[], false);
    for of in code {
        ptx.sequence(of.kernel, &ptx_rows(module, of), of.bytes);
    }
    sections.push(ptx.finish(PTX_LINES));
    sections.push(Section { bytes: text(module), ..Section::named(PTX_TEXT) });
    if let Some(info) = info {
        let aliases = expression::Aliases::default();
        sections.extend(entries::sections(module, info, code, &aliases));
        sections.extend(registers::sections(module, code, &aliases));
        sections.push(frames::section(code));
    }
    sections
}

/// Strings, each once.
#[derive(Default)]
struct Names {
    bytes: Vec<u8>,
    places: BTreeMap<String, u64>,
}

impl Names {
    fn place(&mut self, name: &str) -> u64 {
        let bytes = &mut self.bytes;
        *self.places.entry(name.to_owned()).or_insert_with(|| {
            let place = bytes.len() as u64;
            bytes.extend(name.bytes().filter(|&byte| byte != 0));
            bytes.push(0);
            place
        })
    }
}

/// A row wherever the source line changes. What stands in front of the first `.loc` counts as of its line.
fn source_rows(module: &Module, code: &MachineCode<'_>, files: &[u32], names: &mut Names) -> Vec<Row> {
    let locs: Vec<Option<&Loc>> =
        code.origins.iter().map(|origin| origin.and_then(|origin| origin.loc(module))).collect();
    let body = module.functions[code.kernel.index()].body.as_ref();
    let own = body.and_then(|body| {
        body.instructions.iter().find_map(|instruction| body.locs.get(instruction.loc? as usize))
    });
    let first = own.or_else(|| locs.iter().flatten().next().copied());
    let mut rows: Vec<Row> = Vec::new();
    let mut before = None;
    for (at, loc) in locs.into_iter().enumerate() {
        let Some(loc) = loc.or(first.filter(|_| before.is_none())) else { continue };
        if before == Some(loc) {
            continue;
        }
        before = Some(loc);
        let mut chain: Vec<&Loc> = loc.chain().collect();
        chain.reverse();
        for (depth, loc) in chain.into_iter().enumerate() {
            let file = files.binary_search(&loc.file).map_or(0, |index| index as u64 + 1);
            // The row in front is the caller's.
            let caller = (depth > 0).then(|| Caller {
                row: rows.len() as u64,
                name: names.place(loc.function.as_deref().unwrap_or_default()),
            });
            rows.push(Row { address: at as u64 * BYTES, file, line: loc.line.into(), caller });
        }
    }
    rows
}

/// A row wherever the line of the PTX changes. What is for the kernel as a whole counts as of the line that names it.
fn ptx_rows(module: &Module, code: &MachineCode<'_>) -> Vec<Row> {
    let (name, _) = module.source.line_column(module.functions[code.kernel.index()].span.start);
    let mut rows: Vec<Row> = Vec::new();
    for (at, origin) in code.origins.iter().enumerate() {
        let line = u64::from(origin.and_then(|origin| origin.line(module)).unwrap_or(name));
        if rows.last().is_none_or(|row| row.line != line) {
            rows.push(Row { address: at as u64 * BYTES, file: 0, line, caller: None });
        }
    }
    rows
}

/// The PTX without what stands in sections, a zero behind each line.
fn text(module: &Module) -> Vec<u8> {
    let mut text = Vec::new();
    let mut in_section = false;
    for line in module.source.text().lines() {
        in_section |= line.trim_start().starts_with(".section");
        if !in_section {
            text.extend(line.bytes().filter(|&byte| byte != 0));
        }
        in_section &= !line.contains('}');
        text.push(0);
    }
    text
}
