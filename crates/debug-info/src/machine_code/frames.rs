//! `.debug_frame`: where the stack frame of a thread begins. A register is numbered by its class in the highest byte, as in the table of
//! [registers](super::registers).

use super::{BYTES, MachineCode, Section, Symbol};
use gimli::constants as dw;
use gimli::leb128::write::Leb128;

/// R1.
const STACK_POINTER: u64 = 0x0500_0001;
/// No register: a kernel returns to nobody.
const NOWHERE: u64 = 0xffff_ffff;
/// What addresses and offsets are divided by.
const CODE_UNIT: u64 = 4;
const DATA_UNIT: i64 = -4;
/// Behind so many instructions a kernel has its frame.
const PROLOGUE: u64 = 2;
/// Marks a length of 64 bits.
const LONG: [u8; 4] = [0xff; 4];

/// The section: an entry for what all have in common, and one for each kernel.
pub(super) fn section(code: &[MachineCode<'_>]) -> Section {
    let mut out = Section::named(".debug_frame");
    for of in code {
        let Some(variables) = of.variables else { continue };
        let common = out.bytes.len() as u64;
        let mut body = vec![0xff; 8];
        body.extend([3, 0]);
        body.extend(Leb128::unsigned(CODE_UNIT).bytes());
        body.extend(Leb128::signed(DATA_UNIT).bytes());
        body.extend(Leb128::unsigned(NOWHERE).bytes());
        frame(0, &mut body);
        entry(&mut out, &body, None);
        let own = u64::from(variables.own) * BYTES;
        let mut body = common.to_le_bytes().to_vec();
        let address = body.len();
        body.extend([0; 8]);
        body.extend(own.to_le_bytes());
        if variables.frame > 0 {
            body.push(dw::DW_CFA_advance_loc4.0);
            body.extend(((PROLOGUE * BYTES / CODE_UNIT) as u32).to_le_bytes());
            frame(variables.frame, &mut body);
        }
        entry(&mut out, &body, Some((address, Symbol::Kernel(of.kernel))));
    }
    out
}

/// The frame begins so many bytes above R1.
fn frame(bytes: u64, out: &mut Vec<u8>) {
    out.push(dw::DW_CFA_def_cfa.0);
    out.extend(Leb128::unsigned(STACK_POINTER).bytes());
    out.extend(Leb128::unsigned(bytes).bytes());
}

/// Writes an entry with its length, filled up to a multiple of an address's size.
fn entry(out: &mut Section, body: &[u8], address: Option<(usize, Symbol)>) {
    out.bytes.extend(LONG);
    out.bytes.extend((body.len() as u64 + 4).next_multiple_of(8).wrapping_sub(4).to_le_bytes());
    let begin = out.bytes.len();
    out.bytes.extend(body);
    out.bytes.resize(begin + (body.len() + 4).next_multiple_of(8) - 4, dw::DW_CFA_nop.0);
    if let Some((place, symbol)) = address {
        out.addresses.push(super::Address { place: begin + place, symbol, offset: 0 });
    }
}
