//! Single instructions of compiled code, which the interpreter executes for a row of threads.

use super::cta::Cta;
use super::lists::list_bytes;
use super::multiply::Multiplication;
use super::stopped::Stopped;
use crate::exec::LaneTrap;
use crate::image::places::Home;
use crate::image::{Image, Origin};
use crate::lanes::LANES;
use crate::run::single::{Failure, Lanes};
use ptx::module::RegId;
use std::ops::Range;

/// An instruction of the kernel's body, for threads of a row.
#[derive(Clone, Copy, Debug)]
pub struct Single<'a> {
    /// The number of the first thread in the CTA, and how many there are.
    pub first: u32,
    /// See `first`.
    pub width: usize,
    /// Which of the threads execute it.
    pub mask: u32,
    /// Which threads of the warp have not exited, if it is for all of them.
    pub live: Option<u32>,
    /// The instruction.
    pub instruction: u32,
    /// The registers that it reads, and their bits.
    pub reads: &'a [(RegId, u32)],
    /// The registers that it writes.
    pub writes: &'a [(RegId, u32)],
}

/// Where the interpreter has an instruction and its registers.
pub(super) struct Plan {
    operations: Range<u32>,
    reads: Vec<(Home, u32)>,
    writes: Vec<(Home, u32)>,
    /// Bytes of the lists that hold operands.
    operands: usize,
    /// If it is one that needs no interpreter, where a whole warp executes it.
    multiplication: Option<Multiplication>,
}

impl Plan {
    fn new(image: &Image, single: &Single<'_>) -> Self {
        let places = &image.code(image.kernel).places;
        let home = |&(register, bits): &(RegId, u32)| {
            (places.of(register, single.instruction).unwrap_or(Home::Unused), bits)
        };
        let operations = image.operations(single.instruction);
        let [reads, writes] =
            [single.reads, single.writes].map(|registers| registers.iter().map(home).collect::<Vec<_>>());
        Self {
            operands: single.reads.iter().map(|&(_, bits)| list_bytes(bits, single.width)).sum(),
            multiplication: Multiplication::new(image, operations.clone(), &reads, &writes),
            operations,
            reads,
            writes,
        }
    }
}

impl Cta<'_> {
    /// Executes an instruction as the interpreter does. `lists` has a list ([`list_bytes`]) for each operand, then one for each
    /// result.
    ///
    /// # Errors
    /// Why the grid must stop.
    pub fn interpret(&mut self, single: &Single<'_>, lists: &mut [u8]) -> Result<(), Stopped> {
        let image = self.grid.image;
        let (warp, first) = (single.first as usize / LANES, single.first as usize % LANES);
        let pack = warp / image.warps;
        let at = single.instruction as usize;
        if self.plans.len() <= at {
            self.plans.resize_with(at + 1, || None);
        }
        let plan = self.plans[at].take().unwrap_or_else(|| Box::new(Plan::new(image, single)));
        let (operands, results) = lists.split_at_mut(plan.operands);
        if let Some(multiplication) = plan.multiplication.as_ref().filter(|_| single.live == Some(!0)) {
            let workspace = &mut self.packs[pack].threads.matrices;
            if multiplication.compute(image, operands, results, workspace) {
                self.plans[at] = Some(plan);
                return Ok(());
            }
        }
        let frame = self.begin_pack(pack);
        let lanes =
            Lanes { warp: warp % image.warps, first, width: single.width, mask: single.mask << first };
        let pack = &mut self.packs[pack];
        if let Some(live) = single.live {
            pack.threads.live[lanes.warp] = live;
        }
        pack.put(frame, &plan.reads, lanes, operands);
        let host = self.host;
        let operations = plan.operations.clone();
        let done = pack.execute(self.grid, &mut self.common, frame, lanes, operations, &mut || host.spend(0));
        pack.take(frame, &plan.writes, lanes, results);
        self.plans[at] = Some(plan);
        done.map_err(|failure| match failure {
            Failure::Stopped => Stopped::Told,
            Failure::Trap(LaneTrap { trap, lane }, pc) => {
                let thread = lane.map(|(_, lane)| single.first - first as u32 + lane as u32);
                let Origin { function, instruction } = image.origins[pc as usize];
                Stopped::Trap { trap, thread, place: (function, instruction) }
            }
        })
    }
}
