//! String tables: which of equal strings a name means.

use std::collections::HashMap;

/// Where the strings of a table stand; of equal ones the first. Strings that are the ends of others are not among them.
pub(crate) fn first_offsets(table: &[u8]) -> HashMap<Vec<u8>, u32> {
    let mut found = HashMap::new();
    let mut at = 0;
    for entry in table.split_inclusive(|&byte| byte == 0) {
        if let [text @ .., 0] = entry {
            found.entry(text.to_vec()).or_insert(at);
        }
        at += entry.len() as u32;
    }
    found
}
