//! Which loops are unrolled, and how. A loop is if it is small, has no other in it, and counts: all of it where it is known to
//! end soon, several rounds at once where the number of rounds is known, or asked for before each such group. Then loads of several
//! rounds are under way together.
//!
//! `.pragma "nounroll"` keeps a loop as it is, and so does what lanes or threads do together in it: they do it at one place.

use ir::induction::{Induction, Inductions, Test};
use ir::loops::{LoopId, Loops};
use ir::operand::{Def, Value};
use ir::{BlockId, Cfg, Function, Liveness, Op, Ssa, instruction as i};
use ptx::isa::{Convergence, Flow};
use ptx::module::{LabelId, RegId};
use ptx::types::ScalarType;
use rustc_hash::FxHashMap as HashMap;

/// Most instructions of PTX that a loop has when it is unrolled,
const MOST: u32 = 160;
/// or so many for each of the rounds that may come one behind the other.
const MOST_OF_A_ROUND: u32 = 40;
/// Most rounds of a loop that is unrolled as a whole.
const MOST_ROUNDS: u64 = 32;

/// How far a loop is unrolled.
#[derive(Clone, Copy)]
struct Limits {
    /// Rounds of a group, at most.
    rounds: u32,
    /// Instructions.
    most: u32,
}

/// A loop that is unrolled: its instructions stand one behind the other, the branches that end a round last.
#[derive(Clone, Debug)]
pub(crate) struct Unrolled {
    pub(crate) first: u32,
    /// The first of these branches.
    pub(crate) tail: u32,
    pub(crate) end: u32,
    /// The predicate by which another round comes, and whether its opposite counts.
    pub(crate) again: (RegId, bool),
    /// Where the loop leads, if not to what stands behind it.
    pub(crate) exit: Option<LabelId>,
    pub(crate) rounds: Rounds,
    /// What is counted, by the instruction that counts.
    pub(crate) counters: HashMap<u32, Counter>,
}

/// How many rounds come one behind the other.
#[derive(Clone, Debug)]
pub(crate) enum Rounds {
    /// All that there are.
    All(u32),
    /// So many in front, and then groups of so many.
    Known(u32, u32),
    /// Groups of so many as long as there are enough; the rest one by one.
    Asked(u32, Bound),
}

/// A register that advances by a constant in each round.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    pub(crate) register: RegId,
    pub(crate) to: Def,
    pub(crate) ty: ScalarType,
    pub(crate) step: i64,
    /// What it is in the first round, if that is a constant.
    pub(crate) start: Option<u64>,
}

/// What a counter is compared with after each round.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) register: RegId,
    pub(crate) ty: ScalarType,
    pub(crate) step: i64,
    pub(crate) to: Value,
    /// Another round comes while the counter compares so.
    pub(crate) cmp: i::SetIntCmp,
}

/// The loops of a function that are unrolled, by their first instruction, each by so many rounds at most.
pub(crate) fn plan(function: &Function<'_>, rounds: u32) -> HashMap<u32, Unrolled> {
    let limits = Limits { rounds, most: MOST.max(MOST_OF_A_ROUND * rounds) };
    let goes_back = |(at, instruction): (usize, &Result<ir::Instruction, _>)| match instruction {
        Ok(ir::Instruction { op: Op::Bra(bra), .. }) => {
            function.body.labels[bra.target.index()].target as usize <= at
        }
        _ => false,
    };
    if !function.instructions.iter().enumerate().any(goes_back) {
        return HashMap::default();
    }
    let cfg = Cfg::new(function);
    let liveness = Liveness::new(function, &cfg);
    let Ok(ssa) = Ssa::new(function, cfg, &liveness) else { return HashMap::default() };
    let loops = Loops::new(&ssa.cfg);
    let inductions = Inductions::new(&ssa);
    let ids = (0..loops.all.len() as u32).map(LoopId);
    ids.filter_map(|id| unrolled(&ssa, &loops, &inductions, id, limits)).map(|it| (it.first, it)).collect()
}

fn unrolled(
    ssa: &Ssa<'_>,
    loops: &Loops,
    inductions: &Inductions<'_, '_>,
    id: LoopId,
    limits: Limits,
) -> Option<Unrolled> {
    let this = &loops.all[id.index()];
    if loops.all.iter().any(|other| other.parent == Some(id)) {
        return None;
    }
    let (first, end) = contiguous(ssa, loops, id)?;
    let (tail, again, exit) = tail(ssa.function, first, end)?;
    let size = tail - first;
    let header = &ssa.cfg.blocks[this.header.index()];
    let kept = ssa.function.body.nounroll.iter().any(|at| (header.first..header.end).contains(at));
    let simple = (first..tail).all(|at| ssa.function.instruction(at).is_some_and(is_alone));
    if kept || !simple || size * 2 > limits.most {
        return None;
    }
    let counted = inductions.of(this);
    let rounds = match inductions.trip_count(this) {
        Some(rounds) => known(size, rounds, limits)?,
        None => {
            let loads = |at| ssa.function.instruction(at).is_some_and(loads);
            if size * limits.rounds > limits.most || !(first..tail).any(loads) {
                return None;
            }
            Rounds::Asked(limits.rounds, bound(ssa, loops, id, &inductions.test(this)?)?)
        }
    };
    let counters = counted.iter().filter_map(|one| counter(ssa, inductions, one)).collect();
    Some(Unrolled { first, tail, end, again, exit, rounds, counters })
}

/// How a loop of so many instructions and rounds is unrolled.
fn known(size: u32, rounds: u64, limits: Limits) -> Option<Rounds> {
    let fits = |rounds: u32| size * rounds <= limits.most;
    if rounds <= MOST_ROUNDS && fits(rounds as u32) {
        return Some(Rounds::All(rounds as u32));
    }
    let whole =
        (2..=limits.rounds).rev().find(|&group| rounds.is_multiple_of(u64::from(group)) && fits(group));
    if let Some(group) = whole {
        return Some(Rounds::Known(0, group));
    }
    let group = limits.rounds;
    let before = (rounds % u64::from(group)) as u32;
    (fits(group + before) && rounds > u64::from(group)).then_some(Rounds::Known(before, group))
}

/// The instructions of a loop whose blocks stand one behind the other, the header first.
fn contiguous(ssa: &Ssa<'_>, loops: &Loops, id: LoopId) -> Option<(u32, u32)> {
    let first = loops.all[id.index()].header;
    let inside = |block: u32| loops.contains(id, BlockId(block));
    let count = ssa.cfg.blocks.len() as u32;
    let last = (first.0..count).take_while(|&block| inside(block)).last()?;
    let elsewhere = (0..first.0).chain(last + 1..count).any(inside);
    (!elsewhere).then(|| (ssa.cfg.blocks[first.index()].first, ssa.cfg.blocks[last as usize].end))
}

/// The branches that end a round: one back under a guard, or one out under a guard and one back.
fn tail(function: &Function<'_>, first: u32, end: u32) -> Option<(u32, (RegId, bool), Option<LabelId>)> {
    let branch = |at: u32| match function.instruction(at)? {
        ir::Instruction { guard, op: Op::Bra(bra) } => Some((*guard, bra.target)),
        _ => None,
    };
    let target = |label: LabelId| function.body.labels[label.index()].target;
    let (guard, back) = branch(end.checked_sub(1)?)?;
    if target(back) != first {
        return None;
    }
    if let Some(guard) = guard {
        return Some((end - 1, (guard.register, guard.negated), None));
    }
    let (guard, out) = end.checked_sub(2).and_then(branch)?;
    let guard = guard.filter(|_| !(first..end).contains(&target(out)))?;
    let exit = (target(out) != end).then_some(out);
    Some((end - 2, (guard.register, !guard.negated), exit))
}

/// Whether each thread executes an instruction for itself, and goes on behind it within the loop.
fn is_alone(instruction: &ir::Instruction) -> bool {
    let effects = instruction.op.effects();
    effects.convergence == Convergence::Thread
        && effects.barrier.is_none()
        && !effects.waits
        && matches!(effects.flow, Flow::Next | Flow::Branch)
}

fn loads(instruction: &ir::Instruction) -> bool {
    matches!(instruction.op, Op::Ld(_))
}

/// What a test asks, if it can be asked for several rounds at once: the counter comes nearer to what it is compared with, and that stays
/// what it is.
fn bound(ssa: &Ssa<'_>, loops: &Loops, id: LoopId, test: &Test) -> Option<Bound> {
    use i::SetIntCmp::{Eq, Ge, Gt, Hi, Hs, Le, Lo, Ls, Lt, Ne};
    let cmp = match (test.cmp, test.goes_on) {
        (cmp, true) => cmp,
        (Eq, false) => Ne,
        (Ne, false) => Eq,
        (Lt, false) => Ge,
        (Le, false) => Gt,
        (Gt, false) => Le,
        (Ge, false) => Lt,
        (Lo, false) => Hs,
        (Ls, false) => Hi,
        (Hi, false) => Ls,
        (Hs, false) => Lo,
    };
    let step = test.induction.step;
    let nearer = match cmp {
        Lt | Le | Lo | Ls => step > 0,
        Gt | Ge | Hi | Hs => step < 0,
        Ne => step != 0,
        Eq => false,
    };
    let definition = ssa.values[test.induction.parameter.index()];
    let same = definition.ty.bits() == test.ty.bits() && matches!(test.ty.bits(), 32 | 64);
    if !nearer || !same || !test.is_advanced || test.is_cut || step.unsigned_abs() > 1 << 24 {
        return None;
    }
    let to = match test.bound {
        Value::Register(value) => {
            // What is defined outside is the same in each round.
            let inside = defines(ssa, loops, id, value);
            (!inside).then(|| Value::Register(ssa.values[value.index()].register))?
        }
        Value::Constant(bits) => Value::Constant(bits),
        Value::Special { .. } | Value::Symbol { .. } | Value::Unused => return None,
    };
    Some(Bound { register: definition.register, ty: test.ty, step, to, cmp })
}

/// Whether a loop defines a value.
fn defines(ssa: &Ssa<'_>, loops: &Loops, id: LoopId, value: RegId) -> bool {
    (0..ssa.blocks.len() as u32).map(BlockId).filter(|&block| loops.contains(id, block)).any(|block| {
        let block = &ssa.blocks[block.index()];
        let mut found = block.parameters.contains(&value);
        block.instructions.iter().for_each(|one| one.writes(&mut |written| found |= written == value));
        found
    })
}

/// A counter, and the instruction that counts it.
fn counter(ssa: &Ssa<'_>, inductions: &Inductions<'_, '_>, one: &Induction) -> Option<(u32, Counter)> {
    let at = inductions.counts(one)?;
    let register = ssa.values[one.parameter.index()].register;
    let (ty, to) = match &ssa.function.instruction(at)?.op {
        Op::AddInt(i::AddInt { ty, d, .. }) | Op::SubInt(i::SubInt { ty, d, .. }) => (*ty, *d),
        _ => return None,
    };
    let wide = ssa.values[one.parameter.index()].ty;
    let start = inductions.constant(&one.start);
    let plain = ty.bits() == wide.bits() && matches!(ty.bits(), 32 | 64);
    plain.then_some((at, Counter { register, to, ty, step: one.step, start }))
}
