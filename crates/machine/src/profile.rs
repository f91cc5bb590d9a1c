//! Device profiles: the limits and attributes of real GPUs that a launch is judged by.
//!
//! Figures are those of NVIDIA's data sheets, the CUDA programming guide's table "Technical Specifications per Compute
//! Capability" and `cudaGetDeviceProperties`.

/// What a device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name that `--device` takes.
    pub name: &'static str,
    /// The marketing name that the driver reports.
    pub device_name: &'static str,
    /// Compute capability times ten: 90 for 9.0.
    pub sm: u16,
    /// Whether architecture-specific targets of this number run too (`sm_90a` on an H200).
    pub arch_specific: bool,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Global memory in bytes.
    pub memory: u64,
    /// Registers of a multiprocessor, and of a CTA.
    pub registers: u32,
    /// Threads resident on a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// CTAs resident on a multiprocessor.
    pub ctas_per_multiprocessor: u32,
    /// Shared memory of a multiprocessor in bytes.
    pub shared_per_multiprocessor: u32,
    /// Shared memory that a CTA may use when it opts in.
    pub shared_per_cta_optin: u32,
    /// SM clock in kHz.
    pub clock_khz: u32,
    /// Memory clock in kHz.
    pub memory_clock_khz: u32,
    /// Memory bus width in bits.
    pub memory_bus_bits: u32,
    /// L2 cache in bytes.
    pub l2: u32,
}

const GIB: u64 = 1 << 30;
const KIB: u32 = 1 << 10;

/// Every profile, the default first.
pub const PROFILES: [Profile; 11] = [
    Profile {
        name: "h200",
        device_name: "NVIDIA H200",
        sm: 90,
        arch_specific: true,
        multiprocessors: 132,
        memory: 141 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 2048,
        ctas_per_multiprocessor: 32,
        shared_per_multiprocessor: 228 * KIB,
        shared_per_cta_optin: 227 * KIB,
        clock_khz: 1_980_000,
        memory_clock_khz: 3_201_000,
        memory_bus_bits: 6016,
        l2: 60 * KIB * KIB,
    },
    Profile {
        name: "h100",
        device_name: "NVIDIA H100 80GB HBM3",
        sm: 90,
        arch_specific: true,
        multiprocessors: 132,
        memory: 80 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 2048,
        ctas_per_multiprocessor: 32,
        shared_per_multiprocessor: 228 * KIB,
        shared_per_cta_optin: 227 * KIB,
        clock_khz: 1_980_000,
        memory_clock_khz: 2_619_000,
        memory_bus_bits: 5120,
        l2: 50 * KIB * KIB,
    },
    Profile {
        name: "l40s",
        device_name: "NVIDIA L40S",
        sm: 89,
        arch_specific: false,
        multiprocessors: 142,
        memory: 48 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 1536,
        ctas_per_multiprocessor: 24,
        shared_per_multiprocessor: 100 * KIB,
        shared_per_cta_optin: 99 * KIB,
        clock_khz: 2_520_000,
        memory_clock_khz: 9_001_000,
        memory_bus_bits: 384,
        l2: 96 * KIB * KIB,
    },
    Profile {
        name: "b200",
        device_name: "NVIDIA B200",
        sm: 100,
        arch_specific: true,
        multiprocessors: 148,
        memory: 180 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 2048,
        ctas_per_multiprocessor: 32,
        shared_per_multiprocessor: 228 * KIB,
        shared_per_cta_optin: 227 * KIB,
        clock_khz: 1_965_000,
        memory_clock_khz: 3_996_000,
        memory_bus_bits: 7680,
        l2: 126 * KIB * KIB,
    },
    Profile {
        name: "b300",
        device_name: "NVIDIA B300 SXM6 AC",
        sm: 103,
        arch_specific: true,
        multiprocessors: 148,
        memory: 268 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 2048,
        ctas_per_multiprocessor: 32,
        shared_per_multiprocessor: 228 * KIB,
        shared_per_cta_optin: 227 * KIB,
        clock_khz: 1_920_000,
        memory_clock_khz: 3_996_000,
        memory_bus_bits: 8192,
        l2: 126 * KIB * KIB,
    },
    Profile {
        name: "rtx5090",
        device_name: "NVIDIA GeForce RTX 5090",
        sm: 120,
        arch_specific: true,
        multiprocessors: 170,
        memory: 32 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 1536,
        ctas_per_multiprocessor: 24,
        shared_per_multiprocessor: 100 * KIB,
        shared_per_cta_optin: 99 * KIB,
        clock_khz: 2_407_000,
        memory_clock_khz: 14_001_000,
        memory_bus_bits: 512,
        l2: 96 * KIB * KIB,
    },
    Profile {
        name: "rtx4090",
        device_name: "NVIDIA GeForce RTX 4090",
        sm: 89,
        arch_specific: false,
        multiprocessors: 128,
        memory: 24 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 1536,
        ctas_per_multiprocessor: 24,
        shared_per_multiprocessor: 100 * KIB,
        shared_per_cta_optin: 99 * KIB,
        clock_khz: 2_520_000,
        memory_clock_khz: 10_501_000,
        memory_bus_bits: 384,
        l2: 72 * KIB * KIB,
    },
    Profile {
        name: "rtx3090",
        device_name: "NVIDIA GeForce RTX 3090",
        sm: 86,
        arch_specific: false,
        multiprocessors: 82,
        memory: 24 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 1536,
        ctas_per_multiprocessor: 16,
        shared_per_multiprocessor: 100 * KIB,
        shared_per_cta_optin: 99 * KIB,
        clock_khz: 1_695_000,
        memory_clock_khz: 9_751_000,
        memory_bus_bits: 384,
        l2: 6 * KIB * KIB,
    },
    Profile {
        name: "a100",
        device_name: "NVIDIA A100-SXM4-80GB",
        sm: 80,
        arch_specific: false,
        multiprocessors: 108,
        memory: 80 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 2048,
        ctas_per_multiprocessor: 32,
        shared_per_multiprocessor: 164 * KIB,
        shared_per_cta_optin: 163 * KIB,
        clock_khz: 1_410_000,
        memory_clock_khz: 1_593_000,
        memory_bus_bits: 5120,
        l2: 40 * KIB * KIB,
    },
    Profile {
        name: "t4",
        device_name: "Tesla T4",
        sm: 75,
        arch_specific: false,
        multiprocessors: 40,
        memory: 16 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 1024,
        ctas_per_multiprocessor: 16,
        shared_per_multiprocessor: 64 * KIB,
        shared_per_cta_optin: 64 * KIB,
        clock_khz: 1_590_000,
        memory_clock_khz: 5_001_000,
        memory_bus_bits: 256,
        l2: 4 * KIB * KIB,
    },
    Profile {
        name: "v100",
        device_name: "Tesla V100-SXM2-32GB",
        sm: 70,
        arch_specific: false,
        multiprocessors: 80,
        memory: 32 * GIB,
        registers: 65536,
        threads_per_multiprocessor: 2048,
        ctas_per_multiprocessor: 32,
        shared_per_multiprocessor: 96 * KIB,
        shared_per_cta_optin: 96 * KIB,
        clock_khz: 1_530_000,
        memory_clock_khz: 877_000,
        memory_bus_bits: 4096,
        l2: 6 * KIB * KIB,
    },
];

impl Profile {
    /// Threads in a CTA, on every device.
    pub const MAX_THREADS: u32 = 1024;
    /// Extents of a CTA, on every device.
    pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
    /// Extents of a grid, on every device.
    pub const MAX_GRID: [u32; 3] = [0x7fff_ffff, 65535, 65535];
    /// Shared memory of a CTA that has not opted in to more.
    pub const SHARED_PER_CTA: u32 = 48 * KIB;
    /// Bytes of local memory of a thread, on every device.
    pub const MAX_LOCAL: u32 = 512 * KIB;
    /// Bytes of kernel parameters since PTX 8.1 on sm_70 and later.
    pub const MAX_PARAMETERS: u32 = 32764;

    /// The profile that `--device` names; case does not matter.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|p| p.name.eq_ignore_ascii_case(name))
    }

    /// CTAs in a cluster, if the device has clusters: on any such device, and at most where a kernel asks for more.
    pub const MAX_CLUSTER: (u32, u32) = (8, 16);

    /// Whether CTAs form clusters.
    pub fn has_clusters(&self) -> bool {
        self.sm >= 90
    }

    /// Bytes of shared memory that the system reserves in every CTA.
    pub fn reserved_shared(&self) -> u32 {
        if self.sm >= 80 { KIB } else { 0 }
    }

    /// Where a CTA's own shared memory begins: since compute capability 9.0 behind the reserved bytes.
    pub fn shared_start(&self) -> u32 {
        if self.sm >= 90 { self.reserved_shared() } else { 0 }
    }

    /// Shared memory of a CTA is given out in units of this many bytes.
    pub const SHARED_UNIT: u32 = 128;

    /// CTAs of a kernel that reside on one multiprocessor at a time, as far as threads and shared memory tell.
    pub fn resident_ctas(&self, threads: u32, shared: u32) -> u32 {
        let threads = threads.max(1).next_multiple_of(32);
        let by_threads = self.threads_per_multiprocessor / threads;
        let units = shared.saturating_add(self.reserved_shared()).div_ceil(Self::SHARED_UNIT);
        let taken = units.saturating_mul(Self::SHARED_UNIT);
        let by_shared = (self.shared_per_multiprocessor).checked_div(taken).unwrap_or(u32::MAX);
        by_threads.min(by_shared).min(self.ctas_per_multiprocessor)
    }
}

impl Profile {
    /// CTAs that the registers of a multiprocessor suffice for. They lie in four partitions, and a warp gets them from
    /// one, in units of 256.
    pub fn ctas_by_registers(&self, threads: u32, registers: u32) -> u32 {
        let warp = (registers.clamp(1, 255) * 32).next_multiple_of(256);
        let warps = self.registers / 4 / warp * 4;
        warps / threads.max(1).div_ceil(32)
    }
}

impl Default for Profile {
    fn default() -> Self {
        PROFILES[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for profile in &PROFILES {
            assert_eq!(Profile::by_name(&profile.name.to_uppercase()), Some(profile));
        }
        assert_eq!(Profile::by_name("h300"), None);
    }

    #[test]
    fn residency_is_the_tightest_limit() {
        let h200 = Profile::by_name("h200").unwrap();
        assert_eq!(h200.resident_ctas(256, 0), 8);
        assert_eq!(h200.resident_ctas(32, 0), 32);
        assert_eq!(h200.resident_ctas(1024, 100 * KIB), 2);
        assert_eq!(h200.resident_ctas(64, 227 * KIB), 1);
    }

    #[test]
    fn registers_limit_residency_by_the_warp() {
        let h200 = Profile::by_name("h200").unwrap();
        assert_eq!(h200.ctas_by_registers(1024, 32), 2);
        assert_eq!(h200.ctas_by_registers(1024, 65), 0);
        assert_eq!(h200.ctas_by_registers(256, 40), 6);
        assert_eq!(h200.ctas_by_registers(32, 255), 8);
    }
}
