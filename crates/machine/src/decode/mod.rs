//! From typed instructions to operations: selection, and nothing else.
//!
//! Decoding is where everything that is known before a launch is spent: names are gone, types and modifiers have chosen
//! a function, registers have slots, constants and launch-wide values stand in the scalar file, addresses know their
//! shape. A form without semantics stops here with its name, never at run time. How operations become functions and an image,
//! [`crate::build`] knows.
//!
//! | file | decodes |
//! | --- | --- |
//! | `decoder` | what is decoded, and what a decoder works on |
//! | `operand` | operands to planes, scalars and addresses |
//! | `emit` | an operation of a family, with splats where a member is missing |
//! | `arithmetic` | what the chapters of arithmetic share |
//! | `integer`, `float`, `half`, `compare`, `logic`, `convert` | arithmetic by chapter |
//! | `movement`, `spaces`, `bulk`, `atomic`, `mbarrier`, `warp`, `matrix`, `control`, `texture`, `video` | the rest by chapter |

mod arithmetic;
mod atomic;
mod bulk;
mod compare;
mod control;
mod convert;
pub(crate) mod decoder;
mod emit;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod mbarrier;
mod movement;
mod operand;
mod spaces;
mod texture;
mod video;
mod warp;

use decoder::{Decode, Decoded, Decoder};

/// Decodes an instruction. Each implements [`Decode`] in its chapter: one that does not is a compile error with its name.
pub(crate) fn dispatch(d: &mut Decoder<'_>, op: &ir::Op) -> Decoded {
    ir::by_instruction!(op, instruction => instruction.decode(d))
}
