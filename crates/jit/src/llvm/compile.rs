//! A module of LLVM's text, optimised and loaded.
//!
//! `O1` with code generation level 1: on the prototypes as fast as `O3`, in a third of the time. Level 0 doubles the time
//! of divergent kernels. The host is described by its features rather than by its name, and vectors of 512 bits are
//! wanted where there are any, which LLVM avoids by default on many CPUs.

use super::library::{Llvm, NoLlvm, OwnContext, Ref, c};
use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

const CODEGEN_LESS: i32 = 1;
const RELOC_PIC: i32 = 2;
const CODE_MODEL_JIT: i32 = 1;

/// Loaded machine code.
pub(crate) struct Object {
    llvm: &'static Llvm,
    jit: Ref,
}

// SAFETY: the code is never changed once it is loaded; the only other use of the JIT is to dispose of it, when nobody has
// the object any more.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the JIT is ours, and code of it runs only while somebody borrows the object.
        let error = unsafe { (self.llvm.LLVMOrcDisposeLLJIT)(self.jit) };
        if let Err(why) = self.llvm.check(error) {
            log::warn!("LLVM: {why}");
        }
    }
}

/// Whether there is an LLVM, and if not, why.
pub(crate) fn available() -> Result<(), NoLlvm> {
    Llvm::get().map(|_| ())
}

impl Object {
    /// Compiles a text.
    ///
    /// # Errors
    /// What LLVM says.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        let llvm = Llvm::get().map_err(|why| why.to_string())?;
        // SAFETY: each object goes to the functions that take it, once to the one that consumes it: the buffer to the
        // parser, the module to the thread-safe module, this to the JIT, the second target machine to its builder, and the
        // builders to the JIT.
        unsafe {
            let triple = c(&llvm.message((llvm.LLVMGetDefaultTargetTriple)()));
            let features = llvm.message((llvm.LLVMGetHostCPUFeatures)());
            let features = c(&format!("{features},-prefer-256-bit"));
            let of_passes = machine(llvm, &triple, &features)?;
            let (context, safe) = match llvm.own_context {
                OwnContext::Wrapped { create, wrap } => {
                    let context = create();
                    (context, wrap(context))
                }
                OwnContext::Made { create, context } => {
                    let safe = create();
                    (context(safe), safe)
                }
            };
            let module = parse(llvm, context, text).and_then(|module| {
                (llvm.LLVMSetTarget)(module, triple.as_ptr());
                let layout = (llvm.LLVMCreateTargetDataLayout)(of_passes);
                (llvm.LLVMSetModuleDataLayout)(module, layout);
                (llvm.LLVMDisposeTargetData)(layout);
                let options = (llvm.LLVMCreatePassBuilderOptions)();
                let passes = c("default<O1>");
                let done = (llvm.LLVMRunPasses)(module, passes.as_ptr(), of_passes, options);
                (llvm.LLVMDisposePassBuilderOptions)(options);
                llvm.check(done).map(|()| module).inspect_err(|_| (llvm.LLVMDisposeModule)(module))
            });
            (llvm.LLVMDisposeTargetMachine)(of_passes);
            let object = module.and_then(|module| {
                let module = (llvm.LLVMOrcCreateNewThreadSafeModule)(module, safe);
                let builder = (llvm.LLVMOrcCreateLLJITBuilder)();
                let of_host = machine(llvm, &triple, &features)?;
                let target = (llvm.LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine)(of_host);
                (llvm.LLVMOrcLLJITBuilderSetJITTargetMachineBuilder)(builder, target);
                let mut jit = null_mut();
                llvm.check((llvm.LLVMOrcCreateLLJIT)(&raw mut jit, builder))?;
                let object = Self { llvm, jit };
                let library = (llvm.LLVMOrcLLJITGetMainJITDylib)(jit);
                let mut generator = null_mut();
                let prefix = (llvm.LLVMOrcLLJITGetGlobalPrefix)(jit);
                // Copies and fills of memory are calls of the C library's.
                llvm.check((llvm.LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess)(
                    &raw mut generator,
                    prefix,
                    null(),
                    null_mut(),
                ))?;
                (llvm.LLVMOrcJITDylibAddGenerator)(library, generator);
                llvm.check((llvm.LLVMOrcLLJITAddLLVMIRModule)(jit, library, module))?;
                Ok(object)
            });
            (llvm.LLVMOrcDisposeThreadSafeContext)(safe);
            object
        }
    }

    /// The address of a function.
    ///
    /// # Errors
    /// What LLVM says: it makes the code now.
    pub(crate) fn address_of(&self, function: &str) -> Result<u64, String> {
        let mut address = 0;
        let name = c(function);
        // SAFETY: the JIT is alive, and the address is written before it is read.
        let error = unsafe { (self.llvm.LLVMOrcLLJITLookup)(self.jit, &raw mut address, name.as_ptr()) };
        self.llvm.check(error).map(|()| address)
    }
}

/// A description of this host.
///
/// # Safety
/// As for any call of LLVM's.
unsafe fn machine(llvm: &Llvm, triple: &CString, features: &CString) -> Result<Ref, String> {
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
            CODEGEN_LESS,
            RELOC_PIC,
            CODE_MODEL_JIT,
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
