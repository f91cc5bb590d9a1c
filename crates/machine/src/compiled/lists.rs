//! Lists of values that compiled code hands over, and gets back.

/// Bytes to which lists of values are aligned.
pub const LIST_ALIGN: usize = 64;

/// Bytes from the beginning of a list of values to that of the next: the values of a row's lanes as a vector of that many bits has
/// them in memory, predicates as the bits of a word.
pub fn list_bytes(bits: u32, width: usize) -> usize {
    (bits as usize * width).div_ceil(8).next_multiple_of(LIST_ALIGN)
}
