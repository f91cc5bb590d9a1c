//! Libraries and kernels.

use crate::api::context::cache_preference;
use crate::api::jit::{Logs, image};
use crate::api::module::{parameter_info, read_file};
use crate::ffi::api;
use crate::pointers::{Out, put, put_if, text};
use crate::state::{FUNCTIONS, KERNELS, LIBRARIES, MODULES, current, device};
use crate::sys::*;
use driver::image::Image;
use driver::library::Library;
use driver::{Context, Error, Result, current};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

/// A context for what libraries and kernels need none for: the current one if it can be used, or else a device's primary
/// one.
fn somewhere(dev: c_int) -> Result<Arc<Context>> {
    match current::context().filter(|context| context.usable().is_ok()) {
        Some(context) => Ok(context),
        None => device(dev)?.retain_primary(),
    }
}

fn load(out: Out<CUlibrary>, image: Image, logs: &Logs) -> Result<()> {
    if out.is_null() {
        return Err(Error::InvalidValue);
    }
    // The first device's primary context tells whether the code is right.
    let context = somewhere(0)?;
    let image = logs.apply(image, context.device().profile())?;
    let library = logs.time(|| Library::load(&context, image)).map_err(|failure| logs.failure(&failure))?;
    put(out, LIBRARIES.insert(library.id(), library))
}

api! {
    #[order(initialised, given(out), given(code))]
    fn cuLibraryLoadData(
        out: *mut CUlibrary,
        code: *const c_void,
        #[elements(count)] options: *mut CUjit_option,
        #[elements(count)] values: *mut *mut c_void,
        count: c_uint,
        _library_options: *mut CUlibraryOption,
        _library_values: *mut *mut c_void,
        _library_count: c_uint,
    ) {
        // SAFETY: the image is the program's, and says how long it is; so are the logs that the options name.
        let (image, logs) = unsafe { (image(code)?, Logs::new(options, values)?) };
        load(out, image, &logs)
    }

    #[order(initialised, given(out), given(path))]
    fn cuLibraryLoadFromFile(
        out: *mut CUlibrary,
        path: *const c_char,
        #[elements(count)] options: *mut CUjit_option,
        #[elements(count)] values: *mut *mut c_void,
        count: c_uint,
        _library_options: *mut CUlibraryOption,
        _library_values: *mut *mut c_void,
        _library_count: c_uint,
    ) {
        // SAFETY: the logs that the options name are the program's.
        let logs = unsafe { Logs::new(options, values)? };
        load(out, read_file(text(path)?)?, &logs)
    }

    #[order(handle(library), initialised, no_capture)]
    fn cuLibraryUnload(library: CUlibrary) {
        let gone = LIBRARIES.remove(library)?;
        KERNELS.retain(|kernel| kernel.library().id() != gone.id());
        Ok(())
    }

    #[order(handle(library), initialised, given(out), given(name))]
    fn cuLibraryGetKernel(out: *mut CUkernel, library: CUlibrary, name: *const c_char) {
        let kernel = LIBRARIES.get(library)?.kernel(text(name)?)?;
        put(out, KERNELS.insert(kernel.id(), kernel))
    }

    #[order(handle(library), initialised, given(count))]
    fn cuLibraryGetKernelCount(count: *mut c_uint, library: CUlibrary) {
        put(count, LIBRARIES.get(library)?.entries().len() as c_uint)
    }

    #[order(handle(library), initialised, given(kernels))]
    fn cuLibraryEnumerateKernels(#[elements(count)] kernels: *mut CUkernel, count: c_uint, library: CUlibrary) {
        let library = LIBRARIES.get(library)?;
        for (index, name) in library.entries().iter().take(count as usize).enumerate() {
            let kernel = library.kernel(name)?;
            put(kernels.at(index), KERNELS.insert(kernel.id(), kernel))?;
        }
        Ok(())
    }

    #[order(handle(library), initialised, given(out), context)]
    fn cuLibraryGetModule(out: *mut CUmodule, library: CUlibrary) {
        let module = LIBRARIES.get(library)?.module(&current()?)?;
        put(out, MODULES.insert(module.id(), module))
    }

    #[order(handle(library), initialised, given(name), context)]
    fn cuLibraryGetGlobal(address: *mut CUdeviceptr, size: *mut usize, library: CUlibrary, name: *const c_char) {
        let (start, bytes) = LIBRARIES.get(library)?.module(&current()?)?.global(text(name)?)?;
        put_if(address, start);
        put_if(size, bytes as usize);
        Ok(())
    }

    #[order(handle(kernel), initialised, given(out), context)]
    fn cuKernelGetFunction(out: *mut CUfunction, kernel: CUkernel) {
        let function = KERNELS.get(kernel)?.function(&current()?)?;
        put(out, FUNCTIONS.insert(function.id(), function))
    }

    #[order(handle(kernel), initialised, given(out))]
    fn cuKernelGetLibrary(out: *mut CUlibrary, kernel: CUkernel) {
        let library = KERNELS.get(kernel)?.library().clone();
        put(out, LIBRARIES.insert(library.id(), library))
    }

    #[order(given(kernel), initialised, given(out))]
    fn cuKernelGetName(out: *mut *const c_char, kernel: CUkernel) {
        // The name stays where the function is, which stays as long as its handle.
        let function = KERNELS.get(kernel)?.function(&somewhere(0)?)?;
        put(out, function.c_name().as_ptr())?;
        FUNCTIONS.insert(function.id(), function);
        Ok(())
    }

    #[order(handle(library), initialised, given(name))]
    fn cuLibraryGetManaged(
        address: *mut CUdeviceptr,
        size: *mut usize,
        library: CUlibrary,
        name: *const c_char,
    ) {
        let (start, bytes) = LIBRARIES.get(library)?.module(&somewhere(0)?)?.global(text(name)?)?;
        put_if(address, start);
        put_if(size, bytes as usize);
        Ok(())
    }

    #[order(given(kernel), initialised, context)]
    fn cuKernelGetParamInfo(kernel: CUkernel, index: usize, offset: *mut usize, size: *mut usize) {
        parameter_info(&*KERNELS.get(kernel)?.function(&current()?)?, index, offset, size)
    }

    #[order(handle(kernel), initialised, given(value))]
    fn cuKernelGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, kernel: CUkernel, dev: CUdevice) {
        device(dev)?;
        let function = KERNELS.get(kernel)?.function(&somewhere(dev)?)?;
        put(value, crate::api::execution::attribute(&function, attribute)?)
    }

    #[order(handle(kernel), initialised)]
    fn cuKernelSetCacheConfig(kernel: CUkernel, config: CUfunc_cache, dev: CUdevice) {
        device(dev)?;
        KERNELS.get(kernel)?;
        cache_preference(config)
    }

    #[order(handle(kernel), initialised)]
    fn cuKernelSetAttribute(attribute: CUfunction_attribute, value: c_int, kernel: CUkernel, dev: CUdevice) {
        let limit = device(dev)?.profile().shared_per_cta_optin;
        let function = KERNELS.get(kernel)?.function(&somewhere(dev)?)?;
        crate::api::execution::set_attribute(&function, attribute, value, limit)
    }
}
