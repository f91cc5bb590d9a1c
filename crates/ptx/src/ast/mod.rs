//! What was written, as a tree: the parser's result, before any name or type is looked up.
//!
//! The tree lives in flat pools in [`Module`]; nodes refer to one another by typed indices ([`ExprId`],
//! [`OperandList`] ...), so that parsing costs no allocation per node and walking is linear in memory. Text is held
//! once, in [`Names`]; an opcode with its modifiers (`ld.global.v4.f32`) is one [`OpcodeText`] for all its uses.
//!
//! Comments, white space, and the order of prefixes that PTX leaves free are not kept. Everything that a message may
//! point at is a [`Spanned`] node. Equality of nodes is equality of what they say: spans do not take part, so
//! `parse(print(m)) == m` is a meaningful law.

mod constant;
mod declaration;
mod expression;
mod names;
mod operand;
mod statement;

pub use constant::{Constant, ConstantError, ConstantErrorKind};
pub use declaration::*;
pub use expression::*;
pub use names::{Name, Names};
pub use operand::*;
pub use statement::*;

use crate::isa::Opcode;
use crate::source::{Source, Span};
use crate::types::Version;
use std::ops::Range;
use std::sync::Arc;

/// A node and where it stands. Two are equal when the nodes are, wherever they stand.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Spanned<T> {
    /// What was written.
    pub value: T,
    /// Where.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// Puts a node at its place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident => $pool:ident: $node:ty),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl std::ops::Index<$name> for Module {
            type Output = $node;
            fn index(&self, id: $name) -> &$node { &self.$pool[id.0 as usize] }
        }
    )*};
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident => $pool:ident: $node:ty),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name {
            /// Index of the first.
            pub start: u32,
            /// One past the index of the last.
            pub end: u32,
        }

        impl $name {
            /// How many there are.
            pub fn len(self) -> usize { (self.end - self.start) as usize }

            /// Whether there are none.
            pub fn is_empty(self) -> bool { self.start == self.end }
        }

        impl From<$name> for Range<usize> {
            fn from(list: $name) -> Self { list.start as usize..list.end as usize }
        }

        impl std::ops::Index<$name> for Module {
            type Output = [$node];
            fn index(&self, list: $name) -> &[$node] { &self.$pool[Range::from(list)] }
        }
    )*};
}

ids! {
    /// An opcode text: [`Module::opcodes`].
    OpcodeId => opcodes: OpcodeText,
    /// A constant expression: [`Module::expressions`].
    ExprId => expressions: Expr,
    /// A single operand inside another: [`Module::operands`].
    OperandId => operands: Operand,
    /// A single initialiser inside another: [`Module::initialisers`].
    InitialiserId => initialisers: Initialiser,
    /// A variable declaration: [`Module::variables`].
    VariableId => variables: Variable,
    /// A function: [`Module::functions`].
    FunctionId => functions: Function,
    /// A DWARF section: [`Module::sections`].
    SectionId => sections: Section,
    /// A `.callprototype`: [`Module::prototypes`].
    PrototypeId => prototypes: Prototype,
    /// A `.branchtargets` or `.calltargets`: [`Module::target_lists`].
    TargetListId => target_lists: TargetList,
    /// A `.loc`: [`Module::locs`].
    LocId => locs: Loc,
}

lists! {
    /// Neighbours in [`Module::operands`].
    OperandList => operands: Operand,
    /// Neighbours in [`Module::initialisers`].
    InitialiserList => initialisers: Initialiser,
    /// Neighbours in [`Module::statements`].
    StatementList => statements: Statement,
    /// Neighbours in [`Module::declarators`].
    DeclaratorList => declarators: Declarator,
    /// Neighbours in [`Module::dimensions`].
    DimensionList => dimensions: Dimension,
    /// Neighbours in [`Module::variables`].
    VariableList => variables: Variable,
}

/// A PTX file as written.
///
/// Every id and list indexes it: `module[instruction.operands]`, `module[expr]`.
#[derive(Clone, Debug)]
pub struct Module {
    /// The text that spans point into.
    pub source: Arc<Source>,
    /// Every identifier, file name and pragma string.
    pub names: Names,
    /// Every distinct opcode text.
    pub opcodes: Vec<OpcodeText>,
    /// The file, top level, in order.
    pub items: Vec<Item>,
    /// Variable declarations and parameters of every scope.
    pub variables: Vec<Variable>,
    /// What each declaration declares.
    pub declarators: Vec<Declarator>,
    /// The array dimensions of declarators.
    pub dimensions: Vec<Dimension>,
    /// Initialisers, and the data of DWARF sections.
    pub initialisers: Vec<Initialiser>,
    /// Functions and their declarations.
    pub functions: Vec<Function>,
    /// The statements of all bodies.
    pub statements: Vec<Statement>,
    /// The operands of all instructions, and the elements of operands.
    pub operands: Vec<Operand>,
    /// Constant expressions; an operand comes before its operator.
    pub expressions: Vec<Expr>,
    /// DWARF sections.
    pub sections: Vec<Section>,
    /// `.callprototype`s.
    pub prototypes: Vec<Prototype>,
    /// `.branchtargets` and `.calltargets`.
    pub target_lists: Vec<TargetList>,
    /// `.loc`s.
    pub locs: Vec<Loc>,
}

impl Module {
    /// A module with nothing in it.
    pub fn empty(source: Arc<Source>) -> Self {
        Self {
            source,
            names: Names::default(),
            opcodes: Vec::new(),
            items: Vec::new(),
            variables: Vec::new(),
            declarators: Vec::new(),
            dimensions: Vec::new(),
            initialisers: Vec::new(),
            functions: Vec::new(),
            statements: Vec::new(),
            operands: Vec::new(),
            expressions: Vec::new(),
            sections: Vec::new(),
            prototypes: Vec::new(),
            target_lists: Vec::new(),
            locs: Vec::new(),
        }
    }

    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }
}

/// Equal contents, whatever the sources and spans.
impl PartialEq for Module {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
            && self.opcodes == other.opcodes
            && self.items == other.items
            && self.variables == other.variables
            && self.declarators == other.declarators
            && self.dimensions == other.dimensions
            && self.initialisers == other.initialisers
            && self.functions == other.functions
            && self.statements == other.statements
            && self.operands == other.operands
            && self.expressions == other.expressions
            && self.sections == other.sections
            && self.prototypes == other.prototypes
            && self.target_lists == other.target_lists
            && self.locs == other.locs
    }
}

/// An opcode with its modifiers as written, and what the instruction table knows under that text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpcodeText {
    /// `ld.global.v4.f32`.
    pub text: Box<str>,
    /// The forms that the text fits; operands decide between several. Empty when there is none, which the parser has
    /// reported.
    pub candidates: Vec<Opcode>,
}

/// Something at the top level of a file.
pub type Item = Spanned<ItemKind>;

/// What stands at the top level of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `.version 8.3`.
    Version(Spanned<Version>),
    /// `.target sm_90a, debug`: the names as written.
    Target(Vec<Spanned<Name>>),
    /// `.address_size 64`.
    AddressSize(Spanned<u64>),
    /// A variable declaration.
    Variable(VariableId),
    /// An entry or a device function, defined or declared.
    Function(FunctionId),
    /// `.alias name, aliasee;`
    Alias {
        /// The new name.
        name: Spanned<Name>,
        /// The function it stands for.
        aliasee: Spanned<Name>,
    },
    /// `.pragma "string", ...;`
    Pragma(Vec<Spanned<Name>>),
    /// `.file`.
    File(File),
    /// `.section`.
    Section(SectionId),
    /// `@@DWARF` directive: the DWARF of PTX before 2.0, as the words after `@@DWARF` on that line.
    Dwarf(Spanned<Name>),
}

/// `.file index "name" [, timestamp, size]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What `.loc` calls it by.
    pub index: Spanned<u64>,
    /// The name between the quotes.
    pub name: Spanned<Name>,
    /// Modification time and size, when written.
    pub stamp: Option<(u64, u64)>,
}

/// `.section name { data }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// `.debug_info`, with its dot.
    pub name: Spanned<Name>,
    /// The lines.
    pub lines: Vec<SectionLine>,
}

/// A line of a DWARF section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionLine {
    /// `label:`
    Label(Spanned<Name>),
    /// `.b32 value, value`
    Data {
        /// Bits of each value: 8, 16, 32 or 64.
        bits: u8,
        /// [`InitialiserKind::Constant`], [`InitialiserKind::Address`] (a section's name has its dot), or
        /// [`InitialiserKind::Difference`].
        values: InitialiserList,
    },
}
