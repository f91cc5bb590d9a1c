//! Calls, barriers, and what else the run loop does (PTX ISA, "Control Flow Instructions", "Miscellaneous Instructions"
//! and the barriers of "Parallel Synchronization and Communication Instructions").

use super::decoder::{Decode, Decoded, Decoder, Missing, decoders};
use crate::image::builtin::Builtin;
use crate::image::control::{BarrierKind, BarrierSite, Callee, Reduction};
use crate::operation::kinds::{
    ArriveCluster, AwaitGroups, Barrier, BeginSleep, Breakpoint, Call, CallIndirect, CommitGroup, Exit,
    Fence, Join, LaunchDependents, Pause, ShowFragments, ShowMemory, Sleep, Trap, WaitCluster, WaitForGrids,
};
use ir::instruction::{self, BarRedOp, GriddepcontrolAction, ProxyKind};
use ir::operand::{Callees, Def, Value};
use ptx::isa::Group;
use ptx::module::FuncId;

decoders! { d, op:
    // Branches lead to blocks, whose places `build` knows.
    Bra | BrxIdx => Err("a branch in a run of instructions".to_owned());
    Ret => {
        compute_products(d);
        let op = d.code.return_op();
        d.emit(op)
    };
    Exit => d.emit_leaving(|run| Exit { run });
    Trap => d.emit_leaving(|run| Trap { run });
    Brkpt => d.emit_leaving(|run| Breakpoint { run });
    Griddepcontrol => match op.action {
        GriddepcontrolAction::Wait => d.emit_leaving(|run| WaitForGrids { run }),
        GriddepcontrolAction::LaunchDependents => d.emit_leaving(|run| LaunchDependents { run }),
    };
    Call => {
        let callee = callee(d, op.function)?;
        let site = d.call_site(callee, op.results.as_deref(), op.arguments.as_deref())?;
        let site = d.site(site);
        compute_products(d);
        d.emit_leaving(|run| Call { site, run })
    };
    BarSync => barrier(d, BarrierKind::Sync, &op.a, op.b.as_ref());
    BarArrive => barrier(d, BarrierKind::Arrive, &op.a, Some(&op.b));
    BarRed => {
        let predicate = d.read_predicate(&op.c)?;
        let reduction = match op.op {
            Some(BarRedOp::And) => Reduction::And(d.write_predicate_somewhere(op.p)?),
            Some(BarRedOp::Or) => Reduction::Or(d.write_predicate_somewhere(op.p)?),
            None => Reduction::Popc(d.write_plane(op.d.unwrap_or(Def(None)), 32)?),
        };
        barrier(d, BarrierKind::Reduce { op: reduction, predicate }, &op.a, op.b.as_ref())
    };
    BarClusterArrive => d.emit(ArriveCluster {});
    BarClusterWait => d.emit(WaitCluster {});
    Fence | Membar => d.emit(Fence {});
    // There is one path to memory, so proxies always agree, unless asynchronous operations are late; the fence still orders.
    FenceProxy => match op.proxy_kind {
        ProxyKind::Async | ProxyKind::AsyncGeneric if d.code.image.purpose.late => d.emit(ShowMemory {}),
        ProxyKind::Alias | ProxyKind::Async | ProxyKind::AsyncGeneric | ProxyKind::TensormapGeneric => {
            d.emit(Fence {})
        }
    };
    WgmmaFence => d.emit_if_late(ShowFragments {});
    WgmmaCommitGroup => d.emit_if_late(CommitGroup { group: Group::Wgmma });
    WgmmaWaitGroup => d.emit_if_late(AwaitGroups {
        group: Group::Wgmma, but: op.n as u32, reads: false, uncommitted: false
    });
    Nanosleep => {
        let (a, until) = (d.read_plane(&op.t, 32)?, d.frame.temporary(64));
        d.emit_part(BeginSleep { until, a });
        d.emit(Sleep { until })
    };
    Pmevent => d.emit(Pause {});
    // Registers are not counted here, so nobody waits for any, and a thread loses none.
    Setmaxnreg => match op.count.is_multiple_of(8) {
        true => d.emit(Pause {}),
        false => Err("setmaxnreg with a count that is not a multiple of 8".to_owned()),
    };
}

/// Products are of the registers of one function: a call or return waits for them, as it does in the code of compilers.
fn compute_products(d: &mut Decoder<'_>) {
    if d.code.image.purpose.late {
        d.emit_part(AwaitGroups { group: Group::Wgmma, but: 0, reads: false, uncommitted: true });
    }
}

fn callee(d: &Decoder<'_>, function: FuncId) -> Result<Callee, Missing> {
    let target = &d.module.functions[function.index()];
    match (&target.body, Builtin::from_name(&target.name)) {
        (Some(_), _) => Ok(Callee::Function(function)),
        (None, Some(builtin)) => Ok(Callee::Builtin(builtin)),
        (None, None) => Err(format!("a call of `{}`, which the module only declares", target.name)),
    }
}

impl Decode for instruction::CallIndirect {
    fn decode(&self, d: &mut Decoder<'_>) -> Decoded {
        // What the call passes must be what the prototype says; the run loop compares with the function it reaches.
        if let Callees::Prototype(prototype) = self.targets {
            let prototype = &d.body.prototypes[prototype.index()];
            let passed = self.arguments.as_deref().map_or(0, <[_]>::len);
            if !prototype.takes(passed) {
                let takes = prototype.params.len();
                return Err(format!("a call that passes {passed} parameters by a prototype of {takes}"));
            }
        }
        let address = d.read(&self.function, 64)?;
        let site = d.call_site(Callee::Indirect, self.results.as_deref(), self.arguments.as_deref())?;
        let site = d.site(site);
        compute_products(d);
        d.emit_leaving(|run| CallIndirect { site, address, run })?;
        // Lanes that called different functions meet again here.
        d.emit_part(Join {});
        Ok(())
    }
}

fn barrier(d: &mut Decoder<'_>, kind: BarrierKind, barrier: &Value, threads: Option<&Value>) -> Decoded {
    let barrier = d.read(barrier, 32)?;
    let threads = threads.map(|threads| d.read(threads, 32)).transpose()?;
    let site = d.site(BarrierSite { kind, barrier, threads });
    d.emit_leaving(|run| Barrier { site, run })
}
