//! An aggregate in pieces that single loads and stores of parameters move.

use crate::data::{Kind, Scalar, Target, Type};
use ptx::types::ScalarType;

/// What one instruction moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) ty: ScalarType,
    /// How many elements, for `.v2` and `.v4`.
    pub(super) count: u64,
    /// The member, or what else it is a part of.
    pub(super) what: String,
}

/// The most pieces that are spelled out.
const MAX_PIECES: usize = 512;
/// The most values that are looked at for them, those without members too.
const MAX_STEPS: usize = 10_000;
/// The most bytes of one access.
const WIDEST: u64 = 16;

/// The pieces of a value that lies in a parameter with an alignment.
pub(super) fn pieces(ty: &Type, align: u64, target: Target) -> Result<Vec<Piece>, String> {
    let mut walk = Walk { align, target, found: Vec::new(), steps: 0 };
    walk.value(ty, 0, String::new())?;
    Ok(walk.found)
}

struct Walk {
    align: u64,
    target: Target,
    found: Vec<Piece>,
    /// How many values were looked at.
    steps: usize,
}

impl Walk {
    fn push(&mut self, offset: u64, ty: ScalarType, count: u64, what: &str) -> Result<(), String> {
        if self.found.len() >= MAX_PIECES {
            return Err(format!("more than {MAX_PIECES} loads and stores: pass a pointer"));
        }
        self.found.push(Piece { offset, ty, count, what: what.to_owned() });
        Ok(())
    }

    fn fits(&self, offset: u64, bytes: u64) -> bool {
        bytes <= WIDEST && bytes <= self.align.max(1) && offset.is_multiple_of(bytes)
    }

    fn value(&mut self, ty: &Type, offset: u64, what: String) -> Result<(), String> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err("too many members: pass a pointer".into());
        }
        let size = ty.extent(self.target)?.size;
        match ty.plain() {
            Type::Scalar(Scalar::Int128 | Scalar::UnsignedInt128) => self.raw(offset, offset + size, &what),
            Type::Scalar(scalar) | Type::Enum(_, scalar) => {
                self.scalar(scalar.ptx(self.target.host), offset, &what)
            }
            Type::Pointer(_) | Type::Handle(_) => self.raw(offset, offset + size, &what),
            Type::Vector(_, scalar, count) => {
                let element = scalar.ptx(self.target.host);
                let bytes = u64::from(element.bytes());
                if matches!(count, 2 | 4) && self.fits(offset, bytes * count) {
                    return self.push(offset, element, *count, &what);
                }
                let names = ["x", "y", "z", "w"];
                (0..*count).zip(names).try_for_each(|(at, name)| {
                    self.scalar(element, offset + at * bytes, &joined(&what, name))
                })
            }
            Type::Array(element, count) => {
                let bytes = element.extent(self.target)?.size;
                for at in 0..count.unwrap_or(0) {
                    let before = self.found.len();
                    self.value(element, offset + at * bytes, format!("{what}[{at}]"))?;
                    if self.found.len() == before {
                        // Elements without members: there may be very many of them.
                        break;
                    }
                }
                Ok(())
            }
            Type::Record(record) if record.kind() == Kind::Union => self.raw(offset, offset + size, &what),
            Type::Record(record) => {
                // Bytes that bit fields share are moved together.
                let mut shared: Option<(u64, u64, String)> = None;
                for (member, place) in record.members().iter().zip(&record.layout().places) {
                    let name = member.name.as_deref().unwrap_or("");
                    if member.bits.is_none() {
                        if let Some((start, end, names)) = shared.take() {
                            self.raw(start, end, &names)?;
                        }
                        self.value(&member.ty, offset + place.byte(), joined(&what, name))?;
                    } else if !name.is_empty() {
                        let (start, end) = (offset + place.byte(), offset + place.end().div_ceil(8));
                        let name = joined(&what, name);
                        shared = match shared.take() {
                            Some((first, last, names)) if start <= last => {
                                Some((first, end.max(last), format!("{names} {name}")))
                            }
                            Some((first, last, names)) => {
                                self.raw(first, last, &names)?;
                                Some((start, end, name))
                            }
                            None => Some((start, end, name)),
                        };
                    }
                }
                shared.map_or(Ok(()), |(start, end, names)| self.raw(start, end, &names))
            }
            Type::Void | Type::Function | Type::Incomplete(_) | Type::Aligned(..) => {
                Err(format!("`{ty}` is not passed by value"))
            }
        }
    }

    fn scalar(&mut self, ty: ScalarType, offset: u64, what: &str) -> Result<(), String> {
        let bytes = u64::from(ty.bytes());
        match ty {
            // There are no loads of 16-bit floats.
            ScalarType::F16 | ScalarType::Bf16 => self.raw(offset, offset + bytes, what),
            _ if self.fits(offset, bytes) => self.push(offset, ty, 1, what),
            _ => self.raw(offset, offset + bytes, what),
        }
    }

    /// Bytes, in the largest pieces that are aligned.
    fn raw(&mut self, mut offset: u64, end: u64, what: &str) -> Result<(), String> {
        const SIZES: [ScalarType; 4] = [ScalarType::B64, ScalarType::B32, ScalarType::B16, ScalarType::B8];
        while offset < end {
            let fitting = SIZES.into_iter().find(|ty| {
                let bytes = u64::from(ty.bytes());
                offset + bytes <= end && self.fits(offset, bytes)
            });
            let ty = fitting.unwrap_or(ScalarType::B8);
            self.push(offset, ty, 1, what)?;
            offset += u64::from(ty.bytes());
        }
        Ok(())
    }
}

fn joined(path: &str, name: &str) -> String {
    match (path.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (_, true) => path.to_owned(),
        _ => format!("{path}.{name}"),
    }
}
