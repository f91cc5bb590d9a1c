//! `mbarrier` on devices before sm_90, which keep an object as two words that count up. What stands for what was seen in ptxas' output.
//!
//! | word | |
//! | --- | --- |
//! | lower | 2^30, less the arrivals that each further phase waits for |
//! | upper | 2^31, less the arrivals that this phase still waits for; bit 31 is the phase |
//!
//! `ATOMS.ARRIVE.64` counts the upper word up, and begins the next phase when nothing is left of 2^31.

use super::mbarrier::beside;
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::Op;
use ir::instruction as i;
use ir::operand::Address;
use ptx::isa::{Order, Scope};

/// What the counts are taken from, and the phase.
const LOWER: u32 = 1 << 30;
const UPPER: u32 = 1 << 31;
/// Bytes in front of the upper word.
const UPPER_AT: i64 = 4;

/// A word of an object.
fn word(at: Reg, offset: i64) -> Operand {
    Operand::Address { before: "", reg: at, width: 1, beside: "", offset }
}

impl Select<'_> {
    pub(super) fn early_mbarriers(&mut self, op: &Op) -> Option<Done> {
        Some(match op {
            Op::MbarrierInit(op) => self.initialise_words(op),
            // Nobody else than the program keeps it.
            Op::MbarrierInval(_) => Ok(()),
            Op::MbarrierArrive(op) => self.arrive_at_words(op),
            Op::MbarrierPendingCount(op) => self.double(&op.state).map(|state| {
                let counted = self.lop(Operand::part(state, 1), Operand::number(UPPER - 1), 0xc0);
                let all = self.constant(UPPER);
                let count = self.add(all, Operand::low(counted).signed("-"));
                self.set(op.d, count);
            }),
            Op::MbarrierWait(op) => self.ask_words(op),
            Op::CpAsyncMbarrierArrive(op) => self.behind_guard(|this| this.arrive_at_words_behind_copies(op)),
            _ => return None,
        })
    }

    fn object(&mut self, address: &Address) -> Result<Reg, Refusal> {
        let place = self.place(address)?;
        match place.window {
            super::memory::Window::Generic => {
                let address = self.wide_address_of(&place)?;
                let place = self.within_shared(address);
                self.address_of(&place)
            }
            _ => self.address_of(&place),
        }
    }

    fn initialise_words(&mut self, op: &i::MbarrierInit) -> Done {
        let at = self.object(&op.addr)?;
        let count = self.word(&op.count)?;
        let less = |this: &mut Self, most| {
            let most = this.constant(most);
            Operand::low(this.add(most, count.clone().signed("-")))
        };
        let (lower, upper) = (less(self, LOWER), less(self, UPPER));
        let both = self.join(lower, upper);
        self.effect("STS.64", vec![], vec![word(at, 0), Operand::wide(both, 2)]);
        Ok(())
    }

    fn arrive_at_words(&mut self, op: &i::MbarrierArrive) -> Done {
        if op.expect_tx || op.count.is_some() && !op.no_complete {
            return Err(format!("in this form, which {} does not have", self.target()));
        }
        let at = self.object(&op.addr)?;
        if op.order != Order::Relaxed {
            self.membar("ALL", Scope::Cta);
        }
        let leaves = op.action == i::MbarrierArriveAction::ArriveDrop;
        let state = self.temporary(2);
        if op.no_complete {
            let count = op.count.as_ref().map_or(Ok(Operand::number(1)), |count| self.word(count))?;
            let count = Operand::low(self.one("MOV", vec![count]));
            if leaves {
                self.effect("ATOMS.ADD", vec![Operand::zero()], vec![word(at, 0), count.clone()]);
            }
            let upper = self.code.register(crate::code::Class::General(1), false);
            self.effect("ATOMS.ADD", vec![Operand::low(upper)], vec![word(at, UPPER_AT), count]);
            let state = self.join(Operand::low(upper), Operand::low(upper));
            self.set(op.d, state);
            return Ok(());
        }
        if leaves {
            self.effect("ATOMS.POPC.INC.32", vec![Operand::zero()], vec![beside(at)]);
        }
        self.effect("ATOMS.ARRIVE.64", vec![Operand::wide(state, 2)], vec![beside(at)]);
        self.set(op.d, state);
        Ok(())
    }

    /// The phase is not that of the state, or not the one of this parity.
    fn ask_words(&mut self, op: &i::MbarrierWait) -> Done {
        let at = self.object(&op.addr)?;
        let phase = self.awaited_phase(op)?;
        let now = self.one("LDS", vec![word(at, UPPER_AT)]);
        let differs = self.lop(Operand::low(now), phase, 0x3c);
        let differs = self.lop(Operand::low(differs), Operand::number(UPPER), 0xc0);
        let done = self.compare("ISETP.NE.U32.AND", Operand::low(differs), Operand::zero());
        self.set_flag(op.p, done);
        Ok(())
    }

    /// The arrival of each thread's copies. The unit takes the address from a uniform register alone.
    fn arrive_at_words_behind_copies(&mut self, op: &i::CpAsyncMbarrierArrive) -> Done {
        let at = self.object(&op.addr)?;
        let one_less = Operand::low(self.one("MOV", vec![Operand::number(u32::MAX)]));
        self.one_by_one(|this, mine| {
            let guard = Some((mine, false));
            let text = |text: &str| Operand::Text(text.into());
            if !op.noinc {
                let read = vec![word(at, UPPER_AT), one_less];
                this.code.push(guard, "ATOMS.ADD", vec![Operand::zero()], read);
            }
            this.code.push(guard, "R2UR", vec![text("UR8")], vec![Operand::low(at)]);
            // As ptxas does.
            this.loads_of_nobody(4);
            this.code.push(guard, "ARRIVES.LDGSTSBAR.64", vec![], vec![text("[UR8]")]);
        });
        Ok(())
    }
}
