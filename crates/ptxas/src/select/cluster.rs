//! Clusters and what a grid says to the next (PTX ISA, "mapa", "getctarank", "griddepcontrol", "setmaxnreg", "fence.proxy").

use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::{Space, Value};
use ptx::isa::{Order, Scope};

/// The number of a CTA in its cluster stands in the highest byte of an address in shared memory.
const RANK_ABOVE: u32 = 24;

impl Select<'_> {
    pub(super) fn clusters(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::Mapa(op) => self.address_in_cluster(op),
            Op::Getctarank(op) => self.rank_of(&op.a, op.ty.bits()).map(|rank| self.set(op.d, rank)),
            Op::Griddepcontrol(op) => {
                let name = match op.action {
                    i::GriddepcontrolAction::LaunchDependents => "PREEXIT",
                    i::GriddepcontrolAction::Wait => "ACQBULK",
                };
                self.effect(name, vec![], vec![]);
                Ok(())
            }
            // A hint, to which code that needs no more registers than it was compiled for pays no heed.
            Op::Setmaxnreg(_) => Ok(()),
            Op::FenceProxy(op) => self.behind_guard(|this| this.fence_proxy(op)),
            _ => return None,
        })
    }

    fn address_in_cluster(&mut self, op: &i::Mapa) -> Done {
        let rank = self.word(&op.b)?;
        let within = |this: &mut Self, address: Operand| {
            // Three bytes of the address, and the lowest of the rank.
            this.one("PRMT", vec![rank.clone(), Operand::number(0x654), address])
        };
        let result = match op.ty.bits() {
            64 => {
                let a = self.double(&op.a)?;
                let low = within(self, Operand::part(a, 0));
                let high = match op.space {
                    // As a generic address.
                    None => Operand::part(a, 1),
                    Some(_) => Operand::zero(),
                };
                self.join(Operand::low(low), high)
            }
            _ => {
                let a = self.word(&op.a)?;
                within(self, a)
            }
        };
        self.set(op.d, result);
        Ok(())
    }

    fn rank_of(&mut self, address: &Value, bits: u32) -> Result<Reg, Refusal> {
        let low = match bits {
            64 => Operand::part(self.double(address)?, 0),
            _ => self.word(address)?,
        };
        Ok(self.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::number(RANK_ABOVE), low]))
    }

    fn fence_proxy(&mut self, op: &i::FenceProxy) -> Done {
        let scope = op.scope.unwrap_or(Scope::Gpu);
        match op.proxy_kind {
            i::ProxyKind::Async => {
                let (shared, global) = match op.space {
                    Some(Space::Global) => (false, true),
                    Some(_) => (true, false),
                    None => (true, true),
                };
                self.membar("ALL", if global { Scope::Gpu } else { Scope::Cta });
                for kind in [shared.then_some("S"), global.then_some("G")].into_iter().flatten() {
                    self.code.push(None, format!("FENCE.VIEW.ASYNC.{kind}"), vec![], vec![]);
                }
            }
            i::ProxyKind::AsyncGeneric => {
                self.membar("ALL", scope);
                self.code.push(None, "FENCE.VIEW.ASYNC.S", vec![], vec![]);
            }
            i::ProxyKind::Alias => self.membar("SC", Scope::Sys),
            i::ProxyKind::TensormapGeneric => {
                if op.order == Some(Order::Acquire) {
                    let Some(address) = &op.addr else { return Err("without an address".to_owned()) };
                    let place = self.place(address)?;
                    let both = self.wide_address_of(&place)?;
                    let halves = [(8, Operand::part(both, 0)), (9, Operand::part(both, 1))];
                    self.for_each_lane(&halves, |this| {
                        let at = vec![Operand::Text("[UR8]".into())];
                        this.code.push(None, "UTMACCTL.IV", vec![], at);
                    });
                } else {
                    self.membar("ALL", scope);
                }
            }
        }
        Ok(())
    }
}
