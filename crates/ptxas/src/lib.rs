//! PTX to SASS for sm_90: a checked module as a cubin. docs/ptxas.md says what is compiled and how.
//!
//! ```text
//! Checked<Module> ──layout──▶ places ──select──▶ Code over virtual registers ──forward, allocate──▶ hardware registers
//!                                                                                             │
//!                                  cubin ◀──cuasm── text ◀──emit── schedule: control codes ◀──┘
//! ```
//!
//! At the lowest [`Level`] each instruction waits for the one before it. What is not compiled is refused by name, at its place in the
//! PTX.

pub mod allocate;
pub mod code;
pub mod codes;
mod emit;
pub mod layout;
mod optimise;
pub mod schedule;
mod select;
mod verify;

use allocate::Shortage;
use ptx::diagnostic::Diagnostic;
use ptx::module::{Checked, FuncId, Module};
use ptx::source::Source;
pub use schedule::Level;

/// A module that has been compiled.
#[derive(Debug)]
pub struct Compiled {
    /// The cubin.
    pub cubin: Vec<u8>,
    /// The same as cuasm.
    pub text: String,
    /// What is known of each kernel.
    pub kernels: Vec<Usage>,
}

/// What a kernel takes.
#[derive(Debug)]
pub struct Usage {
    /// Its name.
    pub name: String,
    /// General registers.
    pub registers: u32,
    /// Bytes of local memory.
    pub frame: u64,
    /// Bytes of shared memory.
    pub shared: u64,
    /// Instructions.
    pub instructions: usize,
}

/// Bytes of local memory that a thread may have.
const MOST_LOCAL: u64 = 512 << 10;
/// Bytes of shared memory that a kernel may have without asking at its launch.
const MOST_SHARED: u64 = 48 << 10;

/// Compiles all kernels of a module for sm_90.
///
/// # Errors
/// What is not compiled, by name and place.
pub fn compile(module: &Checked<Module>) -> Result<Compiled, Vec<Diagnostic>> {
    compile_entries(module, Level::default(), |_| true)
}

/// Compiles those kernels of a module for sm_90 whose names are wanted.
///
/// # Errors
/// What of them is not compiled, by name and place.
pub fn compile_entries(
    module: &Checked<Module>,
    level: Level,
    wanted: impl Fn(&str) -> bool,
) -> Result<Compiled, Vec<Diagnostic>> {
    let module: &Module = module;
    let mut errors = Vec::new();
    let mut kernels = Vec::new();
    for (id, _) in module.entries().filter(|(_, function)| wanted(&function.name)) {
        match kernel(module, id, level) {
            Ok(kernel) => kernels.push(kernel),
            Err(more) => errors.extend(more),
        }
    }
    if !errors.is_empty() {
        errors.sort_by_key(|diagnostic: &Diagnostic| diagnostic.span);
        errors.dedup();
        return Err(errors);
    }
    let mut text = String::from("\t.target\tsm_90\n");
    if let Some(first) = kernels.first() {
        emit::variables(module, &first.layout, &mut text);
    }
    let mut labels = 0;
    for kernel in &kernels {
        emit::kernel(kernel, level, &mut labels, &mut text);
    }
    let assembled =
        cuasm::assemble_with(&Source::new("kernels.cuasm", text.as_str()), cuasm::Options { hazards: true });
    let wrong = |diagnostics: Vec<Diagnostic>| {
        let line = |diagnostic: &Diagnostic| {
            let (before, after) = text.split_at(diagnostic.span.start as usize);
            let line = [before.rsplit('\n').next(), after.split('\n').next()];
            line.into_iter().flatten().collect::<String>()
        };
        let of = |diagnostic: &Diagnostic| {
            format!("what was selected cannot be assembled: {} (`{}`)", diagnostic.message, line(diagnostic))
        };
        diagnostics
            .iter()
            .map(|d| Diagnostic::error(codes::INTERNAL, Default::default(), of(d)))
            .collect::<Vec<_>>()
    };
    let assembled = match assembled {
        Ok(assembled) if assembled.warnings.is_empty() => assembled,
        Ok(assembled) => return Err(wrong(assembled.warnings)),
        Err(diagnostics) => return Err(wrong(diagnostics)),
    };
    let kernels = kernels.iter().map(usage).collect();
    Ok(Compiled { cubin: assembled.bytes, text, kernels })
}

fn usage(kernel: &emit::Kernel<'_>) -> Usage {
    let general = kernel.code.registers.iter().enumerate().filter_map(|(index, info)| match info.class {
        code::Class::General(width) => Some(kernel.allocation.of(code::Reg(index as u32)) + u32::from(width)),
        code::Class::Predicate => None,
    });
    Usage {
        name: kernel.declaration.name.clone(),
        registers: general.max().unwrap_or(0).max(2),
        frame: kernel.frame,
        shared: kernel.layout.shared_bytes,
        instructions: kernel
            .code
            .lines
            .iter()
            .filter(|line| matches!(line, code::Line::Instruction(_)))
            .count(),
    }
}

fn kernel(module: &Module, id: FuncId, level: Level) -> Result<emit::Kernel<'_>, Vec<Diagnostic>> {
    let declaration = &module.functions[id.index()];
    let bounds = &declaration.bounds;
    if bounds.blocks_are_clusters {
        let text = format!(
            "the kernel `{}` has clusters for blocks, which is not compiled to a cubin yet",
            declaration.name
        );
        return Err(vec![Diagnostic::error(codes::DECLARATION, declaration.span, text)]);
    }
    let layout = layout::Layout::new(module, id)?;
    let waits = level == Level::Overlapped && optimise::may_wait(module, id);
    // Predicates first where they are fastest; in general registers if there are too many.
    // Values that are computed once live longer: the last attempt computes them where they are needed.
    for (spread, sharing) in [(false, true), (true, true), (true, false)] {
        let mut selected = select::select(module, &layout, id, spread)?;
        if level == Level::Overlapped {
            match sharing {
                true => optimise::optimise(&mut selected.code, waits),
                false => optimise::tidy(&mut selected.code),
            }
        }
        if selected.frame > MOST_LOCAL || layout.shared_bytes > MOST_SHARED {
            let text = format!(
                "the kernel `{}` has more local or static shared memory than a kernel may have",
                declaration.name
            );
            return Err(vec![Diagnostic::error(codes::RESOURCES, declaration.span, text)]);
        }
        match allocate::allocate(&selected.code) {
            Ok(allocation) => {
                if level == Level::Overlapped && selected.frame == 0 {
                    optimise::without_stack(&mut selected.code);
                }
                debug_assert_eq!(
                    verify::clashes(&selected.code, &allocation),
                    [],
                    "registers of `{}`",
                    declaration.name
                );
                return Ok(emit::Kernel {
                    declaration,
                    layout,
                    code: selected.code,
                    allocation,
                    frame: selected.frame,
                });
            }
            Err(Shortage::Predicates) if !spread => {}
            Err(Shortage::Predicates | Shortage::General) if sharing && level == Level::Overlapped => {}
            Err(shortage) => {
                let what = match shortage {
                    Shortage::General => "more than 254 registers at once, and nothing is spilled yet",
                    Shortage::Predicates => "more than 7 predicates at once",
                    Shortage::Memory => "too many values in too many blocks to be followed",
                };
                let text = format!("the kernel `{}` needs {what}", declaration.name);
                return Err(vec![Diagnostic::error(codes::RESOURCES, declaration.span, text)]);
            }
        }
    }
    Err(vec![])
}
