//! Tensor maps, which tell tensor copies how a tensor lies in memory.

use crate::ffi::api;
use crate::pointers::{Array, Out, element, get, put};
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
/// The first ones that walk along W alone, swizzle larger atoms and copy elements of less than a byte.
const LATER: u16 = 100;

/// Pixels that the mode for groups of 32 takes, whatever is asked for.
const GROUPED: cuuint32_t = 128;

/// What the current context's device is.
fn sm() -> Result<u16> {
    Ok(current()?.device().profile().sm)
}

/// A list of the program's.
fn list<T: Copy>(values: Array<T>) -> Result<Vec<T>> {
    (0..values.count()).map(|index| element(values, index)).collect()
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
    /// There is a value for each dimension, strides one fewer.
    fn new(
        ty: CUtensorMapDataType,
        rank: cuuint32_t,
        address: Out<c_void>,
        [sizes, strides]: [Array<cuuint64_t>; 2],
        element_strides: Array<cuuint32_t>,
        choices: &Choices,
    ) -> Result<Self> {
        if sm()? < SINCE {
            return Err(Error::NotSupported);
        }
        let later = sm()? >= LATER;
        let rank = rank as usize;
        if !(1..=MAX_RANK).contains(&rank) {
            return Err(Error::InvalidValue);
        }
        // No strides are a pointer all the same, as on an H200.
        if strides.is_null() {
            return Err(Error::InvalidValue);
        }
        let (sizes, strides, element_strides) = (list(sizes)?, list(strides)?, list(element_strides)?);
        Ok(Self {
            ty: choice(&DataType::ALL[..if later { 16 } else { 13 }], ty)?,
            address: address.addr() as u64,
            sizes,
            strides,
            element_strides,
            interleave: choice(
                &[Interleave::None, Interleave::Bytes16, Interleave::Bytes32],
                choices.interleave,
            )?,
            swizzle: choice(&Swizzle::ALL[..if later { 7 } else { 4 }], choices.swizzle)?,
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
fn put_map(out: Out<CUtensorMap>, map: std::result::Result<TensorMap, TensorMapError>) -> Result<()> {
    let bytes = map.map_err(refused)?.to_bytes();
    let mut opaque = [0; BYTES / 8];
    for (word, bytes) in opaque.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    put(out, CUtensorMap { opaque })
}

api! {
    fn cuTensorMapEncodeTiled(
        out: *mut CUtensorMap,
        ty: CUtensorMapDataType,
        rank: cuuint32_t,
        address: *mut c_void,
        #[elements(rank)] sizes: *const cuuint64_t,
        #[elements(rank.saturating_sub(1))] strides: *const cuuint64_t,
        #[elements(rank)] box_sizes: *const cuuint32_t,
        #[elements(rank)] element_strides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        promotion: CUtensorMapL2promotion,
        fill: CUtensorMapFloatOOBfill,
    ) {
        let choices = Choices { interleave, swizzle, promotion, fill };
        let described = Described::new(ty, rank, address, [sizes, strides], element_strides, &choices)?;
        put_map(out, TensorMap::tiled(&described.tensor(), &list(box_sizes)?))
    }

    fn cuTensorMapEncodeIm2col(
        out: *mut CUtensorMap,
        ty: CUtensorMapDataType,
        rank: cuuint32_t,
        address: *mut c_void,
        #[elements(rank)] sizes: *const cuuint64_t,
        #[elements(rank.saturating_sub(1))] strides: *const cuuint64_t,
        #[elements(rank.saturating_sub(2))] lower: *const c_int,
        #[elements(rank.saturating_sub(2))] upper: *const c_int,
        channels: cuuint32_t,
        pixels: cuuint32_t,
        #[elements(rank)] element_strides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        promotion: CUtensorMapL2promotion,
        fill: CUtensorMapFloatOOBfill,
    ) {
        let choices = Choices { interleave, swizzle, promotion, fill };
        let described = Described::new(ty, rank, address, [sizes, strides], element_strides, &choices)?;
        let (lower, upper) = (list(lower)?, list(upper)?);
        let column = Im2col { lower: &lower, upper: &upper, channels, pixels };
        put_map(out, TensorMap::im2col(&described.tensor(), &column))
    }

    fn cuTensorMapEncodeIm2colWide(
        out: *mut CUtensorMap,
        ty: CUtensorMapDataType,
        rank: cuuint32_t,
        address: *mut c_void,
        #[elements(rank)] sizes: *const cuuint64_t,
        #[elements(rank.saturating_sub(1))] strides: *const cuuint64_t,
        lower: c_int,
        upper: c_int,
        channels: cuuint32_t,
        pixels: cuuint32_t,
        #[elements(rank)] element_strides: *const cuuint32_t,
        interleave: CUtensorMapInterleave,
        mode: CUtensorMapIm2ColWideMode,
        swizzle: CUtensorMapSwizzle,
        promotion: CUtensorMapL2promotion,
        fill: CUtensorMapFloatOOBfill,
    ) {
        let choices = Choices { interleave, swizzle, promotion, fill };
        let described = Described::new(ty, rank, address, [sizes, strides], element_strides, &choices)?;
        let grouped = choice(&[false, true], mode)?;
        let swizzles = [Swizzle::Bytes64, Swizzle::Bytes128, Swizzle::Bytes128Atom32];
        if sm()? < LATER || !swizzles.contains(&described.swizzle) {
            return Err(Error::InvalidValue);
        }
        let pixels = if grouped { GROUPED } else { pixels };
        let column = Im2col { lower: &[lower], upper: &[upper], channels, pixels };
        put_map(out, TensorMap::im2col_wide(&described.tensor(), &column))
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
