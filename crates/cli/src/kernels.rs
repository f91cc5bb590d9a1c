//! `warploom kernels`: what a file's entries take, as one needs to know for a run command.

use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use machine::{Device, DeviceOptions, Kernel, ParameterLayout, Profile};
use ptx::module::{Checked, LaunchBounds, Module};
use ptx::types::TypeKind;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  warploom kernels kernel.ptx
  warploom kernels --json kernel.ptx | jq -r '.[].name'";

/// List a file's kernels with their parameters, shared memory and launch bounds.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// A PTX file; `-` is standard input
    file: PathBuf,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let (source, module) = input::module(&arguments.file)?;
    let names: Vec<_> = module.entries().map(|(_, f)| f.name.clone()).collect();
    // Any device will do for a look at parameters: take one that loads the module.
    let loaded = machine::profile::PROFILES.iter().find_map(|profile| {
        let device = Device::new(profile.clone(), DeviceOptions::default()).ok()?;
        device.load(module.clone()).ok()
    });
    let loaded = loaded.map_or_else(|| load_error(module), Ok)?;
    let kernels: Vec<_> = names.iter().filter_map(|name| loaded.kernel(name)).collect();
    if arguments.json {
        terminal::json(&kernels.iter().map(value).collect())?;
    } else if kernels.is_empty() {
        terminal::note(&format!("{} has no kernel (.entry)", source.name()));
    } else {
        let texts: Vec<_> = kernels.iter().map(|k| text(k, &arguments.file)).collect();
        terminal::result(&texts.join("\n"))?;
    }
    Ok(Exit::Ok)
}

/// The reason why the default device does not load a module.
fn load_error(module: Checked<Module>) -> Result<machine::LoadedModule, Failure> {
    let device = Device::new(Profile::default(), DeviceOptions::default())
        .map_err(|error| Failure::usage(error.to_string()))?;
    device.load(module).map_err(|error| Failure::new(Exit::Unsupported, error.to_string()))
}

fn text(kernel: &Kernel<'_>, file: &Path) -> String {
    let mut text = format!("{}\n", kernel.name());
    let parameters = kernel.parameters();
    let rows: Vec<_> = parameters
        .iter()
        .enumerate()
        .map(|(index, p)| {
            let cells =
                [index.to_string(), p.name.clone(), declared(p), p.size.to_string(), p.offset.to_string()];
            cells.to_vec()
        })
        .collect();
    if !rows.is_empty() {
        let table = terminal::table(&["#", "parameter", "type", "bytes", "offset"], rows, false);
        table.lines().for_each(|line| text += &format!("  {line}\n"));
    }
    if kernel.static_shared() > 0 {
        text += &format!("  static shared memory: {} bytes\n", kernel.static_shared());
    }
    for (name, value) in bounds(&kernel.function().bounds) {
        text += &format!("  {name} {value}\n");
    }
    let file = file.to_string_lossy();
    let file = shlex::try_quote(&file).unwrap_or_default();
    let arguments: String = parameters.iter().map(|p| format!(" {}", placeholder(p))).collect();
    let name = shlex::try_quote(kernel.name()).unwrap_or_default();
    text + &format!("  warploom run {file} --kernel {name} --grid 1 --block 32{arguments}\n")
}

/// A parameter's type as declared: `.u64`, or `.b8[24]` for an array.
pub(crate) fn declared(parameter: &ParameterLayout) -> String {
    let ParameterLayout { ty, size, .. } = parameter;
    match size.checked_div(ty.bytes()) {
        Some(1) | None => ty.to_string(),
        Some(n) => format!("{ty}[{n}]"),
    }
}

/// What one would write for a parameter in a run command.
fn placeholder(parameter: &ParameterLayout) -> String {
    match parameter.ty.kind() {
        _ if parameter.size != parameter.ty.bytes() => {
            format!("bytes:{}", "00".repeat(parameter.size as usize))
        }
        TypeKind::Float => "1.0".into(),
        TypeKind::Unsigned | TypeKind::Untyped if parameter.size == 8 => "'zeros:f32[1024]'".into(),
        _ => "1024".into(),
    }
}

/// The launch directives that a kernel has.
fn bounds(bounds: &LaunchBounds) -> Vec<(&'static str, String)> {
    let extents = |extents: Option<[u32; 3]>| extents.map(|[x, y, z]| format!("{x}, {y}, {z}"));
    let number = |number: Option<u32>| number.map(|n| n.to_string());
    let all = [
        (".maxntid", extents(bounds.max_ntid)),
        (".reqntid", extents(bounds.req_ntid)),
        (".minnctapersm", number(bounds.min_nctapersm)),
        (".maxnctapersm", number(bounds.max_nctapersm)),
        (".maxnreg", number(bounds.max_nreg)),
        (".explicitcluster", bounds.explicit_cluster.then(String::new)),
        (".reqnctapercluster", extents(bounds.req_nctapercluster)),
        (".maxclusterrank", number(bounds.max_clusterrank)),
        (".blocksareclusters", bounds.blocks_are_clusters.then(String::new)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn value(kernel: &Kernel<'_>) -> Value {
    let parameters: Vec<_> = kernel
        .parameters()
        .iter()
        .map(|p| json!({ "name": p.name, "type": declared(p), "size": p.size, "offset": p.offset }))
        .collect();
    let bounds: serde_json::Map<_, _> = bounds(&kernel.function().bounds)
        .into_iter()
        .map(|(name, value)| (name[1..].to_owned(), Value::String(value)))
        .collect();
    json!({
        "name": kernel.name(),
        "parameters": parameters,
        "static_shared": kernel.static_shared(),
        "bounds": bounds,
    })
}
