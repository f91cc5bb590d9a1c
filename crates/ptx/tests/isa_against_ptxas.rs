//! Every form of the table, with every choice of every slot once, must assemble. The judge is NVIDIA's `ptxas`, if the
//! environment variable `WARPLOOM_PTXAS` names one; without it the test counts what it skipped.

use ptx::isa::{FormId, Opcode, instance, lookup, sample_opcodes};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

const FP8_ON_SM_89: &str =
    "with sm_89 it wants PTX 8.1, with sm_90 the manual's 7.8: one gate cannot say both";

/// What `ptxas` 13.0 refuses although the manual has it, or cannot judge: the start of the opcode (and after a `*` its
/// end), and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("cvta*.u32", "32-bit addresses, which it no longer compiles"),
    ("ld.param::func", "it crashes"),
    (
        "txq.force_unnormalized_coords",
        "asks a samplerref, which only texmode_independent modules can declare",
    ),
    ("cvt.rn.f16x2.e4m3x2", FP8_ON_SM_89),
    ("cvt.rn.f16x2.e5m2x2", FP8_ON_SM_89),
    ("cvt.rn.relu.f16x2.e4m3x2", FP8_ON_SM_89),
    ("cvt.rn.satfinite.e4m3x2", FP8_ON_SM_89),
    ("cvt.rn.satfinite.e5m2x2", FP8_ON_SM_89),
    ("cvt.rn.satfinite.relu.e4m3x2", FP8_ON_SM_89),
    ("st.bulk.shared::cta", "it miscompiles the address of a variable into an addition of two constants"),
    ("multimem.cp.async.bulk", "new in PTX 9.1, which it does not know"),
    ("shfl.up", "gone from sm_70 on, and it knows no older target"),
    ("shfl.down", "gone from sm_70 on, and it knows no older target"),
    ("shfl.bfly", "gone from sm_70 on, and it knows no older target"),
    ("shfl.idx", "gone from sm_70 on, and it knows no older target"),
    ("vote.all", "gone from sm_70 on, and it knows no older target"),
    ("vote.any", "gone from sm_70 on, and it knows no older target"),
    ("vote.uni", "gone from sm_70 on, and it knows no older target"),
    ("vote.ballot", "gone from sm_70 on, and it knows no older target"),
];

struct Case {
    opcode: Opcode,
    full: bool,
    text: String,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for form in FormId::all() {
        for opcode in sample_opcodes(form) {
            for full in [false, true] {
                let text = instance(&opcode, full)
                    .unwrap_or_else(|| panic!("no target has {} of {}", opcode.text(), form.data().template));
                if cases.last().is_none_or(|last| last.text != text) {
                    cases.push(Case { opcode: opcode.clone(), full, text });
                }
            }
        }
    }
    cases
}

/// The complaint of `ptxas`, if it has one.
fn assemble(ptxas: &str, folder: &Path, name: usize, text: &str) -> Option<String> {
    let file = folder.join(format!("{name}.ptx"));
    fs::write(&file, text).expect("the temporary folder is writable");
    let target =
        text.lines().find_map(|line| line.strip_prefix(".target ")).expect("an instance names its target");
    let output = Command::new(ptxas).args(["-O0", "-arch", target, "-o", "/dev/null"]).arg(&file).output();
    let output = output.expect("WARPLOOM_PTXAS names an executable");
    fs::remove_file(&file).expect("the file is there");
    if output.status.success() {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let errors = said.lines().filter(|l| l.contains("error") || l.contains("fatal"));
    Some(errors.map(|l| l.split("; ").last().unwrap_or(l)).collect::<Vec<_>>().join(" | "))
}

/// Whether an opcode begins with the pattern; after a `*` stands how it ends.
fn matches(pattern: &str, opcode: &str) -> bool {
    let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
    opcode.starts_with(start) && opcode.ends_with(end)
}

#[test]
fn every_form_assembles() {
    let cases = cases();
    let Ok(ptxas) = env::var("WARPLOOM_PTXAS") else {
        eprintln!("SKIPPED {} instances of the instruction table: WARPLOOM_PTXAS is not set", cases.len());
        return;
    };
    let folder = env::temp_dir().join(format!("warploom-isa-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder is writable");
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                while let Some((i, case)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, cases.get(i)?)))
                {
                    if let Some(complaint) = assemble(&ptxas, &folder, i, &case.text) {
                        failures.lock().expect("no thread panicked").insert(i, complaint);
                    }
                }
            });
        }
    });
    fs::remove_dir_all(&folder).expect("the folder is there");
    let failures = failures.into_inner().expect("no thread panicked");
    let mut report = String::new();
    let mut used = vec![false; EXCEPTIONS.len()];
    for (i, complaint) in &failures {
        let Case { opcode, full, text } = &cases[*i];
        let written = opcode.text();
        match EXCEPTIONS.iter().position(|(pattern, _)| matches(pattern, &written)) {
            Some(exception) => used[exception] = true,
            None => {
                let line =
                    text.lines().find(|l| l.trim_start().starts_with(&written)).unwrap_or_default().trim();
                let header: Vec<_> = text.lines().take(2).collect();
                report += &format!("{line} [{} full={full}]: {complaint}\n", header.join(" "));
            }
        }
    }
    for ((start, _), used) in EXCEPTIONS.iter().zip(used) {
        if !used {
            report += &format!("the exception for {start} is no longer needed\n");
        }
    }
    eprintln!("{} instances, {} refused", cases.len(), failures.len());
    assert!(report.is_empty(), "{report}");
}

/// The text of every sample is found again, as that form.
#[test]
fn every_sample_is_looked_up() {
    for form in FormId::all() {
        let samples = sample_opcodes(form);
        assert!(!samples.is_empty(), "{} has no minimal opcode", form.data().template);
        for opcode in samples {
            let found = lookup(&opcode.text())
                .unwrap_or_else(|e| panic!("{}: {}", opcode.text(), e.message(&opcode.text())));
            assert!(found.contains(&opcode), "{} is not found as {}", opcode.text(), form.data().template);
        }
    }
}
