//! The functions of a module as typed instructions: each is lowered once, whichever kernel is compiled and however often it is selected.

use crate::select;
use ir::{Function, Op};
use ptx::module::{FuncId, Module};
use std::rc::Rc;

/// The functions of a module.
pub(crate) struct Bodies<'a> {
    pub(crate) module: &'a Module,
    lowered: Vec<Option<Rc<Function<'a>>>>,
    /// Whether any of them takes room on the stack, or gives it back.
    pub(crate) moves_stack: bool,
    /// Bytes at the lower end of each frame that are for arguments of functions of the driver, and of other modules.
    pub(crate) handed_on_stack: u64,
}

impl<'a> Bodies<'a> {
    pub(crate) fn new(module: &'a Module) -> Self {
        let all = (0..module.functions.len() as u32).map(FuncId);
        let lowered: Vec<_> = all.map(|id| Function::lower(module, id).map(Rc::new)).collect();
        let moves_stack = lowered.iter().flatten().any(|function| allocates(function));
        let hands = lowered.iter().flatten().any(|function| {
            let mut all = function.instructions.iter().flatten();
            all.any(
                |instruction| matches!(&instruction.op, Op::Tex(op) if select::is_fetched_by_function(op)),
            )
        });
        let handed_on_stack = if hands { select::ON_STACK } else { 0 }.max(select::on_stack(module));
        Self { module, lowered, moves_stack, handed_on_stack }
    }

    /// A function; none if it is not in the module.
    pub(crate) fn of(&self, id: FuncId) -> Option<Rc<Function<'a>>> {
        self.lowered.get(id.index())?.clone()
    }
}

/// Whether a function takes room on the stack, or gives it back.
pub(crate) fn allocates(function: &Function<'_>) -> bool {
    let mut all = function.instructions.iter().flatten();
    all.any(|instruction| matches!(instruction.op, Op::Alloca(_) | Op::Stackrestore(_)))
}
