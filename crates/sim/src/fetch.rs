//! The code that an SM has: lines of instructions. A line that it has not had before comes so many cycles after the last such one, as if the
//! code ran on; a line that had to go for others is waited for.

use crate::device::Parameters;

/// A line of code.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// From when on the SM has it; none before the first time, and when it had to go.
    ready: Option<u64>,
    has_gone: bool,
    used: u64,
}

/// What an SM has of the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    lines: Vec<Line>,
    /// How many there are, and may be.
    kept: u64,
    most: u64,
    uses: u64,
    length: usize,
    miss: u64,
    /// Cycles between lines that come for the first time, and when the next may.
    first: u64,
    next: u64,
}

impl Fetch {
    pub(crate) fn new(of: &Parameters, instructions: usize) -> Self {
        let length = of.fetch_line as usize;
        Self {
            lines: vec![Line::default(); instructions.div_ceil(length)],
            kept: 0,
            most: (of.fetch_capacity / of.fetch_line).max(1),
            uses: 0,
            length,
            miss: of.fetch_miss,
            first: of.fetch_first,
            next: 0,
        }
    }

    /// When the instruction of a number can be issued whose turn it is at a cycle.
    pub(crate) fn ready(&mut self, place: usize, now: u64) -> u64 {
        let at = place / self.length;
        self.uses += 1;
        let uses = self.uses;
        let Some(line) = self.lines.get_mut(at) else { return now };
        line.used = uses;
        if let Some(ready) = line.ready {
            return ready.max(now);
        }
        let ready = if line.has_gone { now + self.miss } else { now.max(self.next) };
        if !line.has_gone {
            self.next = ready + self.first;
        }
        line.ready = Some(ready);
        self.kept += 1;
        if self.kept > self.most {
            let there = self.lines.iter().enumerate().filter(|(_, line)| line.ready.is_some());
            if let Some((oldest, _)) = there.min_by_key(|(_, line)| line.used) {
                self.lines[oldest] = Line { ready: None, has_gone: true, used: 0 };
                self.kept -= 1;
            }
        }
        ready
    }
}
