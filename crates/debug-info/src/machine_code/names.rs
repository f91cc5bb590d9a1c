//! `.debug_pubnames` and `.debug_pubtypes`: the places of entries by their names.

use std::collections::HashMap;

/// Names of entries that have moved; nothing, if they are damaged.
pub(super) fn moved(
    bytes: &[u8],
    entries: &HashMap<(usize, usize), usize>,
    units: &HashMap<usize, (usize, usize)>,
) -> Option<Vec<u8>> {
    /// Length, version, the unit's place and its length.
    const HEAD: usize = 14;
    let mut out = bytes.to_vec();
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let mut at = 0;
    while at < bytes.len() {
        let end = at + 4 + word(at)?;
        let from = word(at + 6)?;
        let (begin, length) = *units.get(&from)?;
        out.get_mut(at + 6..at + 10)?.copy_from_slice(&(begin as u32).to_le_bytes());
        out.get_mut(at + 10..at + HEAD)?.copy_from_slice(&(length as u32).to_le_bytes());
        let mut entry = at + HEAD;
        while let offset @ 1.. = word(entry)? {
            let new = *entries.get(&(from, offset))?;
            out.get_mut(entry..entry + 4)?.copy_from_slice(&(new as u32).to_le_bytes());
            entry += 4 + bytes.get(entry + 4..)?.iter().position(|&byte| byte == 0)? + 1;
        }
        at = end;
    }
    Some(out)
}
