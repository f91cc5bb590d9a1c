//! `warploom sim sweep` in pieces: shards, processes that are killed, several threads. The file is the same.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const PLAN: &str = r#"
device = ["h100", "a100"]

[[kernel]]
file = "kernels.ptx"
grid = "{n/128}"
block = "128"
arguments = ["range:i32[{n}]", "range:i32[{n}]", "zeros:i32[{n}]", "{n}"]
sizes.n = [1000, 20000]

[set]
"l2.latency" = [200, 300, 400, 500, 600]
"IADD3.interval" = [2, 4]
"#;
const POINTS: usize = 2 * 2 * 5 * 2;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/vector-add/kernels.ptx");
    fs::copy(kernels, folder.path().join("kernels.ptx")).expect("an example");
    fs::write(folder.path().join("plan.toml"), PLAN).expect("a plan");
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.current_dir(folder).arg("sim").args(arguments);
    command
}

fn sim(folder: &Path, arguments: &[&str]) -> Output {
    let output = command(folder, arguments).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    output
}

#[test]
fn shards_and_threads_give_the_same_file() {
    let folder = folder();
    let at = folder.path();
    sim(at, &["sweep", "plan.toml", "-o", "whole.parquet", "--threads", "1"]);
    let whole = fs::read(at.join("whole.parquet")).expect("a file");
    for (shard, out) in [("1/3", "1.parquet"), ("2/3", "2.parquet"), ("3/3", "3.parquet")] {
        sim(at, &["sweep", "plan.toml", "--shard", shard, "-o", out, "--threads", "4"]);
    }
    let said = sim(at, &["merge", "2.parquet", "3.parquet", "1.parquet", "-o", "all.parquet", "--json"]);
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!((&said["points"], &said["failed"]), (&POINTS.into(), &serde_json::json!([])));
    assert!(whole == fs::read(at.join("all.parquet")).expect("a file"));
    // What is done is done; what is another's stays.
    sim(at, &["sweep", "plan.toml", "-o", "whole.parquet"]);
    for wrong in [
        &["sweep", "plan.toml", "--shard", "1/2", "-o", "whole.parquet"][..],
        &["merge", "1.parquet", "2.parquet", "-o", "some.parquet"],
        &["merge", "1.parquet", "2.parquet", "3.parquet", "3.parquet", "-o", "some.parquet"],
        &["sweep", "plan.toml", "--shard", "0/2", "-o", "some.parquet"],
    ] {
        let output = command(at, wrong).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
    assert!(!at.join("some.parquet").exists());
}

/// Each process has its memory elsewhere.
#[test]
fn a_point_that_faults_is_a_row() {
    let folder = folder();
    let at = folder.path();
    let beyond = PLAN.replace("\"range:i32[{n}]\", \"range", "\"range:i32[{n/400}]\", \"range");
    fs::write(at.join("plan.toml"), beyond).expect("a plan");
    let files = ["1.parquet", "2.parquet"].map(|out| {
        let output = command(at, &["sweep", "plan.toml", "-o", out, "--json"]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(4));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let first = said["failed"][0]["error"].as_str().unwrap_or("");
        assert!(first.starts_with("an access to what is no memory, in block (0,0,0), at 0x"), "{first}");
        fs::read(at.join(out)).expect("a file")
    });
    assert!(files[0] == files[1]);
}

#[test]
fn who_is_killed_goes_on() {
    let folder = folder();
    let at = folder.path();
    sim(at, &["sweep", "plan.toml", "-o", "whole.parquet"]);
    let sweep = ["sweep", "plan.toml", "-o", "killed.parquet", "--threads", "1"];
    let mut child = command(at, &sweep).stderr(Stdio::null()).spawn().expect("it starts");
    let journal = at.join("killed.parquet.points");
    let lines = || fs::read(&journal).map_or(0, |text| text.iter().filter(|&&byte| byte == b'\n').count());
    while lines() < 3 {
        assert_eq!(child.try_wait().expect("a process"), None, "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().and_then(|()| child.wait()).expect("it is killed");
    // The first line says of which plan they are.
    let done = lines() - 1;
    assert!((2..POINTS).contains(&done), "{done} points were done");
    assert!(!at.join("killed.parquet").exists(), "a file is whole or is not there");
    let mut text = fs::read(&journal).expect("points");
    text.extend(b"{\"point\": 39, \"cel");
    fs::write(&journal, text).expect("a torn line");
    // Another plan does not take it.
    fs::write(at.join("other.toml"), PLAN.replace("600", "700")).expect("a plan");
    let other = ["sweep", "other.toml", "-o", "killed.parquet"];
    assert_eq!(command(at, &other).output().expect("it starts").status.code(), Some(2));
    let said = sim(at, &["sweep", "plan.toml", "-o", "killed.parquet", "--threads", "3"]);
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains(&format!("{done} of {POINTS} points are done already")), "{said}");
    assert!(!journal.exists());
    let read = |name: &str| fs::read(at.join(name)).expect("a file");
    assert!(read("killed.parquet") == read("whole.parquet"));
}
