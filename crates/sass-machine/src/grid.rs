//! A program in a device's memory, and its launches.

use crate::cta::{Cta, Stopped};
use crate::decode::{self, WORD};
use crate::fault::Fault;
use crate::image::{Half, Program, Refused};
use crate::step::Step;
use crate::storage::{Banks, LOCAL};
use crate::warp::Around;
use machine::memory::{Buffers, LOCAL_WINDOW};
use std::collections::BTreeMap;

/// CTAs that run at the same time; the others wait until one has ended.
const RESIDENT: usize = 32;
/// Where parameters begin in constant bank 0 on sm_90.
const PARAMETERS: usize = 0x210;

/// A kernel whose instructions are ready.
struct Kernel {
    steps: Vec<Step>,
    shared: u64,
}

/// A program whose variables have addresses.
pub struct Loaded<'a> {
    memory: &'a dyn Buffers,
    kernels: BTreeMap<String, Kernel>,
    variables: BTreeMap<String, u64>,
    constants: Vec<u8>,
}

/// A launch.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// CTAs along each axis.
    pub grid: [u32; 3],
    /// Threads of a CTA along each axis.
    pub block: [u32; 3],
    /// Bytes of shared memory beside what the kernel declares.
    pub dynamic_shared: u32,
    /// The parameters, each where it lies.
    pub params: &'a [u8],
    /// Warp instructions that the launch may execute.
    pub budget: u64,
}

impl<'a> Loaded<'a> {
    /// Gives a program's variables places in a memory.
    ///
    /// # Errors
    /// If there is not enough.
    pub fn new(program: &Program, memory: &'a dyn Buffers) -> Result<Self, Refused> {
        let mut variables = BTreeMap::new();
        for (name, variable) in &program.variables {
            let none = |_| Refused::Memory(name.clone());
            let address = memory.allocate(variable.size.max(1)).map_err(none)?;
            let mut initial = variable.initial.clone();
            initial.resize(variable.size as usize, 0);
            memory.write(address, &initial).map_err(none)?;
            variables.insert(name.clone(), address);
        }
        let mut kernels = BTreeMap::new();
        for (name, image) in &program.kernels {
            let mut code = image.code.clone();
            for reference in &image.references {
                let address = variables.get(&reference.variable);
                let address = address.ok_or_else(|| Refused::Memory(reference.variable.clone()))?;
                let value = address.wrapping_add(reference.addend);
                let half = match reference.half {
                    Half::Low => value as u32,
                    Half::High => (value >> 32) as u32,
                };
                if let Some(word) = code.get_mut(reference.at + 4..reference.at + 8) {
                    word.copy_from_slice(&half.to_le_bytes());
                }
            }
            let (words, _) = code.as_chunks::<WORD>();
            let steps = (0..).step_by(WORD).zip(words);
            let steps = steps.map(|(at, word)| decode::step(u128::from_le_bytes(*word), at)).collect();
            kernels.insert(name.clone(), Kernel { steps, shared: image.shared });
        }
        Ok(Self { memory, kernels, variables, constants: program.constants.clone() })
    }

    /// The address of a variable in global memory.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.variables.get(name).copied()
    }

    /// What of a kernel's code this machine does not execute, each text once.
    #[must_use]
    pub fn not_executed(&self, kernel: &str) -> Vec<String> {
        let steps = self.kernels.get(kernel).map_or(&[][..], |kernel| &kernel.steps);
        let mut texts: Vec<_> = steps
            .iter()
            .filter_map(|step| match &step.action {
                crate::step::Action::NotExecuted(text) => Some(text.clone()),
                _ => None,
            })
            .collect();
        texts.sort();
        texts.dedup();
        texts
    }

    /// Executes a launch to its end. A kernel that is not there does nothing.
    ///
    /// # Errors
    /// How it ends otherwise.
    pub fn launch(&self, launch: &Launch<'_>) -> Result<(), Fault> {
        let Some(kernel) = self.kernels.get(launch.kernel) else { return Ok(()) };
        let banks = Banks { launch: bank(launch), module: self.constants.clone() };
        let mut around = Around {
            steps: &kernel.steps,
            banks: &banks,
            block: [0; 3],
            threads: launch.block.map(|it| it.max(1)),
            clock: 0,
        };
        let [x, y, z] = launch.grid.map(u64::from);
        let mut next = (0..x * y * z).map(|at| [at % x, at / x % y, at / (x * y)].map(|it| it as u32));
        let threads = launch.block.iter().product();
        let shared = kernel.shared.max(1 << 10) + u64::from(launch.dynamic_shared);
        let mut running: Vec<Cta> = Vec::new();
        let mut budget = launch.budget;
        loop {
            let room = RESIDENT - running.len();
            running.extend(next.by_ref().take(room).map(|block| Cta::new(block, threads, shared)));
            if running.is_empty() {
                return Ok(());
            }
            for cta in &mut running {
                let block = cta.block;
                let fault = |Stopped { warp, place, kind }| Fault {
                    kind,
                    kernel: launch.kernel.to_owned(),
                    address: (place * WORD) as u64,
                    block,
                    warp,
                };
                let ended = cta.turn(&mut around, self.memory, &mut budget);
                ended.map_err(fault)?;
            }
            running.retain(|cta| !cta.has_exited());
        }
    }
}

/// Constant bank 0 on sm_90: dimensions from 0 and 0xc, the window of local memory at 0x20, where a stack begins at 0x28, the dynamic
/// shared memory at 0x2c, the parameters from 0x210.
fn bank(launch: &Launch<'_>) -> Vec<u8> {
    let mut bank = vec![0; PARAMETERS];
    let mut put = |at: usize, bytes: &[u8]| bank[at..at + bytes.len()].copy_from_slice(bytes);
    for (axis, (threads, blocks)) in launch.block.iter().zip(launch.grid).enumerate() {
        put(4 * axis, &threads.to_le_bytes());
        put(0xc + 4 * axis, &blocks.to_le_bytes());
    }
    put(0x20, &LOCAL_WINDOW.to_le_bytes());
    put(0x28, &(LOCAL as u32).to_le_bytes());
    put(0x2c, &launch.dynamic_shared.to_le_bytes());
    bank.extend(launch.params);
    bank
}
