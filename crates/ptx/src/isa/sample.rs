//! Sample opcodes: a minimal one for each form, one for each choice of each slot, and arbitrary ones for fuzzing.

use super::{FormData, FormId, Modifier, Opcode, Slot};

/// An arbitrary legal opcode. `choose(n)` picks a number below `n`.
pub fn arbitrary_instruction(choose: &mut dyn FnMut(u32) -> u32) -> Opcode {
    let mut pick = |n: usize| choose(n.max(1) as u32) as usize % n.max(1);
    let form = FormId(pick(super::FORMS.len()) as u16);
    let mut chosen = Vec::new();
    for spec in form.data().slots {
        if !spec.optional || pick(2) == 0 {
            chosen.push((spec.slot, spec.choices[pick(spec.choices.len())].modifier));
        }
    }
    // Every form has a minimal opcode: the tests see to it.
    repaired(form, chosen, None).or_else(|| minimal_opcode(form)).unwrap_or(Opcode { form, modifiers: Vec::new() })
}

/// The opcode of a form with as few modifiers as possible, each the first of its choices that goes with the others.
pub fn minimal_opcode(form: FormId) -> Option<Opcode> {
    let required = form.data().slots.iter().filter(|spec| !spec.optional);
    repaired(form, required.map(|spec| (spec.slot, spec.choices[0].modifier)).collect(), None)
}

/// The minimal opcode, and for each choice of each slot the minimal opcode with it.
pub fn sample_opcodes(form: FormId) -> Vec<Opcode> {
    let mut samples: Vec<Opcode> = minimal_opcode(form).into_iter().collect();
    for spec in form.data().slots {
        for choice in spec.choices {
            let Some(minimal) = samples.first() else { continue };
            let mut modifiers = minimal.modifiers.clone();
            match modifiers.iter_mut().find(|(slot, _)| *slot == spec.slot) {
                Some((_, modifier)) => *modifier = choice.modifier,
                None => modifiers.push((spec.slot, choice.modifier)),
            }
            samples.extend(repaired(form, modifiers, Some(spec.slot)).filter(|opcode| !samples.contains(opcode)));
        }
    }
    samples
}

/// The modifiers in the form's order, changed where a rule asks for it, but not in the slot `keep`.
fn repaired(form: FormId, mut modifiers: Vec<(Slot, Modifier)>, keep: Option<Slot>) -> Option<Opcode> {
    let data = form.data();
    // A repair can break a rule before it, but rules do not form long chains.
    for _ in 0..=data.rules.len() {
        let Some((rule, allowed)) = broken(data, &modifiers) else {
            let position = |slot: Slot| data.slots.iter().position(|spec| spec.slot == slot);
            modifiers.sort_by_key(|(slot, _)| position(*slot));
            return Some(Opcode { form, modifiers });
        };
        if keep != Some(rule) {
            modifiers.retain(|(slot, _)| *slot != rule);
            modifiers.extend(allowed.first().map(|&modifier| (rule, modifier)));
            continue;
        }
        return None;
    }
    None
}

/// The slot that breaks a rule of the form, with what the rule allows there.
fn broken(data: &FormData, modifiers: &[(Slot, Modifier)]) -> Option<(Slot, &'static [Modifier])> {
    let rules = data.rules.iter().filter(|rule| modifiers.iter().any(|(_, modifier)| *modifier == rule.when));
    rules.filter(|rule| !rule.keeps(modifiers)).map(|rule| (rule.slot, rule.choices)).next()
}
