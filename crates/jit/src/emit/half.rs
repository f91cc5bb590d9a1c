//! Half precision to nearest: one value, or two in a register, and conversions from and to `.f32`.
//!
//! What `.ftz`, `.sat` and `.relu` add, `mul` and `fma` of `.bf16`, and comparisons of two at once are the machine's.

use super::Emitter;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use ir::instruction::{AddFloatRnd, CvtFloatRnd, CvtPackFloatRnd, Op};
use ir::operand::{Def, Value};
use ptx::types::ScalarType;

/// Arithmetic on one value, by the name of its function.
struct Arithmetic<'a> {
    d: Def,
    ty: ScalarType,
    function: &'static str,
    operands: Vec<&'a Value>,
}

fn arithmetic(op: &Op) -> Option<Arithmetic<'_>> {
    use ScalarType::{Bf16, Bf16x2, F16, F16x2};
    let (d, ty, operands, [f16, bf16]): (_, _, Vec<&Value>, _) = match op {
        Op::AddHalf(i) if !i.ftz && !i.sat => {
            (i.d, i.ty, vec![&i.a, &i.b], ["f16.add", "bf16.add"].map(Some))
        }
        Op::SubHalf(i) if !i.ftz && !i.sat => {
            (i.d, i.ty, vec![&i.a, &i.b], ["f16.sub", "bf16.sub"].map(Some))
        }
        Op::MinHalf(i) if !i.ftz && !i.nan && !i.xorsign => {
            (i.d, i.ty, vec![&i.a, &i.b], ["f16.min", "bf16.min"].map(Some))
        }
        Op::MaxHalf(i) if !i.ftz && !i.nan && !i.xorsign => {
            (i.d, i.ty, vec![&i.a, &i.b], ["f16.max", "bf16.max"].map(Some))
        }
        Op::MulHalf(i) if !i.ftz && !i.sat => (i.d, i.ty, vec![&i.a, &i.b], [Some("f16.mul"), None]),
        Op::FmaHalf(i) if !i.ftz && !i.sat && !i.relu && !i.oob && i.rnd == AddFloatRnd::Rn => {
            (i.d, i.ty, vec![&i.a, &i.b, &i.c], [Some("f16.fma"), None])
        }
        _ => return None,
    };
    let function = match ty {
        F16 | F16x2 => f16?,
        Bf16 | Bf16x2 => bf16?,
        _ => return None,
    };
    Some(Arithmetic { d, ty, function, operands })
}

impl Emitter<'_> {
    /// An instruction of this chapter; `false` if it is not.
    pub(crate) fn half(&mut self, op: &Op) -> Result<bool, Refusal> {
        use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32};
        if let Some(Arithmetic { d, ty, function, operands }) = arithmetic(op) {
            let bits = ty.bits();
            let sources: Vec<Lanes> =
                operands.into_iter().map(|value| self.read(value, bits)).collect::<Result<_, _>>()?;
            let result = match ty {
                F16x2 | Bf16x2 => {
                    let [low, high] = [0, 16].map(|from| {
                        let parts: Vec<Lanes> =
                            sources.iter().map(|source| self.part_of(source, from)).collect();
                        self.call(function, &parts)
                    });
                    self.pair(low, high)
                }
                _ => self.call(function, &sources),
            };
            self.write(d, result, false)?;
            return Ok(true);
        }
        match op {
            Op::CvtFloat(i) if i.dtype == F32 && matches!(i.atype, F16 | Bf16) && !i.ftz && !i.relu => {
                let source = self.read_low(&i.a, 16)?;
                let mut value = match i.atype {
                    F16 => {
                        let value = self.call_for("f16.widen", &[source], 32);
                        self.call("canonical", &[value])
                    }
                    // Copied, NaN as well.
                    _ => self.call_for("bf16.widen", &[source], 32),
                };
                if i.sat {
                    value = self.call("saturate", &[value]);
                }
                self.write(i.d, value, false)?;
            }
            Op::SetpHalf(i) if matches!(i.ty, F16 | Bf16) && !i.ftz && i.q.is_none() => {
                let widen = if i.ty == F16 { "f16.widen" } else { "bf16.widen" };
                let sources = [self.read_low(&i.a, 16)?, self.read_low(&i.b, 16)?];
                let sources = sources.map(|source| self.call_for(widen, &[source], 32));
                let holds = self.compare_numbers(i.cmp, 32, &sources);
                self.combine(holds, i.combine, i.c.as_ref(), i.p, None)?;
            }
            Op::CvtFloat(i)
                if i.atype == F32
                    && matches!(i.dtype, F16 | Bf16)
                    && i.rnd == Some(CvtFloatRnd::Rn)
                    && !(i.ftz || i.sat || i.relu || i.satfinite) =>
            {
                let source = self.read_raw(&i.a, 32)?;
                let value = self.call_for(narrowing(i.dtype == F16), &[source], 16);
                self.write(i.d, value, false)?;
            }
            Op::CvtPackFloat(i)
                if matches!(i.dtype, F16x2 | Bf16x2)
                    && i.rnd == CvtPackFloatRnd::Rn
                    && !(i.relu || i.satfinite) =>
            {
                let function = narrowing(i.dtype == F16x2);
                let sources = [self.read_raw(&i.b, 32)?, self.read_raw(&i.a, 32)?];
                let [low, high] = sources.map(|source| self.call_for(function, &[source], 16));
                let value = self.pair(low, high);
                self.write(i.d, value, false)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// 16 bits of 32.
    fn part_of(&mut self, lanes: &Lanes, from: u32) -> Lanes {
        let kind = Kind::Vector;
        let (word, vector) = (self.text.int(32, kind), self.vector(lanes));
        let by = self.text.constant(from.into(), 32, kind);
        let shifted = self.text.value(&format!("lshr {word} {vector}, {by}"));
        let part = self.resized(Lanes::varying(32, shifted), 16, false);
        match lanes.is_uniform() {
            true => self.common(part),
            false => part,
        }
    }

    /// Two halves in a register.
    fn pair(&mut self, low: Lanes, high: Lanes) -> Lanes {
        let uniform = low.is_uniform() && high.is_uniform();
        let kind = Kind::Vector;
        let (word, by) = (self.text.int(32, kind), self.text.constant(16, 32, kind));
        let [low, high] = [low, high].map(|half| {
            let half = self.resized(half, 32, false);
            self.vector(&half)
        });
        let high = self.text.value(&format!("shl {word} {high}, {by}"));
        let both = Lanes::varying(32, self.text.value(&format!("or {word} {low}, {high}")));
        match uniform {
            true => self.common(both),
            false => both,
        }
    }

    /// A vector whose lanes are known to be the same.
    fn common(&mut self, lanes: Lanes) -> Lanes {
        let (ty, vector) = (self.text.int(lanes.bits, Kind::Vector), self.vector(&lanes));
        Lanes::uniform(lanes.bits, self.text.value(&format!("extractelement {ty} {vector}, i32 0")))
    }
}

/// The function from `.f32` to a half.
fn narrowing(is_f16: bool) -> &'static str {
    if is_f16 { "f16.narrow" } else { "bf16.narrow" }
}
