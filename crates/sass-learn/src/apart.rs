//! What sets words apart as a form of their own: bits under which the text is of another kind, or a number is read otherwise.

use std::collections::BTreeMap;

use super::form::{Draft, Format, format_of};
use sass_table::Bits;

/// A condition on words: a mask and the value under it.
pub(super) type Condition = (u128, u128);

/// Words of this condition become a form of their own.
pub(super) fn set_apart(special: Condition, excluded: &mut Vec<Condition>, open: &mut Vec<Condition>) {
    if !excluded.contains(&special) {
        excluded.push(special);
        open.push(special);
    }
}

/// The number that a token is: its bits, its format, and the bits that change the token otherwise.
pub(super) fn number_of(
    draft: &Draft,
    token: usize,
    flips: &[(u32, String)],
) -> Option<(Bits, Format, u128)> {
    const LEAST: usize = 5;
    let mask = |flips: &[(u32, String)]| flips.iter().fold(0u128, |mask, it| mask | 1 << it.0);
    (LEAST..=flips.len()).rev().find_map(|len| {
        flips.windows(len).find_map(|run| {
            let format = format_of(draft.base, &draft.tokens[token], run)?;
            Some((Bits::of_mask(mask(run))?, format, mask(flips) & !mask(run)))
        })
    })
}

/// The fewest bits of a field that tell the strange codes from the others, and their values: masks over the word.
pub(super) fn deciding(bits: Bits, strange: &BTreeMap<u64, bool>) -> Vec<Condition> {
    let mut mask = bits.mask();
    let project = |mask: u128| -> Option<BTreeMap<u128, bool>> {
        let mut projected = BTreeMap::new();
        strange
            .iter()
            .all(|(&code, &is)| *projected.entry(bits.put(0, code) & mask).or_insert(is) == is)
            .then_some(projected)
    };
    for bit in (0..128).rev().filter(|bit| bits.mask() >> bit & 1 == 1) {
        if project(mask & !(1 << bit)).is_some() {
            mask &= !(1 << bit);
        }
    }
    let projected = project(mask).unwrap_or_default();
    let specials: Vec<Condition> = projected.into_iter().filter(|it| it.1).map(|it| (mask, it.0)).collect();
    // More are a list, not forms.
    if specials.len() > 24 { Vec::new() } else { specials }
}
