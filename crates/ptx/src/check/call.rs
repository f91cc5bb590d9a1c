//! Whether arguments and results fit the callee (PTX ISA, "Function Declarations and Definitions", `call`).

use super::codes;
use super::instruction::Assignment;
use super::plan::FormPlan;
use crate::ast::Constant;
use crate::diagnostic::Diagnostic;
use crate::isa::{OperandKind, compatible};
use crate::module::{FunctionKind, Operand, OperandList, ParamShape, Prototype, Symbol, Table};
use crate::resolve::Resolver;
use crate::resolve::constant::bits_as;
use crate::resolve::operand::{Arg, ArgKind};
use crate::resolve::scope::registers_of;
use crate::source::Span;
use crate::types::{ScalarType, StateSpace, TypeKind};

impl Resolver<'_> {
    /// Checks a call against the callee's signature and adds its operands.
    pub(super) fn lower_call(
        &mut self,
        plan: &FormPlan,
        assignment: &Assignment,
        opcode: Span,
    ) -> OperandList {
        let arg_of = |resolver: &Self, wanted: fn(OperandKind) -> bool| -> Option<Arg> {
            let at = plan.operands.iter().position(|operand| wanted(operand.kind))?;
            assignment.get(at).copied().flatten().map(|at| resolver.body.args[at as usize])
        };
        let callee = arg_of(self, |kind| matches!(kind, OperandKind::Function));
        let targets = arg_of(self, |kind| matches!(kind, OperandKind::CallTargets));
        let results = arg_of(self, |kind| matches!(kind, OperandKind::Results));
        let arguments = arg_of(self, |kind| matches!(kind, OperandKind::Arguments));
        let at = callee.or(targets).map_or(opcode, |arg| arg.span);
        let signatures = self.callees(callee, targets);
        // A list of targets has one signature: its further functions are compared as well.
        for signature in signatures.iter().skip(1) {
            self.call_results(results, Some(signature), at);
            self.call_arguments(arguments, Some(signature), at);
        }
        let results = self.call_results(results, signatures.first(), at);
        let arguments = self.call_arguments(arguments, signatures.first(), at);
        let lowered: Vec<_> = plan
            .operands
            .iter()
            .zip(assignment)
            .map(|(operand, assigned)| {
                let arg = assigned.map(|at| self.body.args[at as usize].kind);
                match (operand.kind, arg) {
                    (OperandKind::Results, Some(_)) => results,
                    (OperandKind::Arguments, Some(_)) => arguments,
                    (_, Some(ArgKind::Function(id))) => Operand::Function(id),
                    (_, Some(ArgKind::Register(id))) => Operand::Register(id),
                    (_, Some(ArgKind::Prototype(id))) => Operand::Prototype(id),
                    (_, Some(ArgKind::CallTargets(id))) => Operand::Table(id),
                    _ => Operand::Absent,
                }
            })
            .collect();
        self.add_operands(&lowered)
    }

    /// The signatures that a call must fit; none if they are unknown, which was reported.
    fn callees(&mut self, callee: Option<Arg>, targets: Option<Arg>) -> Vec<Prototype> {
        let functions = match (callee.map(|arg| (arg.kind, arg.span)), targets.map(|arg| arg.kind)) {
            (Some((ArgKind::Function(id), span)), _) => {
                let function = &self.module.functions[id.index()];
                if function.kind == FunctionKind::Entry {
                    let message = format!("`{}` is an entry, which cannot be called", function.name);
                    let declared = function.span;
                    self.report(
                        Diagnostic::error(codes::CALL_TARGET, span, message)
                            .related(declared, "declared here"),
                    );
                    return Vec::new();
                }
                vec![id]
            }
            (_, Some(ArgKind::Prototype(id))) => {
                return vec![self.body.body.prototypes[id.index()].clone()];
            }
            (_, Some(ArgKind::CallTargets(id))) => match &self.body.body.tables[id.index()] {
                Table::Call(functions) => functions.clone(),
                Table::Branch(_) => Vec::new(),
            },
            _ => Vec::new(),
        };
        functions.into_iter().map(|id| self.signatures[id.index()].clone()).collect()
    }

    /// Checks the results and gives them as one operand.
    fn call_results(&mut self, list: Option<Arg>, callee: Option<&Prototype>, at: Span) -> Operand {
        let passed = self.passed(list);
        if let Some(Prototype { returns, .. }) = callee
            && returns.len() != passed.len()
        {
            let (returns, passed) = (returns.len(), passed.len());
            let message = format!("the callee returns {returns} results, the call takes up {passed}");
            self.error(codes::CALL_ARITY, list.map_or(at, |list| list.span), message);
        }
        self.call_list(list, passed, callee.map(|callee| &callee.returns), "result")
    }

    /// Checks the arguments and gives them as one operand. What may be left out is an array without a size, but not the
    /// list that it stands in.
    fn call_arguments(&mut self, list: Option<Arg>, callee: Option<&Prototype>, at: Span) -> Operand {
        let passed = self.passed(list);
        if let Some(callee) = callee
            && !(callee.takes(passed.len()) && (list.is_some() || callee.params.is_empty()))
        {
            let (takes, passed) = (callee.params.len(), passed.len());
            let message = format!("the callee takes {takes} arguments, the call passes {passed}");
            self.error(codes::CALL_ARITY, list.map_or(at, |list| list.span), message);
        }
        self.call_list(list, passed, callee.map(|callee| &callee.params), "argument")
    }

    fn call_list(
        &mut self,
        list: Option<Arg>,
        passed: Vec<Passed>,
        shapes: Option<&Vec<ParamShape>>,
        what: &str,
    ) -> Operand {
        if list.is_some_and(|list| !matches!(list.kind, ArgKind::List(_))) {
            return Operand::Absent;
        }
        let mut lowered = Vec::with_capacity(passed.len());
        for (i, Passed { arg, lanes }) in passed.into_iter().enumerate() {
            let shape = shapes.and_then(|shapes| shapes.get(i)).copied();
            if let Some(shape) = shape {
                self.check_argument(&arg, lanes, &shape, what);
            }
            lowered.push(match arg.kind {
                ArgKind::Register(id) => Operand::Register(id),
                ArgKind::Symbol { symbol, offset } => Operand::SymbolAddress { symbol, offset },
                ArgKind::Sink => Operand::Sink,
                ArgKind::Constant(constant) => {
                    let ty = shape.map_or(ScalarType::B64, |shape| shape.ty);
                    Operand::Immediate(bits_as(constant, ty).unwrap_or(0))
                }
                _ => Operand::Absent,
            });
        }
        Operand::Vector(self.add_operands(&lowered))
    }

    /// The elements of an argument or result list, those of vectors one by one; none if there is no list.
    fn passed(&self, list: Option<Arg>) -> Vec<Passed> {
        let Some(Arg { kind: ArgKind::List(elements), .. }) = list else { return Vec::new() };
        let mut passed = Vec::with_capacity(elements.len());
        for arg in &self.body.nested[elements.indices()] {
            match arg.kind {
                ArgKind::VectorRegister { first, lanes } => {
                    let kinds = registers_of(first, lanes).map(ArgKind::Register);
                    passed.extend(kinds.map(|kind| Passed { arg: Arg { kind, ..*arg }, lanes }));
                }
                _ => passed.push(Passed { arg: *arg, lanes: 1 }),
            }
        }
        passed
    }

    fn check_argument(&mut self, arg: &Arg, lanes: u8, shape: &ParamShape, what: &str) {
        let is_result = what == "result";
        let problem = match arg.kind {
            ArgKind::Error => None,
            ArgKind::Sink if is_result => None,
            ArgKind::Sink => Some("`_` has no value".to_owned()),
            ArgKind::Register(register) => {
                let ty = self.register_type(register);
                let fits = !shape.array && agrees(shape.ty, ty) && lanes == shape.lanes;
                let vector = if lanes > 1 { format!(".v{lanes} ") } else { String::new() };
                (!fits).then(|| format!("a `{vector}{ty}` register for {}", describe(shape)))
            }
            ArgKind::Constant(constant) if !is_result => {
                let fits = !shape.array && shape.lanes == 1 && constant_agrees(constant, shape.ty);
                (!fits).then(|| format!("a constant that is not {}", describe(shape)))
            }
            ArgKind::Symbol { symbol: Symbol::Variable(id), offset: 0 } => {
                let variable = self.variable(id);
                let formal = self.body.inputs.contains(&id) || self.body.returns.contains(&id);
                let array = variable.size != u64::from(variable.ty.bytes());
                if variable.space != StateSpace::ParamFunc || formal {
                    Some(
                        "only `.param` variables of this body, registers and constants can be passed"
                            .to_owned(),
                    )
                } else if array != shape.array
                    || (array && variable.size != shape.size && !shape.is_open())
                    || (!array && !agrees(shape.ty, variable.ty))
                {
                    let (ty, size) = (variable.ty, variable.size);
                    let this = if array { format!("{size} bytes") } else { format!("a `{ty}`") };
                    Some(format!("{this} for {}", describe(shape)))
                } else if variable.align != shape.align {
                    Some(format!("an alignment of {} where {} is declared", variable.align, shape.align))
                } else {
                    None
                }
            }
            _ => Some("only `.param` variables, registers and constants can be passed".to_owned()),
        };
        if let Some(problem) = problem {
            let message = format!("this {what} does not fit the callee");
            self.report(Diagnostic::error(codes::CALL_ARGUMENT, arg.span, message).label(problem));
        }
    }
}

/// An element of an argument or result list.
struct Passed {
    arg: Arg,
    /// How many registers the vector has whose element it is.
    lanes: u8,
}

fn agrees(formal: ScalarType, actual: ScalarType) -> bool {
    compatible(formal, actual, false)
}

fn constant_agrees(constant: Constant, ty: ScalarType) -> bool {
    bits_as(constant, ty).is_some() || (ty.kind() == TypeKind::Untyped && constant.as_integer().is_none())
}

fn describe(shape: &ParamShape) -> String {
    match shape.array {
        true if shape.is_open() => "an array".to_owned(),
        true => format!("an array of {} bytes", shape.size),
        false if shape.lanes > 1 => format!("a `.v{} {}`", shape.lanes, shape.ty),
        false => format!("a `{}`", shape.ty),
    }
}
