//! Products of matrices: D = A * B + C, all of them in registers of the warp, as the PTX manual draws the fragments of `mma.m16n8`.

use crate::registers::{LANES, Plane, RZ, Registers};
use crate::sparsity::met;
use crate::step::{Place, Product};
use machine::lanes::simd::{Simd, Work, on_host};
use numerics::tensor::lanes::{Arithmetic, Floats, Integers, Kind, LINES, QUAD, Vectors};
use numerics::tensor::{Accumulator, Config, Element, Operand, dot};

/// Columns of B.
const COLUMNS: usize = LINES;
/// Registers of eight lines of a factor that are multiplied side by side, at most: lines of 32 bytes.
const MOST: usize = 2;

/// How many registers hold lines of so many elements, for each eight of them.
pub(crate) fn registers_along(operand: Operand, k: usize) -> usize {
    k * operand.bits() as usize / (32 * QUAD)
}

/// What computes a product of so many rows with all lanes side by side, if anything does.
pub(crate) fn side_by_side(config: &Config, rows: usize, k: usize) -> Option<Kind> {
    let bits = k * config.a.bits() as usize;
    let fits = rows == 2 * LINES && bits.is_multiple_of(32 * QUAD) && registers_along(config.a, k) <= MOST;
    Kind::of(config, k).filter(|_| fits)
}

/// Sixteen rows of a product, of any number of blocks of eight columns, with all lanes side by side: registers in their order. What comes of it is
/// whether this can be done; of some operands it has to be done one by one.
pub(crate) struct SideBySide<'x> {
    pub(crate) kind: Kind,
    pub(crate) config: &'x Config,
    pub(crate) a: &'x [Plane],
    pub(crate) b: &'x [Plane],
    pub(crate) c: &'x [Plane],
    pub(crate) d: &'x mut [Plane],
}

impl SideBySide<'_> {
    pub(crate) fn multiply(self) -> bool {
        on_host(self)
    }

    #[inline(always)]
    fn multiplied<S: Simd, A: Arithmetic>(self) -> bool {
        let Self { config, a, b, c, d, .. } = self;
        let (v, count) = (S::vectors(), a.len() / 2);
        let mut rows = [[A::ZERO; MOST]; 2];
        for (index, plane) in a.iter().enumerate() {
            A::decode(v, config.a, v.transpose(v.load(plane)), &mut rows[index % 2][index / 2]);
        }
        let mut columns = [A::ZERO; MOST];
        let blocks = b.chunks_exact(count).zip(c.as_chunks::<4>().0).zip(d.as_chunks_mut::<4>().0);
        for ((b, c), d) in blocks {
            for (plane, columns) in b.iter().zip(&mut columns) {
                A::decode(v, config.b, v.transpose(v.load(plane)), columns);
            }
            let (pairs, _) = d.as_chunks_mut::<2>();
            for (half, d) in pairs.iter_mut().enumerate() {
                let c = [&c[2 * half], &c[2 * half + 1]];
                if !A::sums(v, config, &rows[half][..count], &columns[..count], c, d) {
                    return false;
                }
            }
        }
        true
    }
}

impl Work for SideBySide<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self) -> bool {
        match self.kind {
            Kind::Floats => self.multiplied::<S, Floats>(),
            Kind::Integers => self.multiplied::<S, Integers>(),
        }
    }
}

/// The elements of a factor, row by row of k of them. A lane has neighbours along k; the next register is the eighth row
/// behind, if there are sixteen, and then further along k.
pub(crate) fn factor(planes: &[Plane], operand: Operand, rows: usize, k: usize) -> Vec<Element> {
    let width = operand.bits() as usize;
    let zero = operand.decode(0);
    let mut elements = vec![zero; rows * k];
    let halves = rows / 8;
    if width == 64 {
        for (pair, [low, high]) in planes.as_chunks().0.iter().enumerate() {
            for lane in 0..LANES {
                let row = lane / 4 + 8 * (pair % halves);
                let value = u64::from(high[lane]) << 32 | u64::from(low[lane]);
                elements[row * k + pair / halves * 4 + lane % 4] = operand.decode(value);
            }
        }
        return elements;
    }
    let many = 32 / width;
    for (register, plane) in planes.iter().enumerate() {
        for (lane, &word) in plane.iter().enumerate() {
            let row = lane / 4 + 8 * (register % halves);
            for at in 0..many {
                let along = register / halves * 4 * many + lane % 4 * many + at;
                let value = u64::from(word) >> (at * width) & ((1 << width) - 1);
                elements[row * k + along] = operand.decode(value);
            }
        }
    }
    elements
}

/// A register behind another; behind RZ there is RZ.
fn nth(first: u8, by: usize) -> u8 {
    if first == RZ { RZ } else { first.saturating_add(by as u8) }
}

/// The registers that hold so many rows of a factor, or columns.
pub(crate) fn fragment(
    registers: &Registers,
    first: u8,
    operand: Operand,
    lines: usize,
    k: usize,
) -> Vec<Plane> {
    let count = lines / LINES * registers_along(operand, k);
    (0..count).map(|by| *registers.plane(nth(first, by))).collect()
}

/// Carries it out; all lanes take part.
pub(crate) fn perform(registers: &mut Registers, product: &Product) {
    let Product { config, rows: count, k, to, a, b, c, sparsity, side_by_side } = product;
    let stored = if sparsity.is_some() { k / 2 } else { *k };
    if let Some(kind) = *side_by_side {
        let held = |first: u8, by: usize| *registers.plane(nth(first, by));
        let (a, b, c): ([_; 2 * MOST], [_; MOST], [_; 4]) = (
            std::array::from_fn(|by| held(*a, by)),
            std::array::from_fn(|by| held(*b, by)),
            std::array::from_fn(|by| held(*c, by)),
        );
        let along = registers_along(config.a, *k);
        let mut d = [[0; LANES]; 4];
        let all = SideBySide { kind, config, a: &a[..2 * along], b: &b[..along], c: &c, d: &mut d };
        if all.multiply() {
            for (by, words) in d.iter().enumerate() {
                registers.set_plane(Place::Registers(nth(*to, by), 1), u32::MAX, words);
            }
            return;
        }
    }
    let rows = factor(&fragment(registers, *a, config.a, *count, stored), config.a, *count, stored);
    let columns = factor(&fragment(registers, *b, config.b, COLUMNS, *k), config.b, COLUMNS, *k);
    let places: Option<Vec<Vec<usize>>> = sparsity.map(|sparsity| {
        let plane = registers.plane(sparsity.register);
        (0..*count).map(|row| sparsity.places(plane, config.a, row, stored)).collect()
    });
    let mut room = Vec::new();
    let mut one = |row: usize, column: usize, sum: u64| {
        let column = &columns[column * k..(column + 1) * k];
        let places = places.as_ref().map(|places| places[row].as_slice());
        let column = met(column, places, &mut room);
        dot(config, &rows[row * stored..(row + 1) * stored], column, sum)
    };
    let packed = config.d == Accumulator::F16;
    let wide = config.d == Accumulator::F64;
    let sums = count / if packed { 8 } else { 4 };
    let mut results = [[0; LANES]; 8];
    for register in 0..sums {
        for lane in 0..LANES {
            let column = lane % 4 * 2;
            let (row, next) = (lane / 4 + 8 * (register / 2), column + register % 2);
            let word = |at: usize| registers.plane(nth(*c, at))[lane];
            if packed {
                let (row, sum) = (lane / 4 + 8 * register, word(register));
                let low = one(row, column, u64::from(sum & 0xffff)) as u32 & 0xffff;
                let high = one(row, column + 1, u64::from(sum >> 16)) as u32;
                results[register][lane] = low | high << 16;
            } else if wide {
                let sum = u64::from(word(2 * register + 1)) << 32 | u64::from(word(2 * register));
                let result = one(row, next, sum);
                results[2 * register][lane] = result as u32;
                results[2 * register + 1][lane] = (result >> 32) as u32;
            } else {
                results[register][lane] = one(row, next, u64::from(word(register))) as u32;
            }
        }
    }
    for (register, words) in results.iter().enumerate().take(sums * if wide { 2 } else { 1 }) {
        for (lane, &word) in words.iter().enumerate() {
            registers.set_word(nth(*to, register), lane, word);
        }
    }
}
