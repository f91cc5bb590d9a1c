//! Values as they are read, computed and written: lane by lane, or by what the lanes have in common.

use super::Emitter;
use super::context;
use super::text::Kind;
use crate::Refusal;
use crate::class::{Class, UNIFORM};
use crate::linear::{Condition, Linear, all_threads};
use ir::instruction::Op;
use ir::operand::{Def, Predicate, Value};
use ptx::isa::SpecialRegister;
use ptx::module::{RegId, Symbol, VarId};
use ptx::types::StateSpace;
use std::ops::RangeInclusive;

/// The only NaN that `.f32` arithmetic produces.
const NAN_F32: u32 = numerics::float::NAN_F32;

/// Lanes of a 64-bit value that have wrapped in 32 bits.
#[derive(Clone, Debug)]
pub(crate) struct Bend {
    /// The last lane before them, a number of 32 bits.
    pub(crate) last: String,
    /// How much more than the stride tells is in those behind it.
    pub(crate) more: i64,
}

/// The last lane before a bend where there is none.
const STRAIGHT: &str = "-1";

/// A 64-bit value that is `base + scale * index` in every lane: see [`Class::Scaled`].
#[derive(Clone, Debug)]
pub(crate) struct Scaled {
    /// A scalar of 64 bits.
    pub(crate) base: String,
    /// A vector of 32.
    pub(crate) index: String,
    pub(crate) scale: i64,
    pub(crate) signed: bool,
}

/// A value in the lanes of a row.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    pub(crate) bits: u32,
    /// Lane 0's, from which the others are `stride` apart.
    pub(crate) base: Option<String>,
    pub(crate) stride: i64,
    /// Where that ends, if it does not hold for all.
    pub(crate) bend: Option<Bend>,
    /// All of them, if there is neither a base nor a scaled index.
    pub(crate) vector: Option<String>,
    pub(crate) scaled: Option<Scaled>,
    /// An `.f32` whose NaN is not yet the canonical one.
    pub(crate) raw: bool,
}

impl Lanes {
    pub(crate) fn uniform(bits: u32, base: impl Into<String>) -> Self {
        Self { bits, base: Some(base.into()), stride: 0, bend: None, vector: None, scaled: None, raw: false }
    }

    pub(crate) fn affine(bits: u32, base: impl Into<String>, stride: i64) -> Self {
        Self { stride, ..Self::uniform(bits, base) }
    }

    pub(crate) fn varying(bits: u32, vector: impl Into<String>) -> Self {
        let vector = Some(vector.into());
        Self { bits, base: None, stride: 0, bend: None, vector, scaled: None, raw: false }
    }

    pub(crate) fn scaled(scaled: Scaled) -> Self {
        Self { bits: 64, base: None, stride: 0, bend: None, vector: None, scaled: Some(scaled), raw: false }
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.base.is_some() && self.stride == 0 && self.bend.is_none()
    }
}

impl Emitter<'_> {
    pub(crate) fn bits_of(&self, register: RegId) -> u32 {
        self.function.body.registers[register.index()].ty.bits()
    }

    pub(crate) fn class_of(&self, register: RegId) -> Class {
        match self.divergence.classes[register.index()] {
            Class::Unknown => UNIFORM,
            class => class,
        }
    }

    /// What the current instruction computes is of this class.
    pub(crate) fn class_of_result(&self) -> Class {
        match self.divergence.result(self.index) {
            Class::Unknown => Class::Varying,
            class => class,
        }
    }

    /// A register as it stands.
    pub(crate) fn register(&mut self, register: RegId) -> Lanes {
        let (index, bits) = (register.index(), self.bits_of(register));
        if let Some(linear) = self.linears.of(register) {
            return self.linear(linear, bits);
        }
        if let Some(condition) = self.linears.condition(register) {
            return self.condition(register, condition);
        }
        let raw = self.lazy[index];
        let vector = self.text.int(bits, Kind::Vector);
        let mut lanes = match self.class_of(register) {
            Class::Affine(stride) => {
                let base = self.text.value(&format!("load i{bits}, ptr %r{index}"));
                Lanes::affine(bits, base, stride)
            }
            Class::Bent { stride, more } => {
                let base = self.text.value(&format!("load i{bits}, ptr %r{index}"));
                let last = self.text.value(&format!("load i32, ptr %r{index}.last"));
                Lanes { bend: Some(Bend { last, more }), ..Lanes::affine(bits, base, stride) }
            }
            Class::Scaled { scale, signed } => {
                let base = self.text.value(&format!("load i{bits}, ptr %r{index}"));
                let word = self.text.int(32, Kind::Vector);
                let index = self.text.value(&format!("load {word}, ptr %r{index}.index"));
                Lanes::scaled(Scaled { base, index, scale, signed })
            }
            Class::Varying | Class::Unknown => {
                let value = self.text.value(&format!("load {vector}, ptr %r{index}"));
                // All that reaches this read was written in every lane.
                match self.divergence.steps.get(&(self.index, register)) {
                    Some(&stride) => {
                        let base = self.text.value(&format!("extractelement {vector} {value}, i32 0"));
                        Lanes::affine(bits, base, stride)
                    }
                    None => Lanes::varying(bits, value),
                }
            }
        };
        lanes.raw = raw;
        lanes
    }

    /// What follows from the thread's number.
    fn linear(&mut self, linear: Linear, bits: u32) -> Lanes {
        let mut base = linear.first.to_string();
        for (axis, step) in ["x", "y", "z"].into_iter().zip(linear.steps).filter(|(_, step)| *step != 0) {
            let number = match bits {
                16 => self.text.value(&format!("trunc i32 %tid.{axis} to i16")),
                32 => format!("%tid.{axis}"),
                _ => self.text.value(&format!("zext i32 %tid.{axis} to i{bits}")),
            };
            let part = self.text.value(&format!("mul i{bits} {number}, {step}"));
            base = self.text.value(&format!("add i{bits} {part}, {base}"));
        }
        Lanes::affine(bits, base, linear.steps[0])
    }

    /// How values that follow from the thread's number compare.
    fn condition(&mut self, register: RegId, condition: Condition) -> Lanes {
        if let Some(holds) = condition.constant(self.rows) {
            return Lanes::uniform(1, holds.to_string());
        }
        let than = super::integer::condition(condition.cmp, true);
        let first = self.linear(condition.difference, 64).base.unwrap_or_default();
        if self.class_of(register) == UNIFORM {
            return Lanes::uniform(1, self.text.value(&format!("icmp {than} i64 {first}, 0")));
        }
        // Multiples of the step against what lane 0 lacks of zero, in as few bits as both always fit in. A limit that is clamped instead is
        // computed by way of flags, which LLVM does not move to where the mask is needed.
        let step = condition.difference.steps[0];
        let far = step * i64::from(self.rows.width - 1);
        let range = condition.difference.range(&all_threads(self.rows));
        let most = range.start().abs().max(range.end().abs()).max(far.abs());
        let bits = if most < i64::from(i16::MAX) { 16 } else { 32 };
        let mut limit = self.text.value(&format!("sub i64 0, {first}"));
        if most >= i64::from(i32::MAX) {
            limit = self.clamped(&limit, far.min(0) - 1..=far.max(0) + 1);
        }
        let limit = self.text.value(&format!("trunc i64 {limit} to i{bits}"));
        let limit = self.text.splat(&limit, &format!("i{bits}"));
        let (int, steps) = (self.text.int(bits, Kind::Vector), self.text.list(bits, |l| l * step));
        Lanes::varying(1, self.text.value(&format!("icmp {than} {int} {steps}, {limit}")))
    }

    /// The number of a range that is nearest to one of 64 bits.
    pub(super) fn clamped(&mut self, number: &str, range: RangeInclusive<i64>) -> String {
        let mut number = number.to_owned();
        for (name, end) in [("smax", range.start()), ("smin", range.end())] {
            self.intrinsic(&format!("declare i64 @llvm.{name}.i64(i64, i64)"));
            number = self.text.value(&format!("call i64 @llvm.{name}.i64(i64 {number}, i64 {end})"));
        }
        number
    }

    /// An operand in so many bits, of which an `.f32` NaN may not be canonical.
    pub(crate) fn read_raw(&mut self, value: &Value, bits: u32) -> Result<Lanes, Refusal> {
        match *value {
            Value::Register(register) if self.bits_of(register) == bits => Ok(self.register(register)),
            Value::Register(register) => {
                if self.bits_of(register) > 64 || self.bits_of(register) == 1 {
                    return Err(Refusal::Operand(format!("a register of {} bits", self.bits_of(register))));
                }
                let lanes = self.register(register);
                let lanes = self.canonical(lanes);
                Ok(self.resized(lanes, bits, false))
            }
            Value::Constant(value) => {
                let value = if bits >= 64 { value as i64 } else { (value & ((1 << bits) - 1)) as i64 };
                Ok(Lanes::uniform(bits, self.text.constant(value, bits, Kind::Scalar)))
            }
            Value::Special { register, component } => {
                let lanes = self.special(register, component)?;
                Ok(match bits {
                    32 => lanes,
                    _ => self.resized(lanes, bits, false),
                })
            }
            Value::Symbol { symbol: Symbol::Variable(id), offset } => {
                let missing = || Refusal::Operand("the address of a local variable".to_owned());
                let address = self.source.address_of(id).ok_or_else(missing)?;
                let space = self.function.module.variables[id.index()].space;
                if matches!(space, StateSpace::Global | StateSpace::Const) {
                    let address = self.global_address(id, offset);
                    return Ok(Lanes::uniform(
                        bits,
                        match bits {
                            64 => address,
                            _ => self.text.value(&format!("trunc i64 {address} to i{bits}")),
                        },
                    ));
                }
                let address = address.wrapping_add_signed(offset) as i64;
                let address = if bits == 32 { i64::from(address as i32) } else { address };
                Ok(Lanes::uniform(bits, address.to_string()))
            }
            Value::Symbol { symbol: Symbol::Function(_), .. } => {
                Err(Refusal::Operand("the address of a function".to_owned()))
            }
            Value::Unused => Ok(Lanes::uniform(bits, "0")),
        }
    }

    /// The address of a variable in global or constant memory. It is another one in each process, and an object is kept for all,
    /// so the text does not have it.
    pub(super) fn global_address(&mut self, variable: VarId, offset: i64) -> String {
        let known = self.variables.iter().position(|&known| known == variable);
        let index = known.unwrap_or_else(|| {
            self.variables.push(variable);
            self.variables.len() - 1
        });
        let addresses = self.constant_field(context::ADDRESSES, "ptr");
        let place = self.text.value(&format!("getelementptr i8, ptr {addresses}, i64 {}", 8 * index));
        let address = self.text.value(&format!("load i64, ptr {place}, !invariant.load !1"));
        match offset {
            0 => address,
            _ => self.text.value(&format!("add i64 {address}, {offset}")),
        }
    }

    /// An operand in so many bits.
    pub(crate) fn read(&mut self, value: &Value, bits: u32) -> Result<Lanes, Refusal> {
        let lanes = self.read_raw(value, bits)?;
        Ok(self.canonical(lanes))
    }

    /// The low bits of a source whose register may be wider.
    pub(crate) fn read_low(&mut self, value: &Value, bits: u32) -> Result<Lanes, Refusal> {
        let own = match value {
            Value::Register(register) => self.bits_of(*register).max(bits),
            _ => bits,
        };
        let source = self.read(value, own)?;
        Ok(self.resized(source, bits, false))
    }

    /// A predicate.
    pub(crate) fn predicate(&mut self, predicate: &Predicate) -> Result<Lanes, Refusal> {
        let mut lanes = match predicate.value {
            Value::Register(register) => self.register(register),
            Value::Constant(value) => Lanes::uniform(1, if value == 0 { "false" } else { "true" }),
            ref other => return Err(Refusal::Operand(format!("{other:?} as a predicate"))),
        };
        if predicate.negated {
            if let Some(base) = &lanes.base {
                lanes.base = Some(self.text.value(&format!("xor i1 {base}, true")));
            }
            if let Some(vector) = &lanes.vector {
                let (ty, all) = (self.text.int(1, Kind::Vector), self.text.all());
                lanes.vector = Some(self.text.value(&format!("xor {ty} {vector}, {all}")));
            }
        }
        Ok(lanes)
    }

    fn special(&mut self, register: SpecialRegister, component: u8) -> Result<Lanes, Refusal> {
        use SpecialRegister as R;
        let width = self.rows.width;
        let missing = || Refusal::Operand(register.text().to_owned());
        self.rows.special(register, component).ok_or_else(missing)?;
        let c = usize::from(component);
        let uniform = |text: String| Lanes::uniform(32, text);
        Ok(match register {
            _ if component == 3 => uniform("0".to_owned()),
            R::Tid if self.rows.are_straight() => {
                let tid = format!("%tid.{}", ["x", "y", "z"][c]);
                if c == 0 { Lanes::affine(32, tid, 1) } else { uniform(tid) }
            }
            R::Tid => Lanes::varying(32, format!("%tid.{}", ["x", "y", "z"][c])),
            R::Ntid => uniform(self.rows.block[c].to_string()),
            R::Ctaid | R::Nctaid => {
                let at = if register == R::Ctaid { super::context::CTAID } else { super::context::NCTAID };
                let place = self.text.value(&format!("getelementptr i8, ptr %ctx, i64 {}", at + 4 * c));
                uniform(self.text.value(&format!("load i32, ptr {place}, !invariant.load !1")))
            }
            R::Warpid => uniform(self.text.value("udiv i32 %thread, 32")),
            R::Laneid => {
                let first = self.text.value("urem i32 %thread, 32");
                Lanes::affine(32, first, 1)
            }
            _ => {
                if width != 32 {
                    return Err(missing());
                }
                let list = |element: fn(u32) -> u32| move |l: i64| i64::from(element(l as u32) as i32);
                let list = match register {
                    R::LanemaskEq => self.text.list(32, list(|l| 1 << l)),
                    R::LanemaskLt => self.text.list(32, list(|l| (1 << l) - 1)),
                    R::LanemaskLe => self.text.list(32, list(|l| ((2u64 << l) - 1) as u32)),
                    R::LanemaskGe => self.text.list(32, list(|l| !((1 << l) - 1))),
                    _ => self.text.list(32, list(|l| !(((2u64 << l) - 1) as u32))),
                };
                Lanes::varying(32, list)
            }
        })
    }

    /// The value in each lane.
    pub(crate) fn vector(&mut self, lanes: &Lanes) -> String {
        if let Some(vector) = &lanes.vector {
            return vector.clone();
        }
        if let Some(Scaled { base, index, scale, signed }) = lanes.scaled.clone() {
            let (word, wide) = (self.text.int(32, Kind::Vector), self.text.int(64, Kind::Vector));
            let how = if signed { "sext" } else { "zext" };
            let index = self.text.value(&format!("{how} {word} {index} to {wide}"));
            let scale = self.text.constant(scale, 64, Kind::Vector);
            let far = self.text.value(&format!("mul {wide} {index}, {scale}"));
            let base = self.text.splat(&base, "i64");
            return self.text.value(&format!("add {wide} {far}, {base}"));
        }
        let (bits, base) = (lanes.bits, lanes.base.clone().unwrap_or_default());
        let splat = self.text.splat(&base, &format!("i{bits}"));
        if lanes.stride == 0 {
            return splat;
        }
        let ty = self.text.int(bits, Kind::Vector);
        let mut steps = self.text.list(bits, |l| l * lanes.stride);
        if let Some(Bend { last, more }) = &lanes.bend {
            let (word, mask) = (self.text.int(32, Kind::Vector), self.text.int(1, Kind::Vector));
            let last = self.text.splat(last, "i32");
            let behind = self.text.value(&format!("icmp ult {word} {last}, {}", self.text.list(32, |l| l)));
            let wrapped = self.text.list(bits, |l| l.wrapping_mul(lanes.stride).wrapping_add(*more));
            steps = self.text.value(&format!("select {mask} {behind}, {ty} {wrapped}, {ty} {steps}"));
        }
        self.text.value(&format!("add {ty} {splat}, {steps}"))
    }

    /// What it is computed with: all lanes, or the base.
    pub(crate) fn of_kind(&mut self, lanes: &Lanes, kind: Kind) -> String {
        match (kind, &lanes.base) {
            (Kind::Scalar, Some(base)) => base.clone(),
            (Kind::Scalar, None) => {
                // Only where the analysis and the text disagree, which a test would show.
                let ty = self.text.int(lanes.bits, Kind::Vector);
                let vector = self.vector(lanes);
                self.text.value(&format!("extractelement {ty} {vector}, i32 0"))
            }
            (Kind::Vector, _) => self.vector(lanes),
        }
    }

    /// Every part of a value, changed.
    fn map(&mut self, lanes: &Lanes, mut change: impl FnMut(&mut Self, Kind, &str) -> String) -> Lanes {
        let base = lanes.base.as_ref().map(|base| change(self, Kind::Scalar, base));
        let vector = lanes.vector.as_ref().map(|vector| change(self, Kind::Vector, vector));
        Lanes { base, vector, ..lanes.clone() }
    }

    /// Cut, or extended with its sign or with zeros.
    pub(crate) fn resized(&mut self, lanes: Lanes, bits: u32, signed: bool) -> Lanes {
        if lanes.bits == bits {
            return lanes;
        }
        let lanes = match lanes.is_uniform() {
            true => lanes,
            false => Lanes::varying(lanes.bits, self.vector(&lanes)),
        };
        let from = lanes.bits;
        let how = if bits < from {
            "trunc"
        } else if signed {
            "sext"
        } else {
            "zext"
        };
        let resized = self.map(&lanes, |e, kind, value| {
            let (a, b) = (e.text.int(from, kind), e.text.int(bits, kind));
            e.text.value(&format!("{how} {a} {value} to {b}"))
        });
        Lanes { bits, raw: false, ..resized }
    }

    /// An `.f32` with the one NaN that there is.
    pub(crate) fn canonical(&mut self, lanes: Lanes) -> Lanes {
        if !lanes.raw {
            return lanes;
        }
        let canonical = self.map(&lanes, |e, kind, value| {
            let (int, float) = (e.text.int(32, kind), e.text.float(32, kind));
            let nan = e.text.constant(i64::from(NAN_F32 as i32), 32, kind);
            let number = e.text.value(&format!("bitcast {int} {value} to {float}"));
            let test = e.text.value(&format!("fcmp uno {float} {number}, {number}"));
            let mask = e.text.int(1, kind);
            e.text.value(&format!("select {mask} {test}, {int} {nan}, {int} {value}"))
        });
        Lanes { raw: false, ..canonical }
    }

    /// Computes lane by lane, or by what the lanes have in common where the instruction's class allows it.
    pub(crate) fn compute(
        &mut self,
        class: Class,
        bits: u32,
        sources: &[Lanes],
        widened: Option<bool>,
        mut compute: impl FnMut(&mut Self, Kind, &[String]) -> String,
    ) -> Lanes {
        let mut once = |e: &mut Self, kind| {
            let sources: Vec<_> = sources.iter().map(|source| e.of_kind(source, kind)).collect();
            compute(e, kind, &sources)
        };
        match class {
            Class::Affine(stride) => Lanes::affine(bits, once(self, Kind::Scalar), stride),
            Class::Bent { stride, more } => {
                let bend =
                    sources.iter().find_map(|source| source.bend.as_ref().map(|bend| bend.last.clone()));
                let last = bend.or_else(|| {
                    let wrapping = |source: &&Lanes| source.bits == 32 && source.stride != 0;
                    let source = sources.iter().find(wrapping).filter(|_| widened.is_some())?;
                    let base = source.base.clone()?;
                    Some(self.last_before_wrap(&base, source.stride, widened == Some(true)))
                });
                let last = last.unwrap_or_else(|| STRAIGHT.to_owned());
                let base = once(self, Kind::Scalar);
                Lanes { bend: Some(Bend { last, more }), ..Lanes::affine(bits, base, stride) }
            }
            Class::Scaled { scale, signed } => {
                let index = self.index_among(sources);
                // What is widened is the index alone.
                let of_base = |source: &Lanes| match (&source.scaled, &source.base) {
                    (Some(scaled), _) => scaled.base.clone(),
                    (None, Some(base)) if source.is_uniform() => base.clone(),
                    _ => "0".to_owned(),
                };
                let bases: Vec<_> = sources.iter().map(of_base).collect();
                let base = compute(self, Kind::Scalar, &bases);
                Lanes::scaled(Scaled { base, index, scale, signed })
            }
            Class::Varying | Class::Unknown => Lanes::varying(bits, once(self, Kind::Vector)),
        }
    }

    /// The index of what is computed with one: a source has it, or is it, before it is widened.
    fn index_among(&mut self, sources: &[Lanes]) -> String {
        if let Some(scaled) = sources.iter().find_map(|source| source.scaled.as_ref()) {
            return scaled.index.clone();
        }
        match sources.iter().find(|source| !source.is_uniform()) {
            Some(source) => self.vector(source),
            None => "zeroinitializer".to_owned(),
        }
    }

    /// The last lane of a 32-bit value that is not across the wrap from lane 0.
    fn last_before_wrap(&mut self, base: &str, stride: i64, signed: bool) -> String {
        let (least, most) = if signed { (i32::MIN, i32::MAX) } else { (0, -1) };
        let room = match stride > 0 {
            true => self.text.value(&format!("sub i32 {most}, {base}")),
            false => self.text.value(&format!("sub i32 {base}, {least}")),
        };
        match stride.abs() {
            1 => room,
            stride => self.text.value(&format!("udiv i32 {room}, {stride}")),
        }
    }

    /// Writes a result. A wider register gets its sign if it is `signed`, else zeros.
    pub(crate) fn write(&mut self, def: Def, lanes: Lanes, signed: bool) -> Result<(), Refusal> {
        let Some(register) = def.0 else { return Ok(()) };
        let (index, own) = (register.index(), self.bits_of(register));
        if own > 64 && lanes.bits != own {
            return Err(Refusal::Operand(format!("a register of {own} bits")));
        }
        let lanes = if self.lazy[index] && lanes.bits == own { lanes } else { self.canonical(lanes) };
        let lanes = self.resized(lanes, own, signed);
        let guard = self.guard.clone();
        let old = guard.is_some().then(|| self.register(register));
        match self.class_of(register) {
            Class::Affine(_) => {
                let base = self.of_kind(&lanes, Kind::Scalar);
                self.store_part(
                    &format!("i{own}"),
                    &format!("%r{index}"),
                    base,
                    &guard,
                    old.and_then(|o| o.base),
                );
            }
            Class::Bent { .. } => {
                let base = self.of_kind(&lanes, Kind::Scalar);
                let last = lanes.bend.map_or_else(|| STRAIGHT.to_owned(), |bend| bend.last);
                let old = old.map_or((None, None), |o| (o.base, o.bend.map(|bend| bend.last)));
                self.store_part(&format!("i{own}"), &format!("%r{index}"), base, &guard, old.0);
                self.store_part("i32", &format!("%r{index}.last"), last, &guard, old.1);
            }
            Class::Scaled { scale, signed } => {
                let is_this = |scaled: &Scaled| (scaled.scale, scaled.signed) == (scale, signed);
                let Some(scaled) = lanes.scaled.filter(is_this) else {
                    return Err(Refusal::Operand(
                        "a value that is not the scaled index it should be".to_owned(),
                    ));
                };
                let old = old.and_then(|o| o.scaled).map(|o| (o.base, o.index)).unzip();
                let word = self.text.int(32, Kind::Vector);
                self.store_part("i64", &format!("%r{index}"), scaled.base, &guard, old.0);
                self.store_part(&word, &format!("%r{index}.index"), scaled.index, &guard, old.1);
            }
            Class::Varying | Class::Unknown => {
                let mut vector = self.vector(&lanes);
                let ty = self.text.int(own, Kind::Vector);
                let mask = self.text.int(1, Kind::Vector);
                let mut keep = guard.as_ref().map(|guard| self.vector(guard));
                if self.divergence.blends(self.block, register) {
                    let active = self.mask.clone();
                    keep = Some(match keep {
                        Some(guard) => self.text.value(&format!("and {mask} {guard}, {active}")),
                        None => active,
                    });
                }
                if let Some(keep) = keep {
                    let mut old = self.text.value(&format!("load {ty}, ptr %r{index}"));
                    if self.is_bitwise() {
                        old = self.unrelated(&old, own);
                    }
                    vector = self.text.value(&format!("select {mask} {keep}, {ty} {vector}, {ty} {old}"));
                }
                self.text.line(&format!("store {ty} {vector}, ptr %r{index}"));
            }
        }
        Ok(())
    }

    /// Whether the current instruction is logic on bits, or hands such a value on.
    fn is_bitwise(&self) -> bool {
        self.function.instruction(self.index).is_some_and(|instruction| {
            matches!(
                instruction.op,
                Op::And(_)
                    | Op::Or(_)
                    | Op::Xor(_)
                    | Op::Not(_)
                    | Op::Lop3(_)
                    | Op::Bfi(_)
                    | Op::Mov(_)
                    | Op::Selp(_)
                    | Op::NegFloat(_)
                    | Op::AbsFloat(_)
            )
        })
    }

    /// The same value, of which LLVM does not know that. Where logic on a register is kept in the lanes that are not active, LLVM 22.1
    /// makes one masked instruction of both (`vpternlogd`), and at times exchanges two operands of it without its table.
    fn unrelated(&mut self, vector: &str, bits: u32) -> String {
        let (ty, one) = (self.text.int(bits, Kind::Vector), format!("i{bits}"));
        let zero = self.constant_field(context::ZERO, &one);
        let zero = self.text.splat(&zero, &one);
        self.text.value(&format!("xor {ty} {vector}, {zero}"))
    }

    /// The slot of a register of so many bits, all lanes of it, and what lanes that are not active have there; `None` if they need not
    /// keep it.
    pub(super) fn kept(&mut self, register: RegId, bits: u32) -> Option<(String, String)> {
        let is_whole = matches!(self.class_of(register), Class::Varying | Class::Unknown);
        let keeps = self.guard.is_some() || self.divergence.blends(self.block, register);
        (is_whole && keeps && self.bits_of(register) == bits).then(|| {
            let (slot, ty) = (format!("%r{}", register.index()), self.text.int(bits, Kind::Vector));
            let old = self.text.value(&format!("load {ty}, ptr {slot}"));
            (slot, old)
        })
    }

    /// What of a register is kept from instruction to instruction: slots, by name and type, and their bytes.
    pub(super) fn slots_of(&self, register: RegId) -> Vec<(String, String, u32)> {
        let (bits, name) = (self.bits_of(register), format!("%r{}", register.index()));
        let vector = |bits: u32| (self.text.int(bits, Kind::Vector), bits.div_ceil(8) * self.rows.width);
        let scalar = (name.clone(), format!("i{bits}"), bits.div_ceil(8));
        match self.class_of(register) {
            Class::Affine(_) => vec![scalar],
            Class::Bent { .. } => vec![(format!("{name}.last"), "i32".to_owned(), 4), scalar],
            Class::Scaled { .. } => {
                let (index, bytes) = vector(32);
                vec![(format!("{name}.index"), index, bytes), scalar]
            }
            Class::Varying | Class::Unknown => {
                let (ty, bytes) = vector(bits);
                vec![(name, ty, bytes)]
            }
        }
    }

    /// Stores a part of a register that all lanes have in common: under a guard only if it holds, which then does or does
    /// not in all lanes.
    fn store_part(&mut self, ty: &str, place: &str, new: String, guard: &Option<Lanes>, old: Option<String>) {
        let value = match (guard, old) {
            (Some(guard), Some(old)) => {
                let holds = self.of_kind(guard, Kind::Scalar);
                self.text.value(&format!("select i1 {holds}, {ty} {new}, {ty} {old}"))
            }
            _ => new,
        };
        self.text.line(&format!("store {ty} {value}, ptr {place}"));
    }
}
