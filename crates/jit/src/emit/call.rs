//! Calls of the host.

use super::Emitter;
use super::context;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::sites::{Action, Site};
use ir::operand::Def;

impl Emitter<'_> {
    /// A value as a list of lanes of 64 bits.
    pub(crate) fn list_of(&mut self, lanes: &Lanes) -> String {
        let vector = self.vector(lanes);
        if lanes.bits == 64 {
            return vector;
        }
        let (from, to) = (self.text.int(lanes.bits, Kind::Vector), self.text.int(64, Kind::Vector));
        self.text.value(&format!("zext {from} {vector} to {to}"))
    }

    /// Calls the host for the active lanes: with lists of operands, for lists of results.
    pub(crate) fn host(
        &mut self,
        action: Action,
        operands: &[String],
        results: usize,
        active: &str,
    ) -> Vec<String> {
        let site = self.sites.len();
        self.sites.push(Site { instruction: self.index, action });
        let (width, list) = (self.rows.width as usize, self.text.int(64, Kind::Vector));
        self.lists = self.lists.max(operands.len() + results);
        for (at, operand) in operands.iter().enumerate() {
            let place = self.text.value(&format!("getelementptr i64, ptr %args, i64 {}", at * width));
            self.text.line(&format!("store {list} {operand}, ptr {place}, align 64"));
        }
        let mask = self.text.mask_bits(active);
        let call = self.constant_field(context::CALL, "ptr");
        let answer = self
            .text
            .value(&format!("call i32 {call}(ptr %ctx, i32 {site}, i32 %row, i32 {mask}, ptr %args)"));
        let goes_on = self.text.value(&format!("icmp eq i32 {answer}, 0"));
        let on = self.text.new_label();
        self.text.likely(&goes_on, &on, "stop");
        self.text.begin(&on);
        (operands.len()..operands.len() + results)
            .map(|at| {
                let place = self.text.value(&format!("getelementptr i64, ptr %args, i64 {}", at * width));
                self.text.value(&format!("load {list}, ptr {place}, align 64"))
            })
            .collect()
    }

    /// `trap`.
    pub(crate) fn trap(&mut self) -> Result<(), Refusal> {
        let (active, _) = self.active();
        let any = self.text.any(&active);
        let (trap, on) = (self.text.new_label(), self.text.new_label());
        self.text.branch(&any, &trap, &on);
        self.text.begin(&trap);
        self.host(Action::Trap, &[], 0, &active);
        self.text.jump(&on);
        self.text.begin(&on);
        Ok(())
    }

    /// Writes what is the same in all active lanes.
    pub(crate) fn write_from_first(&mut self, d: Def, lanes: &Lanes, active: &str) -> Result<(), Refusal> {
        let first = self.first_lane(active);
        let (vector, ty) = (self.vector(lanes), self.text.int(lanes.bits, Kind::Vector));
        let value = self.text.value(&format!("extractelement {ty} {vector}, i32 {first}"));
        self.write(d, Lanes::uniform(lanes.bits, value), false)
    }
}
