//! Operations on mbarrier objects (PTX ISA, "mbarrier"); what they do to the object is in [`crate::memory::mbarrier`].
//!
//! The lanes of a warp that arrive at one object do so at once, as on hardware: all get the state from before, and
//! together they must not be more than are pending.

use super::address::{Cluster, Generic, Shared, Space, addresses};
use super::asynchronous;
use super::body::function;
use crate::asynchrony::pending::{Record, Until};
use crate::exec::{Awaited, Exec, LaneTrap, event};
use crate::fault::{Access, Trap};
use crate::image::Function;
use crate::lanes::simd::Baseline;
use crate::lanes::{EMPTY, LANES};
use crate::memory::mbarrier::{Arrival, Mbarrier, Misuse, parity_of_state};
use crate::memory::{SHARED_WINDOW, SpaceKind, WINDOW_SIZE};
use crate::observe::{Happening, MbarrierEvent};
use crate::operation::kinds::{ArriveMbarrier, ChangeMbarrier, WaitMbarrier};

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

/// What an asynchronous operation was to do is done: its lane arrives at the object at an address.
pub(crate) fn arrive_once<P: Space>(
    x: &mut Exec<'_>,
    pc: u32,
    (warp, lane): (usize, usize),
    address: u64,
) -> Result<(), Trap> {
    let arrival = Arrival { count: 1, ..Arrival::default() };
    change::<P, u64>(x, (Some(pc), warp, 1 << lane), address, |object| object.arrive(arrival)).map(|_| ())
}

/// Does something with the object of every active lane.
#[inline(always)]
fn each<P: Space>(
    x: &mut Exec<'_>,
    op: &ChangeMbarrier,
    pc: u32,
    act: impl Fn(&mut Mbarrier, u32) -> Result<(), Misuse>,
) -> u32 {
    x.communicated = true;
    for warp in 0..x.warps {
        let at = addresses(x, op.address, warp).lanes();
        for lane in lanes_of(x.mask[warp]) {
            let operand = op.count.map_or(0, |count| x.files.w[count.index() + warp].0[lane]);
            let who = (Some(pc), warp, 1 << lane);
            if let Err(trap) = change::<P, ()>(x, who, at[lane], |object| act(object, operand)) {
                return x.raise(warp, lane, trap);
            }
        }
    }
    pc + 1
}

/// `mbarrier.init [a], b`.
fn init<P: Space>(x: &mut Exec<'_>, op: &ChangeMbarrier, pc: u32) -> u32 {
    each::<P>(x, op, pc, |object, count| {
        *object = Mbarrier::new(count);
        Ok(())
    })
}

/// `mbarrier.inval [a]`, and `cp.async.mbarrier.arrive [a]` where copies are done when they are issued: nothing changes,
/// but the object must be there.
fn touch<P: Space>(x: &mut Exec<'_>, op: &ChangeMbarrier, pc: u32) -> u32 {
    each::<P>(x, op, pc, |_, _| Ok(()))
}

/// `cp.async.mbarrier.arrive [a]` where copies are done later: the phase waits for them, too.
fn expect_arrival<P: Space>(x: &mut Exec<'_>, op: &ChangeMbarrier, pc: u32) -> u32 {
    each::<P>(x, op, pc, |object, _| object.expect_arrival())
}

/// `mbarrier.expect_tx [a], b`.
fn expect_tx<P: Space>(x: &mut Exec<'_>, op: &ChangeMbarrier, pc: u32) -> u32 {
    each::<P>(x, op, pc, |object, bytes| object.expect_tx(bytes))
}

/// `mbarrier.complete_tx [a], b`.
fn complete_tx<P: Space>(x: &mut Exec<'_>, op: &ChangeMbarrier, pc: u32) -> u32 {
    each::<P>(x, op, pc, |object, bytes| object.complete_tx(bytes))
}

/// `mbarrier.arrive d, [a], count`.
fn arrive<P: Space>(x: &mut Exec<'_>, op: &ArriveMbarrier, pc: u32) -> u32 {
    x.communicated = true;
    for warp in 0..x.warps {
        let at = addresses(x, op.address, warp).lanes();
        let mut states = [0; LANES];
        let mut rest = x.mask[warp];
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let here = lanes_of(rest).filter(|&lane| at[lane] == at[first]);
            let team = match op.in_turn {
                false => here.fold(0, |team, lane| team | 1 << lane),
                true => 1 << first,
            };
            rest &= !team;
            let mut arrival = Arrival { drop: op.drop, ..Arrival::default() };
            for lane in lanes_of(team) {
                let operand = op.count.map_or(1, |count| x.files.w[count.index() + warp].0[lane]);
                let (count, bytes) = if op.expect { (1, operand) } else { (operand, 0) };
                arrival.count += u64::from(count);
                arrival.expect += u64::from(bytes);
            }
            match change::<P, u64>(x, (Some(pc), warp, team), at[first], |object| object.arrive(arrival)) {
                Ok(state) => lanes_of(team).for_each(|lane| states[lane] = state),
                Err(trap) => return x.raise(warp, first, trap),
            }
        }
        if let Some(d) = op.d {
            x.store_plane::<Baseline, u64>(d, warp, states);
        }
    }
    pc + 1
}

/// `mbarrier.test_wait` and `try_wait`: whether the phase that is named is over.
///
/// `try_wait` returns when the phase of any lane is over; the others are told that theirs is not, and will ask again.
fn wait<P: Space>(x: &mut Exec<'_>, op: &WaitMbarrier, pc: u32) -> u32 {
    x.communicated = true;
    let mut over = EMPTY;
    let mut awaited = None;
    let mut refused = false;
    for warp in 0..x.warps {
        let at = addresses(x, op.address, warp).lanes();
        for lane in lanes_of(x.mask[warp]) {
            let mut object = match object::<P>(x, warp, lane, at[lane]) {
                Ok(object) => object,
                Err(trap) => return x.raise(warp, lane, trap),
            };
            let parity = match op.phase.bits() {
                64 => parity_of_state(x.files.d[op.phase.index() + warp].0[lane]),
                _ => x.files.w[op.phase.index() + warp].0[lane] & 1 != 0,
            };
            if !x.pending.is_empty() && !object.is_over(parity) {
                match end_phase(x, (warp, lane), at[lane].wrapping_add(P::WINDOW), parity) {
                    Ok((now, refuses)) => (object, refused) = (now, refused | refuses),
                    Err(trap) => {
                        x.trap = Some(trap);
                        return event::FAULT;
                    }
                }
            }
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
    if in_vain && op.suspend && !x.expired && !refused {
        x.awaited = awaited;
        return event::WAIT;
    }
    for warp in 0..x.warps {
        x.files.write_predicate(op.d, warp, x.mask[warp], over[warp]);
    }
    if in_vain {
        x.awaited = awaited;
        x.resume = pc + 1;
        return event::YIELD;
    }
    pc + 1
}

/// Performs what is pending that ends a phase of the object at a generic address, now that a lane asks for that. Whoever asks
/// first is told that the phase is not over yet, as may be on a GPU. The object then, and whether that has been told now.
#[cold]
fn end_phase(
    x: &mut Exec<'_>,
    (warp, lane): (usize, usize),
    address: u64,
    parity: bool,
) -> Result<(Mbarrier, bool), LaneTrap> {
    let object = |x: &Exec<'_>| {
        let found = object::<Generic>(x, warp, lane, address);
        found.map_err(|trap| LaneTrap { trap, lane: Some((warp, lane)) })
    };
    asynchronous::pass_time(x)?;
    let now = object(x)?;
    let (mut arrivals, mut is_told, mut first) = (0, false, false);
    for record in x.pending.all_mut().filter(|record| record.tells(address)) {
        let count = asynchronous::count(&record.lanes);
        if let Until::Phase { arrival, asked, .. } = &mut record.until {
            is_told = true;
            arrivals += if arrival.is_some() { count } else { 0 };
            first |= !std::mem::replace(asked, true);
        }
    }
    // It waits for threads, too.
    if !is_told || now.pending() > arrivals {
        return Ok((now, false));
    }
    if first {
        return Ok((now, true));
    }
    while !object(x)?.is_over(parity) {
        let arrives = |record: &Record| matches!(record.until, Until::Phase { arrival: Some(_), .. });
        let bytes = x.pending.first(|record| record.tells(address) && !arrives(record));
        let Some(at) = bytes.or_else(|| x.pending.first(|record| record.tells(address))) else { break };
        asynchronous::complete(x, at)?;
    }
    Ok((object(x)?, false))
}

/// What an operation changes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Init,
    /// Nothing, but the object must be there.
    Touch,
    ExpectArrival,
    ExpectTx,
    CompleteTx,
}

/// Evaluates an expression with a type standing for a state space that objects can be in.
macro_rules! in_space {
    ($space:expr, $p:ident => $e:expr) => {
        match $space {
            SpaceKind::Shared => {
                type $p = Shared;
                Some($e)
            }
            SpaceKind::Cluster => {
                type $p = Cluster;
                Some($e)
            }
            SpaceKind::Generic => {
                type $p = Generic;
                Some($e)
            }
            SpaceKind::Global | SpaceKind::Local | SpaceKind::Param => None,
        }
    };
}

/// The operation that changes an object in a state space.
pub(crate) fn changes(change: Change, space: SpaceKind) -> Option<Function<ChangeMbarrier>> {
    in_space!(space, P => match change {
        Change::Init => function!(init::<P>),
        Change::Touch => function!(touch::<P>),
        Change::ExpectArrival => function!(expect_arrival::<P>),
        Change::ExpectTx => function!(expect_tx::<P>),
        Change::CompleteTx => function!(complete_tx::<P>),
    })
}

/// The arrival at an object in a state space.
pub(crate) fn arrives(space: SpaceKind) -> Option<Function<ArriveMbarrier>> {
    in_space!(space, P => function!(arrive::<P>))
}

/// The wait for an object in a state space.
pub(crate) fn waits(space: SpaceKind) -> Option<Function<WaitMbarrier>> {
    in_space!(space, P => function!(wait::<P>))
}
