//! What an H200 computed and this machine computes for the same code: instructions with many operands, and code whose control codes are
//! too short.

#[path = "silicon/mod.rs"]
mod cases;

use machine::{Device, DeviceOptions, Profile};
use sass_machine::{FaultKind, Launch, Loaded, Outcome, Program};
use std::collections::BTreeMap;
use std::io::Read;

/// The lane of a hazard that was kept.
const LANE: usize = 5;

/// Hazards that end otherwise here than on a GPU, by the beginnings of their names, and why.
const OTHERWISE: [(&str, &str); 17] = [
    ("twice/LDG-LDS/", "conflicts of banks and the ways to memory take no time"),
    ("reuse/written-before/1", "two instructions of one pipe are issued in a row"),
    ("index/IADD3-SHFL/", "what addresses are, and by whom they are read when, is not told apart"),
    ("unawaited-long/", "conflicts of banks and the ways to memory take no time"),
    ("depbar", "the same: the second load has ended when it is read"),
    ("uncontended/ATOMS-3", "within two cycles"),
    ("uncontended/LDS-2", "within two cycles"),
    ("uncontended/LDS.128-2", "within two cycles"),
    ("overwritten/STG.128/", "stores take all their operands when they are issued"),
    ("overwritten/STS.128/", "stores take all their operands when they are issued"),
    ("overwritten/STS-in-queue/", "stores take all their operands when they are issued"),
    ("overwritten/STG-in-queue/", "stores take all their operands when they are issued"),
    ("alu/IMAD.WIDE.c/", "the lower half of an addend is forwarded to the upper one"),
    ("fma/IMAD.WIDE.c/", "the lower half of an addend is forwarded to the upper one"),
    ("double/STG/", "the upper half of a double is there before the lower one"),
    ("address/", "what addresses are, and by whom they are read when, is not told apart"),
    ("alu/address/", "what addresses are, and by whom they are read when, is not told apart"),
];

/// Hazards that are not named: the upper half of a product, who writes last, what is read late by an instruction that no scoreboard
/// guards, and scoreboards that are waited for too soon, or that nobody holds.
const UNNAMED: [&str; 8] = [
    "wide/high",
    "fixed-with-scoreboard/",
    "soon-minus/",
    "overwritten/",
    "predicate-of-store",
    "twice/",
    "none/LDC",
    "stall/",
];

/// Runs a case as `silicon/run.c` does: the words that it leaves, and how it ended.
fn run(case: &cases::Case, timed: bool) -> (Vec<u32>, Outcome) {
    let source = ptx::source::Source::new(case.name.clone(), case.kernel.clone());
    let cubin =
        cuasm::assemble(&source).unwrap_or_else(|found| panic!("{}: {}", case.name, found[0].message));
    let program = Program::read(&cubin.bytes, false).expect("a cubin of our own");
    let options = DeviceOptions { memory_limit: Some(1 << 22), ..DeviceOptions::default() };
    let device =
        Device::new(Profile::by_name("h100").expect("a profile").clone(), options).expect("a device");
    let loaded = Loaded::new(&program, device.memory()).expect("memory for a program");
    let inputs: Vec<u8> = cases::inputs().into_iter().flat_map(u32::to_le_bytes).collect();
    let words = case.threads as usize * cases::WORDS;
    let memory = device.memory();
    let [to, from] = [4 * words, inputs.len()].map(|bytes| memory.allocate(bytes as u64).expect("memory"));
    memory.write(from, &inputs).expect("the input is there");
    memory.write(to, &vec![0; 4 * words]).expect("the result is there");
    let params: Vec<u8> = [to, from].into_iter().flat_map(u64::to_le_bytes).collect();
    let launch = Launch {
        kernel: "probe",
        grid: [1, 1, 1],
        block: [case.threads, 1, 1],
        cluster: 1,
        dynamic_shared: 16384,
        params: &params,
        budget: 100_000,
        timed,
    };
    let outcome = loaded.launch(&launch);
    let mut bytes = vec![0; 4 * words];
    memory.read(to, &mut bytes).expect("the result is there");
    let (words, _) = bytes.as_chunks::<4>();
    (words.iter().map(|&word| u32::from_le_bytes(word)).collect(), outcome)
}

/// Columns of threads' records, or what happened instead.
type Recorded<'t> = Result<BTreeMap<usize, Vec<u32>>, &'t str>;

/// What was recorded of each instruction.
fn recorded(text: &str) -> BTreeMap<&str, Recorded<'_>> {
    let mut found: BTreeMap<&str, Recorded<'_>> = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.rsplitn(3, '|');
        let (words, at, name) = (parts.next(), parts.next(), parts.next());
        match (words, at, name) {
            (Some(words), Some(at), Some(name)) if at.parse::<usize>().is_ok() => {
                let words = words.split(' ').map(|word| u32::from_str_radix(word, 16).expect("a word"));
                let columns = found.entry(name).or_insert_with(|| Ok(BTreeMap::new()));
                let column = at.parse().expect("a number");
                columns.as_mut().expect("columns").insert(column, words.collect());
            }
            _ => {
                let (name, what) = line.rsplit_once('|').expect("a name");
                found.insert(name, Err(what));
            }
        }
    }
    found
}

#[test]
fn instructions_compute_what_a_gpu_computed() {
    let mut text = String::new();
    let packed = flate2::read::GzDecoder::new(&include_bytes!("../silicon/sm_90.opcodes.gz")[..]);
    std::io::BufReader::new(packed).read_to_string(&mut text).expect("a recording");
    let recorded = recorded(&text);
    let (nothing, _) = run(&cases::opcodes(cases::NOTHING)[0], false);
    let column =
        |words: &[u32], at: usize| -> Vec<u32> { words.chunks(cases::WORDS).map(|it| it[at]).collect() };
    let (mut same, mut refused, mut other) = (0, Vec::new(), Vec::new());
    for case in cases::opcodes(include_str!("../silicon/opcodes.cases")) {
        let known = match recorded.get(case.name.as_str()) {
            Some(Err("nothing")) => BTreeMap::new(),
            // The GPU refuses it.
            Some(Err(_)) => continue,
            Some(Ok(known)) => known.clone(),
            None => {
                other.push(format!("{}: not recorded", case.name));
                continue;
            }
        };
        let (words, outcome) = run(&case, false);
        if let Some(fault) = outcome.fault {
            match fault.kind {
                FaultKind::NotExecuted(text) => refused.push(text),
                kind => other.push(format!("{}: {kind}", case.name)),
            }
            continue;
        }
        let mut wrong = None;
        for at in 0..cases::WORDS {
            let expected = known.get(&at).cloned().unwrap_or_else(|| column(&nothing, at));
            let found = column(&words, at);
            let differ = (0..found.len()).filter(|&thread| found[thread] != expected[thread]);
            if let Some(thread) = differ.clone().next() {
                let (found, expected) = (found[thread], expected[thread]);
                let count = differ.count();
                wrong = wrong.or(Some(format!(
                    "{}: column {at}, thread {thread} and {count}: {found:#x}, a GPU {expected:#x}",
                    case.name
                )));
            }
        }
        match wrong {
            None => same += 1,
            Some(wrong) => other.push(wrong),
        }
    }
    println!("{same} as on a GPU; not executed: {refused:#?}");
    assert_eq!(other, Vec::<String>::new());
}

#[test]
fn hazards_end_as_on_a_gpu() {
    let inputs = cases::inputs();
    let cases = cases::hazards(include_str!("../silicon/hazards.cases"));
    let cases: BTreeMap<&str, &cases::Case> = cases.iter().map(|case| (case.name.as_str(), case)).collect();
    let (mut same, mut otherwise, mut other, mut silent) = (0, 0, Vec::new(), Vec::new());
    for line in include_str!("../silicon/sm_90.hazards").lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let case = cases[name];
        if line.contains("error") {
            continue;
        }
        let mut expected: Vec<u32> =
            (0..cases::WORDS).map(|at| inputs[LANE * cases::WORDS + at % 4]).collect();
        for (at, word) in words.enumerate() {
            let (at, word) =
                word.split_once('=').map_or((at, word), |(at, word)| (at.parse().expect("a column"), word));
            expected[at] = u32::from_str_radix(word, 16).expect("a word");
        }
        let (words, outcome) = run(case, true);
        assert_eq!(outcome.fault, None, "{name}");
        // What comes out otherwise than in order has a reason that is named.
        if outcome.hazards.is_empty() && !UNNAMED.iter().any(|beginning| name.starts_with(beginning)) {
            let (functional, _) = run(case, false);
            silent.extend((words != functional).then_some(name));
        }
        let found = &words[LANE * cases::WORDS..(LANE + 1) * cases::WORDS];
        if found == expected {
            same += 1;
        } else if OTHERWISE.iter().any(|(beginning, _)| name.starts_with(beginning)) {
            otherwise += 1;
        } else {
            let at = (0..cases::WORDS).find(|&at| found[at] != expected[at]).unwrap_or(0);
            let named = outcome.hazards.len();
            other.push(format!(
                "{name}: column {at}: {:#x}, a GPU {:#x}; {named} hazards",
                found[at], expected[at]
            ));
        }
    }
    println!("{same} as on a GPU, {otherwise} otherwise");
    assert_eq!(other, Vec::<String>::new());
    assert!(otherwise < 150, "{otherwise}");
    assert_eq!(silent, Vec::<&str>::new());
}
