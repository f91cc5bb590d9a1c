//! What is asked of a compiler about a record: sizes, offsets, and where the bits of bit fields are.

use abi::data::{Record, Scalar, Target, Type};

/// A number that a compiler computes, as C writes it, with ours.
pub(crate) struct Fact {
    pub(crate) text: String,
    pub(crate) value: u64,
}

/// A value of the record with one bit field that is not zero, as C writes it, with our bytes.
pub(crate) struct Image {
    pub(crate) text: String,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) struct Questions {
    pub(crate) facts: Vec<Fact>,
    pub(crate) images: Vec<Image>,
}

pub(crate) fn questions(record: &Record, target: Target) -> Questions {
    let name = record.title();
    let layout = record.layout();
    let mut all = Questions { facts: Vec::new(), images: Vec::new() };
    all.facts.push(Fact { text: format!("sizeof({name})"), value: layout.size });
    all.facts.push(Fact { text: format!("__alignof__({name})"), value: layout.align });
    let mut walk = Walk { record: name, size: layout.size, target, all };
    walk.members(record, 0, "", &|inner| inner);
    walk.all
}

struct Walk {
    record: String,
    size: u64,
    target: Target,
    all: Questions,
}

impl Walk {
    fn members(&mut self, record: &Record, base: u64, path: &str, around: &dyn Fn(String) -> String) {
        for (member, place) in record.members().iter().zip(&record.layout().places) {
            let bit = base + place.bit;
            match (&member.name, member.bits) {
                (Some(name), Some(bits)) => {
                    let scalar = member.ty.bit_field_scalar(self.target.host).unwrap();
                    let (value, ones) = match (&member.ty, scalar) {
                        (Type::Enum(..), _) => ("e3".to_owned(), 2),
                        (_, Scalar::Bool) => ("true".to_owned(), 1),
                        (_, signed) if signed.is_signed(self.target.host) => ("-1".to_owned(), bits),
                        _ => (format!("{}ull", u64::MAX >> (64 - bits)), bits),
                    };
                    let mut bytes = vec![0; self.size as usize];
                    for at in bit..bit + ones {
                        bytes[(at / 8) as usize] |= 1 << (at % 8);
                    }
                    let text = around(format!("{{ .{name} = {value} }}"));
                    self.all.images.push(Image { text, bytes });
                }
                (None, Some(_)) => {}
                (Some(name), None) => {
                    let path = format!("{path}{name}");
                    self.offset(&path, bit / 8);
                    self.inside(&member.ty, bit, &path, &|inner| around(format!("{{ .{name} = {inner} }}")));
                }
                (None, None) => {
                    let Type::Record(inner) = &member.ty else { panic!("a member without a name") };
                    self.members(inner, bit, path, around);
                }
            }
        }
    }

    fn offset(&mut self, path: &str, value: u64) {
        let text = format!("__builtin_offsetof({}, {path})", self.record);
        self.all.facts.push(Fact { text, value });
    }

    /// The last element of an array, the members of a record.
    fn inside(&mut self, ty: &Type, bit: u64, path: &str, around: &dyn Fn(String) -> String) {
        match ty {
            Type::Array(element, Some(count)) => {
                let size = element.extent(self.target).unwrap().size;
                let last = bit / 8 + size * (count - 1);
                let path = format!("{path}[{}]", count - 1);
                self.offset(&path, last);
                let zeros = "{}, ".repeat(*count as usize - 1);
                let zeros = if matches!(**element, Type::Record(_) | Type::Array(..)) {
                    zeros
                } else {
                    String::new()
                };
                self.inside(element, last * 8, &path, &|inner| around(format!("{{ {zeros}{inner} }}")));
            }
            Type::Record(record) => self.members(record, bit, &format!("{path}."), around),
            _ => {}
        }
    }
}
