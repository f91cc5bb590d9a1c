//! Running a case on a GPU, assembled by ptxas at its lowest and highest level.
//!
//! Where the levels differ, ptxas is wrong or the kernel means nothing, and silicon judges nobody. Contraction, which PTX permits for
//! an `add` or `mul` that names no rounding, is off.

use crate::case::Case;
use crate::engine::Outcome;
use conformance::case::TARGET;
use machine::memory::MemoryError;
use real_gpu::{Gpu, Launch};
use std::path::Path;
use std::process::Command;
use std::{fs, process};

/// The levels.
pub const LEVELS: [&str; 2] = ["-O0", "-O3"];

/// What ptxas makes of a case at each level. `number` keeps the files of cases that are assembled at once apart.
///
/// # Errors
/// What ptxas says.
pub fn assemble(ptxas: &Path, case: &Case, number: u64) -> Result<[Vec<u8>; 2], String> {
    let folder = std::env::temp_dir().join(format!("warploom-kernel-fuzz-{}-{number}", process::id()));
    let told = |error: std::io::Error| error.to_string();
    fs::create_dir_all(&folder).map_err(told)?;
    let made = || {
        let (source, object) = (folder.join("kernel.ptx"), folder.join("kernel.cubin"));
        fs::write(&source, &case.text).map_err(told)?;
        let assembled = LEVELS.map(|level| {
            let mut command = Command::new(ptxas);
            command
                .arg(format!("-arch={TARGET}"))
                .args(["--fmad=false", level, "-o"])
                .arg(&object)
                .arg(&source);
            let done = command.output().map_err(told)?;
            if !done.status.success() {
                return Err(format!("ptxas: {}", String::from_utf8_lossy(&done.stderr)));
            }
            fs::read(&object).map_err(told)
        });
        let [lowest, highest] = assembled;
        Ok([lowest?, highest?])
    };
    let made = made();
    fs::remove_dir_all(&folder).map_err(told)?;
    made
}

/// What a GPU makes of an assembled case.
pub fn run(gpu: &Gpu, case: &Case, cubin: &[u8]) -> Outcome {
    let attempt = || {
        let module = gpu.load(cubin).map_err(|error| error.to_string())?;
        let told = |error: MemoryError| error.to_string();
        let placed = case.place(gpu).map_err(told)?;
        let launch = Launch {
            kernel: "kernel",
            grid: [case.ctas, 1, 1],
            block: case.block,
            cluster: None,
            cooperative: false,
            dynamic_shared: 0,
            params: &placed.params,
        };
        module.launch(&launch).map_err(|error| error.to_string())?;
        placed.take(gpu).map_err(told)
    };
    attempt().map_or_else(Outcome::Stopped, Outcome::Memory)
}
