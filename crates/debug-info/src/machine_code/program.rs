//! A line program of DWARF 2 as it is written: with ptxas' numbers in its head, so that most rows are one byte.

use super::{INLINED_CALL, Section, Symbol};
use gimli::constants as dw;
use gimli::leb128::write::Leb128;
use ptx::module::FuncId;

/// The least and how many changes of the line special opcodes have, and the first of them.
const LINE_BASE: i64 = -5;
const LINE_RANGE: i64 = 14;
const OPCODE_BASE: u8 = 10;
/// The operands of the opcodes below that.
const OPERANDS: [u8; OPCODE_BASE as usize - 1] = [0, 1, 1, 1, 1, 0, 0, 0, 1];
/// Where the lengths stand that are known at the end: of all that follows, and of the head.
const LENGTH: usize = 0;
const HEAD_LENGTH: usize = 6;

/// What called the code of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    /// The number of its row in the sequence, from 1.
    pub(super) row: u64,
    /// Where `.debug_str` has the name of the function that was inlined.
    pub(super) name: u64,
}

/// From an address on the code is of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) address: u64,
    /// The number of its file, from 1; 0 is one without a name.
    pub(super) file: u64,
    pub(super) line: u64,
    pub(super) caller: Option<Caller>,
}

/// A line program.
pub(super) struct Program {
    section: Section,
    first: bool,
}

impl Program {
    /// One without rows, about files. If its rows name callers, the head says where the names of functions begin in `.debug_str`.
    pub(super) fn new(paths: &[String], has_callers: bool) -> Self {
        let mut bytes = vec![0; 4];
        bytes.extend([2, 0]);
        bytes.extend([0; 4]);
        // Addresses are counted in bytes, and each row is a statement.
        bytes.extend([1, 1, LINE_BASE as u8, LINE_RANGE as u8, OPCODE_BASE]);
        bytes.extend(OPERANDS);
        let mut folders: Vec<String> = Vec::new();
        let mut files = Vec::new();
        for (index, path) in paths.iter().enumerate() {
            let path = path.replace('\0', "");
            let (folder, name) = match path.rfind('/') {
                Some(0) => ("/", &path[1..]),
                Some(at) => (&path[..at], &path[at + 1..]),
                None => ("", path.as_str()),
            };
            let folder = match folders.iter().position(|known| *known == folder) {
                _ if folder.is_empty() => 0,
                Some(known) => known + 1,
                None => {
                    folders.push(folder.to_owned());
                    folders.len()
                }
            };
            // An empty string would end the table.
            let name = if name.is_empty() { format!("<file {}>", index + 1) } else { name.to_owned() };
            string(&name, &mut files);
            files.extend(Leb128::unsigned(folder as u64).bytes());
            // Neither time nor length is known.
            files.extend([0, 0]);
        }
        folders.iter().for_each(|folder| string(folder, &mut bytes));
        bytes.push(0);
        bytes.extend(files);
        bytes.push(0);
        if has_callers {
            bytes.extend([0; 4]);
        }
        let head = (bytes.len() - HEAD_LENGTH - 4) as u32;
        bytes[HEAD_LENGTH..HEAD_LENGTH + 4].copy_from_slice(&head.to_le_bytes());
        Self { section: Section { bytes, ..Section::default() }, first: true }
    }

    /// Whether it has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.first
    }

    /// The rows of a kernel that has so many bytes; addresses ascend.
    pub(super) fn sequence(&mut self, kernel: FuncId, rows: &[Row], bytes: u64) {
        self.first = false;
        self.begin_extended(dw::DW_LNE_set_address.0, 8);
        self.section.address(Symbol::Kernel(kernel), 0);
        let mut now = Row { address: 0, file: 1, line: 1, caller: None };
        for (index, row) in rows.iter().enumerate() {
            if index == 0 || row.file != now.file {
                self.opcode(dw::DW_LNS_set_file, Leb128::unsigned(row.file));
            }
            let of = |caller: Option<Caller>| caller.map_or((0, 0), |caller| (caller.row, caller.name));
            if of(row.caller) != of(now.caller) {
                let (caller, name) = of(row.caller);
                let operands = [Leb128::unsigned(caller), Leb128::unsigned(name)];
                self.extended(
                    INLINED_CALL,
                    &operands.iter().flat_map(Leb128::bytes).copied().collect::<Vec<_>>(),
                );
            }
            self.row(row.line as i64 - now.line as i64, row.address - now.address);
            now = *row;
        }
        self.opcode(dw::DW_LNS_advance_pc, Leb128::unsigned(bytes - now.address));
        self.extended(dw::DW_LNE_end_sequence.0, &[]);
    }

    /// The section.
    pub(super) fn finish(mut self, name: &'static str) -> Section {
        let bytes = &mut self.section.bytes;
        let length = (bytes.len() - 4) as u32;
        bytes[LENGTH..LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        Section { name, ..self.section }
    }

    fn row(&mut self, lines: i64, bytes: u64) {
        let special = (LINE_BASE..LINE_BASE + LINE_RANGE).contains(&lines).then(|| {
            let by_address = bytes.checked_mul(LINE_RANGE as u64)?;
            u8::try_from((lines - LINE_BASE) as u64 + by_address + u64::from(OPCODE_BASE)).ok()
        });
        if let Some(opcode) = special.flatten().filter(|_| bytes > 0) {
            self.section.bytes.push(opcode);
            return;
        }
        self.opcode(dw::DW_LNS_advance_line, Leb128::signed(lines));
        if bytes > 0 {
            self.opcode(dw::DW_LNS_advance_pc, Leb128::unsigned(bytes));
        }
        self.section.bytes.push(dw::DW_LNS_copy.0);
    }

    fn opcode(&mut self, opcode: gimli::DwLns, operand: Leb128) {
        self.section.bytes.push(opcode.0);
        self.section.bytes.extend(operand.bytes());
    }

    fn extended(&mut self, opcode: u8, operands: &[u8]) {
        self.begin_extended(opcode, operands.len());
        self.section.bytes.extend(operands);
    }

    fn begin_extended(&mut self, opcode: u8, bytes: usize) {
        self.section.bytes.push(0);
        self.section.bytes.extend(Leb128::unsigned(bytes as u64 + 1).bytes());
        self.section.bytes.push(opcode);
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    out.extend(text.bytes().filter(|&byte| byte != 0));
    out.push(0);
}
