//! Cubins that carry PTX: written, read, put together by a linker.

use cubin::carrier::{Purpose, fatbins, size, write};
use cubin::elf::Elf;
use cubin::fatbin::{Reach, pack_ptx};
use cubin::read::{CudaInfo, Program, ToolInfo, notes};

fn purpose(sm: u16) -> Purpose {
    Purpose {
        sm,
        specific: sm == 90,
        relocatable: sm == 89,
        cuda: CudaInfo { version: 2, virtual_sm: 75, toolkit: 130 },
        tool: ToolInfo {
            version: 2,
            object: String::new(),
            tool: "ptxas".to_owned(),
            tool_version: "release 13.0".to_owned(),
            branch: "a branch".to_owned(),
            arguments: "-arch sm_90".to_owned(),
        },
    }
}

fn modules() -> Vec<Vec<u8>> {
    // The first is no multiple of the alignment, so that there is padding.
    vec![pack_ptx("// one", (9, 0), 75, Reach::Base), pack_ptx("// another", (8, 0), 80, Reach::Base)]
}

#[test]
fn what_is_written_is_read() {
    for sm in [75, 89, 90, 100, 120] {
        let (purpose, modules) = (purpose(sm), modules());
        let bytes = write(&modules, &purpose).unwrap();
        assert_eq!(fatbins(&bytes), modules);
        assert_eq!(size(bytes.first_chunk().unwrap()), Some(bytes.len() as u64));
        let elf = Elf::parse(&bytes).unwrap();
        assert_eq!(elf.to_bytes().unwrap(), bytes);
        assert_eq!(elf.header.kind, if sm == 89 { 1 } else { 2 });
        assert_eq!(elf.header.flags >> 8 & 0xff, sm.into());
        let notes = notes(&elf).unwrap();
        assert_eq!(notes[0].tool().as_ref(), Some(&purpose.tool));
        assert_eq!(notes[1].cuda(), Some(purpose.cuda));
        // nvlink passes over those that stand before.
        assert!(notes[1].section >= 6);
        let compat = Program::new(&elf).compatibility();
        assert_eq!(compat.len(), if sm >= 90 { 2 } else { 0 });
        assert_eq!(elf.find(".nv.merc.symtab").is_some(), sm >= 100);
    }
}

/// As nvlink does: sections of one name behind one another, aligned.
#[test]
fn modules_of_several_files_are_told_apart() {
    let one = write(&modules()[..1], &purpose(90)).unwrap();
    let mut elf = Elf::parse(&one).unwrap();
    let number = elf.find(".warploom.ptx").unwrap();
    let section = elf.section_mut(number).unwrap();
    let both = [section.data(), &[0; 16], &modules()[1]].concat();
    section.contents = cubin::elf::Contents::Bytes(both);
    elf.lay_out().unwrap();
    assert_eq!(fatbins(&elf.to_bytes().unwrap()), modules());
}

#[test]
fn what_is_no_carrier_carries_nothing() {
    let bytes = write(&modules(), &purpose(90)).unwrap();
    assert!(fatbins(b"\x7fELF").is_empty());
    assert!(fatbins(&bytes[..bytes.len() / 2]).is_empty());
    let mut elf = Elf::parse(&bytes).unwrap();
    let number = elf.find(".warploom.ptx").unwrap();
    // A fatbin that says more than there is, and one that is none.
    for (at, value) in [(8, 0xff), (0, 0)] {
        let mut damaged = elf.clone();
        let section = damaged.section_mut(number).unwrap();
        let mut data = section.data().to_vec();
        data[at] = value;
        data[at + 1] = value;
        section.contents = cubin::elf::Contents::Bytes(data);
        assert!(fatbins(&damaged.to_bytes().unwrap()).is_empty());
    }
    elf.remove_section(number).unwrap();
    elf.lay_out().unwrap();
    assert!(fatbins(&elf.to_bytes().unwrap()).is_empty());
    let mut header = *bytes.first_chunk().unwrap();
    header[18] = 62;
    assert_eq!(size(&header), None, "an x86-64 program is no cubin");
}
