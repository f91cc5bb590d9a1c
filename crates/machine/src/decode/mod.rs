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
//! | `families`, `compare` | what `ir::lanewise` says of an instruction as an operation |
//! | `heat` | how often lanewise instructions occur |
//! | `carry`, `cluster`, `movement`, `spaces`, `bulk`, `atomic`, `mbarrier`, `warp`, `matrix`, `tensor_core`, `control`, `texture` | the rest by chapter |

mod atomic;
mod bulk;
mod carry;
mod cluster;
mod compare;
mod control;
pub(crate) mod decoder;
mod emit;
mod families;
mod heat;
mod matrix;
mod mbarrier;
mod movement;
mod operand;
mod spaces;
mod tensor_core;
mod texture;
mod warp;

use decoder::{Decode, Decoded, Decoder};

/// Decodes an instruction. Each implements [`Decode`] in its chapter: one that does not is a compile error with its name.
pub(crate) fn dispatch(d: &mut Decoder<'_>, op: &ir::Op) -> Decoded {
    ir::by_instruction!(op, instruction => instruction.decode(d))
}
