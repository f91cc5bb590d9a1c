//! What the lanes of a warp make together: sectors of lines, and rounds of shared memory's banks.

use super::cache::{LINE, SECTOR, SECTORS};
use sass_machine::{LANES, Memory, Touched, Way};

/// Banks of shared memory, each a word wide.
const BANKS: u64 = 32;
/// Bytes of a bank's word.
const WORD: u64 = 4;

/// The sectors of a line that an instruction touches, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) line: u64,
    pub(crate) sectors: u8,
    /// Of atomic operations, lanes at the word of each sector that most are at.
    pub(crate) crowds: [u8; SECTORS],
}

/// Counts for each sector the lanes at the word that most are at: atomic operations on one word come one after the other. `origin` as for
/// [`lines`], which has found them.
pub(crate) fn count_crowds(touched: &Touched, origin: u64, touches: &mut [Touch]) {
    let mut words = [0; LANES];
    let mut count = 0;
    touched.places().zip(&mut words).for_each(|(place, word)| {
        *word = place.wrapping_sub(origin) / WORD;
        count += 1;
    });
    let words = &mut words[..count];
    words.sort_unstable();
    for same in words.chunk_by(|a, b| a == b) {
        let address = same[0] * WORD;
        if let Some(touch) = touches.iter_mut().find(|touch| touch.line == address / LINE) {
            let crowd = &mut touch.crowds[(address % LINE / SECTOR) as usize];
            *crowd = (*crowd).max(same.len() as u8);
        }
    }
}

/// Whether all lanes touch memory, in a row.
fn is_row(touched: &Touched) -> bool {
    let (first, bytes) = (touched.addresses[0], u64::from(touched.bytes));
    let apart =
        (0..LANES).fold(0, |apart, lane| apart | touched.addresses[lane] ^ (first + lane as u64 * bytes));
    touched.lanes == u32::MAX && apart == 0 && first.is_multiple_of(bytes.max(1))
}

/// Adds the lines of bytes in a row.
fn add_row(begin: u64, bytes: u64, lines: &mut Vec<Touch>) {
    let end = begin + bytes;
    for line in begin / LINE..end.div_ceil(LINE) {
        let [first, behind] = [begin, end].map(|at| at.clamp(line * LINE, (line + 1) * LINE) - line * LINE);
        let sectors = ((1 << behind.div_ceil(SECTOR)) - (1_u32 << (first / SECTOR))) as u8;
        match lines.last_mut().filter(|touch| touch.line == line) {
            Some(touch) => touch.sectors |= sectors,
            None => lines.push(Touch { line, sectors, crowds: [0; SECTORS] }),
        }
    }
}

/// The lines that an access touches, in the order of their first lanes. `origin` is where global memory begins to caches, which is not
/// where the host has it; `own` where the warp's local memory does, as lanes have it word by word.
pub(crate) fn lines(touched: &Touched, origin: u64, own: u64, lines: &mut Vec<Touch>) {
    lines.clear();
    for &(begin, bytes) in &touched.rows {
        add_row(begin.wrapping_sub(origin), bytes, lines);
    }
    if !touched.rows.is_empty() {
        return;
    }
    if touched.memory == Memory::Global && touched.addresses[0] >= origin && is_row(touched) {
        // What nearly all do.
        return add_row(touched.addresses[0] - origin, LANES as u64 * u64::from(touched.bytes), lines);
    }
    for (lane, &place) in touched.addresses.iter().enumerate() {
        if touched.lanes >> lane & 1 == 0 {
            continue;
        }
        let bytes = u64::from(touched.bytes);
        let mut at = place;
        while at < place + bytes {
            let address = match touched.memory {
                Memory::Local => own.wrapping_add((at / WORD * LANES as u64 + lane as u64) * WORD),
                Memory::Global | Memory::Shared | Memory::Cluster | Memory::Constant => {
                    at.wrapping_sub(origin)
                }
            };
            let (line, sector) = (address / LINE, address % LINE / SECTOR);
            match lines.iter_mut().rev().find(|touch| touch.line == line) {
                Some(touch) => touch.sectors |= 1 << sector,
                None => lines.push(Touch { line, sectors: 1 << sector, crowds: [0; SECTORS] }),
            }
            at += match touched.memory {
                Memory::Local => WORD,
                Memory::Global | Memory::Shared | Memory::Cluster | Memory::Constant => {
                    SECTOR - address % SECTOR
                }
            };
        }
    }
}

/// The lanes that the banks look at together: all of them, or halves and quarters where they access 64 and 128 bits each. Loads of shared
/// memory look at twice as many if neighbours, or all lanes two apart, are at one address or do not take part.
fn together(touched: &Touched) -> usize {
    let lanes = LANES / (u64::from(touched.bytes).div_ceil(WORD) as usize).next_power_of_two().min(4);
    let alike = |apart: usize| {
        (0..LANES).all(|lane| {
            let other = lane ^ apart;
            let both = touched.lanes >> lane & touched.lanes >> other & 1 == 1;
            !both || touched.addresses[lane] == touched.addresses[other]
        })
    };
    let is_load = touched.memory == Memory::Shared && touched.way == Way::Load;
    if lanes < LANES && is_load && (alike(1) || alike(2)) { 2 * lanes } else { lanes }
}

/// The rounds in which the banks serve an access, and how many there would be without conflicts: a round gives each bank's one word to
/// whoever wants it of the lanes that are looked at together. Of atomic operations it carries out one for each bank.
pub(crate) fn rounds(touched: &Touched) -> (u64, u64) {
    let is_shared = matches!(touched.way, Way::Load | Way::Store);
    if (is_shared || u64::from(touched.bytes) >= WORD) && is_row(touched) {
        let all = u64::from(touched.bytes).div_ceil(WORD);
        return (all, all);
    }
    let together = together(touched);
    let (mut rounds, mut ideal) = (0, 0);
    for first in (0..LANES).step_by(together) {
        let lanes = (first..first + together).filter(|lane| touched.lanes >> lane & 1 == 1);
        let (most, all) = of_banks(touched, lanes);
        rounds += most;
        ideal += all.div_ceil(BANKS);
    }
    (rounds.max(1), ideal.max(1))
}

/// The words that most wanted bank is asked for by some lanes, and those of all banks.
fn of_banks(touched: &Touched, lanes: impl Iterator<Item = usize>) -> (u64, u64) {
    let is_shared = matches!(touched.way, Way::Load | Way::Store);
    let words = u64::from(touched.bytes).div_ceil(WORD);
    // The words that banks have been asked for, each once where it serves all; those of a bank lead to one another, and 0 to none.
    let mut wanted = [(0, 0_u8); LANES * 4 + 1];
    let mut firsts = [0_u8; BANKS as usize];
    let mut of_banks = [0_u64; BANKS as usize];
    let mut all = 0;
    for place in lanes.map(|lane| touched.addresses[lane]) {
        for word in (0..words).map(|word| place / WORD + word) {
            let bank = (word % BANKS) as usize;
            let mut at = firsts[bank];
            while at != 0 && !(is_shared && wanted[usize::from(at)].0 == word) {
                at = wanted[usize::from(at)].1;
            }
            if at == 0 && all < LANES * 4 {
                all += 1;
                wanted[all] = (word, firsts[bank]);
                firsts[bank] = all as u8;
                of_banks[bank] += 1;
            }
        }
    }
    (of_banks.into_iter().max().unwrap_or(0), all as u64)
}

#[cfg(test)]
mod tests {
    use super::{SECTORS, Touch, count_crowds, lines, rounds};
    use sass_machine::{Memory, Touched, Way};

    fn touched(memory: Memory, bytes: u32, place: impl Fn(u64) -> u64) -> Touched {
        let mut addresses = [0; 32];
        (0..32).for_each(|lane| addresses[lane] = place(lane as u64));
        Touched { way: Way::Load, memory, bytes, lanes: u32::MAX, addresses, rows: Vec::new() }
    }

    fn counted(touched: &Touched) -> (usize, u32) {
        let mut found = Vec::new();
        lines(touched, 0, 0, &mut found);
        (found.len(), found.iter().map(|touch| touch.sectors.count_ones()).sum())
    }

    #[test]
    fn words_in_a_row_are_four_sectors_of_a_line() {
        assert_eq!(counted(&touched(Memory::Global, 4, |lane| 0x1000 + 4 * lane)), (1, 4));
        // One sector more where they begin in the middle of one.
        assert_eq!(counted(&touched(Memory::Global, 4, |lane| 0x1010 + 4 * lane)), (2, 5));
        assert_eq!(counted(&touched(Memory::Global, 16, |lane| 0x1000 + 16 * lane)), (4, 16));
        assert_eq!(counted(&touched(Memory::Global, 4, |lane| 0x1000 + 128 * lane)), (32, 32));
        assert_eq!(counted(&touched(Memory::Global, 4, |_| 0x1000)), (1, 1));
        // All lanes' words at one offset of local memory lie in a row.
        assert_eq!(counted(&touched(Memory::Local, 4, |_| 64)), (1, 4));
    }

    #[test]
    fn a_line_is_named_once() {
        let mut found = Vec::new();
        lines(&touched(Memory::Global, 4, |lane| 128 * (lane % 2)), 0, 0, &mut found);
        let touch = |line| Touch { line, sectors: 1, crowds: [0; SECTORS] };
        assert_eq!(found, [0, 1].map(touch));
    }

    #[test]
    fn banks_are_in_conflict_where_words_differ() {
        let of = |bytes, place: fn(u64) -> u64| rounds(&touched(Memory::Shared, bytes, place));
        assert_eq!(of(4, |lane| 4 * lane), (1, 1));
        assert_eq!(of(4, |lane| 8 * lane), (2, 1));
        assert_eq!(of(4, |lane| 128 * lane), (32, 1));
        assert_eq!(of(4, |_| 0), (1, 1));
        assert_eq!(of(4, |lane| 4 * 33 * lane), (1, 1));
        assert_eq!(of(8, |lane| 8 * lane), (2, 2));
        assert_eq!(of(16, |lane| 16 * lane), (4, 4));
        assert_eq!(of(16, |_| 64), (2, 2));
    }

    /// `wavefronts` and what a profiler counted there, in measured/h100.
    #[test]
    fn wide_accesses_are_served_by_halves_and_quarters() {
        let of = |way, bytes: u32, lanes, place: fn(u64) -> u64| {
            let mut addresses = [0; 32];
            (0..32).for_each(|lane| addresses[lane] = u64::from(bytes) * place(lane as u64));
            rounds(&Touched { way, memory: Memory::Shared, bytes, lanes, addresses, rows: Vec::new() })
        };
        let (all, even) = (u32::MAX, 0x5555_5555);
        // Rounds, and those that are conflicts.
        let conflicts = |(rounds, ideal): (u64, u64)| (rounds, rounds.saturating_sub(ideal));
        for (bytes, lanes, place, wanted) in [
            (8, all, (|_| 0) as fn(u64) -> u64, (1, 0)),
            (8, all, |lane| lane, (2, 0)),
            (8, all, |lane| lane % 16, (2, 0)),
            (8, all, |lane| lane / 2, (1, 0)),
            (8, all, |lane| lane % 2 + lane / 4 * 2, (1, 0)),
            (8, all, |lane| lane % 4 + lane / 8 * 4, (2, 0)),
            (8, even, |lane| lane, (2, 1)),
            (8, 0xffff, |lane| lane, (1, 0)),
            (16, all, |_| 0, (2, 0)),
            (16, all, |lane| lane % 8, (4, 0)),
            (16, all, |lane| lane / 8, (2, 0)),
            (16, even, |lane| lane, (4, 2)),
            (16, 0xff, |lane| lane, (1, 0)),
            (16, all, |lane| 2 * lane, (8, 4)),
        ] {
            assert_eq!(conflicts(of(Way::Load, bytes, lanes, place)), wanted, "{bytes} {lanes:x}");
        }
        assert_eq!(conflicts(of(Way::Store, 8, all, |_| 0)), (2, 0));
        assert_eq!(conflicts(of(Way::Store, 16, all, |_| 0)), (4, 0));
        assert_eq!(conflicts(of(Way::Store, 16, 0xffff, |lane| lane)), (2, 0));
    }

    /// What lies in a row is not looked at lane by lane; with one lane away from it, it is.
    #[test]
    fn a_row_is_what_its_lanes_are() {
        for bytes in [1, 2, 4, 8, 16] {
            for way in [Way::Load, Way::Store, Way::Atomic] {
                for begin in [0, 16, 48, 112, 128] {
                    let row = Touched {
                        way,
                        ..touched(Memory::Global, bytes, |lane| 0x1000 + begin + u64::from(bytes) * lane)
                    };
                    let mut found = Vec::new();
                    lines(&row, 0x80, 0, &mut found);
                    let mut one_by_one: Vec<Touch> = Vec::new();
                    for lane in 0..32 {
                        let mut of_lane = Vec::new();
                        lines(&Touched { lanes: 1 << lane, ..row.clone() }, 0x80, 0, &mut of_lane);
                        for touch in of_lane {
                            match one_by_one.iter_mut().find(|it| it.line == touch.line) {
                                Some(there) => there.sectors |= touch.sectors,
                                None => one_by_one.push(touch),
                            }
                        }
                    }
                    assert_eq!(found, one_by_one, "{bytes} bytes at {begin}");
                    let banks =
                        |lanes: u32| rounds(&Touched { lanes, memory: Memory::Shared, ..row.clone() });
                    if begin % u64::from(bytes) == 0 && way == Way::Store {
                        // Without the last lane it is as many rounds, as far as the first of that part stays.
                        assert_eq!(banks(u32::MAX), banks(u32::MAX >> 1), "{bytes} bytes at {begin}");
                    }
                }
            }
        }
    }

    /// `ATOMS.ADD/1` in measured/h100/shared.csv: as many rounds for one word as for words of one bank.
    #[test]
    fn atomic_operations_on_a_bank_come_one_after_the_other() {
        let of = |place: fn(u64) -> u64| {
            rounds(&Touched { way: Way::Atomic, ..touched(Memory::Shared, 4, place) }).0
        };
        assert_eq!(of(|lane| 4 * lane), 1);
        assert_eq!(of(|lane| 8 * lane), 2);
        assert_eq!(of(|lane| 128 * lane), 32);
        assert_eq!(of(|_| 64), 32);
        assert_eq!(of(|lane| 4 * (lane % 8)), 4);
    }

    #[test]
    fn lanes_at_one_word_are_counted_sector_by_sector() {
        let of = |place: fn(u64) -> u64| {
            let (touched, mut found) = (touched(Memory::Global, 4, place), Vec::new());
            lines(&touched, 0, 0, &mut found);
            count_crowds(&touched, 0, &mut found);
            found.iter().map(|touch| touch.crowds).collect::<Vec<_>>()
        };
        assert_eq!(of(|lane| 4 * lane), [[1, 1, 1, 1]]);
        assert_eq!(of(|_| 64), [[0, 0, 32, 0]]);
        assert_eq!(
            of(|lane| if lane < 3 { 0 } else { 32 * lane }),
            [[3, 0, 0, 1], [1; 4], [1; 4], [1; 4], [1; 4], [1; 4], [1; 4], [1; 4]]
        );
    }
}
