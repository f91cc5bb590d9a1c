//! LLVM's C API, found at run time.
//!
//! The functions are those that LLVM 15 to 22 have in common, but for one that 22 has replaced. LLVM 14 has typed pointers
//! and does not read our text. The library is never unloaded: it has state of its own behind our back.

use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
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
    /// It cannot make code for this host.
    #[error("LLVM cannot compile for this host: {0}")]
    Host(String),
}

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

/// Declares the functions that we call, with the types that LLVM's headers give them.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// Functions of LLVM.
        #[allow(non_snake_case)]
        pub(super) struct Llvm {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
            pub(super) own_context: OwnContext,
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
                    own_context: OwnContext::load(library)?,
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
    LLVMOrcDisposeThreadSafeContext: fn(Ref);
    LLVMOrcCreateNewThreadSafeModule: fn(Ref, Ref) -> Ref;
    LLVMOrcCreateLLJITBuilder: fn() -> Ref;
    LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine: fn(Ref) -> Ref;
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder: fn(Ref, Ref);
    LLVMOrcCreateLLJIT: fn(*mut Ref, Ref) -> Ref;
    LLVMOrcLLJITGetMainJITDylib: fn(Ref) -> Ref;
    LLVMOrcLLJITGetGlobalPrefix: fn(Ref) -> c_char;
    LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess:
        fn(*mut Ref, c_char, *const c_void, *mut c_void) -> Ref;
    LLVMOrcJITDylibAddGenerator: fn(Ref, Ref);
    LLVMOrcLLJITAddLLVMIRModule: fn(Ref, Ref, Ref) -> Ref;
    LLVMOrcLLJITLookup: fn(Ref, *mut u64, *const c_char) -> Ref;
    LLVMOrcDisposeLLJIT: fn(Ref) -> Ref;
}

/// How a context becomes one that is safe among threads: newer versions wrap one, older ones make their own.
pub(super) enum OwnContext {
    Wrapped { create: unsafe extern "C" fn() -> Ref, wrap: unsafe extern "C" fn(Ref) -> Ref },
    Made { create: unsafe extern "C" fn() -> Ref, context: unsafe extern "C" fn(Ref) -> Ref },
}

impl OwnContext {
    fn load(library: &'static Library) -> Result<Self, libloading::Error> {
        // SAFETY: as for the other functions.
        unsafe {
            if let Ok(wrap) = library.get(b"LLVMOrcCreateNewThreadSafeContextFromLLVMContext\0") {
                return Ok(Self::Wrapped { create: *library.get(b"LLVMContextCreate\0")?, wrap: *wrap });
            }
            Ok(Self::Made {
                create: *library.get(b"LLVMOrcCreateNewThreadSafeContext\0")?,
                context: *library.get(b"LLVMOrcThreadSafeContextGetContext\0")?,
            })
        }
    }
}

impl Llvm {
    /// The LLVM of this process, which is looked for once.
    pub(super) fn get() -> Result<&'static Self, NoLlvm> {
        static LLVM: OnceLock<Result<Llvm, NoLlvm>> = OnceLock::new();
        LLVM.get_or_init(Self::find).as_ref().map_err(Clone::clone)
    }

    fn find() -> Result<Self, NoLlvm> {
        if let Some(name) = std::env::var_os("WARPLOOM_LLVM").filter(|name| !name.is_empty()) {
            let name = name.to_string_lossy().into_owned();
            return Self::open(&name).map_err(|why| NoLlvm::Named { name, why });
        }
        let found = NAMES.iter().find_map(|name| match Self::open(name) {
            Ok(llvm) => Some((name, llvm)),
            Err(why) => {
                log::trace!("{name}: {why}");
                None
            }
        });
        let (name, llvm) = found.ok_or(NoLlvm::Missing)?;
        log::debug!("kernels are compiled by {name}");
        Ok(llvm)
    }

    fn open(name: &str) -> Result<Self, String> {
        // SAFETY: LLVM's initialisers only register passes and options of its own.
        let library = unsafe { Library::new(name) }.map_err(|error| error.to_string())?;
        let library: &'static Library = Box::leak(Box::new(library));
        let llvm = Self::load(library).map_err(|error| error.to_string())?;
        for name in [
            concat!(target_function!("TargetInfo"), "\0"),
            concat!(target_function!("Target"), "\0"),
            concat!(target_function!("TargetMC"), "\0"),
            concat!(target_function!("AsmPrinter"), "\0"),
        ] {
            // SAFETY: these functions take and return nothing and may be called once or more.
            unsafe {
                let initialise = library.get::<unsafe extern "C" fn()>(name.as_bytes());
                initialise.map_err(|error| error.to_string())?();
            }
        }
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

/// A text as C has it.
pub(super) fn c(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}
