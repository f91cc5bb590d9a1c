//! What a form asks of its operands, worked out once for each opcode text of a module.

use crate::isa::{Count, Gate, Modifier, Opcode, OperandKind, Role, Slot, TypeRule};
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
    /// The coordinates of a texture, surface or tensor.
    pub(crate) coordinates: Option<u32>,
    pub(crate) optional: bool,
    /// An optional operand may be written with these modifiers.
    pub(crate) available: bool,
    pub(crate) joined: bool,
    /// What introduced it, if later than the form.
    pub(crate) gate: Option<Gate>,
    /// A wider register is accepted.
    pub(crate) relaxed: bool,
    /// The callee of an indirect call.
    pub(crate) pointer: bool,
    /// `-r`, of the one video instruction that has it.
    pub(crate) negatable: bool,
    /// A register of less than the module's address size may hold a global or generic address, which is then extended.
    pub(crate) narrow: bool,
    /// An address that is stored to.
    pub(crate) stores: bool,
    /// The name of a variable may stand for its address.
    pub(crate) symbols: bool,
    /// What a constant is limited to beyond its type.
    pub(crate) limit: Option<Limit>,
}

/// What a constant operand is limited to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    Range(i64, i64),
    MultipleOf(i64),
    OneOf(&'static [i64]),
}

impl Limit {
    pub(crate) fn permits(self, value: i64) -> bool {
        match self {
            Self::Range(low, high) => (low..=high).contains(&value),
            Self::MultipleOf(step) => value % step == 0,
            Self::OneOf(values) => values.contains(&value),
        }
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

impl FormPlan {
    fn new(opcode: &Opcode, version: Version, arch: Arch) -> Self {
        let data = opcode.data();
        let mnemonic = opcode.mnemonic().text();
        // `cvta.to` converts addresses that only a register can hold.
        let has = |text: &str| opcode.modifiers.iter().any(|(_, modifier)| modifier.text() == text);
        let (to_space, packs) = (has(".to"), mnemonic == "cvt" && has(".pack"));
        let written = |with: Option<Modifier>| with.is_none_or(|modifier| opcode.has(modifier));
        let mut operands = Vec::with_capacity(data.operands.len());
        let parts = data.operands.iter().position(|spec| {
            matches!(spec.kind, OperandKind::Vector { count: Count::Parts, .. }) && mnemonic == "mov"
        });
        for (i, spec) in data.operands.iter().enumerate() {
            operands.push(OperandPlan {
                name: spec.name,
                role: spec.role,
                kind: spec.kind,
                ty: opcode.operand_type(i),
                space: opcode.operand_space(i),
                length: opcode.operand_length(i),
                lone: match spec.kind {
                    OperandKind::Vector { count: Count::Of(slot), .. } => opcode.get(slot).is_none(),
                    _ => false,
                },
                coordinates: match spec.kind {
                    OperandKind::TensorMap => tensor_coordinates(opcode),
                    _ => opcode.modifiers.iter().find_map(|(_, m)| coordinates(m.text())),
                },
                optional: if spec.with.is_some() { !written(spec.with) } else { spec.optional },
                available: written(spec.with),
                joined: spec.joined,
                gate: (spec.gate != Gate::NONE).then_some(spec.gate),
                pointer: mnemonic == "call",
                negatable: mnemonic == "vmad",
                relaxed: opcode.operand_type(i).is_some_and(|ty| packs || is_relaxed(mnemonic, spec.ty, ty)),
                narrow: !addresses_whole(mnemonic),
                stores: super::address::stores(mnemonic, spec.kind, spec.role),
                symbols: matches!(mnemonic, "mov" | "mapa") || (mnemonic == "cvta" && !to_space),
                limit: limit(mnemonic, spec.name, spec.kind),
            });
        }
        // An operand whose modifier is missing cannot be written at all.
        let absent = data.operands.iter().filter(|spec| !written(spec.with)).count();
        let required = operands.iter().filter(|operand| !operand.optional).count();
        let special = match mnemonic {
            "call" => Special::Call,
            "cvta" => {
                let space = opcode.modifiers.iter().find_map(|(_, modifier)| modifier.state_space());
                space.map_or(Special::None, Special::AddressOf)
            }
            _ => match parts {
                Some(i) => {
                    let whole = operands.iter().enumerate().find(|(j, _)| *j != i).and_then(|(_, o)| o.ty);
                    whole.map_or(Special::None, Special::Pack)
                }
                None => Special::None,
            },
        };
        let data_operand =
            operands.iter().find(|o| o.ty.is_some() && !matches!(o.kind, OperandKind::Address { .. }));
        let access = match mnemonic {
            "ld" | "ldu" | "st" | "atom" | "red" => data_operand.and_then(|operand| {
                Some(u64::from(operand.ty?.bytes()) * u64::from(operand.length.unwrap_or(1)))
            }),
            _ => None,
        };
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

/// Instructions whose global and generic addresses have the module's address size; ptxas extends the others'.
fn addresses_whole(mnemonic: &str) -> bool {
    let data = matches!(mnemonic, "ld" | "ldu" | "st" | "atom" | "red" | "mbarrier" | "multimem");
    data || matches!(mnemonic, "prefetch" | "prefetchu" | "discard" | "applypriority")
}

/// Whether a data register may be wider than the type ("Operand Size Exceeding Instruction-Type Size"). For `cvt` that
/// goes for the types that registers can have, not for packed and alternate formats nor for the bits of those.
fn is_relaxed(mnemonic: &str, rule: TypeRule, ty: ScalarType) -> bool {
    match mnemonic {
        "ld" | "ldu" | "st" => true,
        "cvt" => is_declarable(ty) && !(ty.kind() == TypeKind::Untyped && matches!(rule, TypeRule::Fixed(_))),
        _ => false,
    }
}

/// Limits on constants that ptxas has and the table's notation does not say.
fn limit(mnemonic: &str, operand: &str, kind: OperandKind) -> Option<Limit> {
    match (mnemonic, operand, kind) {
        ("cp", "size", OperandKind::Immediate { range: Some((4, 16)) }) => Some(Limit::OneOf(&[4, 8, 16])),
        ("cp", "size", OperandKind::Value { .. }) => Some(Limit::MultipleOf(16)),
        ("setmaxnreg", "count", _) => Some(Limit::MultipleOf(8)),
        // ptxas takes the low byte of a larger table.
        ("lop3", ..) => None,
        (_, _, OperandKind::Immediate { range: Some((low, high)) }) => Some(Limit::Range(low, high)),
        ("bar" | "barrier", "a", _) => Some(Limit::Range(0, 15)),
        ("bar" | "barrier", "b", _) => Some(Limit::MultipleOf(32)),
        ("bfe", "b" | "c", _) | ("bfi", "c" | "d", _) => Some(Limit::Range(0, 255)),
        _ => None,
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
