//! What operators make of values: arithmetic as C's, elements, members, casts.

use crate::Error;
use crate::evaluate::Scene;
use crate::expression::{Expression, TypeName};
use crate::symbols::Symbols;
use crate::value::{Kind, Number, Ty, Types, Value, Where};
use debug_info::types::{Member, Type};
use machine::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use ptx::types::ScalarType;

impl Scene<'_> {
    pub(crate) fn prefix(&self, operator: char, value: &Value) -> Result<Value, Error> {
        Ok(match (operator, self.number(value)?) {
            ('-', Number::Integer(value)) => Value::integer(value.wrapping_neg()),
            ('-', Number::Float(value)) => Value::float(-value),
            ('!', Number::Integer(value)) => Value::integer(i128::from(value == 0)),
            ('!', Number::Float(value)) => Value::integer(i128::from(value == 0.0)),
            ('~', Number::Integer(value)) => Value::integer(!value),
            (_, Number::Float(_)) => {
                return Err(Error::Expression(format!("`{operator}` of a floating-point value")));
            }
            _ => return Err(Error::Expression(format!("`{operator}` is not an operator"))),
        })
    }

    pub(crate) fn binary(&self, operator: &str, a: &Expression, b: &Expression) -> Result<Value, Error> {
        if let "&&" | "||" = operator {
            let first = self.holds(a)?;
            let decided = if operator == "&&" { !first } else { first };
            let holds = if decided { first } else { self.holds(b)? };
            return Ok(Value::integer(i128::from(holds)));
        }
        let (left, right) = (self.evaluate(a)?, self.evaluate(b)?);
        // A pointer and a number of elements.
        if let ("+" | "-", Kind::Pointer(_) | Kind::Array(..)) = (operator, self.symbols.info.kind(&left.ty))
            && !matches!(self.symbols.info.kind(&right.ty), Kind::Pointer(_))
        {
            let count = self.integer(&right)?;
            let count = if operator == "-" { count.wrapping_neg() } else { count };
            let there = self.element(&left, count)?;
            let Where::Memory(address) = there.place else { return Ok(there) };
            return Ok(Value::pointer(address, there.ty));
        }
        arithmetic(operator, self.number(&left)?, self.number(&right)?)
    }

    /// `a[index]`.
    pub(crate) fn element(&self, value: &Value, index: i128) -> Result<Value, Error> {
        let info = &self.symbols.info;
        let scaled = |base: u64, element: &Ty| {
            let size = info.size_of_ty(element).filter(|&size| size > 0);
            let size = size.ok_or_else(|| Error::Expression("the elements have no known size".to_owned()))?;
            Ok::<_, Error>(base.wrapping_add((index as u64).wrapping_mul(size)))
        };
        match info.kind(&value.ty) {
            Kind::Array(element, _) => match &value.place {
                Where::Memory(address) => {
                    Ok(Value { place: Where::Memory(scaled(*address, &element)?), ty: element })
                }
                Where::Register { bytes, .. } | Where::Bytes(bytes) => {
                    let size = info.size_of_ty(&element).unwrap_or(0) as usize;
                    let start = usize::try_from(index).ok().and_then(|index| index.checked_mul(size));
                    let start =
                        start.filter(|start| start.checked_add(size).is_some_and(|end| end <= bytes.len()));
                    let start =
                        start.ok_or_else(|| Error::Expression(format!("there is no element {index}")))?;
                    Ok(Value { place: value.place.part(start, size), ty: element })
                }
                Where::Missing(why) => Err(Error::Expression(why.clone())),
            },
            Kind::Pointer(Some(to)) => {
                let address = self.integer(value)? as u64;
                Ok(Value { place: Where::Memory(scaled(address, &to)?), ty: to })
            }
            _ => Err(Error::Expression(format!("a {} has no elements", info.ty_name(&value.ty)))),
        }
    }

    pub(crate) fn pointee(&self, value: &Value) -> Result<Value, Error> {
        self.element(value, 0)
    }

    pub(crate) fn member(&self, value: &Value, name: &str) -> Result<Value, Error> {
        let info = &self.symbols.info;
        if let Ty::Dim3 = value.ty {
            let axis = ["x", "y", "z"].iter().position(|known| *known == name);
            let axis = axis.ok_or_else(|| Error::Expression(format!("there is no member {name}")))?;
            let bytes = self.bytes_at(&value.place, 12)?;
            let number = bytes[4 * axis..][..4].try_into().map_or(0, u32::from_le_bytes);
            return Ok(Value::of_scalar(ScalarType::U32, number.into()));
        }
        if let Kind::Pointer(Some(_)) = info.kind(&value.ty) {
            return self.member(&self.pointee(value)?, name);
        }
        let Kind::Structure(members) = info.kind(&value.ty) else {
            return Err(Error::Expression(format!("a {} has no members", info.ty_name(&value.ty))));
        };
        let found = find_member(self.symbols, members, name, 0);
        let (member, offset) = found
            .ok_or_else(|| Error::Expression(format!("{} has no member {name}", info.ty_name(&value.ty))))?;
        self.part(value, member, offset)
    }

    /// A member of a structure that lies so many bytes behind its beginning.
    pub fn part(&self, value: &Value, member: &Member, offset: u64) -> Result<Value, Error> {
        let info = &self.symbols.info;
        let ty = member.ty.map_or(Ty::Void, Ty::Dwarf);
        let size = info.size_of_ty(&ty).unwrap_or(0);
        let place = value.place.part(offset as usize, size as usize);
        let Some((bits, first)) = member.bits else { return Ok(Value { ty, place }) };
        let bytes = self.bytes_at(&place, (first + bits).div_ceil(8) as usize)?;
        let mut word = [0; 16];
        let count = bytes.len().min(16);
        word[..count].copy_from_slice(&bytes[..count]);
        let mut value = u128::from_le_bytes(word) >> first.min(127) & ((1 << bits.min(64)) - 1);
        if matches!(info.kind(&ty), Kind::Integer { signed: true })
            && value >> bits.saturating_sub(1).min(127) & 1 != 0
        {
            value |= !0 << bits.min(127);
        }
        Ok(Value { ty, place: Where::Bytes(value.to_le_bytes()[..size.clamp(1, 16) as usize].to_vec()) })
    }

    pub(crate) fn cast(&self, name: &TypeName, value: &Value) -> Result<Value, Error> {
        let info = &self.symbols.info;
        let mut ty = self.type_of(&name.name)?;
        for _ in 0..name.pointers {
            ty = Ty::Pointer(Box::new(ty));
        }
        let window = match name.space.as_deref() {
            None | Some("global" | "generic" | "const") => 0,
            Some("shared") => SHARED_WINDOW,
            Some("local") => LOCAL_WINDOW,
            Some("param") => PARAM_WINDOW,
            Some(other) => return Err(Error::Expression(format!("`@{other}` is not a state space"))),
        };
        match (info.kind(&ty), self.number(value)?) {
            (Kind::Pointer(_), Number::Integer(address)) => {
                let address = address as u64;
                let address = if address < SHARED_WINDOW { address + window } else { address };
                Ok(Value { ty, place: Where::Bytes(address.to_le_bytes().to_vec()) })
            }
            (Kind::Float { bits: 32 }, number) => {
                Ok(Value { ty, place: Where::Bytes((number.as_f64() as f32).to_le_bytes().to_vec()) })
            }
            (Kind::Float { .. }, number) => {
                Ok(Value { ty, place: Where::Bytes(number.as_f64().to_le_bytes().to_vec()) })
            }
            (
                Kind::Integer { .. } | Kind::Boolean | Kind::Character { .. } | Kind::Enumeration(_),
                number,
            ) => {
                let size = info.size_of_ty(&ty).unwrap_or(8).min(16) as usize;
                Ok(Value { ty, place: Where::Bytes(number.as_i128().to_le_bytes()[..size].to_vec()) })
            }
            _ => Err(Error::Expression(format!("it cannot become a {}", info.ty_name(&ty)))),
        }
    }

    fn type_of(&self, name: &str) -> Result<Ty, Error> {
        use ScalarType::{F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
        let signed = !name.contains("unsigned");
        let pick = |a, b| if signed { a } else { b };
        Ok(Ty::Scalar(match name {
            "float" => F32,
            "double" => F64,
            "void" => return Ok(Ty::Void),
            "bool" => U8,
            "char" | "signed char" | "unsigned char" => pick(S8, U8),
            "short" | "unsigned short" | "short int" => pick(S16, U16),
            "int" | "signed" | "signed int" | "unsigned" | "unsigned int" => pick(S32, U32),
            "long" | "unsigned long" | "long long" | "unsigned long long" | "long int" => pick(S64, U64),
            _ => {
                let known = self.symbols.info.types.iter().filter(|(_, ty)| match ty {
                    Type::Structure { name: Some(own), .. } | Type::Enumeration { name: Some(own), .. } => {
                        own == name
                    }
                    Type::Base { name: own, .. } | Type::Alias { name: own, .. } => own == name,
                    _ => false,
                });
                let first = known.map(|(id, _)| *id).min();
                return first
                    .map(Ty::Dwarf)
                    .ok_or_else(|| Error::Expression(format!("no type is called {name}")));
            }
        }))
    }
}

/// A member by its name, also of bases and structures without a name, with its offset.
fn find_member<'m>(
    symbols: &'m Symbols,
    members: &'m [Member],
    name: &str,
    deep: u32,
) -> Option<(&'m Member, u64)> {
    if let Some(member) = members.iter().find(|member| member.name.as_deref() == Some(name)) {
        return Some((member, member.offset));
    }
    let nameless = members.iter().filter(|member| member.name.is_none() && deep < 8);
    nameless.into_iter().find_map(|outer| {
        let Some((_, Type::Structure { members, .. })) = symbols.info.plain(outer.ty?) else { return None };
        let (member, offset) = find_member(symbols, members, name, deep + 1)?;
        Some((member, outer.offset + offset))
    })
}

fn arithmetic(operator: &str, a: Number, b: Number) -> Result<Value, Error> {
    let compared = |ordering: Option<std::cmp::Ordering>| {
        let holds = match operator {
            "==" => ordering.is_some_and(std::cmp::Ordering::is_eq),
            "!=" => ordering.is_none_or(std::cmp::Ordering::is_ne),
            "<" => ordering.is_some_and(std::cmp::Ordering::is_lt),
            "<=" => ordering.is_some_and(std::cmp::Ordering::is_le),
            ">" => ordering.is_some_and(std::cmp::Ordering::is_gt),
            ">=" => ordering.is_some_and(std::cmp::Ordering::is_ge),
            _ => return None,
        };
        Some(Value::integer(i128::from(holds)))
    };
    let unknown = || Error::Expression(format!("`{operator}` has no meaning for these operands"));
    let (Number::Integer(a), Number::Integer(b)) = (a, b) else {
        let (a, b) = (a.as_f64(), b.as_f64());
        if let Some(value) = compared(a.partial_cmp(&b)) {
            return Ok(value);
        }
        return Ok(Value::float(match operator {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" => a / b,
            "%" => a % b,
            _ => return Err(unknown()),
        }));
    };
    if let Some(value) = compared(Some(a.cmp(&b))) {
        return Ok(value);
    }
    let shift = u32::try_from(b).ok().filter(|&shift| shift < 128);
    let result = match operator {
        "+" => Some(a.wrapping_add(b)),
        "-" => Some(a.wrapping_sub(b)),
        "*" => Some(a.wrapping_mul(b)),
        "/" => a.checked_div(b),
        "%" => a.checked_rem(b),
        "&" => Some(a & b),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        "<<" => shift.map(|shift| a << shift),
        ">>" => shift.map(|shift| a >> shift),
        _ => return Err(unknown()),
    };
    result.map(Value::integer).ok_or_else(|| Error::Expression(format!("`{a} {operator} {b}` has no value")))
}
