//! What sessions cannot show: files that are written, output that nobody reads, JSON that must hold together.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/run.in")
}

fn warploom(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.current_dir(inputs()).args(arguments).output().expect("the command starts")
}

fn success(arguments: &[&str]) -> Output {
    let output = warploom(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn add<'a>(extra: &[&'a str], a: &'a str, b: &'a str, c: &'a str) -> Vec<&'a str> {
    let launch = ["run", "add.ptx", "--grid", "4", "--block", "64"];
    [&launch[..], extra, &[a, b, c, "200"]].concat()
}

#[test]
fn arrays_go_out_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["c.npy", "c.bin"] {
        let path = folder.path().join(name).display().to_string();
        let out = format!("zeros:f32[20x10],out:{path}");
        success(&add(&[], "random:f32[200]:seed=1", "range:f32[200]", &out));
        let again = format!("zeros:f32[200],expect:{path}");
        success(&add(&[], "random:f32[200]:seed=1", "range:f32[200]", &again));
        let typed = format!("in:{path}:f32[20x10]");
        let doubled = warploom(&add(&[], &typed, "zeros:f32[200]", &again));
        assert_eq!(doubled.status.code(), Some(0), "{}", String::from_utf8_lossy(&doubled.stderr));
    }
}

#[test]
fn a_file_that_cannot_be_written_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good.bin");
    // A folder is no file.
    let both = format!("zeros:f32[200],out:{},out:{}", folder.path().display(), good.display());
    let output = warploom(&add(&[], "range:f32[200]", "zeros:f32[200]", &both));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::metadata(good).unwrap().len(), 800);
}

#[test]
fn the_report_is_one_object() {
    let output = success(&add(
        &["--json", "--stats"],
        "range:f32[200]",
        "fill:f32[200]=nan",
        "zeros:f32[200],print:2,expect:fill=nan",
    ));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["exit"], 0);
    assert_eq!(report["error"], Value::Null);
    assert_eq!(report["outputs"][0]["print"], serde_json::json!(["nan", "nan"]));
    assert_eq!(report["outputs"][1]["expect"]["passed"], true);
    // 200 threads are 6 warps and a quarter: 7 warps execute all 19 instructions, the eighth the 10 up to the branch and
    // the last.
    let counted = &report["stats"]["total"]["warp_instructions"];
    assert_eq!(counted, &Value::from(7 * 19 + 11));
    assert_eq!(report["warp_instructions"], *counted);
    let memory = report["stats"]["total"]["memory"].as_array().unwrap();
    let global =
        |access: &str| memory.iter().find(|m| m["space"] == "global" && m["access"] == access).unwrap();
    assert_eq!(global("load")["bytes"], 2 * 200 * 4);
    assert_eq!(global("store")["sectors"], 25);
}

#[test]
fn a_fault_is_reported_and_its_replay_fails_in_the_same_way() {
    let arguments = add(&["--json", "--threads", "2"], "range:f32[8]", "zeros:f32[200]", "zeros:f32[200]");
    let output = warploom(&arguments);
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fault = &report["error"]["fault"];
    assert_eq!(fault["name"], "illegal-address");
    assert_eq!(fault["ptx"]["line"], 32);
    let replay = shlex::split(fault["replay"].as_str().unwrap()).unwrap();
    let words: Vec<&str> = replay[1..].iter().map(String::as_str).collect();
    let again: Value = serde_json::from_slice(&warploom(&words).stdout).unwrap();
    assert_eq!(again["error"]["fault"]["name"], "illegal-address");
    assert_eq!(again["error"]["fault"]["ptx"], fault["ptx"]);
}

#[test]
fn a_trace_repeats_itself() {
    let folder = tempfile::tempdir().unwrap();
    let trace = |name: &str| {
        let path = folder.path().join(name);
        let option = format!("--trace={}", path.display());
        success(&[
            "run",
            "several.ptx",
            "--kernel",
            "nothing",
            "--grid",
            "3",
            "--scheduler",
            "random:5",
            &option,
        ]);
        std::fs::read_to_string(path).unwrap()
    };
    let first = trace("a");
    assert_eq!(first.lines().count(), 3 * 2, "{first}");
    assert_eq!(first, trace("b"));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .current_dir(inputs())
        .args(["check", "--json", "add.ptx"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn formatting_in_place_keeps_the_meaning_and_the_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.ptx");
    let text = std::fs::read_to_string(inputs().join("add.ptx")).unwrap();
    std::fs::write(&path, text.replace(";\n", "; ")).unwrap();
    let name = path.display().to_string();
    success(&["fmt", "-i", "--drop-comments", &name]);
    success(&["fmt", "--check", &name]);
    success(&["check", &name]);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A kernel whose threads race only if the last of them come first: that is seen under another schedule, and memory is as the own run
/// has left it. What was found becomes JUnit XML and a page.
#[test]
fn what_the_checks_find_under_other_schedules_is_written_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
        .reg .u64 %d; .reg .u32 %r<4>; .reg .pred %p<3>;\nld.param.u64 %d, [p]; mov.u32 %r0, %tid.x;\n\
        setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 256;\n@%p0 bra look; @%p1 bra set; ret;\n\
        look: ld.relaxed.gpu.global.u32 %r2, [%d+4]; st.global.u32 [%d+8], %r2;\n\
        setp.eq.u32 %p2, %r2, 0; @%p2 bra done;\nld.global.u32 %r3, [%d];\ndone: ret;\n\
        set: st.global.u32 [%d], 7;\nst.relaxed.gpu.global.u32 [%d+4], 1; ret;\n}\n";
    std::fs::write(path("k<1>.ptx"), text).unwrap();
    let run = |more: &[&str]| {
        let [kernel, junit, html] = ["k<1>.ptx", "junit.xml", "page.html"].map(path);
        let launch = ["run", &kernel, "--block", "288", "zeros:u32[3],expect:[7,1,0]", "--check", "race"];
        let output = warploom(&[&launch[..], &["--junit", &junit, "--html", &html], more].concat());
        let written = ["junit.xml", "page.html"].map(|name| std::fs::read_to_string(path(name)).unwrap());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), written)
    };
    let (code, said, [junit, html]) = run(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(junit.contains("tests=\"1\"") && junit.contains("failures=\"0\""), "{junit}");
    assert!(html.contains("<p>Nothing.</p>"), "{html}");
    let (code, said, [junit, html]) = run(&["--schedules", "3"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("seen under the schedule adversarial, not in the program's own run"), "{said}");
    assert!(junit.contains("failures=\"1\"") && junit.contains("type=\"race\""), "{junit}");
    // Both accesses with their lines, and nothing that a name or a title has is markup.
    for part in ["<mark>   12  ld.global.u32 %r3, [%d];</mark>", "k&lt;1&gt;.ptx", "under adversarial"] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!html.contains("k<1>"), "{html}");
}

/// Every race of loads, stores and atomics in the sanitizer's suite becomes a litmus test that is racy by the axioms, and one
/// that is repaired.
#[test]
fn races_become_litmus_tests_that_are_racy() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sanitizer");
    for (file, launch) in [
        ("warp/neighbour-racy.ptx", ["1", "32"]),
        ("cta/neighbour-warps-racy.ptx", ["1", "64"]),
        ("cta/atomic-and-plain-read-racy.ptx", ["1", "64"]),
        ("grid/atomic-of-block-scope-racy.ptx", ["4", "1"]),
        ("grid/plain-increment-racy.ptx", ["4", "1"]),
        ("grid/message-no-release-racy.ptx", ["2", "1"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (file, into) = (suite.join(file).display().to_string(), folder.path().display().to_string());
        let [grid, block] = launch;
        let launch = ["run", &file, "--grid", grid, "--block", block, "zeros:u32[64]"];
        let output =
            warploom(&[&launch[..], &["--check", "race", "--json", "--emit-litmus", &into]].concat());
        assert_eq!(output.status.code(), Some(1), "{file}: {}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["reports"][0]["kind"], "race", "{file}");
        let tests: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!tests.is_empty(), "{file}");
        for test in tests {
            let verdict = warploom(&["litmus", "--json", &test.display().to_string()]);
            let verdict: Value = serde_json::from_slice(&verdict.stdout).unwrap();
            let racy = !test.to_string_lossy().contains("repaired");
            assert_eq!(verdict["race"], racy, "{file}: {}", std::fs::read_to_string(&test).unwrap());
            assert_eq!(verdict["certified"], true, "{file}");
        }
    }
}
