//! Types: sizes and alignments of scalars, pointers, handles, native vectors and arrays (guide, sections 2.1, 2.2, 2.4).

use super::record::Record;
use ptx::types::{ScalarType, TypeKind};
use std::fmt;
use std::rc::Rc;

/// The host that a program is compiled with: it decides the sizes of `long` and of pointers. Addresses of local and
/// shared memory have 32 bits in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// ILP32: `int`, `long` and pointers of 4 bytes. As the guide has it, 8-byte types are aligned to 8, which C
    /// compilers for i386 do with `-malign-double`.
    Bits32,
    /// LP64: `long` and pointers of 8 bytes.
    Bits64,
}

impl Host {
    /// Bytes of a pointer, and of `long`.
    pub fn word(self) -> u64 {
        match self {
            Self::Bits32 => 4,
            Self::Bits64 => 8,
        }
    }

    /// The operand of `.address_size`.
    pub fn address_size(self) -> u32 {
        match self {
            Self::Bits32 => 32,
            Self::Bits64 => 64,
        }
    }
}

/// Whose rules count where compilers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// GNU C: gcc, clang on both sides, nvcc for the host.
    Gnu,
    /// nvcc for the device.
    NvccDevice,
}

/// What layouts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Target {
    pub host: Host,
    pub side: Side,
}

impl From<Host> for Target {
    fn from(host: Host) -> Self {
        Self { host, side: Side::Gnu }
    }
}

/// An arithmetic type of C, of CUDA's headers, or of GNU C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool,
    Char,
    SignedChar,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Int128,
    UnsignedInt128,
    /// `_Float16` and the like: for storage only.
    Half,
    /// `__bf16`: for storage only.
    Bfloat16,
    Float,
    Double,
}

impl Scalar {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Bool,
        Self::Char,
        Self::SignedChar,
        Self::UnsignedChar,
        Self::Short,
        Self::UnsignedShort,
        Self::Int,
        Self::UnsignedInt,
        Self::Long,
        Self::UnsignedLong,
        Self::LongLong,
        Self::UnsignedLongLong,
        Self::Int128,
        Self::UnsignedInt128,
        Self::Half,
        Self::Bfloat16,
        Self::Float,
        Self::Double,
    ];

    /// The type of PTX with this size, alignment and meaning.
    pub fn ptx(self, host: Host) -> ScalarType {
        use ScalarType::*;
        match (self, host) {
            (Self::Bool | Self::UnsignedChar, _) => U8,
            // "Plain" is signed.
            (Self::Char | Self::SignedChar, _) => S8,
            (Self::Short, _) => S16,
            (Self::UnsignedShort, _) => U16,
            (Self::Int, _) | (Self::Long, Host::Bits32) => S32,
            (Self::UnsignedInt, _) | (Self::UnsignedLong, Host::Bits32) => U32,
            (Self::LongLong, _) | (Self::Long, Host::Bits64) => S64,
            (Self::UnsignedLongLong, _) | (Self::UnsignedLong, Host::Bits64) => U64,
            (Self::Int128 | Self::UnsignedInt128, _) => B128,
            (Self::Half, _) => F16,
            (Self::Bfloat16, _) => Bf16,
            (Self::Float, _) => F32,
            (Self::Double, _) => F64,
        }
    }

    /// Bytes, which are the alignment too.
    pub fn size(self, host: Host) -> u64 {
        self.ptx(host).bytes().into()
    }

    /// Whether it is an integer type, so that it may be a bit field.
    pub fn is_integer(self, host: Host) -> bool {
        self.ptx(host).kind() != TypeKind::Float
    }

    /// Whether it is an integer type with negative values.
    pub fn is_signed(self, host: Host) -> bool {
        self == Self::Int128 || self.ptx(host).kind() == TypeKind::Signed
    }

    /// As C spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Char => "char",
            Self::SignedChar => "signed char",
            Self::UnsignedChar => "unsigned char",
            Self::Short => "short",
            Self::UnsignedShort => "unsigned short",
            Self::Int => "int",
            Self::UnsignedInt => "unsigned int",
            Self::Long => "long",
            Self::UnsignedLong => "unsigned long",
            Self::LongLong => "long long",
            Self::UnsignedLongLong => "unsigned long long",
            Self::Int128 => "__int128",
            Self::UnsignedInt128 => "unsigned __int128",
            Self::Half => "_Float16",
            Self::Bfloat16 => "__bf16",
            Self::Float => "float",
            Self::Double => "double",
        }
    }
}

/// What an opaque handle of 64 bits stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Handle {
    Texture,
    Sampler,
    Surface,
}

impl Handle {
    /// The opaque type of PTX that it is a handle of.
    pub fn opaque(self) -> ScalarType {
        match self {
            Self::Texture => ScalarType::TexRef,
            Self::Sampler => ScalarType::SamplerRef,
            Self::Surface => ScalarType::SurfRef,
        }
    }
}

/// A type.
#[derive(Clone, Debug)]
pub enum Type {
    /// No value at all.
    Void,
    /// An arithmetic type.
    Scalar(Scalar),
    /// A generic address; to what does not matter to its layout.
    Pointer(Box<Type>),
    /// A handle of a texture, sampler or surface: 64 bits on every host.
    Handle(Handle),
    /// An enumeration: its name, and the integer type that holds its values.
    Enum(String, Scalar),
    /// A native vector such as `float4`: its name, its elements' type and their number.
    Vector(String, Scalar, u64),
    /// An array; no length for one that an object may continue with.
    Array(Box<Type>, Option<u64>),
    /// A structure or union.
    Record(Rc<Record>),
    /// A structure or union whose members are unknown.
    Incomplete(String),
    /// A function, which has no size.
    Function,
    /// A `typedef` with an alignment of its own.
    Aligned(Box<Type>, u64),
}

/// Bytes and alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Extent {
    pub size: u64,
    pub align: u64,
}

/// The most bytes that an object may have.
pub const MAX_SIZE: u64 = 1 << 47;

impl Type {
    /// Its size and alignment, or why it has none.
    ///
    /// # Errors
    /// For `void`, functions, what is incomplete, and what is too large.
    pub fn extent(&self, target: Target) -> Result<Extent, String> {
        let host = target.host;
        let both = |size| Ok(Extent { size, align: size });
        match self {
            Self::Void => Err("`void` has no size".into()),
            Self::Function => Err("a function has no size".into()),
            Self::Incomplete(name) => Err(format!("`{name}` is not defined")),
            Self::Scalar(scalar) | Self::Enum(_, scalar) => both(scalar.size(host)),
            Self::Pointer(_) => both(host.word()),
            Self::Handle(handle) => both(handle.opaque().bytes().into()),
            Self::Vector(_, scalar, count) => {
                let element = scalar.size(host);
                Ok(Extent { size: element * count, align: vector_alignment(element, *count) })
            }
            Self::Array(element, count) => {
                let Extent { size, align } = element.extent(target)?;
                if size % align != 0 {
                    return Err(format!("elements of {size} bytes cannot all be aligned to {align}"));
                }
                let bytes = size.checked_mul(count.unwrap_or(0)).filter(|bytes| *bytes <= MAX_SIZE);
                Ok(Extent { size: bytes.ok_or("the array is too large")?, align })
            }
            Self::Record(record) => Ok(Extent { size: record.layout().size, align: record.layout().align }),
            Self::Aligned(ty, align) => Ok(Extent { align: *align, ..ty.extent(target)? }),
        }
    }

    /// The type behind alignments of `typedef`s.
    pub fn plain(&self) -> &Self {
        match self {
            Self::Aligned(ty, _) => ty.plain(),
            other => other,
        }
    }

    /// The integer type that a bit field of this type is made of.
    pub fn bit_field_scalar(&self, host: Host) -> Option<Scalar> {
        match self.plain() {
            Self::Scalar(scalar) | Self::Enum(_, scalar) => scalar.is_integer(host).then_some(*scalar),
            _ => None,
        }
    }
}

/// The alignment of a native vector (guide, 2.2): that of its elements if their number is odd, else of all of them.
pub fn vector_alignment(element: u64, count: u64) -> u64 {
    if count % 2 == 1 { element } else { element * count }
}

impl fmt::Display for Type {
    /// As C writes it in a declaration without a name: `int (*)[4]` comes as `int[4] *`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void => f.write_str("void"),
            Self::Scalar(scalar) => f.write_str(scalar.name()),
            Self::Pointer(to) => write!(f, "{to} *"),
            Self::Handle(Handle::Texture) => f.write_str("cudaTextureObject_t"),
            Self::Handle(Handle::Sampler) => f.write_str("sampler handle"),
            Self::Handle(Handle::Surface) => f.write_str("cudaSurfaceObject_t"),
            Self::Enum(name, _) => write!(f, "enum {name}"),
            Self::Vector(name, ..) => f.write_str(name),
            Self::Array(..) => {
                let (mut element, mut counts) = (self, String::new());
                while let Self::Array(inner, count) = element {
                    counts += &count.map_or("[]".into(), |count| format!("[{count}]"));
                    element = inner;
                }
                write!(f, "{element}{counts}")
            }
            Self::Record(record) => f.write_str(&record.title()),
            Self::Incomplete(name) => f.write_str(name),
            Self::Function => f.write_str("function"),
            Self::Aligned(ty, _) => write!(f, "{ty}"),
        }
    }
}
