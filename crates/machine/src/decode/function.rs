//! Decoding one function.

use super::control::leaves_run;
use super::emit::op;
use super::layout::Layout;
use super::{Decoded, Missing, dispatch};
use crate::lanes::simd::Level;
use crate::lanes::{FileSizes, Planes};
use crate::launch::LoadedModule;
use crate::ops::predicate::{predicate_from_scalar, set_predicate};
use crate::ops::shape::NEGATE;
use crate::ops::{Op, control};
use crate::program::{Code, FIRST_SCALAR, Image, Meta, Origin, Place, ZERO};
use ir::{BlockId, Cfg, LaneOrder, Liveness, Shape, Shapes, allocate_slots};
use ptx::module::{Body, FuncId, Function, Guard, Module, Param, RegId};
use ptx::types::ScalarType;
use std::collections::HashMap;

/// Where a register lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// A plane of 16, 32 or 64 bits.
    Plane { index: u32, bits: u32 },
    /// The same for every thread under every schedule.
    Scalar(u32),
    /// A predicate.
    Predicate(u32),
    /// 128 bits: the low and the high 64-bit plane.
    Pair(u32, u32),
    /// Nobody reads it.
    Unused,
}

/// Predicates of a frame besides the registers: one that nobody reads, the carry bit, the constants false and true, a
/// scalar as a predicate.
const OWN_PREDICATES: u32 = 5;

/// The least that a call takes of the stack, so that endless recursion ends.
const CALL_FRAME: u32 = 16;

/// The place of a parameter that nobody reads.
const NOWHERE: Place = Place::Memory { offset: 0, bytes: 0 };

/// Register classes for slot allocation.
const CLASSES: usize = 5;

fn class(ty: ScalarType) -> usize {
    match ty.bits() {
        1 => 3,
        8 | 16 => 0,
        32 => 1,
        64 => 2,
        _ => 4,
    }
}

/// Planes for one instruction's temporaries, counted by width.
#[derive(Clone, Copy, Debug, Default)]
struct Temporaries {
    h: u32,
    w: u32,
    d: u32,
}

/// The scalars of a frame.
struct Scalars {
    /// What each starts as: constants keep it, the others are computed.
    start: Vec<u64>,
    constant_of: HashMap<u64, u32>,
    /// Those that start as addresses of shared memory, by offset in the CTA's.
    shared_of: HashMap<u64, u32>,
}

impl Default for Scalars {
    fn default() -> Self {
        Self {
            start: vec![0; FIRST_SCALAR as usize],
            constant_of: HashMap::from([(0, ZERO)]),
            shared_of: HashMap::new(),
        }
    }
}

/// A field of an operation that names a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    /// `Op::a`.
    Target,
    /// `Op::x`.
    Reconvergence,
    /// An entry of the image's lists.
    List(u32),
}

/// The state of decoding a function.
pub(crate) struct Decoder<'a> {
    pub(crate) module: &'a Module,
    pub(crate) loaded: &'a LoadedModule,
    pub(crate) layout: &'a Layout,
    pub(crate) id: FuncId,
    pub(crate) function: &'a Function,
    pub(crate) body: &'a Body,
    pub(crate) shapes: Shapes,
    pub(crate) cfg: Cfg,
    pub(crate) level: Level,
    pub(crate) image: &'a mut Image,
    pub(crate) guard: Option<Guard>,
    lowered: &'a ir::Function<'a>,
    /// Index of the current instruction.
    current: u32,
    homes: Vec<Home>,
    /// Planes of registers that are live where the function begins.
    exposed: Vec<Planes>,
    scalars: Scalars,
    /// First plane of each width behind the registers, and how many predicates there are.
    registers: FileSizes,
    temporaries: Temporaries,
    most_temporaries: Temporaries,
    /// Operations of the current instruction.
    buffer: Vec<(Op, Meta)>,
    /// What follows the current instruction's operations: results into registers of another width.
    after: Vec<Op>,
    /// Instructions since the last operation that accounts for them.
    run: u32,
    block_pcs: Vec<u32>,
    patches: Vec<(u32, Field, BlockId)>,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(
        loaded: &'a LoadedModule,
        layout: &'a Layout,
        lowered: &'a ir::Function<'a>,
        order: LaneOrder,
        level: Level,
        image: &'a mut Image,
    ) -> Self {
        let ir::Function { module, id, declaration: function, body, .. } = *lowered;
        let cfg = Cfg::new(lowered);
        let shapes = Shapes::new(lowered, &cfg, order);
        let mut decoder = Self {
            module,
            loaded,
            layout,
            id,
            function,
            body,
            shapes,
            cfg,
            level,
            image,
            guard: None,
            lowered,
            current: 0,
            homes: Vec::new(),
            exposed: Vec::new(),
            scalars: Scalars::default(),
            registers: FileSizes { p: OWN_PREDICATES, ..FileSizes::default() },
            temporaries: Temporaries::default(),
            most_temporaries: Temporaries::default(),
            buffer: Vec::new(),
            after: Vec::new(),
            run: 0,
            block_pcs: Vec::new(),
            patches: Vec::new(),
        };
        decoder.place_registers();
        decoder
    }

    /// Gives every register its home: scalars where the shape allows it, slots of planes for the rest.
    fn place_registers(&mut self) {
        let liveness = Liveness::new(self.lowered, &self.cfg);
        let intervals = liveness.intervals();
        let scalar = self.scalar_registers();
        let body = self.body;
        let class_of = |r: RegId| (!scalar[r.index()]).then(|| class(body.registers[r.index()].ty));
        let slots = allocate_slots(body, &intervals, class_of, CLASSES);
        let warps = self.image.warps as u32;
        let counts = &slots.counts;
        for (index, register) in body.registers.iter().enumerate() {
            let home = match slots.slot[index] {
                _ if scalar[index] => Home::Scalar(self.new_scalar()),
                None => Home::Unused,
                Some(slot) => match class(register.ty) {
                    0 => Home::Plane { index: slot * warps, bits: 16 },
                    1 => Home::Plane { index: slot * warps, bits: 32 },
                    2 => Home::Plane { index: slot * warps, bits: 64 },
                    3 => Home::Predicate(slot * warps),
                    _ => {
                        let low = counts[2] + 2 * slot;
                        Home::Pair(low * warps, (low + 1) * warps)
                    }
                },
            };
            self.homes.push(home);
        }
        self.registers = FileSizes {
            h: counts[0],
            w: counts[1],
            d: counts[2] + 2 * counts[4],
            p: counts[3] + OWN_PREDICATES,
        };
        let live_in = self.cfg.blocks.first().map(|_| liveness.live_in(BlockId(0)));
        let exposed = live_in.into_iter().flatten().flat_map(|register| match self.homes[register.index()] {
            Home::Plane { index, bits } => vec![Planes { index, bits }],
            Home::Pair(low, high) => [low, high].map(|index| Planes { index, bits: 64 }).to_vec(),
            Home::Scalar(_) | Home::Predicate(_) | Home::Unused => Vec::new(),
        });
        self.exposed = exposed.collect();
    }

    /// Which registers are scalars: invariant by shape, and computed from scalars by an instruction whose decoder can do
    /// that.
    fn scalar_registers(&mut self) -> Vec<bool> {
        let body = self.body;
        let mut scalar: Vec<bool> = (0..body.registers.len() as u32)
            .map(|r| {
                let ty = body.registers[r as usize].ty;
                self.shapes.of(RegId(r)) == Shape::Invariant && ty != ScalarType::Pred && ty.bits() <= 64
            })
            .collect();
        self.homes = scalar.iter().map(|&is| if is { Home::Scalar(ZERO) } else { Home::Unused }).collect();
        let mut answers = vec![None; body.instructions.len()];
        let mut written = Vec::new();
        loop {
            let mut changed = false;
            for index in 0..body.instructions.len() as u32 {
                written.clear();
                let mut sources_are_scalars = true;
                self.lowered.registers(index, &mut |register, access| match access {
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
                    && *answers[index as usize].get_or_insert_with(|| self.computes_scalars(index));
                for register in &written {
                    changed |= !fits && std::mem::replace(&mut scalar[register.index()], false);
                }
            }
            if !changed {
                // What the decoders were asked leaves nothing behind.
                self.homes.clear();
                self.scalars = Scalars::default();
                self.most_temporaries = Temporaries::default();
                return scalar;
            }
        }
    }

    /// Whether the decoder of an instruction can compute scalars from scalars: it is asked to.
    fn computes_scalars(&mut self, index: u32) -> bool {
        let decoded = self.turn_to(index).and_then(|typed| match leaves_run(typed.op.effects()) {
            true => Err("an instruction that does not compute".to_owned()),
            false => dispatch(self, &typed.op),
        });
        self.buffer.clear();
        self.after.clear();
        decoded.is_ok()
    }

    /// Makes an instruction the current one.
    fn turn_to(&mut self, index: u32) -> Result<&'a ir::Instruction, Missing> {
        self.current = index;
        self.guard = self.body.instructions[index as usize].guard;
        self.temporaries = Temporaries::default();
        self.lowered.instructions[index as usize].as_ref().map_err(Missing::clone)
    }

    /// Decodes the whole body into the image. What cannot be decoded is told, instruction by instruction.
    pub(crate) fn decode(mut self) -> Result<(), Vec<(Missing, u32)>> {
        let mut missing = Vec::new();
        let entry = self.pc();
        let blocks = self.cfg.blocks.clone();
        let meets = self.cfg.reconvergence();
        let mut is_join = vec![false; blocks.len()];
        for (block, meet) in blocks.iter().zip(&meets) {
            if let (true, Some(meet)) = (block.successors.len() > 1, meet) {
                is_join[meet.index()] = true;
            }
        }
        for (index, block) in blocks.iter().enumerate() {
            self.settle();
            self.block_pcs.push(self.pc());
            if is_join[index] {
                self.push(op(control::join), Meta::Part);
            }
            for i in block.first..block.end {
                if let Err(what) = self.instruction(i, meets[index]) {
                    missing.push((what, i));
                    self.buffer.clear();
                    self.after.clear();
                }
            }
        }
        // Falling off the end returns.
        self.settle();
        let last = self.return_op();
        self.push(last, Meta::Part);
        self.patch();
        self.finish(entry);
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }

    fn return_op(&mut self) -> Op {
        let run = self.take_run();
        let execute = match crate::launch::is_entry(self.module, self.id) {
            true => control::exit,
            false => control::ret,
        };
        Op { c: run, ..op(execute) }
    }

    fn instruction(&mut self, index: u32, meet: Option<BlockId>) -> Decoded {
        self.run += 1;
        let typed = self.turn_to(index)?;
        // Where lanes part, they have to know where they meet again.
        if let ir::Op::Bra(branch) = &typed.op {
            return super::control::branch(self, branch, meet);
        }
        if let ir::Op::BrxIdx(branch) = &typed.op {
            let guard = self.open_guard()?;
            super::control::branch_indexed(self, branch, meet)?;
            self.flush();
            self.close_guard(guard);
            return Ok(());
        }
        if leaves_run(typed.op.effects()) {
            let guard = self.open_guard()?;
            dispatch(self, &typed.op)?;
            self.flush();
            self.close_guard(guard);
            return Ok(());
        }
        dispatch(self, &typed.op)?;
        let after = std::mem::take(&mut self.after);
        let mains = self.buffer.iter().filter(|(_, meta)| *meta != Meta::Part).count();
        let simple =
            after.is_empty() && mains == 1 && self.buffer.last().is_some_and(|(_, m)| *m != Meta::Part);
        self.after = after;
        match self.guard {
            Some(guard) if simple => {
                let (b, y) = self.guard_fields(guard)?;
                let at = self.buffer.len() - 1;
                self.buffer.insert(at, (Op { b, y, ..op(control::guarded) }, Meta::Guard));
                self.flush();
            }
            Some(_) => {
                let decoded = std::mem::take(&mut self.buffer);
                let guard = self.open_guard()?;
                self.buffer = decoded;
                self.flush();
                self.close_guard(guard);
            }
            None => self.flush(),
        }
        Ok(())
    }

    fn guard_fields(&self, guard: Guard) -> Result<(u32, u32), Missing> {
        Ok((self.predicate_of(guard.register)?, if guard.negated { NEGATE } else { 0 }))
    }

    /// Starts a way around what follows, for lanes whose guard does not hold. Returns its branch.
    fn open_guard(&mut self) -> Result<Option<u32>, Missing> {
        let Some(guard) = self.guard else { return Ok(None) };
        let (b, y) = self.guard_fields(guard)?;
        let c = self.take_run();
        let at = self.pc();
        self.push(Op { b, c, y: y ^ NEGATE, ..op(control::branch) }, Meta::Part);
        Ok(Some(at))
    }

    /// Ends the way around: lanes meet here.
    fn close_guard(&mut self, branch: Option<u32>) {
        if let Some(at) = branch {
            let here = self.pc();
            self.push(op(control::join), Meta::Part);
            let branch = &mut self.image.ops[at as usize];
            (branch.a, branch.x) = (here, here);
        }
    }

    /// Moves the current instruction's operations into the image.
    pub(crate) fn flush(&mut self) {
        for (op, meta) in std::mem::take(&mut self.buffer) {
            self.push(op, meta);
        }
        for op in std::mem::take(&mut self.after) {
            self.push(op, Meta::Part);
        }
    }

    /// Accounts for instructions that nothing has accounted for yet.
    fn settle(&mut self) {
        if self.run != 0 {
            let c = self.take_run();
            self.push(Op { c, ..op(control::account) }, Meta::Part);
        }
    }

    /// Instructions since the last account, which the caller's operation takes over.
    pub(crate) fn take_run(&mut self) -> u32 {
        std::mem::take(&mut self.run)
    }

    /// The index of the current instruction.
    pub(crate) fn current(&self) -> u32 {
        self.current
    }

    /// The next operation's index.
    pub(crate) fn pc(&self) -> u32 {
        self.image.ops.len() as u32
    }

    /// Appends an operation to the image.
    pub(crate) fn push(&mut self, op: Op, meta: Meta) {
        self.image.ops.push(op);
        self.image.metas.push(meta);
        self.image.origins.push(Origin { function: self.id, instruction: self.current });
    }

    /// Adds an operation to the current instruction.
    pub(crate) fn emit_as(&mut self, op: Op, meta: Meta) {
        self.buffer.push((op, meta));
    }

    /// Adds an operation behind all others of the current instruction.
    pub(crate) fn after(&mut self, op: Op) {
        self.after.push(op);
    }

    /// Lets a field of the operation at `pc` name a block, once its place is known.
    pub(crate) fn patch_later(&mut self, pc: u32, field: Field, block: BlockId) {
        self.patches.push((pc, field, block));
    }

    fn patch(&mut self) {
        for (pc, field, block) in std::mem::take(&mut self.patches) {
            let target = self.block_pcs[block.index()];
            match field {
                Field::Target => self.image.ops[pc as usize].a = target,
                Field::Reconvergence => self.image.ops[pc as usize].x = target,
                Field::List(index) => self.image.lists[index as usize] = target,
            }
        }
    }

    /// Adds a list to the image; its index.
    pub(crate) fn list(&mut self, entries: &[u32]) -> u32 {
        let index = self.image.lists.len() as u32;
        self.image.lists.extend_from_slice(entries);
        index
    }

    /// A new scalar.
    pub(crate) fn new_scalar(&mut self) -> u32 {
        self.scalars.start.push(0);
        self.scalars.start.len() as u32 - 1
    }

    /// The scalar that holds a constant.
    pub(crate) fn constant(&mut self, value: u64) -> u32 {
        if let Some(&scalar) = self.scalars.constant_of.get(&value) {
            return scalar;
        }
        let scalar = self.new_scalar();
        self.scalars.start[scalar as usize] = value;
        self.scalars.constant_of.insert(value, scalar);
        scalar
    }

    /// The scalar that holds the address of a byte of the CTA's shared memory.
    pub(crate) fn shared_address(&mut self, offset: u64) -> u32 {
        if let Some(&scalar) = self.scalars.shared_of.get(&offset) {
            return scalar;
        }
        let scalar = self.new_scalar();
        self.scalars.start[scalar as usize] = offset;
        self.scalars.shared_of.insert(offset, scalar);
        scalar
    }

    /// A plane of `bits` that lives for this instruction.
    pub(crate) fn temporary(&mut self, bits: u32) -> u32 {
        let warps = self.image.warps as u32;
        let (count, most, base) = match bits {
            16 => (&mut self.temporaries.h, &mut self.most_temporaries.h, self.registers.h),
            32 => (&mut self.temporaries.w, &mut self.most_temporaries.w, self.registers.w),
            _ => (&mut self.temporaries.d, &mut self.most_temporaries.d, self.registers.d),
        };
        let index = (base + *count) * warps;
        *count += 1;
        *most = (*most).max(*count);
        index
    }

    fn own_predicate(&self, which: u32) -> u32 {
        (self.registers.p - OWN_PREDICATES + which) * self.image.warps as u32
    }

    /// The predicate for results that nobody reads.
    pub(crate) fn scratch_predicate(&self) -> u32 {
        self.own_predicate(0)
    }

    /// The carry bit `CC.CF`.
    pub(crate) fn carry(&self) -> u32 {
        self.own_predicate(1)
    }

    /// A predicate that is always `value`: set where it is needed.
    pub(crate) fn constant_predicate(&mut self, value: bool) -> u32 {
        let d = self.own_predicate(2 + u32::from(value));
        self.emit_part(Op { d, y: u32::from(value), ..op(set_predicate) });
        d
    }

    /// A predicate that holds in all lanes if scalar `a` is not zero.
    pub(crate) fn predicate_from_scalar(&mut self, a: u32) -> u32 {
        let d = self.own_predicate(4);
        self.emit_part(Op { d, a, ..op(predicate_from_scalar) });
        d
    }

    /// Where a register lives.
    pub(crate) fn home(&self, register: RegId) -> Home {
        self.homes[register.index()]
    }

    /// A register's name, for messages.
    pub(crate) fn register_name(&self, register: RegId) -> String {
        self.module.text(self.body.registers[register.index()].name).to_owned()
    }

    /// The places of a parameter in this function's frame.
    fn formal(&self, param: &Param) -> Vec<Place> {
        match *param {
            Param::Memory(id) => vec![Place::Memory {
                offset: self.layout.offset(id).unwrap_or(0),
                bytes: self.layout.parameter_bytes(&self.module.variables[id.index()]),
            }],
            Param::Register(register) => self.register_places(register),
            Param::RegisterType(_) => vec![NOWHERE],
        }
    }

    /// A register as the place of a parameter, one of 128 bits as two.
    pub(crate) fn register_places(&self, register: RegId) -> Vec<Place> {
        let plane = |index, bits| Place::Register { index, bits };
        match self.home(register) {
            Home::Plane { index, bits } => vec![plane(index, bits)],
            Home::Pair(low, high) => vec![plane(low, 64), plane(high, 64)],
            Home::Scalar(_) | Home::Predicate(_) | Home::Unused => {
                let halves = self.body.registers[register.index()].ty.bits().div_ceil(64);
                vec![NOWHERE; halves as usize]
            }
        }
    }

    fn finish(self, entry: u32) {
        let is_entry = crate::launch::is_entry(self.module, self.id);
        let formals = |params: &[Param]| match is_entry {
            true => Vec::new(),
            false => params.iter().flat_map(|p| self.formal(p)).collect(),
        };
        let code = Code {
            entry,
            sizes: FileSizes {
                h: self.registers.h + self.most_temporaries.h,
                w: self.registers.w + self.most_temporaries.w,
                d: self.registers.d + self.most_temporaries.d,
                p: self.registers.p,
            },
            params: formals(&self.function.params),
            variadic: matches!(self.function.params.last(), Some(Param::Memory(id))
                if self.module.variables[id.index()].unsized_array),
            returns: formals(&self.function.returns),
            exposed: self.exposed,
            scalars: self.scalars.start,
            shared_addresses: self.scalars.shared_of.into_values().collect(),
            frame: self.layout.frame(self.id).max(if is_entry { 0 } else { CALL_FRAME }),
        };
        self.image.functions[self.id.index()] = Some(code);
    }
}
