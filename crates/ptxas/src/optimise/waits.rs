//! Which kernels have threads that wait for what others do.

use ir::{Cfg, Converged, Function, LaneOrder, Liveness, Ssa, progress::Progress};
use ptx::module::{FuncId, Module};

/// Whether a loop of the kernel may end by what another thread writes meanwhile. A lane of it must not be held up by one that comes
/// later. What it calls is not looked at.
pub(crate) fn may_wait(module: &Module, kernel: FuncId) -> bool {
    let Some(function) = Function::lower(module, kernel) else { return true };
    let calls = function.instructions.iter().flatten().any(|it| matches!(it.op, ir::Op::CallIndirect(_)));
    if calls || !function.callees().is_empty() {
        return true;
    }
    let cfg = Cfg::new(&function);
    let liveness = Liveness::new(&function, &cfg);
    let Ok(ssa) = Ssa::new(&function, cfg, &liveness) else { return true };
    let facts = Converged::new(&ssa, LaneOrder::Unknown);
    Progress::new(&ssa, &facts).needs_turns()
}
