//! The device runtime: what kernels call to launch kernels (CUDA programming guide, "Dynamic Parallelism").
//!
//! nvcc turns `kernel<<<grid, block, shared, stream>>>(...)` in device code into two calls: one gives a buffer, into which
//! the code stores the parameters, the other launches. The functions are called `__cudaCDP2...` in code of today and
//! `cuda...` in older code; those that end in `_ptsz` are for code in which every thread has a default stream of its own.
//! What they answer is recorded from an H200 (driver 580.159.04) where the guide does not say it: a launch that cannot be
//! is always `cudaErrorInvalidConfiguration`, a stream or event that cannot be used `cudaErrorInvalidValue`, and an error
//! is remembered for the thread alone. Graphs are the driver's, so it launches and [changes](graph_node) them.

mod graph_node;

use super::Caller;
use super::error::{Error, texts};
use crate::device_runtime::{BUFFER, DeviceRuntime, GraphAnswer, GraphStream, Refusal, Request, Rows};
use crate::fault::{Access, Trap};
use crate::image::builtin::RuntimeCall;
use crate::memory::Cell;
use crate::ops::address::{Generic, Space};
use crate::order::{InOrder, Stream};
use ptx::module::FuncId;

/// Streams that are always there, by their handles; zero is the default stream.
mod stream {
    pub(super) const DEFAULT: u64 = 0;
    pub(super) const LEGACY: u64 = 1;
    pub(super) const PER_THREAD: u64 = 2;
    pub(super) const TAIL: u64 = 3;
    pub(super) const FIRE_AND_FORGET: u64 = 4;

    /// Those into which graphs can be launched.
    pub(super) fn of_graphs(handle: u64) -> Option<super::GraphStream> {
        Some(match handle.checked_shr(56)? {
            _ if handle << 8 != 0 => return None,
            1 => super::GraphStream::Tail,
            2 => super::GraphStream::FireAndForget,
            3 => super::GraphStream::Sibling,
            _ => return None,
        })
    }
}

/// The only flag that an event must have: nothing in device code can ask for its time.
const DISABLE_TIMING: u64 = 2;

/// Kinds of copies that device code may ask for: from device to device, and whatever the addresses say.
const COPIES_WITHIN: [u64; 2] = [3, 4];

/// What the device runtime of an H200 says its version is.
const VERSION: u32 = 6000;

/// `cudaSharedMemBankSizeFourByte`.
const FOUR_BYTE_BANKS: u32 = 1;

/// Why a call does not succeed.
enum Failure {
    /// It returns an error.
    Refused(Error),
    /// It stops the kernel.
    Trap(Trap),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Trap> for Failure {
    fn from(trap: Trap) -> Self {
        Self::Trap(trap)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.into())
    }
}

type Answer<T> = Result<T, Failure>;

/// A lane that calls.
struct Lane<'c, 'a, 'b> {
    caller: &'c mut Caller<'a, 'b>,
    runtime: &'a dyn DeviceRuntime,
    warp: usize,
    lane: usize,
}

impl Caller<'_, '_> {
    /// Executes a function of the device runtime for a lane.
    pub(super) fn run_runtime(&mut self, call: RuntimeCall, warp: usize, lane: usize) -> Result<(), Trap> {
        let outside =
            || Trap::InvalidCall("the device runtime is called outside of a family of grids".to_owned());
        let runtime = self.x.grid.runtime.ok_or_else(outside)?;
        let value = match (Lane { caller: self, runtime, warp, lane }).run(call) {
            Ok(value) => value,
            Err(Failure::Trap(trap)) => return Err(trap),
            Err(Failure::Refused(error)) => {
                self.x.threads.last_errors.insert((warp, lane), error as u32);
                match call {
                    RuntimeCall::GetParameterBuffer | RuntimeCall::GetParameterBufferV2 => 0,
                    _ => error as u64,
                }
            }
        };
        self.give(value, warp, lane)
    }
}

impl Lane<'_, '_, '_> {
    /// A buffer for parameters. Others have had it before: to who watches it is memory that is allocated now.
    fn buffer(&self, request: Option<Request>) -> Answer<u64> {
        let buffer = self.runtime.buffer(request)?;
        self.caller.tell_heap(buffer, BUFFER.into(), self.warp, self.lane);
        Ok(buffer)
    }

    /// Launches with the parameters in a buffer, and gives that back.
    fn launch(&self, request: Option<Request>, buffer: u64, stream: Stream) -> Answer<()> {
        self.caller.tell_heap(buffer, 0, self.warp, self.lane);
        Ok(self.runtime.launch(request, buffer, stream)?)
    }

    /// What the function returns.
    fn run(&mut self, call: RuntimeCall) -> Answer<u64> {
        match call {
            RuntimeCall::GetParameterBuffer => {
                let bytes = self.argument(1)?;
                if bytes > BUFFER.into() {
                    return Err(Error::InvalidValue.into());
                }
                return self.buffer(None);
            }
            RuntimeCall::GetParameterBufferV2 => {
                let (grid, block) = (self.words(1)?, self.words(2)?);
                let dynamic_shared = self.argument(3)? as u32;
                let kernel = self.kernel(0)?;
                return self.buffer(Some(Request { kernel, grid, block, dynamic_shared }));
            }
            RuntimeCall::LaunchDevice(own) => {
                let (grid, block) = (self.words(2)?, self.words(3)?);
                let dynamic_shared = self.argument(4)? as u32;
                let kernel = self.kernel(0)?;
                let (buffer, stream) = (self.argument(1)?, self.stream(5, own)?);
                self.launch(Some(Request { kernel, grid, block, dynamic_shared }), buffer, stream)?;
            }
            RuntimeCall::LaunchDeviceV2(own) => {
                let (buffer, stream) = (self.argument(0)?, self.stream(1, own)?);
                self.launch(None, buffer, stream)?;
            }
            RuntimeCall::StreamCreate => {
                let handle = self.runtime.make_stream()?;
                self.store(0, handle)?;
            }
            RuntimeCall::StreamDestroy => {
                let handle = self.argument(0)?;
                self.runtime.destroy_stream(handle)?;
            }
            RuntimeCall::StreamWaitEvent(own) => {
                let stream = self.ordered_stream(0, own)?;
                let event = self.argument(1)?;
                self.runtime.wait(event, stream)?;
            }
            RuntimeCall::EventCreate => {
                if self.argument(1)? & DISABLE_TIMING == 0 {
                    return Err(Error::InvalidValue.into());
                }
                let made = self.runtime.make_event();
                self.store(0, made.map_err(|_| Error::MemoryAllocation)?)?;
            }
            RuntimeCall::EventRecord(own) => {
                let stream = self.ordered_stream(1, own)?;
                let event = self.argument(0)?;
                self.runtime.record(event, stream)?;
            }
            RuntimeCall::EventDestroy => {
                let event = self.argument(0)?;
                self.runtime.destroy_event(event)?;
            }
            RuntimeCall::Memcpy(own) => {
                self.copies_within(3)?;
                let (to, from, width) = (self.row(0)?, self.row(1)?, self.argument(2)?);
                self.copy(to, Some(from), 0, [width, 1, 1], 4, own)?;
            }
            RuntimeCall::Memcpy2D(own) => {
                self.copies_within(6)?;
                let (to, from) = (self.rows(0, 1)?, self.rows(2, 3)?);
                let extent = [self.argument(4)?, self.argument(5)?, 1];
                self.copy(to, Some(from), 0, extent, 7, own)?;
            }
            RuntimeCall::Memcpy3D(own) => self.copy_3d(own)?,
            RuntimeCall::Memset(own) => {
                let (to, value, width) = (self.row(0)?, self.argument(1)?, self.argument(2)?);
                self.copy(to, None, value as u8, [width, 1, 1], 3, own)?;
            }
            RuntimeCall::Memset2D(own) => {
                let (to, value) = (self.rows(0, 1)?, self.argument(2)?);
                let extent = [self.argument(3)?, self.argument(4)?, 1];
                self.copy(to, None, value as u8, extent, 5, own)?;
            }
            RuntimeCall::Memset3D(own) => {
                let (place, value) = (self.words::<8>(0)?, self.argument(1)?);
                let extent = self.words::<6>(2)?;
                let [address, pitch, _, height] = wide(place);
                let to = Rows { address, pitch, slice: pitch.wrapping_mul(height) };
                self.copy(to, None, value as u8, wide(extent), 3, own)?;
            }
            RuntimeCall::Malloc => {
                let bytes = self.argument(1)?;
                if bytes == 0 {
                    self.store(0, 0u64)?;
                    return Err(Error::InvalidValue.into());
                }
                let address = self.caller.allocate_for(bytes, self.warp, self.lane);
                self.store(0, address)?;
                if address == 0 {
                    return Err(Error::MemoryAllocation.into());
                }
            }
            RuntimeCall::Free => {
                let address = self.argument(0)?;
                self.caller.free(address, self.warp, self.lane)?;
            }
            RuntimeCall::GetLastError | RuntimeCall::PeekAtLastError => {
                let errors = &mut self.caller.x.threads.last_errors;
                let error = match call {
                    RuntimeCall::GetLastError => errors.remove(&(self.warp, self.lane)),
                    _ => errors.get(&(self.warp, self.lane)).copied(),
                };
                return Ok(error.unwrap_or(0).into());
            }
            RuntimeCall::GetErrorName | RuntimeCall::GetErrorString => {
                let [name, text] = texts(self.argument(0)? as u32);
                let text = if call == RuntimeCall::GetErrorName { name } else { text };
                return Ok(self.runtime.text(text).unwrap_or(0));
            }
            RuntimeCall::GetDevice => {
                let (device, _) = self.device()?;
                self.store(0, device)?;
            }
            RuntimeCall::GetDeviceCount => {
                let (_, count) = self.device()?;
                self.store(0, count)?;
            }
            RuntimeCall::GetAttribute => {
                let (attribute, device) = (self.argument(1)? as u32, self.argument(2)? as u32);
                if device != self.device()?.0 {
                    return Err(Error::InvalidDevice.into());
                }
                let value = self.runtime.attribute(attribute).ok_or(Error::InvalidValue)?;
                self.store(0, value as u32)?;
            }
            RuntimeCall::GetLimit => {
                let limit = self.argument(1)? as u32;
                self.device()?;
                match self.runtime.limit(limit) {
                    Some(value) => self.store(0, value)?,
                    None => {
                        self.store(0, u64::MAX)?;
                        // This one is not remembered.
                        return Ok(Error::UnsupportedLimit as u64);
                    }
                }
            }
            RuntimeCall::GetCacheConfig => self.store(0, 0u32)?,
            RuntimeCall::GetSharedMemConfig => self.store(0, FOUR_BYTE_BANKS)?,
            RuntimeCall::RuntimeGetVersion => self.store(0, VERSION)?,
            RuntimeCall::FuncGetAttributes => self.attributes()?,
            RuntimeCall::Occupancy => {
                let (kernel, threads, dynamic) = (self.kernel(1)?, self.argument(2)?, self.argument(3)?);
                let dynamic = u32::try_from(dynamic).unwrap_or(u32::MAX);
                let blocks = self.runtime.resident_ctas(kernel, threads as u32, dynamic);
                let blocks = blocks.ok_or(Error::NotSupported)?;
                self.store(0, blocks)?;
            }
            RuntimeCall::GraphLaunch => {
                let (graph, handle) = (self.argument(0)?, self.argument(1)?);
                let stream = stream::of_graphs(handle).ok_or(Error::InvalidValue)?;
                let answer = self.runtime.launch_graph(graph, stream).ok_or(Error::NotSupported)?;
                self.graph_answer(answer)?;
            }
            RuntimeCall::GraphNode(call) => self.change_nodes(call)?,
        }
        Ok(0)
    }

    fn argument(&self, i: usize) -> Answer<u64> {
        Ok(self.caller.argument(i, self.warp, self.lane)?)
    }

    /// An argument that is a structure, in words of 32 bits.
    fn words<const N: usize>(&self, i: usize) -> Answer<[u32; N]> {
        Ok(self.caller.words(i, self.warp, self.lane)?)
    }

    /// Stores what an argument points to.
    fn store<T: Cell>(&mut self, i: usize, value: T) -> Answer<()> {
        let address = self.argument(i)?;
        self.store_at(address, value)
    }

    fn store_at<T: Cell>(&mut self, address: u64, value: T) -> Answer<()> {
        if address == 0 {
            return Err(Error::InvalidValue.into());
        }
        let x = &mut self.caller.x;
        let stored = Generic::store(x, self.warp, self.lane, address, value);
        stored.ok_or_else(|| Failure::Trap(x.bad_access(address, T::BYTES, Access::Store)))
    }

    /// The kernel whose address an argument is.
    fn kernel(&self, i: usize) -> Answer<FuncId> {
        Ok(self.runtime.kernel(self.argument(i)?).ok_or(Error::InvalidValue)?)
    }

    /// What is made of the driver's answer to a call with handles of graphs or nodes.
    fn graph_answer(&self, answer: GraphAnswer) -> Answer<()> {
        match answer {
            GraphAnswer::Done => Ok(()),
            GraphAnswer::Refused => Err(Error::InvalidValue.into()),
            // An H200 looks at what the handle points to.
            GraphAnswer::Unknown(handle) => Err(self.caller.x.bad_access(handle, 8, Access::Load).into()),
        }
    }

    /// Which device it is and how many there are, if there is a system to say so.
    fn device(&self) -> Answer<(u32, u32)> {
        Ok(self.runtime.device().ok_or(Error::NotSupported)?)
    }

    /// The stream whose handle an argument is.
    fn stream(&self, i: usize, own: bool) -> Answer<Stream> {
        match self.argument(i)? {
            stream::TAIL => Ok(Stream::Tail),
            stream::FIRE_AND_FORGET => Ok(Stream::FireAndForget),
            _ => self.ordered_stream(i, own).map(Stream::InOrder),
        }
    }

    /// The same for what takes no other streams.
    fn ordered_stream(&self, i: usize, own: bool) -> Answer<InOrder> {
        let handle = self.argument(i)?;
        let threads = &self.caller.x.threads;
        let block = threads.ctaid;
        match handle {
            stream::PER_THREAD => Ok(InOrder::Thread(block, self.thread())),
            stream::DEFAULT if own => Ok(InOrder::Thread(block, self.thread())),
            stream::DEFAULT | stream::LEGACY => Ok(InOrder::Block(block)),
            made if self.runtime.has_stream(made) => Ok(InOrder::Made(made)),
            _ => Err(Error::InvalidValue.into()),
        }
    }

    /// The number of the calling thread in its CTA.
    fn thread(&self) -> u32 {
        let warp = self.caller.x.threads.first_warp + self.warp as u32;
        warp * crate::lanes::LANES as u32 + self.lane as u32
    }

    /// Refuses copies that would need the host.
    fn copies_within(&self, kind: usize) -> Answer<()> {
        match COPIES_WITHIN.contains(&self.argument(kind)?) {
            true => Ok(()),
            false => Err(Error::InvalidMemcpyDirection.into()),
        }
    }

    fn row(&self, address: usize) -> Answer<Rows> {
        Ok(Rows { address: self.argument(address)?, pitch: 0, slice: 0 })
    }

    fn rows(&self, address: usize, pitch: usize) -> Answer<Rows> {
        Ok(Rows { address: self.argument(address)?, pitch: self.argument(pitch)?, slice: 0 })
    }

    fn copy(
        &self,
        to: Rows,
        from: Option<Rows>,
        value: u8,
        extent: [u64; 3],
        stream: usize,
        own: bool,
    ) -> Answer<()> {
        let stream = self.stream(stream, own)?;
        if extent.contains(&0) {
            return Ok(());
        }
        Ok(self.runtime.move_bytes(to, from, value, extent, stream)?)
    }

    /// `cudaMemcpy3DAsync`: from pointer to pointer, no arrays.
    fn copy_3d(&self, own: bool) -> Answer<()> {
        let at = self.argument(0)?;
        let mut fields = [0u64; 20];
        for (i, field) in fields.iter_mut().enumerate() {
            let address = at.wrapping_add(8 * i as u64);
            let x = &self.caller.x;
            *field = Generic::load::<u64>(x, self.warp, self.lane, address)
                .ok_or_else(|| x.bad_access(address, 8, Access::Load))?;
        }
        let half = |fields: &[u64]| {
            let [array, x, y, z, address, pitch, _, height] = fields[..8].try_into().unwrap_or_default();
            let slice = pitch.wrapping_mul(height);
            let offset = z.wrapping_mul(slice).wrapping_add(y.wrapping_mul(pitch)).wrapping_add(x);
            (array == 0).then_some(Rows { address: address.wrapping_add(offset), pitch, slice })
        };
        if !COPIES_WITHIN.contains(&(fields[19] & 0xffff_ffff)) {
            return Err(Error::InvalidMemcpyDirection.into());
        }
        let from = half(&fields).ok_or(Error::InvalidValue)?;
        let to = half(&fields[8..]).ok_or(Error::InvalidValue)?;
        self.copy(to, Some(from), 0, [fields[16], fields[17], fields[18]], 1, own)
    }

    /// `cudaFuncGetAttributes`: the fields that the structure has had from its beginning.
    fn attributes(&mut self) -> Answer<()> {
        let (at, kernel) = (self.argument(0)?, self.kernel(1)?);
        let found = self.runtime.attributes(kernel).ok_or(Error::NotSupported)?;
        for (i, size) in (0..).zip([found.shared, found.constant, found.local]) {
            self.store_at(at.wrapping_add(8 * i), size)?;
        }
        let numbers = [found.threads, found.registers, found.target, found.target, 0, 0];
        for (i, number) in (0..).zip(numbers) {
            self.store_at(at.wrapping_add(24 + 4 * i), number)?;
        }
        Ok(())
    }
}

/// Words of 64 bits.
fn wide<const N: usize, const M: usize>(words: [u32; N]) -> [u64; M] {
    std::array::from_fn(|i| u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32)
}
