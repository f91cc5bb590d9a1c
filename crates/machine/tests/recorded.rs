//! Replays what an H200 computed for single instructions through the whole machine: PTX text, decoder, lane loops.
//!
//! The recording is that of `numerics`, which judges the functions themselves; here it judges which function, operands
//! and extension a decoder chooses. Every instruction runs in several settings, because the decoder specialises for
//! them: operands that differ between threads, operands that are kernel parameters, a guard. Approximate instructions
//! must agree with `numerics`.

#[path = "../../numerics/tests/hardware/dispatch.rs"]
mod dispatch;
#[path = "../../numerics/tests/hardware/recording.rs"]
mod recording;

use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile};
use ptx::isa::{Opcode, Slot};
use ptx::types::{ScalarType, TypeKind};
use recording::{Recorded, is_approximate, recording};
use std::fmt::Write as _;
use std::sync::Arc;

/// Threads of a CTA.
const THREADS: u32 = 128;
/// What the destination holds where a guard does not.
const OLD: u64 = 0x5a5a_5a5a_5a5a_5a5a;
/// The source registers of an instruction.
const SOURCES: [&str; 4] = ["%a", "%b", "%c", "%e"];

/// An instruction of the recording, as the table knows it.
struct Instruction {
    recorded: Recorded,
    opcode: Opcode,
    /// Register widths of the sources.
    sources: Vec<u32>,
    /// Register width of the destination.
    destination: u32,
}

/// How the kernel around an instruction looks.
#[derive(Clone, Copy, Default)]
struct Setting {
    /// A bit for each operand that is a kernel parameter.
    uniform: u32,
    /// Even threads leave the instruction out.
    guarded: bool,
}

impl Instruction {
    fn new(recorded: Recorded) -> Self {
        let name = opcode_text(&recorded.name);
        let count = recorded.rows[0].0.len();
        let types = |opcode: &Opcode| -> Vec<ScalarType> {
            let operands = opcode.operand_types().into_iter().flatten();
            operands.skip(1).filter(|&ty| ty != ScalarType::Pred).collect()
        };
        let opcodes = ptx::isa::lookup(&name).unwrap_or_else(|e| panic!("{name}: {}", e.message(&name)));
        let opcode = opcodes.into_iter().find(|o| types(o).len() >= count);
        let opcode = opcode.unwrap_or_else(|| panic!("{name}: no form with {count} sources"));
        let sources = types(&opcode).iter().take(count).map(|ty| ty.bits().max(16)).collect();
        let destination = recorded.digits as u32 * 4;
        Self { recorded, opcode, sources, destination }
    }

    fn is_predicate(&self) -> bool {
        self.opcode.operand_type(0) == Some(ScalarType::Pred)
    }

    /// What stands for the instruction in a kernel, with a result in `%d`.
    fn body(&self, guard: &str) -> String {
        let name = &self.recorded.name;
        let sources = SOURCES[..self.sources.len()].join(", ");
        match name.split_once('+') {
            Some((first, second)) => {
                let ty = second.rsplit_once('.').expect("a type").1;
                format!("{guard}{first}.{ty} %x, {sources}; {guard}{second} %d, 0, 0;")
            }
            None if self.is_predicate() => {
                format!("setp.eq.b32 %p, 0, 0; {guard}{name} %p, {sources}; selp.b32 %d, 1, 0, %p;")
            }
            None => format!("{guard}{name} %d, {sources};"),
        }
    }

    /// The result where the guard does not hold.
    fn skipped(&self) -> u64 {
        if self.is_predicate() { 1 } else { OLD & (u64::MAX >> (64 - self.destination)) }
    }

    /// A kernel that runs it on one row of operands a thread. Rows are `stride` bytes apart.
    fn kernel(&self, index: usize, setting: Setting) -> String {
        let destination = self.destination;
        let guard = if setting.guarded { "@%g " } else { "" };
        let mut loads = String::new();
        for (i, bits) in self.sources.iter().enumerate() {
            let from = match setting.uniform >> i & 1 {
                0 => format!("ld.global.b{bits} {}, [%r+{}];", SOURCES[i], 8 * i),
                _ => format!("ld.param.b{bits} {}, [u{i}];", SOURCES[i]),
            };
            let _ = writeln!(loads, ".reg .b{bits} {}; {from}", SOURCES[i]);
        }
        format!(
            ".visible .entry k{index}(.param .b64 rows, .param .b64 results, .param .b32 count, .param .b32 stride,
                .param .b64 u0, .param .b64 u1, .param .b64 u2, .param .b64 u3)
            {{
            .reg .pred %p, %g; .reg .b32 %i, %n; .reg .b64 %r, %s; .reg .b{destination} %d, %x;
            mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %i, {THREADS}, %n;
            ld.param.b32 %n, [count]; setp.ge.u32 %p, %i, %n; @%p ret;
            and.b32 %n, %i, 1; setp.ne.b32 %g, %n, 0;
            ld.param.b64 %s, [results]; mad.wide.u32 %s, %i, 8, %s;
            ld.param.b64 %r, [rows]; ld.param.b32 %n, [stride]; mad.wide.u32 %r, %i, %n, %r;
            {loads} mov.b{destination} %d, {old};
            {body}
            st.global.b{destination} [%s], %d;
            ret; }}\n",
            old = OLD & (u64::MAX >> (64 - destination)),
            body = self.body(guard),
        )
    }

    /// What the machine must compute for a row.
    fn expected(&self, row: usize) -> u64 {
        let (operands, recorded) = &self.recorded.rows[row];
        match is_approximate(&self.recorded.name) {
            true => dispatch::implementation(&self.recorded.name).expect("it is judged there")(operands),
            false => *recorded,
        }
    }
}

/// The opcode in the name of a recorded instruction. `first+second.type` is two of them joined by the carry.
fn opcode_text(name: &str) -> String {
    match name.split_once('+') {
        Some((first, second)) => format!("{first}.{}", second.rsplit_once('.').expect("a type").1),
        None => name.to_owned(),
    }
}

fn instructions() -> Vec<Instruction> {
    recording().into_iter().map(Instruction::new).collect()
}

/// A module with a kernel for each instruction.
fn load(device: &Arc<Device>, kernels: impl Iterator<Item = String>) -> LoadedModule {
    let mut text = ".version 8.7\n.target sm_90\n.address_size 64\n".to_owned();
    text.extend(kernels);
    let compiled = ptx::compile(&ptx::source::Source::new("recorded.ptx", text));
    let (module, _) =
        compiled.into_result().unwrap_or_else(|wrong| panic!("{:#?}", &wrong[..wrong.len().min(8)]));
    device.load(module).expect("it is loaded")
}

fn device() -> Arc<Device> {
    Device::new(Profile::default(), DeviceOptions::default()).expect("a device")
}

/// Runs kernel `index` on `count` rows and returns the results.
fn run(
    device: &Device,
    module: &LoadedModule,
    index: usize,
    rows: &[u64],
    (count, stride): (usize, usize),
    uniform: &[u64],
) -> Result<Vec<u64>, String> {
    let memory = device.memory();
    let bytes: Vec<u8> = rows.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut results = vec![0; count * 8];
    let input = memory.allocate(bytes.len() as u64).expect("memory");
    let output = memory.allocate(results.len() as u64).expect("memory");
    memory.write(input, &bytes).expect("memory");
    memory.write(output, &results).expect("memory");
    let mut params: Vec<u8> = [input, output].iter().flat_map(|x| x.to_le_bytes()).collect();
    params.extend([count as u32, 8 * stride as u32].iter().flat_map(|x| x.to_le_bytes()));
    params.extend((0..4).flat_map(|i| uniform.get(i).copied().unwrap_or(0).to_le_bytes()));
    let launch = Launch {
        kernel: module.kernel(&format!("k{index}")).expect("a kernel"),
        grid: [(count as u32).div_ceil(THREADS), 1, 1],
        block: [THREADS, 1, 1],
        dynamic_shared: 0,
        params,
    };
    let done = device.launch(&launch, &LaunchOptions { threads: 1, ..Default::default() });
    memory.read(output, &mut results).expect("memory");
    memory.free(input).expect("memory");
    memory.free(output).expect("memory");
    done.map_err(|e| e.to_string())?;
    Ok(results.chunks(8).map(|x| u64::from_le_bytes(x.try_into().expect("8 bytes"))).collect())
}

/// The first few disagreements, one an instruction.
fn report(failures: &[String]) {
    assert!(
        failures.is_empty(),
        "{} instructions differ:\n{}",
        failures.len(),
        failures[..failures.len().min(60)].join("\n")
    );
}

/// Every row of every instruction in one setting.
fn replay(setting: Setting) {
    let device = device();
    let instructions = instructions();
    let module = load(&device, instructions.iter().enumerate().map(|(i, x)| x.kernel(i, setting)));
    let mut failures = Vec::new();
    for (index, instruction) in instructions.iter().enumerate() {
        let rows = &instruction.recorded.rows;
        let operands: Vec<u64> = rows.iter().flat_map(|(operands, _)| operands.iter().copied()).collect();
        let shape = (rows.len(), instruction.sources.len());
        let wrong = match run(&device, &module, index, &operands, shape, &[]) {
            Err(why) => Some(why),
            Ok(results) => results.iter().enumerate().find_map(|(row, &got)| {
                let skipped = setting.guarded && row % 2 == 0;
                let want = if skipped { instruction.skipped() } else { instruction.expected(row) };
                (got != want).then(|| format!("{:x?}: {got:x}, not {want:x}", rows[row].0))
            }),
        };
        failures.extend(wrong.map(|w| format!("{}: {w}", instruction.recorded.name)));
    }
    report(&failures);
}

#[test]
fn operands_that_differ_between_threads() {
    replay(Setting::default());
}

#[test]
fn under_a_guard() {
    replay(Setting { guarded: true, ..Setting::default() });
}

/// A few rows of every instruction with some operands the same for all threads.
fn replay_uniform(uniform: impl Fn(usize) -> u32) {
    const SAMPLES: usize = 6;
    let device = device();
    let instructions = instructions();
    let setting = |x: &Instruction| Setting { uniform: uniform(x.sources.len()), guarded: false };
    let module = load(&device, instructions.iter().enumerate().map(|(i, x)| x.kernel(i, setting(x))));
    let mut failures = Vec::new();
    for (index, instruction) in instructions.iter().enumerate() {
        let rows = &instruction.recorded.rows;
        let wrong = (0..SAMPLES).map(|sample| sample * (rows.len() - 1) / (SAMPLES - 1)).find_map(|row| {
            let (operands, want) = (&rows[row].0, instruction.expected(row));
            match run(&device, &module, index, operands, (33, 0), operands) {
                Err(why) => Some(why),
                Ok(results) => {
                    let got = results.iter().find(|&&got| got != want)?;
                    Some(format!("{operands:x?}: {got:x}, not {want:x}"))
                }
            }
        });
        failures.extend(wrong.map(|w| format!("{}: {w}", instruction.recorded.name)));
    }
    report(&failures);
}

#[test]
fn operands_that_are_all_parameters() {
    replay_uniform(|count| (1 << count) - 1);
}

#[test]
fn a_first_operand_that_is_a_parameter() {
    replay_uniform(|_| 1);
}

#[test]
fn a_last_operand_that_is_a_parameter() {
    replay_uniform(|count| 1 << (count - 1));
}

#[test]
fn all_but_the_first_operand_are_parameters() {
    replay_uniform(|count| (1 << count) - 2);
}

/// `cvt` may have registers wider than its types: of a source the low bits count, and an integer result is extended to
/// the register as its type says (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
#[test]
fn conversions_in_wider_registers() {
    const ABOVE: u64 = 0xa5c3_96f0_1e2d_4b87;
    let is_integer = |ty: ScalarType| matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned);
    let device = device();
    let mut failures = Vec::new();
    for wide in [32, 64] {
        let mut instructions = instructions();
        instructions.retain(|x| {
            let integers = [Slot::Dtype, Slot::Atype].map(|slot| x.opcode.ty(slot).is_some_and(is_integer));
            // Conversions of `.bf16` have registers of their width.
            let named = |part: &str| x.recorded.name.contains(part);
            x.recorded.name.starts_with("cvt.") && !named("pack") && !named("bf16") && integers != [false; 2]
        });
        for x in &mut instructions {
            if x.opcode.ty(Slot::Dtype).is_some_and(is_integer) {
                x.destination = x.destination.max(wide);
            }
            if x.opcode.ty(Slot::Atype).is_some_and(is_integer) {
                x.sources[0] = x.sources[0].max(wide);
            }
        }
        let module =
            load(&device, instructions.iter().enumerate().map(|(i, x)| x.kernel(i, Setting::default())));
        for (index, x) in instructions.iter().enumerate() {
            let to = x.opcode.ty(Slot::Dtype).expect("a type");
            let from = x.opcode.ty(Slot::Atype).expect("a type");
            let rows = &x.recorded.rows;
            let operands: Vec<u64> =
                rows.iter().map(|(a, _)| a[0] | ABOVE.checked_shl(from.bits()).unwrap_or(0)).collect();
            let extended = |result: u64| {
                let unused = 64 - to.bits();
                let register = u64::MAX >> (64 - x.destination);
                match to.kind() {
                    TypeKind::Signed => ((result << unused) as i64 >> unused) as u64 & register,
                    _ => result << unused >> unused,
                }
            };
            let wrong = match run(&device, &module, index, &operands, (rows.len(), 1), &[]) {
                Err(why) => Some(why),
                Ok(results) => results.iter().zip(rows).find_map(|(&got, (a, recorded))| {
                    let want = extended(*recorded);
                    (got != want).then(|| format!("{a:x?}: {got:x}, not {want:x}"))
                }),
            };
            failures.extend(wrong.map(|w| format!("{} in {wide} bits: {w}", x.recorded.name)));
        }
    }
    report(&failures);
}
