//! Replays what an H200 made of textures and surfaces: every format, geometry, filter and address mode.
//!
//! `textures/cases.py` makes the cases, `textures/record.py` ran them on the device; `textures/sm_90.gz` holds each
//! case, a digest of all its results and the first of them. Where the machine is known to differ in some results
//! (docs/numerics.md says where), the case has all results and says how many: `loose=`. Contents and coordinates are not recorded: both sides make
//! them from the case's seeds (`textures/numbers.rs`, `textures/numbers_of.py`).
//!
//! With `WARPLOOM_TEXTURES` set to a file of all results (`record.py` writes one), differences are shown in full.
//! `WARPLOOM_TEXTURE_RECORDING` names another recording to replay.

#[path = "textures/case.rs"]
mod case;
#[path = "textures/numbers.rs"]
mod numbers;
#[path = "textures/replay.rs"]
mod replay;

use std::collections::BTreeMap;
use std::io::Read;

/// What a case must give.
struct Recorded {
    case: case::Case,
    digest: u64,
    first: Vec<u32>,
}

fn recording() -> Vec<Recorded> {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/textures/sm_90.gz");
    let path = std::env::var_os("WARPLOOM_TEXTURE_RECORDING").unwrap_or_else(|| committed.into());
    let file = std::fs::File::open(path).expect("a recording");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("the recording is text");
    let mut lines = text.lines();
    let mut all = Vec::new();
    while let (Some(case), Some(results)) = (lines.next(), lines.next()) {
        let mut words = results.split(' ');
        let mut hex = || u64::from_str_radix(words.next().expect("a number"), 16).expect("hexadecimal");
        let digest = hex();
        let first = results.split(' ').skip(1).map(|w| u32::from_str_radix(w, 16).expect("hexadecimal"));
        all.push(Recorded { case: case::Case::parse(case), digest, first: first.collect() });
    }
    all
}

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
    let recording = recording();
    let complete = complete();
    let only = std::env::var("WARPLOOM_TEXTURE_GROUP").ok();
    let mut failures = Vec::new();
    let mut groups: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut bench = replay::Bench::new();
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
        if numbers::digest(&results) == recorded.digest {
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
