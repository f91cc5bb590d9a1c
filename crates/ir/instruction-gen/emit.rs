//! The typed instructions as Rust source.

use super::shape::{Field, Function, Functions, Kind};
use std::fmt::Write;

/// Instructions with more fields than this are boxed in the enum of all, so that the others stay small.
const INLINE_FIELDS: usize = 7;

/// Everything that `instruction.rs` includes.
pub(crate) fn instructions(functions: &Functions) -> String {
    let mut out = String::new();
    for (name, modifiers) in &functions.choices {
        let _ = writeln!(out, "choice! {{\n    /// One of some modifiers.\n    {name} {{");
        for modifier in modifiers {
            let _ = writeln!(out, "        /// `{}`\n        {modifier:?},", modifier.text());
        }
        out.push_str("    }\n}\n\n");
    }
    conversions(&mut out, functions);
    functions.all.iter().for_each(|function| structure(&mut out, function));
    enumeration(&mut out, functions);
    selection(&mut out, functions);
    out
}

/// What is one of some modifiers is one of more.
fn conversions(out: &mut String, functions: &Functions) {
    let choices = &functions.choices;
    for ((from, some), (to, more)) in choices.iter().flat_map(|a| choices.iter().map(move |b| (a, b))) {
        if from == to || !some.is_subset(more) {
            continue;
        }
        let _ = write!(out, "impl From<{from}> for {to} {{\n    fn from(modifier: {from}) -> Self {{\n");
        out.push_str("        match modifier {\n");
        for modifier in some {
            let _ = writeln!(out, "            {from}::{modifier:?} => Self::{modifier:?},");
        }
        out.push_str("        }\n    }\n}\n\n");
    }
}

/// The type of a field in Rust.
fn rust_type(field: &Field) -> String {
    let ty = match &field.kind {
        Kind::Type(_) => "ScalarType".to_owned(),
        Kind::Order(_) => "Order".to_owned(),
        Kind::Scope(_) => "Scope".to_owned(),
        Kind::Space(_) => "Space".to_owned(),
        Kind::Shape(_) => "MatrixShape".to_owned(),
        Kind::Flag(..) => "bool".to_owned(),
        Kind::Choice(_, name) => name.clone(),
        Kind::Operand("Constant") => "u64".to_owned(),
        Kind::Operand("Updates" | "Defs") => "Box<[Def]>".to_owned(),
        Kind::Operand("Values") => "Box<[Value]>".to_owned(),
        Kind::Operand("Label") => "LabelId".to_owned(),
        Kind::Operand("Targets") => "TableId".to_owned(),
        Kind::Operand("Function") => "FuncId".to_owned(),
        Kind::Operand("Results" | "Arguments") => "Box<[Argument]>".to_owned(),
        Kind::Operand(name) => (*name).to_owned(),
    };
    if field.optional { format!("Option<{ty}>") } else { ty }
}

/// The method of `Source` that reads a field, with its arguments.
fn reading(field: &Field) -> String {
    let slot = |method: &str, slot| format!("source.{method}(Slot::{slot:?})");
    match &field.kind {
        Kind::Type(s) => slot("ty", s),
        Kind::Order(s) => slot("order", s),
        Kind::Scope(s) => slot("scope", s),
        Kind::Space(s) => slot("space", s),
        Kind::Shape(s) => slot("shape", s),
        Kind::Flag(s, modifier) => format!("source.flag(Slot::{s:?}, Modifier::{modifier:?})"),
        Kind::Choice(s, name) => format!("source.choice(Slot::{s:?}, {name}::from_modifier)"),
        Kind::Operand(name) => format!("source.{}({:?})", method(name), field.text),
    }
}

/// `PartDef` to `part_def`.
fn method(name: &str) -> String {
    let mut method = String::new();
    for (i, c) in name.chars().enumerate() {
        if c.is_ascii_uppercase() && i > 0 {
            method.push('_');
        }
        method.push(c.to_ascii_lowercase());
    }
    method
}

/// What a field shows of itself, given the place where it is, or a reference to it.
fn showing(field: &Field, value: &str, is_reference: bool) -> String {
    let (copy, reference) = match is_reference {
        true => (format!("*{value}"), value.to_owned()),
        false => (value.to_owned(), format!("&{value}")),
    };
    match &field.kind {
        Kind::Type(_) => format!("FieldValue::Type({copy})"),
        Kind::Order(_) => format!("FieldValue::Order({copy})"),
        Kind::Scope(_) => format!("FieldValue::Scope({copy})"),
        Kind::Space(_) => format!("FieldValue::Space({copy})"),
        Kind::Shape(_) => format!("FieldValue::Shape({copy})"),
        Kind::Flag(_, modifier) => format!("FieldValue::Flag(Modifier::{modifier:?})"),
        Kind::Choice(..) => format!("FieldValue::Modifier({value}.modifier())"),
        Kind::Operand(name @ ("Constant" | "Label" | "Targets" | "Function")) => {
            format!("FieldValue::{name}({copy})")
        }
        Kind::Operand(name) => format!("FieldValue::{name}({reference})"),
    }
}

fn structure(out: &mut String, function: &Function) {
    let Function { name, fields, .. } = function;
    let _ = writeln!(out, "/// `{}`:\n///\n/// ```text", function.sem.text());
    for template in &function.templates {
        let _ = writeln!(out, "/// {template}");
    }
    let _ = writeln!(out, "/// ```\n#[derive(Clone, Debug, PartialEq)]\npub struct {name} {{");
    for field in fields {
        let _ = writeln!(out, "    /// `{}`.\n    pub {}: {},", field.text, field.name, rust_type(field));
    }
    let _ = writeln!(out, "}}\n\nimpl {name} {{");
    let source = if fields.is_empty() { "_source" } else { "source" };
    let _ = writeln!(out, "    fn build<S: Source>({source}: &mut S) -> Result<Self, Reject> {{");
    out.push_str("        Ok(Self {\n");
    for field in fields {
        let read = reading(field);
        let read = match (&field.kind, field.optional) {
            (Kind::Flag(..), _) => read,
            (_, true) => format!("{read}?"),
            (_, false) => format!("needed({read}?, {:?})?", field.text),
        };
        let _ = writeln!(out, "            {}: {read},", field.name);
    }
    out.push_str("        })\n    }\n\n");
    let show = if fields.is_empty() { "_show" } else { "show" };
    let _ =
        writeln!(out, "    fn fields<'a>(&'a self, {show}: &mut dyn FnMut(&'static str, FieldValue<'a>)) {{");
    for field in fields {
        let (name, text) = (&field.name, field.text);
        let line = match (&field.kind, field.optional) {
            (Kind::Flag(..), _) => {
                format!("if self.{name} {{ show({text:?}, {}); }}", showing(field, "", false))
            }
            (_, true) => {
                let shown = showing(field, "field", true);
                format!("if let Some(field) = &self.{name} {{ show({text:?}, {shown}); }}")
            }
            (_, false) => {
                format!("show({text:?}, {});", showing(field, &format!("self.{name}"), false))
            }
        };
        let _ = writeln!(out, "        {line}");
    }
    out.push_str("    }\n\n");
    let operands: Vec<String> = fields.iter().filter_map(exchanging).collect();
    let show = if operands.is_empty() { "_show" } else { "show" };
    let _ = writeln!(out, "    fn operands_mut(&mut self, {show}: &mut dyn FnMut(OperandMut<'_>)) {{");
    operands.iter().for_each(|line| out.push_str(line));
    out.push_str("    }\n}\n\n");
}

/// The line that shows the operands of a field to be exchanged, if it can have any.
fn exchanging(field: &Field) -> Option<String> {
    let name = &field.name;
    let list = |function: &str| match field.optional {
        true => format!("        self.{name}.iter_mut().for_each(|all| exchange::{function}(all, show));\n"),
        false => format!("        exchange::{function}(&mut self.{name}, show);\n"),
    };
    match &field.kind {
        Kind::Operand("Constant" | "Label" | "Targets" | "Function") => None,
        Kind::Operand("Updates") => Some(list("updates")),
        Kind::Operand("Results") => Some(list("results")),
        Kind::Operand(_) => Some(format!("        self.{name}.show(show);\n")),
        Kind::Type(_)
        | Kind::Order(_)
        | Kind::Scope(_)
        | Kind::Space(_)
        | Kind::Shape(_)
        | Kind::Flag(..)
        | Kind::Choice(..) => None,
    }
}

fn enumeration(out: &mut String, functions: &Functions) {
    let boxed = |function: &Function| function.fields.len() > INLINE_FIELDS;
    out.push_str("/// What an instruction is: a case for each semantic function.\n");
    out.push_str("#[derive(Clone, Debug, PartialEq)]\n#[allow(missing_docs, clippy::large_enum_variant)]\npub enum Op {\n");
    for function in &functions.all {
        let name = &function.name;
        let _ = match boxed(function) {
            true => writeln!(out, "    {name}(Box<{name}>),"),
            false => writeln!(out, "    {name}({name}),"),
        };
    }
    out.push_str(
        "}\n\nimpl Op {\n    /// The instruction of a semantic function, with its fields from `source`.\n",
    );
    out.push_str("    pub(crate) fn build<S: Source>(sem: Sem, source: &mut S) -> Result<Self, Reject> {\n");
    out.push_str("        Ok(match sem {\n");
    for function in &functions.all {
        let name = &function.name;
        let _ = match boxed(function) {
            true => {
                writeln!(out, "            Sem::{name} => Self::{name}(Box::new({name}::build(source)?)),")
            }
            false => writeln!(out, "            Sem::{name} => Self::{name}({name}::build(source)?),"),
        };
    }
    out.push_str("        })\n    }\n\n    /// Its semantic function.\n    pub fn sem(&self) -> Sem {\n        match self {\n");
    for function in &functions.all {
        let _ = writeln!(out, "            Self::{0}(_) => Sem::{0},", function.name);
    }
    out.push_str("        }\n    }\n\n    /// Shows its fields, with the names that the table gives them.\n");
    out.push_str("    pub fn fields<'a>(&'a self, show: &mut dyn FnMut(&'static str, FieldValue<'a>)) {\n        match self {\n");
    for function in &functions.all {
        let _ = writeln!(out, "            Self::{}(op) => op.fields(show),", function.name);
    }
    out.push_str("        }\n    }\n\n    /// Shows its operands, to be exchanged.\n");
    out.push_str("    pub(crate) fn operands_mut(&mut self, show: &mut dyn FnMut(OperandMut<'_>)) {\n        match self {\n");
    for function in &functions.all {
        let _ = writeln!(out, "            Self::{}(op) => op.operands_mut(show),", function.name);
    }
    out.push_str("        }\n    }\n}\n");
}

/// The macro for what is done for each instruction by its own type.
fn selection(out: &mut String, functions: &Functions) {
    out.push_str(
        "\n/// Evaluates an expression with a name for the typed instruction in an `Op`: `by_instruction!(op, it => it.decode())`\n\
         /// calls the method that the type of each instruction has. One without it does not compile.\n\
         #[macro_export]\nmacro_rules! by_instruction {\n    ($op:expr, $typed:ident => $e:expr) => {\n        match $op {\n",
    );
    for function in &functions.all {
        let _ = writeln!(out, "            $crate::Op::{}($typed) => $e,", function.name);
    }
    out.push_str("        }\n    };\n}\n");
}
