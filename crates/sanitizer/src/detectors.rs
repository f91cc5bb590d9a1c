//! Who is told of everything that happens: the detector of what this run shows, and if that is asked for the one that looks into
//! locks, which has the same launches.

use crate::detector::Detector;
use crate::knowledge::Knowledge;
use crate::state;
use machine::fault::Access;
use machine::observe::{Happening, Issue, Lanes};
use ptx::module::{Checked, Module};
use std::sync::Arc;

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// CTAs of a cluster in each dimension; ones if there are none.
    pub cluster: [u32; 3],
}

/// What happens before a launch: a point in the order of launches, streams, events and the host.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    pub(crate) of_run: Knowledge,
    of_locks: Knowledge,
}

impl Moment {
    /// What is after both.
    pub fn join(&mut self, other: &Self) {
        self.of_run.join(&other.of_run);
        self.of_locks.join(&other.of_locks);
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Detectors {
    /// What this run shows; and all reports.
    pub(crate) of_run: Detector,
    /// What locks show of other orders, if that is asked for: they have the same launches.
    pub(crate) of_locks: Option<Box<Detector>>,
}

impl Detectors {
    pub(crate) fn each(&mut self, mut tell: impl FnMut(&mut Detector)) {
        tell(&mut self.of_run);
        if let Some(of_locks) = &mut self.of_locks {
            tell(of_locks);
        }
    }

    pub(crate) fn issue(&mut self, launch: usize, issue: &Issue<'_>) {
        // Mostly there is one, and nothing but the instruction.
        if let Some(of_locks) = &mut self.of_locks {
            of_locks.finish_copy(launch, None);
            of_locks.issue(launch, issue);
        }
        if !self.of_run.copies.is_empty() {
            self.of_run.finish_copy(launch, None);
        }
        self.of_run.issue(launch, issue);
        if !self.of_run.pooled.is_empty() {
            self.of_run.each_of_team(launch, issue, |of_run, issue| of_run.look_for_freed(launch, issue));
        }
    }

    pub(crate) fn happening(&mut self, launch: usize, happening: &Happening<'_>) {
        let continues = matches!(happening, Happening::BulkAccess { .. } | Happening::Mbarrier { .. });
        self.each(|detector| {
            if !continues {
                detector.finish_copy(launch, None);
            }
            detector.happening(launch, happening);
        });
    }

    pub(crate) fn begin(
        &mut self,
        module: &Arc<Checked<Module>>,
        shape: Shape<'_>,
        after: &Moment,
    ) -> (usize, u32) {
        let begun = begin(&mut self.of_run, module, shape, &after.of_run);
        if let Some(of_locks) = &mut self.of_locks {
            begin(of_locks, module, shape, &after.of_locks);
        }
        begun
    }

    pub(crate) fn moment(&mut self, mut of: impl FnMut(&mut Detector, bool) -> Knowledge) -> Moment {
        let of_locks = self.of_locks.as_deref_mut().map(|detector| of(detector, true));
        Moment { of_run: of(&mut self.of_run, false), of_locks: of_locks.unwrap_or_default() }
    }

    pub(crate) fn copied(&mut self, name: &str, ranges: &[(u64, u64, Access)], after: &Moment) -> Moment {
        self.moment(|detector, of_locks| {
            let after = if of_locks { &after.of_locks } else { &after.of_run };
            detector.driver_copied(name, ranges, after)
        })
    }

    /// Lanes have waited for what is before their launch.
    pub(crate) fn grids_complete(&mut self, launch: usize, lanes: Lanes, moment: &Moment) {
        self.of_run.grids_complete(launch, lanes, &moment.of_run);
        if let Some(of_locks) = &mut self.of_locks {
            of_locks.grids_complete(launch, lanes, &moment.of_locks);
        }
    }

    /// Bytes have changed while a launch ran.
    pub(crate) fn changed(&mut self, launch: usize, ranges: &[(u64, u64)]) {
        let written = self.of_run.written_by_program(launch, ranges);
        if !written.is_empty() {
            self.each(|detector| detector.program_wrote(launch, &written));
        }
    }

    pub(crate) fn end(&mut self, launch: usize) -> Moment {
        self.each(|detector| {
            detector.finish_copy(launch, None);
            detector.end(launch);
        });
        if let Some(of_locks) = &mut self.of_locks {
            for (sites, count, report) in of_locks.foreseen(launch) {
                self.of_run.reports.add_foreseen(sites, count, report);
            }
        }
        self.moment(|detector, _| detector.after_launch(launch))
    }
}

fn begin(
    detector: &mut Detector,
    module: &Arc<Checked<Module>>,
    shape: Shape<'_>,
    after: &Knowledge,
) -> (usize, u32) {
    let number = detector.number_of(module);
    let first = detector.next_cta();
    let launch = detector.begin(state::Launch {
        kernel: shape.kernel.to_owned(),
        module: number,
        grid: shape.grid,
        threads: shape.block.iter().product(),
        block: shape.block,
        cluster: shape.cluster,
        first,
        knowledge: after.clone(),
        ..state::Launch::default()
    });
    (launch, number)
}
