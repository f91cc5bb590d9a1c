//! `--verify`: whether machine code does what the PTX does, on random inputs. The one runs on the machine for SASS, with control codes
//! honoured, the other on the machine for PTX, which is the judge.
//!
//! A kernel for which no inputs are found is not verified, and named. Inputs on which the PTX faults say nothing, nor do those whose
//! outcome depends on the order of threads: then schedules of the PTX differ.

mod inputs;

use inputs::{Inputs, Placed, Signature};
use ir::instruction::FieldValue;
use ir::operand::Value;
use machine::{Device, DeviceOptions, Launch, LaunchOptions, LoadedModule, Profile, SchedulerKind};
use ptx::isa::SpecialRegister;
use ptx::module::{Checked, FuncId, Module};
use ptxas::Compiled;
use sass_machine::{Loaded, Program};
use std::sync::Arc;

/// Inputs that are tried, and those that suffice.
const ATTEMPTS: usize = 12;
const ENOUGH: usize = 4;
/// Warp instructions that a launch may issue. SASS takes more of them.
const BUDGET: u64 = 1 << 20;
const BUDGET_OF_SASS: u64 = BUDGET << 6;
/// Schedules of the PTX, under which the outcome must be the same.
const SCHEDULERS: [SchedulerKind; 4] = [
    SchedulerKind::RoundRobin,
    SchedulerKind::Adversarial,
    SchedulerKind::Random { seed: 1 },
    SchedulerKind::Random { seed: 2 },
];
/// Bytes of global memory.
const MEMORY: u64 = 256 << 20;

/// What is known of a kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Memory was the same after so many runs.
    Same(usize),
    /// It was not, or one of both stopped.
    Differs(String),
    /// Nothing was compared, and why.
    NotRun(String),
}

/// What one input says.
enum Said {
    Same,
    Differs(String),
    Nothing(String),
}

/// Parts of memory, buffers and variables: names, addresses and bytes.
type Memory = Vec<(String, u64, Vec<u8>)>;

/// A device with the module: both machines work on its memory, so that everything has one address.
struct Bench {
    device: Arc<Device>,
    loaded: LoadedModule,
    program: Program,
    /// The module's variables in global memory, as they are at first.
    variables: Memory,
}

/// Runs all kernels.
pub(super) fn verify(module: &Checked<Module>, compiled: &Compiled) -> Vec<(String, Verdict)> {
    let bench = Bench::new(module, compiled);
    let of = |id: FuncId| match &bench {
        Ok(bench) => bench.kernel(id).unwrap_or_else(Verdict::NotRun),
        Err(why) => Verdict::NotRun(why.clone()),
    };
    compiled.kernels.iter().map(|kernel| (kernel.name.clone(), of(kernel.id))).collect()
}

/// A special register that code of the module reads and that both machines may answer otherwise.
fn asked(module: &Module) -> Option<SpecialRegister> {
    let functions =
        (0..module.functions.len() as u32).filter_map(|id| ir::Function::lower(module, FuncId(id)));
    let mut found = None;
    for function in functions {
        for instruction in function.instructions.iter().flatten() {
            instruction.op.fields(&mut |_, field| {
                if let FieldValue::Value(Value::Special { register, .. }) = field
                    && OPEN.contains(&register.text())
                {
                    found = Some(*register);
                }
            });
        }
    }
    found
}

/// What PTX leaves to the implementation.
const OPEN: [&str; 12] = [
    "%clock",
    "%clock_hi",
    "%clock64",
    "%globaltimer",
    "%globaltimer_lo",
    "%globaltimer_hi",
    "%smid",
    "%nsmid",
    "%warpid",
    "%nwarpid",
    "%gridid",
    "%total_smem_size",
];

impl Bench {
    fn new(module: &Checked<Module>, compiled: &Compiled) -> Result<Self, String> {
        if let Some(register) = asked(module) {
            return Err(format!("what {} is depends on more than its inputs", register.text()));
        }
        let options = DeviceOptions { memory_limit: Some(MEMORY), ..DeviceOptions::default() };
        let device = Device::new(Profile::default(), options).map_err(|error| error.to_string())?;
        let program = Program::read(&compiled.cubin, false).map_err(|why| why.to_string())?;
        let loaded = device.load(Arc::new(module.clone())).map_err(|error| error.to_string())?;
        let mut bench = Self { device, loaded, program, variables: Vec::new() };
        for name in bench.program.variables() {
            let (address, size) =
                bench.loaded.variable(name).ok_or_else(|| format!("`{name}` has no address"))?;
            bench.variables.push((name.to_owned(), address, vec![0; usize::try_from(size).unwrap_or(0)]));
        }
        bench.variables = bench.memory(bench.variables.clone())?;
        Ok(bench)
    }

    fn kernel(&self, id: FuncId) -> Result<Verdict, String> {
        let module = self.loaded.module();
        let signature = Signature::of(module, id)?;
        let name = &module.functions[id.index()].name;
        let mut same = 0;
        let mut why = String::new();
        for attempt in 0..ATTEMPTS {
            match self.compare(name, &signature.inputs(attempt)) {
                Ok(Said::Same) => same += 1,
                Ok(Said::Differs(how)) => return Ok(Verdict::Differs(how)),
                Ok(Said::Nothing(reason)) | Err(reason) => why = reason,
            }
            if same == ENOUGH {
                break;
            }
        }
        if same == 0 { Err(format!("no inputs were found for it: {why}")) } else { Ok(Verdict::Same(same)) }
    }

    fn compare(&self, name: &str, inputs: &Inputs) -> Result<Said, String> {
        let placed = inputs.place(self.device.memory()).map_err(|error| error.to_string())?;
        let first: Memory = placed.buffers.iter().chain(&self.variables).cloned().collect();
        let said = self.run(name, inputs, &placed, &first);
        for (_, address, _) in &placed.buffers {
            self.device.memory().free(*address).map_err(|error| error.to_string())?;
        }
        said
    }

    fn run(&self, name: &str, inputs: &Inputs, placed: &Placed, first: &Memory) -> Result<Said, String> {
        let mut expected: Option<Memory> = None;
        for scheduler in SCHEDULERS {
            self.reset(first)?;
            // In turns of their own warps show what depends on their order.
            let debug = expected.is_some();
            self.by_ptx(name, inputs, placed, scheduler, debug)?;
            let memory = self.memory(first.clone())?;
            if expected.as_ref().is_some_and(|expected| *expected != memory) {
                return Ok(Said::Nothing("its outcome depends on the order of threads".to_owned()));
            }
            expected = Some(memory);
        }
        self.reset(first)?;
        if let Some(said) = self.by_sass(name, inputs, placed)? {
            return Ok(said);
        }
        let found = self.memory(first.clone())?;
        let how = expected.and_then(|expected| difference(&expected, &found));
        Ok(how.map_or(Said::Same, Said::Differs))
    }

    /// Memory holds what it held at first.
    fn reset(&self, first: &Memory) -> Result<(), String> {
        let mut all = first.iter();
        all.try_for_each(|(_, address, bytes)| self.device.memory().write(*address, bytes))
            .map_err(|error| error.to_string())
    }

    /// What memory holds now.
    fn memory(&self, mut places: Memory) -> Result<Memory, String> {
        for (_, address, bytes) in &mut places {
            self.device.memory().read(*address, bytes).map_err(|error| error.to_string())?;
        }
        Ok(places)
    }

    fn by_ptx(
        &self,
        name: &str,
        inputs: &Inputs,
        placed: &Placed,
        scheduler: SchedulerKind,
        debug: bool,
    ) -> Result<(), String> {
        let launch = Launch {
            kernel: self.loaded.kernel(name).ok_or("it is not in the module")?,
            grid: inputs.grid,
            block: inputs.block,
            cluster: None,
            nonportable_cluster: false,
            dynamic_shared: inputs.shared,
            params: placed.params.clone(),
        };
        let budget = Some(BUDGET);
        let options = LaunchOptions { threads: 1, scheduler, debug, budget, ..LaunchOptions::default() };
        self.device.launch(&launch, &options).map(|_| ()).map_err(|error| error.to_string())
    }

    /// Runs the machine code; says what is wrong beside memory.
    fn by_sass(&self, name: &str, inputs: &Inputs, placed: &Placed) -> Result<Option<Said>, String> {
        let variables = self.variables.iter().map(|(name, address, _)| (name.clone(), *address)).collect();
        let loaded = Loaded::with_variables(&self.program, self.device.memory(), variables)
            .map_err(|error| error.to_string())?;
        if let Some(text) = loaded.not_executed(name).into_iter().next() {
            return Err(format!("the machine for SASS does not execute `{text}`"));
        }
        let ended = loaded.launch(&sass_machine::Launch {
            kernel: name,
            grid: inputs.grid,
            block: inputs.block,
            cluster: 1,
            dynamic_shared: inputs.shared,
            params: &placed.params,
            budget: BUDGET_OF_SASS,
            timed: true,
        });
        let how = match (&ended.fault, ended.hazards.first()) {
            (Some(fault), _) => format!("the machine code stops: {fault}"),
            (None, Some(broken)) => {
                format!("at {:#06x} a control code breaks a dependence: {}", broken.address, broken.message)
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(Said::Differs(how)))
    }
}

/// The first word that differs.
fn difference(expected: &Memory, found: &Memory) -> Option<String> {
    for ((name, address, one), (_, _, other)) in expected.iter().zip(found) {
        let Some(at) = one.iter().zip(other).position(|(one, other)| one != other) else { continue };
        let word = at & !3;
        let value = |bytes: &[u8]| {
            let word = bytes[word..].iter().take(4).rev();
            word.fold(String::from("0x"), |text, byte| text + &format!("{byte:02x}"))
        };
        return Some(format!(
            "{name} at {:#x}, byte {word}: {} by the PTX, {} by the machine code",
            address + word as u64,
            value(one),
            value(other)
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::source::Source;

    /// A kernel of a body whose threads have `%rd3`, their element of `data`, and `%r1`, a count.
    fn module(body: &str) -> Checked<Module> {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u32 count)\n{{\n\
             .reg .pred %p<2>;\n.reg .f32 %f<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n\
             ld.param.u64 %rd1, [data];\nld.param.u32 %r1, [count];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\n\
             mad.lo.u32 %r2, %r3, 64, %r2;\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd3, %rd1, %rd2;\n{body}\nret;\n}}\n"
        );
        ptx::compile(&Source::new("test.ptx", text)).module.expect("it is right")
    }

    /// What is said of the code of one kernel as that of another.
    fn judged(ptx: &str, code: &str) -> Verdict {
        let compiled = ptxas::compile(&module(code)).expect("it is compiled");
        let mut verdicts = verify(&module(ptx), &compiled);
        assert_eq!(verdicts.len(), 1);
        verdicts.remove(0).1
    }

    const SUM: &str = "ld.global.u32 %r4, [%rd3]; add.u32 %r4, %r4, %r1; st.global.u32 [%rd3], %r4;";

    #[test]
    fn right_code_is_told_from_wrong() {
        assert_eq!(judged(SUM, SUM), Verdict::Same(ENOUGH));
        // One element in 128 differs, by one.
        let wrong = "setp.eq.u32 %p1, %r2, 77; @%p1 add.u32 %r1, %r1, 1;";
        let Verdict::Differs(how) = judged(SUM, &format!("{wrong}{SUM}")) else {
            panic!("it is wrong");
        };
        // 4 KiB stand in front of the address that the kernel gets.
        let byte = (1 << 12) + 4 * 77;
        assert!(how.starts_with("buffer 1 at 0x") && how.contains(&format!("byte {byte}: 0x")), "{how}");
        // What is written somewhere else is found, too.
        let Verdict::Differs(how) = judged(SUM, &format!("{SUM} st.global.u32 [%rd1+4096], %r1;")) else {
            panic!("it is wrong");
        };
        assert!(how.contains(&format!("byte {}: ", (1 << 12) + 4096)), "{how}");
        assert!(matches!(judged(SUM, &format!("{SUM} trap;")), Verdict::Differs(_)));
    }

    #[test]
    fn what_was_not_run_is_not_verified() {
        let why = |body: &str| match judged(body, body) {
            Verdict::NotRun(why) => why,
            verdict => panic!("{verdict:?}"),
        };
        let of_memory = "ld.global.u64 %rd4, [%rd1]; ld.global.u32 %r4, [%rd4]; st.global.u32 [%rd3], %r4;";
        assert!(why(of_memory).starts_with("no inputs were found for it"));
        let clock = "mov.u32 %r4, %clock; st.global.u32 [%rd3], %r4;";
        assert!(why(clock).contains("%clock"));
        // The last of all threads wins.
        let race = "st.global.u32 [%rd1], %r2;";
        assert!(why(race).contains("order of threads"), "{}", why(race));
    }
}
