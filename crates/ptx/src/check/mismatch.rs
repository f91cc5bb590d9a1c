//! The words for an operand that is not what its form asks for.

use super::codes;
use super::plan::FormPlan;
use crate::ast::Constant;
use crate::diagnostic::Diagnostic;
use crate::isa::{Limit, Opcode};
use crate::module::VarId;
use crate::resolve::Resolver;
use crate::resolve::constant::describe;
use crate::source::Span;
use crate::types::{ScalarType, StateSpace, TypeKind};

/// Why a form does not take an instruction's operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mismatch {
    /// How many operands were fine before.
    progress: usize,
    /// The operand; the opcode if there is none.
    span: Option<Span>,
    kind: MismatchKind,
}

/// What is wrong with an operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum MismatchKind {
    /// The operand of this name is missing.
    Missing(&'static str),
    /// There are more operands than this.
    TooMany(usize),
    /// A `|` is missing before it, or should not be there.
    Joined(bool),
    Expected(&'static str),
    Sink,
    SinkSource,
    AllSinks,
    Negation,
    Special,
    Component,
    NoPredicate,
    Type {
        expected: ScalarType,
        found: ScalarType,
    },
    /// An address cannot have this type.
    AddressType(ScalarType),
    Constant {
        expected: ScalarType,
        found: Constant,
    },
    Limit(Limit, i64),
    Length {
        expected: u32,
        found: usize,
    },
    Widths,
    Parts {
        whole: ScalarType,
        parts: u32,
    },
    Space {
        variable: VarId,
        expected: StateSpace,
    },
    AddressRegister {
        found: ScalarType,
        bits: u32,
    },
    Absolute,
    WrittenInput(VarId),
    ReadReturn(VarId),
    ParameterAddress,
}

impl Mismatch {
    pub(super) fn new(progress: usize, span: Span, kind: MismatchKind) -> Self {
        Self { progress, span: Some(span), kind }
    }

    /// How much of the instruction fits: of several forms, the one that got furthest was most likely meant. An operand
    /// of the right kind got further than one of a wrong kind.
    pub(super) fn fitting(&self) -> usize {
        self.progress * 2 + usize::from(!matches!(self.kind, MismatchKind::Expected(_)))
    }

    /// Something is missing at the end.
    pub(super) fn at_end(kind: MismatchKind) -> Self {
        Self { progress: 0, span: None, kind }
    }
}

impl Resolver<'_> {
    #[cold]
    pub(super) fn report_mismatch(
        &mut self,
        mismatch: &Mismatch,
        plan: &FormPlan,
        opcode: &Opcode,
        forms: usize,
        at: Span,
    ) {
        let text = opcode.text();
        let span = mismatch.span.unwrap_or(at);
        let diagnostic = self.describe_mismatch(mismatch.kind, &text, span);
        let syntax = opcode.data().template;
        let diagnostic = match mismatch.kind {
            MismatchKind::Missing(_) | MismatchKind::TooMany(_) | MismatchKind::Joined(_)
                if diagnostic.hint.is_none() && !plan.operands.is_empty() =>
            {
                let more = if forms > 1 { " (among other forms)" } else { "" };
                diagnostic.hint(format!("the form is `{syntax}`{more}"))
            }
            _ => diagnostic,
        };
        self.report(diagnostic);
    }

    fn describe_mismatch(&self, kind: MismatchKind, text: &str, span: Span) -> Diagnostic {
        let error = |code, message: String| Diagnostic::error(code, span, message);
        match kind {
            MismatchKind::Missing(name) => {
                error(codes::OPERAND_COUNT, format!("`{text}` needs an operand `{name}` more"))
                    .label("an operand is missing")
            }
            MismatchKind::TooMany(most) => {
                let takes = match most {
                    0 => "no operand".to_owned(),
                    1 => "at most 1 operand".to_owned(),
                    most => format!("at most {most} operands"),
                };
                error(codes::OPERAND_COUNT, format!("`{text}` takes {takes}")).label("one too many")
            }
            MismatchKind::Joined(true) => {
                error(codes::OPERAND_KIND, format!("`{text}` joins this operand to the one before"))
                    .label("a `|` belongs before this")
            }
            MismatchKind::Joined(false) => {
                error(codes::OPERAND_KIND, format!("`{text}` has no `|` operand here"))
                    .label("unexpected after `|`")
            }
            MismatchKind::Expected(expected) => {
                error(codes::OPERAND_KIND, format!("`{text}` takes {expected} here"))
                    .label(format!("not {expected}"))
            }
            MismatchKind::Sink => error(codes::SINK, format!("`{text}` cannot drop this result"))
                .label("`_` is not allowed here"),
            MismatchKind::SinkSource => {
                error(codes::SINK, format!("`{text}` reads this operand")).label("`_` has no value")
            }
            MismatchKind::AllSinks => {
                error(codes::VECTOR_ELEMENTS, "a vector with no element but `_`".to_owned())
                    .label("at least one element must be a register")
            }
            MismatchKind::Negation => {
                error(codes::NEGATION, format!("`{text}` does not take a negated predicate here"))
            }
            MismatchKind::Special => {
                error(codes::SPECIAL_REGISTER, format!("`{text}` does not take a special register here"))
                    .hint("read it into a register with `mov` first")
            }
            MismatchKind::Component => {
                error(codes::OPERAND_KIND, "this special register is a vector".to_owned())
                    .hint("add `.x`, `.y` or `.z`")
            }
            MismatchKind::NoPredicate => {
                error(codes::OPERAND_TYPE, format!("`{text}` does not take a predicate here"))
                    .label("a `.pred` register")
            }
            MismatchKind::Type { expected, found } => {
                let diagnostic = error(codes::OPERAND_TYPE, format!("`{text}` takes a `{expected}` here"))
                    .label(format!("this is a `{found}`"));
                match type_hint(expected, found) {
                    Some(hint) => diagnostic.hint(hint),
                    None => diagnostic,
                }
            }
            MismatchKind::AddressType(ty) => {
                error(codes::OPERAND_TYPE, format!("an address does not fit in a `{ty}`"))
                    .hint(format!("addresses have {} bits here", self.module.address_size))
            }
            MismatchKind::Constant { expected, found } => {
                let found_text = describe(found);
                let diagnostic = error(codes::CONSTANT_TYPE, format!("`{text}` takes a `{expected}` here"))
                    .label(format!("{found_text} is none"));
                match constant_hint(expected, found) {
                    Some(hint) => diagnostic.hint(hint),
                    None => diagnostic,
                }
            }
            MismatchKind::Limit(limit, value) => {
                let range = match limit {
                    Limit::Range(low, high) if low == high => format!("{low}"),
                    Limit::Range(low, high) => format!("{low} to {high}"),
                    Limit::MultipleOf(step) => format!("multiples of {step}"),
                    Limit::Steps(low, high, step) => format!("multiples of {step} from {low} to {high}"),
                    Limit::OneOf(values) => {
                        let values: Vec<_> = values.iter().map(ToString::to_string).collect();
                        values.join(", ")
                    }
                };
                error(codes::OUT_OF_RANGE, format!("`{text}` does not take {value} here"))
                    .label(format!("possible: {range}"))
            }
            MismatchKind::Length { expected, found } => {
                error(codes::VECTOR_LENGTH, format!("`{text}` takes a vector of {expected} here"))
                    .label(format!("this has {found}"))
            }
            MismatchKind::Widths => {
                error(codes::VECTOR_ELEMENTS, "the elements of a vector have one size".to_owned())
                    .label("another size than the elements before")
            }
            MismatchKind::Parts { whole, parts } => {
                error(codes::VECTOR_ELEMENTS, format!("{parts} such parts are not one `{whole}`"))
                    .label(format!("each part must have {} bits", whole.bits() / parts.max(1)))
            }
            MismatchKind::Space { variable, expected } => {
                let variable = self.variable(variable);
                let (name, actual) = (&variable.name, space_name(variable.space));
                let message = match expected {
                    StateSpace::Generic => {
                        format!("generic addressing does not reach `{name}` in `.{actual}`")
                    }
                    _ => format!(
                        "`{text}` accesses `.{}`, but `{name}` is in `.{actual}`",
                        space_name(expected)
                    ),
                };
                error(codes::STATE_SPACE, message)
                    .label(format!("a `.{actual}` variable"))
                    .related(variable.span, "declared here")
            }
            MismatchKind::AddressRegister { found, bits } => {
                error(codes::ADDRESS_REGISTER, format!("a `{found}` register is no address of {bits} bits"))
                    .hint(format!("use a `.b{bits}`, `.u{bits}` or `.s{bits}` register"))
            }
            MismatchKind::Absolute => {
                error(codes::ABSOLUTE_ADDRESS, "only `.local` has constant addresses".to_owned())
                    .hint("put the address into a register")
            }
            MismatchKind::WrittenInput(id) => {
                let variable = self.variable(id);
                error(
                    codes::PARAMETER_DIRECTION,
                    format!("input parameter `{}` cannot be written", variable.name),
                )
                .related(variable.span, "declared here")
            }
            MismatchKind::ReadReturn(id) => {
                let variable = self.variable(id);
                error(
                    codes::PARAMETER_DIRECTION,
                    format!("return parameter `{}` cannot be read", variable.name),
                )
                .related(variable.span, "declared here")
            }
            MismatchKind::ParameterAddress => error(
                codes::PARAMETER_ADDRESS,
                "the address of an argument of a call cannot be taken".to_owned(),
            ),
        }
    }
}

fn space_name(space: StateSpace) -> &'static str {
    match space {
        StateSpace::Reg => "reg",
        StateSpace::Sreg => "sreg",
        StateSpace::Const => "const",
        StateSpace::Global => "global",
        StateSpace::Local => "local",
        StateSpace::ParamEntry | StateSpace::ParamFunc => "param",
        StateSpace::Shared => "shared",
        StateSpace::Tex => "tex",
        StateSpace::Generic => "generic",
    }
}

fn type_hint(expected: ScalarType, found: ScalarType) -> Option<String> {
    let numeric = |ty: ScalarType| !matches!(ty.kind(), TypeKind::Predicate | TypeKind::Opaque);
    if !numeric(expected) || !numeric(found) {
        return None;
    }
    Some(if expected.bits() != found.bits() {
        format!("the sizes differ: {} and {} bits", expected.bits(), found.bits())
    } else {
        format!("`mov.b{}` moves the bits between such registers", found.bits())
    })
}

fn constant_hint(expected: ScalarType, found: Constant) -> Option<String> {
    let integer = matches!(found, Constant::Signed(_) | Constant::Unsigned(_));
    match (expected, integer) {
        (ScalarType::F32, true) => Some("write `1.0` or the bits as `0f3F800000`".to_owned()),
        (ScalarType::F64, true) => Some("write `1.0` or the bits as `0d3FF0000000000000`".to_owned()),
        _ if expected.kind() == TypeKind::Float => {
            Some(format!("no constant can be a `{expected}`: move its bits into a register"))
        }
        (ScalarType::B32, false) => Some("write the bits as `0f3F800000`".to_owned()),
        (ScalarType::B64, false) => Some("write the bits as `0d3FF0000000000000`".to_owned()),
        _ => None,
    }
}
