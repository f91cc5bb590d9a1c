//! Every recorded case on the machine, which must give what the GPU gave.
//!
//! A case is first run as it was recorded: its results have the recorded digest. Then the machine's decoder is led to
//! its other ways of doing the same: under a guard, and with operands that are the same for all threads. There the
//! results of the first run are what must come out.

use conformance::Case;
use conformance::engine::{Failure, Machine};
use conformance::inputs::Made;
use conformance::kernel::Setting;
use conformance::recording::{Entry, Recording};
use ptx::isa::{FormId, Modifier};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Rows that run with operands that are the same for all threads.
const SAMPLES: usize = 6;

fn recording() -> Recording {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(Recording::PATH);
    Recording::read(&path).expect("the recording is in the repository")
}

/// Recorded cases of executed forms.
fn recorded(recording: &Recording) -> Vec<(Case, &Entry)> {
    let cases = FormId::all()
        .filter(|form| form.data().sem.is_some())
        .flat_map(|form| conformance::case::cases(form).unwrap_or_default());
    cases.filter_map(|case| recording.entries.get(&case.name).map(|entry| (case, entry))).collect()
}

/// What is wrong with each case, found by several threads.
fn judge(
    cases: &[(Case, &Entry)],
    judge: impl Fn(usize, &Machine, &Case, &Entry) -> Option<String> + Sync,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                let machine = Machine::new().expect("a machine");
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some((case, entry)) = cases.get(i) else { break };
                    if let Some(wrong) = judge(i, &machine, case, entry) {
                        let line = format!("{}: {wrong}", case.name);
                        found.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    found
}

fn report(found: &[String]) {
    let shown = found[..found.len().min(60)].join("\n");
    assert!(
        found.is_empty(),
        "{} cases (`cargo xtask record forms diff` shows lanes):\n{shown}",
        found.len()
    );
}

#[test]
fn every_recorded_case() {
    let recording = recording();
    let cases = recorded(&recording);
    assert!(cases.len() > 20_000, "only {} recorded cases are executed", cases.len());
    let made = Made::default();
    report(&judge(&cases, |_, machine, case, entry| {
        let rows = made.rows(&case.inputs);
        match machine.run(case, &rows) {
            Err(Failure::Unsupported(what)) => Some(format!("refused: {what}")),
            Err(Failure::Failed(why)) => Some(format!("failed: {why}")),
            Ok(words) => match Entry::new(case, &rows, &words) {
                now if now.inputs != entry.inputs => Some("its inputs have changed; record it again".into()),
                now if now == *entry => None,
                now => {
                    Some(format!("differs; the first row is {:x?}, recorded {:x?}", now.first, entry.first))
                }
            },
        }
    }));
}

#[test]
fn in_other_settings() {
    let recording = recording();
    let mut cases = recorded(&recording);
    // What lanes do together they do all or not at all.
    let alone = |case: &Case| !case.inputs.together && !case.opcode.has(Modifier::Sync);
    cases.retain(|(case, _)| case.kernel.is_plain() && alone(case));
    assert!(cases.len() > 3000, "only {} cases", cases.len());
    let made = Made::default();
    report(&judge(&cases, |index, machine, case, _| {
        let rows = made.rows(&case.inputs);
        let (count, words, width) = (case.inputs.count(&rows), case.inputs.words(), case.kernel.results());
        let plain = machine.run(case, &rows).ok()?;
        let guarded = Setting { guarded: true, ..Setting::default() };
        let results = match machine.run_in(case, &rows, count, guarded, None) {
            Ok(results) => results,
            Err(why) => return Some(format!("under a guard: {why:?}")),
        };
        for (at, &got) in results.iter().enumerate() {
            let skipped = at / width % 2 == 0;
            let want = if skipped { case.kernel.skipped(at % width) } else { plain[at] };
            if got != want {
                let row = &rows[at / width * words..][..words];
                return Some(format!("under a guard {row:x?}: {got:x}, not {want:x}"));
            }
        }
        // All operands, the first, the last, all but the first.
        let all = (1_u64 << words) - 1;
        let uniform = [all, 1, 1 << (words - 1), all - 1][index % 4];
        let setting = Setting { uniform, guarded: false };
        for row in (0..SAMPLES).map(|sample| sample * (count - 1) / (SAMPLES - 1)) {
            let operands = &rows[row * words..][..words];
            let repeated = operands.repeat(128);
            match machine.run_in(case, &repeated, 128, setting, Some(operands)) {
                Err(why) => return Some(format!("with uniform operands: {why:?}")),
                Ok(results) => {
                    let want = &plain[row * width..][..width];
                    if let Some(got) = results.chunks(width).find(|got| *got != want) {
                        return Some(format!("with uniform operands {operands:x?}: {got:x?}, not {want:x?}"));
                    }
                }
            }
        }
        None
    }));
}
