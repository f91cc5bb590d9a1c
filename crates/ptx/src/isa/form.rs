//! What a row of the instruction table says.

use super::{Mnemonic, Modifier, Sem, Slot};
use crate::types::{Arch, ArchVariant, ScalarType, StateSpace, Version};
use std::fmt;

/// A row of the instruction table: an index into [`FORMS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormId(pub u16);

impl FormId {
    /// The row.
    pub fn data(self) -> &'static FormData {
        &FORMS[self.0 as usize]
    }

    /// Every row.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..FORMS.len()).map(|i| Self(i as u16))
    }

    /// The rows of a mnemonic, in their order.
    pub fn of(mnemonic: Mnemonic) -> impl Iterator<Item = Self> {
        let number = mnemonic as usize;
        let start = number.checked_sub(1).map_or(0, |before| MNEMONIC_ENDS[before]);
        let own = &MNEMONIC_FORMS[start.into()..MNEMONIC_ENDS[number].into()];
        own.iter().map(|&form| Self(form))
    }
}

/// One form of an instruction: one line of syntax of the manual.
#[derive(Clone, Copy, Debug)]
pub struct FormData {
    /// What stands before the first dot.
    pub mnemonic: Mnemonic,
    /// The form in the manual's notation: `add{.sat}.s32 d, a, b`.
    pub template: &'static str,
    /// The chapter of the manual with its title: `9.7.1 Integer arithmetic`.
    pub chapter: &'static str,
    /// The section of the manual that describes it: `9.7.1.1`.
    pub section: &'static str,
    /// The dot-token positions in the manual's order.
    pub slots: &'static [SlotSpec],
    /// How many of them belong to the name: what fills them stands first and in order, all else may be permuted.
    pub name: usize,
    /// The operands in order.
    pub operands: &'static [OperandSpec],
    /// What introduces the form.
    pub gate: Gate,
    /// Modifiers that restrict others.
    pub rules: &'static [Rule],
    /// What executes it; `None` if nothing does yet.
    pub sem: Option<Sem>,
}

impl FormData {
    /// The title of the manual's section.
    pub fn section_title(&self) -> &'static str {
        SECTIONS.iter().find(|(number, _)| *number == self.section).map_or("", |(_, title)| title)
    }
}

/// A dot-token position.
#[derive(Clone, Copy, Debug)]
pub struct SlotSpec {
    /// Its name.
    pub slot: Slot,
    /// Whether it may be left out.
    pub optional: bool,
    /// What may stand there.
    pub choices: &'static [Choice],
}

/// A modifier allowed in a slot, with what introduces it there.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The modifier.
    pub modifier: Modifier,
    /// What introduces it in this form, beyond the form's own gate.
    pub gate: Gate,
}

/// If `when` is present, `slot` holds one of `choices`, or is empty if it is not `required`.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The slot and the modifier in it that trigger the rule.
    pub when: (Slot, Modifier),
    /// The slot that it restricts.
    pub slot: Slot,
    /// What the slot may then hold.
    pub choices: &'static [Modifier],
    /// Whether it may not be empty.
    pub required: bool,
}

impl Rule {
    /// Whether the modifiers are as the rule asks.
    pub(super) fn holds(&self, modifiers: &[(Slot, Modifier)]) -> bool {
        if !modifiers.contains(&self.when) {
            return true;
        }
        match modifiers.iter().find(|(slot, _)| *slot == self.slot) {
            Some((_, modifier)) => self.choices.contains(modifier),
            None => !self.required,
        }
    }
}

/// The PTX version and the targets that something needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The first PTX version with it.
    pub ptx: Version,
    /// It is legal on any target that one of these covers; empty means on all.
    pub targets: &'static [Arch],
    /// The first architecture number that no longer has it.
    pub before: Option<u16>,
    /// The first PTX version that no longer has it.
    pub until: Option<Version>,
}

impl Gate {
    /// What was always there.
    pub const NONE: Self =
        Self { ptx: Version { major: 1, minor: 0 }, targets: &[], before: None, until: None };

    /// Whether a module with this `.version` may use it.
    pub fn permits_version(&self, version: Version) -> bool {
        version >= self.ptx && self.until.is_none_or(|until| version < until)
    }

    /// Whether a module with this `.target` may use it.
    pub fn permits_target(&self, arch: Arch) -> bool {
        self.before.is_none_or(|sm| arch.sm < sm)
            && (self.targets.is_empty() || self.targets.iter().any(|&target| covers(target, arch)))
    }

    /// Whether a module with this `.version` and `.target` may use it.
    pub fn permits(&self, version: Version, arch: Arch) -> bool {
        self.permits_version(version) && self.permits_target(arch)
    }
}

impl fmt::Display for Gate {
    /// `PTX 7.8, sm_90`; several targets are alternatives.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX {}", self.ptx)?;
        for (i, target) in self.targets.iter().enumerate() {
            write!(f, "{}{target}", if i == 0 { ", " } else { " or " })?;
        }
        if let Some(sm) = self.before {
            write!(f, ", before sm_{sm}")?;
        }
        match self.until {
            Some(version) => write!(f, ", before PTX {version}"),
            None => Ok(()),
        }
    }
}

/// Whether a feature introduced by `feature` exists on `arch`. A plain target promises it to all later ones,
/// `sm_100f` to the architecture-specific and family-specific targets of the same family from there on, `sm_90a` to
/// itself alone.
fn covers(feature: Arch, arch: Arch) -> bool {
    match feature.variant {
        ArchVariant::Base => arch.sm >= feature.sm,
        ArchVariant::Family => {
            arch.variant != ArchVariant::Base
                && arch.sm >= feature.sm
                && family(arch.sm) == family(feature.sm)
        }
        ArchVariant::Specific => arch == feature,
    }
}

/// The family of an architecture: its number without the last digit, but `sm_101` was renamed to `sm_110`.
fn family(sm: u16) -> u16 {
    if sm == 101 { 11 } else { sm / 10 }
}

/// Whether an instruction reads or writes an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Role {
    Read,
    Write,
    ReadWrite,
}

/// An operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandSpec {
    /// Its name in the manual's notation.
    pub name: &'static str,
    /// Read, written or both. An address operand is itself read, whatever happens to the memory behind it.
    pub role: Role,
    /// What may be written there.
    pub kind: OperandKind,
    /// The type of the operand, or of each element of a vector.
    pub ty: TypeRule,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether a `|` and not a comma precedes it: the `p` of `d|p`.
    pub joined: bool,
    /// The modifier with which an optional operand must be written and without which it must not.
    pub with: Option<Modifier>,
    /// What introduces it, beyond the form's own gate.
    pub gate: Gate,
    /// What a constant is limited to beyond its type.
    pub limit: Option<Limit>,
    /// Whether the name of a variable or function serves as its address.
    pub symbols: bool,
    /// Whether a register of another width serves as well: a wider one for data, whose low bits are meant; a narrower
    /// one for an address, which is extended.
    pub loose: bool,
    /// Whether the memory at an address is written. The address is read all the same.
    pub stores: bool,
    /// Whether the value can be negated: `-r`.
    pub negatable: bool,
    /// Whether ptxas looks at its type alone: a vector serves for a value, a register or constant without brackets for
    /// an address.
    pub lax: bool,
    /// Whether no other type of the width serves.
    pub exact: bool,
    /// Whether a constant that is too wide is cut to the type before it is limited.
    pub cut: bool,
}

impl OperandSpec {
    /// The name without brackets: of `[t,c]` the first.
    pub fn identifier(&self) -> &'static str {
        let name = self.name.trim_matches(['[', ']']);
        name.split(',').next().unwrap_or(name)
    }
}

/// What a constant operand is limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// From the first to the second, both included.
    Range(i64, i64),
    /// A multiple.
    MultipleOf(i64),
    /// From the first to the second, in steps of the third, counted from 0.
    Steps(i64, i64, i64),
    /// One of a few.
    OneOf(&'static [i64]),
}

impl Limit {
    /// Whether a value is within.
    pub fn permits(self, value: i64) -> bool {
        match self {
            Self::Range(low, high) => (low..=high).contains(&value),
            Self::MultipleOf(step) => value % step == 0,
            Self::Steps(low, high, step) => (low..=high).contains(&value) && value % step == 0,
            Self::OneOf(values) => values.contains(&value),
        }
    }
}

/// What may be written at an operand's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A register, or `_` if `sink`.
    Register {
        /// Whether `_` may stand there.
        sink: bool,
    },
    /// A register or a constant expression, in which a symbol stands for its address.
    Value {
        /// Whether a special register may stand there too, as in `mov`.
        special: bool,
    },
    /// A constant expression.
    Immediate,
    /// A predicate register.
    Predicate {
        /// Whether `!p` may stand there.
        negatable: bool,
        /// Whether 0 or another number may stand there.
        constant: bool,
        /// Whether `_` may stand there.
        sink: bool,
    },
    /// A memory operand `[a]`, `[a+4]`, `[variable+8]`, `[16]`.
    Address {
        /// The state space that it is an address of.
        space: SpaceRule,
    },
    /// `{a, b, ...}`, each element a register, a constant where it is read, or `_` if `sink`. Where the length comes
    /// from a slot that is empty, it is a lone register or value without braces.
    Vector {
        /// How many elements.
        count: Count,
        /// Whether `_` may stand for an element.
        sink: bool,
        /// Whether a special register may.
        special: bool,
        /// Whether a special register may stand for all of it.
        whole: bool,
    },
    /// `[texture, {x, y}]` or `[texture, sampler, {x, y}]`: coordinates of the operand's type, as many as the
    /// geometry slot says.
    Texture,
    /// `[surface, {x, y}]`.
    Surface,
    /// `[descriptor]`: the opaque object that a query asks about, or a register with its handle.
    Descriptor,
    /// `[address]` in tensor memory.
    TensorMemory,
    /// `[tensor-map address, {coordinates}]` of a bulk tensor copy.
    TensorMap,
    /// A register with an optional part selector, of a video instruction: `r.b0`, `r.h10`.
    Selected(Parts),
    /// `_` and nothing else.
    Sink,
    /// A label of the same function.
    Label,
    /// A function's name.
    Function,
    /// `(r)`: where a call puts results.
    Results,
    /// `(a, b, ...)`: the arguments of a call.
    Arguments,
    /// The name of a `.branchtargets` table.
    BranchTargets,
    /// The name of a `.calltargets` table or of a `.callprototype`.
    CallTargets,
}

/// What the part selector of a video operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// One byte or half: `r.b3`, `r.h1`.
    One,
    /// Of a source two of the four halves of both sources, highest first: `r.h10`. Of a destination a mask.
    Halves,
    /// The same of four bytes: `r.b7654`.
    Bytes,
}

/// How many elements a vector operand has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many.
    Fixed(u8),
    /// As the vector modifier in the slot says (`.v4`, `.x2`); one, without braces, if the slot is empty.
    Of(Slot),
    /// As many as the other operands ask for: the parts of a `mov`, the derivatives of a texture coordinate.
    Parts,
    /// At least as many as the geometry has dimensions, or one value without braces.
    Offsets,
    /// A matrix fragment: decided by the shape and the element type.
    Fragment(Fragment),
}

/// Which matrix of `d = a * b + c` a fragment is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Fragment {
    A,
    B,
    C,
    D,
}

/// The state space of an address operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceRule {
    /// Always this one.
    Fixed(StateSpace),
    /// As the slot says; generic if it is empty.
    Of(Slot),
    /// The same of an mbarrier, which a variable must have in shared memory.
    Mbarrier(Slot),
}

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRule {
    /// Always this type.
    Fixed(ScalarType),
    /// Any type as wide as this one.
    AnyOf(ScalarType),
    /// The type in the slot.
    Of(Slot),
    /// The type in the slot: an address as wide as the module's, of a variable in the space that the form names.
    Address(Slot),
    /// An integer type of the same signedness, twice as wide as the one in the slot.
    Wide(Slot),
    /// The untyped `.bX` as wide as the type in the slot.
    Bits(Slot),
    /// The unsigned type as wide as the type in the slot.
    Unsigned(Slot),
    /// The register type of a matrix fragment whose elements have the type in the slot: `.f16x2` for `.f16`, `.f32`,
    /// `.f64` and `.s32` for themselves, `.b32` for all else.
    Fragment(Slot),
    /// A predicate.
    Pred,
    /// Any type.
    Any,
    /// It has no type: labels, functions, addresses.
    None,
}

include!(concat!(env!("OUT_DIR"), "/forms.rs"));
