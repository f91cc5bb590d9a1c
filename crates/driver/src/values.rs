//! Values in memory as signals between streams: `cuStreamWriteValue`, `cuStreamWaitValue` and their batches.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::operation::Operation;
use crate::process::Process;
use machine::Neighbours;
use std::sync::Arc;
use std::time::Duration;

/// When a wait ends, by what is in memory (`m`) and the value asked for (`v`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `m - v >= 0` as a signed number, so that counters may wrap around.
    GreaterOrEqual,
    /// `m == v`.
    Equal,
    /// `m & v != 0`.
    And,
    /// `!(m | v) != 0`.
    Nor,
}

/// One operation on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueOperation {
    /// Where.
    pub address: u64,
    /// The value written or waited for.
    pub value: u64,
    /// 64 bits rather than 32.
    pub wide: bool,
    /// `None` to write.
    pub wait: Option<Condition>,
}

/// Operations on values, one after the other.
pub struct Values {
    process: Arc<Process>,
    operations: Vec<ValueOperation>,
}

/// How long a wait sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(20);
/// How often it looks before it sleeps.
const LOOKS: u32 = 500;
/// The most operations of a batch (`cuStreamBatchMemOp`).
pub const MOST_OPERATIONS: usize = 256;

impl ValueOperation {
    fn bytes(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    fn holds(&self, condition: Condition, found: u64) -> bool {
        let difference = found.wrapping_sub(self.value);
        let mask = if self.wide { u64::MAX } else { u64::from(u32::MAX) };
        match condition {
            Condition::GreaterOrEqual if self.wide => difference as i64 >= 0,
            Condition::GreaterOrEqual => difference as u32 as i32 >= 0,
            Condition::Equal => found & mask == self.value & mask,
            Condition::And => found & self.value & mask != 0,
            Condition::Nor => !(found | self.value) & mask != 0,
        }
    }
}

impl Values {
    /// The operations.
    pub fn operations(&self) -> &[ValueOperation] {
        &self.operations
    }

    pub(crate) fn run(&self, health: &Health) {
        for operation in &self.operations {
            match operation.wait {
                None => health.note(self.write(operation)),
                Some(condition) => self.wait(operation, condition, health),
            }
        }
    }

    fn wait(&self, operation: &ValueOperation, condition: Condition, health: &Health) {
        let mut looks = 0;
        while health.error().is_none() {
            match self.read(operation) {
                Ok(found) if operation.holds(condition, found) => return,
                Ok(_) => {}
                Err(error) => return health.note(Err(error)),
            }
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::sleep(PAUSE) }
        }
    }

    fn read(&self, operation: &ValueOperation) -> Result<u64> {
        let mut value = [0; 8];
        let bytes = &mut value[..operation.bytes()];
        match self.process.memory_of(operation.address) {
            Some(memory) => memory.read(operation.address, bytes)?,
            None => self
                .process
                .host
                .read(operation.address, bytes.len(), &mut |found| bytes.copy_from_slice(found)),
        }
        Ok(u64::from_le_bytes(value))
    }

    fn write(&self, operation: &ValueOperation) -> Result<()> {
        let _turn = self.process.turn();
        let value = operation.value.to_le_bytes();
        let bytes = &value[..operation.bytes()];
        match self.process.memory_of(operation.address) {
            Some(memory) => memory.write(operation.address, bytes)?,
            None => {
                self.process.host.write(operation.address, bytes.len(), &mut |to| to.copy_from_slice(bytes))
            }
        }
        Ok(())
    }
}

impl Operation for Arc<Values> {
    fn name(&self) -> &'static str {
        "values"
    }

    fn run(self: Box<Self>, health: &Health, _: Option<Neighbours<'_>>) {
        Values::run(&self, health);
    }
}

impl Context {
    /// Checks operations on values: addresses are aligned, in memory of a device or in page-locked memory.
    pub fn prepare_values(&self, operations: Vec<ValueOperation>) -> Result<Arc<Values>> {
        self.usable()?;
        let process = self.device().process();
        for operation in &operations {
            let bytes = operation.bytes() as u64;
            let inside = |start: u64, size: u64| operation.address - start + bytes <= size;
            let known = match process.memory_of(operation.address) {
                Some(memory) => memory.allocation_of(operation.address).is_some_and(|(a, n)| inside(a, n)),
                None => self
                    .allocation_of(operation.address)
                    .is_some_and(|known| inside(known.address, known.bytes)),
            };
            if !operation.address.is_multiple_of(bytes) || !known {
                return Err(Error::InvalidValue);
            }
        }
        if operations.len() > MOST_OPERATIONS {
            return Err(Error::InvalidValue);
        }
        Ok(Arc::new(Values { process: Arc::clone(process), operations }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_as_their_width_says() {
        let narrow = |value| ValueOperation { address: 0, value, wide: false, wait: None };
        let wide = |value| ValueOperation { address: 0, value, wide: true, wait: None };
        assert!(
            narrow(5).holds(Condition::GreaterOrEqual, 5) && !narrow(5).holds(Condition::GreaterOrEqual, 4)
        );
        // A counter that has wrapped around is greater than one that has not.
        assert!(narrow(0xffff_fffe).holds(Condition::GreaterOrEqual, 1));
        assert!(!wide(0xffff_fffe).holds(Condition::GreaterOrEqual, 1));
        assert!(
            narrow(1 << 40 | 7).holds(Condition::Equal, 7) && !wide(1 << 40 | 7).holds(Condition::Equal, 7)
        );
        assert!(narrow(6).holds(Condition::And, 2) && !narrow(6).holds(Condition::And, 1));
        assert!(
            narrow(0xffff_ff00).holds(Condition::Nor, 0xfe)
                && !narrow(0xffff_ff00).holds(Condition::Nor, 0xff)
        );
    }
}
