//! How a launch ends that does not end well.

/// What went wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}, at {address:#x} of kernel `{kernel}`, block {block:?}, warp {warp}")]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: String,
    /// The instruction's address in the kernel, in bytes.
    pub address: u64,
    /// The CTA.
    pub block: [u32; 3],
    /// The warp in its CTA.
    pub warp: u32,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// An access to what is no memory.
    #[error("an access of {bytes} bytes to {address:#x}, which is no {space} memory")]
    Address {
        /// `global`, `shared`, `local` or `constant`.
        space: &'static str,
        /// Where.
        address: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// An address that is no multiple of the access's size.
    #[error("an access of {bytes} bytes to {address:#x}, which is not aligned")]
    Misaligned {
        /// Where.
        address: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// `BPT.TRAP`.
    #[error("a trap")]
    Trap,
    /// A failed `assert`: the condition, and where it stands.
    #[error("{0}")]
    Assert(String),
    /// A texture, a surface or a tensor map that does not serve its instruction.
    #[error("{0}")]
    Object(String),
    /// An instruction that this machine does not know.
    #[error("`{0}` is not executed")]
    NotExecuted(String),
    /// A word that is no instruction of sm_90.
    #[error("{0:#034x} is no instruction")]
    NoInstruction(u128),
    /// Control goes where no instruction is.
    #[error("there is no instruction")]
    OutsideOfCode,
    /// More threads in a CTA than there can be.
    #[error("a CTA of {0:?} threads, which are more than 1024")]
    Block([u32; 3]),
    /// A grid that is not made of such clusters.
    #[error("clusters of {0} CTAs, which are more than 16 or do not divide the grid")]
    Cluster(u32),
    /// More shared memory than a CTA can have.
    #[error("{0} bytes of shared memory, which are more than 232448")]
    Shared(u64),
    /// Every thread waits for another.
    #[error("all threads that are left wait for one another")]
    Deadlock,
    /// More instructions than the launch may execute.
    #[error("the launch's budget of instructions is spent")]
    Budget,
}
