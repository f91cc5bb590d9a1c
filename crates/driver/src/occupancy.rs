//! Occupancy: how many blocks of a kernel fit on a device.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::module::{Configuration, Function};
use machine::Profile;

impl Context {
    /// How many blocks of a function reside on a multiprocessor.
    pub fn resident_blocks(&self, function: &Function, threads: u32, dynamic_shared: u32) -> u32 {
        if threads > function.max_threads() {
            0
        } else {
            self.fitting_blocks(function, threads, dynamic_shared)
        }
    }

    /// The same, however many threads the function allows a block to have.
    pub(crate) fn fitting_blocks(&self, function: &Function, threads: u32, dynamic_shared: u32) -> u32 {
        let profile = self.device().profile();
        let shared = function.static_shared().saturating_add(dynamic_shared);
        if threads == 0 || threads > Profile::MAX_THREADS || shared > profile.shared_per_cta_optin {
            return 0;
        }
        let by_registers = profile.ctas_by_registers(threads, function.registers());
        profile.resident_ctas(threads, shared).min(by_registers)
    }

    /// How many clusters of a function reside on the device. All blocks of a cluster are on multiprocessors of one
    /// group, of which not all devices have equally many: here a cluster takes any free places.
    pub fn resident_clusters(&self, function: &Function, configuration: &Configuration) -> Result<u32> {
        let size = self.cluster_size(function, configuration)?;
        let threads = configuration.block.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
        let threads = threads.ok_or(Error::InvalidValue)?;
        let blocks = self.resident_blocks(function, threads, configuration.dynamic_shared);
        Ok(blocks * self.device().profile().multiprocessors / size)
    }

    /// Blocks of a cluster, as kernel and launch say it together.
    fn cluster_size(&self, function: &Function, configuration: &Configuration) -> Result<u32> {
        if !self.device().profile().has_clusters() {
            return Err(Error::InvalidClusterSize);
        }
        let required = function.bounds().req_nctapercluster;
        let extents = configuration.cluster.or(required).unwrap_or([1; 3]);
        let size = extents.iter().try_fold(1u32, |all, &n| all.checked_mul(n)).unwrap_or(u32::MAX);
        let fits = required.is_none_or(|required| required == extents);
        if size == 0 || size > Self::largest_cluster(function) || !fits {
            return Err(Error::InvalidClusterSize);
        }
        Ok(size)
    }

    /// The most blocks of a cluster of a function.
    pub fn largest_cluster(function: &Function) -> u32 {
        let (portable, most) = Profile::MAX_CLUSTER;
        let limit = if function.limits().nonportable_cluster { most } else { portable };
        function.bounds().max_clusterrank.map_or(limit, |rank| rank.min(limit))
    }

    /// The smallest grid that fills the device with blocks of the best size up to `limit`, and that size.
    pub fn potential_block_size(
        &self,
        function: &Function,
        dynamic_shared: &dyn Fn(u32) -> u32,
        limit: u32,
    ) -> (u32, u32) {
        let most = function.max_threads();
        let limit = if limit == 0 { most } else { limit.min(most) };
        let sizes = (1..=limit.div_ceil(32)).rev().map(|warps| (warps * 32).min(limit));
        let threads = |size: u32| self.resident_blocks(function, size, dynamic_shared(size)) * size;
        // Of equal ones the largest: it comes first, and `max_by_key` takes the last.
        let best = sizes.rev().max_by_key(|&size| threads(size)).unwrap_or(limit);
        let blocks = self.resident_blocks(function, best, dynamic_shared(best));
        (blocks * self.device().profile().multiprocessors, best)
    }

    /// Bytes of dynamic shared memory that each of `blocks` blocks on a multiprocessor can have.
    pub fn available_shared(&self, function: &Function, blocks: u32) -> u32 {
        let profile: &Profile = self.device().profile();
        let each =
            (profile.shared_per_multiprocessor / blocks.max(1)).saturating_sub(profile.reserved_shared());
        each.saturating_sub(function.static_shared()).min(function.max_dynamic_shared())
    }
}
