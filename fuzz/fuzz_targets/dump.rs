//! Any text is a listing or refused; whatever its instructions say, they are learned from without a panic, and a repository that
//! was saved is loaded again. Any text is a repository or refused.
//!
//! `cargo +nightly fuzz run dump`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sass::Arch;
use sass_learn::dump::{Repository, read};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = Repository::load(&text);
    let Ok(listing) = read(&text, Arch::Sm100) else { return };
    let mut repository = Repository::new(Arch::Sm100);
    repository.update(&listing.samples);
    repository.verify(&listing.samples, true);
    let saved = repository.save();
    assert!(Repository::load(&saved).is_ok(), "{saved}");
});
