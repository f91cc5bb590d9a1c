//! A module of LLVM's text, optimised and assembled into an object file.
//!
//! The text is vector code already: what is wanted of the passes is that slots of registers become values, that what is computed twice is computed
//! once, and, with all [effort](Effort), before a loop rather than in it. That is a third of `O1`'s time. Code is generated at level 1, which takes
//! three times as long as level 0, whose code takes a third longer, and twice as long where lanes part. The host is described by its features
//! rather than by its name, and vectors of 512 bits are wanted where there are any, which LLVM avoids by default on many CPUs.

use super::library::{Llvm, NoLlvm, Ref, c};
use super::thread;
use std::ffi::{CString, c_char};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::time::Instant;

/// How much effort is put into code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Code that is there soon.
    Quick,
    /// Code that is as fast as it gets.
    Full,
}

/// How a module is compiled.
struct Way {
    passes: &'static str,
    level: i32,
    /// All of that, and what is the same for every module.
    options: &'static str,
}

macro_rules! features {
    () => {
        "-prefer-256-bit"
    };
}

macro_rules! way {
    ($passes:literal, $level:literal) => {
        Way {
            passes: $passes,
            level: $level,
            options: concat!($passes, ", ", features!(), ", code generation level ", $level, ", PIC, small"),
        }
    };
}

const FEATURES: &str = features!();
const QUICK: Way =
    way!("always-inline,globaldce,function(mem2reg,instsimplify,early-cse<memssa>,simplifycfg)", 0);
const FULL: Way = way!(
    "always-inline,globaldce,function(mem2reg,instsimplify,early-cse<memssa>,simplifycfg,loop-mssa(licm))",
    1
);

impl Effort {
    const fn way(self) -> &'static Way {
        match self {
            Self::Quick => &QUICK,
            Self::Full => &FULL,
        }
    }

    /// How everything is compiled with it, beside the host's features.
    pub(crate) fn options(self) -> &'static str {
        self.way().options
    }
}

const RELOC_PIC: i32 = 2;
const CODE_MODEL_SMALL: i32 = 3;
const OBJECT_FILE: i32 = 1;

/// Compiles a text.
///
/// # Errors
/// What LLVM says.
pub(crate) fn compile(text: &str, effort: Effort) -> Result<Vec<u8>, String> {
    let llvm = Llvm::get().map_err(|why| why.to_string())?;
    let text = text.to_owned();
    thread::run(move || {
        // SAFETY: a context of our own that nobody else uses, and a module in it that is gone before.
        unsafe {
            let context = (llvm.LLVMContextCreate)();
            let object = assemble(llvm, context, &text, effort.way());
            (llvm.LLVMContextDispose)(context);
            object
        }
    })
}

/// # Safety
/// The context is one of LLVM's that nobody else uses.
unsafe fn assemble(llvm: &Llvm, context: Ref, text: &str, way: &Way) -> Result<Vec<u8>, String> {
    // SAFETY: every object goes to functions that take one of its kind, and is disposed of once; the buffer of the text is the
    // parser's.
    unsafe {
        let Described { triple, features } = described(llvm);
        let host = machine(llvm, triple, features, way.level)?;
        let begun = Instant::now();
        let object = parse(llvm, context, text).and_then(|module| {
            let parsed = begun.elapsed();
            (llvm.LLVMSetTarget)(module, triple.as_ptr());
            let layout = (llvm.LLVMCreateTargetDataLayout)(host);
            (llvm.LLVMSetModuleDataLayout)(module, layout);
            (llvm.LLVMDisposeTargetData)(layout);
            let options = (llvm.LLVMCreatePassBuilderOptions)();
            let done = (llvm.LLVMRunPasses)(module, c(way.passes).as_ptr(), host, options);
            (llvm.LLVMDisposePassBuilderOptions)(options);
            let passed = begun.elapsed();
            let object = llvm.check(done).and_then(|()| emit(llvm, host, module));
            let (passes, code) = (passed - parsed, begun.elapsed() - passed);
            log::debug!(
                "{} bytes of text: {parsed:?} parsing, {passes:?} passes, {code:?} code at level {}",
                text.len(),
                way.level
            );
            (llvm.LLVMDisposeModule)(module);
            object
        });
        (llvm.LLVMDisposeTargetMachine)(host);
        object
    }
}

/// What LLVM calls this host, and its features.
struct Described {
    triple: CString,
    features: CString,
}

/// The host's description, asked for once: each question to the processor is a trap in a virtual machine.
fn described(llvm: &Llvm) -> &'static Described {
    static DESCRIBED: OnceLock<Described> = OnceLock::new();
    DESCRIBED.get_or_init(|| {
        // SAFETY: both give a message of LLVM's, which is copied and given back.
        let (triple, features) = unsafe {
            (llvm.message((llvm.LLVMGetDefaultTargetTriple)()), llvm.message((llvm.LLVMGetHostCPUFeatures)()))
        };
        Described { triple: c(&triple), features: c(&format!("{features},{FEATURES}")) }
    })
}

/// The object file of a module.
///
/// # Safety
/// The target machine and the module are LLVM's, and nobody else uses them.
unsafe fn emit(llvm: &Llvm, host: Ref, module: Ref) -> Result<Vec<u8>, String> {
    let (mut buffer, mut message) = (null_mut(), null_mut());
    // SAFETY: the buffer is read before it is disposed of.
    unsafe {
        let place = (&raw mut message, &raw mut buffer);
        if (llvm.LLVMTargetMachineEmitToMemoryBuffer)(host, module, OBJECT_FILE, place.0, place.1) != 0 {
            return Err(llvm.message(message));
        }
        let (start, size) = ((llvm.LLVMGetBufferStart)(buffer), (llvm.LLVMGetBufferSize)(buffer));
        let object = std::slice::from_raw_parts(start.cast::<u8>(), size).to_vec();
        (llvm.LLVMDisposeMemoryBuffer)(buffer);
        Ok(object)
    }
}

/// A description of this host.
///
/// # Safety
/// As for any call of LLVM's.
unsafe fn machine(llvm: &Llvm, triple: &CString, features: &CString, level: i32) -> Result<Ref, String> {
    let mut target = null_mut();
    let mut message: *mut c_char = null_mut();
    let cpu = c("");
    // SAFETY: the texts live as long as the calls, and the places are ours.
    unsafe {
        if (llvm.LLVMGetTargetFromTriple)(triple.as_ptr(), &raw mut target, &raw mut message) != 0 {
            return Err(NoLlvm::Host(llvm.message(message)).to_string());
        }
        Ok((llvm.LLVMCreateTargetMachine)(
            target,
            triple.as_ptr(),
            cpu.as_ptr(),
            features.as_ptr(),
            level,
            RELOC_PIC,
            CODE_MODEL_SMALL,
        ))
    }
}

/// Reads a module, which must be sound.
///
/// # Safety
/// The context is one of LLVM's that nobody else uses.
unsafe fn parse(llvm: &Llvm, context: Ref, text: &str) -> Result<Ref, String> {
    let (mut module, mut message) = (null_mut(), null_mut());
    let name = c("kernel");
    // SAFETY: the buffer is a copy of the text, and the parser takes it.
    unsafe {
        let buffer =
            (llvm.LLVMCreateMemoryBufferWithMemoryRangeCopy)(text.as_ptr().cast(), text.len(), name.as_ptr());
        if (llvm.LLVMParseIRInContext)(context, buffer, &raw mut module, &raw mut message) != 0 {
            return Err(llvm.message(message));
        }
        const RETURN_STATUS: i32 = 2;
        let unsound = (llvm.LLVMVerifyModule)(module, RETURN_STATUS, &raw mut message) != 0;
        let why = llvm.message(message);
        if unsound {
            (llvm.LLVMDisposeModule)(module);
            return Err(why);
        }
        Ok(module)
    }
}
