//! Location expressions of PTX as those of machine code.

use super::variables::{Home, Variables};
use super::{Section, Symbol};
use crate::location::{register_name, register_number};
use crate::{Addresses, Place, Reader};
use gimli::leb128::write::Leb128;
use gimli::{Encoding, Operation, Reader as _, constants as dw};
use std::cell::RefCell;
use std::collections::HashMap;

/// Names of the registers of calls that were inlined, which those of the kernel, or of another call, may have too. All are numbers of
/// eight characters at most, as expressions need.
#[derive(Debug, Default)]
pub(super) struct Aliases(RefCell<HashMap<(String, u32, String), String>>);

impl Aliases {
    /// The name of a register of a call of a kernel.
    pub(super) fn of(&self, kernel: &str, call: u32, register: &str) -> String {
        if call == 0 {
            return register.to_owned();
        }
        let mut all = self.0.borrow_mut();
        let next = all.len();
        let key = (kernel.to_owned(), call, register.to_owned());
        all.entry(key).or_insert_with(|| format!("%@{next}")).clone()
    }
}

/// What expressions are read and written with.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) addresses: &'a Addresses,
    pub(super) encoding: Encoding,
    pub(super) aliases: &'a Aliases,
    pub(super) kernel: &'a str,
    pub(super) variables: &'a Variables,
    pub(super) call: u32,
}

/// An expression for machine code.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Its bytes, and addresses in them.
    pub(super) code: Section,
    /// It counts from the frame.
    pub(super) in_frame: bool,
    /// It is in memory that the kernel writes.
    pub(super) varies: bool,
}

impl Context<'_> {
    /// The same place in machine code; nothing, if what it names is nowhere there.
    pub(super) fn rewrite(&self, expression: &[u8]) -> Option<Written> {
        let mut out = Written::default();
        let mut bytes = Reader::new(expression, gimli::LittleEndian);
        while !bytes.is_empty() {
            let before = bytes;
            match gimli::DwOp(bytes.read_u8().ok()?) {
                dw::DW_OP_addr => self.address(bytes.read_u64().ok()?, &mut out)?,
                opcode @ (dw::DW_OP_regx | dw::DW_OP_bregx) => {
                    let name = register_name(bytes.read_uleb128().ok()?)?;
                    let number = register_number(&self.aliases.of(self.kernel, self.call, &name))?;
                    out.code.bytes.push(opcode.0);
                    out.code.bytes.extend(Leb128::unsigned(number).bytes());
                    if opcode == dw::DW_OP_bregx {
                        let offset = bytes.read_sleb128().ok()?;
                        out.code.bytes.extend(Leb128::signed(offset).bytes());
                    }
                }
                _ => {
                    bytes = before;
                    Operation::parse(&mut bytes, self.encoding).ok()?;
                    out.code.bytes.extend(&before.slice()[..before.len() - bytes.len()]);
                }
            }
        }
        Some(out)
    }

    fn address(&self, address: u64, out: &mut Written) -> Option<()> {
        let Some(Place::Variable { variable, offset }) = self.addresses.place(address) else { return None };
        let home = self.variables.home(self.call, variable)?;
        match home {
            Home::Parameter(address) | Home::Shared(address) => {
                out.varies |= matches!(home, Home::Shared(_));
                out.code.bytes.push(dw::DW_OP_addr.0);
                out.code.bytes.extend((address + offset).to_le_bytes());
            }
            Home::Symbol => {
                out.code.bytes.push(dw::DW_OP_addr.0);
                out.code.address(Symbol::Variable(variable), offset);
            }
            Home::Frame(at) => {
                // The frame ends where it begins to be counted.
                let below = (at + offset).cast_signed() - self.variables.frame.cast_signed();
                out.code.bytes.push(dw::DW_OP_fbreg.0);
                out.code.bytes.extend(Leb128::signed(below).bytes());
                (out.in_frame, out.varies) = (true, true);
            }
        }
        Some(())
    }
}
