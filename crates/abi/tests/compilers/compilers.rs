//! The compilers, and what they say of a batch.

use abi::data::{Host, Side};
use object::{Object, ObjectSection, ObjectSymbol};
use ptx::source::Source as PtxSource;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Symbols with their bytes.
pub(crate) type Symbols = HashMap<String, Vec<u8>>;

/// A compiler for one host.
pub(crate) struct Compiler {
    pub(crate) name: String,
    pub(crate) host: Host,
    kind: Kind,
}

enum Kind {
    /// A C++ compiler for this machine, with what to pass.
    Native(PathBuf, Vec<&'static str>),
    /// clang for the 32-bit PTX that no other compiler makes any more.
    Clang32(PathBuf),
    /// Both sides of nvcc, in one run.
    Nvcc(PathBuf),
}

/// The compilers that are installed; what is missing is said.
pub(crate) fn installed() -> Vec<Compiler> {
    let mut all = Vec::new();
    let mut add = |name: &str, host, kind| all.push(Compiler { name: name.to_owned(), host, kind });
    let narrow = || vec!["-m32", "-malign-double"];
    if let Some(gcc) = find("GCC", "gcc") {
        add("gcc -m64", Host::Bits64, Kind::Native(gcc.clone(), vec![]));
        add("gcc -m32", Host::Bits32, Kind::Native(gcc, narrow()));
    }
    if let Some(clang) = find("CLANG", "clang-22") {
        add("clang -m64", Host::Bits64, Kind::Native(clang.clone(), vec![]));
        add("clang -m32", Host::Bits32, Kind::Native(clang.clone(), narrow()));
        add("clang nvptx", Host::Bits32, Kind::Clang32(clang));
    }
    if let Some(nvcc) = find("NVCC", "nvcc") {
        add("nvcc", Host::Bits64, Kind::Nvcc(nvcc));
    }
    all
}

/// Vector types as CUDA's headers have them, for compilers without these headers.
const VECTORS: &str = "\
struct __attribute__((aligned(2))) char2 { signed char x, y; };
struct __attribute__((aligned(8))) short4 { short x, y, z, w; };
struct __attribute__((aligned(8))) float2 { float x, y; };
struct float3 { float x, y, z; };
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };
struct __attribute__((aligned(16))) double2 { double x, y; };
";

impl Compiler {
    /// Compiles definitions of variables, `VARIABLE` before each, and gives their bytes, by each side that there is. What
    /// nvcc's device side fails to initialise, with an internal error, is left out there.
    pub(crate) fn symbols(&self, text: &str, folder: &Path) -> Result<Vec<(Side, Symbols)>, String> {
        let host_side =
            |types: &str, name: &str| types.replace("VARIABLE", "extern \"C\" const").replace("NAME_", name);
        match &self.kind {
            Kind::Native(path, options) => {
                let (source, object) = (folder.join("batch.cpp"), folder.join("batch.o"));
                write(&source, &(VECTORS.to_owned() + &host_side(text, "")))?;
                let mut command = Command::new(path);
                command.args(["-x", "c++", "-std=gnu++20", "-w", "-c"]).args(options);
                run(command.arg("-o").arg(&object).arg(&source))?;
                Ok(vec![(Side::Gnu, of_object(&object)?)])
            }
            Kind::Clang32(path) => {
                let (source, ptx) = (folder.join("batch.cpp"), folder.join("batch.ptx"));
                write(&source, &(VECTORS.to_owned() + &host_side(text, "")))?;
                let mut command = Command::new(path);
                command.args(["--target=nvptx-nvidia-cuda", "-march=sm_30", "-nogpulib", "-x", "c++"]);
                command.args(["-std=gnu++20", "-w", "-S"]);
                run(command.arg("-o").arg(&ptx).arg(&source))?;
                Ok(vec![(Side::Gnu, of_ptx(&ptx)?)])
            }
            Kind::Nvcc(path) => {
                let (source, object) = (folder.join("batch.cu"), folder.join("batch.o"));
                let device =
                    text.lines().filter(|line| !line.contains(HOST_ONLY)).collect::<Vec<_>>().join("\n");
                let device =
                    device.replace("VARIABLE", "extern \"C\" __device__ const").replace("NAME_", "d_");
                let host = host_side(&text[text.find("VARIABLE").unwrap_or(text.len())..], "h_");
                let mut lines: Vec<&str> = device.lines().chain(host.lines()).collect();
                loop {
                    write(&source, &lines.join("\n"))?;
                    let mut command = Command::new(path);
                    command.args(["-std=c++20", "-w", "-c", "-arch=compute_80", "-code=compute_80"]);
                    command.args(["--keep", "--keep-dir"]).arg(folder);
                    match run(command.arg("-o").arg(&object).arg(&source)) {
                        Ok(()) => break,
                        Err(error) => {
                            let line = internal_error(&error).ok_or(error)?;
                            lines[line - 1] = "";
                        }
                    }
                }
                let named = |symbols: Symbols, prefix: &str| {
                    let named = symbols.into_iter();
                    named
                        .filter_map(|(name, bytes)| Some((name.strip_prefix(prefix)?.to_owned(), bytes)))
                        .collect()
                };
                Ok(vec![
                    (Side::Gnu, named(of_object(&object)?, "h_")),
                    (Side::NvccDevice, named(of_ptx(&folder.join("batch.ptx"))?, "d_")),
                ])
            }
        }
    }
}

/// Marks what nvcc's device side is not asked.
pub(crate) const HOST_ONLY: &str = "/* host */";

/// The line of `batch.cu(494): error: Internal Compiler Error (codegen): "... initializing bitfield!"`.
fn internal_error(text: &str) -> Option<usize> {
    let line =
        text.lines().find(|line| line.contains("Internal Compiler Error") && line.contains("itializ"))?;
    line.split_once('(')?.1.split_once(')')?.0.parse().ok()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| error.to_string())
}

/// A compiler of functions for the device: the PTX of C++ functions and kernels.
pub(crate) fn device_code(name: &str, text: &str, folder: &Path) -> Option<Result<Arc<PtxSource>, String>> {
    let ptx = folder.join("functions.ptx");
    let (variable, source) =
        if name == "nvcc" { ("NVCC", "functions.cu") } else { ("CLANG", "functions.cpp") };
    let path = find(variable, if name == "nvcc" { "nvcc" } else { "clang-22" })?;
    let source = folder.join(source);
    let mut command = Command::new(path);
    let text = if name == "nvcc" {
        command.args(["-std=c++20", "-w", "-ptx", "-rdc=true", "-arch=compute_80"]);
        text.replace("DEVICE", "extern \"C\" __device__").replace("KERNEL", "extern \"C\" __global__")
    } else {
        command.args([
            "--target=nvptx64-nvidia-cuda",
            "-march=sm_80",
            "-nogpulib",
            "-x",
            "c++",
            "-std=gnu++20",
        ]);
        command.args(["-w", "-S", "-O1", "-Xclang", "-target-feature", "-Xclang", "+ptx80"]);
        let kernel = "extern \"C\" __attribute__((nvptx_kernel))";
        VECTORS.to_owned() + &text.replace("DEVICE", "extern \"C\"").replace("KERNEL", kernel)
    };
    let made = write(&source, &text).and_then(|()| run(command.arg("-o").arg(&ptx).arg(&source)));
    Some(
        made.and_then(|()| std::fs::read_to_string(&ptx).map_err(|error| error.to_string()))
            .map(|text| PtxSource::new("functions.ptx", text)),
    )
}

/// A program, if it works.
fn find(variable: &str, name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var(variable).unwrap_or_else(|_| name.to_owned()));
    let works = Command::new(&path).arg("--version").output().is_ok_and(|output| output.status.success());
    if !works {
        println!("SKIPPED {name}: set {variable}");
    }
    works.then_some(path)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(text.chars().take(3000).collect()) }
}

fn of_object(path: &Path) -> Result<Symbols, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let file = object::File::parse(&*bytes).map_err(|error| error.to_string())?;
    let mut all = Symbols::new();
    for symbol in file.symbols() {
        let (Ok(name), Some(index)) = (symbol.name(), symbol.section_index()) else { continue };
        let section = file.section_by_index(index).map_err(|error| error.to_string())?;
        let data = section.data_range(symbol.address(), symbol.size()).ok().flatten();
        // What is all zero may lie in `.bss`.
        let data = data.map_or_else(|| vec![0; symbol.size() as usize], <[u8]>::to_vec);
        all.insert(name.to_owned(), data);
    }
    Ok(all)
}

fn of_ptx(path: &Path) -> Result<Symbols, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let compiled = ptx::compile(&PtxSource::new("batch.ptx", text));
    let module = compiled.module.ok_or_else(|| format!("{:?}", compiled.diagnostics.first()))?;
    let bytes = |variable: &ptx::module::Variable| {
        let mut bytes = variable.init.clone();
        bytes.resize(variable.size as usize, 0);
        bytes
    };
    Ok(module.variables.iter().map(|variable| (variable.name.clone(), bytes(variable))).collect())
}
