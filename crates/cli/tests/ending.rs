//! The command ends while LLVM is at work on a thread beside.

use std::process::Command;

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench-kernels/src/kernels.ptx");

/// A kernel is compiled after 2^20 warp instructions. The launches are done at different times after that: LLVM is not open yet, is
/// being opened, compiles.
#[test]
fn a_process_may_end_while_its_compiler_works() {
    let cache = tempfile::tempdir().unwrap();
    for step in 0..24 {
        let rounds = (158.0 * 1.12_f64.powi(step)) as u32;
        let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
        command.args(["run", "--engine", "auto", "--threads", "1", "-k", "integer", "-g", "64", "-b", "256"]);
        command.args([KERNELS, "zeros:u32[16384]", &rounds.to_string()]);
        // Nothing that was made before is found.
        let output = command.env("XDG_CACHE_HOME", cache.path()).env("WARPLOOM_CACHE", "0").output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{rounds} rounds: {}: {errors}", output.status);
    }
}
