//! What the instruction table says, as plain data.

use super::effect::Effects;
use std::collections::BTreeMap;

/// The whole table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Slot name (without dot) to its home modifiers, from the vocabulary.
    pub(crate) slots: BTreeMap<String, Vec<String>>,
    /// Mnemonic to the slots and modifiers that belong to its name.
    pub(crate) names: BTreeMap<String, Vec<String>>,
    /// Mnemonic to the slots that may be empty although its forms have them.
    pub(crate) optional: BTreeMap<String, Vec<String>>,
    /// Mnemonic to the slots of what its forms take and ignore: their names and modifiers.
    pub(crate) ignored: BTreeMap<String, Vec<(String, Vec<String>)>>,
    /// Modifier (with dot) to its home slot.
    pub(crate) home: BTreeMap<String, String>,
    /// Every form, in the order of the files.
    pub(crate) forms: Vec<Form>,
    /// Semantic function to what it does beside computing results.
    pub(crate) effects: BTreeMap<String, Effects>,
    /// Section number to title.
    pub(crate) sections: Vec<(String, String)>,
    /// Special registers, in the order of the file.
    pub(crate) specials: Vec<Special>,
}

/// One form.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) mnemonic: String,
    /// Number and title: `9.7.1 Integer arithmetic`.
    pub(crate) chapter: String,
    pub(crate) section: String,
    pub(crate) slots: Vec<Slot>,
    /// How many of the slots belong to the name.
    pub(crate) name: usize,
    pub(crate) operands: Vec<Operand>,
    pub(crate) gate: Gate,
    pub(crate) rules: Vec<Rule>,
    pub(crate) sem: Option<String>,
}

/// A dot-token position of a form.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) optional: bool,
    pub(crate) choices: Vec<Choice>,
}

/// A modifier with what introduces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) modifier: String,
    pub(crate) gate: Gate,
}

/// `.v8 needs type .b32 .f32`.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) when: (String, String),
    pub(crate) slot: String,
    pub(crate) choices: Vec<String>,
    /// Whether the slot may not be empty.
    pub(crate) required: bool,
}

/// `@8.0/sm_90a,sm_100f`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gate {
    pub(crate) ptx: Option<(u8, u8)>,
    pub(crate) targets: Vec<Target>,
    /// The first `sm` number without it.
    pub(crate) before: Option<u16>,
    /// The first PTX version without it.
    pub(crate) until: Option<(u8, u8)>,
}

/// `sm_90a`: number and suffix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) sm: u16,
    pub(crate) variant: &'static str,
}

/// An operand.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) name: String,
    pub(crate) role: &'static str,
    pub(crate) kind: Kind,
    pub(crate) ty: Type,
    pub(crate) optional: bool,
    pub(crate) joined: bool,
    /// The modifier that it is present with and absent without.
    pub(crate) with: Option<String>,
    /// What introduces it, beyond the form's own gate.
    pub(crate) gate: Gate,
    /// What a constant is limited to.
    pub(crate) limit: Option<Limit>,
    /// `$`: the name of a variable or function serves as its address.
    pub(crate) symbols: bool,
    /// `~`: a register of another width serves as well.
    pub(crate) loose: bool,
    /// `=[a]`: memory that is written.
    pub(crate) stores: bool,
    /// `-`: it can be negated.
    pub(crate) negatable: bool,
    /// `*`: ptxas does not look closely.
    pub(crate) lax: bool,
    /// `=`: no other type serves.
    pub(crate) exact: bool,
    /// `~` at the end of a limit: a constant is cut to the type before.
    pub(crate) cut: bool,
}

impl Operand {
    /// The name without brackets: the first of two.
    pub(crate) fn identifier(&self) -> &str {
        let name = self.name.trim_matches(['[', ']']);
        name.split(',').next().unwrap_or(name)
    }
}

/// What a constant operand is limited to beyond its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Range(i64, i64),
    MultipleOf(i64),
    Steps(i64, i64, i64),
    OneOf(Vec<i64>),
}

/// What may be written there; mirrors the runtime's `OperandKind`.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Register {
        sink: bool,
    },
    Value {
        special: bool,
    },
    Immediate,
    Predicate {
        negatable: bool,
        constant: bool,
        sink: bool,
    },
    Address {
        space: Space,
    },
    Vector {
        count: Count,
        sink: bool,
        special: bool,
        whole: bool,
    },
    /// `selected`, `halves` or `bytes`, by the name of the runtime's variant.
    Selected(&'static str),
    /// A kind without data, by the name of the runtime's variant.
    Plain(&'static str),
}

/// The length of a vector operand.
#[derive(Clone, Debug)]
pub(crate) enum Count {
    Fixed(u8),
    Of(String),
    Parts,
    Offsets,
    Fragment(&'static str),
}

/// The state space of an address.
#[derive(Clone, Debug)]
pub(crate) enum Space {
    Fixed(&'static str),
    Of(String),
    /// `mbarrier(slot)`.
    Mbarrier(String),
}

/// The type of an operand; `Rule` names a variant of the runtime's `TypeRule` that takes a slot.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Fixed(String),
    /// `any(.b32)`.
    AnyOf(String),
    Rule(&'static str, String),
    Pred,
    Any,
    None,
}

/// A special register.
#[derive(Debug)]
pub(crate) struct Special {
    /// With `%`.
    pub(crate) name: String,
    pub(crate) ty: String,
    /// 1, or 4 for `.v4`.
    pub(crate) components: u8,
    pub(crate) gate: Gate,
}
