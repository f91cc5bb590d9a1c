//! Calls of the host.

use super::Emitter;
use super::context;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::sites::{Action, Site, list_bytes};
use ir::operand::Def;

/// What a call hands over beside lists: the address of lane 0, and the last lane before the bend.
pub(crate) struct From {
    pub(crate) address: String,
    pub(crate) last: String,
}

impl From {
    /// Nothing.
    pub(crate) fn nowhere() -> Self {
        Self { address: "0".to_owned(), last: "0".to_owned() }
    }
}

/// The functions by which the code calls the host: a call is a line of text.
pub(super) fn definitions() -> String {
    let (call, poll) = (context::CALL, context::POLL);
    format!(
        "define internal i1 @call(ptr %ctx, i32 %site, i32 %row, i32 %mask, ptr %args, i64 %address, i32 %last) noinline {{
  %at = getelementptr i8, ptr %ctx, i64 {call}
  %host = load ptr, ptr %at
  %answer = call i32 %host(ptr %ctx, i32 %site, i32 %row, i32 %mask, ptr %args, i64 %address, i32 %last)
  %on = icmp eq i32 %answer, 0
  ret i1 %on
}}
define internal i1 @poll(ptr %ctx) noinline {{
  %at = getelementptr i8, ptr %ctx, i64 {poll}
  %host = load ptr, ptr %at
  %answer = call i32 %host(ptr %ctx)
  %on = icmp eq i32 %answer, 0
  ret i1 %on
}}
attributes #0 = {{ cold }}
"
    )
}

impl Emitter<'_> {
    /// Calls the host for the active lanes, with lists of operands.
    pub(crate) fn host(
        &mut self,
        action: Action,
        from: &From,
        operands: &[Lanes],
        results: &[u32],
        active: &str,
    ) -> Vec<Lanes> {
        let site = self.sites.len();
        self.sites.push(Site { instruction: self.index, action });
        let mut at = 0;
        for operand in operands {
            let place = self.list(at);
            self.store_list(operand, &place);
            at += list_bytes(operand.bits, self.rows.width);
        }
        let mask = self.text.mask_bits(active);
        let From { address, last } = from;
        let goes_on = self.text.value(&format!(
            "call i1 @call(ptr %ctx, i32 {site}, i32 %row, i32 {mask}, ptr %args, i64 {address}, i32 {last}) #0"
        ));
        let on = self.text.new_label();
        self.text.likely(&goes_on, &on, "stop");
        self.text.begin(&on);
        let mut list = |&bits: &u32| {
            let place = self.list(at);
            at += list_bytes(bits, self.rows.width);
            self.load_list(bits, &place)
        };
        let lists = results.iter().map(&mut list).collect();
        self.arguments = self.arguments.max(at);
        lists
    }

    /// The place of a list among the arguments.
    pub(crate) fn list(&mut self, at: usize) -> String {
        match at {
            0 => "%args".to_owned(),
            at => self.text.value(&format!("getelementptr i8, ptr %args, i64 {at}")),
        }
    }

    pub(crate) fn store_list(&mut self, lanes: &Lanes, place: &str) {
        let vector = self.vector(lanes);
        match lanes.bits {
            1 => {
                let bits = self.text.mask_bits(&vector);
                self.text.line(&format!("store i32 {bits}, ptr {place}, align 64"));
            }
            bits => {
                let ty = self.text.int(bits, Kind::Vector);
                self.text.line(&format!("store {ty} {vector}, ptr {place}, align 64"));
            }
        }
    }

    pub(crate) fn load_list(&mut self, bits: u32, place: &str) -> Lanes {
        let (ty, width) = (self.text.int(bits, Kind::Vector), self.rows.width);
        let vector = match bits {
            1 => {
                let word = self.text.value(&format!("load i{width}, ptr {place}, align 64"));
                self.text.value(&format!("bitcast i{width} {word} to {ty}"))
            }
            _ => self.text.value(&format!("load {ty}, ptr {place}, align 64")),
        };
        Lanes::varying(bits, vector)
    }

    /// `trap`.
    pub(crate) fn trap(&mut self) -> Result<(), Refusal> {
        let (active, _) = self.active();
        let any = self.text.any(&active);
        let (trap, on) = (self.text.new_label(), self.text.new_label());
        self.text.branch(&any, &trap, &on);
        self.text.begin(&trap);
        self.host(Action::Trap, &From::nowhere(), &[], &[], &active);
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
