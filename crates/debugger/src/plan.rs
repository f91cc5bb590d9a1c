//! What a launch is to run to.

use crate::expression::Expression;
use machine::fault::Access;
use ptx::module::{FuncId, Loc, Module};
use std::sync::Arc;

/// A goal, and what else stops the launch.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) goal: Goal,
    pub(crate) conditions: Arc<Conditions>,
}

/// What a launch is to run to.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// A position, whatever happens before.
    To(u64),
    /// Whatever comes first of the conditions.
    Conditions,
    /// A step of a thread, or what comes first of the conditions.
    Step(Step),
    /// A position; what met the conditions last before it is told.
    SearchConditions(u64),
    /// A position; where the thread was a step before it is told.
    SearchStep(u64, Step),
}

/// What stops a launch on its way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    pub(crate) breakpoints: Vec<Armed>,
    pub(crate) watches: Vec<Watch>,
    /// Before a warp arrives at a CTA barrier.
    pub(crate) barriers: bool,
    /// When the checks find something.
    pub(crate) findings: bool,
}

/// A breakpoint with its places.
#[derive(Clone, Debug)]
pub(crate) struct Armed {
    pub(crate) number: u32,
    /// Sorted.
    pub(crate) places: Vec<(FuncId, u32)>,
    pub(crate) condition: Option<Expression>,
}

/// Watched memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) number: u32,
    /// A generic address.
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    pub(crate) kind: WatchKind,
    /// Whose it is, if it is not global.
    pub(crate) of: Option<Owner>,
}

/// Whose memory is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// [`crate::Grid::number`].
    pub(crate) grid: u32,
    pub(crate) block: [u32; 3],
    /// The warp and its lane, of local memory.
    pub(crate) thread: Option<(u32, usize)>,
}

/// What is told of watched memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    /// That it has changed.
    Change,
    /// That it is read.
    Read,
    /// That it is read or written.
    Access,
}

impl WatchKind {
    /// Whether accesses of a kind are told.
    pub(crate) fn tells(self, access: Access) -> bool {
        match self {
            Self::Change => false,
            Self::Read => access == Access::Load,
            Self::Access => true,
        }
    }
}

/// What a step goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A source line.
    Line,
    /// A PTX instruction.
    Instruction,
}

/// How a step takes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// It goes into them.
    Into,
    /// It goes over them.
    Over,
    /// It goes on until the function returns.
    Out,
}

/// A step of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// [`crate::Grid::number`].
    pub(crate) grid: u32,
    pub(crate) block: [u32; 3],
    pub(crate) warp: u32,
    pub(crate) lane: usize,
    pub(crate) unit: Unit,
    pub(crate) calls: Calls,
    /// Where it begins, and how many calls are around.
    pub(crate) from: (FuncId, u32),
    pub(crate) depth: usize,
}

/// A source line, with the number of inlined calls around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    file: u32,
    line: u32,
    inlined: usize,
}

/// The calls around an instruction that were inlined, itself first; none where the compiler names no line.
fn chain(module: &Module, (function, instruction): (FuncId, u32)) -> Vec<&Loc> {
    let loc = module.loc(function, instruction).filter(|loc| loc.line != 0);
    loc.map_or_else(Vec::new, |loc| loc.chain().collect())
}

impl Step {
    /// The line of an instruction, as the step sees it: of what is inlined deeper than where it begins, the call.
    fn line(&self, module: &Module, place: (FuncId, u32)) -> Option<Line> {
        let lines = chain(module, place);
        let deepest = match self.calls {
            Calls::Into => lines.len(),
            Calls::Over | Calls::Out => lines.len().min(chain(module, self.from).len().max(1)),
        };
        let seen = lines.get(lines.len().checked_sub(deepest)?)?;
        Some(Line { file: seen.file, line: seen.line, inlined: deepest })
    }

    /// Whether an instruction of the thread, with so many calls around, ends the step.
    pub(crate) fn ends(&self, module: &Module, place: (FuncId, u32), depth: usize) -> bool {
        if self.calls == Calls::Out {
            return self.is_outside(module, place, depth);
        }
        if self.calls == Calls::Over && depth > self.depth {
            return false;
        }
        match self.unit {
            Unit::Instruction => true,
            // Without lines a step is one of instructions.
            Unit::Line if depth == self.depth && self.line(module, self.from).is_none() => true,
            Unit::Line => match self.line(module, place) {
                None => false,
                Some(_) if depth != self.depth => true,
                here => here != self.line(module, self.from),
            },
        }
    }

    fn is_outside(&self, module: &Module, place: (FuncId, u32), depth: usize) -> bool {
        let inlined = |place| chain(module, place).len();
        depth < self.depth || depth == self.depth && (1..inlined(self.from)).contains(&inlined(place))
    }
}

/// Where a thread was before a moment: the beginning of the last step that ends before it.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    /// Where the last step began, and what it is one of.
    last: Option<(u64, Option<Line>, usize)>,
}

impl Trail {
    /// The thread executes an instruction.
    pub(crate) fn pass(
        &mut self,
        step: &Step,
        module: &Module,
        position: u64,
        place: (FuncId, u32),
        depth: usize,
    ) {
        let counts = match step.calls {
            Calls::Into => true,
            Calls::Over => depth <= step.depth,
            Calls::Out => step.is_outside(module, place, depth),
        };
        if !counts {
            return;
        }
        let line = match step.unit {
            _ if step.calls == Calls::Out => None,
            Unit::Instruction => None,
            Unit::Line => match step.line(module, place) {
                None => return,
                line => line,
            },
        };
        let goes_on =
            line.is_some() && self.last.is_some_and(|(_, known, deep)| (known, deep) == (line, depth));
        if !goes_on {
            self.last = Some((position, line, depth));
        }
    }

    pub(crate) fn position(&self) -> Option<u64> {
        self.last.map(|(position, ..)| position)
    }
}
