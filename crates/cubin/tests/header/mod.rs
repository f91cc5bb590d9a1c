//! The header of a cubin that is made by hand.

use cubin::elf::{EM_CUDA, Header};

/// ptxas 13.0's for sm_90; the section with names is number 1.
pub(crate) fn header() -> Header {
    Header {
        ident_version: 1,
        os_abi: 0x41,
        abi_version: 8,
        padding: [0; 7],
        kind: 2,
        machine: EM_CUDA,
        version: 1,
        entry: 0,
        segment_table: 0,
        section_table: 0,
        flags: 0x0600_5a04,
        header_size: 64,
        segment_entry_size: 56,
        section_entry_size: 64,
        names: 1,
    }
}
