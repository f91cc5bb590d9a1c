//! Where parameters lie: those of a function in its own frame, those of a call in the caller's. A call copies from the ones
//! to the others.

use super::frame::Frame;
use super::layout::Layout;
use crate::decode::decoder::{Decoder, Missing};
use crate::image::control::{CallSite, Callee, ParameterLocation};
use crate::image::places::Home;
use ir::operand::{Argument, Value};
use ptx::module::{Module, Param, RegId};

/// That of a parameter that nobody reads.
const NOWHERE: ParameterLocation = ParameterLocation::Memory { offset: 0, bytes: 0 };

impl Frame {
    /// Where a parameter of this function is: one of 128 bits is in two locations.
    pub(super) fn formal(
        &self,
        module: &Module,
        function: &ir::Function<'_>,
        layout: &Layout,
        param: &Param,
    ) -> Vec<ParameterLocation> {
        match *param {
            Param::Memory(id) => vec![ParameterLocation::Memory {
                offset: layout.offset(id).unwrap_or(0),
                bytes: layout.parameter_bytes(&module.variables[id.index()]),
            }],
            Param::Register(register) => {
                let bits = function.body.registers[register.index()].ty.bits();
                let nowhere = || vec![NOWHERE; bits.div_ceil(64) as usize];
                self.register_locations(register).unwrap_or_else(nowhere)
            }
            Param::RegisterType(_) => vec![NOWHERE],
        }
    }

    /// A register that has a place of its own, as a parameter.
    fn register_locations(&self, register: RegId) -> Option<Vec<ParameterLocation>> {
        match self.home(register) {
            Home::Plane(plane) => Some(vec![ParameterLocation::Register(plane)]),
            Home::Pair(pair) => Some(pair.map(ParameterLocation::Register).to_vec()),
            Home::Predicate(predicate) => Some(vec![ParameterLocation::Predicate(predicate)]),
            Home::Scalar(_) | Home::Unused => None,
        }
    }
}

impl Decoder<'_> {
    /// What a call passes, and where its results go.
    pub(crate) fn call_site(
        &mut self,
        callee: Callee,
        results: Option<&[Argument]>,
        arguments: Option<&[Argument]>,
    ) -> Result<CallSite, Missing> {
        let returns = self.actuals(results)?;
        Ok(CallSite { callee, args: self.actuals(arguments)?, returns })
    }

    fn actuals(&mut self, arguments: Option<&[Argument]>) -> Result<Vec<ParameterLocation>, Missing> {
        let mut locations = Vec::new();
        for argument in arguments.unwrap_or_default() {
            locations.extend(self.actual(argument)?);
        }
        Ok(locations)
    }

    /// Where a call's parameter is. Constants and scalars are spread over a temporary first.
    fn actual(&mut self, argument: &Argument) -> Result<Vec<ParameterLocation>, Missing> {
        let one = |location| Ok(vec![location]);
        match *argument {
            Argument::Variable(id) => {
                let variable = &self.module.variables[id.index()];
                let offset =
                    self.layout.offset(id).ok_or_else(|| format!("parameter variable {}", variable.name))?;
                one(ParameterLocation::Memory { offset, bytes: variable.size as u32 })
            }
            Argument::Value(Value::Register(register)) => {
                if let Some(locations) = self.frame.register_locations(register) {
                    return Ok(locations);
                }
                let bits = self.bits_of(register);
                match self.home(register) {
                    Home::Scalar(scalar) => {
                        one(ParameterLocation::Register(self.plane_of(scalar.into(), bits.max(16))))
                    }
                    Home::Unused | Home::Plane(_) | Home::Pair(_) | Home::Predicate(_) => {
                        let temporary = |_| ParameterLocation::Register(self.frame.temporary(64));
                        Ok((0..bits.div_ceil(64)).map(temporary).collect())
                    }
                }
            }
            Argument::Value(Value::Constant(value)) => {
                let scalar = self.constant(value);
                one(ParameterLocation::Register(self.plane_of(scalar, 64)))
            }
            Argument::Value(other) => Err(format!("{other:?} as a parameter")),
        }
    }
}
