//! Replays what an H200 computed for every matrix instruction through the whole machine.
//!
//! The kernels and their inputs are `replay::matrices`'s; `cargo xtask record matrices` makes the recording `matrix/sm_90.txt`. With
//! `--outputs FILE` it also writes all outputs, and with `WARPLOOM_MATRIX_OUTPUTS=FILE` the test shows the first difference of each case.

use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use replay::matrices::{Case, cases, module};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

const RECORDING: &str = include_str!("matrix/sm_90.txt");

fn run(device: &Device, module: &LoadedModule, index: usize, case: &Case) -> Result<Vec<u8>, String> {
    let memory = device.memory();
    let input = case.trials.concat();
    let mut output = vec![0; case.output * case.trials.len()];
    let from = memory.allocate(input.len() as u64).expect("memory");
    let to = memory.allocate(output.len() as u64).expect("memory");
    memory.write(from, &input).expect("memory");
    let launch = Launch {
        kernel: module.kernel(&format!("k{index}")).expect("a kernel"),
        grid: [case.trials.len() as u32, 1, 1],
        block: [case.threads, 1, 1],
        cluster: None,
        nonportable_cluster: false,
        dynamic_shared: 0,
        params: [from, to].iter().flat_map(|x| x.to_le_bytes()).collect(),
    };
    let done = device.launch(&launch, &LaunchOptions::default());
    memory.read(to, &mut output).expect("memory");
    memory.free(from).expect("memory");
    memory.free(to).expect("memory");
    done.map(|_| output).map_err(|e| e.to_string())
}

/// The trials whose output is not the recorded one.
fn wrong(case: &Case, output: &[u8], recorded: &str) -> Vec<usize> {
    let sums = case.sums(output);
    let recorded: Vec<_> = recorded.split(' ').collect();
    assert_eq!(sums.len(), recorded.len(), "{}", case.name);
    (0..sums.len()).filter(|&i| sums[i] != recorded[i]).collect()
}

/// The first words that differ in a trial.
fn difference(got: &[u8], want: &[u8]) -> String {
    let word = |bytes: &[u8], i: usize| u32::from_le_bytes(bytes[4 * i..][..4].try_into().expect("4 bytes"));
    let differing: Vec<usize> = (0..got.len() / 4).filter(|&i| word(got, i) != word(want, i)).collect();
    let mut shown = format!("{} of {} words:", differing.len(), got.len() / 4);
    for &i in differing.iter().take(4) {
        let _ = write!(shown, " [{i}] {:08x} not {:08x}", word(got, i), word(want, i));
    }
    shown
}

#[test]
fn as_an_h200_computes() {
    let cases = cases();
    let only = std::env::var("WARPLOOM_MATRIX_ONLY").unwrap_or_default();
    let outputs =
        std::env::var("WARPLOOM_MATRIX_OUTPUTS").ok().map(|path| std::fs::read(path).expect("the outputs"));
    let device: Arc<Device> = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
    let compiled = ptx::compile(&ptx::source::Source::new("cases.ptx", module(&cases)));
    let (module, _) =
        compiled.into_result().unwrap_or_else(|wrong| panic!("{:#?}", &wrong[..wrong.len().min(8)]));
    let module = device.load(module).expect("it is loaded");
    let lines = RECORDING.lines().map(|line| line.split_once(": ").expect("a name and checksums"));
    let mut recording: HashMap<&str, &str> = lines.collect();
    let mut unrecorded = 0;
    let mut failures = Vec::new();
    let mut at = 0;
    for (index, case) in cases.iter().enumerate() {
        let bytes = case.output * case.trials.len();
        let want = outputs.as_ref().map(|all| &all[at..at + bytes]);
        at += bytes;
        let name = case.name.as_str();
        let Some(sums) = recording.remove(name) else {
            unrecorded += 1;
            continue;
        };
        if !name.contains(&only) {
            continue;
        }
        match run(&device, &module, index, case) {
            Err(why) => failures.push(format!("{name}: {why}")),
            Ok(output) => {
                let wrong = wrong(case, &output, sums);
                if let Some(&first) = wrong.first() {
                    let mut report = format!("{name}: trials {wrong:?}");
                    if let Some(want) = want {
                        let range = first * case.output..(first + 1) * case.output;
                        let _ = write!(report, " {}", difference(&output[range.clone()], &want[range]));
                    }
                    failures.push(report);
                }
            }
        }
    }
    eprintln!("{unrecorded} of {} cases are not recorded", cases.len());
    assert!(recording.is_empty(), "recorded, but no cases any more: {:?}", recording.keys());
    assert!(
        failures.is_empty(),
        "{} of {} cases differ:\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}
