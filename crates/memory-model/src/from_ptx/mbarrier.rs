//! mbarrier objects as the memory operations that they are to the model.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". An object counts arrivals from its
//! initialisation on: an arrival is an atomic addition, a release unless it says otherwise, which returns the count before
//! it as the state. A wait is a load, an acquire unless it says otherwise, and succeeds if the phase of the state, or of the
//! parity, has had all of its arrivals. So an arrival synchronises with a wait through the later arrivals, as atomics do.
//!
//! Transactions (`expect_tx`, `complete_tx`), `arrive_drop`, `noComplete`, `inval` and `pending_count` are not understood.

use super::lowering::{Lowering, ordering};
use crate::program::{Arithmetic, Comparison, Instruction, Operand, Register, Update};
use ir::instruction::{MbarrierArrive, MbarrierArriveAction, MbarrierInit, MbarrierWait};
use ptx::isa::Order;

/// The bytes of an object.
const SIZE: u32 = 8;

impl Lowering<'_, '_> {
    /// `mbarrier.init`.
    pub(super) fn initialise(&mut self, init: &MbarrierInit) -> Result<Vec<Instruction>, String> {
        let count = self.constant(&init.count).filter(|count| *count > 0);
        let count = count.ok_or("an mbarrier in a test needs a constant count")?;
        let (variable, _) = self.located(&init.addr)?;
        if self.test.phases.insert(variable, count).is_some_and(|before| before != count) {
            return Err("an mbarrier has two counts".into());
        }
        let access = self.access(&init.addr, SIZE, ordering(Order::Weak, None))?;
        Ok(vec![Instruction::Store { values: vec![Operand::Constant(0)], access }])
    }

    /// `mbarrier.arrive`.
    pub(super) fn arrive(&mut self, arrive: &MbarrierArrive) -> Result<Vec<Instruction>, String> {
        if arrive.action != MbarrierArriveAction::Arrive || arrive.expect_tx || arrive.no_complete {
            return Err("of arrivals at an mbarrier, only plain ones are understood in litmus tests".into());
        }
        let count = arrive.count.as_ref().map_or(Ok(Operand::Constant(1)), |count| self.value(count))?;
        let destination = self.destination(arrive.d)?;
        let access = self.access(&arrive.addr, SIZE, ordering(arrive.order, Some(arrive.scope)))?;
        let update = Update::Combine(Arithmetic::Add, count);
        Ok(vec![Instruction::Atomic { destination, update, access }])
    }

    /// `mbarrier.test_wait` and `.try_wait`. A hint of how long to wait does not matter.
    pub(super) fn wait(&mut self, wait: &MbarrierWait) -> Result<Vec<Instruction>, String> {
        let (variable, _) = self.located(&wait.addr)?;
        let phase = *self.test.phases.get(&variable).ok_or(
            "the mbarrier has no count yet: the thread that initialises it must come before those that wait",
        )?;
        let phase = Operand::Constant(phase);
        let access = self.access(&wait.addr, SIZE, ordering(wait.order, Some(wait.scope)))?;
        let complete = self.register(wait.p)?;
        let (count, told) = (self.scratch("count"), self.scratch("phase"));
        let set = |destination, operation, a, b| Instruction::Set { destination, operation, a, b };
        let now = Operand::Register(count);
        let mut made = vec![
            Instruction::Load { destinations: vec![count], access },
            set(count, Arithmetic::Div, now, phase),
        ];
        match (&wait.parity, &wait.state) {
            (Some(parity), _) => {
                // Phases are counted from 0, so the number of ended ones has the parity of the current.
                made.push(set(count, Arithmetic::And, now, Operand::Constant(1)));
                made.push(set(complete, Arithmetic::Compare(Comparison::Ne), now, self.value(parity)?));
            }
            (None, Some(state)) => {
                made.push(set(told, Arithmetic::Div, self.value(state)?, phase));
                let ended = Arithmetic::Compare(Comparison::Gt);
                made.push(set(complete, ended, now, Operand::Register(told)));
            }
            (None, None) => return Err("a wait for no phase".into()),
        }
        Ok(made)
    }

    /// A register that the module does not have.
    fn scratch(&mut self, name: &str) -> Register {
        let Some(thread) = self.test.program.threads.last_mut() else { return 0 };
        thread.registers.push(format!("mbarrier {name}"));
        thread.initial.push(0);
        thread.registers.len() - 1
    }
}
