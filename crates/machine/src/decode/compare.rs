//! Comparisons: what [`ir::lanewise`] says of `setp` and `set` as operations.
//!
//! A comparison writes predicates. `set`, which writes a register, compares into the scratch predicate and then
//! selects between two constants.

use super::decoder::{Decoded, Decoder, Missing};
use super::families::Rule;
use crate::image::{Meta, ZERO};
use crate::lanes::{Condition, Operand, PredicateId};
use crate::operation::Combine;
use crate::operation::kinds::Outcome;
use ir::lanewise::{Comparison, Element, Relation, RelationVisitor, Test};
use ir::operand::Def;
use std::marker::PhantomData;

/// A comparison of two sources, combined with a predicate, whose relations are as hot as a rule says.
pub(super) struct Compared<C, H> {
    test: Test<C>,
    sources: [Operand; 2],
    with: Option<Condition>,
    heat: PhantomData<H>,
}

/// Emits the relation that it is told of.
struct Emitted<'d, 'a, H> {
    d: &'d mut Decoder<'a>,
    outcome: Outcome,
    sources: [Operand; 2],
    meta: Meta,
    heat: PhantomData<H>,
}

impl<H: Rule> RelationVisitor for Emitted<'_, '_, H> {
    type Output = Decoded;
    fn relation<F: Relation>(self) -> Decoded {
        self.d.relation::<F, H::Of<F>>(self.outcome, self.sources, self.meta)
    }
}

impl<C: Comparison, H: Rule> Compared<C, H> {
    pub(super) fn new(d: &mut Decoder<'_>, test: Test<C>) -> Result<Self, Missing> {
        let [a, b] = &test.sources;
        let sources = [d.read(a, test.ty.bits())?, d.read(b, test.ty.bits())?];
        let with = test.combine.map(|(_, with)| d.read_predicate(&with)).transpose()?;
        Ok(Self { test, sources, with, heat: PhantomData })
    }

    /// Emits it: the result goes to predicate `p`, that of the complement to `q`.
    fn emit(
        &self,
        d: &mut Decoder<'_>,
        [p, q]: [Option<PredicateId>; 2],
        element: Element,
        meta: Meta,
    ) -> Decoded {
        let combine = self.test.combine.map(|(combine, _)| Combine::from(combine));
        let outcome = Outcome { p, q, with: self.with, combine };
        let emitted = Emitted::<H> { d, outcome, sources: self.sources, meta, heat: PhantomData };
        self.test.relation(element, emitted)
    }

    pub(super) fn setp(&self, d: &mut Decoder<'_>, p: Def, q: Option<Def>) -> Decoded {
        let (p, q) = (d.write_predicate(Some(p))?, d.write_predicate(q)?);
        if !self.test.is_packed() {
            return self.emit(d, [p, q], Element::Low, Meta::Plain);
        }
        // One result for each half. The first to be written must not be what the other is combined with.
        let mut results = [(p, Element::Low), (q, Element::High)];
        if p.is_some() && self.with.map(Condition::predicate) == p {
            results.reverse();
        }
        results.into_iter().try_for_each(|(p, element)| self.emit(d, [p, None], element, Meta::Plain))
    }

    pub(super) fn set(&self, d: &mut Decoder<'_>, to: Def, bits: u32, truth: u64) -> Decoded {
        let to = d.write_plane(to, bits)?;
        let p = d.frame.scratch_predicate();
        let (low, zero) = (d.constant(truth), ZERO.into());
        self.emit(d, [Some(p), None], Element::Low, Meta::Part)?;
        if !self.test.is_packed() {
            d.select(to, [low, zero], p, Meta::Plain);
            return Ok(());
        }
        // The lower half decides between the results for either outcome of the upper half.
        let (high, both) = (d.constant(truth << 16), d.constant(truth << 16 | truth));
        let [with, without] = [d.frame.temporary(bits), d.frame.temporary(bits)];
        d.select(with, [both, high], p, Meta::Part);
        d.select(without, [low, zero], p, Meta::Part);
        self.emit(d, [Some(p), None], Element::High, Meta::Part)?;
        d.select(to, [with.into(), without.into()], p, Meta::Plain);
        Ok(())
    }
}
