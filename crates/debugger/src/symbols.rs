//! What names of a module stand for, looked up once.

use crate::program::Program;
use debug_info::DebugInfo;
use machine::VariablePlace;
use ptx::isa::Meeting;
use ptx::module::{FuncId, RegId, VarId};
use std::collections::HashMap;
use std::sync::OnceLock;

/// See the module.
#[derive(Debug)]
pub struct Symbols {
    /// Its debug information.
    pub info: DebugInfo,
    /// By kernel: where it has variables.
    places: Vec<OnceLock<Vec<Option<VariablePlace>>>>,
    registers: Vec<HashMap<String, RegId>>,
    /// By function and instruction: whether it is a CTA barrier.
    barriers: Vec<Vec<bool>>,
}

impl Symbols {
    /// Those of a program's module.
    pub fn new(program: &Program) -> Self {
        let module = program.module();
        let places = module.functions.iter().map(|_| OnceLock::new()).collect();
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

    /// Where a variable is for the threads of a kernel; `None` if the kernel has no use for it.
    pub fn place(&self, program: &Program, kernel: FuncId, variable: VarId) -> Option<VariablePlace> {
        let places = self.places.get(kernel.index())?.get_or_init(|| {
            let variables = program.loaded.entry(kernel).map(|kernel| kernel.variables());
            let all = 0..program.module().variables.len() as u32;
            variables.map_or_else(Vec::new, |known| all.map(|id| known.of(VarId(id))).collect())
        });
        *places.get(variable.index())?
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
