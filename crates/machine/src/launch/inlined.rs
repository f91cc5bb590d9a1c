//! A module as it is executed where nobody observes calls.

use ptx::module::{Checked, Module};
use std::ops::Deref;
use std::sync::Arc;

/// A module whose kernels have the code of what they call in them. Functions and variables have the same handles as in the
/// module as it was checked, behind which there are more variables.
#[derive(Debug)]
pub(crate) struct Inlined {
    checked: Arc<Checked<Module>>,
    /// If it is another one.
    inlined: Option<Module>,
}

impl Inlined {
    pub(super) fn new(checked: &Arc<Checked<Module>>) -> Self {
        Self { checked: Arc::clone(checked), inlined: ir::inline::inline(checked) }
    }
}

impl Deref for Inlined {
    type Target = Module;

    fn deref(&self) -> &Module {
        self.inlined.as_ref().unwrap_or(&self.checked)
    }
}
