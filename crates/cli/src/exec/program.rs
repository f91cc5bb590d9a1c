//! What a program's file tells before it runs.
//!
//! A program works on the virtual GPU if the dynamic loader gives it our libraries, and if its kernels are there as PTX.
//! Both can be read from its ELF file: what it links, where it looks, and the fatbins in its section `.nv_fatbin`.

use super::libraries::Installation;
use crate::failure::Failure;
use cubin::{carrier, fatbin};
use library_build::libraries::LIBRARIES;
use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Endianness, FileKind, Object, ObjectSection};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Something about a program that the user should know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Whether it will not work.
    pub(crate) fatal: bool,
    /// What.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hints: Vec<String>,
}

impl Finding {
    fn fatal(message: impl Into<String>, hints: &[&str]) -> Self {
        Self { fatal: true, ..Self::warning(message, hints) }
    }

    fn warning(message: impl Into<String>, hints: &[&str]) -> Self {
        let hints = hints.iter().map(|&hint| hint.to_owned()).collect();
        Self { fatal: false, message: message.into(), hints }
    }
}

/// A program that is to be run.
pub(crate) struct Program {
    /// Its file.
    pub(crate) path: PathBuf,
    /// Whether it is one of our tools.
    ours: bool,
}

/// The section in which executables keep their device code.
const FATBINS: &str = ".nv_fatbin";
/// A text that NVIDIA's runtime has in every build of it: the name of a piece of shared memory.
const RUNTIME_TEXT: &[u8] = b"/cudart.shm.";
/// The most that is read of a script to find its interpreter.
const FIRST_LINE: usize = 256;
/// The most interpreters of interpreters.
const INTERPRETERS: usize = 4;

impl Program {
    /// The file that a name means: a path if it has a slash, else one of our tools, or what the shell would find.
    pub(crate) fn open(name: &OsStr, tools: &Path) -> Result<Self, Failure> {
        let missing = || Failure::usage(format!("there is no program {}", name.to_string_lossy()));
        let path = if name.as_encoded_bytes().contains(&b'/') {
            let path = PathBuf::from(name);
            path.is_file().then_some(path)
        } else {
            Some(tools.join(name)).filter(|tool| tool.is_file()).or_else(|| search(name))
        };
        path.map(|path| Self { ours: path.starts_with(tools), path }).ok_or_else(missing)
    }

    /// Everything that is worth saying about it; `redirected` if libraries are found by their names whatever its paths say.
    pub(crate) fn findings(&self, installation: &Installation, redirected: bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        // It has the words that are looked for in others.
        if self.ours {
            return findings;
        }
        let mut path = self.path.clone();
        for _ in 0..INTERPRETERS {
            privileges(&path, &mut findings);
            let Ok(bytes) = fs::read(&path) else { return findings };
            match interpreter(&bytes) {
                Some(next) => path = next,
                None => {
                    file(&path, &bytes, installation, redirected, &mut findings);
                    break;
                }
            }
        }
        findings
    }
}

/// What the shell would find by a name.
fn search(name: &OsStr) -> Option<PathBuf> {
    let executable = |path: &PathBuf| fs::metadata(path).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0);
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(executable)
}

/// The program that runs a script; `env` looks for it as the shell does.
fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    let rest = bytes.strip_prefix(b"#!")?;
    let line = rest[..rest.len().min(FIRST_LINE)].split(|&byte| byte == b'\n').next()?;
    let line = str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let first = Path::new(words.next()?);
    if first.file_name() == Some(OsStr::new("env")) {
        let named = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        return search(OsStr::new(named));
    }
    Some(first.to_owned())
}

/// The loader ignores where to look for libraries in programs that have more rights than who starts them.
fn privileges(path: &Path, findings: &mut Vec<Finding>) {
    const SET_USER_OR_GROUP: u32 = 0o6000;
    if fs::metadata(path).is_ok_and(|metadata| metadata.mode() & SET_USER_OR_GROUP != 0) {
        findings.push(Finding::fatal(
            format!("{} changes its user or group, so the loader ignores LD_LIBRARY_PATH", path.display()),
            &["run a copy without these rights: `cp PROGRAM copy`"],
        ));
    }
}

fn file(
    path: &Path,
    bytes: &[u8],
    installation: &Installation,
    redirected: bool,
    findings: &mut Vec<Finding>,
) {
    let name = path.display();
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => {
            let message = format!("{name} is a 32-bit program; the libraries are for 64 bits");
            findings.push(Finding::fatal(message, &["compile it for x86-64"]));
            return;
        }
        _ => {
            let message = format!("{name} is neither an ELF program nor a script that names its interpreter");
            findings.push(Finding::fatal(message, &[]));
            return;
        }
    }
    let Ok(elf) = ElfFile64::<Endianness>::parse(bytes) else {
        findings.push(Finding::fatal(format!("{name} is a damaged ELF file"), &[]));
        return;
    };
    let endian = elf.endian();
    let machine = elf.elf_header().e_machine(endian);
    if machine != host_machine() {
        let message = format!("{name} is for another kind of processor (ELF machine {machine})");
        findings.push(Finding::fatal(message, &["compile it for this host"]));
        return;
    }
    let Some(links) = links(&elf) else {
        findings.push(Finding::fatal(
            format!("{name} is linked statically, so it cannot load any library"),
            &["link it dynamically: without -static"],
        ));
        return;
    };
    let fatbins = elf.section_by_name(FATBINS).and_then(|section| section.data().ok());
    let runtime_linked = links.needed.iter().any(|library| library.starts_with("libcudart."));
    if !runtime_linked && memchr::memmem::find(bytes, RUNTIME_TEXT).is_some() {
        findings.push(Finding::fatal(
            format!("{name} has NVIDIA's CUDA runtime linked into it"),
            &[
                "that runtime refuses every driver that is not NVIDIA's (error 103 or 36)",
                "link it again with `nvcc -cudart shared`; CMake: set CMAKE_CUDA_RUNTIME_LIBRARY to Shared",
            ],
        ));
    }
    if let Some(fatbins) = fatbins {
        device_code(&name.to_string(), fatbins, findings);
    }
    let runtime = installation.files[1].is_some();
    if let Some(library) = links.needed.iter().find(|library| library.starts_with("libcudart.")) {
        if !runtime {
            findings.push(Finding::fatal(
                format!(
                    "{name} needs {library}, and there is none of ours in {}",
                    installation.folder.display()
                ),
                &["build our CUDA runtime, too"],
            ));
        } else if !LIBRARIES[1].names.contains(&library.as_str()) {
            findings.push(Finding::fatal(
                format!(
                    "{name} needs {library}; ours stands in for {}",
                    LIBRARIES[1].names[..2].join(" and ")
                ),
                &["compile it with CUDA 12 or 13"],
            ));
        }
    }
    if !redirected {
        search_path(path, &links, findings);
    }
}

/// The number by which ELF calls the processor that this program runs on.
fn host_machine() -> u16 {
    if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 }
}

/// What the loader is told.
#[derive(Default)]
struct Links {
    needed: Vec<String>,
    /// Folders in which it looks first of all.
    rpath: Vec<String>,
}

/// The dynamic section; `None` if there is none.
fn links(file: &ElfFile64<'_, Endianness>) -> Option<Links> {
    let (endian, data) = (file.endian(), file.data());
    let sections = file.elf_section_table();
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, strings).ok()?;
    let mut links = Links::default();
    let mut newer = false;
    for entry in entries {
        let tag = i64::from(entry.tag32(endian)?);
        let text = || {
            let text = entry.string(endian, strings).ok()?;
            Some(String::from_utf8_lossy(text).into_owned())
        };
        match tag {
            elf::DT_NEEDED => links.needed.push(text()?),
            elf::DT_RPATH => links.rpath.extend(text()?.split(':').map(str::to_owned)),
            // Then DT_RPATH does not count, and these folders come after LD_LIBRARY_PATH.
            elf::DT_RUNPATH => newer = true,
            _ => {}
        }
    }
    if newer {
        links.rpath.clear();
    }
    Some(links)
}

/// Fatbins stand one behind the other.
fn device_code(name: &str, section: &[u8], findings: &mut Vec<Finding>) {
    let (mut ptx, mut images) = (false, 0);
    let mut rest = section;
    while let Some(header) = rest.first_chunk() {
        let Ok(size) = fatbin::container_size(header) else {
            // Padding.
            rest = &rest[8.min(rest.len())..];
            continue;
        };
        if let Ok(entries) = fatbin::entries(rest) {
            images += entries.len();
            ptx |= entries.iter().any(has_ptx);
        }
        let size = usize::try_from(size).map_or(rest.len(), |size| size.min(rest.len()));
        rest = &rest[size..];
    }
    if images > 0 && !ptx {
        findings.push(Finding::warning(
            format!("{name} has the kernels in its fatbins as SASS only, which is not executed"),
            &[
                "compile with PTX: `nvcc -gencode arch=compute_90,code=compute_90`",
                "kernels that it has as PTX elsewhere, as text or in files, run",
            ],
        ));
    }
}

/// Whether an entry is PTX, or a cubin that carries some.
fn has_ptx(entry: &fatbin::Entry<'_>) -> bool {
    match entry.kind {
        fatbin::Kind::Ptx => true,
        fatbin::Kind::Elf => entry.bytes().is_ok_and(|bytes| !carrier::fatbins(&bytes).is_empty()),
        fatbin::Kind::Lto | fatbin::Kind::Other(_) => false,
    }
}

/// Folders in the program that come before ours, and hold another library of the same name.
fn search_path(program: &Path, links: &Links, findings: &mut Vec<Finding>) {
    let origin = fs::canonicalize(program).ok().and_then(|path| path.parent().map(Path::to_owned));
    for folder in &links.rpath {
        let origin = origin.as_ref().map_or(String::new(), |origin| origin.display().to_string());
        let folder = folder.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin);
        let there =
            LIBRARIES.iter().flat_map(|l| l.names).find(|name| Path::new(&folder).join(name).exists());
        if let Some(library) = there {
            findings.push(Finding::fatal(
                format!(
                    "{} looks for libraries in {folder} first, where there is another {library}",
                    program.display()
                ),
                &["take that path out of a copy of it: `patchelf --remove-rpath PROGRAM`"],
            ));
        }
    }
}
