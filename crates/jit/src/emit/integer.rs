//! Integer arithmetic, comparison and conversion between integers.

use super::Emitter;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::class::{Class, UNIFORM, is_signed};
use ir::instruction::{MulIntMode, Op, SetIntBool, SetIntCmp};
use ir::operand::{Def, Predicate, Value};
use ptx::types::ScalarType;

/// The function that divides lane by lane.
fn of_lanes(how: &str, ty: ScalarType) -> &'static str {
    match (how, ty.bits(), is_signed(ty)) {
        ("div", 16, false) => "div.u16",
        ("div", 16, true) => "div.s16",
        ("div", 32, false) => "div.u32",
        ("div", 32, true) => "div.s32",
        ("div", _, false) => "div.u64",
        ("div", _, true) => "div.s64",
        (_, 16, false) => "rem.u16",
        (_, 16, true) => "rem.s16",
        (_, 32, false) => "rem.u32",
        (_, 32, true) => "rem.s32",
        (_, _, false) => "rem.u64",
        (_, _, true) => "rem.s64",
    }
}

/// A product of two values: of their width, its upper half, or of twice the width.
pub(super) fn product(
    e: &mut Emitter<'_>,
    kind: Kind,
    mode: MulIntMode,
    ty: ScalarType,
    a: &str,
    b: &str,
) -> String {
    let bits = ty.bits();
    let int = e.text.int(bits, kind);
    if mode == MulIntMode::Lo {
        return e.text.value(&format!("mul {int} {a}, {b}"));
    }
    let how = if is_signed(ty) { "sext" } else { "zext" };
    let wide = e.text.int(2 * bits, kind);
    let a = e.text.value(&format!("{how} {int} {a} to {wide}"));
    let b = e.text.value(&format!("{how} {int} {b} to {wide}"));
    let all = e.text.value(&format!("mul {wide} {a}, {b}"));
    if mode == MulIntMode::Wide {
        return all;
    }
    let shift = e.text.constant(i64::from(bits), 2 * bits, kind);
    let high = e.text.value(&format!("lshr {wide} {all}, {shift}"));
    e.text.value(&format!("trunc {wide} {high} to {int}"))
}

impl Emitter<'_> {
    /// `d` from operands of the type's width, by an instruction of LLVM's for two.
    fn binary(&mut self, d: Def, ty: ScalarType, a: &Value, b: &Value, how: &str) -> Result<(), Refusal> {
        let bits = ty.bits();
        let sources = [self.read(a, bits)?, self.read(b, bits)?];
        let class = self.class_of_result();
        let result = self.compute(class, bits, &sources, None, |e, kind, s| {
            let int = e.text.int(bits, kind);
            e.text.value(&format!("{how} {int} {}, {}", s[0], s[1]))
        });
        self.write(d, result, is_signed(ty))
    }

    /// An instruction of this chapter; `false` if it is not.
    pub(crate) fn integer(&mut self, op: &Op) -> Result<bool, Refusal> {
        match op {
            Op::AddInt(i) if !i.sat => self.binary(i.d, i.ty, &i.a, &i.b, "add")?,
            Op::SubInt(i) if !i.sat => self.binary(i.d, i.ty, &i.a, &i.b, "sub")?,
            Op::And(i) => self.binary(i.d, i.ty, &i.a, &i.b, "and")?,
            Op::Or(i) => self.binary(i.d, i.ty, &i.a, &i.b, "or")?,
            Op::Xor(i) => self.binary(i.d, i.ty, &i.a, &i.b, "xor")?,
            Op::MulInt(i) => {
                let bits = i.ty.bits();
                let sources = [self.read(&i.a, bits)?, self.read(&i.b, bits)?];
                let (class, signed) = (self.class_of_result(), is_signed(i.ty));
                let of = if i.mode == MulIntMode::Wide { 2 * bits } else { bits };
                let result = self.compute(class, of, &sources, Some(signed), |e, kind, s| {
                    product(e, kind, i.mode, i.ty, &s[0], &s[1])
                });
                self.write(i.d, result, signed)?;
            }
            Op::MadInt(i) if !i.sat => {
                let bits = i.ty.bits();
                let of = if i.mode == MulIntMode::Wide { 2 * bits } else { bits };
                let sources = [self.read(&i.a, bits)?, self.read(&i.b, bits)?, self.read(&i.c, of)?];
                let (class, signed) = (self.class_of_result(), is_signed(i.ty));
                let widened = (i.mode == MulIntMode::Wide).then_some(signed);
                let result = self.compute(class, of, &sources, widened, |e, kind, s| {
                    let product = product(e, kind, i.mode, i.ty, &s[0], &s[1]);
                    let int = e.text.int(of, kind);
                    e.text.value(&format!("add {int} {product}, {}", s[2]))
                });
                self.write(i.d, result, signed)?;
            }
            Op::DivInt(i) => self.divide(i.d, i.ty, &i.a, &i.b, "div")?,
            Op::RemInt(i) => self.divide(i.d, i.ty, &i.a, &i.b, "rem")?,
            Op::MinInt(i) if !i.relu && i.ty.bits() >= 16 && !is_pair(i.ty) => {
                self.extremum(i.d, i.ty, &i.a, &i.b, "min")?;
            }
            Op::MaxInt(i) if !i.relu && i.ty.bits() >= 16 && !is_pair(i.ty) => {
                self.extremum(i.d, i.ty, &i.a, &i.b, "max")?;
            }
            Op::NegInt(i) => {
                let zero = Value::Constant(0);
                self.binary(i.d, i.ty, &zero, &i.a, "sub")?;
            }
            Op::AbsInt(i) => {
                let bits = i.ty.bits();
                let source = [self.read(&i.a, bits)?];
                let class = self.class_of_result();
                let result = self.compute(class, bits, &source, None, |e, kind, s| {
                    let (int, name) = (e.text.int(bits, kind), e.text.suffix(&format!("i{bits}"), kind));
                    e.intrinsic(&format!("declare {int} @llvm.abs.{name}({int}, i1)"));
                    e.text.value(&format!("call {int} @llvm.abs.{name}({int} {}, i1 false)", s[0]))
                });
                self.write(i.d, result, true)?;
            }
            Op::SetpInt(i) => {
                let holds = self.compare_int(i.cmp, i.ty, &i.a, &i.b)?;
                self.combine(holds, i.combine, i.c.as_ref(), i.p, i.q)?;
            }
            Op::CvtInt(i) if !i.sat => {
                let (from, to) = (i.atype.bits(), i.dtype.bits());
                let source = self.read_low(&i.a, from)?;
                let class = self.class_of_result();
                let signed = is_signed(i.atype);
                let how = if to < from {
                    "trunc"
                } else if signed {
                    "sext"
                } else {
                    "zext"
                };
                let result = match to == from {
                    true => source,
                    false => self.compute(class, to, &[source], Some(signed), |e, kind, s| {
                        let (a, b) = (e.text.int(from, kind), e.text.int(to, kind));
                        e.text.value(&format!("{how} {a} {} to {b}", s[0]))
                    }),
                };
                self.write(i.d, result, is_signed(i.dtype))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Declares an intrinsic function once.
    pub(crate) fn intrinsic(&mut self, declaration: &str) {
        if !self.intrinsics.iter().any(|known| known == declaration) {
            self.intrinsics.push(declaration.to_owned());
        }
    }

    /// Division by zero gives all ones; the least value by minus one, what wraps. By a constant LLVM multiplies.
    fn divide(&mut self, d: Def, ty: ScalarType, a: &Value, b: &Value, how: &str) -> Result<(), Refusal> {
        let (bits, signed) = (ty.bits(), is_signed(ty));
        let constant = self.constant_here(b).map(Value::Constant);
        let sources = [self.read(a, bits)?, self.read(constant.as_ref().unwrap_or(b), bits)?];
        let class = self.class_of_result();
        if class == Class::Varying && constant.is_none() {
            let result = self.call(of_lanes(how, ty), &sources);
            return self.write(d, result, signed);
        }
        let result = self.compute(class, bits, &sources, None, |e, kind, s| {
            let (int, bit) = (e.text.int(bits, kind), e.text.int(1, kind));
            let constant = |e: &Self, value| e.text.constant(value, bits, kind);
            let (zero, one, ones) = (constant(e, 0), constant(e, 1), constant(e, -1));
            let by_zero = e.text.value(&format!("icmp eq {int} {}, {zero}", s[1]));
            let mut unsafe_divisor = by_zero.clone();
            if signed {
                // By minus one it is computed by other means: the host's division of the least value traps.
                let negates = e.text.value(&format!("icmp eq {int} {}, {ones}", s[1]));
                unsafe_divisor = e.text.value(&format!("or {bit} {by_zero}, {negates}"));
            }
            let divisor =
                e.text.value(&format!("select {bit} {unsafe_divisor}, {int} {one}, {int} {}", s[1]));
            let letter = if signed { "s" } else { "u" };
            let mut result = e.text.value(&format!("{letter}{how} {int} {}, {divisor}", s[0]));
            if signed {
                let other = match how {
                    "div" => e.text.value(&format!("sub {int} {zero}, {}", s[0])),
                    _ => zero,
                };
                result =
                    e.text.value(&format!("select {bit} {unsafe_divisor}, {int} {other}, {int} {result}"));
            }
            e.text.value(&format!("select {bit} {by_zero}, {int} {ones}, {int} {result}"))
        });
        self.write(d, result, signed)
    }

    fn extremum(&mut self, d: Def, ty: ScalarType, a: &Value, b: &Value, how: &str) -> Result<(), Refusal> {
        let (bits, letter) = (ty.bits(), if is_signed(ty) { "s" } else { "u" });
        let sources = [self.read(a, bits)?, self.read(b, bits)?];
        let class = self.class_of_result();
        let result = self.compute(class, bits, &sources, None, |e, kind, s| {
            let (int, bit) = (e.text.int(bits, kind), e.text.int(1, kind));
            let than = if how == "min" { "lt" } else { "gt" };
            let wins = e.text.value(&format!("icmp {letter}{than} {int} {}, {}", s[0], s[1]));
            e.text.value(&format!("select {bit} {wins}, {int} {}, {int} {}", s[0], s[1]))
        });
        self.write(d, result, is_signed(ty))
    }

    fn compare_int(
        &mut self,
        cmp: SetIntCmp,
        ty: ScalarType,
        a: &Value,
        b: &Value,
    ) -> Result<Lanes, Refusal> {
        let bits = ty.bits();
        let sources = [self.read(a, bits)?, self.read(b, bits)?];
        let condition = condition(cmp, is_signed(ty));
        let class = self.uniform_or_varying(&sources);
        Ok(self.compute(class, 1, &sources, None, |e, kind, s| {
            let int = e.text.int(bits, kind);
            e.text.value(&format!("icmp {condition} {int} {}, {}", s[0], s[1]))
        }))
    }

    /// Of what is not affine though its sources are.
    pub(crate) fn uniform_or_varying(&self, sources: &[Lanes]) -> Class {
        match sources.iter().all(Lanes::is_uniform) {
            true => UNIFORM,
            false => Class::Varying,
        }
    }

    /// Writes what a comparison says, combined with a predicate: it, and its complement.
    pub(crate) fn combine(
        &mut self,
        holds: Lanes,
        how: Option<SetIntBool>,
        with: Option<&Predicate>,
        p: Def,
        q: Option<Def>,
    ) -> Result<(), Refusal> {
        let how = how.map(|how| match how {
            SetIntBool::And => "and",
            SetIntBool::Or => "or",
            SetIntBool::Xor => "xor",
        });
        let with = with.map(|with| self.predicate(with)).transpose()?;
        let complement = match q {
            Some(Def(Some(_))) => {
                let class = self.uniform_or_varying(std::slice::from_ref(&holds));
                Some(self.compute(class, 1, std::slice::from_ref(&holds), None, |e, kind, s| {
                    let (ty, ones) = (e.text.int(1, kind), e.text.constant(-1, 1, kind));
                    e.text.value(&format!("xor {ty} {}, {ones}", s[0]))
                }))
            }
            _ => None,
        };
        let results = [(Some(holds), p), (complement, q.unwrap_or(Def(None)))];
        for (value, to) in results {
            let Some(mut value) = value else { continue };
            if let (Some(how), Some(with)) = (how, &with) {
                let sources = [value, with.clone()];
                let class = self.uniform_or_varying(&sources);
                value = self.compute(class, 1, &sources, None, |e, kind, s| {
                    let ty = e.text.int(1, kind);
                    e.text.value(&format!("{how} {ty} {}, {}", s[0], s[1]))
                });
            }
            self.write(to, value, false)?;
        }
        Ok(())
    }
}

fn is_pair(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::U16x2 | ScalarType::S16x2)
}

/// What LLVM calls a comparison.
pub(super) fn condition(cmp: SetIntCmp, signed: bool) -> &'static str {
    use SetIntCmp as C;
    match (cmp, signed) {
        (C::Eq, _) => "eq",
        (C::Ne, _) => "ne",
        (C::Lt, true) => "slt",
        (C::Le, true) => "sle",
        (C::Gt, true) => "sgt",
        (C::Ge, true) => "sge",
        (C::Lt | C::Lo, _) => "ult",
        (C::Le | C::Ls, _) => "ule",
        (C::Gt | C::Hi, _) => "ugt",
        (C::Ge | C::Hs, _) => "uge",
    }
}
