//! Branches that can be spared: those to what follows anyway, and one over another, whose opposite does for both.

use super::values::remove;
use crate::code::{Code, Label, Line, Operand};

/// Takes out branches.
pub(crate) fn straighten(code: &mut Code) {
    let mut gone = Vec::new();
    for at in 0..code.lines.len() {
        let Some((guard, to)) = branch(code, at) else { continue };
        if follows(code, at + 1, to) {
            gone.push(at);
        } else if let (Some((reg, not)), Some((None, other))) = (guard, branch(code, at + 1))
            && follows(code, at + 2, to)
        {
            if let Line::Instruction(one) = &mut code.lines[at] {
                one.guard = Some((reg, !not));
                one.operands = vec![Operand::Target(other)];
            }
            gone.push(at + 1);
        }
    }
    remove(code, &gone);
}

/// The guard of a branch and where it leads.
fn branch(code: &Code, at: usize) -> Option<(Option<(crate::code::Reg, bool)>, Label)> {
    match code.lines.get(at) {
        Some(Line::Instruction(one)) if one.name == "BRA" => match one.operands.as_slice() {
            [Operand::Target(to)] => Some((one.guard, *to)),
            _ => None,
        },
        Some(Line::Instruction(_) | Line::Label(_)) | None => None,
    }
}

/// Whether a label is among those in front of the instruction that comes next.
fn follows(code: &Code, from: usize, label: Label) -> bool {
    let labels = code.lines[from.min(code.lines.len())..].iter().map_while(|line| match line {
        Line::Label(label) => Some(*label),
        Line::Instruction(_) => None,
    });
    labels.into_iter().any(|it| it == label)
}
