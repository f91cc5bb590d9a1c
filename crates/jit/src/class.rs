//! What is known of a value in the lanes of a row that run together.
//!
//! Unlike [`ir::Shapes`], which holds for whatever order lanes run in, this is about lanes in lockstep: a counter that all
//! lanes of a row advance together is uniform, and a pointer that they advance together stays affine.
//!
//! [`Class::Affine`] is a fact, modulo the width of the value. Widened to 64 bits it holds up to the lane that wraps in 32
//! bits, of which there is hardly ever one: it is [`Class::Bent`] there, and what stands beside the value at run time is the
//! lane. So sums and multiples of such values cost what they cost in a scalar.
//!
//! Any other 32-bit value, widened to 64 bits, is [`Class::Scaled`]: what stands in its register is the narrow value, and how it leads to
//! the wide one. So an element's address is an index, and costs half of what it costs in 64 bits.

use ir::instruction::{MulIntMode, Op, Or, SetpInt, Xor};
use ir::operand::{Address, Space, Value};
use ptx::isa::{Role, SpecialRegister};
use ptx::module::{AddressBase, RegId};
use ptx::types::{ScalarType, TypeKind};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// No definition has been seen yet.
    Unknown,
    /// `value(lane) = value(lane 0) + stride * lane`. With a stride of 0 the value is uniform.
    Affine(i64),
    /// The same up to the lane of the bend, which is known at run time; from there on it is so much more. Neither the stride
    /// nor that is 0.
    Bent {
        stride: i64,
        more: i64,
    },
    /// `value(lane) = base + scale * index(lane)` in 64 bits, where the index has 32, with or without a sign.
    Scaled {
        scale: i64,
        signed: bool,
    },
    Varying,
}

pub(crate) const UNIFORM: Class = Class::Affine(0);

/// Strides are kept where a row of them is far from wrapping.
const MAX_STRIDE: i64 = 1 << 24;

/// The greatest scale of an index.
const MAX_SCALE: i64 = 1 << 16;

impl Class {
    /// What holds of either.
    pub(crate) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, other) | (other, Self::Unknown) => other,
            (a, b) if a == b => a,
            (Self::Affine(a), Self::Bent { stride, more })
            | (Self::Bent { stride, more }, Self::Affine(a))
                if a == stride =>
            {
                Self::Bent { stride, more }
            }
            _ => Self::Varying,
        }
    }

    /// Of values that are combined lane by lane with nothing known of how.
    pub(crate) fn any(classes: impl IntoIterator<Item = Self>) -> Self {
        classes.into_iter().fold(UNIFORM, |all, class| match class {
            Self::Unknown => {
                if all == UNIFORM {
                    Self::Unknown
                } else {
                    all
                }
            }
            UNIFORM => all,
            _ => Self::Varying,
        })
    }

    /// With so much from one lane to the next, and so much more from the bend on.
    fn of(stride: Option<i64>, more: Option<i64>) -> Self {
        match (stride, more) {
            (Some(0), Some(0)) => UNIFORM,
            (Some(stride), Some(more)) if stride != 0 && (-MAX_STRIDE..=MAX_STRIDE).contains(&stride) => {
                match more {
                    0 => Self::Affine(stride),
                    more => Self::Bent { stride, more },
                }
            }
            _ => Self::Varying,
        }
    }

    fn sum(self, other: Self, sign: i64) -> Self {
        let (a, b, more) = match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => return Self::Unknown,
            (Self::Affine(a), Self::Affine(b)) => (a, b, Some(0)),
            (Self::Bent { stride, more }, Self::Affine(b)) => (stride, b, Some(more)),
            (Self::Affine(a), Self::Bent { stride, more }) => (a, stride, more.checked_mul(sign)),
            (scaled @ Self::Scaled { .. }, UNIFORM) => return scaled,
            (UNIFORM, scaled @ Self::Scaled { .. }) if sign == 1 => return scaled,
            _ => return Self::Varying,
        };
        Self::of(a.checked_add(sign * b), more)
    }

    fn times(self, factor: i64) -> Self {
        match self {
            Self::Unknown | Self::Varying => self,
            Self::Affine(stride) => Self::of(stride.checked_mul(factor), Some(0)),
            Self::Bent { stride, more } => Self::of(stride.checked_mul(factor), more.checked_mul(factor)),
            Self::Scaled { scale, signed } => match scale.checked_mul(factor) {
                Some(0) => UNIFORM,
                Some(scale @ 1..=MAX_SCALE) => Self::Scaled { scale, signed },
                _ => Self::Varying,
            },
        }
    }

    /// Widened from 32 bits, with a sign or with zeros.
    pub(crate) fn widened(self, signed: bool) -> Self {
        match self {
            Self::Affine(stride) if stride != 0 => Self::Bent { stride, more: -stride.signum() << 32 },
            Self::Varying => Self::Scaled { scale: 1, signed },
            other => other,
        }
    }

    /// The low 32 bits of 64.
    fn narrowed(self) -> Self {
        match self {
            // A bend is where 32 bits have wrapped.
            Self::Bent { stride, more } if more.trailing_zeros() >= 32 => Self::Affine(stride),
            Self::Scaled { .. } => Self::Varying,
            other => other,
        }
    }
}

/// How the threads of a block lie in rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    /// Lanes of a row.
    pub(crate) width: u32,
    /// Threads of the block in each dimension.
    pub(crate) block: [u32; 3],
}

impl Rows {
    /// Whether `%tid.x` counts in every row, and `%tid.y` and `%tid.z` are the same in all its lanes.
    pub(crate) fn are_straight(&self) -> bool {
        let [x, y, z] = self.block;
        y * z == 1 || x.is_multiple_of(self.width)
    }

    /// Whether the block is one row.
    pub(crate) fn are_one(&self) -> bool {
        self.block.iter().product::<u32>() <= self.width
    }

    /// A special register that compiled code reads.
    pub(crate) fn special(&self, register: SpecialRegister, component: u8) -> Option<Class> {
        use SpecialRegister as R;
        if component == 3 {
            return Some(UNIFORM);
        }
        Some(match (register, component) {
            (R::Tid, 0) if self.are_straight() => Class::Affine(1),
            (R::Tid, _) if self.are_straight() => UNIFORM,
            (R::Tid, _) => Class::Varying,
            (R::Ntid | R::Ctaid | R::Nctaid | R::Warpid, _) => UNIFORM,
            (R::Laneid, _) => Class::Affine(1),
            (R::LanemaskEq | R::LanemaskLe | R::LanemaskLt | R::LanemaskGe | R::LanemaskGt, _) => {
                Class::Varying
            }
            _ => return None,
        })
    }
}

/// Whether numbers of a type have a sign that is one when they are widened.
pub(crate) fn is_signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}

/// Whether a member mask is the constant that names all lanes.
pub(crate) fn names_all_lanes(members: &Value) -> bool {
    matches!(members, Value::Constant(bits) if *bits as u32 == !0)
}

/// The classes of a function's registers where an instruction reads them, as far as they are known.
pub(crate) struct Known<'a> {
    pub(crate) rows: Rows,
    pub(crate) registers: &'a [Class],
    /// The low bits of lane 0's value that are zero, of registers whose other lanes are steps apart from it.
    pub(crate) zeros: &'a [u32],
    pub(crate) types: &'a dyn Fn(RegId) -> ScalarType,
    /// Whether a generic address may be one of memory that each thread has for itself.
    pub(crate) has_local: bool,
}

/// Zero bits of zero.
pub(crate) const ALL_ZERO: u32 = 64;

impl Known<'_> {
    /// A value read in so many bits.
    pub(crate) fn value(&self, value: &Value, bits: u32) -> Class {
        match *value {
            Value::Register(register) => {
                let class = self.registers[register.index()];
                match (self.types)(register).bits() == bits {
                    true => class,
                    false => Class::any([class]),
                }
            }
            Value::Special { register, component } => match self.rows.special(register, component) {
                Some(class) if bits == 32 => class,
                Some(class) => Class::any([class]),
                None => Class::Varying,
            },
            Value::Constant(_) | Value::Symbol { .. } | Value::Unused => UNIFORM,
        }
    }

    /// The address of an access, in 64 bits.
    pub(crate) fn address(&self, address: &Address) -> Class {
        match address.base {
            AddressBase::Register(register) => match (self.types)(register).bits() {
                64 => self.registers[register.index()],
                _ => self.registers[register.index()].widened(false),
            },
            AddressBase::Variable(_) | AddressBase::Absolute => UNIFORM,
        }
    }

    /// What an instruction computes, before its guard is looked at.
    pub(crate) fn result(&self, op: &Op) -> Class {
        let constant = |value: &Value, ty: ScalarType| match *value {
            Value::Constant(bits) if ty.bits() == 32 => Some(i64::from(bits as u32 as i32)),
            Value::Constant(bits) => Some(bits as i64),
            _ => None,
        };
        let product = |a: &Value, b: &Value, ty: ScalarType| {
            let (x, y) = (self.value(a, ty.bits()), self.value(b, ty.bits()));
            match (constant(a, ty), constant(b, ty)) {
                (_, Some(factor)) => x.times(factor),
                (Some(factor), _) => y.times(factor),
                _ => Class::any([x, y]),
            }
        };
        let wide = |a: &Value, b: &Value, ty: ScalarType| {
            let signed = is_signed(ty);
            let factor = |value| constant(value, ty).map(|c| if signed { c } else { i64::from(c as u32) });
            let (x, y) = (self.value(a, ty.bits()), self.value(b, ty.bits()));
            match (ty.bits(), factor(a), factor(b)) {
                (32, _, Some(factor)) => x.widened(signed).times(factor),
                (32, Some(factor), _) => y.widened(signed).times(factor),
                _ => Class::any([x, y]),
            }
        };
        let wholes = |ty: ScalarType| ty.bits() >= 32;
        match op {
            Op::Mov(mov) => self.value(&mov.a, mov.ty.bits()),
            Op::AddInt(add) if !add.sat && wholes(add.ty) => {
                self.value(&add.a, add.ty.bits()).sum(self.value(&add.b, add.ty.bits()), 1)
            }
            Op::SubInt(sub) if !sub.sat && wholes(sub.ty) => {
                self.value(&sub.a, sub.ty.bits()).sum(self.value(&sub.b, sub.ty.bits()), -1)
            }
            Op::MulInt(mul) if mul.mode == MulIntMode::Lo && wholes(mul.ty) => {
                product(&mul.a, &mul.b, mul.ty)
            }
            Op::MulInt(mul) if mul.mode == MulIntMode::Wide => wide(&mul.a, &mul.b, mul.ty),
            Op::MadInt(mad) if mad.mode == MulIntMode::Lo && wholes(mad.ty) => {
                product(&mad.a, &mad.b, mad.ty).sum(self.value(&mad.c, mad.ty.bits()), 1)
            }
            Op::MadInt(mad) if mad.mode == MulIntMode::Wide && mad.ty.bits() == 32 => {
                wide(&mad.a, &mad.b, mad.ty).sum(self.value(&mad.c, 64), 1)
            }
            Op::Shl(shl) if wholes(shl.ty) => match shl.b {
                Value::Constant(amount) if amount < 24 => {
                    self.value(&shl.a, shl.ty.bits()).times(1 << amount)
                }
                _ => self.sources(op),
            },
            Op::CvtInt(cvt) if !cvt.sat && cvt.atype.bits() == 32 && cvt.dtype.bits() == 64 => {
                self.value(&cvt.a, 32).widened(is_signed(cvt.atype))
            }
            Op::CvtInt(cvt) if !cvt.sat && cvt.atype.bits() == 64 && cvt.dtype.bits() == 32 => {
                self.value(&cvt.a, 64).narrowed()
            }
            Op::CvtInt(cvt) if !cvt.sat && cvt.atype.bits() == cvt.dtype.bits() && wholes(cvt.dtype) => {
                self.value(&cvt.a, cvt.atype.bits())
            }
            // Lanes that are a step apart in 16 bits follow from the thread's number ([`crate::linear`]), and so never wrap.
            Op::CvtInt(cvt)
                if !cvt.sat
                    && cvt.atype.bits() == 16
                    && wholes(cvt.dtype)
                    && matches!(self.value(&cvt.a, 16), Class::Affine(_)) =>
            {
                self.value(&cvt.a, 16)
            }
            Op::Cvta(cvta) if cvta.ty.bits() == 64 => self.value(&cvta.a, 64),
            Op::Ld(ld) => match self.address(&ld.a) {
                UNIFORM if !self.is_per_thread(&ld.a) => UNIFORM,
                Class::Unknown => Class::Unknown,
                _ => Class::Varying,
            },
            Op::Vote(vote) if vote.membermask.is_none_or(|members| names_all_lanes(&members)) => UNIFORM,
            Op::Redux(redux) if names_all_lanes(&redux.membermask) => UNIFORM,
            Op::Shr(shr) if self.shifts_lanes_out(&shr.a, &shr.b, shr.ty.bits()) => UNIFORM,
            Op::And(and) if wholes(and.ty) => {
                match (constant(&and.b, and.ty), self.lane_bits(&and.a, and.ty.bits())) {
                    // The bits in which lanes differ are left out, or kept.
                    (Some(mask), Some((bits, _))) if mask.trailing_zeros() >= bits => UNIFORM,
                    (Some(mask), Some((bits, stride))) if mask.trailing_ones() >= bits => {
                        Class::Affine(stride)
                    }
                    _ => self.sources(op),
                }
            }
            Op::Or(Or { ty, a, b, .. }) | Op::Xor(Xor { ty, a, b, .. }) if wholes(*ty) => {
                self.disjoint_sum(a, b, ty.bits()).unwrap_or_else(|| self.sources(op))
            }
            Op::SetpInt(setp) if setp.c.is_none() && self.compares_blocks(setp) => UNIFORM,
            _ if op.effects().is_pure() => self.sources(op),
            // What each lane gets is its own.
            _ => Class::Varying,
        }
    }

    /// Whether each thread has memory of its own at an address.
    fn is_per_thread(&self, address: &Address) -> bool {
        match address.space {
            Space::Local | Space::ParamFunc => true,
            Space::Generic | Space::Param => self.has_local,
            _ => false,
        }
    }

    /// The low bits in which the lanes of a value differ, all others being lane 0's, and its stride: it counts lanes from
    /// a multiple of their number on.
    fn lane_bits(&self, value: &Value, bits: u32) -> Option<(u32, i64)> {
        let lanes = self.rows.width.trailing_zeros();
        let Class::Affine(stride) = self.value(value, bits) else { return None };
        let differ = (stride > 0 && stride & (stride - 1) == 0).then(|| stride.trailing_zeros() + lanes)?;
        (self.zeros_of(value) >= differ).then_some((differ, stride))
    }

    /// Bits of two values put together, where one has zeros in the bits in which the lanes of the other differ: so compilers
    /// write sums.
    fn disjoint_sum(&self, a: &Value, b: &Value, bits: u32) -> Option<Class> {
        let classes = [self.value(a, bits), self.value(b, bits)];
        if classes.contains(&Class::Unknown) {
            return Some(Class::Unknown);
        }
        let one = |lanes: &Value, other: &Value, class: Class| {
            let (differ, stride) = self.lane_bits(lanes, bits)?;
            let own = (1_u64 << differ) - stride as u64;
            let is_clear = match *other {
                Value::Constant(constant) => constant & own == 0,
                _ => class == UNIFORM && self.zeros_of(other) >= differ,
            };
            is_clear.then_some(Class::Affine(stride))
        };
        one(a, b, classes[1]).or_else(|| one(b, a, classes[0]))
    }

    fn shifts_lanes_out(&self, a: &Value, b: &Value, bits: u32) -> bool {
        let amount = match *b {
            Value::Constant(amount) => amount as u32,
            _ => return false,
        };
        self.lane_bits(a, bits).is_some_and(|(differ, _)| amount >= differ)
    }

    /// Whether all lanes are on one side of what they are compared with, because that is between rows.
    fn compares_blocks(&self, setp: &SetpInt) -> bool {
        use ir::instruction::SetIntCmp as C;
        let bits = setp.ty.bits();
        let between = |value: &Value, differ: u32, above: bool| match *value {
            Value::Constant(constant) if above => constant.wrapping_add(1).trailing_zeros() >= differ,
            Value::Constant(constant) => constant.trailing_zeros() >= differ,
            _ => !above && self.value(value, bits) == UNIFORM && self.zeros_of(value) >= differ,
        };
        let above = match setp.cmp {
            C::Lt | C::Lo | C::Ge | C::Hs => false,
            C::Gt | C::Hi | C::Le | C::Ls => true,
            C::Eq | C::Ne => return false,
        };
        self.lane_bits(&setp.a, bits).is_some_and(|(differ, _)| between(&setp.b, differ, above))
    }

    /// The zero bits at the end of lane 0's value.
    fn zeros_of(&self, value: &Value) -> u32 {
        use SpecialRegister as R;
        match *value {
            Value::Register(register) => self.zeros[register.index()],
            Value::Constant(0) | Value::Unused => ALL_ZERO,
            Value::Constant(value) => value.trailing_zeros(),
            Value::Special { component: 3, .. } => ALL_ZERO,
            Value::Special { register: R::Tid, component: 0 } if self.rows.are_straight() => {
                self.rows.width.trailing_zeros()
            }
            Value::Special { register: R::Laneid, .. } => self.rows.width.trailing_zeros(),
            Value::Special { register: R::Ntid, component } => {
                self.rows.block[usize::from(component)].trailing_zeros()
            }
            Value::Special { .. } | Value::Symbol { .. } => 0,
        }
    }

    /// The zero bits at the end of what lane 0 computes.
    pub(crate) fn zeros(&self, op: &Op) -> u32 {
        let of = |value: &Value| self.zeros_of(value);
        let product = |a: &Value, b: &Value| (of(a) + of(b)).min(ALL_ZERO);
        let wholes = |ty: ScalarType| ty.bits() >= 32;
        match op {
            Op::Mov(mov) if wholes(mov.ty) => of(&mov.a),
            Op::AddInt(add) if !add.sat => of(&add.a).min(of(&add.b)),
            Op::SubInt(sub) if !sub.sat => of(&sub.a).min(of(&sub.b)),
            Op::MulInt(mul) if mul.mode != MulIntMode::Hi => product(&mul.a, &mul.b),
            Op::MadInt(mad) if mad.mode != MulIntMode::Hi && !mad.sat => {
                product(&mad.a, &mad.b).min(of(&mad.c))
            }
            Op::Shl(shl) => match shl.b {
                Value::Constant(amount) => (of(&shl.a) + (amount as u32).min(ALL_ZERO)).min(ALL_ZERO),
                _ => of(&shl.a),
            },
            Op::And(and) => of(&and.a).max(of(&and.b)),
            Op::Or(Or { a, b, .. }) | Op::Xor(Xor { a, b, .. }) => of(a).min(of(b)),
            Op::CvtInt(cvt) if !cvt.sat && wholes(cvt.atype) && wholes(cvt.dtype) => of(&cvt.a),
            _ => 0,
        }
    }

    /// Of a result that may depend on all that is read.
    fn sources(&self, op: &Op) -> Class {
        let mut all = UNIFORM;
        op.fields(&mut |_, field| {
            use ir::instruction::FieldValue as F;
            let mut add = |value: &Value| {
                let class = match *value {
                    Value::Register(register) => self.registers[register.index()],
                    Value::Special { register, component } => {
                        self.rows.special(register, component).unwrap_or(Class::Varying)
                    }
                    _ => UNIFORM,
                };
                all = Class::any([all, class]);
            };
            match field {
                F::Value(value) => add(value),
                F::Values(values) => values.iter().for_each(add),
                F::Predicate(predicate) => add(&predicate.value),
                F::Part(part) => add(&part.value),
                other => other.registers(&mut |register, role| {
                    if role != Role::Write {
                        add(&Value::Register(register));
                    }
                }),
            }
        });
        all
    }
}
