//! Decoded code: what the run loop reads.
//!
//! An [`Image`] holds a kernel and every function it may call as one array of operations, specialised for the number
//! of warps in a pack and for how lanes lie in the block. It is made by [`crate::decode`] and never changes.

use crate::decode::layout::Layout;
use crate::fault::Access;
use crate::lanes::{FileSizes, Planes};
use crate::memory::CODE_WINDOW;
use crate::memory::SpaceKind;
use crate::ops::Op;
use crate::ops::bulk::Bulk;
use crate::ops::matrix::product::Product;
use crate::ops::matrix::transfer::Stored;
use crate::ops::multimem::Multimem;
use crate::ops::tensor::TensorCopy;
use crate::ops::tensor_map::Replacement;
use crate::run::builtin::RuntimeCall;
use crate::texture::lookup::{Geometry, Lookup};
use crate::texture::query::Query;
use crate::texture::surface::Beyond;
use ir::instruction::SuredOp;
use ptx::module::FuncId;
use ptx::types::ScalarType;

/// Scalars that every frame has: where its locals start in local memory.
pub(crate) const LOCAL_BASE: u32 = 0;
/// The constant zero.
pub(crate) const ZERO: u32 = 1;
/// The first scalar that the decoder gives out.
pub(crate) const FIRST_SCALAR: u32 = 2;

/// Decoded code of a kernel and its callees.
pub(crate) struct Image {
    /// Warps in a pack.
    pub(crate) warps: usize,
    /// The kernel.
    pub(crate) kernel: FuncId,
    /// All operations.
    pub(crate) ops: Vec<Op>,
    /// The instruction that each operation comes from.
    pub(crate) origins: Vec<Origin>,
    /// What each operation is to an observer.
    pub(crate) metas: Vec<Meta>,
    /// Lists of planes and of branch targets.
    pub(crate) lists: Vec<u32>,
    /// Functions by [`FuncId`]; `None` if this kernel cannot reach it.
    pub(crate) functions: Vec<Option<Code>>,
    /// Call sites.
    pub(crate) calls: Vec<CallSite>,
    /// CTA barriers.
    pub(crate) barriers: Vec<BarrierSite>,
    /// Video instructions.
    pub(crate) videos: Vec<numerics::video::Instruction>,
    /// Matrix multiplications.
    pub(crate) products: Vec<Product>,
    /// Matrices that are loaded and stored.
    pub(crate) matrices: Vec<Stored>,
    /// Bulk copies, tensor copies, changes of tensor maps, and accesses of multicast memory.
    pub(crate) bulks: Vec<Bulk>,
    pub(crate) tensor_copies: Vec<TensorCopy>,
    pub(crate) replacements: Vec<Replacement>,
    pub(crate) multimems: Vec<Multimem>,
    /// Texture lookups.
    pub(crate) lookups: Vec<LookupSite>,
    /// Surface accesses.
    pub(crate) surfaces: Vec<SurfaceSite>,
    /// Questions about textures and surfaces.
    pub(crate) queries: Vec<QuerySite>,
    /// Bytes of local memory that module-scope `.local` variables take, below every frame.
    pub(crate) module_local: u32,
    /// Bytes of static shared memory.
    pub(crate) static_shared: u32,
    /// Bytes of local memory of the deepest chain of calls, where that is known.
    pub(crate) frame_bytes: Option<u32>,
    /// Whether some function allocates stack at run time.
    pub(crate) allocates: bool,
}

impl Image {
    /// An image without code.
    pub(crate) fn empty(functions: usize, kernel: FuncId, warps: usize, layout: &Layout) -> Self {
        Self {
            warps,
            kernel,
            ops: Vec::new(),
            origins: Vec::new(),
            metas: Vec::new(),
            lists: Vec::new(),
            functions: (0..functions).map(|_| None).collect(),
            calls: Vec::new(),
            barriers: Vec::new(),
            bulks: Vec::new(),
            tensor_copies: Vec::new(),
            replacements: Vec::new(),
            multimems: Vec::new(),
            videos: Vec::new(),
            products: Vec::new(),
            matrices: Vec::new(),
            lookups: Vec::new(),
            surfaces: Vec::new(),
            queries: Vec::new(),
            module_local: layout.module_local(),
            static_shared: layout.shared(),
            frame_bytes: None,
            allocates: false,
        }
    }

    /// Bytes of local memory of a thread; `stack` is what it gets where the code does not tell what it needs.
    pub(crate) fn local_bytes(&self, stack: u32) -> u32 {
        let open = if self.allocates { stack } else { 0 };
        (self.module_local + self.frame_bytes.unwrap_or(stack) + open).next_multiple_of(16)
    }

    /// A function that the kernel can reach.
    pub(crate) fn code(&self, function: FuncId) -> &Code {
        self.functions[function.index()]
            .as_ref()
            .expect("an image holds every function that its kernel can reach")
    }

    /// Whether all CTA barriers are for all threads of a CTA, which wait at them.
    pub(crate) fn barriers_are_whole(&self) -> bool {
        self.barriers.iter().all(|site| site.threads.is_none() && site.kind != BarrierKind::Arrive)
    }

    /// Whether it asks the device runtime for anything, such as to launch a grid.
    pub(crate) fn launches_grids(&self) -> bool {
        self.calls.iter().any(|call| matches!(call.callee, Callee::Builtin(Builtin::Runtime(_))))
    }

    /// Whether it can launch graphs.
    pub(crate) fn launches_graphs(&self) -> bool {
        let launch = Callee::Builtin(Builtin::Runtime(RuntimeCall::GraphLaunch));
        self.calls.iter().any(|call| call.callee == launch)
    }

    /// The function at a code address.
    pub(crate) fn function_at(&self, address: u64) -> Option<FuncId> {
        let index = address.checked_sub(CODE_WINDOW)? / 16;
        let known = self.functions.get(usize::try_from(index).ok()?)?.is_some();
        (known && address.is_multiple_of(16)).then_some(FuncId(index as u32))
    }
}

/// What an operation is to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meta {
    /// Prepares operands for the operation that stands for the instruction.
    Part,
    /// Stands for the instruction.
    Plain,
    /// Guards the next operation, which stands for the instruction.
    Guard,
    /// A conditional branch: predicate in `b`, negation in `y`.
    Branch,
    /// A memory instruction: its address is where [`crate::ops::address`] finds it.
    Memory { space: SpaceKind, access: Access, bytes: u32 },
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image of {} operations", self.ops.len())
    }
}

/// The instruction that an operation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) function: FuncId,
    pub(crate) instruction: u32,
}

/// A function of an image.
#[derive(Debug)]
pub(crate) struct Code {
    /// Its first operation.
    pub(crate) entry: u32,
    /// What a frame needs.
    pub(crate) sizes: FileSizes,
    /// Planes that a thread may read before it has written them.
    pub(crate) exposed: Vec<Planes>,
    /// What the scalars of a frame start as.
    pub(crate) scalars: Vec<u64>,
    /// Those that hold offsets in shared memory, to which the address of its first byte is to be added.
    pub(crate) shared_addresses: Vec<u32>,
    /// Bytes of local memory of a frame: formal parameters, call-site parameters, `.local` variables.
    pub(crate) frame: u32,
    /// Formal input parameters.
    pub(crate) params: Vec<Place>,
    /// Whether the last of them is an array without a size, for which a call may pass nothing.
    pub(crate) variadic: bool,
    /// Formal return parameters.
    pub(crate) returns: Vec<Place>,
}

/// Where a parameter lies in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Bytes of local memory, from the frame's base.
    Memory { offset: u32, bytes: u32 },
    /// A register's plane.
    Register { index: u32, bits: u32 },
}

/// What a call reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    Function(FuncId),
    /// Through a register: `Exec::targets` has the addresses.
    Indirect,
    Builtin(Builtin),
}

/// Functions that the system provides (CUDA's "system calls").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Vprintf,
    Malloc,
    Free,
    AssertFail,
    /// Sets what conditional nodes of a graph decide by: a word at the address that the handle is.
    SetCondition,
    /// A function of the device runtime.
    Runtime(RuntimeCall),
}

/// Whether device code can call a function of this name without defining it.
pub fn provides(function: &str) -> bool {
    Builtin::from_name(function).is_some()
}

impl Builtin {
    /// The builtin called `name`.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "vprintf" => Self::Vprintf,
            "malloc" => Self::Malloc,
            "free" => Self::Free,
            "__assertfail" => Self::AssertFail,
            "cudaGraphSetConditional" => Self::SetCondition,
            _ => return RuntimeCall::from_name(name).map(Self::Runtime),
        })
    }
}

/// A `call` instruction.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    pub(crate) callee: Callee,
    /// Actual parameters in the caller's frame.
    pub(crate) args: Vec<Place>,
    /// Where results go in the caller's frame.
    pub(crate) returns: Vec<Place>,
}

/// What a barrier does besides waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// `bar.red`: combine predicate `p` (negated?) of all threads into the destination.
    Reduce {
        op: Reduction,
        predicate: u32,
        negated: bool,
        destination: u32,
    },
}

/// `bar.red` operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    And,
    Or,
    Popc,
}

/// A CTA barrier instruction. Its operands are scalars or planes, as [`Value`] says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierSite {
    pub(crate) kind: BarrierKind,
    /// Which of the 16 barriers.
    pub(crate) barrier: Value,
    /// Threads that take part; `None` for all of the CTA.
    pub(crate) threads: Option<Value>,
}

/// A 32-bit operand that the run loop reads itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Scalar(u32),
    Plane(u32),
}

/// What names an object: the address of a variable, or a register with that or a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectName {
    Address(u64),
    Scalar(u32),
    Plane(u32),
}

/// A `tex` or `tld4` instruction.
#[derive(Clone, Debug)]
pub(crate) struct LookupSite {
    pub(crate) kind: Lookup,
    pub(crate) texture: ObjectName,
    pub(crate) sampler: Option<ObjectName>,
    /// Layer, sample, coordinates.
    pub(crate) coordinates: Vec<Value>,
    pub(crate) lod: Option<Value>,
    pub(crate) gradients: [Vec<Value>; 2],
    pub(crate) offsets: Vec<Value>,
    /// Planes of 16 or 32 bits, as [`Lookup::results`] says.
    pub(crate) destinations: Vec<u32>,
    /// The predicate that is true if all texels are in memory.
    pub(crate) resident: u32,
}

/// What a surface instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SurfaceAction {
    Load,
    Store,
    Reduce(SuredOp),
}

/// A `suld`, `sust` or `sured` instruction.
#[derive(Clone, Debug)]
pub(crate) struct SurfaceSite {
    pub(crate) action: SurfaceAction,
    /// Of each element.
    pub(crate) ty: ScalarType,
    /// `.p` rather than `.b`.
    pub(crate) formatted: bool,
    pub(crate) beyond: Beyond,
    pub(crate) geometry: Geometry,
    pub(crate) surface: ObjectName,
    /// Layer, coordinates.
    pub(crate) coordinates: Vec<Value>,
    /// Planes of what is loaded or stored.
    pub(crate) data: Vec<u32>,
}

/// A `txq` or `suq` instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuerySite {
    pub(crate) query: Query,
    pub(crate) object: ObjectName,
    pub(crate) lod: Option<Value>,
    pub(crate) destination: u32,
}
