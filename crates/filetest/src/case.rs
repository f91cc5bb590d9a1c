//! A case: one launch with its inputs and everything that is expected of it.

use super::directive::{Directive, Program};
use super::tensor::{MapDirective, TensorMapPlan};
use super::texture::Object;
use super::value::{Type, Values};
use machine::{Asynchrony, Profile, SchedulerKind};

/// Warp instructions that a case may issue unless it says `budget=`; far more than any test needs.
const BUDGET: u64 = 20_000_000;

/// The most elements of one array.
const LONGEST: usize = 1 << 20;

/// One launch.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where its `run` stands.
    pub line: u32,
    /// The kernel's name.
    pub kernel: String,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Whether it may be larger than on every device.
    pub nonportable_cluster: bool,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Warp instructions that it may issue.
    pub budget: u64,
    /// The device.
    pub profile: Profile,
    /// Schedulers besides those of every case.
    pub schedulers: Vec<SchedulerKind>,
    /// Kernel parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Objects to be bound to module variables.
    pub bindings: Vec<(String, Object)>,
    /// Module variables to be written before the launch.
    pub presets: Vec<(String, Values)>,
    /// What memory must hold afterwards.
    pub expected: Vec<Expected>,
    /// What must have been printed.
    pub printed: Option<Printed>,
    /// How it must end.
    pub end: End,
    /// Times of asynchronous operations at which something of that must not come: a planted mistake.
    pub mistaken: Vec<Asynchrony>,
}

/// A kernel parameter.
#[derive(Clone, Debug)]
pub enum Parameter {
    /// The bytes themselves.
    Value(Vec<u8>),
    /// The address of a buffer.
    Buffer {
        /// What `out` calls it.
        name: String,
        /// What it holds at first.
        bytes: Vec<u8>,
        /// Whether it is freed before the launch.
        freed: bool,
        /// Whether its address is a kernel parameter; otherwise only tensor maps lead to it.
        passed: bool,
    },
    /// A tensor map.
    TensorMap {
        /// What `out` calls it.
        name: String,
        /// The parameter whose buffer holds the tensor.
        buffer: usize,
        /// The map.
        plan: TensorMapPlan,
        /// Whether the parameter is the address of the map, not the map itself.
        in_memory: bool,
    },
    /// The address of a multicast object.
    Multicast {
        /// The parameters whose buffers are its members.
        members: Vec<usize>,
        /// Bytes of each.
        bytes: u64,
    },
    /// The handle of a texture or surface.
    Object(Object),
}

/// Expected contents of memory.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Where the directive stands.
    pub line: u32,
    /// What.
    pub place: OutputBuffer,
    /// Its elements.
    pub values: Values,
    /// How far off they may be.
    pub tolerance: Tolerance,
    /// Whether the file says `?`: a GPU is to give the values.
    pub is_open: bool,
}

/// What `out` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputBuffer {
    /// The buffer of the parameter with this index.
    Parameter(usize),
    /// A module variable.
    Variable(String),
}

/// How far a result may be from what is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Not at all: the same bits.
    Exact,
    /// By a difference.
    Absolute(f64),
    /// By a difference in proportion to the expected value.
    Relative(f64),
}

/// Expected output of `vprintf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Printed {
    /// Exactly this.
    Text(String),
    /// These lines, in any order.
    Lines(Vec<String>),
}

/// How a case ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All threads exit.
    Finished,
    /// A fault.
    Fault(Fault),
    /// Decoding stops at an instruction; the text is part of the message.
    Unsupported(String),
    /// The launch is refused; the text is part of the message.
    Refused(String),
    /// The module is refused; the text is part of the message.
    NotLoaded(String),
}

/// What is expected of a fault; what is `None` may be anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Fault {
    pub name: String,
    pub block: Option<[u32; 3]>,
    pub thread: Option<[u32; 3]>,
    pub line: Option<u32>,
    /// Part of the message.
    pub text: Option<String>,
}

/// The cases of a program.
///
/// # Errors
/// If a directive is not understood, with its line.
pub fn parse(program: &Program) -> Result<Vec<Case>, String> {
    let mut parser = Parser {
        program,
        profile: Profile::default(),
        schedulers: Vec::new(),
        cases: Vec::new(),
        names: Vec::new(),
    };
    for directive in &program.directives {
        parser
            .directive(directive)
            .map_err(|why| format!("{}:{}: {}: {why}", program.name, directive.line, directive.name))?;
    }
    match parser.cases.is_empty() {
        true => Err(format!("{}: no `run`", program.name)),
        false => Ok(parser.cases),
    }
}

struct Parser<'a> {
    program: &'a Program,
    profile: Profile,
    schedulers: Vec<SchedulerKind>,
    cases: Vec<Case>,
    /// Names of the current case's parameters.
    names: Vec<String>,
}

impl Parser<'_> {
    fn case(&mut self) -> Result<&mut Case, String> {
        self.cases.last_mut().ok_or_else(|| "no `run` before it".to_owned())
    }

    fn directive(&mut self, directive: &Directive) -> Result<(), String> {
        let text = directive.text.as_str();
        match directive.name.as_str() {
            "run" => self.run(directive),
            "device" => {
                let profile = Profile::by_name(text).cloned().ok_or_else(|| format!("no device `{text}`"))?;
                match self.cases.last_mut() {
                    Some(case) => case.profile = profile,
                    None => self.profile = profile,
                }
                Ok(())
            }
            "scheduler" => {
                let kinds = schedulers(text)?;
                match self.cases.last_mut() {
                    Some(case) => case.schedulers.extend(kinds),
                    None => self.schedulers.extend(kinds),
                }
                Ok(())
            }
            "arg" => {
                let (name, values) = array(text)?;
                self.parameter(name, Parameter::Value(values.bytes()))
            }
            "in" => self.input(text, false, true),
            "freed" => self.input(text, true, true),
            "buffer" => self.input(text, false, false),
            "map" => self.map(text),
            "multicast" => self.multicast(text),
            "texture" => self.object(text, true),
            "surface" => self.object(text, false),
            "out" => self.output(directive),
            "tolerance" => {
                let tolerance = tolerance(text)?;
                let expected = self.case()?.expected.last_mut().ok_or("no `out` before it")?;
                expected.tolerance = tolerance;
                Ok(())
            }
            "printf" => {
                let text = unquote(text)?;
                match &mut self.case()?.printed {
                    printed @ None => *printed = Some(Printed::Text(text)),
                    Some(Printed::Text(before)) => before.push_str(&text),
                    Some(Printed::Lines(_)) => return Err("both `printf` and `printf-line`".to_owned()),
                }
                Ok(())
            }
            "printf-line" => {
                let line = unquote(text)?;
                match &mut self.case()?.printed {
                    printed @ None => *printed = Some(Printed::Lines(vec![line])),
                    Some(Printed::Lines(lines)) => lines.push(line),
                    Some(Printed::Text(_)) => return Err("both `printf` and `printf-line`".to_owned()),
                }
                Ok(())
            }
            "mistaken" => {
                let times: Result<Vec<_>, String> = text.split_whitespace().map(str::parse).collect();
                self.case()?.mistaken = times?;
                Ok(())
            }
            // For people, and for the page of what is recorded; for the tests of the sanitizer.
            "recorded" | "report" | "may" => Ok(()),
            "fault" => {
                let fault = self.fault(text)?;
                self.end(End::Fault(fault))
            }
            "unsupported" => {
                let text = unquote(text)?;
                self.end(End::Unsupported(text))
            }
            "refused" => {
                let text = unquote(text)?;
                self.end(End::Refused(text))
            }
            "not-loaded" => {
                let text = unquote(text)?;
                self.end(End::NotLoaded(text))
            }
            _ => Err("no such directive".to_owned()),
        }
    }

    fn run(&mut self, directive: &Directive) -> Result<(), String> {
        let mut words = directive.text.split_whitespace();
        let kernel = words.next().ok_or("no kernel")?.to_owned();
        let mut case = Case {
            line: directive.line,
            kernel,
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: None,
            nonportable_cluster: false,
            shared: 0,
            budget: BUDGET,
            profile: self.profile.clone(),
            schedulers: self.schedulers.clone(),
            parameters: Vec::new(),
            bindings: Vec::new(),
            presets: Vec::new(),
            expected: Vec::new(),
            printed: None,
            end: End::Finished,
            mistaken: Vec::new(),
        };
        for word in words {
            if word == "nonportable" {
                case.nonportable_cluster = true;
                continue;
            }
            let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not KEY=VALUE"))?;
            let wrong = |_| format!("`{value}` is not a number");
            match key {
                "grid" => case.grid = extents(value, 1)?,
                "block" => case.block = extents(value, 1)?,
                "cluster" => case.cluster = Some(extents(value, 1)?),
                "shared" => case.shared = value.parse().map_err(wrong)?,
                "budget" => case.budget = value.parse().map_err(wrong)?,
                _ => return Err(format!("no such setting: {key}")),
            }
        }
        self.names.clear();
        self.cases.push(case);
        Ok(())
    }

    fn parameter(&mut self, name: String, parameter: Parameter) -> Result<(), String> {
        if self.names.contains(&name) {
            return Err(format!("a second parameter {name}"));
        }
        self.case()?.parameters.push(parameter);
        self.names.push(name);
        Ok(())
    }

    fn input(&mut self, text: &str, freed: bool, passed: bool) -> Result<(), String> {
        let (name, values) = array(text)?;
        if let Some(variable) = name.strip_prefix('&') {
            self.case()?.presets.push((variable.to_owned(), values));
            return Ok(());
        }
        self.parameter(name.clone(), Parameter::Buffer { name, bytes: values.bytes(), freed, passed })
    }

    /// The parameter whose buffer is called `name`.
    fn buffer(&self, name: &str) -> Result<usize, String> {
        let index = self.names.iter().position(|known| known == name);
        let parameters = self.cases.last().map_or(&[][..], |case| &case.parameters);
        let buffer = index.filter(|&i| matches!(parameters.get(i), Some(Parameter::Buffer { .. })));
        buffer.ok_or_else(|| format!("no buffer {name} before it"))
    }

    fn map(&mut self, text: &str) -> Result<(), String> {
        let MapDirective { name, buffer, in_memory, plan } = MapDirective::parse(text)?;
        let buffer = self.buffer(&buffer)?;
        self.parameter(name.clone(), Parameter::TensorMap { name, buffer, plan, in_memory })
    }

    /// `NAME BYTES of BUFFER,BUFFER...`
    fn multicast(&mut self, text: &str) -> Result<(), String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [name, bytes, "of", members] = words[..] else {
            return Err("not `NAME BYTES of BUFFER,BUFFER`".to_owned());
        };
        let bytes = bytes.parse().map_err(|_| format!("`{bytes}` is not a number"))?;
        let members = members.split(',').map(|member| self.buffer(member)).collect::<Result<_, _>>()?;
        self.parameter(name.to_owned(), Parameter::Multicast { members, bytes })
    }

    fn object(&mut self, text: &str, is_texture: bool) -> Result<(), String> {
        let (name, object) = Object::parse(text, is_texture)?;
        if let Some(variable) = name.strip_prefix('&') {
            self.case()?.bindings.push((variable.to_owned(), object));
            return Ok(());
        }
        self.parameter(name, Parameter::Object(object))
    }

    fn output(&mut self, directive: &Directive) -> Result<(), String> {
        let is_open = directive.text.trim_end().ends_with("= ?");
        let text = if is_open { directive.text.trim_end().trim_end_matches("= ?") } else { &directive.text };
        let (name, mut values) = array(text)?;
        if is_open {
            values.bits.fill(None);
        }
        let place = match (name.strip_prefix('&'), self.names.iter().position(|known| *known == name)) {
            (Some(variable), _) => OutputBuffer::Variable(variable.to_owned()),
            (None, Some(index)) => OutputBuffer::Parameter(index),
            (None, None) => {
                let bytes = vec![0; values.bits.len() * values.ty.bytes];
                self.parameter(name.clone(), Parameter::Buffer { name, bytes, freed: false, passed: true })?;
                OutputBuffer::Parameter(self.names.len() - 1)
            }
        };
        let expected = Expected { line: directive.line, place, values, tolerance: Tolerance::Exact, is_open };
        self.case()?.expected.push(expected);
        Ok(())
    }

    fn end(&mut self, end: End) -> Result<(), String> {
        let case = self.case()?;
        if case.end != End::Finished {
            return Err("a second end".to_owned());
        }
        case.end = end;
        Ok(())
    }

    fn fault(&self, text: &str) -> Result<Fault, String> {
        let (words, message) = match text.split_once('"') {
            Some((words, _)) => (words, Some(unquote(&text[words.len()..])?)),
            None => (text, None),
        };
        let mut words = words.split_whitespace();
        let name = words.next().ok_or("no name of a fault")?.to_owned();
        let mut fault = Fault { name, text: message, ..Fault::default() };
        for word in words {
            match word.split_once('=').ok_or_else(|| format!("`{word}` is not KEY=VALUE"))? {
                ("block", at) => fault.block = Some(extents(at, 0)?),
                ("thread", at) => fault.thread = Some(extents(at, 0)?),
                ("at", mark) => {
                    let line = self.program.marked_line(mark);
                    fault.line = Some(line.ok_or_else(|| format!("no line ends with `// <- {mark}`"))?);
                }
                (key, _) => return Err(format!("no such property of a fault: {key}")),
            }
        }
        Ok(fault)
    }
}

/// `NAME TYPE[COUNT] = VALUES`; without `= VALUES` zeros, without `[COUNT]` one.
fn array(text: &str) -> Result<(String, Values), String> {
    let (head, list) = text.split_once('=').unwrap_or((text, "0"));
    let zeros = !text.contains('=');
    let (name, ty) = head.trim().split_once(char::is_whitespace).ok_or("not `NAME TYPE = VALUES`")?;
    let (ty, count) = match ty.trim().split_once('[') {
        Some((ty, count)) => {
            let count = count.trim_end_matches(']').parse::<usize>();
            (ty, count.ok().filter(|&n| n <= LONGEST).ok_or("not a count of elements")?)
        }
        None => (ty.trim(), 1),
    };
    let ty = Type::from_name(ty).ok_or_else(|| format!("no type `{ty}`"))?;
    let values = match zeros {
        true => Values { ty, bits: vec![Some(0); count] },
        false => Values::parse(ty, count, list)?,
    };
    Ok((name.to_owned(), values))
}

fn extents(text: &str, missing: u32) -> Result<[u32; 3], String> {
    let mut all = [missing; 3];
    for (i, part) in text.split(',').enumerate() {
        let place = all.get_mut(i).ok_or("more than three dimensions")?;
        *place = part.parse().map_err(|_| format!("`{part}` is not a number"))?;
    }
    Ok(all)
}

/// Names of schedulers; `random:1..20` names 20 of them.
fn schedulers(text: &str) -> Result<Vec<SchedulerKind>, String> {
    let mut kinds = Vec::new();
    for word in text.split_whitespace() {
        let range = word.strip_prefix("random:").and_then(|seeds| seeds.split_once(".."));
        let Some((first, last)) = range else {
            kinds.push(word.parse()?);
            continue;
        };
        let seed = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is not a seed"));
        kinds.extend((seed(first)?..=seed(last)?).map(|seed| SchedulerKind::Random { seed }));
    }
    Ok(kinds)
}

fn tolerance(text: &str) -> Result<Tolerance, String> {
    let wrong = || format!("`{text}` is not abs=NUMBER or rel=NUMBER");
    let (kind, number) = text.split_once('=').ok_or_else(wrong)?;
    let number = number.trim().parse().map_err(|_| wrong())?;
    match kind.trim() {
        "abs" => Ok(Tolerance::Absolute(number)),
        "rel" => Ok(Tolerance::Relative(number)),
        _ => Err(wrong()),
    }
}

/// A text in double quotes, with `\n`, `\"` and `\\`.
fn unquote(text: &str) -> Result<String, String> {
    let inner = text.trim().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let mut plain = String::new();
    let mut rest = inner.ok_or("a text stands in double quotes")?.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(c @ ('"' | '\\')) => c,
                other => return Err(format!("`\\{}` is not an escape", other.unwrap_or(' '))),
            },
            c => c,
        });
    }
    Ok(plain)
}
