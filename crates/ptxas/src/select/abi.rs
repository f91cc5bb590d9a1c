//! Functions that other modules call or define, by NVIDIA's convention, as its code shows it. An argument stands in registers from R4 to R15, the first
//! that are free at a multiple of its alignment, so that a later one may fill a gap; results stand from R4 on. R20 and R21 have the address to return to,
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
/// Where the address to return to stands.
const BACK: [u8; 2] = [20, 21];

/// Whether the caller finds a register as it was. A function names none of these.
pub(crate) fn is_kept(register: u32) -> bool {
    match register {
        0..16 => false,
        16..32 => true,
        _ => register % 8 >= 4,
    }
}

/// Registers: the first, and how many.
type Row = (u8, u8);

/// Where values stand that have so many bytes, aligned so.
fn rows(values: impl Iterator<Item = (u64, u64)>) -> Option<Vec<Row>> {
    let mut taken = [false; END as usize];
    let mut row = |(bytes, align): (u64, u64)| {
        let words = bytes.div_ceil(4).max(1) as usize;
        let step = (align / 4).max(1) as usize;
        let fits = |&at: &usize| taken.get(at..at + words).is_some_and(|row| !row.contains(&true));
        let at = (usize::from(FIRST)..END.into()).filter(|at| at % step == 0).find(fits)?;
        taken[at..at + words].fill(true);
        Some((at as u8, words as u8))
    };
    values.map(&mut row).collect()
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
        let params = of(&function.params).ok_or("with more arguments than registers have place for")?;
        if function.returns.len() > 1 {
            return Err("with several results".to_owned());
        }
        let returns = of(&function.returns).ok_or("with a larger result than registers have place for")?;
        Ok((params, returns))
    }

    /// Calls a function of another module.
    pub(super) fn call_linked(&mut self, id: FuncId, arguments: &[Argument], results: &[Argument]) -> Done {
        let (params, returns) = self.convention_of(id)?;
        let function = &self.module.functions[id.index()];
        let mut loaded = Vec::new();
        for ((argument, param), (first, words)) in arguments.iter().zip(&function.params).zip(params) {
            let from = match (argument, param) {
                (Argument::Variable(mine), _) => self.local(*mine),
                (Argument::Value(value), Param::RegisterType(ty)) => {
                    let parts = self.words(value, *ty)?;
                    self.words_in_frame(parts)
                }
                (Argument::Value(value), _) => self.value_in_frame(value, words)?,
            };
            loaded.extend((0..words).map(|word| (first + word, from + 4 * u64::from(word))));
        }
        let words = returns.first().map_or(0, |&(_, words)| words);
        let name = function.name.as_str();
        let at = self.call_provided(name, &loaded, Vec::new(), words);
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
        for (param, (first, words)) in function.params.iter().zip(params) {
            let at = match *param {
                Param::Memory(id) => self.local(id),
                Param::Register(_) | Param::RegisterType(_) => self.room(words),
            };
            for word in 0..words {
                let read = vec![
                    Operand::in_frame((at + 4 * u64::from(word)) as i64),
                    Operand::hardware(first + word),
                ];
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
        for (param, (first, words)) in function.returns.iter().zip(returns) {
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
    use super::rows;

    /// As nvcc 13.0 calls `f(int, float4, int, char)` and `g(double, double, double, double, double, int, int)`.
    #[test]
    fn later_arguments_fill_gaps() {
        let placed = rows([(4, 4), (16, 16), (4, 4), (1, 1)].into_iter());
        assert_eq!(placed, Some(vec![(4, 1), (8, 4), (5, 1), (6, 1)]));
        let doubles = [(8, 8); 5].into_iter();
        let placed = rows(doubles.clone().chain([(4, 4), (4, 4)]));
        assert_eq!(placed.map(|rows| rows[5..].to_vec()), Some(vec![(14, 1), (15, 1)]));
        assert_eq!(rows(doubles.chain([(4, 4), (8, 8)])), None);
    }
}
