//! Objects made here with a fatbin of nvcc's in them, archives of those, and damaged ones.

use cubin::object::{Error, members};
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use proptest::prelude::*;

const FATBIN: &[u8] = include_bytes!("data/plain.fatbin");

/// An object with these sections.
fn object(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for (name, data) in sections {
        let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::ReadOnlyData);
        object.append_section_data(section, data, 8);
    }
    object.write().unwrap()
}

/// An archive: a line for each member, then its bytes, at even places.
fn archive(objects: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, data) in objects {
        let name = format!("{name}/");
        bytes
            .extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).as_bytes());
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

#[test]
fn fatbins_are_found_in_their_sections() {
    let two = [FATBIN, FATBIN].concat();
    let bytes = object(&[(".text", b"code"), ("__nv_relfatbin", &two), (".nv_fatbin", FATBIN)]);
    let found = members(&bytes).unwrap();
    assert_eq!((found.len(), found[0].name.as_str()), (1, ""));
    assert_eq!(found[0].fatbins, [FATBIN, FATBIN, FATBIN]);
    assert_eq!(members(&object(&[(".text", b"code")])).unwrap()[0].fatbins, [b""; 0]);
}

#[test]
fn fatbins_among_data_are_found_where_no_section_is_theirs() {
    // The magic number alone is no fatbin.
    let data = [&FATBIN[..8], &[0; 8], FATBIN, &[1; 16], FATBIN].concat();
    let bytes = object(&[(".data", &data), (".rodata", FATBIN)]);
    assert_eq!(members(&bytes).unwrap()[0].fatbins, [FATBIN, FATBIN, FATBIN]);
}

#[test]
fn archives_are_objects_with_names() {
    let (with, without) = (object(&[(".nv_fatbin", FATBIN)]), object(&[]));
    let bytes = archive(&[("a.o", &with), ("b.o", &without)]);
    let found: Vec<_> = members(&bytes).unwrap().into_iter().map(|m| (m.name, m.fatbins.len())).collect();
    assert_eq!(found, [("a.o".to_owned(), 1), ("b.o".to_owned(), 0)]);
}

#[test]
fn other_bytes_are_refused() {
    assert!(matches!(members(b"neither"), Err(Error::Malformed(_))));
    assert!(members(&archive(&[("text", b"not an object")])).is_err());
}

proptest! {
    #[test]
    fn damage_is_no_disaster(at in 0usize..4096, value: u8) {
        let mut bytes = archive(&[("a.o", &object(&[(".nv_fatbin", FATBIN)]))]);
        let at = at % bytes.len();
        bytes[at] = value;
        let _ = members(&bytes);
        let _ = members(&bytes[..at]);
    }
}
