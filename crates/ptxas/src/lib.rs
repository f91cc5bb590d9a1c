//! PTX to SASS: a checked module as a cubin. docs/ptxas.md says what is compiled and how.
//!
//! ```text
//! Checked<Module> ──layout──▶ places ──select──▶ Code over virtual registers ──optimise, allocate──▶ hardware registers
//!                                                                                             │
//!                            cubin ◀──cuasm── instructions ◀──emit── schedule: control codes ◀──┘
//! ```
//!
//! At the lowest [`Level`] each instruction waits for the one before it. What is not compiled is refused by name, at its place in the
//! PTX.

pub mod allocate;
mod bodies;
pub mod code;
pub mod codes;
mod collectives;
mod emit;
mod file;
pub mod layout;
mod opcode;
mod optimise;
mod products;
mod registers;
pub mod schedule;
mod select;
mod spelling;
mod spill;
mod target;
pub mod tuning;
mod unroll;
mod variables;
mod verify;

use allocate::Shortage;
use bodies::Bodies;
pub use debug_info::Origin;
use debug_info::machine_code::variables::Variables;
use debug_info::machine_code::{self, MachineCode, Section};
use ptx::diagnostic::Diagnostic;
use ptx::module::{Checked, FuncId, Function, FunctionKind, Linkage, Module};
pub use schedule::Level;
pub use spill::Traffic;
pub use target::Target;
pub use tuning::Tuning;

/// A module that has been compiled.
#[derive(Debug)]
pub struct Compiled {
    /// The cubin.
    pub cubin: Vec<u8>,
    /// The same as cuasm, if it was asked for.
    pub text: String,
    /// What is known of each kernel.
    pub kernels: Vec<Usage>,
}

/// What a kernel takes.
#[derive(Debug)]
pub struct Usage {
    /// Which function of the module it is.
    pub id: FuncId,
    /// Its name.
    pub name: String,
    /// General registers, with the two that nobody names, as NVIDIA's compiler counts.
    pub registers: u32,
    /// Bytes of local memory.
    pub frame: u64,
    /// Bytes of spilled registers that its code stores and loads.
    pub spilled: Traffic,
    /// Bytes of shared memory.
    pub shared: u64,
    /// Its instructions, but for the branch behind their end.
    pub instructions: Vec<Made>,
    /// Where its variables are, if that was wanted.
    pub variables: Option<Variables>,
}

/// A machine instruction, and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The control code and the instruction, as cuasm; nothing unless text was asked for.
    pub text: String,
    /// The PTX instruction; none, if it is for the kernel as a whole.
    pub origin: Option<Origin>,
    /// It moves a register to the frame or back, as there are too few.
    pub spills: bool,
    /// How many general registers have a value there that is still needed; known where text was asked for.
    pub registers: u32,
}

/// How to compile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The device that code is made for.
    pub target: Target,
    /// How much is done for speed.
    pub level: Level,
    /// The most registers of kernels that say nothing of it themselves.
    pub max_registers: Option<u32>,
    /// The cubin says of which line its code is.
    pub lines: bool,
    /// With lines, the cubin also says where variables are.
    pub variables: bool,
    /// The cubin is one that a linker takes, if nothing in the module keeps it from that.
    pub relocatable: bool,
    /// The code is wanted as text, too.
    pub text: bool,
    /// What is guessed of the kernels, above the lowest level.
    pub tuning: Tuning,
}

impl From<Level> for Options {
    fn from(level: Level) -> Self {
        Self { level, ..Self::default() }
    }
}

/// Bytes of local memory for what recursion and `alloca` take, which nobody knows beforehand. Who needs more says so to the driver, as
/// with NVIDIA's code.
const OPEN_STACK: u64 = 4 << 10;
/// Bytes of local memory that a thread may have.
const MOST_LOCAL: u64 = 512 << 10;
/// Bytes of shared memory that a kernel may have without asking at its launch.
const MOST_SHARED: u64 = 48 << 10;

/// Compiles all kernels of a module for sm_90, with nothing overlapped.
///
/// # Errors
/// What is not compiled, by name and place.
pub fn compile(module: &Checked<Module>) -> Result<Compiled, Vec<Diagnostic>> {
    compile_entries(module, Level::default(), |_| true)
}

/// Compiles those kernels of a module whose names are wanted.
///
/// # Errors
/// What of them is not compiled, by name and place.
pub fn compile_entries(
    module: &Checked<Module>,
    options: impl Into<Options>,
    wanted: impl Fn(&str) -> bool,
) -> Result<Compiled, Vec<Diagnostic>> {
    let module: &Module = module;
    let options = options.into();
    // nvlink 13.0 does not survive code of these devices without its other form, `.nv.capmerc`.
    if options.relocatable && options.target.sm() >= 100 {
        let text = format!(
            "code of {} for a linker, which carries a second form of it, is not made yet",
            options.target
        );
        return Err(vec![Diagnostic::error(codes::DECLARATION, Default::default(), text)]);
    }
    let mut errors = Vec::new();
    let bodies = Bodies::new(module);
    let mut kernels = Vec::new();
    let functions = (0..module.functions.len() as u32).map(FuncId).filter(|id| {
        let function = &module.functions[id.index()];
        let is_compiled = function.kind == FunctionKind::Entry || options.relocatable && is_linked(function);
        is_compiled && wanted(&function.name)
    });
    for id in functions {
        match kernel(&bodies, id, options) {
            Ok(kernel) => kernels.push(kernel),
            Err(more) => errors.extend(more),
        }
    }
    if !errors.is_empty() {
        errors.sort_by_key(|diagnostic: &Diagnostic| diagnostic.span);
        errors.dedup();
        return Err(errors);
    }
    let mut labels = 0;
    let mut out = emit::Out { text: options.text.then(String::new), ..emit::Out::default() };
    out.directives(&format!("\t.target\t{}\n", options.target));
    if options.relocatable {
        out.directives("\t.elftype\t@\"ET_REL\"\n");
    }
    let mut usages = Vec::new();
    // In front of the notes, which are the first kernel's, nvlink and cuobjdump take no variables, and cuobjdump no lines.
    for kernel in &kernels {
        let (instructions, starts) = emit::kernel(module, kernel, options.level, &mut labels, &mut out);
        let variables = variables::of(module, kernel, options.level, &starts);
        usages.push(usage(kernel, instructions, variables));
    }
    let mut more = String::new();
    if let Some(first) = kernels.first() {
        emit::variables(module, &first.layout, &mut more);
    }
    if let Some(first) = kernels.first().filter(|_| options.lines) {
        emit::debug(module, &first.layout, &debug_sections(module, &usages), &mut more);
    }
    out.directives(&more);
    let emit::Out { program, text } = out;
    let cubin = program.assemble(cuasm::Options { hazards: true }).map_err(|wrong| {
        let of = |wrong: cuasm::Wrong| {
            let text = format!("what was selected cannot be assembled: {} (`{}`)", wrong.message, wrong.line);
            Diagnostic::error(codes::INTERNAL, Default::default(), text)
        };
        wrong.into_iter().map(of).collect::<Vec<_>>()
    })?;
    Ok(Compiled { cubin, text: text.unwrap_or_default(), kernels: usages })
}

/// Whether it is a function that other modules may call.
fn is_linked(function: &Function) -> bool {
    function.kind == FunctionKind::Func
        && function.body.is_some()
        && matches!(function.linkage, Linkage::Visible | Linkage::Weak)
}

/// What the cubin says of lines and variables.
fn debug_sections(module: &Module, kernels: &[Usage]) -> Vec<Section> {
    let origins: Vec<Vec<Option<Origin>>> =
        kernels.iter().map(|kernel| kernel.instructions.iter().map(|made| made.origin).collect()).collect();
    let code = kernels.iter().zip(&origins).map(|(kernel, origins)| MachineCode {
        kernel: kernel.id,
        origins,
        bytes: emit::code_bytes(origins.len()),
        variables: kernel.variables.as_ref(),
    });
    machine_code::sections(module, &code.collect::<Vec<_>>())
}

/// What is known of a kernel that has become instructions.
fn usage(kernel: &emit::Kernel<'_>, instructions: Vec<Made>, variables: Option<Variables>) -> Usage {
    let operands = kernel.code.lines.iter().flat_map(|line| match line {
        code::Line::Instruction(one) => one.operands.as_slice(),
        code::Line::Label(_) => &[],
    });
    let general = operands.filter_map(code::Operand::register).filter_map(|(reg, part, width)| {
        let class = kernel.code.registers[reg.0 as usize].class;
        let is_general = matches!(class, code::Class::General(_));
        is_general.then(|| kernel.allocation.of(reg) + u32::from(part + width))
    });
    // A call names registers of the hardware.
    let calls = kernel.code.keeps || kernel.code.externs().next().is_some();
    let least = if calls { registers::LEAST - registers::RESERVED } else { 2 };
    Usage {
        id: kernel.id,
        name: kernel.declaration.name.clone(),
        registers: general.max().unwrap_or(0).max(least) + registers::RESERVED,
        frame: kernel.local,
        spilled: kernel.spilled,
        shared: kernel.layout.shared_bytes,
        instructions,
        variables,
    }
}

fn kernel<'a>(
    bodies: &Bodies<'a>,
    id: FuncId,
    options: Options,
) -> Result<emit::Kernel<'a>, Vec<Diagnostic>> {
    let module = bodies.module;
    let declaration = &module.functions[id.index()];
    let refuse = |code, what: &str| {
        let text = format!("the kernel `{}` {what}", declaration.name);
        vec![Diagnostic::error(code, declaration.span, text)]
    };
    if declaration.bounds.blocks_are_clusters {
        let what = "has clusters for blocks, which is not compiled to a cubin yet";
        return Err(refuse(codes::DECLARATION, what));
    }
    // Who looks for variables wants one place for each instruction.
    let rounds = if options.variables { 1 } else { options.tuning.rounds };
    let tuning = Tuning { rounds, ..options.tuning };
    let limit = registers::limit(&declaration.bounds, options.max_registers, tuning.registers);
    let layout = layout::Layout::new(module, id, options.target, options.relocatable)?;
    let waits = match options.level {
        Level::Serial => optimise::Waits::Anywhere,
        Level::Overlapped => optimise::waits(bodies, id),
    };
    // Predicates first where they are fastest; in general registers if there are too many.
    // Values that are computed once live longer: the last attempt computes them where they are needed.
    // Unrolled loops come before both, where nothing is spilled for them.
    let optimises = options.level == Level::Overlapped;
    let attempts = [
        (true, false, true),
        (false, false, true),
        (false, true, true),
        (false, false, false),
        (false, true, false),
    ];
    let mut has_unrolled = true;
    for (unrolls, spread, sharing) in attempts {
        if unrolls && (!optimises || tuning.rounds == 1) || sharing && !(unrolls || spread || has_unrolled) {
            continue;
        }
        let rounds = if unrolls { tuning.rounds } else { 1 };
        let choices = select::Choices { spread, rounds, waits: &waits, notes: options.variables };
        let mut selected = select::select(bodies, &layout, id, choices)?;
        has_unrolled = selected.has_unrolled;
        if options.level == Level::Overlapped {
            selected.code.note_reference();
            // What calls functions of the driver is only tidied: it names registers of the hardware.
            // So is a function that other modules call.
            match sharing && selected.code.externs().next().is_none() && !selected.code.keeps {
                true => optimise::optimise(&mut selected.code, waits.any(), &tuning),
                false => optimise::tidy(&mut selected.code),
            }
        }
        let missing = spelling::settle(&mut selected.code);
        if !missing.is_empty() {
            return Err(select::refusals(module, id, missing));
        }
        let given = registers::give(&mut selected, limit);
        let open = if selected.is_open { OPEN_STACK } else { 0 };
        let local = selected.frames.iter().sum::<u64>() + selected.handed_over + open;
        if local > MOST_LOCAL || layout.shared_bytes > MOST_SHARED {
            let what = "has more local or static shared memory than a kernel may have";
            return Err(refuse(codes::RESOURCES, what));
        }
        let (allocation, spilled) = match given {
            Ok((_, spilled)) if has_unrolled && spilled != Traffic::default() => continue,
            Err(_) if has_unrolled => continue,
            Ok(given) => given,
            Err(Shortage::Predicates) if !spread => continue,
            Err(Shortage::Predicates | Shortage::General(_)) if sharing && optimises => continue,
            Err(Shortage::General(_)) => {
                let what = format!("has values that {limit} registers do not hold");
                return Err(refuse(codes::RESOURCES, &what));
            }
            Err(Shortage::Predicates) => {
                return Err(refuse(codes::RESOURCES, "needs more than 7 predicates at once"));
            }
            Err(Shortage::Memory) => {
                let what = "has too many values in too many blocks to be followed";
                return Err(refuse(codes::RESOURCES, what));
            }
        };
        if options.level == Level::Overlapped && local == 0 {
            optimise::without_stack(&mut selected.code);
        }
        products::settle(&mut selected.code, &allocation);
        let clashes = || verify::clashes(&selected.code, &allocation);
        debug_assert_eq!(clashes(), [], "registers of `{}`", declaration.name);
        collectives::settle(&mut selected.code);
        let select::Selected { code, frames, .. } = selected;
        return Ok(emit::Kernel { id, declaration, layout, code, allocation, frames, local, spilled });
    }
    Err(vec![])
}
