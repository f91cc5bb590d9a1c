//! Recorded tests: what a real GPU computes for every form of the instruction table.
//!
//! ```text
//! instruction table --case--> [Case] --kernel--> PTX --engine--> results --recording--> recordings/sm_90.gz
//!                               │                       machine or silicon
//!                               └──inputs──> rows of operands
//! ```
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | [`case`](mod@case) | which cases a form has, and which forms have none |
//! | `domain`, [`inputs`] | the values that operands take |
//! | [`kernel`], `builder`, `operands`, `memory`, `addresses`, `asynchronous`, `warpgroup`, `texture`, `tensor` | the PTX around an instruction |
//! | [`object`] | textures, surfaces and tensor maps that the host makes for a kernel |
//! | [`engine`] | running a case on the machine and on a GPU |
//! | [`recording`] | the file of digests, and files of whole results |
//! | [`coverage`] | the page that lists every form |
//!
//! Everything follows from the table, so that a recording needs to hold only digests: the inputs are made again where
//! they are needed. A new form, or a form that is executed for the first time, joins without a line of code here,
//! unless its operands are of a kind that no kernel has had before.

mod addresses;
mod asynchronous;
mod builder;
pub mod case;
pub mod coverage;
mod domain;
pub mod engine;
pub mod inputs;
pub mod kernel;
mod memory;
pub mod object;
mod operands;
mod random;
pub mod recording;
mod tensor;
mod texture;
mod warpgroup;

pub use case::{Absent, Case};
pub use domain::Domain;
pub use random::digest;
