//! What stands around a kernel's statements: registers with first values, memory, and how results are stored.
//!
//! | registers | are |
//! | --- | --- |
//! | `%h`, `%r`, `%d` | 16, 32 and 64 bits, written by statements |
//! | `%f`, `%g` | `.f32` and `.f64`, likewise, so that values stay numbers for a while |
//! | `%p` | predicates, likewise |
//! | `%u`, `%v` | 32 and 64 bits, parameters: the same in all threads |
//! | `%thread`, `%gtid`, `%warp`, `%lane`, `%live` | the thread's number in CTA and grid; its warp, lane, and how many lanes the warp has |
//! | `%threads`, `%total`, `%cta` | threads of a CTA and of the grid; the CTA |
//! | `%i`, `%a`, `%test`, `%count`, `%limit` | inside of one statement: indices, addresses, conditions, what loops count, and up to what |
//!
//! | memory | is |
//! | --- | --- |
//! | `input` | [`SECTIONS`] of a kind of values each, only read |
//! | `columns` | [`COLUMNS`] words for each thread; those of neighbours are neighbours |
//! | `rows` | [`ROW`] bytes for each thread |
//! | `cells` | for each operation of [`CELLS`] so many words that all threads update; also in shared memory |
//! | `results` | what registers hold in the end, and the shared cells of each CTA |

use crate::kernel::{Kernel, NESTING};
use conformance::Domain;
use conformance::case::{TARGET, VERSION};
use fastrand::Rng;
use ptx::types::ScalarType;
use std::fmt::Write;

/// Bytes of a section of the input.
pub(crate) const SECTION: u32 = 8192;
/// What the sections hold.
pub(crate) const SECTIONS: [ScalarType; 4] =
    [ScalarType::B32, ScalarType::F32, ScalarType::F64, ScalarType::B64];
/// Words of a thread that lie beside those of other threads.
pub(crate) const COLUMNS: u32 = 4;
/// Bytes of a thread that lie together.
pub(crate) const ROW: u32 = 64;
/// Bytes of a thread in local memory.
pub(crate) const LOCAL: u32 = 64;
/// Bytes of the constant table.
pub(crate) const TABLE: u32 = 256;
/// Cells of an operation, of eight bytes each.
pub(crate) const CELLS: u32 = 16;
/// Operations on cells: in any order they give the same.
pub(crate) const OPERATIONS: [&str; 8] =
    ["add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "add.u64", "max.s64"];

/// A class of registers: its letter, how many there are, and their type.
pub(crate) struct Pool {
    pub(crate) letter: char,
    pub(crate) count: u32,
    pub(crate) bits: u32,
}

const fn pool(letter: char, count: u32, bits: u32) -> Pool {
    Pool { letter, count, bits }
}

/// The classes that statements write; predicates have one bit.
pub(crate) const POOLS: [Pool; 6] = [
    pool('h', 4, 16),
    pool('r', 8, 32),
    pool('d', 5, 64),
    pool('f', 6, 32),
    pool('g', 4, 64),
    pool('p', PREDICATES, 1),
];

const PREDICATES: u32 = 4;

/// Parameters of 32 bits, and of 64.
pub(crate) const UNIFORM: (u32, u32) = (4, 2);

/// Words of a thread's results.
fn results_of_thread() -> u32 {
    POOLS.iter().map(|pool| pool.count).sum()
}

/// Words of a CTA's cells.
const ALL_CELLS: u32 = OPERATIONS.len() as u32 * CELLS;

/// The head of the module.
pub(crate) fn head() -> String {
    let mut random = Rng::with_seed(0);
    let words: Vec<String> = (0..TABLE / 8).map(|_| format!("{:#x}", random.u64(..))).collect();
    format!(
        ".version {VERSION}\n.target {TARGET}\n.address_size 64\n.const .align 16 .b64 table[{}] = {{{}}};\n",
        words.len(),
        words.join(", ")
    )
}

/// Declarations of all registers.
pub(crate) fn registers() -> String {
    let mut text = String::new();
    for Pool { letter, count, bits } in POOLS {
        let ty = if bits == 1 { "pred".to_owned() } else { format!("b{bits}") };
        let _ = writeln!(text, "\t.reg .{ty} %{letter}<{count}>;");
    }
    let (words, doubles) = UNIFORM;
    let _ = writeln!(text, "\t.reg .b32 %u<{words}>, %i<4>, %count<{NESTING}>, %limit<{NESTING}>, %sink;");
    let _ =
        writeln!(text, "\t.reg .b64 %v<{doubles}>, %a<4>, %input, %columns, %rows, %cells, %results, %wide;");
    text.push_str(
        "\t.reg .b32 %thread, %gtid, %warp, %lane, %live, %threads, %total, %cta;\n\t.reg .pred %test;\n",
    );
    text
}

/// First values in a device function: what follows from its arguments.
pub(crate) const FUNCTION_FRAME: &str = "\
\tld.param.b32 %r0, [a];
\tld.param.b64 %d0, [b];
\tmov.u32 %thread, %tid.x;
\tmov.u32 %lane, %laneid;
\tadd.u32 %gtid, %thread, 77;
\tmov.u32 %u0, 3; mov.u32 %u1, 0x80000001; mov.u32 %u2, 17; mov.u32 %u3, 0x3fc00000;
\tmov.u64 %v0, -5; mov.u64 %v1, 0x123456789;
\tadd.u32 %r1, %r0, %thread; mul.lo.u32 %r2, %r0, 0x9e3779b1; cvt.u32.u64 %r3, %d0;
\txor.b32 %r4, %r2, %r3; shr.u32 %r5, %r2, 7; mov.u32 %r6, %thread; not.b32 %r7, %r1;
\tadd.u64 %d1, %d0, 1; mul.wide.u32 %d2, %r0, %r4; not.b64 %d3, %d0; shl.b64 %d4, %d0, 9;
\tcvt.rn.f32.s32 %f0, %r0; cvt.rn.f32.u32 %f1, %thread; mov.b32 %f2, %r2; mov.f32 %f3, 0f3F800000;
\tmul.f32 %f4, %f1, %f1; neg.f32 %f5, %f0;
\tcvt.rn.f64.s32 %g0, %r0; cvt.rn.f64.u32 %g1, %thread; mov.b64 %g2, %d0; neg.f64 %g3, %g1;
\tcvt.u16.u32 %h0, %r0; cvt.u16.u32 %h1, %r2; cvt.u16.u32 %h2, %thread; mov.u16 %h3, 0x3c00;
\tsetp.lt.s32 %p0, %r0, 0; setp.gt.u32 %p1, %thread, 9; setp.ne.b64 %p2, %d0, 0; setp.eq.u32 %p3, %lane, 0;
";

const THREAD_NUMBERS: &str = "\
\tmov.u32 %i0, %tid.x; mov.u32 %i1, %tid.y; mov.u32 %i2, %tid.z;
\tmov.u32 %i3, %ntid.y; mad.lo.u32 %i1, %i2, %i3, %i1;
\tmov.u32 %i3, %ntid.x; mad.lo.u32 %thread, %i1, %i3, %i0;
\tmov.u32 %i0, %ntid.y; mul.lo.u32 %threads, %i3, %i0; mov.u32 %i0, %ntid.z; mul.lo.u32 %threads, %threads, %i0;
\tmov.u32 %cta, %ctaid.x; mad.lo.u32 %gtid, %cta, %threads, %thread;
\tmov.u32 %i0, %nctaid.x; mul.lo.u32 %total, %threads, %i0;
\tshr.u32 %warp, %thread, 5; and.b32 %lane, %thread, 31;
\tshl.b32 %i0, %warp, 5; sub.u32 %i0, %threads, %i0; min.u32 %live, %i0, 32;
";

/// A loop of all threads of the CTA over the cells in shared memory, whose addresses are `%a0`, and numbers `%i0`.
fn each_cell(label: &str, body: &str) -> String {
    format!(
        "\tmov.u32 %i0, %thread;\n{label}:\n\tsetp.ge.u32 %test, %i0, {ALL_CELLS};\n\t@%test bra {label}_end;\n\
         \tmov.u64 %a0, shared_cells; mul.wide.u32 %a1, %i0, 8; add.s64 %a0, %a0, %a1;\n\t{body}\n\
         \tadd.u32 %i0, %i0, %threads;\n\tbra {label};\n{label}_end:\n"
    )
}

/// The kernel around the text of its statements. Registers that these do not name have no first values, and are not stored: accesses to
/// memory are what takes longest to compile.
pub(crate) fn around(kernel: &Kernel, statements: &str, text: &mut String) {
    enter(kernel, statements, text);
    text.push_str(statements);
    leave(kernel, statements, text);
}

/// Whether a text names a register of a class; these have one digit.
fn names(text: &str, letter: char, number: u32) -> bool {
    text.contains(&format!("%{letter}{number}"))
}

fn enter(kernel: &Kernel, statements: &str, text: &mut String) {
    let (words, doubles) = UNIFORM;
    let parameters: Vec<String> = ["input", "columns", "rows", "cells", "results"]
        .iter()
        .map(|name| format!(".param .b64 in_{name}"))
        .chain((0..doubles).map(|i| format!(".param .b64 v{i}")))
        .chain((0..words).map(|i| format!(".param .b32 u{i}")))
        .collect();
    let _ = writeln!(text, ".visible .entry kernel({})\n{{", parameters.join(", "));
    text.push_str(&registers());
    let threads = kernel.threads();
    if kernel.uses.shared {
        let _ = writeln!(text, "\t.shared .align 16 .b8 own[{}], exchange[{}];", threads * 16, threads * 4);
    }
    if kernel.uses.cells {
        let _ = writeln!(text, "\t.shared .align 16 .b8 shared_cells[{}];", ALL_CELLS * 8);
    }
    if kernel.uses.local {
        let _ = writeln!(text, "\t.local .align 16 .b8 stack[{LOCAL}];");
    }
    for name in ["input", "columns", "rows", "cells", "results"] {
        let _ = writeln!(text, "\tld.param.b64 %{name}, [in_{name}];");
    }
    (0..words).for_each(|i| {
        let _ = writeln!(text, "\tld.param.b32 %u{i}, [u{i}];");
    });
    (0..doubles).for_each(|i| {
        let _ = writeln!(text, "\tld.param.b64 %v{i}, [v{i}];");
    });
    text.push_str(THREAD_NUMBERS);
    let memory = first_memory(kernel);
    first_values(&|letter, number| names(statements, letter, number) || names(&memory, letter, number), text);
    text.push_str(&memory);
}

/// First contents of the memory that a kernel uses.
fn first_memory(kernel: &Kernel) -> String {
    let (mut text, threads) = (String::new(), kernel.threads());
    if kernel.uses.shared {
        text.push_str("\tmov.u64 %a0, own; mul.wide.u32 %a1, %thread, 8; add.s64 %a0, %a0, %a1;\n");
        let _ = writeln!(text, "\tst.shared.b64 [%a0], %d0; st.shared.b64 [%a0+{}], %d1;", threads * 8);
        text.push_str("\tmov.u64 %a0, exchange; mul.wide.u32 %a1, %thread, 4; add.s64 %a0, %a0, %a1;\n");
        text.push_str("\tst.shared.b32 [%a0], %r0;\n");
    }
    if kernel.uses.cells {
        text.push_str(&each_cell("first", "mul.wide.u32 %a1, %i0, 0x9e3779b1; st.shared.b64 [%a0], %a1;"));
    }
    if kernel.uses.shared || kernel.uses.cells {
        text.push_str("\tbar.sync 0;\n");
    }
    if kernel.uses.local {
        (0..LOCAL / 8).for_each(|i| {
            let _ = writeln!(text, "\tst.local.b64 [stack+{}], %d{};", i * 8, i % 5);
        });
    }
    text
}

/// Registers from the input that are wanted: some numbers of the thread's own, some the same in all threads, some affine.
fn first_values(wanted: &dyn Fn(char, u32) -> bool, text: &mut String) {
    text.push_str("\tmul.wide.u32 %a0, %gtid, 4; add.s64 %a0, %input, %a0;\n");
    text.push_str("\tmul.wide.u32 %a1, %gtid, 8; add.s64 %a1, %input, %a1;\n");
    for Pool { letter, count, .. } in POOLS {
        // A predicate follows from the word of its number.
        let read = |i: u32| letter == 'r' && i < PREDICATES && wanted('p', i);
        for i in (0..count).filter(|i| wanted(letter, *i) || read(*i)) {
            let stretch = i * 48;
            let _ = match letter {
                'r' if i < 5 => writeln!(text, "\tld.global.b32 %r{i}, [%a0+{stretch}];"),
                'r' if i == 5 => writeln!(text, "\tmov.u32 %r5, %u1;"),
                'r' => writeln!(text, "\tmad.lo.u32 %r{i}, %gtid, {}, %u0;", i * 2 - 9),
                'f' => writeln!(text, "\tld.global.b32 %f{i}, [%a0+{}];", SECTION + stretch),
                'g' => writeln!(text, "\tld.global.b64 %g{i}, [%a1+{}];", 2 * SECTION + stretch),
                'd' if i < 4 => writeln!(text, "\tld.global.b64 %d{i}, [%a1+{}];", 3 * SECTION + stretch),
                'd' => writeln!(text, "\tmov.u64 %d{i}, %v0;"),
                'h' => writeln!(text, "\tld.global.b16 %h{i}, [%a0+{}];", stretch + i * 2),
                _ => writeln!(text, "\tsetp.lt.s32 %p{i}, %r{i}, {};", i * 7),
            };
        }
    }
}

/// The kernel after its statements: every register of theirs, and the cells of the CTA.
fn leave(kernel: &Kernel, statements: &str, text: &mut String) {
    text.push_str(
        "\tmul.wide.u32 %a0, %gtid, 8; add.s64 %a0, %results, %a0;\n\tmul.wide.u32 %a1, %total, 8;\n",
    );
    for Pool { letter, count, bits } in POOLS {
        for i in (0..count).filter(|i| names(statements, letter, *i)) {
            let _ = match bits {
                1 => writeln!(text, "\tselp.b32 %i0, 1, 0, %{letter}{i}; st.global.b32 [%a0], %i0;"),
                _ => writeln!(text, "\tst.global.b{bits} [%a0], %{letter}{i};"),
            };
            text.push_str("\tadd.s64 %a0, %a0, %a1;\n");
        }
    }
    if kernel.uses.cells {
        let results = results_of_thread();
        let _ = writeln!(
            text,
            "\tbar.sync 0;\n\tmul.wide.u32 %a2, %total, {}; add.s64 %a2, %results, %a2;\n\
             \tmul.wide.u32 %a3, %cta, {}; add.s64 %a2, %a2, %a3;",
            results * 8,
            ALL_CELLS * 8
        );
        text.push_str(&each_cell(
            "last",
            "ld.shared.b64 %wide, [%a0]; add.s64 %a1, %a2, %a1; st.global.b64 [%a1], %wide;",
        ));
    }
    text.push_str("\tret;\n}\n");
}

/// Bytes of each part of memory, in the order of the parameters.
pub(crate) fn sizes(ctas: u32, threads: u32) -> [u32; 5] {
    let total = ctas * threads;
    let results = total * results_of_thread() * 8 + ctas * ALL_CELLS * 8;
    [SECTION * SECTIONS.len() as u32, total * COLUMNS * 8, total * ROW, ALL_CELLS * 8, results]
}

/// What the input holds: numbers of every section's type, edges among them.
pub(crate) fn input(random: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    for ty in SECTIONS {
        let edges = Domain::Of(ty).edges();
        for _ in 0..SECTION / (ty.bits() / 8) {
            let small = f64::from(random.i32(-4096..4096)) / 64.0;
            let value = match (ty, random.u32(0..8)) {
                (_, 0) => edges[random.usize(..edges.len())],
                (ScalarType::F32, 1..6) => u64::from((small as f32).to_bits()),
                (ScalarType::F64, 1..6) => small.to_bits(),
                (_, 1..3) => random.u64(..64),
                _ => random.u64(..),
            };
            bytes.extend_from_slice(&value.to_le_bytes()[..ty.bits() as usize / 8]);
        }
    }
    bytes
}
