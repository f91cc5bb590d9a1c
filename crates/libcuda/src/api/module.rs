//! Modules, their functions and variables; linking.

use crate::api::jit::{Logs, image, image_of};
use crate::ffi::api;
use crate::pointers::{Out, bytes, put, put_if, text};
use crate::state::{FUNCTIONS, LINKS, LinkState, MODULES, current};
use crate::sys::*;
use driver::image::Image;
use driver::module::Module;
use driver::{Error, Id, Result};
use std::ffi::{c_char, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

fn load(out: Out<CUmodule>, image: Image, logs: &Logs) -> Result<()> {
    if out.is_null() {
        return Err(Error::InvalidValue);
    }
    let context = current()?;
    let image = logs.apply(image, context.device().profile())?;
    let module = logs.time(|| Module::load(&context, &image)).map_err(|failure| logs.failure(&failure))?;
    logs.information(&module.log);
    put(out, MODULES.insert(module.id(), module))
}

/// The bytes of a file.
pub(crate) fn read_file(path: &str) -> Result<Image> {
    std::fs::read(path).map(|bytes| image_of(&bytes)).map_err(|_| Error::FileNotFound)
}

/// Works on a link.
fn with_link<T>(state: CUlinkState, work: impl FnOnce(&mut LinkState) -> Result<T>) -> Result<T> {
    let link = LINKS.get(state)?;
    let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut link)
}

fn add(state: CUlinkState, kind: CUjitInputType, bytes: &[u8], name: &str) -> Result<()> {
    with_link(state, |state| {
        let device = state.device.clone().ok_or(Error::InvalidContext)?;
        let added = match kind {
            CU_JIT_INPUT_OBJECT | CU_JIT_INPUT_LIBRARY => {
                state.link.add_object(bytes, name, device.profile())
            }
            _ => {
                let image = state.logs.apply(image_of(bytes), device.profile())?;
                state.link.add(&image, name, device.profile())
            }
        };
        added.map_err(|failure| state.logs.failure(&failure))
    })
}

api! {
    fn cuModuleLoadData(out: *mut CUmodule, data: *const c_void) {
        // SAFETY: the image is the program's, and says how long it is.
        load(out, unsafe { image(data)? }, &Logs::default())
    }

    fn cuModuleLoadDataEx(
        out: *mut CUmodule,
        data: *const c_void,
        count: c_uint,
        #[elements(count)] options: *mut CUjit_option,
        #[elements(count)] values: *mut *mut c_void,
    ) {
        // SAFETY: the image is the program's, and says how long it is; so are the logs that the options name.
        let (image, logs) = unsafe { (image(data)?, Logs::new(options, values)?) };
        load(out, image, &logs)
    }

    fn cuModuleLoadFatBinary(out: *mut CUmodule, data: *const c_void) {
        // SAFETY: the image is the program's, and says how long it is.
        load(out, unsafe { image(data)? }, &Logs::default())
    }

    #[order(initialised, given(out), given(path), context)]
    fn cuModuleLoad(out: *mut CUmodule, path: *const c_char) {
        load(out, read_file(text(path)?)?, &Logs::default())
    }

    #[order(initialised, handle(module), no_capture)]
    fn cuModuleUnload(module: CUmodule) {
        let gone = MODULES.get(module)?;
        if let Ok(context) = gone.context() {
            context.settle()?;
        }
        MODULES.remove(module)?;
        FUNCTIONS.retain(|function| function.module().id() != gone.id());
        Ok(())
    }

    #[order(initialised)]
    fn cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode) {
        put(mode, CU_MODULE_LAZY_LOADING)
    }

    fn cuModuleGetFunction(out: *mut CUfunction, module: CUmodule, name: *const c_char) {
        let function = MODULES.get(module)?.function(text(name)?)?;
        put(out, FUNCTIONS.insert(function.id(), function))
    }

    #[order(handle(module), initialised, given(count))]
    fn cuModuleGetFunctionCount(count: *mut c_uint, module: CUmodule) {
        put(count, MODULES.get(module)?.entries().len() as c_uint)
    }

    #[order(handle(module), initialised, given(functions))]
    fn cuModuleEnumerateFunctions(#[elements(count)] functions: *mut CUfunction, count: c_uint, module: CUmodule) {
        let module = MODULES.get(module)?;
        for (index, name) in module.entries().iter().take(count as usize).enumerate() {
            let function = module.function(name)?;
            put(functions.at(index), FUNCTIONS.insert(function.id(), function))?;
        }
        Ok(())
    }

    fn cuModuleGetGlobal_v2(address: *mut CUdeviceptr, size: *mut usize, module: CUmodule, name: *const c_char) {
        let (start, bytes) = MODULES.get(module)?.global(text(name)?)?;
        put_if(address, start);
        put_if(size, bytes as usize);
        Ok(())
    }

    fn cuLinkCreate_v2(
        count: c_uint,
        #[elements(count)] options: *mut CUjit_option,
        #[elements(count)] values: *mut *mut c_void,
        out: *mut CUlinkState,
    ) {
        // SAFETY: the logs that the options name are the program's, which keeps them as long as the link.
        let logs = unsafe { Logs::new(options, values)? }.without_sizes();
        let device = Some(current()?.device().clone());
        let state = LinkState { device, logs, ..LinkState::default() };
        put(out, LINKS.insert(Id::next(), Arc::new(Mutex::new(state))))
    }

    #[order(handle(state), initialised, given(data))]
    fn cuLinkAddData_v2(
        state: CUlinkState,
        kind: CUjitInputType,
        #[elements(size)] data: *mut c_void,
        size: usize,
        name: *const c_char,
        count: c_uint,
        #[elements(count)] options: *mut CUjit_option,
        _values: *mut *mut c_void,
    ) {
        if size == 0 || (count != 0 && options.is_null()) || kind >= CU_JIT_NUM_INPUT_TYPES {
            return Err(Error::InvalidValue);
        }
        let name = if name.is_null() { "" } else { text(name)? };
        add(state, kind, bytes(data.input())?, name)
    }

    #[order(handle(state), initialised, given(path))]
    fn cuLinkAddFile_v2(
        state: CUlinkState,
        kind: CUjitInputType,
        path: *const c_char,
        count: c_uint,
        #[elements(count)] options: *mut CUjit_option,
        _values: *mut *mut c_void,
    ) {
        let path = text(path)?;
        if count != 0 && options.is_null() {
            return Err(Error::InvalidValue);
        }
        let bytes = std::fs::read(path).map_err(|_| Error::FileNotFound)?;
        add(state, kind, &bytes, path)
    }

    #[order(handle(state), initialised, given(out))]
    fn cuLinkComplete(state: CUlinkState, out: *mut *mut c_void, size: *mut usize) {
        with_link(state, |state| {
            let whole = state.logs.time(|| state.link.complete()).map_err(|failure| state.logs.failure(&failure))?;
            state.logs.information(&state.link.warnings());
            state.result = [whole.as_bytes(), &[0]].concat();
            put_if(size, state.result.len());
            put(out, state.result.as_mut_ptr().cast())
        })
    }

    #[order(handle(state), initialised)]
    fn cuLinkDestroy(state: CUlinkState) {
        LINKS.remove(state).map(drop)
    }
}

/// The value of a parameter's place in an array of a function that returns both.
pub(crate) fn parameter_info(
    function: &driver::module::Function,
    index: usize,
    offset: Out<usize>,
    size: Out<usize>,
) -> Result<()> {
    let parameter = function.parameters().get(index).ok_or(Error::InvalidValue)?;
    put(offset, parameter.offset as usize)?;
    put_if(size, parameter.size as usize);
    Ok(())
}
