//! The special registers (PTX ISA, chapter "Special Registers").

use super::Gate;
use crate::types::{Arch, ArchVariant, ScalarType, Version};

/// What the table says of a special register.
struct SpecialData {
    ty: ScalarType,
    components: u8,
    gate: Gate,
}

include!(concat!(env!("OUT_DIR"), "/special_registers.rs"));

impl SpecialRegister {
    /// Its type; of a vector register, the type of a component.
    pub fn ty(self) -> ScalarType {
        SPECIAL_REGISTERS[self as usize].ty
    }

    /// 1, or 4 for one with `.x .y .z .w`.
    pub fn components(self) -> u8 {
        SPECIAL_REGISTERS[self as usize].components
    }

    /// What introduces it.
    pub fn gate(self) -> Gate {
        SPECIAL_REGISTERS[self as usize].gate
    }
}
