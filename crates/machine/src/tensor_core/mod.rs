//! What is known of the 5th-generation tensor core (PTX ISA, "TensorCore 5th Generation Family Instructions").
//!
//! | file | what it knows |
//! | --- | --- |
//! | `memory` | tensor memory, its allocations, who waits for some |
//! | `fragment` | which cells each register of each lane of a warp has |
//! | `shared` | descriptors of matrices in shared memory |
//! | `instruction` | descriptors of products |
//! | `datapath` | where the rows and columns of a product are in tensor memory |
//! | `columns` | descriptors of columns of B that count as zeros |
//!
//! What instructions do with it, `ops::tensor_core`. The manual gives most layouts as figures; where its text leaves
//! something open, CUTLASS's headers (`cute/atom/mma_traits_sm100_frag.hpp`, `copy_traits_sm100.hpp`,
//! `cute/arch/mma_sm100_desc.hpp`) say what NVIDIA's own programs count on.

pub(crate) mod columns;
pub(crate) mod datapath;
pub(crate) mod fragment;
pub(crate) mod instruction;
pub(crate) mod memory;
pub(crate) mod shared;
