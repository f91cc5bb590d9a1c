//! The checks that stand between a request and a running grid, and how a grid is divided.

use super::device::Device;
use super::module::LoadedModule;
use super::request::{Launch, LaunchError};
use crate::build::Unsupported;
use crate::image::{Image, Purpose};
use crate::lanes::{LANES, MAX_WARPS};
use crate::listing::Listing;
use crate::matrix::WARPGROUP;
use crate::profile::Profile;
use ir::LaneOrder;
use std::sync::Arc;

/// Bytes of stack of a thread beyond what the call graph is known to need, where it is not known.
pub(super) const STACK: u32 = 16 << 10;

/// Warps of a pack: packs are of equal size, and as few as possible. The warps of a warpgroup multiply matrices
/// together, so that none may be in another pack.
fn pack_size(module: &LoadedModule, warps: usize, debug: bool) -> usize {
    let size = if debug { 1 } else { warps.div_ceil(warps.div_ceil(MAX_WARPS)) };
    let is_group_product = |opcode: &ptx::isa::Opcode| opcode.mnemonic() == ptx::isa::Mnemonic::Wgmma;
    match size < warps && module.module().opcodes.iter().any(is_group_product) {
        true => size.next_multiple_of(WARPGROUP.min(warps)),
        false => size,
    }
}

impl Device {
    /// All checks that stand before a launch, without running it. What passes them can only be stopped by a fault.
    pub fn check(&self, launch: &Launch<'_>) -> Result<(), LaunchError> {
        check_extents(launch)?;
        self.shape(launch)?;
        let image = Self::image(launch, Purpose::default())?;
        self.check_resources(launch, image.static_shared, image.local_bytes(STACK))
    }

    /// What the kernel of a launch and all that it can call have become, as text: below each line of PTX its operations.
    pub fn listing(&self, launch: &Launch<'_>) -> Result<String, LaunchError> {
        check_extents(launch)?;
        let image = Self::image(launch, Purpose::default())?;
        Ok(Listing { module: launch.kernel.module().executed(image.purpose), image: &image }.to_string())
    }

    /// The code of a launch, for its packs and its order of lanes.
    pub(super) fn image(launch: &Launch<'_>, purpose: Purpose) -> Result<Arc<Image>, Box<Unsupported>> {
        let module = launch.kernel.module;
        let threads: u32 = launch.block.iter().product();
        let warps = pack_size(module, threads.div_ceil(LANES as u32) as usize, purpose.debug);
        module.image(launch.kernel.function, warps, LaneOrder::of_block(launch.block), purpose)
    }

    /// The extents of grid and clusters, as kernel and launch say them together.
    pub(super) fn shape(&self, launch: &Launch<'_>) -> Result<Shape, LaunchError> {
        use LaunchError::InvalidConfiguration as Invalid;
        let bounds = &launch.kernel.function().bounds;
        let text = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let cluster = match (launch.cluster, bounds.req_nctapercluster) {
            (Some(asked), Some(required)) if asked != required => {
                let (asked, required) = (text(asked), text(required));
                return Err(Invalid(format!(
                    "clusters of {asked}; the kernel requires {required}: .reqnctapercluster"
                )));
            }
            (asked, required) => asked.or(required),
        };
        let Some(cluster) = cluster else {
            return match bounds.explicit_cluster {
                true => {
                    Err(Invalid("the kernel needs the extents of a cluster: .explicitcluster".to_owned()))
                }
                false => Ok(Shape { grid: launch.grid, cluster: None }),
            };
        };
        if !self.profile.has_clusters() {
            return Err(Invalid(format!("clusters; device {} has none", self.profile.name)));
        }
        let size = cluster.iter().try_fold(1u32, |size, &n| size.checked_mul(n)).unwrap_or(u32::MAX);
        let (portable, most) = Profile::MAX_CLUSTER;
        let limit = if launch.nonportable_cluster { most } else { portable };
        if size == 0 || size > limit {
            let hint = match size <= most && size != 0 {
                true => format!("; up to {most} if the launch allows sizes that are not portable"),
                false => String::new(),
            };
            let extents = text(cluster);
            return Err(Invalid(format!("clusters of {extents} CTAs; a cluster has 1 to {limit}{hint}")));
        }
        if let Some(max) = bounds.max_clusterrank.filter(|&max| size > max) {
            return Err(Invalid(format!(
                "clusters of {size} CTAs; the kernel's .maxclusterrank allows {max}"
            )));
        }
        // The grid of a kernel with .blocksareclusters counts clusters.
        let scale = if bounds.blocks_are_clusters { cluster } else { [1; 3] };
        let mut grid = launch.grid;
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            grid[axis] = match grid[axis].checked_mul(scale[axis]) {
                Some(extent) if extent <= Profile::MAX_GRID[axis] => extent,
                _ => return Err(Invalid(format!("grid {name} extent {} clusters is too large", grid[axis]))),
            };
            if !grid[axis].is_multiple_of(cluster[axis]) {
                let (extent, by) = (grid[axis], cluster[axis]);
                return Err(Invalid(format!(
                    "grid {name} extent {extent} is not a multiple of the cluster's {by}"
                )));
            }
        }
        Ok(Shape { grid, cluster: Some(cluster) })
    }

    pub(super) fn check_resources(
        &self,
        launch: &Launch<'_>,
        static_shared: u32,
        local: u32,
    ) -> Result<(), LaunchError> {
        use LaunchError::{InvalidConfiguration as Invalid, OutOfResources};
        let function = launch.kernel.function();
        let threads: u32 = launch.block.iter().product();
        if let Some(required) = function.bounds.req_ntid
            && required != launch.block
        {
            let [x, y, z] = required;
            return Err(Invalid(format!("the kernel requires blocks of ({x}, {y}, {z}): .reqntid")));
        }
        if let Some(max) = function.bounds.max_ntid {
            let max: u32 = max.iter().product();
            if threads > max {
                return Err(OutOfResources(format!(
                    "a block of {threads} threads; the kernel's .maxntid allows {max}"
                )));
            }
        }
        let shared = u64::from(static_shared) + u64::from(launch.dynamic_shared);
        let limit = self.profile.shared_per_cta_optin;
        if shared > u64::from(limit) {
            return Err(OutOfResources(format!("{shared} bytes of shared memory; a CTA can have {limit}")));
        }
        if local > Profile::MAX_LOCAL {
            let limit = Profile::MAX_LOCAL;
            return Err(OutOfResources(format!("{local} bytes of local memory; a thread can have {limit}")));
        }
        let layout = launch.kernel.parameters();
        let size = layout.last().map_or(0, |p| p.offset + p.size);
        if launch.params.len() != size as usize {
            return Err(Invalid(format!(
                "{} bytes of parameters; kernel {} takes {size}",
                launch.params.len(),
                launch.kernel.name()
            )));
        }
        if size > Profile::MAX_PARAMETERS {
            return Err(OutOfResources(format!("{size} bytes of parameters")));
        }
        Ok(())
    }
}

/// How a launch is divided.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    /// `None` if nobody asked for clusters.
    pub(super) cluster: Option<[u32; 3]>,
}

impl Shape {
    /// How many clusters there are.
    pub(super) fn clusters(&self) -> u64 {
        let cluster = self.cluster.unwrap_or([1; 3]);
        self.grid.iter().zip(cluster).map(|(&ctas, of_cluster)| u64::from(ctas / of_cluster)).product()
    }
}

/// Checks the extents of grid and block, which are the same on every device.
pub(super) fn check_extents(launch: &Launch<'_>) -> Result<(), LaunchError> {
    use LaunchError::InvalidConfiguration as Invalid;
    let both = [("grid", launch.grid, Profile::MAX_GRID), ("block", launch.block, Profile::MAX_BLOCK)];
    for (name, extents, limits) in both {
        for ((extent, limit), axis) in extents.into_iter().zip(limits).zip(["x", "y", "z"]) {
            if extent == 0 || extent > limit {
                return Err(Invalid(format!("{name} {axis} extent {extent} is not in 1..={limit}")));
            }
        }
    }
    let threads: u32 = launch.block.iter().product();
    if threads > Profile::MAX_THREADS {
        return Err(Invalid(format!("a block of {threads} threads; the limit is {}", Profile::MAX_THREADS)));
    }
    Ok(())
}
