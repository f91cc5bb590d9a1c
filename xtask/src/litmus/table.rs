//! Who plays which thread of a test in which instance: the tables that the kernels read.
//!
//! Clusters are put together at random, as many as the test's threads need; inside of them CTAs, warps and lanes are, and
//! who is left over makes memory traffic. So the threads of an instance are where the test wants them and otherwise
//! anywhere.

use fastrand::Rng;
use memory_model::catalogue::ThreadPosition;
use memory_model::kernel::{self, IDLE, STRESS};

/// CTAs of a cluster.
pub(crate) const CTAS: usize = 4;
/// Warps of a CTA.
pub(crate) const WARPS: usize = 8;
/// Lanes of a warp.
const LANES: usize = 32;
/// Threads of a CTA.
pub(crate) const THREADS: usize = WARPS * LANES;

/// A table.
pub(crate) struct Table {
    /// The slot of every thread.
    pub(crate) slots: Vec<u32>,
    /// How many instances there are in a step.
    pub(crate) instances: u32,
}

/// The numbers below `n`, shuffled.
fn shuffled(n: usize, random: &mut Rng) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    random.shuffle(&mut all);
    all
}

/// The place of each item among the different ones, and how many these are.
fn ranks(items: impl Iterator<Item = u32>) -> (Vec<usize>, usize) {
    let mut known = Vec::new();
    let ranks = items
        .map(|item| {
            known.iter().position(|other| *other == item).unwrap_or_else(|| {
                known.push(item);
                known.len() - 1
            })
        })
        .collect();
    (ranks, known.len())
}

/// For each thread of a test: which cluster of its bundle, CTA of the cluster, warp of the CTA and lane of the warp it
/// takes; and how many the greatest of each needs.
struct Pattern {
    of: Vec<[usize; 4]>,
    needs: [usize; 4],
}

impl Pattern {
    fn new(places: &[ThreadPosition]) -> Self {
        let mut of = vec![[0; 4]; places.len()];
        let mut needs = [0; 4];
        // Threads of one unit are numbered among those of the unit that contains it.
        let mut groups: Vec<Vec<usize>> = vec![(0..places.len()).collect()];
        for level in 0..4 {
            let mut next = Vec::new();
            for group in groups {
                let key = |&thread: &usize| match level {
                    0 => places[thread].cluster,
                    1 => places[thread].cta,
                    2 => places[thread].warp,
                    _ => thread as u32,
                };
                let (numbers, count) = ranks(group.iter().map(key));
                needs[level] = count.max(needs[level]);
                for number in 0..count {
                    next.push((0..group.len()).filter(|&i| numbers[i] == number).map(|i| group[i]).collect());
                }
                for (&thread, number) in group.iter().zip(numbers) {
                    of[thread][level] = number;
                }
            }
            groups = next;
        }
        Self { of, needs }
    }
}

/// A table for a test whose threads are in these places, over so many clusters. With barriers every thread of a cluster
/// takes part or none does.
pub(crate) fn table(places: &[ThreadPosition], clusters: usize, barriers: bool, random: &mut Rng) -> Table {
    let pattern = Pattern::new(places);
    let [bundle, ctas, warps, lanes] = pattern.needs;
    let traffic = if random.bool() { STRESS } else { IDLE };
    let mut slots = vec![if barriers { IDLE } else { traffic }; clusters * CTAS * THREADS];
    let order = shuffled(clusters, random);
    let (in_cluster, in_cta, in_warp) = (CTAS / ctas, WARPS / warps, LANES / lanes);
    let mut instances = 0;
    for group in order.chunks_exact(bundle) {
        // One bundle in eight makes traffic alone, but never the first.
        if instances > 0 && random.u8(..8) == 0 {
            group.iter().for_each(|&cluster| {
                slots[cluster * CTAS * THREADS..][..CTAS * THREADS].fill(STRESS);
            });
            continue;
        }
        let cta_of: Vec<Vec<usize>> = group.iter().map(|_| shuffled(CTAS, random)).collect();
        let warp_of: Vec<Vec<usize>> = (0..bundle * CTAS).map(|_| shuffled(WARPS, random)).collect();
        let lane_of: Vec<Vec<usize>> = (0..bundle * CTAS * WARPS).map(|_| shuffled(LANES, random)).collect();
        for index in 0..in_cluster * in_cta * in_warp {
            let (lane, rest) = (index % in_warp, index / in_warp);
            let (warp, cta) = (rest % in_cta, rest / in_cta);
            for (thread, at) in pattern.of.iter().enumerate() {
                let cta = cta_of[at[0]][cta * ctas + at[1]];
                let warp = warp_of[at[0] * CTAS + cta][warp * warps + at[2]];
                let lane = lane_of[(at[0] * CTAS + cta) * WARPS + warp][lane * lanes + at[3]];
                slots[((group[at[0]] * CTAS + cta) * WARPS + warp) * LANES + lane] =
                    kernel::slot(thread, instances);
            }
            instances += 1;
        }
    }
    Table { slots, instances }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_model::catalogue;
    use std::collections::BTreeSet;

    #[test]
    fn every_instance_has_all_its_threads_where_they_belong() {
        let mut random = Rng::with_seed(7);
        let choices: BTreeSet<Vec<ThreadPosition>> =
            catalogue::all().into_iter().flat_map(|(_, places)| places).collect();
        assert!(choices.len() > 12);
        for places in choices {
            let table = table(&places, 9, false, &mut random);
            let mut found = vec![vec![None; places.len()]; table.instances as usize];
            for (at, slot) in table.slots.iter().enumerate().filter(|(_, slot)| **slot & 7 < 4) {
                let place = &mut found[(slot >> 3) as usize][(slot & 7) as usize];
                assert!(place.replace(at).is_none(), "two threads in one slot");
            }
            for instance in found {
                let at: Vec<usize> = instance.into_iter().map(|at| at.expect("a thread")).collect();
                for (a, b) in (0..at.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
                    let same = |unit: usize| at[a] / unit == at[b] / unit;
                    let (p, q) = (places[a], places[b]);
                    assert_eq!(same(CTAS * THREADS), p.cluster == q.cluster);
                    assert_eq!(same(THREADS), (p.cluster, p.cta) == (q.cluster, q.cta));
                    assert_eq!(same(LANES), p == q);
                    assert_ne!(at[a], at[b]);
                }
            }
        }
    }
}
