//! Functions that are called for real: those that call themselves, at once or through others, and calls too deep to be inlined. Each is
//! a routine of its own behind the kernel's code.
//!
//! Everything goes through the stack, which grows downwards. The caller writes below its stack pointer what the callee finds at the
//! top of its frame:
//!
//! ```text
//! R1 of the caller ─▶ │ its frame                                  │
//!                     │ results, arguments                         │
//!                     │ the caller's R1, where that has been moved │
//!                     │ where to return to                         │ ◀─ R1 - size of what is handed over
//!                     │ frame of the callee                        │ ◀─ R1 of the callee
//! ```
//!
//! No register keeps its value in a call: what is alive behind one is spilled by [`crate::registers`].

use super::special::is_of_module;
use super::{Done, Function, Refusal, Select};
use crate::bodies::Bodies;
use crate::code::{Label, Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Argument, Value};
use ptx::module::{FuncId, Module, Operand as Named, Param, RegId, VarId};
use ptx::types::ScalarType;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

/// Bytes of the return address and of the caller's stack pointer.
const RETURN: u64 = 0;
const POINTER: u64 = 8;
const HEAD: u64 = 16;
/// Frames are multiples of this, so that every variable is aligned.
const STACK: u64 = 16;

/// Where what a function takes and gives is handed over, from the lowest address on.
struct Handover {
    params: Vec<u64>,
    returns: Vec<u64>,
    size: u64,
}

fn handover(module: &Module, id: FuncId, registers: &[ptx::module::Register]) -> Handover {
    let mut size = HEAD;
    let mut place = |param: &Param| {
        let (bytes, align) = match *param {
            Param::Memory(id) => {
                let variable = &module.variables[id.index()];
                (variable.size, u64::from(variable.align))
            }
            Param::Register(id) => (bytes_of(registers[id.index()].ty), 4),
            Param::RegisterType(ty) => (bytes_of(ty), 4),
        };
        let at = size.next_multiple_of(align.max(4));
        size = at + bytes.next_multiple_of(4);
        at
    };
    let function = &module.functions[id.index()];
    let params = function.params.iter().map(&mut place).collect();
    let returns = function.returns.iter().map(&mut place).collect();
    Handover { params, returns, size: size.next_multiple_of(STACK) }
}

fn bytes_of(ty: ScalarType) -> u64 {
    u64::from(ty.bits() / 8).max(4)
}

/// The functions that a function may call.
fn callees(bodies: &Bodies<'_>, id: FuncId) -> HashSet<FuncId> {
    let module = bodies.module;
    let mut found = HashSet::default();
    let Some(body) = &module.functions[id.index()].body else { return found };
    let direct = body.operands.iter().filter_map(|operand| match *operand {
        Named::Function(id) => Some(id),
        _ => None,
    });
    found.extend(direct);
    let indirect = bodies.of(id).is_some_and(|function| {
        let mut all = function.instructions.iter().flatten();
        all.any(|instruction| matches!(instruction.op, Op::CallIndirect(_)))
    });
    if indirect {
        let all = (0..module.functions.len() as u32).map(FuncId);
        found.extend(all.filter(|&id| super::control::is_address_taken(module, id)));
    }
    found
}

/// Whether a function can come to call itself.
fn is_recursive(bodies: &Bodies<'_>, id: FuncId) -> bool {
    let mut seen = HashSet::default();
    let mut pending = vec![id];
    while let Some(next) = pending.pop() {
        for callee in callees(bodies, next) {
            if callee == id {
                return true;
            }
            if seen.insert(callee) {
                pending.push(callee);
            }
        }
    }
    false
}

/// The routines of a kernel.
#[derive(Default)]
pub(super) struct Routines {
    labels: HashMap<FuncId, Label>,
    pending: Vec<FuncId>,
    recursive: HashMap<FuncId, bool>,
}

impl<'a> Select<'a> {
    /// Whether a function calls itself: no inlining ends that.
    pub(super) fn is_recursive(&mut self, id: FuncId) -> bool {
        let bodies = self.bodies;
        *self.routines.recursive.entry(id).or_insert_with(|| is_recursive(bodies, id))
    }

    /// A word of what is handed over, seen from the caller.
    fn handed(&self, at: u64, size: u64) -> Operand {
        let offset = at as i64 - size as i64;
        match self.top {
            Some(reg) => Operand::Address { before: "", reg, width: 1, beside: "", offset },
            None => Operand::in_frame(offset),
        }
    }

    /// Calls a routine. A guard stands around it.
    pub(super) fn call_routine(
        &mut self,
        id: FuncId,
        callee: &ir::Function<'_>,
        arguments: &[Argument],
        results: &[Argument],
    ) -> Done {
        if self.module.variables.iter().any(is_of_module) {
            return Err("in a module whose functions share variables in local memory".to_owned());
        }
        let declaration = &self.module.functions[id.index()];
        let handover = handover(self.module, id, &callee.body.registers);
        let size = handover.size;
        let variable = |select: &Self, id: VarId| select.module.variables[id.index()].size;
        for ((argument, param), at) in arguments.iter().zip(&declaration.params).zip(&handover.params) {
            match (argument, param) {
                (Argument::Variable(mine), Param::Memory(theirs)) => {
                    if self.module.variables[theirs.index()].unsized_array {
                        return Err(
                            "of a function that calls itself, with an array without a size".to_owned()
                        );
                    }
                    let from = self.local(*mine);
                    for word in (0..variable(self, *theirs)).step_by(4) {
                        let value = self.one("LDL", vec![Operand::in_frame((from + word) as i64)]);
                        let to = self.handed(at + word, size);
                        self.code.push(None, "STL", vec![], vec![to, Operand::low(value)]);
                    }
                }
                (Argument::Value(value), Param::Register(theirs)) => {
                    let words = self.words(value, callee.body.registers[theirs.index()].ty)?;
                    for (index, word) in words.into_iter().enumerate() {
                        let to = self.handed(at + 4 * index as u64, size);
                        self.code.push(None, "STL", vec![], vec![to, word]);
                    }
                }
                _ => return Err("with such an argument".to_owned()),
            }
        }
        let behind = self.code.label();
        let back = self.one("MOV", vec![Operand::Target(behind)]);
        for (at, word) in [(RETURN, Operand::low(back)), (RETURN + 4, Operand::zero())] {
            let to = self.handed(at, size);
            self.code.push(None, "STL", vec![], vec![to, word]);
        }
        let pointer = Operand::Text("R1".into());
        if let Some(top) = self.top {
            let to = self.handed(POINTER, size);
            self.code.push(None, "STL", vec![], vec![to, pointer.clone()]);
            self.code.push(None, "MOV", vec![pointer.clone()], vec![Operand::low(top)]);
        }
        let target = self.routine(id);
        self.code.push(None, "CALL.REL.NOINC", vec![], vec![Operand::Target(target)]);
        self.code.place(behind);
        if self.top.is_some() {
            let from = Operand::in_frame(POINTER as i64 - size as i64);
            self.code.push(None, "LDL", vec![pointer], vec![from]);
        }
        for ((result, theirs), at) in results.iter().zip(&declaration.returns).zip(&handover.returns) {
            match (result, theirs) {
                (Argument::Variable(mine), Param::Memory(theirs)) => {
                    let to = self.local(*mine);
                    for word in (0..variable(self, *theirs)).step_by(4) {
                        let from = self.handed(at + word, size);
                        let value = self.one("LDL", vec![from]);
                        let to = Operand::in_frame((to + word) as i64);
                        self.code.push(None, "STL", vec![], vec![to, Operand::low(value)]);
                    }
                }
                (Argument::Value(Value::Register(mine)), Param::Register(theirs)) => {
                    let width = bytes_of(callee.body.registers[theirs.index()].ty) / 4;
                    let value = self.temporary(width as u8);
                    for part in 0..width {
                        let from = self.handed(at + 4 * part, size);
                        self.code.push(None, "LDL", vec![Operand::part(value, part as u8)], vec![from]);
                    }
                    self.set_from_words(*mine, value);
                }
                (Argument::Value(_), Param::Register(_)) => {}
                _ => return Err("with such a result".to_owned()),
            }
        }
        Ok(())
    }

    /// The words of a value that a register parameter takes.
    pub(super) fn words(&mut self, value: &Value, ty: ScalarType) -> Result<Vec<Operand>, Refusal> {
        Ok(match ty.bits() {
            _ if ty == ScalarType::Pred => {
                let flag = self.copied_flag(*value)?;
                vec![self.word_of_flag(flag)]
            }
            128 => {
                let all = self.quad(value)?;
                (0..4).map(|part| Operand::part(all, part)).collect()
            }
            64 => {
                let both = self.double(value)?;
                vec![Operand::part(both, 0), Operand::part(both, 1)]
            }
            _ => {
                let word = self.word(value)?;
                vec![Operand::low(self.one("MOV", vec![word]))]
            }
        })
    }

    fn routine(&mut self, id: FuncId) -> Label {
        if let Some(&label) = self.routines.labels.get(&id) {
            return label;
        }
        let label = self.code.label();
        self.routines.labels.insert(id, label);
        self.routines.pending.push(id);
        label
    }

    /// The code of all routines that have been called, which call others.
    pub(super) fn routines(&mut self) -> Vec<u64> {
        let begin = self.bodies.handed_on_stack;
        let mut frames = vec![std::mem::replace(&mut self.frame, begin).next_multiple_of(STACK)];
        while let Some(id) = self.routines.pending.pop() {
            let Some(callee) = self.bodies.of(id) else { continue };
            let label = self.routines.labels[&id];
            self.code.begin_routine(label);
            self.routine_body(id, callee);
            self.code.end_function();
            frames.push(std::mem::replace(&mut self.frame, begin).next_multiple_of(STACK));
        }
        frames
    }

    fn routine_body(&mut self, id: FuncId, callee: Rc<ir::Function<'a>>) {
        let declaration = &self.module.functions[id.index()];
        let handover = handover(self.module, id, &callee.body.registers);
        self.handed_over += handover.size;
        let end = self.code.label();
        let types: Vec<ScalarType> = callee.body.registers.iter().map(|register| register.ty).collect();
        let bytes = |param: &Param| match *param {
            Param::Memory(id) => self.module.variables[id.index()].size,
            Param::Register(id) => bytes_of(types[id.index()]),
            Param::RegisterType(ty) => bytes_of(ty),
        };
        let sizes: Vec<u64> = declaration.params.iter().chain(&declaration.returns).map(bytes).collect();
        let (taken, given) = sizes.split_at(declaration.params.len());
        self.at = Function::new(callee, HashMap::default(), Some(end));
        self.begin_call(id, None);
        self.inlined.truncate(1);
        self.inlined.push(id);
        // What stands around the body is for its first instruction and its last.
        let last = self.at.function.instructions.len().saturating_sub(1) as u32;
        let [first, last] = [0, last].map(|instruction| Some(self.origin(instruction)));
        self.code.is_for(first);
        let pointer = Operand::Text("R1".into());
        let move_by = |select: &mut Self, by: &str| {
            let read = vec![pointer.clone(), Operand::Text(by.into()), Operand::zero()];
            select.code.push(None, "IADD3", vec![pointer.clone()], read);
        };
        // What the caller's stack pointer was.
        let above = self.pinned();
        self.code.push(None, "MOV", vec![Operand::low(above)], vec![pointer.clone()]);
        move_by(self, &format!("-{:#x}", handover.size));
        move_by(self, crate::emit::FRAME);
        self.begin_stack();
        let at = |reg: Reg, at: u64| Operand::Address {
            before: "",
            reg,
            width: 1,
            beside: "",
            offset: at as i64 - handover.size as i64,
        };
        for ((param, from), &bytes) in declaration.params.iter().zip(&handover.params).zip(taken) {
            self.receive(param, bytes, |word| at(above, from + word));
        }
        self.body();
        self.code.is_for(last);
        self.code.place(end);
        let below = self.pinned();
        // Results that stand in registers are stored while those may still be spilled.
        let results: Vec<u64> = declaration
            .returns
            .iter()
            .zip(given)
            .map(|(param, &bytes)| match *param {
                Param::Memory(id) => self.local(id),
                Param::Register(id) => self.register_in_frame(id, bytes),
                // A function with a body names its registers.
                Param::RegisterType(_) => 0,
            })
            .collect();
        self.code.push(None, "MOV", vec![Operand::low(below)], vec![pointer.clone()]);
        move_by(self, crate::emit::END_OF_FRAME);
        move_by(self, &format!("{:#x}", handover.size));
        for ((from, to), &bytes) in results.into_iter().zip(&handover.returns).zip(given) {
            for word in (0..bytes).step_by(4) {
                let offset = (from + word) as i64;
                let from = Operand::Address { before: "", reg: below, width: 1, beside: "", offset };
                let value = self.pinned();
                self.code.push(None, "LDL", vec![Operand::low(value)], vec![from]);
                let to = Operand::in_frame((to + word) as i64 - handover.size as i64);
                self.code.push(None, "STL", vec![], vec![to, Operand::low(value)]);
            }
        }
        let back = self.pair("LDL.64", vec![Operand::in_frame(RETURN as i64 - handover.size as i64)]);
        self.code.pin(back);
        self.code.push(None, "RET.REL.NODEC", vec![], vec![Operand::wide(back, 2)]);
    }

    /// Takes a parameter from where it is handed over.
    fn receive(&mut self, param: &Param, bytes: u64, from: impl Fn(u64) -> Operand) {
        match *param {
            Param::Memory(id) => {
                let to = self.local(id);
                for word in (0..bytes).step_by(4) {
                    let value = self.one("LDL", vec![from(word)]);
                    let to = Operand::in_frame((to + word) as i64);
                    self.code.push(None, "STL", vec![], vec![to, Operand::low(value)]);
                }
            }
            Param::Register(id) => {
                let value = self.temporary((bytes / 4) as u8);
                for word in (0..bytes).step_by(4) {
                    self.code.push(
                        None,
                        "LDL",
                        vec![Operand::part(value, (word / 4) as u8)],
                        vec![from(word)],
                    );
                }
                self.set_from_words(id, value);
            }
            Param::RegisterType(_) => {}
        }
    }

    /// Puts a register into the frame; where.
    pub(super) fn register_in_frame(&mut self, id: RegId, bytes: u64) -> u64 {
        let home = self.home(id);
        let at = self.frame.next_multiple_of(4);
        self.frame = at + bytes;
        let words = match self.type_of(id) {
            ScalarType::Pred => {
                let flag = self.flag_at(home);
                vec![self.word_of_flag(flag)]
            }
            _ => (0..bytes / 4).map(|word| Operand::part(home, word as u8)).collect(),
        };
        for (index, word) in (0..).zip(words) {
            let to = Operand::in_frame((at + 4 * index) as i64);
            self.code.push(None, "STL", vec![], vec![to, word]);
        }
        at
    }

    /// A register that is never spilled: it is alive while the stack pointer moves.
    fn pinned(&mut self) -> Reg {
        let reg = self.temporary(1);
        self.code.pin(reg);
        reg
    }

    // The stack itself.

    /// Where the module makes room on the stack as it runs, a register has the end of what is in use.
    pub(super) fn begin_stack(&mut self) {
        if !self.moves_stack {
            return;
        }
        let top = self.code.register(crate::code::Class::General(1), false);
        self.code.push(None, "MOV", vec![Operand::low(top)], vec![Operand::Text("R1".into())]);
        self.top = Some(top);
    }

    pub(super) fn stack(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Alloca(op) => self.alloca(op),
            Op::Stacksave(op) => self.stack_pointer().map(|top| {
                let value = self.join(Operand::low(top), Operand::zero());
                self.set(op.d, value);
            }),
            Op::Stackrestore(op) => self.stack_pointer().and_then(|top| {
                let from = self.double(&op.a)?;
                self.effect("MOV", vec![Operand::low(top)], vec![Operand::part(from, 0)]);
                Ok(())
            }),
            _ => return None,
        })
    }

    fn stack_pointer(&self) -> Result<Reg, Refusal> {
        self.top.ok_or_else(|| "where nothing moves the stack".to_owned())
    }

    /// Room below what is in use.
    fn alloca(&mut self, op: &i::Alloca) -> Done {
        let top = self.stack_pointer()?;
        let align = op.align.unwrap_or(STACK).max(STACK);
        let size = self.double(&op.size)?;
        let below = self.add(Operand::low(top), Operand::low(size).signed("-"));
        let mask = (align as u32).wrapping_neg();
        let to = self.lop(Operand::low(below), Operand::number(mask), 0xc0);
        self.effect("MOV", vec![Operand::low(top)], vec![Operand::low(to)]);
        let wide = self.join(Operand::low(to), Operand::zero());
        self.set(op.d, wide);
        Ok(())
    }
}
