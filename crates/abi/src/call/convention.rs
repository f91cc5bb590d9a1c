//! The PTX of a prototype: its declaration, and what caller and callee do.
//!
//! Stores of arguments stand directly before the call and loads of results directly after it, in one block, without
//! guards. Pointers are generic addresses. What a variadic function takes beyond its parameters lies in one array without
//! a size, each value at the next multiple of its alignment, after the promotions of C.

use super::parameter::{MAX_ALIGNMENT, Passed, Site, passed};
use super::pieces::{Piece, pieces};
use crate::c::Function;
use crate::data::{Scalar, Target, Type};
use ptx::types::{ScalarType, TypeKind};
use std::fmt::Write;

/// A function's calling convention as PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convention {
    /// Its declaration, without a semicolon.
    pub declaration: String,
    /// Declarations of the caller's registers, and the sequence of a call. A kernel is called by the host: none.
    pub caller: Option<Sequence>,
    /// What the callee does first and last.
    pub callee: Sequence,
    /// For a kernel, where its parameters lie in the buffer that the host passes: offset, size, name.
    pub buffer: Vec<(u64, u64, String)>,
    /// Bits of an address.
    address_size: u32,
}

/// Registers, and lines that use them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sequence {
    pub registers: Vec<(ScalarType, String)>,
    pub lines: Vec<String>,
}

impl Sequence {
    fn register(&mut self, ty: ScalarType, name: &str) {
        self.registers.push((register_type(ty), name.to_owned()));
    }

    /// As lines of a function's body.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (ty, name) in &self.registers {
            let _ = writeln!(text, "    .reg {ty} {name};");
        }
        for line in &self.lines {
            let _ = writeln!(text, "    {line}");
        }
        text
    }
}

impl Convention {
    /// A module with the callee and, for a function, a caller.
    pub fn module(&self) -> String {
        let head = format!(".version 8.0\n.target sm_70\n.address_size {}\n", self.address_size);
        let mut text = format!("{head}\n.visible {}\n{{\n{}}}\n", self.declaration, self.callee.text());
        if let Some(caller) = &self.caller {
            let _ = write!(text, "\n.visible .func the_caller()\n{{\n{}    ret;\n}}\n", caller.text());
        }
        text
    }
}

/// The convention of a prototype; `rest` are the types of what is passed beyond its parameters.
///
/// # Errors
/// If something cannot be passed.
pub fn convention(function: &Function, rest: &[Type], target: Target) -> Result<Convention, String> {
    let site = if function.kernel { Site::Kernel } else { Site::Argument };
    let mut made = Maker {
        name: &function.name,
        target,
        caller: Sequence::default(),
        callee: Sequence::default(),
        arguments: Vec::new(),
        after: Vec::new(),
    };
    let mut formals = Vec::new();
    let mut buffer: Vec<(u64, u64, String)> = Vec::new();
    for (at, parameter) in function.parameters.iter().enumerate() {
        let what = parameter.name.clone().unwrap_or_else(|| format!("p{at}"));
        let passed = passed(&parameter.ty, site, target).map_err(|problem| format!("`{what}`: {problem}"))?;
        let formal = format!("{}_param_{at}", function.name);
        formals.push(passed.declaration(&formal));
        let (size, align) = passed.extent();
        let offset = buffer.last().map_or(0, |(offset, size, _)| offset + size).next_multiple_of(align);
        buffer.push((offset, size, what.clone()));
        made.argument(&parameter.ty, passed, at, &what, &formal)?;
    }
    if function.variadic {
        if function.kernel {
            return Err("a kernel is not variadic".into());
        }
        formals.push(made.variadic(rest)?);
    } else if !rest.is_empty() {
        return Err(format!("`{}` is not variadic", function.name));
    }
    let mut returns = String::new();
    if !matches!(function.returns, Type::Void) {
        if function.kernel {
            return Err("a kernel returns nothing".into());
        }
        let passed = passed(&function.returns, Site::Result, target)
            .map_err(|problem| format!("the result: {problem}"))?;
        let formal = format!("{}_retval", function.name);
        returns = format!("({}) ", passed.declaration(&formal));
        made.result(&function.returns, passed, &formal)?;
    }
    made.callee.lines.push("ret;".into());
    let kind = if function.kernel { ".entry" } else { ".func" };
    let declaration = format!("{kind} {returns}{}({})", function.name, formals.join(", "));
    let results = if returns.is_empty() { "" } else { "(retval), " };
    let call = format!("call.uni {results}{}, ({});", function.name, made.arguments.join(", "));
    made.caller.lines.push(call);
    made.caller.lines.append(&mut made.after);
    Ok(Convention {
        declaration,
        caller: (!function.kernel).then_some(made.caller),
        callee: made.callee,
        buffer: if function.kernel { buffer } else { Vec::new() },
        address_size: target.host.address_size(),
    })
}

struct Maker<'a> {
    name: &'a str,
    target: Target,
    caller: Sequence,
    callee: Sequence,
    arguments: Vec<String>,
    /// What the caller does behind the call.
    after: Vec<String>,
}

impl Maker<'_> {
    fn argument(
        &mut self,
        ty: &Type,
        passed: Passed,
        at: usize,
        what: &str,
        formal: &str,
    ) -> Result<(), String> {
        let actual = format!("param{at}");
        self.caller.lines.push(format!("{};", passed.declaration(&actual)));
        match passed {
            Passed::Scalar { ty: declared, short } => {
                let register = format!("%{what}");
                self.caller.register(declared, &register);
                self.callee.register(declared, &register);
                if let Some(short) = short {
                    self.caller.lines.push(format!(
                        "cvt.{}.{} {register}, {register};",
                        declared.name(),
                        short.name()
                    ));
                }
                let generic =
                    if matches!(ty.plain(), Type::Pointer(_)) { " // a generic address" } else { "" };
                let bits = declared.bits();
                self.caller.lines.push(format!("st.param.b{bits} [{actual}], {register};{generic}"));
                self.callee.lines.push(format!("ld.param{declared} {register}, [{formal}];"));
            }
            Passed::Bytes { align, .. } => {
                for (number, piece) in pieces(ty, align, self.target)?.iter().enumerate() {
                    let registers = registers(&format!("%{what}_{number}"), piece);
                    for register in &registers {
                        self.caller.register(piece.ty, register);
                        self.callee.register(piece.ty, register);
                    }
                    self.caller.lines.push(store(piece, &actual, 0, &registers));
                    self.callee.lines.push(load("ld.param", piece, formal, 0, &registers));
                }
            }
        }
        self.arguments.push(actual);
        Ok(())
    }

    fn result(&mut self, ty: &Type, passed: Passed, formal: &str) -> Result<(), String> {
        self.caller.lines.push(format!("{};", passed.declaration("retval")));
        match passed {
            Passed::Scalar { ty: declared, short } => {
                self.caller.register(declared, "%result");
                self.callee.register(declared, "%result");
                let zero = if declared.kind() == TypeKind::Float { "0.0" } else { "0" };
                let line = format!("mov.{} %result, {zero}; // what is to be returned", move_type(declared));
                self.callee.lines.push(line);
                if let Some(short) = short {
                    self.callee.lines.push(format!(
                        "cvt.{}.{} %result, %result;",
                        declared.name(),
                        short.name()
                    ));
                }
                let bits = declared.bits();
                self.callee.lines.push(format!("st.param.b{bits} [{formal}], %result;"));
                self.after.push(format!("ld.param{declared} %result, [retval];"));
            }
            Passed::Bytes { align, .. } => {
                let all = pieces(ty, align, self.target)?;
                let mut stores = Vec::new();
                for (number, piece) in all.iter().enumerate() {
                    let registers = registers(&format!("%result_{number}"), piece);
                    for register in &registers {
                        self.caller.register(piece.ty, register);
                        self.callee.register(piece.ty, register);
                        let zero = if piece.ty.kind() == TypeKind::Float { "0.0" } else { "0" };
                        let ty = move_type(register_type(piece.ty));
                        self.callee.lines.push(format!("mov.{ty} {register}, {zero};"));
                    }
                    stores.push(store(piece, formal, 0, &registers));
                    self.after.push(load("ld.param", piece, "retval", 0, &registers));
                }
                self.callee.lines.append(&mut stores);
            }
        }
        Ok(())
    }

    /// The array of what is passed beyond the parameters; its declaration.
    fn variadic(&mut self, rest: &[Type]) -> Result<String, String> {
        let formal = format!("{}_rest", self.name);
        let mut align = 8;
        let mut places = Vec::new();
        let mut size = 0_u64;
        for ty in rest {
            let ty = promoted(ty, self.target);
            let extent = ty.extent(self.target)?;
            // What could not be a parameter cannot be here either.
            passed(&ty, Site::Argument, self.target)?;
            size = size.next_multiple_of(extent.align);
            places.push((ty, size, extent.align));
            size += extent.size;
            align = align.max(extent.align);
        }
        if align > MAX_ALIGNMENT {
            return Err(format!("parameters are aligned to {MAX_ALIGNMENT} at most"));
        }
        if !places.is_empty() {
            self.caller.lines.push(format!(".param .align {align} .b8 rest[{size}];"));
            self.arguments.push("rest".into());
            let address = self.target.host.address_size();
            self.callee.register(if address == 32 { ScalarType::B32 } else { ScalarType::B64 }, "%rest");
            // The array lies in local memory.
            self.callee.lines.push(format!("mov.b{address} %rest, {formal};"));
        }
        for (at, (ty, offset, own)) in places.into_iter().enumerate() {
            for (number, piece) in pieces(&ty, own, self.target)?.iter().enumerate() {
                let registers = registers(&format!("%rest{at}_{number}"), piece);
                for register in &registers {
                    self.caller.register(piece.ty, register);
                    self.callee.register(piece.ty, register);
                }
                self.caller.lines.push(store(piece, "rest", offset, &registers));
                self.callee.lines.push(load("ld.local", piece, "%rest", offset, &registers));
            }
        }
        Ok(format!(".param .align {align} .b8 {formal}[]"))
    }
}

/// What C makes of an argument that has no parameter.
fn promoted(ty: &Type, target: Target) -> Type {
    match ty.plain() {
        Type::Scalar(Scalar::Float) => Type::Scalar(Scalar::Double),
        Type::Scalar(scalar) | Type::Enum(_, scalar)
            if scalar.is_integer(target.host) && scalar.size(target.host) < 4 =>
        {
            Type::Scalar(Scalar::Int)
        }
        other => other.clone(),
    }
}

/// The type of a register that holds a value: at least 16 bits, as loads extend.
fn register_type(ty: ScalarType) -> ScalarType {
    match (ty.kind(), ty.bits()) {
        (TypeKind::Float, 32 | 64) => ty,
        (_, 0..=16) => ScalarType::B16,
        (_, 17..=32) => ScalarType::B32,
        _ => ScalarType::B64,
    }
}

fn move_type(ty: ScalarType) -> &'static str {
    match ty.kind() {
        TypeKind::Float => ty.name(),
        _ if ty.bits() == 16 => "b16",
        _ if ty.bits() == 32 => "b32",
        _ => "b64",
    }
}

fn registers(stem: &str, piece: &Piece) -> Vec<String> {
    match piece.count {
        1 => vec![stem.to_owned()],
        count => (0..count).map(|at| format!("{stem}_{at}")).collect(),
    }
}

/// `.v2.f32`, and the operand.
fn access(piece: &Piece, registers: &[String]) -> (String, String) {
    match piece.count {
        1 => (format!(".{}", piece.ty.name()), registers[0].clone()),
        count => (format!(".v{count}.{}", piece.ty.name()), format!("{{{}}}", registers.join(", "))),
    }
}

fn comment(piece: &Piece) -> String {
    if piece.what.is_empty() { String::new() } else { format!(" // {}", piece.what) }
}

fn store(piece: &Piece, base: &str, from: u64, registers: &[String]) -> String {
    let (ty, value) = access(piece, registers);
    format!("st.param{ty} [{base}+{}], {value};{}", from + piece.offset, comment(piece))
}

fn load(mnemonic: &str, piece: &Piece, base: &str, from: u64, registers: &[String]) -> String {
    let (ty, value) = access(piece, registers);
    format!("{mnemonic}{ty} {value}, [{base}+{}];{}", from + piece.offset, comment(piece))
}
