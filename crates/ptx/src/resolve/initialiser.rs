//! Initial values of variables as bytes and relocations (PTX ISA, "Initializers").

use super::constant::{bits_as, describe, truncate};
use super::scope::Binding;
use super::variable::Layout;
use super::{Resolver, codes};
use crate::ast::{ExprId, InitialiserId, InitialiserKind, Name};
use crate::diagnostic::Diagnostic;
use crate::module::{Linkage, OpaqueField, Relocation, Symbol, Variable};
use crate::source::Span;
use crate::types::{ScalarType, StateSpace, TypeKind};

/// Bytes of an initialiser that its text does not pay for: it may skip elements, and what it skips is stored.
const MOST_SKIPPED: u64 = 16 << 20;

impl Resolver<'_> {
    /// Fills in a variable's initial bytes and relocations.
    pub(super) fn initialise(
        &mut self,
        variable: &mut Variable,
        layout: &Layout,
        initialiser: InitialiserId,
    ) {
        let span = self.ast[initialiser].span;
        let allowed = matches!(variable.space, StateSpace::Global | StateSpace::Const);
        if !allowed || variable.linkage == Linkage::Extern {
            let why = if allowed { "an external variable" } else { "a variable of this state space" };
            let message = format!("{why} has no initial value");
            self.error(codes::NO_INITIALISER_HERE, span, message);
            return;
        }
        match variable.ty {
            ScalarType::TexRef | ScalarType::SamplerRef | ScalarType::SurfRef => {
                return self.opaque_fields(variable, initialiser);
            }
            ScalarType::F16 | ScalarType::F16x2 => {
                let message = format!("a `{}` variable has no initial value", variable.ty);
                self.report(
                    Diagnostic::error(codes::INITIALISER_TYPE, span, message)
                        .hint(format!("declare it as `.b{}` and give the bits", variable.ty.bits())),
                );
                return;
            }
            _ => {}
        }
        self.fill(variable, &layout.dimensions, initialiser, 0);
    }

    /// Writes one element or one list of them at a byte offset. Recursion is as deep as the braces, which the parser
    /// limits.
    fn fill(&mut self, variable: &mut Variable, dimensions: &[u64], id: InitialiserId, offset: u64) {
        let ast = self.ast;
        let initialiser = ast[id];
        let Some((&length, inner)) = dimensions.split_first() else {
            return self.element(variable, id, offset);
        };
        let InitialiserKind::List(items) = initialiser.value else {
            self.report(
                Diagnostic::error(
                    codes::INITIALISER_SHAPE,
                    initialiser.span,
                    "an array is initialised by a list",
                )
                .hint("write `{ ... }`"),
            );
            return;
        };
        // The product is at most the variable's size, which was computed without overflow.
        let stride = inner.iter().product::<u64>() * u64::from(variable.ty.bytes());
        for (i, item) in (items.start..items.end).enumerate() {
            let i = i as u64;
            if i >= length {
                let span = ast[InitialiserId(item)].span;
                let message = format!("more values than the {length} elements of the array");
                self.error(codes::INITIALISER_SHAPE, span, message);
                return;
            }
            self.fill(variable, inner, InitialiserId(item), offset + i * stride);
        }
    }

    fn element(&mut self, variable: &mut Variable, id: InitialiserId, offset: u64) {
        let initialiser = self.ast[id];
        let span = initialiser.span;
        let ty = variable.ty;
        let end = offset + u64::from(ty.bytes());
        let most = MOST_SKIPPED.max(8 * self.ast.source.text().len() as u64);
        if end > most {
            self.error(
                codes::TOO_LARGE,
                span,
                format!("the initialiser skips more than {MOST_SKIPPED} bytes"),
            );
            return;
        }
        if variable.init.len() < end as usize {
            variable.init.resize(end as usize, 0);
        }
        match initialiser.value {
            InitialiserKind::Constant(expr) => self.constant_element(variable, expr, offset),
            InitialiserKind::Address { symbol, generic, offset: addend } => {
                if ty.kind() != TypeKind::Unsigned || ty.bits() < 32 {
                    return self.no_address(ty, span);
                }
                let bytes = ty.bytes();
                self.relocation(variable, (symbol, generic, addend), span, offset, bytes, None);
            }
            InitialiserKind::Masked { mask, value } => {
                self.masked_element(variable, mask, value, span, offset)
            }
            InitialiserKind::List(_) => {
                self.error(codes::INITIALISER_SHAPE, span, "one value is needed here, not a list");
            }
            InitialiserKind::Field { .. } => {
                self.error(
                    codes::INITIALISER_TYPE,
                    span,
                    "only texture, sampler and surface references have fields",
                );
            }
            InitialiserKind::Difference { .. } => {
                self.error(codes::INITIALISER_TYPE, span, "differences of labels are for DWARF sections");
            }
        }
    }

    fn constant_element(&mut self, variable: &mut Variable, expr: ExprId, offset: u64) {
        let ty = variable.ty;
        let constant = match self.ast.evaluate(expr) {
            Ok(constant) => constant,
            Err(error) => return self.constant_error(error),
        };
        // Unlike an operand, an untyped element takes a floating-point value of any form: that of its own width.
        let float = match ty {
            ScalarType::B32 => ScalarType::F32,
            ScalarType::B64 => ScalarType::F64,
            other => other,
        };
        let Some(bits) = bits_as(constant, ty).or_else(|| bits_as(constant, float)) else {
            let message = format!("{} cannot initialise a `{ty}`", describe(constant));
            return self.error(codes::INITIALISER_TYPE, self.ast[expr].span, message);
        };
        write(variable, offset, bits);
    }

    fn masked_element(
        &mut self,
        variable: &mut Variable,
        mask: ExprId,
        value: InitialiserId,
        span: Span,
        offset: u64,
    ) {
        let Some(mask_value) = self.integer(mask) else { return };
        let shift = (0..8).map(|byte| byte * 8).find(|shift| mask_value as u64 == 0xFF << shift);
        let Some(shift) = shift else {
            let message = format!("0x{mask_value:x} does not select one byte");
            self.report(
                Diagnostic::error(codes::INITIALISER_MASK, self.ast[mask].span, message)
                    .hint("masks are 0xFF, 0xFF00, 0xFF0000, ..."),
            );
            return;
        };
        match self.ast[value].value {
            InitialiserKind::Constant(expr) => {
                if let Some(value) = self.integer(expr) {
                    write(variable, offset, (value as u64 >> shift) & 0xFF);
                }
            }
            InitialiserKind::Address { symbol, generic, offset: addend } => {
                let ty = variable.ty;
                if ty.kind() != TypeKind::Unsigned || ty.bits() == 16 {
                    return self.no_address(ty, span);
                }
                self.relocation(variable, (symbol, generic, addend), span, offset, 1, Some(shift));
            }
            InitialiserKind::Masked { .. }
            | InitialiserKind::List(_)
            | InitialiserKind::Field { .. }
            | InitialiserKind::Difference { .. } => {
                self.error(codes::INITIALISER_MASK, span, "a mask selects from a constant or an address");
            }
        }
    }

    /// Addresses are unsigned, whole or in bytes.
    fn no_address(&mut self, ty: ScalarType, span: Span) {
        let message = format!("an address cannot initialise a `{ty}`");
        self.report(
            Diagnostic::error(codes::INITIALISER_TYPE, span, message)
                .hint("declare the variable as `.u64`, `.u32` or, with masks, `.u8`"),
        );
    }

    fn relocation(
        &mut self,
        variable: &mut Variable,
        (symbol, generic, addend): (Name, bool, Option<ExprId>),
        span: Span,
        offset: u64,
        bytes: u32,
        shift: Option<u32>,
    ) {
        let addend = match addend.map(|expr| self.integer(expr)) {
            None => 0,
            Some(Some(addend)) => addend,
            Some(None) => return,
        };
        let target = match self.lookup_quietly(symbol) {
            Binding::Variable(id) => {
                if !matches!(self.variable(id).space, StateSpace::Global | StateSpace::Const) {
                    let message = format!("`{}` is not in `.global` or `.const`", self.text(symbol));
                    let declared = self.span_of(id);
                    self.report(
                        Diagnostic::error(codes::INITIALISER_SYMBOL, span, message)
                            .related(declared, "declared here"),
                    );
                    return;
                }
                Symbol::Variable(id)
            }
            Binding::Function(id) => Symbol::Function(id),
            _ => {
                let message =
                    format!("`{}` is not a variable or function declared before", self.text(symbol));
                return self.error(codes::INITIALISER_SYMBOL, span, message);
            }
        };
        variable.relocations.push(Relocation { offset, bytes, target, addend, generic, shift });
    }

    /// `{ addr_mode_0 = wrap, ... }`: every part has a name.
    fn opaque_fields(&mut self, variable: &mut Variable, id: InitialiserId) {
        let ast = self.ast;
        let InitialiserKind::List(items) = ast[id].value else {
            return self.error(codes::INITIALISER_SHAPE, ast[id].span, "a list of fields is needed here");
        };
        for item in &ast[items] {
            let InitialiserKind::Field { name, value } = item.value else {
                self.error(
                    codes::INITIALISER_SHAPE,
                    item.span,
                    "a field has a name: `filter_mode = nearest`",
                );
                continue;
            };
            let (word, number) = match ast[value].value {
                InitialiserKind::Address { symbol, .. } => (Some(self.text(symbol).to_owned()), 0),
                InitialiserKind::Constant(expr) => match ast.evaluate(expr) {
                    Ok(constant) => (None, constant.as_integer().unwrap_or(0)),
                    Err(error) => {
                        self.constant_error(error);
                        continue;
                    }
                },
                _ => {
                    self.error(codes::INITIALISER_SHAPE, item.span, "a field is a number or a name");
                    continue;
                }
            };
            variable.fields.push(OpaqueField { name: self.text(name).to_owned(), word, number });
        }
    }
}

fn write(variable: &mut Variable, offset: u64, bits: u64) {
    let bytes = variable.ty.bytes() as usize;
    let offset = offset as usize;
    let value = u128::from(truncate(bits, variable.ty.bits())).to_le_bytes();
    variable.init[offset..offset + bytes].copy_from_slice(&value[..bytes]);
}
