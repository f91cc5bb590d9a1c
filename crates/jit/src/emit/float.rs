//! Arithmetic and comparison in `.f32` and `.f64` to nearest, and the conversions that hosts have.
//!
//! Never is anything contracted or reordered: an `fma` is one because PTX says so. What `.ftz` and `.sat` add
//! are functions for a row ([`super::functions`]), approximations are the host's ([`crate::special`]); directed roundings are the machine's.
//!
//! # NaN
//!
//! An `.f32` result that is a NaN is always the same one. Arithmetic does not care which NaN its operands are, so the
//! results are made canonical where their bits are looked at, by a store, a comparison of bits, or a move: the registers that
//! only hold such results are **lazy**. An `.f64` NaN keeps the payload of an operand, in an order of the hardware's, so it
//! is chosen at once.

use super::Emitter;
use super::context;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::class::Class;
use crate::class::is_signed;
use crate::special::{self, Special};
use ir::Function;
use ir::instruction::{AddFloatRnd, CvtFloatRnd, CvtFloatToIntRnd, Op, SetFloatCmp};
use ir::operand::{Def, Value};
use ptx::module::RegId;
use ptx::types::ScalarType;

const DEFAULT_NAN_F64: i64 = 0xfff8_0000_0000_0000_u64 as i64;
const QUIET_F64: i64 = 1 << 51;

/// 1.0 in `.f32`.
static ONE: Value = Value::Constant(0x3f80_0000);

/// 1.0 in `.f64`.
static ONE_F64: Value = Value::Constant(0x3ff0_0000_0000_0000);

/// An operation of one of LLVM's float instructions or functions.
struct Arithmetic<'a> {
    d: Def,
    ty: ScalarType,
    operands: Vec<&'a Value>,
    /// The operand that comes first in the choice of a NaN, and so on.
    order: &'static [usize],
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    Instruction(&'static str),
    Function(&'static str),
}

/// What of the instruction set is arithmetic here; `None` for what is not, or is the host's.
fn arithmetic(op: &Op) -> Option<Arithmetic<'_>> {
    let nearest = |rnd: Option<AddFloatRnd>| matches!(rnd, None | Some(AddFloatRnd::Rn));
    let plain = |rnd, ftz: bool, sat: bool| nearest(rnd) && !ftz && !sat;
    use How::{Function, Instruction};
    let (d, ty, operands, order, how): (_, _, Vec<&Value>, &'static [usize], _) = match op {
        Op::AddFloat(i) if plain(i.rnd, i.ftz, i.sat) => {
            (i.d, i.ty, vec![&i.a, &i.b], &[1, 0], Instruction("fadd"))
        }
        Op::SubFloat(i) if plain(i.rnd, i.ftz, i.sat) => {
            (i.d, i.ty, vec![&i.a, &i.b], &[1, 0], Instruction("fsub"))
        }
        Op::MulFloat(i) if plain(i.rnd, i.ftz, i.sat) => {
            (i.d, i.ty, vec![&i.a, &i.b], &[1, 0], Instruction("fmul"))
        }
        Op::DivFloat(i) if plain(Some(i.rnd), i.ftz, false) => {
            (i.d, i.ty, vec![&i.a, &i.b], &[0, 1], Instruction("fdiv"))
        }
        Op::FmaFloat(i) if plain(i.rnd, i.ftz, i.sat) => {
            (i.d, i.ty, vec![&i.a, &i.b, &i.c], &[1, 2, 0], Function("fma"))
        }
        Op::Rcp(i) if plain(Some(i.rnd), i.ftz, false) => {
            let one = if i.ty == ScalarType::F64 { &ONE_F64 } else { &ONE };
            (i.d, i.ty, vec![one, &i.a], &[0, 1], Instruction("fdiv"))
        }
        Op::Sqrt(i) if plain(Some(i.rnd), i.ftz, false) => (i.d, i.ty, vec![&i.a], &[0], Function("sqrt")),
        _ => return None,
    };
    matches!(ty, ScalarType::F32 | ScalarType::F64).then_some(Arithmetic { d, ty, operands, order, how })
}

/// An instruction on `.f32` that is a function for a row, with the one NaN for all results.
struct Called<'a> {
    d: Def,
    function: &'static str,
    operands: Vec<&'a Value>,
    sat: bool,
}

/// An approximation, which is a function of the host's.
struct Approximated<'a> {
    d: Def,
    function: Special,
    operands: Vec<&'a Value>,
}

/// What of the instruction set is such a function.
fn called(op: &Op) -> Option<Called<'_>> {
    let nearest = |rnd: Option<AddFloatRnd>| matches!(rnd, None | Some(AddFloatRnd::Rn));
    let arithmetic = |d, function, operands, sat| Some(Called { d, function, operands, sat });
    let f32 = ScalarType::F32;
    let by = |ftz: bool, flushing, plain| if ftz { flushing } else { plain };
    match op {
        Op::AddFloat(i) if i.ty == f32 && nearest(i.rnd) => {
            arithmetic(i.d, by(i.ftz, "add.ftz", "add"), vec![&i.a, &i.b], i.sat)
        }
        Op::SubFloat(i) if i.ty == f32 && nearest(i.rnd) => {
            arithmetic(i.d, by(i.ftz, "sub.ftz", "sub"), vec![&i.a, &i.b], i.sat)
        }
        Op::MulFloat(i) if i.ty == f32 && nearest(i.rnd) => {
            arithmetic(i.d, by(i.ftz, "mul.ftz", "mul"), vec![&i.a, &i.b], i.sat)
        }
        Op::FmaFloat(i) if i.ty == f32 && nearest(i.rnd) => {
            arithmetic(i.d, by(i.ftz, "fma.ftz", "fma"), vec![&i.a, &i.b, &i.c], i.sat)
        }
        Op::AddFloat(i) if i.ty == f32 && !i.ftz => {
            arithmetic(i.d, directed(i.rnd, ["add.rm", "add.rp", "add.rz"])?, vec![&i.a, &i.b], i.sat)
        }
        Op::SubFloat(i) if i.ty == f32 && !i.ftz => {
            arithmetic(i.d, directed(i.rnd, ["sub.rm", "sub.rp", "sub.rz"])?, vec![&i.a, &i.b], i.sat)
        }
        Op::MulFloat(i) if i.ty == f32 && !i.ftz => {
            arithmetic(i.d, directed(i.rnd, ["mul.rm", "mul.rp", "mul.rz"])?, vec![&i.a, &i.b], i.sat)
        }
        Op::FmaFloat(i) if i.ty == f32 && !i.ftz => {
            arithmetic(i.d, directed(i.rnd, ["fma.rm", "fma.rp", "fma.rz"])?, vec![&i.a, &i.b, &i.c], i.sat)
        }
        _ => None,
    }
}

/// The function for a directed rounding.
fn directed(rnd: Option<AddFloatRnd>, [down, up, zero]: [&'static str; 3]) -> Option<&'static str> {
    match rnd? {
        AddFloatRnd::Rm => Some(down),
        AddFloatRnd::Rp => Some(up),
        AddFloatRnd::Rz => Some(zero),
        AddFloatRnd::Rn => None,
    }
}

/// An instruction that is a function for a row of its operands' bits.
struct OfBits<'a> {
    d: Def,
    function: &'static str,
    operands: Vec<&'a Value>,
    /// Bits of operands and of the result.
    bits: [u32; 2],
}

/// What of the instruction set is one, `.f64` among the operands or results.
fn of_bits(op: &Op) -> Option<OfBits<'_>> {
    let of = |d, function, operands, bits| Some(OfBits { d, function, operands, bits });
    let (single, double) = (ScalarType::F32, ScalarType::F64);
    match op {
        Op::NegFloat(i) if i.ty == double => of(i.d, "neg.f64", vec![&i.a], [64, 64]),
        Op::AbsFloat(i) if i.ty == double => of(i.d, "abs.f64", vec![&i.a], [64, 64]),
        Op::MinFloat(i) if i.ty == double => of(i.d, "min.f64", vec![&i.a, &i.b], [64, 64]),
        Op::MaxFloat(i) if i.ty == double => of(i.d, "max.f64", vec![&i.a, &i.b], [64, 64]),
        Op::CvtFloat(i) if !i.sat && !i.ftz => match (i.dtype, i.atype, i.rnd) {
            (to, from, Some(CvtFloatRnd::Rn)) if (to, from) == (single, double) => {
                of(i.d, "narrow.f64", vec![&i.a], [64, 32])
            }
            (to, from, None) if (to, from) == (double, single) => of(i.d, "widen.f32", vec![&i.a], [32, 64]),
            _ => None,
        },
        _ => None,
    }
}

/// What of the instruction set is approximated.
fn approximated(op: &Op) -> Option<Approximated<'_>> {
    let one = |d, function, a| Some(Approximated { d, function, operands: vec![a] });
    let two = |d, function, a, b| Some(Approximated { d, function, operands: vec![a, b] });
    let f32 = ScalarType::F32;
    match op {
        Op::RcpApprox(i) if i.ty == f32 => one(i.d, Special::Rcp(i.ftz), &i.a),
        Op::SqrtApprox(i) => one(i.d, Special::Sqrt(i.ftz), &i.a),
        Op::RsqrtApprox(i) if i.ty == f32 => one(i.d, Special::Rsqrt(i.ftz), &i.a),
        Op::Ex2Float(i) => one(i.d, Special::Ex2(i.ftz), &i.a),
        Op::Lg2(i) => one(i.d, Special::Lg2(i.ftz), &i.a),
        Op::Sin(i) => one(i.d, Special::Sin, &i.a),
        Op::Cos(i) => one(i.d, Special::Cos, &i.a),
        Op::TanhFloat(i) => one(i.d, Special::Tanh, &i.a),
        Op::DivFloatApprox(i) => two(i.d, Special::DivApprox(i.ftz), &i.a, &i.b),
        Op::DivFloatFull(i) => two(i.d, Special::DivFull(i.ftz), &i.a, &i.b),
        _ => None,
    }
}

/// LLVM's function that rounds to a whole number.
fn whole_by(rnd: Option<CvtFloatRnd>) -> Option<&'static str> {
    match rnd? {
        CvtFloatRnd::Rni => Some("roundeven"),
        CvtFloatRnd::Rzi => Some("trunc"),
        CvtFloatRnd::Rmi => Some("floor"),
        CvtFloatRnd::Rpi => Some("ceil"),
        _ => None,
    }
}

/// Registers with nothing but `.f32` results that may be any NaN; numbers may be moved there, too.
pub(crate) fn lazy_registers(function: &Function<'_>) -> Vec<bool> {
    let mut lazy = vec![true; function.body.registers.len()];
    for (index, register) in function.body.registers.iter().enumerate() {
        lazy[index] = register.ty.bits() == 32;
    }
    let is_number = |bits: u64| !numerics::float::is_nan_f32(bits as u32);
    for instruction in function.instructions.iter().flatten() {
        let float = arithmetic(&instruction.op).is_some_and(|a| a.ty == ScalarType::F32)
            || is_extremum(&instruction.op)
            || matches!(&instruction.op, Op::NegFloat(i) if i.ty == ScalarType::F32)
            || matches!(&instruction.op, Op::AbsFloat(i) if i.ty == ScalarType::F32)
            || matches!(&instruction.op, Op::Mov(mov) if matches!(mov.a, Value::Constant(bits) if is_number(bits)));
        if !float {
            instruction.registers(&mut |register: RegId, access| {
                if access != ir::Access::Read {
                    lazy[register.index()] = false;
                }
            });
        }
    }
    lazy
}

fn is_extremum(op: &Op) -> bool {
    match op {
        Op::MinFloat(i) => i.ty == ScalarType::F32 && !i.ftz && !i.nan && !i.xorsign,
        Op::MaxFloat(i) => i.ty == ScalarType::F32 && !i.ftz && !i.nan && !i.xorsign,
        _ => false,
    }
}

impl Emitter<'_> {
    /// An instruction of this chapter; `false` if it is not.
    pub(crate) fn float(&mut self, op: &Op) -> Result<bool, Refusal> {
        if let Some(arithmetic) = arithmetic(op) {
            self.arithmetic(&arithmetic)?;
            return Ok(true);
        }
        if let Some(called) = called(op) {
            self.called(&called)?;
            return Ok(true);
        }
        if let Some(OfBits { d, function, operands, bits: [from, to] }) = of_bits(op) {
            let sources: Vec<Lanes> =
                operands.iter().map(|value| self.read(value, from)).collect::<Result<_, _>>()?;
            let value = self.call_for(function, &sources, to);
            self.write(d, value, false)?;
            return Ok(true);
        }
        if let Some(approximated) = approximated(op) {
            self.approximate(&approximated)?;
            return Ok(true);
        }
        match op {
            Op::NegFloat(i) if i.ty == ScalarType::F32 => {
                self.on_sign(i.d, &i.a, i.ftz, "xor", i64::from(i32::MIN))?;
            }
            Op::AbsFloat(i) if i.ty == ScalarType::F32 => {
                self.on_sign(i.d, &i.a, i.ftz, "and", i64::from(i32::MAX))?;
            }
            Op::MinFloat(i) if is_extremum(op) => self.float_extremum(i.d, &i.a, &i.b, "slt")?,
            Op::MaxFloat(i) if is_extremum(op) => self.float_extremum(i.d, &i.a, &i.b, "sgt")?,
            Op::SetpFloat(i) => {
                let holds = self.compare_float(i.cmp, i.ty, i.ftz, &i.a, &i.b)?;
                self.combine(holds, i.combine, i.c.as_ref(), i.p, i.q)?;
            }
            Op::CvtIntToFloat(i)
                if !i.sat
                    && i.rnd == AddFloatRnd::Rn
                    && matches!(i.dtype, ScalarType::F32 | ScalarType::F64) =>
            {
                let (from, to) = (i.atype.bits(), i.dtype.bits());
                let source = self.read_low(&i.a, from)?;
                let class = self.uniform_or_varying(std::slice::from_ref(&source));
                let how = if is_signed(i.atype) { "sitofp" } else { "uitofp" };
                let value = self.compute(class, to, &[source], None, |e, kind, s| {
                    let (int, float) = (e.text.int(from, kind), e.text.float(to, kind));
                    let number = e.text.value(&format!("{how} {int} {} to {float}", s[0]));
                    let bits = e.text.int(to, kind);
                    e.text.value(&format!("bitcast {float} {number} to {bits}"))
                });
                self.write(i.d, value, false)?;
            }
            Op::CvtFloatToInt(i)
                if matches!(i.atype, ScalarType::F32 | ScalarType::F64) && i.dtype.bits() >= 32 =>
            {
                let (from, to) = (i.atype.bits(), i.dtype.bits());
                let mut source = self.read_raw(&i.a, from)?;
                if i.ftz {
                    source = self.call("flush", &[source]);
                }
                let class = self.uniform_or_varying(std::slice::from_ref(&source));
                let whole = match i.rnd {
                    CvtFloatToIntRnd::Rni => "roundeven",
                    CvtFloatToIntRnd::Rzi => "trunc",
                    CvtFloatToIntRnd::Rmi => "floor",
                    CvtFloatToIntRnd::Rpi => "ceil",
                };
                let value = self.compute(class, to, &[source], None, |e, kind, s| {
                    let mut number = e.number(&s[0], from, kind);
                    if whole != "trunc" {
                        number = e.whole(whole, &number, from, kind);
                    }
                    e.integer_of(&number, (from, to), is_signed(i.dtype), kind)
                });
                self.write(i.d, value, is_signed(i.dtype))?;
            }
            Op::CvtFloat(i) if (i.dtype, i.atype) == (ScalarType::F64, ScalarType::F64) && !i.sat => {
                let Some(whole) = whole_by(i.rnd) else { return Ok(false) };
                let source = self.read(&i.a, 64)?;
                let class = self.uniform_or_varying(std::slice::from_ref(&source));
                let value = self.compute(class, 64, &[source], None, |e, kind, s| {
                    let number = e.number(&s[0], 64, kind);
                    let rounded = e.whole(whole, &number, 64, kind);
                    let (int, float, bit) =
                        (e.text.int(64, kind), e.text.float(64, kind), e.text.int(1, kind));
                    let rounded = e.text.value(&format!("bitcast {float} {rounded} to {int}"));
                    let is_none = e.text.value(&format!("fcmp uno {float} {number}, {number}"));
                    let quiet = e.text.constant(QUIET_F64, 64, kind);
                    let quiet = e.text.value(&format!("or {int} {}, {quiet}", s[0]));
                    e.text.value(&format!("select {bit} {is_none}, {int} {quiet}, {int} {rounded}"))
                });
                self.write(i.d, value, false)?;
            }
            // A copy, but for what is asked.
            Op::CvtFloat(i)
                if (i.dtype, i.atype) == (ScalarType::F32, ScalarType::F32)
                    && i.rnd.is_none()
                    && (i.ftz || i.sat) =>
            {
                let mut value = self.read(&i.a, 32)?;
                if i.ftz {
                    value = self.call("flush", &[value]);
                    value = self.call("canonical", &[value]);
                }
                if i.sat {
                    value = self.call("saturate", &[value]);
                }
                self.write(i.d, value, false)?;
            }
            Op::CvtFloat(i)
                if (i.dtype, i.atype) == (ScalarType::F32, ScalarType::F32) && !i.relu && !i.satfinite =>
            {
                let Some(whole) = whole_by(i.rnd) else { return Ok(false) };
                let mut source = self.read_raw(&i.a, 32)?;
                if i.ftz {
                    source = self.call("flush", &[source]);
                }
                let class = self.uniform_or_varying(std::slice::from_ref(&source));
                let mut value = self.compute(class, 32, &[source], None, |e, kind, s| {
                    let number = e.number(&s[0], 32, kind);
                    let number = e.whole(whole, &number, 32, kind);
                    let (int, float) = (e.text.int(32, kind), e.text.float(32, kind));
                    e.text.value(&format!("bitcast {float} {number} to {int}"))
                });
                value = self.call("canonical", &[value]);
                if i.sat {
                    value = self.call("saturate", &[value]);
                }
                self.write(i.d, value, false)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The integer of so many bits nearest to zero, or the nearest there is. Of a NaN it is 0, but the top bit alone where either has 64
    /// bits. LLVM has an intrinsic function for that, which it computes lane by lane.
    fn integer_of(&mut self, number: &str, (from, to): (u32, u32), signed: bool, kind: Kind) -> String {
        // What is less than the first or not less than the last is out of range. Constants of doubles, as LLVM writes floats.
        const ZERO: &str = "0x0000000000000000";
        let (how, first, last, [least, most]) = match (signed, to) {
            (true, 32) => {
                ("si", "0xC1E0000000000000", "0x41E0000000000000", [i32::MIN, i32::MAX].map(i64::from))
            }
            (false, 32) => ("ui", ZERO, "0x41F0000000000000", [0, -1]),
            (true, _) => ("si", "0xC3E0000000000000", "0x43E0000000000000", [i64::MIN, i64::MAX]),
            (false, _) => ("ui", ZERO, "0x43F0000000000000", [0, -1]),
        };
        let (int, float, bit) =
            (self.text.int(to, kind), self.text.float(from, kind), self.text.int(1, kind));
        let [zero, first, last] =
            [ZERO, first, last].map(|number| self.text.float_constant(number, from, kind));
        let [least, most] = [least, most].map(|number| self.text.constant(number, to, kind));
        let is_small = self.text.value(&format!("fcmp olt {float} {number}, {first}"));
        let is_large = self.text.value(&format!("fcmp oge {float} {number}, {last}"));
        let is_more = self.text.value(&format!("fcmp oge {float} {number}, {first}"));
        let is_less = self.text.value(&format!("fcmp olt {float} {number}, {last}"));
        let fits = self.text.value(&format!("and {bit} {is_more}, {is_less}"));
        let safe = self.text.value(&format!("select {bit} {fits}, {float} {number}, {float} {zero}"));
        let inside = self.text.value(&format!("fpto{how} {float} {safe} to {int}"));
        let low = self.text.value(&format!("select {bit} {is_small}, {int} {least}, {int} {inside}"));
        let value = self.text.value(&format!("select {bit} {is_large}, {int} {most}, {int} {low}"));
        if (from, to) == (32, 32) {
            return value;
        }
        let top = self.text.constant(if to == 32 { i32::MIN.into() } else { i64::MIN }, to, kind);
        let is_none = self.text.value(&format!("fcmp uno {float} {number}, {number}"));
        self.text.value(&format!("select {bit} {is_none}, {int} {top}, {int} {value}"))
    }

    /// A number of so many bits rounded to a whole one.
    fn whole(&mut self, how: &str, number: &str, bits: u32, kind: Kind) -> String {
        let (float, suffix) = (self.text.float(bits, kind), self.text.suffix(&format!("f{bits}"), kind));
        self.intrinsic(&format!("declare {float} @llvm.{how}.{suffix}({float})"));
        self.text.value(&format!("call {float} @llvm.{how}.{suffix}({float} {number})"))
    }

    /// An instruction that is a function for a row.
    fn called(&mut self, called: &Called<'_>) -> Result<(), Refusal> {
        let sources: Vec<Lanes> =
            called.operands.iter().map(|value| self.read_raw(value, 32)).collect::<Result<_, _>>()?;
        let value = self.call(called.function, &sources);
        let mut value = self.call("canonical", &[value]);
        if called.sat {
            value = self.call("saturate", &[value]);
        }
        self.write(called.d, value, false)
    }

    /// An instruction that is a function of the host's: what lanes have in common is computed once.
    fn approximate(&mut self, approximated: &Approximated<'_>) -> Result<(), Refusal> {
        let operands = &approximated.operands;
        let sources: Vec<Lanes> =
            operands.iter().map(|value| self.read_raw(value, 32)).collect::<Result<_, _>>()?;
        let is_uniform = sources.iter().all(Lanes::is_uniform);
        let (lanes, kind) = match is_uniform {
            true => (1, Kind::Scalar),
            false => (self.rows.width as usize, Kind::Vector),
        };
        let ty = self.text.int(32, kind);
        for (number, source) in sources.iter().enumerate() {
            let value = self.of_kind(source, kind);
            let place = self.list(number * lanes * 4);
            self.text.line(&format!("store {ty} {value}, ptr {place}"));
        }
        self.arguments = self.arguments.max(sources.len() * lanes * 4);
        let functions = self.constant_field(context::SPECIAL, "ptr");
        let at = size_of::<special::Function>() * approximated.function.index(lanes);
        let at = self.text.value(&format!("getelementptr i8, ptr {functions}, i64 {at}"));
        let function = self.text.value(&format!("load ptr, ptr {at}, !invariant.load !1"));
        self.text.line(&format!("call void {function}(ptr %args)"));
        let result = self.text.value(&format!("load {ty}, ptr %args"));
        let result = match kind {
            Kind::Scalar => Lanes::uniform(32, result),
            Kind::Vector => Lanes::varying(32, result),
        };
        self.write(approximated.d, result, false)
    }

    /// Bits as a number.
    fn number(&mut self, bits: &str, width: u32, kind: Kind) -> String {
        let (int, float) = (self.text.int(width, kind), self.text.float(width, kind));
        self.text.value(&format!("bitcast {int} {bits} to {float}"))
    }

    fn arithmetic(&mut self, a: &Arithmetic<'_>) -> Result<(), Refusal> {
        let bits = a.ty.bits();
        let sources: Vec<Lanes> =
            a.operands.iter().map(|value| self.read_raw(value, bits)).collect::<Result<_, _>>()?;
        let class: Class = self.uniform_or_varying(&sources);
        let mut value = self.compute(class, bits, &sources, None, |e, kind, s| {
            let (int, float) = (e.text.int(bits, kind), e.text.float(bits, kind));
            let numbers: Vec<String> = s.iter().map(|s| e.number(s, bits, kind)).collect();
            let result = match a.how {
                How::Instruction(name) => e.text.value(&format!("{name} {float} {}", numbers.join(", "))),
                How::Function(name) => {
                    let suffix = e.text.suffix(&format!("f{bits}"), kind);
                    let types = vec![float.as_str(); numbers.len()].join(", ");
                    e.intrinsic(&format!("declare {float} @llvm.{name}.{suffix}({types})"));
                    let arguments: Vec<_> = numbers.iter().map(|n| format!("{float} {n}")).collect();
                    e.text.value(&format!("call {float} @llvm.{name}.{suffix}({})", arguments.join(", ")))
                }
            };
            let of_bits = e.text.value(&format!("bitcast {float} {result} to {int}"));
            if bits == 32 {
                return of_bits;
            }
            let bit = e.text.int(1, kind);
            let mut nan = e.text.constant(DEFAULT_NAN_F64, 64, kind);
            let quiet = e.text.constant(QUIET_F64, 64, kind);
            for &at in a.order.iter().rev() {
                let is = e.text.value(&format!("fcmp uno {float} {n}, {n}", n = numbers[at]));
                let quieted = e.text.value(&format!("or {int} {}, {quiet}", s[at]));
                nan = e.text.value(&format!("select {bit} {is}, {int} {quieted}, {int} {nan}"));
            }
            let is = e.text.value(&format!("fcmp uno {float} {result}, {result}"));
            e.text.value(&format!("select {bit} {is}, {int} {nan}, {int} {of_bits}"))
        });
        value.raw = bits == 32;
        self.write(a.d, value, false)
    }

    fn on_sign(&mut self, d: Def, a: &Value, ftz: bool, how: &str, mask: i64) -> Result<(), Refusal> {
        let mut source = [self.read_raw(a, 32)?];
        if ftz {
            source = source.map(|source| self.call("flush", &[source]));
        }
        let class = self.uniform_or_varying(&source);
        let mut value = self.compute(class, 32, &source, None, |e, kind, s| {
            let (int, mask) = (e.text.int(32, kind), e.text.constant(mask, 32, kind));
            e.text.value(&format!("{how} {int} {}, {mask}", s[0]))
        });
        value.raw = true;
        self.write(d, value, false)
    }

    /// The number of two, if one is none; -0 is below +0.
    fn float_extremum(&mut self, d: Def, a: &Value, b: &Value, than: &str) -> Result<(), Refusal> {
        let sources = [self.read_raw(a, 32)?, self.read_raw(b, 32)?];
        let class = self.uniform_or_varying(&sources);
        let mut value = self.compute(class, 32, &sources, None, |e, kind, s| {
            let (int, float, bit) = (e.text.int(32, kind), e.text.float(32, kind), e.text.int(1, kind));
            let order = |e: &mut Self, x: &str| {
                let (all, one) = (e.text.constant(31, 32, kind), e.text.constant(1, 32, kind));
                let sign = e.text.value(&format!("ashr {int} {x}, {all}"));
                let flips = e.text.value(&format!("lshr {int} {sign}, {one}"));
                e.text.value(&format!("xor {int} {x}, {flips}"))
            };
            let (x, y) = (order(e, &s[0]), order(e, &s[1]));
            let first = e.text.value(&format!("icmp {than} {int} {x}, {y}"));
            let (a, b) = (e.number(&s[0], 32, kind), e.number(&s[1], 32, kind));
            let is_number = e.text.value(&format!("fcmp ord {float} {a}, {a}"));
            let other_is_none = e.text.value(&format!("fcmp uno {float} {b}, {b}"));
            let wins = e.text.value(&format!("and {bit} {first}, {is_number}"));
            let takes = e.text.value(&format!("or {bit} {wins}, {other_is_none}"));
            e.text.value(&format!("select {bit} {takes}, {int} {}, {int} {}", s[0], s[1]))
        });
        value.raw = true;
        self.write(d, value, false)
    }

    fn compare_float(
        &mut self,
        cmp: SetFloatCmp,
        ty: ScalarType,
        ftz: bool,
        a: &Value,
        b: &Value,
    ) -> Result<Lanes, Refusal> {
        let bits = ty.bits();
        if !matches!(ty, ScalarType::F32 | ScalarType::F64) {
            return Err(self.unsupported());
        }
        let mut sources = [self.read_raw(a, bits)?, self.read_raw(b, bits)?];
        if ftz && bits == 32 {
            sources = sources.map(|source| self.call("flush", &[source]));
        }
        Ok(self.compare_numbers(cmp, bits, &sources))
    }

    pub(super) fn compare_numbers(&mut self, cmp: SetFloatCmp, bits: u32, sources: &[Lanes; 2]) -> Lanes {
        use SetFloatCmp as C;
        let condition = match cmp {
            C::Eq => "oeq",
            C::Ne => "one",
            C::Lt => "olt",
            C::Le => "ole",
            C::Gt => "ogt",
            C::Ge => "oge",
            C::Equ => "ueq",
            C::Neu => "une",
            C::Ltu => "ult",
            C::Leu => "ule",
            C::Gtu => "ugt",
            C::Geu => "uge",
            C::Num => "ord",
            C::Nan => "uno",
        };
        let class = self.uniform_or_varying(sources);
        self.compute(class, 1, sources, None, |e, kind, s| {
            let (a, b) = (e.number(&s[0], bits, kind), e.number(&s[1], bits, kind));
            let float = e.text.float(bits, kind);
            e.text.value(&format!("fcmp {condition} {float} {a}, {b}"))
        })
    }
}
