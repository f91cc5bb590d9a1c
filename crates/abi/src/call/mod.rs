//! Function calls (guide, chapter 3): what a C prototype is in PTX, and which C types a PTX declaration fits.
//!
//! ```text
//! c::Function --parameter--> how each value is passed --pieces--> loads and stores --convention--> PTX text
//! module::Function --fitting--> C types
//! ```

mod convention;
mod fitting;
mod parameter;
mod pieces;

pub use convention::{Convention, Sequence, convention};
pub use fitting::{Fit, fitting};
pub use parameter::{Passed, Site, passed};
