//! Reads that find `%tid.x` in a register.
//!
//! Compilers keep the thread's number in the register of a loop's counter, which starts as it. The class of the register is
//! then that of the counter, but the branches before the loop, which choose a warp by the thread's number, depend on the
//! number alone.

use ir::instruction::Op;
use ir::operand::Value;
use ir::{Access, Cfg, Function};
use ptx::isa::SpecialRegister;
use ptx::module::RegId;
use std::collections::HashSet;

/// The instructions and registers of such reads.
pub(crate) fn reads(function: &Function<'_>, cfg: &Cfg) -> HashSet<(u32, RegId)> {
    let count = function.body.instructions.len() as u32;
    let holds_thread = |index: u32| {
        let instruction = function.instruction(index)?;
        match &instruction.op {
            Op::Mov(mov) if instruction.guard.is_none() => match mov.a {
                Value::Special { register: SpecialRegister::Tid, component: 0 } => mov.d.0,
                _ => None,
            },
            _ => None,
        }
    };
    let mut found = HashSet::new();
    let mut others = HashSet::new();
    for register in (0..count).filter_map(holds_thread).collect::<HashSet<_>>() {
        let writes = |index: u32| {
            let mut writes = false;
            function.registers(index, &mut |written, access| {
                writes |= written == register && access != Access::Read;
            });
            writes
        };
        for definition in (0..count).filter(|&index| writes(index)) {
            let is_thread = holds_thread(definition) == Some(register);
            let to = if is_thread { &mut found } else { &mut others };
            reached(function, cfg, definition, register, &writes, to);
        }
        // What is read before it is written.
        if !writes(0) {
            read_at(function, 0, register, &mut others);
            reached(function, cfg, 0, register, &writes, &mut others);
        }
    }
    found.difference(&others).copied().collect()
}

/// The reads of a register behind an instruction, up to the next writes.
fn reached(
    function: &Function<'_>,
    cfg: &Cfg,
    from: u32,
    register: RegId,
    writes: &dyn Fn(u32) -> bool,
    reads: &mut HashSet<(u32, RegId)>,
) {
    let block = cfg.block_of(from).index();
    let mut pending = vec![(from + 1, cfg.blocks[block].end, block)];
    let mut seen = HashSet::new();
    while let Some((first, end, block)) = pending.pop() {
        let mut written = false;
        for index in first..end {
            read_at(function, index, register, reads);
            written = writes(index);
            if written {
                break;
            }
        }
        if written {
            continue;
        }
        for to in cfg.blocks[block].successors.iter().map(|to| to.index()).filter(|&to| seen.insert(to)) {
            pending.push((cfg.blocks[to].first, cfg.blocks[to].end, to));
        }
    }
}

fn read_at(function: &Function<'_>, index: u32, register: RegId, reads: &mut HashSet<(u32, RegId)>) {
    function.registers(index, &mut |read, access| {
        if read == register && access != Access::Write {
            reads.insert((index, register));
        }
    });
}
