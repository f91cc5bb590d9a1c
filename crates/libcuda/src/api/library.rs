//! Libraries and kernels.

use crate::api::jit::{Logs, image};
use crate::api::module::{parameter_info, read_file};
use crate::border::api;
use crate::pointers::{put, put_if, text};
use crate::state::{FUNCTIONS, KERNELS, LIBRARIES, MODULES, current, device};
use crate::sys::*;
use driver::library::Library;
use driver::module::Image;
use driver::{Error, Result, context};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// # Safety
/// As [`put`].
unsafe fn load(out: *mut CUlibrary, image: Image, logs: &Logs) -> Result<()> {
    if out.is_null() {
        return Err(Error::InvalidValue);
    }
    // A library needs no current context; the first device's primary one tells whether the code is right.
    let context = match context::current() {
        Some(context) => context,
        None => device(0)?.retain_primary()?,
    };
    let library = Library::load(&context, image).map_err(|failure| logs.failure(&failure))?;
    // SAFETY: by contract.
    unsafe { put(out, LIBRARIES.insert(library.id(), library)) }
}

api! {
    fn cuLibraryLoadData(
        out: *mut CUlibrary,
        code: *const c_void,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
        count: c_uint,
        _library_options: *mut CUlibraryOption,
        _library_values: *mut *mut c_void,
        _library_count: c_uint,
    ) {
        load(out, image(code)?, &Logs::new(count, options, values)?)
    }

    fn cuLibraryLoadFromFile(
        out: *mut CUlibrary,
        path: *const c_char,
        options: *mut CUjit_option,
        values: *mut *mut c_void,
        count: c_uint,
        _library_options: *mut CUlibraryOption,
        _library_values: *mut *mut c_void,
        _library_count: c_uint,
    ) {
        load(out, read_file(text(path)?)?, &Logs::new(count, options, values)?)
    }

    fn cuLibraryUnload(library: CUlibrary) {
        let gone = LIBRARIES.remove(library)?;
        KERNELS.retain(|kernel| kernel.library().id() != gone.id());
        Ok(())
    }

    fn cuLibraryGetKernel(out: *mut CUkernel, library: CUlibrary, name: *const c_char) {
        let kernel = LIBRARIES.get(library)?.kernel(text(name)?)?;
        put(out, KERNELS.insert(kernel.id(), kernel))
    }

    fn cuLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary) {
        put(count, LIBRARIES.get(library)?.entries().len() as c_uint)
    }

    fn cuLibraryEnumerateKernels(kernels: *mut CUkernel, count: c_uint, library: CUlibrary) {
        let library = LIBRARIES.get(library)?;
        for (index, name) in library.entries().iter().take(count as usize).enumerate() {
            let kernel = library.kernel(name)?;
            put(kernels.wrapping_add(index), KERNELS.insert(kernel.id(), kernel))?;
        }
        Ok(())
    }

    fn cuLibraryGetModule(out: *mut CUmodule, library: CUlibrary) {
        let module = LIBRARIES.get(library)?.module(&current()?)?;
        put(out, MODULES.insert(module.id(), module))
    }

    fn cuLibraryGetGlobal(address: *mut CUdeviceptr, size: *mut usize, library: CUlibrary, name: *const c_char) {
        let (start, bytes) = LIBRARIES.get(library)?.module(&current()?)?.global(text(name)?)?;
        put_if(address, start);
        put_if(size, bytes as usize);
        Ok(())
    }

    fn cuKernelGetFunction(out: *mut CUfunction, kernel: CUkernel) {
        let function = KERNELS.get(kernel)?.function(&current()?)?;
        put(out, FUNCTIONS.insert(function.id(), function))
    }

    fn cuKernelGetLibrary(out: *mut CUlibrary, kernel: CUkernel) {
        let library = KERNELS.get(kernel)?.library().clone();
        put(out, LIBRARIES.insert(library.id(), library))
    }

    fn cuKernelGetParamInfo(kernel: CUkernel, index: usize, offset: *mut usize, size: *mut usize) {
        parameter_info(&*KERNELS.get(kernel)?.function(&current()?)?, index, offset, size)
    }

    fn cuKernelGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, kernel: CUkernel, dev: CUdevice) {
        device(dev)?;
        let function = KERNELS.get(kernel)?.function(&current()?)?;
        put(value, crate::api::execution::attribute(&function, attribute)?)
    }

    fn cuKernelSetCacheConfig(kernel: CUkernel, _config: CUfunc_cache, dev: CUdevice) {
        device(dev)?;
        KERNELS.get(kernel).map(drop)
    }

    fn cuKernelSetAttribute(attribute: CUfunction_attribute, value: c_int, kernel: CUkernel, dev: CUdevice) {
        let limit = device(dev)?.profile().shared_per_cta_optin;
        let function = KERNELS.get(kernel)?.function(&current()?)?;
        crate::api::execution::set_attribute(&function, attribute, value, limit)
    }
}
