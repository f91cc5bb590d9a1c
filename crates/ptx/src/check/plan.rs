//! What a form asks of its operands, worked out once for each opcode text of a module.

use crate::isa::{
    Count, Gate, Limit, Modifier, Opcode, OperandKind, OperandSpec, Role, Slot, SpaceRule, TypeRule,
};
use crate::module::OpcodeId;
use crate::resolve::variable::is_declarable;
use crate::types::{Arch, ScalarType, StateSpace, TypeKind, Version};
use std::rc::Rc;

/// The plans of the opcode texts of a module, made when first needed.
pub(crate) struct Plans {
    plans: Vec<Option<Rc<[FormPlan]>>>,
}

impl Plans {
    pub(crate) fn new(texts: usize) -> Self {
        Self { plans: vec![None; texts] }
    }

    /// The plans of the forms that a text can be.
    #[inline]
    pub(crate) fn get(
        &mut self,
        text: usize,
        candidates: &[Opcode],
        (version, arch): (Version, Arch),
    ) -> Rc<[FormPlan]> {
        let plan = self.plans[text].get_or_insert_with(|| {
            candidates.iter().map(|opcode| FormPlan::new(opcode, version, arch)).collect()
        });
        Rc::clone(plan)
    }

    /// Notes the opcode of the resolved module that a form became.
    #[cold]
    pub(crate) fn set_opcode(&mut self, text: usize, form: usize, opcode: OpcodeId) {
        let plan = self.plans[text].as_mut().map(|plan| &mut Rc::make_mut(plan)[form]);
        if let Some(plan) = plan {
            plan.chosen = Some(opcode);
        }
    }
}

/// What a form with its modifiers asks.
#[derive(Clone, Debug)]
pub(crate) struct FormPlan {
    /// Its number in the resolved module, once it was used.
    pub(crate) chosen: Option<OpcodeId>,
    pub(crate) operands: Box<[OperandPlan]>,
    /// Operands that are always written.
    pub(crate) required: usize,
    /// All operands that the modifiers allow.
    pub(crate) most: usize,
    /// Whether the module's `.version` and `.target` have it.
    pub(crate) available: bool,
    /// What it needs of them.
    pub(crate) gates: Box<[(Option<Modifier>, Gate)]>,
    pub(crate) special: Special,
    /// Bytes that a load, store or atomic operation accesses at once: its address is a multiple of that.
    pub(crate) access: Option<u64>,
}

/// An operand of a form with its modifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandPlan {
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) kind: OperandKind,
    pub(crate) ty: Option<ScalarType>,
    pub(crate) space: Option<StateSpace>,
    /// Elements of a vector; `None` if they decide themselves.
    pub(crate) length: Option<u32>,
    /// A vector that is a lone register here, because its vector modifier is absent.
    pub(crate) lone: bool,
    /// A vector that may be longer than that, or one value without braces.
    pub(crate) offsets: bool,
    /// Whether elements of a vector may be special registers.
    pub(crate) specials: bool,
    /// Whether the opcode spells the type.
    pub(crate) spelled: bool,
    /// A matrix that is stored.
    pub(crate) stored: bool,
    /// A matrix.
    pub(crate) fragment: bool,
    /// No other type of the width serves.
    pub(crate) exact: bool,
    /// A constant that is too wide is cut before it is limited.
    pub(crate) cut: bool,
    /// Any type of the width serves.
    pub(crate) any: bool,
    /// A special register may stand for a whole vector.
    pub(crate) whole: bool,
    /// A vector serves for a value, a register or constant without brackets for an address.
    pub(crate) lax: bool,
    /// An mbarrier: of variables, one in shared memory.
    pub(crate) mbarrier: bool,
    /// The coordinates of a texture, surface or tensor.
    pub(crate) coordinates: Option<u32>,
    pub(crate) optional: bool,
    /// An optional operand may be written with these modifiers.
    pub(crate) available: bool,
    pub(crate) joined: bool,
    /// What introduced it, if later than the form.
    pub(crate) gate: Option<Gate>,
    /// A register of another width serves as well.
    pub(crate) loose: bool,
    /// The callee of an indirect call.
    pub(crate) pointer: bool,
    /// `-r`, of the one video instruction that has it.
    pub(crate) negatable: bool,
    /// An address that is stored to.
    pub(crate) stores: bool,
    /// The name of a variable may stand for its address.
    pub(crate) symbols: bool,
    /// What a constant is limited to beyond its type.
    pub(crate) limit: Option<Limit>,
}

impl OperandPlan {
    /// Whether it is of a format that registers are not declared with, but that is no pair of others.
    pub(crate) fn alternate(&self) -> bool {
        use ScalarType::{Bf16, Bf16x2, E4m3x2, E5m2x2, Tf32};
        matches!(self.ty, Some(Bf16 | Bf16x2 | E4m3x2 | E5m2x2 | Tf32))
    }
}

/// Instructions that have checks of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    None,
    Call,
    /// `cvta`: a variable must be of the state space, and addresses have the module's size.
    AddressOf(StateSpace),
    /// `mov` that packs or unpacks: the elements' widths add up to the type's.
    Pack(ScalarType),
}

impl Special {
    fn of(opcode: &Opcode, operands: &[OperandPlan]) -> Self {
        let specs = opcode.data().operands;
        let is_parts = |spec: &OperandSpec| {
            matches!(spec.kind, OperandKind::Vector { count: Count::Parts, .. }) && spec.ty == TypeRule::Any
        };
        if specs.iter().any(|spec| spec.kind == OperandKind::Arguments) {
            Self::Call
        } else if specs.iter().any(|spec| matches!(spec.ty, TypeRule::Address(_))) {
            let space = opcode.modifiers.iter().find_map(|(_, modifier)| modifier.state_space());
            space.map_or(Self::None, Self::AddressOf)
        } else if specs.iter().any(is_parts) {
            operands.iter().find_map(|operand| operand.ty).map_or(Self::None, Self::Pack)
        } else {
            Self::None
        }
    }
}

/// Bytes that an instruction accesses at once, if its type is that of the data at an address.
fn access(opcode: &Opcode, operands: &[OperandPlan]) -> Option<u64> {
    let specs = opcode.data().operands;
    let address = specs.iter().any(|spec| matches!(spec.kind, OperandKind::Address { .. }));
    let data = specs.iter().position(|spec| spec.ty == TypeRule::Of(Slot::Type)).filter(|_| address)?;
    Some(u64::from(operands[data].ty?.bytes()) * u64::from(operands[data].length.unwrap_or(1)))
}

impl FormPlan {
    fn new(opcode: &Opcode, version: Version, arch: Arch) -> Self {
        let data = opcode.data();
        let written = |with: Option<Modifier>| with.is_none_or(|modifier| opcode.has(modifier));
        let mut operands = Vec::with_capacity(data.operands.len());
        let stores = data
            .operands
            .first()
            .is_some_and(|spec| matches!(spec.kind, OperandKind::Address { .. } | OperandKind::TensorMemory));
        for (i, spec) in data.operands.iter().enumerate() {
            let ty = opcode.operand_type(i);
            operands.push(OperandPlan {
                name: spec.name,
                role: spec.role,
                kind: spec.kind,
                ty,
                space: opcode.operand_space(i),
                length: opcode.operand_length(i),
                lone: match spec.kind {
                    OperandKind::Vector { count: Count::Of(slot), .. } => opcode.get(slot).is_none(),
                    _ => false,
                },
                offsets: matches!(spec.kind, OperandKind::Vector { count: Count::Offsets, .. }),
                specials: match spec.kind {
                    OperandKind::Vector { special, .. } => special,
                    _ => true,
                },
                any: matches!(spec.ty, TypeRule::AnyOf(_)),
                whole: matches!(spec.kind, OperandKind::Vector { whole: true, .. }),
                // The alternate formats are looked at as little.
                lax: spec.lax || matches!(ty, Some(ScalarType::Bf16 | ScalarType::Bf16x2)),
                mbarrier: matches!(spec.kind, OperandKind::Address { space: SpaceRule::Mbarrier(_) }),
                spelled: match spec.ty {
                    TypeRule::Fixed(_) if spec.optional => false,
                    TypeRule::Of(_) | TypeRule::Address(_) | TypeRule::Fragment(_) => true,
                    TypeRule::Wide(_) | TypeRule::Unsigned(_) => true,
                    // Counts and positions have an integer type of their own.
                    TypeRule::Fixed(ty) => {
                        let own = matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed);
                        let spells = |(_, modifier): &(Slot, Modifier)| modifier.scalar_type() == Some(ty);
                        (!own || is_packed(ty)) && opcode.modifiers.iter().any(spells)
                    }
                    _ => false,
                },
                stored: stores && matches!(spec.kind, OperandKind::Vector { count: Count::Fragment(_), .. }),
                fragment: matches!(spec.kind, OperandKind::Vector { count: Count::Fragment(_), .. }),
                exact: spec.exact,
                cut: spec.cut,
                coordinates: match spec.kind {
                    OperandKind::TensorMap => tensor_coordinates(opcode),
                    _ => opcode.modifiers.iter().find_map(|(_, m)| coordinates(m.text())),
                },
                optional: if spec.with.is_some() { !written(spec.with) } else { spec.optional },
                available: written(spec.with),
                joined: spec.joined,
                gate: (spec.gate != Gate::NONE).then_some(spec.gate),
                pointer: matches!(spec.kind, OperandKind::Register { .. }) && spec.ty == TypeRule::Any,
                negatable: spec.negatable,
                loose: spec.loose && ty.is_none_or(is_declarable),
                stores: spec.stores,
                symbols: spec.symbols,
                limit: spec.limit,
            });
        }
        // An operand whose modifier is missing cannot be written at all.
        let absent = data.operands.iter().filter(|spec| !written(spec.with)).count();
        let required = operands.iter().filter(|operand| !operand.optional).count();
        let (special, access) = (Special::of(opcode, &operands), access(opcode, &operands));
        Self {
            access,
            chosen: None,
            available: opcode.gates().all(|(_, gate)| gate.permits(version, arch)),
            most: operands.len() - absent,
            operands: operands.into(),
            required,
            gates: opcode.gates().filter(|(_, gate)| *gate != Gate::NONE).collect(),
            special,
        }
    }
}

/// The coordinates of a tensor copy: as many as it has dimensions, or a column and four rows.
fn tensor_coordinates(opcode: &Opcode) -> Option<u32> {
    if opcode.has(Modifier::TileGather4) || opcode.has(Modifier::TileScatter4) {
        return Some(5);
    }
    opcode.get(Slot::Dim)?.text().trim_matches(['.', 'd']).parse().ok()
}

/// The elements of a coordinate vector: vectors of three are padded to four.
fn coordinates(geometry: &str) -> Option<u32> {
    Some(match geometry {
        ".1d" => 1,
        ".2d" | ".a1d" => 2,
        ".3d" | ".a2d" | ".cube" | ".acube" | ".2dms" | ".a2dms" | ".4d" | ".5d" => 4,
        _ => return None,
    })
}

/// Two integers in one.
fn is_packed(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::U16x2 | ScalarType::S16x2)
}
