//! What a name means here: nested scopes over one dense table.
//!
//! Names are numbers, so the table is an array with one slot a name that holds its innermost meaning; a scope keeps
//! the meanings that it hid and puts them back when it ends. Looking a name up is one load.
//!
//! `.reg .b32 %r<100000>` declares a *family*. Its members get a slot when they are first used: the trailing digits of
//! an unbound name are split off and what is left is looked for among the families. A member lives in the scope of
//! its family, wherever it is first used.

use crate::ast::{Name, Names};
use crate::isa::SpecialRegister;
use crate::module::{FuncId, LabelId, PrototypeId, RegId, TableId, VarId};
use crate::source::Span;
use crate::types::ScalarType;
use rustc_hash::FxHashMap;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Binding {
    /// Nothing.
    Unbound,
    /// It was reported as unknown; the number of the finding.
    Unknown(u32),
    Register(RegId),
    /// `.reg .v4`: consecutive registers.
    VectorRegister {
        first: RegId,
        lanes: u8,
    },
    Special(SpecialRegister),
    Variable(VarId),
    Function(FuncId),
    Label(LabelId),
    Prototype(PrototypeId),
    BranchTargets(TableId),
    CallTargets(TableId),
}

impl Binding {
    /// That of a register, or of a vector of some.
    pub(crate) fn registers(first: RegId, lanes: u8) -> Self {
        match lanes {
            1 => Self::Register(first),
            lanes => Self::VectorRegister { first, lanes },
        }
    }
}

/// The registers of a vector.
pub(crate) fn registers_of(first: RegId, lanes: u8) -> impl Iterator<Item = RegId> {
    (first.0..first.0 + u32::from(lanes)).map(RegId)
}

#[derive(Clone, Copy)]
struct Slot {
    binding: Binding,
    /// The scope that it is of; 0 is the module's.
    depth: u32,
    span: Span,
}

const EMPTY: Slot = Slot { binding: Binding::Unbound, depth: 0, span: Span { start: 0, end: 0 } };

/// A set of registers declared as `name<count>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) prefix: Name,
    pub(crate) count: u64,
    pub(crate) ty: ScalarType,
    /// Lanes of `.v2`, `.v4`; 1 for scalars.
    pub(crate) lanes: u8,
    pub(crate) depth: u32,
    pub(crate) span: Span,
}

#[derive(Default)]
struct Scope {
    hidden: Vec<(Name, Slot)>,
    families: Vec<Name>,
}

/// The scopes open at a place.
pub(crate) struct Scopes {
    slots: Vec<Slot>,
    open: Vec<Scope>,
    families: FxHashMap<Name, Vec<Family>>,
    /// The depth of every live family, so that the deepest is known.
    family_depths: Vec<u32>,
}

/// What [`Scopes::find`] found.
pub(crate) enum Found {
    Binding(Binding),
    /// A member of a family that has no register yet.
    Member(Family),
}

impl Scopes {
    /// Only the module's scope is open, and it is empty.
    pub(crate) fn new(names: usize) -> Self {
        Self {
            slots: vec![EMPTY; names],
            open: vec![Scope::default()],
            families: FxHashMap::default(),
            family_depths: Vec::new(),
        }
    }

    /// The number of the innermost scope; the module's is 0.
    pub(crate) fn depth(&self) -> u32 {
        self.open.len() as u32 - 1
    }

    pub(crate) fn begin(&mut self) {
        self.open.push(Scope::default());
    }

    pub(crate) fn end(&mut self) {
        let scope = self.open.pop().unwrap_or_default();
        for (name, slot) in scope.hidden.into_iter().rev() {
            self.slots[name.0 as usize] = slot;
        }
        for prefix in scope.families {
            if let Some(stack) = self.families.get_mut(&prefix) {
                stack.pop();
            }
            self.family_depths.pop();
        }
    }

    /// Gives a name its meaning in the innermost scope, or says where that scope already has it.
    pub(crate) fn declare(
        &mut self,
        names: &Names,
        name: Name,
        binding: Binding,
        span: Span,
    ) -> Result<(), Span> {
        let depth = self.depth();
        let slot = self.slot(name);
        if slot.depth == depth && !matches!(slot.binding, Binding::Unbound | Binding::Unknown(_)) {
            return Err(slot.span);
        }
        if let Some(family) = self.family_of(names, name, depth) {
            return Err(family.span);
        }
        self.bind(name, binding, depth, span);
        Ok(())
    }

    /// Changes what a name of the innermost scope means.
    pub(crate) fn bind(&mut self, name: Name, binding: Binding, depth: u32, span: Span) {
        let hidden = self.slot(name);
        self.open[depth as usize].hidden.push((name, hidden));
        let index = name.0 as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, EMPTY);
        }
        self.slots[index] = Slot { binding, depth, span };
    }

    /// Declares a family in the innermost scope, or says where that scope already has one of its members.
    pub(crate) fn declare_family(&mut self, names: &Names, family: Family) -> Result<(), Span> {
        let depth = self.depth();
        let same = self.families.get(&family.prefix).and_then(|stack| stack.last());
        if let Some(other) = same.filter(|other| other.depth == depth) {
            return Err(other.span);
        }
        let declared = &self.open[depth as usize].hidden;
        let clash = declared.iter().find(|(name, _)| {
            let slot = &self.slots[name.0 as usize];
            let member = split(names.text(*name))
                .any(|(prefix, number)| number < family.count && prefix == names.text(family.prefix));
            member && slot.depth == depth && !matches!(slot.binding, Binding::Unknown(_))
        });
        if let Some((name, _)) = clash {
            return Err(self.slots[name.0 as usize].span);
        }
        self.families.entry(family.prefix).or_default().push(family);
        self.open[depth as usize].families.push(family.prefix);
        self.family_depths.push(depth);
        Ok(())
    }

    /// What a name means at this place.
    #[inline]
    pub(crate) fn find(&self, names: &Names, name: Name) -> Found {
        let slot = self.slot(name);
        let deepest = self.family_depths.last().copied().unwrap_or(0);
        if slot.binding != Binding::Unbound && slot.depth >= deepest {
            return Found::Binding(slot.binding);
        }
        match self.family_of(names, name, if slot.binding == Binding::Unbound { 0 } else { slot.depth + 1 }) {
            Some(family) => Found::Member(family),
            None => Found::Binding(slot.binding),
        }
    }

    /// The innermost family of this prefix.
    pub(crate) fn family(&self, prefix: Name) -> Option<Family> {
        self.families.get(&prefix)?.last().copied()
    }

    /// Where the present meaning of a name was declared.
    pub(crate) fn declared_at(&self, name: Name) -> Span {
        self.slot(name).span
    }

    /// The names with a meaning at this place.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (Name, Binding)> + '_ {
        let slots = self.slots.iter().enumerate();
        slots
            .filter(|(_, slot)| !matches!(slot.binding, Binding::Unbound | Binding::Unknown(_)))
            .map(|(i, slot)| (Name(i as u32), slot.binding))
    }

    fn slot(&self, name: Name) -> Slot {
        self.slots.get(name.0 as usize).copied().unwrap_or(EMPTY)
    }

    /// The innermost family, no further out than `outermost`, that a name is a member of.
    fn family_of(&self, names: &Names, name: Name, outermost: u32) -> Option<Family> {
        if self.family_depths.is_empty() {
            return None;
        }
        let candidates = split(names.text(name)).filter_map(|(prefix, number)| {
            let stack = self.families.get(&names.get(prefix)?)?;
            stack.iter().rev().find(|f| number < f.count && f.depth >= outermost).copied()
        });
        candidates.max_by_key(|family| family.depth)
    }
}

/// Every way to split a name into a prefix and a number: `%r12` into `%r` and 12, `%r1` and 2.
pub(crate) fn split(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count().min(text.len().saturating_sub(1));
    (text.len() - digits.min(LONGEST_NUMBER)..text.len()).filter_map(|at| {
        let (prefix, number) = text.split_at(at);
        Some((prefix, number.parse().ok()?))
    })
}

/// Digits of the largest number of members.
const LONGEST_NUMBER: usize = 10;
