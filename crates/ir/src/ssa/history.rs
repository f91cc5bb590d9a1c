//! Which value a register holds where: the way back from values to the registers that the source names.

use crate::cfg::BlockId;
use crate::dominance::DominatorTree;
use crate::liveness::Liveness;
use crate::operand::Value;
use ptx::module::RegId;

/// For each register where it got which value.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    changes: Vec<Change>,
    /// The registers, in order, whose values are read in other blocks too. The others hold what they hold to the end of
    /// a block.
    crossing: Vec<RegId>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) register: RegId,
    /// The block's place among those of the dominator tree.
    pub(super) place: u32,
    pub(super) block: BlockId,
    /// The first instruction before which the register holds the value.
    pub(super) from: u32,
    /// `None` where several definitions meet of which none is read.
    pub(super) value: Option<Value>,
}

impl History {
    pub(super) fn new(mut changes: Vec<Change>, liveness: &Liveness) -> Self {
        // Stable: of two changes at one place the second holds.
        changes.sort_by_key(|change| (change.register, change.place, change.from));
        let mut crossing = liveness.crossing().to_vec();
        crossing.sort_unstable();
        Self { changes, crossing }
    }

    /// What a register holds before an instruction of a block.
    pub(super) fn at(
        &self,
        tree: &DominatorTree,
        register: RegId,
        block: BlockId,
        instruction: u32,
    ) -> Option<Value> {
        let key = (register, tree.place(block.0), instruction);
        let end = self.changes.partition_point(|change| (change.register, change.place, change.from) <= key);
        let earlier = self.changes[..end].iter().rev().take_while(|change| change.register == register);
        let crosses = self.crossing.binary_search(&register).is_ok();
        let reaches = |change: &&Change| match crosses {
            true => tree.dominates(change.block.0, block.0),
            false => change.block == block,
        };
        // The nearest of them, since places are those of a preorder.
        earlier.into_iter().find(reaches)?.value
    }

    /// Puts other values in the place of some.
    pub(super) fn replace(&mut self, with: impl Fn(RegId) -> Option<Value>) {
        for value in self.changes.iter_mut().filter_map(|change| change.value.as_mut()) {
            if let Value::Register(register) = *value
                && let Some(other) = with(register)
            {
                *value = other;
            }
        }
    }

    /// Forgets values that nothing defines any more.
    pub(super) fn forget(&mut self, is_defined: impl Fn(RegId) -> bool) {
        for change in &mut self.changes {
            change.value = change.value.filter(|value| match value {
                Value::Register(value) => is_defined(*value),
                _ => true,
            });
        }
    }
}
