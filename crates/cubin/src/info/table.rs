//! The attributes of `.nv.info` and `.nv.compat`, by number: their names, and the shape of sized payloads.
//!
//! Names are what cuobjdump 13.5 prints for a section with every number in it. For those that it does not know, 0x2a, 0x30,
//! 0x35, 0x47, 0x5a and 0x5f of `.nv.info` and 0x07 of `.nv.compat`, they are what other releases print in listings that
//! users published. Shapes are how cuobjdump takes payloads apart, or where it does not, how they look in hundreds of
//! thousands of functions; docs/cubin.md says which were seen.

/// How a sized payload is made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing is known: bytes.
    Plain,
    /// Words that are numbers.
    Numbers,
    /// Words that are offsets of instructions in the function.
    Offsets,
    /// Words that are symbols' numbers.
    Symbols,
    /// A symbol's number, and a number that is about it.
    SymbolNumber,
    /// A parameter of a kernel.
    Parameter,
    /// The bank of constants with a kernel's parameters.
    Bank,
    /// Indirect branches with their targets.
    Branches,
    /// Offsets of instructions, each with a number.
    Pairs,
    /// Symbols, each with one to take instead.
    SymbolPairs,
    /// Kinds, each with an offset.
    Annotations,
    /// A kind of instruction, and where such are.
    KindOffsets,
}

/// The name of an attribute of `.nv.info`; none if it is not known.
#[must_use]
pub fn name(code: u8) -> Option<&'static str> {
    row(code).map(|row| row.1)
}

/// The shape of an attribute of `.nv.info`.
#[must_use]
pub fn shape(code: u8) -> Shape {
    row(code).map_or(Shape::Plain, |row| row.2)
}

/// The number of the attribute of `.nv.info` that has a name.
#[must_use]
pub fn code(name: &str) -> Option<u8> {
    ATTRIBUTES.iter().find(|row| row.1 == name).map(|row| row.0)
}

/// The name of an attribute of `.nv.compat`; none if it is not known.
#[must_use]
pub fn compatibility_name(code: u8) -> Option<&'static str> {
    COMPATIBILITY.iter().find(|row| row.0 == code).map(|row| row.1)
}

fn row(code: u8) -> Option<&'static (u8, &'static str, Shape)> {
    ATTRIBUTES.binary_search_by_key(&code, |row| row.0).ok().map(|at| &ATTRIBUTES[at])
}

#[rustfmt::skip]
const ATTRIBUTES: [(u8, &str, Shape); 106] = [
    (0x00, "EIATTR_ERROR", Shape::Plain),
    (0x01, "EIATTR_PAD", Shape::Plain),
    (0x02, "EIATTR_IMAGE_SLOT", Shape::Plain),
    (0x03, "EIATTR_JUMPTABLE_RELOCS", Shape::Offsets),
    (0x04, "EIATTR_CTAIDZ_USED", Shape::Plain),
    (0x05, "EIATTR_MAX_THREADS", Shape::Numbers),
    (0x06, "EIATTR_IMAGE_OFFSET", Shape::Plain),
    (0x07, "EIATTR_IMAGE_SIZE", Shape::Plain),
    (0x08, "EIATTR_TEXTURE_NORMALIZED", Shape::Plain),
    (0x09, "EIATTR_SAMPLER_INIT", Shape::Plain),
    (0x0a, "EIATTR_PARAM_CBANK", Shape::Bank),
    (0x0b, "EIATTR_SMEM_PARAM_OFFSETS", Shape::Offsets),
    (0x0c, "EIATTR_CBANK_PARAM_OFFSETS", Shape::Offsets),
    (0x0d, "EIATTR_SYNC_STACK", Shape::Plain),
    (0x0e, "EIATTR_TEXID_SAMPID_MAP", Shape::Plain),
    (0x0f, "EIATTR_EXTERNS", Shape::Symbols),
    (0x10, "EIATTR_REQNTID", Shape::Numbers),
    (0x11, "EIATTR_FRAME_SIZE", Shape::SymbolNumber),
    (0x12, "EIATTR_MIN_STACK_SIZE", Shape::SymbolNumber),
    (0x13, "EIATTR_SAMPLER_FORCE_UNNORMALIZED", Shape::Plain),
    (0x14, "EIATTR_BINDLESS_IMAGE_OFFSETS", Shape::Offsets),
    (0x15, "EIATTR_BINDLESS_TEXTURE_BANK", Shape::Plain),
    (0x16, "EIATTR_BINDLESS_SURFACE_BANK", Shape::Plain),
    (0x17, "EIATTR_KPARAM_INFO", Shape::Parameter),
    (0x18, "EIATTR_SMEM_PARAM_SIZE", Shape::Plain),
    (0x19, "EIATTR_CBANK_PARAM_SIZE", Shape::Plain),
    (0x1a, "EIATTR_QUERY_NUMATTRIB", Shape::Plain),
    (0x1b, "EIATTR_MAXREG_COUNT", Shape::Plain),
    (0x1c, "EIATTR_EXIT_INSTR_OFFSETS", Shape::Offsets),
    (0x1d, "EIATTR_S2RCTAID_INSTR_OFFSETS", Shape::Offsets),
    (0x1e, "EIATTR_CRS_STACK_SIZE", Shape::Numbers),
    (0x1f, "EIATTR_NEED_CNP_WRAPPER", Shape::Plain),
    (0x20, "EIATTR_NEED_CNP_PATCH", Shape::Plain),
    (0x21, "EIATTR_EXPLICIT_CACHING", Shape::Plain),
    (0x22, "EIATTR_ISTYPEP_USED", Shape::Plain),
    (0x23, "EIATTR_MAX_STACK_SIZE", Shape::SymbolNumber),
    (0x24, "EIATTR_SUQ_USED", Shape::Plain),
    (0x25, "EIATTR_LD_CACHEMOD_INSTR_OFFSETS", Shape::Offsets),
    (0x26, "EIATTR_LOAD_CACHE_REQUEST", Shape::SymbolNumber),
    (0x27, "EIATTR_ATOM_SYS_INSTR_OFFSETS", Shape::Offsets),
    (0x28, "EIATTR_COOP_GROUP_INSTR_OFFSETS", Shape::Offsets),
    (0x29, "EIATTR_COOP_GROUP_MASK_REGIDS", Shape::Numbers),
    (0x2a, "EIATTR_SW1850030_WAR", Shape::Plain),
    (0x2b, "EIATTR_WMMA_USED", Shape::Plain),
    (0x2c, "EIATTR_HAS_PRE_V10_OBJECT", Shape::Plain),
    (0x2d, "EIATTR_ATOMF16_EMUL_INSTR_OFFSETS", Shape::Offsets),
    (0x2e, "EIATTR_ATOM16_EMUL_INSTR_REG_MAP", Shape::Pairs),
    (0x2f, "EIATTR_REGCOUNT", Shape::SymbolNumber),
    (0x30, "EIATTR_SW2393858_WAR", Shape::Plain),
    (0x31, "EIATTR_INT_WARP_WIDE_INSTR_OFFSETS", Shape::Offsets),
    (0x32, "EIATTR_SHARED_SCRATCH", Shape::Plain),
    (0x33, "EIATTR_STATISTICS", Shape::Plain),
    (0x34, "EIATTR_INDIRECT_BRANCH_TARGETS", Shape::Branches),
    (0x35, "EIATTR_SW2861232_WAR", Shape::Plain),
    (0x36, "EIATTR_SW_WAR", Shape::Numbers),
    (0x37, "EIATTR_CUDA_API_VERSION", Shape::Numbers),
    (0x38, "EIATTR_NUM_MBARRIERS", Shape::Plain),
    (0x39, "EIATTR_MBARRIER_INSTR_OFFSETS", Shape::Plain),
    (0x3a, "EIATTR_COROUTINE_RESUME_ID_OFFSETS", Shape::Plain),
    (0x3b, "EIATTR_SAM_REGION_STACK_SIZE", Shape::SymbolNumber),
    (0x3c, "EIATTR_PER_REG_TARGET_PERF_STATS", Shape::Plain),
    (0x3d, "EIATTR_CTA_PER_CLUSTER", Shape::Numbers),
    (0x3e, "EIATTR_EXPLICIT_CLUSTER", Shape::Plain),
    (0x3f, "EIATTR_MAX_CLUSTER_RANK", Shape::Numbers),
    (0x40, "EIATTR_INSTR_REG_MAP", Shape::Pairs),
    (0x41, "EIATTR_RESERVED_SMEM_USED", Shape::Plain),
    (0x42, "EIATTR_RESERVED_SMEM_0_SIZE", Shape::Plain),
    (0x43, "EIATTR_UCODE_SECTION_DATA", Shape::Plain),
    (0x44, "EIATTR_UNUSED_LOAD_BYTE_OFFSET", Shape::Pairs),
    (0x45, "EIATTR_KPARAM_INFO_V2", Shape::Plain),
    (0x46, "EIATTR_SYSCALL_OFFSETS", Shape::Offsets),
    (0x47, "EIATTR_SW_WAR_MEMBAR_SYS_INSTR_OFFSETS", Shape::Offsets),
    (0x48, "EIATTR_GRAPHICS_GLOBAL_CBANK", Shape::Plain),
    (0x49, "EIATTR_SHADER_TYPE", Shape::Plain),
    (0x4a, "EIATTR_VRC_CTA_INIT_COUNT", Shape::Plain),
    (0x4b, "EIATTR_TOOLS_PATCH_FUNC", Shape::Plain),
    (0x4c, "EIATTR_NUM_BARRIERS", Shape::Plain),
    (0x4d, "EIATTR_TEXMODE_INDEPENDENT", Shape::Plain),
    (0x4e, "EIATTR_PERF_STATISTICS", Shape::Plain),
    (0x4f, "EIATTR_AT_ENTRY_FRAGMENTS", Shape::Plain),
    (0x50, "EIATTR_SPARSE_MMA_MASK", Shape::Plain),
    (0x51, "EIATTR_TCGEN05_1CTA_USED", Shape::Plain),
    (0x52, "EIATTR_TCGEN05_2CTA_USED", Shape::Plain),
    (0x53, "EIATTR_GEN_ERRBAR_AT_EXIT", Shape::Plain),
    (0x54, "EIATTR_REG_RECONFIG", Shape::Plain),
    (0x55, "EIATTR_ANNOTATIONS", Shape::Annotations),
    (0x57, "EIATTR_STACK_CANARY_TRAP_OFFSETS", Shape::Offsets),
    (0x58, "EIATTR_STUB_FUNCTION_KIND", Shape::Plain),
    (0x59, "EIATTR_LOCAL_CTA_ASYNC_STORE_OFFSETS", Shape::Offsets),
    (0x5a, "EIATTR_MERCURY_FINALIZER_OPTIONS", Shape::Plain),
    (0x5b, "EIATTR_BLOCKS_ARE_CLUSTERS", Shape::Plain),
    (0x5c, "EIATTR_SANITIZE", Shape::Plain),
    (0x5d, "EIATTR_SYSCALLS_FALLBACK", Shape::SymbolPairs),
    (0x5e, "EIATTR_CUDA_REQ", Shape::Plain),
    (0x5f, "EIATTR_MERCURY_ISA_VERSION", Shape::Plain),
    (0x61, "EIATTR_RTCORE_ENTRY", Shape::Plain),
    (0x62, "EIATTR_CLUSTER_LAUNCH_CONTROL_USED", Shape::Plain),
    (0x64, "EIATTR_MIN_PER_CTA_MEMORY_SIZE", Shape::Numbers),
    (0x65, "EIATTR_IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS", Shape::Offsets),
    (0x66, "EIATTR_LANGUAGE", Shape::Numbers),
    (0x68, "EIATTR_GRID_ATTRIBUTES", Shape::Numbers),
    (0x69, "EIATTR_STACK_OFFSET", Shape::Numbers),
    (0x6a, "EIATTR_RT_LIVESTATE_SASS_MAP", Shape::Plain),
    (0x6b, "EIATTR_NVSAL_SW_WAR", Shape::Plain),
    (0x6c, "EIATTR_INSTR_OFFSETS", Shape::KindOffsets),
    (0x6d, "EIATTR_PREEXIT_USED", Shape::Plain),
];

/// `EICOMPAT_ATTR_ISA_CLASS`.
pub const ISA_CLASS: u8 = 0x02;
/// `EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET`: 1 if the code is for its architecture alone.
pub const ACCELERATOR_TARGET: u8 = 0x09;

const COMPATIBILITY: [(u8, &str); 14] = [
    (0x00, "EICOMPAT_ATTR_ERROR"),
    (0x01, "EICOMPAT_ATTR_PAD"),
    (ISA_CLASS, "EICOMPAT_ATTR_ISA_CLASS"),
    (0x03, "EICOMPAT_ATTR_INST_TENSORMAP_V1"),
    (0x04, "EICOMPAT_ATTR_INST_TCGEN05_MMA_DEPRECATED"),
    (0x05, "EICOMPAT_ATTR_INST_TCGEN05_MMA"),
    (0x06, "EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION"),
    (0x07, "EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION"),
    (ACCELERATOR_TARGET, "EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET"),
    (0x0a, "EICOMPAT_ATTR_CUDA_DRIVER_VERSION"),
    (0x0b, "EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE"),
    (0x0c, "EICOMPAT_ATTR_CUDA_INTERNAL_TARGET"),
    (0x0e, "EICOMPAT_ATTR_FINALIZER_VERSION"),
    (0x0f, "EICOMPAT_ATTR_MIN_FINALIZER_VERSION_FOR_MVC"),
];
