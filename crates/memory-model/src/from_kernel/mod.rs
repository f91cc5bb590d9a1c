//! Litmus tests made of kernels: each thread of a small grid is a thread of a test.
//!
//! A thread is evaluated as far as that does not depend on what it reads ([`specialise`]): its place in the grid, the
//! parameters and addresses are numbers, loops that count are unrolled, and what remains are accesses, fences and barriers,
//! and arithmetic on values that are read. An address that depends on a value becomes a choice between the places that it
//! can be. A `trap`, an assertion that fails and an access where no memory is set the thread's register `failed`, and end it.

mod access;
mod compute;
mod memory;
mod relevance;
mod specialise;
mod value;

use crate::event::Placement;
use crate::language::Version;
use crate::program::{Comparison, Condition, Program, Quantifier, Term, Thread};
use crate::text::{self, Names, Tokens};
use ir::{Cfg, Function};
use memory::Memory;
use ptx::isa::SpecialRegister;
use ptx::module::{Module, Param, VarId};
use relevance::Relevance;
use rustc_hash::FxHashMap;

/// The most threads of a launch.
pub const MAX_THREADS: u32 = 64;

/// The name of the register that says how a thread failed.
pub const FAILED: &str = "failed";

/// A buffer that a parameter points to.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name in conditions.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// What it holds before the launch.
    pub bytes: Vec<u8>,
    /// Bytes of an element.
    pub element: u32,
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: String,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The parameters' bytes.
    pub parameters: Vec<u8>,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// What is asked of memory in the end: `forall (x[0] == 2)`.
    pub condition: Option<String>,
}

/// A kernel as a litmus test.
#[derive(Clone, Debug)]
pub struct FromKernel {
    /// The test; without a condition its own holds always.
    pub program: Program,
    /// What goes wrong where a thread's register [`FAILED`] is 1, 2 and so on.
    pub failures: Vec<String>,
    /// The module's version.
    pub version: Version,
}

impl FromKernel {
    /// The test that asks whether a thread can fail; none if nothing in the kernel can.
    pub fn failing(&self) -> Option<Program> {
        let failed = |thread: usize| {
            let text = &self.program.threads[thread];
            let register = text.registers.iter().position(|name| name == FAILED)?;
            let sets = text.code.iter().any(|instruction| instruction.registers().0.contains(&register));
            let term = Term::Register(thread, register);
            sets.then_some(Condition::Compare(Comparison::Ne, term, Term::Constant(0)))
        };
        let any = (0..self.program.threads.len())
            .filter_map(failed)
            .reduce(|a, b| Condition::Or(Box::new(a), Box::new(b)))?;
        let assertion = "no thread fails".to_owned();
        let quantifier = Quantifier::NotExists;
        Some(Program { condition: any, filter: None, quantifier, assertion, ..self.program.clone() })
    }
}

/// Where a thread is in the grid.
#[derive(Clone, Copy, Debug)]
struct Seat {
    tid: [u32; 3],
    ctaid: [u32; 3],
    /// The number of the CTA, and of the thread in all.
    who: memory::Who,
}

struct Grid<'a> {
    module: &'a Module,
    launch: &'a Launch,
    memory: Memory,
    program: Program,
    failures: Vec<String>,
    /// How many arrivals end a phase of an mbarrier.
    phases: FxHashMap<(u32, u32), i64>,
    /// Where each parameter is in the launch's bytes.
    parameters: FxHashMap<VarId, u64>,
}

/// Makes a test of a launch.
///
/// # Errors
/// If the kernel has what is not understood, or is too large; the message says where.
pub fn parse(module: &Module, launch: &Launch) -> Result<FromKernel, String> {
    let found = module.entries().find(|(_, function)| function.name == launch.kernel);
    let (id, declaration) = found.ok_or_else(|| format!("there is no kernel `{}`", launch.kernel))?;
    let function =
        Function::lower(module, id).ok_or_else(|| format!("kernel `{}` has no body", launch.kernel))?;
    let product = |of: [u32; 3]| of.iter().try_fold(1u32, |all, n| all.checked_mul((*n).max(1)));
    let threads = product(launch.grid).and_then(|ctas| ctas.checked_mul(product(launch.block)?));
    if threads.is_none_or(|threads| threads > MAX_THREADS) {
        return Err(format!("a litmus test has at most {MAX_THREADS} threads"));
    }
    let cfg = Cfg::new(&function);
    let relevance = Relevance::new(&function, &cfg);
    let mut phases = FxHashMap::default();
    loop {
        let mut grid = Grid {
            module,
            launch,
            memory: Memory::new(module, launch)?,
            program: test(launch),
            failures: Vec::new(),
            phases: phases.clone(),
            parameters: parameters(module, declaration),
        };
        for seat in seats(launch) {
            grid.thread(&function, &relevance, seat)?;
        }
        // Threads that wait at an mbarrier may come before the one that says how many arrive.
        if grid.phases != phases {
            phases = grid.phases;
            continue;
        }
        if let Some(condition) = &launch.condition {
            grid.condition(condition)?;
        }
        let version = Version(module.version.major, module.version.minor);
        return Ok(FromKernel { program: grid.program, failures: grid.failures, version });
    }
}

fn test(launch: &Launch) -> Program {
    let (always, zero) = (Comparison::Eq, Term::Constant(0));
    Program {
        name: launch.kernel.clone(),
        threads: Vec::new(),
        locations: Vec::new(),
        objects: Vec::new(),
        filter: None,
        quantifier: Quantifier::Forall,
        condition: Condition::Compare(always, zero, zero),
        assertion: String::new(),
    }
}

fn parameters(module: &Module, declaration: &ptx::module::Function) -> FxHashMap<VarId, u64> {
    let mut next = 0u64;
    let variables = declaration.params.iter().filter_map(|param| match param {
        Param::Memory(variable) => Some(*variable),
        Param::Register(_) | Param::RegisterType(_) => None,
    });
    variables
        .map(|id| {
            let variable = &module.variables[id.index()];
            let at = next.next_multiple_of(u64::from(variable.align.max(1)));
            next = at + variable.size;
            (id, at)
        })
        .collect()
}

/// All places of a grid, in order.
fn places([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let row = move |(z, y)| (0..x).map(move |x| [x, y, z]);
    (0..z).flat_map(move |z| (0..y).map(move |y| (z, y))).flat_map(row)
}

fn seats(launch: &Launch) -> Vec<Seat> {
    let mut seats = Vec::new();
    for (cta, ctaid) in places(launch.grid).enumerate() {
        for tid in places(launch.block) {
            seats.push(Seat { tid, ctaid, who: (cta, seats.len()) });
        }
    }
    seats
}

impl Seat {
    /// The cluster's place in the grid, and the CTA's in the cluster.
    fn cluster(&self, launch: &Launch) -> ([u32; 3], [u32; 3]) {
        let of = |i: usize| launch.cluster[i].max(1);
        (std::array::from_fn(|i| self.ctaid[i] / of(i)), std::array::from_fn(|i| self.ctaid[i] % of(i)))
    }

    fn placement(&self, launch: &Launch) -> Placement {
        let (cluster, _) = self.cluster(launch);
        let clusters: [u32; 3] = std::array::from_fn(|i| launch.grid[i].div_ceil(launch.cluster[i].max(1)));
        Placement { cta: self.who.0 as u32, cluster: linear(cluster, clusters), gpu: 0 }
    }

    /// What a special register holds, where that follows from the launch.
    fn special(&self, launch: &Launch, register: SpecialRegister, component: u8) -> Option<u64> {
        use SpecialRegister as R;
        let part = |of: [u32; 3]| of.get(usize::from(component)).copied().unwrap_or(0);
        let rank = linear(self.tid, launch.block);
        let lane = rank % 32;
        let (cluster, within) = self.cluster(launch);
        let below = (1u32 << lane) - 1;
        Some(u64::from(match register {
            R::Tid => part(self.tid),
            R::Ntid => part(launch.block),
            R::Ctaid => part(self.ctaid),
            R::Nctaid => part(launch.grid),
            R::Laneid => lane,
            R::Warpid => rank / 32,
            R::Clusterid => part(cluster),
            R::Nclusterid => part(std::array::from_fn(|i| launch.grid[i] / launch.cluster[i].max(1))),
            R::ClusterCtaid => part(within),
            R::ClusterNctaid => part(launch.cluster),
            R::ClusterCtarank => linear(within, launch.cluster),
            R::ClusterNctarank => launch.cluster.iter().product(),
            R::LanemaskEq => 1 << lane,
            R::LanemaskLt => below,
            R::LanemaskLe => below | 1 << lane,
            R::LanemaskGe => !below,
            R::LanemaskGt => !(below | 1 << lane),
            R::DynamicSmemSize => launch.shared,
            R::Envreg1 => (memory::WORKSPACE >> 32) as u32,
            R::Envreg2 => memory::WORKSPACE as u32,
            _ => return None,
        }))
    }
}

fn linear(place: [u32; 3], extents: [u32; 3]) -> u32 {
    place[0] + extents[0] * (place[1] + extents[1] * place[2])
}

impl<'a> Grid<'a> {
    fn thread(&mut self, function: &Function<'a>, relevance: &Relevance, seat: Seat) -> Result<(), String> {
        let mut registers: Vec<String> = function
            .body
            .registers
            .iter()
            .map(|register| self.module.text(register.name).to_owned())
            .collect();
        registers.push(FAILED.to_owned());
        let (code, texts, temporaries) = specialise::thread(self, function, relevance, seat)?;
        registers.extend((0..temporaries).map(|number| format!("temporary {number}")));
        let initial = vec![0; registers.len()];
        let rank = linear(seat.tid, self.launch.block);
        let name = format!("C{}T{rank}", seat.who.0);
        let placement = seat.placement(self.launch);
        self.program.threads.push(Thread { name, placement, code, texts, registers, initial });
        Ok(())
    }

    fn condition(&mut self, text: &str) -> Result<(), String> {
        let problem = |problem: text::Problem| format!("the condition `{text}`: {}", problem.message);
        let mut tokens = Tokens::new(text, 0).map_err(problem)?;
        let quantifier = text::quantifier(&mut tokens)
            .ok_or_else(|| problem(tokens.unexpected("`forall`, `exists` or `~exists`")))?;
        let condition = text::condition(&mut tokens, self).map_err(problem)?;
        if tokens.peek() != text::Token::End {
            return Err(problem(tokens.unexpected("the end")));
        }
        (self.program.quantifier, self.program.condition) = (quantifier, condition);
        self.program.assertion = text.to_owned();
        Ok(())
    }
}

impl Names for Grid<'_> {
    fn register(&mut self, _: &str, _: &str) -> Option<Term> {
        None
    }

    fn location(&mut self, name: &str) -> Option<Term> {
        self.element(name, 0)
    }

    fn element(&mut self, name: &str, index: i64) -> Option<Term> {
        let (place, size) = self.memory.element(name, u64::try_from(index).ok()?)?;
        let bytes = self.memory.bytes(&mut self.program, place, size, (0, 0));
        let found = self.program.locations.iter().position(|location| location.bytes == bytes)?;
        Some(Term::Memory(found))
    }
}
