//! Products of matrices: D = A * B + C, all of them in registers of the warp, as the PTX manual draws the fragments of `mma.m16n8`.

use crate::registers::{LANES, RZ, Registers};
use crate::sparsity::met;
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
    let zero = operand.decode(0);
    let mut elements = vec![zero; rows * k];
    let halves = rows / 8;
    if width == 64 {
        for pair in 0..rows * k / LANES {
            let [low, high] = [0, 1].map(|part| registers.plane(nth(first, 2 * pair + part)));
            for lane in 0..LANES {
                let row = lane / 4 + 8 * (pair % halves);
                let value = u64::from(high[lane]) << 32 | u64::from(low[lane]);
                elements[row * k + pair / halves * 4 + lane % 4] = operand.decode(value);
            }
        }
        return elements;
    }
    let many = 32 / width;
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
    let Product { config, rows: count, k, to, a, b, c, sparsity } = product;
    let stored = if sparsity.is_some() { k / 2 } else { *k };
    let rows = factor(registers, *a, config.a, *count, stored);
    let columns = factor(registers, *b, config.b, COLUMNS, *k);
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
