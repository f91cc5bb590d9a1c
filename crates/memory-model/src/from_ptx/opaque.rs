//! Surfaces and textures: other names of a variable's memory, through proxies of their own.
//!
//! A coordinate is one constant: of a surface in bytes, of a texture in elements of 32 bits with one channel, whose other
//! channels read as 0, 0 and 1. PTX has no fence for these proxies: within a kernel nothing orders their accesses with those
//! of the generic proxy.

use super::{Lowering, Test};
use crate::event::{Order, Proxy};
use crate::program::{Access, Arithmetic, Instruction, Operand};
use crate::text::{self, Problem};
use ptx::module::{AddressBase, Operand as Source, Symbol, VarId};

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
    /// `suld.b.1d`, `sust.b.1d` and `tex.1d` at a constant coordinate.
    pub(super) fn opaque(&mut self, words: &[&str], operands: &[Source]) -> Result<Vec<Instruction>, String> {
        let (data, place) = match (words[0], operands) {
            ("sust", [place, data]) | (_, [data, place]) => (data, place),
            _ => return Err("this form of surfaces and textures is not understood".into()),
        };
        if !words.contains(&"1d") {
            return Err("surfaces and textures of a test have one dimension".into());
        }
        let parts = self.list(place);
        let [handle, coordinates] = parts[..] else { return Err("this texture is not understood".into()) };
        let variable = match handle {
            Source::Address { base: AddressBase::Variable(variable), offset: 0 }
            | Source::SymbolAddress { symbol: Symbol::Variable(variable), offset: 0 } => variable,
            _ => return Err("a surface or texture of a test is a variable with an alias".into()),
        };
        let wanted = if words[0] == "tex" { Proxy::Texture } else { Proxy::Surface };
        if self.test.aliases.get(&variable).is_none_or(|(_, proxy)| *proxy != wanted) {
            return Err(format!("the directive `//: alias NAME {} VARIABLE` is missing", wanted.name()));
        }
        let at = self.list(&coordinates);
        let at = at.first().and_then(|coordinate| self.constant(coordinate));
        let at = at.ok_or("the coordinate of a surface or texture must be a constant")?;
        let data = self.list(data);
        if words[0] == "tex" {
            let (bytes, proxy) = self.place(variable, at.wrapping_mul(4), 4)?;
            let access = Access { bytes, proxy, order: Order::Weak, scope: None };
            let registers = data.iter().map(|to| self.register(to)).collect::<Result<Vec<_>, _>>()?;
            let channel = |(&destination, value): (&usize, i64)| {
                let (a, b) = (Operand::Constant(0), Operand::Constant(value));
                Instruction::Set { destination, operation: Arithmetic::Second, a, b }
            };
            let load = Instruction::Load { destinations: registers[..1].to_vec(), access };
            return Ok(std::iter::once(load)
                .chain(registers[1..].iter().zip([0, 0, 1]).map(channel))
                .collect());
        }
        let size = words.iter().rev().find_map(|word| super::width(word)).unwrap_or(4);
        let (bytes, proxy) = self.place(variable, at, size)?;
        let access = Access { bytes, proxy, order: Order::Weak, scope: None };
        Ok(vec![if words[0] == "sust" {
            let values = data.iter().map(|value| self.value(value)).collect::<Result<_, _>>()?;
            Instruction::Store { values, access }
        } else {
            let destinations = data.iter().map(|to| self.register(to)).collect::<Result<_, _>>()?;
            Instruction::Load { destinations, access }
        }])
    }
}
