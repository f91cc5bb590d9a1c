//! A minimal legal module around one instruction, for tests that ask an assembler what it thinks of the table.

use super::form::Count;
use super::{
    FormId, Limit, Modifier, Opcode, OperandKind, OperandSpec, Role, Slot, SpaceRule, TARGETS, minimal_opcode,
};
use crate::types::{Arch, ArchVariant, ScalarType, StateSpace, TypeKind, Version};
use std::fmt::Write;

/// The smallest legal PTX module with an instruction of this form; `None` if no target has all that it needs.
pub fn minimal_instance(form: FormId) -> Option<String> {
    instance(&minimal_opcode(form)?, false)
}

/// A legal PTX module with this opcode; with its optional operands if `full`. `None` if no target has all that it
/// needs.
pub fn instance(opcode: &Opcode, full: bool) -> Option<String> {
    let (version, arch) = home(opcode, full)?;
    let mut writer = Writer { opcode, registers: Vec::new(), scope: String::new() };
    let operands = writer.operands(full);
    let mut text = format!(".version {version}\n.target {arch}\n.address_size 64\n");
    text.push_str(MODULE_SCOPE);
    text.push_str(".visible .entry kernel(.param .align 16 .b8 parameter[64])\n{\n");
    text.push_str(FUNCTION_SCOPE);
    for (i, ty) in writer.registers.iter().enumerate() {
        let _ = writeln!(text, "\t.reg {ty} %r{i};");
    }
    text.push_str(&writer.scope);
    let _ = writeln!(text, "\t{}{operands};\nend:\n\tret;\n}}", opcode.text());
    Some(text)
}

/// The operands of an instance: their texts, a joined one beginning with its `|`, and the declared types of the
/// registers `%r0`, `%r1`, ... in them.
pub fn instance_operands(opcode: &Opcode, full: bool) -> (Vec<String>, Vec<ScalarType>) {
    let mut writer = Writer { opcode, registers: Vec::new(), scope: String::new() };
    let operands = opcode.data().operands.iter().enumerate();
    let written = operands.filter(|(_, spec)| is_written(opcode, spec, full));
    let texts = written.map(|(i, spec)| {
        let operand = writer.operand(i, spec);
        if spec.joined { format!("|{operand}") } else { operand }
    });
    (texts.collect(), writer.registers)
}

/// The first version that says how wide addresses are.
const ADDRESS_SIZE: Version = Version { major: 2, minor: 3 };

/// What operands may refer to, one of each kind.
const MODULE_SCOPE: &str = "\
.global .align 16 .b8 in_global[64];
.const .align 16 .b8 in_const[64];
.global .texref texture;
.global .surfref surface;
.func callee()
{
	ret;
}
";

const FUNCTION_SCOPE: &str = "\
\t.shared .align 16 .b8 in_shared[64];
\t.local .align 16 .b8 in_local[64];
\t.param .align 16 .b8 argument[64];
";

/// The first target that has the form and all its modifiers, with the least PTX version that they and it need.
fn home(opcode: &Opcode, full: bool) -> Option<(Version, Arch)> {
    let operands = opcode.data().operands.iter().filter(|spec| is_written(opcode, spec, full));
    let gates: Vec<_> = opcode.gates().map(|(_, gate)| gate).chain(operands.map(|spec| spec.gate)).collect();
    let needed = gates.iter().map(|gate| gate.ptx).max()?.max(ADDRESS_SIZE);
    let fits = |arch: Arch, version: Version| gates.iter().all(|gate| gate.permits(version, arch));
    // The assemblers of today begin with sm_75; a family target is only a restriction of the specific one.
    let current = TARGETS.iter().filter(|(arch, _)| arch.sm >= 75 && arch.variant != ArchVariant::Family);
    let mut all = current.chain(TARGETS.iter().rev()).map(|(arch, since)| (needed.max(*since), *arch));
    all.find(|&(version, arch)| fits(arch, version))
}

/// Whether an instance has the operand.
fn is_written(opcode: &Opcode, spec: &OperandSpec, full: bool) -> bool {
    match spec.with {
        Some(modifier) => opcode.has(modifier),
        // The callee takes nothing.
        None => {
            !spec.optional || (full && !matches!(spec.kind, OperandKind::Results | OperandKind::Arguments))
        }
    }
}

struct Writer<'a> {
    opcode: &'a Opcode,
    /// The declared types of `%r0`, `%r1`, ...
    registers: Vec<ScalarType>,
    /// Further declarations.
    scope: String,
}

impl Writer<'_> {
    fn operands(&mut self, full: bool) -> String {
        let mut text = String::new();
        for (i, spec) in self.opcode.data().operands.iter().enumerate() {
            if is_written(self.opcode, spec, full) {
                let separator = if text.is_empty() { " " } else { ", " };
                text.push_str(if spec.joined { "|" } else { separator });
                let operand = self.operand(i, spec);
                text.push_str(&operand);
            }
        }
        text
    }

    fn operand(&mut self, i: usize, spec: &OperandSpec) -> String {
        let ty = self.opcode.operand_type(i);
        match spec.kind {
            OperandKind::Register { .. }
            | OperandKind::Value { .. }
            | OperandKind::Predicate { .. }
            | OperandKind::Selected(_) => self.register(ty.unwrap_or(ScalarType::B64)),
            OperandKind::Immediate => match spec.limit {
                // 0 is not among the scales 1 and -1.
                Some(Limit::Range(low, high)) => if low < 0 { high } else { low }.to_string(),
                Some(Limit::Steps(low, ..)) => low.to_string(),
                Some(Limit::OneOf(values)) => values[0].to_string(),
                Some(Limit::MultipleOf(_)) | None => "0".to_owned(),
            },
            OperandKind::Address { space } => self.address(space),
            OperandKind::Vector { count, .. } => self.vector(i, spec.role, count, ty),
            OperandKind::Texture => {
                let coordinates = self.list(self.coordinates(), ScalarType::B32);
                format!("[texture, {coordinates}]")
            }
            OperandKind::Surface => {
                let coordinates = self.list(self.coordinates(), ScalarType::B32);
                format!("[surface, {coordinates}]")
            }
            OperandKind::Descriptor if self.opcode.mnemonic().text() == "suq" => "[surface]".to_owned(),
            OperandKind::Descriptor => "[texture]".to_owned(),
            OperandKind::TensorMemory => format!("[{}]", self.register(ScalarType::B32)),
            OperandKind::TensorMap => {
                let four_rows =
                    [Modifier::TileGather4, Modifier::TileScatter4].iter().any(|m| self.opcode.has(*m));
                let coordinates = if four_rows { 5 } else { self.opcode.dimensions() };
                let map = self.register(ScalarType::B64);
                format!("[{map}, {}]", self.list(coordinates, ScalarType::B32))
            }
            OperandKind::Sink => "_".to_owned(),
            OperandKind::Label => "end".to_owned(),
            OperandKind::Function => "callee".to_owned(),
            OperandKind::Results | OperandKind::Arguments => "()".to_owned(),
            OperandKind::BranchTargets => {
                self.scope.push_str("targets: .branchtargets end;\n");
                "targets".to_owned()
            }
            OperandKind::CallTargets => {
                self.scope.push_str("prototype: .callprototype _ ();\n");
                "prototype".to_owned()
            }
        }
    }

    /// A new register that an operand of the type accepts.
    fn register(&mut self, ty: ScalarType) -> String {
        use ScalarType::{B8, B16, B32, B64, F16, F32, F64, Pred, S8, U8};
        let declared = match ty {
            Pred | F16 | F32 | F64 | U8 | S8 => ty,
            // The alternate and packed formats are declared as plain bits.
            _ if ty.kind() == TypeKind::Float || ty.name().contains('x') => match ty.bits() {
                8 => B8,
                16 => B16,
                32 => B32,
                _ => B64,
            },
            _ => ty,
        };
        self.registers.push(declared);
        format!("%r{}", self.registers.len() - 1)
    }

    fn list(&mut self, count: u32, ty: ScalarType) -> String {
        let elements: Vec<_> = (0..count).map(|_| self.register(ty)).collect();
        format!("{{{}}}", elements.join(", "))
    }

    fn vector(&mut self, i: usize, role: Role, count: Count, ty: Option<ScalarType>) -> String {
        match count {
            Count::Of(slot) if self.opcode.get(slot).is_none() => {
                self.register(ty.unwrap_or(ScalarType::B32))
            }
            Count::Parts if ty.is_none() => {
                // Of a `mov`, two halves of the other operand.
                match self.opcode.operand_type(if role == Role::Write { 1 } else { 0 }) {
                    Some(ScalarType::B16) => self.list(2, ScalarType::B8),
                    Some(ScalarType::B32) => self.list(2, ScalarType::B16),
                    Some(ScalarType::B64) => self.list(2, ScalarType::B32),
                    _ => self.list(2, ScalarType::B64),
                }
            }
            _ => {
                let count = self.opcode.operand_length(i).unwrap_or(1);
                self.list(count, ty.unwrap_or(ScalarType::B32))
            }
        }
    }

    fn address(&mut self, space: SpaceRule) -> String {
        let modifier = match space {
            SpaceRule::Of(slot) | SpaceRule::Mbarrier(slot) => self.opcode.get(slot),
            SpaceRule::Fixed(_) => None,
        };
        let space = match space {
            SpaceRule::Fixed(space) => space,
            SpaceRule::Of(_) | SpaceRule::Mbarrier(_) => {
                modifier.and_then(Modifier::state_space).unwrap_or(StateSpace::Generic)
            }
        };
        let stores = self.opcode.mnemonic().text() == "st";
        let name = match space {
            StateSpace::Const => "in_const",
            StateSpace::Global => "in_global",
            StateSpace::Local => "in_local",
            StateSpace::Shared => "in_shared",
            StateSpace::ParamEntry if !stores => "parameter",
            StateSpace::ParamEntry | StateSpace::ParamFunc => "argument",
            StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex | StateSpace::Generic => {
                return format!("[{}]", self.register(ScalarType::B64));
            }
        };
        format!("[{name}]")
    }

    /// The elements of a coordinate vector: dimensions, a layer, a sample; three are padded to four.
    fn coordinates(&self) -> u32 {
        let text = self.opcode.get(Slot::Geom).map_or("", Modifier::text);
        let layer = u32::from(text.starts_with(".a"));
        let sample = u32::from(text.ends_with("ms"));
        match self.opcode.dimensions() + layer + sample {
            3 => 4,
            n => n,
        }
    }
}
