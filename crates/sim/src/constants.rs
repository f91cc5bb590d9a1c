//! The constants that an SM has: lines of constant banks, each of which is waited for once.

use crate::device::Parameters;
use sass_machine::Touched;

/// What an SM has of them. None has to go for others.
#[derive(Clone, Debug)]
pub(crate) struct Constants {
    /// Lines, and when each is there.
    lines: Vec<(u64, u64)>,
    length: u64,
    miss: u64,
    word: u64,
}

impl Constants {
    pub(crate) fn new(of: &Parameters) -> Self {
        Self { lines: Vec::new(), length: of.constant_line, miss: of.constant_miss, word: of.constant_word }
    }

    /// When all that an access touches is there.
    pub(crate) fn ready(&mut self, touched: &Touched, now: u64) -> u64 {
        let mut ready = now;
        for place in touched.places() {
            let line = place / self.length;
            let found = self.lines.iter().find(|&&(it, _)| it == line).map(|&(_, ready)| ready);
            ready = ready.max(found.unwrap_or_else(|| {
                self.lines.push((line, now + self.miss));
                now + self.miss
            }));
        }
        ready
    }

    /// For how many cycles an access takes longer than if all lanes wanted one word.
    pub(crate) fn turns(&self, touched: &Touched) -> u64 {
        let mut places = [0; sass_machine::LANES];
        let mut count = 0;
        for place in touched.places() {
            if !places[..count].contains(&place) {
                places[count] = place;
                count += 1;
            }
        }
        (count.saturating_sub(1) as u64).saturating_mul(self.word) / 1000
    }
}
