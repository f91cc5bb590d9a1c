//! A litmus test as a PTX kernel that runs many instances of it at once, for real hardware.
//!
//! Every thread of the grid has a slot in a table: which thread of the test it plays, and in which instance. The table
//! decides where the threads of an instance run, so that one kernel serves every placement. A thread plays its part in a
//! number of steps, each in another instance with memory of its own; before a part it waits for a random time and may
//! touch the neighbours of its memory, which brings them into the cache. Threads without a part make memory traffic, or
//! nothing. What else a thread does only adds events, and that only forbids more: an instance may do no more than the test
//! alone, so what the model forbids must not be seen.
//!
//! A second kernel counts how the instances ended, once the first has. Values are below [`VALUES`].

use crate::event::{Order, Part, Proxy, Scope};
use crate::program::{Access, Arithmetic, Instruction, Operand, Program, Term, Update};
use std::fmt::{self, Write as _};

/// Values that are told apart, from zero; a greater one has a counter of its own behind all others.
pub const VALUES: u32 = 8;

/// Bits of a value.
const DIGIT: u32 = VALUES.ilog2();

/// The most memory locations of a test.
pub const MAX_LOCATIONS: usize = 4;

/// The most threads of a test.
pub const MAX_THREADS: usize = 4;

/// The most values that say how an instance ended: the counters fill a megabyte.
pub const MAX_TERMS: usize = 6;

/// The slot of a thread that does nothing.
pub const IDLE: u32 = 6;

/// The slot of a thread that makes memory traffic.
pub const STRESS: u32 = 7;

/// Words of the memory that is for traffic alone; as many words lie behind it as there are threads.
pub const STRESS_WORDS: u64 = 1 << 20;

/// The slot of a thread that plays a thread of the test in an instance.
pub fn slot(thread: usize, instance: u32) -> u32 {
    instance << 3 | thread as u32
}

/// What a kernel is launched with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The table of slots, a word for each thread of the grid.
    pub table: u64,
    /// Memory: for each location an array of double words, one an instance.
    pub memory: u64,
    /// Results: for each register an array likewise.
    pub results: u64,
    /// The memory for traffic.
    pub stress: u64,
    /// Instances of a step.
    pub instances: u32,
    /// The logarithm of how many instances an array is for.
    pub bits: u32,
    /// Steps.
    pub steps: u32,
    /// Where the random numbers begin.
    pub seed: u32,
    /// The longest wait before a part: a power of two less one.
    pub delay: u32,
    /// How often a thread without a part accesses memory.
    pub traffic: u32,
    /// How far apart the cells of neighbouring instances are, for each location: odd.
    pub spread: [u32; MAX_LOCATIONS],
    /// Which of the steps touch neighbouring memory: a mask for random bits, 0 for none.
    pub touch: u32,
}

/// What the counting kernel is launched with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// As in [`Arguments`].
    pub memory: u64,
    /// As in [`Arguments`].
    pub results: u64,
    /// The counters, words.
    pub counters: u64,
    /// All instances.
    pub instances: u32,
    /// As in [`Arguments`].
    pub bits: u32,
    /// As in [`Arguments`].
    pub spread: [u32; MAX_LOCATIONS],
}

impl Arguments {
    /// The parameter buffer.
    pub fn bytes(&self) -> Vec<u8> {
        let words = [self.instances, self.bits, self.steps, self.seed, self.delay, self.traffic];
        let words = words.iter().chain(&self.spread).chain([&self.touch]);
        buffer([self.table, self.memory, self.results, self.stress], words)
    }
}

impl Count {
    /// The parameter buffer.
    pub fn bytes(&self) -> Vec<u8> {
        let words = [self.instances, self.bits];
        buffer([self.memory, self.results, self.counters], words.iter().chain(&self.spread))
    }
}

fn buffer<'a>(addresses: impl IntoIterator<Item = u64>, words: impl Iterator<Item = &'a u32>) -> Vec<u8> {
    let addresses = addresses.into_iter().flat_map(u64::to_le_bytes);
    addresses.chain(words.flat_map(|word| word.to_le_bytes())).collect()
}

/// The values that say how an instance ended: every observed register, then every location.
///
/// Registers `r8` and above are not observed: what an atomic returns that is there for its write, say.
pub fn terms(program: &Program) -> Vec<Term> {
    let observed =
        |name: &str| name.strip_prefix('r').and_then(|n| n.parse().ok()).is_some_and(|n: u32| n < 8);
    let registers = program.threads.iter().enumerate().flat_map(|(thread, of)| {
        let names = of.registers.iter().enumerate();
        names.filter(|(_, name)| observed(name)).map(move |(index, _)| Term::Register(thread, index))
    });
    registers.chain((0..program.locations.len()).map(Term::Memory)).collect()
}

/// How many counters a test has.
pub fn counters(terms: &[Term]) -> usize {
    (1 << (DIGIT * terms.len() as u32)) + 1
}

/// The values of the terms that a counter is for; none for the last, which counts values that are too great.
pub fn values(terms: &[Term], counter: usize) -> Option<Vec<i64>> {
    let last = counters(terms) - 1;
    let digit = |place: usize| {
        (counter >> (DIGIT as usize * (terms.len() - 1 - place))) as i64 & i64::from(VALUES - 1)
    };
    (counter < last).then(|| (0..terms.len()).map(digit).collect())
}

/// What a test has that a kernel cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a module of kernels begins with.
pub const HEADER: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// The kernel of a test.
///
/// # Errors
/// If the test has something that does not run so, such as another proxy or two names for a location.
pub fn entry(program: &Program, name: &str) -> Result<String, Unsupported> {
    let no = |what: &str| Err(Unsupported(what.to_owned()));
    if program.threads.len() > MAX_THREADS || program.locations.len() > MAX_LOCATIONS {
        return no("too many threads or locations");
    }
    let plain = |(index, location): (usize, &crate::program::Location)| {
        location.bytes.object == index as u32 && location.bytes.len == 8
    };
    if !program.locations.iter().enumerate().all(plain)
        || program.objects.iter().flatten().any(|byte| *byte != 0)
    {
        return no("memory with two names, or another first value than zero");
    }
    let terms = terms(program);
    if terms.len() > MAX_TERMS {
        return no("too many registers and locations");
    }
    let mut out = format!(".visible .entry {name}(");
    for address in ["table", "memory", "results", "stress"] {
        let _ = write!(out, ".param .u64 {address}, ");
    }
    for word in
        ["instances", "bits", "steps", "seed", "delay", "traffic", "spread0", "spread1", "spread2", "spread3"]
    {
        let _ = write!(out, ".param .u32 {word}, ");
    }
    out.push_str(".param .u32 touch)\n{\n");
    out.push_str(BEGIN);
    for location in 0..program.locations.len() {
        let _ = writeln!(
            out,
            "    ld.param.u32 %w, [spread{location}];\n    mul.lo.u32 %w, %w, %index;\n    and.b32 %w, %w, %mask;\n    \
             mad.lo.u32 %w, %cells, {location}, %w;\n    mul.wide.u32 %offset, %w, 8;\n    \
             ld.param.u64 %base, [memory];\n    add.u64 %x{location}, %base, %offset;"
        );
    }
    out.push_str(WAIT);
    for location in 0..program.locations.len() {
        let _ = writeln!(
            out,
            "    xor.b64 %base, %x{location}, 8;\n    ld.global.u64 %offset, [%base];\n    cvt.u32.u64 %w, %offset;\n    \
             add.u32 %noise, %noise, %w;"
        );
    }
    out.push_str("PLAY:\n");
    for thread in 1..program.threads.len() {
        let _ = writeln!(out, "    setp.eq.u32 %p, %part, {thread};\n    @%p bra THREAD{thread};");
    }
    for thread in 0..program.threads.len() {
        part(program, &terms, thread, &mut out)?;
    }
    out.push_str(END);
    Ok(out)
}

const BEGIN: &str = "    .reg .pred %p;
    .reg .b32 %w, %cta, %size, %thread, %slot, %part, %instance, %step, %steps, %index, %cells, %mask, %random, %noise, %count;
    .reg .b64 %base, %offset, %x<4>;
    mov.u32 %cta, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %thread, %cta, %size, %thread;
    mul.wide.u32 %offset, %thread, 4;
    ld.param.u64 %base, [table];
    add.u64 %base, %base, %offset;
    ld.global.u32 %slot, [%base];
    and.b32 %part, %slot, 7;
    shr.u32 %instance, %slot, 3;
    mov.u32 %noise, %thread;
    ld.param.u32 %w, [bits];
    mov.u32 %cells, 1;
    shl.b32 %cells, %cells, %w;
    sub.u32 %mask, %cells, 1;
    ld.param.u32 %random, [seed];
    setp.eq.u32 %p, %part, 7;
    @%p bra TRAFFIC;
    setp.gt.u32 %p, %part, 3;
    @%p bra DONE;
    ld.param.u32 %steps, [steps];
    mov.u32 %step, 0;
STEP:
    ld.param.u32 %w, [instances];
    mad.lo.u32 %index, %step, %w, %instance;
";

/// Waits as long as the warp's random number says, then touches the neighbours of each location, or not.
const WAIT: &str = "    shr.u32 %w, %thread, 5;
    mul.lo.u32 %w, %w, 0x9e3779b1;
    add.u32 %random, %random, %w;
    mad.lo.u32 %random, %step, 0x85ebca6b, %random;
    shr.u32 %w, %random, 15;
    xor.b32 %random, %random, %w;
    mul.lo.u32 %random, %random, 0x2c1b3c6d;
    shr.u32 %w, %random, 12;
    xor.b32 %random, %random, %w;
    ld.param.u32 %w, [delay];
    and.b32 %count, %random, %w;
WAITING:
    setp.eq.u32 %p, %count, 0;
    @%p bra READY;
    mad.lo.u32 %noise, %noise, 5, %random;
    sub.u32 %count, %count, 1;
    bra WAITING;
READY:
    ld.param.u32 %w, [touch];
    shr.u32 %count, %random, 16;
    and.b32 %w, %w, %count;
    setp.eq.u32 %p, %w, 0;
    @%p bra PLAY;
";

const END: &str = "NEXT:
    add.u32 %step, %step, 1;
    setp.lt.u32 %p, %step, %steps;
    @%p bra STEP;
    bra DONE;
TRAFFIC:
    ld.param.u32 %count, [traffic];
    mad.lo.u32 %random, %thread, 0x9e3779b1, %random;
AGAIN:
    setp.eq.u32 %p, %count, 0;
    @%p bra DONE;
    sub.u32 %count, %count, 1;
    mad.lo.u32 %random, %random, 0x2c1b3c6d, 0x85ebca6b;
    shr.u32 %w, %random, 12;
    mul.wide.u32 %offset, %w, 4;
    ld.param.u64 %base, [stress];
    add.u64 %base, %base, %offset;
    and.b32 %w, %random, 0x300;
    setp.ne.u32 %p, %w, 0;
    @%p bra LOAD;
    st.relaxed.gpu.global.u32 [%base], %random;
    bra AGAIN;
LOAD:
    ld.global.u32 %w, [%base];
    add.u32 %noise, %noise, %w;
    bra AGAIN;
DONE:
    ld.param.u64 %base, [stress];
    add.u64 %base, %base, 0x400000;
    mul.wide.u32 %offset, %thread, 4;
    add.u64 %base, %base, %offset;
    st.global.u32 [%base], %noise;
    ret;
}
";

/// One thread of the test, which keeps its registers' values and plays on.
fn part(program: &Program, terms: &[Term], thread: usize, out: &mut String) -> Result<(), Unsupported> {
    play(program, thread, out)?;
    for (place, term) in terms.iter().enumerate() {
        if let Term::Register(_, register) = term.of(thread) {
            let _ = writeln!(
                out,
                "    mad.lo.u32 %w, %cells, {place}, %index;\n    mul.wide.u32 %offset, %w, 8;\n    \
                 ld.param.u64 %base, [results];\n    add.u64 %base, %base, %offset;\n    \
                 st.global.u64 [%base], %r{register};"
            );
        }
    }
    out.push_str("    bra NEXT;\n}\n");
    Ok(())
}

/// A thread's code, in a scope that the caller closes behind what it does with the registers.
pub(crate) fn play(program: &Program, thread: usize, out: &mut String) -> Result<(), Unsupported> {
    let of = &program.threads[thread];
    let _ = writeln!(
        out,
        "THREAD{thread}: {{\n    .reg .b64 %r<{}>;\n    .reg .pred %q;",
        of.registers.len() + 1
    );
    for (register, value) in of.initial.iter().enumerate() {
        let _ = writeln!(out, "    mov.b64 %r{register}, {value};");
    }
    for (at, instruction) in of.code.iter().enumerate() {
        let volatile = of.texts.get(at).is_some_and(|text| text.contains(".volatile"));
        let _ = writeln!(out, "AT{at}:\n    {}", statement(instruction, volatile)?);
    }
    let _ = writeln!(out, "AT{}:", of.code.len());
    Ok(())
}

fn statement(instruction: &Instruction, volatile: bool) -> Result<String, Unsupported> {
    let no = |what: &str| Err(Unsupported(what.to_owned()));
    Ok(match instruction {
        Instruction::Load { destinations, access } => {
            let [destination] = destinations[..] else { return no("a vector") };
            format!("ld{}.global.b64 %r{destination}, {};", order(access, volatile)?, address(access))
        }
        Instruction::Store { values, access } => {
            let [value] = values[..] else { return no("a vector") };
            format!("st{}.global.b64 {}, {};", order(access, volatile)?, address(access), operand(value))
        }
        Instruction::Atomic { destination, update, access } => {
            let (name, operands) = match *update {
                Update::CompareAndSwap { expected, new } => {
                    ("cas.b64", format!("{}, {}", operand(expected), operand(new)))
                }
                Update::Combine(operation, value) => {
                    let name = match operation {
                        Arithmetic::Second => "exch.b64",
                        Arithmetic::Add => "add.u64",
                        Arithmetic::And => "and.b64",
                        Arithmetic::Or => "or.b64",
                        Arithmetic::Xor => "xor.b64",
                        Arithmetic::Min => "min.s64",
                        Arithmetic::Max => "max.s64",
                        _ => return no("an atomic operation that PTX does not have"),
                    };
                    (name, operand(value))
                }
            };
            let (order, address) = (order(access, false)?, address(access));
            match destination {
                Some(destination) => {
                    format!("atom{order}.global.{name} %r{destination}, {address}, {operands};")
                }
                None => format!("red{order}.global.{name} {address}, {operands};"),
            }
        }
        Instruction::Fence { order, scope } => format!("fence.{}.{scope};", order.name()),
        Instruction::Barrier {
            instance,
            part: Part::Sync,
            scope: Scope::Cta,
            resource: None,
            quorum: None,
        } => {
            format!("barrier.sync {instance};")
        }
        Instruction::Barrier { part, scope: Scope::Cluster, resource: None, quorum: None, .. } => {
            match part {
                Part::Sync => "barrier.cluster.arrive;\n    barrier.cluster.wait;".into(),
                Part::Arrive => "barrier.cluster.arrive;".into(),
                Part::Wait => "barrier.cluster.wait;".into(),
            }
        }
        Instruction::Barrier { .. } => return no("a barrier that not all threads come to alike"),
        Instruction::Set { destination, operation, a, b } => {
            let name = match operation {
                Arithmetic::Add => "add.s64",
                Arithmetic::Sub => "sub.s64",
                Arithmetic::Mul => "mul.lo.s64",
                Arithmetic::And => "and.b64",
                Arithmetic::Or => "or.b64",
                Arithmetic::Xor => "xor.b64",
                Arithmetic::Min => "min.s64",
                Arithmetic::Max => "max.s64",
                Arithmetic::Second => return Ok(format!("mov.b64 %r{destination}, {};", operand(*b))),
                Arithmetic::Div
                | Arithmetic::ShiftLeft
                | Arithmetic::ShiftRight
                | Arithmetic::ShiftRightSigned
                | Arithmetic::DivUnsigned
                | Arithmetic::RemUnsigned
                | Arithmetic::Inc
                | Arithmetic::Dec
                | Arithmetic::AddF32
                | Arithmetic::Compare(_) => {
                    return no("arithmetic with another meaning in PTX");
                }
            };
            let first = match a {
                Operand::Register(_) => operand(*a),
                Operand::Constant(_) => return no("a number on the left of arithmetic"),
            };
            format!("{name} %r{destination}, {first}, {};", operand(*b))
        }
        Instruction::Branch { comparison, a, b, target } => {
            let Operand::Register(_) = a else { return no("a number on the left of a branch") };
            let name = format!("{comparison:?}").to_lowercase();
            format!("setp.{name}.s64 %q, {}, {};\n    @%q bra AT{target};", operand(*a), operand(*b))
        }
        Instruction::Jump(target) => format!("bra AT{target};"),
        Instruction::ProxyFence(_) | Instruction::AliasFence => return no("a fence between proxies"),
        Instruction::CopyAsync { .. } | Instruction::WaitAsync => return no("a copy"),
    })
}

fn operand(operand: Operand) -> String {
    match operand {
        Operand::Register(register) => format!("%r{register}"),
        Operand::Constant(value) => value.to_string(),
    }
}

fn address(access: &Access) -> String {
    format!("[%x{}]", access.bytes.object)
}

/// The order and scope of an access, as modifiers.
fn order(access: &Access, volatile: bool) -> Result<String, Unsupported> {
    if access.proxy != Proxy::Generic {
        return Err(Unsupported(format!("the {} proxy", access.proxy.name())));
    }
    Ok(match (access.order, access.scope) {
        _ if volatile => ".volatile".into(),
        (Order::Weak, _) | (_, None) => ".weak".into(),
        (order, Some(scope)) => format!(".{}.{scope}", order.name()),
    })
}

impl Term {
    /// The term, if it is a register of this thread.
    fn of(self, thread: usize) -> Self {
        match self {
            Self::Register(own, _) if own != thread => Self::Constant(0),
            other => other,
        }
    }
}

/// The name of the counting kernel for tests with so many observed registers and locations.
pub fn count_name(registers: usize, locations: usize) -> String {
    format!("count_{registers}_{locations}")
}

/// That kernel.
pub fn count_entry(registers: usize, locations: usize) -> String {
    let mut out = format!(".visible .entry {}(", count_name(registers, locations));
    out.push_str(".param .u64 memory, .param .u64 results, .param .u64 counters, .param .u32 instances, .param .u32 bits");
    for location in 0..MAX_LOCATIONS {
        let _ = write!(out, ", .param .u32 spread{location}");
    }
    out.push_str(")\n{\n");
    out.push_str(COUNT_BEGIN);
    for register in 0..registers {
        let _ = writeln!(
            out,
            "    mad.lo.u32 %w, %cells, {register}, %index;\n    ld.param.u64 %base, [results];"
        );
        out.push_str(COUNT_VALUE);
    }
    for location in 0..locations {
        let _ = writeln!(
            out,
            "    ld.param.u32 %w, [spread{location}];\n    mul.lo.u32 %w, %w, %index;\n    and.b32 %w, %w, %mask;\n    \
             mad.lo.u32 %w, %cells, {location}, %w;\n    ld.param.u64 %base, [memory];"
        );
        out.push_str(COUNT_VALUE);
    }
    let last = 1u32 << (DIGIT as usize * (registers + locations));
    let _ = writeln!(out, "    setp.gt.u64 %p, %great, {};\n    @%p mov.u32 %counter, {last};", VALUES - 1);
    out.push_str(COUNT_END);
    out
}

const COUNT_BEGIN: &str = "    .reg .pred %p;
    .reg .b32 %w, %cta, %size, %index, %first, %stride, %instances, %cells, %mask, %counter, %alike, %lane;
    .reg .b64 %base, %offset, %value, %great;
    mov.u32 %cta, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %index, %tid.x;
    mad.lo.u32 %index, %cta, %size, %index;
    mov.u32 %stride, %nctaid.x;
    mul.lo.u32 %stride, %stride, %size;
    ld.param.u32 %instances, [instances];
    ld.param.u32 %w, [bits];
    mov.u32 %cells, 1;
    shl.b32 %cells, %cells, %w;
    sub.u32 %mask, %cells, 1;
NEXT:
    mov.u32 %w, %laneid;
    sub.u32 %first, %index, %w;
    setp.ge.u32 %p, %first, %instances;
    @%p bra DONE;
    mov.u32 %counter, 0xffffffff;
    setp.ge.u32 %p, %index, %instances;
    @%p bra MEET;
    mov.u32 %counter, 0;
    mov.u64 %great, 0;
";

const COUNT_VALUE: &str = "    mul.wide.u32 %offset, %w, 8;
    add.u64 %base, %base, %offset;
    ld.global.u64 %value, [%base];
    or.b64 %great, %great, %value;
    cvt.u32.u64 %w, %value;
    and.b32 %w, %w, 7;
    mad.lo.u32 %counter, %counter, 8, %w;
";

/// Lanes that count alike add once.
const COUNT_END: &str = "MEET:
    match.any.sync.b32 %alike, %counter, 0xffffffff;
    setp.eq.u32 %p, %counter, 0xffffffff;
    @%p bra SKIP;
    mov.u32 %lane, %lanemask_lt;
    and.b32 %lane, %lane, %alike;
    setp.ne.u32 %p, %lane, 0;
    @%p bra SKIP;
    popc.b32 %w, %alike;
    ld.param.u64 %base, [counters];
    mul.wide.u32 %offset, %counter, 4;
    add.u64 %base, %base, %offset;
    red.global.add.u32 [%base], %w;
SKIP:
    add.u32 %index, %index, %stride;
    bra NEXT;
DONE:
    ret;
}
";
