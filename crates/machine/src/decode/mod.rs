//! From typed instructions to operations: selection, and nothing else.
//!
//! Decoding is where everything that is known before a launch is spent: names are gone, types and modifiers have chosen
//! a function, registers have slots, constants and launch-wide values stand in the scalar file, addresses know their
//! shape. A form without semantics stops here with its name, never at run time. How operations become functions and an image,
//! [`crate::build`] knows.
//!
//! | file | decodes |
//! | --- | --- |
//! | `decoder` | what a decoder works on |
//! | `operand` | operands to planes, scalars and addresses |
//! | `emit` | an operation of a family, with splats where a member is missing |
//! | `arithmetic` | what the chapters of arithmetic share |
//! | `integer`, `float`, `half`, `compare`, `logic`, `convert` | arithmetic by chapter |
//! | `movement`, `spaces`, `bulk`, `atomic`, `mbarrier`, `warp`, `matrix`, `control`, `texture`, `video` | the rest by chapter |

mod arithmetic;
mod atomic;
mod bulk;
mod compare;
pub(crate) mod control;
mod convert;
pub(crate) mod decoder;
mod emit;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod mbarrier;
mod movement;
mod operand;
mod spaces;
mod texture;
mod video;
mod warp;

use crate::image::control::BarrierKind;
use crate::operation::kinds::{ArriveCluster, Breakpoint, Exit, Fence, Nothing, Pause, Trap, WaitCluster};
use crate::ops::mbarrier::Change;
use decoder::{Decoded, Decoder};

/// Chooses the decoder of an instruction. A missing case does not compile.
pub(crate) fn dispatch(d: &mut Decoder<'_>, op: &ir::Op) -> Decoded {
    use ir::Op;
    match op {
        Op::AddInt(op) => integer::add(d, op),
        Op::SubInt(op) => integer::sub(d, op),
        Op::MulInt(op) => integer::mul(d, op),
        Op::MadInt(op) => integer::mad(d, op),
        Op::Mul24(op) => integer::mul24(d, op),
        Op::Mad24(op) => integer::mad24(d, op),
        Op::Sad(op) => integer::sad(d, op),
        Op::DivInt(op) => integer::div(d, op),
        Op::RemInt(op) => integer::rem(d, op),
        Op::AbsInt(op) => integer::abs(d, op),
        Op::NegInt(op) => integer::neg(d, op),
        Op::MinInt(op) => integer::min(d, op),
        Op::MaxInt(op) => integer::max(d, op),
        Op::AddIntX2(op) => integer::add_x2(d, op),
        Op::MinIntX2(op) => integer::min_x2(d, op),
        Op::MaxIntX2(op) => integer::max_x2(d, op),
        Op::Dp4a(op) => integer::dp4a(d, op),
        Op::Dp2a(op) => integer::dp2a(d, op),
        Op::AddCarryOut(op) => integer::add_carry_out(d, op),
        Op::AddCarryIn(op) => integer::add_carry_in(d, op),
        Op::SubBorrowOut(op) => integer::sub_borrow_out(d, op),
        Op::SubBorrowIn(op) => integer::sub_borrow_in(d, op),
        Op::MadCarryOut(op) => integer::mad_carry_out(d, op),
        Op::MadCarryIn(op) => integer::mad_carry_in(d, op),

        Op::Popc(op) => logic::popc(d, op),
        Op::Clz(op) => logic::clz(d, op),
        Op::Bfind(op) => logic::bfind(d, op),
        Op::Fns(op) => logic::fns(d, op),
        Op::Brev(op) => logic::brev(d, op),
        Op::Bfe(op) => logic::bfe(d, op),
        Op::Bfi(op) => logic::bfi(d, op),
        Op::Szext(op) => logic::szext(d, op),
        Op::Bmsk(op) => logic::bmsk(d, op),
        Op::And(op) => logic::and(d, op),
        Op::Or(op) => logic::or(d, op),
        Op::Xor(op) => logic::xor(d, op),
        Op::Not(op) => logic::not(d, op),
        Op::Cnot(op) => logic::cnot(d, op),
        Op::AndPred(op) => logic::and_predicates(d, op),
        Op::OrPred(op) => logic::or_predicates(d, op),
        Op::XorPred(op) => logic::xor_predicates(d, op),
        Op::NotPred(op) => logic::not_predicate(d, op),
        Op::Lop3(op) => logic::lop3(d, op),
        Op::Shf(op) => logic::shf(d, op),
        Op::Shl(op) => logic::shl(d, op),
        Op::Shr(op) => logic::shr(d, op),
        Op::Prmt(op) => logic::prmt(d, op),

        Op::AddFloat(op) => float::add(d, op),
        Op::SubFloat(op) => float::sub(d, op),
        Op::MulFloat(op) => float::mul(d, op),
        Op::FmaFloat(op) => float::fma(d, op),
        Op::AddF32x2(op) => float::add_f32x2(d, op),
        Op::SubF32x2(op) => float::sub_f32x2(d, op),
        Op::MulF32x2(op) => float::mul_f32x2(d, op),
        Op::FmaF32x2(op) => float::fma_f32x2(d, op),
        Op::MadFloat(op) => float::mad(d, op),
        Op::DivFloat(op) => float::div(d, op),
        Op::DivFloatApprox(op) => float::div_approx(d, op),
        Op::DivFloatFull(op) => float::div_full(d, op),
        Op::AbsFloat(op) => float::abs(d, op),
        Op::NegFloat(op) => float::neg(d, op),
        Op::MinFloat(op) => float::min(d, op),
        Op::MaxFloat(op) => float::max(d, op),
        Op::Rcp(op) => float::rcp(d, op),
        Op::RcpApprox(op) => float::rcp_approx(d, op),
        Op::Sqrt(op) => float::sqrt(d, op),
        Op::SqrtApprox(op) => float::sqrt_approx(d, op),
        Op::RsqrtApprox(op) => float::rsqrt_approx(d, op),
        Op::Sin(op) => float::sin(d, op),
        Op::Cos(op) => float::cos(d, op),
        Op::Lg2(op) => float::lg2(d, op),
        Op::Ex2Float(op) => float::ex2(d, op),
        Op::TanhFloat(op) => float::tanh(d, op),
        Op::Testp(op) => float::testp(d, op),
        Op::Copysign(op) => float::copysign(d, op),

        Op::AddHalf(op) => half::add(d, op),
        Op::SubHalf(op) => half::sub(d, op),
        Op::MulHalf(op) => half::mul(d, op),
        Op::FmaHalf(op) => half::fma(d, op),
        Op::NegHalf(op) => half::neg(d, op),
        Op::AbsHalf(op) => half::abs(d, op),
        Op::MinHalf(op) => half::min(d, op),
        Op::MaxHalf(op) => half::max(d, op),
        Op::TanhHalf(op) => half::tanh(d, op),
        Op::Ex2Half(op) => half::ex2(d, op),

        Op::SetInt(op) => compare::set_int(d, op),
        Op::SetFloat(op) => compare::set_float(d, op),
        Op::SetHalf(op) => compare::set_half(d, op),
        Op::SetpInt(op) => compare::setp_int(d, op),
        Op::SetpFloat(op) => compare::setp_float(d, op),
        Op::SetpHalf(op) => compare::setp_half(d, op),
        Op::Selp(op) => compare::selp(d, op),
        Op::Slct(op) => compare::slct(d, op),

        Op::CvtInt(op) => convert::integer(d, op),
        Op::CvtFloatToInt(op) => convert::float_to_integer(d, op),
        Op::CvtIntToFloat(op) => convert::integer_to_float(d, op),
        Op::CvtFloat(op) => convert::float(d, op),
        Op::CvtPackFloat(op) => convert::pack_floats(d, op),
        Op::CvtFloatX2(op) => convert::float_x2(d, op),
        Op::CvtPackInt(op) => convert::pack_integers(d, op),

        Op::Mov(mov) => movement::mov(d, mov),
        Op::MovPred(mov) => movement::mov_predicate(d, mov),
        Op::MovPack(mov) => movement::pack(d, mov),
        Op::MovUnpack(mov) => movement::unpack(d, mov),
        Op::Ld(ld) => movement::load(d, ld),
        Op::St(st) => movement::store(d, st),
        Op::StBulk(st) => bulk::store(d, st),
        Op::StAsync(st) => movement::store_async(d, st),
        Op::CpAsync(cp) => movement::copy_async(d, cp),
        // Prefetches change nothing, and copies are done when they are issued.
        Op::Prefetch(_)
        | Op::CpAsyncCommitGroup(_)
        | Op::CpAsyncWaitGroup(_)
        | Op::CpAsyncWaitAll(_)
        | Op::CpAsyncBulkCommitGroup(_)
        | Op::CpAsyncBulkWaitGroup(_) => d.emit(Nothing {}),
        Op::Createpolicy(create) => movement::policy(d, create.d),
        Op::CreatepolicyCvt(create) => movement::policy(d, create.d),
        Op::Alloca(alloca) => movement::allocate(d, alloca),
        Op::Stacksave(save) => movement::save_stack(d, save),
        Op::Stackrestore(restore) => movement::restore_stack(d, restore),

        Op::Isspacep(isspacep) => spaces::is_in(d, isspacep),
        Op::Cvta(cvta) => spaces::convert(d, cvta),
        Op::Mapa(mapa) => spaces::map(d, mapa),
        Op::Getctarank(getctarank) => spaces::rank(d, getctarank),

        Op::Tex(tex) => texture::tex(d, tex),
        Op::Tld4(tld4) => texture::gather(d, tld4),
        Op::Txq(txq) => texture::query_texture(d, txq),
        Op::Istypep(istypep) => texture::is_type(d, istypep),
        Op::Suld(suld) => texture::load(d, suld),
        Op::Sust(sust) => texture::store(d, sust),
        Op::Sured(sured) => texture::reduce(d, sured),
        Op::Suq(suq) => texture::query_surface(d, suq),

        Op::CpAsyncBulk(cp) => bulk::copy(d, cp),
        Op::MultimemCpAsyncBulk(cp) => bulk::copy_to_all(d, cp),
        Op::CpReduceAsyncBulk(cp) => bulk::reduce(d, cp),
        Op::CpAsyncBulkPrefetch(cp) => bulk::prefetch(d, cp),
        Op::CpAsyncBulkTensorLoad(cp) => bulk::load_tensor(d, cp),
        Op::CpAsyncBulkTensorStore(cp) => bulk::store_tensor(d, cp),
        Op::CpReduceAsyncBulkTensor(cp) => bulk::reduce_tensor(d, cp),
        Op::CpAsyncBulkPrefetchTensor(cp) => bulk::prefetch_tensor(d, cp),
        Op::TensormapReplace(replace) => bulk::replace_field(d, replace),
        Op::TensormapCpFenceproxy(cp) => bulk::copy_map(d, cp),
        Op::MultimemLoad(ld) => bulk::load_multimem(d, ld),
        Op::MultimemStore(st) => bulk::store_multimem(d, st),
        Op::MultimemReduce(red) => bulk::reduce_multimem(d, red),

        Op::Atom(atom) => atomic::atom(d, atom),
        Op::AtomCas(cas) => atomic::cas(d, cas),
        Op::AtomVector(atom) => atomic::atom_vector(d, atom),
        Op::Red(red) => atomic::red(d, red),
        Op::RedVector(red) => atomic::red_vector(d, red),
        Op::RedAsync(red) => atomic::red_async(d, red),

        Op::MbarrierInit(init) => mbarrier::change(d, Change::Init, &init.addr, Some(&init.count)),
        Op::MbarrierInval(inval) => mbarrier::change(d, Change::Touch, &inval.addr, None),
        Op::MbarrierExpectTx(expect) => {
            mbarrier::change(d, Change::ExpectTx, &expect.addr, Some(&expect.count))
        }
        Op::MbarrierCompleteTx(tx) => mbarrier::change(d, Change::CompleteTx, &tx.addr, Some(&tx.count)),
        Op::MbarrierArrive(arrive) => mbarrier::arrive(d, arrive),
        Op::CpAsyncMbarrierArrive(arrive) => mbarrier::copies_arrive(d, &arrive.addr, arrive.noinc),
        Op::MbarrierWait(wait) => mbarrier::wait(d, wait),
        Op::MbarrierPendingCount(count) => mbarrier::count_pending(d, count.d, &count.state),

        Op::Shfl(shfl) => warp::shuffle(d, shfl),
        Op::Vote(vote) => warp::vote(d, vote),
        Op::MatchSync(matching) => warp::matching(d, matching),
        Op::Activemask(mask) => warp::active_mask(d, mask.d),
        Op::Redux(redux) => warp::reduce(d, redux),
        Op::ReduxFloat(redux) => warp::reduce_float(d, redux),
        Op::Elect(elect) => warp::elect(d, elect),
        Op::BarWarpSync(bar) => warp::barrier(d, &bar.membermask),

        Op::Ldmatrix(load) => matrix::load_matrices(d, load),
        Op::Stmatrix(store) => matrix::store_matrices(d, store),
        Op::Movmatrix(movmatrix) => matrix::transpose(d, movmatrix),
        Op::WmmaLoad(load) => matrix::load_fragment(d, load),
        Op::WmmaStore(store) => matrix::store_fragment(d, store),
        Op::WmmaMma(mma) => matrix::multiply_fragments(d, mma),
        Op::Mma(mma) => matrix::multiply_warp(d, mma),
        Op::MmaSparse(mma) => matrix::multiply_sparse(d, mma),
        Op::Wgmma(wgmma) => matrix::multiply_group(d, wgmma),
        // A product is done when it is issued, so there is nothing to order or to wait for.
        Op::WgmmaFence(_) | Op::WgmmaCommitGroup(_) | Op::WgmmaWaitGroup(_) => d.emit(Nothing {}),

        // Branches lead to blocks, whose places the function's decoder knows.
        Op::Bra(_) | Op::BrxIdx(_) => Err("a branch in a run of instructions".to_owned()),
        Op::Call(call) => control::call(d, call),
        Op::CallIndirect(call) => control::call_indirect(d, call),
        Op::Ret(_) => control::ret(d),
        Op::Exit(_) => {
            let run = d.code.take_run();
            d.emit(Exit { run })
        }
        Op::BarSync(bar) => control::barrier(d, BarrierKind::Sync, &bar.a, bar.b.as_ref()),
        Op::BarArrive(bar) => control::barrier(d, BarrierKind::Arrive, &bar.a, Some(&bar.b)),
        Op::BarRed(bar) => control::barrier_reduction(d, bar),
        // There is one path to memory here, so proxies always agree; the fence still orders.
        Op::Fence(_) | Op::Membar(_) | Op::FenceProxy(_) => d.emit(Fence {}),
        Op::Trap(_) => {
            let run = d.code.take_run();
            d.emit(Trap { run })
        }
        Op::Brkpt(_) => {
            let run = d.code.take_run();
            d.emit(Breakpoint { run })
        }
        Op::Nanosleep(sleep) => control::nanosleep(d, &sleep.t),
        Op::Pmevent(_) => d.emit(Pause {}),
        Op::Griddepcontrol(control) => control::griddepcontrol(d, control.action),
        Op::BarClusterArrive(_) => d.emit(ArriveCluster {}),
        Op::BarClusterWait(_) => d.emit(WaitCluster {}),
        Op::Setmaxnreg(set) => control::setmaxnreg(d, set.count),

        Op::VideoAdd(op) => video::add(d, op),
        Op::VideoSub(op) => video::sub(d, op),
        Op::VideoAbsdiff(op) => video::absdiff(d, op),
        Op::VideoMin(op) => video::min(d, op),
        Op::VideoMax(op) => video::max(d, op),
        Op::VideoShl(op) => video::shl(d, op),
        Op::VideoShr(op) => video::shr(d, op),
        Op::VideoMad(op) => video::mad(d, op),
        Op::VideoSet(op) => video::set(d, op),
        Op::VideoAdd2(op) => video::add2(d, op),
        Op::VideoSub2(op) => video::sub2(d, op),
        Op::VideoAvrg2(op) => video::avrg2(d, op),
        Op::VideoAbsdiff2(op) => video::absdiff2(d, op),
        Op::VideoMin2(op) => video::min2(d, op),
        Op::VideoMax2(op) => video::max2(d, op),
        Op::VideoSet2(op) => video::set2(d, op),
        Op::VideoAdd4(op) => video::add4(d, op),
        Op::VideoSub4(op) => video::sub4(d, op),
        Op::VideoAvrg4(op) => video::avrg4(d, op),
        Op::VideoAbsdiff4(op) => video::absdiff4(d, op),
        Op::VideoMin4(op) => video::min4(d, op),
        Op::VideoMax4(op) => video::max4(d, op),
        Op::VideoSet4(op) => video::set4(d, op),
    }
}
