//! Which form an instruction is, and its operands in the resolved module.

use super::codes;
use super::mismatch::{Mismatch, MismatchKind};
use super::plan::{FormPlan, OperandPlan, Special};
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::isa::{OperandKind, Parts};
use crate::module::{Guard, Instruction, OpcodeId, Operand, OperandList};
use crate::resolve::Resolver;
use crate::resolve::constant::{bits, bits_as, truncate};
use crate::resolve::operand::{Arg, ArgKind, Elements};
use crate::resolve::scope::registers_of;
use crate::source::Span;
use crate::types::ScalarType;

/// Which argument stands at each operand of a form.
pub(super) type Assignment = Vec<Option<u32>>;

impl Resolver<'_> {
    /// Checks an instruction and adds it to the body.
    pub(crate) fn instruction(&mut self, instruction: &ast::Instruction, span: Span) {
        let ast = self.ast;
        let guard = self.guard(instruction);
        self.resolve_operands(instruction.operands);
        let text = instruction.opcode.value.0 as usize;
        let candidates = &ast.opcodes[text].candidates;
        let plans = self.plans.get(text, candidates, (self.module.version, self.module.arch));
        let mut assignment = std::mem::take(&mut self.body.assignment);
        let mut latest: Option<(Mismatch, usize)> = None;
        let mut chosen = None;
        for (i, plan) in plans.iter().enumerate() {
            match self.assign(plan, &mut assignment) {
                // A form that the module cannot have is meant only if no other fits.
                Ok(()) if plan.available || plans.len() == 1 => {
                    chosen = Some(i);
                    break;
                }
                Ok(()) => chosen = chosen.or(Some(i)),
                Err(mismatch) => {
                    if latest.as_ref().is_none_or(|(best, _)| mismatch.fitting() > best.fitting()) {
                        latest = Some((mismatch, i));
                    }
                }
            }
        }
        match (chosen, latest) {
            (Some(i), _) => {
                let plan = &plans[i];
                if !plan.available && plans.len() > 1 {
                    // Later forms were tried after this one.
                    let _ = self.assign(plan, &mut assignment);
                }
                let opcode = match plan.chosen {
                    Some(opcode) => opcode,
                    None => self.first_use(text, i, plan, instruction.opcode.span),
                };
                let operands = self.lower(plan, &assignment, instruction.opcode.span);
                let loc = self.body.loc;
                self.body.body.instructions.push(Instruction { guard, opcode, operands, span, loc });
            }
            (None, Some((mismatch, i))) => {
                let at = instruction.opcode.span;
                self.report_mismatch(&mismatch, &plans[i], &candidates[i], candidates.len(), at);
            }
            // The parser has reported an opcode that is none.
            (None, None) => {}
        }
        self.body.assignment = assignment;
    }

    fn guard(&mut self, instruction: &ast::Instruction) -> Option<Guard> {
        let guard = instruction.guard?;
        let kind = self.name(guard.value.register, guard.span);
        match kind {
            ArgKind::Register(register) if self.register_type(register) == ScalarType::Pred => {
                Some(Guard { register, negated: guard.value.negated })
            }
            ArgKind::Error => None,
            _ => {
                let text = self.text(guard.value.register).to_owned();
                let label = match kind {
                    ArgKind::Register(register) => format!("a `{}` register", self.register_type(register)),
                    _ => "not a register".to_owned(),
                };
                self.report(
                    Diagnostic::error(
                        codes::GUARD_TYPE,
                        guard.span,
                        format!("`{text}` cannot guard an instruction"),
                    )
                    .label(label)
                    .hint("a guard is a `.pred` register"),
                );
                None
            }
        }
    }

    /// Gives a form its number in the module and checks what it needs.
    #[cold]
    fn first_use(&mut self, text: usize, form: usize, plan: &FormPlan, span: Span) -> OpcodeId {
        let opcode = self.ast.opcodes[text].candidates[form].clone();
        for (modifier, gate) in &plan.gates {
            let what = match modifier {
                Some(modifier) => {
                    format!("`{}` of `{}`", modifier.text(), opcode.mnemonic().text())
                }
                None => format!("`{}`", opcode.text()),
            };
            self.check_gate(&what, gate, span);
        }
        let id = OpcodeId(self.module.opcodes.len() as u32);
        self.module.opcodes.push(opcode);
        self.plans.set_opcode(text, form, id);
        id
    }

    /// Puts every argument at an operand of the form and checks that it is one.
    fn assign(&self, plan: &FormPlan, assignment: &mut Assignment) -> Result<(), Mismatch> {
        assignment.clear();
        let count = self.body.args.len();
        let Some(mut spare) = count.checked_sub(plan.required) else {
            let missing = plan.operands.iter().filter(|o| !o.optional).nth(count);
            return Err(Mismatch::at_end(MismatchKind::Missing(missing.map_or("", |o| o.name))));
        };
        let mut next = 0;
        let mut skipped = None;
        for operand in &plan.operands {
            let arg = self.body.args.get(next).copied();
            let fits = |arg: &Arg| arg.joined == operand.joined && has_shape(operand, arg.kind);
            let taken = match arg {
                Some(arg) if operand.optional => {
                    (spare > 0 && operand.available && fits(&arg)).then_some(arg)
                }
                Some(arg) => {
                    if arg.joined != operand.joined {
                        return Err(Mismatch::new(next, arg.span, MismatchKind::Joined(operand.joined)));
                    }
                    Some(arg)
                }
                None => None,
            };
            let fit = taken.map(|arg| self.fit(operand, &arg));
            match fit {
                Some(Ok(())) => {
                    spare -= usize::from(operand.optional);
                    assignment.push(Some(next as u32));
                    next += 1;
                }
                // A later operand may be meant.
                Some(Err((kind, span))) if operand.optional => {
                    skipped = skipped.or(Some(Mismatch::new(next + 1, span, kind)));
                    assignment.push(None);
                }
                Some(Err((kind, span))) => {
                    return Err(skipped.unwrap_or(Mismatch::new(next + 1, span, kind)));
                }
                None if operand.optional => assignment.push(None),
                None => return Err(Mismatch::at_end(MismatchKind::Missing(operand.name))),
            }
        }
        match self.body.args.get(next) {
            Some(extra) => {
                let progress = if plan.operands.is_empty() { 0 } else { next };
                let too_many = Mismatch::new(progress, extra.span, MismatchKind::TooMany(plan.most));
                Err(skipped.unwrap_or(too_many))
            }
            None => self.fit_together(plan, assignment),
        }
    }

    /// What no operand alone can tell.
    fn fit_together(&self, plan: &FormPlan, assignment: &Assignment) -> Result<(), Mismatch> {
        // A part of a video result is merged into what is missing here.
        if assignment.contains(&None)
            && let Some(operand) = plan.operands.first()
            && operand.kind == OperandKind::Selected(Parts::One)
            && let Some(Arg { kind: ArgKind::Part { .. }, span, .. }) = self.body.args.first()
        {
            let kind = MismatchKind::Expected("a register without a selector");
            return Err(Mismatch::new(1, *span, kind));
        }
        match plan.special {
            Special::None => Ok(()),
            Special::Call => Ok(()),
            Special::AddressOf(space) => self.fit_address_of(plan, space, assignment),
            Special::Pack(whole) => self.fit_pack(plan, whole, assignment),
        }
    }

    /// The operands in the resolved module.
    fn lower(&mut self, plan: &FormPlan, assignment: &Assignment, opcode: Span) -> OperandList {
        if plan.special == Special::Call {
            return self.lower_call(plan, assignment, opcode);
        }
        self.check_alignment(plan);
        let mut lowered = std::mem::take(&mut self.body.lowered);
        lowered.clear();
        for (operand, assigned) in plan.operands.iter().zip(assignment) {
            let Some(arg) = assigned.map(|at| self.body.args[at as usize]) else {
                lowered.push(Operand::Absent);
                continue;
            };
            if let Some(gate) = operand.gate {
                self.check_gate(&format!("operand `{}`", operand.name), &gate, arg.span);
            }
            lowered.push(self.lower_operand(operand, plan.special, arg.kind));
        }
        let operands = self.add_operands(&lowered);
        self.body.lowered = lowered;
        operands
    }

    pub(crate) fn add_operands(&mut self, operands: &[Operand]) -> OperandList {
        let pool = &mut self.body.body.operands;
        let start = pool.len() as u32;
        pool.extend_from_slice(operands);
        OperandList { start, end: pool.len() as u32 }
    }

    fn lower_operand(&mut self, operand: &OperandPlan, special: Special, kind: ArgKind) -> Operand {
        match kind {
            ArgKind::Error => Operand::Absent,
            ArgKind::Sink => Operand::Sink,
            ArgKind::Register(id) => Operand::Register(id),
            ArgKind::NotPredicate(id) => Operand::NotPredicate(id),
            ArgKind::Constant(constant) => {
                let ty = operand.ty.unwrap_or(ScalarType::B64);
                // A constant of another kind among the elements of an untyped vector: its low bits.
                Operand::Immediate(
                    bits_as(constant, ty).unwrap_or_else(|| truncate(bits(constant), ty.bits())),
                )
            }
            ArgKind::Special { register, component } => {
                Operand::Special { register, component: component.unwrap_or(0) }
            }
            ArgKind::Symbol { symbol, offset } => Operand::SymbolAddress { symbol, offset },
            ArgKind::Address { base, offset } => Operand::Address { base, offset },
            ArgKind::Label(id) => Operand::Label(id),
            ArgKind::Prototype(id) => Operand::Prototype(id),
            ArgKind::BranchTargets(id) | ArgKind::CallTargets(id) => Operand::Table(id),
            ArgKind::Function(id) => match operand.kind {
                OperandKind::Function => Operand::Function(id),
                _ => Operand::SymbolAddress { symbol: crate::module::Symbol::Function(id), offset: 0 },
            },
            ArgKind::Part { register, selector, negated } => Operand::Part { register, selector, negated },
            ArgKind::VectorRegister { first, lanes } => {
                let pool = &mut self.body.body.operands;
                let start = pool.len() as u32;
                pool.extend(registers_of(first, lanes).map(Operand::Register));
                Operand::Vector(OperandList { start, end: pool.len() as u32 })
            }
            ArgKind::Vector(elements) if operand.lone && elements.len() == 1 => {
                let only = self.body.nested[elements.start as usize].kind;
                self.lower_operand(operand, special, only)
            }
            ArgKind::Vector(elements) => self.lower_vector(operand, special, elements),
            ArgKind::List(elements) | ArgKind::Bracket(elements) => {
                let mut lowered = Vec::with_capacity(elements.len());
                for i in elements.indices() {
                    let kind = self.body.nested[i].kind;
                    lowered.push(self.lower_operand(operand, special, kind));
                }
                Operand::Vector(self.add_operands(&lowered))
            }
        }
    }

    fn lower_vector(&mut self, operand: &OperandPlan, special: Special, elements: Elements) -> Operand {
        // The constants among the parts of a packed value have the width of a part.
        let ty = match (special, operand.ty) {
            (Special::Pack(whole), None) => untyped(whole.bits() / (elements.len() as u32).max(1)),
            (_, ty) => ty,
        };
        let element = OperandPlan { ty, ..*operand };
        let start = self.body.body.operands.len() as u32;
        for i in elements.indices() {
            let kind = self.body.nested[i].kind;
            let lowered = match kind {
                ArgKind::Vector(_) | ArgKind::List(_) | ArgKind::Bracket(_) => Operand::Absent,
                _ => self.lower_operand(&element, special, kind),
            };
            self.body.body.operands.push(lowered);
        }
        Operand::Vector(OperandList { start, end: self.body.body.operands.len() as u32 })
    }
}

/// The untyped type of a width.
pub(super) fn untyped(bits: u32) -> Option<ScalarType> {
    Some(match bits {
        8 => ScalarType::B8,
        16 => ScalarType::B16,
        32 => ScalarType::B32,
        64 => ScalarType::B64,
        128 => ScalarType::B128,
        _ => return None,
    })
}

/// Whether an argument can be meant for an optional operand at all.
fn has_shape(operand: &OperandPlan, arg: ArgKind) -> bool {
    match operand.kind {
        OperandKind::Results | OperandKind::Arguments => matches!(arg, ArgKind::List(_)),
        OperandKind::CallTargets => matches!(arg, ArgKind::Prototype(_) | ArgKind::CallTargets(_)),
        OperandKind::Vector { .. } if operand.offsets => !matches!(arg, ArgKind::List(_)),
        OperandKind::Vector { .. } => matches!(arg, ArgKind::Vector(_) | ArgKind::VectorRegister { .. }),
        OperandKind::Address { .. } => matches!(arg, ArgKind::Address { .. }),
        _ => !matches!(arg, ArgKind::List(_)) && (operand.lax || !matches!(arg, ArgKind::Vector(_))),
    }
}
