//! From entries to types, and to the parts of types.

use super::{Context, Entry, Found, Named};
use crate::Reader;
use crate::location::AddressClass;
use crate::types::{Encoding, Member, Type, TypeId};
use gimli::{AttributeValue, Reader as _, constants as dw};

impl Found {
    pub(super) fn ty<'a>(&self, c: &Context<'_, 'a>, entry: &Entry<'a>, named: Named) -> Option<Type> {
        let Named { name, ty: to, .. } = named;
        let size = c.number(entry, dw::DW_AT_byte_size);
        let pointer = |mark| {
            let class = c.number(entry, dw::DW_AT_address_class).and_then(AddressClass::of_code);
            Type::Pointer { to, mark, size, class }
        };
        let structure = |keyword| Type::Structure { keyword, name: name.clone(), size, members: Vec::new() };
        let qualified = |keyword| Type::Qualified { keyword, to };
        Some(match entry.tag() {
            dw::DW_TAG_base_type => Type::Base {
                name: name.unwrap_or_default(),
                size: size.unwrap_or(0),
                encoding: base_encoding(c.number(entry, dw::DW_AT_encoding).unwrap_or(0)),
            },
            dw::DW_TAG_pointer_type => pointer("*"),
            dw::DW_TAG_reference_type => pointer("&"),
            dw::DW_TAG_rvalue_reference_type => pointer("&&"),
            dw::DW_TAG_structure_type => structure("struct"),
            dw::DW_TAG_class_type => structure("class"),
            dw::DW_TAG_union_type => structure("union"),
            dw::DW_TAG_array_type => Type::Array { element: to, counts: Vec::new() },
            dw::DW_TAG_enumeration_type => {
                Type::Enumeration { name, size: size.unwrap_or(4), enumerators: Vec::new() }
            }
            dw::DW_TAG_typedef => Type::Alias { name: name.unwrap_or_default(), to },
            dw::DW_TAG_const_type => qualified("const"),
            dw::DW_TAG_volatile_type => qualified("volatile"),
            dw::DW_TAG_restrict_type => qualified("__restrict__"),
            // CUDA's producers also have it for `void`.
            tag @ (dw::DW_TAG_unspecified_type
            | dw::DW_TAG_subroutine_type
            | dw::DW_TAG_ptr_to_member_type) => Type::Other { tag: tag.to_string(), name },
            _ => return None,
        })
    }

    /// A member, an enumerator, or a dimension of the type around it.
    pub(super) fn part_of_type<'a>(
        &mut self,
        c: &Context<'_, 'a>,
        entry: &Entry<'a>,
        named: &Named,
        ty: Option<TypeId>,
    ) {
        let Some(ty) = ty.and_then(|ty| self.types.get_mut(&ty)) else { return };
        match (entry.tag(), ty) {
            (dw::DW_TAG_member | dw::DW_TAG_inheritance, Type::Structure { members, .. }) => {
                // A static member has a place of its own.
                if entry.has_attr(dw::DW_AT_external) || entry.has_attr(dw::DW_AT_declaration) {
                    return;
                }
                let offset = match entry.attr_value(dw::DW_AT_data_member_location) {
                    Some(value) => value.udata_value().or_else(|| member_offset(value)).unwrap_or(0),
                    None => 0,
                };
                let bits = c.number(entry, dw::DW_AT_bit_size).map(|size| {
                    let storage = c.number(entry, dw::DW_AT_byte_size).unwrap_or(4).saturating_mul(8);
                    let first = match c.number(entry, dw::DW_AT_data_bit_offset) {
                        Some(first) => first,
                        // Before DWARF 4 from the highest bit of the storage unit.
                        None => storage
                            .saturating_sub(c.number(entry, dw::DW_AT_bit_offset).unwrap_or(0))
                            .saturating_sub(size),
                    };
                    (size, first)
                });
                members.push(Member { name: named.name.clone(), ty: named.ty, offset, bits });
            }
            (dw::DW_TAG_enumerator, Type::Enumeration { enumerators, .. }) => {
                let value = entry.attr_value(dw::DW_AT_const_value);
                let value =
                    value.and_then(|v| v.sdata_value().or_else(|| v.udata_value().map(u64::cast_signed)));
                enumerators.push((named.name.clone().unwrap_or_default(), value.unwrap_or(0)));
            }
            (dw::DW_TAG_subrange_type, Type::Array { counts, .. }) => {
                let bound = c.number(entry, dw::DW_AT_upper_bound).and_then(|bound| bound.checked_add(1));
                counts.push(c.number(entry, dw::DW_AT_count).or(bound));
            }
            _ => {}
        }
    }
}

fn base_encoding(code: u64) -> Encoding {
    match u8::try_from(code).map(gimli::DwAte) {
        Ok(dw::DW_ATE_signed) => Encoding::Signed,
        Ok(dw::DW_ATE_unsigned) => Encoding::Unsigned,
        Ok(dw::DW_ATE_float) => Encoding::Float,
        Ok(dw::DW_ATE_boolean) => Encoding::Boolean,
        Ok(dw::DW_ATE_signed_char) => Encoding::Character { signed: true },
        Ok(dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF) => Encoding::Character { signed: false },
        other => Encoding::Other(other.map_or(0, |ate| ate.0)),
    }
}

/// The offset of a member where it is an expression, `DW_OP_plus_uconst N`, as in DWARF 2.
fn member_offset(value: AttributeValue<Reader<'_>>) -> Option<u64> {
    let mut bytes = value.exprloc_value()?.0;
    let opcode = gimli::DwOp(bytes.read_u8().ok()?);
    let number = bytes.read_uleb128().ok()?;
    let known = matches!(opcode, dw::DW_OP_plus_uconst | dw::DW_OP_constu);
    (known && bytes.is_empty()).then_some(number)
}
