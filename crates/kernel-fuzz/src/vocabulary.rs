//! The instructions that compute results from registers, with all modifiers, as the instruction table has them.

use conformance::Domain;
use conformance::case::{TARGET, VERSION};
use fastrand::Rng;
use ptx::isa::{self, FormId, Limit, Mnemonic, Opcode, OperandKind, OperandSpec, Role};
use ptx::types::{ScalarType, TypeKind};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Which instructions a kernel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Words {
    /// Those that compilers emit every day, on integers, `.f32`, `.f64` and predicates.
    Frequent,
    /// All on these types.
    Ordinary,
    /// Also on narrower floating-point numbers and packed values.
    Narrow,
}

/// Opcodes by what stands before the first dot, so that many modifiers do not make an instruction frequent.
type Vocabulary = Vec<Vec<Opcode>>;

/// Opcodes of a form that are tried.
const MOST: usize = 400;

/// Chapters of the manual whose instructions compute.
const CHAPTERS: [&str; 8] = ["9.7.1 ", "9.7.3 ", "9.7.4 ", "9.7.5 ", "9.7.6 ", "9.7.7 ", "9.7.8 ", "9.7.9 "];

/// What compilers emit every day.
const FREQUENT: [&str; 30] = [
    "abs", "add", "and", "brev", "clz", "cvt", "div", "ex2", "fma", "lg2", "lop3", "mad", "max", "min",
    "mov", "mul", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "selp", "setp", "shl", "shr", "sqrt",
    "sub", "xor",
];

fn vocabulary(words: Words) -> &'static Vocabulary {
    static FREQUENT_WORDS: OnceLock<Vocabulary> = OnceLock::new();
    static ORDINARY: OnceLock<Vocabulary> = OnceLock::new();
    static NARROW: OnceLock<Vocabulary> = OnceLock::new();
    let made = || {
        let mut by_mnemonic: BTreeMap<&str, Vec<Opcode>> = BTreeMap::new();
        for form in FormId::all().filter(|&form| computes(form)) {
            let opcodes = isa::opcodes_of_target(form, VERSION, TARGET, MOST).into_iter();
            let usable = opcodes.filter(|opcode| {
                let types = opcode.operand_types();
                let plain = types.iter().all(|ty| ty.is_some_and(is_ordinary));
                // No register has eight bits; most operands of such a type take a wider one.
                let fits = |(spec, ty): (&OperandSpec, &Option<ScalarType>)| {
                    ty.is_some_and(|ty| pool(ty).is_some() && (ty.bits() != 8 || spec.loose))
                };
                let known = opcode.data().operands.iter().zip(&types).all(fits);
                // The formats that are spelled in the opcode do not always show in the operands.
                let narrow = opcode.text().split('.').any(is_narrow_name);
                match words {
                    Words::Frequent => plain && !narrow && FREQUENT.contains(&form.data().mnemonic.text()),
                    Words::Ordinary => plain && !narrow,
                    Words::Narrow => known,
                }
            });
            by_mnemonic.entry(form.data().mnemonic.text()).or_default().extend(usable);
        }
        by_mnemonic.into_values().filter(|opcodes| !opcodes.is_empty()).collect()
    };
    match words {
        Words::Frequent => FREQUENT_WORDS.get_or_init(made),
        Words::Ordinary => ORDINARY.get_or_init(made),
        Words::Narrow => NARROW.get_or_init(made),
    }
}

fn is_narrow_name(part: &str) -> bool {
    part.starts_with("f16") || part.starts_with("bf16") || part.starts_with('e') || part.ends_with("x2")
}

/// Whether a form's results follow from registers and constants alone, and mean the same everywhere.
fn computes(form: FormId) -> bool {
    let data = form.data();
    let pure = data.sem.is_some_and(|sem| sem.effects().is_pure());
    let operands = data.operands.iter().all(|operand| match operand.kind {
        OperandKind::Register { .. } | OperandKind::Value { .. } | OperandKind::Predicate { .. } => true,
        OperandKind::Immediate => operand.limit.is_some(),
        OperandKind::Address { .. }
        | OperandKind::Vector { .. }
        | OperandKind::Texture
        | OperandKind::Surface
        | OperandKind::Descriptor
        | OperandKind::TensorMemory
        | OperandKind::TensorMap
        | OperandKind::Selected(_)
        | OperandKind::Sink
        | OperandKind::Label
        | OperandKind::Function
        | OperandKind::Results
        | OperandKind::Arguments
        | OperandKind::BranchTargets
        | OperandKind::CallTargets => false,
    });
    // Where windows of the generic address space lie is a device's own business.
    let of_addresses =
        matches!(data.mnemonic, Mnemonic::Isspacep | Mnemonic::Cvta | Mnemonic::Mapa | Mnemonic::Getctarank);
    let opaque = data.mnemonic == Mnemonic::Createpolicy;
    let chapter = CHAPTERS.iter().any(|chapter| data.chapter.starts_with(chapter));
    pure && operands && chapter && !of_addresses && !opaque
}

/// Whether a type is one that every engine is expected to compute with.
fn is_ordinary(ty: ScalarType) -> bool {
    let number = matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Untyped);
    number && ty.bits() <= 64 && !matches!(ty, ScalarType::U16x2 | ScalarType::S16x2)
        || matches!(ty, ScalarType::F32 | ScalarType::F64 | ScalarType::Pred)
}

/// The class of registers for a type.
fn pool(ty: ScalarType) -> Option<char> {
    match (ty, ty.bits()) {
        (ScalarType::Pred, _) => Some('p'),
        (ScalarType::F32, _) => Some('f'),
        (ScalarType::F64, _) => Some('g'),
        (_, 8 | 16) => Some('h'),
        (_, 32) => Some('r'),
        (_, 64) => Some('d'),
        _ => None,
    }
}

/// A register that statements write.
pub(crate) fn register(letter: char, random: &mut Rng) -> String {
    let count = crate::frame::POOLS.iter().find(|pool| pool.letter == letter).map_or(1, |pool| pool.count);
    format!("%{letter}{}", random.u32(..count))
}

/// A random instruction, perhaps with a guard.
pub(crate) fn instruction(words: Words, random: &mut Rng) -> String {
    let vocabulary = vocabulary(words);
    let of_one = &vocabulary[random.usize(..vocabulary.len())];
    let opcode = &of_one[random.usize(..of_one.len())];
    let full = random.bool();
    let mut written: Vec<String> = Vec::new();
    // What ptxas 13.0 makes of these, at every level, is not what the manual says (docs/limitations.md): silicon would differ.
    let mnemonic = opcode.data().mnemonic;
    let unguarded = matches!(mnemonic, Mnemonic::Testp | Mnemonic::Set);
    let guard = if unguarded { String::new() } else { guard(random) };
    let of_halves = opcode.operand_type(0).is_some_and(|ty| ty.bits() == 16);
    let of_doubles = opcode.operand_type(0) == Some(ScalarType::F64);
    let from_register = |i: usize| match mnemonic {
        Mnemonic::Shl | Mnemonic::Shr => of_halves,
        Mnemonic::Neg | Mnemonic::Abs => true,
        Mnemonic::Add | Mnemonic::Fma | Mnemonic::Mad => of_doubles && i == 1,
        Mnemonic::Sub => of_doubles && i == 2,
        _ => false,
    };
    let mut text = format!("{guard}{}", opcode.text());
    let mut first = true;
    for (i, spec) in opcode.data().operands.iter().enumerate() {
        let there = spec.with.map_or(!spec.optional || full, |modifier| opcode.has(modifier));
        let (true, Some(ty)) = (there, opcode.operand_type(i).or(Some(ScalarType::B32))) else { continue };
        let mut operand = operand(spec, ty, random);
        if from_register(i) && !operand.starts_with('%') {
            operand = source(ty, random);
        }
        while spec.role != Role::Read && written.contains(&operand) {
            operand = register(operand.chars().nth(1).unwrap_or('r'), random);
        }
        text.push_str(if first {
            " "
        } else if spec.joined {
            "|"
        } else {
            ", "
        });
        text.push_str(&operand);
        if spec.role != Role::Read {
            written.push(operand);
        }
        first = false;
    }
    text + ";"
}

/// A guard before one instruction in five.
pub(crate) fn guard(random: &mut Rng) -> String {
    match random.u32(..10) {
        0 => format!("@{} ", register('p', random)),
        1 => format!("@!{} ", register('p', random)),
        _ => String::new(),
    }
}

fn operand(spec: &OperandSpec, ty: ScalarType, random: &mut Rng) -> String {
    match (spec.kind, spec.role) {
        (OperandKind::Immediate, _) => limited(spec.limit, random).to_string(),
        (OperandKind::Predicate { negatable, .. }, Role::Read) => {
            let negated = negatable && random.bool();
            format!("{}{}", if negated { "!" } else { "" }, register('p', random))
        }
        (OperandKind::Predicate { .. }, _) => register('p', random),
        (OperandKind::Value { .. }, Role::Read) if random.u32(..5) == 0 => {
            constant(spec, ty, random).unwrap_or_else(|| source(ty, random))
        }
        (_, Role::Read) => source(ty, random),
        _ => register(pool(ty).unwrap_or('r'), random),
    }
}

/// A register to read: one that statements write, one that is the same in all threads, or a number of the thread.
fn source(ty: ScalarType, random: &mut Rng) -> String {
    match (pool(ty), random.u32(..8)) {
        (Some('r' | 'f'), 0) => format!("%u{}", random.u32(..crate::frame::UNIFORM.0)),
        (Some('d'), 0) => format!("%v{}", random.u32(..crate::frame::UNIFORM.1)),
        (Some('r'), 1) => ["%thread", "%gtid", "%lane"][random.usize(..3)].to_owned(),
        (letter, _) => register(letter.unwrap_or('r'), random),
    }
}

fn limited(limit: Option<Limit>, random: &mut Rng) -> i64 {
    match limit {
        None => random.i64(..32),
        Some(Limit::Range(low, high)) => random.i64(low..=high),
        Some(Limit::MultipleOf(step)) => step * random.i64(..4),
        Some(Limit::Steps(low, high, step)) => step * random.i64((low + step - 1) / step..=high / step),
        Some(Limit::OneOf(values)) => values[random.usize(..values.len())],
    }
}

/// A constant of a type, if one can be written.
fn constant(spec: &OperandSpec, ty: ScalarType, random: &mut Rng) -> Option<String> {
    if spec.limit.is_some() {
        return Some(limited(spec.limit, random).to_string());
    }
    let edges = Domain::Of(ty).edges();
    let edge = edges[random.usize(..edges.len())];
    match ty {
        ScalarType::F32 => Some(format!("0f{edge:08X}")),
        ScalarType::F64 => Some(format!("0d{edge:016X}")),
        _ if is_ordinary(ty) && ty != ScalarType::Pred => {
            let signed = ty.kind() == TypeKind::Signed;
            let shift = 64 - ty.bits();
            Some(if signed { ((edge << shift) as i64 >> shift).to_string() } else { edge.to_string() })
        }
        _ => None,
    }
}
