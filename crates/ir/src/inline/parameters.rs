//! Parameters of calls that are registers: once the callee's code stands in the caller's, `st.param` and `ld.param` are
//! copies.

use super::splice::{Draft, copy};
use super::{Parts, each_operand, variable_of};
use ptx::isa::{Opcode, Sem};
use ptx::module::{AddressBase, Body, FuncId, Instruction, Operand, RegId, Register, VarId};
use ptx::types::{ScalarType, StateSpace, TypeKind};
use std::collections::{HashMap, HashSet};

/// A load or a store of elements that follow one another in a parameter.
struct Access {
    variable: VarId,
    offset: i64,
    ty: ScalarType,
    /// What is loaded to, or stored.
    elements: Vec<Operand>,
    is_load: bool,
}

impl Access {
    fn new(body: &Body, opcode: &Opcode, instruction: &Instruction) -> Option<Self> {
        let (is_load, value, address) = match opcode.sem() {
            Some(Sem::Ld) => (true, 0, 1),
            Some(Sem::St) => (false, 1, 0),
            _ => return None,
        };
        let operands = body.operands(instruction);
        let Operand::Address { base: AddressBase::Variable(variable), offset } = *operands.get(address)?
        else {
            return None;
        };
        let elements = match *operands.get(value)? {
            Operand::Vector(list) => body.elements(&list).to_vec(),
            alone => vec![alone],
        };
        Some(Self { variable, offset, ty: opcode.operand_type(value)?, elements, is_load })
    }

    /// Where each element lies in the parameter.
    fn places(&self) -> impl Iterator<Item = (i64, Operand)> + '_ {
        let bytes = i64::from(self.ty.bytes());
        (0..).zip(&self.elements).map(move |(nth, &element)| (self.offset + nth * bytes, element))
    }

    /// Whether each element can be copied.
    fn is_copy(&self, body: &Body) -> bool {
        let bits_of = |register: RegId| body.registers[register.index()].ty.bits();
        self.elements.iter().all(|element| match *element {
            Operand::Register(register) => {
                bits_of(register) >= self.ty.bits().max(16)
                    && (bits_of(register) <= 64 || bits_of(register) == self.ty.bits())
            }
            Operand::Sink => self.is_load,
            Operand::Immediate(_) => !self.is_load && self.ty.bits() <= 64,
            Operand::SymbolAddress { .. } => !self.is_load && self.ty.bits() == 64,
            _ => false,
        })
    }
}

/// The type of the register for an element.
fn register_type(element: ScalarType) -> Option<ScalarType> {
    Some(match element.bits() {
        8 | 16 => ScalarType::B16,
        32 => ScalarType::B32,
        64 => ScalarType::B64,
        128 => ScalarType::B128,
        _ => return None,
    })
}

/// A body in which the parameters of calls that are only loaded and stored, always in the same parts, are registers.
pub(super) fn to_registers(body: Body, owner: FuncId, parts: &mut Parts) -> Body {
    let known = elements(&body, owner, parts);
    let mut draft = Draft::new(&body);
    let mut registers: HashMap<(VarId, i64), RegId> = HashMap::new();
    for instruction in &body.instructions {
        draft.begin_instruction();
        let access = Access::new(&body, &parts.opcodes[instruction.opcode.index()], instruction);
        let Some(access) = access.filter(|access| known.contains(&access.variable)) else {
            draft.keep(instruction);
            continue;
        };
        let name = parts.names.intern(&parts.variables[access.variable.index()].name);
        let ty = register_type(access.ty).expect("only those that have one are replaced");
        for (offset, element) in access.places() {
            let register = *registers
                .entry((access.variable, offset))
                .or_insert_with(|| draft.register(Register { name, ty }));
            let (to, from) = match access.is_load {
                true => (element, Operand::Register(register)),
                false => (Operand::Register(register), element),
            };
            if to == Operand::Sink {
                continue;
            }
            let (text, sem) = move_of(&access, element, &body);
            draft.put(instruction, parts.opcode(&text, sem), &[to, from]);
        }
        draft.forget(instruction.operands);
    }
    draft.finish().unwrap_or(body)
}

/// The instruction by which an element is loaded or stored where it is a register.
fn move_of(access: &Access, element: Operand, body: &Body) -> (String, Sem) {
    let own = register_type(access.ty).unwrap_or(access.ty);
    let bits = match element {
        Operand::Register(register) => body.registers[register.index()].ty.bits(),
        _ => own.bits(),
    };
    let narrow = access.ty.bits();
    match (copy(own), access.is_load) {
        (Some((text, sem)), _) if bits == narrow => (text.to_owned(), sem),
        (_, true) => {
            let kind = if access.ty.kind() == TypeKind::Signed { 's' } else { 'u' };
            (format!("cvt.{kind}{bits}.{kind}{narrow}"), Sem::CvtInt)
        }
        (_, false) => (format!("cvt.u{narrow}.u{bits}"), Sem::CvtInt),
    }
}

/// The parameters of a function's calls that can be registers.
fn elements(body: &Body, owner: FuncId, parts: &Parts) -> HashSet<VarId> {
    let mut places: HashMap<VarId, Vec<(i64, u32)>> = HashMap::new();
    let mut otherwise: HashSet<VarId> = HashSet::new();
    for instruction in &body.instructions {
        let opcode = &parts.opcodes[instruction.opcode.index()];
        match Access::new(body, opcode, instruction) {
            Some(access) if access.is_copy(body) && register_type(access.ty).is_some() => {
                let all = places.entry(access.variable).or_default();
                all.extend(access.places().map(|(offset, _)| (offset, access.ty.bytes())));
                // A symbol's address may be stored that is a parameter's own.
                otherwise.extend(access.elements.iter().filter_map(|&element| variable_of(element)));
            }
            _ => each_operand(body, body.operands(instruction), &mut |operand| {
                otherwise.extend(variable_of(operand));
            }),
        }
    }
    let is_whole = |id: VarId, places: &mut Vec<(i64, u32)>| {
        let variable = &parts.variables[id.index()];
        places.sort_unstable();
        places.dedup();
        let inside = |&(offset, bytes): &(i64, u32)| {
            u64::try_from(offset).is_ok_and(|offset| offset + u64::from(bytes) <= variable.size)
        };
        variable.space == StateSpace::ParamFunc
            && variable.function == Some(owner)
            && places.iter().all(inside)
            && places.windows(2).all(|pair| pair[0].0 + i64::from(pair[0].1) <= pair[1].0)
    };
    places
        .into_iter()
        .filter_map(|(id, mut places)| (!otherwise.contains(&id) && is_whole(id, &mut places)).then_some(id))
        .collect()
}
