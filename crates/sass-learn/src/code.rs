//! Compiled code against the oracle: how many of its words the table does not have or reads otherwise.

use std::collections::HashMap;

use super::oracle::Oracle;
use super::report::{Report, shape};
use sass::Arch;
use sass::decode;

/// Compares the table in use with the oracle over words of code, each with the number of its uses. All words are decoded;
/// the oracle is asked about all that the table does not have, and of the others about `each` of every shape: the same
/// form, modifiers and kinds of operand, with other registers and numbers. With `each` 0 it is asked about all. The report has so many
/// examples of every group.
pub fn compare_code(
    oracle: &dyn Oracle,
    arch: Arch,
    words: &[(u128, u64)],
    each: usize,
    examples: usize,
) -> Result<Report, String> {
    let mut report = Report::default();
    let mut shapes: HashMap<String, usize> = HashMap::new();
    let mut text = String::new();
    let mut asked: Vec<(u128, u64)> = Vec::new();
    for &(word, uses) in words {
        report.words += 1;
        report.uses += uses;
        let wanted = each == 0
            || decode(arch, word).is_none_or(|it| {
                text.clear();
                it.print(0, &mut text);
                let seen = shapes.entry(shape(&text)).or_default();
                *seen += 1;
                *seen <= each
            });
        if wanted {
            asked.push((word, uses));
        }
    }
    report.ask(oracle, arch, &asked, examples)?;
    Ok(report)
}
