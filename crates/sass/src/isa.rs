//! The tables of the architectures: static data, which the build script makes of `isa/`.

use crate::arch::Arch;
use sass_table::operand::{Access, Class, Lookup, Operand};
use sass_table::roles::Flow;
use sass_table::table::{
    Form, Listed, Memory, Mnemonics, Piece, Range, Set, Strings, Table, Vocabulary, ends, numbers,
};
use sass_table::tree::{Node, Trees};
use sass_table::{Bits, Float};

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

impl Arch {
    pub(crate) fn table(self) -> &'static Table<'static> {
        match self {
            Arch::Sm75 => &SM_75,
            Arch::Sm80 => &SM_80,
            Arch::Sm86 => &SM_86,
            Arch::Sm89 => &SM_89,
            Arch::Sm90 => &SM_90,
            Arch::Sm100 => &SM_100,
            Arch::Sm120 => &SM_120,
        }
    }
}
