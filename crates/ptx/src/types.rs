//! PTX's fundamental types, state spaces, versions and targets (PTX ISA, "State Spaces, Types, and Variables").

use std::fmt;

/// A fundamental type, or an alternate floating-point format that only instructions name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum ScalarType {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    B8,
    B16,
    B32,
    B64,
    B128,
    U16x2,
    S16x2,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    F32,
    F32x2,
    F64,
    Pred,
    TexRef,
    SamplerRef,
    SurfRef,
}

/// What the bits of a type mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TypeKind {
    Unsigned,
    Signed,
    Untyped,
    Float,
    Predicate,
    Opaque,
}

impl ScalarType {
    /// Every type with its spelling, without the dot.
    pub const ALL: [(Self, &'static str); 31] = [
        (Self::U8, "u8"),
        (Self::U16, "u16"),
        (Self::U32, "u32"),
        (Self::U64, "u64"),
        (Self::S8, "s8"),
        (Self::S16, "s16"),
        (Self::S32, "s32"),
        (Self::S64, "s64"),
        (Self::B8, "b8"),
        (Self::B16, "b16"),
        (Self::B32, "b32"),
        (Self::B64, "b64"),
        (Self::B128, "b128"),
        (Self::U16x2, "u16x2"),
        (Self::S16x2, "s16x2"),
        (Self::F16, "f16"),
        (Self::F16x2, "f16x2"),
        (Self::Bf16, "bf16"),
        (Self::Bf16x2, "bf16x2"),
        (Self::Tf32, "tf32"),
        (Self::E4m3, "e4m3"),
        (Self::E5m2, "e5m2"),
        (Self::E4m3x2, "e4m3x2"),
        (Self::E5m2x2, "e5m2x2"),
        (Self::F32, "f32"),
        (Self::F32x2, "f32x2"),
        (Self::F64, "f64"),
        (Self::Pred, "pred"),
        (Self::TexRef, "texref"),
        (Self::SamplerRef, "samplerref"),
        (Self::SurfRef, "surfref"),
    ];

    /// The type spelled `name` (no dot).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(t, _)| *t)
    }

    /// The spelling without the dot.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Width in bits; predicates have 1, opaque references 64.
    pub fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred => 1,
            U8 | S8 | B8 | E4m3 | E5m2 => 8,
            U16 | S16 | B16 | F16 | Bf16 | E4m3x2 | E5m2x2 => 16,
            U32 | S32 | B32 | U16x2 | S16x2 | F16x2 | Bf16x2 | Tf32 | F32 => 32,
            U64 | S64 | B64 | F32x2 | F64 | TexRef | SamplerRef | SurfRef => 64,
            B128 => 128,
        }
    }

    /// Size in memory in bytes; a predicate has none.
    pub fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// What the bits mean.
    pub fn kind(self) -> TypeKind {
        use ScalarType::*;
        match self {
            U8 | U16 | U32 | U64 | U16x2 => TypeKind::Unsigned,
            S8 | S16 | S32 | S64 | S16x2 => TypeKind::Signed,
            B8 | B16 | B32 | B64 | B128 => TypeKind::Untyped,
            F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | E4m3 | E5m2 | E4m3x2 | E5m2x2 | F32 | F32x2 | F64 => {
                TypeKind::Float
            }
            Pred => TypeKind::Predicate,
            TexRef | SamplerRef | SurfRef => TypeKind::Opaque,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A state space. `Generic` is the absence of a state space on an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum StateSpace {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    /// `.param` of an entry: read-only kernel parameters.
    ParamEntry,
    /// `.param` of a device function, and call-site `.param` variables.
    ParamFunc,
    Shared,
    Tex,
    Generic,
}

/// A PTX ISA version, `.version 8.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Before the dot.
    pub major: u8,
    /// After the dot.
    pub minor: u8,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Whether a target promises to run on later ones (`sm_90`), is architecture-specific (`sm_90a`) or family-specific
/// (`sm_100f`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum ArchVariant {
    Base,
    Family,
    Specific,
}

/// A target architecture such as `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// The number: 90 for `sm_90a`.
    pub sm: u16,
    /// The suffix.
    pub variant: ArchVariant,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            ArchVariant::Base => "",
            ArchVariant::Family => "f",
            ArchVariant::Specific => "a",
        };
        write!(f, "sm_{}{suffix}", self.sm)
    }
}
