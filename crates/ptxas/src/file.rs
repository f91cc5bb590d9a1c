//! A file of hardware registers, and where in the code each is in use: a register is free again where nobody reads what is in it, also
//! between two times that the same value, or the next one of the same variable, is there.

use crate::allocate::Range;
use crate::code::Reg;
use rustc_hash::FxHashSet as HashSet;
use std::collections::BTreeMap;

/// In which ranges each register is in use, by their first places, until when, and by whom; by nobody whom allocation knows, none.
pub(crate) struct File(Vec<BTreeMap<u32, (u32, Option<Reg>)>>);

impl File {
    pub(crate) fn new(count: u32) -> Self {
        Self(vec![BTreeMap::new(); count as usize])
    }

    /// Where registers in a row can begin, of such a width and alignment.
    pub(crate) fn windows(&self, width: usize, step: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.0.len();
        (0..).step_by(step).take_while(move |at| at + width <= count)
    }

    /// Whether a register is in use nowhere in some ranges; also if there is none.
    pub(crate) fn is_free(&self, at: usize, ranges: &[Range]) -> bool {
        at >= self.0.len() || self.users(at, ranges).next().is_none()
    }

    /// Who uses a register somewhere in some ranges.
    pub(crate) fn users<'a>(
        &'a self,
        at: usize,
        ranges: &'a [Range],
    ) -> impl Iterator<Item = Option<Reg>> + 'a {
        ranges.iter().flat_map(move |range| {
            let before = self.0[at].range(..=range.end).rev();
            before
                .map(|(_, &(end, by))| (end, by))
                .take_while(|&(end, _)| end >= range.start)
                .map(|(_, by)| by)
        })
    }

    /// The last place before another at which a register is in use.
    pub(crate) fn last_use(&self, at: usize, before: u32) -> Option<u32> {
        self.0[at].range(..before).next_back().map(|(_, &(end, _))| end)
    }

    pub(crate) fn take(&mut self, at: usize, ranges: &[Range], by: Option<Reg>) {
        self.0[at].extend(ranges.iter().map(|range| (range.start, (range.end, by))));
    }

    /// Frees the registers of some.
    pub(crate) fn release(&mut self, gone: &HashSet<Reg>) {
        for uses in &mut self.0 {
            uses.retain(|_, (_, by)| by.is_none_or(|by| !gone.contains(&by)));
        }
    }
}
