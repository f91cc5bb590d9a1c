//! What the guide leaves to the back end, for the virtual machine: `.debug_line` and `.debug_frame`; and an ELF file with
//! all sections, which `readelf` and `llvm-dwarfdump` read.
//!
//! Files have the indices that `.file` gives them, since `DW_AT_decl_file` counts so. The frame of a function is the local
//! memory of its activation, whose first byte is in register 0 of the table; a function's caller is none of memory's
//! business, so that register 1, the return address, is undefined.

use crate::DebugInfo;
use crate::addresses::{Addresses, INSTRUCTION_BYTES};
use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, DebugFrame, DebugLine, EndianVec, FileId,
    FrameDescriptionEntry, FrameTable, LineProgram, LineString, LineStringTable, StringTable,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian, Register};
use ptx::module::{FuncId, Module};
use std::collections::HashMap;

/// Files between the known ones that the table has places for.
const MOST_FILES: u32 = 1 << 16;

/// Where the local memory of an activation begins, and where its function returns to.
const FRAME: Register = Register(0);
const RETURN: Register = Register(1);

/// The machine of the ELF file, `EM_CUDA`.
const EM_CUDA: u16 = object::elf::EM_CUDA;
/// Where an ELF file says its machine.
const E_MACHINE: std::ops::Range<usize> = 18..20;

/// Why a section cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A table of DWARF.
    #[error("the DWARF cannot be written: {0}")]
    Dwarf(#[from] gimli::write::Error),
    /// The file around it.
    #[error("the ELF file cannot be written: {0}")]
    Elf(#[from] object::write::Error),
}

const ENCODING: Encoding = Encoding { format: Format::Dwarf32, version: 4, address_size: 8 };

/// `.debug_line`: the source line of every instruction, the innermost one where calls were inlined.
pub(crate) fn lines(module: &Module, addresses: &Addresses) -> Result<Vec<u8>, WriteError> {
    let mut strings = LineStringTable::default();
    let mut name = |name: &str| LineString::new(name.as_bytes(), ENCODING, &mut strings);
    let rows =
        LineEncoding { minimum_instruction_length: INSTRUCTION_BYTES as u8, ..LineEncoding::default() };
    let mut program = LineProgram::new(ENCODING, rows, name("."), None, name(""), None);
    let directory = program.default_directory();
    let mut ids: HashMap<u32, FileId> = HashMap::new();
    let last = module.files.keys().copied().filter(|&index| index < MOST_FILES).max().unwrap_or(0);
    for index in 1..=last {
        let text = match module.files.contains_key(&index) {
            true => module.file_name(index),
            false => format!("<no file {index}>"),
        };
        // A string that is empty or has a zero byte would end the table.
        let text = if text.is_empty() || text.contains('\0') { format!("<file {index}>") } else { text };
        ids.insert(index, program.add_file(name(&text), directory, None));
    }
    for (index, function) in module.functions.iter().enumerate() {
        let function_id = FuncId(index as u32);
        let (Some(body), Some(range)) = (&function.body, addresses.function(function_id)) else { continue };
        program.begin_sequence(Some(Address::Constant(range.start)));
        let mut before = None;
        for (number, instruction) in body.instructions.iter().enumerate() {
            let Some(loc) = instruction.loc.and_then(|loc| body.locs.get(loc as usize)) else { continue };
            if before == Some(instruction.loc) {
                continue;
            }
            before = Some(instruction.loc);
            let Some(&file) = ids.get(&loc.file) else { continue };
            let row = program.row();
            row.address_offset = number as u64 * INSTRUCTION_BYTES;
            (row.file, row.line, row.column) = (file, loc.line.into(), loc.column.into());
            row.is_statement = true;
            program.generate_row();
        }
        program.end_sequence(range.end - range.start);
    }
    let mut section = DebugLine(EndianVec::new(LittleEndian));
    program.write(&mut section, ENCODING, &mut strings, &mut StringTable::default())?;
    Ok(section.0.into_vec())
}

/// `.debug_frame`: the canonical frame address of every function.
fn frames(module: &Module, addresses: &Addresses) -> Result<Vec<u8>, WriteError> {
    let mut table = FrameTable::default();
    let mut common = CommonInformationEntry::new(ENCODING, INSTRUCTION_BYTES as u8, 1, RETURN);
    common.add_instruction(CallFrameInstruction::Cfa(FRAME, 0));
    common.add_instruction(CallFrameInstruction::Undefined(RETURN));
    let common = table.add_cie(common);
    for (index, function) in module.functions.iter().enumerate() {
        let range = addresses.function(FuncId(index as u32)).filter(|_| function.body.is_some());
        let Some(range) = range else { continue };
        let bytes = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        table.add_fde(common, FrameDescriptionEntry::new(Address::Constant(range.start), bytes));
    }
    let mut section = DebugFrame(EndianVec::new(LittleEndian));
    table.write_debug_frame(&mut section)?;
    Ok(section.0.into_vec())
}

/// An ELF file with all sections.
pub(crate) fn elf(info: &DebugInfo, module: &Module) -> Result<Vec<u8>, WriteError> {
    use object::write::Object;
    // The writer knows no GPU; what it writes for this one differs in the number of the machine alone.
    let (format, like) = (object::BinaryFormat::Elf, object::Architecture::X86_64);
    let mut file = Object::new(format, like, object::Endianness::Little);
    let frames = frames(module, &info.addresses)?;
    let own = std::iter::once((".debug_frame", frames.as_slice()));
    let others = info.sections.iter().filter(|(name, _)| *name != ".debug_frame");
    for (name, bytes) in own.chain(others) {
        let section = file.add_section(Vec::new(), name.into(), object::SectionKind::Debug);
        file.append_section_data(section, bytes, 1);
    }
    let mut bytes = file.write()?;
    bytes[E_MACHINE].copy_from_slice(&EM_CUDA.to_le_bytes());
    Ok(bytes)
}
