//! Types that CUDA and the C library declare in headers, by name, and numbers as C writes them.

use crate::data::types::Handle;
use crate::data::{Scalar, Type};

/// What stands for `__int128` and `unsigned __int128` in a prepared text.
pub(super) const INT128: &str = "__s128";
pub(super) const UINT128: &str = "__u128";

/// Names of one scalar each. What depends on the host is a `long`.
const SCALARS: [(&str, Scalar); 32] = [
    (INT128, Scalar::Int128),
    (UINT128, Scalar::UnsignedInt128),
    ("__int128", Scalar::Int128),
    ("__int128_t", Scalar::Int128),
    ("__uint128_t", Scalar::UnsignedInt128),
    ("bool", Scalar::Bool),
    ("int8_t", Scalar::SignedChar),
    ("uint8_t", Scalar::UnsignedChar),
    ("int16_t", Scalar::Short),
    ("uint16_t", Scalar::UnsignedShort),
    ("int32_t", Scalar::Int),
    ("uint32_t", Scalar::UnsignedInt),
    ("int64_t", Scalar::LongLong),
    ("uint64_t", Scalar::UnsignedLongLong),
    ("size_t", Scalar::UnsignedLong),
    ("ssize_t", Scalar::Long),
    ("ptrdiff_t", Scalar::Long),
    ("intptr_t", Scalar::Long),
    ("uintptr_t", Scalar::UnsignedLong),
    ("intmax_t", Scalar::LongLong),
    ("uintmax_t", Scalar::UnsignedLongLong),
    ("wchar_t", Scalar::Int),
    ("char16_t", Scalar::UnsignedShort),
    ("char32_t", Scalar::UnsignedInt),
    ("uchar", Scalar::UnsignedChar),
    ("ushort", Scalar::UnsignedShort),
    ("uint", Scalar::UnsignedInt),
    ("ulong", Scalar::UnsignedLong),
    ("_Float16", Scalar::Half),
    ("__fp16", Scalar::Half),
    ("__bf16", Scalar::Bfloat16),
    ("clock_t", Scalar::Long),
];

/// The elements of CUDA's vector types: `char1` to `char4` and so on. The guide has vectors of at most two elements of 8
/// bytes; what CUDA's headers have of more are structures.
const ELEMENTS: [(&str, Scalar); 12] = [
    ("char", Scalar::SignedChar),
    ("uchar", Scalar::UnsignedChar),
    ("short", Scalar::Short),
    ("ushort", Scalar::UnsignedShort),
    ("int", Scalar::Int),
    ("uint", Scalar::UnsignedInt),
    ("long", Scalar::Long),
    ("ulong", Scalar::UnsignedLong),
    ("longlong", Scalar::LongLong),
    ("ulonglong", Scalar::UnsignedLongLong),
    ("float", Scalar::Float),
    ("double", Scalar::Double),
];

/// 16 and 8-bit floats, which CUDA's headers make structures of one integer, or of two elements: bytes and alignment.
const STRUCTURES: [(&str, Scalar, u64); 8] = [
    ("__half", Scalar::UnsignedShort, 1),
    ("half", Scalar::UnsignedShort, 1),
    ("__nv_bfloat16", Scalar::UnsignedShort, 1),
    ("__half2", Scalar::UnsignedShort, 2),
    ("half2", Scalar::UnsignedShort, 2),
    ("__nv_bfloat162", Scalar::UnsignedShort, 2),
    ("__nv_fp8_e4m3", Scalar::UnsignedChar, 1),
    ("__nv_fp8_e5m2", Scalar::UnsignedChar, 1),
];

const HANDLES: [(&str, Handle); 2] =
    [("cudaTextureObject_t", Handle::Texture), ("cudaSurfaceObject_t", Handle::Surface)];

/// The type that headers declare under a name.
pub(super) fn builtin(name: &str) -> Option<Type> {
    let scalar = SCALARS.iter().find(|(known, _)| *known == name).map(|(_, scalar)| Type::Scalar(*scalar));
    let spelled = || Scalar::ALL.into_iter().find(|scalar| scalar.name() == name).map(Type::Scalar);
    let handle = || HANDLES.iter().find(|(known, _)| *known == name).map(|(_, handle)| Type::Handle(*handle));
    let structure = || {
        let row = STRUCTURES.iter().find(|(known, ..)| *known == name);
        row.map(|(_, scalar, count)| Type::Vector(name.to_owned(), *scalar, *count))
    };
    scalar.or_else(spelled).or_else(handle).or_else(structure).or_else(|| vector(name))
}

/// CUDA's vector types.
pub fn vectors() -> impl Iterator<Item = Type> {
    let named = ELEMENTS.iter().flat_map(|(element, _)| {
        ["1", "2", "3", "4", "4_16a", "4_32a"].into_iter().map(move |count| format!("{element}{count}"))
    });
    named.filter_map(|name| vector(&name))
}

/// `float4`, and what CUDA 13 calls `double4_16a`.
fn vector(name: &str) -> Option<Type> {
    if name == "dim3" {
        return Some(Type::Vector(name.to_owned(), Scalar::UnsignedInt, 3));
    }
    let (base, suffix) = name.split_once('_').map_or((name, None), |(base, suffix)| (base, Some(suffix)));
    let element = base.trim_end_matches(|c: char| c.is_ascii_digit());
    let count: u64 = base[element.len()..].parse().ok().filter(|count| (1..=4).contains(count))?;
    let (_, scalar) = ELEMENTS.iter().find(|(known, _)| *known == element)?;
    // Elements of 8 bytes; of `long`, which has 8 on one host, CUDA aligns alike.
    let wide = matches!(scalar, Scalar::Double | Scalar::LongLong | Scalar::UnsignedLongLong);
    let wide = wide || matches!(scalar, Scalar::Long | Scalar::UnsignedLong);
    let whole = Type::Vector(name.to_owned(), *scalar, count);
    match (suffix, wide && count == 4) {
        (None, true) => Some(Type::Aligned(Box::new(whole), 16)),
        (Some("16a"), true) => Some(Type::Aligned(Box::new(whole), 16)),
        (Some("32a"), true) => Some(Type::Aligned(Box::new(whole), 32)),
        (None, false) => Some(whole),
        _ => None,
    }
}

/// An integer as C writes it: decimal, octal, hexadecimal or binary, with any suffix.
pub(super) fn integer(text: &str) -> Option<i128> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest.trim_start()));
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let lower = digits.to_ascii_lowercase();
    let value = match lower.as_bytes() {
        [b'0', b'x', ..] => i128::from_str_radix(&lower[2..], 16),
        [b'0', b'b', ..] => i128::from_str_radix(&lower[2..], 2),
        [b'0', _, ..] => i128::from_str_radix(&lower[1..], 8),
        _ if lower.starts_with(['+', '-']) => return None,
        _ => lower.parse(),
    };
    value.ok().map(|value| if negative { -value } else { value })
}
