//! The tables in use, as they are written: the learner compares with them, completes them and goes by their hints.

use sass::Arch;
use sass_table::pack::Packed;
use sass_table::source::{BadLine, Source};

/// The sets that all tables share.
const SETS: &str = include_str!("../../sass/isa/sets.sass");

/// The text of an architecture's table, without the shared sets.
pub(crate) fn text(arch: Arch) -> &'static str {
    match arch {
        Arch::Sm75 => include_str!("../../sass/isa/sm_75.sass"),
        Arch::Sm80 => include_str!("../../sass/isa/sm_80.sass"),
        Arch::Sm86 => include_str!("../../sass/isa/sm_86.sass"),
        Arch::Sm89 => include_str!("../../sass/isa/sm_89.sass"),
        Arch::Sm90 => include_str!("../../sass/isa/sm_90.sass"),
        Arch::Sm100 => include_str!("../../sass/isa/sm_100.sass"),
        Arch::Sm120 => include_str!("../../sass/isa/sm_120.sass"),
    }
}

/// What the learner is told: of one architecture, and of all.
pub(crate) fn hints(arch: Arch) -> [&'static str; 2] {
    let own = match arch {
        Arch::Sm75 => include_str!("../../sass/isa/hints/sm_75.sass"),
        Arch::Sm80 => include_str!("../../sass/isa/hints/sm_80.sass"),
        Arch::Sm86 => include_str!("../../sass/isa/hints/sm_86.sass"),
        Arch::Sm89 => include_str!("../../sass/isa/hints/sm_89.sass"),
        Arch::Sm90 => include_str!("../../sass/isa/hints/sm_90.sass"),
        Arch::Sm100 => include_str!("../../sass/isa/hints/sm_100.sass"),
        Arch::Sm120 => include_str!("../../sass/isa/hints/sm_120.sass"),
    };
    [own, include_str!("../../sass/isa/hints/all.sass")]
}

/// The shared sets alone.
pub(crate) fn sets() -> Result<Source, String> {
    Source::read(&[("sets.sass", SETS)]).map_err(said)
}

/// An architecture's table.
pub(crate) fn table(arch: Arch) -> Result<Source, String> {
    Source::read(&[("sets.sass", SETS), (&format!("{arch}.sass"), text(arch))]).map_err(said)
}

/// A table: one that uses the shared sets, or one with only its own.
pub(crate) fn read(text: &str) -> Result<Source, String> {
    let texts = [("sets.sass", SETS), ("a table", text)];
    // No two sets may be the same.
    Source::read(&texts).or_else(|_| Source::read(&texts[1..])).map_err(said)
}

fn said(bad: BadLine) -> String {
    bad.to_string()
}

/// How a table reads words.
pub(crate) struct Reader<'s>(Packed<'s>);

impl<'s> Reader<'s> {
    pub(crate) fn new(source: &'s Source) -> Result<Self, String> {
        let packed = Packed::new(&[source], None);
        packed.map(Reader).map_err(|bad| bad.into_iter().map(said).collect::<Vec<_>>().join("\n"))
    }

    /// The form of a word.
    pub(crate) fn form_of(&self, word: u128) -> Option<usize> {
        self.0.table(0).form_of(word).map(|at| at as usize)
    }

    /// What is printed for a word at an address.
    pub(crate) fn reading(&self, word: u128, address: u64) -> Option<String> {
        let table = self.0.table(0);
        let form = table.form_of(word)?;
        let mut text = String::new();
        table.print(form, word, address, &mut text, |_, _| false);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_hints_are_read() {
        for arch in Arch::ALL {
            assert!(table(arch).expect("a table").forms.len() > 500, "{arch}");
            for text in hints(arch) {
                read(text).expect("hints");
            }
        }
    }
}
