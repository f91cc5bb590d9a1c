//! Functions whose code the driver has, called as NVIDIA's code calls them, as are those of [other modules](super::abi): arguments in registers from R4 on, those of 64 bits in pairs,
//! what has no place there at the end of the stack, results from R4 on, the address to return to in R20 and R21, the stack pointer in R1, which
//! they give back as it was.
//!
//! Of other registers nothing is expected: what is alive behind a call stands in the frame, as with [routines](super::routine). So no register
//! of the code is alive between the first one of the hardware that is written here and the last one that is read.

use super::{Done, Select};
use crate::code::{Label, Operand};
use ir::operand::{Argument, Value};
use ptx::module::{FuncId, Param};
use ptx::types::ScalarType;
use smol_str::format_smolstr;

/// The functions that the driver provides, as far as ptxas knows.
pub(crate) const PROVIDED: [&str; 5] =
    ["vprintf", "malloc", "free", "__assertfail", "cudaGraphSetConditional"];

/// Where the function's address is handed over, and where it returns to.
const FUNCTION: u8 = 2;
const BACK: u8 = 20;
/// The first register of arguments, that of results, and the one behind the last argument.
const FIRST: u8 = 4;
const END: u8 = 16;
/// Bytes below the end of what `alloca` has taken, where the stack pointer is kept.
const KEPT: u64 = 16;
/// Bytes at the lower end of each frame where such functions take arguments from the stack: two rows of four words.
pub(crate) const ON_STACK: u64 = 32;

impl Select<'_> {
    /// Calls a function that has no code in the module.
    pub(super) fn call_extern(&mut self, id: FuncId, arguments: &[Argument], results: &[Argument]) -> Done {
        let declaration = &self.module.functions[id.index()];
        let name = &declaration.name;
        if !PROVIDED.contains(&name.as_str()) {
            return match self.layout.relocatable {
                true => self.call_linked(id, arguments, results),
                false => Err(format!("of `{name}`, whose code is not here")),
            };
        }
        // For each register the place in the frame that it is loaded from.
        let mut loaded = Vec::new();
        let mut next = FIRST;
        for (argument, param) in arguments.iter().zip(&declaration.params) {
            let words = self.words_of(param)?;
            let from = match argument {
                Argument::Variable(mine) => self.local(*mine),
                Argument::Value(value) => self.value_in_frame(value, words)?,
            };
            next = next.next_multiple_of(words);
            loaded.extend((0..words).map(|word| (next + word, from + 4 * u64::from(word))));
            next += words;
        }
        if next > END {
            return Err("with so many arguments".to_owned());
        }
        let words = match declaration.returns.as_slice() {
            [] => 0,
            [theirs] => self.words_of(theirs)?,
            _ => return Err("with so many results".to_owned()),
        };
        let at = self.call_provided(name, &loaded, Vec::new(), words);
        if let [result] = results {
            self.take_result(result, at, words);
        }
        Ok(())
    }

    /// Takes a result of so many words from the frame.
    pub(super) fn take_result(&mut self, result: &Argument, at: u64, words: u8) {
        let from = |word: u8| Operand::in_frame((at + 4 * u64::from(word)) as i64);
        match result {
            Argument::Variable(mine) => {
                let to = self.local(*mine);
                for word in 0..words {
                    let value = self.one("LDL", vec![from(word)]);
                    let to = Operand::in_frame((to + 4 * u64::from(word)) as i64);
                    self.code.push(None, "STL", vec![], vec![to, Operand::low(value)]);
                }
            }
            Argument::Value(Value::Register(mine)) => {
                let value = self.temporary(words);
                for word in 0..words {
                    self.code.push(None, "LDL", vec![Operand::part(value, word)], vec![from(word)]);
                }
                self.set_from_words(*mine, value);
            }
            Argument::Value(_) => {}
        }
    }

    /// Calls a function of the driver: registers are loaded from the frame, words stored at the end of the stack. Where its results stand in the
    /// frame.
    pub(super) fn call_provided(
        &mut self,
        name: &str,
        registers: &[(u8, u64)],
        stack: Vec<(u64, Operand)>,
        results: u8,
    ) -> u64 {
        let below_all = self.bodies.handed_on_stack;
        // Where `alloca` has taken room, the stack ends below that.
        let moved = self.top.map(|top| {
            let by = Operand::Text(format_smolstr!("-{:#x}", below_all + KEPT));
            let below = self.one("IADD3", vec![Operand::low(top), by, Operand::zero()]);
            let offset = below_all as i64;
            let to = Operand::Address { before: "", reg: below, width: 1, beside: "", offset };
            self.code.push(None, "STL", vec![], vec![to, Operand::Text("R1".into())]);
            let at = self.room(1);
            self.code.push(None, "STL", vec![], vec![Operand::in_frame(at as i64), Operand::low(below)]);
            (below, at)
        });
        for (at, word) in stack {
            let offset = at as i64;
            let to = match moved {
                Some((reg, _)) => Operand::Address { before: "", reg, width: 1, beside: "", offset },
                None => Operand::in_frame(offset),
            };
            self.code.push(None, "STL", vec![], vec![to, word]);
        }
        let mut load = |to: Operand, at: u64| {
            self.code.push(None, "LDL", vec![to], vec![Operand::in_frame(at as i64)]);
        };
        registers.iter().for_each(|&(register, at)| load(Operand::hardware(register), at));
        if let Some((_, at)) = moved {
            load(Operand::Text("R1".into()), at);
        }
        let behind = self.code.label();
        // Elsewhere it is told of a place.
        let of_places = self.target().takes("LEPC R20, 0x100");
        if !of_places {
            self.address_of_code(behind);
        }
        // A linker puts the address into the call itself.
        let linked = self.layout.relocatable;
        let halves: &[_] = if linked { &[] } else { &[(FUNCTION, "lo"), (FUNCTION + 1, "hi")] };
        for &(register, half) in halves {
            let address = Operand::Text(format_smolstr!("32@{half}(\"{name}\")"));
            self.code.push(None, "MOV", vec![Operand::hardware(register)], vec![address]);
        }
        if of_places {
            self.code.push(None, "LEPC", vec![Operand::hardware(BACK)], vec![Operand::Target(behind)]);
        }
        let callee = if linked { Operand::Text(name.into()) } else { Operand::hardware(FUNCTION) };
        self.code.push(None, "CALL.ABS.NOINC", vec![], vec![callee]);
        self.code.name_extern(name);
        self.code.place(behind);
        if moved.is_some() {
            let kept = Operand::in_frame(below_all as i64);
            self.code.push(None, "LDL", vec![Operand::Text("R1".into())], vec![kept]);
        }
        self.descriptor();
        let at = self.room(results);
        for word in 0..results {
            let to = Operand::in_frame((at + 4 * u64::from(word)) as i64);
            self.code.push(None, "STL", vec![], vec![to, Operand::hardware(FIRST + word)]);
        }
        at
    }

    /// The address of a place in the code, to return to, where `LEPC` gives its own alone: that and the distance.
    fn address_of_code(&mut self, label: Label) {
        let here = self.code.label();
        let [low, high, scratch] = [BACK, BACK + 1, FUNCTION + 1].map(Operand::hardware);
        self.code.place(here);
        self.code.push(None, "LEPC", vec![low.clone()], vec![]);
        let carry = self.flag();
        self.code.push(None, "MOV", vec![scratch.clone()], vec![Operand::Target(label)]);
        let read = vec![low.clone(), scratch.clone(), Operand::zero()];
        self.code.push(None, "IADD3", vec![low.clone(), Operand::Predicate(carry, false)], read);
        let read = vec![
            high.clone(),
            Operand::zero(),
            Operand::zero(),
            Operand::Predicate(carry, false),
            Operand::always(true),
        ];
        self.code.push(None, "IADD3.X", vec![high.clone()], read);
        self.code.push(None, "MOV", vec![scratch.clone()], vec![Operand::Target(here)]);
        let borrow = self.flag();
        let read = vec![low.clone(), scratch.signed("-"), Operand::zero()];
        self.code.push(None, "IADD3", vec![low, Operand::Predicate(borrow, false)], read);
        let read = vec![
            high.clone(),
            Operand::ones(),
            Operand::zero(),
            Operand::Predicate(borrow, false),
            Operand::always(true),
        ];
        self.code.push(None, "IADD3.X", vec![high], read);
    }

    /// How many registers a parameter takes.
    fn words_of(&self, param: &Param) -> Result<u8, super::Refusal> {
        let bytes = match *param {
            Param::Memory(id) => self.module.variables[id.index()].size,
            Param::Register(_) | Param::RegisterType(ScalarType::Pred) => 0,
            Param::RegisterType(ty) => u64::from(ty.bits() / 8).max(4),
        };
        match bytes {
            4 => Ok(1),
            8 => Ok(2),
            _ => Err("with such a parameter".to_owned()),
        }
    }

    /// So many words of the frame.
    pub(super) fn room(&mut self, words: u8) -> u64 {
        let at = self.frame.next_multiple_of(4);
        self.frame = at + 4 * u64::from(words);
        at
    }

    /// Puts a value into the frame; where.
    pub(super) fn value_in_frame(&mut self, value: &Value, words: u8) -> Result<u64, super::Refusal> {
        let parts = match words {
            1 => vec![self.word(value)?],
            _ => {
                let both = self.double(value)?;
                vec![Operand::part(both, 0), Operand::part(both, 1)]
            }
        };
        Ok(self.words_in_frame(parts))
    }

    /// Puts words into the frame; where.
    pub(super) fn words_in_frame(&mut self, parts: Vec<Operand>) -> u64 {
        let at = self.room(parts.len() as u8);
        for (word, part) in (0..).zip(parts) {
            self.code.push(None, "STL", vec![], vec![Operand::in_frame((at + 4 * word) as i64), part]);
        }
        at
    }
}
