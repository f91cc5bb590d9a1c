//! `.kernel name, bytes...`: the sections that a kernel needs, by the conventions of ptxas 13. `align@(n)` before a size says how its
//! parameter is aligned, `stack@(n)` how many bytes of local memory the kernel has, `barriers@(auto)` that it names barriers, and
//! `extern@(f)` that it calls a function that the driver provides, `linked@(f)` one that a linker finds.
//! `.function name` is the same for a function that a linker takes, which has no parameters of this kind and no bounds.
//! What it says about its launches stands there too: [`Bounds`].

use super::draft::{Body, Draft, Item, Section};
use crate::codes::{self, Findings};
use crate::defaults::RELOCATABLE;
use crate::info;
use crate::syntax::{self, Argument, Expression, Line};
use cubin::elf::section as kind;
use ptx::source::Span;
use std::fmt::Write;

/// Where parameters begin in constant bank 0.
pub const fn parameters_at(sm: u32) -> u64 {
    match sm {
        100.. => 0x380,
        90.. => 0x210,
        _ => 0x160,
    }
}

/// Where a parameter lies behind those that end at a byte, counted from the first one. It is aligned in the bank, whose address is a multiple of
/// all alignments, and not from the first one on.
pub fn parameter_offset(sm: u32, end: u64, align: u64) -> u64 {
    let base = parameters_at(sm);
    (base + end).next_multiple_of(align) - base
}

/// `EIATTR_FRAME_SIZE` and `EIATTR_MIN_STACK_SIZE`: bytes of the stack. A linker finds the second one out, unless it is there already, and a file for one has
/// `EIATTR_MAX_STACK_SIZE`, of no bytes, in its place.
const FRAME_SIZE: u8 = 0x11;
const MIN_STACK_SIZE: u8 = 0x12;
const MAX_STACK_SIZE: u8 = 0x23;

/// Where the driver reads which function calls which.
const CALL_GRAPH: &str = ".nv.callgraph";

/// Words of the tool's note before its strings.
const TOOL_WORDS: usize = 6;

/// No kernel has more bytes of parameters.
const MOST_BYTES: u64 = 32764;

/// What a kernel says about its launches. `maxntid@(n)`, `reqntid@(n)` and `cluster@(n)` stand there once for each axis, x first;
/// `maxcluster@(n)`, `maxreg@(n)` and `cluster@(explicit)` once.
#[derive(Default)]
struct Bounds {
    /// Attributes with their words.
    words: Vec<(&'static str, Vec<i128>)>,
    explicit_cluster: bool,
    registers: Option<i128>,
}

impl Bounds {
    /// Takes an argument, if it is one of these.
    fn take(&mut self, name: &str, value: &Expression) -> bool {
        let attribute = match (name, value) {
            ("maxntid", Expression::Number(_)) => "EIATTR_MAX_THREADS",
            ("reqntid", Expression::Number(_)) => "EIATTR_REQNTID",
            ("cluster", Expression::Number(_)) => "EIATTR_CTA_PER_CLUSTER",
            ("maxcluster", Expression::Number(_)) => "EIATTR_MAX_CLUSTER_RANK",
            ("maxreg", &Expression::Number(registers @ 1..=255)) => {
                self.registers = Some(registers);
                return true;
            }
            ("cluster", Expression::Name(explicit)) if explicit == "explicit" => {
                self.explicit_cluster = true;
                return true;
            }
            _ => return false,
        };
        let &Expression::Number(number @ 1..=0x7fff_ffff) = value else { return false };
        match self.words.iter_mut().find(|(name, _)| *name == attribute) {
            Some((_, words)) => words.push(number),
            None => self.words.push((attribute, vec![number])),
        }
        true
    }

    fn attributes(&self, out: &mut String) {
        for (attribute, words) in &self.words {
            let words: Vec<_> = words.iter().map(|word| format!("{word:#x}")).collect();
            let _ = writeln!(out, ".attr {attribute}, {}", words.join(", "));
        }
        if self.explicit_cluster {
            out.push_str(".attr.none EIATTR_EXPLICIT_CLUSTER, 0x0\n");
        }
    }
}

/// Whom a function calls, and whether it is a kernel.
#[derive(Default)]
struct Called<'a> {
    is_kernel: bool,
    functions: Vec<&'a str>,
    /// The driver has some of them.
    provided: bool,
    /// The begin of the call graph.
    graph: String,
}

/// What opens the sections of a kernel, the one of its code last. The arguments behind the name are the sizes of its parameters,
/// each of which stands in the bank at a multiple of its size, or of 16 if it is larger.
pub(super) fn open(
    draft: &mut Draft,
    is_kernel: bool,
    list: &[Argument],
    span: Span,
    findings: &mut Findings,
) -> Option<Vec<Line>> {
    let Some(name) = list.first().and_then(|argument| argument.expression.name()) else {
        findings.error(codes::ARGUMENT, span, "the kernel's name is missing");
        return None;
    };
    let mut sizes = Vec::new();
    let mut offsets = Vec::new();
    let mut end: u64 = 0;
    let (mut stated, mut stack, mut barriers) = (None, 0, false);
    let mut called = Called { is_kernel, ..Called::default() };
    let mut bounds = Bounds::default();
    for argument in &list[1..] {
        match &argument.expression {
            Expression::Number(size @ 1..=4096) => {
                let size = *size as u64;
                let align = stated.take().unwrap_or((1_u64 << size.trailing_zeros()).min(16));
                let offset = parameter_offset(draft.target(), end, align);
                sizes.push(size);
                offsets.push(offset);
                end = offset + size;
            }
            Expression::Function(what, inner) => match (what.as_str(), &**inner) {
                ("align", Expression::Number(align @ (1 | 2 | 4 | 8 | 16 | 32 | 64 | 128))) => {
                    stated = Some(*align as u64);
                }
                ("barriers", Expression::Name(auto)) if auto == "auto" => barriers = true,
                ("stack", Expression::Number(bytes @ 0..=0x80_0000)) => stack = *bytes,
                ("extern", Expression::Name(function) | Expression::Text(function)) => {
                    called.provided = true;
                    called.functions.push(function.as_str());
                }
                ("linked", Expression::Name(function) | Expression::Text(function)) => {
                    called.functions.push(function.as_str());
                }
                (what, value) if bounds.take(what, value) => {}
                _ => {
                    findings.error(
                        codes::ARGUMENT,
                        argument.span,
                        "only `align@(n)`, `stack@(n)`, `barriers@(auto)`, `extern@(f)`, `linked@(f)` and bounds of launches can stand here",
                    );
                    return None;
                }
            },
            _ => {
                findings.error(codes::RANGE, argument.span, "a parameter has 1 to 4096 bytes");
                return None;
            }
        }
    }
    if !is_kernel && end > 0 {
        findings.error(codes::ARGUMENT, span, "a function's parameters stand in registers");
        return None;
    }
    if end > MOST_BYTES {
        findings.error(codes::RANGE, span, "the parameters have more bytes than a kernel may have");
        return None;
    }
    let name = name.to_owned();
    about(draft, &name, stack, span);
    called.graph = call(draft, &name, &called.functions, span);
    let text = sections(draft, &name, (&sizes, &offsets, end), barriers, &called, &bounds);
    let mut inner = Findings::default();
    let mut lines = syntax::parse(&text, &mut inner);
    for line in &mut lines {
        line.span = span;
        if let syntax::Statement::Directive { arguments, .. } = &mut line.statement {
            arguments.iter_mut().for_each(|argument| argument.span = span);
        }
    }
    Some(lines)
}

/// Puts what the file says about the function into `.nv.info`, wherever that stands.
fn about(draft: &mut Draft, name: &str, stack: i128, span: Span) {
    let section = draft.section(".nv.info").unwrap_or_else(|| {
        draft.add_section(Section {
            name: ".nv.info".to_owned(),
            span,
            kind: kind::CUDA_INFO,
            align: 4,
            ..Section::default()
        })
    });
    let is_linked = draft.header.as_ref().is_some_and(|header| header.kind == RELOCATABLE);
    let argument = |expression| Argument { expression, span };
    let symbol = || argument(index(name));
    let stack = || argument(Expression::Number(stack));
    let rows = [
        (info::REGISTERS, argument(Expression::Name("auto".to_owned()))),
        (FRAME_SIZE, stack()),
        match is_linked {
            true => (MAX_STACK_SIZE, argument(Expression::Number(0))),
            false => (MIN_STACK_SIZE, stack()),
        },
    ];
    for (attribute, value) in rows {
        let body = Body::Attribute(attribute, vec![symbol(), value]);
        draft.sections[section].items.push(Item { body, span });
    }
}

/// The number of a symbol.
fn index(name: &str) -> Expression {
    Expression::Function("index".to_owned(), Box::new(Expression::Name(name.to_owned())))
}

/// Puts calls into the call graph, which has pairs of numbers: caller and callee. What begins and ends it is about calls through registers, of which
/// it has none. Where it is not there yet, it comes back as text: nvlink takes none in front of the notes.
fn call(draft: &mut Draft, name: &str, functions: &[&str], span: Span) -> String {
    if functions.is_empty() {
        return String::new();
    }
    let Some(section) = draft.section(CALL_GRAPH) else {
        let mut out =
            format!(".section {CALL_GRAPH},\"\",@\"SHT_CUDA_CALLGRAPH\"\n.sectionentsize 8\n.align 4\n");
        out.push_str(".word 0x0, 0xffffffff\n");
        for function in functions {
            let [caller, callee] = [name, function].map(syntax::quoted);
            let _ = writeln!(out, ".word index@({caller}), index@({callee})");
        }
        out.push_str(".word 0x0, 0xfffffffe, 0x0, 0xfffffffd, 0x0, 0xfffffffc\n");
        return out;
    };
    let pair = |function: &&str| Item {
        body: Body::Values(
            4,
            [name, function].map(|name| Argument { expression: index(name), span }).to_vec(),
        ),
        span,
    };
    let items = &mut draft.sections[section].items;
    let first = items.iter().position(|item| matches!(item.body, Body::Values(..)));
    let at = first.map_or(0, |first| first + 1);
    items.splice(at..at, functions.iter().map(pair));
    String::new()
}

/// The note about the tool that made the file, of type 2000: a version, the places of five strings in what follows, and
/// the strings: object, tool, version, build, options.
fn tool_note() -> String {
    let version = concat!("release ", env!("CARGO_PKG_VERSION"));
    let strings = ["", "warploom", version, "", "cuasm"];
    let mut places = Vec::new();
    let mut size = 0;
    for text in strings {
        places.push(format!("{size:#x}"));
        size += text.len() + 1;
    }
    let padded = size.next_multiple_of(4);
    let mut out = String::from(".section .note.nv.tkinfo,\"\",@note\n.__section_flags 0x2000000\n.align 4\n");
    let _ = writeln!(out, ".word 0xc, {:#x}, 0x7d0\n.string \"NVIDIA Corp\"", TOOL_WORDS * 4 + padded);
    let _ = writeln!(out, ".word 0x2, {}", places.join(", "));
    for text in strings {
        let _ = writeln!(out, ".string {}", syntax::string(text));
    }
    let _ = writeln!(out, ".zero {}", padded - size);
    out
}

fn sections(
    draft: &Draft,
    name: &str,
    (sizes, offsets, end): (&[u64], &[u64], u64),
    barriers: bool,
    called: &Called<'_>,
    bounds: &Bounds,
) -> String {
    let sm = draft.target();
    let base = parameters_at(sm);
    let symbol = syntax::quoted(name);
    let named = |prefix: &str| syntax::quoted(&format!("{prefix}.{name}"));
    let mut out = String::new();
    // The driver refuses a cubin of this ABI without these two notes.
    if draft.section(".note.nv.tkinfo").is_none() {
        out.push_str(&tool_note());
    }
    if draft.section(".note.nv.cuinfo").is_none() {
        // A note of type 1000: a version, the virtual architecture, the toolkit (13.0), nothing.
        out.push_str(".section .note.nv.cuinfo,\"\",@note\n.__section_link .note.nv.tkinfo\n");
        match sm {
            90.. => out.push_str(".__section_flags 0x1000040\n.__section_info .nv.compat\n"),
            _ => out.push_str(".__section_flags 0x1000000\n"),
        }
        let _ = writeln!(
            out,
            ".align 4\n.word 0xc, 0x8, 0x3e8\n.string \"NVIDIA Corp\"\n.short 0x2, {sm:#x}, 0x82, 0x0"
        );
    }
    if sm >= 90 && draft.section(".nv.compat").is_none() {
        out.push_str(".section .nv.compat,\"\",@\"SHT_CUDA_COMPAT_INFO\"\n.align 4\n");
        // What ptxas 13.0 writes; attributes 2 and 11 depend on the family.
        let family = if sm >= 120 { 2 } else { 1 };
        let devices = match sm {
            120.. => 0x50,
            100.. => 1,
            _ => 0,
        };
        let _ =
            writeln!(out, ".byte 0x02, 0x09, 0x00, 0x00, 0x02, 0x02, {family}, 0x00, 0x02, 0x05, 0x05, 0x00");
        let _ = writeln!(out, ".byte 0x03, 0x07, 0x01, 0x01, 0x02, 0x03, 0x00, 0x00, 0x02, 0x06, 0x01, 0x00");
        let _ = writeln!(
            out,
            ".byte 0x04, 0x0b, 0x08, 0x00, {devices}, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00"
        );
    }
    out.push_str(&called.graph);
    let _ = write!(out, ".section {},\"I\",@\"SHT_CUDA_INFO\"\n.align 4\n", named(".nv.info"));
    out.push_str(".attr EIATTR_CUDA_API_VERSION, 0x82\n");
    for (ordinal, (size, offset)) in sizes.iter().zip(offsets).enumerate().rev() {
        let place = ordinal as u64 | offset << 16;
        // The lower bits are what ptxas writes for every parameter.
        let _ = writeln!(out, ".attr EIATTR_KPARAM_INFO, 0x0, {place:#x}, {:#x}", size << 18 | 0x1f000);
    }
    bounds.attributes(&mut out);
    let registers = bounds.registers.unwrap_or(0xff);
    if sm >= 90 {
        out.push_str(".attr.half EIATTR_SPARSE_MMA_MASK, 0x0\n");
    }
    if called.is_kernel {
        let _ = writeln!(out, ".attr.half EIATTR_MAXREG_COUNT, {registers:#x}");
    }
    if sm >= 90 {
        // EIATTR_MERCURY_ISA_VERSION
        out.push_str(".attr.half 0x5f, 0x101\n");
    }
    if sm >= 100 {
        out.push_str(".attr.byte EIATTR_VRC_CTA_INIT_COUNT, 0x0\n");
    }
    if barriers {
        out.push_str(".attr.byte EIATTR_NUM_BARRIERS, auto\n");
    }
    if !called.functions.is_empty() {
        let numbers = called.functions.iter().map(|name| format!("index@({})", syntax::quoted(name)));
        let _ = writeln!(out, ".attr EIATTR_EXTERNS, {}", numbers.collect::<Vec<_>>().join(", "));
    }
    if called.provided {
        out.push_str(".attr EIATTR_SYSCALL_OFFSETS, offsets\n");
    }
    if called.is_kernel {
        out.push_str(".attr EIATTR_EXIT_INSTR_OFFSETS, auto\n");
        let _ = writeln!(out, ".attr.half EIATTR_CBANK_PARAM_SIZE, {end:#x}");
    }
    if sm >= 90 {
        let workarounds = if sm >= 120 { 0 } else { 8 };
        // EIATTR_SW_WAR
        let _ = writeln!(out, ".attr 0x36, {workarounds:#x}");
    }
    if called.is_kernel {
        let constant = named(".nv.constant0");
        let _ = writeln!(out, ".attr EIATTR_PARAM_CBANK, index@({constant}), {:#x}", end << 16 | base);
        let _ = writeln!(out, ".section {constant},\"aI\",@progbits\n.align 4\n.zero {}", base + end);
    }
    let _ = writeln!(out, ".section {},\"ax\",@progbits\n.align 128", named(".text"));
    let _ = writeln!(out, ".global {symbol}\n.type {symbol},@function");
    if called.is_kernel {
        let _ = writeln!(out, ".other {symbol},@\"STO_CUDA_ENTRY STV_DEFAULT\"");
    }
    for function in called.functions.iter().map(|name| syntax::quoted(name)) {
        let _ = writeln!(out, ".global {function}\n.type {function},@function");
    }
    let _ = writeln!(out, "{symbol}:");
    out
}
