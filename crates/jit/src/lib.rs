//! The compiled engine: kernels as explicit vector code, made by LLVM, which is loaded at run time.
//!
//! ```text
//! ir::Function --order, divergence--> classes of values, masks --emit--> LLVM's text --llvm--> code --run--> CTAs
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `order` | in which order blocks stand, so that masks flow forward |
//! | `class` | what is the same, or a step apart, in lanes that run together |
//! | `threads` | which reads of a register find `%tid.x`, whatever is written to it later |
//! | `divergence` | where lanes part, and what those that wait must not lose |
//! | `waiting` | kernels whose threads may wait for one another |
//! | `emit` | what an instruction is in LLVM's text, and why no access leaves the guest's memory |
//! | `llvm` | LLVM's C API; from text to code |
//! | `context`, `sites` | what code and host tell each other |
//! | `shuffle` | which lane a shuffle reads |
//! | `run` | a CTA's rows, from barrier to barrier |
//!
//! The machine has CTAs, memory, faults and host threads ([`machine::compiled`]); results are those of its interpreter, bit
//! for bit. What is not compiled is refused by name ([`Refusal`]), kernel by kernel, and interpreted.
//! The crate calls LLVM and the code that it makes, which needs `unsafe`: in `llvm/` and `run.rs`, nowhere else.

mod class;
mod context;
mod divergence;
mod emit;
mod llvm;
mod order;
mod run;
mod shuffle;
mod sites;
mod threads;
mod waiting;

use class::Rows;
use ir::Function;
pub use llvm::NoLlvm;
use machine::compiled::{Code, Engine, Source};
use ptx::isa::Convergence;
use std::sync::Arc;
use std::time::Instant;

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

/// The engine.
#[derive(Debug)]
pub struct Jit {
    _found: (),
}

impl Jit {
    /// The engine, if there is an LLVM.
    ///
    /// # Errors
    /// Why there is none that can be used.
    pub fn find() -> Result<Self, NoLlvm> {
        if !has_vectors() {
            return Err(NoLlvm::Host("it has no AVX2 and FMA".to_owned()));
        }
        llvm::available().map(|()| Self { _found: () })
    }
}

#[cfg(target_arch = "x86_64")]
fn has_vectors() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_vectors() -> bool {
    true
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

/// The text that a kernel becomes.
fn emit_kernel(source: &Source<'_>) -> Result<(emit::Emitted, Rows), Refusal> {
    let missing = || Refusal::Instruction("a kernel without code".to_owned());
    let function = Function::lower(source.module(), source.kernel()).ok_or_else(missing)?;
    let rows = Rows { width: width(&function, source.block()), block: source.block() };
    emit::emit(source, &function, rows).map(|emitted| (emitted, rows))
}

impl Engine for Jit {
    fn compile(&self, source: &Source<'_>) -> Result<Arc<dyn Code>, String> {
        let begun = Instant::now();
        let (emitted, rows) = emit_kernel(source).map_err(|refusal| refusal.to_string())?;
        let threads: u32 = rows.block.iter().product();
        let name = source.name();
        log::trace!("{name} as LLVM's text:\n{}", emitted.text);
        let written = begun.elapsed();
        let code = run::Compiled::new(emitted, source.kernel(), threads.div_ceil(rows.width), rows.width)
            .map_err(|why| format!("LLVM: {why}"))?;
        log::debug!("{name}: compiled in {:?}, {written:?} of it without LLVM", begun.elapsed());
        Ok(Arc::new(code))
    }

    fn declined(&self, kernel: &str, why: &str) {
        log::info!("kernel {kernel} is interpreted: {why}");
    }
}
