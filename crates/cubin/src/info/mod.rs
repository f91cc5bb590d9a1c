//! Attributes: what `.nv.info`, `.nv.info.<function>`, `.nv.merc.nv.info*` and `.nv.compat` consist of.
//!
//! ```text
//! u8 format   1 nothing   2 a byte   3 two bytes   4 sized
//! u8 attribute
//! u16         the value, or for format 4 the bytes of the payload that follows
//! ```
//!
//! [`decode`] and [`encode`] turn a section's bytes into [`Attribute`]s and back, without loss. What a payload means is
//! [`Payload`]; a payload that does not have the shape of its attribute is [`Payload::Bytes`], so that nothing is lost there
//! either.

mod payload;
pub mod table;

pub use payload::{Bank, Branch, Parameter, Payload};

/// Why bytes are no attributes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A record that does not end.
    #[error("E0101: the attribute at byte {at:#x} needs {needs} bytes, {left} are left")]
    CutOff {
        /// Where it starts.
        at: usize,
        /// Bytes that it needs.
        needs: usize,
        /// Bytes that there are.
        left: usize,
    },
    /// A format that no tool writes.
    #[error("E0102: the attribute at byte {at:#x} has the format {format}; known are 1 to 4")]
    Format {
        /// Where it starts.
        at: usize,
        /// The format.
        format: u8,
    },
    /// A payload whose size its record cannot state.
    #[error("E0103: a payload of {0} bytes; an attribute holds {most} at most", most = u16::MAX)]
    TooLarge(usize),
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Which: see [`table`].
    pub code: u8,
    /// What it says.
    pub value: Value,
}

/// The value of an attribute, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `EIFMT_NVAL`: that it is there says all; the two bytes are zero.
    None(u16),
    /// `EIFMT_BVAL`: a byte, and one that is zero.
    Byte(u8, u8),
    /// `EIFMT_HVAL`: two bytes.
    Half(u16),
    /// `EIFMT_SVAL`: a payload.
    Sized(Vec<u8>),
}

impl Attribute {
    /// Its name in `.nv.info`.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        table::name(self.code)
    }

    /// What it means.
    #[must_use]
    pub fn payload(&self) -> Payload {
        match &self.value {
            Value::None(0) => Payload::Empty,
            Value::None(value) | Value::Half(value) => Payload::Number(*value),
            Value::Byte(value, 0) => Payload::Number((*value).into()),
            Value::Byte(value, second) => Payload::Bytes(vec![*value, *second]),
            Value::Sized(bytes) => Payload::decode(table::shape(self.code), bytes),
        }
    }

    /// Sets the payload of a sized attribute; one of another format keeps its format and takes a number.
    pub fn set_payload(&mut self, payload: &Payload) {
        self.value = match (&self.value, payload) {
            (Value::Byte(..), Payload::Number(number)) => Value::Byte(*number as u8, (number >> 8) as u8),
            (Value::Half(_), Payload::Number(number)) => Value::Half(*number),
            (Value::None(_), Payload::Empty) => Value::None(0),
            (Value::None(_), Payload::Number(number)) => Value::None(*number),
            _ => Value::Sized(payload.encode()),
        };
    }
}

/// The attributes that a section holds.
///
/// # Errors
/// If they do not end where the section does, or have an unknown format.
pub fn decode(bytes: &[u8]) -> Result<Vec<Attribute>, Error> {
    let mut attributes = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let cut_off = |needs| Error::CutOff { at, needs, left: rest.len() };
        let Some(&[format, code, low, high]) = rest.first_chunk::<4>() else { return Err(cut_off(4)) };
        let half = u16::from_le_bytes([low, high]);
        let mut size = 4;
        let value = match format {
            1 => Value::None(half),
            2 => Value::Byte(low, high),
            3 => Value::Half(half),
            4 => {
                size += usize::from(half);
                Value::Sized(rest.get(4..size).ok_or_else(|| cut_off(size))?.to_vec())
            }
            format => return Err(Error::Format { at, format }),
        };
        attributes.push(Attribute { code, value });
        at += size;
    }
    Ok(attributes)
}

/// The bytes of attributes.
///
/// # Errors
/// If a payload is larger than its record can state.
pub fn encode(attributes: &[Attribute]) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for Attribute { code, value } in attributes {
        let mut record = |format: u8, value: [u8; 2]| bytes.extend([format, *code, value[0], value[1]]);
        match value {
            Value::None(half) => record(1, half.to_le_bytes()),
            Value::Byte(value, second) => record(2, [*value, *second]),
            Value::Half(half) => record(3, half.to_le_bytes()),
            Value::Sized(payload) => {
                let size = u16::try_from(payload.len()).map_err(|_| Error::TooLarge(payload.len()))?;
                record(4, size.to_le_bytes());
                bytes.extend(payload);
            }
        }
    }
    Ok(bytes)
}
