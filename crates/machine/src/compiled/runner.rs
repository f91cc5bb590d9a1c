//! A host thread that runs CTAs to their end by compiled code.

use super::Code;
use super::cta::Cta;
use super::host::Host;
use super::stopped::Stopped;
use crate::exec::{Grid, LaneTrap};
use crate::fault::Trap;
use crate::image::Origin;
use crate::lanes::LANES;
use crate::run::work::Stop;
use ptx::module::FuncId;

/// What a host thread keeps from CTA to CTA.
pub(crate) struct Runner<'a> {
    grid: &'a Grid<'a>,
    cta: Cta<'a>,
    scratch: Vec<u64>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(grid: &'a Grid<'a>, host: &'a dyn Host) -> Self {
        Self { grid, cta: Cta::new(grid, host), scratch: Vec::new() }
    }

    /// Counts those that have exited.
    pub(crate) fn count_exited(&mut self) {
        self.grid.dependents.count_down(self.cta.take_exited());
    }

    /// Runs the CTA with this index in the grid, and those that the host thread gives it behind that. Who has no more to run, or
    /// lets others do so, counts those that have exited.
    ///
    /// # Errors
    /// Why the grid must stop, if nobody has said so yet.
    pub(crate) fn run(&mut self, code: &dyn Code, index: u64) -> Result<(), Option<Box<Stop>>> {
        self.cta.begin(index);
        match code.run(&mut self.cta, &mut self.scratch) {
            Ok(()) => Ok(()),
            Err(Stopped::Told) => Err(None),
            Err(Stopped::Trap { trap, thread, place }) => {
                Err(Some(Box::new(fault(self.grid, self.cta.ctaid(), trap, thread, place))))
            }
        }
    }
}

fn fault(
    grid: &Grid<'_>,
    cta: [u32; 3],
    trap: Trap,
    thread: Option<u32>,
    (function, instruction): (FuncId, u32),
) -> Stop {
    let origin = Origin { function, instruction };
    let pc = grid.image.origins.iter().position(|&known| known == origin).unwrap_or(0) as u32;
    let thread = thread.map(|thread| {
        let (warp, lane) = (thread as usize / LANES, thread as usize % LANES);
        [0, 1, 2].map(|axis: usize| grid.tid[axis][warp][lane])
    });
    Stop::Trap { cta, thread, trap: LaneTrap { trap, lane: None }, pc }
}
