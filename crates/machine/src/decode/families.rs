//! Lanewise instructions: [`ir::lanewise`] says which function one is, and here it becomes an operation of that function's
//! family, or one of another kind.

use super::compare::Compared;
use super::decoder::{Decoded, Decoder};
use super::movement::pack;
use crate::image::Meta;
use crate::operation::Combine;
use crate::operation::kinds::{self, CombinePredicates, Lop3, MovePredicate, Outcome};
use crate::ops;
use crate::ops::body::select;
use crate::ops::shape::Heat;
use ir::choice::is_signed;
use ir::instruction::SetIntBool;
use ir::lanewise::{
    Binary, Choice, Comparison, Function, Nonzero, Property, Quaternary, Quinary, Relation, Ternary, Test,
    Unary, Video, Visitor,
};
use ir::operand::{Def, Predicate, Value};
use ptx::module::RegId;
use ptx::types::ScalarType;
use std::marker::PhantomData;

/// Which functions are hot.
pub(super) trait Rule: 'static {
    /// Whether this one is.
    type Of<F: Function>: Heat;
}

/// Emits what it is told of, as hot as a rule says.
pub(super) struct Families<'d, 'a, H> {
    d: &'d mut Decoder<'a>,
    heat: PhantomData<H>,
}

impl<'d, 'a, H: Rule> Families<'d, 'a, H> {
    pub(super) fn new(d: &'d mut Decoder<'a>) -> Self {
        Self { d, heat: PhantomData }
    }
}

impl<H: Rule> Visitor for Families<'_, '_, H> {
    type Output = Decoded;

    fn unary<F: Unary>(self, to: Def, a: [Value; 1]) -> Decoded {
        self.d.lanewise::<F, 1, H::Of<F>>(to, a)
    }

    fn binary<F: Binary>(self, to: Def, operands: [Value; 2]) -> Decoded {
        self.d.lanewise::<F, 2, H::Of<F>>(to, operands)
    }

    fn ternary<F: Ternary>(self, to: Def, operands: [Value; 3]) -> Decoded {
        self.d.lanewise::<F, 3, H::Of<F>>(to, operands)
    }

    fn quaternary<F: Quaternary>(self, to: Def, operands: [Value; 4]) -> Decoded {
        self.d.lanewise::<F, 4, H::Of<F>>(to, operands)
    }

    fn quinary<F: Quinary>(self, to: Def, operands: [Value; 5]) -> Decoded {
        self.d.lanewise::<F, 5, H::Of<F>>(to, operands)
    }

    fn extend(self, to: Def, a: Value, from: ScalarType, result: ScalarType) -> Decoded {
        extend(self.d, to, a, [from, result])
    }

    fn select(self, to: Def, bits: u32, [a, b]: [Value; 2], by: Predicate) -> Decoded {
        let to = self.d.write_plane(to, bits)?;
        let (a, b) = (self.d.read(&a, bits)?, self.d.read(&b, bits)?);
        let by = self.d.read_predicate(&by)?;
        self.d.select(to, if by.negated() { [b, a] } else { [a, b] }, by.predicate(), Meta::Plain);
        Ok(())
    }

    fn pack(self, to: Def, bits: u32, elements: &[Value]) -> Decoded {
        pack(self.d, to, bits, elements)
    }

    fn look_up(self, to: Def, [a, b, c]: [Value; 3], table: u8, nonzero: Option<Nonzero>) -> Decoded {
        let d = self.d;
        let to = d.write_plane(to, 32)?;
        let [a, b, c] = [d.read_plane(&a, 32)?, d.read_plane(&b, 32)?, d.read_plane(&c, 32)?];
        d.emit(select::<Lop3>(d.level).with(Lop3 { d: to, a, b, c, table }))?;
        let Some(Nonzero { p, combine, with }) = nonzero else { return Ok(()) };
        let (p, with) = (d.write_predicate(Some(p))?, Some(d.read_predicate(&with)?));
        let outcome = Outcome { p, q: None, with, combine: Some(Combine::from(combine)) };
        d.emit(kinds::Nonzero { a: to, outcome })
    }

    fn video(self, Video { instruction, d: to, sources: [a, b, c] }: Video) -> Decoded {
        let d = self.d;
        let to = d.write_plane(to, 32)?;
        let [a, b, c] = [d.read_plane(&a, 32)?, d.read_plane(&b, 32)?, d.read_plane(&c, 32)?];
        d.emit_with(instruction, |site| kinds::Video { d: to, a, b, c, site })
    }

    fn property<F: Property>(self, to: Def, a: Value) -> Decoded {
        let p = self.d.write_predicate(Some(to))?;
        let a = self.d.read(&a, F::CHOICE.operand)?;
        let outcome = Outcome { p, q: None, with: None, combine: None };
        self.d.relation::<ToItself<F>, H::Of<F>>(outcome, [a, a], Meta::Plain)
    }

    fn setp<C: Comparison>(self, p: Def, q: Option<Def>, test: Test<C>) -> Decoded {
        Compared::<C, H>::new(self.d, test)?.setp(self.d, p, q)
    }

    fn set<C: Comparison>(self, to: Def, bits: u32, truth: u64, test: Test<C>) -> Decoded {
        Compared::<C, H>::new(self.d, test)?.set(self.d, to, bits, truth)
    }

    fn combine(self, to: Def, [a, b]: [Predicate; 2], by: SetIntBool) -> Decoded {
        let d = self.d.write_predicate(Some(to))?;
        let (a, b) = (self.d.read_predicate(&a)?, self.d.read_predicate(&b)?);
        self.d.emit(CombinePredicates { d, a, b, combine: Combine::from(by) })
    }

    fn opposite(self, to: Def, of: Predicate) -> Decoded {
        let d = self.d.write_predicate(Some(to))?;
        let a = !self.d.read_predicate(&of)?;
        self.d.emit(MovePredicate { d, a })
    }
}

/// A property as a relation of a value to itself.
struct ToItself<F>(PhantomData<F>);

impl<F: Property> Function for ToItself<F> {
    const CHOICE: Choice = F::CHOICE;
}

impl<F: Property> Relation for ToItself<F> {
    type T = F::A;
    #[inline(always)]
    fn holds(a: F::A, _: F::A) -> bool {
        F::holds(a)
    }
}

/// The width of a register's plane, of 128 bits the lower half.
fn width(d: &Decoder<'_>, register: RegId) -> u32 {
    d.bits_of(register).clamp(16, 64)
}

/// `cvt` between integers.
///
/// It alone among the arithmetic instructions takes registers wider than its types ("Operand Size Exceeding
/// Instruction-Type Size"): of a source the low bits count, and a signed result is extended with its sign to the whole
/// destination register, any other with zeros. Without `.sat` that is all there is to do, so one lane function serves all
/// pairs of types: it is chosen by the widths of the registers and by what survives of the value, which is the narrower of
/// the two types.
fn extend(d: &mut Decoder<'_>, to: Def, value: Value, [from, result]: [ScalarType; 2]) -> Decoded {
    let widens = result.bits() > from.bits();
    let kept = if widens { from } else { result };
    let a = match value {
        Value::Register(register) => width(d, register).max(from.bits()),
        _ => from.bits().max(16),
    };
    // A signed value in a wider unsigned type is extended by its sign up to that type only, and with zeros from there.
    let two_steps = widens && is_signed(from) && !is_signed(result);
    let r = match to.0 {
        Some(register) if !two_steps => width(d, register).max(result.bits()),
        _ => result.bits().max(16),
    };
    let to = d.write_extended(to, r, is_signed(result))?;
    let source = d.read(&value, a)?;
    let family = ops::width::extend(kept, a, r, d.level);
    let family = family.ok_or_else(|| format!("a conversion of .{kept} from {a} bits to {r}"))?;
    d.emit_family(family, to, [source], [a])
}
