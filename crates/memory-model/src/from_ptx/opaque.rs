//! Surfaces and textures: other names of a variable's memory, through proxies of their own.
//!
//! A coordinate is one constant: of a surface in bytes, of a texture in elements of 32 bits with one channel, whose other
//! channels read as 0, 0 and 1. PTX has no fence for these proxies: within a kernel nothing orders their accesses with those
//! of the generic proxy.

use super::Test;
use super::lowering::Lowering;
use crate::event::{Order, Proxy};
use crate::program::{Access, Arithmetic, Instruction, Operand};
use crate::text::{self, Problem};
use ir::instruction::{Suld, SuldGeom, Sust, SustComp, Tex, TexGeom};
use ir::operand::{Lookup, Value};
use ptx::module::{Symbol, VarId};

impl Test<'_> {
    /// `alias NAME PROXY VARIABLE`.
    pub(super) fn alias(&mut self, at: usize, rest: &str) -> Result<(), Problem> {
        let fail = |message: String| text::problem(self.source, at, message);
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [name, proxy, of] = words[..] else {
            return Err(fail("an alias is `NAME PROXY VARIABLE`".into()));
        };
        let proxies = [Proxy::Generic, Proxy::Surface, Proxy::Texture];
        let proxy = proxies.into_iter().find(|known| known.name() == proxy);
        let proxy =
            proxy.ok_or_else(|| fail("the proxy of an alias is generic, surface or texture".into()))?;
        let variable = |name: &str| {
            let found = self.module.variables.iter().position(|variable| variable.name == name);
            found
                .map(|index| VarId(index as u32))
                .ok_or_else(|| fail(format!("there is no variable `{name}`")))
        };
        let (name, of) = (variable(name)?, variable(of)?);
        if self.aliases.contains_key(&of) || name == of {
            return Err(fail("an alias is of a variable that is none itself".into()));
        }
        self.aliases.insert(name, (of, proxy));
        Ok(())
    }
}

impl Lowering<'_, '_> {
    /// `suld.b.1d` at a constant coordinate.
    pub(super) fn load_surface(&mut self, suld: &Suld) -> Result<Vec<Instruction>, String> {
        let one_dimension = suld.geom == SuldGeom::N1d;
        let access = self.opaque(&suld.a, one_dimension, Proxy::Surface, (1, suld.dtype.bytes()))?;
        Ok(vec![Instruction::Load { destinations: self.registers(&suld.d)?, access }])
    }

    /// `sust.b.1d` at a constant coordinate.
    pub(super) fn store_surface(&mut self, sust: &Sust) -> Result<Vec<Instruction>, String> {
        let one_dimension = sust.geom == SuldGeom::N1d && sust.comp == SustComp::B;
        let access = self.opaque(&sust.a, one_dimension, Proxy::Surface, (1, sust.ctype.bytes()))?;
        Ok(vec![Instruction::Store { values: self.values(&sust.b)?, access }])
    }

    /// `tex.1d` at a constant coordinate.
    pub(super) fn fetch(&mut self, tex: &Tex) -> Result<Vec<Instruction>, String> {
        let access = self.opaque(&tex.t, tex.geom == TexGeom::N1d, Proxy::Texture, (4, 4))?;
        let registers = self.registers(&tex.d)?;
        let channel = |(&destination, value): (&usize, i64)| {
            let (a, b) = (Operand::Constant(0), Operand::Constant(value));
            Instruction::Set { destination, operation: Arithmetic::Second, a, b }
        };
        let load = Instruction::Load { destinations: registers[..1].to_vec(), access };
        Ok(std::iter::once(load).chain(registers[1..].iter().zip([0, 0, 1]).map(channel)).collect())
    }

    /// The access of a lookup whose coordinate counts `step` bytes, and that reaches `size` bytes.
    fn opaque(
        &mut self,
        lookup: &Lookup,
        one_dimension: bool,
        wanted: Proxy,
        (step, size): (i64, u32),
    ) -> Result<Access, String> {
        if !one_dimension {
            return Err("surfaces and textures of a test have one dimension, and are not formatted".into());
        }
        let (Value::Symbol { symbol: Symbol::Variable(variable), offset: 0 }, None) =
            (lookup.object, lookup.sampler)
        else {
            return Err("a surface or texture of a test is a variable with an alias".into());
        };
        if self.test.aliases.get(&variable).is_none_or(|(_, proxy)| *proxy != wanted) {
            return Err(format!("the directive `//: alias NAME {} VARIABLE` is missing", wanted.name()));
        }
        let at = lookup.coordinates.first().and_then(|coordinate| self.constant(coordinate));
        let at = at.ok_or("the coordinate of a surface or texture must be a constant")?;
        let (bytes, proxy) = self.place(variable, at.wrapping_mul(step), size)?;
        Ok(Access { bytes, proxy, order: Order::Weak, scope: None })
    }
}
