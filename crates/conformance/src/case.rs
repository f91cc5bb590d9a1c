//! The cases of a form: its opcodes, each with every way to write its operands that matters.

use crate::builder::{Builder, Variant, effects};
use crate::inputs::Inputs;
use crate::kernel::Kernel;
use crate::{operands, tensor, texture};
use ptx::isa::{self, Flow, FormData, FormId, Mnemonic, Modifier, Opcode, OperandKind, Role, Slot};
use ptx::types::{Arch, ArchVariant, Version};

/// What is recorded: everything that this target has.
pub const TARGET: Arch = Arch { sm: 90, variant: ArchVariant::Specific };

/// The version of the recorded modules.
pub const VERSION: Version = Version { major: 9, minor: 0 };

/// The most opcodes of a form that are all recorded; of larger families a part that covers them.
const MOST: usize = 600;

/// The same for accesses of memory, most of whose modifiers no result depends on.
const MOST_OF_ACCESSES: usize = 80;

/// An instruction in a kernel that shows all it does to its operands.
#[derive(Clone, Debug)]
pub struct Case {
    /// What the instruction is.
    pub opcode: Opcode,
    /// The instruction as the kernel has it, which no other case has: the case's name.
    pub name: String,
    /// What its threads compute on.
    pub inputs: Inputs,
    /// The kernel around it.
    pub kernel: Kernel,
}

/// Why a form has no case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The target does not have it.
    Target,
    /// It has no result that a thread could store: barriers, fences, hints, control flow.
    NothingToObserve,
    /// Its result is an address or an opaque value of the implementation.
    Opaque,
    /// It steers threads: a file test.
    ByFile,
    /// It ends the kernel and the process's use of the GPU.
    Fault,
    /// It needs several GPUs.
    SeveralDevices,
    /// It needs an object that the driver does not make.
    NoObject,
}

impl Absent {
    /// What the coverage page says.
    pub fn text(self) -> &'static str {
        match self {
            Self::Target => "not on sm_90a",
            Self::NothingToObserve => "nothing to observe",
            Self::Opaque => "opaque result",
            Self::ByFile => "by file",
            Self::Fault => "ends the kernel",
            Self::SeveralDevices => "several GPUs",
            Self::NoObject => "no such object",
        }
    }
}

/// Why a form has no case, if that is known from its instruction.
fn absent(form: FormId) -> Option<Absent> {
    use Mnemonic::*;
    let data = form.data();
    let (version, arch) = (VERSION, TARGET);
    if !data.gate.permits(version, arch) || isa::opcodes_of_target(form, version, arch, 1).is_empty() {
        return Some(Absent::Target);
    }
    let effects = effects(form);
    match effects.flow {
        Flow::Next => {}
        Flow::Trap => return Some(Absent::Fault),
        Flow::Branch | Flow::Switch | Flow::Call | Flow::Return | Flow::Exit => return Some(Absent::ByFile),
    }
    let writes = data.operands.iter().any(|operand| operand.role != Role::Read);
    match data.mnemonic {
        Brkpt => Some(Absent::Fault),
        Createpolicy | Stacksave | Stackrestore | Alloca => Some(Absent::Opaque),
        // Multi-sample textures.
        Tex if one_of(data, Slot::Geom, &[".2dms", ".a2dms"]) => Some(Absent::NoObject),
        Multimem => Some(Absent::SeveralDevices),
        Mbarrier if one_of(data, Slot::Action, &[".inval"]) => Some(Absent::NothingToObserve),
        _ if !writes && effects.memory.is_empty() => Some(Absent::NothingToObserve),
        _ => None,
    }
}

/// Whether a form has no other choices than these in a slot.
fn one_of(data: &FormData, slot: Slot, names: &[&str]) -> bool {
    let spec = data.slots.iter().find(|spec| spec.slot == slot);
    spec.is_some_and(|spec| spec.choices.iter().all(|choice| names.contains(&choice.modifier.text())))
}

/// Every case of a form, or why there is none.
///
/// # Errors
/// Why the form has no case.
pub fn cases(form: FormId) -> Result<Vec<Case>, Absent> {
    if let Some(absent) = absent(form) {
        return Err(absent);
    }
    let most = match form.data().mnemonic {
        Mnemonic::Ld | Mnemonic::Ldu | Mnemonic::St | Mnemonic::Atom | Mnemonic::Red => MOST_OF_ACCESSES,
        Mnemonic::Mbarrier | Mnemonic::Suld | Mnemonic::Sust | Mnemonic::Sured => MOST_OF_ACCESSES,
        _ => MOST,
    };
    let mut cases: Vec<Case> = Vec::new();
    let mut opcodes = isa::opcodes_of_target(form, VERSION, TARGET, most);
    if form.data().mnemonic == Mnemonic::Wgmma {
        // Shapes are many and much alike: every ninth opcode.
        opcodes = opcodes.into_iter().step_by(9).collect();
    }
    for (index, opcode) in opcodes.into_iter().enumerate() {
        if is_misassembled(&opcode) {
            continue;
        }
        for variant in variants(&opcode, index) {
            let Some(case) = Builder::new(&opcode, variant).case() else { continue };
            if !cases.iter().rev().take(32).any(|other| other.name == case.name) {
                cases.push(case);
            }
        }
    }
    if cases.is_empty() { Err(Absent::ByFile) } else { Ok(cases) }
}

/// What ptxas 13.0 takes and assembles into something else: of eight elements that are narrower than 32 bits, which the
/// manual does not allow, a store writes one.
fn is_misassembled(opcode: &Opcode) -> bool {
    opcode.mnemonic() == Mnemonic::St
        && opcode.get(Slot::Vec).and_then(Modifier::vector_length) == Some(8)
        && opcode.ty(Slot::Type).is_some_and(|ty| ty.bits() < 32)
}

/// Ways to write the operands of an opcode. What no result depends on alternates from opcode to opcode.
fn variants(opcode: &Opcode, index: usize) -> Vec<Variant> {
    let specs = opcode.data().operands;
    let optional = specs.iter().any(|operand| operand.optional && operand.with.is_none());
    let alternatives = specs.iter().map(|operand| match operand.kind {
        OperandKind::Immediate => operands::immediates(opcode, operand).len(),
        OperandKind::Vector { count: isa::Count::Parts, .. } => 3,
        OperandKind::Selected(_) => 6,
        _ => 1,
    });
    let alternatives = alternatives.max().unwrap_or(1);
    // Registers may be wider than the types that are converted or accessed.
    let alternatives = match opcode.mnemonic() {
        Mnemonic::Cvt => 0..3,
        Mnemonic::Ld | Mnemonic::Ldu | Mnemonic::St => index % 3..index % 3 + 1,
        // Ways of swizzling.
        Mnemonic::Wgmma => 0..4,
        Mnemonic::Tex | Mnemonic::Tld4 => 0..texture::WAYS,
        Mnemonic::Sust | Mnemonic::Sured if opcode.text().split('.').nth(1) == Some("p") => 0..texture::WAYS,
        // A plain, a deep and a layered one.
        Mnemonic::Txq | Mnemonic::Suq => 0..3,
        Mnemonic::Cp if opcode.get(Slot::Tensor).is_some() => {
            0..tensor::types(opcode.get(Slot::Reduce).and(opcode.get(Slot::Op)))
        }
        _ => 0..alternatives,
    };
    let mut variants = Vec::new();
    for full in [false, true].into_iter().take(if optional { 2 } else { 1 }) {
        for alternative in alternatives.clone() {
            variants.push(Variant { full, alternative, index });
        }
    }
    variants
}
