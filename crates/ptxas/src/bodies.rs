//! The functions of a module as typed instructions: each is lowered once, whichever kernel is compiled and however often it is selected.

use ir::{Function, Op};
use ptx::module::{FuncId, Module};
use std::rc::Rc;

/// The functions of a module.
pub(crate) struct Bodies<'a> {
    pub(crate) module: &'a Module,
    lowered: Vec<Option<Rc<Function<'a>>>>,
    /// Whether any of them takes room on the stack, or gives it back.
    pub(crate) moves_stack: bool,
}

impl<'a> Bodies<'a> {
    pub(crate) fn new(module: &'a Module) -> Self {
        let all = (0..module.functions.len() as u32).map(FuncId);
        let lowered: Vec<_> = all.map(|id| Function::lower(module, id).map(Rc::new)).collect();
        let moves_stack = lowered.iter().flatten().any(|function| allocates(function));
        Self { module, lowered, moves_stack }
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
