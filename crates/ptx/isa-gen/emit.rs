//! The model to Rust source: `names.rs` (the enums) and `forms.rs` (the static table).

use super::model::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// `.L2::128B` to `L2_128B`, `.shared::cta` to `SharedCta`, `.16x64b` to `N16x64b`, `add_int` to `AddInt`.
pub(crate) fn camel_case(text: &str) -> String {
    let mut name = String::new();
    let mut start = true;
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            start = true;
            continue;
        }
        if name.is_empty() && c.is_ascii_digit() {
            name.push('N');
        }
        if start && c.is_ascii_digit() && name.ends_with(|p: char| p.is_ascii_digit()) {
            name.push('_');
        }
        name.push(if start { c.to_ascii_uppercase() } else { c });
        start = false;
    }
    name
}

/// The names that an enum needs, each with its Rust spelling; two texts with one spelling are an error.
fn variants(what: &str, texts: impl IntoIterator<Item = String>) -> Result<BTreeMap<String, String>, String> {
    let mut by_name = BTreeMap::new();
    for text in texts {
        let name = camel_case(&text);
        if let Some(other) = by_name.insert(name.clone(), text.clone())
            && other != text
        {
            return Err(format!("{what} `{text}` and `{other}` would both be called `{name}`"));
        }
    }
    Ok(by_name)
}

/// An enum with one variant a text, `ALL`, `text()` and `from_text()`.
fn emit_enum(out: &mut String, name: &str, doc: &str, variants: &BTreeMap<String, String>) {
    let _ = writeln!(out, "/// {doc}");
    let _ = writeln!(out, "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]");
    let _ = writeln!(out, "#[repr(u16)]\npub enum {name} {{");
    for (variant, text) in variants {
        let _ = writeln!(out, "    /// `{text}`\n    {variant},");
    }
    let _ = writeln!(out, "}}\n\nimpl {name} {{");
    let _ = writeln!(out, "    /// All of them, ordered by name.");
    let _ = writeln!(out, "    pub const ALL: [Self; {}] = [", variants.len());
    for variant in variants.keys() {
        let _ = writeln!(out, "        Self::{variant},");
    }
    let _ = writeln!(out, "    ];\n\n    /// As the table spells it.");
    let _ = writeln!(out, "    pub fn text(self) -> &'static str {{");
    let _ = writeln!(out, "        static TEXTS: [&str; {}] = [", variants.len());
    for text in variants.values() {
        let _ = writeln!(out, "            {text:?},");
    }
    let _ = writeln!(out, "        ];\n        TEXTS[self as usize]\n    }}\n");
    let _ = writeln!(out, "    /// The one that the table spells so.");
    let _ = writeln!(out, "    pub fn from_text(text: &str) -> Option<Self> {{");
    // Bytes, as a comparison of strings asks each of the same length.
    let _ = writeln!(out, "        Some(match text.as_bytes() {{");
    for (variant, text) in variants {
        let _ = writeln!(out, "            b{text:?} => Self::{variant},");
    }
    let _ = writeln!(out, "            _ => return None,\n        }})\n    }}\n}}\n");
}

/// `Modifier::kind`: a number for each home slot.
fn emit_kinds(out: &mut String, table: &Table, modifiers: &BTreeMap<String, String>) {
    let kind =
        |text: &String| table.slots.keys().position(|slot| *slot == table.home[text]).unwrap_or_default();
    let kinds: Vec<_> = modifiers.values().map(kind).map(|k| k.to_string()).collect();
    let _ = writeln!(out, "impl Modifier {{");
    let _ = writeln!(out, "    /// Modifiers of one kind keep their order when others may be permuted.");
    let _ = writeln!(out, "    pub fn kind(self) -> u8 {{");
    let _ = writeln!(out, "        const KINDS: [u8; {}] = [{}];", kinds.len(), kinds.join(", "));
    let _ = writeln!(out, "        KINDS[self as usize]\n    }}\n}}\n");
}

/// The enums `Mnemonic`, `Slot`, `Modifier` and `Sem`.
pub(crate) fn names(table: &Table) -> Result<String, String> {
    let mut out = String::new();
    let forms = &table.forms;
    let mnemonics = variants("mnemonic", forms.iter().map(|f| f.mnemonic.clone()))?;
    emit_enum(&mut out, "Mnemonic", "What stands before the first dot of an opcode.", &mnemonics);
    let used: BTreeSet<String> = forms.iter().flat_map(|f| f.slots.iter().map(|s| s.name.clone())).collect();
    if let Some(unused) = table.slots.keys().find(|slot| !used.contains(*slot)) {
        return Err(format!("slot `{unused}` is declared, but no form uses it"));
    }
    emit_enum(&mut out, "Slot", "A dot-token position of a form.", &variants("slot", used)?);
    let choices = forms.iter().flat_map(|f| f.slots.iter().flat_map(|s| s.choices.iter()));
    let used: BTreeSet<String> = choices.map(|c| c.modifier.clone()).collect();
    if let Some(unused) = table.home.keys().find(|modifier| !used.contains(*modifier)) {
        return Err(format!("modifier `{unused}` is declared, but no form uses it"));
    }
    let modifiers = variants("modifier", used)?;
    emit_enum(&mut out, "Modifier", "A dot-token.", &modifiers);
    emit_kinds(&mut out, table, &modifiers);
    let sems = variants("semantic function", forms.iter().filter_map(|f| f.sem.clone()))?;
    emit_enum(&mut out, "Sem", "The semantic function that executes a form.", &sems);
    Ok(out)
}

/// The static table of effects, in the order of the enum `Sem`.
pub(crate) fn effects(table: &Table) -> Result<String, String> {
    let sems = variants("semantic function", table.effects.keys().cloned())?;
    let mut out = format!("static EFFECTS: [Effects; {}] = [\n", sems.len());
    for name in sems.values() {
        let _ = writeln!(out, "    {},", table.effects[name].expression());
    }
    out.push_str("];\n");
    Ok(out)
}

/// The enum `SpecialRegister` and its table.
pub(crate) fn special_registers(table: &Table) -> Result<String, String> {
    let mut out = String::new();
    let names = variants("special register", table.specials.iter().map(|s| s.name.clone()))?;
    emit_enum(&mut out, "SpecialRegister", "A special register.", &names);
    let _ = writeln!(out, "static SPECIAL_REGISTERS: [SpecialData; {}] = [", names.len());
    for name in names.values() {
        for special in table.specials.iter().filter(|s| s.name == *name) {
            let _ = writeln!(
                out,
                "    SpecialData {{ ty: ScalarType::{}, components: {}, gate: {} }},",
                camel_case(&special.ty),
                special.components,
                gate(&special.gate)
            );
        }
    }
    out.push_str("];\n");
    Ok(out)
}

/// The static table of forms.
pub(crate) fn forms(table: &Table) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "/// Every form of every instruction, in the manual's order.");
    let _ = writeln!(out, "pub static FORMS: [FormData; {}] = [", table.forms.len());
    for form in &table.forms {
        let _ = writeln!(out, "    FormData {{");
        let _ = writeln!(out, "        mnemonic: Mnemonic::{},", camel_case(&form.mnemonic));
        let _ = writeln!(out, "        template: {:?},", template(form));
        let _ = writeln!(out, "        chapter: {:?},", form.chapter);
        let _ = writeln!(out, "        section: {:?},", form.section);
        let slots: Vec<_> = form.slots.iter().map(slot).collect();
        let _ = writeln!(out, "        slots: &[{}],", slots.join(", "));
        let _ = writeln!(out, "        name: {},", form.name);
        let operands: Vec<_> = form.operands.iter().map(operand).collect();
        let _ = writeln!(out, "        operands: &[{}],", operands.join(", "));
        let _ = writeln!(out, "        gate: {},", gate(&form.gate));
        let rules: Vec<_> = form.rules.iter().map(rule).collect();
        let _ = writeln!(out, "        rules: &[{}],", rules.join(", "));
        let sem = form.sem.as_ref().map_or("None".into(), |s| format!("Some(Sem::{})", camel_case(s)));
        let _ = writeln!(out, "        sem: {sem},\n    }},");
    }
    let _ = writeln!(out, "];\n");
    mnemonic_forms(table, &mut out);
    out.push_str("/// The sections of the manual with their titles.\n");
    let _ = writeln!(out, "static SECTIONS: [(&str, &str); {}] = [", table.sections.len());
    for (number, title) in &table.sections {
        let _ = writeln!(out, "    ({number:?}, {title:?}),");
    }
    out.push_str("];\n");
    out
}

/// The numbers of forms, by mnemonic, and for each of them where its forms end.
fn mnemonic_forms(table: &Table, out: &mut String) {
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, form) in table.forms.iter().enumerate() {
        by_name.entry(camel_case(&form.mnemonic)).or_default().push(number.to_string());
    }
    let forms: Vec<&str> = by_name.values().flatten().map(String::as_str).collect();
    let mut end = 0;
    let ends = by_name.values().map(|own| {
        end += own.len();
        end.to_string()
    });
    let ends: Vec<String> = ends.collect();
    let _ = writeln!(out, "/// The rows of each mnemonic, one behind the other.");
    let _ = writeln!(out, "static MNEMONIC_FORMS: [u16; {}] = [{}];", forms.len(), forms.join(", "));
    let _ = writeln!(out, "/// For each mnemonic where its rows end in them.");
    let _ = writeln!(out, "static MNEMONIC_ENDS: [u16; {}] = [{}];\n", ends.len(), ends.join(", "));
}

/// The form as the manual would write it: a slot with one choice by that modifier, others by their name.
fn template(form: &Form) -> String {
    let mut text = form.mnemonic.clone();
    for slot in &form.slots {
        let token = match &slot.choices[..] {
            [only] => only.modifier.clone(),
            _ => format!(".{}", slot.name),
        };
        text += &if slot.optional { format!("{{{token}}}") } else { token };
    }
    for (i, operand) in form.operands.iter().enumerate() {
        let separator = match (i, operand.joined) {
            (0, _) => "",
            (_, true) => "|",
            (_, false) => ", ",
        };
        if i == 0 {
            text.push(' ');
        }
        let negation =
            if matches!(operand.kind, Kind::Predicate { negatable: true, .. }) { "{!}" } else { "" };
        let item = format!("{separator}{negation}{}", operand.name);
        text += &if operand.optional { format!("{{{item}}}") } else { item };
    }
    text
}

fn gate(gate: &Gate) -> String {
    if *gate == Gate::default() {
        return "Gate::NONE".into();
    }
    let (major, minor) = gate.ptx.unwrap_or((1, 0));
    let arch = |t: &Target| format!("Arch {{ sm: {}, variant: ArchVariant::{} }}", t.sm, t.variant);
    let targets: Vec<_> = gate.targets.iter().map(arch).collect();
    let until = match gate.until {
        Some((major, minor)) => format!("Some(Version {{ major: {major}, minor: {minor} }})"),
        None => "None".into(),
    };
    format!(
        "Gate {{ ptx: Version {{ major: {major}, minor: {minor} }}, targets: &[{}], before: {:?}, until: {until} }}",
        targets.join(", "),
        gate.before
    )
}

fn slot(slot: &Slot) -> String {
    let choice = |c: &Choice| {
        format!("Choice {{ modifier: Modifier::{}, gate: {} }}", camel_case(&c.modifier), gate(&c.gate))
    };
    let choices: Vec<_> = slot.choices.iter().map(choice).collect();
    format!(
        "SlotSpec {{ slot: Slot::{}, optional: {}, choices: &[{}] }}",
        camel_case(&slot.name),
        slot.optional,
        choices.join(", ")
    )
}

fn rule(rule: &Rule) -> String {
    let choices: Vec<_> = rule.choices.iter().map(|c| format!("Modifier::{}", camel_case(c))).collect();
    format!(
        "Rule {{ when: (Slot::{}, Modifier::{}), slot: Slot::{}, choices: &[{}], required: {} }}",
        camel_case(&rule.when.0),
        camel_case(&rule.when.1),
        camel_case(&rule.slot),
        choices.join(", "),
        rule.required
    )
}

fn operand(operand: &Operand) -> String {
    let kind = match &operand.kind {
        Kind::Register { sink } => format!("Register {{ sink: {sink} }}"),
        Kind::Value { special } => format!("Value {{ special: {special} }}"),
        Kind::Immediate => "Immediate".into(),
        Kind::Predicate { negatable, constant, sink } => {
            format!("Predicate {{ negatable: {negatable}, constant: {constant}, sink: {sink} }}")
        }
        Kind::Address { space: Space::Fixed(space) } => {
            format!("Address {{ space: SpaceRule::Fixed(StateSpace::{space}) }}")
        }
        Kind::Address { space: Space::Of(slot) } => {
            format!("Address {{ space: SpaceRule::Of(Slot::{}) }}", camel_case(slot))
        }
        Kind::Address { space: Space::Mbarrier(slot) } => {
            format!("Address {{ space: SpaceRule::Mbarrier(Slot::{}) }}", camel_case(slot))
        }
        Kind::Vector { count, sink, special, whole } => {
            let count = match count {
                Count::Fixed(n) => format!("Fixed({n})"),
                Count::Of(slot) => format!("Of(Slot::{})", camel_case(slot)),
                Count::Parts => "Parts".into(),
                Count::Offsets => "Offsets".into(),
                Count::Fragment(matrix) => format!("Fragment(Fragment::{matrix})"),
            };
            format!("Vector {{ count: Count::{count}, sink: {sink}, special: {special}, whole: {whole} }}")
        }
        Kind::Selected(parts) => format!("Selected(Parts::{parts})"),
        Kind::Plain(kind) => (*kind).into(),
    };
    let ty = match &operand.ty {
        Type::Fixed(ty) => format!("Fixed(ScalarType::{})", camel_case(ty)),
        Type::AnyOf(ty) => format!("AnyOf(ScalarType::{})", camel_case(ty)),
        Type::Rule(rule, slot) => format!("{rule}(Slot::{})", camel_case(slot)),
        Type::Pred => "Pred".into(),
        Type::Any => "Any".into(),
        Type::None => "None".into(),
    };
    let with = operand.with.as_ref().map_or("None".into(), |m| format!("Some(Modifier::{})", camel_case(m)));
    let limit = match &operand.limit {
        Some(Limit::OneOf(values)) => format!("Some(Limit::OneOf(&{values:?}))"),
        Some(limit) => format!("Some(Limit::{limit:?})"),
        None => "None".into(),
    };
    format!(
        "OperandSpec {{ name: {:?}, role: Role::{}, kind: OperandKind::{kind}, ty: TypeRule::{ty}, optional: {}, joined: {}, with: {with}, gate: {}, limit: {limit}, symbols: {}, loose: {}, stores: {}, negatable: {}, lax: {}, exact: {}, cut: {} }}",
        operand.name,
        operand.role,
        operand.optional,
        operand.joined,
        gate(&operand.gate),
        operand.symbols,
        operand.loose,
        operand.stores,
        operand.negatable,
        operand.lax,
        operand.exact,
        operand.cut,
    )
}
