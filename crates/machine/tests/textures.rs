//! Replays what an H200 made of textures and surfaces: every format, geometry, filter and address mode.
//!
//! `textures/sm_90.gz` is made by `cargo xtask record textures`; [`replay::textures`] says what it holds. Where the machine is known to differ
//! in some results (docs/numerics.md says where), a case has all results and says how many: `loose=`.
//!
//! With `WARPLOOM_TEXTURES` set to a file of all results (`--outputs` writes one), differences are shown in full.
//! `WARPLOOM_TEXTURE_RECORDING` names another recording to replay.

#[path = "textures/bench.rs"]
mod bench;

use replay::textures::{digest, parse};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All results of all cases, if there is a file of them: case by case, their number and the words.
fn complete() -> Option<Vec<Vec<u32>>> {
    let bytes = std::fs::read(std::env::var_os("WARPLOOM_TEXTURES")?).expect("a file of results");
    let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    let mut all = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let count = words[at] as usize;
        all.push(words[at + 1..at + 1 + count].to_vec());
        at += 1 + count;
    }
    Some(all)
}

#[test]
fn every_case_gives_what_the_device_gave() {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/textures/sm_90.gz");
    let path = std::env::var_os("WARPLOOM_TEXTURE_RECORDING").map_or(committed.into(), PathBuf::from);
    let recording = parse(&replay::read(&path).expect("a recording"));
    let complete = complete();
    let only = std::env::var("WARPLOOM_TEXTURE_GROUP").ok();
    let mut failures = Vec::new();
    let mut groups: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut bench = bench::Bench::new();
    let mut loose = 0;
    for (number, recorded) in recording.iter().enumerate() {
        let case = &recorded.case;
        if only.as_ref().is_some_and(|only| *only != case.text("group")) {
            continue;
        }
        let tally = groups.entry(case.text("group").to_owned()).or_default();
        tally[0] += 1;
        let results = match bench.run(case) {
            Ok(results) => results,
            Err(why) => {
                tally[1] += 1;
                failures.push(format!("{case}\n    {why}"));
                continue;
            }
        };
        if digest(&results) == recorded.digest {
            continue;
        }
        let (got, want) = (results.chunks(5), recorded.first.chunks(5));
        if case.number("loose") > 0
            && got.zip(want).filter(|(a, b)| a != b).count() as u64 <= case.number("loose")
        {
            loose += 1;
            continue;
        }
        tally[1] += 1;
        let expected = complete.as_ref().map_or(&recorded.first, |all| &all[number]);
        failures.push(format!("#{number} {case}\n{}", bench.differences(case, &results, expected)));
    }
    let summary: Vec<String> =
        groups.iter().map(|(group, [all, wrong])| format!("{group}: {wrong} of {all} differ")).collect();
    let shown = failures.len().min(60);
    assert!(failures.is_empty(), "{}\n{}", summary.join("\n"), failures[..shown].join("\n"));
    let other = std::env::var_os("WARPLOOM_TEXTURE_RECORDING").is_some();
    assert!(other || only.is_some() || recording.len() > 3000, "only {} cases", recording.len());
    assert!(loose <= 78, "{loose} cases differ in some results");
}
