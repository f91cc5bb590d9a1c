//! The compiled engine: kernels as explicit vector code, made by LLVM, which is loaded at run time.
//!
//! ```text
//! ir::Function --order, divergence--> classes of values, masks --emit--> LLVM's text --llvm, cache--> object file
//!                                                                        --code--> functions --run--> CTAs
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `order` | in which order blocks stand, so that masks flow forward |
//! | `class` | what is the same, or a step apart, in lanes that run together |
//! | `linear` | which registers follow from thread numbers alone |
//! | `constants` | which registers hold one constant at a place |
//! | `flow` | what of a register's definitions reaches a read |
//! | `divergence` | where lanes part, and what those that wait must not lose |
//! | `waiting` | kernels whose threads may wait for one another |
//! | `emit` | what an instruction is in LLVM's text, and why no access leaves the guest's memory |
//! | `llvm` | LLVM's C API; from text to object files |
//! | `cache` | object files that are kept on disk |
//! | `objects` | object files of texts: compiled, or kept |
//! | `code` | machine code in memory: object files, linked |
//! | `tiers` | which code of a kernel runs: quickly compiled, or better |
//! | `compiler` | all of that, in order |
//! | `beside` | what is done beside the launches |
//! | `choice` | which engine, as users say it |
//! | `special`, `scattered` | what code calls for a row: approximations, elements at places of their own |
//! | `context`, `sites`, `lists` | what code and host tell each other |
//! | `windows` | which bytes code may reach without asking |
//! | `run` | a CTA's rows, from barrier to barrier |
//!
//! The machine has CTAs, memory, faults and host threads ([`machine::compiled`]); results are those of its interpreter, bit
//! for bit. What is not compiled is refused by name ([`Refusal`]), kernel by kernel, and interpreted.
//! The crate calls LLVM and the code that it makes, and is called by that, which needs `unsafe`: in `llvm/`, `code.rs`, `context.rs`, `tiers.rs`, `run.rs`, `special.rs`
//! and `scattered.rs`, nowhere else.

mod beside;
mod bounds;
mod cache;
mod choice;
mod class;
mod code;
mod compiler;
mod constants;
mod context;
mod deciding;
mod divergence;
mod emit;
mod flow;
mod linear;
mod lists;
mod llvm;
mod objects;
mod order;
mod phases;
mod run;
mod scattered;
mod sites;
mod special;
mod tiers;
mod waiting;
mod windows;

pub use cache::{Cache, Kept};
pub use choice::Choice;
use compiler::Compiler;
use ir::Function;
pub use llvm::{BROUGHT, Effort, FUNCTIONS, INITIALISERS, NoLlvm, Unpacked, brought};
use machine::compiled::{Background, Code, Engine, EngineId, Request, Source};
use objects::Objects;
use ptx::isa::Convergence;
use std::sync::Arc;

/// Why a kernel is not compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An instruction, or a form of it.
    #[error("the instruction {0}")]
    Instruction(String),
    /// An operand.
    #[error("the operand {0}")]
    Operand(String),
    /// A barrier that not all threads may reach together, or that is not for all of them.
    #[error("a barrier in divergent code, or for some of the threads")]
    Barrier,
    /// A warp operation in divergent code, or with members that are not known to be all.
    #[error("a warp operation in divergent code, or for some of the lanes")]
    Across,
    /// A call of a function that meets other threads, waits for them, or ends threads.
    #[error("a call that may reach {0}, which waits for threads or ends them")]
    Callee(String),
    /// A loop that looks at what other threads write.
    #[error("a loop that may wait for other threads")]
    Waits,
    /// A loop that is never left.
    #[error("a loop without an end")]
    Endless,
    /// A loop with more than one entry.
    #[error("a loop with more than one entry")]
    Irreducible,
    /// Loops in loops.
    #[error("loops nested more than 64 deep")]
    Nesting,
    /// More blocks than the analyses take.
    #[error("{blocks} blocks")]
    TooLarge {
        /// How many.
        blocks: usize,
    },
}

/// Warp instructions of a kernel that are interpreted first: a few milliseconds of a host thread's, about as long as it takes to
/// open LLVM and compile an ordinary kernel.
const THRESHOLD: u64 = 1 << 20;

/// The engine.
#[derive(Debug)]
pub struct Jit {
    compiler: Arc<Compiler>,
    /// Whether kernels are interpreted at first.
    interprets: bool,
}

impl Jit {
    fn new(compiler: Compiler, interprets: bool) -> Self {
        llvm::used_here();
        Self { compiler: Arc::new(compiler), interprets }
    }

    /// An engine that compiles kernels when they are first launched, with full effort, if there is an LLVM.
    ///
    /// # Errors
    /// Why there is none that can be used.
    pub fn find() -> Result<Self, NoLlvm> {
        suits_host()?;
        llvm::available()?;
        Ok(Self::new(Compiler::new(Arc::new(Objects::new(None)), Some(Effort::Full)), false))
    }

    /// An engine that compiles kernels beside the launches, once they have run for a while: quickly, and then, if they go on, with
    /// full effort. LLVM is looked for when the first one has.
    ///
    /// # Errors
    /// Why it cannot make code for this host.
    pub fn beside() -> Result<Self, NoLlvm> {
        suits_host()?;
        Ok(Self::new(Compiler::new(Arc::new(Objects::new(None)), None), true))
    }

    /// The file of the LLVM that compiles for it, as far as that is known.
    pub fn compiler(&self) -> String {
        llvm::opened_file().map_or_else(String::new, |path| path.display().to_string())
    }

    /// Where that was unpacked from, if it was.
    pub fn unpacked(&self) -> Option<&'static Unpacked> {
        llvm::unpacked()
    }

    /// The same, which keeps what it has compiled.
    #[must_use]
    pub fn with_cache(self, cache: Option<Cache>) -> Self {
        let objects = Arc::new(Objects::new(cache));
        Self::new(Compiler::new(objects, self.compiler.effort), self.interprets)
    }

    /// The same, which puts this effort into everything.
    #[must_use]
    pub fn always(self, effort: Effort) -> Self {
        let objects = Arc::clone(&self.compiler.objects);
        Self::new(Compiler::new(objects, Some(effort)), self.interprets)
    }
}

fn suits_host() -> Result<(), NoLlvm> {
    match has_vectors() {
        true => Ok(()),
        false => Err(NoLlvm::Host("it is not x86-64 with AVX2 and FMA".to_owned())),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_vectors() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vectors() -> bool {
    false
}

/// Whether lanes of a whole warp work together.
fn needs_warps(function: &Function<'_>) -> bool {
    let mut instructions = function.instructions.iter().flatten();
    instructions.any(|instruction| instruction.op.effects().convergence != Convergence::Thread)
}

/// Lanes of a row: those of a warp, or half as many where blocks are as wide as that.
fn width(function: &Function<'_>, block: [u32; 3]) -> u32 {
    let [x, y, z] = block;
    let rows_of_16 = y * z > 1 && x % 32 == 16;
    if rows_of_16 && !needs_warps(function) { 16 } else { 32 }
}

impl Engine for Jit {
    fn id(&self) -> EngineId {
        self.compiler.id()
    }

    fn background(&self) -> Option<&dyn Background> {
        self.interprets.then_some(self as &dyn Background)
    }

    fn compile(&self, source: &Source<'_>) -> Result<Arc<dyn Code>, String> {
        self.compiler.compile(source)
    }

    fn declined(&self, kernel: &str, why: &str) {
        self.compiler.declined(kernel, why);
    }
}

impl Background for Jit {
    fn threshold(&self) -> u64 {
        THRESHOLD
    }

    fn submit(&self, request: Request) {
        llvm::used_here();
        let compiler = Arc::clone(&self.compiler);
        self.compiler.beside.submit(Box::new(move || request.carry_out(&*compiler)));
    }
}
