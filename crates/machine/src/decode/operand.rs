//! Operands: registers, constants, special registers and addresses as planes, scalars and memory bases.

use super::decoder::{Decoder, Memory, Missing};
use super::emit::spread;
use crate::build::layout;
use crate::exec::code_address;
use crate::image::places::Home;
use crate::image::{LOCAL_BASE, Op, ZERO};
use crate::lanes::{Condition, Operand, PlaneId, PredicateId, ScalarId, Source};
use crate::memory::SpaceKind;
use crate::operation::kinds::{AddOffset, ClockRead, PredicateFromScalar, ReadSpecial, SetPredicate, Unary};
use crate::operation::{Address, Immediate, Pattern, step_of};
use crate::ops::special::{Reading, reader, reading};
use crate::ops::width::{resize, sign_extend, sign_extend_scalar, signs};
use ir::operand::{Def, Predicate, Space, Value};
use ptx::isa::SpecialRegister;
use ptx::module::{AddressBase, RegId, Symbol, VarId};
use ptx::types::StateSpace;

/// An address in a symbol's own state space.
struct SymbolValue {
    base: ScalarId,
    offset: u64,
}

/// The width of the plane that holds an element of `bits`.
pub(crate) fn plane_bits(bits: u32) -> u32 {
    bits.max(16)
}

/// Plane `d` = plane `a`, cut or zero-extended.
pub(crate) fn resized(d: PlaneId, a: PlaneId) -> Op {
    resize(a.bits(), d.bits()).with(Unary { d: d.into(), a: a.into() })
}

/// The same, extended by its sign if that is `signed`.
fn extended(d: PlaneId, a: PlaneId, signed: bool) -> Op {
    match signed && d.bits() > a.bits() {
        true => sign_extend(a.bits(), d.bits()).with(Unary { d: d.into(), a: a.into() }),
        false => resized(d, a),
    }
}

impl Decoder<'_> {
    /// A value of `bits`.
    pub(crate) fn read(&mut self, value: &Value, bits: u32) -> Result<Operand, Missing> {
        match *value {
            Value::Register(register) => self.register_value(register, bits),
            Value::Constant(value) => Ok(self.constant(value)),
            Value::Special { register, component } => self.special(register, component, bits),
            Value::Symbol { symbol, offset } => {
                let SymbolValue { base, offset } = match symbol {
                    Symbol::Function(function) => {
                        let offset = code_address(function.0).wrapping_add_signed(offset);
                        SymbolValue { base: ZERO, offset }
                    }
                    Symbol::Variable(id) => self.variable(id, offset as u64)?,
                };
                match offset {
                    _ if base == ZERO => Ok(self.constant(offset)),
                    0 => Ok(base.into()),
                    _ => Ok(self.offset(base, offset).into()),
                }
            }
            Value::Unused => Ok(ZERO.into()),
        }
    }

    /// A plane of `bits` with a value.
    pub(crate) fn read_plane(&mut self, value: &Value, bits: u32) -> Result<PlaneId, Missing> {
        let source = self.read(value, bits)?;
        Ok(self.plane_of(source, bits))
    }

    /// A destination of `bits`. A wider register gets the result's sign above them if that is `signed`, else zeros. What is
    /// dropped goes to a temporary.
    pub(crate) fn write_extended(&mut self, def: Def, bits: u32, signed: bool) -> Result<Operand, Missing> {
        let Some(register) = def.0 else { return Ok(self.frame.temporary(bits).into()) };
        // Computed in the type's width, then widened (or cut) into the register.
        Ok(match self.home(register) {
            Home::Plane(plane) if plane.bits() == bits => plane.into(),
            Home::Plane(plane) => {
                let temporary = self.frame.temporary(bits);
                self.code.after(extended(plane, temporary, signed));
                temporary.into()
            }
            Home::Scalar(scalar) => {
                let own = self.bits_of(register);
                if !signed || own <= bits {
                    return Ok(scalar.into());
                }
                let narrow = self.frame.new_scalar();
                let widened = Unary { d: scalar.into(), a: narrow.into() };
                self.code.after(sign_extend_scalar(bits, own).with(widened));
                narrow.into()
            }
            Home::Unused => self.frame.temporary(bits).into(),
            Home::Pair([low, high]) => {
                let mut to = low;
                if bits != 64 {
                    to = self.frame.temporary(bits);
                    self.code.after(extended(low, to, signed));
                }
                match signed {
                    true => self.code.after(signs().with(Unary { d: high.into(), a: low.into() })),
                    false => self.code.after(spread(self.level, high, ZERO)),
                }
                to.into()
            }
            Home::Predicate(_) => {
                return Err(format!("register {} as a {bits}-bit result", self.register_name(register)));
            }
        })
    }

    /// A destination plane of `bits`.
    pub(crate) fn write_plane(&mut self, def: Def, bits: u32) -> Result<PlaneId, Missing> {
        self.write_extended_plane(def, bits, false)
    }

    fn write_extended_plane(&mut self, def: Def, bits: u32, signed: bool) -> Result<PlaneId, Missing> {
        match self.write_extended(def, bits, signed)?.source() {
            Source::Plane(plane) => Ok(plane),
            Source::Scalar(_) => Err("a result that is the same for all threads".to_owned()),
        }
    }

    /// Planes of `bits` with some values.
    pub(crate) fn read_planes(&mut self, values: &[Value], bits: u32) -> Result<Vec<PlaneId>, Missing> {
        values.iter().map(|value| self.read_plane(value, bits)).collect()
    }

    /// A destination plane of `bits`, if it is not dropped.
    pub(crate) fn write_or_drop(&mut self, def: Def, bits: u32) -> Result<Option<PlaneId>, Missing> {
        def.0.map(|_| self.write_plane(def, bits)).transpose()
    }

    /// Destination planes of `bits`; some may be dropped.
    pub(crate) fn write_planes(&mut self, defs: &[Def], bits: u32) -> Result<Vec<Option<PlaneId>>, Missing> {
        defs.iter().map(|&def| self.write_or_drop(def, bits)).collect()
    }

    /// The width of the planes for a vector's elements of `bits`: that of the widest register among them.
    pub(crate) fn width_of(&self, registers: impl Iterator<Item = RegId>, bits: u32) -> u32 {
        let widths = registers.map(|register| match self.home(register) {
            Home::Plane(plane) => plane.bits(),
            Home::Pair(_) => 64,
            Home::Scalar(_) | Home::Predicate(_) | Home::Unused => 0,
        });
        widths.fold(plane_bits(bits), u32::max)
    }

    /// The planes of a vector's elements, all of one width, and that; some may be dropped.
    pub(crate) fn write_elements(
        &mut self,
        defs: &[Def],
        bits: u32,
        signed: bool,
    ) -> Result<(Vec<Option<PlaneId>>, u32), Missing> {
        let width = self.width_of(defs.iter().filter_map(|def| def.0), bits);
        let planes = defs.iter().map(|&def| {
            let plane = def.0.map(|_| self.write_extended_plane(def, width, signed));
            plane.transpose()
        });
        Ok((planes.collect::<Result<_, _>>()?, width))
    }

    /// The halves of a 128-bit value. A constant or an address has 64 bits, and zeros above them (as ptxas has it, also of a
    /// negative one).
    pub(crate) fn read_pair(&mut self, value: &Value) -> Result<[PlaneId; 2], Missing> {
        match *value {
            Value::Register(register) => self.write_pair(Def(Some(register))),
            Value::Constant(_) | Value::Symbol { .. } => {
                Ok([self.read_plane(value, 64)?, self.plane_of(ZERO.into(), 64)])
            }
            other => Err(format!("{other:?} as a 128-bit value")),
        }
    }

    /// The halves of a 128-bit destination. What is dropped goes to temporaries.
    pub(crate) fn write_pair(&mut self, def: Def) -> Result<[PlaneId; 2], Missing> {
        match def.0.map(|register| (register, self.home(register))) {
            Some((_, Home::Pair(pair))) => Ok(pair),
            None | Some((_, Home::Unused)) => Ok([self.frame.temporary(64), self.frame.temporary(64)]),
            Some((register, _)) => {
                Err(format!("register {} as a 128-bit value", self.register_name(register)))
            }
        }
    }

    /// A predicate that is read.
    pub(crate) fn read_predicate(&mut self, predicate: &Predicate) -> Result<Condition, Missing> {
        let p = match predicate.value {
            Value::Register(register) => self.predicate_of(register)?,
            Value::Constant(value) => {
                let p = self.frame.constant_predicate(value != 0);
                self.emit_part(SetPredicate { d: Some(p), value: value != 0 });
                p
            }
            Value::Special { register, component } => {
                let Source::Scalar(a) = self.special(register, component, 32)?.source() else {
                    return Err(format!("{} as a predicate", register.text()));
                };
                let d = self.frame.predicate_of_scalar();
                self.emit_part(PredicateFromScalar { d, a });
                d
            }
            Value::Symbol { .. } | Value::Unused => {
                return Err(format!("operand {:?} as a predicate", predicate.value));
            }
        };
        Ok(p.is(predicate.negated))
    }

    /// A destination predicate, if it is not dropped.
    pub(crate) fn write_predicate(&mut self, def: Option<Def>) -> Result<Option<PredicateId>, Missing> {
        def.and_then(|def| def.0).map(|register| self.predicate_of(register)).transpose()
    }

    /// The same, but what is dropped goes to a predicate that nobody reads.
    pub(crate) fn write_predicate_somewhere(&mut self, def: Option<Def>) -> Result<PredicateId, Missing> {
        Ok(self.write_predicate(def)?.unwrap_or(self.frame.scratch_predicate()))
    }

    /// A memory operand, for an access of `bytes` a lane in the state space that it names.
    pub(crate) fn memory(&mut self, operand: &ir::operand::Address, bytes: u32) -> Result<Memory, Missing> {
        let named = self.space_of(operand.space);
        let offset = operand.offset as u64;
        let (mut pattern, mut step) = (Pattern::Any, None);
        let (address, space) = match operand.base {
            AddressBase::Absolute => (Address::new(ZERO, offset), named),
            AddressBase::Variable(id) => {
                let own = self.module.variables[id.index()].space;
                let SymbolValue { base, offset: at } = self.variable(id, 0)?;
                // Without a named space the symbol's generic address is meant.
                let space = if operand.space == Space::Generic { self.space_of_variable(id) } else { named };
                let space = if own == StateSpace::ParamFunc { SpaceKind::Local } else { space };
                (Address::new(base, at.wrapping_add(offset)), space)
            }
            AddressBase::Register(register) => {
                let space = match named {
                    // The address of one of this function's own parameters, or of a call's.
                    SpaceKind::Param if !self.is_entry() && operand.space == Space::Param => SpaceKind::Local,
                    space => space,
                };
                let base = match self.home(register) {
                    Home::Plane(plane) if plane.bits() > 16 => {
                        let shape = self.shapes.at(self.code.current(), register);
                        (pattern, step) = (Pattern::of(shape, bytes), step_of(shape));
                        plane.into()
                    }
                    Home::Scalar(scalar) => scalar.into(),
                    Home::Unused => ZERO.into(),
                    // An address of shared memory can be in a half.
                    Home::Plane(_) => self.read_plane(&Value::Register(register), 32)?.into(),
                    Home::Predicate(_) | Home::Pair(_) => {
                        return Err(format!("register {} as an address", self.register_name(register)));
                    }
                };
                (Address { base, offset: Immediate(offset) }, space)
            }
        };
        let space = match space {
            SpaceKind::Shared if operand.space == Space::SharedCluster => SpaceKind::Cluster,
            space => space,
        };
        Ok(Memory { address, pattern, step, space })
    }

    /// The same for an instruction that only some memories have: a variable in another one is meant by its generic
    /// address.
    pub(crate) fn memory_in_one_of(
        &mut self,
        operand: &ir::operand::Address,
        bytes: u32,
        spaces: &[SpaceKind],
    ) -> Result<Memory, Missing> {
        let found = self.memory(operand, bytes)?;
        if spaces.contains(&found.space) {
            return Ok(found);
        }
        let offset = found.address.offset.0.wrapping_add(found.space.window());
        let address = Address { offset: Immediate(offset), ..found.address };
        Ok(Memory { address, space: SpaceKind::Generic, ..found })
    }

    /// The memory behind a state space that an instruction of this function names.
    pub(crate) fn space_of(&self, space: Space) -> SpaceKind {
        match space {
            Space::Generic => SpaceKind::Generic,
            Space::Const | Space::Global => SpaceKind::Global,
            Space::Local => SpaceKind::Local,
            Space::Shared | Space::SharedCta | Space::SharedCluster => SpaceKind::Shared,
            Space::Param | Space::ParamEntry => SpaceKind::Param,
            Space::ParamFunc if self.is_entry() => SpaceKind::Param,
            Space::ParamFunc => SpaceKind::Local,
        }
    }

    fn register_value(&mut self, register: RegId, bits: u32) -> Result<Operand, Missing> {
        let plane = match self.home(register) {
            Home::Scalar(scalar) => return Ok(scalar.into()),
            Home::Plane(plane) | Home::Pair([plane, _]) => plane,
            Home::Predicate(_) | Home::Unused => {
                return Err(format!("register {} as a {bits}-bit value", self.register_name(register)));
            }
        };
        if plane.bits() == bits {
            return Ok(plane.into());
        }
        // A wider or narrower register than the instruction's type: its low bits, or zero-extended.
        let d = self.frame.temporary(bits);
        self.emit_part(resized(d, plane));
        Ok(d.into())
    }

    /// The predicate that a register is.
    pub(crate) fn predicate_of(&self, register: RegId) -> Result<PredicateId, Missing> {
        match self.home(register) {
            Home::Predicate(predicate) => Ok(predicate),
            // Never live: any predicate will do, and nobody reads it.
            Home::Unused => Ok(self.frame.scratch_predicate()),
            _ => Err(format!("register {} as a predicate", self.register_name(register))),
        }
    }

    fn special(&mut self, register: SpecialRegister, component: u8, bits: u32) -> Result<Operand, Missing> {
        // The fourth component of a vector is zero for every thread, and may be wanted as a scalar.
        if component == 3 {
            return Ok(ZERO.into());
        }
        let d: Operand = match reading(register) {
            Reading::Scalar(_) => self.frame.new_scalar().into(),
            Reading::Plane(_) | Reading::Common(_) => self.frame.temporary(bits).into(),
        };
        self.emit_part(reader(d).with(ReadSpecial { d, register, component }));
        if matches!(register, SpecialRegister::Clock | SpecialRegister::Clock64) {
            self.emit_part(ClockRead {});
        }
        Ok(d)
    }

    /// The place of a destination of `bits` that a value can be read into as it is, if that is a special register.
    pub(crate) fn place_for_special(&self, to: Def, value: &Value, bits: u32) -> Option<Operand> {
        let Value::Special { register, component: 0..=2 } = *value else { return None };
        // Somebody has to hear of it.
        if matches!(register, SpecialRegister::Clock | SpecialRegister::Clock64) {
            return None;
        }
        match (self.home(to.0?), reading(register)) {
            (Home::Plane(plane), Reading::Plane(_) | Reading::Common(_)) if plane.bits() == bits => {
                Some(plane.into())
            }
            (Home::Scalar(scalar), Reading::Scalar(_)) => Some(scalar.into()),
            _ => None,
        }
    }

    /// The address that lies `offset` bytes behind that of a variable.
    fn variable(&mut self, id: VarId, offset: u64) -> Result<SymbolValue, Missing> {
        let variable = &self.module.variables[id.index()];
        let placed = |at: Option<u32>| at.map(u64::from).ok_or_else(|| self.unplaced(id));
        let (base, at) = match variable.space {
            StateSpace::Global | StateSpace::Const => (ZERO, self.global_address(id)?),
            StateSpace::Shared => {
                let at = placed(self.layout.offset(id))?.wrapping_add(offset);
                return Ok(SymbolValue { base: self.frame.shared_address(at), offset: 0 });
            }
            StateSpace::Local if variable.function.is_none() => (ZERO, placed(self.layout.offset(id))?),
            StateSpace::Local | StateSpace::ParamFunc => (LOCAL_BASE, placed(self.layout.offset(id))?),
            StateSpace::ParamEntry => {
                (ZERO, placed(layout::entry_parameter(self.module, self.function.id, id))?)
            }
            StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex | StateSpace::Generic => {
                return Err(self.unplaced(id));
            }
        };
        Ok(SymbolValue { base, offset: at.wrapping_add(offset) })
    }

    /// The scalar `base + offset`.
    pub(crate) fn offset(&mut self, a: ScalarId, offset: u64) -> ScalarId {
        let d = self.frame.new_scalar();
        self.emit_part(AddOffset { d, a, offset: Immediate(offset) });
        d
    }

    /// The memory that a variable is in.
    pub(crate) fn space_of_variable(&self, id: VarId) -> SpaceKind {
        let space = self.module.variables[id.index()].space;
        self.space_of(Space::of_variables(space).unwrap_or(Space::Generic))
    }
}
