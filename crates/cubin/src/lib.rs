//! What NVIDIA's compilers pack device code into, byte for byte: ELF cubins, fatbins, the containers that hold one program
//! for several architectures, and the host objects and archives that hold fatbins. Nothing here knows what an instruction
//! means.
//!
//! | module | bytes | what it is |
//! | --- | --- | --- |
//! | [`elf`] | raw | an ELF cubin as it stands: read, changed, written |
//! | [`fatbin`] | raw | containers of PTX and cubins |
//! | [`carrier`] | both | ELF cubins that carry PTX in the place of machine code |
//! | [`object`], [`images`] | read | fatbins in host objects and archives; in whatever a file is |

pub mod carrier;
pub mod elf;
pub mod fatbin;
pub mod images;
pub mod info;
pub mod object;
pub mod read;
