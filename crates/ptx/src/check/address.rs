//! Whether a memory operand is in the state space that the instruction accesses (PTX ISA, "Using Addresses, Arrays,
//! and Vectors").

use super::codes;
use super::instruction::Assignment;
use super::mismatch::{Mismatch, MismatchKind};
use super::operand::Misfit;
use super::plan::{FormPlan, OperandPlan};
use crate::diagnostic::Diagnostic;
use crate::module::{AddressBase, Symbol, VarId};
use crate::resolve::Resolver;
use crate::resolve::operand::{Arg, ArgKind};
use crate::source::Span;
use crate::types::{ScalarType, StateSpace, TypeKind};

impl Resolver<'_> {
    pub(super) fn fit_address(&self, operand: &OperandPlan, arg: &Arg) -> Result<(), Misfit> {
        let ArgKind::Address { base, .. } = arg.kind else {
            let serves = match arg.kind {
                ArgKind::Register(register) => self.register_type(register) != ScalarType::Pred,
                ArgKind::Constant(constant) => constant.as_integer().is_none(),
                ArgKind::Symbol { symbol: Symbol::Variable(id), .. } => {
                    return match operand.space {
                        Some(space) if operand.lax => self.fit_space(operand, space, id, arg.span),
                        _ => Err((MismatchKind::Expected("an address in brackets"), arg.span)),
                    };
                }
                _ => false,
            };
            if operand.lax && serves {
                return Ok(());
            }
            return Err((MismatchKind::Expected("an address in brackets"), arg.span));
        };
        let space = operand.space;
        match base {
            AddressBase::Register(register) => {
                let ty = self.register_type(register);
                let whole = matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed | TypeKind::Untyped);
                let wide = matches!(space, Some(StateSpace::Global | StateSpace::Generic));
                let narrow = wide && !operand.loose && ty.bits() < self.module.address_size;
                if whole && ty.bits() <= 64 && !narrow {
                    Ok(())
                } else {
                    Err((
                        MismatchKind::AddressRegister { found: ty, bits: self.module.address_size },
                        arg.span,
                    ))
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

    fn fit_space(
        &self,
        operand: &OperandPlan,
        space: StateSpace,
        id: VarId,
        span: Span,
    ) -> Result<(), Misfit> {
        let actual = self.variable(id).space;
        let is_param = |space| matches!(space, StateSpace::ParamEntry | StateSpace::ParamFunc);
        let agrees = match space {
            StateSpace::Generic if operand.mbarrier => actual == StateSpace::Shared,
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

    /// Warns of an access to a variable that cannot be aligned: it would trap.
    pub(super) fn check_alignment(&mut self, plan: &FormPlan) {
        let Some(access) = plan.access else { return };
        for i in 0..self.body.args.len() {
            let arg = self.body.args[i];
            let ArgKind::Address { base: AddressBase::Variable(id), offset } = arg.kind else { continue };
            let variable = self.variable(id);
            if u64::from(variable.align) % access == 0 && offset.rem_euclid(access as i64) != 0 {
                let message =
                    format!("an access of {access} bytes at an address that is no multiple of {access}");
                let declared = variable.span;
                let align = variable.align;
                self.report(
                    Diagnostic::warning(codes::MISALIGNED, arg.span, message)
                        .related(declared, format!("aligned to {align}")),
                );
            }
        }
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
            let id = match arg.kind {
                ArgKind::Symbol { symbol: Symbol::Variable(id), .. } => id,
                ArgKind::Function(_) | ArgKind::Symbol { symbol: Symbol::Function(_), .. } => {
                    let kind = MismatchKind::Expected("a variable or a register");
                    return Err(Mismatch::new(2, arg.span, kind));
                }
                _ => continue,
            };
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
