//! Operands in uniform registers, of which a warp has one set: what an instruction takes from there, each lane gives in its
//! turn.

use super::Select;
use crate::code::{Label, Operand, Reg};
use ir::operand::{Address, Value};
use ir::{Cfg, LaneOrder, Shape, Shapes};
use ptx::module::AddressBase;
use smol_str::format_smolstr;
use std::rc::Rc;

/// Lanes of a warp.
const WARP: u32 = 32;

impl Select<'_> {
    /// Whether all lanes of a warp have one value, whenever they come to the instruction that is being selected.
    pub(super) fn is_alike(&mut self, value: &Value) -> bool {
        let Value::Register(register) = *value else { return matches!(value, Value::Constant(_)) };
        let function = Rc::clone(&self.at.function);
        let shapes = self.at.shapes.get_or_insert_with(|| {
            let cfg = Cfg::new(&function);
            Rc::new(Shapes::new(&function, &cfg, LaneOrder::Unknown))
        });
        let (shape, lanes) = shapes.at(self.at.index, register);
        lanes == WARP && matches!(shape, Shape::Invariant | Shape::Affine { stride: 0 })
    }

    /// The same of an address in shared memory.
    pub(super) fn is_alike_address(&mut self, address: &Address) -> bool {
        match address.base {
            AddressBase::Register(register) => self.is_alike(&Value::Register(register)),
            AddressBase::Variable(_) | AddressBase::Absolute => true,
        }
    }

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
        self.choose_lane(left, mine);
        act(self, mine);
        self.plop(Some((mine, false)), left, Operand::always(true), Operand::always(false), 0xf0);
        self.plop(None, mine, Operand::always(true), Operand::always(false), 0xf0);
        self.again_if_any(left, head);
    }

    /// Tells one of the lanes in which `left` holds that it is its turn. `mine` holds in none before.
    fn choose_lane(&mut self, left: Reg, mine: Reg) {
        if self.target().has("ELECT") {
            let elected = vec![Operand::Predicate(mine, false), Operand::Text("URZ".into())];
            self.code.push(Some((left, false)), "ELECT", elected, vec![Operand::always(false)]);
            return;
        }
        let all = self.temporary(1);
        let given = vec![Operand::low(all), Operand::always(false)];
        self.code.push(None, "VOTE.ANY", given, vec![Operand::Predicate(left, false)]);
        let last = self.one("FLO.U32", vec![Operand::low(all)]);
        let lane = self.one("S2R", vec![Operand::Text("SR_LANEID".into())]);
        let written = vec![Operand::Predicate(mine, false), Operand::always(false)];
        let read = vec![Operand::low(last), Operand::low(lane), Operand::always(false)];
        self.code.push(None, "ISETP.EQ.U32.AND", written, read);
    }

    /// All active lanes go back to `head` together if there is one in which `left` holds.
    pub(super) fn again_if_any(&mut self, left: Reg, head: Label) {
        if self.target().has_uniform_branches() {
            self.code.push(Some((left, false)), "BRA.U.ANY", vec![], vec![Operand::Target(head)]);
            return;
        }
        let any = self.flag();
        let given = vec![Operand::Predicate(any, false)];
        self.code.push(None, "VOTE.ANY", given, vec![Operand::Predicate(left, false)]);
        self.branch(Some((any, false)), head);
    }

    /// The same, with a lane's values in these uniform registers.
    pub(super) fn for_each_lane(&mut self, values: &[(u8, Operand)], act: impl FnOnce(&mut Self)) {
        let values: Vec<_> =
            values.iter().map(|(to, value)| (*to, self.one("MOV", vec![value.clone()]))).collect();
        self.one_by_one(|this, mine| {
            for (to, value) in values {
                let to = vec![Operand::Text(format_smolstr!("UR{to}"))];
                this.code.push(Some((mine, false)), "R2UR", to, vec![Operand::low(value)]);
            }
            act(this);
        });
    }

    /// Values that all lanes have alike, in these uniform registers.
    pub(super) fn in_uniform(&mut self, values: &[(u8, Operand)]) {
        for (to, value) in values {
            let to = vec![Operand::Text(format_smolstr!("UR{to}"))];
            let value = self.one("MOV", vec![value.clone()]);
            self.code.push(None, "R2UR", to, vec![Operand::low(value)]);
        }
    }
}
