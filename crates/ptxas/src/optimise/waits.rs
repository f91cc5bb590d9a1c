//! Which loops of a kernel wait for what other threads do.

use crate::bodies::Bodies;
use ir::progress::{Progress, may_see_others};
use ir::{Cfg, Converged, Function, LaneOrder, Liveness, Ssa};
use ptx::module::FuncId;
use rustc_hash::FxHashSet as HashSet;

/// Loops that may end by what another thread writes meanwhile. A lane of such a kernel must not be held up by one that comes later, and
/// others get their turn in each round of these.
#[derive(Debug)]
pub(crate) enum Waits {
    /// Of something nothing is known.
    Anywhere,
    /// Those that begin with these instructions.
    At(HashSet<(FuncId, u32)>),
}

impl Waits {
    /// Whether there is such a loop.
    pub(crate) fn any(&self) -> bool {
        match self {
            Self::Anywhere => true,
            Self::At(loops) => !loops.is_empty(),
        }
    }

    /// Whether one may begin with an instruction.
    pub(crate) fn at(&self, function: FuncId, instruction: u32) -> bool {
        match self {
            Self::Anywhere => true,
            Self::At(loops) => loops.contains(&(function, instruction)),
        }
    }
}

/// Where the kernel, or what it calls, may wait.
pub(crate) fn waits(bodies: &Bodies<'_>, kernel: FuncId) -> Waits {
    let mut found = HashSet::default();
    let mut seen = HashSet::from_iter([kernel]);
    let mut pending = vec![kernel];
    while let Some(id) = pending.pop() {
        // Of what is not in the module nothing is known.
        let Some(function) = bodies.of(id) else { return Waits::Anywhere };
        let calls = |op: &ir::Op| matches!(op, ir::Op::CallIndirect(_));
        if function.instructions.iter().flatten().any(|it| calls(&it.op)) {
            return Waits::Anywhere;
        }
        let Some(headers) = headers(&function) else { return Waits::Anywhere };
        found.extend(headers.into_iter().map(|first| (id, first)));
        pending.extend(function.callees().into_iter().filter(|&it| seen.insert(it)));
    }
    Waits::At(found)
}

/// The first instructions of a function's loops that wait; none if it is too tangled.
fn headers(function: &Function<'_>) -> Option<Vec<u32>> {
    // Nothing that others do can end a loop where nobody looks at it.
    if !function.instructions.iter().flatten().any(|one| may_see_others(&one.op)) {
        return Some(Vec::new());
    }
    let cfg = Cfg::new(function);
    // Without a way back there is no loop.
    let goes_back = |(at, block): (usize, &ir::Block)| block.successors.iter().any(|next| next.index() <= at);
    if !cfg.blocks.iter().enumerate().any(goes_back) {
        return Some(Vec::new());
    }
    let liveness = Liveness::new(function, &cfg);
    let ssa = Ssa::new(function, cfg, &liveness).ok()?;
    let facts = Converged::new(&ssa, LaneOrder::Unknown);
    let spins = Progress::new(&ssa, &facts).spins;
    Some(spins.iter().map(|spin| ssa.cfg.blocks[spin.header.index()].first).collect())
}
