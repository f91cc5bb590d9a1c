//! Sample opcodes: a minimal one for each form, one for each choice of each slot, every one that a target has, and
//! arbitrary ones for fuzzing.

use super::{FormData, FormId, Modifier, Opcode, Rule, Slot, SlotSpec};
use crate::types::{Arch, Version};

/// An arbitrary legal opcode. `choose(n)` picks a number below `n`.
pub fn arbitrary_instruction(choose: &mut dyn FnMut(u32) -> u32) -> Opcode {
    let mut pick = |n: usize| choose(n.max(1) as u32) as usize % n.max(1);
    let form = FormId(pick(super::FORMS.len()) as u16);
    let mut chosen = Vec::new();
    for spec in slots(form) {
        if !spec.optional || pick(2) == 0 {
            chosen.push((spec.slot, spec.choices[pick(spec.choices.len())].modifier));
        }
    }
    // Every form has a minimal opcode: the tests see to it.
    repaired(form, chosen, None)
        .or_else(|| minimal_opcode(form))
        .unwrap_or(Opcode { form, modifiers: Vec::new() })
}

/// The slots of a form, but for what reads as a modifier of another slot where that is empty.
fn slots(form: FormId) -> impl Iterator<Item = &'static SlotSpec> {
    form.data().slots.iter().filter(|spec| spec.slot != Slot::IgnoredLast)
}

/// The opcode of a form with as few modifiers as possible, each the first of its choices that goes with the others.
pub fn minimal_opcode(form: FormId) -> Option<Opcode> {
    let required = form.data().slots.iter().filter(|spec| !spec.optional);
    repaired(form, required.map(|spec| (spec.slot, spec.choices[0].modifier)).collect(), None)
}

/// The minimal opcode, and for each choice of each slot the minimal opcode with it.
pub fn sample_opcodes(form: FormId) -> Vec<Opcode> {
    let mut samples: Vec<Opcode> = minimal_opcode(form).into_iter().collect();
    for spec in slots(form) {
        for choice in spec.choices {
            let Some(minimal) = samples.first() else { continue };
            let mut modifiers = minimal.modifiers.clone();
            match modifiers.iter_mut().find(|(slot, _)| *slot == spec.slot) {
                Some((_, modifier)) => *modifier = choice.modifier,
                None => modifiers.push((spec.slot, choice.modifier)),
            }
            samples.extend(
                repaired(form, modifiers, Some(spec.slot)).filter(|opcode| !samples.contains(opcode)),
            );
        }
    }
    samples
}

/// The opcodes of a form that a target has: all of them, or where there are more than `most`, each choice of each slot
/// once and `most` others that are spread over the combinations.
pub fn opcodes_of_target(form: FormId, version: Version, arch: Arch, most: usize) -> Vec<Opcode> {
    let data = form.data();
    let slots: Vec<(Slot, Vec<Option<Modifier>>)> = data
        .slots
        .iter()
        .map(|spec| {
            // What means nothing needs no opcodes of its own.
            let permitted = spec.choices.iter().filter(|choice| choice.gate.permits(version, arch));
            let permitted = permitted
                .filter(|_| !matches!(spec.slot, Slot::Ignored | Slot::IgnoredFirst | Slot::IgnoredLast));
            let none = spec.optional.then_some(None);
            (spec.slot, none.into_iter().chain(permitted.map(|choice| Some(choice.modifier))).collect())
        })
        .collect();
    let count = slots.iter().fold(1_usize, |count, (_, choices)| count.saturating_mul(choices.len()));
    if count == 0 || !data.gate.permits(version, arch) {
        return Vec::new();
    }
    let combination = |mut index: usize| {
        let mut modifiers = Vec::new();
        for (slot, choices) in &slots {
            modifiers.extend(choices[index % choices.len()].map(|modifier| (*slot, modifier)));
            index /= choices.len();
        }
        broken(data, &modifiers).is_none().then_some(Opcode { form, modifiers })
    };
    if count <= most {
        return (0..count).filter_map(combination).collect();
    }
    let permitted = |opcode: &Opcode| opcode.gates().all(|(_, gate)| gate.permits(version, arch));
    let mut opcodes: Vec<_> = sample_opcodes(form).into_iter().filter(permitted).collect();
    // Steps by the golden ratio visit all parts of the range evenly, and no slot in step with its own length.
    let step = (count as f64 * 0.618_033_988_749_894_9) as usize | 1;
    let mut index = 0_usize;
    let mut tried = 0;
    let wanted = opcodes.len() + most;
    while opcodes.len() < wanted && tried < most * 64 {
        index = (index + step) % count;
        tried += 1;
        opcodes.extend(combination(index).filter(|opcode| !opcodes.contains(opcode)));
    }
    opcodes
}

/// The modifiers in the form's order, changed where a rule asks for it, but not in the slot `keep`.
fn repaired(form: FormId, mut modifiers: Vec<(Slot, Modifier)>, keep: Option<Slot>) -> Option<Opcode> {
    let data = form.data();
    // A repair can break a rule before it, but rules do not form long chains.
    for _ in 0..=data.rules.len() * 2 {
        let Some(rule) = broken(data, &modifiers) else {
            let position = |slot: Slot| data.slots.iter().position(|spec| spec.slot == slot);
            modifiers.sort_by_key(|(slot, _)| position(*slot));
            return Some(Opcode { form, modifiers });
        };
        if keep != Some(rule.slot) {
            modifiers.retain(|(slot, _)| *slot != rule.slot);
            let first = rule.choices.first().filter(|_| rule.required || !is_optional(data, rule.slot));
            modifiers.extend(first.map(|&modifier| (rule.slot, modifier)));
            continue;
        }
        // Another modifier in place of the one that asks for the rule.
        let (slot, modifier) = rule.when;
        let at = modifiers.iter().position(|(s, _)| *s == slot)?;
        let choices = data.slots.iter().find(|spec| spec.slot == slot)?.choices;
        let next = choices.iter().position(|choice| choice.modifier == modifier)? + 1;
        modifiers[at].1 = choices.get(next)?.modifier;
    }
    None
}

fn is_optional(data: &FormData, slot: Slot) -> bool {
    data.slots.iter().any(|spec| spec.slot == slot && spec.optional)
}

/// A rule of the form that the modifiers break.
fn broken(data: &'static FormData, modifiers: &[(Slot, Modifier)]) -> Option<&'static Rule> {
    data.rules.iter().find(|rule| !rule.holds(modifiers))
}
