//! What device C++ does not have (guide, chapter 7), where a module shows it: in the names of what it declares.

use super::codes;
use crate::names::demangled;
use ptx::diagnostic::Diagnostic;
use ptx::module::{Linkage, Module};

/// Functions of the C++ runtime that a feature needs, by how their names begin.
const FUNCTIONS: [(&str, &str, &str); 12] = [
    ("__cxa_throw", codes::EXCEPTION, "exceptions"),
    ("__cxa_rethrow", codes::EXCEPTION, "exceptions"),
    ("__cxa_allocate_exception", codes::EXCEPTION, "exceptions"),
    ("__cxa_begin_catch", codes::EXCEPTION, "exceptions"),
    ("__cxa_end_catch", codes::EXCEPTION, "exceptions"),
    ("__gxx_personality_", codes::EXCEPTION, "exceptions"),
    ("_Unwind_", codes::EXCEPTION, "exceptions"),
    ("__dynamic_cast", codes::RTTI, "run-time type information"),
    ("__cxa_bad_", codes::RTTI, "run-time type information"),
    ("_GLOBAL__", codes::GLOBAL_CONSTRUCTOR, "constructors of global objects"),
    ("__cxx_global_", codes::GLOBAL_CONSTRUCTOR, "constructors of global objects"),
    ("__cxa_atexit", codes::GLOBAL_CONSTRUCTOR, "destructors of global objects"),
];
/// The guards of static objects, which are constructed when they are first met.
const GUARD: &str = "__cxa_guard_";

pub(super) fn check(module: &Module, found: &mut Vec<Diagnostic>) {
    for function in &module.functions {
        let row = FUNCTIONS.iter().find(|(name, ..)| function.name.starts_with(name));
        let row = row.map(|(_, code, what)| (*code, *what));
        let guard = || {
            let is_guard = function.name.starts_with(GUARD);
            is_guard.then_some((codes::GLOBAL_CONSTRUCTOR, "constructors of static objects"))
        };
        if let Some((code, what)) = row.or_else(guard) {
            let message = format!("`{}`: device code has no {what}", demangled(&function.name));
            found.push(Diagnostic::error(code, function.span, message));
        }
    }
    for variable in module.variables.iter().filter(|variable| variable.function.is_none()) {
        let name = &variable.name;
        if name.starts_with("_ZTI") || name.starts_with("_ZTS") {
            let message = format!("`{}`: device code has no run-time type information", demangled(name));
            found.push(Diagnostic::error(codes::RTTI, variable.span, message));
        }
        if name.starts_with("_ZTV") && variable.linkage == Linkage::Extern {
            let message = format!("`{}` is of another module, perhaps of the host", demangled(name));
            found.push(Diagnostic::warning(codes::HOST_VTABLE, variable.span, message));
        }
    }
}
