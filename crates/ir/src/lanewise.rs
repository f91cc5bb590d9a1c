//! What a lane computes: instructions as functions of words, by the functions of `numerics`.
//!
//! An instruction is *lanewise* if each lane's one result follows from the lane's operands. Folding applies the function
//! to constants, and an engine that has no code of its own for an instruction can call it for each lane; so neither has a
//! list of instructions and their modifiers to keep. (The interpreter selects the same functions of `numerics` with
//! another aim: it has them compiled into loops over lanes.)
//!
//! | file | instructions |
//! | --- | --- |
//! | `choose` | types and constants for what an instruction says |
//! | `integer`, `logic`, `float`, `half`, `compare`, `convert`, `video` | as the chapters of the manual |
//!
//! Not here are instructions with several results (`setp p|q`, `mov` to several registers), with the carry flag, of 128
//! bits, and those that depend on where memory lies.

mod choose;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod logic;
pub mod video;

use crate::instruction::Op;
use crate::operand::{Def, Part, Predicate, Value};
use std::fmt;

/// What a lane computes from its operands, each in the low bits of a word, in the order of [`Lanewise::operands`]. Of the
/// result the low bits count.
pub type LaneFunction = Box<dyn Fn(&[u64; MOST_OPERANDS]) -> u64 + Send + Sync>;

/// The most operands that an instruction has here.
pub const MOST_OPERANDS: usize = 4;

/// An instruction that computes one result lane by lane.
pub struct Lanewise {
    /// Where the result goes.
    pub d: Def,
    /// Bits of the result; a predicate has one.
    pub bits: u32,
    /// Whether a wider register gets the result's sign: else it gets zeros.
    pub signed: bool,
    /// What it reads, at most [`MOST_OPERANDS`].
    pub operands: Vec<Operand>,
    /// What it computes.
    pub function: LaneFunction,
}

impl fmt::Debug for Lanewise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { d, bits, signed, operands, function: _ } = self;
        write!(f, "Lanewise({d:?}, {bits} bits, signed: {signed}, of {operands:?})")
    }
}

/// An operand of a [`LaneFunction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What is read.
    pub value: Value,
    /// How many of its low bits count; a predicate has one.
    pub bits: u32,
    /// Whether the opposite of a predicate is read.
    pub negated: bool,
}

impl Lanewise {
    /// An instruction as a function of words, if it is lanewise.
    pub fn new(op: &Op) -> Option<Self> {
        integer::function(op)
            .or_else(|| logic::function(op))
            .or_else(|| float::function(op))
            .or_else(|| half::function(op))
            .or_else(|| compare::function(op))
            .or_else(|| convert::function(op))
            .or_else(|| video::function(op))
    }

    /// The result of operands in the low bits of words, as the bits of a register of `width` bits.
    pub fn result(&self, words: &[u64; MOST_OPERANDS], width: u32) -> u64 {
        extended((self.function)(words), self.bits, self.signed) & ones(width)
    }

    /// The same where all operands are constants.
    pub fn of_constants(&self, width: u32) -> Option<u64> {
        let mut words = [0; MOST_OPERANDS];
        for (word, operand) in words.iter_mut().zip(&self.operands) {
            let Value::Constant(bits) = operand.value else { return None };
            *word = match operand.bits {
                1 => u64::from((bits != 0) != operand.negated),
                _ => bits,
            };
        }
        Some(self.result(&words, width))
    }

    fn from_function<R: Word, const N: usize>(
        d: Def,
        operands: [Operand; N],
        function: LaneFunction,
    ) -> Self {
        Self { d, bits: R::BITS, signed: R::SIGNED, operands: operands.to_vec(), function }
    }
}

fn ones(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// The low bits of a word, and above them their sign or zeros.
fn extended(word: u64, bits: u32, signed: bool) -> u64 {
    let low = word & ones(bits);
    let negative = signed && low >> (bits.clamp(1, 64) - 1) == 1;
    if negative { low | !ones(bits) } else { low }
}

/// A type that functions of `numerics` take, in a word.
trait Word {
    const BITS: u32;
    const SIGNED: bool;
    fn from_word(word: u64) -> Self;
    fn to_word(self) -> u64;
}

macro_rules! words {
    ($($t:ty: $signed:literal),+) => {$(
        impl Word for $t {
            const BITS: u32 = <$t>::BITS;
            const SIGNED: bool = $signed;
            fn from_word(word: u64) -> Self {
                word as $t
            }
            fn to_word(self) -> u64 {
                self as u64
            }
        }
    )+};
}
words! { u8: false, u16: false, u32: false, u64: false, i8: true, i16: true, i32: true, i64: true }

/// A predicate.
impl Word for bool {
    const BITS: u32 = 1;
    const SIGNED: bool = false;
    fn from_word(word: u64) -> Self {
        word & 1 == 1
    }
    fn to_word(self) -> u64 {
        u64::from(self)
    }
}

/// What instructions have in the place of an operand.
trait Read {
    fn read(&self, bits: u32) -> Operand;
}

impl Read for Value {
    fn read(&self, bits: u32) -> Operand {
        Operand { value: *self, bits, negated: false }
    }
}

impl Read for Predicate {
    fn read(&self, bits: u32) -> Operand {
        Operand { value: self.value, bits, negated: self.negated }
    }
}

/// All of the register: the part is the function's business.
impl Read for Part {
    fn read(&self, bits: u32) -> Operand {
        self.value.read(bits)
    }
}

/// An operand that may be missing is 0 then.
impl<T: Read> Read for Option<T> {
    fn read(&self, bits: u32) -> Operand {
        match self {
            Some(operand) => operand.read(bits),
            None => Value::Constant(0).read(bits),
        }
    }
}
