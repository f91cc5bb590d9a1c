//! Instructions as functions of words: what folding applies to constants.

use super::{
    Binary, Comparison, Element, Int, Lanewise, Nonzero, Property, Quaternary, Quinary, Relation,
    RelationVisitor, Ternary, Test, Unary, Video, Visitor,
};
use crate::choice::is_signed;
use crate::instruction::{Op, SetIntBool};
use crate::operand::{Def, Predicate, Value};
use numerics::bits;
use ptx::types::ScalarType;
use std::fmt;

/// What a lane computes from its operands, each in the low bits of a word, in the order of [`WordFunction::operands`]. Of the
/// result the low bits count.
type LaneFunction = Box<dyn Fn(&[u64; MOST_OPERANDS]) -> u64 + Send + Sync>;

/// The most operands that an instruction has here.
pub const MOST_OPERANDS: usize = 5;

/// An instruction that computes one result lane by lane.
pub struct WordFunction {
    /// Where the result goes.
    pub d: Def,
    /// Bits of the result; a predicate has one.
    pub bits: u32,
    /// Whether a wider register gets the result's sign: else it gets zeros.
    pub signed: bool,
    /// What it reads, at most [`MOST_OPERANDS`].
    pub operands: Vec<Operand>,
    function: LaneFunction,
}

impl fmt::Debug for WordFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { d, bits, signed, operands, function: _ } = self;
        write!(f, "WordFunction({d:?}, {bits} bits, signed: {signed}, of {operands:?})")
    }
}

/// An operand of a [`WordFunction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What is read.
    pub value: Value,
    /// How many of its low bits count; a predicate has one.
    pub bits: u32,
    /// Whether the opposite of a predicate is read.
    pub negated: bool,
}

impl WordFunction {
    /// What an instruction computes, if it has one result that follows from its operands.
    pub fn of(op: &Op) -> Option<Self> {
        by_instruction!(op, instruction => Told(instruction).on_words())
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

    fn new(
        d: Def,
        bits: u32,
        operands: impl IntoIterator<Item = Operand>,
        function: impl Fn(&[u64; MOST_OPERANDS]) -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            d,
            bits,
            signed: false,
            operands: operands.into_iter().collect(),
            function: Box::new(function),
        }
    }

    /// The same with a result of type `R`.
    fn typed<R: Int>(
        d: Def,
        operands: impl IntoIterator<Item = Operand>,
        function: impl Fn(&[u64; MOST_OPERANDS]) -> R + Send + Sync + 'static,
    ) -> Self {
        let signed = R::SIGNED;
        Self { signed, ..Self::new(d, R::BITS, operands, move |words| function(words).to_u64()) }
    }
}

/// A typed instruction, which is told what it computes if it is lanewise. Where the first of the two methods is for the
/// instruction, it goes before the second one.
struct Told<'a, T>(&'a T);

impl<T: Lanewise> Told<'_, T> {
    fn on_words(&self) -> Option<WordFunction> {
        self.0.visit(OnWords)
    }
}

trait NotLanewise {
    fn on_words(&self) -> Option<WordFunction> {
        None
    }
}

impl<T> NotLanewise for Told<'_, T> {}

/// The visitor that makes a [`WordFunction`], if there is one result.
#[derive(Clone, Copy, Debug)]
pub struct OnWords;

impl Visitor for OnWords {
    type Output = Option<WordFunction>;

    fn unary<F: Unary>(self, d: Def, [a]: [Value; 1]) -> Self::Output {
        let operands = [value::<F::A>(a)];
        Some(WordFunction::typed(d, operands, |&[a, ..]| F::lane(Int::from_u64(a))))
    }

    fn binary<F: Binary>(self, d: Def, [a, b]: [Value; 2]) -> Self::Output {
        let operands = [value::<F::A>(a), value::<F::B>(b)];
        Some(WordFunction::typed(d, operands, |&[a, b, ..]| F::lane(Int::from_u64(a), Int::from_u64(b))))
    }

    fn ternary<F: Ternary>(self, d: Def, [a, b, c]: [Value; 3]) -> Self::Output {
        let operands = [value::<F::A>(a), value::<F::B>(b), value::<F::C>(c)];
        Some(WordFunction::typed(d, operands, |&[a, b, c, ..]| {
            F::lane(Int::from_u64(a), Int::from_u64(b), Int::from_u64(c))
        }))
    }

    fn quaternary<F: Quaternary>(self, d: Def, [a, b, c, e]: [Value; 4]) -> Self::Output {
        let operands = [value::<F::A>(a), value::<F::B>(b), value::<F::C>(c), value::<F::D>(e)];
        Some(WordFunction::typed(d, operands, |&[a, b, c, e, _]| {
            F::lane(Int::from_u64(a), Int::from_u64(b), Int::from_u64(c), Int::from_u64(e))
        }))
    }

    fn quinary<F: Quinary>(self, d: Def, [a, b, c, e, f]: [Value; 5]) -> Self::Output {
        let first = [value::<F::A>(a), value::<F::B>(b), value::<F::C>(c)];
        let operands = first.into_iter().chain([value::<F::D>(e), value::<F::E>(f)]);
        Some(WordFunction::typed(d, operands, |&[a, b, c, e, f]| {
            let (a, b, c) = (Int::from_u64(a), Int::from_u64(b), Int::from_u64(c));
            F::lane(a, b, c, Int::from_u64(e), Int::from_u64(f))
        }))
    }

    fn extend(self, d: Def, a: Value, from: ScalarType, to: ScalarType) -> Self::Output {
        let function = move |&[a, ..]: &[u64; MOST_OPERANDS]| extended(a, from.bits(), is_signed(from));
        let new = WordFunction::new(d, to.bits(), [of_bits(a, from.bits())], function);
        Some(WordFunction { signed: is_signed(to), ..new })
    }

    fn select(self, d: Def, bits: u32, [a, b]: [Value; 2], by: Predicate) -> Self::Output {
        let operands = [of_bits(a, bits), of_bits(b, bits), predicate(by)];
        Some(WordFunction::new(d, bits, operands, |&[a, b, by, ..]| if holds(by) { a } else { b }))
    }

    /// Element 0 is the lowest.
    fn pack(self, d: Def, bits: u32, elements: &[Value]) -> Self::Output {
        let count = elements.len();
        if bits > u64::BITS || !(1..=MOST_OPERANDS).contains(&count) {
            return None;
        }
        let part = bits / count as u32;
        let operands = elements.iter().map(|&element| of_bits(element, part));
        Some(WordFunction::new(d, bits, operands, move |words| {
            let elements = words[..count].iter().rev();
            elements.fold(0, |packed: u64, &word| packed.wrapping_shl(part) | word & ones(part))
        }))
    }

    fn look_up(self, d: Def, values: [Value; 3], table: u8, nonzero: Option<Nonzero>) -> Self::Output {
        if nonzero.is_some() {
            return None;
        }
        Some(WordFunction::typed(d, values.map(value::<u32>), move |&[a, b, c, ..]| {
            bits::lop3(a as u32, b as u32, c as u32, table)
        }))
    }

    fn video(self, Video { instruction, d, sources }: Video) -> Self::Output {
        // What it does not have does not matter.
        let known = sources.map(|source| if source == Value::Unused { Value::Constant(0) } else { source });
        let operands = known.map(|source| of_bits(source, u32::BITS));
        Some(WordFunction::new(d, u32::BITS, operands, move |&[a, b, c, ..]| {
            instruction.compute(a as u32, b as u32, c as u32).into()
        }))
    }

    fn property<F: Property>(self, d: Def, a: Value) -> Self::Output {
        let operands = [value::<F::A>(a)];
        Some(WordFunction::new(d, 1, operands, |&[a, ..]| F::holds(Int::from_u64(a)).into()))
    }

    fn setp<C: Comparison>(self, p: Def, q: Option<Def>, test: Test<C>) -> Self::Output {
        if q.is_some() {
            return None;
        }
        let outcome = outcome(&test, Element::Low)?;
        Some(WordFunction::new(p, 1, tested(&test), move |words| outcome(words).into()))
    }

    fn set<C: Comparison>(self, d: Def, bits: u32, truth: u64, test: Test<C>) -> Self::Output {
        let low = outcome(&test, Element::Low)?;
        // Of one value the upper half is nothing.
        let high = if test.is_packed() { Some(outcome(&test, Element::High)?) } else { None };
        Some(WordFunction::new(d, bits, tested(&test), move |words| {
            let high = high.as_ref().is_some_and(|high| high(words));
            (if high { truth << 16 } else { 0 }) | if low(words) { truth } else { 0 }
        }))
    }

    fn combine(self, d: Def, [a, b]: [Predicate; 2], by: SetIntBool) -> Self::Output {
        let operands = [predicate(a), predicate(b)];
        Some(WordFunction::new(d, 1, operands, move |&[a, b, ..]| combined(by, holds(a), holds(b)).into()))
    }

    fn opposite(self, d: Def, of: Predicate) -> Self::Output {
        Some(WordFunction::new(d, 1, [predicate(of)], |&[a, ..]| (!holds(a)).into()))
    }
}

type Outcome = Box<dyn Fn(&[u64; MOST_OPERANDS]) -> bool + Send + Sync>;

/// Whether a comparison holds for an element of its operands ([`tested`]), combined with what it is combined with.
fn outcome<C: Comparison>(test: &Test<C>, element: Element) -> Option<Outcome> {
    struct Compared;
    impl RelationVisitor for Compared {
        type Output = Option<fn(u64, u64) -> bool>;
        fn relation<F: Relation>(self) -> Self::Output {
            Some(|a, b| F::holds(Int::from_u64(a), Int::from_u64(b)))
        }
    }
    let compared = test.relation(element, Compared)?;
    let by = test.combine.map(|(by, _)| by);
    Some(Box::new(move |&[a, b, with, ..]| match by {
        Some(by) => combined(by, compared(a, b), holds(with)),
        None => compared(a, b),
    }))
}

/// What a comparison reads.
fn tested<C: Comparison>(test: &Test<C>) -> impl Iterator<Item = Operand> + use<C> {
    let bits = test.ty.bits();
    let combined = test.combine.map(|(_, with)| predicate(with));
    test.sources.map(|source| of_bits(source, bits)).into_iter().chain(combined)
}

fn combined(by: SetIntBool, a: bool, b: bool) -> bool {
    match by {
        SetIntBool::And => a & b,
        SetIntBool::Or => a | b,
        SetIntBool::Xor => a ^ b,
    }
}

fn value<T: Int>(value: Value) -> Operand {
    of_bits(value, T::BITS)
}

fn of_bits(value: Value, bits: u32) -> Operand {
    Operand { value, bits, negated: false }
}

fn predicate(Predicate { value, negated }: Predicate) -> Operand {
    Operand { value, bits: 1, negated }
}

/// The predicate in a word.
fn holds(word: u64) -> bool {
    word & 1 == 1
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
