//! A function's body with the code of others in it.

use super::Parts;
use ptx::isa::Sem;
use ptx::module::{
    AddressBase, Body, FuncId, Function, Guard, Instruction, Label, LabelId, Operand, OperandList, Param,
    PrototypeId, RegId, Symbol, Table, TableId, VarId, Variable,
};
use ptx::types::{ScalarType, StateSpace};
use std::collections::HashMap;

/// What a call gives a function and takes from it.
pub(super) struct Match {
    /// The caller's variables that parameters are.
    variables: HashMap<VarId, VarId>,
    /// Parameters in registers, and what they are given.
    arguments: Vec<(RegId, Operand, Copy)>,
    /// Results in registers, and which registers take them.
    results: Vec<(RegId, RegId, Copy)>,
}

/// The instruction that copies a register, and what it does.
type Copy = (&'static str, Sem);

impl Match {
    /// What a call in `caller` says; `None` if that is more than the names of variables and registers of the same size.
    pub(super) fn new(
        caller: &Body,
        call: &Instruction,
        function: &Function,
        variables: &[Variable],
    ) -> Option<Self> {
        let code = function.body.as_ref()?;
        let list = |index: usize| match caller.operands(call).get(index) {
            Some(Operand::Vector(list)) => caller.elements(list),
            Some(Operand::Absent | Operand::Sink) | None => &[],
            Some(alone) => std::slice::from_ref(alone),
        };
        let (results, arguments) = (list(0), list(2));
        if results.len() != function.returns.len() || arguments.len() != function.params.len() {
            return None;
        }
        let mut matched = Self { variables: HashMap::new(), arguments: Vec::new(), results: Vec::new() };
        let type_of = |register: RegId| code.registers[register.index()].ty;
        let bits_of = |register: RegId| caller.registers[register.index()].ty.bits();
        for (param, &given) in function.params.iter().zip(arguments) {
            match (*param, given) {
                (Param::Memory(formal), given) => matched.join(formal, given, variables)?,
                (Param::Register(formal), Operand::Register(register))
                    if bits_of(register) == type_of(formal).bits() =>
                {
                    matched.arguments.push((formal, given, copy(type_of(formal))?));
                }
                (Param::Register(formal), Operand::Immediate(_)) if type_of(formal) != ScalarType::Pred => {
                    matched.arguments.push((formal, given, copy(type_of(formal))?));
                }
                _ => return None,
            }
        }
        for (result, &taken) in function.returns.iter().zip(results) {
            match (*result, taken) {
                (Param::Memory(formal), taken) => matched.join(formal, taken, variables)?,
                (Param::Register(formal), Operand::Register(register))
                    if bits_of(register) == type_of(formal).bits() =>
                {
                    matched.results.push((formal, register, copy(type_of(formal))?));
                }
                _ => return None,
            }
        }
        Some(matched)
    }

    /// A parameter in memory is a variable of the caller's: of that size, and no other parameter's.
    fn join(&mut self, formal: VarId, given: Operand, variables: &[Variable]) -> Option<()> {
        let Operand::SymbolAddress { symbol: Symbol::Variable(id), offset: 0 } = given else { return None };
        let (of, to) = (&variables[formal.index()], &variables[id.index()]);
        let fits = to.space == StateSpace::ParamFunc && to.size == of.size && to.align >= of.align;
        let is_other = self.variables.values().all(|other| *other != id);
        if !(fits && is_other) {
            return None;
        }
        self.variables.insert(formal, id);
        Some(())
    }

    /// The caller's variable that a parameter is.
    pub(super) fn variable(&self, formal: VarId) -> Option<VarId> {
        self.variables.get(&formal).copied()
    }
}

/// How a register of a type is copied.
pub(super) fn copy(ty: ScalarType) -> Option<Copy> {
    Some(match ty.bits() {
        1 => ("mov.pred", Sem::MovPred),
        16 => ("mov.b16", Sem::Mov),
        32 => ("mov.b32", Sem::Mov),
        64 => ("mov.b64", Sem::Mov),
        128 => ("mov.b128", Sem::Mov),
        _ => return None,
    })
}

/// A body that grows instruction by instruction. What stands in the body that it began as has other places in it.
pub(super) struct Draft<'a> {
    source: &'a Body,
    body: Body,
    /// Where the instructions of the source have gone.
    places: Vec<u32>,
    /// The local variables of callees, and which are theirs here: at most one call of a thread's is under way, so all calls of
    /// a function have the same.
    locals: HashMap<VarId, VarId>,
    /// Places without unrolling of what was added.
    nounroll: Vec<u32>,
    /// Whether anything was added.
    has_grown: bool,
}

impl<'a> Draft<'a> {
    /// A body whose instructions are to be given one by one.
    pub(super) fn new(source: &'a Body) -> Self {
        let body = Body { instructions: Vec::with_capacity(source.instructions.len()), ..source.clone() };
        Self {
            source,
            body,
            places: Vec::new(),
            locals: HashMap::new(),
            nounroll: Vec::new(),
            has_grown: false,
        }
    }

    /// Whether a callee's variable is known from another of its calls.
    pub(super) fn has(&self, variable: VarId) -> bool {
        self.locals.contains_key(&variable)
    }

    /// What there is so far.
    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    fn next(&self) -> u32 {
        self.body.instructions.len() as u32
    }

    /// The next instruction of the source begins.
    pub(super) fn begin_instruction(&mut self) {
        self.places.push(self.next());
    }

    /// It stays as it is.
    pub(super) fn keep(&mut self, instruction: &Instruction) {
        self.body.instructions.push(instruction.clone());
    }

    /// One instruction in its place, with its guard and these operands.
    pub(super) fn put(&mut self, like: &Instruction, opcode: ptx::module::OpcodeId, operands: &[Operand]) {
        let operands = self.append(operands.iter().copied());
        self.body.instructions.push(Instruction { opcode, operands, ..like.clone() });
        self.has_grown = true;
    }

    fn append(&mut self, operands: impl Iterator<Item = Operand>) -> OperandList {
        let start = self.body.operands.len() as u32;
        self.body.operands.extend(operands);
        OperandList { start, end: self.body.operands.len() as u32 }
    }

    /// A register more.
    pub(super) fn register(&mut self, register: ptx::module::Register) -> RegId {
        self.body.registers.push(register);
        RegId(self.body.registers.len() as u32 - 1)
    }

    /// Puts a function's code in the place of a call.
    pub(super) fn splice(
        &mut self,
        code: &Body,
        given: &Match,
        call: &Instruction,
        (caller, name): (FuncId, &str),
        own: &[VarId],
        parts: &mut Parts,
    ) {
        self.has_grown = true;
        let mut variables: HashMap<VarId, VarId> = HashMap::new();
        for &id in own {
            let known = self.locals.get(&id).copied();
            let here = known.unwrap_or_else(|| {
                let variable = Variable { function: Some(caller), ..parts.variables[id.index()].clone() };
                parts.variables.push(variable);
                VarId(parts.variables.len() as u32 - 1)
            });
            variables.insert(id, here);
            // Parameters are to be registers, each with a value of its own.
            if parts.variables[id.index()].space == StateSpace::Local {
                self.locals.insert(id, here);
            }
        }
        let shift = Shift {
            registers: self.body.registers.len() as u32,
            labels: self.body.labels.len() as u32,
            tables: self.body.tables.len() as u32,
            prototypes: self.body.prototypes.len() as u32,
            operands: self.body.operands.len() as u32,
            locs: self.body.locs.len() as u32,
        };
        let variable = |id: VarId| given.variable(id).or(variables.get(&id).copied()).unwrap_or(id);
        self.body.registers.extend_from_slice(&code.registers);
        self.body.prototypes.extend_from_slice(&code.prototypes);
        self.body.locs.extend_from_slice(&code.locs);
        self.body.tables.extend(code.tables.iter().map(|table| match table {
            Table::Branch(labels) => Table::Branch(labels.iter().map(|&label| shift.label(label)).collect()),
            Table::Call(functions) => Table::Call(functions.clone()),
        }));
        self.body.operands.extend(code.operands.iter().map(|&operand| shift.operand(operand, &variable)));
        self.body.labels.extend_from_slice(&code.labels);
        // Where the function returns to, and where the call ends.
        let name = parts.names.intern(name);
        let end = Label { name, target: 0 };
        self.body.labels.extend([end.clone(), end]);
        let back = LabelId(self.body.labels.len() as u32 - 2);
        let behind = LabelId(back.0 + 1);

        let plain = Instruction { guard: None, ..call.clone() };
        if let Some(guard) = call.guard {
            let around = Guard { negated: !guard.negated, ..guard };
            let skip = Instruction { guard: Some(around), ..call.clone() };
            self.put(&skip, parts.opcode("bra", Sem::Bra), &[Operand::Label(behind)]);
        }
        for &(formal, from, (text, sem)) in &given.arguments {
            let to = Operand::Register(shift.register(formal));
            self.put(&plain, parts.opcode(text, sem), &[to, from]);
        }
        let mut places = Vec::with_capacity(code.instructions.len() + 1);
        let last = code.instructions.len().wrapping_sub(1);
        for (at, instruction) in code.instructions.iter().enumerate() {
            places.push(self.next());
            let moved = shift.instruction(instruction);
            if parts.opcodes[instruction.opcode.index()].sem() != Some(Sem::Ret) {
                self.body.instructions.push(moved);
            } else if at != last || instruction.guard.is_some() {
                let uniform = parts.opcodes[instruction.opcode.index()].has(ptx::isa::Modifier::Uni);
                let text = if uniform { "bra.uni" } else { "bra" };
                self.put(&moved, parts.opcode(text, Sem::Bra), &[Operand::Label(back)]);
            }
        }
        places.push(self.next());
        for label in &mut self.body.labels[shift.labels as usize..back.index()] {
            label.target = places[label.target as usize];
        }
        self.nounroll.extend(code.nounroll.iter().map(|&at| places[at as usize]));
        self.body.labels[back.index()].target = self.next();
        for &(formal, to, (text, sem)) in &given.results {
            let from = Operand::Register(shift.register(formal));
            self.put(&plain, parts.opcode(text, sem), &[Operand::Register(to), from]);
        }
        self.body.labels[behind.index()].target = self.next();
        self.forget(call.operands);
    }

    /// Nothing names these operands any more.
    pub(super) fn forget(&mut self, list: OperandList) {
        for at in std::ops::Range::from(list) {
            if let Operand::Vector(inner) = std::mem::replace(&mut self.body.operands[at], Operand::Absent) {
                self.forget(inner);
            }
        }
    }

    /// The body, if it is another one than the source.
    pub(super) fn finish(mut self) -> Option<Body> {
        self.places.push(self.next());
        let places = &self.places;
        for label in &mut self.body.labels[..self.source.labels.len()] {
            label.target = places[label.target as usize];
        }
        let own = self.source.nounroll.iter().map(|&at| places[at as usize]);
        self.nounroll.extend(own);
        self.nounroll.sort_unstable();
        self.body.nounroll = self.nounroll;
        self.has_grown.then_some(self.body)
    }
}

/// By how much the handles of a body grow where it is put into another.
struct Shift {
    registers: u32,
    labels: u32,
    tables: u32,
    prototypes: u32,
    operands: u32,
    locs: u32,
}

impl Shift {
    fn register(&self, register: RegId) -> RegId {
        RegId(register.0 + self.registers)
    }

    fn label(&self, label: LabelId) -> LabelId {
        LabelId(label.0 + self.labels)
    }

    fn list(&self, list: OperandList) -> OperandList {
        OperandList { start: list.start + self.operands, end: list.end + self.operands }
    }

    fn instruction(&self, instruction: &Instruction) -> Instruction {
        let guard = |guard: Guard| Guard { register: self.register(guard.register), ..guard };
        Instruction {
            guard: instruction.guard.map(guard),
            opcode: instruction.opcode,
            operands: self.list(instruction.operands),
            span: instruction.span,
            loc: instruction.loc.map(|loc| loc + self.locs),
        }
    }

    fn operand(&self, operand: Operand, variable: &dyn Fn(VarId) -> VarId) -> Operand {
        match operand {
            Operand::Register(register) => Operand::Register(self.register(register)),
            Operand::NotPredicate(register) => Operand::NotPredicate(self.register(register)),
            Operand::Part { register, selector, negated } => {
                Operand::Part { register: self.register(register), selector, negated }
            }
            Operand::Address { base: AddressBase::Register(register), offset } => {
                Operand::Address { base: AddressBase::Register(self.register(register)), offset }
            }
            Operand::Address { base: AddressBase::Variable(id), offset } => {
                Operand::Address { base: AddressBase::Variable(variable(id)), offset }
            }
            Operand::SymbolAddress { symbol: Symbol::Variable(id), offset } => {
                Operand::SymbolAddress { symbol: Symbol::Variable(variable(id)), offset }
            }
            Operand::Vector(list) => Operand::Vector(self.list(list)),
            Operand::Label(label) => Operand::Label(self.label(label)),
            Operand::Prototype(prototype) => Operand::Prototype(PrototypeId(prototype.0 + self.prototypes)),
            Operand::Table(table) => Operand::Table(TableId(table.0 + self.tables)),
            Operand::Absent
            | Operand::Sink
            | Operand::Immediate(_)
            | Operand::Special { .. }
            | Operand::SymbolAddress { symbol: Symbol::Function(_), .. }
            | Operand::Address { base: AddressBase::Absolute, .. }
            | Operand::Function(_) => operand,
        }
    }
}
