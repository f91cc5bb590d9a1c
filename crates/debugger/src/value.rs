//! Values: their types, where they are, and how they are written.

use crate::Error;
use crate::evaluate::Scene;
use debug_info::DebugInfo;
use debug_info::types::{Encoding, Member, Type, TypeId};
use ptx::module::RegId;
use ptx::types::{ScalarType, TypeKind};

/// Elements of an array that are shown, and structures within one another.
const MOST_ELEMENTS: u64 = 200;
const DEEPEST: u32 = 8;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    /// One that DWARF describes.
    Dwarf(TypeId),
    /// One of PTX.
    Scalar(ScalarType),
    /// So many of them, if it is known.
    Array(Box<Ty>, Option<u64>),
    /// A generic address.
    Pointer(Box<Ty>),
    /// CUDA's `uint3`.
    Dim3,
    /// None.
    Void,
}

/// What can be done with a type.
#[derive(Clone, Debug)]
pub(crate) enum Kind<'a> {
    Integer {
        signed: bool,
    },
    Float {
        bits: u32,
    },
    /// 16 bits of a type that is no IEEE format of C's.
    Half {
        brain: bool,
    },
    Boolean,
    Character {
        signed: bool,
    },
    Pointer(Option<Ty>),
    Structure(&'a [Member]),
    Array(Ty, Option<u64>),
    Enumeration(&'a [(String, i64)]),
    Dim3,
    Void,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Integer(i128),
    Float(f64),
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// At a generic address.
    Memory(u64),
    /// In a register of the activation, so many bytes behind its lowest one.
    Register {
        /// Which.
        register: RegId,
        /// Where in it.
        offset: usize,
        /// What is there.
        bytes: Vec<u8>,
    },
    /// Nowhere but here.
    Bytes(Vec<u8>),
    /// Nowhere, and why.
    Missing(String),
}

impl Where {
    /// So many bytes of it, behind so many others.
    pub(crate) fn part(&self, behind: usize, size: usize) -> Self {
        let of = |bytes: &[u8]| bytes.get(behind..behind.saturating_add(size)).unwrap_or_default().to_vec();
        match self {
            Self::Memory(address) => Self::Memory(address.wrapping_add(behind as u64)),
            Self::Register { register, offset, bytes } => {
                Self::Register { register: *register, offset: offset + behind, bytes: of(bytes) }
            }
            Self::Bytes(bytes) => Self::Bytes(of(bytes)),
            Self::Missing(why) => Self::Missing(why.clone()),
        }
    }
}

/// A value of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its type.
    pub ty: Ty,
    /// Where it is.
    pub place: Where,
}

impl Value {
    pub(crate) fn of_scalar(ty: ScalarType, value: u128) -> Self {
        let bytes = value.to_le_bytes()[..ty.bytes().max(1) as usize].to_vec();
        Self { ty: Ty::Scalar(ty), place: Where::Bytes(bytes) }
    }

    pub(crate) fn integer(value: i128) -> Self {
        let ty = match value {
            _ if i32::try_from(value).is_ok() => ScalarType::S32,
            _ if i64::try_from(value).is_ok() => ScalarType::S64,
            _ => ScalarType::U64,
        };
        Self::of_scalar(ty, value.cast_unsigned())
    }

    pub(crate) fn float(value: f64) -> Self {
        Self::of_scalar(ScalarType::F64, value.to_bits().into())
    }

    pub(crate) fn pointer(address: u64, to: Ty) -> Self {
        Self { ty: Ty::Pointer(Box::new(to)), place: Where::Bytes(address.to_le_bytes().to_vec()) }
    }
}

impl Number {
    pub(crate) fn of(kind: &Kind<'_>, bytes: &[u8]) -> Option<Self> {
        let mut word = [0; 16];
        let count = bytes.len().min(16);
        word[..count].copy_from_slice(&bytes[..count]);
        let bits = u128::from_le_bytes(word);
        let signed = |signed: bool| {
            let width = count as u32 * 8;
            let negative = signed && (1..128).contains(&width) && bits >> (width - 1) & 1 != 0;
            Self::Integer(if negative { bits | !0 << width } else { bits }.cast_signed())
        };
        Some(match kind {
            Kind::Integer { signed: is } | Kind::Character { signed: is } => signed(*is),
            Kind::Enumeration(_) => signed(true),
            Kind::Boolean | Kind::Pointer(_) => signed(false),
            Kind::Float { bits: 32 } => Self::Float(f32::from_bits(bits as u32).into()),
            Kind::Float { .. } => Self::Float(f64::from_bits(bits as u64)),
            Kind::Half { brain: true } => Self::Float(half::bf16::from_bits(bits as u16).to_f64()),
            Kind::Half { brain: false } => Self::Float(half::f16::from_bits(bits as u16).to_f64()),
            Kind::Structure(_) | Kind::Array(..) | Kind::Dim3 | Kind::Void => return None,
        })
    }

    /// The bytes of a value of a kind and a size that is this number; `None` if there is none.
    pub(crate) fn bytes(self, kind: &Kind<'_>, size: usize) -> Option<Vec<u8>> {
        match kind {
            Kind::Integer { .. } | Kind::Character { .. } | Kind::Pointer(_) | Kind::Enumeration(_) => {
                self.as_i128().to_le_bytes().get(..size).map(<[u8]>::to_vec)
            }
            Kind::Boolean => {
                let holds = match self {
                    Self::Integer(value) => value != 0,
                    Self::Float(value) => value != 0.0,
                };
                u128::from(holds).to_le_bytes().get(..size).map(<[u8]>::to_vec)
            }
            Kind::Float { bits: 32 } => Some((self.as_f64() as f32).to_le_bytes().to_vec()),
            Kind::Float { bits: 64 } => Some(self.as_f64().to_le_bytes().to_vec()),
            Kind::Half { brain: true } => Some(half::bf16::from_f64(self.as_f64()).to_le_bytes().to_vec()),
            Kind::Half { brain: false } => Some(half::f16::from_f64(self.as_f64()).to_le_bytes().to_vec()),
            Kind::Float { .. } | Kind::Structure(_) | Kind::Array(..) | Kind::Dim3 | Kind::Void => None,
        }
    }

    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    pub(crate) fn as_i128(self) -> i128 {
        match self {
            Self::Integer(value) => value,
            Self::Float(value) => value as i128,
        }
    }
}

/// What expressions ask of debug information.
pub(crate) trait Types {
    fn kind(&self, ty: &Ty) -> Kind<'_>;
    fn size_of_ty(&self, ty: &Ty) -> Option<u64>;
    fn ty_name(&self, ty: &Ty) -> String;
}

impl Types for DebugInfo {
    fn kind(&self, ty: &Ty) -> Kind<'_> {
        let id = match ty {
            Ty::Dwarf(id) => *id,
            Ty::Scalar(ty) => return scalar_kind(*ty),
            Ty::Array(element, count) => return Kind::Array((**element).clone(), *count),
            Ty::Pointer(to) => return Kind::Pointer(Some((**to).clone()).filter(|to| *to != Ty::Void)),
            Ty::Dim3 => return Kind::Dim3,
            Ty::Void => return Kind::Void,
        };
        match self.plain(id) {
            Some((_, Type::Base { size, encoding, .. })) => {
                let bits = (size * 8).min(128) as u32;
                match encoding {
                    Encoding::Signed => Kind::Integer { signed: true },
                    Encoding::Unsigned | Encoding::Other(_) => Kind::Integer { signed: false },
                    Encoding::Float if bits == 16 => Kind::Half { brain: false },
                    Encoding::Float => Kind::Float { bits },
                    Encoding::Boolean => Kind::Boolean,
                    Encoding::Character { signed } => Kind::Character { signed: *signed },
                }
            }
            Some((_, Type::Pointer { to, .. })) => {
                // A pointer to a type without a description points to `void`.
                let known =
                    to.filter(|to| self.plain(*to).is_some_and(|(_, ty)| !matches!(ty, Type::Other { .. })));
                Kind::Pointer(known.map(Ty::Dwarf))
            }
            Some((_, Type::Structure { members, .. })) => Kind::Structure(members),
            Some((_, Type::Array { element, counts })) => {
                let element = element.map_or(Ty::Void, Ty::Dwarf);
                let inner = counts.iter().skip(1).rev();
                let row = inner.fold(element, |row, count| Ty::Array(Box::new(row), *count));
                Kind::Array(row, counts.first().copied().flatten())
            }
            Some((_, Type::Enumeration { enumerators, .. })) => Kind::Enumeration(enumerators),
            Some((_, Type::Alias { .. } | Type::Qualified { .. } | Type::Other { .. })) | None => Kind::Void,
        }
    }

    fn size_of_ty(&self, ty: &Ty) -> Option<u64> {
        match ty {
            Ty::Dwarf(id) => self.size_of(*id),
            Ty::Scalar(ty) => Some(ty.bytes().max(1).into()),
            Ty::Array(element, count) => self.size_of_ty(element)?.checked_mul((*count)?),
            Ty::Pointer(_) => Some(8),
            Ty::Dim3 => Some(12),
            Ty::Void => None,
        }
    }

    fn ty_name(&self, ty: &Ty) -> String {
        match ty {
            Ty::Dwarf(id) => self.type_name(Some(*id)),
            Ty::Scalar(ty) => ty.to_string(),
            Ty::Array(element, count) => {
                format!(
                    "{}[{}]",
                    self.ty_name(element),
                    count.map_or(String::new(), |count| count.to_string())
                )
            }
            Ty::Pointer(to) => format!("{} *", self.ty_name(to)),
            Ty::Dim3 => "uint3".to_owned(),
            Ty::Void => "void".to_owned(),
        }
    }
}

fn scalar_kind(ty: ScalarType) -> Kind<'static> {
    match (ty.kind(), ty) {
        (_, ScalarType::F32 | ScalarType::Tf32) => Kind::Float { bits: 32 },
        (_, ScalarType::F64) => Kind::Float { bits: 64 },
        (_, ScalarType::F16) => Kind::Half { brain: false },
        (_, ScalarType::Bf16) => Kind::Half { brain: true },
        (TypeKind::Signed, _) => Kind::Integer { signed: true },
        (TypeKind::Predicate, _) => Kind::Boolean,
        // Packed values are shown as their bits.
        _ => Kind::Integer { signed: false },
    }
}

/// How numbers are written: `/x` and so on of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As their type has them.
    #[default]
    Natural,
    /// `x`
    Hexadecimal,
    /// `d`
    Decimal,
    /// `u`
    Unsigned,
    /// `t`
    Binary,
    /// `f`
    Float,
    /// `c`
    Character,
}

impl Format {
    /// The format of a letter.
    pub fn of(letter: char) -> Option<Self> {
        Some(match letter {
            'x' | 'a' => Self::Hexadecimal,
            'd' => Self::Decimal,
            'u' => Self::Unsigned,
            't' => Self::Binary,
            'f' => Self::Float,
            'c' => Self::Character,
            _ => return None,
        })
    }
}

impl Scene<'_> {
    /// A value as text.
    ///
    /// # Errors
    /// If it is nowhere, or memory cannot be read there.
    pub fn text(&self, value: &Value, format: Format) -> Result<String, Error> {
        self.text_within(value, format, 0)
    }

    fn text_within(&self, value: &Value, format: Format, deep: u32) -> Result<String, Error> {
        let info = &self.symbols.info;
        if let Where::Missing(why) = &value.place {
            return Ok(why.clone());
        }
        if deep > DEEPEST {
            return Ok("{...}".to_owned());
        }
        match info.kind(&value.ty) {
            Kind::Structure(members) => {
                let texts = members.iter().map(|member| {
                    let part = self.part(value, member, member.offset)?;
                    let text = self.text_within(&part, format, deep + 1)?;
                    Ok(match &member.name {
                        Some(name) => format!("{name} = {text}"),
                        None => text,
                    })
                });
                Ok(format!("{{{}}}", texts.collect::<Result<Vec<_>, Error>>()?.join(", ")))
            }
            Kind::Array(element, count) => {
                let count = count.unwrap_or(1);
                let shown = count.min(MOST_ELEMENTS);
                let texts = (0..shown).map(|index| {
                    let index = self.evaluate_element(value, &element, index)?;
                    self.text_within(&index, format, deep + 1)
                });
                let rest = if shown < count { "..." } else { "" };
                Ok(format!("{{{}{rest}}}", texts.collect::<Result<Vec<_>, Error>>()?.join(", ")))
            }
            Kind::Dim3 => {
                let bytes = self.bytes(value)?;
                let numbers = bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
                let names = ["x", "y", "z"].into_iter().zip(numbers);
                let texts: Vec<_> = names.map(|(name, number)| format!("{name} = {number}")).collect();
                Ok(format!("{{{}}}", texts.join(", ")))
            }
            Kind::Void => Ok("void".to_owned()),
            kind => {
                let bytes = self.bytes(value)?;
                Ok(scalar_text(&kind, &bytes, format))
            }
        }
    }

    /// Whether a value has parts.
    pub(crate) fn has_parts(&self, value: &Value) -> bool {
        let kind = self.symbols.info.kind(&value.ty);
        let missing = matches!(value.place, Where::Missing(_));
        !missing && matches!(kind, Kind::Structure(_) | Kind::Array(..) | Kind::Pointer(Some(_)))
    }

    /// The parts of a value by name: `a`, `[3]`, `*`.
    pub(crate) fn parts(&self, value: &Value) -> Result<Vec<(String, Value)>, Error> {
        match self.symbols.info.kind(&value.ty) {
            Kind::Structure(members) => {
                let part = |member: &Member| {
                    let name = member.name.clone().unwrap_or_else(|| "<base>".to_owned());
                    Ok((name, self.part(value, member, member.offset)?))
                };
                members.iter().map(part).collect()
            }
            Kind::Array(element, count) => {
                let count = count.unwrap_or(1).min(MOST_ELEMENTS);
                let part = |index| Ok((format!("[{index}]"), self.evaluate_element(value, &element, index)?));
                (0..count).map(part).collect()
            }
            Kind::Pointer(Some(to)) => {
                let address = self.number(value)?.as_i128() as u64;
                Ok(vec![("*".to_owned(), Value { ty: to, place: Where::Memory(address) })])
            }
            _ => Ok(Vec::new()),
        }
    }

    fn evaluate_element(&self, array: &Value, element: &Ty, index: u64) -> Result<Value, Error> {
        let size = self.symbols.info.size_of_ty(element).unwrap_or(0);
        let at = index.saturating_mul(size);
        let place = match &array.place {
            Where::Memory(address) => Where::Memory(address.wrapping_add(at)),
            Where::Register { .. } | Where::Bytes(_) => array.place.part(at as usize, size as usize),
            Where::Missing(why) => return Err(Error::Expression(why.clone())),
        };
        Ok(Value { ty: element.clone(), place })
    }
}

/// A scalar as text.
fn scalar_text(kind: &Kind<'_>, bytes: &[u8], format: Format) -> String {
    let mut word = [0; 16];
    let count = bytes.len().min(16);
    word[..count].copy_from_slice(&bytes[..count]);
    let bits = u128::from_le_bytes(word);
    let number = Number::of(kind, bytes);
    match format {
        Format::Hexadecimal => return format!("{bits:#x}"),
        Format::Binary => return format!("{bits:b}"),
        Format::Unsigned => return bits.to_string(),
        Format::Decimal => return number.map_or(bits.cast_signed(), Number::as_i128).to_string(),
        Format::Float => {
            return match count {
                2 => half::f16::from_bits(bits as u16).to_string(),
                4 => f32::from_bits(bits as u32).to_string(),
                8 => f64::from_bits(bits as u64).to_string(),
                _ => bits.to_string(),
            };
        }
        Format::Character => return format!("{} '{}'", bits, (bits as u8 as char).escape_default()),
        Format::Natural => {}
    }
    match (kind, number) {
        (Kind::Boolean, _) => (bits != 0).to_string(),
        (Kind::Pointer(_), _) => format!("{bits:#x}"),
        (Kind::Character { .. }, Some(number)) => {
            format!("{} '{}'", number.as_i128(), (bits as u8 as char).escape_default())
        }
        (Kind::Enumeration(names), Some(number)) => {
            let value = number.as_i128();
            let name = names.iter().find(|(_, known)| i128::from(*known) == value);
            name.map_or_else(|| value.to_string(), |(name, _)| name.clone())
        }
        (Kind::Float { bits: 32 }, _) => f32::from_bits(bits as u32).to_string(),
        (_, Some(Number::Integer(value))) => value.to_string(),
        (_, Some(Number::Float(value))) => value.to_string(),
        (_, None) => bits.to_string(),
    }
}
