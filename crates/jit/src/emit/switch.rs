//! `brx.idx`: lanes part by an index into a table of labels.

use super::Emitter;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use ir::instruction::{BrxIdx, Op};
use ptx::module::Table;

impl Emitter<'_> {
    /// The lanes that a `brx.idx` sends to each block. Those whose index is beyond the table are the machine's, which says
    /// so.
    pub(super) fn index_in_table(&mut self, op: &Op, brx: &BrxIdx) -> Result<Vec<(usize, String)>, Refusal> {
        let Table::Branch(labels) = &self.function.body.tables[brx.targets.index()] else {
            return Err(self.unsupported());
        };
        let index = self.read(&brx.index, 32)?;
        let index = self.vector(&index);
        let kind = Kind::Vector;
        let (word, bit, active) = (self.text.int(32, kind), self.text.int(1, kind), self.mask.clone());
        let count = self.text.constant(labels.len() as i64, 32, kind);
        let beyond = self.text.value(&format!("icmp uge {word} {index}, {count}"));
        let beyond = self.text.value(&format!("and {bit} {beyond}, {active}"));
        let any = self.text.any(&beyond);
        let (bad, on) = (self.text.new_label(), self.text.new_label());
        self.text.branch(&any, &bad, &on);
        self.text.begin(&bad);
        let mask = std::mem::replace(&mut self.mask, beyond);
        let full = std::mem::replace(&mut self.full, false);
        self.by_machine(op)?;
        (self.mask, self.full) = (mask, full);
        self.text.jump(&on);
        self.text.begin(&on);
        let mut ways: Vec<(usize, String)> = Vec::new();
        for (at, label) in labels.iter().enumerate() {
            let block = self.cfg.block_of(self.function.body.labels[label.index()].target).index();
            let at = self.text.constant(at as i64, 32, kind);
            let here = self.text.value(&format!("icmp eq {word} {index}, {at}"));
            let here = self.text.value(&format!("and {bit} {here}, {active}"));
            match ways.iter_mut().find(|way| way.0 == block) {
                Some(way) => way.1 = self.text.value(&format!("or {bit} {}, {here}", way.1)),
                None => ways.push((block, here)),
            }
        }
        Ok(ways)
    }

    /// Lanes go on in many places.
    pub(super) fn scatter_lanes(&mut self, block: usize, ways: Vec<(usize, String)>) {
        let (ends, rest): (Vec<_>, Vec<_>) = ways.into_iter().partition(|&(to, _)| self.divergence.ends[to]);
        if rest.is_empty() {
            let active = self.mask.clone();
            return self.kill_and_chain(block, &active);
        }
        let bit = self.text.int(1, Kind::Vector);
        let ended = ends.into_iter().map(|(_, lanes)| lanes);
        let ended = ended.reduce(|a, b| self.text.value(&format!("or {bit} {a}, {b}")));
        match (rest.as_slice(), ended) {
            (&[(next, _)], None) => self.go(block, next),
            (&[(next, _)], Some(ended)) => self.part_with_end(block, &Lanes::varying(1, ended), next),
            (_, ended) => {
                ended.iter().for_each(|ended| self.kill(ended));
                for (to, lanes) in rest {
                    if self.divergence.divergent[to] {
                        self.send(&lanes, to);
                    }
                }
                let next = self.chain(block);
                self.text.jump(&next);
            }
        }
    }
}
