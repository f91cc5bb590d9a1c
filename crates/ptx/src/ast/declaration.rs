//! Declarations of variables and functions (PTX ISA, "Variables", "Kernel and Function Directives",
//! "Performance-Tuning Directives").

use super::{
    DeclaratorList, DimensionList, ExprId, InitialiserId, InitialiserList, Name, Spanned, StatementList,
    VariableList,
};
use crate::source::Span;
use crate::types::ScalarType;

pub use crate::module::{FunctionKind, Linkage};

/// A state space that a declaration or a `.ptr` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Space {
    Reg,
    Sreg,
    /// `.const`, with the bank of `.const[2]`.
    Const {
        bank: Option<u32>,
    },
    Global,
    Local,
    Param,
    Shared,
    Tex,
}

/// A variable declaration or a formal parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// `.extern`, `.visible` ...
    pub linkage: Spanned<Linkage>,
    /// The state space.
    pub space: Spanned<Space>,
    /// `.align`.
    pub align: Option<ExprId>,
    /// `.attribute`s.
    pub attributes: Vec<Spanned<Attribute>>,
    /// The lanes of `.v2`, `.v4` or `.v8`.
    pub vector: Option<Spanned<u8>>,
    /// The element type.
    pub ty: Spanned<ScalarType>,
    /// `.ptr`.
    pub pointer: Option<Spanned<Pointer>>,
    /// What is declared; exactly one for a parameter.
    pub declarators: DeclaratorList,
}

impl Variable {
    /// The elements of the vector that is declared; 1 if it is none.
    pub fn lanes(&self) -> u8 {
        self.vector.map_or(1, |vector| vector.value)
    }
}

/// An attribute of a variable or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `.managed`.
    Managed,
    /// `.unified(upper, lower)`: the two halves of a 128-bit identity.
    Unified(u64, u64),
}

/// `.ptr .global .align 16`: what a kernel parameter points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The space, generic if absent.
    pub space: Option<Spanned<Space>>,
    /// The alignment.
    pub align: Option<ExprId>,
}

/// A name being declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declarator {
    /// The name; absent for `_`.
    pub name: Option<Spanned<Name>>,
    /// `%r<100>`: the number between the angle brackets.
    pub count: Option<ExprId>,
    /// `[4][8]`.
    pub dimensions: DimensionList,
    /// `= ...`.
    pub initialiser: Option<InitialiserId>,
}

/// An array dimension: absent for `[]`.
pub type Dimension = Spanned<Option<ExprId>>;

/// A static initialiser and where it stands.
pub type Initialiser = Spanned<InitialiserKind>;

/// The right-hand side of a variable's `=`, or a part of it (PTX ISA, "Initializers").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialiserKind {
    /// A constant expression.
    Constant(ExprId),
    /// `symbol`, `symbol+8`, `generic(symbol)`, `generic(symbol)+8`.
    Address {
        /// A variable or function (in a DWARF section, also a label or a section).
        symbol: Name,
        /// Inside `generic()`.
        generic: bool,
        /// Added to the address.
        offset: Option<ExprId>,
    },
    /// `0xFF00(value)`: the byte of the value under the mask.
    Masked {
        /// The mask.
        mask: ExprId,
        /// A [`Self::Constant`] or a [`Self::Address`].
        value: InitialiserId,
    },
    /// `{ ... }`.
    List(InitialiserList),
    /// `filter_mode = nearest` of a texture, sampler or surface reference.
    Field {
        /// The field.
        name: Name,
        /// A [`Self::Constant`], or a [`Self::Address`] whose symbol is the enumerator.
        value: InitialiserId,
    },
    /// `label - label`, in DWARF sections.
    Difference {
        /// The minuend.
        left: Name,
        /// The subtrahend.
        right: Name,
    },
}

/// An `.entry` or a `.func`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// `.extern`, `.visible` ...
    pub linkage: Spanned<Linkage>,
    /// `.entry` or `.func`.
    pub kind: Spanned<FunctionKind>,
    /// `.attribute`s.
    pub attributes: Vec<Spanned<Attribute>>,
    /// Its name.
    pub name: Spanned<Name>,
    /// Return parameters.
    pub returns: VariableList,
    /// Input parameters.
    pub params: VariableList,
    /// Tuning and other directives, in the order written.
    pub directives: Vec<FunctionDirective>,
    /// The code; a declaration has none.
    pub body: Option<Body>,
}

/// The code of a function.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Body {
    /// What stands between the braces.
    pub statements: StatementList,
    /// From brace to brace.
    pub span: Span,
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.statements == other.statements
    }
}

/// A directive between a function's parameters and its body.
pub type FunctionDirective = Spanned<FunctionDirectiveKind>;

/// The directives between a function's parameters and its body. Dimensions are as many as written, one to three.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FunctionDirectiveKind {
    MaxNtid(Vec<Spanned<u64>>),
    ReqNtid(Vec<Spanned<u64>>),
    MinNctaPerSm(Spanned<u64>),
    MaxNctaPerSm(Spanned<u64>),
    MaxNreg(Spanned<u64>),
    NoReturn,
    ExplicitCluster,
    ReqNctaPerCluster(Vec<Spanned<u64>>),
    MaxClusterRank(Spanned<u64>),
    BlocksAreClusters,
    AbiPreserve(Spanned<u64>),
    AbiPreserveControl(Spanned<u64>),
    LocalMaxNreg(Spanned<u64>),
    Pragma(Vec<Spanned<Name>>),
}
