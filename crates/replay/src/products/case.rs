//! A configuration, its operands and what `numerics` makes of them.

use numerics::rounding::Mode;
use numerics::tensor::{Accumulator, BitOperation, Config, Element, Operand, Unit};

use super::{FNV_BASIS, KINDS, fnv};

/// A configuration: an instruction, with what else decides about its operands.
#[derive(Debug)]
pub struct Case {
    pub(super) config: Config,
    pub(super) family: String,
    pub(super) shape: String,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    /// Elements in a row of A and in a column of B, as stored; an element of `.b1` is a word.
    pub(super) ka: usize,
    pub(super) kb: usize,
    /// The types of A, B, C and D.
    pub(super) types: [String; 4],
    pub(super) modifiers: Vec<String>,
    pub(super) variant: String,
    seed: u64,
}

/// The matrices of one tile, as bits: rows of A, columns of B, rows of C.
#[derive(Debug)]
pub struct Tile {
    /// The first factor.
    pub a: Vec<u64>,
    /// The second factor.
    pub b: Vec<u64>,
    /// What is added.
    pub c: Vec<u64>,
}

/// Which two of four elements a sparse A has, by tile.
const PAIRS: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

fn operand(name: &str) -> Operand {
    match name {
        "f16" => Operand::F16,
        "bf16" => Operand::Bf16,
        "tf32" => Operand::Tf32,
        "e4m3" => Operand::E4m3,
        "e5m2" => Operand::E5m2,
        "f64" => Operand::F64,
        "s8" => Operand::S8,
        "u8" => Operand::U8,
        "s4" => Operand::S4,
        "u4" => Operand::U4,
        "b1" => Operand::B1,
        _ => panic!("operand {name}"),
    }
}

fn accumulator(name: &str) -> Accumulator {
    match name {
        "f16" => Accumulator::F16,
        "f32" => Accumulator::F32,
        "f64" => Accumulator::F64,
        "s32" => Accumulator::S32,
        _ => panic!("accumulator {name}"),
    }
}

/// Bits of exponent and mantissa; none for integers.
pub(super) fn layout(name: &str) -> Option<(u32, u32)> {
    Some(match name {
        "f16" => (5, 10),
        "bf16" => (8, 7),
        "tf32" => (8, 10),
        "e4m3" => (4, 3),
        "e5m2" => (5, 2),
        "f32" => (8, 23),
        "f64" => (11, 52),
        _ => return None,
    })
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// 64 random bits for a position in a matrix.
fn draw(seed: u64, matrix: u64, tile: u64, index: u64, salt: u64) -> u64 {
    let counter = ((tile << 24) | (matrix << 22) | (salt << 20)) + index;
    mix(seed.wrapping_add((counter + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

impl Case {
    /// The configuration of a name, and a seed of the name and the salt.
    ///
    /// # Panics
    /// If it is the name of none.
    pub fn new(name: &str, salt: u64) -> Self {
        let (body, variant) = name.split_once('+').unwrap_or((name, ""));
        let mut parts = body.split('.').peekable();
        let mut next = || parts.next().expect("a part of the name");
        let family = next();
        let mut shape = next();
        let sparse = shape == "sp";
        if sparse {
            shape = next();
        }
        let [d, a, b, c] = [(); 4].map(|()| next());
        let modifiers: Vec<&str> = parts.collect();
        let (m, rest) = shape[1..].split_once('n').expect("a shape");
        let (n, k) = rest.split_once('k').expect("a shape");
        let [m, n, k]: [usize; 3] = [m, n, k].map(|x| x.parse().expect("a number"));
        let kb = if a == "b1" { k / 32 } else { k };
        let config = Config {
            a: operand(a),
            b: operand(b),
            c: accumulator(c),
            d: accumulator(d),
            unit: match (family, sparse) {
                ("wmma", _) => Unit::Wmma,
                ("wgmma", false) => Unit::Wgmma,
                ("wgmma", true) => Unit::SparseWgmma,
                (_, false) => Unit::Mma,
                (_, true) => Unit::SparseMma,
            },
            satfinite: modifiers.contains(&"satfinite"),
            rounding: match modifiers.first() {
                Some(&"rz") => Mode::TowardZero,
                Some(&"rm") => Mode::Down,
                Some(&"rp") => Mode::Up,
                _ => Mode::NearestEven,
            },
            bits: if modifiers.contains(&"and") { BitOperation::And } else { BitOperation::Xor },
        };
        Case {
            config,
            family: family.to_owned(),
            shape: shape.to_owned(),
            m,
            n,
            k,
            ka: if sparse { kb / 2 } else { kb },
            kb,
            types: [a, b, c, d].map(str::to_owned),
            modifiers: modifiers.into_iter().map(str::to_owned).collect(),
            variant: variant.to_owned(),
            seed: name.bytes().map(u64::from).fold(FNV_BASIS ^ salt, fnv),
        }
    }

    pub(super) fn sparse(&self) -> bool {
        self.ka != self.kb
    }

    /// The matrices of a tile.
    pub fn tile(&self, tile: usize) -> Tile {
        let mut matrices = [(self.m, self.ka), (self.n, self.kb), (self.m, self.n)]
            .into_iter()
            .enumerate()
            .map(|(matrix, (rows, width))| {
                let positions = (0..rows).flat_map(|row| (0..width).map(move |k| (row, k)));
                positions
                    .map(|(row, k)| self.element(matrix, tile as u64, row as u64, k as u64, width as u64))
                    .collect()
            });
        let mut next = || matrices.next().expect("three matrices");
        Tile { a: next(), b: next(), c: next() }
    }

    fn element(&self, matrix: usize, tile: u64, row: u64, k: u64, width: u64) -> u64 {
        let name = &self.types[matrix];
        match layout(name) {
            Some((exponent, mantissa)) => {
                let bits = self.float(matrix as u64, (exponent, mantissa), tile, row, k, width);
                if name == "tf32" {
                    bits << 13 | draw(self.seed, matrix as u64, tile, row * width + k, 0) >> 32 & 0x1fff
                } else {
                    bits
                }
            }
            None => self.integer(matrix as u64, name, tile, row * width + k),
        }
    }

    fn integer(&self, matrix: u64, name: &str, tile: u64, index: u64) -> u64 {
        let bits = match name {
            "s32" | "b1" => 32,
            "s8" | "u8" => 8,
            _ => 4,
        };
        let mask = (1 << bits) - 1;
        let [r, s] = [0, 1].map(|salt| draw(self.seed, matrix, tile, index, salt));
        let least = if name.starts_with('s') { 1u64 << (bits - 1) } else { 0 };
        let most = least.wrapping_sub(1) & mask;
        let odd = s & 1 != 0;
        let accumulator = name == "s32";
        match tile % KINDS as u64 % 4 {
            1 if accumulator => {
                let offset = r & 0xfff;
                if odd { most - offset } else { least + offset }
            }
            1 => {
                if odd {
                    most
                } else {
                    least
                }
            }
            2 => r & if accumulator { 0xffff } else { 3 },
            _ => r & mask,
        }
    }

    /// A float. The kinds of inputs: 0 all bits; 1 all finite; 2 exponents near that of 1, 3 from a wider range; 4, 5 terms which
    /// nearly cancel, side by side or half of k apart; 6 subnormals; 7 half of them zeros; 8 some special values; 9 the
    /// largest; 10 mostly zeros, else anything finite; 11 a few large ones in A; 12 powers of two and their neighbours
    /// below; 13 a large product, its opposite and a small one; 14 sums of the smallest products.
    fn float(&self, matrix: u64, (e, m): (u32, u32), tile: u64, row: u64, k: u64, width: u64) -> u64 {
        let kind = tile % KINDS as u64;
        let c = matrix == 2;
        let top = (1i64 << e) - 1;
        let bias = top >> 1;
        let spread = (bias - 1).min(12);
        let source = match kind {
            4 if !c => k & !1,
            5 if !c => k % (width / 2).max(1),
            _ => k,
        };
        let [r, s] = [0, 1].map(|salt| draw(self.seed, matrix, tile, row * width + source, salt));
        let own = draw(self.seed, matrix, tile, row * width + k, 0);
        let n = |x: i64| ((s >> 8) % x as u64) as i64;
        let ones = (1u64 << m) - 1;
        let low = s & 63;
        let mut sign = r >> 63;
        let mut mantissa = r & ones;
        let raw = (r >> m) as i64 & top;
        let finite = if raw == top { top - 1 } else { raw };
        let medium = match (c, e > 5) {
            (true, true) => bias - 30 + n(50),
            (true, false) => 1 + n(29),
            (false, _) => bias - spread + n(2 * spread + 1),
        };
        let narrow = if c { bias - 2 + n(8) } else { bias - 1 + n(3) };
        let mut field = match kind {
            0 => raw,
            1 => finite,
            2 => narrow,
            3 => medium,
            4 | 5 => {
                if c {
                    bias - 28 + n(32)
                } else {
                    bias - n(3)
                }
            }
            6 => match matrix {
                0 => n(3),
                1 => bias - n(24),
                _ if e == 5 => n(4),
                _ => {
                    let (input, _) = layout(&self.types[0]).expect("a float");
                    let reach = 2 * ((1 << (input - 1)) - 1);
                    bias - reach + n(reach)
                }
            },
            7 if low & 1 != 0 => {
                mantissa = 0;
                0
            }
            8 if low == 0 => {
                let (special, bits) = match (s >> 32) % 6 {
                    0 => (top, 0),
                    1 => (top, mantissa | 1),
                    2 => (top - 1, ones),
                    3 => (0, 0),
                    4 => (0, 1),
                    _ => (bias, 0),
                };
                mantissa = bits;
                special
            }
            7 | 8 => medium,
            9 => top - 1 - if c { n(8) } else { n(3) },
            10 if (low & 3 == 0) == c => {
                mantissa = 0;
                0
            }
            10 => {
                if e != 8 || c {
                    finite
                } else {
                    bias - 20 + n(40)
                }
            }
            11 => match matrix {
                0 => {
                    if low & 7 == 0 {
                        bias + spread
                    } else {
                        bias - n(4)
                    }
                }
                1 => narrow,
                _ => medium,
            },
            12 => {
                mantissa = if low & 1 != 0 { ones } else { 0 };
                if c { bias - 24 + n(40) } else { bias - 6 + n(13) }
            }
            14 => match matrix {
                0 => n(3),
                1 if e >= 8 => bias - 6 - n(24),
                1 if low & 1 != 0 => top - 1 - n(3),
                1 => n(6),
                _ if low & 7 == 0 => n(8),
                _ => {
                    mantissa = 0;
                    0
                }
            },
            _ => 0,
        };
        if kind >= 2 && !(kind == 8 && low == 0) {
            field = field.clamp(0, top - 1);
        }
        if source != k {
            if matrix == 0 {
                sign ^= 1;
            } else {
                mantissa ^= own & 1;
            }
        }
        if kind == 13 {
            match matrix {
                0 => {
                    let q = draw(self.seed, 3, tile, row, 0);
                    let at = |shift: u32| (q >> shift) % width == k;
                    let large = at(0) || at(8);
                    if large {
                        (field, sign, mantissa) = (bias + spread, u64::from(at(8)), 0);
                    } else if at(16) {
                        field = (bias + spread - ((q >> 24) % 30) as i64).max(1);
                    } else {
                        (field, mantissa) = (0, 0);
                    }
                }
                1 => (field, sign, mantissa) = (bias, 0, 0),
                _ if low & 1 != 0 => (field, mantissa) = (0, 0),
                _ => field = medium.clamp(0, top - 1),
            }
        }
        sign << (e + m) | (field as u64) << m | mantissa
    }

    /// The results of a tile, row by row.
    pub fn results(&self, tile: usize) -> Vec<u64> {
        let Tile { a, b, c } = self.tile(tile);
        let decode = |operand: Operand, negate: bool| {
            move |bits: &u64| {
                let element = operand.decode(*bits);
                if negate { operand.negate(element) } else { element }
            }
        };
        let a: Vec<Element> = a.iter().map(decode(self.config.a, self.variant == "negate-a")).collect();
        let b: Vec<Element> = b.iter().map(decode(self.config.b, self.variant == "negate-b")).collect();
        let columns: Vec<Vec<Element>> =
            b.chunks(self.kb).map(|column| self.selected(tile, column)).collect();
        let mut results = Vec::new();
        for (row, c_row) in a.chunks(self.ka).zip(c.chunks(self.n)) {
            for (column, c) in columns.iter().zip(c_row) {
                let c = if self.variant == "zero-c" { 0 } else { *c };
                results.push(numerics::tensor::dot(&self.config, row, column, c));
            }
        }
        results
    }

    /// The word which says, for all rows of a tile alike, which elements a sparse A has.
    pub(super) fn metadata(&self, tile: usize) -> u32 {
        let round = tile / KINDS;
        let nibble = match self.config.a {
            Operand::Tf32 => [0x4, 0xe][round % 2],
            _ => {
                let (i, j) = PAIRS[round % PAIRS.len()];
                (i | j << 2) as u32
            }
        };
        nibble * 0x1111_1111
    }

    /// The elements of a column of B that meet the stored elements of a sparse A: each tile has one pattern throughout.
    fn selected(&self, tile: usize, column: &[Element]) -> Vec<Element> {
        if !self.sparse() {
            return column.to_vec();
        }
        let round = tile / KINDS;
        if self.config.a == Operand::Tf32 {
            return column.chunks(2).map(|pair| pair[round % 2]).collect();
        }
        // An index stands for two neighbours among the 4-bit integers.
        let unit = if matches!(self.config.a, Operand::S4 | Operand::U4) { 2 } else { 1 };
        let (i, j) = PAIRS[round % PAIRS.len()];
        let pick = |four: &[Element]| [i, j].map(|x| four[x * unit..(x + 1) * unit].to_vec()).concat();
        column.chunks(4 * unit).flat_map(pick).collect()
    }
}
