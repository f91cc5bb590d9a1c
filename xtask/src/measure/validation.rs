//! The kernels of the set on a GPU: compiled by our own compiler, launched, timed.

use super::set::{Case, Code, Set};
use crate::bench_peers::compile;
use crate::root;
use anyhow::{Context, Result, anyhow};
use ptx::source::Source;
use real_gpu::{Gpu, Launch};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

/// Launches in a row between two events, and how often that is measured.
const LAUNCHES: u32 = 50;
const REPEATS: usize = 5;

/// Compiles the kernels to cubins in a folder; what our compiler refuses is told.
pub(crate) fn prepare(compiler: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let set = Set::read()?;
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let mut last = "";
    for case in set.cases()? {
        if case.name == std::mem::replace(&mut last, case.name) {
            continue;
        }
        let file = match case.code {
            Code::Peer(kernel) => kernel.name,
            Code::File(file) => file,
        };
        if !texts.contains_key(file) {
            let text = match case.code {
                Code::Peer(kernel) => compile::ptx(compiler, &[kernel], folder)?.concat(),
                Code::File(file) if file.ends_with(".cu") => {
                    compile::validation(compiler, &root().join(file), folder)?
                }
                Code::File(file) => fs::read_to_string(root().join(file))?,
            };
            texts.insert(file, text);
        }
        let source = Source::new(file.to_owned(), texts[file].as_str());
        let (module, _) = ptx::compile(&source).into_result().map_err(|_| anyhow!("PTX of {file}"))?;
        match ptxas::compile_entries(&module, ptxas::Level::Overlapped, |name| name == case.entry) {
            Ok(compiled) => fs::write(folder.join(case.name).with_extension("cubin"), compiled.cubin)?,
            Err(why) => {
                let first = why.first().map_or("", |it| &it.message);
                println!("{}: {first}", case.name);
            }
        }
    }
    Ok(())
}

/// Times all kernels whose cubins are in a folder; with `once` each is launched a single time, for a profiler that looks on.
pub(crate) fn time(gpu: &Gpu, folder: &Path, once: bool) -> Result<String> {
    let mut table = String::from("kernel,n,grid,block,repeat,launches,nanoseconds,output\n");
    let set = Set::read()?;
    for case in set.cases()? {
        let Ok(cubin) = fs::read(folder.join(case.name).with_extension("cubin")) else { continue };
        time_one(gpu, &case, &cubin, once, &mut table)
            .with_context(|| format!("{} {}", case.name, case.n))?;
    }
    Ok(table)
}

fn time_one(gpu: &Gpu, case: &Case<'_>, cubin: &[u8], once: bool, table: &mut String) -> Result<()> {
    // Whoever starts this anew behind a fault reads the last name.
    println!("{} {}", case.name, case.n);
    let module = gpu.load(cubin)?;
    let given = case.give(gpu)?;
    let launch = Launch {
        kernel: case.entry,
        grid: case.grid,
        block: case.block,
        cluster: case.cluster.map(|ctas| [ctas, 1, 1]),
        cooperative: false,
        dynamic_shared: case.shared,
        params: &given.params,
    };
    module.launch(&launch)?;
    // What tells whether two compilers' code wrote the same.
    let output = match once {
        true => 0,
        false => {
            let mut hasher = DefaultHasher::new();
            hasher.write(&given.left(gpu)?);
            hasher.finish()
        }
    };
    let [grid, block] = [case.grid, case.block].map(|[x, y, z]| format!("{x} {y} {z}"));
    for repeat in 0..if once { 0 } else { REPEATS } {
        for launches in [1, LAUNCHES] {
            let taken = module.time(&launch, launches)?;
            writeln!(
                table,
                "{},{},{grid},{block},{repeat},{launches},{taken:.0},{output:016x}",
                case.name, case.n
            )?;
        }
    }
    given.free(gpu)
}
