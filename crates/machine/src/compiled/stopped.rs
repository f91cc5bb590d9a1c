//! Why the code of a CTA has returned before its end.

use crate::fault::Trap;
use ptx::module::FuncId;

/// Why a CTA did not run to its end.
#[derive(Debug)]
pub enum Stopped {
    /// A thread did something that stops a kernel.
    Trap {
        /// What.
        trap: Trap,
        /// Its number in the CTA, if one is to blame.
        thread: Option<u32>,
        /// The function, and the instruction of its body.
        place: (FuncId, u32),
    },
    /// [`Cta::spend`](super::Cta::spend) said so.
    Told,
}
