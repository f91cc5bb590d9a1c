//! Where members lie (guide, sections 2.2 and 2.3).
//!
//! The guide's rules are those of the System V ABIs, and say nothing of `packed` and `aligned`. There GNU C decides, which clang and nvcc's host side follow. nvcc's device
//! side differs in two points: in a packed record a bit field of no bits does nothing, and one that is packed and aligned
//! has exactly that alignment, even if a member asks for more.

use super::record::{Attributes, Kind, Member};
use super::types::{Extent, MAX_SIZE, Scalar, Side, Target, Type};

/// Where a member lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first bit, counted from the beginning of the record; bit 0 is the least significant of byte 0.
    pub bit: u64,
    /// How many bits.
    pub bits: u64,
}

impl Place {
    /// The byte that it begins in.
    pub fn byte(self) -> u64 {
        self.bit / 8
    }

    /// The first bit behind it.
    pub fn end(self) -> u64 {
        self.bit + self.bits
    }
}

/// The layout of a structure or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes, padding at the end included.
    pub size: u64,
    /// Bytes.
    pub align: u64,
    /// A place for each member, in order.
    pub places: Vec<Place>,
}

/// Computes a layout.
pub(super) fn compute(
    kind: Kind,
    members: &[Member],
    attributes: Attributes,
    target: Target,
) -> Result<Layout, String> {
    let (mut align, mut next, mut end) = (1, 0, 0);
    let mut places = Vec::with_capacity(members.len());
    for member in members {
        let what = || member.name.as_ref().map_or("a member".to_owned(), |name| format!("`{name}`"));
        let extent = member.ty.extent(target).map_err(|problem| format!("{}: {problem}", what()))?;
        let packed = attributes.packed || member.attributes.packed;
        if kind == Kind::Union {
            next = 0;
        }
        let place = match member.bits {
            None => {
                let own = if packed { 1 } else { extent.align };
                let own = own.max(member.attributes.align.unwrap_or(1));
                align = align.max(own);
                Place { bit: up(next, own * 8), bits: extent.size * 8 }
            }
            Some(bits) => {
                let scalar = member.ty.bit_field_scalar(target.host);
                let scalar = scalar.ok_or_else(|| format!("{}: a bit field has an integer type", what()))?;
                check_width(member, scalar, bits, extent)
                    .map_err(|problem| format!("{}: {problem}", what()))?;
                let gap = !(attributes.packed && target.side == Side::NvccDevice);
                let (bit, own) = match bits {
                    0 if gap => (up(next, extent.align * 8), 1),
                    0 => (next, 1),
                    _ => bit_field(next, bits, extent, packed, member),
                };
                align = align.max(own);
                Place { bit, bits }
            }
        };
        next = place.end();
        end = end.max(next);
        if end > MAX_SIZE * 8 {
            return Err("it is too large".into());
        }
        places.push(place);
    }
    let align = match (attributes.align, target.side) {
        (Some(stated), Side::NvccDevice) if attributes.packed => stated,
        (stated, _) => align.max(stated.unwrap_or(1)),
    };
    // As in C++, no object is without a byte.
    let none = members.iter().all(|member| member.bits == Some(0));
    let bytes = if none { 1 } else { end.div_ceil(8) };
    Ok(Layout { size: bytes.next_multiple_of(align), align, places })
}

fn check_width(member: &Member, scalar: Scalar, bits: u64, extent: Extent) -> Result<(), String> {
    let most = if scalar == Scalar::Bool { 1 } else { extent.size * 8 };
    match bits {
        _ if member.attributes.align.is_some() || matches!(member.ty, Type::Aligned(..)) => {
            Err("compilers differ in what the alignment of a bit field means".into())
        }
        0 if member.name.is_some() => Err("a bit field with a name has at least one bit".into()),
        _ if bits > most => Err(format!("{bits} bits in a bit field of at most {most}")),
        _ => Ok(()),
    }
}

/// The first bit of a bit field behind `next`, and the alignment that it asks of the record.
fn bit_field(next: u64, bits: u64, extent: Extent, packed: bool, member: &Member) -> (u64, u64) {
    // It lies in one storage unit of its type.
    let unit = extent.size * 8;
    let crosses = next % unit + bits > unit;
    let bit = if !packed && crosses { up(next, unit) } else { next };
    let own = if packed || member.name.is_none() { 1 } else { extent.align };
    (bit, own)
}

fn up(bit: u64, multiple: u64) -> u64 {
    bit.next_multiple_of(multiple)
}
