//! Building one function: which registers are scalars, then its blocks, instruction by instruction.

use super::branch::{branch, branch_indexed};
use super::code::Code;
use super::frame::Frame;
use super::layout::Layout;
use crate::decode::decoder::{Decoder, Missing};
use crate::decode::dispatch;
use crate::image::{Image, Purpose};
use crate::lanes::simd::Level;
use ir::{BlockId, Cfg, LaneOrder, Shape, Shapes};
use ptx::isa::{Convergence, Effects, Flow, Meeting};
use ptx::module::RegId;
use ptx::types::ScalarType;

/// Whether an instruction hands over to the run loop, so that a guard must lead around it.
fn leaves_run(effects: &Effects) -> bool {
    let meets = effects.barrier.is_some_and(|barrier| barrier.of == Meeting::Cta);
    let elsewhere = effects.flow != Flow::Next;
    elsewhere || meets || effects.waits || effects.convergence != Convergence::Thread
}

/// What a function is decoded for.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) layout: &'a Layout,
    /// Where the module's variables are in global memory.
    pub(super) addresses: &'a [Option<u64>],
    pub(super) order: LaneOrder,
    pub(super) level: Level,
    pub(super) purpose: Purpose,
}

/// Builds a function into the image. What cannot be decoded is told, instruction by instruction.
pub(super) fn build<'a>(
    function: &'a ir::Function<'a>,
    Surroundings { layout, addresses, order, level, purpose }: Surroundings<'a>,
    image: &'a mut Image,
) -> Result<(), Vec<(Missing, u32)>> {
    let ir::Function { module, id, body, .. } = *function;
    let cfg = Cfg::new(function);
    // A debugger changes registers lane by lane; what is issued later finds values of all lanes in planes.
    let shapes = if purpose.keeps_registers() {
        Shapes::unknown(function)
    } else {
        Shapes::new(function, &cfg, order)
    };
    let warps = image.warps;
    let (frame, code) = (Frame::draft(warps, &[]), Code::new(image, function));
    let mut decoder =
        Decoder { module, addresses, layout, function, body, shapes, cfg, level, guard: None, frame, code };
    let scalar = scalar_registers(&mut decoder);
    decoder.frame = Frame::new(warps, function, &decoder.cfg, &scalar, purpose.keeps_registers());
    let entry = decoder.code.pc();
    let missing = blocks(&mut decoder);
    let first_of_blocks = decoder.code.end();
    let code = decoder.frame.finish(function, layout, entry, first_of_blocks);
    decoder.code.image.functions[id.index()] = Some(code);
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

/// Which registers are scalars: invariant by shape, and computed from scalars by an instruction whose decoder can do that.
fn scalar_registers(d: &mut Decoder<'_>) -> Vec<bool> {
    let body = d.body;
    let mut scalar: Vec<bool> = (0..body.registers.len() as u32)
        .map(|r| {
            let ty = body.registers[r as usize].ty;
            d.shapes.of(RegId(r)) == Shape::Invariant && ty != ScalarType::Pred && ty.bits() <= 64
        })
        .collect();
    d.frame = Frame::draft(d.code.image.warps, &scalar);
    let mut answers = vec![None; body.instructions.len()];
    let mut written = Vec::new();
    loop {
        let mut changed = false;
        for index in 0..body.instructions.len() as u32 {
            written.clear();
            let mut sources_are_scalars = true;
            d.function.registers(index, &mut |register, access| match access {
                ir::Access::Read => sources_are_scalars &= scalar[register.index()],
                ir::Access::Write => written.push(register),
                ir::Access::ReadWrite => {
                    written.push(register);
                    sources_are_scalars = false;
                }
            });
            if !written.iter().any(|register| scalar[register.index()]) {
                continue;
            }
            let fits = sources_are_scalars
                && *answers[index as usize].get_or_insert_with(|| computes_scalars(d, index));
            for register in &written {
                changed |= !fits && std::mem::replace(&mut scalar[register.index()], false);
            }
        }
        if !changed {
            return scalar;
        }
    }
}

/// Whether the decoder of an instruction can compute scalars from scalars: it is asked to.
fn computes_scalars(d: &mut Decoder<'_>, index: u32) -> bool {
    let decoded = turn_to(d, index).and_then(|typed| match leaves_run(typed.op.effects()) {
        true => Err("an instruction that does not compute".to_owned()),
        false => dispatch(d, &typed.op),
    });
    decoded.is_ok()
}

/// Makes an instruction the current one.
fn turn_to<'a>(d: &mut Decoder<'a>, index: u32) -> Result<&'a ir::Instruction, Missing> {
    d.guard = d.body.instructions[index as usize].guard;
    d.frame.begin_instruction();
    d.code.begin_instruction(index);
    let function = d.function;
    function.instructions[index as usize].as_ref().map_err(Missing::clone)
}

/// Decodes all blocks. Returns what is missing, and for which instruction.
fn blocks(d: &mut Decoder<'_>) -> Vec<(Missing, u32)> {
    let mut missing = Vec::new();
    let blocks = d.cfg.blocks.clone();
    let meets = d.cfg.reconvergence();
    let mut is_join = vec![false; blocks.len()];
    for (block, meet) in blocks.iter().zip(&meets) {
        if let (true, Some(meet)) = (block.successors.len() > 1, meet) {
            is_join[meet.index()] = true;
        }
    }
    for (index, block) in blocks.iter().enumerate() {
        d.code.begin_block(is_join[index]);
        for i in block.first..block.end {
            if let Err(what) = instruction(d, i, meets[index]) {
                missing.push((what, i));
            }
        }
    }
    missing
}

fn instruction(d: &mut Decoder<'_>, index: u32, meet: Option<BlockId>) -> Result<(), Missing> {
    d.code.count();
    let typed = turn_to(d, index)?;
    // Where lanes part, they have to know where they meet again.
    if let ir::Op::Bra(bra) = &typed.op {
        return branch(d, bra, meet);
    }
    let condition = d.condition()?;
    if leaves_run(typed.op.effects()) {
        let guard = d.code.open_guard(condition);
        match &typed.op {
            ir::Op::BrxIdx(brx) => branch_indexed(d, brx, meet)?,
            op => dispatch(d, op)?,
        }
        d.code.flush();
        d.code.close_guard(guard);
        return Ok(());
    }
    dispatch(d, &typed.op)?;
    match condition {
        Some(condition) => d.code.flush_guarded(condition),
        None => d.code.flush(),
    }
    Ok(())
}
