//! Location expressions, as far as PTX gives them a meaning.
//!
//! A virtual register is named in `DW_OP_regx` and `DW_OP_bregx` by the characters of its name as one number, the first
//! the most significant byte, in LEB128: 0x257231 is `%r1`. Such numbers exceed what DWARF readers take for registers, so
//! these two operations are read here, all others by `gimli`.

use crate::{Addresses, Place, Reader};
use gimli::{Encoding, Operation, Reader as _};

/// The memory that a variable is in (PTX Writer's Guide to Interoperability, "CUDA-Specific DWARF Definitions").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// 1
    Code,
    /// 2
    Register,
    /// 3
    SpecialRegister,
    /// 4
    Constant,
    /// 5
    Global,
    /// 6
    Local,
    /// 7
    Param,
    /// 8
    Shared,
    /// 9
    Surface,
    /// 10
    Texture,
    /// 11
    TextureSampler,
    /// 12
    Generic,
}

/// The classes in the order of their codes, from 1, with the guide's names.
const CLASSES: [(AddressClass, &str); 12] = [
    (AddressClass::Code, "ADDR_code_space"),
    (AddressClass::Register, "ADDR_reg_space"),
    (AddressClass::SpecialRegister, "ADDR_sreg_space"),
    (AddressClass::Constant, "ADDR_const_space"),
    (AddressClass::Global, "ADDR_global_space"),
    (AddressClass::Local, "ADDR_local_space"),
    (AddressClass::Param, "ADDR_param_space"),
    (AddressClass::Shared, "ADDR_shared_space"),
    (AddressClass::Surface, "ADDR_surf_space"),
    (AddressClass::Texture, "ADDR_tex_space"),
    (AddressClass::TextureSampler, "ADDR_tex_sampler_space"),
    (AddressClass::Generic, "ADDR_generic_space"),
];

impl AddressClass {
    /// The class with this code.
    pub fn of_code(code: u64) -> Option<Self> {
        let index = usize::try_from(code.checked_sub(1)?).ok()?;
        CLASSES.get(index).map(|(class, _)| *class)
    }

    /// Its code.
    pub fn code(self) -> u64 {
        self as u64 + 1
    }

    /// The guide's name for it.
    pub fn name(self) -> &'static str {
        CLASSES[self as usize].1
    }
}

/// Where a variable is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a virtual register.
    Register(String),
    /// In memory.
    Memory(Address),
    /// Nowhere: it has this value.
    Value(Address),
    /// Nowhere: it has these bytes.
    Bytes(Vec<u8>),
    /// In pieces of so many bytes; a piece may be nowhere.
    Pieces(Vec<(Option<Location>, u64)>),
    /// Nowhere: it was optimised away.
    Nowhere,
    /// An expression that is not understood: the operation at fault, or what is wrong with it.
    Unknown(String),
}

/// An address that depends on where something lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What it counts from.
    pub base: Base,
    /// Bytes from there.
    pub offset: i64,
}

/// What an address counts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// Nothing: it is a number.
    Absolute,
    /// An instruction or variable.
    Symbol(Place),
    /// The value of a register.
    Register(String),
    /// The local memory of the function's activation (`DW_OP_call_frame_cfa`).
    Frame,
}

impl Address {
    fn number(value: u64) -> Self {
        Self { base: Base::Absolute, offset: value.cast_signed() }
    }

    fn plus(self, by: i64) -> Self {
        Self { offset: self.offset.wrapping_add(by), ..self }
    }
}

/// The name of a register from its number: the characters, unless some are none.
pub fn register_name(number: u64) -> Option<String> {
    let bytes: Vec<u8> = number.to_be_bytes().into_iter().skip_while(|&byte| byte == 0).collect();
    let printable = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_graphic);
    printable.then(|| bytes.into_iter().map(char::from).collect())
}

/// The number of a register with this name; longer names than eight characters have none of their own.
pub fn register_number(name: &str) -> Option<u64> {
    (1..=8).contains(&name.len()).then(|| name.bytes().fold(0, |number, byte| number << 8 | u64::from(byte)))
}

/// Where an expression says that a variable is; `frame_base` is the expression of the function that it is in.
pub fn evaluate(
    expression: &[u8],
    frame_base: Option<&[u8]>,
    encoding: Encoding,
    addresses: &Addresses,
) -> Location {
    if expression.is_empty() {
        return Location::Nowhere;
    }
    let mut evaluation = Evaluation { frame_base, encoding, addresses, stack: Vec::new() };
    evaluation.run(expression).unwrap_or_else(Location::Unknown)
}

struct Evaluation<'a> {
    frame_base: Option<&'a [u8]>,
    encoding: Encoding,
    addresses: &'a Addresses,
    stack: Vec<Address>,
}

impl Evaluation<'_> {
    fn run(&mut self, expression: &[u8]) -> Result<Location, String> {
        let mut bytes = Reader::new(expression, gimli::LittleEndian);
        let mut pieces = Vec::new();
        let mut place = None;
        while !bytes.is_empty() {
            let opcode = gimli::DwOp(bytes.slice()[0]);
            match opcode {
                gimli::DW_OP_regx => {
                    let (_, number) = after_opcode(&mut bytes)?;
                    place = Some(Location::Register(register(number)?));
                    continue;
                }
                gimli::DW_OP_bregx => {
                    let (_, number) = after_opcode(&mut bytes)?;
                    let offset = bytes.read_sleb128().map_err(|error| error.to_string())?;
                    self.stack.push(Address { base: Base::Register(register(number)?), offset });
                    continue;
                }
                _ => {}
            }
            let operation = Operation::parse(&mut bytes, self.encoding).map_err(|error| error.to_string())?;
            match operation {
                Operation::Piece { size_in_bits, bit_offset: None } if size_in_bits % 8 == 0 => {
                    let part = place.take().or_else(|| self.stack.pop().map(Location::Memory));
                    pieces.push((part, size_in_bits / 8));
                }
                Operation::StackValue => place = Some(Location::Value(self.pop()?)),
                Operation::ImplicitValue { data } => place = Some(Location::Bytes(data.slice().to_vec())),
                Operation::Nop => {}
                operation => self.push(operation, opcode)?,
            }
        }
        if !pieces.is_empty() {
            return Ok(Location::Pieces(pieces));
        }
        place.or_else(|| self.stack.pop().map(Location::Memory)).ok_or_else(|| "it has no result".to_owned())
    }

    /// An operation that works on the stack.
    fn push(&mut self, operation: Operation<Reader<'_>>, opcode: gimli::DwOp) -> Result<(), String> {
        let value = match operation {
            Operation::Address { address } => match self.addresses.place(address) {
                Some(place) => Address { base: Base::Symbol(place), offset: 0 },
                None => Address::number(address),
            },
            Operation::UnsignedConstant { value } => Address::number(value),
            Operation::SignedConstant { value } => Address { base: Base::Absolute, offset: value },
            Operation::PlusConstant { value } => self.pop()?.plus(value.cast_signed()),
            Operation::Plus => {
                let (b, a) = (self.pop()?, self.pop()?);
                match (&a.base, &b.base) {
                    (_, Base::Absolute) => a.plus(b.offset),
                    (Base::Absolute, _) => b.plus(a.offset),
                    _ => return Err("it adds two addresses".to_owned()),
                }
            }
            Operation::Minus => {
                let (b, a) = (self.pop()?, self.pop()?);
                match b.base {
                    Base::Absolute => a.plus(b.offset.wrapping_neg()),
                    _ => return Err("it subtracts an address".to_owned()),
                }
            }
            Operation::CallFrameCFA => Address { base: Base::Frame, offset: 0 },
            Operation::FrameOffset { offset } => {
                let base = self.frame_base.ok_or("its function has no DW_AT_frame_base")?;
                let mut inner = Evaluation { frame_base: None, stack: Vec::new(), ..*self };
                match inner.run(base)? {
                    Location::Memory(address) | Location::Value(address) => address.plus(offset),
                    Location::Register(name) => Address { base: Base::Register(name), offset },
                    _ => return Err("DW_AT_frame_base is no address".to_owned()),
                }
            }
            _ => return Err(opcode.static_string().unwrap_or("an unknown operation").to_owned()),
        };
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Address, String> {
        self.stack.pop().ok_or_else(|| "an operand is missing".to_owned())
    }
}

/// The opcode and the number behind it.
fn after_opcode(bytes: &mut Reader<'_>) -> Result<(u8, u64), String> {
    let opcode = bytes.read_u8().map_err(|error| error.to_string())?;
    let number = bytes.read_uleb128().map_err(|error| error.to_string())?;
    Ok((opcode, number))
}

fn register(number: u64) -> Result<String, String> {
    register_name(number).ok_or_else(|| format!("{number:#x} is not the name of a register"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guide's example has `i` in 144, 177, 228, 149, 1.
    #[test]
    fn the_name_of_a_register_is_its_number() {
        assert_eq!(register_name(0x25_7231).as_deref(), Some("%r1"));
        for name in ["%r1", "%rd12", "%f7", "%p3", "%SPL", "%rd12345"] {
            assert_eq!(register_number(name).and_then(register_name).as_deref(), Some(name));
        }
        assert_eq!([register_name(0), register_name(7), register_name(0x25_0031)], [None, None, None]);
        assert_eq!([register_number(""), register_number("%rd123456")], [None, None]);
    }

    /// The table of the guide, "CUDA-Specific DWARF Definitions".
    #[test]
    fn address_classes_have_the_codes_of_the_guide() {
        let table = [
            (1, "ADDR_code_space"),
            (2, "ADDR_reg_space"),
            (3, "ADDR_sreg_space"),
            (4, "ADDR_const_space"),
            (5, "ADDR_global_space"),
            (6, "ADDR_local_space"),
            (7, "ADDR_param_space"),
            (8, "ADDR_shared_space"),
            (9, "ADDR_surf_space"),
            (10, "ADDR_tex_space"),
            (11, "ADDR_tex_sampler_space"),
            (12, "ADDR_generic_space"),
        ];
        for (code, name) in table {
            let class = AddressClass::of_code(code).expect("a class");
            assert_eq!((class.code(), class.name()), (code, name));
        }
        assert_eq!([0, 13, u64::MAX].map(AddressClass::of_code), [None; 3]);
    }
}
