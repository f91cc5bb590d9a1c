//! `cargo xtask headers`: makes the files of the crate `cuda-headers` from the headers in NVIDIA's packages.
//!
//! The program `bindgen` (`cargo install bindgen-cli`) reads the headers; what it writes is turned into the form that
//! the crate's front page describes. The packages are on PyPI and need not be installed, unpacking them is enough:
//!
//! | option | packages |
//! | --- | --- |
//! | `--cuda` | `nvidia-cuda-runtime`, `nvidia-cuda-crt`, `nvidia-cuda-profiler-api`, `nvidia-nvml-dev`, each `==13.0.*` |
//! | `--cuda-12` | `nvidia-cuda-runtime-cu12`, `nvidia-cuda-nvcc-cu12`, `nvidia-cuda-profiler-api-cu12`, each `==12.9.*` |
//!
//! `bindgen` needs libclang, which the environment variable `LIBCLANG_PATH` names if it is in no usual place, and a
//! compiler's own headers, for which `BINDGEN_EXTRA_CLANG_ARGS` may name a folder.

mod declarations;

use crate::root;
use anyhow::{Context, Result, ensure};
use declarations::Declarations;
pub(crate) use declarations::MADE;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Where the headers are.
#[derive(Debug, clap::Args)]
pub(crate) struct Folders {
    /// A folder with headers of CUDA 13.0; may be repeated.
    #[arg(long, required = true)]
    cuda: Vec<PathBuf>,
    /// A folder with headers of CUDA 12.9; may be repeated.
    #[arg(long, required = true)]
    cuda_12: Vec<PathBuf>,
    /// The program.
    #[arg(long, env = "BINDGEN", default_value = "bindgen")]
    bindgen: PathBuf,
}

/// One file of the crate.
struct Source<'a> {
    /// Its name without `.rs`.
    module: &'a str,
    /// What its first line says.
    about: &'a str,
    headers: &'a [&'a str],
    folders: &'a [PathBuf],
    /// What its names begin with, as a regular expression.
    names: &'a str,
}

/// With these, headers declare the older forms of functions and structures, too, but no counts of enumerations.
const OLDER_FORMS: [&str; 3] =
    ["-D__CUDA_API_VERSION_INTERNAL", "-D__CUDA_API_VERSION_INTERNAL_ODR", "-DNVML_NO_UNVERSIONED_FUNC_DEFS"];

pub(crate) fn run(folders: &Folders) -> Result<()> {
    let read = |source: &Source<'_>| Declarations::read(&bindings(folders, source)?);
    let write = |source: &Source<'_>, declarations: &Declarations, uses: &[&str]| {
        let path = root().join("crates/cuda-headers/src").join(source.module).with_extension("rs");
        let text = formatted(&declarations.text(source.about, uses))?;
        fs::write(&path, text).context("the crate `cuda-headers`")?;
        println!("{}", path.display());
        Ok(())
    };
    const RUNTIME: [&str; 2] = ["cuda_runtime_api.h", "cuda_profiler_api.h"];
    let driver = Source {
        module: "cuda",
        about: "`cuda.h` and `cudaProfiler.h` of CUDA 13.0: the driver.",
        headers: &["cuda.h", "cudaProfiler.h"],
        folders: &folders.cuda,
        names: "(cu|CU)[A-Za-z0-9_]+",
    };
    let runtime = Source {
        module: "cuda_runtime_api",
        about: "`cuda_runtime_api.h` and `cuda_profiler_api.h` of CUDA 13.0: the runtime.",
        headers: &RUNTIME,
        folders: &folders.cuda,
        names: "(cuda|CUDA)[A-Za-z0-9_]+",
    };
    let older = Source {
        module: "cuda_runtime_api_12",
        about: "What the runtime's headers of CUDA 12.9 declare and those of 13.0 do not, or declare otherwise.",
        folders: &folders.cuda_12,
        ..runtime
    };
    let management = Source {
        module: "nvml",
        about: "`nvml.h` of CUDA 13.0: management.",
        headers: &["nvml.h"],
        folders: &folders.cuda,
        names: "(nvml|NVML_)[A-Za-z0-9_]+",
    };
    for source in [&driver, &management] {
        write(source, &read(source)?, &[])?;
    }
    let declared = read(&runtime)?;
    write(&runtime, &declared, &[])?;
    let mut changed = read(&older)?;
    changed.leave_out(&declared);
    write(&older, &changed, &["crate::cuda_runtime_api::*"])
}

/// What `bindgen` makes of a source's headers.
fn bindings(folders: &Folders, source: &Source<'_>) -> Result<String> {
    let folder = root().join("target");
    fs::create_dir_all(&folder)?;
    let header = folder.join(source.module).with_extension("h");
    let includes: String = source.headers.iter().map(|name| format!("#include <{name}>\n")).collect();
    fs::write(&header, includes)?;
    let mut bindgen = Command::new(&folders.bindgen);
    bindgen.args(["--default-enum-style", "consts", "--no-prepend-enum-name", "--no-doc-comments"]);
    bindgen.args(["--no-layout-tests", "--use-core", "--ctypes-prefix", "core::ffi"]);
    bindgen.args(["--allowlist-function", source.names, "--allowlist-var", source.names]);
    bindgen.args(["--allowlist-type", source.names]);
    bindgen.arg(header).arg("--").args(OLDER_FORMS);
    bindgen.args(source.folders.iter().flat_map(|folder| ["-I".as_ref(), folder.as_os_str()]));
    let output = bindgen.output().with_context(|| folders.bindgen.display().to_string())?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The text as rustfmt writes it. It does not look into macros, so it gets the functions as those of a trait.
fn formatted(text: &str) -> Result<String> {
    const MACRO: &str = "\nfunctions! {\n";
    const TRAIT: &str = "\ntrait Functions {\n";
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("rustfmt")?;
    let mut input = rustfmt.stdin.take().context("its input is a pipe")?;
    input.write_all(text.replacen(MACRO, TRAIT, 1).as_bytes())?;
    drop(input);
    let output = rustfmt.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.replacen(TRAIT, MACRO, 1))
}
