//! Parameters: widths, and the prototypes of system calls. That alignments end at 128 is an error of PTX itself, `R0303`.

use super::codes;
use crate::names::demangled;
use ptx::diagnostic::Diagnostic;
use ptx::module::{Function, FunctionKind, Module, Param, ParamShape};
use ptx::source::Span;
use ptx::types::{ScalarType, TypeKind};

pub(super) fn check(module: &Module, found: &mut Vec<Diagnostic>) {
    for function in &module.functions {
        for (param, what) in both(function) {
            parameter(module, function, param, what, found);
        }
        let prototypes = function.body.iter().flat_map(|body| &body.prototypes);
        for shape in prototypes.flat_map(|prototype| prototype.returns.iter().chain(&prototype.params)) {
            shape_of_prototype(function, shape, found);
        }
        if function.body.is_none() {
            system_call(module, function, found);
        }
    }
}

fn both(function: &Function) -> impl Iterator<Item = (Param, &'static str)> {
    let returns = function.returns.iter().map(|param| (*param, "result"));
    returns.chain(function.params.iter().map(|param| (*param, "parameter")))
}

fn parameter(module: &Module, function: &Function, param: Param, what: &str, found: &mut Vec<Diagnostic>) {
    let of = format!("of `{}`", demangled(&function.name));
    let register = match param {
        Param::RegisterType(ty) => Some(ty),
        Param::Register(id) => {
            function.body.as_ref().and_then(|body| body.registers.get(id.index())).map(|register| register.ty)
        }
        Param::Memory(_) => None,
    };
    if let Some(ty) = register.filter(|ty| ty.bits() < 32) {
        let message = format!("a `.reg {ty}` {what} {of}");
        found.push(narrow(function.span, message));
    }
    let Param::Memory(id) = param else { return };
    let variable = &module.variables[id.index()];
    let scalar = variable.size == u64::from(variable.ty.bytes()) && !variable.unsized_array;
    if function.kind == FunctionKind::Func && scalar && is_short(variable.ty) {
        let message = format!("a `{}` {what} {of}", variable.ty);
        found.push(
            Diagnostic::error(codes::SHORT_PARAMETER, variable.span, message)
                .hint("pass an integer in 32 bits"),
        );
    }
}

/// A type that no value is passed in. `.b8` is a structure of a byte, and `.b16` what LLVM passes a `half` in.
fn is_short(ty: ScalarType) -> bool {
    ty.kind() != TypeKind::Untyped && ty.bits() < 32
}

fn shape_of_prototype(function: &Function, shape: &ParamShape, found: &mut Vec<Diagnostic>) {
    if shape.register && shape.ty.bits() < 32 {
        let of = format!("of a `.callprototype` in `{}`", demangled(&function.name));
        found.push(narrow(function.span, format!("a `.reg {}` parameter {of}", shape.ty)));
    }
}

fn narrow(span: Span, message: String) -> Diagnostic {
    Diagnostic::error(codes::NARROW_REGISTER, span, message).hint("at least 32 bits")
}

/// The width of a value of a system call.
#[derive(Clone, Copy)]
enum Width {
    Address,
    Bits32,
}
use Width::{Address, Bits32};

/// System calls with their results and parameters (guide, chapter 4).
const SYSTEM_CALLS: [(&str, &[Width], &[Width]); 4] = [
    ("vprintf", &[Bits32], &[Address, Address]),
    ("malloc", &[Address], &[Address]),
    ("free", &[], &[Address]),
    ("__assertfail", &[], &[Address, Address, Bits32, Address, Address]),
];

fn system_call(module: &Module, function: &Function, found: &mut Vec<Diagnostic>) {
    let known = SYSTEM_CALLS.iter().find(|(name, ..)| *name == function.name);
    let Some((name, returns, params)) = known else { return };
    let bits = |width: &Width| match width {
        Address => module.address_size,
        Bits32 => 32,
    };
    let fits = |param: &Param, width: &Width| match param {
        Param::Memory(id) => {
            let variable = &module.variables[id.index()];
            !variable.unsized_array
                && variable.size * 8 == u64::from(bits(width))
                && variable.ty.bits() == bits(width)
        }
        Param::Register(_) | Param::RegisterType(_) => false,
    };
    let all = |found: &[Param], wanted: &[Width]| {
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(param, width)| fits(param, width))
    };
    if !all(&function.returns, returns) || !all(&function.params, params) {
        let list = |widths: &[Width]| {
            widths.iter().map(|width| format!(".param .b{} _", bits(width))).collect::<Vec<_>>().join(", ")
        };
        let wanted = format!("`.extern .func ({}) {name} ({})`", list(returns), list(params));
        let message = format!("this is not the prototype of the system call `{name}`");
        found.push(
            Diagnostic::error(codes::SYSTEM_CALL, function.span, message).hint(format!("it is {wanted}")),
        );
    }
}
