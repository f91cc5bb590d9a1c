//! Which of the program's memory a kernel may use.

use std::collections::BTreeMap;
use std::ops::Range;

/// The buffers that pointers among some numbers lead into.
pub(crate) fn among(buffers: Vec<Range<u64>>, numbers: &[u64]) -> Vec<Range<u64>> {
    let meant = |buffer: &Range<u64>| numbers.iter().any(|number| buffer.contains(number));
    buffers.into_iter().filter(meant).collect()
}

/// The same where nobody knows buffers: from the lowest pointer into a mapping of the process to the mapping's end.
///
/// `maps` is a list in the form of `/proc/self/maps`. What cannot be read and written is no kernel's.
pub(crate) fn mapped(maps: &str, numbers: &[u64]) -> Vec<Range<u64>> {
    let mut lowest: BTreeMap<u64, u64> = BTreeMap::new();
    for Range { start, end } in maps.lines().filter_map(writable) {
        for &number in numbers.iter().filter(|&number| (start..end).contains(number)) {
            lowest.entry(end).and_modify(|known| *known = number.min(*known)).or_insert(number);
        }
    }
    lowest.into_iter().map(|(end, start)| start..end).collect()
}

/// The addresses of a mapping that can be read and written.
fn writable(line: &str) -> Option<Range<u64>> {
    let (range, rights) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    rights.starts_with("rw").then_some(address(from)?..address(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000100000 rw-p 00000000 00:00 0
7f0000100000-7f0000200000 r--p 00000000 08:01 42                         /usr/lib/x.so
7f0000200000-7f0000300000 rw-s 00000000 00:01 7                          /dev/shm/a file
something else
";

    #[test]
    fn from_the_lowest_pointer_to_the_end_of_its_mapping() {
        let numbers = [0x7f00_0000_2000, 0x7f00_0000_1000, 0x55d0_c000_0010, 7, 0x7f00_002f_ffff];
        let expected = [
            0x55d0_c000_0010..0x55d0_c002_1000,
            0x7f00_0000_1000..0x7f00_0010_0000,
            0x7f00_002f_ffff..0x7f00_0030_0000,
        ];
        assert_eq!(mapped(MAPS, &numbers), expected);
    }

    #[test]
    fn known_buffers_are_reached_whole() {
        let buffers = vec![100..200, 300..400, 400..500, 600..600];
        assert_eq!(among(buffers, &[150, 160, 400, 600, 7]), [100..200, 400..500]);
    }

    #[test]
    fn what_cannot_be_written_or_is_not_mapped_is_not_reached() {
        assert!(mapped(MAPS, &[0, 42, 0x7f00_0010_0000, 0x7f00_0030_0000, u64::MAX]).is_empty());
    }
}
