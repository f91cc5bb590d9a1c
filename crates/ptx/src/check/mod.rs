//! The checks of instructions and directives (PTX ISA, "Type Checking Rules", "Instruction Operands", "Directives").
//!
//! An opcode text fits one form of the instruction table or a few that differ by their operands. What can be known of
//! a form before its operands are seen is worked out once for all uses of the text ([`plan`]). An instruction's
//! resolved operands are then matched against the operands of each form: the first form that takes them all is
//! chosen; if none does, the mismatch that came latest is reported, with the offending operand under the caret.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `plan` | what a form asks of its operands |
//! | `instruction` | which form an instruction is, and its operands in the resolved module |
//! | `operand` | whether an operand is what a form asks for |
//! | `address` | whether a memory operand is in the right state space |
//! | `mismatch` | the words for an operand that is not |
//! | `call` | whether arguments and results fit the callee |
//! | `gate` | whether `.version` and `.target` have a feature |
//! | `directive` | launch and tuning directives |
//! | `codes` | the catalogue |

mod address;
mod call;
pub mod codes;
mod directive;
pub(crate) mod gate;
mod instruction;
mod mismatch;
mod operand;
pub(crate) mod plan;
