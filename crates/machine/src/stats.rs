//! Statistics of a launch, counted exactly: every warp instruction is an event, and none is sampled.
//!
//! The counters stand instruction by instruction of the PTX text; sums by class, by opcode and over the launch are made
//! when the [`Report`] is. Host threads count into shards of their own, so that they do not wait for one another.
//!
//! Figures of memory follow the units in which NVIDIA GPUs move data: global memory in 32-byte *sectors*, shared memory
//! in *wavefronts* over 32 banks of 4 bytes. They are properties of the addresses alone. Caches, and with them the time
//! that a request takes, are not modelled.

use crate::exec::{Resolved, resolve};
use crate::fault::Access;
use crate::lanes::LANES;
use crate::memory::{SpaceKind, WINDOW_SIZE};
use crate::observe::{Event, MemoryAccess, Observer};
use ptx::isa::Opcode;
use ptx::module::{FuncId, Module};
use ptx::types::StateSpace;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes of a sector.
pub const SECTOR: u64 = 32;
/// Banks of shared memory.
pub const BANKS: usize = 32;
/// Bytes of a word of a bank.
pub const BANK_WORD: u64 = 4;

/// A state space that an access reached. A generic access counts for the space that its address leads into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Space {
    Global,
    Shared,
    Local,
    Const,
    /// Parameters of kernels, and of calls.
    Param,
}

impl Space {
    /// Its name without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
        }
    }
}

/// What accesses of one kind to one space amounted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The space reached.
    pub space: Space,
    /// Load, store or atomic.
    pub access: Access,
    /// Warp instructions with at least one lane that accessed the space.
    pub requests: u64,
    /// Accesses of single lanes.
    pub accesses: u64,
    /// Bytes that lanes asked for: every lane's bytes, though others may ask for the same ones.
    pub bytes: u64,
    /// Global, constant: distinct 32-byte sectors that a request touches, summed over requests. 0 in other spaces.
    pub sectors: u64,
    /// Shared: the least number of wavefronts that the requests could take. A wavefront serves up to 32 lanes that
    /// access 4 bytes or less, 16 with 8 bytes, 8 with 16 bytes: lanes 0 to 15 and 16 to 31, and so on. A part of the
    /// warp in which no lane accesses memory takes none. 0 in other spaces.
    pub ideal_wavefronts: u64,
    /// Shared: wavefronts taken. Each such part of the warp takes as many as the most distinct words that it touches in
    /// one bank; lanes that touch the same word share it. 0 in other spaces.
    pub wavefronts: u64,
    /// Atomics: lanes whose address an earlier lane of the same request has too, so that they come one after another.
    pub collisions: u64,
}

impl Traffic {
    fn new(space: Space, access: Access) -> Self {
        Self {
            space,
            access,
            requests: 0,
            accesses: 0,
            bytes: 0,
            sectors: 0,
            ideal_wavefronts: 0,
            wavefronts: 0,
            collisions: 0,
        }
    }

    /// Bytes in the sectors touched.
    pub fn bytes_moved(&self) -> u64 {
        self.sectors * SECTOR
    }

    /// Bytes asked for by bytes moved: 1 when every byte of every sector is asked for once; more when lanes share
    /// bytes. `None` if nothing was moved in sectors.
    pub fn efficiency(&self) -> Option<f64> {
        ratio(self.bytes, self.bytes_moved())
    }

    /// Sectors by request: 4 for 32 lanes with 4 consecutive, aligned bytes each.
    pub fn sectors_per_request(&self) -> Option<f64> {
        ratio(self.sectors, self.requests).filter(|_| self.sectors != 0)
    }

    /// Bank conflicts: wavefronts beyond the least number.
    pub fn bank_conflicts(&self) -> u64 {
        self.wavefronts - self.ideal_wavefronts
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.accesses += other.accesses;
        self.bytes += other.bytes;
        self.sectors += other.sectors;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.wavefronts += other.wavefronts;
        self.collisions += other.collisions;
    }
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b != 0).then(|| a as f64 / b as f64)
}

/// What one instruction, or several together, did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions issued, one for each warp. One whose guard holds for no lane is issued too.
    pub warp_instructions: u64,
    /// Lanes that executed them: active, and their guard holds.
    pub thread_instructions: u64,
    /// Lanes that were active, whether their guard held or not.
    pub active_lanes: u64,
    /// Conditional branches issued (`@p bra`).
    pub branches: u64,
    /// Those that some, but not all, of the active lanes took.
    pub divergent_branches: u64,
    /// Memory, by space and kind of access.
    pub traffic: Vec<Traffic>,
}

impl Counts {
    /// Lanes that execute an instruction, on average: 32 without divergence and guards.
    pub fn lanes_per_instruction(&self) -> Option<f64> {
        ratio(self.thread_instructions, self.warp_instructions)
    }

    /// Lanes that are active at an instruction, on average: 32 without divergence.
    pub fn active_per_instruction(&self) -> Option<f64> {
        ratio(self.active_lanes, self.warp_instructions)
    }

    fn traffic(&mut self, space: Space, access: Access) -> &mut Traffic {
        let known = self.traffic.iter().position(|t| t.space == space && t.access == access);
        let index = known.unwrap_or_else(|| {
            self.traffic.push(Traffic::new(space, access));
            self.traffic.len() - 1
        });
        &mut self.traffic[index]
    }

    fn add(&mut self, other: &Self) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.active_lanes += other.active_lanes;
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        for traffic in &other.traffic {
            self.traffic(traffic.space, traffic.access).add(traffic);
        }
    }
}

/// What is known of an instruction before it runs.
#[derive(Debug)]
struct Fact {
    function: FuncId,
    instruction: u32,
    class: String,
    opcode: String,
    /// The space, where the instruction's text tells it better than its address.
    space: Option<Space>,
}

/// Shards that host threads count into.
const SHARDS: usize = 64;

/// Counts what a launch of a module's kernel does. One can watch several launches; it then counts their sum.
#[derive(Debug)]
pub struct Stats {
    /// Every instruction of every function, in order.
    facts: Vec<Fact>,
    /// Where each function's instructions begin in `facts`.
    starts: Vec<usize>,
    /// Counters as `facts`; empty until the first event.
    shards: Vec<Mutex<Vec<Counts>>>,
}

impl Stats {
    /// Nothing counted yet.
    pub fn new(module: &Module) -> Self {
        let mut facts = Vec::new();
        let mut starts = Vec::new();
        let classes: Vec<String> = module.opcodes.iter().map(class).collect();
        for (function, f) in module.functions.iter().enumerate() {
            starts.push(facts.len());
            let instructions = f.body.iter().flat_map(|body| &body.instructions).enumerate();
            facts.extend(instructions.map(|(index, instruction)| {
                let opcode = module.opcode(instruction);
                Fact {
                    function: FuncId(function as u32),
                    instruction: index as u32,
                    class: classes[instruction.opcode.index()].clone(),
                    opcode: opcode.text(),
                    space: spaces(opcode).find_map(|space| match space {
                        StateSpace::Const => Some(Space::Const),
                        StateSpace::ParamEntry | StateSpace::ParamFunc => Some(Space::Param),
                        _ => None,
                    }),
                }
            }));
        }
        let shards = (0..SHARDS).map(|_| Mutex::new(Vec::new())).collect();
        Self { facts, starts, shards }
    }

    /// What was counted so far.
    pub fn report(&self) -> Report {
        let mut sums = vec![Counts::default(); self.facts.len()];
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            sums.iter_mut().zip(&*shard).for_each(|(sum, counts)| sum.add(counts));
        }
        let mut total = Counts::default();
        let mut classes = BTreeMap::<&str, Counts>::new();
        let mut opcodes = BTreeMap::<&str, Counts>::new();
        let mut instructions = Vec::new();
        for (fact, counts) in self.facts.iter().zip(sums).filter(|(_, c)| c.warp_instructions != 0) {
            total.add(&counts);
            classes.entry(&fact.class).or_default().add(&counts);
            opcodes.entry(&fact.opcode).or_default().add(&counts);
            instructions.push((fact.function, fact.instruction, counts));
        }
        total.traffic.sort_by_key(|t| (t.space, t.access as u8));
        Report { total, classes: ranked(classes), opcodes: ranked(opcodes), instructions }
    }
}

/// The most frequent first.
fn ranked(sums: BTreeMap<&str, Counts>) -> Vec<(String, Counts)> {
    let mut rows: Vec<_> = sums.into_iter().map(|(name, counts)| (name.to_owned(), counts)).collect();
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.warp_instructions));
    rows
}

/// The counters of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Everything.
    pub total: Counts,
    /// By chapter of the manual, the most frequent first; data movement also by the state space that the text names.
    pub classes: Vec<(String, Counts)>,
    /// By opcode with its modifiers, the most frequent first.
    pub opcodes: Vec<(String, Counts)>,
    /// By instruction, in the order of the text; those that were never issued are left out.
    pub instructions: Vec<(FuncId, u32, Counts)>,
}

/// The state spaces that an opcode names.
fn spaces(opcode: &Opcode) -> impl Iterator<Item = StateSpace> + '_ {
    (0..opcode.data().operands.len()).filter_map(|i| opcode.operand_space(i))
}

/// The class that an opcode counts for.
fn class(opcode: &Opcode) -> String {
    let chapter = opcode.data().chapter;
    let (number, title) = chapter.split_once(' ').unwrap_or(("", chapter));
    let first = (number == "9.7.9").then(|| spaces(opcode).next()).flatten();
    let space = match first {
        None => return title.to_owned(),
        Some(StateSpace::Global) => "global",
        Some(StateSpace::Shared) => "shared",
        Some(StateSpace::Local) => "local",
        Some(StateSpace::Const) => "const",
        Some(StateSpace::ParamEntry | StateSpace::ParamFunc) => "param",
        Some(StateSpace::Generic | StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex) => "generic",
    };
    format!("{title}: {space} memory")
}

/// The shard of the calling thread.
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static MINE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS);
    MINE.with(|mine| *mine)
}

impl Observer for Stats {
    fn instruction(&self, event: &Event<'_>) {
        let index = self.starts[event.function.index()] + event.instruction as usize;
        let mut shard = self.shards[shard()].lock().unwrap_or_else(PoisonError::into_inner);
        if shard.is_empty() {
            shard.resize(self.facts.len(), Counts::default());
        }
        let counts = &mut shard[index];
        counts.warp_instructions += 1;
        counts.thread_instructions += u64::from(event.mask.count_ones());
        counts.active_lanes += u64::from(event.active.count_ones());
        if let Some(taken) = event.taken {
            counts.branches += 1;
            counts.divergent_branches += u64::from(taken != 0 && taken != event.active);
        }
        if let Some(access) = &event.access {
            count_access(counts, access, event.mask, self.facts[index].space);
        }
    }
}

/// Counts a request for each space that it reaches.
fn count_access(counts: &mut Counts, access: &MemoryAccess<'_>, mask: u32, named: Option<Space>) {
    let mut rest = mask;
    while rest != 0 {
        let space = space_of(access, rest.trailing_zeros() as usize, named);
        let same = lanes(rest).filter(|&lane| space_of(access, lane, named) == space);
        let part = same.fold(0, |part, lane| part | 1 << lane);
        rest &= !part;
        count_request(counts.traffic(space, access.access), access, part);
    }
}

fn space_of(access: &MemoryAccess<'_>, lane: usize, named: Option<Space>) -> Space {
    match (named, access.space) {
        (Some(space), _) => space,
        (None, SpaceKind::Global) => Space::Global,
        (None, SpaceKind::Shared | SpaceKind::Cluster) => Space::Shared,
        (None, SpaceKind::Local) => Space::Local,
        (None, SpaceKind::Param) => Space::Param,
        (None, SpaceKind::Generic) => match resolve(access.addresses[lane]) {
            Resolved::Global(_) => Space::Global,
            Resolved::Shared(_) => Space::Shared,
            Resolved::Local(_) => Space::Local,
            Resolved::Param(_) => Space::Param,
        },
    }
}

fn count_request(traffic: &mut Traffic, access: &MemoryAccess<'_>, mask: u32) {
    let accesses = u64::from(mask.count_ones());
    traffic.requests += 1;
    traffic.accesses += accesses;
    traffic.bytes += accesses * u64::from(access.bytes);
    match traffic.space {
        Space::Global | Space::Const => traffic.sectors += sectors(access.addresses, access.bytes, mask),
        Space::Shared => {
            let (ideal, taken) = wavefronts(access.addresses, access.bytes, mask);
            traffic.ideal_wavefronts += ideal;
            traffic.wavefronts += taken;
        }
        Space::Local | Space::Param => {}
    }
    if access.access == Access::Atomic {
        let mut addresses: Vec<u64> = lanes(mask).map(|lane| access.addresses[lane]).collect();
        addresses.sort_unstable();
        addresses.dedup();
        traffic.collisions += accesses - addresses.len() as u64;
    }
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

/// Distinct sectors that the lanes of `mask` touch.
fn sectors(addresses: &[u64; LANES], bytes: u32, mask: u32) -> u64 {
    let range = |lane: usize| {
        let last = addresses[lane].saturating_add(u64::from(bytes.max(1)) - 1);
        (addresses[lane] / SECTOR, last / SECTOR)
    };
    let mut ranges: Vec<(u64, u64)> = lanes(mask).map(range).collect();
    ranges.sort_unstable();
    let mut count = 0;
    let mut next = 0;
    for (first, last) in ranges {
        // What lies below `next` is counted already.
        let first = first.max(next);
        if last >= first {
            count += last - first + 1;
            next = last + 1;
        }
    }
    count
}

/// The least number of wavefronts that a request to shared memory could take, and how many it takes.
fn wavefronts(addresses: &[u64; LANES], bytes: u32, mask: u32) -> (u64, u64) {
    // A wavefront moves at most a word of every bank.
    let lanes_at_once = match bytes {
        0..=4 => LANES,
        5..=8 => LANES / 2,
        9..=16 => LANES / 4,
        _ => LANES / 8,
    };
    let (mut ideal, mut taken) = (0, 0);
    for part in (0..LANES).step_by(lanes_at_once) {
        let mut words = Vec::with_capacity(LANES);
        for lane in lanes(mask).filter(|lane| (part..part + lanes_at_once).contains(lane)) {
            let offset = addresses[lane] & (WINDOW_SIZE - 1);
            // No instruction accesses more than 32 bytes a lane.
            let last = (offset + u64::from(bytes.clamp(1, 32)) - 1) / BANK_WORD;
            words.extend(offset / BANK_WORD..=last);
        }
        words.sort_unstable();
        words.dedup();
        let mut in_bank = [0_u64; BANKS];
        words.iter().for_each(|word| in_bank[*word as usize % BANKS] += 1);
        ideal += u64::from(!words.is_empty());
        taken += in_bank.into_iter().max().unwrap_or(0);
    }
    (ideal, taken)
}

#[cfg(test)]
mod tests;
