//! Fills: rows of values.

use crate::check::Checking;
use crate::context::Context;
use crate::copy::{Memory, PIECE};
use crate::error::{Error, Result};
use crate::health::Health;
use crate::operation::Operation;
use crate::process::Process;
use machine::Neighbours;
use machine::fault::Access;
use std::sync::Arc;

/// Rows of values, for filling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The first.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// What is written: its lowest bytes.
    pub value: u32,
    /// Bytes of a value: 1, 2 or 4.
    pub size: u64,
    /// Values of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

/// A fill that has been checked.
pub struct Fill {
    process: Arc<Process>,
    memory: Memory,
    pattern: Pattern,
}

impl Fill {
    /// What it was asked to write.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Whether another one is on the same device.
    pub(crate) fn same_places(&self, other: &Self) -> bool {
        self.memory.same_place(&other.memory)
    }

    fn new(process: &Arc<Process>, pattern: Pattern) -> Result<Self> {
        let Pattern { address, pitch, size, width, height, .. } = pattern;
        let width = width.checked_mul(size).ok_or(Error::InvalidValue)?;
        let rows = pitch.checked_mul(height.saturating_sub(1)).ok_or(Error::InvalidValue)?;
        let bytes = rows.checked_add(width).ok_or(Error::InvalidValue)?;
        if !matches!(size, 1 | 2 | 4) || !address.is_multiple_of(size) || (height > 1 && pitch < width) {
            return Err(Error::InvalidValue);
        }
        let inside = |(start, size): (u64, u64)| address - start <= size && bytes <= size - (address - start);
        let memory = match process.memory_of(address) {
            Some(memory) if memory.allocation_of(address).is_some_and(inside) => Memory::Device(memory),
            None if process.registered(address, bytes) => Memory::Host,
            _ => return Err(Error::InvalidValue),
        };
        Ok(Self { process: Arc::clone(process), memory, pattern })
    }

    pub(crate) fn run(&self) -> Result<()> {
        let _turn = self.process.turn();
        let _busy = self.process.checking().map(Checking::busy);
        let Pattern { address, pitch, value, size, width, height } = self.pattern;
        let value = &value.to_le_bytes()[..size as usize];
        let width = width * size;
        let piece = value.repeat((PIECE as u64).min(width).div_ceil(size) as usize);
        for y in 0..height {
            let mut at = 0;
            while at < width {
                let bytes = (width - at).min(piece.len() as u64) as usize;
                let (to, from) = (address + y * pitch + at, &piece[..bytes]);
                match &self.memory {
                    Memory::Device(memory) => memory.write(to, from)?,
                    _ => self.process.host.write(to, bytes, &mut |row| row.copy_from_slice(from)),
                }
                at += bytes as u64;
            }
            if let Some(checking) = self.process.checking() {
                checking.copied("a fill", &[(address + y * pitch, width, Access::Store)]);
            }
        }
        Ok(())
    }
}

impl Operation for Arc<Fill> {
    fn name(&self) -> &'static str {
        "fill"
    }

    fn run(self: Box<Self>, health: &Health, _: Option<Neighbours<'_>>) {
        health.note(Fill::run(&self));
    }
}

impl Context {
    /// Checks a fill, for a graph.
    pub fn prepare_fill(&self, pattern: Pattern) -> Result<Arc<Fill>> {
        self.usable()?;
        Ok(Arc::new(Fill::new(self.device().process(), pattern)?))
    }
}
