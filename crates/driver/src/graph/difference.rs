//! What may become of a node when an instance is updated.

use super::task::Task;

/// Why an instance cannot be updated, numbered as `CUgraphExecUpdateResult` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Difference {
    /// Other nodes or edges.
    Topology = 2,
    /// Another kind of node.
    NodeType = 3,
    /// Parameters that may not change.
    Parameters = 5,
    /// What updates cannot do.
    NotSupported = 6,
    /// A kernel of another context.
    Function = 7,
}

/// Whether a step that did one thing may do the other.
pub(super) fn compatible(old: &Task, new: &Task) -> Result<(), Difference> {
    match (old, new) {
        (Task::Kernel(old), Task::Kernel(new)) => {
            let context = |work: &crate::launch::PreparedLaunch| {
                work.function().module().context().map(|context| context.id())
            };
            if context(old) == context(new) { Ok(()) } else { Err(Difference::Function) }
        }
        (Task::Copy(old), Task::Copy(new)) => {
            if old.same_places(new) {
                Ok(())
            } else {
                Err(Difference::Parameters)
            }
        }
        (Task::Fill(old), Task::Fill(new)) => {
            if old.same_places(new) {
                Ok(())
            } else {
                Err(Difference::Parameters)
            }
        }
        (Task::Allocate(old), Task::Allocate(new)) => {
            if old.address() == new.address() {
                Ok(())
            } else {
                Err(Difference::Parameters)
            }
        }
        (Task::Free(old), Task::Free(new)) => {
            if old == new {
                Ok(())
            } else {
                Err(Difference::Parameters)
            }
        }
        (Task::Conditional(old), Task::Conditional(new)) => {
            // The value that it decides by may be another, with another default.
            let same = old.kind == new.kind && old.bodies.len() == new.bodies.len();
            if same { Ok(()) } else { Err(Difference::Parameters) }
        }
        _ if old.kind() == new.kind() => Ok(()),
        _ => Err(Difference::NodeType),
    }
}
