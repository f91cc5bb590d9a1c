//! Any bytes are a fatbin that is written back as it was, or an error; a payload that unpacks can be packed again.
//! The same bytes as an object or archive.
//!
//! `cargo +nightly fuzz run fatbin`. A finding becomes a file in `crates/cubin/tests/findings/`.

#![no_main]

use cubin::fatbin::{Compression, Container};
use cubin::object;
use libfuzzer_sys::fuzz_target;

/// More would only make the fuzzer slow: what unpacks to a lot is bounded by the crate itself.
const MOST: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let _ = object::members(data);
    let _ = object::replace(data, 0, &[]);
    let Ok(mut container) = Container::parse(data) else { return };
    let bytes = container.to_bytes();
    assert!(bytes == data[..bytes.len()]);
    for item in &mut container.items {
        let entry = item.entry();
        let (name, options) = (entry.name.map(str::to_owned), entry.options.to_vec());
        let Ok(payload) = entry.bytes().map(|bytes| bytes.into_owned()) else { continue };
        if payload.len() > MOST {
            continue;
        }
        for compression in [Compression::Lz4, Compression::Zstd] {
            item.set_payload(&payload, compression).expect("fits");
            let entry = item.entry();
            assert!(entry.bytes().expect("unpacks").starts_with(&payload));
            assert!(entry.name == name.as_deref() && entry.options == options);
        }
    }
});
