//! Which registers hold one constant in all threads at a place, whatever they hold elsewhere: what a barrier need not keep.

use crate::order::{Order, successors};
use ir::instruction::Op;
use ir::operand::{Def, Value};
use ir::{Access, Cfg, Function, Instruction};
use ptx::module::RegId;
use std::ops::Range;

/// What is followed, in blocks times registers: of a function with more nothing is known.
const MOST: usize = 1 << 22;

/// What the definitions that reach a place give a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    /// None reaches it.
    Nothing,
    One(u64),
    Many,
}

impl Fact {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, fact) | (fact, Self::Nothing) => fact,
            (one, other) if one == other => one,
            _ => Self::Many,
        }
    }
}

/// What registers hold at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State(Vec<Fact>);

impl State {
    /// The constant of a register.
    pub(crate) fn of(&self, register: RegId) -> Option<u64> {
        match self.0.get(register.index()) {
            Some(Fact::One(value)) => Some(*value),
            Some(Fact::Nothing | Fact::Many) | None => None,
        }
    }

    /// What they hold behind instructions that come one after the other.
    pub(crate) fn follow_all(&mut self, function: &Function<'_>, instructions: Range<u32>) {
        for instruction in instructions.filter_map(|index| function.instruction(index)) {
            self.follow(function, instruction);
        }
    }

    /// What they hold behind an instruction.
    pub(crate) fn follow(&mut self, function: &Function<'_>, instruction: &Instruction) {
        if self.0.is_empty() {
            return;
        }
        let mut copied = None;
        if let Op::Mov(mov) = &instruction.op
            && let Def(Some(d)) = mov.d
            && instruction.guard.is_none()
            && function.body.registers[d.index()].ty.bits() == mov.ty.bits()
        {
            copied = match mov.a {
                Value::Constant(value) => Some((d, Fact::One(value))),
                Value::Register(a) => Some((d, self.0[a.index()])),
                Value::Special { .. } | Value::Symbol { .. } | Value::Unused => None,
            };
        }
        instruction.registers(&mut |register, access| {
            if access != Access::Read {
                self.0[register.index()] = Fact::Many;
            }
        });
        if let Some((register, fact)) = copied {
            self.0[register.index()] = fact;
        }
    }
}

/// What registers hold where blocks begin.
#[derive(Debug)]
pub(crate) struct Constants(Vec<State>);

impl Constants {
    pub(crate) fn new(function: &Function<'_>, cfg: &Cfg, order: &Order) -> Self {
        let (blocks, registers) = (cfg.blocks.len(), function.body.registers.len());
        if blocks * registers > MOST {
            return Self(vec![State(Vec::new()); blocks]);
        }
        let mut states = vec![State(vec![Fact::Nothing; registers]); blocks];
        states[0] = State(vec![Fact::Many; registers]);
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for &block in &order.blocks {
                let mut state = states[block].clone();
                state.follow_all(function, cfg.blocks[block].first..cfg.blocks[block].end);
                for to in successors(cfg, block) {
                    for (all, more) in states[to].0.iter_mut().zip(&state.0) {
                        let joined = all.join(*more);
                        goes_on |= joined != *all;
                        *all = joined;
                    }
                }
            }
        }
        Self(states)
    }

    /// What they hold where a block begins.
    pub(crate) fn enter(&self, block: usize) -> State {
        self.0[block].clone()
    }
}
