//! Functions that other modules call or define, by NVIDIA's convention, as its code shows it. An argument stands in registers from R4 to R15, the first
//! that are free at a multiple of its alignment, so that a later one may fill a gap; what finds no place there stands at the caller's end of
//! the stack, one behind the other. Results stand from R4 on. R20 and R21 have the address to return to,
//! R1 the stack pointer, which the callee gives back as it was, as it does [some registers](is_kept). Predicates, uniform
//! registers for operands and all else are nobody's behind a call.

use super::{Done, Refusal, Select};
use crate::code::Operand;
use ir::operand::{Argument, Value};
use ptx::module::{FuncId, FunctionKind, Module, Param, Register};
use ptx::types::ScalarType;
use smol_str::format_smolstr;

/// The registers of arguments and results.
const FIRST: u8 = 4;
const END: u8 = 16;
/// Most arguments of a function, so that what is on the stack can be reached.
const MOST: usize = 1024;
/// Where the address to return to stands.
const BACK: [u8; 2] = [20, 21];

/// Whether the caller finds a register as it was. A function names none of these.
pub(crate) fn is_kept(register: u32) -> bool {
    match register {
        2 | 16..32 => true,
        0..16 => false,
        _ => register % 8 >= 4,
    }
}

/// What holds the caller's stack pointer, and a word from there, while a function begins.
const ABOVE: u8 = 0;
const WORD: u8 = 3;

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// From this register on.
    Register(u8),
    /// So many bytes above the caller's stack pointer.
    Stack(u64),
}

/// Where a value stands, and how many words it has.
type Row = (Place, u8);

/// Where values stand that have so many bytes, aligned so, and how many bytes of the stack they take.
fn rows(values: impl Iterator<Item = (u64, u64)>) -> (Vec<Row>, u64) {
    let mut taken = [false; END as usize];
    let mut stack = 0_u64;
    let mut row = |(bytes, align): (u64, u64)| {
        let words = bytes.div_ceil(4).max(1) as usize;
        let step = (align / 4).max(1) as usize;
        let fits = |&at: &usize| taken.get(at..at + words).is_some_and(|row| !row.contains(&true));
        let place = match (usize::from(FIRST)..END.into()).filter(|at| at % step == 0).find(fits) {
            Some(at) => {
                taken[at..at + words].fill(true);
                Place::Register(at as u8)
            }
            None => {
                let at = stack.next_multiple_of(align.max(4));
                stack = at + 4 * words as u64;
                Place::Stack(at)
            }
        };
        (place, words as u8)
    };
    (values.map(&mut row).collect(), stack)
}

/// Bytes of the stack that arguments of functions of other modules take.
pub(crate) fn on_stack(module: &Module) -> u64 {
    let elsewhere = module.functions.iter().filter(|it| it.kind == FunctionKind::Func && it.body.is_none());
    let taken = elsewhere.map(|it| rows(it.params.iter().map(|param| extent(module, &[], param))).1);
    taken.max().unwrap_or(0).next_multiple_of(16)
}

/// Bytes of a parameter or result, and its alignment.
fn extent(module: &Module, registers: &[Register], param: &Param) -> (u64, u64) {
    let of_type = |ty: ScalarType| {
        let bytes = u64::from(ty.bits() / 8).max(4);
        (bytes, bytes)
    };
    match *param {
        Param::Memory(id) => {
            let variable = &module.variables[id.index()];
            (variable.size, variable.align.max(1).into())
        }
        Param::Register(id) => registers.get(id.index()).map_or((4, 4), |register| of_type(register.ty)),
        Param::RegisterType(ty) => of_type(ty),
    }
}

impl Select<'_> {
    /// The registers of a function's arguments and of its result.
    fn convention_of(&self, id: FuncId) -> Result<(Vec<Row>, Vec<Row>), Refusal> {
        let function = &self.module.functions[id.index()];
        let registers = function.body.as_ref().map_or(&[][..], |body| &body.registers);
        let open = |param: &Param| matches!(*param, Param::Memory(id) if self.module.variables[id.index()].unsized_array);
        if function.params.iter().any(open) {
            return Err("of a function that takes an array without a size".to_owned());
        }
        let of = |list: &[Param]| rows(list.iter().map(|param| extent(self.module, registers, param)));
        if function.returns.len() > 1 {
            return Err("with several results".to_owned());
        }
        match of(&function.returns) {
            (returns, 0) if function.params.len() <= MOST => Ok((of(&function.params).0, returns)),
            (_, 0) => Err("with so many arguments".to_owned()),
            _ => Err("with a larger result than registers have place for".to_owned()),
        }
    }

    /// Calls a function of another module.
    pub(super) fn call_linked(&mut self, id: FuncId, arguments: &[Argument], results: &[Argument]) -> Done {
        let (params, returns) = self.convention_of(id)?;
        let function = &self.module.functions[id.index()];
        let (mut loaded, mut stack) = (Vec::new(), Vec::new());
        for ((argument, param), (place, words)) in arguments.iter().zip(&function.params).zip(params) {
            let from = match (argument, param) {
                (Argument::Variable(mine), _) => self.local(*mine),
                (Argument::Value(value), Param::RegisterType(ty)) => {
                    let parts = self.words(value, *ty)?;
                    self.words_in_frame(parts)
                }
                (Argument::Value(value), _) => self.value_in_frame(value, words)?,
            };
            for word in 0..words {
                let (bytes, from) = (4 * u64::from(word), from + 4 * u64::from(word));
                match place {
                    Place::Register(first) => loaded.push((first + word, from)),
                    Place::Stack(at) => {
                        let value = self.one("LDL", vec![Operand::in_frame(from as i64)]);
                        stack.push((at + bytes, Operand::low(value)));
                    }
                }
            }
        }
        let words = returns.first().map_or(0, |&(_, words)| words);
        let name = function.name.as_str();
        let at = self.call_provided(name, &loaded, stack, words);
        if let [result] = results {
            self.take_result(result, at, words);
        }
        Ok(())
    }

    /// A function that others call begins: its arguments go to its frame.
    pub(super) fn begin_linked(&mut self, id: FuncId) -> Done {
        let (params, _) = self.convention_of(id)?;
        self.code.keeps = true;
        self.at.end = Some(self.code.label());
        let text = |text: &str| Operand::Text(text.into());
        if params.iter().any(|(place, _)| matches!(place, Place::Stack(_))) {
            self.code.push(None, "MOV", vec![Operand::hardware(ABOVE)], vec![text("R1")]);
        }
        let read = vec![text("R1"), text(crate::emit::FRAME), text("RZ")];
        self.code.push(None, "IADD3", vec![text("R1")], read);
        self.back = self.room(2);
        let mut keep = |register: u8, at: u64| {
            let read = vec![Operand::in_frame(at as i64), Operand::hardware(register)];
            self.code.push(None, "STL", vec![], read);
        };
        for (word, register) in (0..).zip(BACK) {
            keep(register, self.back + 4 * word);
        }
        let function = &self.module.functions[id.index()];
        let mut values = Vec::new();
        for (param, (place, words)) in function.params.iter().zip(params) {
            let at = match *param {
                Param::Memory(id) => self.local(id),
                Param::Register(_) | Param::RegisterType(_) => self.room(words),
            };
            for word in 0..words {
                let bytes = 4 * u64::from(word);
                let register = match place {
                    Place::Register(first) => first + word,
                    Place::Stack(at) => {
                        let from = Operand::Text(format_smolstr!("[R{ABOVE}+{:#x}]", at + bytes));
                        self.code.push(None, "LDL", vec![Operand::hardware(WORD)], vec![from]);
                        WORD
                    }
                };
                let read = vec![Operand::in_frame((at + bytes) as i64), Operand::hardware(register)];
                self.code.push(None, "STL", vec![], read);
            }
            if let Param::Register(id) = *param {
                values.push((id, at, words));
            }
        }
        self.descriptor();
        self.begin_stack();
        for (id, at, words) in values {
            self.take_result(&Argument::Value(Value::Register(id)), at, words);
        }
        Ok(())
    }

    /// It ends, and its result goes from the frame to registers.
    pub(super) fn end_linked(&mut self, id: FuncId) -> Done {
        let (_, returns) = self.convention_of(id)?;
        if let Some(end) = self.at.end {
            self.code.place(end);
        }
        let function = &self.module.functions[id.index()];
        let mut loaded = Vec::new();
        for (param, (place, words)) in function.returns.iter().zip(returns) {
            let Place::Register(first) = place else { continue };
            let from = match *param {
                Param::Memory(id) => self.local(id),
                Param::Register(id) => self.register_in_frame(id, u64::from(words) * 4),
                Param::RegisterType(_) => continue,
            };
            loaded.extend((0..words).map(|word| (first + word, from + 4 * u64::from(word))));
        }
        loaded.extend((0..).zip(BACK).map(|(word, register)| (register, self.back + 4 * word)));
        for (register, at) in loaded {
            self.code.push(
                None,
                "LDL",
                vec![Operand::hardware(register)],
                vec![Operand::in_frame(at as i64)],
            );
        }
        let text = |text: &str| Operand::Text(text.into());
        let read = vec![text("R1"), text(crate::emit::END_OF_FRAME), text("RZ")];
        self.code.push(None, "IADD3", vec![text("R1")], read);
        let back = Operand::Text(format_smolstr!("R{} 0x0", BACK[0]));
        self.code.push(None, "RET.ABS.NODEC", vec![], vec![back]);
        Ok(())
    }

    /// Whether what is selected is a function for other modules, and no kernel.
    pub(super) fn is_linked(&self) -> bool {
        self.module.functions[self.inlined[0].index()].kind == FunctionKind::Func
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, rows};

    /// As nvcc 13.0 calls `f(int, float4, int, char)`, `g(double, double, double, double, double, int, double, int)` and a function of twelve `int`, an `int`,
    /// a `double` and an `int`.
    #[test]
    fn later_arguments_fill_gaps_and_others_stand_on_the_stack() {
        let at = |register: u8, words: u8| (Place::Register(register), words);
        let stack = |at: u64, words: u8| (Place::Stack(at), words);
        let placed = rows([(4, 4), (16, 16), (4, 4), (1, 1)].into_iter());
        assert_eq!(placed, (vec![at(4, 1), at(8, 4), at(5, 1), at(6, 1)], 0));
        let placed = rows([(8, 8); 5].into_iter().chain([(4, 4), (8, 8), (4, 4)])).0;
        assert_eq!(placed[5..], [at(14, 1), stack(0, 2), at(15, 1)]);
        let (placed, bytes) = rows([(4, 4); 13].into_iter().chain([(8, 8), (4, 4)]));
        assert_eq!((&placed[12..], bytes), (&[stack(0, 1), stack(8, 2), stack(16, 1)][..], 20));
    }
}
