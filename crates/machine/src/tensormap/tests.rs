//! Fields against their accessors, and walks against the definition of what a copy moves, element by element.

use super::{
    DataType, Direction, Field, Fill, Im2col, Interleave, MAX_RANK, Mode, Promotion, Start, Swizzle, Tensor,
    TensorMap, Walk,
};
use rand_core::RngCore;
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

/// A random number in a range.
fn pick(random: &mut Pcg32, from: i64, to: i64) -> i64 {
    from + i64::from(random.next_u32()) % (to - from + 1)
}

fn picks(random: &mut Pcg32, count: usize, from: i64, to: i64) -> Vec<i64> {
    (0..count).map(|_| pick(random, from, to)).collect()
}

/// A tensor of 4-byte elements with random sizes and padded rows.
struct Made {
    sizes: Vec<u64>,
    strides: Vec<u64>,
    steps: Vec<u32>,
}

impl Made {
    fn new(random: &mut Pcg32, rank: usize, most: i64) -> Self {
        let sizes: Vec<u64> = picks(random, rank, 1, most).into_iter().map(|n| n as u64).collect();
        let steps = picks(random, rank, 1, 3).into_iter().map(|n| n as u32).collect();
        let mut strides = Vec::new();
        let mut bytes = (sizes[0] * 4).next_multiple_of(16);
        for &size in &sizes[1..] {
            strides.push(bytes + 16 * pick(random, 0, 2) as u64);
            bytes = strides[strides.len() - 1] * size;
        }
        Self { sizes, strides, steps }
    }

    fn tensor(&self, interleave: Interleave) -> Tensor<'_> {
        Tensor {
            ty: DataType::F32,
            address: 1 << 20,
            sizes: &self.sizes,
            strides: &self.strides,
            element_strides: &self.steps,
            interleave,
            swizzle: Swizzle::None,
            promotion: Promotion::None,
            fill: Fill::Zeros,
        }
    }

    /// The address of an element, if it is in the tensor.
    fn address(&self, at: &[i64]) -> Option<u64> {
        let inside = at.iter().zip(&self.sizes).all(|(&i, &size)| i >= 0 && (i as u64) < size);
        let rows = at[1..].iter().zip(&self.strides).map(|(&i, &stride)| i as u64 * stride);
        inside.then(|| (1 << 20) + at[0] as u64 * 4 + rows.sum::<u64>())
    }
}

fn start(coordinates: &[i64], offsets: &[i64], mode: Mode) -> Start {
    let mut start = Start { rank: coordinates.len(), mode, coordinates: [0; MAX_RANK], offsets: [0; 3] };
    for (to, &from) in start.coordinates.iter_mut().zip(coordinates) {
        *to = from as i32;
    }
    for (to, &from) in start.offsets.iter_mut().zip(offsets) {
        *to = from as u16;
    }
    start
}

/// Where the 4-byte elements of a walk come from, by their place in shared memory.
fn elements(walk: Walk) -> BTreeMap<u64, Option<u64>> {
    let bytes = walk.run_bytes();
    let of_run = |run: super::Run| {
        (0..bytes).step_by(4).map(move |byte| {
            let inside = run.inside.contains(&byte).then(|| run.global.wrapping_add(byte));
            (run.shared + byte, inside)
        })
    };
    walk.flat_map(of_run).collect()
}

#[test]
fn a_box_is_walked_as_it_is_defined() {
    let mut random = Pcg32::new(1, 1);
    for _ in 0..300 {
        let rank = pick(&mut random, 1, 5) as usize;
        let made = Made::new(&mut random, rank, 9);
        let mut extents: Vec<u32> = picks(&mut random, rank, 1, 5).into_iter().map(|n| n as u32).collect();
        extents[0] *= 4;
        let map = TensorMap::tiled(&made.tensor(Interleave::None), &extents).unwrap();
        let mut from = picks(&mut random, rank, -6, 9);
        from[0] = from[0] / 4 * 4;
        let walk = map.walk(&start(&from, &[], Mode::Tile), Direction::Load).unwrap();
        // Dimension 0 has no steps. The index of an element in the tile, in mixed radix, is its place.
        let step = |d: usize| if d == 0 { 1 } else { made.steps[d] };
        let counts: Vec<u32> = (0..rank).map(|d| extents[d].div_ceil(step(d))).collect();
        let expected = (0..u64::from(counts.iter().product::<u32>())).map(|place| {
            let mut rest = place;
            let at: Vec<i64> = (0..rank)
                .map(|d| {
                    let index = rest % u64::from(counts[d]);
                    rest /= u64::from(counts[d]);
                    from[d] + index as i64 * i64::from(step(d))
                })
                .collect();
            (place * 4, made.address(&at))
        });
        assert_eq!(walk.bytes(), 4 * u64::from(counts.iter().product::<u32>()));
        assert_eq!(elements(walk), expected.collect(), "{:?} {extents:?} {from:?}", made.sizes);
    }
}

#[test]
fn pixels_are_walked_in_the_order_of_their_bounding_box() {
    let mut random = Pcg32::new(2, 2);
    for _ in 0..300 {
        let rank = pick(&mut random, 3, 5) as usize;
        let spatial = rank - 2;
        let mut made = Made::new(&mut random, rank, 6);
        made.steps = vec![1; rank];
        let lower = picks(&mut random, spatial, -2, 0);
        let upper = picks(&mut random, spatial, 0, 1);
        let as_i32 = |values: &[i64]| values.iter().map(|&v| v as i32).collect::<Vec<_>>();
        let (low, high) = (as_i32(&lower), as_i32(&upper));
        let column =
            Im2col { lower: &low, upper: &high, channels: 4, pixels: pick(&mut random, 1, 40) as u32 };
        let map = TensorMap::im2col(&made.tensor(Interleave::None), &column).unwrap();
        let extents: Vec<i64> =
            (0..spatial).map(|k| made.sizes[k + 1] as i64 + upper[k] - lower[k]).collect();
        let offsets = picks(&mut random, spatial, 0, 2);
        // The first pixel, by its number in the bounding boxes of all images.
        let images = made.sizes[rank - 1] as i64;
        let first = pick(&mut random, 0, images * extents.iter().product::<i64>() - 1);
        let position = |number: i64| {
            let mut rest = number;
            let mut at = vec![0];
            for k in 0..spatial {
                at.push(lower[k] + rest % extents[k]);
                rest /= extents[k];
            }
            at.push(rest);
            at
        };
        let walk = map.walk(&start(&position(first), &offsets, Mode::Im2col), Direction::Load).unwrap();
        let mut expected = BTreeMap::new();
        for pixel in 0..i64::from(column.pixels) {
            for channel in 0..4 {
                let mut at = position(first + pixel);
                at[0] = channel;
                at[1..=spatial].iter_mut().zip(&offsets).for_each(|(i, offset)| *i += offset);
                expected.insert((pixel * 16 + channel * 4) as u64, made.address(&at));
            }
        }
        assert_eq!(elements(walk), expected);
    }
}

#[test]
fn swizzling_permutes_chunks_within_their_span() {
    for swizzle in [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128] {
        let span = u64::from(swizzle.span().max(16));
        for address in 0..2048 {
            let to = swizzle.permute(address);
            assert_eq!((to / span, to % 16), (address / span, address % 16));
            assert_eq!(swizzle.permute(to), address);
        }
    }
    // The lines of 128 bytes have the chunks in eight orders: number c is at c ^ line.
    assert!((0..8).all(|line| Swizzle::Bytes128.permute(line * 128) == line * 128 + line * 16));
}

#[test]
fn replaced_fields_are_what_was_put_there() {
    let mut random = Pcg32::new(3, 3);
    let made = Made::new(&mut random, 5, 9);
    let mut map = TensorMap::tiled(&made.tensor(Interleave::None), &[4; 5]).unwrap();
    for i in 0..5 {
        map.replace(Field::Size(i), 1000 + i as u64);
        map.replace(Field::BoxSize(i), 10 + i as u64);
        map.replace(Field::ElementStride(i), 4 + i as u64 % 5);
    }
    for i in 0..4 {
        map.replace(Field::Stride(i), (1 << 39) + 16 * i as u64);
    }
    map.replace(Field::GlobalAddress, 0x1234_5678_9ab0);
    map.replace(Field::Rank, 1);
    map.replace(Field::Interleave, 2);
    map.replace(Field::Swizzle, 3);
    map.replace(Field::Fill, 1);
    assert_eq!((map.rank(), map.global_address(), map.is_im2col()), (2, 0x1234_5678_9ab0, false));
    assert_eq!(
        (map.interleave(), map.swizzle(), map.fill()),
        (Some(Interleave::Bytes32), Swizzle::Bytes128, Fill::Nan)
    );
    for i in 0..5 {
        assert_eq!(
            (map.size(i), map.box_size(i), map.element_stride(i)),
            (1000 + i as u64, 10 + i as u32, 4 + i as u32 % 5)
        );
    }
    assert!((0..4).all(|i| map.stride(i) == (1 << 39) + 16 * i as u64));
    // The immediates of PTX, and what stays: the bit for tf32.
    let types = [0, 1, 2, 3, 4, 5, 6, 9, 10, 7, 8, 11, 12].map(|code| {
        map.replace(Field::ElementType, 12);
        let mut map = map;
        map.replace(Field::ElementType, code);
        map.data_type().unwrap()
    });
    use DataType as T;
    let plain = [T::U8, T::U16, T::U32, T::S32, T::U64, T::S64, T::F16, T::F64, T::Bf16];
    assert_eq!((&types[..9], &types[9..]), (&plain[..], &[T::Tf32, T::Tf32Ftz, T::Tf32, T::Tf32Ftz][..]));
    for (code, ty) in [(13, T::B4x16), (14, T::B4x16P64), (15, T::B6x16P32)] {
        map.replace(Field::ElementType, code);
        assert_eq!(map.data_type(), Some(ty));
    }
    assert_eq!(TensorMap::from_bytes(&map.to_bytes()), map);
}
