//! The resolved module: every name is a typed handle, every constant is bits, every operand stands at the index that
//! the instruction table gives it. It is what `ir` and `machine` read. It comes only out of the checker, wrapped in
//! [`Checked`], so a consumer may index and match without asking again.

use crate::ast::{Name, Names, Selector};
use crate::isa::{Opcode, SpecialRegister};
use crate::source::{Source, Span};
use crate::types::{Arch, ScalarType, StateSpace, Version};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);
        impl $name {
            /// The handle as an index into its arena.
            pub fn index(self) -> usize { self.0 as usize }
        }
    )*};
}

handles! {
    /// A variable: [`Module::variables`].
    VarId,
    /// A function: [`Module::functions`].
    FuncId,
    /// An opcode with its modifiers: [`Module::opcodes`].
    OpcodeId,
    /// A register: [`Body::registers`].
    RegId,
    /// A label: [`Body::labels`].
    LabelId,
    /// A call prototype: [`Body::prototypes`].
    PrototypeId,
    /// A `.branchtargets` or `.calltargets` table: [`Body::tables`].
    TableId,
}

/// A value that passed every check; only the checker makes one.
#[derive(Clone, Debug)]
pub struct Checked<T>(T);

impl<T> Checked<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(value)
    }

    /// The checked value, given up as proof.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::ops::Deref for Checked<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A whole PTX module.
#[derive(Clone, Debug)]
pub struct Module {
    /// The text that spans point into.
    pub source: Arc<Source>,
    /// `.version`.
    pub version: Version,
    /// `.target`.
    pub arch: Arch,
    /// 32 or 64.
    pub address_size: u32,
    /// The names of registers and labels, and of whatever else the text names.
    pub names: Names,
    /// Every variable of every scope: module variables, kernel parameters, function-scope variables.
    pub variables: Vec<Variable>,
    /// Every entry and device function, declarations included.
    pub functions: Vec<Function>,
    /// Every distinct opcode with modifiers that the module uses.
    pub opcodes: Vec<Opcode>,
    /// `.file` directives: index to name.
    pub files: HashMap<u32, String>,
    /// `.alias` directives: alias name to function. Calls already name the aliasee.
    pub aliases: Vec<(String, FuncId)>,
}

/// `.extern`, `.visible`, `.weak`, `.common`, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Linkage {
    Internal,
    Visible,
    Extern,
    Weak,
    Common,
}

/// A variable in an addressable state space.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name as written (a member of a parameterised set has its number appended).
    pub name: String,
    /// `.const`, `.global`, `.local`, `.shared`, or one of the two kinds of `.param`.
    pub space: StateSpace,
    /// Linkage.
    pub linkage: Linkage,
    /// Element type.
    pub ty: ScalarType,
    /// 1, 2, 4 or 8 for `.v2`, `.v4`, `.v8`.
    pub vector: u32,
    /// Size in bytes. 0 with `unsized_` for `.extern .shared .b8 s[];`.
    pub size: u64,
    /// Alignment in bytes, natural if not stated.
    pub align: u32,
    /// Array without a size: dynamic shared memory, or an extern whose size another module knows.
    pub unsized_array: bool,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// `.ptr` attribute of a kernel parameter: the space and alignment of what it points to.
    pub pointee: Option<Pointee>,
    /// Initial bytes; shorter than `size` means the rest is zero, empty means none was given.
    pub init: Vec<u8>,
    /// Addresses to be written into `init` when the module is loaded.
    pub relocations: Vec<Relocation>,
    /// What the initialiser of an opaque variable says.
    pub fields: Vec<OpaqueField>,
    /// The function whose scope it is in, if any.
    pub function: Option<FuncId>,
    /// Where it is declared.
    pub span: Span,
}

/// `filter_mode = linear`: a field of an opaque variable's initialiser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueField {
    /// The field.
    pub name: String,
    /// The enumerator, if one is named.
    pub word: Option<String>,
    /// The number, zero if there is none.
    pub number: u64,
}

/// `.ptr .global .align 16` of a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointee {
    /// The space pointed to; `Generic` if none is written.
    pub space: StateSpace,
    /// Alignment in bytes of what is pointed to.
    pub align: u32,
}

/// The address of a symbol in an initialiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Byte offset in the variable.
    pub offset: u64,
    /// How many bytes to write: the element's size, or 1 under `mask()`.
    pub bytes: u32,
    /// What it is the address of.
    pub target: Symbol,
    /// Added to the address.
    pub addend: i64,
    /// `generic(sym)`: the generic address rather than the state-space address.
    pub generic: bool,
    /// `mask(sym)`: this byte of the address, counted in bits from the low end (0, 8, ... 56).
    pub shift: Option<u32>,
}

/// A variable or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Symbol {
    Variable(VarId),
    Function(FuncId),
}

/// `.entry` or `.func`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum FunctionKind {
    Entry,
    Func,
}

/// Performance-tuning and launch directives of a function; `None` where not written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct LaunchBounds {
    pub max_ntid: Option<[u32; 3]>,
    pub req_ntid: Option<[u32; 3]>,
    pub min_nctapersm: Option<u32>,
    pub max_nctapersm: Option<u32>,
    pub max_nreg: Option<u32>,
    pub explicit_cluster: bool,
    pub req_nctapercluster: Option<[u32; 3]>,
    pub max_clusterrank: Option<u32>,
    pub blocks_are_clusters: bool,
}

/// An entry or a device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Entry or func.
    pub kind: FunctionKind,
    /// Linkage.
    pub linkage: Linkage,
    /// `.noreturn`.
    pub noreturn: bool,
    /// Return parameters (at most one in practice); `Param::Register` only for `.reg` parameters.
    pub returns: Vec<Param>,
    /// Input parameters.
    pub params: Vec<Param>,
    /// Launch directives.
    pub bounds: LaunchBounds,
    /// The code; `None` for a declaration (`vprintf`, `malloc`, `free`, `__assertfail`, or extern).
    pub body: Option<Body>,
    /// Where the name stands.
    pub span: Span,
}

/// A formal parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Param {
    Memory(VarId),
    Register(RegId),
    /// A `.reg` parameter of a declaration without body.
    RegisterType(ScalarType),
}

/// A function's code: scopes flattened, names resolved.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// All registers of all nested scopes; equal names in different scopes are different registers.
    pub registers: Vec<Register>,
    /// Labels that instructions name.
    pub labels: Vec<Label>,
    /// Instructions in program order.
    pub instructions: Vec<Instruction>,
    /// The pool that instructions' operands and vectors' elements are ranges of.
    pub operands: Vec<Operand>,
    /// `.callprototype`s.
    pub prototypes: Vec<Prototype>,
    /// `.branchtargets` and `.calltargets`.
    pub tables: Vec<Table>,
    /// `.loc` directives that precede an instruction: [`Instruction::loc`] indexes here.
    pub locs: Vec<Loc>,
    /// Where `.pragma "nounroll"` stands: a loop whose first block has such an instruction stays as it is. One that is said of the
    /// function or the module is there at every label.
    pub nounroll: Vec<u32>,
}

impl Body {
    /// The operands of an instruction, one for each operand of its form in the instruction table, in that order; an
    /// optional one that was not written is [`Operand::Absent`].
    pub fn operands(&self, instruction: &Instruction) -> &[Operand] {
        &self.operands[instruction.operands.start as usize..instruction.operands.end as usize]
    }

    /// The elements of a vector operand or of a call's argument list.
    pub fn elements(&self, list: &OperandList) -> &[Operand] {
        &self.operands[list.start as usize..list.end as usize]
    }
}

/// A virtual register.
#[derive(Clone, Debug)]
pub struct Register {
    /// Its name, `%r12`; a component of a vector is `v.x`. [`Module::text`] gives the text.
    pub name: Name,
    /// Its type.
    pub ty: ScalarType,
}

/// A label and the instruction it stands before.
#[derive(Clone, Debug)]
pub struct Label {
    /// Its name; [`Module::text`] gives the text.
    pub name: Name,
    /// Index of the instruction that follows; may be one past the last.
    pub target: u32,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Guard {
    pub register: RegId,
    pub negated: bool,
}

/// A range of [`Body::operands`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct OperandList {
    pub start: u32,
    pub end: u32,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The guard predicate.
    pub guard: Option<Guard>,
    /// Mnemonic, form and modifiers.
    pub opcode: OpcodeId,
    /// Its operands: see [`Body::operands`].
    pub operands: OperandList,
    /// Where it stands, from the guard to the semicolon.
    pub span: Span,
    /// The `.loc` in force, an index into [`Body::locs`].
    pub loc: Option<u32>,
}

/// An operand. Immediates are already converted to the operand's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// An optional operand that was not written.
    Absent,
    /// `_`: a result that is dropped, or a source that is not used.
    Sink,
    /// A register.
    Register(RegId),
    /// `!p`.
    NotPredicate(RegId),
    /// A constant as the bits of the operand's type, zero-extended (sign-extended first to the operand's width).
    Immediate(u64),
    /// A special register; `component` is 0 to 3 for `.x .y .z .w`.
    Special {
        /// Which.
        register: SpecialRegister,
        /// The component of a vector register, 0 otherwise.
        component: u8,
    },
    /// The address of a variable or function plus a constant, as a value (`mov.u64 %rd1, table+8`).
    SymbolAddress {
        /// What it is the address of.
        symbol: Symbol,
        /// Added to it.
        offset: i64,
    },
    /// A memory operand `[base + offset]`.
    Address {
        /// What the offset is added to.
        base: AddressBase,
        /// Bytes.
        offset: i64,
    },
    /// `{a, b, c, d}`; the arguments or results of a call, where a `.param` variable is a [`Self::SymbolAddress`]; or
    /// `[texture, sampler, {x, y}]`, where the coordinates are a vector in turn.
    Vector(OperandList),
    /// `r.b2`, `r.h1`, `-r`: a part of a register, or its negative, of the video instructions.
    Part {
        /// The register.
        register: RegId,
        /// The bytes or half words; the whole register if there is none.
        selector: Option<Selector>,
        /// `-r`.
        negated: bool,
    },
    /// A branch target.
    Label(LabelId),
    /// A function called directly.
    Function(FuncId),
    /// `.callprototype` of an indirect call.
    Prototype(PrototypeId),
    /// `.branchtargets` of `brx.idx`, or `.calltargets` of an indirect call.
    Table(TableId),
}

/// The base of a memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AddressBase {
    Register(RegId),
    Variable(VarId),
    /// An absolute address.
    Absolute,
}

/// The signature that an indirect call names.
#[derive(Clone, Debug, Default)]
pub struct Prototype {
    /// Return parameters: type, size and alignment.
    pub returns: Vec<ParamShape>,
    /// Input parameters.
    pub params: Vec<ParamShape>,
    /// `.noreturn`.
    pub noreturn: bool,
}

impl Prototype {
    /// Whether a call may pass so many arguments: one for each parameter, or none for an array without a size, which
    /// is the last.
    pub fn takes(&self, arguments: usize) -> bool {
        let open = self.params.last().is_some_and(ParamShape::is_open);
        arguments == self.params.len() || open && arguments + 1 == self.params.len()
    }
}

/// What a call site needs to know of a formal parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamShape {
    /// Element type.
    pub ty: ScalarType,
    /// Bytes.
    pub size: u64,
    /// Bytes.
    pub align: u32,
    /// An array, which takes arrays of the same size and alignment.
    pub array: bool,
    /// A `.reg` parameter.
    pub register: bool,
    /// How many registers the vector has whose element this register is: of a `.reg .v2` parameter each element is a
    /// parameter here. 1 for all else.
    pub lanes: u8,
}

impl ParamShape {
    /// Whether it is an array without a size, `.param .b8 rest[]`: what a variadic function takes last. Any array fits.
    pub fn is_open(&self) -> bool {
        self.array && self.size == 0
    }
}

/// A list of branch or call targets.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Table {
    Branch(Vec<LabelId>),
    Call(Vec<FuncId>),
}

/// `.loc file line column [, function_name label, inlined_at file line column]`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Loc {
    pub file: u32,
    pub line: u32,
    pub column: u32,
    /// The function whose code it is, as `function_name` says it, if that was inlined.
    pub function: Option<Arc<str>>,
    pub inlined_at: Option<Box<Loc>>,
}

impl Loc {
    /// It and the calls by which its code was inlined, the innermost first.
    pub fn chain(&self) -> impl Iterator<Item = &Loc> {
        std::iter::successors(Some(self), |loc| loc.inlined_at.as_deref())
    }
}

impl Module {
    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// The `.loc` in force at an instruction of a function's body.
    pub fn loc(&self, function: FuncId, instruction: u32) -> Option<&Loc> {
        let body = self.functions.get(function.index())?.body.as_ref()?;
        body.locs.get(body.instructions.get(instruction as usize)?.loc? as usize)
    }

    /// The name of the file with an index of `.file`.
    pub fn file_name(&self, index: u32) -> String {
        let named = self.files.get(&index).filter(|name| !name.is_empty());
        named.map_or_else(|| format!("file {index}"), String::clone)
    }

    /// The opcode of an instruction.
    pub fn opcode(&self, instruction: &Instruction) -> &Opcode {
        &self.opcodes[instruction.opcode.index()]
    }

    /// The function called `name`.
    pub fn function(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().position(|f| f.name == name).map(|i| FuncId(i as u32))
    }

    /// The entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = (FuncId, &Function)> {
        let all = self.functions.iter().enumerate();
        all.filter(|(_, f)| f.kind == FunctionKind::Entry).map(|(i, f)| (FuncId(i as u32), f))
    }
}

impl From<OperandList> for Range<usize> {
    fn from(list: OperandList) -> Self {
        list.start as usize..list.end as usize
    }
}
