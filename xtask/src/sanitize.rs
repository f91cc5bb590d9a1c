//! `cargo xtask sanitize`: the tests of the driver's streams under ThreadSanitizer.
//!
//! The standard library must be instrumented, too, or its locks and threads look like races: so this needs a nightly
//! toolchain with the component `rust-src`. Without them nothing is run, which is said.

use crate::root;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// The only hosts that it is tried on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn run() -> Result<()> {
    let asked = Command::new("rustc").args(["+nightly", "--print", "sysroot"]).output();
    let sysroot = asked.ok().filter(|output| output.status.success());
    let sysroot = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let source = sysroot.map(|root| Path::new(&root).join("lib/rustlib/src/rust/library/std"));
    if !source.is_some_and(|folder| folder.exists()) {
        eprintln!("SKIPPED: there is no nightly toolchain with the component rust-src");
        return Ok(());
    }
    let status = Command::new("cargo")
        .args(["+nightly", "test", "-Zbuild-std", "--target", TARGET, "--target-dir", "target/sanitize"])
        .args(["-p", "warploom-driver", "--lib", "stream"])
        // What a nightly compiler warns of is no business of this test.
        .env("RUSTFLAGS", "-Zsanitizer=thread --cap-lints=warn")
        .env("TSAN_OPTIONS", "halt_on_error=1")
        // The interpreter is not run: that it compiles fast is all that matters.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .current_dir(root())
        .status()
        .context("cargo")?;
    ensure!(status.success(), "{status}");
    Ok(())
}
