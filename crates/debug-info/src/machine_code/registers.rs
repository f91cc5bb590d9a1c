//! Registers of PTX in those of the hardware: `.nv_debug_info_reg_sass`, and their types, `.nv_debug_info_reg_type`.
//!
//! ```text
//! for each kernel: name, 0, how many, 32 bits
//!     for each: which 32 bits of the register, 32 bits; the name of the register, 0
//!               class << 24 | number, 32 bits; the first and the last address where it is so, 32 bits each
//! ```
//!
//! The table of types has a byte for each of these in place of them.

use super::expression::Aliases;
use super::variables::{Hardware, Kept};
use super::{BYTES, MachineCode, Section};
use ptx::module::{FuncId, Module};
use ptx::types::ScalarType;
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

/// The table of registers.
pub const REGISTERS: &str = ".nv_debug_info_reg_sass";
/// Their types.
pub const TYPES: &str = ".nv_debug_info_reg_type";

/// The classes of places.
const PREDICATE: u32 = 2;
const GENERAL: u32 = 5;
const FRAME: u32 = 7;
const UNIFORM: u32 = 0xb;
const CLASS_AT: u32 = 24;
/// In the frame: the register that it is counted from, above the offset.
const STACK_POINTER: u32 = 1 << 16;

/// Where 32 bits of a register are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which of them.
    pub part: u32,
    /// The register, or another name for one of a function that was inlined.
    pub register: String,
    /// Where they are.
    pub place: Hardware,
    /// Addresses of instructions in front of which they are there, from the kernel's beginning.
    pub addresses: RangeInclusive<u32>,
}

pub(super) fn sections(module: &Module, code: &[MachineCode<'_>], aliases: &Aliases) -> [Section; 2] {
    let [mut registers, mut types] = [REGISTERS, TYPES].map(Section::named);
    for of in code {
        let Some(variables) = of.variables else { continue };
        let kernel = &module.functions[of.kernel.index()].name;
        let named: Vec<HashMap<&str, u32>> =
            variables.calls.iter().map(|call| uses_of_names(module, call.function)).collect();
        let entries: Vec<_> = variables
            .kept
            .iter()
            .filter_map(|kept| {
                let function = variables.calls.get(kept.call as usize)?.function;
                let body = module.functions[function.index()].body.as_ref()?;
                let register = &body.registers[kept.register.index()];
                let name = module.text(register.name);
                // Of two registers in blocks of their own nobody knows which is meant.
                if named[kept.call as usize].get(name) != Some(&1) {
                    return None;
                }
                Some((entry(kept, aliases.of(kernel, kept.call, name))?, code_of(register.ty)?))
            })
            .collect();
        for section in [&mut registers, &mut types] {
            section.bytes.extend(kernel.bytes());
            section.bytes.push(0);
            section.bytes.extend((entries.len() as u32).to_le_bytes());
        }
        for ((part, name, rest), ty) in entries {
            registers.bytes.extend(part.to_le_bytes());
            registers.bytes.extend(name.bytes());
            registers.bytes.push(0);
            registers.bytes.extend(rest.iter().flat_map(|word: &u32| word.to_le_bytes()));
            types.bytes.push(ty);
        }
    }
    [registers, types]
}

/// How many registers of a function have each name.
fn uses_of_names(module: &Module, function: FuncId) -> HashMap<&str, u32> {
    let mut uses = HashMap::new();
    for register in module.functions[function.index()].body.iter().flat_map(|body| &body.registers) {
        *uses.entry(module.text(register.name)).or_default() += 1;
    }
    uses
}

fn entry(kept: &Kept, name: String) -> Option<(u32, String, [u32; 3])> {
    let place = match kept.place {
        Hardware::Predicate(number) => PREDICATE << CLASS_AT | number,
        Hardware::General(number) => GENERAL << CLASS_AT | number,
        Hardware::Frame(bytes) if bytes < STACK_POINTER => FRAME << CLASS_AT | STACK_POINTER | bytes,
        Hardware::Frame(_) => return None,
        Hardware::Uniform(number) => UNIFORM << CLASS_AT | number,
    };
    let address = |instruction: u32| instruction * BYTES as u32;
    let last = kept.instructions.end.checked_sub(1)?;
    Some((kept.part, name, [place, address(kept.instructions.start), address(last)]))
}

/// The code of a type; those that it has none for have that of their bits.
fn code_of(ty: ScalarType) -> Option<u8> {
    Some(match ty {
        ScalarType::B8 | ScalarType::E4m3 | ScalarType::E5m2 => 0,
        ScalarType::B16 | ScalarType::Bf16 | ScalarType::E4m3x2 | ScalarType::E5m2x2 => 1,
        ScalarType::B32 | ScalarType::U16x2 | ScalarType::S16x2 | ScalarType::Bf16x2 | ScalarType::Tf32 => 2,
        ScalarType::B64 | ScalarType::F32x2 => 3,
        ScalarType::U8 => 4,
        ScalarType::U16 => 5,
        ScalarType::U32 => 6,
        ScalarType::U64 => 7,
        ScalarType::S8 => 8,
        ScalarType::S16 => 9,
        ScalarType::S32 => 10,
        ScalarType::S64 => 11,
        ScalarType::F16 => 12,
        ScalarType::F16x2 => 13,
        ScalarType::F32 => 14,
        ScalarType::F64 => 15,
        ScalarType::Pred => 16,
        ScalarType::B128 => 17,
        ScalarType::TexRef | ScalarType::SamplerRef | ScalarType::SurfRef => return None,
    })
}

/// Reads a table of registers, ours or another compiler's: by kernels. What is damaged ends it; classes that are not known are left out.
pub fn read(section: &[u8]) -> BTreeMap<String, Vec<Entry>> {
    let mut table = BTreeMap::new();
    let mut rest = section;
    while let Some((name, count)) = text(&mut rest).zip(word(&mut rest)) {
        let entries: &mut Vec<Entry> = table.entry(name).or_default();
        for _ in 0..count {
            let Some((part, register)) = word(&mut rest).zip(text(&mut rest)) else { return table };
            let words = [(); 3].map(|()| word(&mut rest));
            let [Some(place), Some(first), Some(last)] = words else { return table };
            let number = place & ((1 << CLASS_AT) - 1);
            let place = match place >> CLASS_AT {
                PREDICATE => Hardware::Predicate(number),
                GENERAL => Hardware::General(number),
                FRAME if number & STACK_POINTER != 0 => Hardware::Frame(number & (STACK_POINTER - 1)),
                UNIFORM => Hardware::Uniform(number),
                _ => continue,
            };
            entries.push(Entry { part, register, place, addresses: first..=last });
        }
    }
    table
}

fn word(rest: &mut &[u8]) -> Option<u32> {
    let (bytes, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u32::from_le_bytes(*bytes))
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let end = rest.iter().position(|&byte| byte == 0)?;
    let text = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = &rest[end + 1..];
    Some(text)
}
