//! Launches under several schedules, for the checks: what a launch has found in memory is put back, and it runs again under another
//! scheduler. In the end memory is as the program's own run has left it.
//!
//! That is done only where nobody can tell: if nothing else uses the device meanwhile, if the kernel calls nothing that prints,
//! allocates or launches, and if all memory that it may reach is the device's own and not too much.

use crate::check::Checking;
use crate::module::Function;
use machine::memory::DeviceMemory;
use machine::{Device, Launch, LaunchError, LaunchOptions, LaunchReport};
use sanitizer::{Seen, other_schedules};

/// Bytes of memory that are put back, and instructions of a launch that runs again, at most.
const BYTES: u64 = 64 << 20;
const SHORT: u64 = 2_000_000;

/// A launch that may run again.
pub(crate) struct Replay<'a> {
    checking: &'a Checking,
    machine: &'a Device,
    before: Vec<(u64, Vec<u8>)>,
    /// What had begun when it began.
    begun: u64,
}

impl<'a> Replay<'a> {
    /// Keeps what a launch finds in memory, if it may run again.
    pub(crate) fn prepare(checking: &'a Checking, machine: &'a Device, function: &Function) -> Option<Self> {
        let wanted = checking.schedules() > 1;
        let begun = checking.lone().filter(|_| wanted && is_silent(function))?;
        if !function.module().context().ok()?.device().process().has_only_device_memory() {
            return None;
        }
        let before = contents(machine.memory())?;
        Some(Self { checking, machine, before, begun })
    }

    /// Runs it again, under other schedulers.
    pub(crate) fn run(self, launch: &Launch<'_>, options: &LaunchOptions<'_>, report: &LaunchReport) {
        if report.warp_instructions > SHORT {
            return;
        }
        let Some(_alone) = self.checking.alone(self.begun) else { return };
        let memory = self.machine.memory();
        let Some(after) = contents(memory) else { return };
        for schedule in other_schedules(self.checking.schedules()) {
            restore(memory, &self.before);
            let budget = Some(4 * report.warp_instructions + SHORT);
            let options = LaunchOptions { scheduler: schedule, budget, neighbours: None, ..*options };
            self.checking.seeing(&Seen::Under(schedule.to_string()));
            // A fault has been told to who watches. Of one that does not come to its end counts what it did until then.
            match self.machine.launch(launch, &options) {
                Ok(_) | Err(LaunchError::Fault(_)) => {}
                Err(error) => log::debug!("under the schedule {schedule}: {error}"),
            }
            self.checking.seeing(&Seen::InRun);
        }
        restore(memory, &after);
    }
}

/// Whether a kernel and all that its module has call nothing of the system but what stops them.
fn is_silent(function: &Function) -> bool {
    let module = function.kernel().module().shared_module();
    module.functions.iter().all(|function| function.body.is_some() || function.name == "__assertfail")
}

/// What a device's memory has, if it is not too much, and all of it is in allocations.
fn contents(memory: &DeviceMemory) -> Option<Vec<(u64, Vec<u8>)>> {
    let used = memory.used();
    if used > BYTES {
        return None;
    }
    let (mut all, mut found, mut below) = (Vec::new(), 0, u64::MAX);
    while let Some((address, bytes)) = memory.nearest_below(below) {
        let mut kept = vec![0; usize::try_from(bytes).ok()?];
        memory.read(address, &mut kept).ok()?;
        all.push((address, kept));
        (found, below) = (found + bytes, address - 1);
    }
    (found == used).then_some(all)
}

/// Puts it back.
fn restore(memory: &DeviceMemory, contents: &[(u64, Vec<u8>)]) {
    for (address, bytes) in contents {
        // What has been freed meanwhile nobody can reach.
        let _ = memory.write(*address, bytes);
    }
}
