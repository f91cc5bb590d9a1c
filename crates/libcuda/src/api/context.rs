//! Contexts and each thread's stack of them.

use crate::ffi::api;
use crate::pointers::{Out, put, put_if};
use crate::state::{self, CONTEXTS, Table, current, device, driver};
use crate::sys::*;
use driver::limits::Limit;
use driver::priority::{GREATEST, LEAST};
use driver::{Context, Error, Result, current};
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

/// Makes a context, which becomes current.
fn create(out: Out<CUcontext>, flags: c_uint, dev: CUdevice) -> Result<()> {
    if flags & !(CU_CTX_FLAGS_MASK) != 0 {
        return Err(Error::InvalidValue);
    }
    let made = Context::new(device(dev)?, flags)?;
    current::push(Arc::clone(&made));
    put(out, CONTEXTS.insert(made.id(), made))
}

/// A preference for the size of L1, which has no effect.
pub(crate) fn cache_preference(config: CUfunc_cache) -> Result<()> {
    if config > CU_FUNC_CACHE_PREFER_EQUAL { Err(Error::InvalidValue) } else { Ok(()) }
}

/// A preference for the banks of shared memory, which has no effect since Volta.
pub(crate) fn bank_size(config: CUsharedconfig) -> Result<()> {
    if config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE { Err(Error::InvalidValue) } else { Ok(()) }
}

/// Ends a context, which is current no longer if it was.
fn destroy(gone: &Context) {
    gone.destroy();
    if current::context().is_some_and(|current| current.id() == gone.id()) {
        current::pop();
    }
    state::forget(gone);
}

/// The context that a handle means; the current one for null.
fn context_of(handle: CUcontext) -> Result<Arc<Context>> {
    if handle.is_null() { current() } else { CONTEXTS.get(handle) }
}

/// A limit by its number.
fn limit(which: CUlimit) -> Result<Limit> {
    match which {
        CU_LIMIT_STACK_SIZE => Ok(Limit::Stack),
        CU_LIMIT_PRINTF_FIFO_SIZE => Ok(Limit::Printf),
        CU_LIMIT_MALLOC_HEAP_SIZE => Ok(Limit::Heap),
        CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH => Ok(Limit::SyncDepth),
        CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => Ok(Limit::PendingLaunches),
        CU_LIMIT_MAX_L2_FETCH_GRANULARITY => Ok(Limit::L2Granularity),
        CU_LIMIT_PERSISTING_L2_CACHE_SIZE => Ok(Limit::PersistingL2),
        other if other < CU_LIMIT_MAX => Err(Error::UnsupportedLimit),
        _ => Err(Error::InvalidValue),
    }
}

api! {
    fn cuCtxCreate_v2(out: *mut CUcontext, flags: c_uint, dev: CUdevice) {
        create(out, flags, dev)
    }

    fn cuCtxCreate_v3(
        out: *mut CUcontext,
        _affinity: *mut CUexecAffinityParam,
        count: c_int,
        flags: c_uint,
        dev: CUdevice,
    ) {
        if count != 0 {
            return Err(Error::UnsupportedExecAffinity);
        }
        create(out, flags, dev)
    }

    fn cuCtxCreate_v4(out: *mut CUcontext, params: *mut CUctxCreateParams, flags: c_uint, dev: CUdevice) {
        if params.input().read().is_some_and(|params| params.numExecAffinityParams != 0) {
            return Err(Error::UnsupportedExecAffinity);
        }
        create(out, flags, dev)
    }

    #[order(given(ctx), initialised)]
    fn cuCtxDestroy_v2(ctx: CUcontext) {
        let gone = CONTEXTS.get(ctx)?;
        // A primary context is given back, not destroyed.
        if gone.is_primary() {
            return Err(Error::InvalidContext);
        }
        destroy(&gone);
        Ok(())
    }

    fn cuCtxAttach(out: *mut CUcontext, flags: c_uint) {
        if out.is_null() || flags != 0 {
            return Err(Error::InvalidValue);
        }
        let context = current()?;
        context.attach();
        put(out, Table::<Context, _>::handle(context.id()))
    }

    #[order(initialised, context)]
    fn cuCtxDetach(ctx: CUcontext) {
        let context = current::context().filter(|context| Table::<Context, _>::handle(context.id()) == ctx);
        let context = context.ok_or(Error::InvalidContext)?;
        if context.detach() {
            destroy(&context);
        }
        Ok(())
    }

    // Before CUDA 4, a thread could not push what it had already.
    #[order(initialised, given(ctx))]
    fn cuCtxPushCurrent(ctx: CUcontext) {
        let pushed = CONTEXTS.get(ctx)?;
        if current::context().is_some_and(|current| current.id() == pushed.id()) {
            return Err(Error::InvalidContext);
        }
        current::push(pushed);
        Ok(())
    }

    #[order(initialised, given(ctx))]
    fn cuCtxPushCurrent_v2(ctx: CUcontext) {
        current::push(CONTEXTS.get(ctx)?);
        Ok(())
    }

    fn cuCtxPopCurrent_v2(out: *mut CUcontext) {
        driver()?;
        let popped = current::pop().ok_or(Error::InvalidContext)?;
        put_if(out, Table::<Context, _>::handle(popped.id()));
        Ok(())
    }

    fn cuCtxSetCurrent(ctx: CUcontext) {
        driver()?;
        current::set(if ctx.is_null() { None } else { Some(CONTEXTS.get(ctx)?) });
        Ok(())
    }

    fn cuCtxGetCurrent(out: *mut CUcontext) {
        driver()?;
        let handle = current::context().map(|context| Table::<Context, _>::handle(context.id()));
        put(out, handle.unwrap_or(std::ptr::null_mut()))
    }

    fn cuCtxGetDevice(dev: *mut CUdevice) {
        driver()?;
        let context = current::context().ok_or(Error::InvalidContext)?;
        put(dev, context.device().ordinal() as CUdevice)
    }

    fn cuCtxGetDevice_v2(dev: *mut CUdevice, ctx: CUcontext) {
        put(dev, context_of(ctx)?.device().ordinal() as CUdevice)
    }

    #[order(initialised, given(flags))]
    fn cuCtxGetFlags(flags: *mut c_uint) {
        // Of a context that is destroyed, too.
        put(flags, current::context().ok_or(Error::InvalidContext)?.flags())
    }

    fn cuCtxGetId(ctx: CUcontext, id: *mut std::ffi::c_ulonglong) {
        put(id, context_of(ctx)?.id().0)
    }

    fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint) {
        context_of(ctx)?;
        put(version, 3020)
    }

    fn cuCtxSynchronize() {
        current()?.synchronize()
    }

    fn cuCtxSynchronize_v2(ctx: CUcontext) {
        context_of(ctx)?.synchronize()
    }

    fn cuCtxGetLimit(value: *mut usize, which: CUlimit) {
        put(value, current()?.limit(limit(which)?) as usize)
    }

    #[order(initialised, context, no_capture)]
    fn cuCtxSetLimit(which: CUlimit, value: usize) {
        current()?.set_limit(limit(which)?, value as u64)
    }

    fn cuCtxGetCacheConfig(config: *mut CUfunc_cache) {
        current()?;
        put(config, CU_FUNC_CACHE_PREFER_NONE)
    }

    #[order(initialised, context, no_capture)]
    fn cuCtxSetCacheConfig(config: CUfunc_cache) {
        cache_preference(config)
    }

    // Other banks than those of 4 bytes are of devices before Volta.
    fn cuCtxGetSharedMemConfig(config: *mut CUsharedconfig) {
        current()?;
        put(config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE)
    }

    #[order(initialised, context, no_capture)]
    fn cuCtxSetSharedMemConfig(config: CUsharedconfig) {
        bank_size(config)
    }

    #[order(initialised, context)]
    fn cuCtxSetFlags(flags: c_uint) {
        if flags & !CU_CTX_FLAGS_MASK != 0 {
            return Err(Error::InvalidValue);
        }
        current()?.set_flags(flags);
        Ok(())
    }

    #[order(initialised, given(affinity), context)]
    // All multiprocessors are a context's.
    fn cuCtxGetExecAffinity(affinity: *mut CUexecAffinityParam, kind: CUexecAffinityType) {
        if kind != CU_EXEC_AFFINITY_TYPE_SM_COUNT {
            return Err(Error::UnsupportedExecAffinity);
        }
        let smCount = CUexecAffinitySmCount { val: current()?.device().profile().multiprocessors };
        put(affinity, CUexecAffinityParam { type_: kind, param: CUexecAffinityParam_st__bindgen_ty_1 { smCount } })
    }

    #[order(initialised, context)]
    fn cuCtxResetPersistingL2Cache() {
        current().map(drop)
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        current()?;
        put_if(least, LEAST);
        put_if(greatest, GREATEST);
        Ok(())
    }
}
