//! The operations of a function on their way into the image: in order, with what each comes from, and branches that are led
//! to blocks when the places of these are known.

use super::layout::is_entry;
use crate::image::asynchronous::Completes;
use crate::image::{Image, Meta, Op, Origin};
use crate::lanes::Condition;
use crate::operation::kinds::{Account, Branch, Exit, Guard, Join, Postpone, Return};
use crate::operation::{List, Run, Site, Target};
use ir::BlockId;
use ptx::module::FuncId;

/// What of an operation names a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patch {
    /// Where a jump or branch leads.
    Target(u32),
    /// Where the lanes of a branch meet.
    Meet(u32),
    /// An entry of a list of targets.
    Entry(List, usize),
}

/// See the module.
pub(crate) struct Code<'a> {
    pub(crate) image: &'a mut Image,
    function: FuncId,
    is_entry: bool,
    /// The instruction that operations come from.
    current: u32,
    /// Operations of the current instruction.
    buffer: Vec<(Op, Meta)>,
    /// What forces them, if they are performed later than they are issued.
    completes: Option<Site<Completes>>,
    /// What follows them: results into registers of another width.
    after: Vec<Op>,
    /// Instructions since the last operation that accounts for them.
    run: u32,
    block_pcs: Vec<u32>,
    patches: Vec<(Patch, BlockId)>,
}

impl<'a> Code<'a> {
    /// A function without code.
    pub(super) fn new(image: &'a mut Image, function: &ir::Function<'_>) -> Self {
        Self {
            image,
            function: function.id,
            is_entry: is_entry(function.module, function.id),
            current: 0,
            buffer: Vec::new(),
            completes: None,
            after: Vec::new(),
            run: 0,
            block_pcs: Vec::new(),
            patches: Vec::new(),
        }
    }

    /// Begins an instruction. What the one before it has left behind, which could not be decoded, is dropped.
    pub(super) fn begin_instruction(&mut self, index: u32) {
        self.current = index;
        self.buffer.clear();
        self.completes = None;
        self.after.clear();
    }

    /// The index of the current instruction.
    pub(crate) fn current(&self) -> u32 {
        self.current
    }

    /// The next operation's index.
    pub(crate) fn pc(&self) -> u32 {
        self.image.ops.len() as u32
    }

    /// Appends an operation to the image.
    pub(crate) fn push(&mut self, op: impl Into<Op>, meta: Meta) {
        self.image.ops.push(op.into());
        self.image.metas.push(meta);
        self.image.origins.push(Origin { function: self.function, instruction: self.current });
    }

    /// Adds an operation to the current instruction.
    pub(crate) fn emit(&mut self, op: impl Into<Op>, meta: Meta) {
        self.buffer.push((op.into(), meta));
    }

    /// Adds an operation behind all others of the current instruction.
    pub(crate) fn after(&mut self, op: impl Into<Op>) {
        self.after.push(op.into());
    }

    /// The current instruction's operations are performed later than they are issued.
    pub(crate) fn postpone(&mut self, completes: Site<Completes>) {
        self.completes = Some(completes);
    }

    /// Puts before them the operation that issues them, which stands for the instruction then.
    fn issue(&mut self) {
        let first = self.buffer.iter().position(|(_, meta)| *meta != Meta::Part);
        let (Some(site), Some(first)) = (self.completes.take(), first) else { return };
        let mut meta = Meta::Plain;
        for (_, of_part) in &mut self.buffer[first..] {
            if let access @ Meta::Memory { .. } = std::mem::replace(of_part, Meta::Part) {
                meta = access;
            }
        }
        let operations = (self.buffer.len() - first) as u8;
        self.buffer.insert(first, (Postpone { operations, site }.into(), meta));
    }

    /// Moves the current instruction's operations into the image.
    pub(crate) fn flush(&mut self) {
        self.issue();
        for (op, meta) in std::mem::take(&mut self.buffer) {
            self.push(op, meta);
        }
        for op in std::mem::take(&mut self.after) {
            self.push(op, Meta::Part);
        }
    }

    /// Moves them, to be executed where a condition is met.
    pub(super) fn flush_guarded(&mut self, condition: Condition) {
        self.issue();
        let mains = self.buffer.iter().filter(|(_, meta)| *meta != Meta::Part).count();
        let is_last = self.buffer.last().is_some_and(|(_, meta)| *meta != Meta::Part);
        if self.after.is_empty() && mains == 1 && is_last {
            let at = self.buffer.len() - 1;
            self.buffer.insert(at, (Guard { condition }.into(), Meta::Plain));
            self.flush();
        } else {
            let guard = self.open_guard(Some(condition));
            self.flush();
            self.close_guard(guard);
        }
    }

    /// Starts a way around what follows, for lanes that do not meet a condition. Returns its branch.
    pub(super) fn open_guard(&mut self, condition: Option<Condition>) -> Option<u32> {
        let condition = !condition?;
        let (at, run) = (self.pc(), self.take_run());
        self.push(Branch { condition, target: Target(0), meet: None, run, around: false }, Meta::Part);
        Some(at)
    }

    /// Ends the way around: lanes meet here.
    pub(super) fn close_guard(&mut self, branch: Option<u32>) {
        if let Some(at) = branch {
            let here = Target(self.pc());
            self.push(Join {}, Meta::Part);
            let branch = &mut self.image.ops[at as usize];
            branch.set_target(here);
            branch.set_meet(here);
        }
    }

    /// Begins a block, at which lanes may meet.
    pub(super) fn begin_block(&mut self, is_join: bool) {
        self.settle();
        self.block_pcs.push(self.pc());
        if is_join {
            self.push(Join {}, Meta::Part);
        }
    }

    /// Ends the function: falling off the end returns. The first operation of each block.
    pub(super) fn end(&mut self) -> Vec<u32> {
        self.begin_instruction(self.current);
        self.settle();
        let last = self.return_op();
        self.push(last, Meta::Part);
        for (patch, block) in std::mem::take(&mut self.patches) {
            let target = Target(self.block_pcs[block.index()]);
            match patch {
                Patch::Target(pc) => self.image.ops[pc as usize].set_target(target),
                Patch::Meet(pc) => self.image.ops[pc as usize].set_meet(target),
                Patch::Entry(list, index) => self.image.targets_mut(list)[index] = target,
            }
        }
        let block_pcs = std::mem::take(&mut self.block_pcs);
        if let Some(&first) = block_pcs.first() {
            self.image.find_ways_around(first as usize);
        }
        block_pcs
    }

    /// The operation that returns from the function.
    pub(crate) fn return_op(&mut self) -> Op {
        let run = self.take_run();
        if self.is_entry { Exit { run }.into() } else { Return { run }.into() }
    }

    /// One more instruction to account for.
    pub(super) fn count(&mut self) {
        self.run += 1;
    }

    /// Accounts for instructions that nothing has accounted for yet.
    fn settle(&mut self) {
        if self.run != 0 {
            let run = self.take_run();
            self.push(Account { run }, Meta::Part);
        }
    }

    /// Instructions since the last account, which the caller's operation takes over.
    pub(crate) fn take_run(&mut self) -> Run {
        Run(std::mem::take(&mut self.run))
    }

    /// Lets an operation name a block, once its place is known.
    pub(crate) fn patch_later(&mut self, patch: Patch, block: BlockId) {
        self.patches.push((patch, block));
    }
}
