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

mod lowering;
mod mbarrier;
mod opaque;

pub(crate) use lowering::{Ordering, combination, ordering};

use crate::event::{Bytes, Placement, Proxy};
use crate::language::Version;
use crate::program::{Comparison, Location, Program, Term, Thread};
use crate::text::{self, Names, Problem, Tokens};
use ir::Function;
use lowering::{Lowering, writers};
use ptx::module::{Module, RegId, VarId};
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
