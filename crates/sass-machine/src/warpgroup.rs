//! Products of a warpgroup, of which each warp computes sixteen rows: D = A * B + C, with B, and A or not, in shared memory (PTX ISA,
//! "Asynchronous Warpgroup Level Matrix Instructions").

use crate::fault::FaultKind;
use crate::groups::Begun;
use crate::product::{SideBySide, factor, fragment, registers_along};
use crate::registers::{LANES, Plane, RZ, Registers};
use crate::sparsity::met;
use crate::step::{GroupProduct, Place};
use numerics::tensor::lanes::{LINES, QUAD};
use numerics::tensor::{Accumulator, Element, Operand, dot};
use std::borrow::Cow;

/// Warps of a warpgroup, and rows of a warp.
pub(crate) const WARPS: usize = 4;
pub(crate) const ROWS: usize = 16;
/// Bytes of a row of one of the matrices of eight rows that a factor is put together from.
const CHUNK: u64 = 16;

/// How a factor lies in shared memory, by its descriptor ("Matrix Descriptor Format").
struct Layout {
    start: u64,
    leading: u64,
    stride: u64,
    offset: u64,
    /// Bytes of a row that lie in a row: more than one chunk where chunks change places.
    width: u64,
}

impl Layout {
    fn new(bits: u64) -> Self {
        let bytes = |low: u32| (bits >> low & 0x3fff) * 16;
        let width = match bits >> 62 {
            0 => CHUNK,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        Self { start: bytes(0), leading: bytes(16), stride: bytes(32), offset: bits >> 49 & 7, width }
    }

    /// Where byte `along` of a row is, if rows lie along k.
    fn place(&self, row: u64, along: u64) -> usize {
        self.swizzled(
            row / 8 * self.stride
                + row % 8 * self.width
                + along % self.width
                + along / self.width * self.leading,
        )
    }

    /// Where an element of 16 bits is, if rows lie across k. Without swizzling the two strides change places.
    fn across(&self, row: u64, k: u64) -> usize {
        let (rows, ks) =
            if self.width == CHUNK { (self.stride, self.leading) } else { (self.leading, self.stride) };
        let inside = 2 * row;
        self.swizzled(k / 8 * ks + k % 8 * self.width + inside % self.width + inside / self.width * rows)
    }

    fn swizzled(&self, offset: u64) -> usize {
        let at = self.start + offset;
        let pattern = (at >> 7).wrapping_sub(self.offset) & (self.width / CHUNK - 1);
        (at ^ pattern << 4) as usize
    }
}

/// Rows of a factor in shared memory, so many bits along k, as registers would hold them: the blocks of eight rows one behind the other, or if they
/// are `between` one another, behind each register of a block that of the next one.
fn in_shared(
    shared: &[u8],
    (descriptor, transposed): (u64, bool),
    bits: usize,
    rows: std::ops::Range<usize>,
    between: bool,
) -> Result<Vec<Plane>, FaultKind> {
    let layout = Layout::new(descriptor);
    let outside = |at: usize, bytes: u32| FaultKind::Address { space: "shared", address: at as u64, bytes };
    let (blocks, along) = (rows.len() / LINES, bits / (32 * QUAD));
    let mut planes = vec![[0; LANES]; blocks * along];
    for (index, plane) in planes.iter_mut().enumerate() {
        let (block, register) = match between {
            true => (index % blocks, index / blocks),
            false => (index / along, index % along),
        };
        for (lane, word) in plane.iter_mut().enumerate() {
            let row = (rows.start + block * LINES + lane / QUAD) as u64;
            let column = (register * QUAD + lane % QUAD) as u64;
            *word = match transposed {
                true => {
                    let half = |k: u64| {
                        let at = layout.across(row, k);
                        let found = shared.get(at..).and_then(<[u8]>::first_chunk);
                        found.map(|half| u32::from(u16::from_le_bytes(*half))).ok_or_else(|| outside(at, 2))
                    };
                    half(2 * column)? | half(2 * column + 1)? << 16
                }
                false => {
                    let at = layout.place(row, 4 * column);
                    let found = shared.get(at..).and_then(<[u8]>::first_chunk);
                    found.map(|word| u32::from_le_bytes(*word)).ok_or_else(|| outside(at, 4))?
                }
            };
        }
    }
    Ok(planes)
}

/// What a product takes from uniform registers when it is issued, as the warp's product of a number.
pub(crate) fn begin(registers: &Registers, product: &GroupProduct, place: usize, number: u64) -> Begun {
    let descriptor = |at: u8| registers.uniform_pair(product.descriptors.saturating_add(at));
    Begun {
        place,
        number,
        descriptors: [descriptor(0), descriptor(2)],
        is_added: registers.flags(&product.scale) != 0,
        factors: None,
    }
}

/// What a warp multiplies of shared memory's, as registers would hold it.
pub(crate) struct Factors {
    /// Its rows of A, unless registers have them.
    rows: Option<Vec<Plane>>,
    /// All of B.
    columns: Vec<Plane>,
}

/// Reads what a warp multiplies.
pub(crate) fn factors(
    shared: &[u8],
    warp: u32,
    product: &GroupProduct,
    [first, second]: [u64; 2],
) -> Result<Factors, FaultKind> {
    let GroupProduct { config, columns, k, transposed, .. } = product;
    let row = warp as usize % WARPS * ROWS;
    let bits = |operand: Operand, k: usize| k * operand.bits() as usize;
    let (own, all) = (bits(config.a, product.stored()), bits(config.b, *k));
    let rows = match product.a {
        Some(_) => None,
        None => Some(in_shared(shared, (first, transposed[0]), own, row..row + ROWS, true)?),
    };
    Ok(Factors { rows, columns: in_shared(shared, (second, transposed[1]), all, 0..*columns, false)? })
}

/// The registers of a factor with the opposite signs, if it is negated.
fn negated(planes: &[Plane], operand: Operand, negated: bool) -> Cow<'_, [Plane]> {
    let signs = match operand {
        Operand::F16 | Operand::Bf16 => 0x8000_8000,
        Operand::E4m3 | Operand::E5m2 => 0x8080_8080,
        _ => 0x8000_0000_u32,
    };
    match negated {
        true => planes.iter().map(|plane| plane.map(|word| word ^ signs)).collect(),
        false => planes.into(),
    }
}

/// Carries out a warp's part; all of its lanes take part.
pub(crate) fn perform(registers: &mut Registers, product: &GroupProduct, factors: &Factors, is_added: bool) {
    let GroupProduct { config, columns: width, k, to, a, c, sparsity, .. } = product;
    let stored = product.stored();
    let own = a.map(|a| fragment(registers, a, config.a, ROWS, stored));
    let rows = own.as_deref().or(factors.rows.as_deref()).unwrap_or_default();
    let rows = negated(rows, config.a, product.negated[0]);
    let columns = negated(&factors.columns, config.b, product.negated[1]);
    let number = |first: u8, by: usize| if first == RZ { RZ } else { first.saturating_add(by as u8) };
    if let Some(kind) = product.side_by_side {
        let sums = |by: usize| if is_added { *registers.plane(number(*c, by)) } else { [0; LANES] };
        let c: Vec<Plane> = (0..width / 2).map(sums).collect();
        let mut d = vec![[0; LANES]; width / 2];
        let all = SideBySide { kind, config, a: &rows, b: &columns, c: &c, d: &mut d };
        if all.multiply() {
            for (by, words) in d.iter().enumerate() {
                registers.set_plane(Place::Registers(number(*to, by), 1), u32::MAX, words);
            }
            return;
        }
    }
    let rows = factor(&rows, config.a, ROWS, stored);
    let blocks = columns.chunks_exact(registers_along(config.b, *k));
    let columns: Vec<Element> = blocks.flat_map(|block| factor(block, config.b, LINES, *k)).collect();
    let places: Option<Vec<Vec<usize>>> = sparsity.map(|sparsity| {
        let plane = registers.plane(sparsity.register);
        (0..ROWS).map(|row| sparsity.places(plane, config.a, row, stored)).collect()
    });
    let mut room = Vec::new();
    let packed = config.d == Accumulator::F16;
    for tile in 0..width / 8 {
        let count = if packed { 2 } else { 4 };
        for register in 0..count {
            let by = tile * count + register;
            let sums = if is_added { *registers.plane(number(*c, by)) } else { [0; LANES] };
            let mut words = [0; LANES];
            for lane in 0..LANES {
                let mut one = |row: usize, column: usize, sum: u32| {
                    let column = &columns[(tile * 8 + column) * k..(tile * 8 + column + 1) * k];
                    let places = places.as_ref().map(|places| places[row].as_slice());
                    let column = met(column, places, &mut room);
                    dot(config, &rows[row * stored..(row + 1) * stored], column, u64::from(sum)) as u32
                };
                let column = lane % 4 * 2;
                words[lane] = if packed {
                    let row = lane / 4 + 8 * register;
                    one(row, column, sums[lane] & 0xffff) & 0xffff
                        | one(row, column + 1, sums[lane] >> 16) << 16
                } else {
                    one(lane / 4 + 8 * (register / 2), column + register % 2, sums[lane])
                };
            }
            registers.set_plane(Place::Registers(number(*to, by), 1), u32::MAX, &words);
        }
    }
}
