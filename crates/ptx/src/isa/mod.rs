//! The instruction set as the build script generates it from `crates/ptx/isa/`.

use crate::types::ScalarType;

/// A dot-token position of a form: `.type`, `.rnd`, `.space` ... (generated).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// placeholder
    Type,
}

/// A dot-token: `.rn`, `.u32`, `.global` ... (generated).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Modifier {
    /// placeholder
    U32,
}

/// The semantic function that executes a form (generated from the `=>` column).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sem {
    /// placeholder
    AddInt,
}

/// A special register such as `%tid` (generated).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialRegister {
    /// placeholder
    Tid,
}

/// A row of the instruction table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FormId(pub u16);

/// A form with its modifiers chosen: `add.sat.s32`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opcode {
    /// The row.
    pub form: FormId,
    /// The modifiers present, in the order written.
    pub modifiers: Vec<(Slot, Modifier)>,
}

impl Opcode {
    /// The modifier in a slot, if that slot is filled.
    pub fn get(&self, slot: Slot) -> Option<Modifier> {
        self.modifiers.iter().find(|(s, _)| *s == slot).map(|(_, m)| *m)
    }

    /// Whether a modifier stands in any slot.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.iter().any(|(_, m)| *m == modifier)
    }

    /// The type in a slot.
    pub fn ty(&self, _slot: Slot) -> Option<ScalarType> {
        None
    }
}
