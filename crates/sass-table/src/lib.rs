//! The tables of the SASS instruction sets: what they are made of, how they are written, and words decoded and printed by them.
//!
//! A [`Source`](source::Source) is a table as it is written; the learner makes and changes it. A [`Table`](table::Table) is one as it is
//! used: flat arrays. [`pack`] makes the one from the other, with the operands that [`roles`] names; the build script of `sass` has
//! the arrays written as static data ([`emit`]), so that a table that is wrong is an error of the build, with its file and line.

mod bits;
pub mod emit;
mod float;
pub mod operand;
pub mod pack;
mod print;
mod resolve;
pub mod roles;
pub mod source;
pub mod table;
mod template;
pub mod tree;

pub use bits::Bits;
pub use float::Float;
pub use print::relative;
