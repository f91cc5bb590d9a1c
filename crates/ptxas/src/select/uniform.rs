//! Operands in uniform registers, of which a warp has one set: what an instruction takes from there, each lane gives in its
//! turn.

use super::Select;
use crate::code::{Operand, Reg};

impl Select<'_> {
    /// Code for one active lane after another: `act` is told the predicate that holds in the one whose turn it is. Nothing may
    /// stand in front that the active lanes do not execute together.
    pub(super) fn one_by_one(&mut self, act: impl FnOnce(&mut Self, Reg)) {
        let (left, mine) = (
            self.code.register(crate::code::Class::Predicate, false),
            self.code.register(crate::code::Class::Predicate, false),
        );
        let head = self.code.label();
        self.plop(None, left, Operand::always(false), Operand::always(false), 0xf0);
        self.plop(None, mine, Operand::always(true), Operand::always(false), 0xf0);
        self.code.place(head);
        let urz = Operand::Text("URZ".to_owned());
        let elected = vec![Operand::Predicate(mine, false), urz];
        self.code.push(Some((left, false)), "ELECT", elected, vec![Operand::always(false)]);
        act(self, mine);
        self.plop(Some((mine, false)), left, Operand::always(true), Operand::always(false), 0xf0);
        self.plop(None, mine, Operand::always(true), Operand::always(false), 0xf0);
        self.code.push(Some((left, false)), "BRA.U.ANY", vec![], vec![Operand::Target(head)]);
    }

    /// The same, with a lane's values in these uniform registers.
    pub(super) fn for_each_lane(&mut self, values: &[(u8, Operand)], act: impl FnOnce(&mut Self)) {
        let values: Vec<_> =
            values.iter().map(|(to, value)| (*to, self.one("MOV", vec![value.clone()]))).collect();
        self.one_by_one(|this, mine| {
            for (to, value) in values {
                let to = vec![Operand::Text(format!("UR{to}"))];
                this.code.push(Some((mine, false)), "R2UR", to, vec![Operand::low(value)]);
            }
            act(this);
        });
    }

    /// Values that all lanes have alike, in these uniform registers.
    pub(super) fn in_uniform(&mut self, values: &[(u8, Operand)]) {
        for (to, value) in values {
            let to = vec![Operand::Text(format!("UR{to}"))];
            let value = self.one("MOV", vec![value.clone()]);
            self.code.push(None, "R2UR", to, vec![Operand::low(value)]);
        }
    }
}
