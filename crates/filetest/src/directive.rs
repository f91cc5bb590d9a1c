//! Directives: the lines of a test file's leading comment that start with `//:`.
//!
//! `//|` continues the directive before it; other comment lines are for people. A test in CUDA C++ (`name.cu`) has its
//! directives there and its program in `name.ptx` beside it, so that a compiler can rewrite the one without the other.

use ptx::source::Source;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Its first word.
    pub name: String,
    /// The rest.
    pub text: String,
    /// Where it stands, from 1.
    pub line: u32,
}

/// A test file.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path, for messages.
    pub name: String,
    /// The PTX.
    pub source: Arc<Source>,
    /// What the leading comment says.
    pub directives: Vec<Directive>,
}

impl Program {
    /// Reads `file`; the program of `x.cu` is `x.ptx`.
    ///
    /// # Errors
    /// If a file cannot be read, or has no directives.
    pub fn read(file: &Path) -> Result<Self, String> {
        Self::read_with(file, &file.with_extension("ptx"))
    }

    /// Reads directives from one file and the program from another.
    ///
    /// # Errors
    /// If a file cannot be read, or has no directives.
    pub fn read_with(file: &Path, ptx: &Path) -> Result<Self, String> {
        let read =
            |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
        let name = file.display().to_string();
        let directives = directives(&read(file)?).map_err(|why| format!("{name}: {why}"))?;
        if directives.is_empty() {
            return Err(format!("{name}: no directives: a test starts with lines such as `//: run KERNEL`"));
        }
        Ok(Self { name, source: Source::new(ptx.display().to_string(), read(ptx)?), directives })
    }

    /// The line of the program that ends with the comment `// <- name`.
    pub fn marked_line(&self, name: &str) -> Option<u32> {
        let marks = |line: &str| line.split_once("// <-").is_some_and(|(_, mark)| mark.trim() == name);
        self.source.text().lines().position(marks).map(|index| index as u32 + 1)
    }
}

fn directives(text: &str) -> Result<Vec<Directive>, String> {
    let mut found: Vec<Directive> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if let Some(rest) = line.strip_prefix("//:") {
            let rest = rest.trim();
            let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let directive =
                Directive { name: name.to_owned(), text: text.trim().to_owned(), line: index as u32 + 1 };
            found.push(directive);
        } else if let Some(rest) = line.strip_prefix("//|") {
            let last = found.last_mut().ok_or("`//|` continues nothing")?;
            last.text.push(' ');
            last.text.push_str(rest.trim());
        } else if !line.is_empty() && !line.starts_with("//") {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_leading_comment_has_directives() {
        let text = "// People read this.\n//: run k block=32\n//: out d u32[2] = 1\n//|  2\n\n.version 8.0\n//: run no\n";
        let found = directives(text).unwrap();
        let plain: Vec<_> = found.iter().map(|d| (d.name.as_str(), d.text.as_str(), d.line)).collect();
        assert_eq!(plain, [("run", "k block=32", 2), ("out", "d u32[2] = 1 2", 3)]);
        assert!(directives("//| 1\n").is_err());
    }
}
