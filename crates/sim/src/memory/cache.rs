//! A cache of lines with sectors: which are there, and from when on.

/// Sectors of a line.
pub(crate) const SECTORS: usize = 4;
/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 32;
/// Bytes of a line.
pub(crate) const LINE: u64 = SECTOR * SECTORS as u64;

/// What stands for the cycle, and one more, at which a sector is there that is not.
const ABSENT: u64 = 0;
/// No place.
const NONE: u32 = u32::MAX;

/// The cache. Of a set the line goes that has not been used for longest.
///
/// Places of all sets lie beside one another, in memory that there is from the first line on, and that the host gives where something comes
/// there: an L2 is large, and SMs are many.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    sets: u64,
    ways: usize,
    uses: u64,
    /// The line in each place, one more than its number; 0 in one that is empty.
    lines: Vec<u64>,
    /// When each sector is there, one more than the cycle.
    ready: Vec<[u64; SECTORS]>,
    /// The sectors that memory does not have yet.
    dirty: Vec<u8>,
    /// When it was last used.
    used: Vec<u64>,
    /// What was looked for last, and its place: sectors of a line are asked for one after the other.
    last: (u64, u32),
}

/// What a line that had to go leaves to be written.
pub(crate) type Written = u32;

impl Cache {
    /// One of so many bytes.
    pub(crate) fn new(bytes: u64, ways: u64) -> Self {
        let ways = ways.max(1);
        Self {
            sets: bytes / LINE / ways,
            ways: ways as usize,
            uses: 0,
            lines: Vec::new(),
            ready: Vec::new(),
            dirty: Vec::new(),
            used: Vec::new(),
            last: (0, NONE),
        }
    }

    fn allocate(&mut self) {
        let places = self.sets as usize * self.ways;
        self.lines = vec![0; places];
        self.ready = vec![[ABSENT; SECTORS]; places];
        self.dirty = vec![0; places];
        self.used = vec![0; places];
    }

    /// The first place of the set that a line is in: its number with higher bits mixed in, so that powers of two do not meet.
    fn first(&self, line: u64) -> usize {
        let mixed = line ^ line >> 7 ^ line >> 15 ^ line >> 23;
        (mixed % self.sets) as usize * self.ways
    }

    /// The place of a line, or none and where its set begins.
    fn place(&mut self, line: u64) -> Result<usize, usize> {
        if self.last.0 == line && self.last.1 != NONE {
            return Ok(self.last.1 as usize);
        }
        let first = self.first(line);
        let at = self.lines[first..first + self.ways].iter().position(|&it| it == line + 1);
        let at = first + at.ok_or(first)?;
        self.last = (line, at as u32);
        Ok(at)
    }

    /// When a sector is there, if it is, or on its way.
    pub(crate) fn find(&mut self, line: u64, sector: usize) -> Option<u64> {
        if self.lines.is_empty() {
            return None;
        }
        let at = self.place(line).ok()?;
        self.uses += 1;
        self.used[at] = self.uses;
        self.ready[at][sector].checked_sub(1)
    }

    /// Gives a sector a place, from a cycle on; what the line before it leaves.
    pub(crate) fn fill(&mut self, line: u64, sector: usize, ready: u64, is_dirty: bool) -> Written {
        if self.sets == 0 {
            return 0;
        }
        if self.lines.is_empty() {
            self.allocate();
        }
        self.uses += 1;
        let mut left = 0;
        let at = self.place(line).unwrap_or_else(|first| {
            // An empty place was never used.
            let places = first..first + self.ways;
            let at = places.min_by_key(|&at| self.used[at]).unwrap_or(first);
            left = self.dirty[at].count_ones();
            (self.lines[at], self.ready[at], self.dirty[at]) = (line + 1, [ABSENT; SECTORS], 0);
            self.last = (line, at as u32);
            at
        });
        self.used[at] = self.uses;
        self.ready[at][sector] = ready + 1;
        self.dirty[at] |= u8::from(is_dirty) << sector;
        left
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, LINE};

    #[test]
    fn the_line_goes_that_was_not_used_for_longest() {
        // One set of two ways.
        let mut cache = Cache::new(2 * LINE, 2);
        assert_eq!(cache.fill(1, 0, 5, false), 0);
        assert_eq!(cache.fill(2, 3, 6, true), 0);
        assert_eq!((cache.find(1, 0), cache.find(1, 1)), (Some(5), None));
        // Line 2 goes, whose sector has to be written.
        assert_eq!(cache.fill(3, 0, 7, false), 1);
        assert_eq!((cache.find(1, 0), cache.find(2, 3), cache.find(3, 0)), (Some(5), None, Some(7)));
    }

    #[test]
    fn nothing_is_kept_without_room() {
        let mut cache = Cache::new(0, 4);
        cache.fill(1, 0, 5, true);
        assert_eq!(cache.find(1, 0), None);
    }
}
