//! The smallest kernel for which something still holds: statements are left out, and those around others replaced by what is in
//! them, as long as anything can be.

use crate::kernel::{Kernel, Statement, Trips};

/// What is tried with the statement of a number, counted in the order of the text.
#[derive(Clone, Copy)]
enum Edit {
    /// Without it.
    Drop,
    /// What is in it, instead of it.
    Unwrap,
    /// Once around, if it is a loop.
    Once,
}

/// Leaves out what `holds` does not need.
pub fn minimise(kernel: &Kernel, holds: &mut dyn FnMut(&Kernel) -> bool) -> Kernel {
    let mut best = kernel.clone();
    let fewer = Kernel { ctas: 1, ..best.clone() };
    if holds(&fewer) {
        best = fewer;
    }
    loop {
        let mut smaller = false;
        for edit in [Edit::Drop, Edit::Unwrap, Edit::Once] {
            // From the end, so that numbers before it stay.
            for number in (0..count(&best)).rev() {
                let mut candidate = best.clone();
                if !apply(&mut candidate, number, edit) || candidate == best {
                    continue;
                }
                if holds(&candidate) {
                    best = candidate;
                    smaller = true;
                }
            }
        }
        if !smaller {
            break;
        }
    }
    let used = |text: &str, name: &str| text.contains(name);
    let whole: String = best.body.iter().map(|statement| format!("{statement:?}")).collect();
    let mut without = best.clone();
    without.uses.cells &= used(&whole, "shared_cells");
    without.uses.local &= used(&whole, "stack");
    without.uses.shared &= used(&whole, " own;") || used(&whole, " exchange;");
    if !used(&whole, "call ") {
        without.functions.clear();
    }
    if holds(&without) { without } else { best }
}

fn count(kernel: &Kernel) -> usize {
    fn of(list: &[Statement]) -> usize {
        list.iter()
            .map(|statement| 1 + statement.clone().lists().into_iter().map(|list| of(list)).sum::<usize>())
            .sum()
    }
    kernel.functions.iter().map(|list| of(list)).sum::<usize>() + of(&kernel.body)
}

fn apply(kernel: &mut Kernel, number: usize, edit: Edit) -> bool {
    let mut left = number;
    let mut lists: Vec<&mut Vec<Statement>> = kernel.functions.iter_mut().collect();
    lists.push(&mut kernel.body);
    lists.into_iter().any(|list| in_list(list, &mut left, edit))
}

/// Whether the statement was in the list, and could be edited.
fn in_list(list: &mut Vec<Statement>, left: &mut usize, edit: Edit) -> bool {
    for i in 0..list.len() {
        if *left == 0 {
            match (edit, &mut list[i]) {
                (Edit::Drop, _) => drop(list.remove(i)),
                (Edit::Unwrap, statement) => {
                    let inside: Vec<Statement> =
                        statement.lists().into_iter().flat_map(std::mem::take).collect();
                    list.splice(i..=i, inside);
                }
                (Edit::Once, Statement::Loop { trips, .. }) => *trips = Trips::Times(1),
                (Edit::Once, _) => return false,
            }
            return true;
        }
        *left -= 1;
        if list[i].lists().into_iter().any(|inside| in_list(inside, left, edit)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is looked for stays, wherever it is, and little else.
    #[test]
    fn what_matters_stays() {
        let mut found = 0;
        for seed in 0..200 {
            let kernel = crate::generate(seed, crate::STATEMENTS);
            if !kernel.text().contains("popc.b32") {
                continue;
            }
            found += 1;
            let small = minimise(&kernel, &mut |kernel| kernel.text().contains("popc.b32"));
            assert_eq!(count(&small), 1, "seed {seed}:\n{}", small.text());
        }
        assert!(found > 2);
    }
}
