//! Where machine code is said to have registers of PTX, against what they are: it runs on the machine for SASS, an instruction at a time,
//! and wherever a register is said to be somewhere, what is there is compared with what the interpreter of PTX has.
//!
//! In front of the instruction that a machine instruction is for, for the n-th time in a thread, is where that machine instruction is for
//! the n-th time. Where one of them comes by more often - code that goes round within one instruction of PTX - nothing is compared.

use crate::case::Case;
use crate::{engine, sass};
use debug_info::machine_code::variables::{Hardware, Variables};
use machine::inspect::Extent;
use machine::observe::{Issue, Observer};
use machine::{LaunchOptions, Masks};
use ptx::module::{FuncId, Module, RegId};
use ptx::source::Source;
use ptxas::{Level, Options};
use sass_machine::{Grid, Loaded, Program, Resident, Touched};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Machine instructions that a case may issue.
const BUDGET: u64 = 1 << 24;
/// Registers that have addresses, which differ from machine to machine, and what is loaded there for nobody.
const ADDRESSES: [&str; 7] = ["%input", "%columns", "%rows", "%cells", "%results", "%wide", "%sink"];

/// Whether a register has an address.
fn has_address(name: &str) -> bool {
    ADDRESSES.contains(&name) || name.starts_with("%a")
}

/// How often registers were found, and how often they were said to be nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// They had the value that PTX has.
    pub found: u64,
    /// Nothing was said of them.
    pub absent: u64,
}

/// A thread: its CTA and its number there.
type Thread = (u32, u32);

/// The function and the instruction of each activation of a thread, the innermost first.
type Path = Vec<(FuncId, u32)>;

/// The registers of each of these.
type Values = Vec<Arc<Vec<Option<u128>>>>;

/// Notes what threads have wherever they come by.
struct Watch(Mutex<HashMap<Thread, Vec<(Path, Values)>>>);

impl Observer for Watch {
    fn issue(&self, issue: &Issue<'_>) {
        let snapshot = issue.state.snapshot(Extent::Cta);
        let Ok(mut noted) = self.0.lock() else { return };
        for (number, &active) in (issue.first_warp..).zip(issue.active) {
            let Some(warp) = snapshot.warp(number) else { continue };
            for lane in (0..32).filter(|lane| active >> lane & 1 == 1) {
                let Some(group) = warp.group_of(lane) else { continue };
                let mut path = vec![group.place];
                let mut frames = vec![group.frame];
                while let Some((outer, site)) = frames.last().and_then(|&frame| warp.frames[frame].caller) {
                    path.push((warp.frames[outer].function, site));
                    frames.push(outer);
                }
                let of = noted.entry((issue.block[0], number * 32 + lane as u32)).or_default();
                // Who waits comes by again and again.
                if of.last().is_some_and(|(last, _)| *last == path) {
                    continue;
                }
                let values = frames.iter().map(|&frame| {
                    let all = warp.frames[frame].registers.iter();
                    Arc::new(all.map(|row| row.as_ref().map(|row| row.lane(lane))).collect())
                });
                of.push((path, values.collect()));
            }
        }
    }
}

/// Compares a case at a level; nothing if it is not compiled, or not executed.
///
/// # Errors
/// Where a register is not what PTX has.
pub fn compare(case: &Case, level: Level) -> Result<Option<Count>, String> {
    let source = Source::new("kernel.ptx", case.text.as_str());
    let module = ptx::compile(&source).module.ok_or("it is not right")?;
    let options = Options { level, variables: true, ..Options::default() };
    let Ok(compiled) = ptxas::compile_entries(&module, options, |_| true) else { return Ok(None) };
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let of_sass = engine::device()?;
    let program = Program::read(&compiled.cubin, false).map_err(|error| said(&error))?;
    let loaded = Loaded::new(&program, of_sass.memory()).map_err(|error| said(&error))?;
    if !loaded.not_executed("kernel").is_empty() {
        return Ok(None);
    }
    let placed = case.place(of_sass.memory()).map_err(|error| said(&error))?;
    let launch = sass::launch(case, &placed.params, BUDGET, false);
    let grid = loaded.choose(&launch).ok_or("no kernel")?.map_err(|fault| said(&fault))?;
    let usage = compiled.kernels.first().ok_or("no kernel")?;
    let variables = usage.variables.as_ref().ok_or("nothing is said")?;
    let sights = Sights::new(usage, variables, &grid)?;
    let of_ptx = engine::device()?;
    let placed = case.place(of_ptx.memory()).map_err(|error| said(&error))?;
    let module = of_ptx.load(module).map_err(|error| said(&error))?;
    let watch = Watch(Mutex::default());
    let launch = engine::launch(case, &module, placed.params.clone())?;
    let options = LaunchOptions {
        threads: 1,
        observer: Some(&watch),
        debug: true,
        masks: Masks::Exact,
        ..LaunchOptions::default()
    };
    of_ptx.launch(&launch, &options).map_err(|error| said(&error))?;
    let noted = watch.0.into_inner().map_err(|error| said(&error))?;
    sights.against(module.module(), variables, usage, &noted).map(Some)
}

/// A register of a call, and its value if that is said to be somewhere.
type Seen = ((u32, RegId), u128);

/// Where each 32 bits of a register are.
type Parts = Vec<(u32, Hardware)>;

/// What is seen in front of each machine instruction, time after time.
struct Sights(HashMap<(Thread, usize), Vec<Vec<Seen>>>);

impl Sights {
    fn new(usage: &ptxas::Usage, variables: &Variables, grid: &Grid<'_>) -> Result<Self, String> {
        // What is said in front of each instruction.
        let mut said: Vec<HashMap<(u32, RegId), Parts>> = vec![HashMap::new(); usage.instructions.len()];
        for kept in &variables.kept {
            for at in kept.instructions.clone() {
                let of = said[at as usize].entry((kept.call, kept.register)).or_default();
                of.push((kept.part, kept.place));
            }
        }
        let mut sights: HashMap<(Thread, usize), Vec<Vec<Seen>>> = HashMap::new();
        for number in 0..grid.count() {
            let mut cta = grid.begin(number);
            let mut touched = Touched::default();
            let mut left = BUDGET;
            while (0..cta.warps()).any(|warp| !cta.has_exited(warp)) {
                let mut moved = false;
                for warp in 0..cta.warps() {
                    let Some(next) = cta.next(warp) else { continue };
                    moved = true;
                    left = left.checked_sub(1).ok_or("it does not end")?;
                    let standing = cta.standing(warp);
                    if let Some(said) = said.get(next) {
                        for lane in (0..32).filter(|lane| standing >> lane & 1 == 1) {
                            let thread = (cta.block()[0], (warp * 32 + lane) as u32);
                            let seen = said
                                .iter()
                                .map(|(register, parts)| (*register, value(parts, &cta, warp, lane)));
                            sights.entry((thread, next)).or_default().push(seen.collect());
                        }
                    }
                    grid.step(&mut cta, warp, 0, 0, &mut touched).map_err(|fault| fault.to_string())?;
                }
                if !moved {
                    return Err(grid.deadlock(&cta).to_string());
                }
            }
        }
        Ok(Self(sights))
    }

    fn against(
        &self,
        module: &Module,
        variables: &Variables,
        usage: &ptxas::Usage,
        noted: &HashMap<Thread, Vec<(Path, Values)>>,
    ) -> Result<Count, String> {
        let mut comings: HashMap<(Thread, &Path), Vec<&Values>> = HashMap::new();
        for (thread, steps) in noted {
            steps.iter().for_each(|(path, values)| comings.entry((*thread, path)).or_default().push(values));
        }
        let outer = |place: &(u32, u32)| variables.calls[place.0 as usize].site;
        let mut count = Count::default();
        for ((thread, next), times) in &self.0 {
            let Some(origin) = usage.instructions[*next].origin else { continue };
            let calls: Vec<(u32, u32)> =
                std::iter::successors(Some((origin.call, origin.instruction)), outer).collect();
            let function = |call: u32| variables.calls[call as usize].function;
            let path: Path = calls.iter().map(|&(call, at)| (function(call), at)).collect();
            let Some(known) = comings.get(&(*thread, &path)) else { continue };
            if known.len() != times.len() {
                continue;
            }
            for (seen, known) in times.iter().zip(known) {
                for ((call, _), values) in calls.iter().zip(known.iter()) {
                    let body = module.functions[function(*call).index()].body.as_ref();
                    for (index, value) in values.iter().enumerate() {
                        let (Some(value), Some(body)) = (value, body) else { continue };
                        let register = &body.registers[index];
                        let name = module.text(register.name);
                        if has_address(name) {
                            continue;
                        }
                        let Some((_, is)) = seen.iter().find(|(key, _)| *key == (*call, RegId(index as u32)))
                        else {
                            count.absent += 1;
                            continue;
                        };
                        let bits = register.ty.bits().clamp(1, 128);
                        let mask = u128::MAX >> (128 - bits);
                        if is & mask != value & mask {
                            return Err(format!(
                                "{name} of thread {thread:?} in front of {:#x}, {path:?}: {is:#x}, but it is {value:#x}",
                                next * 16
                            ));
                        }
                        count.found += 1;
                    }
                }
            }
        }
        Ok(count)
    }
}

/// The value at some places.
fn value(parts: &[(u32, Hardware)], cta: &Resident, warp: usize, lane: usize) -> u128 {
    /// The stack pointer.
    const R1: u8 = 1;
    let word = |place: Hardware| match place {
        Hardware::General(number) => cta.register(warp, lane, number as u8),
        Hardware::Uniform(number) => cta.uniform(warp, number as u8),
        Hardware::Predicate(number) => cta.predicate(warp, lane, number as u8).into(),
        Hardware::Frame(at) => {
            let address = u64::from(cta.register(warp, lane, R1)) + u64::from(at);
            let bytes = cta.local(warp, lane, address, 4);
            bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
        }
    };
    parts.iter().fold(0, |all, (part, place)| all | u128::from(word(*place)) << (32 * part))
}
