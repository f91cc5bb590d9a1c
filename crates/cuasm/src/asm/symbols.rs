//! Where symbols stand in the symbol table.

use super::draft::Draft;

/// For each symbol of the draft its number in the symbol table: those that the table lists first, in its order.
pub(super) fn numbers(draft: &Draft) -> Vec<u32> {
    let mut numbers = vec![0; draft.symbols.len()];
    for (position, symbol) in order(draft).into_iter().enumerate() {
        numbers[symbol] = (position + usize::from(needs_null(draft))) as u32;
    }
    numbers
}

/// The symbols in the order of the symbol table.
pub(super) fn order(draft: &Draft) -> Vec<usize> {
    let mut order: Vec<usize> = (0..draft.symbols.len()).collect();
    order.sort_by_key(|&symbol| match draft.symbols[symbol].listed {
        Some(position) => (0, position),
        None => (1, symbol),
    });
    order
}

/// Whether the null symbol has to be put in front of the others: it has no name, and no text need list it.
pub(super) fn needs_null(draft: &Draft) -> bool {
    let first = draft.symbols.iter().find(|symbol| symbol.listed == Some(0));
    !draft.without_null && first.is_none_or(|first| first.real_name.as_deref() != Some(""))
}
