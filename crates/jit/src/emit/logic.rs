//! Logic, shifts, selection, and moves between registers.

use super::Emitter;
use super::integer::is_signed;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::class::Class;
use ir::instruction::{Direction, Lop3, Lop3Bool, Op, SzextMode};
use ir::operand::{Def, Predicate, Space, Value};
use machine::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};

impl Emitter<'_> {
    /// An instruction of this chapter; `false` if it is not.
    pub(crate) fn logic(&mut self, op: &Op) -> Result<bool, Refusal> {
        match op {
            Op::Mov(i) if i.ty.bits() <= 64 => {
                let value = self.read(&i.a, i.ty.bits())?;
                self.write(i.d, value, false)?;
            }
            Op::MovPred(i) => {
                let value = self.predicate(&Predicate { value: i.a, negated: false })?;
                self.write(i.d, value, false)?;
            }
            Op::MovPack(i) if i.ty.bits() <= 64 => self.pack(op, i.d, i.ty.bits(), &i.a)?,
            Op::MovUnpack(i) if i.ty.bits() <= 64 => {
                let bits = i.ty.bits();
                let part = bits / i.d.len().max(1) as u32;
                if part < 8 {
                    return Ok(false);
                }
                let source = [self.read(&i.a, bits)?];
                let class = self.uniform_or_varying(op, &source);
                for (at, &def) in i.d.iter().enumerate() {
                    let value = self.compute(class, part, &source, None, |e, kind, s| {
                        let (int, to) = (e.text.int(bits, kind), e.text.int(part, kind));
                        let by = e.text.constant(i64::from(part) * at as i64, bits, kind);
                        let shifted = e.text.value(&format!("lshr {int} {}, {by}", s[0]));
                        e.text.value(&format!("trunc {int} {shifted} to {to}"))
                    });
                    self.write(def, value, false)?;
                }
            }
            Op::Cvta(i) => {
                let mut value = self.read(&i.a, i.ty.bits())?;
                let window = match i.space {
                    Space::Global | Space::Const => 0,
                    Space::Shared | Space::SharedCta if i.ty.bits() == 64 => SHARED_WINDOW as i64,
                    Space::Local if i.ty.bits() == 64 => LOCAL_WINDOW as i64,
                    Space::Param | Space::ParamEntry if i.ty.bits() == 64 => PARAM_WINDOW as i64,
                    _ => return Ok(false),
                };
                if window != 0 {
                    let by = if i.to { -window } else { window };
                    let class = self.class_of_result(op);
                    value = self.compute(class, 64, &[value], None, |e, kind, s| {
                        let (int, by) = (e.text.int(64, kind), e.text.constant(by, 64, kind));
                        e.text.value(&format!("add {int} {}, {by}", s[0]))
                    });
                }
                self.write(i.d, value, false)?;
            }
            Op::Selp(i) => {
                let bits = i.ty.bits();
                let sources = [self.predicate(&i.c)?, self.read(&i.a, bits)?, self.read(&i.b, bits)?];
                let class = self.uniform_or_varying(op, &sources);
                let value = self.compute(class, bits, &sources, None, |e, kind, s| {
                    let (bit, int) = (e.text.int(1, kind), e.text.int(bits, kind));
                    e.text.value(&format!("select {bit} {}, {int} {}, {int} {}", s[0], s[1], s[2]))
                });
                self.write(i.d, value, is_signed(i.ty))?;
            }
            Op::Not(i) => self.unary(op, i.d, i.ty.bits(), i.ty.bits(), &i.a, |e, int, bits, kind, a| {
                let ones = e.text.constant(-1, bits, kind);
                e.text.value(&format!("xor {int} {a}, {ones}"))
            })?,
            Op::Cnot(i) => self.unary(op, i.d, i.ty.bits(), i.ty.bits(), &i.a, |e, int, bits, kind, a| {
                let (zero, bit) = (e.text.constant(0, bits, kind), e.text.int(1, kind));
                let is = e.text.value(&format!("icmp eq {int} {a}, {zero}"));
                e.text.value(&format!("zext {bit} {is} to {int}"))
            })?,
            Op::Popc(i) => self.counted(op, i.d, i.ty.bits(), &i.a, "ctpop", "")?,
            Op::Clz(i) => self.counted(op, i.d, i.ty.bits(), &i.a, "ctlz", ", i1 false")?,
            Op::Brev(i) => self.unary(op, i.d, i.ty.bits(), i.ty.bits(), &i.a, |e, int, bits, kind, a| {
                let name = e.text.suffix(&format!("i{bits}"), kind);
                e.intrinsic(&format!("declare {int} @llvm.bitreverse.{name}({int})"));
                e.text.value(&format!("call {int} @llvm.bitreverse.{name}({int} {a})"))
            })?,
            Op::Shl(i) => self.shift(op, i.d, i.ty.bits(), [&i.a, &i.b], "shl", is_signed(i.ty))?,
            Op::Shr(i) => {
                let how = if is_signed(i.ty) { "ashr" } else { "lshr" };
                self.shift(op, i.d, i.ty.bits(), [&i.a, &i.b], how, is_signed(i.ty))?;
            }
            Op::Shf(i) => {
                let sources = [self.read(&i.a, 32)?, self.read(&i.b, 32)?, self.read(&i.c, 32)?];
                let class = self.uniform_or_varying(op, &sources);
                let value = self.compute(class, 32, &sources, None, |e, kind, s| {
                    let (word, wide) = (e.text.int(32, kind), e.text.int(64, kind));
                    let (most, mask) = (e.text.constant(32, 32, kind), e.text.constant(31, 32, kind));
                    let amount = match i.mode {
                        SzextMode::Wrap => e.text.value(&format!("and {word} {}, {mask}", s[2])),
                        SzextMode::Clamp => {
                            let bit = e.text.int(1, kind);
                            let less = e.text.value(&format!("icmp ult {word} {}, {most}", s[2]));
                            e.text.value(&format!("select {bit} {less}, {word} {}, {word} {most}", s[2]))
                        }
                    };
                    let by = e.text.value(&format!("zext {word} {amount} to {wide}"));
                    let low = e.text.value(&format!("zext {word} {} to {wide}", s[0]));
                    let high = e.text.value(&format!("zext {word} {} to {wide}", s[1]));
                    let upper = e.text.constant(32, 64, kind);
                    let high = e.text.value(&format!("shl {wide} {high}, {upper}"));
                    let both = e.text.value(&format!("or {wide} {high}, {low}"));
                    let shifted = match i.direction {
                        Direction::R => e.text.value(&format!("lshr {wide} {both}, {by}")),
                        Direction::L => {
                            let left = e.text.value(&format!("shl {wide} {both}, {by}"));
                            e.text.value(&format!("lshr {wide} {left}, {upper}"))
                        }
                    };
                    e.text.value(&format!("trunc {wide} {shifted} to {word}"))
                });
                self.write(i.d, value, false)?;
            }
            Op::Lop3(i) => self.lop3(op, i)?,
            Op::AndPred(i) => self.predicates(op, i.d, [&i.a, &i.b], "and")?,
            Op::OrPred(i) => self.predicates(op, i.d, [&i.a, &i.b], "or")?,
            Op::XorPred(i) => self.predicates(op, i.d, [&i.a, &i.b], "xor")?,
            Op::NotPred(i) => {
                let value = self.predicate(&Predicate { negated: !i.a.negated, ..i.a })?;
                self.write(i.d, value, false)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unary(
        &mut self,
        op: &Op,
        d: Def,
        bits: u32,
        of: u32,
        a: &Value,
        mut f: impl FnMut(&mut Self, &str, u32, Kind, &str) -> String,
    ) -> Result<(), Refusal> {
        let source = [self.read(a, bits)?];
        let class = self.class_of_result(op);
        let value = self.compute(class, of, &source, None, |e, kind, s| {
            let int = e.text.int(bits, kind);
            f(e, &int, bits, kind, &s[0])
        });
        self.write(d, value, false)
    }

    /// A number of bits, in 32.
    fn counted(
        &mut self,
        op: &Op,
        d: Def,
        bits: u32,
        a: &Value,
        how: &str,
        more: &str,
    ) -> Result<(), Refusal> {
        self.unary(op, d, bits, 32, a, |e, int, bits, kind, a| {
            let name = e.text.suffix(&format!("i{bits}"), kind);
            let parameters = if more.is_empty() { int.to_owned() } else { format!("{int}, i1") };
            e.intrinsic(&format!("declare {int} @llvm.{how}.{name}({parameters})"));
            let count = e.text.value(&format!("call {int} @llvm.{how}.{name}({int} {a}{more})"));
            let word = e.text.int(32, kind);
            if bits > 32 { e.text.value(&format!("trunc {int} {count} to {word}")) } else { count }
        })
    }

    /// An amount of the width or more shifts everything out, or leaves copies of the sign.
    fn shift(
        &mut self,
        op: &Op,
        d: Def,
        bits: u32,
        [a, b]: [&Value; 2],
        how: &str,
        signed: bool,
    ) -> Result<(), Refusal> {
        let amount = self.read(b, 32)?;
        let sources = [self.read(a, bits)?, amount];
        let class = self.class_of_result(op);
        let value = self.compute(class, bits, &sources, None, |e, kind, s| {
            let (int, word, bit) = (e.text.int(bits, kind), e.text.int(32, kind), e.text.int(1, kind));
            let most = e.text.constant(i64::from(bits), 32, kind);
            let last = e.text.constant(i64::from(bits) - 1, 32, kind);
            let fits = e.text.value(&format!("icmp ult {word} {}, {most}", s[1]));
            let by = e.text.value(&format!("select {bit} {fits}, {word} {}, {word} {last}", s[1]));
            let by = match bits {
                32 => by,
                64 => e.text.value(&format!("zext {word} {by} to {int}")),
                _ => e.text.value(&format!("trunc {word} {by} to {int}")),
            };
            let shifted = e.text.value(&format!("{how} {int} {}, {by}", s[0]));
            if how == "ashr" {
                return shifted;
            }
            let zero = e.text.constant(0, bits, kind);
            e.text.value(&format!("select {bit} {fits}, {int} {shifted}, {int} {zero}"))
        });
        self.write(d, value, signed)
    }

    fn pack(&mut self, op: &Op, d: Def, bits: u32, parts: &[Value]) -> Result<(), Refusal> {
        let part = bits / parts.len().max(1) as u32;
        if part < 8 {
            return Err(self.unsupported());
        }
        let sources: Vec<Lanes> =
            parts.iter().map(|value| self.read(value, part)).collect::<Result<_, _>>()?;
        let class = self.uniform_or_varying(op, &sources);
        let value = self.compute(class, bits, &sources, None, |e, kind, s| {
            let (int, from) = (e.text.int(bits, kind), e.text.int(part, kind));
            let mut all: Option<String> = None;
            for (at, s) in s.iter().enumerate() {
                let by = e.text.constant(i64::from(part) * at as i64, bits, kind);
                let wide = e.text.value(&format!("zext {from} {s} to {int}"));
                let placed = e.text.value(&format!("shl {int} {wide}, {by}"));
                all = Some(match all {
                    None => placed,
                    Some(all) => e.text.value(&format!("or {int} {all}, {placed}")),
                });
            }
            all.unwrap_or_default()
        });
        self.write(d, value, false)
    }

    /// A sum of the products that its table has, which LLVM simplifies.
    fn lop3(&mut self, op: &Op, i: &Lop3) -> Result<(), Refusal> {
        let sources = [self.read(&i.a, 32)?, self.read(&i.b, 32)?, self.read(&i.c, 32)?];
        let class = self.uniform_or_varying(op, &sources);
        let value = self.compute(class, 32, &sources, None, |e, kind, s| {
            let word = e.text.int(32, kind);
            let ones = e.text.constant(-1, 32, kind);
            let not: Vec<String> =
                s.iter().map(|s| e.text.value(&format!("xor {word} {s}, {ones}"))).collect();
            let mut all = e.text.constant(0, 32, kind);
            for row in (0..8).filter(|row| i.imm_lut >> row & 1 != 0) {
                let term = |at: usize| if row >> (2 - at) & 1 != 0 { &s[at] } else { &not[at] };
                let two = e.text.value(&format!("and {word} {}, {}", term(0), term(1)));
                let three = e.text.value(&format!("and {word} {two}, {}", term(2)));
                all = e.text.value(&format!("or {word} {all}, {three}"));
            }
            all
        });
        let (Some(how), Some(p), Some(q)) = (i.combine, i.p, &i.q) else {
            return self.write(i.d, value, false);
        };
        let how = match how {
            Lop3Bool::And => "and",
            Lop3Bool::Or => "or",
        };
        let sources = [value.clone(), self.predicate(q)?];
        let class = self.uniform_or_varying(op, &sources);
        let holds = self.compute(class, 1, &sources, None, |e, kind, s| {
            let (word, bit, zero) = (e.text.int(32, kind), e.text.int(1, kind), e.text.constant(0, 32, kind));
            let some = e.text.value(&format!("icmp ne {word} {}, {zero}", s[0]));
            e.text.value(&format!("{how} {bit} {some}, {}", s[1]))
        });
        self.write(i.d, value, false)?;
        self.write(p, holds, false)
    }

    fn predicates(&mut self, op: &Op, d: Def, of: [&Predicate; 2], how: &str) -> Result<(), Refusal> {
        let sources = [self.predicate(of[0])?, self.predicate(of[1])?];
        let class: Class = self.uniform_or_varying(op, &sources);
        let value = self.compute(class, 1, &sources, None, |e, kind, s| {
            let ty = e.text.int(1, kind);
            e.text.value(&format!("{how} {ty} {}, {}", s[0], s[1]))
        });
        self.write(d, value, false)
    }
}
