//! Events.

use crate::ffi::api;
use crate::pointers::put;
use crate::state::{CONTEXTS, EVENTS, current, stream};
use crate::sys::*;
use driver::Error;
use driver::event::Event;
use std::ffi::c_uint;

/// Bits that `cuEventCreate` takes.
const FLAGS: c_uint = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

api! {
    fn cuEventCreate(out: *mut CUevent, flags: c_uint) {
        let context = current()?;
        let (timed, shared) = (flags & CU_EVENT_DISABLE_TIMING == 0, flags & CU_EVENT_INTERPROCESS != 0);
        if flags & !FLAGS != 0 || out.is_null() || (timed && shared) {
            return Err(Error::InvalidValue);
        }
        let event = if shared { Event::shared(&context)? } else { Event::new(&context, timed) };
        put(out, EVENTS.insert(event.id(), event))
    }

    #[order(handle(event), initialised)]
    fn cuEventDestroy_v2(event: CUevent) {
        EVENTS.remove(event).map(drop)
    }

    fn cuEventRecord(event: CUevent, on: CUstream) {
        let event = EVENTS.get(event)?;
        let (context, stream) = stream(on)?;
        context.record(&event, &stream)
    }

    fn cuEventRecordWithFlags(event: CUevent, on: CUstream, flags: c_uint) {
        if flags & !CU_EVENT_RECORD_EXTERNAL != 0 {
            return Err(Error::InvalidValue);
        }
        let event = EVENTS.get(event)?;
        let (context, stream) = stream(on)?;
        context.record_as(&event, &stream, flags & CU_EVENT_RECORD_EXTERNAL != 0)
    }

    fn cuCtxRecordEvent(context: CUcontext, event: CUevent) {
        CONTEXTS.get(context)?.record_all(&EVENTS.get(event)?)
    }

    fn cuCtxWaitEvent(context: CUcontext, event: CUevent) {
        CONTEXTS.get(context)?.wait_all(&*EVENTS.get(event)?)
    }

    #[order(handle(event), initialised)]
    fn cuEventQuery(event: CUevent) {
        EVENTS.get(event)?.query()
    }

    #[order(handle(event), initialised)]
    fn cuEventSynchronize(event: CUevent) {
        let event = EVENTS.get(event)?;
        // That it lies in a capture is said before that there is one.
        event.usable()?;
        crate::order::no_capture()?;
        event.synchronize()
    }

    #[order(handle(start), handle(end), initialised)]
    fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: CUevent, end: CUevent) {
        let elapsed = EVENTS.get(end)?.elapsed_since(&*EVENTS.get(start)?)?;
        put(milliseconds, elapsed)
    }
}
