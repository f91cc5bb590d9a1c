//! Whether a memory operand is in the state space that the instruction accesses (PTX ISA, "Using Addresses, Arrays,
//! and Vectors").

use super::instruction::Assignment;
use super::mismatch::{Mismatch, MismatchKind};
use super::operand::Misfit;
use super::plan::{FormPlan, OperandPlan};
use crate::isa::{OperandKind, Role};
use crate::module::{AddressBase, Symbol, VarId};
use crate::resolve::Resolver;
use crate::resolve::operand::{Arg, ArgKind};
use crate::source::Span;
use crate::types::{StateSpace, TypeKind};

impl Resolver<'_> {
    pub(super) fn fit_address(&self, operand: &OperandPlan, arg: &Arg) -> Result<(), Misfit> {
        let ArgKind::Address { base, .. } = arg.kind else {
            return Err((MismatchKind::Expected("an address in brackets"), arg.span));
        };
        let space = operand.space;
        match base {
            AddressBase::Register(register) => {
                let ty = self.register_type(register);
                let whole = matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed | TypeKind::Untyped);
                let wide = matches!(space, Some(StateSpace::Global | StateSpace::Generic));
                let narrow = wide && ty.bits() < self.module.address_size;
                if whole && ty.bits() <= 64 && !narrow {
                    Ok(())
                } else {
                    Err((MismatchKind::AddressRegister { found: ty, bits: self.module.address_size }, arg.span))
                }
            }
            AddressBase::Variable(id) => match space {
                Some(space) => self.fit_space(operand, space, id, arg.span),
                None => Ok(()),
            },
            AddressBase::Absolute if space == Some(StateSpace::Local) => Ok(()),
            AddressBase::Absolute => Err((MismatchKind::Absolute, arg.span)),
        }
    }

    fn fit_space(&self, operand: &OperandPlan, space: StateSpace, id: VarId, span: Span) -> Result<(), Misfit> {
        let actual = self.variable(id).space;
        let is_param = |space| matches!(space, StateSpace::ParamEntry | StateSpace::ParamFunc);
        let agrees = match space {
            StateSpace::Generic => {
                matches!(actual, StateSpace::Global | StateSpace::Shared | StateSpace::Local)
            }
            _ => space == actual || (is_param(space) && is_param(actual)),
        };
        if !agrees {
            return Err((MismatchKind::Space { variable: id, expected: space }, span));
        }
        if is_param(actual) {
            let stores = operand.stores;
            if stores && (actual == StateSpace::ParamEntry || self.body.inputs.contains(&id)) {
                return Err((MismatchKind::WrittenInput(id), span));
            }
            if !stores && self.body.returns.contains(&id) {
                return Err((MismatchKind::ReadReturn(id), span));
            }
        }
        Ok(())
    }

    /// `cvta.space` of a variable: it is in that space.
    pub(super) fn fit_address_of(
        &self,
        plan: &FormPlan,
        space: StateSpace,
        assignment: &Assignment,
    ) -> Result<(), Mismatch> {
        for (operand, at) in plan.operands.iter().zip(assignment) {
            let Some(at) = at else { continue };
            let arg = self.body.args[*at as usize];
            if let Some(ty) = operand.ty.filter(|ty| ty.bits() < self.module.address_size) {
                return Err(Mismatch::new(2, arg.span, MismatchKind::AddressType(ty)));
            }
            let ArgKind::Symbol { symbol: Symbol::Variable(id), .. } = arg.kind else { continue };
            let actual = self.variable(id).space;
            let is_param = |space| matches!(space, StateSpace::ParamEntry | StateSpace::ParamFunc);
            if actual != space && !(is_param(actual) && is_param(space)) {
                let kind = MismatchKind::Space { variable: id, expected: space };
                return Err(Mismatch::new(2, arg.span, kind));
            }
        }
        Ok(())
    }
}

/// Whether an instruction writes to memory through its first address operand.
pub(super) fn stores(mnemonic: &str, kind: OperandKind, role: Role) -> bool {
    matches!(kind, OperandKind::Address { .. }) && role == Role::Read && mnemonic == "st"
}
