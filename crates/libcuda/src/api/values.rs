//! Values in memory as signals between streams.

use crate::ffi::api;
use crate::pointers::{Array, element};
use crate::state::stream;
use crate::sys::*;
use driver::values::{Condition, MOST_OPERATIONS, ValueOperation};
use driver::{Error, Result};
use std::ffi::c_uint;

fn condition(flags: c_uint) -> Result<Condition> {
    // A flush asks for an order that every wait here has.
    match flags & !CU_STREAM_WAIT_VALUE_FLUSH {
        CU_STREAM_WAIT_VALUE_GEQ => Ok(Condition::GreaterOrEqual),
        CU_STREAM_WAIT_VALUE_EQ => Ok(Condition::Equal),
        CU_STREAM_WAIT_VALUE_AND => Ok(Condition::And),
        CU_STREAM_WAIT_VALUE_NOR => Ok(Condition::Nor),
        _ => Err(Error::InvalidValue),
    }
}

/// An operation of a batch; `None` for those that only ask for an order which there is anyway.
pub(crate) fn operation(p: &CUstreamBatchMemOpParams) -> Result<Option<ValueOperation>> {
    // SAFETY: all members begin with the operation, which says which of them is meant; all of them are integers.
    unsafe {
        let (wide, waits) = match p.operation {
            CU_STREAM_MEM_OP_WAIT_VALUE_32 => (false, true),
            CU_STREAM_MEM_OP_WRITE_VALUE_32 => (false, false),
            CU_STREAM_MEM_OP_WAIT_VALUE_64 => (true, true),
            CU_STREAM_MEM_OP_WRITE_VALUE_64 => (true, false),
            CU_STREAM_MEM_OP_BARRIER | CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES => return Ok(None),
            _ => return Err(Error::InvalidValue),
        };
        if waits {
            let w = p.waitValue;
            let value = if wide { w.__bindgen_anon_1.value64 } else { w.__bindgen_anon_1.value.into() };
            return Ok(Some(ValueOperation {
                address: w.address,
                value,
                wide,
                wait: Some(condition(w.flags)?),
            }));
        }
        let w = p.writeValue;
        let value = if wide { w.__bindgen_anon_1.value64 } else { w.__bindgen_anon_1.value.into() };
        Ok(Some(ValueOperation { address: w.address, value, wide, wait: None }))
    }
}

/// An operation for C.
pub(crate) fn shown(operation: &ValueOperation) -> CUstreamBatchMemOpParams {
    let ValueOperation { address, value, wide, wait } = *operation;
    let mut p = CUstreamBatchMemOpParams { pad: [0; 6] };
    match wait {
        Some(condition) => {
            p.waitValue = CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st {
                operation: if wide { CU_STREAM_MEM_OP_WAIT_VALUE_64 } else { CU_STREAM_MEM_OP_WAIT_VALUE_32 },
                address,
                __bindgen_anon_1:
                    CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1 {
                        value64: value,
                    },
                flags: match condition {
                    Condition::GreaterOrEqual => CU_STREAM_WAIT_VALUE_GEQ,
                    Condition::Equal => CU_STREAM_WAIT_VALUE_EQ,
                    Condition::And => CU_STREAM_WAIT_VALUE_AND,
                    Condition::Nor => CU_STREAM_WAIT_VALUE_NOR,
                },
                alias: 0,
            };
        }
        None => {
            p.writeValue = CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st {
                operation: if wide {
                    CU_STREAM_MEM_OP_WRITE_VALUE_64
                } else {
                    CU_STREAM_MEM_OP_WRITE_VALUE_32
                },
                address,
                __bindgen_anon_1:
                    CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1 {
                        value64: value,
                    },
                flags: CU_STREAM_WRITE_VALUE_DEFAULT,
                alias: 0,
            };
        }
    }
    p
}

/// The operations of a batch.
pub(crate) fn operations(array: Array<CUstreamBatchMemOpParams>) -> Result<Vec<ValueOperation>> {
    if array.count() > MOST_OPERATIONS || (array.count() > 0 && array.is_null()) {
        return Err(Error::InvalidValue);
    }
    let mut operations = Vec::new();
    for index in 0..array.count() {
        operations.extend(operation(&element(array, index)?)?);
    }
    Ok(operations)
}

fn operate(on: CUstream, operation: ValueOperation) -> Result<()> {
    let (context, stream) = stream(on)?;
    context.operate_on_values(vec![operation], &stream)
}

api! {
    fn cuStreamWriteValue32_v2(on: CUstream, address: CUdeviceptr, value: cuuint32_t, flags: c_uint) {
        if flags & !CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER != 0 {
            return Err(Error::InvalidValue);
        }
        operate(on, ValueOperation { address, value: value.into(), wide: false, wait: None })
    }

    fn cuStreamWriteValue64_v2(on: CUstream, address: CUdeviceptr, value: cuuint64_t, flags: c_uint) {
        if flags & !CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER != 0 {
            return Err(Error::InvalidValue);
        }
        operate(on, ValueOperation { address, value, wide: true, wait: None })
    }

    fn cuStreamWaitValue32_v2(on: CUstream, address: CUdeviceptr, value: cuuint32_t, flags: c_uint) {
        let wait = Some(condition(flags)?);
        operate(on, ValueOperation { address, value: value.into(), wide: false, wait })
    }

    fn cuStreamWaitValue64_v2(on: CUstream, address: CUdeviceptr, value: cuuint64_t, flags: c_uint) {
        operate(on, ValueOperation { address, value, wide: true, wait: Some(condition(flags)?) })
    }

    #[order(initialised, without(flags))]
    fn cuStreamBatchMemOp_v2(
        on: CUstream,
        count: c_uint,
        #[elements(count)]
        array: *mut CUstreamBatchMemOpParams,
        flags: c_uint,
    ) {
        let (context, stream) = stream(on)?;
        context.operate_on_values(operations(array.input())?, &stream)
    }
}
