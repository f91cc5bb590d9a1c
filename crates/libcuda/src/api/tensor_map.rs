//! Tensor maps, which tell tensor copies how a tensor lies in memory.

use crate::api::module::element;
use crate::border::api;
use crate::pointers::{get, put};
use crate::state::current;
use crate::sys::*;
use driver::{Error, Result};
use machine::tensormap::{
    BYTES, DataType, Fill, Im2col, Interleave, MAX_RANK, Promotion, Swizzle, Tensor, TensorMap,
    TensorMapError,
};
use std::ffi::{c_int, c_void};

/// The first devices with tensor copies.
pub(crate) const SINCE: u16 = 90;

/// A list of the program's.
///
/// # Safety
/// The pointer is null or points to as many values.
unsafe fn list<T: Copy>(values: *const T, count: usize) -> Result<Vec<T>> {
    // SAFETY: by contract.
    (0..count).map(|index| unsafe { element(values, index) }).collect()
}

/// What both kinds of maps are made of.
struct Described {
    ty: DataType,
    address: u64,
    sizes: Vec<u64>,
    strides: Vec<u64>,
    element_strides: Vec<u32>,
    interleave: Interleave,
    swizzle: Swizzle,
    promotion: Promotion,
    fill: Fill,
}

/// Numbers that stand for what `cuda.h` enumerates.
struct Choices {
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    promotion: CUtensorMapL2promotion,
    fill: CUtensorMapFloatOOBfill,
}

/// The value with a number; those that only later devices have are none.
fn choice<T: Copy>(values: &[T], number: u32) -> Result<T> {
    values.get(number as usize).copied().ok_or(Error::InvalidValue)
}

impl Described {
    /// # Safety
    /// The pointers are null or have a value for each dimension, strides one fewer.
    unsafe fn new(
        ty: CUtensorMapDataType,
        rank: cuuint32_t,
        address: *mut c_void,
        sizes: *const cuuint64_t,
        strides: *const cuuint64_t,
        element_strides: *const cuuint32_t,
        choices: &Choices,
    ) -> Result<Self> {
        if current()?.device().profile().sm < SINCE {
            return Err(Error::NotSupported);
        }
        let rank = rank as usize;
        if !(1..=MAX_RANK).contains(&rank) {
            return Err(Error::InvalidValue);
        }
        // No strides are a pointer all the same, as on an H200.
        if strides.is_null() {
            return Err(Error::InvalidValue);
        }
        // SAFETY: by contract.
        let (sizes, strides, element_strides) =
            unsafe { (list(sizes, rank)?, list(strides, rank - 1)?, list(element_strides, rank)?) };
        Ok(Self {
            ty: choice(&DataType::ALL, ty)?,
            address: address.addr() as u64,
            sizes,
            strides,
            element_strides,
            interleave: choice(
                &[Interleave::None, Interleave::Bytes16, Interleave::Bytes32],
                choices.interleave,
            )?,
            swizzle: choice(
                &[Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128],
                choices.swizzle,
            )?,
            promotion: choice(
                &[Promotion::None, Promotion::Bytes64, Promotion::Bytes128, Promotion::Bytes256],
                choices.promotion,
            )?,
            fill: choice(&[Fill::Zeros, Fill::Nan], choices.fill)?,
        })
    }

    fn tensor(&self) -> Tensor<'_> {
        let Self { ty, address, interleave, swizzle, promotion, fill, .. } = *self;
        let (sizes, strides, element_strides) = (&self.sizes, &self.strides, &self.element_strides);
        Tensor { ty, address, sizes, strides, element_strides, interleave, swizzle, promotion, fill }
    }
}

/// CUDA has one error for all that can be wrong; the log has the reason.
fn refused(error: TensorMapError) -> Error {
    log::info!("no tensor map: {error}");
    Error::InvalidValue
}

/// A map where the program wants it. The type is aligned to 64 bytes, but programs have it elsewhere, and an H200's driver
/// does not look at the address.
///
/// # Safety
/// As [`put`].
unsafe fn put_map(out: *mut CUtensorMap, map: std::result::Result<TensorMap, TensorMapError>) -> Result<()> {
    let bytes = map.map_err(refused)?.to_bytes();
    let mut opaque = [0; BYTES / 8];
    for (word, bytes) in opaque.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    // SAFETY: by contract.
    unsafe { put(out, CUtensorMap { opaque }) }
}

api! {
    fn cuTensorMapEncodeTiled(
        out: *mut CUtensorMap,
        ty: CUtensorMapDataType,
        rank: cuuint32_t,
        address: *mut c_void,
        sizes: *const cuuint64_t,
        strides: *const cuuint64_t,
        box_sizes: *const cuuint32_t,
        element_strides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        promotion: CUtensorMapL2promotion,
        fill: CUtensorMapFloatOOBfill,
    ) {
        let choices = Choices { interleave, swizzle, promotion, fill };
        let described = Described::new(ty, rank, address, sizes, strides, element_strides, &choices)?;
        put_map(out, TensorMap::tiled(&described.tensor(), &list(box_sizes, rank as usize)?))
    }

    fn cuTensorMapEncodeIm2col(
        out: *mut CUtensorMap,
        ty: CUtensorMapDataType,
        rank: cuuint32_t,
        address: *mut c_void,
        sizes: *const cuuint64_t,
        strides: *const cuuint64_t,
        lower: *const c_int,
        upper: *const c_int,
        channels: cuuint32_t,
        pixels: cuuint32_t,
        element_strides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        promotion: CUtensorMapL2promotion,
        fill: CUtensorMapFloatOOBfill,
    ) {
        let choices = Choices { interleave, swizzle, promotion, fill };
        let described = Described::new(ty, rank, address, sizes, strides, element_strides, &choices)?;
        let spatial = (rank as usize).saturating_sub(2);
        let (lower, upper) = (list(lower, spatial)?, list(upper, spatial)?);
        let column = Im2col { lower: &lower, upper: &upper, channels, pixels };
        put_map(out, TensorMap::im2col(&described.tensor(), &column))
    }

    #[order(initialised, given(address), context)]
    fn cuTensorMapReplaceAddress(map: *mut CUtensorMap, address: *mut c_void) {
        current()?;
        let mut bytes = [0; BYTES];
        for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(get(map)?.opaque) {
            *bytes = word.to_le_bytes();
        }
        let mut changed = TensorMap::from_bytes(&bytes);
        let address = changed.set_global_address(address.addr() as u64);
        put_map(map, address.map(|()| changed))
    }
}
