//! scratch
use cubin::elf::*;
use std::collections::BTreeMap;
fn main() {
    let mut h: BTreeMap<String, u64> = BTreeMap::new();
    let (mut files, mut fb, mut cubins, mut kernels, mut bytes_, mut bad, mut lay, mut errors) =
        (0, 0, 0u64, 0u64, 0u64, 0, 0, 0);
    for path in std::env::args().skip(1) {
        let data = std::fs::read(&path).unwrap();
        files += 1;
        let mut elves: Vec<Vec<u8>> = vec![];
        if data.starts_with(b"\x7fELF") && u16::from_le_bytes([data[18], data[19]]) == 190 {
            elves.push(data.clone());
        } else {
            let members = match cubin::object::members(&data) {
                Ok(m) => m,
                Err(e) => {
                    println!("{path}: {e}");
                    errors += 1;
                    continue;
                }
            };
            for m in &members {
                for f in &m.fatbins {
                    fb += 1;
                    let es = match cubin::fatbin::entries(f) {
                        Ok(e) => e,
                        Err(e) => {
                            println!("{path}: {e}");
                            errors += 1;
                            continue;
                        }
                    };
                    for e in es {
                        let hs = f.len();
                        let _ = hs;
                        *h.entry(format!(
                            "entry kind {:?} flags {:x} ver {:?} reach {:?}",
                            e.kind, e.flags, e.version, e.reach
                        ))
                        .or_default() += 1;
                        match e.bytes() {
                            Ok(b) => {
                                if b.starts_with(b"\x7fELF") {
                                    elves.push(b.into_owned())
                                } else if !matches!(e.kind, cubin::fatbin::Kind::Ptx) {
                                    *h.entry(format!("not elf {:?} {:x?}", e.kind, &b[..4.min(b.len())]))
                                        .or_default() += 1;
                                }
                            }
                            Err(er) => {
                                println!("{path}: {er}");
                                errors += 1
                            }
                        }
                    }
                }
            }
        }
        for b in elves {
            cubins += 1;
            bytes_ += b.len() as u64;
            let elf = match Elf::parse(&b) {
                Ok(e) => e,
                Err(e) => {
                    println!("{path}: {e}");
                    errors += 1;
                    std::fs::write("target/cubins/bad.cubin", &b).unwrap();
                    continue;
                }
            };
            if elf.to_bytes().ok().as_ref() != Some(&b) {
                bad += 1;
            }
            if !elf.filler.is_empty() {
                *h.entry("filler".into()).or_default() += 1;
            }
            let mut again = elf.clone();
            if again.lay_out().is_err() || again != elf {
                lay += 1;
                let d = again.sections.iter().zip(&elf.sections).enumerate().find(|(_, (a, b))| a != b).map(
                    |(i, _)| {
                        String::from_utf8_lossy(elf.section_name(i as u32).unwrap())
                            .chars()
                            .take(16)
                            .collect::<String>()
                    },
                );
                let sg = again.segments.iter().zip(&elf.segments).enumerate().find(|(_, (a, b))| a != b).map(
                    |(i, (a, b))| {
                        format!(
                            "{i} {:?} {:?}",
                            a.covers,
                            (
                                a.offset == b.offset,
                                a.file_size == b.file_size,
                                a.memory_size == b.memory_size
                            )
                        )
                    },
                );
                *h.entry(format!(
                    "LAYOUT abi{} sec {d:?} seg {sg:?} hdr {} filler {}",
                    elf.header.abi_version,
                    again.header == elf.header,
                    again.filler == elf.filler
                ))
                .or_default() += 1;
                if lay < 20 {
                    std::fs::write(format!("target/cubins/lay{lay}.cubin"), &b).unwrap();
                }
            }
            let hd = &elf.header;
            let arch = if hd.abi_version >= 8 { hd.flags >> 8 & 255 } else { hd.flags & 255 };
            let tag = format!("abi{}", hd.abi_version);
            *h.entry(format!(
                "{tag} osabi {:x} type {} ver {:x} flags {:x} sm{arch}",
                hd.os_abi, hd.kind, hd.version, hd.flags
            ))
            .or_default() += 1;
            if elf.segments.iter().any(|s| s.covers == Covers::Stated) {
                std::fs::write("target/cubins/stated.cubin", &b).unwrap();
                *h.entry(format!(
                    "stated segment {:?}",
                    elf.segments
                        .iter()
                        .filter(|s| s.covers == Covers::Stated)
                        .map(|s| (s.kind, s.file_size == 0))
                        .collect::<Vec<_>>()
                ))
                .or_default() += 1;
            }
            for s in &elf.symbols().unwrap() {
                if s.kind() == 2 && s.other & 0x10 != 0 && s.section != 0 {
                    kernels += 1;
                }
                *h.entry(format!("{tag} sym kind {} bind {} other {:x}", s.kind(), s.binding(), s.other))
                    .or_default() += 1;
            }
            for (i, s) in elf.sections.iter().enumerate() {
                let n = String::from_utf8_lossy(elf.section_name(i as u32).unwrap_or(b"??")).into_owned();
                let pre: String = if n.starts_with(".text.") {
                    ".text.*".into()
                } else {
                    let mut p = n.clone();
                    for k in [
                        ".nv.info.",
                        ".nv.constant0.",
                        ".nv.constant2.",
                        ".nv.shared.",
                        ".nv.local.",
                        ".rel.text.",
                        ".rela.text.",
                        ".rel.nv.constant0.",
                        ".rela.nv.constant0.",
                        ".rel.nv.constant2.",
                        ".nv.capmerc.text.",
                        ".nv.merc.nv.info.",
                        ".nv.merc.rela.text.",
                        ".nv.uft.",
                        ".nv.constant1.",
                    ] {
                        if n.starts_with(k) {
                            p = format!("{k}*");
                        }
                    }
                    p
                };
                *h.entry(format!(
                    "{tag} section {pre} type {:x} flags {:x} es {} align {}",
                    s.kind,
                    s.flags & !0x1f00000,
                    s.entry_size,
                    s.align
                ))
                .or_default() += 1;
                if s.kind == section::REL || s.kind == section::RELA {
                    for r in elf.relocations(i as u32).unwrap() {
                        let t = if pre.contains("debug") { "debug" } else { "x" };
                        *h.entry(format!("{tag} reloc {:#x} {} {t}", r.kind & 0xffff, r.kind >> 16))
                            .or_default() += 1;
                    }
                }
                if s.kind == section::CUDA_INFO || s.kind == 0x70000083 || s.kind == section::CUDA_COMPAT_INFO
                {
                    let d = s.data();
                    let mut at = 0;
                    let w = if s.kind == section::CUDA_COMPAT_INFO {
                        "compat"
                    } else if n.ends_with(".nv.info") {
                        "file"
                    } else {
                        "func"
                    };
                    while at < d.len() {
                        if at + 4 > d.len() {
                            *h.entry(format!("{tag} attr trailing")).or_default() += 1;
                            break;
                        }
                        let len = u16::from_le_bytes([d[at + 2], d[at + 3]]) as usize;
                        let (f, a) = (d[at], d[at + 1]);
                        *h.entry(format!(
                            "{tag} attr {w} {a:#04x} fmt {f} {}",
                            if f == 4 { len.min(64).to_string() } else { String::new() }
                        ))
                        .or_default() += 1;
                        at += if f == 4 { 4 + len } else { 4 };
                    }
                }
                if s.kind == section::NOTE {
                    *h.entry(format!("{tag} note {n} link {} info {}", s.link, s.info)).or_default() += 1;
                }
            }
        }
    }
    for (k, v) in &h {
        println!("{v:9} {k}");
    }
    println!(
        "files {files} fatbins {fb} cubins {cubins} kernels {kernels} bytes {bytes_} differ {bad} layout {lay} errors {errors}"
    );
}
