//! Replays what an H200 computed for every matrix instruction through the whole machine.
//!
//! `matrix/cases.rs` makes a kernel for each form, and inputs from numbers that can be computed again. The recording
//! `matrix/sm_90.txt` has a line a case: its name, and a checksum of the output of each trial. To record:
//!
//! ```text
//! WARPLOOM_MATRIX_CASES=DIR cargo test -p warploom-machine --test matrix
//! ptxas -arch=sm_90a DIR/cases.ptx -o DIR/cases.cubin
//! python3 crates/machine/tests/matrix/record.py DIR        # where the GPU is
//! ```
//!
//! The first command writes the kernels and their inputs instead of running them, the last one `DIR/sm_90.txt` and
//! `DIR/outputs.bin`. With `WARPLOOM_MATRIX_OUTPUTS=DIR/outputs.bin` the test shows the first difference of each case.

#[path = "matrix/cases.rs"]
mod cases;
#[path = "matrix/data.rs"]
mod data;
#[path = "matrix/kernel.rs"]
mod kernel;

use kernel::Case;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

const RECORDING: &str = include_str!("matrix/sm_90.txt");

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn text(cases: &[Case]) -> String {
    let mut text = ".version 8.7\n.target sm_90a\n.address_size 64\n".to_owned();
    for (i, case) in cases.iter().enumerate() {
        text.push_str(&case.text.replace("{}", &format!("k{i}")).replace("{{", "{").replace("}}", "}"));
    }
    text
}

/// Writes kernels and inputs for `record.py`.
fn write(folder: &Path, cases: &[Case]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("cases.ptx"), text(cases))?;
    let inputs: Vec<u8> = cases.iter().flat_map(|case| case.trials.concat()).collect();
    std::fs::write(folder.join("inputs.bin"), inputs)?;
    let mut list = String::new();
    for case in cases {
        let (trials, input) = (case.trials.len(), case.trials[0].len());
        let _ = writeln!(list, "{} {trials} {input} {} {}", case.threads, case.output, case.name);
    }
    std::fs::write(folder.join("cases.txt"), list)
}

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
    let sums: Vec<_> = output.chunks(case.output).map(|o| format!("{:08x}", checksum(o))).collect();
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
    let cases = cases::cases();
    if let Ok(folder) = std::env::var("WARPLOOM_MATRIX_CASES") {
        write(Path::new(&folder), &cases).expect("the folder is writable");
        eprintln!("{} cases written, none run", cases.len());
        return;
    }
    let only = std::env::var("WARPLOOM_MATRIX_ONLY").unwrap_or_default();
    let outputs =
        std::env::var("WARPLOOM_MATRIX_OUTPUTS").ok().map(|path| std::fs::read(path).expect("the outputs"));
    let device: Arc<Device> = Device::new(Profile::default(), DeviceOptions::default()).expect("a device");
    let compiled = ptx::compile(&ptx::source::Source::new("cases.ptx", text(&cases)));
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
