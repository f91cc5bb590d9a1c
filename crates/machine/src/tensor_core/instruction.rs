//! The instruction descriptor of `tcgen05.mma`: shapes, types and details of a product (PTX ISA, "Instruction
//! descriptor").

use ir::instruction::Tcgen05MmaKind as Kind;
use numerics::tensor::{Accumulator, Operand, Scale};

/// What an instruction says besides its descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) kind: Kind,
    pub(crate) sparse: bool,
    /// Weight-stationary (`.ws`).
    pub(crate) stationary: bool,
    /// CTAs that compute it together.
    pub(crate) ctas: u32,
    /// Scale factors of a row along k, without block scaling none.
    pub(crate) scales: u32,
}

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) d: Accumulator,
    pub(crate) negates: [bool; 2],
    /// Whether A and B are MN-major.
    pub(crate) transposed: [bool; 2],
    pub(crate) saturates: bool,
    /// Which columns hold the sparsity metadata.
    pub(crate) selector: u32,
    pub(crate) scale: Scale,
    /// Where in their words the scale factors of A and B begin, in bytes.
    pub(crate) scale_bytes: [u32; 2],
}

/// A format of `.kind::f8f6f4` and `.kind::mxf8f6f4`.
fn narrow(field: u32) -> Option<Operand> {
    match field {
        0 => Some(Operand::E4m3),
        1 => Some(Operand::E5m2),
        3 => Some(Operand::E2m3),
        4 => Some(Operand::E3m2),
        5 => Some(Operand::E2m1),
        _ => None,
    }
}

impl Instruction {
    /// What a descriptor says for a form, or what is wrong with it.
    pub(crate) fn new(bits: u32, form: &Form) -> Result<Self, String> {
        let field = |low: u32, bits_of_field: u32| bits >> low & ((1 << bits_of_field) - 1);
        let flag = |bit: u32| bits >> bit & 1 != 0;
        let scaled = matches!(form.kind, Kind::KindMxf8f6f4 | Kind::KindMxf4 | Kind::KindMxf4nvf4);
        let [a, b] = [
            field(7, 3),
            if scaled && form.kind != Kind::KindMxf8f6f4 { field(10, 2) } else { field(10, 3) },
        ]
        .map(|ty| factor(form.kind, ty));
        let (Some(a), Some(b)) = (a, b) else {
            return Err("an element type that its kind has not".to_owned());
        };
        let d = match (form.kind, field(4, 2)) {
            (Kind::KindI8, 2) => Accumulator::S32,
            (Kind::KindF16 | Kind::KindF8f6f4, 0) => Accumulator::F16,
            (Kind::KindF16 | Kind::KindF8f6f4 | Kind::KindTf32, 1) => Accumulator::F32,
            _ if scaled => Accumulator::F32,
            (_, ty) => return Err(format!("type {ty} of D, which its kind has not")),
        };
        if flag(2) != form.sparse {
            return Err(format!("a {} product", if form.sparse { "dense" } else { "sparse" }));
        }
        if !scaled && flag(31) | flag(30) && !form.stationary {
            return Err("a shift of B without .ws".to_owned());
        }
        let m = if scaled { field(27, 2) << 7 } else { field(24, 5) << 4 };
        let n = field(17, 6) << 3;
        let k = depth(form, scaled && flag(31))?;
        shape(form, m, n)?;
        Ok(Self {
            m,
            n,
            k,
            a,
            b,
            d,
            negates: [flag(13), flag(14)],
            transposed: [flag(15), flag(16)],
            saturates: !scaled && flag(3),
            selector: if scaled { 0 } else { field(0, 2) },
            scale: if flag(23) { Scale::Ue8m0 } else { Scale::Ue4m3 },
            scale_bytes: [field(29, 2), field(4, 2)],
        })
    }
}

/// The type of a factor.
fn factor(kind: Kind, field: u32) -> Option<Operand> {
    match (kind, field) {
        (Kind::KindF16, 0) => Some(Operand::F16),
        (Kind::KindF16, 1) => Some(Operand::Bf16),
        (Kind::KindTf32, 2) => Some(Operand::Tf32),
        (Kind::KindI8, 0) => Some(Operand::U8),
        (Kind::KindI8, 1) => Some(Operand::S8),
        (Kind::KindF8f6f4 | Kind::KindMxf8f6f4, field) => narrow(field),
        (Kind::KindMxf4 | Kind::KindMxf4nvf4, 1) => Some(Operand::PackedE2m1),
        _ => None,
    }
}

/// The size along k of a form.
fn depth(form: &Form, longer: bool) -> Result<u32, String> {
    let dense = match form.kind {
        Kind::KindTf32 => 8,
        Kind::KindF16 => 16,
        Kind::KindF8f6f4 | Kind::KindI8 | Kind::KindMxf8f6f4 => 32,
        Kind::KindMxf4 | Kind::KindMxf4nvf4 => 64,
    };
    match longer {
        // The manual shows only in figures where the scale factors of these are.
        true => Err("96 elements along k, which are not executed".to_owned()),
        false => Ok(if form.sparse { 2 * dense } else { dense }),
    }
}

/// Refuses sizes that a form has not (PTX ISA, "Matrix Shape").
fn shape(form: &Form, m: u32, n: u32) -> Result<(), String> {
    let whole = |step: u32, least: u32| n >= least && n <= 256 && n.is_multiple_of(step);
    let valid = match (form.stationary, form.ctas, form.scales > 0, m) {
        (true, _, _, 32 | 64 | 128) => matches!(n, 64 | 128 | 256),
        (false, 1, false, 64) => whole(8, 8),
        (false, 1, false, 128) => whole(16, 16),
        (false, 1, true, 128) => whole(8, 8),
        (false, 2, _, 128 | 256) => whole(16, 16),
        _ => false,
    };
    valid.then_some(()).ok_or_else(|| format!("a product of {m} by {n}"))
}
