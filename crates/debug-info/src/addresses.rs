//! The addresses that debug information of a module speaks of.
//!
//! PTX has none: its DWARF names labels and variables. Here an instruction has a program counter, 16 times its number in the
//! module, functions one after the other with a free place behind each, so that the end of a function is the beginning of
//! no other. A variable has an address far above, whatever its state space is; the address class says which that is.

use ptx::ast::{self, ItemKind, StatementKind};
use ptx::module::{FuncId, Module, VarId};
use std::collections::HashMap;
use std::ops::Range;

/// Bytes that an instruction takes.
pub const INSTRUCTION_BYTES: u64 = 16;

/// Where variables begin.
const VARIABLES: u64 = 1 << 48;

/// What an address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An instruction of a function, or one past its last.
    Code {
        /// The function.
        function: FuncId,
        /// The index in its body.
        instruction: u32,
    },
    /// A byte of a variable.
    Variable {
        /// The variable.
        variable: VarId,
        /// Bytes from its beginning.
        offset: u64,
    },
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The first instruction of each function; all ascend.
    functions: Vec<u64>,
    end: u64,
    /// The first byte of each variable; all ascend. `None` where so large a one has no room.
    variables: Vec<Option<u64>>,
}

impl Addresses {
    /// Those of a module.
    pub fn new(module: &Module) -> Self {
        let mut next = INSTRUCTION_BYTES;
        let mut functions = Vec::new();
        for function in &module.functions {
            functions.push(next);
            let count = function.body.as_ref().map_or(0, |body| body.instructions.len() as u64);
            next += (count + 1) * INSTRUCTION_BYTES;
        }
        let mut free = Some(VARIABLES);
        let mut place = |size: u64| {
            let start = free?;
            free = start.checked_add(size)?.checked_add(16)?.checked_next_multiple_of(16);
            free.map(|_| start)
        };
        let variables = module.variables.iter().map(|variable| place(variable.size)).collect();
        Self { functions, end: next, variables }
    }

    /// The program counter of an instruction, or of what is behind the last one of its function.
    pub fn of(&self, function: FuncId, instruction: u32) -> Option<u64> {
        let Range { start, end } = self.function(function)?;
        let pc = start + u64::from(instruction) * INSTRUCTION_BYTES;
        (pc <= end).then_some(pc)
    }

    /// The program counters of a function.
    pub fn function(&self, function: FuncId) -> Option<Range<u64>> {
        let start = *self.functions.get(function.index())?;
        let behind = self.functions.get(function.index() + 1).copied().unwrap_or(self.end);
        Some(start..behind - INSTRUCTION_BYTES)
    }

    /// The address of a variable.
    pub fn variable(&self, variable: VarId) -> Option<u64> {
        *self.variables.get(variable.index())?
    }

    /// What an address stands for.
    pub fn place(&self, address: u64) -> Option<Place> {
        if (INSTRUCTION_BYTES..self.end).contains(&address) {
            let index = self.functions.partition_point(|&start| start <= address) - 1;
            let instruction = ((address - self.functions[index]) / INSTRUCTION_BYTES) as u32;
            return Some(Place::Code { function: FuncId(index as u32), instruction });
        }
        // A missing one is behind all that have a place.
        let behind = self.variables.partition_point(|start| start.is_some_and(|start| start <= address));
        let index = behind.checked_sub(1)?;
        let offset = address - self.variables[index]?;
        Some(Place::Variable { variable: VarId(index as u32), offset })
    }

    /// Where names of the text are: labels in bodies, functions, variables. Of equal names in several scopes, the first counts.
    pub(crate) fn symbols(&self, module: &Module, tree: &ast::Module) -> HashMap<String, u64> {
        let mut symbols = HashMap::new();
        for (index, variable) in module.variables.iter().enumerate() {
            if let Some(address) = self.variable(VarId(index as u32)) {
                symbols.entry(variable.name.clone()).or_insert(address);
            }
        }
        for (function, &start) in module.functions.iter().zip(&self.functions) {
            symbols.entry(function.name.clone()).or_insert(start);
        }
        for item in &tree.items {
            let ItemKind::Function(id) = item.value else { continue };
            let written = &tree[id];
            let Some(body) = written.body else { continue };
            let Some(function) = module.function(tree.text(written.name.value)) else { continue };
            let mut instructions = 0;
            for statement in &tree[body.statements] {
                match &statement.value {
                    StatementKind::Instruction(_) => instructions += 1,
                    StatementKind::Label(name) => {
                        if let Some(pc) = self.of(function, instructions) {
                            symbols.entry(tree.text(*name).to_owned()).or_insert(pc);
                        }
                    }
                    StatementKind::BlockBegin
                    | StatementKind::BlockEnd
                    | StatementKind::Variable(_)
                    | StatementKind::Loc(_)
                    | StatementKind::Pragma(_)
                    | StatementKind::Prototype(_)
                    | StatementKind::Targets(_) => {}
                }
            }
        }
        symbols
    }
}
