//! The schedulers under which verdicts must be the same.

use machine::SchedulerKind;

pub(crate) const SCHEDULERS: [SchedulerKind; 6] = [
    SchedulerKind::RoundRobin,
    SchedulerKind::Random { seed: 1 },
    SchedulerKind::Random { seed: 2 },
    SchedulerKind::Random { seed: 3 },
    SchedulerKind::Random { seed: 4 },
    SchedulerKind::Adversarial,
];
