//! Made-up programs: legal PTX from a stream of choices, for the law that a checked module never panics the machine.
//!
//! Instructions come from the instruction table ([`ptx::isa::arbitrary_instruction`]) in the shape of its minimal
//! instances; their registers are drawn from small pools, so that results flow on. Between them stand labels, branches,
//! guards, barriers and calls. What such a program computes is unknown: it may fault, be refused, or run out of budget.

use machine::output::Output;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, Profile, SchedulerKind};
use ptx::isa::{self, Opcode};
use ptx::source::Source;
use ptx::types::{Arch, ArchVariant};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// A source of choices: a number below the one given.
pub type Choose<'a> = &'a mut dyn FnMut(u32) -> u32;

/// Labels of a function.
const LABELS: u32 = 4;

/// Registers of one type.
const POOL: u32 = 4;

const TARGET: Arch = Arch { sm: 90, variant: ArchVariant::Specific };

const HEAD: &str = "\
.version 9.1
.target sm_90a
.address_size 64
.visible .global .align 16 .b8 in_global[4096];
.const .align 16 .b8 in_const[64];
.global .texref texture;
.global .surfref surface;
.func callee();
";

const SCOPE: &str = "\
\t.shared .align 16 .b8 in_shared[64];
\t.local .align 16 .b8 in_local[64];
\t.param .align 16 .b8 argument[64];
";

/// Pools that can hold an address or an index, and what they start with.
const START: &str = "\
\tmov.u64 %b64_0, in_global;
\tmov.u32 %b32_0, %tid.x;
\tmad.wide.u32 %b64_1, %b32_0, 16, %b64_0;
\tmov.u64 %b64_2, in_shared;
\tmov.u64 %b64_3, callee;
\tmov.u32 %b32_1, -1;
\tmov.u32 %b32_2, 1;
\tmov.u32 %b32_3, 0;
\tsetp.lt.u32 %pred_0, %b32_0, 5;
\tsetp.ne.u32 %pred_1, %b32_0, 0;
\tsetp.lt.u32 %pred_2, %b32_0, 40;
\tsetp.eq.u32 %pred_3, %b32_0, 33;
";

/// A program of an entry `kernel` and a function `callee`.
pub fn program(choose: Choose<'_>) -> String {
    let mut text = HEAD.to_owned();
    let length = 1 + choose(12);
    function(&mut text, ".func callee()", length, choose);
    let length = 1 + choose(40);
    function(&mut text, ".visible .entry kernel(.param .align 16 .b8 parameter[64])", length, choose);
    text
}

fn function(text: &mut String, head: &str, length: u32, choose: Choose<'_>) {
    let mut body = String::new();
    let mut pools = BTreeSet::from(["b32".to_owned(), "b64".to_owned(), "pred".to_owned()]);
    let mut labels = 0;
    for item in 0..length {
        match choose(16) {
            0 | 1 if labels < LABELS => {
                let _ = writeln!(body, "L{labels}:");
                labels += 1;
            }
            2 | 3 => {
                let _ = writeln!(body, "\t{}bra L{};", guard(choose), choose(LABELS));
            }
            _ => instruction(&mut body, &mut pools, item, choose),
        }
    }
    let _ = writeln!(text, "{head}\n{{\n{SCOPE}");
    for pool in &pools {
        let _ = writeln!(text, "\t.reg .{pool} %{pool}_<{POOL}>;");
    }
    text.push_str(START);
    text.push_str(&body);
    (labels..LABELS).for_each(|label| {
        let _ = writeln!(text, "L{label}:");
    });
    text.push_str("\tret;\n}\n");
}

fn guard(choose: Choose<'_>) -> String {
    match choose(4) {
        0 => String::new(),
        1 => format!("@!%pred_{} ", choose(POOL)),
        _ => format!("@%pred_{} ", choose(POOL)),
    }
}

/// An arbitrary instruction that the target has and the machine may execute; nothing if none was found.
fn instruction(body: &mut String, pools: &mut BTreeSet<String>, item: u32, choose: Choose<'_>) {
    let usable = |opcode: &Opcode| {
        opcode.sem().is_some() && opcode.gates().all(|(_, gate)| gate.permits_target(TARGET))
    };
    let Some(opcode) = (0..8).map(|_| isa::arbitrary_instruction(choose)).find(usable) else { return };
    let Some(module) = isa::instance(&opcode, choose(2) == 0) else { return };
    // The instance's registers are `.reg type %rN;`, its scope may name targets of branches and calls.
    let mut names = Vec::new();
    for line in module.lines().map(str::trim) {
        if let Some((ty, name)) = line.strip_prefix(".reg .").and_then(|rest| rest.split_once(' ')) {
            pools.insert(ty.to_owned());
            names.push((name.trim_end_matches(';').to_owned(), format!("%{ty}_{}", choose(POOL))));
        }
    }
    let table = format!("T{item}");
    let line = |line: &str| {
        let mut line = line.trim().to_owned();
        // The longest number first, so that `%r1` is not found in `%r12`.
        for (name, register) in names.iter().rev() {
            line = line.replace(name.as_str(), register);
        }
        line.replace("targets", &table).replace("prototype", &table)
    };
    let lines: Vec<&str> = module.lines().collect();
    let Some(end) = lines.iter().rposition(|line| line.trim() == "end:") else { return };
    for declaration in lines.iter().filter(|l| l.starts_with("targets:") || l.starts_with("prototype:")) {
        // The keyword itself contains the name: only the label is renamed.
        let (_, rest) = declaration.split_once(':').unwrap_or(("", ""));
        let _ = writeln!(body, "{table}: {}", rest.trim().replace("end", &format!("L{}", choose(LABELS))));
    }
    let target = format!("L{}", choose(LABELS));
    let text = line(lines[end - 1]).replace(" end", &format!(" {target}"));
    let _ = writeln!(body, "\t{}{text}", guard(choose));
}

/// Runs every entry of a text, if it compiles, on a small device within a small budget; how each ended.
pub fn run(text: &str, choose: Choose<'_>) -> Vec<String> {
    static DEVICE: OnceLock<Arc<Device>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| {
        let profile = Profile { memory: 64 << 20, multiprocessors: 2, ..Profile::default() };
        let options = DeviceOptions { output: Output::new(std::io::sink()), ..DeviceOptions::default() };
        Device::new(profile, options).expect("a host has 64 MiB")
    });
    let compiled = ptx::compile(&Source::new("generated", text));
    let Some(module) = compiled.module else {
        let why = compiled.diagnostics.first().map(|d| format!("{} {}", d.code, d.message));
        return vec![format!("not compiled: {}", why.unwrap_or_default())];
    };
    // What a caller may ask for in earnest is the caller's business; a fuzzer has little memory.
    if module.variables.iter().any(|variable| variable.size > 1 << 20) {
        return vec!["too large".to_owned()];
    }
    let names: Vec<String> = module.entries().map(|(_, entry)| entry.name.clone()).collect();
    let loaded = match device.load(module) {
        Ok(loaded) => loaded,
        Err(error) => return vec![error.to_string()],
    };
    let blocks = [[32, 1, 1], [1, 1, 1], [33, 1, 1], [64, 1, 1], [5, 3, 2], [300, 1, 1], [16, 4, 1]];
    let schedulers = [
        SchedulerKind::RoundRobin,
        SchedulerKind::Adversarial,
        SchedulerKind::Random { seed: choose(1 << 16).into() },
    ];
    let mut ends = Vec::new();
    for name in names {
        let Some(kernel) = loaded.kernel(&name) else { continue };
        let size = kernel.parameters().last().map_or(0, |p| p.offset + p.size);
        let ctas = 1 + choose(2);
        let launch = Launch {
            kernel,
            grid: [ctas, 1, 1],
            block: blocks[choose(blocks.len() as u32) as usize],
            cluster: [None, Some([1; 3]), Some([ctas, 1, 1])][choose(3) as usize],
            nonportable_cluster: false,
            dynamic_shared: choose(3) * 64,
            params: (0..size).map(|_| choose(256) as u8).collect(),
        };
        let options = LaunchOptions {
            threads: 1,
            scheduler: schedulers[choose(3) as usize],
            budget: Some(4000),
            ..LaunchOptions::default()
        };
        ends.push(match device.launch(&launch, &options) {
            Ok(_) => "finished".to_owned(),
            Err(error) => error.to_string(),
        });
    }
    ends
}
