//! Kernels that go on after a bad access, if who watches them lets them ([`Observer::forgive`]).
//!
//! The lanes whose access cannot take place are left out of the instruction, and what it would have written to their registers is
//! zero. Where an instruction is one access for each lane, these are known before it is executed. Others are executed lane by
//! lane; what lanes do together is left out as a whole.

use crate::exec::{Exec, Grid, event, lanes_of};
use crate::fault::Trap;
use crate::image::places::Home;
use crate::image::{Meta, Origin};
use crate::lanes::{EMPTY, Mask};
use crate::observe::Observer;
use crate::operation::Operation;
use crate::ops::address::{Space, in_space, lane_address};
use ptx::isa::{Convergence, Effects, Footprint};
use ptx::module::FuncId;
use std::collections::HashMap;

/// What is done about bad accesses in a launch.
pub(super) struct Forgiveness<'a> {
    observer: &'a dyn Observer,
    grid: &'a Grid<'a>,
    /// How each operation is executed.
    manners: Vec<Manner>,
    /// Functions in which there was one.
    functions: HashMap<FuncId, Option<ir::Function<'a>>>,
}

/// How an operation is executed, so that lanes can be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// As it is: it accesses no memory.
    Plain,
    /// With those lanes whose accesses can take place.
    Tested,
    /// Lane by lane.
    InTurn,
    /// By all lanes, or by none.
    Together,
}

impl Manner {
    fn of(effects: &Effects, meta: Meta) -> Self {
        let together = effects.convergence != Convergence::Thread || effects.waits;
        match (effects.memory, meta) {
            ([], _) | (_, Meta::Part) => Self::Plain,
            _ if together => Self::Together,
            ([only], Meta::Memory { .. }) if only.footprint == Footprint::Lane => Self::Tested,
            _ => Self::InTurn,
        }
    }
}

impl<'a> Forgiveness<'a> {
    pub(super) fn new(observer: &'a dyn Observer, grid: &'a Grid<'a>) -> Self {
        let (image, module) = (grid.image, grid.module);
        let manner = |(origin, meta): (&Origin, &Meta)| {
            let body = module.functions[origin.function.index()].body.as_ref();
            let instruction = body.and_then(|body| body.instructions.get(origin.instruction as usize));
            let sem = instruction.and_then(|instruction| module.opcode(instruction).sem());
            sem.map_or(Manner::Plain, |sem| Manner::of(sem.effects(), *meta))
        };
        let manners = image.origins.iter().zip(&image.metas).map(manner).collect();
        Self { observer, grid, manners, functions: HashMap::new() }
    }

    /// Executes the operation at `pc`, which is what `step` does.
    pub(super) fn execute(&mut self, x: &mut Exec<'_>, pc: u32, step: &dyn Fn(&mut Exec<'_>) -> u32) -> u32 {
        // What stands behind a guard does the work.
        let mut active = x.mask;
        let mut at = pc;
        if let Operation::Guard(guard) = self.grid.image.ops[pc as usize].operation() {
            for (mask, p) in active[..x.warps].iter_mut().zip(&x.files.p[guard.condition.index()..]) {
                *mask &= p ^ guard.condition.flip();
            }
            at += 1;
        }
        match self.manners[at as usize] {
            Manner::Plain => step(x),
            Manner::Tested => self.tested(x, (pc, at), active, step),
            Manner::InTurn => self.in_turn(x, (pc, at), active, step),
            Manner::Together => {
                let event = step(x);
                if event != event::FAULT || !self.forgives(x, at) {
                    return event;
                }
                lanes_of(active).for_each(|lane| self.clear(x, at, lane));
                at + 1
            }
        }
    }

    fn tested(
        &mut self,
        x: &mut Exec<'_>,
        (pc, at): (u32, u32),
        active: Mask,
        step: &dyn Fn(&mut Exec<'_>) -> u32,
    ) -> u32 {
        let Meta::Memory { space, access, bytes, address, .. } = self.grid.image.metas[at as usize] else {
            return step(x);
        };
        let bytes = u64::from(bytes);
        let mut bad = EMPTY;
        for (warp, lane) in lanes_of(active) {
            let to = lane_address(x, address, warp, lane);
            let (there, window) =
                in_space!(space, P => (reaches::<P>(x, (warp, lane), to, bytes), P::WINDOW));
            if !there {
                let trap = x.bad_access(to.wrapping_add(window), bytes, access);
                x.raise(warp, lane, trap);
                if !self.forgives(x, at) {
                    return event::FAULT;
                }
                bad[warp] |= 1 << lane;
            }
        }
        if bad == EMPTY {
            return step(x);
        }
        let outer = x.mask;
        let inner = std::array::from_fn(|warp| outer[warp] & !bad[warp]);
        let left = active.iter().zip(&bad).any(|(active, bad)| active & !bad != 0);
        x.set_mask(inner);
        let next = if left { step(x) } else { at + 1 };
        x.set_mask(outer);
        x.at = pc;
        lanes_of(bad).for_each(|lane| self.clear(x, at, lane));
        next
    }

    fn in_turn(
        &mut self,
        x: &mut Exec<'_>,
        (pc, at): (u32, u32),
        active: Mask,
        step: &dyn Fn(&mut Exec<'_>) -> u32,
    ) -> u32 {
        let outer = x.mask;
        let mut next = at + 1;
        for (warp, lane) in lanes_of(active) {
            let mut alone = EMPTY;
            alone[warp] = 1 << lane;
            x.set_mask(alone);
            x.at = pc;
            match step(x) {
                event::FAULT if self.forgives(x, at) => self.clear(x, at, (warp, lane)),
                event @ event::FIRST.. => {
                    next = event;
                    break;
                }
                _ => {}
            }
        }
        x.set_mask(outer);
        next
    }

    /// Whether the kernel goes on after what was raised. If not, it stays raised.
    fn forgives(&self, x: &mut Exec<'_>, at: u32) -> bool {
        let Some(raised) = x.trap.take() else { return false };
        let forgiven = raised.trap.is_bad_access() && self.asks(x, at, &raised.trap, raised.lane);
        if !forgiven {
            x.trap = Some(raised);
        }
        forgiven
    }

    fn asks(&self, x: &Exec<'_>, at: u32, trap: &Trap, lane: Option<(usize, usize)>) -> bool {
        lane.is_some_and(|(warp, lane)| self.observer.forgive(trap, x.lanes_at(at, warp, 1 << lane)))
    }

    /// What the instruction would have written to a lane's registers becomes zero.
    fn clear(&mut self, x: &mut Exec<'_>, at: u32, (warp, lane): (usize, usize)) {
        let Origin { function, instruction } = self.grid.image.origins[at as usize];
        let module = self.grid.module;
        let lowered = self.functions.entry(function).or_insert_with(|| ir::Function::lower(module, function));
        let places = &self.grid.image.code(function).places;
        let Some(lowered) = lowered else { return };
        lowered.registers(instruction, &mut |register, access| {
            if access == ir::instruction::Access::Read {
                return;
            }
            match places.home(register) {
                Home::Plane(plane) => x.files.write(plane, warp, lane, 0),
                Home::Pair(planes) => {
                    planes.into_iter().for_each(|plane| x.files.write(plane, warp, lane, 0))
                }
                Home::Predicate(predicate) => x.files.write_predicate(predicate, warp, 1 << lane, 0),
                Home::Scalar(scalar) => x.files.s[scalar.index()] = 0,
                Home::Unused => {}
            }
        });
    }
}

/// Whether the bytes at an address are there, and lie as an access of so many must.
fn reaches<P: Space>(x: &Exec<'_>, (warp, lane): (usize, usize), address: u64, bytes: u64) -> bool {
    let is_there = |address| P::load::<u8>(x, warp, lane, address).is_some();
    address.is_multiple_of(bytes.next_power_of_two())
        && is_there(address)
        && is_there(address.wrapping_add(bytes - 1))
}
