//! What there is to know of an instruction, a name or a special register.

use super::Ptx;
use crate::index::{Kind, Occurrence};
use ir::analysis::Note;
use ptx::isa::{
    Effects, FormData, Gate, Opcode, OperandKind, OperandSpec, Role, SpecialRegister, TypeRule, lookup,
};
use ptx::module::{Operand, RegId};
use ptx::source::Span;
use ptx::syntax::TokenKind;
use std::fmt::Write as _;

/// Forms that are shown, at most.
const MOST_FORMS: usize = 6;

pub(super) fn hover(ptx: &Ptx, offset: u32) -> Option<(Span, String)> {
    if let Some(name) = ptx.index.at(offset) {
        return Some((name.span, of_name(ptx, name, offset)));
    }
    let token = ptx.token(offset)?;
    let text = ptx.source.slice(token.span);
    let hover = match token.kind {
        TokenKind::Opcode => of_opcode(ptx, text, offset)?,
        TokenKind::Name => of_special(SpecialRegister::from_text(text)?),
        _ => return None,
    };
    Some((token.span, hover))
}

fn of_special(register: SpecialRegister) -> String {
    let components = if register.components() > 1 { ", with `.x .y .z .w`" } else { "" };
    format!(
        "**`{}`**, a special register: `.{}`{components}\n\nsince {}",
        register.text(),
        register.ty().name(),
        register.gate()
    )
}

fn of_opcode(ptx: &Ptx, text: &str, offset: u32) -> Option<String> {
    // The checker has chosen the form, if the text is right.
    let chosen = ptx.instruction(offset).map(|(module, _, _, one)| vec![module.opcode(one).clone()]);
    let candidates = match (chosen, lookup(text)) {
        (Some(chosen), _) => chosen,
        (None, Ok(candidates)) => candidates,
        (None, Err(error)) => return Some(error.message(text)),
    };
    let mut out = String::new();
    for opcode in candidates.iter().take(MOST_FORMS) {
        let form = opcode.data();
        let _ = writeln!(out, "```ptx\n{}\n```", form.template);
        out.push_str(&operands(opcode));
        let gates = gates(opcode);
        let _ = writeln!(
            out,
            "\nsince {gates} · manual {} {} · {}\n",
            form.section,
            form.section_title(),
            does(form)
        );
    }
    if candidates.len() > MOST_FORMS {
        let _ = writeln!(out, "and {} more forms", candidates.len() - MOST_FORMS);
    }
    if let Some((module, id, at, _)) = ptx.instruction(offset)
        && let Some(facts) = ptx.facts.of(module, id)
    {
        for note in facts.notes(at) {
            let _ = writeln!(out, "- `{}`", note.text(|register| register_name(ptx, id, register)));
        }
    }
    Some(out)
}

fn register_name(ptx: &Ptx, id: ptx::module::FuncId, register: RegId) -> String {
    let module = ptx.module.as_ref();
    let name = module.and_then(|module| {
        let body = module.functions[id.index()].body.as_ref()?;
        Some(module.text(body.registers[register.index()].name).to_owned())
    });
    name.unwrap_or_default()
}

/// The newest version and all targets that an opcode asks for.
fn gates(opcode: &Opcode) -> String {
    let mut texts: Vec<String> = Vec::new();
    for (modifier, gate) in opcode.gates() {
        let text = match modifier {
            Some(modifier) if gate != Gate::NONE => format!("`{}` {gate}", modifier.text()),
            Some(_) => continue,
            None => gate.to_string(),
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(", ")
}

/// What the machine does with a form.
fn does(form: &FormData) -> String {
    let Some(sem) = form.sem else { return "**not executed by the machine**".into() };
    let effects: &Effects = sem.effects();
    let what = match (effects.is_pure(), effects.ends_block()) {
        (true, _) => "computes its results alone",
        (_, true) => "ends a block",
        _ => "does more than compute its results",
    };
    format!("executed by the machine, {what}")
}

fn operands(opcode: &Opcode) -> String {
    let rows: Vec<String> =
        (0..).zip(opcode.data().operands).map(|(i, spec)| operand(opcode, i, spec)).collect();
    if rows.is_empty() {
        String::new()
    } else {
        format!("\n| operand | | type | what |\n| --- | --- | --- | --- |\n{}\n", rows.join("\n"))
    }
}

fn operand(opcode: &Opcode, i: usize, spec: &OperandSpec) -> String {
    let role = match spec.role {
        Role::Read => "read",
        Role::Write => "written",
        Role::ReadWrite => "read, written",
    };
    let optional = if spec.optional { ", optional" } else { "" };
    format!("| `{}` | {role}{optional} | {} | {} |", spec.name, type_of(opcode, i, spec), kind(spec.kind))
}

/// The type of an operand in words.
pub(super) fn type_of(opcode: &Opcode, i: usize, spec: &OperandSpec) -> String {
    match (opcode.operand_type(i), spec.ty) {
        (Some(ty), _) => format!("`.{}`", ty.name()),
        (None, TypeRule::Pred) => "`.pred`".into(),
        (None, _) => String::new(),
    }
}

/// What may be written for an operand, in words.
pub(super) fn kind(kind: OperandKind) -> &'static str {
    match kind {
        OperandKind::Register { .. } => "register",
        OperandKind::Value { special: true } => "register, constant or special register",
        OperandKind::Value { special: false } => "register or constant",
        OperandKind::Immediate => "constant",
        OperandKind::Predicate { .. } => "predicate",
        OperandKind::Address { .. } => "address in brackets",
        OperandKind::Vector { .. } => "vector in braces",
        OperandKind::Texture => "texture and coordinates",
        OperandKind::Surface => "surface and coordinates",
        OperandKind::Descriptor => "texture, sampler or surface",
        OperandKind::TensorMemory => "address in tensor memory",
        OperandKind::TensorMap => "tensor map and coordinates",
        OperandKind::Selected(_) => "register or a part of it",
        OperandKind::Sink => "`_`",
        OperandKind::Label => "label",
        OperandKind::Function => "function",
        OperandKind::Results => "results of a call",
        OperandKind::Arguments => "arguments of a call",
        OperandKind::BranchTargets => "list of branch targets",
        OperandKind::CallTargets => "list of call targets, or prototype",
    }
}

fn of_name(ptx: &Ptx, name: &Occurrence, offset: u32) -> String {
    let symbol = ptx.index.symbol(name);
    let text = ptx.source.slice(name.span);
    let line = ptx.source.line_column(symbol.declared.start).0;
    let set = symbol.count.map_or(String::new(), |count| format!(", one of `{}<{count}>`", symbol.name));
    let mut out = format!("```ptx\n{} {text}\n```\ndeclared in line {line}{set}\n", symbol.detail);
    match symbol.kind {
        Kind::Register => registers(ptx, text, offset, &mut out),
        Kind::Kernel | Kind::Function => {
            let head = ptx.source.slice(symbol.whole);
            let head = head.split('{').next().unwrap_or_default().trim_end();
            let _ = write!(out, "```ptx\n{head}\n```\n");
        }
        Kind::Variable | Kind::Parameter => {
            let variable = ptx.module.as_ref().and_then(|module| {
                module.variables.iter().find(|variable| {
                    variable.name == text
                        && variable.span.start >= symbol.whole.start
                        && variable.span.start <= symbol.whole.end
                })
            });
            if let Some(variable) = variable {
                let _ = writeln!(out, "\n{} bytes, aligned to {}", variable.size, variable.align);
            }
        }
        Kind::Label | Kind::Prototype | Kind::Section | Kind::Thread => {}
    }
    out
}

/// Where the register that an instruction names is live, and what its values have in common.
fn registers(ptx: &Ptx, text: &str, offset: u32, out: &mut String) {
    // Behind the last instruction or in a declaration, any register of that name in the function.
    let at = ptx.instruction(offset);
    let found = at.or_else(|| {
        let scope = ptx.index.symbol(ptx.index.at(offset)?).scope;
        let (module, id, body) = ptx.bodies(scope).next()?;
        Some((module, id, 0, body.instructions.first()?))
    });
    let Some((module, id, at, instruction)) = found else { return };
    let Some(body) = module.functions[id.index()].body.as_ref() else { return };
    let (Some(facts), Some(name)) = (ptx.facts.of(module, id), module.names.get(text)) else { return };
    let mut mentioned = Vec::new();
    mention(body, body.operands(instruction), &mut mentioned);
    mentioned.extend(instruction.guard.map(|guard| guard.register));
    let all =
        (0..body.registers.len() as u32).map(RegId).filter(|id| body.registers[id.index()].name == name);
    let all: Vec<RegId> = all.collect();
    let Some(register) = all.iter().find(|id| mentioned.contains(id)).or(all.first()).copied() else {
        return;
    };
    let line = |index: u32| {
        let at = body.instructions.get(index as usize).map_or(0, |one| one.span.start);
        ptx.source.line_column(at).0
    };
    let ranges = facts.ranges.of(register);
    let shown: Vec<String> = ranges
        .iter()
        .take(8)
        .map(|range| format!("{}–{}", line(range.start), line(range.end.saturating_sub(1))))
        .collect();
    let live = if shown.is_empty() { "nowhere".into() } else { format!("before lines {}", shown.join(", ")) };
    let _ = writeln!(out, "\nlive {live}{}", if ranges.len() > 8 { ", ..." } else { "" });
    // Every instruction that writes it, the one here first.
    let mut notes: Vec<_> = facts.notes.iter().filter(|(index, _)| *index == at).collect();
    notes.extend(facts.notes.iter().filter(|(index, _)| *index != at));
    let values = notes.into_iter().flat_map(|(index, notes)| notes.iter().map(move |note| (*index, note)));
    for (index, note) in
        values.filter(|(_, note)| matches!(note, Note::Value(of, _) if *of == register)).take(8)
    {
        let _ = writeln!(out, "\n- line {}: `{}`", line(index), note.text(|_| text.to_owned()));
    }
}

fn mention(body: &ptx::module::Body, operands: &[Operand], found: &mut Vec<RegId>) {
    for operand in operands {
        match operand {
            Operand::Register(register)
            | Operand::NotPredicate(register)
            | Operand::Part { register, .. } => {
                found.push(*register);
            }
            Operand::Address { base: ptx::module::AddressBase::Register(register), .. } => {
                found.push(*register)
            }
            Operand::Vector(list) => mention(body, body.elements(list), found),
            _ => {}
        }
    }
}
