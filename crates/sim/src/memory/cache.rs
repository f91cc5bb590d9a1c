//! A cache of lines with sectors: which are there, and from when on.

/// Sectors of a line.
pub(crate) const SECTORS: usize = 4;
/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 32;
/// Bytes of a line.
pub(crate) const LINE: u64 = SECTOR * SECTORS as u64;

/// A line's place.
#[derive(Clone, Debug)]
struct Way {
    /// When each sector is there.
    ready: [Option<u64>; SECTORS],
    /// The sectors that memory does not have yet.
    dirty: u8,
    /// When it was last used.
    used: u64,
}

const EMPTY: Way = Way { ready: [None; SECTORS], dirty: 0, used: 0 };

/// The places that a line may have. Sets get them when something comes there: an L2 is large.
#[derive(Clone, Debug, Default)]
struct Set {
    /// The line's number of each, beside one another, as they are looked through for every sector.
    lines: Vec<u64>,
    ways: Vec<Way>,
}

/// The cache. Of a set the line goes that has not been used for longest.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    sets: Vec<Set>,
    ways: usize,
    uses: u64,
}

/// What a line that had to go leaves to be written.
pub(crate) type Written = u32;

impl Cache {
    /// One of so many bytes.
    pub(crate) fn new(bytes: u64, ways: u64) -> Self {
        let ways = ways.max(1);
        let sets = (bytes / LINE / ways) as usize;
        Self { sets: vec![Set::default(); sets], ways: ways as usize, uses: 0 }
    }

    /// Which set a line is in: its number with higher bits mixed in, so that powers of two do not meet.
    fn set(&self, line: u64) -> usize {
        let mixed = line ^ line >> 7 ^ line >> 15 ^ line >> 23;
        (mixed % self.sets.len() as u64) as usize
    }

    /// When a sector is there, if it is, or on its way.
    pub(crate) fn find(&mut self, line: u64, sector: usize) -> Option<u64> {
        if self.sets.is_empty() {
            return None;
        }
        let set = self.set(line);
        let set = &mut self.sets[set];
        let at = set.lines.iter().position(|&it| it == line)?;
        let way = set.ways.get_mut(at)?;
        self.uses += 1;
        way.used = self.uses;
        way.ready[sector]
    }

    /// Gives a sector a place, from a cycle on; what the line before it leaves.
    pub(crate) fn fill(&mut self, line: u64, sector: usize, ready: u64, is_dirty: bool) -> Written {
        if self.sets.is_empty() {
            return 0;
        }
        let set = self.set(line);
        self.uses += 1;
        let (uses, ways) = (self.uses, self.ways);
        let set = &mut self.sets[set];
        let mut left = 0;
        let at = match set.lines.iter().position(|&it| it == line) {
            Some(at) => at,
            None if set.ways.len() < ways => {
                set.lines.push(line);
                set.ways.push(EMPTY);
                set.ways.len() - 1
            }
            None => {
                let at = (0..set.ways.len()).min_by_key(|&at| set.ways[at].used).unwrap_or(0);
                left = set.ways[at].dirty.count_ones();
                (set.lines[at], set.ways[at]) = (line, EMPTY);
                at
            }
        };
        let way = &mut set.ways[at];
        way.used = uses;
        way.ready[sector] = Some(ready);
        way.dirty |= u8::from(is_dirty) << sector;
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
