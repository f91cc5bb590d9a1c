//! Structures and unions as they are declared.

use super::layout::{self, Layout};
use super::types::{Target, Type};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Struct,
    Union,
}

impl Kind {
    /// The keyword.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Struct => "struct",
            Self::Union => "union",
        }
    }
}

/// What a declaration says of alignment beside its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `packed`: members lie at the next byte, bit fields at the next bit.
    pub packed: bool,
    /// `aligned`: at least that.
    pub align: Option<u64>,
}

/// A member as declared.
#[derive(Clone, Debug)]
pub struct Member {
    /// None for an unnamed bit field, or for a structure or union whose members count as those of the outer one.
    pub name: Option<String>,
    /// Its type; of a bit field the declared one.
    pub ty: Type,
    /// The width of a bit field.
    pub bits: Option<u64>,
    /// Its own attributes.
    pub attributes: Attributes,
}

/// A structure or union with its layout, which is computed once.
#[derive(Clone, Debug)]
pub struct Record {
    kind: Kind,
    name: Option<String>,
    members: Vec<Member>,
    layout: Layout,
}

impl Record {
    /// Lays members out.
    ///
    /// # Errors
    /// If a member has no size, a bit field is impossible, or all is too large.
    pub fn new(
        kind: Kind,
        name: Option<String>,
        members: Vec<Member>,
        attributes: Attributes,
        target: Target,
    ) -> Result<Self, String> {
        let layout = layout::compute(kind, &members, attributes, target)?;
        Ok(Self { kind, name, members, layout })
    }

    /// Structure or union.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The tag, or the name of the `typedef` if there is no tag.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The same under a name, unless it has one.
    pub fn named(&self, name: &str) -> Self {
        Self { name: self.name.clone().or_else(|| Some(name.to_owned())), ..self.clone() }
    }

    /// The members, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Where they lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// `struct S`, or `struct` without a name.
    pub fn title(&self) -> String {
        let keyword = self.kind.keyword();
        self.name.as_ref().map_or_else(|| keyword.to_owned(), |name| format!("{keyword} {name}"))
    }
}
