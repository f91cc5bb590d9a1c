//! SSA form from the text that it prints.
//!
//! The text has the blocks of the function whose form it is, and may change what is in them. Values are numbered in the
//! order in which the text names them.

use super::history::{Change, History};
use super::print::exit_name;
use super::{Block, Definition, Instruction, Ssa};
use crate::cfg::{BlockId, Cfg};
use crate::dominance::DominatorTree;
use crate::exchange::OperandMut;
use crate::instruction::Reject;
use crate::liveness::Liveness;
use crate::lower::Function;
use crate::operand::Value;
use crate::parse::{TextError, lines, parts, words};
use crate::print::{Notation, register_names};
use ptx::module::RegId;
use std::collections::{HashMap, HashSet};

impl<'a> Ssa<'a> {
    /// The SSA form that a text is, as [`Display`](std::fmt::Display) prints it.
    ///
    /// # Errors
    /// If it is none with the blocks of this function. Whether uses have definitions is the verifier's question.
    pub fn parse(function: &'a Function<'a>, text: &str) -> Result<Self, TextError> {
        let cfg = Cfg::new(function);
        let values = values(function, text);
        let registers = register_names(function);
        let names =
            values.iter().map(|v| format!("{}.{}", registers[v.register.index()], v.version)).collect();
        let notation = Notation::with_registers(function, cfg, names);
        let types = function.body.registers.iter().map(|register| register.ty.name());
        let mut parser = Parser {
            notation: &notation,
            blocks: vec![Block::default(); notation.cfg.blocks.len()],
            block: None,
            types: registers.iter().cloned().zip(types).collect(),
            seen: HashSet::new(),
        };
        for (line, content) in lines(text) {
            parser.line(content).map_err(|why| TextError { line, why })?;
        }
        let blocks = parser.finish().map_err(|why| TextError { line: text.lines().count() as u32, why })?;
        let cfg = notation.cfg;
        let dominators: Vec<_> = cfg.dominators().iter().map(|block| block.map(|block| block.0)).collect();
        let tree = DominatorTree::new(&dominators, 0);
        let changes = changes(&cfg, &tree, &values, &blocks);
        let history = History::new(changes, &Liveness::new(function, &cfg));
        Ok(Self { function, cfg, tree, values, blocks, history })
    }
}

/// The values that a text names: a register's name, a dot and a number.
fn values(function: &Function<'_>, text: &str) -> Vec<Definition> {
    let registers: HashMap<String, u32> = register_names(function).into_iter().zip(0..).collect();
    let mut values = Vec::new();
    let mut seen = HashSet::new();
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.' | '#');
    for word in text.split(|c| !in_name(c)) {
        // Behind the number a selector can stand.
        let longest = word.rsplit_once('.').map(|(shorter, _)| shorter);
        for candidate in [Some(word), longest].into_iter().flatten() {
            let Some((name, version)) = candidate.rsplit_once('.') else { continue };
            if let (Some(&register), Ok(version)) = (registers.get(name), version.parse::<u32>())
                && seen.insert((register, version))
            {
                let ty = function.body.registers[register as usize].ty;
                values.push(Definition { register: RegId(register), version, ty });
            }
        }
    }
    values
}

/// What registers hold, as far as a form tells that does not come from the register form.
fn changes(cfg: &Cfg, tree: &DominatorTree, values: &[Definition], blocks: &[Block]) -> Vec<Change> {
    let mut changes = Vec::new();
    for &id in &tree.order {
        let block = &blocks[id as usize];
        let mut define = |value: RegId, from: u32| {
            let register = values[value.index()].register;
            let value = Some(Value::Register(value));
            changes.push(Change { register, place: tree.place(id), block: BlockId(id), from, value });
        };
        block.parameters.iter().for_each(|value| define(*value, cfg.blocks[id as usize].first));
        for instruction in &block.instructions {
            instruction.writes(&mut |value| define(value, instruction.origin + 1));
        }
    }
    changes
}

struct Parser<'a> {
    notation: &'a Notation<'a>,
    blocks: Vec<Block>,
    /// The block whose lines are read.
    block: Option<BlockId>,
    /// The types of registers by name.
    types: HashMap<String, &'static str>,
    seen: HashSet<BlockId>,
}

impl Parser<'_> {
    fn line(&mut self, line: &str) -> Result<(), Reject> {
        let name = &self.notation.function.declaration.name;
        if let Some(ways) = line.strip_prefix("->") {
            return self.edges(ways);
        }
        if line.starts_with("block") {
            return self.header(line);
        }
        match self.block {
            None if line == format!("function {name}") => Ok(()),
            None => Err(format!("`function {name}` is expected")),
            Some(block) => {
                let instruction = self.instruction(line)?;
                self.blocks[block.index()].instructions.push(instruction);
                Ok(())
            }
        }
    }

    fn header(&mut self, line: &str) -> Result<(), Reject> {
        let (name, parameters) = named_list(line)?;
        let id = self.block_named(name)?;
        if !self.seen.insert(id) {
            return Err(format!("`{name}` stands twice"));
        }
        let one = |text: &&str| -> Result<RegId, Reject> {
            let (name, ty) = text.split_once(": ").ok_or_else(|| format!("`{text}` has no type"))?;
            let value = self.notation.parse_register(name)?;
            let register = name.rsplit_once('.').map_or(name, |(register, _)| register);
            let known = self.types.get(register).copied();
            if known == Some(ty) { Ok(value) } else { Err(format!("`{register}` is no {ty}")) }
        };
        self.blocks[id.index()].parameters = parameters.iter().map(one).collect::<Result<_, _>>()?;
        self.block = Some(id);
        Ok(())
    }

    fn block_named(&self, name: &str) -> Result<BlockId, Reject> {
        let number = name.strip_prefix("block").and_then(|number| number.parse().ok()).map(BlockId);
        let known = |id: &BlockId| id.index() < self.blocks.len() && self.notation.cfg.is_reachable(*id);
        number.filter(known).ok_or_else(|| format!("there is no block `{name}`"))
    }

    fn instruction(&self, line: &str) -> Result<Instruction, Reject> {
        let (origin, line) = line.split_once(": ").ok_or("a number and a colon are missing")?;
        let origin = origin.parse().map_err(|_| format!("`{origin}` is not a number"))?;
        if origin as usize >= self.notation.function.instructions.len() {
            return Err(format!("there is no instruction {origin}"));
        }
        let words = words(line);
        let (kept, line) = match words.split_last() {
            Some((last, rest)) if last.starts_with("kept=") => {
                let inner = last["kept=".len()..].trim_start_matches('{').trim_end_matches('}');
                (self.list(inner)?, rest.join(" "))
            }
            _ => (vec![], line.to_owned()),
        };
        let mut typed = self.notation.parse(&line)?;
        let (mut written, mut keeps) = (0, typed.guard.is_some());
        typed.operands_mut(&mut |operand| match operand {
            OperandMut::Write(_) => written += 1,
            OperandMut::Update(_) => {
                written += 1;
                keeps = true;
            }
            OperandMut::Base(_) | OperandMut::Read(_) => {}
        });
        let expected = if keeps { written } else { 0 };
        if kept.len() != expected {
            return Err(format!("{} values are kept in place of {expected}", kept.len()));
        }
        Ok(Instruction { origin, typed, kept: kept.into() })
    }

    fn list(&self, text: &str) -> Result<Vec<Value>, Reject> {
        parts(text).into_iter().map(|part| self.notation.parse_value(part)).collect()
    }

    fn edges(&mut self, ways: &str) -> Result<(), Reject> {
        let id = self.block.take().ok_or("no block leads there")?;
        let graph = &self.notation.cfg.blocks[id.index()];
        let mut ways = split_ways(ways).into_iter();
        for &to in &graph.successors {
            let way = ways.next().unwrap_or_default();
            let (name, values) = named_list(way)?;
            if name != format!("block{}", to.0) {
                return Err(format!("it leads to `block{}`", to.0));
            }
            let arguments = values.iter().map(|v| self.notation.parse_value(v)).collect::<Result<_, _>>()?;
            self.blocks[id.index()].arguments.push(arguments);
        }
        let (name, values) = named_list(ways.next().unwrap_or_default())?;
        let exit = graph.exit.map_or("", exit_name);
        if name != exit || ways.next().is_some() {
            return Err(format!("it leaves by `{exit}`"));
        }
        let returns = values.iter().map(|v| self.notation.parse_value(v)).collect::<Result<_, _>>()?;
        self.blocks[id.index()].returns = returns;
        Ok(())
    }

    fn finish(self) -> Result<Vec<Block>, Reject> {
        if let Some(open) = self.block {
            return Err(format!("block{} leads nowhere", open.0));
        }
        let cfg = &self.notation.cfg;
        let ids = (0..self.blocks.len() as u32).map(BlockId);
        match ids.filter(|id| cfg.is_reachable(*id)).find(|id| !self.seen.contains(id)) {
            Some(missing) => Err(format!("block{} is missing", missing.0)),
            None => Ok(self.blocks),
        }
    }
}

/// `name(a, b)`, or `name`.
fn named_list(text: &str) -> Result<(&str, Vec<&str>), Reject> {
    match text.split_once('(') {
        None => Ok((text, vec![])),
        Some((name, rest)) => {
            let inner = rest.strip_suffix(')').ok_or_else(|| format!("`{text}` has no end"))?;
            Ok((name, inner.split(", ").collect()))
        }
    }
}

/// The ways between commas that no parenthesis encloses.
fn split_ways(text: &str) -> Vec<&str> {
    let (mut ways, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                ways.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    ways.push(text[start..].trim());
    ways
}
