//! Elements that lanes access each at a place of its own: functions of ours that compiled code calls.
//!
//! As LLVM's text each access would be dozens of instructions, and branches where not all lanes take part, but for what AVX-512 has. Gathers of
//! AVX2 take longer than loads one by one on many CPUs. Elements that lie one behind the other in each lane are loaded as one piece and
//! exchanged between vectors, which is a quarter of the loads, or less.

/// Loads or stores elements: where places are counted from, by how many bits their numbers are shifted up to be bytes, the lanes that take
/// part, lists, and the order of lanes: the n-th is lane `n ^ turn`, and where lanes meet, what the last one stores stays.
///
/// The first list is the numbers of the lanes' places, in 32 bits, and is used up. Behind it there is one for each element: what is stored, or a
/// load's results, which are anything where a lane takes no part.
pub(crate) type Access = unsafe extern "C" fn(*mut u8, u32, u32, *mut u8, u32);

/// Elements of so many bytes, so many one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) bytes: u32,
    pub(crate) count: usize,
}

/// What functions load.
const PIECES: [Piece; 9] = {
    const fn of(bytes: u32, count: usize) -> Piece {
        Piece { bytes, count }
    }
    [of(1, 1), of(2, 1), of(4, 1), of(4, 2), of(4, 4), of(4, 8), of(8, 1), of(8, 2), of(8, 4)]
};
/// The bytes of elements that functions store, one in each lane.
const STORED: [u32; 4] = [1, 2, 4, 8];
const COUNT: usize = PIECES.len() + STORED.len();
const LANES: [u32; 2] = [16, 32];

impl Piece {
    /// The place in [`FUNCTIONS`] of what loads it for so many lanes.
    pub(crate) fn load(self, lanes: u32) -> Option<usize> {
        Some(of_lanes(lanes)? + PIECES.iter().position(|&some| some == self)?)
    }

    /// The most elements of so many bytes that are one piece.
    pub(crate) fn largest(bytes: u32) -> usize {
        PIECES.iter().filter(|piece| piece.bytes == bytes).map(|piece| piece.count).max().unwrap_or(0)
    }
}

/// The place in [`FUNCTIONS`] of what stores elements of so many bytes for so many lanes.
pub(crate) fn store(bytes: u32, lanes: u32) -> Option<usize> {
    Some(of_lanes(lanes)? + PIECES.len() + STORED.iter().position(|&some| some == bytes)?)
}

fn of_lanes(lanes: u32) -> Option<usize> {
    Some(LANES.iter().position(|&some| some == lanes)? * COUNT)
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::FUNCTIONS;
/// No code is made for other hosts.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) static FUNCTIONS: [[Access; 0]; 0] = [];

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Access, COUNT, LANES};
    use std::arch::x86_64::*;
    use std::hint::black_box;

    /// For 16 and for 32 lanes.
    pub(crate) static FUNCTIONS: [[Access; COUNT]; LANES.len()] = [of::<16>(), of::<32>()];

    const fn of<const L: usize>() -> [Access; COUNT] {
        [
            load::<1, 1, L>,
            load::<2, 1, L>,
            load::<4, 1, L>,
            load::<4, 2, L>,
            load::<4, 4, L>,
            load::<4, 8, L>,
            load::<8, 1, L>,
            load::<8, 2, L>,
            load::<8, 4, L>,
            store::<u8, L>,
            store::<u16, L>,
            store::<u32, L>,
            store::<u64, L>,
        ]
    }

    /// Lanes that are loaded together.
    const GROUP: usize = 8;

    /// The bits of all lanes.
    const fn all(lanes: usize) -> u32 {
        u32::MAX >> (32 - lanes)
    }

    /// # Safety
    /// The host has AVX2; the places of lanes that take part are valid, and so many lists.
    #[target_feature(enable = "avx2")]
    unsafe extern "C" fn load<const BYTES: usize, const COUNT: usize, const L: usize>(
        first: *mut u8,
        shift: u32,
        lanes: u32,
        lists: *mut u8,
        _: u32,
    ) {
        let lanes = lanes & all(L);
        if lanes == 0 {
            return;
        }
        // SAFETY: the list of numbers, which nobody else sees meanwhile.
        let numbers = unsafe { &mut *lists.cast::<[u32; L]>() };
        if lanes != all(L) {
            fill(numbers, lanes);
        }
        // They are read from memory one by one: to take them out of vectors takes longer, so the compiler is told not to.
        let numbers = black_box(numbers);
        let results = lists.wrapping_add(L * size_of::<u32>());
        for lane in (0..L).step_by(GROUP) {
            if lanes >> lane & all(GROUP) == 0 {
                continue;
            }
            let mut places = [first.cast_const(); GROUP];
            for l in 0..GROUP {
                places[l] = first.wrapping_add((numbers[lane + l] as usize) << shift);
            }
            let result = |element: usize| results.wrapping_add((element * L + lane) * BYTES);
            // SAFETY: as the caller says; a result is so many bytes of its list.
            unsafe { loaded::<BYTES, COUNT>(places, result) };
        }
    }

    /// Lets the lanes that take no part load what one of the others does.
    #[target_feature(enable = "avx2")]
    fn fill<const L: usize>(numbers: &mut [u32; L], lanes: u32) {
        let some = _mm256_set1_epi32(numbers[lanes.trailing_zeros() as usize % L] as i32);
        let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        for (group, numbers) in numbers.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
            let group = _mm256_set1_epi32((lanes >> (GROUP * group)) as i32);
            let takes_part = _mm256_cmpeq_epi32(_mm256_and_si256(group, bits), bits);
            let place = numbers.as_mut_ptr().cast();
            // SAFETY: eight words.
            unsafe {
                let own = _mm256_loadu_si256(place);
                _mm256_storeu_si256(place, _mm256_blendv_epi8(some, own, takes_part));
            }
        }
    }

    /// A group's elements, and where each is to be.
    ///
    /// # Safety
    /// As for [`load`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn loaded<const BYTES: usize, const COUNT: usize>(
        p: [*const u8; GROUP],
        result: impl Fn(usize) -> *mut u8,
    ) {
        // SAFETY: the caller's.
        unsafe {
            match (BYTES, COUNT) {
                (1, _) => {
                    let [a, b, c, d, e, f, g, h] = p.map(|place| place.cast::<i8>().read_unaligned());
                    _mm_storel_epi64(
                        result(0).cast(),
                        _mm_set_epi8(0, 0, 0, 0, 0, 0, 0, 0, h, g, f, e, d, c, b, a),
                    );
                }
                (2, _) => {
                    let [a, b, c, d, e, f, g, h] = p.map(|place| place.cast::<i16>().read_unaligned());
                    _mm_storeu_si128(result(0).cast(), _mm_set_epi16(h, g, f, e, d, c, b, a));
                }
                (4, 1) => {
                    let [a, b, c, d, e, f, g, h] = p.map(|place| place.cast::<i32>().read_unaligned());
                    _mm256_storeu_si256(result(0).cast(), _mm256_set_epi32(h, g, f, e, d, c, b, a));
                }
                (4, 2) => {
                    let [a, b, c, d, e, f, g, h] = p.map(|place| place.cast::<i64>().read_unaligned());
                    let (even, odd) = (_mm256_set_epi64x(f, e, b, a), _mm256_set_epi64x(h, g, d, c));
                    let (even, odd) = (_mm256_castsi256_ps(even), _mm256_castsi256_ps(odd));
                    _mm256_storeu_ps(result(0).cast(), _mm256_shuffle_ps(even, odd, 0b10_00_10_00));
                    _mm256_storeu_ps(result(1).cast(), _mm256_shuffle_ps(even, odd, 0b11_01_11_01));
                }
                (4, _) => {
                    for element in (0..COUNT).step_by(4) {
                        // Of a lane four elements, and as many of the lane that is four further.
                        let by = element * BYTES;
                        let (a, b) = (two([p[0], p[4]], by), two([p[1], p[5]], by));
                        let (c, d) = (two([p[2], p[6]], by), two([p[3], p[7]], by));
                        let low = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
                        let high = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
                        _mm256_storeu_si256(result(element).cast(), _mm256_unpacklo_epi64(low.0, low.1));
                        _mm256_storeu_si256(result(element + 1).cast(), _mm256_unpackhi_epi64(low.0, low.1));
                        _mm256_storeu_si256(
                            result(element + 2).cast(),
                            _mm256_unpacklo_epi64(high.0, high.1),
                        );
                        _mm256_storeu_si256(
                            result(element + 3).cast(),
                            _mm256_unpackhi_epi64(high.0, high.1),
                        );
                    }
                }
                (_, 1) => {
                    let [a, b, c, d, e, f, g, h] = p.map(|place| place.cast::<i64>().read_unaligned());
                    _mm256_storeu_si256(result(0).cast(), _mm256_set_epi64x(d, c, b, a));
                    _mm256_storeu_si256(
                        result(0).cast::<__m256i>().wrapping_add(1),
                        _mm256_set_epi64x(h, g, f, e),
                    );
                }
                (_, _) => {
                    for element in (0..COUNT).step_by(2) {
                        for half in 0..2 {
                            let p = &p[4 * half..][..4];
                            let (even, odd) =
                                (two([p[0], p[2]], element * BYTES), two([p[1], p[3]], element * BYTES));
                            let (first, second) =
                                (_mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd));
                            _mm256_storeu_si256(result(element).cast::<__m256i>().wrapping_add(half), first);
                            _mm256_storeu_si256(
                                result(element + 1).cast::<__m256i>().wrapping_add(half),
                                second,
                            );
                        }
                    }
                }
            }
        }
    }

    /// 16 bytes each from so far behind two places.
    ///
    /// # Safety
    /// As for [`load`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn two([low, high]: [*const u8; 2], offset: usize) -> __m256i {
        // SAFETY: the caller's.
        unsafe {
            let low = _mm_loadu_si128(low.wrapping_add(offset).cast());
            let high = _mm_loadu_si128(high.wrapping_add(offset).cast());
            _mm256_set_m128i(high, low)
        }
    }

    /// # Safety
    /// As for [`load`].
    unsafe extern "C" fn store<T: Copy, const L: usize>(
        first: *mut u8,
        shift: u32,
        lanes: u32,
        lists: *mut u8,
        turn: u32,
    ) {
        let lanes = lanes & all(L);
        let (numbers, values) = (lists.cast::<u32>(), lists.wrapping_add(L * size_of::<u32>()).cast::<T>());
        let one = |number: u32| {
            let lane = (number ^ turn) as usize % L;
            // SAFETY: each list has so many lanes; the place is valid if the lane takes part.
            unsafe {
                let place = first.wrapping_add((*numbers.wrapping_add(lane) as usize) << shift);
                place.cast::<T>().write_unaligned(*values.wrapping_add(lane));
            }
        };
        if lanes == all(L) {
            (0..L as u32).for_each(one);
            return;
        }
        let mut rest = turned(lanes, turn);
        while rest != 0 {
            one(rest.trailing_zeros());
            rest &= rest - 1;
        }
    }

    /// Bits in another order: the n-th is that of number `n ^ turn`.
    fn turned(bits: u32, turn: u32) -> u32 {
        const LOW: [u32; 5] = [0x5555_5555, 0x3333_3333, 0x0f0f_0f0f, 0x00ff_00ff, 0x0000_ffff];
        LOW.iter().enumerate().fold(bits, |bits, (step, low)| match turn >> step & 1 {
            0 => bits,
            _ => (bits & low) << (1 << step) | bits >> (1 << step) & low,
        })
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use super::{FUNCTIONS, LANES, PIECES, Piece, STORED, store};

    /// Memory in which each byte differs from those around it.
    fn memory() -> Vec<u8> {
        (0..2048_u32).map(|at| (at * 37 + (at >> 8)) as u8).collect()
    }

    /// Numbers of lanes' places, in steps of four bytes; lanes that take no part are far outside.
    fn numbers(lanes: u32, active: u32) -> Vec<u32> {
        let number = |l: u32| (l * 97 + 13) % 450;
        (0..lanes).map(|l| if active >> l & 1 != 0 { number(l) } else { 0xdead_beef }).collect()
    }

    const MASKS: [u32; 5] = [u32::MAX, 0, 1 << 9, 0x0f0f_1234, 0x7fff_7fff];

    /// Lists behind one another, aligned as code has them.
    #[repr(align(64))]
    struct Lists([u8; 4096]);

    #[test]
    fn pieces_are_loaded() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        for lanes in LANES {
            for active in MASKS {
                for Piece { bytes, count } in PIECES {
                    let (mut memory, numbers) = (memory(), numbers(lanes, active));
                    let mut lists = Lists([0xaa; 4096]);
                    for (l, number) in numbers.iter().enumerate() {
                        lists.0[4 * l..][..4].copy_from_slice(&number.to_le_bytes());
                    }
                    let function = FUNCTIONS.as_flattened()[Piece { bytes, count }.load(lanes).unwrap()];
                    // SAFETY: the host has AVX2; places of lanes that take part are within the memory.
                    unsafe { function(memory.as_mut_ptr(), 2, active, lists.0.as_mut_ptr(), 0) };
                    for l in (0..lanes).filter(|l| active >> l & 1 != 0) {
                        for e in 0..count {
                            let size = bytes as usize;
                            let at = 4 * lanes as usize + (e * lanes as usize + l as usize) * size;
                            let place = 4 * numbers[l as usize] as usize + e * size;
                            let (got, want) = (&lists.0[at..][..size], &memory[place..][..size]);
                            assert_eq!(got, want, "{bytes} {count}, lane {l} of {lanes}, {active:#x}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_last_lane_in_order_is_what_is_stored() {
        for lanes in LANES {
            for (active, turn) in MASKS.iter().flat_map(|&active| [0, 3, 15].map(|turn| (active, turn))) {
                for bytes in STORED {
                    // Two lanes each have a place.
                    let numbers: Vec<u32> = (0..lanes).map(|l| l / 2 * 11).collect();
                    let (mut memory, mut lists) = (memory(), Lists([0; 4096]));
                    let mut expected = memory.clone();
                    let value = |l: u32| (u64::from(l) + 1) * 0x0203_0507_0b0d_1113;
                    for l in 0..lanes as usize {
                        lists.0[4 * l..][..4].copy_from_slice(&numbers[l].to_le_bytes());
                        let at = 4 * lanes as usize + l * bytes as usize;
                        lists.0[at..][..bytes as usize]
                            .copy_from_slice(&value(l as u32).to_le_bytes()[..bytes as usize]);
                    }
                    for l in (0..lanes).map(|n| n ^ turn).filter(|l| active >> l & 1 != 0) {
                        let place = 4 * numbers[l as usize] as usize;
                        expected[place..][..bytes as usize]
                            .copy_from_slice(&value(l).to_le_bytes()[..bytes as usize]);
                    }
                    let function = FUNCTIONS.as_flattened()[store(bytes, lanes).unwrap()];
                    // SAFETY: all places are within the memory.
                    unsafe { function(memory.as_mut_ptr(), 2, active, lists.0.as_mut_ptr(), turn) };
                    assert_eq!(memory, expected, "{bytes} bytes, {lanes} lanes, {active:#x}, {turn}");
                }
            }
        }
    }
}
