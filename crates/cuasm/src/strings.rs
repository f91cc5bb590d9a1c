//! Strings of a cubin: as characters, and which of equal ones in a table a name means.

use rustc_hash::FxHashMap as HashMap;

/// Where the strings of a table stand; of equal ones the first. Strings that are the ends of others are not among them.
pub(crate) fn first_offsets(table: &[u8]) -> HashMap<Vec<u8>, u32> {
    let mut found = HashMap::default();
    let mut at = 0;
    for entry in table.split_inclusive(|&byte| byte == 0) {
        if let [text @ .., 0] = entry {
            found.entry(text.to_vec()).or_insert(at);
        }
        at += entry.len() as u32;
    }
    found
}

/// Bytes as characters of the same numbers.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// Characters as bytes of the same numbers.
pub(crate) fn bytes(text: &str) -> impl Iterator<Item = u8> {
    text.chars().map(|letter| letter as u8)
}
