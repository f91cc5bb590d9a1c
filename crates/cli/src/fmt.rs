//! `warploom fmt`: the canonical text of PTX files.

use crate::diagnostics::{self, Format};
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::{input, terminal};
use ptx::diagnostic::Severity;
use ptx::source::Source;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  warploom fmt kernel.ptx > pretty.ptx
  warploom fmt --check *.ptx
  warploom fmt -i kernel.ptx";

/// Print PTX files in canonical form.
///
/// Comments are not part of the canonical form. A file with syntax errors is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// PTX files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the names of files that are not in canonical form, and end with 1 if there are any
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Rewrite the files in place
    #[arg(short = 'i', long, visible_alias = "in-place")]
    write: bool,
    /// With --write: rewrite files whose comments get lost, too
    #[arg(long, requires = "write")]
    drop_comments: bool,
}

pub(crate) fn execute(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut exit = Exit::Ok;
    for path in &arguments.files {
        match format(path, arguments) {
            Ok(code) => exit = exit.max(code),
            // Output that cannot be written ends the command; a file that cannot be used does not.
            Err(failure) if failure.message.is_empty() => return Err(failure),
            Err(failure) => {
                failure.report();
                exit = exit.max(failure.exit);
            }
        }
    }
    Ok(exit)
}

fn format(path: &Path, arguments: &Arguments) -> Result<Exit, Failure> {
    let source = input::read(path)?;
    let text = canonical(&source)?;
    let comments = comments(source.text());
    if arguments.check {
        if text == source.text() {
            return Ok(Exit::Ok);
        }
        terminal::result(&format!("{}\n", source.name()))?;
        return Ok(Exit::Findings);
    }
    if !arguments.write || path == Path::new("-") {
        terminal::result(&text)?;
        if comments > 0 {
            let comments = terminal::count(comments, "comment");
            terminal::note(&format!("{}: {comments} left out", source.name()));
        }
        return Ok(Exit::Ok);
    }
    if comments > 0 && !arguments.drop_comments {
        let comments = terminal::count(comments, "comment");
        return Err(Failure::usage(format!("{} has {comments} that would be lost", source.name()))
            .hint("allow it with --drop-comments"));
    }
    if text != source.text() {
        replace(path, &text)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", source.name())))?;
    }
    Ok(Exit::Ok)
}

/// The canonical text, or the file's errors.
fn canonical(source: &Arc<Source>) -> Result<String, Failure> {
    let parsed = ptx::syntax::parse(source);
    let errors: Vec<_> = parsed.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    if errors.is_empty() {
        return Ok(ptx::print::print(&parsed.module));
    }
    let rendered: String = errors.iter().map(|d| diagnostics::render(source, d, Format::Text)).collect();
    terminal::note(rendered.trim_end());
    let errors = terminal::count(errors.len(), "syntax error");
    Err(Failure::new(Exit::Findings, format!("{} has {errors}; it is left as it is", source.name())))
}

/// Replaces a file's text.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // The file that a symbolic link leads to, not the link.
    let path = path.canonicalize()?;
    crate::replace::replace(&path, |temporary| {
        let mut file = std::fs::File::create_new(temporary)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(std::fs::metadata(&path)?.permissions())?;
        Ok(file)
    })
}

/// How many comments a text has.
fn comments(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/']) {
        rest = &rest[at..];
        let skip = |after: usize, end: &str| {
            rest[after..].find(end).map_or(rest.len(), |found| after + found + end.len())
        };
        let len = match rest.as_bytes() {
            [b'"', ..] => skip(1, "\""),
            [b'/', b'/', ..] => {
                count += 1;
                skip(2, "\n")
            }
            [b'/', b'*', ..] => {
                count += 1;
                skip(2, "*/")
            }
            _ => 1,
        };
        rest = &rest[len..];
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_counted_outside_of_strings() {
        for (text, expected) in [
            ("", 0),
            ("// a\n// b", 2),
            ("/* // */ x / y /* */", 2),
            (".file 1 \"//x/*y\"\n// z\n", 1),
            ("\"open // not a comment", 0),
            ("/* open", 1),
            ("/", 0),
        ] {
            assert_eq!(comments(text), expected, "{text:?}");
        }
    }
}
