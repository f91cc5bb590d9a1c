//! Copies and fills, in up to three dimensions.

use crate::context::Context;
use crate::device::Process;
use crate::error::{Error, Result};
use crate::memory::MemoryKind;
use crate::stream::{Operation, Stream};
use machine::memory::{DeviceMemory, HostRange};
use std::sync::Arc;

/// The program's memory, which only a border can reach.
///
/// The program promises that the ranges which it gives to CUDA's functions are its own; an implementation may rely on
/// that and on nothing else.
pub trait HostMemory: Send + Sync {
    /// Shows bytes of the program.
    fn read(&self, address: u64, bytes: usize, visit: &mut dyn FnMut(&[u8]));
    /// Lets bytes of the program be changed.
    fn write(&self, address: u64, bytes: usize, visit: &mut dyn FnMut(&mut [u8]));
    /// Bytes of the program that kernels may use from now on, until the program says otherwise; `None` if they cannot
    /// all be read and written.
    fn share(&self, address: u64, bytes: u64) -> Option<HostRange>;
}

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
enum Memory {
    Host,
    Device(Arc<DeviceMemory>),
    /// Bytes of the program that were set aside when the copy was submitted, packed.
    Staged(Vec<u8>),
}

/// Bytes that pass from device to device at a time.
const PIECE: usize = 64 << 10;

impl Copy {
    fn new(process: &Arc<Process>, request: Request) -> Result<Self> {
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

    /// Rows as offsets into both ends; one long row if there are no gaps.
    fn rows(&self) -> (u64, u64, u64) {
        let [width, height, depth] = self.request.extent;
        let (to, from) = (&self.request.to, &self.request.from);
        let dense = |end: &End| end.pitch == width && (depth == 1 || end.slice == width * height);
        if dense(to) && dense(from) { (width * height * depth, 1, 1) } else { (width, height, depth) }
    }

    pub(crate) fn run(&self) -> Result<()> {
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
        Ok(result?)
    }

    /// Takes the program's bytes now.
    fn stage(&mut self) {
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

/// A fill of rows with a value of 1, 2 or 4 bytes.
pub struct Fill {
    process: Arc<Process>,
    memory: Memory,
    address: u64,
    pitch: u64,
    width: u64,
    height: u64,
    pattern: [u8; 4],
}

impl Fill {
    pub(crate) fn run(&self) -> Result<()> {
        let piece = self.pattern.repeat(PIECE.min(self.width as usize).div_ceil(4));
        for y in 0..self.height {
            let mut at = 0;
            while at < self.width {
                let bytes = (self.width - at).min(piece.len() as u64) as usize;
                let (to, from) = (self.address + y * self.pitch + at, &piece[..bytes]);
                match &self.memory {
                    Memory::Device(memory) => memory.write(to, from)?,
                    _ => self.process.host.write(to, bytes, &mut |row| row.copy_from_slice(from)),
                }
                at += bytes as u64;
            }
        }
        Ok(())
    }
}

impl Context {
    /// Copies, at a place in a stream's order; returns when it is done, or when it is submitted.
    pub fn copy(&self, request: Request, stream: &Arc<Stream>, wait: bool) -> Result<()> {
        self.usable()?;
        if request.extent.contains(&0) {
            return Ok(());
        }
        let mut copy = Copy::new(self.device().process(), request)?;
        // What the program may free or change after the call must be read before it returns, and what it will look at
        // without waiting must be there: only page-locked memory is copied in the background.
        let pageable = |memory: &Memory, end: &End| {
            matches!(memory, Memory::Host)
                && self.allocation_of(end.address).is_none_or(|known| known.kind != MemoryKind::Registered)
        };
        let among_host = matches!((&copy.from, &copy.to), (Memory::Host, Memory::Host));
        let wait = wait || among_host || pageable(&copy.to, &request.to);
        if wait {
            return self.run_now(stream, Operation::Copy(Box::new(copy)));
        }
        if pageable(&copy.from, &request.from) {
            copy.stage();
        }
        self.submit(stream, Operation::Copy(Box::new(copy)))
    }

    /// Fills rows of `width` values of `size` bytes (1, 2 or 4), `pitch` bytes apart.
    #[expect(clippy::too_many_arguments, reason = "as many as the question has")]
    pub fn fill(
        &self,
        address: u64,
        pitch: u64,
        value: u32,
        size: u64,
        [width, height]: [u64; 2],
        stream: &Arc<Stream>,
        wait: bool,
    ) -> Result<()> {
        self.usable()?;
        if width == 0 || height == 0 {
            return Ok(());
        }
        let width = width.checked_mul(size).ok_or(Error::InvalidValue)?;
        let rows = pitch.checked_mul(height - 1).ok_or(Error::InvalidValue)?;
        let bytes = rows.checked_add(width).ok_or(Error::InvalidValue)?;
        if !address.is_multiple_of(size) || (height > 1 && pitch < width) {
            return Err(Error::InvalidValue);
        }
        let process = Arc::clone(self.device().process());
        let inside = |(start, size): (u64, u64)| address - start <= size && bytes <= size - (address - start);
        let memory = match process.memory_of(address) {
            Some(memory) if memory.allocation_of(address).is_some_and(inside) => Memory::Device(memory),
            None if process.registered(address, bytes) => Memory::Host,
            _ => return Err(Error::InvalidValue),
        };
        let [a, b, c, d] = value.to_le_bytes();
        let pattern = match size {
            1 => [a; 4],
            2 => [a, b, a, b],
            _ => [a, b, c, d],
        };
        let operation = Operation::Fill(Fill { process, memory, address, pitch, width, height, pattern });
        if wait { self.run_now(stream, operation) } else { self.submit(stream, operation) }
    }
}
