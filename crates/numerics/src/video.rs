//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions").
//!
//! Sources are parts of registers: a word, a half word or a byte in the scalar instructions, two half words or four
//! bytes picked from both sources in the SIMD ones. They are widened by their type, operated on without loss, clamped
//! to the destination's type if asked, and then combined with a third operand: a secondary operation, an accumulation,
//! or a merge of the result into parts of it.
//!
//! An instruction is a value here, not a type: there are thousands of combinations, and none is hot.
//!
//! Since Maxwell no GPU has the scalar instructions in hardware: the driver's assembler expands them to 64-bit integer
//! code. What that computes on an H200 (recorded in `tests/run/video`, read off with `nvdisasm` and then confirmed on
//! random operands) is what is computed here, and it differs from the manual's pseudo code in these points:
//!
//! - a merge into `.h1` takes the upper half of the result, not the lower one;
//! - `.sat` with a merge compares as unsigned: whatever is negative becomes the part's greatest value;
//! - `.sat` to `.u32` of anything but a shift raises negative results to 0, but lets those beyond 2^32 wrap;
//! - `.sat` of a shift looks at 34 bits of the result and clamps to 32 bits, even before a merge into less;
//! - `.min` and `.max` with `c` compare 64 bits: of sums, differences and saturated shifts the sign-extended word;
//! - `vset` has no `.dtype`: `c` is signed where `a` is;
//! - `vmad` multiplies words as signed and adds a signed `c`, whatever their types; these decide only how the sum is
//!   shifted and saturated.

/// What is computed from two widened sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `vadd`.
    Add,
    /// `vsub`.
    Sub,
    /// `vabsdiff`.
    AbsoluteDifference,
    /// `vmin`.
    Min,
    /// `vmax`.
    Max,
    /// `vavrg2`, `vavrg4`: half the sum, rounded to nearest, halves away from zero.
    Average,
    /// `vshl`, by an amount beyond 32 as by 32, or modulo 32.
    ShiftLeft {
        /// `.wrap`.
        wrap: bool,
    },
    /// `vshr`, likewise.
    ShiftRight {
        /// `.wrap`.
        wrap: bool,
    },
    /// `vset`: 1 where it holds, 0 elsewhere.
    Set(Comparison),
}

/// `.cmp` of `vset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Operation {
    /// The exact result; that of a left shift modulo 2^64.
    fn apply(self, a: i64, b: i64) -> i64 {
        let amount = |wrap| if wrap { b as u32 & 31 } else { (b as u32).min(32) };
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::AbsoluteDifference => (a - b).abs(),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Average if a + b >= 0 => (a + b + 1) >> 1,
            Self::Average => (a + b) >> 1,
            Self::ShiftLeft { wrap } => a << amount(wrap),
            Self::ShiftRight { wrap } => a >> amount(wrap),
            Self::Set(comparison) => i64::from(match comparison {
                Comparison::Eq => a == b,
                Comparison::Ne => a != b,
                Comparison::Lt => a < b,
                Comparison::Le => a <= b,
                Comparison::Gt => a > b,
                Comparison::Ge => a >= b,
            }),
        }
    }
}

/// A part of a 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole register.
    Word,
    /// `.h0`, `.h1`.
    Half(u8),
    /// `.b0` to `.b3`.
    Byte(u8),
}

impl Part {
    const fn bits(self) -> u32 {
        match self {
            Self::Word => 32,
            Self::Half(_) => 16,
            Self::Byte(_) => 8,
        }
    }

    fn shift(self) -> u32 {
        match self {
            Self::Word => 0,
            Self::Half(index) => 16 * u32::from(index & 1),
            Self::Byte(index) => 8 * u32::from(index & 3),
        }
    }

    /// The part of `value`, widened.
    fn extract(self, value: u32, signed: bool) -> i64 {
        widen(value >> self.shift(), self.bits(), signed)
    }

    /// `into` with this part replaced by the low bits of `value`.
    fn merge(self, value: u32, into: u32) -> u32 {
        let mask = (u32::MAX >> (32 - self.bits())) << self.shift();
        (value << self.shift()) & mask | into & !mask
    }
}

/// The low `bits` of a value as a signed or unsigned integer.
fn widen(value: u32, bits: u32, signed: bool) -> i64 {
    let high = value << (32 - bits);
    if signed { ((high as i32) >> (32 - bits)).into() } else { (high >> (32 - bits)).into() }
}

/// The nearest integer of `bits` bits.
fn clamp(value: i64, bits: u32, signed: bool) -> i64 {
    if signed {
        let limit = 1 << (bits - 1);
        value.clamp(-limit, limit - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

/// A source operand of a scalar instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// `.s32`.
    pub signed: bool,
    /// `.asel` or `.bsel`.
    pub part: Part,
}

impl Source {
    fn read(self, value: u32) -> i64 {
        self.part.extract(value, self.signed)
    }
}

/// What becomes of a scalar instruction's result and operand `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secondary {
    /// Nothing: there is no `c`.
    None,
    /// `.add`.
    Add,
    /// `.min`.
    Min,
    /// `.max`.
    Max,
    /// `d.dsel`: the result replaces a part of `c`.
    Merge(Part),
}

/// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// The first operation.
    pub operation: Operation,
    /// Operand `a`.
    pub a: Source,
    /// Operand `b`.
    pub b: Source,
    /// `.dtype` is `.s32`; of `vset`, `.atype`.
    pub signed: bool,
    /// `.sat`.
    pub saturate: bool,
    /// The second operation.
    pub secondary: Secondary,
}

impl Scalar {
    /// The destination's new value.
    pub fn compute(&self, a: u32, b: u32, c: u32) -> u32 {
        let exact = self.operation.apply(self.a.read(a), self.b.read(b));
        let result = if self.saturate { self.saturated(exact) } else { exact };
        let shifted = matches!(self.operation, Operation::ShiftLeft { .. } | Operation::ShiftRight { .. });
        let wraps = matches!(self.operation, Operation::Add | Operation::Sub) || shifted && self.saturate;
        let result = match self.secondary {
            Secondary::Merge(_) => result,
            _ if wraps => i64::from(result as i32),
            _ => result,
        };
        let signed_c = i64::from(c as i32);
        match self.secondary {
            Secondary::None => result as u32,
            Secondary::Add => (result as u32).wrapping_add(c),
            Secondary::Min if self.signed => result.min(signed_c) as u32,
            Secondary::Min => (result as u64).min(c.into()) as u32,
            Secondary::Max if self.signed => result.max(signed_c) as u32,
            Secondary::Max => (result as u64).max(c.into()) as u32,
            Secondary::Merge(part @ Part::Half(1)) => part.merge((result >> 16) as u32, c),
            Secondary::Merge(part) => part.merge(result as u32, c),
        }
    }

    /// `.sat`, by what follows.
    fn saturated(&self, exact: i64) -> i64 {
        match (self.operation, self.secondary) {
            (Operation::ShiftLeft { .. } | Operation::ShiftRight { .. }, _) => {
                clamp(exact << 30 >> 30, 32, self.signed)
            }
            (_, Secondary::Merge(part)) => {
                let greatest = (1 << (part.bits() - u32::from(self.signed))) - 1;
                (exact as u64).min(greatest) as i64
            }
            _ if self.signed => clamp(exact, 32, true),
            _ => exact.max(0),
        }
    }
}

/// `vmad`: the product of two parts and a sum, scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiplyAdd {
    /// Operand `a`.
    pub a: Source,
    /// Operand `b`.
    pub b: Source,
    /// One of `a` and `b` is negated.
    pub negate_product: bool,
    /// `c` is negated.
    pub negate_c: bool,
    /// `.po`: one more.
    pub plus_one: bool,
    /// `.shr7`, `.shr15`: how far the sum is shifted right.
    pub shift: u32,
    /// `.sat`.
    pub saturate: bool,
}

impl MultiplyAdd {
    /// The destination's new value.
    pub fn compute(&self, a: u32, b: u32, c: u32) -> u32 {
        let signed = self.a.signed || self.b.signed || self.negate_product || self.negate_c;
        let word = |value: i64| i64::from(value as i32);
        let product = word(self.a.read(a)) * word(self.b.read(b));
        let third = i64::from(c as i32);
        let sum = if self.negate_product { -product } else { product }
            .wrapping_add(if self.negate_c { -third } else { third })
            .wrapping_add(i64::from(self.plus_one));
        let result = if signed { sum >> self.shift } else { (sum as u64 >> self.shift) as i64 };
        if self.saturate { clamp(result, 32, signed) as u32 } else { result as u32 }
    }
}

/// The SIMD instructions on two half words or four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The operation on each pair of elements.
    pub operation: Operation,
    /// 2 or 4.
    pub elements: u8,
    /// `.atype` is `.s32`.
    pub a_signed: bool,
    /// `.btype` is `.s32`.
    pub b_signed: bool,
    /// Which element of `b:a`, counted from the lowest of `a`, is the first source of each result, lowest first.
    pub a: [u8; 4],
    /// The second source's.
    pub b: [u8; 4],
    /// `.dtype` is `.s32`.
    pub signed: bool,
    /// `.sat`.
    pub saturate: bool,
    /// The results that count, a bit each.
    pub mask: u8,
    /// `.add`: add the results to `c` instead of merging them into it.
    pub accumulate: bool,
}

impl Packed {
    /// The destination's new value.
    pub fn compute(&self, a: u32, b: u32, c: u32) -> u32 {
        let bits = 32 / u32::from(self.elements);
        let both = u64::from(b) << 32 | u64::from(a);
        let element = |index: u8, signed| widen((both >> (u32::from(index) * bits)) as u32, bits, signed);
        let mut d = c;
        for i in (0..self.elements).filter(|i| self.mask >> i & 1 != 0) {
            let (a, b) = (self.a[usize::from(i)], self.b[usize::from(i)]);
            let mut result = self.operation.apply(element(a, self.a_signed), element(b, self.b_signed));
            if self.saturate {
                result = clamp(result, bits, self.signed);
            }
            if self.accumulate {
                d = d.wrapping_add(result as u32);
            } else {
                let part = if self.elements == 2 { Part::Half(i) } else { Part::Byte(i) };
                d = part.merge(result as u32, d);
            }
        }
        d
    }
}

/// Any video instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// A scalar one.
    Scalar(Scalar),
    /// `vmad`.
    MultiplyAdd(MultiplyAdd),
    /// A SIMD one.
    Packed(Packed),
}

impl Instruction {
    /// The destination's new value; `c` is 0 where the instruction has none.
    pub fn compute(&self, a: u32, b: u32, c: u32) -> u32 {
        match self {
            Self::Scalar(scalar) => scalar.compute(a, b, c),
            Self::MultiplyAdd(mad) => mad.compute(a, b, c),
            Self::Packed(packed) => packed.compute(a, b, c),
        }
    }
}
