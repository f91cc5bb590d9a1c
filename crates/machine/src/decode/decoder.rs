//! What the decoder of an instruction works on.

use crate::build::code::Code;
use crate::build::frame::Frame;
use crate::build::layout::{Layout, is_entry};
use crate::fault::Access;
use crate::image::asynchronous::Completes;
use crate::image::places::Home;
use crate::image::{Meta, Op, Tabled};
use crate::lanes::simd::Level;
use crate::lanes::{Condition, Operand};
use crate::memory::SpaceKind;
use crate::operation::kinds::Nothing;
use crate::operation::{Address, Pattern, Run, Site};
use ir::{Cfg, Shapes};
use ptx::module::{Body, Guard, Module, RegId, VarId};

/// What one instruction lacks; who asks knows where.
pub(crate) type Missing = String;

/// The result of decoding one instruction.
pub(crate) type Decoded = Result<(), Missing>;

/// A typed instruction, which says what operations it is.
pub(crate) trait Decode {
    /// Emits them.
    fn decode(&self, d: &mut Decoder<'_>) -> Decoded;
}

/// Says how instructions are decoded that take a few lines, or that are decoded alike: `Instruction => expression;`. The
/// expression is over `d`, the [`Decoder`], and `op`, the typed instruction.
macro_rules! decoders {
    ($d:ident, $op:ident: $($($of:ident)|+ => $body:expr;)+) => {$($(
        impl $crate::decode::decoder::Decode for ir::instruction::$of {
            #[allow(unused_variables)] // Some instructions say nothing but what they are.
            fn decode(
                &self,
                $d: &mut $crate::decode::decoder::Decoder<'_>,
            ) -> $crate::decode::decoder::Decoded {
                let $op = self;
                $body
            }
        }
    )+)+};
}
pub(crate) use decoders;

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) address: Address,
    pub(crate) pattern: Pattern,
    /// See [`PackAccess`](crate::observe::PackAccess).
    pub(crate) step: Option<i64>,
    /// The space that it really leads into: that of the variable, if the instruction leaves it open.
    pub(crate) space: SpaceKind,
}

/// The state of decoding a function.
pub(crate) struct Decoder<'a> {
    pub(crate) module: &'a Module,
    /// Where the module's variables are in global memory.
    pub(crate) addresses: &'a [Option<u64>],
    pub(crate) layout: &'a Layout,
    pub(crate) function: &'a ir::Function<'a>,
    pub(crate) body: &'a Body,
    pub(crate) shapes: Shapes,
    pub(crate) cfg: Cfg,
    pub(crate) level: Level,
    pub(crate) guard: Option<Guard>,
    pub(crate) frame: Frame,
    pub(crate) code: Code<'a>,
}

impl Decoder<'_> {
    /// Whether the function is a kernel.
    pub(crate) fn is_entry(&self) -> bool {
        is_entry(self.module, self.function.id)
    }

    /// Emits an operation that stands for the current instruction.
    pub(crate) fn emit(&mut self, op: impl Into<Op>) -> Decoded {
        self.code.emit(op, Meta::Plain);
        Ok(())
    }

    /// Emits an operation that only prepares operands.
    pub(crate) fn emit_part(&mut self, op: impl Into<Op>) {
        self.code.emit(op, Meta::Part);
    }

    /// Emits an access of `bytes` a lane to memory.
    pub(crate) fn emit_access(
        &mut self,
        Memory { space, address, step, .. }: Memory,
        access: Access,
        bytes: u32,
        op: impl Into<Op>,
    ) -> Decoded {
        self.code.emit(op, Meta::Memory { space, access, bytes, address, step });
        Ok(())
    }

    /// Emits an operation that hands over to the run loop, with the instructions that it accounts for.
    pub(crate) fn emit_leaving<O: Into<Op>>(&mut self, op: impl FnOnce(Run) -> O) -> Decoded {
        let run = self.code.take_run();
        self.emit(op(run))
    }

    /// Emits an operation that needs to know something besides its fields.
    pub(crate) fn emit_with<T: Tabled, O: Into<Op>>(
        &mut self,
        site: T,
        op: impl FnOnce(Site<T>) -> O,
    ) -> Decoded {
        let site = self.site(site);
        self.emit(op(site))
    }

    /// The operations of the current instruction are performed later, where operations are: when something forces them.
    pub(crate) fn performed_later(&mut self, completes: Completes) {
        if self.code.image.purpose.late {
            let site = self.site(completes);
            self.code.postpone(site);
        }
    }

    /// Emits an operation that is about asynchronous ones, where they are performed later; otherwise there is nothing to do.
    pub(crate) fn emit_if_late(&mut self, op: impl Into<Op>) -> Decoded {
        match self.code.image.purpose.late {
            true => self.emit(op),
            false => self.emit(Nothing {}),
        }
    }

    /// Adds to the image what an operation needs to know.
    pub(crate) fn site<T: Tabled>(&mut self, site: T) -> Site<T> {
        self.code.image.add(site)
    }

    /// Where a register lives.
    pub(crate) fn home(&self, register: RegId) -> Home {
        self.frame.home(register)
    }

    /// The bits of a register's type.
    pub(crate) fn bits_of(&self, register: RegId) -> u32 {
        self.body.registers[register.index()].ty.bits()
    }

    /// A register's name, for messages.
    pub(crate) fn register_name(&self, register: RegId) -> String {
        self.module.text(self.body.registers[register.index()].name).to_owned()
    }

    /// A variable that has no place, for messages.
    pub(crate) fn unplaced(&self, variable: VarId) -> Missing {
        format!("variable {}", self.module.variables[variable.index()].name)
    }

    /// Where a variable is in global memory.
    pub(crate) fn global_address(&self, variable: VarId) -> Result<u64, Missing> {
        self.addresses[variable.index()].ok_or_else(|| self.unplaced(variable))
    }

    /// What the current instruction's guard asks.
    pub(crate) fn condition(&self) -> Result<Option<Condition>, Missing> {
        let Some(Guard { register, negated }) = self.guard else { return Ok(None) };
        Ok(Some(self.predicate_of(register)?.is(negated)))
    }

    /// The scalar that holds a constant, as an operand.
    pub(crate) fn constant(&mut self, value: u64) -> Operand {
        self.frame.constant(value).into()
    }
}
