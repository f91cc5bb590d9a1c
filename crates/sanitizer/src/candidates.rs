//! What an analysis of [locks](crate::locks) is going to tell when a launch is over, if its locks are locks then.

use crate::race::Class;
use crate::report::Report;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Something to tell.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) launch: usize,
    pub(crate) class: Class,
    /// The instructions of the later and the earlier access.
    pub(crate) sites: (u32, u32),
    pub(crate) report: Report,
    pub(crate) count: u64,
    /// Locks that one of both is under.
    pub(crate) locks: BTreeSet<u64>,
}

/// Candidates that are kept.
const MOST: usize = 256;

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    all: Vec<Candidate>,
    /// Launches of which nothing more is predicted: a race was found already.
    decided: FxHashSet<usize>,
}

impl Candidates {
    pub(crate) fn is_decided(&self, launch: usize) -> bool {
        self.decided.contains(&launch)
    }

    pub(crate) fn decide(&mut self, launch: usize) {
        self.decided.insert(launch);
    }

    /// Whether such a pair of instructions is new, and there is room for it; one that is known is counted.
    pub(crate) fn is_new(&mut self, launch: usize, class: Class, sites: (u32, u32)) -> bool {
        let same =
            |known: &&mut Candidate| (known.launch, known.class, known.sites) == (launch, class, sites);
        match self.all.iter_mut().find(same) {
            Some(known) => {
                known.count += 1;
                false
            }
            None => self.all.len() < MOST,
        }
    }

    pub(crate) fn add(&mut self, candidate: Option<Candidate>) {
        self.all.extend(candidate);
    }

    /// Those of a launch that is over.
    pub(crate) fn take(&mut self, launch: usize) -> Vec<Candidate> {
        self.decided.remove(&launch);
        self.all.extract_if(.., |candidate| candidate.launch == launch).collect()
    }
}
