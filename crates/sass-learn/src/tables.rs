//! The tables in use, as they are written: the learner compares with them, completes them and goes by their hints.

use sass::Arch;
use sass_table::pack::Packed;
use sass_table::source::{BadLine, Source};
use std::path::{Path, PathBuf};

/// The folder of the tables, `crates/sass/isa`.
#[derive(Clone, Debug)]
pub struct Tables {
    folder: PathBuf,
    /// The sets that all tables share.
    sets: String,
}

impl Tables {
    /// Those of a folder.
    ///
    /// # Errors
    /// It has no file of sets.
    pub fn open(folder: &Path) -> Result<Self, String> {
        Ok(Self { folder: folder.to_path_buf(), sets: file(&folder.join(SETS))? })
    }

    /// The text of an architecture's table, without the shared sets.
    pub(crate) fn text(&self, arch: Arch) -> Result<String, String> {
        file(&self.folder.join(format!("{arch}.sass")))
    }

    /// What is known of an architecture that its learner does not find by itself, as tables to go by: of it alone, and of all.
    ///
    /// # Errors
    /// A file that is not there.
    pub fn hints(&self, arch: Arch) -> Result<[String; 2], String> {
        let hints = |name: &str| file(&self.folder.join(format!("hints/{name}.sass")));
        Ok([hints(&arch.to_string())?, hints("all")?])
    }

    /// The shared sets alone.
    pub(crate) fn sets(&self) -> Result<Source, String> {
        Source::read(&[(SETS, &self.sets)]).map_err(said)
    }

    /// An architecture's table.
    pub(crate) fn table(&self, arch: Arch) -> Result<Source, String> {
        let text = self.text(arch)?;
        Source::read(&[(SETS, &self.sets), (&format!("{arch}.sass"), &text)]).map_err(said)
    }

    /// A table: one that uses the shared sets, or one with only its own.
    pub(crate) fn read(&self, text: &str) -> Result<Source, String> {
        let texts = [(SETS, self.sets.as_str()), ("a table", text)];
        // No two sets may be the same.
        Source::read(&texts).or_else(|_| Source::read(&texts[1..])).map_err(said)
    }
}

/// The file of shared sets.
const SETS: &str = "sets.sass";

fn file(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
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
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sass/isa");
        let tables = Tables::open(&folder).expect("sets");
        for arch in Arch::ALL {
            assert!(tables.table(arch).expect("a table").forms.len() > 500, "{arch}");
            for text in tables.hints(arch).expect("hints") {
                tables.read(&text).expect("hints");
            }
        }
    }
}
