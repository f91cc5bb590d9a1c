//! The kernels of the set on a GPU: compiled by our own compiler, launched, timed.

use super::set::{Case, Code, Set, hash};
use crate::bench_peers::compile;
use crate::root;
use anyhow::{Context, Result, anyhow};
use ptx::module::{Checked, Module};
use ptx::source::Source;
use real_gpu::{Gpu, Launch};
use sass_machine::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

/// Launches in a row between two events, and how often that is measured.
const LAUNCHES: u32 = 50;
const REPEATS: usize = 5;

/// The PTX of all kernels, by the names of their files.
pub(crate) struct Texts(BTreeMap<String, String>);

impl Texts {
    /// Of sources a compiler makes it, in a folder.
    pub(crate) fn new(set: &Set, compiler: &Path, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut texts = BTreeMap::new();
        for case in set.cases()? {
            let file = Self::file(&case);
            if texts.contains_key(file) {
                continue;
            }
            let text = match case.code {
                Code::Peer(kernel) => compile::ptx(compiler, &[kernel], folder)?.concat(),
                Code::File(file) if file.ends_with(".cu") => {
                    compile::validation(compiler, &root().join(file), folder)?
                }
                Code::File(file) => fs::read_to_string(root().join(file))?,
            };
            texts.insert(file.to_owned(), text);
        }
        Ok(Self(texts))
    }

    fn file<'s>(case: &Case<'s>) -> &'s str {
        match case.code {
            Code::Peer(kernel) => kernel.name,
            Code::File(file) => file,
        }
    }

    /// The module that a kernel is in.
    pub(crate) fn module(&self, case: &Case<'_>) -> Result<Checked<Module>> {
        let file = Self::file(case);
        let source = Source::new(file.to_owned(), self.0[file].as_str());
        let (module, _) = ptx::compile(&source).into_result().map_err(|_| anyhow!("PTX of {file}"))?;
        Ok(module)
    }
}

/// What tells whether a kernel's machine code is that of another cubin.
pub(crate) fn code(entry: &str, cubin: &[u8]) -> Result<String> {
    Ok(format!("{:016x}", hash(Program::read(cubin, false)?.code(entry))))
}

/// The kernels whose cubins are in a folder, each with its code.
pub(crate) fn codes(folder: &Path) -> Result<String> {
    let mut table = String::from("kernel,code\n");
    let set = Set::read()?;
    let mut last = "";
    for case in set.cases()? {
        if case.name == std::mem::replace(&mut last, case.name) {
            continue;
        }
        let Ok(cubin) = fs::read(folder.join(case.name).with_extension("cubin")) else { continue };
        writeln!(table, "{},{}", case.name, code(case.entry, &cubin)?)?;
    }
    Ok(table)
}

/// The kernels of which two such tables have different code, or one of them none.
pub(crate) fn of_other_code<'t>(one: &'t str, other: &'t str) -> BTreeSet<&'t str> {
    let [one, other] = [one, other].map(|table| table.lines().skip(1).collect::<BTreeSet<&str>>());
    one.symmetric_difference(&other).filter_map(|line| line.split(',').next()).collect()
}

/// Compiles the kernels to cubins in a folder; what our compiler refuses is told.
pub(crate) fn prepare(compiler: &Path, folder: &Path) -> Result<()> {
    let set = Set::read()?;
    let texts = Texts::new(&set, compiler, folder)?;
    let mut last = "";
    for case in set.cases()? {
        if case.name == std::mem::replace(&mut last, case.name) {
            continue;
        }
        let module = texts.module(&case)?;
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

/// Times the kernels of `benches/peers` whose cubins are in a folder; with `once` all kernels are launched, a single time each, for a profiler that
/// looks on. Some of the others count in memory that they find set to zero, and write behind its end when they are launched again and again.
pub(crate) fn time(gpu: &Gpu, folder: &Path, once: bool) -> Result<String> {
    let mut table = String::from("kernel,n,grid,block,repeat,launches,nanoseconds,output\n");
    let set = Set::read()?;
    for case in set.cases()? {
        if !once && matches!(case.code, Code::File(_)) {
            continue;
        }
        let Ok(cubin) = fs::read(folder.join(case.name).with_extension("cubin")) else { continue };
        // Whoever starts this anew behind a fault reads the last name.
        println!("{} {}", case.name, case.n);
        time_one(gpu, &case, &cubin, once, &mut table)
            .with_context(|| format!("{} {}", case.name, case.n))?;
    }
    Ok(table)
}

/// The lines of a launch of a kernel: a single one, without lines, or several with the time of each.
pub(crate) fn time_one(
    gpu: &Gpu,
    case: &Case<'_>,
    cubin: &[u8],
    once: bool,
    table: &mut String,
) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::{code, of_other_code};

    #[test]
    fn a_table_of_other_code_names_the_kernels() {
        let measured = "kernel,code\ncopy,1\nscan,2\nfft,3\n";
        assert!(of_other_code(measured, measured).is_empty());
        let made = "kernel,code\ncopy,1\nscan,4\nsaxpy,5\n";
        assert_eq!(Vec::from_iter(of_other_code(measured, made)), ["fft", "saxpy", "scan"]);
    }

    #[test]
    fn the_code_of_a_kernel_is_its_instructions() {
        let cubin = |name: &str, number: u32| {
            let text = format!(
                "\t.target sm_90\n\t.kernel {name}, 8\n\
                 [B------:R-:W-:Y:S15] MOV R2, {number:#x} ;\n[B------:R-:W-:Y:S05] EXIT ;\n"
            );
            let Ok(cubin) = cuasm::assemble(&ptx::source::Source::new("test", text)) else {
                panic!("it is not assembled")
            };
            cubin.bytes
        };
        let of = |name, number| code(name, &cubin(name, number)).unwrap();
        assert_eq!(of("one", 1), of("other", 1));
        assert_ne!(of("one", 1), of("one", 2));
    }
}
