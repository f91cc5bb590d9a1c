//! What names of a program stand for, looked up once.

use crate::program::Program;
use debug_info::DebugInfo;
use machine::VariablePlace;
use ptx::isa::Meeting;
use ptx::module::{FuncId, RegId, VarId};
use std::collections::HashMap;

/// See the module.
#[derive(Debug)]
pub struct Symbols {
    /// Its debug information.
    pub info: DebugInfo,
    places: Vec<Option<VariablePlace>>,
    registers: Vec<HashMap<String, RegId>>,
    /// By function and instruction: whether it is a CTA barrier.
    barriers: Vec<Vec<bool>>,
}

impl Symbols {
    /// Those of a program.
    pub fn new(program: &Program) -> Self {
        let module = program.module();
        let places = match program.kernel() {
            Ok(kernel) => {
                let variables = kernel.variables();
                (0..module.variables.len() as u32).map(|id| variables.of(VarId(id))).collect()
            }
            Err(_) => vec![None; module.variables.len()],
        };
        let bodies = || module.functions.iter().map(|function| function.body.as_ref());
        let registers = bodies().map(|body| {
            let mut named = HashMap::new();
            for (register, id) in body.iter().flat_map(|body| &body.registers).zip(0..) {
                // Of equal names in several scopes, the first.
                named.entry(module.text(register.name).to_owned()).or_insert(RegId(id));
            }
            named
        });
        let barrier = |instruction: &ptx::module::Instruction| {
            let barrier = module.opcode(instruction).sem().and_then(|sem| sem.effects().barrier);
            barrier.is_some_and(|barrier| barrier.of == Meeting::Cta)
        };
        let registers = registers.collect();
        let barriers = bodies().map(|body| body.iter().flat_map(|b| &b.instructions).map(barrier).collect());
        let barriers = barriers.collect();
        Self { info: program.debug_info(), places, registers, barriers }
    }

    /// Where a variable is; `None` if the kernel has no use for it.
    pub fn place(&self, variable: VarId) -> Option<VariablePlace> {
        *self.places.get(variable.index())?
    }

    /// A register of a function.
    pub fn register(&self, function: FuncId, name: &str) -> Option<RegId> {
        self.registers.get(function.index())?.get(name).copied()
    }

    /// Whether an instruction is a CTA barrier.
    pub(crate) fn is_barrier(&self, (function, instruction): (FuncId, u32)) -> bool {
        self.barriers[function.index()].get(instruction as usize).is_some_and(|&is| is)
    }
}
