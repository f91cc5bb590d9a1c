//! What a compiler tells of its machine code, so that variables are found in it: the calls that it inlined, in which registers of the
//! hardware those of PTX are, and where variables in memory lie.

use super::{BYTES, MachineCode};
use ptx::module::{FuncId, RegId, VarId};
use std::collections::HashMap;
use std::ops::Range;

/// A function whose code is part of a kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: FuncId,
    /// The call that was inlined: the number of the one that it stands in, and the instruction there. None of the kernel itself, and of what
    /// is called for real.
    pub site: Option<(u32, u32)>,
}

/// Where the hardware has 32 bits of a register of PTX, or a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hardware {
    /// A predicate.
    Predicate(u32),
    /// A register.
    General(u32),
    /// In the frame, so many bytes above R1.
    Frame(u32),
    /// A uniform register.
    Uniform(u32),
}

/// Where a register of PTX, or a part of it, is for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// In which call the register is.
    pub call: u32,
    /// The register.
    pub register: RegId,
    /// Which 32 bits of it, from the lowest.
    pub part: u32,
    /// Where they are.
    pub place: Hardware,
    /// The machine instructions in front of which they are there.
    pub instructions: Range<u32>,
}

/// Where a variable in memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In constant bank 0, where nothing changes.
    Parameter(u64),
    /// In shared memory.
    Shared(u64),
    /// At one that is known when the cubin is loaded.
    Symbol,
    /// In the kernel's frame, so many bytes above R1.
    Frame(u64),
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// The kernel, then the calls that were inlined.
    pub calls: Vec<Call>,
    /// Where registers are.
    pub kept: Vec<Kept>,
    /// The machine instructions in front of which memory has what it has in front of the instruction of PTX; all, if none are named.
    pub settled: Option<Vec<Range<u32>>>,
    /// Where variables are; those of a function by the number of its call, all others by 0.
    pub homes: HashMap<(u32, VarId), Home>,
    /// The machine instructions of the kernel itself; others are of functions that it calls.
    pub own: u32,
    /// Bytes of the kernel's frame.
    pub frame: u64,
}

impl Variables {
    /// Where a variable is, in a call.
    pub(super) fn home(&self, call: u32, variable: VarId) -> Option<Home> {
        self.homes.get(&(call, variable)).or_else(|| self.homes.get(&(0, variable))).copied()
    }
}

/// A kernel's machine code, and the places in PTX that it is for.
pub(super) struct Placed<'a> {
    pub(super) code: &'a MachineCode<'a>,
    pub(super) variables: &'a Variables,
    /// By call: machine instructions, and the instruction of its function that each is for, itself or by what was inlined there.
    positions: Vec<Vec<(u64, u32)>>,
}

impl<'a> Placed<'a> {
    /// Of code whose variables are known.
    pub(super) fn new(code: &'a MachineCode<'a>) -> Option<Self> {
        let variables = code.variables?;
        let mut positions = vec![Vec::new(); variables.calls.len()];
        for (at, origin) in (0..).zip(code.origins) {
            let mut place = origin.map(|origin| (origin.call, origin.instruction));
            while let Some((call, instruction)) = place {
                let Some(known) = positions.get_mut(call as usize) else { break };
                known.push((at, instruction));
                place = variables.calls[call as usize].site;
            }
        }
        Some(Self { code, variables, positions })
    }

    /// The bytes of machine code that are for some instructions of a call's function, and for what was inlined there.
    pub(super) fn runs(&self, call: u32, instructions: &Range<u32>) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = Vec::new();
        for (at, _) in self.positions[call as usize].iter().filter(|(_, it)| instructions.contains(it)) {
            let bytes = at * BYTES..(at + 1) * BYTES;
            match runs.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => runs.push(bytes),
            }
        }
        runs
    }
}
