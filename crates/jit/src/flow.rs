//! What is known of registers with several definitions, by those that reach a block.

use crate::class::{ALL_ZERO, Class};
use ir::{Access, Cfg, Function};
use ptx::module::RegId;

/// What is followed, in blocks times registers: a function with more has what all definitions have in common.
const MOST: usize = 1 << 22;

/// What reaches each block of the registers that are followed: their classes and the zero bits at their ends.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Those that have several definitions.
    registers: Vec<RegId>,
    follows: Vec<bool>,
    reaches: Vec<Vec<(Class, u32)>>,
}

impl Flow {
    /// Before anything is known.
    pub(crate) fn new(function: &Function<'_>, cfg: &Cfg) -> Self {
        let mut definitions = vec![0_u32; function.body.registers.len()];
        for instruction in function.instructions.iter().flatten() {
            instruction.registers(&mut |register, access| {
                definitions[register.index()] += u32::from(access != Access::Read);
            });
        }
        let all = (0..).map(RegId).zip(&definitions);
        let mut registers: Vec<RegId> = all.filter(|(_, count)| **count > 1).map(|(id, _)| id).collect();
        if registers.len() * cfg.blocks.len() > MOST {
            registers.clear();
        }
        let mut follows = vec![false; definitions.len()];
        registers.iter().for_each(|register| follows[register.index()] = true);
        let reaches = vec![vec![(Class::Unknown, ALL_ZERO); registers.len()]; cfg.blocks.len()];
        Self { registers, follows, reaches }
    }

    /// Takes what registers hold before the first instruction.
    pub(crate) fn begin(&mut self, classes: &[Class]) {
        for (register, reaches) in self.registers.iter().zip(&mut self.reaches[0]) {
            reaches.0 = classes[register.index()];
        }
    }

    /// Whether a register is followed.
    pub(crate) fn follows(&self, register: RegId) -> bool {
        self.follows[register.index()]
    }

    /// What a read makes of a definition in a slot. The lane of a bend and an index are beside the slot only if that is of the class.
    pub(crate) fn readable(&self, class: Class, slot: Class) -> Class {
        match class {
            Class::Bent { .. } | Class::Scaled { .. } if slot != class => Class::Varying,
            class => class,
        }
    }

    /// What is known where a block begins; of what is not followed, what all definitions have in common.
    pub(crate) fn enter(&self, block: usize, slots: &[Class], classes: &mut [Class], zeros: &mut [u32]) {
        for (register, reaches) in self.registers.iter().zip(&self.reaches[block]) {
            let at = register.index();
            (classes[at], zeros[at]) = (self.readable(reaches.0, slots[at]), reaches.1);
        }
    }

    /// What all definitions have in common, of everything.
    pub(crate) fn forget(&self, slots: (&[Class], &[u32]), classes: &mut [Class], zeros: &mut [u32]) {
        for register in &self.registers {
            let at = register.index();
            (classes[at], zeros[at]) = (slots.0[at], slots.1[at]);
        }
    }

    /// What is known where a block ends reaches another; whether that is news.
    pub(crate) fn leave(&mut self, to: usize, classes: &[Class], zeros: &[u32]) -> bool {
        let mut changed = false;
        for (register, reaches) in self.registers.iter().zip(&mut self.reaches[to]) {
            let at = register.index();
            let all = (reaches.0.join(classes[at]), reaches.1.min(zeros[at]));
            changed |= all != *reaches;
            *reaches = all;
        }
        changed
    }
}
