//! Blocks, branches, masks: the row's way around its instructions.

use super::text::{Kind, Text};
use super::values::Lanes;
use super::{Emitted, Emitter, context};
use crate::Refusal;
use crate::bounds::Bounds;
use crate::class::Rows;
use crate::context::end;
use crate::divergence::{Bits, Divergence};
use crate::linear::{Linears, all_threads};
use crate::order::{Order, successors};
use crate::phases::{Knowledge, Phases};
use ir::instruction::Op;
use ir::operand::{Predicate, Value};
use ir::{Cfg, Function, Liveness};
use machine::compiled::Source;
use std::ops::RangeInclusive;

/// Writes a kernel.
pub(crate) fn emit(source: &Source<'_>, function: &Function<'_>, rows: Rows) -> Result<Emitted, Refusal> {
    let cfg = Cfg::new(function);
    let order = Order::new(&cfg)?;
    crate::waiting::refuse(function, &cfg, &order)?;
    let live = Liveness::new(function, &cfg);
    let linears = Linears::new(source, function, &cfg, &order, &live, rows);
    let divergence = Divergence::new(function, &cfg, &order, &live, &linears, rows);
    let bounds = Bounds::new(function, &cfg, &order, &linears, &divergence, rows);
    let knowledge = Knowledge {
        function,
        cfg: &cfg,
        order: &order,
        live: &live,
        linears: &linears,
        rows,
        shared: source.shared_start().into()..super::memory::shared_end(source),
    };
    let phases = Phases::new(&knowledge);
    let emitter = Emitter {
        source,
        function,
        cfg: &cfg,
        order: &order,
        live: &live,
        divergence: &divergence,
        linears: &linears,
        bounds: &bounds,
        phases: &phases,
        constants: std::cell::OnceCell::new(),
        shared_end: super::memory::shared_end(source),
        rows,
        text: Text::new(rows.width),
        lazy: super::float::lazy_registers(function),
        sites: Vec::new(),
        block: 0,
        index: 0,
        guard: None,
        mask: String::new(),
        full: false,
        windows: Vec::new(),
        variables: Vec::new(),
        stretch: super::window::Stretch::default(),
        steps: Vec::new(),
        arguments: 0,
        barriers: Vec::new(),
        frame: 0,
        homes: std::collections::HashMap::new(),
        changed: Vec::new(),
        counts_votes: false,
        has_chains: super::carry::has_chains(function, &cfg),
        kills: false,
        edges: String::new(),
        intrinsics: Vec::new(),
        functions: std::collections::BTreeMap::new(),
        updates: std::collections::BTreeSet::new(),
        reach: reach(&cfg, &order),
    };
    emitter.write_function()
}

/// The blocks that each can reach on ways that go forward: around a loop there is a way from one arm of a branch in it to the other.
fn reach(cfg: &Cfg, order: &Order) -> Vec<Bits> {
    let count = cfg.blocks.len();
    let forward = |from: usize| {
        let place = order.place[from];
        successors(cfg, from).filter(move |&to| place.is_some() && order.place[to] > place)
    };
    (0..count)
        .map(|from| {
            let mut reached = Bits::new(count);
            let mut pending: Vec<usize> = forward(from).collect();
            while let Some(block) = pending.pop() {
                if !reached.has(block) {
                    reached.add(block);
                    pending.extend(forward(block));
                }
            }
            reached
        })
        .collect()
}

impl Emitter<'_> {
    fn write_function(mut self) -> Result<Emitted, Refusal> {
        let threads: u32 = self.rows.block.iter().product();
        let whole = threads.is_multiple_of(self.rows.width);
        let instructions = self.function.instructions.iter().flatten();
        let leaves = |op: &Op| matches!(op, Op::Ret(_) | Op::Exit(_));
        self.kills = instructions.clone().any(|i| i.guard.is_some() && leaves(&i.op))
            || self.order.blocks.iter().any(|&block| {
                let ends = successors(self.cfg, block).any(|to| self.divergence.ends[to]);
                let leaves = ends || self.cfg.blocks[block].exit.is_some();
                let last = self.cfg.blocks[block].end.wrapping_sub(1);
                leaves
                    && (self.divergence.divergent[block]
                        || ends && self.divergence.varies(self.function, last))
            });
        self.full = whole && !self.kills;

        self.text.begin(&super::turns::start(0));
        let mask = self.text.int(1, Kind::Vector);
        let all = if whole { self.text.all() } else { "%present".to_owned() };
        self.text.line(&format!("store {mask} {all}, ptr %live"));
        if self.divergence.divergent[0] {
            self.text.line(&format!("store {mask} {all}, ptr %m0"));
        }
        let first = self.block_label(0);
        self.text.jump(&first);
        for place in 0..self.order.blocks.len() {
            self.write_block(self.order.blocks[place])?;
            self.close_loops(place + 1);
        }
        self.text.begin("done");
        let fuel = self.text.value("load i64, ptr %fuel");
        let count = self.function.instructions.len();
        let fuel = self.text.value(&format!("sub i64 {fuel}, {count}"));
        self.text.line(&format!("store i64 {fuel}, ptr %fuel"));
        self.text.end_turn(end::DONE);
        Ok(self.finish())
    }

    fn block_label(&self, block: usize) -> String {
        format!("b{block}")
    }

    fn write_block(&mut self, block: usize) -> Result<(), Refusal> {
        self.block = block;
        let divergent = self.divergence.divergent[block];
        let mask = self.text.int(1, Kind::Vector);
        let label = self.block_label(block);
        if divergent {
            // The mask is taken, then the block is run unless it is empty.
            self.text.begin(&format!("c{block}"));
            let any = match self.exact_lanes(block) {
                Some(numbers) => self.any_within(&numbers),
                None => {
                    let some = self.text.value(&format!("load {mask}, ptr %m{block}"));
                    self.text.any(&some)
                }
            };
            let skip = self.chain(block);
            self.text.branch(&any, &label, &skip);
        }
        self.text.begin(&label);
        self.take_mask(block);
        let ir::Block { first, end, .. } = self.cfg.blocks[block];
        let mut switch = None;
        for stretch in self.stretches(first..end) {
            self.stretch = stretch;
            for index in self.stretch.instructions() {
                switch = self.one(index)?.or(switch);
            }
            self.write_far()?;
        }
        match switch {
            Some(lanes) => self.scatter_lanes(block, lanes),
            None => self.leave(block)?,
        }
        self.flush_edges();
        Ok(())
    }

    /// An instruction; which lanes go where, if it is a switch.
    pub(super) fn one(&mut self, index: u32) -> Result<Option<Vec<(usize, String)>>, Refusal> {
        if self.linears.defines(index) {
            return Ok(None);
        }
        self.index = index;
        let instruction = self.function.instructions[index as usize].as_ref();
        let instruction = instruction.map_err(|why| Refusal::Instruction(why.clone()))?;
        self.guard = match instruction.guard {
            Some(guard) => {
                let value = Value::Register(guard.register);
                Some(self.predicate(&Predicate { value, negated: guard.negated })?)
            }
            None => None,
        };
        match &instruction.op {
            Op::Bra(_) | Op::Ret(_) | Op::Exit(_) => {}
            Op::BrxIdx(_) if instruction.guard.is_some() => return Err(self.unsupported()),
            Op::BrxIdx(brx) => return self.index_in_table(&instruction.op, brx).map(Some),
            op @ (Op::BarSync(_) | Op::BarRed(_)) => self.barrier(op)?,
            op => self.instruction(op)?,
        }
        Ok(None)
    }

    /// Makes the lanes that have come to a block those that run.
    pub(super) fn take_mask(&mut self, block: usize) {
        let mask = self.text.int(1, Kind::Vector);
        if self.divergence.divergent[block] {
            self.full = false;
            self.mask = self.text.value(&format!("load {mask}, ptr %m{block}"));
            self.text.line(&format!("store {mask} zeroinitializer, ptr %m{block}"));
        } else {
            let threads: u32 = self.rows.block.iter().product();
            self.full = threads.is_multiple_of(self.rows.width) && !self.kills;
            self.mask = match self.full {
                true => self.text.all(),
                false => self.text.value(&format!("load {mask}, ptr %live")),
            };
        }
    }

    /// The `%tid.x` of the lanes that run a block, if it is those of all lanes with such a number.
    fn exact_lanes(&self, block: usize) -> Option<RangeInclusive<i64>> {
        let threads: u32 = self.rows.block.iter().product();
        let ends_together = threads.is_multiple_of(self.rows.width) && !self.kills;
        self.bounds.exactly(block).filter(|_| ends_together).cloned()
    }

    /// The `%tid.x` of the lanes that execute the current instruction, likewise.
    pub(super) fn exactly_active(&self) -> Option<RangeInclusive<i64>> {
        let lanes = self.exact_lanes(self.block)?;
        let Some(guard) = self.function.instruction(self.index)?.guard else { return Some(lanes) };
        self.linears.guarded(guard)?.exactly(lanes, self.linears.threads(self.block))
    }

    /// Whether a lane of the row has such a `%tid.x`.
    fn any_within(&mut self, numbers: &RangeInclusive<i64>) -> String {
        let last = self.text.value(&format!("add i32 %tid.x, {}", self.rows.width - 1));
        self.both_within(numbers, &last, "%tid.x")
    }

    /// Whether all lanes of the row have such a `%tid.x`.
    pub(super) fn all_within(&mut self, numbers: &RangeInclusive<i64>) -> String {
        let last = self.text.value(&format!("add i32 %tid.x, {}", self.rows.width - 1));
        self.both_within(numbers, "%tid.x", &last)
    }

    /// Whether one number is not before some, and another not behind them: what cannot be is not asked.
    fn both_within(&mut self, numbers: &RangeInclusive<i64>, first: &str, last: &str) -> String {
        let all = &all_threads(self.rows)[0];
        let tests = [
            (numbers.start() > all.start()).then(|| format!("icmp sge i32 {first}, {}", numbers.start())),
            (numbers.end() < all.end()).then(|| format!("icmp sle i32 {last}, {}", numbers.end())),
        ];
        let tests: Vec<String> = tests.iter().flatten().map(|test| self.text.value(test)).collect();
        match &tests[..] {
            [begins, ends] => self.text.value(&format!("and i1 {begins}, {ends}")),
            [one] => one.clone(),
            _ => "true".to_owned(),
        }
    }

    /// The current instruction is not compiled.
    pub(crate) fn unsupported(&self) -> Refusal {
        let instruction = &self.function.body.instructions[self.index as usize];
        Refusal::Instruction(self.function.module.opcode(instruction).text())
    }

    /// The end of a block: its branch, or the way on.
    fn leave(&mut self, block: usize) -> Result<(), Refusal> {
        let ir::Block { first, end, .. } = self.cfg.blocks[block];
        let successors: Vec<usize> = successors(self.cfg, block).collect();
        let last = (end > first).then(|| self.function.instruction(end - 1)).flatten();
        let leaves = last.is_some_and(|i| matches!(i.op, Op::Ret(_) | Op::Exit(_)));
        let guard = match last {
            Some(i) if leaves || matches!(i.op, Op::Bra(_)) => self.guard.clone(),
            _ => None,
        };
        self.guard = None;
        match (successors.as_slice(), guard, leaves) {
            // All that are here end.
            ([], _, _) => {
                let active = self.mask.clone();
                self.kill_and_chain(block, &active);
            }
            // Those for which the guard holds end.
            (&[next], Some(guard), true) => self.part_with_end(block, &guard, next),
            (&[next], _, _) => self.go(block, next),
            (&[yes, no], Some(guard), _) => match (self.divergence.ends[yes], self.divergence.ends[no]) {
                _ if guard.is_uniform() => self.go_either(block, &guard, yes, no),
                (true, false) => self.part_with_end(block, &guard, no),
                (false, true) => {
                    let guard = self.negated(&guard);
                    self.part_with_end(block, &guard, yes);
                }
                (true, true) => {
                    let active = self.mask.clone();
                    self.kill_and_chain(block, &active);
                }
                (false, false) => self.part(block, &guard, yes, no),
            },
            _ => return Err(Refusal::Irreducible),
        }
        Ok(())
    }

    fn negated(&mut self, guard: &Lanes) -> Lanes {
        let (ty, all, vector) = (self.text.int(1, Kind::Vector), self.text.all(), self.vector(guard));
        Lanes::varying(1, self.text.value(&format!("xor {ty} {vector}, {all}")))
    }

    /// All lanes of a block go on to another.
    pub(super) fn go(&mut self, block: usize, to: usize) {
        let label = self.edge(block, to);
        self.text.jump(&label);
    }

    /// The label by which all lanes of the block go to another: what there is to do on the way is written first.
    fn edge(&mut self, block: usize, to: usize) -> String {
        let divergent = self.divergence.divergent[block];
        let back = self.is_back(block, to);
        let ends = divergent && self.divergence.ends[to];
        if !divergent && !self.divergence.divergent[to] && !back {
            return self.block_label(to);
        }
        // The edge's text stands behind the block's own, which is to be ended by the caller: it is written apart.
        let label = self.text.new_label();
        let main = (std::mem::take(&mut self.text.lines), self.text.label.clone());
        self.text.begin(&label);
        let active = self.mask.clone();
        if ends {
            self.kill(&active);
        } else if self.divergence.divergent[to] {
            self.send(&active, to);
        }
        match (divergent, back) {
            (false, true) => {
                self.burn(to);
                let target = self.block_label(to);
                self.text.jump(&target);
            }
            (false, false) => {
                let target = self.block_label(to);
                self.text.jump(&target);
            }
            (true, _) => {
                let next = self.chain(block);
                self.text.jump(&next);
            }
        }
        let edge = std::mem::replace(&mut self.text.lines, main.0);
        self.edges.push_str(&edge);
        self.text.label = main.1;
        label
    }

    /// Whether going from one block to another goes back to the head of a loop.
    fn is_back(&self, block: usize, to: usize) -> bool {
        self.order.place[to] <= self.order.place[block]
    }

    /// Sends lanes to a block that waits for its turn.
    pub(super) fn send(&mut self, lanes: &str, to: usize) {
        let mask = self.text.int(1, Kind::Vector);
        let waiting = self.text.value(&format!("load {mask}, ptr %m{to}"));
        let all = self.text.value(&format!("or {mask} {waiting}, {lanes}"));
        self.text.line(&format!("store {mask} {all}, ptr %m{to}"));
    }

    /// Accounts for a round of the loop with this head, and asks the host when it is time.
    fn burn(&mut self, head: usize) {
        let blocks = self.order.loops.iter().find(|l| l.head == head);
        let blocks = blocks.map_or(0..0, |l| l.first..l.end);
        let cost: u32 = blocks.map(|p| &self.cfg.blocks[self.order.blocks[p]]).map(|b| b.end - b.first).sum();
        let fuel = self.text.value("load i64, ptr %fuel");
        let fuel = self.text.value(&format!("sub i64 {fuel}, {}", cost.max(1)));
        self.text.line(&format!("store i64 {fuel}, ptr %fuel"));
        let enough = self.text.value(&format!("icmp sge i64 {fuel}, 0"));
        let (ask, on) = (self.text.new_label(), self.text.new_label());
        self.text.likely(&enough, &on, &ask);
        self.text.begin(&ask);
        let place = self.field(context::FUEL);
        self.text.line(&format!("store i64 {fuel}, ptr {place}"));
        let goes_on = self.text.value("call i1 @poll(ptr %ctx) #0");
        let fuel = self.text.value(&format!("load i64, ptr {place}"));
        self.text.line(&format!("store i64 {fuel}, ptr %fuel"));
        self.text.likely(&goes_on, &on, "stop");
        self.text.begin(&on);
    }

    fn go_either(&mut self, block: usize, guard: &Lanes, yes: usize, no: usize) {
        let condition = self.of_kind(guard, Kind::Scalar);
        let (yes, no) = (self.edge(block, yes), self.edge(block, no));
        self.text.branch(&condition, &yes, &no);
    }

    /// Lanes go on in two places.
    fn part(&mut self, block: usize, guard: &Lanes, yes: usize, no: usize) {
        let (ty, all) = (self.text.int(1, Kind::Vector), self.text.all());
        let (guard, active) = (self.vector(guard), self.mask.clone());
        let taken = self.text.value(&format!("and {ty} {active}, {guard}"));
        let not = self.text.value(&format!("xor {ty} {guard}, {all}"));
        let rest = self.text.value(&format!("and {ty} {active}, {not}"));
        for (lanes, to) in [(taken, yes), (rest, no)] {
            if self.divergence.divergent[to] {
                self.send(&lanes, to);
            }
        }
        let next = self.chain(block);
        self.text.jump(&next);
    }

    /// Some lanes end, the others go on.
    pub(super) fn part_with_end(&mut self, block: usize, guard: &Lanes, next: usize) {
        let (ty, all) = (self.text.int(1, Kind::Vector), self.text.all());
        let (guard, active) = (self.vector(guard), self.mask.clone());
        let ended = self.text.value(&format!("and {ty} {active}, {guard}"));
        self.kill(&ended);
        let not = self.text.value(&format!("xor {ty} {guard}, {all}"));
        self.mask = self.text.value(&format!("and {ty} {active}, {not}"));
        match self.divergence.divergent[block] {
            true => self.go(block, next),
            false => {
                let any = self.text.any(&self.mask.clone());
                let on = self.edge(block, next);
                self.text.branch(&any, &on, "done");
            }
        }
    }

    pub(super) fn kill(&mut self, lanes: &str) {
        let (ty, all) = (self.text.int(1, Kind::Vector), self.text.all());
        let live = self.text.value(&format!("load {ty}, ptr %live"));
        let not = self.text.value(&format!("xor {ty} {lanes}, {all}"));
        let left = self.text.value(&format!("and {ty} {live}, {not}"));
        self.text.line(&format!("store {ty} {left}, ptr %live"));
    }

    pub(super) fn kill_and_chain(&mut self, block: usize, lanes: &str) {
        match self.divergence.divergent[block] {
            false => self.text.jump("done"),
            true => {
                self.kill(lanes);
                let next = self.chain(block);
                self.text.jump(&next);
            }
        }
    }

    /// Where control goes when the turn of a block that only some lanes run is over: to the next such block, to the head
    /// of a loop where lanes wait, or to where all lanes meet again.
    pub(super) fn chain(&mut self, block: usize) -> String {
        let place = self.order.place[block].unwrap_or(0);
        self.chain_from(block, place + 1, self.order.loop_of[block])
    }

    fn chain_from(&mut self, block: usize, mut place: usize, mut around: Option<usize>) -> String {
        loop {
            if let Some(number) = around {
                let ir_loop = self.order.loops[number].clone();
                if place >= ir_loop.end {
                    if self.divergence.divergent[ir_loop.head] {
                        return format!("again{number}");
                    }
                    return self.meet(ir_loop.head, true);
                }
            }
            let Some(&next) = self.order.blocks.get(place) else { return "done".to_owned() };
            if self.divergence.beside[block].has(next) {
                return format!("c{next}");
            }
            let meets = !self.divergence.divergent[next] && !self.divergence.ends[next];
            if meets && self.reach[block].has(next) {
                return self.meet(next, false);
            }
            place += 1;
            while let Some(number) = around.filter(|&n| self.order.loops[n].end < place) {
                around = self.order.loops[number].parent;
            }
        }
    }

    /// The label by which lanes come to a block where all of them meet; none may be left.
    fn meet(&mut self, block: usize, back: bool) -> String {
        if !self.kills && !back {
            return self.block_label(block);
        }
        let label = self.text.new_label();
        let main = (std::mem::take(&mut self.text.lines), self.text.label.clone());
        self.text.begin(&label);
        if back {
            self.burn(block);
        }
        let target = self.block_label(block);
        let ty = self.text.int(1, Kind::Vector);
        let live = self.text.value(&format!("load {ty}, ptr %live"));
        let any = self.text.any(&live);
        self.text.branch(&any, &target, "done");
        let edge = std::mem::replace(&mut self.text.lines, main.0);
        self.edges.push_str(&edge);
        self.text.label = main.1;
        label
    }

    /// After the last block of loops: lanes that have gone back to the head are run again.
    fn close_loops(&mut self, place: usize) {
        for number in (0..self.order.loops.len()).rev() {
            let ended = self.order.loops[number].clone();
            if ended.end != place || !self.divergence.divergent[ended.head] {
                continue;
            }
            self.text.begin(&format!("again{number}"));
            let mask = self.text.int(1, Kind::Vector);
            let waiting = self.text.value(&format!("load {mask}, ptr %m{}", ended.head));
            let any = self.text.any(&waiting);
            let round = self.text.new_label();
            let on = self.chain_from(ended.head, ended.end, ended.parent);
            self.text.branch(&any, &round, &on);
            self.text.begin(&round);
            self.burn(ended.head);
            let head = self.block_label(ended.head);
            self.text.jump(&head);
            self.flush_edges();
        }
    }

    /// Writes what stands beside the way: labels that branches of the last block name.
    pub(crate) fn flush_edges(&mut self) {
        let edges = std::mem::take(&mut self.edges);
        self.text.lines += &edges;
    }
}
