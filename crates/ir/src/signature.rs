//! Which form of the instruction table a typed instruction is, and so which types its operands have.
//!
//! A typed instruction keeps only what its modifiers and operands mean; this is the way back, for whoever has changed or
//! read one and cannot ask the opcode that it was lowered from.

use crate::instruction::{FieldValue, Op};
use crate::operand::Space;
use ptx::isa::{Count, FormId, Modifier, Opcode, OperandKind, Sem, Slot, SlotSpec, SpaceRule};
use std::sync::LazyLock;

/// The forms of each semantic function.
static FORMS_OF: LazyLock<Vec<Vec<FormId>>> = LazyLock::new(|| {
    let mut forms = vec![vec![]; Sem::ALL.len()];
    for form in FormId::all() {
        if let Some(sem) = form.data().sem {
            forms[sem as usize].push(form);
        }
    }
    forms
});

/// The opcodes that an instruction can have been lowered from. They differ in modifiers that mean nothing to the types
/// of operands.
pub(crate) fn opcodes(op: &Op) -> impl Iterator<Item = Opcode> {
    let mut fields = Vec::new();
    op.fields(&mut |name, value| fields.push((name, value)));
    let forms = FORMS_OF[op.sem() as usize].iter();
    forms.filter_map(move |form| opcode(*form, &fields))
}

fn opcode(form: FormId, fields: &[(&str, FieldValue<'_>)]) -> Option<Opcode> {
    let data = form.data();
    let mut modifiers = Vec::new();
    for spec in data.slots {
        let field = fields.iter().find(|(name, value)| *name == spec.slot.text() && is_modifier(value));
        let modifier = match field {
            Some((_, value)) => spec.choices.iter().map(|choice| choice.modifier).find(|m| names(*m, value)),
            None => match spec.choices {
                [only] if !spec.optional => Some(only.modifier),
                _ => None,
            },
        };
        match modifier {
            Some(modifier) => modifiers.push((spec.slot, modifier)),
            // What is not there was not written; or it is the default, which the instruction names all the same.
            None if spec.optional && field.is_none_or(|(_, value)| has_default(value)) => {}
            None if field.is_none() && belongs_to_operand(form, spec) => {}
            None => return None,
        }
    }
    let known = |name: &str| {
        data.slots.iter().any(|spec| spec.slot.text() == name)
            || data.operands.iter().any(|spec| spec.identifier() == name)
    };
    let present = |name: &str| fields.iter().any(|(field, _)| *field == name);
    let fits = fields.iter().all(|(name, value)| known(name) || has_default(value))
        && data.operands.iter().all(|spec| spec.optional || present(spec.identifier()));
    fits.then_some(Opcode { form, modifiers })
}

fn is_modifier(value: &FieldValue<'_>) -> bool {
    matches!(
        value,
        FieldValue::Type(_)
            | FieldValue::Order(_)
            | FieldValue::Scope(_)
            | FieldValue::Space(_)
            | FieldValue::Shape(_)
            | FieldValue::Flag(_)
            | FieldValue::Modifier(_)
    )
}

/// Whether the table gives an instruction such a field where the opcode does not name it.
fn has_default(value: &FieldValue<'_>) -> bool {
    matches!(value, FieldValue::Order(_) | FieldValue::Scope(_))
}

fn names(modifier: Modifier, value: &FieldValue<'_>) -> bool {
    match *value {
        FieldValue::Type(ty) => modifier.scalar_type() == Some(ty),
        FieldValue::Order(order) => modifier.order() == Some(order),
        FieldValue::Scope(scope) => modifier.scope() == Some(scope),
        FieldValue::Space(space) => Space::from_modifier(modifier) == Some(space),
        FieldValue::Shape(shape) => modifier.matrix_shape() == Some([shape.m, shape.n, shape.k]),
        FieldValue::Flag(other) | FieldValue::Modifier(other) => modifier == other,
        FieldValue::Def(_) | FieldValue::Defs(_) | FieldValue::Updates(_) | FieldValue::PartDef(_) => false,
        FieldValue::Value(_) | FieldValue::Values(_) | FieldValue::Predicate(_) | FieldValue::Part(_) => {
            false
        }
        FieldValue::Constant(_) | FieldValue::Address(_) | FieldValue::Lookup(_) => false,
        FieldValue::Label(_) | FieldValue::Targets(_) => false,
        FieldValue::Function(_) | FieldValue::Callees(_) => false,
        FieldValue::Results(_) | FieldValue::Arguments(_) => false,
    }
}

/// Whether what stands in a slot is a part of an operand in a typed instruction.
fn belongs_to_operand(form: FormId, spec: &SlotSpec) -> bool {
    let is = |slot: Slot| slot == spec.slot;
    spec.slot.text().starts_with("ignored")
        || form.data().operands.iter().any(|operand| match operand.kind {
            OperandKind::Address { space: SpaceRule::Of(slot) | SpaceRule::Mbarrier(slot) } => is(slot),
            OperandKind::Vector { count: Count::Of(slot), .. } => is(slot),
            // How many matrices there are, their registers tell.
            OperandKind::Vector { count: Count::Fragment(_), .. } => is(Slot::Vec),
            _ => false,
        })
}
