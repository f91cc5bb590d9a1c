//! The functions that the system provides to device code: vprintf, malloc, free, __assertfail,
//! cudaGraphSetConditional; and those of the [device runtime](device_runtime).
//!
//! Their parameters come in the caller's `.param` memory, lane by lane.

mod device_runtime;
mod error;

use super::pack::{Group, Pack};
use crate::common::Common;
use crate::exec::{Exec, Grid, LaneTrap, lanes_of};
use crate::fault::Trap;
use crate::image::builtin::Builtin;
use crate::image::control::{CallSite, ParameterLocation};
use crate::lanes::Files;
use crate::observe::Happening;
use crate::ops::address::{Generic, Space};
use crate::printf;

use std::sync::atomic::Ordering::Relaxed;

/// The longest string that is read from device memory.
const LONGEST_STRING: usize = 64 << 10;

/// What a builtin sees of its caller.
struct Caller<'a, 'b> {
    x: Exec<'a>,
    pack_local: u32,
    pc: u32,
    args: &'b [ParameterLocation],
    returns: &'b [ParameterLocation],
}

impl Pack {
    /// Executes a builtin for every lane of a group.
    pub(super) fn call_builtin(
        &mut self,
        builtin: Builtin,
        site: &CallSite,
        group: &Group,
        grid: &Grid<'_>,
        common: &mut Common,
    ) -> Result<(), LaneTrap> {
        let frame = &mut self.frames[group.frame];
        let files = std::mem::take(&mut frame.files);
        let mut caller = Caller {
            pack_local: frame.local_base,
            pc: group.pc,
            x: Exec::new(files, grid, &mut self.threads, common),
            args: &site.args,
            returns: &site.returns,
        };
        let mut result = Ok(());
        for (warp, lane) in lanes_of(group.mask) {
            if let Err(trap) = caller.run(builtin, warp, lane) {
                result = Err(LaneTrap { trap, lane: Some((warp, lane)) });
                break;
            }
        }
        let files: Files = caller.x.files;
        frame.files = files;
        result
    }
}

impl Caller<'_, '_> {
    fn run(&mut self, builtin: Builtin, warp: usize, lane: usize) -> Result<(), Trap> {
        match builtin {
            Builtin::Vprintf => {
                let template = self.string(self.argument(0, warp, lane)?, warp, lane)?;
                let arguments = self.argument(1, warp, lane)?;
                let text =
                    printf::printf(&template, &mut Arguments { caller: self, at: arguments, warp, lane });
                self.x.grid.output.write(&text);
                let conversions = printf::conversions(&template);
                self.give(conversions as u64, warp, lane)
            }
            Builtin::Malloc => {
                let bytes = self.argument(0, warp, lane)?;
                let address = self.allocate_for(bytes, warp, lane);
                self.give(address, warp, lane)
            }
            Builtin::Free => {
                let address = self.argument(0, warp, lane)?;
                self.free(address, warp, lane)
            }
            Builtin::SetCondition => {
                let (handle, value) = (self.argument(0, warp, lane)?, self.argument(1, warp, lane)?);
                match Generic::store::<u32>(&mut self.x, warp, lane, handle, value as u32) {
                    Some(()) => Ok(()),
                    None => Err(self.x.bad_access(handle, 4, crate::fault::Access::Store)),
                }
            }
            Builtin::Runtime(call) => self.run_runtime(call, warp, lane),
            Builtin::AssertFail => {
                let [message, file, line, function] = [0, 1, 2, 3].map(|i| self.argument(i, warp, lane));
                let text = |address| -> Result<String, Trap> {
                    Ok(String::from_utf8_lossy(&self.string(address, warp, lane)?).into_owned())
                };
                Err(Trap::Assert {
                    message: text(message?)?,
                    file: text(file?)?,
                    line: line? as u32,
                    function: text(function?)?,
                })
            }
        }
    }

    /// Device-side `malloc`: 0 when the heap is used up.
    fn allocate(&self, bytes: u64) -> u64 {
        let heap = self.x.grid.heap;
        let size = i64::try_from(bytes).unwrap_or(i64::MAX);
        if bytes == 0
            || heap.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(size).filter(|&l| l >= 0)).is_err()
        {
            return 0;
        }
        self.x.grid.memory.allocate(bytes).unwrap_or_else(|_| {
            heap.fetch_add(size, Relaxed);
            0
        })
    }

    /// The same, and who watches hears of it.
    fn allocate_for(&self, bytes: u64, warp: usize, lane: usize) -> u64 {
        let address = self.allocate(bytes);
        if address != 0 {
            self.tell_heap(address, bytes, warp, lane);
        }
        address
    }

    /// Who watches hears that memory is given to a lane, or, of no bytes, that it is given back.
    fn tell_heap(&self, address: u64, bytes: u64, warp: usize, lane: usize) {
        let lanes = |x: &Exec<'_>| x.lanes_at(self.pc, warp, 1 << lane);
        self.x.tell(|x| Happening::Heap { lanes: lanes(x), address, bytes });
    }

    /// Device-side `free`.
    fn free(&self, address: u64, warp: usize, lane: usize) -> Result<(), Trap> {
        if address == 0 {
            return Ok(());
        }
        let size = self.x.grid.memory.allocation_of(address).map_or(0, |(_, bytes)| bytes);
        self.tell_heap(address, 0, warp, lane);
        let freed = self.x.grid.memory.free(address);
        self.x.grid.heap.fetch_add(size as i64, Relaxed);
        freed.map_err(|_| self.x.bad_access(address, 1, crate::fault::Access::Store))
    }

    fn place(&self, places: &[ParameterLocation], i: usize) -> Result<ParameterLocation, Trap> {
        let missing = || Trap::InvalidCall("a system function called with too few parameters".to_owned());
        places.get(i).copied().ok_or_else(missing)
    }

    fn argument(&self, i: usize, warp: usize, lane: usize) -> Result<u64, Trap> {
        match self.place(self.args, i)? {
            ParameterLocation::Register(plane) => Ok(self.x.files.read(plane, warp, lane)),
            ParameterLocation::Memory { offset, bytes } => {
                let mut value = [0; 8];
                let passed = self.passed(offset, bytes.min(8), warp, lane)?;
                value[..passed.len()].copy_from_slice(passed);
                Ok(u64::from_le_bytes(value))
            }
            ParameterLocation::Predicate(_) => Err(no_value()),
        }
    }

    /// An argument that is a structure of words.
    fn words<const N: usize>(&self, i: usize, warp: usize, lane: usize) -> Result<[u32; N], Trap> {
        let mut words = [0; N];
        match self.place(self.args, i)? {
            ParameterLocation::Memory { offset, bytes } if bytes as usize == size_of_val(&words) => {
                bytemuck::cast_slice_mut(&mut words).copy_from_slice(self.passed(offset, bytes, warp, lane)?);
                Ok(words)
            }
            _ => Err(Trap::InvalidCall(format!("parameter {i} of a system function is not {N} words"))),
        }
    }

    /// Bytes of the caller's parameters.
    fn passed(&self, offset: u32, bytes: u32, warp: usize, lane: usize) -> Result<&[u8], Trap> {
        let at = u64::from(self.pack_local + offset);
        let range = self.x.local_range(warp, lane, at, bytes.into());
        let range = range.ok_or(Trap::StackOverflow { limit: self.x.grid.local.into() })?;
        Ok(&self.x.threads.local[range])
    }

    /// Stores the result, if the call takes one.
    fn give(&mut self, value: u64, warp: usize, lane: usize) -> Result<(), Trap> {
        match self.returns.first() {
            None => Ok(()),
            Some(&ParameterLocation::Register(plane)) => {
                self.x.files.write(plane, warp, lane, value);
                Ok(())
            }
            Some(&ParameterLocation::Memory { offset, bytes }) => {
                let bytes = bytes.min(8);
                let at = u64::from(self.pack_local + offset);
                let range = self.x.local_range(warp, lane, at, bytes.into());
                let range = range.ok_or(Trap::StackOverflow { limit: self.x.grid.local.into() })?;
                self.x.threads.local[range].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
                Ok(())
            }
            Some(ParameterLocation::Predicate(_)) => Err(no_value()),
        }
    }

    /// A zero-terminated string of device memory.
    fn string(&self, address: u64, warp: usize, lane: usize) -> Result<Vec<u8>, Trap> {
        let mut text = Vec::new();
        for i in 0..LONGEST_STRING as u64 {
            let at = address.wrapping_add(i);
            match Generic::load::<u8>(&self.x, warp, lane, at) {
                Some(0) => break,
                Some(byte) => text.push(byte),
                None => return Err(self.x.bad_access(at, 1, crate::fault::Access::Load)),
            }
        }
        Ok(text)
    }
}

/// A predicate in the place of a value.
fn no_value() -> Trap {
    Trap::InvalidCall("a system function called with a predicate".to_owned())
}

/// The buffer of `vprintf`'s arguments: each aligned to its own size.
struct Arguments<'c, 'a, 'b> {
    caller: &'c Caller<'a, 'b>,
    at: u64,
    warp: usize,
    lane: usize,
}

impl printf::Arguments for Arguments<'_, '_, '_> {
    fn next(&mut self, bytes: u64) -> Option<u64> {
        self.at = self.at.next_multiple_of(bytes);
        let at = self.at;
        self.at += bytes;
        let x = &self.caller.x;
        match bytes {
            4 => Generic::load::<u32>(x, self.warp, self.lane, at).map(u64::from),
            _ => Generic::load::<u64>(x, self.warp, self.lane, at),
        }
    }

    fn string(&self, address: u64) -> Option<Vec<u8>> {
        self.caller.string(address, self.warp, self.lane).ok()
    }
}
