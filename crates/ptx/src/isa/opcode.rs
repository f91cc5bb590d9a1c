//! A form with its modifiers chosen, and what follows from the choice.

use super::form::{Count, Gate};
use super::{FormData, FormId, Mnemonic, Modifier, OperandKind, Sem, Slot, SpaceRule, TypeRule};
use crate::types::{ScalarType, StateSpace, TypeKind};

/// A form with its modifiers chosen: `add.sat.s32`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opcode {
    /// The row.
    pub form: FormId,
    /// The modifiers present, in the order written.
    pub modifiers: Vec<(Slot, Modifier)>,
}

impl Opcode {
    /// The row of the table.
    pub fn data(&self) -> &'static FormData {
        self.form.data()
    }

    /// What stands before the first dot.
    pub fn mnemonic(&self) -> Mnemonic {
        self.data().mnemonic
    }

    /// The semantic function that executes it, if there is one.
    pub fn sem(&self) -> Option<Sem> {
        self.data().sem
    }

    /// The modifier in a slot, if that slot is filled.
    pub fn get(&self, slot: Slot) -> Option<Modifier> {
        self.modifiers.iter().find(|(s, _)| *s == slot).map(|(_, m)| *m)
    }

    /// Whether a modifier stands in any slot.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.iter().any(|(_, m)| *m == modifier)
    }

    /// The type in a slot.
    pub fn ty(&self, slot: Slot) -> Option<ScalarType> {
        self.get(slot)?.scalar_type()
    }

    /// The whole opcode as written: `add.sat.s32`.
    pub fn text(&self) -> String {
        let mut text = self.mnemonic().text().to_owned();
        for (_, modifier) in &self.modifiers {
            text.push_str(modifier.text());
        }
        text
    }

    /// Everything that it needs of `.version` and `.target`: the form's gate, then the gates of its modifiers.
    pub fn gates(&self) -> impl Iterator<Item = (Option<Modifier>, Gate)> + '_ {
        let slots = self.data().slots;
        let chosen = self.modifiers.iter().filter_map(move |&(slot, modifier)| {
            let spec = slots.iter().find(|s| s.slot == slot)?;
            let choice = spec.choices.iter().find(|c| c.modifier == modifier)?;
            Some((Some(modifier), choice.gate))
        });
        std::iter::once((None, self.data().gate)).chain(chosen)
    }

    /// The concrete type of operand `i` (of each element, for a vector), if it has one.
    pub fn operand_type(&self, i: usize) -> Option<ScalarType> {
        match self.data().operands.get(i)?.ty {
            TypeRule::Fixed(ty) | TypeRule::AnyOf(ty) => Some(ty),
            TypeRule::Of(slot) | TypeRule::Address(slot) => self.ty(slot),
            TypeRule::Wide(slot) => {
                let ty = self.ty(slot)?;
                of_kind(ty.kind(), ty.bits() * 2)
            }
            TypeRule::Bits(slot) => of_kind(TypeKind::Untyped, self.ty(slot)?.bits()),
            TypeRule::Unsigned(slot) => of_kind(TypeKind::Unsigned, self.ty(slot)?.bits()),
            TypeRule::Fragment(slot) => match self.ty(slot)? {
                ScalarType::F16 => Some(ScalarType::F16x2),
                ty @ (ScalarType::F32 | ScalarType::F64 | ScalarType::S32) => Some(ty),
                _ => Some(ScalarType::B32),
            },
            TypeRule::Pred => Some(ScalarType::Pred),
            TypeRule::Any | TypeRule::None => None,
        }
    }

    /// The concrete type of the operand that the table calls `name`: see [`OperandSpec::identifier`].
    ///
    /// [`OperandSpec::identifier`]: super::OperandSpec::identifier
    pub fn type_of(&self, name: &str) -> Option<ScalarType> {
        let index = self.data().operands.iter().position(|spec| spec.identifier() == name)?;
        self.operand_type(index)
    }

    /// The concrete types of all operands.
    pub fn operand_types(&self) -> Vec<Option<ScalarType>> {
        (0..self.data().operands.len()).map(|i| self.operand_type(i)).collect()
    }

    /// How many elements operand `i` has: 1 for a scalar, `None` if the elements themselves decide.
    pub fn operand_length(&self, i: usize) -> Option<u32> {
        match self.data().operands.get(i)?.kind {
            OperandKind::Vector { count: Count::Fixed(n), .. } => Some(u32::from(n)),
            OperandKind::Vector { count: Count::Of(slot), .. } => {
                Some(self.get(slot).and_then(Modifier::vector_length).unwrap_or(1))
            }
            OperandKind::Vector { count: Count::Fragment(matrix), .. } => self.fragment_length(matrix),
            OperandKind::Vector { count: Count::Parts, .. }
                if self.data().operands[i].ty == TypeRule::Any =>
            {
                None
            }
            OperandKind::Vector { count: Count::Parts | Count::Offsets, .. } => Some(self.parts()),
            _ => Some(1),
        }
    }

    /// The number that begins a geometry or dimension: 2 of `.2d`, `.a2d`, `.2dms`; 3 of a cube.
    pub(super) fn dimensions(&self) -> u32 {
        let modifier = self.get(Slot::Geom).or_else(|| self.get(Slot::Dim));
        let digit = modifier.and_then(|m| m.text().chars().find_map(|c| c.to_digit(10)));
        digit.unwrap_or(3)
    }

    /// The elements of a vector whose length follows from no other operand and no modifier of its own.
    fn parts(&self) -> u32 {
        match (self.get(Slot::LoadMode), self.get(Slot::CtaGroup)) {
            (Some(Modifier::Im2col), _) => self.dimensions().saturating_sub(2),
            (Some(_), _) => 2,
            (None, Some(Modifier::CtaGroup1)) => 4,
            (None, Some(_)) => 8,
            // Vectors of three are padded to four.
            (None, None) if self.dimensions() == 3 => 4,
            (None, None) => self.dimensions(),
        }
    }

    /// The state space of address operand `i`.
    pub fn operand_space(&self, i: usize) -> Option<StateSpace> {
        match self.data().operands.get(i)?.kind {
            OperandKind::Address { space: SpaceRule::Fixed(space) } => Some(space),
            OperandKind::Address { space: SpaceRule::Of(slot) | SpaceRule::Mbarrier(slot) } => {
                match self.get(slot) {
                    Some(modifier) => modifier.state_space(),
                    None => Some(StateSpace::Generic),
                }
            }
            _ => None,
        }
    }
}

/// The scalar type of that kind and width.
fn of_kind(kind: TypeKind, bits: u32) -> Option<ScalarType> {
    ScalarType::ALL.iter().map(|(ty, _)| *ty).find(|ty| ty.kind() == kind && ty.bits() == bits)
}
