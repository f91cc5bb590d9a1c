//! Statements of a function body. A body is flat: nested scopes are marked by where they begin and end.

use super::{
    ExprId, LocId, Name, OpcodeId, OperandList, PrototypeId, Spanned, TargetListId, VariableId, VariableList,
};

/// A statement and where it stands.
pub type Statement = Spanned<StatementKind>;

/// What a function body consists of. Begins and ends of blocks are always balanced within a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// An instruction.
    Instruction(Instruction),
    /// `label:`
    Label(Name),
    /// `{`: a scope begins.
    BlockBegin,
    /// `}`: the innermost scope ends.
    BlockEnd,
    /// A variable declaration.
    Variable(VariableId),
    /// `.loc`.
    Loc(LocId),
    /// `.pragma "string", ...;`
    Pragma(Box<[Spanned<Name>]>),
    /// `name: .callprototype`.
    Prototype(PrototypeId),
    /// `name: .branchtargets` or `name: .calltargets`.
    Targets(TargetListId),
}

/// A guarded or plain instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// `@p` or `@!p`, spanned from the `@`.
    pub guard: Option<Spanned<Guard>>,
    /// What to do.
    pub opcode: Spanned<OpcodeId>,
    /// Its operands as written, separated by commas.
    pub operands: OperandList,
}

/// The predicate that decides whether an instruction executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub register: Name,
    /// `@!p`.
    pub negated: bool,
}

/// `.loc file line column [, function_name label[+offset], inlined_at file line column]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loc {
    /// The place itself.
    pub place: LocPlace,
    /// The call it was inlined into.
    pub inlined: Option<Inlined>,
}

/// File index, line and column of a `.loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LocPlace {
    pub file: Spanned<u64>,
    pub line: Spanned<u64>,
    pub column: Spanned<u64>,
}

/// The `function_name` and `inlined_at` of a `.loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// A label in `.debug_str`.
    pub function_name: Spanned<Name>,
    /// Bytes after the label.
    pub offset: Option<ExprId>,
    /// Where the call stands.
    pub at: LocPlace,
}

/// `name: .callprototype (returns) _ (params) .noreturn;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// The label that indirect calls name.
    pub name: Spanned<Name>,
    /// Return parameters.
    pub returns: VariableList,
    /// Input parameters.
    pub params: VariableList,
    /// `.noreturn`, `.abi_preserve` and the like.
    pub directives: Vec<super::FunctionDirective>,
}

/// `name: .branchtargets l1, l2;` or `name: .calltargets f, g;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetList {
    /// The label that `brx.idx` or an indirect call names.
    pub name: Spanned<Name>,
    /// Which directive.
    pub kind: TargetKind,
    /// The labels or functions; `label<N>` is one with its count.
    pub targets: Vec<Spanned<Target>>,
}

/// Which list of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TargetKind {
    Branch,
    Call,
}

/// A target: `L` or `L<4>`, which stands for `L0` to `L3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The label or function.
    pub name: Name,
    /// The count between angle brackets.
    pub count: Option<ExprId>,
}
