//! A litmus test as a PTX kernel that runs it once: what the virtual machine runs under the sanitizer.
//!
//! Each thread of the test is a thread of the grid, in the CTA that its place says. There it is the first lane of a warp of
//! its own, or a lane of the CTA's only warp. It plays its part and stores the registers that tell how it ended, each in a
//! word of its own.

use crate::event::{Placement, Scope};
use crate::kernel::{HEADER, MAX_LOCATIONS, Unsupported, play};
use crate::program::{Arithmetic, Instruction, Operand, Program, Term, Thread, Update};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The kernel's name. It has two parameters: the address of a double word for each location, and of one for each term.
pub const NAME: &str = "once";

/// A test as a module.
#[derive(Clone, Debug)]
pub struct Once {
    /// The module.
    pub text: String,
    /// How many CTAs there are.
    pub ctas: u32,
    /// How many threads a CTA has.
    pub threads: u32,
    /// The registers that are stored, in the order of their places.
    pub terms: Vec<Term>,
}

/// The kernel of a test, whose threads in one CTA are in one warp or in several.
///
/// # Errors
/// If the test has something that does not run so: see [`crate::kernel::entry`]. Threads of one cluster are of one CTA.
pub fn module(program: &Program, one_warp: bool) -> Result<Once, Unsupported> {
    let no = |what: &str| Err(Unsupported(what.to_owned()));
    let zero = program.objects.iter().all(|bytes| bytes.len() == 8 && bytes.iter().all(|&byte| byte == 0));
    if !zero || program.locations.len() > MAX_LOCATIONS {
        return no("too much memory, or another first value than zero");
    }
    let mut ctas: Vec<Placement> = Vec::new();
    let mut slots = Vec::new();
    for (index, thread) in program.threads.iter().enumerate() {
        let place = thread.placement;
        let cta = ctas.iter().position(|known| *known == place).unwrap_or(ctas.len());
        let others = || ctas.iter().filter(|other| **other != place);
        if others().any(|other| other.shares(place, Scope::Cluster) || !other.shares(place, Scope::Gpu)) {
            return no("CTAs of one cluster, or of two devices");
        }
        if cta == ctas.len() {
            ctas.push(place);
        }
        let before = program.threads[..index].iter().filter(|other| other.placement == place).count() as u32;
        slots.push((cta, if one_warp { before } else { 32 * before }));
    }
    let registers = |(index, thread): (usize, &Thread)| {
        (0..thread.registers.len()).map(move |register| Term::Register(index, register)).collect::<Vec<_>>()
    };
    let terms: Vec<Term> = program.threads.iter().enumerate().flat_map(registers).collect();
    let mut out = format!(
        "{HEADER}\n.visible .entry {NAME}(.param .u64 memory, .param .u64 results)\n{{\n    .reg .pred %p;\n    \
         .reg .b32 %slot, %cta;\n    .reg .b64 %base, %results, %x<{MAX_LOCATIONS}>;\n    \
         ld.param.u64 %base, [memory];\n    ld.param.u64 %results, [results];\n    mov.u32 %slot, %tid.x;\n    \
         mov.u32 %cta, %ctaid.x;\n    mad.lo.u32 %slot, %cta, 1024, %slot;\n"
    );
    // Writing to a string cannot fail.
    for object in 0..program.objects.len() {
        let _ = writeln!(out, "    add.u64 %x{object}, %base, {};", 8 * object);
    }
    for (thread, (cta, slot)) in slots.iter().enumerate() {
        let _ = writeln!(
            out,
            "    setp.eq.u32 %p, %slot, {};\n    @%p bra THREAD{thread};",
            1024 * *cta as u32 + slot
        );
    }
    out.push_str("    ret;\n");
    for index in 0..program.threads.len() {
        play(program, index, &mut out)?;
        for (place, term) in terms.iter().enumerate() {
            if let Term::Register(own, register) = *term
                && own == index
            {
                let _ = writeln!(out, "    st.global.u64 [%results+{}], %r{register};", 8 * place);
            }
        }
        out.push_str("    ret;\n}\n");
    }
    out.push_str("}\n");
    let last = slots.iter().map(|(_, slot)| slot + 1).max().unwrap_or(1);
    let threads = if one_warp { last } else { last.next_multiple_of(32) };
    Ok(Once { text: out, ctas: ctas.len() as u32, threads, terms })
}

/// Whether the registers tell which write each read takes: all writes of a location write different numbers, none of them
/// zero, and no read's register is written by another instruction.
pub fn tells_sources(program: &Program) -> bool {
    let reads = |thread: &Thread| {
        let mut written = BTreeSet::new();
        thread
            .code
            .iter()
            .flat_map(|instruction| instruction.registers().0)
            .all(|register| written.insert(register))
    };
    let returns =
        |instruction: &Instruction| !matches!(instruction, Instruction::Atomic { destination: None, .. });
    if !program.threads.iter().all(|thread| reads(thread) && thread.code.iter().all(returns)) {
        return false;
    }
    let mut seen = BTreeSet::new();
    let mut tells = |(object, value): (u32, Operand)| match value {
        Operand::Constant(value) => value != 0 && seen.insert((object, value)),
        Operand::Register(_) => false,
    };
    let code = program.threads.iter().flat_map(|thread| &thread.code);
    let written = code.flat_map(|instruction| match instruction {
        Instruction::Store { values, access } => {
            values.iter().map(|value| (access.bytes.object, *value)).collect()
        }
        Instruction::Atomic { update, access, .. } => match *update {
            Update::Combine(Arithmetic::Second, value) => vec![(access.bytes.object, value)],
            Update::CompareAndSwap { new, .. } => vec![(access.bytes.object, new)],
            // What is written depends on what was read.
            Update::Combine(..) => vec![(access.bytes.object, Operand::Constant(0))],
        },
        _ => Vec::new(),
    });
    written.into_iter().all(&mut tells)
}
