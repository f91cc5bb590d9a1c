//! The table of parameters (guide, section 3.3).

use crate::data::{Host, Scalar, Side, Target, Type};
use ptx::types::ScalarType;

/// The largest alignment of a parameter.
pub(super) const MAX_ALIGNMENT: u64 = 128;
/// nvcc aligns arguments of more bytes than that to at least this, which the guide does not have.
const NVCC_LARGE: u64 = 128;
const NVCC_ALIGNMENT: u64 = 4;

/// Where a value is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// To a `.func`.
    Argument,
    /// From a `.func`.
    Result,
    /// To an `.entry`: as it lies in memory, since the host writes it.
    Kernel,
}

/// How a value is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// `.param .s32 name`
    Scalar {
        /// The declared type.
        ty: ScalarType,
        /// The value's own type, if it is shorter: the caller extends it.
        short: Option<ScalarType>,
    },
    /// `.param .align align .b8 name[size]`
    Bytes {
        /// Bytes.
        size: u64,
        /// Bytes.
        align: u64,
    },
}

impl Passed {
    /// The parameter called `name`, as PTX declares it.
    pub fn declaration(self, name: &str) -> String {
        match self {
            Self::Scalar { ty, .. } => format!(".param {ty} {name}"),
            Self::Bytes { size, align } => format!(".param .align {align} .b8 {name}[{size}]"),
        }
    }

    /// Its size and alignment.
    pub fn extent(self) -> (u64, u64) {
        match self {
            Self::Scalar { ty, .. } => (ty.bytes().into(), ty.bytes().into()),
            Self::Bytes { size, align } => (size, align),
        }
    }
}

/// How a value of a type is passed.
///
/// # Errors
/// If it cannot be: it has no size, a 16-bit float, or an alignment that parameters have not.
pub fn passed(ty: &Type, site: Site, target: Target) -> Result<Passed, String> {
    let host = target.host;
    let plain = |ty| Ok(Passed::Scalar { ty, short: None });
    match ty.plain() {
        Type::Scalar(Scalar::Half | Scalar::Bfloat16) => {
            Err(format!("`{ty}` is only for storage: pass a `__half`, which is a structure, or a `float`"))
        }
        Type::Scalar(Scalar::Int128 | Scalar::UnsignedInt128) => bytes(ty, site, target),
        Type::Scalar(scalar) | Type::Enum(_, scalar) => {
            let own = scalar.ptx(host);
            let wide = if scalar.is_signed(host) { ScalarType::S32 } else { ScalarType::U32 };
            match site {
                Site::Argument | Site::Result if own.bits() < 32 => {
                    Ok(Passed::Scalar { ty: wide, short: Some(own) })
                }
                Site::Argument | Site::Result | Site::Kernel => plain(own),
            }
        }
        Type::Pointer(_) => plain(match host {
            Host::Bits32 => ScalarType::U32,
            Host::Bits64 => ScalarType::U64,
        }),
        Type::Handle(_) => plain(ScalarType::B64),
        Type::Vector(..) | Type::Record(_) => bytes(ty, site, target),
        Type::Array(..) => Err("an array is not passed by value".into()),
        Type::Void | Type::Function | Type::Incomplete(_) | Type::Aligned(..) => {
            ty.extent(target).and(Err(format!("`{ty}` is not passed by value")))
        }
    }
}

fn bytes(ty: &Type, site: Site, target: Target) -> Result<Passed, String> {
    let extent = ty.extent(target)?;
    if extent.align > MAX_ALIGNMENT {
        let (align, most) = (extent.align, MAX_ALIGNMENT);
        return Err(format!("`{ty}` is aligned to {align}, parameters to {most} at most: pass a pointer"));
    }
    let raised = site == Site::Argument && target.side == Side::NvccDevice && extent.size > NVCC_LARGE;
    let align = if raised { extent.align.max(NVCC_ALIGNMENT) } else { extent.align };
    Ok(Passed::Bytes { size: extent.size, align })
}
