//! Video instructions (PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions"), for which no device since Maxwell has
//! opcodes: integer code in 64 bits for the scalar ones, as their sources have 33, in 32 bits for elements. What they compute
//! `numerics::video` says, down to where an H200 leaves the manual.

use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction::SetIntBool;
use ir::lanewise::{
    Binary, Comparison, Lanewise, Nonzero, Property, Quaternary, Quinary, Ternary, Test, Unary, Video,
    Visitor,
};
use ir::operand::{Def, Predicate, Value};
use numerics::video::{
    Comparison as Compared, Instruction, MultiplyAdd, Operation, Packed, Part, Scalar, Secondary, Source,
};
use ptx::types::ScalarType;

/// Takes what a video instruction says of itself.
struct AsVideo;

/// The visits that other instructions ask for.
macro_rules! others {
    ($($name:ident $(<$f:ident: $bound:ident>)? ($($argument:ty),*);)+) => {
        $(fn $name $(<$f: $bound>)? (self, $(_: $argument),*) -> Self::Output {
            Err("this instruction is none of video".to_owned())
        })+
    };
}

impl Visitor for AsVideo {
    type Output = Result<Video, Refusal>;

    fn video(self, video: Video) -> Self::Output {
        Ok(video)
    }

    others! {
        unary<F: Unary>(Def, [Value; 1]);
        binary<F: Binary>(Def, [Value; 2]);
        ternary<F: Ternary>(Def, [Value; 3]);
        quaternary<F: Quaternary>(Def, [Value; 4]);
        quinary<F: Quinary>(Def, [Value; 5]);
        extend(Def, Value, ScalarType, ScalarType);
        select(Def, u32, [Value; 2], Predicate);
        pack(Def, u32, &[Value]);
        look_up(Def, [Value; 3], u8, Option<Nonzero>);
        property<F: Property>(Def, Value);
        setp<C: Comparison>(Def, Option<Def>, Test<C>);
        set<C: Comparison>(Def, u32, u64, Test<C>);
        combine(Def, [Predicate; 2], SetIntBool);
        opposite(Def, Predicate);
    }
}

impl Select<'_> {
    pub(super) fn videos(&mut self, op: &Op) -> Option<Done> {
        let video = match op {
            Op::VideoAdd(op) => op.visit(AsVideo),
            Op::VideoSub(op) => op.visit(AsVideo),
            Op::VideoAbsdiff(op) => op.visit(AsVideo),
            Op::VideoMin(op) => op.visit(AsVideo),
            Op::VideoMax(op) => op.visit(AsVideo),
            Op::VideoShl(op) => op.visit(AsVideo),
            Op::VideoShr(op) => op.visit(AsVideo),
            Op::VideoSet(op) => op.visit(AsVideo),
            Op::VideoMad(op) => op.visit(AsVideo),
            Op::VideoAdd2(op) => op.visit(AsVideo),
            Op::VideoSub2(op) => op.visit(AsVideo),
            Op::VideoAvrg2(op) => op.visit(AsVideo),
            Op::VideoAbsdiff2(op) => op.visit(AsVideo),
            Op::VideoMin2(op) => op.visit(AsVideo),
            Op::VideoMax2(op) => op.visit(AsVideo),
            Op::VideoSet2(op) => op.visit(AsVideo),
            Op::VideoAdd4(op) => op.visit(AsVideo),
            Op::VideoSub4(op) => op.visit(AsVideo),
            Op::VideoAvrg4(op) => op.visit(AsVideo),
            Op::VideoAbsdiff4(op) => op.visit(AsVideo),
            Op::VideoMin4(op) => op.visit(AsVideo),
            Op::VideoMax4(op) => op.visit(AsVideo),
            Op::VideoSet4(op) => op.visit(AsVideo),
            _ => return None,
        };
        Some(video.and_then(|video| self.video(&video)))
    }

    fn video(&mut self, video: &Video) -> Done {
        let [a, b, c] = video.sources;
        let (a, b, c) = (self.word(&a)?, self.word(&b)?, self.word(&c)?);
        let result = match &video.instruction {
            Instruction::Scalar(scalar) => self.scalar_video(scalar, a, b, c)?,
            Instruction::MultiplyAdd(mad) => self.multiply_add(mad, a, b, c),
            Instruction::Packed(packed) => self.packed_video(packed, &[a, b], c)?,
        };
        self.set(video.d, result);
        Ok(())
    }

    fn scalar_video(&mut self, scalar: &Scalar, a: Operand, b: Operand, c: Operand) -> Result<Reg, Refusal> {
        let (a, b) = (self.source(scalar.a, a), self.source(scalar.b, b));
        let mut result = self.operation64(scalar.operation, a, b)?;
        let shifted = matches!(scalar.operation, Operation::ShiftLeft { .. } | Operation::ShiftRight { .. });
        if scalar.saturate {
            result = self.saturated(scalar, result, shifted);
        }
        let wraps = matches!(scalar.operation, Operation::Add | Operation::Sub) || shifted && scalar.saturate;
        if wraps && !matches!(scalar.secondary, Secondary::Merge(_)) {
            result = self.widened(Operand::part(result, 0), true);
        }
        let low = Operand::part(result, 0);
        Ok(match scalar.secondary {
            Secondary::None => self.one("MOV", vec![low]),
            Secondary::Add => self.add(low, c),
            Secondary::Min | Secondary::Max => {
                let c = self.widened(c, scalar.signed);
                let cmp = if scalar.secondary == Secondary::Min { "LT" } else { "GT" };
                let all = self.chosen64(cmp, scalar.signed, result, c);
                self.one("MOV", vec![Operand::part(all, 0)])
            }
            Secondary::Merge(part @ Part::Half(1)) => {
                let upper = self.shift64(result, Operand::number(16), false, true);
                self.merged(part, Operand::part(upper, 0), c)
            }
            Secondary::Merge(part) => self.merged(part, low, c),
        })
    }

    /// A part of a register as a number of 32 bits.
    fn part_of(&mut self, part: Part, signed: bool, from: Operand) -> Operand {
        let (lowest, bytes) = match part {
            Part::Word => return from,
            Part::Half(index) => (2 * u32::from(index & 1), 2),
            Part::Byte(index) => (u32::from(index & 3), 1),
        };
        // Above the part stand copies of its sign, or a byte of the register that is always zero.
        let above = if signed { 8 | (lowest + bytes - 1) } else { 4 };
        let byte = |at: u32| if at < bytes { lowest + at } else { above };
        let order = (0..4).fold(0, |order, at| order | byte(at) << (4 * at));
        Operand::low(self.one("PRMT", vec![from, Operand::number(order), Operand::zero()]))
    }

    fn source(&mut self, source: Source, from: Operand) -> Reg {
        let word = self.part_of(source.part, source.signed, from);
        self.widened(word, source.signed)
    }

    /// A number of 32 bits as one of 64.
    pub(super) fn widened(&mut self, word: Operand, signed: bool) -> Reg {
        if !signed {
            return self.join(word, Operand::zero());
        }
        let sign = self.one("SHF.R.S32.HI", vec![Operand::zero(), Operand::number(31), word.clone()]);
        self.join(word, Operand::low(sign))
    }

    /// The one of two values of 64 bits for which a comparison holds.
    pub(super) fn chosen64(&mut self, cmp: &str, signed: bool, a: Reg, b: Reg) -> Reg {
        let first = self.compare64(cmp, signed, a, b, Operand::always(false), "AND").0;
        self.select_double(a, b, first, false)
    }

    fn operation64(&mut self, operation: Operation, a: Reg, b: Reg) -> Result<Reg, Refusal> {
        Ok(match operation {
            Operation::Add => self.sum64(a, b, false),
            Operation::Sub => self.sum64(a, b, true),
            Operation::AbsoluteDifference => {
                let difference = self.sum64(a, b, true);
                self.magnitude64(difference)
            }
            Operation::Min => self.chosen64("LT", true, a, b),
            Operation::Max => self.chosen64("GT", true, a, b),
            Operation::ShiftLeft { wrap } | Operation::ShiftRight { wrap } => {
                let b = Operand::part(b, 0);
                let by = match wrap {
                    true => self.lop(b, Operand::number(31), 0xc0),
                    false => self.one("VIMNMX.U32", vec![b, Operand::number(32), Operand::always(false)]),
                };
                let left = matches!(operation, Operation::ShiftLeft { .. });
                self.shift64(a, Operand::low(by), left, true)
            }
            Operation::Set(comparison) => {
                let holds = self.compare64(spelling(comparison), true, a, b, Operand::always(false), "AND").0;
                let one = Operand::number(1);
                let word = self.one("SEL", vec![Operand::zero(), one, Operand::Predicate(holds, true)]);
                self.join(Operand::low(word), Operand::zero())
            }
            Operation::Average => return Err("of a mean that is scalar".to_owned()),
        })
    }

    /// A value of 64 bits no further away than so many bits reach.
    fn clamped(&mut self, value: Reg, bits: u32, signed: bool) -> Reg {
        let (least, greatest) = limits(bits, signed);
        let greatest = self.constant64(greatest as u64);
        let below = self.chosen64("LT", true, value, greatest);
        let least = self.constant64(least as u64);
        self.chosen64("GT", true, below, least)
    }

    fn saturated(&mut self, scalar: &Scalar, exact: Reg, shifted: bool) -> Reg {
        match scalar.secondary {
            _ if shifted => {
                // 34 bits of it.
                let up = self.shift64(exact, Operand::number(30), true, true);
                let value = self.shift64(up, Operand::number(30), false, true);
                self.clamped(value, 32, scalar.signed)
            }
            Secondary::Merge(part) => {
                let greatest = limits(bits(part), scalar.signed).1;
                let greatest = self.constant64(greatest as u64);
                self.chosen64("LT", false, exact, greatest)
            }
            _ if scalar.signed => self.clamped(exact, 32, true),
            _ => {
                let zero = self.constant64(0);
                self.chosen64("GT", true, exact, zero)
            }
        }
    }

    /// `into` with a part replaced.
    fn merged(&mut self, part: Part, value: Operand, into: Operand) -> Reg {
        let (lowest, bytes) = match part {
            Part::Word => return self.one("MOV", vec![value]),
            Part::Half(index) => (2 * u32::from(index & 1), 2),
            Part::Byte(index) => (u32::from(index & 3), 1),
        };
        let byte = |at: u32| if (lowest..lowest + bytes).contains(&at) { at - lowest } else { 4 + at };
        let order = (0..4).fold(0, |order, at| order | byte(at) << (4 * at));
        self.one("PRMT", vec![value, Operand::number(order), into])
    }

    fn multiply_add(&mut self, mad: &MultiplyAdd, a: Operand, b: Operand, c: Operand) -> Reg {
        let signed = mad.a.signed || mad.b.signed || mad.negate_product || mad.negate_c;
        let a = self.part_of(mad.a.part, mad.a.signed, a);
        let b = self.part_of(mad.b.part, mad.b.signed, b);
        let product = self.pair("IMAD.WIDE", vec![a, b, Operand::zero()]);
        let third = self.widened(c, true);
        let zero = self.constant64(0);
        let product = if mad.negate_product { self.sum64(zero, product, true) } else { product };
        let mut sum = self.sum64(product, third, mad.negate_c);
        if mad.plus_one {
            let one = self.constant64(1);
            sum = self.sum64(sum, one, false);
        }
        if mad.shift > 0 {
            sum = self.shift64(sum, Operand::number(mad.shift), false, signed);
        }
        if mad.saturate {
            sum = self.clamped(sum, 32, signed);
        }
        self.one("MOV", vec![Operand::part(sum, 0)])
    }

    fn packed_video(&mut self, packed: &Packed, sources: &[Operand; 2], c: Operand) -> Result<Reg, Refusal> {
        let part = |index: u8| match packed.elements {
            2 => Part::Half(index),
            _ => Part::Byte(index),
        };
        let mut d = self.one("MOV", vec![c]);
        for index in (0..packed.elements).filter(|index| packed.mask >> index & 1 == 1) {
            let mut element = |chosen: u8, signed: bool| {
                let from = sources[usize::from(chosen / packed.elements) & 1].clone();
                self.part_of(part(chosen % packed.elements), signed, from)
            };
            let a = element(packed.a[usize::from(index)], packed.a_signed);
            let b = element(packed.b[usize::from(index)], packed.b_signed);
            let mut result = self.operation_on_elements(packed.operation, a, b)?;
            if packed.saturate {
                let (least, greatest) = limits(32 / u32::from(packed.elements), packed.signed);
                for (limit, is_least) in [(greatest, false), (least, true)] {
                    let limit = self.constant(limit as u32);
                    let read = vec![Operand::low(result), limit, Operand::always(is_least)];
                    result = self.one("VIMNMX", read);
                }
            }
            d = match packed.accumulate {
                true => self.add(Operand::low(d), Operand::low(result)),
                false => self.merged(part(index), Operand::low(result), Operand::low(d)),
            };
        }
        Ok(d)
    }

    fn operation_on_elements(
        &mut self,
        operation: Operation,
        a: Operand,
        b: Operand,
    ) -> Result<Reg, Refusal> {
        Ok(match operation {
            Operation::Add => self.add(a, b),
            Operation::Sub => self.add(a, b.signed("-")),
            Operation::AbsoluteDifference => {
                let difference = self.add(a, b.signed("-"));
                self.one("IABS", vec![Operand::low(difference)])
            }
            Operation::Min => self.one("VIMNMX", vec![a, b, Operand::always(false)]),
            Operation::Max => self.one("VIMNMX", vec![a, b, Operand::always(true)]),
            Operation::Average => {
                // Halves go away from zero: one more, but for what is negative.
                let sum = Operand::low(self.add(a, b));
                let sign = self.one("SHF.R.S32.HI", vec![Operand::zero(), Operand::number(31), sum.clone()]);
                let one = self.constant(1);
                let more = self.one("IADD3", vec![sum, Operand::low(sign), one]);
                self.one("SHF.R.S32.HI", vec![Operand::zero(), Operand::number(1), Operand::low(more)])
            }
            Operation::Set(comparison) => {
                let holds = self.compare(&format!("ISETP.{}.AND", spelling(comparison)), a, b);
                let read = vec![Operand::zero(), Operand::number(1), Operand::Predicate(holds, true)];
                self.one("SEL", read)
            }
            Operation::ShiftLeft { .. } | Operation::ShiftRight { .. } => {
                return Err("of shifts of elements".to_owned());
            }
        })
    }
}

fn bits(part: Part) -> u32 {
    match part {
        Part::Word => 32,
        Part::Half(_) => 16,
        Part::Byte(_) => 8,
    }
}

/// The least and the greatest integer of so many bits.
fn limits(bits: u32, signed: bool) -> (i64, i64) {
    match signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

fn spelling(comparison: Compared) -> &'static str {
    match comparison {
        Compared::Eq => "EQ",
        Compared::Ne => "NE",
        Compared::Lt => "LT",
        Compared::Le => "LE",
        Compared::Gt => "GT",
        Compared::Ge => "GE",
    }
}
