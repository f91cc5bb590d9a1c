//! Passes on the SSA form that engines share. Each is small, keeps what the verifier asks, and never changes the graph.
//!
//! | file | what it does |
//! | --- | --- |
//! | `fold` | an instruction whose operands are known becomes its result (`lanewise`), or one of its operands (`identity`) |
//! | `copies` | uses of a copy, or of a parameter that always gets one value, become uses of what is copied |
//! | `dead_code` | what computes results that nothing reads goes away |
//!
//! Where [`fold`] and [`copies`] leave nothing of a value's uses, [`dead_code`] takes it away; [`simplify`] is the three in
//! that order, until nothing changes or enough has been tried.

mod copies;
mod dead_code;
mod fold;
mod identity;

pub use copies::copies;
pub use dead_code::dead_code;
pub use fold::fold;

use crate::ssa::Ssa;

/// What one round leaves to the next: each fold can make another operand known, mostly in the same round.
const MOST_ROUNDS: usize = 4;

/// Folds, propagates copies, and takes away what is then dead.
pub fn simplify(ssa: &mut Ssa<'_>) {
    for _ in 0..MOST_ROUNDS {
        let folded = fold(ssa);
        let copied = copies(ssa);
        if !folded && !copied {
            break;
        }
    }
    dead_code(ssa);
}
