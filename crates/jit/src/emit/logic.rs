//! Logic, shifts, selection, and moves between registers.

use super::Emitter;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::class::Class;
use crate::class::is_signed;
use ir::instruction::{Bfe, Bfi, Direction, Dp4a, Lop3, Lop3Bool, Op, Prmt, SzextMode};
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
            Op::MovPack(i) if i.ty.bits() <= 64 => self.pack(i.d, i.ty.bits(), &i.a)?,
            Op::MovUnpack(i) if i.ty.bits() <= 64 => {
                let bits = i.ty.bits();
                let part = bits / i.d.len().max(1) as u32;
                if part < 8 {
                    return Ok(false);
                }
                let source = [self.read(&i.a, bits)?];
                let class = self.uniform_or_varying(&source);
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
                    let class = self.class_of_result();
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
                let class = self.uniform_or_varying(&sources);
                let value = self.compute(class, bits, &sources, None, |e, kind, s| {
                    let (bit, int) = (e.text.int(1, kind), e.text.int(bits, kind));
                    e.text.value(&format!("select {bit} {}, {int} {}, {int} {}", s[0], s[1], s[2]))
                });
                self.write(i.d, value, is_signed(i.ty))?;
            }
            Op::Not(i) => self.unary(i.d, i.ty.bits(), i.ty.bits(), &i.a, |e, int, bits, kind, a| {
                let ones = e.text.constant(-1, bits, kind);
                e.text.value(&format!("xor {int} {a}, {ones}"))
            })?,
            Op::Cnot(i) => self.unary(i.d, i.ty.bits(), i.ty.bits(), &i.a, |e, int, bits, kind, a| {
                let (zero, bit) = (e.text.constant(0, bits, kind), e.text.int(1, kind));
                let is = e.text.value(&format!("icmp eq {int} {a}, {zero}"));
                e.text.value(&format!("zext {bit} {is} to {int}"))
            })?,
            Op::Popc(i) => self.counted(i.d, i.ty.bits(), &i.a, "ctpop", "")?,
            Op::Clz(i) => self.counted(i.d, i.ty.bits(), &i.a, "ctlz", ", i1 false")?,
            Op::Brev(i) => self.unary(i.d, i.ty.bits(), i.ty.bits(), &i.a, |e, int, bits, kind, a| {
                let name = e.text.suffix(&format!("i{bits}"), kind);
                e.intrinsic(&format!("declare {int} @llvm.bitreverse.{name}({int})"));
                e.text.value(&format!("call {int} @llvm.bitreverse.{name}({int} {a})"))
            })?,
            Op::Shl(i) => self.shift(i.d, i.ty.bits(), [&i.a, &i.b], "shl", is_signed(i.ty))?,
            Op::Shr(i) => {
                let how = if is_signed(i.ty) { "ashr" } else { "lshr" };
                self.shift(i.d, i.ty.bits(), [&i.a, &i.b], how, is_signed(i.ty))?;
            }
            Op::Shf(i) => {
                let sources = [self.read(&i.a, 32)?, self.read(&i.b, 32)?, self.read(&i.c, 32)?];
                let class = self.uniform_or_varying(&sources);
                let value = self.compute(class, 32, &sources, None, |e, kind, s| {
                    let (word, suffix) = (e.text.int(32, kind), e.text.suffix("i32", kind));
                    let (how, at_most) = match i.direction {
                        Direction::L => ("fshl", &s[0]),
                        Direction::R => ("fshr", &s[1]),
                    };
                    e.intrinsic(&format!("declare {word} @llvm.{how}.{suffix}({word}, {word}, {word})"));
                    let shifted = e.text.value(&format!(
                        "call {word} @llvm.{how}.{suffix}({word} {}, {word} {}, {word} {})",
                        s[1], s[0], s[2]
                    ));
                    match i.mode {
                        SzextMode::Wrap => shifted,
                        SzextMode::Clamp => {
                            let (bit, most) = (e.text.int(1, kind), e.text.constant(32, 32, kind));
                            let less = e.text.value(&format!("icmp ult {word} {}, {most}", s[2]));
                            e.text.value(&format!("select {bit} {less}, {word} {shifted}, {word} {at_most}"))
                        }
                    }
                });
                self.write(i.d, value, false)?;
            }
            Op::Bfe(i) => self.extract_field(i)?,
            Op::Bfi(i) => self.insert_field(i)?,
            Op::Prmt(Prmt { mode: None, d, a, b, c }) => {
                let mut sources = vec![self.read(a, 32)?, self.read(b, 32)?];
                let selector = self.constant_here(c);
                if selector.is_none() {
                    sources.push(self.read(c, 32)?);
                }
                let class = self.uniform_or_varying(&sources);
                let value = self.compute(class, 32, &sources, None, |e, kind, s| match selector {
                    Some(selector) => e.permute(kind, s, selector),
                    None => e.select_bytes(kind, s),
                });
                self.write(*d, value, false)?;
            }
            Op::Dp4a(i) => self.dot_product(i)?,
            Op::Lop3(i) => self.lop3(i)?,
            Op::AndPred(i) => self.predicates(i.d, [&i.a, &i.b], "and")?,
            Op::OrPred(i) => self.predicates(i.d, [&i.a, &i.b], "or")?,
            Op::XorPred(i) => self.predicates(i.d, [&i.a, &i.b], "xor")?,
            Op::NotPred(i) => {
                let value = self.predicate(&Predicate { negated: !i.a.negated, ..i.a })?;
                self.write(i.d, value, false)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `bfe`: shifted up to where the field's last bit is the highest one, and down again.
    fn extract_field(&mut self, i: &Bfe) -> Result<(), Refusal> {
        let (bits, signed) = (i.ty.bits(), is_signed(i.ty));
        let sources = [self.read(&i.a, bits)?, self.read(&i.b, 32)?, self.read(&i.c, 32)?];
        let class = self.uniform_or_varying(&sources);
        let value = self.compute(class, bits, &sources, None, |e, kind, s| {
            let (int, word, bit) = (e.text.int(bits, kind), e.text.int(32, kind), e.text.int(1, kind));
            let [last, zero] = [i64::from(bits) - 1, 0].map(|number| e.text.constant(number, 32, kind));
            let [from, length] = [1, 2].map(|at| e.field_number(&s[at], bits, kind));
            let end = e.text.value(&format!("add {word} {from}, {length}"));
            let end = e.text.value(&format!("sub {word} {end}, {}", e.text.constant(1, 32, kind)));
            let top = e.text.least(&end, &last, kind);
            let first = e.text.least(&from, &last, kind);
            let up = e.text.value(&format!("sub {word} {last}, {top}"));
            let down = e.text.value(&format!("add {word} {up}, {first}"));
            let [up, down] = [up, down].map(|by| e.amount(&by, bits, kind));
            let high = e.text.value(&format!("shl {int} {}, {up}", s[0]));
            let how = if signed { "ashr" } else { "lshr" };
            let field = e.text.value(&format!("{how} {int} {high}, {down}"));
            // There are no bits in a field of no length, nor, but for copies of the sign, in one behind the last bit.
            let none = e.text.value(&format!("icmp eq {word} {length}, {zero}"));
            let none = match signed {
                true => none,
                false => {
                    let behind = e.text.value(&format!("icmp ugt {word} {from}, {last}"));
                    e.text.value(&format!("or {bit} {none}, {behind}"))
                }
            };
            let zero = e.text.constant(0, bits, kind);
            e.text.value(&format!("select {bit} {none}, {int} {zero}, {int} {field}"))
        });
        self.write(i.d, value, false)
    }

    /// `bfi`.
    fn insert_field(&mut self, i: &Bfi) -> Result<(), Refusal> {
        let bits = i.ty.bits();
        let sources =
            [self.read(&i.a, bits)?, self.read(&i.b, bits)?, self.read(&i.c, 32)?, self.read(&i.e, 32)?];
        let class = self.uniform_or_varying(&sources);
        let value = self.compute(class, bits, &sources, None, |e, kind, s| {
            let (int, word, bit) = (e.text.int(bits, kind), e.text.int(32, kind), e.text.int(1, kind));
            let width = e.text.constant(bits.into(), 32, kind);
            let last = e.text.constant(i64::from(bits) - 1, 32, kind);
            let [zero, one, ones] = [0, 1, -1].map(|number| e.text.constant(number, bits, kind));
            let [from, length] = [2, 3].map(|at| e.field_number(&s[at], bits, kind));
            let [is_inside, is_part] =
                [&from, &length].map(|number| e.text.value(&format!("icmp ult {word} {number}, {width}")));
            let [by, long] = [&from, &length].map(|number| {
                let number = e.text.least(number, &last, kind);
                e.amount(&number, bits, kind)
            });
            let low = e.text.value(&format!("shl {int} {one}, {long}"));
            let low = e.text.value(&format!("sub {int} {low}, {one}"));
            let low = e.text.value(&format!("select {bit} {is_part}, {int} {low}, {int} {ones}"));
            let mask = e.text.value(&format!("shl {int} {low}, {by}"));
            let mask = e.text.value(&format!("select {bit} {is_inside}, {int} {mask}, {int} {zero}"));
            let field = e.text.value(&format!("shl {int} {}, {by}", s[0]));
            let differ = e.text.value(&format!("xor {int} {field}, {}", s[1]));
            let differ = e.text.value(&format!("and {int} {differ}, {mask}"));
            e.text.value(&format!("xor {int} {differ}, {}", s[1]))
        });
        self.write(i.d, value, false)
    }

    /// The place or the length of a field, as far as it matters: 32-bit instructions take it modulo 256, 64-bit ones whole
    /// (`numerics::bits`).
    fn field_number(&mut self, number: &str, bits: u32, kind: Kind) -> String {
        let (word, byte) = (self.text.int(32, kind), self.text.constant(255, 32, kind));
        let number = match bits {
            32 => self.text.value(&format!("and {word} {number}, {byte}")),
            _ => number.to_owned(),
        };
        let most = self.text.constant(bits.into(), 32, kind);
        self.text.least(&number, &most, kind)
    }

    /// An amount of 32 bits, less than the width of what is shifted, as wide as that.
    fn amount(&mut self, amount: &str, bits: u32, kind: Kind) -> String {
        let (word, int) = (self.text.int(32, kind), self.text.int(bits, kind));
        match bits {
            32 => amount.to_owned(),
            64 => self.text.value(&format!("zext {word} {amount} to {int}")),
            _ => self.text.value(&format!("trunc {word} {amount} to {int}")),
        }
    }

    /// `prmt` with a constant selector: four bytes of eight, or copies of their signs.
    fn permute(&mut self, kind: Kind, s: &[String], selector: u64) -> String {
        let lanes = if kind == Kind::Scalar { 1 } else { self.rows.width };
        let (word, count) = (self.text.int(32, kind), 4 * lanes);
        let bytes = format!("<{count} x i8>");
        let [a, b] = [0, 1].map(|at| self.text.value(&format!("bitcast {word} {} to {bytes}", s[at])));
        let nibble = |byte: u32| (selector >> (4 * byte)) as u32;
        let place = |at: u32| {
            let (lane, from) = (at / 4, nibble(at % 4) & 7);
            format!("i32 {}", from / 4 * count + lane * 4 + from % 4)
        };
        let places: Vec<String> = (0..count).map(place).collect();
        let mut all = self.text.value(&format!(
            "shufflevector {bytes} {a}, {bytes} {b}, <{count} x i32> <{}>",
            places.join(", ")
        ));
        if (0..4).any(|byte| nibble(byte) & 8 != 0) {
            let chosen = |sign: &str, byte: &str| {
                let of = |at: u32| if nibble(at % 4) & 8 != 0 { sign } else { byte };
                (0..count).map(|at| of(at).to_owned()).collect::<Vec<_>>().join(", ")
            };
            let seven = vec!["i8 7"; count as usize].join(", ");
            let signs = self.text.value(&format!("ashr {bytes} {all}, <{seven}>"));
            let picks = chosen("i1 true", "i1 false");
            all =
                self.text.value(&format!("select <{count} x i1> <{picks}>, {bytes} {signs}, {bytes} {all}"));
        }
        self.text.value(&format!("bitcast {bytes} {all} to {word}"))
    }

    /// `prmt` with any selector, the last source.
    fn select_bytes(&mut self, kind: Kind, s: &[String]) -> String {
        let (word, pair) = (self.text.int(32, kind), self.text.int(64, kind));
        let bit = self.text.int(1, kind);
        let number = |e: &mut Self, number: i64| e.text.constant(number, 32, kind);
        let [low, high] = [0, 1].map(|at| self.text.value(&format!("zext {word} {} to {pair}", s[at])));
        let half = self.text.constant(32, 64, kind);
        let high = self.text.value(&format!("shl {pair} {high}, {half}"));
        let both = self.text.value(&format!("or {pair} {high}, {low}"));
        let [zero, seven, eight] = [0, 7, 8].map(|n| number(self, n));
        let [three, top, last, all] = [3, 24, 31, 0xff].map(|n| number(self, n));
        let mut bytes = zero.clone();
        for byte in 0..4 {
            let to = number(self, 8 * byte);
            let nibble = number(self, 4 * byte);
            let nibble = self.text.value(&format!("lshr {word} {}, {nibble}", s[2]));
            let from = self.text.value(&format!("and {word} {nibble}, {seven}"));
            let from = self.text.value(&format!("shl {word} {from}, {three}"));
            let from = self.text.value(&format!("zext {word} {from} to {pair}"));
            let moved = self.text.value(&format!("lshr {pair} {both}, {from}"));
            let moved = self.text.value(&format!("trunc {pair} {moved} to {word}"));
            let sign = self.text.value(&format!("shl {word} {moved}, {top}"));
            let sign = self.text.value(&format!("ashr {word} {sign}, {last}"));
            let copies = self.text.value(&format!("and {word} {nibble}, {eight}"));
            let copies = self.text.value(&format!("icmp ne {word} {copies}, {zero}"));
            let chosen = self.text.value(&format!("select {bit} {copies}, {word} {sign}, {word} {moved}"));
            let chosen = self.text.value(&format!("and {word} {chosen}, {all}"));
            let placed = self.text.value(&format!("shl {word} {chosen}, {to}"));
            bytes = self.text.value(&format!("or {word} {bytes}, {placed}"));
        }
        bytes
    }

    /// `dp4a`.
    fn dot_product(&mut self, i: &Dp4a) -> Result<(), Refusal> {
        let sources = [self.read(&i.a, 32)?, self.read(&i.b, 32)?, self.read(&i.c, 32)?];
        let class = self.uniform_or_varying(&sources);
        let value = self.compute(class, 32, &sources, None, |e, kind, s| {
            let word = e.text.int(32, kind);
            let mut sum = s[2].clone();
            for byte in 0..4 {
                let up = e.text.constant(24 - 8 * byte, 32, kind);
                let down = e.text.constant(24, 32, kind);
                let [a, b] = [(&s[0], i.atype), (&s[1], i.btype)].map(|(source, ty)| {
                    let how = if is_signed(ty) { "ashr" } else { "lshr" };
                    let high = e.text.value(&format!("shl {word} {source}, {up}"));
                    e.text.value(&format!("{how} {word} {high}, {down}"))
                });
                let product = e.text.value(&format!("mul {word} {a}, {b}"));
                sum = e.text.value(&format!("add {word} {sum}, {product}"));
            }
            sum
        });
        self.write(i.d, value, false)
    }

    fn unary(
        &mut self,
        d: Def,
        bits: u32,
        of: u32,
        a: &Value,
        mut f: impl FnMut(&mut Self, &str, u32, Kind, &str) -> String,
    ) -> Result<(), Refusal> {
        let source = [self.read(a, bits)?];
        let class = self.class_of_result();
        let value = self.compute(class, of, &source, None, |e, kind, s| {
            let int = e.text.int(bits, kind);
            f(e, &int, bits, kind, &s[0])
        });
        self.write(d, value, false)
    }

    /// A number of bits, in 32.
    fn counted(&mut self, d: Def, bits: u32, a: &Value, how: &str, more: &str) -> Result<(), Refusal> {
        self.unary(d, bits, 32, a, |e, int, bits, kind, a| {
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
        d: Def,
        bits: u32,
        [a, b]: [&Value; 2],
        how: &str,
        signed: bool,
    ) -> Result<(), Refusal> {
        let amount = self.read(b, 32)?;
        let sources = [self.read(a, bits)?, amount];
        let class = self.class_of_result();
        let value = self.compute(class, bits, &sources, None, |e, kind, s| {
            let (int, word, bit) = (e.text.int(bits, kind), e.text.int(32, kind), e.text.int(1, kind));
            let most = e.text.constant(i64::from(bits), 32, kind);
            let last = e.text.constant(i64::from(bits) - 1, 32, kind);
            let fits = e.text.value(&format!("icmp ult {word} {}, {most}", s[1]));
            let by = e.text.value(&format!("select {bit} {fits}, {word} {}, {word} {last}", s[1]));
            let by = e.amount(&by, bits, kind);
            let shifted = e.text.value(&format!("{how} {int} {}, {by}", s[0]));
            if how == "ashr" {
                return shifted;
            }
            let zero = e.text.constant(0, bits, kind);
            e.text.value(&format!("select {bit} {fits}, {int} {shifted}, {int} {zero}"))
        });
        self.write(d, value, signed)
    }

    fn pack(&mut self, d: Def, bits: u32, parts: &[Value]) -> Result<(), Refusal> {
        let part = bits / parts.len().max(1) as u32;
        if part < 8 {
            return Err(self.unsupported());
        }
        let sources: Vec<Lanes> =
            parts.iter().map(|value| self.read(value, part)).collect::<Result<_, _>>()?;
        let class = self.uniform_or_varying(&sources);
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
    fn lop3(&mut self, i: &Lop3) -> Result<(), Refusal> {
        let sources = [self.read(&i.a, 32)?, self.read(&i.b, 32)?, self.read(&i.c, 32)?];
        let class = self.uniform_or_varying(&sources);
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
        let class = self.uniform_or_varying(&sources);
        let holds = self.compute(class, 1, &sources, None, |e, kind, s| {
            let (word, bit, zero) = (e.text.int(32, kind), e.text.int(1, kind), e.text.constant(0, 32, kind));
            let some = e.text.value(&format!("icmp ne {word} {}, {zero}", s[0]));
            e.text.value(&format!("{how} {bit} {some}, {}", s[1]))
        });
        self.write(i.d, value, false)?;
        self.write(p, holds, false)
    }

    fn predicates(&mut self, d: Def, of: [&Predicate; 2], how: &str) -> Result<(), Refusal> {
        let sources = [self.predicate(of[0])?, self.predicate(of[1])?];
        let class: Class = self.uniform_or_varying(&sources);
        let value = self.compute(class, 1, &sources, None, |e, kind, s| {
            let ty = e.text.int(1, kind);
            e.text.value(&format!("{how} {ty} {}, {}", s[0], s[1]))
        });
        self.write(d, value, false)
    }
}
