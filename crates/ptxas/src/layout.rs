//! Where a kernel's parameters and a module's variables lie.

use crate::Target;
use crate::codes;
use ptx::diagnostic::Diagnostic;
use ptx::module::{
    AddressBase, FuncId, Linkage, Module, Operand, Param, Relocation, Symbol, VarId, Variable,
};
use ptx::types::StateSpace;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Bytes of a constant bank.
const BANK: u64 = 0x10000;

/// A parameter of the kernel: where, how large, how aligned.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Bytes from the first parameter.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Bytes.
    pub align: u64,
}

/// A variable of a section.
#[derive(Debug)]
pub struct Placed {
    /// Which.
    pub id: VarId,
    /// Bytes from the section's begin.
    pub offset: u64,
}

/// Where everything lies that a kernel names.
#[derive(Debug, Default)]
pub struct Layout {
    /// The device.
    pub target: Target,
    /// The parameters in order.
    pub parameters: Vec<Parameter>,
    /// Bytes of shared memory.
    pub shared_bytes: u64,
    /// Bytes of constant memory.
    pub constant_bytes: u64,
    /// Whether there are variables in constant memory, and these.
    pub constants: Vec<Placed>,
    /// A linker says where variables in constant and shared memory are.
    pub relocatable: bool,
    /// What a linker or the driver places.
    symbols: HashMap<VarId, String>,
    places: HashMap<VarId, u64>,
}

impl Layout {
    /// Of one kernel in its module.
    ///
    /// # Errors
    /// What cannot be placed.
    pub fn new(
        module: &Module,
        kernel: FuncId,
        target: Target,
        relocatable: bool,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut layout = Self { target, relocatable, ..Self::default() };
        let mut errors = Vec::new();
        let mut end = 0_u64;
        for param in &module.functions[kernel.index()].params {
            let Param::Memory(id) = *param else { continue };
            let variable = &module.variables[id.index()];
            let align = u64::from(variable.align.max(1));
            let offset = cuasm::parameter_offset(target.sm(), end, align);
            layout.places.insert(id, offset);
            layout.parameters.push(Parameter { offset, size: variable.size, align });
            end = offset + variable.size;
        }
        let reached = reached(module, kernel);
        let mut constants = 0_u64;
        let mut open = Vec::new();
        for (index, variable) in module.variables.iter().enumerate() {
            let id = VarId(index as u32);
            let align = u64::from(variable.align.max(1));
            match variable.space {
                StateSpace::Shared if !reached.contains(&id) => {}
                StateSpace::Shared if variable.unsized_array => open.push((id, align)),
                StateSpace::Shared => {
                    let offset = layout.shared_bytes.next_multiple_of(align);
                    layout.places.insert(id, offset);
                    layout.shared_bytes = offset + variable.size;
                }
                StateSpace::Const => {
                    let offset = constants.next_multiple_of(align);
                    layout.places.insert(id, offset);
                    layout.constants.push(Placed { id, offset });
                    constants = offset + variable.size;
                }
                StateSpace::Global => {
                    layout.symbols.insert(id, symbol(variable, index));
                }
                _ => {}
            }
            if relocatable && matches!(variable.space, StateSpace::Const | StateSpace::Shared) {
                layout.symbols.insert(id, symbol(variable, index));
            }
            if matches!(variable.space, StateSpace::Const | StateSpace::Global) {
                errors.extend(refused(module, variable, relocatable));
            }
        }
        // What other modules have there is not known.
        layout.constant_bytes = if relocatable { BANK } else { constants };
        // What has no size of its own stands behind everything else, all at one place.
        let dynamic =
            open.iter().map(|(_, align)| layout.shared_bytes.next_multiple_of(*align)).max().unwrap_or(0);
        open.iter().for_each(|(id, _)| {
            layout.places.insert(*id, dynamic);
        });
        if constants > BANK {
            errors.push(Diagnostic::error(
                codes::RESOURCES,
                module.functions[kernel.index()].span,
                "more than 64 KiB of constants",
            ));
        }
        if errors.is_empty() { Ok(layout) } else { Err(errors) }
    }

    /// The offset of a parameter of the kernel.
    pub fn parameter(&self, id: VarId) -> Option<u64> {
        self.places.get(&id).copied()
    }

    /// The offset of a shared variable.
    pub fn shared(&self, id: VarId) -> Option<u64> {
        self.places.get(&id).copied()
    }

    /// The offset of a variable in constant bank 3.
    pub fn constant(&self, id: VarId) -> Option<u64> {
        self.places.get(&id).copied()
    }

    /// The symbol of a variable in global memory, and of one that a linker places.
    pub fn symbol(&self, id: VarId) -> Option<&str> {
        self.symbols.get(&id).map(String::as_str)
    }
}

/// The variables that a kernel and the functions that it can reach name; those of a function whose address is taken are among
/// them.
fn reached(module: &Module, kernel: FuncId) -> HashSet<VarId> {
    let mut variables = HashSet::default();
    let mut functions = HashSet::from_iter([kernel]);
    let mut pending = vec![kernel];
    // Who calls through a register can reach whatever has an address somewhere.
    for variable in &module.variables {
        for relocation in &variable.relocations {
            if let Symbol::Function(id) = relocation.target
                && functions.insert(id)
            {
                pending.push(id);
            }
        }
    }
    while let Some(id) = pending.pop() {
        let Some(body) = &module.functions[id.index()].body else { continue };
        let mut call = |id| {
            if functions.insert(id) {
                pending.push(id);
            }
        };
        for operand in &body.operands {
            match *operand {
                Operand::SymbolAddress { symbol: Symbol::Variable(id), .. }
                | Operand::Address { base: AddressBase::Variable(id), .. } => {
                    variables.insert(id);
                }
                Operand::SymbolAddress { symbol: Symbol::Function(id), .. } | Operand::Function(id) => {
                    call(id);
                }
                _ => {}
            }
        }
    }
    variables
}

/// A variable's symbol: names of blocks may be there twice.
fn symbol(variable: &Variable, index: usize) -> String {
    match variable.function {
        Some(_) => format!("{}${index}", variable.name),
        None => variable.name.clone(),
    }
}

/// Whether a relocation is of all of an address.
fn is_written(relocation: &Relocation) -> bool {
    matches!(relocation.bytes, 4 | 8) && relocation.shift.is_none()
}

fn refused(module: &Module, variable: &Variable, relocatable: bool) -> Option<Diagnostic> {
    let is_seen = |relocation: &Relocation| match relocation.target {
        Symbol::Function(id) => module.functions[id.index()].linkage != Linkage::Internal,
        Symbol::Variable(_) => false,
    };
    let what = if !variable.relocations.iter().all(is_written) {
        "whose initial value is a part of an address"
    } else if relocatable && variable.relocations.iter().any(is_seen) {
        "with the address of a function that other modules may call"
    } else if variable.linkage == Linkage::Extern && !relocatable {
        "that is defined elsewhere"
    } else if variable.managed {
        "that is managed"
    } else {
        return None;
    };
    let text = format!("the variable `{}`, {what}, is not compiled to a cubin yet", variable.name);
    Some(Diagnostic::error(codes::DECLARATION, variable.span, text))
}
