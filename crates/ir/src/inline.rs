//! Calls in place: kernels with the code of the functions that they call.
//!
//! What a function reads of its caller's parameters, and all that the analyses know of values, ends at a call. So engines
//! are given a module whose kernels contain what they call: the same functions, variables and handles, but in the bodies of
//! kernels the callees' code stands where they were called, with registers, labels and local variables of its own, and
//! parameters are registers. An instruction keeps its place in the source, by which [`written`] finds it again.
//!
//! A call stays a call if nobody knows its callee, if it is within a function that calls itself, if the callee takes memory
//! from the stack (`alloca`) or any number of arguments, or if the kernel would become too large.

mod parameters;
mod splice;

use ptx::ast::Names;
use ptx::isa::{Opcode, Sem, lookup};
use ptx::module::{
    AddressBase, Body, FuncId, FunctionKind, Instruction, Module, OpcodeId, Operand, Param, Symbol, VarId,
    Variable,
};
use ptx::source::Span;
use ptx::types::StateSpace;
use splice::{Draft, Match};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Instructions beyond which no callee's code is added to a function.
const LARGEST: usize = 8192;

/// Instructions that are added to all functions of a module together.
const ADDED: usize = 1 << 18;

/// Bytes of local variables that callees add to a function.
const LOCAL_BYTES: u64 = 16 << 10;

/// Calls within calls.
const DEEPEST: usize = 64;

/// The module with the code of callees in its kernels; `None` if they call nothing of which there is code.
pub fn inline(module: &Module) -> Option<Module> {
    let is_called = |(id, _): &(FuncId, _)| calls(module, *id).next().is_some();
    let kernels: Vec<FuncId> = module.entries().filter(is_called).map(|(id, _)| id).collect();
    if kernels.is_empty() {
        return None;
    }
    let mut inliner = Inliner {
        module,
        parts: Parts::new(module),
        whole: HashMap::new(),
        refused: HashMap::new(),
        path: Vec::new(),
        added: 0,
    };
    let mut bodies: Vec<(FuncId, Body)> = Vec::new();
    for kernel in kernels {
        if let Some(body) = inliner.whole(kernel) {
            let body = Rc::unwrap_or_clone(body);
            bodies.push((kernel, parameters::to_registers(body, kernel, &mut inliner.parts)));
        }
    }
    (!bodies.is_empty()).then(|| inliner.parts.module(module, bodies))
}

/// Where the instruction of a span was written: the function, and its place in the body.
pub fn written(module: &Module, span: Span) -> Option<(FuncId, u32)> {
    (0..).map(FuncId).zip(&module.functions).find_map(|(id, function)| {
        let instructions = &function.body.as_ref()?.instructions;
        let at = instructions.binary_search_by_key(&span.start, |instruction| instruction.span.start).ok()?;
        Some((id, at as u32))
    })
}

/// The calls by name of a function of which there is code.
fn calls(module: &Module, caller: FuncId) -> impl Iterator<Item = FuncId> {
    let body = module.functions[caller.index()].body.iter();
    body.flat_map(move |body| {
        body.instructions.iter().filter_map(move |instruction| callee(module, body, instruction))
    })
}

/// The function of which there is code, if an instruction calls one by its name.
fn callee(module: &Module, body: &Body, instruction: &Instruction) -> Option<FuncId> {
    if module.opcode(instruction).sem() != Some(Sem::Call) {
        return None;
    }
    let called = body.operands(instruction).iter().find_map(|operand| match *operand {
        Operand::Function(function) => Some(function),
        _ => None,
    })?;
    let function = &module.functions[called.index()];
    (function.kind == FunctionKind::Func && function.body.is_some()).then_some(called)
}

/// Visits the operands of an instruction, and those within them.
fn each_operand(body: &Body, operands: &[Operand], visit: &mut dyn FnMut(Operand)) {
    for &operand in operands {
        visit(operand);
        if let Operand::Vector(list) = operand {
            each_operand(body, body.elements(&list), visit);
        }
    }
}

/// The variable that an operand names.
fn variable_of(operand: Operand) -> Option<VarId> {
    match operand {
        Operand::SymbolAddress { symbol: Symbol::Variable(id), .. }
        | Operand::Address { base: AddressBase::Variable(id), .. } => Some(id),
        _ => None,
    }
}

/// What a module is made of beside bodies, while there are additions to it.
struct Parts {
    names: Names,
    variables: Vec<Variable>,
    opcodes: Vec<Opcode>,
    known: HashMap<String, OpcodeId>,
    /// How many variables the module had.
    given: usize,
}

impl Parts {
    fn new(module: &Module) -> Self {
        Self {
            names: module.names.clone(),
            variables: module.variables.clone(),
            opcodes: module.opcodes.clone(),
            known: HashMap::new(),
            given: module.variables.len(),
        }
    }

    /// The opcode of a text that does `sem`.
    fn opcode(&mut self, text: &str, sem: Sem) -> OpcodeId {
        if let Some(&id) = self.known.get(text) {
            return id;
        }
        let forms = lookup(text).unwrap_or_default();
        let form = forms.into_iter().find(|opcode| opcode.sem() == Some(sem)).expect("a form of the table");
        let id = OpcodeId(self.opcodes.len() as u32);
        self.opcodes.push(form);
        self.known.insert(text.to_owned(), id);
        id
    }

    /// The module with other bodies, and those of the new variables that they name.
    fn module(mut self, module: &Module, bodies: Vec<(FuncId, Body)>) -> Module {
        let added = self.variables.split_off(self.given);
        let mut kept: HashMap<VarId, VarId> = HashMap::new();
        let mut functions = module.functions.clone();
        for (kernel, mut body) in bodies {
            for operand in &mut body.operands {
                let (Operand::SymbolAddress { symbol: Symbol::Variable(id), .. }
                | Operand::Address { base: AddressBase::Variable(id), .. }) = operand
                else {
                    continue;
                };
                if let Some(variable) = id.index().checked_sub(self.given) {
                    *id = *kept.entry(*id).or_insert_with(|| {
                        self.variables.push(added[variable].clone());
                        VarId(self.variables.len() as u32 - 1)
                    });
                }
            }
            functions[kernel.index()].body = Some(body);
        }
        Module {
            names: self.names,
            variables: self.variables,
            opcodes: self.opcodes,
            functions,
            source: module.source.clone(),
            version: module.version,
            arch: module.arch,
            address_size: module.address_size,
            files: module.files.clone(),
            aliases: module.aliases.clone(),
        }
    }
}

/// Puts callees in place, each in the form in which its own are.
struct Inliner<'a> {
    module: &'a Module,
    parts: Parts,
    /// Functions with the code of their callees; `None` for those that stay as they are.
    whole: HashMap<FuncId, Option<Rc<Body>>>,
    /// Whether a function's own code keeps it from being put in place.
    refused: HashMap<FuncId, bool>,
    /// Functions whose callees are being put in place, from the outermost.
    path: Vec<FuncId>,
    /// Instructions that were added to functions.
    added: usize,
}

impl<'a> Inliner<'a> {
    /// A function with the code of its callees; `None` if it stays as it is.
    fn whole(&mut self, id: FuncId) -> Option<Rc<Body>> {
        if let Some(known) = self.whole.get(&id) {
            return known.clone();
        }
        let module = self.module;
        let source = module.functions[id.index()].body.as_ref()?;
        if self.path.len() >= DEEPEST || calls(module, id).next().is_none() {
            return None;
        }
        self.path.push(id);
        let mut draft = Draft::new(source);
        let mut local_bytes = 0;
        for instruction in &source.instructions {
            draft.begin_instruction();
            let placed = callee(module, source, instruction)
                .is_some_and(|callee| self.place(&mut draft, id, callee, instruction, &mut local_bytes));
            if !placed {
                draft.keep(instruction);
            }
        }
        self.path.pop();
        let body = draft.finish().map(Rc::new);
        self.whole.insert(id, body.clone());
        body
    }

    /// Puts a callee in the place of a call, if it can.
    fn place(
        &mut self,
        draft: &mut Draft<'a>,
        caller: FuncId,
        callee: FuncId,
        call: &Instruction,
        local_bytes: &mut u64,
    ) -> bool {
        let function = &self.module.functions[callee.index()];
        if self.path.contains(&callee) || self.is_refused(callee) {
            return false;
        }
        let Some(given) = Match::new(draft.body(), call, function, &self.parts.variables) else {
            return false;
        };
        let whole = self.whole(callee);
        let Some(code) = whole.as_deref().or(function.body.as_ref()) else { return false };
        let own = self.own_variables(code, callee, &given);
        let new = own.iter().filter(|id| !draft.has(**id));
        let bytes: u64 = new.map(|id| self.parts.variables[id.index()].size).sum();
        let size = code.instructions.len();
        let fits = draft.body().instructions.len() + size <= LARGEST
            && self.added + size <= ADDED
            && *local_bytes + bytes <= LOCAL_BYTES;
        if fits {
            self.added += size;
            *local_bytes += bytes;
            draft.splice(code, &given, call, (caller, &function.name), &own, &mut self.parts);
        }
        fits
    }

    /// The local variables of a function that its code names, and the parameters of its calls.
    fn own_variables(&self, code: &Body, callee: FuncId, given: &Match) -> Vec<VarId> {
        let is_own = |id: &VarId| {
            let variable = &self.parts.variables[id.index()];
            let on_stack = matches!(variable.space, StateSpace::Local | StateSpace::ParamFunc);
            variable.function == Some(callee) && on_stack && given.variable(*id).is_none()
        };
        let mut own: Vec<VarId> =
            code.operands.iter().filter_map(|&o| variable_of(o)).filter(is_own).collect();
        own.sort_unstable();
        own.dedup();
        own
    }

    /// Whether a function's own code keeps it from being put in place.
    fn is_refused(&mut self, id: FuncId) -> bool {
        let module = self.module;
        *self.refused.entry(id).or_insert_with(|| {
            let function = &module.functions[id.index()];
            let Some(body) = &function.body else { return true };
            let inputs: HashSet<VarId> = function
                .params
                .iter()
                .filter_map(|param| match *param {
                    Param::Memory(id) => Some(id),
                    Param::Register(_) | Param::RegisterType(_) => None,
                })
                .collect();
            let is_open = |id: &VarId| module.variables[id.index()].unsized_array;
            inputs.iter().any(is_open)
                || body.instructions.iter().any(|instruction| {
                    let sem = module.opcode(instruction).sem();
                    let takes_stack = matches!(sem, Some(Sem::Alloca | Sem::Stacksave | Sem::Stackrestore));
                    // Parameters are the caller's variables then, which stay as they are.
                    let mut changes = false;
                    if sem != Some(Sem::Ld) {
                        each_operand(body, body.operands(instruction), &mut |operand| {
                            changes |= variable_of(operand).is_some_and(|id| inputs.contains(&id));
                        });
                    }
                    takes_stack || changes
                })
        })
    }
}
