//! Allocations: which bytes nobody has written, what was freed, what has leaked. And what the driver copies.

use crate::accessor::Accessor;
use crate::detector::{Detector, Target, Who};
use crate::knowledge::Knowledge;
use crate::release::Home;
use crate::report::{Actor, Report};
use crate::shadow::Entry;
use crate::site::{DRIVER, DRIVER_READ, DRIVER_WRITE};
use crate::state::Launch;
use machine::fault::Access;
use machine::{Fault, Trap};
use std::sync::Arc;

/// Freed ranges that are remembered.
const FREED: usize = 4096;

impl Detector {
    pub(crate) fn allocated(&mut self, address: u64, bytes: u64, by_device: bool) {
        self.reports.allocations.insert(address, (bytes, by_device));
        self.freed.retain(|&(start, size)| start + size <= address || address + bytes <= start);
        self.global.reset(&mut self.extras, address, bytes, !self.checks.init);
    }

    pub(crate) fn freed(&mut self, address: u64) {
        if let Some((bytes, _)) = self.reports.allocations.remove(&address) {
            self.global.reset(&mut self.extras, address, bytes, true);
            self.freed.push((address, bytes));
            if self.freed.len() > FREED {
                self.freed.remove(0);
            }
        }
    }

    /// A copy or a fill that the program asked the driver for: it is one thread, a launch of its own. What comes after it.
    pub(crate) fn driver_copied(
        &mut self,
        name: &str,
        ranges: &[(u64, u64, Access)],
        after: &Knowledge,
    ) -> Knowledge {
        let first = self.next_cta();
        let launch = self.begin(Launch {
            kernel: name.to_owned(),
            module: DRIVER,
            grid: [1; 3],
            threads: 1,
            block: [1; 3],
            cluster: [1; 3],
            first,
            knowledge: after.clone(),
            ended: None,
        });
        let clock = Arc::clone(&self.launches[launch].knowledge.generic);
        let home = Home { cta: first, cluster: first };
        for &(address, bytes, access) in ranges {
            let site = if access == Access::Load { DRIVER_READ } else { DRIVER_WRITE };
            let what = *self.sites.get(site);
            let who = Who { launch, block: [0; 3], home, warp: 0, site };
            let entry = Entry::of_lanes(self.time, first, 0, 1, site);
            let by = Accessor::new(home, (0, 1), &clock, entry, (&what, access));
            self.touch(who, &by, (Target::Global(address), bytes));
        }
        self.end(launch);
        self.after_launch(launch)
    }

    /// The number of the first CTA of the next launch.
    pub(crate) fn next_cta(&self) -> u32 {
        self.launches.last().map_or(0, |launch| launch.first.saturating_add(launch.ctas()))
    }

    /// Bytes count as written, by whom is not known.
    pub(crate) fn written(&mut self, address: u64, bytes: u64) {
        if self.checks.init {
            self.global.mark_written(&mut self.extras, address, bytes);
        }
    }

    /// Device-side `malloc` and `free`.
    pub(crate) fn heap(&mut self, _who: Who, _mask: u32, address: u64, bytes: u64) {
        match bytes {
            0 => self.freed(address),
            bytes => self.allocated(address, bytes, true),
        }
    }

    /// A launch ended with a fault.
    pub(crate) fn fault(&mut self, fault: &Fault) {
        let (kind, wanted) = match &fault.trap {
            Trap::IllegalAddress { address, .. } => {
                let freed = self.freed.iter().any(|&(start, bytes)| (start..start + bytes).contains(address));
                (if freed { "use-after-free" } else { "out-of-bounds" }, self.checks.memory)
            }
            Trap::MisalignedAddress { .. } | Trap::MisalignedOperand { .. } => {
                ("misaligned", self.checks.memory)
            }
            Trap::InvalidBarrier(_) => ("barrier-invalid", self.checks.sync),
            _ => return,
        };
        if !wanted {
            return;
        }
        let title = match (&fault.trap, kind) {
            (Trap::IllegalAddress { address, bytes, access, .. }, "use-after-free") => {
                format!("{access} of {bytes} bytes at {address:#x}, in memory that has been freed")
            }
            (trap, _) => trap.to_string(),
        };
        let actor = Actor {
            what: "access".to_owned(),
            kernel: fault.kernel.clone(),
            location: fault.location.clone(),
            block: fault.block.unwrap_or_default(),
            thread: fault.thread.unwrap_or_default(),
        };
        let line = fault.location.ptx.as_ref().map_or(0, |place| place.line);
        let report = Report::new(kind, title, vec![actor]);
        self.reports.add((kind, line, self.launches.len() as u32), || report);
    }

    /// What is still allocated when everything is over.
    pub(crate) fn leaks(&mut self) {
        if !self.checks.memory {
            return;
        }
        for (address, (bytes, by_device)) in std::mem::take(&mut self.reports.allocations) {
            let by = if by_device { "device code" } else { "the host" };
            let title = format!("{bytes} bytes at {address:#x}, allocated by {by}, were never freed");
            let report = Report::new("leak", title, Vec::new());
            self.reports.add(("leak", (address >> 32) as u32, address as u32), || report);
        }
    }

    /// What happens after a launch knows all of it, and what it knew.
    pub(crate) fn after_launch(&self, launch: usize) -> Knowledge {
        let of = &self.launches[launch];
        let mut knowledge = of.knowledge.clone();
        let clock = Arc::make_mut(&mut knowledge.generic);
        clock.learn_launch(of.first, of.first + (of.ctas() - 1), self.time);
        knowledge.proxied = Arc::clone(&knowledge.generic);
        knowledge
    }
}
