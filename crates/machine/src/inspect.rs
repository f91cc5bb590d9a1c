//! What the threads of a CTA have when one of its warps is about to execute an instruction: where they are, frames,
//! registers, memory. A debugger takes a [`Snapshot`] of it, which stays when the threads go on.
//!
//! Other CTAs that are resident can be looked at, too. What threads have can be changed before the instruction is executed
//! ([`crate::observe::Observer::changes`]).
//!
//! Addresses are generic ones: shared, local and parameter memory lie in their windows. Registers are told of launches
//! that are made for debuggers alone ([`crate::LaunchOptions::debug`]); in others they share places.

use crate::lanes::LANES;
use crate::launch::Device;
use crate::memory::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use ptx::module::{FuncId, RegId};

/// Which threads a snapshot is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The warp that is about to execute the instruction.
    Warp,
    /// The whole CTA.
    Cta,
}

/// The CTA whose warp is about to execute an instruction.
pub trait State {
    /// What its threads have.
    fn snapshot(&self, extent: Extent) -> Snapshot;

    /// How many calls are around the instruction.
    fn depth(&self) -> usize;

    /// `%ctaid` of all CTAs of the grid whose threads have begun, or can at once, and have not all exited, as far as the host
    /// thread knows: all of them in a launch on one host thread.
    fn resident(&self) -> Vec<[u32; 3]>;

    /// What the threads of one of these have.
    fn snapshot_of(&self, block: [u32; 3]) -> Option<Snapshot>;

    /// Bytes at a generic address as a lane of a warp sees them that is about to execute the instruction; whether they are
    /// all there.
    fn read(&self, warp: u32, lane: usize, address: u64, into: &mut [u8]) -> bool;
}

/// What a thread has that is to be another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `%ctaid` of a resident CTA.
    pub block: [u32; 3],
    /// `%warpid`.
    pub warp: u32,
    /// What of it.
    pub of: Changed,
}

/// See [`Change`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// A register of an activation, in lanes.
    Register {
        /// [`Frame::number`].
        frame: usize,
        /// Which.
        register: RegId,
        /// Which lanes.
        lanes: u32,
        /// What it is then, zero-extended.
        value: u128,
    },
    /// Memory of the CTA or of a lane, at a generic address in the shared or local window.
    Memory {
        /// Whose, if it is local.
        lane: usize,
        /// The first byte.
        address: u64,
        /// What is there then.
        bytes: Vec<u8>,
    },
}

/// What the threads of a CTA have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// `%ctaid`.
    pub block: [u32; 3],
    /// Its warps, in order, as far as they were asked for.
    pub warps: Vec<Warp>,
    /// Shared memory of the CTA.
    pub shared: Vec<u8>,
    /// The address of its first byte in the shared window.
    pub shared_base: u64,
    /// The parameters of the kernel.
    pub params: Vec<u8>,
}

/// A warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warp {
    /// `%warpid`.
    pub number: u32,
    /// Lanes that have not exited.
    pub live: u32,
    /// `%tid` of every lane.
    pub threads: [[u32; 3]; LANES],
    /// The lanes by where they are: those that run, those that wait. Every live lane is in one.
    pub groups: Vec<Group>,
    /// Where lanes that went different ways meet again, the outermost first.
    pub meetings: Vec<Meeting>,
    /// Function activations. A group is in one; so may be several, after a branch that parted them.
    pub frames: Vec<Frame>,
    /// Local memory, lane by lane.
    pub local: Vec<u8>,
}

/// Lanes of a warp at one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Which lanes.
    pub mask: u32,
    /// The function and the instruction that they execute next, or wait at.
    pub place: (FuncId, u32),
    /// Their activation, an index of [`Warp::frames`].
    pub frame: usize,
    /// Whether they are the ones that are about to execute their instruction.
    pub current: bool,
    /// What they wait for.
    pub waits: Option<Waiting>,
}

/// What lanes wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The other threads of a CTA barrier.
    Barrier(u32),
    /// Lanes that the member mask of a `.sync` instruction names.
    Members,
    /// Lanes that went another way at a branch, at the place where they meet again.
    Meeting,
    /// Something else, in words.
    Event(String),
}

/// Where lanes that went different ways meet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The function and the instruction before which they meet.
    pub place: (FuncId, u32),
    /// Lanes that are expected.
    pub expected: u32,
    /// Those of them that are there.
    pub arrived: u32,
}

/// A function activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What the machine calls it.
    pub number: usize,
    /// The function.
    pub function: FuncId,
    /// The activation that called it, an index of [`Warp::frames`], and the call.
    pub caller: Option<(usize, u32)>,
    /// Where its part of each thread's local memory begins.
    pub local_base: u32,
    /// The registers of the function's body; `None` for one that nobody reads.
    pub registers: Vec<Option<Row>>,
}

/// The values of a register in the lanes of a warp, zero-extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// Up to 64 bits each.
    Lanes(Box<[u64; LANES]>),
    /// 128 bits each.
    Wide(Box<[u128; LANES]>),
}

impl Row {
    /// The value of a lane.
    pub fn lane(&self, lane: usize) -> u128 {
        match self {
            Self::Lanes(values) => u128::from(values[lane % LANES]),
            Self::Wide(values) => values[lane % LANES],
        }
    }
}

impl Warp {
    /// Where a lane is; `None` if it has exited.
    pub fn group_of(&self, lane: usize) -> Option<&Group> {
        self.groups.iter().find(|group| group.mask >> (lane % LANES) & 1 != 0)
    }

    /// A register of an activation, in all lanes.
    pub fn register(&self, frame: usize, register: RegId) -> Option<&Row> {
        self.frames.get(frame)?.registers.get(register.index())?.as_ref()
    }
}

impl Snapshot {
    /// A warp by its number.
    pub fn warp(&self, number: u32) -> Option<&Warp> {
        self.warps.iter().find(|warp| warp.number == number)
    }

    /// Bytes at a generic address as a lane of a warp sees them; whether they are all there. Global memory is read as it is
    /// now.
    pub fn read(&self, device: &Device, warp: &Warp, lane: usize, address: u64, into: &mut [u8]) -> bool {
        let offset = address & (WINDOW_SIZE - 1);
        let from = match address & !(WINDOW_SIZE - 1) {
            SHARED_WINDOW => {
                offset.checked_sub(self.shared_base).and_then(|at| part(&self.shared, at, into.len()))
            }
            LOCAL_WINDOW => {
                let each = warp.local.len() / LANES;
                let own = &warp.local[each * (lane % LANES)..][..each];
                part(own, offset, into.len())
            }
            PARAM_WINDOW => part(&self.params, offset, into.len()),
            _ => return device.read(address, into),
        };
        from.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }
}

/// So many bytes of a memory.
pub(crate) fn part(memory: &[u8], at: u64, bytes: usize) -> Option<&[u8]> {
    memory.get(range(at, bytes)?)
}

/// Where so many bytes of a memory are.
pub(crate) fn range(at: u64, bytes: usize) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(at).ok()?;
    Some(start..start.checked_add(bytes)?)
}
