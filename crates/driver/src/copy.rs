//! Copies and fills, in up to three dimensions.

use crate::context::Context;
use crate::device::Process;
use crate::error::{Error, Result};
use crate::memory::MemoryKind;
use crate::stream::{Operation, Stream};
use machine::fault::Access;
use machine::memory::{DeviceMemory, HostRange};
use std::sync::Arc;

/// The program's memory, which only a border can reach.
///
/// The program promises that the ranges which it gives to CUDA's functions are its own; an implementation may rely on
/// that and on nothing else. Memory of devices has addresses of the program, too, and can be read here.
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

impl Memory {
    fn same_place(&self, other: &Self) -> bool {
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

/// Bytes that pass from device to device at a time.
const PIECE: usize = 64 << 10;

impl Copy {
    /// What it was asked to do.
    pub fn request(&self) -> &Request {
        &self.request
    }

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
        if let Some(checking) = &self.process.settings.checking {
            let of_device = |memory: &Memory| matches!(memory, Memory::Device(_));
            let ends = [(&self.from, from, Access::Load), (&self.to, to, Access::Store)];
            let followed = ends.into_iter().filter(|(memory, ..)| of_device(memory));
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
            if let Some(checking) = &self.process.settings.checking {
                checking.copied("a fill", &[(address + y * pitch, width, Access::Store)]);
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
        if self.capture_of(stream)?.is_some() && !wait {
            return self.submit(stream, Operation::Copy(Arc::new(copy)));
        }
        // What the program may free or change after the call must be read before it returns, and what it will look at
        // without waiting must be there: only page-locked memory is copied in the background.
        let pageable = |memory: &Memory, end: &End| {
            matches!(memory, Memory::Host)
                && self.allocation_of(end.address).is_none_or(|known| known.kind != MemoryKind::Registered)
        };
        let among_host = matches!((&copy.from, &copy.to), (Memory::Host, Memory::Host));
        let stage = pageable(&copy.from, &request.from);
        let large = request.extent.iter().product::<u64>() > MOST_STAGED;
        let in_time = wait || among_host || pageable(&copy.to, &request.to) || (stage && large);
        if in_time {
            return self.run_now(stream, Operation::Copy(Arc::new(copy)));
        }
        if stage {
            copy.stage();
        }
        self.submit(stream, Operation::Copy(Arc::new(copy)))
    }

    /// Checks a copy, for a graph: the program's memory is read and written when the graph runs.
    pub fn prepare_copy(&self, request: Request) -> Result<Arc<Copy>> {
        self.usable()?;
        Ok(Arc::new(Copy::new(self.device().process(), request)?))
    }

    /// Checks a fill, for a graph.
    pub fn prepare_fill(&self, pattern: Pattern) -> Result<Arc<Fill>> {
        self.usable()?;
        Ok(Arc::new(Fill::new(self.device().process(), pattern)?))
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
        let fill = self.prepare_fill(Pattern { address, pitch, value, size, width, height })?;
        let operation = Operation::Fill(fill);
        if wait { self.run_now(stream, operation) } else { self.submit(stream, operation) }
    }
}
