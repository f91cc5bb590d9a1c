//! From specifiers and declarators to types.

use super::declarations::Reader;
use super::{Located, names};
use crate::data::types::Extent;
use crate::data::{Attributes, Kind, Member, Record, Scalar, Type};
use lang_c::ast::{
    ArraySize, Declarator, DeclaratorKind, DerivedDeclarator, EnumType, SpecifierQualifier,
    StructDeclaration, StructField, StructKind, StructType, TypeName, TypeSpecifier,
};
use lang_c::span::Node;
use std::rc::Rc;

impl Reader {
    /// A type's size and alignment.
    pub(super) fn extent(&self, ty: &Type, at: usize) -> Result<Extent, Located> {
        ty.extent(self.target).map_err(|problem| Located::new(at, problem))
    }

    /// The type of `sizeof (type)` and the like.
    pub(super) fn type_name(&mut self, name: &Node<TypeName>) -> Result<Type, Located> {
        let base = self.base(qualified(&name.node.specifiers), name.span.start)?;
        match &name.node.declarator {
            Some(declarator) => self.declared(base, declarator),
            None => Ok(base),
        }
    }

    /// The type that a list of specifiers names.
    pub(super) fn base<'n>(
        &mut self,
        specifiers: impl Iterator<Item = &'n Node<TypeSpecifier>>,
        at: usize,
    ) -> Result<Type, Located> {
        let (mut words, mut found) = (Words::default(), None);
        for specifier in specifiers {
            let start = specifier.span.start;
            let fail = |message: &str| Err(Located::new(start, message));
            match &specifier.node {
                TypeSpecifier::Void => found = Some(Type::Void),
                TypeSpecifier::Char => words.char = true,
                TypeSpecifier::Short => words.short = true,
                TypeSpecifier::Int => words.int = true,
                TypeSpecifier::Long => words.longs += 1,
                TypeSpecifier::Float => words.float = true,
                TypeSpecifier::Double => words.double = true,
                TypeSpecifier::Signed => words.signed = true,
                TypeSpecifier::Unsigned => words.unsigned = true,
                TypeSpecifier::Bool => found = Some(Type::Scalar(Scalar::Bool)),
                TypeSpecifier::Struct(record) => found = Some(self.record_type(record)?),
                TypeSpecifier::Enum(enumeration) => found = Some(self.enumeration(enumeration)?),
                TypeSpecifier::TypedefName(name) => {
                    let name = &name.node.name;
                    let known = self.typedefs.get(name).cloned().or_else(|| names::builtin(name));
                    found =
                        Some(known.ok_or_else(|| Located::new(start, format!("`{name}` is not a type")))?);
                }
                TypeSpecifier::Complex => return fail("complex numbers have no type in PTX"),
                TypeSpecifier::Atomic(_) => return fail("`_Atomic` is not understood"),
                TypeSpecifier::TypeOf(_) => return fail("`typeof` is not understood"),
                TypeSpecifier::TS18661Float(float) => match float.width {
                    16 => found = Some(Type::Scalar(Scalar::Half)),
                    32 => found = Some(Type::Scalar(Scalar::Float)),
                    64 => found = Some(Type::Scalar(Scalar::Double)),
                    _ => return fail("this floating-point type has none in PTX"),
                },
            }
        }
        match (found, words == Words::default()) {
            (Some(ty), true) => Ok(ty),
            (None, false) => words.scalar().map(Type::Scalar).map_err(|message| Located::new(at, message)),
            _ => Err(Located::new(at, "these words are not a type")),
        }
    }

    /// The type of what a declarator declares.
    pub(super) fn declared(&mut self, base: Type, declarator: &Node<Declarator>) -> Result<Type, Located> {
        let at = declarator.span.start;
        let mut ty = base;
        let mut suffixes = Vec::new();
        for derived in &declarator.node.derived {
            match &derived.node {
                DerivedDeclarator::Pointer(_) => ty = Type::Pointer(Box::new(ty)),
                other => suffixes.push(other),
            }
        }
        for suffix in suffixes.into_iter().rev() {
            ty = match suffix {
                DerivedDeclarator::Array(array) => {
                    let count = match &array.node.size {
                        ArraySize::Unknown => None,
                        ArraySize::VariableUnknown => return Err(Located::new(at, "the array has no size")),
                        ArraySize::VariableExpression(size) | ArraySize::StaticExpression(size) => {
                            let count = u64::try_from(self.constant(size)?);
                            Some(count.map_err(|_| Located::new(size.span.start, "a negative size"))?)
                        }
                    };
                    if count == Some(0) {
                        return Err(Located::new(at, "an array without elements"));
                    }
                    Type::Array(Box::new(ty), count)
                }
                DerivedDeclarator::Function(_) | DerivedDeclarator::KRFunction(_) => Type::Function,
                DerivedDeclarator::Pointer(_) | DerivedDeclarator::Block(_) => {
                    return Err(Located::new(at, "this declarator is not understood"));
                }
            };
        }
        match &declarator.node.kind.node {
            DeclaratorKind::Declarator(inner) => self.declared(ty, inner),
            DeclaratorKind::Abstract | DeclaratorKind::Identifier(_) => Ok(ty),
        }
    }

    fn record_type(&mut self, record: &Node<StructType>) -> Result<Type, Located> {
        let kind = match record.node.kind.node {
            StructKind::Struct => Kind::Struct,
            StructKind::Union => Kind::Union,
        };
        let name = record.node.identifier.as_ref().map(|name| name.node.name.clone());
        let Some(declarations) = &record.node.declarations else {
            let name = name.ok_or_else(|| Located::new(record.span.start, "no name and no members"))?;
            let known = self.tags.get(&name).cloned();
            return Ok(known.unwrap_or_else(|| Type::Incomplete(format!("{} {name}", kind.keyword()))));
        };
        self.depth += 1;
        let mut members = Vec::new();
        let mut from = record.span.start;
        for declaration in declarations {
            if let StructDeclaration::Field(field) = &declaration.node {
                self.field(field, from, &mut members)?;
            }
            from = self.end_of(declaration.span.end);
        }
        self.depth -= 1;
        let attributes = self.prepared.of_tags.get(&record.span.start).copied().unwrap_or_default();
        let made = Record::new(kind, name.clone(), members, attributes, self.target);
        let made = Rc::new(made.map_err(|problem| Located::new(record.span.start, problem))?);
        let ty = Type::Record(Rc::clone(&made));
        if let Some(name) = name {
            if matches!(self.tags.get(&name), Some(Type::Record(_))) {
                return Err(Located::new(record.span.start, format!("`{name}` is defined twice")));
            }
            self.tags.insert(name, ty.clone());
        }
        if self.depth == 0 {
            self.records.push(made);
        }
        Ok(ty)
    }

    fn field(
        &mut self,
        field: &Node<StructField>,
        from: usize,
        members: &mut Vec<Member>,
    ) -> Result<(), Located> {
        let at = field.span.start;
        let base = self.base(qualified(&field.node.specifiers), at)?;
        let end = self.end_of(field.span.end);
        let starts: Vec<usize> =
            field.node.declarators.iter().map(|declarator| declarator.span.start).collect();
        let attributes = self.attributes(from, end, &starts);
        if field.node.declarators.is_empty() {
            if let Type::Record(record) = &base
                && record.name().is_none()
            {
                members.push(Member { name: None, ty: base, bits: None, attributes: attributes.of_all });
            }
            return Ok(());
        }
        for (declarator, own) in field.node.declarators.iter().zip(attributes.of_each) {
            let (name, ty) = match &declarator.node.declarator {
                Some(inner) => (identifier(inner), self.declared(base.clone(), inner)?),
                None => (None, base.clone()),
            };
            let bits = match &declarator.node.bit_width {
                Some(width) => {
                    let bits = u64::try_from(self.constant(width)?);
                    Some(bits.map_err(|_| Located::new(width.span.start, "a negative width"))?)
                }
                None => None,
            };
            if let Type::Array(_, None) = ty
                && members.is_empty()
            {
                return Err(Located::new(at, "an array without a size is not the first member"));
            }
            members.push(Member { name, ty, bits, attributes: own });
        }
        Ok(())
    }

    fn enumeration(&mut self, enumeration: &Node<EnumType>) -> Result<Type, Located> {
        let name = enumeration.node.identifier.as_ref().map(|name| name.node.name.clone());
        if enumeration.node.enumerators.is_empty()
            && let Some(known) = name.as_ref().and_then(|name| self.tags.get(name))
        {
            return Ok(known.clone());
        }
        let packed = self.prepared.of_tags.get(&enumeration.span.start).is_some_and(|of_tag| of_tag.packed);
        if packed {
            return Err(Located::new(enumeration.span.start, "a packed enumeration is not understood"));
        }
        let (mut next, mut least, mut most) = (0, 0, 0);
        for enumerator in &enumeration.node.enumerators {
            if let Some(value) = &enumerator.node.expression {
                next = self.constant(value)?;
            }
            self.constants.insert(enumerator.node.identifier.node.name.clone(), next);
            (least, most) = (least.min(next), most.max(next));
            next += 1;
        }
        let scalar = match (least, most) {
            (0, _) if most <= u32::MAX.into() => Scalar::UnsignedInt,
            (0, _) => Scalar::UnsignedLongLong,
            _ if least >= i32::MIN.into() && most <= i32::MAX.into() => Scalar::Int,
            _ => Scalar::LongLong,
        };
        let ty = Type::Enum(name.clone().unwrap_or_default(), scalar);
        if let Some(name) = name {
            self.tags.insert(name, ty.clone());
        }
        Ok(ty)
    }
}

/// Attributes of a declaration, whose declarators they belong to.
pub(super) struct OfDeclaration {
    /// Those before the first declarator.
    pub(super) of_all: Attributes,
    /// All that count for each.
    pub(super) of_each: Vec<Attributes>,
}

pub(super) fn qualified(list: &[Node<SpecifierQualifier>]) -> impl Iterator<Item = &Node<TypeSpecifier>> {
    list.iter().filter_map(|specifier| match &specifier.node {
        SpecifierQualifier::TypeSpecifier(specifier) => Some(specifier),
        SpecifierQualifier::TypeQualifier(_) | SpecifierQualifier::Extension(_) => None,
    })
}

/// What a declarator declares.
pub(super) fn identifier(declarator: &Node<Declarator>) -> Option<String> {
    match &declarator.node.kind.node {
        DeclaratorKind::Identifier(name) => Some(name.node.name.clone()),
        DeclaratorKind::Declarator(inner) => identifier(inner),
        DeclaratorKind::Abstract => None,
    }
}

/// The words of an arithmetic type.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Words {
    char: bool,
    short: bool,
    int: bool,
    longs: u32,
    float: bool,
    double: bool,
    signed: bool,
    unsigned: bool,
}

impl Words {
    fn scalar(self) -> Result<Scalar, &'static str> {
        let Self { char, short, int, longs, float, double, signed, unsigned } = self;
        let integer = !(float || double || signed && unsigned);
        match (char, short, longs) {
            (true, false, 0) if integer && !int => Ok(match (signed, unsigned) {
                (true, _) => Scalar::SignedChar,
                (_, true) => Scalar::UnsignedChar,
                _ => Scalar::Char,
            }),
            (false, true, 0) if integer => Ok(either(unsigned, Scalar::Short, Scalar::UnsignedShort)),
            (false, false, 0) if integer => Ok(either(unsigned, Scalar::Int, Scalar::UnsignedInt)),
            (false, false, 1) if integer => Ok(either(unsigned, Scalar::Long, Scalar::UnsignedLong)),
            (false, false, 2) if integer => Ok(either(unsigned, Scalar::LongLong, Scalar::UnsignedLongLong)),
            (false, false, 1) if double => Err("`long double` has no type in PTX"),
            (false, false, 0) if float != double && !int && !signed && !unsigned => {
                Ok(either(double, Scalar::Float, Scalar::Double))
            }
            _ => Err("these words are not a type"),
        }
    }
}

fn either(second: bool, a: Scalar, b: Scalar) -> Scalar {
    if second { b } else { a }
}
