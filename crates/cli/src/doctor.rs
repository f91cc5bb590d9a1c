//! `warploom doctor`: what this host has, and what programs will find.

use crate::exec::libraries::Installation;
use crate::failure::{Exit, Failure};
use crate::terminal;
use library_build::libraries::LIBRARIES;
use machine::Profile;
use machine::lanes::simd::Level;
use machine::profile::PROFILES;
use serde_json::{Value, json};
use std::path::Path;
use std::{env, fs};

const HELP: &str = "\
Examples:
  warploom doctor
  warploom doctor --json | jq .libraries

Exit codes:
  0    programs can be run
  2    the driver library is missing, or a variable asks for what there is not";

/// Show what there is to run programs with: libraries, devices, the host.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Arguments {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Variables that change what happens.
const VARIABLES: [&str; 16] = [
    "WARPLOOM_LIB",
    "WARPLOOM_DEVICES",
    "WARPLOOM_MEMORY",
    "WARPLOOM_STRICT",
    "WARPLOOM_ENGINE",
    "WARPLOOM_LLVM",
    "WARPLOOM_CACHE",
    "WARPLOOM_CACHE_DIR",
    "WARPLOOM_LOG",
    "WARPLOOM_TRACE",
    "WARPLOOM_SIMD",
    "WARPLOOM_STUB",
    "CUDA_VISIBLE_DEVICES",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "LD_PRELOAD",
];
/// Where distributions put NVIDIA's driver.
const SYSTEM: [&str; 4] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib"];
/// The version of the driver interface that `libcuda` tells, and the newest PTX that its table describes.
const DRIVER_API: &str = "13.0";
const PTX: &str = "9.0";
/// The host's memory below which kernels with large arrays will not fit.
const LITTLE_MEMORY: u64 = 2 << 30;

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let report = report();
    if arguments.json {
        terminal::json(&report)?;
    } else {
        terminal::result(&text(&report))?;
    }
    let problems = report["problems"].as_array().is_some_and(|problems| !problems.is_empty());
    Ok(if problems { Exit::Usage } else { Exit::Ok })
}

fn report() -> Value {
    let mut problems = Vec::new();
    let mut remarks = Vec::new();
    let installation = Installation::find();
    let libraries: Vec<Value> = match &installation {
        Ok(found) => {
            let each = LIBRARIES.iter().zip(&found.files);
            each.map(|(library, file)| {
                if file.is_none() {
                    remarks.push(format!("{} ({}) is not built", library.names[0], library.role));
                }
                json!({ "name": library.names[0], "role": library.role, "file": file })
            })
            .collect()
        }
        Err(failure) => {
            problems.push(failure.message.clone());
            Vec::new()
        }
    };
    let redirects = installation.as_ref().is_ok_and(Installation::redirects);
    if installation.is_ok() && !redirects {
        remarks.push(
            "the dynamic linker does not take our auditor (LD_AUDIT): a program that looks for libraries in folders of \
             its own finds NVIDIA's"
                .to_owned(),
        );
    }
    let wanted = env::var("WARPLOOM_DEVICES").unwrap_or_default();
    let devices = match devices(&wanted) {
        Ok(devices) => devices,
        Err(problem) => {
            problems.push(problem);
            Vec::new()
        }
    };
    for folder in SYSTEM {
        let library = Path::new(folder).join(LIBRARIES[0].names[0]);
        if library.exists() {
            remarks.push(format!(
                "{} is another driver; `warploom exec` puts ours before it",
                library.display()
            ));
        }
    }
    let memory = number_of("/proc/meminfo", "MemAvailable:").map(|kib| kib << 10);
    if memory.is_some_and(|bytes| bytes < LITTLE_MEMORY) {
        remarks.push("there is little memory: device memory comes from it".to_owned());
    }
    let space = number_of("/proc/self/limits", "Max address space");
    if let Some(bytes) = space {
        problems.push(format!(
            "the address space is limited to {} (ulimit -v): devices reserve more",
            gibibytes(bytes)
        ));
    }
    let engine = jit::Jit::find();
    let unpacked = engine.as_ref().ok().and_then(jit::Jit::unpacked);
    if let Some(why) = unpacked.and_then(|unpacked| unpacked.not_kept.as_ref()) {
        remarks.push(format!("LLVM is unpacked anew by each process that compiles kernels: {why}"));
    }
    let llvm = engine.map_or_else(|why| format!("none: {why}"), |jit| jit.compiler());
    let variables: serde_json::Map<String, Value> =
        VARIABLES.iter().filter_map(|&name| Some((name.to_owned(), env::var(name).ok()?.into()))).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "driver_api": DRIVER_API,
        "ptx": PTX,
        "libraries": libraries,
        "redirects": redirects,
        "devices": devices.iter().map(|profile| profile.name).collect::<Vec<_>>(),
        "profiles": PROFILES.iter().map(|profile| profile.name).collect::<Vec<_>>(),
        "host": {
            "processor": processor(),
            "vectors": vectors(),
            "threads": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            "memory": memory,
            "llvm": llvm,
            "llvm_unpacked_from": unpacked.map(|unpacked| unpacked.from.display().to_string()),
        },
        "variables": variables,
        "problems": problems,
        "remarks": remarks,
    })
}

/// The devices that programs see, as the driver library reads the variable.
fn devices(wanted: &str) -> Result<Vec<&'static Profile>, String> {
    let mut devices = Vec::new();
    for part in wanted.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, count) = part.split_once(':').unwrap_or((part, "1"));
        let wrong = || format!("WARPLOOM_DEVICES: `{part}` names no device, or no number of them");
        let profile = Profile::by_name(name).ok_or_else(wrong)?;
        let count = count.parse().ok().filter(|count| *count <= 64).ok_or_else(wrong)?;
        devices.extend(std::iter::repeat_n(profile, count));
    }
    let default = || PROFILES.iter().find(|profile| profile.name == Profile::default().name);
    Ok(if wanted.trim().is_empty() { default().into_iter().collect() } else { devices })
}

/// The vectors that the engine uses.
fn vectors() -> &'static str {
    match Level::detect() {
        Level::Baseline => "baseline",
        Level::Avx2 => "AVX2",
        Level::Avx512 => "AVX-512",
    }
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim());
    name.unwrap_or(env::consts::ARCH).to_owned()
}

/// The number that follows a name in a file of the kernel's.
fn number_of(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

fn text(report: &Value) -> String {
    let words = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let list = |value: &Value| {
        let names: Vec<String> = value.as_array().into_iter().flatten().map(words).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let host = &report["host"];
    let memory = host["memory"].as_u64().map_or("-".to_owned(), gibibytes);
    let mut rows = vec![
        ("warploom", words(&report["version"])),
        ("CUDA driver API", words(&report["driver_api"])),
        ("PTX", format!("up to {}", words(&report["ptx"]))),
        ("devices", list(&report["devices"])),
        ("profiles", list(&report["profiles"])),
        ("processor", words(&host["processor"])),
        ("vectors", words(&host["vectors"])),
        ("threads", host["threads"].to_string()),
        ("free memory", memory),
        ("compiled engine", words(&host["llvm"])),
    ];
    if let Some(from) = host["llvm_unpacked_from"].as_str() {
        rows.push(("unpacked from", from.to_owned()));
    }
    for library in report["libraries"].as_array().into_iter().flatten() {
        rows.push((library["name"].as_str().unwrap_or("-"), words(&library["file"])));
    }
    let redirects = report["redirects"].as_bool().unwrap_or(false);
    rows.push((
        "found by name",
        if redirects { "wherever programs look" } else { "in LD_LIBRARY_PATH" }.to_owned(),
    ));
    for (name, value) in report["variables"].as_object().into_iter().flatten() {
        rows.push((name, words(value)));
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let mut text: String = rows.iter().map(|(name, value)| format!("{name:<width$}{value}\n")).collect();
    for (kind, list) in [("problem", &report["problems"]), ("note", &report["remarks"])] {
        for entry in list.as_array().into_iter().flatten() {
            text.push_str(&format!("{kind}: {}\n", words(entry)));
        }
    }
    text
}
