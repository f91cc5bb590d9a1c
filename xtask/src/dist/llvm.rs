//! The parts of LLVM that kernels are compiled by, as one library: linked from a distribution's static archives, with the functions that
//! `jit` calls as its only symbols, so that the linker leaves everything out that they do not reach.

use super::{GLIBC, must, runs_with_old_libraries};
use anyhow::{Context, Result, bail, ensure};
use jit::{FUNCTIONS, INITIALISERS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the library, before it is packed.
const NAME: &str = "libwarploom-llvm.so";

/// What a newer C library has, and compilers use where it is there: stand-ins, so that an older one is enough. libgcc asks the
/// first for the tables of exceptions, and looks for them itself if it does not know; libstdc++ has random numbers from the second.
const STAND_INS: &str = "\
#include <stdint.h>
#include <sys/random.h>
__attribute__((visibility(\"hidden\"))) int _dl_find_object(void *address, void *result) {
    (void)address;
    (void)result;
    return -1;
}
__attribute__((visibility(\"hidden\"))) uint32_t arc4random(void) {
    uint32_t number = 0;
    while (getrandom(&number, sizeof number, 0) != sizeof number) {
    }
    return number;
}
";

/// Makes the library in a folder.
pub(super) fn make(config: &Path, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let ask = |arguments: &[&str]| -> Result<String> {
        let output = Command::new(config).arg("--link-static").args(arguments).output();
        let output = output.with_context(|| {
            format!("cannot run {}: LLVM's archives are in Debian's llvm-19-dev", config.display())
        })?;
        ensure!(output.status.success(), "{}: {}", config.display(), String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let target = match std::env::consts::ARCH {
        "x86_64" => "x86codegen",
        "aarch64" => "aarch64codegen",
        other => bail!("the compiled engine knows no {other}"),
    };
    let archives = ask(&["--libs", target, "irreader", "passes", "target"])?;
    let (places, programs) = (ask(&["--libdir"])?, PathBuf::from(ask(&["--bindir"])?));
    let symbols: Vec<&str> = FUNCTIONS.iter().copied().chain(INITIALISERS).collect();
    let (script, stand_ins) = (folder.join("llvm.ld"), folder.join("stand-ins.c"));
    fs::write(&script, format!("{{ global: {}; local: *; }};\n", symbols.join("; ")))?;
    fs::write(&stand_ins, STAND_INS)?;
    let library = folder.join(NAME);
    let mut linker = Command::new("c++");
    linker
        .args(["-shared", "-O2", "-fPIC", "-x", "c"])
        .arg(&stand_ins)
        .args(["-x", "none", "-o"])
        .arg(&library);
    linker.arg(format!("-Wl,--version-script={}", script.display()));
    linker.args(symbols.iter().map(|symbol| format!("-Wl,-u,{symbol}")));
    linker.args(["-Wl,--gc-sections", "-Wl,-O2", "-Wl,--strip-all", "-Wl,-z,defs"]);
    linker.arg(format!("-Wl,-soname,{NAME}"));
    linker.args(["-static-libstdc++", "-static-libgcc", "-L"]).arg(&places);
    // LLVM's own linker finds functions that are the same: a fifteenth of the library.
    if programs.join("ld.lld").is_file() {
        linker.arg("-B").arg(&programs).args(["-fuse-ld=lld", "-Wl,--icf=all"]);
    }
    linker.arg("-Wl,--start-group").args(archives.split_whitespace()).arg("-Wl,--end-group");
    linker.args(["-l:libz.a", "-l:libzstd.a", "-ldl", "-lm", "-lpthread"]);
    must(&mut linker).context("LLVM's archives need those of zlib1g-dev and libzstd-dev")?;
    fs::remove_file(script)?;
    fs::remove_file(stand_ins)?;
    runs_with_old_libraries(&library).with_context(|| format!("stand-ins are for glibc {GLIBC:?}"))?;
    Ok(library)
}
