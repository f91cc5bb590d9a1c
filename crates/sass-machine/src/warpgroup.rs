//! Products of a warpgroup, of which each warp computes sixteen rows: D = A * B + C, with B, and A or not, in shared memory (PTX ISA,
//! "Asynchronous Warpgroup Level Matrix Instructions").

use crate::fault::FaultKind;
use crate::groups::Begun;
use crate::product::factor;
use crate::registers::{LANES, RZ, Registers};
use crate::sparsity::met;
use crate::step::GroupProduct;
use numerics::tensor::{Accumulator, Element, Operand, dot};
use std::borrow::Cow;

/// Warps of a warpgroup, and rows of a warp.
pub(crate) const WARPS: usize = 4;
const ROWS: usize = 16;
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

/// The elements of rows of a factor in shared memory.
fn in_shared(
    shared: &[u8],
    (descriptor, transposed): (u64, bool),
    operand: Operand,
    k: usize,
    rows: std::ops::Range<usize>,
) -> Result<Vec<Element>, FaultKind> {
    let layout = Layout::new(descriptor);
    let size = operand.bits() as usize / 8;
    let mut elements = Vec::with_capacity(rows.len() * k);
    for row in rows {
        for along in 0..k {
            let at = match transposed {
                true => layout.across(row as u64, along as u64),
                false => layout.place(row as u64, (along * size) as u64),
            };
            let outside = || FaultKind::Address { space: "shared", address: at as u64, bytes: size as u32 };
            let bytes = shared.get(at..).and_then(|rest| rest.get(..size)).ok_or_else(outside)?;
            let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            elements.push(operand.decode(value));
        }
    }
    Ok(elements)
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

/// What a warp multiplies of shared memory's.
pub(crate) struct Factors {
    /// Its rows of A, unless registers have them.
    rows: Option<Vec<Element>>,
    /// All of B.
    columns: Vec<Element>,
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
    let rows = match product.a {
        Some(_) => None,
        None => Some(in_shared(shared, (first, transposed[0]), config.a, product.stored(), row..row + ROWS)?),
    };
    Ok(Factors { rows, columns: in_shared(shared, (second, transposed[1]), config.b, *k, 0..*columns)? })
}

/// The elements with the opposite signs, if they are negated.
fn negated(elements: &[Element], operand: Operand, negated: bool) -> Cow<'_, [Element]> {
    match negated {
        true => elements.iter().map(|&element| operand.negate(element)).collect(),
        false => elements.into(),
    }
}

/// Carries out a warp's part; all of its lanes take part.
pub(crate) fn perform(registers: &mut Registers, product: &GroupProduct, factors: &Factors, is_added: bool) {
    let GroupProduct { config, columns: width, k, to, a, c, sparsity, .. } = product;
    let stored = product.stored();
    let own = a.map(|a| factor(registers, a, config.a, ROWS, stored));
    let rows = own.as_deref().or(factors.rows.as_deref()).unwrap_or_default();
    let rows = negated(rows, config.a, product.negated[0]);
    let columns = negated(&factors.columns, config.b, product.negated[1]);
    let places: Option<Vec<Vec<usize>>> = sparsity.map(|sparsity| {
        let plane = registers.plane(sparsity.register);
        (0..ROWS).map(|row| sparsity.places(plane, config.a, row, stored)).collect()
    });
    let mut room = Vec::new();
    let packed = config.d == Accumulator::F16;
    for tile in 0..width / 8 {
        let count = if packed { 2 } else { 4 };
        for register in 0..count {
            let number = |first: u8| {
                if first == RZ { RZ } else { first.saturating_add((tile * count + register) as u8) }
            };
            let sums = if is_added { *registers.plane(number(*c)) } else { [0; LANES] };
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
            for (lane, &word) in words.iter().enumerate() {
                registers.set_word(number(*to), lane, word);
            }
        }
    }
}
