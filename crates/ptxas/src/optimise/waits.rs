//! Which kernels have threads that wait for what others do.

use ir::{Cfg, Converged, Function, LaneOrder, Liveness, Ssa, progress::Progress};
use ptx::module::{FuncId, Module};
use std::collections::HashSet;

/// Whether a loop of the kernel, or of what it calls, may end by what another thread writes meanwhile. A lane of it must not be held up by
/// one that comes later.
pub(crate) fn may_wait(module: &Module, kernel: FuncId) -> bool {
    let mut seen = HashSet::from([kernel]);
    let mut pending = vec![kernel];
    while let Some(id) = pending.pop() {
        // Of what is not in the module nothing is known.
        let Some(function) = Function::lower(module, id) else { return true };
        let calls = |op: &ir::Op| matches!(op, ir::Op::CallIndirect(_));
        if function.instructions.iter().flatten().any(|it| calls(&it.op)) || needs_turns(&function) {
            return true;
        }
        pending.extend(function.callees().into_iter().filter(|&it| seen.insert(it)));
    }
    false
}

fn needs_turns(function: &Function<'_>) -> bool {
    let cfg = Cfg::new(function);
    let liveness = Liveness::new(function, &cfg);
    let Ok(ssa) = Ssa::new(function, cfg, &liveness) else { return true };
    let facts = Converged::new(&ssa, LaneOrder::Unknown);
    Progress::new(&ssa, &facts).needs_turns()
}
