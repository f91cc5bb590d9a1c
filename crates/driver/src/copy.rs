//! Copies in up to three dimensions.

use crate::allocation::MemoryKind;
use crate::check::Checking;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::health::Health;
use crate::operation::Operation;
use crate::process::Process;
use machine::Neighbours;
use machine::fault::Access;
use machine::memory::DeviceMemory;
use std::sync::Arc;

/// What the program says an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program's memory; an address of the device's is taken as that, too.
    Host,
    /// The device's memory.
    Device,
    /// Let the address tell.
    Unified,
}

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// What it is said to be.
    pub side: Side,
    /// The first byte to be copied.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// Bytes from slice to slice.
    pub slice: u64,
}

impl End {
    /// The end of a copy of one row.
    pub fn linear(side: Side, address: u64) -> Self {
        Self { side, address, pitch: 0, slice: 0 }
    }

    /// Where a row starts.
    fn row(&self, y: u64, z: u64) -> u64 {
        self.address + y * self.pitch + z * self.slice
    }
}

/// A request to copy.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// To.
    pub to: End,
    /// From.
    pub from: End,
    /// Bytes of a row, rows of a slice, slices.
    pub extent: [u64; 3],
}

/// A copy that has been checked.
pub struct Copy {
    process: Arc<Process>,
    request: Request,
    from: Memory,
    to: Memory,
}

/// Where bytes are.
pub(crate) enum Memory {
    Host,
    Device(Arc<DeviceMemory>),
    /// Bytes of the program that were set aside when the copy was submitted, packed.
    Staged(Vec<u8>),
}

impl Memory {
    pub(crate) fn same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device(one), Self::Device(other)) => Arc::ptr_eq(one, other),
            (Self::Device(_), _) | (_, Self::Device(_)) => false,
            _ => true,
        }
    }
}

/// Bytes of the program that are set aside, so that a call can return before they are copied. What is more is copied in
/// the call, after the stream's work, as CUDA does from 64 KiB on.
const MOST_STAGED: u64 = 1 << 20;

/// Bytes that pass from device to device, or are filled, at a time.
pub(crate) const PIECE: usize = 64 << 10;

impl Copy {
    /// What it was asked to do.
    pub fn request(&self) -> &Request {
        &self.request
    }

    pub(crate) fn new(process: &Arc<Process>, request: Request) -> Result<Self> {
        let [width, height, depth] = request.extent;
        let span = |end: &End| {
            let rows = end.pitch.checked_mul(height.saturating_sub(1))?;
            let bytes =
                end.slice.checked_mul(depth.saturating_sub(1))?.checked_add(rows)?.checked_add(width)?;
            end.address.checked_add(bytes).map(|_| bytes)
        };
        let slice = |end: &End| end.pitch.checked_mul(height.saturating_sub(1))?.checked_add(width);
        let narrow = |end: &End| {
            (height > 1 && end.pitch < width)
                || (depth > 1 && slice(end).is_none_or(|bytes| end.slice < bytes))
        };
        if narrow(&request.to) || narrow(&request.from) {
            return Err(Error::InvalidValue);
        }
        let memory = |end: &End| {
            let bytes = span(end).ok_or(Error::InvalidValue)?;
            match process.memory_of(end.address) {
                Some(memory) => {
                    let inside = |(start, size): (u64, u64)| end.address - start + bytes <= size;
                    let known = memory.allocation_of(end.address).is_some_and(inside);
                    if known { Ok(Memory::Device(memory)) } else { Err(Error::InvalidValue) }
                }
                // What is registered has one address for program and devices.
                None if process.registered(end.address, bytes) => Ok(Memory::Host),
                None if end.side == Side::Device || end.address == 0 => Err(Error::InvalidValue),
                None => Ok(Memory::Host),
            }
        };
        let (to, from) = (memory(&request.to)?, memory(&request.from)?);
        Ok(Self { process: Arc::clone(process), request, from, to })
    }

    /// Whether another one goes between the same devices.
    pub(crate) fn same_places(&self, other: &Self) -> bool {
        self.from.same_place(&other.from) && self.to.same_place(&other.to)
    }

    /// Whether it needs memory of the program that devices do not reach.
    pub(crate) fn needs_host(&self) -> bool {
        let [width, ..] = self.request.extent;
        let beyond = |memory: &Memory, end: &End| match memory {
            Memory::Device(_) => false,
            Memory::Host => !self.process.registered(end.address, width),
            Memory::Staged(_) => true,
        };
        beyond(&self.from, &self.request.from) || beyond(&self.to, &self.request.to)
    }

    /// Rows as offsets into both ends; one long row if there are no gaps.
    fn rows(&self) -> (u64, u64, u64) {
        let [width, height, depth] = self.request.extent;
        let (to, from) = (&self.request.to, &self.request.from);
        let dense = |end: &End| end.pitch == width && (depth == 1 || end.slice == width * height);
        if dense(to) && dense(from) { (width * height * depth, 1, 1) } else { (width, height, depth) }
    }

    pub(crate) fn run(&self) -> Result<()> {
        let _turn = self.process.turn();
        let _busy = self.process.checking().map(Checking::busy);
        let (width, height, depth) = self.rows();
        for z in 0..depth {
            for y in 0..height {
                let (to, from) = (self.request.to.row(y, z), self.request.from.row(y, z));
                let packed = (z * height + y) * width;
                self.copy_row(to, from, packed as usize, width as usize)?;
            }
        }
        Ok(())
    }

    fn copy_row(&self, to: u64, from: u64, packed: usize, bytes: usize) -> Result<()> {
        let host = &self.process.host;
        let mut result = Ok(());
        match (&self.from, &self.to) {
            (Memory::Staged(staged), Memory::Device(memory)) => {
                result = memory.write(to, &staged[packed..packed + bytes]);
            }
            (Memory::Host, Memory::Device(memory)) => {
                host.read(from, bytes, &mut |row| result = memory.write(to, row));
            }
            (Memory::Device(memory), Memory::Host) => {
                host.write(to, bytes, &mut |row| result = memory.read(from, row));
            }
            (Memory::Host, Memory::Host) => {
                host.read(from, bytes, &mut |source| {
                    host.write(to, bytes, &mut |row| row.copy_from_slice(source));
                });
            }
            (Memory::Device(source), Memory::Device(memory)) if Self::apart(source, from, to, bytes) => {
                host.read(from, bytes, &mut |row| result = memory.write(to, row));
            }
            (Memory::Device(source), Memory::Device(memory)) => {
                let mut piece = vec![0; PIECE.min(bytes)];
                let mut at = 0;
                while at < bytes {
                    let piece = &mut piece[..PIECE.min(bytes - at)];
                    source.read(from + at as u64, piece)?;
                    memory.write(to + at as u64, piece)?;
                    at += piece.len();
                }
            }
            // A copy is staged only on its way to a device.
            (Memory::Staged(_), _) | (_, Memory::Staged(_)) => {}
        }
        if let Some(checking) = self.process.checking() {
            // Kernels reach what the program has registered.
            let reached = |memory: &Memory, address| match memory {
                Memory::Device(_) => true,
                Memory::Host => self.process.registered(address, bytes as u64),
                Memory::Staged(_) => false,
            };
            let ends = [(&self.from, from, Access::Load), (&self.to, to, Access::Store)];
            let followed = ends.into_iter().filter(|(memory, address, _)| reached(memory, *address));
            let ranges: Vec<_> =
                followed.map(|(_, address, access)| (address, bytes as u64, access)).collect();
            if !ranges.is_empty() {
                checking.copied("a copy", &ranges);
            }
        }
        Ok(result?)
    }

    /// Whether bytes can be copied at once: the source is there, and the destination is elsewhere.
    fn apart(source: &DeviceMemory, from: u64, to: u64, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let there = source.allocation_of(from).is_some_and(|(start, size)| from - start + bytes <= size);
        there && from.abs_diff(to) >= bytes
    }

    /// Whether an end is memory of the program that is not page-locked.
    fn pageable(&self, memory: &Memory, end: &End) -> bool {
        let known = || self.process.allocation_of(end.address);
        matches!(memory, Memory::Host) && known().is_none_or(|known| known.kind != MemoryKind::Registered)
    }

    /// Whether it must be over when the call returns: what the program will look at without waiting must be there. Only
    /// page-locked memory, and what can be set aside, is copied in the background.
    pub(crate) fn blocks(&self) -> bool {
        let among_host = matches!((&self.from, &self.to), (Memory::Host, Memory::Host));
        let large = self.request.extent.iter().product::<u64>() > MOST_STAGED;
        among_host
            || self.pageable(&self.to, &self.request.to)
            || (large && self.pageable(&self.from, &self.request.from))
    }

    /// Takes bytes now that the program may free or change after the call.
    pub(crate) fn stage(&mut self) {
        if !self.pageable(&self.from, &self.request.from) {
            return;
        }
        let [width, height, depth] = self.request.extent;
        let mut staged = Vec::with_capacity((width * height * depth) as usize);
        for z in 0..depth {
            for y in 0..height {
                let row = self.request.from.row(y, z);
                self.process.host.read(row, width as usize, &mut |bytes| staged.extend_from_slice(bytes));
            }
        }
        self.from = Memory::Staged(staged);
    }
}

impl Operation for Arc<Copy> {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn run(self: Box<Self>, health: &Health, _: Option<Neighbours<'_>>) {
        health.note(Copy::run(&self));
    }
}

impl Context {
    /// Checks a copy, for a graph: the program's memory is read and written when the graph runs.
    pub fn prepare_copy(&self, request: Request) -> Result<Arc<Copy>> {
        self.usable()?;
        Ok(Arc::new(Copy::new(self.device().process(), request)?))
    }
}
