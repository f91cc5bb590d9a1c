//! Fatbins as nvcc 13.0 writes them from `data/kernels.cu`, for `compute_75` and `compute_90`, and damaged ones.

use cubin::fatbin::{self, Error, Kind, Reach, Target};
use proptest::prelude::*;

const PLAIN: &[u8] = include_bytes!("data/plain.fatbin");
const LZ4: &[u8] = include_bytes!("data/lz4.fatbin");
const ZSTD: &[u8] = include_bytes!("data/zstd.fatbin");

fn texts(bytes: &[u8]) -> Vec<String> {
    fatbin::entries(bytes).unwrap().iter().map(|entry| entry.text().unwrap()).collect()
}

#[test]
fn every_compression_holds_the_same_text() {
    let plain = texts(PLAIN);
    assert_eq!(plain.len(), 2);
    for (text, target) in plain.iter().zip(["sm_75", "sm_90"]) {
        assert!(text.contains(&format!(".target {target}")) && text.contains(".entry add("), "{text}");
        assert!(text.ends_with("}\n\n") || text.ends_with('\n'), "{text:?}");
    }
    assert_eq!(texts(LZ4), plain);
    assert_eq!(texts(ZSTD), plain);
}

#[test]
fn entries_say_what_they_are() {
    let entries = fatbin::entries(ZSTD).unwrap();
    let facts = |entry: &fatbin::Entry<'_>| (entry.kind, entry.sm, entry.reach, entry.version);
    assert_eq!(facts(&entries[0]), (Kind::Ptx, 75, Reach::Base, (9, 0)));
    assert_eq!(facts(&entries[1]), (Kind::Ptx, 90, Reach::Base, (9, 0)));
}

#[test]
fn the_newest_that_runs_is_chosen() {
    let entries = fatbin::entries(LZ4).unwrap();
    let chosen = |sm| fatbin::best_ptx(&entries, Target { sm, arch_specific: true }).map(|entry| entry.sm);
    assert_eq!(
        [chosen(70), chosen(75), chosen(89), chosen(90), chosen(120)],
        [None, Some(75), Some(75), Some(90), Some(90)]
    );
}

#[test]
fn damage_has_a_name() {
    assert_eq!(
        fatbin::entries(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"),
        Err(Error::NotAFatbin(0x464c_457f))
    );
    assert!(matches!(fatbin::entries(&LZ4[..7]), Err(Error::CutOff { needs: 16, left: 7, .. })));
    assert!(matches!(fatbin::entries(&LZ4[..500]), Err(Error::CutOff { what: "the container", .. })));
    let mut longer = LZ4.to_vec();
    longer[16 + 56] ^= 1;
    let entries = fatbin::entries(&longer).unwrap();
    assert!(matches!(entries[0].text(), Err(Error::Unpack { at: 16, .. })));
}

#[test]
fn what_is_packed_is_found_again() {
    for (text, version, sm, reach) in [
        ("", (9, 0), 75, Reach::Base),
        (".version 8.8\n", (8, 8), 90, Reach::Specific),
        ("1234567", (9, 5), 100, Reach::Family),
    ] {
        let bytes = fatbin::pack_ptx(text, version, sm, reach);
        let entries = fatbin::entries(&bytes).unwrap();
        let [entry] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!((entry.kind, entry.sm, entry.reach, entry.version), (Kind::Ptx, sm, reach, version));
        assert_eq!(entry.text().unwrap(), text);
    }
}

/// What nvcc wrote, taken apart and packed again, differs only in what the padding and the options are.
#[test]
fn the_layout_is_that_of_nvcc() {
    let entries = fatbin::entries(PLAIN).unwrap();
    let first = &entries[0];
    let packed = fatbin::pack_ptx(&first.text().unwrap(), first.version, first.sm, first.reach);
    assert_eq!(packed[16..24], [1, 0, 1, 1, 72, 0, 0, 0]);
    assert_eq!(packed[..8], PLAIN[..8]);
    assert_eq!(packed[32..64], PLAIN[32..64]);
}

proptest! {
    /// Whatever the bytes: an answer, no panic, and no more memory than the limit.
    #[test]
    fn any_bytes_have_an_answer(changes in prop::collection::vec((0usize..1024, any::<u8>()), 1..8), which in 0usize..3) {
        let mut bytes = [PLAIN, LZ4, ZSTD][which].to_vec();
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        if let Ok(entries) = fatbin::entries(&bytes) {
            for entry in &entries {
                let _ = entry.text();
            }
        }
    }
}
