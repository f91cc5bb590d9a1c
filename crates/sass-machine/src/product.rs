//! Products of matrices: D = A * B + C, all of them in registers of the warp, as the PTX manual draws the fragments of `mma.m16n8`.

use crate::registers::{LANES, RZ, Registers};
use crate::step::Product;
use numerics::tensor::{Accumulator, Element, Operand, dot};

/// Columns of B.
const COLUMNS: usize = 8;

/// The elements of a factor, row by row of k of them. A lane has neighbours along k; the next register is the eighth row
/// behind, if there are sixteen, and then further along k.
pub(crate) fn factor(
    registers: &Registers,
    first: u8,
    operand: Operand,
    rows: usize,
    k: usize,
) -> Vec<Element> {
    let width = operand.bits() as usize;
    let many = 32 / width;
    let zero = operand.decode(0);
    let mut elements = vec![zero; rows * k];
    let halves = rows / 8;
    for register in 0..rows * k * width / 32 / LANES {
        let plane = registers.plane(nth(first, register));
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

/// Carries it out; all lanes take part.
pub(crate) fn perform(registers: &mut Registers, product: &Product) {
    let Product { config, rows: count, k, to, a, b, c } = product;
    let rows = factor(registers, *a, config.a, *count, *k);
    let columns = factor(registers, *b, config.b, COLUMNS, *k);
    let packed = config.d == Accumulator::F16;
    let registers_of_sums = count / if packed { 8 } else { 4 };
    let mut results = [[0; LANES]; 4];
    for (register, words) in results.iter_mut().enumerate().take(registers_of_sums) {
        let sums = registers.plane(nth(*c, register));
        for lane in 0..LANES {
            let one = |row: usize, column: usize, sum: u32| {
                let (row, column) = (&rows[row * k..(row + 1) * k], &columns[column * k..(column + 1) * k]);
                dot(config, row, column, u64::from(sum)) as u32
            };
            let column = lane % 4 * 2;
            words[lane] = if packed {
                let row = lane / 4 + 8 * register;
                one(row, column, sums[lane] & 0xffff) & 0xffff | one(row, column + 1, sums[lane] >> 16) << 16
            } else {
                one(lane / 4 + 8 * (register / 2), column + register % 2, sums[lane])
            };
        }
    }
    for (register, words) in results.iter().enumerate().take(registers_of_sums) {
        for (lane, &word) in words.iter().enumerate() {
            registers.set_word(nth(*to, register), lane, word);
        }
    }
}
