//! From an instruction to the values that it defines.
//!
//! Everything not mentioned here gives values of which nothing is known: loads, atomics, shuffles, votes, calls, carries
//! (they pass through the thread's carry bit, which no operand shows), matrix operations, and whatever is added to the
//! instruction table later. That is always right, hence the catch-all arms.

use super::LaneOrder;
use super::value::{Value, WARP, mask};
use ptx::isa::{Modifier, Opcode, Role, Sem, SpecialRegister};
use ptx::module::{AddressBase, Body, Function, FunctionKind, Instruction, Module, Operand, RegId, Symbol};
use ptx::types::{ScalarType, StateSpace, TypeKind};

/// Most threads of a CTA, and so the bound of `%ntid`.
const MOST_THREADS: u64 = 1024;
/// The greatest `%nctaid.x`; the other dimensions have 16 bits.
const MOST_CTAS_X: u64 = i32::MAX as u64;
const MOST_CTAS_YZ: u64 = u16::MAX as u64;

/// What is known where an instruction stands.
pub(super) struct Context<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    pub(super) body: &'a Body,
    pub(super) lanes: LaneOrder,
    /// The values of registers.
    pub(super) values: &'a [Value],
}

/// How a form uses its operands, as far as shapes go.
enum Meaning {
    /// Copies its operand.
    Copy,
    /// Adds a window's base to an address, or takes it off.
    Relocate,
    Add,
    Subtract,
    Negate,
    Not,
    /// `a * b`, and `+ c` if there is a third operand.
    Multiply,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
    Divide,
    Remainder,
    ExtractField,
    Convert,
    /// Reads memory.
    Load,
    /// Any other function of its operands alone.
    Pure,
    /// Depends on more than its operands.
    Opaque,
}

/// How a form that `sem` executes uses its operands.
fn meaning(sem: Sem) -> Meaning {
    match sem {
        Sem::Mov => Meaning::Copy,
        Sem::Cvta => Meaning::Relocate,
        Sem::AddInt => Meaning::Add,
        Sem::SubInt => Meaning::Subtract,
        Sem::NegInt => Meaning::Negate,
        Sem::Not => Meaning::Not,
        Sem::MulInt | Sem::MadInt => Meaning::Multiply,
        Sem::Shl => Meaning::ShiftLeft,
        Sem::Shr => Meaning::ShiftRight,
        Sem::And => Meaning::And,
        Sem::Or => Meaning::Or,
        Sem::Xor => Meaning::Xor,
        Sem::DivInt => Meaning::Divide,
        Sem::RemInt => Meaning::Remainder,
        Sem::Bfe => Meaning::ExtractField,
        Sem::CvtInt => Meaning::Convert,
        Sem::Ld => Meaning::Load,
        Sem::MovPack | Sem::MovUnpack => Meaning::Pure,
        Sem::AddIntX2 | Sem::Mul24 | Sem::Mad24 | Sem::Sad | Sem::AbsInt => Meaning::Pure,
        Sem::MinInt | Sem::MaxInt | Sem::MinIntX2 | Sem::MaxIntX2 => Meaning::Pure,
        Sem::Popc | Sem::Clz | Sem::Bfind | Sem::Fns | Sem::Brev | Sem::Bfi => Meaning::Pure,
        Sem::Szext | Sem::Bmsk | Sem::Dp4a | Sem::Dp2a => Meaning::Pure,
        Sem::Cnot | Sem::Lop3 | Sem::Shf | Sem::Prmt => Meaning::Pure,
        Sem::AddFloat | Sem::SubFloat | Sem::MulFloat | Sem::FmaFloat | Sem::MadFloat => Meaning::Pure,
        Sem::AddHalf | Sem::SubHalf | Sem::MulHalf | Sem::FmaHalf => Meaning::Pure,
        Sem::DivFloat | Sem::DivFloatApprox | Sem::DivFloatFull => Meaning::Pure,
        Sem::AbsFloat | Sem::NegFloat | Sem::MinFloat | Sem::MaxFloat | Sem::Copysign => Meaning::Pure,
        Sem::AbsHalf | Sem::NegHalf | Sem::MinHalf | Sem::MaxHalf => Meaning::Pure,
        Sem::Rcp | Sem::RcpApprox | Sem::Sqrt | Sem::SqrtApprox | Sem::RsqrtApprox => Meaning::Pure,
        Sem::Sin | Sem::Cos | Sem::Lg2 | Sem::Ex2Float | Sem::Ex2Half => Meaning::Pure,
        Sem::TanhFloat | Sem::TanhHalf => Meaning::Pure,
        Sem::SetInt | Sem::SetFloat | Sem::SetHalf | Sem::Selp | Sem::Slct => Meaning::Pure,
        Sem::CvtFloat | Sem::CvtFloatX2 | Sem::CvtFloatToInt | Sem::CvtIntToFloat => Meaning::Pure,
        Sem::CvtPackFloat | Sem::CvtPackInt => Meaning::Pure,
        _ => Meaning::Opaque,
    }
}

impl Context<'_> {
    /// The registers that an instruction defines, with their values.
    pub(super) fn results(&self, instruction: &Instruction) -> Vec<(RegId, Value)> {
        let opcode = self.module.opcode(instruction);
        let operands = self.body.operands(instruction);
        let mut results = Vec::new();
        let Some(value) = self.result(opcode, operands) else { return results };
        for (index, (operand, spec)) in operands.iter().zip(opcode.data().operands).enumerate() {
            if spec.role == Role::Write {
                self.define(operand, opcode.operand_type(index), &value, &mut results);
            }
        }
        results
    }

    /// Puts a result of type `ty` into the registers of a destination.
    fn define(
        &self,
        destination: &Operand,
        ty: Option<ScalarType>,
        value: &Value,
        results: &mut Vec<(RegId, Value)>,
    ) {
        match destination {
            Operand::Register(register) => {
                let width = self.body.registers[register.index()].ty.bits();
                if ty == Some(ScalarType::Pred) {
                    return;
                }
                let value = match ty {
                    Some(ty) if ty.bits() < width => {
                        value.extend(ty.bits(), width, ty.kind() == TypeKind::Signed, None)
                    }
                    _ => *value,
                };
                results.push((*register, value));
            }
            Operand::Vector(list) => {
                for element in self.body.elements(list) {
                    self.define(element, ty, value, results);
                }
            }
            _ => {}
        }
    }

    /// The value of every result of an instruction, `None` if nothing is known.
    fn result(&self, opcode: &Opcode, operands: &[Operand]) -> Option<Value> {
        let ty = opcode.operand_type(0);
        let width = ty.map_or(64, ScalarType::bits);
        let signed = ty.is_some_and(|ty| ty.kind() == TypeKind::Signed);
        let value = |index: usize| self.operand(operands.get(index)?, opcode.operand_type(index)?);
        let known = |index: usize| value(index)?.known();
        let pure = || self.pure(opcode, operands);
        if opcode.has(Modifier::Sat) {
            return match meaning(opcode.sem()?) {
                Meaning::Load | Meaning::Opaque => None,
                _ => pure(),
            };
        }
        match meaning(opcode.sem()?) {
            Meaning::Opaque => None,
            Meaning::Pure => pure(),
            Meaning::Load => self.load(width, operands),
            Meaning::Copy => value(1),
            Meaning::Relocate => {
                // The bits of a window's base are nobody's business, so it counts as any invariant.
                Some(value(1)?.add(&Value::invariant(mask(width)), width))
            }
            Meaning::Add => Some(value(1)?.add(&value(2)?, width)),
            Meaning::Subtract => Some(value(1)?.sub(&value(2)?, width)),
            Meaning::Negate => Some(Value::constant(0, width).sub(&value(1)?, width)),
            Meaning::Not => Some(Value::constant(mask(width), width).sub(&value(1)?, width)),
            Meaning::Multiply => self.multiply(opcode, operands).or_else(pure),
            Meaning::ShiftLeft => match known(2) {
                Some(by) => Some(value(1)?.shift_left(by, width)),
                None => pure(),
            },
            Meaning::ShiftRight => match known(2) {
                Some(by) => Some(value(1)?.shift_right(by, width, signed)),
                None => pure(),
            },
            Meaning::And => Some(value(1)?.and(&value(2)?, width)),
            Meaning::Or => Some(value(1)?.or(&value(2)?, width, |a, b| a | b)),
            Meaning::Xor => Some(value(1)?.or(&value(2)?, width, |a, b| a ^ b)),
            Meaning::Divide | Meaning::Remainder => {
                // Only by a power of two, and not of a number that may be negative.
                let divisor = known(2).filter(|divisor| divisor.is_power_of_two());
                let dividend = value(1)?;
                match divisor {
                    Some(divisor)
                        if !signed || (dividend.is_non_negative(width) && divisor <= mask(width - 1)) =>
                    {
                        Some(match meaning(opcode.sem()?) {
                            Meaning::Divide => {
                                dividend.shift_right(u64::from(divisor.trailing_zeros()), width, false)
                            }
                            _ => dividend.and(&Value::constant(divisor - 1, width), width),
                        })
                    }
                    _ => pure(),
                }
            }
            Meaning::ExtractField => match (known(2), known(3)) {
                // Of a signed field the highest bit would be copied.
                (Some(first), Some(length)) if !signed => {
                    // Both counts are bytes.
                    let (first, length) = (first & 0xff, (length & 0xff) as u32);
                    let shifted = value(1)?.shift_right(first, width, false);
                    Some(shifted.and(&Value::constant(mask(length), width), width))
                }
                _ => pure(),
            },
            Meaning::Convert => {
                let from = opcode.operand_type(1)?;
                let source = value(1)?;
                Some(if from.bits() < width {
                    source.extend(
                        from.bits(),
                        width,
                        from.kind() == TypeKind::Signed,
                        register(operands.get(1)?),
                    )
                } else {
                    source.truncate(width)
                })
            }
        }
    }

    /// `mul` and `mad`, unless they give the high half.
    fn multiply(&self, opcode: &Opcode, operands: &[Operand]) -> Option<Value> {
        let (from, to) = (opcode.operand_type(1)?, opcode.operand_type(0)?.bits());
        let wide = opcode.has(Modifier::Wide);
        if !wide && !opcode.has(Modifier::Lo) {
            return None;
        }
        let factor = |index: usize| {
            let operand = operands.get(index)?;
            let value = self.operand(operand, from)?;
            let signed = from.kind() == TypeKind::Signed;
            Some(if wide { value.extend(from.bits(), to, signed, register(operand)) } else { value })
        };
        let product = factor(1)?.mul(&factor(2)?, to);
        match opcode.operand_type(3) {
            Some(ty) => Some(product.add(&self.operand(operands.get(3)?, ty)?, to)),
            None => Some(product),
        }
    }

    /// The result of any function of the operands that are read.
    fn pure(&self, opcode: &Opcode, operands: &[Operand]) -> Option<Value> {
        let mut read = Vec::new();
        for (index, (operand, spec)) in operands.iter().zip(opcode.data().operands).enumerate() {
            if spec.role != Role::Write {
                self.collect(operand, opcode.operand_type(index), &mut read)?;
            }
        }
        let width = opcode.operand_type(0).map_or(64, ScalarType::bits);
        Some(Value::of_function(&read, width))
    }

    /// The values of an operand or of its elements; `None` if one is unknown.
    fn collect(&self, operand: &Operand, ty: Option<ScalarType>, values: &mut Vec<Value>) -> Option<()> {
        match operand {
            Operand::Absent | Operand::Sink => {}
            Operand::Vector(list) => {
                for element in self.body.elements(list) {
                    self.collect(element, ty, values)?;
                }
            }
            Operand::Register(register) => {
                let ty = ty.unwrap_or(self.body.registers[register.index()].ty);
                values.push(self.operand(operand, ty)?);
            }
            _ => values.push(self.operand(operand, ty.unwrap_or(ScalarType::B64))?),
        }
        Some(())
    }

    /// A kernel parameter is the same for the whole grid; everything else in memory may be anything.
    fn load(&self, width: u32, operands: &[Operand]) -> Option<Value> {
        let Operand::Address { base: AddressBase::Variable(variable), .. } = operands.get(1)? else {
            return None;
        };
        let is_parameter = self.function.kind == FunctionKind::Entry
            && self.module.variables[variable.index()].space == StateSpace::ParamEntry;
        is_parameter.then(|| Value::invariant(mask(width)))
    }

    /// An operand that is read as a `ty`.
    fn operand(&self, operand: &Operand, ty: ScalarType) -> Option<Value> {
        let width = ty.bits();
        match operand {
            Operand::Register(register) => Some(self.values[register.index()].truncate(width)),
            Operand::Immediate(bits) => Some(Value::constant(*bits, width)),
            Operand::Special { register, component } => {
                Some(self.special(*register, *component).truncate(width))
            }
            Operand::SymbolAddress { symbol, offset } => Some(self.address(*symbol, *offset, width)),
            _ => None,
        }
    }

    /// The address of a symbol, as a value.
    fn address(&self, symbol: Symbol, offset: i64, width: u32) -> Value {
        let Symbol::Variable(variable) = symbol else {
            return Value::invariant(mask(width));
        };
        let variable = &self.module.variables[variable.index()];
        let on_stack = matches!(variable.space, StateSpace::Local | StateSpace::ParamFunc);
        if on_stack && self.function.kind == FunctionKind::Func {
            // Each activation has its own.
            return Value::unknown(width);
        }
        let aligned = variable.align.trailing_zeros().min(offset.trailing_zeros());
        Value::invariant(mask(width)).with_zeros(if variable.align == 0 { 0 } else { mask(aligned) })
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
                match (self.lanes.row(), axis) {
                    (None, _) => Value::varying(most),
                    (Some(row), 0) => Value::affine(1, row, most, u64::from(row)),
                    (Some(row), _) => Value::affine(0, row, most, 1),
                }
            }
            SpecialRegister::Ntid => match self.function.bounds.req_ntid {
                Some(threads) => Value::constant(u64::from(threads[axis]), width),
                None => Value::invariant(MOST_THREADS),
            },
            SpecialRegister::Ctaid | SpecialRegister::Nctaid => {
                Value::invariant(if axis == 0 { MOST_CTAS_X } else { MOST_CTAS_YZ })
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
fn register(operand: &Operand) -> Option<RegId> {
    match operand {
        Operand::Register(register) => Some(*register),
        _ => None,
    }
}
