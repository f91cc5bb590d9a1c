//! Variants of a cubin that each lack one thing: a section, an attribute, the segments. What a real driver still loads and
//! runs correctly is what it does not need; `load.c` next to this asks it, and docs/cubin.md has the answers.
//!
//! `cargo run -p warploom-cubin --example without -- kernel.cubin FOLDER`

use cubin::elf::section::{CUDA_COMPAT_INFO, CUDA_INFO};
use cubin::elf::{Contents, Elf};
use cubin::info;
use std::error::Error;
use std::path::Path;

/// Sections without which the file cannot even be edited here: names, strings and symbols.
const TABLES: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().collect();
    let [_, file, folder] = arguments.as_slice() else { return Err("usage: without FILE FOLDER".into()) };
    let elf = Elf::parse(&std::fs::read(file)?)?;
    std::fs::create_dir_all(folder)?;
    let write = |label: &str, elf: &Elf| -> Result<(), Box<dyn Error>> {
        let label: String =
            label.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
        std::fs::write(Path::new(folder).join(format!("{label}.cubin")), elf.to_bytes()?)?;
        Ok(())
    };
    let name =
        |number: u32| String::from_utf8_lossy(elf.section_name(number).unwrap_or_default()).into_owned();
    let changed = |change: &dyn Fn(&mut Elf)| -> Result<Elf, Box<dyn Error>> {
        let mut elf = elf.clone();
        change(&mut elf);
        elf.lay_out()?;
        Ok(elf)
    };
    write("whole", &elf)?;
    write(
        "laid-out-anew",
        &changed(&|elf| elf.sections.iter_mut().for_each(|section| section.place = Default::default()))?,
    )?;
    write("no-segments", &changed(&|elf| elf.segments.clear())?)?;
    write("header-abi-7", &changed(&|elf| elf.header.abi_version = 7)?)?;
    write("header-os-abi-0x33", &changed(&|elf| elf.header.os_abi = 0x33)?)?;
    write("header-no-flags", &changed(&|elf| elf.header.flags = 0)?)?;
    write("header-relocatable", &changed(&|elf| elf.header.kind = 1)?)?;
    write("header-version-0", &changed(&|elf| elf.header.version = 0)?)?;
    for number in TABLES + 1..elf.sections.len() as u32 {
        let gone = changed(&|elf| drop(elf.remove_section(number)))?;
        write(&format!("section{}", name(number)), &gone)?;
        let section = elf.section(number)?;
        if !matches!(section.kind, CUDA_INFO | CUDA_COMPAT_INFO) {
            continue;
        }
        let attributes = info::decode(section.data())?;
        for (at, attribute) in attributes.iter().enumerate() {
            let mut rest = attributes.clone();
            rest.remove(at);
            let rest = Contents::Bytes(info::encode(&rest)?);
            let gone = changed(&|elf| elf.sections[number as usize].contents = rest.clone())?;
            let attribute = match section.kind {
                CUDA_INFO => info::table::name(attribute.code),
                _ => info::table::compatibility_name(attribute.code),
            };
            write(&format!("attribute{}-{at}-{}", name(number), attribute.unwrap_or("unknown")), &gone)?;
        }
        let empty = changed(&|elf| elf.sections[number as usize].contents = Contents::Bytes(Vec::new()))?;
        write(&format!("empty{}", name(number)), &empty)?;
    }
    // All at once that only describes.
    let describes = |name: &str| {
        let prefixes = [".debug", ".note", ".nv.compat", ".nv.callgraph", ".rela.debug", ".nv.rel.action"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let bare = changed(&|elf| {
        for number in (TABLES + 1..elf.sections.len() as u32).rev() {
            if describes(&String::from_utf8_lossy(elf.section_name(number).unwrap_or_default())) {
                let _ = elf.remove_section(number);
            }
        }
    })?;
    write("bare", &bare)?;
    let mut barer = bare.clone();
    barer.segments.clear();
    barer.lay_out()?;
    write("bare-no-segments", &barer)
}
