//! Fatbins that are changed: everything but the change stays.

use cubin::fatbin::{self, Compression, Container, Content, Error, Item, Kind, Reach};
use cubin::object;
use proptest::prelude::*;

const PLAIN: &[u8] = include_bytes!("data/plain.fatbin");
const LZ4: &[u8] = include_bytes!("data/lz4.fatbin");
const ZSTD: &[u8] = include_bytes!("data/zstd.fatbin");

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

#[test]
fn bytes_come_back() {
    for bytes in [PLAIN, LZ4, ZSTD] {
        let container = Container::parse(bytes).unwrap();
        assert_eq!(container.to_bytes(), bytes);
        let entries: Vec<_> = container.items.iter().map(|item| item.entry().text().unwrap()).collect();
        let same: Vec<_> =
            fatbin::entries(bytes).unwrap().iter().map(|entry| entry.text().unwrap()).collect();
        assert_eq!(entries, same);
    }
}

#[test]
fn one_entry_changes_and_the_others_stay() {
    for (bytes, compression) in
        [(PLAIN, Compression::Zstd), (LZ4, Compression::None), (ZSTD, Compression::Lz4)]
    {
        let mut container = Container::parse(bytes).unwrap();
        let before = container.clone();
        container.items[0].set_payload(b".version 9.0\n", compression).unwrap();
        let again = Container::parse(&container.to_bytes()).unwrap();
        assert_eq!(again.items[1], before.items[1]);
        let (new, old) = (again.items[0].entry(), before.items[0].entry());
        assert_eq!(new.text().unwrap(), ".version 9.0\n");
        assert_eq!(new.compression(), compression);
        let facts = |entry: &fatbin::Entry<'_>| (entry.kind, entry.sm, entry.reach, entry.version);
        assert_eq!(facts(&new), facts(&old));
        assert_eq!((new.name, new.options), (old.name, old.options));
    }
}

#[test]
fn repacking_changes_no_text() {
    let texts = |container: &Container| -> Vec<_> {
        container.items.iter().map(|item| item.entry().text().unwrap()).collect()
    };
    for compression in COMPRESSIONS {
        let mut container = Container::parse(ZSTD).unwrap();
        let before = texts(&container);
        for item in &mut container.items {
            let payload = item.entry().bytes().unwrap().into_owned();
            item.set_payload(&payload, compression).unwrap();
        }
        assert_eq!(texts(&Container::parse(&container.to_bytes()).unwrap()), before);
    }
}

#[test]
fn entries_can_be_made() {
    let content = |kind, sm, reach, name| Content {
        kind,
        sm,
        reach,
        version: (1, 8),
        name,
        compression: Compression::Lz4,
    };
    let made = [
        (content(Kind::Elf, 90, Reach::Specific, None), b"\x7fELF".to_vec()),
        (content(Kind::Elf, 100, Reach::Family, Some("main.cu")), vec![7; 100_000]),
        (content(Kind::Other(77), 75, Reach::Base, None), Vec::new()),
    ];
    let items = made.iter().map(|(content, payload)| Item::new(content, payload).unwrap());
    let bytes = Container::new(items.collect()).to_bytes();
    // Runs of one byte are packed.
    assert!(bytes.len() < 2000, "{}", bytes.len());
    for (entry, (content, payload)) in fatbin::entries(&bytes).unwrap().iter().zip(&made) {
        assert_eq!(entry.bytes().unwrap(), *payload);
        assert_eq!((entry.kind, entry.sm, entry.reach), (content.kind, content.sm, content.reach));
        assert_eq!((entry.version, entry.name), (content.version, content.name));
    }
}

#[test]
fn damage_has_a_name() {
    assert!(matches!(Container::parse(&LZ4[..7]), Err(Error::CutOff { needs: 16, left: 7, .. })));
    assert!(matches!(Container::parse(&LZ4[..500]), Err(Error::CutOff { what: "the container", .. })));
}

/// A host object with fatbins in it, and a wrapper.
fn host() -> Vec<u8> {
    use ::object::write::Object;
    use ::object::{Architecture, BinaryFormat, Endianness, SectionKind};
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let wrapper: Vec<u8> =
        [0x4662_43b1_u32, 1, 0x1000, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    for (name, data) in
        [(".nv_fatbin", [PLAIN, LZ4].concat()), (".nvFatBinSegment", wrapper), (".text", vec![9; 99])]
    {
        let section = object.add_section(Vec::new(), name.into(), SectionKind::ReadOnlyData);
        object.append_section_data(section, &data, 8);
    }
    object.write().unwrap()
}

#[test]
fn a_fatbin_in_an_object_is_replaced() {
    let host = host();
    let changed = object::replace(&host, 0, LZ4).unwrap();
    let found = object::members(&changed).unwrap();
    assert_eq!(found[0].fatbins, [LZ4, LZ4]);
    assert_eq!(found[0].wrappers, [object::Wrapper { version: 1, data: 0x1000, second: 0 }]);
    let differ = host.iter().zip(&changed).filter(|(a, b)| a != b).count();
    assert!(changed.len() == host.len() && differ <= PLAIN.len());
    let larger = [PLAIN, PLAIN].concat();
    assert_eq!(
        object::replace(&host, 1, &larger),
        Err(object::Error::NoRoom { size: larger.len(), room: LZ4.len() })
    );
    assert_eq!(object::replace(&host, 2, LZ4), Err(object::Error::NoFatbin { wanted: 2, there: 2 }));
}

proptest! {
    #[test]
    fn payloads_survive_packing(payload in prop::collection::vec(0u8..4, 0..3000), which in 0usize..3) {
        let compression = COMPRESSIONS[which];
        let kind = Kind::Lto;
        let content = Content { kind, sm: 90, reach: Reach::Base, version: (1, 8), name: Some("x"), compression };
        let bytes = Container::new(vec![Item::new(&content, &payload).unwrap()]).to_bytes();
        let entries = fatbin::entries(&bytes).unwrap();
        let unpacked = entries[0].bytes().unwrap();
        // What is not packed has its padding.
        prop_assert_eq!(&unpacked[..payload.len()], payload.as_slice());
        prop_assert!(unpacked.len() == payload.len() || compression == Compression::None);
    }

    #[test]
    fn any_bytes_have_an_answer(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), which in 0usize..3) {
        let mut bytes = [PLAIN, LZ4, ZSTD][which].to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(container) = Container::parse(&bytes) {
            let written = container.to_bytes();
            prop_assert_eq!(&written, &bytes[..written.len()]);
        }
    }
}
