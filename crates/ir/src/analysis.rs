//! Everything that is known of a function, for people to check: what `warploom analyze` prints beside the source.

use crate::arms::{self, Conditional};
use crate::cfg::{BlockId, Cfg};
use crate::induction::{Induction, Inductions};
use crate::live_ranges::{AtBarrier, LiveRanges};
use crate::liveness::Liveness;
use crate::loops::LoopId;
use crate::lower::Function;
use crate::progress::Progress;
use crate::shape::converged::{Converged, Fact, Pattern};
use crate::shape::{Group, LaneOrder, Shape};
use crate::ssa::{Ssa, TooManyJoins};
use ptx::module::RegId;
use std::fmt;

/// What is known of a function.
#[derive(Debug)]
pub struct Analysis<'a> {
    /// Its values.
    pub ssa: Ssa<'a>,
    /// How they relate where lanes run together.
    pub facts: Converged,
    /// What it may wait for.
    pub progress: Progress,
    /// What is live behind its barriers.
    pub barriers: Vec<AtBarrier>,
    /// Its triangles and diamonds.
    pub conditionals: Vec<Conditional>,
}

/// Something to know of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// Of a register that it writes.
    Value(RegId, Fact),
    /// Of the memory that it accesses: how, what that rests on, and to how many bytes addresses are aligned.
    Access(Pattern, Fact, u64),
    /// For which threads the branch goes the same way.
    Branch(Option<Group>),
    /// It waits, and so many registers are live behind it.
    Barrier(usize),
    /// The ways that part here have so many instructions before they meet, and that is the worst they do.
    Conditional(u32, arms::ArmEffect),
    /// Others write what it reads, and a loop ends by that; lanes of one warp may leave it in different rounds.
    Spins {
        /// Whether they may.
        among_lanes: bool,
    },
    /// The mask of lanes may leave out some.
    PartialMask,
    /// Lanes that execute this together may have been parted by its guard.
    Apart,
}

impl<'a> Analysis<'a> {
    /// The facts about a function whose threads are numbered like that.
    ///
    /// # Errors
    /// If it has no SSA form.
    pub fn new(function: &'a Function<'a>, lanes: LaneOrder) -> Result<Self, TooManyJoins> {
        let cfg = Cfg::new(function);
        let liveness = Liveness::new(function, &cfg);
        let ranges = LiveRanges::new(function, &cfg, &liveness);
        let barriers = ranges.map_or_else(Vec::new, |ranges| ranges.across_barriers(function, &cfg));
        let conditionals = arms::conditionals(function, &cfg);
        let ssa = Ssa::new(function, cfg, &liveness)?;
        let facts = Converged::new(&ssa, lanes);
        let progress = Progress::new(&ssa, &facts);
        Ok(Self { ssa, facts, progress, barriers, conditionals })
    }

    /// What there is to know of each instruction, in order.
    pub fn notes(&self) -> Vec<(u32, Vec<Note>)> {
        let mut all = Vec::new();
        let ids = (0..self.ssa.blocks.len() as u32).map(BlockId);
        for id in ids.filter(|id| self.ssa.cfg.is_reachable(*id)) {
            let block = &self.ssa.blocks[id.index()];
            for (place, instruction) in block.instructions.iter().enumerate() {
                let index = instruction.origin;
                let mut notes = Vec::new();
                instruction.writes(&mut |value| {
                    notes.push(Note::Value(self.ssa.values[value.index()].register, self.facts.of(value)));
                });
                if let Some((pattern, fact, aligned)) = self.facts.access(instruction, id) {
                    notes.push(Note::Access(pattern, fact, aligned));
                }
                if place + 1 == block.instructions.len()
                    && self.ssa.cfg.blocks[id.index()].successors.len() > 1
                {
                    notes.push(Note::Branch(self.facts.branch(id)));
                    let here = self.conditionals.iter().find(|conditional| conditional.head == id);
                    notes.extend(here.map(|found| Note::Conditional(found.length, found.does)));
                }
                let barrier = self.barriers.iter().find(|barrier| barrier.instruction == index);
                notes.extend(barrier.map(|barrier| Note::Barrier(barrier.live.len())));
                let spin = self.progress.spins.iter().find(|spin| spin.waits_for == index);
                notes.extend(spin.map(|spin| Note::Spins { among_lanes: spin.among_lanes }));
                let found = |all: &[u32], note: Note| all.binary_search(&index).is_ok().then_some(note);
                notes.extend(found(&self.progress.partial_masks, Note::PartialMask));
                notes.extend(found(&self.progress.apart, Note::Apart));
                all.push((index, notes));
            }
        }
        all
    }

    /// The loops with what they count, and how often their headers run, from the outside in.
    pub fn loops(&self) -> Vec<(LoopId, Vec<Induction>, Option<u64>)> {
        let inductions = Inductions::new(&self.ssa);
        let loops = (0..).map(LoopId).zip(&self.facts.loops().all);
        loops.map(|(id, one)| (id, inductions.of(one), inductions.trip_count(one))).collect()
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warp => "warp",
            Self::Cta => "CTA",
            Self::Grid => "grid",
        })
    }
}

impl fmt::Display for Fact {
    /// What is known best: the threads that have the same value, and else the steps between lanes and between threads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(group) = self.group {
            return write!(f, "same in the {group}");
        }
        let mut parts = Vec::new();
        if let Shape::Affine { stride } = self.shape {
            let lanes = if self.lanes == 32 { String::new() } else { format!(" in {}", self.lanes) };
            parts.push(format!("{stride:+} a lane{lanes}"));
        }
        if let Some(threads) = self.threads {
            let steps = threads.steps.iter().zip(["x", "y", "z"]).filter(|(step, _)| **step != 0);
            let steps: Vec<_> = steps.map(|(step, axis)| format!("{step}*tid.{axis}")).collect();
            parts.push(format!("{} + one of the {}", steps.join(" + "), threads.of));
        }
        if self.hint || self.threads.is_some_and(|threads| !threads.exact) {
            parts.push("if 32 bits suffice".to_owned());
        }
        f.write_str(if parts.is_empty() { "differs" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = |lanes: u32| if lanes == 32 { String::new() } else { format!(" in {lanes} lanes") };
        match self {
            Self::Uniform(group) => write!(f, "one address in the {group}"),
            Self::Contiguous(lanes) => write!(f, "contiguous{}", within(*lanes)),
            Self::Strided(stride, lanes) => write!(f, "{stride} bytes apart{}", within(*lanes)),
            Self::Scattered => f.write_str("scattered"),
        }
    }
}

impl Note {
    /// The note, registers being called as `name` says.
    pub fn text(&self, name: impl Fn(RegId) -> String) -> String {
        match self {
            Self::Value(register, fact) => format!("{}: {fact}", name(*register)),
            Self::Access(pattern, fact, aligned) => {
                let hint = if fact.hint { ", if 32 bits suffice" } else { "" };
                let steps = match (pattern, fact.threads) {
                    (Pattern::Scattered, Some(_)) => format!(" ({fact})"),
                    _ => hint.to_owned(),
                };
                format!("{pattern}{steps}, aligned to {aligned}")
            }
            Self::Branch(Some(group)) => format!("one way in the {group}"),
            Self::Branch(None) => "diverges".to_owned(),
            Self::Barrier(live) => format!("{live} live behind it"),
            Self::Conditional(length, does) => {
                let does = match does {
                    arms::ArmEffect::Nothing => "results alone",
                    arms::ArmEffect::Memory => "memory",
                    arms::ArmEffect::Other => "more than memory",
                };
                format!("arms of {length}: {does}")
            }
            Self::Spins { among_lanes: true } => "lanes may wait for one another here".to_owned(),
            Self::Spins { among_lanes: false } => "may wait for other warps".to_owned(),
            Self::PartialMask => "mask may leave out lanes".to_owned(),
            Self::Apart => "its guard may part lanes that meet here".to_owned(),
        }
    }
}
