//! Emitting operations of families, with splats where a member is missing.

use super::decoder::{Decoded, Decoder};
use crate::image::{Function, Meta, Op, ZERO};
use crate::lanes::simd::Level;
use crate::lanes::{LaneOf, Operand, PlaneId, PredicateId, ScalarId, Source};
use crate::operation::kinds::{Compare, Outcome, Select, Splat};
use crate::ops::shape::{Family, Heat, LaneFunction, Lanewise, compare, select_by_predicate, splat};
use ir::lanewise::{Int, Relation};
use ir::operand::{Def, Value};

/// The operation that spreads a scalar over a plane.
pub(super) fn spread(level: Level, d: PlaneId, a: ScalarId) -> Op {
    splat(d.bits(), level).with(Splat { d, a })
}

/// Which operands are scalars, a bit each.
fn scalars(operands: &[Operand]) -> usize {
    operands.iter().enumerate().fold(0, |kinds, (i, operand)| kinds | usize::from(operand.is_scalar()) << i)
}

impl Decoder<'_> {
    /// A plane of `bits` with the value of a source.
    pub(crate) fn plane_of(&mut self, source: Operand, bits: u32) -> PlaneId {
        match source.source() {
            Source::Plane(plane) => plane,
            Source::Scalar(scalar) => {
                let d = self.frame.temporary(bits);
                self.emit_part(spread(self.level, d, scalar));
                d
            }
        }
    }

    /// Emits the operation that spreads a scalar over a plane.
    pub(crate) fn emit_splat(&mut self, d: PlaneId, scalar: ScalarId) -> Decoded {
        self.emit(spread(self.level, d, scalar))
    }

    /// Emits `family` with sources of these lane widths.
    pub(crate) fn emit_family<F: Lanewise<N>, const N: usize>(
        &mut self,
        family: Family<F>,
        destination: Operand,
        mut sources: [Operand; N],
        widths: [u32; N],
    ) -> Decoded {
        if sources.iter().all(|source| source.is_scalar()) {
            return match destination.source() {
                Source::Scalar(_) => self.emit(family.scalar.with(F::new(destination, sources))),
                Source::Plane(d) => {
                    let scalar = self.frame.new_scalar();
                    self.emit_part(family.scalar.with(F::new(scalar.into(), sources)));
                    self.emit_splat(d, scalar)
                }
            };
        }
        if destination.is_scalar() {
            return Err("a scalar from what may differ between threads".to_owned());
        }
        let function = self.member(&family, &mut sources, widths);
        self.emit(function.with(F::new(destination, sources)))
    }

    /// The member of a family for planes and scalars as the sources are. Where it is missing, scalars become planes, the first
    /// one first.
    fn member<F, const N: usize>(
        &mut self,
        family: &Family<F>,
        sources: &mut [Operand; N],
        widths: [u32; N],
    ) -> Function<F> {
        let mut rest = 0..N;
        loop {
            if let Some(function) = family.planes[scalars(sources)] {
                return function;
            }
            let i = rest.next().expect("a family has a member for planes");
            sources[i] = self.plane_of(sources[i], widths[i]).into();
        }
    }

    /// Emits `d = F(values)`.
    pub(crate) fn lanewise<F: LaneFunction<N>, const N: usize, H: Heat>(
        &mut self,
        d: Def,
        values: [Value; N],
    ) -> Decoded {
        let d = self.write_extended(d, F::RESULT, F::SIGNED)?;
        let mut sources = [ZERO.into(); N];
        for (source, (value, bits)) in sources.iter_mut().zip(values.iter().zip(F::VALUES)) {
            *source = self.read(value, bits)?;
        }
        if let (true, [a, b, ..]) = (H::COMMUTES, &mut sources[..])
            && a.is_scalar()
            && !b.is_scalar()
        {
            std::mem::swap(a, b);
        }
        self.emit_family(F::family::<H>(self.level), d, sources, F::VALUES)
    }

    /// Emits a comparison.
    pub(crate) fn relation<F: Relation, H: Heat>(
        &mut self,
        outcome: Outcome,
        mut sources: [Operand; 2],
        meta: Meta,
    ) -> Decoded {
        let family = compare::<F, H>(self.level);
        let function = match sources.iter().all(|source| source.is_scalar()) {
            true => family.scalar,
            false => self.member(&family, &mut sources, [<LaneOf<F::T> as Int>::BITS; 2]),
        };
        let [a, b] = sources;
        self.code.emit(function.with(Compare { a, b, outcome }), meta);
        Ok(())
    }

    /// Emits `d` = `a` where a predicate holds, `b` elsewhere.
    pub(crate) fn select(&mut self, d: PlaneId, [a, b]: [Operand; 2], predicate: PredicateId, meta: Meta) {
        let function = select_by_predicate(d.bits(), self.level)[scalars(&[a, b])];
        self.code.emit(function.with(Select { d, a, b, predicate }), meta);
    }
}
