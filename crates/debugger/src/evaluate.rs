//! Expressions at a place of a thread: names looked up through DWARF, in PTX, and among the registers; C's arithmetic.

use crate::Error;
use crate::expression::Expression;
use crate::program::{Grid, Program};
use crate::symbols::Symbols;
use crate::value::{Kind, Number, Ty, Types, Value, Where};
use debug_info::location::{Address, AddressClass, Base, Location};
use debug_info::{Place, ScopeId, Variable};
use machine::VariablePlace;
use machine::inspect::{Snapshot, Warp};
use machine::lanes::LANES;
use machine::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use ptx::module::{FuncId, VarId};
use ptx::types::ScalarType;

/// A thread, in one of its function activations.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The program.
    pub program: &'a Program,
    /// The grid.
    pub grid: &'a Grid,
    /// What its names stand for.
    pub symbols: &'a Symbols,
    /// What the CTA has.
    pub snapshot: &'a Snapshot,
    /// Its warp.
    pub warp: &'a Warp,
    /// Its lane.
    pub lane: usize,
    /// The activation, and the instruction there: the next one, or the call that it waits for.
    pub frame: usize,
    /// The function and the instruction.
    pub place: (FuncId, u32),
}

/// The words of CUDA for where a thread is.
const DIMENSIONS: [&str; 4] = ["threadIdx", "blockIdx", "blockDim", "gridDim"];

impl<'a> Scene<'a> {
    /// A thread of a grid in its innermost activation; `None` if it has exited or is not of this CTA.
    pub fn innermost(
        program: &'a Program,
        symbols: &'a Symbols,
        grid: &'a Grid,
        snapshot: &'a Snapshot,
        warp: u32,
        lane: usize,
    ) -> Option<Self> {
        let warp = snapshot.warp(warp)?;
        let group = warp.group_of(lane)?;
        Some(Self { program, symbols, grid, snapshot, warp, lane, frame: group.frame, place: group.place })
    }

    /// The activation that has called this one.
    pub fn caller(&self) -> Option<Self> {
        let (frame, instruction) = self.warp.frames[self.frame].caller?;
        Some(Self { frame, place: (self.warp.frames[frame].function, instruction), ..*self })
    }

    /// The lanes of its warp that have threads; the last warp of a CTA may have fewer than 32.
    pub fn lanes(&self) -> std::ops::Range<usize> {
        let threads: u32 = self.grid.block.iter().product();
        let before = self.warp.number as usize * LANES;
        0..(threads as usize).saturating_sub(before).min(LANES)
    }

    /// Whether a condition holds.
    ///
    /// # Errors
    /// If it has no value.
    pub fn holds(&self, condition: &Expression) -> Result<bool, Error> {
        Ok(match self.number(&self.evaluate(condition)?)? {
            Number::Integer(value) => value != 0,
            Number::Float(value) => value != 0.0,
        })
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// If a name stands for nothing here, or an operation has no meaning.
    pub fn evaluate(&self, expression: &Expression) -> Result<Value, Error> {
        match expression {
            Expression::Integer(value) => Ok(Value::integer(*value)),
            Expression::Float(value) => Ok(Value::float(*value)),
            Expression::Name(name) => self.name(name),
            Expression::Register(name) => self.register(name),
            Expression::Prefix('*', of) => self.pointee(&self.evaluate(of)?),
            Expression::Prefix('&', of) => {
                let value = self.evaluate(of)?;
                match value.place {
                    Where::Memory(address) => Ok(Value::pointer(address, value.ty)),
                    Where::Register { .. } | Where::Bytes(_) | Where::Missing(_) => {
                        Err(Error::Expression("it has no address".to_owned()))
                    }
                }
            }
            Expression::Prefix(operator, of) => self.prefix(*operator, &self.evaluate(of)?),
            Expression::Binary(operator, a, b) => self.binary(operator, a, b),
            Expression::Index(of, index) => {
                let index = self.integer(&self.evaluate(index)?)?;
                self.element(&self.evaluate(of)?, index)
            }
            Expression::Member(of, name) => self.member(&self.evaluate(of)?, name),
            Expression::Cast(ty, of) => self.cast(ty, &self.evaluate(of)?),
            Expression::Several(of, count) => {
                let first = self.evaluate(of)?;
                match first.place {
                    Where::Memory(_) => {
                        Ok(Value { ty: Ty::Array(Box::new(first.ty), Some(*count)), ..first })
                    }
                    Where::Register { .. } | Where::Bytes(_) | Where::Missing(_) => {
                        Err(Error::Expression("only what is in memory has something behind it".to_owned()))
                    }
                }
            }
        }
    }

    /// The variables in sight, the innermost scope first.
    pub fn variables(&self) -> impl Iterator<Item = (ScopeId, &'a Variable)> + use<'a> {
        let info = &self.symbols.info;
        let scopes = info.scopes_at(self.place.0, self.place.1);
        scopes
            .into_iter()
            .flat_map(|scope| info.scope(scope).variables.iter().map(move |variable| (scope, variable)))
    }

    /// The value of a variable of a scope.
    pub fn variable(&self, scope: ScopeId, variable: &Variable) -> Value {
        let info = &self.symbols.info;
        let ty = variable.ty.map_or(Ty::Void, Ty::Dwarf);
        if let Some(constant) = variable.constant {
            let size = info.size_of_ty(&ty).unwrap_or(8).min(8) as usize;
            return Value { ty, place: Where::Bytes(constant.to_le_bytes()[..size].to_vec()) };
        }
        let pc = info.addresses.of(self.place.0, self.place.1).unwrap_or(0);
        let place = match info.location(scope, variable, pc) {
            Location::Register(name) => self.bits_of(&name, &ty),
            Location::Memory(address) => match self.address(&address) {
                Ok(at) => Where::Memory(in_class(variable.class, &address, at)),
                Err(why) => Where::Missing(why),
            },
            Location::Value(address) => match self.address(&address) {
                Ok(value) => Where::Bytes(value.to_le_bytes().to_vec()),
                Err(why) => Where::Missing(why),
            },
            Location::Bytes(bytes) => Where::Bytes(bytes),
            Location::Pieces(pieces) => self.pieces(&pieces, &ty),
            Location::Nowhere => Where::Missing("<optimized out>".to_owned()),
            Location::Unknown(why) => Where::Missing(format!("<its place is not understood: {why}>")),
        };
        Value { ty, place }
    }

    fn pieces(&self, pieces: &[(Option<Location>, u64)], ty: &Ty) -> Where {
        let mut bytes = Vec::new();
        for (place, size) in pieces {
            let part = match place {
                Some(Location::Register(name)) => self.bits_of(name, ty),
                Some(Location::Memory(address)) => match self.address(address) {
                    Ok(at) => Where::Memory(at),
                    Err(why) => Where::Missing(why),
                },
                Some(Location::Value(address)) => match self.address(address) {
                    Ok(value) => Where::Bytes(value.to_le_bytes().to_vec()),
                    Err(why) => Where::Missing(why),
                },
                Some(Location::Bytes(bytes)) => Where::Bytes(bytes.clone()),
                Some(Location::Pieces(_) | Location::Nowhere | Location::Unknown(_)) | None => {
                    Where::Missing("<partly optimized out>".to_owned())
                }
            };
            let size = usize::try_from(*size).unwrap_or(usize::MAX).min(1 << 16);
            match self.bytes_at(&part, size) {
                Ok(mut part) => {
                    part.resize(size, 0);
                    bytes.append(&mut part);
                }
                Err(error) => return Where::Missing(error.to_string()),
            }
        }
        Where::Bytes(bytes)
    }

    /// The bits of a register, as those of a value of a type.
    fn bits_of(&self, name: &str, ty: &Ty) -> Where {
        let register = self.symbols.register(self.place.0, name);
        let row = register.and_then(|register| Some((register, self.warp.register(self.frame, register)?)));
        let Some((register, row)) = row else { return Where::Missing("<optimized out>".to_owned()) };
        let size = self.symbols.info.size_of_ty(ty).unwrap_or(16).min(16) as usize;
        let bytes = row.lane(self.lane).to_le_bytes()[..size].to_vec();
        Where::Register { register, offset: 0, bytes }
    }

    /// A generic address.
    fn address(&self, address: &Address) -> Result<u64, String> {
        let base = match &address.base {
            Base::Absolute => 0,
            Base::Symbol(Place::Variable { variable, offset }) => {
                let place = self.symbols.place(self.program, self.grid.kernel, *variable);
                let Some(place) = place else { return Err("<the kernel does not use it>".to_owned()) };
                self.of_place(place) + offset
            }
            Base::Symbol(Place::Code { .. }) => return Err("<it is code>".to_owned()),
            Base::Register(name) => match self.bits_of(name, &Ty::Scalar(ScalarType::U64)) {
                Where::Register { bytes, .. } => u64::from_le_bytes(bytes.try_into().unwrap_or_default()),
                Where::Memory(_) | Where::Bytes(_) | Where::Missing(_) => {
                    return Err("<optimized out>".to_owned());
                }
            },
            Base::Frame => LOCAL_WINDOW + u64::from(self.warp.frames[self.frame].local_base),
        };
        Ok(base.wrapping_add_signed(address.offset))
    }

    /// The generic address of a variable's place.
    pub fn of_place(&self, place: VariablePlace) -> u64 {
        match place {
            VariablePlace::At(address) => address,
            VariablePlace::Shared(offset) => SHARED_WINDOW + self.snapshot.shared_base + u64::from(offset),
            VariablePlace::Frame(offset) => {
                LOCAL_WINDOW + u64::from(self.warp.frames[self.frame].local_base) + u64::from(offset)
            }
        }
    }

    fn name(&self, name: &str) -> Result<Value, Error> {
        if let Some((scope, variable)) = self.variables().find(|(_, variable)| variable.name == name) {
            return Ok(self.variable(scope, variable));
        }
        if DIMENSIONS.contains(&name) {
            let values = match name {
                "threadIdx" => self.warp.threads[self.lane],
                "blockIdx" => self.snapshot.block,
                "blockDim" => self.grid.block,
                _ => self.grid.extent,
            };
            return Ok(Value { ty: Ty::Dim3, place: Where::Bytes(values.map(u32::to_le_bytes).concat()) });
        }
        let module = self.program.module();
        let named = |own: bool| {
            let matches = move |variable: &ptx::module::Variable| {
                variable.name == name
                    && (variable.function == Some(self.place.0) || !own && variable.function.is_none())
            };
            module.variables.iter().position(matches)
        };
        // A variable of another function has its place while that runs: of shared memory always.
        let any = || {
            module.variables.iter().position(|v| v.name == name && v.space == ptx::types::StateSpace::Shared)
        };
        let index = named(true).or_else(|| named(false)).or_else(any);
        let Some(index) = index else {
            return Err(Error::Expression(format!("no symbol \"{name}\" in the current context")));
        };
        let variable = &module.variables[index];
        let place = self.symbols.place(self.program, self.grid.kernel, VarId(index as u32));
        let place = place.ok_or_else(|| Error::Expression(format!("the kernel does not use `{name}`")))?;
        let element = Ty::Scalar(variable.ty);
        let each = u64::from(variable.ty.bytes().max(1));
        let ty = match variable.size / each {
            1 if !variable.unsized_array => element,
            count if variable.unsized_array || count == 0 => Ty::Array(Box::new(element), None),
            count => Ty::Array(Box::new(element), Some(count)),
        };
        Ok(Value { ty, place: Where::Memory(self.of_place(place)) })
    }

    fn register(&self, name: &str) -> Result<Value, Error> {
        let module = self.program.module();
        if let Some(register) = self.symbols.register(self.place.0, name) {
            let body = module.functions[self.place.0.index()].body.as_ref();
            let ty = body.map_or(ScalarType::B64, |body| body.registers[register.index()].ty);
            let ty = Ty::Scalar(ty);
            return Ok(Value { place: self.bits_of(name, &ty), ty });
        }
        let (base, component) = name.split_once('.').unwrap_or((name, "x"));
        let axis = ["x", "y", "z"].iter().position(|known| *known == component).unwrap_or(0);
        let value = match base {
            "%tid" => self.warp.threads[self.lane][axis],
            "%ctaid" => self.snapshot.block[axis],
            "%ntid" => self.grid.block[axis],
            "%nctaid" => self.grid.extent[axis],
            "%laneid" => self.lane as u32,
            "%warpid" => self.warp.number,
            _ => {
                let function = &module.functions[self.place.0.index()].name;
                let function = abi::names::demangled(function);
                return Err(Error::Expression(format!("no register {name} in {function}")));
            }
        };
        Ok(Value::of_scalar(ScalarType::U32, value.into()))
    }

    /// The bytes of a value.
    ///
    /// # Errors
    /// If it is nowhere, or memory cannot be read there.
    pub fn bytes(&self, value: &Value) -> Result<Vec<u8>, Error> {
        let size = self.symbols.info.size_of_ty(&value.ty).unwrap_or(0);
        self.bytes_at(&value.place, usize::try_from(size).unwrap_or(usize::MAX))
    }

    /// So many bytes of a place.
    pub(crate) fn bytes_at(&self, place: &Where, size: usize) -> Result<Vec<u8>, Error> {
        match place {
            Where::Bytes(bytes) | Where::Register { bytes, .. } => Ok(bytes.clone()),
            Where::Missing(why) => Err(Error::Expression(why.clone())),
            Where::Memory(address) => {
                if size > 1 << 24 {
                    return Err(Error::Expression(format!("{size} bytes are too many")));
                }
                let mut bytes = vec![0; size];
                match self.snapshot.read(&self.program.device, self.warp, self.lane, *address, &mut bytes) {
                    true => Ok(bytes),
                    false => Err(Error::Expression(format!("cannot access memory at address {address:#x}"))),
                }
            }
        }
    }

    /// A value as a number.
    pub(crate) fn number(&self, value: &Value) -> Result<Number, Error> {
        let info = &self.symbols.info;
        let kind = info.kind(&value.ty);
        if let (Kind::Array(..), Where::Memory(address)) = (&kind, &value.place) {
            return Ok(Number::Integer((*address).into()));
        }
        let bytes = self.bytes(value)?;
        Number::of(&kind, &bytes)
            .ok_or_else(|| Error::Expression(format!("a {} is not a number", info.ty_name(&value.ty))))
    }

    pub(crate) fn integer(&self, value: &Value) -> Result<i128, Error> {
        match self.number(value)? {
            Number::Integer(value) => Ok(value),
            Number::Float(_) => Err(Error::Expression("an integer is needed".to_owned())),
        }
    }
}

/// An address in the memory that DWARF says it is of, if it is not generic already.
fn in_class(class: Option<AddressClass>, written: &Address, address: u64) -> u64 {
    let window = match (&written.base, class) {
        (Base::Register(_) | Base::Absolute, Some(AddressClass::Shared)) => SHARED_WINDOW,
        (Base::Register(_) | Base::Absolute, Some(AddressClass::Local)) => LOCAL_WINDOW,
        (Base::Register(_) | Base::Absolute, Some(AddressClass::Param)) => PARAM_WINDOW,
        _ => 0,
    };
    if address < SHARED_WINDOW { address + window } else { address }
}
