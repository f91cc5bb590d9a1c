//! Which CTAs an SM has at once, and which SM a CTA goes to.

use crate::device::Parameters;
use sass_machine::{Grid, LANES};

/// How many CTAs of a launch an SM has room for, and by what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// CTAs at once.
    pub ctas: u64,
    /// Warps of a CTA.
    pub warps: u64,
    /// Registers of a thread.
    pub registers: u64,
    /// Bytes of shared memory of a CTA, as they are given.
    pub shared: u64,
    /// By each resource the CTAs that there would be room for.
    pub limits: [(&'static str, u64); 4],
}

impl Occupancy {
    /// That of a launch.
    pub(crate) fn of(grid: &Grid<'_>, device: &Parameters) -> Self {
        let warps = u64::from(grid.threads()).div_ceil(LANES as u64);
        let shared = grid.shared().next_multiple_of(device.shared_unit);
        let mut own = Self { warps, registers: u64::from(grid.registers()), shared, ..Self::default() };
        own.limits = own.limits_with(own.registers, shared, device);
        own.ctas = own.with(own.registers, shared, device);
        own
    }

    /// How many CTAs there would be room for if threads had so many registers, and CTAs so much shared memory.
    #[must_use]
    pub fn with(&self, registers: u64, shared: u64, device: &Parameters) -> u64 {
        self.limits_with(registers, shared, device).into_iter().map(|(_, limit)| limit).min().unwrap_or(0)
    }

    fn limits_with(&self, registers: u64, shared: u64, device: &Parameters) -> [(&'static str, u64); 4] {
        let registers = (registers * LANES as u64).next_multiple_of(device.register_unit);
        // Each sub-core has registers of its own, and warps go to one after the other.
        let warps_of_sub_core = device.registers / device.sub_cores / registers.max(1);
        [
            ("warps", device.warps / self.warps.max(1)),
            ("registers", warps_of_sub_core * device.sub_cores / self.warps.max(1)),
            ("shared memory", device.shared / shared.max(1)),
            ("CTAs", device.ctas),
        ]
    }

    /// The resource that leaves no room for more.
    #[must_use]
    pub fn limit(&self) -> &'static str {
        self.limits.iter().min_by_key(|(_, limit)| *limit).map_or("", |(name, _)| name)
    }
}

/// The order in which SMs get the CTAs of a first wave, all of them one before any gets another: that of the device's file, or by their
/// numbers where that is not one of all SMs.
pub(crate) fn order(sms: usize, listed: &[usize]) -> Vec<usize> {
    let is_of_all = listed.len() == sms && (0..sms).all(|sm| listed.contains(&sm));
    if is_of_all { listed.to_vec() } else { (0..sms).collect() }
}

/// The GPC of the SM at a place in that order, of which each has so many; the last one has the rest, too.
pub(crate) fn gpc(at: usize, sms_of_gpc: usize, sms: usize) -> usize {
    (at / sms_of_gpc).min((sms / sms_of_gpc).max(1) - 1)
}

/// The SMs that so many CTAs go to where there are fewer than SMs, in the order of all SMs: those of a GPC's first half, one of each pair
/// before any second one; then of all GPCs in turn, again one of each pair before any second one.
pub(crate) fn first(order: &[usize], gpc: usize, ctas: usize) -> Vec<usize> {
    let gpc = gpc.max(2);
    let lead = gpc / 2;
    let mut taken = vec![[0; 2]; order.len().div_ceil(gpc).max(1)];
    let mut turns: Vec<(bool, usize, usize, usize)> = (0..order.len())
        .map(|at| {
            let of_pair = at % 2;
            let turn = &mut taken[self::gpc(at, gpc, order.len())][of_pair];
            if at >= lead {
                *turn += 1;
            }
            (at >= lead, of_pair, *turn, at)
        })
        .collect();
    turns.sort_unstable();
    let mut chosen: Vec<usize> = turns.into_iter().take(ctas).map(|(.., at)| at).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|at| order[at]).collect()
}

/// The SMs that the CTAs of clusters go to that begin first, so many of each cluster, and no more of an SM than it has room for: a cluster to each
/// GPC in turn that has as many SMs left, before any SM gets a second CTA. Nothing where GPCs are not known, or are those of other SMs.
pub(crate) fn clusters(gpcs: &[Vec<usize>], sms: usize, size: usize, room: usize) -> Vec<usize> {
    if gpcs.iter().flatten().any(|&sm| sm >= sms) {
        return Vec::new();
    }
    let most = gpcs.iter().map(|gpc| gpc.len() / size.max(1)).max().unwrap_or(0);
    let layer: Vec<usize> = (0..most)
        .flat_map(|turn| gpcs.iter().filter_map(move |gpc| gpc.chunks_exact(size).nth(turn)))
        .flatten()
        .copied()
        .collect();
    layer.repeat(room)
}

#[cfg(test)]
mod tests {
    use super::{Occupancy, clusters, first, order};
    use crate::device::Device;

    /// What `cudaOccupancyMaxActiveBlocksPerMultiprocessor` says on an H100 of a kernel with 64 registers, by warps of a CTA.
    #[test]
    fn registers_of_sub_cores_are_for_whichever_warps_come() {
        let device = Device::named("h100").expect("a device that comes along").parameters;
        let ctas = (1..10).map(|warps| Occupancy { warps, ..Occupancy::default() }.with(64, 0, &device));
        assert_eq!(ctas.collect::<Vec<_>>(), [32, 16, 10, 8, 6, 5, 4, 4, 3]);
    }

    /// What an H100 did with 4 and 16 CTAs, by the SMs' places in its order; its last GPC begins at 114.
    #[test]
    fn few_ctas_are_spread() {
        let all: Vec<usize> = (0..132).collect();
        assert_eq!(first(&all, 16, 4), [0, 2, 4, 6]);
        assert_eq!(first(&all, 16, 16), [0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 48, 64, 80, 96, 112]);
        assert_eq!(first(&all, 16, 132), all);
    }

    /// measured/h100/clusters.csv: 128 CTAs in clusters of four, of which an SM has room for many; 30 clusters have SMs of their own.
    #[test]
    fn clusters_go_to_gpcs_in_turn() {
        let device = Device::named("h100").expect("a device that comes along");
        let of = |size: usize| clusters(&device.gpcs, 132, size, 2);
        let four = of(4);
        assert_eq!(four[..8], [4, 5, 20, 21, 6, 7, 22, 23]);
        assert_eq!(four[64..68], [66, 67, 80, 81]);
        assert_eq!(four.len(), 2 * 120);
        assert_eq!(four[120..124], four[..4]);
        assert_eq!(of(8).len(), 2 * 8 * 15);
        assert_eq!(of(16).len(), 2 * 16 * 7);
        assert_eq!((of(2).len(), &of(2)[..4]), (2 * 132, &[128, 129, 130, 131][..]));
        assert!(clusters(&device.gpcs, 100, 4, 1).is_empty());
    }

    #[test]
    fn an_order_of_other_sms_is_not_used() {
        let of = |listed: &[usize]| [0, 1, 2, 3].map(|number| order(3, listed)[number % 3]);
        assert_eq!(of(&[2, 0, 1]), [2, 0, 1, 2]);
        assert_eq!(of(&[2, 0]), [0, 1, 2, 0]);
        assert_eq!(of(&[2, 0, 7]), [0, 1, 2, 0]);
    }
}
