//! The fields of the typed instructions.
//!
//! An instruction stands for all forms of one semantic function. A slot becomes a field, unless all forms fill it with
//! the same modifier; one that only says the state space of an address belongs to that address, and one that only says
//! how long a vector is to that vector; one that only announces an operand is left out. An operand becomes a field under the name that the table gives it.

use ptx::isa::{Count, FORMS, FormData, Modifier, OperandKind, OperandSpec, Role, Sem, Slot, SpaceRule};
use std::collections::{BTreeMap, BTreeSet};

/// A typed instruction.
pub(crate) struct Function {
    pub(crate) sem: Sem,
    /// `MulInt`.
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
    /// The forms, as the manual writes them.
    pub(crate) templates: Vec<&'static str>,
}

/// A field of an instruction.
pub(crate) struct Field {
    /// As Rust spells it.
    pub(crate) name: String,
    /// As the table spells it.
    pub(crate) text: &'static str,
    pub(crate) kind: Kind,
    /// Whether some instructions do without.
    pub(crate) optional: bool,
}

/// What a field holds.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of a slot: a type, a memory order, a scope, a state space, the sizes of a matrix, whether a modifier is there, or
    /// one of a set of modifiers, by the name of its enum.
    Type(Slot),
    Order(Slot),
    Scope(Slot),
    Space(Slot),
    Shape(Slot),
    Flag(Slot, Modifier),
    Choice(Slot, String),
    /// Of an operand, by the name of the type in `operand.rs`.
    Operand(&'static str),
}

/// The modifiers that an enum stands for.
pub(crate) type Choices = BTreeMap<String, BTreeSet<Modifier>>;

/// All typed instructions, and the enums of their modifiers.
pub(crate) struct Functions {
    pub(crate) all: Vec<Function>,
    pub(crate) choices: Choices,
}

/// Reads the table.
pub(crate) fn functions() -> Result<Functions, String> {
    let mut names = names_of_choices();
    let mut all = Vec::new();
    let mut mistakes = Vec::new();
    for sem in Sem::ALL {
        let forms: Vec<&FormData> = FORMS.iter().filter(|form| form.sem == Some(sem)).collect();
        let mut fields = modifiers(sem, &forms, &names);
        match operands(sem, &forms) {
            Ok(operands) => fields.extend(operands),
            Err(mistake) => mistakes.push(mistake),
        }
        let mut seen = BTreeSet::new();
        let twice = fields.iter().filter(|field| !seen.insert(&field.name));
        mistakes
            .extend(twice.map(|field| format!("`{}` would have two fields `{}`", sem.text(), field.name)));
        let templates = forms.iter().map(|form| form.template).collect();
        all.push(Function { sem, name: format!("{sem:?}"), fields, templates });
    }
    if !mistakes.is_empty() {
        return Err(mistakes.join("\nerror: "));
    }
    let used = all.iter().flat_map(|f| &f.fields).filter_map(|f| match &f.kind {
        Kind::Choice(_, name) => Some(name.clone()),
        _ => None,
    });
    let used: BTreeSet<String> = used.collect();
    let mut choices = Choices::new();
    for ((_, set), name) in std::mem::take(&mut names) {
        if used.contains(&name) {
            choices.insert(name, set);
        }
    }
    Ok(Functions { all, choices })
}

/// The modifiers that stand in a slot in any form, and whether some form does without.
fn slot_of(forms: &[&FormData], slot: Slot) -> (BTreeSet<Modifier>, bool) {
    let mut modifiers = BTreeSet::new();
    let mut optional = false;
    for form in forms {
        match form.slots.iter().find(|spec| spec.slot == slot) {
            Some(spec) => {
                optional |= spec.optional;
                modifiers.extend(spec.choices.iter().map(|choice| choice.modifier));
            }
            None => optional = true,
        }
    }
    (modifiers, optional)
}

/// The slots of the forms in the order of the table. What is ignored means nothing.
fn slots(forms: &[&FormData]) -> Vec<Slot> {
    let mut slots = Vec::new();
    for spec in forms.iter().flat_map(|form| form.slots) {
        if !slots.contains(&spec.slot) && !spec.slot.text().starts_with("ignored") {
            slots.push(spec.slot);
        }
    }
    slots
}

/// What the modifiers of a slot are together.
fn kind_of(slot: Slot, modifiers: &BTreeSet<Modifier>) -> Option<Kind> {
    let all = |is: fn(Modifier) -> bool| modifiers.iter().all(|&m| is(m));
    if all(|m| m.scalar_type().is_some()) {
        return Some(Kind::Type(slot));
    }
    match slot {
        Slot::Sem => Some(Kind::Order(slot)),
        Slot::Scope => Some(Kind::Scope(slot)),
        Slot::Space | Slot::Dst | Slot::Src if all(|m| m.state_space().is_some()) => Some(Kind::Space(slot)),
        Slot::Shape if modifiers.iter().all(|m| m.matrix_shape().is_some()) => Some(Kind::Shape(slot)),
        _ => None,
    }
}

/// The name of each set of modifiers that needs an enum: that of its slot where no other function has another set there,
/// and else that of the first function with it in the table, and the slot.
fn names_of_choices() -> BTreeMap<(Slot, BTreeSet<Modifier>), String> {
    let mut sets: BTreeMap<Slot, Vec<(BTreeSet<Modifier>, Sem)>> = BTreeMap::new();
    // In the table's order, where what is added below changes no name.
    let mut named = BTreeSet::new();
    for sem in FORMS.iter().filter_map(|form| form.sem).filter(|&sem| named.insert(sem)) {
        let forms: Vec<&FormData> = FORMS.iter().filter(|form| form.sem == Some(sem)).collect();
        for slot in slots(&forms) {
            let (modifiers, _) = slot_of(&forms, slot);
            let of_slot = sets.entry(slot).or_default();
            if modifiers.len() > 1
                && kind_of(slot, &modifiers).is_none()
                && !of_slot.iter().any(|(set, _)| *set == modifiers)
            {
                of_slot.push((modifiers, sem));
            }
        }
    }
    let mut names = BTreeMap::new();
    for (slot, sets) in sets {
        let only = sets.len() == 1;
        for (set, sem) in sets {
            let name = if only { format!("{slot:?}") } else { format!("{sem:?}{slot:?}") };
            names.insert((slot, set), name);
        }
    }
    names
}

fn modifiers(
    sem: Sem,
    forms: &[&FormData],
    names: &BTreeMap<(Slot, BTreeSet<Modifier>), String>,
) -> Vec<Field> {
    let specs = || forms.iter().flat_map(|form| form.operands);
    let belongs_to_operand = |slot: Slot| {
        specs().any(|spec| match spec.kind {
            OperandKind::Address { space: SpaceRule::Of(of) | SpaceRule::Mbarrier(of) } => of == slot,
            OperandKind::Vector { count: Count::Of(of), .. } => of == slot,
            _ => false,
        })
    };
    // A modifier that says nothing but that an operand is there.
    let announces = |modifier: Modifier| {
        specs().any(|spec| spec.with == Some(modifier) || spec.identifier() == &modifier.text()[1..])
    };
    let mut fields = Vec::new();
    for slot in slots(forms) {
        let (modifiers, absent) = slot_of(forms, slot);
        if belongs_to_operand(slot) {
            continue;
        }
        let mut optional = absent;
        let only = (modifiers.len() == 1).then(|| modifiers.first().copied()).flatten();
        let kind = match (only, kind_of(slot, &modifiers)) {
            (Some(_), _) if !absent => continue,
            (Some(modifier), _) if announces(modifier) => continue,
            (Some(modifier), None) => {
                optional = false;
                Kind::Flag(slot, modifier)
            }
            (_, Some(kind)) => kind,
            (None, None) => Kind::Choice(slot, names[&(slot, modifiers)].clone()),
        };
        // The table says what holds where nothing is named.
        match kind {
            Kind::Order(_) if sem.effects().order.is_some() => optional = false,
            Kind::Scope(_) if sem.effects().scope.is_some() => optional = false,
            _ => {}
        }
        fields.push(Field { name: field_name(slot.text()), text: slot.text(), kind, optional });
    }
    fields
}

fn operands(sem: Sem, forms: &[&FormData]) -> Result<Vec<Field>, String> {
    let mut fields: Vec<(Field, usize)> = Vec::new();
    for spec in forms.iter().flat_map(|form| form.operands) {
        let (text, kind) = (spec.identifier(), operand_kind(spec));
        match fields.iter_mut().find(|(field, _)| field.text == text) {
            Some((field, count)) => {
                *count += 1;
                field.optional |= spec.optional;
                field.kind = match (&field.kind, kind) {
                    (Kind::Operand(a), b) if *a == b => continue,
                    (Kind::Operand(a), b) => Kind::Operand(wider(a, b).ok_or_else(|| {
                        format!("operand `{text}` of `{}` is {a} in one form and {b} in another", sem.text())
                    })?),
                    _ => unreachable!("only operands are here"),
                };
            }
            None => {
                let (kind, optional) = (Kind::Operand(kind), spec.optional);
                fields.push((Field { name: field_name(text), text, kind, optional }, 1));
            }
        }
    }
    let missing_somewhere = |count: usize| count < forms.len();
    Ok(fields
        .into_iter()
        .map(|(field, count)| Field { optional: field.optional || missing_somewhere(count), ..field })
        .collect())
}

/// The type of `operand.rs` for an operand.
fn operand_kind(spec: &OperandSpec) -> &'static str {
    match (spec.kind, spec.role) {
        (OperandKind::Register { .. } | OperandKind::Value { .. }, Role::Read) if spec.negatable => "Part",
        (OperandKind::Register { .. } | OperandKind::Value { .. }, Role::Read) => "Value",
        (OperandKind::Register { .. } | OperandKind::Value { .. } | OperandKind::Sink, _) => "Def",
        (OperandKind::Predicate { .. }, Role::Read) => "Predicate",
        (OperandKind::Predicate { .. }, _) => "Def",
        (OperandKind::Immediate, _) => "Constant",
        (OperandKind::Address { .. } | OperandKind::TensorMemory, _) => "Address",
        (OperandKind::Vector { .. }, Role::Read) => "Values",
        (OperandKind::Vector { .. }, Role::Write) => "Defs",
        (OperandKind::Vector { .. }, Role::ReadWrite) => "Updates",
        (OperandKind::Texture | OperandKind::Surface | OperandKind::TensorMap, _) => "Lookup",
        (OperandKind::Descriptor, _) => "Value",
        (OperandKind::Selected(_), Role::Read) => "Part",
        (OperandKind::Selected(_), _) => "PartDef",
        (OperandKind::Label, _) => "Label",
        (OperandKind::Function, _) => "Function",
        (OperandKind::Results, _) => "Results",
        (OperandKind::Arguments, _) => "Arguments",
        (OperandKind::BranchTargets, _) => "Targets",
        (OperandKind::CallTargets, _) => "Callees",
    }
}

/// The type that holds what either of two does.
fn wider(a: &str, b: &str) -> Option<&'static str> {
    let either = |x: &str, y: &str| (a == x && b == y) || (a == y && b == x);
    match () {
        () if either("Def", "Defs") => Some("Defs"),
        () if either("Value", "Values") => Some("Values"),
        () if either("Value", "Constant") => Some("Value"),
        // An address without brackets.
        () if either("Address", "Value") => Some("Address"),
        () if either("Def", "PartDef") => Some("PartDef"),
        () => None,
    }
}

/// The Rust name of a field: that of the table, but for Rust's words.
fn field_name(text: &str) -> String {
    match text {
        "type" => "ty".to_owned(),
        "bool" => "combine".to_owned(),
        "async" => "asynchronous".to_owned(),
        "sem" => "order".to_owned(),
        _ => {
            // `membermask` and `NaN` are one word; `byteMask` is two.
            let mut name = String::new();
            let mut lower = false;
            for c in text.chars() {
                if c.is_ascii_uppercase() && lower && text != "NaN" {
                    name.push('_');
                }
                lower = c.is_ascii_lowercase();
                name.push(c.to_ascii_lowercase());
            }
            name
        }
    }
}
