//! Streams.

use crate::ffi::api;
use crate::pointers::{Opaque, Out, put, put_if};
use crate::state::{EVENTS, OwnedStream, STREAMS, Table, current, stream};
use crate::sys::*;
use driver::host_call::HostCall;
use driver::stream::Kind;
use driver::{Context, Error, Result};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::Arc;

fn create(out: Out<CUstream>, flags: c_uint, priority: c_int) -> Result<()> {
    if flags & !CU_STREAM_NON_BLOCKING != 0 || out.is_null() {
        return Err(Error::InvalidValue);
    }
    let context = current()?;
    let stream = context.create_stream(flags & CU_STREAM_NON_BLOCKING != 0, priority)?;
    let id = stream.id();
    put(out, STREAMS.insert(id, Arc::new(OwnedStream { context, stream })))
}

api! {
    fn cuStreamCreate(out: *mut CUstream, flags: c_uint) {
        create(out, flags, 0)
    }

    fn cuStreamCreateWithPriority(out: *mut CUstream, flags: c_uint, priority: c_int) {
        create(out, flags, priority)
    }

    #[order(handle(on), initialised)]
    fn cuStreamDestroy_v2(on: CUstream) {
        let gone = STREAMS.remove(on)?;
        crate::api::stream_attribute::forget(&gone.stream);
        gone.context.destroy_stream(&gone.stream);
        Ok(())
    }

    fn cuStreamSynchronize(on: CUstream) {
        let (context, stream) = stream(on)?;
        context.synchronize_stream(&stream)
    }

    fn cuStreamQuery(on: CUstream) {
        let (context, stream) = stream(on)?;
        context.query_stream(&stream)
    }

    #[order(initialised, handle(event))]
    fn cuStreamWaitEvent(on: CUstream, event: CUevent, flags: c_uint) {
        if flags & !CU_EVENT_WAIT_EXTERNAL != 0 {
            return Err(Error::InvalidValue);
        }
        let (context, stream) = stream(on)?;
        context.wait(&EVENTS.get(event)?, &stream, flags & CU_EVENT_WAIT_EXTERNAL != 0)
    }

    fn cuStreamAddCallback(on: CUstream, call: CUstreamCallback, argument: *mut c_void, flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let call = call.ok_or(Error::InvalidValue)?;
        let (handle, argument) = (Opaque(on.cast()), Opaque(argument.raw()));
        let run = move || {
            let (Opaque(handle), Opaque(argument)) = { (handle, argument) };
            // SAFETY: the program asked for this call.
            unsafe { call(handle.cast(), CUDA_SUCCESS, argument) }
        };
        let (context, stream) = stream(on)?;
        // A graph may not have such a function.
        context.refuse_capture(&stream)?;
        let call = HostCall { function: 0, argument: 0, call: Arc::new(run) };
        context.submit(&stream, call)
    }

    #[order(initialised, given(flags), uncaptured(on))]
    fn cuStreamGetFlags(on: CUstream, flags: *mut c_uint) {
        let (_, stream) = stream(on)?;
        put(flags, if stream.kind() == Kind::NonBlocking { CU_STREAM_NON_BLOCKING } else { 0 })
    }

    fn cuStreamGetPriority(on: CUstream, priority: *mut c_int) {
        put(priority, stream(on)?.1.priority())
    }

    #[order(initialised, given(id), uncaptured(on))]
    fn cuStreamGetId(on: CUstream, id: *mut c_ulonglong) {
        put(id, stream(on)?.1.id().0)
    }

    fn cuStreamGetCtx(on: CUstream, out: *mut CUcontext) {
        put(out, Table::<Context, CUctx_st>::handle(stream(on)?.0.id()))
    }

    // There are no green contexts.
    fn cuStreamGetCtx_v2(on: CUstream, out: *mut CUcontext, green: *mut CUgreenCtx) {
        put_if(out, Table::<Context, CUctx_st>::handle(stream(on)?.0.id()));
        put_if(green, std::ptr::null_mut());
        Ok(())
    }

    fn cuStreamGetGreenCtx(on: CUstream, green: *mut CUgreenCtx) {
        stream(on)?;
        put(green, std::ptr::null_mut())
    }

    #[order(initialised, given(dev), uncaptured(on))]
    fn cuStreamGetDevice(on: CUstream, dev: *mut CUdevice) {
        put(dev, stream(on)?.0.device().ordinal() as CUdevice)
    }
}
