//! Fields as text, each behind its name.

use super::field::{Address, CarryIn, Combine, Immediate, List, ObjectKind, Pattern, Run, Site, Target};
use crate::lanes::{Condition, Operand, PlaneId, PredicateId, ScalarId};
use crate::matrix::packing::Packing;
use std::fmt::{Formatter, Result};

/// What somebody calls the places of a frame.
pub(crate) trait Names {
    /// The name of a plane or scalar, if it has one.
    fn operand(&self, operand: Operand) -> Option<String>;
    /// The name of a predicate, if it has one.
    fn predicate(&self, predicate: PredicateId) -> Option<String>;
}

/// A field as text.
pub(super) trait Field {
    /// Writes it.
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result;
    /// Whether there is something to write.
    fn is_there(&self) -> bool {
        true
    }
}

impl Field for Operand {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        match names.operand(*self) {
            Some(name) => f.write_str(&name),
            None => write!(f, "{self}"),
        }
    }
}

impl Field for PlaneId {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        Operand::from(*self).write(f, names)
    }
}

impl Field for ScalarId {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        Operand::from(*self).write(f, names)
    }
}

impl Field for PredicateId {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        match names.predicate(*self) {
            Some(name) => f.write_str(&name),
            None => write!(f, "{self}"),
        }
    }
}

impl Field for Condition {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        f.write_str(if self.negated() { "!" } else { "" })?;
        self.predicate().write(f, names)
    }
}

impl Field for Address {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        f.write_str("[")?;
        self.base.write(f, names)?;
        match self.offset.0 as i64 {
            0 => f.write_str("]"),
            offset if offset < 0 => write!(f, "-{:#x}]", offset.unsigned_abs()),
            offset => write!(f, "+{offset:#x}]"),
        }
    }
}

impl Field for CarryIn {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        match self {
            Self::Constant(carry) => write!(f, "{}", u32::from(*carry)),
            Self::Predicate(carry) => carry.write(f, names),
        }
    }
}

impl<T: Field> Field for Option<T> {
    fn write(&self, f: &mut Formatter<'_>, names: &dyn Names) -> Result {
        self.as_ref().map_or(Ok(()), |field| field.write(f, names))
    }
    fn is_there(&self) -> bool {
        self.is_some()
    }
}

/// A flag is its name, or nothing.
impl Field for bool {
    fn write(&self, _: &mut Formatter<'_>, _: &dyn Names) -> Result {
        Ok(())
    }
    fn is_there(&self) -> bool {
        *self
    }
}

impl Field for Pattern {
    fn write(&self, f: &mut Formatter<'_>, _: &dyn Names) -> Result {
        write!(f, "{self:?}")
    }
    fn is_there(&self) -> bool {
        *self != Self::Any
    }
}

impl Field for Packing {
    fn write(&self, f: &mut Formatter<'_>, _: &dyn Names) -> Result {
        write!(f, "{self:?}")
    }
    fn is_there(&self) -> bool {
        *self != Self::Whole
    }
}

impl Field for Immediate {
    fn write(&self, f: &mut Formatter<'_>, _: &dyn Names) -> Result {
        let value = self.0;
        write!(f, "{value:#x}")
    }
}

impl Field for Target {
    fn write(&self, f: &mut Formatter<'_>, _: &dyn Names) -> Result {
        write!(f, "@{}", self.0)
    }
}

impl Field for Run {
    fn write(&self, f: &mut Formatter<'_>, _: &dyn Names) -> Result {
        write!(f, "{}", self.0)
    }
    fn is_there(&self) -> bool {
        self.0 != 0
    }
}

impl Field for List {
    fn write(&self, f: &mut Formatter<'_>, _: &dyn Names) -> Result {
        write!(f, "#{}+{}", self.start, self.count)
    }
}

impl<T> Field for Site<T> {
    fn write(&self, f: &mut Formatter<'_>, _: &dyn Names) -> Result {
        write!(f, "{self:?}")
    }
}

/// Fields that are what they are called in the source.
macro_rules! as_debugged {
    ($($ty:ty),+) => {$(
        impl Field for $ty {
            fn write(&self, f: &mut Formatter<'_>, _: &dyn Names) -> Result {
                write!(f, "{self:?}")
            }
        }
    )+};
}
as_debugged! {
    u8, u32, Combine, ir::operand::Space, ptx::isa::SpecialRegister, ptx::isa::Group, ptx::module::FuncId, ir::instruction::ShflMode,
    ir::instruction::VoteMode, ObjectKind
}

/// Writes a field behind the others: `name=value`, or the name alone of a flag.
pub(super) fn field<T: Field + 'static>(
    f: &mut Formatter<'_>,
    names: &dyn Names,
    name: &str,
    value: &T,
) -> Result {
    if !value.is_there() {
        return Ok(());
    }
    write!(f, " {name}")?;
    if std::any::TypeId::of::<T>() != std::any::TypeId::of::<bool>() {
        f.write_str("=")?;
        value.write(f, names)?;
    }
    Ok(())
}
