//! Learning from dumped code: which bits an instruction's text stands for, solved from many instructions of which text and
//! word are known.
//!
//! A [`Listing`] is read from what NVIDIA's tools print. Each text is taken apart into a key (mnemonic and kinds of operands),
//! numbers and modifiers (`reading.rs`). The words of a key are sums of values times weights; the weights are found by exact
//! linear algebra (`encoder.rs`, `system.rs`). A [`Repository`] holds all keys of an architecture. It says what its samples
//! leave open, and never guesses.
//!
//! This knows nothing of the tables in `isa/`, and so is a second judge of them.

mod encoder;
mod listing;
mod reading;
mod repository;
mod store;
mod summary;
mod system;

pub use listing::{Listing, NotAListing, Sample, read};
pub use repository::{Contradiction, Repository, TableVerification, Update, Verdict, Verification};
pub use store::BadRepository;
pub use summary::{KeySummary, Weight};
