//! A file of hardware registers, and where in the code each is in use: a register is free again where nobody reads what is in it, also
//! between two times that the same value, or the next one of the same variable, is there.

use crate::allocate::Range;
use crate::code::Reg;
use rustc_hash::FxHashSet as HashSet;

/// A range in which a register is in use, and by whom; by nobody whom allocation knows, none.
#[derive(Clone, Copy)]
struct Use {
    start: u32,
    end: u32,
    by: Option<Reg>,
}

/// In which ranges each register is in use, one after the other.
pub(crate) struct File {
    uses: Vec<Vec<Use>>,
    highest: usize,
}

impl File {
    pub(crate) fn new(count: u32) -> Self {
        Self { uses: vec![Vec::new(); count as usize], highest: 0 }
    }

    /// The highest register that has ever been taken.
    pub(crate) fn highest(&self) -> usize {
        self.highest
    }

    /// The uses of a register that begin no later than a place.
    fn until(&self, at: usize, place: u32) -> &[Use] {
        let uses = &self.uses[at];
        &uses[..uses.partition_point(|it| it.start <= place)]
    }

    /// Where registers in a row can begin, of such a width and alignment.
    pub(crate) fn windows(&self, width: usize, step: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.uses.len();
        (0..).step_by(step).take_while(move |at| at + width <= count)
    }

    /// Whether a register is in use nowhere in some ranges; also if there is none.
    pub(crate) fn is_free(&self, at: usize, ranges: &[Range]) -> bool {
        at >= self.uses.len() || self.users(at, ranges).next().is_none()
    }

    /// Who uses a register somewhere in some ranges.
    pub(crate) fn users<'a>(
        &'a self,
        at: usize,
        ranges: &'a [Range],
    ) -> impl Iterator<Item = Option<Reg>> + 'a {
        ranges.iter().flat_map(move |range| {
            let before = self.until(at, range.end).iter().rev();
            before.take_while(|it| it.end >= range.start).map(|it| it.by)
        })
    }

    /// The last place before another at which a register is in use.
    pub(crate) fn last_use(&self, at: usize, before: u32) -> Option<u32> {
        let before = before.checked_sub(1)?;
        self.until(at, before).last().map(|it| it.end)
    }

    pub(crate) fn take(&mut self, at: usize, ranges: &[Range], by: Option<Reg>) {
        self.highest = self.highest.max(at);
        for &Range { start, end } in ranges {
            let place = self.until(at, start).len();
            self.uses[at].insert(place, Use { start, end, by });
        }
    }

    /// Frees the registers of some.
    pub(crate) fn release(&mut self, gone: &HashSet<Reg>) {
        for uses in &mut self.uses {
            uses.retain(|it| it.by.is_none_or(|by| !gone.contains(&by)));
        }
    }
}
