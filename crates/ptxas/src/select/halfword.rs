//! Atomic operations on 16 bits, which no unit has: the word around them is swapped until no other thread has come between.

use super::memory::{Place, Window, strength};
use super::{Done, Refusal, Select};
use crate::code::{Operand, Reg};
use ir::instruction as i;
use ir::operand::{Address, Def, Value};
use ptx::isa::{Order, Scope};
use ptx::types::ScalarType;

/// Which bytes of a word and of a new value behind it make the new word, where the value is the lower half of it and where it is the upper.
const LOWER: u32 = 0x3254;
const UPPER: u32 = 0x5410;

impl Select<'_> {
    pub(super) fn swap_halfword(&mut self, op: &i::AtomCas) -> Done {
        let (expected, new) = (self.extended(&op.b, ScalarType::U16)?, self.word(&op.c)?);
        self.halfword((op.order, op.scope), op.d, &op.a, |this, old| {
            let old = this.extend(old, ScalarType::U16);
            let same = this.compare("ISETP.EQ.U32.AND", Operand::low(old), expected.clone());
            Ok(this.select_word(new.clone(), Operand::low(old), same, false))
        })
    }

    pub(super) fn add_halfword(
        &mut self,
        ty: ScalarType,
        how: (Order, Scope),
        d: Def,
        a: &Address,
        b: &Value,
    ) -> Done {
        let value = self.word(b)?;
        let name = match ty {
            ScalarType::F16 => "HADD2",
            ScalarType::Bf16 => "HADD2.BF16_V2",
            _ => return Err("of this size".to_owned()),
        };
        self.halfword(how, d, a, |this, old| {
            Ok(this.one(name, vec![old.suffixed(".H0_H0"), value.clone().suffixed(".H0_H0")]))
        })
    }

    /// Lets 16 bits become what `new` makes of them; bits above those mean nothing to it, and nothing in its result.
    fn halfword(
        &mut self,
        (order, scope): (Order, Scope),
        d: Def,
        address: &Address,
        new: impl Fn(&mut Self, Operand) -> Result<Reg, Refusal>,
    ) -> Done {
        let place = self.place(address)?;
        let strong = strength(Order::Relaxed, Some(scope));
        let (load, swap, predicate) = match place.window {
            Window::Global => ("LDG.E", format!("ATOMG.E.CAS{strong}"), true),
            Window::Generic => ("LD.E", format!("ATOM.E.CAS{strong}"), true),
            Window::Shared => ("LDS", "ATOMS.CAS".to_owned(), false),
            window => return Err(format!("with this type in {window:?} memory")),
        };
        let (at, around) = match place.window {
            Window::Shared => {
                let at = self.address_of(&place)?;
                let word = self.lop(Operand::low(at), Operand::number(!3), 0xc0);
                (at, Place::shared(word))
            }
            window => {
                let at = self.wide_address_of(&place)?;
                let low = self.lop(Operand::low(at), Operand::number(!3), 0xc0);
                let word = self.join(Operand::low(low), Operand::part(at, 1));
                (at, Place::wide(window, word))
            }
        };
        let half = self.lop(Operand::low(at), Operand::number(2), 0xc0);
        let is_lower = self.compare("ISETP.EQ.U32.AND", Operand::low(half), Operand::zero());
        let (lower, upper) = (self.constant(LOWER), self.constant(UPPER));
        let bytes = self.select_word(lower, upper, is_lower, false);
        let by = self.one("SHF.L.U32", vec![Operand::low(half), Operand::number(3), Operand::zero()]);
        self.released(order, scope);
        let found = self.temporary(1);
        self.code.push(None, "MOV", vec![Operand::low(found)], vec![Operand::zero()]);
        self.behind_guard(|this| {
            let head = this.code.label();
            this.code.push(None, load, vec![Operand::low(found)], vec![around.operand(0)]);
            this.code.place(head);
            let old = this.one("SHF.R.U32.HI", vec![Operand::zero(), Operand::low(by), Operand::low(found)]);
            let value = new(this, Operand::low(old))?;
            let read = vec![Operand::low(found), Operand::low(bytes), Operand::low(value)];
            let word = this.one("PRMT", read);
            let before = this.temporary(1);
            let address = if predicate { around.bare() } else { Some(around.operand(0)) };
            let Some(address) = address else { return Err("without an address".to_owned()) };
            let mut written = vec![Operand::low(before)];
            if predicate {
                written.insert(0, Operand::always(false));
            }
            let read = vec![address, Operand::low(found), Operand::low(word)];
            this.code.push(None, swap.clone(), written, read);
            let other = this.compare("ISETP.NE.U32.AND", Operand::low(before), Operand::low(found));
            this.code.push(None, "MOV", vec![Operand::low(found)], vec![Operand::low(before)]);
            this.branch(Some((other, false)), head);
            Ok(())
        })?;
        self.acquired(order, Some(scope));
        if d.0.is_some() {
            let read = vec![Operand::zero(), Operand::low(by), Operand::low(found)];
            let result = self.one("SHF.R.U32.HI", read);
            self.set(d, result);
        }
        Ok(())
    }
}
