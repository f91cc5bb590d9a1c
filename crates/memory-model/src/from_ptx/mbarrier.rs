//! mbarrier objects as the memory operations that they are to the model.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". An object counts arrivals from its
//! initialisation on: an arrival is an atomic addition, a release unless it says otherwise, which returns the count before
//! it as the state. A wait is a load, an acquire unless it says otherwise, and succeeds if the phase of the state, or of the
//! parity, has had all of its arrivals. So an arrival synchronises with a wait through the later arrivals, as atomics do.
//!
//! Transactions (`expect_tx`, `complete_tx`), `arrive_drop`, `noComplete`, `inval` and `pending_count` are not understood.

use super::{AddressBase, Lowering, Source};
use crate::event::{Order, Scope};
use crate::program::{Access, Arithmetic, Comparison, Instruction, Operand, Register, Update};

/// The bytes of an object.
const SIZE: u32 = 8;

impl Lowering<'_, '_> {
    pub(super) fn mbarrier(
        &mut self,
        words: &[&str],
        operands: &[Source],
        order: Option<Order>,
        scope: Option<Scope>,
    ) -> Result<Vec<Instruction>, String> {
        let parity = words.contains(&"parity");
        let unknown = ["expect_tx", "noComplete", "arrive_drop", "complete_tx"];
        if words.iter().any(|word| unknown.contains(word)) {
            return Err(format!("`{}` is not understood in litmus tests", words.join(".")));
        }
        match (words[1], operands) {
            ("init", [address, count]) => {
                let count = self.constant(count).filter(|count| *count > 0);
                let count = count.ok_or("an mbarrier in a test needs a constant count")?;
                let variable = self.variable(address)?;
                if self.test.phases.insert(variable, count).is_some_and(|before| before != count) {
                    return Err("an mbarrier has two counts".into());
                }
                let access = self.access(address, SIZE, words, None, None)?;
                Ok(vec![Instruction::Store { values: vec![Operand::Constant(0)], access }])
            }
            ("arrive", [state, address, rest @ ..]) => {
                let count = rest.first().map_or(Ok(Operand::Constant(1)), |count| self.value(count))?;
                let destination = match state {
                    Source::Sink => None,
                    state => Some(self.register(state)?),
                };
                let access = self.counted(address, words, order.unwrap_or(Order::Release), scope)?;
                let update = Update::Combine(Arithmetic::Add, count);
                Ok(vec![Instruction::Atomic { destination, update, access }])
            }
            // A hint of how long to wait does not matter.
            ("test_wait" | "try_wait", [complete, address, of, ..]) => {
                let phase = *self.test.phases.get(&self.variable(address)?).ok_or(
                    "the mbarrier has no count yet: the thread that initialises it must come before those that wait",
                )?;
                let phase = Operand::Constant(phase);
                let access = self.counted(address, words, order.unwrap_or(Order::Acquire), scope)?;
                let (complete, of) = (self.register(complete)?, self.value(of)?);
                let (count, told) = (self.scratch("count"), self.scratch("phase"));
                let set = |destination, operation, a, b| Instruction::Set { destination, operation, a, b };
                let now = Operand::Register(count);
                let mut made = vec![
                    Instruction::Load { destinations: vec![count], access },
                    set(count, Arithmetic::Div, now, phase),
                ];
                if parity {
                    // Phases are counted from 0, so the number of ended ones has the parity of the current.
                    made.push(set(count, Arithmetic::And, now, Operand::Constant(1)));
                    made.push(set(complete, Arithmetic::Compare(Comparison::Ne), now, of));
                } else {
                    made.push(set(told, Arithmetic::Div, of, phase));
                    let ended = Arithmetic::Compare(Comparison::Gt);
                    made.push(set(complete, ended, now, Operand::Register(told)));
                }
                Ok(made)
            }
            _ => Err(format!("`{}` is not understood in litmus tests", words.join("."))),
        }
    }

    /// The object's variable.
    fn variable(&self, address: &Source) -> Result<super::VarId, String> {
        match address {
            Source::Address { base: AddressBase::Variable(variable), .. } => Ok(*variable),
            Source::Address { base: AddressBase::Register(register), .. } => self
                .addresses
                .get(register)
                .map(|(variable, _)| *variable)
                .ok_or_else(|| "the address is not known".into()),
            _ => Err("the address is not known".into()),
        }
    }

    fn counted(
        &mut self,
        address: &Source,
        words: &[&str],
        order: Order,
        scope: Option<Scope>,
    ) -> Result<Access, String> {
        self.access(address, SIZE, words, Some(order), scope.or(Some(Scope::Cta)))
    }

    /// A register that the module does not have.
    fn scratch(&mut self, name: &str) -> Register {
        let Some(thread) = self.test.program.threads.last_mut() else { return 0 };
        thread.registers.push(format!("mbarrier {name}"));
        thread.initial.push(0);
        thread.registers.len() - 1
    }
}
