//! The kernels compiled: CUDA to PTX, C++ and OpenCL's host to programs.
//!
//! The CUDA sources need no toolkit: `frame/cuda.h` has the little of CUDA C++ that they use, in clang's builtins, so that a
//! distribution's clang is enough. nvcc compiles them as well. No multiplication is contracted with an addition where the source does
//! not say so, in any language, since results could not be compared otherwise.

use super::kernels::Kernel;
use crate::root;
use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the sources are.
pub(super) fn sources() -> PathBuf {
    root().join("benches/peers")
}

fn succeed(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| program.clone())?;
    ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// How clang makes PTX without a toolkit.
const CLANG: [&str; 8] = [
    "-xcuda",
    "--cuda-device-only",
    "--cuda-feature=+ptx80",
    "-nocudainc",
    "-nocudalib",
    "-fms-extensions",
    "-ffp-contract=off",
    "-S",
];

/// The PTX of each kernel, by clang or nvcc.
pub(crate) fn ptx(compiler: &Path, kernels: &[&Kernel], folder: &Path) -> Result<Vec<String>> {
    let is_nvcc = compiler.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nvcc"));
    let arguments = if is_nvcc {
        vec!["-ptx", "-arch=compute_80", "-fmad=false"]
    } else {
        [&CLANG[..], &["--cuda-gpu-arch=sm_80"]].concat()
    };
    let compile = |kernel: &&Kernel| {
        let target = folder.join(format!("{}.ptx", kernel.name));
        let mut command = Command::new(compiler);
        command.args(&arguments).args(["-O3", "-include"]).arg(sources().join("frame/cuda.h"));
        command.arg(sources().join(format!("kernels/{}.cu", kernel.name))).arg("-o").arg(&target);
        succeed(&mut command)?;
        Ok(fs::read_to_string(target)?)
    };
    kernels.par_iter().map(compile).collect()
}

/// The PTX of kernels of the model's validation, by clang: with `device.h` beside them, for what 9.0 has.
pub(crate) fn validation(compiler: &Path, source: &Path, folder: &Path) -> Result<String> {
    let target = folder.join(source.with_extension("ptx").file_name().unwrap_or_default());
    let mut command = Command::new(compiler);
    command.args(CLANG).args(["--cuda-gpu-arch=sm_90a", "-O3", "-include"]);
    command.arg(sources().join("frame/cuda.h")).arg("-include").arg(source.with_file_name("device.h"));
    succeed(command.arg(source).arg("-o").arg(&target))?;
    Ok(fs::read_to_string(target)?)
}

/// The program that runs the C++ kernels. A first line `// g++:` of a source has more arguments.
pub(super) fn native(kernels: &[&Kernel], folder: &Path) -> Result<PathBuf> {
    let mut files = vec![sources().join("frame/cpp.cpp")];
    files.extend(kernels.iter().map(|kernel| sources().join(format!("kernels/{}.cpp", kernel.name))));
    let compile = |source: &PathBuf| {
        let text = fs::read_to_string(source)?;
        let own = text.lines().next().and_then(|line| line.strip_prefix("// g++:")).unwrap_or_default();
        let object = folder.join(source.file_stem().unwrap_or_default()).with_extension("o");
        let mut command = Command::new("g++");
        command.args(["-std=c++17", "-O3", "-march=native", "-fopenmp", "-ffp-contract=off"]);
        succeed(command.args(own.split_whitespace()).arg("-c").arg(source).arg("-o").arg(&object))?;
        Ok(object)
    };
    let objects: Vec<PathBuf> = files.par_iter().map(compile).collect::<Result<_>>()?;
    let program = folder.join("cpp");
    succeed(
        Command::new("g++").args(["-fopenmp", "-rdynamic", "-o"]).arg(&program).args(objects).arg("-ldl"),
    )?;
    Ok(program)
}

/// The program that runs the OpenCL kernels, which it compiles itself.
pub(super) fn opencl(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("opencl");
    let source = sources().join("frame/opencl.c");
    succeed(Command::new("gcc").args(["-O2", "-o"]).args([&program, &source]).arg("-lOpenCL"))?;
    Ok(program)
}
