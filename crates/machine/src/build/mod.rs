//! Building an image: a kernel and every function that it may call, as operations.
//!
//! | file | what it knows |
//! | --- | --- |
//! | `layout` | where variables lie: shared memory, frames of local memory |
//! | `frame` | where registers live; constants and temporaries |
//! | `parameter` | where parameters lie in frames |
//! | `code` | operations in order; guards, accounts, branches that are led to blocks |
//! | `branch` | branches, which lead to blocks |
//! | `function` | a function: which registers are scalars, then block by block |
//!
//! Which operations an instruction becomes, [`crate::decode`] knows.

mod branch;
pub(crate) mod code;
pub(crate) mod frame;
mod function;
pub(crate) mod layout;
mod parameter;

use crate::image::{Image, Purpose};
use crate::lanes::simd::Level;
use crate::location::Location;
use function::Surroundings;
use ir::LaneOrder;
use layout::Layout;
use ptx::module::{FuncId, Module};
use ptx::source::Span;

/// An instruction that the machine does not execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What is missing: the instruction, or what about it.
    pub what: String,
    /// The kernel that needs it.
    pub kernel: String,
    /// The function that has it.
    pub function: String,
    /// Where the instruction stands in the module's source.
    pub span: Span,
    /// The same for people.
    pub location: Location,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unsupported: {}\n  kernel {}", self.what, self.kernel)?;
        if self.function != self.kernel {
            write!(f, ", in function {}", self.function)?;
        }
        write!(f, "{}", self.location)
    }
}

impl std::error::Error for Unsupported {}

/// Decodes a kernel and everything that it can reach, or tells every instruction that keeps it from being decoded.
pub(crate) fn image(
    module: &Module,
    addresses: &[Option<u64>],
    kernel: FuncId,
    warps: usize,
    order: LaneOrder,
    level: Level,
    purpose: Purpose,
) -> Result<Image, Vec<Unsupported>> {
    let layout = Layout::new(module, kernel);
    let mut image = Image::empty(module.functions.len(), kernel, warps);
    image.purpose = purpose;
    (image.module_local, image.static_shared) = (layout.module_local(), layout.shared());
    let surroundings = Surroundings { layout: &layout, addresses, order, level, purpose };
    let mut unsupported = Vec::new();
    for &reached in layout.reachable() {
        let Some(lowered) = ir::Function::lower(module, reached) else { continue };
        let Err(missing) = function::build(&lowered, surroundings, &mut image) else { continue };
        unsupported.extend(missing.into_iter().map(|(what, instruction)| Unsupported {
            what,
            kernel: module.functions[kernel.index()].name.clone(),
            function: module.functions[reached.index()].name.clone(),
            span: lowered.body.instructions[instruction as usize].span,
            location: Location::of(module, reached, instruction),
        }));
    }
    if !unsupported.is_empty() {
        return Err(unsupported);
    }
    image.frame_bytes = deepest_stack(module, &layout, kernel, &image);
    Ok(image)
}

/// Bytes of local memory that the frames of the deepest chain of calls need, or `None` if calls can recurse or reach a
/// function that is only known at run time.
fn deepest_stack(module: &Module, layout: &Layout, kernel: FuncId, image: &Image) -> Option<u32> {
    fn visit(
        f: FuncId,
        layout: &Layout,
        image: &Image,
        path: &mut Vec<FuncId>,
        known: &mut std::collections::HashMap<FuncId, u32>,
    ) -> Option<u32> {
        if let Some(&bytes) = known.get(&f) {
            return Some(bytes);
        }
        if path.contains(&f) || path.len() > 256 {
            return None;
        }
        path.push(f);
        let mut deepest = 0;
        for &callee in layout.callees(f) {
            deepest = deepest.max(visit(callee, layout, image, path, known)?);
        }
        path.pop();
        let own = image.functions[f.index()].as_ref().map_or(0, |code| code.frame);
        // Saturates at more than any launch may have.
        let all = own.saturating_add(deepest).min(layout::FAR);
        known.insert(f, all);
        Some(all)
    }
    if image.calls_addresses() {
        return None;
    }
    let mut known = std::collections::HashMap::with_capacity(module.functions.len());
    visit(kernel, layout, image, &mut Vec::new(), &mut known)
}
