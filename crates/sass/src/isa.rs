//! The tables of the architectures, read once, when first used.

use std::sync::OnceLock;

use crate::arch::Arch;
use crate::table::Table;

static TABLES: [OnceLock<Table>; Arch::ALL.len()] = [const { OnceLock::new() }; Arch::ALL.len()];

/// The text of an architecture's table.
pub(crate) fn text(arch: Arch) -> &'static str {
    match arch {
        Arch::Sm75 => include_str!("../isa/sm_75.sass"),
        Arch::Sm80 => include_str!("../isa/sm_80.sass"),
        Arch::Sm86 => include_str!("../isa/sm_86.sass"),
        Arch::Sm89 => include_str!("../isa/sm_89.sass"),
        Arch::Sm90 => include_str!("../isa/sm_90.sass"),
        Arch::Sm100 => include_str!("../isa/sm_100.sass"),
        Arch::Sm120 => include_str!("../isa/sm_120.sass"),
    }
}

/// What the learner is told: of all architectures, and of one.
pub(crate) fn hints(arch: Arch) -> [&'static str; 2] {
    let own = match arch {
        Arch::Sm75 => include_str!("../isa/hints/sm_75.sass"),
        Arch::Sm80 => include_str!("../isa/hints/sm_80.sass"),
        Arch::Sm86 => include_str!("../isa/hints/sm_86.sass"),
        Arch::Sm89 => include_str!("../isa/hints/sm_89.sass"),
        Arch::Sm90 => include_str!("../isa/hints/sm_90.sass"),
        Arch::Sm100 => include_str!("../isa/hints/sm_100.sass"),
        Arch::Sm120 => include_str!("../isa/hints/sm_120.sass"),
    };
    [own, include_str!("../isa/hints/all.sass")]
}

pub(crate) fn table(arch: Arch) -> &'static Table {
    TABLES[arch.index()].get_or_init(|| {
        Table::read(text(arch)).unwrap_or_else(|error| panic!("the committed table of {arch}: {error}"))
    })
}
