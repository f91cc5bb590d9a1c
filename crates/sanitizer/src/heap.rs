//! Allocations: which bytes nobody has written, what was freed, what has leaked. And what the driver copies.

use crate::accessor::Accessor;
use crate::check::Checker;
use crate::detector::{Detector, Target, Who, lanes_of};
use crate::diagnose;
use crate::knowledge::Knowledge;
use crate::release::Home;
use crate::report::{Actor, Report};
use crate::shadow::{Entry, GRANULE};
use crate::site::{DRIVER, DRIVER_READ, DRIVER_WRITE};
use crate::state::Launch;
use machine::fault::Access;
use machine::memory::SpaceKind;
use machine::observe::{Issue, Lanes};
use machine::{Fault, Trap};
use std::sync::Arc;

/// What accesses are that cannot take place.
const BAD_ACCESSES: [&str; 3] = ["out-of-bounds", "use-after-free", "misaligned"];

/// Freed ranges that are remembered.
const FREED: usize = 4096;

impl Detector {
    pub(crate) fn allocated(&mut self, address: u64, bytes: u64, by_device: bool) {
        self.reports.allocations.insert(address, (bytes, by_device));
        self.freed.retain(|&(start, size)| start + size <= address || address + bytes <= start);
        self.pooled.retain(|&(start, size)| start + size <= address || address + bytes <= start);
        self.unlist(address, bytes);
        self.global.reset(&mut self.extras, address, bytes, !self.checks.init);
    }

    /// Reads of a range are listed no longer.
    pub(crate) fn unlist(&mut self, address: u64, bytes: u64) {
        let last = address.saturating_add(bytes.max(1) - 1);
        Checker::new(&mut self.extras, &self.sites, &self.launches).unlist(&mut self.global, (address, last));
    }

    pub(crate) fn freed(&mut self, address: u64) {
        if let Some((bytes, _)) = self.reports.allocations.remove(&address) {
            self.unlist(address, bytes);
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
            ..Launch::default()
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

    /// What of bytes that have changed while a launch ran the program has written: nothing that is watched has, and no thread of
    /// the launch has told the program anything.
    pub(crate) fn written_by_program(
        &mut self,
        launch: usize,
        ranges: &[(u64, u64)],
    ) -> Vec<(u64, u64, Access)> {
        let Launch { talks, began, .. } = self.launches[launch];
        let mut written: Vec<(u64, u64, Access)> = Vec::new();
        if talks || !self.checks.race {
            return written;
        }
        ranges.iter().for_each(|&(start, end)| self.unlist(start, end - start));
        for at in ranges.iter().flat_map(|&(start, end)| start..end) {
            if self.global.written_since(&mut self.extras, at, began) {
                continue;
            }
            match written.last_mut() {
                Some((first, bytes, _)) if *first + *bytes == at => *bytes += 1,
                _ => written.push((at, 1, Access::Store)),
            }
        }
        written
    }

    /// The program has written while a launch ran.
    pub(crate) fn program_wrote(&mut self, launch: usize, written: &[(u64, u64, Access)]) {
        // Of what was over by then the program may know in ways that nobody sees.
        let knowledge = Knowledge::all_until(self.launches[launch].began.saturating_sub(1));
        self.driver_copied("the program", written, &knowledge);
        // Whatever is launched from now on comes after it; what is remembered is remembered of cells.
        for &(at, bytes, _) in written {
            let (start, end) = (at - at % GRANULE, (at + bytes).next_multiple_of(GRANULE));
            self.unlist(start, end - start);
            self.global.reset(&mut self.extras, start, end - start, true);
        }
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
        // It is of the last launch of its kernel.
        let launch = self.launches.iter().rev().find(|launch| launch.kernel == fault.kernel);
        let host = launch.and_then(|launch| launch.host.as_ref());
        let actor = Actor {
            what: "access".to_owned(),
            kernel: fault.kernel.clone(),
            location: fault.location.clone(),
            block: fault.block.unwrap_or_default(),
            thread: fault.thread.unwrap_or_default(),
            host: host.map_or_else(Vec::new, |host| host()),
        };
        self.trapped(&fault.trap, actor);
    }

    /// How often a pool has given away memory at an address.
    pub(crate) fn times_taken(&self, address: u64) -> u32 {
        self.taken.get(&address).copied().unwrap_or(0)
    }

    /// Memory is freed that a pool keeps, so that accesses still find it. When that was asked for it had been given away so often;
    /// it may have been again by now.
    pub(crate) fn gave_back(&mut self, address: u64, bytes: u64, times: u32) {
        if self.checks.memory && times == self.times_taken(address) {
            self.pooled.push((address, bytes));
            if self.pooled.len() > FREED {
                self.pooled.remove(0);
            }
        }
    }

    /// The pool has given memory away again.
    pub(crate) fn taken(&mut self, address: u64, bytes: u64) {
        if self.checks.memory {
            *self.taken.entry(address).or_default() += 1;
        }
        self.pooled.retain(|&(start, size)| start + size <= address || address + bytes <= start);
    }

    /// Looks for accesses of a warp to memory that was freed, and that a pool keeps.
    #[cold]
    pub(crate) fn look_for_freed(&mut self, launch: usize, issue: &Issue<'_>) {
        issue.each_warp(|event| {
            let Some(access) = &event.access else { return };
            let mut lanes = lanes_of(event.mask).map(|lane| (lane, access.addresses[lane as usize]));
            let freed = |&(_, address): &(u32, u64)| {
                matches!(access.space, SpaceKind::Global | SpaceKind::Generic)
                    && self.pooled.iter().any(|&(start, bytes)| (start..start + bytes).contains(&address))
            };
            let Some((lane, address)) = lanes.find(freed) else { return };
            let who = self.who(launch, event.block, event.warp, (event.function, event.instruction));
            let actor = diagnose::actor_at(self, who, 1 << lane, "access".to_owned());
            let (bytes, access) = (access.bytes.into(), access.access);
            self.trapped(&Trap::IllegalAddress { address, bytes, access, nearby: None }, actor);
        });
    }

    /// An access of a lane cannot take place. Whether the kernel goes on.
    pub(crate) fn forgive(&mut self, launch: usize, trap: &Trap, lanes: Lanes) -> bool {
        let who = self.who(launch, lanes.block, lanes.warp, lanes.place);
        let actor = diagnose::actor_at(self, who, lanes.mask, "access".to_owned());
        let most = self.reports.of_kinds(&BAD_ACCESSES) >= self.forgives;
        if most && !self.reports.knows(self.key_of(trap, &actor)) {
            // It stops the kernel, and is told then.
            return false;
        }
        self.trapped(trap, actor);
        true
    }

    /// What a trap is called, and whether that is looked for.
    fn kind_of(&self, trap: &Trap) -> Option<(&'static str, bool)> {
        Some(match trap {
            Trap::IllegalAddress { address, .. } => {
                let mut all = self.freed.iter().chain(&self.pooled);
                let freed = all.any(|&(start, bytes)| (start..start + bytes).contains(address));
                (if freed { "use-after-free" } else { "out-of-bounds" }, self.checks.memory)
            }
            Trap::NotMulticast { .. } => ("out-of-bounds", self.checks.memory),
            Trap::MisalignedAddress { .. } | Trap::MisalignedOperand { .. } => {
                ("misaligned", self.checks.memory)
            }
            Trap::InvalidBarrier(_) => ("barrier-invalid", self.checks.sync),
            Trap::IllegalInstruction(_)
            | Trap::TensorMemoryLeak { .. }
            | Trap::Trap
            | Trap::Breakpoint
            | Trap::Assert { .. }
            | Trap::InvalidCall(_)
            | Trap::InvalidObject(_)
            | Trap::InvalidBranch(_)
            | Trap::StackOverflow { .. }
            | Trap::BudgetExhausted { .. }
            | Trap::Cancelled => return None,
        })
    }

    fn key_of(&self, trap: &Trap, actor: &Actor) -> (&'static str, u32, u32) {
        let kind = self.kind_of(trap).map_or("", |(kind, _)| kind);
        let line = actor.location.ptx.as_ref().map_or(0, |place| place.line);
        (kind, line, self.launches.len() as u32)
    }

    fn trapped(&mut self, trap: &Trap, actor: Actor) {
        let Some((kind, true)) = self.kind_of(trap) else { return };
        let key = self.key_of(trap, &actor);
        let title = match (trap, kind) {
            (Trap::IllegalAddress { address, bytes, access, .. }, "use-after-free") => {
                format!("{access} of {bytes} bytes at {address:#x}, in memory that has been freed")
            }
            (trap, _) => trap.to_string(),
        };
        self.reports.add(key, || Report::new(kind, title, vec![actor]));
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
