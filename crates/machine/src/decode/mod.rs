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
use crate::ops::mbarrier::Action;
use crate::program::{BarrierKind, Image};
use function::Decoder;
use ir::LaneOrder;
use layout::Layout;
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
        let (decoder, instructions) = Decoder::new(loaded, &layout, function, order, level, &mut image);
        let Err(missing) = decoder.decode(&instructions) else { continue };
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

/// Chooses the decoder of an instruction. A missing case does not compile.
fn dispatch(d: &mut Decoder<'_>, op: &ir::Op) -> Decoded {
    use ir::Op;
    let sem = op.sem();
    match op {
        Op::AddInt(_)
        | Op::SubInt(_)
        | Op::MulInt(_)
        | Op::MadInt(_)
        | Op::Mul24(_)
        | Op::Mad24(_)
        | Op::Sad(_)
        | Op::DivInt(_)
        | Op::RemInt(_)
        | Op::AbsInt(_)
        | Op::NegInt(_)
        | Op::MinInt(_)
        | Op::MaxInt(_)
        | Op::AddIntX2(_)
        | Op::MinIntX2(_)
        | Op::MaxIntX2(_)
        | Op::Dp4a(_)
        | Op::Dp2a(_)
        | Op::AddCarryOut(_)
        | Op::AddCarryIn(_)
        | Op::SubBorrowOut(_)
        | Op::SubBorrowIn(_)
        | Op::MadCarryOut(_)
        | Op::MadCarryIn(_) => integer::decode(d, sem),

        Op::Popc(_)
        | Op::Clz(_)
        | Op::Bfind(_)
        | Op::Fns(_)
        | Op::Brev(_)
        | Op::Bfe(_)
        | Op::Bfi(_)
        | Op::Szext(_)
        | Op::Bmsk(_)
        | Op::And(_)
        | Op::Or(_)
        | Op::Xor(_)
        | Op::Not(_)
        | Op::Cnot(_)
        | Op::AndPred(_)
        | Op::OrPred(_)
        | Op::XorPred(_)
        | Op::NotPred(_)
        | Op::Lop3(_)
        | Op::Shf(_)
        | Op::Shl(_)
        | Op::Shr(_)
        | Op::Prmt(_) => logic::decode(d, sem),

        Op::AddFloat(_)
        | Op::SubFloat(_)
        | Op::MulFloat(_)
        | Op::FmaFloat(_)
        | Op::MadFloat(_)
        | Op::DivFloat(_)
        | Op::DivFloatApprox(_)
        | Op::DivFloatFull(_)
        | Op::AbsFloat(_)
        | Op::NegFloat(_)
        | Op::MinFloat(_)
        | Op::MaxFloat(_)
        | Op::Rcp(_)
        | Op::RcpApprox(_)
        | Op::Sqrt(_)
        | Op::SqrtApprox(_)
        | Op::RsqrtApprox(_)
        | Op::Sin(_)
        | Op::Cos(_)
        | Op::Lg2(_)
        | Op::Ex2Float(_)
        | Op::TanhFloat(_)
        | Op::Testp(_)
        | Op::Copysign(_) => float::decode(d, sem),

        Op::AddHalf(_)
        | Op::SubHalf(_)
        | Op::MulHalf(_)
        | Op::FmaHalf(_)
        | Op::NegHalf(_)
        | Op::AbsHalf(_)
        | Op::MinHalf(_)
        | Op::MaxHalf(_)
        | Op::TanhHalf(_)
        | Op::Ex2Half(_) => half::decode(d, sem),

        Op::SetInt(_)
        | Op::SetFloat(_)
        | Op::SetHalf(_)
        | Op::SetpInt(_)
        | Op::SetpFloat(_)
        | Op::SetpHalf(_)
        | Op::Selp(_)
        | Op::Slct(_) => compare::decode(d, sem),

        Op::CvtInt(_)
        | Op::CvtFloatToInt(_)
        | Op::CvtIntToFloat(_)
        | Op::CvtFloat(_)
        | Op::CvtPackFloat(_)
        | Op::CvtFloatX2(_)
        | Op::CvtPackInt(_) => convert::decode(d, sem),

        Op::Mov(_)
        | Op::MovPred(_)
        | Op::MovPack(_)
        | Op::MovUnpack(_)
        | Op::Ld(_)
        | Op::St(_)
        | Op::Prefetch(_)
        | Op::Createpolicy(_)
        | Op::CreatepolicyCvt(_)
        | Op::CpAsync(_)
        | Op::CpAsyncCommitGroup(_)
        | Op::CpAsyncWaitGroup(_)
        | Op::CpAsyncBulkCommitGroup(_)
        | Op::CpAsyncBulkWaitGroup(_)
        | Op::CpAsyncWaitAll(_)
        | Op::Alloca(_)
        | Op::Stacksave(_)
        | Op::Stackrestore(_) => movement::decode(d, sem),

        Op::StAsync(st) => movement::store_async(d, st),

        Op::Isspacep(_) | Op::Cvta(_) | Op::Mapa(_) | Op::Getctarank(_) => spaces::decode(d, sem),

        Op::Tex(_)
        | Op::Tld4(_)
        | Op::Txq(_)
        | Op::Istypep(_)
        | Op::Suld(_)
        | Op::Sust(_)
        | Op::Sured(_)
        | Op::Suq(_) => texture::decode(d, sem),

        Op::CpAsyncBulk(_)
        | Op::CpReduceAsyncBulk(_)
        | Op::CpAsyncBulkPrefetch(_)
        | Op::CpAsyncBulkTensorLoad(_)
        | Op::CpAsyncBulkTensorStore(_)
        | Op::CpReduceAsyncBulkTensor(_)
        | Op::CpAsyncBulkPrefetchTensor(_)
        | Op::TensormapReplace(_)
        | Op::TensormapCpFenceproxy(_)
        | Op::MultimemLoad(_)
        | Op::MultimemStore(_)
        | Op::MultimemReduce(_) => bulk::decode(d, sem),

        Op::Atom(_) | Op::AtomCas(_) | Op::AtomVector(_) | Op::Red(_) | Op::RedVector(_) => {
            atomic::decode(d, sem)
        }

        Op::RedAsync(red) => atomic::reduce_async(d, red),

        Op::MbarrierInit(init) => mbarrier::change(d, Action::Init, &init.addr, &init.count),
        Op::MbarrierInval(inval) => mbarrier::inval(d, &inval.addr),
        Op::MbarrierExpectTx(expect) => mbarrier::change(d, Action::ExpectTx, &expect.addr, &expect.count),
        Op::MbarrierCompleteTx(tx) => mbarrier::change(d, Action::CompleteTx, &tx.addr, &tx.count),
        Op::MbarrierArrive(arrive) => mbarrier::arrive(d, arrive),
        Op::CpAsyncMbarrierArrive(arrive) => mbarrier::copies_arrive(d, &arrive.addr, arrive.noinc),
        Op::MbarrierWait(wait) => mbarrier::wait(d, wait),
        Op::MbarrierPendingCount(count) => mbarrier::count_pending(d, count.d, &count.state),

        Op::Shfl(_)
        | Op::Vote(_)
        | Op::MatchSync(_)
        | Op::Activemask(_)
        | Op::Redux(_)
        | Op::Elect(_)
        | Op::BarWarpSync(_) => warp::decode(d, sem),

        Op::Ldmatrix(_)
        | Op::Stmatrix(_)
        | Op::Movmatrix(_)
        | Op::WmmaLoad(_)
        | Op::WmmaStore(_)
        | Op::Mma(_)
        | Op::Wgmma(_)
        | Op::WgmmaFence(_)
        | Op::WgmmaCommitGroup(_)
        | Op::WgmmaWaitGroup(_) => matrix::decode(d, sem),

        // Branches lead to blocks, whose places the function's decoder knows.
        Op::Bra(_) | Op::BrxIdx(_) => Err("a branch in a run of instructions".to_owned()),
        Op::Call(call) => control::call(d, call),
        Op::CallIndirect(call) => control::call_indirect(d, call),
        Op::Ret(_) => control::ret(d),
        Op::Exit(_) => control::exit(d),
        Op::BarSync(bar) => control::barrier(d, BarrierKind::Sync, &bar.a, bar.b.as_ref()),
        Op::BarArrive(bar) => control::barrier(d, BarrierKind::Arrive, &bar.a, Some(&bar.b)),
        Op::BarRed(bar) => control::barrier_reduction(d, bar),
        Op::Fence(_) | Op::Membar(_) | Op::FenceProxy(_) => control::fence(d),
        Op::Trap(_) => control::trap(d),
        Op::Brkpt(_) => control::brkpt(d),
        Op::Nanosleep(sleep) => control::nanosleep(d, &sleep.t),
        Op::Pmevent(_) => control::pmevent(d),
        Op::Griddepcontrol(control) => control::griddepcontrol(d, control.action),
        Op::BarClusterArrive(_) => control::cluster_arrive(d),
        Op::BarClusterWait(_) => control::cluster_wait(d),
        Op::Setmaxnreg(set) => control::setmaxnreg(d, set.count),

        Op::VideoAdd(_)
        | Op::VideoSub(_)
        | Op::VideoAbsdiff(_)
        | Op::VideoMin(_)
        | Op::VideoMax(_)
        | Op::VideoShl(_)
        | Op::VideoShr(_)
        | Op::VideoMad(_)
        | Op::VideoSet(_)
        | Op::VideoAdd2(_)
        | Op::VideoSub2(_)
        | Op::VideoAvrg2(_)
        | Op::VideoAbsdiff2(_)
        | Op::VideoMin2(_)
        | Op::VideoMax2(_)
        | Op::VideoSet2(_)
        | Op::VideoAdd4(_)
        | Op::VideoSub4(_)
        | Op::VideoAvrg4(_)
        | Op::VideoAbsdiff4(_)
        | Op::VideoMin4(_)
        | Op::VideoMax4(_)
        | Op::VideoSet4(_) => video::decode(d, sem),
    }
}
