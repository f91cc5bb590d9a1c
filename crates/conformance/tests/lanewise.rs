//! Every recorded case whose instruction computes lane by lane: [`ir::lanewise::WordFunction`], by which constants are
//! folded, gives what the GPU gave.
//!
//! No engine takes part: the rows of operands go to the function, and the digest of its results must be the recorded one.

use conformance::Case;
use conformance::inputs::Made;
use conformance::kernel::{self, Setting};
use conformance::recording::{Entry, Recording};
use ir::Function;
use ir::lanewise::{MOST_OPERANDS, WordFunction};
use ir::operand::Value;
use ptx::isa::FormId;
use ptx::module::FuncId;
use ptx::source::Source;
use std::collections::BTreeMap;
use std::path::Path;

/// Pure instructions with one result that have no lane function, and why.
const WITHOUT: &[(&str, &str)] = &[
    ("mov.", "nothing is computed: passes know copies"),
    ("istypep.", "what a handle is, a table outside the function says"),
    ("txq.", "what a texture is, a table outside the function says"),
];

/// The tested instruction of a case, as an operation on registers of its kernel.
fn tested<R>(case: &Case, then: impl FnOnce(&Function<'_>, &ir::Instruction) -> R) -> Option<R> {
    let text = format!(
        "{}{}",
        kernel::header([&case.kernel]),
        case.kernel.text("k", case.inputs.words(), Setting::default())
    );
    let source = Source::new(&case.name, &text);
    let (module, _) = ptx::compile(&source).into_result().unwrap_or_else(|found| panic!("{text}\n{found:?}"));
    let function = (0..module.functions.len() as u32).find_map(|id| Function::lower(&module, FuncId(id)))?;
    // What stores the results has other opcodes, or comes before.
    let index = function.body.instructions.iter().rposition(|one| *module.opcode(one) == case.opcode)?;
    function.instruction(index as u32).map(|instruction| then(&function, instruction))
}

/// What a case's function gives for all rows, or the name of an instruction that has none.
fn results(case: &Case, rows: &[u64]) -> Option<Result<Vec<u64>, String>> {
    tested(case, |function, instruction| {
        let op = &instruction.op;
        if !op.effects().is_pure() {
            return None;
        }
        let Some(computed) = WordFunction::of(op) else { return Some(Err(case.opcode.text().to_owned())) };
        let width = case.kernel.result_bits().next()?;
        // Where each operand comes from: a word of the row, or the instruction itself.
        let mut sources = Vec::new();
        for operand in &computed.operands {
            sources.push(match operand.value {
                Value::Register(register) => {
                    let name = function.module.text(function.body.registers[register.index()].name);
                    Err(case.kernel.operand(name)?)
                }
                Value::Constant(bits) => Ok(bits),
                _ => return None,
            });
        }
        let rows = rows.chunks(case.inputs.words()).map(|row| {
            let mut words = [0; MOST_OPERANDS];
            for ((word, source), operand) in words.iter_mut().zip(&sources).zip(&computed.operands) {
                let value = match *source {
                    Ok(constant) => constant,
                    Err((at, 1)) => u64::from(row[at] as u32 != 0),
                    Err((at, _)) => row[at],
                };
                *word = if operand.negated { value ^ 1 } else { value };
            }
            computed.result(&words, width)
        });
        Some(Ok(rows.collect()))
    })?
}

#[test]
fn lane_functions_give_what_was_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(Recording::PATH);
    let recording = Recording::read(&path).expect("the recording is in the repository");
    let made = Made::default();
    let (mut judged, mut without, mut wrong) = (0, BTreeMap::<String, usize>::new(), Vec::new());
    for form in FormId::all().filter(|form| form.data().sem.is_some()) {
        for case in conformance::case::cases(form).unwrap_or_default() {
            let Some(entry) = recording.entries.get(&case.name) else { continue };
            if !case.kernel.is_plain() || case.kernel.results() != 1 {
                continue;
            }
            let rows = made.rows(&case.inputs);
            match results(&case, &rows) {
                None => {}
                Some(Err(name)) => *without.entry(name).or_default() += 1,
                Some(Ok(words)) if Entry::new(&case, &rows, &words) == *entry => judged += 1,
                Some(Ok(words)) => {
                    let first = words.first().copied();
                    wrong.push(format!(
                        "{}: the first row gives {first:x?}, not {:x?}",
                        case.name, entry.first
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    let unexplained: Vec<_> =
        without.keys().filter(|name| !WITHOUT.iter().any(|(begin, _)| name.starts_with(begin))).collect();
    assert!(unexplained.is_empty(), "without a lane function: {unexplained:?}");
    let idle: Vec<_> =
        WITHOUT.iter().filter(|(begin, _)| !without.keys().any(|name| name.starts_with(begin))).collect();
    assert!(idle.is_empty(), "these have one by now: {idle:?}");
    assert!(judged > 5000, "only {judged} cases");
}
