//! The functions that the driver provides to device code, called by the convention of its code: arguments in registers from R4 on, those of 64
//! bits in pairs, what has no place there where the stack ends, a result from R4 on, the address to return to in R20 and R21.

use crate::fault::FaultKind;
use crate::memory::{Local, Reach};
use crate::registers::{LANES, Registers, lanes};
use crate::step::{Place, Space};
use crate::texture::ByDerivatives;
use machine::output::Output;
use machine::printf;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Where a call returns to.
pub(crate) const BACK: u8 = 20;
/// The first register of arguments, and that of the result.
const FIRST: u8 = 4;
/// Bytes that `malloc` may give, as a context has them from the beginning.
const HEAP: u64 = 8 << 20;
/// The longest string that is read.
const LONGEST_STRING: usize = 64 << 10;

/// A function of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Vprintf,
    Malloc,
    Free,
    AssertFail,
    /// A word at the address that a conditional node's handle is.
    SetCondition,
    /// A fetch for which the texture unit has no instruction.
    Fetch(ByDerivatives),
}

impl Function {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "vprintf" => Self::Vprintf,
            "malloc" => Self::Malloc,
            "free" => Self::Free,
            "__assertfail" => Self::AssertFail,
            "cudaGraphSetConditional" => Self::SetCondition,
            _ => Self::Fetch(ByDerivatives::from_name(name.strip_prefix("__cuda_syscall_tex_grad_")?)?),
        })
    }
}

/// What these functions know beside a thread.
pub(crate) struct System {
    output: Output,
    /// What `malloc` has given: bytes by address.
    heap: Mutex<BTreeMap<u64, u64>>,
}

impl Default for System {
    fn default() -> Self {
        Self::new(Output::default())
    }
}

/// The warp that calls.
pub(crate) struct Caller<'a, 'r> {
    pub(crate) registers: &'a mut Registers,
    pub(crate) local: &'a mut Local,
    pub(crate) reach: &'a mut Reach<'r>,
}

/// One of its lanes, while it asks for memory.
struct Lane<'a, 'r> {
    local: &'a Local,
    reach: &'a Reach<'r>,
    lane: usize,
}

impl System {
    pub(crate) fn new(output: Output) -> Self {
        Self { output, heap: Mutex::default() }
    }

    /// Calls a function in the lanes of a mask, one after the other.
    pub(crate) fn call(
        &self,
        function: Function,
        active: u32,
        caller: Caller<'_, '_>,
    ) -> Result<(), FaultKind> {
        let Caller { registers, local, reach } = caller;
        if let Function::Fetch(fetch) = function {
            return fetch.perform(registers, local, reach, active);
        }
        let mut results = [0; LANES];
        for lane in lanes(active) {
            let argument = |number: u8, wide: bool| registers.general(FIRST + number, wide, lane);
            results[lane] = match function {
                Function::Vprintf => {
                    let from = Lane { local, reach, lane };
                    let template = from.string(argument(0, true))?;
                    let mut arguments = Arguments { from, at: argument(2, true) };
                    self.output.write(&printf::printf(&template, &mut arguments));
                    printf::conversions(&template) as u64
                }
                Function::Malloc => self.allocate(reach, argument(0, true)),
                Function::Free => {
                    self.free(reach, argument(0, true))?;
                    0
                }
                Function::AssertFail => {
                    let from = Lane { local, reach, lane };
                    let text = |address| {
                        Ok::<_, FaultKind>(String::from_utf8_lossy(&from.string(address)?).into_owned())
                    };
                    let [message, file, function] = [0, 2, 6].map(|at| text(argument(at, true)));
                    let (message, file, function) = (message?, file?, function?);
                    let line = argument(4, false);
                    return Err(FaultKind::Assert(format!(
                        "assertion `{message}` failed in {function} at {file}:{line}"
                    )));
                }
                Function::SetCondition => {
                    let value = (argument(2, false) as u32).to_le_bytes();
                    local.store(reach, Space::Generic, argument(0, true), lane, &value)?;
                    0
                }
                Function::Fetch(_) => 0,
            };
        }
        match function {
            Function::Vprintf => registers.set_values(Place::Registers(FIRST, 1), active, &results),
            Function::Malloc => registers.set_values(Place::Registers(FIRST, 2), active, &results),
            Function::Free | Function::AssertFail | Function::SetCondition | Function::Fetch(_) => {}
        }
        Ok(())
    }

    /// `malloc`: 0 where the heap is used up.
    fn allocate(&self, reach: &Reach<'_>, bytes: u64) -> u64 {
        let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        let taken: u64 = heap.values().sum();
        if bytes == 0 || bytes > HEAP - taken {
            return 0;
        }
        let address = reach.global.allocate(bytes).unwrap_or(0);
        if address != 0 {
            heap.insert(address, bytes);
        }
        address
    }

    fn free(&self, reach: &Reach<'_>, address: u64) -> Result<(), FaultKind> {
        if address == 0 {
            return Ok(());
        }
        let none = || FaultKind::Address { space: "global", address, bytes: 1 };
        let given = self.heap.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
        given.ok_or_else(none)?;
        reach.global.free(address).map_err(|_| none())
    }
}

impl Lane<'_, '_> {
    fn load<const N: usize>(&self, address: u64) -> Result<[u8; N], FaultKind> {
        let mut bytes = [0; N];
        self.local.load(self.reach, Space::Generic, address, self.lane, &mut bytes)?;
        Ok(bytes)
    }

    /// A string that ends with a zero.
    fn string(&self, address: u64) -> Result<Vec<u8>, FaultKind> {
        let mut text = Vec::new();
        for at in 0..LONGEST_STRING as u64 {
            match self.load(address.wrapping_add(at))? {
                [0] => break,
                [byte] => text.push(byte),
            }
        }
        Ok(text)
    }
}

/// The arguments of `vprintf`, each at a multiple of its size.
struct Arguments<'a, 'r> {
    from: Lane<'a, 'r>,
    at: u64,
}

impl printf::Arguments for Arguments<'_, '_> {
    fn next(&mut self, bytes: u64) -> Option<u64> {
        let at = self.at.next_multiple_of(bytes);
        self.at = at + bytes;
        match bytes {
            4 => self.from.load(at).ok().map(u32::from_le_bytes).map(u64::from),
            _ => self.from.load(at).ok().map(u64::from_le_bytes),
        }
    }

    fn string(&self, address: u64) -> Option<Vec<u8>> {
        self.from.string(address).ok()
    }
}
