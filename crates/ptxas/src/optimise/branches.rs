//! Branches that can be spared: those to what follows anyway, and one over another, whose opposite does for both. Code that one branch
//! alone leads to stands behind it, and a loop that is entered in its middle begins there.

use super::values::remove;
use crate::allocate::leaves;
use crate::code::{Code, Label, Line, Operand};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Puts what a branch leads to behind it, where nothing else comes by, and spares the branch.
pub(crate) fn lay_out(code: &mut Code) {
    without_unnamed(code);
    let Some(mut runs) = runs(code) else { return };
    rotate(&mut runs);
    let mut starts: HashMap<Label, usize> = HashMap::default();
    for (index, run) in runs.iter().enumerate() {
        starts.extend(leading(run).map(|label| (label, index)));
    }
    let mut runs: Vec<Option<Vec<Line>>> = runs.into_iter().map(Some).collect();
    for first in 0..runs.len() {
        let mut next = Some(first);
        while let Some(run) = next.and_then(|it| runs[it].take()) {
            code.lines.extend(run);
            next = jump(code.lines.last())
                .and_then(|to| starts.get(&to).copied())
                .filter(|&it| runs[it].is_some());
            if next.is_some() {
                code.lines.pop();
            }
        }
    }
    without_unnamed(code);
    straighten(code);
}

/// Takes out the labels that nobody names, so that what they part is one block.
pub(crate) fn without_unnamed(code: &mut Code) {
    let named: HashSet<Label> = code.lines.iter().flat_map(targets).collect();
    let mut lines = std::mem::take(&mut code.lines);
    lines.retain(|line| match line {
        Line::Label(label) => named.contains(label) || code.is_routine(line),
        Line::Instruction(_) => true,
    });
    code.lines = lines;
}

/// Takes the code apart behind whatever nothing falls through; none if it ends otherwise.
fn runs(code: &mut Code) -> Option<Vec<Vec<Line>>> {
    let is_end = |line: &Line| matches!(line, Line::Instruction(one) if one.guard.is_none() && leaves(line));
    if !code.lines.last().is_some_and(is_end) {
        return None;
    }
    let mut runs = vec![Vec::new()];
    for line in std::mem::take(&mut code.lines) {
        let ends = is_end(&line);
        runs.last_mut()?.push(line);
        if ends {
            runs.push(Vec::new());
        }
    }
    runs.pop();
    Some(runs)
}

/// Lets loops begin where they are entered: those that end in a branch to their first line, to which nothing else leads.
fn rotate(runs: &mut [Vec<Line>]) {
    let mut named: HashMap<Label, HashSet<usize>> = HashMap::default();
    for (index, run) in runs.iter().enumerate() {
        for label in run.iter().flat_map(targets) {
            named.entry(label).or_default().insert(index);
        }
    }
    for (index, run) in runs.iter_mut().enumerate() {
        let comes_from_elsewhere =
            |label: &Label| named.get(label).is_some_and(|from| from.iter().any(|&it| it != index));
        let begins = leading(run).count();
        let Some(back) = jump(run.last()).filter(|to| leading(run).any(|it| it == *to)) else { continue };
        if index == 0 || comes_from_elsewhere(&back) || leading(run).any(|it| comes_from_elsewhere(&it)) {
            continue;
        }
        let entry = run.iter().enumerate().skip(begins).find_map(|(at, line)| match line {
            Line::Label(label) if comes_from_elsewhere(label) => Some((at, *label)),
            Line::Label(_) | Line::Instruction(_) => None,
        });
        let Some((at, label)) = entry else { continue };
        let Some(Line::Instruction(mut branch)) = run.pop() else { continue };
        branch.operands = vec![Operand::Target(label)];
        run.rotate_left(at);
        run.push(Line::Instruction(branch));
    }
}

/// The labels in front of the first instruction.
fn leading(run: &[Line]) -> impl Iterator<Item = Label> + '_ {
    run.iter().map_while(|line| match line {
        Line::Label(label) => Some(*label),
        Line::Instruction(_) => None,
    })
}

fn targets(line: &Line) -> impl Iterator<Item = Label> + '_ {
    let operands = match line {
        Line::Instruction(one) => one.operands.as_slice(),
        Line::Label(_) => &[],
    };
    operands.iter().filter_map(|operand| match operand {
        Operand::Target(label) => Some(*label),
        Operand::General { .. }
        | Operand::Uniform { .. }
        | Operand::Predicate(..)
        | Operand::Address { .. }
        | Operand::Text(_) => None,
    })
}

/// Where a line leads whatever is computed.
fn jump(line: Option<&Line>) -> Option<Label> {
    match line {
        Some(Line::Instruction(one)) if one.name == "BRA" && one.guard.is_none() => targets(line?).next(),
        Some(Line::Instruction(_) | Line::Label(_)) | None => None,
    }
}

/// Takes out branches.
fn straighten(code: &mut Code) {
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
