//! A thread of a kernel as code of a litmus test: what does not depend on values that are read is done here.
//!
//! The thread's instructions are followed with what is known of each register. Where control comes to the same place
//! with the same knowledge again, it is the same place of the test; otherwise it is another one, so that loops which count
//! are unrolled. Where a loop goes on as long as it reads certain values, and something else differs each time, that is
//! taken for unknown after [`ROUNDS`] rounds, for otherwise there would be no end.

use super::relevance::{Relevance, place};
use super::value::{Known, Range};
use super::{FAILED, Grid, Seat};
use crate::program::{Arithmetic, Comparison, Instruction, Operand};
use ir::operand::{Def, Predicate, Value};
use ir::{Access, Function, Op};
use ptx::isa::Flow;
use ptx::module::{Guard, RegId, Symbol, Table};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The most instructions of a thread.
const MAX_CODE: usize = 20_000;
/// How often a place may be come to with other values behind branches on what was read.
const ROUNDS: usize = 16;
/// Where threads end.
pub(super) const END: usize = usize::MAX;

/// A value on its way through an instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Word {
    Number(u64),
    /// A register of the test, with the range that it is in.
    Open(usize, Range),
}

impl Word {
    pub(super) fn operand(self) -> Operand {
        match self {
            Self::Number(value) => Operand::Constant(value as i64),
            Self::Open(register, _) => Operand::Register(register),
        }
    }

    pub(super) fn range(self) -> Range {
        match self {
            Self::Number(value) => Known::Number(value).range(),
            Self::Open(_, range) => range,
        }
    }
}

/// What control has come by: a place, what was known there, and behind how many open branches.
struct Trail {
    pc: u32,
    known: Vec<Known>,
    branches: usize,
    before: Option<Rc<Trail>>,
}

impl Drop for Trail {
    /// Without recursion: a trail may be long.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(trail) = next {
            next = Rc::try_unwrap(trail).ok().and_then(|mut trail| trail.before.take());
        }
    }
}

struct Work {
    node: usize,
    pc: u32,
    known: Vec<Known>,
    branches: usize,
    trail: Option<Rc<Trail>>,
}

pub(super) struct Builder<'g, 'a> {
    pub(super) grid: &'g mut Grid<'a>,
    pub(super) function: &'g Function<'a>,
    relevance: &'g Relevance,
    pub(super) seat: Seat,
    /// Pieces of code that end in a jump, whose targets are nodes.
    nodes: Vec<Vec<(Instruction, String)>>,
    current: usize,
    pub(super) known: Vec<Known>,
    branches: usize,
    trail: Option<Rc<Trail>>,
    seen: FxHashMap<(u32, Vec<Known>), usize>,
    work: Vec<Work>,
    text: String,
    temporaries: usize,
    most_temporaries: usize,
    size: usize,
}

/// Where control goes from an instruction.
enum Next {
    On,
    To(u32),
    Nowhere,
}

type Code = (Vec<Instruction>, Vec<String>, usize);

/// The code of a thread, the text of each instruction, and how many registers it has besides the kernel's.
pub(super) fn thread<'a>(
    grid: &mut Grid<'a>,
    function: &Function<'a>,
    relevance: &Relevance,
    seat: Seat,
) -> Result<Code, String> {
    let registers = function.body.registers.len();
    let mut builder = Builder {
        grid,
        function,
        relevance,
        seat,
        nodes: vec![Vec::new()],
        current: 0,
        known: vec![Known::Number(0); registers],
        branches: 0,
        trail: None,
        seen: FxHashMap::default(),
        work: Vec::new(),
        text: String::new(),
        temporaries: 0,
        most_temporaries: 0,
        size: 0,
    };
    builder.go(0)?;
    while let Some(work) = builder.work.pop() {
        builder.current = work.node;
        builder.known = work.known;
        (builder.branches, builder.trail) = (work.branches, work.trail);
        builder.block(work.pc)?;
    }
    let temporaries = builder.most_temporaries;
    let (code, texts) = lay_out(builder.nodes);
    Ok((code, texts, temporaries))
}

impl Builder<'_, '_> {
    /// Follows the instructions of a block.
    fn block(&mut self, first: u32) -> Result<(), String> {
        let mut pc = first;
        loop {
            if pc as usize >= self.function.instructions.len() {
                self.emit(Instruction::Jump(END))?;
                return Ok(());
            }
            if pc != first && self.relevance.live[pc as usize].is_some() {
                return self.go(pc);
            }
            match self.instruction(pc)? {
                Next::On => pc += 1,
                Next::To(target) => return self.go(target),
                Next::Nowhere => return Ok(()),
            }
        }
    }

    fn instruction(&mut self, pc: u32) -> Result<Next, String> {
        let line = self.function.source_line(pc);
        let (line, text) = line.split_once(": ").unwrap_or(("", &line));
        self.text = text.trim_end_matches(';').to_owned();
        self.temporaries = 0;
        let fail = |message: String| format!("line {line}: `{text}`: {message}");
        if let Some(target) = self.relevance.meets[pc as usize] {
            return Ok(Next::To(target));
        }
        let typed = self.function.instructions[pc as usize].as_ref();
        let typed = typed.map_err(|reject| fail(format!("{reject} is not understood")))?;
        let flow = typed.op.effects().flow;
        let leaves = matches!(flow, Flow::Return | Flow::Exit);
        if !self.relevance.relevant[pc as usize] && !leaves {
            return Ok(Next::On);
        }
        let guard = typed.guard.map(|guard| (guard, self.guard(guard)));
        match guard {
            Some((_, Word::Number(0))) => return Ok(Next::On),
            Some((guard, Word::Open(register, _))) => {
                return self.guarded(pc, &typed.op, guard, register).map_err(fail);
            }
            Some((_, Word::Number(_))) | None => {}
        }
        self.unguarded(&typed.op).map_err(fail)
    }

    /// Whether a guard holds: 1 or 0, or the register that it is of.
    fn guard(&self, guard: Guard) -> Word {
        match self.register(guard.register) {
            Word::Number(value) => Word::Number(u64::from((value != 0) != guard.negated)),
            open => open,
        }
    }

    fn unguarded(&mut self, op: &Op) -> Result<Next, String> {
        match (op, op.effects().flow) {
            (Op::Bra(bra), _) => Ok(Next::To(place(self.function, bra.target))),
            (Op::BrxIdx(brx), _) => {
                let Table::Branch(labels) = &self.function.body.tables[brx.targets.index()] else {
                    return Err("the table is not one of labels".into());
                };
                match self.word(&brx.index)? {
                    Word::Number(index) => match labels.get(index as usize) {
                        Some(label) => Ok(Next::To(place(self.function, *label))),
                        None => self.fail("a branch out of its table"),
                    },
                    Word::Open(..) => Err("a table of branches by a value that was read".into()),
                }
            }
            (_, Flow::Return | Flow::Exit) => {
                self.emit(Instruction::Jump(END))?;
                Ok(Next::Nowhere)
            }
            (_, Flow::Trap) => self.fail("a trap"),
            (Op::Call(call), _) => {
                let callee = &self.grid.module.functions[call.function.index()];
                match &*callee.name {
                    "__assertfail" => self.fail("an assertion fails"),
                    // What it prints is nothing to memory.
                    "vprintf" => Ok(Next::On),
                    name => Err(format!("a call of `{name}`, which is not inlined")),
                }
            }
            _ => {
                self.operation(op)?;
                Ok(Next::On)
            }
        }
    }

    /// An instruction whose guard depends on what was read.
    fn guarded(&mut self, pc: u32, op: &Op, guard: Guard, register: usize) -> Result<Next, String> {
        let holds = if guard.negated { Comparison::Eq } else { Comparison::Ne };
        let (a, b) = (Operand::Register(register), Operand::Constant(0));
        self.branches += 1;
        if op.effects().flow != Flow::Next || matches!(op, Op::Call(_)) {
            let before = self.known.clone();
            let taken = self.node();
            self.emit(Instruction::Branch { comparison: holds, a, b, target: taken })?;
            self.learn(guard, false);
            // A block ends here, or what fails ends the thread.
            self.go(pc + 1)?;
            self.current = taken;
            self.known = before;
            self.learn(guard, true);
            return match self.unguarded(op)? {
                Next::On => self.go(pc + 1).map(|()| Next::Nowhere),
                Next::To(target) => self.go(target).map(|()| Next::Nowhere),
                Next::Nowhere => Ok(Next::Nowhere),
            };
        }
        let mut written = Vec::new();
        self.function.registers(pc, &mut |register, access| {
            if access != Access::Read {
                written.push(register);
            }
        });
        for &register in &written {
            self.open(register)?;
        }
        let (body, after) = (self.node(), self.node());
        self.emit(Instruction::Branch { comparison: holds, a, b, target: body })?;
        self.emit(Instruction::Jump(after))?;
        self.current = body;
        let before = self.known.clone();
        self.operation(op)?;
        for &register in &written {
            self.open(register)?;
            let range = self.known[register.index()].range().join(before[register.index()].range());
            self.known[register.index()] = Known::Open(range);
        }
        self.emit(Instruction::Jump(after))?;
        self.current = after;
        Ok(Next::On)
    }

    fn learn(&mut self, guard: Guard, holds: bool) {
        self.known[guard.register.index()] = Known::Number(u64::from(holds != guard.negated));
    }

    /// Puts a register's number into the register of the test.
    fn open(&mut self, register: RegId) -> Result<(), String> {
        let known = self.known[register.index()];
        let value = match known {
            Known::Number(value) => value,
            Known::Dead => 0,
            Known::Open(_) => return Ok(()),
        };
        self.set(register.index(), Word::Number(value))?;
        self.known[register.index()] = Known::Open(known.range());
        Ok(())
    }

    /// Jumps to an instruction that begins a block.
    fn go(&mut self, pc: u32) -> Result<(), String> {
        let Some(live) = self.relevance.live.get(pc as usize).and_then(Option::as_ref) else {
            return self.emit(Instruction::Jump(END));
        };
        for (known, live) in self.known.iter_mut().zip(live) {
            if !live {
                *known = Known::Dead;
            }
        }
        self.widen(pc)?;
        let key = (pc, self.known.clone());
        let node = match self.seen.get(&key) {
            Some(node) => *node,
            None => {
                let node = self.node();
                self.seen.insert(key, node);
                let (known, branches) = (self.known.clone(), self.branches);
                let before = self.trail.clone();
                let trail = Some(Rc::new(Trail { pc, known: known.clone(), branches, before }));
                self.work.push(Work { node, pc, known, branches, trail });
                node
            }
        };
        self.emit(Instruction::Jump(node))
    }

    /// Takes for unknown what differs at a place that was come to too often.
    fn widen(&mut self, pc: u32) -> Result<(), String> {
        let (mut rounds, mut last) = (0, None);
        let mut trail = self.trail.clone();
        while let Some(now) = trail {
            if now.pc == pc && now.branches < self.branches && now.known != self.known {
                rounds += 1;
                last = last.or(Some(now.known.clone()));
            }
            trail = now.before.clone();
        }
        let (true, Some(last)) = (rounds >= ROUNDS, last) else { return Ok(()) };
        for (index, last) in last.into_iter().enumerate() {
            if self.known[index] != last {
                self.open(RegId(index as u32))?;
                let bits = self.bits(RegId(index as u32));
                self.known[index] = Known::Open(Range::bits(bits));
            }
        }
        Ok(())
    }

    pub(super) fn node(&mut self) -> usize {
        self.nodes.push(Vec::new());
        self.nodes.len() - 1
    }

    /// Goes on in a node.
    pub(super) fn enter(&mut self, node: usize) {
        self.current = node;
    }

    pub(super) fn emit(&mut self, instruction: Instruction) -> Result<(), String> {
        self.size += 1;
        if self.size > MAX_CODE {
            return Err(format!(
                "a thread has more than {MAX_CODE} instructions once its loops are unrolled"
            ));
        }
        self.nodes[self.current].push((instruction, self.text.clone()));
        Ok(())
    }

    /// Ends the thread in a failure.
    fn fail(&mut self, message: &str) -> Result<Next, String> {
        self.fails(message)?;
        Ok(Next::Nowhere)
    }

    pub(super) fn fails(&mut self, message: &str) -> Result<(), String> {
        let known = self.grid.failures.iter().position(|known| known == message);
        let index = known.unwrap_or_else(|| {
            self.grid.failures.push(message.to_owned());
            self.grid.failures.len() - 1
        });
        debug_assert_eq!(FAILED, "failed");
        self.set(self.known.len(), Word::Number(index as u64 + 1))?;
        self.emit(Instruction::Jump(END))
    }

    pub(super) fn bits(&self, register: RegId) -> u32 {
        self.function.body.registers[register.index()].ty.bits()
    }

    /// What a register holds.
    pub(super) fn register(&self, register: RegId) -> Word {
        match self.known[register.index()] {
            Known::Number(value) => Word::Number(value),
            Known::Dead => Word::Number(0),
            Known::Open(range) => Word::Open(register.index(), range),
        }
    }

    /// What an operand is.
    pub(super) fn word(&self, value: &Value) -> Result<Word, String> {
        Ok(match *value {
            Value::Register(register) => self.register(register),
            Value::Constant(bits) => Word::Number(bits),
            Value::Special { register, component } => {
                let special = self.seat.special(self.grid.launch, register, component);
                Word::Number(special.ok_or("this special register is not known before the kernel runs")?)
            }
            Value::Symbol { symbol: Symbol::Variable(variable), offset } => {
                let address = self.grid.memory.address(variable).ok_or("the address is not understood")?;
                Word::Number(address.wrapping_add_signed(offset))
            }
            Value::Symbol { symbol: Symbol::Function(_), .. } => {
                return Err("the address of a function".into());
            }
            Value::Unused => Word::Number(0),
        })
    }

    pub(super) fn predicate(&mut self, predicate: &Predicate) -> Result<Word, String> {
        let word = self.word(&predicate.value)?;
        match (word, predicate.negated) {
            (Word::Number(value), negated) => Ok(Word::Number(u64::from((value != 0) != negated))),
            (open, false) => Ok(open),
            (open, true) => self.arithmetic(Arithmetic::Xor, open, Word::Number(1), Range::bits(1)),
        }
    }

    /// A register of the test that no other of this instruction's values is in.
    pub(super) fn temporary(&mut self) -> usize {
        self.temporaries += 1;
        self.most_temporaries = self.most_temporaries.max(self.temporaries);
        self.known.len() + self.temporaries
    }

    /// `a` and `b` combined.
    pub(super) fn arithmetic(
        &mut self,
        operation: Arithmetic,
        a: Word,
        b: Word,
        range: Range,
    ) -> Result<Word, String> {
        if let (Word::Number(a), Word::Number(b)) = (a, b) {
            return Ok(Word::Number(operation.apply(a as i64, b as i64) as u64));
        }
        let destination = self.temporary();
        let (a, b) = (a.operand(), b.operand());
        self.emit(Instruction::Set { destination, operation, a, b })?;
        Ok(Word::Open(destination, range))
    }

    pub(super) fn set(&mut self, destination: usize, value: Word) -> Result<(), String> {
        let (operation, a) = (Arithmetic::Second, Operand::Constant(0));
        self.emit(Instruction::Set { destination, operation, a, b: value.operand() })
    }

    /// Gives a register of the kernel a value.
    pub(super) fn assign(&mut self, to: Def, value: Word) -> Result<(), String> {
        let Some(register) = to.0 else { return Ok(()) };
        self.known[register.index()] = match value {
            Word::Number(value) => Known::Number(value & super::value::mask(self.bits(register))),
            Word::Open(from, range) => {
                if from != register.index() {
                    self.set(register.index(), value)?;
                }
                Known::Open(range)
            }
        };
        Ok(())
    }
}

/// Puts the nodes behind one another, each behind those that lead to it but where a loop closes.
fn lay_out(nodes: Vec<Vec<(Instruction, String)>>) -> (Vec<Instruction>, Vec<String>) {
    let targets = |node: &[(Instruction, String)]| -> Vec<usize> {
        node.iter()
            .filter_map(|(instruction, _)| match instruction {
                Instruction::Branch { target, .. } | Instruction::Jump(target) => Some(*target),
                _ => None,
            })
            .filter(|target| *target != END)
            .collect()
    };
    let (mut order, mut seen) = (Vec::new(), vec![false; nodes.len()]);
    let mut open = vec![(0, targets(&nodes[0]))];
    seen[0] = true;
    while let Some((node, ways)) = open.last_mut() {
        match ways.pop() {
            Some(next) if !std::mem::replace(&mut seen[next], true) => {
                open.push((next, targets(&nodes[next])));
            }
            Some(_) => {}
            None => {
                order.push(*node);
                open.pop();
            }
        }
    }
    order.reverse();
    let mut places = vec![0; nodes.len()];
    let mut next = 0;
    for (index, &node) in order.iter().enumerate() {
        places[node] = next;
        let falls = |last: &(Instruction, String)| match last.0 {
            Instruction::Jump(target) => order.get(index + 1) == Some(&target),
            _ => false,
        };
        next += nodes[node].len() - usize::from(nodes[node].last().is_some_and(falls));
    }
    let mut code = Vec::new();
    for (index, &node) in order.iter().enumerate() {
        let end = order.get(index + 1).map_or(next, |&node| places[node]);
        for (instruction, text) in nodes[node].iter().take(end - places[node]) {
            let mut instruction = instruction.clone();
            if let Instruction::Branch { target, .. } | Instruction::Jump(target) = &mut instruction {
                *target = if *target == END { next } else { places[*target] };
            }
            code.push((instruction, text.clone()));
        }
    }
    code.into_iter().unzip()
}
