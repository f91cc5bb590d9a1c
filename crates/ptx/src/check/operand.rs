//! Whether an operand is what a form asks for.

use super::instruction::{Assignment, untyped};
use super::mismatch::{Mismatch, MismatchKind};
use super::plan::{FormPlan, OperandPlan};
use crate::ast::{Constant, Selector};
use crate::isa::{self, OperandKind, Parts, Role, SpecialRegister};
use crate::module::{AddressBase, RegId, Symbol};
use crate::resolve::Resolver;
use crate::resolve::constant::{bits_as, truncate};
use crate::resolve::operand::{Arg, ArgKind, Elements};
use crate::source::Span;
use crate::types::{ScalarType, StateSpace, TypeKind};

/// What is wrong with an operand, and where in it.
pub(super) type Misfit = (MismatchKind, Span);

impl Resolver<'_> {
    /// The type of a register.
    pub(crate) fn register_type(&self, register: RegId) -> ScalarType {
        self.body.body.registers[register.index()].ty
    }

    /// Whether an argument may stand at an operand of a form.
    pub(super) fn fit(&self, operand: &OperandPlan, arg: &Arg) -> Result<(), Misfit> {
        let wrong = |expected: &'static str| Err((MismatchKind::Expected(expected), arg.span));
        if matches!(arg.kind, ArgKind::Error) {
            return Ok(());
        }
        match (operand.kind, arg.kind) {
            (OperandKind::Vector { .. } | OperandKind::Address { .. }, _) => {}
            (_, ArgKind::Vector(elements)) if operand.lax => {
                return self.fit_elements(operand, false, elements, arg.span);
            }
            _ if operand.any => return self.fit_any(operand, arg),
            _ => {}
        }
        match operand.kind {
            OperandKind::Register { sink } => match arg.kind {
                ArgKind::Sink if sink => Ok(()),
                ArgKind::Sink => Err((MismatchKind::Sink, arg.span)),
                ArgKind::Register(register) => self.fit_register(operand, register, arg.span),
                ArgKind::Special { .. } => Err((MismatchKind::Special, arg.span)),
                _ => wrong("a register"),
            },
            OperandKind::Value { special } => self.fit_value(operand, special, arg.kind, arg.span),
            OperandKind::Immediate => match arg.kind {
                ArgKind::Constant(constant) => self.fit_constant(operand, constant, arg.span),
                _ => wrong("a constant"),
            },
            OperandKind::Predicate { constant, sink, .. } => self.fit_predicate(operand, arg, constant, sink),
            OperandKind::Address { .. } => self.fit_address(operand, arg),
            OperandKind::Vector { sink, .. } => self.fit_vector(operand, sink, arg),
            OperandKind::Texture | OperandKind::Surface | OperandKind::TensorMap => {
                self.fit_bracket(operand, arg)
            }
            OperandKind::Descriptor => match arg.kind {
                ArgKind::Address { base: AddressBase::Register(register), offset: 0 }
                    if self.register_type(register).bits() == 64 =>
                {
                    Ok(())
                }
                ArgKind::Address { base: AddressBase::Variable(id), offset: 0 }
                    if self.variable(id).ty.kind() == TypeKind::Opaque =>
                {
                    Ok(())
                }
                _ => wrong("a texture, sampler or surface, or a 64-bit register, in brackets"),
            },
            OperandKind::TensorMemory => match arg.kind {
                ArgKind::Address { base: AddressBase::Register(register), .. }
                    if isa::compatible(ScalarType::U32, self.register_type(register), false) =>
                {
                    Ok(())
                }
                _ => wrong("an address in tensor memory, held in a 32-bit register"),
            },
            OperandKind::Selected(parts) => self.fit_selected(operand, parts, arg),
            OperandKind::Sink => match arg.kind {
                ArgKind::Sink => Ok(()),
                _ => wrong("`_`"),
            },
            OperandKind::Label => match arg.kind {
                ArgKind::Label(_) => Ok(()),
                _ => wrong("a label"),
            },
            OperandKind::Function => match arg.kind {
                ArgKind::Function(_) => Ok(()),
                _ => wrong("a device function"),
            },
            OperandKind::Results | OperandKind::Arguments => match arg.kind {
                ArgKind::List(_) => Ok(()),
                _ => wrong("a list in parentheses"),
            },
            OperandKind::BranchTargets => match arg.kind {
                ArgKind::BranchTargets(_) => Ok(()),
                _ => wrong("a `.branchtargets` table"),
            },
            OperandKind::CallTargets => match arg.kind {
                ArgKind::CallTargets(_) | ArgKind::Prototype(_) => Ok(()),
                _ => wrong("a `.callprototype` or `.calltargets`"),
            },
        }
    }

    #[inline]
    fn fit_register(&self, operand: &OperandPlan, register: RegId, span: Span) -> Result<(), Misfit> {
        let found = self.register_type(register);
        match operand.ty {
            Some(expected) if expected == found => Ok(()),
            Some(expected) if operand.any && found.bits() == expected.bits() => Ok(()),
            Some(_) if operand.any && found == ScalarType::Pred => Ok(()),
            Some(expected) if operand.exact => Err((MismatchKind::Type { expected, found }, span)),
            // The one packed type that registers are declared with serves every integer, but only where the opcode
            // spells the type, and there predicates too.
            Some(expected) if found == ScalarType::F16x2 && is_countable(expected) => {
                let fits =
                    expected.bits() == found.bits() || (operand.loose && expected.bits() < found.bits());
                let fits = fits || expected == ScalarType::Pred;
                if fits && operand.spelled {
                    Ok(())
                } else {
                    Err((MismatchKind::Type { expected, found }, span))
                }
            }
            Some(expected) if isa::compatible(expected, found, operand.loose) => Ok(()),
            Some(expected) => Err((MismatchKind::Type { expected, found }, span)),
            None if found == ScalarType::Pred => Err((MismatchKind::NoPredicate, span)),
            None if operand.pointer && (found.kind() == TypeKind::Float || found.bits() < 32) => {
                Err((MismatchKind::AddressRegister { found, bits: self.module.address_size }, span))
            }
            None => Ok(()),
        }
    }

    /// A register with a part selector.
    fn fit_selected(&self, operand: &OperandPlan, parts: Parts, arg: &Arg) -> Result<(), Misfit> {
        let wrong = |expected: &'static str| Err((MismatchKind::Expected(expected), arg.span));
        match arg.kind {
            ArgKind::Part { negated: true, .. } if !operand.negatable => wrong("a value that is not negated"),
            ArgKind::Part { selector: Some(selector), .. } if !selects(selector, parts, operand.role) => {
                wrong("another selector")
            }
            ArgKind::Register(register) | ArgKind::Part { register, .. } => {
                self.fit_register(operand, register, arg.span)
            }
            ArgKind::Constant(Constant::Signed(_) | Constant::Unsigned(_))
                if parts == Parts::One && operand.role == Role::Read =>
            {
                Ok(())
            }
            ArgKind::Function(_) if parts == Parts::One && operand.role == Role::Read && operand.spelled => {
                Ok(())
            }
            _ => wrong("a 32-bit integer register or a part of one"),
        }
    }

    /// Whether an argument is as wide as the operand: a register, a predicate or the bits of a constant.
    fn fit_any(&self, operand: &OperandPlan, arg: &Arg) -> Result<(), Misfit> {
        match arg.kind {
            ArgKind::Register(register) => self.fit_register(operand, register, arg.span),
            ArgKind::NotPredicate(register) if operand.role == Role::Read => {
                match self.register_type(register) {
                    ScalarType::Pred => Ok(()),
                    found => Err((MismatchKind::Type { expected: ScalarType::Pred, found }, arg.span)),
                }
            }
            ArgKind::Constant(constant @ Constant::Single(_)) if operand.role == Role::Read => {
                self.fit_constant(operand, constant, arg.span)
            }
            _ => Err((MismatchKind::Expected("a register"), arg.span)),
        }
    }

    fn fit_value(
        &self,
        operand: &OperandPlan,
        special: bool,
        kind: ArgKind,
        span: Span,
    ) -> Result<(), Misfit> {
        match kind {
            ArgKind::Error => Ok(()),
            ArgKind::Register(register) => self.fit_register(operand, register, span),
            ArgKind::Part { register, selector: None, negated: true } if operand.negatable => {
                self.fit_register(operand, register, span)
            }
            ArgKind::Constant(constant) => self.fit_constant(operand, constant, span),
            ArgKind::Special { register, component } if special => {
                if register.components() > 1 && component.is_none() {
                    return Err((MismatchKind::Component, span));
                }
                let (Some(expected), found) = (operand.ty, register.ty()) else { return Ok(()) };
                // Before PTX 2.0 the vector ones, those of PTX 1.0, had 16 bits.
                let old = component.is_some() && register.gate() == isa::Gate::NONE;
                let narrow = old && expected.bits() == 16 && expected.kind() != TypeKind::Float;
                let float = expected.kind() == TypeKind::Float;
                let word = expected.bits() == 32 && is_word(register);
                if !float && (narrow || word || isa::compatible(expected, found, operand.loose)) {
                    Ok(())
                } else {
                    Err((MismatchKind::Type { expected, found }, span))
                }
            }
            ArgKind::Special { .. } => Err((MismatchKind::Special, span)),
            ArgKind::Symbol { symbol, .. } if operand.symbols => self.fit_symbol(operand, symbol, span),
            // The name of a function is its address, a value of whatever type the opcode spells.
            ArgKind::Function(_) if operand.spelled && operand.role == Role::Read && !operand.alternate() => {
                Ok(())
            }
            ArgKind::Function(id) if operand.symbols => self.fit_symbol(operand, Symbol::Function(id), span),
            // `mov.u64 d, array[2]` is the address of the element.
            ArgKind::Address { base: AddressBase::Variable(id), .. }
                if operand.symbols && !self.is_bracketed(span) =>
            {
                self.fit_symbol(operand, Symbol::Variable(id), span)
            }
            ArgKind::NotPredicate(register) if operand.ty == Some(ScalarType::Pred) => {
                self.fit_register(operand, register, span)
            }
            ArgKind::NotPredicate(_) => Err((MismatchKind::Negation, span)),
            ArgKind::Sink => Err((MismatchKind::SinkSource, span)),
            _ => Err((MismatchKind::Expected("a register or a constant"), span)),
        }
    }

    pub(super) fn is_bracketed(&self, span: Span) -> bool {
        self.ast.source.text().as_bytes().get(span.start as usize) == Some(&b'[')
    }

    /// The address of a symbol as a value.
    fn fit_symbol(&self, operand: &OperandPlan, symbol: Symbol, span: Span) -> Result<(), Misfit> {
        let expected = operand.ty.unwrap_or(ScalarType::B64);
        if !matches!(expected.kind(), TypeKind::Unsigned | TypeKind::Signed | TypeKind::Untyped) {
            return Err((MismatchKind::AddressType(expected), span));
        }
        let Symbol::Variable(id) = symbol else { return Ok(()) };
        let variable = self.variable(id);
        match variable.space {
            StateSpace::Global | StateSpace::Const if expected.bits() < self.module.address_size => {
                Err((MismatchKind::AddressType(expected), span))
            }
            StateSpace::ParamFunc if !self.body.inputs.contains(&id) && !self.body.returns.contains(&id) => {
                Err((MismatchKind::ParameterAddress, span))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn fit_constant(
        &self,
        operand: &OperandPlan,
        constant: Constant,
        span: Span,
    ) -> Result<(), Misfit> {
        let expected = operand.ty.unwrap_or(ScalarType::B64);
        if bits_as(constant, expected).is_none() {
            return Err((MismatchKind::Constant { expected, found: constant }, span));
        }
        let (Some(limit), Some(value)) = (operand.limit, constant.as_integer()) else { return Ok(()) };
        let cut = operand.cut && limit.permits(truncate(value, expected.bits()) as i64);
        if cut || limit.permits(value as i64) {
            Ok(())
        } else {
            Err((MismatchKind::Limit(limit, value as i64), span))
        }
    }

    /// Any predicate that is read may be negated; most that the manual has negated too may be a constant, 0 or not 0.
    fn fit_predicate(
        &self,
        operand: &OperandPlan,
        arg: &Arg,
        constant: bool,
        sink: bool,
    ) -> Result<(), Misfit> {
        let read = operand.role == Role::Read;
        let register = match arg.kind {
            ArgKind::Register(register) => register,
            ArgKind::NotPredicate(register) if read => register,
            ArgKind::NotPredicate(_) => return Err((MismatchKind::Negation, arg.span)),
            ArgKind::Sink if sink => return Ok(()),
            ArgKind::Sink => return Err((MismatchKind::Sink, arg.span)),
            ArgKind::Constant(value @ (Constant::Signed(_) | Constant::Unsigned(_))) if read && constant => {
                return self.fit_constant(operand, value, arg.span);
            }
            ArgKind::Function(_) if read && operand.spelled => return Ok(()),
            _ => return Err((MismatchKind::Expected("a predicate register"), arg.span)),
        };
        match self.register_type(register) {
            ScalarType::Pred => Ok(()),
            ScalarType::F16x2 if operand.spelled => Ok(()),
            found => Err((MismatchKind::Type { expected: ScalarType::Pred, found }, arg.span)),
        }
    }

    fn fit_vector(&self, operand: &OperandPlan, sink: bool, arg: &Arg) -> Result<(), Misfit> {
        let elements = match arg.kind {
            ArgKind::Vector(elements) => elements,
            ArgKind::VectorRegister { first, lanes } => {
                return match operand.length {
                    Some(length) if length != u32::from(lanes) => {
                        Err((MismatchKind::Length { expected: length, found: usize::from(lanes) }, arg.span))
                    }
                    _ => self.fit_register(operand, first, arg.span),
                };
            }
            ArgKind::Special { register, .. } if operand.whole => {
                return match operand.ty {
                    Some(expected) if !is_word(register) => {
                        Err((MismatchKind::Type { expected, found: register.ty() }, arg.span))
                    }
                    _ => Ok(()),
                };
            }
            ArgKind::Sink if operand.lax && sink && operand.role == Role::Write => return Ok(()),
            _ if operand.lone || operand.offsets => {
                return match arg.kind {
                    // A volume has no comparison, which an untyped register is taken for.
                    ArgKind::Register(register)
                        if operand.offsets
                            && operand.length == Some(4)
                            && self.register_type(register).kind() == TypeKind::Untyped =>
                    {
                        Err((MismatchKind::Expected("a vector in braces"), arg.span))
                    }
                    ArgKind::Sink if operand.role == Role::Write => Err((MismatchKind::Sink, arg.span)),
                    ArgKind::Constant(_) if operand.role == Role::Write => {
                        Err((MismatchKind::Expected("a register"), arg.span))
                    }
                    _ => self.fit_value(operand, false, arg.kind, arg.span),
                };
            }
            _ => return Err((MismatchKind::Expected("a vector in braces"), arg.span)),
        };
        let found = elements.len();
        let fits = match operand.length {
            Some(length) if operand.offsets => matches!(found, 1 | 2 | 4) && found >= length as usize,
            Some(_) if operand.lone && operand.lax => matches!(found, 1 | 2 | 4),
            Some(length) => found == length as usize,
            None => matches!(found, 2 | 4 | 8),
        };
        if !fits {
            let expected = operand.length.unwrap_or(2);
            return Err((MismatchKind::Length { expected, found }, arg.span));
        }
        self.fit_elements(operand, sink, elements, arg.span)
    }

    /// A vector is as one register of the type that its elements have together. Integers agree, other types agree with
    /// themselves, and one element without a type, an untyped register or a special one, makes all of it untyped.
    fn fit_elements(
        &self,
        operand: &OperandPlan,
        sink: bool,
        elements: Elements,
        span: Span,
    ) -> Result<(), Misfit> {
        // Only vectors of 256 bits are stored with gaps.
        let sink = sink
            && (operand.role == Role::Write
                || matches!((operand.length, operand.ty), (Some(length), Some(ty)) if length * ty.bits() == 256));
        let args = &self.body.nested[elements.indices()];
        let untyped = args.iter().find_map(|arg| match arg.kind {
            ArgKind::Register(id) if self.register_type(id).kind() == TypeKind::Untyped => {
                Some(self.register_type(id))
            }
            ArgKind::Special { register, .. } if operand.specials => untyped(register.ty().bits()),
            _ => None,
        });
        if let (Some(expected), Some(found)) = (operand.ty, untyped)
            && !isa::compatible(expected, found, operand.loose)
        {
            return Err((MismatchKind::Type { expected, found }, span));
        }
        let mut width = None;
        let mut together = None;
        let mut sinks = 0;
        let mut constants = 0;
        for arg in args {
            match arg.kind {
                ArgKind::Sink if sink => sinks += 1,
                ArgKind::Sink if operand.role == Role::Read => {
                    return Err((MismatchKind::SinkSource, arg.span));
                }
                ArgKind::Sink => return Err((MismatchKind::Sink, arg.span)),
                ArgKind::Register(register) => {
                    let ty = self.register_type(register);
                    if ty == ScalarType::Pred && !operand.specials {
                        return Err((MismatchKind::NoPredicate, arg.span));
                    }
                    // A predicate has no width.
                    let bits = (ty != ScalarType::Pred).then(|| ty.bits());
                    if bits.is_some_and(|bits| *width.get_or_insert(bits) != bits) {
                        return Err((MismatchKind::Widths, arg.span));
                    }
                    if untyped.is_none() {
                        self.fit_register(operand, register, arg.span)?;
                        if !agree(*together.get_or_insert(ty), ty) {
                            return Err((MismatchKind::Widths, arg.span));
                        }
                    }
                }
                ArgKind::Special { register, component } if operand.specials => {
                    if register.components() > 1 && component.is_none() {
                        return Err((MismatchKind::Component, arg.span));
                    }
                    let bits = register.ty().bits();
                    if *width.get_or_insert(bits) != bits {
                        return Err((MismatchKind::Widths, arg.span));
                    }
                }
                ArgKind::Constant(constant) if operand.role == Role::Read => {
                    constants += 1;
                    // A constant of 64 bits among narrower ones is none that a store of a matrix takes.
                    let narrow = operand.ty.is_some_and(|ty| ty.bits() < 64);
                    if matches!(constant, Constant::Double(_)) && operand.stored && narrow {
                        return Err((MismatchKind::Widths, arg.span));
                    }
                    let ty = match constant.as_integer() {
                        Some(_) => ScalarType::S64,
                        None => ScalarType::F64,
                    };
                    if !agree(*together.get_or_insert(ty), ty) {
                        return Err((MismatchKind::Widths, arg.span));
                    }
                    let is_float = |ty: ScalarType| matches!(ty, ScalarType::F32 | ScalarType::F64);
                    let meant =
                        untyped.is_none() || (ty == ScalarType::S64 && operand.ty.is_some_and(is_float));
                    if meant && operand.ty.is_some() {
                        self.fit_constant(operand, constant, arg.span)?;
                    }
                }
                ArgKind::Error => {}
                _ => return Err((MismatchKind::Expected("a register"), arg.span)),
            }
        }
        // Constants alone are no matrix, but of integers that are added.
        let matrix = operand.fragment && !matches!(operand.ty, Some(ScalarType::S32 | ScalarType::F64));
        if (operand.any || matrix) && constants == elements.len() {
            return Err((MismatchKind::Expected("a vector of registers"), span));
        }
        if sinks == elements.len() && sinks > 0 { Err((MismatchKind::AllSinks, span)) } else { Ok(()) }
    }

    /// The parts of a `mov` that packs or unpacks add up to the whole.
    pub(super) fn fit_pack(
        &self,
        plan: &FormPlan,
        whole: ScalarType,
        assignment: &Assignment,
    ) -> Result<(), Mismatch> {
        for (operand, at) in plan.operands.iter().zip(assignment) {
            let (OperandKind::Vector { .. }, Some(at)) = (operand.kind, at) else { continue };
            let arg = self.body.args[*at as usize];
            let (parts, first) = match arg.kind {
                ArgKind::Vector(elements) => {
                    let registers = self.body.nested[elements.indices()].iter();
                    let first = registers.filter_map(|arg| match arg.kind {
                        ArgKind::Register(register) => Some(self.register_type(register)),
                        ArgKind::Special { register, .. } => Some(register.ty()),
                        _ => None,
                    });
                    (elements.len() as u32, first.clone().next())
                }
                ArgKind::VectorRegister { first, lanes } => {
                    (u32::from(lanes), Some(self.register_type(first)))
                }
                _ => continue,
            };
            let part = whole.bits() / parts.max(1);
            let fits = first.map_or(untyped(part).is_some(), |ty| ty.bits() == part);
            if !fits {
                let kind = MismatchKind::Parts { whole, parts };
                return Err(Mismatch::new(plan.operands.len(), arg.span, kind));
            }
        }
        Ok(())
    }

    /// `[texture, sampler, {coordinates}]` and its like.
    fn fit_bracket(&self, operand: &OperandPlan, arg: &Arg) -> Result<(), Misfit> {
        let ArgKind::Bracket(elements) = arg.kind else {
            return Err((MismatchKind::Expected("an object and coordinates in brackets"), arg.span));
        };
        let parts = &self.body.nested[elements.indices()];
        let most = if operand.kind == OperandKind::Texture { 3 } else { 2 };
        let (Some((coordinates, objects)), true) = (parts.split_last(), (2..=most).contains(&parts.len()))
        else {
            return Err((MismatchKind::Expected("an object and coordinates in brackets"), arg.span));
        };
        for object in objects {
            match object.kind {
                ArgKind::Register(register) if self.register_type(register).bits() == 64 => {}
                ArgKind::Error => {}
                ArgKind::Symbol { symbol: Symbol::Variable(id), .. } => {
                    let ty = self.variable(id).ty;
                    if operand.kind != OperandKind::TensorMap && ty.kind() != TypeKind::Opaque {
                        let expected = "a texture, sampler or surface, or a 64-bit register";
                        return Err((MismatchKind::Expected(expected), object.span));
                    }
                }
                _ => return Err((MismatchKind::Expected("an object or a 64-bit register"), object.span)),
            }
        }
        let length = operand.coordinates;
        match coordinates.kind {
            ArgKind::Error => Ok(()),
            ArgKind::Vector(elements) => {
                let found = elements.len();
                let fits = |length: u32| match operand.kind {
                    OperandKind::TensorMap => found == length as usize,
                    // What is too many is not looked at.
                    _ => matches!(found, 1 | 2 | 4) && found >= length as usize,
                };
                if let Some(expected) = length.filter(|length| !fits(*length)) {
                    return Err((MismatchKind::Length { expected, found }, coordinates.span));
                }
                self.fit_elements(operand, false, elements, coordinates.span)
            }
            ArgKind::VectorRegister { first, .. } => self.fit_register(operand, first, coordinates.span),
            _ if operand.kind == OperandKind::TensorMap => {
                Err((MismatchKind::Expected("coordinates in braces"), coordinates.span))
            }
            kind => self.fit_value(operand, false, kind, coordinates.span),
        }
    }
}

/// Whether a selector is of the kind that the operand takes: one part, or of a source as many as a register has, of a
/// destination any of them, highest first.
fn selects(selector: Selector, parts: Parts, role: Role) -> bool {
    let (digits, count) = match (selector, parts) {
        (Selector::Bytes(digits) | Selector::Halves(digits), Parts::One) => {
            return digits.as_slice().len() == 1;
        }
        (Selector::Halves(digits), Parts::Halves) => (digits, 2),
        (Selector::Bytes(digits), Parts::Bytes) => (digits, 4),
        _ => return false,
    };
    let digits = digits.as_slice();
    match role {
        Role::Read => digits.len() == usize::from(count) && digits.iter().all(|digit| *digit < 2 * count),
        _ => digits.iter().all(|digit| *digit < count) && digits.windows(2).all(|pair| pair[0] > pair[1]),
    }
}

/// Whether a special register is one of 32 bits: `%gridid` was before PTX 3.0 and still serves as one.
fn is_word(register: SpecialRegister) -> bool {
    register.ty().bits() == 32 || register == SpecialRegister::Gridid
}

/// Integers, packed ones and predicates.
fn is_countable(ty: ScalarType) -> bool {
    matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed | TypeKind::Predicate)
}

/// Whether elements of these types can be in one vector.
fn agree(one: ScalarType, other: ScalarType) -> bool {
    let is_integer = |ty: ScalarType| matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed);
    let is_float = |ty: ScalarType| matches!(ty, ScalarType::F32 | ScalarType::F64);
    one == other || (is_integer(one) && is_integer(other)) || (is_float(one) && is_float(other))
}
