//! Operations as data: what the interpreter executes, with named fields.
//!
//! An instruction becomes one operation or a few. [`kinds`] has a struct for each kind, whose fields say where operands stand
//! and what modifiers have chosen; [`Operation`] is any of them. Nothing here computes: [`crate::ops`] has the functions, and an
//! [`Op`](crate::image::Op) of an image pairs the two.
//!
//! All fields are words or bytes, so that an operation fits in 32 bytes and two of them, with their functions, in little more
//! than a line of the host's cache. What does not fit is a [`Site`] of the image. [`field`] has what fields are made of.

pub(crate) mod field;
pub(crate) mod kinds;
mod print;

pub(crate) use field::{
    Address, CarryIn, Combine, Immediate, List, ObjectKind, Pattern, ROW, Run, Site, Target, step_of,
};
pub(crate) use kinds::{Fields, Operation, Printed};
pub(crate) use print::Names;
