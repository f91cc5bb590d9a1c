//! A module's kernels as pieces of cuasm, which [`cuasm`] makes a cubin of.

use crate::allocate::Allocation;
use crate::code::{Code, Instruction, Line, Operand, Shown};
use crate::layout::Layout;
use crate::schedule::{self, Level};
use crate::select::function_number;
use crate::spill::Traffic;
use crate::{Made, allocate};
use cuasm::Program;
use debug_info::machine_code::{Section, Symbol as Addressed};
use ptx::module::{
    FuncId, Function, FunctionKind, LaunchBounds, Linkage, Module, Relocation, Symbol, VarId, Variable,
};
use ptx::types::StateSpace;
use sass::Control;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Bytes of an instruction, and what sections of code are multiples of.
const INSTRUCTION: u64 = 16;
const SECTION: u64 = 128;

/// Bytes of the code of so many instructions, with the branch behind its end and what fills it up.
pub(crate) fn code_bytes(instructions: usize) -> u64 {
    ((instructions as u64 + 1) * INSTRUCTION).next_multiple_of(SECTION)
}

/// What stands for the negative size of a routine's frame until it is known, and for the size.
pub(crate) const FRAME: &str = "FRAME";
pub(crate) const END_OF_FRAME: &str = "END_OF_FRAME";

/// A kernel that has all its registers.
pub(crate) struct Kernel<'a> {
    pub(crate) id: FuncId,
    pub(crate) declaration: &'a Function,
    pub(crate) layout: Layout,
    pub(crate) code: Code,
    pub(crate) allocation: Allocation,
    /// Bytes of local memory of the kernel itself and of each routine, and altogether.
    pub(crate) frames: Vec<u64>,
    pub(crate) local: u64,
    pub(crate) spilled: Traffic,
}

/// How variables are written for a device; a linker wants to know what memory they are in.
const OBJECT: &str = "object";
const OF_LINKER: &str = "\"STT_CUDA_OBJECT\"";

/// Bits of a symbol beside its visibility, for a linker: which memory it is in.
fn memory(space: StateSpace) -> u8 {
    match space {
        StateSpace::Const => 0x80,
        StateSpace::Shared => 0x40,
        _ => 0x20,
    }
}

fn of_space(module: &Module, space: StateSpace) -> impl Iterator<Item = (VarId, &Variable)> {
    let all = module.variables.iter().enumerate().filter(move |(_, variable)| variable.space == space);
    all.map(|(index, variable)| (VarId(index as u32), variable))
}

/// Variables, as sections of the whole module.
pub(crate) fn variables(module: &Module, layout: &Layout, out: &mut String) {
    let linked = layout.relocatable;
    let kinds = match linked {
        true => ["\"SHT_CUDA_GLOBAL_INIT\"", "\"SHT_CUDA_GLOBAL\"", "\"SHT_CUDA_CONSTANT_B3\""],
        false => ["progbits", "nobits", "progbits"],
    };
    for (section, kind, initialised) in [(".nv.global.init", kinds[0], true), (".nv.global", kinds[1], false)]
    {
        let mut opened = false;
        for (id, variable) in of_space(module, StateSpace::Global) {
            let zero = variable.init.iter().all(|&byte| byte == 0) && variable.relocations.is_empty();
            if zero == initialised || variable.linkage == Linkage::Extern {
                continue;
            }
            if !opened {
                let _ = writeln!(out, "\t.section\t{section},\"aw\",@{kind}");
                opened = true;
            }
            let Some(name) = layout.symbol(id) else { continue };
            symbol(out, name, variable, linked);
            let bytes = if initialised { initial(module, layout, variable) } else { Vec::new() };
            data(out, &bytes, variable.size, &addresses(module, layout, variable));
        }
    }
    let mut opened = false;
    for placed in &layout.constants {
        let variable = &module.variables[placed.id.index()];
        if variable.linkage == Linkage::Extern {
            continue;
        }
        if !opened {
            let _ = writeln!(out, "\t.section\t.nv.constant3,\"a\",@{}", kinds[2]);
            opened = true;
        }
        symbol(out, layout.symbol(placed.id).unwrap_or(&variable.name), variable, linked);
        let bytes = initial(module, layout, variable);
        data(out, &bytes, variable.size, &addresses(module, layout, variable));
    }
    if linked {
        shared(module, layout, None, out);
        elsewhere(module, layout, out);
    }
}

/// Variables in shared memory for a linker to place: those of a kernel, or those that several may use. A symbol says how its variable is aligned, and
/// not where it is.
fn shared(module: &Module, layout: &Layout, kernel: Option<FuncId>, out: &mut String) {
    let is_kernels =
        |id: Option<FuncId>| id.filter(|id| module.functions[id.index()].kind == FunctionKind::Entry);
    let mut own: Vec<_> = of_space(module, StateSpace::Shared)
        .filter(|(_, variable)| {
            is_kernels(variable.function) == kernel
                && !variable.unsized_array
                && variable.linkage != Linkage::Extern
        })
        .collect();
    own.sort_by_key(|(_, variable)| variable.align.max(1));
    let Some((_, last)) = own.last() else { return };
    let align = u64::from(last.align.max(1));
    let (section, flags) = match kernel {
        Some(id) => (format!(".nv.shared.{}", module.functions[id.index()].name), "awI"),
        None => (".nv_debug.shared".to_owned(), "aw"),
    };
    let _ = writeln!(out, "\t.section\t\"{section}\",\"{flags}\",@\"SHT_CUDA_SHARED\"\n\t.align\t{align}");
    let (mut at, mut bytes) = (0, 0_u64);
    for (id, variable) in own {
        let align = u64::from(variable.align.max(1));
        bytes = bytes.next_multiple_of(align) + variable.size;
        let Some(name) = layout.symbol(id) else { continue };
        if at < align {
            let _ = writeln!(out, "\t.zero\t{}", align - at);
            at = align;
        }
        declare(out, name, variable, true);
        let _ = writeln!(out, "\t.size\t\"{name}\",{:#x}\n\"{name}\":", variable.size);
    }
    let _ = writeln!(out, "\t.zero\t{}", bytes.max(align) - at);
}

/// What other modules define, or what has no size until a launch.
fn elsewhere(module: &Module, layout: &Layout, out: &mut String) {
    for space in [StateSpace::Global, StateSpace::Const, StateSpace::Shared] {
        for (id, variable) in of_space(module, space) {
            let is_open = space == StateSpace::Shared && variable.unsized_array;
            let Some(name) = layout.symbol(id).filter(|_| variable.linkage == Linkage::Extern || is_open)
            else {
                continue;
            };
            declare(out, name, variable, true);
            let _ = writeln!(out, "\t.size\t\"{name}\",{:#x}", if is_open { 0 } else { variable.size });
        }
    }
}

/// Sections about the lines and variables of the kernels.
pub(crate) fn debug(module: &Module, layout: &Layout, sections: &[Section], out: &mut String) {
    for section in sections {
        let _ = writeln!(out, "\t.section\t{},\"\",@progbits\n\t.align\t1", section.name);
        let mut done = 0;
        for address in &section.addresses {
            bytes(out, &section.bytes[done..address.place]);
            done = address.place;
            // A variable in constant memory has a generic address, as ptxas writes it.
            let (kind, name) = match address.symbol {
                Addressed::Kernel(id) => ("R_CUDA_64", module.functions[id.index()].name.as_str()),
                Addressed::Variable(id) => {
                    let variable = &module.variables[id.index()];
                    let name = layout.symbol(id).unwrap_or(&variable.name);
                    (if variable.space == StateSpace::Const { "R_CUDA_G64" } else { "R_CUDA_64" }, name)
                }
            };
            let _ = writeln!(out, "\t.reloc\t{kind}, \"{name}\" + {}", address.offset);
        }
        bytes(out, &section.bytes[done..]);
    }
}

fn bytes(out: &mut String, bytes: &[u8]) {
    for row in bytes.chunks(16) {
        let row: Vec<_> = row.iter().map(|byte| format!("{byte:#04x}")).collect();
        let _ = writeln!(out, "\t.byte\t{}", row.join(", "));
    }
}

/// What a symbol is.
fn declare(out: &mut String, name: &str, variable: &Variable, linked: bool) {
    let binding = match variable.linkage {
        Linkage::Internal => ".local",
        Linkage::Weak | Linkage::Common => ".weak",
        Linkage::Visible | Linkage::Extern => ".global",
    };
    let kind = if linked { OF_LINKER } else { OBJECT };
    let _ = writeln!(out, "\t{binding}\t\"{name}\"\n\t.type\t\"{name}\",@{kind}");
    if linked {
        let _ = writeln!(out, "\t.other\t\"{name}\",{:#x}", memory(variable.space));
    }
}

fn symbol(out: &mut String, name: &str, variable: &Variable, linked: bool) {
    let _ = writeln!(out, "\t.align\t{}", variable.align.max(1));
    declare(out, name, variable, linked);
    let _ = writeln!(out, "\t.size\t\"{name}\",(\"{name}$end\" - \"{name}\")\n\"{name}\":");
}

/// A variable's initial bytes, with the numbers of functions and the places in the constant bank in them.
fn initial(module: &Module, layout: &Layout, variable: &Variable) -> Vec<u8> {
    let mut bytes = variable.init.clone();
    for relocation in &variable.relocations {
        let end = relocation.offset as usize + relocation.bytes as usize;
        bytes.resize(bytes.len().max(end.min(variable.size as usize)), 0);
        let number = match relocation.target {
            Symbol::Function(id) => function_number(id),
            Symbol::Variable(id) if is_place(module, layout, id, relocation) => match layout.constant(id) {
                Some(place) => place,
                None => continue,
            },
            Symbol::Variable(_) => continue,
        };
        let number = number.wrapping_add_signed(relocation.addend).to_le_bytes();
        if let Some(place) = bytes.get_mut(relocation.offset as usize..end) {
            place.copy_from_slice(&number[..relocation.bytes as usize]);
        }
    }
    bytes
}

/// Whether what is asked for is where a variable lies in its bank of constants, which is known here.
fn is_place(module: &Module, layout: &Layout, id: VarId, relocation: &Relocation) -> bool {
    module.variables[id.index()].space == StateSpace::Const && !relocation.generic && !layout.relocatable
}

/// The relocations of a variable's initial value, as directives, by their places.
fn addresses(module: &Module, layout: &Layout, variable: &Variable) -> BTreeMap<usize, String> {
    let of = |relocation: &Relocation| {
        let target = match relocation.target {
            Symbol::Variable(id) if !is_place(module, layout, id, relocation) => id,
            _ => return None,
        };
        let symbol = layout.symbol(target).unwrap_or(&module.variables[target.index()].name);
        let kind = match (relocation.generic, relocation.bytes) {
            (true, 8) => "R_CUDA_G64",
            (true, _) => "R_CUDA_G32",
            (false, 8) => "R_CUDA_64",
            (false, _) => "R_CUDA_32",
        };
        Some((
            relocation.offset as usize,
            format!("\t.reloc\t{kind}, \"{symbol}\" + {}\n", relocation.addend),
        ))
    };
    variable.relocations.iter().filter_map(of).collect()
}

fn data(out: &mut String, bytes: &[u8], size: u64, addresses: &BTreeMap<usize, String>) {
    // A relocation stands in front of the bytes that it is for.
    let mut starts: Vec<usize> = addresses.keys().copied().chain((0..bytes.len()).step_by(16)).collect();
    starts.sort_unstable();
    starts.dedup();
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(bytes.len());
        out.push_str(addresses.get(&start).map_or("", String::as_str));
        self::bytes(out, &bytes[start..end]);
    }
    let rest = size.saturating_sub(bytes.len() as u64);
    if rest > 0 {
        let _ = writeln!(out, "\t.zero\t{rest}");
    }
    let name =
        out.rfind("\":\n").and_then(|end| out[..end].rfind('"').map(|start| out[start + 1..end].to_owned()));
    if let Some(name) = name {
        let _ = writeln!(out, "\"{name}$end\":");
    }
}

/// What is written: for the assembler, and as text where somebody wants to read it.
#[derive(Default)]
pub(crate) struct Out {
    pub(crate) program: Program,
    pub(crate) text: Option<String>,
}

impl Out {
    /// Directives.
    pub(crate) fn directives(&mut self, lines: &str) {
        self.program.text(lines);
        self.text.iter_mut().for_each(|text| text.push_str(lines));
    }

    fn label(&mut self, name: String) {
        if let Some(text) = &mut self.text {
            let quote = if name.ends_with('#') { "\"" } else { "" };
            let _ = writeln!(text, "{quote}{name}{quote}:");
        }
        self.program.label(name);
    }

    fn instruction(&mut self, control: Control, instruction: String) {
        if let Some(text) = &mut self.text {
            let _ = writeln!(text, "{control} {instruction} ;");
        }
        self.program.instruction(control, instruction);
    }
}

/// Writes one kernel's sections, and says what its instructions are for, and how many there are in front of each line of its code. Labels
/// of all kernels are numbered on from `labels`.
pub(crate) fn kernel(
    module: &Module,
    kernel: &Kernel<'_>,
    level: Level,
    labels: &mut u32,
    out: &mut Out,
) -> (Vec<Made>, Vec<u32>) {
    let name = &kernel.declaration.name;
    let mut arguments = String::new();
    let is_kernel = kernel.declaration.kind == FunctionKind::Entry;
    for parameter in kernel.layout.parameters.iter().filter(|_| is_kernel) {
        let _ = write!(arguments, ", align@({}), {}", parameter.align, parameter.size);
    }
    arguments.push_str(&bounds(&kernel.declaration.bounds));
    if kernel.local > 0 {
        let _ = write!(arguments, ", stack@({})", kernel.local);
    }
    let barrier = |line: &Line| matches!(line, Line::Instruction(one) if one.name.starts_with("BAR."));
    if kernel.code.lines.iter().any(barrier) {
        arguments.push_str(", barriers@(auto)");
    }
    // Of a file for a linker nobody asks where functions of the driver are called.
    let called = if kernel.layout.relocatable { "linked" } else { "extern" };
    for function in kernel.code.externs() {
        let _ = write!(arguments, ", {called}@(\"{function}\")");
    }
    let directive = if is_kernel { ".kernel" } else { ".function" };
    out.directives(&format!("\t{directive}\t\"{name}\"{arguments}\n"));
    if !is_kernel && kernel.declaration.linkage == Linkage::Weak {
        out.directives(&format!("\t.weak\t\"{name}\"\n"));
    }
    let base = *labels;
    let issues = schedule::issues(level, &kernel.code, &kernel.allocation);
    let in_use = out.text.as_ref().map(|_| allocate::in_use(&kernel.code));
    // A text shows at the operands which are kept; the assembler takes it from the control code.
    let shown = if out.text.is_some() { u8::MAX } else { 0 };
    let mut made = Vec::new();
    let mut starts = Vec::with_capacity(issues.len() + 1);
    let mut frames = kernel.frames.iter();
    let mut frame = frames.next().copied().unwrap_or(0);
    for (at, (line, issue)) in kernel.code.lines.iter().zip(&issues).enumerate() {
        starts.push(made.len() as u32);
        if kernel.code.is_routine(line) {
            frame = frames.next().copied().unwrap_or(0);
        }
        let one = match line {
            Line::Label(label) => {
                *labels = (*labels).max(base + label.0);
                out.label(format!(".L_x_{}", base + label.0));
                continue;
            }
            Line::Instruction(one) => one,
        };
        if let (true, Some(Operand::Text(callee))) = (one.name.starts_with("CALL.ABS"), one.operands.first())
        {
            match kernel.layout.relocatable {
                true => out.directives(&format!("\t.reloc\tR_CUDA_ABS55_16_34, \"{callee}\"\n")),
                // The driver reads where it is called.
                false => out.label(format!(".CUASM_OFFSET_LABEL.{name}.EIATTR_SYSCALL_OFFSETS.#")),
            }
        }
        let pauses = issue.pauses.iter().map(|&control| (control, "NOP".to_owned()));
        for (control, text) in
            [(issue.control, instruction(one, issue.control.reuse & shown, kernel, (base, frame)))]
                .into_iter()
                .chain(pauses)
        {
            made.push(Made {
                text: if out.text.is_some() { format!("{control} {text} ;") } else { String::new() },
                origin: one.origin,
                spills: one.spills.is_some(),
                registers: in_use.as_ref().map_or(0, |in_use| in_use[at]),
            });
            out.instruction(control, text);
        }
    }
    starts.push(made.len() as u32);
    *labels += 1;
    let end = *labels;
    out.label(format!(".L_x_{end}"));
    let at_once = Control { yield_flag: true, stall: 0, ..Control::default() };
    out.instruction(at_once, format!("BRA `(.L_x_{end})"));
    if kernel.layout.relocatable {
        let mut variables = String::new();
        shared(module, &kernel.layout, Some(kernel.id), &mut variables);
        out.directives(&variables);
    } else if kernel.layout.shared_bytes > 0 {
        let bytes = kernel.layout.shared_bytes + u64::from(kernel.layout.target.system_shared);
        out.directives(&format!(
            "\t.section\t\".nv.shared.{name}\",\"awI\",@nobits\n\t.align\t16\n\t.zero\t{bytes}\n"
        ));
    }
    (made, starts)
}

/// What the kernel says about its launches.
fn bounds(bounds: &LaunchBounds) -> String {
    let mut out = String::new();
    let mut axes = |name: &str, axes: Option<[u32; 3]>| {
        for axis in axes.into_iter().flatten() {
            let _ = write!(out, ", {name}@({axis})");
        }
    };
    axes("maxntid", bounds.max_ntid);
    axes("reqntid", bounds.req_ntid);
    axes("cluster", bounds.req_nctapercluster);
    if let Some(registers) = bounds.max_nreg {
        let _ = write!(out, ", maxreg@({registers})");
    }
    if bounds.explicit_cluster {
        out.push_str(", cluster@(explicit)");
    }
    if let Some(rank) = bounds.max_clusterrank {
        let _ = write!(out, ", maxcluster@({rank})");
    }
    out
}

/// An instruction as cuasm has it, without its control code but for the places whose operands are kept.
fn instruction(one: &Instruction, kept: u8, kernel: &Kernel<'_>, (base, frame): (u32, u64)) -> String {
    let place = |reg| kernel.allocation.of(reg);
    let mut out = String::with_capacity(64);
    if let Some((guard, not)) = one.guard {
        let _ = write!(out, "@{}P{} ", if not { "!" } else { "" }, place(guard));
    }
    // Bits that no text shows stand behind the operands.
    let name = &one.name[..one.name.find(" &").unwrap_or(one.name.len())];
    out.push_str(name);
    for (index, operand) in one.operands.iter().enumerate() {
        out.push_str(if index == 0 { " " } else { ", " });
        let _ = match operand {
            Operand::Text(_) if one.name.starts_with("CALL.ABS") && kernel.layout.relocatable => {
                write!(out, "0x0")
            }
            Operand::Text(text) if text == FRAME || text == END_OF_FRAME => match frame {
                0 => write!(out, "RZ"),
                _ => write!(out, "{}{frame:#x}", if text == FRAME { "-" } else { "" }),
            },
            // The number that a label is, as an address to return to.
            Operand::Target(label) if one.name == "MOV" => write!(out, "32@lo(.L_x_{})", base + label.0),
            Operand::Target(label) => write!(out, "`(.L_x_{})", base + label.0),
            other => write!(out, "{}", Shown(other, &place)),
        };
        let through = index.checked_sub(one.written).map(|source| schedule::place(one.name.head(), source));
        if through.is_some_and(|place| place < 8 && kept >> place & 1 == 1) {
            out.push_str(".reuse");
        }
    }
    // Addresses to return to are counted from the kernel's first instruction.
    if one.name.starts_with("RET.REL") {
        let _ = write!(out, " `(\"{}\")", kernel.declaration.name);
    }
    out.push_str(&one.name[name.len()..]);
    out
}
