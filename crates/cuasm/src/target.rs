//! Which device a cubin is for, as its header says it.

use cubin::elf::Header;

/// The ABI of CUDA 13 and later. Before it was 7.
pub(crate) const ABI: u8 = 8;

/// The device if a text names none.
pub(crate) const USUAL: u32 = 90;

/// The number in `sm_90`.
pub(crate) fn sm(header: &Header) -> u32 {
    let shift = if header.abi_version >= ABI { 8 } else { 0 };
    header.flags >> shift & 0xff
}

/// The header that ptxas 13.0 writes for a device. What the lower bits of the flags mean is not known.
pub(crate) fn header(sm: u32) -> Header {
    Header {
        ident_version: 1,
        os_abi: 0x41,
        abi_version: ABI,
        padding: [0; 7],
        kind: 2,
        machine: cubin::elf::EM_CUDA,
        version: 1,
        entry: 0,
        segment_table: 0,
        section_table: 0,
        flags: 0x0600_0000 | (sm & 0xff) << 8 | if sm >= 100 { 2 } else { 4 },
        header_size: cubin::elf::HEADER_SIZE as u16,
        segment_entry_size: cubin::elf::SEGMENT_HEADER_SIZE as u16,
        section_entry_size: cubin::elf::SECTION_HEADER_SIZE as u16,
        names: 0,
    }
}
