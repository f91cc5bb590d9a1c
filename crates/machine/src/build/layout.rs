//! Where a kernel's variables lie, and which functions it reaches.
//!
//! A CTA's shared memory holds the `.shared` variables that the kernel and its callees name, in the order in which they are
//! declared, so that they lie at the same places where callees' code stands in the kernel; dynamic shared memory (`.extern
//! .shared x[]`) starts behind them. A thread's local memory holds module-scope `.local` variables, then one frame a call.

use ptx::module::{
    AddressBase, Body, FuncId, FunctionKind, Module, Operand, Param, Symbol, Table, VarId, Variable,
};
use ptx::types::StateSpace;
use std::collections::HashMap;

/// The layout of one kernel.
#[derive(Debug)]
pub(crate) struct Layout {
    reachable: Vec<FuncId>,
    callees: HashMap<FuncId, Vec<FuncId>>,
    /// Offsets in shared memory, in the module's part of local memory, or in the frame of their function.
    offsets: HashMap<VarId, u32>,
    /// Bytes of an unsized array parameter, `.param .b8 rest[]`: room for the largest that any call passes.
    variadic: u32,
    /// Frame bytes of every reachable function.
    frames: HashMap<FuncId, u32>,
    shared: u32,
    module_local: u32,
}

/// More than any limit of a launch: offsets stop growing here, so that sums of them do not overflow.
pub(crate) const FAR: u32 = 1 << 28;

/// Places a variable at the next aligned offset, and moves the offset behind it.
pub(crate) fn place(offset: &mut u32, variable: &Variable) -> u32 {
    let at = offset.next_multiple_of(variable.align.clamp(1, FAR));
    *offset = at.saturating_add(u32::try_from(variable.size).unwrap_or(FAR)).min(FAR);
    at
}

/// Calls `visit` with every symbol that a body names.
fn symbols(body: &Body, mut visit: impl FnMut(Symbol)) {
    for operand in &body.operands {
        match *operand {
            Operand::SymbolAddress { symbol, .. } => visit(symbol),
            Operand::Address { base: AddressBase::Variable(variable), .. } => {
                visit(Symbol::Variable(variable))
            }
            Operand::Function(function) => visit(Symbol::Function(function)),
            Operand::Absent
            | Operand::Sink
            | Operand::Register(_)
            | Operand::NotPredicate(_)
            | Operand::Immediate(_)
            | Operand::Special { .. }
            | Operand::Address { .. }
            | Operand::Vector(_)
            | Operand::Part { .. }
            | Operand::Label(_)
            | Operand::Prototype(_)
            | Operand::Table(_) => {}
        }
    }
    for table in &body.tables {
        match table {
            Table::Call(functions) => functions.iter().for_each(|&f| visit(Symbol::Function(f))),
            Table::Branch(_) => {}
        }
    }
}

impl Layout {
    pub(crate) fn new(module: &Module, kernel: FuncId) -> Self {
        let mut layout = Self {
            reachable: vec![kernel],
            callees: HashMap::new(),
            offsets: HashMap::new(),
            variadic: 0,
            frames: HashMap::new(),
            shared: 0,
            module_local: 0,
        };
        let mut variables = Vec::new();
        // Functions whose address stands in an initialised variable can be called through it.
        for variable in &module.variables {
            for relocation in &variable.relocations {
                if let Symbol::Function(function) = relocation.target
                    && !is_entry(module, function)
                {
                    layout.reach(function);
                }
            }
        }
        let mut next = 0;
        while let Some(&function) = layout.reachable.get(next) {
            next += 1;
            let Some(body) = &module.functions[function.index()].body else { continue };
            let mut callees = Vec::new();
            symbols(body, |symbol| match symbol {
                // Who names an entry launches it.
                Symbol::Function(callee) if is_entry(module, callee) => {}
                Symbol::Function(callee) => {
                    layout.reach(callee);
                    callees.push(callee);
                }
                Symbol::Variable(variable) => variables.push(variable),
            });
            callees.sort_unstable();
            callees.dedup();
            layout.callees.insert(function, callees);
        }
        variables.sort_unstable();
        variables.dedup();
        layout.place_shared_and_local(module, &variables);
        layout.place_frames(module);
        layout
    }

    fn reach(&mut self, function: FuncId) {
        if !self.reachable.contains(&function) {
            self.reachable.push(function);
        }
    }

    fn place_shared_and_local(&mut self, module: &Module, used: &[VarId]) {
        let mut dynamic = Vec::new();
        for &id in used {
            let variable = &module.variables[id.index()];
            let at = match (variable.space, variable.function) {
                (StateSpace::Shared, _) if variable.unsized_array => {
                    dynamic.push(id);
                    continue;
                }
                (StateSpace::Shared, _) => place(&mut self.shared, variable),
                (StateSpace::Local, None) => place(&mut self.module_local, variable),
                _ => continue,
            };
            self.offsets.insert(id, at);
        }
        let align = dynamic.iter().map(|id| module.variables[id.index()].align.max(1)).max().unwrap_or(1);
        self.shared = self.shared.next_multiple_of(align);
        for id in dynamic {
            self.offsets.insert(id, self.shared);
        }
        self.module_local = self.module_local.next_multiple_of(16);
    }

    fn place_frames(&mut self, module: &Module) {
        let mut frames: HashMap<FuncId, u32> = HashMap::new();
        let parameters = module.variables.iter().filter(|v| v.space == StateSpace::ParamFunc);
        let largest = parameters.map(|v| v.size).max().unwrap_or(0);
        self.variadic = u32::try_from(largest).unwrap_or(FAR).min(FAR);
        for (index, variable) in module.variables.iter().enumerate() {
            let Some(function) = variable.function else { continue };
            if matches!(variable.space, StateSpace::Local | StateSpace::ParamFunc) {
                let frame = frames.entry(function).or_default();
                let at = place(frame, variable);
                if variable.unsized_array {
                    *frame = at.saturating_add(self.variadic).min(FAR);
                }
                self.offsets.insert(VarId(index as u32), at);
            }
        }
        for frame in frames.values_mut() {
            *frame = frame.next_multiple_of(16);
        }
        self.frames = frames;
    }

    /// Every function that the kernel can reach, itself first.
    pub(crate) fn reachable(&self) -> &[FuncId] {
        &self.reachable
    }

    /// The functions that a function names.
    pub(crate) fn callees(&self, function: FuncId) -> &[FuncId] {
        self.callees.get(&function).map_or(&[], Vec::as_slice)
    }

    /// Bytes of static shared memory.
    pub(crate) fn shared(&self) -> u32 {
        self.shared
    }

    /// Bytes of module-scope local memory.
    pub(crate) fn module_local(&self) -> u32 {
        self.module_local
    }

    /// Bytes of a function's frame.
    pub(crate) fn frame(&self, function: FuncId) -> u32 {
        self.frames.get(&function).copied().unwrap_or(0)
    }

    /// Bytes of a device function's parameter.
    pub(crate) fn parameter_bytes(&self, variable: &Variable) -> u32 {
        if variable.unsized_array { self.variadic } else { u32::try_from(variable.size).unwrap_or(FAR) }
    }

    /// Where a shared, local or device-function parameter variable lies.
    pub(crate) fn offset(&self, variable: VarId) -> Option<u32> {
        self.offsets.get(&variable).copied()
    }
}

/// The offset of an entry's parameter in its buffer.
pub(crate) fn entry_parameter(module: &Module, function: FuncId, variable: VarId) -> Option<u32> {
    let function = &module.functions[function.index()];
    let mut offset: u32 = 0;
    for param in &function.params {
        if let Param::Memory(id) = *param {
            let at = place(&mut offset, &module.variables[id.index()]);
            if id == variable {
                return Some(at);
            }
        }
    }
    None
}

/// Whether a function is an entry, and not a device function.
pub(crate) fn is_entry(module: &Module, function: FuncId) -> bool {
    module.functions[function.index()].kind == FunctionKind::Entry
}
