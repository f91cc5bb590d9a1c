//! What `ir` knows of the functions, found when it is asked for.

use ir::analysis::{Analysis, Note};
use ir::live_ranges::{LiveRanges, Pressure};
use ir::{Cfg, Function, LaneOrder, Liveness};
use ptx::module::{FuncId, Module};
use std::sync::OnceLock;

/// Instructions of a function, at most, that shapes are looked for in.
const MOST_INSTRUCTIONS: usize = 50_000;

/// What is known of a function.
pub(super) struct FunctionFacts {
    /// Of each instruction, by its index.
    pub(super) notes: Vec<(u32, Vec<Note>)>,
    /// How much is live before each instruction.
    pub(super) pressure: Vec<Pressure>,
    /// Where registers are live.
    pub(super) ranges: LiveRanges,
}

/// What is known of each function.
pub(super) struct Facts(Vec<OnceLock<Option<FunctionFacts>>>);

impl Facts {
    pub(super) fn new(functions: usize) -> Self {
        Self((0..functions).map(|_| OnceLock::new()).collect())
    }

    /// Of a function; `None` of one that is only declared, or too large.
    pub(super) fn of(&self, module: &Module, id: FuncId) -> Option<&FunctionFacts> {
        self.0.get(id.index())?.get_or_init(|| find(module, id)).as_ref()
    }
}

fn find(module: &Module, id: FuncId) -> Option<FunctionFacts> {
    let function = Function::lower(module, id)?;
    let cfg = Cfg::new(&function);
    let liveness = Liveness::new(&function, &cfg);
    let ranges = LiveRanges::new(&function, &cfg, &liveness)?;
    let pressure = ranges.pressure(&function);
    let mut notes = Vec::new();
    if function.instructions.len() <= MOST_INSTRUCTIONS {
        let lanes = LaneOrder::of_block(function.declaration.bounds.req_ntid.unwrap_or([32, 1, 1]));
        notes = Analysis::new(&function, lanes).map_or_else(|_| Vec::new(), |analysis| analysis.notes());
        notes.sort_by_key(|(index, _)| *index);
    }
    Some(FunctionFacts { notes, pressure, ranges })
}

impl FunctionFacts {
    /// What is known of an instruction.
    pub(super) fn notes(&self, instruction: u32) -> &[Note] {
        let found = self.notes.binary_search_by_key(&instruction, |(index, _)| *index);
        found.map_or(&[], |at| &self.notes[at].1)
    }
}
