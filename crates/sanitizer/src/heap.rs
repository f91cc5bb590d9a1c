//! Allocations: which bytes nobody has written, what was freed, what has leaked.

use crate::clock::Knowledge;
use crate::detector::{Detector, Who};
use crate::report::{Actor, Report};
use machine::{Fault, Location, Trap};
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

    /// The host's own accesses are not followed; what it writes is written.
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
            location: Location {
                ptx: fault.ptx.clone(),
                text: fault.instruction.clone(),
                source: fault.source.clone(),
            },
            block: fault.block.unwrap_or_default(),
            thread: fault.thread.unwrap_or_default(),
        };
        let line = fault.ptx.as_ref().map_or(0, |place| place.line);
        let report = Report { kind, title, missing: None, actors: vec![actor], count: 1, litmus: None };
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
            let report =
                Report { kind: "leak", title, missing: None, actors: Vec::new(), count: 1, litmus: None };
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
