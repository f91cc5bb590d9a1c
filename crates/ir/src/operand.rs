//! What the fields of typed instructions hold.

use ptx::ast::Selector;
use ptx::isa::{Modifier, SpecialRegister};
use ptx::module::{AddressBase, PrototypeId, RegId, Symbol, TableId, VarId};
use ptx::types::StateSpace;

/// A register that is written, or nothing: `_`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Def(pub Option<RegId>);

/// A value that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A register.
    Register(RegId),
    /// A constant, as the bits of the operand's type.
    Constant(u64),
    /// A special register.
    Special {
        /// Which.
        register: SpecialRegister,
        /// The component of a vector register, 0 otherwise.
        component: u8,
    },
    /// The address of a variable or function, in its own state space, plus a constant.
    Symbol {
        /// Of what.
        symbol: Symbol,
        /// Bytes.
        offset: i64,
    },
    /// `_`: whatever stands there does not matter.
    Unused,
}

/// A predicate that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// What is asked.
    pub value: Value,
    /// Whether the opposite counts.
    pub negated: bool,
}

/// A memory operand: `[base + offset]` in a state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What the offset is added to.
    pub base: AddressBase,
    /// Bytes.
    pub offset: i64,
    /// The state space that the instruction names.
    pub space: Space,
}

/// A state space as an instruction names it (PTX ISA, "State Spaces").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Space {
    Generic,
    Const,
    Global,
    Local,
    /// `.param`, of a kernel or of a function: the variable says which.
    Param,
    ParamEntry,
    ParamFunc,
    /// `.shared`: of the CTA.
    Shared,
    SharedCta,
    /// The shared memory of all CTAs of the cluster.
    SharedCluster,
}

impl Space {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Generic,
        Self::Const,
        Self::Global,
        Self::Local,
        Self::Param,
        Self::ParamEntry,
        Self::ParamFunc,
        Self::Shared,
        Self::SharedCta,
        Self::SharedCluster,
    ];

    /// As PTX spells it, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Const => "const",
            Self::Global => "global",
            Self::Local => "local",
            Self::Param => "param",
            Self::ParamEntry => "param::entry",
            Self::ParamFunc => "param::func",
            Self::Shared => "shared",
            Self::SharedCta => "shared::cta",
            Self::SharedCluster => "shared::cluster",
        }
    }

    /// The one that a state space of variables is, if addresses lead into it.
    pub fn of_variables(space: StateSpace) -> Option<Self> {
        match space {
            StateSpace::Const => Some(Self::Const),
            StateSpace::Global => Some(Self::Global),
            StateSpace::Local => Some(Self::Local),
            StateSpace::Shared => Some(Self::Shared),
            StateSpace::ParamEntry => Some(Self::ParamEntry),
            StateSpace::ParamFunc => Some(Self::ParamFunc),
            StateSpace::Generic | StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex => None,
        }
    }

    /// The one that a modifier names.
    pub fn from_modifier(modifier: Modifier) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.name() == &modifier.text()[1..])
    }
}

/// The sizes of a matrix product: `.m16n8k16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct MatrixShape {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

/// `[object, {coordinates}]`: a texture with an optional sampler, a surface, or a tensor map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// The object.
    pub object: Value,
    /// The sampler, if it is not the object's own.
    pub sampler: Option<Value>,
    /// The coordinates.
    pub coordinates: Box<[Value]>,
}

/// A register that is read, or a part of it: `r`, `-r`, `r.b2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What is read.
    pub value: Value,
    /// The bytes or half words; all of it if there is none.
    pub selector: Option<Selector>,
    /// `-r`.
    pub negated: bool,
}

/// A register that is written, and the part of it that the result goes to; all else comes from the last source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartDef {
    /// The register.
    pub register: Def,
    /// The bytes or half words; all of it if there is none.
    pub selector: Option<Selector>,
}

/// What an indirect call may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callees {
    /// Any function of this type.
    Prototype(PrototypeId),
    /// One of these.
    Table(TableId),
}

/// An argument or result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A `.param` variable.
    Variable(VarId),
    /// A value, or the register that a result goes to.
    Value(Value),
}
