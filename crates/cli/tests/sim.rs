//! What `warploom sim` makes of a launch beside its report: files, a comparison, advice, a sample.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const THREADS: u32 = 128;

/// `vector_add` of CTAs on a device of two SMs with two CTAs each; the report.
fn sim(folder: &Path, ctas: u32, options: &[&str]) -> Value {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/vector-add/kernels.ptx");
    let n = ctas * THREADS;
    let buffers =
        [format!("range:i32[{n}]"), format!("range:i32[{n}]"), format!("zeros:i32[{n}]"), n.to_string()];
    let output = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .current_dir(folder)
        .args(["sim", "--json", "--set", "gpu.sms=2", "--set", "sm.ctas=2"])
        .args(["--grid", &ctas.to_string(), "--block", &THREADS.to_string()])
        .args(options)
        .arg(kernels)
        .args(buffers)
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn pictures_and_a_page_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    sim(at, 8, &["--roofline", "roof.svg", "--occupancy", "room.svg", "--html", "page.html"]);
    let read = |name: &str| fs::read_to_string(at.join(name)).expect("a file");
    let (roof, room, page) = (read("roof.svg"), read("room.svg"), read("page.html"));
    assert!(roof.contains("of the roof") && room.contains("registers of a thread"));
    // PTX and machine code, and both pictures.
    assert!(page.contains("ld.global.b32") && page.contains("LDG.E") && page.matches("<svg").count() == 2);
}

#[test]
fn the_model_stands_beside_a_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = [
        "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"",
        "\"0\",\"vector_add\",\"(128, 1, 1)\",\"(9, 1, 1)\",\"smsp__inst_executed.sum\",\"inst\",\"1\"",
        "\"1\",\"vector_add(int *)\",\"(128, 1, 1)\",\"(8, 1, 1)\",\"smsp__inst_executed.sum\",\"inst\",\"1,000\"",
    ];
    fs::write(folder.path().join("ncu.csv"), lines.join("\n")).expect("a profile");
    let report = sim(folder.path(), 8, &["--compare", "ncu.csv"]);
    let both = &report["compare"]["smsp__inst_executed.sum"];
    let model = report["metrics"]["smsp__inst_executed.sum"].as_f64().expect("a number");
    assert_eq!((both["gpu"].as_f64(), both["model"].as_f64()), (Some(1000.0), Some(model)));
    assert_eq!(both["error_percent"].as_f64(), Some(100.0 * (model - 1000.0) / 1000.0));
}

/// Every change that is named saves what it says: the launch with it takes those cycles.
#[test]
fn advice_is_what_the_model_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = sim(folder.path(), 64, &["--advise"]);
    let advice = report["advice"].as_array().expect("a list");
    assert!(!advice.is_empty(), "a kernel that waits for memory");
    let best = &advice[0];
    let changes: Vec<&str> = best["set"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let options: Vec<&str> = changes.iter().flat_map(|change| ["--set", change]).collect();
    let again = sim(folder.path(), 64, &options);
    assert_eq!(again["cycles"], best["cycles"]);
    assert!(again["cycles"].as_u64() < report["cycles"].as_u64());
}

#[test]
fn a_sample_of_a_uniform_grid_says_what_all_of_it_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = sim(folder.path(), 256, &[]);
    let sample = sim(folder.path(), 256, &["--sample", "8"]);
    assert_eq!((&whole["sampled_ctas"], &sample["sampled_ctas"]), (&Value::Null, &32.into()));
    let number = |report: &Value, name: &str| report["metrics"][name].as_f64().expect("a number");
    // What all CTAs do alike is exact.
    let instructions = "smsp__inst_executed.sum";
    assert_eq!(number(&whole, instructions), number(&sample, instructions));
    let [all, some] = [&whole, &sample].map(|report| number(report, "sm__cycles_elapsed.max"));
    assert!((some - all).abs() < 0.1 * all, "{all} cycles, {some} by a sample");
    // A grid that has no more is whole.
    assert_eq!(sim(folder.path(), 8, &["--sample", "3"])["sampled_ctas"], Value::Null);
}

/// Each line has what the instructions have that were made for it: nothing is lost, and nothing is there twice.
#[test]
fn lines_have_what_their_instructions_have() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptxas/tests/lines/squares.ptx");
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .current_dir(folder.path())
        .args(["sim", "--json", "--kernel", "squares", "--block", "64", "--html", "page.html"])
        .arg(&file)
        .args(["range:u32[64]", "64"])
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let cycles = |list: &str| -> u64 {
        let lines = report[list].as_array().expect("a list").iter();
        lines
            .flat_map(|line| line["stalls"].as_object().expect("stalls").values())
            .filter_map(Value::as_u64)
            .sum()
    };
    assert!(cycles("lines") > 0);
    assert_eq!([cycles("ptx_lines"), cycles("source_lines")], [cycles("lines"); 2]);
    let text = fs::read_to_string(&file).expect("the kernel");
    let number = |what: &str| 1 + text.lines().position(|line| line.contains(what)).expect("a line") as u64;
    let found = |list: &str, holds: &dyn Fn(&Value) -> bool| {
        let found = report[list].as_array().expect("a list").iter().find(|line| holds(line));
        let line = found.unwrap_or_else(|| panic!("{report}"));
        (line["warps"].as_u64(), line["threads"].as_u64())
    };
    // Two warps square, each by one instruction; so the inlined function has them, and not its caller.
    let square = number("mul.lo.s32");
    assert_eq!(found("ptx_lines", &|line| line["line"] == square), (Some(2), Some(64)));
    let inlined = |line: &Value| line["file"] == "/src/square.h" && line["line"] == 3;
    assert_eq!(found("source_lines", &inlined), (Some(2), Some(64)));
    // In the page the three stand together.
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    let group = format!("data-g=\"p{square}\"");
    let rows: Vec<&str> = page.lines().filter(|line| line.contains(&group)).collect();
    let [source, ptx, code] = rows[..] else { panic!("{rows:?}") };
    assert!(source.contains("    3  ") && ptx.contains("mul.lo.s32") && code.contains("IMAD"), "{rows:?}");
}

/// The CRC-32 of 15 words by each of 512 threads, with options; the report.
fn crc32(folder: &Path, options: &[&str]) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clang/digests.ptx");
    let output = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .current_dir(folder)
        .args(["sim", "--json", "--kernel", "crc32", "--grid", "4", "--block", "128"])
        .args(options)
        .arg(file)
        .args(["range:u32[7680]", "60", "zeros:u32[512]"])
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The best code that was tried takes the fewest cycles, in the model that is asked for again.
#[test]
fn what_is_tuned_takes_as_many_cycles_as_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let tuned = crc32(folder.path(), &["--tune", "--out", "best.cubin"]);
    let tried = tuned["tuning"]["tried"].as_array().expect("a list");
    let best = tuned["tuning"]["best"].as_str().expect("a tuning");
    let cycles = |tuning: &str| {
        let found = tried.iter().find(|it| it["tuning"] == tuning).expect("it was tried");
        found["cycles"].as_u64().expect("cycles")
    };
    // A loop of a few instructions for each bit, which wait for one another: further unrolled it is faster, on a GPU too.
    assert!(best.contains("rounds="), "{best}");
    assert!(cycles(best) < cycles(""));
    assert!(tried.iter().all(|it| it["writes_other_bytes"] == false));
    assert_eq!(tuned["cycles"].as_u64(), Some(cycles(best)));
    assert_eq!(crc32(folder.path(), &["--tuning", best])["cycles"].as_u64(), Some(cycles(best)));
    assert_eq!(crc32(folder.path(), &[])["cycles"].as_u64(), Some(cycles("")));
    // ptxas makes the same code of it.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clang/digests.ptx");
    let output = Command::new(env!("CARGO_BIN_EXE_warploom"))
        .current_dir(folder.path())
        .args(["ptxas", "--sass", "-lineinfo", "-arch=sm_90", "--tuning", best, "-o", "all.cubin"])
        .arg(file)
        .status();
    assert!(output.expect("it starts").success());
    for cubin in ["best.cubin", "all.cubin"] {
        let output = Command::new(env!("CARGO_BIN_EXE_warploom"))
            .current_dir(folder.path())
            .args(["sim", "--json", "--kernel", "crc32", "--grid", "4", "--block", "128", cubin])
            .args(["range:u32[7680]", "60", "zeros:u32[512]"])
            .output()
            .expect("it starts");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["cycles"].as_u64(), Some(cycles(best)), "{cubin}");
    }
}
