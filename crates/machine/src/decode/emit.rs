//! Emitting operations.

use super::Decoded;
use super::function::Decoder;
use super::operand::{Address, Destination, Source};
use crate::fault::Access;
use crate::lanes::Lane;
use crate::ops::shape::{Family, LaneFunction, Relation, compare, splat};
use crate::ops::{Execute, NONE, Op};
use crate::program::{Image, Meta, ZERO};
use ir::operand::{Def, Value};

/// An operation with nothing but a function.
pub(crate) fn op(execute: Execute) -> Op {
    Op { execute, d: NONE, a: NONE, b: NONE, c: NONE, x: NONE, y: 0, imm: 0 }
}

impl Decoder<'_> {
    /// Emits an operation that stands for the current instruction.
    pub(crate) fn emit(&mut self, op: Op) {
        self.emit_as(op, Meta::Plain);
    }

    /// Emits an operation that only prepares operands.
    pub(crate) fn emit_part(&mut self, op: Op) {
        self.emit_as(op, Meta::Part);
    }

    /// Emits an access of `bytes` a lane to memory; the other fields of the operation, and what its `y` has beside the
    /// address, are given.
    pub(crate) fn emit_access(&mut self, at: Address, access: Access, bytes: u32, fields: Op) {
        let meta = Meta::Memory { space: at.space, access, bytes };
        self.emit_as(Op { a: at.a, y: at.y | fields.y, imm: at.imm, ..fields }, meta);
    }

    /// Emits an operation whose field `x` is the index of its site in a table of the image.
    pub(crate) fn emit_site<T>(
        &mut self,
        execute: Execute,
        table: impl FnOnce(&mut Image) -> &mut Vec<T>,
        site: T,
    ) -> Decoded {
        let table = table(self.image);
        let x = table.len() as u32;
        table.push(site);
        self.emit(Op { x, ..op(execute) });
        Ok(())
    }

    /// A plane with the value of a source.
    pub(crate) fn plane<T: Lane>(&mut self, source: Source) -> u32 {
        match source {
            Source::Plane(index) => index,
            Source::Scalar(scalar) => {
                let d = self.temporary(T::BITS);
                self.emit_part(Op { d, a: scalar, ..op(splat::<T>(self.level)) });
                d
            }
        }
    }

    /// Emits `family` with sources of the lane widths `bits`; `d_bits` is the destination's.
    pub(crate) fn emit_family(
        &mut self,
        family: Family,
        (destination, d_bits): (Destination, u32),
        sources: &[(Source, u32)],
    ) -> Decoded {
        let mut index = [NONE; 3];
        let scalars = sources.iter().all(|(s, _)| matches!(s, Source::Scalar(_)));
        if scalars {
            for (i, (source, _)) in index.iter_mut().zip(sources) {
                *i = source.index();
            }
            let [a, b, c] = index;
            match destination {
                Destination::Scalar(d) => self.emit(Op { d, a, b, c, ..op(family.scalar) }),
                Destination::Plane(d) => {
                    let scalar = self.new_scalar();
                    self.emit_part(Op { d: scalar, a, b, c, ..op(family.scalar) });
                    self.emit_splat(d, scalar, d_bits);
                }
            }
            return Ok(());
        }
        let Destination::Plane(d) = destination else {
            return Err("a scalar from what may differ between threads".to_owned());
        };
        let kinds = |sources: &[Source]| {
            let bits = sources.iter().enumerate();
            bits.fold(0, |k, (i, s)| k | usize::from(matches!(s, Source::Scalar(_))) << i)
        };
        let mut chosen: Vec<Source> = sources.iter().map(|&(s, _)| s).collect();
        // Where a member is missing, scalars become planes, the first one first.
        for i in 0..chosen.len() {
            if family.planes[kinds(&chosen)].is_some() {
                break;
            }
            chosen[i] = Source::Plane(self.plane_of(chosen[i], sources[i].1));
        }
        let execute = family.planes[kinds(&chosen)].expect("a family has a member for planes");
        for (i, source) in index.iter_mut().zip(&chosen) {
            *i = source.index();
        }
        let [a, b, c] = index;
        self.emit(Op { d, a, b, c, ..op(execute) });
        Ok(())
    }

    /// A plane of `bits` with the value of a source.
    pub(crate) fn plane_of(&mut self, source: Source, bits: u32) -> u32 {
        match bits {
            16 => self.plane::<u16>(source),
            32 => self.plane::<u32>(source),
            _ => self.plane::<u64>(source),
        }
    }

    /// Emits the operation that spreads a scalar over a plane.
    pub(crate) fn emit_splat(&mut self, d: u32, scalar: u32, bits: u32) {
        let execute = match bits {
            16 => splat::<u16>(self.level),
            32 => splat::<u32>(self.level),
            _ => splat::<u64>(self.level),
        };
        self.emit(Op { d, a: scalar, ..op(execute) });
    }

    /// Emits `d = F(values)`.
    pub(crate) fn lanewise<F: LaneFunction<N>, const N: usize, const HOT: bool>(
        &mut self,
        d: Def,
        values: [&Value; N],
    ) -> Decoded {
        let d = self.write_extended(d, F::RESULT, F::SIGNED)?;
        let mut sources = [(Source::Scalar(ZERO), 0); N];
        for (source, (value, bits)) in sources.iter_mut().zip(values.into_iter().zip(F::VALUES)) {
            *source = (self.read(value, bits)?, bits);
        }
        self.emit_family(F::family::<HOT>(self.level), (d, F::RESULT), &sources)
    }

    /// A comparison of sources `a` and `b` into predicate `p` and the complement into `q`, combined with `c` as `y`
    /// says; any of the three may be [`NONE`].
    pub(crate) fn relation<F: Relation, const HOT: bool>(
        &mut self,
        [p, q, c]: [u32; 3],
        y: u32,
        sources: [Source; 2],
        meta: Meta,
    ) {
        let family = compare::<F, HOT>(self.level);
        let fields = |execute, a, b| Op { d: p, x: q, a, b, c, y, ..op(execute) };
        let execute = match sources {
            [Source::Scalar(a), Source::Scalar(b)] => {
                return self.emit_as(fields(family.scalar, a, b), meta);
            }
            [Source::Plane(_), Source::Plane(_)] => family.planes[0b00],
            [Source::Scalar(_), Source::Plane(_)] => family.planes[0b01],
            [Source::Plane(_), Source::Scalar(_)] => family.planes[0b10],
        };
        let (execute, [a, b]) = match (execute, family.planes[0]) {
            (Some(execute), _) => (execute, sources.map(Source::index)),
            (None, Some(execute)) => (execute, sources.map(|s| self.plane::<F::T>(s))),
            (None, None) => unreachable!("a family has a member for planes"),
        };
        self.emit_as(fields(execute, a, b), meta);
    }
}
