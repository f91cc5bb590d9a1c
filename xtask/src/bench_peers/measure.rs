//! A kernel on all peers: results compared first, then times taken in turn.

use super::agreement::deviation;
use super::peers::{Peers, Task, Took};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What times are times of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Clock {
    /// What passes: on an idle host.
    Wall,
    /// What all threads of a peer take of the processor: where others use the host as well, this is what they disturb least.
    Processor,
}

impl Clock {
    fn of(self, took: Took) -> f64 {
        match self {
            Self::Wall => took.wall,
            Self::Processor => took.processor,
        }
    }
}

/// How long, how often, and by which clock.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    pub(super) clock: Clock,
    /// Rounds in which each peer runs once.
    pub(super) rounds: usize,
    /// No round begins after so long, once there were three.
    pub(super) patience: Duration,
}

const LEAST_ROUNDS: usize = 3;

/// What became of one kernel.
#[derive(Default, Serialize)]
pub(super) struct Measured {
    /// Medians, by peer.
    pub(super) milliseconds: BTreeMap<&'static str, f64>,
    /// What the first run took, with whatever was compiled for it.
    pub(super) first: BTreeMap<&'static str, f64>,
    /// How far results lie from the first peer's, as a part of the largest.
    pub(super) deviation: BTreeMap<&'static str, f64>,
    /// Why a kernel was interpreted.
    pub(super) remarks: BTreeMap<&'static str, String>,
    /// Peers that did not run it, or whose result is wrong.
    pub(super) failed: BTreeMap<&'static str, String>,
}

/// Compares results, then lets all peers run in turn, so that what else the host does meets all of them.
pub(super) fn measure(task: &Task<'_>, peers: &mut Peers, effort: Effort) -> Measured {
    let mut measured = Measured::default();
    let mut expected: Option<Vec<u8>> = None;
    let mut times: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for (name, peer) in &mut peers.all {
        let tried = peer.run(task).and_then(|first| Ok((first, peer.result(task)?)));
        let judged = tried.and_then(|(first, result)| {
            let expected = expected.get_or_insert_with(|| result.clone());
            Ok((first, deviation(task.kernel.agreement, expected, &result)?))
        });
        match judged {
            Ok((first, deviation)) => {
                measured.first.insert(name, effort.clock.of(first));
                measured.deviation.insert(name, deviation);
                times.insert(name, Vec::new());
            }
            Err(why) => drop(measured.failed.insert(name, format!("{why:#}"))),
        }
        if let Some(remark) = peer.remark() {
            measured.remarks.insert(name, remark.to_owned());
        }
    }
    let begun = Instant::now();
    for round in 0..effort.rounds {
        if round >= LEAST_ROUNDS && begun.elapsed() > effort.patience {
            break;
        }
        for (name, peer) in &mut peers.all {
            let Some(times) = times.get_mut(name) else { continue };
            match peer.run(task) {
                Ok(took) => times.push(effort.clock.of(took)),
                Err(why) => drop(measured.failed.insert(name, format!("{why:#}"))),
            }
        }
    }
    let medians = times.into_iter().filter_map(|(name, times)| Some((name, median(times)?)));
    measured.milliseconds = medians.filter(|(name, _)| !measured.failed.contains_key(name)).collect();
    measured
}

/// The median, if there is any.
pub(super) fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}
