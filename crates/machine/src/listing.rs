//! A kernel as text: each function block by block, each line of its PTX with the operations that it has become, whose planes,
//! scalars and predicates have the names of the registers that are in them there.

use crate::image::places::Places;
use crate::image::{Code, Image};
use crate::lanes::{Operand, PredicateId};
use crate::location::Location;
use crate::operation::{Names, Printed};
use ptx::module::{FuncId, Module, RegId};
use std::fmt::{Display, Formatter, Result};

/// An image to be printed.
pub(crate) struct Listing<'a> {
    pub(crate) module: &'a Module,
    pub(crate) image: &'a Image,
}

/// The names of registers at an instruction.
struct At<'a> {
    module: &'a Module,
    function: FuncId,
    places: &'a Places,
    instruction: u32,
}

impl At<'_> {
    fn name(&self, register: RegId) -> Option<String> {
        let body = self.module.functions[self.function.index()].body.as_ref()?;
        Some(self.module.text(body.registers[register.index()].name).to_owned())
    }
}

impl Names for At<'_> {
    fn operand(&self, operand: Operand) -> Option<String> {
        if let Some(value) = operand.as_scalar().and_then(|scalar| self.places.constant(scalar)) {
            return Some(format!("{value:#x}"));
        }
        let (register, half) = self.places.register_in(operand, self.instruction)?;
        let name = self.name(register)?;
        Some(match half {
            None => name,
            Some(half) => format!("{name}.{}", ["low", "high"][half]),
        })
    }

    fn predicate(&self, predicate: PredicateId) -> Option<String> {
        self.name(self.places.register_in_predicate(predicate, self.instruction)?)
    }
}

impl Listing<'_> {
    /// A function whose operations begin at its entry.
    fn function(&self, f: &mut Formatter<'_>, function: FuncId, code: &Code) -> Result {
        let declaration = &self.module.functions[function.index()];
        let (sizes, warps) = (code.sizes, self.image.warps);
        writeln!(
            f,
            "function {}: {} registers of 64 bits, {} of 32, {} of 16, {} predicates, {} scalars, for packs of {warps} warps",
            declaration.name,
            sizes.d,
            sizes.w,
            sizes.h,
            sizes.p,
            code.scalars.len(),
        )?;
        let first = code.entry as usize;
        let origins = self.image.origins[first..].iter().take_while(|origin| origin.function == function);
        let mut line = None;
        for (index, origin) in (first..).zip(origins) {
            if let Some((block, _)) = code.blocks.iter().enumerate().find(|(_, pc)| **pc as usize == index) {
                writeln!(f, "block{block}:")?;
            }
            let instruction = origin.instruction;
            // What joins or ends blocks is not the instruction's.
            if line.replace(instruction) != Some(instruction) {
                let at = Location::of(self.module, function, instruction);
                let number = at.ptx.map_or(0, |place| place.line);
                let text = at.text.unwrap_or_default();
                writeln!(f, "    # {number}: {}", text.split_whitespace().collect::<Vec<_>>().join(" "))?;
            }
            let names = At { module: self.module, function, places: &code.places, instruction };
            let operation = self.image.ops[index].operation();
            writeln!(f, "    {index:4} {}", Printed { operation, names: &names })?;
        }
        Ok(())
    }
}

impl Display for Listing<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let functions = self.image.functions.iter().zip(0..);
        let mut present: Vec<_> =
            functions.filter_map(|(code, id)| Some((code.as_ref()?, FuncId(id)))).collect();
        present.sort_unstable_by_key(|(code, _)| code.entry);
        present.into_iter().try_for_each(|(code, id)| self.function(f, id, code))
    }
}
