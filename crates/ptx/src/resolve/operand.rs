//! What an operand refers to, before it is known what the instruction wants there.

use super::constant::truncate;
use super::scope::Binding;
use super::{Resolver, codes};
use crate::ast::{self, Constant, ExprId, Name, OperandKind, Selector};
use crate::isa::{SpecialRegister, lookup};
use crate::module::{
    AddressBase, FuncId, Instruction, LabelId, OpcodeId, Operand, PrototypeId, RegId, Symbol, TableId,
};
use crate::source::Span;
use crate::types::TypeKind;

/// A range of [`super::body::BodyBuilder::nested`].
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct Elements {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Elements {
    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    pub(crate) fn indices(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An operand with its names resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arg {
    pub(crate) kind: ArgKind,
    pub(crate) span: Span,
    /// It stands after a `|`.
    pub(crate) joined: bool,
}

/// What an operand refers to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArgKind {
    /// Something that was reported; it passes every check.
    Error,
    Sink,
    Register(RegId),
    NotPredicate(RegId),
    VectorRegister {
        first: RegId,
        lanes: u8,
    },
    Constant(Constant),
    Special {
        register: SpecialRegister,
        component: Option<u8>,
    },
    /// The name of a variable or function, with an offset, as a value.
    Symbol {
        symbol: Symbol,
        offset: i64,
    },
    /// `[...]` or, with `element`, `name[i]`.
    Address {
        base: AddressBase,
        offset: i64,
    },
    Label(LabelId),
    Prototype(PrototypeId),
    BranchTargets(TableId),
    CallTargets(TableId),
    Vector(Elements),
    List(Elements),
    Bracket(Elements),
    /// A function's name: what is called or whose address is taken.
    Function(FuncId),
    /// Parts of a register, or its negative, of the video instructions.
    Part {
        register: RegId,
        selector: Option<Selector>,
        negated: bool,
    },
}

impl Resolver<'_> {
    /// Resolves the operands of an instruction into [`super::body::BodyBuilder::args`]; pairs become two.
    pub(crate) fn resolve_operands(&mut self, operands: ast::OperandList) {
        let ast = self.ast;
        self.body.args.clear();
        self.body.nested.clear();
        for operand in &ast[operands] {
            let kind = match operand.value {
                OperandKind::Pair(pair) => {
                    for (i, half) in ast[pair].iter().enumerate() {
                        let kind = self.operand(half);
                        self.body.args.push(Arg { kind, span: half.span, joined: i > 0 });
                    }
                    continue;
                }
                OperandKind::Offset { name, offset } if !self.body.args.is_empty() => {
                    self.sum_in_place(name, offset, operand)
                }
                _ => self.operand(operand),
            };
            self.body.args.push(Arg { kind, span: operand.span, joined: false });
        }
    }

    /// `register + constant` as a source. The manual has it in addresses alone; ptxas 13.0 takes it wherever an integer
    /// is read, and adds in front of the instruction.
    fn sum_in_place(&mut self, name: Name, offset: ExprId, operand: &ast::Operand) -> ArgKind {
        let Binding::Register(register) = self.lookup_quietly(name) else { return self.operand(operand) };
        let ty = self.register_type(register);
        let is_integer = matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed | TypeKind::Untyped);
        let form = match ty.bits() {
            16 if is_integer => "add.u16",
            32 if is_integer => "add.u32",
            64 if is_integer => "add.u64",
            _ => return self.operand(operand),
        };
        let (Some(offset), Ok(forms)) = (self.integer(offset), lookup(form)) else { return ArgKind::Error };
        let addition = forms.into_iter().next().expect("an opcode is one of the table's");
        let known = self.module.opcodes.iter().position(|opcode| *opcode == addition);
        let opcode = known.unwrap_or_else(|| {
            self.module.opcodes.push(addition);
            self.module.opcodes.len() - 1
        });
        let sum = self.add_registers(name, ty, 1);
        let constant = Operand::Immediate(truncate(offset as u64, ty.bits()));
        let operands = self.add_operands(&[Operand::Register(sum), Operand::Register(register), constant]);
        let (opcode, span, loc) = (OpcodeId(opcode as u32), operand.span, self.body.loc);
        self.body.body.instructions.push(Instruction { guard: None, opcode, operands, span, loc });
        ArgKind::Register(sum)
    }

    #[inline]
    fn operand(&mut self, operand: &ast::Operand) -> ArgKind {
        let span = operand.span;
        match operand.value {
            OperandKind::Sink => ArgKind::Sink,
            OperandKind::Name(name) => self.name(name, span),
            OperandKind::Constant(expr) => match self.ast.evaluate(expr) {
                Ok(constant) => ArgKind::Constant(constant),
                Err(error) => {
                    self.constant_error(error);
                    ArgKind::Error
                }
            },
            OperandKind::Address { base, offset } => self.address(base, offset, span),
            OperandKind::Not(name) => match self.lookup(name, span) {
                Binding::Register(id) => ArgKind::NotPredicate(id),
                Binding::Unknown(_) => ArgKind::Error,
                _ => {
                    let message = format!("`{}` is not a predicate register", self.text(name));
                    self.error(codes::NOT_A_VALUE, span, message);
                    ArgKind::Error
                }
            },
            OperandKind::Selected { name, selector } => self.selected(name, selector, span),
            OperandKind::Offset { name, offset } => match (self.name(name, span), self.integer(offset)) {
                (ArgKind::Symbol { symbol, .. }, Some(offset)) => ArgKind::Symbol { symbol, offset },
                (ArgKind::Function(id), Some(offset)) => {
                    ArgKind::Symbol { symbol: Symbol::Function(id), offset }
                }
                (ArgKind::Error, _) | (_, None) => ArgKind::Error,
                _ => {
                    let message = format!("`{}` has no address to add to", self.text(name));
                    self.error(codes::NOT_A_VALUE, span, message);
                    ArgKind::Error
                }
            },
            OperandKind::Indexed { name, index } => self.indexed(name, index, span),
            OperandKind::Negated(inner) => match self.operand(&self.ast[inner]) {
                ArgKind::Register(register) => ArgKind::Part { register, selector: None, negated: true },
                ArgKind::Part { register, selector, .. } => {
                    ArgKind::Part { register, selector, negated: true }
                }
                ArgKind::Error => ArgKind::Error,
                _ => {
                    self.error(codes::NOT_A_VALUE, span, "only a register can be negated here");
                    ArgKind::Error
                }
            },
            OperandKind::Vector(list) => ArgKind::Vector(self.elements(list)),
            OperandKind::List(list) => ArgKind::List(self.elements(list)),
            OperandKind::Bracket(list) => ArgKind::Bracket(self.elements(list)),
            OperandKind::Pair(_) => {
                self.error(codes::NOT_A_VALUE, span, "a pair cannot stand inside another operand");
                ArgKind::Error
            }
        }
    }

    /// Resolves the parts of an operand next to one another; parts of parts stand behind them.
    fn elements(&mut self, list: ast::OperandList) -> Elements {
        let ast = self.ast;
        let start = self.body.nested.len();
        let blank = |operand: &ast::Operand| Arg { kind: ArgKind::Error, span: operand.span, joined: false };
        self.body.nested.extend(ast[list].iter().map(blank));
        for (i, operand) in ast[list].iter().enumerate() {
            let kind = self.operand(operand);
            self.body.nested[start + i].kind = kind;
        }
        Elements { start: start as u32, end: (start + list.len()) as u32 }
    }

    #[inline]
    pub(crate) fn name(&mut self, name: Name, span: Span) -> ArgKind {
        match self.lookup(name, span) {
            Binding::Register(id) => ArgKind::Register(id),
            Binding::VectorRegister { first, lanes } => ArgKind::VectorRegister { first, lanes },
            Binding::Special(register) => ArgKind::Special { register, component: None },
            Binding::Variable(id) => ArgKind::Symbol { symbol: Symbol::Variable(id), offset: 0 },
            Binding::Function(id) => ArgKind::Function(id),
            Binding::Label(id) => ArgKind::Label(id),
            Binding::Prototype(id) => ArgKind::Prototype(id),
            Binding::BranchTargets(id) => ArgKind::BranchTargets(id),
            Binding::CallTargets(id) => ArgKind::CallTargets(id),
            Binding::Unknown(_) | Binding::Unbound => ArgKind::Error,
        }
    }

    fn selected(&mut self, name: Name, selector: Selector, span: Span) -> ArgKind {
        let component = match selector {
            Selector::X | Selector::R => 0,
            Selector::Y | Selector::G => 1,
            Selector::Z | Selector::B => 2,
            Selector::W | Selector::A => 3,
            Selector::Bytes(_) | Selector::Halves(_) => {
                return match self.name(name, span) {
                    ArgKind::Register(register) => {
                        ArgKind::Part { register, selector: Some(selector), negated: false }
                    }
                    ArgKind::Error => ArgKind::Error,
                    _ => {
                        let message = format!("`{}` is not a register", self.text(name));
                        self.error(codes::NO_SELECTION, span, message);
                        ArgKind::Error
                    }
                };
            }
        };
        match self.name(name, span) {
            ArgKind::VectorRegister { first, lanes } if component < lanes => {
                ArgKind::Register(RegId(first.0 + u32::from(component)))
            }
            ArgKind::Special { register, .. }
                if component < register.components() && register.components() > 1 =>
            {
                ArgKind::Special { register, component: Some(component) }
            }
            ArgKind::Error => ArgKind::Error,
            _ => {
                let message = format!("`{}` has no such component", self.text(name));
                self.error(codes::NO_SELECTION, span, message);
                ArgKind::Error
            }
        }
    }

    fn address(&mut self, base: Option<Name>, offset: Option<ExprId>, span: Span) -> ArgKind {
        let offset = match offset.map(|expr| self.integer(expr)) {
            None => 0,
            Some(Some(offset)) => offset,
            Some(None) => return ArgKind::Error,
        };
        let Some(base) = base else {
            return ArgKind::Address { base: AddressBase::Absolute, offset };
        };
        match self.name(base, span) {
            ArgKind::Register(id) => ArgKind::Address { base: AddressBase::Register(id), offset },
            ArgKind::Symbol { symbol: Symbol::Variable(id), .. } => {
                ArgKind::Address { base: AddressBase::Variable(id), offset }
            }
            ArgKind::Error => ArgKind::Error,
            _ => {
                let message = format!("`{}` is neither a register nor a variable", self.text(base));
                self.error(codes::NOT_A_VALUE, span, message);
                ArgKind::Error
            }
        }
    }

    /// `name[index]`: an element of an array, or a byte offset from an array of bytes.
    fn indexed(&mut self, name: Name, index: ast::OperandId, span: Span) -> ArgKind {
        let (base, index) = (self.name(name, span), self.operand(&self.ast[index]));
        match (base, index) {
            (ArgKind::Error, _) | (_, ArgKind::Error) => ArgKind::Error,
            (ArgKind::Symbol { symbol: Symbol::Variable(id), .. }, ArgKind::Constant(index)) => {
                let variable = self.variable(id);
                let element = i64::from(variable.ty.bytes()) * i64::from(variable.vector);
                match index.as_integer().and_then(|index| (index as i64).checked_mul(element)) {
                    Some(offset) => ArgKind::Address { base: AddressBase::Variable(id), offset },
                    None => {
                        self.error(codes::EXPECTED_INTEGER, span, "an index is an integer");
                        ArgKind::Error
                    }
                }
            }
            _ => {
                self.error(codes::NOT_A_VALUE, span, "only arrays indexed by constants are supported");
                ArgKind::Error
            }
        }
    }
}
