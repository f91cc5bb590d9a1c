//! From checked PTX to the operations that the interpreter runs.
//!
//! Decoding is where everything that is known before a launch is spent: names are gone, types and modifiers have chosen
//! a function, registers have slots, constants and launch-wide values stand in the scalar file, addresses know their
//! shape. A form without semantics stops here with its name, never at run time.
//!
//! | file | decodes |
//! | --- | --- |
//! | `layout` | where variables lie: shared memory, frames of local memory |
//! | `function` | a function: registers to planes, blocks, branches to patch |
//! | `operand` | operands to planes, scalars and addresses |
//! | `emit` | an operation of a family, with splats where a member is missing |
//! | `integer`, `float`, `half`, `compare`, `logic`, `convert` | arithmetic by chapter |
//! | `movement`, `spaces`, `bulk`, `atomic`, `mbarrier`, `warp`, `matrix`, `control`, `video` | the rest by chapter |

mod arithmetic;
mod atomic;
mod bulk;
mod compare;
mod control;
mod convert;
mod emit;
mod float;
mod function;
mod half;
mod integer;
pub(crate) mod layout;
mod logic;
mod matrix;
mod mbarrier;
mod movement;
mod operand;
mod spaces;
mod texture;
mod video;
mod warp;

use crate::fault::Place;
use crate::lanes::simd::Level;
use crate::launch::LoadedModule;
use crate::location::Location;
use crate::program::Image;
use function::Decoder;
use ir::LaneOrder;
use layout::Layout;
use ptx::isa::Sem;
use ptx::module::{FuncId, Module};
use ptx::source::Span;

/// An instruction that the machine does not execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What is missing: the instruction, or what about it.
    pub what: String,
    /// The kernel that needs it.
    pub kernel: String,
    /// The function that has it.
    pub function: String,
    /// The instruction's text.
    pub instruction: Option<String>,
    /// Where the instruction stands in the module's source.
    pub span: Span,
    /// The PTX line.
    pub ptx: Option<Place>,
    /// The source line, where `.loc` tells it.
    pub source: Option<Place>,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unsupported: {}\n  kernel {}", self.what, self.kernel)?;
        if self.function != self.kernel {
            write!(f, ", in function {}", self.function)?;
        }
        if let Some(ptx) = &self.ptx {
            write!(f, "\n  at {ptx}")?;
        }
        if let Some(text) = &self.instruction {
            write!(f, ": {text}")?;
        }
        if let Some(source) = &self.source {
            write!(f, "\n  source {source}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Unsupported {}

/// What one instruction lacks; [`image`] adds where.
pub(crate) type Missing = String;

/// The result of decoding one instruction.
pub(crate) type Decoded = Result<(), Missing>;

/// Decodes a kernel and everything that it can reach, or tells every instruction that keeps it from being decoded.
pub(crate) fn image(
    loaded: &LoadedModule,
    kernel: FuncId,
    warps: usize,
    order: LaneOrder,
    level: Level,
) -> Result<Image, Vec<Unsupported>> {
    let module = loaded.module();
    let layout = Layout::new(module, kernel);
    let mut image = Image::empty(module.functions.len(), kernel, warps, &layout);
    let mut unsupported = Vec::new();
    for &function in layout.reachable() {
        let Some(body) = &module.functions[function.index()].body else { continue };
        let decoder = Decoder::new(loaded, &layout, function, order, level, &mut image);
        let Err(missing) = decoder.decode() else { continue };
        unsupported.extend(missing.into_iter().map(|(what, instruction)| {
            let place = Location::of(module, function, instruction);
            Unsupported {
                what,
                kernel: module.functions[kernel.index()].name.clone(),
                function: module.functions[function.index()].name.clone(),
                instruction: place.text,
                span: body.instructions[instruction as usize].span,
                ptx: place.ptx,
                source: place.source,
            }
        }));
    }
    if !unsupported.is_empty() {
        return Err(unsupported);
    }
    image.frame_bytes = deepest_stack(module, &layout, kernel, &image);
    Ok(image)
}

/// Bytes of local memory that the frames of the deepest chain of calls need, or `None` if calls can recurse or reach a
/// function that is only known at run time.
fn deepest_stack(module: &Module, layout: &Layout, kernel: FuncId, image: &Image) -> Option<u32> {
    fn visit(
        f: FuncId,
        layout: &Layout,
        image: &Image,
        path: &mut Vec<FuncId>,
        known: &mut std::collections::HashMap<FuncId, u32>,
    ) -> Option<u32> {
        if let Some(&bytes) = known.get(&f) {
            return Some(bytes);
        }
        if path.contains(&f) || path.len() > 256 {
            return None;
        }
        path.push(f);
        let mut deepest = 0;
        for &callee in layout.callees(f) {
            deepest = deepest.max(visit(callee, layout, image, path, known)?);
        }
        path.pop();
        let own = image.functions[f.index()].as_ref().map_or(0, |code| code.frame);
        // Saturates at more than any launch may have.
        let all = own.saturating_add(deepest).min(layout::FAR);
        known.insert(f, all);
        Some(all)
    }
    if layout.calls_indirectly() {
        return None;
    }
    let mut known = std::collections::HashMap::with_capacity(module.functions.len());
    visit(kernel, layout, image, &mut Vec::new(), &mut known)
}

/// Chooses the decoder of a semantic function. A missing case does not compile.
fn dispatch(d: &mut Decoder<'_>, sem: Sem) -> Decoded {
    match sem {
        Sem::AddInt
        | Sem::SubInt
        | Sem::MulInt
        | Sem::MadInt
        | Sem::Mul24
        | Sem::Mad24
        | Sem::Sad
        | Sem::DivInt
        | Sem::RemInt
        | Sem::AbsInt
        | Sem::NegInt
        | Sem::MinInt
        | Sem::MaxInt
        | Sem::AddIntX2
        | Sem::MinIntX2
        | Sem::MaxIntX2
        | Sem::Dp4a
        | Sem::Dp2a
        | Sem::AddCarryOut
        | Sem::AddCarryIn
        | Sem::SubBorrowOut
        | Sem::SubBorrowIn
        | Sem::MadCarryOut
        | Sem::MadCarryIn => integer::decode(d, sem),

        Sem::Popc
        | Sem::Clz
        | Sem::Bfind
        | Sem::Fns
        | Sem::Brev
        | Sem::Bfe
        | Sem::Bfi
        | Sem::Szext
        | Sem::Bmsk
        | Sem::And
        | Sem::Or
        | Sem::Xor
        | Sem::Not
        | Sem::Cnot
        | Sem::AndPred
        | Sem::OrPred
        | Sem::XorPred
        | Sem::NotPred
        | Sem::Lop3
        | Sem::Shf
        | Sem::Shl
        | Sem::Shr
        | Sem::Prmt => logic::decode(d, sem),

        Sem::AddFloat
        | Sem::SubFloat
        | Sem::MulFloat
        | Sem::FmaFloat
        | Sem::MadFloat
        | Sem::DivFloat
        | Sem::DivFloatApprox
        | Sem::DivFloatFull
        | Sem::AbsFloat
        | Sem::NegFloat
        | Sem::MinFloat
        | Sem::MaxFloat
        | Sem::Rcp
        | Sem::RcpApprox
        | Sem::Sqrt
        | Sem::SqrtApprox
        | Sem::RsqrtApprox
        | Sem::Sin
        | Sem::Cos
        | Sem::Lg2
        | Sem::Ex2Float
        | Sem::TanhFloat
        | Sem::Testp
        | Sem::Copysign => float::decode(d, sem),

        Sem::AddHalf
        | Sem::SubHalf
        | Sem::MulHalf
        | Sem::FmaHalf
        | Sem::NegHalf
        | Sem::AbsHalf
        | Sem::MinHalf
        | Sem::MaxHalf
        | Sem::TanhHalf
        | Sem::Ex2Half => half::decode(d, sem),

        Sem::SetInt
        | Sem::SetFloat
        | Sem::SetHalf
        | Sem::SetpInt
        | Sem::SetpFloat
        | Sem::SetpHalf
        | Sem::Selp
        | Sem::Slct => compare::decode(d, sem),

        Sem::CvtInt
        | Sem::CvtFloatToInt
        | Sem::CvtIntToFloat
        | Sem::CvtFloat
        | Sem::CvtPackFloat
        | Sem::CvtFloatX2
        | Sem::CvtPackInt => convert::decode(d, sem),

        Sem::Mov
        | Sem::MovPred
        | Sem::MovPack
        | Sem::MovUnpack
        | Sem::Ld
        | Sem::St
        | Sem::Prefetch
        | Sem::Createpolicy
        | Sem::StAsync
        | Sem::CpAsync
        | Sem::CpAsyncCommitGroup
        | Sem::CpAsyncWaitGroup
        | Sem::CpAsyncWaitAll
        | Sem::Alloca
        | Sem::Stacksave
        | Sem::Stackrestore => movement::decode(d, sem),

        Sem::Isspacep | Sem::Cvta | Sem::Mapa | Sem::Getctarank => spaces::decode(d, sem),

        Sem::Tex | Sem::Tld4 | Sem::Txq | Sem::Istypep | Sem::Suld | Sem::Sust | Sem::Sured | Sem::Suq => {
            texture::decode(d, sem)
        }

        Sem::CpAsyncBulk
        | Sem::CpAsyncBulkTensor
        | Sem::TensormapReplace
        | Sem::TensormapCpFenceproxy
        | Sem::MultimemLoad
        | Sem::MultimemStore
        | Sem::MultimemReduce => bulk::decode(d, sem),

        Sem::Atom | Sem::AtomCas | Sem::AtomVector | Sem::Red | Sem::RedVector | Sem::RedAsync => {
            atomic::decode(d, sem)
        }

        Sem::MbarrierInit
        | Sem::MbarrierInval
        | Sem::MbarrierExpectTx
        | Sem::MbarrierCompleteTx
        | Sem::MbarrierArrive
        | Sem::CpAsyncMbarrierArrive
        | Sem::MbarrierWait
        | Sem::MbarrierPendingCount => mbarrier::decode(d, sem),

        Sem::Shfl
        | Sem::Vote
        | Sem::MatchSync
        | Sem::Activemask
        | Sem::Redux
        | Sem::Elect
        | Sem::BarWarpSync => warp::decode(d, sem),

        Sem::Ldmatrix
        | Sem::Stmatrix
        | Sem::Movmatrix
        | Sem::WmmaLoad
        | Sem::WmmaStore
        | Sem::Mma
        | Sem::Wgmma
        | Sem::WgmmaOrder => matrix::decode(d, sem),

        Sem::Bra
        | Sem::BrxIdx
        | Sem::Call
        | Sem::CallIndirect
        | Sem::Ret
        | Sem::Exit
        | Sem::BarSync
        | Sem::BarArrive
        | Sem::BarRed
        | Sem::Fence
        | Sem::FenceProxy
        | Sem::Trap
        | Sem::Brkpt
        | Sem::Nanosleep
        | Sem::Pmevent
        | Sem::Griddepcontrol
        | Sem::BarClusterArrive
        | Sem::BarClusterWait
        | Sem::Setmaxnreg => control::decode(d, sem),

        Sem::VideoAdd
        | Sem::VideoSub
        | Sem::VideoAbsdiff
        | Sem::VideoMin
        | Sem::VideoMax
        | Sem::VideoShl
        | Sem::VideoShr
        | Sem::VideoMad
        | Sem::VideoSet
        | Sem::VideoAdd2
        | Sem::VideoSub2
        | Sem::VideoAvrg2
        | Sem::VideoAbsdiff2
        | Sem::VideoMin2
        | Sem::VideoMax2
        | Sem::VideoSet2
        | Sem::VideoAdd4
        | Sem::VideoSub4
        | Sem::VideoAvrg4
        | Sem::VideoAbsdiff4
        | Sem::VideoMin4
        | Sem::VideoMax4
        | Sem::VideoSet4 => video::decode(d, sem),
    }
}
