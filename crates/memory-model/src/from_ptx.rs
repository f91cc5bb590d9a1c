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
use ptx::module::{AddressBase, Body, Function, Module, Operand as Source, RegId, Symbol, VarId};
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
        let function =
            self.module.entries().map(|(_, function)| function).find(|function| function.name == entry);
        let function = function.ok_or_else(|| fail(format!("there is no entry `{entry}`")))?;
        let body = function.body.as_ref().ok_or_else(|| fail(format!("`{entry}` has no body")))?;
        let mut parameters = FxHashMap::default();
        let variables: Vec<VarId> = function
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
        let registers = body
            .registers
            .iter()
            .map(|register| self.module.text(register.name).to_owned())
            .collect::<Vec<_>>();
        let initial = vec![0; registers.len()];
        let thread = Thread { name: name.to_owned(), placement, registers, initial, ..Thread::default() };
        self.program.threads.push(thread);
        let mut lowering = Lowering {
            test: self,
            function,
            body,
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
    function: &'a Function,
    body: &'a Body,
    placement: Placement,
    parameters: FxHashMap<VarId, VarId>,
    addresses: Addresses,
    /// Registers that are written once, and with a constant.
    constants: FxHashMap<RegId, i64>,
    code: Vec<(Instruction, String)>,
    /// Where the code of each instruction of the module begins.
    places: Vec<usize>,
    /// How often each barrier has been used.
    barriers: FxHashMap<i64, u32>,
}

type Code = (Vec<Instruction>, Vec<String>);

impl Lowering<'_, '_> {
    fn run(&mut self) -> Result<Code, Problem> {
        let body = self.body;
        for instruction in &body.instructions {
            self.places.push(self.code.len());
            let words = self.test.module.opcode(instruction).text();
            let words: Vec<&str> = words.split('.').collect();
            let span = instruction.span;
            let source = self.test.source;
            let fail = |message: String| text::problem(source, span.start as usize, message);
            let text = source.get(span.start as usize..span.end as usize).unwrap_or_default();
            let text = text.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
            // Optional operands that were not written do not matter here.
            let operands: Vec<Source> = body
                .operands(instruction)
                .iter()
                .filter(|operand| **operand != Source::Absent)
                .copied()
                .collect();
            if words[0] == "bra" {
                let Some(Source::Label(label)) = operands.first() else {
                    return Err(fail("a branch needs a label".into()));
                };
                // A label for now; places are known at the end.
                let target = label.index();
                let jump = match instruction.guard {
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
            if let Some(guard) = instruction.guard {
                let comparison = if guard.negated { Comparison::Ne } else { Comparison::Eq };
                let a = Operand::Register(guard.register.index());
                let b = Operand::Constant(0);
                self.code.push((Instruction::Branch { comparison, a, b, target: usize::MAX }, text.clone()));
            }
            if matches!(words[0], "ret" | "exit") {
                self.code.push((Instruction::Jump(usize::MAX - 1), text));
            } else {
                let made = self.instruction(&words, &operands).map_err(fail)?;
                self.code.extend(made.into_iter().map(|made| (made, text.clone())));
                self.fold(&words, &operands, instruction.guard.is_some());
            }
            if instruction.guard.is_some() {
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

    fn instruction(&mut self, words: &[&str], operands: &[Source]) -> Result<Vec<Instruction>, String> {
        let has = |word: &str| words.contains(&word);
        let scope = if has("cta") {
            Some(Scope::Cta)
        } else if has("cluster") {
            Some(Scope::Cluster)
        } else if has("gpu") || has("gl") {
            Some(Scope::Gpu)
        } else if has("sys") {
            Some(Scope::Sys)
        } else {
            None
        };
        let order = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::Sc];
        let order = order.into_iter().find(|order| has(order.name()));
        let size = words.iter().rev().find_map(|word| width(word)).unwrap_or(4);
        match (words[0], operands) {
            ("ld", [_, Source::Address { base: AddressBase::Variable(parameter), offset: 0 }])
                if has("param") && self.parameters.contains_key(parameter) =>
            {
                let variable = self.parameters[parameter];
                self.hold(&operands[0], variable, 0)?;
                Ok(Vec::new())
            }
            ("ld", [to, from]) => {
                let access = self.access(from, size, words, order, scope)?;
                let destinations =
                    self.list(to).iter().map(|register| self.register(register)).collect::<Result<_, _>>()?;
                Ok(vec![Instruction::Load { destinations, access }])
            }
            ("st", [to, from]) => {
                let access = self.access(to, size, words, order, scope)?;
                let values =
                    self.list(from).iter().map(|value| self.value(value)).collect::<Result<_, _>>()?;
                Ok(vec![Instruction::Store { values, access }])
            }
            ("suld" | "sust" | "tex", _) => self.opaque(words, operands),
            ("atom" | "red", _) => self.atomic(words, operands, size, order, scope).map(|made| vec![made]),
            ("fence" | "membar", _) if has("proxy") => {
                let proxy = if has("alias") {
                    return Ok(vec![Instruction::AliasFence]);
                } else if has("async") {
                    Proxy::Async
                } else {
                    return Err("this proxy fence is not understood".into());
                };
                Ok(vec![Instruction::ProxyFence(proxy)])
            }
            ("fence", _) => {
                let scope = scope.ok_or("the fence has no scope")?;
                // A fence without an order is acq_rel.
                Ok(vec![Instruction::Fence { order: order.unwrap_or(Order::AcqRel), scope }])
            }
            ("membar", _) => {
                let scope = scope.ok_or("the fence has no scope")?;
                Ok(vec![Instruction::Fence { order: Order::Sc, scope }])
            }
            ("bar" | "barrier", _) => self.barrier(words, operands).map(|made| vec![made]),
            ("mov", [to, Source::SymbolAddress { symbol: Symbol::Variable(variable), offset }]) => {
                self.hold(to, *variable, *offset)?;
                Ok(Vec::new())
            }
            ("mov" | "cvt" | "cvta", [to, Source::Register(from)]) if self.addresses.contains_key(from) => {
                let (variable, offset) = self.addresses[from];
                self.hold(to, variable, offset)?;
                Ok(Vec::new())
            }
            ("add", [to, a, b]) if self.address(a, b).is_some() || self.address(b, a).is_some() => {
                let found = self.address(a, b).or_else(|| self.address(b, a));
                let ((variable, offset), by) = found.ok_or("the address is not known")?;
                self.hold(to, variable, offset.wrapping_add(by))?;
                Ok(Vec::new())
            }
            ("sub", [to, a, b]) if self.address(a, b).is_some() => {
                let ((variable, offset), by) = self.address(a, b).ok_or("the address is not known")?;
                self.hold(to, variable, offset.wrapping_sub(by))?;
                Ok(Vec::new())
            }
            ("mad" | "shl", [to, sources @ ..]) => match self.computed(words[0], sources) {
                Some(value) => {
                    self.set(to, Arithmetic::Second, Operand::Constant(0), &Source::Immediate(value as u64))
                }
                None => Err(format!("`{}` is understood of constants alone", words.join("."))),
            },
            ("mbarrier", _) => self.mbarrier(words, operands, order, scope),
            ("mov" | "cvt" | "cvta", [to, from]) => {
                self.set(to, Arithmetic::Second, Operand::Constant(0), from)
            }
            ("setp", [to, a, b]) => {
                let comparisons = [
                    ("eq", Comparison::Eq),
                    ("ne", Comparison::Ne),
                    ("lt", Comparison::Lt),
                    ("le", Comparison::Le),
                    ("gt", Comparison::Gt),
                    ("ge", Comparison::Ge),
                ];
                let found = comparisons.iter().find(|(name, _)| has(name)).map(|(_, comparison)| *comparison);
                let found = found.ok_or("this comparison is not understood")?;
                let a = self.value(a)?;
                self.set(to, Arithmetic::Compare(found), a, b)
            }
            ("add" | "sub" | "mul" | "div" | "and" | "or" | "xor" | "min" | "max", [to, a, b]) => {
                let operation = arithmetic(words[0]).ok_or("this arithmetic is not understood")?;
                let a = self.value(a)?;
                self.set(to, operation, a, b)
            }
            _ => Err(format!(
                "`{}` is not understood in litmus tests (entry `{}`)",
                words.join("."),
                self.function.name
            )),
        }
    }

    fn atomic(
        &mut self,
        words: &[&str],
        operands: &[Source],
        size: u32,
        order: Option<Order>,
        scope: Option<Scope>,
    ) -> Result<Instruction, String> {
        // Without an order an atomic is relaxed, without a scope of the device.
        let (order, scope) = (order.or(Some(Order::Relaxed)), scope.or(Some(Scope::Gpu)));
        let (destination, rest) = match (words[0], operands) {
            ("atom", [Source::Sink, rest @ ..]) => (None, rest),
            ("atom", [to, rest @ ..]) => (Some(self.register(to)?), rest),
            (_, rest) => (None, rest),
        };
        let operation = words.iter().find_map(|word| arithmetic(word));
        let (address, update) = match rest {
            [address, expected, new] if words.contains(&"cas") => {
                (address, Update::CompareAndSwap { expected: self.value(expected)?, new: self.value(new)? })
            }
            [address, value, ..] if words.contains(&"exch") => {
                (address, Update::Combine(Arithmetic::Second, self.value(value)?))
            }
            [address, value, ..] => (
                address,
                Update::Combine(
                    operation.ok_or("this atomic operation is not understood")?,
                    self.value(value)?,
                ),
            ),
            _ => return Err("this atomic operation is not understood".into()),
        };
        let access = self.access(address, size, words, order, scope)?;
        Ok(Instruction::Atomic { destination, update, access })
    }

    fn barrier(&mut self, words: &[&str], operands: &[Source]) -> Result<Instruction, String> {
        let cluster = words.contains(&"cluster");
        let scope = if cluster { Scope::Cluster } else { Scope::Cta };
        let part = if words.contains(&"arrive") {
            Part::Arrive
        } else if words.contains(&"wait") {
            Part::Wait
        } else if words.contains(&"sync") {
            Part::Sync
        } else {
            return Err("this barrier is not understood".into());
        };
        let constant = |operand: Option<&Source>| match operand {
            None => Ok(None),
            Some(Source::Immediate(value)) => Ok(Some(*value as i64)),
            Some(_) => Err("a barrier in a test needs constant operands".to_owned()),
        };
        let name = constant(operands.first())?.unwrap_or(0);
        let quorum = constant(operands.get(1))?;
        // Uses follow one another: the n-th use in each thread's text is one use. Arriving and waiting are halves of one.
        let uses = self.barriers.entry(if cluster { -1 } else { name }).or_default();
        let instance = *uses;
        if part != Part::Arrive || !cluster {
            *uses += 1;
        }
        let resource = Some(Operand::Constant(name));
        Ok(Instruction::Barrier { instance, part, scope, resource, quorum: quorum.map(Operand::Constant) })
    }

    fn access(
        &mut self,
        address: &Source,
        size: u32,
        words: &[&str],
        order: Option<Order>,
        scope: Option<Scope>,
    ) -> Result<Access, String> {
        let (variable, offset) = match *address {
            Source::Address { base: AddressBase::Variable(variable), offset } => (variable, offset),
            Source::Address { base: AddressBase::Register(register), offset } => {
                let (variable, start) = self
                    .addresses
                    .get(&register)
                    .ok_or("the address is not that of a variable plus a constant")?;
                (*variable, start.wrapping_add(offset))
            }
            _ => return Err("the address is not that of a variable plus a constant".into()),
        };
        let (bytes, proxy) = self.place(variable, offset, size)?;
        let (order, scope) = if words.contains(&"volatile") {
            (Order::Relaxed, Some(Scope::Sys))
        } else {
            (order.unwrap_or(Order::Weak), order.and(scope))
        };
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

    fn list(&self, operand: &Source) -> Vec<Source> {
        match operand {
            Source::Vector(list) => self.body.elements(list).to_vec(),
            other => vec![*other],
        }
    }

    fn register(&self, operand: &Source) -> Result<Register, String> {
        match operand {
            Source::Register(register) if !self.addresses.contains_key(register) => Ok(register.index()),
            _ => Err("a result must go to a register that holds no address".into()),
        }
    }

    fn value(&self, operand: &Source) -> Result<Operand, String> {
        match operand {
            Source::Register(register) if !self.addresses.contains_key(register) => {
                Ok(Operand::Register(register.index()))
            }
            Source::Immediate(value) => Ok(Operand::Constant(*value as i64)),
            _ => Err("a value must be a register that holds no address, or a number".into()),
        }
    }

    fn set(
        &self,
        to: &Source,
        operation: Arithmetic,
        a: Operand,
        b: &Source,
    ) -> Result<Vec<Instruction>, String> {
        Ok(vec![Instruction::Set { destination: self.register(to)?, operation, a, b: self.value(b)? }])
    }

    fn constant(&self, operand: &Source) -> Option<i64> {
        match operand {
            Source::Immediate(value) => Some(*value as i64),
            Source::Register(register) => self.constants.get(register).copied(),
            _ => None,
        }
    }

    /// A register's address and a constant.
    fn address(&self, base: &Source, by: &Source) -> Option<((VarId, i64), i64)> {
        let Source::Register(register) = base else { return None };
        Some((*self.addresses.get(register)?, self.constant(by)?))
    }

    /// What an instruction computes of constants.
    fn computed(&self, name: &str, sources: &[Source]) -> Option<i64> {
        let values: Vec<i64> = sources.iter().map(|source| self.constant(source)).collect::<Option<_>>()?;
        match (name, &values[..]) {
            ("mov" | "cvt", [value]) => Some(*value),
            ("mad", [a, b, c]) => Some(a.wrapping_mul(*b).wrapping_add(*c)),
            ("shl", [a, by]) => a.checked_shl(u32::try_from(*by).ok()?),
            ("add" | "sub" | "mul" | "and" | "or" | "xor", [a, b]) => Some(arithmetic(name)?.apply(*a, *b)),
            _ => None,
        }
    }

    /// Notes that a register is a constant, if this is where it is written.
    fn fold(&mut self, words: &[&str], operands: &[Source], guarded: bool) {
        let Some((Source::Register(to), sources)) = operands.split_first() else { return };
        let writes = |operand: &Source| match operand {
            Source::Register(register) => register == to,
            Source::Vector(list) => self.body.elements(list).contains(&Source::Register(*to)),
            _ => false,
        };
        let instructions = self.body.instructions.iter();
        let first = instructions.filter(|other| self.body.operands(other).first().is_some_and(writes));
        if !guarded
            && first.count() == 1
            && let Some(value) = self.computed(words[0], sources)
        {
            self.constants.insert(*to, value);
        }
    }

    /// Notes that a register holds an address, always the same.
    fn hold(&mut self, to: &Source, variable: VarId, offset: i64) -> Result<(), String> {
        let Source::Register(register) = to else { return Err("an address needs a register".into()) };
        match self.addresses.insert(*register, (variable, offset)) {
            Some(before) if before != (variable, offset) => {
                Err("a register holds two addresses in turn".into())
            }
            _ => Ok(()),
        }
    }
}

/// Targets from here on are places in the code already.
const BEHIND: usize = 1 << 32;

/// The bytes of a type.
fn width(word: &str) -> Option<u32> {
    let bits = word.strip_prefix(['b', 'u', 's', 'f'])?;
    matches!(bits, "8" | "16" | "32" | "64").then(|| bits.parse::<u32>().unwrap_or(32) / 8)
}

fn arithmetic(word: &str) -> Option<Arithmetic> {
    Some(match word {
        "add" => Arithmetic::Add,
        "sub" => Arithmetic::Sub,
        "mul" => Arithmetic::Mul,
        "div" => Arithmetic::Div,
        "and" => Arithmetic::And,
        "or" => Arithmetic::Or,
        "xor" => Arithmetic::Xor,
        "min" => Arithmetic::Min,
        "max" => Arithmetic::Max,
        _ => return None,
    })
}
