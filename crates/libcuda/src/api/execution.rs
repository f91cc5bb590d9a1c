//! Functions' attributes, and launching them.

use crate::api::context::{bank_size, cache_preference};
use crate::api::module::parameter_info;
use crate::ffi::api;
use crate::pointers::{Array, In, Opaque, Out, bytes, element, get, put};
use crate::state::{EVENTS, MODULES, function, stream};
use crate::sys::*;
use driver::host_call::HostCall;
use driver::launch::Configuration;
use driver::module::Function;
use driver::{Error, Result};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

/// The markers of `cuLaunchKernel`'s parameter `extra`, which `cuda.h` defines as pointers.
const EXTRA_END: usize = 0;
const EXTRA_POINTER: usize = 1;
const EXTRA_SIZE: usize = 2;
/// The most entries of `extra`, so that one without an end is an error.
const EXTRA_MOST: usize = 16;

pub(crate) fn attribute(function: &Function, attribute: CUfunction_attribute) -> Result<c_int> {
    let number = |value: u32| c_int::try_from(value).unwrap_or(c_int::MAX);
    let cluster =
        |axis: usize| function.bounds().req_nctapercluster.map_or(0, |extents| number(extents[axis]));
    Ok(match attribute {
        CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => number(function.max_threads()),
        CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => number(function.static_shared()),
        CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => {
            c_int::try_from(function.constant_bytes()).unwrap_or(c_int::MAX)
        }
        CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => number(function.usage().map_or(0, |usage| usage.local)),
        CU_FUNC_ATTRIBUTE_NUM_REGS => number(function.registers()),
        CU_FUNC_ATTRIBUTE_PTX_VERSION | CU_FUNC_ATTRIBUTE_BINARY_VERSION => function.sm().into(),
        CU_FUNC_ATTRIBUTE_CACHE_MODE_CA => 0,
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => number(function.max_dynamic_shared()),
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => function.limits().carveout,
        CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET => function.bounds().explicit_cluster.into(),
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH => cluster(0),
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT => cluster(1),
        CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => cluster(2),
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => function.limits().nonportable_cluster.into(),
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => 0,
        _ => return Err(Error::InvalidValue),
    })
}

/// Sets an attribute; `most` is the device's limit of shared memory.
pub(crate) fn set_attribute(
    function: &Function,
    attribute: CUfunction_attribute,
    value: c_int,
    most: u32,
) -> Result<()> {
    match attribute {
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            let bytes = u32::try_from(value).map_err(|_| Error::InvalidValue)?;
            if bytes.saturating_add(function.static_shared()) > most {
                return Err(Error::InvalidValue);
            }
            function.set_limits(|limits| limits.dynamic_shared = Some(bytes));
        }
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => {
            function.set_limits(|limits| limits.carveout = value);
        }
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
            function.set_limits(|limits| limits.nonportable_cluster = value != 0);
        }
        CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => {}
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}

/// The parameter buffer, from whichever way the program gives it.
///
/// # Safety
/// One array is null; the other is as `cuLaunchKernel` wants it.
pub(crate) unsafe fn parameters(
    function: &Function,
    params: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Result<Vec<u8>> {
    let size = function.parameter_bytes();
    if !params.is_null() && !extra.is_null() {
        return Err(Error::InvalidValue);
    }
    let mut buffer = vec![0; size];
    // SAFETY: by contract the arrays have an element for each parameter, or end with a marker, and what they point to
    // has the size of the parameter, or the size that stands beside it.
    unsafe {
        if extra.is_null() {
            let params = Array::new(params.raw(), function.parameters().len());
            for (index, parameter) in function.parameters().iter().enumerate() {
                let (offset, size) = (parameter.offset as usize, parameter.size as usize);
                let value = Array::new(element(params, index)?.cast_const(), size);
                buffer[offset..offset + size].copy_from_slice(bytes(value)?);
            }
            return Ok(buffer);
        }
        let (mut start, mut given) = (std::ptr::null(), None);
        for pair in 0..EXTRA_MOST {
            // As far as the marker: each element is looked at after the one before it.
            let extra = Array::new(extra.raw(), 2 * pair + 2);
            match element(extra, 2 * pair)?.addr() {
                EXTRA_END => break,
                EXTRA_POINTER => start = element(extra, 2 * pair + 1)?.cast_const(),
                EXTRA_SIZE => given = Some(get(In::new(element(extra, 2 * pair + 1)?.cast::<usize>()))?),
                _ => return Err(Error::InvalidValue),
            }
        }
        let given = given.ok_or(Error::InvalidValue)?;
        // Programs may leave out what only fills up the end, or round up to it.
        let shown = given.min(size);
        buffer[..shown].copy_from_slice(bytes(Array::new(start, shown))?);
        if given < size && function.parameters().last().is_some_and(|last| given <= last.offset as usize) {
            return Err(Error::InvalidValue);
        }
    }
    Ok(buffer)
}

/// # Safety
/// As [`parameters`].
unsafe fn launch(
    handle: CUfunction,
    configuration: Configuration,
    on: CUstream,
    params: Out<*mut c_void>,
    extra: Out<*mut c_void>,
) -> Result<()> {
    let (context, stream) = stream(on)?;
    let function = function(handle, Some(&context))?;
    // SAFETY: by contract.
    let buffer = unsafe { parameters(&function, params, extra)? };
    context.launch(&function, configuration, buffer, &stream)
}

/// How a kernel is launched, with what only attributes say.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) configuration: Configuration,
    pub(crate) priority: Option<c_int>,
    /// Whether it may begin before the kernel before it has ended.
    pub(crate) overlaps: bool,
}

/// Whether an attribute asks for a node that kernels may change.
pub(crate) fn asks_for_updates(value: &CUlaunchAttributeValue) -> Result<bool> {
    // SAFETY: the attribute's number says that this member is meant, and it is an integer.
    match unsafe { value.deviceUpdatableKernelNode.deviceUpdatable } {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Error::InvalidValue),
    }
}

/// The same attribute with the handle of a node.
pub(crate) fn updatable(handle: Option<u64>) -> CUlaunchAttributeValue {
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    value.deviceUpdatableKernelNode = CUlaunchAttributeValue_union__bindgen_ty_5 {
        deviceUpdatable: handle.is_some().into(),
        devNode: std::ptr::without_provenance_mut(handle.unwrap_or(0) as usize),
    };
    value
}

/// Where a launch wants the handle of its node, which kernels are to change.
type NodeWanted = Option<Out<CUlaunchAttributeValue>>;

/// Applies an attribute of a launch.
pub(crate) fn apply_attribute(
    wanted: &mut Wanted,
    id: CUlaunchAttributeID,
    value: &CUlaunchAttributeValue,
) -> Result<()> {
    // SAFETY: which member of the union is meant is what the number says, and all of them are integers.
    unsafe {
        match id {
            CU_LAUNCH_ATTRIBUTE_COOPERATIVE => wanted.configuration.cooperative = value.cooperative != 0,
            CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                let extents = value.clusterDim;
                let extents = [extents.x, extents.y, extents.z];
                wanted.configuration.cluster = (extents != [0; 3]).then_some(extents);
            }
            CU_LAUNCH_ATTRIBUTE_PRIORITY => wanted.priority = Some(value.priority),
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => {
                wanted.overlaps = value.programmaticStreamSerializationAllowed != 0;
            }
            // They ask for speed.
            CU_LAUNCH_ATTRIBUTE_IGNORE
            | CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
            | CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
            | CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
            | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
            | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
            | CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION
            | CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING
            | CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {}
            _ => return Err(Error::NotSupported),
        }
    }
    Ok(())
}

/// An event that a launch records: at its end, which is late enough for those that may come at its begin.
fn completion_event(id: CUlaunchAttributeID, value: &CUlaunchAttributeValue) -> Option<CUevent> {
    // SAFETY: which member of the union is meant is what the number says, and all of them are integers and handles.
    unsafe {
        match id {
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => Some(value.programmaticEvent.event),
            CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => Some(value.launchCompletionEvent.event),
            _ => None,
        }
    }
}

/// How a launch is configured, the events that it records, and where it wants the handle of its node.
///
/// # Safety
/// The pointer is null or points to a configuration with as many attributes as it says.
unsafe fn wanted(config: In<CUlaunchConfig>) -> Result<(Wanted, Vec<CUevent>, NodeWanted)> {
    let config = get(config)?;
    let configuration = Configuration {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        block: [config.blockDimX, config.blockDimY, config.blockDimZ],
        cluster: None,
        dynamic_shared: config.sharedMemBytes,
        cooperative: false,
    };
    let mut wanted = Wanted { configuration, priority: None, overlaps: false };
    let (mut events, mut node) = (Vec::new(), None);
    // SAFETY: by contract.
    let attributes = unsafe { Array::new(config.attrs, config.numAttrs as usize) };
    for index in 0..attributes.count() {
        let attribute = element(attributes, index)?;
        if attribute.id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE {
            if asks_for_updates(&attribute.value)? {
                let there = config.attrs.wrapping_add(index);
                // SAFETY: the attribute was read; this one is also written, as its manual says.
                node = Some(unsafe { Out::new(&raw mut (*there).value) });
            }
            continue;
        }
        match completion_event(attribute.id, &attribute.value) {
            Some(event) => events.push(event),
            None => apply_attribute(&mut wanted, attribute.id, &attribute.value)?,
        }
    }
    Ok((wanted, events, node))
}

/// How a launch is configured.
///
/// # Safety
/// The pointer is null or points to a configuration with as many attributes as it says.
pub(crate) unsafe fn configuration(config: In<CUlaunchConfig>) -> Result<Configuration> {
    // SAFETY: by contract.
    Ok(unsafe { wanted(config)? }.0.configuration)
}

/// A function of the program's with its argument.
pub(crate) fn host_call(call: CUhostFn, argument: *mut c_void) -> Result<HostCall> {
    let call = call.ok_or(Error::InvalidValue)?;
    let argument = Opaque(argument);
    let run = move || {
        let Opaque(pointer) = { argument };
        // SAFETY: the program asked for this call.
        unsafe { call(pointer) }
    };
    let (function, given) = (call as usize as u64, argument.0.expose_provenance() as u64);
    Ok(HostCall { function, argument: given, call: Arc::new(run) })
}

api! {
    #[order(handle(f), initialised, given(value))]
    fn cuFuncGetAttribute(value: *mut c_int, which: CUfunction_attribute, f: CUfunction) {
        put(value, attribute(&*function(f, None)?, which)?)
    }

    fn cuFuncSetAttribute(f: CUfunction, which: CUfunction_attribute, value: c_int) {
        let function = function(f, None)?;
        let most = function.module().context()?.device().profile().shared_per_cta_optin;
        set_attribute(&function, which, value, most)
    }

    fn cuFuncSetCacheConfig(f: CUfunction, config: CUfunc_cache) {
        function(f, None)?;
        cache_preference(config)
    }

    #[order(initialised, given(out), given(f))]
    fn cuFuncGetModule(out: *mut CUmodule, f: CUfunction) {
        let module = function(f, None)?.module().clone();
        put(out, MODULES.insert(module.id(), module))
    }

    #[order(given(f), initialised, given(out))]
    fn cuFuncGetName(out: *mut *const c_char, f: CUfunction) {
        put(out, function(f, None)?.c_name().as_ptr())
    }

    #[order(given(f), initialised)]
    fn cuFuncGetParamInfo(f: CUfunction, index: usize, offset: *mut usize, size: *mut usize) {
        parameter_info(&*function(f, None)?, index, offset, size)
    }

    #[order(handle(f), initialised, given(state))]
    fn cuFuncIsLoaded(state: *mut CUfunctionLoadingState, f: CUfunction) {
        function(f, None)?;
        put(state, CU_FUNCTION_LOADING_STATE_LOADED)
    }

    #[order(handle(f), initialised)]
    fn cuFuncLoad(f: CUfunction) {
        function(f, None).map(drop)
    }

    fn cuLaunchKernel(
        f: CUfunction,
        gx: c_uint,
        gy: c_uint,
        gz: c_uint,
        bx: c_uint,
        by: c_uint,
        bz: c_uint,
        shared: c_uint,
        on: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        let configuration =
            Configuration { grid, block, cluster: None, dynamic_shared: shared, cooperative: false };
        // SAFETY: the arrays are the program's, which its kernel's parameters say the lengths of.
        unsafe { launch(f, configuration, on, params, extra) }
    }

    fn cuLaunchCooperativeKernel(
        f: CUfunction,
        gx: c_uint,
        gy: c_uint,
        gz: c_uint,
        bx: c_uint,
        by: c_uint,
        bz: c_uint,
        shared: c_uint,
        on: CUstream,
        params: *mut *mut c_void,
    ) {
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        let configuration =
            Configuration { grid, block, cluster: None, dynamic_shared: shared, cooperative: true };
        // SAFETY: the arrays are the program's, which its kernel's parameters say the lengths of.
        unsafe { launch(f, configuration, on, params, Out::none()) }
    }

    fn cuLaunchKernelEx(
        config: *const CUlaunchConfig,
        f: CUfunction,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        // SAFETY: the configuration is the program's, with as many attributes as it says.
        let (wanted, events, node) = unsafe { wanted(config)? };
        let events: Vec<_> = events.into_iter().map(|event| EVENTS.get(event)).collect::<Result<_>>()?;
        let (context, stream) = stream(get(config)?.hStream)?;
        if node.is_some() {
            context.require_capture(&stream).map_err(|_| Error::NotSupported)?;
        }
        let function = function(f, Some(&context))?;
        // SAFETY: the arrays are the program's, which its kernel's parameters say the lengths of.
        let buffer = unsafe { parameters(&function, params, extra)? };
        let work = context.prepare_launch(&function, wanted.configuration, buffer)?;
        let priority = wanted.priority.unwrap_or(stream.priority());
        let work = work.with_priority(priority).with_overlap(wanted.overlaps);
        context.submit(&stream, work)?;
        if let Some(there) = node {
            put(there, updatable(Some(context.make_captured_updatable(&stream)?)))?;
        }
        events.iter().try_for_each(|event| context.record(event, &stream))
    }

    fn cuLaunchHostFunc(on: CUstream, call: CUhostFn, argument: *mut c_void) {
        let (context, stream) = stream(on)?;
        context.submit(&stream, host_call(call, argument.raw())?)
    }

    #[order(initialised, handle(f))]
    fn cuFuncSetSharedMemConfig(f: CUfunction, config: CUsharedconfig) {
        function(f, None)?;
        bank_size(config)
    }
}
