//! `wmma` (PTX ISA, "Warp-Level Matrix Multiply-Accumulate Instructions"). Its fragments are those of `mma`, put side by side: a load
//! is a load of each register, at an address that follows from the lane, and a product is one `mma` a tile of 16 by 8. PTX leaves
//! open where elements are; on an H200 they are so, too.
//!
//! A matrix consists of blocks of 8 lines, in which lane l holds the l % 4 th unit of line l / 4. A line of A, C and D is a row, of B a
//! column; `m8n32k16` is its transpose, where A and B change places.

use super::matrix::direction;
use super::memory::{Place, Window};
use super::nibbles::Matrices;
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Address, MatrixShape, Value};
use ptx::types::ScalarType;
use rustc_hash::FxHashMap as HashMap;

/// How a matrix lies in registers.
#[derive(Clone, Copy)]
struct Fragment {
    lines: u32,
    length: u32,
    /// Neighbours in a line that a lane holds, and the bits of each.
    unit: u32,
    bits: u32,
    /// Registers go through tiles of 16 lines, rather than along the lines.
    tiles: bool,
    lines_are_rows: bool,
}

impl Fragment {
    fn factor(shape: MatrixShape, bits: u32, is_b: bool) -> Self {
        let lines = if is_b { shape.n } else { shape.m };
        let unit = (32 / bits).max(1);
        Self { lines, length: shape.k, unit, bits, tiles: is_b == is_swapped(shape), lines_are_rows: !is_b }
    }

    fn accumulator(shape: MatrixShape, bits: u32) -> Self {
        let swapped = is_swapped(shape);
        let (lines, length) = if swapped { (shape.n, shape.m) } else { (shape.m, shape.n) };
        Self { lines, length, unit: 2, bits, tiles: true, lines_are_rows: !swapped }
    }

    /// Bytes of what a stride counts; of elements below a byte it is told in bytes.
    fn bytes(self) -> u32 {
        (self.bits / 8).max(1)
    }

    /// Elements of a register.
    fn held(self) -> u32 {
        (32 / self.bits).max(1)
    }

    /// The line of an element in the lanes 0 to 3, and its place along it in lane 0. Registers beyond the last hold the same again.
    fn element(self, index: u32) -> (u32, u32) {
        let index = index % (self.lines * self.length / 32);
        let along = self.length / (4 * self.unit);
        let block = index / self.unit;
        let (lines, units) = match self.tiles && self.lines >= 16 {
            true => (block / (2 * along) * 2 + block % 2, block / 2 % along),
            false => (block / along, block % along),
        };
        (8 * lines, 4 * units * self.unit + index % self.unit)
    }
}

fn is_swapped(shape: MatrixShape) -> bool {
    (shape.m, shape.n) == (8, 32)
}

/// A matrix in memory.
struct Stored {
    base: Reg,
    shared: bool,
    stride: Operand,
    /// Whether a line's elements are neighbours there.
    contiguous: bool,
    /// The lane's line in a block, and its unit.
    lane: (Operand, Operand),
    /// Addresses of the lane, by what they differ in.
    known: HashMap<u32, Reg>,
}

impl Select<'_> {
    pub(super) fn wmma(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::WmmaLoad(op) => self.behind_guard(|this| this.load_fragment(op)),
            Op::WmmaStore(op) => self.behind_guard(|this| this.store_fragment(op)),
            Op::WmmaMma(op) => self.behind_guard(|this| this.multiply_fragments(op)),
            _ => return None,
        })
    }

    fn load_fragment(&mut self, op: &i::WmmaLoad) -> Done {
        let fragment = match op.matrix {
            i::Matrix::A => {
                let ty = op.atype.map_or(i::MmaAtype::F16, Into::into);
                Fragment::factor(op.shape, bits(ty)?, false)
            }
            i::Matrix::B => {
                let ty = op.btype.map_or(i::MmaAtype::F16, Into::into);
                Fragment::factor(op.shape, bits(ty)?, true)
            }
            i::Matrix::C => Fragment::accumulator(op.shape, op.ctype.unwrap_or(ScalarType::F32).bits()),
        };
        let mut stored = self.matrix_at(&op.p, fragment, op.layout, op.stride.as_ref())?;
        for (index, &def) in op.d.iter().enumerate() {
            let word = self.load_register(&mut stored, fragment, index as u32);
            self.set(def, word);
        }
        Ok(())
    }

    fn load_register(&mut self, stored: &mut Stored, fragment: Fragment, register: u32) -> Reg {
        let held = fragment.held();
        let first = register * held;
        if stored.contiguous || held == 1 {
            let place = self.element_at(stored, fragment, first);
            let bits = fragment.bits * held;
            return self.load_bits(stored.shared, bits, place);
        }
        let elements = (first..first + held)
            .map(|index| {
                let place = self.element_at(stored, fragment, index);
                Operand::low(self.load_bits(stored.shared, fragment.bits, place))
            })
            .collect();
        match self.packed_words(elements, fragment.bits).pop() {
            Some(word) => self.one("MOV", vec![word]),
            None => self.one("MOV", vec![Operand::zero()]),
        }
    }

    fn load_bits(&mut self, shared: bool, bits: u32, place: Operand) -> Reg {
        let name = format!("{}{}", if shared { "LDS" } else { "LD.E" }, size(bits));
        if bits == 64 { self.pair(name, vec![place]) } else { self.one(name, vec![place]) }
    }

    fn store_fragment(&mut self, op: &i::WmmaStore) -> Done {
        let fragment = Fragment::accumulator(op.shape, op.dtype.bits());
        let mut stored = self.matrix_at(&op.p, fragment, op.layout, op.stride.as_ref())?;
        let held = fragment.held();
        for (register, value) in op.r.iter().enumerate() {
            let word = match fragment.bits {
                64 => Operand::wide(self.double(value)?, 2),
                _ => {
                    let word = self.word(value)?;
                    Operand::low(self.one("MOV", vec![word]))
                }
            };
            let whole = stored.contiguous || held == 1;
            for part in 0..if whole { 1 } else { held } {
                let place = self.element_at(&mut stored, fragment, register as u32 * held + part);
                let bits = if whole { fragment.bits * held } else { fragment.bits };
                let value = match part {
                    0 => word.clone(),
                    _ => {
                        let by = Operand::number(part * fragment.bits);
                        Operand::low(self.one("SHF.R.U32.HI", vec![Operand::zero(), by, word.clone()]))
                    }
                };
                let name = format!("{}{}", if stored.shared { "STS" } else { "ST.E" }, size(bits));
                self.code.push(None, name, vec![], vec![place, value]);
            }
        }
        Ok(())
    }

    /// Where a matrix is, and what of its addresses all elements of the lane share.
    fn matrix_at(
        &mut self,
        address: &Address,
        fragment: Fragment,
        layout: i::Layout,
        stride: Option<&Value>,
    ) -> Result<Stored, Refusal> {
        let row_major = layout == i::Layout::Row;
        let contiguous = fragment.lines_are_rows == row_major;
        let place = self.place(address)?;
        let (shared, at) = match place.window {
            Window::Shared => (true, self.address_of(&place)?),
            Window::Global | Window::Generic => (false, self.wide_address_of(&place)?),
            window => return Err(format!("in {window:?} memory")),
        };
        let stride = match stride {
            Some(stride) => self.word(stride)?,
            None => self.constant(if contiguous { fragment.length } else { fragment.lines }),
        };
        let stride = match fragment.bits {
            8.. => stride,
            bits => {
                let by = Operand::number((8 / bits).ilog2());
                Operand::low(self.one("SHF.R.U32.HI", vec![Operand::zero(), by, stride]))
            }
        };
        let stride = Operand::low(self.one("MOV", vec![stride]));
        let number = self.one("S2R", vec![Operand::Text("SR_LANEID".into())]);
        let read = vec![Operand::zero(), Operand::number(2), Operand::low(number)];
        let line = Operand::low(self.one("SHF.R.U32.HI", read));
        let unit = Operand::low(self.lop(Operand::low(number), Operand::number(3), 0xc0));
        // What the stride does not count.
        let (near, scale) = match contiguous {
            true => (unit.clone(), fragment.unit * fragment.bits / 8),
            false => (line.clone(), fragment.bytes()),
        };
        let scale = self.constant(scale);
        let base = match shared {
            true => self.mad(near, scale, Operand::low(at)),
            false => self.pair("IMAD.WIDE.U32", vec![near, scale, Operand::wide(at, 2)]),
        };
        Ok(Stored { base, shared, stride, contiguous, lane: (line, unit), known: HashMap::default() })
    }

    fn element_at(&mut self, stored: &mut Stored, fragment: Fragment, index: u32) -> Operand {
        let (line, along) = fragment.element(index);
        let bytes = fragment.bytes();
        let near_bytes = |near: u32| i64::from(near * fragment.bits / 8);
        // How many strides away: a number of the lane's, and one of the element's.
        let (lane, each, far, near) = match stored.contiguous {
            true => (stored.lane.0.clone(), 1, line, along),
            false => (stored.lane.1.clone(), fragment.unit, along, line),
        };
        let at = match stored.known.get(&far) {
            Some(&at) => at,
            None => {
                let (scale, more) = (self.constant(each * bytes), self.constant(far * bytes));
                let factor = Operand::low(self.mad(lane, scale, more));
                let stride = stored.stride.clone();
                let at = match stored.shared {
                    true => self.mad(stride, factor, Operand::low(stored.base)),
                    false => self.pair("IMAD.WIDE.U32", vec![stride, factor, Operand::wide(stored.base, 2)]),
                };
                stored.known.insert(far, at);
                at
            }
        };
        let place = if stored.shared { Place::shared(at) } else { Place::generic(at) };
        place.operand(near_bytes(near))
    }

    fn multiply_fragments(&mut self, op: &i::WmmaMma) -> Done {
        let a: i::MmaAtype = op.atype.map_or(i::MmaAtype::F16, Into::into);
        let b: i::MmaAtype = op.btype.map_or(i::MmaAtype::F16, Into::into);
        let shape = op.shape;
        let width = bits(a)?;
        let swapped = is_swapped(shape);
        let double = width == 64;
        let (first, second) = if swapped { (&op.b, &op.a) } else { (&op.a, &op.b) };
        let (m, n) = if swapped { (shape.n, shape.m) } else { (shape.m, shape.n) };
        let k = shape.k;
        let all = Matrices { a: &op.a, b: &op.b, c: &op.c, d: &op.d, metadata: vec![] };
        // Sums are as wide as the wider of what is added to and what is wanted.
        let halves = op.dtype == ScalarType::F16 && op.ctype == ScalarType::F16;
        let to = if halves { "F16" } else { "F32" };
        let name = match a {
            i::MmaAtype::F16 => format!("HMMA.16816.{to}"),
            i::MmaAtype::Bf16 => format!("HMMA.16816.{to}.BF16"),
            // In two steps, as ptxas has it: the sums are cut off in between.
            i::MmaAtype::Tf32 => format!("HMMA.1684.{to}.TF32"),
            i::MmaAtype::S8 | i::MmaAtype::U8 => {
                let kind = |ty| if ty == i::MmaAtype::S8 { "S8" } else { "U8" };
                let (x, y) = if swapped { (b, a) } else { (a, b) };
                let saturates = if op.satfinite { ".SAT" } else { "" };
                format!("IMMA.16816.{}.{}{saturates}", kind(x), kind(y))
            }
            i::MmaAtype::F64 => format!("DMMA.{m}x8x{k}{}", direction(op.rnd)),
            i::MmaAtype::S4 | i::MmaAtype::U4 => {
                let signs = (a == i::MmaAtype::S4, b == i::MmaAtype::S4);
                return self.multiply_nibbles(shape, signs, &all, op.satfinite);
            }
            i::MmaAtype::B1 if op.op == Some(i::WmmaMmaOp::Xor) => {
                return self.multiply_differences(shape, &all);
            }
            i::MmaAtype::B1 => format!("BMMA.{m}{n}{k}.AND.POPC"),
            _ => return Err("of these types".to_owned()),
        };
        let lines = m.min(16);
        // Registers of a tile of each.
        let held = 32 / width.min(32);
        let of = |elements: u32| (elements / 32 / held).max(1) as usize;
        let (per_first, per_second) = (of(lines * k), of(8 * k));
        let (tiles, columns) = (m / lines, n / 8);
        let sums = self.sums(&op.c, op.ctype == ScalarType::F16 && !halves, double)?;
        let per_sum = sums.len() / (tiles * columns) as usize;
        let integer = matches!(a, i::MmaAtype::S8 | i::MmaAtype::U8 | i::MmaAtype::B1);
        let mut words = Vec::new();
        for tile in 0..tiles as usize {
            for column in 0..columns as usize {
                let part = |all: &[Value], each: usize, at: usize| {
                    all.get(each * at..each * (at + 1)).map(<[_]>::to_vec)
                };
                let at = tile * columns as usize + column;
                let parts = (
                    part(first, per_first, tile),
                    part(second, per_second, column),
                    sums.get(per_sum * at..per_sum * (at + 1)),
                );
                let (Some(x), Some(y), Some(sums)) = parts else {
                    return Err("with fragments of this size".to_owned());
                };
                let mut sums = self.fragment_of(sums.to_vec());
                let mut product = None;
                let steps = if a == i::MmaAtype::Tf32 { 2 } else { 1 };
                for (x, y) in x.chunks(per_first / steps).zip(y.chunks((per_second / steps).max(1))) {
                    let mut read = vec![self.fragment(x, double)?, self.fragment(y, double)?, sums];
                    if integer {
                        let layouts = [".ROW", ".COL", ""];
                        let both = read.into_iter().zip(layouts);
                        read = both.map(|(it, layout)| it.suffixed(layout)).collect();
                    }
                    let step = self.product_of(&name, per_sum as u8, read);
                    sums = Operand::wide(step, per_sum as u8);
                    product = Some(step);
                }
                let Some(product) = product else { return Err("with fragments of this size".to_owned()) };
                words.extend((0..per_sum as u8).map(|part| Operand::part(product, part)));
            }
        }
        // A result may be in the place of a factor.
        if op.dtype == ScalarType::F16 && !halves {
            let pairs = words.chunks(2).map(|two| two.iter().rev().cloned().collect::<Vec<_>>());
            let pairs: Vec<_> = pairs.collect();
            words =
                pairs.into_iter().map(|pair| Operand::low(self.one("F2FP.F16.F32.PACK_AB", pair))).collect();
        }
        let each = if double { 2 } else { 1 };
        for (&def, words) in op.d.iter().zip(words.chunks(each)) {
            let value = match words {
                [low, high] => self.join(low.clone(), high.clone()),
                _ => self.one("MOV", vec![words[0].clone()]),
            };
            self.set(def, value);
        }
        Ok(())
    }

    /// What a product adds to, word by word: as it is, or halves as singles.
    fn sums(&mut self, c: &[Value], widens: bool, double: bool) -> Result<Vec<Operand>, Refusal> {
        let mut words = Vec::new();
        for value in c {
            if double {
                let both = self.double(value)?;
                words.extend([Operand::part(both, 0), Operand::part(both, 1)]);
                continue;
            }
            let word = self.word(value)?;
            if !widens {
                words.push(word);
                continue;
            }
            for half in [".H0_H0", ".H1_H1"] {
                let minus_zero = Operand::Text("-RZ".into());
                words
                    .push(Operand::low(self.one("HADD2.F32", vec![minus_zero, word.clone().suffixed(half)])));
            }
        }
        Ok(words)
    }
}

/// Bits of an element of a factor.
fn bits(ty: i::MmaAtype) -> Result<u32, Refusal> {
    Ok(match ty {
        i::MmaAtype::F16 | i::MmaAtype::Bf16 => 16,
        i::MmaAtype::Tf32 => 32,
        i::MmaAtype::F64 => 64,
        i::MmaAtype::S8 | i::MmaAtype::U8 => 8,
        i::MmaAtype::S4 | i::MmaAtype::U4 => 4,
        i::MmaAtype::B1 => 1,
        _ => return Err("of these types".to_owned()),
    })
}

fn size(bits: u32) -> &'static str {
    match bits {
        8 => ".U8",
        16 => ".U16",
        32 => "",
        _ => ".64",
    }
}
