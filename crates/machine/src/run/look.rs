//! What the threads of a CTA have, for who watches them: see [`crate::inspect`].

use super::frame::Frames;
use super::pack::{Group, Join, Pack, Wait};
use super::watch::{Around, Resident};
use crate::common::shared_base;
use crate::exec::{Exec, Grid, Resolved, Threads, resolve};
use crate::image::places::Home;
use crate::image::{Image, Meta};
use crate::inspect::{self, Change, Changed, Extent, Meeting, Row, Snapshot, State, Waiting, part, range};
use crate::lanes::{Files, LANES};
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use ptx::module::{FuncId, RegId};
use slab::Slab;

/// A warp that is about to execute an operation, and what stands around it.
pub(super) struct Look<'a, 'o> {
    pub(super) x: &'a Exec<'a>,
    pub(super) pc: u32,
    pub(super) around: &'a Around<'a, 'o>,
}

impl Look<'_, '_> {
    /// The other CTAs of the host thread that have threads.
    fn others(&self) -> Vec<Resident<&[Pack], &[u8]>> {
        self.around.others.elsewhere.all(self.x.peers)
    }
}

impl State for Look<'_, '_> {
    fn snapshot(&self, extent: Extent) -> Snapshot {
        let (x, around) = (self.x, self.around);
        let own = Side {
            grid: x.grid,
            threads: x.threads,
            frames: around.frames,
            joins: around.joins,
            groups: around.groups,
            arrivals: &[],
            running: Some(self),
        };
        let mut warps = own.warps();
        if extent == Extent::Cta {
            let [before, behind] = &around.others.packs;
            let of = |packs: &[Pack]| -> Vec<_> {
                packs.iter().flat_map(|pack| Side::of(pack, x.grid).warps()).collect()
            };
            warps = of(before).into_iter().chain(warps).chain(of(behind)).collect();
        }
        Snapshot {
            block: x.threads.ctaid,
            warps,
            shared: x.shared.to_vec(),
            shared_base: x.shared_base,
            params: x.grid.params.to_vec(),
        }
    }

    fn depth(&self) -> usize {
        let frames = &*self.around.frames;
        let caller = |&frame: &usize| frames[frame].caller.map(|caller| caller.frame);
        std::iter::successors(Some(self.around.frame), caller).count() - 1
    }

    fn resident(&self) -> Vec<[u32; 3]> {
        let others = self.others().into_iter().map(|other| other.packs[0].threads.ctaid);
        std::iter::once(self.x.threads.ctaid).chain(others).collect()
    }

    fn snapshot_of(&self, block: [u32; 3]) -> Option<Snapshot> {
        let x = self.x;
        if x.threads.ctaid == block {
            return Some(self.snapshot(Extent::Cta));
        }
        let mut others = self.others().into_iter();
        let Resident { packs, shared } = others.find(|other| other.packs[0].threads.ctaid == block)?;
        Some(Snapshot {
            block,
            warps: packs.iter().flat_map(|pack| Side::of(pack, x.grid).warps()).collect(),
            shared: shared.to_vec(),
            shared_base: shared_base(packs[0].threads.rank, x.grid.shared_start),
            params: x.grid.params.to_vec(),
        })
    }

    fn read(&self, warp: u32, lane: usize, address: u64, into: &mut [u8]) -> bool {
        let x = self.x;
        let warp = warp.wrapping_sub(x.threads.first_warp) as usize;
        if warp >= x.threads.warps {
            return false;
        }
        let from = match resolve(address) {
            Resolved::Global(address) => return x.grid.memory.read_block(address, into),
            Resolved::Shared(at) => {
                at.checked_sub(x.shared_base).and_then(|at| part(x.shared, at, into.len()))
            }
            Resolved::Local(at) => {
                let range = x.local_range(warp, lane % LANES, at, into.len() as u64);
                range.map(|range| &x.threads.local[range])
            }
            Resolved::Param(at) => part(x.grid.params, at, into.len()),
        };
        from.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }
}

/// A pack, whether it runs or not.
struct Side<'a, 'o> {
    grid: &'a Grid<'a>,
    threads: &'a Threads,
    frames: &'a Frames,
    joins: &'a Slab<Join>,
    groups: &'a [Group],
    arrivals: &'a [Group],
    running: Option<&'a Look<'a, 'o>>,
}

impl<'a> Side<'a, '_> {
    fn of(pack: &'a Pack, grid: &'a Grid<'a>) -> Self {
        let Pack { threads, frames, joins, groups, arrivals, .. } = pack;
        Self { grid, threads, frames, joins, groups, arrivals, running: None }
    }

    fn warps(&self) -> Vec<inspect::Warp> {
        (0..self.threads.warps).map(|warp| self.warp(warp)).collect()
    }

    fn warp(&self, warp: usize) -> inspect::Warp {
        let Self { grid, threads, .. } = *self;
        let number = threads.first_warp as usize + warp;
        let mut numbers = Vec::new();
        let mut groups: Vec<inspect::Group> = Vec::new();
        let mut group = |mask: u32, frame, place, current, waits| {
            if mask != 0 {
                let frame = index_of(&mut numbers, frame);
                groups.push(inspect::Group { mask, place, frame, current, waits });
            }
        };
        if let Some(Look { x, pc, around }) = self.running {
            group(x.mask[warp], around.frame, next_place(grid.image, *pc), true, None);
        }
        for waiting in self.groups.iter().chain(self.arrivals) {
            let (waits, pc) = match waiting.wait {
                Wait::Ready => (None, waiting.pc),
                // It has arrived, and goes on behind the barrier.
                Wait::Barrier { number, .. } => (Some(Waiting::Barrier(number as u32)), waiting.pc - 1),
                Wait::Members => (Some(Waiting::Members), waiting.pc),
                Wait::Event { awaited, .. } => (Some(Waiting::Event(awaited.to_string())), waiting.pc),
            };
            group(waiting.mask[warp], waiting.frame, next_place(grid.image, pc), false, waits);
        }
        let mut meetings = Vec::new();
        for (_, join) in self.joins {
            let place = next_place(grid.image, join.pc);
            group(join.arrived[warp], join.frame, place, false, Some(Waiting::Meeting));
            if join.expected[warp] != 0 {
                let (expected, arrived) = (join.expected[warp], join.arrived[warp]);
                meetings.push(Meeting { place, expected, arrived });
            }
        }
        let mut frames = Vec::new();
        while let Some(&index) = numbers.get(frames.len()) {
            let frame = self.frame(index, warp, &mut numbers);
            frames.push(frame);
        }
        let each = grid.local as usize * LANES;
        inspect::Warp {
            number: number as u32,
            live: threads.live[warp],
            threads: std::array::from_fn(|lane| [0, 1, 2].map(|axis: usize| grid.tid[axis][number][lane])),
            groups,
            meetings,
            frames,
            local: threads.local[each * warp..][..each].to_vec(),
        }
    }

    /// The activation with a number of the pack's; `numbers` gets its caller's, if it is not there.
    fn frame(&self, index: usize, warp: usize, numbers: &mut Vec<usize>) -> inspect::Frame {
        let image = self.grid.image;
        let frame = &self.frames[index];
        let own = self.running.filter(|look| look.around.frame == index);
        let files = own.map_or(&frame.files, |look| &look.x.files);
        let caller = frame.caller.map(|caller| {
            // Lanes that return go on behind the call.
            let (_, instruction) = origin(image, self.joins[caller.join].pc - 1);
            (index_of(numbers, caller.frame), instruction)
        });
        let places = &image.code(frame.function).places;
        let registers = match image.purpose.debug {
            true => (0..places.len()).map(|r| row(files, places.home(RegId(r as u32)), warp)).collect(),
            false => Vec::new(),
        };
        let local_base = own.map_or(frame.local_base, |look| look.x.local_base);
        inspect::Frame { number: index, function: frame.function, caller, local_base, registers }
    }
}

/// The place of a number in a list; it is added if it is not there.
fn index_of(numbers: &mut Vec<usize>, number: usize) -> usize {
    numbers.iter().position(|&known| known == number).unwrap_or_else(|| {
        numbers.push(number);
        numbers.len() - 1
    })
}

fn row(files: &Files, home: Home, warp: usize) -> Option<Row> {
    let lanes = |of: &dyn Fn(usize) -> u64| Some(Row::Lanes(Box::new(std::array::from_fn(of))));
    match home {
        Home::Plane(plane) => lanes(&|lane| files.read(plane, warp, lane)),
        Home::Predicate(predicate) => {
            let holds = files.p[predicate.index() + warp];
            lanes(&|lane| u64::from(holds >> lane & 1))
        }
        Home::Pair([low, high]) => Some(Row::Wide(Box::new(std::array::from_fn(|lane| {
            u128::from(files.read(high, warp, lane)) << 64 | u128::from(files.read(low, warp, lane))
        })))),
        // For debuggers no register is one.
        Home::Scalar(_) | Home::Unused => None,
    }
}

/// Changes what a resident thread has. What is not there stays as it is.
pub(super) fn change(x: &mut Exec<'_>, around: &mut Around<'_, '_>, wanted: &Change) {
    let &Change { block, warp, ref of } = wanted;
    let own = x.threads.ctaid == block;
    let here = own && x.threads.has(warp);
    let image = x.grid.image;
    if here {
        let warp = (warp - x.threads.first_warp) as usize;
        match of {
            &Changed::Register { frame, register, lanes, value } => {
                let function = around.frames.get(frame).map(|frame| frame.function);
                let home = function.map(|function| image.code(function).places.home(register));
                let files = if frame == around.frame {
                    Some(&mut x.files)
                } else {
                    around.frames.get_mut(frame).map(|frame| &mut frame.files)
                };
                files.zip(home).into_iter().for_each(|(files, home)| set(files, home, warp, lanes, value));
            }
            Changed::Memory { lane, address, bytes } => {
                let base = x.shared_base;
                put(&mut x.threads.local, x.shared, base, (warp, *lane), x.grid.local, *address, bytes);
            }
        }
        return;
    }
    let others = &mut *around.others;
    let (packs, shared, base): (&mut [Pack], &mut [u8], u64) = if own {
        let [before, behind] = &mut others.packs;
        let packs = if before.iter().any(|pack| pack.threads.has(warp)) { before } else { behind };
        (packs, x.shared, x.shared_base)
    } else {
        let Some(Resident { packs, shared }) = others.elsewhere.find(block, x.peers) else { return };
        let base = shared_base(packs[0].threads.rank, x.grid.shared_start);
        (packs, shared, base)
    };
    let Some(pack) = packs.iter_mut().find(|pack| pack.threads.has(warp)) else { return };
    let warp = (warp - pack.threads.first_warp) as usize;
    match of {
        &Changed::Register { frame, register, lanes, value } => {
            let Some(frame) = pack.frames.get_mut(frame) else { return };
            let home = image.code(frame.function).places.home(register);
            set(&mut frame.files, home, warp, lanes, value);
        }
        Changed::Memory { lane, address, bytes } => {
            let local = x.grid.local;
            put(&mut pack.threads.local, shared, base, (warp, *lane), local, *address, bytes);
        }
    }
}

/// Sets a register in lanes.
fn set(files: &mut Files, home: Home, warp: usize, lanes: u32, value: u128) {
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 != 0) {
        match home {
            Home::Plane(plane) => files.write(plane, warp, lane, value as u64),
            Home::Predicate(predicate) => {
                files.write_predicate(predicate, warp, 1 << lane, u32::from(value & 1 != 0) << lane);
            }
            Home::Pair([low, high]) => {
                files.write(low, warp, lane, value as u64);
                files.write(high, warp, lane, (value >> 64) as u64);
            }
            Home::Scalar(_) | Home::Unused => {}
        }
    }
}

/// Puts bytes where an address is: in shared memory, or in that of a lane, each of which has `each` bytes.
fn put(
    local: &mut [u8],
    shared: &mut [u8],
    base: u64,
    (warp, lane): (usize, usize),
    each: u32,
    address: u64,
    bytes: &[u8],
) {
    let offset = address & (WINDOW_SIZE - 1);
    let into = match address & !(WINDOW_SIZE - 1) {
        SHARED_WINDOW => offset
            .checked_sub(base)
            .and_then(|at| range(at, bytes.len()))
            .and_then(|range| shared.get_mut(range)),
        LOCAL_WINDOW => {
            let start = (warp * LANES + lane % LANES) * each as usize;
            let own = local.get_mut(start..start + each as usize);
            own.and_then(|own| own.get_mut(range(offset, bytes.len())?))
        }
        _ => None,
    };
    into.into_iter().for_each(|into| into.copy_from_slice(bytes));
}

fn origin(image: &Image, pc: u32) -> (FuncId, u32) {
    let origin = image.origins[pc as usize];
    (origin.function, origin.instruction)
}

/// The instruction that lanes at an operation execute next. What joins blocks and accounts for them comes from the
/// instruction before.
fn next_place(image: &Image, pc: u32) -> (FuncId, u32) {
    let here = origin(image, pc);
    let behind = (pc as usize..image.ops.len()).take_while(|&at| image.origins[at].function == here.0);
    let next = behind.into_iter().find(|&at| image.metas[at] != Meta::Part);
    next.map_or(here, |at| origin(image, at as u32))
}
