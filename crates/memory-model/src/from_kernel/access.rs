//! Accesses, fences and barriers of a kernel.

use super::memory::window;
use super::specialise::{Builder, Word};
use super::value::Range;
use crate::event::{Bytes, Order, Part, Proxy, Scope};
use crate::from_ptx::{Ordering, combination, ordering};
use crate::program::{Access, Arithmetic, Comparison, Instruction, Operand, Update};
use ir::Op;
use ir::choice::is_signed;
use ir::instruction::{AtomOp, MbarrierArrive, MbarrierArriveAction, MbarrierInit, MbarrierWait, ProxyKind};
use ir::operand::{Address, Def, Space, Value};
use ptx::isa;
use ptx::module::AddressBase;
use ptx::types::{ScalarType, StateSpace, TypeKind};

/// The most places that an address may be one of.
const MAX_PLACES: usize = 256;
/// Bytes of an mbarrier object.
const MBARRIER: u32 = 8;
/// The resources of the barriers of warps come behind those of CTAs.
const WARP_BARRIERS: i64 = 16;

impl Builder<'_, '_> {
    /// An instruction that neither jumps nor fails.
    pub(super) fn operation(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Ld(ld) => self.load(ld),
            // Arguments of what is called, which is nothing to memory.
            Op::St(st) if self.is_argument(&st.a) => Ok(()),
            Op::St(st) => {
                let values = st.b.iter().map(|value| Ok(self.word(value)?.operand()));
                let values: Vec<Operand> = values.collect::<Result<_, String>>()?;
                let (size, order) = (st.ty.bytes(), ordering(st.order, st.scope));
                self.access(&st.a, size, values.len() as u32, &|bytes| Instruction::Store {
                    values: values.clone(),
                    access: plain(bytes, order),
                })
            }
            Op::Atom(atom) => {
                let update = Update::Combine(combined(atom.op, atom.ty)?, self.word(&atom.b)?.operand());
                let order = ordering(atom.order, Some(atom.scope));
                self.atomic(&atom.a, atom.ty, order, update, Some(atom.d))
            }
            Op::Red(red) => {
                let update = Update::Combine(combined(red.op.into(), red.ty)?, self.word(&red.b)?.operand());
                self.atomic(&red.a, red.ty, ordering(red.order, Some(red.scope)), update, None)
            }
            Op::AtomCas(cas) => {
                let (expected, new) = (self.word(&cas.b)?.operand(), self.word(&cas.c)?.operand());
                let update = Update::CompareAndSwap { expected, new };
                self.atomic(&cas.a, cas.ty, ordering(cas.order, Some(cas.scope)), update, Some(cas.d))
            }
            Op::Fence(fence) if fence.sync_restrict.is_some() => {
                Err("a fence of some memory alone is not understood".into())
            }
            Op::Fence(fence) => {
                self.emit(Instruction::Fence { order: fence.order.into(), scope: fence.scope })
            }
            Op::Membar(membar) => self.emit(Instruction::Fence { order: Order::Sc, scope: membar.scope }),
            Op::FenceProxy(fence) => match fence.proxy_kind {
                ProxyKind::Alias => self.emit(Instruction::AliasFence),
                ProxyKind::Async => self.emit(Instruction::ProxyFence(Proxy::Async)),
                ProxyKind::AsyncGeneric | ProxyKind::TensormapGeneric => {
                    Err("this proxy fence is not understood".into())
                }
            },
            Op::BarSync(bar) => self.barrier(Part::Sync, &bar.a, bar.b.as_ref()),
            Op::BarArrive(bar) => self.barrier(Part::Arrive, &bar.a, Some(&bar.b)),
            Op::BarWarpSync(bar) => self.warp_barrier(&bar.membermask),
            Op::BarClusterArrive(_) => self.emit(cluster_barrier(Part::Arrive)),
            Op::BarClusterWait(_) => self.emit(cluster_barrier(Part::Wait)),
            Op::MbarrierInit(init) => self.initialise(init),
            Op::MbarrierArrive(arrive) => self.arrive(arrive),
            Op::MbarrierWait(wait) => self.wait(wait),
            Op::Nanosleep(_) | Op::Prefetch(_) => Ok(()),
            op => self.compute(op),
        }
    }

    /// A base and what is added to it for a generic address.
    fn located(&self, address: &Address) -> Result<(Word, u64), String> {
        let offset = window(address.space).wrapping_add_signed(address.offset);
        match address.base {
            AddressBase::Register(register) => Ok((self.register(register), offset)),
            AddressBase::Absolute => Ok((Word::Number(0), offset)),
            AddressBase::Variable(variable) => {
                let base = self.grid.memory.address(variable).ok_or("the address is not understood")?;
                Ok((Word::Number(base), offset))
            }
        }
    }

    /// Whether an address is that of an argument or a result of a call.
    fn is_argument(&self, address: &Address) -> bool {
        let variables = &self.grid.module.variables;
        matches!(address.base, AddressBase::Variable(variable) if variables[variable.index()].space == StateSpace::ParamFunc)
    }

    fn bytes(&mut self, generic: u64, size: u32, elements: u32) -> Result<Bytes, String> {
        let place = self.grid.memory.find(generic, size * elements)?;
        let who = self.seat.who;
        let program = &mut self.grid.program;
        let bytes = self.grid.memory.bytes(program, place, size * elements, who);
        Ok(Bytes { len: size, ..bytes })
    }

    /// The one place that an address is.
    fn fixed(&mut self, address: &Address, size: u32) -> Result<Bytes, String> {
        match self.located(address)? {
            (Word::Number(base), offset) => self.bytes(base.wrapping_add(offset), size, 1),
            (Word::Open(..), _) => Err("the address depends on what was read".into()),
        }
    }

    /// An access of elements, wherever its address may be.
    fn access(
        &mut self,
        address: &Address,
        size: u32,
        elements: u32,
        make: &dyn Fn(Bytes) -> Instruction,
    ) -> Result<(), String> {
        let (register, range, offset) = match self.located(address)? {
            (Word::Number(base), offset) => {
                return match self.bytes(base.wrapping_add(offset), size, elements) {
                    Ok(bytes) => self.emit(make(bytes)),
                    Err(message) => {
                        self.fails(&message)?;
                        // Nothing leads to what follows.
                        let behind = self.node();
                        self.enter(behind);
                        Ok(())
                    }
                };
            }
            (Word::Open(register, range), offset) => (register, range, offset),
        };
        let (bases, whole) = self.bases(address, range, offset, size * elements)?;
        let after = self.node();
        let a = Operand::Register(register);
        for (index, base) in bases.iter().enumerate() {
            let bytes = self.bytes(base.wrapping_add(offset), size, elements)?;
            if whole && index + 1 == bases.len() {
                self.emit(make(bytes))?;
                self.emit(Instruction::Jump(after))?;
                break;
            }
            let (found, other) = (self.node(), self.node());
            let b = Operand::Constant(*base as i64);
            self.emit(Instruction::Branch { comparison: Comparison::Eq, a, b, target: found })?;
            self.emit(Instruction::Jump(other))?;
            self.enter(found);
            self.emit(make(bytes))?;
            self.emit(Instruction::Jump(after))?;
            self.enter(other);
        }
        if !whole || bases.is_empty() {
            self.fails("an access where no memory is")?;
        }
        self.enter(after);
        Ok(())
    }

    /// The numbers that the base of an address may be where there is memory, and whether it can be nothing else.
    fn bases(
        &self,
        address: &Address,
        range: Range,
        offset: u64,
        size: u32,
    ) -> Result<(Vec<u64>, bool), String> {
        let memory = &self.grid.memory;
        if let Some(values) = range.values(MAX_PLACES as u64) {
            let all: Vec<u64> = values.collect();
            let there = |base: &u64| memory.find(base.wrapping_add(offset), size).is_ok();
            let inside: Vec<u64> = all.iter().copied().filter(there).collect();
            let whole = inside.len() == all.len();
            return Ok((inside, whole));
        }
        let shared = match address.space {
            Space::Shared | Space::SharedCta | Space::SharedCluster => Some(true),
            Space::Global => Some(false),
            _ => None,
        };
        let fits = |base: &u64| {
            (range.low..=range.high).contains(base) && (base - range.low).is_multiple_of(range.step)
        };
        let bases: Vec<u64> = memory
            .all(size, shared)
            .map(|generic| generic.wrapping_sub(offset))
            .filter(fits)
            .take(MAX_PLACES + 1)
            .collect();
        if bases.len() > MAX_PLACES {
            return Err(format!("the address may be one of more than {MAX_PLACES}: give smaller buffers"));
        }
        Ok((bases, false))
    }

    fn load(&mut self, ld: &ir::instruction::Ld) -> Result<(), String> {
        let size = ld.ty.bytes();
        if let AddressBase::Variable(variable) = ld.a.base {
            if let Some(at) = self.grid.parameters.get(&variable) {
                let first = at.wrapping_add_signed(ld.a.offset) as usize;
                for (index, to) in ld.d.iter().enumerate() {
                    let start = first.saturating_add(index * size as usize);
                    let bytes = self.grid.launch.parameters.get(start..start.saturating_add(size as usize));
                    let bytes = bytes.filter(|bytes| bytes.len() <= 8).ok_or("there is no such parameter")?;
                    let value = bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
                    self.extended(*to, Word::Number(value), ld.ty)?;
                }
                return Ok(());
            }
            if self.is_argument(&ld.a) {
                return ld.d.iter().try_for_each(|to| self.assign(*to, Word::Number(0)));
            }
        }
        if size > 8 {
            return Err("an access of more than 8 bytes is not understood".into());
        }
        if let (Word::Number(base), offset) = self.located(&ld.a)?
            && let [to] = ld.d[..]
            && let Ok(place) = self.grid.memory.find(base.wrapping_add(offset), size)
            && let Some(value) = self.grid.memory.constant(place, size)
        {
            return self.extended(to, Word::Number(value), ld.ty);
        }
        let order = ordering(ld.order, ld.scope);
        let read: Vec<usize> = ld.d.iter().map(|_| self.temporary()).collect();
        self.access(&ld.a, size, ld.d.len() as u32, &|bytes| Instruction::Load {
            destinations: read.clone(),
            access: plain(bytes, order),
        })?;
        for (to, from) in ld.d.iter().zip(read) {
            self.extended(*to, Word::Open(from, Range::bits(size * 8)), ld.ty)?;
        }
        Ok(())
    }

    /// Gives a register what was read of memory: a wider one gets its sign, or zeros.
    fn extended(&mut self, to: Def, value: Word, ty: ScalarType) -> Result<(), String> {
        let value = match to.0 {
            Some(register) if is_signed(ty) && self.bits(register) > ty.bits() => {
                let bits = self.bits(register);
                self.sign_extended(value, ty.bits(), bits)?
            }
            _ => value,
        };
        self.assign(to, value)
    }

    fn atomic(
        &mut self,
        address: &Address,
        ty: ScalarType,
        order: Ordering,
        update: Update,
        to: Option<Def>,
    ) -> Result<(), String> {
        let size = ty.bytes();
        if size > 8 {
            return Err("an access of more than 8 bytes is not understood".into());
        }
        let to = to.filter(|to| to.0.is_some());
        let destination = to.map(|_| self.temporary());
        self.access(address, size, 1, &|bytes| Instruction::Atomic {
            destination,
            update,
            access: plain(bytes, order),
        })?;
        match to.zip(destination) {
            Some((to, from)) => self.assign(to, Word::Open(from, Range::bits(size * 8))),
            None => Ok(()),
        }
    }

    fn number(&self, value: &Value) -> Result<u64, String> {
        match self.word(value)? {
            Word::Number(value) => Ok(value),
            Word::Open(..) => Err("this depends on what was read".into()),
        }
    }

    fn barrier(&mut self, part: Part, name: &Value, quorum: Option<&Value>) -> Result<(), String> {
        let resource = self.number(name)? as i64;
        let threads = self.grid.launch.block.iter().map(|&n| u64::from(n)).product::<u64>();
        // Barriers count whole warps, and all threads of the CTA need not be counted.
        let quorum = quorum.map(|quorum| self.number(quorum)).transpose()?;
        let quorum = quorum.filter(|&quorum| part == Part::Arrive || quorum < threads);
        self.emit(Instruction::Barrier {
            instance: 0,
            part,
            scope: Scope::Cta,
            resource: Some(Operand::Constant(resource)),
            quorum: quorum.map(|quorum| Operand::Constant(quorum as i64)),
        })
    }

    /// The threads of a warp that a mask names wait for one another.
    fn warp_barrier(&mut self, mask: &Value) -> Result<(), String> {
        let threads: u32 = self.grid.launch.block.iter().product();
        let rank = super::linear(self.seat.tid, self.grid.launch.block);
        let (warp, lanes) = (rank / 32, (threads - rank / 32 * 32).min(32));
        let named = self.number(mask)? & super::value::mask(lanes);
        let quorum = u64::from(named.count_ones());
        let all = quorum == u64::from(lanes);
        self.emit(Instruction::Barrier {
            instance: 0,
            part: Part::Sync,
            scope: Scope::Cta,
            resource: Some(Operand::Constant(WARP_BARRIERS + i64::from(warp))),
            quorum: (!all).then_some(Operand::Constant(quorum as i64)),
        })
    }

    fn initialise(&mut self, init: &MbarrierInit) -> Result<(), String> {
        let count = self.number(&init.count)? as i64;
        let bytes = self.fixed(&init.addr, MBARRIER)?;
        let before = self.grid.phases.insert((bytes.object, bytes.start), count);
        if count <= 0 || before.is_some_and(|before| before != count) {
            return Err("an mbarrier has one count, which is not zero".into());
        }
        let access = plain(bytes, ordering(isa::Order::Weak, None));
        self.emit(Instruction::Store { values: vec![Operand::Constant(0)], access })
    }

    fn arrive(&mut self, arrive: &MbarrierArrive) -> Result<(), String> {
        if arrive.action != MbarrierArriveAction::Arrive || arrive.expect_tx || arrive.no_complete {
            return Err("of arrivals at an mbarrier, only plain ones are understood".into());
        }
        let count = arrive.count.as_ref().map_or(Ok(Word::Number(1)), |count| self.word(count))?;
        let bytes = self.fixed(&arrive.addr, MBARRIER)?;
        let access = plain(bytes, ordering(arrive.order, Some(arrive.scope)));
        let destination = arrive.d.0.map(|_| self.temporary());
        let update = Update::Combine(Arithmetic::Add, count.operand());
        self.emit(Instruction::Atomic { destination, update, access })?;
        match destination {
            Some(from) => self.assign(arrive.d, Word::Open(from, Range::bits(63))),
            None => Ok(()),
        }
    }

    /// A wait is a load: the phases that have ended follow from how many have arrived.
    fn wait(&mut self, wait: &MbarrierWait) -> Result<(), String> {
        let bytes = self.fixed(&wait.addr, MBARRIER)?;
        // While the count is not known, threads are gone through another time.
        let phase = self.grid.phases.get(&(bytes.object, bytes.start)).copied().unwrap_or(1);
        let (phase, range) = (Word::Number(phase as u64), Range::bits(63));
        let count = self.temporary();
        let access = plain(bytes, ordering(wait.order, Some(wait.scope)));
        self.emit(Instruction::Load { destinations: vec![count], access })?;
        let ended = self.arithmetic(Arithmetic::Div, Word::Open(count, range), phase, range)?;
        let complete = match (&wait.parity, &wait.state) {
            (Some(parity), _) => {
                let parity = self.word(parity)?;
                let odd = self.arithmetic(Arithmetic::And, ended, Word::Number(1), Range::bits(1))?;
                self.arithmetic(Arithmetic::Compare(Comparison::Ne), odd, parity, Range::bits(1))?
            }
            (None, Some(state)) => {
                let state = self.word(state)?;
                let told = self.arithmetic(Arithmetic::Div, state, phase, range)?;
                self.arithmetic(Arithmetic::Compare(Comparison::Gt), ended, told, Range::bits(1))?
            }
            (None, None) => return Err("a wait for no phase".into()),
        };
        self.assign(wait.p, complete)
    }
}

fn plain(bytes: Bytes, (order, scope): Ordering) -> Access {
    Access { bytes, proxy: Proxy::Generic, order, scope }
}

fn cluster_barrier(part: Part) -> Instruction {
    let resource = Some(Operand::Constant(0));
    Instruction::Barrier { instance: 0, part, scope: Scope::Cluster, resource, quorum: None }
}

/// How an atomic operation combines what is there with its operand.
fn combined(op: AtomOp, ty: ScalarType) -> Result<Arithmetic, String> {
    match (op, ty.kind()) {
        (AtomOp::Add, TypeKind::Float) if ty == ScalarType::F32 => Ok(Arithmetic::AddF32),
        (_, TypeKind::Float) => {
            Err("this atomic operation on floating-point numbers is not understood".into())
        }
        (AtomOp::Inc, _) => Ok(Arithmetic::Inc),
        (AtomOp::Dec, _) => Ok(Arithmetic::Dec),
        // Values are without sign, and those of 64 bits with one.
        (AtomOp::Min | AtomOp::Max, kind) if (kind == TypeKind::Signed) != (ty.bytes() == 8) => {
            Err("this type of `min` and `max` is not understood".into())
        }
        (op, _) => combination(op),
    }
}
