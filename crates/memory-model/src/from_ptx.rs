//! Litmus tests written as real PTX.
//!
//! The file is a module that compiles; comment directives say what is asked:
//!
//! ```text
//! //: litmus MP
//! //: thread P0 writer cta 0, gpu 0
//! //: thread P1 reader(x, flag) cta 1, cluster 0, gpu 0
//! //: exists (P1:%r1 == 1 /\ P1:%r2 != 1)
//! .version 7.5
//! ...
//! ```
//!
//! `//: alias s surface x` says that the variable `s`, of type `.surfref`, is the memory of `x` as a surface; `texture` and
//! `.texref` likewise; with `generic`, `s` is another address of it.
//!
//! A thread runs an entry; its parameters are the variables in parentheses. Variables of `.global` are shared by all
//! threads, those of `.shared` by the threads of a CTA, and those of `.const` are read through the constant proxy. What an
//! instruction does is taken from the module that [`ptx`] has checked. Addresses are those of a variable plus a constant,
//! which may be computed from constants. Understood are loads, stores, atomics and reductions, one-dimensional surface loads
//! and stores and texture fetches ([`opaque`]), fences, barriers, mbarriers ([`mbarrier`]), `mov`, integer arithmetic, `setp`
//! and branches.

mod mbarrier;
mod opaque;

use crate::event::{Bytes, Order, Part, Placement, Proxy, Scope};
use crate::language::Version;
use crate::program::{
    Access, Arithmetic, Comparison, Instruction, Location, Operand, Program, Register, Term, Thread, Update,
};
use crate::text::{self, Names, Problem, Tokens};
use ir::instruction::{AtomOp, MulIntMode, ProxyKind, SetIntCmp};
use ir::operand::{Address, Def, Value};
use ir::{Function, Op};
use ptx::isa::{self, Flow};
use ptx::module::{AddressBase, Module, RegId, Symbol, VarId};
use ptx::types::StateSpace;
use rustc_hash::FxHashMap;

/// The mark of a directive.
const MARK: &str = "//:";
/// The most bytes of a variable.
const MAX_VARIABLE: u64 = 1 << 16;
/// The most threads of a test.
const MAX_THREADS: usize = 64;

/// A test, and the version of PTX that its module asks for.
#[derive(Clone, Debug)]
pub struct FromPtx {
    /// The test.
    pub program: Program,
    /// The module's version.
    pub version: Version,
}

/// Makes a test of a checked module and the directives in its text.
pub fn parse(module: &Module) -> Result<FromPtx, Problem> {
    let source = module.source.text();
    let mut test = Test {
        module,
        program: empty(),
        variables: Vec::new(),
        aliases: FxHashMap::default(),
        phases: FxHashMap::default(),
        source,
    };
    let mut assertion = None;
    let mut offset = 0;
    for line in source.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let Some(directive) = line.trim_start().strip_prefix(MARK) else { continue };
        let at = start + line.len() - line.trim_start().len() + MARK.len();
        let (word, rest) = directive.trim().split_once(' ').unwrap_or((directive.trim(), ""));
        match word {
            "litmus" => test.program.name = rest.trim().to_owned(),
            "alias" => test.alias(at, rest)?,
            "thread" => test.thread(at, rest)?,
            "filter" | "exists" | "~exists" | "forall" => {
                if word != "filter" {
                    assertion = Some(directive.trim().to_owned());
                }
                let end = start + line.trim_end().len();
                test.condition(at, &source[..end], word == "filter")?;
            }
            _ => {
                return Err(text::problem(
                    source,
                    at,
                    format!("`{word}` is not a directive of litmus tests"),
                ));
            }
        }
    }
    let Some(assertion) = assertion else {
        return Err(text::problem(
            source,
            0,
            "there is no `//: exists`, `//: ~exists` or `//: forall`".into(),
        ));
    };
    test.program.assertion = assertion;
    let version = Version(module.version.major, module.version.minor);
    Ok(FromPtx { program: test.program, version })
}

fn empty() -> Program {
    Program {
        name: String::new(),
        threads: Vec::new(),
        locations: Vec::new(),
        objects: Vec::new(),
        filter: None,
        quantifier: crate::program::Quantifier::Exists,
        condition: crate::program::Condition::Compare(Comparison::Eq, Term::Constant(0), Term::Constant(0)),
        assertion: String::new(),
    }
}

struct Test<'a> {
    module: &'a Module,
    program: Program,
    /// The objects of variables, by CTA for shared ones.
    variables: Vec<(VarId, Option<Placement>, u32)>,
    /// Other names of variables, each with what it names and its proxy.
    aliases: FxHashMap<VarId, (VarId, Proxy)>,
    /// How many arrivals end a phase of an mbarrier.
    phases: FxHashMap<VarId, i64>,
    source: &'a str,
}

/// What a register is known to hold before a thread runs: an address.
type Addresses = FxHashMap<RegId, (VarId, i64)>;

impl Test<'_> {
    fn thread(&mut self, at: usize, rest: &str) -> Result<(), Problem> {
        let fail = |message: String| text::problem(self.source, at, message);
        let (name, rest) = rest
            .trim()
            .split_once(' ')
            .ok_or_else(|| fail("a thread is `NAME ENTRY cta N, gpu N`".into()))?;
        let rest = rest.trim();
        let end = rest.find(|c: char| c == '(' || c.is_whitespace()).unwrap_or(rest.len());
        let (entry, mut rest) = rest.split_at(end);
        let mut arguments = Vec::new();
        if let Some(list) = rest.trim_start().strip_prefix('(') {
            let (list, after) = list.split_once(')').ok_or_else(|| fail("`)` is missing".into()))?;
            arguments = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
            rest = after;
        }
        let mut placement = Placement::default();
        for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (level, number) =
                part.split_once(' ').ok_or_else(|| fail(format!("`{part}` is no place")))?;
            let number = number.trim().parse().map_err(|_| fail(format!("`{number}` is no number")))?;
            match level {
                "cta" => placement.cta = number,
                "cluster" => placement.cluster = number,
                "gpu" => placement.gpu = number,
                _ => return Err(fail(format!("`{level}` is not a level of the machine"))),
            }
        }
        if self.program.threads.len() >= MAX_THREADS
            || self.program.threads.iter().any(|thread| thread.name == name)
        {
            return Err(fail(format!("too many threads, or {name} twice")));
        }
        let found = self.module.entries().find(|(_, function)| function.name == entry);
        let (id, declaration) = found.ok_or_else(|| fail(format!("there is no entry `{entry}`")))?;
        let function =
            Function::lower(self.module, id).ok_or_else(|| fail(format!("`{entry}` has no body")))?;
        let mut parameters = FxHashMap::default();
        let variables: Vec<VarId> = declaration
            .params
            .iter()
            .filter_map(|param| match param {
                ptx::module::Param::Memory(variable) => Some(*variable),
                ptx::module::Param::Register(_) | ptx::module::Param::RegisterType(_) => None,
            })
            .collect();
        if arguments.len() != variables.len() {
            return Err(fail(format!("`{entry}` has {} parameters", variables.len())));
        }
        for (parameter, argument) in variables.into_iter().zip(arguments) {
            let known = self.module.variables.iter().position(|variable| variable.name == argument);
            let known = known.ok_or_else(|| fail(format!("there is no variable `{argument}`")))?;
            parameters.insert(parameter, VarId(known as u32));
        }
        let registers = function
            .body
            .registers
            .iter()
            .map(|register| self.module.text(register.name).to_owned())
            .collect::<Vec<_>>();
        let initial = vec![0; registers.len()];
        let thread = Thread { name: name.to_owned(), placement, registers, initial, ..Thread::default() };
        self.program.threads.push(thread);
        let mut lowering = Lowering {
            test: self,
            writers: writers(&function),
            function,
            placement,
            parameters,
            addresses: Addresses::default(),
            constants: FxHashMap::default(),
            code: Vec::new(),
            places: Vec::new(),
            barriers: FxHashMap::default(),
        };
        let (code, texts) = lowering.run()?;
        if let Some(thread) = self.program.threads.last_mut() {
            (thread.code, thread.texts) = (code, texts);
        }
        Ok(())
    }

    fn condition(&mut self, at: usize, upto: &str, filter: bool) -> Result<(), Problem> {
        let mut tokens = Tokens::new(upto, at)?;
        if filter {
            tokens.take();
            let condition = text::condition(&mut tokens, self)?;
            self.program.filter = Some(condition);
            return Ok(());
        }
        let quantifier = text::quantifier(&mut tokens).ok_or_else(|| tokens.unexpected("a quantifier"))?;
        self.program.quantifier = quantifier;
        self.program.condition = text::condition(&mut tokens, self)?;
        Ok(())
    }

    /// The bytes of a variable at its name's address, and the proxy of that name.
    fn named(
        &mut self,
        variable: VarId,
        placement: Placement,
        (start, len): (u32, u32),
    ) -> Result<(Bytes, Proxy), String> {
        let (of, proxy) = self.aliases.get(&variable).copied().unwrap_or((variable, Proxy::Generic));
        let object = self.object(of, placement)?;
        let constant = self.module.variables[of.index()].space == StateSpace::Const;
        let proxy = if constant { Proxy::Constant } else { proxy };
        // Other addresses have numbers that no object has.
        let other = of != variable && proxy == Proxy::Generic;
        let address = if other { u32::MAX / 2 + variable.index() as u32 } else { object };
        Ok((Bytes { object, address, start, len }, proxy))
    }

    /// The object of a variable, for a thread at a place.
    fn object(&mut self, variable: VarId, placement: Placement) -> Result<u32, String> {
        let of = &self.module.variables[variable.index()];
        let own = match of.space {
            StateSpace::Global | StateSpace::Const => None,
            StateSpace::Shared => Some(placement),
            _ => return Err(format!("`{}` is not in global, shared or constant memory", of.name)),
        };
        let found = self.variables.iter().find(|(known, place, _)| *known == variable && *place == own);
        if let Some((_, _, object)) = found {
            return Ok(*object);
        }
        if of.size > MAX_VARIABLE || of.size == 0 {
            return Err(format!("`{}` has {} bytes; a test has at most {MAX_VARIABLE}", of.name, of.size));
        }
        let object = self.program.objects.len() as u32;
        let mut bytes = of.init.clone();
        bytes.resize(of.size as usize, 0);
        self.program.objects.push(bytes);
        self.variables.push((variable, own, object));
        Ok(object)
    }
}

impl Names for Test<'_> {
    fn register(&mut self, thread: &str, register: &str) -> Option<Term> {
        let thread = self.program.threads.iter().position(|known| known.name == thread)?;
        let same = |name: &String| name.trim_start_matches('%') == register;
        let register = self.program.threads[thread].registers.iter().position(same)?;
        Some(Term::Register(thread, register))
    }

    fn location(&mut self, name: &str) -> Option<Term> {
        if let Some(known) = self.program.locations.iter().position(|location| location.name == name) {
            return Some(Term::Memory(known));
        }
        let variable = self.module.variables.iter().position(|variable| variable.name == name)?;
        let of = &self.module.variables[variable];
        let range = (0, of.ty.bytes().min(of.size as u32));
        let (bytes, _) = self.named(VarId(variable as u32), Placement::default(), range).ok()?;
        self.program.locations.push(Location { name: name.to_owned(), bytes });
        Some(Term::Memory(self.program.locations.len() - 1))
    }
}

struct Lowering<'t, 'a> {
    test: &'t mut Test<'a>,
    function: Function<'a>,
    placement: Placement,
    parameters: FxHashMap<VarId, VarId>,
    addresses: Addresses,
    /// Registers that are written once, and with a constant.
    constants: FxHashMap<RegId, i64>,
    /// How many instructions write each register.
    writers: Vec<u32>,
    code: Vec<(Instruction, String)>,
    /// Where the code of each instruction of the module begins.
    places: Vec<usize>,
    /// How often each barrier has been used.
    barriers: FxHashMap<i64, u32>,
}

type Code = (Vec<Instruction>, Vec<String>);

/// The order and scope of an access.
type Ordering = (Order, Option<Scope>);

impl Lowering<'_, '_> {
    fn run(&mut self) -> Result<Code, Problem> {
        let body = self.function.body;
        let typed = std::mem::take(&mut self.function.instructions);
        for (written, typed) in body.instructions.iter().zip(&typed) {
            self.places.push(self.code.len());
            let span = written.span;
            let source = self.test.source;
            let fail = |message: String| text::problem(source, span.start as usize, message);
            let text = source.get(span.start as usize..span.end as usize).unwrap_or_default();
            let text = text.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
            let typed = typed.as_ref().map_err(|reject| fail(reject.clone()))?;
            if let Op::Bra(bra) = &typed.op {
                // A label for now; places are known at the end.
                let target = bra.target.index();
                let jump = match typed.guard {
                    None => Instruction::Jump(target),
                    Some(guard) => Instruction::Branch {
                        comparison: if guard.negated { Comparison::Eq } else { Comparison::Ne },
                        a: Operand::Register(guard.register.index()),
                        b: Operand::Constant(0),
                        target,
                    },
                };
                self.code.push((jump, text));
                continue;
            }
            let skip = self.code.len();
            if let Some(guard) = typed.guard {
                let comparison = if guard.negated { Comparison::Ne } else { Comparison::Eq };
                let a = Operand::Register(guard.register.index());
                let b = Operand::Constant(0);
                self.code.push((Instruction::Branch { comparison, a, b, target: usize::MAX }, text.clone()));
            }
            match typed.op.effects().flow {
                Flow::Return | Flow::Exit => self.code.push((Instruction::Jump(usize::MAX - 1), text)),
                Flow::Next | Flow::Branch | Flow::Switch | Flow::Call | Flow::Trap => {
                    let made = self.instruction(&typed.op).map_err(fail)?.ok_or_else(|| {
                        let opcode = self.test.module.opcode(written).text();
                        let entry = &self.function.declaration.name;
                        fail(format!("`{opcode}` is not understood in litmus tests (entry `{entry}`)"))
                    })?;
                    self.code.extend(made.into_iter().map(|made| (made, text.clone())));
                    if typed.guard.is_none() {
                        self.fold(&typed.op);
                    }
                }
            }
            if typed.guard.is_some() {
                let behind = self.code.len();
                if let Instruction::Branch { target, .. } = &mut self.code[skip].0 {
                    // Marked, as labels are small numbers.
                    *target = BEHIND + behind;
                }
            }
        }
        let end = self.code.len();
        let place = |target: usize| match target {
            usize::MAX => end,
            _ if target == usize::MAX - 1 => end,
            _ if target >= BEHIND => target - BEHIND,
            label => {
                let at = body.labels.get(label).map_or(u32::MAX, |label| label.target) as usize;
                self.places.get(at).copied().unwrap_or(end)
            }
        };
        for (instruction, _) in &mut self.code {
            if let Instruction::Branch { target, .. } | Instruction::Jump(target) = instruction {
                *target = place(*target);
            }
        }
        Ok(std::mem::take(&mut self.code).into_iter().unzip())
    }

    /// What an instruction is in a test; `None` if it is not understood.
    fn instruction(&mut self, op: &Op) -> Result<Option<Vec<Instruction>>, String> {
        let one = |made: Instruction| Ok(Some(vec![made]));
        match op {
            Op::Ld(ld) => match (ld.a.base, ld.a.offset) {
                (AddressBase::Variable(parameter), 0) if self.parameters.contains_key(&parameter) => {
                    let [to] = ld.d[..] else { return Err("an address needs a register".into()) };
                    self.hold(to, self.parameters[&parameter], 0)
                }
                _ => {
                    let access = self.access(&ld.a, ld.ty.bytes(), ordering(ld.order, ld.scope))?;
                    one(Instruction::Load { destinations: self.registers(&ld.d)?, access })
                }
            },
            Op::St(st) => {
                let access = self.access(&st.a, st.ty.bytes(), ordering(st.order, st.scope))?;
                one(Instruction::Store { values: self.values(&st.b)?, access })
            }
            Op::Suld(suld) => self.load_surface(suld).map(Some),
            Op::Sust(sust) => self.store_surface(sust).map(Some),
            Op::Tex(tex) => self.fetch(tex).map(Some),
            Op::Atom(atom) => {
                let update = Update::Combine(combination(atom.op)?, self.value(&atom.b)?);
                let access = self.access(&atom.a, atom.ty.bytes(), ordering(atom.order, Some(atom.scope)))?;
                one(Instruction::Atomic { destination: self.destination(atom.d)?, update, access })
            }
            Op::AtomCas(cas) => {
                let update =
                    Update::CompareAndSwap { expected: self.value(&cas.b)?, new: self.value(&cas.c)? };
                let access = self.access(&cas.a, cas.ty.bytes(), ordering(cas.order, Some(cas.scope)))?;
                one(Instruction::Atomic { destination: self.destination(cas.d)?, update, access })
            }
            Op::Red(red) => {
                let update = Update::Combine(combination(red.op.into())?, self.value(&red.b)?);
                let access = self.access(&red.a, red.ty.bytes(), ordering(red.order, Some(red.scope)))?;
                one(Instruction::Atomic { destination: None, update, access })
            }
            Op::Fence(fence) => one(Instruction::Fence { order: fence.order.into(), scope: fence.scope }),
            Op::Membar(membar) => one(Instruction::Fence { order: Order::Sc, scope: membar.scope }),
            Op::FenceProxy(fence) => match fence.proxy_kind {
                ProxyKind::Alias => one(Instruction::AliasFence),
                ProxyKind::Async => one(Instruction::ProxyFence(Proxy::Async)),
                ProxyKind::AsyncGeneric | ProxyKind::TensormapGeneric => {
                    Err("this proxy fence is not understood".into())
                }
            },
            Op::BarSync(bar) => {
                self.barrier(Part::Sync, Scope::Cta, Some(&bar.a), bar.b.as_ref()).and_then(one)
            }
            Op::BarArrive(bar) => {
                self.barrier(Part::Arrive, Scope::Cta, Some(&bar.a), Some(&bar.b)).and_then(one)
            }
            Op::BarClusterArrive(_) => self.barrier(Part::Arrive, Scope::Cluster, None, None).and_then(one),
            Op::BarClusterWait(_) => self.barrier(Part::Wait, Scope::Cluster, None, None).and_then(one),
            Op::MbarrierInit(init) => self.initialise(init).map(Some),
            Op::MbarrierArrive(arrive) => self.arrive(arrive).map(Some),
            Op::MbarrierWait(wait) => self.wait(wait).map(Some),
            Op::Mov(mov) => self.copy(mov.d, &mov.a),
            Op::MovPred(mov) => self.copy(mov.d, &mov.a),
            Op::CvtInt(cvt) => self.copy(cvt.d, &cvt.a),
            Op::Cvta(cvta) => self.copy(cvta.d, &cvta.a),
            Op::AddInt(add) => match self.address(&add.a, &add.b).or_else(|| self.address(&add.b, &add.a)) {
                Some(((variable, offset), by)) => self.hold(add.d, variable, offset.wrapping_add(by)),
                None => self.set(add.d, Arithmetic::Add, &add.a, &add.b),
            },
            Op::SubInt(sub) => match self.address(&sub.a, &sub.b) {
                Some(((variable, offset), by)) => self.hold(sub.d, variable, offset.wrapping_sub(by)),
                None => self.set(sub.d, Arithmetic::Sub, &sub.a, &sub.b),
            },
            Op::MadInt(_) | Op::Shl(_) => match self.computed(op) {
                Some((to, value)) => {
                    let value = Value::Constant(value as u64);
                    self.set(to, Arithmetic::Second, &Value::Constant(0), &value)
                }
                None => Err(format!("`{}` is understood of constants alone", op.sem().text())),
            },
            Op::SetpInt(setp) => match (comparison(setp.cmp), &setp.q, &setp.c) {
                (Some(found), None, None) => self.set(setp.p, Arithmetic::Compare(found), &setp.a, &setp.b),
                _ => Err("this comparison is not understood".into()),
            },
            _ => match arithmetic(op) {
                Some((operation, to, a, b)) => self.set(to, operation, a, b),
                None => Ok(None),
            },
        }
    }

    fn barrier(
        &mut self,
        part: Part,
        scope: Scope,
        name: Option<&Value>,
        quorum: Option<&Value>,
    ) -> Result<Instruction, String> {
        let constant = |operand: Option<&Value>| match operand {
            None => Ok(None),
            Some(Value::Constant(value)) => Ok(Some(*value as i64)),
            Some(_) => Err("a barrier in a test needs constant operands".to_owned()),
        };
        let (name, quorum) = (constant(name)?.unwrap_or(0), constant(quorum)?);
        // Uses follow one another: the n-th use in each thread's text is one use. Arriving and waiting are halves of one.
        let cluster = scope == Scope::Cluster;
        let uses = self.barriers.entry(if cluster { -1 } else { name }).or_default();
        let instance = *uses;
        if part != Part::Arrive || !cluster {
            *uses += 1;
        }
        let resource = Some(Operand::Constant(name));
        Ok(Instruction::Barrier { instance, part, scope, resource, quorum: quorum.map(Operand::Constant) })
    }

    /// The variable that an address is in, and the offset.
    fn located(&self, address: &Address) -> Result<(VarId, i64), String> {
        let unknown = || "the address is not that of a variable plus a constant".to_owned();
        match address.base {
            AddressBase::Variable(variable) => Ok((variable, address.offset)),
            AddressBase::Register(register) => {
                let (variable, start) = self.addresses.get(&register).ok_or_else(unknown)?;
                Ok((*variable, start.wrapping_add(address.offset)))
            }
            AddressBase::Absolute => Err(unknown()),
        }
    }

    fn access(&mut self, address: &Address, size: u32, (order, scope): Ordering) -> Result<Access, String> {
        let (variable, offset) = self.located(address)?;
        let (bytes, proxy) = self.place(variable, offset, size)?;
        Ok(Access { bytes, proxy, order, scope })
    }

    /// The bytes of an access, which are a location of the test, and its proxy.
    fn place(&mut self, variable: VarId, offset: i64, size: u32) -> Result<(Bytes, Proxy), String> {
        let variables = &self.test.module.variables;
        let whole = self.test.aliases.get(&variable).map_or(variable, |(of, _)| *of);
        let (of, space) = (&variables[variable.index()], variables[whole.index()].size);
        let start = u32::try_from(offset).ok().filter(|start| u64::from(*start) + u64::from(size) <= space);
        let start = start.ok_or_else(|| format!("the access is outside of `{}`", of.name))?;
        let name = if start == 0 { of.name.clone() } else { format!("{}[{start}]", of.name) };
        let (bytes, proxy) = self.test.named(variable, self.placement, (start, size))?;
        let locations = &mut self.test.program.locations;
        if !locations.iter().any(|location| location.bytes == bytes || location.name == name) {
            locations.push(Location { name, bytes });
        }
        Ok((bytes, proxy))
    }

    fn register(&self, to: Def) -> Result<Register, String> {
        match to.0 {
            Some(register) if !self.addresses.contains_key(&register) => Ok(register.index()),
            _ => Err("a result must go to a register that holds no address".into()),
        }
    }

    fn registers(&self, all: &[Def]) -> Result<Vec<Register>, String> {
        all.iter().map(|to| self.register(*to)).collect()
    }

    /// Where the old value of an atomic operation goes.
    fn destination(&self, to: Def) -> Result<Option<Register>, String> {
        to.0.map(|_| self.register(to)).transpose()
    }

    fn value(&self, operand: &Value) -> Result<Operand, String> {
        match operand {
            Value::Register(register) if !self.addresses.contains_key(register) => {
                Ok(Operand::Register(register.index()))
            }
            Value::Constant(value) => Ok(Operand::Constant(*value as i64)),
            _ => Err("a value must be a register that holds no address, or a number".into()),
        }
    }

    fn values(&self, all: &[Value]) -> Result<Vec<Operand>, String> {
        all.iter().map(|value| self.value(value)).collect()
    }

    fn set(
        &self,
        to: Def,
        operation: Arithmetic,
        a: &Value,
        b: &Value,
    ) -> Result<Option<Vec<Instruction>>, String> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        Ok(Some(vec![Instruction::Set { destination: self.register(to)?, operation, a, b }]))
    }

    /// A copy of a value, or of an address.
    fn copy(&mut self, to: Def, from: &Value) -> Result<Option<Vec<Instruction>>, String> {
        let held = match from {
            Value::Symbol { symbol: Symbol::Variable(variable), offset } => Some((*variable, *offset)),
            Value::Register(register) => self.addresses.get(register).copied(),
            _ => None,
        };
        match held {
            Some((variable, offset)) => self.hold(to, variable, offset),
            None => self.set(to, Arithmetic::Second, &Value::Constant(0), from),
        }
    }

    fn constant(&self, operand: &Value) -> Option<i64> {
        match operand {
            Value::Constant(value) => Some(*value as i64),
            Value::Register(register) => self.constants.get(register).copied(),
            _ => None,
        }
    }

    /// A register's address and a constant.
    fn address(&self, base: &Value, by: &Value) -> Option<((VarId, i64), i64)> {
        let Value::Register(register) = base else { return None };
        Some((*self.addresses.get(register)?, self.constant(by)?))
    }

    /// What an instruction computes of constants, and where it goes.
    fn computed(&self, op: &Op) -> Option<(Def, i64)> {
        let known = |value: &Value| self.constant(value);
        match op {
            Op::Mov(mov) => Some((mov.d, known(&mov.a)?)),
            Op::CvtInt(cvt) => Some((cvt.d, known(&cvt.a)?)),
            Op::MadInt(mad) => {
                Some((mad.d, known(&mad.a)?.wrapping_mul(known(&mad.b)?).wrapping_add(known(&mad.c)?)))
            }
            Op::Shl(shl) => Some((shl.d, known(&shl.a)?.checked_shl(u32::try_from(known(&shl.b)?).ok()?)?)),
            _ => {
                let (operation, to, a, b) = arithmetic(op)?;
                Some((to, operation.apply(known(a)?, known(b)?)))
            }
        }
    }

    /// Notes that a register is a constant, if this is where it is written.
    fn fold(&mut self, op: &Op) {
        if let Some((Def(Some(to)), value)) = self.computed(op)
            && self.writers[to.index()] == 1
        {
            self.constants.insert(to, value);
        }
    }

    /// Notes that a register holds an address, always the same.
    fn hold(&mut self, to: Def, variable: VarId, offset: i64) -> Result<Option<Vec<Instruction>>, String> {
        let Some(register) = to.0 else { return Err("an address needs a register".into()) };
        match self.addresses.insert(register, (variable, offset)) {
            Some(before) if before != (variable, offset) => {
                Err("a register holds two addresses in turn".into())
            }
            _ => Ok(Some(Vec::new())),
        }
    }
}

/// Targets from here on are places in the code already.
const BEHIND: usize = 1 << 32;

/// How many instructions of a function write each register.
fn writers(function: &Function<'_>) -> Vec<u32> {
    let mut writers = vec![0; function.body.registers.len()];
    for index in 0..function.instructions.len() as u32 {
        function.registers(index, &mut |register, access| {
            writers[register.index()] += u32::from(access != ir::Access::Read);
        });
    }
    writers
}

/// The order and scope of an access: a weak one has no scope, and a volatile one is relaxed for the whole system.
fn ordering(order: isa::Order, scope: Option<Scope>) -> Ordering {
    match order {
        isa::Order::Weak => (Order::Weak, None),
        isa::Order::Volatile => (Order::Relaxed, Some(Scope::Sys)),
        order => (order.into(), scope),
    }
}

fn comparison(cmp: SetIntCmp) -> Option<Comparison> {
    match cmp {
        SetIntCmp::Eq => Some(Comparison::Eq),
        SetIntCmp::Ne => Some(Comparison::Ne),
        SetIntCmp::Lt => Some(Comparison::Lt),
        SetIntCmp::Le => Some(Comparison::Le),
        SetIntCmp::Gt => Some(Comparison::Gt),
        SetIntCmp::Ge => Some(Comparison::Ge),
        SetIntCmp::Lo | SetIntCmp::Ls | SetIntCmp::Hi | SetIntCmp::Hs => None,
    }
}

/// The arithmetic of a plain operation, its destination and its sources.
fn arithmetic(op: &Op) -> Option<(Arithmetic, Def, &Value, &Value)> {
    Some(match op {
        Op::AddInt(add) => (Arithmetic::Add, add.d, &add.a, &add.b),
        Op::SubInt(sub) => (Arithmetic::Sub, sub.d, &sub.a, &sub.b),
        Op::MulInt(mul) if mul.mode != MulIntMode::Hi => (Arithmetic::Mul, mul.d, &mul.a, &mul.b),
        Op::DivInt(div) => (Arithmetic::Div, div.d, &div.a, &div.b),
        Op::And(and) => (Arithmetic::And, and.d, &and.a, &and.b),
        Op::Or(or) => (Arithmetic::Or, or.d, &or.a, &or.b),
        Op::Xor(xor) => (Arithmetic::Xor, xor.d, &xor.a, &xor.b),
        Op::MinInt(min) => (Arithmetic::Min, min.d, &min.a, &min.b),
        Op::MaxInt(max) => (Arithmetic::Max, max.d, &max.a, &max.b),
        _ => return None,
    })
}

/// How an atomic operation combines what is there with its operand.
fn combination(op: AtomOp) -> Result<Arithmetic, String> {
    match op {
        AtomOp::Add => Ok(Arithmetic::Add),
        AtomOp::And => Ok(Arithmetic::And),
        AtomOp::Or => Ok(Arithmetic::Or),
        AtomOp::Xor => Ok(Arithmetic::Xor),
        AtomOp::Min => Ok(Arithmetic::Min),
        AtomOp::Max => Ok(Arithmetic::Max),
        AtomOp::Exch => Ok(Arithmetic::Second),
        AtomOp::Inc | AtomOp::Dec => Err("this atomic operation is not understood".into()),
    }
}
