//! Many copies by one call. They are done in the order in which they stand, which is one of those that CUDA allows.

use crate::api::transfer::{array_end, copy, pointer_end};
use crate::ffi::api;
use crate::pointers::{Array, Out, Room, element, put_if};
use crate::state::{ARRAYS, is_legacy};
use crate::sys::*;
use driver::copy::{End, Request, Side};
use driver::{Error, Result};
use std::ffi::c_ulonglong;

/// A copy that cannot be done, and why.
struct Refused {
    /// Which one; none in particular, if all of the call is wrong.
    at: Option<usize>,
    error: Error,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { at: None, error }
    }
}

/// What came of copies.
type Done = std::result::Result<(), Refused>;

/// When the source is read and what is done besides: whatever is asked for holds, since what may change is read before
/// the call returns.
fn accept(order: CUmemcpySrcAccessOrder, flags: std::ffi::c_uint) -> Result<()> {
    let known = (CU_MEMCPY_SRC_ACCESS_ORDER_STREAM..=CU_MEMCPY_SRC_ACCESS_ORDER_ANY).contains(&order)
        && flags & !CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE == 0;
    if known { Ok(()) } else { Err(Error::InvalidValue) }
}

/// Does copies one after the other.
fn each(count: usize, on: CUstream, request: impl Fn(usize) -> Result<Request>) -> Done {
    if count == 0 || is_legacy(on) {
        return Err(Error::InvalidValue.into());
    }
    (0..count).try_for_each(|index| {
        let done = request(index).and_then(|request| copy(request, on, false));
        done.map_err(|error| Refused { at: Some(index), error })
    })
}

/// Copies with attributes: the one with index `i` holds from the copy `first[i]` on.
struct Batch {
    to: Array<CUdeviceptr>,
    from: Array<CUdeviceptr>,
    sizes: Array<usize>,
    attributes: Array<CUmemcpyAttributes>,
    first: Array<usize>,
}

impl Batch {
    fn new(
        [to, from]: [Room<CUdeviceptr>; 2],
        sizes: Room<usize>,
        attributes: Room<CUmemcpyAttributes>,
        first: Room<usize>,
    ) -> Self {
        let (to, from, sizes) = (to.input(), from.input(), sizes.input());
        Self { to, from, sizes, attributes: attributes.input(), first: first.input() }
    }

    fn copy(&self, on: CUstream) -> Done {
        let mut before = None;
        for index in 0..self.attributes.count() {
            let (attribute, first) = (element(self.attributes, index)?, element(self.first, index)?);
            let ascending = before.map_or(first == 0, |before| before < first);
            if !ascending || first >= self.to.count() {
                return Err(Error::InvalidValue.into());
            }
            before = Some(first);
            accept(attribute.srcAccessOrder, attribute.flags)?;
        }
        if before.is_none() {
            return Err(Error::InvalidValue.into());
        }
        each(self.to.count(), on, |index| {
            let (to, from) = (element(self.to, index)?, element(self.from, index)?);
            let size = element(self.sizes, index)?;
            let end = |address| End::linear(Side::Unified, address);
            Ok(Request { to: end(to), from: end(from), extent: [size as u64, 1, 1] })
        })
    }
}

/// Bytes of an element of an operand; memory has none of its own.
///
/// # Safety
/// The operand's type says which member of its union there is.
unsafe fn element_bytes(operand: &CUmemcpy3DOperand) -> Result<Option<usize>> {
    match operand.type_ {
        CU_MEMCPY_OPERAND_TYPE_POINTER => Ok(None),
        // SAFETY: by contract.
        CU_MEMCPY_OPERAND_TYPE_ARRAY => unsafe {
            Ok(Some(ARRAYS.get(operand.op.array.array)?.texel_bytes() as usize))
        },
        _ => Err(Error::InvalidValue),
    }
}

/// One end of a copy in three dimensions, of so many elements.
///
/// # Safety
/// As [`element_bytes`].
unsafe fn end(operand: &CUmemcpy3DOperand, bytes: usize, extent: [usize; 3]) -> Result<End> {
    // SAFETY: by contract.
    unsafe {
        if operand.type_ == CU_MEMCPY_OPERAND_TYPE_ARRAY {
            let CUoffset3D_st { x, y, z } = operand.op.array.offset;
            let x = x.checked_mul(bytes).ok_or(Error::InvalidValue)?;
            return array_end(operand.op.array.array, [x, y, z], extent);
        }
        let memory = operand.op.ptr;
        let pitch = memory.rowLength.checked_mul(bytes).ok_or(Error::InvalidValue)?;
        pointer_end(Side::Unified, memory.ptr, [0; 3], [pitch, memory.layerHeight], extent)
    }
}

/// # Safety
/// As [`element_bytes`] for both operands.
unsafe fn request(operation: &CUDA_MEMCPY3D_BATCH_OP) -> Result<Request> {
    accept(operation.srcAccessOrder, operation.flags)?;
    let CUextent3D_st { width, height, depth } = operation.extent;
    if [width, height, depth].contains(&0) {
        return Err(Error::InvalidValue);
    }
    // SAFETY: by contract.
    unsafe {
        let bytes = match (element_bytes(&operation.src)?, element_bytes(&operation.dst)?) {
            (Some(one), Some(other)) if one != other => return Err(Error::InvalidValue),
            (one, other) => one.or(other).unwrap_or(1),
        };
        let extent = [width.checked_mul(bytes).ok_or(Error::InvalidValue)?, height, depth];
        let (to, from) = (end(&operation.dst, bytes, extent)?, end(&operation.src, bytes, extent)?);
        Ok(Request { to, from, extent: extent.map(|extent| extent as u64) })
    }
}

fn copy_3d(operations: Array<CUDA_MEMCPY3D_BATCH_OP>, flags: c_ulonglong, on: CUstream) -> Done {
    if flags != 0 {
        return Err(Error::InvalidValue.into());
    }
    // SAFETY: they are the program's, whose types say which members of their unions there are.
    each(operations.count(), on, |index| unsafe { request(&element(operations, index)?) })
}

/// The result of a call that tells which copy was refused.
fn tell(done: Done, at: Out<usize>) -> Result<()> {
    done.map_err(|refused| {
        put_if(at, refused.at.unwrap_or(usize::MAX));
        refused.error
    })
}

api! {
    #[order(not_legacy(on), usable)]
    fn cuMemcpyBatchAsync_v2(
        #[elements(count)]
        to: *mut CUdeviceptr,
        #[elements(count)]
        from: *mut CUdeviceptr,
        #[elements(count)]
        sizes: *mut usize,
        count: usize,
        #[elements(attribute_count)]
        attributes: *mut CUmemcpyAttributes,
        #[elements(attribute_count)]
        first: *mut usize,
        attribute_count: usize,
        on: CUstream,
    ) {
        let batch = Batch::new([to, from], sizes, attributes, first);
        batch.copy(on).map_err(|refused| refused.error)
    }

    #[order(not_legacy(on), usable)]
    fn cuMemcpy3DBatchAsync_v2(
        count: usize,
        #[elements(count)]
        operations: *mut CUDA_MEMCPY3D_BATCH_OP,
        flags: c_ulonglong,
        on: CUstream,
    ) {
        copy_3d(operations.input(), flags, on).map_err(|refused| refused.error)
    }
}

// The forms of CUDA 12.8, which tell the copy that was refused.
api! {
    #[order(not_legacy(on), usable)]
    fn cuMemcpyBatchAsync(
        #[elements(count)]
        to: *mut CUdeviceptr,
        #[elements(count)]
        from: *mut CUdeviceptr,
        #[elements(count)]
        sizes: *mut usize,
        count: usize,
        #[elements(attribute_count)]
        attributes: *mut CUmemcpyAttributes,
        #[elements(attribute_count)]
        first: *mut usize,
        attribute_count: usize,
        failed: *mut usize,
        on: CUstream,
    ) {
        let batch = Batch::new([to, from], sizes, attributes, first);
        tell(batch.copy(on), failed)
    }

    #[order(not_legacy(on), usable)]
    fn cuMemcpy3DBatchAsync(
        count: usize,
        #[elements(count)]
        operations: *mut CUDA_MEMCPY3D_BATCH_OP,
        failed: *mut usize,
        flags: c_ulonglong,
        on: CUstream,
    ) {
        tell(copy_3d(operations.input(), flags, on), failed)
    }
}
