//! What a lane computes: which function of `numerics` an instruction is.
//!
//! An instruction is *lanewise* if each lane's one result follows from the lane's operands. It tells a [`Visitor`] so, and which
//! function of `numerics` that is: as a type, with all that its modifiers say. What is made of the function is the visitor's
//! business: folding applies it to constants ([`WordFunction`]), the interpreter has it compiled into loops over lanes.
//! So a type, a rounding or `.sat` chooses here and nowhere else.
//!
//! | file | what |
//! | --- | --- |
//! | `word` | the types of operands, and the registers that hold them |
//! | `function` | functions as types, and what they were chosen by |
//! | `choose` | how the chapters say which function an instruction is |
//! | `integer`, `logic`, `float`, `half`, `mixed`, `compare`, `convert`, `video` | that, as the chapters of the manual |
//! | `on_words` | the visitor that makes functions of words |
//!
//! Not here are instructions with the carry flag, those that write several registers, copies, and what depends on where memory
//! lies.

mod choose;
mod compare;
mod convert;
mod float;
mod function;
mod half;
mod integer;
mod logic;
mod mixed;
mod on_words;
mod video;
mod word;

pub use compare::{Comparison, Element, RelationVisitor, Test};
pub use function::{Binary, Choice, Function, Property, Quaternary, Quinary, Relation, Ternary, Unary};
pub use logic::Nonzero;
pub use numerics::integer::Int;
pub use on_words::{MOST_OPERANDS, OnWords, Operand, WordFunction};
pub use video::Video;
pub use word::{ByWidth, Register, Word};

use crate::choice::NoChoice;
use crate::instruction::SetIntBool;
use crate::operand::{Def, Predicate, Value};
use ptx::types::ScalarType;

/// A typed instruction that is lanewise.
pub trait Lanewise {
    /// Tells a visitor what it computes, from what, and where to.
    fn visit<V: Visitor>(&self, to: V) -> V::Output;
}

impl<T: Lanewise> Lanewise for Box<T> {
    fn visit<V: Visitor>(&self, to: V) -> V::Output {
        (**self).visit(to)
    }
}

/// Who wants to know which function an instruction is. It is told once.
pub trait Visitor: Sized {
    /// What it makes of that.
    type Output: NoChoice;

    /// `d` = a function of a value.
    fn unary<F: Unary>(self, d: Def, a: [Value; 1]) -> Self::Output;
    /// `d` = a function of two values.
    fn binary<F: Binary>(self, d: Def, operands: [Value; 2]) -> Self::Output;
    /// `d` = a function of three values.
    fn ternary<F: Ternary>(self, d: Def, operands: [Value; 3]) -> Self::Output;
    /// `d` = a function of four values.
    fn quaternary<F: Quaternary>(self, d: Def, operands: [Value; 4]) -> Self::Output;
    /// `d` = a function of five values.
    fn quinary<F: Quinary>(self, d: Def, operands: [Value; 5]) -> Self::Output;

    /// `d` = the low bits of `a`, as an integer type has them, cut or extended to another.
    fn extend(self, d: Def, a: Value, from: ScalarType, to: ScalarType) -> Self::Output;
    /// `d` of `bits` = the first value where the predicate holds, else the second one.
    fn select(self, d: Def, bits: u32, values: [Value; 2], by: Predicate) -> Self::Output;
    /// `d` = elements put together, the first one lowest.
    fn pack(self, d: Def, bits: u32, elements: &[Value]) -> Self::Output;
    /// `d` = what a table has for the bits of three values. A predicate may be told as well whether that is not zero.
    fn look_up(self, d: Def, values: [Value; 3], table: u8, nonzero: Option<Nonzero>) -> Self::Output;
    /// What a video instruction computes.
    fn video(self, video: Video) -> Self::Output;

    /// Predicate `d` = whether a value has a property.
    fn property<F: Property>(self, d: Def, a: Value) -> Self::Output;
    /// Predicate `p` = whether a comparison holds; `q` = whether it does not, or of two elements whether it holds for the upper
    /// one.
    fn setp<C: Comparison>(self, p: Def, q: Option<Def>, test: Test<C>) -> Self::Output;
    /// `d` of `bits` = `truth` in each element for which a comparison holds, zero in the others.
    fn set<C: Comparison>(self, d: Def, bits: u32, truth: u64, test: Test<C>) -> Self::Output;
    /// Predicate `d` = two predicates combined.
    fn combine(self, d: Def, predicates: [Predicate; 2], by: SetIntBool) -> Self::Output;
    /// Predicate `d` = the opposite of another one.
    fn opposite(self, d: Def, of: Predicate) -> Self::Output;
}
