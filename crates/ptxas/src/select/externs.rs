//! Functions whose code the driver has, called as NVIDIA's code calls them: arguments in registers from R4 on, those of 64 bits in pairs,
//! results from R4 on, the address to return to in R20 and R21, the stack pointer in R1, which they give back as it was.
//!
//! Of other registers nothing is expected: what is alive behind a call stands in the frame, as with [routines](super::routine). So no register
//! of the code is alive between the first one of the hardware that is written here and the last one that is read.

use super::{Done, Select};
use crate::code::{Class, Operand};
use ir::operand::{Argument, Def, Value};
use ptx::module::{FuncId, Param};
use ptx::types::ScalarType;
use smol_str::format_smolstr;

/// The functions that the driver provides, as far as ptxas knows.
const PROVIDED: [&str; 5] = ["vprintf", "malloc", "free", "__assertfail", "cudaGraphSetConditional"];

/// Where the function's address is handed over, and where it returns to.
const FUNCTION: u8 = 2;
const BACK: u8 = 20;
/// The first register of arguments, that of results, and the one behind the last argument.
const FIRST: u8 = 4;
const END: u8 = 16;
/// Bytes below the end of what `alloca` has taken, where the stack pointer is kept.
const KEPT: i64 = 16;

impl Select<'_> {
    /// Calls a function that has no code in the module.
    pub(super) fn call_extern(&mut self, id: FuncId, arguments: &[Argument], results: &[Argument]) -> Done {
        let declaration = &self.module.functions[id.index()];
        let name = &declaration.name;
        if !PROVIDED.contains(&name.as_str()) {
            return Err(format!("of `{name}`, whose code is not here"));
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
        let moved = self.top.map(|top| {
            let below = self.one(
                "IADD3",
                vec![Operand::low(top), Operand::Text(format_smolstr!("-{KEPT:#x}")), Operand::zero()],
            );
            let to = Operand::Address { before: "", reg: below, width: 1, beside: "", offset: 0 };
            self.code.push(None, "STL", vec![], vec![to, Operand::Text("R1".into())]);
            let at = self.room(1);
            self.code.push(None, "STL", vec![], vec![Operand::in_frame(at as i64), Operand::low(below)]);
            at
        });
        let mut load = |to: Operand, at: u64| {
            self.code.push(None, "LDL", vec![to], vec![Operand::in_frame(at as i64)]);
        };
        loaded.iter().for_each(|&(register, at)| load(Operand::hardware(register), at));
        if let Some(at) = moved {
            load(Operand::Text("R1".into()), at);
        }
        for (register, half) in [(FUNCTION, "lo"), (FUNCTION + 1, "hi")] {
            let address = Operand::Text(format_smolstr!("32@{half}(\"{name}\")"));
            self.code.push(None, "MOV", vec![Operand::hardware(register)], vec![address]);
        }
        let behind = self.code.label();
        self.code.push(None, "LEPC", vec![Operand::hardware(BACK)], vec![Operand::Target(behind)]);
        self.code.push(None, "CALL.ABS.NOINC", vec![], vec![Operand::hardware(FUNCTION)]);
        self.code.name_extern(name);
        self.code.place(behind);
        if moved.is_some() {
            load_pointer(self);
        }
        self.descriptor();
        match (results, declaration.returns.as_slice()) {
            ([], []) => Ok(()),
            ([result], [theirs]) => {
                let words = self.words_of(theirs)?;
                let value = self.code.register(Class::General(words), true);
                self.code.pin(value);
                for word in 0..words {
                    let from = Operand::hardware(FIRST + word);
                    self.code.push(None, "MOV", vec![Operand::part(value, word)], vec![from]);
                }
                match result {
                    Argument::Variable(mine) => {
                        let to = self.local(*mine);
                        for word in 0..words {
                            let to = Operand::in_frame((to + 4 * u64::from(word)) as i64);
                            self.code.push(None, "STL", vec![], vec![to, Operand::part(value, word)]);
                        }
                    }
                    Argument::Value(Value::Register(mine)) => self.set(Def(Some(*mine)), value),
                    Argument::Value(_) => {}
                }
                Ok(())
            }
            _ => Err("with so many results".to_owned()),
        }
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
    fn room(&mut self, words: u8) -> u64 {
        let at = self.frame.next_multiple_of(4);
        self.frame = at + 4 * u64::from(words);
        at
    }

    /// Puts a value into the frame; where.
    fn value_in_frame(&mut self, value: &Value, words: u8) -> Result<u64, super::Refusal> {
        let parts = match words {
            1 => vec![self.word(value)?],
            _ => {
                let both = self.double(value)?;
                vec![Operand::part(both, 0), Operand::part(both, 1)]
            }
        };
        let at = self.room(words);
        for (word, part) in (0..).zip(parts) {
            self.code.push(None, "STL", vec![], vec![Operand::in_frame((at + 4 * word) as i64), part]);
        }
        Ok(at)
    }
}

/// The stack pointer as it was before it was moved.
fn load_pointer(select: &mut Select<'_>) {
    select.code.push(None, "LDL", vec![Operand::Text("R1".into())], vec![Operand::in_frame(0)]);
}
