//! What the lanes of a warp make together: sectors of lines, and rounds of shared memory's banks.

use super::cache::{LINE, SECTOR};
use sass_machine::{LANES, Memory, Touched};

/// Banks of shared memory, each a word wide.
const BANKS: u64 = 32;
/// Bytes of a bank's word.
const WORD: u64 = 4;

/// The sectors of a line that an instruction touches, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) line: u64,
    pub(crate) sectors: u8,
}

/// The lines that an access touches, in the order of their first lanes. `own` is where the CTA's local memory begins, as lanes have it
/// word by word.
pub(crate) fn lines(touched: &Touched, own: u64, lines: &mut Vec<Touch>) {
    lines.clear();
    for (lane, &place) in touched.addresses.iter().enumerate() {
        if touched.lanes >> lane & 1 == 0 {
            continue;
        }
        let bytes = u64::from(touched.bytes);
        let mut at = place;
        while at < place + bytes {
            let address = match touched.memory {
                Memory::Local => own.wrapping_add((at / WORD * LANES as u64 + lane as u64) * WORD),
                Memory::Global | Memory::Shared | Memory::Constant => at,
            };
            let (line, sector) = (address / LINE, address % LINE / SECTOR);
            match lines.iter_mut().rev().find(|touch| touch.line == line) {
                Some(touch) => touch.sectors |= 1 << sector,
                None => lines.push(Touch { line, sectors: 1 << sector }),
            }
            at += match touched.memory {
                Memory::Local => WORD,
                Memory::Global | Memory::Shared | Memory::Constant => SECTOR - address % SECTOR,
            };
        }
    }
}

/// The rounds in which shared memory serves an access, and how many there would be without conflicts: a round gives each bank's one word
/// to whoever wants it.
pub(crate) fn rounds(touched: &Touched) -> (u64, u64) {
    let words = u64::from(touched.bytes).div_ceil(WORD);
    let mut wanted: Vec<u64> =
        touched.places().flat_map(|place| (0..words).map(move |word| place / WORD + word)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut of_banks = [0; BANKS as usize];
    wanted.iter().for_each(|word| of_banks[(word % BANKS) as usize] += 1);
    let most = of_banks.into_iter().max().unwrap_or(0);
    (most.max(1), (wanted.len() as u64).div_ceil(BANKS).max(1))
}

#[cfg(test)]
mod tests {
    use super::{Touch, lines, rounds};
    use sass_machine::{Memory, Touched, Way};

    fn touched(memory: Memory, bytes: u8, place: impl Fn(u64) -> u64) -> Touched {
        let mut addresses = [0; 32];
        (0..32).for_each(|lane| addresses[lane] = place(lane as u64));
        Touched { way: Way::Load, memory, bytes, lanes: u32::MAX, addresses }
    }

    fn counted(touched: &Touched) -> (usize, u32) {
        let mut found = Vec::new();
        lines(touched, 0, &mut found);
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
        lines(&touched(Memory::Global, 4, |lane| 128 * (lane % 2)), 0, &mut found);
        assert_eq!(found, [Touch { line: 0, sectors: 1 }, Touch { line: 1, sectors: 1 }]);
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
        assert_eq!(of(16, |_| 64), (1, 1));
    }
}
