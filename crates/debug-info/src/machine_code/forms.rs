//! Values of attributes in the forms that their entries' shapes have.

use super::Section;
use gimli::leb128::write::Leb128;
use gimli::{DwForm, constants as dw};

/// A number in a form of an attribute.
pub(super) fn number_as(form: DwForm, number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_le_bytes();
    match form {
        dw::DW_FORM_data1 => out.push(bytes[0]),
        dw::DW_FORM_data2 => out.extend(&bytes[..2]),
        dw::DW_FORM_data4 | dw::DW_FORM_sec_offset => out.extend(&bytes[..4]),
        dw::DW_FORM_sdata => out.extend(Leb128::signed(number.cast_signed()).bytes()),
        dw::DW_FORM_udata => out.extend(Leb128::unsigned(number).bytes()),
        _ => out.extend(bytes),
    }
}

/// An expression in a form of an attribute.
pub(super) fn block_as(form: DwForm, code: &Section, out: &mut Section) {
    let length = code.bytes.len() as u64;
    let bytes = length.to_le_bytes();
    match form {
        dw::DW_FORM_block1 => out.bytes.push(bytes[0]),
        dw::DW_FORM_block2 => out.bytes.extend(&bytes[..2]),
        dw::DW_FORM_block4 => out.bytes.extend(&bytes[..4]),
        _ => out.bytes.extend(Leb128::unsigned(length).bytes()),
    }
    out.append(code);
}
