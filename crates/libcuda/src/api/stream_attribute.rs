//! Attributes of streams. They ask for speed, or for an order that there is anyway: they are remembered and change nothing.

use crate::ffi::api;
use crate::pointers::{get, put};
use crate::state::stream;
use crate::sys::*;
use driver::stream::Stream;
use driver::{Error, Id, Result};
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bytes of an attribute's value.
type Bytes = [c_char; 64];

/// What programs have set.
static SET: Mutex<BTreeMap<(Id, CUstreamAttrID), Bytes>> = Mutex::new(BTreeMap::new());

fn set() -> MutexGuard<'static, BTreeMap<(Id, CUstreamAttrID), Bytes>> {
    SET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Attributes that streams have besides their priority.
fn known(which: CUstreamAttrID) -> Result<()> {
    match which {
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
        | CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
        | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
        | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => Ok(()),
        _ => Err(Error::InvalidValue),
    }
}

/// A stream is gone.
pub(crate) fn forget(stream: &Stream) {
    set().retain(|(of, _), _| *of != stream.id());
}

api! {
    fn cuStreamGetAttribute(on: CUstream, which: CUstreamAttrID, value: *mut CUstreamAttrValue) {
        let (_, stream) = stream(on)?;
        if which == CU_LAUNCH_ATTRIBUTE_PRIORITY {
            let mut shown = CUstreamAttrValue { pad: [0; 64] };
            shown.priority = stream.priority();
            return put(value, shown);
        }
        known(which)?;
        let pad = set().get(&(stream.id(), which)).copied().unwrap_or([0; 64]);
        put(value, CUstreamAttrValue { pad })
    }

    fn cuStreamSetAttribute(on: CUstream, which: CUstreamAttrID, value: *const CUstreamAttrValue) {
        let (_, stream) = stream(on)?;
        known(which)?;
        set().insert((stream.id(), which), {
            // SAFETY: all members of the union lie in as many bytes.
            get(unsafe { value.cast::<Bytes>() })?
        });
        Ok(())
    }

    fn cuStreamCopyAttributes(to: CUstream, from: CUstream) {
        let (to, from) = (stream(to)?.1.id(), stream(from)?.1.id());
        let mut set = set();
        let copied = set.iter().filter(|((of, _), _)| *of == from).map(|((_, which), value)| (*which, *value));
        for (which, value) in copied.collect::<Vec<_>>() {
            set.insert((to, which), value);
        }
        Ok(())
    }
}
