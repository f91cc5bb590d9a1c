//! Tensor maps as the driver encodes them.

use crate::driver::{Error, check};
use crate::gpu::Gpu;
use driver_api::cu;
use driver_api::sys::*;
use std::ffi::c_uint;
use std::ptr::without_provenance_mut;

/// The arguments of a tensor map, numbers as `cuda.h` has them.
#[derive(Clone, Copy, Debug)]
pub struct TensorMap<'a> {
    /// `CUtensorMapDataType`.
    pub ty: c_uint,
    /// The tensor in global memory.
    pub address: u64,
    /// Elements along each dimension.
    pub sizes: &'a [u64],
    /// Bytes between elements, of each dimension but the first.
    pub strides: &'a [u64],
    /// Of how many elements one is taken, by dimension.
    pub element_strides: &'a [u32],
    /// `CUtensorMapInterleave`.
    pub interleave: c_uint,
    /// `CUtensorMapSwizzle`.
    pub swizzle: c_uint,
    /// `CUtensorMapL2promotion`.
    pub promotion: c_uint,
    /// `CUtensorMapFloatOOBfill`.
    pub fill: c_uint,
    /// What a copy takes.
    pub mode: TensorMode<'a>,
}

/// What a copy takes of a tensor.
#[derive(Clone, Copy, Debug)]
pub enum TensorMode<'a> {
    /// A box of so many elements along each dimension.
    Tiled(&'a [u32]),
    /// Columns of pixels within a bounding box.
    Im2col {
        /// The lower corner of the box.
        lower: &'a [i32],
        /// The upper corner, counted from the tensor's end.
        upper: &'a [i32],
        /// Channels of a pixel.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
    },
}

/// The most dimensions of a tensor.
const MAX_RANK: usize = 5;

/// As many values as the driver reads at most, whatever the rank is.
fn filled<T: Copy + Default>(values: &[T]) -> [T; MAX_RANK] {
    let mut all = [T::default(); MAX_RANK];
    all.iter_mut().zip(values).for_each(|(to, &from)| *to = from);
    all
}

impl Gpu {
    /// The object of a tensor map.
    ///
    /// # Errors
    /// If the driver refuses the arguments.
    pub fn tensor_map(&self, map: &TensorMap<'_>) -> Result<[u8; 128], Error> {
        if map.sizes.len() > MAX_RANK {
            return Err(Error::Argument(format!("a tensor of {} dimensions", map.sizes.len())));
        }
        let mut object = CUtensorMap { opaque: [0; 16] };
        let rank = map.sizes.len() as c_uint;
        let address = without_provenance_mut(map.address as usize);
        let (sizes, strides) = (filled(map.sizes), filled(map.strides));
        let element_strides = filled(map.element_strides);
        let TensorMap { ty, interleave, swizzle, promotion, fill, .. } = *map;
        match map.mode {
            TensorMode::Tiled(tile) => {
                let tile = filled(tile);
                // SAFETY: the driver reads as many numbers as the rank says, which is at most that of the arrays, and writes one object.
                let status = unsafe {
                    cu::cuTensorMapEncodeTiled(
                        &mut object,
                        ty,
                        rank,
                        address,
                        sizes.as_ptr(),
                        strides.as_ptr(),
                        tile.as_ptr(),
                        element_strides.as_ptr(),
                        interleave,
                        swizzle,
                        promotion,
                        fill,
                    )
                };
                check("cuTensorMapEncodeTiled", status)?;
            }
            TensorMode::Im2col { lower, upper, channels, pixels } => {
                let (lower, upper) = (filled(lower), filled(upper));
                // SAFETY: the same.
                let status = unsafe {
                    cu::cuTensorMapEncodeIm2col(
                        &mut object,
                        ty,
                        rank,
                        address,
                        sizes.as_ptr(),
                        strides.as_ptr(),
                        lower.as_ptr(),
                        upper.as_ptr(),
                        channels,
                        pixels,
                        element_strides.as_ptr(),
                        interleave,
                        swizzle,
                        promotion,
                        fill,
                    )
                };
                check("cuTensorMapEncodeIm2col", status)?;
            }
        }
        let mut bytes = [0; 128];
        for (to, word) in bytes.chunks_exact_mut(8).zip(object.opaque) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Ok(bytes)
    }
}
