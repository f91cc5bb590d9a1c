//! What decides which code LLVM makes for this host, without asking LLVM.

use std::fmt;
use std::sync::OnceLock;

/// The host's CPU, as far as code depends on it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Host(Vec<u32>);

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|word| write!(f, "{word:08x} "))
    }
}

/// Whether a load or a store of a part of a vector takes as long as one of a whole vector. Without AVX-512, elements of less than 32 bits
/// are accessed lane by lane, and some CPUs take dozens of cycles for others' stores.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_masks() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn has_masks() -> bool {
    false
}

impl Host {
    /// This host, asked once: in a virtual machine each `cpuid` is a trap.
    pub(crate) fn this() -> &'static Self {
        static THIS: OnceLock<Host> = OnceLock::new();
        THIS.get_or_init(Self::asked)
    }
}

#[cfg(target_arch = "x86_64")]
impl Host {
    /// The words of `cpuid` that say what the CPU can do, and what the system lets it.
    fn asked() -> Self {
        // Leaf, subleaf, and whether EBX counts: in leaf 1 it says which core it is.
        const LEAVES: [(u32, u32, bool); 6] = [
            (1, 0, false),
            (7, 0, true),
            (7, 1, true),
            (0xd, 1, false),
            (0x24, 0, true),
            (0x8000_0001, 0, false),
        ];
        let mut words =
            vec![is_x86_feature_detected!("avx2").into(), is_x86_feature_detected!("avx512f").into()];
        for (leaf, subleaf, with_ebx) in LEAVES {
            // Newer compilers know that it is safe.
            #[allow(unused_unsafe)]
            // SAFETY: every CPU of this architecture has the instruction, and a leaf that it has not gives numbers all the same.
            let of_leaf = unsafe { std::arch::x86_64::__cpuid_count(leaf, subleaf) };
            words.extend([of_leaf.eax, of_leaf.ecx, of_leaf.edx]);
            words.extend(with_ebx.then_some(of_leaf.ebx));
        }
        Self(words)
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Host {
    /// No code is made for others.
    fn asked() -> Self {
        Self(Vec::new())
    }
}
