//! What code of a device names by number: where constant bank 0 has what a launch gives, and where shared memory begins. Seen in what
//! ptxas 13.0 makes of PTX that asks for each.

use crate::Arch;

/// A device, for its code.
#[derive(Debug, PartialEq, Eq)]
pub struct Device {
    /// Whose instructions it has.
    pub arch: Arch,
    /// Bytes of shared memory in front of a CTA's own, which are the system's.
    pub system_shared: u32,
    /// What PTX calls the offset of the first of them.
    pub reserved_offset: u32,
    /// An address in shared memory has the CTA's rank in its cluster in the highest byte.
    pub has_ranks: bool,
    /// Whether a barrier with a constant for its number has bits beside that which no text shows: without a count of threads, and with one.
    pub barrier_bits: [bool; 2],
    /// Where constant bank 0 has the kernel's parameters.
    pub parameters: u32,
    /// Threads of a CTA along three axes.
    pub block: u32,
    /// CTAs of the grid along three axes.
    pub grid: u32,
    /// Where a thread's stack begins.
    pub stack: u32,
    /// The descriptor of global memory.
    pub descriptor: u32,
    /// Whether accesses name the registers that hold it; else they are UR4 and UR5, which the text does not show.
    pub names_descriptor: bool,
    /// Bytes of shared memory that a launch asks for beside the kernel's own.
    pub dynamic_shared: u32,
    /// The first of the words that PTX calls `%envreg0` and so on.
    pub environment: u32,
    /// By so many bytes for each of what `SR_CgaSize` counts, these words, those of dynamic shared memory and of clusters, but for their kind, stand lower.
    pub lower_by_cluster: u32,
    /// Bytes of shared memory that are the system's.
    pub reserved_shared: u32,
    /// The grid's number.
    pub grid_id: u32,
    /// How many SMs there are.
    pub sm_count: u32,
    /// Where local memory begins among generic addresses.
    pub local_window: u32,
    /// Where shared memory begins among them, in 64 bits; none where a special register has the upper half, and the lower one is 0.
    pub shared_window: Option<u32>,
    /// The generic address of constant bank 3.
    pub constants: u32,
    /// That of some place in constant bank 0, and how far behind it the parameters begin.
    pub parameter_window: (u32, u32),
    /// The generic address of the parameters' end; none where there is no such word.
    pub parameters_end: Option<u32>,
    /// What a launch says of clusters; none where there are no clusters.
    pub clusters: Option<Clusters>,
    /// Warps that an SM has place for.
    pub warps: u32,
}

/// Where constant bank 0 has what a launch says of clusters.
#[derive(Debug, PartialEq, Eq)]
pub struct Clusters {
    /// Whether there are any.
    pub kind: u32,
    /// CTAs of one along three axes.
    pub size: u32,
    /// The inverse of these numbers.
    pub inverse: u32,
    /// Clusters of the grid along three axes.
    pub count: u32,
    /// CTAs of one.
    pub ctas: u32,
    /// The most bytes of shared memory that a CTA of one is told.
    pub aggregated_shared: u32,
}

const fn ampere(arch: Arch, warps: u32) -> Device {
    Device {
        arch,
        system_shared: 0,
        reserved_offset: 0,
        has_ranks: false,
        barrier_bits: [false; 2],
        parameters: 0x160,
        block: 0,
        grid: 0xc,
        stack: 0x28,
        descriptor: 0x118,
        names_descriptor: false,
        dynamic_shared: 0x2c,
        environment: 0x88,
        lower_by_cluster: 0,
        reserved_shared: 0x114,
        grid_id: 0x30,
        sm_count: 0x10c,
        local_window: 0x20,
        shared_window: Some(0x18),
        constants: 0x50,
        parameter_window: (0x40, 0x160),
        parameters_end: None,
        clusters: None,
        warps,
    }
}

static SM_80: Device = ampere(Arch::Sm80, 64);
static SM_86: Device = ampere(Arch::Sm86, 48);
static SM_89: Device = ampere(Arch::Sm89, 48);

static SM_90: Device = Device {
    arch: Arch::Sm90,
    system_shared: 0x400,
    reserved_offset: 0,
    has_ranks: true,
    barrier_bits: [true; 2],
    parameters: 0x210,
    block: 0,
    grid: 0xc,
    stack: 0x28,
    descriptor: 0x208,
    names_descriptor: true,
    dynamic_shared: 0x2c,
    environment: 0x40,
    lower_by_cluster: 0,
    reserved_shared: 0x114,
    grid_id: 0x30,
    sm_count: 0x10c,
    local_window: 0x20,
    shared_window: None,
    constants: 0xd0,
    parameter_window: (0x198, 0),
    parameters_end: Some(0x1a0),
    clusters: Some(Clusters {
        kind: 0x140,
        size: 0x144,
        inverse: 0x150,
        count: 0x15c,
        ctas: 0x188,
        aggregated_shared: 0x13c,
    }),
    warps: 64,
};

const fn blackwell(arch: Arch, warps: u32) -> Device {
    Device {
        arch,
        system_shared: 0x400,
        reserved_offset: 0x40,
        has_ranks: true,
        barrier_bits: [true, false],
        parameters: 0x380,
        block: 0x360,
        grid: 0x370,
        stack: 0x37c,
        descriptor: 0x358,
        names_descriptor: true,
        dynamic_shared: 0x2ac,
        environment: 0x250,
        lower_by_cluster: 0xa0,
        reserved_shared: 0x16c,
        grid_id: 0x140,
        sm_count: 0x2d0,
        local_window: 0x2f8,
        shared_window: None,
        constants: 0x120,
        parameter_window: (0x348, 0),
        parameters_end: None,
        clusters: Some(Clusters {
            kind: 0x36c,
            size: 0x2a0,
            inverse: 0x2b0,
            count: 0x2c0,
            ctas: 0x2cc,
            aggregated_shared: 0x2bc,
        }),
        warps,
    }
}

static SM_100: Device = blackwell(Arch::Sm100, 64);
static SM_120: Device = blackwell(Arch::Sm120, 48);

impl Device {
    /// Those that are known.
    pub const ALL: [&'static Self; 6] = [&SM_80, &SM_86, &SM_89, &SM_90, &SM_100, &SM_120];

    /// The device with this instruction set, if it is known.
    pub fn of(arch: Arch) -> Option<&'static Self> {
        Self::ALL.into_iter().find(|device| device.arch == arch)
    }
}
