//! Types as DWARF has them: their names as C++ writes them, and their sizes.

use crate::DebugInfo;
use crate::location::AddressClass;

/// A type: its offset in `.debug_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u64);

/// Types within types that are followed: the sections may be damaged, and go round in circles.
const DEEPEST: u32 = 32;

/// How the bits of a base type are to be read (`DW_AT_encoding`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `DW_ATE_signed`.
    Signed,
    /// `DW_ATE_unsigned`.
    Unsigned,
    /// `DW_ATE_float`.
    Float,
    /// `DW_ATE_boolean`.
    Boolean,
    /// `DW_ATE_signed_char`, `DW_ATE_unsigned_char`, `DW_ATE_UTF`.
    Character {
        /// Whether the character is signed.
        signed: bool,
    },
    /// Another one, by its code.
    Other(u8),
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `int`, `float`.
    Base {
        /// Its name.
        name: String,
        /// Bytes.
        size: u64,
        /// How its bits are read.
        encoding: Encoding,
    },
    /// `T *`, `T &`.
    Pointer {
        /// What it points to; `None` is `void`.
        to: Option<TypeId>,
        /// `*`, `&` or `&&`.
        mark: &'static str,
        /// Bytes, if it says so.
        size: Option<u64>,
        /// What memory it points into.
        class: Option<AddressClass>,
    },
    /// `struct`, `class` or `union`.
    Structure {
        /// Which of them.
        keyword: &'static str,
        /// Its name, if it has one.
        name: Option<String>,
        /// Bytes, if it is complete.
        size: Option<u64>,
        /// Its members and bases.
        members: Vec<Member>,
    },
    /// `T[4][8]`.
    Array {
        /// The element.
        element: Option<TypeId>,
        /// The number of elements in each dimension, if it is known.
        counts: Vec<Option<u64>>,
    },
    /// `enum`.
    Enumeration {
        /// Its name, if it has one.
        name: Option<String>,
        /// Bytes.
        size: u64,
        /// Names and values.
        enumerators: Vec<(String, i64)>,
    },
    /// A `typedef`.
    Alias {
        /// Its name.
        name: String,
        /// What it stands for.
        to: Option<TypeId>,
    },
    /// `const T`, `volatile T`, `restrict T`.
    Qualified {
        /// Which of them.
        keyword: &'static str,
        /// What is so.
        to: Option<TypeId>,
    },
    /// Another type, by its tag and name.
    Other {
        /// `DW_TAG_subroutine_type` ...
        tag: String,
        /// Its name, if it has one.
        name: Option<String>,
    },
}

/// A member of a structure; one without a name is a base class or an anonymous structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Option<String>,
    /// Its type.
    pub ty: Option<TypeId>,
    /// Bytes from the beginning of the structure.
    pub offset: u64,
    /// Its bits, if it is a bit field: how many, and where the first is, counted from the lowest bit of the byte at `offset`.
    pub bits: Option<(u64, u64)>,
}

impl DebugInfo {
    /// A type behind `typedef` and qualifiers.
    pub fn plain(&self, ty: TypeId) -> Option<(TypeId, &Type)> {
        let mut id = ty;
        for _ in 0..DEEPEST {
            match self.types.get(&id)? {
                Type::Alias { to, .. } | Type::Qualified { to, .. } => id = (*to)?,
                known => return Some((id, known)),
            }
        }
        None
    }

    /// The bytes of a value of a type, if it is complete.
    pub fn size_of(&self, ty: TypeId) -> Option<u64> {
        self.size_within(ty, DEEPEST)
    }

    fn size_within(&self, ty: TypeId, deep: u32) -> Option<u64> {
        match self.plain(ty)?.1 {
            Type::Base { size, .. } | Type::Enumeration { size, .. } => Some(*size),
            Type::Pointer { size, .. } => Some(size.unwrap_or(8)),
            Type::Structure { size, .. } => *size,
            Type::Array { element, counts } => {
                let each = self.size_within((*element)?, deep.checked_sub(1)?)?;
                counts.iter().try_fold(each, |all, count| all.checked_mul((*count)?))
            }
            Type::Alias { .. } | Type::Qualified { .. } | Type::Other { .. } => None,
        }
    }

    /// The name of a type as C++ writes it; `void` for none.
    pub fn type_name(&self, ty: Option<TypeId>) -> String {
        self.name_within(ty, DEEPEST)
    }

    fn name_within(&self, ty: Option<TypeId>, deep: u32) -> String {
        let Some(ty) = ty else { return "void".to_owned() };
        let Some(deeper) = deep.checked_sub(1) else { return "...".to_owned() };
        let inner = |to: &Option<TypeId>| self.name_within(*to, deeper);
        let or_anonymous = |keyword: &str, name: &Option<String>| {
            name.clone().unwrap_or_else(|| format!("{keyword} {{...}}"))
        };
        match self.types.get(&ty) {
            None => format!("<type at {:#x}>", ty.0),
            Some(Type::Base { name, .. } | Type::Alias { name, .. }) => name.clone(),
            Some(Type::Pointer { to, mark, .. }) => {
                let name = inner(to);
                format!("{name}{}{mark}", if name.ends_with(['*', '&']) { "" } else { " " })
            }
            Some(Type::Structure { keyword, name, .. }) => or_anonymous(keyword, name),
            Some(Type::Enumeration { name, .. }) => or_anonymous("enum", name),
            Some(Type::Array { element, counts }) => {
                let count = |count: &Option<u64>| count.map_or("[]".to_owned(), |count| format!("[{count}]"));
                inner(element) + &counts.iter().map(count).collect::<String>()
            }
            Some(Type::Qualified { keyword, to }) => {
                let is_pointer =
                    to.is_some_and(|to| matches!(self.types.get(&to), Some(Type::Pointer { .. })));
                match is_pointer {
                    true => format!("{} {keyword}", inner(to)),
                    false => format!("{keyword} {}", inner(to)),
                }
            }
            Some(Type::Other { tag, name }) => name.clone().unwrap_or_else(|| tag.clone()),
        }
    }
}
