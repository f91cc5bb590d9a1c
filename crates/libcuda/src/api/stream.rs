//! Streams.

use crate::border::api;
use crate::pointers::{Opaque, put, put_if};
use crate::state::{EVENTS, OwnedStream, STREAMS, Table, current, stream};
use crate::sys::*;
use driver::stream::{Kind, Operation};
use driver::{Context, Error, Result};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::sync::Arc;

/// # Safety
/// As [`put`].
unsafe fn create(out: *mut CUstream, flags: c_uint, priority: c_int) -> Result<()> {
    if flags & !CU_STREAM_NON_BLOCKING != 0 || out.is_null() {
        return Err(Error::InvalidValue);
    }
    let context = current()?;
    let stream = context.create_stream(flags & CU_STREAM_NON_BLOCKING != 0, priority)?;
    let id = stream.id();
    // SAFETY: by contract.
    unsafe { put(out, STREAMS.insert(id, Arc::new(OwnedStream { context, stream }))) }
}

/// A function of the program's that is told how its stream is.
struct Callback {
    call: unsafe extern "C" fn(CUstream, CUresult, *mut c_void),
    stream: Opaque,
    argument: Opaque,
}

impl Callback {
    fn run(self) {
        // SAFETY: the program asked for this call.
        unsafe { (self.call)(self.stream.0.cast(), CUDA_SUCCESS, self.argument.0) }
    }
}

api! {
    fn cuStreamCreate(out: *mut CUstream, flags: c_uint) {
        create(out, flags, 0)
    }

    fn cuStreamCreateWithPriority(out: *mut CUstream, flags: c_uint, priority: c_int) {
        create(out, flags, priority)
    }

    fn cuStreamDestroy_v2(on: CUstream) {
        let gone = STREAMS.remove(on)?;
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

    fn cuStreamWaitEvent(on: CUstream, event: CUevent, _flags: c_uint) {
        let (context, stream) = stream(on)?;
        match EVENTS.get(event)?.marker() {
            Some(marker) if !marker.passed() => context.submit(&stream, Operation::Wait(marker)),
            _ => context.usable(),
        }
    }

    fn cuStreamAddCallback(on: CUstream, call: CUstreamCallback, argument: *mut c_void, flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let call = call.ok_or(Error::InvalidValue)?;
        let callback = Callback { call, stream: Opaque(on.cast()), argument: Opaque(argument) };
        let (context, stream) = stream(on)?;
        context.submit(&stream, Operation::Call(Box::new(move || callback.run())))
    }

    fn cuStreamGetFlags(on: CUstream, flags: *mut c_uint) {
        let (_, stream) = stream(on)?;
        put(flags, if stream.kind() == Kind::NonBlocking { CU_STREAM_NON_BLOCKING } else { 0 })
    }

    fn cuStreamGetPriority(on: CUstream, priority: *mut c_int) {
        put(priority, stream(on)?.1.priority())
    }

    fn cuStreamGetId(on: CUstream, id: *mut c_ulonglong) {
        put(id, stream(on)?.1.id().0)
    }

    fn cuStreamGetCtx(on: CUstream, out: *mut CUcontext) {
        put(out, Table::<Context, CUctx_st>::handle(stream(on)?.0.id()))
    }

    fn cuStreamGetDevice(on: CUstream, dev: *mut CUdevice) {
        put(dev, stream(on)?.0.device().ordinal() as CUdevice)
    }

    fn cuStreamIsCapturing(on: CUstream, status: *mut CUstreamCaptureStatus) {
        stream(on)?;
        put(status, CU_STREAM_CAPTURE_STATUS_NONE)
    }

    fn cuStreamGetCaptureInfo_v3(
        on: CUstream,
        status: *mut CUstreamCaptureStatus,
        id: *mut cuuint64_t,
        _graph: *mut CUgraph,
        _dependencies: *mut *const CUgraphNode,
        _edges: *mut *const CUgraphEdgeData,
        count: *mut usize,
    ) {
        stream(on)?;
        put_if(id, 0);
        put_if(count, 0);
        put(status, CU_STREAM_CAPTURE_STATUS_NONE)
    }
}
