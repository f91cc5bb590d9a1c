//! What a program's environment gets: where our libraries are, what the devices shall be, and what makes compilers that a
//! program brings hand over PTX instead of SASS.
//!
//! What the user has set stays. Lists (`LD_LIBRARY_PATH`, `LD_AUDIT`, `LD_PRELOAD`, `XLA_FLAGS`) are continued.

use super::Arguments;
use super::libraries::Prepared;
use machine::Profile;
use std::env;
use std::ffi::OsString;

/// Variables that name an assembler: Triton's, for devices before and since Blackwell.
const ASSEMBLER: [&str; 2] = ["TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"];
/// Variables that choose PTX.
const PTX: [(&str, &str); 1] = [
    // CuPy's compiler asks NVRTC for SASS otherwise.
    ("CUPY_COMPILE_WITH_PTX", "1"),
];
/// Flags of XLA. JAX brings NVIDIA's compiler and linker as libraries, and asks `ptxas` only if it may not use them. Products of
/// matrices are to be XLA's own kernels, since cuBLAS is SASS; and so is what it tries kernels out with, to no use where
/// nothing takes a GPU's time.
const XLA: [(&str, &str); 5] = [
    ("--xla_gpu_enable_libnvptxcompiler", "false"),
    ("--xla_gpu_enable_libnvjitlink", "false"),
    ("--xla_gpu_triton_gemm_any", "true"),
    ("--xla_gpu_cublas_fallback", "false"),
    ("--xla_gpu_autotune_level", "0"),
];
/// XLA's flag for the folder of a CUDA toolkit, whose `bin/ptxas` it runs.
const XLA_TOOLKIT: &str = "--xla_gpu_cuda_data_dir";

/// JAX's variable for that folder: it gives XLA the one in NVIDIA's wheels otherwise, whatever XLA's flag says.
const JAX_TOOLKIT: &str = "CUDA_ROOT";

/// Everything that is to be set.
pub(super) fn variables(arguments: &Arguments, prepared: &Prepared) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![
        ("LD_LIBRARY_PATH", library_path(prepared)),
        ("PATH", continued("PATH", prepared.tools.clone().into(), ":")),
    ];
    if let Some(redirect) = &prepared.redirect {
        variables.push(("LD_AUDIT", continued("LD_AUDIT", redirect.into(), ":")));
    }
    if let Some(preload) = &prepared.preload {
        variables.push(("LD_PRELOAD", continued("LD_PRELOAD", preload.into(), ":")));
    }
    if arguments.device.is_some() || arguments.count.is_some() {
        let profile = arguments.device.map_or_else(|| Profile::default().name, |profile| profile.name);
        variables.push(("WARPLOOM_DEVICES", format!("{profile}:{}", arguments.count.unwrap_or(1)).into()));
    }
    if let Some(memory) = &arguments.memory {
        variables.push(("WARPLOOM_MEMORY", memory.into()));
    }
    if let Some(engine) = arguments.engine {
        variables.push(("WARPLOOM_ENGINE", engine.name().into()));
    }
    if let Some(asynchrony) = arguments.asynchrony {
        variables.push(("WARPLOOM_ASYNC", asynchrony.to_string().into()));
    }
    if let Some(schedules) = arguments.schedules {
        variables.push(("WARPLOOM_CHECK_SCHEDULES", schedules.to_string().into()));
    }
    if let Some(most) = arguments.keep_going {
        variables.push(("WARPLOOM_CHECK_KEEP_GOING", most.to_string().into()));
    }
    if arguments.api_errors {
        variables.push(("WARPLOOM_CHECK_API_ERRORS", "1".into()));
    }
    if arguments.strict {
        variables.push(("WARPLOOM_STRICT", "1".into()));
    }
    let mut unless_set = |name: &'static str, value: OsString| {
        if env::var_os(name).is_none() {
            variables.push((name, value));
        }
    };
    for (name, value) in PTX {
        unless_set(name, value.into());
    }
    if let Some(llvm) = jit::brought() {
        // The libraries lie elsewhere, and would not find it.
        unless_set("WARPLOOM_LLVM", llvm.into());
    }
    let Some(toolkit) = &prepared.toolkit else { return variables };
    for name in ASSEMBLER {
        unless_set(name, toolkit.join("bin/ptxas").into());
    }
    unless_set(JAX_TOOLKIT, toolkit.into());
    let mut wanted: Vec<(&str, OsString)> = vec![(XLA_TOOLKIT, toolkit.into())];
    wanted.extend(XLA.map(|(flag, value)| (flag, value.into())));
    variables.push(("XLA_FLAGS", flags("XLA_FLAGS", &wanted)));
    variables
}

/// Where the dynamic linker looks first.
pub(crate) fn library_path(prepared: &Prepared) -> OsString {
    continued("LD_LIBRARY_PATH", prepared.libraries.clone().into(), ":")
}

/// A list that begins with this entry, and goes on as the environment has it.
fn continued(name: &str, first: OsString, separator: &str) -> OsString {
    let mut list = first;
    if let Some(before) = env::var_os(name).filter(|before| !before.is_empty()) {
        list.push(separator);
        list.push(before);
    }
    list
}

/// Flags that the environment has, and those of `wanted` that it does not decide already.
fn flags(name: &str, wanted: &[(&str, OsString)]) -> OsString {
    let mut all = env::var_os(name).unwrap_or_default();
    let before = all.to_string_lossy().into_owned();
    let decided = |flag: &str| before.split_whitespace().any(|word| word.split('=').next() == Some(flag));
    for (flag, value) in wanted.iter().filter(|(flag, _)| !decided(flag)) {
        if !all.is_empty() {
            all.push(" ");
        }
        all.push(flag);
        all.push("=");
        all.push(value);
    }
    all
}
