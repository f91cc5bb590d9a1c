//! From an instruction to the values that it defines.

use super::threads::Threads;
use super::value::{Value, WARP, mask};
use super::{Group, LaneOrder};
use crate::instruction::{AddInt, Bfe, CvtInt, FieldValue, Ld, MulIntMode, Op, ShflMode, SubInt};
use crate::lower::Function;
use crate::operand::{Def, Space, Value as Source};
use ptx::isa::{Opcode, Order, Role, SpecialRegister};
use ptx::module::{AddressBase, FunctionKind, RegId, Symbol};
use ptx::types::{ScalarType, StateSpace, TypeKind};

/// Most threads of a CTA, and so the bound of `%ntid`.
const MOST_THREADS: u64 = 1024;
/// The greatest `%nctaid.x`; the other dimensions have 16 bits.
const MOST_CTAS_X: u64 = i32::MAX as u64;
const MOST_CTAS_YZ: u64 = u16::MAX as u64;

/// What is known where an instruction stands.
pub(super) struct Context<'a> {
    pub(super) function: &'a Function<'a>,
    pub(super) lanes: LaneOrder,
    /// The types of registers, or of the values in SSA form.
    pub(super) types: &'a [ScalarType],
    /// What is known of them.
    pub(super) values: &'a [Value],
    /// Whether the lanes that execute an instruction do so together. Otherwise each may come at any time.
    pub(super) together: bool,
}

/// What is known of the results of an instruction.
enum Known {
    /// What they are.
    Value(Value),
    /// Nothing, for its arithmetic is understood, but its operands are not known.
    Nothing,
    /// Its arithmetic is not understood; it may be a function of its operands.
    FunctionOfOperands,
}

impl Context<'_> {
    /// The registers that an instruction defines, with their values.
    pub(super) fn results(&self, opcode: &Opcode, op: &Op) -> Vec<(RegId, Value)> {
        let mut results = Vec::new();
        let Some(value) = self.result(opcode, op) else { return results };
        op.fields(&mut |name, field| {
            let defs = match field {
                FieldValue::Def(def) => std::slice::from_ref(def),
                FieldValue::Defs(defs) => defs,
                _ => return,
            };
            let ty = opcode.type_of(name);
            defs.iter().for_each(|def| self.define(*def, ty, &value, &mut results));
        });
        results
    }

    /// Puts a result of type `ty` into a register.
    fn define(&self, def: Def, ty: Option<ScalarType>, value: &Value, results: &mut Vec<(RegId, Value)>) {
        let Some(register) = def.0 else { return };
        let width = self.types[register.index()].bits();
        let value = match ty {
            Some(ty) if ty.bits() < width => {
                value.extend(ty.bits(), width, ty.kind() == TypeKind::Signed, None)
            }
            _ => *value,
        };
        results.push((register, value));
    }

    /// The value of every result of an instruction, `None` if nothing is known.
    fn result(&self, opcode: &Opcode, op: &Op) -> Option<Value> {
        match self.arithmetic(op) {
            Known::Value(value) => Some(value),
            Known::Nothing => None,
            Known::FunctionOfOperands if op.effects().is_pure() => self.pure(opcode, op),
            Known::FunctionOfOperands if self.together => self.of_warp(op),
            Known::FunctionOfOperands => None,
        }
    }

    /// What follows from the arithmetic of an instruction. Those that are not mentioned are functions of their operands,
    /// if the table says that they do nothing else: loads, atomics, shuffles, votes, calls and carries are none.
    fn arithmetic(&self, op: &Op) -> Known {
        let known = |value: Option<Value>| value.map_or(Known::Nothing, Known::Value);
        let or_pure = |value: Option<Value>| value.map_or(Known::FunctionOfOperands, Known::Value);
        match op {
            Op::Mov(mov) => known(self.operand(&mov.a, mov.ty)),
            // The bits of a window's base are nobody's business, so it counts as any invariant.
            Op::Cvta(cvta) => {
                let width = cvta.ty.bits();
                let of = match cvta.space {
                    Space::Global | Space::Const => Group::Grid,
                    _ => Group::Cta,
                };
                let window = Value::invariant(mask(width)).with_threads(Threads::uniform(of));
                known(self.operand(&cvta.a, cvta.ty).map(|a| a.add(&window, width)))
            }
            Op::AddInt(AddInt { sat: false, ty, a, b, .. }) => {
                known(self.binary(*ty, a, b, |a, b, width| a.add(b, width)))
            }
            Op::SubInt(SubInt { sat: false, ty, a, b, .. }) => {
                known(self.binary(*ty, a, b, |a, b, width| a.sub(b, width)))
            }
            Op::NegInt(neg) => known(self.constant_minus(0, neg.ty, &neg.a)),
            Op::Not(not) => known(self.constant_minus(mask(not.ty.bits()), not.ty, &not.a)),
            Op::MulInt(mul) => or_pure(self.multiply(mul.mode, mul.ty, [&mul.a, &mul.b], None)),
            Op::MadInt(mad) if !mad.sat => {
                or_pure(self.multiply(mad.mode, mad.ty, [&mad.a, &mad.b], Some(&mad.c)))
            }
            Op::Shl(shl) => or_pure(
                self.constant(&shl.b, ScalarType::U32)
                    .and_then(|by| Some(self.operand(&shl.a, shl.ty)?.shift_left(by, shl.ty.bits()))),
            ),
            Op::Shr(shr) => or_pure(self.constant(&shr.b, ScalarType::U32).and_then(|by| {
                Some(self.operand(&shr.a, shr.ty)?.shift_right(by, shr.ty.bits(), is_signed(shr.ty)))
            })),
            Op::And(and) => known(self.binary(and.ty, &and.a, &and.b, |a, b, width| a.and(b, width))),
            Op::Or(or) => known(self.binary(or.ty, &or.a, &or.b, |a, b, width| a.or(b, width, |a, b| a | b))),
            Op::Xor(xor) => {
                known(self.binary(xor.ty, &xor.a, &xor.b, |a, b, width| a.or(b, width, |a, b| a ^ b)))
            }
            Op::DivInt(div) => or_pure(self.power_of_two(div.ty, &div.a, &div.b, |a, divisor, width| {
                a.shift_right(u64::from(divisor.trailing_zeros()), width, false)
            })),
            Op::RemInt(rem) => or_pure(self.power_of_two(rem.ty, &rem.a, &rem.b, |a, divisor, width| {
                a.and(&Value::constant(divisor - 1, width), width)
            })),
            // Of a signed field the highest bit would be copied.
            Op::Bfe(bfe) if !is_signed(bfe.ty) => or_pure(self.extract(bfe)),
            Op::CvtInt(cvt) if !cvt.sat => known(self.convert(cvt)),
            Op::Ld(ld) => known(self.load(ld)),
            _ => Known::FunctionOfOperands,
        }
    }

    fn binary(
        &self,
        ty: ScalarType,
        a: &Source,
        b: &Source,
        compute: impl Fn(&Value, &Value, u32) -> Value,
    ) -> Option<Value> {
        Some(compute(&self.operand(a, ty)?, &self.operand(b, ty)?, ty.bits()))
    }

    /// A constant minus an operand.
    fn constant_minus(&self, constant: u64, ty: ScalarType, a: &Source) -> Option<Value> {
        Some(Value::constant(constant, ty.bits()).sub(&self.operand(a, ty)?, ty.bits()))
    }

    fn constant(&self, operand: &Source, ty: ScalarType) -> Option<u64> {
        self.operand(operand, ty)?.known()
    }

    /// A division or remainder: only by a power of two, and not of a number that may be negative.
    fn power_of_two(
        &self,
        ty: ScalarType,
        a: &Source,
        b: &Source,
        compute: impl Fn(&Value, u64, u32) -> Value,
    ) -> Option<Value> {
        let width = ty.bits();
        let divisor = self.constant(b, ty).filter(|divisor| divisor.is_power_of_two())?;
        let dividend = self.operand(a, ty)?;
        let never_negative =
            !is_signed(ty) || (dividend.is_non_negative(width) && divisor <= mask(width - 1));
        never_negative.then(|| compute(&dividend, divisor, width))
    }

    fn extract(&self, bfe: &Bfe) -> Option<Value> {
        let width = bfe.ty.bits();
        // Both counts are bytes.
        let first = self.constant(&bfe.b, ScalarType::U32)? & 0xff;
        let length = (self.constant(&bfe.c, ScalarType::U32)? & 0xff) as u32;
        let shifted = self.operand(&bfe.a, bfe.ty)?.shift_right(first, width, false);
        Some(shifted.and(&Value::constant(mask(length), width), width))
    }

    fn convert(&self, cvt: &CvtInt) -> Option<Value> {
        let (from, width) = (cvt.atype, cvt.dtype.bits());
        let source = self.operand(&cvt.a, from)?;
        Some(match from.bits() < width {
            true => source.extend(from.bits(), width, is_signed(from), register(&cvt.a)),
            false => source.truncate(width),
        })
    }

    /// `mul` and `mad`, unless they give the high half.
    fn multiply(
        &self,
        mode: MulIntMode,
        from: ScalarType,
        factors: [&Source; 2],
        summand: Option<&Source>,
    ) -> Option<Value> {
        let (wide, to) = match mode {
            MulIntMode::Hi => return None,
            MulIntMode::Lo => (false, from.bits()),
            MulIntMode::Wide => (true, from.bits() * 2),
        };
        let factor = |operand: &Source| {
            let value = self.operand(operand, from)?;
            Some(match wide {
                true => value.extend(from.bits(), to, is_signed(from), register(operand)),
                false => value,
            })
        };
        let product = factor(factors[0])?.mul(&factor(factors[1])?, to);
        match summand {
            Some(summand) => Some(product.add(&self.read(summand, to)?, to)),
            None => Some(product),
        }
    }

    /// The result of any function of the operands that are read.
    fn pure(&self, opcode: &Opcode, op: &Op) -> Option<Value> {
        let mut read = Some(Vec::new());
        op.fields(&mut |name, field| {
            let ty = opcode.type_of(name);
            let operands = match field {
                FieldValue::Value(value) => std::slice::from_ref(value),
                FieldValue::Values(values) => values,
                FieldValue::Predicate(predicate) => std::slice::from_ref(&predicate.value),
                FieldValue::Part(part) => std::slice::from_ref(&part.value),
                // An address is one more operand, but what it is an address of differs between functions.
                FieldValue::Address(_) | FieldValue::Lookup(_) => {
                    read = None;
                    return;
                }
                _ => return,
            };
            for operand in operands {
                let value = self.any(operand, ty);
                read = read.take().zip(value).map(|(mut read, value)| {
                    read.push(value);
                    read
                });
            }
        });
        let result = opcode.data().operands.iter().position(|spec| spec.role == Role::Write)?;
        let width = opcode.operand_type(result).map_or(64, ScalarType::bits);
        Some(Value::of_function(&read?, width))
    }

    /// An operand that is read as a `ty`, or in the type that it has.
    fn any(&self, operand: &Source, ty: Option<ScalarType>) -> Option<Value> {
        match (operand, ty) {
            (Source::Register(register), None) => self.operand(operand, self.types[register.index()]),
            (_, ty) => self.operand(operand, ty.unwrap_or(ScalarType::B64)),
        }
    }

    /// A kernel parameter is the same for the whole grid; everything else in memory may be anything. But lanes that load
    /// from one address together get one value, and what nothing writes while the kernel runs is the same at any time.
    fn load(&self, ld: &Ld) -> Option<Value> {
        let width = ld.ty.bits();
        if let AddressBase::Variable(variable) = ld.a.base
            && self.function.declaration.kind == FunctionKind::Entry
            && self.function.module.variables[variable.index()].space == StateSpace::ParamEntry
        {
            return Some(Value::invariant(mask(width)).with_threads(Threads::uniform(Group::Grid)));
        }
        if !self.together || ld.order != Order::Weak {
            return None;
        }
        let group = match ld.a.base {
            AddressBase::Register(base) => self.values[base.index()].group()?,
            AddressBase::Variable(_) | AddressBase::Absolute => Group::Grid,
        };
        let each_has_its_own =
            matches!(ld.a.space, Space::Local | Space::ParamFunc | Space::Param | Space::Generic);
        match ld.a.space {
            Space::Const => Some(Value::same_for(group, width)),
            Space::Global if ld.nc => Some(Value::same_for(group, width)),
            // A generic address can lead into a thread's own local memory.
            _ if each_has_its_own => None,
            _ => Some(Value::same_for(Group::Warp, width)),
        }
    }

    /// The result of an instruction that the lanes of a warp execute together with one mask: it is the same for all of them
    /// if it tells of all of them.
    fn of_warp(&self, op: &Op) -> Option<Value> {
        let same = |operand: &Source| self.any(operand, None).is_some_and(|value| value.group().is_some());
        let one_mask = |mask: &Option<Source>| mask.as_ref().is_some_and(same);
        let of_all = match op {
            Op::Vote(vote) => one_mask(&vote.membermask),
            Op::Redux(redux) => same(&redux.membermask),
            // One lane's value, in segments of the whole warp.
            Op::Shfl(shfl) => {
                let whole_warp = self.constant(&shfl.c, ScalarType::U32) == Some(u64::from(WARP) - 1);
                let from_one = shfl.mode == ShflMode::Idx && shfl.p.is_none() && same(&shfl.b);
                whole_warp && from_one && one_mask(&shfl.membermask)
            }
            _ => false,
        };
        of_all.then(|| Value::same_for(Group::Warp, 64))
    }

    /// An operand that is read as a `ty`.
    fn operand(&self, operand: &Source, ty: ScalarType) -> Option<Value> {
        self.read(operand, ty.bits())
    }

    /// An operand of `width` bits.
    fn read(&self, operand: &Source, width: u32) -> Option<Value> {
        match *operand {
            Source::Register(register) => Some(self.values[register.index()].truncate(width)),
            Source::Constant(bits) => Some(Value::constant(bits, width)),
            Source::Special { register, component } => {
                Some(self.special(register, component).truncate(width))
            }
            Source::Symbol { symbol, offset } => Some(self.address(symbol, offset, width)),
            Source::Unused => None,
        }
    }

    /// The address of a symbol, as a value.
    fn address(&self, symbol: Symbol, offset: i64, width: u32) -> Value {
        let Symbol::Variable(variable) = symbol else {
            return Value::invariant(mask(width)).with_threads(Threads::uniform(Group::Grid));
        };
        let variable = &self.function.module.variables[variable.index()];
        let on_stack = matches!(variable.space, StateSpace::Local | StateSpace::ParamFunc);
        if on_stack && self.function.declaration.kind == FunctionKind::Func {
            // Each activation has its own.
            return Value::unknown(width);
        }
        let aligned = variable.align.trailing_zeros().min(offset.trailing_zeros());
        let of = match variable.space {
            StateSpace::Global | StateSpace::Const | StateSpace::ParamEntry => Group::Grid,
            _ => Group::Cta,
        };
        let address = Value::invariant(mask(width)).with_threads(Threads::uniform(of));
        address.with_zeros(if variable.align == 0 { 0 } else { mask(aligned) })
    }

    /// A special register, in the type that it has.
    fn special(&self, register: SpecialRegister, component: u8) -> Value {
        let width = register.ty().bits();
        let axis = usize::from(component);
        match register {
            SpecialRegister::Laneid => Value::affine(1, WARP, u64::from(WARP) - 1, u64::from(WARP)),
            // The last component is always zero.
            SpecialRegister::Tid
            | SpecialRegister::Ctaid
            | SpecialRegister::Nctaid
            | SpecialRegister::Ntid
                if axis > 2 =>
            {
                Value::invariant(mask(width))
            }
            SpecialRegister::Tid => {
                let most = MOST_THREADS - 1;
                let value = match (self.lanes.row(), axis) {
                    (None, _) => Value::varying(most),
                    (Some(row), 0) => Value::affine(1, row, most, u64::from(row)),
                    (Some(row), _) => Value::affine(0, row, most, 1),
                };
                value.with_threads(Threads::axis(axis))
            }
            SpecialRegister::Ntid => match self.function.declaration.bounds.req_ntid {
                Some(threads) => Value::constant(u64::from(threads[axis]), width),
                None => Value::invariant(MOST_THREADS).with_threads(Threads::uniform(Group::Grid)),
            },
            SpecialRegister::Ctaid | SpecialRegister::Nctaid => {
                let of = if register == SpecialRegister::Ctaid { Group::Cta } else { Group::Grid };
                let most = if axis == 0 { MOST_CTAS_X } else { MOST_CTAS_YZ };
                Value::invariant(most).with_threads(Threads::uniform(of))
            }
            SpecialRegister::Nwarpid
            | SpecialRegister::Nsmid
            | SpecialRegister::Gridid
            | SpecialRegister::Clusterid
            | SpecialRegister::Nclusterid
            | SpecialRegister::ClusterCtaid
            | SpecialRegister::ClusterNctaid
            | SpecialRegister::ClusterCtarank
            | SpecialRegister::ClusterNctarank
            | SpecialRegister::TotalSmemSize
            | SpecialRegister::AggrSmemSize
            | SpecialRegister::DynamicSmemSize
            | SpecialRegister::ReservedSmemOffsetBegin
            | SpecialRegister::ReservedSmemOffsetEnd
            | SpecialRegister::ReservedSmemOffsetCap
            | SpecialRegister::CurrentGraphExec => Value::invariant(mask(width)),
            // Clocks, counters, masks of lanes, and where a warp happens to run.
            _ => Value::unknown(width),
        }
    }
}

/// The register that an operand is.
fn register(operand: &Source) -> Option<RegId> {
    match operand {
        Source::Register(register) => Some(*register),
        _ => None,
    }
}

fn is_signed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Signed
}
