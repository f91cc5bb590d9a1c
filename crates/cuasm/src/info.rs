//! Records of nv.info sections: attributes of the file or of a function.

use crate::Malformed;

/// A record as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) attribute: u8,
    pub(crate) value: Value,
}

/// What a record holds. The format of the record follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Formats 1 to 3: none, a byte, 16 bits. All have two bytes.
    Small(u8, u16),
    /// Format 4.
    Sized(Vec<u8>),
}

/// The formats below the sized one, by the directives that write them.
pub(crate) const SMALL: [(u8, &str); 3] = [(1, ".attr.none"), (2, ".attr.byte"), (3, ".attr.half")];
/// The sized format.
const SIZED: u8 = 4;

/// Reads the records of a section; none if its bytes are something else.
pub(crate) fn read(mut bytes: &[u8]) -> Option<Vec<Record>> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (&[format, attribute, low, high], rest) = bytes.split_first_chunk::<4>()?;
        let number = u16::from_le_bytes([low, high]);
        bytes = rest;
        let value = match format {
            1..SIZED => Value::Small(format, number),
            SIZED => {
                let payload = bytes.get(..usize::from(number))?;
                bytes = &bytes[payload.len()..];
                Value::Sized(payload.to_vec())
            }
            _ => return None,
        };
        records.push(Record { attribute, value });
    }
    Some(records)
}

impl Record {
    /// Writes the record.
    ///
    /// # Errors
    /// If it has more bytes than 16 bits can count.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let (format, number) = match &self.value {
            Value::Small(format, number) => (*format, *number),
            Value::Sized(payload) => {
                let length = u16::try_from(payload.len());
                (SIZED, length.map_err(|_| Malformed::Form("an attribute has more than 65535 bytes"))?)
            }
        };
        out.extend([format, self.attribute]);
        out.extend(number.to_le_bytes());
        if let Value::Sized(payload) = &self.value {
            out.extend(payload);
        }
        Ok(())
    }
}

/// What the words of an attribute mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Numbers.
    Plain,
    /// The first is a symbol, the others are numbers.
    Symbol,
    /// All are symbols.
    Symbols,
    /// All are offsets of instructions.
    Offsets,
    /// Groups: the offset of an indirect branch, a number, how many targets, their offsets.
    BranchTargets,
}

/// `EIATTR_EXIT_INSTR_OFFSETS`.
pub(crate) const EXIT_OFFSETS: u8 = 0x1c;

/// The shape of an attribute.
pub(crate) fn shape(attribute: u8) -> Shape {
    match attribute {
        0x0a | 0x11 | 0x12 | 0x23 | 0x2f | 0x3b => Shape::Symbol,
        0x0f => Shape::Symbols,
        EXIT_OFFSETS | 0x1d | 0x25 | 0x27 | 0x28 | 0x2d | 0x31 | 0x39 | 0x46 => Shape::Offsets,
        0x34 => Shape::BranchTargets,
        _ => Shape::Plain,
    }
}

/// Names of attributes.
const NAMES: &[(u8, &str)] = &[
    (0x05, "EIATTR_MAX_THREADS"),
    (0x0a, "EIATTR_PARAM_CBANK"),
    (0x0f, "EIATTR_EXTERNS"),
    (0x10, "EIATTR_REQNTID"),
    (0x11, "EIATTR_FRAME_SIZE"),
    (0x12, "EIATTR_MIN_STACK_SIZE"),
    (0x17, "EIATTR_KPARAM_INFO"),
    (0x19, "EIATTR_CBANK_PARAM_SIZE"),
    (0x1b, "EIATTR_MAXREG_COUNT"),
    (EXIT_OFFSETS, "EIATTR_EXIT_INSTR_OFFSETS"),
    (0x28, "EIATTR_COOP_GROUP_INSTR_OFFSETS"),
    (0x29, "EIATTR_COOP_GROUP_MASK_REGIDS"),
    (0x2f, "EIATTR_REGCOUNT"),
    (0x31, "EIATTR_INT_WARP_WIDE_INSTR_OFFSETS"),
    (0x34, "EIATTR_INDIRECT_BRANCH_TARGETS"),
    (0x37, "EIATTR_CUDA_API_VERSION"),
    (0x46, "EIATTR_SYSCALL_OFFSETS"),
    (0x4c, "EIATTR_NUM_BARRIERS"),
    (0x50, "EIATTR_SPARSE_MMA_MASK"),
];

/// An attribute as it is written.
pub(crate) fn name(attribute: u8) -> String {
    let row = NAMES.iter().find(|row| row.0 == attribute);
    row.map_or_else(|| format!("{attribute:#04x}"), |row| row.1.to_owned())
}

/// The attribute of a name.
pub(crate) fn number(name: &str) -> Option<u8> {
    NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
}
