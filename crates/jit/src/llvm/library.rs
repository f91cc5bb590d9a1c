//! LLVM's C API, found at run time.
//!
//! The functions are those that LLVM 15 to 22 have in common. LLVM 14 has typed pointers and does not read our text. The
//! library is never unloaded: it has state of its own behind our back.
//!
//! Other LLVMs may be in the process: Triton, PyTorch, JAX and Numba bring theirs, Mesa uses the system's. So the library is
//! opened for us alone (`RTLD_LOCAL`), and what it calls is looked for in it and in what it was linked with before everything else
//! (`RTLD_DEEPBIND`): functions of an LLVM whose symbols the whole process sees are not taken for its own. Where somebody
//! has put an allocator in the place of the C library's (jemalloc, AddressSanitizer), that must be everybody's, so there
//! the second is left out.

use super::ending::{self, Opening};
use super::packed::{self, Packed, Unpacked};
use super::thread;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An object of LLVM's.
pub(super) type Ref = *mut c_void;

/// Why there is no LLVM.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoLlvm {
    /// None of the names is a library.
    #[error("no LLVM 15 to 22 is installed (libllvm19, for example); WARPLOOM_LLVM can name the library")]
    Missing,
    /// The library that the user named.
    #[error("WARPLOOM_LLVM={name}: {why}")]
    Named {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The library that has come with this program, where no other is installed.
    #[error("{name}: {why}")]
    Brought {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The process was forked off from one that was opening it.
    #[error("the process was forked off while LLVM was opened")]
    Forked,
    /// It cannot make code for this host.
    #[error("LLVM cannot compile for this host: {0}")]
    Host(String),
}

/// The file name of the LLVM that packages of this project bring: the parts that are used here, and no others, compressed.
pub const BROUGHT: &str = "libwarploom-llvm.so.xz";

/// Where it may lie, seen from the folder of the file that this code is in: beside a library; for the command, which is in `bin`, in
/// `lib/warploom`; and so for a Python module, in `lib/python3/site-packages/warploom` or the same below `lib64`.
const PLACES: [&str; 4] = [".", "../lib/warploom", "../../../warploom", "../../../../lib/warploom"];

/// The file names under which distributions install LLVM, the newest first.
const NAMES: [&str; 14] = [
    "libLLVM.so.22.1",
    "libLLVM-22.so",
    "libLLVM.so.21.1",
    "libLLVM-21.so",
    "libLLVM.so.20.1",
    "libLLVM-20.so",
    "libLLVM.so.19.1",
    "libLLVM-19.so",
    "libLLVM.so.18.1",
    "libLLVM-18.so",
    "libLLVM-17.so.1",
    "libLLVM-16.so.1",
    "libLLVM-15.so.1",
    "libLLVM-15.so",
];

#[cfg(target_arch = "x86_64")]
macro_rules! target_function {
    ($what:literal) => {
        concat!("LLVMInitializeX86", $what)
    };
}
#[cfg(not(target_arch = "x86_64"))]
macro_rules! target_function {
    ($what:literal) => {
        concat!("LLVMInitializeAArch64", $what)
    };
}

/// The functions that make the host's instructions known to LLVM.
pub const INITIALISERS: [&str; 4] = [
    target_function!("TargetInfo"),
    target_function!("Target"),
    target_function!("TargetMC"),
    target_function!("AsmPrinter"),
];

/// Declares the functions that we call, with the types that LLVM's headers give them.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// The functions of LLVM that are called, beside [`INITIALISERS`]: what a library must have that is made for this crate.
        pub const FUNCTIONS: &[&str] = &["LLVMPointerTypeInContext", $(stringify!($name)),+];

        /// Functions of LLVM.
        #[allow(non_snake_case)]
        pub(super) struct Llvm {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl Llvm {
            fn load(library: &'static Library) -> Result<Self, libloading::Error> {
                // What only versions with pointers to nothing in particular have, as our text is written.
                // SAFETY: it is only looked for.
                unsafe { library.get::<unsafe extern "C" fn()>(b"LLVMPointerTypeInContext\0") }?;
                Ok(Self {
                    // SAFETY: the types are those of the function's declaration in LLVM's headers, in every version
                    // that has `LLVMPointerTypeInContext`.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?,)+
                })
            }
        }
    };
}

functions! {
    LLVMGetDefaultTargetTriple: fn() -> *mut c_char;
    LLVMGetHostCPUFeatures: fn() -> *mut c_char;
    LLVMDisposeMessage: fn(*mut c_char);
    LLVMGetTargetFromTriple: fn(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine:
        fn(Ref, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Ref;
    LLVMDisposeTargetMachine: fn(Ref);
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Ref;
    LLVMParseIRInContext: fn(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
    LLVMVerifyModule: fn(Ref, c_int, *mut *mut c_char) -> c_int;
    LLVMDisposeModule: fn(Ref);
    LLVMSetTarget: fn(Ref, *const c_char);
    LLVMCreateTargetDataLayout: fn(Ref) -> Ref;
    LLVMSetModuleDataLayout: fn(Ref, Ref);
    LLVMDisposeTargetData: fn(Ref);
    LLVMCreatePassBuilderOptions: fn() -> Ref;
    LLVMDisposePassBuilderOptions: fn(Ref);
    LLVMRunPasses: fn(Ref, *const c_char, Ref, Ref) -> Ref;
    LLVMGetErrorMessage: fn(Ref) -> *mut c_char;
    LLVMDisposeErrorMessage: fn(*mut c_char);
    LLVMContextCreate: fn() -> Ref;
    LLVMContextDispose: fn(Ref);
    LLVMTargetMachineEmitToMemoryBuffer: fn(Ref, Ref, c_int, *mut *mut c_char, *mut Ref) -> c_int;
    LLVMGetBufferStart: fn(Ref) -> *const c_char;
    LLVMGetBufferSize: fn(Ref) -> usize;
    LLVMDisposeMemoryBuffer: fn(Ref);
    LLVMInstallFatalErrorHandler: fn(unsafe extern "C" fn(*const c_char));
}

static LLVM: OnceLock<Result<Llvm, NoLlvm>> = OnceLock::new();

impl Llvm {
    /// The LLVM of this process, which is looked for once.
    pub(super) fn get() -> Result<&'static Self, NoLlvm> {
        if LLVM.get().is_none() && ending::is_anothers() {
            // Whoever began to open it may be a thread that this process has not got.
            return Err(NoLlvm::Forked);
        }
        LLVM.get_or_init(Self::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Self, NoLlvm> {
        let name = named();
        if !name.is_empty() {
            return Self::open(&name).map_err(|why| NoLlvm::Named { name, why });
        }
        let mut missing = NoLlvm::Missing;
        if let Some(file) = brought() {
            let name = file.to_string_lossy().into_owned();
            match Self::open(&name) {
                Ok(llvm) => return Ok(llvm),
                Err(why) => {
                    log::info!("{name}: {why}");
                    missing = NoLlvm::Brought { name, why };
                }
            }
        }
        let found = NAMES.iter().find_map(|name| match Self::open(name) {
            Ok(llvm) => Some(llvm),
            Err(why) => {
                log::trace!("{name}: {why}");
                None
            }
        });
        found.ok_or(missing)
    }

    /// Opens the library of a name, unpacked if it is packed.
    fn open(name: &str) -> Result<Self, String> {
        let text = |error: io::Error| error.to_string();
        let Some(packed) = Packed::at(Path::new(name)) else { return Self::open_file(name) };
        let packed = packed.map_err(text)?;
        let kept = packed.keep().map_err(text);
        let kept = kept.and_then(|file| Self::open_file(&file.to_string_lossy()));
        let (llvm, not_kept) = match kept {
            Ok(llvm) => (llvm, None),
            Err(why) => {
                log::info!("{name} is unpacked for this process alone: {why}");
                let memory = packed.in_memory().map_err(text)?;
                (Self::open_file(&format!("/proc/self/fd/{}", memory.as_raw_fd()))?, Some(why))
            }
        };
        packed::opened(Unpacked { from: name.into(), not_kept });
        Ok(llvm)
    }

    fn open_file(name: &str) -> Result<Self, String> {
        let flags = if allocates_otherwise() { 0 } else { DEEPBIND };
        let opening = Opening::begin()?;
        // SAFETY: LLVM's initialisers only register passes and options of its own.
        let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL | flags) };
        let library = library.map_err(|error| error.to_string())?;
        let library: &'static Library = Box::leak(Box::new(library));
        let llvm = Self::load(library).map_err(|error| error.to_string())?;
        for name in INITIALISERS {
            // SAFETY: these functions take and return nothing and may be called once or more.
            unsafe {
                let initialise = library.get::<unsafe extern "C" fn()>(name.as_bytes());
                initialise.map_err(|error| error.to_string())?();
            }
        }
        thread::may_give_up(&llvm);
        opening.done();
        log::debug!("kernels are compiled by {name}");
        Ok(llvm)
    }

    /// A message of LLVM's as text, disposed of.
    pub(super) fn message(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: LLVM gave it, ended by a zero, to be disposed of so, and nobody else has it.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.LLVMDisposeMessage)(message);
            text
        }
    }

    /// What an error that LLVM returned says; null is success.
    pub(super) fn check(&self, error: Ref) -> Result<(), String> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: an error that was returned is ours, and taking its message consumes it.
        unsafe {
            let message = (self.LLVMGetErrorMessage)(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.LLVMDisposeErrorMessage)(message);
            Err(text)
        }
    }
}

/// `RTLD_DEEPBIND` of glibc.
const DEEPBIND: c_int = 8;

/// Whether the process's `malloc` is not the C library's.
fn allocates_otherwise() -> bool {
    let address = |library: &Library| {
        // SAFETY: it is only compared.
        let symbol = unsafe { library.get::<unsafe extern "C" fn()>(b"malloc\0") };
        symbol.ok().map(|symbol| *symbol as usize)
    };
    // SAFETY: the C library is there already.
    let of_c = unsafe { Library::open(Some("libc.so.6"), RTLD_NOW | RTLD_LOCAL) };
    of_c.ok().is_none_or(|of_c| address(&of_c) != address(&Library::this()))
}

/// A text as C has it.
pub(super) fn c(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// The file of the LLVM that has come with this program, packed, if one has.
pub fn brought() -> Option<PathBuf> {
    let own = std::fs::canonicalize(file_of(brought as fn() -> Option<PathBuf> as usize)?).ok()?;
    let folder = own.parent()?;
    PLACES.iter().find_map(|place| std::fs::canonicalize(folder.join(place).join(BROUGHT)).ok())
}

/// The library that the user has named; empty if none.
fn named() -> String {
    std::env::var_os("WARPLOOM_LLVM").unwrap_or_default().to_string_lossy().into_owned()
}

/// The library that comes before those of distributions: the one named, or the one brought; empty if there is neither.
pub(crate) fn wish() -> String {
    let named = named();
    match named.is_empty() {
        true => brought().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default(),
        false => named,
    }
}

/// The file of the LLVM that is open.
pub(crate) fn opened_file() -> Option<PathBuf> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let llvm = LLVM.get()?.as_ref().ok()?;
    FILE.get_or_init(|| file_of(llvm.LLVMContextCreate as usize)).clone()
}

/// The file that an address of this process is mapped from.
fn file_of(address: usize) -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(start, end)| (number(start)..number(end)).contains(&address))
    })?;
    Some(line[line.find('/')?..].into())
}

/// Whether there is an LLVM, and if not, why.
pub(crate) fn available() -> Result<(), NoLlvm> {
    Llvm::get().map(|_| ())
}
