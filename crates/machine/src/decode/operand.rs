//! Operands: registers, constants, special registers and addresses as planes, scalars and memory bases.

use super::Missing;
use super::emit::op;
use super::function::{Decoder, Home};
use super::layout;
use crate::exec::code_address;
use crate::lanes::LANES;
use crate::memory::SpaceKind;
use crate::memory::{PARAM_WINDOW, SHARED_WINDOW};
use crate::ops::address::{ROW, add_immediate, base};
use crate::ops::shape::NEGATE;
use crate::ops::special::{Reading, plane_reader, read_scalar, reading};
use crate::ops::time::clock_was_read;
use crate::ops::width::{resize, sign_extend, sign_extend_scalar, signs, zeros};
use crate::ops::{NONE, Op};
use crate::program::{LOCAL_BASE, ZERO};
use ir::Shape;
use ir::operand::{Def, Predicate, Space, Value};
use ptx::isa::SpecialRegister;
use ptx::module::{AddressBase, RegId, Symbol, VarId};
use ptx::types::StateSpace;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Plane(u32),
    Scalar(u32),
}

impl Source {
    /// The index, whichever file it is in.
    pub(crate) fn index(self) -> u32 {
        match self {
            Self::Plane(index) | Self::Scalar(index) => index,
        }
    }
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Plane(u32),
    Scalar(u32),
}

/// A memory operand: fields `a`, `y` and `imm` of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) a: u32,
    pub(crate) y: u32,
    pub(crate) imm: u64,
    /// The space that it really leads into: that of the variable, if the instruction leaves it open.
    pub(crate) space: SpaceKind,
}

/// A symbol's address in its own state space.
struct SymbolValue {
    base: u32,
    offset: u64,
}

/// The width of the plane that holds an element of `bits`.
pub(crate) fn plane_bits(bits: u32) -> u32 {
    bits.max(16)
}

impl Decoder<'_> {
    /// A value of `bits`.
    pub(crate) fn read(&mut self, value: &Value, bits: u32) -> Result<Source, Missing> {
        match *value {
            Value::Register(register) => self.register_value(register, bits),
            Value::Constant(value) => Ok(Source::Scalar(self.constant(value))),
            Value::Special { register, component } => self.special(register, component, bits),
            Value::Symbol { symbol: Symbol::Variable(id), offset } if self.is_shared(id) => {
                let at = self.shared_offset(id)?.wrapping_add_signed(offset);
                Ok(Source::Scalar(self.shared_address(at)))
            }
            Value::Symbol { symbol, offset } => {
                let SymbolValue { base, offset: at } = self.symbol(symbol)?;
                let offset = at.wrapping_add_signed(offset);
                if base == ZERO {
                    return Ok(Source::Scalar(self.constant(offset)));
                }
                let d = self.new_scalar();
                self.emit_part(Op { d, a: base, imm: offset, ..op(add_immediate) });
                Ok(Source::Scalar(d))
            }
            Value::Unused => Ok(Source::Scalar(ZERO)),
        }
    }

    /// A plane of `bits` with a value.
    pub(crate) fn read_plane(&mut self, value: &Value, bits: u32) -> Result<u32, Missing> {
        let source = self.read(value, bits)?;
        Ok(self.plane_of(source, bits))
    }

    /// A destination of `bits`. What is dropped goes to a temporary.
    pub(crate) fn write(&mut self, def: Def, bits: u32) -> Result<Destination, Missing> {
        self.write_extended(def, bits, false)
    }

    /// A destination of `bits`. A wider register gets the result's sign above them if that is `signed`, else zeros.
    pub(crate) fn write_extended(
        &mut self,
        def: Def,
        bits: u32,
        signed: bool,
    ) -> Result<Destination, Missing> {
        let Some(register) = def.0 else { return Ok(Destination::Plane(self.temporary(bits))) };
        // Computed in the type's width, then widened (or cut) into the register.
        let resized =
            |own: u32| if signed && own > bits { sign_extend(bits, own) } else { resize(bits, own) };
        Ok(match self.home(register) {
            Home::Plane { index, bits: own } if own == bits => Destination::Plane(index),
            Home::Plane { index, bits: own } => {
                let temporary = self.temporary(bits);
                self.after(Op { d: index, a: temporary, ..op(resized(own)) });
                Destination::Plane(temporary)
            }
            Home::Scalar(index) => {
                let own = self.body.registers[register.index()].ty.bits();
                if !signed || own <= bits {
                    return Ok(Destination::Scalar(index));
                }
                let scalar = self.new_scalar();
                self.after(Op { d: index, a: scalar, ..op(sign_extend_scalar(bits, own)) });
                Destination::Scalar(scalar)
            }
            Home::Unused => Destination::Plane(self.temporary(bits)),
            Home::Pair(low, high) => {
                let mut to = low;
                if bits != 64 {
                    to = self.temporary(bits);
                    self.after(Op { d: low, a: to, ..op(resized(64)) });
                }
                self.after(Op { d: high, a: low, ..op(if signed { signs } else { zeros }) });
                Destination::Plane(to)
            }
            Home::Predicate(_) => {
                return Err(format!("register {} as a {bits}-bit result", self.register_name(register)));
            }
        })
    }

    /// A destination plane of `bits`.
    pub(crate) fn write_plane(&mut self, def: Def, bits: u32) -> Result<u32, Missing> {
        match self.write(def, bits)? {
            Destination::Plane(index) => Ok(index),
            Destination::Scalar(_) => Err("a result that is the same for all threads".to_owned()),
        }
    }

    /// Planes of `bits` with some values.
    pub(crate) fn read_planes(&mut self, values: &[Value], bits: u32) -> Result<Vec<u32>, Missing> {
        values.iter().map(|value| self.read_plane(value, bits)).collect()
    }

    /// A destination plane of `bits`, [`NONE`] if it is dropped.
    pub(crate) fn write_or_drop(&mut self, def: Def, bits: u32) -> Result<u32, Missing> {
        if def.0.is_none() { Ok(NONE) } else { self.write_plane(def, bits) }
    }

    /// Destination planes of `bits`; those that are dropped are [`NONE`].
    pub(crate) fn write_planes(&mut self, defs: &[Def], bits: u32) -> Result<Vec<u32>, Missing> {
        defs.iter().map(|&def| self.write_or_drop(def, bits)).collect()
    }

    /// The width of the planes for a vector's elements of `bits`: that of the widest register among them.
    pub(crate) fn width_of(&self, registers: impl Iterator<Item = RegId>, bits: u32) -> u32 {
        let widths = registers.map(|register| match self.home(register) {
            Home::Plane { bits, .. } => bits,
            Home::Pair(..) => 64,
            Home::Scalar(_) | Home::Predicate(_) | Home::Unused => 0,
        });
        widths.fold(plane_bits(bits), u32::max)
    }

    /// The planes of a vector's elements, all of one width, and that; those that are dropped are [`NONE`].
    pub(crate) fn write_elements(
        &mut self,
        defs: &[Def],
        bits: u32,
        signed: bool,
    ) -> Result<(Vec<u32>, u32), Missing> {
        let width = self.width_of(defs.iter().filter_map(|def| def.0), bits);
        let mut planes = Vec::with_capacity(defs.len());
        for &def in defs {
            planes.push(match def.0.map(|_| self.write_extended(def, width, signed)).transpose()? {
                None => NONE,
                Some(Destination::Plane(index)) => index,
                Some(Destination::Scalar(_)) => {
                    return Err("an element that is the same for all threads".to_owned());
                }
            });
        }
        Ok((planes, width))
    }

    /// The halves of a 128-bit value. A constant has 64 bits, and zeros above them (as ptxas has it, also of a negative
    /// one).
    pub(crate) fn read_pair(&mut self, value: &Value) -> Result<[u32; 2], Missing> {
        match *value {
            Value::Register(register) => self.write_pair(Def(Some(register))),
            Value::Constant(_) => Ok([self.read_plane(value, 64)?, self.plane_of(Source::Scalar(ZERO), 64)]),
            other => Err(format!("{other:?} as a 128-bit value")),
        }
    }

    /// The halves of a 128-bit destination. What is dropped goes to temporaries.
    pub(crate) fn write_pair(&mut self, def: Def) -> Result<[u32; 2], Missing> {
        match def.0.map(|register| (register, self.home(register))) {
            Some((_, Home::Pair(low, high))) => Ok([low, high]),
            None | Some((_, Home::Unused)) => Ok([self.temporary(64), self.temporary(64)]),
            Some((register, _)) => {
                Err(format!("register {} as a 128-bit value", self.register_name(register)))
            }
        }
    }

    /// A predicate that is read: its index and [`NEGATE`] or 0.
    pub(crate) fn read_predicate(&mut self, predicate: &Predicate) -> Result<(u32, u32), Missing> {
        let negated = if predicate.negated { NEGATE } else { 0 };
        match predicate.value {
            Value::Register(register) => Ok((self.predicate_of(register)?, negated)),
            Value::Constant(value) => Ok((self.constant_predicate(value != 0), negated)),
            Value::Special { register, component } => {
                let Source::Scalar(a) = self.special(register, component, 32)? else {
                    return Err(format!("{} as a predicate", register.text()));
                };
                Ok((self.predicate_from_scalar(a), negated))
            }
            Value::Symbol { .. } | Value::Unused => {
                Err(format!("operand {:?} as a predicate", predicate.value))
            }
        }
    }

    /// A destination predicate, [`NONE`] if it is dropped.
    pub(crate) fn write_predicate(&mut self, def: Def) -> Result<u32, Missing> {
        def.0.map_or(Ok(NONE), |register| self.predicate_of(register))
    }

    /// The same, but what is dropped goes to a predicate that nobody reads.
    pub(crate) fn write_predicate_somewhere(&mut self, def: Def) -> Result<u32, Missing> {
        def.0.map_or(Ok(self.scratch_predicate()), |register| self.predicate_of(register))
    }

    /// A memory operand, for an access of `bytes` a lane in the state space that it names.
    pub(crate) fn memory(&mut self, address: &ir::operand::Address, bytes: u32) -> Result<Address, Missing> {
        let entry = crate::launch::is_entry(self.module, self.id);
        let named = self.space_of(address.space);
        let imm = address.offset as u64;
        let found = match address.base {
            AddressBase::Absolute => Address { a: ZERO, y: base::SCALAR, imm, space: named },
            AddressBase::Variable(id) => {
                let own = self.module.variables[id.index()].space;
                let SymbolValue { base, offset: at } = self.variable(id)?;
                // Without a named space the symbol's generic address is meant.
                let space = if address.space == Space::Generic { self.space(own)? } else { named };
                let space = if own == StateSpace::ParamFunc { SpaceKind::Local } else { space };
                Address { a: base, y: base::SCALAR, imm: at.wrapping_add(imm), space }
            }
            AddressBase::Register(register) => {
                let space = match named {
                    // The address of one of this function's own parameters, or of a call's.
                    SpaceKind::Param if !entry && address.space == Space::Param => SpaceKind::Local,
                    space => space,
                };
                let (a, y) = match self.home(register) {
                    Home::Plane { index, bits: 64 } => (index, base::WIDE),
                    Home::Plane { index, bits: 32 } => (index, base::NARROW),
                    Home::Scalar(index) => (index, base::SCALAR),
                    Home::Unused => (ZERO, base::SCALAR),
                    Home::Plane { .. } | Home::Predicate(_) | Home::Pair(..) => {
                        return Err(format!("register {} as an address", self.register_name(register)));
                    }
                };
                let y = if y == base::SCALAR { y } else { y | self.address_shape(register, bytes) };
                Address { a, y, imm, space }
            }
        };
        let space = match found.space {
            SpaceKind::Shared if address.space == Space::SharedCluster => SpaceKind::Cluster,
            space => space,
        };
        Ok(Address { space, ..found })
    }

    /// The same for an instruction that only some memories have: a variable in another one is meant by its generic
    /// address.
    pub(crate) fn memory_in_one_of(
        &mut self,
        address: &ir::operand::Address,
        bytes: u32,
        spaces: &[SpaceKind],
    ) -> Result<Address, Missing> {
        let found = self.memory(address, bytes)?;
        if spaces.contains(&found.space) {
            return Ok(found);
        }
        let imm = found.imm.wrapping_add(Self::window(found.space));
        Ok(Address { imm, space: SpaceKind::Generic, ..found })
    }

    /// The memory behind a state space that an instruction of this function names.
    pub(crate) fn space_of(&self, space: Space) -> SpaceKind {
        match space {
            Space::Generic => SpaceKind::Generic,
            Space::Const | Space::Global => SpaceKind::Global,
            Space::Local => SpaceKind::Local,
            Space::Shared | Space::SharedCta | Space::SharedCluster => SpaceKind::Shared,
            Space::Param | Space::ParamEntry => SpaceKind::Param,
            Space::ParamFunc if crate::launch::is_entry(self.module, self.id) => SpaceKind::Param,
            Space::ParamFunc => SpaceKind::Local,
        }
    }

    fn register_value(&mut self, register: RegId, bits: u32) -> Result<Source, Missing> {
        match self.home(register) {
            Home::Plane { index, bits: own } if own == bits => Ok(Source::Plane(index)),
            Home::Scalar(index) => Ok(Source::Scalar(index)),
            // A wider or narrower register than the instruction's type: its low bits, or zero-extended.
            Home::Plane { index, bits: own } => {
                let d = self.temporary(bits);
                self.emit_part(Op { d, a: index, ..op(resize(own, bits)) });
                Ok(Source::Plane(d))
            }
            Home::Pair(low, _) if bits == 64 => Ok(Source::Plane(low)),
            Home::Pair(low, _) => {
                let d = self.temporary(bits);
                self.emit_part(Op { d, a: low, ..op(resize(64, bits)) });
                Ok(Source::Plane(d))
            }
            Home::Predicate(_) | Home::Unused => {
                Err(format!("register {} as a {bits}-bit value", self.register_name(register)))
            }
        }
    }

    pub(crate) fn predicate_of(&self, register: RegId) -> Result<u32, Missing> {
        match self.home(register) {
            Home::Predicate(index) => Ok(index),
            // Never live: any predicate will do, and nobody reads it.
            Home::Unused => Ok(self.scratch_predicate()),
            _ => Err(format!("register {} as a predicate", self.register_name(register))),
        }
    }

    fn special(&mut self, register: SpecialRegister, component: u8, bits: u32) -> Result<Source, Missing> {
        // The fourth component of a vector is zero for every thread, and may be wanted as a scalar.
        if component == 3 {
            return Ok(Source::Scalar(ZERO));
        }
        let x = SpecialRegister::ALL.iter().position(|&r| r == register).unwrap_or(0) as u32;
        let y = u32::from(component);
        match reading(register) {
            Reading::Scalar(_) => {
                let d = self.new_scalar();
                self.emit_part(Op { d, x, y, ..op(read_scalar) });
                Ok(Source::Scalar(d))
            }
            Reading::Plane(_) | Reading::Common(_) => {
                let d = self.temporary(bits);
                self.emit_part(Op { d, x, y, ..op(plane_reader(bits)) });
                if matches!(register, SpecialRegister::Clock | SpecialRegister::Clock64) {
                    self.emit_part(op(clock_was_read));
                }
                Ok(Source::Plane(d))
            }
        }
    }

    fn symbol(&mut self, symbol: Symbol) -> Result<SymbolValue, Missing> {
        match symbol {
            Symbol::Function(function) => Ok(SymbolValue { base: ZERO, offset: code_address(function.0) }),
            Symbol::Variable(id) => self.variable(id),
        }
    }

    fn variable(&mut self, id: VarId) -> Result<SymbolValue, Missing> {
        let variable = &self.module.variables[id.index()];
        let unplaced = || format!("variable {}", variable.name);
        let (base, offset) = match variable.space {
            StateSpace::Global | StateSpace::Const => (ZERO, self.loaded.address(id).ok_or_else(unplaced)?),
            StateSpace::Shared => {
                let offset = self.shared_offset(id)?;
                (self.shared_address(offset), 0)
            }
            StateSpace::Local if variable.function.is_none() => {
                (ZERO, self.layout.offset(id).ok_or_else(unplaced)?.into())
            }
            StateSpace::Local | StateSpace::ParamFunc => {
                (LOCAL_BASE, self.layout.offset(id).ok_or_else(unplaced)?.into())
            }
            StateSpace::ParamEntry => {
                let offset = layout::entry_parameter(self.module, self.id, id).ok_or_else(unplaced)?;
                (ZERO, offset.into())
            }
            StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex | StateSpace::Generic => {
                return Err(unplaced());
            }
        };
        Ok(SymbolValue { base, offset })
    }

    fn is_shared(&self, id: VarId) -> bool {
        self.module.variables[id.index()].space == StateSpace::Shared
    }

    /// Where a variable lies in the CTA's shared memory.
    fn shared_offset(&self, id: VarId) -> Result<u64, Missing> {
        let variable = &self.module.variables[id.index()];
        let offset = self.layout.offset(id).ok_or_else(|| format!("variable {}", variable.name))?;
        Ok(offset.into())
    }

    /// The flag of [`base`] for what is known of an address register's lanes, for an access of `bytes` a lane.
    fn address_shape(&self, register: RegId, bytes: u32) -> u32 {
        let (shape, lanes) = self.shapes.at(self.current(), register);
        match shape {
            Shape::Affine { stride } if stride == i64::from(bytes) => match lanes as usize {
                LANES.. => base::CONTIGUOUS,
                ROW.. => base::ROWS_CONTIGUOUS,
                _ => 0,
            },
            Shape::Affine { stride: 0 } if lanes as usize >= ROW => base::ROWS_UNIFORM,
            Shape::Invariant | Shape::Affine { .. } | Shape::Varying => 0,
        }
    }

    /// The memory behind a state space, in this function.
    pub(crate) fn space(&self, space: StateSpace) -> Result<SpaceKind, Missing> {
        Ok(match space {
            StateSpace::Global | StateSpace::Const => SpaceKind::Global,
            StateSpace::Shared => SpaceKind::Shared,
            StateSpace::Local => SpaceKind::Local,
            StateSpace::ParamEntry => SpaceKind::Param,
            StateSpace::ParamFunc if crate::launch::is_entry(self.module, self.id) => SpaceKind::Param,
            StateSpace::ParamFunc => SpaceKind::Local,
            StateSpace::Generic => SpaceKind::Generic,
            StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex => {
                return Err(format!("state space {space:?}"));
            }
        })
    }

    /// What to add to an address of a state space to make it generic.
    pub(crate) fn window(space: SpaceKind) -> u64 {
        match space {
            SpaceKind::Global | SpaceKind::Generic => 0,
            SpaceKind::Shared | SpaceKind::Cluster => SHARED_WINDOW,
            SpaceKind::Local => crate::memory::LOCAL_WINDOW,
            SpaceKind::Param => PARAM_WINDOW,
        }
    }
}
