//! `cargo xtask tables DIR`: finds the coefficients of the special-function unit from what a GPU computed.
//!
//! `DIR` is what `approximate.cu` of crates/numerics/tests/hardware recorded: for each function, the results of all
//! arguments. A result confines the sum that it was cut off from to an interval. So each segment of a function gives
//! 2^16 or 2^17 inequalities in three unknown integers, whose solutions are found exactly: least squares say where the
//! last two coefficients must be, each pair in a box around is tried against every inequality, and what is left is a
//! range of the constant term. That term is `c0` shifted up plus the bias that all segments share; a bias is possible
//! if every segment has a solution with it. Only the sum can be seen: the bias is the least with which every `c0` has
//! 26 bits.
//!
//! The shapes (how many segments, which shifts) are not found here: see docs/numerics.md.

use crate::root;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use numerics::special::interpolate::{DISTANCE_BITS, EX2, LG2, RCP, RSQRT, SIN, SQRT, Shape, TANH, square};
use numerics::special::unit::tanh_argument;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the recordings are.
#[derive(Args)]
pub(crate) struct Recordings {
    /// The folder that `approximate ranges` wrote.
    folder: PathBuf,
}

/// `distance` from the start of a segment, the sum is at least `low` and less than `high`.
struct Inequality {
    distance: u32,
    low: i64,
    high: i64,
}

/// What the result at an index of the recording says: the argument, and the sum's least value and bound.
type Observe = fn(u32, u32) -> Option<(u32, i64, i64)>;

struct Function {
    /// The recording's name and the table's.
    name: &'static str,
    shape: Shape,
    observe: Observe,
}

const FUNCTIONS: [Function; 7] = [
    Function { name: "rcp", shape: RCP, observe: |i, y| Some(cut_off(i, y, RCP.point)) },
    // Not the first: 1 is a special case.
    Function { name: "rsqrt", shape: RSQRT, observe: |i, y| (i > 0).then(|| cut_off(i, y, RSQRT.point)) },
    Function { name: "sqrt", shape: SQRT, observe: |i, y| Some(cut_off(i, y, SQRT.point)) },
    Function { name: "sin", shape: SIN, observe: |i, y| Some(cut_off(i, y, SIN.point)) },
    // Recorded from 1 to 2, where the results are twice those from 0 to 1.
    Function { name: "ex2", shape: EX2, observe: |i, y| Some(cut_off(i, y, EX2.point - 1)) },
    Function { name: "lg2", shape: LG2, observe: logarithm },
    Function { name: "tanh", shape: TANH, observe: tangent },
];

/// The interval of an integer with `point` bits behind the binary point that was cut off to the `.f32` `y`.
fn interval(y: u32, point: u32) -> (i64, i64) {
    if y == 0 {
        return (0, 1);
    }
    let significand = i64::from(y & 0x7f_ffff | 0x80_0000);
    let shift = ((y >> 23) & 0xff) as i32 - 150 + point as i32;
    if shift >= 0 {
        (significand << shift, (significand + 1) << shift)
    } else {
        (significand >> -shift, (significand >> -shift) + 1)
    }
}

fn cut_off(argument: u32, y: u32, point: u32) -> (u32, i64, i64) {
    let (low, high) = interval(y, point);
    (argument, low, high)
}

/// Recorded from 1/2 to 2. The sum loses two bits before the exponent, -1 or 0, is added; a negative one is inverted.
fn logarithm(index: u32, y: u32) -> Option<(u32, i64, i64)> {
    const ONE: i64 = 1 << (LG2.point - 2);
    let (low, high) = interval(y, LG2.point - 2);
    let below_one = index < 1 << 23;
    let (low, high) = if below_one { (ONE - high, ONE - low) } else { (low, high) };
    (index != 1 << 23).then_some((index & 0x7f_ffff, low << 2, high << 2))
}

/// Recorded from 2^-8 to 8.
fn tangent(index: u32, y: u32) -> Option<(u32, i64, i64)> {
    let x = index + (119 << 23);
    let exponent = 127 - (x >> 23).min(126);
    Some(cut_off(tanh_argument(x), y, TANH.point + exponent))
}

/// A solution of a segment: `c1`, `c2` and the range of the constant term.
struct Solution {
    c1: i64,
    c2: i64,
    constant: (i64, i64),
}

/// The coefficients of `distance` and of its square, by least squares.
fn least_squares(inequalities: &[Inequality], shape: Shape) -> (f64, f64) {
    let (mut n, mut sums, mut products) = (0.0, [0.0; 3], [0.0; 5]);
    for i in inequalities.iter().step_by(7) {
        let [x, q, t] = terms(i, shape);
        let (x, q, t) = (x as f64, q as f64, t as f64);
        n += 1.0;
        sums = [sums[0] + x, sums[1] + q, sums[2] + t];
        products = [
            products[0] + x * x,
            products[1] + x * q,
            products[2] + q * q,
            products[3] + x * t,
            products[4] + q * t,
        ];
    }
    let [x, q, t] = sums;
    let [xx, xq, qq, xt, qt] = products;
    let (xx, xq, qq) = (xx - x * x / n, xq - x * q / n, qq - q * q / n);
    let (xt, qt) = (xt - x * t / n, qt - q * t / n);
    let determinant = xx * qq - xq * xq;
    ((xt * qq - qt * xq) / determinant, (qt * xx - xt * xq) / determinant)
}

/// What `c1` and `c2` are multiplied with, signs included, and the middle of the sum's interval.
fn terms(i: &Inequality, shape: Shape) -> [i64; 3] {
    let linear = i64::from(i.distance);
    let squared = i64::from(square(i.distance << (DISTANCE_BITS - shape.low_bits))) << shape.square;
    let sign = |plus| if plus { 1 } else { -1 };
    [linear * sign(!shape.falls), squared * sign(shape.convex), (i.low + i.high) / 2]
}

/// The least and greatest constant term with which the two coefficients satisfy everything, if there is one.
fn constant_term(inequalities: &[Inequality], shape: Shape, c1: i64, c2: i64) -> Option<(i64, i64)> {
    let (mut least, mut most) = (i64::MIN, i64::MAX);
    for i in inequalities {
        let [linear, squared, _] = terms(i, shape);
        let rest = c1 * linear + c2 * squared;
        least = least.max(i.low - rest);
        most = most.min(i.high - 1 - rest);
        if least > most {
            return None;
        }
    }
    Some((least, most))
}

/// How far from the least squares' coefficients solutions are looked for.
const BOX: i64 = 4;

fn solve(inequalities: &[Inequality], shape: Shape) -> Vec<Solution> {
    let (c1, c2) = least_squares(inequalities, shape);
    let around = |centre: f64| {
        let centre = centre.round() as i64;
        (centre - BOX).max(0)..=centre + BOX
    };
    let pairs = around(c1).flat_map(|c1| around(c2).map(move |c2| (c1, c2)));
    pairs
        .filter_map(|(c1, c2)| {
            constant_term(inequalities, shape, c1, c2).map(|constant| Solution { c1, c2, constant })
        })
        .collect()
}

/// `[c0, c1, c2]` of each solution that has this bias.
fn with_bias(solutions: &[Solution], shape: Shape, bias: i64) -> Vec<[i64; 3]> {
    let unit = 1 << shape.constant;
    let mut found = Vec::new();
    for s in solutions {
        let (least, most) = s.constant;
        let first = (least - bias + unit - 1).div_euclid(unit);
        let last = (most - bias).div_euclid(unit);
        found.extend((first..=last).map(|c0| [c0, s.c1, s.c2]));
    }
    found
}

/// Bits of the first coefficient.
const C0_BITS: u32 = 26;

fn table(function: &Function, folder: &Path) -> Result<String> {
    let Function { name, shape, observe } = function;
    let path = folder.join(name).with_extension("u32");
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    let mut segments: BTreeMap<u32, Vec<Inequality>> = BTreeMap::new();
    for (index, y) in (0..).zip(bytes.chunks_exact(4)) {
        let y = u32::from_le_bytes([y[0], y[1], y[2], y[3]]);
        if let Some((argument, low, high)) = observe(index, y) {
            let distance = argument & ((1 << shape.low_bits) - 1);
            segments.entry(argument >> shape.low_bits).or_default().push(Inequality { distance, low, high });
        }
    }
    let segments: Vec<Vec<Inequality>> = segments.into_values().collect();
    let solutions: Vec<Vec<Solution>> = segments.par_iter().map(|segment| solve(segment, *shape)).collect();
    let unsolved = solutions.iter().filter(|s| s.is_empty()).count();
    ensure!(unsolved == 0, "{name}: {unsolved} of {} segments have no solution", solutions.len());
    let possible = |&bias: &i64| solutions.iter().all(|s| !with_bias(s, *shape, bias).is_empty());
    let biases: Vec<i64> = (0..1 << shape.constant).filter(possible).collect();
    let Some(&bias) = biases.first() else {
        bail!("{name}: no bias suits all segments");
    };
    let rows_with =
        |bias| -> Vec<Vec<[i64; 3]>> { solutions.iter().map(|s| with_bias(s, *shape, bias)).collect() };
    let fits = |rows: &Vec<Vec<[i64; 3]>>| rows.iter().flatten().all(|[c0, ..]| *c0 < 1 << C0_BITS);
    let mut candidates = (bias..).step_by(1 << shape.constant).map(|bias| (bias, rows_with(bias)));
    let Some((bias, rows)) = candidates.find(|(_, rows)| fits(rows)) else {
        bail!("{name}: no bias is large enough")
    };
    let unique = rows.iter().filter(|found| found.len() == 1).count();
    println!(
        "{name}: {} segments, {} possible biases up to multiples of {:#x}; with {bias:#x}, {unique} segments have one \
         solution",
        rows.len(),
        biases.len(),
        1 << shape.constant,
    );
    let mut text = format!(
        "\npub(super) static {}: Table<{}> = Table::new(\n    {bias:#x},\n    &[\n",
        name.to_uppercase(),
        rows.len().next_power_of_two(),
    );
    for row in rows.chunks(4) {
        let row: Vec<String> = row
            .iter()
            .map(|found| format!("[{:#x}, {:#x}, {:#x}]", found[0][0], found[0][1], found[0][2]))
            .collect();
        writeln!(text, "        {},", row.join(", "))?;
    }
    text += "    ],\n);\n";
    Ok(text)
}

const HEADER: &str = "\
//! The unit's coefficients: for each function its bias, and for each segment `c0`, `c1` and `c2`.
//!
//! Written by `cargo xtask tables` from what an H200 computed; docs/numerics.md tells how.

use super::interpolate::Table;
";

pub(crate) fn run(recordings: &Recordings) -> Result<()> {
    let mut text = HEADER.to_owned();
    for function in &FUNCTIONS {
        text += &table(function, &recordings.folder)?;
    }
    let path = root().join("crates/numerics/src/special/tables.rs");
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    println!("{}", path.display());
    Ok(())
}
