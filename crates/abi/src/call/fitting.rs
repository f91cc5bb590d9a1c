//! From a PTX declaration to the C types that its parameters may stand for.

use super::parameter::{Passed, Site, passed};
use crate::c;
use crate::data::{Scalar, Target, Type, types::Handle};
use ptx::module::{Function, FunctionKind, Module, Param};
use ptx::types::{ScalarType, TypeKind};

/// A parameter or result, and what it may be in C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Its name in PTX; empty for a register without one.
    pub name: String,
    /// As PTX declares it, without the name.
    pub declared: String,
    /// C types that are passed so.
    pub types: Vec<String>,
    /// What is to be said beside: that C has no such parameter.
    pub note: Option<&'static str>,
}

/// Whether a scalar of PTX holds what another one declares: `.b32` says nothing of floats, and compilers write `.u32` for what has
/// a sign too.
fn holds(declared: ScalarType, wanted: ScalarType) -> bool {
    let float = |ty: ScalarType| ty.kind() == TypeKind::Float;
    declared.bits() == wanted.bits()
        && (declared.kind() == TypeKind::Untyped || float(declared) == float(wanted))
}

/// The results and the parameters of a function.
pub fn fitting(module: &Module, function: &Function, target: Target) -> (Vec<Fit>, Vec<Fit>) {
    let site = match function.kind {
        FunctionKind::Entry => Site::Kernel,
        FunctionKind::Func => Site::Argument,
    };
    let of =
        |params: &[Param]| params.iter().map(|param| fit(module, function, *param, site, target)).collect();
    (of(&function.returns), of(&function.params))
}

fn fit(module: &Module, function: &Function, param: Param, site: Site, target: Target) -> Fit {
    let in_register = |ty: ScalarType, name: &str| Fit {
        name: name.to_owned(),
        declared: format!(".reg {ty}"),
        types: Vec::new(),
        note: Some("the ABI has no parameters in registers"),
    };
    let variable = match param {
        Param::Memory(id) => &module.variables[id.index()],
        Param::RegisterType(ty) => return in_register(ty, ""),
        Param::Register(id) => {
            let register = function.body.as_ref().and_then(|body| body.registers.get(id.index()));
            return register.map_or(in_register(ScalarType::B32, ""), |register| {
                in_register(register.ty, module.text(register.name))
            });
        }
    };
    let name = variable.name.clone();
    if variable.unsized_array {
        let declared = format!(".param .align {} {}[]", variable.align, variable.ty);
        return Fit { name, declared, types: vec!["...".into()], note: None };
    }
    let array = variable.size != u64::from(variable.ty.bytes());
    // One byte may be a structure, or an array: PTX tells the two apart by brackets alone.
    let (declared, wanted) = if array || variable.ty == ScalarType::B8 {
        let (size, align) = (variable.size, u64::from(variable.align));
        (format!(".param .align {align} .b8[{size}]"), Passed::Bytes { size, align })
    } else {
        (format!(".param {}", variable.ty), Passed::Scalar { ty: variable.ty, short: None })
    };
    let (types, note) = match wanted {
        Passed::Scalar { ty, .. } => scalars(ty, site, target),
        Passed::Bytes { size, align } => (aggregates(size, align, target), None),
    };
    Fit { name, declared, types, note }
}

fn scalars(declared: ScalarType, site: Site, target: Target) -> (Vec<String>, Option<&'static str>) {
    let pointer = Type::Pointer(Box::new(Type::Void));
    let handles = [Handle::Texture, Handle::Surface].map(Type::Handle);
    let all = Scalar::ALL.map(Type::Scalar).into_iter().chain([pointer]).chain(handles);
    let fits = |ty: &Type| match passed(ty, site, target) {
        Ok(Passed::Scalar { ty: wanted, .. }) => holds(declared, wanted),
        _ => false,
    };
    let types: Vec<String> = all.filter(fits).map(|ty| ty.to_string()).collect();
    let note = match (site, declared.bits()) {
        _ if !types.is_empty() => None,
        (Site::Argument, 0..32) => {
            Some("C's short integers are passed in 32 bits, and 16-bit floats not at all")
        }
        _ => Some("no C type is passed so"),
    };
    (types, note)
}

/// The vector types of CUDA with that size and alignment, and structures in general.
fn aggregates(size: u64, align: u64, target: Target) -> Vec<String> {
    let mut types = vec![format!("a structure or union of {size} bytes, aligned to {align}")];
    types.extend(
        c::vectors()
            .filter(|ty| passed(ty, Site::Argument, target) == Ok(Passed::Bytes { size, align }))
            .map(|ty| ty.to_string()),
    );
    if (size, align) == (16, 16) {
        types.push(Scalar::Int128.name().into());
    }
    types
}
