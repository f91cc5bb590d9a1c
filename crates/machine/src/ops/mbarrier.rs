//! Operations on mbarrier objects (PTX ISA, "mbarrier"); what they do to the object is in [`crate::memory::mbarrier`].
//!
//! The lanes of a warp that arrive at one object do so at once, as on hardware: all get the state from before, and
//! together they must not be more than are pending.

use super::address::{Cluster, Generic, Shared, Space, addresses};
use super::{Execute, NONE, Op, event};
use crate::exec::{Awaited, Exec};
use crate::fault::{Access, Trap};
use crate::lanes::simd::Baseline;
use crate::lanes::{EMPTY, LANES};
use crate::memory::mbarrier::{Arrival, Mbarrier, Misuse, parity_of_state};
use crate::memory::{SHARED_WINDOW, SpaceKind, WINDOW_SIZE};
use crate::observe::{Happening, MbarrierEvent};

/// In [`Op::x`] of an arrival: `.arrive_drop`.
pub(crate) const DROP: u32 = 1;
/// In [`Op::x`] of an arrival: the count in [`Op::b`] is of bytes, and one thread arrives (`.expect_tx`).
pub(crate) const EXPECT: u32 = 2;
/// In [`Op::x`] of an arrival: one lane after the other (`.noComplete`).
pub(crate) const IN_TURN: u32 = 4;
/// In [`Op::x`] of a wait: until it succeeds, or its time is over (`try_wait`).
pub(crate) const SUSPEND: u32 = 1;
/// In [`Op::x`] of a wait: [`Op::c`] is a 32-bit plane with a parity, not a 64-bit one with a state.
pub(crate) const PARITY: u32 = 2;

/// The lanes of a mask, in order.
fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

/// The object at an address, or why there is none.
fn object<P: Space>(x: &Exec<'_>, warp: usize, lane: usize, address: u64) -> Result<Mbarrier, Trap> {
    let generic = address.wrapping_add(P::WINDOW);
    if generic & !(WINDOW_SIZE - 1) != SHARED_WINDOW {
        return Err(Trap::InvalidBarrier(format!("an mbarrier at {generic:#x}, outside shared memory")));
    }
    let word = P::load::<u64>(x, warp, lane, address);
    word.map(Mbarrier::from_bits).ok_or_else(|| x.bad_access(generic, 8, Access::Atomic))
}

/// Changes the object at an address, for lanes at an operation; without one, for an asynchronous operation.
fn change<P: Space, T>(
    x: &mut Exec<'_>,
    (pc, warp, mask): (Option<u32>, usize, u32),
    address: u64,
    how: impl FnOnce(&mut Mbarrier) -> Result<T, Misuse>,
) -> Result<T, Trap> {
    let lane = mask.trailing_zeros() as usize;
    let mut object = object::<P>(x, warp, lane, address)?;
    let before = object;
    let result = how(&mut object).map_err(|misuse| Trap::InvalidBarrier(misuse.to_string()))?;
    let stored = P::store::<u64>(x, warp, lane, address, object.bits());
    stored.ok_or_else(|| x.bad_access(address.wrapping_add(P::WINDOW), 8, Access::Atomic))?;
    x.tell(|x| Happening::Mbarrier {
        lanes: x.lanes_at(pc.unwrap_or(0), warp, mask),
        address: address.wrapping_add(P::WINDOW),
        event: match pc {
            Some(_) => MbarrierEvent::Changed { before, after: object },
            None => MbarrierEvent::Completed { before, after: object },
        },
    });
    Ok(result)
}

/// So many bytes of an asynchronous copy have come: the object at an address is told.
pub(crate) fn complete<P: Space>(
    x: &mut Exec<'_>,
    warp: usize,
    lane: usize,
    address: u64,
    bytes: u64,
) -> Result<(), Trap> {
    // No copy is longer than shared memory.
    change::<P, ()>(x, (None, warp, 1 << lane), address, |object| object.complete_tx(bytes as u32))
}

/// Does something with the object of every active lane; `b` is its 32-bit operand.
#[inline(always)]
fn each<P: Space>(
    x: &mut Exec<'_>,
    op: &Op,
    pc: u32,
    act: impl Fn(&mut Mbarrier, u32) -> Result<(), Misuse>,
) -> u32 {
    x.communicated = true;
    for warp in 0..x.warps {
        let at = addresses(x, op, warp).lanes();
        for lane in lanes_of(x.mask[warp]) {
            let operand = if op.b == NONE { 0 } else { x.files.w[op.b as usize + warp].0[lane] };
            let who = (Some(pc), warp, 1 << lane);
            if let Err(trap) = change::<P, ()>(x, who, at[lane], |object| act(object, operand)) {
                return x.raise(warp, lane, trap);
            }
        }
    }
    pc + 1
}

/// `mbarrier.init [a], b`.
fn init<P: Space>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    each::<P>(x, op, pc, |object, count| {
        *object = Mbarrier::new(count);
        Ok(())
    })
}

/// `mbarrier.inval [a]`, and `cp.async.mbarrier.arrive [a]` where copies are done when they are issued: nothing changes,
/// but the object must be there.
fn touch<P: Space>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    each::<P>(x, op, pc, |_, _| Ok(()))
}

/// `mbarrier.expect_tx [a], b`.
fn expect_tx<P: Space>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    each::<P>(x, op, pc, |object, bytes| object.expect_tx(bytes))
}

/// `mbarrier.complete_tx [a], b`.
fn complete_tx<P: Space>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    each::<P>(x, op, pc, |object, bytes| object.complete_tx(bytes))
}

/// `mbarrier.arrive d, [a], b`: 64-bit plane `d` and 32-bit plane `b` may be [`NONE`]; flags are in `x`.
fn arrive<P: Space>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    for warp in 0..x.warps {
        let at = addresses(x, op, warp).lanes();
        let mut states = [0; LANES];
        let mut rest = x.mask[warp];
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let here = lanes_of(rest).filter(|&lane| at[lane] == at[first]);
            let team = match op.x & IN_TURN {
                0 => here.fold(0, |team, lane| team | 1 << lane),
                _ => 1 << first,
            };
            rest &= !team;
            let mut arrival = Arrival { drop: op.x & DROP != 0, ..Arrival::default() };
            for lane in lanes_of(team) {
                let operand = if op.b == NONE { 1 } else { x.files.w[op.b as usize + warp].0[lane] };
                let (count, bytes) = if op.x & EXPECT != 0 { (1, operand) } else { (operand, 0) };
                arrival.count += u64::from(count);
                arrival.expect += u64::from(bytes);
            }
            match change::<P, u64>(x, (Some(pc), warp, team), at[first], |object| object.arrive(arrival)) {
                Ok(state) => lanes_of(team).for_each(|lane| states[lane] = state),
                Err(trap) => return x.raise(warp, first, trap),
            }
        }
        if op.d != NONE {
            x.store_plane::<Baseline, u64>(op.d, warp, states);
        }
    }
    pc + 1
}

/// `mbarrier.test_wait` and `try_wait`: predicate `d` = whether the phase that `c` names is over; flags are in `x`.
///
/// `try_wait` returns when the phase of any lane is over; the others are told that theirs is not, and will ask again.
fn wait<P: Space>(x: &mut Exec<'_>, op: &Op, pc: u32) -> u32 {
    x.communicated = true;
    let mut over = EMPTY;
    let mut awaited = None;
    for warp in 0..x.warps {
        let at = addresses(x, op, warp).lanes();
        for lane in lanes_of(x.mask[warp]) {
            let object = match object::<P>(x, warp, lane, at[lane]) {
                Ok(object) => object,
                Err(trap) => return x.raise(warp, lane, trap),
            };
            let parity = match op.x & PARITY {
                0 => parity_of_state(x.files.d[op.c as usize + warp].0[lane]),
                _ => x.files.w[op.c as usize + warp].0[lane] & 1 != 0,
            };
            match object.is_over(parity) {
                true => {
                    over[warp] |= 1 << lane;
                    x.tell(|x| Happening::Mbarrier {
                        lanes: x.lanes_at(pc, warp, 1 << lane),
                        address: at[lane].wrapping_add(P::WINDOW),
                        event: MbarrierEvent::Waited { parity },
                    });
                }
                false => {
                    awaited.get_or_insert(Awaited::Mbarrier {
                        address: at[lane],
                        word: object.bits(),
                        lane: (warp, lane),
                    });
                }
            }
        }
    }
    let in_vain = over == EMPTY;
    if in_vain && op.x & SUSPEND != 0 && !x.expired {
        x.awaited = awaited;
        return event::WAIT;
    }
    for warp in 0..x.warps {
        let p = &mut x.files.p[op.d as usize + warp];
        *p = (*p & !x.mask[warp]) | over[warp];
    }
    if in_vain {
        x.awaited = awaited;
        x.resume = pc + 1;
        return event::YIELD;
    }
    pc + 1
}

/// What to do with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Init,
    Touch,
    ExpectTx,
    CompleteTx,
    Arrive,
    Wait,
}

/// The operation in a state space.
pub(crate) fn operation(action: Action, space: SpaceKind) -> Option<Execute> {
    fn of<P: Space>(action: Action) -> Execute {
        match action {
            Action::Init => init::<P>,
            Action::Touch => touch::<P>,
            Action::ExpectTx => expect_tx::<P>,
            Action::CompleteTx => complete_tx::<P>,
            Action::Arrive => arrive::<P>,
            Action::Wait => wait::<P>,
        }
    }
    match space {
        SpaceKind::Shared => Some(of::<Shared>(action)),
        SpaceKind::Cluster => Some(of::<Cluster>(action)),
        SpaceKind::Generic => Some(of::<Generic>(action)),
        SpaceKind::Global | SpaceKind::Local | SpaceKind::Param => None,
    }
}
