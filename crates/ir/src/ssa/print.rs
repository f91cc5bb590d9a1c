//! SSA form as text:
//!
//! ```text
//! function k
//! block1(%r1.2: u32, %rd3.1: b64)
//!     4: ld sem=weak type=u32 d={%r2.0} a=[%rd3.1]:global
//!     5: @%p1.0 add_int type=u32 d=%r1.3 a=%r1.2 b=%r2.0 kept={%r1.2}
//!     6: @%p2.0 bra target=block1
//!     -> block1(%r1.3, %rd3.2), block2
//! ```
//!
//! A value has the name of its register and a number; before an instruction stands the one of the register form that it
//! comes from. The last line of a block says where it leads: to blocks, with the arguments for their parameters; and
//! `return`, with the results in registers, `thread` or `abort`, where it can leave the function.

use super::{Definition, Ssa};
use crate::cfg::{BlockId, Exit};
use crate::operand::Value;
use crate::print::{Notation, register_names};
use ptx::module::RegId;
use std::fmt;

/// What ends a thread or a function, in text.
pub(super) fn exit_name(exit: Exit) -> &'static str {
    match exit {
        Exit::Return => "return",
        Exit::Thread => "thread",
        Exit::Abort => "abort",
    }
}

impl Ssa<'_> {
    /// How its values, variables and blocks are called in text.
    pub fn notation(&self) -> Notation<'_> {
        let registers = register_names(self.function);
        let name = |value: &Definition| format!("{}.{}", registers[value.register.index()], value.version);
        let names = self.values.iter().map(name).collect();
        Notation::with_registers(self.function, self.cfg.clone(), names)
    }

    /// An instruction as a line.
    pub(crate) fn line(notation: &Notation<'_>, instruction: &super::Instruction) -> String {
        let mut line = format!("{}: {}", instruction.origin, notation.line(&instruction.typed));
        if !instruction.kept.is_empty() {
            line.push_str(&format!(" kept={{{}}}", list(notation, &instruction.kept)));
        }
        line
    }

    /// `block1(%r1.2: u32)`.
    fn header(&self, notation: &Notation<'_>, id: BlockId) -> String {
        let parameter = |value: &RegId| {
            format!("{}: {}", notation.register(*value), self.values[value.index()].ty.name())
        };
        let parameters: Vec<_> = self.blocks[id.index()].parameters.iter().map(parameter).collect();
        let parameters =
            if parameters.is_empty() { String::new() } else { format!("({})", parameters.join(", ")) };
        format!("block{}{parameters}", id.0)
    }

    /// `-> block1(%r1.3), block2`.
    fn edges(&self, notation: &Notation<'_>, id: BlockId) -> String {
        let (block, graph) = (&self.blocks[id.index()], &self.cfg.blocks[id.index()]);
        let with = |name: String, values: &[Value]| match values {
            [] => name,
            values => format!("{name}({})", list(notation, values)),
        };
        let successors = graph.successors.iter().zip(&block.arguments);
        let mut ways: Vec<_> =
            successors.map(|(to, arguments)| with(format!("block{}", to.0), arguments)).collect();
        ways.extend(graph.exit.map(|exit| with(exit_name(exit).to_owned(), &block.returns)));
        format!("-> {}", ways.join(", "))
    }
}

fn list(notation: &Notation<'_>, values: &[Value]) -> String {
    values.iter().map(|value| notation.source(value)).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Ssa<'_> {
    /// Its reachable blocks in program order; [`Ssa::parse`] reads it back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "function {}", self.function.declaration.name)?;
        let notation = self.notation();
        for id in (0..self.blocks.len() as u32).map(BlockId).filter(|id| self.cfg.is_reachable(*id)) {
            writeln!(f, "{}", self.header(&notation, id))?;
            for instruction in &self.blocks[id.index()].instructions {
                writeln!(f, "    {}", Self::line(&notation, instruction))?;
            }
            writeln!(f, "    {}", self.edges(&notation, id))?;
        }
        Ok(())
    }
}
